"""A memory without a vault: it records what the commands ask and answers what a test told it to."""

from __future__ import annotations

import os
import sys
import types
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import tars_memory
from tars_memory.curation.extraction.extract import Extracted, ExtractedSession
from tars_memory.curation.extraction.keeping import KeptFact
from tars_memory.curation.proposals import Proposal, Related
from tars_memory.curation.tidying.archive import Archived, OldNote
from tars_memory.curation.tidying.tidy import Finding, Tidied
from tars_memory.curation.why import Trace, Trail
from tars_memory.doors.cli import background  # noqa: F401 - loaded under a fake, it would keep it for the tests after
from tars_memory.doors.cli.commands import agents, exchange  # noqa: F401 - as that
from tars_memory.errors import NotFoundError
from tars_memory.recall.evaluation import Evaluation, Question, evaluate
from tars_memory.recall.names import NoteLinks
from tars_memory.recall.packing import Context, Dropped, PromptBlock, tokens
from tars_memory.recall.query import Hit, SearchResult, parse
from tars_memory.vault.markdown.facts import Fact

if TYPE_CHECKING:
    import pytest


def receipt(**values: Any) -> SimpleNamespace:
    told = {
        "txn": "t1",
        "path": "Memory.md",
        "line": 7,
        "ref": "abcd2345",
        "text": "likes tea",
        "written": True,
        "removed": b"",
    }
    return SimpleNamespace(**{**told, "spooled": False, "notices": [], **values})


def hit(**values: Any) -> Hit:
    told = {
        "path": "notes/tea.md", "start_line": 3, "end_line": 4, "date": "2026-03-15", "title": "tea",
        "headings": ("Tea", "Green"), "text": "Water at 80.\nGreen tea for Anna.",
    }  # fmt: skip
    said = {**told, **values}
    made = Hit(*(said.pop(name) for name in ("path", "start_line", "end_line", "text")))
    for name, value in {"score": 0.8, "rank": 1, "explain": {}, "best": made.text.count("\n"), **said}.items():
        setattr(made, name, value)
    made.obsidian_url = f"obsidian://open?vault=v&file={made.path.removesuffix('.md')}"
    return made


def result(*hits: Hit, query: str = "green tea", stale: int = 0, **values: Any) -> SearchResult:
    made = SearchResult(parse(query, date(2026, 11, 21)), "hybrid", hits, **values)
    made.stale = stale
    return made


def packed(*, text: str = "- likes tea", **values: Any) -> Context:
    whole = f"<memory-x>\nMemory.md:7\n{text}\n</memory-x>"
    block, dropped = PromptBlock("memory", "Memory.md", 7, 7, text, 11), Dropped("Memory.md", 1, 3, "over the budget")
    made = Context(2000, tokens(len(whole)), whole, [block], [dropped], [], [])
    return made._replace(**values)


def evaluated(*against: str, gold: str = "notes/tea.md", notices: tuple[str, ...] = ()) -> Evaluation:
    """One question, answered by the hit above."""
    asked = [Question("green tea", [(gold, 4)], category="drinks")]
    notes = {"notes/tea.md": b"# Tea\n\nWater at 80.\nGreen tea for Anna.\n"}

    def read(path: str) -> bytes:
        if path not in notes:
            raise NotFoundError(f"there is no note {path}")
        return notes[path]

    return evaluate(asked, lambda *_: result(hit(), notices=[*notices]), read, mode="hybrid", against=against)


def entry(**values: Any) -> SimpleNamespace:
    told = {
        "ref": "abcd2345", "path": "Memory.md", "line": 7, "end_line": 7, "section": "Notes", "text": "likes tea",
        "tags": (), "time": None, "state": None, "block_id": None, "raw": "- likes tea", "author": None,
    }  # fmt: skip
    return SimpleNamespace(**{**told, **values})


def proposal(**values: Any) -> Proposal:
    told = {
        "id": "d41c56f2", "op": "append", "target": "Memory.md", "section": "Notes", "text": "likes tea",
        "quote": "I like tea", "source": "2026-11-20#^d-7f3ak2c", "date": "2026-11-20", "why": "New",
        "conflicts": (Related("Memory.md", 7, "abcd2345", "likes oolong", "2026-10-02"),),
    }  # fmt: skip
    return Proposal(**{**told, **values})


def extracted(**values: Any) -> Extracted:
    words = "I prefer night trains"
    fact = KeptFact("k3v7q2ma", words, f"{words}.", "user", 3, "2026-11-21.md", 2, "preference")
    dropped = {"ungrounded": 0, "known": 1, "rejected": 0, "secret": 0}
    path = "sessions/2026-11-21 0900 Trip.md"
    session = ExtractedSession("chat.jsonl", path, "2026-11-21", 12, 12, (fact,), dropped, {"supposed": 1}, "1m2x7k")
    return Extracted(**{"sessions": [session], "skipped": [], "model": "rules", "notices": [], **values})


class FakeMemory:
    """Stands in for ``tars_memory.memory.Memory``; ``answers`` maps a method's name to its answer or its failure."""

    answers: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[tuple[str, tuple[Any, ...], dict[str, Any]]]] = []
    opened: ClassVar[dict[str, Any]] = {}
    notices: ClassVar[list[str]] = []
    root = Path("/vault")
    state = Path(os.devnull) / "state"
    vault = SimpleNamespace(paths=list, layout=SimpleNamespace(day_of_name=lambda _: None))
    whole = SimpleNamespace(**vars(vault), hide=lambda _path, text: text)
    settings = SimpleNamespace(unknown_variables=(), unknown_keys=list)
    closed = 0
    reading = 0

    def __init__(self, vault: str | None = None, **options: Any) -> None:
        type(self).opened = {"vault": vault, **options}

    def project_names(self) -> list[str]:
        return []

    @property
    def workspace(self) -> FakeMemory:
        return self

    @classmethod
    def init(cls, path: str, ask: Any = None, **options: Any) -> Any:
        cls.asked.append(("init", (path,), {"ask": ask, **options}))
        created = ["Memory.md", "Procedural.md"]
        return SimpleNamespace(root=Path(path), created=created, layout="", daily="", notices=[])

    def close(self) -> None:
        type(self).closed += 1

    def may_show(self, path: str) -> bool:
        return not path.startswith("projects/")

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any, **options: Any) -> Any:
            self.asked.append((name, args, options))
            answer = self.answers.get(name, DEFAULTS.get(name))
            if isinstance(answer, BaseException):
                raise answer
            return answer(*args, **options) if callable(answer) else answer

        return method


FINDING = Finding(
    "qm3v7dka",
    "duplicate",
    "Memory.md",
    7,
    "likes tea",
    "line 4 says the same: remove this one",
    fixable=True,
    conflicts=(Related("Memory.md", 4, "k3v7q2ma", "likes tea"),),
)

DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("remember", "log", "feedback", "forget", "edit"), receipt()),
    "near": [],
    "today": SimpleNamespace(path="2026-11-21.md", date=date(2026, 11, 21), text="## Log\n\n- 14:30 tea\n"),
    "sources": {
        "sources": [{"path": "/logs", "there": True}], "logs": 2, "conversations": 2, "passages": 2,
        "pending_vectors": 0, "nights": True, "notices": [],
    },
    "undo": [
        SimpleNamespace(
            txn="t2", path="Memory.md", line=7, before=b"- likes tea\n", after=b"", text=b"", created=False, op=""
        )
    ],
    "history": [
        SimpleNamespace(
            txn="t1", time="2026-11-21T14:30:00.123456+01:00", command="remember", actor="person",
            file="Memory.md",
            op="append", before="", after="- likes tea\n", undone=False,
        )
    ],
    "show": entry(),
    "list": [entry()],
    "search": result(hit()),
    "context": packed(),
    "evaluate": evaluated(),
    "review": SimpleNamespace(
        waiting=lambda **_: SimpleNamespace(proposals=[proposal()], total=1, notices=[], recorded=(), refused_before=0)
    ),
    "reindex": SimpleNamespace(
        changed=2, removed=0, vectors=0, pending_vectors=0, stale=0, took=0.1,
        skipped={"conflict copy": 1, "proposals to review": 1}, notices=[], published="",
    ),
    "links": NoteLinks("notes/tea.md", [("Cups", "notes/Cups.md"), ("gone", None)], ["Anna.md"]),
    "extract": extracted(),
    "verify": [],
    "facts": [Fact("rc47jkqj", "Anna", "lives in", "Cork", date(2026, 11, 21), None, "", "Facts.md", 5)],
    "status": {
        "vault": {
            "path": "/vault",
            "notes": 3,
            "tiers": {"note": 3},
            "skipped": {},
            "stale": 0,
            "unmounted": False,
            "state": "/state",
        },
        "background": {"running": False, "covers": 100, "left": None, "ended": ""},
        "index": {"notes": 3, "vectors": None}, "model": {"name": "embedded", "usable": True},
        "waiting": {"spool": 0, "proposals": 0, "review": 0, "ticks": 0}, "rules": {"unapproved": 0, "lines": {}},
        "loaded": {"tokens": 129, "grown": 0, "left_out": 0, "budget": 2000, "days": 30, "notes": {}},
        "growth": {"weeks": [0] * 12}, "sources": None, "settings": {}, "notices": [],
    },
    "tidy": Tidied(None, [FINDING], [], [], 0, []),
    "archive": Archived([OldNote("2026-01-02.md", "archive/2026-01-02.md", "move", "old")], None, [], []),
    "why": Trail("abcd2345", "likes tea", "Memory.md", 7, "", (Trace("said", "likes tea", "a.md", 4, turn=3),)),
    "doctor": {"findings": [], "notices": []},
    "models": [{"name": "embedded", "current": True, "installed": True}, {"name": "other", "installed": False}],
    "use_model": {"model": "other", "notices": []},
}  # fmt: skip


def install(monkeypatch: pytest.MonkeyPatch) -> type[FakeMemory]:
    """Put a fresh fake in the place of the memory's module."""
    fresh = type("Memory", (FakeMemory,), {"answers": {}, "asked": [], "opened": {}, "notices": [], "closed": 0})
    fresh.root = Path.cwd()
    module = types.ModuleType("tars_memory.memory")
    module.Memory = fresh  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tars_memory.memory", module)
    monkeypatch.setitem(vars(tars_memory), "Memory", fresh)  # the package remembers what it imported
    return fresh
