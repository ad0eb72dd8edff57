"""Quick checks of a text: whether it may hold a credential, what in it is invisible, and whether it can be written.

Everyday lines hold no credential, and then :mod:`tars_memory.vault.secrets` is not even imported.

A model reads invisible characters too, and they can hide a sentence in a note or a key from a search for keys. This
module has the only table of them, for all of the program. Those that change what a person sees stay: within emoji, and
as joiners that some scripts need between letters. :func:`shown` does the same for markdown: it removes what a reader
doesn't see of a line. It is in this module because a keyword search needs it and loads no grammar.

:func:`check_text` refuses typed input that is not text: it could not be written as it is.
"""

import re
import shlex
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from tars_memory.errors import UsageError

STEMS = (
    "pas|pw|psk|secret|contras|senha|kennwort|wachtwoord|haslo|losenord|salasana|heslo|auth|parol|palavra|key|token|"
    "credential|bearer|cod|cód|kod|kód|daten|geheim|clave|chiave|chave|sleutel|pin|puk|пин|cvv|cvc|curl|mysql|redis|login|"
    "session|sessid|seed|mn|phrase|fras|wallet|backup|zin|woord|wifi|wi-fi|wlan|://|:*:|"
    "暗証|contrase|hasło|lösenord|şifre|парол|密码|密碼|パスワード|비밀번호|clé|schlüssel|klucz|キー|密钥|密鑰|totp|2fa|mdp|код|码|碼|コード|코드|"
    "lozink|лозинк|geslo|slapta|гасл|口令|رمز|jelsz|κωδικ|סיסמ|पासवर्ड|รหัส|khẩu|sandi|كلمة|السري|باسو|비번|패스워드|암호|logins|词|詞|フレ|ニー|니모|시드|сид|мнем|sudo"
)
"""Parts of words beside which a short value may be a credential."""

_STEMS = STEMS.split("|")

MARK = "(masked "
"""Beginning of a masked credential; its kind and ``)`` follow."""

MIN_SHAPED_LENGTH = 16
"""Minimum length of a credential that is known by its own shape (``AKIA…`` has 20 characters)."""

_MIN_DIGITS = 12
"""Minimum number of digits of a card number, recovery key or bank account number."""

_CACHED_LENGTH = 500
"""Maximum length of a text whose result is cached: a line is checked several times before it is written."""

LINE_BREAK = r"[ \t]?\\?\r?\n[ \t>]{0,8}"
"""The break that a terminal or a mail makes within a long word."""


# -- patterns that all searches for credentials share

LIST_MARK = r"(?:[-*+>|]|\d{1,3}[.)]|\d{1,2}:\d\d(?::\d\d)?|\[[^\[\]\r\n]{1,12}\][+-]?)(?=[ \t])"
MARKS = rf"(?>(?:[ \t>]|{LIST_MARK}){{0,40}})"
"""What may stand before the words of a line: marks of quotes, lists, cells and tasks, a number, a time, a state."""

IS_VERB = (
    r"(?:is|was|are|to|ist|war|lautet|sind|(?:c['’])?est|était|sont|es|era|son|è|é|sono|são|luidt|är|jest|je|este|adalah|là|هي|هو|היא|הוא|คือ"
    r"|=|—|–|-)"
)
"""Verbs between a label and its value; a pattern."""

CLOCK = r"\d{1,2}:\d\d(?::\d\d)?[ \t]+"
"""The time before a line of a day; a pattern."""


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use."""
    return re.compile(pattern)


# -- the first look


def suspicious(text: str) -> bool:
    """Whether the text might hold a credential; False is certain, True is only a reason to search."""
    return _cached_may_hold_secret(text) if len(text) <= _CACHED_LENGTH else _may_hold_secret(text)


def _may_hold_secret(text: str) -> bool:
    plain = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if not (plain.isascii() and plain.isprintable()) and re.search(_DISGUISE, plain):
        return True
    low = plain.lower()
    return (
        any(map(low.__contains__, _STEMS))
        or sum(map(plain.count, "0123456789")) >= _MIN_DIGITS
        or re.search(_SHAPE, low) is not None
        or (
            "\n" in text
            and any(re.search("[0-9A-Z_]", run) for run in re.findall(_LONG_RUN, re.sub(LINE_BREAK, "", text)))
        )
    )


_cached_may_hold_secret = lru_cache(maxsize=4096)(_may_hold_secret)


_LONG_RUN = f"[!-~]{{{MIN_SHAPED_LENGTH},}}"
"""A run of visible ASCII characters as long as a credential with its own shape."""
_SHAPE = (
    rf"[!-~]{{{MIN_SHAPED_LENGTH}}}|:\d{{3,5}}:[!-~]|(?<![^\W_])[a-z]{{2}}\d\d[^a-z0-9]{{0,3}}[a-z0-9]{{2,4}}[^a-z0-9]{{0,3}}[a-z0-9]{{4}}"
    r"|(?<![^\W_])[a-z]{3,8}(?:[^a-z]{1,16}[a-z]{3,8}){11}"
    r"|[:=：|–→][ \t*_\"'`]{0,6}[#*]?\d{1,2}(?:\d\d|[ .–-]\d{1,2}[ .–-]\d)"
    r"|ombina|[ \t]/[ \t]{1,3}(?=[!-~]{0,40}\d)[!-~]{6}"
)
"""A long run without blanks, a line of ``.pgpass``, the start of a bank account number, words in a row, a number after
a sign, which may open a lock, or a word with a digit after a slash, which may be a password after the name of a user.
"""


# -- input that is not text

_NOT_TEXT = "[\x00\ud800-\udfff]"
"""A NUL, and the surrogates that Python makes of a byte that is not UTF-8 (U+DC80 to U+DCFF) or of half a JSON escape.
"""


def check_text(text: str, what: str = "the text") -> None:
    """Check that typed text can be written as it is: a note is UTF-8 and holds no NUL.

    Args:
        text: as the system gave it, with each byte that is not UTF-8 as a lone surrogate.
        what: name of the text in the message.

    Raises:
        UsageError: the text can't be written; the message names the character and its place.
    """
    if text.isascii() and "\0" not in text:
        return
    found = re.search(_NOT_TEXT, text)
    if found is None:
        return
    code, before = ord(found[0]), text[: found.start()]
    problem = "contains a NUL" if not code else f"contains half a character (U+{code:04X})"
    problem = f"is not UTF-8: byte {code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else problem
    line = 1 + len(re.findall(r"\r\n|\r|\n", before))
    count = len(re.findall(_NOT_TEXT, text))
    more = f"; it is the first of {count:,}" if count > 1 else ""
    message = f"{what} {problem} in line {line}, at offset {len(before.encode())}{more}"
    raise UsageError(message, _conversion_hint(text))


def wide_encoding(data: bytes) -> str:
    """Return "UTF-16" or "UTF-32" if a byte order mark or NULs show one of them; else an empty string."""
    if data[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        return "UTF-32"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    if b"\0" not in data[:4]:  # in these encodings, text begins with an ASCII character
        return ""
    nuls = data.count(0) % len(data)  # 0 for nothing but NULs, as a crash leaves a note: that is not text
    return "UTF-32" if nuls * 2 > len(data) else "UTF-16" if nuls * 3 > len(data) else ""


def wide_name(data: bytes) -> str:
    """Return the name by which iconv knows the UTF-16 or UTF-32 of the data; empty if it is neither.

    Without a byte order mark, the name says the order, which iconv takes for that of its machine or of the network.
    Data with NULs that is no UTF-8 either is taken for UTF-16 if all its NULs are the same half of a character: in an
    alphabet other than Latin, only blanks and signs have one.
    """
    if wide := wide_encoding(data):
        has_mark = data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] == b"\0\0\xfe\xff"
        return wide.lower() + ("" if has_mark else "le" if data[0] else "be")
    halves = {found.start() % 2 for found in re.finditer(b"\0", data)}
    if len(halves) != 1 or len(data) % 2 or _is_utf8(data):
        return ""
    return "utf-16le" if halves == {1} else "utf-16be"


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def conversion(data: bytes) -> list[str]:
    """Return the commands, for a pipe, that make of what :func:`check_text` refuses text that it takes."""
    if wide := wide_name(data):
        return [f"iconv -f {wide} -t utf-8"]
    commands = [] if _is_utf8(data) else ["iconv -f latin1 -t utf-8"]
    return [*commands, "tr -d '\\0'"] if b"\0" in data else commands


def _conversion_hint(text: str) -> str:
    """Return what to do about a text that can't be written."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return "give the whole character: as escapes of JSON it takes two"
    commands = " | ".join(conversion(data))
    if wide := wide_name(data):
        return f"it looks like {wide[:6].upper()}: convert it first: {commands}"
    if _is_utf8(data):
        return f"remove the NUL: {commands}" if commands else "the locale hides that it is: set LC_ALL=C.UTF-8"
    return f"convert it first from its own encoding, which may be Latin-1: {commands}"


# -- invisible characters

IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt 16.0): all 4,174, those not yet assigned too."""

CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\ufff9-\ufffb"
"""Control characters except tab and newline, and the marks of interlinear annotations."""

UNSEEN = f"[{CONTROL}{IGNORABLE}]"
"""Pattern of a character that is invisible by itself."""

_DISGUISE = f"{UNSEEN}|[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\uff10-\uff5a\u0130]"
"""A character that may hide a credential or replace one of its own: invisible, full-width, another blank."""

_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""Characters that can be emoji, skin tones included."""
_JOINING = (
    "\u0620-\u06ff\u0700-\u077f\u07c0-\u07ff\u0840-\u085f\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3"
    "\u17b6-\u17ff\u1807\u1820-\u18aa\u1b00-\u1bff\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df\ufb50-\ufdff\ufe70-\ufefc"
)
"""Letters and signs of Arabic (Persian, Urdu …), Syriac, Indic and other scripts in which joiners shape words."""
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_SPACELESS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1950-\u19ff\u1a20-\u1aaf"
"""Characters of Thai, Lao, Tibetan, Burmese and Khmer, in which a zero width space separates words."""
_MONGOLIAN = "\u1820-\u18aa"

_VISIBLE_SEQUENCES = (
    f"[{_PICTURE}][\ufe0e\ufe0f]?(?>(?:\u200d[{_PICTURE}][\ufe0e\ufe0f]?)*)"
    "(?:(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)?\U000e007f)?"  # the flags of England, Scotland and Wales
    "|[0-9#*]\ufe0f(?=\u20e3)"
    rf"|(?<=[\w{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_VIRAMA}])[\u200c\u200d](?![{IGNORABLE}])"
    f"|(?<=[{_SPACELESS}])\u200b(?=[{_SPACELESS}])"
    f"|(?<=[{_MONGOLIAN}])[\u180b-\u180f](?=[{_MONGOLIAN}\\s]|$)"
)

_KEPT_OR_INVISIBLE = f"(?P<kept>{_VISIBLE_SEQUENCES})|[{CONTROL}{IGNORABLE}]+"
"""A sequence that stays visible, or a run of invisible characters."""

_TARGET = r"\((?:[^()\\]|\\.|\([^()]*\))*\)"
_MARKDOWN_UNSEEN = (
    rf"!\[[^\[\]]*\]{_TARGET}|!\[\[[^\[\]]*\]\]|(?<=\]){_TARGET}"  # a picture, an embed, or where a link leads
    r"|<!--.*?-->|%%.*?%%|^\^[\w-]+\s*$"  # a comment, or the id of the block above
    r"|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"  # a tag; an address between < and > has a colon and is shown
)
"""The parts of a markdown line that a reader doesn't see."""
RUN_BY_PLUGIN = (
    r"(?i)^((?:[ ]{0,3}>)*[ ]{0,3}(?:`{3,}|~{3,})[ \t]*)"
    r"(?=dataview|datacore|js-engine|meta-bind|templater|customjs|(?:tasks|query)\s*$)"
)
"""The first line of a fence that Obsidian or a plugin runs when the note is shown, also in a quotation or callout."""


def visible(text: str, replaced: Callable[[str], str] = lambda _: "") -> str:
    """Return the text without invisible characters. Idempotent.

    Tabs and newlines stay, and so do emoji and single joiners between letters of scripts that need them.

    Args:
        text: any text.
        replaced: returns the replacement of a run of invisible characters.
    """
    if (text.isascii() and text.isprintable()) or not re.search(UNSEEN, text):
        return text
    return re.sub(_KEPT_OR_INVISIBLE, lambda found: found["kept"] or replaced(found[0]), text)


def shell_path(path: str) -> str:
    r"""Return a path on one line in a form that can be used in a shell.

    A path with invisible characters is quoted for bash, zsh and ksh, with their bytes in octal as git writes them:
    ``$'new\nline\033.md'``. Any other path is returned as it is.
    """
    if path.isascii() and path.isprintable():
        return path
    escaped = path.replace("\\", "\\\\").replace("'", "\\'")
    shown = re.sub("[\t\n\u2028\u2029\udc80-\udcff]", lambda found: _in_octal(found[0]), visible(escaped, _in_octal))
    return path if shown == escaped else f"$'{shown}'"


def shell_word(path: str) -> str:
    """Return a path as a word of a command to paste, on one line: quoted where a shell would split or expand it."""
    shown = shell_path(path)
    return shown if shown != path else shlex.quote(path)


def _in_octal(characters: str) -> str:
    escapes = {"\n": "\\n", "\t": "\\t"}
    octal = "".join(f"\\{byte:03o}" for byte in characters.encode("utf-8", "surrogateescape"))
    return escapes.get(characters, octal)


def count_invisible(text: str) -> int:
    """Return the number of invisible characters; soft hyphens, byte order marks and line breaks don't count."""
    if text.isascii() and text.isprintable():
        return 0
    text = re.sub(r"[\xad\ufeff\r\v\f\x1c-\x1e\x85]", "", text)
    return len(re.findall(UNSEEN, text)) - len(re.findall(UNSEEN, visible(text)))


def shown(lines: Iterable[str]) -> list[str]:
    """Return markdown lines as a reader sees them: only the words of a link, no picture, embed, HTML tag, comment
    or block id of its own line, and nothing of a fence that a plugin runs, whose result is shown instead.
    """
    found: list[str] = []
    fence = ""
    within = False  # a quotation, which ends its fences
    for line in lines:
        mark = line.strip("> \t") if fence or "```" in line or "~~~" in line else ""
        if fence and not (within and line.lstrip()[:1] != ">"):
            found.append("")
            fence = "" if mark.startswith(fence) and not mark.strip(fence[0]) else fence
        elif mark and (run := re.match(RUN_BY_PLUGIN, line)):
            found.append("")
            fence, within = run[1].strip("> \t"), ">" in run[1]
        elif "](" in line or "![[" in line or "%%" in line or "<" in line or line[:1] == "^":
            found.append(re.sub(_MARKDOWN_UNSEEN, "", line))
        else:
            found.append(line)
    return found
