"""Review.md as thumbs and editors leave it: what is decided is what was ticked, and no word is lost."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from random_documents import scale, seeded

from curation.reviewing import Vault

SENTENCES = {
    "otter": "the otter rests near Kolding",
    "lynx": "Bruno photographed a lynx",
    "heron": "a grey heron owns our pond",
    "badger": "badger tracks behind grandpa's shed",
    "falcon": "named her bicycle falcon",
    "marmot": "whistling marmot above Zermatt hut",
    "gecko": "my flatmate keeps one gecko",
    "walrus": "Ivar calls his van walrus",
    "magpie": "lost earrings, blames some magpie",
    "jackal": "reads every jackal thriller twice",
    "puffin": "booked puffin cruise for July",
    "tapir": "adopted Tomás, zoo's oldest tapir",
}  # by a word that no other sentence has: a line is known by it wherever it goes
ANIMALS = tuple(SENTENCES)
NOTES = {
    "Memory.md": "# Memory\n\n## Notes\n- keeps herbs\n",
    "2026-11-20.md": "## Log\n"
    + "".join(f"- 10:{n:02} [extracted] {text} ^d-aaaaaa{n:02}\n" for n, text in enumerate(SENTENCES.values())),
}
BOXES = ("[x]", "[x]", "[X]", "[-]", "[+]", "[ ]", "[ x ]")
ODD = ("[x-]", "[xx]", "( x )", "x", "[]", "[✓]", "［x］", "☑", "[/]", "")
MARKS = ("*", "+", "1.", "2)", "—", "–", "•", "> -", "-\u00a0", "    -", "\t-", "  -", "\t\t-", "-\t")
MARK = re.compile(r" \^r-([0-9a-z]{8})$")


class Note:
    """A review note under a person's thumbs.

    Attributes:
        lines: of the note.
        ticked: the animals whose own line was ticked to be accepted.
        typed: words of the person that must be somewhere afterwards.
        damaged: the animals whose line was changed in any other way than by a tick.
    """

    def __init__(self, text: str, rng: random.Random) -> None:
        self.lines, self.rng = text.split("\n"), rng
        self.ticked: set[str] = set()
        self.typed: list[str] = []
        self.damaged: set[str] = set()

    def tasks(self) -> list[int]:
        return [row for row, line in enumerate(self.lines) if re.match(r"[-*+] \[.\] ", line) and MARK.search(line)]

    def any(self) -> int:
        return self.rng.choice(self.tasks())

    def box(self, row: int, box: str) -> None:
        self.lines[row] = re.sub(r"\[.\]", lambda _: box, self.lines[row], count=1)

    def animal(self, row: int) -> str:
        return next((name for name in ANIMALS if name in self.lines[row]), "")

    def word(self) -> str:
        self.typed.append(f"zq{len(self.typed)}zq")
        return self.typed[-1]

    def act(self) -> None:
        if not self.tasks():
            return
        row, rng = self.any(), self.rng
        line, name = self.lines[row], self.animal(row)
        kind = rng.choice(
            ("tick",) * 5 + ("odd", "edit", "join", "join", "unmark", "double", "mark", "fence", "trail", "below")
            + ("move", "gone", "case", "dash", "cut", "heading", "comment")
        )  # fmt: skip
        if kind == "tick":
            box = rng.choice(BOXES)
            self.box(row, box)
            if box not in ("[-]", "[ ]"):
                self.ticked.add(name)
            return
        self.damaged.add(name)
        if kind == "odd":
            self.box(row, rng.choice(ODD))
        elif kind == "edit" and "[-]" not in line:
            self.lines[row] = MARK.sub(lambda mark: f" and {self.word()}{mark[0]}", line)
        elif kind == "join":
            after = [other for other in self.tasks() if other > row]
            if after:
                other = after[0]
                self.damaged.add(self.animal(other))
                first = MARK.sub("", line) if rng.random() < 0.8 else line
                rest = self.lines[other]
                rest = rng.choice((rest, rest.removeprefix("- "), rest[6:]))
                self.lines[row : other + 1] = [first + rng.choice((" ", "", " – ")) + rest]
        elif kind == "unmark":
            self.lines[row] = MARK.sub("", line)
        elif kind == "double":
            again = MARK.sub(lambda mark: f" {self.word()}{mark[0]}", line) if rng.random() < 0.5 else line
            if "[-]" not in line:
                self.lines.insert(row, again)
        elif kind == "mark":
            self.lines[row] = rng.choice(MARKS) + line[1:]
        elif kind == "fence":
            self.lines[row] = f"```\n{line}\n```"
        elif kind == "trail":
            self.lines[row] = line + rng.choice((" ", "  ", "\t", "\u00a0"))
        elif kind == "below":
            self.lines.insert(row + 1, f"  - {self.word()} of mine")
        elif kind == "move":
            block = [self.lines.pop(row)]
            while row < len(self.lines) and self.lines[row].startswith("  "):
                block.append(self.lines.pop(row))
            self.lines += ["", "## Later", *block]
        elif kind == "gone":
            while row + 1 < len(self.lines) and self.lines[row + 1].startswith("  "):
                del self.lines[row + 1]
        elif kind == "case":
            self.lines[row] = (
                line.replace(" the ", " The ").replace(" a ", "  a ").upper()
                if rng.random() < 0.2
                else line.replace(" a ", "  a ")
            )
        elif kind == "dash":
            self.lines[row] = line.replace("[-]", "[–]").replace("- ", "– ", 1)
        elif kind == "cut":
            self.lines[row] = line[: rng.randint(2, len(line))]
        elif kind == "heading":
            self.lines[row] = "## " + line
        elif kind == "comment":
            self.lines[row] = f"%% {line} %%"
        self.lines = "\n".join(self.lines).split("\n")


def damaged(vault: Vault, rng: random.Random) -> Note:
    vault.review().write_note(limit=20)
    note = Note(vault["Review.md"], rng)
    for _ in range(rng.randint(4, 24)):
        note.act()
    text = "\n".join(note.lines)
    vault["Review.md"] = text.replace("\n", rng.choice(("\n", "\n", "\r\n")))
    return note


@pytest.mark.parametrize("seed", range(scale(20)))
def test_a_damaged_note_decides_what_was_ticked_and_loses_no_word(seed: int, tmp_path: Path) -> None:
    rng = seeded(seed)
    vault = Vault(tmp_path, NOTES)
    ids = {name: next(word for text, word in vault.ids().items() if name in text.casefold()) for name in ANIMALS}
    names = {name: animal for animal, name in ids.items()}
    note = damaged(vault, rng)
    before = vault["Review.md"]
    first = vault.review().from_note()
    outcomes = [(each.proposal.id, each.decision) for each in first.decided]
    assert len(dict(outcomes)) == len(outcomes)
    kept = "".join(vault[path] for path in ("Memory.md", "Review.md") if path in vault) + "\n".join(first.notices)
    for word in note.typed:
        refused = any("[-]" in line for line in before.split("\n") if word in line)
        assert word in kept or refused or word not in before, f"{word} is lost\n{before}"
    for name, decision in outcomes:
        animal = names[name]
        count = sum(animal in line.casefold() for line in vault["Memory.md"].split("\n"))
        if decision == "accepted":
            assert animal in note.ticked, before
            assert count == 1, before
            assert f"[promoted] {SENTENCES[animal]}" in vault["2026-11-20.md"]
        else:
            assert count == 0
        left = vault.files().get("Review.md", b"").decode()
        if animal not in note.damaged:
            assert animal not in left, f"{animal}\n{before}\n=====\n{left}"
    for line in vault["Memory.md"].split("\n"):
        assert sum(animal in line.casefold() for animal in ANIMALS) <= 1, f"{line}\n{before}"
    waiting = {name for text, name in vault.ids().items()}
    assert waiting == set(ids.values()) - {name for name, _ in outcomes}
    files = vault.files()
    second = vault.review().from_note()
    assert second.decided == [] and vault.files() == files, before
    assert all("left for later" in notice for notice in second.notices)
    vault.review().write_note(limit=20)  # offers again what lost its mark
    assert vault.review().from_note().decided == [], before
