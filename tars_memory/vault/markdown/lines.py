"""What each line of a stretch of a note is, and until when it counts. Pure.

The grammar runs here, once, when the note is indexed. Recall reads the outcome as rows and parses no markdown. Where it
works on notes that it has just read, it asks for :func:`items` and :func:`passages` here.

From ``[until:: DATE]`` on a bullet, or ``expires: DATE`` in the front matter, on, lines are left out of search and of
what a model is told; in the vault nothing changes. A bullet takes what is nested in it along. Of a note's facts the end
is the one that :mod:`tars_memory.vault.markdown.facts` reads.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import MAX_CHARACTERS, Document
from tars_memory.vault.model import Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


ITEM, HEADING, TEXT, MACHINERY, REPLACED = "item", "heading", "text", "machinery", "replaced"
REPEATED = "repeated"
"""Kinds of lines. Machinery says who or which session said the line above; replaced keeps words that a line had."""
REJECTED, EXPIRED = "rejected", "expired"

TAG = re.compile(r"(?<![^\s(,;\[])#([\w/-]*[^\W\d_][\w/-]*)")
CODE = re.compile(r"`[^`]*`")
TITLE = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
"""A heading with words: its marks, its words."""
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

ALSO_CHANGED, ALSO_REMOVED = "also changed:: ", "also removed:: "
"""How a bullet begins that a merge puts under a line about which two machines disagree; then the words before."""
_HAD = f"(?:{entries.REPLACED}|{ALSO_CHANGED}|{ALSO_REMOVED})"

MARK = "[-*+]"
"""The mark of a bullet, as a piece of an expression."""
_BULLET = re.compile(rf"[ \t]*{MARK}[ \t]+")
_BULLETS = re.compile(rf"(?:^|(?<=[\r\n]))[ \t]*(?:{MARK}[ \t]+|(?={entries.CANDIDATE}))(?P<words>[^\r\n]+)")
_LIST_MARK = re.compile(rf"[ \t]*(?:{MARK}|\d{{1,9}}[.)])[ \t]+")
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d[ \t]"
_DISMISSED = re.compile(
    rf"[ \t]*{MARK}[ \t]+"
    rf"(?:(?:(?:\d{{4}}-\d\d-\d\d )?\d{{1,2}}:\d\d[ \t]+{entries.CHANNEL}?)?"
    rf"\[(rejected|expired)\](?!\S)|{_HAD})"
)
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$")
_SOURCE = re.compile(
    r"\(\[\[([^\[\]|\r\n]{1,400}#\^([A-Za-z0-9-]{1,100}))(?:\|[^\[\]\r\n]{0,200})?\]\]\)"
    r"(?:[ \t]+\^[A-Za-z0-9-]+)?[ \t]*$"
)
_STATE = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\d{4}-\d\d-\d\d[ \t]+)?(?:\d\d?:\d\d[ \t]+" + entries.CHANNEL + r"?)?"
    r"\[(extracted|promoted|rejected|expired)\](?=\s)"
)
_LOOSE = re.compile(rf"[ \t]*{entries.CANDIDATE}")
SENTENCES = ("stated", "planned", "rule", "asked", "supposed", "past", "other", "fiction", "task")
"""What kind of sentence a second look may find a quote to be; a session note has it below a fact."""

QUOTE, SAID_BY, FACT, KIND, WARNING = "quote:: ", "said by:: ", "fact:: ", "kind:: ", "warning:: "
"""How the bullets under a fact begin; the double colon is Obsidian's inline-field convention."""

BLANKS = " \t"
"""What parts machinery from words. Any other blank (U+00A0, U+3000) is the words' own, as it is to markdown."""

_SAID_BY = re.compile(r"[ \t]*[-*+][ \t]+said by::[ \t]")
_REPLACED = re.compile(rf"[ \t]+[-*+][ \t]+{_HAD}")
_MACHINERY = re.compile(
    r"\^[A-Za-z0-9-]+[ \t]*$|\[(?:extracted|promoted|rejected|expired)\]|\(\[\[[^\[\]\n]*#\^|\[by::"
)
_SPEAKER = re.compile(
    r"\s*(?:>\s*\[\d+\]\s+|[-*+]\s+)?(?:\d{4}-\d\d-\d\d\s+)?(?:\d\d?:\d\d\s+)?(?:\*\*|__)?"
    r"([A-Z][^\s:*_]*(?: [^\s:*_]+){0,4})(?::(?:\*\*|__)|(?:\*\*|__)?:)(?=\s|$)"
)


PROPERTIES = ("expires", "valid_until", "valid-until", "valid until")
"""Of any note; the first that holds a date counts."""
OF_SESSIONS = "until"
"""Of a session note besides: in others the word may tell anything."""

_SAID = (
    r"(?<!\\)[\[(][ \t]*{}[ \t]*::[ \t]*(?:\[\[)?(\d{{4}}-\d\d-\d\d)(?:[T ]\d[\d:.]*)?"
    r"(?:(?:\|[^\[\]]*)?\]\])?[ \t]*[\])]"
)
"""A date in Dataview's brackets; it may be a link to its daily note."""
_UNTIL = re.compile(_SAID.format("until"), re.IGNORECASE)
_SINCE = re.compile(_SAID.format("since"), re.IGNORECASE)
_TYPED = re.compile(r"(?<!\\)[\[(][ \t]*until[ \t]*::(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]", re.IGNORECASE)
BY_RULES = "By rules, in the words of the conversation:"
"""The first paragraph of a summary that no model made."""
_SUMMED = re.compile(rf"{BY_RULES}$|(?:Opening|Asked|Decided): .*“.*\[\d+\]$")
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


_STEP = re.compile(
    r"(?:(?P<start>^|(?<=\n))[ \t>]*|(?<=[\s:;,.!(（：；，。、！]))"
    r"[(（]?(?P<number>\d{1,2})\\?(?:[.)）](?=\s|[^\W\d_])|[、．])\s*|(?P<ring>[\u2460-\u2473])\s*"
)
"""A step's number: ``1. ``, ``(2) ``, ``3、``, ``④``; digits of any script."""

LEAST_STEPS = 3
"""Fewer could be two numbers in a sentence."""
LONGEST_STEP = 400
"""Characters; a longer one is a paragraph that begins with a number."""


class Steps(NamedTuple):
    """What a text gives as numbered steps.

    Attributes:
        lead: the last line or sentence before them; empty for none.
        steps: in order.
    """

    lead: str
    steps: tuple[str, ...]


def steps_in(text: str) -> Steps | None:
    """The steps of a text that numbers them 1, 2, 3, as a list or within a line; None if it gives no procedure.

    Only the numbers decide. A list with a question in it asks something, and is none.
    """
    marks = [(found, _number(found)) for found in _STEP.finditer(text[:LONGEST_TEXT])]
    best: list[re.Match[str]] = []
    for at, (first, number) in enumerate(marks):
        if number != 1:
            continue
        run = [first]
        for found, number in marks[at + 1 :]:
            if number == len(run) + 1:
                run.append(found)
        best = max(best, run, key=len)
    if len(best) < LEAST_STEPS:
        return None
    ends = [*(found.start() for found in best[1:]), _last_end(text, best[-1])]
    steps = tuple(
        " ".join(text[found.end() : end].split()).rstrip(";；,，") for found, end in zip(best, ends, strict=True)
    )
    if not all(any(sign.isalpha() for sign in step) and len(step) <= LONGEST_STEP for step in steps):
        return None
    if any(re.search("[?？؟]", step) for step in steps):
        return None
    before = [line for line in re.split(r"\n|(?<=[.!。！])\s+", text[: best[0].start()]) if line.strip(" \t>:：")]
    return Steps(before[-1].strip(" \t>:：-–—") if before else "", steps)


def may_give_steps(text: str) -> bool:
    """Whether a text holds the numbers of steps at all: a cheap look before anything is parsed."""
    return {_number(found) for found in _STEP.finditer(text)} >= set(range(1, LEAST_STEPS + 1))


LONGEST_TEXT = 20_000
"""Characters in which steps are looked for."""


def _number(found: re.Match[str]) -> int:
    return ord(found["ring"]) - 0x245F if found["ring"] else int(found["number"])


def _last_end(text: str, mark: re.Match[str]) -> int:
    """Where the last step ends: that of a list at a blank line or at a line that is not indented."""
    if mark["start"] is None:
        return len(text)
    end = re.compile(r"\n[ \t>]*(?:\n|\Z)|\n(?![ \t])").search(text, mark.end())
    return end.start() if end else len(text)


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
    inside = loose = False  # an item, or a candidate without a list mark
    for text in texts:
        bare = text.strip()
        mark = _ITEM.match(text)
        heading = not mark and text.lstrip(" ").startswith("#") and _HEADING.match(text) is not None
        if mark:
            said = _STATE.match(text) if "[" in text else None
            state, inside, loose = said[1] if said else "", True, False
        elif not bare or heading:
            state, inside, loose = "", False, False
        elif bare[:1].isdigit() and (loose or not inside or is_apart(text)):
            said = _LOOSE.match(text) if "[" in text else None
            loose = loose or said is not None
            state, inside = said[2] if said else "", said is not None
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
    if item and "d:: " in bare and _REPLACED.match(text):
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
        elif item is not None and (not line.strip() or _HEADING.match(line) or is_apart(line)):
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
        alone = text.lstrip().startswith("|") or bool(TITLE.match(text)) or is_loose(text)
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


def unmarked(line: str) -> str:
    """A line without the mark of its list item; one that begins none as it is."""
    mark = _LIST_MARK.match(line)
    return line[mark.end() :] if mark else line


def unbulleted(line: str) -> str:
    """A line without the mark of its bullet; one that begins none, or a numbered item, as it is."""
    mark = _BULLET.match(line)
    return line[mark.end() :] if mark else line


def bullets_in(text: str) -> Iterator[str]:
    """The words of every line that looks like a bullet, at a glance: also within code, which no parse would take."""
    return (found["words"] for found in _BULLETS.finditer(text))


def is_empty(line: str) -> bool:
    """Whether a line is a bullet without words, with or without a box."""
    return re.fullmatch(rf"[ \t]*{MARK}(?:[ \t]+\[[^\[\]]?\])?[ \t]*", line) is not None


def is_time_alone(line: str) -> bool:
    """Whether a line is a bullet of nothing but a time of day."""
    return re.fullmatch(rf"{MARK}[ \t]+{_CLOCK}*", line) is not None


def mark_of_time(line: str) -> str | None:
    """What stands right before the time that a line begins with, the mark of a bullet or ''; None: no time does."""
    found = re.match(rf"({MARK}?){_CLOCK}+\S", line)
    return found[1] if found else None


def given_up(line: str) -> str | None:
    """The state of a line that is a candidate which was rejected or expired, '' of one that keeps what was replaced;
    None of any other.
    """
    if (loose := _LOOSE.match(line) if "[" in line else None) is not None:
        return loose[2] if loose[2] in (REJECTED, EXPIRED) else None
    found = _DISMISSED.match(line)
    return (found[1] or "") if found else None


def is_loose(line: str) -> bool:
    """Whether a line is a candidate that lacks a list mark (:func:`tars_memory.vault.markdown.entries.with_loose`)."""
    return "[" in line and _LOOSE.match(line) is not None


def is_apart(line: str) -> bool:
    """Whether a line is such a candidate, and none of the item above it, for it isn't indented."""
    return line[:1] not in BLANKS and is_loose(line)


def heading_of(text: str) -> str | None:
    """The words of a heading; None if the text begins with none."""
    found = TITLE.match(text)
    return found[2] if found else None


def says_who(text: str) -> bool:
    """Whether a passage tells who said the one that it is nested in."""
    return _SAID_BY.match(text) is not None


def rejected_words(line: str) -> str:
    """What a rejected candidate says; '' of any other line."""
    state = _STATE.match(line) or _LOOSE.match(line) if "[rejected]" in line else None
    return unlinked(line[state.end() :]) if state and state[state.lastindex or 0] == REJECTED else ""


def replaced_words(line: str) -> str:
    """The words that a line had before others took their place, as it is kept below them; '' of any other line."""
    was = _REPLACED.match(line) if "d:: " in line else None
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


def plain(text: str) -> str:
    """Lines without state tag, block id, provenance and bold marks; nothing of one that keeps what was replaced."""
    return "\n".join(map(_plain, text.split("\n")))


def _plain(line: str) -> str:
    if "d:: " in line and _REPLACED.match(line):
        return ""
    if ("^" in line or "[" in line) and _MACHINERY.search(line):
        line = entries.unsigned(entries.plain(line))
    return line.replace("**", "")


def is_summed(line: str) -> bool:
    """Whether a line of a session note is of a summary that rules made: it says again what a turn says."""
    return _SUMMED.match(line) is not None


# -- until when lines and notes count


class Window(NamedTuple):
    """Lines with an end.

    Attributes:
        first, last: lines, 1-based, inclusive.
        until: the first day on which they no longer count.
    """

    first: int
    last: int
    until: date


def may_end(data: bytes) -> bool:
    """Whether a bullet of the note can have an end, at a glance."""
    return b"::" in data and b"until" in data.lower()


def may_say_end(data: bytes) -> bool:
    """Whether anything of the note can have an end, at a glance."""
    if may_end(data):
        return True
    head = data[:MAX_CHARACTERS].lower() if data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") else b""
    return any(word in head for word in (b"expires", b"valid", b"until"))


def windows_of(document: Document, *, facts: bool = False) -> list[Window]:
    """The bullets that end, nested ones too, in order of their lines.

    Args:
        document: the note.
        facts: it holds facts over time.
    """
    if not may_end(document.data):
        return []
    stated: dict[int, date | None] = {}
    if facts:
        from tars_memory.vault.markdown.facts import read

        stated = {fact.line: fact.until for _, fact in read("", document)}
    found: list[Window] = []
    for bullet in document.bullets:
        words = document.data[bullet.start : bullet.end] if bullet.worded else b""
        until = stated[bullet.line] if bullet.line in stated else end_in(words.decode("utf-8", "replace"))
        if until is not None:
            found.append(Window(bullet.line, bullet.end_line, until))
    return found


def note_end(values: dict[str, Any], *, session: bool = False) -> date | None:
    """The first day on which a note no longer counts, by its front matter; None if it says none.

    Args:
        values: as :func:`tars_memory.vault.markdown.document.read_front` gives them.
        session: it is a session note.
    """
    if not values:
        return None
    said = {key.strip().casefold(): value for key, value in values.items()}
    for name in (*PROPERTIES, OF_SESSIONS) if session else PROPERTIES:
        for day in _DATE.findall(str(said.get(name, ""))[:1_000]):
            if (found := calendar_day(day)) is not None:
                return found
    return None


def end_in(words: str) -> date | None:
    """The end that a bullet's words say, the last of several; None if they say none, or no real day."""
    if "::" not in words:
        return None
    days = [day for text in _UNTIL.findall(CODE.sub("", words)) if (day := calendar_day(text)) is not None]
    return days[-1] if days else None


def typed_end(words: str) -> str:
    """The first end in a bullet's words as it was typed, whether or not it is a date; empty for none."""
    found = _TYPED.search(CODE.sub("", words))
    return found[0] if found else ""


def begins_in(words: str) -> date | None:
    """The first day on which what a line says holds, if it says one."""
    said = _SINCE.search(CODE.sub("", words)) if "::" in words else None
    return calendar_day(said[1]) if said else None


def ended_lines(document: Document, day: date, *, facts: bool = False, session: bool = False) -> list[tuple[int, int]]:
    """First and last line of what no longer counts on a day; the whole note if its front matter says so."""
    whole = note_end(document.front_matter, session=session)
    if whole is not None and whole <= day:
        return [(1, document.last_line)]
    return [(window.first, window.last) for window in windows_of(document, facts=facts) if window.until <= day]


def calendar_day(text: str) -> date | None:
    """The day of an ISO date; None if no calendar has it."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
