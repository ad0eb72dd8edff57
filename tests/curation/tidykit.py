"""What the tests of tidy share: a vault with the real store, and contexts for any actor."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tars_memory.capture.remember import Caller
from tars_memory.disk import Places
from tars_memory.settings import LayoutOptions, Settings, StoreOptions
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Store

ZONE = timezone(timedelta(hours=1))


class Desk:
    """A vault to tidy."""

    def __init__(self, base: Path, **layout: str) -> None:
        self.root = base / "vault"
        self.root.mkdir(parents=True)
        self.state = base / "state"
        self.now = datetime(2026, 11, 21, 14, 30, tzinfo=ZONE)
        self.options = LayoutOptions(**layout)
        self.scope = ""

    def store(self, actor: Any = "person", *, dry_run: bool = False) -> Store:
        return Store(
            self.root,
            self.state,
            now=self.now,
            actor=actor,
            options=StoreOptions(lock_timeout=0.05),
            dry_run=dry_run,
        )

    def ctx(self, actor: Any = "person", *, dry_run: bool = False, **more: Any) -> Caller:
        store = self.store(actor, dry_run=dry_run)
        more.setdefault("interactive", actor == "person")
        vault = Vault(self.root, self.options, scope=self.scope)
        settings = Settings({}, Places(self.state, self.state, self.state))
        for section in ("tidy", "review", "permissions"):
            if section in more:
                setattr(settings, section, more.pop(section))
        return Caller(vault, store, settings, now=self.now, **more)

    def put(self, path: str, data: bytes | str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data.encode() if isinstance(data, str) else data)

    def get(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("utf-8", "surrogateescape")

    def files(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and not path.is_symlink()
        }
