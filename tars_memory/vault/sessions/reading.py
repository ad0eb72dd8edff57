"""The session note: what was drawn from one conversation, written and read as plain markdown.

Its name is ``sessions/2026-11-21 1015 topic.md``. Front matter says what it was made from; ``source_hash`` is the
digest of the conversation up to the last turn that was examined, so that the same conversation is known again under any
name, and by how much it has grown. A person may edit all of it: what is read again is what stands there.

Here a note is read and found; :mod:`tars_memory.vault.sessions.rendering` writes a new one,
:mod:`tars_memory.vault.sessions.growing` adds to one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import TarsError
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.sessions.note import (
    BLANKS,
    FACT,
    KIND,
    LEFT_OUT,
    QUOTE,
    SAID_BY,
    SECTIONS,
    WARNING,
    SessionFact,
    SessionNote,
    SessionTurn,
    quote_in,
    speaker_in,
)
from tars_memory.vault.sessions.rendering import path_for, render, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.vault import Vault

__all__ = [
    "SECTIONS",
    "Known",
    "SessionFact",
    "SessionNote",
    "SessionTurn",
    "catalogue",
    "examined",
    "grow",
    "path_for",
    "read",
    "render",
]

SHORT = 16
"""Hexadecimal digits of an earlier hash."""

_TURN = re.compile(
    r"\[(?P<number>\d{1,9})\](?: (?P<time>(?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
    r" \*\*(?P<speaker>[^*\n]{0,200}?):\*\* ?(?P<text>.*)$"
)


_LINKED = re.compile(r"[-*+][ \t]+(.*?)\(\[\[[^\[\]|]*#\^([A-Za-z0-9-]+)(?:\|[^\[\]]*)?\]\]\)")


def grow(data: bytes, new: SessionNote) -> list[Splice]:
    """See :func:`tars_memory.vault.sessions.growing.grow`."""
    from tars_memory.vault.sessions import growing

    return growing.grow(data, new)


def read(path: str, data: bytes) -> SessionNote | None:
    """What a session note says now, after whatever a person changed; None if it is none: no ``source_hash``."""
    if b"source_hash" not in data:
        return None
    document = Document(data)
    said = document.front_matter
    digest = said.get("source_hash")
    if not isinstance(digest, str):
        return None
    found = entries.read(path, document)
    return SessionNote(
        date=_string(said, "date"),
        source=_string(said, "source"),
        source_hash=digest.strip(),
        turns=int(turns) if (turns := _string(said, "turns")).isdecimal() and len(turns) < 10 else 0,
        session=_string(said, "session"),
        format=_string(said, "format"),
        title=_string(said, "title"),
        summary=_paragraphs(document),
        topics=_texts(found, "Topics"),
        decisions=_texts(found, "Decisions"),
        open_ends=_texts(found, "Open ends"),
        tools=_texts(found, "Tools"),
        facts=tuple(fact for _, fact in facts_of(found)),
        left_out=tuple(fact for _, fact in facts_of(found, LEFT_OUT)),
        kept=tuple(_kept(document)),
        path=path,
    )


def _string(said: Mapping[str, object], key: str) -> str:
    value = said.get(key)
    return value.strip() if isinstance(value, str) else ""


def _texts(found: Sequence[Entry], section: str) -> tuple[str, ...]:
    return tuple(entry.text for entry in found if entry.section.casefold() == section.casefold() and not entry.depth)


def _paragraphs(document: Document) -> str:
    section = document.find_section("Summary")
    if section is None:
        return ""
    within = range(section.body_line, section.end_line + 1)
    parts = [
        re.sub(r"\r\n|\r|\n", " ", document.text(block.start_line, block.end_line))
        for block in document.blocks
        if block.kind == "paragraph" and block.start_line in within
    ]
    return "\n\n".join(parts)


def facts_of(found: Sequence[Entry], section: str | None = "Facts") -> Iterator[tuple[Entry, SessionFact]]:
    """The facts of a section of a session note, each with its entry.

    Args:
        found: the entries of the note.
        section: its title; None for all of them.
    """
    wanted = None if section is None else section.casefold()
    for index, entry in enumerate(found):
        if entry.depth or (wanted is not None and entry.section.casefold() != wanted):
            continue
        fact = SessionFact(entry.text, entry.provenance or "", entries.parse(entry.raw.strip()[1:]).label or "")
        for child in found[index + 1 :]:
            if child.line > entry.end_line:
                break
            fact = _with(fact, child.text)
        yield entry, fact


def linked(data: bytes) -> dict[str, SessionFact]:
    """By block id of a daily line, what a session note says of it; row by row, without parsing the note."""
    found: dict[str, SessionFact] = {}
    name = ""
    for row in re.split(r"\r\n|\r|\n", data.decode("utf-8", "surrogateescape")):
        if bullet := _LINKED.match(row):
            name = bullet[2]
            found[name] = SessionFact(bullet[1].rstrip(BLANKS))
        elif not row[:1].isspace():
            name = ""
        elif name:
            found[name] = _with(found[name], row.strip(BLANKS)[1:].strip(BLANKS))
    return found


def _with(fact: SessionFact, text: str) -> SessionFact:
    """The fact with what a bullet below it says; of each kind the first one counts."""
    if text.startswith(QUOTE) and not fact.quote:
        return fact._replace(quote=quote_in(text))
    if text.startswith(FACT) and not fact.claim:
        return fact._replace(claim=text.removeprefix(FACT).strip(BLANKS))
    if text.startswith(KIND) and not fact.kind:
        return fact._replace(kind=text.removeprefix(KIND).strip(BLANKS))
    if text.startswith(WARNING):
        return fact._replace(warnings=(*fact.warnings, text.removeprefix(WARNING).strip(BLANKS)))
    if text.startswith(SAID_BY) and not (fact.speaker or fact.turn):
        speaker, turn = speaker_in(text)
        return fact._replace(speaker=speaker, turn=max(turn, 0))
    return fact


def _kept(document: Document) -> Iterator[SessionTurn]:
    """The turns in the quotes of their section; a quote without a number is the person's own."""
    for block in document.blocks:
        if block.kind != "quote" or document.section_at(block.start_line).title.casefold() != "turns":
            continue
        rows = [
            re.sub(r"^[ ]{0,3}>[ ]?", "", document.text(line)) for line in range(block.start_line, block.end_line + 1)
        ]
        if match := _TURN.match(rows[0]):
            text = "\n".join([match["text"], *rows[1:]])
            yield SessionTurn(int(match["number"]), match["speaker"], text, match["time"] or "")


class Known(NamedTuple):
    """A session note that stands for the beginning of a conversation.

    Attributes:
        path: of the note.
        turns: turns that were examined.
    """

    path: str
    turns: int


def catalogue(vault: Vault) -> dict[str, str]:
    """By what conversations are known again: their hashes and names, to the path of their note, of whatever project.

    The keys are each note's ``source_hash``, alone and as :func:`day_key`, the first :data:`SHORT` digits of each of
    its ``earlier`` hashes, and :func:`session_key`. Read once for several conversations.
    """
    found: dict[str, str] = {}
    for path in sorted(path for path in vault.paths() if vault.layout.is_session(path)):
        try:
            data = vault.read(path)
        except TarsError:
            continue
        for key in _keys_of(data):
            found.setdefault(key, path)
    return found


def examined(vault: Vault, digests: Sequence[str], known: Mapping[str, str] | None = None) -> Known | None:
    """The note of the longest beginning of a conversation that was examined before; None if there is none.

    Args:
        vault: to look in.
        digests: of the conversation, turn by turn.
        known: :func:`catalogue`, if it is at hand.
    """
    known = catalogue(vault) if known is None else known
    for turns in range(len(digests), 0, -1):
        digest = digests[turns - 1]
        if path := known.get(digest) or known.get(digest[:SHORT]):
            return Known(path, turns)
    return None


def session_key(form: str, name: str) -> str:
    """The key in :func:`catalogue` of the log's own name of a conversation; empty if it has none."""
    form, name = value_of(form), value_of(name)
    return f"{form} {name}" if form and name else ""


def day_key(digest: str, day: str) -> str:
    """The key in :func:`catalogue` of the conversation of a day (``YYYY-MM-DD``) among those of the same words."""
    return f"{digest} {day}"


def _keys_of(data: bytes) -> Iterator[str]:
    """What a note's front matter makes its conversation known by, without parsing the note."""
    head = re.match(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\r|\n)(.{0,20000}?)(?:\r\n|\r|\n)---", data, re.DOTALL)
    if head is None:
        return
    said = dict(
        re.findall(rb"(?:^|(?<=[\r\n]))(source_hash|earlier|format|session|date)[ \t]*:[ \t]*([^\r\n]*)", head[1])
    )
    digest = re.match(rb"[\"']?([0-9a-f]{64})\b", said.get(b"source_hash", b""))
    if digest is None:
        return
    yield digest[1].decode("ascii")
    yield day_key(digest[1].decode("ascii"), _scalar(said.get(b"date", b"")))
    yield from (hash_.decode("ascii") for hash_ in re.findall(rb"\b[0-9a-f]{16}\b", said.get(b"earlier", b"")))
    form, name = (_scalar(said.get(key, b"")) for key in (b"format", b"session"))
    if key := session_key(form, name):
        yield key


def _scalar(value: bytes) -> str:
    """A property's text, with or without quotes; empty if it can't be told."""
    text = value.decode("utf-8", "replace").strip()
    if text.startswith('"'):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return found if isinstance(found, str) else ""
    return text.strip("'")
