"""Front matter: the YAML block at the start of a note, read for search and never written back.

It is outside text, so it is read from parser events alone: nothing recurses, no type is guessed (a date stays the
text that the person wrote, ``no`` stays ``no``), no object is made, and its size and depth are capped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_CHARACTERS = 64_000
"""More than this is data, not properties."""

MAX_DEPTH = 8
"""Obsidian's own properties are two levels deep."""


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
