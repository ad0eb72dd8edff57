"""What everybody writes first, with the arguments of ``driver.py``: read, change, write. It must fail the harness."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    vault, _, action, *arguments = sys.argv[1:]
    if action == "recover":
        return 0
    path = Path(vault) / arguments[0]
    text = path.read_text() if path.exists() else "# New\n"
    if action == "append":
        text += arguments[1] + "\n"
    else:
        text = text.replace(arguments[1], arguments[2])
    with path.open("w") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
