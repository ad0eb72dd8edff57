"""``tidy --archive``: daily notes past the window go to ``archive/``; the plan first, then exactly what it says.

A note moves only if nothing that leads to it, and nothing that it leads to, would be lost on the way: each link of the
vault (of notes, canvases and bookmarks) is followed before and after, and must end at the same note by a way that still
holds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory.curation.gather import offered
from tars_memory.errors import NotFoundError, TarsError, UnwritableError, counted
from tars_memory.vault.links import Links, Outlink, files_of, links_by_source
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.writing.store import WriteSession


CHANGED = "it changed while it was moved: it stays, run it again"


class Archived(NamedTuple):
    """What ``tidy --archive`` plans, or did.

    Attributes:
        plan: a step for each daily note past the window, oldest first.
        txn: the transaction that ``undo`` takes; None if nothing was moved.
        moved: paths of the notes that were moved.
        failed: whether a note that was to move could not be.
        notices: what the person should know.
    """

    plan: list[DailyMove]
    txn: str | None
    moved: list[str]
    failed: bool
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {"txn": self.txn, "plan": self.plan, "moved": self.moved, "notices": self.notices}


def archive(ctx: Caller, *, apply: bool = False) -> Archived:
    """Plan which daily notes go to the archive; with ``apply`` move them, in one transaction.

    Nothing is deleted, no byte of any note changes. The plan is made again under the lock, from what is there then.

    Args:
        ctx: the command's view of the vault.
        apply: move them.

    Raises:
        UsageError: the vault's daily note format can't be used.
        UnwritableError: the vault can't be written.
    """
    if ctx.layout.problem:
        raise ctx.layout.problem
    steps = survey(ctx)
    idle = all(step.action == "keep" for step in steps) and not ctx.store.pending()
    if not apply or idle:
        return Archived(steps, None, [], False, ctx.notices)
    with ctx.writing("tidy", None) as session:
        steps = survey(ctx)
        done = [_carried_out(session, step) if step.action == "move" else step for step in steps]
        txn = session.txn
    moved = [step.path for step in done if step.action == "move"]
    return Archived(done, txn, moved if txn else [], len(moved) < sum(s.action == "move" for s in steps), ctx.notices)


def survey(ctx: Caller) -> list[DailyMove]:
    """Look at the whole vault, and plan: see :func:`tars_memory.curation.tidying.archive.plan`.

    Planned for are the daily notes of our scope alone.
    """
    today, days = ctx.now.date(), ctx.settings.tidy.daily_days
    dailies = [daily for path in ctx.vault.ours(Tier.DAILY) if (daily := _daily(ctx, path, days)) is not None]
    if dailies:
        waiting = {path for path, _ in offered(ctx)}
        dailies = [daily._replace(waiting=daily.path in waiting) for daily in dailies]
    files = files_of(ctx.vault)
    outgoing = links_by_source(ctx.vault, files) if dailies else {}
    return plan(dailies, outgoing, files, today=today, days=days)


def _daily(ctx: Caller, path: str, days: int) -> Daily | None:
    """What the policy must know of a daily note past the window; None for any other note."""
    layout = ctx.layout
    day = layout.day_of(path)
    if day is None or layout.is_archived(path) or layout.is_template(path) or not past(day, ctx.now.date(), days):
        return None
    to = layout.archived(path)
    try:
        data = ctx.vault.read(path)
    except TarsError as error:
        return Daily(path, to, day, obstacle=error.message)
    if layout.day_of(to) != day or layout.tier_of(to) is not Tier.DAILY or layout.is_template(to):
        return Daily(path, to, day, obstacle=f"{to} would be no daily note in this vault")
    obstacle = taken(ctx, to, data)
    return Daily(path, to, day, copied=not obstacle and ctx.vault.look(to) is not None, obstacle=obstacle)


def taken(ctx: Caller, to: str, data: bytes) -> str:
    """Why a note with these bytes can't have a place; empty if it can, or the same is there already."""
    try:
        same = ctx.vault.read(to) == data
    except NotFoundError:
        return f"{to} is a link or no file" if os.path.lexists(ctx.vault.root / to) else ""
    except TarsError as error:
        return error.message
    return "" if same else f"{to} is there already and says something else"


def _carried_out(session: WriteSession, step: DailyMove) -> DailyMove:
    """The step as it was done; one that could not be keeps its note, and says why."""
    try:
        if session.move(step.path, step.to):
            return step
    except UnwritableError as error:
        return step._replace(action="keep", reason=error.message)
    return step._replace(action="keep", reason=CHANGED)


Action = Literal["move", "keep"]

WAITING = "lines in it still wait for review"
CUT_OFF = "its copy in the archive is the same: a move that was cut off is finished"


class Daily(NamedTuple):
    """What is known of one daily note.

    Attributes:
        path: where it is.
        to: where it would go.
        day: that it is of.
        waiting: whether a line in it is still offered for review.
        copied: whether the very same text is at ``to`` already.
        obstacle: why it can't go there, or empty.
    """

    path: str
    to: str
    day: date
    waiting: bool = False
    copied: bool = False
    obstacle: str = ""


class DailyMove(NamedTuple):
    """What is to happen to one daily note that is past the window.

    Attributes:
        path: where it is.
        to: where it goes, or would go.
        action: ``move`` or ``keep``.
        reason: in words.
    """

    path: str
    to: str
    action: Action
    reason: str


def past(day: date, today: date, days: int) -> bool:
    """Whether a day is past the window: more than ``days`` days ago. The day exactly ``days`` ago is not."""
    return (today - day).days > days


def plan(
    dailies: Iterable[Daily],
    outgoing: Mapping[str, Collection[Outlink]],
    files: Collection[str],
    *,
    today: date,
    days: int,
) -> list[DailyMove]:
    """What happens to the daily notes past the window, oldest first.

    Args:
        dailies: the daily notes that are not in the archive.
        outgoing: the links of every note, canvas and list of bookmarks, by the path of what holds them.
        files: the paths of all files of the vault.
        today: the local day.
        days: how long a daily note stays in its place.

    Returns:
        A step for each daily note past the window, and none for the others.
    """
    old = sorted((d for d in dailies if past(d.day, today, days)), key=lambda d: (d.day, d.path))
    reasons: dict[str, str] = {}
    for daily in old:
        if daily.obstacle:
            reasons[daily.path] = daily.obstacle
        elif daily.waiting:
            reasons[daily.path] = WAITING
    reasons |= held_by_links({daily.path: daily.to for daily in old if daily.path not in reasons}, outgoing, files)
    return [_step(daily, reasons.get(daily.path), today) for daily in old]


def held_by_links(
    moves: Mapping[str, str], outgoing: Mapping[str, Collection[Outlink]], files: Collection[str]
) -> dict[str, str]:
    """Which of some notes must stay where they are because a link would break, each with the reason.

    Args:
        moves: where each note would go, by where it is.
        outgoing: as for :func:`plan`.
        files: as for :func:`plan`.
    """
    reasons: dict[str, str] = {}
    told = _near(outgoing, moves)
    while broken := _broken(told, files, moves):
        reasons |= broken
        moves = {path: to for path, to in moves.items() if path not in broken}
    return reasons


def _step(daily: Daily, kept: str | None, today: date) -> DailyMove:
    if kept is not None:
        return DailyMove(daily.path, daily.to, "keep", kept)
    age = (today - daily.day).days
    return DailyMove(daily.path, daily.to, "move", CUT_OFF if daily.copied else f"{counted(age, 'day')} old")


def _near(outgoing: Mapping[str, Collection[Outlink]], moves: Mapping[str, str]) -> list[tuple[str, Outlink]]:
    """The links that a move could touch: those of a moved note, and those that name one."""
    names = {_name(path) for path in moves}
    return [
        (source, link)
        for source, found in outgoing.items()
        for link in found
        if source in moves or _name(link.target) in names
    ]


def _broken(told: Sequence[tuple[str, Outlink]], files: Collection[str], moves: Mapping[str, str]) -> dict[str, str]:
    """The notes that must stay after all, each with the reason; empty if every link holds."""
    before, after = Links(files), Links(moves.get(path, path) for path in files)
    come = {to: path for path, to in moves.items()}
    kept: dict[str, str] = {}
    for source, link in told:
        way, found = before.lead(link, source)
        if found is None:
            continue
        new_way, new_found = after.lead(link, moves.get(source, source))
        if new_found == moves.get(found, found) and (way == new_way or way == "name"):
            continue
        if found in moves:
            kept.setdefault(found, f"{source} links to it by its path: {link}")
        elif source in moves:
            kept.setdefault(source, f"its own link {link} would lead nowhere or elsewhere")
        elif new_found in come:
            kept.setdefault(come[new_found], f"the link {link} in {source} would lead to it instead of {found}")
    return kept


def _name(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].casefold().strip()
    return name.removesuffix(".md")
