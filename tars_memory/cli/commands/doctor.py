"""``doctor``: what needs a look, and what can be mended."""

from typing import Annotated

import typer

from tars_memory.cli.asking import confirmed
from tars_memory.cli.call import Call
from tars_memory.cli.output import clean
from tars_memory.cli.parsing import call_of, command
from tars_memory.errors import UsageError


def doctor(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="With --adopt: where the vault was before it was moved.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend.")] = False,
    restore: Annotated[
        str | None,
        typer.Option("--restore", metavar="TXN", help="Write the lost lines of this write again (all: of any)."),
    ] = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="Take over the history and undo kept for PATH.")] = False,
    drop: Annotated[
        str | None,
        typer.Option("--drop", metavar="ITEM", help="Take a text out of the spool into a file."),
    ] = None,
) -> int:
    """Mend what a crash left, write what waits in the spool, and check writes, syncs, rights, model and index.

    Prints each finding with what to do; exit 1 if any are left. With --dry-run it only looks.
    """
    call = call_of(ctx)
    if adopt + fix + (restore is not None) + (drop is not None) > 1:
        raise UsageError("more than one of --fix, --restore, --drop and --adopt", "give one of them")
    if adopt:
        return _adopt(call, path)
    if path is not None:
        raise UsageError(f"{path!r} without --adopt", "to take over the history of a moved vault: doctor --adopt PATH")
    if drop is not None:
        kept = call.memory().drop(drop)
        call.out.data(clean(str(kept))) if kept else call.out.say("dropped; it was a removal, and holds no words")
        return 0
    if restore is not None:
        for written in call.memory().restore(restore):
            call.out.data(call.out.place(written.path, written.line))
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
            path, message = finding.get("path") or "", clean(finding["message"])
            if path and message.startswith(path):
                message = call.out.path(path) + message[len(path) :]
            call.out.data(f"{done}{finding['kind']}: {message}")
            if finding.get("hint") and not done:
                call.out.data(f"  {clean(finding['hint'])}")
        if not findings:
            call.out.say("all is well")
    return 1 if any(not finding.get("fixed") for finding in findings) else 0


def _adopt(call: Call, path: str | None) -> int:
    """Take over what is kept for the path that the vault was moved from; a person at the terminal is asked."""
    memory = call.memory()
    if path is None and not call.interactive:
        memory.adoptable()
        raise UsageError("--adopt needs the path that the vault was moved from", "tars-memory doctor names it")
    found = memory.adoptable(path)
    held = f"history (writes: {found.writes}, waiting texts: {found.waiting})"
    if call.interactive and not call.dry_run:
        there = "something else is there now" if found.stands else "nothing is there now"
        asked = f"{held} is kept for {clean(found.path)}; {there}. Was that vault moved to {clean(str(memory.root))}"
        if not confirmed(call, f"{asked}, and is to go on here? No if its disk is only away."):
            call.out.complain("nothing was done")
            return 1
    memory.adopt(found)
    notices = call.notices()
    told = {"from": found.path, "to": str(memory.root), "writes": found.writes, "waiting": found.waiting}
    if call.out.json:
        call.out.record({"adopted": told, "notices": notices})
    else:
        would = "would adopt" if call.dry_run else "adopted"
        call.out.data(f"{would}: {clean(found.path)} -> {clean(str(memory.root))}: {held}")
    return 0


DOCTOR = command(
    doctor,
    writes=True,
    examples="""
tm doctor
tm doctor --fix                  # mend indexes, rights, leftovers; never a note
tm doctor --restore all          # write lost lines again
tm doctor --adopt /old/place     # after you moved the vault
""",
    exits="1 findings are left",
    answers="""
findings[].kind path message hint fixable fixed: what is wrong, and what to do
[--adopt]
adopted: `from`, `to`, `writes`, `waiting`
""",
)
