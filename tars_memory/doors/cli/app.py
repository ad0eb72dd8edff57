"""The program: finds commands by name, runs them, and turns every way to end into an exit code.

A command's module is imported only when the command is called; ``--help`` reads names and sentences from
:data:`COMMANDS`. Whatever happens, :func:`run` returns an exit code of the documented table, and no traceback is shown.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from difflib import get_close_matches  # typer has imported it
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from tars_memory import __version__, errors
from tars_memory.doors import cli
from tars_memory.doors.cli.call import HELP, MAKERS, Call, Command, Terminated, call_of, help_option, print_help, shared
from tars_memory.doors.cli.output import PROGRAM, ClosedOutput, LostOutput, discard

COMMANDS = {
    "Write": {
        "init": "Create a vault, or set up an Obsidian vault as one.",
        "remember": "Keep a fact, or with --tier procedural a rule.",
        "log": "Add a line to today's note; alone, show today.",
        "daily": "Open today's note or another day's; create it if missing.",
        "new": "Create a note; with --open, open it.",
        "feedback": "Note what went well or badly.",
        "learn": "Write down how something is done: a playbook.",
        "topic": "Add to a topic note that an agent keeps for itself.",
        "edit": "Change an entry's text.",
        "forget": "Remove a statement from every note.",
        "headings": "List a note's headings; add or remove one.",
    },
    "Find": {
        "search": "Find passages, by words and by meaning.",
        "context": "Print what a model should know, under a token budget.",
        "facts": "List what is true and since when; add, end or remove facts.",
        "timeline": "List all facts about a name in chronological order.",
        "open": "Open a hit of the last search, or a note by name.",
        "links": "List a note's links and backlinks.",
        "related": "List notes related to a note, and why.",
        "tags": "List tags with their notes, or one tag's lines.",
        "list": "List entries with their REFs.",
        "show": "Show one entry.",
        "playbooks": "List playbooks with their last use; print or pin one.",
        "sql": "Query the index with SQL, read-only.",
        "export": "Write notes, lines and facts to a SQLite file.",
    },
    "Curate": {
        "extract": "Find what is worth keeping in conversations.",
        "import": "Import what other programs remember.",
        "review": "Decide what to keep for good.",
        "tidy": "Find duplicates, dead links and expired lines; archive.",
        "why": "Show where a line came from, and who approved it.",
    },
    "Take back": {
        "history": "List what was written, by whom, newest first.",
        "undo": "Undo the last write, or the one you name.",
    },
    "Look after": {
        "status": "Show how fresh the index is, what waits, what to do next.",
        "doctor": "Check everything and fix what is safe to fix.",
        "reindex": "Bring the index up to date, with vectors.",
        "sources": "List or set the logs of conversations that search covers.",
        "sleep": "Do a night's work: for cron.",
        "hook": "Connect coding agents, and answer their hooks.",
        "mcp": "Serve the memory to agents as MCP tools.",
        "watch": "Keep the index up to date while you edit.",
        "verify": "Compare the index with the notes.",
        "merge": "Merge versions of a note entry by entry; git calls it.",
        "models": "List embedding models, or switch to another one.",
        "eval": "Measure how well search answers your questions.",
        "completion": "Set up Tab completion in bash, zsh or fish.",
    },
}
"""The commands by heading, in the order of ``tm help all``, each with its one-line help."""

EVERY_DAY = {
    "init": "tm init ~/Notes",
    "remember": "tm remember Anna prefers trains to planes --tag people",
    "log": "tm log met Anna in Cork",
    "search": "tm search what could be a present for Anna",
    "open": "tm open fountain pens",
    "context": "tm context what does Anna like to eat",
    "facts": 'tm facts add Anna "lives in" Cork',
    "extract": "tm extract ~/.claude/projects/website/*.jsonl",
    "review": "tm review",
    "forget": "tm forget fountain pens",
    "undo": "tm undo",
    "status": "tm status",
}
"""The commands that the help begins with, each with an example from its own help."""

HIDDEN = {"timeline", "verify", "merge"}
"""Commands that help doesn't list: old names of ``facts --timeline`` and ``doctor --index``, which still work, and the
command that git calls."""
ELSEWHERE = {
    "search": "find grep ask query",
    "remember": "add note save",
    "forget": "delete remove rm del",
    "log or daily": "today journal",
    "show": "cat print view",
    "--version": "version",
    "status --verbose": "config settings info",
}
"""Commands by the names that other programs give them, to be suggested."""

FILES = {
    "setup": ("init", "merge", "completion"),
    "remember": ("remember", "log", "feedback", "edit", "forget", "history", "undo"),
    "agents": ("learn", "topic", "playbooks", "mcp"),
    "entries": ("list", "show", "headings", "facts", "timeline", "why"),
    "open": ("open", "daily", "new", "links", "related", "tags"),
    "exchange": ("extract", "import", "sources", "sql", "export"),
    "review": ("review", "tidy"),
    "health": ("status", "doctor", "reindex", "verify", "models", "eval"),
    "unattended": ("sleep", "watch"),
}
"""Modules that hold several commands; any other command is in a module of its own name."""

HELP_TEXT = "Long-term memory in plain markdown: for you, scripts and agents, over the vault you keep editing by hand."

COMPLETES = "_TARS_MEMORY_COMPLETE"
"""Variable that the scripts of :mod:`tars_memory.doors.cli.completion` set to the shell's name."""

OK, PARTLY, UNWRITABLE, SIGNALLED, INTERRUPTED = 0, 3, 5, 128, 130


class Group(TyperGroup):
    """The program's commands, imported one by one."""

    lists_all = False
    """Whether the help lists all commands."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return all names in the order of the help."""
        return [name for names in COMMANDS.values() for name in names]

    def listed(self) -> list[tuple[str, str]]:
        """Return the commands that are not hidden, each with its one-line help, without importing their modules."""
        return [(name, text) for names in COMMANDS.values() for name, text in names.items() if name not in HIDDEN]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the module of a command and return the command; None if there is none of that name."""
        return load(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def invoke(self, ctx: Any) -> Any:
        """Run the named command; without a name run the live search on a terminal."""
        words = [*ctx._protected_args, *ctx.args]
        return super().invoke(ctx) if words or not _is_live(ctx.obj) else _live(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first word names; ``help X`` is ``X --help``, ``help all`` lists all commands.

        Raises:
            UsageError: there is no command of that name.
        """
        name, rest = args[0], args[1:]
        if name == "help":
            if not rest or rest[0] == "all":
                self.lists_all = bool(rest)
                print_help(ctx)
            name, rest = rest[0], [HELP[0]]
        found = self.get_command(ctx, name)
        if found is None and not ctx.resilient_parsing:
            meant = next((command for command, names in ELSEWHERE.items() if name in names.split()), "")
            similar = [meant] if meant else get_close_matches(name, self.list_commands(ctx), n=2, cutoff=0.65)
            search = f"; to search: {PROGRAM} search {' '.join(args)}" if all(word.isalnum() for word in args) else ""
            hint = f"did you mean {' or '.join(similar)}?" if similar else f"{PROGRAM} --help lists them{search}"
            raise errors.UsageError(f"there is no command {name!r}", hint)
        return name, found, rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the everyday commands, each with an example; or all commands under their headings, and the options."""
        if self.lists_all:
            for title, names in COMMANDS.items():
                with formatter.section(title):
                    listed = [(f"{name:<10}", text) for name, text in names.items() if name not in HIDDEN]
                    formatter.write_dl(listed)
            TyperCommand.format_options(self, ctx, formatter)  # type: ignore[arg-type]
            return
        with formatter.section("Every day"):
            texts = dict(self.listed())
            for name, example in EVERY_DAY.items():
                formatter.write(f"  {name:<10}{texts[name]}\n{'':<12}{example}\n")
        name = ctx.command_path
        formatter.write(f"\n{name} alone, on a terminal: search as you type")
        formatter.write(f"\nAll commands and options: {name} help all; one: {name} help search\n")


def load(name: str) -> Command:
    """Return the command of that name; make no other."""
    module = next((file for file, names in FILES.items() if name in names), name)
    import_module(f"tars_memory.doors.cli.commands.{module}")
    return MAKERS[name]()


def _is_live(call: Call) -> bool:
    """Return whether a person is at a terminal that can show the live search."""
    at_terminal = call.interactive and call.out.screen and not call.out.quiet and call.out.stderr.isatty()
    return at_terminal and call.env.get("TERM", "dumb") != "dumb"


def _live(ctx: Any) -> int:
    """Run the live search, or print the help if Textual is not installed."""
    call = call_of(ctx)
    if find_spec("textual") is None:
        call.out.write(ctx.get_help() + "\n")
        call.out.say(f"{PROGRAM} alone searches as you type; to install that: {errors.installing('tui')}")
        return OK
    from tars_memory.doors.live import show

    return show(call)


def _show_version(ctx: typer.Context, _param: typer.CallbackParam, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        call_of(ctx).out.write(f"{PROGRAM} {__version__}\n")
        raise typer.Exit


def build() -> Group:
    """Return the program's command line, without its commands."""
    version = TyperOption(
        param_decls=["version", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="Show the version and exit.",
    )
    return Group(
        name=PROGRAM,
        params=[*shared(writes=True), version, help_option()],
        add_help_option=False,
        help=HELP_TEXT,
        rich_markup_mode=None,
    )


def program_name(path: str) -> str:
    """Return the name that the program was called by; completion scripts are bound to it."""
    name = os.path.basename(path)
    name = name[:-4] if name.lower().endswith(".exe") else name
    return PROGRAM if name in ("__main__.py", "-c", "-m", "") else name


def program() -> list[str]:
    """Return the words by which a service calls the program: its absolute path, or this Python with ``-m``."""
    called = sys.argv[0] if sys.argv else ""
    candidates = [called] if os.path.isabs(called) and not called.endswith(".py") else []
    candidates += [shutil.which(os.path.basename(called)) or "", shutil.which("tars-memory") or ""]
    candidates.append(os.path.join(os.path.dirname(sys.executable), "tars-memory"))
    found = next((path for path in candidates if os.path.isfile(path) and os.access(path, os.X_OK)), "")
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "tars_memory"]


def run(argv: Sequence[str], call: Call | None = None) -> int:
    """Run one command.

    Args:
        argv: the words after the program's name.
        call: environment and streams, for tests.

    Returns:
        The exit code, one of those that the documentation of the command line lists.
    """
    call = call or Call()
    name = program_name(sys.argv[0] if sys.argv else "")
    call.out.called = name if name == "tm" else PROGRAM
    try:
        try:
            group = build()
            if call.env.get(COMPLETES) in ("bash", "zsh", "fish"):
                return _complete(group, list(argv), call)
            code = _invoke(group, list(argv), name, call)
            call.out.flush()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                cli.failures.say_interrupted(call)
            if call.typed is not None or "--stdin" in argv:
                cli.failures.keep(error, call, argv)
            raise
        finally:
            call.close()
    except (ClosedOutput, BrokenPipeError) as error:
        discard(call.out.stdout)
        return UNWRITABLE if _say_kept(error, call) else OK
    except LostOutput as error:
        discard(call.out.stdout)
        return cli.failures.say(call, f"done, but the answer could not be written: {error}", "", PARTLY)
    except KeyboardInterrupt as error:
        _say_kept(error, call)
        return INTERRUPTED
    except Terminated as error:
        _say_kept(error, call)
        return SIGNALLED + error.number
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else OK
    except Exception as error:
        return cli.failures.explain(error, call, argv)
    return code


def _complete(group: Group, argv: list[str], call: Call) -> int:
    """Answer a shell's Tab; print nothing but values, whatever happens."""
    try:
        code = cli.completion.answer(group, call.env[COMPLETES], argv, call)
        call.out.flush()
    except Exception:
        discard(call.out.stdout)
        return OK
    return code


def _say_kept(error: BaseException, call: Call) -> bool:
    """Print where unwritten input is kept; return whether there is any."""
    sentence = str(getattr(error, "kept", ""))
    if sentence:
        call.out.say_always(f"{PROGRAM}: {sentence}")
    return bool(sentence)


def _invoke(group: Group, argv: list[str], name: str, call: Call) -> int:
    """Parse and run the command; return its exit code, also if typer leaves by an exception."""
    try:
        with group.make_context(name, argv or ([] if _is_live(call) else [HELP[0]]), obj=call) as ctx:
            value = group.invoke(ctx)
    except typer.Exit as leaving:
        return leaving.exit_code
    return value if isinstance(value, int) else OK
