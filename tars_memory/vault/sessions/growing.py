"""A session note that grows with its conversation: new facts and turns, the front matter's count and hash renewed.

Every other byte stays the person's. The result is splices against the note as it stands, however many changes it took.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.vault.markdown import edits
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.spans import Changes
from tars_memory.vault.model import Splice
from tars_memory.vault.sessions import reading, rendering
from tars_memory.vault.sessions.note import LEFT_OUT, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tars_memory.vault.sessions.note import SessionNote


MOST_EARLIER = 50
"""Former hashes that a note keeps."""


def grow(data: bytes, new: SessionNote) -> list[Splice]:
    """Add what is new in a conversation to its note.

    Args:
        data: the note.
        new: the front matter's ``source_hash`` and ``turns`` as they shall be; facts, kept turns, topics, decisions,
            open ends and tools to add; a summary of the new turns, which is added as paragraphs. What the note holds
            already (a fact by its source, a turn by its number, a line by its words) is not added again; title, date,
            session and source stay.

    Returns:
        Splices, in order. Of a note whose front matter has lost its ``source_hash`` that part stays as it is.

    Raises:
        ConflictError: no place takes a new bullet without changing what stands around it.
    """
    note = reading.read("", data)
    changes = Changes(data)
    if note is not None and note.source_hash not in ("", new.source_hash):
        changes.make(renewed(changes.data, "earlier", f"[{', '.join(_earlier(data, note.source_hash))}]"))
    changes.make(renewed(changes.data, "source_hash", new.source_hash))
    changes.make(renewed(changes.data, "turns", str(new.turns)))
    for title, lines in _bullets(data, note, new):
        if lines:
            made = new_section(changes.data, title, "\n".join(lines), SECTIONS)
            changes.make(made)
            if not made:
                changes.make(edits.insert_bullets(changes.data, lines, section=title))
    held = {turn.number for turn in note.kept} if note else set()
    for title, blocks in (
        (
            "Summary",
            [part for part in rendering.paragraphs(new.summary) if part.encode("utf-8", "replace") not in data],
        ),
        ("Turns", [rendering.turn_lines(turn) for turn in new.kept if turn.number not in held]),
    ):
        if blocks:
            made = new_section(changes.data, title, "\n\n".join(blocks), SECTIONS)
            changes.make(made or _append(changes.data, title, blocks))
    return changes.splices()


def _earlier(data: bytes, last: str) -> list[str]:
    """The hashes that a conversation had before, the newest last: a copy of it as it was then is known by them."""
    said = Document(data).front_matter.get("earlier")
    held = [each for each in said if isinstance(each, str)] if isinstance(said, list) else []
    short = last[: reading.SHORT]
    return [*(each for each in held if each != short), short][-MOST_EARLIER:]


def _bullets(data: bytes, note: SessionNote | None, new: SessionNote) -> Iterable[tuple[str, list[str]]]:
    """Section by section, the bullets that are not there yet."""
    for title, texts in (
        ("Topics", new.topics),
        ("Decisions", new.decisions),
        ("Open ends", new.open_ends),
        ("Tools", new.tools),
    ):
        there = {f"- {text}" for text in getattr(note, title.lower().replace(" ", "_"))} if note else set()
        yield title, [line for line in rendering.bullets(texts) if line not in there]
    for title, held, facts in (
        ("Facts", note.facts if note else (), new.facts),
        (LEFT_OUT, note.left_out if note else (), new.left_out),
    ):
        said = {(fact.text, fact.turn) for fact in held}
        lines = []
        for fact in facts:
            words = rendering.words_of(fact.text)
            linked = bool(fact.source) and f"{fact.source}|".encode("utf-8", "replace") in data
            if words and not linked and (words, fact.turn) not in said:
                lines.append(rendering.fact_lines(fact))
        yield title, list(dict.fromkeys(lines))


def renewed(data: bytes, key: str, value: str) -> list[Splice]:
    """Give a property of the front matter another value; its line is added if it is missing.

    Args:
        data: the note; one without front matter stays as it is.
        key: plain letters and underscores.
        value: ASCII, as it is to stand there.
    """
    document = Document(data)
    if document.front_matter_lines is None:
        return []
    first, last = document.front_matter_lines
    for number in range(first + 1, last):
        start, end, _ = document.lines[number - 1]
        match = re.match(
            rb"(" + key.encode("ascii") + rb"[ \t]*:[ \t]*)(.*?)([ \t]*(?:[ \t]#.*)?)$", data[start:end], re.DOTALL
        )
        if match and match[2] == value.encode("ascii"):
            return []
        if match:
            return [Splice(start + match.end(1), start + match.end(2), value.encode("ascii"))]
    at = document.lines[last - 1].start
    return [Splice(at, at, f"{key}: {value}".encode("ascii") + document.ending(last))]


def new_section(data: bytes, title: str, text: str, order: Sequence[str]) -> list[Splice]:
    """Make a section that is absent where it belongs: before the next one that exists. Nothing if there is none.

    Args:
        data: the note.
        title: of the section; one of ``order``.
        text: its lines, parted by newlines.
        order: the titles of all sections as they follow each other.
    """
    document = Document(data)
    if document.find_section(title) is not None:
        return []
    for later in order[order.index(title) + 1 :]:
        section = document.find_section(later)
        if section is not None:
            start = document.lines[section.start_line - 1].start
            nl = document.ending(section.start_line)
            block = f"## {title}\n\n{text}\n\n".encode("utf-8", "replace").replace(b"\n", nl)
            return [Splice(start, start, block)]
    return []


def _append(data: bytes, title: str, blocks: Sequence[str]) -> list[Splice]:
    """Put blocks, parted by blank lines, at the end of a section, which is made at the end of the note if absent."""
    document = Document(data)
    section = document.find_section(title)
    last = section.end_line if section else document.last_line
    if document.open_line is not None and document.open_line <= last:
        last = document.open_line - 1  # what is never closed would swallow it
    while last > 1 and document.is_blank(last) and not (section and last <= section.body_line - 1):
        last -= 1
    _, end, at = document.lines[last - 1]
    nl = document.ending(last)
    heading = [] if section else [f"## {title}"]
    text = "\n\n".join([*heading, *blocks]).encode("utf-8", "replace").replace(b"\n", nl)
    after = b"" if last >= document.last_line or document.is_blank(last + 1) else nl
    return [Splice(at, at, (nl if at == end else b"") + nl + text + nl + after)]
