"""Which sessions are old, which of them may go to the archive, and which grew there since they were summed up."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from tars_memory.curation.reviewing.gather import offered
from tars_memory.curation.tidying import digest
from tars_memory.curation.tidying.archive import all_files, links_by_source
from tars_memory.curation.tidying.retention import WAITING, held_by_links
from tars_memory.errors import NotFoundError, TarsError, counted
from tars_memory.vault import summaries as notes
from tars_memory.vault.links import Links
from tars_memory.vault.model import Tier
from tars_memory.vault.vault import has_markers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.tidying.compression import Terms
    from tars_memory.curation.tidying.digest import SessionDigest

Action = Literal["move", "add", "keep"]

NO_DATE = "it says no day, neither its name nor its front matter"

_STATE = re.compile(rb"[ \t]*[-*+][ \t]+(?:\d{1,2}:\d\d[ \t]+)?\[(extracted|promoted|rejected|expired)\](?!\S)")
_BLOCK_ID = re.compile(rb"[A-Za-z0-9-]{1,100}")


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

    def as_dict(self) -> dict[str, str]:
        """The documented JSON object."""
        return self._asdict()


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


class _Found(NamedTuple):
    """The session notes in their place, and the summaries among them by their periods."""

    sessions: dict[str, bytes]
    summaries: dict[str, str]


def survey(ctx: Caller, terms: Terms, *, last: Survey | None = None) -> Survey:
    """Look at the sessions of our scope, and plan.

    Args:
        ctx: the command's view of the vault; nothing is written.
        terms: which sessions are old, and what they are grouped by.
        last: what a look a moment ago found: what has not changed since need not be parsed again.
    """
    today = ctx.now.date()
    found = _read(ctx)
    old: dict[str, date] = {}
    reasons: dict[str, str] = {}
    undated: list[SessionMove] = []
    for path, data in found.sessions.items():
        day = digest.day_of(path, data)
        if day is None:
            undated.append(SessionMove(path, ctx.layout.archived(path), "", "keep", NO_DATE))
        elif is_old(day, today, terms):
            old[path] = day
    grown = dict(_grown(ctx, found))
    if not old and not grown:
        return Survey(undated, {}, frozenset(), {})
    files = frozenset(all_files(ctx.vault))
    states = _states(ctx, terms.window_days)
    aged: dict[str, Aged] = {}
    known = last.notes if last is not None and last.states == states.words else {}

    def told(path: str, data: bytes, day: date) -> SessionDigest:
        held = known.get(path)
        if held is not None and (held.data, held.day) == (data, day):
            return held.told
        return digest.told(path, data, day, states.words)

    for path, day in old.items():
        period = digest.period(day, terms.by)
        summary = found.summaries.get(period) or _free(ctx, period)
        said = told(path, found.sessions[path], day)
        aged[path] = Aged(path, found.sessions[path], day, period, summary, 0, said)
        obstacle = WAITING if states.open(said) else _obstacle(ctx, path, found.sessions[path])
        if obstacle:
            reasons[path] = obstacle
    moves = {path: ctx.layout.archived(path) for path in old if path not in reasons}
    if moves:
        reasons |= held_by_links(moves, links_by_source(ctx.vault, set(files)), files)
    for path, (summary, period, since, data) in grown.items():
        day = digest.day_of(path, data)
        said = told(path, data, day or today)
        if day is not None and not states.open(said):
            aged[path] = Aged(path, data, day, period, summary, since, said)
    order = sorted(aged.values(), key=lambda each: (each.day, each.path))
    return Survey([*(_step(ctx, each, reasons, today) for each in order), *undated], aged, files, states.words)


def is_old(day: date, today: date, terms: Terms) -> bool:
    """Whether a session of that day is to be summed up: before a given day (today's never), or its period is past."""
    if terms.before is not None:
        return day < min(terms.before, today)
    return (today - digest.last_day(day, terms.by)).days > terms.days


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


def _read(ctx: Caller) -> _Found:
    """The session notes of our scope that are in their place; those that can't be read are told."""
    layout = ctx.layout
    sessions: dict[str, bytes] = {}
    summaries: dict[str, str] = {}
    ours = (
        path
        for path in sorted(ctx.vault.paths())
        if layout.is_session(path)
        and layout.is_ours(path)
        and not layout.is_archived(path)
        and not layout.is_template(path)
    )
    for path, data in ctx.readable(ours):
        period = notes.period_of(data)
        if period:
            summaries.setdefault(period, path)
        else:
            sessions[path] = data
    return _Found(sessions, summaries)


def _grown(ctx: Caller, found: _Found) -> Iterator[tuple[str, tuple[str, str, int, bytes]]]:
    """Sessions of the archive of which more turns were examined than their summary says: with it, and that number."""
    if not found.summaries:
        return
    layout = ctx.layout
    links = Links([path for path in ctx.vault.paths() if layout.is_session(path) and layout.is_archived(path)])
    for period, summary in found.summaries.items():
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
    if has_markers(data):
        return "it holds unresolved conflict markers (<<<<<<<)"
    if not all(os.access(place, os.W_OK) for place in (ctx.vault.root / path, (ctx.vault.root / path).parent)):
        return "it may not be moved: it is write-protected"
    try:
        same = ctx.vault.read(to) == data
    except NotFoundError:
        return f"{to} is a link or no file" if os.path.lexists(ctx.vault.root / to) else ""
    except TarsError as error:
        return error.message
    return "" if same else f"{to} is there already and says something else"


class _States:
    """What became of the candidates of our scope, as their lines in the daily notes say.

    Attributes:
        words: the state by the block id, in lower case.
    """

    def __init__(self, ctx: Caller, window_days: int) -> None:
        self._ctx = ctx
        self._window_days = window_days
        self._offered: frozenset[str] | None = None
        self.words: dict[str, str] = {}

    def add(self, data: bytes) -> None:
        """Take in a daily note."""
        for row in re.split(rb"[\r\n]+", data):
            head, mark, name = row.rstrip(b" \t").rpartition(b"^")
            state = _STATE.match(head) if mark else None
            if state is not None and head[-1:] in b" \t" and _BLOCK_ID.fullmatch(name):
                key = name.decode("ascii").lower()
                self.words[key] = state[1].decode("ascii")

    def open(self, told: SessionDigest) -> bool:
        """Whether a candidate of a session is still offered."""
        if told.waiting and self._offered is None:
            self._offered = frozenset(name for _, name in offered(self._ctx, self._window_days))
        return any(name in (self._offered or ()) for name in told.waiting)


def _states(ctx: Caller, window_days: int) -> _States:
    layout = ctx.layout
    states = _States(ctx, window_days)
    for path in ctx.vault.paths():
        day = layout.day_of(path) if layout.is_ours(path) and layout.tier_of(path) is Tier.DAILY else None
        if day is None:
            continue
        try:
            data = ctx.vault.read(path)
        except TarsError:
            continue
        if b"^" in data:
            states.add(data)
    return states
