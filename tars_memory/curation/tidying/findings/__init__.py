"""What tidy finds without a model: small pure functions, one module for each kind of fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.curation.tidying.findings.deadlinks import dead_links
from tars_memory.curation.tidying.findings.expiry import expired
from tars_memory.curation.tidying.findings.model import Finding, TidyNote, World, numbered
from tars_memory.curation.tidying.findings.opposites import opposites
from tars_memory.curation.tidying.findings.repeats import (
    duplicates,
    duplicates_elsewhere,
    near_duplicates,
    repeated_headings,
    repeated_ids,
)
from tars_memory.curation.tidying.findings.shape import empty_bullets, malformed, oversized, placeholders, without_mark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FIXABLE: tuple[Callable[[TidyNote, World], Iterable[tuple[Finding, str]]], ...] = (duplicates, empty_bullets)
"""Those whose findings ``--apply`` may mend by itself."""

OTHERS: tuple[Callable[[TidyNote, World], Iterable[tuple[Finding, str]]], ...] = (
    duplicates_elsewhere,
    near_duplicates,
    opposites,
    repeated_headings,
    repeated_ids,
    placeholders,
    oversized,
    malformed,
    without_mark,
    dead_links,
    expired,
)


def findings(note: TidyNote, world: World) -> list[Finding]:
    """Everything to tidy in a note, in order of its lines."""
    return numbered(found for find in (*FIXABLE, *OTHERS) for found in find(note, world))


def fixable(note: TidyNote, world: World) -> list[Finding]:
    """What of it ``--apply`` may mend by itself; with the same ids as :func:`findings` gives."""
    return [found for found in numbered(found for find in FIXABLE for found in find(note, world)) if found.fixable]
