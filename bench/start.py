"""Start-up: whole processes against `python -c pass`, and a cold query against a script of nothing but the model."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.bare import EMBED
from bench.measure import Case, interleaved, table, verdict
from bench.place import PYTHON, Place, program

LIMITS = {
    "--help": 6.5,
    "search, lexical": 8.5,
    "search, hybrid, vector remembered": 10.0,
    "Tab, a command": 6.5,
    "Tab, a note": 8.5,
    "Tab, a REF": 8.5,
}
"""Multiples of `python -c pass`."""
TAB = {"_TARS_MEMORY_COMPLETE": "zsh"}
COLD_LIMIT = 1.45
"""Multiple of the bare script."""
MEMORY_LIMITS = {"search, lexical": 30.0, "search, hybrid, cold": 140.0}
"""MB."""

BARE = EMBED + "embed(given)"


def question(number: int) -> str:
    """A question that was never asked before."""
    return f"what did Anna say about tarenlo number {number}"


def report(place: Place, rounds: int) -> str:
    """Measure and tell."""
    graph = next(place.model.glob("onnxruntime-*/model.onnx"))
    command, env = program(), place.env
    search = [*command, "search"]
    other = place.folder / "other vault"  # a line more would be a passage to embed in the search that comes next
    (other / ".obsidian").mkdir(parents=True)
    shutil.rmtree(place.places.cache / "queries", ignore_errors=True)
    elsewhere = env | {"TARS_MEMORY_DIR": str(other), "TARS_MEMORY_HOME": str(place.folder / "other home")}
    found = (0, 1)  # made-up words may be rare enough for nothing to be relevant
    cases = {
        "python -c pass": Case(lambda _: [PYTHON, "-c", "pass"], env),
        "--help": Case(lambda _: [*command, "--help"], env),
        "search, lexical": Case(lambda _: [*search, "--mode", "lexical", "Anna tarenlo"], env, found),
        "search, hybrid, vector remembered": Case(lambda _: [*search, "Anna tarenlo"], env, found),
        "search, hybrid, cold": Case(lambda number: [*search, question(number)], env, found),
        "bare onnxruntime script": Case(
            lambda number: [PYTHON, "-c", BARE, str(graph), str(place.model / "tokenizer.json"), question(number)], env
        ),
        "Tab, a command": Case(lambda _: [*command, "sea"], env | TAB),
        "Tab, a note": Case(lambda _: [*command, "open", "A"], env | TAB),
        "Tab, a REF": Case(lambda _: [*command, "show", "a"], env | TAB),
        "log": Case(lambda number: [*command, "log", f"line {number}"], elsewhere),
    }
    costs = interleaved(cases, rounds)
    floor, bare = costs["python -c pass"].cpu, costs["bare onnxruntime script"].cpu
    rows = []
    for name, cost in costs.items():
        limit = LIMITS.get(name)
        said = verdict(cost.cpu / floor, limit) if limit else ""
        if name == "search, hybrid, cold":
            limit, said = COLD_LIMIT, verdict(cost.cpu / bare, COLD_LIMIT)
        memory = MEMORY_LIMITS.get(name)
        rows.append(
            (
                name,
                f"{cost.cpu * 1000:.1f}",
                f"{cost.cpu / floor:.2f}",
                f"{cost.cpu / bare:.2f}",
                f"{limit:.2f}" if limit else "",
                said,
                f"{cost.memory:.0f}",
                f"{memory:.0f} {verdict(cost.memory, memory)}" if memory else "",
            )
        )
    header = ("process", "CPU ms", "x pass", "x bare", "limit", "", "peak MB", "limit")
    remembered = len(list(Path(place.places.cache / "queries").rglob("*"))) > 0
    note = "" if remembered else "(no query vector was remembered: the searches were not hybrid)\n"
    return table(f"Start-up, median of {rounds} rounds, {command[0]}", header, rows) + note
