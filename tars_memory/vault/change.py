"""Changes of a note as data, and the planner that turns a note and changes into splices and one outcome per change.

Pure: nothing is read, nothing is written, nothing raises. Every change is planned by itself, on the note that the
changes before it left. It is applied, or there is nothing to do, or it is rejected with the reason; a rejected change
does not stop the others. The bytes come from :mod:`tars_memory.vault.markdown.edits`, which touches only the lines that
a change names.

Many changes cost few parses. A run of changes is planned on the note as it was before the run, if every effect
follows from that note alone: the changes replace, remove or mark different lines, or they only append lines. The
splices of a run are applied at once and the result is parsed once: if any entry but the expected ones is new, missing
or changed, the run is halved. Other changes (of a line found only by its words, or one that will be rejected) are
applied alone. The resulting note is the same, byte for byte.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Literal, NamedTuple

from tars_memory.errors import TarsError, counted
from tars_memory.vault import markdown
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Document, apply as spliced, line_of, plain_heading
from tars_memory.vault.markdown.edits import Changes
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.model import Entry, Splice, Tier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.vault.markdown.facts import Claim, Ending, Plan
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
            with the dates; for ``create`` the whole new note but its properties.
        replaces: the entry's own lines as they were (:attr:`Entry.raw`), for ``replace``, ``remove`` and ``mark``; for
            ``remove_section`` the section's lines.
        provenance: the line that the words come from, ``2026-11-21#^d-abc``; empty for none.
        label: label of the provenance link; empty for the name of its note. For a fact, the day on which it was stated.
        occurrence: number of the entry among those with the same lines, from 0; None if there must be only one.
        single: whether a fact ends the fact that holds at its start.
        ends: own lines of the facts that a fact ends, as shown to the person; None if none were shown.
        author: author of the words; empty for no author.
        target: path of the note, relative to the vault.
        event: whether a fact is of something that happens once.
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
    endings: tuple[Ending, ...] = ()


class Planned(NamedTuple):
    """The result of planning changes of a note.

    Attributes:
        note: the note after the changes; the given object itself if nothing was applied.
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
    endings: tuple[Ending, ...] = ()


def apply(note: Note, changes: Sequence[Change]) -> Planned:
    """Plan changes of a note, one after the other, in few parses.

    A line whose provenance another entry of the note has is not written again.

    Args:
        note: the note; empty if the file does not exist.
        changes: the changes, in order; an entry is named by its own lines, and must be found exactly once.
    """
    outcomes: list[Outcome] = []
    splices: Sequence[Splice]
    made = Changes(note.data)
    stale = {change for change in changes if change.ends is not None and _is_stale(note, change)}
    while len(outcomes) < len(changes):
        at = len(outcomes)
        if (together := _apply_run(note, changes[at:])) is not None:
            splices, run_outcomes = together
            outcomes += run_outcomes
        elif changes[at] in stale:
            why = f"{note.path} changed: the fact would end something else than was shown"
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
    if present := _same_source(note, change):
        return (), Outcome(change, "no-op", f"{note.path} line {present.line} came from the same line", present.text)
    try:
        effect = _OPS.get(change.op, _unknown)(note, change)
        return effect.splices, Outcome(change, "applied", "", effect.words, effect.endings)
    except _NoOpError as why:
        return (), Outcome(change, "no-op", str(why), why.words)
    except (_RejectedError, TarsError, UnicodeError) as error:
        return (), Outcome(change, "rejected", str(error))


def _same_source(note: Note, change: Change) -> Entry | None:
    """Return an entry that came from the same line as the words of a change, other than the one that it replaces."""
    found = note.entries_by_source.get(change.provenance, ())
    return next((entry for entry in found if entry.raw != change.replaces), None)


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
        return f"{path} holds {shown!r} {counted(len(same), 'time')}"
    was = next(iter(note.with_data(_encoded(target.lstrip(" \t"))).entries), None)
    if was is None:
        return f"{shown!r} is not an entry"
    same = [entry for entry in now if was.block_id and entry.block_id == was.block_id]
    same = same or [entry for entry in now if entry.text == was.text]
    same = same or [entry for entry in now if was.provenance and entry.provenance == was.provenance]
    if len(same) == 1 and same[0].text == was.text:
        return same[0]
    instead = f"; it now says {same[0].text[:200]!r}" if len(same) == 1 else ""
    return f"{path} does not hold {shown!r} any more{instead}"


def reference_to(note: Note, entry: Entry) -> tuple[str, int | None]:
    """Return what names an entry in a change: its own lines, and its number if several entries have them."""
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
        return f"{note.path} holds ^{change.block_id}" if change.block_id in note.block_ids else ""
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
    splices, words = _replacement(note, change, entry)
    return _Effect(splices if change.typed else _checked(note, splices, removed=(entry.text,), added=(words,)), words)


def _replacement(note: Note, change: Change, entry: Entry) -> tuple[list[Splice], str]:
    """Return the splices that replace the words of an entry, unchecked, and the new words."""
    words = words_of(change, entry)
    target, label = _provenance(change)
    if words == entry.text and target in ("", entry.provenance):
        raise _NoOpError(f"{note.path} line {entry.line} says exactly this", words)
    provenance, author = ((target, label), change.author) if target else (None, change.author or None)
    return edits.replace_bullet(note, entry, words, provenance=provenance, author=author), words


def _remove(note: Note, change: Change) -> _Effect:
    """Remove an entry with its children."""
    entry = _target(note, change)
    lines = range(entry.line, entry.end_line + 1)
    removed = [other.text for other in note.entries if other.line in lines]
    splices = edits.remove_bullet(note, entry)
    return _Effect(splices if change.typed else _checked(note, splices, removed=removed, added=()))


def _add_section(note: Note, change: Change) -> _Effect:
    """Add a heading, with a line below it if the change has words."""
    if change.text:  # appending makes the heading, and works with a present one too
        return _append(note, change)
    title = heading(change.section)
    if note.document.find_section(title):
        raise _NoOpError(f"{note.path} has the heading {title!r}")
    return _Effect(_checked(note, edits.insert_heading(note.data, title), removed=(), added=()))


def _remove_section(note: Note, change: Change) -> _Effect:
    """Remove a heading with the lines up to the next one, if they are as the change names them."""
    document = note.document
    title = plain_heading(change.section)
    lines = _with_lf(change.replaces).strip("\n")
    named = [section for section in document.sections if section.level and section.title == title]
    texts = (_with_lf(document.text(section.start_line, section.end_line)).strip("\n") for section in named)
    same = [section for section, text in zip(named, texts, strict=True) if text == lines]
    if len(same) != 1:
        many = (
            f"is there {counted(len(same), 'time')}" if same else "does not say that any more" if named else "is gone"
        )
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
        raise _NoOpError(f"{note.path} line {same.line} says so already", words)
    words, ended, splices = edits.add_fact(note, claim, plan, link=link if link[0] else None, author=change.author)
    if not change.typed:
        removed = [entry.text for entry, _ in ended]
        splices = _checked(note, splices, removed=removed, added=(words, *(text for _, text in ended)))
    return _Effect(splices, words, plan.endings)


def _plan_fact(note: Note, change: Change) -> tuple[Claim, Plan]:
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
    """Mark the first of several identical lines: the mark changes it, so that a second mark finds the next one.

    Children that would change the lines around them are left out.
    """
    found = locate(note, change.replaces, occurrence=0)
    if isinstance(found, str):
        raise _RejectedError(found)
    for each in (change, change._replace(children=())):
        run = _Edits(note)
        run.mark(each, found)
        if (splices := run.splices()) is not None:
            break
    return _Effect(splices or ())


def _check_mark(note: Note, entry: Entry, change: Change) -> None:
    """Raise an error if a line must not be marked."""
    where = f"{note.path} line {entry.line}"
    if entry.state not in (*OPEN, change.state):
        raise _RejectedError(f"{where} is {entry.state} already: {entry.text[:200]}")
    if entry.state == change.state:
        raise _NoOpError(f"{where} is {entry.state} already")
    if entry.state is None and note.tier is Tier.DAILY:
        raise _NoOpError(f"{where} is not a candidate")  # it is a line that the person logged
    if change.block_id and not entry.block_id and change.block_id in note.block_ids:
        raise _RejectedError(f"{note.path}: another line has the block id ^{change.block_id} already")


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
    raise _RejectedError(f"there is a note {note.path}, which says something else")


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


def _checked(
    note: Note,
    splices: Sequence[Splice],
    *,
    removed: Sequence[str],
    added: Sequence[str],
    without: str = "",
    new_headings: int = 1,
) -> list[Splice]:
    """Return the splices of a change if they add, remove and change nothing else.

    Args:
        note: the note before the change.
        splices: the change.
        removed: words of the entries that the change removes or replaces.
        added: words of the entries that it adds.
        without: title of the heading that it removes; empty for none.
        new_headings: number of headings that it may add.

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
    if not only_entries or lost_titles or not 0 <= len(after_titles) - len(before_titles) <= new_headings:
        raise _RejectedError(f"{note.path}: it would change the lines around it")
    return list(splices)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _with_lf(text: str) -> str:
    """Return a text with every line ending as LF."""
    return re.sub(r"\r\n|\r", "\n", text)


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


# -- runs of changes that are planned together


def _apply_run(note: Note, changes: Sequence[Change]) -> tuple[Sequence[Splice], list[Outcome]] | None:
    """Plan as many of the first changes as can go together; return None if those are fewer than two."""
    most = len(changes)
    while most > 1:
        run = (_Appends if changes[0].op == "append" else _Edits)(note)
        for change in changes[:most]:
            if not run.add(change):
                break
        if len(run.outcomes) < 2 or len(set(re.findall(rb"\r\n|\r|\n", note.data))) > 1:
            return None  # a new line takes its ending from a neighbour, which may be one that an earlier change removes
        if (splices := run.splices()) is not None:
            return splices, run.outcomes
        most = len(run.outcomes) // 2
    return None


class _Appends:
    """Lines appended to a note, none of which it has already.

    Attributes:
        note: the note before the run.
        outcomes: outcomes of the changes in the run.
    """

    def __init__(self, note: Note) -> None:
        self.note = note
        self.outcomes: list[Outcome] = []
        self._bullets: dict[object, tuple[str, list[str]]] = {}
        """Heading and new bullets of every section, by its line or, if it is new, by its title."""
        self._added: set[str] = set()
        """Words, sources and block ids of the new lines."""

    def add(self, change: Change) -> bool:
        """Add a change to the run; return False if it must be applied by itself, on the note after the run."""
        try:
            words = words_of(change)
            title, bullet = _heading(change), _rendered(change, words)
        except (_RejectedError, TarsError, UnicodeError):
            return False
        own = [change.provenance, f"^{change.block_id}" if change.block_id else "" if change.again else words]
        if (
            change.op != "append"
            or change.children
            or any(name in self._added for name in own if name)
            or _same_source(self.note, change)
            or _why_present(self.note, change, words)
        ):
            return False
        section = self.note.document.place(title)
        key = section.start_line if section else plain_heading(title).casefold()
        self._bullets.setdefault(key, (title, []))[1].append(bullet)
        self._added |= {words, *own}
        self.outcomes.append(Outcome(change, "applied", "", words))
        return True

    def splices(self) -> list[Splice] | None:
        """Return the splices of the run; None if they would change anything else."""
        made = Changes(self.note.data)
        try:
            for title, bullets in self._bullets.values():
                made.make(edits.insert_together(made.data, bullets, section=title))
            added = [outcome.words for outcome in self.outcomes]
            return _checked(self.note, made.splices(), removed=(), added=added, new_headings=len(self._bullets))
        except (_RejectedError, TarsError):
            return None


class _Edits:
    """Different lines of a note, replaced, removed or marked.

    Attributes:
        note: the note before the run.
        outcomes: outcomes of the changes in the run.
    """

    def __init__(self, note: Note) -> None:
        self.note = note
        self.outcomes: list[Outcome] = []
        self._splices: list[Splice] = []
        self._new_words: dict[int, str] = {}
        """New words of changed entries, by line."""
        self._new_children: list[tuple[tuple[int, int], tuple[str, int, str]]] = []
        """Words, depth and heading of every new nested bullet, after the place where it belongs."""
        self._removed: set[int] = set()
        """Lines that are removed."""
        self._touched: set[int] = set()
        """Lines of the entries that are changed or removed, and of their children."""
        self._changed: set[str] = set()
        """Lines, sources and block ids added or removed so far: a change that names one of them must wait."""

    def add(self, change: Change) -> bool:
        """Add a change to the run; return False if it must be applied by itself, on the note after the run."""
        plan = {"replace": self._replace, "remove": self._remove, "mark": self.mark}.get(change.op)
        target = _with_lf(change.replaces)
        if plan is None or {target, change.provenance or target} & self._changed or _same_source(self.note, change):
            return False
        same = self.note.entries_by_raw.get(target, [])
        occurrence = 0 if change.op == "mark" else change.occurrence
        same = same if occurrence is None else same[occurrence : occurrence + 1]
        if len(same) != 1 or not self._touched.isdisjoint(range(same[0].line, same[0].end_line + 1)):
            return False
        try:
            plan(change, same[0])
        except (_NoOpError, _RejectedError, TarsError, UnicodeError):
            return False
        return True

    def _add(self, change: Change, entry: Entry, splices: Sequence[Splice], words: str = "") -> None:
        """Add the effect of a change to the run."""
        document = self.note.document
        first = document.lines[entry.line - 1].start
        end = document.lines[self.note.bullets[entry.line].own_end_line - 1].end
        own = [Splice(at - first, to - first, data) for at, to, data in splices if to <= end]
        self._splices += splices
        self._changed |= {entry.raw, entry.provenance or "", change.provenance, f"^{change.block_id}"} - {""}
        self._changed.add(_with_lf(_decoded(spliced(self.note.data[first:end], own))))
        self._touched.update(range(entry.line, entry.end_line + 1))
        self.outcomes.append(Outcome(change, "applied", "", words))

    def _replace(self, change: Change, entry: Entry) -> None:
        """Plan to replace the words of an entry."""
        splices, self._new_words[entry.line] = _replacement(self.note, change, entry)
        self._add(change, entry, splices, self._new_words[entry.line])

    def mark(self, change: Change, entry: Entry) -> None:
        """Plan to mark a candidate."""
        note, bullet = self.note, self.note.bullets[entry.line]
        name = "" if entry.block_id else change.block_id
        _check_mark(note, entry, change)
        if name and f"^{name}" in self._changed:
            raise _RejectedError("an earlier change of the run adds this block id")
        splices = edits.state_splices(note, bullet, entry, change.state, block_id=name)
        if change.children:
            splices.append(edits.child_splice(note.document, bullet, change.children))
            texts = [grammar.parse(words).text for words in change.children]
            self._new_children += [((entry.end_line, 1), (text, entry.depth + 1, entry.section)) for text in texts]
        self._add(change, entry, splices)

    def _remove(self, change: Change, entry: Entry) -> None:
        """Plan to remove an entry with its children."""
        first, last = (self.note.document.lines[line - 1] for line in (entry.line, entry.end_line))
        if last.next == last.end:
            raise _RejectedError("the line above would keep its ending")
        removed = range(entry.line, entry.end_line + 1)
        self._removed.update(removed)
        for other in self.note.entries:
            if other.line in removed:
                self._changed |= {other.raw, other.provenance or other.raw}
        self._add(change, entry, [Splice(first.start, last.next, b"")])

    def splices(self) -> list[Splice] | None:
        """Return the splices of the run; None if they would change anything else."""
        note, splices = self.note, sorted(self._splices, key=lambda splice: splice[:2])
        if not (self._new_words or self._new_children or self._removed):
            return splices  # state tags and block ids change nothing outside their lines
        after = note.with_data(spliced(note.data, splices))
        kept = [
            ((entry.line, 0), (self._new_words.get(entry.line, entry.text), entry.depth, entry.section))
            for entry in note.entries
            if entry.line not in self._removed
        ]
        wanted = [entry for _, entry in sorted([*kept, *self._new_children], key=lambda placed: placed[0])]
        if wanted != [(entry.text, entry.depth, entry.section) for entry in after.entries]:
            return None
        before, after_blocks = note.document, [block.kind for block in after.document.blocks]
        same = after_blocks == [block.kind for block in before.blocks if block.start_line not in self._removed]
        return splices if same and _headings(before) == _headings(after.document) else None


def _headings(document: Document) -> list[tuple[tuple[str, ...], int]]:
    """Return path and level of every section."""
    return [(section.path, section.level) for section in document.sections]
