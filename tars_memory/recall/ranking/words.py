"""What else there is in a query beside words: scripts without spaces, emoji, and words that only ask."""

from __future__ import annotations

import unicodedata

ASKING_WORDS = frozenset(
    {"summarize", "summarise", "summary", "describe", "explain", "tell", "discuss", "discussed", "discussion"}
    | {"discussions", "mention", "mentioned", "talk", "talked", "say", "said", "says", "think", "thinks", "thought"}
    | {"according"}
)
"""What a sentence asks somebody to do, not what it asks about: dropped from sentences (with stop words) only."""

_UNSPACED = (
    (0x2E80, 0x2FDF), (0x3040, 0x30FF), (0x3100, 0x312F), (0x3130, 0x318F), (0x31A0, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x3FFFF),
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF),
)  # fmt: skip
"""Scripts written without spaces (Han, kana, hangul, bopomofo; Thai, Lao, Burmese, Khmer): a run is no word."""


def unspaced_runs(text: str) -> list[str]:
    """The stretches of a text in scripts that are written without spaces between words."""
    if text.isascii():
        return []
    runs: list[str] = []
    current = ""
    for c in text:
        if ord(c) >= 0x0E00 and any(low <= ord(c) <= high for low, high in _UNSPACED):
            current += c
        elif current:
            runs.append(current)
            current = ""
    return [*runs, current] if current else runs


def is_run(text: str) -> bool:
    """Whether a text is nothing but one such stretch."""
    return unspaced_runs(text) == [text]


def symbols(text: str) -> list[str]:
    """Emoji and other pictures of a text, joined ones as one, without the selector of their style."""
    found: list[str] = []
    current = ""
    for c in [*text, " "]:
        if unicodedata.category(c) == "So" or (current and c in _JOINING):
            current += c
        elif current:
            found.append(current.replace("\ufe0f", "").strip("\u200d"))
            current = ""
    return [one for one in found if one]


_JOINING = frozenset("\u200d\ufe0f\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")
"""Zero-width joiner, picture style, key cap, skin tones."""
