"""What the tests of ``tidy --compress`` share: a vault of old sessions, and what its summaries say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from curation.tidykit import Desk
from tars_memory.curation.tidying.archive import Archived, compress, summarised
from tars_memory.settings import TidyOptions
from tars_memory.vault.links import Links
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document

LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")


def session(day: str, *, turns: int = 12, name: str = "", head: bool = True, **sections: Sequence[str] | str) -> str:
    """A session note as extract writes it; ``Open_ends`` is *Open ends*."""
    digest = hashlib.sha256(f"{day}{name}{sections}".encode()).hexdigest()
    lines = ["---", f"date: {day}", 'source: "a.jsonl"', f"source_hash: {digest}", f"turns: {turns}", "---"]
    lines = lines if head else []
    for title, said in sections.items():
        told = [said] if isinstance(said, str) else said
        lines += ["", f"## {title.replace('_', ' ')}", "", *(f"- {each}" for each in told)]
    return "\n".join(lines) + "\n"


class Past(Desk):
    """A vault with old sessions."""

    def old(self, day: str, topic: str = "talk", **sections: Any) -> str:
        """Put a session note of that day; answers its path."""
        path = f"{self.folder}sessions/{day} 1000 {topic}.md"
        self.put(path, session(day, name=topic, **sections))
        return path

    @property
    def folder(self) -> str:
        return f"projects/{self.scope}/" if self.scope else ""

    def compress(self, *, apply: bool = False, actor: Any = "person", **terms: Any) -> Archived:
        more = {name: terms.pop(name) for name in ("dry_run",) if name in terms}
        named = {"days": "session_days", "lines": "summary_lines"}
        tidy = TidyOptions(**{named[name]: terms.pop(name) for name in named if name in terms})
        return compress(self.ctx(actor, tidy=tidy, **more), **terms, apply=apply, allowed=True)

    def kept(self, **terms: Any) -> dict[str, str]:
        return {step.path: step.reason for step in self.compress(**terms).plan if step.action == "keep"}


def summaries(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if summarised(data)}


def statements(data: bytes) -> dict[str, list[str]]:
    """The words of a summary's statements, by section."""
    found: dict[str, list[str]] = {}
    for entry in entries.read("", Document(data)):
        if not entry.depth:
            found.setdefault(entry.section, []).append(entry.text)
    return found


def links(data: bytes) -> list[str]:
    return LINK.findall(data.decode("utf-8", "surrogateescape"))


def lead_nowhere(files: Mapping[str, bytes], data: bytes, source: str) -> list[str]:
    """The links of a note that lead to no file."""
    known = Links(files)
    return [link for link in links(data) if known.resolve(link, source) is None]


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    return {
        path.relative_to(root).as_posix(): (path.stat().st_mode, path.stat().st_mtime_ns) for path in root.rglob("*.md")
    }


def day(text: str) -> date:
    return date.fromisoformat(text)
