"""The error tree: what happened, to which file, what to do next, and the documented exit code.

Everything a user can run into derives from :class:`TarsError`; the command line prints ``message`` and ``hint`` on
stderr and leaves with ``exit_code``. Anything else that reaches the top is a bug (exit 70).
"""

from __future__ import annotations

import os
import re
import sys


class Passing(str):
    """A notice about which nothing can be done now: a person is told once a day."""

    __slots__ = ()


def counted(number: int, noun: str, many: str = "") -> str:
    """A number and what it counts, for every message: ``1 file``, ``1,200 files``, ``2 entries``.

    Args:
        number: how many.
        noun: one of them.
        many: several of them, where an s at the end does not make it so.
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, to be named in a sentence."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    """A time that was estimated, as people say it: ``about 40 s``, ``about 9 min``, ``about 3 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5_400 else f"about {round(seconds / 3_600)} h"


def legible(text: str) -> str:
    r"""The text with bytes that are not UTF-8 as ``\xff``; Python keeps, and ``repr`` writes, lone surrogates."""
    return re.sub(
        r"\\udc([89a-f][0-9a-f])|[\udc80-\udcff]", lambda each: f"\\x{each[1] or f'{ord(each[0]) & 0xFF:02x}'}", text
    )


class TarsError(Exception):
    """A failure the person can act on.

    Args:
        message: what happened, and to which file.
        hint: what to do next, one sentence; may be empty.
    """

    exit_code = 70

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TarsError):
    """A bad option, date or value."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting, or a file of settings, can't be used; what was typed is not to blame, and is kept."""


class StateError(SettingsError):
    """A file of our own state can't be used, and nothing is safe to do without it."""

    exit_code = 5


class NotFoundError(TarsError):
    """A named thing (REF, note, transaction) does not exist; nothing was done."""

    exit_code = 1


class AmbiguousError(UsageError):
    """A name fits several things; ``candidates`` lists them, one printable line each."""

    def __init__(self, message: str, candidates: list[str], hint: str = "") -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class PartialError(TarsError):
    """Some items failed; they are listed in the message."""

    exit_code = 3


class VaultError(TarsError):
    """There is no vault here, or it looks unmounted or emptied."""

    exit_code = 4


class UnwritableError(TarsError):
    """The note can't be written now: lock held, read-only, disk full, or a file system without an exchange.

    What was typed is in the spool (``spooled`` says under which id) and is placed at the next writing command; where
    not even that could be written, the message ``repeats`` it.
    """

    exit_code = 5

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.spooled: str | None = None
        self.repeats = False

    @classmethod
    def of_lost(cls, text: str, why: str) -> UnwritableError:
        """Words that could be kept nowhere, not even in the spool: the message repeats them."""
        error = cls(f"your text could NOT be kept, copy it from here: {text}", why)
        error.repeats = True
        return error


class BusyError(UnwritableError):
    """Another process holds the vault's lock; the message names it."""


class ConflictError(TarsError):
    """The note changed under the edit and the target can't be found again without guessing; nothing was written."""

    exit_code = 6


class ModelUnavailableError(TarsError):
    """A model (embedding or language) can't be used, or its answer can't; nothing was written."""

    exit_code = 7


class TeamIndexError(TarsError):
    """A team's index in PostgreSQL can't be asked or published: what stands in the way, and where."""

    exit_code = 7


def reason(error: Exception) -> str:
    """What went wrong and what to do next, in one line; of a fault of ours its kind."""
    if isinstance(error, TarsError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"


def did_you_mean(names: list[str]) -> str:
    """The question that offers these names."""
    *others, last = names
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def installing(extra: str, options: str = "") -> str:
    """The command that installs an extra of this program into the environment that it runs in."""
    what = f"{options}'tars-memory[{extra}]'"
    if sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        return f"pip install {what}"
    from importlib.util import find_spec

    if find_spec("pip") is None:  # uv makes environments without it
        return f"uv pip install --python {sys.executable} {what}"
    return f"{sys.executable} -m pip install {what}"
