"""The session note: what was extracted from one conversation, written, read and extended as plain markdown.

Its path is ``sessions/2026-11-21 1015 topic.md``. The front matter names its source. ``source_hash`` is the digest of
the conversation up to the last examined turn: it identifies the conversation under any name, and tells how much it has
grown. A person may edit everything; what is read is what the note has now. Outside text is made harmless before it is
written; extending a note keeps every other byte.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tars_memory.errors import ConflictError, UsageError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import BLANKS, FACT, KIND, QUOTE, SAID_BY, WARNING, fences, quote_in, speaker_in
from tars_memory.vault.model import Entry, Splice, role
from tars_memory.vault.suspicion import RUN_BY_PLUGIN
from tars_memory.vault.vault import Vault, is_conflict_copy

LEFT_OUT = "Left out"
"""The section of facts that the second look found not worth a decision: they are shown only on request."""
_LISTS = {"Topics": "topics", "Decisions": "decisions", "Open ends": "open_ends", "Tools": "tools"}
_FACTS = {"Facts": "facts", LEFT_OUT: "left_out"}
"""Sections of short lines, and of facts, each with the attribute of :class:`SessionNote` that it holds."""
SECTIONS = ("Summary", *_LISTS, *_FACTS, "Turns")
"""Headings of level 2, in this order; empty sections are left out."""

TAG = "session"


class SessionFact(NamedTuple):
    """A fact with its evidence.

    Attributes:
        text: the words, neutralised when read from a note.
        source: the line of the daily note that has the fact, ``2026-11-21#^d-abc``; empty for none.
        label: label of the link; the day.
        quote: the sentence that states it, verbatim.
        speaker: who said the sentence.
        turn: number of the turn.
        claim: the fact over time that it states, as :func:`tars_memory.vault.markdown.facts.claim_line` returns it;
            empty for none.
        kind: kind of sentence, by the second look; empty if there was none.
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
    """A stored turn: ``time`` is ``14:30``, ``2026-11-22 00:10`` if on another day, or empty."""

    number: int
    speaker: str
    text: str
    time: str = ""


class SessionNote(NamedTuple):
    """The content of a session note.

    Attributes:
        date: day on which the conversation began, ``YYYY-MM-DD``.
        source: file name of the transcript.
        source_hash: digest of the turns up to ``turns``.
        turns: number of examined turns of the conversation.
        session: the log's own name of the conversation; empty for none.
        format: the format that the transcript was read as.
        title: a few words.
        summary: a few sentences; paragraphs separated by a blank line.
        topics, decisions, open_ends, tools: short lines.
        facts: the facts, in order.
        left_out: the facts that are not offered, in order.
        kept: the stored turns.
        path: path of the note, if it was read from one.
        extracted: day of the last extraction of facts, ``YYYY-MM-DD``; empty for none.
        unread: number of the first turn that the rules could not read and no model was shown; 0 for none.
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
    unread: int = 0


# -- reading, and finding the note of a conversation


EARLIER_DIGITS = 16
"""Number of hexadecimal digits that are kept of an earlier hash."""
DAY = r"\d{4}-\d\d-\d\d"
ENDS = r"(?=[\"']?[ \t]*(?:[ \t]#|[\r\n]|$))"
"""What follows the value of a property: nothing, or a comment."""

_TURN = re.compile(
    r"\[(?P<number>\d{1,9})\](?: (?P<time>(?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
    r" \*\*(?P<speaker>[^*\n]{0,200}?):\*\* ?(?P<text>.*)$"
)


_HEAD = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*(?:\r\n|\r|\n)(.{0,20000}?)(?:\r\n|\r|\n)---", re.DOTALL)
_LINKED_FACT = re.compile(r"[-*+][ \t]+(.*?)\(\[\[[^\[\]|]*#\^([A-Za-z0-9-]+)(?:\|[^\[\]]*)?\]\]\)")


def read(path: str, data: bytes) -> SessionNote | None:
    """Read a session note as it is now, with every change a person made; None for a note without ``source_hash``."""
    if b"source_hash" not in data:
        return None
    document = Document(data)
    found = entries.read(path, document)
    front = {key: value.strip() for key, value in document.front_matter.items() if isinstance(value, str)}
    if not front.get("source_hash"):
        return None
    members: Any = {key: front.get(key, "") for key in ("date", "source", "source_hash", "session", "format", "title")}
    for title, name in _LISTS.items():
        named = (entry for entry in found if entry.section.casefold() == title.casefold())
        members[name] = tuple(entry.text for entry in named if not entry.depth)
    for title, name in _FACTS.items():
        members[name] = tuple(fact for _, fact in facts_of(found, title))
    return SessionNote(
        turns=number_in(data, "turns"),
        unread=number_in(data, "unread"),
        summary=_paragraphs(document),
        kept=tuple(turn for _, turn in turns_in(document)),
        path=path,
        extracted=extracted_on(data),
        **members,
    )


def _paragraphs(document: Document) -> str:
    """Return the paragraphs of the summary, separated by blank lines."""
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
    """Yield the facts in a section of a session note, each with its entry.

    Args:
        found: the entries of the note.
        section: title of the section; None for all sections.
    """
    wanted = None if section is None else section.casefold()
    for index, entry in enumerate(found):
        if entry.depth or (wanted is not None and entry.section.casefold() != wanted):
            continue
        fact = SessionFact(entry.text, entry.provenance or "", entries.label_of(entry))
        for child in found[index + 1 :]:
            if child.line > entry.end_line:
                break
            fact = _with_child(fact, child.text)
        yield entry, fact


def facts_by_block(data: bytes) -> dict[str, SessionFact]:
    """Return the facts of a session note by the block id of their line in a daily note, without parsing the note."""
    found: dict[str, SessionFact] = {}
    name = ""
    for row in re.split(r"\r\n|\r|\n", data.decode("utf-8", "surrogateescape")):
        if bullet := _LINKED_FACT.match(row):
            name = bullet[2]
            found[name] = SessionFact(bullet[1].rstrip(BLANKS))
        elif not row[:1].isspace():
            name = ""
        elif name:
            found[name] = _with_child(found[name], row.strip(BLANKS)[1:].strip(BLANKS))
    return found


def _with_child(fact: SessionFact, text: str) -> SessionFact:
    """Add the content of a child bullet to a fact; of each kind of child the first counts, but every warning."""
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


def turns_in(document: Document) -> Iterator[tuple[int, SessionTurn]]:
    """Yield line and turn of those in the section of turns; a quote without a number is the person's own."""
    for block in document.blocks:
        if block.kind != "quote" or document.section_at(block.start_line).title.casefold() != "turns":
            continue
        rows = [
            re.sub(r"^[ ]{0,3}>[ ]?", "", document.text(line)) for line in range(block.start_line, block.end_line + 1)
        ]
        if match := _TURN.match(rows[0]):
            text = "\n".join([match["text"], *rows[1:]])
            yield block.start_line, SessionTurn(int(match["number"]), match["speaker"], text, match["time"] or "")


def is_answer(block: str) -> bool:
    """Whether a block of a session note is a stored turn of a model or a tool."""
    turn = _TURN.match(re.sub(r"^[ ]{0,3}>[ ]?", "", block.partition("\n")[0]))
    return turn is not None and role(turn["speaker"]) in ("assistant", "tool")


class KnownSession(NamedTuple):
    """The session note of a conversation, or of its beginning.

    Attributes:
        path: path of the note; empty for a new one.
        turns: number of turns that were examined before.
        unread: as in the note; 0 for a new one.
    """

    path: str = ""
    turns: int = 0
    unread: int = 0


def catalogue(vault: Vault) -> dict[str, str]:
    """Return the paths of the session notes of all projects by the hashes and names of their conversations.

    The keys are each note's ``source_hash``, alone and as :func:`day_key`, the first :data:`EARLIER_DIGITS` digits of
    each of its ``earlier`` hashes, and :func:`session_key`. One catalogue serves several conversations.
    """
    found: dict[str, str] = {}
    for path, data in vault.readable(sorted(filter(vault.layout.is_session, vault.paths()))):
        for key in _keys_of(data):
            found.setdefault(key, path)
    return found


def find_examined(vault: Vault, digests: Sequence[str], known: Mapping[str, str] | None = None) -> KnownSession | None:
    """Find the note of the longest beginning of a conversation that was examined before; None if there is none.

    Args:
        vault: the vault to search.
        digests: digest of the conversation up to each turn.
        known: the :func:`catalogue`, if the caller has it.
    """
    known = catalogue(vault) if known is None else known
    for turns in range(len(digests), 0, -1):
        digest = digests[turns - 1]
        if path := known.get(digest) or known.get(digest[:EARLIER_DIGITS]):
            return KnownSession(path, turns)
    return None


def session_key(form: str, name: str) -> str:
    """Return the :func:`catalogue` key for the log's own name of a conversation; empty if it has none."""
    form, name = value_of(form), value_of(name)
    return f"{form} {name}" if form and name else ""


def day_key(digest: str, day: str) -> str:
    """Return the :func:`catalogue` key for a conversation of a day (``YYYY-MM-DD``), among those with equal words."""
    return f"{digest} {day}"


def front_of(data: bytes) -> bytes:
    """Return the front matter of a note without parsing it; empty if there is none or it is over 20,000 bytes long."""
    head = _HEAD.match(data)
    return head[1] if head else b""


def front_value(data: bytes, key: str, value: str) -> str:
    """Return a property of a note's front matter without parsing the note; empty if it is missing or doesn't match.

    Args:
        data: the note.
        key: name of the property.
        value: regular expression for the value.
    """
    found = re.search(rf"(?:^|(?<=[\r\n])){key}[ \t]*:[ \t]*[\"']?({value})".encode("ascii"), front_of(data))
    return found[1].decode("ascii") if found else ""


def number_in(data: bytes, key: str) -> int:
    """Return a number in a note's front matter, without parsing the note; 0 if there is none."""
    return int(front_value(data, key, rf"\d{{1,9}}{ENDS}") or 0)


def extracted_on(data: bytes) -> str:
    """Return the day of the last extraction of facts in a note, without parsing it; empty for none."""
    return front_value(data, "extracted", DAY)


def _keys_of(data: bytes) -> Iterator[str]:
    """Yield the :func:`catalogue` keys of a note, without parsing it."""
    front = dict(
        re.findall(
            rb"(?:^|(?<=[\r\n]))(source_hash|earlier|format|session|date)[ \t]*:[ \t]*([^\r\n]*)", front_of(data)
        )
    )
    digest = re.match(rb"[\"']?([0-9a-f]{64})\b", front.get(b"source_hash", b""))
    if digest is None:
        return
    yield digest[1].decode("ascii")
    yield day_key(digest[1].decode("ascii"), _scalar_in(front.get(b"date", b"")))
    yield from (hash_.decode("ascii") for hash_ in re.findall(rb"\b[0-9a-f]{16}\b", front.get(b"earlier", b"")))
    form, name = (_scalar_in(front.get(key, b"")) for key in (b"format", b"session"))
    if key := session_key(form, name):
        yield key


def _scalar_in(value: bytes) -> str:
    """Return the text of a property, with or without quotes; empty if it can't be read."""
    text = value.decode("utf-8", "replace").strip()
    if text.startswith('"'):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return ""
        return found if isinstance(found, str) else ""
    return text.strip("'")


# -- writing a new note


MAX_TOPIC = 60
"""Maximum length of the topic in a note's name, in characters; in bytes twice that, so that the name stays below the
255 bytes that file systems allow."""

MAX_NAME = 80
"""Maximum length of a speaker's name, in characters."""

_UNSAFE_IN_NAMES = re.compile(r'[\\/:*?"<>|#^\[\](){}%]+')
"""Characters that Obsidian, links or file systems don't allow in a name, or that make it look like a conflict copy."""


def path_for(folder: str, start: datetime, title: str, taken: Callable[[str], bool]) -> str:
    """Return the path of a new note, valid for every file system, for Obsidian and in links.

    Args:
        folder: folder of the sessions, relative to the vault.
        start: beginning of the conversation, in local time.
        title: topic of the conversation; may be any text.
        taken: whether a path is in use; then a number is added.
    """
    topic = _topic(title)
    stem = f"{folder}/{start:%Y-%m-%d %H%M} {topic}"
    path, number = f"{stem}.md", 1
    while taken(path):
        number += 1
        path = f"{stem} {number}.md"
    return path


def _topic(title: str) -> str:
    """Return a title in a form that is valid in a file name."""
    words = " ".join(_UNSAFE_IN_NAMES.sub(" ", entries.visible(title)).split())
    words = "".join(char for char in words if char.isprintable())[:MAX_TOPIC]
    while len(words.encode("utf-8")) > 2 * MAX_TOPIC:
        words = words[:-1]
    words = words.strip(" .-_,;")
    return words if words and not is_conflict_copy(f" {words}.md") else "conversation"


def render(note: SessionNote) -> bytes:
    """Return the bytes of a new note, with all outside text neutralised."""
    lines = ["---", *_properties(note), "---"]
    for title, blocks in _blocks(note).items():
        if blocks:
            lines += ["", f"## {title}", ""]
            separator = "\n\n" if title in ("Summary", "Turns") else "\n"
            lines.append(separator.join(blocks))
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _properties(note: SessionNote) -> list[str]:
    """Return the lines of a note's front matter, without its fences."""
    return [
        f"date: {note.date}",
        *([f"title: {_scalar(note.title)}"] if value_of(note.title) else []),
        f"source: {_scalar(note.source)}",
        *([f"format: {_scalar(note.format)}"] if value_of(note.format) else []),
        f"source_hash: {note.source_hash}",
        *([f"session: {_scalar(note.session)}"] if value_of(note.session) else []),
        f"turns: {note.turns}",
        *([f"unread: {note.unread}"] if note.unread else []),
        *([f"extracted: {note.extracted}"] if note.extracted else []),
        f"tags: [{TAG}]",
    ]


def _blocks(note: SessionNote) -> dict[str, list[str]]:
    """Return the blocks of every section, by title."""
    return {
        "Summary": paragraphs(note.summary),
        **{title: bullets(getattr(note, name)) for title, name in _LISTS.items()},
        **{
            title: [fact_lines(fact) for fact in getattr(note, name) if words_of(fact.text)]
            for title, name in _FACTS.items()
        },
        "Turns": [turn_lines(turn) for turn in note.kept],
    }


def paragraphs(text: str) -> list[str]:
    """Split a text into paragraphs, each neutralised to one line."""
    parts = re.split(r"\n[ \t]*\n", re.sub(r"\r\n|\r", "\n", text))
    return [words for part in parts if (words := words_of(part))]


def bullets(texts: Sequence[str]) -> list[str]:
    """Return each text as a bullet, without duplicates."""
    return list(dict.fromkeys(f"- {words}" for text in texts if (words := words_of(text))))


def value_of(text: str) -> str:
    """Turn outside text into the value of a property, without blanks of any kind around it."""
    return entries.visible(text).strip()


def words_of(text: str) -> str:
    """Turn outside text into the words of one bullet; empty if nothing of it is visible."""
    try:
        return entries.neutralise(text[: entries.MAX_CHARACTERS])
    except UsageError:
        return ""


def fact_lines(fact: SessionFact) -> str:
    """Return the bullet of a fact, with its quote, speaker, claim, kind and warnings nested under it."""
    lines = [
        entries.render(entries.Parts(words_of(fact.text), provenance=fact.source or None, label=fact.label or None))
    ]
    if quote := words_of(fact.quote):
        lines.append(f'  - {QUOTE}"{quote}"')
    speaker = _shortened(entries.visible(fact.speaker), lambda name: words_of(_without_turn(name)))
    if speaker or fact.turn:
        lines.append(f"  - {SAID_BY}{', '.join(filter(None, (speaker, f'turn {fact.turn}' if fact.turn else '')))}")
    if claim := words_of(fact.claim):
        lines.append(f"  - {FACT}{claim}")
    if kind := words_of(fact.kind):
        lines.append(f"  - {KIND}{kind}")
    lines += [f"  - {WARNING}{words}" for warning in fact.warnings if (words := words_of(warning))]
    return "\n".join(lines)


def _shortened(name: str, convert: Callable[[str], str]) -> str:
    """Convert a name, shortened until the result has at most :data:`MAX_NAME` characters; idempotent."""
    name = name[:MAX_NAME]
    while len(converted := convert(name)) > MAX_NAME:
        name = name[:-1]
    return converted


def _without_turn(name: str) -> str:
    """Cut the end off a speaker's name if it would be read as the number of a turn."""
    name = name.lstrip(" ,")
    while (cut := re.sub(r"\bturn\s+\d+$", "", name.rstrip(f"{BLANKS},"))) != name:
        name = cut
    return name


def turn_lines(turn: SessionTurn) -> str:
    """Return a turn as one quote block; no text in it can end the block, open anything after it, or be an entry."""
    plain = re.sub(r"[*\[\]:`]+", "", entries.visible(turn.speaker))
    speaker = _shortened(plain, lambda name: entries.harmless(name.strip())) or "?"
    head = f"[{turn.number}] {turn.time + ' ' if turn.time else ''}**{speaker}:** "
    lines = list(_quoted(turn.text))
    lines[0] = (head + lines[0]).rstrip(BLANKS)
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def _quoted(text: str) -> Iterator[str]:
    """Yield the lines of a turn; outside closed fences, text that would hide or forge something is escaped."""
    rows = re.split(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text)
    closes = {first: last for first, last in fences(rows) if last and re.match("[ ]{0,3}[`~]", rows[first - 1])}
    inside = -1
    for number, row in enumerate(rows, 1):
        indent = re.match(r"[ \t]*", row)
        line = (indent[0] if indent else "") + entries.visible(row)
        inside = max(inside, closes.get(number, -1))
        if number > inside:
            line = entries.harmless(line)
            line = re.sub(r"^([ ]{0,3})(?=</?[A-Za-z!?]|<[!?]|\[[^\[\]]+\]:)", r"\1\\", line)
            line = re.sub(r"^([ ]{0,3})(?=`{3,}|~{3,})", r"\1\\", line)
        else:
            line = re.sub(RUN_BY_PLUGIN, r"\1\\", line).replace("<%", r"<\%")
        yield line.rstrip(" \t")


def _scalar(text: str) -> str:
    """Return text as a YAML scalar in double quotes; Templater's tag and characters that YAML forbids are escaped."""
    quoted = json.dumps(value_of(text), ensure_ascii=False).replace("<%", r"\u003c%")
    return re.sub("[\ufffe\uffff]", lambda char: f"\\u{ord(char[0]):04x}", quoted)


# -- extending a note: splices against the note as it is now


MAX_EARLIER = 50
"""Maximum number of former hashes that a note keeps."""


def grow(data: bytes, new: SessionNote) -> list[Splice]:
    """Add the new part of a conversation to its note.

    Args:
        data: the note.
        new: new values of ``source_hash``, ``turns`` and ``unread``; facts, kept turns, topics, decisions, open ends
            and tools to add; a summary of the new turns, which is added as paragraphs. What the note already has (a
            fact by its source, a turn by its number, a line by its words) is not added again; title, date, session and
            source stay.

    Returns:
        Splices, in order.

    Raises:
        ConflictError: it is no session note (any more), or no place takes a new bullet without changing the lines
            around it.
    """
    old = read("", data)
    if old is None:
        raise ConflictError("the session note has lost its source_hash", "try again")
    changes = edits.Changes(data)
    values = {"source_hash": new.source_hash, "turns": str(new.turns)}
    if old.source_hash != new.source_hash:
        values["earlier"] = f"[{', '.join(_earlier_hashes(data, old.source_hash))}]"
    if old.unread != new.unread:
        values["unread"] = str(new.unread)
    if new.facts and (day := max(new.extracted, old.extracted)):
        values["extracted"] = day
    for name, value in values.items():
        changes.make(edits.set_property(changes.data, name, value))
    for title, lines in _new_bullets(data, old, new):
        if lines:
            made = _new_section(changes.data, title, "\n".join(lines))
            changes.make(made or edits.insert_bullets(changes.data, lines, section=title))
    present = {turn.number for turn in old.kept}
    summary = [part for part in paragraphs(new.summary) if part.encode("utf-8", "replace") not in data]
    turns = [turn_lines(turn) for turn in new.kept if turn.number not in present]
    for title, blocks in (("Summary", summary), ("Turns", turns)):
        if blocks:
            section = _new_section(changes.data, title, "\n\n".join(blocks))
            changes.make(section or _append_blocks(changes.data, title, blocks))
    return changes.splices()


def _earlier_hashes(data: bytes, last: str) -> list[str]:
    """Return the old hashes of a conversation, the newest last: they identify older copies of its log.

    Args:
        data: the note.
        last: the hash that is about to be replaced.
    """
    present = Document(data).front_matter.get("earlier")
    hashes = [hash_ for hash_ in present if isinstance(hash_, str)] if isinstance(present, list) else []
    short = last[:EARLIER_DIGITS]
    return [*(hash_ for hash_ in hashes if hash_ != short), short][-MAX_EARLIER:]


def _new_bullets(data: bytes, old: SessionNote, new: SessionNote) -> Iterable[tuple[str, list[str]]]:
    """Yield the title of each section with the bullets that it lacks."""
    for title, name in _LISTS.items():
        present = {f"- {text}" for text in getattr(old, name)}
        yield title, [line for line in bullets(getattr(new, name)) if line not in present]
    for title, name in _FACTS.items():
        known = {(fact.text, fact.turn) for fact in getattr(old, name)}
        lines = []
        for fact in getattr(new, name):
            words = words_of(fact.text)
            linked = bool(fact.source) and f"{fact.source}|".encode("utf-8", "replace") in data
            if words and not linked and (words, fact.turn) not in known:
                lines.append(fact_lines(fact))
        yield title, list(dict.fromkeys(lines))


def _new_section(data: bytes, title: str, text: str) -> list[Splice]:
    """Make an absent section, one of :data:`SECTIONS`, before the next one that exists; return [] if it exists, or none
    comes after it.
    """
    document = Document(data)
    if document.find_section(title) is not None:
        return []
    for later in SECTIONS[SECTIONS.index(title) + 1 :]:
        section = document.find_section(later)
        if section is not None:
            start = document.lines[section.start_line - 1].start
            nl = document.ending(section.start_line)
            block = f"## {title}\n\n{text}\n\n".encode("utf-8", "replace").replace(b"\n", nl)
            return [Splice(start, start, block)]
    return []


def _append_blocks(data: bytes, title: str, blocks: Sequence[str]) -> list[Splice]:
    """Append blocks, separated by blank lines, to a section; if it is absent, make it at the end of the note."""
    document = Document(data)
    section = document.find_section(title)
    last = section.end_line if section else document.last_line
    if document.open_line is not None and document.open_line <= last:
        last = document.open_line - 1  # an unclosed fence or comment would contain the blocks
    while last > 1 and document.is_blank(last) and not (section and last <= section.body_line - 1):
        last -= 1
    _, end, at = document.lines[last - 1]
    nl = document.ending(last)
    heading = [] if section else [f"## {title}"]
    text = "\n\n".join([*heading, *blocks]).encode("utf-8", "replace").replace(b"\n", nl)
    after = b"" if last >= document.last_line or document.is_blank(last + 1) else nl
    return [Splice(at, at, (nl if at == end else b"") + nl + text + nl + after)]
