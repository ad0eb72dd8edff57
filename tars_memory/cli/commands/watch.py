"""``watch``: keep the index in step with the vault while it runs."""

import contextlib
import signal
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer

from tars_memory.cli.call import Call
from tars_memory.cli.output import counted
from tars_memory.cli.parsing import call_of, command
from tars_memory.errors import UsageError

LEAST_POLL = 0.5
"""Seconds: a look at a large vault takes as long."""


def watch(
    ctx: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Check once, and end: for cron.")] = False,
    poll: Annotated[
        float | None, typer.Option("--poll", metavar="SECONDS", help="Check so often instead of waiting for events.")
    ] = None,
    print_service: Annotated[
        str | None,
        typer.Option("--print-service", metavar="KIND", help="Print a unit for systemd, launchd or cron, and end."),
    ] = None,
) -> int:
    """Keep the index up to date until it is stopped, and print a line for each batch of changes.

    While it runs, searches find the model loaded. One watcher a vault; no search needs one.
    """
    from tars_memory.jobs.watch import Watching

    call = call_of(ctx)
    if poll is not None and not poll >= LEAST_POLL:
        raise UsageError(f"--poll {poll:g} is too short", f"give {LEAST_POLL:g} seconds or more")
    if print_service is not None:
        from tars_memory.cli.services import unit

        call.out.data(unit(print_service, call.memory().root, call.env), of_notes=False)
        return 0
    from tars_memory.index.live.watcher import Watcher

    watcher = Watcher(call.memory().root, poll=poll)
    watching = Watching(call.fresh_memory, watcher)
    with _signals(watcher):
        if once:
            _tell(call, watching.once())
            return 0
        for number, batch in enumerate(watching.batches()):
            if batch.worth_telling:
                _tell(call, batch)
            if not number and call.out.stderr.isatty():
                call.out.say(f"watching {call.memory().root}; Ctrl-C ends it")
    return 0


def _tell(call: Call, batch: Any) -> None:
    """One line, flushed at once: it is read while we run."""
    now = call.now or datetime.now().astimezone()
    if call.out.json:
        call.out.record({"time": now, **batch._asdict()}, lines=True)
    else:
        for notice in batch.notices:
            call.out.say(notice)
        did = [f"{counted(batch.changed, 'note')} read"] if batch.changed else []
        did += [f"{batch.removed} gone"] if batch.removed else []
        did += [f"{counted(batch.embedded, 'passage')} embedded"] if batch.embedded else []
        did += [f"{batch.pending} to go"] if batch.pending else []
        if did:
            call.out.data(f"{now:%Y-%m-%d %H:%M:%S} {', '.join(did)} in {batch.took:.2f} s")
    call.out.flush()


@contextlib.contextmanager
def _signals(watcher: Any) -> Iterator[None]:
    """SIGTERM, SIGHUP (a closed terminal) and Ctrl-C end the watcher cleanly."""

    def stop(*_: object) -> None:
        watcher.stop()

    names = [name for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.signal(getattr(signal, name), stop) for name in names}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


WATCH = command(
    watch,
    examples="""
tm watch
tm watch --once                     # for cron
tm watch --print-service systemd
""",
    exits="5 another watcher is running",
    answers="""
time: one object a batch, on one line
changed removed: notes
embedded pending: passages
took: seconds
""",
)
