"""Notes made at random out of everything that has ever confused a markdown editor."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from time import process_time

LINES = [
    *(b"# T", b"## Log", b"## Log ##", b"## Notes", b"### sub", b"##  *Log*", b"#not", b"# ", b"Log\n---", b"Two\n==="),
    *(b"- a", b"- a", b"* s", b"+ p", b"  - child", b"    cont", b"      - deep", b"-", b"- ", b"- # h", b"- - z"),
    *(b"- 14:30 [extracted] w ^d-1", b"- b ([[2026-11-21#^d-1|2026-11-21]]) ^m-2", b"- [ ] task", b"- [x] done #tag"),
    *(b"1. one", b"2. two", b"   - under a number", b" - one space", b"   - three", b"-     code", b"-\ttab"),
    *(b"> q", b"> - q", b"> ```", b"> [!note] c", b"```", b"```py", b"~~~", b"- ```", b"  ```", b"````"),
    *(b"%%", b"%% x %%", b"a %% b", b"%% kanban:settings", b"<!--", b"-->", b"<!-- x -->", b"<div>", b"</div>"),
    *(b"<script>", b"</script>", b"<b>in</b>", b"<?x", b"?>", b"| a | b |", b"|---|---|", b"| - x | y |", b"|x|"),
    *(b"", b"", b"", b"  ", b"\t", b"text", b"text", b"  text", b"    code", b"\tcode", b"---", b"===", b"***"),
    *(b"[x]: http://a", b"[^1]: note", b"$$", b"$$ x $$", b"\\", b"tail  ", b"^id-1", b"![[x]]", b"\xc2\xa0- nbsp"),
    *(b"\xff\xfe", b"- \xc3\x28 bad", b"nul\x00in", b"- nul\x00", b"\xe2\x80\xa8sep", b"- x\xe2\x80\xa8y"),
    *(b"_ _ _", b"\xef\xbb\xbf- bom", b"tags: [a]"),
    *("- שלום".encode(), "- 😀 #ta/g".encode(), b"\x0c", b"\x0b- vt", b"\x1b[31m", b"\xc2\x85nel", b"---"),
]  # fmt: skip
ENDINGS = [[b"\n"], [b"\n"], [b"\r\n"], [b"\r"], [b"\n", b"\r\n", b"\r"]]


def document(random: Random, longest: int = 16) -> bytes:
    """A note: perhaps a byte order mark and front matter, then some lines, perhaps no final line ending.

    It never begins with the mark of UTF-16: such a note is neither read nor written.
    """
    endings = random.choice(ENDINGS)
    parts = [b"\xef\xbb\xbf"] if random.random() < 0.1 else []
    if random.random() < 0.2:
        for line in (b"---", b"title: x", b"tags: [a, b]", random.choice([b"---", b"--- ", b"..."])):
            parts += [line, random.choice(endings)]
    count = random.randint(0, longest)
    for number in range(count):
        for line in random.choice(LINES).split(b"\n"):
            parts += [line, random.choice(endings)]
        if number == count - 1 and random.random() < 0.3:
            parts.pop()
    return b"".join(parts).removeprefix(codecs.BOM_UTF16_LE)


def seeded(seed: int) -> Random:
    """The same chance each time in ``make test``; in ``make prove`` that of its seed."""
    return Random(f"{os.environ['TARS_PROVE_SEED']} {seed}" if "TARS_PROVE_SEED" in os.environ else seed)


def examples(count: int) -> int:
    """A quarter as many cases of a property in ``make test``, twenty times as many in ``make prove`` at its scale."""
    return scale(20 * count) if "TARS_PROVE_SEED" in os.environ else -(-count // 4)


def sized(size: int) -> int:
    """The size of what a ``timed`` test takes: an eighth where nobody looks at the clock."""
    return size if "TARS_PROVE_SEED" in os.environ else -(-size // 8)


def scale(count: int) -> int:
    """So many cases at the scale that was asked for (``TARS_PROVE_SCALE``)."""
    return max(1, int(count * float(os.environ.get("TARS_PROVE_SCALE", "1"))))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What may take so much CPU time, for a test that is marked ``timed``: only ``make prove`` looks at the clock."""
    begun = process_time()
    yield
    spent = process_time() - begun
    assert spent < seconds or "TARS_PROVE_SEED" not in os.environ, f"{spent:.1f} s"
