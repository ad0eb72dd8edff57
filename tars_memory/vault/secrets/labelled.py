"""Credentials without a shape of their own: a value is one because of the word that stands before it.

``password: hunter22``, ``the wifi password at home is Sunflower42``, ``api_key = "…"``, ``Authorization: Bearer …``,
``PIN: 4821``. The words are found by plain substring searches and looked at where they stand, a bounded stretch each,
so that time is linear in the text.
"""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from tars_memory.vault.secrets import credentials as table

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK = 512
"""Characters of a value that are read at first; one that is a credential is taken to its end."""
_JUDGED = 128
"""Characters by which it is told what a value is."""

_EQUALS = r"(?::=|=>|->|→|::?|==?|：|＝|>|,[ \t]{0,2}[\"']value[\"'][ \t]{0,2}:)"
_IS = r"(?:is|was|are|ist|war|lautet|est|es|é|era|är|jest|=|—|–)"
_GLUED = r"(?:は|是|为|為|는|은)[ \t]{0,3}[「『“\"]?"
"""What leads on without a blank; the sentence may go on behind the value without one, too."""
_TAIL = r"[A-Za-z0-9_-]{0,30}+[\"'`*_\])]{0,3}+"
_BETWEEN = r"(?:[ \t][^\r\n:=.!?;,|]{0,40}?)?"
_SCHEME = r"(?:(?:Basic|Bearer|Token|ApiKey|Digest|Negotiate|Key)[ \t]+)?"

_LABEL = (
    _TAIL + "(?:[ \t]{0,3}+(?P<equals>" + _EQUALS + r")[\"'`*_]{0,3}[ \t]{0,8}(?:\r?\n[ \t>-]{0,8})?"
    "|(?P<between>" + _BETWEEN + ")[ \t]{1,3}(?:(?P<is>" + _IS + r")|(?P<later>" + _EQUALS + "))[\"'`*_]{0,3}[ \t]{1,3}"
    "|(?P<between2>" + _BETWEEN + ")(?P<later2>" + _EQUALS + ")[ \t]{1,3}"
    "|(?P<glued>" + _GLUED + r")|(?P<blank>[ \t]{1,3}))"
)
"""After a word: what else names it, and how it leads on to its value."""

_VALUE = (
    r"(?i:" + _SCHEME + ")"
    r"(?:\"(?P<double>[^\"\r\n]{1,512})\"|'(?P<single>[^'\r\n]{1,512})'|`(?P<code>[^`\r\n]{1,512})`"
    rf"|[*_]{{0,2}}(?P<plain>[^\s\"'`<>|]{{1,{_LOOK}}}))"
)

_PLACEHOLDER = (
    r"(?i)x+|\*+|\.+|…+|•+|-+|_+|<.*>?|\$.*|\{.*|%\w+%|\[.*|\(.*|@.*|#.*|your.*|my[_-]?\w*|.*-here|.*_here|n/?a|"
    r"(?:ex|s)ample\S{0,12}|dummy|placeholder|change_?me|redacted|masked|hidden|none|null|nil|undefined|true|false|todo|tbd|"
    r"unknown|string|required|optional|enabled|disabled|passwor[dt]s?|passwd|pass|secrets?|tokens?|keys?|test(?:ing)?|default|"
    r"text|input|hunter2?\*+|\\\w+|process\..*|os\..*|env\..*|self\..*|this\..*|config\..*|settings\..*"
)

_KNOWN = (
    r"(?i)[a-z][a-z0-9+.-]{1,30}://.*|www\..*|mailto:.*|[\w.+-]+@[\w-]+\.[\w.-]+|~?\.{0,2}/[a-z_./-]*|[a-z]:\\.*|"
    r"v?\d+(?:[.,:/-]\d+)+[a-z%]{0,6}|\d{4}-\d\d-\d\d\S*|\d+(?:st|nd|rd|th|[a-z%€$£°]{1,4})?|\d+-[a-z]+(?:-[a-z]+)*|"
    r"[a-z_][a-z0-9_.]*\(.*|.*\]\(.*|sha\d*[:=].*|md5[:=].*|ssh-\w+|ecdsa-\S+|(?:2|3)fa|1password\W*|utf-?\d+|base64\S{0,4}|"
    r"[\w./-]+\.(?:md|txt|py|js|ts|json|ya?ml|toml|pem|key|crt|cer|pub|env|html?|go|rs|java|rb|php|sh|gpg|asc|p12|kdbx|pdf|png|jpe?g)"
)

Found = tuple[int, int, str]


def values(text: str) -> Iterator[Found]:
    """Start, end and kind of each value; they may overlap."""
    low = _lowered(text)
    yield from _after_words(text, low)
    yield from _numbers(text, low)
    yield from _phrases(text, low)
    if len(text) >= 24:
        yield from _of_providers(text, low)


def _lowered(text: str) -> str:
    """In lower case, with every character at its place (``İ`` becomes two in Python)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _after_words(text: str, low: str) -> Iterator[Found]:
    for rank, words in _words():
        for word in words:
            at = low.find(word)
            while at >= 0:
                found = None
                if _stands(low, at, word):
                    kind = _kind(rank, word)
                    found = _labelled(text, low, at, at + len(word), _rank(rank, low, at), kind)
                if found:
                    yield found
                at = low.find(word, max(found[1] if found else 0, at + 1))


@cache
def _words() -> tuple[tuple[str, tuple[str, ...]], ...]:
    medium = tuple(word for group in table.MEDIUM for word in group.split("|"))
    return ("strong", (*table.STRONG.split(), *table.SPOKEN)), ("medium", medium), ("weak", ("key",))


def _kind(rank: str, word: str) -> str:
    if rank == "strong":
        return "authorization" if word == "authorization" else "password"
    if word in ("token", "secret", "bearer"):
        return "token" if word == "bearer" else word
    return "key" if "key" in word or rank == "weak" else "credential"


def _stands(low: str, at: int, word: str) -> bool:
    """Whether the word stands there: the short ones by themselves, none as the name of something public."""
    before = low[max(0, at - 12) : at]
    if re.search(r"(?:pub|public|publishable|foreign|primary)[ _-]?$", before):
        return False
    if word in table.SPOKEN or word in ("auth", "clave", "clé", "chave", "chiave", "sleutel"):
        after = low[at + len(word) : at + len(word) + 1]
        return not before[-1:].isalnum() and not (after.isalpha())
    return True


def _rank(rank: str, low: str, at: int) -> str:
    if rank == "weak" and re.search(r"(?:" + table.KEY_OF + r")[ _-]?$", low[max(0, at - 14) : at]):
        return "medium"
    return rank


def _labelled(text: str, low: str, start: int, end: int, rank: str, kind: str) -> Found | None:
    """The value that a word names, or None."""
    if low.startswith("(masked ", max(0, low.rfind("(", max(0, start - 40), start))) and ")" in low[end : end + 12]:
        return None
    label = _pattern(_LABEL).match(text, end)
    value = label and _pattern(_VALUE).match(text, label.end())
    if label and value:
        way = next((name for name in ("blank", "equals", "glued") if label[name]), "words")
        if way == "blank" and text[max(0, start - 40) : start].rpartition(" ")[2].startswith("--"):
            way = "words"
        by_itself = way == "blank" and low[start:end] in table.SPOKEN
        span = None if by_itself else _judged(text, value, rank, way)
        if span:
            return (*span, kind)
    return _near(text, end, kind) if rank != "weak" else None


def _judged(text: str, value: re.Match[str], rank: str, way: str) -> tuple[int, int] | None:
    """Where the value stands, if what it looks like makes it a credential beside a word of this rank."""
    group = next(name for name in ("double", "single", "code", "plain") if value[name] is not None)
    start, words = value.start(group), value[group]
    cut = len(words) == _LOOK
    if group == "plain":
        if text[value.start() - 1] == "=":  # of a connection string or an address, up to the next part
            words = re.split(r"[;&]", words, maxsplit=1)[0]
        if way == "glued":
            words, way = _pattern(r"[!-~]*").match(words)[0], "words"  # type: ignore[index]  # it matches nothing, too
        words = words.rstrip(".,;:)]}>*_…")
    looked = words[:_JUDGED]
    if not words or re.fullmatch(_PLACEHOLDER, looked) or re.fullmatch(_KNOWN, looked):
        return None
    if not _ACCEPT[rank](looked, way, group in ("double", "single")):
        return None
    end = start + len(words)
    rest = _pattern(r"[^\s\"'`<>|;&]*").match(text, end) if cut else None
    return start, rest.end() if rest else end


def _strong(words: str, way: str, quoted: bool) -> bool:
    """Whether what a word for a password names is one."""
    lower, upper, digit, symbol = _classes(words)
    if quoted and way == "equals" and " " not in words:
        return (
            len(words) >= 4
            and (digit or symbol or not words.istitle())
            and not re.fullmatch(r"[a-z]+(?:[ _-][a-z]+)+", words)
        )
    if quoted and " " in words:
        return way == "equals" and digit and len(words) >= 8
    if re.fullmatch(r"\d+", words):
        return way != "blank" and 4 <= len(words) <= 64
    if _wordy(words):
        return way == "equals" and ((len(words) >= 16 and words.isalpha()) or _diceware(words))
    mixed = (lower or upper) and (digit or symbol)
    if way == "equals":
        return (mixed and len(words) >= 5) or (lower and upper and len(words) >= 8 and not _joined(words))
    if way == "words":
        return (mixed and len(words) >= 6 and (digit or upper)) or _jumbled(words)
    return (len(words) >= 8 and digit and (upper or symbol) and (lower or upper)) or _random(words, 12)


def _medium(words: str, way: str, _: bool) -> bool:
    """Whether what a word for a key names looks made by a machine."""
    if way == "equals":
        digits = sum(map(str.isdigit, words))
        if _wordy(words) or _dotted(words):
            return False
        return (len(words) >= 8 and digits >= 2 and digits < len(words)) or _random(words, 16)
    return _random(words, 12 if way == "words" else 16)


def _weak(words: str, way: str, _: bool) -> bool:
    hexed = re.fullmatch(r"[0-9a-fA-F-]+", words)
    return way == "equals" and not hexed and all(_classes(words)[:3]) and _random(words, 24)


_ACCEPT = {"strong": _strong, "medium": _medium, "weak": _weak}


def _near(text: str, end: int, kind: str) -> Found | None:
    """A long random value a few words after a word for a key, whatever stands between."""
    for match in _pattern(r"(?<![\w/.:-])[A-Za-z0-9+/=_-]{20,200}(?![\w/.:-])").finditer(text, end, end + 260):
        gap = text[end : match.start()]
        if len(gap) > 48 or "\n" in gap or "\r" in gap:
            return None
        if all(_classes(match[0])[:3]) and _random(match[0], 20) and "(masked" not in gap:
            return (*match.span(), kind)
    return None


def _classes(words: str) -> tuple[bool, bool, bool, bool]:
    """Whether there are lower case letters, upper case letters, digits, and signs that words don't hold."""
    return (
        any(map(str.islower, words)),
        any(map(str.isupper, words)),
        any(map(str.isdigit, words)),
        any(not sign.isalnum() and sign not in "-_.'’/," for sign in words),
    )


def _wordy(words: str) -> bool:
    """Whether it is made of plain words, as ``case-sensitive`` or ``Tresor``."""
    return (
        re.fullmatch(r"[^\W\d_]?[^\W\d_A-Z]*(?:[-_./'’,][^\W\d_]?[^\W\d_A-Z]*)*|[A-Z]+(?:[-_./][A-Z]+)*", words)
        is not None
    )


def _dotted(words: str) -> bool:
    """Whether it is a name in a program: ``my_key_2``, ``config.token2``."""
    return re.fullmatch(r"[A-Za-z]+\d{0,2}(?:[-_./][A-Za-z]*\d{0,2})+", words) is not None


def _joined(words: str) -> bool:
    """Whether it is words written together, as programs do: ``OAuth2CacheAdapter``."""
    return 10 * sum(map(len, re.findall(r"[A-Z]?[a-z]{3,}", words))) > 7 * len(words)


def _jumbled(words: str) -> bool:
    """Whether letters change their case as no word or name does: ``YjYqdEkW``, but not ``KeePassXC``."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(words))
    return len(words) >= 8 and words.isalpha() and turns >= 5 and not _joined(words)


def _diceware(words: str) -> bool:
    return re.fullmatch(r"[a-z]{3,9}(?:([-_.])[a-z]{3,9})(?:\1[a-z]{3,9}){2,}", words) is not None


def _random(words: str, least: int) -> bool:
    """Whether it looks made by a machine: long enough, letters with digits, and many different signs."""
    if len(words) < least or _dotted(words) or _joined(words):
        return False
    digits = sum(map(str.isdigit, words))
    if digits < 2:
        words = words.rstrip("=")  # the end of base64
        turns = sum(a.islower() != b.islower() for a, b in pairwise(words))
        return len(words) >= 20 and words.isalnum() and turns >= 6 and _entropy(words) >= 3.5
    return digits < len(words) and _entropy(words) >= 2.8


def _entropy(words: str) -> float:
    """Shannon's, in bits for each character."""
    total = len(words)
    return -sum(n / total * math.log2(n / total) for n in map(words.count, set(words)))


def _numbers(text: str, low: str) -> Iterator[Found]:
    if sum(map(text.count, "0123456789")) >= 15:
        for match in _pattern(_CARD).finditer(text):
            digits = re.sub(r"\D", "", match[0])
            if len(digits) == (15 if digits[0] == "3" and digits[1] in "47" else 16) and _luhn(digits):
                yield (*match.span(), "card number")
    if any(word in low for word in ("pin", "cvv", "cvc")):
        for match in _pattern(_PIN).finditer(text):
            yield (*match.span(1), "pin")


_CARD = (
    r"(?<![\w.+-])(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|3[47]\d\d|35\d\d|6(?:011|5\d\d))"
    r"([ -]?)(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{5})(?![\w-])"
)
_PIN = (
    r"(?i)(?<![A-Za-z])(?:PIN|CVV2?|CVC2?)(?:[ -]?(?:code|number|nummer|kode))?[\"'`*]{0,2}"
    r"(?:[ \t]+(?:of|for|für|vom|von|del|de|du)[ \t][^\r\n:=.]{1,30}?)?[ \t]*(?::|=|[ \t](?:is|ist|lautet|est|es))"
    r"[\"'`*]{0,2}[ \t]*[\"'`*]{0,2}(\d{3,8})(?![\w.-])"
)


def _luhn(digits: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812)."""
    odd = sum(map(int, digits[-1::-2]))
    return (odd + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


def _phrases(text: str, low: str) -> Iterator[Found]:
    if any(word in low for word in ("phrase", "mnemonic", "seed words")):
        pattern = (
            r"(?i)(?:seed|recovery|secret|backup|mnemonic)(?:[ -]?(?:phrase|words))?[\"'`*]{0,2}[ \t]*(?::|=|is)"
            r"[\"'`*]{0,2}\s*"
            r"[\"'`]?((?:[a-z]{3,8}[ \t,]{1,2}){11,23}[a-z]{3,8})"
        )
        for match in _pattern(pattern).finditer(text):
            yield (*match.span(1), "seed phrase")


_OF_PROVIDER = (
    r"(?P<what>[A-Za-z0-9_ .-]{0,40}?)[\"'`*]{0,3}[ \t]{0,2}[:=][\"'`*]{0,3}[ \t]{0,2}[\"'`]?"
    r"(?P<value>[A-Za-z0-9_=+/-]{24,200})(?![\w/.-])"
)


def _of_providers(text: str, low: str) -> Iterator[Found]:
    for name in table.PROVIDERS.split():
        at = low.find(name)
        while at >= 0:
            match = _pattern(_OF_PROVIDER).match(text, at + len(name))
            if match and _random(match["value"], 24) and not re.search(r"(?i)commit|hash|sha|id$", match["what"]):
                yield (*match.span("value"), f"{name} key")
            at = low.find(name, match.end() if match else at + 1)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
