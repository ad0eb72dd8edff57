"""Credentials without a shape of their own: a value is one because of the word that stands before it.

``password: hunter22``, ``the wifi password at home is Sunflower42``, ``api_key = "…"``, ``Authorization: Bearer …``,
``PIN: 4821``. The words are found by plain substring searches and looked at where they stand, a bounded stretch each,
so that time is linear in the text.
"""

from __future__ import annotations

import math
import re
from functools import cache
from hashlib import sha512
from hmac import digest
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tars_memory.disk import sha256
from tars_memory.vault import secrets as table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_LOOK = 256
"""Characters of a value that are read at first; one that is a credential is taken to its end."""
_JUDGED = 128
"""Characters by which it is told what a value is."""
_FAR = 200
"""Characters after a word within which its value begins."""

_EQUALS = r"(?::=|=>|->|→|::?|==?|：|＝|>|,[ \t]{0,2}[\"']value[\"'][ \t]{0,2}:)"
_IS = (
    r"(?:is|was|are|to|ist|war|lautet|sind|est|était|sont|es|era|son|è|é|sono|são|luidt|är|jest|je|este|adalah|là|هي|هو"
    r"|=|—|–)"
)
_GLUED = r"(?:は|是|为|為|는|은)[ \t]{0,3}"
"""What leads on without a blank; the sentence may go on behind the value without one, too."""
_TAIL = r"[A-Za-z0-9_-]{0,30}+[\\\"'`*_\])]{0,3}+"
_BETWEEN = r"(?:[ \t][^\r\n:=.!?;,|]{0,40}?)?"
_OTHER = (
    r"(?:old|new|other|second|first|alte?[rs]?|neue?[rs]?|andere?[rs]?|anciene?|ancienne?|nouveau|nouvelle|autre|antigu[oa]|"
    r"viej[oa]|nuev[oa]|otr[oa]|vecchi[oa]|nuov[oa]|altr[oa]|antig[oa]|nov[oa]|outr[oa]|oude?|nieuwe?)"
)
_BEFORE = rf"(?:(?:Basic|Bearer|Token|ApiKey|Digest|Negotiate|Key)[ \t]+|{_OTHER}[ \t]{{0,2}}[:=]?[ \t]+)?"
"""What may stand between a colon and the value: the scheme of a header, or which of two it is."""

_LABEL = (
    _TAIL + "(?:[ \t]{0,3}+(?P<equals>" + _EQUALS + r")(?:[\"'`*_]{1,3}(?=[ \t]))?[\"'`*_]{0,3}?[ \t]{0,8}"
    r"(?:[|>][+-]?[ \t]{0,3}(?=\r?\n))?(?:\r?\n[ \t>*+-]{0,8})?"
    r"(?:[\[(][ \t]{0,3}(?:\r?\n[ \t>]{0,16})?(?=[\"']))?"  # the first of a list
    "|(?P<between>"
    + _BETWEEN
    + ")[ \t]{1,3}(?:(?P<is>"
    + _IS
    + r")|(?P<later>"
    + _EQUALS
    + "))[\"'`*_]{0,3}?[ \t]{1,3}"
    "|(?P<between2>" + _BETWEEN + ")(?P<later2>" + _EQUALS + ")[ \t]{1,3}"
    r"|(?P<between3>[ \t][\w'’ -]{0,40}?)(?P<later3>[:=])"
    "|(?P<glued>" + _GLUED + r")|(?P<cell>[ \t]{0,3}\|[ \t]{0,8})|(?P<blank>[ \t]{1,3}))"
    rf"(?i:{_BEFORE})[*_]{{0,2}}(?P<quote>\\{{0,2}}[\"'`“„«「『‘](?!\s))?[*_]{{0,2}}"
)
"""After a word: what else names it, how it leads on to its value, and what opens this."""

_CLOSING = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}

_CLOSED = r"[.,;:)\]}>|!?*_]{0,8}(?:\s|$)|[)\]}]{0,8}[,:][)\]}]{0,8}\\?[\"'\[{]"
"""What follows a quote that closes."""
_CUT = (
    r"(?P<cjk>[。，、；！？）」』】》〉])"
    # what it stands in is closed, or goes on with a quote
    rf"|\\{{0,2}}[\"'`”»’](?={_CLOSED})"
    r"|<(?=/[A-Za-z][\w-]*>|br ?/?>)"
)
"""Where the run of signs that a value begins is another's: behind a full stop of Chinese, a quote, before a tag."""

_INTERESTING = r"[0-9!#-&*+:;=>?@\\^|~\"'`]|[a-z][A-Z]|[A-Z]{2}|[→：＝—–«「『“„]"
"""One of these is in every value, or between it and its word: what has none of them need not be looked at."""

_PLACEHOLDER = (
    r"(?i)x+|\*+|\.+|…+|•+|-+|_+|<.*>?|\$[\w.{}()\[\]:/-]*|\{.*|%\w+%|\[.*|\([^()]*\)?|@[\w./-]*|#[\w/-]*|your.*|my[_-]?\w*|.*-here|.*_here|n/?a|"
    r"(?:ex|s)ample\S{0,12}|dummy|placeholder|change_?me|redacted|masked|hidden|none|null|nil|undefined|true|false|todo|tbd|"
    r"unknown|string|required|optional|enabled|disabled|passwor[dt]s?|passwd|pass|secrets?|tokens?|keys?|test(?:ing)?|default|"
    r"text|input|hunter2?\*+|\\\w+|process\..*|os\..*|env\..*|self\..*|this\..*|config\..*|settings\..*"
)

_KNOWN = (
    r"(?i)[a-z][a-z0-9+.-]{1,30}://.*|www\..*|mailto:.*|[\w.+-]+@[\w-]+\.[\w.-]+|~?\.{0,2}/[a-z_./-]*|[a-z]:\\.*|"
    r"v?\d+(?:[.,:/-]\d+)+[a-z%]{0,6}|\d{4}-\d\d-\d\d\S*|\d+(?:st|nd|rd|th|[a-z%€$£°]{1,4})?|\d+-[a-z]+(?:-[a-z]+)*|"
    r"[a-z_][a-z0-9_.]*\(.*|.*\]\(.*|sha\d*[:=].*|md5[:=].*|ssh-\w+|ecdsa-\S+|(?:2|3)fa|1password\W*|utf-?\d+|base64\S{0,4}|"
    r"[\w./-]+\.(?:md|txt|py|js|ts|json|ya?ml|toml|pem|key|crt|cer|pub|env|html?|go|rs|java|rb|php|sh|gpg|asc|p12|kdbx|pdf|png|jpe?g)(?::\d\S*)?|"
    r"\^[a-z0-9-]+|//.*"
)

Found = tuple[int, int, str]


def values(text: str) -> Iterator[Found]:
    """Start, end and kind of each value; they may overlap."""
    low = _lowered(text)
    yield from _codes(text, low)
    named = list(_after_words(text, low))
    yield from named
    yield from _others(text, [one for one in named if one[2] == "password"])
    yield from _items(text, named)
    if "\n" in text:
        yield from _lists(text, low)
        if any(word in low for word in _words()[0][1]):
            yield from _columns(text)
    yield from _numbers(text, low)
    yield from _phrases(low)
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
            value = -1
            while at >= 0:
                found, end = None, at + len(word)
                if value < end:
                    near = _pattern(_INTERESTING).search(text, end)
                    if near is None:
                        break
                    value = near.start()
                if value - end < _FAR and _stands(low, at, end, word):
                    found = _labelled(text, low, at, end, _rank(rank, low, at), _kind(rank, word))
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


_PUBLIC = ("pub", "public", "publishable", "foreign", "primary")


def _stands(low: str, at: int, end: int, word: str) -> bool:
    """Whether the word stands there: the short ones by themselves, none as the name of something public, none as part
    of an address, unless it is a parameter in one.
    """
    before = low[max(0, at - 12) : at]
    if before.rstrip(" _-").endswith(_PUBLIC):
        return False
    if word in table.SPOKEN or word in ("auth", "clave", "clé", "chave", "chiave", "sleutel"):
        after = low[end : end + 1]
        if before[-1:].isalnum() or after.isalpha() or (before[-1:] == "." and low[at - 2 : at - 1].isalnum()):
            return False
    return True


def _rank(rank: str, low: str, at: int) -> str:
    return "medium" if rank == "weak" and low[max(0, at - 14) : at].rstrip(" _-").endswith(_key_of()) else rank


@cache
def _key_of() -> tuple[str, ...]:
    return tuple(table.KEY_OF.split("|"))


def _labelled(text: str, low: str, start: int, end: int, rank: str, kind: str) -> Found | None:
    """The value that a word names, or None."""
    if low.startswith("(masked ", max(0, low.rfind("(", max(0, start - 40), start))) and ")" in low[end : end + 12]:
        return None
    label = _pattern(_LABEL).match(text, end)
    if label:
        way = next((name for name in ("blank", "equals", "glued") if label[name]), "words")
        if way == "blank" and text[max(0, start - 40) : start].rpartition(" ")[2].startswith("--"):
            way = "words"
        by_itself = way == "blank" and low[start:end] in table.SPOKEN and low[start:end] not in ("pw", "psk")
        span = None if by_itself else _judged(text, label, start, rank, way)
        if span:
            return (*span, kind)
    return _near(text, end, kind) if rank != "weak" else None


def _judged(text: str, label: re.Match[str], word: int, rank: str, way: str) -> tuple[int, int] | None:
    """Where the value stands, if what it looks like makes it a credential beside a word of this rank."""
    start, quote = label.end(), label["quote"]
    end, whole = _extent(text, start, quote, word, glued=way == "glued")
    looked = text[start : min(end, start + _JUDGED)]
    if not looked or re.fullmatch(_PLACEHOLDER, looked) or re.fullmatch(_KNOWN, looked):
        return None
    quoted = whole and quote[-1] in "\"'" if quote else False
    if label["cell"] and _joined(looked) and not re.fullmatch(r"[A-Za-z]+\d{2,}\W?", looked):
        return None
    if not _ACCEPT[rank](looked, "words" if way == "glued" else way, quoted):
        return None
    if end - start == _LOOK and not whole:
        end = _pattern(r"\S*").match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
    return start, _continued(text, start, end)


def _extent(
    text: str, start: int, quote: str | None = None, word: int = 0, *, glued: bool = False, last: int | None = None
) -> tuple[int, bool]:
    """Where a value ends, and whether a quote said so. It is the one judge of that for all values that a word names.

    To the closing quote; without one to the next blank, unless the syntax that it stands in ends it before. If in doubt
    it goes further: what is announced as masked leaves nothing behind.

    Args:
        text: that holds it.
        start: its first character, behind the quote.
        quote: that opens it, with its backslashes.
        word: where the word that names it begins.
        glued: a sentence of a script without blanks goes on behind it.
        last: where it ends at the latest.
    """
    if quote:
        sign = re.escape(_CLOSING.get(quote[-1], quote[-1]))
        if len(quote) == 1:  # a sign like it in the middle of the value closes nothing
            more = rf"(?:{sign}(?!{_CLOSED})(?:[^{sign}\\\s]|\\.){{0,128}}){{0,4}}"
            inner = rf"(?>(?:[^{sign}\\\r\n]|\\.){{1,4096}})(?>{more})"
        else:
            inner = r"[^\"'`\\\r\n]{1,4096}+"
        closed = _pattern(rf"{inner}(?={re.escape(quote[:-1])}{sign})").match(text, start)
        if closed:
            return closed.end(), True
    run = _run(text, start, r"[!-~]*" if glued else r"\S*", last or len(text))
    cuts = [_pattern(_CUT).search(run), ";" in run and _pattern(_PART).search(text, start, start + len(run) + 48)]
    if (
        word and "&" in run and _pattern(r"[?&][\w.\[\]%-]{0,40}$").search(text, max(0, word - 42), word)
    ):  # a parameter of an address
        cuts.append(_pattern(r"&(?:amp;)?(?=[\w.\[\]%~-]{1,64}=)").search(run))
    if "|" in run and text[text.rfind("\n", max(0, start - 1000), start) + 1 : start].lstrip().startswith("|"):
        cuts.append(_pattern(r"\|").search(run))
    ends = [cut.start() - (start if cut.string is text else 0) for cut in cuts if cut]
    run = run[: min([len(run), *ends])]
    if len(run) < _LOOK:
        for _ in range(3):
            if run[-1:] in (")", "]", "}") and run.count("([{"[")]}".index(run[-1])]) >= run.count(run[-1]):
                break
            if run[-1:] in ("*", "_") and run[-2:] not in ("**", "__") and text[start - 1] != run[-1]:
                break
            run = run[:-1] if run[-1:] in _END else run
    return start + len(run), False


_PART = r";(?=[ \t]?[A-Za-z][\w .-]{0,40}=)"
"""Where the next part of a connection string begins."""
_END = tuple(".,;:)]}>*_…|\"'`”»’")
"""What ends a sentence or closes a bracket; no more than three of them are taken for that."""


def _run(text: str, start: int, signs: str, last: int) -> str:
    found = _pattern(signs).match(text, start, min(last, start + _LOOK))
    return found[0] if found else ""


def _continued(text: str, start: int, end: int) -> int:
    """Where a value ends that is broken over two lines: the rest has a line of its own, and looks made by a machine."""
    if end - start < 16:
        return end
    match = _pattern(r"[ \t]?\\?\r?\n[ \t>]{0,8}([A-Za-z0-9+/=_.~-]{6,})(?=[ \t\"'`]{0,3}(?:[\r\n]|$))").match(
        text, end
    )
    if (
        match
        and not _wordy(match[1])
        and not re.fullmatch(_KNOWN, match[1][:_JUDGED])
        and _random(match[1][:_JUDGED], 6)
    ):
        return match.end(1)
    return end


def _others(text: str, found: list[Found]) -> Iterator[Found]:
    """Further passwords in the lines in which one was found: ``and the other one is …``, ``old: … new: …``."""
    spans = sorted((start, end) for start, end, _ in found)
    for (_, before), (start, end), (after, _) in zip(
        [(0, 0), *spans], spans, [*spans[1:], (len(text), 0)], strict=False
    ):
        first = max(before, start - _LINE, text.rfind("\n", max(before, start - _LINE), start) + 1)
        yield from _in_line(text, first, start)
        last = text.find("\n", end, min(after, end + _LINE))
        yield from _in_line(text, end, last if last >= 0 else min(after, end + _LINE))


def _items(text: str, found: list[Found]) -> Iterator[Found]:
    """Further values of a list of which a word names the first: ``secrets: ["…", "…"]``, or a bullet each."""
    for start, end, kind in found:
        before = text[max(0, start - _BEFORE_FIRST) : start]
        if _pattern(r"[\[(][ \t\r\n]{0,20}[\"'`]?$").search(before):
            between = r"[\"'`]?[ \t\r\n]{0,20},[ \t\r\n>]{0,20}(?P<quote>[\"'`]?)"
        elif _pattern(r"\n[ \t>]{0,16}[-*+][ \t]{1,4}[\"'`]?$").search(before):
            between = r"[\"'`]?[ \t]{0,8}\r?\n[ \t>]{0,16}[-*+][ \t]{1,4}(?P<quote>[\"'`]?)"
        else:
            continue
        accept = _strong if kind == "password" else _medium
        while gap := _pattern(between).match(text, end):
            sign = gap["quote"]
            signs = rf"[^{sign}\\\r\n]" if sign else r"[^\s,\[\](){}\"'`\\]"
            value = _pattern(rf"(?:{signs}|\\.){{1,4096}}").match(text, gap.end())
            if not value:
                break
            looked, end = value[0][:_JUDGED], value.end()
            plain = " " in looked or re.fullmatch(_PLACEHOLDER, looked) or re.fullmatch(_KNOWN, looked)
            if not plain and accept(looked, "equals", False):
                yield value.start(), end, kind


_BEFORE_FIRST = 40
"""Characters before the first value of a list within which the list begins."""


def _lists(text: str, low: str) -> Iterator[Found]:
    """Passwords in the bullets below a line that says that they are some."""
    if not any(word in low for word in table.PASSWORDS.split("|")):
        return
    done = 0
    for label in _pattern(rf"(?:{table.PASSWORDS})\b[^\n:]{{0,60}}:?[ \t*_\r]{{0,8}}\n(?:[ \t\r]{{0,8}}\n)?").finditer(
        low
    ):
        item = _pattern(_ITEM).match(text, label.end()) if label.end() >= done else None
        while item:
            yield from (one for one in _in_line(text, *item.span(1)) if not re.fullmatch(_NAMED, text[one[0] : one[1]]))
            done = item.end()
            item = _pattern(_ITEM).match(text, done)


_ITEM = r"[ \t>]{0,16}(?:[-*+](?: \[.\])?|\d{1,3}[.)])[ \t]{1,4}([^\n]{0,300})[^\n]*(?:\n|$)"


_NAMED = r"[A-Z]{2,}[-.]?\d[\w.]*"
"""Names of standards and models, as ``RFC2898``: beside no word of their own they are not passwords."""


def _columns(text: str) -> Iterator[Found]:
    """Passwords below a cell that says so, in a table of markdown or as programs export it."""
    column, wide, sign = -1, 0, ""
    at = 0
    for row in text.split("\n"):
        start, at = at, at + len(row) + 1
        cells = [*_pattern(_CELLS[sign]).finditer(text, start, at - 1)] if sign and sign in row else []
        if not cells or abs(len(cells) - wide) > 1 or column >= len(cells):
            column, wide, sign = _head(row)
            continue
        value = cells[column][0].removesuffix(sign).strip(" \t\r\"'`*")
        first = cells[column].start() + cells[column][0].find(value)
        looked = value[:_JUDGED]
        known = any(re.fullmatch(one, looked) for one in (_PLACEHOLDER, _KNOWN, _NAMED))
        if value and " " not in value and not known and _strong(looked, "equals", quoted=False):
            yield first, first + len(value), "password"


def _head(row: str) -> tuple[int, int, str]:
    """Which cell of a row says "password", how many it has, what parts them; no sign if it is not a head of a table."""
    low = row.lower()
    sign = next((one for one in _CELLS if one in low), "")
    if not sign or len(row) > 1000 or not _pattern(_HEAD).search(low):
        return -1, 0, ""
    cells = [cell[0].removesuffix(sign).strip(" \t\r\"'*_`") for cell in _pattern(_CELLS[sign]).finditer(low)]
    column = next((number for number, name in enumerate(cells) if _pattern(_HEAD).fullmatch(name)), -1)
    return (column, len(cells), sign) if column >= 0 and len(cells) > 1 else (-1, 0, "")


_CELLS = {
    "|": r"[^|\n]+",
    "\t": r"[^\t\n]*(?:\t|$)",
    ",": r"\"[^\"\n]*\"|(?:^|(?<=[,\n]))[^,\"\n]*",
    ";": r"[^;\n]*(?:;|$)",
}
"""What parts cells, and a cell."""
_HEAD = "|".join(map(re.escape, (*table.STRONG.split(), "mot de passe", "login_password")))


_LINE = 300
"""Characters before and behind a password in which a further one is looked for."""


def _in_line(text: str, first: int, last: int) -> Iterator[Found]:
    if last - first < 6:
        return
    before = ""
    for token in _pattern(_WORD).finditer(text, first, last):
        words, start = token["value"], token.start("value")
        if words:
            end, _ = _extent(text, start, last=last)
            words = text[start:end]
            led = token["lead"] or _pattern(_LEADING).fullmatch(before) is not None
            looked = words[:_JUDGED]
            if (
                words
                and not re.fullmatch(_PLACEHOLDER, looked)
                and not re.fullmatch(_KNOWN, looked)
                and _strong(looked, "words" if led else "blank", quoted=False)
                and not looked.isdigit()
                and not token[0].endswith((":", "="))
                and not any(word in looked.lower() for word in _words()[0][1])
                and (led or not _dotted(looked))
            ):
                yield start, end, "password"
        before = token[0]


_WORD = (
    r"\[\[[^\[\]\r\n]{0,300}\]\]|\]\([^()\r\n]{0,300}\)|<[^<>\s]{0,300}>|[\w+.-]{2,30}://\S*|\[\w+::[^\]\r\n]{0,80}\]"
    r"|(?:^|(?<=\s))[#^@][\w/-]+|[:=,/→]+(?=\s)"
    r"|(?P<lead>[A-Za-z]{1,12}[:=])?[\"'`(\[{*_“„«]{0,3}(?P<value>[^\s\"'`(\[{*_“„«]\S*)"
)
"""Links, addresses, tags and fields, of which none is a value; else a word, and what leads on to it."""
_LEADING = rf"(?i){_IS}|{_OTHER}[:=]?|and|und|y|et|e|en|or|oder|o|ou|of|to|now|then|one|jetzt|ahora|.{{0,40}}[:=,/→]"


def _codes(text: str, low: str) -> Iterator[Found]:
    """Codes of which a list stands below or behind the words for them: each of them."""
    if not any(stem in low for stem in ("cod", "cód", "kod", "kód", "код", "码", "碼", "コード", "코드")):
        return
    done = 0
    for label in _pattern("|".join(table.CODES)).finditer(low):
        if label.start() < done or not _pattern(_CODED).search(text, label.end(), label.end() + 160):
            continue
        lead = _pattern(
            r"[^\r\n:=|]{0,60}?(?:[ \t]*(?:[:：=|–—]|\b" + _IS + r"\b)[^\w]{0,12}|\s*\n[^\w]{0,12}|(?<!\w)[ \t]+)(?=\w)"
        ).match(text, label.end())
        for one in _list(text, lead.end() if lead else label.end()):
            yield one
            done = one[1]


_CODED = r"[0-9]|[A-Za-z]{3}-[A-Za-z]{3}"
_CODE = r"(?<![\w./-])(?<!\d:)[A-Za-z0-9]{3,40}(?:[-–][A-Za-z0-9]{2,40}){0,12}(?![\w/])(?![.:-]\w)"


def _list(text: str, start: int) -> Iterator[Found]:
    """The codes from there on: the first is close, each further one has the shape of one before it."""
    shapes: set[tuple[int, ...]] = set()
    end = start
    while True:
        found = next(
            (
                one
                for one in _pattern(_CODE).finditer(text, max(start, end), end + (100 if shapes else 60))
                if _shape(one[0]) in shapes or _is_code(text, one, end)
            ),
            None,
        )
        if found is None:
            return
        shapes.add(_shape(found[0]))
        end = found.end()
        yield (*found.span(), "recovery code")


def _shape(code: str) -> tuple[int, ...]:
    return tuple(map(len, re.split("[-–]", code)))


def _is_code(text: str, one: re.Match[str], end: int) -> bool:
    """Whether it is one of a list by itself: right behind what stands before it, and made by a machine."""
    code = one[0]
    gap = text[end : one.start()]
    if gap.strip() and not _pattern(_BETWEEN_CODES).fullmatch(gap):
        return False
    signs = re.sub("[-–]", "", code)
    again = _pattern(_BETWEEN_CODES + "(?P<next>" + _CODE + ")").match(text, one.end())
    alike = again is not None and _shape(again["next"]) == _shape(code)
    if alike and code.isdigit() and len(code) >= 4:
        return True
    digit = any(map(str.isdigit, signs + (again["next"] if again and alike else "")))
    if len(signs) < 6 or (re.fullmatch(_KNOWN, code) and not alike and not (code.isdigit() and len(code) > 4)):
        return False
    return (digit and (alike or not _dotted(code))) or (alike and "-" in code and len(signs) >= 8)


_BETWEEN_CODES = r"(?:[\s,;、，；/|•·*>#\[\]()`\"'.+–—-]|\d{1,2}[.)]\s|\b(?:and|und|y|et|e|en|or|oder|o|ou)\b){1,16}"


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
    match = _pattern(r"[^\r\n]{0,48}?(?<![\w/.:-])([A-Za-z0-9+/=_-]{20,}+)(?![\w/.:-])").match(text, end)
    if not match or "(masked" in text[end : match.start(1)]:
        return None
    looked = match[1][:_LOOK]
    if all(_classes(looked)[:3]) and _random(looked, 20):
        return match.start(1), _continued(text, *match.span(1)), kind
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
        words = re.sub(r"[-_+/]|=+$", "", words)  # of base64
        turns = sum(a.islower() != b.islower() for a, b in pairwise(words))
        return len(words) >= 20 and words.isalnum() and turns >= 6 and _entropy(words) >= 3.5
    return digits < len(words) and _entropy(words) >= 2.8


def _entropy(words: str) -> float:
    """Shannon's, in bits for each character."""
    total = len(words)
    return -sum(n / total * math.log2(n / total) for n in map(words.count, set(words)))


def _numbers(text: str, low: str) -> Iterator[Found]:
    digits = sum(map(text.count, "0123456789"))
    if digits >= 14:
        for match in _pattern(_CARD).finditer(text):
            if _luhn("".join(_groups(match[0]))):
                yield (*match.span(), "card number")
    if digits >= 48:
        for match in _pattern(_BITLOCKER).finditer(text):
            if all(int(group) % 11 == 0 for group in _groups(match[0])):
                yield (*match.span(), "bitlocker key")
    if digits >= 2:
        yield from _accounts(text)
    if _pattern(r"[pc](?<![a-z].)(?:in|v[vc])").search(low):
        for match in _pattern(_PIN).finditer(text):
            yield (*match.span(1), "pin")
            again = _pattern(rf"[ \t]*(?:[,;/]|{_AND})[ \t]*(\d{{{len(match[1])}}})(?![\w-]|[.,]\d)")
            more = again.match(text, match.end())
            while more:
                yield (*more.span(1), "pin")
                more = again.match(text, more.end())


_AND = r"\b(?:and|und|y|et|e|en|or|oder|o|ou|of)\b"
_GAP = r"(?:[ \t./_·•‧∙‐‑‒–—―−﹣⁃-]|\\u[0-9a-fA-F]{4}|\\){0,3}"
"""What people and programs put between the groups of a number."""
_CARD = (  # it begins with a set of signs, not with a look back: so the search passes over all others at once
    r"[2-6](?<![\w+].)(?<!\d[.,/-].)(?:(?:(?<=4)\d|(?<=5)[0-8]|(?<=2)[2-7]|(?<=3)5|(?<=6)[0-9])\d\d"
    rf"(?:(?P<gap>{_GAP})\d{{4}}(?P=gap)\d{{4}}(?P=gap)\d{{4}}(?:(?P=gap)\d{{3}})?|(?:{_GAP}\d{{4}}){{3}})"
    rf"|(?<=3)[47]\d\d{_GAP}\d{{6}}{_GAP}\d{{5}}"
    rf"|(?<=3)(?:0[0-5]|[689]\d)\d(?!\d){_GAP}\d{{6}}{_GAP}\d{{4}})(?![\w]|[.,/-]\d)"
)
_BITLOCKER = rf"\d(?<!\d.)\d{{5}}(?:(?:{_GAP}|[ \t>]{{0,4}}-?\r?\n[ \t>]{{0,8}})\d{{6}}){{7}}(?!\d)"
_PIN = (
    r"(?i)(?<![A-Za-z])(?:PIN|CVV2?|CVC2?)s?(?:[ -]?(?:code|number|nummer|kode)s?)?[\"'`*]{0,2}"
    r"(?:[ \t]+(?:of|for|für|vom|von|der|des|zum|zur|del|de|du|di|da|do|per|pour|para|van)[ \t][^\r\n:=.]{1,30}?)?"
    r"[ \t]*(?::|=|'s\b|[ \t](?:is|ist|war|was|lautet|est|es|are|è|é)|(?<=[CVcv][CVcv2])(?=[ \t]\d{3,4}\b))"
    r"[\"'`*]{0,2}[ \t]*[\"'`*]{0,2}(\d{3,8})(?![\w-]|[.,]\d)"
)


def _groups(number: str) -> list[str]:
    return re.findall(r"\d+", re.sub(r"\\u[0-9a-fA-F]{4}", " ", number))


def _luhn(digits: str) -> bool:
    """The check digit of payment cards (ISO/IEC 7812)."""
    odd = sum(map(int, digits[-1::-2]))
    return (odd + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


def _accounts(text: str) -> Iterator[Found]:
    """Bank account numbers by country, length and check digits (ISO 13616)."""
    lengths = _lengths()
    look = r"\d\d(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9]....)(?=[\W_]{0,3}[A-Za-z0-9])"  # it begins with a set, as a card's
    for digits in _pattern(look).finditer(text):
        start = digits.start() - 2
        length = lengths.get(text[start : start + 2].upper())
        if not length:
            continue
        body = _pattern(rf"(?:{_GAP}[A-Za-z0-9]){{{length - 4}}}(?![A-Za-z0-9])").match(text, digits.end())
        if body:
            signs = re.sub(r"[^A-Za-z0-9]", "", body[0] + text[start : digits.end()])
            if int("".join(str(int(sign, 36)) for sign in signs)) % 97 == 1:
                yield start, body.end(), "bank account"


@cache
def _lengths() -> dict[str, int]:
    return {each[:2]: int(each[2:]) for each in table.IBAN.split()}


def _phrases(low: str) -> Iterator[Found]:
    """The words of a wallet: those of the list that most wallets take them from whose check sum is right, or as many
    beside a word for them; numbered, in a table, or as they come.
    """
    known = _known_words()
    listed = bytes(map(known.__contains__, _pattern(r"[a-z]+").findall(low)))
    for run in (
        ()
        if b"\1" * 12 not in listed
        else _pattern(rf"(?<![^\W_])[a-z]{{3,8}}(?:{_STEP}[a-z]{{3,8}}){{11,}}(?![^\W_])").finditer(low)
    ):
        of_list: list[re.Match[str]] = []
        for word in _pattern(r"[a-z]+").finditer(low, *run.span()):
            if word[0] in known:
                of_list.append(word)
                continue
            yield from _seeds_in(of_list)
            of_list = []
        yield from _seeds_in(of_list)
    if not any(stem in low for stem in _SEEDS):
        return
    for label in _pattern(_PHRASE).finditer(low):
        words = _pattern(rf"(?:{_STEP})?([^\W\d_]{{2,12}}(?:{_STEP}[^\W\d_]{{2,12}}){{11,24}})(?!\w)").match(
            low, label.end()
        )
        if words:
            count, numbers = len(re.findall(r"[^\W\d_]+", words[1])), len(re.findall(r"\d+", words[1]))
            plain = re.fullmatch(r"(?:[a-z]{3,8}[ \t,]{1,2}){11,23}[a-z]{3,8}", words[1])
            if numbers >= count - 1 or plain or (not numbers and count in (12, 15, 18, 21, 24, 25)):
                yield (*words.span(1), "seed phrase")


_SEEDS = (
    *("phrase", "frase", "seed", "mnem", "t word", "y word", "p word", "herstel", "satz", "助", "ニーモ", "シード"),
    *("니모", "시드", "сид", "мнем"),
)
"""One of these is in every word for them."""
_PHRASE = (
    rf"(?:{table.PHRASES})[^\r\n:=：]{{0,40}}?"
    rf"(?:[\"'`*]{{0,2}}[ \t]*(?:[:=：]|\b{_IS}\b|(?=\n))[\"'`*]{{0,2}})[\"'`*]{{0,3}}"
)
_STEP = r"(?>(?:[\s|>*_`,;()\[\]-]|(?<!\d)\d{1,2}(?:[.):]|(?!\w))){1,16})"
"""What stands between two words of a list: blanks, line breaks, bullets, cells, numbers."""


def _seeds_in(words: Sequence[re.Match[str]]) -> Iterator[Found]:
    """The seeds among words of the list that follow each other: a word of prose before or behind may be one of it, too.

    A line or two of prose that repeats itself is none, though every sixteenth row of words passes the check: where more
    words stand than a seed has, half of them must be different.
    """
    known = _known_words()
    numbers = [known[word[0]] for word in words]
    start = end = -1
    for at in range(len(numbers)):
        for count in reversed(SEED_WORDS):
            seed = numbers[at : at + count]
            if len(seed) < count or (count < len(numbers) and 2 * len(set(seed)) < count) or not _is_seed(seed):
                continue
            if at > end:
                if end >= 0:
                    yield words[start].start(), words[end].end(), "seed phrase"
                start = at
            end = max(end, at + count - 1)
            break
    if end >= 0:
        yield words[start].start(), words[end].end(), "seed phrase"


SEED_WORDS = (12, 15, 18, 21, 24)
"""How many words a seed has, each for 11 bits (BIP-0039)."""


def _is_seed(numbers: Sequence[int]) -> bool:
    """Whether the check sum of these words is right: a bit of SHA-256 for every 32 bits of chance (BIP-0039), or as the
    wallet Electrum has it, which takes its 12 words from the same list.
    """
    bits = 11 * len(numbers)
    check = bits // 33
    whole = 0
    for number in numbers:
        whole = whole << 11 | number
    chance = (whole >> check).to_bytes((bits - check) // 8, "big")
    if sha256(chance).digest()[0] >> 8 - check == whole & (1 << check) - 1:
        return True
    if len(numbers) != SEED_WORDS[0]:
        return False

    words = list(_known_words())
    version = digest(b"Seed version", " ".join(words[number] for number in numbers).encode("ascii"), sha512).hex()
    return version.startswith(ELECTRUM)


ELECTRUM = ("01", "100", "101", "102")
"""How the HMAC of Electrum's seeds begins: of standard and SegWit wallets, and of both with a second factor.

https://electrum.readthedocs.io/en/latest/seedphrase.html
"""


@cache
def _known_words() -> dict[str, int]:
    """The English word list of BIP-0039 (MIT), what wallets take the words of a seed from, each with its number."""
    text = (Path(__file__).parent / "bip39.txt").read_text("ascii")
    return {word: number for number, word in enumerate(text.split())}


_OF_PROVIDER = (
    r"(?P<what>[A-Za-z0-9_ .-]{0,40}?)[\"'`*]{0,3}[ \t]{0,2}[:=][\"'`*]{0,3}[ \t]{0,2}[\"'`]?"
    r"(?P<value>[A-Za-z0-9_=+/-]{24,})(?![\w/.-])"
)


_VALUE = r"[:=][\"'`*]{0,3}[ \t]{0,2}[\"'`]?[A-Za-z0-9_=+/-]{24}"
"""What every one of them holds: it is looked for before any name is."""


def _of_providers(text: str, low: str) -> Iterator[Found]:
    if not _pattern(_VALUE).search(text):
        return
    for name in table.PROVIDERS.split():
        at = low.find(name)
        while at >= 0:
            match = _pattern(_OF_PROVIDER).match(text, at + len(name))
            if (
                match
                and _random(match["value"][:_LOOK], 24)
                and not re.search(r"(?i)commit|hash|sha|id$", match["what"])
            ):
                yield (*match.span("value"), f"{name} key")
            at = low.find(name, match.end() if match else at + 1)


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
