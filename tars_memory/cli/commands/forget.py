"""``forget``: remove an entry."""

from typing import Annotated

import typer

from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report, say_change


def forget(
    ctx: typer.Context,
    target: Annotated[
        list[str] | None, typer.Argument(metavar="REF", help="Its REF, or words that only it holds.")
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Purge our own copies too (journal, index). Can't be undone.")
    ] = False,
) -> int:
    """Remove one entry from its note, and say which copies of it remain.

    If the words fit several entries nothing is removed and they are listed.
    """
    call = call_of(ctx)
    receipt = call.memory().forget(call.target(call.words(target, "REF")), everywhere=everywhere)
    if receipt.gone and not everywhere and not call.out.json:  # what is to leave no trace is not said once more
        say_change(call, receipt.path, receipt.line, receipt.gone, b"")
    return report(call, receipt, repeated="nothing was removed")


COMMAND = command(forget, writes=True, words=True)
