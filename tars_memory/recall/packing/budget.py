"""What text costs in a prompt: the one place that says so. Pure."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 4
"""English prose under the tokenizers of today's models has about four characters a token. It is an estimate: scripts
without spaces cost up to four times as much, so leave room if your notes are in one of them."""


def tokens(characters: int) -> int:
    """Tokens of so many characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def characters(tokens: int) -> int:
    """Characters that so many tokens pay for."""
    return max(tokens, 0) * CHARACTERS_PER_TOKEN
