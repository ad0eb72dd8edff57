"""Find the sentences of a text that are its speaker's own words, and compare what two statements say. Pure.

A statement is compared by its words: content, values, negation, order. Two statements are the same, the same in other
words, or different. The comparison is careful, because callers may drop a repeated statement: if a digit, a negation or
any content word differs, two statements are different. Which statements are about the same subject is less certain; it
only sorts what a person is shown.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from tars_memory.language import calendar
from tars_memory.language.words import LANGUAGES, STOP_WORDS, language, stem

# --- sentences, without pasted, quoted and fenced text; linear in the length of the text

LONGEST_TURN = 6_000
"""Maximum length in characters of a turn that is read as a whole; a longer one is mostly pasted, and only its ends are
read."""

END = 1_500
"""Number of characters at either end of a longer turn that are read."""

LONGEST_PARAGRAPH = 1_200
"""Maximum length in characters of a paragraph that may be talk."""

WRAPPED = 55
"""Minimum length in characters of a wrapped line; shorter lines are typed one below the other."""

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_MARKUP = re.compile(r"[ \t]*<([A-Za-z][A-Za-z0-9_-]*)[^<>\n]*>")
_NO_TALK = re.compile(
    r"[ \t]*(?:>|\||\$ |# |%|//|/\*|#!|</?[A-Za-z]|\{|\}|\[\d|\d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|"
    r"(?:at|File) [\w\"'./<]+[(,:]|(?:From|To|Subject|Date|Sent|Cc|Von|An|Betreff|De|Objet|Asunto|Oggetto): |"
    r"(?:ERROR|WARN(?:ING)?|INFO|DEBUG|Traceback|Exception)\b|"
    r"(?:import|def|class|const|let|var|function|return|SELECT|INSERT|UPDATE|CREATE) [\w({*])"
)
"""Beginnings of lines that are quotes, tables, prompts, comments, logs, mail headers or code."""

_CLOSER = re.compile(r"</([A-Za-z][A-Za-z0-9_-]*)>")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_QUOTED = re.compile(r"[ \t]*>")
_MARK = re.compile(r"(?:[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?[ \t*_]*")
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"”’»)\]*_]*+(?=\s|$)|[。！？]|\n")
_SHORT_WORDS = """
dr mr mrs ms prof st vs etc approx ca no nr inc ltd e.g i.e z.b d.h u.a bzw usw evtl ggf sig sr sra dra m mme mlle p.ex
ex dott ing dhr mevr bijv d.w.z av pág págs jan feb mar apr jun jul aug sep sept oct okt nov dec dez
"""
_SHORT = frozenset(_SHORT_WORDS.split())
"""Abbreviations, without their full stop, that do not end a sentence."""
_ARTICLE = re.compile(r"(?:^|\s)(?:im|ins|zur|der|die|das|des) \d+$", re.IGNORECASE)
"""A German article and a number, which is an ordinal if a full stop follows; after ``am`` a day may end a sentence."""
_MONTH = re.compile(r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])", re.IGNORECASE)


class Sentence(NamedTuple):
    """A sentence of a text.

    Attributes:
        text: verbatim, without list marks and emphasis at its start and blanks at its ends.
        start: offset of its first character in the text.
        asks: whether it ends in a question mark.
    """

    text: str
    start: int
    asks: bool


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a turn that are its speaker's own words, in order."""
    found: list[Sentence] = []
    for start, end in talk_spans(text):
        found += _split(text, start, end)
    return found


def talk_spans(text: str, *, pasted: bool = False) -> list[tuple[int, int]]:
    """Return the (start, end) of the paragraphs of a turn that are talk: no fences, tags, quotes, tables, code, logs or
    pasted pages.

    Args:
        text: of the turn.
        pasted: whether pasted text counts as talk too; then only fences, tags and quotes are left out.
    """
    if pasted:
        return list(_paragraphs(text, _QUOTED))
    return [
        (start, end)
        for start, end in _paragraphs(text, _NO_TALK)
        if end - start <= LONGEST_PARAGRAPH and (len(text) <= LONGEST_TURN or end <= END or start >= len(text) - END)
    ]


def _paragraphs(text: str, no_talk: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of runs of lines of talk, which blank lines and other lines separate.

    Args:
        text: of the turn.
        no_talk: matches beginnings of lines that are not talk.
    """
    fence = closing = ""
    closers = {found[1]: found.start() for found in _CLOSER.finditer(text)}
    first: int | None = None
    at = 0
    for line in _LINE.findall(text):
        opened = _FENCE.match(line)
        tag = None if fence or closing else _MARKUP.match(line)
        talk = not (fence or closing or opened or tag or no_talk.match(line) or not line.strip())
        if opened and not closing:
            fence = "" if fence and opened[1].startswith(fence) else fence or opened[1]
        if tag and closers.get(tag[1], -1) >= at:
            closing = f"</{tag[1]}>"
        if closing and closing in line:
            closing = ""
        if talk and first is None:
            first = at
        if not talk and first is not None:
            yield first, at
            first = None
        at += len(line)
    if first is not None:
        yield first, at


def _split(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the sentences of a paragraph."""
    at = start
    for stop in _STOP.finditer(text, start, end):
        if not _is_sentence_end(text, at, stop, end):
            continue
        yield from _sentence(text, at, stop.end())
        at = stop.end()
    yield from _sentence(text, at, end)


def _sentence(text: str, start: int, end: int) -> Iterator[Sentence]:
    """Yield the sentence in a part of a text, if there is any text in it."""
    mark = _MARK.match(text, start, end)
    begin = mark.end() if mark else start
    words = text[begin:end].strip()
    if words:
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        yield Sentence(words, begin, words.rstrip('"”’»)]*_ ').endswith(("?", "？")))


def _is_sentence_end(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Whether a sentence ends at ``stop``: not after an abbreviation or ordinal, nor where a line is only wrapped."""
    after = text[stop.end() : stop.end() + 12].lstrip(" \t")
    if stop[0] == "\n":
        line = text[max(start, text.rfind("\n", start, stop.start()) + 1) : stop.start()]
        wrapped = after[:1].islower() and len(line) >= WRAPPED and line.rstrip()[-1:] not in ".!?:…"
        return not wrapped or stop.end() >= end
    if stop[0] != ".":
        return True
    word = re.split(r"[\s(\"]", text[max(start, stop.start() - 20) : stop.start()])[-1]
    if word.casefold() in _SHORT or (len(word) == 1 and word.isalpha() and word.isupper()):
        return not after
    if word.isdigit() and len(word) <= 2:
        ordinal = _MONTH.match(after) or _ARTICLE.search(text, start, stop.start())
        return not re.match(r"[^\W\d_]", after) or (after[:1].isupper() and not ordinal)
    return True


# --- statements

LONGEST = 2000
"""Maximum length in characters of a statement; a longer text is only compared as a whole."""

# The function words below decide how two statements compare, in English, German, French, Spanish, Italian, Portuguese
# and Dutch, with the negations of a few more languages. If a word is missing, a statement only looks different from
# another one: the user is asked then.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "no not never none nobody nothing nowhere neither nor without cannot hardly stopped quit former formerly "
    "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne "
    "pas jamais rien aucun aucune sans non "
    "nunca jamás sin nada nadie ningún ninguna ninguno tampoco "
    "senza niente nulla nessuno nessuna nessun "
    "não sem ninguém nenhum nenhuma "
    "niet geen nooit zonder niets niemand "
    "inte ingen inga aldrig utan ikke aldri uten ingenting ei "
    "nie nigdy bez nikt nic ne nikdy není "
    "не нет никогда без ничего ни нельзя "
    "değil yok hiç"
)
FRENCH_NE = frozenset({"ne", "n"})
FRENCH_SECOND = _words("pas jamais rien aucun aucune")
"""Words that, after ``ne``, are the second half of one negation."""

NO_MORE = _words("longer mehr plus più mais meer anymore")
"""Words that, behind a negation, only say that something was so before; without them a statement says another thing."""

UNSPACED_NEGATIONS = ("不", "没", "沒", "無", "无", "未", "非", "勿", "ない", "ません", "なかった", "않", "없", "못")

FILLERS = _words(
    "the a an that do does did also really currently now please still just very "
    "der die das dem den des ein eine einen einem einer eines auch jetzt derzeit "
    "le la les l un une el los las unos unas il lo gli uno o os um uma het een "
    "my mein meine meinen mes mi mis mio meu minha mijn "
    "aussi maintenant también ahora ya já anche adesso ora também agora ook nu"
)
"""Words without content of their own that neither begin a phrase nor exclude anything."""

COPULAS = _words("is are 's ist sind bin est sont suis es è sono é são zijn")

SUBJECTS = _words("i user ich je yo io eu ik")
"""Words that mean the user at the start of a statement."""

RELATORS = _words(
    "in at on to from of for with by than before after over under about into onto until till since between against via "
    "during through per as like and or but if when while because "
    "im am zu zum zur von vom nach bei mit für vor über unter seit bis als und oder aber wenn weil gegen aus auf an "
    "à au aux de du des dans en chez avec pour par avant après sur sous depuis et ou mais que "
    "a al del con para por antes después sobre desde hasta y e pero "
    "di da nel nella con per prima dopo su dal ma che "
    "em no na do da dos das com antes depois "
    "te van naar met voor bij uit op om maar"
)
"""Words that begin a phrase that says where, when, or in which role something takes part."""


def _values() -> Iterator[tuple[str, str]]:
    """Yield names of months and weekdays with their values; in English also short forms, and plurals of weekdays."""
    yield from (("jänner", "month1"), ("sept", "month9"), ("okt", "month10"), ("dez", "month12"))
    for code, named in calendar.NAMES.items():
        for kind, names in zip(("month", "weekday"), named, strict=True):
            for number, name in enumerate(map(str.casefold, names), 1):
                more = (name[:3], name + "s" * (kind == "weekday")) if code == "en" else ()
                yield from ((form, f"{kind}{number}") for form in (name.partition("-")[0], *more))


MONTHS = dict(_values())
"""Values of names of months and weekdays; they count like numbers."""

UNSURE = _words("sun sat mon mar may march mai segunda terça quarta quinta sexta")
"""Names of months and weekdays that are other words too: they only count with a capital letter, or after a number."""


@cache
def _number_words() -> frozenset[str]:
    """Return the words for numbers in the languages we know; those for one are articles, too."""
    return frozenset(word for code in LANGUAGES for word in language(code).table["dates"]["numbers"].split()[1:])


_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d"  # a date
    r"|\d{1,2}:\d\d"  # a time of day
    r"|\d{1,3}(?:,\d{3})+(?!\d)"  # a number with commas
    r"|\d+(?:[.,/]\d+)*"  # any other number
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]"  # scripts written without spaces: a sign each
    r"|[^\W\d_][\w'’]*(?:[-+#&@./][\w'’]+)*[+#]*"  # a word: C++, e-mail, anna@x.org, B12
    r"|[%€$£¥°?]|[^\w\s\x00-\x7f…“”„‚‘’«»–—·•]"  # what changes the meaning; emoji
)
_TAG = re.compile(r"(?:^|(?<=\s))#(?!\d+(?![\w/-]))[^\s#]+")
"""Matches a tag; ``#`` with a number is not a tag, but counts as a number."""
_APOSTROPHE = re.compile(r"(?<=\w)['’]s?$")
_ELIDED = re.compile(r"^(?:l|d|j|m|t|s|c|qu|un|all|dell|nell|sull)['’](?=\w)", re.IGNORECASE)


Key = tuple[tuple[str, ...], frozenset[str]]
"""Words and tags of a statement."""


class Statement(NamedTuple):
    """The words of a statement.

    Attributes:
        words: all words, folded, in order.
        content: content words in the singular, and values, in order.
        names: words with a capital letter that are not the first one.
        numbers: content words that are values: numbers, dates, months, weekdays.
        denied: number of negations.
        phrases: the content divided at prepositions and copulas, each phrase after the word that begins it.
        tags: with their ``#``.
    """

    words: tuple[str, ...]
    content: tuple[str, ...]
    names: frozenset[str]
    numbers: frozenset[str]
    denied: int
    phrases: tuple[tuple[str, ...], ...]
    tags: frozenset[str]


def key_of(text: str) -> Key:
    """Return the words and tags of a text, whatever their case, spacing and punctuation: the same for equal ones."""
    statement = read(text)
    return statement.words, statement.tags


@lru_cache(maxsize=65_536)  # of a larger vault each read would push out what is read next
def read(text: str) -> Statement:
    """Return the statement of a text, of any text."""
    tags = frozenset(tag.casefold() for tag in _TAG.findall(text))
    if len(text) > LONGEST:
        return Statement(tuple(text.split()), (), frozenset(), frozenset(), 0, (), tags)
    reader = _Reader()
    for raw in _tokens(text):
        reader.add(raw)
    reader.denied += sum(found in text for found in UNSPACED_NEGATIONS if len(found) > 1)
    return reader.statement(tags)


class _Reader:
    """Builds a statement, word by word."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.content: list[str] = []
        self.names: set[str] = set()
        self.numbers: set[str] = set()
        self.phrases: list[list[str]] = [[""]]
        self.denied = 0
        self._after_ne = False

    def add(self, raw: str) -> None:
        """Add the next word, as it is written."""
        word = raw.casefold()
        self.words.append(word)
        if self._count_negation(word):
            return
        if (word in FILLERS and not _acronym(raw)) or (word in SUBJECTS and not self.content):
            return
        if word in COPULAS or (word == "am" and self.words[-2:-1] == ["i"]):
            self.phrases.append(["="])
        elif word in RELATORS and not _acronym(raw):
            self.phrases.append([word])
        else:
            self._add_content(raw, word)

    def statement(self, tags: frozenset[str]) -> Statement:
        """Return the statement."""
        last = self.phrases[-1]
        if len(last) == 1 and last[0] in RELATORS:
            self.content.append(last[0])  # "is on", "logs out": no phrase follows
            last.append(last[0])
        phrases = tuple(_with_dates_sorted(phrase, self.numbers) for phrase in self.phrases if len(phrase) > 1)
        names, numbers = frozenset(self.names), frozenset(self.numbers)
        return Statement(tuple(self.words), tuple(self.content), names, numbers, self.denied, phrases, tags)

    def _count_negation(self, word: str) -> bool:
        """Count a negation; returns whether the word is one. ``ne … pas`` counts once."""
        if word in FRENCH_NE:
            self._after_ne = True
            self.denied += 1
            return True
        if word in NEGATIONS or word in UNSPACED_NEGATIONS:
            self.denied += not (self._after_ne and word in FRENCH_SECOND)
            self._after_ne = False
            return True
        return self.denied > 0 and word in NO_MORE

    def _add_content(self, raw: str, word: str) -> None:
        """Add a content word, as a value or in the singular, to the content and the last phrase."""
        kept = _singular(word)
        dated = word in MONTHS and (word not in UNSURE or raw[:1].isupper() or "".join(self.words[-2:-1]).isdigit())
        if dated or word in _number_words() or any(sign.isdigit() for sign in word):
            kept = MONTHS[word] if dated else word
            self.numbers.add(kept)
        elif raw[:1].isupper() and len(self.words) > 1:
            self.names.add(word)
        self.content.append(kept)
        self.phrases[-1].append(kept)


def has_same_content(old: Statement, new: Statement) -> bool:
    """Whether two statements have the same content, in the same order or with whole phrases moved."""
    if (
        old.denied != new.denied
        or Counter(old.content) != Counter(new.content)
        or ("?" in old.words) != ("?" in new.words)
        or NO_MORE.isdisjoint(old.words) != NO_MORE.isdisjoint(new.words)
    ):
        return False
    if not (old.names <= set(new.words) and new.names <= set(old.words)):
        return False  # Adam is not Adams
    return old.phrases == new.phrases or (_movable_phrases(old) == _movable_phrases(new) and _core(old) == _core(new))


def _movable_phrases(statement: Statement) -> list[tuple[str, ...]]:
    """Return the phrases after a preposition, sorted."""
    return sorted(phrase for phrase in statement.phrases if phrase[0] not in ("", "="))


def _core(statement: Statement) -> list[tuple[str, ...]]:
    """Return the other phrases, in order, without the words that begin them."""
    return [phrase[1:] for phrase in statement.phrases if phrase[0] in ("", "=")]


def _tokens(text: str) -> list[str]:
    """Return the words, numbers and telling signs of a text, with links, negations, times and dates spelled one way."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"\[\[(?:[^\[\]|]{0,200}\|)?([^\[\]]{0,200})\]\]", r"\1", text)
    text = _TAG.sub("", re.sub(r"[*_~`\\]+", "", text))
    text = re.sub(
        r"\b(\w{1,20})n['’]t\b", _expanded_negation, re.sub(r"\bcannot\b", "can not", text, flags=re.IGNORECASE)
    )
    text = re.sub(r"\b[nN]['’](?=\w)", "ne ", text)
    text = re.sub(r"\bany (?:more|longer)(?=\W*$)", "anymore", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?", _24_hour_time, text, flags=re.IGNORECASE)
    text = re.sub(r"\b(\d{4})-(\d\d)-(\d\d)\b", _day_and_month, text)
    text = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th|er|º|ª)\b", r"\1", text)
    found = []
    for raw in _TOKEN.findall(text):
        word = _APOSTROPHE.sub("", _ELIDED.sub("", raw)).strip("'’")
        if raw[:1].isdigit() and re.fullmatch(r"\d{1,3}(?:,\d{3})+", raw):
            word = raw.replace(",", "")
        if word and not (len(word) == 1 and word != "?" and unicodedata.category(word)[0] == "P" and word != "%"):
            found.append(word)
    return found


def _expanded_negation(found: re.Match[str]) -> str:
    """Replace ``don't`` by ``do not``."""
    whole = {"ca": "can", "wo": "will", "sha": "shall"}
    return f"{whole.get(found[1].casefold(), found[1])} not"


def _24_hour_time(found: re.Match[str]) -> str:
    """Replace ``3 pm`` by ``15:00``."""
    hour = int(found[1]) % 12 + (12 if found[3] in "pP" else 0)
    return f"{hour:02}:{found[2] or '00'}"


def _day_and_month(found: re.Match[str]) -> str:
    """Replace ``2026-11-21`` by ``21 nov 2026``."""
    month = int(found[2])
    names = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    return f"{int(found[3])} {names[month - 1]} {found[1]}" if 1 <= month <= 12 else found[0]


def _singular(word: str) -> str:
    """Remove the ending of an English plural or third person (Harman's S-stemmer)."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("us", "ss", "is", "news")):
        return word[:-1]
    return word


def _acronym(raw: str) -> bool:
    """Whether a word is in capitals, as ``US`` and ``IT``, which are not pronouns."""
    return len(raw) > 1 and raw.isupper()


def _with_dates_sorted(phrase: list[str], values: set[str]) -> tuple[str, ...]:
    """Return a phrase with the parts of every date in the same order: ``15 Oct`` and ``Oct 15``."""
    found: list[str] = []
    run: list[str] = []
    for word in [*phrase, ""]:
        if word in values:
            run.append(word)
            continue
        days = [value for value in run if value.isdigit() and len(value) < 3]
        years = [value for value in run if value.isdigit() and len(value) == 4]
        if len(days) <= 1 and len(years) <= 1 and any(value.startswith("month") for value in run):
            run.sort()
        found += [*run, word]
        run = []
    return tuple(found[:-1])


# --- how two statements are related

Relation = Literal["same", "near", "different"]
"""How two statements are related, see :func:`relation`."""

ENOUGH = 0.25
"""Least share of the weighted words of a line, the one with less, that another line contains, to be about the same."""

RESTATED = 0.8
"""Least share of common words for a statement to repeat another one (Dice)."""

_LIKING_LIST = (
    "prefer like love enjoy favourite favorite best rather fond always really want mag liebe lieber liebsten gern "
    "gerne bevorzuge am immer préfère aime adore toujours prefiero gusta encanta siempre preferisco piace adoro sempre "
    "gosto prefiro liever graag ich je yo io eu ik"
)
_LIKING_WORDS = frozenset(stem(word) for word in _LIKING_LIST.split())
"""Stems of words for liking, and for "I": lines may share them without being about the same."""

_DATE = re.compile(r"\d{1,2}|(?:19|20)\d\d|(?:month|weekday)\d+")
"""Matches a part of a date in a statement; times and amounts count as much as words."""


def relation(old: str, new: str) -> Relation:
    """Return how a new statement is related to an old one.

    Args:
        old: text of an entry (:attr:`tars_memory.vault.model.Entry.text`).
        new: text of another entry.

    Returns:
        ``same``: the same words, whatever their case, spacing and punctuation. ``near``: the same content in another
        order, or with other function words. ``different``: anything else.
    """
    return compare(read(old), read(new))


def compare(old: Statement, new: Statement) -> Relation:
    """Return the :func:`relation` of two statements."""
    if old.words == new.words and old.tags == new.tags:
        return "same"
    return "near" if old.content and new.content and has_same_content(old, new) else "different"


def overlap(old: Statement, new: Statement) -> float:
    """Return the share of content words that two statements have in common, 0 to 1 (Dice)."""
    ours, theirs = set(old.content), set(new.content)
    return 2 * len(ours & theirs) / (len(ours) + len(theirs)) if ours and theirs else 0.0


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the content words of a text, without stop words, in order."""
    return tuple(stem(word) for word in read(text).content if word not in STOP_WORDS)


def restates(old: str, new: str) -> bool:
    """Whether a statement seems to repeat another one in other words: "I like aisle seats best".

    Only used for sorting: repeated statements are shown further down.
    """
    old_words, new_words = _subject_words(old), _subject_words(new)
    if not old_words or not new_words:
        return False
    if read(old).denied % 2 != read(new).denied % 2:
        return False
    if any(word.isdigit() for word in old_words ^ new_words):
        return False
    return 2 * len(old_words & new_words) >= RESTATED * (len(old_words) + len(new_words))


def _subject_words(text: str) -> frozenset[str]:
    """Return the stems of a statement without words for liking."""
    return frozenset(word for word in stems(text) if word not in _LIKING_WORDS)


class SimilarTexts:
    """Finds the texts that are about the same as a new one, by an inverted index of their words.

    Args:
        texts: in order; results are their indexes.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._words = [frozenset(stems(text)) for text in texts]
        self._holders: dict[str, list[int]] = {}
        for number, words in enumerate(self._words):
            for word in words:
                self._holders.setdefault(word, []).append(number)

    def about(self, text: str) -> list[int]:
        """Return the indexes of the texts that are about the same as this one, best first; of equal ones the last."""
        new = frozenset(stems(text))
        shared: dict[int, float] = {}
        for word in new:
            weight = self._weight(word)
            for number in self._holders.get(word, ()):
                shared[number] = shared.get(number, 0.0) + weight
        whole = sum(map(self._weight, new))
        found = []
        for number, weight in shared.items():
            share = weight / min(whole, sum(map(self._weight, self._words[number])))
            if share >= ENOUGH:
                found.append((-share, -weight, -number))
        return [-number for _, _, number in sorted(found)]

    def _weight(self, word: str) -> float:
        """Return the weight of a word: more for rare words, less for parts of dates and words for liking."""
        rarity = math.log(1 + (len(self._words) + 1) / (len(self._holders.get(word, ())) + 1))
        return rarity / 4 if word in _LIKING_WORDS or _DATE.fullmatch(word) else rarity
