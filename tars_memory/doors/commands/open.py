"""``open``, ``daily`` and ``new``: a hit, a note, the note of a day or a new one in Obsidian or an editor; ``links``:
what a note links to, and what to it.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from tars_memory.doors.cli.call import Call, about_secrets, call_of, command, day
from tars_memory.doors.cli.output import fields, here, hit_of, line, show_rows, within
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
        typer.Argument(metavar="[N | NAME…]", help="A hit, note, heading or entry; the first hit if not given."),
    ] = None,
) -> int:
    """Open a hit of the last search, or a note by name, alias or path: in Obsidian if it knows the vault and there is a
    display, else in $VISUAL or $EDITOR.

    NAME may also be a heading (Note#Heading where several notes have it), a block (Note#^id), path:line, or the REF of
    an entry. Where nothing can be started it prints path:line. Searches at a terminal and those of scripts keep
    separate numbers.
    """
    call = call_of(ctx)
    name = " ".join(what or ())
    if what and not name.strip():
        raise UsageError("the name is empty", "tars-memory open NAME, or a hit of the last search: tars-memory open 2")
    found = _hit(call, name) if not name or name.isdecimal() else _note(call, name)
    path, at, _ = found
    shown = f"{line(str(call.memory().workspace.root / path))}:{at}"
    return _show(call, found, {"path": path, "line": at}, shown)


def _show(
    call: Call,
    found: tuple[str, int, str | None],
    members: dict[str, Any],
    printed: str,
    *,
    starts: bool = True,
    always: bool = False,
) -> int:
    """Open a note at a line, and answer.

    Args:
        call: the call.
        found: the note's path, the line, and its address in Obsidian.
        members: of the JSON object, beside those that every opening has.
        printed: what is printed if nothing can be started, or ``always``.
        starts: False for printing alone.
        always: print it in any case.

    Returns:
        The exit code.
    """
    (path, at, url), root = found, call.memory().workspace.root
    known = url if (root / ".obsidian").is_dir() else None
    opener = opener_for(call, root / path, at, known) if starts else None
    notices = call.notices()
    if call.out.json:
        call.out.record({**members, "obsidian_url": url, "opened": bool(opener), "notices": notices})
    elif always or not opener:
        call.out.data(printed, of_notes=False)
    if opener:
        call.out.flush()
        try:
            return FAILED if subprocess.run(opener, check=False).returncode else 0
        except OSError as error:
            raise UsageError(f"{opener[0]} can't be started: {error.strerror}", "set VISUAL or EDITOR") from None
    return 0


def _note(call: Call, name: str) -> tuple[str, int, str | None]:
    memory = call.memory()
    noted = call.note(name)
    found = memory.place(noted)
    at = re.search(r":([0-9]{1,9})(?::.*)?$", name)
    number = int(at[1]) if at and noted != name and found.line == 1 else found.line
    name_of_vault = memory.workspace.root.name
    return found.path, number, obsidian_url(name_of_vault, found.path, headings=found.headings, block_id=found.block_id)


def _hit(call: Call, number: str) -> tuple[str, int, str | None]:
    """A hit of the last search; where it has none of that number, the note that is called so (``2025``)."""
    try:
        return hit_of(call.memory().workspace, int(number or 1), terminal=call.out.stdout.isatty())
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
        raise UsageError(
            f"VISUAL or EDITOR is {editor!r}, which is not a command", "set it to your editor: EDITOR=nano"
        )
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
tm open Tea#Brewing    # a heading of it
""",
    exits="1 no such note (similar names are listed), 2 several fit (they are listed), 3 the editor failed",
    answers="""
path line: what was opened
obsidian_url: its address
opened: false if it was only printed
""",
)


def daily(
    ctx: typer.Context,
    date: Annotated[str | None, typer.Argument(metavar="[DATE]", help="Another day: yesterday, 2026-11-21.")] = None,
    only: Annotated[bool, typer.Option("--print", help="Print its path; open nothing.")] = False,
) -> int:
    """Open today's note, or another day's, as open does. If it is missing it is made, from the vault's own daily
    template.

    With --print, in a pipe, or where nothing can be started it prints the path.
    """
    call = call_of(ctx)
    wanted = call.memory().workspace.now().date()
    if date is not None:
        first, last = day(call, date, "DATE"), day(call, date, "DATE", last=True)
        if first is None or first != last:
            raise UsageError(f"{date!r} is more than one day", "name one: yesterday, 2026-11-21")
        wanted = first
    made = call.memory().daily(wanted)
    if call.dry_run:
        call.out.say("dry run: nothing was written")
    members = {"date": wanted.isoformat(), **fields(made, MADE)}
    printed = call.out.path(made.path)
    url = obsidian_url(call.memory().workspace.root.name, made.path)
    starts = call.interactive and call.out.screen and not (only or call.dry_run)
    return _show(call, (made.path, 1, url), members, printed, starts=starts)


MADE = "txn path written"

DAILY = command(
    daily,
    writes=True,
    examples="""
tm daily
tm daily yesterday
tm daily --print       # its path, for scripts
""",
    exits="3 the editor failed",
    answers="""
date path: the day, and its note
txn written: the write that made it; null and false if it was there
obsidian_url: its address
opened: false if it was only printed
""",
)


def new(
    ctx: typer.Context,
    title: Annotated[list[str] | None, typer.Argument(metavar="TITLE…", help="All remaining words.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read its text from stdin.")] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open it, as open does.")] = False,
) -> int:
    """Make a note, and print its path. A note that is there is never overwritten.

    It comes where Obsidian puts new notes (Settings, Files and links); folders may stand before the title, parted by
    slashes. It begins with the template that note_template of [layout] names. undo takes it back.
    """
    call = call_of(ctx)
    root = str(call.memory().workspace.root)
    beside = (within(root, here()) or "").replace(os.sep, "/")
    call.hold("new", beside=beside)
    name = about_secrets(call, call.words(title, "TITLE"))
    text = ""
    assert call.typed is not None
    call.typed.arguments |= {"title": name, "text": ""}
    if stdin:
        text = about_secrets(call, call.words(None, "TEXT", stdin=True))
    made = call.memory().new(name, text, beside=beside)
    call.settle()
    if call.dry_run:
        call.out.say("dry run: nothing was written")
    url = obsidian_url(call.memory().workspace.root.name, made.path)
    starts = opens and not call.dry_run
    return _show(call, (made.path, 1, url), fields(made, MADE), call.out.path(made.path), starts=starts, always=True)


NEW = command(
    new,
    writes=True,
    words=True,
    examples="""
tm new Rye bread
tm new recipes/Rye bread --open
curl -s https://example.org/rye.md | tm new --stdin Rye bread
""",
    exits="2 there is such a note, or it can't be called so; 3 the editor failed",
    answers="""
txn path written: the write that made it
obsidian_url: its address
opened: whether it was opened
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
