"""What the tests of the write path share: plans, a store in a folder, its state made visible."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tars_memory.errors import NotFoundError
from tars_memory.settings import StoreOptions
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.store import Plan, Store, Written
from tars_memory.vault.writing.system import Exchange
from tars_memory.vault.writing.transaction import Transaction


class Clock:
    """A clock that stands until it is set."""

    def __init__(self, text: str = "2026-11-21T10:15:00+00:00") -> None:
        self.time = datetime.fromisoformat(text).astimezone(UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        self.time += timedelta(**by)


class Place:
    """A vault and its state folder below one folder."""

    def __init__(self, base: Path, exchange: Exchange | None = None) -> None:
        self.root = base / "vault"
        self.state = base / "state"
        self.root.mkdir(exist_ok=True)
        self.clock = Clock()
        self.exchange = exchange

    def store(self, *, lock_timeout: float = 300.0, dry_run: bool = False) -> Store:
        return Store(
            self.root,
            self.state,
            now=self.clock(),
            actor="person",
            options=StoreOptions(lock_timeout=lock_timeout),
            dry_run=dry_run,
            exchange=self.exchange,
        )

    def put(self, path: str, data: bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def get(self, path: str) -> bytes | None:
        file = self.root / path
        return file.read_bytes() if file.exists() else None

    def write(self, path: str, plan: Plan, *, command: str = "test", create: bytes = b"") -> Written:
        with self.store().transaction(command) as transaction:
            return transaction.write(path, plan, create=create)

    def files(self) -> list[str]:
        """All files in the vault, relative."""
        return sorted(
            os.path.relpath(os.path.join(folder, name), self.root)
            for folder, _, names in os.walk(self.root)
            for name in names
        )

    def is_settled(self) -> bool:
        return self.store().pending() == [] and not [name for name in self.files() if ".tars-" in name]


def add(text: bytes) -> Plan:
    """At the end of the note."""

    def plan(data: bytes | None) -> list[Splice]:
        size = len(data or b"")
        return [Splice(size, size, text)]

    return plan


def swap(old: bytes, new: bytes) -> Plan:
    """One text for another; it must stand there."""

    def plan(data: bytes | None) -> list[Splice]:
        at = -1 if data is None else data.find(old)
        if at < 0:
            raise NotFoundError(f"{old!r} is not there")
        return [Splice(at, at + len(old), new)]

    return plan


def after(mark: bytes, text: bytes) -> Plan:
    """Behind a text that must stand there."""

    def plan(data: bytes | None) -> list[Splice]:
        at = -1 if data is None else data.find(mark)
        if at < 0:
            raise NotFoundError(f"{mark!r} is not there")
        return [Splice(at + len(mark), at + len(mark), text)]

    return plan


def interfering(plan: Plan, *actions: object) -> Plan:
    """The plan, with something done behind the store's back each time it is called, as long as there are actions."""
    left = list(actions)

    def planned(data: bytes | None) -> object:
        if left:
            action = left.pop(0)
            assert callable(action)
            action()
        return plan(data)

    return planned  # type: ignore[return-value]


__all__ = ["Clock", "Place", "Transaction", "add", "after", "interfering", "swap"]
