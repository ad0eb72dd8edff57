"""The program over a fake memory whose answers are hostile, huge or slow, as a process of its own."""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path
from typing import Any

from fake_memory import DEFAULTS, FakeMemory, entry, hit, packed, receipt, result
from hostile import HOSTILE

from tars_memory.__main__ import main


def search(text: str, **_: Any) -> Any:
    if text == "huge":
        return result(*(hit(rank=i + 1, path=f"notes/{i}.md") for i in range(6_000)))
    if text == "slow":
        print("started", file=sys.stderr, flush=True)
        time.sleep(600)
    if text == "hostile":
        bad = hit(path=f"notes/{HOSTILE}.md", headings=(HOSTILE,), text=f"{HOSTILE}\n{HOSTILE}", date="2026-03-15")
        return result(bad, query="tea link", notices=[HOSTILE])
    if text == "nothing":
        return result(query=text)
    if text == "wrong":
        raise RuntimeError(HOSTILE)
    return result(hit(text=f"{text} Zürich 東京"), query=text)


def shown(progress: Any) -> None:
    """Wait until the line that tells how far it is has been drawn once, but for the last one, which takes it away."""
    while progress.line() and not progress._width:
        time.sleep(0.01)


def reindex(full: bool, embed: bool, progress: Any) -> Any:
    for done in range(6):
        if progress is not None:
            progress("reading notes", done, 5)
            shown(progress)
    return DEFAULTS["reindex"]


if __name__ == "__main__":
    module = types.ModuleType("tars_memory.memory")
    FakeMemory.root = Path.cwd()
    FakeMemory.answers.update(
        {
            "search": search,
            "reindex": reindex,
            "context": packed(text=HOSTILE, notices=[HOSTILE]),
            "show": entry(raw=HOSTILE, section=HOSTILE),
            "list": [entry(text=HOSTILE, section=HOSTILE, author=HOSTILE)],
            "today": types.SimpleNamespace(path=HOSTILE, date="2026-11-21", text=HOSTILE),
            "remember": receipt(path=HOSTILE, written=False, notices=[HOSTILE]),
            "status": {HOSTILE: HOSTILE, "inner": {HOSTILE: [HOSTILE]}},
            "doctor": {
                "findings": [{"kind": "lost", "path": "", "message": HOSTILE, "hint": HOSTILE, "fixed": False}],
                "notices": [],
            },
            "verify": [HOSTILE],
            "models": [{"name": HOSTILE}],
        }
    )
    written = vars(DEFAULTS["history"][0])
    DEFAULTS["history"] = [types.SimpleNamespace(**{**written, "before": HOSTILE, "after": HOSTILE, "file": HOSTILE})]
    module.Memory = FakeMemory  # type: ignore[attr-defined]
    sys.modules["tars_memory.memory"] = module
    main()
