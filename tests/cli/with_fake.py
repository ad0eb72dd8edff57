"""The program over a fake memory whose answers are hostile, huge or slow, as a process of its own."""

from __future__ import annotations

import sys
import time
import types
from typing import Any

from fake_memory import DEFAULTS, FakeMemory, entry, hit, receipt, result

from tars_memory.__main__ import main

HOSTILE = (
    "tea \x1b[31mred\x1b[0m \x1b]52;c;c3RlYWw=\x07 \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x9b31mC1 "
    "\x9d0;title\x9c \u202eoverride\u2066 \U000e0041\x00\x07\x08\x7f [/bold] [red]x[/red] :smile: Zürich 東京 \udcff"
)


def search(text: str, **_: Any) -> Any:
    if text == "huge":
        return result(*(hit(rank=i + 1, path=f"notes/{i}.md") for i in range(50_000)))
    if text == "slow":
        print("started", file=sys.stderr, flush=True)
        time.sleep(30)
    if text == "hostile":
        bad = hit(path=f"notes/{HOSTILE}.md", headings=(HOSTILE,), text=f"{HOSTILE}\n{HOSTILE}", date="2026-03-15")
        return result(bad, query="tea link", notices=[HOSTILE])
    if text == "wrong":
        raise RuntimeError(HOSTILE)
    return result(hit(text=f"{text} Zürich 東京"), query=text)


if __name__ == "__main__":
    module = types.ModuleType("tars_memory.memory")
    FakeMemory.answers.update(
        {
            "search": search,
            "show": entry(raw=HOSTILE, section=HOSTILE),
            "list": [entry(text=HOSTILE, section=HOSTILE)],
            "today": types.SimpleNamespace(path=HOSTILE, date="2026-11-21", text=HOSTILE),
            "remember": receipt(path=HOSTILE, written=False, notices=[HOSTILE]),
            "status": {HOSTILE: HOSTILE, "inner": {HOSTILE: [HOSTILE]}},
            "doctor": {"findings": [{"kind": "lost", "message": HOSTILE, "hint": HOSTILE}]},
            "verify": [HOSTILE],
            "models": [{"name": HOSTILE}],
        }
    )
    written = vars(DEFAULTS["history"][0])
    DEFAULTS["history"] = [types.SimpleNamespace(**{**written, "before": HOSTILE, "after": HOSTILE, "file": HOSTILE})]
    module.Memory = FakeMemory  # type: ignore[attr-defined]
    sys.modules["tars_memory.memory"] = module
    main()
