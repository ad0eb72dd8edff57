"""Words: what counts as one, its spelling without diacritics, its stem, and the language of a text.

Index and queries share this definition of a word: it decides which words get a vector of their own, which words of a
query are searched for, and which words of a line answer.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
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
"""Share of Latin letters from which on a text is in Latin script: a Greek name in it doesn't make it Greek."""


def is_latin(text: str) -> bool:
    """Whether the letters of a text, if it has any, are in Latin script."""
    return text.isascii() or len(_latin().findall(text)) >= LATIN_SHARE * sum(map(str.isalpha, text))


@cache
def _latin() -> re.Pattern[str]:
    """Matches a Latin letter; compiled on first use, for most texts are ASCII."""
    return re.compile(
        "[A-Za-zªº\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff3a\uff41-\uff5a]"
    )


class _Plain(dict[int, str]):
    """Maps code points to plainer spellings, as people write them without diacritics; filled on demand."""

    def __missing__(self, code: int) -> str:
        """Remove the accents of a Greek letter, and Hebrew and Arabic vowel points; write the digits of any script as
        ``0`` to ``9``; keep every other character.
        """
        plain = chr(code)
        if 0x370 <= code <= 0x3FF or 0x1F00 <= code <= 0x1FFF:
            plain = unicodedata.normalize("NFD", plain)[0]
        elif 0x591 <= code <= 0x5C7 or 0x64B <= code <= 0x65F or code in (0x640, 0x670):
            plain = "" if code == 0x640 or unicodedata.category(plain) == "Mn" else plain
        elif plain.isdecimal():
            plain = str(unicodedata.decimal(plain))
        self[code] = plain
        return plain


_PLAIN = _Plain(
    {ord(c): "ss" for c in "ßẞ"}
    | {ord(c): "ae" for c in "æÆ"}
    | {ord(c): "oe" for c in "œŒ"}
    | {ord(c): "th" for c in "þÞ"}
    | dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), 0xFB00))
    | {0xAD: ""}
    | {code + 0xFEE0: chr(code) for code in range(0x21, 0x7F) if chr(code).isalnum()}
    | {ord(c): plain for c, plain in zip("øØłŁđĐðÐħĦŧŦıёЁأإآٱىةیکہ", "oollddddhhttiееاااايهيكه", strict=True)}
)
"""Letters that people replace by others if their keyboard lacks them, or in haste; what a program puts in their place:
ligatures, soft hyphens, full-width letters and digits."""


def plainer(text: str) -> str:
    """Return a text in its plainer spelling (:data:`_PLAIN`); replaced letters may lose their case."""
    return text if text.isascii() else text.translate(_PLAIN)


class _Fold(dict[int, str]):
    """Maps lower-case code points to folded text; filled on demand."""

    def __missing__(self, code: int) -> str:
        """Fold as FTS5 folds :func:`plainer` text: remove combining marks and the accents of Latin letters."""
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
    """Return a text in lower case and plainer spelling, as FTS5 folds it; its length may change."""
    lowered = text.lower()
    return lowered if lowered.isascii() else lowered.translate(_FOLD)


def tokens(text: str) -> list[str]:
    """Return the folded words of a text, in order."""
    return WORD.findall(fold(text))


def letters_of(text: str) -> str:
    """Return the letters and digits of a text in one case: the same however it is escaped, or its lines are joined."""
    return "".join(filter(str.isalnum, text.casefold()))


def content_spans(text: str, start: int) -> list[tuple[int, int]]:
    """Return the character spans [start, end) of the words of a text, from ``start`` on, that are not stop words."""
    return [match.span() for match in WORD.finditer(text, start) if fold(match[0]) not in STOP_WORDS]


ASKING_WORDS = frozenset(
    {"summarize", "summarise", "summary", "describe", "explain", "tell", "discuss", "discussed", "discussion"}
    | {"discussions", "mention", "mentioned", "talk", "talked", "say", "said", "says", "think", "thinks", "thought"}
    | {"according"}
)
"""Words for what a sentence asks somebody to do, not for its subject: dropped from queries that contain stop words."""

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul: separated by blanks, but particles are attached to the words
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts that are written without blanks between words, as ranges of a set in a regular expression."""
_UNSPACED_RANGES = tuple(zip(UNSPACED[::3], UNSPACED[2::3], strict=True))


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of a text in scripts that are written without spaces between words."""
    if text.isascii():
        return []
    return ["".join(signs) for unspaced, signs in groupby(text, is_unspaced) if unspaced]


def is_unspaced(sign: str) -> bool:
    """Whether a character is of a script that is written without spaces."""
    return sign >= UNSPACED[0] and any(low <= sign <= high for low, high in _UNSPACED_RANGES)


def apart(text: str) -> str:
    """Return a text, as long as before, with a blank for each character of a script without spaces.

    There FTS5's words end: ``Pythonの環境`` holds ``Python``.
    """
    return text if text.isascii() else re.sub(f"[{UNSPACED}]", " ", text)


def runs_and_rest(text: str) -> tuple[list[str], list[str]]:
    """Return the unspaced runs of a text, and the rest of it split at blanks; all folded."""
    runs = unspaced_runs(text)
    for run in runs:
        text = text.replace(run, " ", 1)
    return list(map(fold, runs)), fold(text).split()


_CONTRACTIONS = frozenset({"s", "m", "d", "ll", "re", "ve"})
"""Endings after an apostrophe that are dropped from a word; a word that ends in ``n't`` is a stop word as a whole."""


class Divided:
    """What is searched for in a text: folded, in order, each once.

    Attributes:
        words, stop_words: single words; stop words apart.
        phrases: the words of compounds such as ``10.0.0.1`` or ``a-b``.
        literals: what no index of words holds: emoji, ``c++``, words of scripts without spaces.
        punctuation: pieces of punctuation only.
    """

    def __init__(self, text: str) -> None:
        self.words: dict[str, None] = {}
        self.stop_words: dict[str, None] = {}
        self.phrases: dict[tuple[str, ...], None] = {}
        self.literals: dict[str, None] = {}
        self.punctuation: dict[str, None] = {}
        runs, parts = runs_and_rest(text)
        for run in runs:
            self.literals.update(dict.fromkeys([run, *(run[i : i + 2] for i in range(len(run) - 1))]))
        for part in parts:
            self._add(part)

    def _add(self, piece: str) -> None:
        """Add a folded piece of a script with spaces between words."""
        if not piece.isascii():
            self.literals.update(dict.fromkeys(symbols(piece)))
        parts = WORD.findall(piece)
        if not parts:
            self.punctuation[piece] = None
            return
        if "'" in piece and len(parts) == 2:
            head, tail = parts
            if tail in _CONTRACTIONS:
                parts = [head]
            elif tail == "t" and head.endswith("n"):
                self.stop_words[head] = None
                return
        sign = _with_signs(piece, parts)
        if sign:
            self.literals[sign] = None
            if len(parts[0]) == 1:
                return
        if len(parts) > 1:
            self.phrases[tuple(parts)] = None
            parts = [part for part in parts if len(part) > 1 and not part.isdigit()]
        for part in parts:
            (self.stop_words if part in STOP_WORDS else self.words)[part] = None


def _with_signs(piece: str, parts: list[str]) -> str:
    """Return a short word with the signs that belong to it (``c++``, ``f#``, ``.net``); '' if it has none."""
    core = piece.strip("\"'()[]{}<>,;:!?*_`~…")
    core = core if core.endswith("..") or not core.endswith(".") else core[:-1]
    if len(parts) != 1 or core == parts[0] or not core:
        return ""
    left, _, right = core.partition(parts[0])
    signs = left + right
    return core if len(signs) <= 3 and all(c in "+#.$€£%@&" for c in signs) and (right or left == ".") else ""


def is_run(text: str) -> bool:
    """Whether a text is nothing but one unspaced run."""
    return unspaced_runs(text) == [text]


def is_inflected(text: str) -> bool:
    """Whether a text contains hiragana: particles and endings of Japanese, rarely the stem of a word."""
    return not text.isascii() and any("\u3041" <= sign <= "\u309f" for sign in text)


def symbols(text: str) -> list[str]:
    """Return the emoji and other symbols of a text; joined ones as one, without variation selectors."""
    runs = ("".join(signs).lstrip(_JOINING) for is_symbol, signs in groupby(text, _is_symbol) if is_symbol)
    return list(filter(None, (run.replace("\ufe0f", "").strip("\u200d") for run in runs)))


def _is_symbol(sign: str) -> bool:
    """Whether a character is a symbol, or joins symbols."""
    return sign in _JOINING or unicodedata.category(sign) == "So"


_JOINING = "\u200d\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""Zero-width joiner, emoji variation selector, combining keycap, skin tones."""


# --- the Porter stemmer exactly as in SQLite's FTS5 ``porter`` tokenizer, for lines and highlights
#
# FTS5 finds the chunks; the stems here decide which *line* of a chunk contains the word and which characters are
# highlighted, so both have to agree on the stem of a word. M. F. Porter, "An algorithm for suffix stripping", 1980; the
# order of the suffixes and the edge cases follow ``fts5_tokenize.c``; a test compares the two over a whole vocabulary.

_VOWELS = frozenset("aeiou")

_LONGEST = 64
"""Maximum length of a token that FTS5 stems (``FTS5_PORTER_MAX_TOKEN``)."""


# Per step: (suffix, replacement), the longer of two overlapping suffixes first; only the first one that fits is tried.
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


@cache
def stem(word: str) -> str:
    """Return the stem of one folded word, as FTS5 stores it."""
    return _stem(word) if 2 < len(word) <= _LONGEST else word


def stems(words: Iterable[str]) -> dict[str, str]:
    """Return word → stem of folded words."""
    return {word: stem(word) for word in words}


def halves(words: Iterable[str]) -> dict[tuple[str, str], str]:
    """Return the two parts of each word, at each place where a hyphen may be, → the word; of a number where
    its thousands may be set apart: ``14.500``, ``14 500``.
    """
    return {
        (word[:i], word[i:]): word
        for word in words
        if len(word) <= _LONGEST
        for i in (range(1, len(word)) if not word.isdigit() else (len(word) - 3,) if 4 <= len(word) <= 6 else ())
    }


def joints(head: str) -> str:
    """Return the characters that may join the first of two halves to the second, for a set in a regular expression."""
    return r".,'’\s" if head.isdigit() else "-‐‑"


def is_grouped(parts: Sequence[str]) -> bool:
    """Whether words are one number with its thousands set apart: ``14``, ``500``."""
    return all(map(str.isdigit, parts)) and len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])


@cache
def _function_stems() -> frozenset[str]:
    return frozenset(map(stem, STOP_WORDS))


def names_like_function_words(text: str) -> frozenset[str]:
    """Return the folded words with a capital, as names have, that FTS5 takes for function words: "Ines" has the stem of
    "in", "Doe" that of "does".
    """
    names = {fold(word) for word in WORD.findall(text) if word[0].isupper()} - STOP_WORDS
    return frozenset(name for name in names if stem(name) in _function_stems())


def _stem(word: str) -> str:
    """Apply the steps of the algorithm to a word of 3 letters or more."""
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
    """Remove the ending of a plural (step 1a)."""
    if word[-1] != "s":
        return word
    if word[-2] == "e":
        twice = (len(word) > 4 and word.endswith("sses")) or (len(word) > 3 and word[-3] == "i")
        return word[:-2] if twice else word[:-1]
    return word if word[-2] == "s" else word[:-1]


def _inflection(word: str) -> str:
    """Remove ``-eed``, ``-ed`` or ``-ing``, and repair the ending after the latter two."""
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
    """Porter's ``*v*``: whether there is a vowel; ``y`` counts unless it is the first letter."""
    return any(c in _VOWELS or (c == "y" and i > 0) for i, c in enumerate(part))


def _pattern(part: str) -> str:
    """Return ``c`` for each consonant and ``v`` for each vowel; ``y`` is a vowel after a consonant."""
    pattern = ""
    for c in part:
        pattern += "v" if c in _VOWELS or (c == "y" and pattern[-1:] == "c") else "c"
    return pattern


def _measure(part: str) -> int:
    """Return Porter's m: how often a run of vowels is followed by a consonant."""
    return _pattern(part).count("vc")


def _ends_cvc(part: str) -> bool:
    """Porter's ``*o``: whether a word ends with consonant, vowel, consonant, the last one not w, x or y."""
    return part[-1:] not in ("w", "x", "y", "") and _pattern(part).endswith("cvc")


# --- the language of a query, as far as a model for English only has to know: by script, then by function words
#
# A guess for a notice, not a classifier: it gives no answer unless it is fairly sure. Measured on the questions of
# three English sets (1,140): none is taken for another language. The lists have the frequent words of each language,
# and are weighed together: a word added to one counts less for all others that have it, so it belongs in theirs, too.

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
"""Japanese comes before Chinese, because it contains Chinese characters."""

_GRAMMAR_WORDS = {
    "German": "der die das den dem des und oder ist nicht kein keine ein eine einen einem einer wer wen wem wie wo "
    "wann warum was welche welcher welches welchen welchem wofür mit von zu zum zur für auf in im am an aus bei nach "
    "über um es er sie ich wir man mein meine meinen uns hat habe haben hatte hatten war waren sind wird werden kann "
    "sich auch",
    "French": "le la les l un une des de du d est et dans en pour qui que qu quoi où quand comment combien pourquoi "
    "quel quelle quels quelles avec je j nous on il elle mon ma mes notre ce cette à au aux sur par pas ne n se s "
    "sont a ai ont était y t ou",
    "Spanish": "el la los las un una unos unas es son está están y en de del al a para quién quien qué que dónde "
    "donde cuándo cuando cómo como cuál cuánto cuántos cuántas por con mi mis nosotros lo le se me nos no fue tiene "
    "tengo hay su ya cada",
    "Italian": "il lo la i gli le l un uno una di d del della dell dei delle è e che chi cosa dove quando come "
    "perché quale qual quanto quanti quante con mio mia a al alla all in nel nella da dal per su si ci non sono ha ho "
    "abbiamo può",
    "Portuguese": "o a os as um uma uns e é em no na nos nas de do da dos das para por pelo pela ao à que quem quê "
    "onde quando quanto quantos quantas como porque qual com eu meu minha não se já são foi está tem tenho",
    "Dutch": "de het een en of is niet wie wat waar wanneer hoe hoeveel waarom waarvoor welke met van voor op in "
    "aan bij naar uit over om te ik je we wij mijn ons zijn was heeft heb hebben er ze men dat die deze moet kan kun "
    "wordt",
    "Polish": "i w we na nie się kto kogo komu co czy gdzie kiedy jak jaki jaka jakie jakim dlaczego który która "
    "które którego której ile z ze do od dla po jest są był była było mój moja ma mam mi za przez",
    "Czech": "a v ve na ne se si kdo koho komu co kde kdy jak jaký jaká jaké jakou kolik proč který která které s z "
    "k ke do od pro po za je jsou jsem jsme byl byla bylo můj moje má mám to",
    "Swedish": "och är inte en ett den det vem vad var när hur varför vilken vilket vilka med av för på i till om "
    "åt jag vi man min mitt har hade som ska kan mot",
    "Turkish": "ve bir bu ne kim kime kimin nerede nereye nereden nasıl neden niçin hangi kaç için ile kadar zaman "
    "mi mı mu mü değil benim var yok nedir ki da de her",
}

_SIGNS = {
    "German": "ß", "French": "œ", "Spanish": "ñ¿", "Portuguese": "ã", "Polish": "ąęłż", "Czech": "ěřů", "Turkish": "ğış"
}  # fmt: skip
"""Letters and signs that only one of these languages writes; each counts as a word of it."""


def grammar_words(language: str) -> frozenset[str]:
    """Return the folded function words of a language that :func:`foreign_language` found; none if it found none."""
    return frozenset(map(fold, _GRAMMAR_WORDS.get(language, "").split()))


@cache
def _languages_with() -> dict[str, list[str]]:
    """Return each function word → the languages that have it; '' is English."""
    found: dict[str, list[str]] = {}
    for name, words in (_GRAMMAR_WORDS | {"": _FUNCTION_WORDS}).items():
        for word in words.split():
            found.setdefault(word, []).append(name)
    return found


_LETTERS = re.compile(r"[^\W\d_]+")

SCRIPT_SHARE = 0.3
"""Share of letters in a script from which on a query is in that script: a Greek name doesn't make a question Greek."""

SURE = 1.3
"""Least weight of a language's words in a text. A word of n languages weighs 1/n, so one alone is never enough."""


def foreign_language(text: str) -> str:
    """Return the language or script of a text; '' if it is English, unknown, or of several languages alike."""
    words = _LETTERS.findall(text.lower())
    letters = "".join(words)
    if not letters.isascii():
        for name, characters in _SCRIPTS:
            if len(re.findall(f"[{characters}]", letters)) >= SCRIPT_SHARE * len(letters):
                return "Japanese" if name == "Chinese" and re.search("[\u3040-\u30ff]", letters) else name
    weights: dict[str, float] = dict.fromkeys((*_GRAMMAR_WORDS, ""), 0.0)
    for word in set(words):
        languages = _languages_with().get(word, ())
        for name in languages:
            weights[name] += 1 / len(languages)
    small = set("".join(word for word in text.split() if not word[0].isupper()))  # a name may have any letters
    for name, signs in _SIGNS.items():
        weights[name] += len(small.intersection(signs))
    *_, (second, _), (weight, name) = sorted((weight, name) for name, weight in weights.items())
    return name if weight >= SURE and weight - second > 0.01 else ""


# --- the languages that rules know, each a TOML file in this package: ``en.toml`` explains every key
#
# A file describes the words of a language, never what follows from them: that is up to the rules that read it.


LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")

KNOWN_SHARE = 0.2
"""Least share of function words of a language for a text to be in that language. Prose in these seven has 35 to 60 %;
of prose in Swedish, Romanian, Catalan, Polish or Turkish at most half as many words fit."""

FOREIGN_SHARE = 0.1
"""Greatest share of words in Latin script with letters that none of :data:`LANGUAGES` writes, beside one that any
sentence may borrow (``I love smørrebrød``). Turkish and Polish use them in one of three words, and a few of their words
are French or Italian ones, too."""

_WRITTEN = frozenset("abcdefghijklmnopqrstuvwxyzäöüßàâæçéèêëîïôœùûÿáíóúñìòãõABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Letters in words of :data:`LANGUAGES` without a capital at the beginning."""

JUDGED_BY = 1_000
"""Number of characters at the beginning of a text that decide its language."""

_WORD, _ELIDED = r"[^\W\d_]+(?:['’][^\W\d_]+)*", r"(?<=['’])"
"""Patterns, compiled on first use: a search needs neither."""


class Language:
    """The TOML file of a language, with its patterns compiled on first use: a run in one language needs few of them.

    Attributes:
        code: two letters.
        table: contents of the file.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.table: dict[str, Any] = _file(code)
        orders = {"orders": f"(?:{'|'.join(self.table['feedback']['orders'].split())})"}
        self._names = {name: joined(text) for name, text in (orders | shared()["names"] | self.table["names"]).items()}

    @cache  # noqa: B019  # there is one object of each language
    def words(self, name: str) -> frozenset[str]:
        """Return a list of words by its key."""
        return frozenset(self.table[name].split())

    @cache  # noqa: B019
    def pattern(self, name: str) -> re.Pattern[str]:
        """Return an expression by its key, compiled to ignore case."""
        return self.expression(self.table[name])

    def expression(self, text: str) -> re.Pattern[str]:
        """Compile an expression that may contain named parts (``<<name>>``), to ignore case."""
        return re.compile(filled(text, self._names), re.IGNORECASE)

    @cache  # noqa: B019
    def forms(self, name: str) -> list[tuple[re.Pattern[str], dict[str, Any]]]:
        """Return the compiled expressions of a list of forms by its key, each with its table."""
        return [(self.expression(form["form"]), form) for form in self.table[name]]


def alternatives_of_all(part: str, name: str) -> str:
    """Return one expression with the alternatives of all languages; ``part`` is the table in their files.

    A straight apostrophe stands for a curly one, too, which phones and Obsidian put into notes.
    """
    tables = (shared(), *(language(code).table for code in LANGUAGES))
    found = "|".join(joined(table[part][name]) for table in tables if name in table.get(part, ()))
    return re.sub("'(?!’)", "['’]", found)


@cache
def phrase_pattern(part: str, name: str, form: str) -> re.Pattern[str]:
    """Return an expression, to ignore case, in which ``{}`` stands for :func:`alternatives_of_all`."""
    return re.compile(form.replace("{}", f"(?:{alternatives_of_all(part, name)})"), re.IGNORECASE)


@cache
def feedback_words(name: str) -> frozenset[str]:
    """Return the words that the languages list under a name of their table ``feedback``: ``orders``, which begin one,
    or ``starters``, small ones that begin any sentence.
    """
    tables = (language(code).table["feedback"] for code in LANGUAGES)
    return frozenset(word for table in tables for word in table.get(name, "").split())


@cache
def shared() -> dict[str, Any]:
    """Return the contents of ``shared.toml``, which all languages share."""
    return _file("shared")


def _file(name: str) -> dict[str, Any]:
    """Return the contents of a TOML file in this package."""
    import tomllib  # a search reads no TOML

    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


language = cache(Language)
"""Returns one of :data:`LANGUAGES` by its code, read once."""


def language_of(text: str, usual: str = "") -> str:
    """Return the code of the language of a text, by its function words; '' if it is none of :data:`LANGUAGES`.

    Args:
        text: any.
        usual: the language to choose if several fit equally well; one word of it will do, if it is said often enough.
    """
    judged = text[:JUDGED_BY]
    latin = (word for word in _LETTERS.findall(judged) if max(word) < "\u0250")
    small = [word for word in latin if not word[0].isupper()]  # a name may have any letters
    if sum(not _WRITTEN.issuperset(word) for word in small) > max(1, FOREIGN_SHARE * len(small)):
        return ""
    folded = judged.casefold().replace("’", "'")
    words = [part for word in re.findall(_WORD, folded) for part in _parts(word)]
    counts: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, times in Counter(words).items():
        for code in _languages_of_words().get(word, ()):
            counts[code] += times
            different[code] += 1
    if not counts:
        return ""
    best = max(LANGUAGES, key=lambda code: (different[code], counts[code], code == usual))
    least = min(3, 1 if len(words) < 6 or best == usual else (len(words) + 1) // 3)
    enough = counts[best] >= max(least, KNOWN_SHARE * len(words)) and different[best] >= min(2, least)
    return best if enough else ""


def _parts(word: str) -> list[str]:
    """Split ``j'habite`` into its two words; ``don't`` is one word."""
    return [word] if word in _languages_of_words() or "'" not in word else re.split(_ELIDED, word)


@cache
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    """Return the function words of all languages, each with the codes of its languages."""
    found: dict[str, tuple[str, ...]] = {}
    for code in LANGUAGES:
        for word in language(code).words("words") | language(code).words("me"):
            found[word] = (*found.get(word, ()), code)
    return found


@cache
def common_words() -> frozenset[str]:
    """Return the function words of all languages: they tell nothing about the subject of a text."""
    return frozenset(_languages_of_words())


def filled(text: str, names: dict[str, str]) -> str:
    """Fill the named parts (``<<name>>``), which may contain others, into an expression."""
    text = joined(text)
    while "<<" in text:
        text = re.sub(r"<<(\w+)>>", lambda found: names[found[1]], text)
    return text


def joined(text: str) -> str:
    """Return a multi-line text of a TOML file without its line breaks."""
    return "".join(text.strip("\n").split("\n"))
