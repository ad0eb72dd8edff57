"""A first, cheap look: whether a text could hold a credential at all. Everyday lines can't, and then nothing of
:mod:`tars_memory.vault.secrets` is even imported.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from tars_memory.vault.markdown.visible import unseen

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
