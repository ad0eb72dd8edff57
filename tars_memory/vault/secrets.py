"""Find and mask credentials in a text.

Only what is *shaped* like a credential counts: a provider's key (the table below), a private key, a password in an
address or beside a word for one (:mod:`tars_memory.vault.labelled`), a long random value beside a word for a key, a
payment card's or a bank account's number by its check digits, the words of a wallet by their checksum or label. Plain
words, dates, commits, UUIDs, links and block ids do not count.

Every search takes time linear in the text. A pattern is compiled only when a text holds one of its hints, so that an
ordinary line costs a few substring searches.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha512
from hmac import digest
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from tars_memory.disk import blake2b, sha256
from tars_memory.vault.suspicion import (
    CLOCK,
    IS_VERB,
    LINE_BREAK,
    LIST_MARK,
    MARK,
    MARKS,
    MIN_SHAPED_LENGTH,
    UNSEEN,
    compiled,
    suspicious,
    visible,
)


class Secret(NamedTuple):
    """A credential: the characters ``[start:end)`` of a text, and its kind in words (``github token``)."""

    start: int
    end: int
    kind: str


_MAX_ROUNDS = 4
"""Maximum number of times that a text is masked: after that nothing new is found, and one is nearly always enough."""

_FOLDED = str.maketrans(
    dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
    | dict.fromkeys((0x2028, 0x2029), "\n")
    | {
        code: chr(code - 0xFEE0)
        for span in ((0xFF10, 0xFF1A), (0xFF21, 0xFF3B), (0xFF41, 0xFF5B))
        for code in range(*span)
    }
)
"""Maps blanks of all widths, line separators and full-width letters and digits to plain ones, one character each."""


def find(text: str) -> list[Secret]:
    """Return the credentials of a text in order; they don't overlap.

    Invisible characters within a credential don't hide it.

    Args:
        text: of any length; bytes that are not UTF-8 may be in it as lone surrogates.
    """
    if not suspicious(text):
        return []
    if text.isascii() and text.isprintable():
        return _merge_overlapping(text, _find_all(text))
    plain = text if text.isascii() else text.translate(_FOLDED)
    invisible = [match.span() for match in re.finditer(UNSEEN, plain) if match[0] != "\r"]
    if not invisible:
        return _merge_overlapping(plain, _find_all(plain))
    edges = [0, *chain(*invisible), len(text)]
    places = [*chain(*map(range, edges[::2], edges[1::2]))]  # of each visible character
    plain = "".join([plain[at] for at in places])
    found = _merge_overlapping(plain, _find_all(plain))
    return [Secret(places[secret.start], places[secret.end - 1] + 1, secret.kind) for secret in found]


def mask(text: str) -> str:
    """Return the text with each credential replaced by its kind, ``(masked github token)``; idempotent.

    The marker has no meaning in markdown, wherever it is. Line breaks inside a private key are removed with it; use
    :func:`veil` for a text whose lines must keep their numbers.
    """
    return _masked(text, keep_breaks=False)


def veil(text: str) -> str:
    """Mask as :func:`mask`, but keep every line break of the text, so that lines keep their numbers."""
    return _masked(text, keep_breaks=True)


def _masked(text: str, *, keep_breaks: bool) -> str:
    """Return the text with its credentials masked; the very same object if there are none."""
    for _ in range(_MAX_ROUNDS):
        found = find(text)
        if not found:
            return text
        text = _replaced(text, found, keep_breaks=keep_breaks)
    return text


def _replaced(text: str, found: list[Secret], *, keep_breaks: bool = False) -> str:
    """Return the text with each of its credentials replaced by the mark of its kind."""
    parts, at = [], 0
    for secret in found:
        said = text[secret.start : secret.end]
        # one after the other, CR and LF would be a single break
        breaks = re.findall(r"\r\n|\r|\n", re.sub(r"\r(?!\n|\Z)", "\n", said)) if keep_breaks else []
        parts += [text[at : secret.start], f"{MARK}{secret.kind})", *breaks]
        at = secret.end
    return "".join([*parts, text[at:]])


def masked_parts(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """Return parts of a text, each ``[start:end)``, as they are masked in it."""
    found = find(text)
    return [_replaced(text[start:end], _within(found, start, end)) for start, end in spans]


def masked_among(text: str, before: str = "", after: str = "") -> tuple[str, list[Secret]]:
    """Return a text with its credentials masked, and the credentials.

    Args:
        text: the text.
        before: what will come before it: a label there may say that it is a credential.
        after: what will come after it, such as tags.
    """
    found = _within(find(before + text + after), len(before), len(before) + len(text))
    return _replaced(text, found), found


def _within(found: list[Secret], start: int, end: int) -> list[Secret]:
    """Return the credentials of a part of a text, with their places in the part."""
    return [
        Secret(max(secret.start, start) - start, min(secret.end, end) - start, secret.kind)
        for secret in found
        if secret.start < end and start < secret.end
    ]


def veiled(data: bytes) -> bytes:
    """Return a note's bytes as :func:`veil` leaves them; the very same object if there is no credential."""
    masked = _veiled_or_none(data)
    return data if masked is None else masked


@lru_cache(maxsize=2)
def _veiled_or_none(data: bytes) -> bytes | None:
    """Return the masked bytes; None if there is no credential.

    Cached: a search indexes a note that changed, then looks its hits up in the same bytes; ``doctor`` looks for
    credentials in all notes, then compares the index with what it makes of them.
    """
    digest = blake2b(data, digest_size=16).digest()
    if digest in _FREE:
        return None
    text = data.decode("utf-8", "surrogateescape")
    masked = veil(text)
    if masked is not text:
        return masked.encode("utf-8", "surrogateescape")
    if len(_FREE) >= _MOST_FREE:
        _FREE.clear()
    _FREE.add(digest)
    return None


_FREE: set[bytes] = set()
"""Digests of bytes without a credential."""
_MOST_FREE = 50_000
"""Maximum number of those digests: some megabytes."""


class Taken:
    """The words that are :func:`taken` out of a note, to mask its lines alone by them.

    Of thousands of words, only those are looked for that begin with characters which a line has.
    """

    def __init__(self) -> None:
        self.instead: dict[str, str] = {}
        self._by_head: dict[str, list[str]] = {}
        self._sizes: set[int] = set()

    def add(self, found: dict[str, str]) -> Taken:
        """Add words, each with what stands for it; returns the object."""
        for words in found.keys() - self.instead.keys():
            self._by_head.setdefault(words[:_HEAD], []).append(words)
            self._sizes.add(len(words[:_HEAD]))
        self.instead |= found
        return self

    def found_in(self, text: str) -> list[str]:
        """Return those of the words that are in a text, the longest first."""
        heads = {text[at : at + size] for size in self._sizes for at in range(len(text) - size + 1)}
        near = (words for head in heads for words in self._by_head.get(head, ()) if words in text)
        return sorted(near, key=lambda words: (-len(words), words))

    def hide(self, text: str) -> str:
        """Mask the words in a text of the note."""
        # one word of a seed phrase is not part of others, nor a PIN of a longer number
        patterns = (
            rf"(?<![A-Za-z0-9]){part}(?![A-Za-z0-9])" if part.isascii() and part.isalnum() else re.escape(part)
            for part in self.found_in(text)
        )
        either = "|".join(patterns)
        return re.sub(either, lambda found: self.instead[found[0]], text) if either else text


def values(text: str) -> Taken:
    """Return the credentials of a text, to mask them where another text repeats them without the word for them; no
    PIN and no plain word, which may be anything there.
    """
    found = ((text[start:end], kind) for start, end, kind in find(text))
    return Taken().add({value: f"{MARK}{kind})" for value, kind in found if len(value) > 5 and not value.isalpha()})


_HEAD = 5
"""Number of first characters by which words are looked for; few words of a list of codes share them."""


@lru_cache(maxsize=1)
def taken(text: str) -> dict[str, str]:
    """Return the words that :func:`veil` takes out of lines of a text which alone would keep them, each with what
    stands for it; with those, every line that holds one of them, with the line as it is masked.

    That a line alone holds a credential may only be seen among its neighbours; and a word of it may be harmless in
    another line, where a PIN is a year.
    """
    found: dict[str, str] = {}
    shown = veil(text)
    if shown is text:
        return found
    from tars_memory.vault.markdown import entries

    last = ""
    pairs = [*zip(*(re.split(r"\r\n|\r|\n", side) for side in (text, shown)), strict=False)]
    for was, now in pairs:
        last = (compiled(_MARKED).findall(now) or [last])[-1]
        if was == now or mask(was) == now:
            continue
        begin = _alike(was, now)
        end = _alike(was[begin:][::-1], now[begin:][::-1])
        words, instead = (_own_words(side[begin : len(side) - end]) for side in (was, now))
        # of a line within a credential, an entry's words are less: it has a list mark, and may have a time and an id
        entry = entries.parse(words, timed=True).text
        if instead == f"{MARK}pin)":  # a number as short may be anything in another text
            found |= _whole(was, now)
            continue
        parts = [words] if instead else [words, entry, *compiled(rf"[!-~]{{{MIN_SHAPED_LENGTH},}}").findall(words)]
        for part in filter(None, parts):
            found |= dict.fromkeys((part, visible(part).replace("\t", " ")), instead or last)
    found.pop("", None)
    near = Taken().add(found)
    for was, now in pairs if found else ():
        if near.found_in(was) and _own_words(now):
            for words, shows in _whole(was, now).items():
                if was != now or words not in found:  # of equal lines, one may be masked alone
                    found[words] = shows
    return found


def _whole(was: str, now: str) -> dict[str, str]:
    """Return the words of a line and those of its entry, each with what it shows when it is masked."""
    from tars_memory.vault.markdown import entries

    whole, shown = _own_words(was), _own_words(now)
    return {whole: shown, entries.parse(whole, timed=True).text: entries.parse(shown, timed=True).text}


def _own_words(line: str) -> str:
    """Return a line without the marks before its words and the blanks behind them."""
    return compiled(rf"^{MARKS}|[ \t]+$").sub("", line)


def _alike(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


_MARKED = rf"{re.escape(MARK)}[^()]*\)"


def kinds(found: list[Secret]) -> str:
    """Return the kinds of credentials with their counts, in words: ``github token, password (2)``."""
    counts = Counter(secret.kind for secret in found)
    return ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in counts.items())


def _merge_overlapping(text: str, found: Iterator[Secret]) -> list[Secret]:
    """Sort credentials and merge those that overlap, which get the first one's kind; leave out placeholders."""
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        elif (len(set(text[secret.start : secret.end])) > 1 or secret.kind == "recovery code") and not text.startswith(
            MARK, secret.start
        ):
            merged.append(secret)
    return merged


def _find_all(text: str) -> Iterator[Secret]:
    """Yield the credentials of a text, in no order; they may overlap."""
    if "://" in text and compiled(_USER_IN_ADDRESS).search(text):
        yield from _find_in_addresses(text)
    if "-----" in text or "PuTTY-User-Key" in text or "Private-Lines" in text:
        yield from _find_private_keys(text)
    yield from _find_prefixed(text)
    if "\n" in text:
        yield from _find_wrapped(text)
    for kind, hints, pattern in COMMANDS:
        if any(hint in text for hint in hints.split("|")) and (hints != ":" or compiled(_PGPASS_PORT).search(text)):
            for match in compiled(pattern).finditer(text):
                if not compiled(PLACEHOLDER).fullmatch(match[1][:80]):
                    yield Secret(*match.span(1), kind)
    from tars_memory.vault import labelled

    low = _lowered(text)
    yield from map(Secret._make, labelled.values(text, low))
    yield from map(Secret._make, _seed_phrases(low))


def _lowered(text: str) -> str:
    """Lower the case of a text without changing its length (Python makes two characters of ``İ``)."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


_USER_IN_ADDRESS = r"://[^\s:@/\"'<>]{0,256}:"
_PGPASS_PORT = r":(?:\*|\d{3,5}):"
"""A part of every address with a password, and of every line of ``.pgpass``.

Both begin with a fixed character and so are found fast.
"""

PLACEHOLDER = (
    r"(?i)<[\w .:-]*>|[<{\[(]+[^\d!#%&*+?^~@]*|!?\[\[[\w .-]+(?:[|\]#].*)?|\(\d{0,3}\)?|%\w+%|\{[a-z_.]+(?:[\[(].*)?\}.*"
    r"|\$[{(].*|\$(?:env:)?[a-z_]+\d?(?:[.:\[>-].*)?|[@#][a-z/_.-]+\d?|(?:my|your)(?:[_-].*|(?:password|secret|token|key).{0,3})|(?:ex|s)ample[_-]?[a-z]*\d?"
    r"|placeholder|change_?me|redacted|masked|none|null|true|false|"
    r"unknown|string|required|optional|enabled|disabled|passwor[dt]s?|pass|secrets?|tokens?|keys?|test(?:ing)?|default|"
    r"text|input"
)
"""Values that only stand for a credential: ``$TOKEN``, ``<password>``, ``{name}``, ``(see``, ``changeme``."""


def _find_prefixed(text: str) -> Iterator[Secret]:
    """Yield the credentials of :data:`PREFIXED`."""
    if not compiled(rf"[!-~]{{{MIN_SHAPED_LENGTH}}}").search(text):
        return
    runs = " ".join(compiled(rf"[!-~]{{{_MIN_RUN},}}").findall(text))  # a hint only counts in one of them
    if _HINT_OF_MIXED_RUN in text:
        runs += _HINT_OF_MIXED_RUN
    for kind, hints, inside, pattern in _rules():
        for hint in hints:
            if hint in runs:
                if inside:
                    yield from _secrets_of_matches(text, kind, compiled(pattern).finditer(text))
                    break
                yield from _secrets_of_matches(text, kind, _matches_at_hint(text, hint, compiled(pattern)))


_MIN_RUN = 15
"""Length of the shortest credential that is known by its own shape (``xoxb-`` and ten more), a run without blanks."""
_HINT_OF_MIXED_RUN = "otpauth://"
"""The only hint whose credential may hold other than visible ASCII characters."""


@cache
def _rules() -> list[tuple[str, list[str], bool, str]]:
    """Return the rules of :data:`PREFIXED`: kind, hints, whether these may be inside a match, and pattern."""
    return [(kind, hints.lstrip("*").split("|"), hints[0] == "*", pattern) for kind, hints, pattern in PREFIXED]


_KEY_CHARACTER = "A-Za-z0-9_+/=.~:$%-"
_KEY_CHARACTERS = "".join(filter(re.compile(f"[{_KEY_CHARACTER}]").match, map(chr, range(128))))
_BROKEN_KEY = rf"(?<![{_KEY_CHARACTER}])[{_KEY_CHARACTER}]{{3,}}+(?:{LINE_BREAK}[{_KEY_CHARACTER}]{{3,}}+)+"
_LINE_BEGINS, _LINE_ENDS = rf"\n[ \t>]{{0,8}}[{_KEY_CHARACTER}]{{3}}", rf"[{_KEY_CHARACTER}]{{3}}[ \t]?\\?\r?\Z"
"""The beginning and the end of a line that can be a part of a wrapped key."""


def _find_wrapped(text: str) -> Iterator[Secret]:
    """Yield keys that a terminal or a mail has wrapped over lines, which are only found in the joined text.

    The beginning of the next line belongs to the key if there is no key without it, if it doesn't look like a word, or
    if it is alone on its line below a full line.
    """
    joined: list[str] = []
    places: list[int] = []  # of each joined character, where it is in the text
    ends: list[int] = []
    for at, last in _broken_runs(text):
        for gap in compiled(LINE_BREAK).finditer(text, at, last):
            start, after = gap.span()
            soft = start - (text[start - 1] == "=")
            joined.append(text[at:soft])
            places += range(at, soft)
            ends.append(len(places))
            at = after
        joined += text[at:last], "\n"
        places += range(at, last + 1)
    unwrapped = "".join(joined)

    @cache
    def goes_on(cut: int, after: int) -> bool:
        return _continues(text, places[cut], places[after - 1] + 1, unwrapped[cut:after])

    for secret in _find_prefixed(unwrapped):
        cuts = ends[bisect_right(ends, secret.start) : bisect_left(ends, secret.end)]
        if cuts:
            patterns = [compiled(pattern) for kind, _, _, pattern in _rules() if kind == secret.kind]
            whole = bisect_left(
                cuts, 1, key=lambda cut: any(pattern.match(unwrapped, secret.start, cut) for pattern in patterns)
            )
            parts = pairwise([*cuts[whole:], secret.end])
            end = next((cut for cut, after in parts if not goes_on(cut, after)), secret.end)
            yield Secret(places[secret.start], places[end - 1] + 1, secret.kind)


def _broken_runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of runs of key characters that go on after a line break and are long enough for a key.

    Searching for the line break first takes a tenth of the time of a search for the whole pattern.
    """
    ends, broken = compiled(_LINE_ENDS), compiled(_BROKEN_KEY)
    done = 0
    for begins in compiled(_LINE_BEGINS).finditer(text):
        at = begins.start()
        before = ends.search(text, max(0, at - 8), at) if at >= done else None
        if before is None:
            continue
        line = text.rfind("\n", 0, at) + 1
        run = broken.match(text, line + len(text[line : before.start() + 3].rstrip(_KEY_CHARACTERS)))
        if run is not None:
            done = run.end()
            if done - run.start() >= _MIN_RUN:
                yield run.span()


def _continues(text: str, start: int, end: int, part: str) -> bool:
    """Whether the beginning of a line may belong to a key that could end on the line before.

    Args:
        text: the text.
        start: where the line's part begins.
        end: where it ends.
        part: the part itself.
    """
    rest = text[start : start + 400].split("\n")[0] + "\n"
    if any(secret.start == 0 for secret in _find_prefixed(rest)):
        return False
    if not compiled(r"[A-Za-z]?[a-z]*|[A-Z]{1,3}|\d{1,4}").fullmatch(part):
        return not (part.isupper() and text[end : end + 1] == ":")
    before = re.split(r"\r\n|\r|\n", text[max(0, start - 400) : start])[-2:]
    return text[end : end + 1] in ("", "\r", "\n") and max(map(len, before)) >= _MIN_WRAP_WIDTH


_MIN_WRAP_WIDTH = 60
"""Minimum length of a line that a terminal or a mail wraps."""


def _matches_at_hint(text: str, hint: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches that begin with a hint: searching for the hint is ten times as fast as for the pattern."""
    at = text.find(hint)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = text.find(hint, match.end() if match else at + 1)


def _secrets_of_matches(text: str, kind: str, matches: Iterator[re.Match[str]]) -> Iterator[Secret]:
    """Yield the credentials of a rule's matches without placeholders; after an AWS key id also its secret."""
    for match in matches:
        start, end = match.span(match.lastindex or 0)
        if not _is_placeholder(text[start:end]):
            yield Secret(start, end, kind)
            if kind == "aws key id":
                second = compiled(_AFTER_AWS_ID).search(text, end, end + 240)
                if second and _is_mixed(second[0]):
                    yield Secret(*second.span(), "aws secret key")


_AFTER_AWS_ID = r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])"
"""The secret that follows an AWS key id within a line or two; it has no prefix of its own."""


def _is_mixed(value: str) -> bool:
    """Whether a value has upper-case and lower-case letters and digits."""
    return any(map(str.isupper, value)) and any(map(str.islower, value)) and any(map(str.isdigit, value))


def _is_placeholder(value: str) -> bool:
    """Whether a value is only a placeholder for a key: ``ghp_xxxxxxxx``, ``sk-...``."""
    body = value[4:].strip("xX*.•…_-")
    return len(body) < 4


def _find_in_addresses(text: str) -> Iterator[Secret]:
    """Yield the passwords in addresses."""
    for match in compiled(ADDRESS).finditer(text):
        if not compiled(PLACEHOLDER).fullmatch(match[1]):
            yield Secret(*match.span(1), "password")


def _find_private_keys(text: str) -> Iterator[Secret]:
    """Yield private keys from BEGIN to END, or if END is missing as far as the text looks like a key."""
    start = None
    for match in compiled(
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
    for match in compiled(r"Private-Lines: ?\d{1,4}((?>(?:[\s>]|\\[nr]|[A-Za-z0-9+/=]{16,}+)*))").finditer(text):
        yield Secret(*match.span(1), "private key")


def _key_end(text: str, start: int) -> int:
    """Return where the body of a private key that begins at ``start`` ends."""
    header = r"(?:Proc-Type|DEK-Info|Version|Comment): [^\r\n]{0,200}"
    mark = rf"{LIST_MARK}(?={MARKS}[A-Za-z0-9+/=]{{16}})|\|(?=[ \t]*[\r\n])"
    lines = rf"(?>(?:[\s>]|\\[nr]|{mark}|{header}|[A-Za-z0-9+/=]{{16,}}+)*)(?:[A-Za-z0-9+/]{{0,15}}=={{0,2}})?"
    match = compiled(lines).match(text, start)
    return match.end() if match else start


# -- the table: what each provider's keys look like, and the words beside which a value is one
#
# Sources: the published formats of the providers, and the rules of gitleaks and betterleaks (MIT) and detect-secrets
# (Apache-2.0), which agree on most of them. They are rewritten for notes instead of code: no rule looks at a file's
# name, a match extends to the end of its run so that no part of a key is left, and publishable keys (``pk_live_…``,
# Sentry DSNs) and mere account names do not count.


_B = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""Boundary before a short prefix: no letter or digit before it, or the ``\\n`` of a quoted text."""

_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

_SHORT_PREFIXES = "fc-|m0-|e2b_|dtn_|crsr_|llx-|rpa_|flp_|nbp_|mzp_|xau_|phx_|QN_|jina_"
"""Beginnings of keys without another separator: a name in a text may begin so, too."""
_LONG_PREFIXES = (
    "apify_api_|bb_live_|ctx7sk-|esecret_|sk_car_|hcaik_|hcamk_|xaat-|xapt-|pylf_v1_|mlsn.|sktsec_|pdl_live_|pdl_sdbx_|"
    "polar_oat_|sk-helicone-|dbtu_|dbtc_|AVNS_|mdb_sa_sk_|CCDB1_|signkey-|os_v2_app_|tr_prod_|tr_dev_|tr_pat_|sgamp_user_|"
    "cal_live_|n8n_api_|snyk_uat.|snyk_sat.|dnsimple_a_|nyk_v0_|secret-live-|secret-test-"
)

PREFIXED: tuple[tuple[str, str, str], ...] = (
    # kind, hints (`|` between), pattern. The pattern is only compiled if the text holds a hint; a match begins with the
    # hint, unless the hints begin with a star.
    ("aws key id", "AKIA|ASIA|ABIA|ACCA|A3T", _B + r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    ("aws bedrock key", "bedrock-api-key-", r"bedrock-api-key-[A-Za-z0-9+/=]{20,}"),
    ("aws session token", "IQoJ|FwoG|FQoG", r"(?<![A-Za-z0-9+/])(?:IQoJ|FwoG|FQoG)[A-Za-z0-9+/]{80,}={0,2}"),
    ("google api key", "AIza", r"AIza[A-Za-z0-9_-]{35,}"),
    ("google client secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{24,}"),
    ("google access token", "ya29.", r"ya29\.[A-Za-z0-9_.-]{20,}"),
    ("google refresh token", "1//0", _B + r"1//0[A-Za-z0-9_-]{30,}"),
    ("azure client secret", "*Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("azure key", "AccountKey|SharedAccessKey", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})"),
    (
        "azure key",
        "*JQQJ99|AACZ|ACDb|APIM|AzSe|AzCa|+ASt|+ABa|+AMC|AzFu|ACRA",
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{32,76}(?:JQQJ99|A(?:zSe|zCa|zFu|PIM|CDb)|\+A(?:St|Ba|MC|CRA))[A-Za-z0-9+/]{4,32}",
    ),
    ("azure devops token", "*AZDO", r"(?<![A-Za-z0-9])[A-Za-z0-9]{52,76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    ("azure signature", "*sig=", r"[?&;]sig=([A-Za-z0-9%+/_-]{40,}={0,2})"),
    ("signed url", "*Signature=", r"(?:X-(?:Amz|Goog)-|[?&])Signature=([A-Za-z0-9%+/~_=-]{32,})"),
    ("private calendar", "*/private-", r"/ical/[^\s/]{1,200}/private-([0-9a-f]{32})(?![0-9a-f])"),
    ("signed url", "X-Amz-Security-Token=", r"X-Amz-Security-Token=([A-Za-z0-9%+/=_-]{40,})"),
    ("github token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github token", "github_pat_", r"github_pat_[A-Za-z0-9_]{36,}"),
    (
        "gitlab token",
        "gl",
        r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|rtr|cbt|ptt|ft|soat|agent|oas|imt|ffct|wt)-[A-Za-z0-9_.=-]{20,}",
    ),
    ("gitlab runner token", "GR1348941", r"GR1348941[A-Za-z0-9_-]{20,}"),
    ("atlassian token", "ATATT3|ATCTT3|ATBB|ATOA", r"(?:ATATT3|ATCTT3|ATBB|ATOA)[A-Za-z0-9_=-]{24,}"),
    ("slack token", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    ("slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    ("slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})"),
    ("discord webhook", "*/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(\d{15,22}/[A-Za-z0-9_-]{40,})"),
    (
        "discord token",
        "*.",
        r"[MNO](?<![A-Za-z0-9_.-].)[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}(?![A-Za-z0-9_-])",
    ),
    ("matrix token", "syt_", r"syt_[A-Za-z0-9+/=]{2,200}_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    ("discord token", "mfa.", _B + r"mfa\.[A-Za-z0-9_-]{80,}"),
    ("teams webhook", "outlook.office.com", r"outlook\.office\.com/webhook/([A-Za-z0-9@/_-]{60,})"),
    ("teams webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/_-]{60,})"),
    ("zapier webhook", "hooks.zapier.com", r"hooks\.zapier\.com/hooks/[a-z]{5,10}/(\d{4,}/[A-Za-z0-9]{5,})"),
    ("make webhook", "*.make.com/", r"hook\.[a-z0-9]{3,5}\.make\.com/([a-z0-9]{30,})"),
    ("ifttt key", "maker.ifttt.com", r"maker\.ifttt\.com/\S{0,100}?(?:use|key)/([A-Za-z0-9_-]{20,})"),
    ("telegram bot token", "*:A", r"(?<![A-Za-z0-9])\d{7,12}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9_-])"),
    (
        "stripe key",
        "*k_live_|k_test_|k_prod_|k_org_",
        r"(?<![A-Za-z0-9])[sr]k_(?:org_)?(?:live|test|prod)_[A-Za-z0-9_]{10,}",
    ),
    ("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=_-]{24,}"),
    ("anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openrouter key", "sk-or-", r"sk-or-v1-[A-Za-z0-9_-]{20,}"),
    ("openai key", "sk-", _B + r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("api key", "sk-", _B + r"sk-(?:[a-z0-9]{2,8}-)?(?:[A-Za-z0-9]{20,}|" + _ID + r")[A-Za-z0-9_-]*"),
    ("api key", _SHORT_PREFIXES, _B + rf"(?:{_SHORT_PREFIXES})[A-Za-z0-9]{{32,}}"),
    (
        "api key",
        _LONG_PREFIXES,
        _B + rf"(?:{_LONG_PREFIXES})(?=[\w.-]{{0,80}}?(?:\d[A-Za-z]|[a-z][A-Z]))[A-Za-z0-9_.-]{{19,}}",
    ),
    ("google api key", "AQ.", r"(?<![A-Za-z0-9.])AQ\.[A-Za-z0-9_-]{40,}"),
    ("huggingface token", "hf_|api_org_", _B + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("groq key", "gsk_", _B + r"gsk_[A-Za-z0-9]{40,}"),
    ("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("replicate token", "r8_", _B + r"r8_[A-Za-z0-9]{36,}"),
    ("xai key", "xai-", _B + r"xai-[A-Za-z0-9]{60,}"),
    ("fireworks key", "fw_", _B + r"fw_[A-Za-z0-9]{20,}"),
    ("together key", "tgp_v1_", r"tgp_v1_[A-Za-z0-9_-]{30,}"),
    ("pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    ("langsmith key", "lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}"),
    ("elevenlabs key", "sk_", _B + r"sk_[0-9a-f]{48}(?![A-Za-z0-9])"),
    ("cerebras key", "csk-", _B + r"csk-[a-z0-9]{40,}"),
    ("nvidia key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("tavily key", "tvly-", r"tvly-[A-Za-z0-9-]{20,}"),
    ("kaggle token", "KGAT_", r"KGAT_[A-Za-z0-9]{30,}"),
    ("npm token", "npm_", _B + r"npm_[A-Za-z0-9]{36,}"),
    ("pypi token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("rubygems key", "rubygems_", r"rubygems_[0-9a-f]{48,}"),
    ("nuget key", "oy2", r"(?<![A-Za-z0-9])oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("crates.io token", "cio", r"(?<![A-Za-z0-9])cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("clojars token", "CLOJARS_", r"CLOJARS_[A-Za-z0-9]{60,}"),
    ("docker token", "dckr_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    ("digitalocean token", "*_v1_", _B + r"do[opr]_v1_[0-9a-f]{64,}"),
    ("heroku key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    ("fly token", "fo1_|fm1|fm2_", _B + r"(?:fo1_[A-Za-z0-9_-]{43,}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{80,}={0,3})"),
    ("netlify token", "nfp_", _B + r"nfp_[A-Za-z0-9]{36,}"),
    ("vercel token", "vc|vercel_blob", _B + r"(?:vc[piark]_[A-Za-z0-9]{50,}|vercel_blob_rw_[A-Za-z0-9_]{30,})"),
    ("render key", "rnd_", _B + r"rnd_[A-Za-z0-9]{28,}"),
    ("supabase key", "sbp_|sb_secret_", _B + r"(?:sbp_[0-9a-f]{40,}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("planetscale token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_=.-]{32,}"),
    ("neon key", "napi_|npg_", _B + r"(?:napi_[a-z0-9]{40,}|npg_[A-Za-z0-9]{12,})"),
    ("twilio key", "SK", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("sendgrid key", "SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("mailgun key", "key-", r"(?<![A-Za-z0-9-])key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailchimp key", "*-us", r"(?<![A-Za-z0-9])[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("brevo key", "xkeysib-|xsmtpsib-", r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend key", "re_", _B + r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("facebook token", "EAA", r"(?<![A-Za-z0-9])EAA(?:CEdEose0cBA[A-Za-z0-9]{10,}|[A-Za-z0-9]{90,})"),
    ("firebase key", "AAAA", r"(?<![A-Za-z0-9])AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,}"),
    ("amazon mws token", "amzn.mws.", r"amzn\.mws\.[0-9a-f-]{36}"),
    ("aws appsync key", "da2-", _B + r"da2-[a-z0-9]{26}(?![A-Za-z0-9])"),
    ("grafana token", "eyJrIjoi", r"(?<![A-Za-z0-9])eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}"),
    ("scalingo token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{48,}"),
    ("paseto token", "v1.|v2.|v3.|v4.", r"(?<![A-Za-z0-9])v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{40,}"),
    ("instagram token", "IGQ", r"(?<![A-Za-z0-9])IGQ[A-Za-z0-9_-]{90,}"),
    ("twitter bearer token", "AAAAAAAAAAAAAAAA", r"(?<![A-Za-z0-9%])A{18,22}[A-Za-z0-9%]{60,}"),
    ("shopify token", "shp", _B + r"shp(?:at|ca|pa|ss|ua)_[0-9a-fA-F]{32,}"),
    ("square token", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    ("square token", "EAAA", r"(?<![A-Za-z0-9])EAAA[A-Za-z0-9_-]{56,64}(?![A-Za-z0-9_-])"),
    ("paypal token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{13,20}\$[0-9a-f]{32}"),
    ("adyen key", "AQE", r"(?<![A-Za-z0-9])AQE[A-Za-z0-9]{5,9}hmfx?[A-Za-z0-9+/=.^&{}\[\]()<>_-]{40,}"),
    ("plaid token", "access-", r"(?<![A-Za-z0-9])access-(?:sandbox|development|production)-" + _ID),
    ("razorpay key", "rzp_", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("mercado pago token", "APP_USR-", r"APP_USR-[0-9]{10,}-[0-9]{4,}-[0-9a-f]{20,}[A-Za-z0-9_-]*"),
    ("flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("notion token", "ntn_", _B + r"ntn_[A-Za-z0-9]{40,}"),
    ("notion token", "secret_", _B + r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("modal key", "ak-|as-", _B + r"a[ks]-(?=[a-z]{0,20}[A-Z0-9])[A-Za-z0-9]{22}(?![A-Za-z0-9-])"),
    ("airtable token", "pat", r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("figma token", "fig", _B + r"fig[dou]r?_[A-Za-z0-9_-]{36,}"),
    ("asana token", "*0/|1/|2/", r"[012](?<![A-Za-z0-9/].)/\d{13,20}(?:/\d{13,20})?:[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("dropbox token", "sl.", r"(?<![A-Za-z0-9])sl\.(?:u\.)?[A-Za-z0-9_-]{100,}"),
    ("postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("hubspot token", "pat-", _B + r"pat-(?:na|eu|ap)\d-" + _ID),
    ("launchdarkly key", "sdk-|api-", _B + r"(?:sdk|api)-" + _ID),
    ("deepl key", "*:fx", _B + _ID + r":fx\b"),
    ("clickup token", "pk_", _B + r"pk_\d{6,9}_[A-Z0-9]{32}(?![A-Za-z0-9])"),
    ("mollie key", "live_|test_", _B + r"(?:live|test)_(?=[A-Za-z]*\d)[A-Za-z0-9]{30}(?![A-Za-z0-9])"),
    ("new relic key", "NR", r"(?<![A-Za-z0-9])NR(?:AK|II|IQ|RA|AA|JS|SP)-[A-Za-z0-9_-]{19,}"),
    ("sentry token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("grafana token", "glsa_|glc_", _B + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/]{32,}={0,3})"),
    ("databricks token", "dapi|dose|dkea", _B + r"d(?:api|ose|kea)[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    ("dynatrace token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("vault token", "hvs.|hvb.|hvr.", _B + r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("terraform token", "*.atlasv1.", r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    ("pulumi token", "pul-", _B + r"pul-[0-9a-f]{40}(?![A-Za-z0-9])"),
    ("doppler token", "dp.", _B + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}"),
    ("1password key", "A3-", _B + r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("1password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/_-]{100,}={0,3}"),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("artifactory token", "AKCp|cmVmd", r"(?<![A-Za-z0-9])(?:AKCp[A-Za-z0-9]{60,}|cmVmd[A-Za-z0-9]{55,})"),
    ("sonar token", "sq", _B + r"sq[paub]_[0-9a-f]{40}(?![A-Za-z0-9])"),
    ("circleci token", "CCI", r"CCI(?:PAT|PRJ)_[A-Za-z0-9_]{30,}"),
    ("buildkite token", "bk", _B + r"bk(?:ua|aj|ct)_[A-Za-z0-9]{32,}"),
    ("prefect key", "pn", _B + r"pn[ub]_[A-Za-z0-9]{36,}"),
    ("readme key", "rdme_", r"rdme_[a-z0-9]{60,}"),
    ("typeform token", "tfp_", _B + r"tfp_[A-Za-z0-9_.=-]{40,}"),
    ("tailscale key", "tskey-", r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{10,}(?:-[A-Za-z0-9]{16,})?"),
    ("cloudflare token", "cf", _B + r"cf(?:ut|at|k)_[A-Za-z0-9_-]{36,}"),
    ("cloudflare origin key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("alibaba key id", "LTAI", r"(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{12,20}(?![A-Za-z0-9])"),
    ("tencent key id", "AKID", r"(?<![A-Za-z0-9])AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    (
        "yandex key",
        "AQVN|y0_|t1.9eu",
        r"(?<![A-Za-z0-9])(?:AQVN[A-Za-z0-9_-]{35,}|y0_[A-Za-z0-9_-]{50,}|t1\.9eu[A-Za-z0-9_.-]{60,})",
    ),
    ("contentful token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    ("shippo token", "shippo_", r"shippo_(?:live|test)_[0-9a-fA-F]{40}"),
    ("easypost key", "EZAK|EZTK", _B + r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("duffel token", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}"),
    ("frame.io token", "fio-u-", r"fio-u-[A-Za-z0-9_=-]{60,}"),
    ("octopus key", "API-", _B + r"API-[A-Z0-9]{26}(?![A-Za-z0-9])"),
    ("openshift token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    ("infracost key", "ico-", _B + r"ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("maxmind key", "*_mmk", r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("sourcegraph token", "sgp_", r"sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}"),
    ("mapbox token", "sk.eyJ", r"(?<![A-Za-z0-9])sk\.eyJ[A-Za-z0-9_-]{30,}\.[A-Za-z0-9_-]{15,}"),
    ("wandb key", "wandb_v1_", r"wandb_v1_[A-Za-z0-9_]{40,}"),
    ("web token", "eyJ", r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    ("web token", "eyJ", r"(?<![A-Za-z0-9_.-])eyJ[A-Za-z0-9_-]{12,}(?:\.[A-Za-z0-9_-]{0,4096}){4}"),
    ("wallet key", "xprv|yprv|zprv|tprv", r"(?<![A-Za-z0-9])[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("nostr key", "nsec1", r"(?<![A-Za-z0-9])nsec1[02-9ac-hj-np-z]{58}(?![a-z0-9])"),
    ("password hash", "$2", r"\$2[abxy]\$\d\d\$[A-Za-z0-9./]{53}"),
    ("password hash", "$argon2", r"\$argon2(?:id|i|d)\$[A-Za-z0-9$=,+/.]{40,}"),
    ("password hash", "$6$|$5$|$y$|$1$|$apr1$", r"\$(?:6|5|y|1|apr1)\$[A-Za-z0-9./$=]{22,}"),
    ("one-time password secret", "otpauth-migration://", r"otpauth-migration://offline\?data=([A-Za-z0-9%+/=_-]{20,})"),
    ("one-time password secret", "otpauth://", r"otpauth://[^\s\"'<>]{0,512}?[?&]secret=([A-Za-z2-7]{12,}=*)"),
)
"""Credentials with a shape of their own. If a pattern has a group, the group is the credential."""

ADDRESS = (
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s:@/\"'<>]{0,256}:"
    r"([^\s/\"'<>]{1,256}|(?!\d{1,5}[/?#])[^\s@\"'<>]{1,256})@(?=[A-Za-z0-9\[.$_{%-])"
)
"""``scheme://user:password@host``; the group is the password, which may hold an unescaped ``/``."""

_COOKIE = (
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9_.-]{0,40}?(?:SESSI(?:ON)?ID\w{0,12}|[Ss]ess(?:ion)?(?:[._-]?(?:[Ii]d|[Tt]oken|[Kk]ey))?"
    r"|PSID(?:TS|CC)?|[._-]sid|remember_\w{0,50}|logged_in_\w{0,50})|\.AspNet\w{0,20}\.\w{1,40}|sid|li_at|SAPISID|HSID|SSID)"
    r"=[\"']?(?=[^\s\"';,(]{0,80}\d[^\s\"';,(]{0,80}\d)(?![<${])([^\s\"';,(]{16,})"
)
_PGPASS = (
    r"(?<![^\s>*`\"'(])(?![\"'`\[]?[0-9a-fA-F:]{1,80}(?:[\s/\"'\])%]|$)|[^\s:]{1,128}\.(?:md|txt|[ch]|cpp|py|[jt]sx?|go|rs|java|rb|log):)"
    r"(?:\*|localhost|/[^\s:]{0,100}|[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,8}|(?:[^\s:\\]|\\.){1,128})"
    r":(?:\*|\d{3,5}):(?!\d+:)(?:[^\s:\\]|\\.){1,128}:(?!\d+:)(?:[^\s:\\]|\\.){1,128}:((?:[^\s:\\`]|\\.)(?:[^\s\\`]|\\.){2,})"
)
_WIFI = r"(?i)\bWIFI:(?:[A-Z0-9]{1,4}:(?>(?:[^;\\\r\n]|\\.){0,64});[ \t]?){0,8}?P:((?:[^;\\\r\n]|\\.)+)"

_WORD = r"[ \t]+[^\s;|&,-][^\s;|&,]{0,200}"
_LOGIN = (
    r"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|az)[ \t]+(?:[^\s;|&,]{1,200}[ \t]+){0,2}login"
    rf"(?:{_WORD})?(?:[ \t]+-[\w=-]{{1,200}}(?:{_WORD}){{0,2}}){{0,4}}?[ \t]+-p[ \t=]*[\"']?([^\s\"'$-][^\s\"']{{3,}})"
)
"""A command that logs in, its server and options before that of the password: another command's ``-p`` is a port."""
_SUDO = (
    r"\b(?:echo|printf)[ \t]+(?:-n[ \t]+)?[\"']?((?<=[\"'])[^\"'|$\r\n]{3,}|[^\s\"'|$]{3,})[\"']?"
    r"[ \t]*\|[ \t]*sudo[ \t]+(?:-\w{0,8}S|--stdin)\b"
)

COMMANDS: tuple[tuple[str, str, str], ...] = (
    # kind, hints (`|` between), pattern
    ("password", "curl", r"\bcurl\b[^\r\n]{0,200}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:([^\s\"']{3,})"),
    ("password", "mysql", r"\bmysql\w{0,8}\b[^\r\n]{0,120}?\s-p([^\s\"'-][^\s\"']{3,})"),
    ("password", "sshpass", r"\bsshpass\s+-p\s*[\"']?([^\s\"']{3,})"),
    ("password", "redis-cli", r"\bredis-cli\b[^\r\n]{0,120}?\s(?:-a|--pass)\s+[\"']?([^\s\"']{4,})"),
    ("password", "login", _LOGIN),
    ("password", "sudo", _SUDO),
    ("password", "login", r"\blogin\s{1,4}\S{1,128}\s{1,4}password\s{1,4}(\S{3,})"),
    ("session cookie", "SESSI|sess|Sess|sid=|SID|remember_|logged_in_|li_at=|.AspNet", _COOKIE),
    ("wifi password", "WIFI:|wifi:|Wifi:", _WIFI),
    ("password", ":", _PGPASS),
)
"""Passwords at a known place in a command, a header, a QR code's text or a line of ``.pgpass``."""

STRONG = (
    "password passwd passwort passphrase passcode pwd kennwort contraseña contrasena senha wachtwoord wachtzin hasło haslo "
    "lösenord losenord salasana heslo şifre пароль 密码 密碼 パスワード 비밀번호 "
    "adgangskode jelszó jelszava κωδικός סיסמה סיסמא पासवर्ड รหัสผ่าน "
    "kodeord passord lozinka лозинка geslo slaptažodis contrasenya парола гасло 口令 패스워드 비번 암호 باسورد باسوورد"
)
"""Words for a password; the value after one counts even if it is short."""

SPOKEN = ("de passe", "parola d'ordine", "palavra-passe", "palavra passe", "pass", "pw", "psk", "mdp",
    "parola", "clave", "mật khẩu", "kata sandi", "كلمة السر", "كلمة المرور", "الرقم السري", "رمز عبور",
)  # fmt: skip
"""Like :data:`STRONG`, but of several words, or too short to be looked for inside other words."""

PASSWORDS = (
    "passwords|passcodes|passwörter|kennwörter|mots de passe|contraseñas|contrasenas|senhas|wachtwoorden|hasła|hesla|lösenord|"
    "пароли|密码|密碼|パスワード|비밀번호|credentials|logins|zugangsdaten"
)
"""Words for several passwords; a pattern."""

MEDIUM = (
    "secret",
    "token",
    "api key|api-key|api_key|apikey|api.key",
    "access key|access-key|access_key|accesskey",
    "private key|private-key|private_key|privatekey",
    "credential",
    "bearer",
    "auth|authorization",
    "recovery code|backup code|recovery key|security code",
    "zugangsdaten|schlüssel|geheimnis|clé|chiave|chave|sleutel|klucz|キー|密钥|密鑰|totp|2fa",
)
"""Words for credentials of programs; the value after one only counts if it looks machine-made."""

KEY_OF = (
    "encryption|signing|master|license|licence|account|storage|shared|subscription|deploy|app|application|consumer|"
    "service|admin|root|webhook|recovery|backup|wifi|wi-fi|wlan|wpa|wpa2|network|security|integration|client|server|bot|"
    "product|activation|session|jwt|hmac|aes|rsa|user|live|prod|production|setup|authenticator|2fa|totp|otp"
)
"""Words that make a ``key`` after them that of a program; a mere ``key`` may belong to a map, a song or a table."""

PROVIDERS = (
    "adafruit adobe algolia amplitude asana assemblyai auth0 aws azure binance bitbucket bittrex cloudflare codecov "
    "cohere coinbase confluence confluent contentful datadog deepgram deepseek digitalocean discord dropbox droneci "
    "elastic etsy facebook fastly finnhub firebase flickr freshbooks gitea grafana heroku hetzner hubspot intercom "
    "jenkins jira kraken kucoin launchdarkly linear linkedin linode lob mailgun mapbox mattermost messagebird mistral "
    "mixpanel netlify newrelic ngrok nytimes okta openai openweather ovh pagerduty paypal plaid postmark rapidapi "
    "reddit replicate rollbar segment sendbird sendgrid sentry shodan slack snyk sonarqube splunk spotify square squarespace "
    "stability stripe sumologic telegram tiktok todoist travis trello twilio twitch twitter typeform unsplash vultr "
    "wandb weaviate yelp zendesk zoho zoom"
)
"""Services whose keys have no prefix: a long random value after the name and a colon or equals sign counts."""

CODES = (
    r"(?:recovery|back-?up|rescue|emergency|scratch|one[- ]?time|single[- ]use|2fa|mfa|two[- ]factor|security)(?:[ _-]?codes?|(?=\]\())",
    r"(?:wiederherstellungs|sicherheits|notfall|ersatz|einmal)-?codes?",
    r"(?:herstel|reserve|nood)-?codes?",
    r"codes?[ ]de[ ](?:r[ée]cup[ée]ration|secours|sauvegarde|s[ée]curit[ée])",
    r"c[óo]digos?[ ]de[ ](?:recuperaci[óo]n|recupera[çc][ãa]o|respaldo|emerg[eê]ncia|seguridad|seguran[çc]a|back-?up)",
    r"codic[ei][ ]di[ ](?:recupero|riserva|emergenza|sicurezza|back-?up)",
    r"kody?[ ](?:zapasow\w{1,3}|odzyskiwania)",
    r"(?:резервн|запасн)\w{1,4}[ ]код\w{0,3}|код\w{0,3}[ ]восстановления",
    r"(?:恢复|恢復|备用|備用|备份|備份|救援)(?:验证|驗證)?[代]?[码碼]|(?:リカバリー|バックアップ|復旧|回復)コード|(?:복구|백업)[ ]?코드",
)
"""Words for codes of which a person keeps a list; patterns, in lower case."""

LOCKS = (
    r"safe|padlock|lock[ -]?box|key[ -]?(?:pad|safe|box)|tresor|(?:vorhänge|zahlen)schloss|schlüssel(?:box|kasten|safe)|"
    r"coffre(?:-fort)?|cadenas|digicode|caja fuerte|candado|cassaforte|lucchetto|cofre|cadeado|kluis|sejf|kłódk|domofon|"
    r"домофон|сейф|门锁|門鎖|保险箱|金庫"
)
"""Words for what has a code and no other number; a pattern, in lower case."""

THINGS = (
    r"(?:[^\W\d_]{0,8})(?:door|tür|deur)s?|gates?|gara[gjż]|locker|(?:garagen|hof)?tor|[^\W\d_]{0,12}schloss|porte|portail|immeuble|puerta|portal|"
    r"port(?:a|one)|cancello|port[ãa]o|poort|drzwi|bram|двер|ворот|门禁|玄関|"
    r"alarm[^\W\d_]{0,6}|allarme|сигнализаци|(?:[^\W\d_]{0,8} )?lock|[^\W\d_]{0,10}slot"
)
"""Words for what a code of digits opens and that may have other numbers, such as a time; a pattern, in lower case."""

CARDS = (
    r"(?:[^\W\d_]{0,8})(?:card|karte)|carte|tarjeta|carta|cart[ãa]o|pas|kart|bancomat|cajero|secre[^\W\d_]{1,2}|segret[oa]|confidentiel|sim|"
    r"[^\W\d_]{0,10}(?:phone|handy)|t[eé]l[eé]fon|m[óo]vil|telem[óo]vel|unlock"
)
"""Words for what a code of four digits or more opens: a phone has that of an area, too; a pattern, in lower case."""

WAYS = r"access|zugangs?|zutritts?|entr(?:y|ée|ada|ata)|acc[eè]s(?:o|so)?|acesso|toegangs?|dostęp"
"""Words for a way in, which a program has, too, with codes of three digits such as 404; a pattern, in lower case."""

LOGINS = (
    r"log-?[io]n|sign-?in|username|zugang|benutzername|identifiants?|accès|acceso|accesso|acesso|inlog|toegang|dostęp"
)
"""Words before the name of a user and a password; a pattern, in lower case. None for a user or an account: those of
money, too, have names with a slash."""

IBAN = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 "
    "FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 "
    "LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 "
    "RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"
)
"""Country and length of each bank account number (SWIFT, IBAN registry, release 99)."""


def _seed_phrases(low: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the seed phrases in a text in lower case: words of BIP-0039 with the right checksum,
    or any words after a label.

    The words may be numbered, or in a table.
    """
    if compiled(_NO_WORD).search(low):
        low = compiled(_NO_WORD).sub(lambda tag: " " * len(tag[0]), low)
    known = _seed_words()
    listed = bytes(map(known.__contains__, compiled(r"[a-z]+").findall(low)))
    for run in (
        ()
        if b"\1" * 12 not in listed
        else compiled(rf"(?<![^\W_]){_LISTED_WORD}(?:{_WORD_GAP}{_LISTED_WORD}){{11,}}").finditer(low)
    ):
        of_list: list[re.Match[str]] = []
        for word in compiled(r"[a-z]+").finditer(low, *run.span()):
            if word[0] in known:
                of_list.append(word)
                continue
            yield from _seeds_among(of_list)
            of_list = []
        yield from _seeds_among(of_list)
    if not any(stem in low for stem in _PHRASE_STEMS):
        return
    for label in compiled(_PHRASE).finditer(low):
        line = low.find("\n", label.end())
        for pattern, last in (_ONE_A_LINE, None), (_WORDS_IN_ROW, line), (_WORDS_IN_ROW, None):
            words = compiled(pattern).match(low, label.end(), len(low) if last is None else last)
            if words and (end := _phrase_end(low, *words.span(1))):
                yield words.start(1), end, "seed phrase"
                break


def _phrase_end(low: str, start: int, end: int) -> int | None:
    """Return the end of the phrase among words after a label; None if they are not a phrase.

    Args:
        low: the text in lower case.
        start: of the first word.
        end: of the last one.
    """
    words = [*compiled(r"[^\W\d_]+").finditer(low, start, end)]
    numbers = len(re.findall(r"\d+", re.sub(CLOCK, "", low[start:end])))
    known = sum(word[0] in _seed_words() for word in words)
    whole = known >= _KNOWN or not compiled(_GOES_ON).match(low, end)
    plain = compiled(r"(?:[a-z]{3,8}[ \t,]{1,2}){11,23}[a-z]{3,8}").fullmatch(low, start, end)
    if numbers >= len(words) - 1 or (plain and whole):
        return end
    for count in () if numbers > 0 else (25, *reversed(SEED_WORDS)):  # 25 of Monero; several lines have equally many
        last = words[count - 1].end() if count <= len(words) else -1
        if last >= 0 and not compiled(_GOES_ON).match(low, last):
            bullets = re.split(r"[\r\n]+[ \t>]*[-*+][ \t]", low[start:last])
            rows = [len(re.findall(r"[^\W\d_]+", bullet)) for bullet in bullets]
            full = rows[-1] == rows[0] or (rows[-1] < rows[0] and rows[0] not in SEED_WORDS)
            if len({*rows[:-1]}) < 2 and full:
                return last
    return None


_KNOWN = 10
"""Minimum number of words of BIP-0039 in a phrase within a sentence, for a person may have mistaken one or two."""
_GOES_ON = r"[ \t,;]*\w"
"""The text behind a phrase if its line goes on."""
_PHRASE_STEMS = (
    *("phrase", "frase", "seed", "mnem", "t word", "y word", "p word", "herstel", "satz", "助", "ニーモ", "シード"),
    *("니모", "시드", "сид", "мнем"),
)
"""Every label of a seed phrase has one of these."""
PHRASES = (
    r"(?:seed|recovery|secret|backup|mnemonic|wallet)[ -]?(?:phrase|words?|seed)|mnemonic|"
    r"(?:seed|wiederherstellungs|mnemonische?r?)[ -]?(?:phrase|wörter|satz)|"
    r"phrase[ ](?:de[ ](?:r[ée]cup[ée]ration|secours)|secr[èe]te|mn[ée]monique|seed)|"
    r"frase[ ](?:de[ ](?:recuperaci[óo]n|recupera[çc][ãa]o)|di[ ]recupero|semilla|seed|mnem[óo]nica|secreta|segreta)|"
    r"(?:herstel|seed)[ -]?(?:zin|woorden)|助记词|助記詞|ニーモニック|シードフレーズ|니모닉|시드[ ]?구문|"
    r"сид[ -]?фраз\w{0,2}|мнемони\w{0,10}"
)
"""Words for a wallet's recovery words; a pattern, in lower case."""

_PHRASE = (
    rf"(?:{PHRASES})[^\r\n:=：]{{0,40}}?"
    rf"(?:[\"'`*]{{0,2}}[ \t]*(?:[:=：]|\b{IS_VERB}\b|(?=\n))[\"'`*]{{0,2}})[\"'`*]{{0,3}}"
)
_LISTED_WORD = r"[a-z]{3,8}+(?![^\W\d_])"
"""A word as long as those of BIP-0039. A run of them ends with any: if the last had to be followed by no digit, as in
``secret9``, the search would try each of the words before it as the last, for each as the first.
"""
_PHRASE_WORD = r"(?:[^\W\d_]{3,12}|[^\W\d_\x00-\u024f]{1,2})"
"""A word of a wallet's list: those of the lists in Latin letters have three letters and more."""
_WORD_GAP = r"(?>(?:[\s|>*_`,;()\[\]-]|(?<!\d)\d{1,2}(?:[.):]|(?!\w))){1,64})"
"""Text between two words of a phrase: blanks, line breaks, bullets, cell borders, numbers."""
_NO_WORD = r"[#^[](?:(?<=[ \t][#^])[\w/-]{1,32}(?=[ \t]*(?:[\r\n]|\Z))|(?<=[-*+\d][ \t]\[)\w{1,12}\](?=[ \t]))"
"""A tag or a block id at the end of a line, or a state or a box, such as every word of a phrase may have."""
_LIST_MARKS = rf"(?>\s*{MARKS}[>*_`+-]*[ \t]*(?:\d{{1,2}}[.):]?[ \t]+)?)"
_WORDS_IN_ROW = rf"(?:{_WORD_GAP})?({_PHRASE_WORD}(?:{_WORD_GAP}{_PHRASE_WORD}){{11,24}})(?!\w)"
_ONE_A_LINE = (
    rf"[^\S\r\n]*[\r\n]{_LIST_MARKS}"
    rf"((?>{_PHRASE_WORD}(?:[ \t]*[\r\n]{_LIST_MARKS}{_PHRASE_WORD}(?=[ \t]*(?:[\r\n]|\Z))){{11,24}}))"
)
"""Lines of one word each: whatever words a line below them has, the phrase ends before it."""


def _seeds_among(words: Sequence[re.Match[str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the seed phrases in consecutive words of the list; words of prose around them may be in the list too.

    One in sixteen sequences of words passes the check by chance, so prose that repeats itself must not count: if there
    are more words than a seed has, half of the seed's words must be different.
    """
    known = _seed_words()
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
"""Possible numbers of words of a seed; every word stands for 11 bits (BIP-0039)."""


def _is_seed(numbers: Sequence[int]) -> bool:
    """Whether the checksum of a seed is right: one bit of SHA-256 per 32 bits of entropy (BIP-0039), or Electrum's.

    Electrum takes its 12 words from the same list.

    Args:
        numbers: numbers of the words in the list.
    """
    bits = 11 * len(numbers)
    check = bits // 33
    whole = 0
    for number in numbers:
        whole = whole << 11 | number
    entropy = (whole >> check).to_bytes((bits - check) // 8, "big")
    if sha256(entropy).digest()[0] >> 8 - check == whole & (1 << check) - 1:
        return True
    if len(numbers) != SEED_WORDS[0]:
        return False
    words = list(_seed_words())
    version = digest(b"Seed version", " ".join(words[number] for number in numbers).encode("ascii"), sha512).hex()
    return version.startswith(ELECTRUM)


ELECTRUM = ("01", "100", "101", "102")
"""Beginnings of the HMAC of Electrum's seeds: of standard and SegWit wallets, and of both with a second factor.

https://electrum.readthedocs.io/en/latest/seedphrase.html
"""


@cache
def _seed_words() -> dict[str, int]:
    """Return the English word list of BIP-0039 (MIT), from which wallets take their seeds: number by word."""
    text = (Path(__file__).parent / "bip39.txt").read_text("ascii")
    return {word: number for number, word in enumerate(text.split())}
