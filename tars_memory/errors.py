"""The errors: each says what happened, to which file, what to do next, and has the documented exit code.

Every error that a user can meet derives from :class:`TarsError`; the command line prints ``message`` and ``hint`` on
stderr and ends with ``exit_code``. Any other exception that reaches the top is a bug (exit 70).
"""

from __future__ import annotations

import os
import re
import sys


class TransientNotice(str):
    """A notice about something that passes by itself: a person sees it once a day."""

    __slots__ = ()


def counted(number: int, noun: str, many: str = "") -> str:
    """Return a number with its noun, as all messages show it: ``1 file``, ``1,200 files``, ``2 entries``.

    Args:
        number: the number.
        noun: the noun in the singular.
        many: the plural, if it is not the singular with an s.
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def behind(files: int, *, goes_on: bool = False) -> str:
    """Return the notice that the index is behind by this many files.

    Args:
        files: their number.
        goes_on: a background process reads them.
    """
    rest = "; they are being read in the background" if goes_on else ": tars-memory reindex"
    return f"the index is behind by {counted(files, 'file')}{rest}"


def counted_lines(number: int, noun: str, lines: int) -> str:
    """Return a number with its noun, and with its number of lines if there are more of them: ``2 proposals (7 lines)``.

    ``extract`` and lists count the lines, the walk asks about proposals: each number says what it counts.
    """
    return counted(number, noun) + (f" ({counted(lines, 'line')})" if lines != number else "")


def shortened(text: str, most: int) -> str:
    """Cut a text to at most this many characters, for use in a sentence."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def duration(seconds: float) -> str:
    """Format an estimated time: ``about 40 s``, ``about 9 min``, ``about 3 h``."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5_400 else f"about {round(seconds / 3_600)} h"


def legible(text: str) -> str:
    r"""Show bytes that are not UTF-8 as ``\xff``: Python keeps them as lone surrogates, and ``repr`` escapes those."""

    def escaped(match: re.Match[str]) -> str:
        return f"\\x{match[1] or f'{ord(match[0]) & 0xFF:02x}'}"

    return re.sub(r"\\udc([89a-f][0-9a-f])|[\udc80-\udcff]", escaped, text)


class TarsError(Exception):
    """A failure that the person can act on.

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
    """A setting, or a file of settings, can't be used; the input is not to blame, and is kept."""


class StateError(SettingsError):
    """A file of our own state can't be used, and it would not be safe to continue without it."""

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

    The text is in the spool, under the id ``spooled``, and the next writing command places it. If the spool could not
    be written either, the message ``repeats`` the text.
    """

    exit_code = 5

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.spooled: str | None = None
        self.repeats = False

    @classmethod
    def of_lost(cls, text: str, why: str) -> UnwritableError:
        """Return the error for a text that could not even be spooled: its message repeats the text."""
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
    """A team's index in PostgreSQL can't be read or published."""

    exit_code = 7


def reason(error: Exception) -> str:
    """Return message and hint of an error on one line; for a bug its type and text."""
    if isinstance(error, TarsError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"


def did_you_mean(names: list[str]) -> str:
    """Return the question "did you mean …" with these names, on one line."""
    *others, last = (re.sub(r"[\r\n\u2028\u2029]", " ", name) for name in names)
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def installing(extra: str, options: str = "") -> str:
    """Return the command that installs an extra of this program into the environment in which it runs."""
    requirement = f"{options}'tars-memory[{extra}]'"
    if sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV")):
        return f"pip install {requirement}"
    from importlib.util import find_spec

    if find_spec("pip") is None:  # uv makes environments without it
        return f"uv pip install --python {sys.executable} {requirement}"
    return f"{sys.executable} -m pip install {requirement}"
