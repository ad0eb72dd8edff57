"""Settings files of other programs, JSON with comments or TOML: entries go in and out by splices, all else stays.

Text in, text out; nothing here reads or writes a file. A file is never parsed and written again: that would cost its
comments, its order and its indentation. It is parsed to find where to cut, and once more to see that nothing but the
entries has changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ours = Callable[[Any, str], bool]
    """Whether a value of the file is an entry of ours; with the key that it is the value of, empty in a list."""

DEEPEST = 64
"""Levels of nesting; settings have six."""

INDENT = "  "
"""Of a file that has none of its own."""

_WHITE = " \t\r\n"
_BLANKS = re.compile(r"(?>(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*)", re.DOTALL)
_STRING = re.compile(r'"(?>(?:[^"\\\x00-\x1f]|\\.)*)"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*+|true|false|null")
_HEADER = re.compile(r"^[ \t]*(\[\[?[^\r\n]*?\]\]?)[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE)

_LIBERTY = re.compile(
    r'"(?>(?:[^"\\]|\\.)*)"|(//[^\r\n]*|/\*.*?\*/)|(,)(?=(?>(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*)[}\]])', re.DOTALL
)

MARK, COMMENTS, COMMA = "a byte order mark", "comments", "a comma before a closing bracket"
"""What some programs take in JSON, and others do not."""


class UnfitError(ValueError):
    """A file is not valid, or can't be changed without harm; the message says where or why."""


class Insertion(NamedTuple):
    """What a file is to hold.

    Attributes:
        keys: of the objects around it, from the outermost on.
        value: JSON values.
        listed: it is one more element of the list below the last key; else the value of that key.
    """

    keys: tuple[str, ...]
    value: Any
    listed: bool = True

    @property
    def key(self) -> str:
        """Of the value itself; empty in a list."""
        return "" if self.listed else self.keys[-1]


class _Node(NamedTuple):
    """A value of JSON, and where it stands; ``start`` of a child is that of its key."""

    start: int
    end: int
    value: Any
    children: tuple[_Child, ...] = ()


class _Child(NamedTuple):
    start: int
    key: str | None
    node: _Node


# --- both kinds


def values(text: str, *, toml: bool = False) -> Any:
    """What a file says; an empty one is an empty object.

    Raises:
        ValueError: it is not valid; the message says where.
    """
    text = text.removeprefix("\ufeff")
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n"))
    return _parsed(text).value if text.strip() else {}


def put(text: str, entries: list[Insertion], ours: Ours, *, toml: bool = False) -> str:
    """The text with the entries.

    Raises:
        UnfitError: it is not valid, or holds something else where an entry belongs.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    after = body = text[len(mark) :]
    if toml:
        after = _toml_put(body, entries)
    else:
        after = body if body.strip() else f"{body}{{}}\n"
        for entry in entries:
            after = _json_put(after, entry)
    _check(body, after, ours, toml=toml, more=[entry for entry in entries if not ours(entry.value, entry.key)])
    return mark + after


def taken(text: str, ours: Ours, held: Any = None, *, toml: bool = False) -> str:
    """The text without our entries, and without the lists and objects that held nothing else.

    Args:
        text: of the file.
        ours: which entries go.
        held: what the file said before the entries came; objects and lists that it had stay, though they are empty.
        toml: the file is TOML.

    Raises:
        UnfitError: it is not valid, or an entry can't be cut out alone.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(mark) :]
    after = _toml_taken(body, ours) if toml else _json_taken(body, ours, held)
    _check(body, after, ours, toml=toml, more=[])
    return mark + after


def entries_of(
    value: Any, ours: Ours, keys: tuple[str, ...] = (), key: str = ""
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Our entries with the keys that lead to them."""
    if ours(value, key):
        yield keys, value
    else:
        for inner, name in _inner(value):
            yield from entries_of(inner, ours, (*keys, name) if name else keys, name)


def _inner(value: Any) -> list[tuple[Any, str]]:
    """The values in an object, with their keys, or in a list, with empty ones."""
    if isinstance(value, dict):
        return [(inner, key) for key, inner in value.items()]
    return [(inner, "") for inner in value] if isinstance(value, list) else []


def liberties(text: str) -> list[str]:
    """What a text has that JSON does not know: of :data:`MARK`, :data:`COMMENTS`, :data:`COMMA`."""
    found = [*_LIBERTY.finditer(text)]
    told = [(MARK, text.startswith("\ufeff"))]
    told += [(COMMENTS, any(each[1] for each in found)), (COMMA, any(each[2] for each in found))]
    return [name for name, is_there in told if is_there]


def _check(before: str, after: str, ours: Ours, *, toml: bool, more: list[Insertion]) -> None:
    """See that everything that is not ours is in both texts, and nothing else but what was asked for."""
    old, new = (Counter(_others(values(text, toml=toml), ours)) for text in (before, after))
    added = Counter(pair for entry in more for pair in _others(entry.value, ours, entry.keys, entry.key))
    if old - new or new - old - added:
        raise UnfitError("its form is too unusual to change it safely")


def _others(value: Any, ours: Ours, keys: tuple[str, ...] = (), key: str = "") -> Iterator[tuple[tuple[str, ...], str]]:
    """All that the file says but for our entries, and but for lists and objects that hold nothing."""
    if ours(value, key):
        return
    if not isinstance(value, dict | list):
        yield keys, repr(value)
    for inner, name in _inner(value):
        yield from _others(inner, ours, (*keys, name) if name else keys, name)


# --- JSON, with comments and commas at the end


def _parsed(text: str) -> _Node:
    node = _value(text, _skip(text, 0), 0)
    at = _skip(text, node.end)
    if at < len(text):
        raise _wrong(text, at, "the end of the file was expected")
    return node


def _value(text: str, at: int, depth: int) -> _Node:
    if depth > DEEPEST:
        raise _wrong(text, at, "it is nested too deep")
    if text[at : at + 1] in ("{", "["):
        return _container(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _wrong(text, at, "a value was expected")
    return _Node(at, found.end(), _plain(text, found))


def _container(text: str, start: int, depth: int) -> _Node:
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    children: list[_Child] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if children:
            if text[at : at + 1] != ",":
                raise _wrong(text, at, f"a comma or {close} was expected")
            at = _skip(text, at + 1)
            if text[at : at + 1] == close:
                break
        first, key = at, None
        if is_object:
            found = _STRING.match(text, at)
            if found is None:
                raise _wrong(text, at, "a name in double quotes was expected")
            key = _plain(text, found)
            at = _skip(text, found.end())
            if text[at : at + 1] != ":":
                raise _wrong(text, at, "a colon was expected")
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        children.append(_Child(first, key, node))
        at = _skip(text, node.end)
    value: Any = {each.key: each.node.value for each in children} if is_object else [c.node.value for c in children]
    return _Node(start, at + 1, value, tuple(children))


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _plain(text: str, found: re.Match[str]) -> Any:
    try:
        return json.loads(found[0])
    except ValueError:
        raise _wrong(text, found.start(), "it is not a value") from None


def _wrong(text: str, at: int, what: str) -> UnfitError:
    line = text.count("\n", 0, at) + 1
    return UnfitError(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {what}")


def _json_put(text: str, entry: Insertion) -> str:
    node = _parsed(text)
    for depth, key in enumerate(entry.keys):
        if not isinstance(node.value, dict):
            raise UnfitError(f"{_dotted(entry.keys[:depth])} is not an object")
        inner = [child.node for child in node.children if child.key == key]
        if len(inner) > 1:
            raise UnfitError(f"{_dotted(entry.keys[: depth + 1])} is there twice")
        if not inner:
            value = [entry.value] if entry.listed else entry.value
            for outer in reversed(entry.keys[depth + 1 :]):
                value = {outer: value}
            return _inserted(text, node, key, value)
        node = inner[0]
    if not entry.listed:
        return text[: node.start] + json.dumps(entry.value, ensure_ascii=False) + text[node.end :]
    if not isinstance(node.value, list):
        raise UnfitError(f"{_dotted(entry.keys)} is not a list")
    return _inserted(text, node, None, entry.value)


def _dotted(keys: tuple[str, ...]) -> str:
    return ".".join(keys) or "the file"


def _inserted(text: str, node: _Node, key: str | None, value: Any) -> str:
    """The text with one more child at the end of an object or list, written as its neighbours are."""
    root = _parsed(text)
    last = node.children[-1].node if node.children else None
    since = comma = last.end if last else node.start + 1
    trailing = False
    if last:
        found = _skip(text, last.end)
        trailing = text[found] == ","
        since = found + 1 if trailing else since
    close = node.end - 1
    at = since + len(text[since:close].rstrip(_WHITE))  # behind the comments
    in_lines = _breaks(text[node.start : node.end]) or (
        not last and (_breaks(text[root.start : root.end]) or node == root)
    )
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not in_lines:
        piece = (" " if last else "") + name + json.dumps(value, ensure_ascii=False)
        end = ""
    else:
        newline = _newline(text)
        base, unit = _indent(text, node.start), _unit(text, root)
        own = [_indent(text, child.start) for child in node.children if _begins_line(text, child.start)]
        indent = own[-1] if own else base + unit
        rows = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
        piece = newline + indent + name + f"{newline}{indent}".join(rows)
        end = "" if last or _breaks(text[at:close]) else newline + base
    text = text[:at] + piece + ("," if trailing else "") + end + text[close if end else at :]
    return text if not last or trailing else f"{text[:comma]},{text[comma:]}"


def _json_taken(text: str, ours: Ours, held: Any) -> str:
    if not text.strip():
        return text
    while True:
        trail = _trail(_parsed(text), ours)
        if trail is None:
            return text
        while len(trail) > 1 and len(trail[-1][0].children) == 1 and not _has(held, trail[:-1]):
            trail.pop()
        if len(trail) > 1 and trail[-1][0].children[trail[-1][1]].key and isinstance(trail[-2][0].value, list):
            # the person's own group around our entry stays, with an empty list
            node = trail[-1][0].children[trail[-1][1]].node
            text = text[: node.start] + "[]" + text[node.end :]
        else:
            text = _without(text, *trail[-1])


def _trail(node: _Node, ours: Ours) -> list[tuple[_Node, int]] | None:
    """The containers and positions that lead from a node to the first of our entries; None if it holds none."""
    for index, child in enumerate(node.children):
        if ours(child.node.value, child.key or ""):
            return [(node, index)]
        below = _trail(child.node, ours)
        if below is not None:
            return [(node, index), *below]
    return None


def _has(held: Any, trail: list[tuple[_Node, int]]) -> bool:
    """Whether a value has something where a trail leads; a place in a list is never known."""
    for node, index in trail:
        key = node.children[index].key
        if not isinstance(held, dict) or key not in held:
            return False
        held = held[key]
    return True


def _without(text: str, node: _Node, index: int) -> str:
    """The text without one child, its comma and the blanks before it."""
    child = node.children[index]
    start = len(text[: child.start].rstrip(_WHITE))
    end = child.node.end
    after = _skip(text, end)
    if text[after] == ",":
        rest = text[:start] + text[end:after] + text[after + 1 :]
    else:
        rest = text[:start] + text[end:]
        if index:
            comma = _skip(text, node.children[index - 1].node.end)
            rest = rest[:comma] + rest[comma + 1 :]
    if len(node.children) == 1:
        left = re.compile(rf"[{_WHITE}]*").match(rest, node.start + 1)
        if left and rest[left.end() : left.end() + 1] in ("}", "]"):
            rest = rest[: node.start + 1] + rest[left.end() :]
    return rest


def _newline(text: str) -> str:
    pairs = text.count("\r\n")
    if pairs:
        return "\r\n" if 2 * pairs >= text.count("\n") else "\n"
    return "\r" if "\r" in text and "\n" not in text else "\n"


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _indent(text: str, at: int) -> str:
    line = text[_line_start(text, at) : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _begins_line(text: str, at: int) -> bool:
    return not text[_line_start(text, at) : at].strip(" \t") and (at > 0 and _line_start(text, at) > 0)


def _unit(text: str, root: _Node) -> str:
    """What one level is indented by."""
    base = _indent(text, root.start)
    for child in root.children:
        if _begins_line(text, child.start):
            return _indent(text, child.start).removeprefix(base)
    return INDENT


# --- TOML


def _toml_put(text: str, entries: list[Insertion]) -> str:
    """The text with each entry as tables at its end, which belong to nothing that comes before them."""
    newline = _newline(text)
    rows: list[str] = []
    for entry in entries:
        name = ".".join(key if re.fullmatch(r"[\w-]+", key) else json.dumps(key) for key in entry.keys)
        rows += ["", f"[[{name}]]"]
        rows += _toml_rows({key: value for key, value in entry.value.items() if not isinstance(value, list)})
        for key, tables in entry.value.items():
            for table in tables if isinstance(tables, list) else ():
                rows += [f"[[{name}.{key}]]", *_toml_rows(table)]
    if text and not text.endswith(("\n", "\r")):
        text += newline
    return text + newline.join(rows if text else rows[1:]) + newline


def _toml_rows(table: dict[str, Any]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]


class _Section(NamedTuple):
    """A table's header and lines, without the blank and comment lines before the next one."""

    start: int
    end: int
    keys: tuple[str, ...]
    table: Any


def _toml_taken(text: str, ours: Ours) -> str:
    """The text without the tables that are ours, and without the tables around them that say nothing else."""
    found = _sections(text)
    gone = [section for section in found if ours(section.table, "")]
    for index, section in enumerate(found):
        below = [each for each in _below(found, index) if each.keys[: len(section.keys)] == section.keys]
        if section.table == {} and below and all(each in gone for each in below):
            gone.append(section)
    for section in sorted(gone, reverse=True):
        start = section.start
        blank = re.search(r"(?:^|(?<=\n))[ \t]*\r?\n\Z", text[:start])
        text = text[: blank.start() if blank else start] + text[section.end :]
    return text


def _below(found: list[_Section], index: int) -> list[_Section]:
    """The sections that belong to one, up to the next of its own rank."""
    rank = len(found[index].keys)
    below = []
    for section in found[index + 1 :]:
        if len(section.keys) <= rank:
            break
        below.append(section)
    return below


def _sections(text: str) -> list[_Section]:
    heads = [*_HEADER.finditer(text)]
    found = []
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=False):  # in a file without a table there is its end alone
        body = text[head.start() : end]
        last = [*re.finditer(r"^[ \t]*[^\s#][^\n]*(?:\n|\Z)", body, re.MULTILINE)][-1]
        try:
            table: Any = tomllib.loads(body.replace("\r\n", "\n"))
        except ValueError:
            continue  # a line within a long string looks like a header
        keys: list[str] = []
        while isinstance(table, dict) and len(table) == 1 and len(keys) < head[1].count(".") + 1:
            key, table = next(iter(table.items()))
            keys.append(key)
        table = table[0] if head[1].startswith("[[") and isinstance(table, list) and table else table
        found.append(_Section(head.start(), head.start() + last.end(), tuple(keys), table))
    return found
