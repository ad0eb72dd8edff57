"""Vaults of made-up notes: the same for the same seed, words as frequent as in a language, days, links and tags."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

SYLLABLES = ("ka", "lo", "mi", "ren", "ta", "vo", "shi", "dan", "pel", "ur", "nos", "fa", "gri", "hel", "bo", "wyn")
WORDS = 20_000
PEOPLE = ("Anna", "Bela", "Chidi", "Dora", "Emre", "Fatou", "Goran", "Hanna")


def vocabulary(seed: int) -> tuple[list[str], list[float]]:
    """Words, and weights after Zipf."""
    dice = random.Random(seed)
    words = sorted({"".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(WORDS * 2)})
    dice.shuffle(words)
    words = words[:WORDS]
    return words, [1 / (rank + 2.7) for rank in range(len(words))]


class Writer:
    """Writes notes out of one vocabulary."""

    def __init__(self, seed: int = 7) -> None:
        self.dice = random.Random(seed)
        words, weights = vocabulary(seed)
        # One long draw is a hundred times cheaper than a draw a word.
        self._drawn = self.dice.choices(words, weights, k=500_000)
        self._at = 0

    def words(self, count: int) -> list[str]:
        """So many words."""
        if self._at + count > len(self._drawn):
            self._at = self.dice.randrange(1000)
        self._at += count
        return self._drawn[self._at - count : self._at]

    def sentence(self) -> str:
        """One sentence, with a name in it now and then."""
        words = self.words(self.dice.randint(5, 14))
        if self.dice.random() < 0.3:
            words[0] = self.dice.choice(PEOPLE)
        return " ".join(words).capitalize() + "."

    def note(self, title: str, sections: int = 4) -> str:
        """One note: front matter, headings, paragraphs, bullets."""
        parts = [f"---\ntags: [{', '.join(self.words(2))}]\n---\n# {title}\n"]
        for _ in range(sections):
            parts.append(f"\n## {' '.join(self.words(2)).title()}\n\n")
            parts.append(" ".join(self.sentence() for _ in range(self.dice.randint(2, 5))) + "\n\n")
            parts.extend(f"- {self.sentence()}\n" for _ in range(self.dice.randint(1, 5)))
        return "".join(parts)


def notes(count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Path and text of so many notes: a third of them daily, the rest in ten folders."""
    writer = Writer(seed)
    for number in range(count):
        if number % 3 == 0:
            day = date(2020, 1, 1) + timedelta(days=number)
            yield f"{day}.md", writer.note(str(day))
        else:
            title = " ".join(writer.words(2)).title()
            yield f"folder {number % 10}/{title} {number}.md", writer.note(title)


def chinese(count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Path and text of so many notes without blanks: most of a few paragraphs and a list, some of many."""
    dice = random.Random(seed)
    signs = [chr(code) for code in range(0x4E00, 0x9FA6)]
    dice.shuffle(signs)
    words = ["".join(dice.choices(signs[:3000], k=dice.choice((1, 2, 2, 2, 3)))) for _ in range(WORDS)]
    weights = [1 / (rank + 2.7) for rank in range(len(words))]

    def sentence() -> str:
        drawn = iter(dice.choices(words, weights, k=60))
        clauses = ("".join(next(drawn) for _ in range(dice.randint(3, 9))) for _ in range(dice.randint(1, 4)))
        return "，".join(clauses) + "。"

    for number in range(count):
        title = "".join(dice.choices(words, k=3))
        parts = [f"# {title}\n"]
        for _ in range(min(20, int(dice.paretovariate(1.2)))):
            parts.append(f"\n## {''.join(dice.choices(words, k=2))}\n\n")
            parts.append("".join(sentence() for _ in range(dice.randint(1, 8))) + "\n\n")
            parts.extend(f"- {sentence()}\n" for _ in range(dice.randint(0, 6)))
        yield f"{number % 10}/{title} {number}.md", "".join(parts)


def make(root: Path, count: int, seed: int = 7, of: Callable[[int, int], Iterator[tuple[str, str]]] = notes) -> Path:
    """Write a vault; answers with its folder."""
    for path, text in of(count, seed):
        note = root / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, "utf-8")
    return root
