"""The second look: a model judges what kind of sentence each quote is, and what is none to keep is left out.

No list of words can tell a wish from a plan, or a story from a life. So each quote is shown once more, by itself, with
what stood beside it. The verdicts only take rights away: what is stated, planned or a rule is offered, what is over
ends the fact that it speaks of, and the rest is kept in the session note. What the person asked to be remembered can't
be left out. No answer, or one that can't be read, leaves all as it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tars_memory.curation.extraction.grounding import folded
from tars_memory.curation.models import llm, prompts, replies
from tars_memory.errors import ModelUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.transcripts.turns import Turn
    from tars_memory.curation.extraction.known import Known
    from tars_memory.curation.model import Fact, Verdict
    from tars_memory.curation.models.llm import LanguageModel, Prompt

OFFERED = ("stated", "planned", "rule")
"""Kinds of sentences that the person is asked about."""
RULE = "rule"

A_CALL = 20
"""Quotes that a model judges at once."""

BESIDE = 200
"""Characters before and behind a quote that are shown with it."""

NOT_ALONE = "It can't be understood by itself"
DENIED = "It does not say the fact that was read into it, which was left out"
ASKED_FOR = "You asked for it to be remembered, but it reads as something else: {kind}"

_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


def sorted_out(
    model: LanguageModel | None,
    facts: Sequence[Fact],
    turns: Sequence[Turn],
    days: Mapping[int, date],
    known: Known,
) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts to offer, and those to leave out, each with what the model found.

    Args:
        model: whom to ask; None asks nobody.
        facts: grounded.
        turns: of the conversation.
        days: of each turn, by its number.
        known: what the vault holds: only a fact that is true there can end.
    """
    offered: list[Fact] = []
    left_out: list[Fact] = []
    shown = prompts_of(facts, turns) if model is not None else iter(())
    for some, prompt in shown:
        assert model is not None
        for fact, verdict in zip(some, _verdicts(model, prompt, len(some)), strict=True):
            judged = _judged(fact, verdict, days[fact.turn], known) if verdict else fact
            ends = judged.claim is not None and judged.claim.until is not None
            stays = not judged.seen or judged.seen in OFFERED or ends or judged.asked
            (offered if stays else left_out).append(judged)
    return tuple(offered if model is not None else facts), tuple(left_out)


def prompts_of(facts: Sequence[Fact], turns: Sequence[Turn]) -> Iterator[tuple[Sequence[Fact], Prompt]]:
    """What a model is asked about some facts, :data:`A_CALL` of them at a time."""
    quoted = {fact.turn for fact in facts}
    texts = {turn.number: folded(turn.text) for turn in turns if turn.number in quoted}
    for start in range(0, len(facts), A_CALL):
        some = facts[start : start + A_CALL]
        yield some, prompts.look([_shown(fact, texts[fact.turn]) for fact in some])


def _shown(fact: Fact, text: str) -> dict[str, Any]:
    """A quote as it is shown."""
    before, _, after = text.partition(fact.quote)
    near = [*_END.split(before[-BESIDE:])[-2:], "…", *_END.split(after[:BESIDE])[:2]]
    claim = fact.claim
    read = claim and [claim.subject, claim.predicate, claim.object, claim.since.isoformat() if claim.since else ""]
    return {"said": fact.said or fact.quote, "around": " ".join(filter(None, near)), "fact": read}


def _verdicts(model: LanguageModel, prompt: Prompt, count: int) -> Sequence[Verdict | None]:
    try:
        return llm.ask(model, prompt, lambda text: replies.verdicts(text, count))
    except ModelUnavailableError:
        return [None] * count


def _judged(fact: Fact, verdict: Verdict, day: date, known: Known) -> Fact:
    """The fact with what a verdict takes from it."""
    kind, claim, warnings = verdict.kind, fact.claim, [*fact.warnings]
    if not verdict.alone:
        warnings.append(NOT_ALONE)
    if kind == "past":
        claim = claim._replace(since=None, until=day) if claim and known.holds(claim) else None
    elif kind == "planned" and not (claim and claim.since and claim.since > day):
        claim = None  # nothing says from when on it will be so
    elif kind not in ("stated", "planned"):
        claim = None
    elif claim and not verdict.fact:
        claim = None
        warnings.append(DENIED)
    if fact.asked and kind not in (*OFFERED, "past"):
        warnings.append(ASKED_FOR.format(kind=kind))
    return fact._replace(seen=kind, claim=claim, warnings=tuple(warnings))
