"""Facts as spans of time: drawn for a terminal, and as a Gantt chart in Mermaid, which Obsidian renders.

Facts without a day have no span; the drawing lists them last, the chart leaves
them out.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tars_memory.doors.cli.output import Output, line
from tars_memory.doors.cli.screen import console, encoded, print_line, sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tars_memory.vault.markdown.facts import Fact

NARROWEST, LABEL, DAY = 12, 0.42, 13
"""Cells that a bar and a label get at least, the share of a line that labels get at most, and the cells of a day with
the room beside it."""
STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
"""Months between two marks of the scale."""
MARK = 7
"""Cells that a mark and the room behind it take at least."""


class Signs(NamedTuple):
    """What a bar is drawn with; for terminals that can't show lines in ASCII."""

    bar: str = "━"
    ends: str = "╸"
    goes_on: str = "▶"
    before: str = "┄"
    now: str = "│"
    cut: str = "…"


LINES, ASCII = Signs(), Signs("=", "|", ">", "-", ":", ".")


class Period(NamedTuple):
    """A fact in time.

    Attributes:
        label: what it says, below its subject.
        since: its first day; None: not known.
        until: the first day that it no longer holds; None: it holds on.
    """

    label: str
    since: date | None
    until: date | None


def by_subject(facts: Sequence[Fact]) -> dict[str, list[Period]]:
    """Facts by subject, in the order in which the subjects come first; those without a day last."""
    found: dict[str, list[Period]] = {}
    for fact in facts:
        said = f"{line(fact.predicate)}: {line(fact.object)}"
        found.setdefault(line(fact.subject), []).append(Period(said, fact.since, fact.until))
    return found


def drawn(facts: Sequence[Fact], today: date, width: int, signs: Signs) -> Iterator[tuple[str, str]]:
    """Each line of the drawing, with what it is: ``scale``, ``subject``, ``past`` or ``holds``.

    Args:
        facts: in order of time.
        today: marked in each line.
        width: cells of the terminal.
        signs: what it is drawn with.
    """
    groups = by_subject(facts)
    spans = [span for group in groups.values() for span in group]
    widest = max((cell_len(span.label) for span in spans), default=0) + 2
    room = max(NARROWEST, min(widest, int(width * LABEL), width - DAY - NARROWEST))
    cells = max(NARROWEST, width - room - DAY)
    first, last = _range(spans, today)
    days = max(1, (last - first).days)

    def cell(day: date) -> int:
        return min(cells - 1, max(0, (day - first).days * cells // days))

    now = cell(today)
    if first < last and any(span.since or span.until for span in spans):
        yield "scale", f"{'':{room + DAY}}{_scale(first, last, cells)}".rstrip()
    for subject, group in groups.items():
        yield "subject", _cut(subject, width, signs)
        for span in group:
            holds = (span.since or today) <= today < (span.until or date.max)
            label = _cut(f"  {span.label}", room, signs)
            when = f"{span.since or ''!s:10}"
            bar = _bar(span, cell, cells, now, signs) if span.since or span.until else ""
            text = f"{label}{'':{room - cell_len(label)}}  {when} {bar}"
            yield "holds" if holds else "past", text.rstrip()


def _bar(span: Period, cell: Callable[[date], int], cells: int, now: int, signs: Signs) -> str:
    start = cell(span.since) if span.since else 0
    end = cells - 1 if span.until is None else max(start, cell(span.until - timedelta(days=1)))
    row = [" "] * cells
    row[now] = signs.now
    row[start : end + 1] = signs.bar * (end + 1 - start)
    if not span.since:
        row[start : min(start + 3, end)] = signs.before * (min(start + 3, end) - start)
    row[end] = signs.goes_on if span.until is None else signs.ends
    return "".join(row)


def _range(spans: Sequence[Period], today: date) -> tuple[date, date]:
    """From the first day to the last one that is known, today among them, and a little more for what goes on."""
    days = [day for span in spans for day in (span.since, span.until) if day is not None]
    first, last = min([today, *days]), max([today, *days])
    more = max(1, (last - first).days // 20)
    return first, last + timedelta(days=min(more, (date.max - last).days))


def _scale(first: date, last: date, cells: int) -> str:
    """Marks at even distances: years, or months where all is within a few years."""
    months = max(1, (last.year - first.year) * 12 + last.month - first.month)
    step = next((each for each in STEPS if months / each * MARK <= cells), STEPS[-1])
    days, row = max(1, (last - first).days), [" "] * cells
    number = -(-(first.year * 12 + first.month - 1) // step) * step
    while (year := number // 12) <= date.max.year:
        mark = date(max(1, year), number % 12 + 1, 1)
        text = str(mark)[: 4 if step % 12 == 0 else 7]
        at = (mark - first).days * cells // days
        if mark > last or at + len(text) > cells:
            break
        if at >= 0:
            row[at : at + len(text)] = text
        number += step
    return "".join(row)


def _cut(text: str, room: int, signs: Signs) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + signs.cut


# -- Mermaid


SAID = 60
"""Signs of a label in a chart."""
_UNSAFE = re.compile(r"[^\w .,()'-]|_|^ ")


def gantt(facts: Sequence[Fact], today: date) -> str:
    """The facts that have a day as a Gantt chart in a fence; empty if none has.

    Whatever could end a name, begin a comment or a directive, or close the fence is written as a character reference
    (``#58;``), which Mermaid shows as the character.
    """
    groups = {
        subject: [span for span in group if span.since or span.until] for subject, group in by_subject(facts).items()
    }
    groups = {subject: group for subject, group in groups.items() if group}
    if not groups:
        return ""
    first, last = _range([span for group in groups.values() for span in group], today)
    rows = ["gantt", "    dateFormat YYYY-MM-DD", f"    axisFormat {'%Y' if last.year - first.year > 2 else '%Y-%m'}"]
    for subject, group in groups.items():
        rows.append(f"    section {_escaped(subject)}")
        for span in group:
            since, until = span.since or first, span.until or last
            until = max(until, since + timedelta(days=1)) if since < date.max else since
            holds = (span.since or today) <= today < (span.until or date.max)
            state = "active, " if holds else "done, " if since <= today else ""
            rows.append(f"    {_name(span.label)} :{state}{since}, {until}")
    return "\n".join(["```mermaid", *rows, "```"])


def _name(text: str) -> str:
    """The name of a task. Its first sign is a reference, so that no lexer takes it for one of its own words."""
    return f"#{ord(text[0])};{_escaped(text[1:], SAID - 1)}"


def _escaped(text: str, most: int = SAID) -> str:
    cut = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    return _UNSAFE.sub(lambda found: f"#{ord(found[0])};", cut) or "#32;"


def show(out: Output, facts: Sequence[Fact], today: date) -> None:
    """Facts over time on a terminal: a bar each, today marked, what is over dimmed."""
    if out.quiet:
        return
    screen = console(out)
    signs = LINES if all(sign(out, each, "") for each in LINES) else ASCII
    styles = {"scale": "dim", "subject": "bold", "past": "dim"}
    for kind, text in drawn([*facts], today, screen.width, signs):
        print_line(screen, Text(encoded(out, text), style=styles.get(kind, "")))
