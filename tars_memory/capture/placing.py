"""Putting one bullet under its heading; the plan that remember, log and feedback share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, line_of, plain_heading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.writing.store import Written


def heading(title: str) -> str:
    """A heading's words as they can be written after ``## ``.

    Raises:
        UsageError: no words are left.
    """
    try:
        words = re.sub(r"(^|[ \t])#+$", "", entries.neutralise(title).removeprefix("\\")).strip(" \t")
        words = entries.neutralise(re.sub(r"^#{1,6}[ \t]+", "", words))
    except UsageError:
        words = ""
    if not plain_heading(words):
        raise UsageError(f"{title!r} is no heading", "name the section in words: --section Work")
    return words


def doubts(words: str, day: date) -> list[str]:
    """What a person should know of an end that he typed in an entry: it is no date, has passed by a day, or comes too
    early.
    """
    if "::" not in words:
        return []
    from tars_memory.vault.markdown import windows

    end, begun, typed = windows.end_in(words), windows.begins_in(words), windows.typed_end(words)
    if end is not None and begun is not None and end <= begun:
        return [f"it ends on {end}, before it begins on {begun}: it never counts"]
    if end is not None and end <= day:
        return [f"it has ended already, on {end}: search and context leave it out without --expired"]
    if end is None and typed:
        return [f"{typed} is no date, so the line has no end: write it like [until:: 2026-12-31]"]
    return []


def insert(data: bytes | None, line: str, section: str, *, once: str | None = None, path: str = "") -> Sequence[Splice]:
    """Plan a bullet at the end of a section.

    Args:
        data: the note, or None if there is none.
        line: the bullet, perhaps with children.
        section: title of the heading, made if absent.
        once: words that, if some entry of the note already has them, leave nothing to do.
        path: of the note; needed with ``once``.
    """
    data = data or b""
    if once is not None and repeated(data, once, path):
        return ()
    return edits.insert_bullet(data, line, section=section)


def repeated(data: bytes, words: str, path: str) -> Entry | None:
    """The entry of the note that already has exactly these words, or None."""
    if words.encode("utf-8", "surrogateescape") not in data:
        return None
    return next((entry for entry in entries.read(path, Document(data)) if entry.text == words), None)


def placed(written: Written, words: str, *, timed: bool) -> tuple[int, str]:
    """Line and REF of the bullet that was just written, which has these words.

    The note is parsed only if they stand in it more than once, which a long log need not pay for.
    """
    said = words.encode("utf-8", "surrogateescape")
    if written.text.count(said) == 1:
        return line_of(written.text, written.text.index(said)), entries.ref(written.path, words)
    for entry in entries.read(written.path, Document(written.text), timed=timed):
        if entry.text == words and entry.line >= written.line:
            return entry.line, entry.ref
    return written.line, entries.ref(written.path, words)
