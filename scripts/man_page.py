"""Write man/tm.1 from the commands (``make docs``): the reference of docs/commands.md for ``man tm``, and the settings
of docs/settings.md, for an installed program has no ``docs/``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from commands_page import PAGE as REFERENCE, command
from typer.core import TyperArgument, TyperOption

from tars_memory.doors.cli.app import COMMANDS, EVERY_DAY, HELP_TEXT, HIDDEN
from tars_memory.doors.cli.call import SHARED, shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = Path(__file__).parents[1] / "man" / "tm.1"
SETTINGS = PAGE.parents[1] / "docs" / "settings.md"
ALIAS = PAGE.with_name("tars-memory.1")


def plain(text: str) -> str:
    """Text for roff: no line is taken for a request, a dash stays one that can be copied."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text."""
    for number, each in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield plain(each)


def options(params: Iterable[object]) -> Iterator[str]:
    """A tagged paragraph for each argument and option that has a help."""
    for param in params:
        if isinstance(param, TyperArgument):
            yield f".TP\n\\fI{plain(param.metavar or '')}\\fR\n{plain(param.help or '')}"
        elif isinstance(param, TyperOption) and not param.hidden:
            value = "" if param.is_flag else f" \\fI{plain(param.metavar or '')}\\fR"
            yield f".TP\n\\fB{plain(param.opts[0])}\\fR{value}\n{plain(param.help or '')}"


def examples(text: str) -> Iterator[str]:
    """Examples as they are typed."""
    yield ".nf"
    for line in text.strip().split("\n"):
        yield "    " + line.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    yield ".fi"


def section(name: str) -> Iterator[str]:
    """What the page says of a command."""
    made = command(name)
    arguments = " ".join(plain(param.metavar or "") for param in made.params if isinstance(param, TyperArgument))
    yield f".SS {plain(f'tm {name}')} [OPTIONS] {arguments}".rstrip()
    yield from paragraphs(made.help or "")
    yield ".PP"
    yield from examples(made.examples)
    yield from options(param for param in made.params if param.name not in SHARED or param.name == "dry_run")
    if made.exits:
        yield f".PP\nExit: {plain(made.exits)}."


def codes() -> Iterator[str]:
    """The table of exit codes of docs/commands.md."""
    for code, meaning in re.findall(r"^\| (\d+) \| (.*) \|$", REFERENCE.read_text("utf-8"), re.MULTILINE):
        yield f".TP\n{code}\n{plain(meaning)}"


def settings() -> Iterator[str]:
    """Where settings are read from, and all of them with their defaults."""
    before, lines, _ = re.split(r"^```(?:toml)?$", SETTINGS.read_text("utf-8"), maxsplit=2, flags=re.MULTILINE)
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", before.partition("\n\n")[2].replace("**", ""))
    yield from paragraphs(text.strip().replace("\n- ", "\n\n"))
    yield from examples(lines)


def page() -> str:
    """The whole page."""
    parts = ['.TH TM 1 "" "tars\\-memory" "User Commands"', ".SH NAME"]
    parts.append(f"tm, tars\\-memory \\- {plain(HELP_TEXT[0].lower() + HELP_TEXT[1:].rstrip('.'))}")
    parts += [".SH SYNOPSIS", "\\fBtm\\fR [OPTIONS] \\fICOMMAND\\fR [ARGS]", ".SH EVERY DAY"]
    parts += examples("\n".join(EVERY_DAY.values()))
    for heading, names in COMMANDS.items():
        parts.append(f".SH {heading.upper()}")
        for name in names:
            if name not in HIDDEN:
                parts += section(name)
    parts += [".SH OPTIONS OF EVERY COMMAND", *options(shared(writes=True))]
    parts += [".SH SETTINGS", *settings(), ".SH EXIT STATUS", *codes()]
    return "\n".join(parts).replace("…", "...") + "\n"  # groff has no such sign where the locale isn't UTF-8


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), "utf-8")
    ALIAS.write_text(".so man1/tm.1\n", "utf-8")
    sys.stdout.write(f"{PAGE}\n")
