"""The models that pip installs, prepared once for a run of the tests: a cache that has none gets links to the files.

Preparing takes half a second of a processor, or one; opening takes 40 ms, in a fork 80, so a process opens what it has
opened no second time as long as nothing has touched the files. The tests of both (``index/test_embedding*.py``) take
``really_prepared``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tars_memory.errors import TarsError
from tars_memory.index import models, passages, prepare

VARIABLE = "PYTEST_PREPARED"
"""Tells all processes of a run the folder of what is copied."""
really = prepare.prepare_packaged
really_opened = passages._open
_open: dict[Any, Any] = {}
CONFIG: dict[str, dict[str, Any]] = {
    "config.json": {"pad_token_id": 0},
    "special_tokens_map.json": {
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": "[UNK]",
    },
    "tokenizer_config.json": {"model_max_length": 256, "pad_token": "[PAD]"},
}
"""What fastembed reads beside the embedded model's tokenizer; we don't."""
_SOURCES = dict(prepare.SOURCES)


def install(folder: str) -> None:
    """Let this process copy from that folder what it would prepare."""
    prepare.prepare_packaged = lambda manifest, cache: _copied(manifest, cache, Path(folder))
    passages._open = _opened


def ready_to_fork(folder: str) -> None:
    """Open the embedded model, so that no fork has to; another process prepares it, so that none carries its traces."""
    made = models.folder_of(models.EMBEDDED_MANIFEST, Path(folder))
    if models.read_manifest(made) is None:
        child = os.fork()
        if not child:
            try:
                really(models.EMBEDDED_MANIFEST, Path(folder))
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    try:
        _opened(models.EMBEDDED_MANIFEST, made)
    except TarsError:
        pass  # it is not installed


def _opened(manifest: models.Manifest, folder: Path, *, repack: bool = False) -> Any:
    """Whatever the caller wants, open it repacked: it is opened once, for passages and for queries, and runs faster."""
    files = [(path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file()]
    touched = tuple((path.relative_to(folder), stat.st_size, stat.st_mtime_ns) for path, stat in files)
    key = manifest.identity, touched
    if key not in _open:
        _open[key] = really_opened(manifest, folder, repack=True)
    return _open[key]


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
        shutil.copytree(made, beside, copy_function=os.link, dirs_exist_ok=True)
        beside.rename(target)
    except OSError:
        return really(manifest, cache)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target
