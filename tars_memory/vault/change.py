"""Changes of a note as data, and the planner that turns a note and changes into splices and one outcome per change.

Pure: nothing is read, nothing is written, nothing raises. Every change is planned by itself, on the note that the
changes before it left. It is applied, or there is nothing to do, or it is rejected with the reason; a rejected change
does not stop the others. The bytes come from :mod:`tars_memory.vault.markdown.edits`, which touches only the lines that
a change names.

Many changes take few parses. A change joins a bundle if its effect follows from the note as it was before the bundle:
it names a line that no other change of the bundle touches, or adds a line after one that is already placed. All splices
of a bundle are then applied at once, and the result is parsed once: if any entry but the expected ones is new, missing
or changed, the bundle is halved. Plain lines at the very end of a note don't need this parse
(:func:`tars_memory.vault.markdown.edits.parses_at_end`). Changes that can't join (a new heading, a line found only by
its words, a change that will be rejected) are applied alone. The resulting note is the same, byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from tars_memory.errors import TarsError, counted
from tars_memory.vault import markdown
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Bullet, Document, Section, apply as spliced, line_of, plain_heading
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.model import Entry, Splice, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tars_memory.vault.note import Note


OpName = Literal["append", "add_section", "replace", "remove", "remove_section", "fact", "mark", "create"]

OPS: tuple[OpName, ...] = ("append", "add_section", "replace", "remove", "remove_section", "fact", "mark", "create")

OPEN = (None, "extracted", "expired")
"""The states of an undecided candidate."""


class Change(NamedTuple):
    """One operation on one note; it names a line by its text, never by its number.

    Attributes:
        op: one of :data:`OPS`.
        section: heading under which to append (empty: before all headings but the note's title), or which to add or
            remove; subject of a fact.
        text: the new words; for ``add_section`` those of a line below the heading, if there is to be one; for ``fact``
            with the dates; for ``create`` the whole new note without its properties.
        replaces: the entry's own lines as they were (:attr:`Entry.raw`), for ``replace``, ``remove`` and ``mark``; for
            ``remove_section`` the section's lines.
        provenance: the line that the words come from, ``2026-11-21#^d-abc``; empty for none.
        label: label of the provenance link; empty for the name of its note. For a fact, the day on which it was stated.
        occurrence: number of the entry among those with the same lines, from 0; None if there must be only one.
        single: whether a fact ends the fact that holds at its start.
        ends: the lines of the facts that a fact ends, as shown to the person; None if none were shown.
        author: author of the words; empty for no author.
        target: path of the note, relative to the vault.
        event: whether a fact is about something that happens once.
        gone: predicates of the facts with the same object that a fact ends.
        time: time of a new line; day on which a new note was made; empty for none.
        state: state of a new line, or the one that ``mark`` sets; empty for none.
        block_id: block id of a new line, or the one that ``mark`` gives to a line without; unique in a note.
        children: words of bullets nested under a new or marked line.
        again: append even if the note already has exactly this line.
        typed: whether a person asked for the change themselves: it is applied even if other lines would parse
            differently afterwards (in an open formula, say). Other changes must affect exactly the entries they name.
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
    """The outcome of one change.

    Attributes:
        change: the change.
        status: ``applied``, ``no-op`` or ``rejected``.
        reason: why the change was not applied; empty if it was.
        words: words of the entry that now has the change's content; empty if rejected, or if it leaves no words.
        endings: facts that the change ended.
    """

    change: Change
    status: Literal["applied", "no-op", "rejected"]
    reason: str = ""
    words: str = ""
    endings: tuple[markdown.facts.Ending, ...] = ()


class Planned(NamedTuple):
    """The result of planning changes of a note.

    Attributes:
        note: the note after the changes; the given object if nothing was applied.
        splices: the splices of the given note, in order.
        outcomes: one outcome per change, in order.
    """

    note: Note
    splices: list[Splice]
    outcomes: tuple[Outcome, ...]

    @property
    def changed(self) -> int:
        """Number of applied changes."""
        return sum(outcome.status == "applied" for outcome in self.outcomes)


class _RejectedError(Exception):
    """The change can't be applied; the message says why."""


class _NoOpError(Exception):
    """There is nothing to do for the change; ``words`` are those of the entry that already has its content."""

    def __init__(self, why: str, words: str = "") -> None:
        super().__init__(why)
        self.words = words


class _Effect(NamedTuple):
    """The effect of one change: its splices, its words in the note, the facts that it ends."""

    splices: Sequence[Splice]
    words: str = ""
    endings: tuple[markdown.facts.Ending, ...] = ()


def apply(note: Note, changes: Sequence[Change]) -> Planned:
    """Plan changes of a note, one after the other, in few parses.

    A line whose provenance another entry of the note has is not written again.

    Args:
        note: the note; empty if the file does not exist.
        changes: the changes, in order; an entry is named by its own lines, and must be found exactly once.
    """
    outcomes: list[Outcome] = []
    splices: Sequence[Splice]
    made = edits.Changes(note.data)
    stale = {change for change in changes if change.ends is not None and _is_stale(note, change)}
    while len(outcomes) < len(changes):
        at = len(outcomes)
        if (bundle := _bundle(note, changes[at:])) is not None:
            splices, bundle_outcomes = bundle
            outcomes += bundle_outcomes
        elif changes[at] in stale:
            why = f"{note.path} changed: the fact would end something other than was shown"
            splices = ()
            outcomes.append(Outcome(changes[at], "rejected", why))
        else:
            splices, outcome = _apply_one(note, changes[at])
            outcomes.append(outcome)
        made.make(splices)
        note = note.with_data(made.data)
    return Planned(note, made.splices(), tuple(outcomes))


def _is_stale(note: Note, change: Change) -> bool:
    """Whether a fact would end other facts than were shown, in the note before all changes."""
    try:
        endings = _plan_fact(note, change)[1].endings if change.single or change.gone else ()
    except (_RejectedError, TarsError):
        return False  # not a fact at all: _apply_one rejects it
    known = {fact.ref: entry.raw for entry, fact in note.facts}
    return set(change.ends or ()) != {known[ending.fact.ref] for ending in endings}


def _apply_one(note: Note, change: Change) -> tuple[Sequence[Splice], Outcome]:
    """Return the splices and the outcome of one change."""
    same_source = note.entries_by_source.get(change.provenance, ()) if change.provenance else ()
    if present := next((entry for entry in same_source if entry.raw != change.replaces), None):
        return (), Outcome(change, "no-op", f"{note.path} line {present.line} came from the same line", present.text)
    try:
        effect = _OPS.get(change.op, _unknown)(note, change)
        return effect.splices, Outcome(change, "applied", "", effect.words, effect.endings)
    except _NoOpError as why:
        return (), Outcome(change, "no-op", str(why), why.words)
    except (_RejectedError, TarsError, UnicodeError) as error:
        return (), Outcome(change, "rejected", str(error))


def locate(note: Note, target: str, *, occurrence: int | None = None) -> Entry | str:
    """Find the entry that a target names.

    Args:
        note: the note to search.
        target: the entry's own lines as they were (:attr:`Entry.raw`).
        occurrence: number of the entry among those with the same lines, from 0; None if there must be only one.

    Returns:
        The entry with exactly these lines; else the one with the same block id, words or provenance, if its words are
        unchanged; else a sentence that says why there is no such entry.
    """
    now, path = note.entries, note.path
    target = _with_lf(target)
    same = list(note.entries_by_raw.get(target, ()))
    if occurrence is not None:
        same = same[occurrence : occurrence + 1]
    if len(same) == 1:
        return same[0]
    shown = " ".join(target.split())[:200]
    if same:
        return f"{path} has {shown!r} {counted(len(same), 'time')}"
    was = next(iter(note.with_data(_encoded(target.lstrip(" \t"))).entries), None)
    if was is None:
        return f"{shown!r} is not an entry"
    same = [entry for entry in now if was.block_id and entry.block_id == was.block_id]
    same = same or [entry for entry in now if entry.text == was.text]
    same = same or [entry for entry in now if was.provenance and entry.provenance == was.provenance]
    if len(same) == 1 and same[0].text == was.text:
        return same[0]
    instead = f"; it now says {same[0].text[:200]!r}" if len(same) == 1 else ""
    return f"{path} no longer has {shown!r}{instead}"


def reference_to(note: Note, entry: Entry) -> tuple[str, int | None]:
    """Return how a change names an entry: its own lines, and its number if several entries have them."""
    same = note.entries_by_raw.get(entry.raw, [])
    number = next((at for at, other in enumerate(same) if other.occurrence == entry.occurrence), None)
    return entry.raw, number if len(same) > 1 else None


def resulting_entry(note: Note, outcome: Outcome, near: int = 0) -> tuple[int, str]:
    """Return the line and REF of the entry with the words of a change; 0 and '' for a change that leaves no words.

    The note is parsed only if it has the words more than once: parsing a long log is slow.

    Args:
        note: the note after the change, and perhaps others.
        outcome: outcome of the change.
        near: the first changed line.
    """
    words, source, name = outcome.words, outcome.change.provenance, outcome.change.block_id
    if name and words:
        entry = next((entry for entry in note.entries if entry.block_id == name), None)
        return (entry.line, entry.ref) if entry else (0, "")
    encoded = _encoded(words)
    if encoded and outcome.status == "applied" and note.data.count(encoded) == 1:
        return line_of(note.data, note.data.index(encoded)), grammar.ref(note.path, words)
    found = note.entries_by_text.get(words) or note.entries_by_source.get(source) or [] if words else []
    entry = next((entry for entry in found if entry.line >= near), None) or next(iter(found), None)
    return (entry.line, entry.ref) if entry else (0, "")


def _append(note: Note, change: Change) -> _Effect:
    """Append a line to a section."""
    words = words_of(change)
    title = _heading(change)
    if why := _why_present(note, change, words):
        raise _NoOpError(why, words)
    splices = edits.insert_bullet(note.data, _rendered(change, words), section=title)
    return _Effect(splices if change.typed else _checked(note, splices, removed=(), added=(words,)), words)


def _heading(change: Change) -> str:
    """Return the heading to append under; empty for the place before all headings."""
    return heading(change.section) if change.section else ""


def _why_present(note: Note, change: Change, words: str) -> str:
    """Return why a line need not be appended: its block id, or else its words, are in the note; '' if it must be."""
    if change.block_id:
        return f"{note.path} has ^{change.block_id}" if change.block_id in note.block_ids else ""
    # The note is not parsed if it lacks the first word: no word continues on the next line.
    if change.again or _encoded(words.split()[0]) not in note.data:
        return ""
    found = note.entries_by_text.get(words)
    return f"{note.path} line {found[0].line} says exactly this" if found else ""


def _rendered(change: Change, words: str) -> str:
    """Return the bullet of an ``append``, with its children."""
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


def _replace(note: Note, change: Change) -> _Effect:
    """Replace the words of an entry; author and provenance too, if the change has a provenance."""
    entry = _target(note, change)
    words = words_of(change, entry)
    target, label = _provenance(change)
    if words == entry.text and target in ("", entry.provenance):
        raise _NoOpError(f"{note.path} line {entry.line} says exactly this", words)
    provenance, author = ((target, label), change.author) if target else (None, change.author or None)
    splices = edits.replace_bullet(note, entry, words, provenance=provenance, author=author)
    return _Effect(splices if change.typed else _checked(note, splices, removed=(entry.text,), added=(words,)), words)


def _remove(note: Note, change: Change) -> _Effect:
    """Remove an entry with its children."""
    entry = _target(note, change)
    lines = range(entry.line, entry.end_line + 1)
    removed = [other.text for other in note.entries if other.line in lines]
    splices = edits.remove_bullet(note, entry)
    return _Effect(splices if change.typed else _checked(note, splices, removed=removed, added=()))


def _add_section(note: Note, change: Change) -> _Effect:
    """Add a heading, with a line below it if the change has words."""
    if change.text:  # appending creates the heading, and also works if it exists
        return _append(note, change)
    title = heading(change.section)
    if note.document.find_section(title):
        raise _NoOpError(f"{note.path} has the heading {title!r}")
    return _Effect(_checked(note, edits.insert_heading(note.data, title), removed=(), added=()))


def _remove_section(note: Note, change: Change) -> _Effect:
    """Remove a heading with the lines up to the next one, if they are the ones that the change names."""
    document = note.document
    title = plain_heading(change.section)
    lines = _with_lf(change.replaces).strip("\n")
    named = [section for section in document.sections if section.level and section.title == title]
    same = [section for section in named if _section_text(document, section) == lines]
    if len(same) != 1:
        many = f"occurs {counted(len(same), 'time')}" if same else "no longer says that" if named else "is gone"
        raise _RejectedError(f"{note.path}: the section {title!r} {many}")
    start = document.lines[same[0].start_line - 1].start
    end = document.lines[same[0].end_line - 1].next
    if end == len(document.data) and same[0].start_line > 1 and document.is_blank(same[0].start_line - 1):
        start = document.lines[same[0].start_line - 2].start  # the blank line above, which would end the note
    within = range(same[0].start_line, same[0].end_line + 1)
    removed = [entry.text for entry in note.entries if entry.line in within]
    return _Effect(_checked(note, [Splice(start, end, b"")], removed=removed, added=(), without=title))


def _fact(note: Note, change: Change) -> _Effect:
    """Add a fact, and end those that it supersedes."""
    claim, plan = _plan_fact(note, change)
    link = _provenance(change)
    if (same := plan.same) is not None:
        words = next(entry.text for entry, fact in note.facts if fact.ref == same.ref)
        raise _NoOpError(f"{note.path} line {same.line} already says so", words)
    words, ended, splices = edits.add_fact(note, claim, plan, link=link if link[0] else None, author=change.author)
    if not change.typed:
        removed = [entry.text for entry, _ in ended]
        splices = _checked(note, splices, removed=removed, added=(words, *(text for _, text in ended)))
    return _Effect(splices, words, plan.endings)


def _plan_fact(note: Note, change: Change) -> tuple[markdown.facts.Claim, markdown.facts.Plan]:
    """Return the fact that a change states, and how it fits the others."""
    stated = markdown.facts.parse(change.text)
    if stated is None:
        raise _RejectedError(f"{change.text[:200]!r} is not a fact")
    claim = markdown.facts.Claim(heading(change.section), *stated)
    today = date.fromisoformat(change.label) if change.label else stated.since or date.min
    own = [stated.predicate]
    predicates = markdown.facts.Predicates(
        own if change.single else [], [], own if change.event else [], change.gone, own if change.gone else []
    )
    facts = (fact for _, fact in note.facts)
    return claim, markdown.facts.plan(facts, claim, today=today, predicates=predicates)


def _mark(note: Note, change: Change) -> _Effect:
    """Mark the first of several identical lines: the mark changes it, so that a second mark finds the next one."""
    found = locate(note, change.replaces, occurrence=0)
    if isinstance(found, str):
        raise _RejectedError(found)
    if why := _why_unmarked(note, found, change):
        raise why
    name = "" if found.block_id else change.block_id
    return _Effect(edits.mark_bullet(note, found, change.state, block_id=name, children=change.children))


def _why_unmarked(note: Note, entry: Entry, change: Change) -> Exception | None:
    """Return why a line must not be marked; None if it may be."""
    where = f"{note.path} line {entry.line}"
    if entry.state not in (*OPEN, change.state):
        return _RejectedError(f"{where} is {entry.state} already: {entry.text[:200]}")
    if entry.state == change.state:
        return _NoOpError(f"{where} is {entry.state} already")
    if entry.state is None and note.tier is Tier.DAILY:
        return _NoOpError(f"{where} is not a candidate")  # it is a line that the person logged
    if change.block_id and not entry.block_id and change.block_id in note.block_ids:
        return _RejectedError(f"{note.path}: another line already has the block id ^{change.block_id}")
    return None


def _create(note: Note, change: Change) -> _Effect:
    """Create a note; reject it if the path has another one."""
    if not note.data:
        created = f"---\ncreated: {change.time}\n---\n" if change.time else ""
        return _Effect((Splice(0, 0, _encoded(f"{created}{change.text.strip(chr(10))}\n")),))
    document = note.document
    first = (
        document.lines[document.body_line - 1].start if document.body_line <= len(document.lines) else len(note.data)
    )
    if note.data[first:].strip() == _encoded(change.text).strip():
        raise _NoOpError(f"{note.path} says exactly this")
    raise _RejectedError(f"the note {note.path} already exists and says something else")


def _unknown(note: Note, change: Change) -> _Effect:  # noqa: ARG001 - same signature as the other operations
    raise _RejectedError(f"there is no op {str(change.op)[:40]!r}")


_OPS: dict[str, Callable[[Note, Change], _Effect]] = {
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
    """Return the entry that a change names.

    Raises:
        _RejectedError: there is no such entry, or it is ambiguous.
    """
    found = locate(note, change.replaces, occurrence=change.occurrence)
    if isinstance(found, str):
        raise _RejectedError(found)
    return found


def _provenance(change: Change) -> tuple[str, str]:
    """Return target and label of the provenance link; both empty if there is none."""
    if not change.provenance:
        return "", ""
    label = change.label or change.provenance.partition("#")[0].rpartition("/")[2]
    line = grammar.render(grammar.Parts("x", provenance=change.provenance, label=label))
    read = grammar.parse(line.removeprefix("- "))
    if (read.provenance, read.label) != (change.provenance, label):
        raise _RejectedError(f"{change.provenance[:200]!r} can't be linked to")
    return change.provenance, label


def _section_text(document: Document, section: Section) -> str:
    """Return the lines of a section, for comparison."""
    return _with_lf(document.text(section.start_line, section.end_line)).strip("\n")


def _checked(
    note: Note, splices: Sequence[Splice], *, removed: Sequence[str], added: Sequence[str], without: str = ""
) -> list[Splice]:
    """Return the splices of a change if they add, remove and change nothing else.

    Args:
        note: the note before the change.
        splices: the change.
        removed: words of the entries that the change removes or replaces.
        added: words of the entries that it adds.
        without: title of the heading that it removes; empty for none.

    Raises:
        _RejectedError: another entry or heading would be added, removed or changed.
    """
    after = note.with_data(spliced(note.data, splices))
    before_words, after_words = (Counter(entry.text for entry in version.entries) for version in (note, after))
    before_titles, after_titles = (
        [section.title for section in version.document.sections if section.level] for version in (note, after)
    )
    if without:
        before_titles.remove(without)
    lost_titles = Counter(before_titles) - Counter(after_titles)
    only_entries = after_words == before_words - Counter(removed) + Counter(added)
    if not only_entries or lost_titles or len(after_titles) - len(before_titles) not in (0, 1):
        raise _RejectedError(f"{note.path}: it would change the lines around it")
    return list(splices)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _with_lf(text: str) -> str:
    """Return a text with every line ending as LF."""
    return re.sub(r"\r\n|\r", "\n", text)


MIN_BUNDLE = 2
"""Minimum number of changes in a bundle: a single change is cheaper by itself."""


def words_of(change: Change, entry: Entry | None = None) -> str:
    """Return the words of a change; if they replace a task, they keep its checkbox unless they have one.

    Raises:
        UsageError: the change has no words.
    """
    if entry is None:
        return grammar.neutralise(change.text)
    box = grammar.task(entry.text)
    given = grammar.task(change.text.lstrip()) if box else ""
    return (given or box) + grammar.neutralise(change.text.lstrip()[len(given) :])


def _bundle(note: Note, changes: Sequence[Change]) -> tuple[list[Splice], list[Outcome]] | None:
    """Plan as many of the first changes as can go together.

    Args:
        note: the note as it is.
        changes: the changes, in order.

    Returns:
        Splices and outcomes; None if fewer than :data:`MIN_BUNDLE` changes can go together.
    """
    most = len(changes)
    if most >= MIN_BUNDLE and len(set(re.findall(rb"\r\n|\r|\n", note.data))) > 1:
        return None  # a new line takes its ending from a neighbour, which may be one that an earlier change removes
    while most >= MIN_BUNDLE:
        plan = _Plan(note)
        count = plan.take(changes[:most])
        if count < MIN_BUNDLE:
            return None
        splices = plan.splices()
        if splices is not None:
            return splices, plan.outcomes
        most = count // 2
    return None


class _Chain:
    """New bullets at the end of a section, one after the other.

    Args:
        title: title of the section.
        splice: the splice that inserts the first bullet, with line endings around it.
        line: the first bullet.

    Attributes:
        at: byte offset at which the bullets are inserted.
        head, tail: bytes before the first and after the last bullet's line.
        ending: the line ending after each bullet.
        lines: the bullets.
        words: the words of each bullet.
    """

    def __init__(self, title: str, splice: Splice, line: bytes) -> None:
        self.title = title
        self.at = splice.start
        self.head, _, self.tail = splice.data.partition(line)
        self.ending = re.match(rb"\r\n|\r|\n", self.tail)[0]  # type: ignore[index]  # the caller has checked it
        self.tail = self.tail[len(self.ending) :]
        self.lines: list[bytes] = []
        self.words: list[str] = []

    def splice(self) -> Splice:
        """Return one splice that inserts all bullets."""
        body = b"".join(line + self.ending for line in self.lines)
        return Splice(self.at, self.at, self.head + body + self.tail)


class _Plan:
    """The effect of a bundle of changes on a note.

    Attributes:
        note: the note before the bundle.
        outcomes: outcomes of the changes planned so far.
    """

    def __init__(self, note: Note) -> None:
        self.note = note
        self.outcomes: list[Outcome] = []
        self._chains: dict[int, _Chain] = {}
        """New bullets of existing sections, by the line of the heading."""
        self._new_sections: dict[str, _Chain] = {}
        """New bullets of new sections, by plain title; the sections come at the end of the note, in this order."""
        self._splices: list[Splice] = []
        """The other splices."""
        self._new_children: list[tuple[int, tuple[str, int, str]]] = []
        """Offset of every new nested bullet, with its words, depth and heading."""
        self._new_words: dict[int, str | None] = {}
        """New words of changed entries, by line; None for a removed one."""
        self._touched_lines: set[int] = set()
        """Lines that are changed or removed."""
        self._removed_lines: set[int] = set()
        self._changed: set[str] = set()
        """Words, lines, sources and block ids added or removed so far: a change that asks for one of them must wait."""

    @property
    def _all_chains(self) -> tuple[_Chain, ...]:
        """The chains of existing and of new sections."""
        return (*self._chains.values(), *self._new_sections.values())

    def take(self, changes: Sequence[Change]) -> int:
        """Plan the first changes; return how many could be planned."""
        with suppress(_RejectedError, TarsError, UnicodeError):  # _apply_one rejects the change
            for change in changes:
                if not self._plan_change(change):
                    break
        return len(self.outcomes)

    def splices(self) -> list[Splice] | None:
        """Return all splices; None if they would change anything else."""
        splices = self._all_splices()
        if any(a.end > b.start or a == b for a, b in pairwise(splices)):
            return None
        if not (self._chains or self._new_sections or self._new_words or self._new_children):
            return splices  # state tags and block ids change nothing outside their lines
        if self._only_appends(splices):
            return splices
        after = self.note.with_data(spliced(self.note.data, splices))
        if after is self.note:
            return []
        found = [(entry.text, entry.depth, entry.section) for entry in after.entries]
        return splices if found == self._expected_entries() and self._blocks_as_expected(after.document) else None

    def _only_appends(self, splices: Sequence[Splice]) -> bool:
        """Whether everything is appended to the note, where it can only parse as planned."""
        chains = self._all_chains
        bullets = [_decoded(line) for chain in chains for line in chain.lines]
        return (
            len(splices) == 1
            and not (self._splices or self._new_words or self.note.timed or self.note.numbered)
            and [grammar.parse(bullet.removeprefix("- ")).text for bullet in bullets]
            == [words for chain in chains for words in chain.words]
            and all(chain.at == len(self.note.data) for chain in chains)
            and edits.parses_at_end(self.note.document, splices[0].data)
        )

    def _all_splices(self) -> list[Splice]:
        """Return all splices, in order; those at the end of the note as one."""
        end = len(self.note.data)
        chains = [chain.splice() for chain in self._all_chains]
        last = b"".join(splice.data for splice in chains if splice.start == end)
        within = [*self._splices, *(splice for splice in chains if splice.start < end)]
        within.sort(key=lambda splice: splice[:2])  # stable: splices at the same place stay as planned
        return [*within, Splice(end, end, last)] if last else within

    def _expected_entries(self) -> list[tuple[str, int, str]]:
        """Return words, depth and heading of every entry after the bundle, in order."""
        note = self.note
        lines = note.document.lines
        added = [(chain.at, (words, 0, chain.title)) for chain in self._all_chains for words in chain.words]
        kept = [
            (lines[entry.line - 1].start, (words, entry.depth, entry.section))
            for entry in note.entries
            if (words := self._new_words.get(entry.line, entry.text)) is not None
        ]
        # A bullet added at the offset of a line comes before the line: the sort is stable, and added ones are first.
        return [entry for _, entry in sorted([*added, *self._new_children, *kept], key=lambda placed: placed[0])]

    def _blocks_as_expected(self, after: Document) -> bool:
        """Whether the note after the bundle has the expected headings, list items and other blocks."""
        before = self.note.document
        old_kinds, new_kinds = (
            [block.kind for block in document.blocks if block.kind != "item"] for document in (before, after)
        )
        kept = sum(block.kind == "item" and block.start_line not in self._removed_lines for block in before.blocks)
        added = sum(len(chain.lines) for chain in self._all_chains)
        parent = next((section.path[-1:] for section in reversed(before.sections) if section.level == 1), ())
        headings = [(section.path, section.level) for section in before.sections]
        headings += [((*parent, title), 2) for title in self._new_sections]
        return (
            headings == [(section.path, section.level) for section in after.sections]
            and [*old_kinds, *("heading" for _ in self._new_sections)] == new_kinds
            and sum(block.kind == "item" for block in after.blocks) == kept + added  # numbered items are not entries
        )

    def _plan_change(self, change: Change) -> bool:
        """Plan one change; return False, or raise before anything is planned, if it can't join the bundle."""
        if change.op not in ("append", "replace", "remove", "mark"):
            return False
        link = ("", "") if change.op in ("remove", "mark") else _provenance(change)
        title = _heading(change) if change.op == "append" else ""
        if change.provenance:
            if change.provenance in self._changed:
                return False
            same_source = self.note.entries_by_source.get(change.provenance, ())
            if present := next((entry for entry in same_source if entry.raw != change.replaces), None):
                why = f"{self.note.path} line {self._line_after(present)} came from the same line"
                return self._no_op(change, why, present.text)
        if change.op == "append":
            return not change.children and self._plan_append(change, title, link[0])
        target = _with_lf(change.replaces)
        same = [] if target in self._changed else self.note.entries_by_raw.get(target, [])
        occurrence = 0 if change.op == "mark" else change.occurrence
        same = same if occurrence is None else same[occurrence : occurrence + 1]
        if len(same) != 1 or self._touched_lines & set(range(same[0].line, same[0].end_line + 1)):
            return False  # only _apply_one can find the entry
        if change.op == "mark":
            return self._plan_mark(change, same[0])
        return (
            self._plan_remove(change, same[0]) if change.op == "remove" else self._plan_replace(change, link, same[0])
        )

    def _plan_append(self, change: Change, heading: str, source: str) -> bool:
        """Plan to append a line; return False if that can't join the bundle."""
        note = self.note
        words = words_of(change)
        name = f"^{change.block_id}"
        if change.block_id:
            if name in self._changed:
                return False
            if change.block_id in note.block_ids:
                return self._no_op(change, f"{note.path} has {name}", words)
        elif not change.again:
            if words in self._changed:
                return False
            if words in note.entries_by_text:
                line_number = self._line_after(note.entries_by_text[words][0])
                return self._no_op(change, f"{note.path} line {line_number} says exactly this", words)
        rendered = _rendered(change, words)
        line = _encoded(rendered)
        section = note.document.place(heading)
        if section is None:
            title = plain_heading(heading)
            chain = self._new_sections.get(title) or self._start_section(title, heading, rendered, line)
        else:
            chain = self._chains.get(section.start_line) or self._start_chain(section, heading, rendered, line)
        if chain is None:
            return False
        chain.lines.append(line)
        chain.words.append(words)
        self._changed |= {words, rendered, source, name}
        self.outcomes.append(Outcome(change, "applied", "", words))
        return True

    def _start_section(self, title: str, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """Start the chain of a new section at the end of the note; return None if another change is planned there."""
        document = self.note.document
        end = len(self.note.data)
        same_title = any(name.casefold() == title.casefold() for name in self._new_sections)
        if same_title or document.open_line is not None or any(splice.end == end for splice in self._splices):
            return None
        splice = edits.best_place(document, rendered, heading)
        head, found, tail = splice.data.partition(line)
        if not found or tail not in (b"\r\n", b"\r", b"\n"):
            return None
        if self._new_sections or any(chain.at == end for chain in self._chains.values()):
            splice = Splice(end, end, tail + head.lstrip(b"\r\n") + line + tail)  # the splice before ends its line
        self._new_sections[title] = chain = _Chain(title, splice, line)
        return chain

    def _start_chain(self, section: Section, heading: str, rendered: str, line: bytes) -> _Chain | None:
        """Start an existing section's chain; return None if a second bullet would not come right after the first."""
        document = self.note.document
        if self._new_sections and section is document.sections[-1] and not self._ends_in_bullet():
            return None  # no longer the last section, so that the bullet must come right after its last bullet
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
        occupied = {chain.at for chain in self._chains.values()}
        if later or at in occupied or self._collides(at, at, self._chains.values()):
            return None
        self._chains[section.start_line] = chain = _Chain(section.title, splice, line)
        return chain

    def _plan_replace(self, change: Change, provenance: tuple[str, str], entry: Entry) -> bool:
        """Plan to replace the words of an entry; return False if that can't join the bundle."""
        note = self.note
        words, link = words_of(change, entry), provenance[0]
        if words == entry.text and link in ("", entry.provenance):
            return self._no_op(change, f"{note.path} line {self._line_after(entry)} says exactly this", words)
        bullet = note.bullets[entry.line]
        source, author = (provenance, change.author) if link else (None, change.author or None)
        splices = edits.replace_bullet(note, entry, words, provenance=source, author=author)
        self._splices += splices
        self._new_words[entry.line] = words
        self._changed |= {entry.text, entry.raw, entry.provenance or "", words, link}
        self._changed.update(f"{_prefix(note, bullet)}{_decoded(splice.data)}" for splice in splices)
        self._touched_lines.add(entry.line)
        self.outcomes.append(Outcome(change, "applied", "", words))
        return True

    def _plan_mark(self, change: Change, entry: Entry) -> bool:
        """Plan to mark a candidate; return False if that can't join the bundle."""
        note, bullet = self.note, self.note.bullets[entry.line]
        name = "" if entry.block_id else change.block_id
        why = _why_unmarked(note, entry, change)
        if isinstance(why, _NoOpError):
            return self._no_op(change, str(why))
        if why is not None or (name and f"^{name}" in self._changed):
            return False
        splices = edits.state_splices(note, bullet, entry, change.state, block_id=name)
        if change.children:
            child = edits.child_splice(note.document, bullet, change.children)
            if self._collides(child.start, child.end, self._all_chains):
                return False
            texts = [grammar.parse(words).text for words in change.children]
            self._new_children += [(child.start, (text, entry.depth + 1, entry.section)) for text in texts]
            self._splices += [*splices, child]
        else:
            self._splices += splices
        first, last = note.document.lines[bullet.line - 1], note.document.lines[bullet.own_end_line - 1]
        own = [splice._replace(start=splice.start - first.start, end=splice.end - first.start) for splice in splices]
        new = _decoded(spliced(note.data[first.start : last.end], own))
        self._changed |= {entry.raw, _with_lf(new), f"^{name}"}
        self._touched_lines.add(entry.line)
        self.outcomes.append(Outcome(change, "applied"))
        return True

    def _plan_remove(self, change: Change, entry: Entry) -> bool:
        """Plan to remove an entry with its children; return False if that can't join the bundle."""
        note = self.note
        lines = note.document.lines
        first, last = lines[entry.line - 1], lines[entry.end_line - 1]
        joins = entry.line > 1 and edits.would_join(note.data, first, last)
        if last.next == last.end or joins or self._collides(first.start, last.next, self._all_chains):
            return False
        self._splices.append(Splice(first.start, last.next, b""))
        removed = range(entry.line, entry.end_line + 1)
        for other in note.entries:
            if other.line in removed:
                self._new_words[other.line] = None
                self._changed |= {other.text, other.raw, other.provenance or ""}
        self._touched_lines.update(removed)
        self._removed_lines.update(removed)
        self.outcomes.append(Outcome(change, "applied"))
        return True

    def _ends_in_bullet(self) -> bool:
        """Whether the note ends with a whole line of a top-level bullet."""
        document = self.note.document
        last = next((bullet for bullet in reversed(document.bullets) if not bullet.depth), None)
        whole = document.lines[-1].start == document.lines[-1].end
        return whole and last is not None and last.end_line == document.last_line

    def _collides(self, start: int, end: int, chains: Iterable[_Chain]) -> bool:
        """Whether a change touches a planned one, so that their order would matter."""
        if any(start <= chain.at <= end for chain in chains):
            return True
        return any(splice.start < end and start < splice.end for splice in self._splices) or (
            start == end and any(splice.start <= start <= splice.end for splice in self._splices)
        )

    def _no_op(self, change: Change, why: str, words: str = "") -> bool:
        """Record a change for which there is nothing to do."""
        self.outcomes.append(Outcome(change, "no-op", why, words))
        return True

    def _line_after(self, entry: Entry) -> int:
        """Return the line of an entry after the bundle."""
        start = self.note.document.lines[entry.line - 1].start
        above = [splice for splice in self._all_splices() if splice.end <= start]
        pairs = [(splice.data, self.note.data[splice.start : splice.end]) for splice in above]
        return entry.line + sum(line_of(new, len(new)) - line_of(old, len(old)) for new, old in pairs)


def _prefix(note: Note, bullet: Bullet) -> str:
    """Return the text before the words of a bullet on its line."""
    start = note.document.lines[bullet.line - 1].start
    return _decoded(note.data[start : bullet.start])
