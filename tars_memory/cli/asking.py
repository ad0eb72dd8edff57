"""Asking the person at the terminal before a credential goes into a note."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from tars_memory.suspicion import suspicious

if TYPE_CHECKING:
    from tars_memory.cli.call import Call

KEEP, STOP = ("y", "yes", "k", "keep"), ("n", "no", "s", "stop", "q", "quit")
STOPPED = 1


def about_secrets(call: Call, text: str) -> str:
    """The text as the person wants it written: as it is, or with its credentials masked.

    Only a person at a terminal is asked; anybody else's text is masked where it is written. Enter, and an answer that
    can't be read, mask: nothing that was typed is lost.

    Raises:
        typer.Exit: the person wants nothing written; the text is shown once more.
    """
    if not call.interactive or call.dry_run or not suspicious(text):
        return text
    from tars_memory.vault.secrets import masking as secrets

    found = secrets.find(text)
    if not found:
        return text
    call.out.complain(
        f"this looks like a credential: {secrets.kinds(found)}. Notes are plain text, and often synced.\n"
        "  [m] mask it (Enter)   [y] keep it as it is   [n] stop"
    )
    try:
        sys.stderr.write("? ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        answer = STOP[0]
    except (OSError, ValueError):
        answer = ""
    if answer in STOP:
        call.out.complain(f"stopped: nothing was written. You typed: {text}")
        raise typer.Exit(STOPPED)
    return text if answer in KEEP else secrets.mask(text)
