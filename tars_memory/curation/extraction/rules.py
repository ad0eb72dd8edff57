"""The extractor without a model: what is said to be remembered, and plain statements of people about themselves. Pure.

A statement is kept in the person's own words, in the first person, cut to the longest part of a sentence that can stand
alone: nothing is reworded, so that nothing can be claimed that was not said. Better nothing than junk: questions,
wishes, guesses, hearsay, pasted text, texts to work on, role play and instructions for the task at hand are left
alone, and so is what points elsewhere ("I like that one"). The words are those of :mod:`tars_memory.language`.

Its tables also hold how facts over time are said; a statement counts only if one of the patterns fits all of it. Of
each, ``object`` is the value, ``subject`` whom it is about (the person, if there is no such group), ``who`` (in the
plural) that it is about those around, ``since`` or ``before`` its first day. Predicates are the English ones that the
settings know, so that a new value ends the old one whatever the language.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation.proposals import RULE, Drawn, DrawnFact, Extraction
from tars_memory.language.dates import absolute, names_day, names_relative
from tars_memory.language.statements import Sentence, sentences
from tars_memory.language.words import LANGUAGES, Language, common_words, filled, joined, language, shared, spoken
from tars_memory.vault.markdown.facts import ME, WE, Claim, claim_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tars_memory.capture.turns import Turn


FEW_WORDS = 8
"""A turn of so few words may have no function word; it is in the language of its conversation."""

MOST_WORDS = 32
"""A statement of more words is not a plain one."""

MOST_WORDS_ASKED = 90
"""The same for what the person asked to be kept."""

MOST_CHARACTERS = 600
"""Of a sentence that is looked at: no plain statement is longer, and every pattern stays quick."""

MOST_TALK = 700
"""Characters of a turn that may be talk: people say a few sentences to an assistant; what is longer is a document."""

ANNOUNCED = 200
"""Characters of a request to work on a text after which that text may come in the next turn."""

LABEL_WORDS = 3
"""``My song: I live in Rome``: what follows fewer words and a colon is a text, not a statement."""

MOST_BREAKS = 6
"""Places in a sentence where a statement may end."""

MOST_TOPICS = 5

_NAME = re.compile(r"(?<=[\w,;'’] )[A-ZÀ-Þ][\w'’&-]{2,}(?: (?:of |de |van |von |der |del |da )?[A-ZÀ-Þ][\w'’&-]+)*")
_LONG = re.compile(r"[^\W\d_]{5,}")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_PAST_BLANKS = re.compile(r"\s*")
_DOCUMENT = (
    (3, re.compile(r"^[ \t]*(?:[-*+•#]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)),
    (2, re.compile(r"^(?:\[[^\]\n]{2,40}\]|[^\W\d_][\w .()]{0,24}:(?: .*)?)$", re.MULTILINE)),
    (5, re.compile(r"^[^\n]{1,60}$", re.MULTILINE)),
)
"""So many items, labelled lines (``[Verse]``, ``Anna: …``) or short lines make a turn a document rather than talk."""


def read(
    turns: Sequence[Turn],
    examined: Collection[int],
    day_of: dict[int, date],
    *,
    named: bool = False,
    most: int | None = None,
) -> Drawn:
    """What the person plainly said in some turns of a conversation.

    Args:
        turns: of the conversation, in order, from its beginning: a request to play a part holds for what follows.
        examined: numbers of the turns to draw facts from; only user turns give any.
        day_of: the day of each turn, by its number; relative dates count from it.
        named: several people speak as users, so that each fact begins with its speaker's name.
        most: facts; the turn that gives the last of them is the last that is looked at. None for no limit.
    """
    facts: dict[str, DrawnFact] = {}  # each text once, where it was said first
    mine = [turn for turn in turns if turn.role == "user"]
    said: list[list[Sentence]] = []
    readable = 0
    playing = announced = False
    for at, (turn, code) in enumerate(zip(mine, _languages(mine), strict=True)):
        if most is not None and len(facts) >= most:
            break
        lang = language(code) if code else None
        talk = _Talk(turn, lang, first=not at) if lang else None
        playing = playing or (talk is not None and talk.plays and not named)
        handed, announced = announced, talk is not None and talk.material and len(turn.text) <= ANNOUNCED and not named
        if turn.number not in examined:
            continue
        said.append(talk.sentences if talk else sentences(turn.text))
        if talk is None:
            continue
        readable += 1
        prefix = f"{turn.speaker}: " if named else ""
        for fact in talk.facts(day_of[turn.number], talk=not (playing or handed), requests=not named):
            kept = fact._replace(text=prefix + fact.text)
            facts.setdefault(kept.text.casefold(), kept)
    decisions = tuple(fact.text for fact in facts.values() if fact.kind == "decision")
    extraction = Extraction(facts=tuple(facts.values()), topics=topics_of(said), decisions=decisions)
    return Drawn(extraction, {}, turns=len(said), readable=readable)


def _languages(turns: Sequence[Turn]) -> list[str]:
    """The language of each turn, empty for one that we don't know.

    One word may tell the language of a short turn, and Czech, Turkish or Swedish share some with ours: a conversation
    that is as a whole in no language which we know has none in its short turns.
    """
    codes = [spoken(turn.text) for turn in turns]
    if not spoken(" ".join(turn.text for turn in turns if len(turn.text) <= MOST_TALK)):
        return [code if not _few(turn.text) else "" for code, turn in zip(codes, turns, strict=True)]
    spans: Counter[str] = Counter()
    for code, turn in zip(codes, turns, strict=True):
        spans[code] += len(turn.text)
    del spans[""]
    usual = max(spans, key=lambda code: spans[code], default="")
    return [
        code if code == usual else spoken(turn.text, usual) or _short(turn.text, usual)
        for code, turn in zip(codes, turns, strict=True)
    ]


def _few(text: str) -> bool:
    return len(_WORD.findall(text)) <= FEW_WORDS


def _short(text: str, usual: str) -> str:
    """The language of the conversation for what is too short to have one; none for what is of another script."""
    latin = all(char < "\u0250" for char in text if char.isalpha())
    return usual if latin and _few(text) else ""


class _Talk:
    """What one turn of the person says, in one language."""

    def __init__(self, turn: Turn, lang: Language, *, first: bool) -> None:
        self.turn = turn
        self.lang = lang
        self.plain = turn.text.replace("’", "'")
        self.sentences = sentences(turn.text)
        talk = self.plain if len(self.plain) <= MOST_TALK else ""  # a longer turn is not a talk, whatever it asks for
        self.material = lang.pattern("material").search(talk) is not None
        self.makes = lang.pattern("makes").search(talk) is not None
        casts = first and lang.pattern("casts").match(self.plain[:MOST_TALK].lstrip()) is not None
        self.plays = casts or any(lang.pattern("plays").match(_plain(said)) for said in self.sentences)

    def facts(self, day: date, *, talk: bool, requests: bool) -> list[DrawnFact]:
        """The facts of the turn, in order.

        Args:
            day: on which it was said.
            talk: False for a part that the person plays, or a text handed in.
            requests: whether somebody is asked, rather than people talking among themselves.
        """
        lang, found = self.lang, list[DrawnFact]()
        talk = talk and len(self.plain) <= MOST_TALK and not self.material
        talk = talk and not any(len(lines.findall(self.plain)) >= most for most, lines in _DOCUMENT)
        unkept, skip = lang.pattern("unkept").search(self.plain) is not None, False
        for sentence in self.sentences:
            plain = _plain(sentence)
            if len(plain) > MOST_CHARACTERS:
                continue
            if back := lang.pattern("taken_back").match(plain):
                found = found[:-1]
                rest = plain[back.end() :].lstrip(" ,;:.!–—-")
                if len(_WORD.findall(rest)) < 3 or plain[back.end() : back.end() + 1] == " ":
                    continue
                sentence = Sentence(sentence.text[-len(rest) :], sentence.start, sentence.asks)
            if unkept and lang.pattern("unkept").search(plain):
                skip = True  # the request and what it is about are often two sentences
                continue
            if skip:
                skip = False
                continue
            found += self._facts(sentence, day, talk=talk, requests=requests)
            talk = talk and not (self.makes and lang.pattern("makes").search(plain))
        return found

    def _facts(self, sentence: Sentence, day: date, *, talk: bool, requests: bool) -> Iterator[DrawnFact]:
        lang = self.lang
        start, end = self._statement(sentence)
        text = sentence.text[start:end].strip(" \t.!;,…:*_-–—")
        plain = text.replace("’", "'")
        if not text:
            return
        for form, table in lang.forms("asked") if requests else ():
            match = form.fullmatch(plain)
            if match and self._asked(match["text"], talk=talk):
                kept = self._kept(text[slice(*match.span("text"))], sentence, day, table["kind"])
                yield kept._replace(asked=True)
                return
        if requests and talk and not self.makes:
            for form, table in lang.forms("rules"):
                match = form.fullmatch(plain)
                if match and not sentence.asks and self._rules(plain):
                    span = match.span("text") if "text" in form.groupindex else match.span()
                    kept = self._kept(text[slice(*span)], sentence, day, table["kind"])
                    about_me = {word.casefold() for word in _WORD.findall(kept.text)} & lang.words("me")
                    yield kept if about_me else kept._replace(seen=RULE)  # "from now on I use Helix" is a fact
                    return
        if talk and end > start and not lang.pattern("doubt").search(plain):
            words = {word.casefold() for word in _WORD.findall(plain)}
            if words & lang.words("me") and not (sentence.asks and end == len(sentence.text)):
                yield from self._about(text, sentence, day)

    def _about(self, text: str, sentence: Sentence, day: date) -> Iterator[DrawnFact]:
        """The statements of a sentence, each as long as it can stand alone."""
        plain, points = text.replace("’", "'"), self.lang.pattern("points")
        breaks = [*self.lang.pattern("breaks").finditer(plain)][:MOST_BREAKS]
        starts = [0, *(_PAST_BLANKS.match(plain, each.end()).end() for each in breaks)]  # type: ignore[union-attr]
        ends = [len(plain), *(each.start() for each in reversed(breaks))]
        moved = names_relative(plain, self.lang.code)  # "this week" points nowhere once it is a date
        at = 0
        for start in starts:
            if start < at or (plain[:start].rstrip().endswith(":") and not self._introduces(plain[:start])):
                continue
            found = None if moved else points.search(plain, start)
            limit = found.start() if found else len(plain)
            for end in ends:
                if end <= start:
                    break
                kind = _form(self.lang, text[start:end], day) if end <= limit else ""
                if kind:
                    yield self._kept(text[start:end], sentence, day, kind)
                    at = end
                    break

    def _introduces(self, before: str) -> bool:
        """Whether words before a colon speak of the person; else a text follows, not a statement."""
        words = [word.casefold() for word in _WORD.findall(before)]
        return len(words) >= LABEL_WORDS and not self.lang.words("me").isdisjoint(words)

    def _rules(self, plain: str) -> bool:
        """Whether it says how to work, rather than how the text at hand is to be."""
        return 3 <= len(_WORD.findall(plain)) <= MOST_WORDS and not self.lang.pattern("task").search(plain)

    def _asked(self, text: str, *, talk: bool) -> bool:
        """Whether what is to be remembered is a statement, rather than what the text at hand is to be like."""
        count = len(_WORD.findall(text))
        if not 2 <= count <= MOST_WORDS_ASKED or self.lang.pattern("you").search(text):
            return False
        return talk or not self.lang.pattern("task").search(text)

    def _statement(self, sentence: Sentence) -> tuple[int, int]:
        """Where the statement of a sentence begins and ends; nothing of it if it only asks."""
        lang, plain = self.lang, _plain(sentence)
        lead = lang.pattern("leads").match(plain)
        start = lead.end() if lead else 0
        if lang.pattern("questions").match(plain, start):
            return start, start
        asked = lang.pattern("asks").search(plain, start)
        if asked and asked.start() - start >= 8:
            return start, asked.start()
        if not sentence.asks:
            return start, len(plain)
        comma = max(plain.rfind(mark, start) for mark in (",", ";", " - ", "–", "—"))
        return start, max(start, comma)  # "My son is 8 and loves dinosaurs, birthday party ideas?"

    def _kept(self, text: str, sentence: Sentence, day: date, kind: str) -> DrawnFact:
        lead = self.lang.pattern("leads").match(text.replace("’", "'"))
        words = " ".join(absolute(text[lead.end() if lead else 0 :], day, self.lang.code).split())
        words = words.strip(" \t.!;,…:-–—")
        return DrawnFact(
            text=words[:1].upper() + words[1:], quote=" ".join(sentence.text.split()), turn=self.turn.number, kind=kind
        )


@lru_cache(maxsize=4096)
def _form(lang: Language, text: str, day: date) -> str:
    """The kind of a statement that fits a form and can stand alone; empty if it doesn't."""
    plain = text.replace("’", "'").rstrip(" .!;,…:*_-–—")
    lead = lang.pattern("leads").match(plain)
    plain = plain[lead.end() :] if lead else plain
    if not 2 <= len(_WORD.findall(plain)) <= MOST_WORDS or lang.pattern("hedge").search(plain):
        return ""
    dated = absolute(plain, day, lang.code)
    if lang.pattern("points").search(dated):
        return ""
    for form, table in lang.forms("about"):
        if form.fullmatch(plain) and (not table.get("dated") or names_day(dated, lang.code)):
            return str(table["kind"])
    return "fact" if stated(dated, day, (lang.code,)) else ""


def _plain(sentence: Sentence) -> str:
    return sentence.text.replace("’", "'")


def topics_of(turns: Sequence[Sequence[Sentence]]) -> tuple[str, ...]:
    """The names and words that the person used in more than one turn, most used first."""
    counted: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for turn in turns:
        found: dict[str, str] = {}
        for sentence in turn:
            names = _NAME.findall(sentence.text, 1)
            found |= {word.casefold(): word for word in [*_LONG.findall(sentence.text), *names]}
        for word in found.keys() & common_words():
            del found[word]
        counted.update(found.keys())
        for key, word in found.items():
            shown.setdefault(key, word)
    often = [key for key, count in counted.most_common() if count >= 2]
    parts = {word for name in often if " " in name for word in name.split()}
    return tuple(shown[key] for key in [key for key in often if key not in parts][:MOST_TOPICS])


_SINGULAR = frozenset({"i", "ich", "ik"})


class Phrase(NamedTuple):
    """One way to state a fact: of what predicate, and the pattern over the whole statement."""

    predicate: str
    pattern: str


def claimed(facts: Sequence[DrawnFact], turns: Sequence[Turn], days: Mapping[int, date]) -> tuple[DrawnFact, ...]:
    """The facts of a conversation, each with what it states over time, as far as that is beyond doubt.

    Args:
        facts: grounded.
        turns: that they may come from.
        days: the day of each turn, by its number.
    """
    spoken = {turn.number: turn.speaker for turn in turns}
    several = len({turn.speaker for turn in turns if turn.role == "user"}) > 1
    found = []
    for fact in facts:
        speaker = spoken.get(fact.turn, "") if several else ""
        claim = stated(fact.text.removeprefix(f"{speaker}: "), days[fact.turn])
        if claim is not None and claim.subject == ME and speaker:
            claim = claim_of(speaker, *claim[1:])
        found.append(fact._replace(claim=claim))
    return tuple(found)


def stated(text: str, day: date, codes: Sequence[str] = LANGUAGES) -> Claim | None:
    """The fact that a statement is; None if it isn't one, or says since when in a way that can't be understood.

    Args:
        text: a statement, in the first person or about a name, relative dates made absolute.
        day: on which it was said; what begins later is not a fact yet.
        codes: the languages to look at.
    """
    plain = " ".join(text.replace("’", "'").split()).rstrip(" .!;")
    first = plain.partition(" ")[0].casefold()
    for code in codes:
        if not _any(code).fullmatch(plain):
            continue
        for phrase in _phrases(code):
            match = _compiled(phrase.pattern).fullmatch(plain)
            if match is None:
                continue
            groups = match.groupdict()
            began = groups.get("since") or groups.get("before")
            since = _day(began, code, day) if began else None
            if began and since is None:
                return None
            subject = groups.get("subject") or (WE if _plural(groups.get("who"), first) else ME)
            return claim_of(subject, phrase.predicate, groups["object"].strip(" ,"), since)
    return None


def _plural(who: str | None, first: str) -> bool:
    return who is not None and who.casefold() not in _SINGULAR and first not in _SINGULAR


def _day(text: str, code: str, said: date) -> date | None:
    """The first day of what a text names: a day, a month, a year; None if it names none, or one that is still to come.

    A month without a year is the last one of that name.
    """
    iso = re.search(r"(\d{4})-(\d\d)(?:-(\d\d))?", text)
    if iso:
        return _past(int(iso[1]), int(iso[2]), int(iso[3] or 1), said)
    year = re.search(r"(?<!\d)((?:19|20)\d\d)(?!\d)", text)
    name = _months(code).search(text)
    if name is None:
        return _past(int(year[1]), 1, 1, said) if year else None
    month = name.lastindex or 1
    number = re.search(r"(?<!\d)(\d{1,2})(?!\d)", text)
    days = int(number[1]) if number else 1
    if year:
        return _past(int(year[1]), month, days, said)
    return _past(said.year, month, days, said) or _past(said.year - 1, month, days, said)


def _past(year: int, month: int, day: int, said: date) -> date | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return found if found <= said else None


@cache
def _names(code: str) -> dict[str, str]:
    names = {**shared()["names"], **language(code).table["fact_names"]}
    return {name: joined(text) for name, text in names.items()}


@cache
def _phrases(code: str) -> tuple[Phrase, ...]:
    names = _names(code)
    facts = language(code).table["facts"]
    return tuple(Phrase(each["predicate"], filled(each["pattern"], names)) for each in facts)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


@cache
def _any(code: str) -> re.Pattern[str]:
    """A pattern for all phrases of a language at once: most statements fit none, and one look says so."""
    return _compiled("|".join(f"(?:{re.sub('[?]P<[a-z]+>', '?:', each.pattern)})" for each in _phrases(code)))


@cache
def _months(code: str) -> re.Pattern[str]:
    """One group for each month."""
    months = _split(_names(code)["months"])
    return re.compile(r"(?<!\w)(?:" + "|".join(f"({month})" for month in months) + r")(?!\w)", re.IGNORECASE)


def _split(alternatives: str) -> list[str]:
    """The twelve months of ``jan(?:uary)?|feb…``; March may have two spellings."""
    parts: list[str] = []
    for part in alternatives.split("|"):
        if part == "mrt":
            parts[-1] += "|" + part
        else:
            parts.append(part)
    return parts
