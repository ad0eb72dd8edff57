"""Notes read for a prompt, as units: bullets, paragraphs, tables, each under its headings; which of their rules may be
trusted; what is left out of them, and that is said.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import NotFoundError, TarsError
from tars_memory.recall import decided as states, packing
from tars_memory.recall.packing import NO_ROOM, Portion
from tars_memory.vault import playbooks
from tars_memory.vault.markdown import lines as grammar
from tars_memory.vault.markdown.document import Block, Document
from tars_memory.vault.markdown.entries import parse
from tars_memory.vault.markdown.lines import ended_lines, may_say_end
from tars_memory.vault.model import Tier
from tars_memory.vault.secrets import veiled
from tars_memory.vault.vault import Vault, note_lines

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.recall.search import Answer, Shares
    from tars_memory.vault.layout import Layout


COMMENT = "a comment"
ENDED = "no longer true, or not yet"
FRONT_MATTER = "front matter"
ALONE = "nothing under it is shown"
REJECTED = "rejected in review"
EXPIRED = "expired in review"
REPLACED = "replaced in review"
FORGOTTEN = "forgotten here"


class Loaded:
    """One note as units.

    Args:
        path: relative to the vault.
        data: its bytes.
        whole_items: a list item is one unit with all that is nested in it: half a rule is another rule.
        over: what no longer counts, as (first line, last line).
        expired: candidates that expired are told as well.

    Attributes:
        lines: its text, as editors count it.
        units: in order, headings not among them (they hang on the units below them).
        headings: all of them.
        rules: raw lines of the units that are whole top-level bullets, by their first line.
        omitted: (first line, last line, why) of what is not content.
    """

    def __init__(
        self,
        path: str,
        data: bytes,
        *,
        whole_items: bool = False,
        over: Callable[[Document], Sequence[tuple[int, int]]] = lambda _: (),
        expired: bool = False,
    ) -> None:
        self.path = path
        self.whole_items = whole_items
        self.lines = note_lines(data)
        self.document = Document(data)
        self._expired = expired
        self._over = _joined(over(self.document))
        self.units: list[Portion] = []
        self.rules: dict[int, list[bytes]] = {}
        self.omitted: list[tuple[int, int, str]] = []
        self.headings: list[Portion] = []
        self._above: list[tuple[int, Portion]] = []
        self._bullets = [bullet.line for bullet in self.document.bullets]
        self._read()

    def _read(self) -> None:
        if self.document.front_matter_lines:
            self.omitted.append((*self.document.front_matter_lines, FRONT_MATTER))
        levels = {section.start_line: section.level for section in self.document.sections if section.level}
        for block in self.document.blocks:
            if block.kind == "heading":
                self._head(block, levels.get(block.start_line, 6))
            elif block.kind == "comment" or (block.kind == "html" and self._is_comment(block)):
                self.omitted.append((block.start_line, block.end_line, COMMENT))
            elif block.kind == "rule":
                self.omitted.append((block.start_line, block.end_line, "a rule between sections"))
            else:
                for first, last in self._parts(block):
                    self._take(first, last, whole=block.kind in ("fence", "code", "html", "table", "math"))
        inside = {n for b in self.document.blocks for n in range(b.start_line, b.end_line + 1)}
        for number in range(self.document.body_line, len(self.lines) + 1):
            if number not in inside and self.lines[number - 1].strip():
                self.omitted.append((number, number, "a definition that is not shown"))

    def raw(self, unit: Portion) -> list[bytes]:
        """The lines of a unit as they are, without blank ones."""
        data = self.document.data
        found = [data[line.start : line.end] for line in self.document.lines[unit.start_line - 1 : unit.end_line]]
        return [line for line in found if line.strip()]

    def _head(self, block: Block, level: int) -> None:
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        unit = Portion(self.path, block.start_line, self._shown(block.start_line, block.end_line))
        self._above.append((level, unit))
        self.headings.append(unit)

    def _take(self, first: int, last: int, *, whole: bool) -> None:
        texts = self._shown(first, last)
        if not any(texts):
            self.omitted.append((first, last, COMMENT))
            return
        why = "" if whole else dismissed(self.lines[first - 1])
        why = "" if why == EXPIRED and self._expired else why
        at = bisect_right(self._over, first, key=lambda lines: lines[0]) - 1
        if at >= 0 and last <= self._over[at][1]:
            why = ENDED
        if why:
            self.omitted.append((first, last, why))
            return
        raw = self.lines[first - 1 : last]
        says = () if whole else {key("\n".join(lines)) for lines in ([raw] if raw == texts else [raw, texts])}
        self.units.append(Portion(self.path, first, texts, says, tuple(unit for _, unit in self._above)))

    def _parts(self, block: Block) -> Iterator[tuple[int, int]]:
        """First and last line of what stands or falls together; of a list the bullets, with what follows each."""
        if block.kind != "item":
            lines = range(block.start_line, block.end_line + 1)
            if block.kind == "paragraph" and any(grammar.is_loose(self.lines[number - 1]) for number in lines):
                yield from ((number, number) for number in lines)  # a candidate each
            else:
                yield block.start_line, block.end_line
            return
        within = bisect_left(self._bullets, block.start_line), bisect_right(self._bullets, block.end_line)
        bullets = self.document.bullets[slice(*within)]
        if self.whole_items:
            if bullets and bullets[0].depth == 0 and bullets[0].line == block.start_line:
                self.rules[block.start_line] = self.raw(Portion(self.path, block.start_line, [""] * _count(block)))
            yield block.start_line, block.end_line
            return
        apart = (number for number in range(block.start_line, block.end_line) if grammar.is_apart(self.lines[number]))
        starts = sorted({block.start_line, *(bullet.line for bullet in bullets), *(number + 1 for number in apart)})
        for first, after in zip(starts, [*starts[1:], block.end_line + 1], strict=True):
            last = after - 1
            while last > first and not self.lines[last - 1].strip():
                last -= 1
            yield first, last

    def _shown(self, first: int, last: int) -> list[str]:
        return [packing.shown(line) for line in self.lines[first - 1 : last]]

    def _is_comment(self, block: Block) -> bool:
        text = "\n".join(self.lines[block.start_line - 1 : block.end_line]).strip()
        return text.startswith("<!--") and text.find("-->") in (-1, len(text) - 3)


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those spans of lines that no other one holds, in order."""
    found: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda lines: (lines[0], -lines[1])):
        if not found or span[1] > found[-1][1]:
            found.append(span)
    return found


def _count(block: Block) -> int:
    return block.end_line - block.start_line + 1


def key(text: str) -> str:
    """What a line says, without list mark, time, machinery, case, spacing and a full stop; '' if it is nothing but
    punctuation.
    """
    words = parse(grammar.unmarked(text).lstrip(grammar.BLANKS), timed=True).text
    return (
        " ".join(words.casefold().split()).rstrip(" .!。")
        if any(sign.isalnum() or not sign.isascii() for sign in words)
        else ""
    )


def dismissed(line: str) -> str:
    """Why a line is no longer to be told: the person rejected it, let it expire, or put other words in its place; else
    empty.
    """
    state = grammar.given_up(line)
    return "" if state is None else {"rejected": REJECTED, "expired": EXPIRED}.get(state, REPLACED)


# --- which rules may be trusted: those that a person typed or approved here, line for line, as the journal knows.


def by_approval(note: Loaded, known: frozenset[bytes]) -> tuple[list[Portion], list[Portion]]:
    """The rules that a person typed or approved, line for line, under such headings; and the others."""
    approved: list[Portion] = []
    others: list[Portion] = []
    for unit in note.units:
        raw = note.rules.get(unit.start_line)
        if raw and known.issuperset(raw):
            headings = [above for above in unit.headings if known.issuperset(note.raw(above))]
            approved.append(Portion(unit.path, unit.start_line, unit.texts, unit.says, headings))
        else:
            others.append(unit)
    return approved, others


Stands = Callable[[str, bytes], bool]
"""Whether a person approved a note, by its path, as these bytes have it: all of it, in this order
(:func:`tars_memory.vault.writing.history.stands_approved`)."""


def is_approved(vault: Vault, stands: Stands, path: str) -> bool:
    """Whether a note that is followed whole, a playbook, was approved as it is; one that can't be read was not."""
    try:
        return stands(path, vault.read(path))
    except TarsError:
        return False


def unapproved(vault: Vault, typed: Callable[[str], frozenset[bytes]], stands: Stands) -> dict[str, list[int]]:
    """The rules of the vault and its projects that nobody typed or approved here: by note, their lines.

    Args:
        vault: to read from; a note that can't be read has none.
        typed: by a note's path the lines that a person typed (:func:`tars_memory.vault.writing.history.typed_lines`).
        stands: for playbooks.
    """
    found: dict[str, list[int]] = {}
    for path in sorted(path for path in vault.paths() if vault.layout.tier_of(path) is Tier.PROCEDURAL):
        try:
            note = Loaded(path, vault.read(path), whole_items=True)
            lines = [unit.start_line for unit in by_approval(note, typed(path))[1]]
        except TarsError:
            continue
        if lines:
            found[path] = lines
    scopes = dict.fromkeys(("", *map(vault.layout.scope_of, vault.paths())))
    books = (path for path in playbooks.paths(vault, scopes) if not is_approved(vault, stands, path))
    return found | {path: [1] for path in books}


# --- reading, and which lines are told on purpose to nobody


class Beside(NamedTuple):
    """A shared vault, as a prompt takes notes from it.

    Attributes:
        name: what its notes are marked with.
        vault: to read from.
        hides: whether words are not told here: they were forgotten.
    """

    name: str
    vault: Vault
    hides: Callable[[str], bool]


WHY = {grammar.REJECTED: REJECTED, grammar.EXPIRED: EXPIRED, grammar.REPLACED: REPLACED, states.ENDED: ENDED}


class Conversations:
    """What a prompt may tell of conversations.

    Attributes:
        lines: by what a prompt calls a conversation, its lines by number; those that may not be told are empty.
        newer: by the place of a line that of the newest one that covers the same words, in a note or a conversation:
            the older never stands alone.
        automated: what a prompt calls those in which a program asked, and nobody typed.
        shared: by the whole path of a note of a shared vault the name of that, and the path in it.
    """

    def __init__(self) -> None:
        self.automated: set[str] = set()
        self.shared: dict[str, tuple[str, str]] = {}
        self.lines: dict[str, list[str]] = {}
        self.newer: dict[tuple[str, int], tuple[str, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.lines

    def put(self, name: str, number: int, text: str) -> None:
        """Take in a line of a conversation, or of a shared vault's note."""
        lines = self.lines.setdefault(name, [])
        lines += [""] * (number - len(lines))
        lines[number - 1] = text

    def pair(self, told: Iterable[Answer], said: Iterable[Answer], shares: Shares) -> None:
        """Find the newer ones of what was said among all lines that answer."""
        words = [(one, shares.words(one.text)) for one in told if one.day]
        for older in said:
            own = shares.words(older.text)
            newer = [one for one, held in words if one.day > older.day and held >= own] if older.day and own else []
            if newer:
                newest = max(newer, key=lambda one: one.day)
                self.newer[older.path, older.number] = (newest.path, newest.number)


class Reading:
    """The notes of one prompt.

    Args:
        vault: to read from.
        scope: a project whose notes may be used too; empty for none.
        decided: by block ids of daily lines what became of them, if they are no longer to be told.
        on: the day on which lines have to count still; None: all do.

    Attributes:
        notices: sentences for the person.
        notes: the lines of the notes that were read.
        called: how the prompt names notes whose own path it must not show.
        was: what lines of these notes were replaced by others, as :func:`loaded.key` gives it.
        settled: lines that are left out on purpose: recall must not bring them back.
        said: the lines of conversations.
        gone: what was left out, as (path, first line, last line, why).
    """

    def __init__(
        self, vault: Vault, scope: str, decided: Callable[[Sequence[str]], Mapping[str, str]], on: date | None
    ) -> None:
        self.vault = vault
        self.scope = scope
        self.decided = decided
        self.on = on
        self.notices: list[str] = []
        self.notes: dict[str, list[str]] = {}
        self.called: dict[str, str] = {}
        self.was: set[str] = set()
        self.settled: set[tuple[str, int]] = set()
        self.gone: list[tuple[str, int, int, str]] = []
        self.said = Conversations()

    def leave_out(self, path: str, first: int, last: int, why: str) -> None:
        """Note that lines are left out, and why."""
        self.gone.append((path, first, last, why))
        if why != NO_ROOM:
            self.settled.update((path, number) for number in range(first, last + 1))

    def typed_in(self, typed: Callable[[str], frozenset[bytes]], path: str) -> frozenset[bytes]:
        """What the journal says that a person typed; nothing, and a notice, if it can't be read."""
        try:
            return frozenset(map(veiled, typed(path)))  # as the note's own lines are
        except TarsError as error:
            self.notices.append(error.message)
            return frozenset()

    def scopes(self) -> list[str]:
        """The project, if there is one, and the vault outside projects."""
        return [self.scope, ""] if self.scope else [""]

    def read(self, paths: Iterable[str], *, whole_items: bool = False) -> Iterator[Loaded]:
        """Those of the notes that exist, each as units."""
        for path in paths:
            data = self._bytes(path)
            if data is not None:
                yield self._loaded(path, data, self._over(path, self.vault.layout), whole_items=whole_items)

    def read_beside(self, other: Beside, path: str, *, whole_items: bool = False) -> Loaded | None:
        """A note of a shared vault under its whole path, as units without what was forgotten here; None if it is not
        there.
        """
        try:
            data = veiled(other.vault.read(path))
        except NotFoundError:
            return None
        except TarsError as error:
            self.notices.append(f"{other.name}: {error.message}")
            return None
        whole = str(other.vault.root / path)
        self.said.shared[whole] = (other.name, path)
        note = self._loaded(whole, data, self._over(path, other.vault.layout), whole_items=whole_items)
        for unit in note.units:
            if other.hides("\n".join(unit.texts)):
                note.omitted.append((unit.start_line, unit.end_line, FORGOTTEN))
        gone = {first for first, _, why in note.omitted if why == FORGOTTEN}
        note.units = [unit for unit in note.units if unit.start_line not in gone]
        return note

    def _loaded(
        self, path: str, data: bytes, over: Callable[[Document], Sequence[tuple[int, int]]], *, whole_items: bool
    ) -> Loaded:
        note = Loaded(path, data, whole_items=whole_items, over=over, expired=self.on is None)
        self.notes[path] = note.lines
        if note.document.by_lines:
            self.notices.append(f"{path}: so long, or nested so deep, that it is read line by line")
        return note

    def _over(self, path: str, layout: Layout) -> Callable[[Document], list[tuple[int, int]]]:
        """What of a note no longer counts."""

        def ended(document: Document) -> list[tuple[int, int]]:
            if self.on is None or not may_say_end(document.data):
                return []
            session = layout.tier_of(path) is Tier.EPISODIC
            return ended_lines(document, self.on, facts=layout.is_facts(path), session=session)

        return ended

    def read_for_recall(self, path: str) -> None:
        """Read a note that lines are recalled from; those that Obsidian hides are not."""
        if path in self.said:
            self.notes[path] = self.said.lines[path]
            return
        data = self._bytes(path)
        if data is None:
            return
        self.notes[path] = note_lines(data)
        if b"%%" in data or b"<!--" in data:
            for first, last, why in Loaded(path, data).omitted:
                if why == COMMENT:
                    self.leave_out(path, first, last, why)
        if self.on is not None and may_say_end(data):
            for first, last in self._over(path, self.vault.layout)(Document(data)):
                self.leave_out(path, first, last, ENDED)
        tier, lines = self.vault.layout.tier_of(path), self.notes[path]
        self.was.update(map(key, filter(None, map(grammar.replaced_words, lines))))
        if tier is Tier.EPISODIC and b"#^" in data:
            known = self.decided(states.ids(lines))
            self.called[path] = states.called(path, lines, known)
            gone = states.standing(lines, known)
        elif tier is Tier.DAILY and b" ^" in data:
            named = {at: name for at, line in enumerate(lines) if (name := grammar.block_id_of(line))}
            known = self.decided(list(named.values()))
            gone = {index: known[name] for index, name in named.items() if name in known}
        else:
            return
        for index, state in gone.items():
            if state != grammar.EXPIRED or self.on is not None:
                self.leave_out(path, index + 1, index + 1, WHY[state])

    def _bytes(self, path: str) -> bytes | None:
        """A note's bytes, if it is of the right scope and can be read; a notice if it is there but can't be."""
        if self.vault.layout.scope_of(path) not in ("", self.scope):
            return None
        try:
            return veiled(self.vault.read(path))
        except NotFoundError:
            return None
        except TarsError as error:
            if error.message not in self.notices:
                self.notices.append(error.message)
            return None


def settled(found: Sequence[Answer], notes: dict[str, list[str]]) -> list[tuple[str, int]]:
    """Where the lines stand in the notes now, in the same order, each once; those that are gone are left out.

    Args:
        found: best first.
        notes: the lines of their notes, as far as these can be read.
    """
    places: dict[tuple[str, int], None] = {}
    where: dict[str, dict[str, list[int]]] = {}
    for line in found:
        lines = notes.get(line.path)
        if lines is None:
            continue
        number = line.number
        here = lines[number - 1] if 0 < number <= len(lines) else None
        if here is None or (here != line.text and not (line.partial and line.text in here)):
            if line.partial:
                candidates = [i for i, text in enumerate(lines, 1) if line.text in text]
            else:
                if line.path not in where:
                    where[line.path] = {}
                    for i, text in enumerate(lines, 1):
                        where[line.path].setdefault(text, []).append(i)
                candidates = where[line.path].get(line.text, [])
            if not candidates:
                continue
            number = min(candidates, key=lambda i: abs(i - line.number))
        places[line.path, number] = None
    return list(places)
