"""A writer of its own process, for the tests that kill it: ``driver.py VAULT STATE ACTION [ARGUMENT...]``.

Actions: ``append NOTE TEXT``, ``edit NOTE OLD NEW``, ``undo``, ``recover``; ``appends NOTE PREFIX COUNT`` and
``edits NOTE PREFIX COUNT`` do it many times. What can't be written goes to the spool, as the command line does it.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tars_memory.errors import TarsError, UnwritableError
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.store import Plan, Spool, Store


def appending(text: str) -> Plan:
    def plan(data: bytes | None) -> list[Splice]:
        size = len(data or b"")
        return [Splice(size, size, os.fsencode(text) + b"\n")]

    return plan


def editing(old: str, new: str) -> Plan:
    def plan(data: bytes | None) -> list[Splice]:
        at = (data or b"").index(os.fsencode(old))
        return [Splice(at, at + len(os.fsencode(old)), os.fsencode(new))]

    return plan


def act(store: Store, action: str, arguments: list[str]) -> None:
    if action == "undo":
        store.undo()
    elif action == "recover":
        store.recover()
    elif action in ("append", "edit"):
        note, *rest = arguments
        plan = appending(*rest) if action == "append" else editing(*rest)
        with store.transaction(action) as transaction:
            transaction.write(note, plan, create=b"# New\n")
    else:
        note, prefix, count = arguments
        for number in range(int(count)):
            line = f"- {prefix} {number}"
            plan = appending(line) if action == "appends" else editing("## End\n", f"{line}\n## End\n")
            with store.transaction(action) as transaction:
                transaction.write(note, plan)
            if action == "edits":
                time.sleep(0.002)


def main() -> int:
    vault, state, action, *arguments = sys.argv[1:]
    try:
        act(Store(Path(vault), Path(state), now=datetime.now(UTC), actor="script"), action, arguments)
    except UnwritableError as error:
        said = error.message
        try:
            Spool(Path(state) / "spool").put(action, {"text": " ".join(arguments)})
        except TarsError as worse:
            said += f"\n{worse.message}"
        print(said, file=sys.stderr)
        return error.exit_code
    except TarsError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
