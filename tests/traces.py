"""Looking for what a secret may have left in the files below some folders: as it was written or as an index cuts it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


def pieces(value: str) -> set[bytes]:
    """What of a credential must stand nowhere: its long runs of letters and digits; if it has none, each line of it."""
    runs = [run for run in re.findall(r"[A-Za-z0-9]{12,}", value) if not run.isalpha() or len(run) > 15]
    lines = [line.strip() for line in value.split("\n") if len(line) > 3]
    return {part.lower().encode() for part in runs or lines}


def left(values: Iterable[str], *folders: Path, besides: Iterable[str] = ()) -> list[str]:
    """Where something is left: the file (or ``output``) and the beginning of the credential, ten of them at most."""
    holders = [(str(path), path.read_bytes()) for folder in folders for path in folder.rglob("*") if path.is_file()]
    holders.append(("output", "\n".join(besides).encode("utf-8", "replace")))
    wanted = {value: pieces(value) for value in values}
    found = []
    for name, data in holders:
        folded = data.lower()
        runs = b"\n".join(
            {*re.findall(rb"[a-z0-9]{12,}", folded), *re.findall(rb"[a-z0-9]{12,}", folded.replace(b"\0", b""))}
        )
        for value, parts in wanted.items():
            if any(part in (runs if re.fullmatch(rb"[a-z0-9]{12,}", part) else folded) for part in parts):
                found.append(f"{name}: {value[:24]!r}")
    return found[:10]
