"""Small tables of names and values as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.cli.output import line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.cli.output import Output


def show_tree(out: Output, values: Mapping[str, Any]) -> None:
    """Print names and values, nested ones indented below their name."""
    for text in tree(values):
        out.data(text)


def tree(values: Mapping[str, Any], indent: str = "") -> list[str]:
    """Names and values as lines: ``name  value``, names of one level padded to one width."""
    width = max((len(str(name)) for name in values), default=0)
    lines = []
    for name, value in values.items():
        label = line(str(name)).replace("_", " ")
        if isinstance(value, dict) and value:
            lines.append(f"{indent}{label}")
            lines.extend(tree(value, indent + "  "))
        else:
            lines.append(f"{indent}{label:<{width}}  {_words(value)}".rstrip())
    return lines


def _words(value: Any) -> str:
    if value is None or value in ({}, [], ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_words(each) for each in value)
    return line(str(value))
