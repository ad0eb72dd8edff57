"""Error messages and their exit codes, and keeping input that was not written. Imported only on a failure."""

import contextlib
import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import typer

from tars_memory import __version__, errors, vault
from tars_memory.disk import Places
from tars_memory.doors.cli import output
from tars_memory.doors.cli.call import Call, Typed, read_stdin
from tars_memory.doors.cli.output import PROGRAM, clean, each_text, line, masked, masked_value, to_json
from tars_memory.settings import AUTHOR, PROJECT, Settings, here

USAGE, UNWRITABLE, BUG = 2, 5, 70

WORLD = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EIO, errno.ENAMETOOLONG, errno.EMFILE}
"""Errors of the machine, not of the program: reported in a sentence, not as a bug."""

DONE_LATER = "this is kept ({item}): the next command that writes into this vault carries it out"
"""What is said of a command without text, such as a removal, that waits in the spool."""

KEPT_TRACES = 10
"""Maximum number of crash reports in the state folder."""


def explain(error: Exception, call: Call, argv: Sequence[str] = ()) -> int:
    """Print what happened and what to do next; with ``--json`` as one object on stderr.

    The object is ``{"error", "hint", "exit_code"}``, with ``candidates`` for an ambiguous name, and ``spooled`` for
    text that waits in the spool.

    Args:
        error: the failure.
        call: the call that failed.
        argv: its words; ``--json`` is looked up here, since parsing may fail before it is read.

    Returns:
        The exit code.
    """
    argv = list(argv)
    kept = str(getattr(error, "kept", ""))
    call.out.json = call.out.json or "--json" in argv[: argv.index("--") if "--" in argv else len(argv)]
    if hasattr(error, "format_message"):  # typer's own; the class has another name in each of its versions
        command = getattr(getattr(error, "ctx", None), "command_path", call.out.called)
        options = getattr(error, "possibilities", None) or ()
        similar = get_close_matches(getattr(error, "option_name", ""), options, n=1, cutoff=0.8)  # all begin with --
        text = str(getattr(error, "message", "")) if options else error.format_message()
        message = text.rstrip(".").replace("a valid int range", "a whole number")
        help_hint = f"{errors.did_you_mean(similar)} {command} --help" if similar else f"{command} --help shows how"
        if extra := re.fullmatch(r"Got unexpected extra argument.*? \((.*)\)", message, re.DOTALL):
            message = f"too many words: {extra[1]}"
            help_hint = _joined(_for_extra(extra[1], error.ctx), help_hint)  # type: ignore[attr-defined]
        return say(call, message[:1].lower() + message[1:], _joined(help_hint, kept), USAGE)
    more: dict[str, Any] = {"spooled": error.spooled} if kept and getattr(error, "spooled", None) else {}  # type: ignore[attr-defined]
    if isinstance(error, errors.TarsError):
        hint = _joined(call.out.as_called(error.hint), *_mistyped(error, call))
        if isinstance(error, errors.AmbiguousError):
            more["candidates"] = list(error.candidates)
        if isinstance(error, errors.UnwritableError) and error.spooled and not kept:
            more["spooled"] = error.spooled
            kept = _waits(error.spooled) if call.typed else DONE_LATER.format(item=error.spooled)
        return say(call, error.message, _joined(hint, kept), error.exit_code, more)
    if isinstance(error, typer.Abort):
        return say(call, "given up", "", 130)
    if isinstance(error, OSError) and error.errno in WORLD:
        file = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return say(
            call,
            f"{file}{error.strerror}",
            _joined("look at its permissions and the free space", kept),
            UNWRITABLE,
            more,
        )
    if isinstance(error, FileNotFoundError) and error.filename is None and not output.here():
        return say(call, "the current folder was removed", _joined("go to another folder", kept), USAGE, more)
    message, hint = _bug(error, call)
    return say(call, message, _joined(hint, kept), BUG, more)


def _for_extra(words: str, ctx: typer.Context) -> str:
    """Return what to do with words for which a command has no place; empty if nothing is known."""
    if any(param.param_type_name == "argument" for param in ctx.command.params):
        return "put quotes around words that belong together"
    option = next((param.opts[0] for param in ctx.command.params if getattr(param, "metavar", "") == "NOTE"), "")
    return f"if it is a note: {ctx.command_path} {option} {vault.suspicion.shell_word(words)}" if option else ""


def say_interrupted(call: Call) -> None:
    """Print how far a first reading of the vault or other long work got that was interrupted; nothing otherwise."""
    if call.opened is None:
        return
    with contextlib.suppress(errors.TarsError):
        if begun := call.opened.workspace.interrupted_progress():
            call.out.say(f"stopped; {begun}")


def keep(error: BaseException, call: Call, argv: Sequence[str]) -> None:
    """Keep the input that is not written, whatever ended the command; set ``error.kept`` to a sentence that says where.

    Input that was refused for its text, or for how the command was called, is not spooled: whoever typed it still has
    it. Only if it came through a pipe or from an editor, so that nobody can call it back, a file keeps it.
    """
    if call.dry_run or isinstance(error, SystemExit | GeneratorExit):
        return
    call.listen(signal.SIG_IGN)  # a signal must not cut this off
    typed = call.typed
    if typed and typed.cut:
        kept = _aside(call, typed.cut, typed.command, "on stdin")
    elif _is_refusal(error, typed.command if typed else ""):
        source = typed.source if typed else ""
        text = typed.arguments.get("text", "") if typed and source else _left_in_the_pipe(argv)
        kept = _aside(call, text, typed.command if typed else "typed", source or "on stdin") if text.strip() else ""
    elif typed is None or not str(typed.arguments.get("text", "")).strip():
        kept = ""
    elif isinstance(error, errors.UnwritableError) and error.repeats:
        kept = _spooled(error, call, typed)  # beside the vault's own spool, which could not take it
        if error.spooled:
            error.message, error.hint, error.repeats = error.hint, "", False
        else:
            kept = ""  # the error repeats the text
    elif getattr(error, "spooled", None):
        kept = ""  # explain() says it
    else:
        kept = _spooled(error, call, typed)
    if kept:
        error.kept = kept  # type: ignore[attr-defined]


def _is_refusal(error: BaseException, command: str) -> bool:
    """Return whether the command was refused for its input, so that the same call would fail again."""
    if isinstance(error, errors.SettingsError):
        return False
    gone = isinstance(error, errors.ConflictError) and command == "edit"
    return gone or isinstance(error, errors.UsageError | errors.NotFoundError) or hasattr(error, "format_message")


def _spooled(error: BaseException, call: Call, typed: Typed) -> str:
    """Put the input into the spool, where the next writing command finds it.

    Returns:
        A sentence that says so, or if it can't be kept one that repeats the text.
    """
    memory = call.opened
    arguments = typed.arguments if call.interactive else _masked(typed.arguments)
    record: dict[str, Any] = {**arguments, "actor": call.actor, "interactive": call.interactive}
    record["now"] = (call.now or datetime.now().astimezone()).isoformat()
    record |= {"author": call.env[AUTHOR]} if call.env.get(AUTHOR) else {}
    spool, in_words = vault.writing.store.Spool, "this vault"
    try:
        try:
            assert memory is not None
            project = {"project": memory.workspace.project} if memory.workspace.project else {}
            item = spool(memory.workspace.ensure_state() / "spool").put(typed.command, record | project, typed.item)
        except Exception:  # no vault can be opened: record which one was asked for, to find it later
            named = call.vault or call.env.get("TARS_MEMORY_DIR")
            asked = os.path.normpath(here() / os.path.expanduser(named)) if named else None
            record |= {"asked_vault": asked, "asked_project": call.project or call.env.get(PROJECT)}
            record |= {"asked_folder": str(here())}
            away = asked or (Settings(call.env).vault_path() if isinstance(error, errors.VaultError) else None)
            in_words = f"the vault at {away}" if away else f"the vault found from {here()}, or by init there"
            item = spool(Places.of(call.env).state / "spool").put(typed.command, record, typed.item)
    except errors.UnwritableError as failed:
        return errors.reason(failed)
    except Exception as failed:
        return f"your text could NOT be kept ({failed}), copy it from here: {record['text']}"
    error.spooled = item  # type: ignore[attr-defined]
    return _waits(item, in_words)


def _aside(call: Call, text: str, command: str, source: str) -> str:
    """Write text that no command can place into a file; return a sentence that says where."""
    text = text if call.interactive else masked(text)
    try:
        path = vault.writing.store.keep_aside(
            Places.of(call.env).state / "kept", f"{vault.writing.store.new_item()}-{command}", text
        )
    except errors.UnwritableError as failed:
        return errors.reason(failed)
    except errors.StateError as failed:
        return errors.reason(errors.UnwritableError.of_lost(text, failed.message))
    return f"the input {source} is kept in {path}"


def _left_in_the_pipe(argv: Sequence[str]) -> str:
    """Return the stdin that the command would have read, had its words been right."""
    reads_stdin = any(word in ("remember", "log", "new", "learn", "topic") for word in argv) and "--stdin" in argv
    try:
        if not reads_stdin or sys.stdin.isatty():
            return ""
        return read_stdin()
    except (OSError, ValueError):
        return ""


def _masked(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with credentials masked; unchanged if masking itself is what fails."""
    try:
        return {name: each_text(value, masked) for name, value in arguments.items()}
    except Exception:
        return arguments


def _mistyped(error: errors.TarsError, call: Call) -> list[str]:
    """Return notices about unknown variables if no vault was found: one may have been meant to name it."""
    if not isinstance(error, errors.VaultError):
        return []
    try:
        return Settings(call.env).unknown_variables
    except errors.TarsError:
        return []


def _waits(item: str, vault_in_words: str = "this vault") -> str:
    """Return the sentence that says of a kept text, by its name in the spool, what will write it."""
    return f"your text is kept ({item}): it is written by the next command that writes into {vault_in_words}"


def _joined(*sentences: str) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)


def say(call: Call, message: str, hint: str, code: int, more: dict[str, Any] | None = None) -> int:
    """Print message, candidates and hint on stderr, with ``--json`` as an object; return the exit code."""
    more, message, hint = more or {}, errors.legible(message), errors.legible(hint)
    if call.out.json:
        call.out.say_always(to_json(masked_value({"error": message, "hint": hint, "exit_code": code, **more})))
        return code
    lines = [f"{PROGRAM}: {clean(message)}"]
    lines += [f"  {line(candidate)}" for candidate in more.get("candidates", ())]
    if hint:
        lines.append(f"  {clean(hint)}")
    call.out.say_always("\n".join(lines))
    return code


def _bug(error: Exception, call: Call) -> tuple[str, str]:
    """Save the trace; return a message, and a hint that says where the trace is."""
    text = masked("".join(traceback.format_exception(error)))
    if call.env.get("TARS_MEMORY_DEBUG"):
        call.out.say_always(text)
    message = f"this is a bug: {type(error).__name__}: {masked(str(error))[:200]}"
    path = _save(text, call)
    if path is None:
        return message, "the trace could not be saved; TARS_MEMORY_DEBUG=1 prints it"
    return message, f"please report it with {path}"


def _save(text: str, call: Call) -> str | None:
    """Write the trace into the state folder (mode 0600), and delete all but the newest; return its path, or None."""
    import tempfile

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
            traces = sorted(name for name in os.listdir(folder) if name.startswith("crash-") and name.endswith(".txt"))
            for name in traces[:-KEPT_TRACES]:
                os.unlink(os.path.join(folder, name))
        except OSError:
            continue
        return path
    return None
