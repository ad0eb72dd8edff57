"""A first, cheap look: whether a text could hold a credential at all. Everyday lines can't, and then nothing of
:mod:`tars_memory.vault.secrets.masking` is even imported.
"""

from __future__ import annotations

STEMS = (
    "pas|pw|psk|secret|contras|senha|kennwort|wachtwoord|haslo|losenord|salasana|heslo|auth|parol|palavra|key|token|credential|"
    "bearer|code|daten|geheim|clave|chiave|chave|sleutel|pin|cvv|cvc|curl|mysql|redis|login|session|sessid|seed|"
    "mnemonic|phrase|://"
)
"""Parts of the words beside which a short value may be a credential; text of other letters is never passed over."""

LONG = 16
"""No credential that is known by its own shape is shorter (``AKIA…`` has 20 characters)."""

CARD = 15
"""Digits of the shortest payment card number."""


def suspicious(text: str) -> bool:
    """Whether the text might hold a credential; False is certain, True is only a reason to look."""
    plain = text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if not (plain.isascii() and plain.isprintable()):
        return True
    low = plain.lower()
    return (
        max(map(len, plain.split()), default=0) >= LONG
        or any(stem in low for stem in STEMS.split("|"))
        or sum(map(plain.count, "0123456789")) >= CARD
    )
