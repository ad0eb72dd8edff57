"""``reindex``: bring the index up to date."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.cli.call import Call
from tars_memory.cli.output import counted, line
from tars_memory.cli.parsing import call_of, command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.memory import Memory

LOOK = 0.5
"""Seconds between two looks at what another process does."""


def reindex(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Read every note again, into a new index.")] = False,
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Words only; leave the vectors for later.")] = False,
) -> int:
    """Bring the index up to date with the notes, and make the vectors that are missing. Never changes a note.

    Shows progress on a terminal. Ctrl-C (exit 130) stops it; the next run goes on there.
    """
    call = call_of(ctx)
    memory = call.memory()
    try:
        report = memory.reindex(full=full, embed=not no_embed, progress=memory.progress)
        if not no_embed:
            await_others(memory, report)
    except KeyboardInterrupt:
        call.out.complain(f"tars-memory: stopped; {done(memory)}; the next search or tars-memory reindex goes on there")
        raise
    return tell(call, report)


def await_others(memory: "Memory", report: Any) -> None:
    """Wait for the process that makes the vectors already, and show how far it is."""
    from tars_memory.index.live import detached

    pending = report.pending_vectors
    while pending and detached.is_running(memory.state):
        if memory.progress is not None:
            work = detached.told(memory.state)
            memory.progress(
                f"{work.phase}, by the process in the background", work.done, max(work.total, work.done + 1)
            )
        time.sleep(LOOK)
        report.pending_vectors = pending = memory.index().pending()


def done(memory: "Memory") -> str:
    """How far the index is, in words."""
    told = memory.index().status()
    read = f"{counted(told['notes'] or 0, 'note')} read"
    return f"{read}, {told['vectors'] or 0:,} of {counted(told['chunks'] or 0, 'passage')} have a vector"


UNSAID = ("hidden folder", "hidden file", "template")
"""Why a file is no note, where that is how it is meant to be; each vault has some."""


def passed_over(skipped: "Mapping[str, int]") -> str:
    """How many files of what kind are not read though they might be meant to be; empty if there are none."""
    told = [f"{count} {line(reason)}" for reason, count in skipped.items() if reason not in UNSAID]
    return f"skipped: {', '.join(told)}" if told else ""


def tell(call: Call, report: Any) -> int:
    """Say what a refresh did."""
    notices = call.notices(getattr(report, "notices", None) or ())
    if call.out.json:
        names = "changed removed pending_vectors stale skipped took"
        call.out.record({**{n: getattr(report, n, None) for n in names.split()}, "notices": notices})
        return 0
    told = [f"{counted(report.changed, 'note')} read", f"{report.removed} gone"]
    if skipped := passed_over(report.skipped or {}):
        told.append(skipped)
    if report.pending_vectors:
        told.append(f"{counted(report.pending_vectors, 'passage')} without a vector yet")
    call.out.data(", ".join(told))
    return 0


REINDEX = command(
    reindex,
    examples="""
tm reindex
tm reindex --full       # a new index; vectors are kept
""",
    answers="""
changed removed: notes
pending_vectors: passages that are found only by their words so far
stale: notes not read yet
skipped: files that are not notes, counted by reason
took: seconds
""",
)
