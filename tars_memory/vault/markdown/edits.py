"""Splices that add, replace, remove or mark one bullet of a note; and the whole lines that a write changed, for
history, undo and the loss check.

Pure: bytes in, splices out. Every plan is checked before it is returned: the resulting note is parsed again, and the
bullet must be one bullet in its section, with every other section, block and bullet as before. A plan that would change
more gives way to the next best place.

A :class:`Span` is exact to the byte, so that undo restores the very bytes; it covers whole lines, so that undo can find
the lines again after later changes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from difflib import SequenceMatcher
from itertools import accumulate, pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.disk import blake2b
from tars_memory.errors import ConflictError
from tars_memory.vault import markdown, suspicion
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

    from tars_memory.vault.markdown.facts import Claim, Plan
    from tars_memory.vault.note import Note


INDENTS = (b"", b"   ", b" ", b"  ")
"""Indents to try for a new bullet. A few spaces keep indented lines below from becoming its children, if nothing else
does."""

MAX_WHOLE_LINES = 100
"""Maximum number of lines of a note that is parsed as a whole, at 60 µs per line."""

CONTEXT_BLOCKS = 3
"""Number of blocks before and after a new bullet that are parsed again: the bullet could split two, one is to spare."""

_LETTERED = re.compile(r"(?:- [^\W\d_][^\x00-\x1f\x7f]*\n|## [^\W\d_][^\W_]*(?: [^\W_]+)*\n|\n)*")
"""Bullets, headings of plain words, and blank lines; the words of bullets begin with a letter."""


def insert_bullet(data: bytes, bullet: str, *, section: str) -> list[Splice]:
    r"""Insert a bullet at the end of a section, made at the end of the note if it is absent or has no place.

    Args:
        data: the note.
        bullet: with its list mark (``- words``), without a final line ending; further lines after ``\n`` must be
            indented so that they are its children.
        section: plain title of the heading; a new heading gets level 2. Empty for the place before all headings but the
            note's title.

    Returns:
        One splice. It is at the very end of the note if the section is the last one and no fence or comment is open.

    Raises:
        ConflictError: every possible place would change the lines around the bullet.
    """
    return _insert(data, [bullet], section)


def insert_bullets(data: bytes, bullets: Sequence[str], *, section: str) -> list[Splice]:
    """Insert several bullets, one after another (:func:`insert_bullet`).

    Every place costs a parse, so all bullets are tried in one place first; if that changes the lines around them, each
    half is tried by itself.

    Returns:
        Splices, in order; one if all fit in one place, none for no bullets.
    """
    changes = Changes(data)
    waiting = [[*bullets]] if bullets else []
    while waiting:
        batch = waiting.pop()
        try:
            changes.make(_insert(changes.data, batch, section))
        except ConflictError:
            if len(batch) < 2:
                raise
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
    return changes.splices()


def _insert(data: bytes, bullets: Sequence[str], section: str) -> list[Splice]:
    """Insert bullets in the best place that takes all of them."""
    document = Document(data)
    target = document.place(section)
    text = "\n".join(bullets)
    counts = [bullet.count("\n") + 1 for bullet in bullets]
    if target is not None:
        for number, splice in enumerate(_candidate_places(document, target, text)):
            before, after, first = _parse_around(document, splice, whole=not number)
            line = after.line_at(splice.start - first + _leading_endings(splice))
            if _only_adds(before, after, line, counts):
                return [splice]
    for number, splice in enumerate(_new_section_places(document, text, section) if section else ()):
        before, after, first = _parse_around(document, splice, whole=not number)
        new = after.section_at(after.line_at(splice.start - first + _leading_endings(splice)))
        titled = new.title == plain_heading(section)
        if titled and _only_adds(before, after, new.start_line + 1, counts, heading=True):
            return [splice]
    raise ConflictError(
        f"a bullet under the heading {section!r} would change what is around it",
        "put a blank line or a new heading at the end of the note, then try again",
    )


def parses_at_end(document: Document, data: bytes) -> bool:
    """Whether lines appended to a note need no parse, because they can only be the bullets and headings they look like.

    In CommonMark a line that begins with ``- `` and a letter is a bullet, and one that begins with ``## `` a heading,
    unless a block above it is still open. After a final bullet or heading, such a line closes every open block.

    Args:
        document: the note.
        data: whole lines.
    """
    text = data.decode("utf-8", "surrogateescape")
    last = document.blocks[-1] if document.blocks else None
    return (
        last is not None
        and last.kind in ("item", "heading")
        and all(document.is_blank(line) for line in range(last.end_line + 1, len(document.lines) + 1))
        and document.open_line is None
        and not document.by_lines
        and document.data.endswith(b"\n")
        and not any(mark in part for mark in (b"%%", b"$$") for part in (document.data, data))
        and _LETTERED.fullmatch(text) is not None
    )


def best_place(document: Document, bullet: str, section: str) -> Splice:
    """Return the place that :func:`insert_bullet` tries first, unchecked: the caller must check the result."""
    target = document.place(section)
    if target is None:
        return next(_new_section_places(document, bullet, section))
    return next(_candidate_places(document, target, bullet))


def set_property(data: bytes, name: str, value: str) -> list[Splice]:
    """Set or remove a property in the front matter of a note; add front matter if the note has none.

    All lines of the old value are replaced; a comment after a value of one line stays.

    Args:
        data: the note.
        name: name of the property, in plain words.
        value: as it is written, in one line: plain words, a date, a list in brackets; empty to remove the property.

    Raises:
        ConflictError: the property is missing, and the front matter can't be read.
    """
    document = Document(data)
    new = value.encode()
    if document.front_matter_lines is None:
        start, nl = document.lines[0].start, newline_of(data)
        return [Splice(start, start, nl.join((b"---", b"%s: %s" % (name.encode(), new), b"---", b"")))] if new else []
    last = document.front_matter_lines[1]
    quoted = r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"'].*"
    named = re.compile(
        rf"[\"']?{re.escape(name)}[\"']?[ \t]*:([ \t]*)({quoted}|.*?)(?:(?<![ \t])[ \t]+#.*)?".encode(), re.IGNORECASE
    )
    for number in range(2, last):
        start, end, after = document.lines[number - 1]
        if found := named.fullmatch(data, start, end):
            end = found.end(2)
            for below in range(number + 1, last):
                text = document.text(below)
                if text.strip() and text.startswith((" ", "\t", "-")):
                    _, end, after = document.lines[below - 1]
                elif text.strip() and not text.startswith("#"):  # a value may go on after a blank line or a comment
                    break
            if not new:
                return [Splice(start, after, b"")]
            now = new if found[1] else b" " + new
            return [Splice(found.start(2), end, now)] if data[found.start(2) : end] != now else []
    if last > 2 and not document.front_matter and document.text(2, last - 1).strip():
        raise ConflictError(
            "the front matter can't be read", "fix it in an editor: it is YAML between two lines of ---"
        )
    start = document.lines[last - 1].start
    return [Splice(start, start, b"%s: %s%s" % (name.encode(), new, document.ending(last)))] if new else []


def insert_heading(data: bytes, title: str) -> list[Splice]:
    """Insert a heading of level 2 at the end of a note.

    Args:
        data: the note.
        title: neutralised words (:func:`tars_memory.vault.markdown.entries.heading`).

    Raises:
        ConflictError: a fence or comment that is never closed covers the end of the note.
    """
    document = Document(data)
    for splice in _new_section_places(document, "", title):
        bare = Splice(splice.start, splice.end, splice.data.rstrip(b"\r\n") + document.ending(len(document.lines)))
        after = Document(apply(data, [bare]))
        new = after.sections[-1]
        titled = new.title == plain_heading(title)
        if titled and _only_adds(document, after, new.start_line + 1, (), heading=True):
            return [bare]
    raise ConflictError(
        f"the heading {title!r} would change the text around it",
        "put a blank line at the end of the note, then try again",
    )


def replace_bullet(
    note: Note, entry: Entry, text: str, *, provenance: tuple[str, str] | None = None, author: str | None = None
) -> list[Splice]:
    """Replace the words of an entry; its list mark, time, state, author, provenance, block id and children stay.

    Args:
        note: the note that the entry was read from.
        entry: the entry to change.
        text: new words, neutralised.
        provenance: target and label of a new provenance link; None to keep the present one.
        author: new author of the words; empty for no author, None to keep the present one.
    """
    bullet = note.bullets[entry.line]
    document, timed = note.document, note.timed
    words = document.data[bullet.start : bullet.end].decode("utf-8", "surrogateescape")
    decided = document.section_at(bullet.line).title.casefold() == entries.DECISIONS.casefold()
    timed = timed or (decided and bool(entries.instant(words)))
    parts = entries.parse(words, timed=timed)
    new = parts._replace(text=text, author=parts.author if author is None else author or None)
    if provenance is not None:
        new = new._replace(provenance=provenance[0], label=provenance[1])
    if new == parts:
        return []
    line = entries.render(new).removeprefix("- ")
    return [Splice(bullet.start, bullet.end, line.encode("utf-8", "surrogateescape"))]


def remove_bullet(note: Note, entry: Entry) -> list[Splice]:
    """Remove an entry of a note, with its children; if nothing else serves, the lines around it change."""
    kept_apart = remove_lines(note.document, entry.line, entry.end_line)
    return kept_apart or [_whole_lines(note.document, entry.line, entry.end_line)]


def remove_lines(document: Document, first: int, last: int) -> list[Splice]:
    """Remove the lines of a bullet, or all but a blank one; nothing if the lines around it would be read otherwise."""
    blank = Splice(document.lines[first - 1].start, document.lines[last - 1].end, b"")
    removed = range(first, last + 1)
    for splice, lines_left in ((_whole_lines(document, first, last), 0), (blank, 1)):
        after = Document(apply(document.data, [splice]))
        if _shape_without(after, range(first, first + lines_left)) == _shape_without(document, removed):
            return [splice]
    return []


def _whole_lines(document: Document, first: int, last: int) -> Splice:
    """Return the removal of lines with the line ending that separates them from the others."""
    start, end = document.lines[first - 1], document.lines[last - 1]
    if first > 1 and (end.next == end.end or would_join(document.data, start, end)):
        return Splice(document.lines[first - 2].end, end.end, b"")
    return Splice(start.start, end.next, b"")


def remove_bullets(note: Note, entries: Sequence[Entry]) -> list[Splice]:
    """Remove entries of a note, none of them within another, with their children, in one parse.

    Of one the lines around it may change, as in :func:`remove_bullet`; of several nothing is removed then.
    """
    if len(entries) == 1:
        return remove_bullet(note, entries[0])
    document, data = note.document, note.data
    extents = [(document.lines[entry.line - 1], document.lines[entry.end_line - 1]) for entry in entries]
    if any(last.next == last.end or would_join(data, first, last) for first, last in extents):
        return []
    splices = [Splice(first.start, last.next, b"") for first, last in extents]
    removed = [number for entry in entries for number in range(entry.line, entry.end_line + 1)]
    after = Document(apply(data, splices))
    return splices if _shape_without(after, ()) == _shape_without(document, removed) else []


def _new_section_places(document: Document, bullet: str, title: str) -> Iterator[Splice]:
    """Yield places for a bullet under a new heading: the end of the note, or before a fence or comment left open."""
    data = document.data
    line = len(document.lines) if document.open_line is None else document.open_line - 1
    nl = document.ending(max(1, line))
    lines = [b"## " + title.encode("utf-8", "surrogateescape"), *_bullet_lines(bullet)]
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


def _candidate_places(document: Document, target: Section, bullet: str) -> Iterator[Splice]:
    """Yield places for a bullet in an existing section, best first."""
    limit = target.end_line
    is_last = target is document.sections[-1]
    if document.open_line is not None and target.start_line <= document.open_line <= limit:
        limit = document.open_line - 1
    elif is_last:
        yield from _places_at_end(document, bullet)
    lists = [b.end_line for b in document.bullets if not b.depth and target.body_line <= b.line <= limit]
    content = next(
        (n for n in range(limit, target.body_line - 1, -1) if not document.is_blank(n)), target.body_line - 1
    )
    after_lines = dict.fromkeys((*lists[-1:], content, limit, target.body_line - 1))
    for indent, line, blank_before, blank_after in product(INDENTS, after_lines, (False, True), (False, True)):
        lines = _bullet_lines(bullet, indent)
        yield _insert_after(document, line, lines, blank_before=blank_before, blank_after=blank_after)


def _places_at_end(document: Document, bullet: str) -> Iterator[Splice]:
    """Yield places for a bullet at the end of the note: right after the last line, then after a blank line."""
    last = document.lines[-1]
    nl = document.ending(len(document.lines))
    start = nl if last.end > last.start else b""
    block = nl.join(_bullet_lines(bullet)) + nl
    yield Splice(last.end, last.end, start + block)
    yield Splice(last.end, last.end, start + nl + block)


def _insert_after(
    document: Document, line: int, bullet: list[bytes], *, blank_before: bool, blank_after: bool
) -> Splice:
    """Insert the lines of a bullet after a line (0: before the first), with blank lines before and after it or not."""
    first = document.lines[0].start
    _, end, at = document.lines[line - 1] if line else Extent(first, first - 1, first)
    nl = document.ending(max(1, line))
    endings = nl * ((at == end) + blank_before)  # the line itself may lack its ending
    return Splice(at, at, endings + nl.join(bullet) + nl * (1 + blank_after))


def _parse_around(document: Document, splice: Splice, *, whole: bool) -> tuple[Document, Document, int]:
    """Parse the blocks around a splice without and with it; return both documents and the offset of the first block.

    Top-level blocks usually parse alone as they do in the note; if they don't, the whole note is parsed.

    Args:
        document: the note.
        splice: the splice to try.
        whole: parse the whole note unless it is long: the best place nearly always serves, and the caller needs the
            whole result next.
    """
    if whole and len(document.lines) <= MAX_WHOLE_LINES:
        return document, Document(apply(document.data, [splice])), 0
    line = document.line_at(splice.start)
    blocks = document.blocks
    index = bisect_right(blocks, line, key=lambda block: block.start_line)
    first = min(line, blocks[max(0, index - CONTEXT_BLOCKS)].start_line if blocks else document.body_line)
    last = (
        blocks[index + CONTEXT_BLOCKS].start_line - 1 if index + CONTEXT_BLOCKS < len(blocks) else len(document.lines)
    )
    if first <= last:
        start, end = document.lines[first - 1].start, document.lines[last - 1].next
        data = document.data[start:end]
        before = Document(data)
        if _shape(before) == _shape(document, first, last):
            moved = Splice(splice.start - start, splice.end - start, splice.data)
            return before, Document(apply(data, [moved])), start
    return document, Document(apply(document.data, [splice])), 0


def _only_adds(before: Document, after: Document, line: int, counts: Sequence[int], *, heading: bool = False) -> bool:
    """Whether ``after`` is ``before`` plus new bullets or a heading; blank lines around them may be new too.

    Args:
        before: the note without the bullets.
        after: the note with them.
        line: first line of the first bullet.
        counts: number of lines of each bullet.
        heading: whether the line above the first bullet is a new heading.
    """
    by_line = {bullet.line: bullet for bullet in after.bullets}
    added = range(line - heading, line + sum(counts))
    start = line
    for count in counts:
        new = by_line.get(start)
        if not new or new.depth or not new.worded or new.end_line != start + count - 1:
            return False
        start += count
    inserted = len(after.lines) - len(before.lines)

    def old_line(number: int) -> int:
        return number if number < line else number - inserted

    return _shape(before) == [
        (label, old_line(start), old_line(own_end), old_line(end))
        for label, start, own_end, end in _shape(after)
        if start not in added
    ]


def _shape(document: Document, first: int = 1, last: int | None = None) -> list[tuple[object, int, int, int]]:
    """List the bullets, blocks and headings of a note, each as its label, first line, own last line and last line.

    Args:
        document: the note.
        first: count lines from this one, and leave out what begins before it.
        last: leave out what begins after this line; the last line of the note by default.
    """
    within = range(first, (last or len(document.lines)) + 1)
    bullets = [((b.depth, b.worded), b.line, b.own_end_line, b.end_line) for b in document.bullets if b.line in within]
    blocks = [(b.kind, b.start_line, b.start_line, b.end_line) for b in document.blocks if b.start_line in within]
    headings = [
        ((s.title, s.level), s.start_line, s.start_line, s.body_line - 1)
        for s in document.sections
        if s.level and s.start_line in within
    ]
    skipped = first - 1
    shape = (*bullets, *blocks, *headings)
    return [(label, start - skipped, own_end - skipped, end - skipped) for label, start, own_end, end in shape]


def _shape_without(document: Document, gone: Sequence[int]) -> list[tuple[object, int]]:
    """List the label and first line of bullets, blocks and headings, as if the lines in ``gone`` were removed."""
    shape = ((label, start, bisect_left(gone, start)) for label, start, _, _ in _shape(document))
    return [(label, start - above) for label, start, above in shape if start not in gone[above : above + 1]]


def _leading_endings(splice: Splice) -> int:
    """Return the number of bytes of line endings that a splice begins with."""
    return len(splice.data) - len(splice.data.lstrip(b"\r\n"))


def _bullet_lines(bullet: str, indent: bytes = b"") -> list[bytes]:
    """Return the lines of a bullet, encoded and indented."""
    return [indent + line.encode("utf-8", "surrogateescape") for line in bullet.split("\n")]


def would_join(data: bytes, first: Extent, last: Extent) -> bool:
    r"""Whether a ``\r`` before and a ``\n`` after the removed lines would become one line ending."""
    return data[first.start - 1 : first.start] == b"\r" and data[last.next : last.next + 1] == b"\n"


# -- mark a candidate: its state tag, a block id, bullets nested under it


def mark_bullet(
    note: Note, entry: Entry, state: str, *, block_id: str = "", children: Sequence[str] = ()
) -> list[Splice]:
    """Set the state tag of a candidate in place; every other byte of the line stays.

    Args:
        note: the note that the entry was read from.
        entry: the candidate.
        state: one of :data:`tars_memory.vault.markdown.entries.STATES`.
        block_id: block id for a line that has none, without the caret, so that links can lead to it; empty for none.
        children: words of bullets to nest under the candidate; left out if they would change the lines around them.
    """
    data, bullet = note.data, note.bullets[entry.line]
    splices = state_splices(note, bullet, entry, state, block_id=block_id)
    if children:
        new = child_splice(note.document, bullet, children)
        depths = {bullet.end_line + number: bullet.depth + 1 for number in range(1, len(children) + 1)}
        if _only_adds_children(apply(data, splices), apply(data, [*splices, new]), depths):
            splices.append(new)
    return splices


def state_splices(note: Note, bullet: Bullet, entry: Entry, state: str, *, block_id: str = "") -> list[Splice]:
    """Set the state tag of a bullet, and the block id if it has none."""
    splices = [*_state_tag(note, bullet, entry, state)]
    if block_id and not entry.block_id:
        splices.append(Splice(bullet.end, bullet.end, f" ^{block_id}".encode("ascii")))
    return splices


def _only_adds_children(before: bytes, after: bytes, depths: Mapping[int, int]) -> bool:
    """Whether the bullets of a note differ only by new ones.

    Args:
        before: the note.
        after: the note with the new bullets, one line each.
        depths: wanted depth of each new bullet, by its line in ``after``.
    """
    found = [(bullet.line, bullet.depth) for bullet in Document(after).bullets]
    old = [(bullet.line, bullet.depth) for bullet in Document(before).bullets]
    positions = [line - number for number, line in enumerate(sorted(depths))]
    moved = [(line + bisect_right(positions, line), depth) for line, depth in old]
    return found == sorted([*moved, *depths.items()])


def child_splice(document: Document, bullet: Bullet, children: Sequence[str]) -> Splice:
    """Insert bullets as the last children of another bullet."""
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


def _state_tag(note: Note, bullet: Bullet, entry: Entry, state: str) -> Iterator[Splice]:
    """Replace or insert the state tag before the words, after the time."""
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


# -- facts over time: the new fact, and the end dates of the facts that it supersedes


def add_fact(
    note: Note, new: Claim, plan: Plan, *, link: tuple[str, str] | None = None, author: str = ""
) -> tuple[str, list[tuple[Entry, str]], list[Splice]]:
    """Add a fact to ``Facts.md``: insert its line, and end the facts that it supersedes.

    Args:
        note: the note of facts; empty if the file does not exist.
        new: the fact: a subject that is valid as a heading, a predicate that is valid before ``::``, and a neutralised
            object.
        plan: how the fact fits the others; none of them says the same.
        link: target and label of the provenance.
        author: who stated the fact; empty for no author.

    Returns:
        The words of the new line; the superseded entries, each with its new words; every change, in order.

    Raises:
        ConflictError: no place takes the line without changing the lines around it.
    """
    by_ref = {fact.ref: entry for entry, fact in note.facts}
    words = markdown.facts.words(new.predicate, new.object, plan.since, plan.until)
    ended = [(by_ref[f.ref], markdown.facts.words(f.predicate, f.object, f.since, on)) for f, on in plan.endings]
    target, label = link or (None, None)
    bullet = entries.render(entries.Parts(words, provenance=target, label=label, author=author or None))
    splices = [splice for entry, text in ended for splice in replace_bullet(note, entry, text)]
    section = note.document.find_section(new.subject)
    title_only = section is not None and markdown.facts.is_title(note.path, section.title, section.level)
    splices += _place_fact(note, bullet, new.subject, title_only=title_only)
    return words, ended, sorted(splices)


def _place_fact(note: Note, bullet: str, subject: str, *, title_only: bool) -> list[Splice]:
    """Insert the bullet under its subject; add a heading if only the note's title has that name."""
    data = note.data
    if not title_only:
        return insert_bullet(data, bullet, section=subject)
    (heading,) = insert_heading(data, subject)
    after = apply(data, [heading])
    after = apply(after, insert_bullet(after, bullet, section=subject))
    return [Splice(heading.start, len(data), after[heading.start :])]


# -- the whole lines that a write changed


MAX_LANDMARK_BYTES = 300
"""Maximum length in bytes of a neighbouring line that is kept as a landmark."""

NEAR_BYTES = 2000
"""Least number of bytes on either side of a change in which a landmark's credentials are looked for, with labels."""

MAX_DIFFED_LINES = 4000
"""Maximum number of differing lines that are compared one by one; a greater difference becomes one splice."""

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_ENDING = re.compile(rb"\r\n|\r|\n")
_HIDDEN = b"(masked, "
_ONE_WORD = re.compile(r"\W*(?:\w+[:=]\s*)?\S*\d\S*\s*")
"""A line of one word with a digit, as a password alone below its label, or ``value: hunter22`` below its name."""


class Span(NamedTuple):
    """A change of whole lines.

    Attributes:
        start: byte offset in the old note.
        before: the lines before the change.
        after: the lines after it.
        previous: the line above, without its ending, a landmark for undo; None at the start of the note or if longer
            than ``MAX_LANDMARK_BYTES``. A line with a credential is :func:`_hidden`.
        following: the line below, likewise.
    """

    start: int
    before: bytes
    after: bytes
    previous: bytes | None
    following: bytes | None


def lines_of(data: bytes) -> list[bytes]:
    """Split data into lines with their endings; a line ends at CRLF, CR or LF only."""
    return _LINE.findall(data)


def without_ending(line: bytes) -> bytes:
    """Return a line without its ending."""
    return line.rstrip(b"\r\n")


def texts_of(data: bytes) -> list[bytes]:
    """Split data into lines without their endings."""
    return [*map(without_ending, lines_of(data))]


def append_bytes(data: bytes, splices: Sequence[Splice]) -> bytes | None:
    """Return the bytes to append if the splices only add whole lines at the end of the note, else None.

    The bytes begin with the note's own newline if its last line has none. A splice at the end that does not end in a
    newline continues the last line: that is not an append.
    """
    if len(splices) != 1 or not splices[0].start == splices[0].end == len(data):
        return None
    new = splices[0].data
    if not new.endswith((b"\n", b"\r")):
        return None
    if not data or data == BOM or data.endswith((b"\n", b"\r")) or new.startswith((b"\n", b"\r")):
        # A CR at the end and an LF at the start would become one line ending.
        return None if data.endswith(b"\r") and new.startswith(b"\n") else new
    return newline_of(data) + new


def splices_between(before: bytes, after: bytes) -> list[Splice]:
    """Return the splices that turn one text into another: whole lines, and only those that differ."""
    old, new = lines_of(before), lines_of(after)
    head, tail = _shared_ends(old, new)
    removed, added = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if not removed and not added:
        return []
    if len(removed) + len(added) > MAX_DIFFED_LINES:
        return [Splice(start, start + sum(map(len, removed)), b"".join(added))]
    offsets = [*accumulate(map(len, removed), initial=start)]
    return [
        Splice(offsets[first], offsets[last], b"".join(added[low:high]))
        for tag, first, last, low, high in SequenceMatcher(None, removed, added, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _shared_ends(old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int]:
    """Return how many lines two texts share at their beginning, and how many of the rest at their end."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    tail = next((at for at in range(most - head) if old[-1 - at] != new[-1 - at]), most - head)
    return head, tail


def spans_of(data: bytes, splices: Sequence[Splice]) -> list[Span]:
    """Widen splices to whole lines; splices that share or touch lines become one span."""
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
        marks = _neighbour(data, start, -1), _neighbour(data, end, 1)
        first, last = (start // NEAR_BYTES - 1) * NEAR_BYTES, (end // NEAR_BYTES + 2) * NEAR_BYTES
        near = data[_line_start(data, max(0, first)) : last]  # the same for its neighbours, and searched once
        secret = _secret_lines(near) if any(map(_is_doubtful, marks)) else ()
        spans.append(
            Span(start, before, after, *(_hidden(line) if line and line in secret else line for line in marks))
        )
    return spans


def _is_doubtful(line: bytes | None) -> bool:
    """Whether a line might hold a credential, by itself or by a label above it: most writes are spared the search."""
    text = (line or b"").decode("utf-8", "surrogateescape")
    return suspicion.suspicious(text) or _ONE_WORD.fullmatch(text) is not None


def _secret_lines(data: bytes) -> set[bytes]:
    """Return the lines of a text that hold a credential, without their endings."""
    from tars_memory.vault import secrets  # few writes are beside a line that needs this

    return {line for line, shown in zip(texts_of(data), texts_of(secrets.veiled(data)), strict=False) if line != shown}


def _hidden(line: bytes) -> bytes:
    """Return what stands for a landmark with a credential: too little of its hash to find the credential by trying."""
    return _HIDDEN + b"%02x)" % blake2b(line, digest_size=1).digest()[0]


def splices_of(spans: Sequence[Span]) -> list[Splice]:
    """Return the splices that apply spans to the text before."""
    return [Splice(span.start, span.start + len(span.before), span.after) for span in spans]


def reversed_exactly(spans: Sequence[Span]) -> list[Splice]:
    """Return the splices that turn the very text after the spans into the text before."""
    shift, splices = 0, []
    for span in spans:
        start = span.start + shift
        splices.append(Splice(start, start + len(span.after), span.before))
        shift += len(span.after) - len(span.before)
    return splices


def changed_lines(span: Span) -> tuple[list[bytes], list[bytes], bytes | None, bytes | None]:
    """Return the lines that differ by more than their ending: removed and added lines, and the landmarks around them.

    Removed and added lines have their endings, landmarks don't.
    """
    old, new = lines_of(span.before), lines_of(span.after)
    head, tail = _shared_ends([*map(without_ending, old)], [*map(without_ending, new)])
    previous = without_ending(new[head - 1]) if head else span.previous
    following = without_ending(new[len(new) - tail]) if tail else span.following
    return old[head : len(old) - tail], new[head : len(new) - tail], previous, following


def changed_texts(span: Span) -> tuple[list[bytes], list[bytes]]:
    """Return the removed and the added lines of :func:`changed_lines` without their endings."""
    removed, added, _, _ = changed_lines(span)
    return [*map(without_ending, removed)], [*map(without_ending, added)]


def first_changed_line(data: bytes, spans: Sequence[Span]) -> int:
    """Return the number, from 1, in the new text, of the first changed line that is not blank.

    Args:
        data: the old text.
        spans: what changed.
    """
    if not spans:
        return 1
    span = spans[0]
    line = line_of(data, span.start)
    if span.after.startswith(b"\n") and data[: span.start].endswith(b"\r"):
        line -= 1  # with the carriage return before it the newline is one ending
    old, new = texts_of(span.before), texts_of(span.after)
    head, _ = _shared_ends(old, new)
    for ahead in range(head, len(new)):
        if new[ahead].strip():
            return line + ahead
    return line + min(head, max(len(new) - 1, 0))


def reversed_by_text(data: bytes, spans: Sequence[Span]) -> list[Splice]:
    """Return the splices that undo spans in a note that has changed since.

    The text of every span must occur exactly once; if it occurs several times or the span added none, the lines around
    it must single out one place.

    Raises:
        ConflictError: the place of a span is not found, or is not unique.
    """
    lines = lines_of(data)
    texts = [without_ending(line) for line in lines]
    offsets = [*accumulate(map(len, lines), initial=0)]
    splices = []
    for span in spans:
        removed, added, previous, following = changed_lines(span)
        if not removed and not added:
            continue
        index = _find_lines(texts, [without_ending(line) for line in added], previous, following)
        splices.append(_put_back(data, lines, offsets, index, len(added), removed))
    splices.sort()
    for earlier, later in pairwise(splices):
        if earlier.end > later.start or earlier.start == later.start:
            raise ConflictError("the lines to undo now overlap")
    return splices


def count_removed(data: bytes, spans: Sequence[Span]) -> list[int]:
    """Count how often a note holds the first non-blank line that each span removed; -1 for a span that added lines."""
    wanted = []
    for span in spans:
        removed, added = changed_texts(span)
        wanted.append(None if added else next(filter(bytes.strip, removed), None))
    texts = Counter(texts_of(data)) if any(wanted) else Counter()
    return [-1 if line is None else texts[line] for line in wanted]


def is_written(data: bytes, spans: Sequence[Span]) -> bool:
    """Whether the note holds the lines that the spans added, and for removals no longer the removed lines."""
    texts = texts_of(data)
    for span in spans:
        removed, added = changed_texts(span)
        if any(map(bytes.strip, added)):
            if not _positions(texts, added):
                return False
        elif removed and _positions(texts, removed):
            return False
    return True


def holds_more_than(data: bytes, before: bytes, spans: Sequence[Span]) -> bool:
    """Whether a later text holds the result of the spans: their lines more often than the text that they change.

    That happens if another program read the result of a write before the write was rolled back, and saved it.

    Args:
        data: the later text.
        before: the text that the spans change.
        spans: the changes.
    """
    now, then = texts_of(data), texts_of(before)
    for span in spans:
        removed, added = changed_texts(span)
        for wanted, sign in ((added, 1), (removed, -1)):
            if any(map(bytes.strip, wanted)):
                if sign * (len(_positions(now, wanted)) - len(_positions(then, wanted))) <= 0:
                    return False
                break
    return True


def _line_start(data: bytes, at: int) -> int:
    """Return the start of the line that holds the byte at ``at``."""
    if at and data[at - 1 : at] == b"\r" and data[at : at + 1] == b"\n":
        at -= 1
    return max(data.rfind(b"\n", 0, at), data.rfind(b"\r", 0, at)) + 1


def _line_end(data: bytes, at: int) -> int:
    """Return the end, after the line ending, of the line that holds the byte at ``at``."""
    if at and data[at - 1 : at] == b"\r" and data[at : at + 1] == b"\n":
        return at + 1
    match = _ENDING.search(data, at)
    return match.end() if match else len(data)


def _neighbour(data: bytes, at: int, direction: int) -> bytes | None:
    """Return the line before (-1) or after (1) a line boundary, without its ending; None if absent or too long."""
    if direction < 0:
        if at == 0:
            return None
        line = data[_line_start(data, at - 1) : at]
    else:
        if at == len(data):
            return None
        line = data[at : _line_end(data, at)]
    return without_ending(line) if len(line) <= MAX_LANDMARK_BYTES else None


def _positions(texts: Sequence[bytes], wanted: Sequence[bytes]) -> list[int]:
    """Return the indexes at which a run of lines begins."""
    first, size = wanted[0], len(wanted)
    return [at for at, text in enumerate(texts) if text == first and list(texts[at : at + size]) == list(wanted)]


def _find_lines(texts: Sequence[bytes], added: Sequence[bytes], previous: bytes | None, following: bytes | None) -> int:
    """Return the index of the lines to undo, or of the gap between the landmarks if none were added."""
    masked = [mark for mark in (previous, following) if mark and mark.startswith(_HIDDEN)]
    secret = _secret_lines(b"\n".join(texts)) if masked else ()

    def fits(landmark: bytes | None, at: int) -> bool:
        if landmark is None or not 0 <= at < len(texts):
            return landmark is None and not 0 <= at < len(texts)
        text = texts[at]
        return text == landmark or (
            landmark in masked and (text in secret or _is_doubtful(text)) and landmark == _hidden(text)
        )

    size = len(added)
    worded = any(text.strip() for text in added)
    if worded:
        found = _positions(texts, added)
        if len(found) == 1:
            return found[0]
    else:
        found = [at for at in range(len(texts) - size + 1) if list(texts[at : at + size]) == list(added)]
    both = [at for at in found if fits(previous, at - 1) and fits(following, at + size)]
    if len(both) == 1:
        return both[0]
    if not both:
        for landmark, shift in ((previous, -1), (following, size)):
            near = [at for at in found if fits(landmark, at + shift)] if landmark and landmark.strip() else []
            if len(near) == 1 and (landmark not in masked or texts[near[0] + shift] in secret):
                return near[0]
    reason = "occurs several times" if found and worded else "is no longer there"
    raise ConflictError(f"the text to undo {reason}")


def _put_back(
    data: bytes, lines: Sequence[bytes], offsets: Sequence[int], index: int, count: int, removed: Sequence[bytes]
) -> Splice:
    """Return the splice that replaces ``count`` lines by the removed ones, and keeps lines separate."""
    start, end = offsets[index], offsets[index + count]
    new = b"".join(removed)
    if new and end < len(data) and not new.endswith((b"\n", b"\r")):
        new += newline_of(data)
    if new and index == len(lines) and data and not data.endswith((b"\n", b"\r")):
        new = newline_of(data) + new
    return Splice(start, end, new)


class Changes:
    """Successive changes of a note, combined into splices against the original.

    Attributes:
        data: the note with all changes so far.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._pieces: list[tuple[int, int] | bytes] = [(0, len(data))]
        self._before = len(data)

    def make(self, splices: Iterable[Splice]) -> None:
        """Apply splices to :attr:`data` as it is now."""
        applied = list(splices)
        pieces: list[tuple[int, int] | bytes] = []
        at = 0
        for splice in applied:
            pieces += [*self._cut(at, splice.start), splice.data]
            at = splice.end
        self._pieces = [*pieces, *self._cut(at, len(self.data))]
        self.data = apply(self.data, applied)

    def _cut(self, start: int, end: int) -> Iterator[tuple[int, int] | bytes]:
        """Yield the pieces of a range of :attr:`data`: ranges of the original, and new bytes."""
        at = 0
        for piece in self._pieces:
            size = len(piece) if isinstance(piece, bytes) else piece[1] - piece[0]
            first, last = max(start - at, 0), min(end - at, size)
            if first < last:
                yield piece[first:last] if isinstance(piece, bytes) else (piece[0] + first, piece[0] + last)
            at += size

    def origin(self, at: int) -> int:
        """Return where a byte of :attr:`data` was in the original; of a new one, where it is."""
        piece = next(self._cut(at, at + 1), b"")
        return at if isinstance(piece, bytes) else piece[0]

    def splices(self) -> list[Splice]:
        """Return the changes so far as splices of the original, in order."""
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
