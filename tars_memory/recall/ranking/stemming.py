"""The Porter stemmer exactly as SQLite's FTS5 ``porter`` tokenizer runs it, for lines and highlights.

FTS5 finds the chunks; which *line* of a chunk holds the word, and which characters to light up, is decided here, so
both have to agree on what a word's stem is. M. F. Porter, "An algorithm for suffix stripping", 1980; the order of the
suffixes and the edge cases follow ``fts5_tokenize.c``; a test compares the two over a whole vocabulary.
"""

from __future__ import annotations

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
