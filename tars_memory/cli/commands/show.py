"""``show``: one entry."""

from typing import Annotated

import typer

from tars_memory.cli.commands.list import entry_json
from tars_memory.cli.output import clean, line
from tars_memory.cli.parsing import call_of, command


def show(
    ctx: typer.Context,
    target: Annotated[
        list[str] | None, typer.Argument(metavar="REF", help="Its REF, or words that only it holds.")
    ] = None,
) -> int:
    """Show one entry: its place, heading, REF and lines."""
    call = call_of(ctx)
    entry = call.memory().show(call.target(call.words(target, "REF")))
    notices = call.notices()
    if call.out.json:
        call.out.record({**entry_json(entry), "raw": entry.raw, "notices": notices})
        return 0
    under = f"  {line(entry.section)}" if entry.section else ""
    call.out.data(f"{call.out.place(entry.path, entry.line)}{under}  [{entry.ref}]")
    call.out.data(clean(entry.raw).rstrip("\n"))
    return 0


SHOW = command(
    show,
    words=True,
    pages=True,
    examples="""
tm show 7f3ak2cq
tm show Memory.md:12
""",
    exits="1 no such entry, 2 several entries fit",
    answers="""
ref path line end_line section text tags time state block_id author: as for `list`
raw: its lines, verbatim
""",
)
