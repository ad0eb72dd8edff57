"""``init``: make a vault."""

from typing import Annotated

import typer

from tars_memory.cli.output import line
from tars_memory.cli.parsing import call_of, command
from tars_memory.errors import UsageError


def init(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="The folder; else --vault, TARS_MEMORY_DIR, or this one.")
    ] = None,
) -> int:
    """Make a vault in PATH, or add what is missing to a vault you already have. Nothing that exists is changed.

    Prints the vault's folder. Twice is harmless.
    """
    from tars_memory.memory import Memory

    call = call_of(ctx)
    if path == "" or call.vault == "":
        raise UsageError("PATH is empty", "name the folder, or stand in it and leave PATH out")
    root = path or call.vault or call.env.get("TARS_MEMORY_DIR") or "."
    made = Memory.init(
        root, actor=call.actor, interactive=call.interactive, now=call.now, dry_run=call.dry_run, env=call.env
    )
    notices = call.notices(made.notices)
    if call.out.json:
        call.out.record({"path": str(made.root), "created": list(made.created), "notices": notices})
        return 0
    call.out.data(line(str(made.root)), of_notes=False)
    would = "would make" if call.dry_run else "made"
    call.out.say(f"{would} {', '.join(made.created)}" if made.created else "nothing was missing")
    return 0


COMMAND = command(init, writes=True)
