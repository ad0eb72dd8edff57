"""Random documents of everything that notes are made of, and random splices of them."""

from __future__ import annotations

import random

from tars_memory.vault.markdown.document import apply
from tars_memory.vault.model import Splice
from tars_memory.vault.suspicion import wide_encoding
from tars_memory.vault.vault import is_other_encoding

PIECES = [
    *(b"\n", b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"\n\n", b" ", b"\t"),
    *(b"- one", b"- two #tag", b"  - nested ^m-7f3ak2cq", b"* star", b"+ plus", b"1. first", b"# A", b"## Notes"),
    *(b"```", b"~~~python", b"%%", b"$$", b"---", b"title: x", b"> quote", b"| a | b |", b"<!-- c", b"-->"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85", b"\x0b", b"\x0c", b"\x1c"),
    *(b"\xed\xb2\x80", b"\xf0\x9f\xa6\x8a", "Zürich".encode(), "東京".encode(), b"\xe2\x82", b"[[x#^d-1|y]]"),
    *(b"a" * 40, b"x" * 400),
]


def document(chance: random.Random) -> bytes:
    """Any bytes are a document, but for the mark of UTF-16 at their start; half of them end without a newline."""
    found = b"".join(chance.choices(PIECES, k=chance.randrange(30)))
    return document(chance) if wide_encoding(found) else found


def splices(chance: random.Random, data: bytes) -> list[Splice]:
    """One to three disjoint splices in order; of a document that is not UTF-8 they make no mixture."""
    pieces = [each for each in PIECES if each.isascii()] if is_other_encoding(data) else PIECES
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(2 * chance.choice((1, 1, 1, 2, 3))))
    found = [
        Splice(start, end, b"".join(chance.choices(pieces, k=chance.randrange(4))))
        for start, end in zip(cuts[::2], cuts[1::2], strict=True)
    ]
    return splices(chance, data) if wide_encoding(apply(data, found)) else found
