"""Write the reference below the marker of docs/commands.md from the commands themselves (``make docs``)."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

from typer.core import TyperArgument, TyperOption

from tars_memory.doors.cli.app import COMMANDS, load
from tars_memory.doors.cli.call import SHARED, Command, shared

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
MARK = "<!-- From here on this page is made from the commands: `make docs`. -->\n"
GUIDES = {
    "Write": ["start.md", "vault-format.md"],
    "Find": ["search.md"],
    "Curate": ["review.md", "models.md"],
    "Take back": ["trouble.md", "write-protocol.md"],
    "Look after": ["cron.md", "agents.md", "trouble.md"],
}
NAMES = [name for names in COMMANDS.values() for name in names]


@cache
def command(name: str) -> Command:
    """The command of that name."""
    return load(name)


def usage(name: str) -> str:
    """``tars-memory search [OPTIONS] QUERY…``."""
    arguments = [param.metavar or "" for param in command(name).params if isinstance(param, TyperArgument)]
    return " ".join(["tars-memory", name, "[OPTIONS]", *arguments])


def rows(name: str) -> list[str]:
    """A table row for each argument and each option of its own, in order; ``--dry-run`` too, if it has it."""
    told = []
    for param in command(name).params:
        if isinstance(param, TyperArgument):
            metavar = (param.metavar or "").replace("|", "\\|")
            told.append(f"| `{metavar}` | {param.help} |")
        elif isinstance(param, TyperOption) and (param.name not in SHARED or param.name == "dry_run"):
            told.append(_option(param))
    return told


def _option(param: TyperOption) -> str:
    value = "" if param.is_flag else f" {param.metavar}"
    return f"| `{param.opts[0]}{value}` | {param.help} |"


def answers(name: str) -> dict[str, dict[str, str]]:
    """The JSON objects of a command: by the option that asks for one, groups of members and what they mean."""
    objects: dict[str, dict[str, str]] = {}
    said, option = re.sub(r"\n +", " ", command(name).answers.strip()).splitlines(), ""
    for line in said:
        if line.startswith("["):
            option = line.strip("[]")
            continue
        names, meaning = line.split(": ", 1) if ": " in line else ("", line)
        objects.setdefault(option, {})[names] = meaning
    return objects


def members(name: str, option: str = "") -> set[str]:
    """The members of an object, as paths: ``hits[].path``."""
    found: set[str] = set()
    for names, meaning in answers(name)[option].items():
        if not names:
            found |= members(meaning.removeprefix("as "))
            continue
        first, *rest = names.split()
        prefix = first[: first.rfind(".") + 1]
        found |= {first, *(prefix + each for each in rest)}
    return found


def section(name: str) -> str:
    """What the page says about a command."""
    made = command(name)
    first, *rest = _prose(made.help or "").split("\n\n")
    parts = [f"## {name}", first, f"```sh\n{made.examples.strip()}\n```", f"`{usage(name)}`", *rest]
    if rows(name):
        parts.append("\n".join(["| | |", "| --- | --- |", *rows(name)]))
    if made.exits:
        parts.append(f"Exit: {made.exits}.")
    told = [_object(option, groups) for option, groups in answers(name).items()]
    if told:
        parts.append("\n".join(["JSON:\n", *(row for rows in told for row in rows)]))
    return "\n\n".join(parts) + "\n"


def _object(option: str, groups: dict[str, str]) -> list[str]:
    told = [f"- *{option}*:"] if option else []
    for names, meaning in groups.items():
        other = meaning.removeprefix("as ")
        said = ", ".join(f"`{each}`" for each in names.split())
        told.append(f"{'  ' if option else ''}- {f'{said}: {meaning}' if names else f'as [{other}](#{other})'}")
    return told


def _prose(text: str) -> str:
    """The help as markdown: its lines joined, options and notes as code."""
    paragraphs = (" ".join(each.split()) for each in text.split("\n\n"))
    return "\n\n".join(
        re.sub(r"(?<![\w`])(--[a-z-]+\b|[A-Z][a-z]+\.md|\[field:: value\])", r"`\1`", each) for each in paragraphs
    )


def reference() -> str:
    """All that is made."""
    parts = [
        "# Options of every command\n",
        "\n".join(["| | |", "| --- | --- |", *map(_option, shared(writes=True))]) + "\n",
    ]
    for heading, names in COMMANDS.items():
        guides = ", ".join(f"[{guide.removesuffix('.md').replace('-', ' ')}]({guide})" for guide in GUIDES[heading])
        parts += [f"# {heading}\n", f"See also: {guides}.\n", *map(section, names)]
    return "\n".join(parts)


def page() -> str:
    """The whole page: its head is written by hand."""
    return PAGE.read_text("utf-8").split(MARK)[0] + MARK + "\n" + reference()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
