"""Fills the vault whose sessions are summed up while the program is killed: ``compressing.py VAULT``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HEAD = "---\ndate: {day}\nsource_hash: {hash}\nturns: 12\n---\n\n"

SESSIONS = {
    "sessions/2025-03-04 1000 van.md": b"## Decisions\r\n\r\n- The van comes on Friday\r\n- \xff odd byte",
    "sessions/2025-03-09 1000 boat.md": b"## Facts\n- Anna moves to Cork ([[2025-03-04#^d-aaaaaa1|2025-03-04]])\n",
    "sessions/2024-12-31 2359 year.md": b"- a thing of last year\n",
    "sessions/2026-11-01 1000 new.md": b"## Decisions\n\n- Stay\n",
}


def content(path: str, body: bytes) -> bytes:
    """A session note."""
    day = path[9:19]
    return HEAD.format(day=day, hash=day.replace("-", "") * 8).encode() + body


def main() -> None:
    vault = Path(sys.argv[1])
    (vault / "sessions").mkdir(parents=True)
    for path, body in SESSIONS.items():
        (vault / path).write_bytes(content(path, body))
        os.utime(vault / path, ns=(10**18, 10**18))
    (vault / "2025-03-04.md").write_bytes(b"## Log\n- 10:00 [promoted] Anna moves to Cork ^d-aaaaaa1\n")
    config = vault.parent / "config"
    config.mkdir()
    (config / "config.toml").write_text("[permissions]\nunattended_compress = true\n", "utf-8")


if __name__ == "__main__":
    main()
