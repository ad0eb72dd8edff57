"""``status``: vault, index, model."""

from datetime import datetime

import typer

from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.tables import show_tree


def status(ctx: typer.Context) -> int:
    """Tell where the vault and the index are, how far the index is, which model and which SQLite are in use."""
    call = call_of(ctx)
    told = dict(call.memory().status())
    told["notices"] = call.notices(told.get("notices") or ())
    if call.out.json:
        call.out.record(told)
    else:
        if seconds := (told.get("index") or {}).get("indexed"):
            when = datetime.fromtimestamp(seconds).astimezone()
            told["index"] = {**told["index"], "indexed": f"{when:%Y-%m-%d %H:%M}"}
        show_tree(call.out, {name: value for name, value in told.items() if name != "notices"})
    return 0


COMMAND = command(status, pages=True)
