"""A change of a note as data, and the one planner: a note and changes give splices and what became of each change.

Pure: nothing is read, nothing is written, nothing raises. Each change is looked at alone, on what those before it left:
it is applied, or there was nothing to do, or it is rejected with the reason, and then holds up no other one. The bytes
come from :mod:`tars_memory.vault.markdown.edits`, which touches the lines that a change names and no other byte.

Many changes cost few parses: one joins a bundle if what it does can be told from the note as it was before the bundle,
for it names a line that no other one of it touches, or adds a line behind one that was placed already. All splices are
then made at once, and the whole is parsed once more: exactly the entries that should have come, gone and changed have,
each in its place, else the bundle is halved. Plain lines at the very end of a note need no such parse
(:func:`tars_memory.vault.markdown.edits.stand_at_end`). What can't join (a new heading, a line that is found by its
words only, a change that will be rejected) is done alone. The note is the same, byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from tars_memory.errors import TarsError, counted
from tars_memory.vault import markdown
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Bullet, Document, Section, apply as spliced, line_of, plain_heading
from tars_memory.vault.markdown.edits import Changes
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.model import Entry, Splice, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tars_memory.vault.markdown.facts import Ending, Predicates, Said
    from tars_memory.vault.note import Note


OpName = Literal["append", "add_section", "replace", "remove", "remove_section", "fact", "mark", "create"]

OPS: tuple[OpName, ...] = ("append", "add_section", "replace", "remove", "remove_section", "fact", "mark", "create")

OPEN = (None, "extracted", "expired")
"""The states of a candidate that nobody has decided about."""


class Change(NamedTuple):
    """One wish about one note; a line is named by what it says, never by its number.

    Attributes:
        op: one of :data:`OPS`.
        section: heading under which to append (empty: before all of them but the note's title), or which to add or
            remove; of a fact its subject.
        text: the new words; of ``add_section`` those of a line below it, if there is to be one; of a fact with its
            dates; of ``create`` all of the new note but its properties.
        replaces: the entry's own lines as they stood (:attr:`Entry.raw`), for ``replace``, ``remove`` and ``mark``; for
            ``remove_section`` the section's lines.
        provenance: ``2026-11-21#^d-abc``, the line that this came from; empty for none.
        label: what the provenance link shows; empty for the name of its note. Of a fact the day on which it was said.
        occurrence: which of several entries with these very lines is meant, from 0; None: there must be one only.
        single: of a fact, whether it ends what holds at its start.
        ends: of a fact, the own lines of the facts that it ends, as they were shown; None if nobody was shown any.
        author: whose words they are; empty for nobody in particular.
        target: path of the note, relative to the vault.
        event: of a fact, whether it happens once.
        gone: of a fact, the predicates of which it ends those with its object.
        time: of a new line; of a new note the day on which it was made; empty for none.
        state: of a new line, or the one that a mark gives; empty for none.
        block_id: of a new line, or the one that a mark gives to a line without; it stands once in a note.
        children: words of bullets nested under a new or a marked line.
        again: append even if the note says exactly this already.
        typed: somebody's own wish, carried out even where something (in an open formula, say) would be read otherwise
            then; of others it is asked that exactly the entries that should come, go or change do.
    """

    op: OpName
    section: str = ""
    text: str = ""
    replaces: str = ""
    provenance: str = ""
    label: str = ""
    occurrence: int | None = None
    single: bool = False
    ends: tuple[str, ...] | None = None
    author: str = ""
    target: str = ""
    event: bool = False
    gone: tuple[str, ...] = ()
    time: str = ""
    state: str = ""
    block_id: str = ""
    children: tuple[str, ...] = ()
    again: bool = False
    typed: bool = False


class Outcome(NamedTuple):
    """What became of one change.

    Attributes:
        change: the change.
        status: ``applied``, ``no-op`` or ``rejected``.
        reason: why it was not applied; empty if it was.
        words: of the entry that says it now; empty if it is rejected, or leaves no words of its own.
        endings: what a fact ended.
    """

    change: Change
    status: Literal["applied", "no-op", "rejected"]
    reason: str = ""
    words: str = ""
    endings: tuple[Ending, ...] = ()


class Planned(NamedTuple):
    """What changes of a note come to.

    Attributes:
        note: as it is then; the very one that was given if nothing was applied.
        splices: of the note that was given, in order.
        outcomes: one for each change, in their order.
    """

    note: Note
    splices: list[Splice]
    outcomes: tuple[Outcome, ...]

    @property
    def changed(self) -> int:
        """How many changes changed the note."""
        return sum(outcome.status == "applied" for outcome in self.outcomes)


class _RejectedError(Exception):
    """Why a change can't be applied."""


class _NothingError(Exception):
    """Why nothing is to be done for a change; ``words`` are those of the entry that says it already."""

    def __init__(self, why: str, words: str = "") -> None:
        super().__init__(why)
        self.words = words


class _Done(NamedTuple):
    """What one change does: the splices, its words as they stand then, what a fact ends."""

    splices: Sequence[Splice]
    words: str = ""
    endings: tuple[Ending, ...] = ()


def apply(note: Note, changes: Sequence[Change]) -> Planned:
    """Apply changes to a note, each as if those before it had been applied alone; many of them cost few parses.

    A line that came to the note already is not written again: another entry links to its provenance.

    Args:
        note: without a text if there is none.
        changes: in order; an entry is named by its own lines, and must be found exactly once.
    """
    outcomes: list[Outcome] = []
    splices: Sequence[Splice]
    made = Changes(note.data)
    wanted = [_wanted(change) for change in changes]
    stale = {change for change in changes if change.ends is not None and _is_stale(note, change)}
    while len(outcomes) < len(changes):
        at = len(outcomes)
        together = _bundle(note, changes[at:], wanted[at:]) if at + 1 < len(changes) else None
        if together is not None:
            splices, told = together
            outcomes += told
        elif changes[at] in stale:
            why = f"{note.path} changed: the fact would end something else than was shown"
            splices = ()
            outcomes.append(Outcome(changes[at], "rejected", why))
        else:
            splices, outcome = _alone(note, changes[at])
            outcomes.append(outcome)
        made.make(splices)
        note = note.saying(made.data)
    return Planned(note, made.splices(), tuple(outcomes))


def _is_stale(note: Note, change: Change) -> bool:
    """Whether a fact would end something else than was shown, in the note as it was before all changes."""
    try:
        return set(change.ends or ()) != set(_ended(note, change))
    except TarsError:
        return False  # it can't be a fact at all, which is told where it is tried


def _alone(note: Note, change: Change) -> tuple[Sequence[Splice], Outcome]:
    """What to splice for one change, and what became of it."""
    came = note.sources.get(change.provenance, ()) if change.provenance else ()
    if there := next((entry for entry in came if entry.raw != change.replaces), None):
        return (), Outcome(change, "no-op", f"{note.path} line {there.line} came from the same line", there.text)
    try:
        done = _OPS.get(change.op, _unknown)(note, change)
        return done.splices, Outcome(change, "applied", "", done.words, done.endings)
    except _NothingError as why:
        return (), Outcome(change, "no-op", str(why), why.words)
    except (_RejectedError, TarsError, UnicodeError) as error:
        return (), Outcome(change, "rejected", str(error))


def _wanted(change: Change) -> Wanted | None:
    """What a change comes to, if it may go together with others."""
    if change.op not in ("append", "replace", "remove", "mark"):
        return None
    try:
        link = ("", "") if change.op in ("remove", "mark") else _provenance(change)
        return Wanted(link, _heading(change) if change.op == "append" else "")
    except (_RejectedError, TarsError, UnicodeError):
        return None


def locate(note: Note, target: str, *, occurrence: int | None = None) -> Entry | str:
    """The entry that a target names, or in a sentence why it can't be told.

    Args:
        note: to look into.
        target: the entry's own lines as they stood (:attr:`Entry.raw`).
        occurrence: which of several with these very lines, from 0; None: there must be one only.

    Returns:
        The entry with exactly these lines; else the one with its block id or its words, if it still says the same.
    """
    now, path = note.entries, note.path
    target = re.sub(r"\r\n|\r", "\n", target)
    same = list(note.raws.get(target, ()))
    if occurrence is not None:
        same = same[occurrence : occurrence + 1]
    if len(same) == 1:
        return same[0]
    said = " ".join(target.split())[:200]
    if same:
        return f"{path} holds {said!r} {counted(len(same), 'time')}"
    was = next(iter(note.saying(_encoded(target.lstrip(" \t"))).entries), None)
    if was is None:
        return f"{said!r} is not an entry"
    same = [entry for entry in now if was.block_id and entry.block_id == was.block_id]
    same = same or [entry for entry in now if entry.text == was.text]
    same = same or [entry for entry in now if was.provenance and entry.provenance == was.provenance]
    if len(same) == 1 and same[0].text == was.text:
        return same[0]
    there = f"; it now says {same[0].text[:200]!r}" if len(same) == 1 else ""
    return f"{path} does not hold {said!r} any more{there}"


def named(note: Note, entry: Entry) -> tuple[str, int | None]:
    """By what a change names an entry of a note: its own lines, and which it is of several that have them."""
    same = note.raws.get(entry.raw, [])
    number = next((at for at, each in enumerate(same) if each.occurrence == entry.occurrence), None)
    return entry.raw, number if len(same) > 1 else None


def landing(note: Note, outcome: Outcome, near: int = 0) -> tuple[int, str]:
    """Line and REF of the entry that says now what a change said; 0 and empty for one that leaves no words.

    The note is parsed only if they stand in it more than once, which a long log need not pay for.

    Args:
        note: as it is after the change, and perhaps others.
        outcome: of the change.
        near: the first line that was changed.
    """
    words, source, name = outcome.words, outcome.change.provenance, outcome.change.block_id
    if name and words:
        entry = next((each for each in note.entries if each.block_id == name), None)
        return (entry.line, entry.ref) if entry else (0, "")
    said = words.encode("utf-8", "surrogateescape")
    if said and outcome.status == "applied" and note.data.count(said) == 1:
        return line_of(note.data, note.data.index(said)), grammar.ref(note.path, words)
    found = note.texts.get(words) or note.sources.get(source) or [] if words else []
    entry = next((each for each in found if each.line >= near), None) or next(iter(found), None)
    return (entry.line, entry.ref) if entry else (0, "")


def _append(note: Note, change: Change) -> _Done:
    words = words_of(change)
    title = _heading(change)
    if why := _there(note, change, words):
        raise _NothingError(why, words)
    splices = edits.insert_bullet(note.data, _rendered(change, words), section=title)
    return _Done(splices if change.typed else _checked(note, splices, gone=(), come=(words,)), words)


def _heading(change: Change) -> str:
    """The heading to append under; empty for the place before all of them."""
    return heading(change.section) if change.section else ""


def _there(note: Note, change: Change, words: str) -> str:
    """Why a line needs not be appended: the note holds its block id, or for one without an id its words; or nothing."""
    if change.block_id:
        return f"{note.path} holds ^{change.block_id}" if change.block_id in note.block_ids else ""
    # A word stands in one line: a note without the first one is not parsed.
    if change.again or words.split()[0].encode("utf-8", "surrogateescape") not in note.data:
        return ""
    found = note.texts.get(words)
    return f"{note.path} line {found[0].line} says exactly this" if found else ""


def _rendered(change: Change, words: str) -> str:
    """The bullet of an ``append``, with those below it."""
    target, label = _provenance(change)
    parts = grammar.Parts(
        words,
        time=change.time or None,
        state=change.state or None,
        provenance=target or None,
        label=label or None,
        block_id=change.block_id or None,
        author=change.author or None,
    )
    return "\n".join([grammar.render(parts), *(f"  - {child}" for child in change.children)])


def _replace(note: Note, change: Change) -> _Done:
    entry = _target(note, change)
    words = words_of(change, entry)
    target, label = _provenance(change)
    if words == entry.text and target in ("", entry.provenance):
        raise _NothingError(f"{note.path} line {entry.line} says exactly this", words)
    provenance, author = ((target, label), change.author) if target else (None, change.author or None)
    splices = edits.replace_bullet(note, entry, words, provenance=provenance, author=author)
    return _Done(splices if change.typed else _checked(note, splices, gone=(entry.text,), come=(words,)), words)


def _remove(note: Note, change: Change) -> _Done:
    entry = _target(note, change)
    lines = range(entry.line, entry.end_line + 1)
    gone = [other.text for other in note.entries if other.line in lines]
    splices = edits.remove_bullet(note, entry)
    return _Done(splices if change.typed else _checked(note, splices, gone=gone, come=()))


def _add_section(note: Note, change: Change) -> _Done:
    if change.text:  # a bullet makes its heading, and is there as well if the heading is
        return _append(note, change)
    title = heading(change.section)
    if note.document.find_section(title):
        raise _NothingError(f"{note.path} has the heading {title!r}")
    return _Done(_checked(note, edits.insert_heading(note.data, title), gone=(), come=()))


def _remove_section(note: Note, change: Change) -> _Done:
    document = note.document
    wanted = plain_heading(change.section)
    lines = re.sub(r"\r\n|\r", "\n", change.replaces).strip("\n")
    named = [section for section in document.sections if section.level and section.title == wanted]
    same = [section for section in named if _section_text(document, section) == lines]
    if len(same) != 1:
        many = (
            f"is there {counted(len(same), 'time')}" if same else "does not say that any more" if named else "is gone"
        )
        raise _RejectedError(f"{note.path}: the section {wanted!r} {many}")
    start = document.lines[same[0].start_line - 1].start
    end = document.lines[same[0].end_line - 1].next
    if end == len(document.data) and same[0].start_line > 1 and document.is_blank(same[0].start_line - 1):
        start = document.lines[same[0].start_line - 2].start  # the blank line that parted it from the note's end
    within = range(same[0].start_line, same[0].end_line + 1)
    gone = [entry.text for entry in note.entries if entry.line in within]
    return _Done(_checked(note, [Splice(start, end, b"")], gone=gone, come=(), less=wanted))


def _fact(note: Note, change: Change) -> _Done:
    said = markdown.facts.said(change.text)
    if said is None:
        raise _RejectedError(f"{change.text[:200]!r} is not a fact")
    link = _provenance(change)
    made = edits.add_fact(
        note,
        markdown.facts.Claim(heading(change.section), *said),
        today=_said_on(change, said),
        predicates=_in_time(change, said),
        link=link if link[0] else None,
        author=change.author,
    )
    known = {fact.ref: entry.text for entry, fact in note.facts}
    if made.plan.same is not None:
        raise _NothingError(f"{note.path} line {made.plan.same.line} says so already", known[made.plan.same.ref])
    gone = [entry.text for entry, _ in made.ended]
    come = (made.words, *(words for _, words in made.ended))
    splices = made.splices if change.typed else _checked(note, made.splices, gone=gone, come=come)
    return _Done(splices, made.words, made.plan.endings)


def _in_time(change: Change, said: Said) -> Predicates:
    """How the predicate of a fact stands in time, as the change says."""
    own = [said.predicate]
    return markdown.facts.Predicates(
        own if change.single else [], [], own if change.event else [], change.gone, own if change.gone else []
    )


def _said_on(change: Change, said: Said) -> date:
    return date.fromisoformat(change.label) if change.label else said.since or date.min


def _ended(note: Note, change: Change) -> tuple[str, ...]:
    """The own lines of the facts that a fact would end in a note, as they stand there."""
    said = markdown.facts.said(change.text)
    if said is None or not (change.single or change.gone):
        return ()
    known = {fact.ref: entry.raw for entry, fact in note.facts}
    plan = markdown.facts.plan(
        (fact for _, fact in note.facts),
        markdown.facts.Claim(heading(change.section), *said),
        today=_said_on(change, said),
        predicates=_in_time(change, said),
    )
    return tuple(known[ending.fact.ref] for ending in plan.endings)


def _mark(note: Note, change: Change) -> _Done:
    """The first of the lines that are alike in every byte: it says something else then, and a second mark finds the
    next one.
    """
    found = locate(note, change.replaces, occurrence=0)
    if isinstance(found, str):
        raise _RejectedError(found)
    if why := _decided(note, found, change):
        raise why
    name = "" if found.block_id else change.block_id
    return _Done(edits.mark_bullet(note, found, change.state, block_id=name, children=change.children))


def _decided(note: Note, entry: Entry, change: Change) -> Exception | None:
    """Why a line is not to be marked; None if it is."""
    where = f"{note.path} line {entry.line}"
    if entry.state not in (*OPEN, change.state):
        return _RejectedError(f"{where} is {entry.state} already: {entry.text[:200]}")
    if entry.state == change.state:
        return _NothingError(f"{where} is {entry.state} already")
    if entry.state is None and note.tier is Tier.DAILY:
        return _NothingError(f"{where} is not a candidate")  # but a line of the person's own log
    if change.block_id and not entry.block_id and change.block_id in note.block_ids:
        return _RejectedError(f"{note.path}: another line has the block id ^{change.block_id} already")
    return None


def _create(note: Note, change: Change) -> _Done:
    """A note of its own, which no other one stands in the way of."""
    if not note.data:
        created = f"---\ncreated: {change.time}\n---\n" if change.time else ""
        return _Done((Splice(0, 0, _encoded(f"{created}{change.text.strip(chr(10))}\n")),))
    document = note.document
    first = (
        document.lines[document.body_line - 1].start if document.body_line <= len(document.lines) else len(note.data)
    )
    if note.data[first:].strip() == _encoded(change.text).strip():
        raise _NothingError(f"{note.path} says exactly this")
    raise _RejectedError(f"there is a note {note.path}, which says something else")


def _unknown(note: Note, change: Change) -> _Done:  # noqa: ARG001 - as all of them
    raise _RejectedError(f"there is no op {str(change.op)[:40]!r}")


_OPS: dict[str, Callable[[Note, Change], _Done]] = {
    "append": _append,
    "replace": _replace,
    "remove": _remove,
    "add_section": _add_section,
    "remove_section": _remove_section,
    "fact": _fact,
    "mark": _mark,
    "create": _create,
}


def _target(note: Note, change: Change) -> Entry:
    found = locate(note, change.replaces, occurrence=change.occurrence)
    if isinstance(found, str):
        raise _RejectedError(found)
    return found


def _provenance(change: Change) -> tuple[str, str]:
    """Target and label of the link to where the words come from; both empty if none is given."""
    if not change.provenance:
        return "", ""
    label = change.label or change.provenance.partition("#")[0].rpartition("/")[2]
    line = grammar.render(grammar.Parts("x", provenance=change.provenance, label=label))
    read = grammar.parse(line.removeprefix("- "))
    if (read.provenance, read.label) != (change.provenance, label):
        raise _RejectedError(f"{change.provenance[:200]!r} can't be linked to")
    return change.provenance, label


def _section_text(document: Document, section: Section) -> str:
    return re.sub(r"\r\n|\r", "\n", document.text(section.start_line, section.end_line)).strip("\n")


def _checked(
    note: Note, splices: Sequence[Splice], *, gone: Sequence[str], come: Sequence[str], less: str = ""
) -> list[Splice]:
    """The splices of a change, if no other entry and no other heading comes, goes or changes by it."""
    new = note.saying(spliced(note.data, splices))
    had, has = (Counter(entry.text for entry in each.entries) for each in (note, new))
    titles, now = ([section.title for section in each.document.sections if section.level] for each in (note, new))
    if less:
        titles.remove(less)
    if has != had - Counter(gone) + Counter(come) or not _within(titles, now):
        raise _RejectedError(f"{note.path}: it would change the lines around it")
    return list(splices)


def _within(titles: list[str], now: list[str]) -> bool:
    """Whether the headings are those that were there, perhaps with a new one."""
    return len(now) - len(titles) in (0, 1) and not Counter(titles) - Counter(now)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


LEAST = 2
"""Changes that are worth a bundle: one alone costs less without."""


class Wanted(NamedTuple):
    """What a change comes to in words that can be written.

    Attributes:
        provenance: target and label of the link; empty ones for none.
        section: the heading, neutralised; empty for a line that has its place.
    """

    provenance: tuple[str, str]
    section: str


def words_of(change: Change, entry: Entry | None = None) -> str:
    """The words of a change; a task that they replace keeps its box, unless they bring one.

    Raises:
        UsageError: there are none.
    """
    if entry is None:
        return grammar.neutralise(change.text)
    box = grammar.task(entry.text)
    given = grammar.task(change.text.lstrip()) if box else ""
    return (given or box) + grammar.neutralise(change.text.lstrip()[len(given) :])


def _bundle(
    note: Note, changes: Sequence[Change], wanted: Sequence[Wanted | None]
) -> tuple[list[Splice], list[Outcome]] | None:
    """What to splice for as many of the first changes as go together, and what becomes of them; None if that is hardly
    one.

    Args:
        note: as it is.
        changes: in order.
        wanted: of each what it comes to; None for one that must be done alone.
    """
    most = len(changes)
    if most >= LEAST and len(set(re.findall(rb"\r\n|\r|\n", note.data))) > 1:
        return None  # a new line takes its ending from a neighbour, which may be one that an earlier change removes
    while most >= LEAST:
        plan = _Plan(note)
        count = plan.take(changes[:most], wanted)
        if count < LEAST:
            return None
        splices = plan.splices()
        if splices is not None:
            return splices, plan.outcomes
        most = count // 2
    return None


class _Chain:
    """New bullets at the end of a section, one behind the other; ``words`` are what they say."""

    def __init__(self, title: str, splice: Splice, line: bytes) -> None:
        self.title = title
        self.at = splice.start
        self.head, _, self.tail = splice.data.partition(line)
        self.ending = re.match(rb"\r\n|\r|\n", self.tail)[0]  # type: ignore[index]  # looked at by the caller
        self.tail = self.tail[len(self.ending) :]
        self.lines: list[bytes] = []
        self.words: list[str] = []

    def splice(self) -> Splice:
        """All of them at once."""
        body = b"".join(line + self.ending for line in self.lines)
        return Splice(self.at, self.at, self.head + body + self.tail)


class _Plan:
    """What a bundle would do to a note."""

    def __init__(self, note: Note) -> None:
        self.note = note
        self.outcomes: list[Outcome] = []
        self._chains: dict[int, _Chain] = {}
        """By the line of their heading."""
        self._fresh: dict[str, _Chain] = {}
        """Of new sections, by their plain title: they come at the end of the note, in this order."""
        self._splices: list[Splice] = []
        self._nested: list[tuple[int, tuple[str, int, str]]] = []
        """Of each nested bullet the offset before which it comes, and what it says: words, depth, heading."""
        self._now: dict[int, str | None] = {}
        """By the line of an entry its new words; None if it goes."""
        self._touched: set[int] = set()
        self._gone: set[int] = set()
        """Lines that something was done to."""
        self._changed: set[str] = set()
        """Words, lines and sources that came or went: a change that asks for one of them has to wait."""

    def take(self, changes: Sequence[Change], wanted: Sequence[Wanted | None]) -> int:
        """Plan the first changes; how many of them were."""
        for change, said in zip(changes, wanted, strict=False):
            if said is None or not self._take(change, said):
                break
        return len(self.outcomes)

    def splices(self) -> list[Splice] | None:
        """All of it; None if that changes anything else."""
        splices = self._planned()
        if any(a.end > b.start or a == b for a, b in pairwise(splices)):
            return None
        if not (self._chains or self._fresh or self._now or self._nested):
            return splices  # state tags and block ids stand within their lines
        if self._only_at_end(splices):
            return splices
        after = self.note.saying(spliced(self.note.data, splices))
        if after is self.note:
            return []
        told = [(entry.text, entry.depth, entry.section) for entry in after.entries]
        return splices if told == self._expected() and self._headings_stand(after.document) else None

    def _only_at_end(self, splices: Sequence[Splice]) -> bool:
        """Whether all of it comes at the end of the note, where it can be nothing but what was planned."""
        chains = (*self._chains.values(), *self._fresh.values())
        said = [line.decode("utf-8", "surrogateescape").removeprefix("- ") for each in chains for line in each.lines]
        return (
            len(splices) == 1
            and not (self._splices or self._now or self.note.timed or self.note.numbered)
            and [grammar.parse(each).text for each in said] == [words for each in chains for words in each.words]
            and all(chain.at == len(self.note.data) for chain in chains)
            and edits.parses_at_end(self.note.document, splices[0].data)
        )

    def _planned(self) -> list[Splice]:
        """All splices in order; what comes at the end of the note is one."""
        end = len(self.note.data)
        chains = [chain.splice() for chain in (*self._chains.values(), *self._fresh.values())]
        last = b"".join(splice.data for splice in chains if splice.start == end)
        within = [*self._splices, *(splice for splice in chains if splice.start < end)]
        within.sort(key=lambda splice: splice[:2])  # of two at one place the one that was planned first
        return [*within, Splice(end, end, last)] if last else within

    def _expected(self) -> list[tuple[str, int, str]]:
        """The entries as they should be then: words, depth, heading."""
        note = self.note
        lines = note.document.lines
        come = [
            (chain.at, (words, 0, chain.title))
            for chain in (*self._chains.values(), *self._fresh.values())
            for words in chain.words
        ]
        stay = [
            (lines[entry.line - 1].start, (words, entry.depth, entry.section))
            for entry in note.entries
            if (words := self._now.get(entry.line, entry.text)) is not None
        ]
        # What is added at the offset of a line comes before it: a stable sort keeps the new ones first.
        return [what for _, what in sorted([*come, *self._nested, *stay], key=lambda each: each[0])]

    def _headings_stand(self, after: Document) -> bool:
        had, has = self.note.document, after
        kinds = [[block.kind for block in each.blocks if block.kind != "item"] for each in (had, has)]
        stay = sum(block.kind == "item" and block.start_line not in self._gone for block in had.blocks)
        come = sum(len(chain.lines) for chain in (*self._chains.values(), *self._fresh.values()))
        above = next((each.path[-1:] for each in reversed(had.sections) if each.level == 1), ())
        titles = [*((each.path, each.level) for each in had.sections), *(((*above, name), 2) for name in self._fresh)]
        return (
            titles == [(each.path, each.level) for each in has.sections]
            and [*kinds[0], *("heading" for _ in self._fresh)] == kinds[1]
            and sum(block.kind == "item" for block in has.blocks) == stay + come  # numbered ones are not entries
        )

    def _take(self, change: Change, said: Wanted) -> bool:
        if change.provenance:
            if change.provenance in self._changed:
                return False
            stands = [each for each in self.note.sources.get(change.provenance, ()) if each.raw != change.replaces]
            if stands:
                return self._nothing(
                    change, f"{self.note.path} line {self._line(stands[0])} came from the same line", stands[0].text
                )
        if change.op == "append":
            return not change.children and self._append(change, said)
        target = re.sub(r"\r\n|\r", "\n", change.replaces)
        same = [] if target in self._changed else self.note.raws.get(target, [])
        which = 0 if change.op == "mark" else change.occurrence
        same = same if which is None else same[which : which + 1]
        if len(same) != 1 or self._touched & set(range(same[0].line, same[0].end_line + 1)):
            return False  # it takes a closer look to tell
        if change.op == "mark":
            return self._mark(change, same[0])
        return self._remove(change, same[0]) if change.op == "remove" else self._replace(change, said, same[0])

    def _append(self, change: Change, said: Wanted) -> bool:
        note = self.note
        try:
            words = words_of(change)
        except TarsError:
            return False
        name = f"^{change.block_id}"
        if change.block_id:
            if name in self._changed:
                return False
            if change.block_id in note.block_ids:
                return self._nothing(change, f"{note.path} holds {name}", words)
        elif not change.again:
            if words in self._changed:
                return False
            if words in note.texts:
                line_number = self._line(note.texts[words][0])
                return self._nothing(change, f"{note.path} line {line_number} says exactly this", words)
        rendered = _rendered(change, words)
        line = rendered.encode("utf-8", "surrogateescape")
        section = note.document.place(said.section)
        if section is None:
            title = plain_heading(said.section)
            chain = self._fresh.get(title) or self._founded(title, said.section, rendered, line)
        else:
            chain = self._chains.get(section.start_line) or self._begun(section, said.section, rendered, line)
        if chain is None:
            return False
        chain.lines.append(line)
        chain.words.append(words)
        self._changed |= {words, rendered, said.provenance[0], name}
        self.outcomes.append(Outcome(change, "applied", "", words))
        return True

    def _founded(self, title: str, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """The first bullet of a new section at the end of the note; None where something else is done there."""
        document = self.note.document
        end = len(self.note.data)
        alike = any(name.casefold() == title.casefold() for name in self._fresh)
        if alike or document.open_line is not None or any(splice.end == end for splice in self._splices):
            return None
        splice = edits.best_place(document, rendered, heading)
        head, found, tail = splice.data.partition(line)
        if not found or tail not in (b"\r\n", b"\r", b"\n"):
            return None
        if self._fresh or any(chain.at == end for chain in self._chains.values()):
            splice = Splice(end, end, tail + head.lstrip(b"\r\n") + line + tail)  # what comes before ends its line
        self._fresh[title] = chain = _Chain(title, splice, line)
        return chain

    def _begun(self, section: Section, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """The first new bullet of a section; None where the next one would not come right behind it."""
        document = self.note.document
        if self._fresh and section is document.sections[-1] and not self._ends_in_bullet():
            return None  # it is the last one no more, and gets the bullet behind its last one
        splice = edits.best_place(document, rendered, heading)
        head, found, tail = splice.data.partition(line)
        if not found or head.strip(b"\r\n") or tail.strip(b"\r\n") or not tail:
            return None
        at = splice.start
        if at == len(self.note.data) and tail not in (b"\r\n", b"\r", b"\n"):
            return None
        within = range(section.body_line, section.end_line + 1)
        later = [
            bullet.line
            for bullet in document.bullets
            if not bullet.depth and bullet.line in within and document.lines[bullet.line - 1].start >= at
        ]
        taken = {chain.at for chain in self._chains.values()}
        if later or at in taken or self._meets(at, at, self._chains.values()):
            return None
        self._chains[section.start_line] = chain = _Chain(section.title, splice, line)
        return chain

    def _replace(self, change: Change, said: Wanted, entry: Entry) -> bool:
        note = self.note
        try:
            words = words_of(change, entry)
        except TarsError:
            return False
        link = said.provenance[0]
        if words == entry.text and link in ("", entry.provenance):
            return self._nothing(change, f"{note.path} line {self._line(entry)} says exactly this", words)
        bullet = note.bullets[entry.line]
        source, author = (said.provenance, change.author) if link else (None, change.author or None)
        splices = edits.replace_bullet(note, entry, words, provenance=source, author=author)
        self._splices += splices
        self._now[entry.line] = words
        self._changed |= {entry.text, entry.raw, entry.provenance or "", words, link}
        self._changed.update(f"{_head(note, bullet)}{_text(splice)}" for splice in splices)
        self._touched.add(entry.line)
        self.outcomes.append(Outcome(change, "applied", "", words))
        return True

    def _mark(self, change: Change, entry: Entry) -> bool:
        note, bullet = self.note, self.note.bullets[entry.line]
        name = "" if entry.block_id else change.block_id
        why = _decided(note, entry, change)
        if isinstance(why, _NothingError):
            return self._nothing(change, str(why))
        if why is not None or (name and f"^{name}" in self._changed):
            return False
        splices = edits.state_splices(note, bullet, entry, change.state, block_id=name)
        if change.children:
            under = edits.child_splice(note.document, bullet, change.children)
            if self._meets(under.start, under.end, (*self._chains.values(), *self._fresh.values())):
                return False
            said = [grammar.parse(words).text for words in change.children]
            self._nested += [(under.start, (words, entry.depth + 1, entry.section)) for words in said]
            self._splices += [*splices, under]
        else:
            self._splices += splices
        first, last = note.document.lines[bullet.line - 1], note.document.lines[bullet.own_end_line - 1]
        own = [splice._replace(start=splice.start - first.start, end=splice.end - first.start) for splice in splices]
        new = spliced(note.data[first.start : last.end], own).decode("utf-8", "surrogateescape")
        self._changed |= {entry.raw, re.sub(r"\r\n|\r", "\n", new), f"^{name}"}
        self._touched.add(entry.line)
        self.outcomes.append(Outcome(change, "applied"))
        return True

    def _remove(self, change: Change, entry: Entry) -> bool:
        note = self.note
        lines = note.document.lines
        first, last = lines[entry.line - 1], lines[entry.end_line - 1]
        every = (*self._chains.values(), *self._fresh.values())
        joins = entry.line > 1 and edits.would_join(note.data, first, last)
        if last.next == last.end or joins or self._meets(first.start, last.next, every):
            return False
        self._splices.append(Splice(first.start, last.next, b""))
        for each in note.entries:
            if entry.line <= each.line <= entry.end_line:
                self._now[each.line] = None
                self._changed |= {each.text, each.raw, each.provenance or ""}
        self._touched |= set(range(entry.line, entry.end_line + 1))
        self._gone |= set(range(entry.line, entry.end_line + 1))
        self.outcomes.append(Outcome(change, "applied"))
        return True

    def _ends_in_bullet(self) -> bool:
        """Whether the note ends with a whole line that is of a bullet which is nested in none."""
        document = self.note.document
        last = next((bullet for bullet in reversed(document.bullets) if not bullet.depth), None)
        whole = document.lines[-1].start == document.lines[-1].end
        return whole and last is not None and last.end_line == document.last_line

    def _meets(self, start: int, end: int, chains: Iterable[_Chain]) -> bool:
        """Whether a change meets one that is planned: which of the two comes first would matter."""
        if any(start <= chain.at <= end for chain in chains):
            return True
        return any(splice.start < end and start < splice.end for splice in self._splices) or (
            start == end and any(splice.start <= start <= splice.end for splice in self._splices)
        )

    def _nothing(self, change: Change, why: str, words: str = "") -> bool:
        self.outcomes.append(Outcome(change, "no-op", why, words))
        return True

    def _line(self, entry: Entry) -> int:
        """Where an entry stands once all that is planned is done."""
        start = self.note.document.lines[entry.line - 1].start
        return entry.line + sum(
            _breaks(splice.data) - _breaks(self.note.data[splice.start : splice.end])
            for splice in self._planned()
            if splice.start <= start and splice.end <= start
        )


def _breaks(data: bytes) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data))


def _head(note: Note, bullet: Bullet) -> str:
    """What stands before the words of a bullet."""
    start = note.document.lines[bullet.line - 1].start
    return note.data[start : bullet.start].decode("utf-8", "surrogateescape")


def _text(splice: Splice) -> str:
    return splice.data.decode("utf-8", "surrogateescape")
