"""The extractor without a model: what people plainly say about themselves, decide and ask to be remembered.

A statement is kept in the person's own words, in the first person, and cut to what can stand alone: no rewording, so
that nothing can be claimed that was not said. Questions, wishes, guesses, other people's words, pasted text and code
say nothing. Pure: turns in, an :class:`Extraction` out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.extraction import corrections
from tars_memory.curation.extraction.dating import absolute, names_relative
from tars_memory.curation.extraction.phrasebook import LANGUAGES, agrees, in_any, language
from tars_memory.curation.extraction.sentences import Sentence, sentences
from tars_memory.curation.extraction.stating import stated
from tars_memory.curation.extraction.subjects import topics_of
from tars_memory.curation.model import Extraction, Fact
from tars_memory.recall.ranking.dates import named_dates

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from datetime import date

    from tars_memory.capture.turns import Turn
    from tars_memory.curation.extraction.phrasebook import Language, Pattern, Phrase

MOST_WORDS = 45
"""A statement of more words is no plain one."""

MOST_WORDS_ASKED = 90
"""The same for what the person asked to be kept."""

MOST_CHARACTERS = 600
"""Of a sentence that is looked at: no plain statement is longer, and every pattern stays quick."""

MOST_OPEN_ENDS = 5

_AMENDING = """
longer anymore any more stopped quit given gave meant meinte meine mehr voulais plus ya quise quería refería intendevo
volevo più bedoelde bedoel meer quis queria já mais it's that's
"""
AMENDING = frozenset(_AMENDING.split())
"""Words without which nobody says what he meant, or what is over (:mod:`.corrections`)."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_BREAK = re.compile(r"\s*[,:;.!–—-]+\s*")
_GAP = re.compile(r"[\s,:.!–—-]+")
_NUMBER_OR_NOT = re.compile(r"\d|,? (?:not|nicht|pas|no|non|niet|não) ", re.IGNORECASE)
_NAMED_SUBJECT = re.compile(
    r"(?:the|my|our|his|her|der|die|das|mein|meine|unser|unsere|le|la|les|mon|ma|notre|el|los|mi|nuestro|nuestra|il|lo|"
    r"i|mio|mia|de|het|mijn|ons|onze|o|a|os|as|meu|minha) [\w'-]+|(?-i:[A-ZÀ-Þ])[\w'-]+",
    re.IGNORECASE,
)
_IS = re.compile(
    r"\b(?:is|are|was|were|starts|begins|lives|works|ist|sind|war|heißt|beginnt|est|sont|était|es|son|está|era|è|sono|"
    r"heet|begint|é|são|foi)\b",
    re.IGNORECASE,
)


class _Statement(NamedTuple):
    """A sentence's statement: without what leads it in, and without a question or request behind it."""

    text: str
    plain: str
    sentence: Sentence


def extract(
    turns: Sequence[Turn],
    examined: Collection[int],
    day_of: dict[int, date],
    *,
    named: bool = False,
    most: int | None = None,
) -> Extraction:
    """What the person plainly said in some turns of a conversation.

    Args:
        turns: of the conversation, in order, earlier ones for context included.
        examined: numbers of the turns to draw facts from; only user turns give any, and assistant turns that propose
            what the next user turn agrees to.
        day_of: the day of each turn, by its number; relative dates count from it.
        named: several people speak as users, so that each fact begins with its speaker's name.
        most: facts; the turn that gives the last of them is the last that is looked at. None for no limit.

    Returns:
        Facts whose quotes are verbatim, in order; topics, decisions and open ends.
    """
    facts: dict[str, Fact] = {}  # each text once, where it was said first
    said: list[Turn] = []
    open_ends: list[str] = []
    for at, turn in enumerate(turns):
        if most is not None and len(facts) >= most:
            break
        if turn.role == "user" and turn.number in examined:
            before = turns[at - 1] if at and turns[at - 1].role == "assistant" else None
            talk = _Talk(turn, day_of[turn.number], before)
            _take(facts, talk.facts(f"{turn.speaker}: " if named else ""))
            open_ends += talk.open_ends
            said.append(turn)
        if turn.role == "assistant" and at + 1 < len(turns) and turns[at + 1].number in examined:
            _take(facts, _agreed(turn, turns[at + 1], day_of[turn.number]))
    decisions = tuple(dict.fromkeys(fact.text for fact in facts.values() if fact.kind == "decision"))
    return Extraction(
        facts=tuple(facts.values()),
        topics=topics_of(said),
        decisions=decisions,
        open_ends=tuple(dict.fromkeys(open_ends))[:MOST_OPEN_ENDS],
    )


class _Talk:
    """What one turn of the person says."""

    def __init__(self, turn: Turn, day: date, before: Turn | None) -> None:
        self.turn = turn
        self.day = day
        self.before = before
        self.open_ends: list[str] = []

    def facts(self, prefix: str) -> list[Fact]:
        """The facts of the turn, in order; open ends are collected on the way."""
        found: list[Fact] = []
        wrong = written = False
        skip = False
        for sentence in sentences(self.turn.text):
            if len(sentence.text) > MOST_CHARACTERS:
                continue
            plain = sentence.text.replace("’", "'")
            if _at_start(in_any("taken_back"), plain):
                found = found[:-1]
                rest = _after_taking_back(sentence)
                if rest is None:
                    continue
                sentence, plain, wrong = rest, rest.text.replace("’", "'"), True
            if in_any("unkept").search(plain):
                skip = True  # the request and what it is about are often two sentences
                continue
            if skip:
                skip = False
                continue
            fact = self._fact(sentence, wrong=wrong, written=written)
            if fact is not None:
                found.append(fact._replace(text=prefix + fact.text))
            wrong = _at_start(in_any("wrong"), plain)
            written = written or in_any("written").search(plain) is not None
        return found

    def _fact(self, sentence: Sentence, *, wrong: bool, written: bool) -> Fact | None:
        plain = sentence.text.replace("’", "'")
        words = {word.casefold() for word in _WORD.findall(plain)}
        corrects = in_any("wrong").match(plain)
        for lang in _languages():
            if not (wrong or words & lang.triggers or words & AMENDING or (corrects and lang.wrong.match(plain))):
                continue
            said = _stated(sentence, lang)
            if said is None:
                continue
            fact = self._matched(said, lang, written=written) or self._corrected(said, lang, wrong=wrong)
            fact = fact or self._over_time(said, lang, written=written)
            fact = fact or (None if written else self._amended(said, lang, wrong=wrong))
            if fact is not None:
                return fact
            self._open(said, lang)
        return None

    def _matched(self, said: _Statement, lang: Language, *, written: bool) -> Fact | None:
        for phrase in lang.phrases:
            match = phrase.pattern.fullmatch(said.plain)
            if match is None:
                continue
            start, end = match.span("text") if "text" in phrase.pattern.compiled.groupindex else match.span()
            text = said.text[start:end]
            if not self._counts(phrase, text, lang, written=written):
                continue
            corrects = _at_start(lang.wrong, said.sentence.text.replace("’", "'"))
            return self._kept(text, said, lang, "correction" if corrects else phrase.kind)
        return None

    def _counts(self, phrase: Phrase, text: str, lang: Language, *, written: bool) -> bool:
        """Whether a statement that fits a phrase is plain enough to be kept."""
        count = len(_WORD.findall(text))
        if phrase.asked:
            return 2 <= count <= MOST_WORDS_ASKED and not _at_start(lang.unsure, text)
        plain = text.replace("’", "'")
        if written or not 2 <= count <= MOST_WORDS or lang.unsure.search(plain) or lang.vague.search(plain):
            return False
        return not phrase.dated or names_relative(text, lang.code) or bool(named_dates(text, self.day))

    def _corrected(self, said: _Statement, lang: Language, *, wrong: bool) -> Fact | None:
        """``No, the meeting is on Tuesday``: a named subject, and a number or a "not" that says what was wrong."""
        plain = said.plain
        marked = wrong or _at_start(lang.wrong, said.sentence.text.replace("’", "'"))
        plainly = 3 <= len(_WORD.findall(plain)) <= 25 and not lang.unsure.search(plain)
        if not (marked and plainly and _IS.search(plain) and _NUMBER_OR_NOT.search(plain)):
            return None
        subject = _NAMED_SUBJECT.match(plain)
        if subject is None or re.match(r"(?:it|that|this|es|das|c'est|ça|questo|dat|isso)\b", plain, re.IGNORECASE):
            return None
        return self._kept(said.text, said, lang, "correction")

    def _over_time(self, said: _Statement, lang: Language, *, written: bool) -> Fact | None:
        """What states a fact over time is plain enough, however it is said."""
        if written or lang.unsure.search(said.plain):
            return None
        found = stated(absolute(said.text, self.day, lang.code), self.day, (lang.code,))
        return self._kept(said.text, said, lang, "fact") if found else None

    def _amended(self, said: _Statement, lang: Language, *, wrong: bool) -> Fact | None:
        """``I meant Lisbon, not Porto``, ``Actually, it's Lisbon, not Porto``, ``I no longer eat meat``."""
        plain = said.plain
        if not 3 <= len(_WORD.findall(plain)) <= 25 or lang.unsure.search(plain) or said.sentence.asks:
            return None
        marked = wrong or _at_start(lang.wrong, said.sentence.text.replace("’", "'"))
        if corrections.meant(lang.code).fullmatch(plain):
            return self._kept(said.text, said, lang, "correction")
        if marked and corrections.instead(lang.code).fullmatch(plain):
            return self._kept(said.text, said, lang, "correction")
        if corrections.over(lang.code).fullmatch(plain) and not lang.vague.search(plain):
            return self._kept(said.text, said, lang, "correction" if marked else "fact")
        return None

    def _kept(self, text: str, said: _Statement, lang: Language, kind: str) -> Fact:
        words = _trimmed(absolute(text, self.day, lang.code))
        return Fact(text=words, quote=said.sentence.text, turn=self.turn.number, kind=kind)

    def _open(self, said: _Statement, lang: Language) -> None:
        if lang.open_ends.fullmatch(said.plain) and not lang.unsure.search(said.plain):
            self.open_ends.append(_trimmed(absolute(said.text, self.day, lang.code)))


def _stated(sentence: Sentence, lang: Language) -> _Statement | None:
    """The statement in a sentence; None if it only asks."""
    plain = sentence.text.replace("’", "'")
    start = _led(plain, lang)
    end = len(plain)
    if (asked := lang.asks.search(plain, start)) and asked.start() - start >= 8:
        end = asked.start()
    elif sentence.asks:
        return None
    text = sentence.text[start:end].rstrip(" \t.!;,…:*_")
    plain = text.replace("’", "'")
    if not text or (lang.questions.match(plain) and not _asks_to_keep(plain, lang)):
        return None
    return _Statement(text, plain, sentence)


def _led(plain: str, lang: Language) -> int:
    """Where the statement begins."""
    end, before = 0, -1
    while end != before:
        before = end
        if led := lang.leads.match(plain, end):
            end = led.end()
        if corrected := lang.wrong.match(plain, end):
            gap = _GAP.match(plain, corrected.end())
            end = gap.end() if gap else end
    return end


def _after_taking_back(sentence: Sentence) -> Sentence | None:
    """What is said behind ``scratch that,``; None if nothing is, or if it goes on as one (``scratch that itch``)."""
    lead = len(sentence.text) - len(sentence.text.lstrip("-–— \"'“"))
    back = in_any("taken_back").match(sentence.text.replace("’", "'"), lead)
    gap = _BREAK.match(sentence.text, back.end()) if back else None
    if gap is None or len(_WORD.findall(sentence.text, gap.end())) < 3:
        return None
    return Sentence(sentence.text[gap.end() :], sentence.start + gap.end(), sentence.asks)


def _asks_to_keep(plain: str, lang: Language) -> bool:
    return any(phrase.asked and phrase.pattern.fullmatch(plain) for phrase in lang.phrases)


def _agreed(turn: Turn, answer: Turn, day: date) -> Iterator[Fact]:
    """What the assistant proposed in its last sentence and the person's next turn agrees to."""
    if answer.role != "user":
        return
    answers = sentences(answer.text)
    agreeing = [lang for lang in _languages() if answers and agrees(answers[0].text, lang)]
    said = sentences(turn.text) if agreeing else []
    if not said:
        return
    for lang in agreeing:
        text = said[-1].text.rstrip("?!. ")
        plain = text.replace("’", "'")
        for phrase in lang.phrases:
            if phrase.kind == "decision" and phrase.pattern.fullmatch(plain) and not lang.unsure.search(plain):
                words = _trimmed(absolute(text, day, lang.code))
                yield Fact(text=words, quote=said[-1].text, turn=turn.number, kind="decision")
                return


def _languages() -> Iterator[Language]:
    return (language(code) for code in LANGUAGES)


def _at_start(pattern: Pattern, text: str) -> bool:
    return pattern.match(text.lstrip("-–— \"'“")) is not None


def _trimmed(text: str) -> str:
    """Without what ends a sentence, its first letter large, as notes are written."""
    text = " ".join(text.split()).strip(" \t.!;,…:")
    if text.count('"') % 2:
        text = text.strip('"')
    return text[:1].upper() + text[1:]


def _take(facts: dict[str, Fact], new: Iterable[Fact]) -> None:
    for fact in new:
        facts.setdefault(fact.text.casefold(), fact)
