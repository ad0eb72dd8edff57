"""The models that pip installs, prepared once for a run of the tests: a cache that has none gets a copy.

Preparing takes half a second of a processor, or one. The tests of that (``index/test_embedding*.py``) take
``really_prepared``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tars_memory.index.embedding import models, prepare

VARIABLE = "PYTEST_PREPARED"
"""Tells all processes of a run the folder of what is copied."""
really = prepare.prepare_packaged
_SOURCES = dict(prepare.SOURCES)


def install(folder: str) -> None:
    """Let this process copy from that folder what it would prepare."""
    prepare.prepare_packaged = lambda manifest, cache: _copied(manifest, cache, Path(folder))


def _copied(manifest: models.Manifest, cache: Path, shared: Path) -> Path:
    target = models.folder_of(manifest, cache)
    if prepare.SOURCES != _SOURCES or os.path.lexists(target):
        return really(manifest, cache)
    made = models.folder_of(manifest, shared)
    if models.read_manifest(made) is None:
        really(manifest, shared)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".building-", dir=target.parent))
    try:
        shutil.copytree(made, beside, dirs_exist_ok=True)
        beside.rename(target)
    except OSError:
        return really(manifest, cache)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target
