"""How two statements stand to each other: the same, the same in other words, an update, a conflict, or neither.

Pure, without a model, and careful: what says the same may be dropped by whoever asks, so a difference in a digit, a
negation or any word of content never counts as that. What is told apart wrongly costs the person a look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation.extraction import statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.curation.extraction.statements import Statement
    from tars_memory.curation.model import Relation
    from tars_memory.vault.model import Entry

CLOSE = 0.3
"""Least overlap at which :func:`closest` names an entry that is different; others say something about the same."""


def relation(old: str, new: str) -> Relation:
    """How a new statement stands to an old one.

    Args:
        old: words of an entry (:attr:`tars_memory.vault.model.Entry.text`).
        new: those of another one.

    Returns:
        ``same``: the same words, whatever their case, spacing and punctuation. ``near``: the same content in another
        order, or with other words that carry none. ``update``: one value of the same statement differs (a date, a
        number, a place), or one says more than the other. ``conflict``: one denies what the other says.
        ``different``: anything else.
    """
    return compare(statements.read(old), statements.read(new))


def compare(old: Statement, new: Statement) -> Relation:
    """:func:`relation` of two statements that are read already."""
    if old.words == new.words and old.tags == new.tags:
        return "same"
    if not old.content or not new.content:
        return "different"
    if statements.opposed(old, new):
        return "conflict"
    if statements.says_the_same(old, new):
        return "near"
    return "update" if statements.one_value_differs(old, new) else "different"


def overlap(old: Statement, new: Statement) -> float:
    """How much of their content two statements share: 0 to 1 (Dice)."""
    mine, theirs = set(old.content), set(new.content)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs)) if mine and theirs else 0.0


def closest(text: str, entries: Iterable[Entry], limit: int = 5) -> list[tuple[Entry, Relation, float]]:
    """The entries that say something about the same, the closest first.

    Args:
        text: words of the new statement.
        entries: to compare it with.
        limit: most of them.

    Returns:
        entry, how ``text`` stands to it, and their overlap (0 to 1). Different ones only from :data:`CLOSE` on.
    """
    new = statements.read(text)
    found: list[tuple[Entry, Relation, float]] = []
    for entry in entries:
        old = statements.read(entry.text)
        if old.words != new.words and not set(old.content) & set(new.content):
            continue
        kind, shared = compare(old, new), overlap(old, new)
        if kind != "different" or shared >= CLOSE:
            found.append((entry, kind, shared))
    order = ("same", "near", "conflict", "update", "different")
    return sorted(found, key=lambda each: (order.index(each[1]), -each[2]))[:limit]
