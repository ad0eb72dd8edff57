"""Embedding passages, against a loop of nothing but onnxruntime; each in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess

from bench import vault as made_up
from bench.bare import EMBED
from bench.measure import table, verdict
from bench.place import PYTHON, Place

LIMIT = 0.9
"""Least share of the bare loop's passages per CPU second."""
MEMORY_LIMIT = 450.0
"""MB."""
PASSAGES = 150
CHARACTERS = 800

BARE = (
    EMBED
    + """
import json, resource, time
texts = json.load(open(given))
embed(texts[0])
cpu, wall = time.process_time(), time.perf_counter()
for text in texts:
    embed(text)
"""
)
OURS = """
import json, resource, sys, time
from pathlib import Path
from tars_memory.index.passages import open_embedder
cache, source = sys.argv[1:]
embedder = open_embedder("embedded", Path(cache))
texts = json.load(open(source))
passages = embedder.embed_passages(texts[:1] * 40 + texts)
for _ in range(40):
    next(passages)
cpu, wall = time.process_time(), time.perf_counter()
for _ in passages:
    pass
"""
END = """
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(json.dumps([len(texts) / cpu, len(texts) / wall, peak]))
"""


def passages(count: int) -> list[str]:
    """Texts as the index hands them over: a head, and lines."""
    writer = made_up.Writer(11)
    texts = []
    for number in range(count):
        lines = [f"Note {number} › Talk › 2026-01-01"]
        while sum(map(len, lines)) < CHARACTERS:
            lines.append(writer.sentence())
        texts.append("\n".join(lines))
    return texts


def report(place: Place, rounds: int) -> str:
    """Measure and tell."""
    source = place.home / "passages.json"
    source.write_text(json.dumps(passages(PASSAGES)))
    graph = next(place.model.glob("onnxruntime-*/model.onnx"))
    commands = {
        "bare loop": [PYTHON, "-c", BARE + END, str(graph), str(place.model / "tokenizer.json"), str(source)],
        "embedder": [PYTHON, "-c", OURS + END, str(place.places.cache), str(source)],
    }
    found: dict[str, list[list[float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            done = subprocess.run(command, env=place.env, capture_output=True, text=True, check=True)
            found[name].append(json.loads(done.stdout))
    middle = {name: [statistics.median(column) for column in zip(*runs, strict=True)] for name, runs in found.items()}
    rows = []
    for name, (per_cpu, per_wall, peak) in middle.items():
        share = per_cpu / middle["bare loop"][0]
        ours = name == "embedder"
        rows.append(
            (
                name,
                f"{per_cpu:.1f}",
                f"{per_wall:.1f}",
                f"{share:.2f}",
                f"{LIMIT} {verdict(share, LIMIT, least=True)}" if ours else "",
                f"{peak:.0f}",
                f"{MEMORY_LIMIT:.0f} {verdict(peak, MEMORY_LIMIT)}" if ours else "",
            )
        )
    title = f"Embedding {PASSAGES} passages of {CHARACTERS} characters, median of {rounds} rounds"
    return table(title, ("", "per CPU s", "per s", "share", "limit", "peak MB", "limit"), rows)
