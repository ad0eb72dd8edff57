"""Front matter: the YAML block at the start of a note, read for search and never written back.

It is outside text, so it is read from parser events alone: nothing recurses, no type is guessed (a date stays the
text that the person wrote, ``no`` stays ``no``), no object is made, and its size and depth are capped.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory.vault.markdown.moment import MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_CHARACTERS = 64_000
"""More than this is data, not properties."""

MAX_DEPTH = 8
"""Obsidian's own properties are two levels deep."""


DATES = (
    *("date", "created", "datecreated", "createddate", "creationdate", "createdat", "createdon", "createdtime"),
    *("creationtime", "timecreated", "dateadded", "ctime", "timestamp", "day"),
    *("published", "datepublished", "publisheddate", "publishdate", "publishedat", "publishedon", "pubdate"),
    *("datum", "erstellt", "fecha", "creado", "criado", "creato", "créé", "日期", "创建日期", "创建时间", "作成日"),
    *("updated", "dateupdated", "updateddate", "updatedat", "updatedon", "lastupdated", "lastupdate"),
    *("modified", "datemodified", "modifieddate", "modificationdate", "modifiedat", "lastmodified", "lastmod"),
    *("dateedited", "lastedited", "mtime"),
)
"""The properties that say of what day a note is, in this order: what Obsidian's plugins (Linter, Templater, Update time
on edit) and other programs write, made before changed. Case, blanks, hyphens and underscores in a key don't count."""

_MONTHS = [name[:3].lower() for name in MONTHS]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,7}}"
_DAYS = (
    r"(?<!\d)(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?!\d)",
    r"^(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?:T?\d{4,6})?$",
    rf"(?i)\b{_MONTH}\.?[ ]{{1,4}}(?P<day>\d\d?)(?:st|nd|rd|th)?,?[ ]{{1,4}}(?P<year>\d{{4}})(?!\d)",
    rf"(?i)(?<!\d)(?P<day>\d\d?)(?:st|nd|rd|th|\.)?[ ]{{1,4}}(?:of )?{_MONTH}\.?,?[ ]{{1,4}}(?P<year>\d{{4}})(?!\d)",
    r"(?<!\d)(?P<day>\d\d?)\.[ ]?(?P<month>\d\d?)\.[ ]?(?P<year>\d{4})(?!\d)",
)
"""``2026-03-01``, with a time or in a link, ``20260301``, ``Sunday, March 1st 2026``, ``1 March 2026``, ``1.3.2026``.
What could be two days (``03/01/2026``) is none."""
_LONGEST_DATE = 200
"""Characters of a property in which a date is looked for."""


def day(values: dict[str, Any]) -> date | None:
    """The day that the properties say the note is of, as it is written: the first of :data:`DATES` with a date."""
    blank = str.maketrans("_-", "  ")
    said = {"".join(key.translate(blank).split()).casefold(): value for key, value in reversed(values.items())}
    for name in DATES:
        for text in _texts(said.get(name)):
            if (found := _day_in(text[:_LONGEST_DATE])) is not None:
                return found
    return None


def _texts(value: object) -> Iterator[str]:
    """A property's texts; ``[[2026-03-01]]`` without quotes is a list in a list to YAML."""
    if isinstance(value, str):
        yield value.strip()
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)


def _day_in(text: str) -> date | None:
    for pattern in _DAYS:
        for found in re.finditer(pattern, text):
            month = found["month"].lower()
            number = int(month) if month.isdecimal() else _MONTHS.index(month[:3]) + 1
            try:
                return date(int(found["year"]), number, int(found["day"]))
            except ValueError:
                continue  # no calendar has it
    return None


def read(text: str) -> dict[str, Any]:
    """The mapping in a YAML text: scalars as ``str``, lists as ``list``, mappings as ``dict``.

    Returns:
        An empty dict for anything that is not one plain mapping: broken YAML, aliases, too long, too deep.
    """
    if not text.strip() or len(text) > MAX_CHARACTERS:
        return {}
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        value = _build(yaml.parse(text.encode("utf-8", "replace").decode("utf-8"), Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def strings(value: object) -> tuple[str, ...]:
    """A property as a tuple of texts: a list's texts, or one text alone; blank ones left out."""
    values = value if isinstance(value, list) else [value]
    return tuple(item.strip() for item in values if isinstance(item, str) and item.strip())


def tags(values: dict[str, Any]) -> tuple[str, ...]:
    """The note's tags, without ``#``, each once: from ``tags`` or ``tag``, as a list or parted by commas or blanks."""
    found = (part for key in ("tags", "tag") for item in strings(values.get(key)) for part in re.split(r"[,\s]+", item))
    return tuple(dict.fromkeys(part.lstrip("#") for part in found if part.lstrip("#")))


def aliases(values: dict[str, Any]) -> tuple[str, ...]:
    """Other names of the note: from ``aliases`` or ``alias``, as a list or parted by commas."""
    found: list[str] = []
    for key in ("aliases", "alias"):
        value = values.get(key)
        found += strings(value.split(",") if isinstance(value, str) else value)
    return tuple(dict.fromkeys(found))


def _build(events: Iterable[Any]) -> object:
    """The first document's value from parser events.

    Raises:
        ValueError: it holds an alias or is deeper than :data:`MAX_DEPTH`.
    """
    root: list[Any] = []
    stack: list[tuple[Any, list[Any]]] = [(root, root)]
    for event in events:
        name = type(event).__name__
        if name == "AliasEvent":
            raise ValueError("aliases are not followed")
        if name in ("MappingEndEvent", "SequenceEndEvent"):
            container, items = stack.pop()
            if name == "MappingEndEvent":
                container.update((key, value) for key, value in zip(items[::2], items[1::2], strict=False) if _key(key))
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            if len(stack) > MAX_DEPTH:
                raise ValueError("too deep")
            items = []
            container = {} if name == "MappingStartEvent" else items
            stack[-1][1].append(container)
            stack.append((container, items))
        elif name == "ScalarEvent":
            stack[-1][1].append(event.value)
        elif name == "DocumentEndEvent":
            break
    return root[0] if root else None


def _key(key: object) -> bool:
    return isinstance(key, str)
