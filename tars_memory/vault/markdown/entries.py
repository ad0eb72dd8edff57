"""The grammar of one bullet, and how outside text becomes a bullet without forging machinery.

``- [time] [state] words #tag [by:: author] ([[note#^id|label]]) ^id``: only the words are required. Daily notes have
the time (``14:30``), feedback notes and entries under :data:`DECISIONS` the time with its date. The state is one of
:data:`STATES`. The author is given where several people or agents feed a vault. The link in round brackets is the
provenance of a promoted line. The block id is written only when something links to the line.
"""

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tars_memory.disk import sha256
from tars_memory.errors import UsageError
from tars_memory.vault.markdown.document import Bullet, Document, plain_heading
from tars_memory.vault.model import Entry
from tars_memory.vault.suspicion import visible as without_unseen

STATES = ("extracted", "promoted", "rejected", "expired")
"""The states of a machine-extracted candidate, in square brackets before its words."""

REPLACED, QUESTION, ANSWER = "replaced:: ", "question:: ", "answer:: "
"""Beginnings of bullets under an entry: the words that it replaced, and the question and answer that feedback is about;
Obsidian's inline fields."""

DECISIONS = "Decisions"
"""The heading in Memory.md under which entries begin with the date and time of their decision."""

MAX_AUTHOR = 80
"""Maximum length of an author's name, in characters."""

MAX_CHARACTERS = 1_000_000
"""Maximum length of an entry in characters: an entry is one line, and editors such as Obsidian stall on longer ones."""

_BLANKS = r"(?<![ \t])[ \t]"
"""The first blank of a run: a pattern that tried each blank of the run would take quadratic time."""
_TIME = r"(?:(\d{4}-\d\d-\d\d )?(?:[01]?\d|2[0-3]):[0-5]\d(?!\S)[ \t]*)"
_STATE = r"(?:\[(" + "|".join(STATES) + r")\](?!\S)[ \t]*)"
CHANNEL = r"(?:(?!{0})\[[^\[\]\s]{{1,40}}\][ \t]+(?={0}))".format(rf"\[(?:{'|'.join(STATES)})\](?!\S)")
"""The channel that tars writes before the state, such as ``[cli]``."""
CANDIDATE = rf"{_TIME}{CHANNEL}?{_STATE}(?=\S)"
"""The beginning of the words of a machine-extracted line."""
_BLOCK_ID = r"(?:^|(?<=[ \t]))\^([A-Za-z0-9-]+)$"
_PROVENANCE = r"(?:^|(?<=[ \t]))\(\[\[([^\[\]|\r\n]{1,400}#\^[A-Za-z0-9-]{1,100})(?:\|([^\[\]\r\n]{0,200}))?\]\]\)"
_AUTHOR = (
    r"(?:^|(?<=[ \t]))\[by::[ \t]*([^\[\]\s][^\[\]\r\n]{0,79}?)[ \t]*\]"
    r"(?=(?:[ \t]+[\[(](?:since|until)::[^\[\]()\r\n]{0,40}[\])])*$)"
)
"""The author at the end, or before a fact's dates, where a person may have put it."""
_NO_AUTHOR = r"[\[\]%<>$`^|#\\:\x00-\x1f\x7f]"
_TAG = r"[^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+"
"""Obsidian's own class of tag characters; a tag needs one that is not a digit."""

_FIELD = r"(?<!\\)[\[(]([^\[\]():]{1,80})::(?:[^\[\]()]|\[\[[^\[\]]{0,400}\]\]){0,400}[\])]"
"""A field in Dataview's brackets; its value may hold links."""

_BREAKS = r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+"
_START = (
    r"[-+*](?=[ \t]|$)",  # a list
    r"#{1,6}(?=[ \t]|$)",  # a heading
    r">",  # a quote
    r"([-_*])[ \t]*(?:\1[ \t]*)+$",  # a rule; with the bullet's own dash, two are enough
    r"</?[A-Za-z][A-Za-z0-9-]*(?=[\s/>]|$)|<[!?]",  # an HTML block
    r"\[[^\[\]]\](?=[ \t]|$)",  # a task
    r"\[(?:[^\[\]\\]|\\.)+\]:",  # a link or footnote definition, which would not be shown
)
"""Patterns of structure at the start of a bullet's words; a backslash before the first character escapes each."""


class Parts(NamedTuple):
    """A bullet's words, and the machinery around them.

    Attributes:
        text: the words.
        time: the time, with its date if it has one, as written.
        state: one of :data:`STATES`.
        provenance: target of the provenance link.
        label: label of that link.
        block_id: without the caret.
        author: name of the author.
        channel: the channel, with its brackets.
    """

    text: str
    time: str | None = None
    state: str | None = None
    provenance: str | None = None
    label: str | None = None
    block_id: str | None = None
    author: str | None = None
    channel: str | None = None


def parse(words: str, *, timed: bool = False) -> Parts:
    """Parse a bullet's own words, without the list mark.

    Args:
        words: the text after the mark; several lines are joined into one.
        timed: whether a time at the start is the entry's time (daily and feedback notes) or part of its text.
    """
    if "\n" in words or "\r" in words:
        words = " ".join(line.strip(" \t") for line in re.split(r"\r\n|\r|\n", words))
    text = words.strip(" \t")
    time = state = provenance = label = block_id = author = channel = None
    if timed and (match := re.match(_TIME, text)):
        time, text = match[0].strip(" \t"), text[match.end() :]
        if text[:1] == "[" and (match := re.match(CHANNEL, text)):
            channel, text = match[0].strip(" \t"), text[match.end() :]
    if text[:1] == "[" and (match := re.match(_STATE, text)):
        state, text = match[1], text[match.end() :]
    if "^" in text and (match := re.search(_BLOCK_ID, text)):
        block_id, text = match[1], text[: match.start()].rstrip(" \t")
    if "([[" in text and (match := re.search(_PROVENANCE + "$", text)):
        provenance, label, text = match[1], match[2], text[: match.start()].rstrip(" \t")
    if "[by::" in text and (match := re.search(_AUTHOR, text)):
        author, text = match[1], (text[: match.start()].rstrip(" \t") + text[match.end() :]).strip(" \t")
    return Parts(text, time, state, provenance, label, block_id, author, channel)


def label_of(entry: Entry) -> str:
    """Return the label of an entry's provenance link; empty for none."""
    return (entry.provenance and parse(entry.raw.strip(" \t-*+").strip()).label) or ""


def render(parts: Parts) -> str:
    """Return the bullet with its list mark, without a line ending. ``parts.text`` must already be neutralised."""
    link = None
    if parts.provenance:
        link = f"([[{parts.provenance}{'|' + parts.label if parts.label is not None else ''}]])"
    state, author = parts.state and f"[{parts.state}]", parts.author and f"[by:: {parts.author}]"
    words = (parts.time, parts.channel, state, parts.text, author, link, parts.block_id and f"^{parts.block_id}")
    return "- " + " ".join(word for word in words if word)


def author(text: str) -> str:
    """Return a name in the form for ``[by:: name]``; empty for no name.

    Raises:
        UsageError: the name is longer than 80 characters, or has a character with another meaning there.
    """
    name = " ".join(text.split())
    if len(name) > MAX_AUTHOR or re.search(_NO_AUTHOR, name) or not name.isprintable():
        raise UsageError(
            f"{text[:200]!r} is not an author",
            f"give TARS_AUTHOR, or author under [capture], a name of at most {MAX_AUTHOR} characters, in plain words",
        )
    return name


def unsigned(line: str) -> str:
    """Remove the author from a line."""
    if "[by::" not in line:
        return line
    return re.sub(_BLANKS + r"*\[by::[^\[\]\r\n]{1,80}\](?=[ \t]*(?:[\[(]|\^[^\s\[]*$|$))", "", line)


def bounded(text: str) -> str:
    """Return a text that is not too long for an entry.

    Raises:
        UsageError: it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"{len(text):,} characters are too many for one entry (at most {MAX_CHARACTERS:,})",
            "save it as a separate note in the vault: search finds it there, too",
        )
    return text


def neutralise(text: str) -> str:
    """Turn outside text into the words of one bullet.

    Nothing in the result can end the bullet, hide from the reader, or be read as our state tag, provenance or block id.
    All other characters stay. Idempotent.

    Line breaks become one blank; invisible characters are dropped; bytes that are not UTF-8 become U+FFFD; structure is
    escaped with a backslash, which Obsidian does not show.

    Raises:
        UsageError: nothing visible is left, or the text is too long for one line.
    """
    text = visible(bounded(text))
    if not any(char.isprintable() and not char.isspace() for char in text):
        raise UsageError("the text is empty", "give the text after the command")
    text = harmless(text)
    text = re.sub(r"^(?:`{3,}|~{3,})", _escaped, text)
    if number := re.match(r"(\d{1,9})(?=[.)](?:[ \t]|$))", text):
        return number[0] + "\\" + text[number.end() :]
    return "\\" + text if re.match("|".join(f"(?:{start})" for start in _START), text) else text


def visible(text: str) -> str:
    """Reduce outside text to one visible line: line breaks become one blank, and invisible characters are dropped.

    Lone surrogates become U+FFFD.
    """
    text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    text = " ".join(part for line in re.split(_BREAKS, text) if (part := line.strip(" \t")))
    return without_unseen(text).strip(" \t")


def harmless(line: str) -> str:
    """Escape a line so that nothing in it opens a comment or formula, is run by a plugin, or is read as our machinery.

    That machinery is state tag, provenance, author and block id. Structure at the start of the line stays. Idempotent.
    """
    line = re.sub(r"%{2,}", _escaped, line)
    line = line.replace("<!--", r"<\!--")
    line = line.replace("<%", r"<\%")  # with some settings, Templater runs it in every new note
    line = re.sub(
        r"(?<=`)([ \t]*)(?=\$=)", r"\1\\", line
    )  # with some settings, Dataview runs it in a note that is shown
    if len(re.findall(r"\${2,}", line)) % 2:
        line = re.sub(r"\${2,}", _escaped, line)
    line = re.sub(r"(?<!\\)(?=\[(?:(?:" + "|".join(STATES) + r")\]|by::))", r"\\", line)
    line = re.sub(_BLOCK_ID, r"\\^\1", line)
    return re.sub("(?=" + _PROVENANCE + ")", r"\\", line)


def _escaped(found: re.Match[str]) -> str:
    """Put a backslash before every character of a run, so that no two of them are adjacent."""
    return "".join("\\" + char for char in found[0])


def ref(path: str, text: str, occurrence: int = 0) -> str:
    """Return the ref of an entry: 8 characters of base32, computed from its note's path and its words.

    Args:
        path: path of the note, relative to the vault, with ``/``.
        text: :attr:`Entry.text`.
        occurrence: number of the entry among those with the same words in the note, from 0.
    """
    name = f"{path}\0{text}" + (f"\0{occurrence}" if occurrence else "")
    digest = sha256(name.encode("utf-8", "surrogateescape")).digest()
    return base64.b32encode(digest[:5]).decode("ascii").lower()


def block_id(path: str, text: str, prefix: str = "d", occurrence: int = 0) -> str:
    """Return the block id that an entry gets when something links to it, such as ``d-7f3ak2c``; equal on all machines.

    Args:
        path: path of the note, relative to the vault, with ``/``.
        text: :attr:`Entry.text`.
        prefix: stands for the kind of line.
        occurrence: number of the line among those with the same words in the note, from 0.
    """
    return f"{prefix}-{ref(path, text, occurrence)[:7]}"


def tags_of(text: str) -> tuple[str, ...]:
    """Return the ``#tag`` words of a text, without ``#``, in order and without duplicates; tags in code don't count."""
    if "#" not in text:
        return ()
    found = re.findall(r"(?:^|(?<=\s))#(" + _TAG + ")", re.sub(r"`[^`]*`", "", text))
    return tuple(dict.fromkeys(tag for tag in found if not tag.isdigit()))


def with_tags(text: str, names: Iterable[str]) -> str:
    """Append tags to a text, except those that it has already; ``names`` are without ``#``."""
    known = {name.casefold() for name in tags_of(text)}
    missing = [name for name in dict.fromkeys(names) if name.casefold() not in known]
    return " ".join([text, *(f"#{name}" for name in missing)])


def kept_fields(old: str, new: str) -> list[str]:
    """Return what new words must keep of the old ones: tags, unless the new words have some, and fields they lack.

    A field is Dataview's ``[key:: value]``, or in round brackets; an end date is one too.
    """
    bare = re.sub(r"`[^`]*`", "", old)
    known = {found[1].strip().casefold() for found in re.finditer(_FIELD, re.sub(r"`[^`]*`", "", new))}
    fields = [found[0] for found in re.finditer(_FIELD, bare) if found[1].strip().casefold() not in known]
    tags = [] if tags_of(new) else [f"#{name}" for name in tags_of(re.sub(_FIELD, "", bare))]
    return [*fields, *tags]


def tag(text: str) -> str:
    """Return a tag in the form that Obsidian accepts, without a leading ``#``.

    Raises:
        UsageError: the tag has a character that ends a tag, or only digits.
    """
    name = text.strip().removeprefix("#")
    if not re.fullmatch(_TAG, name) or name.isdigit() or not name.isprintable():
        raise UsageError(
            f"{text!r} is not a tag",
            "use letters, digits, - _ and / without blanks, and not digits alone: --tag work/plans",
        )
    return name


def heading(title: str) -> str:
    """Return the words of a heading in the form for a line after ``## ``. Idempotent.

    Raises:
        UsageError: no words are left.
    """
    words = re.sub(r"(?:(?:^|[ \t]+)#+)+$", "", visible(title))
    try:
        words = neutralise(re.sub(r"^(?:#{1,6}[ \t]+)+", "", words))
    except UsageError:
        words = ""
    if not plain_heading(words):
        raise UsageError(f"{title!r} is not a heading", "give a few words that don't begin with #, such as Work")
    return words


def is_decision(path: str, section: str) -> bool:
    """Whether an entry of a note under this heading is a decision, which begins with its date and time."""
    return (
        path.rpartition("/")[2].casefold() in ("memory.md", "pmemory.md") and section.casefold() == DECISIONS.casefold()
    )


def instant(words: str) -> str:
    """Return the date and time that words begin with (``2026-11-21 14:30``), as written; empty for none."""
    found = re.match(_TIME, words)
    return found[0].strip(" \t") if found and found[1] else ""


def task(text: str) -> str:
    """Return the checkbox at the start of an entry's words, with the blanks after it; empty if it is not a task."""
    box = re.match(r"\[[^\[\]]\][ \t]+", text)
    return box[0] if box else ""


def read_paragraphs(path: str, document: Document) -> list[Entry]:
    """Return the lines of paragraphs and numbered lists as entries of depth -1: for comparison, never to be changed."""
    listed = {number for bullet in document.bullets for number in range(bullet.line, bullet.end_line + 1)}
    found: list[Entry] = []
    for block in document.blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        for number in range(block.start_line, block.end_line + 1):
            raw = document.text(number)
            parts = parse("" if number in listed else re.sub(r"^\d{1,9}[.)][ \t]+", "", raw.strip(" \t")))
            if parts.text:
                section = document.section_at(number).title
                found.append(_entry(parts._replace(state=None), path, number, number, raw, section, depth=-1))
    return found


def before_state(words: str) -> str:
    """Return the time and channel at the start of a bullet's words: everything before the state tag."""
    found = re.match(f"{_TIME}{CHANNEL}?", words)
    return found[0] if found else ""


def with_unmarked(document: Document) -> list[Bullet]:
    """Return the bullets of a daily note, and its candidates without a list mark, which old notes of tars have.

    Right below a bullet, markdown counts such a line as part of the bullet; here it ends the bullet.
    """
    bullets = [*document.bullets]
    if not re.search(rb"(?m)^[ \t]*\d\d?:\d\d[ \t]+\[", document.data):
        return bullets
    found: list[Bullet] = []
    for block in document.blocks:
        blanks = {"paragraph": "[ \t]*", "item": ""}.get(block.kind)  # indented lines of an item belong to the item
        for number in range(block.start_line, block.end_line + 1) if blanks is not None else ():
            text = document.text(number)
            if re.match(rf"{blanks}{CANDIDATE}", text):
                line = document.lines[number - 1]
                start = line.start + len(text) - len(text.lstrip(" \t"))  # blanks are one byte each
                found.append(Bullet(number, number, number, start, line.end, 0, True))
    starts = [candidate.line for candidate in found]
    return [*(_cut_before(document, bullet, starts) for bullet in bullets), *found]


def _cut_before(document: Document, bullet: Bullet, starts: Sequence[int]) -> Bullet:
    """Cut a bullet before the first line in ``starts``, which begins an entry of its own."""
    last = next((start - 1 for start in starts if bullet.line < start <= bullet.end_line), bullet.end_line)
    if last < bullet.own_end_line:
        bullet = bullet._replace(own_end_line=last, end=document.lines[last - 1].end)
    return bullet._replace(end_line=last)


def plain(line: str) -> str:
    """Remove the state tag and block id from a line, and reduce its provenance link to the label (the date)."""
    if "[" in line and (match := re.match(r"([ \t]*(?:[-*+][ \t]+)?(?:" + _TIME + CHANNEL + "?)?)" + _STATE, line)):
        line = match[1] + line[match.end() :]
    if "^" in line:
        line = re.sub(rf"(?:^|{_BLANKS}+)\^[A-Za-z0-9-]+[ \t]*$", "", line)
    if "([[" not in line:
        return line
    return re.sub(_PROVENANCE + r"[ \t]*$", lambda found: f"({found[2] or found[1].partition('#')[0]})", line)


def has_entry(text: str, words: str) -> bool:
    """Whether an entry in some lines of a note has exactly these words, with any machinery around them."""
    if not all(word in text for word in words.split()):
        return False  # saves the parse
    document = Document(text.encode("utf-8", "surrogateescape"))
    return any(entry.text == words for timed in (False, True) for entry in read("", document, timed=timed))


def listed(document: Document, *, timed: bool, numbered: bool) -> Sequence[Bullet]:
    """Return the list items that are entries.

    Args:
        document: the note.
        timed: whether candidates without a list mark count (daily notes).
        numbered: whether numbered items count (playbooks).
    """
    return document.items if numbered else with_unmarked(document) if timed else document.bullets


def read(path: str, document: Document, *, timed: bool = False, numbered: bool = False) -> list[Entry]:
    """Return the entries of a note, nested ones too, in order of their lines; bullets without words are left out.

    Args:
        path: path of the note, relative to the vault, with ``/``.
        document: structure of the note.
        timed: see :func:`parse`.
        numbered: whether numbered items are entries too.
    """
    seen: dict[str, int] = {}
    found: list[Entry] = []
    bullets = listed(document, timed=timed, numbered=numbered)
    for bullet in sorted(bullets, key=lambda bullet: bullet.line):
        if not bullet.worded:
            continue
        words = document.data[bullet.start : bullet.end].decode("utf-8", "surrogateescape")
        section = document.section_at(bullet.line).title
        dated = timed or (is_decision(path, section) and bool(instant(words)))
        parts = parse(words, timed=dated)
        if not parts.text:
            continue
        occurrence = seen.get(parts.text, 0)
        seen[parts.text] = occurrence + 1
        raw = re.sub(r"\r\n|\r", "\n", document.text(bullet.line, bullet.own_end_line))
        place = {"ref": ref(path, parts.text, occurrence), "occurrence": occurrence, "depth": bullet.depth}
        found.append(_entry(parts, path, bullet.line, bullet.end_line, raw, section, **place))
    return found


def _entry(parts: Parts, path: str, line: int, end_line: int, raw: str, section: str, **place: Any) -> Entry:
    """Return an entry with the parts of its words."""
    text, time, state, provenance, _, block_id, author, _ = parts
    tags = tags_of(text)
    return Entry(path, line, end_line, text, raw, section, tags, time, state, block_id, provenance, author, **place)
