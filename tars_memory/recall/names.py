"""Look up names: facts about them, the lines that ``--about`` and ``--topic`` keep, notes by name, links and tags, and
notes that are near another one. The names in the index come from :mod:`tars_memory.index.naming`.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from math import log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import AmbiguousError, NotFoundError, PartialError, UsageError, counted, did_you_mean
from tars_memory.index.fulltext import Filter
from tars_memory.index.naming import SUGGESTIONS, folded as plain, key, spaced
from tars_memory.language.words import STOP_WORDS, apart, tokens, unspaced_runs
from tars_memory.recall.query import Tag
from tars_memory.vault.links import block_ids, files_of, targets_in
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded
from tars_memory.vault.markdown.lines import heading_of, is_speaker_line, passages
from tars_memory.vault.suspicion import shell_word
from tars_memory.vault.vault import Vault, note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.model import Entry


# --- facts about a name, and facts for a prompt: those about the user, and those that the question touches


def about(facts: Iterable[Fact], name: str) -> list[Fact]:
    """Return the facts about a name, in three groups: its subject is the name, its subject contains all words of the
    name (``anna`` is in ``Anna Kelly``), its object contains the name. Case and accents don't matter.
    """
    whole = Names([plain_heading(name)])
    words = [Names([word]) for word in re.findall(r"[^\s,;]+", plain_heading(name))]

    def group(fact: Fact) -> int:
        if whole.equals(fact.subject):
            return 0
        subject = plain_heading(fact.subject)
        if words and all(word.found_in(subject) for word in words):
            return 1
        return 2 if whole.found_in(plain_heading(fact.object)) else 3

    grouped = [(group(fact), fact) for fact in facts]
    return [fact for wanted in range(3) for at, fact in grouped if at == wanted]


def near(facts: Iterable[Fact], name: str) -> list[str]:
    """Return up to three subjects, as written, that are spelt like a name or contain a word that is; best first."""
    subjects = dict.fromkeys(fact.subject for fact in facts)
    subjects_by_form: dict[str, list[str]] = {}
    for subject in subjects:
        for form in (plain(plain_heading(subject)), *plain(plain_heading(subject)).split()):
            subjects_by_form.setdefault(form, []).append(plain_heading(subject))
    wanted = plain(plain_heading(name))
    forms = [form for word in (wanted, *wanted.split()) for form in get_close_matches(word, subjects_by_form)]
    return list(dict.fromkeys(subject for form in forms for subject in sorted(subjects_by_form[form], key=len)))[:3]


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
    """Return the facts for a prompt.

    Facts about the user are always among them, but events only if the question touches them; other facts are if their
    subject or object occurs in the question. Facts that the question touches come first, then the newest; of one day
    those further down in the note.

    Args:
        facts: all that are known.
        question: in plain words; may be empty.
        today: facts that do not hold on this day are left out.
        predicates: tell which facts are events.
        me: the subjects that mean the user.
        most: maximum number of facts; those about the user are counted, but never left out.
        expired: whether to include facts that no longer hold.
    """
    asked = QuestionWords(question)
    mine = {folded(name) for name in me}
    found: list[tuple[bool, int, int, bool, Fact]] = []
    for fact in facts:
        if not expired and not fact.holds(today):
            continue
        touched = _touches(asked, fact, mine)
        own = folded(fact.subject) in mine and not predicates.is_event(fact.predicate)
        if touched or own:
            found.append((not touched, -(fact.since.toordinal() if fact.since else 0), -fact.line, own, fact))
    found.sort(key=lambda sortable: sortable[:3])
    others = [fact for *_, own, fact in found if not own]
    left_out = {id(fact) for fact in others[max(0, most - (len(found) - len(others))) :]}
    return [fact for *_, fact in found if id(fact) not in left_out]


def touched(facts: Iterable[Fact], question: str, me: Iterable[str]) -> list[Fact]:
    """Return the facts that a question touches, in their order; ``me`` are the subjects that mean the user."""
    asked, mine = QuestionWords(question), {folded(name) for name in me}
    return [fact for fact in facts if _touches(asked, fact, mine)]


def _touches(asked: QuestionWords, fact: Fact, mine: set[str]) -> bool:
    """Whether a question touches the object of a fact, or its subject; of the user's facts the predicate instead."""
    return asked.touches(fact.object) or asked.touches(fact.predicate if folded(fact.subject) in mine else fact.subject)


class QuestionWords:
    """The words of a question.

    Args:
        question: in plain words.
    """

    def __init__(self, question: str) -> None:
        self._text = plain(question)
        self._words = frozenset(tokens(apart(self._text)))

    def touches(self, name: str) -> bool:
        """Whether a name occurs in the question.

        Its only word has to, or two of its words; stop words don't count, unless the name has no others (``Will``). In
        scripts without blanks the name has to occur as it is. A link counts by the text that it shows, or by all of it.
        """
        return any(map(self._contains, {plain(folded(name)), plain(name)}))

    def _contains(self, name: str) -> bool:
        runs = unspaced_runs(name)
        if runs:
            return any(run in self._text for run in runs)
        all_words = frozenset(tokens(name))
        words = all_words - STOP_WORDS
        if not words:
            return bool(all_words) and all_words <= self._words
        return len(words & self._words) >= min(2, len(words))


# --- the lines that ``--about`` and ``--topic`` keep
#
# A passage is kept or left out as a whole: a bullet with what is nested in it, a paragraph, a turn. Passages under a
# kept bullet or heading are kept too; and so is a bullet with a matching ``said by:: Anna`` right under it, as in
# session notes.


class Names:
    """Finds names as whole words in texts, and links to what they name.

    Args:
        names: in any case.
        targets: of links to the same thing under another name, as written.
    """

    def __init__(self, names: Iterable[str], targets: Iterable[str] = ()) -> None:
        self.names = frozenset(filter(None, map(plain, names)))
        self._targets = frozenset(map(str.casefold, targets))
        self._unspaced = frozenset(name for name in self.names if unspaced_runs(name))
        patterns = map(_name_pattern, sorted(self.names - self._unspaced, key=len, reverse=True))
        self._pattern = re.compile("|".join(patterns)) if self.names - self._unspaced else None

    def found_in(self, text: str) -> bool:
        """Whether a text contains one of the names or links."""
        if self._targets and "[" in text and any(target.casefold() in self._targets for target in targets_in(text)):
            return True
        text = plain(text)
        if any(name in text for name in self._unspaced):
            return True
        if self._pattern is None:
            return False
        text = apart(text)
        after = (text[match.end() : match.end() + 1] for match in self._pattern.finditer(text))
        return any(not sign or unicodedata.category(sign)[0] != "M" for sign in after)  # a vowel sign, as in India

    def equals(self, text: str) -> bool:
        """Whether a text is one of the names."""
        return plain(plain_heading(text)) in self.names


class Criterion:
    """Decides which lines one ``--about`` or ``--topic`` keeps.

    Args:
        found_in: whether a passage or a heading is about it.
        paths: of notes that are about it as a whole.
    """

    def __init__(self, found_in: Callable[[str], bool], paths: Collection[str]) -> None:
        self.found_in = found_in
        self._paths = paths

    def whole(self, path: str, headings: Iterable[str]) -> bool:
        """Whether all lines of a note, or under some headings, are kept."""
        return path in self._paths or any(self.found_in(heading) for heading in headings)

    def of(self, texts: Sequence[str]) -> frozenset[int]:
        """Return the indexes of the lines to keep, of consecutive lines of a note."""
        found = list(passages(texts))
        above: list[int | None] = []  # the passage of the list item that each passage is nested in
        matching: set[int] = set()
        inside = False  # whether the last heading among these lines is kept
        for at, (lead, _, numbers) in enumerate(found):
            text = "\n".join(texts[number] for number in numbers)
            heading = heading_of(text)
            if heading is not None:
                inside = self.found_in(heading)
            outer = at - 1 if at else None
            while outer is not None and (lead <= found[outer][0] or not found[outer][1]):
                outer = above[outer]
            above.append(outer)
            if inside or self.found_in(text):
                matching.add(at)
                if outer is not None and is_speaker_line(text):
                    matching.add(outer)
        kept: set[int] = set()
        for at, outer in enumerate(above):
            if at in matching or outer in kept:
                kept.add(at)
        return frozenset(number for at in kept for number in found[at][2])


class Selection:
    """The lines that all ``--about`` and ``--topic`` of a request keep.

    Attributes:
        chunks: ids of the chunks that may contain such lines.
        names: that were asked about, folded.
    """

    def __init__(self, criteria: Sequence[Criterion], chunks: Iterable[int], names: Iterable[str]) -> None:
        self._criteria = criteria
        self.chunks = frozenset(chunks)
        self.names = frozenset(names)

    def of(
        self, path: str, headings: Sequence[str], texts: Sequence[str], before: Sequence[str] = ()
    ) -> frozenset[int]:
        """Return the indexes of the lines to keep.

        Args:
            path: of the note.
            headings: above the lines, outermost first.
            texts: consecutive lines of the note.
            before: the lines before them, if they begin inside a list.
        """
        first = len(before)
        kept = frozenset(range(len(texts)))
        for criterion in self._criteria:
            if kept and not criterion.whole(path, headings):
                kept &= {number - first for number in criterion.of([*before, *texts])}
        return kept

    def entries(self, found: Iterable[Entry]) -> list[Entry]:
        """Return the entries to keep, with those nested under them.

        Args:
            found: entries, in the order of their lines.
        """
        kept: list[Entry] = []
        above: tuple[str, int] = ("", 0)
        for entry in found:
            nested = entry.path == above[0] and entry.line <= above[1]
            if nested or self.keeps(entry.path, (entry.section,), entry.raw):
                kept.append(entry)
                above = above if nested else (entry.path, entry.end_line)
        return kept

    def keeps(self, path: str, headings: Sequence[str], text: str) -> bool:
        """Whether some line of a passage is kept."""
        return bool(self.of(path, headings, text.split("\n")))


def selection(reader: IndexReader, about: Sequence[str], topics: Sequence[str], *, scope: str) -> Selection:
    """Return the lines that are about all of these names and topics.

    Args:
        reader: of the index.
        about: names of people and things, as in a link.
        topics: tags, with or without ``#``, or topics of sessions.
        scope: a project whose notes count too.

    Raises:
        UsageError: one of them is blank.
    """
    table = reader.names(scope)
    criteria: list[Criterion] = []
    chunks: list[set[int]] = []
    asked: set[str] = set()
    for name in about:
        found = table.named(bare(name, "--about"))
        names = Names(found.names, found.targets)
        asked |= names.names
        paths, holding = table.about_name(found, names.found_in)
        criteria.append(Criterion(names.found_in, paths))
        chunks.append(holding)
    for topic in topics:
        tag = Tag(bare(topic, "--topic").strip("/ "))
        words = Names([spaced(tag.name)])

        def listed(text: str, words: Names = words) -> bool:
            return words.found_in(spaced(text))

        paths, holding = table.about_tag(tag.name, tag.covers, listed)
        criteria.append(Criterion(tag.found_in, paths))
        chunks.append(holding)
    return Selection(criteria, set.intersection(*chunks) if chunks else (), asked)


def bare(text: str, option: str) -> str:
    """Return a name without link marks, ``#`` and surrounding blanks.

    Raises:
        UsageError: nothing is left.
    """
    name = text.strip()
    if name.startswith("[[") and name.endswith("]]"):
        name = name[2:-2].partition("|")[0].partition("#")[0]
    name = " ".join(name.lstrip("#").split()) if option == "--topic" else " ".join(name.split())
    if not any(sign.isprintable() and not sign.isspace() and sign != "/" for sign in name):
        if option == "--topic":  # also of 'tags'
            raise UsageError(f"{text!r} is not a tag", "write it like work, or work/plans")
        raise UsageError(f"{option} {text!r} names nothing", f"write it like {option} Anna")
    return name


def _name_pattern(name: str) -> str:
    """Return a pattern that finds a name between word boundaries."""
    before = r"(?<![^\W_])" if name[0].isalnum() else ""
    after = r"(?![^\W_])" if name[-1].isalnum() else ""
    return before + re.escape(name) + after


# --- notes by name, links and tags, and notes near another one


SHOWN, CANDIDATES = 5, 20
"""Maximum numbers of notes and of headings that an error lists if several have the same name."""


class NoteLinks(NamedTuple):
    """The links of one note.

    Attributes:
        path: of the note.
        out: its targets as written, in order, each with the path of the file it leads to, or None.
        back: paths of the notes that link to it.
    """

    path: str
    out: list[tuple[str, str | None]]
    back: list[str]


def links(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NoteLinks:
    """Return the links of the note that a link with a name leads to, else of the note with that name.

    Raises:
        NotFoundError: there is no such note.
        UsageError: several notes have the name.
    """
    files = (path for path in sorted(files_of(vault)) if not path.lower().endswith(".md"))
    table = reader.links(scope, tuple(path for path in files if vault.layout.scope_of(path) in ("", scope)))
    path = table.find(name) or path_of_note(reader, vault, name, scope=scope)
    return NoteLinks(path, table.out(path), table.back(path))


class NamedPlace(NamedTuple):
    """The place that a name leads to.

    Attributes:
        path: of the note.
        line: 1-based.
        headings: the heading, if the name means one.
        block_id: the block id without its caret, if the name means a block.
    """

    path: str
    line: int = 1
    headings: tuple[str, ...] = ()
    block_id: str | None = None


def find_place(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NamedPlace:
    """Find the note with a name, the part of a note that ``Note#Heading`` or ``Note#^id`` names, the only heading with
    the name, or the note at a path that is not searched; in this order.

    Raises:
        NotFoundError: there is none, as for :func:`path_of_note`.
        AmbiguousError: several headings have the name; they are listed.
        UsageError: several notes have the name.
    """
    note, parted, part = name.partition("#")
    if parted and note.strip() and part.strip() and not reader.notes_named([key(name)], Filter(scope=scope)):
        return _part_of_note(vault, path_of_note(reader, vault, note.strip(), scope=scope), part.strip())
    try:
        return NamedPlace(path_of_note(reader, vault, name, scope=scope))
    except NotFoundError as error:
        found = [
            NamedPlace(path, section.start_line, (section.title,))
            for path in reader.names(scope).with_heading(name)
            for section in vault.note(path).document.sections
            if section.level and key(section.title) == key(name)
        ]
        if len(found) > 1:
            listed = [f"{heading.path}:{heading.line}  {heading.headings[0]}" for heading in found[:CANDIDATES]]
            more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
            hint = "name one as in a link: Note#Heading"
            raise AmbiguousError(
                f"{counted(len(found), 'heading')} have the name {name!r}{more}", listed, hint
            ) from None
        if found:
            return found[0]
        for path in _files_named(vault, name, scope):  # of a note that is not searched: it is too big
            return NamedPlace(path)
        raise error from None


def _part_of_note(vault: Vault, path: str, part: str) -> NamedPlace:
    """Find the heading or, with a caret, the block that a link names after ``#``; of nested headings the last one."""
    document = vault.note(path).document
    if part.startswith("^"):
        line = block_ids(document).get(part[1:].casefold())
        found = None if line is None else NamedPlace(path, line, block_id=part[1:])
    else:
        section = document.find_section(part.rpartition("#")[2])
        found = None if section is None else NamedPlace(path, section.start_line, (section.title,))
    if found is None:
        raise NotFoundError(
            f"{path} has no heading or block {part!r}", f"tars-memory open {shell_word(path)} opens the note"
        )
    return found


def path_of_note(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> str:
    """Return the path of the note with a name, or at a path; or of the only one whose name begins with this number.

    Raises:
        NotFoundError: there is none; the hint gives names that begin so, then names that are spelt alike. Or its file
            can't be read; the hint says what to do.
        UsageError: several notes have the name.
    """
    notes = reader.notes_named([key(name)], Filter(scope=scope), name).get(key(name), [])
    notes = [note for note in notes if key(note[1].rpartition("/")[2].removesuffix(".md")) == key(name)] or notes
    if len(notes) == 1:
        return notes[0][1]
    path = reader.links(scope).find(name) if not notes or "/" in name else None
    if path is not None:
        return path
    if notes:
        paths = [path for _, path, _ in notes]
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        raise UsageError(
            f"{counted(len(paths), 'note')} have the name {name!r}: {', '.join(paths[:SHOWN])}{more}",
            "name one by its path",
        )
    for path in _files_named(vault, name, scope):
        try:
            vault.read(path)
        except PartialError as error:
            raise NotFoundError(error.message, error.hint) from None
    names = reader.names(scope)
    if (number := name.removesuffix(".md")).isdecimal():  # which a Zettelkasten writes before a title
        numbered = [known for known in names.beginning(number) if known.split()[0] == number]
        if len(numbered) == 1:
            return path_of_note(reader, vault, numbered[0], scope=scope)
    near = list(dict.fromkeys([*names.beginning(name), *names.suggestions(name)]))[:SUGGESTIONS]
    raise NotFoundError(
        f"no note has the name {name!r}",
        did_you_mean(near) if near else f"tars-memory search {shell_word(name)} looks inside notes",
    )


def _files_named(vault: Vault, name: str, scope: str) -> list[str]:
    """Return the paths of the files with a name, or at a path, whether they are searched or not."""
    wanted = key(name.removesuffix(".md"))
    stems = {path: path[:-3] for path in sorted(vault.paths()) if vault.layout.scope_of(path) in ("", scope)}
    return [path for path, stem in stems.items() if wanted in (key(stem), key(stem.rpartition("/")[2]))]


def selected(
    reader: IndexReader,
    vault: Vault,
    where: Sequence[str],
    linked_to: Sequence[str],
    links_to: Sequence[str],
    *,
    scope: str,
) -> tuple[int, ...]:
    """Return the ids of the notes that fulfil all conditions.

    Args:
        reader: of the index.
        vault: whose index it is.
        where: conditions on properties.
        linked_to: names of notes that must link to them.
        links_to: names of notes that they must link to.
        scope: a project whose notes count too.

    Raises:
        UsageError: a condition is malformed.
        NotFoundError: a named note does not exist.
    """
    sets: list[set[int]] = [reader.notes_where(where)] if where else []
    if linked_to or links_to:
        table = reader.links(scope)
        for name in linked_to:
            note = table.find(name) or path_of_note(reader, vault, name, scope=scope)
            targets = (path for _, path in table.out(note))
            sets.append({table.ids[path] for path in targets if path in table.ids})
        for name in links_to:
            back = table.back(table.find(name) or path_of_note(reader, vault, name, scope=scope))
            sets.append({table.ids[path] for path in back})
    return tuple(sorted(set.intersection(*sets)))


# --- tags, and notes near another one


class TagCount(NamedTuple):
    """A tag, and the number of notes that have it or a tag nested below it.

    Attributes:
        tag: lower case, without ``#``.
        notes: their number.
    """

    tag: str
    notes: int


class Tagged(NamedTuple):
    """A note that has a tag.

    Attributes:
        path: of the note.
        title: of the note.
        whole: whether the tag is in its properties.
        lines: number and text of the lines with the tag.
    """

    path: str
    title: str
    whole: bool
    lines: list[tuple[int, str]]


def tags(reader: IndexReader, *, scope: str) -> list[TagCount]:
    """Return all tags, with those above nested ones, in the order of their names."""
    notes: dict[str, set[str]] = {}
    for path, tag in reader.names(scope).tagged_notes():
        parts = tag.split("/")
        for depth in range(1, len(parts) + 1):
            notes.setdefault("/".join(parts[:depth]), set()).add(path)
    return [TagCount(tag, len(notes[tag])) for tag in sorted(notes, key=lambda tag: tag.split("/"))]


def tagged(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> list[Tagged]:
    """Return the notes with a tag, or with a tag nested below it, in the order of their paths.

    Args:
        reader: of the index, up to date.
        vault: with all projects.
        name: of the tag, with or without ``#``, in any case.
        scope: a project whose notes count, besides those outside projects.

    Raises:
        NotFoundError: no note has the tag.
        UsageError: the name is blank.
    """
    tag = Tag(bare(name, "--topic").strip("/ "))
    table = reader.names(scope)
    paths = dict.fromkeys(path for path, other in table.tagged_notes() if tag.covers(other))
    if not paths:
        near = [known.tag for known in tags(reader, scope=scope) if tag.name in known.tag]
        hint = f"there is {', '.join(near[:NEAR])}" if near else "tars-memory tags lists them"
        raise NotFoundError(f"no note has the tag #{tag.name}", hint)
    found = []
    for path, title, properties, chunks in table.tagged_chunks(paths, tag.covers):
        lines_by_number: dict[int, str] = {}
        for start, text in chunks:
            lines_by_number |= {start + at: line for at, line in enumerate(text.split("\n")) if tag.found_in(line)}
        lines = sorted(lines_by_number.items())
        whole = any(map(tag.covers, properties))
        if not lines and not whole:  # then a heading has the tag
            document = vault.note(path).document
            headings = [section.start_line for section in document.sections if tag.found_in(f" {section.title}")]
            rows = note_lines(vault.read(path))
            lines = [(number, rows[number - 1]) for number in headings if number <= len(rows)]
        found.append(Tagged(path, title, whole, lines))
    return found


NEAR = 5
"""Maximum number of other tags that an error suggests for an unknown one."""


class Reason(NamedTuple):
    """Why a note is near another one.

    Attributes:
        kind: ``links_to`` (that note links here), ``linked_from`` (this note links there), ``target`` (both link to the
            same note or name), ``tag`` (both have a tag that few notes have), ``meaning`` (a passage is nearer than is
            usual in the vault).
        what: the target or the tag; for ``meaning`` the line of that passage; else ''.
        weight: what it adds to the note's score, from 0 to 1.
    """

    kind: str
    what: str
    weight: float


LINKS = ("links_to", "linked_from")
"""The kinds of reasons that are a link between the two notes."""


class NearNote(NamedTuple):
    """A note near another one.

    Attributes:
        path: of the near note.
        title: of the near note.
        score: the sum of the weights of the reasons.
        reasons: links first, then by weight, the largest first.
    """

    path: str
    title: str
    score: float
    reasons: tuple[Reason, ...]


OWN_CHUNKS = 12
"""Number of passages by which a note is compared: its first ones, which say what it is about."""
MOST_NEIGHBOURS = 60
"""Maximum number of passages near each of these that are examined."""
SAMPLE = 200
"""Number of passages of the vault from which the usual nearness is estimated."""
CLEAR = 0.25
"""Standard deviations above chance that a neighbour needs. Of eight notes about other things among 174 German pages one
came .05 above it to a page; three in four of the pages came .69 or more above it to another."""
BELOW = 0.16
"""Share of a normal distribution that is more than one standard deviation below the median."""


def notes_near(reader: IndexReader, vault: Vault, name: str, *, scope: str, limit: int) -> tuple[str, list[NearNote]]:
    """Return the notes that are clearly near a note, and why; there may be none.

    Notes that are linked come first: somebody made that link by hand. The more links a note has, the less one weighs.
    Tags and targets count if at most the square root of all notes have them. A passage counts if it is further above
    what is usual for this note than the nearest passage by chance.

    Args:
        reader: of the index, up to date.
        vault: whose index it is.
        name: of the note, or its path.
        scope: a project whose notes count, besides those outside projects.
        limit: maximum number of notes.

    Returns:
        The note's path, and the notes near it, best first.

    Raises:
        NotFoundError: there is no such note.
        UsageError: several notes have the name.
    """
    path = path_of_note(reader, vault, name, scope=scope)
    ids = reader.links(scope).ids
    reasons: dict[str, list[Reason]] = {}
    for other, reason in _reasons(reader, path, scope):
        reasons.setdefault(other, []).append(reason)
    found = []
    for row in reader.notes(ids[other] for other in reasons if other != path).values():
        why = sorted(reasons[row.path], key=lambda reason: (reason.kind not in LINKS, -reason.weight))
        found.append(NearNote(row.path, row.title, round(sum(reason.weight for reason in why), 3), tuple(why)))
    return path, sorted(found, key=lambda note: (note.reasons[0].kind not in LINKS, -note.score, note.path))[:limit]


def _reasons(reader: IndexReader, path: str, scope: str) -> Iterator[tuple[str, Reason]]:
    """Yield the notes near a note, each with one reason why it is near: links, targets, tags, meaning."""
    table = reader.links(scope)
    few = max(2.0, sqrt(len(table.ids)))
    for to in dict.fromkeys(to for _, to in table.out(path)):
        if to is not None and to in table.ids and to != path:
            yield to, Reason("linked_from", "", _share(table.degree(path)))
    for other in table.back(path):
        yield other, Reason("links_to", "", _share(table.degree(other)))
    paths_by_tag: dict[str, set[str]] = {}
    for other, tag in reader.names(scope).tagged_notes():
        paths_by_tag.setdefault(tag, set()).add(other)
    tags_here = ((tag, paths - {path}) for tag, paths in paths_by_tag.items() if path in paths)
    for kind, shared in (("target", table.shared_targets(path).items()), ("tag", tags_here)):
        for what, others in shared:
            if len(others) + 1 <= few:
                for other in others:
                    yield other, Reason(kind, what, _rarity(len(others) + 1, table.ids))
    yield from _near_in_meaning(reader, table.ids[path], scope).items()


def _share(links: int) -> float:
    """Return the weight of one link of a note with ``links`` links: 1 for a single one."""
    return round(1 / (1 + log(max(1, links))), 3)


def _rarity(having: int, notes: Mapping[str, int]) -> float:
    """Return the weight of a tag or target that ``having`` of the notes have: near 1 for few of many, 0 for all."""
    return round(log(len(notes) / having) / log(max(2, len(notes))), 3)


def _near_in_meaning(reader: IndexReader, note: int, scope: str) -> dict[str, Reason]:
    """Find the notes with a passage that is clearly nearer to a passage of this note than is usual for either of the
    two; the reason gives the line of the nearest passage.
    """
    within = Filter(scope=scope)
    own = reader.note_chunks([note], within).get(note, [])[:OWN_CHUNKS]
    sample = reader.sample(SAMPLE)
    near: dict[int, float] = {}
    for vector in reader.vectors(own).values():
        excess = _above_chance(reader, vector, sample, own)
        for chunk, cosine in reader.nearest(vector, within, MOST_NEIGHBOURS):
            near[chunk] = max(near.get(chunk, 0.0), excess(cosine))
    rows = {chunk: row for chunk, row in reader.chunks(near).items() if row.note_id != note and near[chunk] > 0}
    best = sorted(rows, key=lambda chunk: -near[chunk])[:MOST_NEIGHBOURS]
    found: dict[str, tuple[float, int]] = {}
    for chunk, vector in reader.vectors(best).items():
        excess = _above_chance(reader, vector, sample, [chunk])
        above = min(near[chunk], excess(max(reader.cosines(vector, own).values())))
        if above > 0:
            found[rows[chunk].path] = max(found.get(rows[chunk].path, (0.0, 0)), (above, -rows[chunk].start_line))
    return {path: Reason("meaning", str(-line), round(above / (1 + above), 3)) for path, (above, line) in found.items()}


def _above_chance(
    reader: IndexReader, vector: bytes, sample: Sequence[int], but: Collection[int]
) -> Callable[[float], float]:
    """Return a function that tells how far a cosine with a passage is above that of the nearest passage by chance.

    Args:
        reader: of the index.
        vector: of the passage.
        sample: ids of the chunks from which the usual cosine is estimated.
        but: ids of chunks that are left out of the sample.

    Returns:
        The function; its results are standard deviations.
    """
    usual = sorted(cosine for chunk, cosine in reader.cosines(vector, sample).items() if chunk not in but)
    if len(usual) < 2:
        return lambda _: 0.0
    middle = usual[len(usual) // 2]
    spread = max(middle - usual[int(len(usual) * BELOW)], 1e-6)  # from the lower half, which contains no neighbour
    floor = sqrt(2 * log(max(2, reader.chunk_count()))) + CLEAR
    return lambda cosine: (cosine - middle) / spread - floor
