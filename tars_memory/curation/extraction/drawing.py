"""What is drawn from one conversation: by a model window by window, or by the rules at once."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.extraction import grounding, rules, stating
from tars_memory.curation.extraction.windows import windows
from tars_memory.curation.model import Extraction
from tars_memory.curation.models import llm, prompts, replies
from tars_memory.vault.secrets.masking import MARK, mask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.curation.extraction.windows import Window
    from tars_memory.curation.models.llm import LanguageModel, Prompt

WINDOW = 6_000
"""Tokens of a conversation that a model sees at once: more, and facts of the middle are passed over."""

MOST_FACTS = 1_000
"""That the rules draw from a conversation at once: a person is to decide on each. The next run goes on behind them."""

Moments = dict[int, datetime]
"""When each turn was said, by its number, in the local zone."""


class Drawn(NamedTuple):
    """What a conversation gave.

    Attributes:
        extraction: its facts have quotes that were said.
        dropped: why facts were not kept, counted.
        until: number of the last turn that was looked at; 0 if all were.
        turns, readable: of the rules: the person's turns that were looked at, and those in a language that they know.
    """

    extraction: Extraction
    dropped: dict[str, int]
    until: int = 0
    turns: int = 0
    readable: int = 0


class Asked(NamedTuple):
    """A prompt that would be sent.

    Attributes:
        prompt: itself.
        turns: that it shows, as it shows them.
        examined: numbers of those that facts may come from.
    """

    prompt: Prompt
    turns: tuple[Turn, ...]
    examined: tuple[int, ...]


def moments(transcript: Transcript, now: datetime) -> Moments:
    """When each turn was said: its own time, else that of the turn before, else when the conversation began.

    Args:
        transcript: whose times may be missing.
        now: counts for a conversation that does not say any.
    """
    timed = next((turn.time for turn in transcript.turns if turn.time is not None), None)
    last = local(transcript.start or timed, now)
    found: Moments = {}
    for turn in transcript.turns:
        last = local(turn.time, last)
        found[turn.number] = last
    return found


def local(time: datetime | None, otherwise: datetime) -> datetime:
    """The time in the local zone; the other one if there is none, or none that a calendar holds."""
    if time is None:
        return otherwise
    try:
        return time.astimezone()
    except (OverflowError, OSError, ValueError):
        return otherwise


def prompts_of(transcript: Transcript, after: int, when: Moments) -> Iterator[Asked]:
    """What a model would be asked about the turns after a number, window by window."""
    for window in windows(transcript.turns, WINDOW, after=after):
        if not _has_user(window):
            continue
        turns = tuple(piece.turn._replace(text=piece.text) for piece in window.pieces)
        examined = window.examines
        day = when[examined[0]].date()
        prompt = prompts.extract(turns, day=day, examine=examined, title=transcript.title)
        yield Asked(prompt, turns, examined)


def draw(transcript: Transcript, after: int, when: Moments, model: LanguageModel | None) -> Drawn:
    """The grounded facts, and what the conversation was about.

    Args:
        transcript: the conversation.
        after: the number of turns that were examined before.
        when: :func:`moments`.
        model: whom to ask; None uses the rules.

    Raises:
        ModelUnavailableError: the model can't be used, or its answer can't.
    """
    if model is None:
        return _by_rules(transcript, after, when)
    parts: list[Extraction] = []
    dropped: dict[str, int] = {}
    days = {number: moment.date() for number, moment in when.items()}
    for asked in prompts_of(transcript, after, when):
        found = _answer(model, asked)
        held = grounding.ground(found.facts, asked.turns, asked.examined, days)
        decisions, open_ends = (grounding.mentioned(each, asked.turns) for each in (found.decisions, found.open_ends))
        parts.append(found._replace(facts=held.facts, decisions=decisions, open_ends=open_ends))
        for why, count in held.dropped.items():
            dropped[why] = dropped.get(why, 0) + count
    whole = _joined(parts)
    days = {number: moment.date() for number, moment in when.items()}
    whole = whole._replace(facts=stating.claimed(whole.facts, transcript.turns, days))
    return Drawn(whole, dropped)


def _answer(model: LanguageModel, asked: Asked) -> Extraction:
    numbers = {turn.number for turn in asked.turns}
    return llm.ask(model, asked.prompt, lambda text: replies.extraction(text, numbers))


def _by_rules(transcript: Transcript, after: int, when: Moments) -> Drawn:
    spoken = [turn for turn in transcript.turns if turn.role in ("user", "assistant")]
    examined = {turn.number for turn in spoken if turn.number > after}
    days = {number: moment.date() for number, moment in when.items()}
    speakers = {turn.speaker for turn in spoken if turn.role == "user"}
    # A turn is masked as a whole, because one line of a list of codes is none by itself; what holds one is no fact.
    shown = [turn._replace(text=mask(turn.text)) if turn.number > after else turn for turn in spoken]
    read = rules.read(shown, examined, days, named=len(speakers) > 1, most=MOST_FACTS)
    found = read.extraction
    until = found.facts[-1].turn if len(found.facts) >= MOST_FACTS else 0
    plain = tuple(fact for fact in found.facts if MARK not in fact.quote)
    claimed = stating.claimed(plain, transcript.turns, days)
    secret = {"secret": len(found.facts) - len(plain)} if len(plain) < len(found.facts) else {}
    return Drawn(found._replace(facts=claimed), secret, until, read.turns, read.readable)


def _has_user(window: Window) -> bool:
    return any(not piece.context and piece.turn.role == "user" for piece in window.pieces)


def _joined(parts: Sequence[Extraction]) -> Extraction:
    """One extraction of several windows; each line once."""
    return Extraction(
        facts=tuple(fact for part in parts for fact in part.facts),
        title=next((part.title for part in parts if part.title), ""),
        summary="\n\n".join(dict.fromkeys(part.summary for part in parts if part.summary)),
        topics=_each_once(part.topics for part in parts),
        decisions=_each_once(part.decisions for part in parts),
        open_ends=_each_once(part.open_ends for part in parts),
    )


def _each_once(lists: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for lines in lists for line in lines))
