"""Review.md: proposals as a list of tasks that are decided in Obsidian, on a phone or in any editor. Pure.

One bullet a proposal: ``- [ ] words ^r-ID``, what there is to know nested below it. ``[x]`` accepts, ``[-]`` rejects,
``[+]`` accepts and keeps the line that would be replaced or the fact that would end; ``[m]`` keeps a fact as a line of
``Memory.md``; other words in place are accepted instead of ours. Each related line has a box of its own below the
proposal, ``- [ ] replace: text ^r-ID-REF``: only one that is ticked is replaced. What one conversation gave stands
below one box, ``- [ ] Keep all lines … ^r-ID-all``: that decides those of them which have no mark of their own.
Whatever can't be understood beyond doubt (a line cut off, the same proposal decided in two ways) waits.

Everything else in the note is the person's and stays, byte by byte.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.proposals import BESIDE, NEW, Proposal, Related
from tars_memory.errors import UsageError
from tars_memory.vault import playbooks
from tars_memory.vault.layout import BEFORE, INTRO, TITLE, Layout
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Document, apply, plain_heading
from tars_memory.vault.markdown.lines import MARK, unmarked as without_mark
from tars_memory.vault.model import Entry, Splice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


NOTE = Layout.review
HEADING = "To decide"
GONE = "nothing is left of its words"
CUT = "the note may be cut off there: it is the last line of all"
TWICE = "it is decided in more than one way"
MISPLACED = "its mark must be the last word of its line"
UNMARKED = "its mark (^r-…) is gone, so nothing says which proposal it is; tars-memory review --note offers it again"
ODD = "decides nothing here: [x] accepts, [-] rejects"
"""Said of boxes with another mark: themes of Obsidian have dozens, and none of them may be a guess."""
UNMARKED_BELOW = "a ticked line below it has lost its mark (^r-…); tick it in the note that review --note writes"
ODD_BELOW = "at a line below it decides nothing here: [x] replaces that line"

_KEYS = ("to", "step", "said", "mind", "instead of", "ends", "beside", "why", "asked before", "or")
REPLACE, REMOVE = "replace: ", "remove: "
"""How the box of a related line begins; the other one where a proposal asks which of some lines holds."""
_MARK = re.compile(r"(?:^|[ \t])\^r-([0-9a-z]{8})(?![0-9A-Za-z-])")
_RELATED = re.compile(r"(?:^|[ \t])\^r-([0-9a-z]{8})-([0-9a-z]{8})(?![0-9A-Za-z-])")
_ALL = re.compile(r"r-[0-9a-z]{8}-all")
"""The block id of the box above the lines of one conversation."""
_BOX = re.compile(
    r"\[(?:[ \t]*+(?!\])|[ \t]*(?=[ \t]\]))([^\[\]][\u0300-\u036f\u20e3\ufe0e\ufe0f]*)[ \t]*\](?:[ \t]+|$|(?![(\[:]))"
)
"""A task's box, also as a thumb types it: ``[ x]``, or no blank behind it. The start of a link is not a box."""

_OURS = re.compile(
    rf"[ \t]+{MARK}[ \t]+(?:(?:{'|'.join(_KEYS)}):: |"
    rf"\[[^\[\]]*\][ \t]*(?:(?:{REPLACE}|{REMOVE}).*-[0-9a-z]{{8}}|.*\^r-[0-9a-z]{{8}})(?:[ \t].*)?$)"
)
_UNSURE = re.compile(rf"[ \t]*(?:[ \t]{MARK}(?:[ \t]*\[.*)?[ \t]*)?")
"""A line behind which another box of the same proposal may be missing: blank, or a box, perhaps cut off."""

_STAMP = re.compile(
    r"(?<![ \t])[ \t]+(?:[✅❌][\ufe0f]?[ \t]*\d{4}-\d\d-\d\d|\[completion:: ?\d{4}-\d\d-\d\d\])$", re.ASCII
)
"""What Obsidian's plugins for tasks put behind the words when they tick one; it is not a change of the words."""

_TICKED = re.compile(rb"^[ \t]*[-*+][ \t]+\[[ \t]*[xX+mM-][ \t]*\]", re.MULTILINE)
_ACCEPTING, _REJECTING, _BOTH, _LINE = "xX", "-", "+", "mM"


class ReviewItem(NamedTuple):
    """One proposal as the note shows it.

    Attributes:
        id: of the proposal.
        box: the character in the task's box; a blank if it isn't ticked.
        words: as they stand, without box and mark.
        line: 1-based.
        doubt: why it can't be taken as it stands; empty if it can.
        entry: its bullet.
        replaces: the names of the related lines that are ticked.
        inside: whether it is below a box for all lines of a conversation; that one's mark is its own if it has
            none.
    """

    id: str
    box: str
    words: str
    line: int
    doubt: str
    entry: Entry
    replaces: tuple[str, ...] = ()
    inside: bool = False

    @property
    def decided(self) -> bool:
        """Whether it, or a line below it, is ticked in one of the ways that are understood."""
        return self.box in _ACCEPTING + _REJECTING + _BOTH + _LINE or (self.box == " " and bool(self.replaces))

    @property
    def state(self) -> tuple[object, ...]:
        """What it says, without its place."""
        return self.id, self.box, self.words, self.replaces


class Ticked(NamedTuple):
    """What the person decided about one proposal.

    Attributes:
        accept: else it is rejected.
        both: the line that it would replace, or the fact that it would end, stays too.
        words: as they are in the note.
        line: 1-based.
        as_line: a fact becomes a line of Memory.md.
        replaces: the names of the related lines that it replaces, in order.
    """

    accept: bool
    both: bool
    words: str
    line: int
    as_line: bool = False
    replaces: tuple[str, ...] = ()


def ticked(data: bytes) -> bool:
    """Whether the note may hold a decision; a cheap look without parsing it."""
    return b"^r-" in data and _TICKED.search(data) is not None


def read(data: bytes) -> list[ReviewItem]:
    """The proposals in the note, in its order."""
    if b"^r-" not in data:
        return []
    document = Document(data)
    found: list[ReviewItem] = []
    below: list[_Below] = []
    above: Entry | None = None
    for entry in grammar.read(NOTE, document):
        whole = " ".join(line.strip(" \t") for line in entry.raw.split("\n"))
        marks = _MARK.findall(whole)
        words = entry.text
        box = _BOX.match(words)
        above = entry if _is_above(entry) else above
        if len(marks) != 1:
            if box and box[1].strip() and not marks:
                names = _RELATED.findall(whole)
                name, ref = names[0] if len(names) == 1 else ("", "")
                if name or words[box.end() :].startswith((REPLACE, REMOVE)):
                    below.append(_Below(name, ref, box[1], entry.line))
            continue
        if box:
            words = _STAMP.sub("", words[box.end() :])
        own = box[1] if box else " "
        inside = above is not None and above.line < entry.line <= above.end_line
        if above is not None and inside and not own.strip() and (all_of_them := _BOX.match(above.text)):
            own = all_of_them[1]
        found.append(ReviewItem(marks[0], own, words, entry.line, _doubt(document, entry, words), entry, inside=inside))
    return [_with_below(item, below) for item in found]


class _Below(NamedTuple):
    """A box of a related line that isn't empty: the id and the name in its mark, '' if that is gone."""

    id: str
    ref: str
    box: str
    line: int


def _with_below(item: ReviewItem, below: Iterable[_Below]) -> ReviewItem:
    """A proposal with the lines that are ticked for it; in doubt where one of their boxes can't be understood."""
    own = [each for each in below if each.id == item.id]
    chosen = {each.ref for each in own if each.box in _ACCEPTING}
    doubt = item.doubt
    if chosen & {each.ref for each in own if each.box in _REJECTING}:
        doubt = doubt or TWICE
    odd = next((each.box for each in own if each.box not in _ACCEPTING + _REJECTING), "")
    if odd:
        doubt = doubt or f"[{odd}] {ODD_BELOW}"
    if any(not each.id and item.line < each.line <= item.entry.end_line for each in below):
        doubt = doubt or UNMARKED_BELOW
    return item._replace(replaces=tuple(sorted(chosen)), doubt=doubt)


def decisions(notes: Sequence[Sequence[ReviewItem]]) -> tuple[dict[str, Ticked], list[str]]:
    """What was decided in the note and in its copies, and sentences about what can't be taken.

    A proposal that is there more than once is decided if all that are ticked say the same.

    Args:
        notes: the items of each.
    """
    said: dict[str, set[Ticked]] = {}
    lines: dict[str, int] = {}
    doubts: dict[str, str] = {}
    for items in notes:
        for item in items:
            if not item.decided:
                if item.box.strip():
                    lines.setdefault(item.id, item.line)
                    doubts.setdefault(item.id, f"[{item.box}] {ODD}")
                continue
            lines.setdefault(item.id, item.line)
            if item.doubt:
                doubts.setdefault(item.id, item.doubt)
                continue
            if item.replaces and item.box in _REJECTING + _BOTH:
                doubts[item.id] = TWICE
                continue
            accept, both = item.box not in _REJECTING, item.box == _BOTH
            way = Ticked(accept, both, item.words if accept else "", 0, item.box in _LINE, item.replaces)
            said.setdefault(item.id, set()).add(way)
    for name, ways in said.items():
        if len(ways) > 1:
            doubts[name] = TWICE
    notices = [
        f"{NOTE}:{lines[name]}: left for later: {doubt}"
        for name, doubt in doubts.items()
        if doubt == TWICE or name not in said
    ]
    taken = {
        name: way._replace(line=lines[name]) for name, ways in said.items() if doubts.get(name) != TWICE for way in ways
    }
    return taken, notices


def unmarked(path: str, data: bytes) -> list[str]:
    """A sentence for each ticked bullet that was a proposal of ours, and has lost the mark that says which.

    Args:
        path: of the note or of its copy.
        data: its bytes.
    """
    if not _TICKED.search(data):
        return []
    document = Document(data)
    told = []
    for entry in grammar.read(NOTE, document):
        own = entry.line + entry.raw.count("\n")
        below = _rows(document, own + 1, entry.end_line)
        box = _BOX.match(entry.text)
        ours = bool(below) and all(_OURS.match(line) or not line.strip(" \t") for line in below)
        if box and box[1].strip() and ours and not (_MARK.search(entry.raw) or _is_above(entry)):
            told.append(f"{path}:{entry.line}: left for later: {UNMARKED}")
    return told


def without(data: bytes, ids: Collection[str]) -> bytes:
    """The note without these proposals. One under which the person wrote something stays, without its mark."""
    document = Document(data)
    splices: list[Splice] = []
    last = 0
    items = read(data)
    gone = [item.entry for item in items if item.id in ids]
    for entry in grammar.read(NOTE, document) if b"-all" in data else ():
        held = [item for item in items if entry.line < item.line <= entry.end_line]
        if _is_above(entry) and all(item.id in ids for item in held):
            gone.append(entry)  # its lines were decided one by one
    for entry in sorted(gone, key=lambda entry: entry.line):
        first, end = entry.line, entry.end_line
        if first <= last:
            continue
        own = first + entry.raw.count("\n")
        below = _rows(document, own + 1, end)
        if all(_OURS.match(line) or not line.strip(" \t") for line in below):
            splices.append(_removal(document, first, end))
            last = end
        else:
            splices += _unmarked(document, first, own)
            last = own
    return apply(data, splices)


def with_new(data: bytes | None, proposals: Iterable[Proposal]) -> bytes:
    """The note with these proposals added at the end of their section; those that it holds already stay as they are.

    A note that isn't there begins with its title and how to use it.
    """
    there = {item.id for item in read(data or b"")}
    left = [(each, [one for one in each.each if one.id not in there]) for each in proposals]
    new = [_all_of(each, parts) if len(parts) > 1 else bullet(parts[0]) for each, parts in left if parts]
    if data is None or not data.strip():
        lines = [TITLE, "", *INTRO, "", f"## {HEADING}", "", *new]
        return (data or b"") + ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")
    if not new:
        return data
    data = apply(data, edits.insert_bullet(data, new[0], section=HEADING))
    document = Document(data)
    first = next(item for item in read(data) if item.id not in there).entry
    _, end, after = document.lines[first.end_line - 1]
    nl = document.ending(first.end_line)
    indent = re.match(r"[ \t]*", first.raw)
    blank = indent[0] if indent else ""
    more = "".join(f"{blank}{line}\n" for each in new[1:] for line in each.split("\n"))
    text = more.encode("utf-8", "surrogateescape").replace(b"\n", nl)
    return apply(data, [Splice(after, after, (nl if after == end else b"") + text)])


def count(data: bytes) -> int:
    """How many decisions the note asks for; lines of one conversation are one."""
    above = (entry for entry in grammar.read(NOTE, Document(data)) if _is_above(entry))
    return sum(not item.inside for item in read(data)) + sum(1 for _ in above)


def is_bare(data: bytes) -> bool:
    """Whether nothing but what we wrote at its beginning is left of the note."""
    document = Document(data)
    lines = {row.strip() for row in _rows(document, 1, len(document.lines))}
    return lines <= {"", TITLE, *INTRO, BEFORE, f"## {HEADING}"}


def _all_of(proposal: Proposal, parts: Sequence[Proposal]) -> str:
    """Lines of one conversation below the box that decides them all."""
    said = f" ({one_line(proposal.date)})" if proposal.date else ""
    head = f"- [ ] Keep all lines of one conversation{said} ^r-{proposal.id}-all"  # no count: some are decided first
    return "\n".join([head, *(f"  {line}" for part in parts for line in bullet(part).split("\n"))])


def bullet(proposal: Proposal) -> str:
    """A proposal as a task with what there is to know nested below it; several lines, without a final line ending."""
    words = words_of(proposal)
    place = proposal.target + (f" › {plain_heading(proposal.section)}" if proposal.section else "")
    told = [("to", one_line(place))]
    if proposal.op == "create":
        told += [("step", one_line(without_mark(step.strip()))) for step in playbooks.lines_of(proposal.text)[:STEPS]]
    if proposal.quoted:
        told.append(("said", f"{one_line(proposal.quoted)}{_link(proposal)}"))
    elif _link(proposal):
        told.append(("said", _link(proposal).strip()))
    if proposal.remarks:
        told.append(("mind", one_line(proposal.remarks)))
    if proposal.op == "replace":
        told.append(("instead of", one_line(shown(proposal.replaces))))
    told += [("ends", one_line(each.becomes)) for each in (proposal.fact.ends if proposal.fact else ())]
    rest = (each for each in proposal.conflicts if each not in proposal.choices)
    told += [("beside", one_line(f"{each.path}: {each}" if each.path else str(each))) for each in rest]
    if proposal.why and proposal.why not in (NEW, BESIDE):
        told.append(("why", one_line(proposal.why)))
    if proposal.asked_before:
        told.append(("asked before", f"you refused “{one_line(proposal.asked_before)}”"))
    if proposal.fact:
        other = proposal.fact.instead
        place = other.target + (f" › {plain_heading(other.section)}" if other.section else "")
        told.append(("or", one_line(f"m in the box keeps it as a line of {place}: {other.text}")))
    below = [_choice(proposal, each) for each in proposal.choices]  # first: what follows says that none is cut off
    below += [f"  - {key}:: {value}" for key, value in told]
    return "\n".join([f"- [ ] {words} ^r-{proposal.id}", *below])


def _choice(proposal: Proposal, line: Related) -> str:
    """The box of a related line."""
    verb = REMOVE if proposal.op == "choose" else REPLACE
    place = ", waits too" if line.waits else f", {line.path}" if line.path != proposal.target else ""
    return f"  - [ ] {verb}{one_line(line.text)} ({line.date or 'undated'}{place}) ^r-{proposal.id}-{line.ref}"


def words_of(proposal: Proposal) -> str:
    """What a proposal's own line says until the person changes it."""
    if proposal.op in ("remove", "remove_section"):
        return f"Remove: {one_line(shown(proposal.replaces or proposal.quote))}"
    if proposal.op == "add_section" and not proposal.text.strip():
        return f"Add the heading: {one_line(proposal.section)}"
    if proposal.op == "create":
        return _harmless(playbooks.title_of(proposal.text) or proposal.target)
    return _harmless(proposal.text)


def shown(raw: str) -> str:
    """The words of a bullet's own lines, for a person: without mark, state and block id, the date in brackets."""
    return " ".join(line.strip(" \t") for line in grammar.plain(raw).split("\n")).removeprefix("- ").strip(" \t")


def one_line(text: str) -> str:
    """Text from anywhere on one line of the note, unable to be anything else there; cut to a length that can be read.

    An ID of ours within it is broken by a backslash, which Obsidian does not show.
    """
    return _harmless(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


STEPS = 40
"""Lines of a playbook below its proposal; review shows all of them."""

LONGEST = 400
"""Characters of a nested line: a phone shows about ten lines of it."""


def _harmless(text: str) -> str:
    try:
        return re.sub(r"(?<!\\)\^r-", r"\\^r-", grammar.neutralise(text))
    except UsageError:
        return "…"


def _link(proposal: Proposal) -> str:
    """A link to the line that the proposal comes from; empty if it comes from none."""
    said = re.fullmatch(r"[^\[\]|\x00-\x1f\x7f-\x9f\u2028\u2029]{1,400}#\^[A-Za-z0-9-]{1,100}", proposal.source)
    day = re.fullmatch(r"\d{4}-\d\d-\d\d", proposal.date, re.ASCII)
    return f" ([[{proposal.source}|{proposal.date}]])" if said and day else ""


def _is_above(entry: Entry) -> bool:
    """Whether it is the box above the lines of one conversation."""
    return _ALL.fullmatch(entry.block_id or "") is not None


def _doubt(document: Document, entry: Entry, words: str) -> str:
    own = entry.line + entry.raw.count("\n")
    if not (entry.block_id or "").startswith("r-"):
        return MISPLACED
    if not words:
        return GONE
    if all(map(_UNSURE.fullmatch, _rows(document, own + 1, len(document.lines)))):
        return CUT
    return ""


def _rows(document: Document, first: int, last: int) -> list[str]:
    """Lines of the note, from the first to the last one; none if that comes before."""
    return re.split(r"\r\n|\r|\n", document.text(first, last)) if first <= last else []


def _removal(document: Document, first: int, last: int) -> Splice:
    """Whole lines; an empty one stays where text would otherwise meet the text below and change what it is."""
    start, end, after = document.lines[first - 1].start, document.lines[last - 1].end, document.lines[last - 1].next
    below = document.text(last + 1).strip(" \t") if last < len(document.lines) else ""
    above = document.text(first - 1).strip(" \t") if first > 1 else ""
    meets = bool(above and below) and not re.match(r"[-*+#]", below)
    return Splice(start, end if meets else after, b"")


def _unmarked(document: Document, first: int, last: int) -> list[Splice]:
    """Take the mark out of a bullet's own lines."""
    found = []
    for number in range(first, last + 1):
        for match in _MARK.finditer(document.text(number)):
            start = document.lines[number - 1].start
            before = document.text(number)[: match.start()].encode("utf-8", "surrogateescape")
            size = len(match[0].encode("utf-8"))
            found.append(Splice(start + len(before), start + len(before) + size, b""))
    return found
