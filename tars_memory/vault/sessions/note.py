"""The nouns of a session note: the note, a fact with what it stands on, a turn that is kept."""

from __future__ import annotations

import re
from typing import NamedTuple

LEFT_OUT = "Left out"
"""The section of what a second look found not to be worth a decision: nobody is told of it unless he asks for it."""
SECTIONS = ("Summary", "Topics", "Decisions", "Open ends", "Tools", "Facts", LEFT_OUT, "Turns")
"""Headings of level 2, in this order; empty ones are left out."""

TAG = "session"
QUOTE, SAID_BY, FACT, KIND, WARNING = "quote:: ", "said by:: ", "fact:: ", "kind:: ", "warning:: "
"""How the bullets under a fact begin; the double colon is Obsidian's inline-field convention."""

BLANKS = " \t"
"""What parts machinery from words. Any other blank (U+00A0, U+3000) is the words' own, as it is to markdown."""


def quote_in(text: str) -> str:
    """The words of a bullet that begins with :data:`QUOTE`, without the marks around them."""
    return re.sub(r'^["“„«](.*)["”“»]$', r"\1", text.removeprefix(QUOTE).strip(BLANKS))


def speaker_in(text: str) -> tuple[str, int]:
    """The name and the turn that a bullet that begins with :data:`SAID_BY` says; 0 for no turn."""
    words = text.removeprefix(SAID_BY).strip(BLANKS)
    turn = re.search(r"(?<![^\s,])turn\s+(\d{1,9})$", words)
    return words[: turn.start() if turn else None].strip(f"{BLANKS},"), int(turn[1]) if turn else 0


class SessionFact(NamedTuple):
    """A fact with what it stands on.

    Attributes:
        text: the words, neutralised when read from a note.
        source: the daily note's line that holds it: ``2026-11-21#^d-abc``; empty for none.
        label: how the link is shown; the day.
        quote: verbatim.
        speaker: who said it.
        turn: number of the turn.
        claim: what it states over time, as :func:`tars_memory.vault.markdown.claims.render` gives it; empty for none.
        kind: of sentence, as a second look found it; empty if nobody has looked.
        warnings: short sentences for the person who decides.
    """

    text: str
    source: str = ""
    label: str = ""
    quote: str = ""
    speaker: str = ""
    turn: int = 0
    claim: str = ""
    kind: str = ""
    warnings: tuple[str, ...] = ()


class SessionTurn(NamedTuple):
    """A turn that is kept: ``time`` is ``14:30``, ``2026-11-22 00:10`` if on another day, or empty."""

    number: int
    speaker: str
    text: str
    time: str = ""


class SessionNote(NamedTuple):
    """What a session note says.

    Attributes:
        date: ``YYYY-MM-DD`` of its beginning.
        source: file name of the transcript.
        source_hash: digest of the turns up to ``turns``.
        turns: turns of the conversation that were examined.
        session: the log's own name of the conversation; empty for none.
        format: the shape that it was read as.
        title: a few words.
        summary: a few sentences; paragraphs parted by a blank line.
        topics, decisions, open_ends, tools: short lines.
        facts: in order.
        left_out: what is not offered, likewise.
        kept: the turns that are stored.
        path: of the note, when read from one.
    """

    date: str
    source: str
    source_hash: str
    turns: int
    session: str = ""
    format: str = ""
    title: str = ""
    summary: str = ""
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open_ends: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    facts: tuple[SessionFact, ...] = ()
    left_out: tuple[SessionFact, ...] = ()
    kept: tuple[SessionTurn, ...] = ()
    path: str = ""
