"""What a person's screen shows, by rich: lists and tables, hits, facts over time, and the pager for what is longer.

Imported only when stdout is a terminal, or for a chart of facts. Texts of notes enter as :class:`rich.text.Text`, never
as markup: ``[/bold]`` in a note is five letters and three signs.
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

from tars_memory.doors.cli.output import SEQUENCES, Output, clean, encoded, line, sign
from tars_memory.recall.weights import Terms
from tars_memory.settings import OFF, Settings
from tars_memory.vault.markdown.lines import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.recall.query import Hit, Query, SearchResult
    from tars_memory.vault.markdown.facts import Fact


NOTE = "magenta"
"""The colour of a note's name. Only colours that can be read on dark and on light are used: not yellow, not cyan."""


def console(out: Output) -> Console:
    """A console that interprets nothing in what it prints; plain where colour is not wanted."""
    out.clear()
    stream = out.stdout
    system: Any = "auto" if stream.isatty() and out.env.get("TERM") != "dumb" and not out.env.get("NO_COLOR") else None
    return Console(file=stream, color_system=system, markup=False, highlight=False, emoji=False, soft_wrap=False)


NARROW = 16
"""Cells up to which a column is never wrapped."""
READABLE = 24
"""Cells that a wrapped column needs; with fewer the cells of a row are put below each other."""
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


def show_history(out: Output, rows: Iterable[Sequence[str]]) -> None:
    """Each write, of cells ``txn time command actor op note change``: what and when on a line, the change below it."""
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


MATCH = "bold red"
"""As grep and ripgrep light a match: readable on dark and on light."""
LEAST = 3
"""Hits that are shown, however low the screen is."""
UNDATED = frozenset({"semantic", "procedural"})
"""Tiers of whose notes the day of the file says nothing about a line."""
BEFORE = 4
"""A line that is cut shows this part of its room, one in four, before its first match."""
BREAK = 20
"""Cells within which a cut moves back to the end of a word; a longer word is cut."""


def show_hits(out: Output, result: SearchResult, *, full: bool, wanted: bool) -> None:
    """Numbered hits; the rank is the number, the best one comes last, beside the prompt.

    Args:
        out: where to.
        result: with at least one hit.
        full: show whole passages.
        wanted: the person said how many hits to show, so that what is longer than the screen is wanted, too.
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
        shown = [tail, *reversed(blocks[:fitting])]
    for block in shown:
        for each in block:
            print_line(screen, each)


def hit_lines(out: Output, screen: Console, hit: Hit, query: Query, width: int, *, full: bool) -> list[Text]:
    """One hit: where it is, then the line that answers, or all of its passage; of a conversation the answer, too."""
    indent = width + 2
    room = max(screen.width - indent, 16)
    lines = [_head(out, hit, width, room)]
    if full:
        texts = [each for each in clean(hit.text).expandtabs(4).split("\n") if each.strip()]
        passage = _lit(query, encoded(out, "\n".join(texts)))
        lines += wrapped(screen, passage, indent)
    else:
        lines.append(Text(" " * indent).append(_excerpt(out, hit, query, room)))
    if hit.answer:  # one line: it was not searched, and is there to remember by
        answer = Text(f"assistant: {encoded(out, line(hit.answer))}", style="dim")
        answer.truncate(room, overflow="ellipsis" if sign(out, "…", "...") == "…" else "crop")
        lines.append(Text(" " * indent).append(answer))
    if hit.explain:
        lines += wrapped(screen, Text(hit.account, style="dim"), indent)
    return lines


def _head(out: Output, hit: Hit, width: int, room: int) -> Text:
    """Number, place, day, who said it, how many more its note has, and the headings as far as there is room."""
    number = hit.best_line[0]
    day = hit.day if hit.tier in UNDATED else hit.date or ""
    said = "".join(f"  {encoded(out, part)}" for part in (line(hit.vault), line(day), line(hit.speaker)) if part)
    whole = encoded(out, out.place(hit.path, number))
    name = cell_len(whole.rpartition("/")[2]) + cell_len("…/")
    more = next(
        (told for told in (f"  +{hit.more} in this note", f"  +{hit.more}") if name + cell_len(said + told) <= room),
        f"  +{hit.more}",
    )
    more = more if hit.more else ""
    if name + cell_len(said + more) > room:
        said = ""  # what the note is called says more than when
    behind = cell_len(said + more)
    place = _shortened(whole, room - behind, sign(out, "…", "..."))
    head = Text()
    head.append(f"{hit.rank:>{width}}  ", "bold")
    link = Style(link=hit.obsidian_url) if hit.obsidian_url and hit.obsidian_url.isprintable() else Style()
    head.append(place, Style.parse(NOTE) + link)
    head.append(said)
    head.append(more, "dim")
    if headings := _headings(out, hit):
        left = room - cell_len(place) - behind - 2
        if cell_len(headings) <= left:
            head.append(f"  {headings}", "dim")
    return head


def _headings(out: Output, hit: Hit) -> str:
    """The headings that say more than the note's name does."""
    name = hit.path.rpartition("/")[2].removesuffix(".md").casefold()
    told = [line(heading) for heading in hit.headings]
    told = told[1:] if told and told[0].casefold() in (name, hit.title.casefold()) else told
    return encoded(out, sign(out, " › ", " > ").join(told))


def _shortened(place: str, room: int, cut: str) -> str:
    """A place without as many first folders as it takes to fit; its end, the name and the line, stays."""
    if cell_len(place) <= room:
        return place
    rest = place
    while "/" in rest:
        rest = rest.partition("/")[2]
        if cell_len(rest) + len(cut) + 1 <= room:
            return f"{cut}/{rest}"
    while rest and cell_len(rest) + len(cut) > room:
        rest = rest[1:]
    return cut + rest


def _excerpt(out: Output, hit: Hit, query: Query, room: int) -> Text:
    """The line that answers, cut at words around what matches."""
    said = encoded(out, plain(line(hit.best_line[1])).strip())
    if cell_len(said) <= room:
        return _lit(query, said)
    cut = sign(out, "…", "...")
    found = Terms(query).spans(said)
    start = _best_start(said, found, room)
    before = cut if start else ""
    end = _end(said, start, room - len(before))
    after = cut if end < len(said) else ""
    if after:
        end = _end(said, start, room - len(before) - len(after))
    return _lit(query, f"{before}{said[start:end].rstrip()}{after}")


def _best_start(text: str, found: Sequence[tuple[int, int]], room: int) -> int:
    """Where to begin so that the most of what matches is seen; the beginning if that shows as much."""
    best, most = 0, -1
    for first in (0, *(begin for begin, _ in found)):
        start = _back(text, first, room // BEFORE) if first else 0
        end = _end(text, start, room - 2)
        seen = sum(start <= begin and stop <= end for begin, stop in found)
        if seen > most:
            best, most = start, seen
    return best


def _back(text: str, at: int, cells: int) -> int:
    """A place that many cells before another one, at the beginning of a word."""
    start = at
    while start > 0 and cell_len(text[start - 1 : at]) <= cells:
        start -= 1
    blank = text.find(" ", start, at)
    return blank + 1 if start and blank >= 0 else start


def _end(text: str, start: int, cells: int) -> int:
    """How far a text goes within that many cells, to the end of a word if one ends near; wide signs part anywhere."""
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


def _lit(query: Query, text: str) -> Text:
    """The text with what matches standing out."""
    shown = Text(text)
    for start, end in Terms(query).spans(text):
        shown.stylize(MATCH, start, end)
    return shown


# --- facts over time: those without a day have no span; the drawing lists them last, the chart leaves them out


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


# --- and as a chart in Mermaid, which Obsidian renders


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


def show_timeline(out: Output, facts: Sequence[Fact], today: date) -> None:
    """Facts over time on a terminal: a bar each, today marked, what is over dimmed."""
    if out.quiet:
        return
    screen = console(out)
    signs = LINES if all(sign(out, each, "") for each in LINES) else ASCII
    styles = {"scale": "dim", "subject": "bold", "past": "dim"}
    for kind, text in drawn([*facts], today, screen.width, signs):
        print_line(screen, Text(encoded(out, text), style=styles.get(kind, "")))


# --- the pager


LESS = "FRX"
"""As git sets it: end if all of it fits, let colours through, leave the text on the screen."""
NONE = frozenset({"", "cat", *OFF})
"""Pagers that are none."""
NOT_STARTED = (126, 127)
"""The shell's exit codes for a command that may not be run, and for one that it can't find."""


class Held(io.StringIO):
    """Stands for a terminal until all that it is to show is known."""

    def __init__(self, encoding: str) -> None:
        super().__init__(newline="")
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the terminal."""
        return self._encoding

    def isatty(self) -> bool:
        """As the terminal says."""
        return True


@contextlib.contextmanager
def paged(out: Output) -> Iterator[None]:
    """Collect what is printed meanwhile; then print it, by a pager if it is longer than the screen."""
    command = _pager(out.env)
    if not command:
        yield
        return
    terminal = out.stdout
    held = Held(terminal.encoding or "utf-8")
    out.stdout, out.pages = held, True
    try:
        yield
    finally:
        out.stdout, out.pages = terminal, False
        text = held.getvalue()
        if _is_higher(text, *shutil.get_terminal_size()) and _page(command, text, out.env, held.encoding):
            text = ""
        out.write(text)


def _pager(env: Mapping[str, str]) -> str:
    """The pager, as a command for the shell: as it is set, else ``PAGER``, else less; '' for none."""
    settings = Settings(env)
    named = settings.terminal.pager or env.get("PAGER")
    if named is None:
        named = "less" if shutil.which("less") else ""
    try:
        shlex.split(named)
    except ValueError:  # a quote that is never closed: the shell would take the text and show nothing
        return ""
    return "" if named.strip().casefold() in NONE else named


def _is_higher(text: str, columns: int, lines: int) -> bool:
    """Whether a text, with the prompt below it, is higher than the screen."""
    bare = re.sub(SEQUENCES, "", text).split("\n")
    return sum(max(1, -(-cell_len(each) // max(columns, 1))) for each in bare) > lines


def _page(command: str, text: str, env: Mapping[str, str], encoding: str) -> bool:
    """Show a text in a pager, until the person has seen enough; False if there is no such program."""
    more = {name: value for name, value in (("LESS", LESS), ("LV", "-c")) if name not in env}
    try:
        process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env={**env, **more})  # noqa: S602 - as git
    except OSError:
        return False
    assert process.stdin is not None
    with contextlib.suppress(OSError, KeyboardInterrupt):  # it was left before the end
        process.stdin.write(text.encode(encoding, "backslashreplace"))
    with contextlib.suppress(OSError):
        process.stdin.close()
    while True:
        try:
            return process.wait() not in NOT_STARTED
        except KeyboardInterrupt:  # the pager's own key
            continue
