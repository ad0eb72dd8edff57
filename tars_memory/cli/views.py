"""Answers for a person's screen, by rich. Imported only when stdout is a terminal.

Texts of notes enter as :class:`rich.text.Text`, never as markup: ``[/bold]`` in a note is five letters and three signs.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from tars_memory.cli.output import line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.cli.output import Output

NOTE = "magenta"
"""The colour of a note's name. Only colours that can be read on dark and on light are used: not yellow, not cyan."""


def console(out: Output, *, stderr: bool = False) -> Console:
    """A console that interprets nothing in what it prints; plain where colour is not wanted."""
    out.clear()
    stream = out.stderr if stderr else out.stdout
    system: Any = "auto" if stream.isatty() and out.env.get("TERM") != "dumb" and not out.env.get("NO_COLOR") else None
    return Console(file=stream, color_system=system, markup=False, highlight=False, emoji=False, soft_wrap=False)


NARROW = 16
"""Cells up to which a column is never wrapped."""
READABLE = 24
"""Cells that a wrapped column needs; with fewer the cells of a row stand below each other."""
GAP = 2
"""Blanks between two columns."""


def show_table(
    out: Output, rows: Sequence[Sequence[str]], head: Sequence[str] = (), styles: Sequence[str] = ()
) -> None:
    """Columns that line up, whatever the width of their signs, and wrap at words within the terminal's width.

    Where a column would be too thin to be read, each row is a paragraph: its short cells, then the long ones below.
    """
    if out.quiet or not rows:
        return
    screen = console(out)
    told = [[Text(encoded(out, cell)) for cell in row] for row in rows]
    names = [Text(name, style="dim") for name in head]
    for row in told:
        for cell, style in zip(row, styles, strict=False):
            cell.stylize(style)
    natural = [max(cell.cell_len for cell in column) for column in zip(*told, strict=True)]
    kept = [at for at, width in enumerate(natural) if width]  # an empty column has no name either
    widths = _widths([max(natural[at], names[at].cell_len if names else 0) for at in kept], screen.width)
    if widths is None:
        for row in told:
            _print_paragraph(screen, [row[at] for at in kept], [natural[at] > NARROW for at in kept])
        return
    for row in [names, *told] if names else told:
        _print_row(screen, [row[at] for at in kept], widths)


def _widths(natural: Sequence[int], room: int) -> list[int] | None:
    """The widths of columns that fit: the widest give way together; None if one would be too thin to be read."""
    widths = [*natural]
    over = sum(widths) + GAP * (len(widths) - 1) - room
    while over > 0:
        widest = max(widths)
        if widest <= READABLE:
            return None
        those = [at for at, width in enumerate(widths) if width == widest]
        lower = max([READABLE, *(width for width in widths if width < widest)])
        less = min(widest - lower, -(-over // len(those)))
        for at in those:
            widths[at] -= less
        over -= less * len(those)
    return widths


def _print_row(screen: Console, cells: Sequence[Text], widths: Sequence[int]) -> None:
    """One row, as many lines as its longest cell takes."""
    parts = [[*cell.wrap(screen, width, overflow="fold")] for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        shown = Text()
        for part, width in zip(parts, widths, strict=True):
            text = part[number] if number < len(part) else Text()
            text.rstrip()
            shown.append(text)
            shown.append(" " * (width - text.cell_len + GAP))
        shown.rstrip()
        print_line(screen, shown)


def _print_paragraph(screen: Console, cells: Sequence[Text], long: Sequence[bool]) -> None:
    """The short cells of a row on one line, the long ones below, indented."""
    short = [cell for cell, is_long in zip(cells, long, strict=True) if not is_long and cell.plain]
    if short:
        for part in Text("  ").join(short).wrap(screen, screen.width, overflow="fold"):
            print_line(screen, part)
    for cell, is_long in zip(cells, long, strict=True):
        if is_long and cell.plain:
            _print_all(screen, wrapped(screen, cell, GAP if short else 0))


def wrapped(screen: Console, text: Text, indent: int) -> list[Text]:
    """The lines of a text, wrapped at words, behind an indentation."""
    lines = []
    for part in text.wrap(screen, max(screen.width - indent, 8), overflow="fold"):
        part.rstrip()
        lines.append(Text(" " * indent).append(part) if part.plain else part)
    return lines


def _print_all(screen: Console, lines: Sequence[Text]) -> None:
    for each in lines:
        print_line(screen, each)


def print_line(screen: Console, text: Text) -> None:
    """A line that fits already."""
    screen.print(text, no_wrap=True, overflow="ignore", crop=False)


def sign(out: Output, wanted: str, plain: str) -> str:
    """A sign, or what stands for it where the terminal's encoding doesn't have it."""
    return wanted if encoded(out, wanted) == wanted else plain


def encoded(out: Output, text: str) -> str:
    """The text as the terminal will show it: what its encoding doesn't have is written as an escape."""
    encoding = getattr(out.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def show_history(out: Output, entries: Sequence[object]) -> None:
    """Each write: its name, when, where, what and who; the change below it."""
    from tars_memory.cli.commands.history import row

    if out.quiet:
        return
    screen = console(out)
    for entry in entries:
        txn, time, command, actor, op, note, change = (encoded(out, cell) for cell in row(out, entry))
        head = Text()
        head.append(txn, "bold")
        head.append(f"  {time[:16].replace('T', ' ')}  ")
        head.append(note, NOTE)
        head.append(f"  {command} by {actor}, {op}", "dim")
        _print_all(screen, [*wrapped(screen, head, 0), *(wrapped(screen, Text(change), GAP) if change else ())])


def show_entries(out: Output, entries: Sequence[Any]) -> None:
    """Entries below their note and heading, each with its REF."""
    if out.quiet:
        return
    screen = console(out)
    for (path, section), group in groupby(entries, key=lambda entry: (entry.path, entry.section)):
        head = Text()
        head.append(encoded(out, out.path(path)), NOTE)
        if section:
            head.append(f"  {encoded(out, line(section))}", "dim")
        _print_all(screen, wrapped(screen, head, 0))
        rows = [(f"  {e.ref}", line(e.text) + (f" ({line(e.author)})" if e.author else "")) for e in group]
        show_table(out, rows, styles=("dim",))
