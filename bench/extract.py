"""What the rule-based extract leaves behind of a labelled set of conversations, and how much of it search still finds.

The set is a folder like those of ``score.py``: ``vault/sessions/*.md`` with one ``**Name:** words`` line a turn and the
day in front of the name, and ``queries.jsonl`` with gold lines. It is read from where it is, and never copied.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import table
from tars_memory.curation.models.grounding import folded
from tars_memory.language.statements import relation
from tars_memory.memory import Memory

FIRST = 5
"""Notes of an answer that are looked at."""
_TURN = re.compile(r"\*\*(.+?):\*\* (.*)")


class Talk(NamedTuple):
    """One conversation: its note in the set, its day, and its turns with their lines."""

    path: str
    day: str
    turns: list[tuple[int, str, str]]


def talks(root: Path) -> list[Talk]:
    """The conversations of a set, oldest first."""
    found = []
    for note in sorted((root / "vault" / "sessions").glob("*.md")):
        lines = enumerate(note.read_text("utf-8").splitlines(), 1)
        turns = [(number, match[1], match[2]) for number, line in lines if (match := _TURN.match(line))]
        found.append(Talk(f"sessions/{note.name}", note.name[:10], turns))
    return found


def log(talk: Talk) -> bytes:
    """The conversation as chat messages, one a line; both speak as users, by name."""
    rows = [
        {"role": "user", "name": name, "content": words, "timestamp": f"{talk.day}T12:{number % 60:02}:00"}
        for number, (_, name, words) in enumerate(talk.turns)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def report(root: Path, folder: Path) -> str:
    """Extract the set into a fresh vault below ``folder``, ask its questions of both, and tell."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    by_source: dict[str, Talk] = {}
    for number, talk in enumerate(talks(root)):
        path = logs / f"{number:04}.jsonl"
        path.write_bytes(log(talk))
        by_source[str(path)] = talk
    vault = folder / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    env = {"TARS_MEMORY_HOME": str(folder / "home"), "TARS_MEMORY_BACKGROUND": "0"}
    queries = [json.loads(line) for line in (root / "queries.jsonl").read_text("utf-8").splitlines()]
    with Memory(vault, env=env, now=datetime.now().astimezone()) as memory:
        done = memory.extract([logs], model="none", force=True)
        left = table(
            "extract, by rules: what it left behind",
            (
                "conversations",
                "turns",
                "candidates",
                "a conversation",
                "grounded",
                "twice",
                "on a gold line",
                "by chance",
            ),
            [_left(done, by_source, queries)],
        )
        memory.reindex()
        place = {session.path: by_source[session.source].path for session in done.sessions}
        days = _days(done, by_source)

        def source(path: str, text: str) -> list[str]:
            return [place[path]] if path in place else days.get(_id(text), [])

        rows = [("what it left", *_recall(memory, queries, source))]
    with Memory(root / "vault", env=env) as memory:
        memory.reindex()
        rows.append(("raw notes", *_recall(memory, queries, lambda path, _: [path])))
    told = table(f"{len(queries)} questions over it", ("vault", "mode", f"note R@{FIRST}", "no answer"), rows)
    return f"{left}\n\n{told}"


def _left(done: Any, by_source: dict[str, Talk], queries: list[Any]) -> tuple[str, ...]:
    gold = {(one["path"], one["line"]) for query in queries for one in query["gold"]}
    facts = [(by_source[session.source], fact) for session in done.sessions for fact in session.facts]
    grounded = sum(fact.quote in folded(talk.turns[fact.turn - 1][2]) for talk, fact in facts)
    texts = [fact.text for _, fact in facts]
    twice = sum(any(relation(old, new) in ("same", "near") for old in texts[:at]) for at, new in enumerate(texts))
    on = sum((talk.path, talk.turns[fact.turn - 1][0]) in gold for talk, fact in facts)
    turns = sum(len(talk.turns) for talk in by_source.values())
    each = [len(session.facts) for session in done.sessions]
    return (
        str(len(by_source)), str(turns), str(len(facts)), f"{statistics.mean(each):.1f}", _share(grounded, len(facts)),
        _share(twice, len(facts)), _share(on, len(facts)), _share(len(gold), turns),
    )  # fmt: skip


def _days(done: Any, by_source: dict[str, Talk]) -> dict[str, list[str]]:
    """By block id of a daily line, the conversation that it came from."""
    from tars_memory.vault.markdown.entries import block_id

    found: dict[str, list[str]] = {}
    for session in done.sessions:
        for fact in session.facts:
            found.setdefault(block_id(fact.path, fact.text), []).append(by_source[session.source].path)
    return found


def _id(text: str) -> str:
    match = re.search(r"\^(d-[a-z2-7]{7})", text)
    return match[1] if match else ""


def _recall(memory: Memory, queries: Iterable[Any], source: Any) -> tuple[str, str, str]:
    """Share of the gold notes among the first few distinct notes, averaged; and how many questions had no hit."""
    found, none = [], 0
    for query in queries:
        hits = memory.search(query["query"], limit=50).hits
        none += not hits
        notes = list(dict.fromkeys(path for hit in hits for path in source(hit.path, hit.text)))[:FIRST]
        gold = {one["path"] for one in query["gold"]}
        found.append(len(gold & set(notes)) / len(gold))
    mode = "hybrid" if memory.models()[0].get("installed") else "lexical"
    return mode, f"{100 * statistics.mean(found):.1f} %", str(none)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
