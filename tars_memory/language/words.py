"""Words: what one is, how people write it who leave marks out, its stem, and the languages that it may be of.

The one definition of a word serves index and queries alike: which words get a vector of their own, which ones of a
query are looked for, which ones of a line answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

WORD = re.compile(r"[^\W_]+")
"""One token of unicode61: a run of letters and digits."""


_FUNCTION_WORDS = (
    "a an the of to in on at by for with from and or is are was were be been do does did has have had what when where "
    "who whom which why how that this these those it its as s t not no i you he she they we his her their our my your "
    "me him them us him will would can could should about into than then there so if but"
)


STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""English function words, dropped from a query unless nothing else is left.

Source: the words that carry a question's grammar, not its subject (the usual short lists of BM25 systems, plus the
``s`` and ``t`` that an apostrophe leaves behind). With an OR query they cost 5.9 points of recall@10 on dialogue when
kept (54.9 against 60.8 measured). Other languages rely on their function words' low idf.
"""


LATIN_SHARE = 0.7
"""Of the letters of a text in Latin script: a Greek name in an English one doesn't make it Greek."""


def is_latin(text: str) -> bool:
    """Whether a text is in Latin script, as far as it has letters."""
    return text.isascii() or len(_latin().findall(text)) >= LATIN_SHARE * sum(map(str.isalpha, text))


@cache
def _latin() -> re.Pattern[str]:
    """A Latin letter; compiled on first use, for most texts are plain."""
    return re.compile(
        "[A-Za-zªº\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff3a\uff41-\uff5a]"
    )


class _Plain(dict[int, str]):
    """Code point -> what people write for it who leave marks out; filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        """A Greek letter loses its accents, Hebrew and Arabic their vowel points; everything else stays itself."""
        plain = chr(code)
        if 0x370 <= code <= 0x3FF or 0x1F00 <= code <= 0x1FFF:
            plain = unicodedata.normalize("NFD", plain)[0]
        elif 0x591 <= code <= 0x5C7 or 0x64B <= code <= 0x65F or code in (0x640, 0x670):
            plain = "" if code == 0x640 or unicodedata.category(plain) == "Mn" else plain
        self[code] = plain
        return plain


_PLAIN = _Plain(
    {ord(c): "ss" for c in "ßẞ"}
    | {ord(c): "ae" for c in "æÆ"}
    | {ord(c): "oe" for c in "œŒ"}
    | {ord(c): "th" for c in "þÞ"}
    | {ord(c): plain for c, plain in zip("øØłŁđĐðÐħĦŧŦıёЁأإآٱىة", "oollddddhhttiееاااايه", strict=True)}
)
"""Letters of their own that are written with others where a keyboard lacks them, or in haste."""


def plainer(text: str) -> str:
    """The text with the letters for which people write plainer ones replaced by these; case may be lost there."""
    return text if text.isascii() else text.translate(_PLAIN)


class _Fold(dict[int, str]):
    """Code point -> what it is folded to; filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        """As FTS5 of :func:`plainer`: marks go, a Latin letter loses its accent, everything else stays itself."""
        if 0x300 <= code <= 0x36F:
            folded = ""
        else:
            plain = chr(code).translate(_PLAIN)
            base = unicodedata.normalize("NFD", plain)[:1]
            folded = base if base.isascii() and base.isalpha() and len(plain) == 1 else plain
        self[code] = folded
        return folded


_FOLD = _Fold({ord("ς"): "σ", ord("ſ"): "s", ord("µ"): "μ"})


def fold(text: str) -> str:
    """Lower case, Latin letters without diacritics, as FTS5 folds; the text may get shorter or longer by it."""
    lowered = text.lower()
    return lowered if lowered.isascii() else lowered.translate(_FOLD)


def tokens(text: str) -> list[str]:
    """The folded words of a text, in order."""
    return WORD.findall(fold(text))


def content_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The character spans [start, end) of the words of a part of a text that are not stop words."""
    return [match.span() for match in WORD.finditer(text, start, end) if fold(match[0]) not in STOP_WORDS]


ASKING_WORDS = frozenset(
    {"summarize", "summarise", "summary", "describe", "explain", "tell", "discuss", "discussed", "discussion"}
    | {"discussions", "mention", "mentioned", "talk", "talked", "say", "said", "says", "think", "thinks", "thought"}
    | {"according"}
)
"""What a sentence asks somebody to do, not what it asks about: dropped from sentences (with stop words) only."""


_UNSPACED = (
    (0x2E80, 0x2FDF), (0x3040, 0x30FF), (0x3100, 0x312F), (0x3130, 0x318F), (0x31A0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF),
)  # fmt: skip
"""Scripts written without spaces (Han, kana, hangul, bopomofo; Thai, Lao, Burmese, Khmer): a run is not a word."""


def unspaced_runs(text: str) -> list[str]:
    """The stretches of a text in scripts that are written without spaces between words."""
    if text.isascii():
        return []
    runs: list[str] = []
    current = ""
    for c in text:
        if ord(c) >= 0x0E00 and any(low <= ord(c) <= high for low, high in _UNSPACED):
            current += c
        elif current:
            runs.append(current)
            current = ""
    return [*runs, current] if current else runs


def runs_and_rest(text: str) -> tuple[list[str], list[str]]:
    """Those stretches of a text, and its other parts between blanks; all folded."""
    runs = unspaced_runs(text)
    for run in runs:
        text = text.replace(run, " ", 1)
    return list(map(fold, runs)), fold(text).split()


def is_run(text: str) -> bool:
    """Whether a text is nothing but one such stretch."""
    return unspaced_runs(text) == [text]


def is_inflected(text: str) -> bool:
    """Whether a text holds hiragana: the particles and endings of Japanese, seldom the stem of a word."""
    return not text.isascii() and any("\u3041" <= sign <= "\u309f" for sign in text)


def symbols(text: str) -> list[str]:
    """Emoji and other pictures of a text, joined ones as one, without the selector of their style."""
    found: list[str] = []
    current = ""
    for c in [*text, " "]:
        if unicodedata.category(c) == "So" or (current and c in _JOINING):
            current += c
        elif current:
            found.append(current.replace("\ufe0f", "").strip("\u200d"))
            current = ""
    return [one for one in found if one]


_JOINING = frozenset("\u200d\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
"""Zero-width joiner, picture style, key cap, skin tones."""


# --- the Porter stemmer exactly as SQLite's FTS5 ``porter`` tokenizer runs it, for lines and highlights.
#
# FTS5 finds the chunks; which *line* of a chunk holds the word, and which characters to light up, is decided by the
# stems here, so both have to agree on what a word's stem is. M. F. Porter, "An algorithm for suffix stripping", 1980;
# the order of the suffixes and the edge cases follow ``fts5_tokenize.c``; a test compares the two over a whole
# vocabulary.

_VOWELS = frozenset("aeiou")


_LONGEST = 64
"""FTS5 leaves longer tokens alone (``FTS5_PORTER_MAX_TOKEN``)."""


# Per step: (suffix, replacement), the longer of two overlapping suffixes first; only the first that fits is tried.
_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip


_STEP3 = (
    ("ical", "ic"), ("ness", ""), ("icate", "ic"), ("iciti", "ic"), ("ful", ""), ("ative", ""), ("alize", "al"),
)  # fmt: skip


_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


_known: dict[str, str] = {}


def stem(word: str) -> str:
    """The stem of one folded word, as FTS5 stores it."""
    found = _known.get(word)
    if found is None:
        found = _known[word] = _stem(word) if 2 < len(word) <= _LONGEST else word
    return found


def _stem(word: str) -> str:
    word = _inflection(_plural(word))
    if word[-1] == "y" and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    for table in (_STEP2, _STEP3):
        for suffix, replacement in table:
            if word.endswith(suffix) and len(word) > len(suffix):
                if _measure(word[: -len(suffix)]) > 0:
                    word = word[: -len(suffix)] + replacement
                break
    for suffix in _STEP4:
        if word.endswith(suffix) and len(word) > len(suffix):
            rest = word[: -len(suffix)]
            if _measure(rest) > 1 and (suffix != "ion" or rest[-1] in "st"):
                word = rest
            break
    if word[-1] == "e":
        rest = word[:-1]
        measure = _measure(rest)
        if measure > 1 or (measure == 1 and not _ends_cvc(rest)):
            word = rest
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word


def _plural(word: str) -> str:
    if word[-1] != "s":
        return word
    if word[-2] == "e":
        twice = (len(word) > 4 and word.endswith("sses")) or (len(word) > 3 and word[-3] == "i")
        return word[:-2] if twice else word[:-1]
    return word if word[-2] == "s" else word[:-1]


def _inflection(word: str) -> str:
    """``-eed``, ``-ed``, ``-ing``, and what has to be mended after the latter two."""
    if len(word) > 3 and word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    if len(word) > 2 and word.endswith("ed"):
        rest = word[:-2]
    elif len(word) > 3 and word.endswith("ing"):
        rest = word[:-3]
    else:
        return word
    if not _has_vowel(rest):
        return word
    if len(rest) > 2 and rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and rest[-1] not in "aeioulsz":
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_cvc(rest) else rest


def _has_vowel(part: str) -> bool:
    return any(c in _VOWELS or (c == "y" and i > 0) for i, c in enumerate(part))


def _pattern(part: str) -> list[bool]:
    """For each letter whether it is a consonant; ``y`` is a vowel after a consonant."""
    pattern: list[bool] = []
    consonant = False
    for c in part:
        consonant = not (c in _VOWELS or (consonant and c == "y"))
        pattern.append(consonant)
    return pattern


def _measure(part: str) -> int:
    """Porter's m: how often a run of vowels is followed by a consonant."""
    count = 0
    after_vowel = False
    for consonant in _pattern(part):
        if consonant and after_vowel:
            count += 1
        after_vowel = not consonant
    return count


def _ends_cvc(part: str) -> bool:
    """Porter's ``*o``: consonant, vowel, consonant at the end, the last one not w, x or y."""
    return part[-1:] not in ("w", "x", "y", "") and _pattern(part)[-3:] == [True, False, True]


# --- which language a query is in, as far as a model for English alone must know: by script, then by function words
#
# A guess for a notice, not a classifier: it says nothing unless it is fairly sure. Measured on the questions of three
# English sets (1,140): none is taken for another language.

_SCRIPTS = (
    ("Greek", "\u0370-\u03ff\u1f00-\u1fff"),
    ("Cyrillic script", "\u0400-\u052f"),
    ("Hebrew", "\u0590-\u05ff"),
    ("Arabic script", "\u0600-\u06ff\u0750-\u077f"),
    ("an Indian script", "\u0900-\u0dff"),
    ("Thai", "\u0e00-\u0e7f"),
    ("Japanese", "\u3040-\u30ff"),
    ("Korean", "\uac00-\ud7af\u1100-\u11ff"),
    ("Chinese", "\u3400-\u4dbf\u4e00-\u9fff"),
)
"""In this order: Japanese holds Chinese characters, so its own come first."""


_GRAMMAR_WORDS = {
    "German": "der die das und ist nicht ein eine wer wie wo wann warum welche welcher mit von zu für auf ich wir mein "
    "meine hat habe haben war sind wird",
    "French": "le la les une des est et dans pour qui que quoi où quand comment pourquoi quel quelle avec je nous mon "
    "ma mes sur du pas sont",
    "Spanish": "el los las una unos es y en para quién qué dónde cuándo cómo por cuál con mi mis nosotros del está son "
    "fue tiene",
    "Italian": "il lo gli uno di è che chi dove quando come perché quale con mio mia nel della sono ha",
    "Portuguese": "o os uma é e em para quem que onde quando como qual com meu minha não do da são foi",
    "Dutch": "de het een en is niet wie wat waar wanneer hoe waarom welke met van voor ik mijn wij zijn heeft",
    "Polish": "i w na nie się kto co gdzie kiedy jak dlaczego który która z do jest są mój moja ma",
    "Czech": "a v na ne se kdo co kde kdy jak proč který která s do je jsou můj moje má",
    "Swedish": "och är inte en ett vem vad var när hur varför vilken med av för jag min vi har det som",
    "Turkish": "ve bir bu ne kim nerede nasıl neden hangi ile için değil mi mı benim var yok",
}


_GRAMMAR = {name: frozenset(words.split()) for name, words in _GRAMMAR_WORDS.items()}


def grammar_words(text: str) -> frozenset[str]:
    """The function words, folded, of the language that a query is in; none of English or where it can't be told."""
    return frozenset(map(fold, _GRAMMAR.get(foreign(text), ())))


_LETTERS = re.compile(r"[^\W\d_]+")


SCRIPT_SHARE = 0.3
"""Of the letters: a Greek name does not make an English question Greek."""


SURE = 2
"""Function words of one language, more than of English."""


def foreign(text: str) -> str:
    """The language or script of a query that isn't English; '' if it is, or can't be told."""
    words = _LETTERS.findall(text.lower())
    letters = "".join(words)
    if not letters.isascii():
        for name, characters in _SCRIPTS:
            if len(re.findall(f"[{characters}]", letters)) >= SCRIPT_SHARE * len(letters):
                return "Japanese" if name == "Chinese" and re.search("[\u3040-\u30ff]", letters) else name
    english = sum(word in STOP_WORDS for word in words)
    found = {name: sum(word in own for word in words) for name, own in _GRAMMAR.items()}
    name = max(found, key=found.__getitem__)
    return name if found[name] >= SURE and found[name] > english else ""


# --- the languages that rules know, each a TOML file of this room: ``en.toml`` says what every key is for
#
# A table holds what a language's words look like, never what follows from them: the rules that read it do that.


LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")

KNOWN_SHARE = 0.2
"""Of the words of a text that must be function words of one language before it counts as written in it. Measured on
prose of these seven: 35 to 60 %; of Swedish, Romanian, Catalan, Polish or Turkish at most half of them fit."""

TOLD_BY = 1_000
"""Characters of a text that tell its language."""

_WORD, _ELIDED = r"[^\W\d_]+(?:['’][^\W\d_]+)*", r"(?<=['’])"
"""Compiled when they are first needed: a search needs neither."""


class Language:
    """What one TOML holds, its patterns compiled when they are first needed: a run in one language needs few.

    Attributes:
        code: two letters.
        table: what the file holds.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.table: dict[str, Any] = _file(code)
        self._names = {name: joined(text) for name, text in self.table.get("names", {}).items()}
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._forms: dict[str, list[tuple[re.Pattern[str], dict[str, Any]]]] = {}

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        if name not in self._words:
            self._words[name] = frozenset(self.table[name].split())
        return self._words[name]

    def pattern(self, name: str) -> re.Pattern[str]:
        """One of the expressions, case aside."""
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = self.expression(self.table[name])
        return found

    def expression(self, text: str) -> re.Pattern[str]:
        """An expression that may hold named parts."""
        return re.compile(filled(text, self._names), re.IGNORECASE)

    def forms(self, name: str) -> list[tuple[re.Pattern[str], dict[str, Any]]]:
        """The expressions of a list of forms, each with what else its table holds."""
        if name not in self._forms:
            self._forms[name] = [(self.expression(each["form"]), each) for each in self.table[name]]
        return self._forms[name]


def every(part: str, name: str) -> str:
    """The alternatives that the languages have for an expression, as one; ``part`` is a table of their files."""
    tables = (shared(), *(language(code).table for code in LANGUAGES))
    return "|".join(joined(table[part][name]) for table in tables if name in table.get(part, ()))


def every_word(part: str, name: str) -> frozenset[str]:
    """The words that the languages list under a name, together."""
    tables = (language(code).table for code in LANGUAGES)
    return frozenset(word for table in tables for word in table[part].get(name, "").split())


@cache
def shared() -> dict[str, Any]:
    """What the languages share."""
    return _file("shared")


def _file(name: str) -> dict[str, Any]:
    import tomllib  # a search reads none

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


@cache
def language(code: str) -> Language:
    """One of :data:`LANGUAGES`, read once."""
    return Language(code)


def spoken(text: str, usual: str = "") -> str:
    """The code of the language that a text is in, by its function words; empty for one that we don't know.

    Args:
        text: any.
        usual: the language that counts where several fit equally well.
    """
    words = [part for word in re.findall(_WORD, text[:TOLD_BY].casefold().replace("’", "'")) for part in _parts(word)]
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for code in _owners().get(word, ()):
            counts[code] += times
            different[code] += 1
    if not counts:
        return ""
    best = max(LANGUAGES, key=lambda code: (different[code], counts[code], code == usual))
    least = min(3, 1 if len(words) < 6 else (len(words) + 1) // 3)
    enough = counts[best] >= max(least, KNOWN_SHARE * len(words)) and different[best] >= min(2, least)
    return best if enough else ""


def _parts(word: str) -> list[str]:
    """A word, or the two of ``j'habite``; ``don't`` is one."""
    return [word] if word in _owners() or "'" not in word else re.split(_ELIDED, word)


@cache
def _owners() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for code in LANGUAGES:
        for word in language(code).words("words") | language(code).words("me"):
            found[word] = (*found.get(word, ()), code)
    return found


@cache
def common_words() -> frozenset[str]:
    """The function words of all languages: they say nothing of what a text is about."""
    return frozenset(_owners())


def filled(text: str, names: dict[str, str]) -> str:
    """An expression with the named parts in it, which may hold others."""
    text = joined(text)
    while "<<" in text:
        text = re.sub(r"<<(\w+)>>", lambda found: names[found[1]], text)
    return text


def joined(text: str) -> str:
    """A text of the tables without its line breaks."""
    return "".join(text.strip("\n").split("\n"))
