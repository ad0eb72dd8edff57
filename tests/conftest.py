"""What all tests need of their process: the same surroundings, the same cases, on whatever machine.

``make test`` tries the same cases each time; ``make prove`` sets ``TARS_PROVE_SEED`` and searches on from there.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import prepared
import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from postgres_server import engine, postgres, proved_engine, roles
from random_documents import examples

from tars_memory.index import passages, prepare

__all__ = ["engine", "postgres", "proved_engine", "roles"]

# Started in the background by a shell, the tests and all that they start would never hear Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

KEPT = ("PATH", "TMPDIR", "OPENBLAS_", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "SYSTEMROOT", "PYTEST_", "TARS_PROVE_")
"""All of the caller's environment that the tests and what they start may see; OpenBLAS may need a processor named."""

SEED = os.environ.get("TARS_PROVE_SEED", "")


MEMORY = "/dev/shm"
ENOUGH = 2_000_000_000
"""Bytes; the tests need less than half of it."""


def _settle() -> None:
    """A home of its own, no settings of the caller, one zone, one locale, the usual mask.

    What ``make test`` makes lies in memory where there is room: half the time in the kernel is a disk's. The proofs
    stay on the disk.
    """
    for name in [name for name in os.environ if not name.startswith(KEPT)]:
        del os.environ[name]
    if not SEED and "PYTEST_XDIST_WORKER" not in os.environ and _has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = tempfile.mkdtemp(prefix="tars-tests-", dir=MEMORY)
        os.chmod(tempfile.tempdir, 0o711)  # some tests are somebody else
        atexit.register(shutil.rmtree, tempfile.tempdir, ignore_errors=True)
    home = tempfile.mkdtemp(prefix="home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ |= {"TARS_MEMORY_BACKGROUND": "0"}  # a test that shows what goes on by itself says so
    os.environ |= {"HOME": home, "TZ": "UTC", "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1"}
    if not SEED:
        os.environ["PYTHONHASHSEED"] = "0"  # of the workers and of what they start
    if prepared.VARIABLE not in os.environ:
        os.environ[prepared.VARIABLE] = tempfile.mkdtemp(prefix="prepared-")
        atexit.register(shutil.rmtree, os.environ[prepared.VARIABLE], ignore_errors=True)
    prepared.install(os.environ[prepared.VARIABLE])
    time.tzset()
    os.umask(0o022)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, and so would all that is started


def _has_room(folder: str) -> bool:
    try:
        there = os.statvfs(folder)
    except OSError:
        return False
    return os.access(folder, os.W_OK) and there.f_bavail * there.f_frsize > ENOUGH


_settle()
COMMON = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), max_examples=examples(100))
settings.register_profile("test", COMMON, derandomize=True)
settings.register_profile("prove", COMMON, derandomize=False, print_blob=True)
settings.load_profile("prove" if SEED else "test")
if not SEED:  # else it draws from the constants of whatever modules other tests have loaded before, and reads them all
    providers.is_local_module_file = lambda _: False  # type: ignore[assignment]

gc.set_threshold(100_000, 50, 50)  # as the program itself has it
with contextlib.suppress(AttributeError, OSError):
    # What was freed is kept, where the C library is glibc: a new page costs more than what is done with it.
    libc = ctypes.CDLL(None)
    for name, size in ((-3, 1 << 28), (-1, 1 << 29), (-2, 1 << 24)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD
        libc.mallopt(name, size)


def pytest_configure(config: pytest.Config) -> None:
    """Each processor rewrites its share of the asserts of a fresh tree: else each worker rewrites all, five seconds."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    files, shares = sorted(Path(__file__).parent.rglob("test_*.py")), os.cpu_count() or 1
    children = []
    for number in range(shares):
        if child := os.fork():
            children.append(child)
            continue
        try:
            for file in files[number::shares]:
                _rewrite(file, config)
        finally:
            os._exit(0)  # a worker says what is wrong with a file
    for child in children:
        os.waitpid(child, 0)


def _rewrite(file: Path, config: pytest.Config) -> None:
    """Put the rewritten file where pytest looks for it, as pytest does when it imports the file."""
    made = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
    if not sys.dont_write_bytecode and rewrite._read_pyc(file, made) is None and rewrite.try_makedirs(made.parent):
        digest, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, made)


def pytest_collection_finish() -> None:
    """What was collected stays to the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> list[str]:
    return [f"cases at random from TARS_PROVE_SEED={SEED}"] if SEED else []


@pytest.fixture(autouse=True)
def nothing_by_itself(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call in this process leaves another one behind, whatever environment it was given."""
    if "apart" not in request.keywords:
        monkeypatch.setattr("tars_memory.index.detached.start", lambda *_: False)


@pytest.fixture(autouse=True)
def same_chance() -> None:
    """Whatever asks for chance without a seed gets the same each time."""
    random.seed(SEED or 0)


@pytest.fixture(scope="module")
def really_prepared() -> Iterator[None]:
    """Here a model is prepared and opened as people's is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "prepare_packaged", prepared.really)
        patch.setattr(passages, "_open", prepared.really_opened)
        yield
