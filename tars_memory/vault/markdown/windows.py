"""Until when lines and notes count: ``[until:: DATE]`` on a bullet, ``expires: DATE`` in the front matter. Pure.

From that date on they are left out of search and of what a model is told; in the vault nothing changes. A bullet takes
what is nested in it along. Of a note's facts the end is the one that :mod:`tars_memory.vault.markdown.facts` reads.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.vault.markdown.frontmatter import MAX_CHARACTERS

if TYPE_CHECKING:
    from tars_memory.vault.markdown.document import Document

PROPERTIES = ("expires", "valid_until", "valid-until", "valid until")
"""Of any note; the first that holds a date counts."""
OF_SESSIONS = "until"
"""Of a session note besides: in others the word may tell anything."""

_SAID = (
    r"(?<!\\)[\[(][ \t]*{}[ \t]*::[ \t]*(?:\[\[)?(\d{{4}}-\d\d-\d\d)(?:[T ]\d[\d:.]*)?"
    r"(?:(?:\|[^\[\]]*)?\]\])?[ \t]*[\])]"
)
"""A date in Dataview's brackets; it may be a link to its daily note."""
_UNTIL = re.compile(_SAID.format("until"), re.IGNORECASE)
_SINCE = re.compile(_SAID.format("since"), re.IGNORECASE)
_TYPED = re.compile(r"(?<!\\)[\[(][ \t]*until[ \t]*::(?:\[\[[^\[\]]*\]\]|[^\[\]()])*[\])]", re.IGNORECASE)
_CODE = re.compile(r"`[^`]*`")
_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")


class Window(NamedTuple):
    """Lines with an end.

    Attributes:
        first, last: lines, 1-based, inclusive.
        until: the first day on which they no longer count.
    """

    first: int
    last: int
    until: date


def may_end(data: bytes) -> bool:
    """Whether a bullet of the note can have an end, at a glance."""
    return b"::" in data and b"until" in data.lower()


def may_say_end(data: bytes) -> bool:
    """Whether anything of the note can have an end, at a glance."""
    if may_end(data):
        return True
    head = data[:MAX_CHARACTERS].lower() if data[:6].lstrip(b"\xef\xbb\xbf").startswith(b"---") else b""
    return any(word in head for word in (b"expires", b"valid", b"until"))


def of_bullets(document: Document, *, facts: bool = False) -> list[Window]:
    """The bullets that end, nested ones too, in order of their lines.

    Args:
        document: the note.
        facts: it holds facts over time.
    """
    if not may_end(document.data):
        return []
    stated: dict[int, date | None] = {}
    if facts:
        from tars_memory.vault.markdown.facts import read

        stated = {fact.line: fact.until for _, fact in read("", document.data)}
    found: list[Window] = []
    for bullet in document.bullets:
        words = document.data[bullet.start : bullet.end] if bullet.worded else b""
        until = stated[bullet.line] if bullet.line in stated else end_in(words.decode("utf-8", "replace"))
        if until is not None:
            found.append(Window(bullet.line, bullet.end_line, until))
    return found


def of_properties(values: dict[str, Any], *, session: bool = False) -> date | None:
    """The first day on which a note no longer counts, by its front matter; None if it says none.

    Args:
        values: as :func:`tars_memory.vault.markdown.frontmatter.read` gives them.
        session: it is a session note.
    """
    if not values:
        return None
    said = {key.strip().casefold(): value for key, value in values.items()}
    for name in (*PROPERTIES, OF_SESSIONS) if session else PROPERTIES:
        for day in _DATE.findall(str(said.get(name, ""))[:1_000]):
            if (found := _day(day)) is not None:
                return found
    return None


def end_in(words: str) -> date | None:
    """The end that a bullet's words say, the last of several; None if they say none, or no real day."""
    if "::" not in words:
        return None
    days = [day for text in _UNTIL.findall(_CODE.sub("", words)) if (day := _day(text)) is not None]
    return days[-1] if days else None


def typed_end(words: str) -> str:
    """The first end in a bullet's words as it was typed, whether or not it is a date; empty for none."""
    found = _TYPED.search(_CODE.sub("", words))
    return found[0] if found else ""


def begins_in(words: str) -> date | None:
    """The first day on which what a line says holds, if it says one."""
    said = _SINCE.search(_CODE.sub("", words)) if "::" in words else None
    return _day(said[1]) if said else None


def ended(document: Document, day: date, *, facts: bool = False, session: bool = False) -> list[tuple[int, int]]:
    """First and last line of what no longer counts on a day; the whole note if its front matter says so."""
    whole = of_properties(document.front_matter, session=session)
    if whole is not None and whole <= day:
        return [(1, document.last_line)]
    return [(window.first, window.last) for window in of_bullets(document, facts=facts) if window.until <= day]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
