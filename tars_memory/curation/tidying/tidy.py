"""``tidy``: look the notes of ours over, mend what loses nothing, offer the rest for review, or keep quiet about it.

Looking writes nothing. What is mended is bounded in one run, kept in the archive, and taken back by ``undo``; nothing
of it touches a rule unless a person asks for it at a terminal.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.proposals import TIDY, Proposal, change_of_line, question_about
from tars_memory.curation.tidying import findings, repeats
from tars_memory.curation.tidying.findings import Finding, TidyNote, World
from tars_memory.errors import ConflictError, NotFoundError, TarsError
from tars_memory.vault import inbox
from tars_memory.vault.change import named
from tars_memory.vault.links import Links, files_of, links_by_source
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.writing.store import WriteSession

    Finder = Callable[[TidyNote, World], Iterable[Finding]]


FIXABLE: tuple[Finder, ...] = (repeats.duplicates, findings.empty_bullets)
"""Those whose findings ``--apply`` may mend by itself."""

OTHERS: tuple[Finder, ...] = (
    repeats.duplicates_elsewhere,
    repeats.near_duplicates,
    repeats.opposites,
    repeats.repeated_headings,
    repeats.repeated_ids,
    findings.placeholders,
    findings.oversized,
    findings.malformed,
    findings.without_mark,
    findings.dead_links,
    findings.expired,
)

MOST = 50
"""So many lines are removed in one run at most; a mistake of ours stays a small one."""

CHANGED = "its note changed in the meantime, or the line can't go without changing the lines around it"
LATER = f"a run removes {MOST} lines at most: run it again"


class Applied(NamedTuple):
    """What became of one finding that ``--apply`` was to mend.

    Attributes:
        finding: that it was.
        outcome: ``removed``, ``proposed`` (it waits for review), or ``left``.
        reason: why it was left, or where it waits.
    """

    finding: Finding
    outcome: str
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        """The documented JSON object."""
        found = self.finding
        told = {"id": found.id, "kind": found.kind, "path": found.path, "text": found.text}
        return {**told, "outcome": self.outcome, "reason": self.reason}


class Tidied(NamedTuple):
    """What ``tidy`` found and did.

    Attributes:
        txn: the transaction that ``undo`` takes; None if nothing was written.
        findings: those that are left, by note and line.
        applied: what became of those that were to be mended.
        ignored: ids of those that are kept quiet about from now on.
        waiting: how many of its proposals wait for review.
        notices: what the person should know.
    """

    txn: str | None
    findings: list[Finding]
    applied: list[Applied]
    ignored: list[str]
    waiting: int
    notices: list[str]


def look(ctx: Caller) -> list[Finding]:
    """What is to be tidied, by note and line; without what is ignored or waits for review. Nothing is written."""
    world, paths = survey(ctx)
    found = [each for note in ctx.notes(paths) for each in found_in(note_of(ctx, note), world)]
    quiet = quiet_ids(ctx)
    return [each for each in found if quiet.isdisjoint(_names(each))]


def _names(finding: Finding) -> list[str]:
    """The ids of a finding, and of what it comes to in the inbox."""
    return [finding.id, *([_proposal(finding, finding.entry, "").id] if finding.entry else [])]


def tidy(
    ctx: Caller,
    *,
    apply: bool = False,
    ignore: bool = False,
    ids: Collection[str] = (),
) -> Tidied:
    """Look, and with ``apply`` mend or propose, with ``ignore`` keep quiet.

    Args:
        ctx: the command's view of the vault.
        apply: mend what loses nothing; offer what has a change to offer for review.
        ignore: never tell of these findings again, as long as their words stay.
        ids: only these findings; empty: all of them, for ``apply``.

    Raises:
        NotFoundError: there is no finding with one of these ids.
        UnwritableError: the vault can't be written.
    """
    found = look(ctx)
    chosen = _chosen(found, ids)
    if not (apply or ignore) or not (chosen or ctx.store.pending()):
        return Tidied(None, chosen, [], [], _waiting(ctx), ctx.notices)
    with ctx.writing("tidy", None) as session:
        if ignore:
            what, project = [(each.id, each.text) for each in chosen], ctx.layout.scope
            inbox.decide(session, what, "ignored", ctx.now.date(), project=project)
            done: list[Applied] = []
        else:
            done = _apply(ctx, session, chosen)
        txn = session.txn
    gone = {each.finding.id for each in done if each.outcome != "left"}
    gone |= {each.id for each in chosen} if ignore else set()
    left = [each for each in found if each.id not in gone]
    return Tidied(txn, left, done, [each.id for each in chosen] if ignore else [], _waiting(ctx), ctx.notices)


def _waiting(ctx: Caller) -> int:
    """How many proposals of ours nobody has decided yet."""
    return sum(proposal["source"] == TIDY for proposal in inbox.pending(ctx.vault))


def survey(ctx: Caller) -> tuple[World, list[str]]:
    """What is known of the vault, and the paths of the notes to look at."""
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
    """A note of ours, with what tidying asks of it."""
    role = findings.role_of(ctx.layout, note.path)
    assert role is not None
    return TidyNote(note, role, day=ctx.layout.day_of(note.path) if role == "daily" else None)


def quiet_ids(ctx: Caller) -> set[str]:
    """What is not shown again: ids of findings that are ignored, of proposals that wait or were rejected."""
    turned_down = (name for name, decision in inbox.decided(ctx.vault).items() if decision != "accepted")
    return {*turned_down, *(str(proposal["id"]) for proposal in inbox.pending(ctx.vault))}


def _chosen(found: list[Finding], ids: Collection[str]) -> list[Finding]:
    if not ids:
        return found
    known = {each.id for each in found}
    missing = [name for name in ids if name.lower() not in known]
    if missing:
        raise NotFoundError(
            f"no finding is called {', '.join(missing)}: its line changed, or it is dealt with",
            "tars-memory tidy lists them",
        )
    wanted = {name.lower() for name in ids}
    return [each for each in found if each.id in wanted]


def _apply(ctx: Caller, session: WriteSession, chosen: list[Finding]) -> list[Applied]:
    """Mend what may be mended, note by note; the rest is offered, or left."""
    done: list[Applied] = []
    world, _ = survey(ctx)  # again, under the lock
    room = MOST
    for path in dict.fromkeys(each.path for each in chosen):
        own = [each for each in chosen if each.path == path]
        may = ctx.layout.tier_of(path) is not Tier.PROCEDURAL or ctx.may_write_rules
        safe = [each for each in own if each.fixable and may]
        now, later = safe[:room], safe[room:]
        removed = _mended(ctx, session, path, now, world) if now else []
        room -= len(removed)
        done += [Applied(each, "removed") if each.id in removed else Applied(each, "left", CHANGED) for each in now]
        done += [Applied(each, "left", LATER) for each in later]
        done += [_offered(ctx, session, each) for each in own if each not in safe]
    if any(each.reason == LATER for each in done):
        ctx.notices.append(f"{MOST} lines were removed, the most of one run: run it again for the rest")
    return done


def _mended(ctx: Caller, session: WriteSession, path: str, safe: Sequence[Finding], world: World) -> list[str]:
    """Take the lines of these findings out of a note; the ids of those that went.

    They are put into the archive first, so that no kill loses them. A line that can't be removed without changing what
    is around it stays.
    """
    wanted = {each.id for each in safe}

    def still(note: Note) -> list[Finding]:
        """Which of them a note still has; it is asked again if the note changes meanwhile."""
        return [each for each in fixable(note_of(ctx, note), world) if each.id in wanted]

    data = session.read(path)
    gone = without(here := Note.of(ctx.layout, path, data), still(here))[1] if data is not None else []
    if not gone:
        return []
    _keep(ctx, session, path, [each for each in gone if each.entry is not None])
    wanted = {each.id for each in gone}
    removed: list[str] = []

    def plan(found: bytes | None) -> Sequence[Splice]:
        nonlocal removed
        note = Note.of(ctx.layout, path, found)
        new, went = without(note, still(note))
        removed = [each.id for each in went]
        return edits.splices_between(found or b"", new)

    try:
        session.write(path, plan)
    except ConflictError:
        return []
    return removed


def _offered(ctx: Caller, session: WriteSession, finding: Finding) -> Applied:
    """Put the change of a finding into the inbox, if it has one to offer."""
    is_rule = finding.fixable  # a rule that would be mended, if a person had asked
    if finding.entry is None or not (finding.op or is_rule):
        why = "it takes a person at a terminal" if is_rule else "it takes your own hand"
        return Applied(finding, "left", why)
    proposal = _proposal(finding, finding.entry, ctx.now.date().isoformat())
    if proposal.replaces:
        _, occurrence = named(ctx.vault.note(finding.path), finding.entry)
        proposal = proposal._replace(occurrence=occurrence)
    return Applied(finding, "proposed", f"it waits for review as {inbox.keep(session, proposal.stored())}")


def _proposal(finding: Finding, entry: Entry, today: str) -> Proposal:
    """What a finding about an entry comes to."""
    asked = finding.conflicts
    if finding.op == "choose":
        day = max(each.date for each in asked) or today
        return question_about(entry.path, entry.section, asked, day, "", finding.words)._replace(source=TIDY)
    why = f"{finding.kind}: {finding.suggestion}"
    made = change_of_line(finding.op or "remove", entry, finding.words, today, why)
    return made._replace(conflicts=asked)


def _form(template: bytes | None) -> frozenset[str]:
    """The headings under which the daily template has an empty bullet, in lower case."""
    if template is None:
        return frozenset()
    document = Document(template)
    empty = [bullet.line for bullet in document.bullets if not bullet.worded or bullet.start == bullet.end]
    boxes = [bullet.line for bullet in document.bullets if document.data[bullet.start : bullet.end].strip() == b"[ ]"]
    return frozenset(document.section_at(line).title.casefold() for line in (*empty, *boxes))


def found_in(note: TidyNote, world: World) -> list[Finding]:
    """Everything to tidy in a note, in order of its lines."""
    return findings.numbered(found for find in (*FIXABLE, *OTHERS) for found in find(note, world))


def fixable(note: TidyNote, world: World) -> list[Finding]:
    """What of it ``--apply`` may mend by itself; with the same ids as :func:`found_in` gives."""
    every = findings.numbered(found for find in FIXABLE for found in find(note, world))
    return [found for found in every if found.fixable]


TIDIED = "Tidied.md"
"""The note in the archive that holds what was removed."""

INTRODUCTION = (
    b"<!-- Lines that tidy took out of the notes named here, by day; each still stands in its note once. -->\n"
)


def without(note: Note, found: Iterable[Finding]) -> tuple[bytes, list[Finding]]:
    """A note without the lines of some findings, from the last to the first, and the findings whose lines went. Pure.

    Args:
        note: as it is.
        found: findings about whole bullets of it.
    """
    went: list[Finding] = []
    for each in sorted(found, key=lambda finding: finding.line, reverse=True):
        if each.entry is None:
            splices = [_blank_bullet(note.document, each.line)]
        elif there := [entry for entry in note.raws.get(each.entry.raw, ()) if entry.line == each.entry.line]:
            splices = edits.remove_bullet(note, there[0])
        else:
            continue  # it went with another one
        new = note.saying(apply(note.data, splices))
        if _only_less(note, new, each):
            note = new
            went.append(each)
    return note.data, went[::-1]


def _blank_bullet(document: Document, line: int) -> Splice:
    """The line of a bullet without words, with the line ending that sets it apart."""
    start, end, after = document.lines[line - 1]
    if after == end and line > 1:
        return Splice(document.lines[line - 2].end, end, b"")
    return Splice(start, after, b"")


def _only_less(before: Note, after: Note, gone: Finding) -> bool:
    """Whether a note reads as it did, but for one bullet that is gone."""
    old, new = before.document, after.document
    had, has = (
        Counter((e.text, e.time, e.state, e.section, e.depth) for e in note.entries) for note in (before, after)
    )
    entry = gone.entry
    if entry is not None:
        had -= Counter([(entry.text, entry.time, entry.state, entry.section, entry.depth)])
    kinds, now = (Counter(block.kind for block in each.blocks if block.kind != "item") for each in (old, new))
    return (
        had == has
        and kinds == now
        and len(old.bullets) == len(new.bullets) + 1
        and [section.path for section in old.sections] == [section.path for section in new.sections]
    )


def _keep(ctx: Caller, session: WriteSession, path: str, gone: Sequence[Finding]) -> None:
    """Put the lines into the archive's note of removed lines; what an earlier run that was cut off put there counts."""
    if not gone:
        return
    layout = ctx.layout
    folder = path.split("/", 2)[:2] if layout.project_of(path) else []
    title = entries.heading(f"{ctx.now:%Y-%m-%d} {path}")
    wanted = [_bullet(each, timed=layout.timed(path)) for each in gone]

    def plan(data: bytes | None) -> Sequence[Splice]:
        start = new = data or b""
        there = Counter(_under(start, title))
        for bullet in wanted:
            if there[bullet]:
                there[bullet] -= 1
            else:
                new = _added(new, bullet, title)
        return edits.splices_between(start, new)

    session.write(layout.archived("/".join([*folder, TIDIED])), plan, create=INTRODUCTION)


def _bullet(finding: Finding, *, timed: bool) -> str:
    """The bullet on one line, with everything that belongs to it."""
    assert finding.entry is not None
    document = Document(finding.entry.raw.strip(" \t").encode("utf-8", "surrogateescape"))
    own = document.bullets[0]
    words = " ".join(document.data[own.start : own.end].decode("utf-8", "surrogateescape").split("\n"))
    return entries.render(entries.parse(words, timed=timed))


def _under(data: bytes, title: str) -> list[str]:
    """The lines under a heading."""
    document = Document(data)
    section = document.find_section(title)
    if section is None:
        return []
    return document.text(section.body_line, section.end_line).replace("\r\n", "\n").split("\n")


def _added(data: bytes, bullet: str, title: str) -> bytes:
    try:
        return apply(data, edits.insert_bullet(data, bullet, section=title))
    except TarsError:
        plain = f"- {entries.neutralise(bullet.removeprefix('- '))}"
        return apply(data, edits.insert_bullet(data, plain, section=title))
