"""Small tables: names and values, and rows of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.cli.output import line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tars_memory.cli.output import Output


def show_rows(out: Output, rows: Iterable[Sequence[str]], head: Sequence[str] = (), styles: Sequence[str] = ()) -> None:
    """Print rows of cells.

    On a terminal they are columns that line up and wrap at words within its width; elsewhere a row is one line, its
    cells parted by tabs.

    Args:
        out: where to.
        rows: as many cells each; cleaned, of one line. Elsewhere each is made when the one before it is printed.
        head: names of the columns, shown on a terminal alone.
        styles: rich's, of the columns, for a terminal with colour.
    """
    if out.screen:
        from tars_memory.cli.views import show_table

        show_table(out, [*rows], head, styles)
        return
    for row in rows:
        out.data("\t".join(row).rstrip("\t"))


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
