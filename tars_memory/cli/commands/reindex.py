"""``reindex``: bring the index up to date."""

from typing import Annotated, Any

import typer

from tars_memory.cli.call import Call
from tars_memory.cli.output import counted
from tars_memory.cli.parsing import call_of, command


def reindex(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Read every note again, into a new index.")] = False,
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Words only; leave the vectors for later.")] = False,
) -> int:
    """Bring the index up to date with the notes, and make the vectors that are missing. Shows progress on a terminal.

    Never changes a note. It can be interrupted; what is done stays done.
    """
    call = call_of(ctx)
    memory = call.memory()
    if call.out.stderr.isatty() and not (call.out.quiet or call.out.json):
        from tars_memory.cli.views import progress

        with progress(call.out) as tick:
            report = memory.reindex(full=full, embed=not no_embed, progress=tick)
    else:
        report = memory.reindex(full=full, embed=not no_embed, progress=None)
    return tell(call, report)


def tell(call: Call, report: Any) -> int:
    """Say what a refresh did."""
    notices = call.notices(getattr(report, "notices", None) or ())
    if call.out.json:
        names = "changed removed pending_vectors stale skipped took"
        call.out.record({**{n: getattr(report, n, None) for n in names.split()}, "notices": notices})
        return 0
    skipped = sum((report.skipped or {}).values())
    told = [f"{counted(report.changed, 'note')} read", f"{report.removed} gone"]
    if skipped:
        told.append(f"{counted(skipped, 'file')} skipped")
    if report.pending_vectors:
        told.append(f"{counted(report.pending_vectors, 'passage')} without a vector yet")
    call.out.data(", ".join(told))
    return 0


COMMAND = command(reindex)
