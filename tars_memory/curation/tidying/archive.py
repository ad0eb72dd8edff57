"""``tidy --archive``: plans which daily notes past the window move to ``archive/``, and moves exactly those.

A note moves only if no link breaks, neither to it nor from it: each link of the vault (in notes, canvases and
bookmarks) is followed before and after the move, and must lead to the same note by a way that still works.
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
"""Reason of a move that failed."""


class Archived(NamedTuple):
    """The plan, or the result, of ``tidy --archive``.

    Attributes:
        plan: a step for each daily note past the window, oldest first.
        txn: the transaction, for ``undo``; None if nothing was moved.
        moved: paths of the notes that were moved.
        failed: whether a note of the plan could not be moved.
        notices: sentences for the person.
    """

    plan: list[DailyMove]
    txn: str | None
    moved: list[str]
    failed: bool
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {"txn": self.txn, "plan": self.plan, "moved": self.moved, "notices": self.notices}


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
    steps = survey(ctx)
    moves = sum(step.action == "move" for step in steps)
    if not apply or not (moves or ctx.store.pending()) or moves > (moves if most is None else most):
        return Archived(steps, None, [], False, ctx.notices)
    with ctx.writing("tidy", None, atomic=True) as session:
        steps = survey(ctx)
        done = [_move(session, step) if step.action == "move" else step for step in steps]
        txn = session.txn
    moved = [step.path for step in done if step.action == "move"]
    return Archived(done, txn, moved if txn else [], len(moved) < sum(s.action == "move" for s in steps), ctx.notices)


def survey(ctx: Caller) -> list[DailyMove]:
    """Return a step for each daily note of our scope past the window, oldest first, from all links of the vault."""
    days = ((ctx.layout.day_of(path), path) for path in ctx.vault.tier_paths(Tier.DAILY))
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
    """Whether a daily note belongs in the archive: it is past the window and not archived."""
    in_place = not (ctx.layout.is_archived(path) or ctx.layout.is_template(path))
    return in_place and (ctx.now.date() - day).days > ctx.settings.tidy.daily_days


def _step(ctx: Caller, path: str, day: date, waits: str) -> DailyMove:
    """Return the step for an old daily note, links aside.

    Args:
        ctx: the command's view of the vault.
        path: of the note.
        day: of the note.
        waits: why the note has to wait; empty if it need not.
    """
    to = ctx.layout.archived(path)
    if reason := _obstacle(ctx, path, to, day) or waits:
        return DailyMove(path, to, "keep", reason)
    age = f"{counted((ctx.now.date() - day).days, 'day')} old"
    return DailyMove(path, to, "move", age if ctx.vault.look(to) is None else CUT_OFF)


def _obstacle(ctx: Caller, path: str, to: str, day: date) -> str:
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
        return f"{to} is a link or no file" if os.path.lexists(ctx.vault.root / to) else ""
    except TarsError as error:
        return error.message
    return "" if same else f"{to} is there already and says something else"


def _move(session: WriteSession, step: DailyMove) -> DailyMove:
    """Move a note; return the step as it was done: if the move failed, ``keep`` with the reason."""
    try:
        if session.move(step.path, step.to):
            return step
    except UnwritableError as error:
        return step._replace(action="keep", reason=error.message)
    return step._replace(action="keep", reason=CHANGED)


Action = Literal["move", "keep"]

WAITING = "lines in it still wait for review"
CUT_OFF = "its copy in the archive is the same: a move that was cut off is finished"
"""Reasons to keep a note, and to move one whose copy is in the archive already."""


class DailyMove(NamedTuple):
    """The step of a plan for one daily note past the window.

    Attributes:
        path: where it is.
        to: where it moves, or would move.
        action: ``move`` or ``keep``.
        reason: why, in words.
    """

    path: str
    to: str
    action: Action
    reason: str


def held_by_links(
    moves: Mapping[str, str], outgoing: Mapping[str, Collection[Outlink]], files: Collection[str]
) -> dict[str, str]:
    """Return the notes that must stay because a move would break a link, with the reasons.

    Args:
        moves: by a note's path, the path that it would move to.
        outgoing: the links of every note, canvas and list of bookmarks, by its path.
        files: the paths of all files of the vault.
    """
    reasons: dict[str, str] = {}
    links = _affected(outgoing, moves)
    while broken := _broken(links, files, moves):
        reasons |= broken
        moves = {path: to for path, to in moves.items() if path not in broken}
    return reasons


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
