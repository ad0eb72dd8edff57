"""``tidy --compress``: old sessions go to ``archive/``, and a summary of each month or year takes their place.

First a proposal: which sessions, which of them may go, which grew in the archive since, and every word of each summary.
What the sessions say is read statement by statement, repeats are merged, and the weightiest are the summary: each
verbatim, decisions and what the person promoted first, as many as it may hold. What found no room is counted; the
originals keep it. What a person then applies is one transaction, all of it or nothing: the sessions moved, not a byte
of them changed, and the summaries written.
"""

from __future__ import annotations

import os
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import quote

from tars_memory.curation.gather import offered
from tars_memory.curation.tidying.archive import WAITING, held_by_links, taken
from tars_memory.errors import ConflictError, TarsError, UsageError, counted
from tars_memory.language import statements as grammar
from tars_memory.vault import secrets, sessions, summaries as notes, suspicion, vault
from tars_memory.vault.links import Links, files_of, links_by_source
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.model import Splice, Tier
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.summaries import SummaryLine
    from tars_memory.vault.writing.store import Plan, WriteSession


NOT_ALLOWED = "moving sessions takes a person at a terminal"
ALLOW = "run it there, or set unattended_compress = true under [permissions] in your own configuration"
NO_DATE = "it says no day, neither its name nor its front matter"

_STATE = re.compile(
    rb"(?m)(?:^|(?<=\r))[ \t]*[-*+][ \t]+(?:\d{1,2}:\d\d[ \t]+)?\[(extracted|promoted|rejected|expired)\](?!\S)"
    rb"[^\r\n]*[ \t]\^([A-Za-z0-9-]{1,100})[ \t]*(?=[\r\n]|\Z)"
)
"""A candidate's line in a daily note, with its state and its block id."""

BY = ("month", "year")
"""What sessions are grouped by."""

LONGEST = 500
"""Characters of a statement, as for what a model says; longer ones are texts, and stay in the original alone."""

PASSED_OVER = frozenset({"summary", "tools", "turns", notes.SOURCES.casefold()})
"""Sections of a session note that hold no statements; bullets elsewhere count as facts."""

MOST_ORIGINS = 8
"""Links under a statement that was made again and again; the first ones."""

_DONE = re.compile(r"\[[xX-]\]")
_NAME_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")

RULES = "rules"
"""Who sums up, as the note says it; older ones may name a model."""


class Compressed(NamedTuple):
    """What ``tidy --compress`` proposes, or did.

    Attributes:
        txn: the transaction that ``undo`` takes; None if nothing was written.
        plan: a step for each session that is old, oldest first; those that grew in the archive among them.
        summaries: one for each period.
        moved: paths of the sessions that were moved.
        notices: what the person should know.
    """

    txn: str | None
    plan: list[SessionMove]
    summaries: list[Proposed]
    moved: list[str]
    notices: list[str]


def compress(
    ctx: Caller,
    *,
    by: str | None = None,
    before: date | None = None,
    apply: bool = False,
    allowed: bool = False,
) -> Compressed:
    """Plan which sessions go to the archive, and what is to take their place; with ``apply`` do it.

    Args:
        ctx: the command's view of the vault.
        by: ``month`` or ``year``; None for what is set.
        before: sessions before this day; None for those whose period ended long enough ago.
        apply: write, in one transaction that is done as a whole or not at all.
        allowed: whether whoever asks may apply it.

    Raises:
        UsageError: it may not be applied, there is no such period, or the vault's daily note format can't be used.
        ConflictError: a note changed in the meantime; nothing was written.
        UnwritableError: a note can't be written; nothing was.
    """
    by = by or ctx.settings.tidy.session_period
    if by not in BY:
        raise UsageError(f"sessions can't be grouped by {by!r}", f"it is one of {', '.join(BY)}")
    if apply and not allowed:
        raise UsageError(NOT_ALLOWED, ALLOW)
    if ctx.layout.problem:
        raise ctx.layout.problem
    if apply and not ctx.store.dry_run and ctx.store.pending():
        ctx.store.recover()  # what a killed run left must not be taken for the vault
    seen = survey(ctx, by, before)
    summaries = propose(ctx, seen)
    if not apply or not (summaries or ctx.store.pending()):
        return Compressed(None, seen.steps, summaries, [], ctx.notices)
    with ctx.writing("tidy", None, atomic=True) as session:
        now = survey(ctx, by, before, last=seen)
        if now != seen and all(step.action == "keep" for step in now.steps):
            return Compressed(None, now.steps, [], [], ctx.notices)  # another process did it meanwhile
        if now != seen:
            raise ConflictError("sessions changed while they were summed up", "run it again; nothing was written")
        moved = _moved(session, seen)
        for each in summaries:
            session.write(each.path, _plan(each))
        txn = session.txn
    return Compressed(txn, seen.steps, summaries, moved if txn else [], ctx.notices)


def _moved(session: WriteSession, seen: Survey) -> list[str]:
    """Move what is to move; one note that is no longer what was summed up stops it all."""
    moved = []
    for step in seen.steps:
        if step.action != "move":
            continue
        if session.read(step.path) != seen.notes[step.path].data or not session.move(step.path, step.to):
            raise ConflictError(f"{step.path} changed while it was moved", "run it again; nothing was written")
        moved.append(step.path)
    return moved


def _plan(each: Proposed) -> Plan:
    """The write of a summary; an existing one must still be what the additions were made for."""

    def plan(data: bytes | None) -> Sequence[Splice]:
        if (data or b"") != each.base:
            raise ConflictError(f"{each.path} changed in the meantime", "run it again; nothing was written")
        return each.splices

    return plan


class Proposed(NamedTuple):
    """The summary of one period, new or added to.

    Attributes:
        period: ``2025-03`` or ``2025``.
        path: of the note.
        sessions: how many go into it.
        statements: how many it is given.
        left_out: statements that found no room; the originals keep them.
        passed_over: bullets that were rejected in review, are done, too long, or hold a credential.
        base: the note as it is; empty for a new one.
        splices: what to change in it.
    """

    period: str
    path: str
    sessions: int
    statements: int
    left_out: int
    passed_over: int
    base: bytes
    splices: tuple[Splice, ...]

    @property
    def text(self) -> str:
        """The words that the note is to hold, or that are added to it."""
        if not self.base:
            return apply(b"", list(self.splices)).decode("utf-8", "replace")
        return "".join(splice.data.decode("utf-8", "replace") for splice in self.splices)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        counts = {name: getattr(self, name) for name in ("sessions", "statements", "left_out", "passed_over", "text")}
        return {"period": self.period, "path": self.path, "action": "add" if self.base else "make", **counts}


def propose(ctx: Caller, seen: Survey) -> list[Proposed]:
    """The summaries of what was found, oldest period first.

    Raises:
        ConflictError: a summary that is there takes nothing more.
    """
    by_path: dict[str, list[Aged]] = {}
    for step in seen.steps:
        if step.action != "keep":
            each = seen.notes[step.path]
            by_path.setdefault(each.summary, []).append(each)
    link, lines = _linker(seen) if by_path else str, ctx.settings.tidy.summary_lines
    order = sorted(by_path, key=lambda path: (by_path[path][0].period, path))
    return [
        _proposed(path, by_path[path], ctx.vault.read(path) if path in seen.files else b"", lines, link)
        for path in order
    ]


def _proposed(path: str, sessions: list[Aged], base: bytes, limit: int, link: Callable[[str], str]) -> Proposed:
    """The summary of one period: what its sessions say that it does not hold yet."""
    held = notes.read(base).texts if base else frozenset[str]()
    told = [
        one
        for each in sessions
        for one in each.told.statements
        if not each.since or not one.turn or one.turn > each.since
    ]
    said = [each for each in merged(told) if each[0].text not in held]
    chosen = weightiest(said, max(0, limit - len(held)))
    left_out = len(said) - len(chosen)
    sources = tuple(
        notes.SummarySource(each.day.isoformat(), link(each.path), notes.number_in(each.data, "turns"))
        for each in sessions
    )
    day = max(each.day for each in sessions).isoformat()
    told_lines = tuple(summary_line(each, link) for each in chosen)
    summary = notes.Summary(sessions[0].period, day, RULES, told_lines, sources, left_out)
    try:
        splices = notes.add(base, summary) if base else [Splice(0, 0, notes.render(summary))]
    except ConflictError as error:
        raise ConflictError(f"{path} takes nothing more: {error.message}", error.hint) from error
    passed_over = sum(each.told.left_out for each in sessions)
    counts = (len(sessions), len(chosen), left_out, passed_over)
    return Proposed(sessions[0].period, path, *counts, base, tuple(splices))


def _linker(seen: Survey) -> Callable[[str], str]:
    """From a session's path to the link that leads to it in the archive."""
    to = {step.path: step.to for step in seen.steps if step.action != "keep"}
    links = Links({to.get(path, path) for path in seen.files})

    def link(path: str) -> str:
        place = to[path]
        name = links.name_of(place)
        if any(sign in name for sign in "#^[]|") or name.strip() != name or not name.isprintable():
            label = entries.visible(name.rpartition("/")[2].translate(_NO_BRACKETS))
            return f"[{label}]({quote(place, errors='surrogateescape')})"
        return f"[[{name}]]"

    return link


_NO_BRACKETS = {ord("["): "(", ord("]"): ")"}


Action = Literal["move", "add", "keep"]


class SessionMove(NamedTuple):
    """What is to happen to one old session.

    Attributes:
        path: where it is.
        to: where it goes, or is already.
        period: its month or year; empty for a session without a date.
        action: ``move``; ``add`` (it is in the archive, and grew since); ``keep``.
        reason: in words.
    """

    path: str
    to: str
    period: str
    action: Action
    reason: str


class Aged(NamedTuple):
    """One old session.

    Attributes:
        path: where it is.
        data: the note.
        day: of the session.
        period: its month or year.
        summary: path of the summary that it goes into.
        since: turns that are summed up already; 0 for all of it.
        told: what it says.
    """

    path: str
    data: bytes
    day: date
    period: str
    summary: str
    since: int
    told: SessionDigest


class Survey(NamedTuple):
    """What was found.

    Attributes:
        steps: for each old session, oldest first.
        notes: the sessions by their paths, those with a step.
        files: the paths of all files of the vault.
        states: what became of candidates, by block id.
    """

    steps: list[SessionMove]
    notes: dict[str, Aged]
    files: frozenset[str]
    states: dict[str, str]


def survey(ctx: Caller, by: str, before: date | None, *, last: Survey | None = None) -> Survey:
    """Look at the sessions of our scope, and plan.

    Args:
        ctx: the command's view of the vault; nothing is written.
        by: what they are grouped by.
        before: as for :func:`compress`.
        last: what a look a moment ago found: what has not changed since need not be parsed again.
    """
    today = ctx.now.date()
    sessions, summaries = _read(ctx)
    old: dict[str, date] = {}
    reasons: dict[str, str] = {}
    undated: list[SessionMove] = []
    for path, data in sessions.items():
        day = day_of(path, data)
        if day is None:
            undated.append(SessionMove(path, ctx.layout.archived(path), "", "keep", NO_DATE))
        elif _is_old(ctx, day, by, before):
            old[path] = day
    grown = dict(_grown(ctx, summaries))
    if not old and not grown:
        return Survey(undated, {}, frozenset(), {})
    files = files_of(ctx.vault)
    states = _States(ctx)
    aged: dict[str, Aged] = {}
    known = last.notes if last is not None and last.states == states.words else {}

    def told(path: str, data: bytes, day: date) -> SessionDigest:
        held = known.get(path)
        if held is not None and (held.data, held.day) == (data, day):
            return held.told
        return read_session(path, data, day, states.words)

    for path, day in old.items():
        period = period_of(day, by)
        summary = summaries.get(period) or _free(ctx, period)
        said = told(path, sessions[path], day)
        aged[path] = Aged(path, sessions[path], day, period, summary, 0, said)
        obstacle = WAITING if states.open(said) else _obstacle(ctx, path, sessions[path])
        if obstacle:
            reasons[path] = obstacle
    moves = {path: ctx.layout.archived(path) for path in old if path not in reasons}
    if moves:
        reasons |= held_by_links(moves, links_by_source(ctx.vault, files), files)
    for path, (summary, period, since, data) in grown.items():
        day = day_of(path, data)
        said = told(path, data, day or today)
        if day is not None and not states.open(said):
            aged[path] = Aged(path, data, day, period, summary, since, said)
    order = sorted(aged.values(), key=lambda each: (each.day, each.path))
    return Survey([*(_step(ctx, each, reasons, today) for each in order), *undated], aged, files, states.words)


def _is_old(ctx: Caller, day: date, by: str, before: date | None) -> bool:
    """Whether a session of that day is to be summed up: before a given day (today's never), or its period is past."""
    today = ctx.now.date()
    if before is not None:
        return day < min(before, today)
    return (today - last_day(day, by)).days > ctx.settings.tidy.session_days


def _step(ctx: Caller, each: Aged, reasons: dict[str, str], today: date) -> SessionMove:
    if each.since:
        return SessionMove(
            each.path,
            each.path,
            each.period,
            "add",
            f"it grew since {counted(each.since, 'turn was', 'turns were')} summed up",
        )
    to = ctx.layout.archived(each.path)
    if each.path in reasons:
        return SessionMove(each.path, to, each.period, "keep", reasons[each.path])
    return SessionMove(each.path, to, each.period, "move", f"{counted((today - each.day).days, 'day')} old")


def _read(ctx: Caller) -> tuple[dict[str, bytes], dict[str, str]]:
    """The session notes of our scope that are in their place, and the summaries among them by their periods; a notice
    names those that can't be read.
    """
    layout = ctx.layout
    sessions: dict[str, bytes] = {}
    summaries: dict[str, str] = {}
    sessions_of_ours = sorted(ctx.vault.ours(Tier.EPISODIC))
    ours = (path for path in sessions_of_ours if not layout.is_archived(path) and not layout.is_template(path))
    for note in ctx.notes(ours):
        period = notes.period_of(note.data)
        if period:
            summaries.setdefault(period, note.path)
        else:
            sessions[note.path] = note.data
    return sessions, summaries


def _grown(ctx: Caller, summaries: dict[str, str]) -> Iterator[tuple[str, tuple[str, str, int, bytes]]]:
    """Sessions of the archive of which more turns were examined than their summary says: with it, and that number."""
    if not summaries:
        return
    layout = ctx.layout
    links = Links([path for path in ctx.vault.paths() if layout.is_session(path) and layout.is_archived(path)])
    for period, summary in summaries.items():
        for target, turns in notes.read(ctx.vault.read(summary)).turns.items():
            path = links.resolve(target, summary)
            if path is None or not layout.is_ours(path):
                continue
            try:
                data = ctx.vault.read(path)
            except TarsError:
                continue
            if notes.number_in(data, "turns") > turns:
                yield path, (summary, period, turns, data)


def _free(ctx: Caller, period: str) -> str:
    """Where a new summary goes: a place where no note is."""
    number = 1
    while True:
        path = notes.path_for(ctx.layout.sessions, period, number)
        if not os.path.lexists(ctx.vault.root / path):
            return path
        number += 1


def _obstacle(ctx: Caller, path: str, data: bytes) -> str:
    """Why a session can't go to its place in the archive; empty if it can."""
    layout = ctx.layout
    to = layout.archived(path)
    if not layout.is_archived(to) or layout.tier_of(to) is not Tier.EPISODIC or layout.is_template(to):
        return f"{to} would be no session in this vault"
    if vault.has_markers(data):
        return "it holds unresolved conflict markers (<<<<<<<)"
    if not all(os.access(place, os.W_OK) for place in (ctx.vault.root / path, (ctx.vault.root / path).parent)):
        return "it may not be moved: it is write-protected"
    return taken(ctx, to, data)


class _States:
    """What became of the candidates of our scope, as their lines in the daily notes say.

    Attributes:
        words: the state by the block id, in lower case.
    """

    def __init__(self, ctx: Caller) -> None:
        self._ctx = ctx
        self._offered: frozenset[str] | None = None
        said = (row for _, data in ctx.vault.readable(ctx.vault.ours(Tier.DAILY)) for row in _STATE.finditer(data))
        self.words = {row[2].decode("ascii").lower(): row[1].decode("ascii") for row in said}

    def open(self, told: SessionDigest) -> bool:
        """Whether a candidate of a session is still offered."""
        if told.waiting and self._offered is None:
            self._offered = frozenset(name for _, name in offered(self._ctx))
        return any(name in (self._offered or ()) for name in told.waiting)


class SessionStatement(NamedTuple):
    """One thing that a session says.

    Attributes:
        kind: a key of :data:`tars_memory.vault.summaries.KINDS`.
        text: its words, neutralised.
        day: of the session, ``YYYY-MM-DD``.
        path: of the session, before it is moved.
        source: target of the link to the day's line; empty for none.
        turn: in which it was said; 0 if that is not known.
        promoted: whether the person took it into memory.
        author: whose words they are, where the line says so.
    """

    kind: str
    text: str
    day: str
    path: str
    source: str = ""
    turn: int = 0
    promoted: bool = False
    author: str = ""


class SessionDigest(NamedTuple):
    """What one session says.

    Attributes:
        statements: in the order of the note.
        waiting: block ids of its candidates that are still undecided.
        left_out: how many bullets were rejected, done, too long, or held a credential.
    """

    statements: list[SessionStatement]
    waiting: list[str]
    left_out: int


def day_of(path: str, data: bytes) -> date | None:
    """The day of a session: its name's, else its front matter's; None if neither says one."""
    named = _NAME_DAY.match(path.rpartition("/")[2])
    for said in (named[0] if named else "", notes.date_in(data)):
        try:
            return date.fromisoformat(said)
        except ValueError:
            continue
    return None


def period_of(day: date, by: str) -> str:
    """The month or year of a day: ``2025-03``, ``2025``."""
    return day.isoformat()[: 7 if by == "month" else 4]


def last_day(day: date, by: str) -> date:
    """The last day of the month or year of a day."""
    if by == "year":
        return date(day.year, 12, 31)
    first = day.replace(day=1)
    return date(day.year, 12, 31) if day.month == 12 else first.replace(month=day.month + 1) - timedelta(days=1)


def read_session(path: str, data: bytes, day: date, states: Mapping[str, str]) -> SessionDigest:
    """What one session says.

    Args:
        path: of its note.
        data: the note.
        day: of the session.
        states: what became of candidates, by the block id of their line, in lower case.
    """
    statements: list[SessionStatement] = []
    waiting: list[str] = []
    left_out = 0
    titles = {title.casefold(): kind for kind, title in notes.KINDS.items()}
    for entry, said in sessions.facts_of(Note(path, data).entries, None):
        section = entry.section.casefold()
        if section in PASSED_OVER:
            continue
        name = said.source.partition("#^")[2].lower()
        state = states.get(name, entry.state or "")
        if state == "extracted" and name:
            waiting.append(name)
        kind = titles.get(section, "fact")
        text = _words(entry.text, kind) if state != "rejected" else ""
        if not text:
            left_out += 1
            continue
        source = said.source or (f"{_name(path)}#^{entry.block_id}" if entry.block_id else "")
        stands = (kind, text, day.isoformat(), path, source, said.turn)
        statements.append(SessionStatement(*stands, promoted=state == "promoted", author=entry.author or ""))
    return SessionDigest(statements, waiting, left_out)


def merged(found: Iterable[SessionStatement]) -> list[list[SessionStatement]]:
    """Each statement as often as it was made, by kind, author and words, in the order of the days."""
    groups: dict[tuple[str, str, object], list[SessionStatement]] = {}
    for each in sorted(found, key=lambda one: (one.day, one.path)):
        said = grammar.read(each.text)
        words = (said.words, said.tags) if said.words else each.text
        groups.setdefault((each.kind, each.author, words), []).append(each)
    return [*groups.values()]


def weightiest(found: Sequence[list[SessionStatement]], limit: int) -> list[list[SessionStatement]]:
    """As many as there is room for, in their order.

    Decisions and promoted facts come first, then other facts, open ends, topics; of each the ones that were made most
    often, then the newest.
    """
    kinds = list(notes.KINDS)

    def worth(said: list[SessionStatement]) -> tuple[int, int, int]:
        first = said[0].kind == "decision" or any(each.promoted for each in said)
        return 0 if first else kinds.index(said[0].kind), -len(said), -date.fromisoformat(said[-1].day).toordinal()

    kept = {id(each) for each in sorted(found, key=worth)[: max(limit, 0)]}
    return [each for each in found if id(each) in kept]


def summary_line(said: Sequence[SessionStatement], link: Callable[[str], str]) -> SummaryLine:
    """A statement as a line of a summary: linked to the first day's line there is, and to every session.

    Args:
        said: as often as it was made, at least once, by one author.
        link: makes the link to a session, of its path.
    """
    first = next((each for each in said if each.source), said[0])
    talks = dict.fromkeys(link(each.path) for each in said)
    blocks = dict.fromkeys(f"[[{s.source}|{s.day}]]" for s in said if s.source and s.source != first.source)
    shown = [*talks, *blocks]
    more = [f"and {len(shown) - MOST_ORIGINS} more"] if len(shown) > MOST_ORIGINS else []
    origins = (*shown[:MOST_ORIGINS], *more)
    return notes.SummaryLine(first.kind, said[0].text, first.source, first.day, origins, first.author)


def _words(text: str, kind: str) -> str:
    """A bullet's words as a summary may have them; empty if it may not have them, or what they ask for is done."""
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


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")
