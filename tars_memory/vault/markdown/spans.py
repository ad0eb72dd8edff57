"""What a write changed, in whole lines: what history shows, what undo takes back, what the loss check looks for. Pure.

A :class:`Span` is exact to the byte, so that undo gives back the very bytes; it reaches to whole lines, so that undo
can find the lines again when the note has moved on.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import ConflictError
from tars_memory.vault.markdown.document import BOM, apply
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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


def newline_of(data: bytes) -> bytes:
    """The note's own line ending: the last one in it; a new note gets LF."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r"))
    if end < 0:
        return b"\n"
    if data[end : end + 1] == b"\r":
        return b"\r"
    return b"\r\n" if data[end - 1 : end] == b"\r" else b"\n"


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
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle, made = old[head : len(old) - tail], new[head : len(new) - tail]
    start = sum(map(len, old[:head]))
    if not middle and not made:
        return []
    if len(middle) + len(made) > DIFFED:
        return [Splice(start, start + sum(map(len, middle)), b"".join(made))]
    offsets = [start]
    for line in middle:
        offsets.append(offsets[-1] + len(line))
    return [
        Splice(offsets[first], offsets[last], b"".join(made[low:high]))
        for tag, first, last, low, high in SequenceMatcher(None, middle, made, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


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
    head = 0
    while head < min(len(old), len(new)) and bare(old[head]) == bare(new[head]):
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and bare(old[-1 - tail]) == bare(new[-1 - tail]):
        tail += 1
    previous = bare(new[head - 1]) if head else span.previous
    following = bare(new[len(new) - tail]) if tail else span.following
    return old[head : len(old) - tail], new[head : len(new) - tail], previous, following


def first_changed_line(data: bytes, spans: Sequence[Span]) -> int:
    """The 1-based line, in the new text, of the first line that is not blank and was changed."""
    if not spans:
        return 1
    span = spans[0]
    line = 1 + len(_ENDING.findall(data[: span.start]))
    old, new = lines_of(span.before), lines_of(span.after)
    head = 0
    while head < min(len(old), len(new)) and bare(old[head]) == bare(new[head]):
        head += 1
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
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
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
