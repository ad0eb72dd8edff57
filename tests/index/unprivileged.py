"""For tests: a folder tree in which nothing can be written, for the superuser as well."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_VERSION_3 = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: with them permissions mean nothing."""


@contextmanager
def unwritable(*folders: Path) -> Iterator[None]:
    """Take the write permission off everything below the folders, and obey it even as the superuser."""
    made = [path for folder in folders for path in (folder, *folder.rglob("*")) if not path.is_symlink()]
    before = {path: path.stat().st_mode for path in made}
    for path, mode in before.items():
        path.chmod(mode & 0o555)
    try:
        with _obedient():
            yield
    finally:
        for path, mode in before.items():
            if path.exists():
                path.chmod(mode)


@contextmanager
def _obedient() -> Iterator[None]:
    if os.geteuid() or sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable of two words
    assert libc.capget(header, held) == 0
    fewer = (ctypes.c_uint32 * 6)(held[0] & ~_OVERRIDES, *held[1:])
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, held) == 0
