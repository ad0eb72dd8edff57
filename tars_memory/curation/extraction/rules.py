"""The extractor without a model: finds what people ask to be remembered, and what they plainly state about themselves.

A statement is kept in the person's own words, in the first person, cut to the longest part of a sentence that can stand
alone, with the "I" that it shares with the part before. Nothing is reworded, so nothing is claimed that was not said.
The rules prefer to find nothing rather than junk: they ignore questions, wishes, guesses, hearsay, pasted text, texts
to work on, role play and instructions for the task at hand, and statements that refer to something else ("I like that
one"). The words and patterns are in
:mod:`tars_memory.language`.

Its tables also have the patterns of facts; a pattern must match the whole statement. Its groups are ``object``, the
value; ``subject``, whom the fact is about (without this group: the person); ``who``, which in the plural says that the
fact is about "us"; and ``since`` or ``before``, the first day. Predicates are the English ones that the settings know,
so that a new value ends the old one in any language. Pure functions.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any

from tars_memory.curation.proposals import RULE, Drawn, DrawnFact
from tars_memory.language import statements
from tars_memory.language.dates import names_day, names_relative, tells_time, with_absolute_dates
from tars_memory.language.statements import Sentence, sentences
from tars_memory.language.words import (
    LANGUAGES,
    Language,
    alternatives_of_all,
    common_words,
    filled,
    joined,
    language,
    language_of,
    phrase_pattern,
    shared,
)
from tars_memory.vault.markdown.facts import ME, WE, Claim, claim_of
from tars_memory.vault.markdown.lines import calendar_day

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.turns import Turn


FEW_WORDS = 8
"""Maximum number of words of a short turn. It may have no function word, and has its conversation's language."""

MOST_WORDS = 32
"""Maximum number of words of a plain statement."""

MOST_WORDS_ASKED = 90
"""Maximum number of words of a statement that the person asked to be remembered."""

MOST_CHARACTERS = 600
"""Maximum number of characters of a sentence to examine: no plain statement is longer, and all patterns stay fast."""

MOST_TALK = 700
"""Maximum number of characters of a turn that is talk. People say a few sentences to an assistant; a longer turn is a
document."""

ANNOUNCED = 200
"""Maximum number of characters of a turn that asks to work on a text which may come in the next turn."""

MOST_BREAKS = 6
"""Maximum number of places in a sentence where a statement may begin or end."""

WORDS_OF_A_CLAUSE = 4
"""Maximum number of words of a statement that has one verb: one more could be ``I have sons who swim``."""

MOST_OF_A_VALUE = 4
"""Maximum number of words of a name or number that is corrected."""

FICTION = "fiction"
"""Kind of statements made in a role play or about a text that the model is to write; they are left out."""

PLAYS = 'turn {number} begins a role play, which goes on until "the role play is over"'
ASKS_FOR_TEXT = "turn {number} asks for a text, which the next turn may go on with"
"""Warnings about such statements."""

MOST_TOPICS = 5
"""Maximum number of topics of a conversation."""

_UPPER: str = shared()["names"]["upper"]
"""Matches a capital letter."""
_NAME = re.compile(rf"(?<=[\w,;'’] ){_UPPER}[\w'’&-]{{2,}}(?: (?:of |de |van |von |der |del |da )?{_UPPER}[\w'’&-]+)*")
_LONG = re.compile(r"[^\W\d_]{5,}")
_NOUN = re.compile(
    r"(?<!\w)(?:(?:the|an?|my|our|el|las?|los|les?|mon|ma|mes|mi[oa]|os?|meu|minha|de|het|mijn|onze?|un[aeo]?|uma?|een)\s+"
    r"|[dl]['’])([^\W\d_]{5,})\b(?!\s+[^\W\d_]{4})",
    re.IGNORECASE,
)
"""A word right behind an article or "my", and before no other that it may describe ("the public library");
a German noun has a capital letter, and its articles are pronouns, too."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_AROUND = " \t.!;,…:*_-–—"
"""What stands around a statement and is not part of it."""
_LETTER = re.compile(r"(?:\n|[.?!:…])[ \t]*\r?\n[ \t]*(?=[^\W\d_])[\w.'’-]+(?: [\w.'’-]+){0,3},[ \t]*\r?\n")
"""The salutation of a letter: up to four words and a comma, alone in a line behind other text."""
_CITED = re.compile(r'["“„«]\s?(\w+)\s?["”“»]')
"""One word in quotes, as in a rule: ``Don't call me "buddy"``."""
_QUOTATION = re.compile(
    r"(?<!\w)(?:(?:[\"“„](?=\w)|[«»](?=\s?\w)).{1,1200}?[\"”“»«]"
    r"|['‘‚‹](?=[^\W\d_](?!['’]\W)).{1,1200}?(?<=[\w.!?…])['’›])(?!\w)",
    re.DOTALL,
)
"""Words in quotes, of one sentence or several; apostrophes within words, at the end of one, or of ``'s morgens``,
``rock 'n' roll`` and ``the '90s`` are none.
"""
_LABEL = re.compile(r"[^:]*:\s")
"""Words before a colon, after which a text follows, and not what the person says; see ``leads`` for those that don't
count."""
_DENIED = re.compile(
    rf",\s+(?:{'|'.join(sorted(statements.NEGATIONS))})\s+(?:\w{{1,3}}\s+)?"
    rf"(?P<value>(?:{_UPPER}|\d)[^,;!?]*?|\w+)(?:, \w+)?\W*$",
    re.IGNORECASE,
)
"""A name, number or word that is denied at the end of a sentence: ``…, not Dublin``, ``…, nicht in Köln, sorry``."""
_AMENDS = (
    r"\W*{}(?:\s*[,;:…–—-](?:\W+\w+){0,2}?|(?:\s+\w+){1,2}\s*[,;:…–—-])"
    rf"(?:\W+(?:{_UPPER}|\d)[\w.'’-]*){{1,4}}\W*"
)
"""A denial with nothing but another name or number, after a word or two: ``no, York``, ``nein, ich meine 9500``; but
``no Netflix`` is something else.
"""
_INDEFINITE = re.compile(r"(?<!\w)(?:an?|k?ein(?:e[nrms]?)?)\s", re.IGNORECASE)
_THING = re.compile(
    r"\W*\w+\W+(?:(?:\w+ ){0,3}(?:frage|sache|minuten?|sekunden?|augenblick)\W*$|(?P<new>an?|ein(?:e[nrms]?)?)\s)",
    re.IGNORECASE,
)
"""A thing after a first word (``Moment, eine Frage``), which is not a name, though German nouns have capital
letters."""
_SALUTATION = re.compile(
    r"\W*(?:dear(?:est)?(?!\sme\b)|querid[oa]s?|"
    rf"(?:liebe[rs]?|estimad[oa]s?|ch[eè]re?s?|car[oaie]|lieve|beste|geachte|prezad[oa]s?)(?=\s{_UPPER}))"
    r"\s+(?!(?:(?:claude|chat ?(?:gpt|bot)|gemini|copilot|ki|ai|ia)\b|(?:ass?ist\w+|god|lord|himmel|gott)\s?,))"
    r"[^\W\d_][\w.'-]*(?:\s[^\W\d_][\w.'-]*){0,2}\s?,",
    re.IGNORECASE,
)
"""The salutation of a letter to somebody else than the one who answers."""
_PAUSE = re.compile(r"[,;:…–—]|\s-")
_MEANT = rf"\W*(?=\w+\s+(?-i:[a-z])){{}}(?:\W+(?:{_UPPER}|\d)[\w.'’-]*){{1,4}}\W*"
"""The same of a repair in several words, without a comma: ``I meant York``; but ``Sorry Claude`` speaks to somebody."""
_SMALL = r"\W*{}\s*[,;:…–—-]\s*([^\W\d_]+)\W*"
"""A denial with nothing but one word: ``no, vegan``."""
_MEANS = rf"\W*{{}}(?:\W+\w+){{0,2}}?\W+(?:%s)(?:\s+{_UPPER}[\w.'’-]*)?\W*"
"""A repair with nothing but a relative or friend of one's own, who was meant: ``sorry, I meant my cousin``; ``%s`` is
"my cousin".
"""
_REPAIRED = r"(?:.*\W)?(?P<by>{})\W+(?P<part>.*)"
"""The last repair of a sentence, and what follows it."""
_REFUSES = r"\W*(?:%s)\s*(?:[^\w\s']\s*(?P<rest>.*))?$"
"""A plain "no", and a pause if more follows: ``no idea`` denies nothing."""
_RETHINKS = r"\W*(?:(?:{no})(?:\W+(?:{repair})\b|\W*$)|(?:{repair})\W+(?:{no})(?!\s*\w))"
"""A plain "no" and a repair at once (``no, wait``, ``enfin non``), or only a "no"; ``sorry, no dogs`` goes on."""
_CRY = r"\W*(?!{}\b)(?P<cry>\w{1,3})\W+(?=\w+\W+\w)"
"""A cry before two words or more: ``uh no, …``."""
_ENDED = r"\W*(?:\w+(?:\s\w+)?,\s.*)?(?<!\w){}\s.*", r"\W*\w+(?:\s\w+)?,\s(?:i\s|we\s)?{}\W*"
"""Words, after a word or two and a comma, that say until when (``well, I did until Friday``) or look back at their end
(``well, I used to``).
"""
_CAPITAL = re.compile(rf"[^\w\s]*(?:{_UPPER}|\d)")
"""The beginning of a word of a name, or of a number."""
_SUBJECT = re.compile(r"\b(?:i|we|ich|wir|ik|wij)(?= |['’](?:m|re)\b)", re.IGNORECASE)
"""The subject of a statement that another one may share."""
_ADDS = re.compile(r"(?<!\w)(?:and|also|plus|und|auch|y|también|et|aussi|e|anche|também|en|ook)\b", re.IGNORECASE)
"""A word that adds what follows to what was said, unless that is a fact over time: ``oh, and actually I like …``."""
_SHORT_ENDING = re.compile(r"['’](?=\w{1,2}\b)")
"""The apostrophe of ``I'm`` and ``Ann's``, which are two words; ``j'habite`` counts as one."""
_WITHOUT_I = ("es", "it", "pt")
"""Languages whose statements begin with the verb: ``soy vegana``."""
_I_VERB = re.compile(r"(?:\w{1,3} )?\w*(?:o|oy|ou) \w", re.IGNORECASE)
"""The beginning of a statement in one of them: ``peso 60``, ``no soy vegana``."""
_VALUE = re.compile(rf"\s((?:{_UPPER}|\d)[\w.'’-]*)")
"""A word of a name, or a number, within a statement."""
_ISO = re.compile(r"\d{4}-\d\d(?:-\d\d)?")
_SINCE = re.compile(r"\b(?:since|seit|desde|depuis|dal?|sinds)(?: \w+){0,3} \d{4}-?", re.IGNORECASE)
"""A day on which something began that goes on."""
_PAST_BLANKS = re.compile(r"\s*")
_DOCUMENT = (
    (3, re.compile(r"^[ \t]*(?:[-*+•#]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)),
    (2, re.compile(r"^(?:\[[^\]\n]{2,40}\]|[^\W\d_][\w .()]{0,24}:(?: .*)?)$", re.MULTILINE)),
    (5, re.compile(r"^[^\n]{1,60}$", re.MULTILINE)),
)
"""A turn with this many matches of a pattern is a document, not talk: list items, labelled lines (``[Verse]``,
``Anna: …``), short lines."""


def read(
    turns: Sequence[Turn],
    examined: Collection[int],
    day_of: dict[int, date],
    *,
    named: bool = False,
    most: int | None = None,
) -> Drawn:
    """Return what the person plainly said in some turns of a conversation.

    Args:
        turns: of the conversation, in order, from its beginning: a request for role play holds for all that follows.
        examined: numbers of the turns to draw facts from; only user turns give any.
        day_of: by number, the day of each turn; relative dates count from it.
        named: whether several people speak as users, so that each fact begins with its speaker's name.
        most: maximum number of facts; reading ends with the turn that reaches it. None for no limit.
    """
    facts: dict[str, DrawnFact] = {}  # each text once, where it was said first
    own = [turn for turn in turns if turn.role == "user"]
    said: list[list[Sentence]] = []
    unread: list[int] = []
    before = {turn.number: asker for asker, turn in pairwise(turns) if asker.speaker != turn.speaker}
    speakers = {turn.number: turn.speaker for turn in own}
    turns_of: dict[str, list[Turn]] = {}  # by speaker, so far
    unkept = withdrawn(turns)
    fiction: list[DrawnFact] = []
    for turn, parsed, played, is_material, begin in _surroundings(own, day_of, named=named):
        if most is not None and len(facts) >= most:
            break
        theirs = turns_of.setdefault(turn.speaker, [])
        theirs.append(turn)
        if turn.number not in examined:
            continue
        said.append(parsed.sentences if parsed else sentences(turn.text))
        if parsed is None:
            unread.append(turn.number)
            continue
        prefix = f"{turn.speaker}: " if named else ""
        day, requests, talk = day_of[turn.number], not named, not (played or is_material)
        found = parsed.facts(day, talk=talk, requests=requests, begin=begin)
        all_said = parsed.facts(day, talk=not is_material, requests=requests) if played else []
        for fact in [*found, *all_said]:
            if fact.quote.endswith(tuple(unkept.get(turn.number, ()))):
                continue
            if fact not in found:
                fiction.append(fact._replace(seen=FICTION, warnings=(played,)))
                continue
            kept = fact._replace(text=prefix + fact.text)
            facts.setdefault(kept.text.casefold(), kept)
        earlier = [fact for fact in facts.values() if speakers[fact.turn] == turn.speaker]  # nobody corrects others
        for sentence in parsed.sentences:
            asker = before.get(turn.number) if sentence == parsed.sentences[0] else None
            for corrected in dict.fromkeys(_corrected_by(sentence, turn, earlier, theirs[-2:], parsed.lang, asker)):
                del facts[corrected.text.casefold()]
                earlier.remove(corrected)
    decisions = tuple(fact.text for fact in facts.values() if fact.kind == "decision")
    read_facts, left = tuple(facts.values()), tuple(fact for fact in fiction if fact.text.casefold() not in facts)
    return Drawn(read_facts, {}, topics_of(said), decisions, turns=len(said), unread=tuple(unread), left_out=left)


def _surroundings(
    own: Sequence[Turn], day_of: Mapping[int, date], *, named: bool
) -> Iterator[tuple[Turn, _UserTurn | None, str, bool, int]]:
    """Yield each turn of the person; parsed, or None in an unknown language; the warning why it may be fiction, or '';
    whether it is a text to work on; and from which offset on it is talk again.

    A role play goes on until the person ends it. A text that the model is to write takes the turn that asks for it and
    the next one, which may go on with it (``Now in the first person: …``), and so on while they only ask for changes,
    or if the one after them does (``Go on.``).
    """
    announced = makes = False
    play = text = lapsed = ""
    for at, (turn, code) in enumerate(zip(own, _languages(own), strict=True)):
        parsed = _UserTurn(turn, language(code), first=not at, after_text=makes) if code else None
        asks = None if named else parsed  # people among themselves ask nothing of a model
        leaves = parsed.leaves if parsed and play else None
        begins = PLAYS.format(number=turn.number) if asks and asks.plays else ""
        play = "" if leaves is not None else play or begins
        begun = text or (ASKS_FOR_TEXT.format(number=turn.number) if asks and asks.tells else "")
        yield turn, parsed, play or begun, announced, leaves or 0
        makes = parsed is not None and (parsed.makes or parsed.material)
        goes_on = begun and asks and (asks.tells or makes or asks.only_changes(day_of[turn.number]))
        resumed = lapsed and not begun and asks and asks.only_goes_on(day_of[turn.number])
        text, lapsed = ("", text) if not (goes_on or resumed) else (begun or lapsed, "")
        announced = asks is not None and asks.announces


def unread(turns: Sequence[Turn]) -> set[int]:
    """Return the numbers of the person's turns in a conversation that are in no language that the rules know."""
    own = [turn for turn in turns if turn.role == "user"]
    return {turn.number for turn, code in zip(own, _languages(own), strict=True) if not code}


def withdrawn(turns: Sequence[Turn]) -> dict[int, list[str]]:
    """Return, by number of the person's turn, the sentences that they take back or ask not to keep."""
    own = [turn for turn in turns if turn.role == "user"]
    found: dict[int, list[str]] = {turn.number: [] for turn in own}
    before: dict[str, tuple[int, str]] = {}  # by who spoke last: how that turn ended, and its number
    told: dict[str, list[tuple[int, str]]] = {}  # by speaker
    for turn, code in zip(own, _languages(own), strict=True):
        said = [sentence for sentence in sentences(turn.text) if len(sentence.text) <= MOST_CHARACTERS]
        for at, sentence in enumerate(said if code else ()):
            plain, lang = _plain(sentence), language(code)
            unkept = _unkept(plain, lang)
            words = _WORD.findall(unkept["of"] or "") if unkept else []  # "forget what I said about tea"
            named = set(statements.stems(" ".join(word for word in words if word.casefold() not in common_words())))
            told.setdefault(turn.speaker, []).append((turn.number, sentence.text))
            for number, text in told[turn.speaker] if named else ():
                if text == sentence.text or 2 * len(named.intersection(statements.stems(text))) >= len(named):
                    found[number].append(text)
            if named:
                continue
            if unkept:  # "don't remember this" is often a sentence of its own, before the one that it is about
                found[turn.number] += [each.text for each in said[at : at + 2]]
            doubts = at and lang.pattern("doubt").fullmatch(plain.strip(_AROUND))  # "I wish."
            rethinks = at and not sentence.asks and bool(_interruption().match(_without_cry(plain)))  # "No, wait."
            rethinks = rethinks and not _amends(sentence, said[at - 1].text, behind=True)
            back: object = doubts or rethinks or _takes_back(sentence, lang, opens=not at)
            back = back or (at and _in_other_form(plain, said[at - 1].text, lang))  # "I mean, I lived there"
            if back or (unkept and at == len(said) - 1):
                number, text = (turn.number, said[at - 1].text) if at else before.get(turn.speaker, (turn.number, ""))
                found[number] += [text] if text else []
        if said:
            before = {turn.speaker: (turn.number, said[-1].text)}
    return {number: [" ".join(text.split()) for text in texts] for number, texts in found.items() if texts}


def _languages(turns: Sequence[Turn]) -> list[str]:
    """Return the language code of each turn; empty for a language that we don't know.

    One word may decide the language of a short turn, and Czech, Turkish or Swedish share some words with ours. So if
    the conversation as a whole is in no known language, neither are its short turns that request nothing.
    """
    requests = [_languages_of_request(turn.text) for turn in turns]
    codes = [
        code if code in known or not known else known[0]
        for code, known in zip((language_of(turn.text) for turn in turns), requests, strict=True)
    ]
    if not language_of(" ".join(turn.text for turn in turns if len(turn.text) <= MOST_TALK)):
        return [
            "" if _is_short(turn.text) and not known else code
            for code, turn, known in zip(codes, turns, requests, strict=True)
        ]
    lengths: Counter[str] = Counter()
    for code, turn in zip(codes, turns, strict=True):
        lengths[code] += len(turn.text)
    del lengths[""]
    usual = max(lengths, key=lambda code: lengths[code], default="")
    return [
        code if known or code == usual else language_of(turn.text, usual) or _language_of_short(turn.text, usual)
        for code, turn, known in zip(codes, turns, requests, strict=True)
    ]


def _languages_of_request(text: str) -> list[str]:
    """Return the languages in which a text begins with a request to remember something: what is said in few words
    after it (``Onthoud: Bram slaapt``) may not show its language.
    """
    plain = text.replace("’", "'")
    found = [(code, form.match(plain)) for code in LANGUAGES for form, _ in language(code).forms("asked")]
    return [code for code, request in found if request and language_of(request["text"], code) in ("", code)]


def _is_short(text: str) -> bool:
    return len(_WORD.findall(text)) <= FEW_WORDS


def _language_of_short(text: str, usual: str) -> str:
    """Return the conversation's language for a short text in Latin script; empty for any other text."""
    latin = all(char < "\u0250" for char in text if char.isalpha())
    return usual if latin and _is_short(text) else ""


def _corrected_by(
    sentence: Sentence,
    turn: Turn,
    facts: Collection[DrawnFact],
    recent: Sequence[Turn],
    lang: Language,
    asker: Turn | None,
) -> Iterator[DrawnFact]:
    """Yield the facts said before that a sentence corrects.

    They say the opposite of one of its parts, or have one other value, which the sentence denies. If it begins with a
    denial, that is the value that was said last, or if it answers a question, the one that was asked about. Of a
    sentence that states nothing itself (``no, I meant Cork, not Dublin``) it is the only fact of the recent turns with
    the value that it denies; one that opens a turn and only amends (``sorry, I meant my cousin``) takes back the last
    one of the turn before that has a name or number, too, or somebody of one's own.

    Args:
        sentence: of the turn.
        turn: of the person.
        facts: of the person, found so far.
        recent: the turn of the person before this one, if there is one, and this one.
        lang: of the turn.
        asker: the turn of somebody else that the sentence may answer; None for none.
    """
    quote = " ".join(sentence.text.split())
    opening = _without_cry(quote.replace("’", "'"))
    lead = lang.pattern("leads").match(opening)  # "well, actually"
    begins = opening[: lead.end()] if lead else ""
    denies, repairs = (
        phrase_pattern("feedback", key, r"\W*{}\b").match(opening)
        or phrase_pattern("feedback", key, r"(?<!\w){}\b").search(begins)
        for key in ("denies", "repairs")
    )
    found = _DENIED.search(quote)
    opens, near = not turn.text[: sentence.start].strip(), {each.number for each in recent}
    earlier = (old for old in facts if not old.quote.endswith(quote))  # it may have amended one
    before = [old for old in earlier if old.turn < turn.number or -1 < turn.text.find(old.quote) < sentence.start]
    new = [_DENIED.sub("", fact.text) for fact in facts if fact.turn == turn.number and fact.quote == quote]
    end = sentences(asker.text)[-1:] if asker and denies else []
    asked = end[0].text if end and end[0].asks else ""
    orders = not sentence.asks and all(fact.seen for fact in facts if fact.quote == quote)
    text = recent[0].text if opens else turn.text[: sentence.start]
    behind = " ".join(text[-2 * MOST_CHARACTERS :].split())
    # if it answers a question, or a text that is more than a nod, then it is not a rule that is denied
    answered = opens and asker is not None and (asked or len(_WORD.findall(asker.text)) > FEW_WORDS)
    refuses = not answered and _refuses(opening)
    for old in (old for old in before if old.seen and orders):
        common = _common(quote, old.text)
        refused = refuses and behind.endswith(old.quote) and (new or common < 0.5)
        if refused or (common and _lifts(quote, old.text, lang)):
            yield old
    if new:
        opening_word = denies or repairs
        adds = bool(opening_word and _ADDS.search(begins[: opening_word.start()]))
        denied = found["value"] if found else ""
        yield from _replaced(new, before, denied, asked, lang, amends=bool(opening_word and not asked), adds=adds)
    elif found and not sentence.asks:
        right, amends = quote[: found.start()], phrase_pattern("feedback", "repairs", r"(?<!\w){}\b").search(quote)
        amended = denies or amends or len(_WORD.findall(right)) < 2  # "Maja, not Mia"
        denying = [old for old in before if old.turn in near and _has(old.text, found["value"])]
        words = set(statements.stems(right))
        denying = [old for old in denying if amended or len(words.difference(statements.stems(old.text))) < 2]
        yield from denying if len(denying) == 1 else ()
    elif opens and not asked and not sentence.asks:
        told = asker.text if denies and asker else None  # "no, 8080" denies what was answered
        meant = phrase_pattern("feedback", "repairs", _REPAIRED).match(opening) if repairs else None
        part = meant["part"] if meant and " " in meant["by"] else ""  # "I meant two dogs", but "wait two minutes"
        said = [old for old in before if old.turn in near and _has_but_one(old.text, part)]
        said = said or [old for old in before if old.turn in near and _amends(sentence, old.text, behind=False)]
        said = [old for old in said if told is None or any(_has(told, value) for value in _VALUE.findall(old.text))]
        yield from said[-1:]


def _replaced(
    new: Sequence[str],
    before: Sequence[DrawnFact],
    denied: str,
    asked: str,
    lang: Language,
    *,
    amends: bool,
    adds: bool,
) -> Iterator[DrawnFact]:
    """Yield the facts that a sentence with facts of its own corrects.

    Args:
        new: the texts of its facts.
        before: the facts said before it.
        denied: the value that it denies; '' for none.
        asked: the question that it denies; '' for none.
        lang: its language.
        amends: whether it begins with a denial or a repair: it corrects the last value, too.
        adds: whether it begins as one that adds something.
    """
    parts = [part for text in new for part in dict.fromkeys([text, *_parts(text, lang)])]
    places = [part for part in parts if statements.read(part).denied] + ([denied] if denied else [])
    last: DrawnFact | None = None
    # a fact over time has a new value: nobody lives at two places
    adds = adds and not any(_any_phrase(lang.code).fullmatch(text.replace("’", "'")) for text in new)
    for old in before:
        olds = dict.fromkeys([old.text, *_parts(old.text, lang)])
        values = [value for part in parts for was in olds if (value := _other_value(was, part, lang))]
        is_denied = any(_has(place, value) for value in values for place in places)
        asked_about = bool(asked) and any(_has(asked, value) for value in values)
        if is_denied or asked_about or any(_is_opposite(old.text, part) for part in parts):
            yield old
        elif amends and values and not adds:
            last = old
    yield from [last] if last else ()


def _unkept(plain: str, lang: Language) -> re.Match[str] | None:
    """Return what asks not to keep something; None if that is denied or said of "I": ``don't forget what I said``."""
    found = lang.pattern("unkept").search(plain)
    if found is None or found["of"] is None:
        return found
    before, words = plain[: found.start()], _WORD.findall(plain.casefold())
    denied = statements.read(before).denied or words[-1] in statements.NEGATIONS
    return None if denied or lang.words("me").intersection(_WORD.findall(before.casefold())[-1:]) else found


def _takes_back(sentence: Sentence, lang: Language, *, opens: bool) -> bool:
    """Whether a sentence takes back what was said before it, and makes a pause then: ``Forget that old idea`` speaks of
    something else. One that opens a turn does not if it only doubts (``Yeah, right!``) or if its lead denies and
    repairs nothing (``Thanks, never mind``): it speaks of the answer.
    """
    plain = _plain(sentence)
    back = _taken_back(plain, lang)
    pause = phrase_pattern("feedback", "trailing_asides", r"\s*(?:[^\w\s]|$|{}\b)")
    if not back or not pause.match(plain, back.end()):
        return False
    words = [phrase_pattern("feedback", key, r"(?<!\w){}\b") for key in ("denies", "repairs")]
    denial = any(pattern.search(plain, 0, back.start()) for pattern in words)
    return not opens or not (back.groupdict().get("doubts") or (back.start() and not denial))


def _in_other_form(plain: str, before: str, lang: Language) -> bool:
    """Whether a sentence repairs the verb of the one before it: another form of one of its first words. It does not if
    it only says more (``I'm working at Asda. I mean, I work there part-time``), and so is a statement itself.
    """
    repaired = phrase_pattern("feedback", "repairs", r"\W*{}\W+(?:\w{1,3}\W+)?(\w{4})(\w*)").match(plain)
    if repaired is None:
        return False
    more = phrase_pattern("feedback", "repairs", r"\W*{}\W+").sub("", lang.pattern("points").sub("", plain), count=1)
    more = " ".join(more.split()).strip(_AROUND)
    if any(form.fullmatch(more) for form, table in lang.forms("about") if not table.get("dated")):
        return False
    firsts = [word.casefold() for word in _WORD.findall(before)[:3]]
    stem, ending = repaired[1].casefold(), repaired[2].casefold()
    return stem + ending not in firsts and any(word.startswith(stem) for word in firsts)


def _taken_back(plain: str, lang: Language) -> re.Match[str] | None:
    """Return what takes back the sentence before, at the beginning of another or behind a lead ("No, scratch that")."""
    lead = lang.pattern("leads").match(plain)
    return lang.pattern("taken_back").match(plain) or (lead and lang.pattern("taken_back").match(plain, lead.end()))


@cache
def _no() -> str:
    """Return the plain "no" of all languages; each names it first of what denies."""
    return "|".join(language(code).table["feedback"]["denies"].partition("|")[0] for code in LANGUAGES)


@cache
def _interruption() -> re.Pattern[str]:
    """Return the pattern of how people interrupt themselves."""
    return _compiled(_RETHINKS.format(no=_no(), repair=alternatives_of_all("feedback", "repairs")))


def _refuses(plain: str) -> bool:
    """Whether a sentence begins with a plain "no", and goes on with more than a common word (``No, thanks``)."""
    refusal = _compiled(_REFUSES % _no()).match(plain)
    words = set(_WORD.findall((refusal["rest"] or "").casefold())) if refusal else set()
    return refusal is not None and (not words or not words <= common_words())


def _without_cry(plain: str) -> str:
    """Return a sentence without the cry that it begins with; "and no, …" goes on, and "oh no, my bus!" cries out."""
    cry = phrase_pattern("feedback", "denies", _CRY).match(plain)
    return plain[cry.end() :] if cry and cry["cry"].casefold() not in common_words() and plain[-1] != "!" else plain


def _amends(sentence: Sentence, said: str, *, behind: bool) -> bool:
    """Whether a sentence that states nothing itself gives another value of what was said just before, or somebody else
    who was meant; or right after it, when it ended.
    """
    mine = [alternatives_of_all(*each) for each in (("kinds", "mine"), ("names", "kin"))]
    plain = _without_cry(_plain(sentence))
    if phrase_pattern("feedback", "repairs", _MEANS.replace("%s", r"(?:{})\s+(?:{})".format(*mine))).fullmatch(plain):
        return phrase_pattern("kinds", "mine", r"(?<!\w){}\s").search(said) is not None
    rethinks = _interruption().match(plain)
    values = _VALUE.findall(plain, rethinks.end() if rethinks else 0)
    thing = _THING.match(plain)
    if thing and not (thing["new"] and _INDEFINITE.search(said)):  # "eine Katze" may become "einen Hund"
        values = []
    if values and any(value[0].isdigit() == values[-1][0].isdigit() for value in _VALUE.findall(said)):
        forms = [("feedback", "denies", _AMENDS), ("feedback", "repairs", _AMENDS), ("feedback", "repairs", _MEANT)]
        if any(phrase_pattern(*form).fullmatch(plain) for form in forms):
            return True
    opens = any(phrase_pattern("feedback", key, r"\W*{}\b").match(plain) for key in ("denies", "repairs"))
    denied = _DENIED.search(plain)
    if opens and not sentence.asks and not (denied and _has(said, denied["value"])):  # "sorry, three, of course"
        parts = [part for part in _PAUSE.split(plain)[1:3] if len(_WORD.findall(part)) <= WORDS_OF_A_CLAUSE]
        was = statements.read(said)
        given = [now for now in map(statements.read, parts) if now.numbers]  # "wait, two minutes" is of something else
        if was.numbers and any(now.numbers.union(was.content).issuperset(now.content) for now in given):
            return True
    if not behind or len(_WORD.findall(plain)) > FEW_WORDS or sentence.asks or rethinks:
        return False
    if _denies_word(plain):
        return True
    ended = (("ends", key, form) for key, form in zip(("ahead", "past"), _ENDED, strict=True))
    return any(phrase_pattern(*form).fullmatch(plain) for form in ended)


def _denies_word(plain: str) -> bool:
    """Whether a text is a denial with nothing but another word: ``no, vegan``, but not ``no, thanks``."""
    small = phrase_pattern("feedback", "denies", _SMALL).fullmatch(plain)
    return small is not None and small[1].casefold() not in common_words()


def _has(text: str, value: str) -> bool:
    """Whether a text has the words of a value."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _is_opposite(old: str, new: str) -> bool:
    """Whether two statements have the same words except for a negation."""
    was, now = statements.read(old), statements.read(new)
    return was.content == now.content and was.denied != now.denied


def _lifts(text: str, rule: str, lang: Language) -> bool:
    """Whether a part of a sentence asks for the opposite of a rule: only one is denied, both begin with the same word,
    and one has all words of the other: "never use imperial units" goes with "always use metric units". It says nothing
    of the person, and only permits if it speaks of the one who answers: "you used emojis!" asks for what the rule does.
    """
    orders, rules = _orders(text.replace("’", "'"), lang), _parts(rule.replace("’", "'"), lang)
    pairs = [(new, old) for new in orders for old in rules if _same_order(_ordered(new), _ordered(old))]
    pairs = [(new, old) for new, old in pairs if (statements.read(new).denied + statements.read(old).denied) % 2]
    return any(not _complains(new, old, lang) for new, old in pairs)


@lru_cache(maxsize=4096)
def _parts(text: str, lang: Language) -> list[str]:
    """Return the parts of a text; each rule of a conversation is compared with all sentences after it."""
    return lang.pattern("breaks").split(text)


@lru_cache(maxsize=4096)
def _orders(text: str, lang: Language) -> list[str]:
    """Return the parts of a text that may be orders: nobody's deeds, unless they permit something."""
    permits = phrase_pattern("feedback", "permits", r"(?<!\w){}\b")
    parts = [part for part in _parts(text, lang) if permits.search(part) or not lang.pattern("you").search(part)]
    return [part for part in parts if not _names_me("".join(part.split()[:1]), lang)]


def _complains(text: str, rule: str, lang: Language) -> bool:
    """Whether a text says what the one who answers does, in a language without pronouns: its verb is that of a rule, in
    the form that an order to a friend loses if it is denied ("responde" and "no respondes", but "no respondas").
    """
    if lang.code not in _WITHOUT_I:
        return False
    verb, ordered = (
        next((word for word in _WORD.findall(each.casefold()) if statements.stems(word) == _ordered(each)[:1]), "")
        for each in (text, rule)
    )
    return verb == (ordered if lang.code == "it" else f"{ordered}s")


def _same_order(one: Sequence[str], other: Sequence[str]) -> bool:
    return one[:1] == other[:1] != () and len({*one} & {*other}) == min(len({*one}), len({*other}))


@lru_cache(maxsize=4096)
def _ordered(text: str) -> tuple[str, ...]:
    """Return the stems of what a text asks for, without the words that only say that it does."""
    for key in ("permits", "polite", "always"):
        text = phrase_pattern("feedback", key, r"(?<!\w){}(?!\w)").sub(" ", text)
    return statements.stems(text)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(statements.stems(text))


def _common(one: str, other: str) -> float:
    """Return the share of content words of a text that another one has, the one with less, whatever their endings."""
    words, others = _stems(one), _stems(other)
    return len(words & others) / (min(len(words), len(others)) or 1)


def _has_but_one(text: str, part: str) -> bool:
    """Whether a text has all words of a part in a row except one content word: "two dogs", of two cats."""
    words, part_words = (_WORD.findall(each.casefold()) for each in (text, part))
    rows = (words[at : at + len(part_words)] for at in range(len(words) - len(part_words) + 1))
    return _common(text, part) > 0 and any(sum(map(str.__ne__, row, part_words)) == 1 for row in rows)


def _other_value(old: str, new: str, lang: Language) -> str:
    """Return the name, number or single word that an old statement has in the place of another one of the new; empty
    if their other words differ, too, or only begin with the same "I".
    """
    one, other = _split(old), _split(new)
    before = _shared_words(one, other)
    most = min(len(one), len(other)) - before - 1  # of "New York" and "York" all is the value
    after = min(_shared_words(one[::-1], other[::-1]), most)
    if after < 0 or before < (1 if lang.code in _WITHOUT_I else 2):
        return ""
    values = [words[before : len(words) - after] for words in (one, other)]
    are = [len(value) == 1 or (len(value) <= MOST_OF_A_VALUE and all(map(_CAPITAL.match, value))) for value in values]
    return " ".join(values[0]).rstrip(".,;!") if all(are) else ""


@lru_cache(maxsize=4096)
def _split(text: str) -> list[str]:
    return _SHORT_ENDING.sub(" '", text).split()


def _shared_words(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two statements have in common at their beginning."""
    count = 0
    for word, again in zip(one, other, strict=False):
        if word != again and word.casefold() != again.casefold():
            break
        count += 1
    return count


class _UserTurn:
    """One turn of the person, in a known language.

    Attributes:
        turn: as it is in the conversation.
        lang: its language.
        plain: its text, with straight apostrophes.
        sentences: of its own words.
        opening: the first of them, if it says how to answer; None if the turn before asks for a text.
        material: whether it asks to work on a text.
        announces: whether that text may come in the next turn.
        makes: whether it asks to write a text.
        supposes: those of its sentences that only suppose a case, which a question of the turn is about.
        asks: whether it asks a question.
        plays: whether it asks for role play.
        tells: whether it asks for a text of the model, such as a story.
        leaves: where its sentence begins that ends a role play; None for none.
    """

    def __init__(self, turn: Turn, lang: Language, *, first: bool, after_text: bool) -> None:
        self.turn = turn
        self.lang = lang
        self.plain = turn.text.replace("’", "'")
        quoted = [match.span() for match in _QUOTATION.finditer(turn.text[: statements.LONGEST_TURN])]
        said = sentences(turn.text)
        self.sentences = [each for each in said if not any(start < each.start < end for start, end in quoted)]
        first_one = None if after_text else next(iter(self.sentences), None)
        self.opening = first_one if first_one and self._rules(first_one, opens=True) else None
        talk = self.plain if len(self.plain) <= MOST_TALK else ""  # a longer turn is not talk, whatever it asks for
        # "under 100 words" of an opening is not a text's shape
        begin = self.opening.start + len(self.opening.text) if self.opening else 0
        found = [each for each in lang.pattern("material").finditer(talk, begin) if not self._lasts(each)]
        self.material = bool(found)
        asked = next((match for match in found if not match.lastgroup), None)
        text = re.sub(r"[^:\n]*", "", talk[asked.end() :], count=1) if asked else ""  # past a colon, or on other lines
        is_there = asked is None or asked[0].endswith("?") or len(_WORD.findall(text)) > FEW_WORDS
        self.announces = not is_there and len(talk) <= ANNOUNCED
        self.makes = lang.pattern("makes").search(talk) is not None
        casts = first and self._begins_with_a_part()
        self.asks = any(sentence.asks for sentence in self.sentences)
        acts = {each: act for each in self.sentences if (act := self._act(each, first=first))}
        self.supposes = {each for each, act in acts.items() if self.asks and act["case"] and not self._casts(each, act)}
        played = [act.groupdict() for each, act in acts.items() if each not in self.supposes]
        texts = [act for act in played if act["text"] and not act.get("we")]  # "Let's write a story" has parts for both
        self.tells = bool(texts)
        self.plays = casts or len(played) > len(texts)
        left = (each.start for each in self.sentences[:2] if self._leaves(each))
        self.leaves = None if self.plays else next(left, None)

    def only_changes(self, day: date) -> bool:
        """Whether the turn may only ask to change a text ("Longer."): it is short, and neither states nor thanks."""
        thanks = self.lang.pattern("leads").fullmatch(f"{self.plain} ")
        return _is_short(self.plain) and not thanks and not self.facts(day, talk=True, requests=True)

    def only_goes_on(self, day: date) -> bool:
        """Whether the turn may only ask to go on with a text ("Go on."): it is a few words, and no question."""
        return len(self.plain.split()) <= FEW_WORDS // 2 and not self.asks and self.only_changes(day)

    def _lasts(self, found: re.Match[str]) -> bool:
        """Whether the shape of a text is asked for by a rule, which is for no text at hand."""
        within = (each for each in self.sentences if each.start <= found.start() < each.start + len(each.text))
        return found.lastgroup == "shape" and any(self._rules(each, opens=False) for each in within)

    def _rules(self, sentence: Sentence, *, opens: bool) -> bool:
        """Whether a sentence has the form of a rule, of those that "open" a turn or of the others."""
        said = _plain(sentence)[self._statement(sentence, [])[0] :].strip(_AROUND)
        forms = self.lang.forms("rules")
        return any(bool(table.get("opens")) == opens and form.fullmatch(said) for form, table in forms)

    def _act(self, sentence: Sentence, *, first: bool) -> re.Match[str] | None:
        """Return what begins a role play or a case at the beginning of a sentence; None for none, and if the sentence
        cries out what really happened ("Imagine what I saw today!") or, not in the first turn, praise ("Du bist ein
        Schatz!"), or only asks who somebody is ("Bist du ein Mensch?").
        """
        plain = _plain(sentence)
        act = self.lang.pattern("plays").match(plain)
        rest = plain[act.end() :].lstrip(" ,") if act else ""
        asks = act and act["case"] and (rest == "!" or self.lang.pattern("questions").match(rest))
        says_who = act is not None and act.groupdict().get("is") is not None
        if says_who and self._only_asks(sentence):
            return None
        if act is None or not plain.endswith("!"):
            return act
        praises = not first and says_who and self.lang.pattern("casts").match(plain)
        return None if praises or (asks and not self._casts(sentence, act)) else act

    def _begins_with_a_part(self) -> bool:
        """Whether a conversation begins by saying which part the model has; not by asking who it is, nor in which
        capacity the person speaks ("As a nurse, I work nights").
        """
        cast = self.lang.pattern("casts").match(self.plain[:MOST_TALK].lstrip())
        first = next(iter(self.sentences), None)
        if cast is None or first is None or cast[0].rstrip().endswith((":", "=")):
            return cast is not None
        said = _plain(first)
        return not (
            self._only_asks(first) or (_SUBJECT.search(said) is not None and not self.lang.pattern("you").search(said))
        )

    def _only_asks(self, sentence: Sentence) -> bool:
        """Whether a sentence has no statement before what it asks, but for a tag ("…, oder?")."""
        start, end = self._statement(sentence)
        asks = sentence.asks and (end == len(sentence.text) or self._has_tag(sentence, end))
        return asks or not sentence.text[start:end].strip(_AROUND)

    def _casts(self, sentence: Sentence, act: re.Match[str]) -> bool:
        """Whether a sentence that lets somebody imagine something says it of the one who answers, before it asks."""
        start, end = self._statement(sentence)
        plain = _plain(sentence)[: end if end > start else None]
        return self.lang.pattern("you").search(plain, act.end("case")) is not None

    def _leaves(self, sentence: Sentence) -> bool:
        """Whether a sentence says that the role play is over, and neither asks nor denies it."""
        found = self.lang.pattern("leaves").search(_plain(sentence))
        return found is not None and not sentence.asks and not statements.read(sentence.text).denied

    def facts(self, day: date, *, talk: bool, requests: bool, begin: int = 0) -> list[DrawnFact]:
        """Return the facts of the turn, in order.

        Args:
            day: on which it was said.
            talk: False for role play, or a text to work on.
            requests: whether the person talks to an assistant; False if people talk among themselves.
            begin: offset from which on it is talk.
        """
        lang, found = self.lang, list[DrawnFact]()
        talk = talk and len(self.plain) <= MOST_TALK and not self.material
        letter = _LETTER.search(self.plain) if talk else None
        talk = talk and not any(len(pattern.findall(self.plain)) >= most for most, pattern in _DOCUMENT)
        for sentence in self.sentences:
            plain = _plain(sentence)
            if len(plain) > MOST_CHARACTERS:
                continue
            if back := _taken_back(plain, lang):
                rest = plain[back.end() :].lstrip(" ,;:.!–—-")
                if len(_WORD.findall(rest)) < 2 or plain[back.end() : back.end() + 1] == " ":
                    continue
                sentence = Sentence(sentence.text[-len(rest) :], sentence.start, sentence.asks)
            talk = talk and not (letter and sentence.start > letter.start())
            talk = (
                talk and not _SALUTATION.match(plain) and sentence not in self.supposes and not self._supposes(sentence)
            )
            new = [*self._facts(sentence, day, talk=talk and sentence.start >= begin, requests=requests)]
            if found and not new and _amends(sentence, found[-1].text, behind=True):
                self._amend(found, sentence, day)
            found += new
            talk = talk and not (self.makes and lang.pattern("makes").search(plain))
            talk = talk and not self._hands_over(sentence) and (bool(new) or not self._labels(sentence))
        return found

    def _amend(self, found: list[DrawnFact], sentence: Sentence, day: date) -> None:
        """Add what a sentence amends (``… no, York``) to the fact of the one before, which does not hold without it."""
        last, before = found[-1], self.sentences[self.sentences.index(sentence) - 1]
        if last.quote == " ".join(before.text.split()):
            said = with_absolute_dates(sentence.text, day, self.lang.code).strip(_AROUND)
            quote = self.turn.text[before.start : sentence.start + len(sentence.text)]
            first = said[:1].lower() if said[1:2].isalpha() else said[:1]  # but "I meant"
            text = f"{last.text}, {first}{said[1:]}"
            found[-1] = last._replace(text=" ".join(text.split()), quote=" ".join(quote.split()))

    def _supposes(self, sentence: Sentence) -> bool:
        """Whether a sentence begins with a word that supposes a case of the person ("let's say Monday" is none); who
        cries it out says what happened.
        """
        plain, lang = _plain(sentence), self.lang
        found = lang.pattern("doubt").match(plain, self._statement(sentence)[0])
        if found is None or not found["case"] or plain.endswith("!"):
            return False
        return lang.code in _WITHOUT_I or _names_me(plain[found.end() :], lang)

    def _hands_over(self, sentence: Sentence) -> bool:
        """Whether a sentence ends with a colon, so that somebody else's text follows; not after a request to remember
        what follows.
        """
        said = _plain(sentence)[self._statement(sentence)[0] :].rstrip()
        asked = (form.fullmatch(f"{said} x") for form, _ in self.lang.forms("asked"))
        return said.endswith(":") and len(said) > 1 and not any(asked)

    def _labels(self, sentence: Sentence) -> bool:
        """Whether a sentence, if it states nothing, announces what somebody says and goes on to say in the next ones.

        What is said is of somebody themselves, or begins with a capital letter; then a word or two before the colon
        (``Quick question:``) may announce what the person says, unless they name somebody (``My mum: …``), or what
        follows is said to somebody (``Tom: Hi!``). A name or number alone is a value of the person's (``My name: …``).
        """
        label = _LABEL.match(sentence.text, self._statement(sentence)[0])
        if label is None:
            return False
        behind = _plain(sentence)[label.end() :]
        verb = self.lang.code in _WITHOUT_I and _I_VERB.match(behind) is not None
        if not sentence.asks and (verb or _names_me(behind, self.lang)):
            return True
        kinds = (phrase_pattern("names", "kin", r"\b{}\b"), self.lang.pattern("doubt"))
        says = self.lang.pattern("others").search(f", {label[0]}")  # "Ann writes: …"
        words, values = _WORD.findall(label[0]), behind.strip(_AROUND).split()
        long = len(words) >= 3 and not sentence.asks
        names = says is not None or any(kind.search(label[0]) for kind in kinds)
        if not names and phrase_pattern("kinds", "mine", r"(?<!\w){}\s").search(label[0]):
            names = long = len(values) > MOST_OF_A_VALUE or not all(map(_CAPITAL.match, values))
        elif _NAME.search(label[0]):
            names = True
        if all(map(_CAPITAL.match, words)) and len(words) < 3 and behind[:1].isupper():  # "Tom: Can you come?"
            greets = self.lang.pattern("leads").match(f"{behind} ")
            names |= greets is not None or (sentence.asks and self.lang.pattern("you").search(behind) is not None)
        parts = [len(_WORD.findall(part)) for part in self.lang.pattern("breaks").split(behind)]
        is_list = len(parts) > 2 and max(parts) <= 2  # "I have three hobbies: Tennis, chess and golf"
        return behind[:1].isupper() and (long or names) and not is_list

    def _facts(self, sentence: Sentence, day: date, *, talk: bool, requests: bool) -> Iterator[DrawnFact]:
        """Yield the facts of a sentence: what is asked to be remembered, else a rule, else plain statements."""
        lang = self.lang
        start, end = self._statement(sentence)
        text = sentence.text[start:end].strip(_AROUND)
        plain = text.replace("’", "'")
        talk = talk and not lang.pattern("others").search(_plain(sentence))
        if requests and (request := self._request(sentence, day, talk=talk)):
            yield request
            return
        if talk and not self._only_asks(sentence) and not _QUOTATION.search(plain):
            yield from self._statements(text[: self._undoubted(plain)], sentence, day)

    def _undoubted(self, plain: str) -> int:
        """Return where the part of a text ends that is in no doubt: all of it; nothing if there is a doubt in it; or
        what stands before a word that adds a doubt of its own (``… and if it rains``, ``… and my sister says``).
        """
        doubt = self.lang.pattern("doubt").search(plain)
        if doubt is None or doubt["joke"] or len(_WORD.findall(plain[doubt.end() :])) < 2:
            return 0 if doubt else len(plain)
        breaks = takewhile(lambda at: at.end() <= doubt.start(), self.lang.pattern("breaks").finditer(plain))
        links = [at for at in breaks if _ADDS.search(at[0])]
        between = plain[links[-1].end() : doubt.start()] if links else ""
        mine = phrase_pattern("kinds", "mine", r"\W*(?:\w\W+)?{}\W+\w+\W*").fullmatch(between)
        return links[-1].start() if links and (mine or len(_WORD.findall(between)) < 2) else 0

    def _has_tag(self, sentence: Sentence, end: int) -> bool:
        """Whether all that a question has after its statement is one word, or two with a contraction before the other
        (``…, oder?``, ``…, doesn't she?``): so people ask whether it is true, if it is not of themselves.
        """
        plain = _plain(sentence)
        tag = _WORD.findall(plain[end:])
        return (len(tag) == 1 or (len(tag) == 2 and "'" in tag[0])) and not _names_me(plain[:end], self.lang)

    def _request(self, sentence: Sentence, day: date, *, talk: bool) -> DrawnFact | None:
        """Return what a sentence asks to be remembered, or the rule that it gives; None if it does neither.

        It is taken whole, or as far as a question may begin, if it only then is such a text; as a question always
        whole. Of a rule all may be a request: ``from now on, give me prices in euros``.
        """
        start, end = self._statement(sentence)
        asks = sentence.asks or start == end
        whole = (start, len(sentence.text)) if asks else self._statement(sentence, ["asks"])
        cut = dict.fromkeys([whole, (start, end)])
        for start, end in cut:
            text = sentence.text[start:end].strip(_AROUND + "?")
            question = asks and (start, end) == whole
            for form, table in self.lang.forms("asked"):
                match = form.fullmatch(text.replace("’", "'"))
                said = text[slice(*match.span("text"))] if match else ""
                said = said[: self._to_answerer(said)]
                thing = match and match.groupdict().get("thing")  # "remember the ship is called Mary", as in a story
                if not match or question != table.get("question", False) or (thing and not talk):
                    continue
                if self._is_statement(said, talk=talk and not thing):
                    return self._fact(said, sentence, day, "fact")._replace(asked=True)
        if not talk or self.makes or sentence.asks:
            return None
        for start, end in dict.fromkeys([*cut, self._statement(sentence, [])]):
            text = sentence.text[start:end].strip(_AROUND)
            plain = text.replace("’", "'")
            for form, table in self.lang.forms("rules"):
                match = form.fullmatch(plain)
                opens = table.get("opens", False)
                order = table.get("order", opens)
                if match and (sentence == self.opening if opens else self._is_rule(match, order=order)):
                    span = match.span("text") if "text" in form.groupindex else match.span()
                    kept = self._fact(text[slice(*span)], sentence, day, "preference")
                    words = _WORD.findall(kept.text.replace("’", "'"))
                    if not words:  # "from now on, please: ..."
                        continue
                    # "I use Helix", but not "tell me the price"
                    states = _names_me(words[0], self.lang) or _form(self.lang, kept.text, day)
                    return kept if states and not order else kept._replace(seen=RULE)
        return None

    def _statements(self, text: str, sentence: Sentence, day: date) -> Iterator[DrawnFact]:
        """Yield the statements of a sentence, each the longest part that can stand alone."""
        plain = text.replace("’", "'")
        breaks = [*self.lang.pattern("breaks").finditer(plain)][:MOST_BREAKS]
        starts = [0, *(_PAST_BLANKS.match(plain, found.end()).end() for found in breaks)]  # type: ignore[union-attr]
        interrupts = (_interruption().match(plain, at.end()) or _denies_word(plain[at.end() :]) for at in breaks)
        whole = [found for found, _ in takewhile(lambda each: not each[1], zip(breaks, interrupts, strict=True))]
        after = {found.end() for found in breaks}  # "…, and since May": "and" ends nothing
        # not of "I love rock, no wait, jazz"
        ends = [len(plain), *(found.start() for found in reversed(whole) if found.start() not in after)]
        relative = names_relative(plain, self.lang.code)  # "this week" refers to nothing else once it is a date
        done, last, label = 0, "", _LABEL.match(plain)
        for at, start in enumerate(starts):
            if start < done or (label and start >= label.end()):  # "My song: I live in Rome and I love you"
                continue
            reference = None if relative else self._reference(plain, start, breaks, day)
            limit = reference.start() if reference else len(plain)
            before, last = last, ""
            for end in takewhile(start.__lt__, ends):
                said = _complete(self.lang, before, plain[done:start], text[start:end], day)
                form = _form(self.lang, said, day) if end <= limit else None
                if form and not self._divides(said, day):
                    joint = self._joint(plain, starts[:at], breaks[:at], done)
                    said = text[joint:end] if joint is not None else said
                    yield self._fact(said, sentence, day, form["kind"], habit=form.get("habit", False))
                    done, last = end, said
                    break

    def _joint(self, plain: str, starts: Sequence[int], breaks: Sequence[re.Match[str]], done: int) -> int | None:
        """Return where a statement begins that has more subjects before it (``my mother and my son live in Cork``);
        None if what stands there is more than a subject, or nothing adds the one to the other. A name before a comma
        may be that of the person who is spoken to: ``Tom, my mother and my son live in Cork``.
        """
        mine, first = self.lang.table["kinds"]["mine"], None
        subject = self.lang.expression(rf"(?:\w+ )?(?:{mine}) <<kin>>(?: <<upper>>\w+)?")
        for start, link in zip(reversed(starts), reversed(breaks), strict=True):
            lead = self.lang.pattern("leads").match(plain, start)
            part = plain[lead.end() if lead else start : link.start()]
            adds = _ADDS.search(link[0]) if first is None else link[0] == ","
            if start < done or not adds or not (subject.fullmatch(part) or (first is None and part.isalpha())):
                break
            first = start
        return first

    def _reference(self, plain: str, start: int, breaks: Sequence[re.Match[str]], day: date) -> re.Match[str] | None:
        """Return the first word from ``start`` on that nothing before it in the same sentence explains; None for none.

        A place that was named (``in Dublin and work at a bank there``) explains it, if what is between the break before
        it and the next one is a statement without it, of its own or of the same subject.
        """
        found = _reference(self.lang, plain, start)
        for place in self.lang.pattern("points").finditer(plain, start):
            if place.lastgroup != "place" or (found and place.start() >= found.start()):
                return found
            begin = max((at.end() for at in breaks if at.end() <= place.start()), default=start)
            end = min((at.start() for at in breaks if at.start() >= place.end()), default=len(plain))
            rest = f"{plain[begin : place.start()].strip()}{plain[place.end() : end]}".strip()
            subject = plain[start:].partition(" ")[0]
            if not any(_form(self.lang, part, day) for part in (rest, f"{subject} {rest}")):
                return place
        return found

    def _divides(self, said: str, day: date) -> bool:
        """Whether a part of a sentence is two statements of which one has a fact over time, which is only read from a
        statement of its own, so that news can end it; or such a fact of the person, to which a word links more.
        """
        lang = self.lang
        for at in islice(lang.pattern("breaks").finditer(said.replace("’", "'")), MOST_BREAKS):
            one, rest = said[: at.start()], said[at.end() :].lstrip()
            parts = (one, _complete(lang, one, at[0], rest, day))
            dated = [with_absolute_dates(part, day, lang.code) for part in parts if _form(lang, part, day)]
            pieces = ([part, *lang.pattern("breaks").split(part)] for part in dated)
            if len(dated) > 1 and any(stated(piece, day, (lang.code,)) for each in pieces for piece in each):
                return True
            claim = stated(with_absolute_dates(one, day, lang.code), day, (lang.code,)) if _WORD.search(at[0]) else None
            if claim and claim.subject in (ME, WE) and _same_subject(lang, rest):
                return True
        return False

    def _is_rule(self, said: re.Match[str], *, order: bool) -> bool:
        """Whether a sentence says how to work in general, and not what the text at hand should be like; an order may be
        short (``Tutoie-moi``), but is for no one day. One "to me" is for the task if it has a number, or its turn asks.
        """
        plain = said[0]
        uncited = _CITED.sub(r"\1", plain)
        if names_relative(plain, self.lang.code) or self.lang.pattern("task").search(uncited):
            return False
        if said.groupdict().get("me") and (any(map(str.isdigit, plain)) or any(each.asks for each in self.sentences)):
            return False
        return (1 if order else 3) <= len(_WORD.findall(plain)) <= MOST_WORDS

    def _to_answerer(self, text: str) -> int:
        """Return where a part of a text begins that speaks to the one who answers (``…, you will be asked for it``), or
        its end.
        """
        you = self.lang.pattern("you").search(text)
        found = self.lang.pattern("breaks").finditer(text, 0, you.start() if you else 0)
        return max((at.start() for at in found), default=len(text))

    def _is_statement(self, text: str, *, talk: bool) -> bool:
        """Whether a text to remember is a statement, and not an instruction for the text at hand."""
        count = len(_WORD.findall(text))
        if not 2 <= count <= MOST_WORDS_ASKED or self.lang.pattern("you").search(text):
            return False
        return talk or not self.lang.pattern("task").search(text)

    def _statement(self, sentence: Sentence, ends: Sequence[str] = ("asks", "wonders")) -> tuple[int, int]:
        """Return where the statement of a sentence begins and ends; the same place twice if the sentence only asks.

        Args:
            sentence: of the turn.
            ends: keys of the patterns of what follows a statement.
        """
        lang, plain = self.lang, _plain(sentence)
        lead = lang.pattern("leads").match(plain)
        start = lead.end() if lead else 0
        if lang.pattern("questions").match(plain, start):
            return start, start
        aside = phrase_pattern("feedback", "trailing_asides", r"(?:,?\s+(?!lol|haha){})+\W*$").search(plain, start)
        plain = plain[: aside.start()] if aside and not sentence.asks else plain  # "… by the way"
        found = [match.start() for key in ends if (match := lang.pattern(key).search(plain, start))]
        if found and min(found) - start >= 8:
            return start, min(found)
        if not sentence.asks:
            return start, len(plain)
        comma = max(plain.rfind(mark, start) for mark in (",", ";", " - ", "–", "—"))
        return start, max(start, comma)  # "My son is 8 and loves dinosaurs, birthday party ideas?"

    def _fact(self, text: str, sentence: Sentence, day: date, kind: str, *, habit: bool = False) -> DrawnFact:
        """Return a part of a sentence as a fact, with absolute dates, without lead and punctuation around it."""
        plain = text.replace("’", "'")
        lead = self.lang.pattern("leads").match(plain)
        start = lead.end() if lead else 0
        # "no, my son …", "now I …", but not of "no nuts" and "non-smoker"
        paused = re.search(r"[^\w\s]\s+$", plain[:start]) or _names_me(plain[start:].partition(" ")[0], self.lang)
        said = text[start if paused else 0 :]
        words = " ".join(with_absolute_dates(said, day, self.lang.code, habit=habit).split())
        words = words.strip(" \t.!;,…:-–—")
        return DrawnFact(
            text=words[:1].upper() + words[1:], quote=" ".join(sentence.text.split()), turn=self.turn.number, kind=kind
        )


def _complete(lang: Language, before: str, link: str, part: str, day: date) -> str:
    """Return a part of a sentence, with the "I" or the name of the statement before it if it is only then a statement,
    too, and a word links them: ``and have two cats``, but not ``I live in Cork, retired``.

    The statement before has no other subject, as in ``I have two brothers who live in Cork and work at Asda``, and no
    wish or denial that may hold for both: it is a fact by its whole form, or too short to have another verb.
    """
    if not before or not _WORD.search(link) or _SUBJECT.search(part) or _form(lang, part, day):
        return part
    mine, claim = _SUBJECT.match(before), stated(before, day, (lang.code,))
    if mine:
        return f"{mine[0]} {part}" if claim or len(_WORD.findall(before)) <= WORDS_OF_A_CLAUSE else part
    name = claim.subject if claim else ME
    return f"{before[: before.find(name)]}{name} {part}" if name in before and name not in (ME, WE) else part


def _same_subject(lang: Language, rest: str) -> bool:
    """Whether what a word links to a statement goes on about its subject, and can be left out: it begins with "I" or a
    verb, not with somebody or something else (``and the Isle of Man``, ``and Dublin``), and refers to nothing, nobody.
    """
    first = rest.replace("’", "'").partition(" ")[0].casefold()
    others = {*lang.table["feedback"]["starters"].split(), *statements.RELATORS, *statements.NEGATIONS} - lang.words(
        "me"
    )
    return not (
        first in others
        or _reference(lang, rest)
        or _NAME.search(rest)
        or (_CAPITAL.match(rest) and not _names_me(first, lang))
    )


@lru_cache(maxsize=4096)
def _form(lang: Language, text: str, day: date) -> Mapping[str, Any] | None:
    """Return the form of a statement that matches its pattern and can stand alone; None if there is none."""
    plain = text.replace("’", "'").rstrip(" .!;,…:*_-–—")
    lead = lang.pattern("leads").match(plain)
    plain = plain[lead.end() :] if lead else plain
    if not 2 <= len(_WORD.findall(plain)) <= MOST_WORDS or lang.pattern("hedge").search(plain):
        return None
    dated = with_absolute_dates(plain, day, lang.code)
    if _reference(lang, dated):
        return None
    for form, table in lang.forms("about"):
        said = form.fullmatch(plain)
        if not said or (table.get("dated") and (_is_over(lang, plain, dated, day) or not names_day(dated, lang.code))):
            continue
        person = said.groupdict().get("person")
        # "She", "Die Katze" and "Morgen" name nobody
        if not person or (person in dated and person.split()[0].casefold() not in lang.words("words")):
            return table
    return {"kind": "fact"} if _names_me(plain, lang) and stated(dated, day, (lang.code,)) else None


def _is_over(lang: Language, plain: str, dated: str, day: date) -> bool:
    """Whether the relative dates of a statement are all of days up to the one on which it was said: what
    somebody had for lunch today is not worth keeping, what they will do on Monday, or this week or month, is.
    """
    said, days = day.isoformat(), set(_ISO.findall(dated)) - set(_ISO.findall(plain))
    if not days or lang.table["dates"]["week_of"].removeprefix("in ") in dated or _SINCE.search(dated):
        return False
    return all(each < said[:7] or (each <= said and len(each) == len(said)) for each in days)


def _reference(lang: Language, plain: str, start: int = 0) -> re.Match[str] | None:
    """Return the first word from a place on that needs what was said before; None if there is none. A place that was
    named since (``in Dublin, and work at a bank there``) is known.
    """
    for found in lang.pattern("points").finditer(plain, start):
        if found.lastgroup != "place" or not _NAME.search(plain, start, found.start()):
            return found
    return None


def _names_me(text: str, lang: Language) -> bool:
    """Whether a text has a word for the person who speaks: "the user" is somebody else in a conversation."""
    return not lang.words("me").isdisjoint(word.casefold() for word in _WORD.findall(text))


def _plain(sentence: Sentence) -> str:
    """Return a sentence with straight apostrophes."""
    return sentence.text.replace("’", "'")


def topics_of(turns: Sequence[Sequence[Sentence]]) -> tuple[str, ...]:
    """Return the names and nouns that the person used in more than one turn, most used first."""
    counted: Counter[str] = Counter()
    nouns: set[str] = set()  # as an article or a capital letter shows once
    shown: dict[str, str] = {}
    for turn in turns:
        found: dict[str, str] = {}
        for sentence in turn:
            names = _NAME.findall(sentence.text, 1)
            found |= {word.casefold(): word for word in [*_LONG.findall(sentence.text), *names]}
            nouns |= {word.casefold() for word in [*_NOUN.findall(sentence.text), *names]}
        for word in found.keys() & common_words():
            del found[word]
        counted.update(found.keys())
        for key, word in found.items():
            shown.setdefault(key, word)
    often = [key for key, count in counted.most_common() if count >= 2 and key in nouns and not tells_time(key)]
    parts = {word for name in often if " " in name for word in name.split()}
    return tuple(shown[key] for key in [key for key in often if key not in parts][:MOST_TOPICS])


_SINGULAR = frozenset({"i", "ich", "ik"})
"""Words for "I", with which a statement is about the person alone."""


def claimed(facts: Sequence[DrawnFact], turns: Sequence[Turn], days: Mapping[int, date]) -> tuple[DrawnFact, ...]:
    """Return the facts of a conversation with their claims, where a pattern matches.

    Args:
        facts: grounded.
        turns: that they may come from.
        days: by number, the day of each turn.
    """
    speakers = {turn.number: turn.speaker for turn in turns}
    several = len({turn.speaker for turn in turns if turn.role == "user"}) > 1
    found = []
    for fact in facts:
        speaker = speakers.get(fact.turn, "") if several else ""
        claim = stated(fact.text.removeprefix(f"{speaker}: "), days[fact.turn])
        if claim is not None and claim.subject == ME and speaker:
            claim = claim_of(speaker, *claim[1:])
        found.append(fact._replace(claim=claim))
    return tuple(found)


def stated(text: str, day: date, codes: Sequence[str] = LANGUAGES) -> Claim | None:
    """Return the claim of a statement; None if it states no fact, or its first day can't be understood.

    Args:
        text: a statement, in the first person or about a name, with absolute dates.
        day: on which it was said; if the fact begins later, it is not one yet.
        codes: languages to try.
    """
    plain = " ".join(text.replace("’", "'").split()).rstrip(" .!;")
    first = plain.partition(" ")[0].casefold()
    for code in codes:
        if not _any_phrase(code).fullmatch(plain):
            continue
        for predicate, pattern in _phrases(code):
            match = _compiled(pattern).fullmatch(plain)
            if match is None:
                continue
            groups = match.groupdict()
            began = groups.get("since") or groups.get("before")
            since = _first_day(began, code, day) if began else None
            if began and since is None:
                return None
            who = groups.get("who")
            several = who is not None and _SINGULAR.isdisjoint((who.casefold(), first))
            named = groups.get("subject") or groups.get("of") or ""
            if named.partition(" ")[0].casefold() in language(code).words("words"):  # "She lives in Cork"
                continue
            subject = named or (WE if several else ME)
            return claim_of(subject, predicate, groups["object"].strip(" ,"), since)
    return None


def _first_day(text: str, code: str, said: date) -> date | None:
    """Return the first day of the day, month or year that a text names; None if it names none, or a later one.

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
    """Return a date; None if there is no such day, or it is after the day of the statement."""
    found = calendar_day(f"{year:04}-{month:02}-{day:02}")
    return found if found and found <= said else None


@cache
def _names(code: str) -> dict[str, str]:
    """Return the named parts that a language's patterns of facts are built of."""
    table = language(code).table
    names = {**shared()["names"], "kin": table["names"]["kin"], **table["fact_names"]}
    return {name: joined(text) for name, text in names.items()}


@cache
def _phrases(code: str) -> list[tuple[str, str]]:
    """Return the ways to state a fact in a language: its predicate, and the pattern of the whole statement."""
    return [(fact["predicate"], filled(fact["pattern"], _names(code))) for fact in language(code).table["facts"]]


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE)


@cache
def _any_phrase(code: str) -> re.Pattern[str]:
    """Return a pattern of all phrases of a language: most statements match none, and one test shows that."""
    return _compiled("|".join(f"(?:{re.sub('[?]P<[a-z]+>', '?:', pattern)})" for _, pattern in _phrases(code)))


@cache
def _months(code: str) -> re.Pattern[str]:
    """Return a pattern with one group for each month."""
    months = _names(code)["months"].split("|")
    return re.compile(r"(?<!\w)(?:" + "|".join(f"({month})" for month in months) + r")(?!\w)", re.IGNORECASE)
