"""What to splice into a note to add, replace, remove or mark one bullet; and what a write changed, in whole lines: what
history shows, what undo takes back, what the loss check looks for.

Pure: bytes in, splices out. Each plan is checked before it is returned: the note as it would become is parsed again,
and the bullet must stand in its section as one bullet, with every other section, block and bullet as it was. A plan
that would change more gives way to the next best place.

A :class:`Span` is exact to the byte, so that undo gives back the very bytes; it reaches to whole lines, so that undo
can find the lines again when the note has moved on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from difflib import SequenceMatcher
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import ConflictError
from tars_memory.vault import markdown
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import (
    BOM,
    Bullet,
    Document,
    Extent,
    Section,
    apply,
    line_of,
    newline_of,
    plain_heading,
)
from tars_memory.vault.model import Entry, Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.vault.markdown.facts import Claim, Plan, Predicates
    from tars_memory.vault.note import Note


INDENTS = (b"", b"   ", b" ", b"  ")
"""Before a new bullet. If all else fails, a few blanks keep what follows and is indented from becoming its child."""

WHOLE = 100
"""Lines of a note that is parsed as a whole, at 60 µs each."""

NEAR = 3
"""So many blocks before and after a new bullet are parsed again: two could be told apart by it, one is to spare."""

_LETTERED = re.compile(r"(?:- [^\W\d_][^\x00-\x1f\x7f]*\n|## [^\W\d_][^\W_]*(?: [^\W_]+)*\n|\n)*")
"""Bullets, headings of plain words, and blank lines; each begins with a letter."""


def insert_bullet(data: bytes, bullet: str, *, section: str) -> list[Splice]:
    r"""Put a bullet at the end of a section, which is made at the end of the note if it is absent or has no place.

    Args:
        data: the note.
        bullet: with its list mark (``- words``), without a final line ending; further lines after ``\n`` must be
            indented so that they are its children.
        section: plain title of the heading, a new one is of level 2; empty for the place before all headings but the
            note's title.

    Returns:
        One splice. It is at the very end of the note whenever the section is the last one and nothing is left open.

    Raises:
        ConflictError: wherever the bullet were put, it would change the lines around it.
    """
    return _inserted(data, [bullet], section)


def insert_bullets(data: bytes, bullets: Sequence[str], *, section: str) -> list[Splice]:
    """:func:`insert_bullet` for many, which stand one after another.

    All of them are placed at once, for each place is checked by a parse; where that changes what stands around them,
    the halves are.

    Returns:
        Splices, in order; one if all fit in one place, none for no bullets.
    """
    changes = Changes(data)
    waiting = [[*bullets]] if bullets else []
    while waiting:
        some = waiting.pop()
        try:
            changes.make(_inserted(changes.data, some, section))
        except ConflictError:
            if len(some) < 2:
                raise
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return changes.splices()


def _inserted(data: bytes, bullets: Sequence[str], section: str) -> list[Splice]:
    """The bullets in the best place that takes all of them."""
    document = Document(data)
    target = document.place(section)
    text = "\n".join(bullets)
    counts = [bullet.count("\n") + 1 for bullet in bullets]
    if target is not None:
        for number, splice in enumerate(_places(document, target, text)):
            before, after, first = _around(document, splice, whole=not number)
            line = after.line_at(splice.start - first + _blank(splice))
            if _added(before, after, line, counts):
                return [splice]
    for number, splice in enumerate(_new_section(document, text, section) if section else ()):
        before, after, first = _around(document, splice, whole=not number)
        made = after.section_at(after.line_at(splice.start - first + _blank(splice)))
        if made.title == plain_heading(section) and _added(before, after, made.start_line + 1, counts, heading=True):
            return [splice]
    raise ConflictError(
        f"no place under the heading {section!r} takes a bullet without changing the lines around it",
        "put a blank line or a new heading at the end of the note, then try again",
    )


def stand_at_end(document: Document, data: bytes) -> bool:
    """Whether lines at the very end of a note need no parse: they can only be the bullets and headings that they look.

    By CommonMark a line that begins with ``- `` and a letter is a bullet of its own, and one with ``## `` a heading,
    unless something above it is still open. Where a bullet or a heading comes last, such a line ends whatever is.

    Args:
        document: the note.
        data: whole lines.
    """
    text = data.decode("utf-8", "surrogateescape")
    held = document.blocks[-1] if document.blocks else None
    return (
        held is not None
        and held.kind in ("item", "heading")
        and all(document.is_blank(line) for line in range(held.end_line + 1, len(document.lines) + 1))
        and document.open_line is None
        and not document.by_lines
        and document.data.endswith(b"\n")
        and not any(mark in part for mark in (b"%%", b"$$") for part in (document.data, data))
        and _LETTERED.fullmatch(text) is not None
    )


def best_place(document: Document, bullet: str, section: str) -> Splice:
    """Where :func:`insert_bullet` tries to put a bullet first; whoever takes it looks at the outcome himself."""
    target = document.place(section)
    found = _new_section(document, bullet, section) if target is None else _places(document, target, bullet)
    return next(found)


def set_property(data: bytes, name: str, value: str) -> list[Splice]:
    """Give the front matter of a note a property of one line, or take it away; front matter is made if there is none.

    Args:
        data: the note.
        name: of the property, in plain words.
        value: plain words or a date; empty to take it away.

    Raises:
        ConflictError: the property holds more than one line, or the front matter can't be read.
    """
    document = Document(data)
    nl = newline_of(data)
    line = f"{name}: {value}".encode()
    if document.front_matter_lines is None:
        start = document.lines[0].start
        return [Splice(start, start, b"---" + nl + line + nl + b"---" + nl)] if value else []
    last = document.front_matter_lines[1]
    if last > 2 and not document.front_matter and document.text(2, last - 1).strip():
        raise ConflictError(
            "the front matter can't be read", "mend it in an editor: it is YAML between two lines of ---"
        )
    named = re.compile(rf"[\"']?{re.escape(name)}[\"']?[ \t]*:", re.IGNORECASE)
    for number in range(2, last):
        if not named.match(document.text(number)):
            continue
        start, end, after = document.lines[number - 1]
        if re.match(r"[ \t]|-", document.text(number + 1)) and number + 1 < last:
            raise ConflictError(f"{name} holds more than one line", "set it in an editor")
        return [Splice(start, end, line)] if value else [Splice(start, after, b"")]
    start = document.lines[last - 1].start
    return [Splice(start, start, line + nl)] if value else []


def insert_heading(data: bytes, title: str) -> list[Splice]:
    """Put a heading of level 2 at the end of a note.

    Args:
        data: the note.
        title: neutralised words (:func:`tars_memory.capture.remember.heading`).

    Raises:
        ConflictError: a fence or comment that is never closed takes in the end of the note.
    """
    document = Document(data)
    for splice in _new_section(document, "", title):
        bare = Splice(splice.start, splice.end, splice.data.rstrip(b"\r\n") + document.ending(len(document.lines)))
        after = Document(apply(data, [bare]))
        same = [(section.path, section.level) for section in document.sections if section.level]
        now = [(section.path, section.level) for section in after.sections if section.level]
        added = len(after.blocks) == len(document.blocks) + 1 and after.sections[-1].title == plain_heading(title)
        if added and now[:-1] == same:
            return [bare]
    raise ConflictError(
        f"no place for the heading {title!r} leaves the text around it as it is",
        "put a blank line at the end of the note, then try again",
    )


def replace_bullet(
    note: Note, entry: Entry, text: str, *, provenance: tuple[str, str] | None = None, author: str | None = None
) -> list[Splice]:
    """Give an entry of a note other words; its list mark, time, state, author, provenance, block id and children stay.

    Args:
        note: as the entry was read from it.
        entry: what to replace.
        text: neutralised words.
        provenance: target and label of another provenance link than it has.
        author: of the words, if it is another one than it has; empty for nobody in particular.
    """
    bullet = note.bullets[entry.line]
    document, timed = note.document, note.timed
    words = document.data[bullet.start : bullet.end].decode("utf-8", "surrogateescape")
    decided = document.section_at(bullet.line).title.casefold() == entries.DECISIONS.casefold()
    timed = timed or (decided and bool(entries.instant(words)))
    parts = entries.parse(" ".join(line.strip(" \t") for line in re.split(r"\r\n|\r|\n", words)), timed=timed)
    new = parts._replace(text=text, author=parts.author if author is None else author or None)
    if provenance is not None:
        new = new._replace(provenance=provenance[0], label=provenance[1])
    if new == parts:
        return []
    line = entries.render(new).removeprefix("- ")
    return [Splice(bullet.start, bullet.end, line.encode("utf-8", "surrogateescape"))]


def remove_bullet(note: Note, entry: Entry) -> list[Splice]:
    """Take an entry of a note out, with its children."""
    document, data = note.document, note.data
    first, last = document.lines[entry.line - 1], document.lines[entry.end_line - 1]
    whole = Splice(first.start, last.next, b"")
    if entry.line > 1 and (last.next == last.end or would_join(data, first, last)):
        whole = Splice(document.lines[entry.line - 2].end, last.end, b"")
    blank = Splice(first.start, last.end, b"")
    gone = range(entry.line, entry.end_line + 1)
    for splice, left in ((whole, 0), (blank, 1)):
        after = Document(apply(data, [splice]))
        if _starts(after, range(entry.line, entry.line + left)) == _starts(document, gone):
            return [splice]
    return [whole]


def _new_section(document: Document, bullet: str, title: str) -> Iterator[Splice]:
    """At the end of the note, or before what is left open there."""
    data = document.data
    line = len(document.lines) if document.open_line is None else document.open_line - 1
    nl = document.ending(max(1, line))
    lines = [b"## " + title.encode("utf-8", "surrogateescape"), *_encoded(bullet)]
    block = nl.join(lines) + nl
    if document.open_line is not None:
        at = document.lines[document.open_line - 1].start
        gap = b"" if line < 1 or document.is_blank(line) else nl
        for indent in INDENTS:
            yield Splice(at, at, gap + nl.join((lines[0], *(indent + line for line in lines[1:]))) + nl + nl)
        return
    last = document.lines[-1]
    unfinished = nl if last.end > last.start else b""
    bare = not data.strip(b" \t\r\n\xef\xbb\xbf")
    blank = bool(unfinished) or len(document.lines) < 2 or not document.is_blank(len(document.lines) - 1)
    gap = unfinished + (nl if blank and not bare else b"")
    yield Splice(len(data), len(data), gap + block)
    yield Splice(len(data), len(data), gap + nl + block)


def _places(document: Document, target: Section, bullet: str) -> Iterator[Splice]:
    """Where the bullet could go in a section that exists, best first."""
    limit = target.end_line
    is_last = target is document.sections[-1]
    if document.open_line is not None and target.start_line <= document.open_line <= limit:
        limit = document.open_line - 1
    elif is_last:
        yield from _at_end(document, bullet)
    lists = [b.end_line for b in document.bullets if not b.depth and target.body_line <= b.line <= limit]
    content = next(
        (n for n in range(limit, target.body_line - 1, -1) if not document.is_blank(n)), target.body_line - 1
    )
    after_lines = dict.fromkeys((*lists[-1:], content, limit, target.body_line - 1))
    for indent, line, before, after in product(INDENTS, after_lines, (b"", b"\n"), (b"", b"\n")):
        yield _after(document, line, _encoded(bullet, indent), before, after)


def _at_end(document: Document, bullet: str) -> Iterator[Splice]:
    last = document.lines[-1]
    nl = document.ending(len(document.lines))
    start = nl if last.end > last.start else b""
    block = nl.join(_encoded(bullet)) + nl
    yield Splice(last.end, last.end, start + block)
    yield Splice(last.end, last.end, start + nl + block)


def _after(document: Document, line: int, bullet: list[bytes], before: bytes, after: bytes) -> Splice:
    """Right after a line, with a blank line before or after if asked for (by any line ending)."""
    first = document.lines[0].start
    _, end, at = document.lines[line - 1] if line else Extent(first, first - 1, first)
    nl = document.ending(max(1, line))
    unfinished = nl if at == end else b""
    return Splice(at, at, unfinished + (nl if before else b"") + nl.join(bullet) + nl + (nl if after else b""))


def _around(document: Document, splice: Splice, *, whole: bool) -> tuple[Document, Document, int]:
    """The blocks around a splice, without it and with it; and the offset where they begin.

    Top-level blocks parse by themselves as they do within the note; where they don't, this is the whole note.

    Args:
        document: the note.
        splice: to try.
        whole: take the whole note unless it is long: the best place nearly always serves, and then the note as it
            becomes is what is asked for next.
    """
    if whole and len(document.lines) <= WHOLE:
        return document, Document(apply(document.data, [splice])), 0
    line = document.line_at(splice.start)
    blocks = document.blocks
    index = bisect_right(blocks, line, key=lambda block: block.start_line)
    first = min(line, blocks[max(0, index - NEAR)].start_line if blocks else document.body_line)
    last = blocks[index + NEAR].start_line - 1 if index + NEAR < len(blocks) else len(document.lines)
    if first <= last:
        start, end = document.lines[first - 1].start, document.lines[last - 1].next
        data = document.data[start:end]
        before = Document(data)
        if _shape(before) == _shape(document, first, last):
            moved = Splice(splice.start - start, splice.end - start, splice.data)
            return before, Document(apply(data, [moved])), start
    return document, Document(apply(document.data, [splice])), 0


def _added(before: Document, after: Document, line: int, counts: Sequence[int], *, heading: bool = False) -> bool:
    """Whether ``after`` is ``before`` plus bullets of so many lines from ``line`` on (under a new heading, if so).

    Blank lines around them may have come too.
    """
    there = {bullet.line: bullet for bullet in after.bullets}
    own = range(line - heading, line + sum(counts))
    for count in counts:
        new = there.get(line)
        if not new or new.depth or not new.worded or new.end_line != line + count - 1:
            return False
        line += count
    line -= sum(counts)
    grown = len(after.lines) - len(before.lines)

    def back(number: int) -> int:
        return number if number < line else number - grown

    return _shape(before) == [
        (what, back(start), back(own_end), back(end)) for what, start, own_end, end in _shape(after) if start not in own
    ]


def _shape(document: Document, first: int = 1, last: int | None = None) -> list[tuple[object, int, int, int]]:
    """What stands in a note from line to line: what it is, and its first, own last and last line, counted again."""
    within = range(first, (last or len(document.lines)) + 1)
    bullets = [((b.depth, b.worded), b.line, b.own_end_line, b.end_line) for b in document.bullets if b.line in within]
    blocks = [(b.kind, b.start_line, b.start_line, b.end_line) for b in document.blocks if b.start_line in within]
    headings = [
        ((s.title, s.level), s.start_line, s.start_line, s.body_line - 1)
        for s in document.sections
        if s.level and s.start_line in within
    ]
    back = first - 1
    found = (*bullets, *blocks, *headings)
    return [(what, start - back, own_end - back, end - back) for what, start, own_end, end in found]


def _starts(document: Document, gone: range) -> list[tuple[object, int]]:
    """What stands in a note and where it starts, without the lines in ``gone``, which are not counted."""
    shape = ((what, start) for what, start, _, _ in _shape(document) if start not in gone)
    return [(what, start if start < gone.start else start - len(gone)) for what, start in shape]


def _blank(splice: Splice) -> int:
    """How many bytes of line endings a splice begins with."""
    return len(splice.data) - len(splice.data.lstrip(b"\r\n"))


def _encoded(bullet: str, indent: bytes = b"") -> list[bytes]:
    return [indent + line.encode("utf-8", "surrogateescape") for line in bullet.split("\n")]


def would_join(data: bytes, first: Extent, last: Extent) -> bool:
    r"""Whether a ``\r`` before and a ``\n`` after the removed lines would become one line ending."""
    return data[first.start - 1 : first.start] == b"\r" and data[last.next : last.next + 1] == b"\n"


# -- what became of a candidate: its state tag, a block id, a bullet nested under it


def mark_bullet(
    note: Note, entry: Entry, state: str, *, block_id: str = "", children: Sequence[str] = ()
) -> list[Splice]:
    """Say of a candidate what became of it: its state tag, in place; every other byte of the line stays.

    Args:
        note: as the entry was read from it.
        entry: the candidate.
        state: one of :data:`entries.STATES`.
        block_id: given to a line that has none, so that a link leads to it; without the caret, empty for none.
        children: words of bullets to nest under it; left out where they would change what stands around it.
    """
    data, bullet = note.data, note.bullets[entry.line]
    splices = stated(note, bullet, entry, state, block_id=block_id)
    if children:
        under = nested(note.document, bullet, children)
        come = {bullet.end_line + number: bullet.depth + 1 for number in range(1, len(children) + 1)}
        if keeps_the_rest(apply(data, splices), apply(data, [*splices, under]), come):
            splices.append(under)
    return splices


def stated(note: Note, bullet: Bullet, entry: Entry, state: str, *, block_id: str = "") -> list[Splice]:
    """The state tag, and the block id of a line that has none, for a bullet of the note."""
    splices = [*_state(note, bullet, entry, state)]
    if block_id and not entry.block_id:
        splices.append(Splice(bullet.end, bullet.end, f" ^{block_id}".encode("ascii")))
    return splices


def keeps_the_rest(before: bytes, after: bytes, come: Mapping[int, int]) -> bool:
    """Whether a note has become another one by new bullets alone.

    Args:
        before: the note.
        after: with the new bullets, one line each.
        come: by their lines how deep they should stand.
    """
    found = [(bullet.line, bullet.depth) for bullet in Document(after).bullets]
    had = [(bullet.line, bullet.depth) for bullet in Document(before).bullets]
    wanted = sorted(come)
    moved = [(line + bisect_right(_earlier(wanted), line), depth) for line, depth in had]
    return found == sorted([*moved, *come.items()])


def nested(document: Document, bullet: Bullet, children: Sequence[str]) -> Splice:
    """Bullets as the last children of another one."""
    first = document.lines[bullet.line - 1]
    head = document.data[first.start : bullet.start]
    indent = re.sub(rb"[^\t]", b" ", head)
    child = next((b for b in document.bullets if b.depth == bullet.depth + 1 and bullet.line < b.line), None)
    if child and child.line <= bullet.end_line:
        start = document.lines[child.line - 1].start
        indent = re.match(rb"[ \t]*", document.data[start : child.start])[0]  # type: ignore[index]
    end = document.lines[bullet.end_line - 1]
    nl = document.ending(bullet.end_line)
    lines = nl.join(indent + b"- " + words.encode("utf-8", "surrogateescape") for words in children)
    return Splice(end.next, end.next, lines + nl if end.next > end.end else nl + lines)


def _earlier(come: Sequence[int]) -> list[int]:
    """The lines before which new ones were put, as they were counted before."""
    return [line - number for number, line in enumerate(come)]


def _state(note: Note, bullet: Bullet, entry: Entry, state: str) -> Iterator[Splice]:
    """The tag before the words, after the time: another one, or a new one."""
    if entry.state == state:
        return
    words = note.data[bullet.start : bullet.end]
    at = 0
    if note.timed and entry.time:
        head = entries.before_state(words.decode("utf-8", "surrogateescape"))
        at = len(head.encode("utf-8", "surrogateescape"))
    at += len(words[at:]) - len(words[at:].lstrip(b" \t"))
    if entry.state:
        yield Splice(bullet.start + at + 1, bullet.start + at + 1 + len(entry.state), state.encode("ascii"))
    else:
        yield Splice(bullet.start + at, bullet.start + at, f"[{state}] ".encode("ascii"))


# -- facts over time: the new line, and the ends of those that it replaces


class Adding(NamedTuple):
    """What adding a fact comes to.

    Attributes:
        plan: see :class:`Plan`; if it has a ``same``, nothing is to be done.
        words: of the new line.
        ended: the entries that it ends, each with its new words, in the order of ``plan.endings``.
        splices: all of it, in order; empty if nothing is to be done.
    """

    plan: Plan
    words: str
    ended: tuple[tuple[Entry, str], ...]
    splices: tuple[Splice, ...]


def add_fact(
    note: Note,
    new: Claim,
    *,
    today: date,
    predicates: Predicates,
    link: tuple[str, str] | None = None,
    author: str = "",
) -> Adding:
    """What to splice into ``Facts.md`` to add a fact: its own line, and the ends of those that it replaces.

    Args:
        note: without a text if there is none.
        new: the fact: its subject as a heading takes it, its predicate as it can stand before ``::``, its object
            neutralised.
        today: the day on which it was said.
        predicates: how predicates stand in time.
        link: target and label of its provenance.
        author: who says so; empty for nobody in particular.

    Raises:
        ConflictError: no place takes the line without changing the lines around it.
    """
    found = note.facts
    known = {fact.ref: entry for entry, fact in found}
    planned = markdown.facts.plan((fact for _, fact in found), new, today=today, predicates=predicates)
    said = markdown.facts.words(new.predicate, new.object, planned.since, planned.until)
    if planned.same is not None:
        return Adding(planned, said, (), ())
    old = ((ending.fact, ending.on) for ending in planned.endings)
    ended = tuple((known[f.ref], markdown.facts.words(f.predicate, f.object, f.since, on)) for f, on in old)
    target, label = link or (None, None)
    bullet = entries.render(entries.Parts(said, provenance=target, label=label, author=author or None))
    splices = [splice for entry, text in ended for splice in replace_bullet(note, entry, text)]
    section = note.document.find_section(new.subject)
    of_note = section is not None and markdown.facts.is_title(note.path, section.title, section.level)
    return Adding(planned, said, ended, tuple(sorted([*splices, *_placed(note, bullet, new.subject, of_note=of_note)])))


def _placed(note: Note, bullet: str, subject: str, *, of_note: bool) -> list[Splice]:
    """The bullet under its subject; one that is called as the note itself gets a heading of its own."""
    data = note.data
    if not of_note:
        return insert_bullet(data, bullet, section=subject)
    (heading,) = insert_heading(data, subject)
    after = apply(data, [heading])
    after = apply(after, insert_bullet(after, bullet, section=subject))
    return [Splice(heading.start, len(data), after[heading.start :])]


# -- what a write changed, in whole lines


NEIGHBOUR_BYTES = 300
"""A neighbouring line longer than this is not kept as a landmark."""

DIFFED = 4000
"""Lines that are compared one by one; a greater difference is one splice."""

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENDING = re.compile(rb"\r\n|\r|\n")


class Span(NamedTuple):
    """Whole lines of the old note, from byte ``start``: ``before`` became ``after``.

    ``previous`` and ``following`` are the lines around it, without their endings: landmarks for undo. None at the
    note's ends or if too long.
    """

    start: int
    before: bytes
    after: bytes
    previous: bytes | None
    following: bytes | None


def lines_of(data: bytes) -> list[bytes]:
    """The lines with their endings; a line ends at CRLF, CR or LF only."""
    return _LINE.findall(data)


def bare(line: bytes) -> bytes:
    """A line without its ending."""
    return line.rstrip(b"\r\n")


def appended(data: bytes, splices: Sequence[Splice]) -> bytes | None:
    """The bytes to append if the splices only add whole lines at the end of the note, else None.

    They begin with the note's own newline if its last line has none. A splice at the end that does not end in a
    newline continues the last line: no append.
    """
    if len(splices) != 1 or not splices[0].start == splices[0].end == len(data):
        return None
    new = splices[0].data
    if not new.endswith((b"\n", b"\r")):
        return None
    if not data or data == BOM or data.endswith((b"\n", b"\r")) or new.startswith((b"\n", b"\r")):
        # A CR at the end and an LF at the start would melt into one line ending.
        return None if data.endswith(b"\r") and new.startswith(b"\n") else new
    return newline_of(data) + new


def splices_between(before: bytes, after: bytes) -> list[Splice]:
    """What to splice into a note so that it becomes the other one: whole lines, and as few as there are different."""
    old, new = lines_of(before), lines_of(after)
    head, tail = _shared_ends(old, new)
    middle, made = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if not middle and not made:
        return []
    if len(middle) + len(made) > DIFFED:
        return [Splice(start, start + sum(map(len, middle)), b"".join(made))]
    offsets = [*accumulate(map(len, middle), initial=start)]
    return [
        Splice(offsets[first], offsets[last], b"".join(made[low:high]))
        for tag, first, last, low, high in SequenceMatcher(None, middle, made, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _shared_ends(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int]:
    """How many lines two texts share at their beginning, and how many of the others at their end."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def spans_of(data: bytes, splices: Sequence[Splice]) -> list[Span]:
    """The splices widened to whole lines; those that share or touch lines become one."""
    groups: list[tuple[int, int, list[Splice]]] = []
    for splice in splices:
        start, end = _line_start(data, splice.start), splice.end
        ends_line = not splice.data or splice.data.endswith((b"\n", b"\r"))
        if not (ends_line and _line_start(data, end) == end and (splice.data or start == splice.start)):
            end = _line_end(data, end)
        if groups and start <= groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, splice])
        else:
            groups.append((start, end, [splice]))
    spans = []
    for start, end, members in groups:
        before = data[start:end]
        after = apply(before, [Splice(s.start - start, s.end - start, s.data) for s in members])
        spans.append(Span(start, before, after, _neighbour(data, start, -1), _neighbour(data, end, 1)))
    return spans


def splices_of(spans: Sequence[Span]) -> list[Splice]:
    """The splices that turn the text before into the one that the spans make."""
    return [Splice(span.start, span.start + len(span.before), span.after) for span in spans]


def reversed_exactly(spans: Sequence[Span]) -> list[Splice]:
    """The splices that turn the very text the spans made into the text before."""
    shift, splices = 0, []
    for span in spans:
        start = span.start + shift
        splices.append(Splice(start, start + len(span.after), span.before))
        shift += len(span.after) - len(span.before)
    return splices


def changed(span: Span) -> tuple[list[bytes], list[bytes], bytes | None, bytes | None]:
    """The lines that really differ: those removed, those added (with endings), and the landmarks around them."""
    old, new = lines_of(span.before), lines_of(span.after)
    head, tail = _shared_ends([*map(bare, old)], [*map(bare, new)])
    previous = bare(new[head - 1]) if head else span.previous
    following = bare(new[len(new) - tail]) if tail else span.following
    return old[head : len(old) - tail], new[head : len(new) - tail], previous, following


def first_changed_line(data: bytes, spans: Sequence[Span]) -> int:
    """The 1-based line, in the new text, of the first line that is not blank and was changed."""
    if not spans:
        return 1
    span = spans[0]
    line = line_of(data, span.start)
    old, new = ([*map(bare, lines_of(text))] for text in (span.before, span.after))
    head, _ = _shared_ends(old, new)
    for ahead in range(head, len(new)):
        if new[ahead].strip():
            return line + ahead
    return line + min(head, max(len(new) - 1, 0))


def reversed_by_text(data: bytes, spans: Sequence[Span]) -> list[Splice]:
    """The splices that take the spans back in a note that has moved on since.

    Every changed piece must be found exactly once by its text, or, where it stands several times or nothing of it
    stands, by the lines around it.

    Raises:
        ConflictError: a piece is not found exactly once.
    """
    lines = lines_of(data)
    texts = [bare(line) for line in lines]
    offsets = [*accumulate(map(len, lines), initial=0)]
    splices = []
    for span in spans:
        removed, added, previous, following = changed(span)
        if not removed and not added:
            continue
        index = _find(texts, [bare(line) for line in added], previous, following)
        splices.append(_replace(data, lines, offsets, index, len(added), removed))
    splices.sort()
    for one, other in pairwise(splices):
        if one.end > other.start or one.start == other.start:
            raise ConflictError("the lines to take back now overlap")
    return splices


def still_there(data: bytes, spans: Sequence[Span]) -> list[int]:
    """How often a note holds what each span removed: the first of its lines that is not blank; -1 if it added some."""
    sought = []
    for span in spans:
        removed, added, _, _ = changed(span)
        sought.append(None if added else next((bare(line) for line in removed if line.strip()), None))
    texts = Counter(bare(line) for line in lines_of(data)) if any(sought) else Counter()
    return [-1 if line is None else texts[line] for line in sought]


def present(data: bytes, spans: Sequence[Span]) -> bool:
    """Whether the note holds what the spans wrote (and, for a removal, no longer what they removed)."""
    texts = [bare(line) for line in lines_of(data)]
    for span in spans:
        removed, added, _, _ = changed(span)
        if any(line.strip() for line in added):
            if not _positions(texts, [bare(line) for line in added]):
                return False
        elif removed and _positions(texts, [bare(line) for line in removed]):
            return False
    return True


def arrived(data: bytes, before: bytes, spans: Sequence[Span]) -> bool:
    """Whether what the spans wrote stands in a later text: more often than in the text that they were to change.

    So it does if another program read what a write had made before that was taken back, and saved it.
    """
    now, then = ([bare(line) for line in lines_of(text)] for text in (data, before))
    for span in spans:
        removed, added, _, _ = changed(span)
        for lines, sign in ((added, 1), (removed, -1)):
            wanted = [bare(line) for line in lines]
            if any(line.strip() for line in wanted):
                if sign * (len(_positions(now, wanted)) - len(_positions(then, wanted))) <= 0:
                    return False
                break
    return True


def _line_start(data: bytes, at: int) -> int:
    """The start of the line that holds the byte at ``at``."""
    if at and data[at - 1 : at] == b"\r" and data[at : at + 1] == b"\n":
        at -= 1
    return max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1


def _line_end(data: bytes, at: int) -> int:
    """The end, with its ending, of the line that holds the byte at ``at``."""
    if at and data[at - 1 : at] == b"\r" and data[at : at + 1] == b"\n":
        return at + 1
    match = _ENDING.search(data, at)
    return match.end() if match else len(data)


def _neighbour(data: bytes, at: int, direction: int) -> bytes | None:
    """The line before or after a line boundary."""
    if direction < 0:
        if at == 0:
            return None
        line = data[_line_start(data, at - 1) : at]
    else:
        if at == len(data):
            return None
        line = data[at : _line_end(data, at)]
    return bare(line) if len(line) <= NEIGHBOUR_BYTES else None


def _positions(texts: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
    """Where a run of lines stands."""
    first, size = wanted[0], len(wanted)
    return [at for at, text in enumerate(texts) if text == first and list(texts[at : at + size]) == list(wanted)]


def _find(texts: Sequence[bytes], added: Sequence[bytes], previous: bytes | None, following: bytes | None) -> int:
    """The index of the lines to take back, or of the gap to put lines into."""

    def fits_before(at: int) -> bool:
        return at == 0 if previous is None else at > 0 and texts[at - 1] == previous

    def fits_after(at: int) -> bool:
        return at == len(texts) if following is None else at < len(texts) and texts[at] == following

    size = len(added)
    worded = any(text.strip() for text in added)
    if worded:
        found = _positions(texts, added)
        if len(found) == 1:
            return found[0]
    else:
        found = [at for at in range(len(texts) - size + 1) if list(texts[at : at + size]) == list(added)]
    both = [at for at in found if fits_before(at) and fits_after(at + size)]
    if len(both) == 1:
        return both[0]
    if not both:
        for landmark, fits, shift in ((previous, fits_before, 0), (following, fits_after, size)):
            near = [at for at in found if fits(at + shift)] if landmark and landmark.strip() else []
            if len(near) == 1:
                return near[0]
    reason = "is there several times" if found and worded else "is no longer there"
    raise ConflictError(f"the text to take back {reason}")


def _replace(
    data: bytes, lines: Sequence[bytes], offsets: Sequence[int], index: int, count: int, removed: Sequence[bytes]
) -> Splice:
    """The splice that puts ``removed`` in the place of ``count`` lines, whole lines staying whole."""
    start, end = offsets[index], offsets[index + count]
    new = b"".join(removed)
    if new and end < len(data) and not new.endswith((b"\n", b"\r")):
        new += newline_of(data)
    if new and index == len(lines) and data and not data.endswith((b"\n", b"\r")):
        new = newline_of(data) + new
    return Splice(start, end, new)


class Changes:
    """Several changes of a note, one after the other, as splices against what it was at first.

    Attributes:
        data: the note with all changes so far.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._pieces: list[tuple[int, int] | bytes] = [(0, len(data))]
        self._before = len(data)

    def make(self, splices: Iterable[Splice]) -> None:
        """Make changes of :attr:`data` as it is now."""
        made = list(splices)
        for splice in reversed(made):
            self._make(splice)
        self.data = apply(self.data, made)

    def _make(self, splice: Splice) -> None:
        kept: list[tuple[int, int] | bytes] = []
        at = 0
        placed = False
        for piece in self._pieces:
            size = len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]
            head = min(max(splice.start - at, 0), size)
            tail = min(max(splice.end - at, 0), size)
            if head or not size:
                kept.append(_part(piece, 0, head))
            if not placed and splice.start <= at + size:
                kept.append(splice.data)
                placed = True
            if tail < size:
                kept.append(_part(piece, tail, size))
            at += size
        self._pieces = [piece for piece in kept if not isinstance(piece, bytes) or piece]

    def splices(self) -> list[Splice]:
        """What changed, in order."""
        found: list[Splice] = []
        at = 0
        new = b""
        for piece in (*self._pieces, (self._before, self._before)):
            if isinstance(piece, bytes):
                new += piece
                continue
            if new or piece[0] > at:
                found.append(Splice(at, piece[0], new))
            at, new = piece[1], b""
        return found


def _part(piece: tuple[int, int] | bytes, start: int, end: int) -> tuple[int, int] | bytes:
    return piece[start:end] if isinstance(piece, bytes) else (piece[0] + start, piece[0] + end)
