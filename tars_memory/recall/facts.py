"""What a name or a question touches. Pure: what the index knows of names comes in from :mod:`tars_memory.index.naming`.

Which facts are about a name, and which belong into a prompt: those about the user, and those that the question touches.

Which lines ``--about`` and ``--topic`` leave. A passage counts as a whole: a bullet with what is nested in it, a
paragraph, a turn. What stands under a bullet or a heading that counts does so too; and a bullet does if
``said by:: Anna`` right under it does, as in session notes.
"""

from __future__ import annotations

import re
import unicodedata
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError
from tars_memory.index.naming import folded as plain
from tars_memory.index.naming import spaced
from tars_memory.language.words import STOP_WORDS, tokens, unspaced_runs
from tars_memory.vault.links import targets_in
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded
from tars_memory.vault.markdown.lines import CODE, TAG, heading_of, passages, says_who

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import date

    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.model import Entry


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


# -- which lines ``--about`` and ``--topic`` leave


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
