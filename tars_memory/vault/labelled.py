"""Credentials without a format of their own, recognised by the label before the value.

``password: hunter22``, ``the wifi password at home is Sunflower42``, ``api_key = "…"``, ``Authorization: Bearer …``,
``PIN: 4821``. Labels are found by plain substring search, and only a bounded stretch of text around each is examined,
so that the time is linear in the length of the text.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from unicodedata import combining

from tars_memory.language.words import LANGUAGES, STOP_WORDS, is_unspaced, language
from tars_memory.vault import secrets as table
from tars_memory.vault.suspicion import CLOCK, IS_VERB, MARKS, compiled

_FIRST_READ = 256
"""Number of characters of a value that are read first; a credential is then read to its end."""
_JUDGED_LENGTH = 128
"""Number of characters by which a value is classified."""
_MAX_DISTANCE = 200
"""Maximum number of characters between a label and the beginning of its value."""

_EQUALS_SIGN = r"(?::=|=>|->|→|::?|==?|：|＝|>|(?:,|\r?\n)[ \t]{0,16}[\"']?value[\"']?[ \t]{0,2}:)"
_GLUED = r"(?:は|是|为|為|는|은)[ \t]{0,3}"
"""Words between label and value in scripts without blanks; the sentence may continue right after the value, too."""
_TAIL = r"(?P<tail>[A-Za-z0-9_-]{0,30}+)(?>(?:(?!'s\b)[\\\"'`*_\])]){0,3})(?:（[^（）\r\n]{1,20}）)?"
"""The rest of the word that a label begins, and the marks that close it."""
_BLANK = r"(?:[ \t]{1,3}|[ \t]{0,3}\r?\n[ \t>]{0,8})"
"""What is between two words of a sentence, which may be wrapped."""
_OF = (
    r"(?i:[ \t]+(?:of|for|für|vom|von|der|des|zum|zur|del(?:la)?|de|du|di|da|do|per|pour|para|van|"
    r"k|till?|от|для|до|за|του|της)[ \t])"
)
"""What leads from a noun to what it is for, as in "PIN for the card": a verb has no such word after it."""
_BETWEEN = r"(?:[ \t](?:[^\r\n:=.!?;,|]|\.(?=\w)){0,40}?)?"
"""Further words of a label, names of hosts among them."""
_WHICH = (
    r"(?:old|new|other|second|first|alte?[rs]?|neue?[rs]?|andere?[rs]?|anciene?|ancienne?|nouveau|nouvelle|autre|antigu[oa]|"
    r"viej[oa]|nuev[oa]|otr[oa]|vecchi[oa]|nuov[oa]|altr[oa]|antig[oa]|nov[oa]|outr[oa]|oude?|nieuwe?)"
)
_SCHEME = (
    rf"(?:(?:Basic|Bearer|Token|ApiKey|Digest|Negotiate|Key|AWS4-HMAC-SHA256)[ \t]+|{_WHICH}[ \t]{{0,2}}[:=]?[ \t]+"
    r"|(?:now|jetzt|nun|maintenant|ahora|adesso|agora|nu|teraz)[ \t]+)?"
)
"""Words between a colon and the value: the scheme of a header, "now", or an adjective such as "old" and "new"."""


def _label(between: str, verb: str) -> str:
    """Return the text between a label and its value: the rest of the label, the separator, and an opening quote.

    Args:
        between: pattern of further words of the label.
        verb: pattern of the verbs that lead to the value.
    """
    return (
        _TAIL + r"(?:(?P<cell>[ \t]{0,3}(?:[:=][*_]{0,2}[ \t]{0,3}(?=\|[ \t]*[^\s|]))?\|[ \t]{0,8}"
        r"|:?</(?:t[dh]|dt)>\s{0,8}<(?:td|dd)>\s{0,8})"
        r"|[ \t]{0,3}+(?P<equals>" + _EQUALS_SIGN + r")(?:[\"'`*_]{1,3}(?=[ \t]))?[\"'`*_]{0,3}?[ \t]{0,8}"
        r"(?:[|>][+-]?[ \t]{0,3}(?=\r?\n))?(?:(?:\r?\n[ \t>]{0,8})?\r?\n" + MARKS + r")?"
        r"(?:(?:\[(?=\s{0,20}\w)|[\[(])[ \t]{0,3}(?:\r?\n[ \t>]{0,16})?(?=[\"'`]|(?<=\[)\w))?"  # the first of a list
        rf"|(?P<between>{between})(?:[ \t]{{1,3}}|{_BLANK}(?=\w))(?:(?P<is>{verb})|(?P<later>{_EQUALS_SIGN}))"
        rf"[\"'`*_]{{0,3}}?{_BLANK}"
        rf"|(?P<between2>{between})(?P<later2>{_EQUALS_SIGN})[ \t]{{1,3}}"
        r"|(?P<between3>[ \t][\w'’ -]{0,40}?)(?P<later3>[:=])"
        rf"|['’]s[ \t]{{1,3}}|(?P<glued>{_GLUED})"
        r"|(?P<link>(?<=\])\()|(?P<blank>[ \t]{1,3}))"
        rf"(?i:{_SCHEME}(?:[fru](?=[\"']))?)[*_]{{0,2}}(?P<quote>\\{{0,2}}[\"'`“„«「『‘](?!\s)|«(?=[ \xa0]\S))?"
        r"(?:(?<=«)[ \xa0])?[*_]{0,2}"
    )


_LABELS = (_label(_BETWEEN + "?", IS_VERB), _label(_BETWEEN, IS_VERB), _label(_BETWEEN, "(?!)"))
"""The ways to read a label, in this order: up to the first verb, ``password is hunter22 and the user is anna``; up to a
later one, ``password is long and is …``; up to a sign after a verb, ``password is the following: …``."""

_CLOSING = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "‘": "’"}

_CLOSED = r"[.,;:)\]}>|!?*_]{0,8}(?:\s|$)|[)\]}]{0,8}[,:][)\]}]{0,8}\\?[\"'\[{]"
"""The text after a closing quote."""
_CUT = (
    r"(?P<cjk>[。，、；！？）」』】》〉])"
    # a closing quote, or one that another value follows
    rf"|\\{{0,2}}[\"'`”»’](?={_CLOSED})"
    r"|<(?=/[A-Za-z][\w-]*>|br ?/?>)"
)
"""Places in a run of non-blank characters at which a value ends: Chinese punctuation, a closing quote, a tag."""

_INTERESTING = r"[0-9!#-&*+:;=>?@\\^|~\"'`]|[a-z][A-Z]|[A-Z]{2}|[→：＝—–«「『“„]"
"""Every value, or the text between it and its label, has one of these: text without any need not be examined."""

_NAME = r"[a-z_][a-z_.]{2,}\d?[a-z_.]*"
_HARMLESS = (
    r"(?i)[a-z][a-z0-9+.-]{1,30}://.*|www\.[\w-]+\..*|[\w.+-]+@[\w-]+\.[a-z][\w.-]*|~?\.{0,2}/[a-z_./-]*\d{0,2}|[a-z]:\\.*|"
    r"v?\d+(?:[.,:/-]\d+)+[a-z%]{0,6}|\d{4}-\d\d-\d\d\S*|\d+(?:st|nd|rd|th|[a-z%€$£°]{1,4})|"
    rf"[a-z_]+(?:(?:\.|->|::)\\?[a-z_]+\d?)+|{_NAME}(?:\((?:[\"'].*|[a-z_.$]*(?:[\[(].*|,)?|.*\)[;,.)\]}}]*)|\[(?:[\"'].*|\w*\].*|[a-z_.]{{3,}}(?:\[[a-z_.]{{3,}})*,?))|"
    r"[a-z]*\]\([\w%./#:-]*\)?[.,;:)]*|.*\]\([a-z]+://.*|"
    r"ssh-\w+|ecdsa-\S+|1password|base64\S{0,4}|"
    r"(?:(?:aes|sha)-?(?:[123]|128|192|224|256|384|512)|rsa-?(?:1024|2048|3072|4096)|chacha20)(?:-(?:gcm|cbc|ctr|xts|poly1305))?|"
    r"[\w./-]+\.(?:md|txt|py|js|ts|json|ya?ml|toml|pem|key|crt|cer|pub|env|html?|go|rs|java|rb|php|sh|gpg|asc|p12|kdbx|pdf|png|jpe?g)(?::\d\S*)?|"
    r"\^[a-z0-9-]+|\^.*[\[(\\*+].*\$|//.*|``[\w+#.-]*|[a-z]\w*[._]\w*(?:\([\w.]*\)[\w.]*)+,?"
)
"""Values that are not credentials: addresses, paths, numbers, versions, dates, names and calls of a program, files, the
mark of a fence with its language.
"""


def _is_harmless(value: str) -> bool:
    """Whether a value is not a credential, or only stands for one."""
    return any(re.fullmatch(pattern, value) for pattern in (table.PLACEHOLDER, _HARMLESS))


Found = tuple[int, int, str]
"""Start, end and kind of a credential."""


def values(text: str, low: str) -> Iterator[Found]:
    """Yield start, end and kind of every credential; they may overlap.

    Args:
        text: the text.
        low: the text in lower case, as long as it.
    """
    yield from _recovery_codes(text, low)
    labels = {rank: tuple(filter(low.__contains__, words)) for rank, words in _WORDS}
    labelled = list(_after_words(text, low, labels))
    yield from labelled
    yield from _before_words(text, low, labels["strong"])
    yield from _announced(text, low)
    yield from _more_in_line(text, [found for found in labelled if found[2] == "password"])
    yield from _list_items(text, labelled)
    if "/ " in text:
        yield from _pairs(text, low)
    yield from _below_labels(text, low, labels)
    named = labels["strong"] or labels["medium"] or any(map(low.__contains__, (*_CODE_STEMS, *_PINS)))
    if "\n" in text and ("/ " in text or named):
        yield from _table_columns(text)
    yield from _numbers(text, low)
    if len(text) >= 24:
        yield from _provider_keys(text, low)


def _after_words(text: str, low: str, labels: Mapping[str, Sequence[str]]) -> Iterator[Found]:
    """Yield the values after labels.

    Args:
        text: the text.
        low: the text in lower case.
        labels: those of the labels that the text has, by rank.
    """
    wireless = any(map(low.__contains__, _NETWORKS))
    for network in compiled(_NETWORK).finditer(low) if wireless else ():
        found = _mixed_nearby(text, network.end(), "password")
        if found and not text[network.end() : found[0]].strip():
            yield found
    for rank, words in labels.items():
        for word in (*words, *_NETWORK_CODES) if rank == "weak" and wireless else words:
            at = low.find(word)
            value = -1
            while at >= 0:
                found, end = None, at + len(word)
                if value < end:
                    near = compiled(_INTERESTING).search(text, end)
                    if near is None:
                        break
                    value = near.start()
                if value - end < _MAX_DISTANCE and _is_word(low, at, end, word):
                    shared = wireless and word in _KEYS and _is_of_network(low, at, end)
                    its_rank = "strong" if shared else _rank_at(rank, low, at)
                    if shared or word not in _NETWORK_CODES:
                        found = _labelled_value(text, low, at, end, its_rank, _kind(rank, word))
                if found and not _is_public(low, at, end):
                    yield found
                at = low.find(word, max(found[1] if found else 0, at + 1))


_STRONG_WORDS = (*table.STRONG.split(), *table.SPOKEN)
_WORDS = (
    ("strong", _STRONG_WORDS),
    ("medium", tuple("|".join(table.MEDIUM).split("|"))),
    ("weak", ("key",)),
)
"""The labels by rank: how much a label by itself makes its value a credential."""


def _kind(rank: str, word: str) -> str:
    """Return the kind of credential after a label."""
    if rank == "strong":
        return "password"
    if word in ("token", "secret", "bearer", "authorization"):
        return "token" if word == "bearer" else word
    return "key" if "key" in word or rank == "weak" else "credential"


def _before_words(text: str, low: str, strong: Sequence[str]) -> Iterator[Found]:
    """Yield the passwords and PINs that a sentence tells before their label: ``hunter22 is my password``."""
    for word in (*strong, *_NUMBER_WORDS):
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            told = compiled(_TOLD_BEFORE).search(text, max(0, at - _SENTENCE_REACH), at)
            ends = compiled(_REMARK_ENDS if told and told["noted"] else _LABEL_ENDS).match(text, end)
            if told and ends and _is_label(low, at, end, word):
                name = next(name for name in ("value", "noted", "glued") if told[name])
                value = told[name]
                if word in _NUMBER_WORDS:
                    is_told = re.fullmatch(r"\d{4,8}", value) and not low[at - 1].isalpha()
                else:
                    is_told = _is_listed(value, "password", "words")
                    is_told = is_told and (told["of"] or "").strip() not in _grammar_words()
                if is_told:
                    yield (*told.span(name), "pin" if word in _NUMBER_WORDS else "password")
            elif word not in _NUMBER_WORDS and compiled(_TAGGED).match(text, end):
                line = _line_start(text, at)
                if compiled(_IN_TAG).search(text, max(line, at - 40), at) and _is_label(low, at, end, word):
                    for found in _unlabelled(text, max(line, at - _LINE_REACH), at):
                        if found[1] - found[0] >= _LONG and not re.fullmatch(_MODEL_NAME, text[slice(*found[:2])]):
                            yield found
            at = low.find(word, end)


_IN_TAG = r"(?<!\S)#(?:[\w-]+/)*\Z"
_TAGGED = r"s?(?![\w/-])"
"""The end of a tag that is a label."""
_NUMBER_WORDS = ("pin", "puk", "geheimzahl", "пин")
_SENTENCE_REACH = 100
"""Number of characters before a label that are searched for a value."""
_TOLD_BEFORE = (
    r"(?:(?<![^\s\"'`(*_„“«])(?P<value>[^\s\"'`(*_„“«][^\s\"'`*]{3,64})[\"'`*_”»]{0,3}"
    r"[ \t]+(?:is|was|ist|war|est|était|es|era|è|é|jest|to)[ \t]+"
    r"(?i:the|my|our|your|his|her|their|das|die|mein|meine|unser|unsere|dein|deine|ihr|ihre|sein|seine|le|mon|notre|ton|votre|"
    r"son|el|la|mi|nuestra|tu|su|il|mia|nostra|o|a|minha|nossa|sua|het|de|mijn|ons|onze|jouw|moje|mój|nasze)"
    r"(?:[ \t]+[\w'’.-]+){0,2}?[ \t-]?"
    r"|(?<![^\s\"'`*_„“«])(?P<noted>[^\s\"'`(*_„“«][^\s\"'`*]{4,64})[\"'`*_”»]{0,3}(?<!:)[ \t]+"
    r"\((?!masked )(?i:my |the )?(?P<of>[\w-]+[ \t])?[\w-]{0,16}"
    r"|(?<![!-~])(?P<glued>[!-~]{6,64})[ \t]?(?:は|是|為|为)[ \t]?[^\s。，、]{0,6})\Z"
)


_PUBLIC = r"(?:pub(?:lic|lish|bl)?|públic|foreign|foráne|étrangère|extern|primar|primár|primär|primair)[^\W\d_]{0,4}"
_PUBLIC_BEFORE, _PUBLIC_BEHIND = rf"(?<![^\W_]){_PUBLIC}[ _-]?\Z", rf"[ _-]{_PUBLIC}\b"


def _is_label(low: str, at: int, end: int, word: str) -> bool:
    """Whether the word at this place is a label, and names nothing public."""
    return _is_word(low, at, end, word) and not _is_public(low, at, end)


def _is_word(low: str, at: int, end: int, word: str) -> bool:
    """Whether a label is one at this place: short ones must be words of their own, and not part of a host name."""
    if word in table.SPOKEN or word in ("auth", "clé", "chave", "chiave", "sleutel"):
        before, after = low[max(0, at - 2) : at], low[end : end + 1]
        if before[-1:].isalnum() or after.isalpha() or (before[-1:] == "." and before[:1].isalnum()):
            return False
    return True


def _is_public(low: str, at: int, end: int) -> bool:
    """Whether a word before or after a key's label says that its value is not secret; a password is never public."""
    if low[at:end] in _STRONG_WORDS and low[at:end] != "clave":  # in Spanish a key, too
        return False
    before = compiled(_PUBLIC_BEFORE).search(low, max(0, at - 16), at)
    return before is not None or compiled(_PUBLIC_BEHIND).match(low, end) is not None


def _rank_at(rank: str, low: str, at: int) -> str:
    """Return the rank of a label at this place: "key" after a word such as those in ``KEY_OF`` is medium."""
    before = low[max(0, at - 14) : at].rstrip(" _-")
    return "medium" if rank == "weak" and before.endswith(tuple(table.KEY_OF.split("|"))) else rank


def _is_of_network(low: str, at: int, end: int) -> bool:
    """Whether a key is that of a wireless network, which is its password: the word beside it says so, or the heading,
    item or key that it is under.
    """
    before = low[max(0, at - 14) : at].rstrip(" _-")
    return (
        before.endswith(_NETWORKS)
        or compiled(_OF_NETWORK).match(low, end) is not None
        or _line_above(low, at).endswith(_NETWORKS)
    )


_NETWORK_CODES = ("code", "código", "codigo", "codice", "kod")
_KEYS = ("key", "schlüssel", "clé", "chiave", "chave", "sleutel", "klucz", "キー", "密钥", "密鑰", *_NETWORK_CODES)
_NETWORKS = ("wifi", "wi-fi", "wlan", "wpa", "wpa2")
_NETWORK = r"(?:wi-?fi|wlan)(?:[ \t]{1,2}[^\W\d_]{1,20}){0,2}[ \t]{0,2}[:：=–—]"
_OF_NETWORK = r"(?:[ \t]+[^\W\d_]{1,5}){0,2}[ \t]+(?:wi-?fi|wlan)\b"


def _line_start(text: str, at: int) -> int:
    """Return where the line of an offset begins; of a long line, some place in it."""
    near = max(0, at - _LINE_REACH)
    return text.rfind("\n", near, at) + 1 or near


def _line_above(low: str, at: int) -> str:
    """Return the words of the heading, item or key under which the first word of a line is; empty if it is not first.

    Args:
        low: the text in lower case.
        at: where the word begins.
    """
    end = _line_start(low, at) - 1
    marks = low[end + 1 : at]
    if end < 0 or not compiled(MARKS).fullmatch(marks):
        return ""
    indent = len(marks) - len(marks.lstrip())
    for _ in range(8):
        start = _line_start(low, end)
        line = low[start:end]
        if line.startswith("#") or (line.strip() and len(line) - len(line.lstrip()) < indent):
            return line.rstrip(" \t\r:*_")
        end = start - 1
        if end < 0:
            break
    return ""


def _labelled_value(text: str, low: str, start: int, end: int, rank: str, kind: str) -> Found | None:
    """Return the value after a label; None if it is not a credential."""
    if low.startswith("(masked ", max(0, low.rfind("(", max(0, start - 40), start))) and ")" in low[end : end + 12]:
        return None
    for pattern in _LABELS:
        label = compiled(pattern).match(text, end)
        if not label:
            break
        separator = next((name for name in ("blank", "equals", "glued", "link") if label[name]), "words")
        if separator == "blank" and text[max(0, start - 40) : start].rpartition(" ")[2].startswith("--"):
            separator = "words"
        by_itself = False
        if low[start:end] == "pass":  # a verb has an object: "pass it to", "pass the model in the body: "
            words = label["between"] or label["between2"] or label["between3"]
            by_itself = separator == "blank" or label["is"] == "to" or bool(words and not compiled(_OF).match(words))
            high = compiled(r"\d{1,7}[ \t]+[^\W\d_]").match(text, label.end())  # of a mountain pass
            by_itself = by_itself or high is not None
        span = None if by_itself else _credential_span(text, label, start, rank, separator)
        if span:
            return (*span, kind)
        if separator != "words" or rank == "weak":  # all read the same, or nothing that counts
            break
    found = _random_nearby(text, end, kind) if rank != "weak" else None
    return found or (_mixed_nearby(text, end, kind) or _last_of_line(text, end, kind) if rank == "strong" else None)


def _credential_span(text: str, label: re.Match[str], word: int, rank: str, separator: str) -> tuple[int, int] | None:
    """Return start and end of the value after a label, if it looks like a credential.

    Args:
        text: the text.
        label: match of the text between the label and its value.
        word: where the label begins.
        rank: rank of the label.
        separator: how the label leads to the value: ``equals``, ``words``, ``glued``, ``link`` or ``blank``.
    """
    start, quote = label.end(), label["quote"]
    grouped = separator != "blank" and rank != "weak" and compiled(_IN_FOURS).match(text, start)
    if grouped and _is_key_in_fours(grouped, assigned=separator == "equals", strong=rank == "strong"):
        return grouped.span()
    if rank == "strong" and (quote or text[word : label.start()].lower() == "passphrase"):
        by_line = separator == "equals" and compiled(_PHRASE_ALONE).match(text, start)
        phrase = by_line or (quote and compiled(_PHRASE_QUOTED).match(text, start))
        if phrase and _is_passphrase(phrase[1]):
            return phrase.span(1)
    end, whole = _value_end(text, start, quote, word, glued=separator == "glued")
    judged = text[start : min(end, start + _JUDGED_LENGTH)]
    if not judged or _is_harmless(judged):
        return None
    quoted = whole and quote[-1] in "\"'" if quote else False
    if label["cell"] and _is_type(judged):
        return None
    if label["link"] and re.fullmatch(_SLUG, judged):
        return None
    further = label["between"] or label["between2"] or label["between3"]
    of_another = label["tail"] or (further and len(judged) < _LONG and not compiled(_OF).match(further))
    if judged.isdigit() and of_another:  # the length of a password, or its age
        return None
    if re.fullmatch(_COUNTED, judged) and (len(judged) < 8 or compiled(r"[ \t]+[^\W\d_]").match(text, end)):
        return None
    if separator == "blank" and judged[0] == "(" and judged[-1] == ")":  # a remark
        judged = judged[1:-1]
    if not judged or not _ACCEPT[rank](judged, "words" if separator == "glued" else separator, quoted):
        return None
    if end - start == _FIRST_READ and not whole:
        end = compiled(r"\S*").match(text, end).end()  # type: ignore[union-attr]  # it always matches
    return start, _wrapped_end(text, start, end)


_PHRASE_ALONE = (
    r"([^\W\d_A-Z]{3,12}(?:[ ][^\W\d_A-Z]{3,12}){3,9})[.,\"'`*_”»)\]]{0,4}[ \t]*(?:[#^(][^\r\n]*)?(?:[\r\n]|\Z)"
)
"""Lower-case words that fill the rest of a line after a label."""
_PHRASE_QUOTED = r"([^\W\d_A-Z]{3,12}(?:[ ][^\W\d_A-Z]{3,12}){2,9})[ \xa0]?\\{0,2}[\"'`”“»」』’]"
"""Words without capitals that are all of a quotation."""


def _is_passphrase(words: str) -> bool:
    """Whether words are told as a password: no sentence has four words in a row without a word of its grammar."""
    return _grammar_words().isdisjoint(words.split()) and not any(word in words for word in _STRONG_WORDS)


@cache
def _grammar_words() -> frozenset[str]:
    """Return the words that sentences of the known languages are made of."""
    return STOP_WORDS.union(*(language(code).words("words") for code in LANGUAGES))


_COUNTED = r"\d+[^\W\d_]*(?:-[^\W\d_]+)+"
"""So many of something, as in "12-character minimum"; alone it may be a password."""
_SLUG = r"(?:[^\W\d_]+|\d+)(?:(?:[-_/.#]|%\d\d)+(?:[^\W\d_]+|\d+))*"
"""The address of a page beside this one, made of its title."""


def _value_end(
    text: str, start: int, quote: str | None = None, word: int = 0, *, glued: bool = False, last: int | None = None
) -> tuple[int, bool]:
    """Return the end of a labelled value, and whether a closing quote marks it.

    The value ends at the closing quote; without quotes at the next blank, unless the syntax around it ends it before.
    In doubt the value is longer: nothing of a value that is reported as masked may remain.

    Args:
        text: the text.
        start: first character of the value, after the quote.
        quote: the opening quote, with its backslashes.
        word: where the label begins.
        glued: whether the sentence may continue after the value without a blank, as in Chinese.
        last: latest end of the value.
    """
    if quote:
        mark = re.escape(_CLOSING.get(quote[-1], quote[-1]))
        if len(quote) == 1:  # the same mark within the value does not close it
            more = rf"(?:{mark}(?!{_CLOSED})(?:[^{mark}\\\s]|\\.){{0,128}}){{0,4}}"
            inner = rf"(?>(?:[^{mark}\\\r\n]|\\.){{1,4096}})(?>{more})"
        else:
            inner = r"[^\"'`\\\r\n]{1,4096}+"
        closed = compiled(rf"{inner}(?={re.escape(quote[:-1])}{mark})").match(text, start)
        if closed:
            return start + len(closed[0].rstrip(" \xa0") if mark == "»" else closed[0]), True
    run = _read_run(text, start, r"[!-~]*" if glued else r"\S*", last or len(text))
    cuts = [compiled(_CUT).search(run), ";" in run and compiled(_NEXT_FIELD).search(text, start, start + len(run) + 48)]
    if (
        word and "&" in run and compiled(r"[?&][\w.\[\]%-]{0,40}$").search(text, max(0, word - 42), word)
    ):  # a parameter of an address
        cuts.append(compiled(r"&(?:amp;)?(?=[\w.\[\]%~-]{1,64}=)").search(run))
    if "](" in run:  # the words of a link
        cuts.append(compiled(r"(?<=[^\[])\](?=\()").search(run) if "[" not in run else None)
    if "|" in run and text[text.rfind("\n", max(0, start - 1000), start) + 1 : start].lstrip().startswith("|"):
        cuts.append(compiled(r"(?<!\\)\|").search(run))
    ends = [cut.start() - (start if cut.string is text else 0) for cut in cuts if cut]
    run = run[: min([len(run), *ends])]
    if len(run) < _FIRST_READ:
        for _ in range(3):
            if run[-1:] in (")", "]", "}") and run.count("([{"[")]}".index(run[-1])]) >= run.count(run[-1]):
                break
            if run[-1:] in ("*", "_") and run[-2:] not in ("**", "__") and text[start - 1] != run[-1]:
                break
            run = run[:-1] if run[-1:] in _TRAILING else run
    return start + len(run), False


_IN_FOURS = (
    r"(?:(?P<single>(?:[a-z2-7]{4}[ \xa0]){3,15}[a-z2-7]{4}|(?:[A-Z2-7]{4}[ \xa0]){3,15}[A-Z2-7]{4})"
    r"|(?:[A-Za-z0-9]{4}[ \xa0]){3,15}[A-Za-z0-9]{4})(?!\w)"
)
"""Passwords for apps and keys for one-time passwords as services show them: ``abcd efgh ijkl mnop``."""


def _is_key_in_fours(groups: re.Match[str], *, assigned: bool, strong: bool) -> bool:
    """Whether groups of four characters are a key, and not words of four letters, which have vowels.

    Args:
        groups: match of :data:`_IN_FOURS`.
        assigned: whether a sign leads to them.
        strong: whether it is a password's label, which leaves no doubt if nothing follows the groups.
    """
    found = groups[0].split()
    if all(map(str.isdigit, found)):
        return assigned
    odd = sum(not set(group.lower()) & set("aeiouy") or not re.fullmatch("[A-Z]*|.[a-z]*", group) for group in found)
    if not groups["single"]:
        return 2 * odd >= len(found)
    return odd > 0 or (assigned and strong and not re.match(r"[ \xa0]\w", groups.string[groups.end() :][:2]))


_NEXT_FIELD = r";(?=[ \t]?[A-Za-z][\w .-]{0,40}=)"
"""The beginning of the next field of a connection string."""
_TRAILING = tuple(".,;:)]}>*_…|\"'`”»’")
"""Characters after a value that end a sentence or close a bracket; at most three are taken off the value."""


def _read_run(text: str, start: int, pattern: str, last: int) -> str:
    """Return the text at ``start`` that matches a pattern, up to ``last`` and :data:`_FIRST_READ` characters."""
    found = compiled(pattern).match(text, start, min(last, start + _FIRST_READ))
    return found[0] if found else ""


def _wrapped_end(text: str, start: int, end: int) -> int:
    """Return the end of a value that may be wrapped: its rest is alone on the next line, and looks machine-made."""
    if end - start < 16:
        return end
    match = compiled(r"[ \t]?\\?\r?\n[ \t>]{0,8}([A-Za-z0-9+/=_.~-]{6,})(?=[ \t\"'`]{0,3}(?:[\r\n]|$))").match(
        text, end
    )
    if (
        match
        and not _wordy(match[1])
        and not re.fullmatch(_HARMLESS, match[1][:_JUDGED_LENGTH])
        and _random(match[1][:_JUDGED_LENGTH], 6)
    ):
        return match.end(1)
    return end


def _more_in_line(text: str, found: list[Found]) -> Iterator[Found]:
    """Yield further passwords in a line that has one: ``and the other one is …``, ``old: … new: …``."""
    spans = sorted((start, end) for start, end, _ in found)
    for (_, before), (start, end), (after, _) in zip(
        [(0, 0), *spans], spans, [*spans[1:], (len(text), 0)], strict=False
    ):
        first = max(before, start - _LINE_REACH, text.rfind("\n", max(before, start - _LINE_REACH), start) + 1)
        yield from _unlabelled(text, first, start)
        last = text.find("\n", end, min(after, end + _LINE_REACH))
        yield from _unlabelled(text, end, last if last >= 0 else min(after, end + _LINE_REACH))


def _pairs(text: str, low: str) -> Iterator[Found]:
    """Yield the passwords after the name of a user and a slash: ``login anna / hunter22``.

    A word for a login is in the line, or the user's name is an address, or the password has every kind of character and
    is not the number of a thing (``Issue#1234``).
    """
    for pair in compiled(_PAIR).finditer(text):
        last = low.find("\n", pair.end(), pair.end() + _LINE_REACH)
        line = low[_line_start(low, pair.start()) : last if last >= 0 else pair.end() + _LINE_REACH]
        for start, end, kind in _password_of(text, pair):
            value = text[start:end]
            mixed = re.fullmatch(rf"(?![A-Za-z]+\W\d+[A-Za-z]*\Z){_MIXED_SIGN}{{8,40}}", value) and all(_classes(value))
            by_mail = not value.isdigit() and compiled(_BY_MAIL).search(text, max(0, pair.start() - 80), pair.start())
            if mixed or by_mail or compiled(_LOGIN).search(line):
                yield start, end, kind


def _password_of(text: str, pair: re.Match[str]) -> Iterator[Found]:
    """Yield the password of a pair, if there is the name of a user before it."""
    start = pair.end()
    end, _ = _value_end(text, start)
    judged = text[start:end][:_JUDGED_LENGTH]
    named = compiled(_USER).search(text, max(0, pair.start() - 80), pair.start())
    if named and not re.fullmatch(_NAMED, judged) and _is_listed(judged, "password", "words", 6):
        yield start, end, "password"


_PAIR = r"/[ \t](?<=[ \t]/[ \t])[ \t]{0,2}[\"'`*]{0,2}(?=[^\s\"'`*|])"
_USER = rf"(?:\A|[\s>|:：–—\"'`*])(?!(?i:{table.LOGINS})\b)[\w.@-]{{2,64}}[\"'`*]{{0,2}}[ \t]{{1,3}}\Z"
_BY_MAIL = r"@[\w-]+\.[\w.-]+[\"'`*]{0,2}[ \t]{1,3}\Z"
_LOGIN = rf"(?<![^\W\d_])(?:{table.LOGINS})s?(?![^\W\d_])"


def _list_items(text: str, found: list[Found]) -> Iterator[Found]:
    """Yield the further values of a list whose first value has a label: ``secrets: ["…", "…"]``, or one per bullet."""
    for start, end, kind in found:
        before = text[max(0, start - _LIST_REACH) : start]
        if compiled(r"[\[(][ \t\r\n]{0,20}[\"'`]?$").search(before):
            between = r"[\"'`]?[ \t\r\n]{0,20},[ \t\r\n>]{0,20}(?P<quote>[\"'`]?)"
        elif compiled(rf"\n[ \t>]{{0,16}}[-*+][ \t]{MARKS}[\"'`]?$").search(before):
            between = rf"[\"'`]?[ \t]{{0,8}}\r?\n[ \t>]{{0,16}}[-*+][ \t]{MARKS}(?P<quote>[\"'`]?)"
        else:
            continue
        accept = _strong if kind == "password" else _medium
        while gap := compiled(between).match(text, end):
            quote = gap["quote"]
            character = rf"[^{quote}\\\r\n]" if quote else r"[^\s,\[\](){}\"'`\\]"
            value = compiled(rf"(?:{character}|\\.){{1,4096}}").match(text, gap.end())
            if not value:
                break
            judged, end = value[0][:_JUDGED_LENGTH], value.end()
            plain = " " in judged or _is_harmless(judged)
            if not plain and accept(judged, "equals", False):
                yield value.start(), end, kind


_LIST_REACH = 40
"""Number of characters before the first value that are searched for the beginning of a list."""


def _below_labels(text: str, low: str, labels: Mapping[str, Sequence[str]]) -> Iterator[Found]:
    """Yield the values that are alone in a line below one that ends with their label: a line, an item, a heading, a
    key of YAML or a term; the lines below it are a fence, or deeper, or directly follow. The members in braces after a
    label are as well below it.
    """
    several = tuple(filter(low.__contains__, table.PASSWORDS.split("|")))
    ranks = ("strong", (*labels["strong"], *several)), ("medium", labels["medium"]), ("pin", _NUMBER_WORDS)
    for rank, words in ranks:
        for word in words:
            at = low.find(word)
            while at >= 0:
                end = at + len(word)
                rest = compiled(_LABEL_LINE_ENDS).match(low, end)
                if rest is None and (members := compiled(_MEMBERS).match(text, end)) and _is_label(low, at, end, word):
                    yield from _values_of_members(text, members, _kind(rank, word))
                lead = rest and compiled(_LABEL_LINE).fullmatch(low, _line_start(low, at), at)
                # alone, "pass" is a statement of Python, and a word for a key may end any line of prose
                bare = word == "pass" or rank != "strong"
                named = lead and lead["mark"] and not (word == "pass" and any(map(str.isalpha, lead[0])))
                if rest and lead and (not bare or ":" in rest[0] or named) and _is_label(low, at, end, word):
                    kind = _kind(rank, word)
                    for leaf, alone in _values_below(text, rest.end(), lead["indent"], lead["mark"] or ""):
                        digits = 6 if alone and not leaf["key"] else _LONG
                        if _is_listed(leaf["value"], kind, "words", digits):
                            yield (*leaf.span("value"), kind)
                at = low.find(word, end)


def _values_of_members(text: str, members: re.Match[str], kind: str) -> Iterator[Found]:
    """Yield the values in the braces behind a label, ``password: {mail: …, nas: …}``; none if a member is a label."""
    found = [*compiled(_MEMBER).finditer(text, *members.span("inner"))]
    if not any(_kind_of_name(member["key"].lower()) for member in found):
        for member in found:
            if _is_listed(member["value"], kind, "words", _LONG):
                yield (*member.span("value"), kind)


_MEMBERS = r"[\"'`*_]{0,3}[ \t]?(?::|=>?)[ \t]{0,8}\{(?P<inner>[^{}\r\n]{1,1000})\}"
_MEMBER = (
    r"(?<![^\s,{])[\"']?(?P<key>[\w .-]{1,40})[\"']?[ \t]?(?::|=>)[ \t]{1,8}"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"',{}]+)(?P=quote)[ \t]*(?=,|\Z)"
)
_LABEL_LINE = (
    rf"(?P<indent>[ \t>]{{0,32}})(?P<mark>(?:#{{1,6}}|[-*+]|\d{{1,3}}[.)])(?=[ \t]))?{MARKS}"
    r"[\"'*_]{0,3}(?:[^\s:=.,;|(){}<>\[\]]{1,24}[ \t]){0,4}[^\s:=,;|(){}<>\[\]]{0,24}"
)
"""The text before a label that the line ends with."""


def _values_below(text: str, at: int, indent: str, mark: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Yield what is alone in its line below a label, and whether nothing else is below that.

    A key among the lines that is a label itself says which of them is a credential, so there are none then.

    Args:
        text: the text.
        at: where the line below begins.
        indent: the blanks and marks of quotes before the label.
        mark: of the heading or item that the label is.
    """
    found: list[re.Match[str]] = []
    fence, after_blank, seen, below = "", False, False, len(indent)
    heading, item = mark[:1] == "#", mark[:1] not in ("", "#")
    for _ in range(_LINES_BELOW):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        bare = line.lstrip(" \t>").rstrip()
        depth = len(line) - len(line.lstrip(" \t>"))
        if fence and bare.startswith(fence):
            break
        if not bare and not fence:
            if after_blank or seen:
                break
            after_blank = True
        elif not seen and not fence and bare[:3] in ("```", "~~~"):
            fence = bare[:3]
        elif bare:
            listed = compiled(r"(?:[-*+]|\d{1,3}[.)])[ \t]").match(bare) is not None
            beside = not fence and not heading and depth <= below and not listed
            # a paragraph goes on with lines that aren't indented, and so does that of an item
            if not fence and (bare[0] == "#" or (depth <= below if item and listed else depth < below and not item)):
                break
            key, leaf = compiled(_KEY).match(text, at), compiled(_LEAF).match(text, at)
            if key and _kind_of_name(key["key"].lower()):
                return
            if leaf and (fence or not leaf["key"] or not (beside or "=" in leaf["key"])):
                found.append(leaf)
            seen = True
            if beside:
                break
        if end < 0:
            break
        at = end + 1
    yield from ((leaf, len(found) == 1) for leaf in found)


_LONG = 8
"""Minimum length of a number, or of a word of a sentence, that is a password where others may be."""
_LINES_BELOW = 64
"""Maximum number of lines that a label governs."""
_KEY = (
    rf"{MARKS}(?::[ \t]{{1,4}})?(?P<key>[\"'`*_]{{0,3}}[^\W\d_](?:[\w.'’@/-]|[ ](?=\w)){{0,40}}[\"'`*_]{{0,3}}"
    r"[ \t]{0,2}(?:::?|：|=|→|–)[*_]{0,2}[ \t]{0,16})"
)
"""The key at the beginning of a line; a group."""
_LEAF = (
    rf"{_KEY}?[`*\"'„“«]{{0,3}}(?P<value>[^\s`\"'„“”«»]{{1,{_JUDGED_LENGTH}}}?)(?<!:)[`*\"'“”»]{{0,3}},?"
    r"(?:[ \t]+(?:#[^\n]*|\([^()\n]*\)))?[ \t]*\r?(?:\n|\Z)"
)
"""A word that is alone on its line, or behind a key."""


def _announced(text: str, low: str) -> Iterator[Found]:
    """Yield the passwords behind a word that announces passwords, in its line or in a list of bullets below it."""
    if not any(word in low for word in table.PASSWORDS.split("|")):
        return
    done = 0
    for label in compiled(_ANNOUNCED).finditer(low):
        item = compiled(_ITEM if label["list"] else _REST).match(text, label.end()) if label.end() >= done else None
        while item:
            for start, end, kind in _unlabelled(text, *item.span(1)):
                if not re.fullmatch(_MODEL_NAME, text[start:end]):
                    yield start, end, kind
            done = item.end()
            item = compiled(_ITEM).match(text, done) if label["list"] else None


_ANNOUNCED = (
    rf"(?:{table.PASSWORDS})\b(?:(?P<list>[^\n:]{{0,60}}:?[ \t*_\r]{{0,8}}\n(?:[ \t\r]{{0,8}}\n)?)"
    r"|[*_]{0,2}::?[*_]{0,2}[ \t]{1,8}(?=\S))"
)
_REST = r"([^\n]{0,300})[^\n]*(?:\n|$)"
_ITEM = rf"[ \t>]{{0,16}}(?:[-*+]|\d{{1,3}}[.)])[ \t]{MARKS}([^\n]{{0,300}})[^\n]*(?:\n|$)"


_MODEL_NAME = r"[A-Z]{2,}[-.]?\d[\d.-]{0,6}[A-Za-z]{0,2}|[A-Z]?[a-z]+[A-Z]{2,}\d{1,2}"
"""Names of standards, models and programs, such as ``RFC2898`` and ``PostgreSQL16``: without a label of their own they
are not passwords.
"""
_NAMED = rf"{_MODEL_NAME}|[A-Z]?[a-z]++(?>(?:[A-Z][a-z]++)*)\d[a-z]{{0,2}}|[a-z]{{2,3}}-?\d{{1,4}}"
"""The same, words with a digit behind them (``argon2id``, ``KeePass2``) and numbers of things (``lh2034``)."""


def _table_columns(text: str) -> Iterator[Found]:
    """Yield the values below a heading cell such as "password", in a table of markdown or exported by a program."""
    columns: dict[int, tuple[str, int]] = {}
    width, delimiter, head, at = 0, "", "", 0
    for row in text.split("\n"):
        start, at = at, at + len(row) + 1
        if row.lstrip(" \t>").startswith("|"):
            yield from _cells_of_row([*compiled(_CELLS["|"]).finditer(text, start, at - 1)])
        cells = [*compiled(_CELLS[delimiter]).finditer(text, start, at - 1)] if delimiter and delimiter in row else []
        if not cells or abs(len(cells) - width) > 1:
            columns, width, delimiter = _named_columns(row)
            head = row.lower()
            continue
        for column, (kind, digits) in columns.items():
            if column < len(cells):
                value, first = _words_of_cell(cells[column], delimiter)
                if kind in ("login", "password") and "/ " in value:
                    for pair in compiled(_PAIR).finditer(text, *cells[column].span()):
                        yield from _password_of(text, pair)
                elif _is_listed(value, kind, "equals", digits):
                    if kind != "code":
                        yield first, first + len(value), kind
                    elif compiled(_LOCK_WORD).search(head + row[: cells[column].start() - start][:1000].lower()):
                        yield first, first + len(value), "pin"


def _cells_of_row(cells: list[re.Match[str]]) -> Iterator[Found]:
    """Yield the passwords of a row whose first cell with words says "password"."""
    words = [_words_of_cell(cell) for cell in cells]
    while words and not words[0][0]:
        words.pop(0)
    if len(words) > 1 and _kind_of_name(words[0][0].lower()) == "password":
        for value, first in words[1:]:
            if not _is_type(value) and _is_listed(value, "password", "words", _LONG):
                yield first, first + len(value), "password"


def _words_of_cell(cell: re.Match[str], delimiter: str = "|") -> tuple[str, int]:
    """Return the words of a cell without the marks around them, and where they begin."""
    value = cell[0].removesuffix(delimiter).strip(" \t\r\"'`*")
    return value, cell.start() + cell[0].find(value)


def _is_listed(value: str, kind: str, separator: str, digits: int = 0) -> bool:
    """Whether what stands alone in a place that a label governs is a credential of the label's kind.

    Args:
        value: what stands there.
        kind: of credential.
        separator: how the label leads to the place, as for a value after it.
        digits: minimum length of a password that is a number.
    """
    judged = value[:_JUDGED_LENGTH]
    if kind == "pin":
        return re.fullmatch(r"\d{3,8}", value) is not None
    if kind == "code":
        return re.fullmatch(_DIGITS, value.lower()) is not None
    if kind == "recovery code":
        return _is_code_alone(value)
    if not value or " " in value or _is_harmless(judged) or re.fullmatch(_MODEL_NAME, judged):
        return False
    if kind != "password":
        return _medium(judged, "equals", False)
    short = value.isdigit() and len(value) < digits
    return not short and (_strong(judged, separator, quoted=False) or _diceware(judged))


def _named_columns(row: str) -> tuple[dict[int, tuple[str, int]], int, str]:
    """Find the cells of a table head that say "password", or what else is secret.

    Returns:
        Kind of credential, and minimum length of a number that is one, by the index of the cell; number of cells;
        delimiter; all empty if the row is not such a head.
    """
    low = row.lower()
    delimiter = next((delimiter for delimiter in _CELLS if delimiter in low), "")
    if not delimiter or len(row) > 1000:
        return {}, 0, ""
    marks = " \t\r\"'" if delimiter in ",;" else " \t\r\"'*_`"
    cells = [cell[0].removesuffix(delimiter).strip(marks) for cell in compiled(_CELLS[delimiter]).finditer(low)]
    if sum(map(bool, cells)) < 2 or (delimiter in ",;" and not all(map(compiled(r"[\w .-]*").fullmatch, cells))):
        return {}, 0, ""  # it may be a line of code
    shared = ("code", _CODE_WORD), ("login", _LOGIN)  # what else is in the row or the cell decides
    # a mountain pass has a height, and tests that pass are counted
    columns = {
        column: (kind, _LONG if name == "pass" else 0)
        for column, name in enumerate(cells)
        if (kind := _kind_of_name(name) or next((kind for kind, word in shared if compiled(word).fullmatch(name)), ""))
    }
    return (columns, len(cells), delimiter) if columns else ({}, 0, "")


def _kind_of_name(name: str) -> str:
    """Return the kind of credential that a column or a key has by its name, in lower case; empty for none."""
    if not any(map(name.__contains__, _NAME_STEMS)):
        return ""
    name = name.strip(" \t\"'`*_:：=→–")
    if name.removesuffix("s") in _PINS:
        return "pin"
    if compiled("|".join(table.CODES)).fullmatch(name):
        return "recovery code"
    if compiled(_AFTER_LOCK).search(name) or compiled(_CODE_OF_LOCK).fullmatch(name):
        return "pin"
    for rank, words in _WORDS[:2]:
        for word in words:
            at = name.rfind(word)
            end = at + len(word)
            if at >= 0 and compiled(_NAME_ENDS).fullmatch(name, end) and name[:at].count(" ") < 4:
                return _kind(rank, word) if _is_label(name, at, end, word) else ""
    return ""


_CELLS = {
    "|": r"(?:[^|\\\n]|\\.)+",
    "\t": r"[^\t\n]*(?:\t|$)",
    ",": r"\"[^\"\n]*\"|(?:^|(?<=[,\n]))[^,\"\n]*",
    ";": r"[^;\n]*(?:;|$)",
}
"""Delimiters of cells, each with the pattern of a cell."""
_PINS = ("pin", "cvv", "cvv2", "cvc", "cvc2")
_CODE_STEMS = ("cod", "cód", "kod", "kód", "код", "码", "碼", "コード", "코드", "](")
"""Every word for recovery codes has one of these."""


_LINE_REACH = 300
"""Number of characters before and after a password that are searched for further ones."""


def _unlabelled(text: str, first: int, last: int) -> Iterator[Found]:
    """Yield the passwords without a label of their own between two offsets, where passwords are expected."""
    if last - first < 6:
        return
    before = ""
    for token in compiled(_WORD).finditer(text, first, last):
        start = token.start("value")
        if token["value"]:
            end, _ = _value_end(text, start, last=last)
            led = token["lead"] or compiled(_LEADING).fullmatch(before) is not None
            judged = text[start:end][:_JUDGED_LENGTH]
            if (
                judged
                and not _is_harmless(judged)
                and _strong(judged, "words" if led else "blank", quoted=False)
                and not judged.isdigit()
                and not token[0].endswith((":", "="))
                and not any(word in judged.lower() for word in _STRONG_WORDS)
                and (led or not _dotted(judged))
            ):
                yield start, end, "password"
        before = token[0]


_WORD = (
    r"\[\[[^\[\]\r\n]{0,300}\]\]|\]\([^()\r\n]{0,300}\)|<[^<>\s]{0,300}>|[\w+.-]{2,30}://\S*|\[\w+::[^\]\r\n]{0,80}\]"
    r"|(?:^|(?<=\s))[#^@][\w/-]+|[:=,/→]+(?=\s)"
    r"|(?P<lead>[A-Za-z]{1,12}[:=])?[\"'`(\[{*_“„«]{0,3}(?P<value>[^\s\"'`(\[{*_“„«]\S*)"
)
"""Links, addresses, tags and fields, none of which is a value; or else a word, with the separator before it."""
_LEADING = (
    rf"(?i){IS_VERB}|{_WHICH}[:=]?|and|und|y|et|e|en|or|oder|o|ou|of|to|now|then|one|jetzt|ahora|.{{0,40}}[:=,/→]"
)


def _recovery_codes(text: str, low: str) -> Iterator[Found]:
    """Yield every code of a list of recovery codes after their label."""
    if not any(map(low.__contains__, _CODE_STEMS)):
        return
    done = 0
    for label in compiled("|".join(table.CODES)).finditer(low):
        if low.endswith("(masked ", 0, label.start()):
            continue  # the mark of a code is not a label of the word after it
        if label.start() < done or not compiled(_CODE_HINT).search(text, label.end(), label.end() + 160):
            continue
        lead = compiled(
            r"[^\r\n:=|]{0,60}?(?:[ \t]*(?:[:：=|–—]|\b"
            + IS_VERB
            + r"\b)[^\w\[]{0,12}|\s*\n[^\w\[]{0,12}|(?<!\w)[ \t]+|\]\()(?=\w|\[)"
        ).match(text, label.end())
        for found in _code_list(text, lead.end() if lead else label.end()):
            yield found
            done = found[1]


_CODE_HINT = r"[0-9]|[A-Za-z]{3}-[A-Za-z]{3}"
_CODE = r"(?<![\w./-])(?<!\d:)[A-Za-z0-9]{3,40}(?:[-–][A-Za-z0-9]{2,40}){0,12}(?![\w/])(?![.:-]\w)"


def _code_list(text: str, start: int) -> Iterator[Found]:
    """Yield the codes from ``start`` on: the first is near, every further one has the shape of an earlier one."""
    shapes: set[tuple[int, ...]] = set()
    end = start
    while True:
        found = next(
            (
                match
                for match in compiled(_CODE).finditer(text, max(start, end), end + (100 if shapes else 60))
                if (_is_further_code(text, match, end) if _shape(match[0]) in shapes else _is_code(text, match, end))
            ),
            None,
        )
        if found is None:
            return
        shapes.add(_shape(found[0]))
        end = found.end()
        yield (*found.span(), "recovery code")


def _shape(code: str) -> tuple[int, ...]:
    """Return the lengths of the groups of a code."""
    return tuple(map(len, re.split("[-–]", code)))


def _is_further_code(text: str, match: re.Match[str], end: int) -> bool:
    """Whether a word with the shape of a code is one, too: it has a digit, or it is beside the one that ends at ``end``
    and no sentence begins with it.
    """
    if any(map(str.isdigit, match[0])):
        return True
    following = compiled(_BETWEEN_CODES + "(?P<next>" + _CODE + ")").match(text, match.end())
    alike = following is not None and _shape(following["next"]) == _shape(match[0])
    beside = compiled(_BETWEEN_CODES).fullmatch(text, end, match.start()) is not None
    return beside and (alike or not compiled(r"[ \t]+[^\W\d_]").match(text, match.end()))


def _is_code(text: str, match: re.Match[str], end: int) -> bool:
    """Whether a word is a code: close to the code or label that ends at ``end``, and apparently machine-made."""
    code = match[0]
    if text.endswith("](", 0, match.start()) and len({*_shape(code)}) > 1:
        return False  # where a link leads to
    gap = text[end : match.start()]
    if gap.strip() and not compiled(_BETWEEN_CODES).fullmatch(gap):
        return False
    following = compiled(_BETWEEN_CODES + "(?P<next>" + _CODE + ")").match(text, match.end())
    alike = following is not None and _shape(following["next"]) == _shape(code)
    if compiled(_SPAN).fullmatch(code) and not alike:
        return False
    if re.search(CLOCK, gap) and not (_is_code_alone(code) and compiled(_REST_OF_CODE).match(text, match.end())):
        return False  # a diary goes on with words such as "stand-up", too
    characters = re.sub("[-–]", "", code)
    if alike and code.isdigit() and len(code) >= 4:
        return True
    digit = any(map(str.isdigit, characters + (following["next"] if following and alike else "")))
    if len(characters) < 6 or (re.fullmatch(_HARMLESS, code) and not alike and not _is_digits(code)):
        return False
    return (digit and (alike or not _dotted(code))) or (alike and "-" in code and len(characters) >= 8)


_SPAN = r"(?:19|20)\d\d[-–](?:19|20)\d\d|(?:[01]\d|2[0-3])[0-5]\d[-–](?:[01]\d|2[0-3])[0-5]\d"
"""Years or times of day from one to another: ``1990-1999``, ``0930-1030``."""


_BETWEEN_CODES = (
    rf"(?:\[[^\W_]{{1,12}}\](?=[ \t(])|\[[\w ]{{1,20}}::[^\]\r\n]{{1,40}}\]"  # a state, a box, a link's words; a field
    rf"|[\s,;、，；/|•·*>#\[\]()`\"'.+–—-]|\d{{1,2}}[.)]\s|{CLOCK}|(?<!\w)[^\W\d_]{{1,12}}[ ]?#?\d{{1,2}}::?\s"
    r"|\b(?:and|und|y|et|e|en|or|oder|o|ou)\b){1,16}"
)
"""Text between two codes: separators, numbers, times, or the names of fields such as ``code 1:: ``."""


_REST_OF_CODE = r"[ \t]*(?:(?:[#^(]|\[[\w ]+::)[^\r\n]*)?(?:[\r\n]|\Z)"
"""The text that may follow a code on its line: tags, fields, or a remark in brackets."""


def _is_digits(code: str) -> bool:
    """Whether a code is of digits, in groups of one length that no date or telephone number has: ``4821-9377``."""
    shape = {*_shape(code)}
    return re.fullmatch(r"[\d–-]{5,}", code) is not None and len(shape) == 1 and min(shape) > 2


def _is_code_alone(value: str) -> bool:
    """Whether a value looks like a code where one is expected: digits, or groups of as many letters each."""
    shape, characters = _shape(value), re.sub("[-–]", "", value)
    if len(characters) < 6 or not compiled(_CODE).fullmatch(value):
        return False
    if characters.isdigit():
        return _is_digits(value) or not re.fullmatch(_HARMLESS, value)
    if any(map(str.isdigit, characters)):
        return not _dotted(value) and not re.fullmatch(_HARMLESS, value)
    return len(shape) > 1 and len({*shape}) == 1 and shape[0] >= 4


def _strong(value: str, separator: str, quoted: bool) -> bool:
    """Whether a value after a label for a password is a password."""
    lower, upper, digit, symbol = _classes(value)
    if quoted and separator == "equals" and " " not in value:
        return (
            len(value) >= 4
            and (digit or symbol or not value.istitle())
            and not re.fullmatch(r"[a-z]+(?:[ _-][a-z]+)+", value)
        )
    if quoted and " " in value:
        return separator == "equals" and digit and len(value) >= 8
    if re.fullmatch(r"\d+", value):
        return (4 if separator != "blank" else 16) <= len(value) <= 64
    if _wordy(value):
        return separator == "equals" and ((len(value) >= 16 and value.isalpha()) or _diceware(value))
    # letters without case count beside a digit, for words have signs, too; a run without blanks may be a sentence
    letter = lower or upper or (digit and any(char.isalpha() and not is_unspaced(char) for char in value))
    mixed = letter and (digit or symbol)
    if separator == "equals":
        return (mixed and len(value) >= 5) or (lower and upper and len(value) >= 8 and not _joined(value))
    if separator == "words":
        return (mixed and len(value) >= 6 and (digit or upper)) or _jumbled(value)
    return (len(value) >= 8 and digit and (upper or symbol) and letter) or _random(value, 12)


def _medium(value: str, separator: str, _: bool) -> bool:
    """Whether a value after a label for a key looks machine-made."""
    if separator == "equals":
        if _is_key_in_groups(value):
            return True
        digits = sum(map(str.isdigit, value))
        if _wordy(value) or _dotted(value):
            return False
        return (len(value) >= 8 and digits >= 2 and (digits < len(value) or digits >= 16)) or _random(value, 16)
    return _random(value, 12 if separator == "words" else 16)


def _is_key_in_groups(value: str) -> bool:
    """Whether a value is a key as programs and systems print it: ``VK7JG-NPHTM-C97JM-9MPGT-3V66T``."""
    shape = _shape(value)
    digit = any(map(str.isdigit, value))
    return len(shape) > 3 and len({*shape}) == 1 and shape[0] > 3 and digit and value.isupper() and value.isascii()


def _weak(value: str, separator: str, _: bool) -> bool:
    """Whether a value after the word "key" looks machine-made, and is not a hash in hexadecimal digits."""
    if separator == "equals" and _is_key_in_groups(value):
        return True
    hexed = re.fullmatch(r"[0-9a-fA-F-]+", value)
    named = re.fullmatch(r"(?:[a-z]+\d?_)+([0-9a-z]{24,})", value)  # the name of a service and hexadecimal digits
    mixed = not hexed and all(_classes(value)[:3]) and _random(value, 24)
    return separator == "equals" and (mixed or bool(named and _random(named[1], 24)))


_ACCEPT = {"strong": _strong, "medium": _medium, "weak": _weak}


def _random_nearby(text: str, end: int, kind: str) -> Found | None:
    """Return a long random value up to 48 characters after the label, whatever is between; None if there is none."""
    run = "[A-Za-z0-9+/=_-]"
    first_read = rf"({run}{{20,{_FIRST_READ}}}+)(?:(?<={run}{{{_FIRST_READ}}})|(?![\w/.:-]))"
    match = compiled(rf"[^\r\n]{{0,48}}?(?<![\w/.:-]){first_read}").match(text, end)
    if not match or "(masked" in text[end : match.start(1)] or match[1].startswith("AAAA"):  # of a public key
        return None
    if all(_classes(match[1])[:3]) and _random(match[1], 20):
        last = compiled(f"{run}*").match(text, match.end(1)).end()  # type: ignore[union-attr]  # it always matches
        return match.start(1), _wrapped_end(text, match.start(1), last), kind
    return None


def _mixed_nearby(text: str, end: int, kind: str) -> Found | None:
    """Return one of the five words after a password's label that mixes cases, digits and signs; None if none does."""
    match = compiled(_MIXED).match(text, end)
    if match and all(_classes(match[1])) and not _is_harmless(match[1]):
        return (*match.span(1), kind)
    return None


def _last_of_line(text: str, end: int, kind: str) -> Found | None:
    """Return the last word of a line if only names are between it and the label: ``password Gmail Rabbit2024``."""
    names = compiled(_NAMES).match(text, end)
    if names is None:
        return None
    start = names.end()
    end, _ = _value_end(text, start)
    judged = text[start:end]
    told = compiled(_ENDS_LINE).match(text, end) and not re.fullmatch(_NAMED, judged[:_JUDGED_LENGTH])
    return (start, end, kind) if told and _is_listed(judged, kind, "words", _JUDGED_LENGTH) else None


_NAMES = (
    rf"(?:{_OF}(?:[^\W\d_]{{1,4}}[ \t])?[^\s:=|()]{{2,20}})?"
    r"(?:[ \t]+(?:(?=[^\s:=]{0,20}[A-Z])|(?=wi-?fi|wlan))[^\s:=|()]{2,20}){0,2}[ \t]+(?=\w)"
)
_ENDS_LINE = r"[\"'`*_.!)]{0,4}(?:[ \t]*(?:\r?\n|\Z|\|)|\]\()"
_MIXED_SIGN = r"[A-Za-z0-9!#$%&*+?@^~_-]"
_MIXED = (
    rf"(?:[ \t]+[^\s\"'`=<>|/]{{1,24}}){{0,4}}?[ \t]+(?![@#])(?=\S*[!#$%&*+?@^~])({_MIXED_SIGN}{{8,40}})"
    r"(?=[)\].,;]{0,2}(?:\s|\Z)|\]\()"
)


def _classes(value: str) -> tuple[bool, bool, bool, bool]:
    """Whether a value has lower case letters, upper case letters, digits, and symbols that words don't have."""
    return (
        any(map(str.islower, value)),
        any(map(str.isupper, value)),
        any(map(str.isdigit, value)),
        any(not (char.isalnum() or char in "-_.'’/," or combining(char)) for char in value),
    )


def _wordy(value: str) -> bool:
    """Whether a value consists of plain words, such as ``case-sensitive`` or ``Tresor``."""
    return (
        re.fullmatch(r"[^\W\d_]?[^\W\d_A-Z]*(?:[-_./'’,][^\W\d_]?[^\W\d_A-Z]*)*|[A-Z]+(?:[-_./][A-Z]+)*", value)
        is not None
    )


def _dotted(value: str) -> bool:
    """Whether a value is a name in a program, such as ``my_key_2`` or ``config.token2``."""
    return re.fullmatch(r"[A-Za-z]+\d{0,2}(?:[-_./][A-Za-z]*\d{0,2})+", value) is not None


def _joined(value: str) -> bool:
    """Whether a value consists of words written together, as in programs: ``OAuth2CacheAdapter``."""
    return 10 * sum(map(len, re.findall(r"[A-Z]?[a-z]{3,}", value))) > 7 * len(value)


def _is_type(value: str) -> bool:
    """Whether a cell beside a label is the name of a type or a class, as manuals have it."""
    return _joined(value) and not re.fullmatch(r"[A-Za-z]+\d{2,}\W?", value)


def _jumbled(value: str) -> bool:
    """Whether the letters of a value change case as no word or name does: ``YjYqdEkW``, but not ``KeePassXC``."""
    turns = sum(a.islower() != b.islower() for a, b in pairwise(value))
    return len(value) >= 8 and value.isalpha() and turns >= 5 and not _joined(value)


def _diceware(value: str) -> bool:
    """Whether a value is a passphrase of at least four words with the same separator."""
    return re.fullmatch(r"[a-z]{3,9}(?:([-_.])[a-z]{3,9})(?:\1[a-z]{3,9}){2,}", value) is not None


def _random(value: str, min_length: int) -> bool:
    """Whether a value looks machine-made: long enough, letters with digits, and many different characters."""
    if len(value) < min_length or _dotted(value) or _joined(value):
        return False
    digits = sum(map(str.isdigit, value))
    if digits < 2:
        value = re.sub(r"[-_+/]|=+$", "", value)  # without the symbols of base64
        turns = sum(a.islower() != b.islower() for a, b in pairwise(value))
        return len(value) >= 20 and value.isalnum() and turns >= 6 and _entropy(value) >= 3.5
    return digits < len(value) and _entropy(value) >= 2.8


def _entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in map(value.count, set(value)))


def _numbers(text: str, low: str) -> Iterator[Found]:
    """Yield card numbers, BitLocker keys, bank accounts and PINs."""
    digits = sum(map(text.count, "0123456789"))
    if digits >= 14:
        for match in compiled(_CARD).finditer(text):
            if _luhn("".join(_groups(match[0]))):
                yield (*match.span(), "card number")
    if digits >= 48:
        for match in compiled(_BITLOCKER).finditer(text):
            if all(int(group) % 11 == 0 for group in _groups(match[0])):
                yield (*match.span(), "bitlocker key")
    if digits >= 2:
        yield from _bank_accounts(text)
    if digits >= 3:
        yield from _lock_codes(low)
    if compiled(r"[pc](?<![a-z].)(?:in|uk|v[vc])|geheimzahl|пин|暗証").search(low):
        for match in compiled(_PIN).finditer(text):
            yield (*match.span("pin"), "pin")
            another = compiled(rf"[ \t]*(?:[,;/]|{_AND})[ \t]*(\d{{{len(match['pin'])}}})(?![\w-]|[.,]\d)")
            end = match.end()
            while more := another.match(text, end):
                yield (*more.span(1), "pin")
                end = more.end()


_AND = r"\b(?:and|und|y|et|e|en|or|oder|o|ou|of)\b"
_GAP = r"(?:[ \t./_·•‧∙‐‑‒–—―−﹣⁃-]|\\u[0-9a-fA-F]{4}|\\){0,3}"
"""Separators that people and programs put between the groups of a number."""
_CARD = (  # begins with a character set, not with a lookbehind, so that the search can skip other characters at once
    r"[2-6](?<![\w+].)(?<!\d[.,/-].)(?:(?:(?<=4)\d|(?<=5)[0-8]|(?<=2)[2-7]|(?<=3)5|(?<=6)[0-9])\d\d"
    rf"(?:(?P<gap>{_GAP})\d{{4}}(?P=gap)\d{{4}}(?P=gap)\d{{4}}(?:(?P=gap)\d{{3}})?|(?:{_GAP}\d{{4}}){{3}})"
    rf"|(?<=3)[47]\d\d{_GAP}\d{{6}}{_GAP}\d{{5}}"
    rf"|(?<=3)(?:0[0-5]|[689]\d)\d(?!\d){_GAP}\d{{6}}{_GAP}\d{{4}})(?![\w]|[.,/-]\d)"
)
_BITLOCKER = rf"\d(?<!\d.)\d{{5}}(?:(?:{_GAP}|[ \t>]{{0,4}}-?\r?\n[ \t>]{{0,8}})\d{{6}}){{7}}(?!\d)"
_REMARK_ENDS = rf"s?(?:\)|{_OF})"
"""The text after a label in a remark on the word before it."""
_NAME_ENDS = rf"(?:s|n|en)?(?:{_OF}[^\r\n:=.|]{{1,40}})?"
"""The rest of the name of a column or a key that is a label."""
_LABEL_LINE_ENDS = (
    rf"{_NAME_ENDS}[\"'`*_]{{0,3}}(?:[ \t]+{IS_VERB})?[ \t]{{0,3}}[:：]{{0,2}}[*_]{{0,3}}(?:[ \t]+[|>][+-]?)?"
    r"[ \t]{0,8}\r?\n"
)
"""The rest of a line whose last words are a label."""
_LABEL_ENDS = (
    rf"[\"'`*_)]{{0,3}}(?:[ \t]*(?:[.,;!?:。，\r\n]|\Z|です|だ)|{_OF}|[ \t]+{_AND}"
    r"|[ \t]+(?:at|on|in|am|im|auf|en|em|op|no|na)[ \t])"
)
"""The text after a label that is not part of a longer name, such as "password manager"."""
_PIN = (
    r"(?i)(?<![^\W\d_])(?:PIN(?-i:(?<=IN)s)?|PUK|CVV2?|CVC2?|Geheimzahl|ПИН|暗証番号)(?>(?P<plain>(?-i:(?<=pin)))?)"
    r"(?:[ -]?(?:code|number|nummer|kode|код|コード|码)s?)?[\"'`*]{0,2}"
    rf"(?:{_OF}[^\r\n:=.]{{1,30}}?"
    r"|(?(plain)(?!)|(?P<free>\d?(?:[ \t]+\(?[^\W\d][\w-]{0,20}\)?|[ \t]+\d){0,3}?"
    r"(?=[ \t]*[:=]|[ \t](?:is|ist|es|è|é|to)[ \t]))))?"
    r"[ \t]*(?:::?|[=：＝は|]|'s\b|[ \t](?:is|ist|war|was|lautet|est|est le|es|are|è|é|to)"
    r"|(?<=[CVcv][CVcv2])(?=[ \t]\d{3,4}\b)"
    r"|(?:(?-i:(?<=PIN))|(?<=PIN-Code)|(?<=PIN code)|(?<=pincode))"
    r"(?=[ \t](?!(?:19|20)\d\d[ \t]+\w)\d{4}\b)|(?<=[Kk])(?=[ \t]\d{8}\b))"
    r"[\"'`*]{0,2}[ \t]*[\"'`*]{0,2}(?P<pin>\d{3,8})(?!(?![\u3040-\u9fff])[\w-]|[.,]\d)(?(free)(?![ \t]+[^\W\d_]))"
)


def _lock_codes(low: str) -> Iterator[Found]:
    """Yield the codes of doors, cards, safes and other locks, by the words for both, or by a lock before a number."""
    for word in compiled(_CODE_WORD).finditer(low) if any(map(low.__contains__, _LOCK_STEMS)) else ():
        opens = compiled(_AFTER_LOCK).search(low, max(0, word.start() - 32), word.end())
        label = opens or compiled(_CODE_OF_LOCK).match(low, word.start())
        code = label and compiled(_DIGITS_OF_CODE).match(low, label.end())
        if code and (len(code["pin"]) > 3 or not label["way"]):  # type: ignore[index]  # there is a label
            yield (*code.span("pin"), "pin")
    for number in compiled(_NUMBER_ALONE).finditer(low):
        line = _line_start(low, number.start())
        lock = compiled(_LOCK_ALONE).search(low, max(line, number.start() - 40), number.start())
        above = _line_above(low, compiled(MARKS).match(low, line).end()) if lock else ""  # type: ignore[union-attr]
        if lock and (compiled(_CODES).search(above) or (lock["only"] and not re.fullmatch(_DATE, number["pin"]))):
            yield (*number.span("pin"), "pin")


_CODE_WORD = (
    r"(?:c[oó]d(?:igo|ice|e)|kode?|код|コード|[码碼]|[ck]ombina[^\W\d_]{2,8}|geheimzahl"
    r"|(?<![^\W\d_])(?:pin(?:code)?|clave|senha))s?"
)
"""A word for what opens a lock."""
_CODES = rf"{_CODE_WORD}[^\W\d_]{{0,2}}(?![^\W\d_])"
"""The same, or several such words, and not the beginning of another one."""
_LOCK_STEMS = ("cod", "cód", "kod", "код", "コード", "码", "碼", "ombina", "geheimz", "pin", "clave", "senha")
"""Every such word has one of these."""
_NAME_STEMS = (*_STRONG_WORDS, *_WORDS[1][1], *_CODE_STEMS, *_PINS, *_LOCK_STEMS)
"""Every name of what is secret has one of these; the other names are nearly all."""
_LOCK = rf"(?<![^\W\d_])(?:(?P<only>{table.LOCKS})|{table.THINGS}|(?P<way>{table.WAYS}|{table.CARDS}))"
_AFTER_LOCK = rf"{_LOCK}[^\W\d_]{{0,2}}(?:[ \t-]{{0,2}}|:[ \t])(?:key[ -]?pad[ ])?{_CODE_WORD}\Z|digicode\Z"
_CODE_OF_LOCK = rf"(?<![^\W\d_]){_CODE_WORD}(?:[ \t]+[^\W\d_]{{1,5}}){{0,3}}[ \t]+(?:[dl]['’])?{_LOCK}[^\W\d_]{{0,4}}"
_LOCK_WORD = rf"(?<![^\W\d_])(?:{table.LOCKS}|{table.THINGS}|{table.CARDS})[^\W\d_]{{0,2}}(?![^\W\d_])"
_LOCK_ALONE = rf"(?<![_-]){_LOCK}[^\W\d_]{{0,2}}[\"'`*_]{{0,3}}[ \t]{{0,3}}\Z"
_TYPED = r"[#*]?(?:[a-z]?\d{3,8}[#*a-z]?|\d{1,5}[a-z]\d{1,5}|\d{1,2}(?:[ .–-]\d{1,2}){2,3})"
"""A code that a lock takes: digits, with a key of letters or signs, or a combination of numbers."""
_DIGITS = rf"(?P<pin>{_TYPED})"
_DIGITS_OF_CODE = (
    rf"(?:{_OF}[^\r\n:=.|]{{1,30}}?|[ \t]+[^\W\d_]{{1,12}})??[\"'`*_]{{0,3}}[ \t]{{0,3}}"
    rf"(?:::?|[=：はが是|]|\b{IS_VERB}\b(?:[ \t]+(?:le|el|il)\b)?|(?=#\d)"
    rf"|(?<=[ \t])(?={_TYPED}[.,;)]?[ \t\r]*(?:\n|\Z)))"
    rf"[ \t]{{0,3}}[\"'`*]{{0,3}}[ \t]{{0,3}}{_DIGITS}(?![\w-]|[.,:/]\d)"
)
"""Digits behind the name of a code: behind a sign or a verb, or at the end of the line."""
_NUMBER_ALONE = rf"[:=：|–→][ \t*_\"'`]{{0,6}}{_DIGITS}[\"'`*_]{{0,3}}[ \t]*(?=\||\r?\n|\Z)"
_DATE = r"\d{3}|(?:19|20)\d\d|(?:[0-2]?\d|3[01])(?:.(?:[0-2]?\d|3[01])){2,3}"


def _groups(number: str) -> list[str]:
    """Return the groups of digits in a number."""
    return re.findall(r"\d+", re.sub(r"\\u[0-9a-fA-F]{4}", " ", number))


def _luhn(digits: str) -> bool:
    """Whether the check digit of a payment card is right (ISO/IEC 7812)."""
    odd = sum(map(int, digits[-1::-2]))
    return (odd + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


_LENGTHS = {item[:2]: int(item[2:]) for item in table.IBAN.split()}
"""Country → length of its bank account numbers."""


def _bank_accounts(text: str) -> Iterator[Found]:
    """Yield bank account numbers with the right length and check digits for their country (ISO 13616)."""
    head = r"\d\d(?<=[A-Za-z]{2}..)(?<![A-Za-z0-9]....)(?=[\W_]{0,3}[A-Za-z0-9])"  # begins with a set, like _CARD
    for digits in compiled(head).finditer(text):
        start = digits.start() - 2
        length = _LENGTHS.get(text[start : start + 2].upper())
        if not length:
            continue
        body = compiled(rf"(?:{_GAP}[A-Za-z0-9]){{{length - 4}}}(?![A-Za-z0-9])").match(text, digits.end())
        if body:
            rotated = re.sub(r"[^A-Za-z0-9]", "", body[0] + text[start : digits.end()])
            if int("".join(str(int(char, 36)) for char in rotated)) % 97 == 1:
                yield start, body.end(), "bank account"


_PROVIDER_KEY = (
    r"(?P<what>[A-Za-z0-9_ .-]{0,40}?)[\"'`*]{0,3}[ \t]{0,2}[:=][\"'`*]{0,3}[ \t]{0,2}[\"'`]?"
    r"(?P<value>[A-Za-z0-9_=+/-]{24,})(?![\w/.-])"
)


_PROVIDER_VALUE = r"[:=][\"'`*]{0,3}[ \t]{0,2}[\"'`]?[A-Za-z0-9_=+/-]{24}"
"""Every provider's key has this; it is searched before any name."""


def _provider_keys(text: str, low: str) -> Iterator[Found]:
    """Yield long random values after the name of a provider."""
    if not compiled(_PROVIDER_VALUE).search(text):
        return
    for name in table.PROVIDERS.split():
        at = low.find(name)
        while at >= 0:
            match = compiled(_PROVIDER_KEY).match(text, at + len(name))
            if (
                match
                and _random(match["value"][:_FIRST_READ], 24)
                and not re.search(r"(?i)commit|hash|sha|id$", match["what"])
            ):
                yield (*match.span("value"), f"{name} key")
            at = low.find(name, match.end() if match else at + 1)
