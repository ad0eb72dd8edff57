"""``doctor``: what needs a look, and what can be mended."""

from typing import Annotated

import typer

from tars_memory.cli.output import clean, line
from tars_memory.cli.parsing import call_of, command
from tars_memory.errors import UsageError


def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend.")] = False,
    restore: Annotated[
        str | None,
        typer.Option("--restore", metavar="TXN", help="Write the lost lines of this write again (all: of any)."),
    ] = None,
) -> int:
    """Recover what a crash left, place what waits, and probe everything: writes, syncs, rights, model, index.

    Prints each finding with what to do; exit 1 if any are left. With --dry-run it only looks.
    """
    call = call_of(ctx)
    if restore is not None:
        if fix:
            raise UsageError("both --fix and --restore", "give one of them")
        for written in call.memory().restore(restore):
            call.out.data(f"{line(written.path)}:{written.line}")
        call.notices()
        return 0
    told = dict(call.memory().doctor(fix=fix))
    told["notices"] = call.notices(told.get("notices") or ())
    findings = told.setdefault("findings", [])
    if call.out.json:
        call.out.record(told)
    else:
        for finding in findings:
            done = "mended: " if finding.get("fixed") else ""
            call.out.data(f"{done}{finding['kind']}: {clean(finding['message'])}")
            if finding.get("hint") and not done:
                call.out.data(f"  {clean(finding['hint'])}")
        if not findings:
            call.out.say("all is well")
    return 1 if any(not finding.get("fixed") for finding in findings) else 0


COMMAND = command(doctor, writes=True)
