"""A fact that somebody stated and nobody has decided about yet, as one line below what was said. Pure.

``me › lives in:: Cork [since:: 2026-11-14]``: the subject, and then what the bullet in ``Facts.md`` would say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import entries, facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

PARTS = " › "
"""What parts the subject from the rest."""

ME, WE = "me", "we"
"""The subjects that stand for the person, and for the person with those around."""

LONGEST = 200
"""Characters of a subject, and of an object: what is longer is a story and no value."""

_UNFIT = re.compile(r"::|[\[\]():|›^]|\[\[")
"""What a predicate or a subject can't hold without being read as something else."""


class Claim(NamedTuple):
    """What was stated.

    Attributes:
        subject: of whom or what; ``me`` and ``we`` are the person and those around.
        predicate: in a few words (``lives in``).
        object: the value.
        since: its first day, if it was said.
        until: for what is said to be over, the first day that it no longer holds.
    """

    subject: str
    predicate: str
    object: str
    since: date | None = None
    until: date | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """By which two claims are the same, whenever they were made."""
        return facts.folded(self.subject), facts.folded(self.predicate), facts.object_key(self.object)


def heading_for(subject: str, headings: Iterable[str], me: Sequence[str]) -> str:
    """Under which heading of ``Facts.md`` a claim belongs: the one that means the same, else a new one.

    Args:
        subject: of the claim.
        headings: that there are.
        me: the subjects that mean the person; the first one becomes the heading if there is none of them.
    """
    mine = [facts.folded(name) for name in me if facts.folded(name) != WE] or [ME]
    same = mine if facts.folded(subject) in (ME, *mine) else [facts.folded(subject)]
    there = next((title for title in headings if facts.folded(title) in same), None)
    if there is not None:
        return there
    return next((name for name in me if facts.folded(name) != WE), ME) if subject == ME else subject


def owned(claim: Claim, author: str) -> Claim | None:
    """The claim, said by somebody who is named: what he says of himself is about him. None if his name can't be it."""
    return made(author, *claim[1:]) if author and claim.subject == ME else claim


def made(
    subject: str, predicate: str, object_: str, since: date | None = None, until: date | None = None
) -> Claim | None:
    """A claim of words from outside, each part harmless; None if one of them can't stand where it must."""
    try:
        parts = [entries.neutralise(part).strip() for part in (subject, predicate, object_)]
    except UsageError:
        return None
    fit = not any(map(_UNFIT.search, parts[:2])) and max(map(len, parts)) <= LONGEST and len(parts[1]) <= 80
    claim = Claim(parts[0], parts[1], parts[2], since, until)
    return claim if fit and parse(render(claim)) == claim else None


def render(claim: Claim) -> str:
    """The claim as one line."""
    return f"{claim.subject}{PARTS}{facts.words(claim.predicate, claim.object, claim.since, claim.until)}"


def parse(line: str) -> Claim | None:
    """The claim in a line; None if there is none."""
    subject, parted, rest = line.strip(" \t").partition(PARTS)
    said = facts.said(rest.strip(" \t")) if parted else None
    if said is None or facts.stray(said.object) or not subject.strip(" \t") or _UNFIT.search(subject):
        return None
    return Claim(subject.strip(" \t"), said.predicate, said.object, said.since, said.until)
