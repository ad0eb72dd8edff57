"""The model for every language: its tokenizer, its first query, its memory, its passages; and its pieces against those
of the library tokenizers, where a tokenizer.json of the model is at hand.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

from bench.bare import EMBED
from bench.measure import Case, interleaved, table, verdict
from bench.place import PYTHON, Place
from tars_memory.index import models, prepare

READY_LIMIT = 0.1
"""CPU seconds until the tokenizer has split its first text."""
QUERY_LIMIT = 1.8
"""The first query of a process, as a multiple of the bare script over the English model."""
MEMORY_LIMIT = 220.0
"""MB of private memory after it."""
PASSAGES_LIMIT = 4.0
"""Passages of 256 word pieces in a second of one processor."""
PASSAGES = 20

_OPEN = """
import sys, time
from pathlib import Path
from tars_memory.index import prepare
manifest, folder = prepare.ready("multilingual", Path(sys.argv[1]))
"""
_TOKENIZER = (
    _OPEN
    + """
start = time.process_time()
from tars_memory.index import prepare
prepare.Pieces(folder, prepare.Weights(folder / prepare.WEIGHTS)).encode("Wann kommt Anna?", 99)
print(time.process_time() - start)
"""
)
_QUERY = (
    _OPEN
    + """
from tars_memory.index.passages import Session
Session(manifest, folder).query(sys.argv[2])
"""
)
_MEMORY = (
    _QUERY
    + """
rows = (line.split() for line in Path("/proc/self/smaps_rollup").read_text().splitlines())
print(sum(int(row[1]) for row in rows if row[0] in ("Private_Clean:", "Private_Dirty:")) / 1024)
"""
)
_PASSAGES = (
    _OPEN
    + f"""
from tars_memory.index.passages import Session
session = Session(manifest, folder, repack=True)
texts = ["\\n".join(f"{{word}} {{number}}" for word in ["Wasser Brot Hafen"] * 42) for number in range({PASSAGES})]
session.passage(texts[0])
start = time.process_time()
for text in texts:
    session.passage(text)
print({PASSAGES} / (time.process_time() - start))
"""
)

SCRIPTS = {
    "Latin": (0x41, 0x24F), "IPA": (0x250, 0x2AF), "Greek": (0x370, 0x3FF), "Cyrillic": (0x400, 0x52F),
    "Armenian": (0x531, 0x58F), "Hebrew": (0x591, 0x5F4), "Arabic": (0x600, 0x6FF), "Syriac": (0x700, 0x74F),
    "Thaana": (0x780, 0x7B1), "Devanagari": (0x900, 0x97F), "Bengali": (0x980, 0x9FE), "Gurmukhi": (0xA01, 0xA76),
    "Gujarati": (0xA81, 0xAFF), "Oriya": (0xB01, 0xB77), "Tamil": (0xB82, 0xBFA), "Telugu": (0xC00, 0xC7F),
    "Kannada": (0xC80, 0xCF2), "Malayalam": (0xD00, 0xD7F), "Sinhala": (0xD81, 0xDF4), "Thai": (0xE01, 0xE5B),
    "Lao": (0xE81, 0xEDF), "Tibetan": (0xF00, 0xFDA), "Myanmar": (0x1000, 0x109F), "Georgian": (0x10A0, 0x10FF),
    "Ethiopic": (0x1200, 0x137C), "Khmer": (0x1780, 0x17F9), "Mongolian": (0x1800, 0x18AA), "kana": (0x3041, 0x30FF),
    "Han": (0x4E00, 0x9FFF), "Hangul": (0xAC00, 0xD7A3), "Arabic forms": (0xFB50, 0xFDFB), "wide": (0xFF01, 0xFFEE),
    "emoji": (0x1F300, 0x1FAFF), "symbols": (0x2000, 0x2BFF), "marks": (0x300, 0x36F),
}  # fmt: skip
"""First and last character of what the texts for the comparison are drawn from."""


def report(place: Place, rounds: int) -> str:
    """Measure and tell."""
    _, folder = prepare.ready(models.MULTILINGUAL, place.places.cache)
    graph = next(place.model.glob("onnxruntime-*/model.onnx"))
    cache, env = str(place.places.cache), place.env

    def printed(script: str) -> float:
        command = [PYTHON, "-c", script, cache, "Wann kommt Anna?"]
        return statistics.median(
            float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
            for _ in range(min(rounds, 5))
        )

    bare = [PYTHON, "-c", EMBED + "embed(given)", str(graph), str(place.model / "tokenizer.json"), "When comes Anna?"]
    cases = {
        "bare": Case(lambda _: bare, env),
        "query": Case(lambda number: [PYTHON, "-c", _QUERY, cache, f"Wann kommt Anna {number}?"], env),
    }
    costs = interleaved(cases, rounds)
    ready, ratio = printed(_TOKENIZER), costs["query"].cpu / costs["bare"].cpu
    memory, passages = printed(_MEMORY), printed(_PASSAGES)
    on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    rows = [
        ("tokenizer ready, CPU s", f"{ready:.3f}", f"{READY_LIMIT:.2f}", verdict(ready, READY_LIMIT)),
        ("first query, x bare script", f"{ratio:.2f}", f"{QUERY_LIMIT:.2f}", verdict(ratio, QUERY_LIMIT)),
        ("private memory, MB", f"{memory:.0f}", f"{MEMORY_LIMIT:.0f}", verdict(memory, MEMORY_LIMIT)),
        (
            "passages of 256 word pieces a CPU s", f"{passages:.1f}", f"{PASSAGES_LIMIT:.1f}",
            verdict(passages, PASSAGES_LIMIT, least=True),
        ),
        ("prepared folder, MB", f"{on_disk:.0f}", "", ""),
    ]  # fmt: skip
    return table(f"The multilingual model, median of {rounds} rounds", ("what", "is", "limit", ""), rows)


def compared(place: Place, file: Path, texts: int) -> str:
    """How many texts in every script have other pieces than those of the library tokenizers.

    Args:
        place: whose cache holds the prepared model.
        file: tokenizer.json of the model.
        texts: how many.
    """
    import tokenizers

    theirs: Any = tokenizers.Tokenizer.from_file(str(file))
    theirs.no_padding()
    theirs.no_truncation()
    _, folder = prepare.ready(models.MULTILINGUAL, place.places.cache)
    weights = prepare.Weights(folder / prepare.WEIGHTS)
    ours = prepare.Pieces(folder, weights)
    words = [name for name, _ in weights.pieces() if name.strip("▁") and name[0] != "<"]
    dice = random.Random(17)
    other: dict[str, int] = {}
    shown: list[str] = []
    for number in range(texts):
        script = list(SCRIPTS)[number % len(SCRIPTS)]
        text = drawn(dice, script, words)
        expected = theirs.encode(text, add_special_tokens=False).ids
        if [token.piece for token in ours.encode(text, 1 << 20)] != expected:
            other[script] = other.get(script, 0) + 1
            if len(shown) < 10:
                shown.append(f"  {text!r}")
    told = ", ".join(f"{script} {count}" for script, count in sorted(other.items())) or "none"
    return "\n".join((f"Pieces that differ from the library's, of {texts} texts: {told}", *shown, ""))


def drawn(dice: random.Random, script: str, words: list[str]) -> str:
    """A text at random: letters of a script, pieces of words, blanks, digits, marks; composed or not."""
    first, last = SCRIPTS[script]
    parts: list[str] = []
    for _ in range(dice.randint(1, 8)):
        kind = dice.random()
        if kind < 0.6:
            letters = "".join(chr(dice.randint(first, last)) for _ in range(dice.randint(1, 9)))
            parts.append("".join(sign for sign in letters if unicodedata.category(sign) != "Cs"))
        elif kind < 0.85:
            parts.append(dice.choice(words).replace("▁", " "))
        else:
            parts.append(dice.choice((" ", "  ", "\n", "\t", "12", ". ", "-", "\u0301", "\u200d", "\u3000", "ﬁ")))
    text = dice.choice(("", " ")).join(parts)
    return unicodedata.normalize("NFD", text) if dice.random() < 0.25 else text
