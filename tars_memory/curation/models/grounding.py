"""A conversation drawn by a model: window by window, each fact by its quote, each quote by a second look.

Each turn of the person and of the model is examined in exactly one window; a turn too large for one is cut at its lines
and sentences, and each of its characters is examined once. A window begins with the last turns before it, marked as
context: they hold what "it" and "there" mean. Instructions and tool output are in no window.

A model points, and its words are never taken. A quote must stand verbatim (white space aside) in a turn of the person
that is examined, outside of what he pasted or quoted. A quote that ends within a word is widened to the whole word.
What the quote refers to ("there") is put behind it in brackets, if it stands verbatim in the person's own words
shortly before. A fact that was read into it counts as far as its value stands in the quote or in such brackets.
Nothing else is made of it but what is mechanical: relative dates made absolute, the speaker named where there are
several. No script is taken to part its words by blanks: where it does not, each sign is a word.

No list of words can tell a wish from a plan, or a story from a life. So each quote is shown to the model once more, by
itself, with what stood beside it. The verdicts only take rights away: what is stated, planned or a rule is offered,
what is over ends the fact that it speaks of, and the rest is kept in the session note. What the person asked to be
remembered can't be left out. No answer, or one that can't be read, leaves all as it was.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.curation.models import dialogues
from tars_memory.errors import ModelUnavailableError
from tars_memory.language import dates, statements
from tars_memory.language.words import spoken
from tars_memory.recall.packing import characters, visible
from tars_memory.vault.markdown.facts import ME, WE, Claim, claim_of, folded as plainly
from tars_memory.vault.secrets import mask
from tars_memory.vault.writing import journal, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime

    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.proposals import DrawnFact, Extraction, Verdict
    from tars_memory.settings import Settings

    Look = dialogues.Dialogue[tuple[Verdict | None, ...]]

WINDOW = 6_000
"""Tokens of a conversation that a model sees at once: more, and facts of the middle are passed over."""


class AskedPrompt(NamedTuple):
    """A prompt that would be sent.

    Attributes:
        dialogue: it, with the reader of its answer.
        turns: that it shows, as it shows them.
        examined: numbers of those that facts may come from.
    """

    dialogue: dialogues.Dialogue[Extraction]
    turns: tuple[Turn, ...]
    examined: tuple[int, ...]


def prompts_of(
    transcript: Transcript, after: int, when: Mapping[int, datetime], known: tuple[Sequence[str], Sequence[str]]
) -> Iterator[AskedPrompt]:
    """What a model would be asked about the turns after a number, window by window.

    Args:
        transcript: the conversation.
        after: the number of turns that were examined before.
        when: each turn was said.
        known: the facts that it is shown, and the predicates.
    """
    facts, predicates = known
    for window in windows(transcript.turns, WINDOW, after=after):
        if not any(not piece.context and piece.turn.role == "user" for piece in window.pieces):
            continue
        turns = tuple(piece.turn._replace(text=piece.text) for piece in window.pieces)
        examined = window.examines
        day = when[examined[0]].date()
        dialogue = dialogues.extract(
            turns, day=day, examine=examined, title=transcript.title, facts=facts, predicates=predicates
        )
        yield AskedPrompt(dialogue, turns, examined)


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


class TurnWindow(NamedTuple):
    """What is looked at at once: context first, then what is examined."""

    pieces: tuple[Piece, ...]

    @property
    def examines(self) -> tuple[int, ...]:
        """Numbers of the turns that are examined here, wholly or in part, in order."""
        return tuple(dict.fromkeys(piece.turn.number for piece in self.pieces if not piece.context))


def windows(turns: Iterable[Turn], size: int, *, after: int = 0, overlap: int = OVERLAP) -> Iterator[TurnWindow]:
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


def _window(before: list[Turn], held: list[Piece], share: int) -> TurnWindow:
    """Context as far as its share goes, the nearest turn first; what is too long is shown by its end."""
    context: list[Piece] = []
    left = share
    for turn in reversed(before):
        if left <= 2 * LABEL:
            break
        start = max(0, len(turn.text) - (left - LABEL))
        context.append(Piece(turn, turn.text[start:], start, True))
        left -= LABEL + len(turn.text) - start
    return TurnWindow((*reversed(context), *held))


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


NO_QUOTE = "no quote"
NOT_SAID = "quote not found"
NOT_OWN = "not the person's own words"
TOO_LONG = "too long"
"""Why a fact is dropped."""

LEAST_QUOTE = 2
"""Words that a quote must have, unless it is all that was said: a lone word is found in any turn."""

LONGEST, LONGEST_NAME = 600, 80
"""Characters of a quote, more is not a single statement; and of what its words refer to."""

NEAR = 10
"""Turns before a quoted one in which the person may have said what its words refer to."""

MOST_WORDS = 5
"""Of a predicate."""

ASKS = "It holds a question mark"
QUOTES = "It holds quotation marks: somebody else's words?"

UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese: written without blanks between words."""

_WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W_])+")
_JOINED = re.compile(rf"(?![{UNSPACED}])[^\W_]")
"""A sign of a word that goes on until a blank or a mark."""
_NUMBER = re.compile(r"\d+")
_TYPED = str.maketrans("’‘‛ʼ´“”„‟«»–—‐‑−", "'" * 5 + '"' * 6 + "-" * 5)
"""Marks that models type in another form than the person did; sign for sign, so that places stay the same."""
_ASKING = frozenset("?？؟⁇⁈⁉;՞፧")
_QUOTING = frozenset('"“”„‟«»「」『』〈〉《》')
_PERSON = frozenset({"", "i", "me", "user", "the user", "myself"})
"""What a model calls the person."""


class Grounded(NamedTuple):
    """What held and what did not.

    Attributes:
        facts: each with its quote as it stands in the transcript (white space folded, credentials masked) and the
            number of the turn where it was found.
        dropped: reason to count.
    """

    facts: tuple[DrawnFact, ...]
    dropped: dict[str, int]


def ground(
    facts: Sequence[DrawnFact],
    turns: Sequence[Turn],
    examined: Collection[int],
    days: Mapping[int, date] | None = None,
    *,
    named: bool = False,
) -> Grounded:
    """Keep the facts that stand on what was said.

    Args:
        facts: drawn from the turns.
        turns: of the window in order, those for context included; of any role.
        examined: numbers of the turns that facts may come from.
        days: on which each turn was said, for quotes that a model pointed at: their words are made of the quote. None
            for facts whose words are the person's already.
        named: several people speak as users, so that each fact begins with its speaker's name.
    """
    if not facts:
        return Grounded((), {})
    said = _Said(turns, examined)
    kept: list[DrawnFact] = []
    dropped: dict[str, int] = {}
    for fact in facts:
        found = said.checked(fact)
        if isinstance(found, str):
            dropped[found] = dropped.get(found, 0) + 1
        else:
            kept.append(found if days is None else said.worded(found, days[found.turn], named=named))
    return Grounded(tuple(kept), dropped)


def folded(text: str) -> str:
    """A text as quotes are compared: as it was shown to the model, white space folded."""
    lines = (re.sub(r"^\| ", "", line) for line in re.split(r"\r\n|\r|\n", mask(text)))
    return " ".join(" ".join(visible(line).split()) for line in lines).strip()


class _Said:
    """The turns that can be quoted."""

    def __init__(self, turns: Sequence[Turn], examined: Collection[int]) -> None:
        turns = [turn for turn in turns if turn.role in ("user", "assistant")]
        self._turns = {turn.number: turn for turn in turns}
        self._folded = {turn.number: folded(turn.text) for turn in turns}
        self._typed = {number: text.translate(_TYPED) for number, text in self._folded.items()}
        self._order = [*self._folded]
        self._mine = {turn.number for turn in turns if turn.role == "user" and turn.number in examined}
        self._own: dict[int, list[str]] = {}

    def own(self, number: int) -> list[str]:
        """The stretches of a turn that are its own talk, beside what is pasted, fenced or quoted there."""
        if number not in self._own:
            turn = self._turns[number]
            spans = statements.own_words(turn.text, pasted=True)
            self._own[number] = [folded(turn.text[start:end]) for start, end in spans]
        return self._own[number]

    def _holding(self, number: int, quote: str) -> str:
        """The stretch of a turn's own talk that holds a quote; empty for none."""
        return next((talk for talk in self.own(number) if quote in talk.translate(_TYPED)), "")

    def checked(self, fact: DrawnFact) -> DrawnFact | str:
        """The fact with its quote as it was said, or why it may not be kept."""
        quote = folded(fact.quote).translate(_TYPED).strip("\"' …")
        if not quote:
            return NO_QUOTE
        count = len(_WORD.findall(quote))
        there = fact.turn in self._mine and self._holding(fact.turn, quote)
        if there and count >= LEAST_QUOTE:
            places = [fact.turn]  # where it is said to stand; the other turns need not be looked through
        else:
            places = [number for number, text in self._typed.items() if quote in text]
        if not places:
            return NOT_SAID
        if count < LEAST_QUOTE and all(quote != self._typed[number].strip(" .!") for number in places):
            return NO_QUOTE
        own = [number for number in places if number in self._mine and self._holding(number, quote)]
        if not own:
            return NOT_OWN
        number = fact.turn if fact.turn in own else own[0]
        quote, warnings = _whole(self._holding(number, quote), quote)
        if len(quote) > LONGEST:
            return TOO_LONG
        return fact._replace(quote=quote, turn=number, warnings=(*fact.warnings, *warnings))

    def worded(self, fact: DrawnFact, day: date, *, named: bool) -> DrawnFact:
        """The fact with the words of its quote, and with what was read into it as far as they hold it."""
        said = fact.quote
        for start, name in sorted(self._named(fact), reverse=True):
            said = f"{said[:start]} [{name}]{said[start:]}"
        text = dates.absolute(said, day, spoken(self._folded[fact.turn])).rstrip(" \t.!;,…:。！，、").strip()
        speaker = self._turns[fact.turn].speaker
        claim = self._claim(fact, text, day) if fact.claim else None
        if claim is not None and claim.subject == ME and named:
            claim = claim_of(speaker, *claim[1:])
        return fact._replace(text=f"{speaker}: {text}" if named else text, said=said, claim=claim)

    def _named(self, fact: DrawnFact) -> Iterator[tuple[int, str]]:
        """What words of a quote refer to, each with the place behind the word; once for each word and each name."""
        taken: set[int] = set()
        for refer in fact.refers:
            name, span = folded(refer.to), folded(refer.span)
            bare = 0 < len(name) <= LONGEST_NAME and not re.search(r"[\[\]]", name)
            if not bare or plainly(name) in plainly(fact.quote) or not self._said_before(name, fact.turn):
                continue
            found = _find(span, fact.quote)
            if found is not None and found.end() not in taken:
                taken.add(found.end())
                yield found.end(), name

    def _said_before(self, name: str, number: int) -> bool:
        """Whether these are the person's own words in a turn, or in one of those right before it."""
        at = self._order.index(number)
        near = (other for other in self._order[max(0, at - NEAR) : at + 1] if self._turns[other].role == "user")
        return any(_find(name, talk) for other in near for talk in self.own(other))

    def _claim(self, fact: DrawnFact, text: str, day: date) -> Claim | None:
        """What a model read into a quote; None if the value, or whom it is about, was not said.

        A first day that the quote does not name is left out.
        """
        claim = fact.claim
        assert claim is not None
        value = _find(claim.object, text)
        if value is None or len(claim.predicate.split()) > MOST_WORDS:
            return None
        mine = _is_me(claim.subject, self._turns[fact.turn].speaker)
        subject = ME if mine else claim.subject
        if not mine and plainly(subject) != WE and not self._said_before(subject, fact.turn):
            return None
        since = claim.since if claim.since and _names(text, claim.since, day) else None
        return claim_of(subject, claim.predicate, value[0], since)


def _is_me(subject: str, speaker: str) -> bool:
    """Whether a model means the person by a subject; it may call him by his name."""
    return plainly(subject) in _PERSON or plainly(subject) == plainly(speaker)


def _find(words: str, text: str) -> re.Match[str] | None:
    """Where some words stand in a text, case aside: as whole words, where a script parts them."""
    if not words.strip():
        return None
    start = r"(?<![^\W_])" if _JOINED.match(words[0]) else ""
    end = r"(?![^\W_])" if _JOINED.match(words[-1]) else ""
    found = re.search(start + re.escape(words) + end, text, re.IGNORECASE)
    return found or (re.search(re.escape(words), text, re.IGNORECASE) if re.search(f"[{UNSPACED}]", words) else None)


def _whole(text: str, quote: str) -> tuple[str, list[str]]:
    """The quote as whole words of a text that holds it, and what to beware of."""
    typed = text.translate(_TYPED)
    found = _find(quote, typed)
    start = typed.find(quote) if found is None or found[0] != quote else found.start()
    end = start + len(quote)
    while _joined(text, start - 1) and _joined(text, start):
        start -= 1
    while _joined(text, end - 1) and _joined(text, end):
        end += 1
    around = text[:start].rstrip()[-1:] + text[end:].lstrip()[:1]
    quote = text[start:end]
    warnings = [ASKS] if _ASKING & {*quote, *text[end:].lstrip()[:1]} else []
    return quote, warnings + ([QUOTES] if _QUOTING & {*quote, *around} else [])


def _joined(text: str, at: int) -> bool:
    """Whether a sign belongs to a word that goes on to both its sides, as those of "don't" and "non-vegan" do."""
    if not 0 <= at < len(text):
        return False
    inner = text[at] in "'’-" and _joined(text[at - 1 : at], 0) and _joined(text[at + 1 : at + 2], 0)
    return inner or _JOINED.match(text[at]) is not None


def _names(text: str, since: date, day: date) -> bool:
    """Whether a text names a day: in digits, or as the day of a month; or it is the one on which it was said."""
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
"""Kinds of sentences that the person is asked about."""

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
    facts: Sequence[DrawnFact],
    turns: Sequence[Turn],
    days: Mapping[int, date],
    holds: Callable[[Claim], bool],
) -> tuple[tuple[DrawnFact, ...], tuple[DrawnFact, ...]]:
    """The facts to offer, and those to leave out, each with what the model found.

    Args:
        model: whom to ask; None asks nobody.
        facts: grounded.
        turns: of the conversation.
        days: of each turn, by its number.
        holds: whether the vault says that a claim is so: only such a one can end.
    """
    offered: list[DrawnFact] = []
    left_out: list[DrawnFact] = []
    shown = looks_at(facts, turns) if model is not None else iter(())
    for some, dialogue in shown:
        assert model is not None
        for fact, verdict in zip(some, _verdicts(model, dialogue, len(some)), strict=True):
            judged = _judged(fact, verdict, days[fact.turn], holds) if verdict else fact
            ends = judged.claim is not None and judged.claim.until is not None
            stays = not judged.seen or judged.seen in OFFERED or ends or judged.asked
            (offered if stays else left_out).append(judged)
    return tuple(offered if model is not None else facts), tuple(left_out)


def looks_at(facts: Sequence[DrawnFact], turns: Sequence[Turn]) -> Iterator[tuple[Sequence[DrawnFact], Look]]:
    """What a model is asked about some facts, :data:`A_CALL` of them at a time."""
    quoted = {fact.turn for fact in facts}
    texts = {turn.number: folded(turn.text) for turn in turns if turn.number in quoted}
    for start in range(0, len(facts), A_CALL):
        some = facts[start : start + A_CALL]
        yield some, dialogues.look([_shown(fact, texts[fact.turn]) for fact in some])


def _shown(fact: DrawnFact, text: str) -> dict[str, Any]:
    """A quote as it is shown."""
    before, _, after = text.partition(fact.quote)
    near = [*_END.split(before[-BESIDE:])[-2:], "…", *_END.split(after[:BESIDE])[:2]]
    claim = fact.claim
    read = claim and [claim.subject, claim.predicate, claim.object, claim.since.isoformat() if claim.since else ""]
    return {"said": fact.said or fact.quote, "around": " ".join(filter(None, near)), "fact": read}


def _verdicts(model: LanguageModel, dialogue: Look, count: int) -> Sequence[Verdict | None]:
    try:
        return dialogue.ask(model)
    except ModelUnavailableError:
        return [None] * count


def _judged(fact: DrawnFact, verdict: Verdict, day: date, holds: Callable[[Claim], bool]) -> DrawnFact:
    """The fact with what a verdict takes from it."""
    kind, claim, warnings = verdict.kind, fact.claim, [*fact.warnings]
    if not verdict.alone:
        warnings.append(NOT_ALONE)
    if kind == "past":
        claim = claim._replace(since=None, until=day) if claim and holds(claim) else None
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


# --- whether a model can judge: fixed lines with known answers, asked once for each model and remembered
#
# A model that fails them is not asked for a second look any more. One that was never checked is: its verdicts can only
# leave out what ``review --left-out`` shows again, so a person need not run a command before the first conversation.

CHECKS = "models.json"
"""In the state folder: by the model's name and endpoint, how many lines it judged rightly."""

ENOUGH_RIGHT = 0.8
"""Share of the lines that a model must judge rightly for its verdicts to count."""

LINES_A_CALL = 12


class Checked(NamedTuple):
    """How a model did.

    Attributes:
        model: its name.
        right, of: lines judged rightly, of all.
        wrong: for each of the others what was said, what it is, and what the model took it for.
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
        wrong = [dict(zip(("said", "kind", "answer"), each, strict=True)) for each in self.wrong]
        return {"model": self.model, "right": self.right, "of": self.of, "passed": self.passed, "wrong": wrong}


def check_judge(settings: Settings, model: LanguageModel) -> Checked:
    """Ask a model the fixed lines, and remember how it did.

    Raises:
        ModelUnavailableError: it does not answer, or unusably twice.
        UnwritableError: the state folder can't be written.
    """
    wrong: list[tuple[str, str, str]] = []
    for start in range(0, len(known_lines()), LINES_A_CALL):
        some = known_lines()[start : start + LINES_A_CALL]
        found = dialogues.look([{name: one[name] for name in ("said", "around", "fact")} for one in some]).ask(model)
        for one, verdict in zip(some, found, strict=True):
            wanted, answer = _answer(one["kind"], one["holds"]), "nothing that is known"
            if verdict is not None:
                answer = _answer(verdict.kind, verdict.fact or one["fact"] is None)
            if answer != wanted:
                wrong.append((one["said"], wanted, answer))
    done = Checked(model.name, len(known_lines()) - len(wrong), len(known_lines()), tuple(wrong))
    path = settings.places.state / CHECKS
    known = {**disk.own_object(path), _named(model): {"right": done.right, "of": done.of}}
    with transaction.writing(os.fspath(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        journal.replace_file(path, json.dumps(known, indent=1).encode("ascii"))
    return done


def checked_before(settings: Settings, model: LanguageModel) -> Checked | None:
    """How a model did when it was checked; None if it never was, or with other lines."""
    found = disk.own_object(settings.places.state / CHECKS).get(_named(model))
    right, of = (found.get("right"), found.get("of")) if isinstance(found, dict) else (None, None)
    return Checked(model.name, right, of) if isinstance(right, int) and of == len(known_lines()) else None


@cache
def known_lines() -> tuple[dict[str, Any], ...]:
    """The lines: ``said``, ``around``, ``fact``, and what is right: ``kind``, and whether the fact ``holds``."""
    text = files(__package__).joinpath("wording", "check.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.replace("\r\n", "\n").split("\n") if line)


_WITH_FACT = ("stated", "planned")
"""Kinds whose fact counts; that of any other sentence is left out whatever a model says of it."""


def _answer(kind: str, holds: bool) -> str:
    return kind if holds or kind not in _WITH_FACT else f"{kind}, but not that fact"


def _named(model: LanguageModel) -> str:
    return f"{model.name} {getattr(model, 'endpoint', '')}".strip()
