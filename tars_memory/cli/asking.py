"""Asking the person at the terminal: before a credential goes into a note, and for a yes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from tars_memory.vault.suspicion import suspicious

if TYPE_CHECKING:
    from tars_memory.cli.call import Call

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
    from tars_memory.vault import secrets

    found = secrets.find(text)
    if not found:
        return text
    call.out.complain(
        f"this looks like a credential: {secrets.kinds(found)}. Notes are plain text, and often synced.\n"
        "  [m] mask it (Enter)   [y] keep it as it is   [n] stop"
    )
    answer = _answer()
    if answer in STOP:
        call.settle()
        call.out.complain(f"stopped: nothing was written. You typed: {text}")
        raise typer.Exit(STOPPED)
    wanted = text if answer in KEEP else secrets.mask(text)
    if call.typed is not None and call.typed.arguments.get("text") == text:
        call.typed.arguments["text"] = wanted
    return wanted
