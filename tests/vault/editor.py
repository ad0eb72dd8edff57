"""An editor of its own process: re-reads and saves a note again and again, by rename and in place.

``editor.py NOTE COUNT``: each save adds a line ``- save N``. In between it sits on its text for a moment, as editors
do, so that it overwrites what was written meanwhile. A save in place truncates first and writes in two pieces.

Like an editor, which has its own text in memory, it does not go on from a state that lacks its last save: a note shows
such a one for an instant when both were saved in the same instant.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path


def reread(note: Path, number: int) -> bytes:
    """The note's text, once it holds the save before this one; after a minute as it is."""
    deadline = time.monotonic() + 60
    while True:
        text = note.read_bytes()
        if not number or b"- save %d\n" % (number - 1) in text or time.monotonic() > deadline:
            return text
        time.sleep(0.001)


def main() -> None:
    note, count = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(count)
    for number in range(count):
        text = reread(note, number)
        time.sleep(chance.choice((0, 0, 0.0005, 0.003)))
        at = text.index(b"## Saves\n") + len(b"## Saves\n")
        text = text[:at] + b"- save %d\n" % number + text[at:]
        if number % 2:
            temporary = note.with_name("editor~")
            temporary.write_bytes(text)
            os.replace(temporary, note)
        else:
            with note.open("wb", buffering=0) as file:
                half = chance.randrange(len(text))
                file.write(text[:half])
                time.sleep(chance.choice((0, 0.0005, 0.002)))
                file.write(text[half:])
        time.sleep(chance.choice((0, 0.001, 0.004)))


if __name__ == "__main__":
    main()
