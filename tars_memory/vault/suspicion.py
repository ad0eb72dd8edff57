"""A first look at a text: whether it could hold a credential at all, and what in it nobody sees.

Everyday lines hold no credential, and then nothing of :mod:`tars_memory.vault.secrets` is even imported.

Text that nobody sees is still read by a model, and can hide a sentence in a note or a key from whoever looks for keys:
here is the one table of invisible characters, for every door of the program. What works on what one sees stays: emoji
of several characters, and the joiners that some scripts need between letters. :func:`shown` is the same for markdown:
what a reader doesn't see of a line. It stands here because a keyword search needs it and loads no grammar.

And what is no text at all, :func:`check_text` refuses where it was typed: written, it would be something else.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


STEMS = (
    "pas|pw|psk|secret|contras|senha|kennwort|wachtwoord|haslo|losenord|salasana|heslo|auth|parol|palavra|key|token|"
    "credential|bearer|cod|cód|kod|kód|daten|geheim|clave|chiave|chave|sleutel|pin|cvv|cvc|curl|mysql|redis|login|"
    "session|sessid|seed|mn|phrase|fras|wallet|backup|zin|woord|wifi:|://|:*:|"
    "contrase|hasło|lösenord|şifre|парол|密码|密碼|パスワード|비밀번호|clé|schlüssel|код|码|碼|コード|코드|"
    "jelsz|κωδικ|סיסמ|पासवर्ड|รหัส|khẩu|sandi|كلمة|logins|词|詞|フレ|ニー|니모|시드|сид|мнем"
)
"""Parts of the words beside which a short value may be a credential."""

_STEMS = STEMS.split("|")

MARK = "(masked "
"""How a masked credential begins; its kind and ``)`` come after it."""

LONG = 16
"""No credential that is known by its own shape is shorter (``AKIA…`` has 20 characters)."""

DIGITS = 12
"""No card number, recovery key or bank account number has fewer."""

SHORT = 500
"""Characters of a line, which is looked at several times before it is written: what was found is remembered."""

BROKEN = r"[ \t]?\\?\r?\n[ \t>]{0,8}"
"""Where a terminal or a mail breaks a long word."""


def suspicious(text: str) -> bool:
    """Whether the text might hold a credential; False is certain, True is only a reason to look."""
    return _remembered(text) if len(text) <= SHORT else _looked(text)


def _looked(text: str) -> bool:
    plain = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if not (plain.isascii() and plain.isprintable()) and _odd().search(plain):
        return True
    low = plain.lower()
    return (
        any(map(low.__contains__, _STEMS))
        or sum(map(plain.count, "0123456789")) >= DIGITS
        or _shape().search(low) is not None
        or ("\n" in text and any(map(_machine().search, _long().findall(re.sub(BROKEN, "", text)))))
    )


_remembered = lru_cache(maxsize=4096)(_looked)


@cache
def _odd() -> re.Pattern[str]:
    """What may hide a credential, or stand for a sign of one: invisible characters, full width, other blanks."""
    return re.compile(f"{unseen().pattern}|[\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\uff10-\uff5a\u0130]")


@cache
def _long() -> re.Pattern[str]:
    return re.compile(f"[!-~]{{{LONG},}}")


@cache
def _machine() -> re.Pattern[str]:
    return re.compile("[0-9A-Z_]")


@cache
def _shape() -> re.Pattern[str]:
    """A long run without a blank; a line of ``.pgpass``; the start of a bank account number; words in a row."""
    return re.compile(
        rf"[!-~]{{{LONG}}}|:\d{{3,5}}:[!-~]|(?<![^\W_])[a-z]{{2}}\d\d[^a-z0-9]{{0,3}}[a-z0-9]{{2,4}}[^a-z0-9]{{0,3}}[a-z0-9]{{4}}"
        r"|(?<![^\W_])[a-z]{3,8}(?:[^a-z]{1,16}[a-z]{3,8}){11}"
    )


# -- what is no text

_NO_TEXT = "[\x00\ud800-\udfff]"
"""A NUL, and what Python makes of a byte that is no UTF-8 (U+DC80 to U+DCFF) or of half an escape of JSON."""

_UTF16 = ("\udcff\udcfe", "\udcfe\udcff")
"""How UTF-16 begins, as bytes that are no UTF-8."""


def check_text(text: str, what: str = "the text") -> None:
    """See that what was typed can be written as it was typed: a note is UTF-8, and no character of it is a NUL.

    Args:
        text: as the system gave it, each byte that is no UTF-8 as a lone surrogate.
        what: it is, as the message names it.

    Raises:
        UsageError: it is not; the message says what stands where.
    """
    if text.isascii() and "\0" not in text:
        return
    found = re.search(_NO_TEXT, text)
    if found is None:
        return
    sign, before = ord(found[0]), text[: found.start()]
    held = "holds a NUL" if not sign else f"holds half a character (U+{sign:04X})"
    held = f"is not UTF-8: byte {sign - 0xDC00:02X}" if _is_byte(sign) else held
    line = 1 + len(re.findall(r"\r\n|\r|\n", before))
    many = len(re.findall(_NO_TEXT, text))
    more = f"; it is the first of {many:,}" if many > 1 else ""
    raise UsageError(f"{what} {held} in line {line}, at offset {len(before.encode())}{more}", _advice(text, sign))


def _is_byte(sign: int) -> bool:
    return 0xDC80 <= sign <= 0xDCFF


def conversion(text: str) -> str:
    """The command that reads what :func:`check_text` refuses and prints text; empty where none does."""
    if text.startswith(_UTF16):
        return "iconv -f utf-16 -t utf-8"
    if any(map(_is_byte, map(ord, text))):
        return "iconv -f latin1 -t utf-8"
    return "tr -d '\\0'" if "\0" in text else ""


def _advice(text: str, sign: int) -> str:
    """What to do about a text that can't be written because of this sign."""
    if text.startswith(_UTF16):
        return f"it begins as UTF-16 does: convert it first: {conversion(text)}"
    if _is_byte(sign):
        return f"convert it first from its own encoding, which may be Latin-1: {conversion(text)}"
    if not sign:
        return "convert it first if it is UTF-16: iconv -f utf-16 -t utf-8; else take the NUL out: tr -d '\\0'"
    return "give the whole character: as escapes of JSON it takes two"


# -- what nobody sees

IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt 16.0): all 4,174, those not yet assigned too."""

CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\ufff9-\ufffb"
"""Control characters but tab and newline, and the marks of interlinear notes."""

_PICTURE = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
"""What can be an emoji; the tones of skin are among them."""
_JOINING = (
    "\u0620-\u06ff\u0700-\u077f\u07c0-\u07ff\u0840-\u085f\u0860-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3"
    "\u17b6-\u17ff\u1807\u1820-\u18aa\u1b00-\u1bff\ua840-\ua87f\ua8e0-\ua8ff\ua980-\ua9df\ufb50-\ufdff\ufe70-\ufefc"
)
"""Letters and signs of Arabic (Persian, Urdu …), Syriac, Indic and other scripts in which joiners shape words."""
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_SPACELESS = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff\u1950-\u19ff\u1a20-\u1aaf"
"""Thai, Lao, Tibetan, Burmese, Khmer: words part at a zero width space."""
_MONGOLIAN = "\u1820-\u18aa"

_KEPT = (
    f"[{_PICTURE}][\ufe0e\ufe0f]?(?>(?:\u200d[{_PICTURE}][\ufe0e\ufe0f]?)*)"
    "(?:(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)?\U000e007f)?"  # the flags of England, Scotland and Wales
    "|[0-9#*]\ufe0f(?=\u20e3)"
    rf"|(?<=[\w{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_VIRAMA}])[\u200c\u200d](?![{IGNORABLE}])"
    f"|(?<=[{_SPACELESS}])\u200b(?=[{_SPACELESS}])"
    f"|(?<=[{_MONGOLIAN}])[\u180b-\u180f](?=[{_MONGOLIAN}\\s]|$)"
)


def visible(text: str, told: Callable[[str], str] = lambda _: "") -> str:
    """The text without its invisible characters; tabs and newlines stay, and so do emoji and single joiners between
    letters of scripts that need them. Idempotent.

    Args:
        text: anything.
        told: what stands instead of a run of them.
    """
    if (text.isascii() and text.isprintable()) or not unseen().search(text):
        return text
    return _shown().sub(lambda found: found["kept"] or told(found[0]), text)


def written(path: str) -> str:
    r"""A path on one line, so that it can be used: as it is, or if it holds what nobody sees, as bash, zsh and ksh
    take it, each such byte in octal, as git writes it: ``$'new\nline\033.md'``.
    """
    escaped = path.replace("\\", "\\\\").replace("'", "\\'")
    shown = re.sub("[\t\n\u2028\u2029\udc80-\udcff]", lambda found: _octal(found[0]), visible(escaped, _octal))
    return path if shown == escaped else f"$'{shown}'"


def _octal(signs: str) -> str:
    plain = {"\n": "\\n", "\t": "\\t"}
    return plain.get(signs) or "".join(f"\\{byte:03o}" for byte in signs.encode("utf-8", "surrogateescape"))


def hidden(text: str) -> int:
    """How many characters nobody would see; soft hyphens, byte order marks and what breaks a line don't count."""
    if text.isascii() and text.isprintable():
        return 0
    text = re.sub(r"[\xad\ufeff\r\v\f\x1c-\x1e\x85]", "", text)
    return len(unseen().findall(text)) - len(unseen().findall(visible(text)))


def shown(line: str) -> str:
    """A line as a reader sees it: of a link its words, nothing of a picture, a tag of HTML or a comment."""
    if "](" in line or "%%" in line or "<" in line:
        return _unread().sub("", line)
    return line


@cache
def unseen() -> re.Pattern[str]:
    """One character that is never seen by itself."""
    return re.compile(f"[{CONTROL}{IGNORABLE}]")


@cache
def _shown() -> re.Pattern[str]:
    return re.compile(f"(?P<kept>{_KEPT})|[{CONTROL}{IGNORABLE}]+")


@cache
def _unread() -> re.Pattern[str]:
    target = r"\((?:[^()\\]|\\.|\([^()]*\))*\)"
    return re.compile(
        rf"!\[[^\[\]]*\]{target}|(?<=\]){target}"  # a picture, or where a link leads
        r"|<!--.*?-->|%%.*?%%"
        r"|</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"  # a tag; an address between < and > has a colon and is shown
    )
