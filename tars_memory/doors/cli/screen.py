"""Output on a person's terminal, by rich: tables, entries, hits, facts over time, and the pager for long output.

Imported only when stdout is a terminal, or for a chart of facts. Text of notes becomes :class:`rich.text.Text`, never
markup: ``[/bold]`` in a note is shown as these seven characters.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tars_memory.doors.cli.output import SEQUENCES, Output, clean, encoded, line, symbol
from tars_memory.errors import shortened
from tars_memory.recall.weights import Terms
from tars_memory.settings import OFF, Settings
from tars_memory.vault.markdown.lines import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.recall.query import Hit, Query, SearchResult
    from tars_memory.vault.markdown.facts import Fact


NOTE = "magenta"
"""Colour of a note's name. Only colours that are readable on dark and on light are used: not yellow, not cyan."""


def console(out: Output) -> Console:
    """Return a console that interprets nothing in the text it prints, and is plain where colour is not wanted."""
    out.clear()
    stream = out.stdout
    system: Any = "auto" if stream.isatty() and out.env.get("TERM") != "dumb" and not out.env.get("NO_COLOR") else None
    return Console(file=stream, color_system=system, markup=False, highlight=False, emoji=False, soft_wrap=False)


NARROW = 16
"""Widest column, in terminal cells, that is never wrapped."""
READABLE = 24
"""Least width of a wrapped column; if one would be narrower, the cells of a row are printed below each other."""
GAP = 2
"""Blanks between two columns."""


def show_table(
    out: Output, rows: Sequence[Sequence[str]], head: Sequence[str] = (), styles: Sequence[str] = ()
) -> None:
    """Print aligned columns, whatever the width of their characters, wrapped at words within the terminal's width.

    Where a column would be too narrow to read, each row is a paragraph: its short cells, then the long ones below.
    """
    if out.quiet or not rows:
        return
    screen = console(out)
    table = [[Text(encoded(out, cell)) for cell in row] for row in rows]
    names = [Text(name, style="dim") for name in head]
    for row in table:
        for cell, style in zip(row, styles, strict=False):
            cell.stylize(style)
    natural = [max(cell.cell_len for cell in column) for column in zip(*table, strict=True)]
    kept = [at for at, width in enumerate(natural) if width]  # an empty column is left out with its name
    widths = _widths([max(natural[at], names[at].cell_len if names else 0) for at in kept], screen.width)
    if widths is None:
        for row in table:
            _print_paragraph(screen, [row[at] for at in kept], [natural[at] > NARROW for at in kept])
        return
    for row in [names, *table] if names else table:
        _print_row(screen, [row[at] for at in kept], widths)


def _widths(natural: Sequence[int], room: int) -> list[int] | None:
    """Narrow the widest columns, evenly, until all fit the room; return the widths.

    None if a column would be too narrow to read.
    """
    widths = [*natural]
    excess = sum(widths) + GAP * (len(widths) - 1) - room
    while excess > 0:
        widest = max(widths)
        if widest <= READABLE:
            return None
        columns = [at for at, width in enumerate(widths) if width == widest]
        next_width = max([READABLE, *(width for width in widths if width < widest)])
        cut = min(widest - next_width, -(-excess // len(columns)))
        for at in columns:
            widths[at] -= cut
        excess -= cut * len(columns)
    return widths


def _print_row(screen: Console, cells: Sequence[Text], widths: Sequence[int]) -> None:
    """Print one row, on as many lines as its longest cell takes."""
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
    """Print the short cells of a row on one line, the long ones below it, indented."""
    short = [cell for cell, is_long in zip(cells, long, strict=True) if not is_long and cell.plain]
    if short:
        for part in Text("  ").join(short).wrap(screen, screen.width, overflow="fold"):
            print_line(screen, part)
    for cell, is_long in zip(cells, long, strict=True):
        if is_long and cell.plain:
            _print_all(screen, wrapped(screen, cell, GAP if short else 0))


def wrapped(screen: Console, text: Text, indent: int) -> list[Text]:
    """Wrap a text at words within the screen's width; return its lines, indented."""
    lines = []
    for part in text.wrap(screen, max(screen.width - indent, 8), overflow="fold"):
        part.rstrip()
        lines.append(Text(" " * indent).append(part) if part.plain else part)
    return lines


def truncate(out: Output, text: Text, width: int) -> None:
    """Cut a text to a width, with an ellipsis if the terminal can show one."""
    text.truncate(width, overflow="ellipsis" if symbol(out, "…", "...") == "…" else "crop")


def _print_all(screen: Console, lines: Sequence[Text]) -> None:
    for text in lines:
        print_line(screen, text)


def print_line(screen: Console, text: Text) -> None:
    """Print a line that fits the screen, as it is."""
    screen.print(text, no_wrap=True, overflow="ignore", crop=False)


def show_history(out: Output, rows: Iterable[Sequence[str]]) -> None:
    """Print writes, rows of ``txn time command actor op note change``: the change is printed below the others."""
    if out.quiet:
        return
    screen = console(out)
    for row in rows:
        txn, time, command, actor, op, note, change = (encoded(out, cell) for cell in row)
        head = Text()
        head.append(txn, "bold")
        head.append(f"  {time[:16].replace('T', ' ')}  ")
        head.append(note, NOTE)
        head.append(f"  {command} by {actor}, {op}", "dim")
        _print_all(screen, [*wrapped(screen, head, 0), *(wrapped(screen, Text(change), GAP) if change else ())])


def show_entries(out: Output, entries: Sequence[Any]) -> None:
    """Print entries below their note and heading, each with its REF."""
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


MATCH = "bold red"
"""Style of a match, as in grep and ripgrep: readable on dark and on light."""
LEAST = 3
"""Minimum number of hits to show, however low the screen is."""
UNDATED = frozenset({"semantic", "procedural"})
"""Tiers in whose notes the file's day doesn't date a line."""
BEFORE = 4
"""A cut line begins so far before its first match: its room divided by this."""
BREAK = 20
"""Cells that a cut moves back at most to end at a word; a longer word is cut."""


def show_hits(out: Output, result: SearchResult, *, full: bool, wanted: bool) -> None:
    """Print hits numbered by rank, the best one last, next to the prompt.

    Args:
        out: the output to print on.
        result: with at least one hit.
        full: show whole passages.
        wanted: the person chose the number of hits, so all are shown even if they are longer than the screen.
    """
    if out.quiet:
        return
    screen = console(out)
    width = len(str(len(result.hits)))
    blocks = [hit_lines(out, screen, hit, result.parsed, width, full=full) for hit in result.hits]
    room = screen.height - 1  # the prompt's own line
    fitting = len(blocks)
    if not (full or wanted):
        while fitting > LEAST and sum(map(len, blocks[:fitting])) + (fitting < len(blocks) or result.more > 0) > room:
            fitting -= 1
    more = len(blocks) - fitting + result.more
    tail = [Text(f"+{more} more: --limit {len(blocks) + result.more}", style="dim")] if more else []
    if out.pages and sum(map(len, blocks[:fitting])) + len(tail) > room:
        shown = [*blocks[:fitting], tail]  # a pager begins at the top
    else:
        tail = [text.append("; the best is last") for text in tail if fitting > 1] or tail
        shown = [tail, *reversed(blocks[:fitting])]
    for block in shown:
        _print_all(screen, block)


def hit_lines(out: Output, screen: Console, hit: Hit, query: Query, width: int, *, full: bool) -> list[Text]:
    """Return the lines of a hit: its place, then its best line, with lines around it if some are wanted, or with
    ``full`` its passage, then the assistant's answer if it is from a conversation.
    """
    indent = width + 2
    room = max(screen.width - indent, 16)
    lines = [_head(out, hit, width, room)]
    if full or hit.around:
        passage = hit.text if full else "\n".join(text for _, text in hit.beside)
        texts = [text for text in clean(passage).expandtabs(4).split("\n") if text.strip()]
        lines += wrapped(screen, _highlighted(query, encoded(out, "\n".join(texts))), indent)
    else:
        lines.append(Text(" " * indent).append(_excerpt(out, hit, query, room)))
    if hit.answer:  # one line: it was not searched, and is only there as a reminder
        answer = Text(f"assistant: {encoded(out, line(hit.answer))}", style="dim")
        truncate(out, answer, room)
        lines.append(Text(" " * indent).append(answer))
    if hit.explain:
        lines += wrapped(screen, Text(hit.account, style="dim"), indent)
    return lines


def _head(out: Output, hit: Hit, width: int, room: int) -> Text:
    """Return the head of a hit: rank, place, vault, day, speaker, count of more hits in the note, and the headings if
    there is room.
    """
    number = hit.best_line[0]
    day = hit.day if hit.tier in UNDATED or (hit.date_is_weak and hit.day) else hit.date or ""
    day = f"changed {day}" if hit.date_is_weak and day and not hit.day else day
    details = "".join(f"  {encoded(out, part)}" for part in (line(hit.vault), line(day), line(hit.speaker)) if part)
    whole = encoded(out, out.place(hit.path, number))
    name_width = cell_len(whole.rpartition("/")[2]) + cell_len("…/")
    counts = {"in this note": hit.more, "alike": hit.alike}
    more = "".join(f"  +{count} {where}" for where, count in counts.items() if count)
    if name_width + cell_len(details + more) > room:
        more = "".join(f"  +{count}" for count in counts.values() if count)
    if name_width + cell_len(details + more) > room:
        details = ""  # the note's name is worth more than the day
    tail_width = cell_len(details + more)
    place = _shortened(whole, room - tail_width, symbol(out, "…", "..."))
    head = Text()
    head.append(f"{hit.rank:>{width}}  ", "bold")
    link = Style(link=hit.obsidian_url) if hit.obsidian_url and hit.obsidian_url.isprintable() else Style()
    head.append(place, Style.parse(NOTE) + link)
    head.append(details)
    head.append(more, "dim")
    if headings := _headings(out, hit):
        left = room - cell_len(place) - tail_width - 2
        if cell_len(headings) <= left:
            head.append(f"  {headings}", "dim")
    return head


def _headings(out: Output, hit: Hit) -> str:
    """Return the headings above the hit, without a first one that repeats the note's name or title."""
    name = hit.path.rpartition("/")[2].removesuffix(".md").casefold()
    headings = [line(heading) for heading in hit.headings]
    if headings and headings[0].casefold() in (name, hit.title.casefold()):
        del headings[0]
    return encoded(out, symbol(out, " › ", " > ").join(headings))


def _shortened(place: str, room: int, cut: str) -> str:
    """Drop first folders of a place until it fits; its end, the name and the line, stays."""
    if cell_len(place) <= room:
        return place
    rest = place
    while "/" in rest:
        rest = rest.partition("/")[2]
        if cell_len(rest) + len(cut) + 1 <= room:
            return f"{cut}/{rest}"
    while rest and (cell_len(rest) + len(cut) > room or not cell_len(rest[0])):  # no accent without its letter
        rest = rest[1:]
    return cut + rest


def _excerpt(out: Output, hit: Hit, query: Query, room: int) -> Text:
    """Return the hit's best line, cut at words around its matches."""
    text = encoded(out, plain(line(hit.best_line[1])).strip())
    if cell_len(text) <= room:
        return _highlighted(query, text)
    cut = symbol(out, "…", "...")
    matches = Terms(query).spans(text)
    start = _best_start(text, matches, room)
    before = cut if start else ""
    end = _end(text, start, room - len(before))
    after = cut if end < len(text) else ""
    if after:
        end = _end(text, start, room - len(before) - len(after))
    return _highlighted(query, f"{before}{text[start:end].rstrip()}{after}")


def _best_start(text: str, matches: Sequence[tuple[int, int]], room: int) -> int:
    """Return the start of the cut that shows the most matches; 0 if that shows as many."""
    best, most = 0, -1
    for first in (0, *(begin for begin, _ in matches)):
        start = _back(text, first, room // BEFORE) if first else 0
        end = _end(text, start, room - 2)
        seen = sum(start <= begin and stop <= end for begin, stop in matches)
        if seen > most:
            best, most = start, seen
    return best


def _back(text: str, at: int, cells: int) -> int:
    """Return the position so many cells before another one, moved on to the beginning of a word."""
    start = at
    while start > 0 and cell_len(text[start - 1 : at]) <= cells:
        start -= 1
    blank = text.find(" ", start, at)
    return blank + 1 if start and blank >= 0 else start


def _end(text: str, start: int, cells: int) -> int:
    """Return where to cut a text so that it fills so many cells: at the end of a word, if one is near, or between two
    wide characters.
    """
    plain_end = min(len(text), start + max(cells, 0))
    end, used = (plain_end, cells) if text[start:plain_end].isascii() else (start, 0)
    while end < len(text) and used + cell_len(text[end]) <= cells:
        used += cell_len(text[end])
        end += 1
    if end < len(text) and text[end] != " " and cell_len(text[end]) == 1:
        back = end
        while back > max(start, end - BREAK) and text[back - 1] != " " and cell_len(text[back - 1]) == 1:
            back -= 1
        if back > max(start, end - BREAK):
            return back
    return end


def _highlighted(query: Query, text: str) -> Text:
    """Return the text with its matches highlighted."""
    shown = Text(text)
    for start, end in Terms(query).spans(text):
        shown.stylize(MATCH, start, end)
    return shown


# --- facts over time: one without a day has no period; the drawing lists it last, the chart leaves it out


NARROWEST, LABEL, DAY = 12, 0.42, 13
"""Minimum width of a bar and of a label, in cells; maximum share of a line for labels; width of a day with the gaps
beside it."""
STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
"""Months between two marks of the scale."""
MARK_OF_YEAR, MARK_OF_MONTH = 7, 9
"""Minimum width of a mark with the gap behind it, in cells; a short month takes a blank of the gap."""


class Symbols(NamedTuple):
    """The characters of a drawing; ASCII for terminals that can't show lines."""

    bar: str = "━"
    ends: str = "╸"
    goes_on: str = "▶"
    before: str = "┄"
    now: str = "│"
    cut: str = "…"


LINES, ASCII = Symbols(), Symbols("=", "|", ">", "-", ":", ".")


def by_subject(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """Group facts by subject, in the order in which the subjects first appear."""
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(line(fact.subject), []).append(fact)
    return groups


def _label(fact: Fact) -> str:
    return f"{line(fact.predicate)}: {line(fact.object)}"


def draw_facts(facts: Sequence[Fact], today: date, width: int, symbols: Symbols) -> Iterator[tuple[str, str]]:
    """Draw facts as bars over time.

    Args:
        facts: in order of time.
        today: marked in each line.
        width: cells of the terminal.
        symbols: the characters to draw with.

    Yields:
        The kind of a line (``scale``, ``subject``, ``past`` or ``holds``) and its text.
    """
    widest = max((cell_len(_label(fact)) for fact in facts), default=0) + 2
    room = max(NARROWEST, min(widest, int(width * LABEL), width - DAY - NARROWEST))
    cells = max(NARROWEST, width - room - DAY)
    first, last = _range(facts, today)
    days = max(1, (last - first).days)

    def cell(day: date) -> int:
        return min(cells - 1, max(0, (day - first).days * cells // days))

    now = cell(today)
    if first < last and any(fact.since or fact.until for fact in facts):
        yield "scale", f"{'':{room + DAY}}{_scale(first, last, cells)}".rstrip()
    for subject, group in by_subject(facts).items():
        yield "subject", _cut(subject, width, symbols)
        for fact in group:
            label = _cut(f"  {_label(fact)}", room, symbols)
            day = f"{fact.since or ''!s:10}"
            bar = _bar(fact, cell, cells, now, symbols) if fact.since or fact.until else ""
            text = f"{label}{'':{room - cell_len(label)}}  {day} {bar}"
            yield "holds" if fact.holds(today) else "past", text.rstrip()


def _bar(fact: Fact, cell: Callable[[date], int], cells: int, now: int, symbols: Symbols) -> str:
    """Draw the bar of one fact; ``cell`` gives the place of a day, ``now`` is the place of today."""
    start = cell(fact.since) if fact.since else 0
    end = cells - 1 if fact.until is None else max(start, cell(fact.until - timedelta(days=1)))
    row = [" "] * cells
    row[now] = symbols.now
    row[start : end + 1] = symbols.bar * (end + 1 - start)
    if not fact.since:
        row[start : min(start + 3, end)] = symbols.before * (min(start + 3, end) - start)
    row[end] = symbols.goes_on if fact.until is None else symbols.ends
    return "".join(row)


def _range(facts: Iterable[Fact], today: date) -> tuple[date, date]:
    """Return the first and the last known day, today among them; the last plus a margin for facts without an end."""
    days = [day for fact in facts for day in (fact.since, fact.until) if day is not None]
    first, last = min([today, *days]), max([today, *days])
    margin = max(1, (last - first).days // 20)
    return first, last + timedelta(days=min(margin, (date.max - last).days))


def _scale(first: date, last: date, cells: int) -> str:
    """Return a scale with marks at even distances: years, or months if the range is a few years."""
    months = max(1, (last.year - first.year) * 12 + last.month - first.month)
    widths = {step: MARK_OF_MONTH if step % 12 else MARK_OF_YEAR for step in STEPS}
    step = next((step for step in STEPS if months / step * widths[step] <= cells), STEPS[-1])
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


def _cut(text: str, room: int, symbols: Symbols) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + symbols.cut


# --- and as a chart in Mermaid, which Obsidian renders


LONGEST_LABEL = 60
"""Maximum length of a label in a chart."""
_UNSAFE = re.compile(r"[^\w .,()'-]|_|^ ")


def gantt(facts: Sequence[Fact], today: date) -> str:
    """Return the facts that have a day as a Gantt chart in a fence; empty if none has one.

    Every character that could end a name, begin a comment or a directive, or close the fence is written as a character
    reference (``#58;``), which Mermaid shows as the character.
    """
    dated = [fact for fact in facts if fact.since or fact.until]
    if not dated:
        return ""
    first, last = _range(dated, today)
    rows = ["gantt", "    dateFormat YYYY-MM-DD", f"    axisFormat {'%Y' if last.year - first.year > 2 else '%Y-%m'}"]
    for subject, group in by_subject(dated).items():
        rows.append(f"    section {_escaped(subject)}")
        for fact in group:
            since, until = fact.since or first, fact.until or last
            until = max(until, since + timedelta(days=1)) if since < date.max else since
            state = "active, " if fact.holds(today) else "done, " if since <= today else ""
            # the first character of a name is a reference, so that the lexer can't read it as a keyword
            name = f"#{ord(_label(fact)[0])};{_escaped(_label(fact)[1:], LONGEST_LABEL - 1)}"
            rows.append(f"    {name} :{state}{since}, {until}")
    return "\n".join(["```mermaid", *rows, "```"])


def _escaped(text: str, most: int = LONGEST_LABEL) -> str:
    return _UNSAFE.sub(lambda match: f"#{ord(match[0])};", shortened(text, most)) or "#32;"


def show_timeline(out: Output, facts: Sequence[Fact], today: date) -> None:
    """Print facts over time: a bar each, today marked, past facts dimmed."""
    if out.quiet:
        return
    screen = console(out)
    symbols = LINES if all(symbol(out, character, "") for character in LINES) else ASCII
    styles = {"scale": "dim", "subject": "bold", "past": "dim"}
    for kind, text in draw_facts(facts, today, screen.width, symbols):
        print_line(screen, Text(encoded(out, text), style=styles.get(kind, "")))


# --- the pager


LESS = "FRX"
"""Options of less, as git sets them: end if all of it fits, let colours through, leave the text on the screen."""
NONE = frozenset({"", "cat", *OFF})
"""Values of the setting that mean no pager."""
NOT_STARTED = (126, 127)
"""The shell's exit codes for a command that may not be run, and for one that it can't find."""


class TerminalBuffer(io.StringIO):
    """A buffer in the place of a terminal, until all output is known."""

    def __init__(self, encoding: str) -> None:
        super().__init__(newline="")
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The terminal's encoding."""
        return self._encoding

    def isatty(self) -> bool:
        """Return True, as the terminal does."""
        return True


@contextlib.contextmanager
def paged(out: Output) -> Iterator[None]:
    """Collect the output of the block; then print it, through a pager if it is longer than the screen."""
    command = _pager(out.env)
    if not command:
        yield
        return
    terminal = out.stdout
    held = TerminalBuffer(terminal.encoding or "utf-8")
    out.stdout, out.pages = held, True
    try:
        yield
    finally:
        out.stdout, out.pages = terminal, False
        text = held.getvalue()
        columns, lines = shutil.get_terminal_size()
        rows = re.sub(SEQUENCES, "", text).split("\n")  # the last one is the prompt's
        height = sum(max(1, -(-cell_len(row) // max(columns, 1))) for row in rows)
        if height > lines and _page(command, text, out.env, held.encoding):
            text = ""
        out.write(text)


def _pager(env: Mapping[str, str]) -> str:
    """Return the pager as a shell command: from the settings, else ``PAGER``, else less; '' for none.

    A terminal that can't move its cursor (``TERM=dumb``: a shell in an editor) has none unless the settings name one:
    less would warn of it and wait at each screen.
    """
    settings = Settings(env)
    is_dumb = env.get("TERM", "dumb") == "dumb"
    command = settings.terminal.pager or ("" if is_dumb else env.get("PAGER"))
    if command is None:
        command = "less" if shutil.which("less") else ""
    try:
        shlex.split(command)
    except ValueError:  # a quote that is never closed: the shell would take the text and show nothing
        return ""
    return "" if command.strip().casefold() in NONE else command


def _page(command: str, text: str, env: Mapping[str, str], encoding: str) -> bool:
    """Show a text in a pager until the person leaves it; return False if there is no such program."""
    options = {name: value for name, value in (("LESS", LESS), ("LV", "-c")) if name not in env}
    try:
        process = subprocess.Popen(  # noqa: S602 - as git
            command, shell=True, stdin=subprocess.PIPE, env={**env, **options}
        )
    except OSError:
        return False
    assert process.stdin is not None
    with contextlib.suppress(OSError, KeyboardInterrupt):  # the person left before the end
        process.stdin.write(text.encode(encoding, "backslashreplace"))
    with contextlib.suppress(OSError):
        process.stdin.close()
    while True:
        try:
            return process.wait() not in NOT_STARTED
        except KeyboardInterrupt:  # the pager's own key
            continue
