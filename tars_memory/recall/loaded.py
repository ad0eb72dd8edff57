"""Read notes for a prompt as units (bullets, paragraphs, tables, each under its headings), find the rules that may be
trusted, and record which lines are left out and why.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import NotFoundError, TarsError
from tars_memory.recall import decided as states, packing, query
from tars_memory.recall.packing import NO_ROOM, Portion
from tars_memory.vault import model, secrets
from tars_memory.vault.markdown import entries, lines as grammar
from tars_memory.vault.markdown.document import Block, Document
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
    """A note, divided into units.

    Args:
        path: relative to the vault.
        document: its text, divided into blocks.
        whole_items: whether a list item is one unit with all that is nested in it: half a rule is another rule.
        ended: the (first line, last line) of what has ended.
        expired: whether expired candidates become units too.

    Attributes:
        lines: of the note, counted as editors count them.
        units: in order, without headings (units refer to the headings above them).
        headings: all of them.
        rules: by first line the raw lines of the units that are whole top-level bullets.
        omitted: (first line, last line, why) of lines that are in no unit.
    """

    def __init__(
        self,
        path: str,
        document: Document,
        *,
        whole_items: bool = False,
        ended: Sequence[tuple[int, int]] = (),
        expired: bool = False,
    ) -> None:
        self.path = path
        self.whole_items = whole_items
        self.lines = note_lines(document.data)
        self.document = document
        self._expired = expired
        self._ended = _outermost(ended)
        self.units: list[Portion] = []
        self.rules: dict[int, list[bytes]] = {}
        self.omitted: list[tuple[int, int, str]] = []
        self.headings: list[Portion] = []
        self._open_headings: list[tuple[int, Portion]] = []
        self._bullets = [bullet.line for bullet in self.document.bullets]
        self._read()

    def _read(self) -> None:
        """Divide the blocks of the note into units, headings and omitted lines."""
        if self.document.front_matter_lines:
            self.omitted.append((*self.document.front_matter_lines, FRONT_MATTER))
        levels = {section.start_line: section.level for section in self.document.sections if section.level}
        for block in self.document.blocks:
            if block.kind == "heading":
                self._add_heading(block, levels.get(block.start_line, 6))
            elif block.kind == "comment" or (block.kind == "html" and self._is_comment(block)):
                self.omitted.append((block.start_line, block.end_line, COMMENT))
            elif block.kind == "rule":
                self.omitted.append((block.start_line, block.end_line, "a rule between sections"))
            else:
                for first, last in self._unit_spans(block):
                    self._add_unit(first, last, verbatim=block.kind in ("fence", "code", "html", "table", "math"))
        inside = {n for b in self.document.blocks for n in range(b.start_line, b.end_line + 1)}
        for number in range(self.document.body_line, len(self.lines) + 1):
            if number not in inside and self.lines[number - 1].strip():
                self.omitted.append((number, number, "a definition that is not shown"))

    def raw(self, unit: Portion) -> list[bytes]:
        """Return the lines of a unit as the note has them, without blank ones."""
        data = self.document.data
        found = [data[line.start : line.end] for line in self.document.lines[unit.start_line - 1 : unit.end_line]]
        return [line for line in found if line.strip()]

    def _add_heading(self, block: Block, level: int) -> None:
        """Add a heading, and close the open headings of the same or a deeper level."""
        while self._open_headings and self._open_headings[-1][0] >= level:
            self._open_headings.pop()
        unit = Portion(self.path, block.start_line, self._shown(block.start_line, block.end_line))
        self._open_headings.append((level, unit))
        self.headings.append(unit)

    def _add_unit(self, first: int, last: int, *, verbatim: bool) -> None:
        """Add lines as a unit, or record why they are left out.

        Args:
            first: line.
            last: line, inclusive.
            verbatim: whether the lines are code, a table or the like: no state is read from them, and they may repeat.
        """
        texts = self._shown(first, last)
        if not any(texts):
            self.omitted.append((first, last, COMMENT))
            return
        why = "" if verbatim else dismissed(self.lines[first - 1])
        why = "" if why == EXPIRED and self._expired else why
        at = bisect_right(self._ended, first, key=lambda lines: lines[0]) - 1
        if at >= 0 and last <= self._ended[at][1]:
            why = ENDED
        if why:
            self.omitted.append((first, last, why))
            return
        raw = self.lines[first - 1 : last]
        says = () if verbatim else {normalized("\n".join(lines)) for lines in ([raw] if raw == texts else [raw, texts])}
        self.units.append(Portion(self.path, first, texts, says, tuple(unit for _, unit in self._open_headings)))

    def _unit_spans(self, block: Block) -> Iterator[tuple[int, int]]:
        """Yield the first and last line of every unit of a block; of a list every bullet with the lines that follow it.

        Raw lines of whole top-level bullets are kept in :attr:`rules`.
        """
        lines = range(block.start_line, block.end_line + 1)
        if block.kind != "item":
            rows = (self.lines[number - 1] for number in lines)
            if block.kind == "paragraph" and any(map(grammar.is_unmarked_candidate, rows)):
                yield from ((number, number) for number in lines)  # every line is a candidate
            else:
                yield block.start_line, block.end_line
            return
        within = bisect_left(self._bullets, block.start_line), bisect_right(self._bullets, block.end_line)
        bullets = self.document.bullets[slice(*within)]
        if self.whole_items:
            if bullets and bullets[0].depth == 0 and bullets[0].line == block.start_line:
                self.rules[block.start_line] = self.raw(Portion(self.path, block.start_line, [""] * len(lines)))
            yield block.start_line, block.end_line
            return
        unmarked = (number for number in lines[1:] if grammar.is_outer_unmarked_candidate(self.lines[number - 1]))
        starts = sorted({block.start_line, *(bullet.line for bullet in bullets), *unmarked})
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


def _outermost(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of lines that no other span contains, in order."""
    found: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda lines: (lines[0], -lines[1])):
        if not found or span[1] > found[-1][1]:
            found.append(span)
    return found


def normalized(text: str) -> str:
    """Return the text of a line for comparison: without list mark, time, machinery, case, spacing and full stop; '' if
    only punctuation is left.
    """
    words = entries.parse(grammar.unmarked(text).lstrip(grammar.BLANKS), timed=True).text
    return " ".join(words.casefold().split()).rstrip(" .!。") if query.says_something(words) else ""


def dismissed(line: str) -> str:
    """Return why a line must not be shown any more (rejected, expired or replaced in review); '' if it may be."""
    state = grammar.dismissed_state(line)
    return "" if state is None else {"rejected": REJECTED, "expired": EXPIRED}.get(state, REPLACED)


# --- which rules may be trusted: those of which the journal knows that a person typed or approved every line here


def by_approval(note: Loaded, known: frozenset[bytes]) -> tuple[list[Portion], list[Portion]]:
    """Divide rules into approved ones and others.

    Args:
        note: with the rules.
        known: the lines that a person typed or approved.

    Returns:
        The rules of which every line is known, under those of their headings that are known too; and the other rules.
    """
    approved: list[Portion] = []
    others: list[Portion] = []
    for unit in note.units:
        raw = note.rules.get(unit.start_line)
        if raw and known.issuperset(raw):
            headings = [above for above in unit.headings if known.issuperset(note.raw(above))]
            approved.append(Portion(unit.path, unit.start_line, unit.texts, unit.wordings, headings))
        else:
            others.append(unit)
    return approved, others


ApprovalCheck = Callable[[str, bytes], bool]
"""Whether a person approved the note at a path with exactly these bytes: all lines, in this order
(:func:`tars_memory.vault.writing.history.stands_approved`)."""


def is_approved(vault: Vault, check: ApprovalCheck, path: str) -> bool:
    """Whether a person approved a playbook as it is now; False if it can't be read."""
    try:
        return check(path, vault.read(path))
    except TarsError:
        return False


# --- reading, and which lines are deliberately left out


class SharedSource(NamedTuple):
    """A shared vault from which a prompt takes notes.

    Attributes:
        name: shown with its notes.
        vault: to read from.
        hides: whether a text must not be shown here, because it was forgotten.
    """

    name: str
    vault: Vault
    hides: Callable[[str], bool]


WHY = {grammar.REJECTED: REJECTED, grammar.EXPIRED: EXPIRED, grammar.REPLACED: REPLACED, states.ENDED: ENDED}
"""Why a line is left out, by its state."""


class Conversations:
    """The lines of conversations, and of shared vaults, that a prompt may show.

    Attributes:
        lines: by name of a conversation, or absolute path of a shared note, its lines; '' for lines that must not be
            shown.
        words: by the place of a line of a conversation what was said, without the day and the speaker.
        newer: by the place of a line the place of the newest line, in a note or a conversation, that contains all its
            words: the older line is never shown without the newer one.
        automated: names of the conversations in which a program asked and nobody typed.
        shared: by absolute path of a shared note the name of its vault and the path in that vault.
    """

    def __init__(self) -> None:
        self.automated: set[str] = set()
        self.shared: dict[str, tuple[str, str]] = {}
        self.lines: dict[str, list[str]] = {}
        self.words: dict[tuple[str, int], str] = {}
        self.newer: dict[tuple[str, int], tuple[str, int]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.lines

    def put(self, name: str, number: int, text: str, words: str = "") -> None:
        """Add a line of a conversation, with what was said in it, or of a note of a shared vault."""
        lines = self.lines.setdefault(name, [])
        lines += [""] * (number - len(lines))
        lines[number - 1] = text
        if words:
            self.words[name, number] = words

    def pair(self, answers: Iterable[Answer], said: Iterable[Answer], shares: Shares) -> None:
        """Fill :attr:`newer`.

        Args:
            answers: all lines that answer the question.
            said: those of them that are from conversations.
            shares: tells which words of the question a line contains.
        """
        dated = [(answer, shares.words(answer.text)) for answer in answers if answer.day]
        for older in said:
            own = shares.words(older.text)
            newer = [one for one, words in dated if one.day > older.day and words >= own] if older.day and own else []
            if newer:
                newest = max(newer, key=lambda answer: answer.day)
                self.newer[older.path, older.number] = (newest.path, newest.number)


class Reading:
    """The notes of one prompt, and which of their lines are left out.

    Args:
        vault: to read from.
        scope: a project whose notes may be used too; '' for none.
        decided: returns, by block id, the states of those daily lines that must not be shown any more.
        on: the day on which lines have to hold; None to keep lines that have ended.

    Attributes:
        notices: sentences for the user.
        notes: by path the lines of the notes that were read.
        facts_on: an earlier day on which facts have to hold; None: the same.
        names: by path the names to show for notes whose path must not be shown.
        replaced: the normalized former texts of lines that were replaced.
        withheld: the places of lines that are left out on purpose: recall must not bring them back.
        conversations: the lines of conversations.
        left_out: (path, first line, last line, why) of all lines that were left out.
    """

    def __init__(
        self, vault: Vault, scope: str, decided: Callable[[Sequence[str]], Mapping[str, str]], on: date | None
    ) -> None:
        self.vault = vault
        self.scope = scope
        self.decided = decided
        self.on = on
        self.facts_on: date | None = None
        self.notices: list[str] = []
        self.notes: dict[str, list[str]] = {}
        self.names: dict[str, str] = {}
        self.replaced: set[str] = set()
        self.withheld: set[tuple[str, int]] = set()
        self.left_out: list[tuple[str, int, int, str]] = []
        self.conversations = Conversations()

    def leave_out(self, path: str, first: int, last: int, why: str) -> None:
        """Record that lines are left out, and why; unless the budget is the reason, recall won't bring them back."""
        self.left_out.append((path, first, last, why))
        if why != NO_ROOM:
            self.withheld.update((path, number) for number in range(first, last + 1))

    def typed_in(self, typed: Callable[[str], frozenset[bytes]], path: str) -> frozenset[bytes]:
        """Return the lines of a note that a person typed; none, and a notice, if the journal can't be read."""
        try:
            return frozenset(map(secrets.veiled, typed(path)))  # the lines of the note are veiled too
        except TarsError as error:
            self.notices.append(error.message)
            return frozenset()

    def scopes(self) -> list[str]:
        """Return the scopes of the prompt: the project, if there is one, and the vault outside projects."""
        return [self.scope, ""] if self.scope else [""]

    def read(self, paths: Iterable[str], *, whole_items: bool = False) -> Iterator[Loaded]:
        """Yield those of the notes that exist."""
        for path in paths:
            data = self._bytes(path)
            if data is not None:
                yield self._load_note(path, path, data, self.vault.layout, whole_items=whole_items)

    def read_shared(self, other: SharedSource, path: str, *, whole_items: bool = False) -> Loaded | None:
        """Read a note of a shared vault, without the units that were forgotten here.

        Returns:
            The note under its absolute path; None if it does not exist, or, with a notice, can't be read.
        """
        try:
            data = secrets.veiled(other.vault.read(path))
        except NotFoundError:
            return None
        except TarsError as error:
            self.notices.append(f"{other.name}: {error.message}")
            return None
        absolute = str(other.vault.root / path)
        self.conversations.shared[absolute] = (other.name, path)
        note = self._load_note(absolute, path, data, other.vault.layout, whole_items=whole_items)
        forgotten = {unit.start_line: unit for unit in note.units if other.hides("\n".join(unit.texts))}
        note.omitted += [(unit.start_line, unit.end_line, FORGOTTEN) for unit in forgotten.values()]
        note.units = [unit for unit in note.units if unit.start_line not in forgotten]
        return note

    def _load_note(self, name: str, path: str, data: bytes, layout: Layout, *, whole_items: bool) -> Loaded:
        """Divide a note into units and keep its lines in :attr:`notes`, by ``name``; ``path`` is in its own vault."""
        document = Document(data)
        ended = self._ended_spans(path, document, layout)
        note = Loaded(name, document, whole_items=whole_items, ended=ended, expired=self.on is None)
        self.notes[name] = note.lines
        if document.by_lines:
            self.notices.append(f"{name}: so long, or nested so deep, that it is read line by line")
        return note

    def _ended_spans(self, path: str, document: Document, layout: Layout) -> list[tuple[int, int]]:
        """Return the (first, last) lines of a note that have ended."""
        if self.on is None or not grammar.may_have_any_end(document.data):
            return []
        session = layout.tier_of(path) is model.Tier.EPISODIC
        is_facts = layout.is_facts(path)
        return grammar.ended_lines(document, (is_facts and self.facts_on) or self.on, facts=is_facts, session=session)

    def read_for_recall(self, path: str) -> None:
        """Read a note from which lines are recalled; leave out lines that are hidden, ended or decided against."""
        if path in self.conversations:
            self.notes[path] = self.conversations.lines[path]
            return
        data = self._bytes(path)
        if data is None:
            return
        self.notes[path] = note_lines(data)
        if b"%%" in data or b"<!--" in data:
            for first, last, why in Loaded(path, Document(data)).omitted:
                if why == COMMENT:
                    self.leave_out(path, first, last, why)
        if self.on is not None and grammar.may_have_any_end(data):
            for first, last in self._ended_spans(path, Document(data), self.vault.layout):
                self.leave_out(path, first, last, ENDED)
        tier, lines = self.vault.layout.tier_of(path), self.notes[path]
        self.replaced.update(map(normalized, filter(None, map(grammar.replaced_words, lines))))
        if tier is model.Tier.EPISODIC and b"#^" in data:
            known = self.decided(states.linked_ids(lines))
            self.names[path] = states.shown_path(path, lines, known)
            outdated = states.line_states(lines, known)
        elif tier is model.Tier.DAILY and b" ^" in data:
            block_ids = {index: name for index, line in enumerate(lines) if (name := grammar.block_id_of(line))}
            known = self.decided(list(block_ids.values()))
            outdated = {index: known[name] for index, name in block_ids.items() if name in known}
        else:
            return
        for index, state in outdated.items():
            if state != grammar.EXPIRED or self.on is not None:
                self.leave_out(path, index + 1, index + 1, WHY[state])

    def _bytes(self, path: str) -> bytes | None:
        """Return the bytes of a note; None if it has another scope, does not exist or, with a notice, can't be read."""
        if self.vault.layout.scope_of(path) not in ("", self.scope):
            return None
        try:
            return secrets.veiled(self.vault.read(path))
        except NotFoundError:
            return None
        except TarsError as error:
            if error.message not in self.notices:
                self.notices.append(error.message)
            return None


def relocate(answers: Sequence[Answer], notes: dict[str, list[str]]) -> list[tuple[str, int]]:
    """Return where the lines are in the notes now, in the same order, without repeats and without lines that are gone.

    Args:
        answers: best first.
        notes: by path the lines of their notes, as far as these can be read.
    """
    places: dict[tuple[str, int], None] = {}
    numbers_by_text: dict[str, dict[str, list[int]]] = {}
    for line in answers:
        lines = notes.get(line.path)
        if lines is None:
            continue
        number = line.number
        here = lines[number - 1] if 0 < number <= len(lines) else None
        if here is None or (here != line.text and not (line.partial and line.text in here)):
            if line.partial:
                candidates = [i for i, text in enumerate(lines, 1) if line.text in text]
            else:
                if line.path not in numbers_by_text:
                    numbers_by_text[line.path] = {}
                    for i, text in enumerate(lines, 1):
                        numbers_by_text[line.path].setdefault(text, []).append(i)
                candidates = numbers_by_text[line.path].get(line.text, [])
            if not candidates:
                continue
            number = min(candidates, key=lambda i: abs(i - line.number))
        places[line.path, number] = None
    return list(places)
