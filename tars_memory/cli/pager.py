"""What is longer than the screen goes through a pager, by git's rules. Imported only on a terminal."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

from tars_memory.cli.output import SEQUENCES
from tars_memory.disk import Places
from tars_memory.settings import OFF, Settings, TerminalOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tars_memory.cli.call import Call

LESS = "FRX"
"""As git sets it: end if all of it fits, let colours through, leave the text on the screen."""
NONE = frozenset({"", "cat", *OFF})
"""Pagers that are none."""
NOT_STARTED = (126, 127)
"""The shell's exit codes for a command that may not be run, and for one that it can't find."""


class Held(io.StringIO):
    """Stands for a terminal until all that it is to show is known."""

    def __init__(self, encoding: str) -> None:
        super().__init__(newline="")
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the terminal."""
        return self._encoding

    def isatty(self) -> bool:
        """As the terminal says."""
        return True


@contextlib.contextmanager
def paged(call: Call) -> Iterator[None]:
    """Collect what is printed meanwhile; then print it, by a pager if it is longer than the screen."""
    out = call.out
    command = program(call)
    if not command:
        yield
        return
    terminal = out.stdout
    held = Held(terminal.encoding or "utf-8")
    out.stdout, out.pages = held, True
    try:
        yield
    finally:
        out.stdout, out.pages = terminal, False
        text = held.getvalue()
        if rows(text, *shutil.get_terminal_size()) and run(command, text, call.env, held.encoding):
            text = ""
        out.write(text)


def program(call: Call) -> str:
    """The pager, as a command for the shell: as it is set, else ``PAGER``, else less; '' for none."""
    settings = Settings(call.env, Places.of(call.env))
    named = settings.options("terminal", TerminalOptions).pager or call.env.get("PAGER")
    if named is None:
        named = "less" if shutil.which("less") else ""
    try:
        shlex.split(named)
    except ValueError:  # a quote that is never closed: the shell would take the text and show nothing
        return ""
    return "" if named.strip().casefold() in NONE else named


def rows(text: str, columns: int, lines: int) -> bool:
    """Whether a text, with the prompt below it, is higher than the screen."""
    from rich.cells import cell_len

    plain = re.sub(SEQUENCES, "", text).split("\n")
    return sum(max(1, -(-cell_len(each) // max(columns, 1))) for each in plain) > lines


def run(command: str, text: str, env: Mapping[str, str], encoding: str) -> bool:
    """Show a text in a pager, until the person has seen enough; False if there is no such program."""
    more = {name: value for name, value in (("LESS", LESS), ("LV", "-c")) if name not in env}
    try:
        process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env={**env, **more})  # noqa: S602 - as git
    except OSError:
        return False
    assert process.stdin is not None
    with contextlib.suppress(OSError, KeyboardInterrupt):  # it was left before the end
        process.stdin.write(text.encode(encoding, "backslashreplace"))
    with contextlib.suppress(OSError):
        process.stdin.close()
    while True:
        try:
            return process.wait() not in NOT_STARTED
        except KeyboardInterrupt:  # the pager's own key
            continue
