"""A conversation cut into windows that a model can look at, one after the other: all of it, its tail included. Pure.

Each turn of the person and of the model is examined in exactly one window; a turn too large for one is cut at its lines
and sentences, and each of its characters is examined once. A window begins with the last turns before it, marked as
context: what "it" and "there" mean stands there. Instructions and tool output are in no window.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.recall.packing.budget import characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.capture.transcripts.turns import Turn

EXAMINED = frozenset({"user", "assistant"})
"""Whose turns are looked at."""

LABEL = 48
"""Characters that number, speaker and time of a turn cost beside its words."""

OVERLAP = 2
"""Turns before a window that it shows as context."""

CONTEXT_SHARE = 4
"""A fourth of a window at most is context; a longer turn is shown by its end."""

LEAST = 64
"""Tokens of the smallest window: below, labels would take all of it."""

_BREAKS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(r"\s+"),
)
"""Where a turn that is too large is best cut: after a paragraph, a line, a sentence, a word."""


class Piece(NamedTuple):
    """What a window shows of a turn.

    Attributes:
        turn: the turn.
        text: its words, or a part of them, verbatim.
        start: where the part begins in :attr:`Turn.text`.
        context: only there to be understood; nothing is to be drawn from it.
    """

    turn: Turn
    text: str
    start: int
    context: bool


class Window(NamedTuple):
    """What is looked at at once: context first, then what is examined."""

    pieces: tuple[Piece, ...]

    @property
    def examines(self) -> tuple[int, ...]:
        """Numbers of the turns that are examined here, wholly or in part, in order."""
        return tuple(dict.fromkeys(piece.turn.number for piece in self.pieces if not piece.context))


def windows(turns: Iterable[Turn], size: int, *, after: int = 0, overlap: int = OVERLAP) -> Iterator[Window]:
    """Cut a conversation.

    Args:
        turns: all of it, in order.
        size: tokens of a window, labels counted (at least :data:`LEAST`).
        after: number of the last turn that was examined before; only those after it are, with it as context.
        overlap: turns of context before each window.

    Yields:
        Windows in order; none if nothing is to be examined. Only a window's context may make it smaller than it could
        be, and nothing makes it larger than ``size``.
    """
    room = characters(max(size, LEAST))
    share = room // CONTEXT_SHARE
    before: list[Turn] = []
    held: list[Piece] = []
    used = 0
    for turn in turns:
        if turn.role not in EXAMINED or not turn.text:
            continue
        if turn.number <= after:
            before = [*before, turn][-overlap:] if overlap else []
            continue
        for piece in _pieces(turn, room - share):
            cost = len(piece.text) + LABEL
            if held and used + cost > room - share:
                yield _window(before, held, share)
                before = _last([*before, *(one.turn for one in held)], turn, overlap)
                held, used = [], 0
            held.append(piece)
            used += cost
    if held:
        yield _window(before, held, share)


def _last(turns: list[Turn], now: Turn, overlap: int) -> list[Turn]:
    """The last turns, each once, without the one that goes on."""
    kept = dict.fromkeys(turn.number for turn in turns if turn.number != now.number)
    by_number = {turn.number: turn for turn in turns}
    return [by_number[number] for number in [*kept][-overlap:]] if overlap else []


def _window(before: list[Turn], held: list[Piece], share: int) -> Window:
    """Context as far as its share goes, the nearest turn first; what is too long is shown by its end."""
    context: list[Piece] = []
    left = share
    for turn in reversed(before):
        if left <= 2 * LABEL:
            break
        start = max(0, len(turn.text) - (left - LABEL))
        context.append(Piece(turn, turn.text[start:], start, True))
        left -= LABEL + len(turn.text) - start
    return Window((*reversed(context), *held))


def _pieces(turn: Turn, room: int) -> Iterator[Piece]:
    """A turn whole, or in parts of at most so many characters with their labels; the parts joined are the turn."""
    most = room - LABEL
    start = 0
    while len(turn.text) - start > most:
        end = _cut(turn.text, start, start + most)
        yield Piece(turn, turn.text[start:end], start, False)
        start = end
    yield Piece(turn, turn.text[start:], start, False)


def _cut(text: str, start: int, most: int) -> int:
    """Where to end a part: at the last good break of its second half."""
    half = start + (most - start) // 2
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, half, most) if start < match.end() <= most]
        if ends:
            return ends[-1]
    return most
