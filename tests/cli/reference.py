"""The tables of docs/commands.md, read off the commands themselves."""

from __future__ import annotations

from importlib import import_module

from typer.core import TyperArgument, TyperOption

from tars_memory.cli.app import COMMANDS
from tars_memory.cli.parsing import SHARED, Command, shared

NAMES = [name for names in COMMANDS.values() for name in names]


def command(name: str) -> Command:
    made = import_module(f"tars_memory.cli.commands.{name}").COMMAND
    assert isinstance(made, Command)
    return made


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
            told.append(option_row(param))
    return told


def option_row(param: TyperOption) -> str:
    value = "" if param.is_flag else f" {param.metavar}"
    return f"| `{param.opts[0]}{value}` | {param.help} |"


def shared_rows() -> list[str]:
    return [option_row(option) for option in shared(writes=True)]


if __name__ == "__main__":
    for each in NAMES:
        print(f"## {each}\n\n`{usage(each)}`\n")
        if rows(each):
            print("| | |\n| --- | --- |")
            print("\n".join(rows(each)) + "\n")
