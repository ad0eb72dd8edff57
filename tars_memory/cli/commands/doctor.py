"""``doctor``: what needs a look."""

import typer

from tars_memory.cli.output import clean
from tars_memory.cli.parsing import call_of, command


def doctor(ctx: typer.Context) -> int:
    """Recover what a crash left, place what waits in the spool, and look for lines of ours that something overwrote.

    Prints each finding with what to do; exit 1 if there are any. With --dry-run it only looks.
    """
    call = call_of(ctx)
    told = dict(call.memory().doctor())
    told["notices"] = call.notices(told.get("notices") or ())
    findings = told.setdefault("findings", [])
    if call.out.json:
        call.out.record(told)
    else:
        for finding in findings:
            call.out.data(f"{finding['kind']}: {clean(finding['message'])}")
            if finding.get("hint"):
                call.out.data(f"  {clean(finding['hint'])}")
        if not findings:
            call.out.say("all is well")
    return 1 if findings else 0


COMMAND = command(doctor, writes=True)
