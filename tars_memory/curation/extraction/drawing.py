"""What is drawn from one conversation: by a model window by window, or by the rules at once; grounded either way.

What the person asked to be remembered is drawn by the rules in any case, so that no model can leave it out.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.extraction import grounding, rules, second_look, stating
from tars_memory.curation.extraction.windows import windows
from tars_memory.curation.models import llm, prompts, replies
from tars_memory.vault.secrets import mask
from tars_memory.vault.suspicion import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.transcripts.turns import Transcript, Turn
    from tars_memory.curation.extraction.known import Known
    from tars_memory.curation.extraction.windows import Window
    from tars_memory.curation.model import Extraction, Fact
    from tars_memory.curation.models.llm import LanguageModel, Prompt

WINDOW = 6_000
"""Tokens of a conversation that a model sees at once: more, and facts of the middle are passed over."""

MOST_FACTS = 500
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
        left_out: what a second look found not to be worth a person's decision.
    """

    extraction: Extraction
    dropped: dict[str, int]
    until: int = 0
    turns: int = 0
    readable: int = 0
    left_out: tuple[Fact, ...] = ()


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


def prompts_of(transcript: Transcript, after: int, when: Moments, known: Known) -> Iterator[Asked]:
    """What a model would be asked about the turns after a number, window by window."""
    facts, predicates = known.told()
    for window in windows(transcript.turns, WINDOW, after=after):
        if not _has_user(window):
            continue
        turns = tuple(piece.turn._replace(text=piece.text) for piece in window.pieces)
        examined = window.examines
        day = when[examined[0]].date()
        prompt = prompts.extract(
            turns, day=day, examine=examined, title=transcript.title, facts=facts, predicates=predicates
        )
        yield Asked(prompt, turns, examined)


def draw(
    transcript: Transcript,
    after: int,
    when: Moments,
    model: LanguageModel | None,
    known: Known,
    *,
    looks: bool = True,
) -> Drawn:
    """The grounded facts, and what the conversation was about.

    Args:
        transcript: the conversation.
        after: the number of turns that were examined before.
        when: :func:`moments`.
        model: whom to ask; None uses the rules.
        known: what the vault holds; a second look is had only at what is new.
        looks: whether the model is asked for a second look.

    Raises:
        ModelUnavailableError: the model can't be used, or its answer can't.
    """
    if model is None:
        return _by_rules(transcript, after, when)
    found: list[Fact] = []
    dropped: dict[str, int] = {}
    days = {number: moment.date() for number, moment in when.items()}
    named = len({turn.speaker for turn in transcript.turns if turn.role == "user"}) > 1
    for asked in prompts_of(transcript, after, when, known):
        held = grounding.ground(_answer(model, asked), asked.turns, asked.examined, days, named=named)
        found += held.facts
        for why, count in held.dropped.items():
            dropped[why] = dropped.get(why, 0) + count
    if secret := sum(MARK in fact.text for fact in found):
        found, dropped["secret"] = [fact for fact in found if MARK not in fact.text], secret
    by_rules = _by_rules(transcript, after, when)
    facts = _with_asked(found, by_rules.extraction.facts)
    news = [fact for fact in facts if not known.why(fact.text)]  # what is known of a fact may be said to be over
    offered, left_out = second_look.sorted_out(model if looks else None, news, transcript.turns, days, known)
    offered += tuple(fact for fact in facts if fact not in news)
    decisions = tuple(dict.fromkeys(fact.text for fact in offered if fact.kind == "decision"))
    extraction = by_rules.extraction._replace(facts=offered, decisions=decisions)
    return Drawn(extraction, dropped, left_out=left_out)


def _with_asked(found: Sequence[Fact], by_rules: Sequence[Fact]) -> list[Fact]:
    """What a model pointed at, and what the person asked to be remembered that no quote of the model holds whole."""
    asked = [fact for fact in by_rules if fact.asked]

    def touches(one: Fact, other: Fact) -> bool:
        return one.turn == other.turn and (one.quote in other.quote or other.quote in one.quote)

    def held(one: Fact) -> bool:
        return any(one.turn == fact.turn and one.text.casefold() in fact.quote.casefold() for fact in found)

    pointed = [fact._replace(asked=any(touches(fact, each) for each in asked)) for fact in found]
    return [*pointed, *(each for each in asked if not held(each))]


def _answer(model: LanguageModel, asked: Asked) -> tuple[Fact, ...]:
    numbers = {turn.number for turn in asked.turns}
    return llm.ask(model, asked.prompt, lambda text: replies.extraction(text, numbers)).facts


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
