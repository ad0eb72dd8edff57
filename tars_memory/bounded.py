"""Files that others made, or that a crash damaged: read within bounds, so that none of them can end or hold a command.

What a vault brings along (``.tars/*``, ``.obsidian/*``, ``.tars-project``) and the files of our own state are read
here: regular files alone, no link followed, nothing that blocks, no more bytes and no deeper nesting than any honest
file has. Whoever reads decides what damage means; it is one error, with the file's name.
"""

from __future__ import annotations

import errno
import math
import os
import stat
from typing import TYPE_CHECKING, Any

from tars_memory.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 1_000_000
"""Bytes of a file of settings; Obsidian's own and a person's are a hundredth of it."""

LARGEST_OWN = 1 << 28
"""Bytes of a file of our own state."""

DEEPEST = 32
"""Levels of nesting; Obsidian's deepest settings have six."""

_PLAIN = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_PLAIN |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _PLAIN
_HANDLES = os.open in os.supports_dir_fd


def read(path: Path, within: Path | None = None, *, most: int = LARGEST, links: bool = False) -> bytes | None:
    """The bytes of one file; None if nothing is there.

    Args:
        path: of the file.
        within: a folder above it: below that no step may be a link either.
        most: bytes; a longer file counts as damaged.
        links: follow them: for the person's own file, which may live with his other dotfiles.

    Raises:
        SettingsError: it is a link, no regular file, too long, or can't be read.
    """
    try:
        fd = _open(path, within, links=links)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        if within is None and getattr(error, "errno", 0) == errno.ENOTDIR:
            return None
        raise _refused(path, _reason(error)) from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise _refused(path, "is no regular file")
        data = bytearray()
        while max(found.st_size, len(data)) <= most and (part := os.read(fd, min(most + 1 - len(data), 1 << 20))):
            data += part
    except OSError as error:
        raise _refused(path, _reason(error)) from error
    finally:
        os.close(fd)
    if max(found.st_size, len(data)) > most:
        raise _refused(path, f"has more than {most:,} bytes")
    return bytes(data)


def json_of(data: bytes, path: object, *, text: bool = True) -> Any:
    """The value of a JSON file that was read.

    Args:
        data: its bytes.
        path: for the message.
        text: all strings must be text; else they may hold bytes that are none, as surrogates.

    Raises:
        SettingsError: it is none, or one that no honest program writes: too deep, with huge numbers or half characters.
    """
    import json  # a millisecond, which a start without such a file need not pay

    try:
        return _sound(json.loads(data, parse_constant=_no_number), text=text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SettingsError(f"{path} is no valid JSON: {_said(error)}", "mend it or move it away") from error


def json_object(path: Path, within: Path | None = None) -> dict[str, Any]:
    """The object in a JSON file; empty if nothing is there, or another value.

    Raises:
        SettingsError: see :func:`read` and :func:`json_of`.
    """
    data = read(path, within)
    value = None if data is None else json_of(data, path)
    return value if isinstance(value, dict) else {}


def own_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of our own; empty if nothing is there, or it is damaged: then nothing is known."""
    try:
        data = read(path, most=LARGEST_OWN, links=True)
        value = None if data is None else json_of(data, path, text=False)
    except SettingsError:
        return {}
    return value if isinstance(value, dict) else {}


def toml_table(path: Path, within: Path | None = None) -> dict[str, Any]:
    """The table in a TOML file; empty if nothing is there. Without ``within`` it is the person's own: links count.

    Raises:
        SettingsError: see :func:`read`; or it is no valid TOML, too deep, or with huge numbers.
    """
    data = read(path, within, links=within is None)
    if data is None:
        return {}
    import re
    import tomllib  # only who has a configuration file pays for the parser

    try:
        text = data.decode("utf-8-sig")
        # the parser's time grows with the square of a dotted key's length
        if re.search(_LONG_KEY, text):
            raise ValueError(_TOO_DEEP)  # noqa: TRY301
        table: dict[str, Any] = _sound(tomllib.loads(text))
    except Exception as error:
        raise SettingsError(f"{path} is no valid TOML: {_said(error)}", "mend it or move it away") from error
    return table


_TOO_DEEP = "it is nested too deep"
_LONG_KEY = rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*"|'[^'\n]*')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""


def _open(path: Path, within: Path | None, *, links: bool) -> int:
    """Raises OSError, or ValueError for a name that no file can have."""
    flags = os.O_RDONLY | _PLAIN | (0 if links else _NO_LINK)
    steps = () if within is None else path.relative_to(within).parts
    if not _HANDLES or len(steps) < 2:
        if not _NO_LINK and not links:
            at = path if within is None else within
            for each in (path, *(at.joinpath(*steps[:count]) for count in range(1, len(steps)))):
                if os.path.islink(each):
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return os.open(path, flags)
    assert within is not None
    folder = os.open(within, _FOLDER)
    try:
        for step in steps[:-1]:
            inner = os.open(step, _FOLDER | _NO_LINK, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(steps[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _refused(path: Path, why: str) -> SettingsError:
    return SettingsError(f"{path} {why}", "put the file itself there, or move it away")


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", 0)
    if number in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
        return "is a link, or lies below one: it is not followed"
    return f"can't be read: {getattr(error, 'strerror', None) or error}"


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError | MemoryError):
        return _TOO_DEEP
    return str(error)[:200]


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _sound(value: Any, *, text: bool = True) -> Any:
    """The value, if it has nothing that no honest file has; looked at without recursion.

    Raises:
        ValueError: it has.
    """
    level, depth = [value], 0
    while level:
        if depth > DEEPEST:
            raise ValueError(_TOO_DEEP)
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below += each
                below += each.values()
            elif isinstance(each, list):
                below += each
            elif isinstance(each, str) and text:
                each.encode("utf-8")  # half a character is a ValueError
            elif isinstance(each, float) and not math.isfinite(each):
                raise ValueError(f"{each} is no number of a setting")
            elif isinstance(each, int) and abs(each) >= 1 << 64:  # inodes have 64 bits
                raise ValueError("a number is too large")
        level, depth = below, depth + 1
    return value
