"""Placing what waits in the spool: text that was typed when the vault couldn't be written."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from tars_memory.capture.context import Context
from tars_memory.errors import AmbiguousError, BusyError, ConflictError, NotFoundError, TarsError, UnwritableError
from tars_memory.vault.writing.spool import ELSEWHERE

if TYPE_CHECKING:
    from tars_memory.capture.model import Receipt


def place_spool(ctx: Context) -> int:
    """Call again what could not be written, each as of the instant and by the actor of its first call.

    A log line typed yesterday thus goes into yesterday's note, one of a project into that project's. An edit or a
    removal whose entry is gone by now is given up, and a notice repeats it; anything else that fails stays where it is,
    and holds up nothing else: a note that can't be written is no reason to keep words from another one. What is for
    another project is placed as well, but nothing is told of it, and given up only there.

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
            arguments = item.arguments
            foreign = str(arguments.get("project", "")) != ctx.vault.scope
            told = [] if foreign else ctx.notices
            try:
                when = datetime.fromisoformat(arguments["now"])
                again = Context(
                    ctx.vault.scoped(str(arguments.get("project", ""))),
                    ctx.store,
                    ctx.spool,
                    now=when,
                    actor=arguments["actor"],
                    interactive=bool(arguments["interactive"]),
                    unattended_rules=ctx.unattended_rules,
                    facts_options=ctx.facts_options,
                    settles=item.id,
                    author=str(arguments.get("author", "")),
                )
                ctx.store.actor = again.actor
                receipt = _call(again, item.command, arguments)
            except BusyError:
                raise
            except UnwritableError as error:
                why = ELSEWHERE if foreign else error.message
                stuck[why] = stuck.get(why, 0) + 1
                continue
            except (NotFoundError, AmbiguousError, ConflictError) as error:
                if (
                    foreign
                    or (ctx.store.night and ctx.vault.scope)
                    or item.command not in ("edit", "forget", "facts end", "facts remove")
                ):
                    told.append(f"kept in the spool as {item.id}: {error.message}")
                    continue
                text = arguments.get("text", "")
                ctx.notices.append(f"given up, typed {when:%Y-%m-%d %H:%M}: {item.command} {text!r}: {error.message}")
            except (TarsError, KeyError, TypeError, ValueError) as error:
                told.append(f"kept in the spool as {item.id}: {error}")
                continue
            else:
                count += 1
                elsewhere += foreign
                told += [f"placed from the spool: {receipt.path}:{receipt.line}", *again.notices]
            finally:
                ctx.store.actor = ours
            ctx.spool.remove(item.id)
    ctx.notices += [f"placed from the spool {ELSEWHERE}: {elsewhere}"] if elsewhere else []
    ctx.notices += [f"{number} in the spool can't be placed yet: {why}" for why, number in stuck.items()]
    return count


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
        return edit(ctx, said["target"], said["text"])
    if command == "forget":
        return forget(ctx, said["target"])
    if command.startswith("facts "):
        return facts.again(ctx, command, said)
    raise ValueError(f"no command {command!r} can be placed")
