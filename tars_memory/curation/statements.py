"""A statement's words as :mod:`tars_memory.curation.similarity` compares them: content, values, negation, order."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from tars_memory.curation.vocabulary import (
    COPULAS,
    EQUAL,
    FILLERS,
    FRENCH_NE,
    FRENCH_SECOND,
    MANY_VALUED,
    MONTHS,
    NEGATIONS,
    NUMBER_WORDS,
    ONE_VALUED,
    OPPOSITES,
    RELATORS,
    SUBJECTS,
    UNSPACED_NEGATIONS,
)
from tars_memory.vault.entries import tags_of

VALUE_WORDS = 4
"""So many words at most make one value: ``senior software engineer``, ``Berlin Mitte``."""

_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d"  # a date
    r"|\d{1,2}:\d\d"  # a time of day
    r"|\d{1,3}(?:,\d{3})+(?!\d)"  # a number with commas
    r"|\d+(?:[.,/]\d+)*"  # any other number
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]"  # scripts written without spaces: a sign each
    r"|[^\W\d_][\w'’]*(?:[-+#&@./][\w'’]+)*[+#]*"  # a word: C++, e-mail, anna@x.org, B12
    r"|[%€$£¥°?]|[^\w\s\x00-\x7f…“”„‚‘’«»–—·•]"  # what changes the meaning; emoji
)
_APOSTROPHE = re.compile(r"(?<=\w)['’]s?$")
_ELIDED = re.compile(r"^(?:l|d|j|m|t|s|c|qu|un|all|dell|nell|sull)['’](?=\w)", re.IGNORECASE)


class Statement(NamedTuple):
    """One statement, read.

    Attributes:
        words: all of them, folded, in order.
        content: those that carry content, as stems, in order.
        names: words that are written with a capital, though they are not the first.
        numbers: those that are values: numbers, dates, months, weekdays.
        denied: how many negations there are.
        phrases: the content cut at prepositions, each phrase with the word that leads it.
        tags: without the mark.
    """

    words: tuple[str, ...]
    content: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    denied: int
    phrases: tuple[tuple[str, ...], ...]
    tags: frozenset[str]


@lru_cache(maxsize=4096)
def read(text: str) -> Statement:
    """The statement of an entry's words; any text is one."""
    tags = frozenset(tag.casefold() for tag in tags_of(text))
    words: list[str] = []
    content: list[str] = []
    names: set[str] = set()
    numbers: set[str] = set()
    phrases: list[list[str]] = [[""]]
    negated = 0
    ne = False
    for raw in _tokens(text):
        word = EQUAL.get(raw.casefold(), raw.casefold())
        words.append(word)
        if word in FRENCH_NE:
            ne, negated = True, negated + 1
            continue
        if word in NEGATIONS or word in UNSPACED_NEGATIONS:
            negated += not (ne and word in FRENCH_SECOND)
            ne = False
            continue
        if word in FILLERS and not _acronym(raw):
            continue
        if word in SUBJECTS and not content:
            continue
        if word in COPULAS:
            phrases.append(["="])
            continue
        if word in RELATORS and not _acronym(raw):
            phrases.append([word])
            continue
        stem = _stem(word)
        if raw[:1].isupper() and len(words) > 1:
            names.add(word)
        if word[:1].isdigit() or word in MONTHS or word in NUMBER_WORDS or any(sign.isdigit() for sign in word):
            stem = MONTHS.get(word, word)
            numbers.add(stem)
        content.append(stem)
        phrases[-1].append(stem)
    negated += sum(found in text for found in UNSPACED_NEGATIONS if len(found) > 1)
    kept = tuple(tuple(phrase) for phrase in phrases if len(phrase) > 1)
    return Statement(tuple(words), tuple(content), frozenset(names), frozenset(numbers), negated, kept, tags)


def opposed(old: Statement, new: Statement) -> bool:
    """Whether one denies what the other says: negations differ, or a word stands against its opposite."""
    shared = set(old.content) & set(new.content)
    mine, theirs = [word for word in old.content if word not in shared], [w for w in new.content if w not in shared]
    sides = [{OPPOSITES[word] for word in words if word in OPPOSITES} for words in (mine, theirs)]
    groups = {group for group, _ in sides[0]} & {group for group, _ in sides[1]}
    turned = any((group, 1) in sides[0] and (group, -1) in sides[1] for group in groups) or any(
        (group, -1) in sides[0] and (group, 1) in sides[1] for group in groups
    )
    flipped = turned != (old.denied != new.denied)
    if not (turned or old.denied != new.denied):
        return False
    rest = [len([word for word in words if word not in OPPOSITES]) for words in (mine, theirs)]
    about = [word for word in shared if word not in OPPOSITES]
    least = min(len([w for w in each.content if w not in OPPOSITES]) for each in (old, new))
    close = bool(about) and len(about) * 2 >= least and min(rest) <= VALUE_WORDS
    return close and (flipped or old.denied != new.denied)


def says_the_same(old: Statement, new: Statement) -> bool:
    """Whether both hold the very same content, in the same order or with whole phrases moved."""
    if (
        old.denied != new.denied
        or Counter(old.content) != Counter(new.content)
        or ("?" in old.words) != ("?" in new.words)
    ):
        return False
    if not (old.names <= set(new.words) and new.names <= set(old.words)):
        return False  # Adam is not Adams
    if old.phrases == new.phrases:
        return True
    led = [sorted(phrase for phrase in each.phrases if phrase[0] not in ("", "=")) for each in (old, new)]
    core = [[phrase[1:] for phrase in each.phrases if phrase[0] in ("", "=")] for each in (old, new)]
    if led[0] != led[1]:
        return False
    if old.numbers and _moved(old, new):
        return True
    return core[0] == core[1] or (_equated(old) and _equated(new) and sorted(core[0]) == sorted(core[1]))


def one_value_differs(old: Statement, new: Statement) -> bool:
    """Whether both state the same thing with another value, or one says more of it."""
    shared = Counter(old.content) & Counter(new.content)
    if not shared:
        return False
    short, long = sorted((old.content, new.content), key=len)
    if _within(short, long):
        return len(long) - len(short) <= max(2, len(short))
    apart = [
        (old.content[a:b], new.content[c:d])
        for tag, a, b, c, d in SequenceMatcher(None, old.content, new.content, autojunk=False).get_opcodes()
        if tag != "equal"
    ]
    values = old.numbers | new.numbers
    if all(set(mine) | set(theirs) <= values for mine, theirs in apart):
        return True
    if len(apart) != 1 or not all(0 < len(side) <= VALUE_WORDS for side in apart[0]):
        return False
    if old.content[0] != new.content[0]:
        return False  # about another subject
    stated = [word for word in shared if word not in values]
    if any(word in ONE_VALUED for word in stated):
        return True
    return len(stated) > 1 and not any(word in MANY_VALUED for word in stated)


def _tokens(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", text)
    text = re.sub(r"(?:^|(?<=\s))#[^\s#]+", "", re.sub(r"[*_~`\\]+", "", text))
    text = re.sub(r"\b(\w+)n['’]t\b", _not, text)
    text = re.sub(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?", _hour, text, flags=re.IGNORECASE)
    text = re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", _day, text)
    text = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th|er|º|ª)\b", r"\1", text)
    text = re.sub(r"(?<=\d)\.(?= \w)", "", text)
    found = []
    for raw in _TOKEN.findall(text):
        word = _APOSTROPHE.sub("", _ELIDED.sub("", raw)).strip("'’")
        if raw[:1].isdigit() and re.fullmatch(r"\d{1,3}(?:,\d{3})+", raw):
            word = raw.replace(",", "")
        if word:
            found.append(word)
    return found


def _not(found: re.Match[str]) -> str:
    whole = {"ca": "can", "wo": "will", "sha": "shall"}
    return f"{whole.get(found[1].casefold(), found[1])} not"


def _hour(found: re.Match[str]) -> str:
    hour = int(found[1]) % 12 + (12 if found[3] in "pP" else 0)
    return f"{hour:02}:{found[2] or '00'}"


def _day(found: re.Match[str]) -> str:
    month = int(found[2])
    names = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    return f"{int(found[3])} {names[month - 1]} {found[1]}" if 1 <= month <= 12 else found[0]


def _stem(word: str) -> str:
    """Without the ending of an English plural or third person (Harman's S-stemmer)."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("us", "ss", "is", "news")):
        return word[:-1]
    return word


def _acronym(raw: str) -> bool:
    """``US`` and ``IT`` are no pronouns."""
    return len(raw) > 1 and raw.isupper()


def _equated(statement: Statement) -> bool:
    """Whether it says that one thing is another, which may be said the other way round."""
    return sum(phrase[0] == "=" for phrase in statement.phrases) == 1 and statement.phrases[0][0] == ""


def _moved(old: Statement, new: Statement) -> bool:
    """Whether only values without a word that leads them stand elsewhere: ``15 Oct`` and ``Oct 15``."""
    return [word for word in old.content if word not in old.numbers] == [
        word for word in new.content if word not in new.numbers
    ] and len({word for word in old.numbers if word.isdigit()}) <= 1


def _within(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    rest = iter(long)
    return all(word in rest for word in short)
