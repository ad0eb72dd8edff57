"""Which facts belong into a prompt: those about the user, and those that the question touches. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.index.words import STOP_WORDS, WORD, fold
from tars_memory.vault.markdown.facts import folded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from tars_memory.vault.markdown.facts import Fact, Predicates

MOST = 40
"""Facts in one prompt, about 800 tokens: more are noise to the model, and the budget is for other lines as well."""


def relevant(
    facts: Iterable[Fact],
    question: str,
    *,
    today: date,
    predicates: Predicates,
    me: Iterable[str],
    expired: bool = False,
) -> list[Fact]:
    """The facts for a question, at most :data:`MOST`.

    Those about the user always, an event of his only if the question touches it; others if subject or object occurs in
    the question. Those that the question touches come first, then the newest.

    Args:
        facts: all that are known.
        question: in plain words; may be empty.
        today: what does not hold on this day is left out.
        predicates: tell the events.
        me: the subjects that mean the user.
        expired: also what no longer holds.
    """
    asked = content(question)
    mine = {folded(name) for name in me}
    found: list[tuple[int, int, Fact]] = []
    for fact in facts:
        if not expired and not fact.holds(today):
            continue
        own = folded(fact.subject) in mine
        touched = touches(asked, fact.object) or (not own and touches(asked, fact.subject))
        touched = touched or (own and touches(asked, fact.predicate))
        if touched or (own and not predicates.is_event(fact.predicate)):
            found.append((not touched, -(fact.since.toordinal() if fact.since else 0), fact))
    return [fact for *_, fact in sorted(found, key=lambda each: each[:2])][:MOST]


def touches(asked: frozenset[str], name: str) -> bool:
    """Whether a name occurs in the question: all words of a short one, two of a long one; stop words don't count."""
    words = content(name)
    return bool(words) and len(words & asked) >= min(2, len(words))


def content(text: str) -> frozenset[str]:
    """The words of a text, folded, without stop words."""
    return frozenset(word for word in map(fold, WORD.findall(text)) if word not in STOP_WORDS)
