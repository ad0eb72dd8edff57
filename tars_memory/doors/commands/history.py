"""``history`` and ``undo``: what was written, and taking it back."""

import re
from difflib import unified_diff
from typing import Annotated, Any

import typer

from tars_memory import vault
from tars_memory.doors import cli
from tars_memory.doors.cli.call import MOST, STOPPED, Call, call_of, command, confirmed, say_change
from tars_memory.doors.cli.output import Output, counted, fields, line
from tars_memory.errors import UsageError
from tars_memory.vault.layout import OURS

ENTRY = "txn time command actor file op before after undone"
SHOWN = 200
"""Characters of a change that a line of the listing shows."""
SHOWN_NOTES = 8
"""Notes whose change is shown before it is taken back."""


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
        cli.screen.show_history(call.out, (row(call.out, entry) for entry in entries))
    else:
        for entry in entries:
            call.out.data("\t".join(row(call.out, entry)))
    return 0 if entries else 1


def row(out: Output, entry: object) -> list[str]:
    """One write as columns of plain text."""
    told = fields(entry, ENTRY)
    sides = [_text(told[name]) for name in ("before", "after")]
    change = change_of(*map(_words if str(told["file"]).startswith(OURS) else str, sides))
    mark = f"{told['op']} (undone)" if told["undone"] else str(told["op"])
    return [
        *(line(_text(told[name])) for name in ("txn", "time", "command", "actor")),
        mark,
        out.path(str(told["file"])),
        change,
    ]


def _words(text: str) -> str:
    """What a file of ours says, a proposal or decisions; all of it if it is none of these."""
    words_of = vault.inbox.words_of
    return "; ".join(dict.fromkeys(words for part in (text, *text.split("\n")) for words in words_of(part))) or text


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
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
) -> int:
    """Take back the last write, or the one named, or the last N. An undo can be undone.

    On a terminal it shows what changes and asks first; in a pipe, with --json, --quiet or --yes it doesn't. The note
    gets its exact bytes back. If it changed since, only our change is reversed; if that needs a guess, nothing is
    written and the difference is shown (exit 6).
    """
    call = call_of(ctx)
    if txn and last is not None:
        raise UsageError("both TXN and --last", "give one of them")
    named: str | list[str] | None = txn
    asks = call.interactive and call.out.screen and not (yes or call.out.quiet or call.dry_run)
    if asks:
        named = _agreed(call, txn, last or 1)
        if not named:
            call.out.say("nothing was undone")
            return STOPPED
    written = call.memory().undo(named, last=last or 1)
    notices = call.notices(["dry run: nothing was written"] if call.dry_run else [])
    if call.out.json:
        call.out.record({"undone": [fields(each, "txn path line") for each in written], "notices": notices})
        return 0
    for each in written:
        call.out.data(call.out.place(each.path, each.line))
        if asks or each.path.startswith(".tars/"):
            continue  # it was shown; or it is our own book, which says nothing to a person
        say_change(call, each.path, each.line, each.before, each.after, each.text)
    if not written:
        call.out.say("there is nothing to undo")
    return 0


def _agreed(call: Call, txn: str | None, last: int) -> list[str]:
    """The names of the writes that are to be taken back, if the person who has seen what that changes says yes."""
    entries, written = call.memory().undoable(txn, last=last)
    writes = {entry.txn: entry for entry in entries}
    for each in writes.values():
        when = str(each.time)[:16].replace("T", " ")
        call.out.complain(line(f"{each.txn}  {when}  {each.command} by {each.actor}"))
    there = call.memory().workspace.vault
    notes = {each.path: each.text for each in written if not each.path.startswith(".tars/")}
    for path in [*notes][:SHOWN_NOTES]:
        now = there.read(path) if there.look(path) is not None else None
        call.out.complain("\n".join(_difference(call.out.path(path), now, notes[path])))
    if len(notes) > SHOWN_NOTES:
        call.out.complain(
            f"and {counted(len(notes) - SHOWN_NOTES, 'more note')}: tars-memory undo --dry-run lists them"
        )
    return [*writes] if confirmed(call, "take it back?" if len(writes) == 1 else "take them back?") else []


def _difference(path: str, now: bytes | None, then: bytes) -> list[str]:
    """What changes in a note, as a short patch."""
    was, will = (re.split(r"\r\n|\r|\n", (side or b"").decode("utf-8", "replace")) for side in (now, then))
    for rows in (was, will):
        if not rows[-1]:
            rows.pop()  # of a last line that ends
    found = ["..." if row.startswith("@@") else line(row) for row in unified_diff(was, will, lineterm="", n=1)][3:]
    what = "  (comes back)" if now is None else "" if then else "  (goes)"
    more = [f"and {counted(len(found) - MOST, 'more line')}"] if len(found) > MOST else []
    return [path + what, *(f"  {row}" for row in [*found[:MOST], *more])]


UNDO = command(
    undo,
    writes=True,
    examples="""
tm undo
tm undo --last 3
tm undo 1m2x7k --yes
""",
    exits="1 no such write, or you said no; 6 the note changed since",
    answers="""
undone[].txn path line: each write that was taken back
""",
)
