"""How every writer asks and answers: about a credential and for a yes at a terminal; then ``path:line`` on stdout, and
what else there is to know on stderr.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import typer

from tars_memory import vault
from tars_memory.doors.cli.output import counted, fields, line
from tars_memory.vault.suspicion import suspicious

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.doors.cli.call import Call


KEEP, STOP = ("y", "yes", "k", "keep"), ("n", "no", "s", "stop", "q", "quit")
STOPPED = 1


def confirmed(call: Call, question: str) -> bool:
    """Whether the person at the terminal says yes; anything else, Ctrl-C too, is no."""
    call.out.complain(f"{question} [y/N]")
    return _answer() in ("y", "yes")


def chosen(call: Call, question: str, count: int) -> list[int]:
    """Which of so many the person at the terminal names, from 0 on: numbers, ``a`` for all; anything else is none."""
    call.out.complain(f"{question} [1-{count}, a: all, Enter: none]")
    answer = _answer()
    if answer in ("a", "all"):
        return [*range(count)]
    named = [int(word) for word in answer.replace(",", " ").split() if word.isdecimal()]
    return sorted({number - 1 for number in named if 1 <= number <= count})


def _answer() -> str:
    """What is typed; empty if it can't be read, :data:`STOP`'s first word for Ctrl-C."""
    try:
        sys.stderr.write("? ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        return STOP[0]
    except (OSError, ValueError):
        return ""


def about_secrets(call: Call, text: str) -> str:
    """The text as the person wants it written: as it is, or with its credentials masked.

    Only a person at a terminal is asked; anybody else's text is masked where it is written. Enter, and an answer that
    can't be read, mask: nothing that was typed is lost.

    Raises:
        typer.Exit: the person wants nothing written; the text is shown once more.
    """
    if not call.interactive or call.dry_run or not suspicious(text):
        return text
    found = vault.secrets.find(text)
    if not found:
        return text
    call.out.complain(
        f"this looks like a credential: {vault.secrets.kinds(found)}. Notes are plain text, and often synced.\n"
        "  [m] mask it (Enter)   [y] keep it as it is   [n] stop"
    )
    answer = _answer()
    if answer in STOP:
        call.settle()
        call.out.complain(f"stopped: nothing was written. You typed: {text}")
        raise typer.Exit(STOPPED)
    wanted = text if answer in KEEP else vault.secrets.mask(text)
    if call.typed is not None and call.typed.arguments.get("text") == text:
        call.typed.arguments["text"] = wanted
    return wanted


RECEIPT = "txn path line ref text written spooled"
UNWRITABLE = 5
MOST = 20
"""So many lines of a note's change are said."""


def report(call: Call, receipt: Any, *, repeated: str = "already there; nothing was written") -> int:
    """Print one receipt.

    Args:
        call: the call it answers.
        receipt: what the writer returned.
        repeated: what to say when nothing was written and no notice says why.

    Returns:
        The exit code: 5 if the text went to the spool, else 0.
    """
    call.settle()
    own = list(getattr(receipt, "notices", None) or ())
    if receipt.spooled and not own:
        own.append("the note can't be written now: your text is in the spool, and the next writing command places it")
    elif call.dry_run and not receipt.spooled:
        own.append("dry run: nothing was written")
    elif not receipt.written and not str(receipt.path or ".tars").startswith(".tars"):
        own.append(repeated)  # below .tars/ it is a proposal, and a notice says so
    notices = call.notices(own)
    if call.out.json:
        touched = [{"path": each.path, "line": each.line} for each in getattr(receipt, "touched", None) or ()]
        more = {"touched": touched} if touched else {}
        call.out.record({**fields(receipt, RECEIPT), **more, "notices": notices})
    else:
        if receipt.path:
            call.out.data(call.out.place(receipt.path, receipt.line))
        if call.dry_run and receipt.text:
            call.out.data(f"  {line(receipt.text)}")
    return UNWRITABLE if receipt.spooled else 0


def say_change(call: Call, path: str, number: int | None, before: bytes, after: bytes, text: bytes = b"") -> None:
    """Say which lines were taken out of a note, and which were put back, each with its place; or would be.

    Args:
        call: the call.
        path: of the note.
        number: of the first line that changed.
        before: the lines as they were.
        after: the lines as they are.
        text: the whole note as it is; finds the places of lines that stand apart.
    """
    was, now = (
        [row for row in re.split(r"\r\n|\r|\n", side.decode("utf-8", "replace")) if row.strip()]
        for side in (before, after)
    )
    would = "would be " if call.dry_run else ""
    gone, come = _without(was, now), _without(now, was)
    if len(gone) == len(come) == 1:
        call.out.say(
            f"{would}changed back: {call.out.place(path, number)}: {line(gone[0].strip())} → {line(come[0].strip())}"
        )
        return
    rows = re.split(r"\r\n|\r|\n", text.decode("utf-8", "replace"))
    told = [("taken out", row, number if at == 0 else None) for at, row in enumerate(gone)]
    at = (number or 1) - 1
    for row in come:
        at = rows.index(row, at) if row in rows[at:] else at
        told.append(("put back", row, at + 1 if number else None))
        at += 1
    for what, row, place in told[:MOST]:
        call.out.say(f"{would}{what}: {call.out.place(path, place)}: {line(row.strip())}")
    if len(told) > MOST:
        call.out.say(f"and {counted(len(told) - MOST, 'more line')} of {call.out.path(path)}")


def _without(rows: list[str], others: list[str]) -> list[str]:
    """The rows that are not among the others, each as often as it is missing there."""
    left = list(others)
    found = []
    for row in rows:
        if row in left:
            left.remove(row)
        else:
            found.append(row)
    return found


def show_plan(call: Call, steps: Iterable[Any]) -> None:
    """What is to be moved, and where to, a line each."""
    for step in steps:
        where = f" -> {call.out.path(step.to)}" if step.action == "move" else ""
        call.out.data(f"{step.action}  {call.out.path(step.path)}{where}  ({line(step.reason)})")
