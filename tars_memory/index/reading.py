"""Read one note for the index: its bytes, whether they are new, and what they say."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING

from tars_memory.disk import blake2b
from tars_memory.errors import NotFoundError, TarsError
from tars_memory.index import chunking, facts
from tars_memory.index.changes import STAMP
from tars_memory.index.fulltext import clean
from tars_memory.index.writer import EXCLUDED, PROPOSALS, TEMPLATE, TOO_BIG, UNREADABLE, UNRESOLVED, NoteRow
from tars_memory.vault.model import Tier
from tars_memory.vault.secrets import veiled
from tars_memory.vault.template import is_made_by_us
from tars_memory.vault.vault import has_markers

if TYPE_CHECKING:
    from tars_memory.vault.vault import Vault

SAME = "same"
"""The bytes are those that are indexed."""
OURS = frozenset({Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY})
"""The tiers whose notes begin with headings that wait for lines."""
FEEDBACK = "Feedback"
"""The heading of feedback in its notes."""


def read(
    vault: Vault, path: str, stamp: bytes, kept: bytes, known: bytes | None, max_bytes: int
) -> NoteRow | bytes | str | None:
    """Read and take apart one note.

    Args:
        vault: that holds it.
        path: of the note.
        stamp: as the sweep saw it.
        kept: the stamp to store.
        known: hash of the bytes that are indexed, if they may be the same.
        max_bytes: more than this is not read.

    Returns:
        The rows' content; :data:`SAME`; the reason why it is not indexed; None if the note is gone.
    """
    layout = vault.layout
    if layout.is_template(path):
        return TEMPLATE
    if layout.is_excluded(path):
        return EXCLUDED
    size, modified, _, _ = STAMP.unpack(stamp)
    if size > max_bytes:
        return TOO_BIG
    try:
        data = vault.read(path)
    except NotFoundError:
        return None
    except (OSError, TarsError):
        return UNREADABLE
    if len(data) > max_bytes:
        return TOO_BIG
    if layout.is_review(path) and is_made_by_us(data):
        return PROPOSALS
    if has_markers(data):
        return UNRESOLVED
    digest = blake2b(data, digest_size=16).digest()
    day = layout.day_of(path)
    weak = _day(modified)
    if known is not None and digest == known[:16] and known[16:] in (b"", _weak_day(weak)):
        return SAME
    tier, scope = layout.tier_of(path), clean(layout.scope_of(path))
    ours = tier in OURS or layout.timed(path)
    skeleton = {layout.notes_section, layout.log_heading, FEEDBACK} if ours else None
    # Credentials never get into the index; the lines stay where they are, so that hits can be told in the note.
    shown = veiled(data)
    facts_note, session = layout.is_facts(path), tier == Tier.EPISODIC
    parsed = chunking.parse(path, shown, day=day, modified=weak, skeleton=skeleton, facts=facts_note, session=session)
    if parsed.day_source == "mtime":
        digest += _weak_day(weak)
    return NoteRow(path, kept, digest, str(tier), scope, parsed, facts.rows_of(layout, path, shown))


def _day(nanoseconds: int) -> date | None:
    """The local day of a time stamp; None where a file system made one up that is no date."""
    try:
        return date(*time.localtime(nanoseconds / 1e9)[:3])
    except (OverflowError, OSError, ValueError):
        return None


def _weak_day(day: date | None) -> bytes:
    """What stands behind the hash of a note whose only date is that of its file: another day, other rows."""
    return b"" if day is None else day.isoformat().encode("ascii")
