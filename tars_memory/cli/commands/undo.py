"""``undo``: take writes back."""

from typing import Annotated

import typer

from tars_memory.cli.output import fields
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import say_change
from tars_memory.errors import UsageError


def undo(
    ctx: typer.Context,
    txn: Annotated[str | None, typer.Argument(metavar="[TXN]", help="The write, as history names it.")] = None,
    last: Annotated[int | None, typer.Option("--last", metavar="N", min=1, help="Take the last N writes back.")] = None,
) -> int:
    """Take back the last write, or the one named, or the last N. An undo can be undone.

    The note gets its exact bytes back. If it changed since, only our change is reversed; if that needs a guess, nothing
    is written and the difference is shown (exit 6).
    """
    call = call_of(ctx)
    if txn and last is not None:
        raise UsageError("both TXN and --last", "give one of them")
    written = call.memory().undo(txn, last=last or 1)
    notices = call.notices(["dry run: nothing was written"] if call.dry_run else [])
    if call.out.json:
        call.out.record({"undone": [fields(each, "txn path line") for each in written], "notices": notices})
        return 0
    for each in written:
        call.out.data(call.out.place(each.path, each.line))
        if each.path.startswith(".tars/"):
            continue  # our own books, which say nothing to a person
        say_change(call, each.path, each.line, each.before, each.after, each.text)
    if not written:
        call.out.say("there is nothing to undo")
    return 0


UNDO = command(
    undo,
    writes=True,
    examples="""
tm undo
tm undo --last 3
tm undo 1m2x7k
""",
    exits="1 no such write, 6 the note changed since",
    answers="""
undone[].txn path line: each write that was taken back
""",
)
