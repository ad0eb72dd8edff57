"""``forget``: remove an entry."""

from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.cli.asking import STOPPED, chosen, confirmed
from tars_memory.cli.output import line
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report, say_change
from tars_memory.errors import NotFoundError

if TYPE_CHECKING:
    from tars_memory.cli.call import Call
    from tars_memory.jobs.forgetting import Copy, TalkLine
    from tars_memory.memory import Memory


def forget(
    ctx: typer.Context,
    target: Annotated[
        list[str] | None, typer.Argument(metavar="REF", help="Its REF, or words that only it holds.")
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Purge our own copies too (journal, index, caches). Can't be undone.")
    ] = False,
) -> int:
    """Remove a statement from every note that holds it: the line, its candidate, quote, session fact and proposal.

    At a terminal it shows all places and asks; elsewhere it removes and lists them. Lines that say the same in other
    words are listed and stay. What was forgotten is not extracted again from an old conversation. undo brings it back,
    except after --everywhere, which also purges what was forgotten before.
    """
    call = call_of(ctx)
    memory, named = call.memory(), call.target(call.words(target, "REF"))
    near, also = memory.near(named), []
    if call.interactive and not call.dry_run:
        if not _wanted(call, memory, named):
            call.settle()
            call.out.say("nothing was forgotten")
            return STOPPED
        also = _also(call, near)
    receipt = memory.forget(named, everywhere=everywhere, also=also)
    if left := [turn for turn in near if turn not in also]:
        where = ", ".join(f"{turn.log}:{turn.line}" for turn in left)
        receipt.notices.append(
            f"said of the same thing, and not withheld: {where}"
            + ("" if call.interactive else "; on a terminal forget asks about each")
        )
    if not call.out.json:
        quiet = everywhere and not call.dry_run  # what is to leave no trace is not said once more
        if receipt.gone and not quiet:
            say_change(call, receipt.path, receipt.line, receipt.gone, b"")
        for copy in getattr(receipt, "touched", ()):
            _say(call, copy, "would be taken out" if call.dry_run else "taken out", quiet=quiet)
    return report(call, receipt, repeated="nothing was removed")


def _wanted(call: "Call", memory: "Memory", target: str) -> bool:
    """Whether the person at the terminal says yes to what would be touched; what can't be found is told later."""
    try:
        copies = memory.copies(target)
    except NotFoundError:
        return True  # it may have been forgotten before
    places = copies.places()
    for path in places:
        for copy in places[path]:
            _say(call, copy, "to take out")
    for sentence in copies.kept():
        call.out.say(sentence)
    return confirmed(call, "forget it?")


def _also(call: "Call", near: "list[TalkLine]") -> "list[TalkLine]":
    """Which lines of conversations are to be withheld, too."""
    if not near:
        return []
    call.out.say("you said of the same thing:")
    for number, turn in enumerate(near, 1):
        day = f"{turn.day}  " if turn.day else ""
        call.out.say(f"  {number}  {day}{line(turn.text)}  ({call.out.path(turn.log)}:{turn.line})")
    return [near[at] for at in chosen(call, "withhold some of these, too?", len(near))]


def _say(call: "Call", copy: "Copy", what: str, *, quiet: bool = False) -> None:
    if not copy.line:
        call.out.say(f"{what}: the topic in a file's name" + ("" if quiet else f": {call.out.path(copy.path)}"))
        return
    told = "" if quiet else f": {line(copy.text)}"
    call.out.say(f"{what}: {call.out.place(copy.path, copy.line)}{told}")


FORGET = command(
    forget,
    writes=True,
    words=True,
    examples="""
tm forget fountain pens             # words that fit one statement
tm forget 7f3ak2cq --dry-run        # what would be touched
tm forget 7f3ak2cq --everywhere     # purge journal, index and caches too
""",
    exits="1 no such entry, 2 several entries fit, 3 some copies could not be purged (they are listed; run it again)",
    answers="""
txn path line ref text written spooled: as for `remember`
touched[].path line: the other places, if there are any; line 0 is a file's name
""",
)
