"""``tidy --archive``: plans which daily notes past the window move to ``archive/``, and moves exactly those. For
``tidy --compress``, which moves old sessions and sums them up, see below.

A note moves only if no link breaks, neither to it nor from it: each link of the vault (in notes, canvases and
bookmarks) is followed before and after the move, and must lead to the same note by a way that still works.
"""

from __future__ import annotations

import os
import re
from calendar import monthrange
from datetime import date
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote

from tars_memory.curation.gather import offered
from tars_memory.errors import ConflictError, NotFoundError, TarsError, UnwritableError, UsageError, counted
from tars_memory.language import statements as grammar
from tars_memory.vault import secrets, sessions, suspicion, vault
from tars_memory.vault.links import Links, Outlink, files_of, links_by_source
from tars_memory.vault.markdown import entries
from tars_memory.vault.model import Splice, Tier
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import Plan, WriteSession


CHANGED = "it changed while it was moved: it stays, run it again"
"""Reason of a move that failed."""


class Archived(NamedTuple):
    """The plan, or the result, of ``tidy --archive`` or ``tidy --compress``.

    Attributes:
        plan: a step for each old note, oldest first.
        txn: the transaction, for ``undo``; None if nothing was written.
        moved: paths of the notes that were moved.
        notices: sentences for the person.
        failed: whether a note of the plan could not be moved.
        summaries: for ``--compress``, one for each period; None for ``--archive``.
    """

    plan: list[OldNote]
    txn: str | None
    moved: list[str]
    notices: list[str]
    failed: bool = False
    summaries: list[PeriodSummary] | None = None

    @property
    def moves(self) -> list[OldNote]:
        """The steps that move their notes, or would."""
        return [step for step in self.plan if step.action == "move"]

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        summaries = {} if self.summaries is None else {"summaries": self.summaries}
        return {"txn": self.txn, "plan": self.plan, **summaries, "moved": self.moved, "notices": self.notices}


def archive(ctx: Caller, *, apply: bool = False, most: int | None = None) -> Archived:
    """Plan which daily notes to archive; with ``apply`` move them, in one transaction.

    Nothing is deleted, and no byte of any note changes. The plan is made again under the lock.

    Args:
        ctx: the command's view of the vault.
        apply: move the notes.
        most: move none if the plan moves more notes than this; None: any number.

    Raises:
        UsageError: the vault's daily note format can't be used.
        UnwritableError: the vault can't be written.
    """
    if ctx.layout.problem:
        raise ctx.layout.problem
    steps = survey_days(ctx)
    planned = Archived(steps, None, [], ctx.notices)
    too_many = most is not None and len(planned.moves) > most
    if not apply or too_many or not (planned.moves or ctx.store.pending()):
        return planned
    with ctx.writing("tidy", None, atomic=True) as session:
        steps = survey_days(ctx)
        done = [_move(session, step) if step.action == "move" else step for step in steps]
        txn = session.txn
    failed = any(step.action != did.action for step, did in zip(steps, done, strict=True))
    moved = [step.path for step in done if step.action == "move"]
    return Archived(done, txn, moved if txn else [], ctx.notices, failed)


def survey_days(ctx: Caller) -> list[OldNote]:
    """Return a step for each daily note of our scope past the window, oldest first, from all links of the vault."""
    days = ((ctx.layout.day_of(path), path) for path in ctx.vault.tier_paths(Tier.DAILY))
    old = sorted((day, path) for day, path in days if day and _is_past_window(ctx, path, day))
    if not old:
        return []
    waiting = {path for path, _ in offered(ctx)}
    steps = [_step(ctx, path, day, WAITING if path in waiting else "") for day, path in old]
    return _unless_linked(ctx.vault, files_of(ctx.vault), steps)


def _is_past_window(ctx: Caller, path: str, day: date) -> bool:
    """Whether a daily note belongs in the archive: it is past the window and not archived."""
    in_place = not (ctx.layout.is_archived(path) or ctx.layout.is_template(path))
    return in_place and (ctx.now.date() - day).days > ctx.settings.tidy.daily_days


def _step(ctx: Caller, path: str, day: date, waits: str) -> OldNote:
    """Return the step for an old daily note, links aside.

    Args:
        ctx: the command's view of the vault.
        path: of the note.
        day: of the note.
        waits: why the note has to wait; empty if it need not.
    """
    to = ctx.layout.archived(path)
    if reason := _day_obstacle(ctx, path, to, day) or waits:
        return OldNote(path, to, "keep", reason)
    age = f"{counted((ctx.now.date() - day).days, 'day')} old"
    return OldNote(path, to, "move", age if ctx.vault.look(to) is None else CUT_OFF)


def _day_obstacle(ctx: Caller, path: str, to: str, day: date) -> str:
    """Return why a daily note can't move to the archive; empty if it can."""
    layout = ctx.layout
    try:
        data = ctx.vault.read(path)
    except TarsError as error:
        return error.message
    if layout.day_of(to) != day or layout.tier_of(to) is not Tier.DAILY or layout.is_template(to):
        return f"{to} would not be a daily note in this vault"
    return why_taken(ctx, to, data)


def why_taken(ctx: Caller, to: str, data: bytes) -> str:
    """Return why a note with these bytes can't move to a path; empty if it can, or the same note is there already."""
    try:
        same = ctx.vault.read(to) == data
    except NotFoundError:
        return f"{to} is a link or not a file" if os.path.lexists(ctx.vault.root / to) else ""
    except TarsError as error:
        return error.message
    return "" if same else f"{to} already exists and says something else"


def _move(session: WriteSession, step: OldNote) -> OldNote:
    """Move a note; return the step as it was done: if the move failed, ``keep`` with the reason."""
    try:
        if session.move(step.path, step.to):
            return step
    except UnwritableError as error:
        return step._replace(action="keep", reason=error.message)
    return step._replace(action="keep", reason=CHANGED)


WAITING = "lines in it still wait for review"
CUT_OFF = "its copy in the archive is the same: an interrupted move is finished"
"""Reasons to keep a note, and to move one whose copy is in the archive already."""


class OldNote(NamedTuple):
    """The step of a plan for one daily note or session that is old enough.

    Attributes:
        path: where it is.
        to: where it moves, or would move.
        action: ``move`` or ``keep``.
        reason: why, in words.
        period: of a session, its month or year; empty for one without a date; None for a daily note.
        day: of a session; the earliest of all for one without a date.
        data: of a session, the note.
        statements: of a session, in the order of the note.
        left_out: number of bullets of a session that were rejected, are done, too long, or contain a credential.
    """

    path: str
    to: str
    action: Literal["move", "keep"]
    reason: str
    period: str | None = None
    day: date = date.min
    data: bytes = b""
    statements: Sequence[SessionStatement] = ()
    left_out: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("path", "to", "period", "action", "reason")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def _unless_linked(vault: Vault, files: Collection[str], steps: list[OldNote]) -> list[OldNote]:
    """Return the steps of a plan; a note whose move would break a link to it or from it stays.

    Args:
        vault: whose links are followed.
        files: the paths of all files of the vault.
        steps: of the plan.
    """
    moves = {step.path: step.to for step in steps if step.action == "move"}
    reasons: dict[str, str] = {}
    links = _affected(links_by_source(vault, files), moves) if moves else []
    while broken := _broken(links, files, moves):
        reasons |= broken
        moves = {path: to for path, to in moves.items() if path not in broken}
    return [step._replace(action="keep", reason=reasons[step.path]) if step.path in reasons else step for step in steps]


def _affected(outgoing: Mapping[str, Collection[Outlink]], moves: Mapping[str, str]) -> list[tuple[str, Outlink]]:
    """Return the links that a move could affect, with their sources: those in a moved note, and those to its name."""
    names = {_name(path) for path in moves}
    return [
        (source, link)
        for source, links in outgoing.items()
        for link in links
        if source in moves or _name(link.target) in names
    ]


def _broken(links: Sequence[tuple[str, Outlink]], files: Collection[str], moves: Mapping[str, str]) -> dict[str, str]:
    """Return the notes whose moves would break one of the links, with the reasons; empty if none would."""
    before, after = Links(files), Links(moves.get(path, path) for path in files)
    moved_from = {to: path for path, to in moves.items()}
    reasons: dict[str, str] = {}
    for source, link in links:
        way, target = before.follow(link, source)
        if target is None:
            continue
        new_way, new_target = after.follow(link, moves.get(source, source))
        if new_target == moves.get(target, target) and (way == new_way or way == "name"):
            continue
        if target in moves:
            reasons.setdefault(target, f"{source} links to it by its path: {link}")
        elif source in moves:
            reasons.setdefault(source, f"its own link {link} would lead nowhere or elsewhere")
        elif new_target in moved_from:
            reason = f"the link {link} in {source} would lead to it instead of {target}"
            reasons.setdefault(moved_from[new_target], reason)
    return reasons


def _name(path: str) -> str:
    """Return the name that a path or a link's target ends with, folded, without ``.md``."""
    name = path.replace("\\", "/").rpartition("/")[2].casefold().strip()
    return name.removesuffix(".md")


# --- ``tidy --compress``: old sessions move to ``archive/``, and a summary of each month or year takes their place
#
# The plan comes first: which sessions are old, which of them can move, and every word of each summary. The statements
# of the sessions are read, repeats are merged, and the most important ones make the summary: verbatim, decisions and
# promoted statements first, up to a limit. Those that find no room are counted; they stay in the originals. Applying
# the plan is one transaction, all of it or nothing: it moves the sessions, without changing a byte of them, and writes
# the summaries.
#
# ``sessions/2025-03 summary.md`` is the summary of that month. Its front matter has the ``period``. Every statement is
# a bullet with its sources nested under it. The note is the person's like any other: once written, it is never
# changed; sessions that are summarised later get another one.


NOT_ALLOWED = "only a person at a terminal may move sessions"
ALLOW = "run it there, or set unattended_compress = true under [permissions] in your own configuration"
"""Message and hint if the caller may not move sessions."""
NO_DATE = "neither its name nor its front matter has a date"
"""Reason to keep a session that no period can be found for."""

_STATE = re.compile(
    rb"(?m)(?:^|(?<=\r))[ \t]*[-*+][ \t]+(?:\d{1,2}:\d\d[ \t]+)?\[(extracted|promoted|rejected|expired)\](?!\S)"
    rb"[^\r\n]*[ \t]\^([A-Za-z0-9-]{1,100})[ \t]*(?=[\r\n]|\Z)"
)
"""A candidate's line in a daily note, with its state and its block id."""

KINDS = {"decision": "Decisions", "fact": "Facts", "open end": "Open ends", "topic": "Topics"}
"""Section title by kind of statement, in the order of the note."""

SOURCES = "Sessions"
"""The section that links to the sessions."""

TAG = "session-summary"
FROM = "from:: "
"""Beginning of the bullet under a statement that links to its sessions."""

BY = ("month", "year")
"""Periods to group sessions by."""

LONGEST = 500
"""Maximum number of characters of a statement, as in a model's answer; a longer text stays in the original only."""

PASSED_OVER = frozenset({"summary", "tools", "turns", SOURCES.casefold()})
"""Sections of a session note without statements. Bullets of sections not known otherwise are facts."""

MOST_ORIGINS = 8
"""Maximum number of links below a statement that was made many times; the first ones are kept."""

_DONE = re.compile(r"\[[xX-]\]")
_NAME_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


def compress(
    ctx: Caller, *, by: str | None = None, before: date | None = None, apply: bool = False, allowed: bool = False
) -> Archived:
    """Plan which sessions to archive, and the summaries that take their place; with ``apply`` carry out the plan.

    Args:
        ctx: the command's view of the vault.
        by: ``month`` or ``year``; None for the setting.
        before: sessions before this day; None for those whose period ended long enough ago.
        apply: carry out the plan, in one transaction.
        allowed: whether the caller may apply it.

    Raises:
        UsageError: the caller may not apply it, there is no such period, or the vault's daily note format can't be
            used.
        ConflictError: a note changed in the meantime; nothing was written.
        UnwritableError: a note can't be written; nothing was written.
    """
    by = by or ctx.settings.tidy.session_period
    if by not in BY:
        raise UsageError(f"sessions can't be grouped by {by!r}", f"it is one of {', '.join(BY)}")
    if apply and not allowed:
        raise UsageError(NOT_ALLOWED, ALLOW)
    if ctx.layout.problem:
        raise ctx.layout.problem
    if apply and not ctx.store.dry_run and ctx.store.pending():
        ctx.store.recover()  # plan from a vault that no killed run has left half changed
    planned = survey(ctx, by, before)
    summaries = propose(ctx, planned)
    if not apply or not (summaries or ctx.store.pending()):
        return Archived(planned.steps, None, [], ctx.notices, summaries=summaries)
    with ctx.writing("tidy", None, atomic=True) as session:
        current = survey(ctx, by, before)
        if current != planned and all(step.action == "keep" for step in current.steps):
            return Archived(current.steps, None, [], ctx.notices, summaries=[])  # another process did it meanwhile
        if current != planned:
            raise ConflictError(
                "sessions changed while they were being summarised", "run it again; nothing was written"
            )
        moved = _move_sessions(session, planned)
        for summary in summaries:
            session.write(summary.path, _plan(summary))
        txn = session.txn
    return Archived(planned.steps, txn, moved if txn else [], ctx.notices, summaries=summaries)


def _move_sessions(session: WriteSession, planned: Survey) -> list[str]:
    """Move the sessions of a plan, and return their paths.

    Raises:
        ConflictError: a session has changed since it was summarised.
    """
    moved = []
    for step in planned.steps:
        if step.action != "move":
            continue
        if session.read(step.path) != step.data or not session.move(step.path, step.to):
            raise ConflictError(f"{step.path} changed while it was moved", "run it again; nothing was written")
        moved.append(step.path)
    return moved


def _plan(summary: PeriodSummary) -> Plan:
    """Return the write of a summary; it raises :class:`ConflictError` if another note was made there meanwhile."""

    def plan(data: bytes | None) -> Sequence[Splice]:
        if data is not None:
            raise ConflictError(f"{summary.path} was created in the meantime", "run it again; nothing was written")
        return (Splice(0, 0, summary.text.encode()),)

    return plan


class PeriodSummary(NamedTuple):
    """The summary of one period.

    Attributes:
        period: ``2025-03`` or ``2025``.
        path: of the note.
        sessions: number of sessions that it summarises.
        statements: number of its statements.
        left_out: number of statements that found no room; they stay in the originals.
        passed_over: number of bullets that were rejected in review, are done, too long, or contain a credential.
        text: the note.
    """

    period: str
    path: str
    sessions: int
    statements: int
    left_out: int
    passed_over: int
    text: str

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {"period": self.period, "path": self.path, "action": "make", **self._asdict()}


def propose(ctx: Caller, seen: Survey) -> list[PeriodSummary]:
    """Return the summaries of the sessions that move, oldest period first."""
    by_period: dict[str, list[OldNote]] = {}
    for step in seen.steps:
        if step.action != "keep":
            by_period.setdefault(step.period or "", []).append(step)
    link, lines = _linker(seen) if by_period else str, ctx.settings.tidy.summary_lines
    return [_proposed(_free_path(ctx, period), by_period[period], lines, link) for period in sorted(by_period)]


def _proposed(path: str, sessions: list[OldNote], limit: int, link: Callable[[str], str]) -> PeriodSummary:
    """Return the summary of some sessions of one period."""
    groups = merged(statement for session in sessions for statement in session.statements)
    chosen = weightiest(groups, limit)
    left_out, passed_over = len(groups) - len(chosen), sum(session.left_out for session in sessions)
    period, day = sessions[0].period or "", max(session.day for session in sessions)
    lines = ["---", f"date: {day}", f'title: "Sessions of {period}"', f"period: {period}", 'by: "rules"']
    lines += [f"left_out: {left_out}", f"tags: [{TAG}]", "---"]
    blocks = {
        title: [_statement(group, link) for group in chosen if group[0].kind == kind] for kind, title in KINDS.items()
    }
    for title, bullets in (blocks | {SOURCES: [_source(session, link) for session in sessions]}).items():
        if bullets:
            lines += ["", f"## {title}", "", *bullets]
    text = "\n".join([*lines, ""]).encode("utf-8", "replace").decode()
    return PeriodSummary(period, path, len(sessions), len(chosen), left_out, passed_over, text)


def _statement(group: Sequence[SessionStatement], link: Callable[[str], str]) -> str:
    """Return the bullet of a statement, linked to the first daily line that has it, with links to every session below.

    Args:
        group: the statement each time that it was made, at least once, by one author.
        link: makes the link to a session from its path.
    """
    first = next((statement for statement in group if statement.source), group[0])
    talks = dict.fromkeys(link(statement.path) for statement in group)
    blocks = dict.fromkeys(f"[[{s.source}|{s.day}]]" for s in group if s.source and s.source != first.source)
    links = [*talks, *blocks]
    more = [f"and {len(links) - MOST_ORIGINS} more"] if len(links) > MOST_ORIGINS else []
    label = first.day if first.source else None
    parts = entries.Parts(group[0].text, provenance=first.source or None, label=label, author=first.author or None)
    return f"{entries.render(parts)}\n  - {FROM}{', '.join([*links[:MOST_ORIGINS], *more])}"


def _source(session: OldNote, link: Callable[[str], str]) -> str:
    """Return the bullet of a session, with its number of examined turns if that is known."""
    turns = sessions.number_in(session.data, "turns")
    return f"- {session.day} {link(session.path)}" + (f" ({counted(turns, 'turn')})" if turns else "")


def _linker(seen: Survey) -> Callable[[str], str]:
    """Return a function that makes, of a session's path, the link to the session in the archive."""
    to = {step.path: step.to for step in seen.steps if step.action != "keep"}
    links = Links({to.get(path, path) for path in seen.files})

    def link(path: str) -> str:
        target = to[path]
        name = links.name_of(target)
        if any(char in name for char in "#^[]|") or name.strip() != name or not name.isprintable():
            label = entries.visible(name.rpartition("/")[2].translate(_NO_BRACKETS))
            return f"[{label}]({quote(target, errors='surrogateescape')})"
        return f"[[{name}]]"

    return link


_NO_BRACKETS = {ord("["): "(", ord("]"): ")"}


class Survey(NamedTuple):
    """The old sessions of a scope: oldest first, then those without a date; and the paths of all files of the vault."""

    steps: list[OldNote]
    files: frozenset[str]


def survey(ctx: Caller, by: str, before: date | None) -> Survey:
    """Read the sessions of our scope, and plan what to do with the old ones.

    Args:
        ctx: the command's view of the vault; nothing is written.
        by: ``month`` or ``year``.
        before: as for :func:`compress`.
    """
    found = _read(ctx)
    days = {path: day_of(path, data) for path, data in found.items()}
    undated = [OldNote(path, ctx.layout.archived(path), "keep", NO_DATE, "") for path in days if days[path] is None]
    old = {path: day for path, day in days.items() if day is not None and _is_old(ctx, day, by, before)}
    if not old:
        return Survey(undated, frozenset())
    files, states = files_of(ctx.vault), _states(ctx.vault)
    still_offered = cache(lambda: {name for _, name in offered(ctx)})
    steps: list[OldNote] = []
    for path, day in old.items():
        period, data = day.isoformat()[: 7 if by == "month" else 4], found[path]
        statements, waiting, left_out = read_session(path, data, day, states)
        why_kept = WAITING if any(name in still_offered() for name in waiting) else _obstacle(ctx, path, data)
        reason = why_kept or f"{counted((ctx.now.date() - day).days, 'day')} old"
        step = OldNote(path, ctx.layout.archived(path), "keep" if why_kept else "move", reason, period, day, data)
        steps.append(step._replace(statements=statements, left_out=left_out))
    steps = _unless_linked(ctx.vault, files, steps)
    return Survey([*sorted(steps, key=lambda step: (step.day, step.path)), *undated], files)


def _is_old(ctx: Caller, day: date, by: str, before: date | None) -> bool:
    """Whether a session of a day is old: before a given day (and before today), or its period ended long enough ago."""
    today = ctx.now.date()
    if before is not None:
        return day < min(before, today)
    return (today - last_day(day, by)).days > ctx.settings.tidy.session_days


def _read(ctx: Caller) -> dict[str, bytes]:
    """Return the session notes of our scope that are not archived, without summaries: data by path. A notice names each
    note that can't be read.
    """
    layout = ctx.layout
    ours = sorted(ctx.vault.tier_paths(Tier.EPISODIC))
    paths = (path for path in ours if not layout.is_archived(path) and not layout.is_template(path))
    return {note.path: note.data for note in ctx.notes(paths) if not summarised(note.data)}


def summarised(data: bytes) -> str:
    """Return the period of a summary, from its front matter, without parsing the note; empty for any other note."""
    head = sessions.front_of(data)
    if b"source_hash" in head or TAG.encode() not in head:
        return ""
    return sessions.front_value(data, "period", rf"\d{{4}}(?:-\d\d)?{sessions.ENDS}")


def is_named(path: str) -> bool:
    """Whether the name of a note is that of a summary."""
    return re.fullmatch(r"\d{4}(?:-\d\d)? summary(?: \d+)?\.md", path.rpartition("/")[2]) is not None


def _free_path(ctx: Caller, period: str) -> str:
    """Return a path for a new summary, where no file is."""
    names = (f"{period} summary{f' {number}' if number > 1 else ''}.md" for number in count(1))
    paths = (f"{ctx.layout.sessions}/{name}" for name in names)
    return next(path for path in paths if not os.path.lexists(ctx.vault.root / path))


def _obstacle(ctx: Caller, path: str, data: bytes) -> str:
    """Return why a session can't move to its place in the archive; empty if it can."""
    layout = ctx.layout
    to = layout.archived(path)
    if not layout.is_archived(to) or layout.tier_of(to) is not Tier.EPISODIC or layout.is_template(to):
        return f"{to} would not be a session in this vault"
    if vault.has_markers(data):
        return "it has unresolved conflict markers (<<<<<<<)"
    if not all(os.access(place, os.W_OK) for place in (ctx.vault.root / path, (ctx.vault.root / path).parent)):
        return "it may not be moved: it is write-protected"
    return why_taken(ctx, to, data)


def _states(vault: Vault) -> dict[str, str]:
    """Return the states of the candidates of our scope by block id in lower case, from their lines in daily notes."""
    daily = vault.readable(vault.tier_paths(Tier.DAILY))
    found = (row for _, data in daily for row in _STATE.finditer(data))
    return {row[2].decode("ascii").lower(): row[1].decode("ascii") for row in found}


class SessionStatement(NamedTuple):
    """One statement of a session.

    Attributes:
        kind: a key of :data:`KINDS`.
        text: its words, neutralised.
        day: of the session, ``YYYY-MM-DD``.
        path: of the session, before it is moved.
        source: target of the link to the daily line; empty for none.
        turn: number of the turn it was said in; 0 if that is not known.
        promoted: whether the person accepted it into the memory.
        author: whose words they are, if the line names an author; else empty.
    """

    kind: str
    text: str
    day: str
    path: str
    source: str = ""
    turn: int = 0
    promoted: bool = False
    author: str = ""


def day_of(path: str, data: bytes) -> date | None:
    """Return the day of a session, from its name or else from its front matter; None if neither has one."""
    in_name = _NAME_DAY.match(path.rpartition("/")[2])
    for text in (in_name[0] if in_name else "", sessions.front_value(data, "date", sessions.DAY)):
        try:
            return date.fromisoformat(text)
        except ValueError:
            continue
    return None


def last_day(day: date, by: str) -> date:
    """Return the last day of the month or year of a day."""
    if by == "year":
        return date(day.year, 12, 31)
    return day.replace(day=monthrange(day.year, day.month)[1])


def read_session(
    path: str, data: bytes, day: date, states: Mapping[str, str]
) -> tuple[list[SessionStatement], list[str], int]:
    """Return the statements of one session.

    Args:
        path: of its note.
        data: the note.
        day: of the session.
        states: the states of candidates, by the block id of their line, in lower case.

    Returns:
        The statements in the order of the note; block ids of its candidates that are still undecided; and the number of
        bullets that were rejected, are done, too long, or contain a credential.
    """
    statements: list[SessionStatement] = []
    waiting: list[str] = []
    left_out = 0
    titles = {title.casefold(): kind for kind, title in KINDS.items()}
    own = path.rpartition("/")[2].removesuffix(".md")
    for entry, fact in sessions.facts_of(Note(path, data).entries, None):
        section = entry.section.casefold()
        if section in PASSED_OVER:
            continue
        name = fact.source.partition("#^")[2].lower()
        state = states.get(name, entry.state or "")
        if state == "extracted" and name:
            waiting.append(name)
        kind = titles.get(section, "fact")
        text = _words(entry.text, kind) if state != "rejected" else ""
        if not text:
            left_out += 1
            continue
        source = fact.source or (f"{own}#^{entry.block_id}" if entry.block_id else "")
        promoted, author = state == "promoted", entry.author or ""
        statements.append(
            SessionStatement(kind, text, day.isoformat(), path, source, fact.turn, promoted=promoted, author=author)
        )
    return statements, waiting, left_out


def merged(found: Iterable[SessionStatement]) -> list[list[SessionStatement]]:
    """Group statements of the same kind, author and words; the groups, and each of them, in the order of the days."""
    groups: dict[tuple[str, str, object], list[SessionStatement]] = {}
    for statement in sorted(found, key=lambda statement: (statement.day, statement.path)):
        parsed = grammar.read(statement.text)
        words = (parsed.words, parsed.tags) if parsed.words else statement.text
        groups.setdefault((statement.kind, statement.author, words), []).append(statement)
    return [*groups.values()]


def weightiest(found: Sequence[list[SessionStatement]], limit: int) -> list[list[SessionStatement]]:
    """Return the ``limit`` most important groups of statements, in their order.

    Decisions and promoted statements come first, then other facts, open ends, topics; within each kind those that were
    made most often, then the newest.
    """
    kinds = list(KINDS)

    def rank(group: list[SessionStatement]) -> tuple[int, int, int]:
        first = group[0].kind == "decision" or any(statement.promoted for statement in group)
        newest = date.fromisoformat(group[-1].day).toordinal()
        return 0 if first else kinds.index(group[0].kind), -len(group), -newest

    kept = {id(group) for group in sorted(found, key=rank)[: max(limit, 0)]}
    return [group for group in found if id(group) in kept]


def _words(text: str, kind: str) -> str:
    """Return a bullet's words for a summary; empty for an open end that is done, a long text, or a credential."""
    box = entries.task(text)
    if box and kind == "open end" and _DONE.match(box):
        return ""
    text = text.removeprefix(box)
    if len(text) > LONGEST:
        return ""
    if suspicion.suspicious(text) and secrets.find(text):
        return ""
    try:
        return entries.neutralise(text)
    except UsageError:
        return ""
