"""``tidy --archive``: daily notes past the window go to ``archive/``; the plan first, then exactly what it says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.reviewing.gather import offered
from tars_memory.curation.tidying.outlinks import Outlink, outlinks, stored_links
from tars_memory.curation.tidying.retention import Daily, DailyMove, past, plan
from tars_memory.errors import NotFoundError, TarsError, UnwritableError
from tars_memory.vault.model import Tier
from tars_memory.vault.writing.transaction import move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.capture.caller import Caller
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import Transaction

BOOKMARKS = ".obsidian/bookmarks.json"
CANVAS = ".canvas"

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
        return {
            "txn": self.txn,
            "plan": [step.as_dict() for step in self.plan],
            "moved": self.moved,
            "notices": self.notices,
        }


def archive(ctx: Caller, *, days: int, window_days: int, apply: bool = False) -> Archived:
    """Plan which daily notes go to the archive; with ``apply`` move them, in one transaction.

    Nothing is deleted, no byte of any note changes. The plan is made anew under the lock, from what is there then.

    Args:
        ctx: the command's view of the vault.
        days: how long a daily note stays in its place.
        window_days: how long an undecided line is offered, and so keeps its note.
        apply: move them.

    Raises:
        UsageError: the vault's daily note format can't be used.
        UnwritableError: the vault can't be written.
    """
    if ctx.layout.problem:
        raise ctx.layout.problem
    steps = survey(ctx, days=days, window_days=window_days)
    idle = all(step.action == "keep" for step in steps) and not ctx.store.pending()
    if not apply or idle:
        return Archived(steps, None, [], False, ctx.notices)
    with ctx.writing("tidy", None) as transaction:
        steps = survey(ctx, days=days, window_days=window_days)
        done = [_carried_out(ctx, transaction, step) if step.action == "move" else step for step in steps]
        txn = transaction.id if transaction.written and not ctx.store.dry_run else None
    moved = [step.path for step in done if step.action == "move"]
    return Archived(done, txn, moved if txn else [], len(moved) < sum(s.action == "move" for s in steps), ctx.notices)


def survey(ctx: Caller, *, days: int, window_days: int) -> list[DailyMove]:
    """Look at the whole vault, and plan: see :func:`tars_memory.curation.tidying.retention.plan`.

    Planned for are the daily notes of our scope alone.
    """
    today = ctx.now.date()
    layout = ctx.layout
    paths = [path for path in ctx.vault.paths() if layout.is_ours(path)]
    dailies = [daily for path in paths if (daily := _daily(ctx, path, days)) is not None]
    if dailies:
        waiting = {path for path, _ in offered(ctx, window_days)}
        dailies = [daily._replace(waiting=daily.path in waiting) for daily in dailies]
    files = set(all_files(ctx.vault))
    outgoing = links_by_source(ctx.vault, files) if dailies else {}
    return plan(dailies, outgoing, files, today=today, days=days)


def all_files(vault: Vault) -> Iterator[str]:
    """The paths of all files of a vault, attachments too; hidden ones and what is behind links are left out."""
    for folder, folders, names in os.walk(vault.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        prefix = os.path.relpath(folder, vault.root).replace(os.sep, "/") + "/"
        prefix = "" if prefix == "./" else prefix
        yield from (prefix + name for name in names if not name.startswith("."))


def links_by_source(vault: Vault, files: set[str]) -> dict[str, set[Outlink]]:
    """The links of every note and canvas, and of Obsidian's bookmarks; of one that can't be read there are none."""
    found: dict[str, set[Outlink]] = {}
    for path in [*sorted(files), BOOKMARKS]:
        is_note = path[-3:].lower() == ".md"
        if is_note or path.endswith(CANVAS) or path == BOOKMARKS:
            try:
                text = vault.read(path).decode("utf-8", "surrogateescape")
            except TarsError:
                continue
            found[path] = set(outlinks(text) if is_note else stored_links(text))
    return found


def _daily(ctx: Caller, path: str, days: int) -> Daily | None:
    """What the policy must know of a daily note past the window; None for any other note."""
    layout = ctx.layout
    day = layout.day_of(path)
    if day is None or layout.is_archived(path) or layout.is_template(path) or layout.tier_of(path) is not Tier.DAILY:
        return None
    to = layout.archived(path)
    if not past(day, ctx.now.date(), days):
        return None
    try:
        data = ctx.vault.read(path)
    except TarsError as error:
        return Daily(path, to, day, obstacle=error.message)
    copied, obstacle = False, ""
    if layout.day_of(to) != day or layout.tier_of(to) is not Tier.DAILY or layout.is_template(to):
        obstacle = f"{to} would be no daily note in this vault"
    else:
        try:
            copied = ctx.vault.read(to) == data
            obstacle = "" if copied else f"{to} is there already and says something else"
        except NotFoundError:
            obstacle = f"{to} is a link or no file" if os.path.lexists(ctx.vault.root / to) else ""
        except TarsError as error:
            obstacle = error.message
    return Daily(path, to, day, copied=copied, obstacle=obstacle)


def _carried_out(ctx: Caller, transaction: Transaction, step: DailyMove) -> DailyMove:
    """The step as it was done; one that could not be keeps its note, and says why."""
    try:
        if move(transaction, ctx.vault, step.path, step.to):
            return step
    except UnwritableError as error:
        return step._replace(action="keep", reason=error.message)
    return step._replace(action="keep", reason=CHANGED)
