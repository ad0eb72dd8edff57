"""The session note: what was drawn from one conversation, written, read and grown as plain markdown.

Its name is ``sessions/2026-11-21 1015 topic.md``. Front matter says what it was made from; ``source_hash`` is the
digest of the conversation up to the last turn that was examined, so that the same conversation is known again under any
name, and by how much it has grown. A person may edit all of it: what is read again is what stands there. What comes
from outside is made harmless before it is written; a note that grows keeps every other byte.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import TarsError, UsageError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import Changes
from tars_memory.vault.markdown.entries import neutralise, visible
from tars_memory.vault.markdown.lines import BLANKS, FACT, KIND, QUOTE, SAID_BY, WARNING, quote_in, speaker_in
from tars_memory.vault.model import Entry, Splice
from tars_memory.vault.vault import Vault, is_conflict_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime


LEFT_OUT = "Left out"
"""The section of what a second look found not to be worth a decision: nobody is told of it unless he asks for it."""
SECTIONS = ("Summary", "Topics", "Decisions", "Open ends", "Tools", "Facts", LEFT_OUT, "Turns")
"""Headings of level 2, in this order; empty ones are left out."""

TAG = "session"


class SessionFact(NamedTuple):
    """A fact with what it stands on.

    Attributes:
        text: the words, neutralised when read from a note.
        source: the daily note's line that holds it: ``2026-11-21#^d-abc``; empty for none.
        label: how the link is shown; the day.
        quote: verbatim.
        speaker: who said it.
        turn: number of the turn.
        claim: what it states over time, as :func:`tars_memory.vault.markdown.facts.claim_line` gives it, if
            anything.
        kind: of sentence, as a second look found it; empty if nobody has looked.
        warnings: short sentences for the person who decides.
    """

    text: str
    source: str = ""
    label: str = ""
    quote: str = ""
    speaker: str = ""
    turn: int = 0
    claim: str = ""
    kind: str = ""
    warnings: tuple[str, ...] = ()


class SessionTurn(NamedTuple):
    """A turn that is kept: ``time`` is ``14:30``, ``2026-11-22 00:10`` if on another day, or empty."""

    number: int
    speaker: str
    text: str
    time: str = ""


class SessionNote(NamedTuple):
    """What a session note says.

    Attributes:
        date: ``YYYY-MM-DD`` of its beginning.
        source: file name of the transcript.
        source_hash: digest of the turns up to ``turns``.
        turns: turns of the conversation that were examined.
        session: the log's own name of the conversation; empty for none.
        format: the shape that it was read as.
        title: a few words.
        summary: a few sentences; paragraphs parted by a blank line.
        topics, decisions, open_ends, tools: short lines.
        facts: in order.
        left_out: what is not offered, likewise.
        kept: the turns that are stored.
        path: of the note, when read from one.
        extracted: the day on which its facts were drawn, or the last of them, ``YYYY-MM-DD``; empty for none.
    """

    date: str
    source: str
    source_hash: str
    turns: int
    session: str = ""
    format: str = ""
    title: str = ""
    summary: str = ""
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open_ends: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    facts: tuple[SessionFact, ...] = ()
    left_out: tuple[SessionFact, ...] = ()
    kept: tuple[SessionTurn, ...] = ()
    path: str = ""
    extracted: str = ""


# -- reading, and finding the note of a conversation


SHORT = 16
"""Hexadecimal digits of an earlier hash."""
DAY = r"\d{4}-\d\d-\d\d"

_TURN = re.compile(
    r"\[(?P<number>\d{1,9})\](?: (?P<time>(?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
    r" \*\*(?P<speaker>[^*\n]{0,200}?):\*\* ?(?P<text>.*)$"
)


_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\r|\n)(.{0,20000}?)(?:\r\n|\r|\n)---", re.DOTALL)
_LINKED = re.compile(r"[-*+][ \t]+(.*?)\(\[\[[^\[\]|]*#\^([A-Za-z0-9-]+)(?:\|[^\[\]]*)?\]\]\)")


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
        extracted=extracted_on(data),
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
        fact = SessionFact(entry.text, entry.provenance or "", entries.label_of(entry))
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


class KnownSession(NamedTuple):
    """What is known of a conversation: the session note that stands for its beginning.

    Attributes:
        path: of the note; empty for one that is to be made.
        turns: that were examined before.
    """

    path: str = ""
    turns: int = 0


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


def examined(vault: Vault, digests: Sequence[str], known: Mapping[str, str] | None = None) -> KnownSession | None:
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
            return KnownSession(path, turns)
    return None


def session_key(form: str, name: str) -> str:
    """The key in :func:`catalogue` of the log's own name of a conversation; empty if it has none."""
    form, name = value_of(form), value_of(name)
    return f"{form} {name}" if form and name else ""


def day_key(digest: str, day: str) -> str:
    """The key in :func:`catalogue` of the conversation of a day (``YYYY-MM-DD``) among those of the same words."""
    return f"{digest} {day}"


def front_of(data: bytes) -> bytes:
    """What stands in a note's front matter, without parsing the note; empty if there is none, or it is long."""
    head = _HEAD.match(data)
    return head[1] if head else b""


def front_value(data: bytes, key: str, value: str) -> str:
    """What a note's front matter says of a property, without parsing the note; empty if it says no such thing.

    Args:
        data: the note.
        key: of the property.
        value: an expression for what counts of it.
    """
    said = re.search(rf"(?:^|(?<=[\r\n])){key}[ \t]*:[ \t]*[\"']?({value})".encode("ascii"), front_of(data))
    return said[1].decode("ascii") if said else ""


def extracted_on(data: bytes) -> str:
    """The day on which a note says that its facts were drawn, without parsing the note; empty for none."""
    return front_value(data, "extracted", DAY)


def _keys_of(data: bytes) -> Iterator[str]:
    """What a note's front matter makes its conversation known by, without parsing the note."""
    said = dict(
        re.findall(
            rb"(?:^|(?<=[\r\n]))(source_hash|earlier|format|session|date)[ \t]*:[ \t]*([^\r\n]*)", front_of(data)
        )
    )
    digest = re.match(rb"[\"']?([0-9a-f]{64})\b", said.get(b"source_hash", b""))
    if digest is None:
        return
    yield digest[1].decode("ascii")
    yield day_key(digest[1].decode("ascii"), _scalar_in(said.get(b"date", b"")))
    yield from (hash_.decode("ascii") for hash_ in re.findall(rb"\b[0-9a-f]{16}\b", said.get(b"earlier", b"")))
    form, name = (_scalar_in(said.get(key, b"")) for key in (b"format", b"session"))
    if key := session_key(form, name):
        yield key


def _scalar_in(value: bytes) -> str:
    """A property's text, with or without quotes; empty if it can't be told."""
    text = value.decode("utf-8", "replace").strip()
    if text.startswith('"'):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return found if isinstance(found, str) else ""
    return text.strip("'")


# -- writing a new one


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
        *([f"extracted: {note.extracted}"] if note.extracted else []),
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


# -- adding to one: splices against the note as it stands, however many changes it took


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
        ConflictError: no place takes a new bullet without changing the lines around it.
    """
    note = read("", data)
    changes = Changes(data)
    if note is not None and note.source_hash not in ("", new.source_hash):
        changes.make(renewed(changes.data, "earlier", f"[{', '.join(_earlier(data, note.source_hash))}]"))
    changes.make(renewed(changes.data, "source_hash", new.source_hash))
    changes.make(renewed(changes.data, "turns", str(new.turns)))
    if new.facts and (day := max(new.extracted, note.extracted if note else "")):
        changes.make(renewed(changes.data, "extracted", day))
    for title, lines in _bullets(data, note, new):
        if lines:
            changes.make(added(changes.data, title, lines, SECTIONS))
    held = {turn.number for turn in note.kept} if note else set()
    for title, blocks in (
        (
            "Summary",
            [part for part in paragraphs(new.summary) if part.encode("utf-8", "replace") not in data],
        ),
        ("Turns", [turn_lines(turn) for turn in new.kept if turn.number not in held]),
    ):
        if blocks:
            made = _new_section(changes.data, title, "\n\n".join(blocks), SECTIONS)
            changes.make(made or _append(changes.data, title, blocks))
    return changes.splices()


def _earlier(data: bytes, last: str) -> list[str]:
    """The hashes that a conversation had before, the newest last: a copy of it as it was then is known by them."""
    said = Document(data).front_matter.get("earlier")
    held = [each for each in said if isinstance(each, str)] if isinstance(said, list) else []
    short = last[:SHORT]
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
        yield title, [line for line in bullets(texts) if line not in there]
    for title, held, facts in (
        ("Facts", note.facts if note else (), new.facts),
        (LEFT_OUT, note.left_out if note else (), new.left_out),
    ):
        said = {(fact.text, fact.turn) for fact in held}
        lines = []
        for fact in facts:
            words = words_of(fact.text)
            linked = bool(fact.source) and f"{fact.source}|".encode("utf-8", "replace") in data
            if words and not linked and (words, fact.turn) not in said:
                lines.append(fact_lines(fact))
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


def added(data: bytes, title: str, bullets: Sequence[str], order: Sequence[str]) -> list[Splice]:
    """Bullets at the end of their section, which is made where it belongs if it is absent.

    Args:
        data: the note.
        title: of the section; one of ``order``.
        bullets: with what is nested under them.
        order: the titles of all sections as they follow each other.

    Raises:
        ConflictError: no place takes one without changing the lines around it.
    """
    return _new_section(data, title, "\n".join(bullets), order) or edits.insert_bullets(data, bullets, section=title)


def _new_section(data: bytes, title: str, text: str, order: Sequence[str]) -> list[Splice]:
    """Make a section that is absent where it belongs: before the next one that exists. Nothing if there is none."""
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
