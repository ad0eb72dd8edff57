"""Writing a session note: its name, its front matter and its sections, with all outside text made harmless."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.entries import neutralise, visible
from tars_memory.vault.sessions.note import BLANKS, FACT, KIND, LEFT_OUT, QUOTE, SAID_BY, TAG, WARNING
from tars_memory.vault.vault import is_conflict_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from tars_memory.vault.sessions.note import SessionFact, SessionNote, SessionTurn

MAX_TOPIC = 60
"""Characters of the topic in a note's name; in bytes twice as many, so that no file system's limit of 255 is met."""

MAX_NAME = 80
"""Characters of a speaker's name."""

_RUN = re.compile(
    r"^([ ]{0,3}(?:`{3,}|~{3,})[ \t]*)(?=dataview|datacore|js-engine|meta-bind|templater|customjs)", re.IGNORECASE
)
"""The head of a fence that a plugin of Obsidian runs as code when the note is shown."""

_UNNAMEABLE = re.compile(r'[\\/:*?"<>|#^\[\](){}%]+')
"""What Obsidian, a link or some file system doesn't take in a name, or what makes a name look like a conflict copy."""


def path_for(folder: str, start: datetime, title: str, taken: Callable[[str], bool]) -> str:
    """Where a new note goes: a name that every file system, Obsidian and a link take.

    Args:
        folder: of the sessions, relative to the vault.
        start: when the conversation began; local time.
        title: its topic; may be anything.
        taken: whether a path is a note already; then a number is added.
    """
    topic = _topic(title)
    stem = f"{folder}/{start:%Y-%m-%d %H%M} {topic}"
    path, number = f"{stem}.md", 1
    while taken(path):
        number += 1
        path = f"{stem} {number}.md"
    return path


def _topic(title: str) -> str:
    words = " ".join(_UNNAMEABLE.sub(" ", visible(title)).split())
    words = "".join(sign for sign in words if sign.isprintable())[:MAX_TOPIC]
    while len(words.encode("utf-8")) > 2 * MAX_TOPIC:
        words = words[:-1]
    words = words.strip(" .-_,;")
    return words if words and not is_conflict_copy(f" {words}.md") else "conversation"


def render(note: SessionNote) -> bytes:
    """A new note. All that comes from outside is neutralised."""
    lines = [
        "---",
        f"date: {note.date}",
        *([f"title: {_scalar(note.title)}"] if value_of(note.title) else []),
        f"source: {_scalar(note.source)}",
        *([f"format: {_scalar(note.format)}"] if value_of(note.format) else []),
        f"source_hash: {note.source_hash}",
        *([f"session: {_scalar(note.session)}"] if value_of(note.session) else []),
        f"turns: {note.turns}",
        f"tags: [{TAG}]",
        "---",
    ]
    for title, blocks in _blocks(note).items():
        if blocks:
            lines += ["", f"## {title}", ""]
            parts = "\n\n" if title in ("Summary", "Turns") else "\n"
            lines.append(parts.join(blocks))
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _blocks(note: SessionNote) -> dict[str, list[str]]:
    """The text of each section, block by block."""
    return {
        "Summary": paragraphs(note.summary),
        "Topics": bullets(note.topics),
        "Decisions": bullets(note.decisions),
        "Open ends": bullets(note.open_ends),
        "Tools": bullets(note.tools),
        "Facts": [fact_lines(fact) for fact in note.facts if words_of(fact.text)],
        LEFT_OUT: [fact_lines(fact) for fact in note.left_out if words_of(fact.text)],
        "Turns": [turn_lines(turn) for turn in note.kept],
    }


def paragraphs(text: str) -> list[str]:
    """A text's paragraphs, a line each, neutralised."""
    parts = re.split(r"\n[ \t]*\n", re.sub(r"\r\n|\r", "\n", text))
    return [words for part in parts if (words := words_of(part))]


def bullets(texts: Sequence[str]) -> list[str]:
    """Each text as a bullet, once."""
    return list(dict.fromkeys(f"- {words}" for text in texts if (words := words_of(text))))


def value_of(text: str) -> str:
    """Outside text as a property's value, which is compared without blanks of any kind around it."""
    return visible(text).strip()


def words_of(text: str) -> str:
    """Outside text as the words of one bullet; empty if nothing in it can be seen."""
    return _words(text[: entries.MAX_CHARACTERS])


@lru_cache(maxsize=256)
def _words(text: str) -> str:
    try:
        return neutralise(text)
    except UsageError:
        return ""


def fact_lines(fact: SessionFact) -> str:
    """A fact's bullet; nested under it its quote, its speaker, what it states over time, what a second look found."""
    lines = [
        entries.render(entries.Parts(words_of(fact.text), provenance=fact.source or None, label=fact.label or None))
    ]
    if quote := words_of(fact.quote):
        lines.append(f'  - {QUOTE}"{quote}"')
    speaker = _short(visible(fact.speaker), lambda name: words_of(_without_turn(name)))
    if speaker or fact.turn:
        lines.append(f"  - {SAID_BY}{', '.join([*([speaker] if speaker else []), *_turn(fact.turn)])}")
    if claim := words_of(fact.claim):
        lines.append(f"  - {FACT}{claim}")
    if kind := words_of(fact.kind):
        lines.append(f"  - {KIND}{kind}")
    lines += [f"  - {WARNING}{words}" for warning in fact.warnings if (words := words_of(warning))]
    return "\n".join(lines)


def _short(name: str, made: Callable[[str], str]) -> str:
    """What is made of a name, or of as much of it as gives :data:`MAX_NAME` characters; made again it stays."""
    name = name[:MAX_NAME]
    while len(said := made(name)) > MAX_NAME:
        name = name[:-1]
    return said


def _without_turn(name: str) -> str:
    """A speaker's name; what it ends with is cut off if it would be read as the number of a turn."""
    name = name.lstrip(" ,")
    while (cut := re.sub(r"\bturn\s+\d+$", "", name.rstrip(f"{BLANKS},"))) != name:
        name = cut
    return name


def _turn(number: int) -> list[str]:
    return [f"turn {number}"] if number else []


def turn_lines(turn: SessionTurn) -> str:
    """A turn as one quote: whatever stands in it can't end it, open anything beyond it, or be an entry."""
    plain = re.sub(r"[*\[\]:`]+", "", visible(turn.speaker))
    speaker = _short(plain, lambda name: entries.harmless(name.strip())) or "?"
    head = f"[{turn.number}] {turn.time + ' ' if turn.time else ''}**{speaker}:** "
    lines = list(_quoted(turn.text))
    lines[0] = (head + lines[0]).rstrip(BLANKS)
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def _quoted(text: str) -> Iterator[str]:
    """The lines of a turn; those in a closed fence as they are, others without what would hide or forge something."""
    rows = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    closes = _closed_fences(rows)
    inside = -1
    for number, row in enumerate(rows):
        indent = re.match(r"[ \t]*", row)
        line = (indent[0] if indent else "") + visible(row)
        inside = max(inside, closes.get(number, -1))
        if number > inside:
            line = entries.harmless(line)
            line = re.sub(r"^([ ]{0,3})(?=</?[A-Za-z!?]|<[!?]|\[[^\[\]]+\]:)", r"\1\\", line)
            line = re.sub(r"^([ ]{0,3})(?=`{3,}|~{3,})", r"\1\\", line)
        else:
            line = _RUN.sub(r"\1\\", line).replace("<%", r"<\%")
        yield line.rstrip(" \t")


def _closed_fences(rows: Sequence[str]) -> dict[int, int]:
    """First to last row of each fence that is closed."""
    found: dict[int, int] = {}
    opened: tuple[int, str] | None = None
    for number, row in enumerate(rows):
        match = re.match(r"[ ]{0,3}(`{3,}(?=[^`]*$)|~{3,})", row)
        if match and opened is None:
            opened = (number, match[1])
        elif match and opened and match[1].startswith(opened[1]) and not row[match.end() :].strip():
            found[opened[0]] = number
            opened = None
    return found


def _scalar(text: str) -> str:
    """Text as a YAML scalar in double quotes; Templater's tag, and what YAML takes in no other form, is spelled."""
    quoted = json.dumps(value_of(text), ensure_ascii=False).replace("<%", r"\u003c%")
    return re.sub("[\ufffe\uffff]", lambda sign: f"\\u{ord(sign[0]):04x}", quoted)
