"""A model's summary of old sessions: it sees their statements, numbered, and each sentence of its own must name those
that it rests on. A sentence that names none, or says what they don't, is dropped and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.models import llm, prompts, replies
from tars_memory.errors import UsageError, counted
from tars_memory.language import statements
from tars_memory.vault.markdown.entries import neutralise
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from tars_memory.curation.models.llm import LanguageModel, Prompt
    from tars_memory.curation.tidying.digest import Merged

LINES = 400
"""So many statements of one period are shown; those that weigh most."""

KINDS = {"decision": "decision", "fact": "fact", "open": "open end", "topic": "topic"}
"""The ops of an answer, and the kind of statement that each makes."""


class Sentence(NamedTuple):
    """One sentence of a model, with the statements that it rests on."""

    kind: str
    text: str
    rests_on: tuple[Merged, ...]


class Distilled(NamedTuple):
    """What a model made of a period's statements.

    Attributes:
        sentences: those that hold.
        dropped: why each of the others was dropped.
    """

    sentences: list[Sentence]
    dropped: list[str]


def prompt_for(period: str, shown: Sequence[Merged], day: date) -> Prompt:
    """What a model is asked about one period."""
    return prompts.compress(numbered(shown), period=period, day=day)


def numbered(shown: Sequence[Merged]) -> list[str]:
    """The statements as the prompt numbers them: with day, kind and how often."""
    told = []
    for each in shown:
        often = f", {counted(len(each.all), 'time')}" if len(each.all) > 1 else ""
        kept = ", kept by the person" if each.promoted else ""
        told.append(f"{each.first.day} {each.first.kind}{often}{kept}: {each.first.text}")
    return told


def distil(model: LanguageModel, period: str, shown: Sequence[Merged], day: date) -> Distilled:
    """Ask, and keep what holds.

    Raises:
        ModelUnavailableError: the model does not answer, unusably, or without one sentence that holds.
    """
    prompt = prompt_for(period, shown, day)
    code = prompts.code([period], numbered(shown))
    answer = llm.ask(model, prompt, lambda text: replies.ops(text, 0, len(shown), code=code, kinds=tuple(KINDS)))
    dropped = list(answer.rejected)
    sentences: list[Sentence] = []
    said: set[str] = set()
    for op in answer.ops:
        named = tuple(shown[number - 1] for number in dict.fromkeys(op.lines))
        try:
            text = neutralise(mask(op.text))
        except UsageError:
            dropped.append("a sentence without words")
            continue
        why = "said twice" if text in said else strange(text, named)
        if why:
            dropped.append(why)
            continue
        said.add(text)
        sentences.append(Sentence(KINDS[op.kind], text, named))
    if not sentences:
        raise llm.unusable(model.name, replies.ReplyError("no sentence of it rests on the lines that it names"))
    return Distilled(sentences, dropped)


def strange(text: str, named: Sequence[Merged]) -> str:
    """Why a sentence does not rest on the statements that it names; empty if it does.

    Its numbers and names must stand in them, a *not* must not come or go, and half of its words must be theirs: a
    careful measure, not a proof. The originals are a link away.
    """
    new = statements.read(text)
    old = [statements.read(each.first.text) for each in named]
    words = {word for each in old for word in (*each.words, *each.content)}
    days = {part for each in named for one in each.all for part in statements.read(one.day).numbers}
    if any(number not in words | days for number in new.numbers):
        return "a number that its lines do not say"
    if new.denied and not any(each.denied for each in old):
        return "a “not” that its lines do not say"
    if not new.denied and all(each.denied for each in old):
        return "a “not” of its lines went missing"
    if any(name not in words and name.casefold() not in words for name in new.names):
        return "a name that its lines do not say"
    if sum(word not in words for word in new.content) * 2 > len(new.words):
        return "other words than those of its lines"
    return ""
