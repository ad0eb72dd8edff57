"""Words and signs: from any text of a person to a safe FTS5 query, and what FTS5 itself can't tokenise.

FTS5's ``unicode61`` makes one token of a whole run of Chinese or Japanese, and none of an emoji; ``C++`` and ``C``
are the same token. So each chunk has, beside its words, a line of *signs*: every character of a script that is
written without spaces, every emoji or other symbol, and words like ``C#``, all parted by blanks. A phrase of signs is
then found at any length and any position by the same engine; among the words, a run of them would only be kept twice.

Whatever a person types ends up inside quotes: FTS5's operators are never reachable from outside.

FTS5 takes marks from Latin letters alone. People leave out others, too (``елка`` for ``ёлка``, ``ΨΩΜΙ`` for ``ψωμί``,
``Strasse`` for ``Straße``), so what FTS5 is given is made :func:`plainer` first, in the index and in queries. The one
definition of a word serves both sides: which ones get a vector of their own, and which ones of a query are looked for.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from tars_memory.language.words import plainer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# -- signs

WORDS = "porter unicode61 remove_diacritics 2"
"""The tokenizer of words."""
SIGNS = "unicode61 remove_diacritics 2 categories 'L* N* Co M* S* Po'"
"""The tokenizer of signs: whatever stands between two blanks is one token."""

GAP = "\ue000"
"""The token that stands for what another table holds; nobody can ask for it."""
MAX_TERMS = 64
"""More words than this are not a question; FTS5 would compare every chunk with each of them."""
MAX_TERM = 200
"""Characters of one term that are looked at."""

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul: parted by blanks, but a particle hangs on to every word
    "\u1780-\u17ff"  # Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Scripts that are written without blanks between words."""
_SYMBOLS = "\u00a2-\u00a9\u00ac\u00ae-\u00b1\u20a0-\u20cf\u2100-\u2bff\u3200-\u33ff\ufffc\ufffd\U0001f000-\U0001faff"
"""Currency, letter-like, arrows, mathematics, dingbats and emoji: what ``unicode61`` drops."""
_GAP = re.compile(r"\S")
_MARKS = dict.fromkeys((*range(0x300, 0x370), 0xFE0F, 0x200D))
"""Accents by themselves, and what joins emoji: a table, for a pattern takes half a millisecond to compile."""
_ENDS = re.compile(r"([+#])")
_JOINED = re.compile(r"[+#](?<=[^\W_].)")
"""All the signs that a text in ASCII can hold: what stands behind a letter or digit, as in ``C++``."""
_TOKEN = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W_]+[+#]*")
_STRETCHES = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))


def _sign(text: str) -> re.Pattern[str]:
    """One sign of a text: a set, at a fifth of the time, if it holds no ``C++``."""
    return _signs(joined=_JOINED.search(text) is not None)


@cache
def _signs(*, joined: bool) -> re.Pattern[str]:
    """Compiled on first use, for it takes 3 ms and a question in plain words needs none."""
    several = rf"|(?:(?<![^\W_])|(?<=[{_UNSPACED}{_SYMBOLS}]))[^\W_]++[+#]+(?![^\W_])"
    return re.compile(rf"[{_UNSPACED}{_SYMBOLS}]{several if joined else ''}")


@cache
def _candidate() -> re.Pattern[str]:
    """What a text with signs holds before it is normalised: a set of signs first, so that a look passes over all others
    at once, at a fifth of the time.
    """
    return re.compile(rf"[{_UNSPACED}{_SYMBOLS}+#](?:(?<![+#])|(?<=[^\W_].))")


@cache
def _word_or_run() -> re.Pattern[str]:
    """Compiled on first use, for it takes 6 ms."""
    return re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+[+#]*")


def words_and_runs(text: str) -> list[str]:
    """Words with the signs that belong to them (``c++``), and runs of scripts that are written without blanks."""
    return (_word_or_run() if any(map(is_unspaced, text)) else _WORD).findall(text)


def is_unspaced(sign: str) -> bool:
    """Whether a sign is of a script that is written without blanks."""
    return sign >= _UNSPACED[0] and any(low <= sign <= high for low, high in _STRETCHES)


@cache
def _runs() -> re.Pattern[str]:
    """A run of a script that is written without blanks."""
    return re.compile(f"[{_UNSPACED}]+")


def _is_plain(text: str) -> bool:
    """Whether a text can hold no sign, at a glance."""
    return text.isascii() and "+" not in text and "#" not in text


def clean(text: str) -> str:
    """The text without what SQLite can't hold in a string: NUL and lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def quoted(text: str) -> str:
    """The text as one FTS5 string; a phrase if the tokenizer splits it."""
    return _string(worded(clean(text[:MAX_TERM]), " "))


def _string(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def worded(text: str, gap: str = f" {GAP} ") -> str:
    """What the tokenizer of words is given of a text: :func:`plainer`, and every run of a script without blanks as one
    and the same token, so that the text stays as long as it is; a query has blanks for a ``gap``.
    """
    return text if text.isascii() else _runs().sub(gap, plainer(text))


def has_words(text: str) -> bool:
    """Whether the tokenizer of words finds anything in the text."""
    return _TOKEN.search(worded(text, " ")) is not None


def signs(text: str) -> str:
    """The signs of a text, parted by blanks, those that don't touch parted by a token of their own; mostly empty."""
    if _is_plain(text) or not (_JOINED.search(text) if text.isascii() else _candidate().search(text)):
        return ""
    found: list[str] = []
    end = -1
    text = unicodedata.normalize("NFKC", text)
    for match in _sign(text).finditer(text):
        if found and match.start() != end and _GAP.search(text, end, match.start()):
            found.append(GAP)
        found.append(_ENDS.sub(r" \1", match[0]) if match[0][-1] in "+#" else match[0])
        end = match.end()
    return " ".join(found)


def expression(texts: Sequence[str], *, prefixes: Iterable[str] = (), negations: Iterable[str] = ()) -> str:
    """The FTS5 query that finds any of the texts or prefixes and none of the negations.

    Args:
        texts: words or phrases; one that the tokenizer splits (``a-b``, ``10.0.0.1``) is a phrase.
        prefixes: the beginnings of words.
        negations: words or phrases that must not occur.

    Returns:
        The query, "" if nothing positive is left to look for.
    """
    terms = dict.fromkeys(quoted(text) for text in texts if has_words(text))
    terms |= dict.fromkeys(f"{quoted(prefix)} *" for prefix in prefixes if has_words(prefix))
    if not terms:
        return ""
    positive = " OR ".join(list(terms)[:MAX_TERMS])
    without = list(dict.fromkeys(quoted(text) for text in negations if has_words(text)))[:MAX_TERMS]
    return f"({positive}) NOT ({' OR '.join(without)})" if without else positive


def sign_expression(text: str) -> str:
    """The FTS5 query over signs for one string; "" if it has none."""
    found = [part.strip() for part in signs(text[:MAX_TERM]).split(GAP)]
    return " AND ".join(_string(clean(part)) for part in found if part)


def word_part(text: str) -> str:
    """What of a string is left for the words' tokenizer once its signs are taken out."""
    rest = text[:MAX_TERM]
    if not _is_plain(rest):
        rest = unicodedata.normalize("NFKC", rest)
        rest = _sign(rest).sub(" ", rest)
    return " ".join(rest.split()) if has_words(rest) else ""


def fold_signs(text: str) -> str:
    """The text for comparing as FTS5 does: no case, no diacritics."""
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKD", text).casefold()
    return unicodedata.normalize("NFKC", folded.translate(_MARKS))


def matching(table: str, expression: str) -> tuple[str, list[str]]:
    """SQL for the numbers of the rows that an expression finds in a full-text table, and its question marks' values."""
    return f"SELECT rowid FROM {table} WHERE {table} MATCH ?", [expression]
