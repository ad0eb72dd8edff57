"""A vault with the real store, a clock that can be set, and a context for any actor."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tars_memory.capture.facts import run_spooled
from tars_memory.capture.remember import Caller
from tars_memory.disk import Places
from tars_memory.jobs.forgetting import forget
from tars_memory.settings import LayoutOptions, PermissionOptions, Settings, StoreOptions
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Spool, Store

ZONE = timezone(timedelta(hours=1))


def carried_out(ctx: Caller, command: str, said: dict[str, Any]) -> Any:
    return forget(ctx, said["target"]) if command == "forget" else run_spooled(ctx, command, said)


class Bench:
    """Makes contexts over one vault."""

    def __init__(self, base: Path) -> None:
        self.root = base / "vault"
        self.root.mkdir()
        self.state = base / "state"
        self.now = datetime(2026, 11, 21, 14, 30, tzinfo=ZONE)
        self.options = LayoutOptions()
        self.spool = Spool(self.state / "spool")

    def ctx(self, actor: Any = "person", *, interactive: bool = True, dry_run: bool = False, **more: Any) -> Caller:
        store = Store(
            self.root,
            self.state,
            now=self.now,
            actor=actor,
            options=StoreOptions(lock_timeout=0.05),
            dry_run=dry_run,
        )
        vault = Vault(self.root, self.options)
        settings = Settings({}, Places(self.state, self.state, self.state))
        context = Caller(vault, store, settings, now=self.now, interactive=interactive)
        context.allowed = PermissionOptions(**more)
        context.run_command = carried_out
        return context

    def put(self, path: str, data: bytes | str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data.encode() if isinstance(data, str) else data)

    def get(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("utf-8", "surrogateescape")

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
