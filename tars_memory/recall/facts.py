"""Which facts are about a name, and which belong into a prompt: those about the user, and those that the question
touches. Pure.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tars_memory.index.naming import folded as plain
from tars_memory.language.words import STOP_WORDS, tokens, unspaced_runs
from tars_memory.recall.selecting import Names
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.markdown.facts import Fact, Predicates, folded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date


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
