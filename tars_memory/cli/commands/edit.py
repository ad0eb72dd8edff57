"""``edit``: change an entry's text."""

from typing import Annotated

import typer

from tars_memory.cli.asking import about_secrets
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report
from tars_memory.errors import UsageError


def edit(
    ctx: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="REF", help="Its REF, or in quotes words that only it holds.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT…", help="The new text: all remaining words.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add #TAG; repeatable.")] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Keep no tags and no [field:: value] of the old text.")] = False,
) -> int:
    """Replace an entry's text. Its time, block id and nested lines stay, and a task keeps its box.

    Tags and [field:: value] stay too, unless TEXT brings its own; stderr says which. The first word is the REF. If
    words fit several entries, nothing is written and they are listed (exit 2).
    """
    call = call_of(ctx)
    if not target:
        raise UsageError("REF is missing", "tars-memory list shows them")
    call.hold("edit", target=target, tags=tag or [], bare=bare)
    words = about_secrets(call, call.words(text, "TEXT"))
    receipt = call.memory().edit(call.target(target), words, tags=tuple(tag or ()), bare=bare)
    return report(call, receipt, repeated="it says so already; nothing was written")


EDIT = command(
    edit,
    writes=True,
    words=True,
    examples="""
tm edit 7f3ak2cq Anna prefers night trains
tm edit "night trains" Anna prefers sleepers --tag travel
tm edit Memory.md:12 "[x] book the ferry"    # tick a task
""",
    exits="1 no such entry, 2 several entries fit, 6 the note changed meanwhile",
    answers="""
as remember
""",
)
