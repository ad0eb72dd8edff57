"""``sleep``: a night's work."""

import os
from typing import Annotated

import typer

from tars_memory.cli.output import PROGRAM, counted, line
from tars_memory.cli.parsing import call_of, command
from tars_memory.settings import SleepOptions

PARTLY = 3


def sleep(
    ctx: typer.Context,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SOURCES…]", help="Chat logs or folders of them, instead of those set."),
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what the last night wrote.")] = False,
    print_schedule: Annotated[
        str | None,
        typer.Option(
            "--print-schedule", metavar="KIND", help="Print a schedule for systemd, launchd or cron, and end."
        ),
    ] = None,
) -> int:
    """Do a night's work: extract from new conversations, expire old candidates, archive old daily notes, index.

    Prints what was done and what waits for you. If a step fails, the others still run (exit 3).
    """
    call = call_of(ctx)
    memory = call.memory()
    if print_schedule is not None:
        from tars_memory.cli.services import unit

        more = ["--project", memory.project] if memory.project else []
        more += ["--", *(os.path.abspath(os.path.expanduser(source)) for source in sources)] if sources else []
        call.out.data(unit(print_schedule, memory.root, call.env, night=True, more=more), of_notes=False)
        if not sources and not memory.settings.options("sleep", SleepOptions).sources:
            call.out.say("no conversations will be examined: name SOURCES, or set [sleep] sources")
        return 0
    from tars_memory.jobs import sleep as nights

    if undo:
        txns = nights.undo(memory)
        notices = call.notices()
        if call.out.json:
            call.out.record({"undone": txns, "notices": notices})
        else:
            call.out.data(f"{counted(len(txns), 'write')} of the last night taken back")
        return 0
    night = nights.sleep(memory, sources or ())
    notices = call.notices(night.notices)
    if call.out.json:
        call.out.record({**night.as_dict(), "notices": notices})
    else:
        for step in night.steps:
            name = f"{step.name} ({line(step.project)})" if step.project else step.name
            if step.told:
                call.out.data(f"{name}: {line(step.told)}")
            if step.error:
                call.out.complain(f"{PROGRAM}: {name} failed: {line(step.error)}")
        if not any(step.told or step.error for step in night.steps):
            call.out.say("nothing to do")
    return PARTLY if night.failed else 0


SLEEP = command(
    sleep,
    writes=True,
    examples="""
tm sleep ~/.claude/projects
tm sleep --print-schedule cron ~/.claude/projects
tm sleep --undo
""",
    exits="3 some steps failed, 5 another night is running",
    answers="""
steps[].name told counts error project: each step
txns: what it wrote, for `undo`
took: seconds
[--undo]
undone: the writes that were taken back
""",
)
