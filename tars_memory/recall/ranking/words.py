"""What words are in a query and in the lines of candidate chunks: scripts without blanks, stems, counts, BM25, and
which language a query is in. Pure.

FTS5 ranks chunks and notes; the line that answers is found here with the same words, stems and idf.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from tars_memory.index.fulltext import STOP_WORDS, WORD, fold, fold_signs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tars_memory.recall.query import Query


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
"""Scripts written without spaces (Han, kana, hangul, bopomofo; Thai, Lao, Burmese, Khmer): a run is no word."""


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


def is_run(text: str) -> bool:
    """Whether a text is nothing but one such stretch."""
    return unspaced_runs(text) == [text]


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
# FTS5 finds the chunks; which *line* of a chunk holds the word, and which characters to light up, is decided here, so
# both have to agree on what a word's stem is. M. F. Porter, "An algorithm for suffix stripping", 1980; the order of the
# suffixes and the edge cases follow ``fts5_tokenize.c``; a test compares the two over a whole vocabulary.


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


# --- words in lines: what FTS5 can't tell, for the few hundred lines of the candidate chunks.


K1 = 1.2
B = 0.75
"""BM25 as FTS5 has it fixed (``fts5_aux.c``); lines and chunks are weighed by the same rule."""
_REST = re.compile(r"[^\W_]*")


def idf(rows: int, holding: int) -> float:
    """How much a word says that ``holding`` of ``rows`` rows hold: positive however common it is (Lucene's form)."""
    return math.log(1 + (rows - holding + 0.5) / (holding + 0.5))


def phrase_key(phrase: Sequence[str]) -> str:
    """What a phrase is called among the terms: its stems in quotes."""
    return f'"{" ".join(map(stem, phrase))}"'


class Terms:
    """What a query looks for, ready to be counted in texts.

    Attributes:
        stems: of the words, each once.
        phrases: as stems in a row; ``phrase_keys`` are their keys.
        literals, prefixes: as in the query.
    """

    def __init__(self, query: Query) -> None:
        self.stems = tuple(dict.fromkeys(stem(word) for word in query.words))
        self.phrases = tuple(tuple(stem(word) for word in phrase) for phrase in query.phrases)
        self.phrase_keys = tuple(map(phrase_key, query.phrases))
        self.literals = tuple(dict.fromkeys(fold_signs(literal) for literal in query.literals))
        self.prefixes = query.prefixes
        self._wanted = frozenset(self.stems)
        self._heads = heads_of(self.stems)

    @property
    def keys(self) -> tuple[str, ...]:
        """One key for each term: the stem, the phrase in quotes, the literal, the prefix with its star."""
        return (
            *self.stems,
            *self.phrase_keys,
            *self.literals,
            *(f"{prefix}*" for prefix in self.prefixes),
        )

    def count(self, text: str) -> dict[str, int]:
        """How often each term that occurs stands in a text, by its key."""
        return self.count_lines((text,))[0]

    def count_lines(self, lines: Sequence[str]) -> list[dict[str, int]]:
        """How often each term that occurs stands in each of the lines, by its key."""
        counts: list[dict[str, int]] = [{} for _ in lines]
        folded = fold("\n".join(lines)).split("\n")  # a fifth of the time that folding each of them takes
        if len(folded) != len(lines):
            folded = [fold(line) for line in lines]
        for i, root in self._stems_in(folded):
            counts[i][root] = counts[i].get(root, 0) + 1
        for i, line in enumerate(folded):
            if self.phrases:
                self.add_phrases(line, counts[i])
            if self.prefixes:
                self._add_prefixes(line, counts[i])
        for literal in self.literals:
            for i, line in enumerate(lines):
                n = fold_signs(line).count(literal)
                if n:
                    counts[i][literal] = n
        return counts

    def _stems_in(self, folded: Sequence[str]) -> Iterator[tuple[int, str]]:
        """(line, stem) for every word of the folded lines that has one of the stems.

        Words are found by how their stem begins, with the string search of the interpreter: most lines hold none, and
        cutting every line into words would cost several times as much.
        """
        text = "\n".join(folded)
        ends: list[int] = []
        for head in self._heads:
            at = text.find(head)
            while at >= 0:
                end = _REST.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string too
                if not (at and text[at - 1].isalnum()):
                    root = stem(text[at:end])
                    if root in self._wanted:
                        if not ends:
                            ends = list(accumulate(len(line) + 1 for line in folded))
                        yield bisect_right(ends, at), root
                at = text.find(head, end)

    def add_phrases(self, text: str, counts: dict[str, int]) -> None:
        """Count the phrases of a whole text, over the ends of its lines; counts that are there are replaced."""
        joined = f" {' '.join(map(stem, WORD.findall(fold(text))))} "
        for key in self.phrase_keys:
            n = joined.count(f" {key[1:-1]} ")
            if n:
                counts[key] = n

    def _add_prefixes(self, folded: str, counts: dict[str, int]) -> None:
        words = WORD.findall(folded)
        for prefix in self.prefixes:
            n = sum(word.startswith(prefix) for word in words)
            if n:
                counts[f"{prefix}*"] = n

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the terms stand in a text: ``(start, end)`` pairs, in order, disjoint."""
        found: list[tuple[int, int]] = []
        words = [(m.start(), m.end(), fold(m[0])) for m in WORD.finditer(text)]
        stems = [stem(word) for _, _, word in words]
        for i, (start, end, word) in enumerate(words):
            if stems[i] in self._wanted or any(word.startswith(prefix) for prefix in self.prefixes):
                found.append((start, end))
            found += (
                (start, words[i + len(phrase) - 1][1])
                for phrase in self.phrases
                if tuple(stems[i : i + len(phrase)]) == phrase
            )
        lowered = text.lower()
        if len(lowered) == len(text):
            for literal in self.literals:
                at = lowered.find(literal)
                while at >= 0:
                    found.append((at, at + len(literal)))
                    at = lowered.find(literal, at + len(literal))
        return _merged(found)


class Exclusion:
    """What a hit must not hold."""

    def __init__(self, negations: Sequence[str]) -> None:
        self.phrases: list[str] = []
        self.literals: list[str] = []
        for negation in negations:
            words = WORD.findall(negation)
            if words:
                self.phrases.append(f" {' '.join(map(stem, words))} ")
            self.literals += symbols(negation) if words else [negation]

    def __bool__(self) -> bool:
        return bool(self.phrases or self.literals)

    def holds(self, text: str) -> bool:
        """Whether the text holds something that was excluded."""
        folded = fold(text)
        if self.literals and any(literal in fold_signs(text) for literal in self.literals):
            return True
        joined = f" {' '.join(map(stem, WORD.findall(folded)))} "
        return any(phrase in joined for phrase in self.phrases)


def bm25(counts: Mapping[str, int], idfs: Mapping[str, float], length: float, average: float) -> float:
    """BM25 of one text.

    Args:
        counts: occurrences by term.
        idfs: idf by term.
        length: of the text, in any unit.
        average: of all such texts, in the same unit.
    """
    penalty = K1 * (1 - B + B * length / average) if average else K1
    return sum(idfs.get(term, 0.0) * n * (K1 + 1) / (n + penalty) for term, n in counts.items())


def heads_of(stems: Sequence[str]) -> tuple[str, ...]:
    """Beginnings that every word with one of the stems has: Porter rewrites no more than an ending's last letters."""
    heads: set[str] = set()
    for root in stems:
        changed = root.endswith(("i", "e", "bl")) and len(root) > 1
        heads.add(root[:-1] if changed else root)
    return tuple(sorted(head for head in heads if not any(head != other and head.startswith(other) for other in heads)))


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


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

_FUNCTION_WORDS = {
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
_LANGUAGES = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")
SCRIPT_SHARE = 0.3
"""Of the letters: a Greek name in an English question is none."""
SURE = 2
"""Function words of one language, more than of English."""


def foreign(text: str) -> str:
    """The language or script of a query that isn't English; '' if it is, or can't be told."""
    words = _WORD.findall(text.lower())
    letters = "".join(words)
    if not letters.isascii():
        for name, characters in _SCRIPTS:
            if len(re.findall(f"[{characters}]", letters)) >= SCRIPT_SHARE * len(letters):
                return name
    english = sum(word in STOP_WORDS for word in words)
    found = {name: sum(word in own for word in words) for name, own in _LANGUAGES.items()}
    name = max(found, key=found.__getitem__)
    return name if found[name] >= SURE and found[name] > english else ""


def warning(language: str) -> str:
    """What the person is told whose query an English model can't read."""
    return (
        f"the embedding model was made for English and the query looks like {language}: its words count more than its "
        "meaning; tars-memory models use NAME sets a multilingual model"
    )
