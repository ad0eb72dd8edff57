"""Read the memories of other programs, statement by statement, with place, day and exact words. Nothing is written.

They are read as a conversation in which each statement is a turn of the person, so that everything about conversations
applies: statements that were examined before are recognised, and forgotten ones stay out. The content decides the
format; only instructions for agents are recognised by their file names, since nothing else distinguishes them.
"""

from __future__ import annotations

import json
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, time
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

from tars_memory.capture.text_logs import local
from tars_memory.capture.turns import MAX_NAME, Transcript, Turn, Unknown, clean, first, instant, name
from tars_memory.disk import files_below, sha256
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import Block, Bullet, Document, front_day, wiki_words

INSTRUCTIONS, CLAUDE, BASIC, MEM0 = "instructions", "claude-memory", "basic-memory", "mem0"
FORMATS = (INSTRUCTIONS, CLAUDE, BASIC, MEM0)
"""The formats: ``CLAUDE.md`` and similar files, Claude Code's auto-memory, Basic Memory's notes, Mem0's exports."""

NAMES = frozenset({"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md"})
"""File names of instructions, in lower case (code.claude.com/docs/en/memory, agents.md, geminicli.com)."""

INDEX = "MEMORY.md"
"""The index of Claude Code's auto-memory."""

TYPES = frozenset({"user", "feedback", "project", "reference"})
"""The types of Claude Code's memories; ``feedback`` is for instructions on how to work."""

LARGEST_NOTE = 2_000_000
"""Maximum size of a note in bytes."""
LARGEST_EXPORT = 50_000_000
"""Maximum size in bytes of JSON, which is read as a whole."""
MOST_FILES = 5_000
"""Maximum number of notes in a folder."""
LONGEST_CONTEXT = 80
"""Maximum length of a heading, or of a parent item, that is appended to a statement in brackets."""
MOST_WORDS = 5
"""Maximum number of words in the name of a relation: a longer one is a sentence with a link in it."""
EXTRACT = "tars-memory extract reads conversations"
"""The hint about a source that may be a log or an export of logs."""

_OBSERVATION = re.compile(r"\[([^\W\d_][^\[\]\n()]{1,79})\][ \t]+(\S.*)", re.DOTALL)
"""``[category] text``; not the box of a task, which has one character, nor a link (``[a](b)``, ``[[a]]``)."""
_RELATION = re.compile(r"([^\[\]]*?)[ \t]*\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\][ \t]*(?:\([^()]*\))?[ \t]*")
"""``relation_type [[Target]] (context)``."""
_POINTER = re.compile(r"\[[^\[\]]*\]\(([^()\s]+\.md)\)")
_LABEL = re.compile(r"\*\*[^*\n]{1,40}(?::\*\*|\*\*:)")
"""``**Why:**``: a passage that begins like this continues the one above it."""
_BOLD = re.compile(r"\*\*([^*]{1,80})\*\*")
_IMPORT = re.compile(r"@\S+")


class Imported(NamedTuple):
    """A statement of another program's memory.

    Attributes:
        text: its words for a note: without markup, with the heading that it needs in brackets.
        quote: the original words, with white space folded.
        place: ``CLAUDE.md:12``, or the name of the file and the id in it.
        time: when the statement or its file was written, aware.
        rule: whether it is an instruction rather than a fact.
        claim: the fact that it states; None for none.
        dated: whether the time is the statement's own; that of the file says little.
    """

    text: str
    quote: str
    place: str
    time: datetime
    rule: bool = False
    claim: facts.Claim | None = None
    dated: bool = False


class Collection(NamedTuple):
    """The statements of one source.

    Attributes:
        transcript: the statements as turns, in order.
        statements: the statements, in the same order.
        passed: number of passages that are not statements (code, tables, quotes).
    """

    transcript: Transcript
    statements: tuple[Imported, ...]
    skipped: int = 0


def read(
    source: str | os.PathLike[str] | BinaryIO,
    now: datetime,
    form: str = "",
    ours: Callable[[str], bool] = lambda _: False,
) -> Iterator[Collection | Unknown]:
    """Read the statements of a file, folder or stream.

    Args:
        source: a path, or a binary stream.
        now: the time of a stream.
        form: one of :data:`FORMATS`; empty to detect it by the content.
        ours: tells whether a path is a note of our own memory, which is skipped.

    Yields:
        One collection for a folder of memories, or one for each file of instructions; and an Unknown for what could not
        be read. The content of a file never raises an error.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield _of_file(_File("-", "-", source.read(LARGEST_EXPORT + 1), now), form)
        return
    if not os.fspath(source):  # an empty variable in a script doesn't mean the current folder
        yield Unknown("''", "the path is empty")
        return
    path = os.path.normpath(os.fspath(source))
    try:
        if not os.path.isdir(path):
            yield _of_file(_File.of(path, os.path.basename(path), piped=True), form)
            return
        instructions = [inner for inner in (*sorted(os.listdir(path)), ".claude/CLAUDE.md") if _is_instructions(inner)]
        instructions = [inner for inner in instructions if os.path.isfile(os.path.join(path, inner))]
        if form in ("", INSTRUCTIONS) and instructions:
            for inner in instructions:
                yield _of_file(_File.of(os.path.join(path, inner), inner), INSTRUCTIONS)
            return
        yield _of_folder(path, form, ours)
    except _UnreadableError as error:
        yield error.unknown
    except (OSError, ValueError) as error:
        yield Unknown(path, f"it can't be read: {getattr(error, 'strerror', None) or error}")


def _is_instructions(path: str) -> bool:
    """Whether a file has the name of instructions for agents."""
    return os.path.basename(path).lower() in NAMES


class _UnreadableError(Exception):
    """A file can't be read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.unknown = Unknown(path, why)


class _File(NamedTuple):
    """A file that was read: its path as given, its name within the source, its bytes, and when it was written."""

    path: str
    name: str
    data: bytes
    time: datetime

    @classmethod
    def of(cls, path: str, inner: str, *, piped: bool = False) -> _File:
        """Read a file, up to one byte more than the largest that is accepted.

        Args:
            path: of the file.
            inner: its name within the source.
            piped: the file may be a pipe.

        Raises:
            _UnreadableError: it can't be read.
        """
        try:
            with open(os.open(path, os.O_RDONLY | (0 if piped else getattr(os, "O_NONBLOCK", 0))), "rb") as stream:
                found = os.fstat(stream.fileno())
                if not stat.S_ISREG(found.st_mode) and not (piped and stat.S_ISFIFO(found.st_mode)):
                    raise _UnreadableError(path, "it is not a regular file")
                data = stream.read(LARGEST_EXPORT + 1)
        except OSError as error:
            raise _UnreadableError(path, f"it can't be read: {error.strerror}") from error
        return cls(path, inner.replace(os.sep, "/"), data, datetime.fromtimestamp(found.st_mtime, UTC).astimezone())

    def text(self) -> str:
        """Decode the file.

        Raises:
            _UnreadableError: it is not text.
        """
        if self.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self.data.decode("utf-16", "replace")
        if b"\0" in self.data:
            is_archive = self.data.startswith(b"PK\x03\x04")
            raise _UnreadableError(self.path, f"it is an archive; {EXTRACT}" if is_archive else "it is not text")
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _UnreadableError(self.path, f"it is not UTF-8: byte {error.start:,} can't be read") from error

    def note(self) -> Document:
        """Parse the file as markdown.

        Raises:
            _UnreadableError: it is not text, or too large for a note.
        """
        if len(self.data) > LARGEST_NOTE:
            raise _UnreadableError(
                self.path, f"a note of more than {LARGEST_NOTE // 1_000_000} MB is not read: split it"
            )
        return Document(self.text().encode("utf-8"))


def _of_file(file: _File, form: str) -> Collection | Unknown:
    """Return the statements of one file."""
    if len(file.data) > LARGEST_EXPORT:
        return Unknown(file.path, f"it is larger than {LARGEST_EXPORT // 1_000_000} MB: split it")
    if not file.data.strip():
        return Unknown(file.path, "it is empty")
    try:
        if form == MEM0 or (not form and file.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")):
            return _collection(file.path, MEM0, _of_export(file))
        note = file.note()
        detected = form or _format_of(note) or (INSTRUCTIONS if _is_instructions(file.path) else "")
        detected = detected or (CLAUDE if _is_index(file.path) else "")
        if not detected:
            return Unknown(
                file.path, "it is not a memory in a known format; --format instructions reads its lines as rules"
            )
        return _collection(file.path, detected, *_of_note(file, note, detected))
    except _UnreadableError as error:
        return error.unknown


def _format_of(note: Document) -> str:
    """Return the format of a note by its front matter and lines; empty if it is not known."""
    properties = note.front_matter
    if _type_of(properties) and isinstance(properties.get("name"), str):
        return CLAUDE
    return BASIC if "permalink" in properties or any(_OBSERVATION.match(words) for _, words in _bullets(note)) else ""


def _type_of(properties: dict[str, Any]) -> str:
    """Return the type of a memory of Claude Code, which newer versions write within ``metadata``; empty for none."""
    metadata = properties.get("metadata")
    kind = properties.get("type") or (metadata.get("type") if isinstance(metadata, dict) else None)
    return kind if isinstance(kind, str) and kind in TYPES else ""


def _of_folder(path: str, form: str, ours: Callable[[str], bool]) -> Collection | Unknown:
    """Return the statements of all notes of a folder as one collection."""
    errors: list[OSError] = []
    notes_below = (inner for inner in files_below(path, errors.append) if inner[-3:].lower() == ".md")
    paths = [*islice((inner for inner in notes_below if not ours(inner)), MOST_FILES + 1)]
    if len(paths) > MOST_FILES:
        return Unknown(path, f"it has more than {MOST_FILES:,} notes: name a folder inside it")
    if errors:
        return Unknown(path, f"{errors[0].filename} can't be read: {errors[0].strerror}")
    files = [_File.of(inner, os.path.relpath(inner, path)) for inner in paths]
    notes = [(file, file.note()) for file in files]
    detected = form or next(
        (known for known in (CLAUDE, BASIC) if any(_format_of(note) == known for _, note in notes)),
        CLAUDE if any(_is_index(file.path) for file in files) else "",
    )
    if not detected or detected == MEM0:
        why = "it has no memory in a known format: no instructions, memories or observations"
        return Unknown(path, f"{why}; {EXTRACT}")
    statements: list[Imported] = []
    passed = 0
    for file, note in notes:
        more, count = _of_note(file, note, detected)
        statements += more
        passed += count
    return _collection(path, detected, statements, passed)


def _collection(path: str, form: str, statements: Iterable[Imported], passed: int = 0) -> Collection:
    """Return statements as a conversation; its id depends on the path."""
    absolute = os.path.abspath(path) if path != "-" else path
    parts = [part for part in absolute.split(os.sep) if part]
    base, parent = parts[-1], parts[-2] if len(parts) > 1 else ""
    if form == CLAUDE and base == "memory":  # …/projects/-home-me-website/memory
        title = f"memory of {parent}"
    elif form == INSTRUCTIONS and parent:
        title = f"{base} of {parts[-3] if parent == '.claude' and len(parts) > 2 else parent}"
    else:
        title = base if path != "-" else form
    kept = tuple(statement for statement in statements if statement.quote)
    turns = tuple(
        Turn(number, "user", statement.place, statement.quote, statement.time)
        for number, statement in enumerate(kept, 1)
    )
    own_id = f"{base} {sha256(os.path.realpath(absolute).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    start = turns[0].time if turns else None
    transcript = Transcript(path, form, "" if path == "-" else own_id, name(title), start, turns)
    return Collection(transcript, kept, passed)


def _place(file: str, where: object, separator: str = ":") -> str:
    """Return file and line, or file and id; a long path is cut at its beginning."""
    tail = f"{separator}{where}"
    return (file if len(file) + len(tail) <= MAX_NAME else f"…{file[len(tail) + 1 - MAX_NAME :]}") + tail


# -- markdown


class _Passage(NamedTuple):
    """A bullet, numbered item or paragraph: its line, its words, and its context (a parent item or heading)."""

    line: int
    words: str
    context: str


def _of_note(file: _File, note: Document, form: str) -> tuple[list[Imported], int]:
    """Return the statements of a note, and the number of passages that are not statements."""
    properties = note.front_matter
    day = front_day(properties) if form != INSTRUCTIONS else None
    written = (local(day, time(0, 0)) if day and day != file.time.date() else None) or file.time
    if form == BASIC:
        title = properties.get("title")
        stem = file.name.rpartition("/")[2].rpartition(".")[0] or file.name
        subject = clean(title) if isinstance(title, str) and title.strip() else stem
        found = [*_of_basic_memory(file, note, subject, written)]
        return [statement._replace(dated=day is not None) for statement in found], 0
    rule = form == INSTRUCTIONS or _type_of(properties) == "feedback"
    passages = [*_passages(note)]
    if form == CLAUDE and _is_index(file.path):  # it has a line for each of the other files
        passages = [passage for passage in passages if not _is_pointer(passage.words, os.path.dirname(file.path))]
    title = properties.get("name") if form == CLAUDE else ""
    joined: list[_Passage] = []
    for passage in passages:
        if title and joined and _LABEL.match(passage.words):
            joined[-1] = joined[-1]._replace(words=f"{joined[-1].words} {passage.words}")
        else:
            joined.append(passage)
    if isinstance(title, str) and len(joined) > 1:
        joined = [passage._replace(context=passage.context or title) for passage in joined]
    statements = [
        Imported(_worded(words, context), words, _place(file.name, line), written, rule, dated=bool(day))
        for line, words, context in joined
    ]
    kinds = [block.kind for block in note.blocks]
    return statements, sum(kind in ("fence", "code", "table", "quote", "html") for kind in kinds)


def _is_index(path: str) -> bool:
    """Whether a file has the name of an auto-memory's index."""
    return os.path.basename(path) == INDEX


def _is_pointer(words: str, folder: str) -> bool:
    """Whether a line of the index begins with a link to another file of the memory."""
    found = _POINTER.match(words)
    return found is not None and os.path.isfile(os.path.join(folder, found[1]))


def _worded(words: str, context: str) -> str:
    """Return a statement without markup, with its context in brackets if that is short and adds something."""
    words = words[:-1] if words.endswith(".") and not words.endswith("..") else words
    words = words[len(entries.task(words)) :] or words
    if label := _BOLD.match(context):
        context = label[1]
    context = " ".join(context.strip(" :*_`").translate({ord(char): " " for char in "[]*"}).split())
    fits = context and len(context) <= LONGEST_CONTEXT and context.casefold() not in words.casefold()
    return f"{words} [{context}]" if fits else words


def _passages(note: Document) -> Iterator[_Passage]:
    """Yield the bullets, numbered items and paragraphs of a note, in order.

    A passage that ends in a colon introduces those below it: it becomes their context, and is not yielded itself.
    Without such an introduction, the context is the heading, except for a note's only title, which applies to all of
    it.
    """
    titles = sum(section.level == 1 for section in note.sections)
    lead, section, items = "", None, note.items
    for block in note.blocks:
        own_section = note.section_at(block.start_line)
        if block.kind not in ("item", "paragraph") or own_section is not section:
            lead, section = "", own_section
        heading = own_section.title if own_section.level > 1 or titles > 1 else ""
        if block.kind == "item":
            yield from _items(note, block, items, lead or heading)
        elif block.kind == "paragraph":
            words = _folded(note.text(block.start_line, block.end_line))
            lead = words if _leads(words) else ""
            if not lead and words:
                yield _Passage(block.start_line, words, heading)


def _items(note: Document, block: Block, items: Sequence[Bullet], context: str) -> Iterator[_Passage]:
    """Yield a list item and those nested in it.

    Args:
        note: the note.
        block: the item.
        items: all items of the note.
        context: of the item.
    """
    contexts = {0: context}
    for item in items[bisect_left(items, (block.start_line,)) : bisect_left(items, (block.end_line + 1,))]:
        words = _folded(note.data[item.start : item.end].decode("utf-8", "replace")) if item.worded else ""
        contexts[item.depth + 1] = words
        if words and not (item.end_line > item.own_end_line and _leads(words)):
            yield _Passage(item.line, words, contexts.get(item.depth, context))


def _leads(words: str) -> bool:
    """Whether words only introduce those below them: they end in a colon."""
    return words.rstrip("*_ ").endswith(":")


def _bullets(note: Document) -> Iterator[tuple[int, str]]:
    """Yield line and words of each bullet."""
    for bullet in note.bullets:
        if bullet.worded:
            yield bullet.line, _folded(note.data[bullet.start : bullet.end].decode("utf-8", "replace"))


def _folded(text: str) -> str:
    """Return a text with its white space folded to single blanks, without lines that only name a file to read."""
    lines = (line for line in re.split(r"[\r\n]+", clean(text)) if not _IMPORT.fullmatch(line.strip()))
    return " ".join(" ".join(lines).split())


def _of_basic_memory(file: _File, note: Document, title: str, written: datetime) -> Iterator[Imported]:
    """Yield the observations of a note of Basic Memory, and its relations, which are facts."""
    for line, words in _bullets(note):
        place = _place(file.name, line)
        if observed := _OBSERVATION.match(words):
            yield Imported(_worded(observed[2], title), words, place, written)
        elif (related := _RELATION.fullmatch(words)) and related[2].strip():
            relation = _readable(related[1]) or "relates to"
            if len(relation.split()) <= MOST_WORDS:
                yield _fact(title, relation, related[2].strip(), words, place, written)


def _readable(relation: str) -> str:
    """Return the name of a relation with blanks for underscores."""
    return " ".join(relation.replace("_", " ").split())


def _fact(subject: str, relation: str, value: str, quote: str, place: str, written: datetime) -> Imported:
    """Return a relation as a statement with a fact."""
    value = wiki_words(value)
    claim = facts.claim_of(subject, relation, value)
    return Imported(f"{subject} {relation} {value}", quote, place, written, claim=claim)


# -- JSON


def _of_export(file: _File) -> list[Imported]:
    """Return the memories of an export of Mem0, the oldest first, and the relations of its graph.

    Raises:
        _UnreadableError: the file is not JSON, or has no memories.
    """
    try:
        export = json.loads(file.text())
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _UnreadableError(file.path, f"its JSON is incomplete or invalid: {why}; {EXTRACT}") from error
    table = export if isinstance(export, dict) else {}
    listed = export if isinstance(export, list) else first(table, ("results", "memories"))
    items = listed if isinstance(listed, list) else ()
    memories = [item for item in items if isinstance(item, dict) and isinstance(item.get("memory"), str)]
    relations = table.get("relations")
    if not memories and listed != [] and not relations:
        raise _UnreadableError(file.path, f'its JSON has no list of objects with "memory"; {EXTRACT}')
    users = {name(memory.get("user_id")) for memory in memories} - {""}
    found: list[Imported] = []
    for memory in memories:
        words = _folded(memory["memory"])
        written = instant(first(memory, ("updated_at", "created_at")))
        speaker = name(memory.get("user_id")) if len(users) > 1 else ""
        named = speaker and not words.casefold().startswith(speaker.casefold())
        text = f"{speaker}: {_worded(words, '')}" if named else _worded(words, "")
        place = _place(os.path.basename(file.path), name(str(memory.get("id") or "")) or "?", " ")
        found.append(Imported(text, words, place, written or file.time, dated=written is not None))
    found.sort(key=lambda statement: statement.time)  # in stable order, so that a later export begins with this one
    for number, edge in enumerate(relations if isinstance(relations, list) else (), 1):
        if not isinstance(edge, dict):
            continue
        parts = [edge.get("source"), edge.get("relationship"), first(edge, ("target", "destination"))]
        if all(isinstance(part, str) and part.strip() for part in parts):
            subject, relation, value = (_folded(str(part)) for part in parts)
            place = _place(os.path.basename(file.path), f"relation {number}", " ")
            quote = f"{subject} {relation} {value}"
            found.append(_fact(_readable(subject), _readable(relation), _readable(value), quote, place, file.time))
    return found
