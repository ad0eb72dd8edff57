"""The memories of other programs: what they say, statement by statement, with its place, day and exact words.

Read as a conversation in which each statement is a turn of the person, so that all that holds for conversations holds
for them: what was examined before is known again, what was forgotten stays out. The content decides the format; only
instructions for agents are known by their names, for nothing else shows that they are that. Nothing is written.
"""

from __future__ import annotations

import json
import os
import re
import stat
from datetime import UTC, datetime, time
from itertools import takewhile
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from tars_memory.capture.text_logs import local
from tars_memory.capture.turns import MAX_NAME, Transcript, Turn, Unknown, clean, first, instant, name
from tars_memory.disk import sha256
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import Block, Document, front_day, wiki_words
from tars_memory.vault.markdown.lines import FENCE, unmarked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


INSTRUCTIONS, CLAUDE, BASIC, MEM0 = "instructions", "claude-memory", "basic-memory", "mem0"
FORMATS = (INSTRUCTIONS, CLAUDE, BASIC, MEM0)
"""What is read: ``CLAUDE.md`` and its like, Claude Code's auto-memory, Basic Memory's notes, Mem0's exports."""

NAMES = frozenset({"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md"})
"""How files of instructions are called, in lower case (code.claude.com/docs/en/memory, agents.md, geminicli.com)."""

INDEX = "MEMORY.md"
"""The index of Claude Code's auto-memory."""

TYPES = frozenset({"user", "feedback", "project", "reference"})
"""The types of Claude Code's memories; ``feedback`` says how to work."""

LARGEST_NOTE = 2_000_000
"""Bytes of a note."""
LARGEST_EXPORT = 50_000_000
"""Bytes of JSON, which is read as a whole."""
MOST_FILES = 5_000
"""Notes of a folder."""
LONGEST_CONTEXT = 80
"""Characters of a heading, or of the item above, that stand in brackets behind a statement."""
MOST_WORDS = 5
"""Of the name of a relation: more is a sentence with a link in it."""

_OBSERVATION = re.compile(r"\[([^\W\d_][^\[\]\n()]{1,79})\][ \t]+(\S.*)", re.DOTALL)
"""``[category] text``; a task's box holds one character, a link goes on with ``(`` or is doubled."""
_RELATION = re.compile(r"([^\[\]]*?)[ \t]*\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\][ \t]*(?:\([^()]*\))?[ \t]*")
"""``relation_type [[Target]] (context)``."""
_POINTER = re.compile(r"\[[^\[\]]*\]\(([^()\s]+\.md)\)")
_LABEL = re.compile(r"\*\*[^*\n]{1,40}(?::\*\*|\*\*:)")
"""``**Why:**``: what begins so goes on with what is above it."""
_BOLD = re.compile(r"\*\*([^*]{1,80})\*\*")
_IMPORT = re.compile(r"@\S+")


class Imported(NamedTuple):
    """One statement.

    Attributes:
        text: its words as they may be kept: without marks, with the heading that it needs in brackets.
        quote: as it is there, white space folded.
        place: ``CLAUDE.md:12``, or the name of the file and the id in it.
        time: aware; when it was written, or its file.
        rule: it says how to work, rather than what is so.
        claim: what it states over time; None for nothing.
        dated: the time is its own; else it is that of its file, which says little.
    """

    text: str
    quote: str
    place: str
    time: datetime
    rule: bool = False
    claim: facts.Claim | None = None
    dated: bool = False


class Collection(NamedTuple):
    """What was read of one source.

    Attributes:
        transcript: its statements as turns, in order.
        statements: the same.
        passed: passages that are not statements (code, tables, quotes), counted.
    """

    transcript: Transcript
    statements: tuple[Imported, ...]
    passed: int = 0


def read(
    source: str | os.PathLike[str] | BinaryIO,
    now: datetime,
    form: str = "",
    ours: Callable[[str], bool] = lambda _: False,
) -> Iterator[Collection | Unknown]:
    """What a file, folder or stream holds.

    Args:
        source: a path, or a binary stream.
        now: when it was written, if nothing says so.
        form: one of :data:`FORMATS`; empty to tell it by the content.
        ours: whether a path is a note of this very memory, which is passed over.

    Yields:
        One collection for a folder of memories, one for each file of instructions; and what could not be read, with
        the reason. Nothing is raised for what a file holds.
    """
    if not isinstance(source, (str, os.PathLike)):
        yield _of_file(_File("-", "-", source.read(LARGEST_EXPORT + 1), now), form)
        return
    if not os.fspath(source):  # as a script's empty variable: not the current folder
        yield Unknown("''", "the path is empty")
        return
    path = os.path.normpath(os.fspath(source))
    try:
        if not os.path.isdir(path):
            yield _of_file(_File.of(path, os.path.basename(path), piped=True), form)
            return
        instructions = [inner for inner in (*sorted(os.listdir(path)), ".claude/CLAUDE.md") if _instructs(inner)]
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


def _instructs(path: str) -> bool:
    return os.path.basename(path).lower() in NAMES


class _UnreadableError(Exception):
    """A file can't be read."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.unknown = Unknown(path, why)


class _File(NamedTuple):
    """A file that was read: its path as it was named, its name within the source, its bytes, when it was written."""

    path: str
    name: str
    data: bytes
    time: datetime

    @classmethod
    def of(cls, path: str, inner: str, *, piped: bool = False) -> _File:
        """Read it; a pipe only if it was named, and nothing that is larger than can be used.

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
        """What it says.

        Raises:
            _UnreadableError: it is not text.
        """
        if self.data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self.data.decode("utf-16", "replace")
        if b"\0" in self.data:
            raise _UnreadableError(self.path, "it is not text")
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _UnreadableError(self.path, f"it is not UTF-8: byte {error.start:,} can't be read") from error

    def note(self) -> Document:
        """It as markdown.

        Raises:
            _UnreadableError: it is not text, or too large for a note.
        """
        if len(self.data) > LARGEST_NOTE:
            raise _UnreadableError(
                self.path, f"a note of more than {LARGEST_NOTE // 1_000_000} MB is not read: split it"
            )
        return Document(self.text().encode("utf-8"))


def _of_file(file: _File, form: str) -> Collection | Unknown:
    """What one file holds."""
    if len(file.data) > LARGEST_EXPORT:
        return Unknown(file.path, f"it is larger than {LARGEST_EXPORT // 1_000_000} MB: split it")
    if not file.data.strip():
        return Unknown(file.path, "it is empty")
    try:
        if form == MEM0 or (not form and file.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")):
            return _collection(file.path, MEM0, _of_export(file))
        note = file.note()
        found = form or _format_of(note) or (INSTRUCTIONS if _instructs(file.path) else "")
        found = found or (CLAUDE if _is_index(file.path) else "")
        if not found:
            return Unknown(
                file.path, "it is not memory of a known format; --format instructions reads its lines as rules"
            )
        return _collection(file.path, found, *_of_note(file, note, found))
    except _UnreadableError as error:
        return error.unknown


def _format_of(note: Document) -> str:
    """The format of a note by its front matter and lines; empty if it has none that is known."""
    said = note.front_matter
    if _type_of(said) and isinstance(said.get("name"), str):
        return CLAUDE
    return BASIC if "permalink" in said or any(_OBSERVATION.match(words) for _, words in _bullets(note)) else ""


def _type_of(said: dict[str, Any]) -> str:
    """The type of one of Claude Code's memories: a property of its own, or of ``metadata`` as newer versions write."""
    within = said.get("metadata")
    kind = said.get("type") or (within.get("type") if isinstance(within, dict) else None)
    return kind if isinstance(kind, str) and kind in TYPES else ""


def _of_folder(path: str, form: str, ours: Callable[[str], bool]) -> Collection | Unknown:
    """What the notes of a folder hold, as one collection."""
    paths: list[str] = []
    closed: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=closed.append):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        here = (os.path.join(folder, each) for each in sorted(names) if each[-3:].lower() == ".md")
        paths += (each for each in here if not os.path.basename(each).startswith(".") and not ours(each))
        if len(paths) > MOST_FILES:
            return Unknown(path, f"it holds more than {MOST_FILES:,} notes: name a folder inside it")
    if closed:
        return Unknown(path, f"{closed[0].filename} can't be read: {closed[0].strerror}")
    files = [_File.of(each, os.path.relpath(each, path)) for each in paths]
    notes = [(file, file.note()) for file in files]
    found = form or next(
        (each for each in (CLAUDE, BASIC) if any(_format_of(note) == each for _, note in notes)),
        CLAUDE if any(_is_index(file.path) for file in files) else "",
    )
    if not found or found == MEM0:
        return Unknown(path, "it holds no memory of a known format: no instructions, memories or observations")
    statements: list[Imported] = []
    passed = 0
    for file, note in notes:
        more, count = _of_note(file, note, found)
        statements += more
        passed += count
    return _collection(path, found, statements, passed)


def _collection(path: str, form: str, statements: Iterable[Imported], passed: int = 0) -> Collection:
    """Statements as a conversation; it bears a name that holds for the same place only."""
    whole = os.path.abspath(path) if path != "-" else path
    parts = [part for part in whole.split(os.sep) if part]
    base, above = parts[-1], parts[-2] if len(parts) > 1 else ""
    if form == CLAUDE and base == "memory":  # …/projects/-home-me-website/memory
        title = f"memory of {above}"
    elif form == INSTRUCTIONS and above:
        title = f"{base} of {parts[-3] if above == '.claude' and len(parts) > 2 else above}"
    else:
        title = base if path != "-" else form
    kept = tuple(statement for statement in statements if statement.quote)
    turns = tuple(
        Turn(number, "user", statement.place, statement.quote, statement.time)
        for number, statement in enumerate(kept, 1)
    )
    known = f"{base} {sha256(os.path.realpath(whole).encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"
    start = turns[0].time if turns else None
    transcript = Transcript(path, form, "" if path == "-" else known, name(title), start, turns)
    return Collection(transcript, kept, passed)


def _place(file: str, where: object, sign: str = ":") -> str:
    """File and line, or file and id; of a long path the end."""
    tail = f"{sign}{where}"
    return (file if len(file) + len(tail) <= MAX_NAME else f"…{file[len(tail) + 1 - MAX_NAME :]}") + tail


# -- markdown


class _Passage(NamedTuple):
    """A bullet, numbered item or paragraph: its line, its words, and the words that it hangs on."""

    line: int
    words: str
    context: str


def _of_note(file: _File, note: Document, form: str) -> tuple[list[Imported], int]:
    """The statements of a note, and how many passages are not statements."""
    said = note.front_matter
    day = front_day(said) if form != INSTRUCTIONS else None
    written = (local(day, time(0, 0)) if day and day != file.time.date() else None) or file.time
    if form == BASIC:
        title = said.get("title")
        stem = file.name.rpartition("/")[2].rpartition(".")[0] or file.name
        subject = clean(title) if isinstance(title, str) and title.strip() else stem
        return [each._replace(dated=day is not None) for each in _knowledge(file, note, subject, written)], 0
    rule = form == INSTRUCTIONS or _type_of(said) == "feedback"
    passages = [each for each in _passages(note) if not _IMPORT.fullmatch(each.words)]
    if form == CLAUDE and _is_index(file.path):  # a line for each of the other files
        passages = [each for each in passages if not _points(each.words, os.path.dirname(file.path))]
    named = said.get("name") if form == CLAUDE else ""
    held: list[_Passage] = []
    for passage in passages:
        if named and held and _LABEL.match(passage.words):
            held[-1] = held[-1]._replace(words=f"{held[-1].words} {passage.words}")
        else:
            held.append(passage)
    if isinstance(named, str) and len(held) > 1:
        held = [each._replace(context=each.context or named) for each in held]
    found = [
        Imported(
            _worded(each.words, each.context), each.words, _place(file.name, each.line), written, rule, dated=bool(day)
        )
        for each in held
    ]
    kinds = [block.kind for block in note.blocks]
    return found, sum(kind in ("fence", "code", "table", "quote", "html") for kind in kinds)


def _is_index(path: str) -> bool:
    return os.path.basename(path) == INDEX


def _points(words: str, folder: str) -> bool:
    """Whether a line of the index only says where one of the other files is."""
    found = _POINTER.match(words)
    return found is not None and os.path.isfile(os.path.join(folder, found[1]))


def _worded(words: str, context: str) -> str:
    """A statement with what it hangs on in brackets."""
    words = words[:-1] if words.endswith(".") and not words.endswith("..") else words
    words = words[len(entries.task(words)) :] or words
    if label := _BOLD.match(context):
        context = label[1]
    context = " ".join(context.strip(" :*_`").translate({ord(sign): " " for sign in "[]*"}).split())
    fits = context and len(context) <= LONGEST_CONTEXT and context.casefold() not in words.casefold()
    return f"{words} [{context}]" if fits else words


def _passages(note: Document) -> Iterator[_Passage]:
    """The bullets, numbered items and paragraphs of a note, in order.

    What ends in a colon and has others below it is what they hang on, and says nothing by itself; else they hang on
    their heading. The one title of a note names all of it, so nothing hangs on that.
    """
    tops = sum(section.level == 1 for section in note.sections)
    lead, section = "", None
    for block in note.blocks:
        here = note.section_at(block.start_line)
        if block.kind not in ("item", "paragraph") or here is not section:
            lead, section = "", here
        heading = here.title if here.level > 1 or tops > 1 else ""
        if block.kind == "item":
            yield from _items(note, block, lead or heading)
        elif block.kind == "paragraph":
            words = _folded(note.text(block.start_line, block.end_line))
            lead = words if _leads(words) else ""
            if not lead and words:
                yield _Passage(block.start_line, words, heading)


def _items(note: Document, block: Block, context: str) -> Iterator[_Passage]:
    """The bullets of a list item, or the item itself if it is a numbered one."""
    within = [each for each in note.bullets if block.start_line <= each.line <= block.end_line]
    above = {0: context}
    if not within or within[0].line != block.start_line:
        end = within[0].line - 1 if within else block.end_line
        lines = (note.text(number) for number in range(block.start_line, end + 1))
        own = takewhile(lambda line: line.strip() and not FENCE.match(line.lstrip()), lines)
        words = _folded(unmarked("\n".join(own).lstrip()))
        above[1] = words
        if words and not (within and _leads(words)):
            yield _Passage(block.start_line, words, context)
    for bullet in within:
        words = _folded(note.data[bullet.start : bullet.end].decode("utf-8", "replace")) if bullet.worded else ""
        above[bullet.depth + 1] = words
        if words and not (bullet.end_line > bullet.own_end_line and _leads(words)):
            yield _Passage(bullet.line, words, above.get(bullet.depth, context))


def _leads(words: str) -> bool:
    """Whether words only say what comes below them."""
    return words.rstrip("*_ ").endswith(":")


def _bullets(note: Document) -> Iterator[tuple[int, str]]:
    """Line and words of each bullet."""
    for bullet in note.bullets:
        if bullet.worded:
            yield bullet.line, _folded(note.data[bullet.start : bullet.end].decode("utf-8", "replace"))


def _folded(text: str) -> str:
    return " ".join(clean(text).split())


def _knowledge(file: _File, note: Document, title: str, written: datetime) -> Iterator[Imported]:
    """The observations of one of Basic Memory's notes, and its relations, which are facts."""
    for line, words in _bullets(note):
        place = _place(file.name, line)
        if observed := _OBSERVATION.match(words):
            yield Imported(_worded(observed[2], title), words, place, written)
        elif (related := _RELATION.fullmatch(words)) and related[2].strip():
            relation = _spoken(related[1]) or "relates to"
            if len(relation.split()) <= MOST_WORDS:
                yield _fact(title, relation, related[2].strip(), words, place, written)


def _spoken(relation: str) -> str:
    """The name of a relation as one says it."""
    return " ".join(relation.replace("_", " ").split())


def _fact(subject: str, relation: str, value: str, quote: str, place: str, written: datetime) -> Imported:
    value = wiki_words(value)
    claim = facts.claim_of(subject, relation, value)
    return Imported(f"{subject} {relation} {value}", quote, place, written, claim=claim)


# -- JSON


def _of_export(file: _File) -> list[Imported]:
    """The memories of an export of Mem0, the oldest first, and the relations of its graph.

    Raises:
        _UnreadableError: it is not JSON, or holds none.
    """
    try:
        said = json.loads(file.text())
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise _UnreadableError(file.path, f"it is not a whole JSON: {why}") from error
    held = said if isinstance(said, list) else first(said, ("results", "memories")) if isinstance(said, dict) else None
    memories = [each for each in held or () if isinstance(each, dict) and isinstance(each.get("memory"), str)]
    related = said.get("relations") if isinstance(said, dict) else None
    if not memories and held != [] and not related:
        raise _UnreadableError(
            file.path, 'its JSON has no list of objects with "memory"; tars-memory extract reads conversations'
        )
    users = {name(each.get("user_id")) for each in memories} - {""}
    found: list[Imported] = []
    for each in memories:
        words = _folded(each["memory"])
        written = instant(first(each, ("updated_at", "created_at")))
        speaker = name(each.get("user_id")) if len(users) > 1 else ""
        named = speaker and not words.casefold().startswith(speaker.casefold())
        text = f"{speaker}: {_worded(words, '')}" if named else _worded(words, "")
        place = _place(os.path.basename(file.path), name(str(each.get("id") or "")) or "?", " ")
        found.append(Imported(text, words, place, written or file.time, dated=written is not None))
    found.sort(key=lambda statement: statement.time)  # stable: a later export goes on where this one ends
    for number, each in enumerate(related if isinstance(related, list) else (), 1):
        parts = [each.get(key) for key in ("source", "relationship")] if isinstance(each, dict) else [None]
        parts += [first(each, ("target", "destination"))] if isinstance(each, dict) else []
        if all(isinstance(part, str) and part.strip() for part in parts):
            subject, relation, value = (_folded(str(part)) for part in parts)
            place = _place(os.path.basename(file.path), f"relation {number}", " ")
            quote = f"{subject} {relation} {value}"
            found.append(_fact(_spoken(subject), _spoken(relation), _spoken(value), quote, place, file.time))
    return found
