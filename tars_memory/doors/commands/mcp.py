"""``mcp``: the memory as tools for whatever speaks the Model Context Protocol."""

from typing import TYPE_CHECKING

import typer

from tars_memory.doors import cli
from tars_memory.doors.cli.call import PATIENCE, call_of, command
from tars_memory.doors.tools import Tools
from tars_memory.errors import UsageError
from tars_memory.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

INSTALL = "install it with its extra: uv tool install 'tars-memory[mcp]', or pip install 'tars-memory[mcp]'"


def mcp(ctx: typer.Context) -> int:
    """Serve the memory to an agent's host as tools, by the Model Context Protocol on stdin and stdout.

    The vault and the project are those of the start; no call can choose others. It may search, read, add lines under
    the client's name, and propose rules. It ends when the host closes stdin.
    """
    call = call_of(ctx)
    with Memory(call.vault, actor="agent", now=call.now, env=call.env, project=call.project) as memory:
        root, project = memory.workspace.root, memory.workspace.project or "none"
        call.notices(memory.workspace.notices)

    def opened(said: "Mapping[str, str]") -> Memory:
        memory = Memory(
            root, actor="agent", now=call.now, dry_run=call.dry_run, env={**said, **call.env}, project=project
        )
        memory.workspace.patience, memory.workspace.apart = PATIENCE, True
        return memory

    try:
        from tars_memory.doors import mcp as protocol
    except ImportError as error:
        raise UsageError(f"mcp needs the MCP SDK, 2.3 or newer, which is not here ({error})", INSTALL) from None

    def failed(error: Exception) -> None:
        cli.failures.explain(error, call)

    if call.out.stderr.isatty():
        call.out.say(f"serving {root} on stdin and stdout; an agent's host starts this: docs/agents.md")
    protocol.serve(Tools(opened), failed)
    return 0


MCP = command(
    mcp,
    writes=True,
    examples="""
tm mcp
claude mcp add memory -- tm mcp --vault ~/Notes
""",
    exits="4 no vault",
)
