"""Credentials in a text: where they stand, and the text without them.

Only what is *shaped* like a credential counts: a provider's key (:mod:`tars_memory.vault.secrets.credentials`), a
private key, a password in an address or beside a word for one, a long random value beside a word for a key, a payment
card's or an account's number by its check digits. Plain words, dates, commits, UUIDs, links and block ids are none.

Every look takes time linear in the text. Patterns are compiled when a text holds what they begin with, so that an
ordinary line costs a few substring searches.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.vault.markdown.visible import unseen
from tars_memory.vault.secrets import credentials as table
from tars_memory.vault.secrets.suspicion import BROKEN, LONG, MARK, suspicious

if TYPE_CHECKING:
    from collections.abc import Iterator


class Secret(NamedTuple):
    """A credential: the characters ``[start:end)`` of a text, and its kind in words (``github token``)."""

    start: int
    end: int
    kind: str


ROUNDS = 4
"""Masking a text again finds nothing new after this many times; one is nearly always enough."""

_FOLDED = str.maketrans(
    dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
    | dict.fromkeys((0x2028, 0x2029), "\n")
    | {
        code: chr(code - 0xFEE0)
        for span in ((0xFF10, 0xFF1A), (0xFF21, 0xFF3B), (0xFF41, 0xFF5B))
        for code in range(*span)
    }
)
"""Blanks of all widths, breaks of lines, and full-width letters and digits, as the plain ones; each keeps its place."""


def find(text: str) -> list[Secret]:
    """The credentials of a text in order; they don't overlap.

    Invisible characters within one don't hide it.

    Args:
        text: of any length; what was no UTF-8 may be in it as lone surrogates.
    """
    if not suspicious(text):
        return []
    if text.isascii() and text.isprintable():
        return _merged(text, _all(text))
    seen = text if text.isascii() else text.translate(_FOLDED)
    gone = [match.span() for match in unseen().finditer(seen) if match[0] != "\r"]
    if not gone:
        return _merged(seen, _all(seen))
    kept, at = [], 0
    for start, end in gone:
        kept.append(range(at, start))
        at = end
    places = [*chain(*kept, range(at, len(text)))]
    seen = "".join([seen[part.start : part.stop] for part in (*kept, range(at, len(text)))])
    found = _merged(seen, _all(seen))
    return [Secret(places[one.start], places[one.end - 1] + 1, one.kind) for one in found]


def mask(text: str) -> str:
    """The text with each credential replaced by its kind, ``(masked github token)``; idempotent.

    The marker means nothing in markdown, wherever it stands. Line breaks inside a private key go with it; see
    :func:`veil` for a text whose lines must stay where they are.
    """
    for _ in range(ROUNDS):
        found = find(text)
        if not found:
            return text
        text = _replaced(text, [(one, f"{MARK}{one.kind})") for one in found])
    return text


def veil(text: str) -> str:
    """As :func:`mask`, but every line break of the text stays: line N is line N."""
    for _ in range(ROUNDS):
        found = find(text)
        if not found:
            return text
        pairs = []
        for one in found:
            breaks = "".join(re.findall(r"\r\n|\r|\n", text[one.start : one.end]))
            pairs.append((one, f"{MARK}{one.kind})" + breaks))
        text = _replaced(text, pairs)
    return text


def veiled(data: bytes) -> bytes:
    """A note's bytes as :func:`veil` leaves them; the very same object if it holds no credential."""
    shown = _veiled(data)
    return data if shown is None else shown


@lru_cache(maxsize=2)
def _veiled(data: bytes) -> bytes | None:
    """None if it holds none. A search indexes a note that changed, then looks its hits up in it: the same bytes."""
    text = data.decode("utf-8", "surrogateescape")
    shown = veil(text)
    return None if shown is text else shown.encode("utf-8", "surrogateescape")


def kinds(found: list[Secret]) -> str:
    """What was found, in words: ``github token`` or ``github token, password (2)``."""
    count: dict[str, int] = {}
    for one in found:
        count[one.kind] = count.get(one.kind, 0) + 1
    return ", ".join(kind if many == 1 else f"{kind} ({many})" for kind, many in count.items())


def _replaced(text: str, pairs: list[tuple[Secret, str]]) -> str:
    parts, at = [], 0
    for one, words in pairs:
        parts += [text[at : one.start], words]
        at = one.end
    return "".join([*parts, text[at:]])


def _merged(text: str, found: Iterator[Secret]) -> list[Secret]:
    """Sorted; of those that overlap one, with the first one's kind. What is only a placeholder is none."""
    merged: list[Secret] = []
    for one in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if merged and one.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, one.end), last.kind)
        elif (len(set(text[one.start : one.end])) > 1 or one.kind == "recovery code") and not text.startswith(
            MARK, one.start
        ):
            merged.append(one)
    return merged


def _all(text: str) -> Iterator[Secret]:
    if "://" in text and _compiled(_WITH_USER).search(text):
        yield from _addresses(text)
    if "-----" in text or "PuTTY-User-Key" in text or "Private-Lines" in text:
        yield from _private_keys(text)
    yield from _shaped(text)
    if "\n" in text:
        yield from _wrapped(text)
    for kind, hints, pattern in table.COMMANDS:
        if any(hint in text for hint in hints.split("|")) and (hints != ":" or _compiled(_WITH_PORT).search(text)):
            for match in _compiled(pattern).finditer(text):
                if not _compiled(_PLACE).fullmatch(match[1][:80]):
                    yield Secret(*match.span(1), kind)
    from tars_memory.vault.secrets import labelled

    yield from (Secret(*one) for one in labelled.values(text))


_WITH_USER = r"://[^\s:@/\"'<>]{0,256}:"
_WITH_PORT = r":(?:\*|\d{3,5}):"
"""What every address with a password, and every line of ``.pgpass``, holds: what begins with a sign is found fast."""

_PLACE = r"(?i)[x*.…•_-]+|<.*>?|\$.*|\{.*|%\w+%|\(masked.*|pass(?:word|wd)?"
"""What stands where somebody is to put a password."""


def _shaped(text: str) -> Iterator[Secret]:
    if not _compiled(rf"[!-~]{{{LONG}}}").search(text):
        return
    runs = " ".join(_compiled(rf"[!-~]{{{SHORTEST},}}").findall(text))  # a hint stands in one of them, if it counts
    if _NO_RUN in text:
        runs += _NO_RUN
    rules, by_signs = _prefixed()
    begun = by_signs.keys() & {*pairwise(runs), ()}
    for kind, hints, inside, pattern in map(rules.__getitem__, sorted({r for signs in begun for r in by_signs[signs]})):
        for hint in hints:
            if hint in runs:
                if inside:
                    yield from _told(text, kind, _compiled(pattern).finditer(text))
                    break
                yield from _told(text, kind, _beginning(text, hint, _compiled(pattern)))


SHORTEST = 15
"""Characters of the shortest credential that is known by its own shape (``xoxb-`` and ten more), all of one run."""
_NO_RUN = "otpauth://"
"""The one hint whose credential may have other characters in it."""


@cache
def _prefixed() -> tuple[list[tuple[str, tuple[str, ...], bool, str]], dict[tuple[str, ...], list[int]]]:
    """Kind, hints, whether these may stand inside, and pattern of each rule; the rules by two signs of their hints."""
    rules = [
        (kind, tuple(hints.removeprefix("*").split("|")), hints.startswith("*"), pattern)
        for kind, hints, pattern in table.PREFIXED
    ]
    by_signs: dict[tuple[str, ...], list[int]] = {}
    for number, (_, hints, _, _) in enumerate(rules):
        for hint in hints:
            by_signs.setdefault(tuple(hint[:2]) if len(hint) > 1 else (), []).append(number)
    return rules, by_signs


_SIGN = "A-Za-z0-9_+/=.~:$%-"
_BROKEN = rf"(?<![{_SIGN}])[{_SIGN}]{{3,}}+(?:{BROKEN}[{_SIGN}]{{3,}}+)+"


def _wrapped(text: str) -> Iterator[Secret]:
    """Keys that a terminal or a mail has broken over lines: what only a joined text shows.

    What stands on the next line is part of a key if this is none without it, if it doesn't look like a word, or if it
    stands alone below a full line.
    """
    joined: list[str] = []
    places: list[int] = []
    breaks: set[int] = set()
    for run in _compiled(_BROKEN).finditer(text):
        at = run.start()
        for gap in _compiled(BROKEN).finditer(text, run.start(), run.end()):
            soft = gap.start() - (text[gap.start() - 1] == "=")
            joined.append(text[at:soft])
            places.extend(range(at, soft))
            breaks.add(len(places))
            at = gap.end()
        joined += [text[at : run.end()], "\n"]
        places.extend(range(at, run.end() + 1))
    if not breaks:
        return
    glued = "".join(joined)
    ends = sorted(breaks)
    for one in _shaped(glued):
        inside = ends[bisect_right(ends, one.start) : bisect_left(ends, one.end)]
        end = one.start
        for cut, after in pairwise([*inside, one.end]):
            alone = [found for found in _shaped(glued[one.start : cut] + "\n") if found.start == 0]
            if alone and not _goes_on(text, places[cut], places[after - 1] + 1, glued[cut:after]):
                break
            end = after
        if end > one.start:
            yield Secret(places[one.start], places[end - 1] + 1, one.kind)


def _goes_on(text: str, start: int, end: int, part: str) -> bool:
    """Whether the part of a line may belong to a key that could end before it."""
    if next((True for one in _shaped(text[start : start + 400].split("\n")[0] + "\n") if one.start == 0), False):
        return False
    if not _compiled(r"[A-Za-z]?[a-z]*|[A-Z]{1,3}|\d{1,4}").fullmatch(part):
        return not (part.isupper() and text[end : end + 1] == ":")
    before = re.split(r"\r\n|\r|\n", text[max(0, start - 400) : start])[-2:]
    return text[end : end + 1] in ("", "\r", "\n") and max(map(len, before)) >= _WIDTH


_WIDTH = 60
"""Signs of the shortest line that a terminal or a mail breaks."""


def _beginning(text: str, hint: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The matches that begin with a hint: a search for its letters is ten times as fast as one for the pattern."""
    at = text.find(hint)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = text.find(hint, match.end() if match else at + 1)


def _told(text: str, kind: str, matches: Iterator[re.Match[str]]) -> Iterator[Secret]:
    for match in matches:
        start, end = match.span(match.lastindex or 0)
        if not _blank(text[start:end]):
            yield Secret(start, end, kind)
            if kind == "aws key id":
                second = _compiled(_AWS_SECOND).search(text, end, end + 240)
                if second and _mixed(second[0]):
                    yield Secret(*second.span(), "aws secret key")


_AWS_SECOND = r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])"
"""What follows an AWS key id within a line or two: its secret, which has no mark of its own."""


def _mixed(value: str) -> bool:
    return any(map(str.isupper, value)) and any(map(str.islower, value)) and any(map(str.isdigit, value))


def _blank(value: str) -> bool:
    """Whether a value only holds a key's place: ``ghp_xxxxxxxx``, ``sk-...``."""
    body = value[4:].strip("xX*.•…_-")
    return len(body) < 4


def _addresses(text: str) -> Iterator[Secret]:
    for match in _compiled(table.ADDRESS).finditer(text):
        if not re.fullmatch(r"(?i)pass(?:word|wd)?|pwd|secret|x+|\*+|\.+|\$\{?\w+\}?|\{+[^{}]*\}+|<[^>]*>", match[1]):
            yield Secret(*match.span(1), "password")


def _private_keys(text: str) -> Iterator[Secret]:
    """Blocks from BEGIN to END; one that is cut off, to the end of what still looks like key."""
    start = None
    for match in _compiled(
        r"-----(BEGIN|END) ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----"
    ).finditer(text):
        if match[1] == "END":
            if start is not None:
                yield Secret(start[0], match.end(), "private key")
            start = None
            continue
        if start is not None:
            yield Secret(start[0], min(_key_end(text, start[1]), match.start()), "private key")
        start = match.span()
    if start is not None:
        yield Secret(start[0], _key_end(text, start[1]), "private key")
    for match in _compiled(r"Private-Lines: ?\d{1,4}((?:[\s>]|\\[nr]|[A-Za-z0-9+/=]{16,}+)*+)").finditer(text):
        yield Secret(*match.span(1), "private key")


def _key_end(text: str, start: int) -> int:
    header = r"(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n]{0,200}"
    lines = rf"(?:[\s>]|\\[nr]|{header}|[A-Za-z0-9+/=]{{16,}}+)*+(?:[A-Za-z0-9+/]{{0,15}}=={{0,2}})?"
    match = _compiled(lines).match(text, start)
    return match.end() if match else start


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
