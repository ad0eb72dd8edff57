"""What a name or a question leads to: facts, the lines that ``--about`` and ``--topic`` leave, notes by links and tags,
notes that are near one. What the index knows of names comes in from :mod:`tars_memory.index.naming`.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted, did_you_mean
from tars_memory.index.fulltext import Filter
from tars_memory.index.naming import folded as plain, key, spaced
from tars_memory.language.words import STOP_WORDS, tokens, unspaced_runs
from tars_memory.vault.links import block_ids, files_of, targets_in
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded
from tars_memory.vault.markdown.lines import CODE, TAG, heading_of, passages, says_who
from tars_memory.vault.vault import Vault, note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from tars_memory.index.chunking import LinkTable
    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.model import Entry


# --- which facts are about a name, and which belong into a prompt: of the user, and those that the question touches


def about(facts: Iterable[Fact], name: str) -> list[Fact]:
    """The facts about a name: those whose subject is called so, then those whose subject holds all its words (``anna``
    is in ``Anna Kelly``), then those whose object holds the name; in their order. Case and accents aside.
    """
    whole = Names([plain_heading(name)])
    words = [Names([word]) for word in re.findall(r"[^\s,;]+", plain_heading(name))]

    def place(fact: Fact) -> int:
        if whole.equals(fact.subject):
            return 0
        subject = plain_heading(fact.subject)
        if words and all(word.held_in(subject) for word in words):
            return 1
        return 2 if whole.held_in(plain_heading(fact.object)) else 3

    placed = [(place(fact), fact) for fact in facts]
    return [fact for at in range(3) for where, fact in placed if where == at]


def near(facts: Iterable[Fact], name: str) -> list[str]:
    """Subjects, as written, that are spelt much like a name or hold a word that is; the likest first, at most three."""
    subjects = dict.fromkeys(fact.subject for fact in facts)
    spelt: dict[str, list[str]] = {}
    for subject in subjects:
        for form in (plain(plain_heading(subject)), *plain(plain_heading(subject)).split()):
            spelt.setdefault(form, []).append(plain_heading(subject))
    wanted = plain(plain_heading(name))
    forms = [form for one in (wanted, *wanted.split()) for form in get_close_matches(one, spelt)]
    return list(dict.fromkeys(subject for form in forms for subject in sorted(spelt[form], key=len)))[:3]


def relevant(
    facts: Iterable[Fact],
    question: str,
    *,
    today: date,
    predicates: Predicates,
    me: Iterable[str],
    most: int,
    expired: bool = False,
) -> list[Fact]:
    """The facts for a question.

    Those about the user always, an event of his only if the question touches it; others if subject or object occurs in
    the question. Those that the question touches come first, then the newest; of one day those that
    stand further down in the note.

    Args:
        facts: all that are known.
        question: in plain words; may be empty.
        today: what does not hold on this day is left out.
        predicates: tell the events.
        me: the subjects that mean the user.
        most: facts; what holds of the user counts, and is never left out.
        expired: also what no longer holds.
    """
    asked = Asked(question)
    mine = {folded(name) for name in me}
    found: list[tuple[bool, int, int, bool, Fact]] = []
    for fact in facts:
        if not expired and not fact.holds(today):
            continue
        touched = _touched(fact, asked, mine)
        own = folded(fact.subject) in mine and not predicates.is_event(fact.predicate)
        if touched or own:
            found.append((not touched, -(fact.since.toordinal() if fact.since else 0), -fact.line, own, fact))
    found.sort(key=lambda each: each[:3])
    others = [fact for *_, own, fact in found if not own]
    left = {id(fact) for fact in others[max(0, most - (len(found) - len(others))) :]}
    return [fact for *_, fact in found if id(fact) not in left]


def touched(facts: Iterable[Fact], question: str, me: Iterable[str]) -> list[Fact]:
    """Those of some facts that a question touches, in their order; ``me`` are the subjects that mean the user."""
    asked, mine = Asked(question), {folded(name) for name in me}
    return [fact for fact in facts if _touched(fact, asked, mine)]


def _touched(fact: Fact, asked: Asked, mine: set[str]) -> bool:
    return asked.touches(fact.object) or asked.touches(fact.predicate if folded(fact.subject) in mine else fact.subject)


class Asked:
    """The words of a question.

    Args:
        question: in plain words.
    """

    def __init__(self, question: str) -> None:
        self._text = plain(question)
        self._words = frozenset(tokens(self._text))

    def touches(self, name: str) -> bool:
        """Whether a name occurs in the question: all words of a short one, two of a long one; stop words don't count,
        unless the name is nothing else (``Will``). In scripts without blanks it has to stand there as it is. Of a link
        what it shows counts, or all that it says.
        """
        return any(map(self._holds, {plain(folded(name)), plain(name)}))

    def _holds(self, name: str) -> bool:
        runs = unspaced_runs(name)
        if runs:
            return any(run in self._text for run in runs)
        said = frozenset(tokens(name))
        words = said - STOP_WORDS
        if not words:
            return bool(said) and said <= self._words
        return len(words & self._words) >= min(2, len(words))


# --- which lines ``--about`` and ``--topic`` leave
#
# A passage counts as a whole: a bullet with what is nested in it, a paragraph, a turn. What stands under a bullet or a
# heading that counts does so too; and a bullet does if ``said by:: Anna`` right under it does, as in session notes.


class Names:
    """Whether a text holds one of some names, as whole words, or a link to what they mean.

    Args:
        names: in any case.
        targets: of links that lead there under another name, as written.
    """

    def __init__(self, names: Iterable[str], targets: Iterable[str] = ()) -> None:
        self.names = frozenset(filter(None, map(plain, names)))
        self._targets = frozenset(map(str.casefold, targets))
        ordered = sorted(self.names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_whole, ordered))) if ordered else None

    def held_in(self, text: str) -> bool:
        """Whether it does."""
        if self._targets and "[" in text and any(target.casefold() in self._targets for target in targets_in(text)):
            return True
        if self._pattern is None:
            return False
        said = plain(text)
        return any(_ends(said, match.end()) for match in self._pattern.finditer(said))

    def equals(self, text: str) -> bool:
        """Whether a text is one of the names."""
        return plain(plain_heading(text)) in self.names


class Tag:
    """Whether a text bears a tag, or one nested below it; ``name`` is without ``#``, in any case."""

    def __init__(self, name: str) -> None:
        self.name = name.lower()

    def held_in(self, text: str) -> bool:
        """Whether it does; not within code."""
        return "#" in text and any(map(self.covers, TAG.findall(CODE.sub("", text))))

    def covers(self, tag: str) -> bool:
        """Whether a tag is this one, or nested below it."""
        tag = tag.strip("/").lower()
        return tag == self.name or tag.startswith(self.name + "/")


class Kept:
    """What one ``--about`` or ``--topic`` keeps.

    Args:
        held_in: whether a passage, or a heading, tells of it.
        paths: notes that do as wholes.
    """

    def __init__(self, held_in: Callable[[str], bool], paths: Collection[str]) -> None:
        self.held_in = held_in
        self._paths = paths

    def whole(self, path: str, headings: Iterable[str]) -> bool:
        """Whether all lines of a note, or under some headings, are kept."""
        return path in self._paths or any(self.held_in(heading) for heading in headings)

    def of(self, texts: Sequence[str]) -> frozenset[int]:
        """The kept ones of some lines that follow each other, by index."""
        found: list[_Passage] = []
        inside = False  # a section of these lines whose heading counts
        for lead, is_item, numbers in passages(texts):
            text = "\n".join(texts[number] for number in numbers)
            heading = heading_of(text)
            if heading is not None:
                inside = self.held_in(heading)
            above = found[-1] if found else None
            while above is not None and (lead <= above.lead or not above.is_item):
                above = above.above
            one = _Passage(lead, is_item, numbers, above, held=inside or self.held_in(text))
            if one.held and above is not None and says_who(text):
                above.held = True
            found.append(one)
        return frozenset(number for one in found if one.is_held() for number in one.numbers)


class _Passage:
    """Some lines that stand or fall together, and the list item that they are nested in."""

    __slots__ = ("above", "held", "is_item", "lead", "numbers")

    def __init__(self, lead: int, is_item: bool, numbers: list[int], above: _Passage | None, *, held: bool) -> None:
        self.lead = lead
        self.is_item = is_item
        self.numbers = numbers
        self.above = above
        self.held = held

    def is_held(self) -> bool:
        """Whether it counts, or something that it is nested in."""
        one: _Passage | None = self
        while one is not None and not one.held:
            one = one.above
        return one is not None


class Selection:
    """What is left by all that was asked for.

    Attributes:
        chunks: of the index, all that can hold such lines.
        names: of everybody and everything that was asked about, folded.
    """

    def __init__(self, kept: Sequence[Kept], chunks: Iterable[int], names: Iterable[str]) -> None:
        self._kept = kept
        self.chunks = frozenset(chunks)
        self.names = frozenset(names)

    def of(
        self, path: str, headings: Sequence[str], texts: Sequence[str], before: Sequence[str] = ()
    ) -> frozenset[int]:
        """The lines of a stretch of a note that are left, by index.

        Args:
            path: of the note.
            headings: above the stretch, outermost first.
            texts: its lines.
            before: the lines before it, where it begins within a list.
        """
        first = len(before)
        left = frozenset(range(len(texts)))
        for one in self._kept:
            if left and not one.whole(path, headings):
                left &= {number - first for number in one.of([*before, *texts])}
        return left

    def entries(self, found: Iterable[Entry]) -> list[Entry]:
        """Those of some entries that are left, with those nested under them; in the order of their lines."""
        left: list[Entry] = []
        above: tuple[str, int] = ("", 0)
        for entry in found:
            nested = entry.path == above[0] and entry.line <= above[1]
            if nested or self.keeps(entry.path, (entry.section,), entry.raw):
                left.append(entry)
                above = above if nested else (entry.path, entry.end_line)
        return left

    def keeps(self, path: str, headings: Sequence[str], text: str) -> bool:
        """Whether a passage is left, or some line of it."""
        return bool(self.of(path, headings, text.split("\n")))


def selection(reader: IndexReader, about: Sequence[str], topics: Sequence[str], *, scope: str) -> Selection:
    """What is left by names and topics, all of them at once.

    Args:
        reader: of the index.
        about: names of people and things, as in a link.
        topics: tags, with or without ``#``, or topics of sessions.
        scope: a project whose notes count too.

    Raises:
        UsageError: one of them is blank.
    """
    table = reader.names(scope)
    kept: list[Kept] = []
    chunks: set[int] | None = None
    said: set[str] = set()
    for name in about:
        found = table.named(bare(name, "--about"))
        names = Names(found.names, found.targets)
        said |= names.names
        paths, holding = table.telling(found, names.held_in)
        kept.append(Kept(names.held_in, paths))
        chunks = holding if chunks is None else chunks & holding
    for topic in topics:
        tag = Tag(bare(topic, "--topic").strip("/ "))
        words = Names([spaced(tag.name)])

        def listed(text: str, words: Names = words) -> bool:
            return words.held_in(spaced(text))

        paths, holding = table.tagged(tag.name, tag.covers, listed)
        kept.append(Kept(tag.held_in, paths))
        chunks = holding if chunks is None else chunks & holding
    return Selection(kept, chunks or (), said)


def bare(text: str, option: str) -> str:
    """A name without link marks, ``#`` and what stands around it.

    Raises:
        UsageError: nothing is left.
    """
    name = text.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2].partition("|")[0].partition("#")[0]
    name = " ".join(name.lstrip("#").split()) if option == "--topic" else " ".join(name.split())
    if not any(sign.isprintable() and not sign.isspace() and sign != "/" for sign in name):
        raise UsageError(f"{option} {text!r} names nothing", f"write it like {option} Anna" if option == "--about" else
                         "write it like --topic work, or --topic work/plans")  # fmt: skip
    return name


def _whole(name: str) -> str:
    """A pattern that finds a name where no letter or digit goes on; in scripts without blanks anywhere."""
    if unspaced_runs(name):
        return re.escape(name)
    before = r"(?<![^\W_])" if name[0].isalnum() else ""
    after = r"(?![^\W_])" if name[-1].isalnum() else ""
    return before + re.escape(name) + after


def _ends(text: str, at: int) -> bool:
    """Whether a word that ends there does not go on with a vowel sign, as in Indian scripts."""
    return at >= len(text) or unicodedata.category(text[at])[0] != "M"


# --- notes by their names, links and tags: where links lead and from where, which notes bear a tag, which are near one


SHOWN, CANDIDATES = 5, 20
"""Paths that are named at most where several notes have a name, and headings that are listed."""


class NoteLinks(NamedTuple):
    """The links of one note.

    Attributes:
        path: of the note.
        out: its targets as written, in order, each with the path of the file it leads to, or None for none.
        back: the notes that link to it.
    """

    path: str
    out: list[tuple[str, str | None]]
    back: list[str]


def links(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NoteLinks:
    """The links of the note of that name.

    Raises:
        NotFoundError: there is none.
    """
    files = (path for path in sorted(files_of(vault)) if not path.lower().endswith(".md"))
    table = reader.links(scope, tuple(path for path in files if vault.layout.scope_of(path) in ("", scope)))
    path = _found(table, name)
    return NoteLinks(path, table.out(path), table.back(path))


class NamedPlace(NamedTuple):
    """What a name leads to.

    Attributes:
        path: of the note.
        line: 1-based.
        headings: the one that is meant, if one is.
        block_id: likewise, without its caret.
    """

    path: str
    line: int = 1
    headings: tuple[str, ...] = ()
    block_id: str | None = None


def place(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NamedPlace:
    """The note of that name; else the part of one that ``Note#Heading`` or ``Note#^id`` names; else the only heading.

    Raises:
        NotFoundError: there is none, as for :func:`called`.
        AmbiguousError: several headings are called so; they are listed.
        UsageError: several notes are.
    """
    note, parted, part = name.partition("#")
    if parted and note.strip() and part.strip() and not reader.called([key(name)], Filter(scope=scope)):
        return _part(vault, called(reader, note.strip(), scope=scope), part.strip())
    try:
        return NamedPlace(called(reader, name, scope=scope))
    except NotFoundError as error:
        found = [
            NamedPlace(path, section.start_line, (section.title,))
            for path in reader.names(scope).headed(name)
            for section in vault.note(path).document.sections
            if section.level and key(section.title) == key(name)
        ]
        if len(found) > 1:
            listed = [f"{each.path}:{each.line}  {each.headings[0]}" for each in found[:CANDIDATES]]
            more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
            hint = "name one as in a link: Note#Heading"
            raise AmbiguousError(f"{counted(len(found), 'heading')} are called {name!r}{more}", listed, hint) from None
        if not found:
            raise error from None
        return found[0]


def _part(vault: Vault, path: str, part: str) -> NamedPlace:
    """The heading, or with a caret the block, that a link names behind ``#``; of nested headings the last one."""
    document = vault.note(path).document
    if part.startswith("^"):
        line = block_ids(document).get(part[1:].casefold())
        found = None if line is None else NamedPlace(path, line, block_id=part[1:])
    else:
        section = document.find_section(part.rpartition("#")[2])
        found = None if section is None else NamedPlace(path, section.start_line, (section.title,))
    if found is None:
        raise NotFoundError(f"{path} has no heading or block {part!r}", f"tars-memory open {path} opens the note")
    return found


def called(reader: IndexReader, name: str, *, scope: str) -> str:
    """The path of the note of that name, or at that path.

    Raises:
        NotFoundError: there is none; names that are spelt alike are told, else those that begin so.
        UsageError: several have the name.
    """
    notes = reader.called([key(name)], Filter(scope=scope)).get(key(name), [])
    if len(notes) == 1:
        return notes[0][1]
    path = reader.links(scope).find(name) if not notes or "/" in name else None
    if path is not None:
        return path
    if notes:
        paths = [path for _, path, _ in notes]
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        raise UsageError(
            f"{counted(len(paths), 'note')} are called {name!r}: {', '.join(paths[:SHOWN])}{more}",
            "name one by its path",
        )
    names = reader.names(scope)
    near = names.near(name) or names.beginning(name)
    raise NotFoundError(
        f"no note is called {name!r}", did_you_mean(near) if near else f"tars-memory search {name} looks inside notes"
    )


def selected(
    reader: IndexReader,
    where: Sequence[str],
    linked_to: Sequence[str],
    links_to: Sequence[str],
    *,
    scope: str,
) -> tuple[int, ...]:
    """The notes that fulfil everything: numbers of rows.

    Args:
        reader: of the index.
        where: conditions on properties.
        linked_to: notes that must link to them.
        links_to: notes that they must link to.
        scope: a project whose notes count too.

    Raises:
        UsageError: a condition that is none.
        NotFoundError: a named note that is not there.
    """
    sets: list[set[int]] = [reader.notes_where(where)] if where else []
    if linked_to or links_to:
        table = reader.links(scope)
        for name in linked_to:
            targets = (path for _, path in table.out(_found(table, name)))
            sets.append({table.ids[path] for path in targets if path in table.ids})
        for name in links_to:
            back = table.back(_found(table, name))
            sets.append({table.ids[path] for path in back})
    return tuple(sorted(set.intersection(*sets)))


def _found(table: LinkTable, name: str) -> str:
    path = table.find(name)
    if path is None:
        raise NotFoundError(f"there is no note {name!r}", "name it as in a link: its name, or its path in the vault")
    return path


# --- tags, and what is near


class TagCount(NamedTuple):
    """A tag, and how many notes bear it or one nested below it.

    Attributes:
        tag: lower case, without ``#``.
        notes: how many.
    """

    tag: str
    notes: int


class Tagged(NamedTuple):
    """A note that bears a tag.

    Attributes:
        path: of the note.
        title: of it.
        whole: its properties name the tag.
        lines: number and text of those that do.
    """

    path: str
    title: str
    whole: bool
    lines: list[tuple[int, str]]


def tags(reader: IndexReader, *, scope: str) -> list[TagCount]:
    """All tags, and those above nested ones, in the order of their names."""
    notes: dict[str, set[str]] = {}
    for path, tag in reader.names(scope).tagged_notes():
        parts = tag.split("/")
        for depth in range(1, len(parts) + 1):
            notes.setdefault("/".join(parts[:depth]), set()).add(path)
    return [TagCount(tag, len(notes[tag])) for tag in sorted(notes, key=lambda tag: tag.split("/"))]


def tagged(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> list[Tagged]:
    """The notes with a tag, or with one nested below it, in the order of their paths.

    Args:
        reader: of the index, up to date.
        vault: the whole one.
        name: of the tag, with or without ``#``, in any case.
        scope: a project whose notes count beside those outside projects.

    Raises:
        NotFoundError: no note bears it.
        UsageError: the name is blank.
    """
    tag = Tag(bare(name, "--topic").strip("/ "))
    table = reader.names(scope)
    paths = dict.fromkeys(path for path, each in table.tagged_notes() if tag.covers(each))
    if not paths:
        near = [each.tag for each in tags(reader, scope=scope) if tag.name in each.tag]
        hint = f"there is {', '.join(near[:NEAR])}" if near else "tars-memory tags lists them"
        raise NotFoundError(f"no note has the tag #{tag.name}", hint)
    found = []
    for path, title, properties, chunks in table.bearing(paths, tag.covers):
        held: dict[int, str] = {}
        for start, text in chunks:
            held |= {start + at: line for at, line in enumerate(text.split("\n")) if tag.held_in(line)}
        lines = sorted(held.items())
        whole = any(map(tag.covers, properties))
        if not lines and not whole:  # a heading bears it
            document = vault.note(path).document
            heads = [section.start_line for section in document.sections if tag.held_in(f" {section.title}")]
            rows = note_lines(vault.read(path))
            lines = [(number, rows[number - 1]) for number in heads if number <= len(rows)]
        found.append(Tagged(path, title, whole, lines))
    return found


NEAR = 5
"""Tags that are named at most instead of one that is not there."""


class Reason(NamedTuple):
    """Why a note is near another one.

    Attributes:
        kind: ``links_to`` (that note links here), ``linked_from`` (this one links there), ``target`` (both link to the
            same), ``tag`` (both bear one that few do), ``meaning`` (a passage is nearer than is usual in the vault).
        what: the target or the tag; of ``meaning`` the line of that passage.
        weight: what it adds to the note's score, from 0 to 1.
    """

    kind: str
    what: str
    weight: float


class NearNote(NamedTuple):
    """A note near another one.

    Attributes:
        path: of it.
        title: of it.
        score: the sum of its reasons' weights.
        reasons: the weightiest first.
    """

    path: str
    title: str
    score: float
    reasons: tuple[Reason, ...]


OWN_CHUNKS = 12
"""Passages of a note that stand for it: the first ones, where it says what it is about."""
NEIGHBOURS = 60
"""Passages near each of them that are looked at."""
SAMPLE = 200
"""Passages of the vault by which it is told how near is usual there."""
CLEAR = 0.25
"""Standard deviations above chance that a neighbour needs. Of eight notes about other things among 174 German pages one
came .05 above it to a page, three in four of the pages .69 and more to another."""
BELOW = 0.16
"""So many of them lie further than one standard deviation below the middle, if they are spread as chance does."""


def related(reader: IndexReader, name: str, *, scope: str, limit: int) -> tuple[str, list[NearNote]]:
    """The notes that are near a note, and why; none rather than the least far.

    A link of a note with many says less. A tag or target counts that at most the square root of all notes have. A
    passage counts that is further above what is usual for this note than the nearest of so many by chance is.

    Args:
        reader: of the index, up to date.
        name: of the note, or its path.
        scope: a project whose notes count beside those outside projects.
        limit: most notes.

    Returns:
        The note's path, and the notes near it, best first.

    Raises:
        NotFoundError: there is no such note.
        UsageError: several have the name.
    """
    path = called(reader, name, scope=scope)
    table = reader.links(scope)
    few = max(2.0, sqrt(len(table.ids)))
    reasons: dict[str, list[Reason]] = {}

    out = list(dict.fromkeys(to for _, to in table.out(path) if to in table.ids and to != path))
    for other in out:
        assert other is not None
        reasons.setdefault(other, []).append(Reason("linked_from", "", _share(table.degree(path))))
    for other in table.back(path):
        reasons.setdefault(other, []).append(Reason("links_to", "", _share(table.degree(other))))
    for target, others in table.sharing(path).items():
        if len(others) + 1 <= few:
            for other in others:
                reasons.setdefault(other, []).append(Reason("target", target, _rarity(len(others) + 1, table.ids)))

    bearing: dict[str, set[str]] = {}
    for other, tag in reader.names(scope).tagged_notes():
        bearing.setdefault(tag, set()).add(other)
    for tag, held in bearing.items():
        if path in held and len(held) <= few:
            for other in held - {path}:
                reasons.setdefault(other, []).append(Reason("tag", tag, _rarity(len(held), table.ids)))

    for other, reason in _near(reader, table.ids[path], scope).items():
        reasons.setdefault(other, []).append(reason)
    found = []
    for row in reader.notes(table.ids[each] for each in reasons if each != path).values():
        why = sorted(reasons[row.path], key=lambda each: -each.weight)
        found.append(NearNote(row.path, row.title, round(sum(each.weight for each in why), 3), tuple(why)))
    return path, sorted(found, key=lambda each: (-each.score, each.path))[:limit]


def _share(links: int) -> float:
    """What one of a note's links says."""
    return round(1 / (1 + log(max(1, links))), 3)


def _rarity(bearers: int, notes: Mapping[str, int]) -> float:
    """What it says that a note is one of so few: 1 for two of very many, 0 for all."""
    return round(log(len(notes) / bearers) / log(max(2, len(notes))), 3)


def _near(reader: IndexReader, note: int, scope: str) -> dict[str, Reason]:
    """The notes with a passage that is clearly nearer to one of this note's than is usual for either of the two, with
    the line of the nearest one.
    """
    within = Filter(scope=scope)
    own = reader.note_chunks([note], within).get(note, [])[:OWN_CHUNKS]
    sample = reader.spread(SAMPLE)
    near: dict[int, float] = {}
    for vector in reader.vectors(own).values():
        usual = _usual(reader, vector, sample, own)
        for chunk, cosine in reader.nearest(vector, within, NEIGHBOURS):
            near[chunk] = max(near.get(chunk, 0.0), usual(cosine))
    rows = {chunk: row for chunk, row in reader.chunks(near).items() if row.note_id != note and near[chunk] > 0}
    best = sorted(rows, key=lambda chunk: -near[chunk])[:NEIGHBOURS]
    found: dict[str, tuple[float, int]] = {}
    for chunk, vector in reader.vectors(best).items():
        usual = _usual(reader, vector, sample, [chunk])
        above = min(near[chunk], usual(max(reader.cosines(vector, own).values())))
        if above > 0:
            found[rows[chunk].path] = max(found.get(rows[chunk].path, (0.0, 0)), (above, -rows[chunk].start_line))
    return {path: Reason("meaning", str(-line), round(above / (1 + above), 3)) for path, (above, line) in found.items()}


def _usual(reader: IndexReader, vector: bytes, sample: Sequence[int], but: Collection[int]) -> Callable[[float], float]:
    """Tells of a cosine how far it lies above the nearest of all passages by chance, in standard deviations."""
    usual = sorted(cosine for chunk, cosine in reader.cosines(vector, sample).items() if chunk not in but)
    if len(usual) < 2:
        return lambda _: 0.0
    middle = usual[len(usual) // 2]
    spread = max(middle - usual[int(len(usual) * BELOW)], 1e-6)  # of the lower half: no neighbour is in it
    floor = sqrt(2 * log(max(2, reader.chunk_count()))) + CLEAR
    return lambda cosine: (cosine - middle) / spread - floor
