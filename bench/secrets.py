"""How many credentials the detector finds, in how many formats; how often it cries wolf over real notes; how fast."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path

from bench.seeded import LABELLED, SHAPED, credentials, remains
from tars_memory.vault import secrets

EACH = 40
NOTES = Path(__file__).resolve().parents[2] / "shared" / "bench"
"""Notes from outside, if they are there; ``TARS_BENCH_NOTES`` names other ones. They are read where they lie."""


def report(each: int = EACH) -> str:
    """The figures as text."""
    return "\n".join([*_found(each), *_alarms(), *_time()])


def _found(each: int) -> list[str]:
    missed: Counter[str] = Counter()
    total = 0
    for name, value, text in credentials(each=each):
        total += 1
        if remains(text, value, secrets.mask(text)):
            missed[name] += 1
    kinds = len(SHAPED) + len(LABELLED)
    share = 100 * (total - sum(missed.values())) / total
    told = ", ".join(f"{name} {count}/{each}" for name, count in missed.most_common())
    return [f"secrets: {total:,} seeded credentials in {kinds} formats: {share:.2f} % masked ({told or 'none left'})"]


def _alarms() -> list[str]:
    root = Path(os.environ.get("TARS_BENCH_NOTES", NOTES))
    lines = []
    for folder in sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []:
        notes = sorted(folder.rglob("*.md"))
        kinds: Counter[str] = Counter()
        size = alarmed = 0
        for path in notes:
            text = path.read_bytes().decode("utf-8", "surrogateescape")
            size += len(text)
            found = secrets.find(text)
            kinds.update(one.kind for one in found)
            alarmed += bool(found)
        if notes:
            told = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"
            rate = 1000 * sum(kinds.values()) / len(notes)
            lines.append(
                f"  {folder.name}: {len(notes):,} notes, {size / 1e6:.1f} MB: {sum(kinds.values())} alarms in "
                f"{alarmed} notes, {rate:.1f} per 1,000 ({told})"
            )
    return lines or [f"  no notes to read in {root}"]


def _time() -> list[str]:
    prose = "On Monday Anna met the team at the harbour; the key of the boat was in the office, 3 km away.\n" * 10_000
    begun = time.process_time()
    secrets.find(prose)
    took = time.process_time() - begun
    return [f"  {len(prose) / 1e6 / took:.1f} MB of prose a second"]
