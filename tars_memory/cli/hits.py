"""The hits of a search on a person's screen: two lines each, the best nearest to the prompt. Needs rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tars_memory.cli.output import clean, line
from tars_memory.cli.views import NOTE, console, encoded, print_line, sign, wrapped
from tars_memory.recall.highlight import spans
from tars_memory.vault.markdown.lines import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tars_memory.cli.output import Output
    from tars_memory.recall.model import Hit, SearchResult
    from tars_memory.recall.query import Query

MATCH = "bold red"
"""As grep and ripgrep light a match: readable on dark and on light."""
LEAST = 3
"""Hits that are shown, however low the screen is."""
UNDATED = frozenset({"semantic", "procedural"})
"""Tiers of whose notes the day of the file says nothing about a line."""
BEFORE = 4
"""A line that is cut shows a part of its room, one in so many, before its first match."""
BREAK = 20
"""Cells within which a cut moves back to the end of a word; a longer word is cut."""


def show_hits(out: Output, result: SearchResult, *, full: bool, wanted: bool) -> None:
    """Numbered hits; the rank is the number, the best one stands last, beside the prompt.

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
    blocks = [_lines(out, screen, hit, result.parsed, width, full=full) for hit in result.hits]
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


def _lines(out: Output, screen: Console, hit: Hit, query: Query, width: int, *, full: bool) -> list[Text]:
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
        parts = ", ".join(f"{name} {value:.4f}" for name, value in hit.explain.items())
        lines += wrapped(screen, Text(f"{hit.score:.4f} = {parts}", style="dim"), indent)
    return lines


def _head(out: Output, hit: Hit, width: int, room: int) -> Text:
    """Number, place, day, who said it, how many more its note has, and the headings as far as there is room."""
    number = hit.best_line[0]
    day = hit.day if hit.tier in UNDATED else hit.date or ""
    said = "".join(f"  {encoded(out, part)}" for part in (line(day), line(hit.speaker)) if part)
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
    """A place without so many of its first folders that it fits; its end, the name and the line, stays."""
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
    found = spans(query, said)
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
    """So many cells before a place, at the beginning of a word."""
    start = at
    while start > 0 and cell_len(text[start - 1 : at]) <= cells:
        start -= 1
    blank = text.find(" ", start, at)
    return blank + 1 if start and blank >= 0 else start


def _end(text: str, start: int, cells: int) -> int:
    """How far a text goes within so many cells, to the end of a word if one ends near; wide signs part anywhere."""
    end, used = start, 0
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
    for start, end in spans(query, text):
        shown.stylize(MATCH, start, end)
    return shown
