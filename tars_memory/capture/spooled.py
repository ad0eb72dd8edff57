"""Placing what waits in the spool: text that was typed when the vault couldn't be written."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tars_memory.capture.context import Context
from tars_memory.errors import AmbiguousError, BusyError, ConflictError, NotFoundError, TarsError, UnwritableError
from tars_memory.vault.writing.spool import ELSEWHERE, REMOVALS

if TYPE_CHECKING:
    from tars_memory.capture.model import Receipt
    from tars_memory.vault.writing.spool import SpooledItem


def place_spool(ctx: Context) -> int:
    """Call again what could not be written, each as of the instant and by the actor of its first call.

    A log line typed yesterday thus goes into yesterday's note, one of a project into that project's. An edit or a
    removal whose entry is gone by now is given up, and a notice says where its words are kept; anything else that
    fails stays where it is, and holds up nothing else: a note that can't be written is no reason to keep words from
    another one. What is for another project is placed as well, but nothing is told of it, and given up only there.

    Returns:
        How many items were placed.

    Raises:
        BusyError: another process holds the lock; all that is left stays in the spool.
        UnwritableError: the spool can't be read.
    """
    count = 0
    stuck: dict[str, int] = {}
    elsewhere = 0
    ours = ctx.store.actor
    with ctx.spool.placing(ctx.store.journal, ctx.store.recover) as items:
        for item in items:
            foreign = str(item.arguments.get("project", "")) != ctx.vault.scope
            try:
                receipt, told = _again(ctx, item)
            except BusyError:
                raise
            except UnwritableError as error:
                why = ELSEWHERE if foreign else error.message
                stuck[why] = stuck.get(why, 0) + 1
            except Exception as error:  # one that brings out a bug must neither be lost nor hold up all others
                _refused(ctx, item, error, foreign=foreign)
            else:
                count += 1
                elsewhere += foreign
                if not foreign:
                    ctx.notices += [f"placed from the spool: {receipt.path}:{receipt.line}", *told]
                with contextlib.suppress(OSError):  # what is placed is known to the journal, and not placed again
                    ctx.spool.remove(item.id)
            finally:
                ctx.store.actor = ours
    ctx.notices += [f"placed from the spool {ELSEWHERE}: {elsewhere}"] if elsewhere else []
    ctx.notices += [f"{number} in the spool can't be placed yet: {why}" for why, number in stuck.items()]
    return count


def _again(ctx: Context, item: SpooledItem) -> tuple[Receipt, list[str]]:
    """Place one item; what there is to tell of it."""
    arguments = item.arguments
    again = Context(
        ctx.vault.scoped(str(arguments.get("project", ""))),
        ctx.store,
        ctx.spool,
        now=datetime.fromisoformat(arguments["now"]),
        actor=arguments["actor"],
        interactive=bool(arguments["interactive"]),
        unattended_rules=ctx.unattended_rules,
        facts_options=ctx.facts_options,
        settles=item.id,
        author=str(arguments.get("author", "")),
    )
    ctx.store.actor = again.actor
    return _call(again, item.command, arguments), again.notices


def _refused(ctx: Context, item: SpooledItem, error: Exception, *, foreign: bool) -> None:
    """An item that can't be placed as it is: given up if what it is about is gone, else kept until it is dropped."""
    why = error.message if isinstance(error, TarsError) else f"{type(error).__name__}: {error}"
    gone = isinstance(error, NotFoundError | AmbiguousError | ConflictError)
    if gone and not foreign and not (ctx.store.night and ctx.vault.scope) and item.command in ("edit", *REMOVALS):
        path = ctx.spool.drop(item, ctx.kept) if ctx.kept else None
        if path is None:
            ctx.spool.remove(item.id)
        words = f"{item.arguments.get('text', '')!r}" + (f" (kept in {path})" if path else "")
        ctx.notices.append(f"given up, typed {item.arguments['now'][:16]}: {item.command} {words}: {why}")
        return
    ctx.spool.refused[item.id] = why
    if not foreign:
        hint = f"tars-memory doctor --drop {item.id} gives it up"
        ctx.notices.append(f"kept in the spool as {item.id}: {why}; {hint}")


def _call(ctx: Context, command: str, said: dict[str, Any]) -> Receipt:
    """The use case of that name.

    Raises:
        ValueError: there is none.
    """
    from tars_memory.capture import facts
    from tars_memory.capture.amend import edit, forget
    from tars_memory.capture.daily import log
    from tars_memory.capture.feedback import feedback
    from tars_memory.capture.remember import remember

    if command == "remember":
        return remember(ctx, said["text"], tier=said["tier"], section=said["section"], tags=said["tags"])
    if command == "log":
        return log(ctx, said["text"])
    if command == "feedback":
        return feedback(ctx, said["good"], said["text"], said["question"], said["answer"])
    if command == "edit":
        return edit(ctx, said["target"], said["text"], tags=said.get("tags", ()), bare=said.get("bare", False))
    if command == "forget":
        return forget(ctx, said["target"])
    if command.startswith("facts "):
        return facts.again(ctx, command, said)
    raise ValueError(f"no command {command!r} can be placed")
