"""``tidy``: finds problems in our notes, fixes those that lose nothing, and proposes changes for the others.

Finding problems writes nothing. Fixes are limited in number per run, each removed line is still in its note once, and
``undo`` takes them back. A rule is fixed only if a person asks for it at a terminal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.proposals import TIDY, Proposal, change_of_line, question_about
from tars_memory.curation.tidying import findings
from tars_memory.curation.tidying.findings import Finding, TidyNote, World
from tars_memory.errors import ConflictError, NotFoundError, TarsError
from tars_memory.vault import change, inbox
from tars_memory.vault.links import Links, files_of, links_by_source
from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.writing.store import WriteSession

    Finder = Callable[[TidyNote, World], Iterable[Finding]]


FIXABLE: tuple[Finder, ...] = (findings.duplicates, findings.empty_bullets)
"""Finders of what ``--apply`` may fix: their findings that say they are ``fixable``."""

OTHERS: tuple[Finder, ...] = (
    findings.near_duplicates,
    findings.opposites,
    findings.repeated_headings,
    findings.repeated_ids,
    findings.placeholders,
    findings.oversized,
    findings.malformed,
    findings.without_mark,
    findings.dead_links,
    findings.expired,
)
"""Finders whose findings take a person's decision."""

MOST = 50
"""Maximum number of lines that one run removes, so that a mistake of ours stays small."""

CHANGED = "its note changed in the meantime, or the line can't go without changing the lines around it"
LATER = f"a run removes {MOST} lines at most: run it again"
"""Reasons to leave a line that could be fixed."""


class Applied(NamedTuple):
    """The result of ``--apply`` for one finding.

    Attributes:
        finding: as it was.
        outcome: ``removed``, ``proposed`` (it waits for review), or ``left``.
        reason: why it was left, or as which proposal it waits.
    """

    finding: Finding
    outcome: str
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        """The documented JSON object."""
        fields = {name: getattr(self.finding, name) for name in ("id", "kind", "path", "text")}
        return {**fields, "outcome": self.outcome, "reason": self.reason}


class Tidied(NamedTuple):
    """The result of ``tidy``.

    Attributes:
        txn: the transaction, for ``undo``; None if nothing was written.
        findings: those that are left, by note and line.
        applied: results of ``--apply``.
        ignored: ids of the findings that are ignored from now on.
        waiting: number of tidy's proposals that wait for review.
        notices: sentences for the person.
    """

    txn: str | None
    findings: list[Finding]
    applied: list[Applied]
    ignored: list[str]
    waiting: int
    notices: list[str]


def find_all(ctx: Caller) -> list[Finding]:
    """Return the findings, by note and line, without those that are ignored or wait for review. Nothing is written."""
    world, paths = survey(ctx)
    found = [finding for note in ctx.notes(paths) for finding in found_in(note_of(ctx, note), world)]
    quiet = quiet_ids(ctx)
    return [finding for finding in found if quiet.isdisjoint(_ids(finding))]


def _ids(finding: Finding) -> list[str]:
    """Return the ids under which a finding may have been answered: its own, and that of its proposal in the inbox."""
    return [finding.id, *([_proposal(finding, finding.entry, "").id] if finding.entry else [])]


def tidy(ctx: Caller, *, apply: bool = False, ignore: bool = False, ids: Collection[str] = ()) -> Tidied:
    """Find problems; with ``apply`` fix them or propose a change, with ``ignore`` ignore them from now on.

    Args:
        ctx: the command's view of the vault.
        apply: fix what loses nothing, and offer other changes for review.
        ignore: do not return these findings again as long as their words stay the same.
        ids: only these findings; empty for all.

    Raises:
        NotFoundError: there is no finding with one of these ids.
        UnwritableError: the vault can't be written.
    """
    found = find_all(ctx)
    chosen = _chosen(found, ids)
    if not (apply or ignore) or not (chosen or ctx.store.pending()):
        return Tidied(None, chosen, [], [], _waiting(ctx), ctx.notices)
    with ctx.writing("tidy", None) as session:
        if ignore:
            decided, project = [(finding.id, finding.text) for finding in chosen], ctx.layout.scope
            inbox.decide(session, decided, "ignored", ctx.now.date(), project=project)
            applied: list[Applied] = []
        else:
            applied = _apply(ctx, session, chosen)
        txn = session.txn
    ignored = [finding.id for finding in chosen] if ignore else []
    gone = {*ignored, *(result.finding.id for result in applied if result.outcome != "left")}
    left = [finding for finding in found if finding.id not in gone]
    return Tidied(txn, left, applied, ignored, _waiting(ctx), ctx.notices)


def _waiting(ctx: Caller) -> int:
    """Return the number of tidy's proposals that wait for review."""
    return sum(proposal["source"] == TIDY for proposal in inbox.pending(ctx.vault))


def survey(ctx: Caller) -> tuple[World, list[str]]:
    """Return what finders need to know about the vault, and the paths of the notes to search."""
    layout = ctx.layout
    files = files_of(ctx.vault)
    links = Links(files)
    linked: set[str] = set()
    named: Counter[str] = Counter()
    for source, outgoing in links_by_source(ctx.vault, files).items():
        linked |= {link.anchor[1:].casefold() for link in outgoing if link.anchor.startswith("^")}
        bare = {link.target.casefold() for link in outgoing if link.kind == "wiki" and "/" not in link.target}
        named.update(name for name in bare if name and links.resolve(name, source) is None)

    def read(path: str) -> bytes | None:
        try:
            return ctx.vault.read(path)
        except TarsError:
            return None

    template = read(layout.daily_template_path) if layout.daily_template_path else None
    world = World(
        today=ctx.now.date(),
        layout=layout,
        links=links,
        linked=linked,
        named=named,
        form=_form(template),
        section_entries=ctx.settings.tidy.section_entries,
        read=read,
        dated=ctx.dated,
        facts=ctx.settings.facts,
    )
    return world, sorted(path for path in ctx.vault.paths() if layout.is_ours(path) and findings.role_of(layout, path))


def note_of(ctx: Caller, note: Note) -> TidyNote:
    """Return a note as finders take it."""
    role = findings.role_of(ctx.layout, note.path)
    assert role is not None
    return TidyNote(note, role, day=ctx.layout.day_of(note.path) if role == "daily" else None)


def quiet_ids(ctx: Caller) -> set[str]:
    """Return the ids not to show again: of ignored findings, and of proposals that wait or were rejected."""
    declined = (name for name, decision in inbox.decided(ctx.vault).items() if decision != "accepted")
    return {*declined, *(str(proposal["id"]) for proposal in inbox.pending(ctx.vault))}


def _chosen(found: list[Finding], ids: Collection[str]) -> list[Finding]:
    """Return the findings with these ids; all of them if none are given.

    Raises:
        NotFoundError: there is no finding with one of these ids.
    """
    if not ids:
        return found
    known = {finding.id for finding in found}
    missing = [name for name in ids if name.lower() not in known]
    if missing:
        raise NotFoundError(
            f"no finding is called {', '.join(missing)}: its line changed, or it is dealt with",
            "tars-memory tidy lists them",
        )
    wanted = {name.lower() for name in ids}
    return [finding for finding in found if finding.id in wanted]


def _apply(ctx: Caller, session: WriteSession, chosen: list[Finding]) -> list[Applied]:
    """Fix what may be fixed, note by note; propose the other changes, and leave what has none."""
    results: list[Applied] = []
    world, _ = survey(ctx)  # again, under the lock
    room = MOST
    for path in dict.fromkeys(finding.path for finding in chosen):
        of_note = [finding for finding in chosen if finding.path == path]
        may_write = ctx.layout.tier_of(path) is not Tier.PROCEDURAL or ctx.may_write_rules
        to_fix = [finding for finding in of_note if finding.fixable and may_write]
        now, later = to_fix[:room], to_fix[room:]
        removed = _fix(ctx, session, path, now, world) if now else []
        room -= len(removed)
        results += [
            Applied(finding, "removed") if finding.id in removed else Applied(finding, "left", CHANGED)
            for finding in now
        ]
        results += [Applied(finding, "left", LATER) for finding in later]
        results += [_propose(ctx, session, finding) for finding in of_note if finding not in to_fix]
    if any(result.reason == LATER for result in results):
        ctx.notices.append(f"{MOST} lines were removed, the most of one run: run it again for the rest")
    return results


def _fix(ctx: Caller, session: WriteSession, path: str, to_fix: Sequence[Finding], world: World) -> list[str]:
    """Remove the lines of findings from a note, and return the ids of those that were removed.

    A line that can't be removed without changing the lines around it stays.
    """
    wanted = {finding.id for finding in to_fix}
    removed: list[str] = []

    def plan(data: bytes | None) -> Sequence[Splice]:
        """Plan the removal of those that the note has; called again if the note changes in the meantime."""
        nonlocal removed
        note = Note.of(ctx.layout, path, data)
        found = [finding for finding in fixable(note_of(ctx, note), world) if finding.id in wanted]
        new, gone = without_findings(note, found)
        removed = [finding.id for finding in gone]
        return edits.splices_between(note.data, new)

    try:
        session.write(path, plan)
    except ConflictError:
        return []
    return removed


def _propose(ctx: Caller, session: WriteSession, finding: Finding) -> Applied:
    """Put the change of a finding into the inbox, if it has one."""
    is_rule = finding.fixable  # a rule, which is fixed only if a person asks for it
    if finding.entry is None or not (finding.op or is_rule):
        why = "it takes a person at a terminal" if is_rule else "only you can fix it"
        return Applied(finding, "left", why)
    proposal = _proposal(finding, finding.entry, ctx.now.date().isoformat())
    if proposal.replaces:
        _, occurrence = change.reference_to(ctx.vault.note(finding.path), finding.entry)
        proposal = proposal._replace(occurrence=occurrence)
    return Applied(finding, "proposed", f"it waits for review as {inbox.keep(session, proposal.stored())}")


def _proposal(finding: Finding, entry: Entry, today: str) -> Proposal:
    """Return the proposal that a finding about an entry becomes."""
    lines = finding.conflicts
    if finding.op == "choose":
        day = max(line.date for line in lines) or today
        return question_about(entry.path, entry.section, lines, day, "", finding.words)._replace(source=TIDY)
    why = f"{finding.kind}: {finding.suggestion}"
    return change_of_line(finding.op or "remove", entry, finding.words, today, why)._replace(conflicts=lines)


def _form(template: bytes | None) -> frozenset[str]:
    """Return the headings under which the daily template has an empty bullet, in lower case."""
    if template is None:
        return frozenset()
    document = Document(template)
    empty = [bullet.line for bullet in document.bullets if not bullet.worded or bullet.start == bullet.end]
    boxes = [bullet.line for bullet in document.bullets if document.data[bullet.start : bullet.end].strip() == b"[ ]"]
    return frozenset(document.section_at(line).title.casefold() for line in (*empty, *boxes))


def found_in(note: TidyNote, world: World) -> list[Finding]:
    """Return all findings in a note, in the order of its lines."""
    return findings.numbered(finding for find in (*FIXABLE, *OTHERS) for finding in find(note, world))


def fixable(note: TidyNote, world: World) -> list[Finding]:
    """Return the findings that ``--apply`` may fix, with the same ids as :func:`found_in` gives them."""
    every = findings.numbered(finding for find in FIXABLE for finding in find(note, world))
    return [finding for finding in every if finding.fixable]


def without_findings(note: Note, found: Iterable[Finding]) -> tuple[bytes, list[Finding]]:
    """Return a note without the lines of some findings, and the findings whose lines were removed. Pure.

    Args:
        note: as it is.
        found: findings about whole bullets of the note; their lines are removed from the last to the first.
    """
    gone: list[Finding] = []
    for finding in sorted(found, key=lambda finding: finding.line, reverse=True):
        if finding.entry is None:
            splices = [_blank_bullet(note.document, finding.line)]
        else:
            raw, line = finding.entry.raw, finding.entry.line
            same = [entry for entry in note.entries_by_raw.get(raw, ()) if entry.line == line]
            if not same:
                continue  # it was removed with another one
            splices = edits.remove_bullet(note, same[0])
        new = note.with_data(apply(note.data, splices))
        if _only_lacks(note, new, finding):
            note = new
            gone.append(finding)
    return note.data, gone[::-1]


def _blank_bullet(document: Document, line: int) -> Splice:
    """Return the removal of a bullet without words, with the line ending that separates it."""
    start, end, after = document.lines[line - 1]
    if after == end and line > 1:
        return Splice(document.lines[line - 2].end, end, b"")
    return Splice(start, after, b"")


def _only_lacks(before: Note, after: Note, gone: Finding) -> bool:
    """Whether a note is parsed as before, except for one bullet that is gone."""
    old, new = before.document, after.document
    old_entries, new_entries = (
        Counter((e.text, e.time, e.state, e.section, e.depth) for e in note.entries) for note in (before, after)
    )
    entry = gone.entry
    if entry is not None:
        old_entries -= Counter([(entry.text, entry.time, entry.state, entry.section, entry.depth)])
    old_kinds, new_kinds = (
        Counter(block.kind for block in document.blocks if block.kind != "item") for document in (old, new)
    )
    return (
        old_entries == new_entries
        and old_kinds == new_kinds
        and len(old.bullets) == len(new.bullets) + 1
        and [section.path for section in old.sections] == [section.path for section in new.sections]
    )
