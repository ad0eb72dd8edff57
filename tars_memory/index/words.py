"""Words as FTS5's ``unicode61 remove_diacritics 2`` cuts and folds them, and the words that say nothing.

FTS5 takes marks from Latin letters alone. People leave out others, too (``елка`` for ``ёлка``, ``ΨΩΜΙ`` for ``ψωμί``,
``Strasse`` for ``Straße``), so what FTS5 is given is made :func:`plainer` first, in the index and in queries.

Both sides of the index keep to this one definition: which words get a vector of their own when a note is embedded,
and which words of a query are looked for.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

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
