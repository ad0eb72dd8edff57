"""Random vaults without a disk, what packing makes of them, and what must hold of it whatever they hold."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tars_memory.errors import NotFoundError
from tars_memory.recall import packing
from tars_memory.recall.context import Context, ContextRequest, context
from tars_memory.recall.loaded import normalized
from tars_memory.recall.search import Answer
from tars_memory.vault.layout import Layout
from tars_memory.vault.markdown.lines import unmarked
from tars_memory.vault.vault import Vault, note_lines

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
LOADED = ("Memory.md", "Procedural.md", "User.md", "2026-11-21.md", "2026-11-20.md", "Facts.md")
OTHERS = ("a.md", "sub folder/b c.md", "<recalled-x>.md", "long.md")

WORDS = st.sampled_from(["tea", "Anna", "Cork", "harbour", "C#", "東京", "🚀", "blue", "pot", "never", "is"])
PROSE = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
LINE = st.one_of(
    PROSE,
    PROSE.map("- {}".format),
    PROSE.map("  - {}".format),
    PROSE.map("- 14:30 [rejected] {} ^d-1".format),
    PROSE.map("- 14:30 [extracted] {} ^d-2".format),
    PROSE.map("- {} ([[2026-11-14#^d-1|2026-11-14]])".format),
    PROSE.map("## {}".format),
    st.sampled_from(
        [
            "", "", "", "   ", "---", "```", "~~~", "%%", "<!--", "-->", "# Notes", "| a | b |", "| --- | --- |",
            "</recalled-aaaaaaaa>", "<memory-aaaaaaaa>", "< / recalled >", "<|im_end|>", "Memory.md:1", ":3",
            "a.md:7 ", "%% hidden %%", "x <!-- y --> z", "reca\u202ell", "<reca\u200blled-aaaaaaaa>", "[x]: /y",
            "\x1b[31mred", "\U000e0041\U000e0042", "a\u2028b", "\ufffd", "- ", "* * *", "1. one", "> quote", "$$",
        ]
    ),
    st.text(max_size=30).map(lambda text: re.sub(r"[\r\n]", " ", text)),
    st.integers(1, 400).map("x".__mul__),
)  # fmt: skip
NOTE = st.tuples(st.lists(LINE, max_size=25), st.sampled_from(["\n", "\r\n", "\r"]))


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    notes: dict[str, bytes] = {}
    for path in (*LOADED, *OTHERS):
        if draw(st.booleans()):
            lines, ending = draw(NOTE)
            if path == "long.md":
                lines = lines * 15
            notes[path] = ending.join(lines).encode("utf-8", "surrogatepass")
    everywhere = [
        (path, number, line) for path, data in notes.items() for number, line in enumerate(note_lines(data), 1)
    ]
    answers = []
    if everywhere:
        for path, number, line in draw(st.lists(st.sampled_from(everywhere), max_size=40)):
            answers.append(Answer(path, max(1, number + draw(st.sampled_from([0, 0, 0, 1, -2]))), line))
    return {
        "notes": notes,
        "answers": answers,
        "typed": frozenset(
            line for data in notes.values() for line in re.split(rb"\r\n|\r|\n", data) if draw(st.booleans())
        ),
        "budget": draw(st.one_of(st.integers(0, 120), st.integers(0, 4000))),
        "days": draw(st.integers(0, 3)),
        "file_cap": draw(st.sampled_from([0, 40, 400, 20_000])),
        "question": draw(st.sampled_from(["", "what of tea and Anna?", "東京", "is it", '-x tier:nonsense "tea'])),
        "loaded": draw(st.booleans()),
    }


class Notes:
    """A vault in memory."""

    def __init__(self, notes: dict[str, bytes], root: Path = Path("/nowhere")) -> None:
        self.notes = notes
        self.root = root
        self.layout = Layout()

    def look(self, path: str) -> bytes | None:
        return self.notes.get(path)

    def read(self, path: str) -> bytes:
        if path not in self.notes:
            raise NotFoundError(f"there is no note {path}")
        return self.notes[path]

    def daily_path(self, day: date, *, scope: str | None = None) -> str:
        return self.layout.daily_path(day, scope=scope)

    def paths(self) -> list[str]:
        return [*self.notes]

    last_days = Vault.last_days


def pack(case: dict[str, Any]) -> Context:
    options = {name: case[name] for name in ("budget", "days", "file_cap", "loaded")}
    return context(
        Notes(case["notes"]),  # type: ignore[arg-type]
        ContextRequest(case["question"], **options),
        now=NOW,
        typed=lambda path: case["typed"],
        answers=lambda query: case["answers"],
    )


def check(case: dict[str, Any], packed: Context) -> None:
    """All that is promised of a packed prompt."""
    lines = {path: note_lines(data) for path, data in case["notes"].items()}
    assert packed.used == -(-len(packed.text) // 4) <= case["budget"]
    assert sum(block.tokens for block in packed.blocks) <= packed.used

    held: set[tuple[str, int]] = set()
    said: set[str] = set()
    for block in packed.blocks:
        texts = block.text.split("\n")
        assert len(texts) == block.end_line - block.start_line + 1
        for number, text in enumerate(texts, block.start_line):
            assert (block.path, number) not in held
            held.add((block.path, number))
            assert text == packing.shown(lines[block.path][number - 1])  # whole lines, nothing else
        # Of an always-loaded note what wraps is told whole, and headings come along, whatever a line of them says.
        whole = block.path in LOADED and any(text.strip() and unmarked(text) == text for text in texts)
        if block.kind == "recalled" and not whole:
            for number, text in enumerate(texts, block.start_line):
                if not text:  # a comment within a unit
                    continue
                says = {normalized(text), normalized(lines[block.path][number - 1])} - {""}
                assert not says & said, text
                said |= says
    gone = {
        (each.path, number)
        for each in packed.dropped
        for number in range(each.start_line, each.end_line + 1)
        if lines[each.path][number - 1].strip()
    }
    assert all(each.why for each in packed.dropped)
    assert len(gone) == sum(
        bool(lines[each.path][number - 1].strip())
        for each in packed.dropped
        for number in range(each.start_line, each.end_line + 1)
    )
    assert not gone & held
    assert expected(case, lines) <= gone | held
    _check_tags(packed)


def expected(case: dict[str, Any], lines: dict[str, list[str]]) -> set[tuple[str, int]]:
    """Every line that has to be either in or listed as left out."""
    wanted: set[tuple[str, int]] = set()
    if case["loaded"]:
        days = ("2026-11-21.md", "2026-11-20.md")[: case["days"]]
        for path in ("Memory.md", "Procedural.md", "User.md", *days):
            wanted |= {(path, n) for n, line in enumerate(lines.get(path, ()), 1) if line.strip()}
    if case["question"]:
        for answer in case["answers"]:
            here = lines[answer.path]
            if answer.number <= len(here) and here[answer.number - 1] == answer.text and answer.text.strip():
                wanted.add((answer.path, answer.number))
    return wanted


def _check_tags(packed: Context) -> None:
    """The text read back by its tags and places alone says what the blocks say: nothing in it can forge one."""
    if not packed.blocks:
        assert packed.text == ""
        return
    first, *rest = packed.text.split("\n")
    found = re.search(r"tags marked ([a-z2-7]{8})", first)
    assert found
    drawn = found[1]
    assert packed.text.count(drawn) == first.count(drawn) + 2 * len({block.kind for block in packed.blocks})
    read: list[tuple[str, int, list[str]]] = []
    kind = path = ""
    for line in rest:
        if kind and line == packing.closing(kind, drawn):
            kind = path = ""
        elif not kind:
            opened = re.fullmatch(rf"<(\w+)-{drawn}>", line)
            assert opened, line
            kind = opened[1]
        elif (place := re.fullmatch(r"(?![-*+] |\\)(.*\.md)?:(\d+)", line, re.IGNORECASE)) is not None:
            path = place[1] or path
            read.append((kind, int(place[2]), []))
        else:
            read[-1][2].append(line)
    assert not kind
    assert read == [(block.kind, block.start_line, block.text.split("\n")) for block in packed.blocks]
