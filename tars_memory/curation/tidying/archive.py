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
    from collections.abc import Collection, Mapping, Sequence
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
    """Look at the whole vault: what happens to the daily notes of our scope past the window, oldest first."""
    days = ((ctx.layout.day_of(path), path) for path in ctx.vault.ours(Tier.DAILY))
    old = sorted((day, path) for day, path in days if day and _is_old(ctx, path, day))
    if not old:
        return []
    waiting = {path for path, _ in offered(ctx)}
    steps = [_step(ctx, path, day, WAITING if path in waiting else "") for day, path in old]
    files = files_of(ctx.vault)
    moves = {step.path: step.to for step in steps if step.action == "move"}
    held = held_by_links(moves, links_by_source(ctx.vault, files), files)
    return [step._replace(action="keep", reason=held[step.path]) if step.path in held else step for step in steps]


def _is_old(ctx: Caller, path: str, day: date) -> bool:
    """Whether a daily note has its place in the archive: it is of more than so many days ago."""
    in_place = not (ctx.layout.is_archived(path) or ctx.layout.is_template(path))
    return in_place and (ctx.now.date() - day).days > ctx.settings.tidy.daily_days


def _step(ctx: Caller, path: str, day: date, waits: str) -> DailyMove:
    """What happens to an old daily note if no link holds it."""
    to = ctx.layout.archived(path)
    if kept := _obstacle(ctx, path, to, day) or waits:
        return DailyMove(path, to, "keep", kept)
    age = f"{counted((ctx.now.date() - day).days, 'day')} old"
    return DailyMove(path, to, "move", age if ctx.vault.look(to) is None else CUT_OFF)


def _obstacle(ctx: Caller, path: str, to: str, day: date) -> str:
    """Why a daily note can't go to the archive; empty if it can."""
    layout = ctx.layout
    try:
        data = ctx.vault.read(path)
    except TarsError as error:
        return error.message
    if layout.day_of(to) != day or layout.tier_of(to) is not Tier.DAILY or layout.is_template(to):
        return f"{to} would be no daily note in this vault"
    return taken(ctx, to, data)


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


def held_by_links(
    moves: Mapping[str, str], outgoing: Mapping[str, Collection[Outlink]], files: Collection[str]
) -> dict[str, str]:
    """Which of some notes must stay where they are because a link would break, each with the reason.

    Args:
        moves: where each note would go, by where it is.
        outgoing: the links of every note, canvas and list of bookmarks, by the path of what holds them.
        files: the paths of all files of the vault.
    """
    reasons: dict[str, str] = {}
    told = _near(outgoing, moves)
    while broken := _broken(told, files, moves):
        reasons |= broken
        moves = {path: to for path, to in moves.items() if path not in broken}
    return reasons


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
