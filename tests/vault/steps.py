"""Every call into the system that a write makes is a step; a test acts, fails or stops at any one of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from tars_memory.vault.folder import Folder
from tars_memory.vault.writing.system import LinuxExchange

CALLS = (
    "open", "read", "write", "fsync", "fstat", "stat", "rename", "replace", "unlink", "link", "lseek", "mkdir",
    "access", "ftruncate", "fchmod", "fchown", "listdir", "listxattr", "getxattr", "setxattr",
)  # fmt: skip


class Steps:
    """Counts the calls into the system while ``on``, and does ``action`` before the one with number ``at``."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at = -1
        self.action: Callable[[], None] = lambda: None
        self.on = False
        self.acted = False
        self._main = threading.get_ident()
        for name in CALLS:
            patch.setattr(os, name, self._wrapped(getattr(os, name)))

    def begin(self, at: int, action: Callable[[], None]) -> None:
        self.count, self.at, self.action, self.on, self.acted = 0, at, action, True, False

    def step(self) -> None:
        if not self.on or threading.get_ident() != self._main:
            return
        self.count += 1
        if self.count == self.at:
            self.on, self.acted = False, True
            try:
                self.action()
            finally:
                self.on = True

    def _wrapped(self, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **named: object) -> object:
            self.step()
            return call(*arguments, **named)

        for supported in (os.supports_dir_fd, os.supports_effective_ids, os.supports_follow_symlinks):
            if call in supported:  # they hold the functions themselves
                supported.add(counted)
        return counted


class SteppedExchange(LinuxExchange):
    """The exchange is a step as well."""

    def __init__(self, steps: Steps, *, leases: bool = True) -> None:
        super().__init__()
        self.steps = steps
        self.leases = leases

    def swap(self, folder: Folder, name: str, temp: str, aside: str) -> str:
        self.steps.step()
        return super().swap(folder, name, temp, aside)
