"""A vault to extract into, and conversations that hold what is worth keeping."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from conversations import START, Said, talk

from tars_memory.memory import Memory
from tars_memory.testing import ScriptedLLM, make_vault

NOW = datetime.fromisoformat("2026-11-25T10:00:00+00:00")
FACTS = {
    1: ("Remember that the NAS backs up at 03:15.", "The NAS backs up at 03:15"),
    9: ("I prefer night trains to planes.", "I prefer night trains to planes"),
    31: ("My sister Ruth moves to Ghent tomorrow.", "My sister Ruth moves to Ghent on 2026-11-22"),
}
"""What the person says in which turn, and what is kept of it."""


def spoken(count: int = 32, facts: dict[int, tuple[str, str]] | None = None, **more: Any) -> list[Said]:
    """A conversation with facts in some of its turns."""
    said = talk(count, **more)
    for number, (words, _) in (FACTS if facts is None else facts).items():
        if number <= count:
            said[number - 1] = said[number - 1]._replace(text=words)
    return said


def dialogue(*texts: str, start: datetime | None = START, step: timedelta = timedelta(minutes=1)) -> list[Said]:
    """What the person and the model say in turn."""
    return [
        Said("assistant" if at % 2 else "user", text, start + at * step if start else None)
        for at, text in enumerate(texts)
    ]


class House:
    """A vault, a home for state, and a folder with logs."""

    def __init__(self, base: Path, notes: dict[str, str] | None = None) -> None:
        self.base = base
        self.root = make_vault(base / "vault", notes)
        self.logs = base / "logs"
        self.logs.mkdir()
        self.env = {"TARS_MEMORY_HOME": str(base / "home")}

    def memory(self, now: datetime = NOW, env: dict[str, str] | None = None, **more: Any) -> Memory:
        return Memory(self.root, now=now, env={**self.env, **(env or {})}, **more)

    def log(self, data: bytes, name: str = "chat.jsonl") -> Path:
        (self.logs / name).write_bytes(data)
        return self.logs / name

    def extract(self, *paths: Path, model: Any = "none", **more: Any) -> Any:
        with self.memory(**{k: more.pop(k) for k in ("now", "env", "dry_run") if k in more}) as memory:
            return memory.extract(paths, model=model, **more)

    def files(self) -> dict[str, bytes]:
        """All of the vault."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }

    def daily(self, day: str = "2026-11-21") -> str:
        return (self.root / f"{day}.md").read_text("utf-8")

    def session(self) -> str:
        (note,) = (self.root / "sessions").glob("*.md")
        return note.read_text("utf-8")

    def candidates(self) -> list[str]:
        """The words of all extracted lines of daily notes, day by day."""
        return [
            line.split("[extracted] ", 1)[1].rpartition(" ^")[0]
            for path in sorted(self.root.glob("*.md"))
            for line in path.read_text("utf-8").splitlines()
            if "[extracted]" in line
        ]


def claims(*facts: tuple[str, int] | tuple[str, int, str], **more: Any) -> str:
    """A model's answer: quotes with their turns, and what kind of fact each is."""
    made = [{"quote": f[0], "turn": f[1], "kind": f[2] if len(f) > 2 else "fact"} for f in facts]
    return json.dumps({"facts": made, **more})


def verdicts(prompt: Any, *kinds: str, **more: Any) -> str:
    """A model's answer to a second look: of these kinds in turn, else all stated."""
    count = len(re.findall(r"^\d+ \{", prompt.user, re.MULTILINE))
    said = [*kinds, *["stated"] * count][:count]
    found = [{"n": number, "kind": kind, "alone": True, "fact": True, **more} for number, kind in enumerate(said, 1)]
    return json.dumps({"verdicts": found})


def scripted(*answers: str, kinds: Sequence[str] = ()) -> ScriptedLLM:
    """A model that answers in order, the last one again and again; at a second look it finds these kinds."""
    left = list(answers)

    def answer(prompt: Any) -> str:
        if prompt.job == "look":
            return verdicts(prompt, *kinds)
        return left.pop(0) if len(left) > 1 else left[0]

    return ScriptedLLM(answer)


def asked(model: ScriptedLLM) -> list[Any]:
    """The prompts that it was shown, but for those of a second look."""
    return [prompt for prompt in model.prompts if prompt.job != "look"]


def texts(done: Any) -> list[str]:
    return [fact.text for session in done.sessions for fact in session.facts]


def joined(said: Sequence[Said], more: Sequence[Said]) -> list[Said]:
    return [*said, *more]
