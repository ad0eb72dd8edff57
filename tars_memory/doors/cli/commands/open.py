"""Commands that open notes in Obsidian or an editor (``open``, ``daily``, ``new``), or list links, tags and related
notes (``links``, ``tags``, ``related``).
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory.doors.cli.call import Call, command, flag, option, word
from tars_memory.doors.cli.output import fields, here, hit_of, line, may_be_hit, show_rows, within
from tars_memory.errors import NotFoundError, TransientNotice, UsageError
from tars_memory.recall.query import obsidian_url
from tars_memory.vault.suspicion import shell_path

if TYPE_CHECKING:
    from tars_memory.capture.remember import Receipt


COLON_LINE = {"hx", "helix", "subl", "zed"}
"""Editors that take ``path:LINE``; any other gets ``+LINE path``, which vi, nano, emacs and most others take."""

GOTO = {"code", "codium", "code-insiders", "cursor"}
"""Editors that take ``--goto path:LINE``."""

FAILED = 3
"""Exit code if the started program failed."""


@command(
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
def open_(
    call: Call,
    what: list[str] | None = word("[N | NAME…]", "A hit, note, heading or entry (default: the first hit)."),
) -> int:
    """Open a hit of the last search, or a note by name, alias or path: in Obsidian if it knows the vault and there is a
    display, else in $VISUAL or $EDITOR.

    NAME may also be a heading (Note#Heading where several notes have it), a block (Note#^id), path:line, or the REF of
    an entry. If no program can be started, it prints path:line. Searches at a terminal and those of scripts are
    numbered separately.
    """
    name = " ".join(what or ())
    if what and not name.strip():
        raise UsageError("the name is empty", "tars-memory open NAME, or a hit of the last search: tars-memory open 2")
    found = _hit(call, name) if not name or may_be_hit(name) else _note(call, name)
    path, at, _ = found
    shown = f"{shell_path(str(call.workspace.root / path))}:{at}"
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
        members: members of the JSON object, beside those of every opening.
        printed: the text to print if nothing is started, or ``always``.
        starts: whether to start a program.
        always: print the text in any case.

    Returns:
        The exit code.
    """
    path, at, url = found
    opener = opener_for(call, path, at, url) if starts else None
    answered = call.answered({**members, "obsidian_url": url, "opened": bool(opener)}, call.dry_run_notice())
    if not answered and (always or not opener):
        call.out.data(printed, of_notes=False)
        if starts and not opener and call.interactive and call.out.screen:
            call.notices([TransientNotice("to open it in your editor, set VISUAL or EDITOR: export EDITOR=nano")])
    if opener:
        call.out.flush()
        try:
            return FAILED if subprocess.run(opener, check=False).returncode else 0
        except OSError as error:
            raise UsageError(f"{opener[0]} can't be started: {error.strerror}", "set VISUAL or EDITOR") from None
    return 0


def _note(call: Call, name: str) -> tuple[str, int, str | None]:
    """Find a note of this vault or a shared one by name; return its path, line, and address in Obsidian."""
    memory = call.memory()
    at = re.search(r":([0-9]{1,9})(?::.*)?$", name)
    if beside := memory.workspace.shared_note(name[: at.start()] if at else name):
        shared, path = beside
        shared.vault.read(path)  # raises if there is no such note
        return shared.path(path), int(at[1]) if at else 1, obsidian_url(shared.vault.root.name, path)
    vault_path = call.note(name)
    found = memory.place(vault_path)
    number = int(at[1]) if at and vault_path != name and found.line == 1 else found.line
    vault_name = memory.workspace.root.name
    return found.path, number, obsidian_url(vault_name, found.path, headings=found.headings, block_id=found.block_id)


def _hit(call: Call, number: str) -> tuple[str, int, str | None]:
    """Return a hit of the last search, or if it has no such number, the note of that name (``2025``)."""
    try:
        return hit_of(call.workspace, int(number or 1), terminal=call.out.stdout.isatty())
    except (NotFoundError, UsageError) as error:
        if number:
            with contextlib.suppress(NotFoundError):
                return _note(call, number)
            error.message += f", and no note has the name {number!r}"
        raise


def opener_for(call: Call, path: str, at: int, url: str | None) -> list[str] | None:
    """Return the words of the command that opens a note; None if no program can be started."""
    note = call.workspace.root / path
    if url and (call.workspace.root / ".obsidian").is_dir():
        for name, words in (("darwin", ["open"]), ("win32", ["rundll32", "url.dll,FileProtocolHandler"])):
            if sys.platform == name:
                return [*words, url]
        if (call.env.get("DISPLAY") or call.env.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
            return ["xdg-open", url]
    editor = call.env.get("VISUAL") or call.env.get("EDITOR")
    if not editor or not call.interactive:
        return None
    words = call.editor()
    if not words:
        raise UsageError(
            f"VISUAL or EDITOR is {editor!r}, which is not a command", "set it to your editor: EDITOR=nano"
        )
    name = Path(words[0]).stem
    if name in GOTO:
        return [*words, "--goto", f"{note}:{at}"]
    return [*words, f"{note}:{at}"] if name in COLON_LINE else [*words, f"+{at}", str(note)]


@command(
    writes=True,
    examples="""
tm daily
tm daily yesterday
tm daily --print       # its path, for scripts
""",
    exits="3 the editor failed",
    answers="""
date path: the day, and its note
txn written: the write that made it; null and false if it existed
obsidian_url: its address
opened: false if it was only printed
""",
)
def daily(
    call: Call,
    date: str | None = word("[DATE]", "Another day: yesterday, 2026-11-21."),
    only: bool = flag("--print", "Print its path; open nothing."),
) -> int:
    """Open today's note or another day's, as open does. A missing note is created from the vault's own daily template.

    With --print, in a pipe, or if no program can be started, it prints the path.
    """
    wanted = call.workspace.now().date()
    if date is not None:
        first, last = call.day(date, "DATE"), call.day(date, "DATE", last=True)
        if first is None or first != last:
            raise UsageError(f"{date!r} is more than one day", "name one: yesterday, 2026-11-21")
        wanted = first
    starts = call.interactive and call.out.screen and not only
    return _open_receipt(call, call.memory().daily(wanted), starts=starts, date=wanted.isoformat())


def _open_receipt(call: Call, receipt: "Receipt", *, starts: bool, always: bool = False, **members: str) -> int:
    """Open the note of a receipt, and answer, as :func:`_show` does."""
    found = (receipt.path, 1, obsidian_url(call.workspace.root.name, receipt.path))
    members |= fields(receipt, "txn path written")
    starts = starts and not call.dry_run
    return _show(call, found, members, call.out.path(receipt.path), starts=starts, always=always)


@command(
    writes=True,
    words=True,
    examples="""
tm new Rye bread
tm new recipes/Rye bread --open
curl -s https://example.org/rye.md | tm new --stdin Rye bread
""",
    exits="2 the note exists, or the name isn't allowed; 3 the editor failed",
    answers="""
txn path written: the write that made it
obsidian_url: its address
opened: whether it was opened
""",
)
def new(
    call: Call,
    title: list[str] | None = word("TITLE…", "All remaining words."),
    stdin: bool = flag("--stdin", "Read its text from stdin."),
    opens: bool = flag("--open", "Open it, as open does."),
) -> int:
    """Create a note and print its path. An existing note is never overwritten.

    It goes where Obsidian puts new notes (Settings, Files and links); the title may begin with folders, separated by
    slashes. The note begins with the template that note_template of [layout] names. undo takes it back.
    """
    root = str(call.workspace.root)
    beside = (within(root, here()) or "").replace(os.sep, "/")
    call.hold("new", beside=beside)
    name = call.ask_about_secrets(call.words(title, "TITLE"))
    text = ""
    assert call.typed is not None
    call.typed.arguments |= {"title": name, "text": ""}
    if stdin:
        text = call.ask_about_secrets(call.words(None, "TEXT", stdin=True))
    receipt = call.memory().new(name, text, beside=beside)
    call.settle()
    return _open_receipt(call, receipt, starts=opens, always=True)


@command(
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
def links(call: Call, note: list[str] | None = word("NOTE…", "Its name or path, as in a link.")) -> int:
    """List where a note's links lead, and which notes link to it. Exit 1 if there are none.

    In a pipe, one tab-separated line per link: out or back, the path (empty if the link is dead), the target as
    written.
    """
    found = call.memory().links(_linked(call, note))
    out = [{"target": target, "path": path} for target, path in found.out]
    if not call.answered({"path": found.path, "out": out, "back": found.back}):
        out_of = (("out", call.out.path(path or ""), line(target)) for target, path in found.out)
        back = (("back", call.out.path(path), "") for path in found.back)
        show_rows(call.out, chain(out_of, back), ("", "note", "link as written"), ("dim", "magenta"))
        if not found.out and not found.back:
            call.out.say(f"{call.out.path(found.path)} has no links, and no note links to it")
    return 0 if found.out or found.back else 1


def _linked(call: Call, words: list[str] | None) -> str:
    """Return the note that the words name, as in a link, with or without its brackets."""
    return call.note(call.words(words, "NOTE").removeprefix("[[").removesuffix("]]"))


# --- tags, and related notes

NOTHING = 1
"""Exit code if nothing was found."""
REASONS = {
    "links_to": "links here", "linked_from": "linked from here", "target": "both link to {}",
    "tag": "both have #{}", "meaning": "similar in meaning: line {}",
}  # fmt: skip
"""Why a note is related to another one."""


@command(
    words=True,
    pages=True,
    examples="""
tm tags
tm tags food           # food, and tags nested below it
""",
    exits="1 no tags, or no such tag",
    answers="""
tags[].tag notes: lower case, without #; how many notes have it, or a tag nested below it
[with TAG]
notes[].path title: a note
notes[].whole: its properties name the tag
notes[].lines[].line text: a line that has it
""",
)
def tags(call: Call, tag: list[str] | None = word("[TAG]", "List its notes and lines.")) -> int:
    """List all tags with the number of their notes; with TAG, the notes and lines that have it.

    A nested tag (food/tea) counts for its parents, too. In a pipe, each tag is one line, with a tab before the number;
    with TAG, path:line:text is a line, and path alone is a note with the tag in its properties.
    """
    if tag:
        return _show_tagged(call, call.words(tag, "TAG"))
    found = call.memory().tags()
    if call.answered({"tags": found}):
        return 0 if found else NOTHING
    step = "  " if call.out.screen else ""
    rows = ((step * counts.tag.count("/") + line(counts.tag), str(counts.notes)) for counts in found)
    show_rows(call.out, rows, ("tag", "notes"), ("magenta", "dim"))
    if not found:
        call.out.say("no note has a tag")
    return 0 if found else NOTHING


def _show_tagged(call: Call, tag: str) -> int:
    """Print the notes and lines that have a tag."""
    found = call.memory().tagged(tag)
    notes = [
        {**note._asdict(), "lines": [{"line": number, "text": text} for number, text in note.lines]} for note in found
    ]
    if call.answered({"notes": notes}):
        return 0
    for note in found:
        if note.whole or not note.lines:
            call.out.data(call.out.path(note.path))
        for number, text in note.lines:
            call.out.data(f"{call.out.place(note.path, number)}:{line(text).strip()}")
    return 0


@command(
    words=True,
    pages=True,
    examples="""
tm related Rye bread
""",
    exits="1 nothing is related, or no such note; 2 several notes fit",
    answers="""
path: the note
related[].path title score: a related note, linked ones first; a higher score is closer
related[].reasons[].kind: `links_to` (it links here), `linked_from`, `target` (both link to it), `tag`, `meaning`
related[].reasons[].what: the target or tag; of `meaning` the line of the passage
related[].reasons[].weight: its part of the score
""",
)
def related(
    call: Call,
    note: list[str] | None = word("NOTE…", "Its name or path, as in a link."),
    limit: int = option("--limit", "N", "At most N notes.", least=1, default=10),
) -> int:
    """List the notes related to a note, best first, each with the reasons.

    Notes are related by links in either direction (these come first), by a link or tag that both have and few other
    notes do, and, where there are vectors, by passages with similar meaning. In a pipe, one tab-separated line per
    note: path, reasons.
    """
    path, found = call.memory().related(_linked(call, note), limit=limit)
    if not call.answered({"path": path, "related": found}):
        texts = ([REASONS[why.kind].format(line(why.what)) for why in near.reasons] for near in found)
        rows = ((call.out.path(near.path), "; ".join(reasons)) for near, reasons in zip(found, texts, strict=True))
        show_rows(call.out, rows, ("note", "why"), ("magenta",))
        if not found:
            call.out.say(f"nothing is related to {call.out.path(path)}")
    return 0 if found else NOTHING
