"""What a failure says and which exit code it has. Imported only when something went wrong."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer

from tars_memory.cli.output import PROGRAM, clean, hidden, masked, to_json
from tars_memory.errors import AmbiguousError, TarsError, UnwritableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.cli.call import Call

USAGE, UNWRITABLE, BUG = 2, 5, 70

WORLD = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EIO, errno.ENAMETOOLONG, errno.EMFILE}
"""Errors of the machine around us, not of the program: said in a sentence, not as a bug."""

KEPT_TRACES = 10


def explain(error: Exception, call: Call, argv: Sequence[str] = ()) -> int:
    """Say what happened and what to do next; with ``--json`` as one object on stderr.

    The object is ``{"error", "hint", "exit_code"}``, with ``candidates`` for an ambiguous name, and ``spooled`` for
    text that waits in the spool.

    Args:
        error: what happened.
        call: how to say it.
        argv: the words of the call: a bad one is found before ``--json`` is read.

    Returns:
        The exit code.
    """
    argv = list(argv)
    call.out.json = call.out.json or "--json" in argv[: argv.index("--") if "--" in argv else len(argv)]
    if hasattr(error, "format_message"):  # typer's own; the class has another name in each of its versions
        command = getattr(getattr(error, "ctx", None), "command_path", PROGRAM)
        message = error.format_message().rstrip(".").replace("a valid int range", "a whole number")
        return _say(call, message[:1].lower() + message[1:], f"{command} --help shows how", USAGE)
    if isinstance(error, TarsError):
        more: dict[str, Any] = {}
        hint = error.hint
        if isinstance(error, AmbiguousError):
            more["candidates"] = list(error.candidates)
        if isinstance(error, UnwritableError) and error.spooled:
            more["spooled"] = error.spooled
            kept = f"your text is kept in the spool ({error.spooled}) and written by the next command that writes"
            hint = f"{hint}; {kept}" if hint else kept
        return _say(call, error.message, hint, error.exit_code, more)
    if isinstance(error, RuntimeError) and isinstance(error, typer.Abort):
        return _say(call, "given up", "", 130)
    if isinstance(error, OSError) and error.errno in WORLD:
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return _say(call, f"{where}{error.strerror}", "look at its permissions and the free space", UNWRITABLE)
    return _say(call, *_bug(error, call), BUG)


def _say(call: Call, message: str, hint: str, code: int, more: dict[str, Any] | None = None) -> int:
    more = more or {}
    if call.out.json:
        call.out.complain(to_json(hidden({"error": message, "hint": hint, "exit_code": code, **more})))
        return code
    lines = [f"{PROGRAM}: {clean(message)}"]
    lines += [f"  {clean(candidate)}" for candidate in more.get("candidates", ())]
    if hint:
        lines.append(f"  {clean(hint)}")
    call.out.complain("\n".join(lines))
    return code


def _bug(error: Exception, call: Call) -> tuple[str, str]:
    """Save the trace; a sentence and where it is."""
    text = "".join(traceback.format_exception(error))
    text = masked(text)
    if call.env.get("TARS_MEMORY_DEBUG"):
        call.out.complain(text)
    what = f"this is a bug: {type(error).__name__}: {masked(str(error))[:200]}"
    path = _save(text, call)
    if path is None:
        return what, "the trace could not be saved; TARS_MEMORY_DEBUG=1 prints it"
    return what, f"please report it with {path}"


def _save(text: str, call: Call) -> str | None:
    """Write the trace into the state folder (0600), keep the newest few; the path, or None."""
    import tempfile
    from datetime import datetime

    from tars_memory import __version__
    from tars_memory.settings import Places

    head = f"{PROGRAM} {__version__}, Python {sys.version}, {sys.platform}\n\n"
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    folders = []
    try:
        folders.append(str(Places.of(call.env).state))
    except Exception:  # noqa: S110 - the trace matters more than why its folder is unknown
        pass
    for folder in (*folders, tempfile.gettempdir()):
        path = os.path.join(folder, f"crash-{stamp}-{os.getpid()}.txt")
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(head + text)
            _prune(folder)
        except OSError:
            continue
        return path
    return None


def _prune(folder: str) -> None:
    traces = sorted(name for name in os.listdir(folder) if name.startswith("crash-") and name.endswith(".txt"))
    for name in traces[:-KEPT_TRACES]:
        os.unlink(os.path.join(folder, name))
