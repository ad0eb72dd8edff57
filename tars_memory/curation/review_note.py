"""Review.md: proposals as a list of tasks, to be decided in Obsidian, on a phone or in any editor. Pure functions.

Each proposal is one bullet, ``- [ ] words ^r-ID``, with details nested below it. ``[x]`` accepts it, ``[-]`` rejects
it, ``[+]`` accepts it and keeps the line that it would replace or the fact that it would end, and ``[m]`` keeps a fact
as a line of ``Memory.md``. If the person changes the words or the place (``to::``), that is what is accepted, or it
waits; a change of another detail decides nothing, and stays. Each related line has a box of its own below the proposal,
``- [ ] replace: text ^r-ID-REF``: a line is replaced only if its box is ticked. Proposals of one conversation are
nested below one box, ``- [ ] Keep all lines … ^r-ID-all``, which decides those whose own box is empty. Anything
ambiguous (a line that is cut off or joined with another, a proposal that is decided in two ways, a box that nobody
knows) waits, and a notice says so: each line with a mark is read as a task, waits visibly, or is told.

Everything else in the note is the person's, and stays byte for byte.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile
from typing import NamedTuple

from tars_memory import capture, vault
from tars_memory.curation.proposals import BESIDE, NEW, PlainLine, Proposal, Related
from tars_memory.errors import UsageError
from tars_memory.language.words import letters_of
from tars_memory.vault.layout import INTRO, TITLE, Layout
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Document, apply, plain_heading
from tars_memory.vault.markdown.lines import MARK, unmarked as without_mark
from tars_memory.vault.model import Entry, Splice

NOTE = Layout.review
"""Name of the note in messages."""
HEADING = "To decide"
"""Heading above the proposals."""
GONE = "nothing is left of its words"
CUT = "the note may be cut off there: it is the last line of all; if it is whole, add a line of yours below it"
TWICE = "it has more than one decision"
MISPLACED = "its mark must be the last word of its line"
PLACES = "it has more than one to::; keep only the one that counts"
BOXES = "it has more than one box; keep only the one that counts"
SEVERAL = "its line has more than one mark (^r-…): put each proposal on its own line, with its mark at the end"
UNMARKED = "its mark (^r-…) is gone, so nothing says which proposal it is; tars-memory review --note offers it again"
JOINED = "its line also has the words of {}: put each on its own line with its mark, or reject that one"
JOINED_BELOW = "a ticked line below it also has the words of another one: put each on its own line with its mark"
BOX_ABOVE = (
    "its box is on another line, above its words: begin the line with its mark with - [x] to accept, - [-] to reject"
)
SPLIT = "its words are broken in two: join its line with the one above"
VARIANTS = "it occurs more than once, in different words; keep only the line that counts"
ODD = "has no meaning here: [x] accepts, [-] rejects"
"""Notice about boxes with another character: Obsidian's themes have dozens, and none may be guessed at."""
BOXLESS = "it has no valid box: - [x] accepts, - [-] rejects, - [ ] waits"
UNLISTED = (
    "it is not a bullet, so nothing is read from it: begin a line with - [x] to accept, - [-] to reject, - [ ] to wait"
)
UNMARKED_BELOW = "a ticked line below it has lost its mark (^r-…); tick it in the note that review --note writes"
ODD_BELOW = "has no meaning at a line below it: [x] replaces that line"
BOXLESS_BELOW = "a line below it has no valid box: - [x] replaces that line, - [ ] keeps it"
"""Why a tick can't be applied, from :data:`GONE` on."""

_KEYS = ("to", "step", "said", "mind", "instead of", "ends", "beside", "why", "asked before", "or")
"""Keys of the details nested below a proposal."""
KEEP_ALL = "Keep all lines of one conversation"
"""The words of the box above the lines of one conversation."""
REPLACE, REMOVE = "replace: ", "remove: "
"""Prefixes of the box of a related line; the second if the proposal asks which of some lines holds."""
_MARK = re.compile(r"(?:^|[ \t])\^r-([0-9a-z]{8})(?![0-9A-Za-z-])")
_RELATED = re.compile(r"(?:^|[ \t])\^r-([0-9a-z]{8})-([0-9a-z]{8})(?![0-9A-Za-z-])")
"""The marks of a proposal, and of the box of a related line."""
_ALL = re.compile(r"r-[0-9a-z]{8}-all")
"""The block id of the box above the lines of one conversation."""
_BOX = re.compile(r"\[(?:\s+|\s*([^\[\]\s][\u0300-\u036f\u20e3\ufe0e\ufe0f]*)\s*)\](?:\s+|$|(?![(\[:]))")
"""A task's box, even if mistyped: ``[ x]``, or without a blank behind it. The start of a link is not a box."""
_INNER_BOX = re.compile(rf"(?:^|(?<=\s))(?:{MARK}[ \t]*\[[^\[\]]?\]|\[[ xX+mM-]\])(?!\S)")
"""A box within the words, as the end of a line leaves it that was joined with the next one."""
_TASK = re.compile(rf"[ \t]*{MARK}[ \t]+\[[ \t]*(?:([^\[\] \t])[ \t]*)?\][ \t]*")
"""The beginning of a task, with the character in its box."""
_BLANK_TASK = re.compile(rf"[ \t]*{MARK}[ \t]*(?:\[[ \t]*\][ \t]*)?")
"""A bullet or a task that nobody has written anything into."""
_WAITING = re.compile(r"(?:[^\w\[]|\d)*\[\s+\]")
"""The beginning of a line whose box is empty, wherever it is: it waits."""

_OURS = re.compile(
    rf"[ \t]+{MARK}[ \t]+(?:(?:{'|'.join(_KEYS)}):: |"
    rf"\[[^\[\]]*\][ \t]*(?:(?:{REPLACE}|{REMOVE}).*-[0-9a-z]{{8}}|.*\^r-[0-9a-z]{{8}})(?:[ \t].*)?$)"
)
"""A line that we write below a proposal or a group: a detail, the box of a related line, a proposal of the group."""
_TO = re.compile(rf"[ \t]+{MARK}[ \t]+[*_]*to::[*_]*[ \t]*(.*?)[ \t]*", re.IGNORECASE)
"""The detail that says where the line goes."""
_CUT_OFF = re.compile(rf"[ \t]*(?:[ \t]{MARK}(?:[ \t]*\[.*)?[ \t]*)?")
"""A line after which another box of the same proposal may be missing: a blank line, or a box, perhaps cut off."""

_STAMP = re.compile(
    r"(?<![ \t])[ \t]+(?:[✅❌][\ufe0f]?[ \t]*\d{4}-\d\d-\d\d|\[completion:: ?\d{4}-\d\d-\d\d\])$", re.ASCII
)
"""The date that Obsidian's task plugins append when they tick a task; it does not count as a change of the words."""

_TICKED = re.compile(rb"^[ \t]*[-*+][ \t]+\[[ \t]*[xX+mM-][ \t]*\]", re.MULTILINE)
"""A box with a known character."""
_ACCEPTING, _REJECTING, _BOTH, _LINE = "xX", "-", "+", "mM"
"""Characters of a box: accept, reject, accept and keep the old line too, accept a fact as a line."""
_KNOWN = frozenset(_ACCEPTING + _REJECTING + _BOTH + _LINE)


class ReviewItem(NamedTuple):
    """One proposal as the note shows it.

    Attributes:
        id: of the proposal.
        box: the character in the task's box; a blank if it isn't ticked, and empty if no box is understood.
        words: in the note, without box and mark.
        line: 1-based.
        doubt: why its tick can't be applied; empty if it can.
        entry: its bullet.
        replaces: REFs of the related lines that are ticked.
        labels: the words of these lines.
        above: box and words of the line above, if that has no mark; empty for none.
        inside: whether it is below a box for all lines of a conversation; if its own box is empty, ``box`` is that
            box's character.
        place: where its details say that it goes; empty if they don't.
    """

    id: str
    box: str
    words: str
    line: int
    doubt: str
    entry: Entry
    replaces: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    above: tuple[str, str] = ("", "")
    inside: bool = False
    place: str = ""

    @property
    def decided(self) -> bool:
        """Whether it, or a related line below it, is ticked with a known character."""
        return self.box in _KNOWN or (self.box == " " and bool(self.replaces))

    @property
    def odd(self) -> str:
        """Why nobody knows whether it is decided; empty if a box says so, or if it plainly waits."""
        if self.decided:
            return ""
        if not self.box:
            return SEVERAL if self.doubt == SEVERAL else BOXLESS
        if self.box.strip():
            return f"[{self.box}] {ODD}"
        return self.doubt if self.doubt.endswith((ODD_BELOW, BOXLESS_BELOW, UNMARKED_BELOW)) else ""

    @property
    def state(self) -> tuple[object, ...]:
        """Everything that its decision is made from: the same wherever the line is."""
        return self.id, self.box, self.words, self.replaces, self.place


class Ticked(NamedTuple):
    """The person's decision about one proposal.

    Attributes:
        accept: whether it is accepted; else it is rejected.
        both: keep the line that it would replace, or leave the fact that it would end open.
        words: in the note; empty for a rejection.
        line: 1-based.
        as_line: a fact becomes a line of Memory.md.
        replaces: REFs of the related lines that it replaces, in order.
        place: where the note says that it goes; empty for a rejection, or if it doesn't say.
    """

    accept: bool
    both: bool
    words: str
    line: int
    as_line: bool = False
    replaces: tuple[str, ...] = ()
    place: str = ""


def ticked(data: bytes) -> bool:
    """Whether the note may contain a decision; a cheap test without parsing."""
    return b"^r-" in data and _TICKED.search(data) is not None


class _Page:
    """The note, read once.

    Attributes:
        document: its structure.
        rows: its lines, from number 1 on, without endings.
    """

    def __init__(self, data: bytes) -> None:
        self.document = Document(data)
        text = (data[line.start : line.end] for line in self.document.lines)
        self.rows = ["", *(row.decode("utf-8", "surrogateescape") for row in text)]

    @cached_property
    def tasks(self) -> list[Entry]:
        """The bullets, except for those that only the next line gives a mark.

        A line that lost its list mark continues the bullet above it, in markdown. Only below a box it may be the rest
        of a proposal's words.
        """
        entries = grammar.read(NOTE, self.document)
        return [entry for entry in entries if _BOX.match(entry.text) or not _lent_mark(entry)]

    @cached_property
    def groups(self) -> list[Entry]:
        """The boxes above the lines of one conversation."""
        return [entry for entry in self.tasks if _ALL.fullmatch(entry.block_id or "")]

    @cached_property
    def items(self) -> list[ReviewItem]:
        """The proposals in the note, in its order."""
        found: list[ReviewItem] = []
        related: list[_RelatedBox] = []
        for entry in self.tasks:
            raw = " ".join(line.strip(" \t") for line in entry.raw.split("\n"))
            if marks := _MARK.findall(raw):
                item = self._item(entry, marks)
                found += [item._replace(id=name) for name in dict.fromkeys(marks)]
                continue
            box = _BOX.match(entry.text)
            words = entry.text[box.end() :] if box else entry.text
            names = _RELATED.findall(raw)
            name, ref = names[0] if len(names) == 1 else ("", "")
            if (box and box[1] and (name or words.startswith((REPLACE, REMOVE)))) or (name and not box):
                related.append(_RelatedBox(name, ref, (box and box[1]) or "", entry.line, words))
        return [_with_related(item, related) for item in found]

    def _item(self, entry: Entry, marks: Sequence[str]) -> ReviewItem:
        """Return the proposal in a bullet with these marks, still without its id and its related lines."""
        words = entry.text
        box = _BOX.match(words)
        char = (box[1] or " ") if box else ""
        if box:
            words = _STAMP.sub("", words[box.end() :])
        group = next((above for above in reversed(self.groups) if above.line <= entry.line), None)
        inside = group is not None and group.line < entry.line <= group.end_line
        if group is not None and inside and char == " " and (group_box := _BOX.match(group.text)):
            char = group_box[1] if group_box[1] in _KNOWN else " "
        doubt = self._doubt(entry, words, f"r-{marks[0]}") if len(marks) == 1 else SEVERAL
        if box and _BOX.match(words):
            doubt = doubt or BOXES
        above, places = self._above(entry), self._places(entry)
        if len(places) > 1:
            doubt = doubt or PLACES
        place = places[0] if places else ""
        return ReviewItem("", char, words, entry.line, doubt, entry, above=above, inside=inside, place=place)

    def _places(self, entry: Entry) -> list[str]:
        """Return where a proposal's details say that it goes: one place, unless the person changed or added any."""
        below = self.rows[entry.line + entry.raw.count("\n") + 1 : entry.end_line + 1]
        own = takewhile(lambda row: not _MARK.search(row), below)
        return [*dict.fromkeys(found[1] for found in map(_TO.fullmatch, own) if found)]

    def _doubt(self, entry: Entry, words: str, mark: str) -> str:
        """Return why a tick on a proposal can't be applied; empty if it can."""
        if entry.block_id != mark:
            return MISPLACED
        if not words:
            return GONE
        *_, last = self.document.lines
        whole = len(self.rows) - (last.end == last.next)  # a last line without an ending may have more to come
        below = self.rows[entry.line + entry.raw.count("\n") + 1 : whole]
        return CUT if all(map(_CUT_OFF.fullmatch, below)) else ""

    def _above(self, entry: Entry) -> tuple[str, str]:
        """Return box and words of the line above a proposal, if it may be the beginning of the proposal's words."""
        row = self.rows[entry.line - 1]
        task = _TASK.match(row)
        if task is None or _OURS.match(row) or "^r-" in row:
            return "", ""
        return task[1] or "", row[task.end() :]

    @cached_property
    def unlisted(self) -> dict[int, list[str]]:
        """The lines with a mark that belong to no bullet, by number, with the ids in their marks."""
        listed = {row for entry in self.tasks for row in range(entry.line, entry.line + entry.raw.count("\n") + 1)}
        found = ((number, _MARK.findall(row)) for number, row in enumerate(self.rows) if number not in listed)
        return {number: marks for number, marks in found if marks}


_page = lru_cache(maxsize=4)(_Page)  # one decision asks for the same bytes several times


def read(data: bytes) -> list[ReviewItem]:
    """Return the proposals in the note, in its order."""
    return _page(data).items if b"^r-" in data else []


def _lent_mark(entry: Entry) -> bool:
    """Whether a bullet has its mark only from the lines after its first."""
    first, _, rest = entry.raw.partition("\n")
    return _MARK.search(first) is None and any(map(_MARK.search, rest.split("\n")))


def _is_below_another(entry: Entry, own: str) -> bool:
    """Whether the words of a proposal, given by their letters, are all below the line of the box: that is not theirs,
    if they have lost their list mark.
    """
    first, _, rest = entry.raw.partition("\n")
    return bool(own) and _MARK.search(first) is None and own in letters_of(rest)


class _RelatedBox(NamedTuple):
    """The box of a related line, if it is ticked or can't be understood.

    Attributes:
        id, ref: the proposal's id and the line's REF, from its mark; empty if the mark is gone.
        box: the character in it; empty if no box is understood.
        line: 1-based.
        words: after the box.
    """

    id: str
    ref: str
    box: str
    line: int
    words: str


def _with_related(item: ReviewItem, related: Iterable[_RelatedBox]) -> ReviewItem:
    """Return a proposal with the related lines that are ticked for it, in doubt if one of their boxes is unclear."""
    boxes = [line for line in related if line.id == item.id]
    own = [line for line in boxes if line.box]
    chosen = {line.ref: line.words for line in own if line.box in _ACCEPTING}
    doubt = item.doubt
    if chosen.keys() & {line.ref for line in own if line.box in _REJECTING}:
        doubt = doubt or TWICE
    odd = next((line.box for line in own if line.box not in _ACCEPTING + _REJECTING), "")
    if odd:
        doubt = doubt or f"[{odd}] {ODD_BELOW}"
    if len(own) < len(boxes):
        doubt = doubt or BOXLESS_BELOW
    if any(not line.id and item.line < line.line <= item.entry.end_line for line in related):
        doubt = doubt or UNMARKED_BELOW
    refs = tuple(sorted(chosen))
    return item._replace(replaces=refs, labels=tuple(chosen[ref] for ref in refs), doubt=doubt)


def decisions(notes: Sequence[Sequence[ReviewItem]]) -> tuple[dict[str, Ticked], list[str]]:
    """Return the decisions in the note and its copies, by proposal id, and a notice for each tick that is unclear.

    A proposal that is there more than once is decided if all of its ticks agree.

    Args:
        notes: the items of the note and of each copy.
    """
    ticks: dict[str, set[Ticked]] = {}
    lines: dict[str, int] = {}
    doubts: dict[str, str] = {}
    doubtful: dict[str, set[bool]] = {}  # whether a tick that is unclear would accept
    for items in notes:
        for item in items:
            if not item.decided:
                if item.odd:
                    lines.setdefault(item.id, item.line)
                    doubts.setdefault(item.id, item.odd)
                continue
            lines.setdefault(item.id, item.line)
            if item.doubt:
                doubts.setdefault(item.id, item.doubt)
                doubtful.setdefault(item.id, set()).add(item.box not in _REJECTING)
                continue
            if item.replaces and item.box in _REJECTING + _BOTH:
                doubts[item.id] = TWICE
                continue
            accept, both = item.box not in _REJECTING, item.box == _BOTH
            words, place = (item.words, item.place) if accept else ("", "")
            tick = Ticked(accept, both, words, 0, item.box in _LINE, item.replaces, place)
            ticks.setdefault(item.id, set()).add(tick)
    for name, different in ticks.items():
        if len(different) > 1 or doubtful.get(name, set()) - {tick.accept for tick in different}:
            doubts[name] = TWICE
    notices = [
        f"{NOTE}:{lines[name]}: left for later: {doubt}"
        for name, doubt in doubts.items()
        if doubt == TWICE or name not in ticks
    ]
    clear = {
        name: next(iter(same))._replace(line=lines[name]) for name, same in ticks.items() if doubts.get(name) != TWICE
    }
    return clear, notices


def mixed(
    notes: Sequence[Sequence[ReviewItem]], texts: Mapping[str, str], lines: Mapping[str, str], rejected: Collection[str]
) -> list[tuple[ReviewItem, str]]:
    """Return the ticked lines whose words are not those of their proposal alone, each with the reason to leave it.

    Args:
        notes: the items of the note and of each copy.
        texts: by id, the words that we write for each proposal that waits: nothing else is returned.
        lines: by REF, the words of each line that a proposal may replace.
        rejected: ids of proposals that the note rejects: their words may be used for another.
    """
    items = [item for of_note in notes for item in of_note]
    present = {item.id for item in items}
    letters = {name: letters_of(text) for name, text in texts.items() if name not in rejected}
    edited: dict[str, set[str]] = {}
    for item in items:
        if item.words != texts.get(item.id):
            edited.setdefault(item.id, set()).add(item.words)
    found: list[tuple[ReviewItem, str]] = []
    for item in items:
        if item.id not in texts or item.doubt:
            continue
        why = _broken(item, texts[item.id])
        if item.decided:
            why = why or _joined(item, texts[item.id], lines, letters, present)
            if edited.get(item.id, set()) - {item.words}:  # those of another line may be the words that count
                why = why or VARIANTS
        if why:
            found.append((item, why))
    return found


def _broken(item: ReviewItem, text: str) -> str:
    """Return :data:`SPLIT` if the words were broken in two, and one of the lines is ticked."""
    box, above = item.above
    ticked = item.decided or bool(box.strip())
    return SPLIT if ticked and above and letters_of(text) == letters_of(above) + letters_of(item.words) else ""


def _joined(
    item: ReviewItem, text: str, lines: Mapping[str, str], letters: Mapping[str, str], present: Collection[str]
) -> str:
    """Return why a line seems to be joined with another one; empty if it does not.

    Two lines that were joined keep one mark at most: then the words of the other one are an end of the line, beside
    those of its own proposal, or the box that stood between them is within the words.

    Args:
        item: the line.
        text: the words that we write for its proposal.
        lines: by REF, the words of each line that a proposal may replace.
        letters: by id, the letters of the words that may have been joined with.
        present: ids of the proposals that have lines in the note.
    """
    known = {ref: letters_of(one_line(words)) for ref, words in lines.items()} if item.replaces else {}
    for ref, label in zip(item.replaces, item.labels, strict=True):
        line = letters_of(label.partition(": ")[2])
        if not line.startswith(known.get(ref, "")) and any(
            words and line.startswith(words) for words in known.values()
        ):
            return JOINED_BELOW
    own, line = letters_of(text), letters_of(item.words)
    if line == own:
        return ""
    if len(_INNER_BOX.findall(item.words)) > len(_INNER_BOX.findall(text)):
        return BOXES
    if _is_below_another(item.entry, own):
        return BOX_ABOVE
    if line.startswith(letters_of(KEEP_ALL)):
        return JOINED.format(f"“{KEEP_ALL}”")
    for name, other in letters.items():
        is_end = other and other not in own and (line.startswith(other) or line.endswith(other))
        if is_end and (name not in present or own in line or line == other):
            return JOINED.format(f"proposal {name}")
    return ""


def unread(path: str, data: bytes) -> list[str]:
    """Return a notice for each line that may decide something, but is read as no proposal.

    These are ticked bullets that were one of our proposals and have lost the mark with its id, and lines with a mark
    that are not (any longer) a bullet, or a group's without a box that is known.

    Args:
        path: of the note or its copy.
        data: its bytes.
    """
    if not (b"^r-" in data or _TICKED.search(data)):
        return []
    page = _page(data)
    notices = []
    for entry in page.tasks:
        below = page.rows[entry.line + entry.raw.count("\n") + 1 : entry.end_line + 1]
        box = _BOX.match(entry.text)
        if entry in page.groups:
            if not box or box[1] not in {*_KNOWN, None}:
                notices.append((entry.line, f"[{box[1]}] {ODD}" if box else BOXLESS))
        elif box and box[1] and below and _is_ours(below) and not _MARK.search(entry.raw):
            notices.append((entry.line, UNMARKED))
    notices += [(row, UNLISTED) for row in page.unlisted if not _WAITING.match(page.rows[row])]
    return [f"{path}:{line}: left for later: {why}" for line, why in sorted(notices)]


def without_proposals(
    data: bytes,
    ids: Collection[str],
    decided: Iterable[Proposal] = (),
    written: Callable[[], Iterable[str]] | None = None,
) -> bytes:
    """Return the note without these proposals; of what the person wrote below or around one, only its mark is removed.

    The line of any other proposal stays, wherever it was moved: below one that goes, it takes that one's place, so that
    it does not come below another box.

    Args:
        data: the note.
        ids: of the proposals.
        decided: those of them that are decided now, as they were offered.
        written: returns the lines that we wrote into the note, as far as they are known. A detail that is none of them
            was changed by the person. None, or lines without the proposal: a detail counts as ours by its form.
    """
    if b"^r-" not in data:
        return data
    page = _page(data)
    items, rows = page.items, page.rows
    splices: list[Splice] = []
    decided = list(decided)
    ours = _Ours(decided, written)
    letters = {f"r-{proposal.id}": letters_of(words_of(proposal)) for proposal in decided}
    others = {item.entry.line for item in items if item.id not in ids or item.doubt == SEVERAL} | page.unlisted.keys()
    waiting = {item.line for item in items if item.doubt or not item.decided} | {head.line for head in page.groups}
    taken = {  # the words and the place that the person gave them
        row
        for item in items
        if item.line not in waiting
        for row in range(item.line, item.entry.end_line + 1)
        if row == item.line or (item.box != "-" and _TO.fullmatch(rows[row]))
    }
    outdents: dict[int, tuple[int, int]] = {}
    removed: set[int] = set()
    done = 0
    for entry in _gone(page, ids):
        first = entry.line
        if first <= done:
            continue
        last = first + entry.raw.count("\n")
        end = max(entry.end_line, _end_below_blank(rows, last)) if entry.end_line == last else entry.end_line
        cut = min((row - 1 for row in others if last < row <= end), default=end)
        reworded = first in waiting and any(ours.is_changed(row, entry) for row in rows[first : last + 1])
        if reworded or _is_below_another(entry, letters.get(entry.block_id or "", "")):
            splices += _mark_removals(page, first, last)
            done = last
        elif _is_ours(rows[last + 1 : cut + 1]):
            below = [row for row in range(last + 1, cut + 1) if row not in taken and _OURS.match(rows[row])]
            changed = [row for row in below if ours.is_changed(rows[row], entry)]
            for before, row in pairwise([first - 1, *changed, cut + 1]):
                if row - before > 1:
                    splices.append(_removal(page, before + 1, row - 1))
                    removed.update(range(before + 1, row))
            splices += (splice for row in changed for splice in _mark_removals(page, row, row))
            outdents |= {row: (_indent(entry.raw), _indent(rows[row])) for row in changed}
            others |= {*changed}
            if cut < end:
                places = _indent(entry.raw), _indent(rows[cut + 1])
                outdents |= dict.fromkeys(range(cut + 1, end + 1), places)
            done = cut
        else:
            splices += _mark_removals(page, first, last)
            done = last
    splices += _outdented(page, {row: place for row, place in outdents.items() if row not in removed}, others)
    for row, marks in page.unlisted.items():
        if all(name in ids for name in marks):
            splices += _mark_removals(page, row, row)
    return apply(data, sorted(splices, key=lambda splice: splice.start))


def _indent(row: str) -> int:
    """Return the number of blanks that a line begins with."""
    return len(row) - len(row.lstrip(" \t"))


def _end_below_blank(rows: Sequence[str], last: int) -> int:
    """Return the last of our lines below an empty task that follows a proposal's own line; ``last`` if none follow.

    An editor makes such a task when the person presses Enter at the end of the line, and the details go below it.
    """
    end = last + 1
    if end >= len(rows) or not _BLANK_TASK.fullmatch(rows[end]):
        return last
    while end + 1 < len(rows) and _OURS.match(rows[end + 1]):
        end += 1
    return end if end > last + 1 else last


def _gone(page: _Page, ids: Collection[str]) -> list[Entry]:
    """Return the bullets of proposals that go, and of groups of which none stays, in order."""
    gone = [item.entry for item in page.items if item.id in ids and item.doubt != SEVERAL]
    for group in page.groups:
        parts = [item for item in page.items if group.line < item.line <= group.end_line]
        if all(item.id in ids and item.doubt != SEVERAL for item in parts):
            gone.append(group)  # its lines were decided one by one
    return sorted(gone, key=lambda entry: entry.line)


def _outdented(page: _Page, places: Mapping[int, tuple[int, int]], others: Collection[int]) -> Iterator[Splice]:
    """Yield the removal of blanks before lines whose parent goes.

    Args:
        page: the note.
        places: by line, the indentation of the parent, and of the first line that stays below it.
        others: the lines that may begin where that first one does; others there come below one of these.
    """
    for row, (start, stop) in places.items():
        indent = _indent(page.rows[row])
        if start < stop and (indent > stop or (indent == stop and row in others)):
            at = page.document.lines[row - 1].start  # blanks are one byte each
            yield Splice(at + start, at + stop, b"")


def _is_ours(rows: Sequence[str]) -> bool:
    """Whether the person wrote nothing into these lines: each is blank or one that we write below a proposal."""
    return all(_OURS.match(row) or _BLANK_TASK.fullmatch(row) or not row.strip(" \t") for row in rows)


class _Ours:
    """The lines that we wrote into the note: those of proposals that are decided, and those that the journal knows."""

    def __init__(self, decided: Iterable[Proposal], written: Callable[[], Iterable[str]] | None) -> None:
        self._decided = {_unticked(row) for proposal in decided for row in bullet(proposal).split("\n")}
        self._written = written

    @cached_property
    def _known(self) -> set[str]:
        return self._decided | set(map(_unticked, self._written() if self._written else ()))

    def is_changed(self, row: str, entry: Entry) -> bool:
        """Whether the person changed this line of a proposal, given by its bullet, that we wrote."""
        if self._written is None or (words := _unticked(row)) in self._decided or words in self._known:
            return False
        marks = (f"^{entry.block_id}", *(found[0] for found in _MARK.finditer(entry.raw)))
        return any(known.endswith(marks) for known in self._known)


def _unticked(row: str) -> str:
    """Return a line without indentation, list mark, box, and the date of its tick."""
    words = without_mark(row.strip(" \t"))
    box = _BOX.match(words)
    return _STAMP.sub("", words[box.end() :] if box else words)


def with_new(data: bytes | None, proposals: Iterable[Proposal]) -> bytes:
    """Return the note with proposals added at the end of their section; those that it has already stay as they are.

    A new note begins with its title and how to use it.
    """
    known = {item.id for item in read(data or b"")}
    missing = [(proposal, [part for part in proposal.leaves if part.id not in known]) for proposal in proposals]
    new = [_group(proposal, parts) if len(parts) > 1 else bullet(parts[0]) for proposal, parts in missing if parts]
    if data is None or not data.strip():
        lines = [TITLE, "", *INTRO, "", f"## {HEADING}", "", *new]
        return (data or b"") + ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
    if not new:
        return data
    data = apply(data, edits.insert_bullet(data, new[0], section=HEADING))
    document = Document(data)
    first = next(item for item in read(data) if item.id not in known).entry
    _, end, after = document.lines[first.end_line - 1]
    nl = document.ending(first.end_line)
    indent = re.match(r"[ \t]*", first.raw)
    blank = indent[0] if indent else ""
    more = "".join(f"{blank}{line}\n" for task in new[1:] for line in task.split("\n"))
    text = more.encode("utf-8", "surrogateescape").replace(b"\n", nl)
    return apply(data, [Splice(after, after, (nl if after == end else b"") + text)])


def count(data: bytes) -> tuple[int, int]:
    """Return how many proposals the note holds, of which the lines of a conversation are one, and how many lines."""
    page = _page(data)
    return sum(not item.inside for item in page.items) + len(page.groups), len(page.items)


def is_bare(data: bytes) -> bool:
    """Whether the note contains nothing but its title, its heading and how to use it."""
    return {row.strip() for row in _page(data).rows} <= {"", TITLE, *INTRO, f"## {HEADING}"}


def _group(proposal: Proposal, parts: Sequence[Proposal]) -> str:
    """Return the lines of one conversation, below the box that decides them all."""
    date = f" ({one_line(proposal.date)})" if proposal.date else ""
    head = f"- [ ] {KEEP_ALL}{date} ^r-{proposal.id}-all"  # no count: some are decided first
    return "\n".join([head, *(f"  {line}" for part in parts for line in bullet(part).split("\n"))])


def bullet(proposal: Proposal) -> str:
    """Return a proposal as a task with its details nested below; several lines, without a final line ending."""
    words = words_of(proposal)
    details = [("to", place_of(proposal))]
    if proposal.op == "create":
        steps = vault.playbooks.lines_of(proposal.text)[:STEPS]
        details += [("step", one_line(without_mark(step.strip()))) for step in steps]
    if proposal.quoted:
        details.append(("said", f"{one_line(proposal.quoted)}{_link(proposal)}"))
    elif _link(proposal):
        details.append(("said", _link(proposal).strip()))
    if proposal.remarks:
        details.append(("mind", one_line(proposal.remarks)))
    if proposal.op == "replace":
        details.append(("instead of", one_line(shown(proposal.replaces))))
    details += [("ends", one_line(end.becomes)) for end in (proposal.fact.ends if proposal.fact else ())]
    rest = (line for line in proposal.conflicts if line not in proposal.choices)
    details += [("beside", one_line(f"{line.text} ({line.origin(proposal.target)})")) for line in rest]
    if proposal.why and proposal.why not in (NEW, BESIDE):
        details.append(("why", one_line(proposal.why)))
    if proposal.asked_before:
        details.append(("asked before", f"you rejected “{one_line(proposal.asked_before)}”"))
    if proposal.fact:
        other = proposal.fact.instead
        details.append(("or", one_line(f"m in the box keeps it as a line of {place_of(other)}: {other.text}")))
    # The boxes come first: the details after them show that none is cut off.
    below = [_choice(proposal, line) for line in proposal.choices]
    below += [f"  - {key}:: {value}" for key, value in details]
    return "\n".join([f"- [ ] {words} ^r-{proposal.id}", *below])


def place_of(proposal: Proposal | PlainLine) -> str:
    """Return note and heading that a line goes to, as one line."""
    return _harmless(proposal.target + (f" › {plain_heading(proposal.section)}" if proposal.section else ""))


def _choice(proposal: Proposal, line: Related) -> str:
    """Return the box of a related line."""
    verb = REMOVE if proposal.op == "choose" else REPLACE
    return f"  - [ ] {verb}{one_line(line.text)} ({line.origin(proposal.target)}) ^r-{proposal.id}-{line.ref}"


def words_of(proposal: Proposal) -> str:
    """Return the words that we write into a proposal's own line."""
    if proposal.op in ("remove", "remove_section"):
        return f"Remove: {one_line(shown(proposal.replaces or proposal.quote))}"
    if proposal.op == "add_section" and not proposal.text.strip():
        return f"Add the heading: {one_line(proposal.section)}"
    if proposal.op == "create":
        return _harmless(vault.playbooks.title_of(proposal.text) or proposal.target)
    before, after = capture.remember.around(proposal.section, ())
    return _harmless(vault.secrets.masked_among(proposal.text, before, after)[0])


def shown(raw: str) -> str:
    """Return the words of a bullet's own lines for a person: without mark, state and block id, the date in brackets."""
    return " ".join(line.strip(" \t") for line in grammar.plain(raw).split("\n")).removeprefix("- ").strip(" \t")


def one_line(text: str) -> str:
    """Return any text as one harmless line of the note, masked and cut to a readable length.

    If it contains a mark like ours (``^r-…``), a backslash, which Obsidian does not show, breaks it.
    """
    text = vault.secrets.mask(text)
    return _harmless(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


STEPS = 40
"""Maximum number of a playbook's lines shown below its proposal; ``review`` shows all of them."""

LONGEST = 400
"""Maximum number of characters of a nested line: about ten lines on a phone."""


def _harmless(text: str) -> str:
    """Return a text neutralised, and with marks like ours broken; an ellipsis if nothing is left of it."""
    try:
        return re.sub(r"(?<!\\)\^r-", r"\\^r-", grammar.neutralise(text))
    except UsageError:
        return "…"


def _link(proposal: Proposal) -> str:
    """Return a link to the line that the proposal comes from; empty if it comes from none."""
    linkable = re.fullmatch(r"[^\[\]|\x00-\x1f\x7f-\x9f\u2028\u2029]{1,400}#\^[A-Za-z0-9-]{1,100}", proposal.source)
    dated = re.fullmatch(r"\d{4}-\d\d-\d\d", proposal.date, re.ASCII)
    return f" ([[{proposal.source}|{proposal.date}]])" if linkable and dated else ""


def _removal(page: _Page, first: int, last: int) -> Splice:
    """Return the removal of whole lines.

    An empty line stays where the text above would otherwise join the text below and change its meaning in Markdown.
    """
    lines = page.document.lines
    start, end, after = lines[first - 1].start, lines[last - 1].end, lines[last - 1].next
    below = page.rows[last + 1].strip(" \t") if last < len(lines) else ""
    above = page.rows[first - 1].strip(" \t")
    meets = bool(above and below) and not re.match(r"[-*+#]", below)
    return Splice(start, end if meets else after, b"")


def _mark_removals(page: _Page, first: int, last: int) -> list[Splice]:
    """Return the removals of the marks in some lines."""
    found = []
    for number in range(first, last + 1):
        for match in _MARK.finditer(page.rows[number]):
            start = page.document.lines[number - 1].start
            before = page.rows[number][: match.start()].encode("utf-8", "surrogateescape")
            size = len(match[0].encode("utf-8"))
            found.append(Splice(start + len(before), start + len(before) + size, b""))
    return found
