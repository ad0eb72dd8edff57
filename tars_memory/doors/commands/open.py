"""``open`` and ``links``: a hit or a note in Obsidian or an editor; what a note links to, and what to it."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.output import line, show_rows
from tars_memory.doors.cli.parsing import call_of, command
from tars_memory.doors.cli.recent import hit_of
from tars_memory.errors import NotFoundError, UsageError
from tars_memory.recall.results import obsidian_url

COLON_LINE = {"hx", "helix", "subl", "zed"}
"""Editors that take ``path:LINE``; any other is given ``+LINE path``, which vi, nano, emacs and most others take."""

GOTO = {"code", "codium", "code-insiders", "cursor"}
"""Editors that take ``--goto path:LINE``."""

FAILED = 3
"""The exit code when the program that was started says that it failed."""


def open_(
    ctx: typer.Context,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[N | NAME…]", help="Which hit, or a note's name or path; the first hit if not given."),
    ] = None,
) -> int:
    """Open a hit of the last search, or a note by name, alias or path: in Obsidian if it knows the vault and there is a
    display, else in $VISUAL or $EDITOR.

    Where neither can be started it prints path:line. Searches at a terminal and those of scripts keep separate
    numbers.
    """
    call = call_of(ctx)
    memory = call.memory()
    name = " ".join(what or ())
    if what and not name.strip():
        raise UsageError("the name is empty", "tars-memory open NAME, or a hit of the last search: tars-memory open 2")
    path, at, url = _hit(call, name) if not name or name.isdecimal() else _note(call, name)
    notices = call.notices()
    note = memory.workspace.root / path
    opener = opener_for(call, note, at, url if (memory.workspace.root / ".obsidian").is_dir() else None)
    if call.out.json:
        call.out.record({"path": path, "line": at, "obsidian_url": url, "opened": bool(opener), "notices": notices})
    elif not opener:
        call.out.data(f"{line(str(note))}:{at}", of_notes=False)
    if opener:
        call.out.flush()
        try:
            return FAILED if subprocess.run(opener, check=False).returncode else 0
        except OSError as error:
            raise UsageError(f"{opener[0]} can't be started: {error.strerror}", "set VISUAL or EDITOR") from None
    return 0


def _note(call: Call, name: str) -> tuple[str, int, str | None]:
    memory = call.memory()
    path = memory.note_called(call.note(name))
    return path, 1, obsidian_url(memory.workspace.root.name, path)


def _hit(call: Call, number: str) -> tuple[str, int, str | None]:
    """A hit of the last search; where it has none of that number, the note that is called so (``2025``)."""
    try:
        return hit_of(call, int(number or 1))
    except (NotFoundError, UsageError):
        with contextlib.suppress(NotFoundError):
            if number:
                return _note(call, number)
        raise


def opener_for(call: Call, note: Path, at: int, url: str | None) -> list[str] | None:
    """The program to start with its arguments; None if there is none."""
    if url:
        for name, words in (("darwin", ["open"]), ("win32", ["rundll32", "url.dll,FileProtocolHandler"])):
            if sys.platform == name:
                return [*words, url]
        if (call.env.get("DISPLAY") or call.env.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
            return ["xdg-open", url]
    editor = call.env.get("VISUAL") or call.env.get("EDITOR")
    if not editor or not call.interactive:
        return None
    try:
        words = shlex.split(editor, posix=os.name != "nt")
    except ValueError:
        words = []
    if not words:
        raise UsageError(f"VISUAL or EDITOR is {editor!r}, which is no command", "set it to your editor: EDITOR=nano")
    name = Path(words[0]).stem
    if name in GOTO:
        return [*words, "--goto", f"{note}:{at}"]
    return [*words, f"{note}:{at}"] if name in COLON_LINE else [*words, f"+{at}", str(note)]


OPEN = command(
    open_,
    words=True,
    examples="""
tm open 2              # the second hit
tm open fountain pens  # a note
""",
    exits="1 no such note (similar names are listed), 2 several notes fit, 3 the editor failed",
    answers="""
path line: what was opened
obsidian_url: its address
opened: false if it was only printed
""",
)


def links(
    ctx: typer.Context,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="Its name or path, as in a link.")] = None,
) -> int:
    """List where a note's links lead, and which notes link to it. Exit 1 if there are none.

    In a pipe one line a link, with tabs: out or back, the path (empty if the link is dead), the target as written.
    """
    call = call_of(ctx)
    found = call.memory().links(call.note(call.words(note, "NOTE").removeprefix("[[").removesuffix("]]")))
    notices = call.notices()
    if call.out.json:
        out = [{"target": target, "path": path} for target, path in found.out]
        call.out.record({"path": found.path, "out": out, "back": found.back, "notices": notices})
    else:
        out_of = (("out", call.out.path(path or ""), line(target)) for target, path in found.out)
        back = (("back", call.out.path(path), "") for path in found.back)
        show_rows(call.out, chain(out_of, back), ("", "note", "link as written"), ("dim", "magenta"))
        if not found.out and not found.back:
            call.out.say(f"{call.out.path(found.path)} has no links, and no note links to it")
    return 0 if found.out or found.back else 1


LINKS = command(
    links,
    words=True,
    pages=True,
    examples="""
tm links Tea
""",
    exits="1 no links, or no such note",
    answers="""
path: the note
out[].target: as written
out[].path: where it leads; null if the link is dead
back: paths of the notes that link here
""",
)
