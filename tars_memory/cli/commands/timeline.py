"""``timeline``: what was true of somebody or something, in order of time."""

from typing import Annotated

import typer

from tars_memory.cli.commands.facts import show
from tars_memory.cli.parsing import call_of, command


def timeline(
    ctx: typer.Context,
    about: Annotated[list[str] | None, typer.Argument(metavar="ABOUT…", help="A name, as subject or object.")] = None,
) -> int:
    """List all facts about a name in order of time, ended ones too. Those without a date come last."""
    call = call_of(ctx)
    name = call.words(about, "ABOUT")
    return show(call, call.memory().timeline(name), in_time=True)


TIMELINE = command(
    timeline,
    words=True,
    pages=True,
    examples="""
tm timeline Anna
""",
    exits="1 no such fact",
    answers="""
as facts
""",
)
