"""Draws statements from a conversation with a model: in windows, each by its quote, each quote with a second look.

Each turn of the person and of the assistant is examined in exactly one window; a turn that is too large for one is cut
at its lines and sentences, and each of its characters is examined once. A window begins with the last turns before it
as context: they say what "it" and "there" mean. Instructions and tool output are in no window.

The model only points; its words are never used. A quote must be found verbatim (except for white space) in an examined
turn of the person, outside of anything that they pasted or quoted. A quote that ends within a word is extended to the
whole word. What the quote refers to ("there") is added after it in brackets, if it is found verbatim in the person's
own words shortly before. A fact that the model read from the quote counts only if its object is found in the quote or
in these brackets. All other changes are mechanical: relative dates become absolute, and the speaker is named if there
are several. Scripts that do not separate words by blanks are supported: there, each character is a word.

No list of words can tell a wish from a plan, or a story from a life. So each quote is shown to the model once more, by
itself, with the text around it. The verdicts only take rights away: statements, plans and rules are offered, what is
over ends the fact that it is about, and the rest is kept in the session note. What the person asked to be remembered is
never left out. If there is no answer, or no readable one, nothing changes.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk, errors
from tars_memory.curation.models import dialogues
from tars_memory.language import dates, statements
from tars_memory.language.words import language_of
from tars_memory.recall.packing import characters, visible
from tars_memory.vault.markdown.facts import ME, WE, Claim, claim_of, folded as plainly
from tars_memory.vault.secrets import mask
from tars_memory.vault.writing import journal, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime

    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.proposals import DrawnFact, Verdict
    from tars_memory.settings import Settings


WINDOW = 6_000
"""Tokens of a conversation that a model sees at once; with more, it overlooks facts in the middle."""


class TurnWindow(NamedTuple):
    """The part of a conversation that a model sees at once.

    Attributes:
        turns: as it shows them: first those that are only context, of a long one the end; then those to examine, of a
            long one a part.
        examined: numbers of the turns that facts may come from, in order.
    """

    turns: tuple[Turn, ...]
    examined: tuple[int, ...]


def prompts_of(
    transcript: Transcript,
    new: Container[int],
    when: Mapping[int, datetime],
    known: tuple[Sequence[str], Sequence[str]],
) -> Iterator[tuple[dialogues.Dialogue[tuple[DrawnFact, ...]], TurnWindow]]:
    """Yield the prompts for the turns to examine, each with its window.

    Args:
        transcript: the conversation.
        new: numbers of the turns to examine.
        when: by number, the time of each turn.
        known: the known facts and predicates to show.
    """
    facts, predicates = known
    for window in windows(transcript.turns, WINDOW, new):
        if any(turn.role == "user" and turn.number in window.examined for turn in window.turns):
            day = when[window.examined[0]].date()
            yield (
                dialogues.extract(
                    window.turns,
                    day=day,
                    examine=window.examined,
                    title=transcript.title,
                    facts=facts,
                    predicates=predicates,
                ),
                window,
            )


EXAMINED = frozenset({"user", "assistant"})
"""Roles whose turns are examined."""

LABEL = 48
"""Number of characters that a turn's number, speaker and time take, in addition to its words."""

OVERLAP = 2
"""Number of turns before a window that it shows as context."""

CONTEXT_SHARE = 4
"""At most one part in so many of a window is context; of a longer turn the end is shown."""

LEAST = 64
"""Minimum number of tokens of a window; labels would take all of a smaller one."""

_BREAKS = (
    re.compile(r"\n[ \t]*\n+"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|(?<=[。！？])"),
    re.compile(r"\s+"),
)
"""Where to cut a turn that is too large, best first: after a paragraph, a line, a sentence, a word."""


def windows(turns: Iterable[Turn], size: int, new: Container[int], *, overlap: int = OVERLAP) -> Iterator[TurnWindow]:
    """Cut a conversation into windows.

    Args:
        turns: all of it, in order.
        size: maximum number of tokens of a window, including labels (at least :data:`LEAST`).
        new: numbers of the turns to examine; others may be context.
        overlap: number of turns of context before each window.

    Yields:
        Windows in order; none if there is nothing to examine. Room that is reserved for context and not used stays
        empty; no window is larger than ``size``.
    """
    room = characters(max(size, LEAST))
    context_room = room // CONTEXT_SHARE
    spoken = [turn for turn in turns if turn.role in EXAMINED and turn.text]
    parts: list[Turn] = []
    used = first = 0
    for at, turn in enumerate(spoken):
        if turn.number not in new:
            continue
        for text in _parts(turn.text, room - context_room - LABEL):
            cost = len(text) + LABEL
            if parts and used + cost > room - context_room:
                yield _window(spoken[max(0, first - overlap) : first], parts, context_room)
                parts, used = [], 0
            first = first if parts else at
            parts.append(turn._replace(text=text))
            used += cost
    if parts:
        yield _window(spoken[max(0, first - overlap) : first], parts, context_room)


def _window(before: Sequence[Turn], parts: Sequence[Turn], room: int) -> TurnWindow:
    """Return a window with as much context as there is room for, the nearest turn first; of a long turn the end."""
    context: list[Turn] = []
    for turn in reversed(before):
        if room <= 2 * LABEL:
            break
        context.insert(0, turn._replace(text=turn.text[LABEL - room :]))
        room -= LABEL + len(context[0].text)
    return TurnWindow((*context, *parts), tuple(dict.fromkeys(turn.number for turn in parts)))


def _parts(text: str, size: int) -> Iterator[str]:
    """Yield a text whole, or cut into parts of at most ``size`` characters; nothing is lost."""
    start = 0
    while len(text) - start > size:
        end = _cut(text, start, start + size)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut(text: str, start: int, limit: int) -> int:
    """Return where to end a part that begins at ``start``: at the last good break in its second half."""
    half = start + (limit - start) // 2
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, half, limit) if start < match.end() <= limit]
        if ends:
            return ends[-1]
    return limit


NO_QUOTE = "no quote"
NOT_SAID = "quote not found"
NOT_OWN = "not the person's own words"
TOO_LONG = "too long"
"""Reasons to drop a fact."""

LEAST_QUOTE = 2
"""Minimum number of words of a quote, unless it is the whole turn: a lone word is found in any turn."""

LONGEST, LONGEST_NAME = 600, 80
"""Maximum number of characters of a quote, as more is not a single statement; and of what its words refer to."""

NEAR = 10
"""Number of turns before a quote's turn in which the person may have said what its words refer to."""

MOST_WORDS = 5
"""Maximum number of words of a predicate."""

ASKS = "It contains a question mark"
QUOTES = "It contains quotation marks: somebody else's words?"
"""Warnings about a quote."""

UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese: written without blanks between words."""

_WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+")
_JOINED = re.compile(rf"(?![{UNSPACED}])[^\W_]")
"""A character of a word in a script that separates words."""
_NUMBER = re.compile(r"\d+")
_TYPED = str.maketrans("’‘‛ʼ´“”„‟«»–—‐‑−", "'" * 5 + '"' * 6 + "-" * 5)
"""Punctuation that models type in another form than the person; one for one, so that offsets stay the same."""
_ASKING = frozenset("?？؟⁇⁈⁉;՞፧")
_QUOTING = frozenset('"“”„‟«»「」『』〈〉《》')
_PERSON = frozenset({"", "i", "me", "user", "the user", "myself"})
"""Names by which a model may call the person."""


def ground(
    facts: Sequence[DrawnFact],
    turns: Sequence[Turn],
    examined: Collection[int],
    days: Mapping[int, date],
    *,
    named: bool = False,
) -> tuple[list[DrawnFact], Counter[str]]:
    """Keep the facts whose quotes the person said, with words made from the quotes.

    Args:
        facts: drawn from the turns.
        turns: of the window in order, including context; of any role.
        examined: numbers of the turns that facts may come from.
        days: by number, the day of each turn.
        named: whether several people speak as users, so that each fact begins with its speaker's name.

    Returns:
        The facts, each with its quote as it is in the transcript (white space folded, credentials masked) and the
        number of the turn where it was found; and the number of dropped facts by reason.
    """
    kept: list[DrawnFact] = []
    dropped: Counter[str] = Counter()
    quotable = _QuotableTurns(turns, examined)
    for fact in facts:
        checked = quotable.checked(fact)
        if isinstance(checked, str):
            dropped[checked] += 1
        else:
            kept.append(quotable.worded(checked, days[checked.turn], named=named))
    return kept, dropped


def folded(text: str) -> str:
    """Return a text in the form in which quotes are compared: as the model was shown it, with single spaces."""
    lines = (re.sub(r"^\| ", "", line) for line in re.split(r"\r\n|\r|\n", mask(text)))
    return " ".join(" ".join(visible(line).split()) for line in lines).strip()


class _QuotableTurns:
    """The turns of a window, to find quotes in."""

    def __init__(self, turns: Sequence[Turn], examined: Collection[int]) -> None:
        turns = [turn for turn in turns if turn.role in ("user", "assistant")]
        self._turns = {turn.number: turn for turn in turns}
        self._folded = {turn.number: folded(turn.text) for turn in turns}
        self._typed = {number: text.translate(_TYPED) for number, text in self._folded.items()}
        self._order = [*self._folded]
        self._mine = {turn.number for turn in turns if turn.role == "user" and turn.number in examined}
        self._own: dict[int, list[str]] = {}

    def own(self, number: int) -> list[str]:
        """Return the parts of a turn in its speaker's own words, without what is pasted, fenced or quoted in it."""
        if number not in self._own:
            turn = self._turns[number]
            spans = statements.talk_spans(turn.text, pasted=True)
            self._own[number] = [folded(turn.text[start:end]) for start, end in spans]
        return self._own[number]

    def _part_with(self, number: int, quote: str) -> str:
        """Return the part of a turn's own words that contains a quote; empty if none does."""
        return next((part for part in self.own(number) if quote in part.translate(_TYPED)), "")

    def checked(self, fact: DrawnFact) -> DrawnFact | str:
        """Return the fact with its quote as it was said, or why it is dropped."""
        quote = folded(fact.quote).translate(_TYPED).strip("\"' …")
        if not quote:
            return NO_QUOTE
        count = len(_WORD.findall(quote))
        in_turn = fact.turn in self._mine and self._part_with(fact.turn, quote)
        if in_turn and count >= LEAST_QUOTE:
            found = [fact.turn]  # in the turn that the fact names, so the others need not be searched
        else:
            found = [number for number, text in self._typed.items() if quote in text]
        if not found:
            return NOT_SAID
        if count < LEAST_QUOTE and all(quote != self._typed[number].strip(" .!") for number in found):
            return NO_QUOTE
        own = [number for number in found if number in self._mine and self._part_with(number, quote)]
        if not own:
            return NOT_OWN
        number = fact.turn if fact.turn in own else own[0]
        quote, warnings = _whole_words(self._part_with(number, quote), quote)
        if len(quote) > LONGEST:
            return TOO_LONG
        return fact._replace(quote=quote, turn=number, warnings=(*fact.warnings, *warnings))

    def worded(self, fact: DrawnFact, day: date, *, named: bool) -> DrawnFact:
        """Return the fact with words made from its quote, and with its claim as far as these words contain it."""
        said = fact.quote
        for end, name in sorted(self._references(fact), reverse=True):
            said = f"{said[:end]} [{name}]{said[end:]}"
        text = dates.with_absolute_dates(said, day, language_of(self._folded[fact.turn]))
        text = text.rstrip(" \t.!;,…:。！，、").strip()
        speaker = self._turns[fact.turn].speaker
        claim = self._claim(fact, text, day) if fact.claim else None
        if claim is not None and claim.subject == ME and named:
            claim = claim_of(speaker, *claim[1:])
        return fact._replace(text=f"{speaker}: {text}" if named else text, said=said, claim=claim)

    def _references(self, fact: DrawnFact) -> Iterator[tuple[int, str]]:
        """Yield what words of a quote refer to: the offset after the word, and the name; one for each word."""
        taken: set[int] = set()
        for refer in fact.refers:
            name, span = folded(refer.to), folded(refer.span)
            usable = 0 < len(name) <= LONGEST_NAME and not re.search(r"[\[\]]", name)
            if not usable or plainly(name) in plainly(fact.quote) or not self._said_before(name, fact.turn):
                continue
            found = _find(span, fact.quote)
            if found is not None and found.end() not in taken:
                taken.add(found.end())
                yield found.end(), name

    def _said_before(self, name: str, number: int) -> bool:
        """Whether the person said a name in their own words, in this turn or in one of the last :data:`NEAR` before."""
        at = self._order.index(number)
        near = (other for other in self._order[max(0, at - NEAR) : at + 1] if self._turns[other].role == "user")
        return any(_find(name, part) for other in near for part in self.own(other))

    def _claim(self, fact: DrawnFact, text: str, day: date) -> Claim | None:
        """Return the claim that a model read from a quote; None if its object or its subject was not said.

        A first day that the quote does not name is left out.
        """
        claim = fact.claim
        assert claim is not None
        value = _find(claim.object, text)
        if value is None or len(claim.predicate.split()) > MOST_WORDS:
            return None
        about_me = plainly(claim.subject) in {*_PERSON, plainly(self._turns[fact.turn].speaker)}
        subject = ME if about_me else claim.subject
        if not about_me and plainly(subject) != WE and not self._said_before(subject, fact.turn):
            return None
        since = claim.since if claim.since and _names_day(text, claim.since, day) else None
        return claim_of(subject, claim.predicate, value[0], since)


def _find(words: str, text: str) -> re.Match[str] | None:
    """Find words in a text, ignoring case: as whole words in a script that separates words, else anywhere."""
    if not words.strip():
        return None
    start = r"(?<![^\W_])" if _JOINED.match(words[0]) else ""
    end = r"(?![^\W_])" if _JOINED.match(words[-1]) else ""
    found = re.search(start + re.escape(words) + end, text, re.IGNORECASE)
    return found or (re.search(re.escape(words), text, re.IGNORECASE) if re.search(f"[{UNSPACED}]", words) else None)


def _whole_words(text: str, quote: str) -> tuple[str, list[str]]:
    """Extend a quote to whole words of the text that contains it; also return warnings about it."""
    typed = text.translate(_TYPED)
    found = _find(quote, typed)
    start = typed.find(quote) if found is None or found[0] != quote else found.start()
    end = start + len(quote)
    while _in_word(text, start - 1) and _in_word(text, start):
        start -= 1
    while _in_word(text, end - 1) and _in_word(text, end):
        end += 1
    around = text[:start].rstrip()[-1:] + text[end:].lstrip()[:1]
    quote = text[start:end]
    warnings = [ASKS] if _ASKING & {*quote, *text[end:].lstrip()[:1]} else []
    return quote, warnings + ([QUOTES] if _QUOTING & {*quote, *around} else [])


def _in_word(text: str, at: int) -> bool:
    """Whether a character is part of a word; an apostrophe or hyphen is, within one ("don't", "non-vegan")."""
    if not 0 <= at < len(text):
        return False
    inner = text[at] in "'’-" and _in_word(text[at - 1 : at], 0) and _in_word(text[at + 1 : at + 2], 0)
    return inner or _JOINED.match(text[at]) is not None


def _names_day(text: str, since: date, day: date) -> bool:
    """Whether ``since`` is named in a text, in digits or as a day, month or year, or is the day it was said on."""
    if since == day or since.isoformat() in text:
        return True
    numbers = {int(number) for number in _NUMBER.findall(text)}
    years = {number for number in numbers if 1900 <= number <= 2200}
    if since.year not in years if years else abs((since - day).days) > 366:
        return False
    months = {statements.MONTHS.get(word.casefold()) for word in re.findall(r"[^\W\d_]+", text)}
    if since.month not in numbers and f"month{since.month}" not in months:
        return since.year in years and (since.month, since.day) == (1, 1)
    return since.day in numbers or since.day == 1


# --- the second look

OFFERED = ("stated", "planned", "rule")
"""Kinds of sentences that are offered to the person."""

A_CALL = 20
"""Maximum number of quotes that a model judges at once."""

BESIDE = 200
"""Maximum number of characters before and after a quote that are shown with it."""

NOT_ALONE = "It can't be understood by itself"
DENIED = "It does not state the fact that was drawn from it; the fact was left out"
ASKED_FOR = "You asked for it to be remembered, but it reads like something else: {kind}"
"""Warnings from a second look."""

_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*")


def second_look(
    model: LanguageModel | None,
    facts: Sequence[DrawnFact],
    turns: Sequence[Turn],
    days: Mapping[int, date],
    holds: Callable[[Claim], bool],
) -> tuple[tuple[DrawnFact, ...], tuple[DrawnFact, ...]]:
    """Have a second look at facts; return those to offer and those to leave out, each with its verdict.

    Args:
        model: to ask; without one, all facts are offered.
        facts: grounded.
        turns: of the conversation.
        days: by number, the day of each turn.
        holds: whether the vault has a claim as a fact that holds; only such a fact can end.
    """
    if model is None:
        return tuple(facts), ()
    offered: list[DrawnFact] = []
    left_out: list[DrawnFact] = []
    quoted = {fact.turn for fact in facts}
    texts = {turn.number: folded(turn.text) for turn in turns if turn.number in quoted}
    for start in range(0, len(facts), A_CALL):
        some = facts[start : start + A_CALL]
        verdicts: Sequence[Verdict | None] = [None] * len(some)
        with suppress(errors.ModelUnavailableError):
            verdicts = dialogues.kinds_question([_shown(fact, texts[fact.turn]) for fact in some]).ask(model)
        for fact, verdict in zip(some, verdicts, strict=True):
            judged = _judged(fact, verdict, days[fact.turn], holds) if verdict else fact
            ends = judged.claim is not None and judged.claim.until is not None
            stays = not judged.seen or judged.seen in OFFERED or ends or judged.asked
            (offered if stays else left_out).append(judged)
    return tuple(offered), tuple(left_out)


def _shown(fact: DrawnFact, text: str) -> dict[str, Any]:
    """Return a quote as the model is shown it, with the sentences around it and its claim."""
    before, _, after = text.partition(fact.quote)
    around = [*_END.split(before[-BESIDE:])[-2:], "…", *_END.split(after[:BESIDE])[:2]]
    claim = fact.claim
    parts = claim and [claim.subject, claim.predicate, claim.object, claim.since.isoformat() if claim.since else ""]
    return {"said": fact.said or fact.quote, "around": " ".join(filter(None, around)), "fact": parts}


def _judged(fact: DrawnFact, verdict: Verdict, day: date, holds: Callable[[Claim], bool]) -> DrawnFact:
    """Return the fact with its kind, without the claim that the verdict takes away, and with warnings."""
    kind, claim, warnings = verdict.kind, fact.claim, [*fact.warnings]
    if not verdict.alone:
        warnings.append(NOT_ALONE)
    if kind == "past":
        claim = claim._replace(since=None, until=day) if claim and holds(claim) else None
    elif kind == "planned" and not (claim and claim.since and claim.since > day):
        claim = None  # nothing says when it begins
    elif kind not in ("stated", "planned"):
        claim = None
    elif claim and not verdict.fact:
        claim = None
        warnings.append(DENIED)
    if fact.asked and kind not in (*OFFERED, "past"):
        warnings.append(ASKED_FOR.format(kind=kind))
    return fact._replace(seen=kind, claim=claim, warnings=tuple(warnings))


# --- the check of a model as a judge: fixed lines with known answers, asked once for each model and recorded
#
# A model that fails is not used for second looks any more. One that was never checked is used: its verdicts can only
# leave out what ``review --left-out`` shows again, so a person need not run a command before the first conversation.

CHECKS = "models.json"
"""File in the state folder: by a model's name and endpoint, how many lines it judged correctly."""

ENOUGH_RIGHT = 0.8
"""Minimum share of the lines that a model must judge correctly for its verdicts to count."""

LINES_A_CALL = 12
"""Maximum number of lines that a model is asked about at once."""


class Checked(NamedTuple):
    """The result of a model's check.

    Attributes:
        model: its name.
        right, of: number of lines judged correctly, and of all lines.
        wrong: for each of the others its words, the correct answer, and the model's answer.
    """

    model: str
    right: int
    of: int
    wrong: tuple[tuple[str, str, str], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether its verdicts count."""
        return self.right >= ENOUGH_RIGHT * self.of

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        wrong = [dict(zip(("said", "kind", "answer"), line, strict=True)) for line in self.wrong]
        return {"model": self.model, "right": self.right, "of": self.of, "passed": self.passed, "wrong": wrong}


def check_judge(settings: Settings, model: LanguageModel) -> Checked:
    """Ask a model about the fixed lines, and record the result.

    Raises:
        ModelUnavailableError: the model gives no answer, or two unusable ones.
        UnwritableError: the state folder can't be written.
    """
    lines = known_lines()
    wrong: list[tuple[str, str, str]] = []
    for start in range(0, len(lines), LINES_A_CALL):
        some = lines[start : start + LINES_A_CALL]
        shown = [{name: line[name] for name in ("said", "around", "fact")} for line in some]
        for line, verdict in zip(some, dialogues.kinds_question(shown).ask(model), strict=True):
            wanted, answer = _answer(line["kind"], line["holds"]), "an unknown kind"
            if verdict is not None:
                answer = _answer(verdict.kind, verdict.fact or line["fact"] is None)
            if answer != wanted:
                wrong.append((line["said"], wanted, answer))
    result = Checked(model.name, len(lines) - len(wrong), len(lines), tuple(wrong))
    path = settings.places.state / CHECKS
    results = {**disk.state_object(path), _key(model): {"right": result.right, "of": result.of}}
    with transaction.writing(os.fspath(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        journal.replace_file(path, json.dumps(results, indent=1).encode("ascii"))
    return result


def checked_before(settings: Settings, model: LanguageModel) -> Checked | None:
    """Return the recorded result of a model's check; None if it was never checked, or with other lines."""
    found = disk.state_object(settings.places.state / CHECKS).get(_key(model))
    right, of = (found.get("right"), found.get("of")) if isinstance(found, dict) else (None, None)
    return Checked(model.name, right, of) if isinstance(right, int) and of == len(known_lines()) else None


@cache
def known_lines() -> tuple[dict[str, Any], ...]:
    """Return the fixed lines: ``said``, ``around``, ``fact``, and the answer: ``kind`` and if the fact ``holds``."""
    text = files(__package__).joinpath("wording", "check.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.replace("\r\n", "\n").split("\n") if line)


_WITH_FACT = ("stated", "planned")
"""Kinds of sentences whose fact counts; the fact of any other is left out, whatever the model says about it."""


def _answer(kind: str, holds: bool) -> str:
    """Return an answer in words, to compare and to show."""
    return kind if holds or kind not in _WITH_FACT else f"{kind}, but not that fact"


def _key(model: LanguageModel) -> str:
    """Return the key of a model in the record of checks: its name and endpoint."""
    return f"{model.name} {getattr(model, 'endpoint', '')}".strip()
