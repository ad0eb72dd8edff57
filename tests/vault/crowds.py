"""Many processes at once on one note; the sizes are the caller's."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from forked import script
from kills import DRIVER, left_over
from storekit import Place

EDITOR = str(Path(__file__).with_name("editor.py"))


def drivers(place: Place, action: str, note: str, processes: int, count: int) -> list[subprocess.Popen[bytes]]:
    """Start so many writers; each writes ``count`` lines ``- pP N``."""
    filled = [part.format(vault=place.root, state=place.state) for part in DRIVER]
    return [
        subprocess.Popen(script(*filled, action, note, f"p{process}", str(count)), stderr=subprocess.PIPE)
        for process in range(processes)
    ]


def wait(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said.decode()


def check_appends(place: Place, processes: int, count: int) -> None:
    """So many processes append so many lines each: all are there, each once."""
    place.put("a.md", b"# Log")
    wait(drivers(place, "appends", "a.md", processes, count))
    lines = Counter((place.get("a.md") or b"").split(b"\n"))
    expected = Counter(b"- p%d %d" % (process, number) for process in range(processes) for number in range(count))
    assert lines == expected + Counter([b"# Log", b""])
    assert place.is_settled()
    assert len(list(place.store().history())) == processes * count


def check_editor(place: Place, saves: int, processes: int, count: int) -> tuple[int, int]:
    """An editor saves beside processes that edit: no save is destroyed, and what it overwrote of ours is listed.

    Returns:
        how many of our lines stand, and how many it overwrote.
    """
    filler = b"".join(b"- filler %d\n" % number for number in range(300))
    note = place.put("a.md", b"# A\n## Saves\n## Filler\n" + filler + b"## End\n")
    writers = drivers(place, "edits", "a.md", processes, count)
    editor = subprocess.Popen([sys.executable, EDITOR, note, str(saves)], stderr=subprocess.PIPE)
    wait([*writers, editor])
    lines = Counter((place.get("a.md") or b"").split(b"\n"))
    assert all(lines[b"- save %d" % number] == 1 for number in range(saves))
    assert all(lines[b"- filler %d" % number] == 1 for number in range(300))
    ours = [b"- p%d %d" % (process, number) for process in range(processes) for number in range(count)]
    lost = {line.text.encode() for line in place.store().lost_lines()}
    assert max((lines[line] for line in ours), default=0) <= 1
    missing = {line for line in ours if not lines[line]}
    assert missing == lost
    assert left_over(place.root.parent) == []
    assert place.is_settled()
    assert place.files() == ["a.md"]
    return len(ours) - len(missing), len(missing)
