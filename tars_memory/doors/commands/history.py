"""``history`` and ``undo``: what was written, and taking it back."""

from typing import Annotated, Any

import typer

from tars_memory.doors.cli.call import say_change
from tars_memory.doors.cli.output import Output, fields, line
from tars_memory.doors.cli.parsing import call_of, command
from tars_memory.errors import UsageError

ENTRY = "txn time command actor file op before after undone"
SHOWN = 200
"""Characters of a change that a line of the listing shows."""


def history(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most N writes.")] = 20,
    path: Annotated[str | None, typer.Option("--path", metavar="NOTE", help="Only writes to this note.")] = None,
) -> int:
    """List what this program wrote, newest first.

    In a pipe one line a write, with tabs: write, time, command, who, operation, note, change. Exit 1 if nothing was
    written.
    """
    call = call_of(ctx)
    entries = list(call.memory().history(limit=limit, path=path and call.note(path)))
    notices = call.notices()
    if call.out.json:
        call.out.record({"entries": [fields(entry, ENTRY) for entry in entries], "notices": notices})
    elif not entries:
        call.out.say("nothing has been written yet" + (f" to {path}" if path else ""))
    elif call.out.screen:
        from tars_memory.doors.cli.screen import show_history

        show_history(call.out, (row(call.out, entry) for entry in entries))
    else:
        for entry in entries:
            call.out.data("\t".join(row(call.out, entry)))
    return 0 if entries else 1


def row(out: Output, entry: object) -> list[str]:
    """One write as columns of plain text."""
    told = fields(entry, ENTRY)
    change = change_of(told["before"], told["after"])
    mark = f"{told['op']} (undone)" if told["undone"] else str(told["op"])
    return [
        *(line(_text(told[name])) for name in ("txn", "time", "command", "actor")),
        mark,
        out.path(str(told["file"])),
        change,
    ]


def change_of(before: object, after: object) -> str:
    """What a write changed, on one line."""
    was, now = (line(_text(side)).strip()[:SHOWN] for side in (before, after))
    return f"{was} → {now}" if was and now else (now or (f"removed: {was}" if was else ""))


def _text(value: Any) -> str:
    """A member of a write as text: moments in ISO form, bytes decoded."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    isoformat = getattr(value, "isoformat", None)
    return str(isoformat(timespec="seconds") if isoformat else value or "")


HISTORY = command(
    history,
    pages=True,
    examples="""
tm history
tm history --path Memory.md --limit 5
""",
    exits="1 nothing was written",
    answers="""
entries[].txn time command actor: the write
entries[].file op before after: what it changed
entries[].undone: whether it was taken back
""",
)


def undo(
    ctx: typer.Context,
    txn: Annotated[str | None, typer.Argument(metavar="[TXN]", help="The write, as history names it.")] = None,
    last: Annotated[int | None, typer.Option("--last", metavar="N", min=1, help="Take the last N writes back.")] = None,
) -> int:
    """Take back the last write, or the one named, or the last N. An undo can be undone.

    The note gets its exact bytes back. If it changed since, only our change is reversed; if that needs a guess, nothing
    is written and the difference is shown (exit 6).
    """
    call = call_of(ctx)
    if txn and last is not None:
        raise UsageError("both TXN and --last", "give one of them")
    written = call.memory().undo(txn, last=last or 1)
    notices = call.notices(["dry run: nothing was written"] if call.dry_run else [])
    if call.out.json:
        call.out.record({"undone": [fields(each, "txn path line") for each in written], "notices": notices})
        return 0
    for each in written:
        call.out.data(call.out.place(each.path, each.line))
        if each.path.startswith(".tars/"):
            continue  # our own books, which say nothing to a person
        say_change(call, each.path, each.line, each.before, each.after, each.text)
    if not written:
        call.out.say("there is nothing to undo")
    return 0


UNDO = command(
    undo,
    writes=True,
    examples="""
tm undo
tm undo --last 3
tm undo 1m2x7k
""",
    exits="1 no such write, 6 the note changed since",
    answers="""
undone[].txn path line: each write that was taken back
""",
)
