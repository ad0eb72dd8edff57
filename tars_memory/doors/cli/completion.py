"""Completion at Tab: the commands, options and values that a shell offers, those of the vault too.

The scripts pass the words before the cursor and read one value a line, followed by a tab and its meaning. No shell
ever evaluates such a line: a note may be called ``$(reboot)``. Nothing is written, no index is refreshed, and a failure
prints nothing.

A script calls the program with ``_TARS_MEMORY_COMPLETE`` set to the shell's name and the words as arguments; bash,
which splits words in its own way, passes its line and its word breaks. The exit code is 3 where the shell is to offer
files; for bash it is 4 where the script has to quote the inserted text, and 5 where quotes are open; else 0.
"""

from __future__ import annotations

import re
import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperOption

from tars_memory import index, settings
from tars_memory.doors.cli.output import line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tars_memory.doors.cli.call import Call, Command
    from tars_memory.vault.model import Entry

FILES, PLAIN, OPEN = 3, 4, 5
"""Exit codes."""
MOST = 500
"""Maximum number of values: nobody reads more."""
SHOWN = 60
"""Maximum length of a value's meaning, in characters."""

SHELLS = ("bash", "zsh", "fish")
"""Shells that have a script; ``tm completion`` prints and installs it."""

_FILES = {"bash": "tm.bash", "zsh": "_tars_memory", "fish": "tm.fish"}


def script(shell: str) -> str:
    """Return the completion script of a shell, from the installed package or the source tree."""
    inside = Path(__file__).parents[2] / "_completions"
    folder = inside if inside.is_dir() else inside.parents[1] / "completions"
    return (folder / _FILES[shell]).read_text("utf-8")


Value = tuple[str, str]
"""A value and its meaning, which may be empty."""


def answer(group: Any, shell: str, argv: Sequence[str], call: Call) -> int:
    """Print the values that fit the words before the cursor.

    Args:
        group: the program's commands.
        shell: one of :data:`SHELLS`.
        argv: the words, the last one as far as it is typed; for bash its line and its word breaks.
        call: the call; its actor becomes a script, so that it asks nothing.

    Returns:
        0, :data:`FILES`, and for bash :data:`PLAIN` or :data:`OPEN`.
    """
    words, cut, code = ([*argv], 0, 0) if shell != "bash" else _of_bash(*argv[:2])
    if words and shell == "zsh":
        words[-1] = words[-1].lstrip("'\"")  # zsh passes the open quotes of a word
    call.actor = "script"
    found = _offered(group, words or [""], call)
    if found is None:
        return FILES
    for value, meaning in islice(found, MOST):
        if line(value) != value:
            continue  # it doesn't fit on a line, or it would steer the terminal
        call.out.data(f"{value[cut:]}\t{line(meaning)[:SHOWN]}".rstrip("\t"), of_notes=False)
    return code


def _of_bash(typed: str, breaks: str) -> tuple[list[str], int, int]:
    """Split a line of bash.

    Returns:
        The words after the program's name, the length of the last word's part that bash counts as a word before it,
        and the exit code.
    """
    lexer = shlex.shlex(typed, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words += lexer
        ended = bool(re.search(r"(?<!\\)\s$", typed))
    except ValueError:  # within quotes, or after a backslash
        words.append(lexer.token)
        return words[1:], 0, OPEN
    if ended:
        words.append("")
    last = words[-1]
    return words[1:], max((last.rfind(sign) + 1 for sign in "=:" if sign in breaks), default=0), PLAIN


def _offered(group: Any, words: Sequence[str], call: Call) -> Iterable[Value] | None:
    """Return the values that fit the words; None where files do."""
    *before, typed = words
    name, given, option = _split_command(group, before, call)
    if name is None:
        if option is not None:
            return _values_of(option, "", [], typed, call)
        if typed.startswith("-"):
            return _options(group.params, typed, before)
        return _beginning(group.listed(), typed)
    if name == "help":
        return _beginning([("all", "List all commands."), *group.listed()], typed) if not given else []
    command = group.get_command(None, name)
    if command is None:
        return []
    params: list[Any] = [*command.params, *group.params]
    given, option, literal = _split_options(command, group.params, given)
    field = None if literal else re.match(r"(--[\w-]+)=|([a-z]+):", typed)
    if field and (field[1] or any(param.name == "query" for param in params)):  # in a query tag:x is --tag x
        option = _named(params, field[1] or f"--{field[2]}")
        found = _values_of(option, name, given, typed[field.end() :], call) if option is not None else []
        return None if found is None else [(field[0] + value, meaning) for value, meaning in found]
    if option is not None:
        return _values_of(option, name, given, typed, call)
    if not literal and typed.startswith("-"):
        return _options(command.params, typed, before)
    arguments = [param for param in command.params if isinstance(param, TyperArgument)]
    if not arguments:
        return []
    place = min(len(given), len(arguments) - 1)
    return _values_of(arguments[place], name, given, typed, call)


def _split_command(group: Any, before: Sequence[str], call: Call) -> tuple[str | None, list[str], Any]:
    """Take in the shared options before the command's name.

    Returns:
        The command's name and the words after it; or, if a shared option still lacks its value, that option.
    """
    rest = iter(before)
    for word in rest:
        if not word.startswith("-"):
            return word, list(rest), None
        option = _named(group.params, word)
        if option is not None and not option.is_flag:
            value = next(rest, None)
            if value is None:
                return None, [], option
            call.take(option.name, value)
    return None, [], None


def _split_options(command: Command, shared: Sequence[Any], words: Sequence[str]) -> tuple[list[str], Any, bool]:
    """Return the words that are not options, the option that still lacks its value, and whether ``--`` was given."""
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*arguments, *rest], None, True
        if not word.startswith("--"):
            arguments.append(word)
            continue
        option = _named([*command.params, *shared], word)
        if option is not None and not option.is_flag and "=" not in word:
            value = next(rest, None)
            if value is None:
                return arguments, option, False
    return arguments, None, False


def _named(params: Iterable[Any], word: str) -> Any:
    """Return the option that a word names, or None."""
    name = word.partition("=")[0]
    return next((param for param in params if isinstance(param, TyperOption) and name in param.opts), None)


def _options(params: Iterable[Any], typed: str, before: Sequence[str]) -> list[Value]:
    """Return the options that begin with what is typed, without those that are given already and can't be repeated."""
    offered = [
        (option.opts[0], option.help or "")
        for option in params
        if isinstance(option, TyperOption) and not option.hidden and (option.multiple or option.opts[0] not in before)
    ]
    return _beginning(offered, typed)


def _beginning(values: Iterable[Value], typed: str) -> list[Value]:
    """Return the values that begin with what is typed; if none does, ignore case."""
    unique = list(dict.fromkeys(values))
    exact = [value for value in unique if value[0].startswith(typed)]
    return exact or [value for value in unique if value[0].casefold().startswith(typed.casefold())]


def _values_of(param: Any, command: str, given: Sequence[str], typed: str, call: Call) -> Iterable[Value] | None:
    """Return the values of an option or an argument that begin with what is typed; None where they are files."""
    metavar = (param.metavar or "").strip("[]…").rstrip("…")
    key = f"{command} {param.name}"
    takes_files = metavar in ("DIR", "FILE", "FILES", "FOLDER", "PATH", "SOURCES")
    if takes_files and not (key == "sources paths" and given[:1] == ["remove"]):
        return None
    named = metavar.split("|") if "|" in metavar and metavar.islower() else None
    fixed = FIXED.get(key) or FIXED.get(metavar) or named
    if fixed is not None:
        return _beginning([(value, "") for value in fixed], typed)
    source = SOURCES.get(key) or SOURCES.get(metavar) or SOURCES.get(f"--{param.name}")
    if source is None:
        return []
    start = " ".join(given) + " " if isinstance(param, TyperArgument) and key in WORDS and given else ""
    found = _beginning(source(call, given), start + typed)
    return [(value[len(start) :], meaning) for value, meaning in found if value[len(start) :]]


def _notes(call: Call, _given: Sequence[str]) -> Iterator[Value]:
    yield from call.workspace.ask_without_refresh(lambda reader: reader.names(call.workspace.project).all()) or ()


def _people(call: Call, given: Sequence[str]) -> Iterator[Value]:
    for fact in call.workspace.ask_without_refresh(lambda reader: reader.facts(call.workspace.project)) or ():
        yield fact.subject, ""
    yield from _notes(call, given)


def _facts(call: Call, given: Sequence[str]) -> Iterator[Value]:
    """Yield the values of ``facts``: verbs and names; behind ``end`` and ``remove`` the REFs of facts."""
    if given[:1] in (["end"], ["remove"]):
        for fact in call.workspace.ask_without_refresh(lambda reader: reader.facts(call.workspace.project)) or ():
            yield f"{given[0]} {fact.ref}", f"{fact.subject} {fact.predicate}: {fact.object}"
        return
    if not given:
        yield from (("add", "SUBJECT PREDICATE OBJECT"), ("end", "REF"), ("remove", "REF"))
    yield from _people(call, given)


def _tags(call: Call, _given: Sequence[str]) -> Iterator[Value]:
    for tag in call.workspace.ask_without_refresh(lambda reader: reader.names(call.workspace.project).tags()) or ():
        yield tag, ""


def _entries(call: Call) -> Iterator[Entry]:
    """Yield the entries of the two notes that ``list`` shows; this loads less than the command does."""
    vault = call.workspace.vault
    for path in (vault.layout.memory, vault.layout.procedural):
        if vault.look(path) is not None:
            yield from vault.note(path).entries


def _models(call: Call, _given: Sequence[str]) -> Iterator[Value]:
    """Yield models that need no download; the names of the others would require importing fastembed."""
    yield from ((name, cost.languages) for name, cost in index.models.COSTS.items())
    yield from ((model.name, "") for model in index.models.installed(call.workspace.settings.places.cache))


def _sources(call: Call, given: Sequence[str]) -> Iterator[Value]:
    yield from ((path, "") for path in call.workspace.settings.sources.paths if path not in given)


def _projects(call: Call, _given: Sequence[str]) -> Iterator[Value]:
    folder = call.workspace.projects
    yield from ((path.name, "") for path in sorted(folder.iterdir()) if path.is_dir() and path.name[:1] != ".")
    yield "none", "outside projects"


def _playbooks(call: Call, _given: Sequence[str]) -> Iterator[Value]:
    for book in call.memory().playbooks():
        yield book.path.rpartition("/")[2][:-3], book.when or book.title


TIERS = ("semantic", "procedural", "daily", "episodic", "note")
FIXED: dict[str, tuple[str, ...]] = {
    "MODE": settings.MODES,
    "TIER": TIERS,
    "search tier": (*TIERS, "talk"),
    "remember tier": ("semantic", "procedural"),
    "PLACE": ("cwd", "vault"),
    "FORMAT": ("text", "json"),
    "WHAT": settings.KEEPS,
    "PERIOD": ("month", "year"),
    "KIND": ("systemd", "launchd", "cron"),
    "DATE": ("today", "yesterday", "1w", "1m", "1y"),
    "AGENT": ("claude", "codex", "gemini", "cursor", "copilot"),
}
"""Fixed values, by command and parameter or by metavar; a metavar like ``list|add|remove`` names its own."""

SOURCES: dict[str, Callable[[Call, Sequence[str]], Iterator[Value]]] = {
    "TAG": _tags,
    "REF": lambda call, _: ((entry.ref, entry.text) for entry in _entries(call)),
    "NOTE": _notes,
    "TXN": lambda call, _: ((entry.txn, f"{entry.command} {entry.file}") for entry in call.memory().history(50)),
    "ABOUT": _people,
    "--about": _people,
    "facts words": _facts,
    "open what": _notes,
    "--section": lambda call, _: ((entry.section, "") for entry in _entries(call) if entry.section),
    "models name": _models,
    "playbooks name": _playbooks,
    "sources paths": _sources,
    "--project": _projects,
}
"""Functions that yield values of the vault, its index or its journal, by command and parameter, metavar or option."""

WORDS = {"open what", "links note", "related note", "timeline about", "facts words", "playbooks name"}
"""Arguments whose words together are one name."""
