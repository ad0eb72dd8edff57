"""The grammar of single lines: what each line of a note is, and when it expires; and the outline of a note. Pure.

The grammar runs here, once, when a note is indexed. Recall reads the result as rows and parses no markdown; for notes
that it has just read, it uses :func:`items` and :func:`passages`.

From the date of ``[until:: DATE]`` on a bullet, or of ``expires: DATE`` in the front matter, lines are left out of
search and of what a model is given; nothing changes in the vault. Children expire with their bullet. The end of a fact
is the one that :mod:`tars_memory.vault.markdown.facts` reads.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import Any, NamedTuple

from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import (
    MAX_CHARACTERS,
    Document,
    front_aliases,
    front_day,
    front_tags,
    page_properties,
    read_elsewhere,
)
from tars_memory.vault.model import Line, is_empty_item

ITEM, HEADING, TEXT, MACHINERY, REPLACED = "item", "heading", "text", "machinery", "replaced"
EMPTY, REPEATED, PROPERTY = "empty", "repeated", "property"
"""Kinds of lines. An empty line is an item without words; machinery names the speaker or session of the line above;
replaced keeps a line's former words; a property is a line of the front matter that says something."""
REJECTED, EXPIRED = "rejected", "expired"

_TAG = re.compile(r"(?<![^\s(,;\[])#([\w/-]*[^\W\d_][\w/-]*)")
CODE = re.compile(r"`[^`]*`")
TITLE = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
"""A heading with words; groups: its marks, its words."""
_FENCE = re.compile(r"([ \t]*(?:>[ \t]*)*)((?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")
"""A mark of a fence; groups: quotes and blanks before it, the items that it begins, the mark, what follows it."""
_OPENS_PLAINLY = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*")
"""A mark of a fence with no more than the name of a language, and no words of an item."""

ALSO_CHANGED, ALSO_REMOVED = "also changed:: ", "also removed:: "
"""Beginnings of the child bullet that a merge puts under a line that two machines disagree about; the old words
follow."""
_KEPT_WORDS = f"(?:{entries.REPLACED}|{ALSO_CHANGED}|{ALSO_REMOVED})"


def tags_in(text: str) -> list[str]:
    """Return the tags in a text, in the form of :func:`tag_key`; those in code don't count."""
    text = CODE.sub("", text)
    # accents and vowel signs belong to their letters, but a pattern takes them for none
    letters = text if text.isascii() else "".join("_" if unicodedata.category(c)[0] == "M" else c for c in text)
    return [tag_key(text[slice(*found.span(1))]) for found in _TAG.finditer(letters)]


def tag_key(tag: str) -> str:
    """Return a tag in the form in which tags are compared: in lower case, however its accents are encoded."""
    return unicodedata.normalize("NFC", tag).strip("/").replace("İ", "i").lower()  # Python makes two signs of "İ"


MARK = "[-*+]"
"""The mark of a bullet, as part of a regular expression."""
_BULLET = re.compile(rf"[ \t]*{MARK}[ \t]+")
_BULLETS = re.compile(rf"(?:^|(?<=[\r\n]))[ \t]*(?:{MARK}[ \t]+|(?={entries.CANDIDATE}))(?P<words>[^\r\n]+)")
_LIST_MARK = re.compile(rf"[ \t]*(?:{MARK}|\d{{1,9}}[.)])[ \t]+")
_SIGNED = re.compile(r"[ \t]*[-+][ \t]+[.,$£¥\u20a0-\u20c0]?\d")  # with the block of the signs of currencies
_CLOCK = r"(?:[01]?\d|2[0-3]):[0-5]\d[ \t]"
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
"""Kinds of sentence that the second look may find a quote to be; a session note has the kind below a fact."""

QUOTE, SAID_BY, FACT, KIND, WARNING = "quote:: ", "said by:: ", "fact:: ", "kind:: ", "warning:: "
"""Beginnings of the bullets under a fact; the double colon is Obsidian's inline-field convention."""

BLANKS = " \t"
"""Characters that separate machinery from words. Other blanks (U+00A0, U+3000) belong to the words, as in markdown."""

_SAID_BY = re.compile(r"[ \t]*[-*+][ \t]+said by::[ \t]")
_SAID = re.compile(
    rf"[ \t]*(?:{MARK}[ \t]+({QUOTE})|>[ \t]*\[\d{{1,9}}\][ \t]+(?:\d\d?:\d\d[ \t]+)?\*\*[^*\n]+:\*\*[ \t])"
)
_REPLACED = re.compile(rf"[ \t]+[-*+][ \t]+{_KEPT_WORDS}")
_MACHINERY = re.compile(
    r"\^[A-Za-z0-9-]+[ \t]*$|\[(?:extracted|promoted|rejected|expired)\]|\(\[\[[^\[\]\n]*#\^|\[by::"
)
_SPEAKER = re.compile(
    r"\s*(?:>\s*\[\d+\]\s+|[-*+]\s+)?(?:\d{4}-\d\d-\d\d\s+)?(?:\d\d?:\d\d\s+)?(?:\*\*|__)?"
    r"([A-Z][^\s:*_]*(?: [^\s:*_]+){0,4})(?::(?:\*\*|__)|(?:\*\*|__)?:)(?=\s|$)"
)

END_PROPERTIES = ("expires", "valid_until", "valid-until", "valid until")
"""Properties with the end of a note; the first that holds a date counts."""
SESSION_END_PROPERTY = "until"
"""One more for session notes; in other notes the word may mean anything."""

DATED_FIELD = re.compile(
    r"(?<!\\)[\[(][ \t]*(since|until)[ \t]*::[ \t]*(?:\[\[)?(\d{4}-\d\d-\d\d)(?:[T \t]+\d[^\[\]()|]*+)?"
    r"(?:(?:\|[^\[\]]*)?\]\])?[ \t]*[\])]",
    re.IGNORECASE,
)
"""A date in Dataview's brackets, or a link to its daily note; of a date with a time only the day counts. Groups: the
name of the field, the day."""
OWN_FIELD = re.compile(r"(?<!\\)[\[(][ \t]*(since|until|by)[ \t]*::(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]", re.IGNORECASE)
"""One of our fields as a person may type it, with any value; its name is a group."""
BY_RULES = "By rules, in the words of the conversation:"
"""The first paragraph of a summary made by rules, without a model."""
_SUMMARY = re.compile(rf"{BY_RULES}$|(?:Opening|Asked|Decided): .*“.*\[\d+\]$")
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_BETWEEN_DAYS = re.compile(
    r"[^\w\[\]]*(?:\[\[(?:[^\[\]|]*/)?(?:\d{4}(?:[-._]W?\d\d){1,2}|\d\d\.\d\d\.\d{4})(?:\|[^\[\]]*)?\]\][^\w\[\]]*){2,}"
)
"""A line of nothing but links to days, weeks or months, by which a daily note leads to those before and after it."""

_STEP = re.compile(
    r"(?:(?P<start>^|(?<=\n))[ \t>]*|(?<=[\s:;,.!(（：；，。、！]))"
    r"[(（]?(?P<number>\d{1,2})\\?(?:[.)）](?=\s|[^\W\d_])|[、．])\s*|(?P<ring>[\u2460-\u2473])\s*"
)
"""The number of a step: ``1. ``, ``(2) ``, ``3、``, ``④``; digits of any script."""

MIN_STEPS = 3
"""Minimum number of steps; fewer could be two numbers in a sentence."""
MAX_STEP_LENGTH = 400
"""Maximum length of a step in characters; a longer one is a paragraph that begins with a number."""


class Steps(NamedTuple):
    """The numbered steps in a text.

    Attributes:
        lead: the last line or sentence before the steps; empty for none.
        steps: the words of the steps, in order.
    """

    lead: str
    steps: tuple[str, ...]


def steps_in(text: str) -> Steps | None:
    """Return the steps that a text numbers 1, 2, 3, as a list or within a line; None if it has no procedure.

    Only the numbers decide. A list with a question is not a procedure.
    """
    marks = [(found, _number(found)) for found in _STEP.finditer(text[:MAX_STEPS_TEXT])]
    best: list[re.Match[str]] = []
    for at, (first, number) in enumerate(marks):
        if number != 1:
            continue
        run = [first]
        for found, number in marks[at + 1 :]:
            if number == len(run) + 1:
                run.append(found)
        best = max(best, run, key=len)
    if len(best) < MIN_STEPS:
        return None
    ends = [*(found.start() for found in best[1:]), _end_of_last(text, best[-1])]
    steps = tuple(
        " ".join(text[found.end() : end].split()).rstrip(";；,，") for found, end in zip(best, ends, strict=True)
    )
    if not all(any(char.isalpha() for char in step) and len(step) <= MAX_STEP_LENGTH for step in steps):
        return None
    if any(re.search("[?？؟]", step) for step in steps):
        return None
    before = [line for line in re.split(r"\n|(?<=[.!。！])\s+", text[: best[0].start()]) if line.strip(" \t>:：")]
    return Steps(before[-1].strip(" \t>:：-–—") if before else "", steps)


MAX_STEPS_TEXT = 20_000
"""Number of characters of a text that are searched for steps."""


def _number(found: re.Match[str]) -> int:
    """Return the number of a step; U+2460 is the digit one in a circle."""
    return ord(found["ring"]) - 0x245F if found["ring"] else int(found["number"])


def _end_of_last(text: str, mark: re.Match[str]) -> int:
    """Return the end of the last step: in a list, the next blank line or line that is not indented."""
    if mark["start"] is None:
        return len(text)
    end = re.compile(r"\n[ \t>]*(?:\n|\Z)|\n(?![ \t])").search(text, mark.end())
    return end.start() if end else len(text)


class Item(NamedTuple):
    """The own lines of a list item.

    Attributes:
        indent: columns before the list mark.
        numbers: indexes of the lines.
        text: the lines joined into one.
    """

    indent: int
    numbers: list[int]
    text: str

    @property
    def source(self) -> str:
        """The block id of the line that the item came from, or ''."""
        found = _SOURCE.search(self.text)
        return found[2] if found else ""

    @property
    def words(self) -> str:
        """The text without list mark and provenance link."""
        return _SOURCE.sub("", _ITEM.sub("", self.text, count=1))


def read(texts: Sequence[str], *, session: bool = False) -> list[Line]:
    """Classify consecutive lines: return the kind, state, block id, speaker, source and dates of each.

    In a session note, the lines of a summary made by rules repeat the words of turns.
    """
    found: list[Line] = []
    state = ""
    inside = loose = False  # an item, or a candidate without a list mark
    for text in texts:
        bare = text.strip()
        mark = _ITEM.match(text)
        heading = not mark and text.lstrip(" ").startswith("#") and _HEADING.match(text) is not None
        if mark:
            tag = _STATE.match(text) if "[" in text else None
            state, inside, loose = tag[1] if tag else "", True, False
        elif not bare or heading:
            state, inside, loose = "", False, False
        elif bare[:1].isdigit() and (loose or not inside or is_outer_unmarked_candidate(text)):
            candidate = _LOOSE.match(text) if "[" in text else None
            loose = loose or candidate is not None
            state, inside = candidate[2] if candidate else "", candidate is not None
        identity = _BLOCK_ID.search(text) if "^" in text else None
        source = _SOURCE.search(text) if "#^" in text else None
        speaker = speaker_of(text) if ":" in text else ""
        since, until = start_in(text), end_in(text)
        indent, kind = _indent(text), _kind(text, bare, heading=heading, item=mark is not None)
        if kind == ITEM and found and bare.startswith("- warning:: ") and found[-1][:2] == (indent, MACHINERY):
            kind = MACHINERY  # belongs to the fact above, like the line before
        elif session and _SUMMARY.match(text):
            kind = MACHINERY if text == BY_RULES else REPEATED
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
    """Return the kind of a line.

    Args:
        text: the line.
        bare: the line without surrounding blanks.
        heading: whether it is a heading.
        item: whether it begins a list item.
    """
    if heading:
        return HEADING
    if item and "d:: " in bare and _REPLACED.match(text):
        return REPLACED
    if (
        bare == "---"
        or ("[[" in bare and _BETWEEN_DAYS.fullmatch(bare))
        or bare.startswith(("- said by:: ", "- from:: ["))
        or (bare.startswith("- fact:: ") and " › " in bare)
        or (bare.startswith("- kind:: ") and bare[9:] in SENTENCES)
    ):
        return MACHINERY  # a statement that nobody has decided about; once accepted, it is in Facts.md
    if not item:
        return TEXT
    return EMPTY if is_empty_item(text) else ITEM


def fences(lines: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last line of each fence, in items and quotes too, by their marks alone.

    The last line of a fence that is never closed, or that its quote or item ends, is 0.
    """
    first, mark, quotes, indent = 0, "", 0, 0
    for number, line in enumerate(lines, 1):
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if mark:
            inside = line.replace(">", " ", quotes)
            ended = line.count(">", 0, len(line) - len(line.lstrip("> \t"))) < quotes
            if ended or (line.strip() and _indent(inside) < indent):
                yield first, 0
                mark = ""
            elif (
                found
                and (found[1].count(">"), found[2], found[4]) == (quotes, "", "")
                and found[3].startswith(mark)
                and _indent(inside) - 2 * quotes < indent + 4  # deeper, it is code
            ):
                yield first, number
                mark = ""
                continue
        if found and not mark:
            first, mark, quotes = number, found[3], found[1].count(">")
            before = len((found[1] + found[2]).expandtabs(4))
            indent = before if found[2] or before - 2 * quotes > 3 else 0
    if mark:
        yield first, 0


def is_plain_fence(line: str) -> bool:
    """Whether a line is the mark of a fence with no more than the name of a language, and begins no item."""
    return _OPENS_PLAINLY.fullmatch(line) is not None


def items(lines: Iterable[str]) -> Iterator[Item]:
    """Yield the list items, nested ones too, each with its continuation lines (:func:`passages`)."""
    texts = [*lines]
    for indent, is_item, numbers in passages(texts):
        if is_item:
            first, *more = (texts[number] for number in numbers)
            yield Item(indent, numbers, " ".join([first, *map(str.strip, more)]))


def passages(texts: Sequence[str]) -> Iterator[tuple[int, bool, list[int]]]:
    """Yield the indent in columns of each passage, whether it is a list item, and the indexes of its lines.

    A list item includes its continuation lines up to a blank one. A table row is a passage of its own, as is a heading;
    other lines are one passage up to a blank line.
    """
    indent, is_item = 0, False
    numbers: list[int] = []
    for number, text in enumerate(texts):
        mark = _ITEM.match(text)
        alone = text.lstrip().startswith("|") or bool(_HEADING.match(text)) or is_unmarked_candidate(text)
        if numbers and (mark or alone or not text.strip()):
            yield indent, is_item, numbers
            numbers = []
        if not text.strip():
            continue
        if not numbers:
            indent, is_item = _indent(text), bool(mark)
        numbers.append(number)
        if alone:
            yield indent, False, numbers
            numbers = []
    if numbers:
        yield indent, is_item, numbers


def _indent(text: str) -> int:
    """Return the number of columns before the words of a line, with tab stops every four columns."""
    wide = text.expandtabs(4) if "\t" in text else text
    return len(wide) - len(wide.lstrip())


def unmarked(line: str) -> str:
    """Remove the list mark of a line; a line without one stays as it is."""
    mark = _LIST_MARK.match(line)
    return line[mark.end() :] if mark else line


def unbulleted(line: str) -> str:
    """Remove the bullet mark of a line; a numbered item, or a line without a mark, stays as it is."""
    mark = _BULLET.match(line)
    return line[mark.end() :] if mark else line


def typed_words(text: str) -> str:
    """Return what a person typed as :func:`entries.neutralise` does, but without a bullet's mark at its start.

    A dash or plus before a number or a sum of money may be a sign, and stays.
    """
    return entries.neutralise(text if _SIGNED.match(text) else unbulleted(text))


def bullets_in(text: str) -> Iterator[str]:
    """Yield the words of every line that looks like a bullet, without parsing: bullets in code blocks are included."""
    return (found["words"] for found in _BULLETS.finditer(text))


def is_time_alone(line: str) -> bool:
    """Whether a line is a bullet with nothing but a time of day."""
    return re.fullmatch(rf"{MARK}[ \t]+{_CLOCK}*", line) is not None


def mark_before_time(line: str) -> str | None:
    """Return the bullet mark right before the time that a line begins with, or ''; None if it begins with no time."""
    found = re.match(rf"({MARK}?){_CLOCK}+\S", line)
    return found[1] if found else None


def dismissed_state(line: str) -> str | None:
    """Return the state of a rejected or expired candidate, '' for a line that keeps replaced words, None for others."""
    if found := _state(line):
        return state if (state := found[found.lastindex or 0]) in (REJECTED, EXPIRED) else None
    return "" if "d:: " in line and _REPLACED.match(line) else None


def _state(line: str) -> re.Match[str] | None:
    """Match a candidate up to its words; the last group is its state."""
    return (_STATE.match(line) or _LOOSE.match(line)) if "[" in line else None


def is_unmarked_candidate(line: str) -> bool:
    """Whether a line is a candidate without a list mark (:func:`tars_memory.vault.markdown.entries.with_unmarked`)."""
    return "[" in line and _LOOSE.match(line) is not None


def is_outer_unmarked_candidate(line: str) -> bool:
    """Whether a line is such a candidate and is not indented, so that it is not part of the item above."""
    return line[:1] not in BLANKS and is_unmarked_candidate(line)


def heading_of(text: str) -> str | None:
    """Return the words of a heading; None if the text does not begin with one."""
    found = TITLE.match(text)
    return found[2] if found else None


def is_speaker_line(text: str) -> bool:
    """Whether a passage names the speaker of the line that it is nested in."""
    return _SAID_BY.match(text) is not None


def rejected_words(line: str) -> str:
    """Return the words of a rejected candidate; '' for any other line."""
    return unlinked(line[found.end() :]) if (found := _state(line)) and found[found.lastindex or 0] == REJECTED else ""


def replaced_words(line: str) -> str:
    """Return the former words that a line keeps, as it is kept below the new ones; '' for any other line."""
    field = _REPLACED.match(line) if "d:: " in line else None
    return line[field.end() :] if field else ""


def quote_in(text: str) -> str:
    """Return the words of a bullet that begins with :data:`QUOTE`, without quotation marks."""
    return re.sub(r'^["“„«](.*)["”“»]$', r"\1", text.removeprefix(QUOTE).strip(BLANKS))


def said_in(line: str) -> str:
    """Return what somebody said in a line that quotes it: a bullet ``quote:: …`` or a turn; '' for other lines."""
    said = _SAID.match(line)
    if said is None:
        return ""
    return quote_in(line[said.end() :]) if said[1] else line[said.end() :].strip(BLANKS)


def speaker_in(text: str) -> tuple[str, int]:
    """Return the name and the turn in a bullet that begins with :data:`SAID_BY`; turn 0 if it names none."""
    words = text.removeprefix(SAID_BY).strip(BLANKS)
    turn = re.search(r"(?<![^\s,])turn\s+(\d{1,9})$", words)
    return words[: turn.start() if turn else None].strip(f"{BLANKS},"), int(turn[1]) if turn else 0


def unlinked(text: str) -> str:
    """Return a text without its block id and provenance link."""
    return _SOURCE.sub("", _BLOCK_ID.sub("", text))


def speaker_of(line: str) -> str:
    """Return the name that a line of a transcript begins with, or ''.

    ``**Anna:** …``, ``- Anna Berg: …``, ``14:30 Anna: …``, ``> [31] 14:30 **Anna:** …`` (a turn in a session note): up
    to five words before a colon, the first capitalised.
    """
    match = _SPEAKER.match(line)
    return match[1] if match else ""


def block_id_of(line: str) -> str:
    """Return the block id of a line, or ''."""
    found = _BLOCK_ID.search(line) if "^" in line else None
    return found[1] if found else ""


def candidates_of(line: str) -> set[str]:
    """Return the block ids of the candidate that a line is, and of the one that it came from."""
    source = _SOURCE.search(line) if "#^" in line else None
    return {name for name in (source[2] if source else "", block_id_of(line)) if name}


def plain(text: str) -> str:
    """Return lines without state tag, block id, provenance and bold marks; lines that keep replaced words are empty."""
    return "\n".join(map(_plain, text.split("\n")))


def _plain(line: str) -> str:
    """Return one line of :func:`plain`."""
    if "d:: " in line and _REPLACED.match(line):
        return ""
    if ("^" in line or "[" in line) and _MACHINERY.search(line):
        line = entries.unsigned(entries.plain(line))
    return line.replace("**", "")


# -- when lines and notes expire


class Window(NamedTuple):
    """Lines with an end.

    Attributes:
        first, last: first and last line, from 1, inclusive.
        until: the first day on which they no longer count.
    """

    first: int
    last: int
    until: date


def may_have_end(data: bytes) -> bool:
    """Whether a bullet of the note may have an end: a cheap check without parsing."""
    return b"::" in data and b"until" in data.lower()


def may_have_any_end(data: bytes) -> bool:
    """Whether a bullet of the note, or the note itself, may have an end: a cheap check without parsing."""
    if may_have_end(data):
        return True
    head = data[:MAX_CHARACTERS].lower() if data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") else b""
    return any(word in head for word in (b"expires", b"valid", b"until"))


def windows_of(document: Document, *, facts: bool = False) -> list[Window]:
    """Return the bullets with an end, nested ones too, in order of their lines.

    Args:
        document: the note.
        facts: whether the note holds facts over time.
    """
    if not may_have_end(document.data):
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
    """Return the first day on which a note no longer counts, by its front matter; None if it has no end.

    Args:
        values: the front matter, as :func:`tars_memory.vault.markdown.document.read_front` returns it.
        session: whether the note is a session note.
    """
    by_name = {key.strip().casefold(): value for key, value in values.items()}
    for name in (*END_PROPERTIES, SESSION_END_PROPERTY) if session else END_PROPERTIES:
        for day in _DATE.findall(str(by_name.get(name, ""))[:1_000]):
            if (found := calendar_day(day)) is not None:
                return found
    return None


def end_in(words: str) -> date | None:
    """Return the end in the words of a bullet, the last of several; None if there is no end, or no real day."""
    return next(reversed(_days_in(words, "until")), None)


def typed_end(words: str) -> str:
    """Return the first end in the words of a bullet as typed, whether or not it is a date; empty for none."""
    found = OWN_FIELD.finditer(CODE.sub("", words))
    return next((field[0] for field in found if field[1].lower() == "until"), "")


def start_in(words: str) -> date | None:
    """Return the first day on which the statement of a line is valid; None if the line names none."""
    return next(iter(_days_in(words, "since")), None)


def _days_in(words: str, name: str) -> list[date]:
    """Return the days of the date fields with a name."""
    fields = DATED_FIELD.findall(CODE.sub("", words)) if "::" in words else ()
    return [day for found, text in fields if found.lower() == name and (day := calendar_day(text)) is not None]


def ended_lines(document: Document, day: date, *, facts: bool = False, session: bool = False) -> list[tuple[int, int]]:
    """Return the first and last line of every bullet that no longer counts on a day; the whole note if it has ended."""
    whole = note_end(document.front_matter, session=session)
    if whole is not None and whole <= day:
        return [(1, document.last_line)]
    return [(window.first, window.last) for window in windows_of(document, facts=facts) if window.until <= day]


def calendar_day(text: str) -> date | None:
    """Return the day of an ISO date; None if there is no such day."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


# -- the outline of a whole note, for the index


Span = tuple[str, int, int, tuple[str, ...]]
"""A block: its kind, empty for the lines between two; its first line, its last line, and its heading path."""
_HIDDEN = re.compile(r"\s*(?:<!--(?>.*?-->)\s*)+", re.DOTALL)
"""A block of HTML that consists of closed comments alone."""


class Outline(NamedTuple):
    """What a note holds.

    Attributes:
        lines: their texts; invalid UTF-8 is read as replacement characters.
        blocks: in order; comments of HTML are of the kind ``hidden``, and those of Obsidian that end with a fence: the
            data of a plugin, as Excalidraw's drawing and Kanban's settings.
        windows: the lines with an end.
        properties: of the front matter.
        body_line: the first line after the front matter.
        until: the first day on which the note no longer counts, by its front matter, or None.
        day: the date of the note, by its front matter, or None.
        aliases: by its front matter, or the properties of a page of Logseq.
        tags: likewise, without ``#``.
        opening: the title that its text opens with (:func:`opening_title`), '' if the front matter has a title.
        told: the lines of its properties, by number, with what they say (:func:`_property_lines`); none of a session
            note, which they only describe.
    """

    lines: list[str]
    blocks: list[Span]
    windows: Sequence[Window]
    properties: dict[str, Any]
    body_line: int
    until: date | None
    day: date | None
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    opening: str
    told: dict[int, int]


def outline(data: bytes, *, facts: bool = False, session: bool = False) -> Outline:
    """Return the outline of a note, which may hold facts over time, or be a session note."""
    document = Document(data, by_lines=True)
    lines = [data[start:end].decode("utf-8", "replace") for start, end, _ in document.lines[: document.last_line]]
    blocks, windows = [*_spans(document, lines)], windows_of(document, facts=facts)
    front, body_line = document.front_matter, document.body_line
    until, day = note_end(front, session=session), front_day(front) if front else None
    named = page_properties(lines) | front
    names = front_aliases(named), front_tags(named), "" if front.get("title") else opening_title(lines, blocks)
    told = {} if session else _property_lines(lines, front, body_line)
    return Outline(lines, blocks, windows, front, body_line, until, day, *names, told)


def opening_title(lines: Sequence[str], blocks: Iterable[Span]) -> str:
    """Return the words of the heading of level 1 with which a note opens, '' if it doesn't: people who name files by an
    id or a date write the note's name there.
    """
    first = next((block for block in blocks if block[0] not in ("", "hidden")), None)
    if first is not None and first[0] == "heading" and lines[first[2] - 1].lstrip().startswith(("# ", "#\t", "=")):
        return first[3][-1]
    return ""


TITLE_ALONE, SORTS, SAYS = range(3)
"""What a property says of its note: what is shown anyway; a name, a tag, its date, or nothing in words, by which it is
found without being shown; something that only this line says."""
_PROPERTY = re.compile(r"(?!- )(?P<quote>[\"']?)(?P<key>[^\s#:][^:]*)(?P=quote):(?:[ \t]+(?P<value>.*))?")
"""The first line of a property."""
_WORDLESS = re.compile(r"\W*|true|false|null|[a-z][a-z\d+.-]*://\S*|(?=[\d-]*[a-f])[\da-f-]{16,}", re.IGNORECASE)
"""A value that says nothing in words: none, a box that is ticked or not, an address, an identifier."""


def _property_lines(lines: Sequence[str], front: dict[str, Any], body_line: int) -> dict[int, int]:
    """Return the lines of the front matter, by number, each with what its property says: :data:`SAYS`, as
    ``birthday: 1 May`` does, :data:`SORTS` or :data:`TITLE_ALONE`.

    Of front matter that is not YAML, what is on the line of the key counts.

    Args:
        lines: of the note.
        front: its front matter.
        body_line: the first line after the front matter.
    """
    found: dict[int, int] = {}
    worth = SORTS
    for number, line in enumerate(lines[1 : max(body_line - 2, 1)], 2):
        if first := _PROPERTY.match(line):
            key = first["key"].strip()
            value = front.get(key, first["value"] or "")
            worth = SAYS if _says(value) and not read_elsewhere(key, value) else SORTS
            worth = TITLE_ALONE if key == "title" else worth
        if line.strip() and not line.startswith("#"):
            found[number] = worth
    return found


def _says(value: object) -> bool:
    """Whether the value of a property says something in words or figures."""
    if isinstance(value, str):
        return not _WORDLESS.fullmatch(value.strip())
    return any(map(_says, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()))


def read_properties(texts: Sequence[str], first: int, told: frozenset[int]) -> list[Line]:
    """Classify lines of the front matter, of which ``first`` is the number of the first and ``told`` those that say
    something; the others are machinery. None has a speaker or is an item.
    """
    kinds = (PROPERTY if number in told else MACHINERY for number in range(first, first + len(texts)))
    return [Line(_indent(text), kind, "", "", "", "", "", "") for text, kind in zip(texts, kinds, strict=True)]


def _spans(document: Document, lines: Sequence[str]) -> Iterator[Span]:
    """Yield the blocks of a note, and the lines between them; ``lines`` are their texts."""
    sections = iter(document.sections)
    section = next(sections)
    following = next(sections, None)
    last = document.body_line - 1
    for kind, start, end in document.blocks:
        # Lines outside any block of the parser (link definitions) are the person's text, too.
        yield "", last + 1, start - 1, section.path
        while following is not None and start >= following.start_line:
            section, following = following, next(sections, None)
        last = max(last, end)
        if kind != "rule":
            hidden = kind == "html" and _HIDDEN.fullmatch("\n".join(lines[start - 1 : end]))
            closed = kind == "comment" and end > start + 1 and "%%" in lines[end - 1]
            fenced = closed and lines[end - 2].startswith("```")
            kept = fenced and any(line.startswith("```") for line in lines[start : end - 2])  # by a plugin
            yield "hidden" if hidden or kept else kind, start, end, section.path
    yield "", last + 1, len(lines), section.path
