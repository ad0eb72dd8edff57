"""A vault with something to review, and the review of it as the command sees it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tars_memory.curation.review import Review
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

NOW = datetime(2026, 11, 21, 15, 0, tzinfo=timezone(timedelta(hours=0)))

NOTES = {
    "Memory.md": (
        "# Mine\n\n## Notes\n- prefers coffee\n- works as an engineer ([[2026-10-02#^d-old|2026-10-02]])\n"
        "- dentist on 15 Oct\n\n## People\n- Anna's birthday is 3 May #people\n"
    ),
    "Procedural.md": "## Notes\n- Use metric units\n",
    "2026-11-19.md": (
        "## Log\n- 10:00 [extracted] prefers tea ^d-aaaaaaa\n"
        "- 10:01 [extracted] Works as a senior engineer ^d-aaaaaab\n"
    ),
    "2026-11-20.md": (
        "## Log\n- 09:00 had coffee\n- 10:00 [extracted] prefers no tea ^d-baaaaaa\n"
        "- 10:01 [extracted] dentist on 16 Oct ^d-baaaaab\n"
        "- 10:02 [extracted] Anna moves to Cork in March 2027 ^d-baaaaac\n"
        "- 10:03 [extracted] I prefer tea. ^d-baaaaad\n"
        "- 10:04 [extracted] we decided to use sqlite for the index ^d-baaaaae\n"
        "- 10:05 [promoted] owns a boat ^d-baaaaaf\n- 10:06 [rejected] hates mondays ^d-baaaaag\n"
    ),
    "2026-10-20.md": "## Log\n- 10:00 [extracted] an old thing ^d-caaaaaa\n",
    "corrections.md": (
        "## Feedback\n- 2026-11-21 14:30 the distance was in miles\n  - question:: how far is Cork?\n  - answer:: 160\n"
        "- 2026-11-21 14:31 use metric units!\n- 2026-09-01 14:33 you should ask before deleting files\n"
    ),
    "sessions/2026-11-20 1000 tea.md": (
        "## Facts\n- prefers no tea ([[2026-11-20#^d-baaaaaa|2026-11-20]])\n"
        '  - quote:: "I\'d rather not have tea"\n  - said by:: Anna, turn 3\n'
    ),
}


class Vault:
    """One vault; each call of a method is a command of its own."""

    def __init__(self, base: Path, notes: dict[str, str] | None = None) -> None:
        self.base = base
        self.root = make_vault(base / "vault", NOTES if notes is None else notes)

    def memory(self, **how: Any) -> Memory:
        told = {"actor": "person", "interactive": True, "now": NOW, **how}
        env = {"TARS_MEMORY_HOME": str(self.base / "home"), **told.pop("env", {})}
        return Memory(self.root, env=env, **told)

    def review(self, **how: Any) -> Review:
        return self.memory(**how).review()

    def script(self) -> Memory:
        return self.memory(actor="cron", interactive=False)

    def ids(self, **how: Any) -> dict[str, str]:
        """By words, the id of each proposal."""
        return {each.text: each.id for each in self.review().waiting(limit=0, **how).proposals}

    def __getitem__(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("utf-8", "surrogateescape")

    def __setitem__(self, path: str, text: str | bytes) -> None:
        (self.root / path).write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)

    def __contains__(self, path: str) -> bool:
        return (self.root / path).exists()

    def files(self) -> dict[str, bytes]:
        """All notes and what lies in ``.tars``."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and path.name != "vault-id"
        }
