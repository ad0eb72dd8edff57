"""What each line of a stretch of a note is: the grammar runs here, once, when the note is indexed. Pure.

Recall reads the outcome as rows and parses no markdown. Where it works on notes that it has just read, it asks for
:func:`items` and :func:`passages` here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.vault.markdown.windows import begins_in, end_in
from tars_memory.vault.model import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ITEM, HEADING, TEXT, MACHINERY, REPLACED = "item", "heading", "text", "machinery", "replaced"
"""Kinds of lines. Machinery says who or which session said the line above; replaced keeps words that a line had."""
REJECTED, EXPIRED = "rejected", "expired"

TAG = re.compile(r"(?<![^\s(,;\[])#([\w/-]*[^\W\d_][\w/-]*)")
CODE = re.compile(r"`[^`]*`")
TITLE = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
"""A heading with words: its marks, its words."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_SOURCE = re.compile(
    r"\(\[\[([^\[\]|\r\n]{1,400}#\^([A-Za-z0-9-]{1,100}))(?:\|[^\[\]\r\n]{0,200})?\]\]\)"
    r"(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$"
)
_STATE = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\d{4}-\d\d-\d\d[ \t]+)?(?:\d\d?:\d\d[ \t]+)?"
    r"\[(extracted|promoted|rejected|expired)\](?=\s)"
)
SENTENCES = ("stated", "planned", "rule", "asked", "supposed", "past", "other", "fiction", "task")
"""What kind of sentence a second look may find a quote to be; a session note has it below a fact."""

QUOTE, SAID_BY, FACT, KIND, WARNING = "quote:: ", "said by:: ", "fact:: ", "kind:: ", "warning:: "
"""How the bullets under a fact begin; the double colon is Obsidian's inline-field convention."""

BLANKS = " \t"
"""What parts machinery from words. Any other blank (U+00A0, U+3000) is the words' own, as it is to markdown."""

_SAID_BY = re.compile(r"[ \t]*[-*+][ \t]+said by::[ \t]")
_REPLACED = re.compile(r"[ \t]+[-*+][ \t]+replaced:: ")
_MACHINERY = re.compile(
    r"\^[A-Za-z0-9-]+[ \t]*$|\[(?:extracted|promoted|rejected|expired)\]|\(\[\[[^\[\]\n]*#\^|\[by::"
)
_SPEAKER = re.compile(
    r"\s*(?:>\s*\[\d+\]\s+|[-*+]\s+)?(?:\d{4}-\d\d-\d\d\s+)?(?:\d\d?:\d\d\s+)?(?:\*\*|__)?"
    r"([A-Z][^\s:*_]*(?: [^\s:*_]+){0,4})(?::(?:\*\*|__)|(?:\*\*|__)?:)(?=\s|$)"
)


class Item:
    """A list item's own lines: how far it is indented, where they are, what they say."""

    __slots__ = ("indent", "numbers", "parts")

    def __init__(self, indent: int, number: int, text: str) -> None:
        self.indent = indent
        self.numbers = [number]
        self.parts = [text]

    @property
    def text(self) -> str:
        """Its lines as one."""
        if len(self.parts) > 1:
            self.parts = [" ".join(self.parts)]
        return self.parts[0]

    @property
    def source(self) -> str:
        """The block id of the line that it came from, or ''."""
        found = _SOURCE.search(self.text)
        return found[2] if found else ""

    @property
    def words(self) -> str:
        """What it says, without its mark and its link."""
        return _SOURCE.sub("", _ITEM.sub("", self.text, count=1))


def read(texts: Sequence[str]) -> list[Line]:
    """What each of some lines is that follow each other."""
    found: list[Line] = []
    state = ""
    inside = False  # an item
    for text in texts:
        bare = text.strip()
        mark = _ITEM.match(text)
        heading = not mark and text.lstrip(" ").startswith("#") and _HEADING.match(text) is not None
        if mark:
            said = _STATE.match(text) if "[" in text else None
            state, inside = said[1] if said else "", True
        elif not bare or heading:
            state, inside = "", False
        identity = _BLOCK_ID.search(text) if "^" in text else None
        source = _SOURCE.search(text) if "#^" in text else None
        speaker = speaker_of(text) if ":" in text else ""
        dated = "::" in text
        since, until = (begins_in(text), end_in(text)) if dated else (None, None)
        wide = text.expandtabs(4) if "\t" in text else text
        indent, kind = len(wide) - len(wide.lstrip()), _kind(text, bare, heading=heading, item=mark is not None)
        if kind == ITEM and found and bare.startswith("- warning:: ") and found[-1][:2] == (indent, MACHINERY):
            kind = MACHINERY  # of the fact above, as what stands before it
        found.append(
            Line(
                indent,
                kind,
                state if inside else "",
                identity[1] if identity else "",
                speaker,
                source[1] if source else "",
                since.isoformat() if since else "",
                until.isoformat() if until else "",
            )
        )
    return found


def _kind(text: str, bare: str, *, heading: bool, item: bool) -> str:
    if heading:
        return HEADING
    if item and "replaced:: " in bare and _REPLACED.match(text):
        return REPLACED
    if (
        bare == "---"
        or bare.startswith(("- said by:: ", "- from:: ["))
        or (bare.startswith("- fact:: ") and " › " in bare)
        or (bare.startswith("- kind:: ") and bare[9:] in SENTENCES)
    ):
        return MACHINERY  # what is stated there nobody has decided about; as a fact it stands in Facts.md
    return ITEM if item else TEXT


def items(lines: Iterable[str]) -> Iterator[Item]:
    """The list items, nested ones too; lines that go on belong to theirs until a blank one or a heading."""
    item: Item | None = None
    for number, line in enumerate(lines):
        mark = _ITEM.match(line)
        if mark:
            if item is not None:
                yield item
            item = Item(len(mark[1].expandtabs(4)), number, line)
        elif item is not None and (not line.strip() or _HEADING.match(line)):
            yield item
            item = None
        elif item is not None:
            item.numbers.append(number)
            item.parts.append(line.strip())
    if item is not None:
        yield item


def passages(texts: Sequence[str]) -> Iterator[tuple[int, bool, list[int]]]:
    """How far each passage is indented, whether it is a list item, and its lines by index.

    An item has the lines that go on without a blank one, a row of a table stands alone, as does a heading; else what no
    blank line parts is one passage.
    """
    lead, is_item = 0, False
    numbers: list[int] = []
    for number, text in enumerate(texts):
        mark = _ITEM.match(text)
        alone = text.lstrip().startswith("|") or bool(TITLE.match(text))
        if numbers and (mark or alone or not text.strip()):
            yield lead, is_item, numbers
            numbers = []
        if not text.strip():
            continue
        if not numbers:
            wide = text.expandtabs(4)
            lead, is_item = len(wide) - len(wide.lstrip()), bool(mark)
        numbers.append(number)
        if alone:
            yield lead, False, numbers
            numbers = []
    if numbers:
        yield lead, is_item, numbers


def heading_of(text: str) -> str | None:
    """The words of a heading; None if the text begins with none."""
    found = TITLE.match(text)
    return found[2] if found else None


def says_who(text: str) -> bool:
    """Whether a passage tells who said the one that it is nested in."""
    return _SAID_BY.match(text) is not None


def rejected_words(line: str) -> str:
    """What a rejected candidate says; '' of any other line."""
    state = _STATE.match(line) if "[rejected]" in line else None
    return unlinked(line[state.end() :]) if state and state[1] == REJECTED else ""


def replaced_words(line: str) -> str:
    """The words that a line had before others took their place, as it is kept below them; '' of any other line."""
    was = _REPLACED.match(line) if "replaced:: " in line else None
    return line[was.end() :] if was else ""


def quote_in(text: str) -> str:
    """The words of a bullet that begins with :data:`QUOTE`, without the marks around them."""
    return re.sub(r'^["“„«](.*)["”“»]$', r"\1", text.removeprefix(QUOTE).strip(BLANKS))


def speaker_in(text: str) -> tuple[str, int]:
    """The name and the turn that a bullet that begins with :data:`SAID_BY` says; 0 for no turn."""
    words = text.removeprefix(SAID_BY).strip(BLANKS)
    turn = re.search(r"(?<![^\s,])turn\s+(\d{1,9})$", words)
    return words[: turn.start() if turn else None].strip(f"{BLANKS},"), int(turn[1]) if turn else 0


def unlinked(text: str) -> str:
    """A text without its block id and the link to where it came from."""
    return _SOURCE.sub("", _BLOCK_ID.sub("", text))


def speaker_of(line: str) -> str:
    """The name that a line of a transcript begins with; '' if it is none.

    ``**Anna:** …``, ``- Anna Berg: …``, ``14:30 Anna: …``, ``> [31] 14:30 **Anna:** …`` (a turn in a session note): up
    to five words before a colon, the first capitalised.
    """
    match = _SPEAKER.match(line)
    return match[1] if match else ""


def block_id_of(line: str) -> str:
    """The block id that stands on a line, or ''."""
    found = _BLOCK_ID.search(line) if "^" in line else None
    return found[1] if found else ""


def candidates_of(line: str) -> set[str]:
    """The block ids of the candidates that a line is, or came from."""
    source = _SOURCE.search(line) if "#^" in line else None
    return {name for name in (source[2] if source else "", block_id_of(line)) if name}


def plain(line: str) -> str:
    """A line without state tag, block id, provenance and bold marks; nothing of one that keeps what was replaced."""
    if "replaced:: " in line and _REPLACED.match(line):
        return ""
    if ("^" in line or "[" in line) and _MACHINERY.search(line):
        from tars_memory.vault.markdown import entries

        line = entries.unsigned(entries.plain(line))
    return line.replace("**", "")
