"""Insert entries into settings files of other programs (JSON, with comments or without), and remove them, by splices.

Text in, text out; nothing here reads or writes a file. A file is never serialised from parsed values: it would lose its
comments, order and indentation. It is parsed to find where to cut, and once more to check that only the entries have
changed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ours = Callable[[Any, str], bool]
    """Tells whether a value of the file is an entry of ours; called with the value and its key (empty in a list)."""

DEEPEST = 64
"""Maximum number of nested levels; settings have six."""

INDENT = "  "
"""Indentation for a file that has none of its own."""

_WHITE = " \t\r\n"
_BREAK = re.compile(r"[\r\n]")
_BLANKS = re.compile(r"(?>(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*)", re.DOTALL)
_STRING = re.compile(r'"(?>(?:[^"\\\x00-\x1f]|\\.)*)"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*+|true|false|null")

_EXTENSION = re.compile(
    r'"(?>(?:[^"\\]|\\.)*)"|(//[^\r\n]*|/\*.*?\*/)|(,)(?=(?>(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*)[}\]])', re.DOTALL
)

MARK, COMMENTS, COMMA = "a byte order mark", "comments", "a comma before a closing bracket"
"""Extensions of JSON that some programs accept and others don't."""


class UnfitError(ValueError):
    """A file is not valid, or can't be changed without harm; the message says where or why."""


class Insertion(NamedTuple):
    """An entry to insert into a file.

    Attributes:
        keys: the keys that lead to it, from the outermost object on.
        value: JSON values.
        listed: whether it is appended to the list under the last key; else it becomes the value of that key.
    """

    keys: tuple[str, ...]
    value: Any
    listed: bool = True

    @property
    def key(self) -> str:
        """The key of the value itself; empty in a list."""
        return "" if self.listed else self.keys[-1]


class _Node(NamedTuple):
    """A JSON value with its start and end in the text.

    In an object it has a ``key``, and ``first`` is where that begins; in a list ``first`` is its own start.
    """

    start: int
    end: int
    value: Any
    children: tuple[_Node, ...] = ()
    key: str | None = None
    first: int = 0


def values(text: str) -> Any:
    """Parse a file; an empty one is an empty object.

    Raises:
        ValueError: it is not valid; the message says where.
    """
    text = text.removeprefix("\ufeff")
    return _parse(text).value if text.strip() else {}


def insert(text: str, entries: list[Insertion], ours: Ours) -> str:
    """Return the text with the entries inserted.

    Raises:
        UnfitError: the text is not valid, or has something else where an entry belongs.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    after = body if body.strip() else f"{body}{{}}\n"
    for entry in entries:
        after = _insert(after, entry)
    _check(body, after, ours, [entry for entry in entries if not ours(entry.value, entry.key)])
    return mark + after


def remove(text: str, ours: Ours, previous: Any = None) -> str:
    """Return the text without our entries, and without the lists and objects that held nothing else.

    Args:
        text: of the file.
        ours: tells which entries to remove.
        previous: the parsed file from before the entries were inserted; its objects and lists stay, even if empty.

    Raises:
        UnfitError: the text is not valid, or an entry can't be cut out alone.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    after = _remove(body, ours, previous)
    _check(body, after, ours, [])
    return mark + after


def entries_of(
    value: Any, ours: Ours, keys: tuple[str, ...] = (), key: str = ""
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield our entries, each with the keys that lead to it."""
    if ours(value, key):
        yield keys, value
    else:
        for inner, name in _inner(value):
            yield from entries_of(inner, ours, (*keys, name) if name else keys, name)


def _inner(value: Any) -> list[tuple[Any, str]]:
    """Return the values in an object with their keys, or those in a list with empty keys."""
    if isinstance(value, dict):
        return [(inner, key) for key, inner in value.items()]
    return [(inner, "") for inner in value] if isinstance(value, list) else []


def extensions(text: str) -> list[str]:
    """Return which extensions of JSON a text uses: of :data:`MARK`, :data:`COMMENTS`, :data:`COMMA`."""
    matches = [*_EXTENSION.finditer(text)]
    used = {
        MARK: text.startswith("\ufeff"),
        COMMENTS: any(match[1] for match in matches),
        COMMA: any(match[2] for match in matches),
    }
    return [name for name, is_used in used.items() if is_used]


def _check(before: str, after: str, ours: Ours, more: list[Insertion]) -> None:
    """Check that both texts have the same values, apart from our entries and the insertions ``more``.

    Raises:
        UnfitError: they don't.
    """
    old, new = (Counter(_others(values(text), ours)) for text in (before, after))
    added = Counter(pair for entry in more for pair in _others(entry.value, ours, entry.keys, entry.key))
    if old - new or new - old - added:
        raise UnfitError("its format is too unusual to change safely")


def _others(value: Any, ours: Ours, keys: tuple[str, ...] = (), key: str = "") -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield all values of the file, with their keys, except our entries and empty lists and objects."""
    if ours(value, key):
        return
    if not isinstance(value, dict | list):
        yield keys, repr(value)
    for inner, name in _inner(value):
        yield from _others(inner, ours, (*keys, name) if name else keys, name)


def _parse(text: str) -> _Node:
    """Parse JSON with comments and trailing commas.

    Raises:
        UnfitError: it is not valid; the message says where.
    """
    node = _parse_value(text, _skip(text, 0), 0)
    at = _skip(text, node.end)
    if at < len(text):
        raise _error_at(text, at, "the end of the file was expected")
    return node


def _parse_value(text: str, at: int, depth: int) -> _Node:
    if depth > DEEPEST:
        raise _error_at(text, at, "it is nested too deeply")
    if text[at : at + 1] in ("{", "["):
        return _parse_container(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _error_at(text, at, "a value was expected")
    return _Node(at, found.end(), _parse_scalar(text, found))


def _parse_container(text: str, start: int, depth: int) -> _Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    children: list[_Node] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if children:
            if text[at : at + 1] != ",":
                raise _error_at(text, at, f"a comma or {close} was expected")
            at = _skip(text, at + 1)
            if text[at : at + 1] == close:
                break
        first, key = at, None
        if is_object:
            found = _STRING.match(text, at)
            if found is None:
                raise _error_at(text, at, "a name in double quotes was expected")
            key = _parse_scalar(text, found)
            at = _skip(text, found.end())
            if text[at : at + 1] != ":":
                raise _error_at(text, at, "a colon was expected")
            at = _skip(text, at + 1)
        children.append(_parse_value(text, at, depth + 1)._replace(key=key, first=first))
        at = _skip(text, children[-1].end)
    value = {child.key: child.value for child in children} if is_object else [child.value for child in children]
    return _Node(start, at + 1, value, tuple(children))


def _skip(text: str, at: int) -> int:
    """Return the position after blanks and comments."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _parse_scalar(text: str, found: re.Match[str]) -> Any:
    """Return the value of a string, number, true, false or null."""
    try:
        return json.loads(found[0])
    except ValueError:
        raise _error_at(text, found.start(), "it is not a value") from None


def _error_at(text: str, at: int, why: str) -> UnfitError:
    """Return an error that names line and column."""
    line = text.count("\n", 0, at) + 1
    return UnfitError(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {why}")


def _insert(text: str, entry: Insertion) -> str:
    """Return the text with one entry inserted, and with objects and lists for its keys where they are missing."""
    root = node = _parse(text)
    for depth, key in enumerate(entry.keys):
        if not isinstance(node.value, dict):
            raise UnfitError(f"{_dotted(entry.keys[:depth])} is not an object")
        inner = [child for child in node.children if child.key == key]
        if len(inner) > 1:
            raise UnfitError(f"{_dotted(entry.keys[: depth + 1])} occurs twice")
        if not inner:
            value = [entry.value] if entry.listed else entry.value
            for outer in reversed(entry.keys[depth + 1 :]):
                value = {outer: value}
            return _insert_child(text, root, node, key, value)
        node = inner[0]
    if not entry.listed:
        return text[: node.start] + json.dumps(entry.value, ensure_ascii=False) + text[node.end :]
    if not isinstance(node.value, list):
        raise UnfitError(f"{_dotted(entry.keys)} is not a list")
    return _insert_child(text, root, node, None, entry.value)


def _dotted(keys: tuple[str, ...]) -> str:
    return ".".join(keys) or "the file"


def _insert_child(text: str, root: _Node, node: _Node, key: str | None, value: Any) -> str:
    """Return the text with one more child at the end of an object or list, formatted as its neighbours are."""
    last = node.children[-1] if node.children else None
    since = comma = last.end if last else node.start + 1
    found = _skip(text, since)
    trailing = last is not None and text[found] == ","
    since = found + 1 if trailing else since
    close = node.end - 1
    at = since + len(text[since:close].rstrip(_WHITE))  # after the comments
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    around = root if not last else node
    if _BREAK.search(text, around.start, around.end) or (not last and node == root):
        newline = _newline(text)
        base, unit = _indent(text, node.start), _indent_unit(text, root)
        own = [_indent(text, child.first) for child in node.children if _begins_line(text, child.first)]
        indent = own[-1] if own else base + unit
        rows = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
        piece = newline + indent + name + f"{newline}{indent}".join(rows)
        end = "" if last or _BREAK.search(text, at, close) else newline + base
    else:
        piece, end = (" " if last else "") + name + json.dumps(value, ensure_ascii=False), ""
    text = text[:at] + piece + ("," if trailing else "") + end + text[close if end else at :]
    return text if not last or trailing else f"{text[:comma]},{text[comma:]}"


def _remove(text: str, ours: Ours, previous: Any) -> str:
    """Return the text without our entries: see :func:`remove`."""
    if not text.strip():
        return text
    while True:
        trail = _trail(_parse(text), ours)
        if trail is None:
            return text
        while len(trail) > 1 and len(trail[-1][0].children) == 1 and not _has(previous, trail[:-1]):
            trail.pop()
        if len(trail) > 1 and trail[-1][0].children[trail[-1][1]].key and isinstance(trail[-2][0].value, list):
            # our entry was the whole content of a group of hooks: keep the group, with an empty list
            node = trail[-1][0].children[trail[-1][1]]
            text = text[: node.start] + "[]" + text[node.end :]
        else:
            text = _remove_child(text, *trail[-1])


def _trail(node: _Node, ours: Ours) -> list[tuple[_Node, int]] | None:
    """Return the containers and child indices that lead from a node to the first of our entries, or None."""
    for index, child in enumerate(node.children):
        if ours(child.value, child.key or ""):
            return [(node, index)]
        if (below := _trail(child, ours)) is not None:
            return [(node, index), *below]
    return None


def _has(previous: Any, trail: list[tuple[_Node, int]]) -> bool:
    """Whether a value has something where a trail leads; False if the trail goes through a list."""
    for node, index in trail:
        key = node.children[index].key
        if not isinstance(previous, dict) or key not in previous:
            return False
        previous = previous[key]
    return True


def _remove_child(text: str, node: _Node, index: int) -> str:
    """Return the text without one child, its comma and the blanks before it."""
    child = node.children[index]
    start, after = len(text[: child.first].rstrip(_WHITE)), _skip(text, child.end)
    if text[after] == ",":
        rest = text[:start] + text[child.end : after] + text[after + 1 :]
    else:
        rest = text[:start] + text[child.end :]
        if index:
            comma = _skip(text, node.children[index - 1].end)
            rest = rest[:comma] + rest[comma + 1 :]
    inside = rest[node.start + 1 :].lstrip(_WHITE)
    return rest[: node.start + 1] + inside if len(node.children) == 1 and inside[:1] in ("}", "]") else rest


def _newline(text: str) -> str:
    """Return the line ending that most lines of a text have."""
    pairs = text.count("\r\n")
    if pairs:
        return "\r\n" if 2 * pairs >= text.count("\n") else "\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line with this position."""
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, at: int) -> bool:
    """Whether only blanks precede a position in its line, and the line is not the first one."""
    return text[:at].rstrip(" \t")[-1:] in ("\r", "\n")


def _indent_unit(text: str, root: _Node) -> str:
    """Return the indentation of one level."""
    base = _indent(text, root.start)
    firsts = (child.first for child in root.children if _begins_line(text, child.first))
    return next((_indent(text, first).removeprefix(base) for first in firsts), INDENT)
