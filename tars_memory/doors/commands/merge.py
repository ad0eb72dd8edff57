"""``merge``: what git calls to merge a note."""

from typing import Annotated

import typer

from tars_memory.doors.cli.call import call_of, command
from tars_memory.doors.cli.output import counted
from tars_memory.jobs.merge import FAILED, drive


def merge(
    ctx: typer.Context,
    base: Annotated[str, typer.Argument(metavar="BASE", help="The version that both come from (%O).")],
    ours: Annotated[str, typer.Argument(metavar="OURS", help="Our version (%A); the outcome takes its place.")],
    theirs: Annotated[str, typer.Argument(metavar="THEIRS", help="Their version (%B).")],
    path: Annotated[str, typer.Argument(metavar="PATH", help="The note's path (%P).")] = "",
) -> int:
    """Merge three versions of a note by entry: git calls this, after tm init --git.

    What both sides added stays, once; what one side changed or removed is done. Where they disagree about a bullet both
    versions stay in the note, and tm review asks. It reads and writes these files alone. A version in which bullets
    can't be told (conflict marks, a fence that is never closed) is merged by lines: where both sides changed the same
    ones, both stay.
    """
    call = call_of(ctx)
    done = drive(base, ours, theirs)
    if call.out.json:
        call.out.record({"path": path, **done._asdict(), "notices": []})
    elif done.disputed:
        call.out.say(
            f"{path or ours}: {counted(done.disputed, 'line')} changed on both sides, both kept: tm review asks"
        )
    elif done.by_lines and not done.code:
        call.out.say(f"{path or ours}: merged by lines; where both sides changed the same ones, both stay: look at it")
    elif done.code == FAILED:
        call.out.say(f"{path or ours} is left as it was: one of its three versions can't be read or written, or merged")
    return done.code


MERGE = command(
    merge,
    examples="""
tm merge %O %A %B %P   # what tm init --git tells git to call
""",
    exits="1 the file is not text, and git shows a conflict, 255 nothing was changed",
    answers="""
path: the note
code: the exit code
disputed: about how many bullets the sides disagree
by_lines: git merged it by lines
""",
)
