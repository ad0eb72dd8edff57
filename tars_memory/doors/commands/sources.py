"""``sources``: the logs of conversations that are searched beside the vault."""

from typing import Annotated, Any

import typer

from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.output import counted, line, show_rows
from tars_memory.doors.cli.parsing import call_of, command
from tars_memory.errors import UsageError

ACTIONS = ("list", "add", "remove")


def sources(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[list|add|remove]", help="List them, add or remove one.")] = "list",
    path: Annotated[str | None, typer.Argument(metavar="[PATH]", help="A log, or a folder of logs.")] = None,
) -> int:
    """Name the logs of your conversations with models, so that search and context find what you said in them.

    The logs are read where they are. Only your own words are searched. The list is in your settings, never in a vault.
    """
    call = call_of(ctx)
    if action not in ACTIONS or (action == "list") != (path is None):
        raise UsageError("sources takes: list, add PATH, or remove PATH", "tars-memory sources add ~/.claude/projects")
    memory = call.memory()
    if path is None:
        return _tell(call, memory.sources())
    if action == "remove":
        return _tell(call, memory.remove_source(path))
    return _tell(call, memory.add_source(path, progress=memory.workspace.progress))


def _tell(call: Call, found: dict[str, Any]) -> int:
    notices = call.notices(found["notices"])
    if call.out.json:
        call.out.record({**found, "notices": notices})
        return 0
    rows = [(line(each["path"]), "" if each["there"] else "not there") for each in found["sources"]]
    show_rows(call.out, rows, ("log or folder", ""), of_notes=False)
    if found["sources"]:
        conversations = counted(found["conversations"], "conversation")
        call.out.say(f"{conversations} in {counted(found['logs'], 'log')} can be searched")
    else:
        call.out.say("no conversations yet: tars-memory sources add ~/.claude/projects")
    return 0


SOURCES = command(
    sources,
    examples="""
tm sources add ~/.claude/projects
tm sources
""",
    answers="""
sources[].path there: each place
logs conversations passages: counts
pending_vectors: passages that are found only by their words so far
nights: whether `sleep` ran in the last three days
""",
)
