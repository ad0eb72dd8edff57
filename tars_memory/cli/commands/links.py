"""``links``: out of a note and back to it."""

from itertools import chain
from typing import Annotated

import typer

from tars_memory.cli.output import line
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.tables import show_rows


def links(
    ctx: typer.Context,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="Its name or path, as in a link.")] = None,
) -> int:
    """List where a note's links lead, and which notes link to it. Exit 1 if there are none.

    In a pipe one line a link, with tabs: out or back, the path (empty if the link is dead), the target as written.
    """
    call = call_of(ctx)
    found = call.memory().links(call.note(call.words(note, "NOTE").removeprefix("[[").removesuffix("]]")))
    notices = call.notices()
    if call.out.json:
        out = [{"target": target, "path": path} for target, path in found.out]
        call.out.record({"path": found.path, "out": out, "back": found.back, "notices": notices})
    else:
        out_of = (("out", call.out.path(path or ""), line(target)) for target, path in found.out)
        back = (("back", call.out.path(path), "") for path in found.back)
        show_rows(call.out, chain(out_of, back), ("", "note", "link as written"), ("dim", "magenta"))
        if not found.out and not found.back:
            call.out.say(f"{call.out.path(found.path)} has no links, and no note links to it")
    return 0 if found.out or found.back else 1


LINKS = command(
    links,
    words=True,
    pages=True,
    examples="""
tm links Tea
""",
    exits="1 no links, or no such note",
    answers="""
path: the note
out[].target: as written
out[].path: where it leads; null if the link is dead
back: paths of the notes that link here
""",
)
