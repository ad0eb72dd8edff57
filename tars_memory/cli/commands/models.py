"""``models``: embedding models."""

from typing import Annotated

import typer

from tars_memory.cli.output import line
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.tables import show_tree
from tars_memory.errors import UsageError


def models(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[list|use]", help="List them, or use one.")] = "list",
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The model to use.")] = None,
    folder: Annotated[
        str | None, typer.Option("--from", metavar="FOLDER", help="Take its files from here instead of downloading.")
    ] = None,
) -> int:
    """List the embedding models that can be used here, or use another one (which may download it)."""
    call = call_of(ctx)
    if action not in ("list", "use") or (action == "use") != (name is not None) or (folder and not name):
        raise UsageError("models takes: list, or use NAME", "tars-memory models list")
    if name is not None:
        told = dict(call.memory().use_model(name, folder=folder))
        told["notices"] = call.notices(told.get("notices") or ())
        if call.out.json:
            call.out.record(told)
        else:
            show_tree(call.out, {key: value for key, value in told.items() if key != "notices"})
        return 0
    known = list(call.memory().models())
    notices = call.notices()
    if call.out.json:
        call.out.record({"models": known, "notices": notices})
        return 0
    for model in known:
        mark = "*" if model.get("current") else " "
        state = "" if model.get("installed") else "  (not installed)"
        call.out.data(f"{mark} {line(str(model['name']))}{state}")
    return 0


COMMAND = command(models)
