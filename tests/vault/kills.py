"""The fault harness: run a writer under strace, and kill it at, or fail, any one of its system calls.

First a traced run tells which calls touch the sandbox (vault and state folder); then the writer is run again for each
of them, and strace kills it, or makes that one call fail. Nothing here knows the writer: it is a command line with
``{vault}`` and ``{state}`` in it, so the real program is driven like the small one. Both are forks of a process that
has imported everything (``tests/forked.py``), held until strace has them: what is traced is the writing alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

import forked
from forked import Held, script

CALLS = (
    "open,openat,creat,read,pread64,write,pwrite64,writev,fsync,fdatasync,close,lseek,ftruncate,truncate,"
    "stat,lstat,fstat,newfstatat,statx,faccessat,faccessat2,access,rename,renameat,renameat2,link,linkat,unlink,"
    "unlinkat,mkdir,mkdirat,rmdir,fchmod,fchmodat,chmod,fchown,fchownat,flock,fcntl,getdents64,flistxattr,listxattr,"
    "fgetxattr,getxattr,fsetxattr,setxattr,symlinkat,copy_file_range,sendfile"
)
"""Everything that can touch a file. A name that this kernel does not have is left out by strace's ``?``."""

LINE = re.compile(r"^(\d+) +(\w+)\(")

DRIVER = (str(Path(__file__).with_name("driver.py")), "{vault}", "{state}")
PROGRAM = ("-", "--vault", "{vault}")
NAIVE = (str(Path(__file__).with_name("naive.py")), "{vault}", "{state}")
"""Writers: a script or the program itself, and arguments; the words of :func:`forked.script`."""


SLOTS = ("one", "two")


class Outcome:
    """What a run left behind.

    Attributes:
        code: exit code; -9 if it was killed.
        said: its stderr.
        note: the note's bytes, None if there is none.
        spooled: all that the spool holds.
        sandbox: the folder with vault and state, until the next run of this case.
    """

    def __init__(self, code: int, said: str, note: bytes | None, spooled: bytes, sandbox: Path) -> None:
        self.code = code
        self.said = said
        self.note = note
        self.spooled = spooled
        self.sandbox = sandbox


class Case:
    """A write to drive.

    Two sandboxes are prepared alike, so that two runs can go side by side; each is always at the same path, because
    a vault's state belongs to its path.

    Args:
        base: a folder of its own.
        command: the writer, with ``{vault}`` and ``{state}``.
        note: the note's path in the vault.
        old: its bytes before; None: it isn't there.
        before: writes that are made first, undisturbed (for undo).
    """

    def __init__(
        self, base: Path, command: Sequence[str], note: str, old: bytes | None, before: Sequence[Sequence[str]] = ()
    ) -> None:
        self.base = base
        self.command = command
        self.note = note
        for slot in SLOTS:
            sandbox = base / slot
            (sandbox / "vault").mkdir(parents=True)
            if old is not None:
                (sandbox / "vault" / note).write_bytes(old)
            for each in before:
                run = self.again(slot, each)
                assert run.returncode == 0, run.stderr
            shutil.copytree(sandbox, base / f"{slot}.template", symlinks=True)
        self.template = base / f"{SLOTS[0]}.template"
        self.old = self._note(self.template)
        for slot in SLOTS:  # whatever a first run has to compile
            self._traced(slot, [])
        traced, outcome = self._traced(SLOTS[0], [])
        self.calls = [(call, number) for call, number, _ in traced]
        self._locked = next((at for at, (_, _, line) in enumerate(traced) if "/lock" in line), 0)
        assert outcome.code == 0, outcome.said
        self.new = outcome.note

    def kill(self, call: str, number: int, slot: str = SLOTS[0]) -> Outcome:
        """Run it, and kill it when it makes the n-th call of that name."""
        return self._traced(slot, ["-e", f"inject={call}:signal=KILL:when={number}"])[1]

    def fail(self, call: str, number: int, error: str, slot: str = SLOTS[0]) -> Outcome:
        """Run it, and let the n-th call of that name fail."""
        return self._traced(slot, ["-e", f"inject={call}:error={error}:when={number}"])[1]

    def limit(self, size: int, slot: str = SLOTS[0]) -> Outcome:
        """Run it while no file can grow beyond ``size`` bytes: as a full disk, with writes that end half-way."""
        sandbox = self._fresh(slot)
        file, *words = self._filled(self.command, sandbox)
        command = [
            "prlimit",
            f"--fsize={size}",
            sys.executable,
            *(["-sm", "tars_memory"] if file == "-" else ["-sP", file]),
        ]
        run = subprocess.run(
            [*command, *words], check=False, capture_output=True, text=True, errors="replace", env=_environment(sandbox)
        )
        return self._outcome(sandbox, run.returncode, run.stderr)

    def again(self, slot: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run an undisturbed command in what a run left behind."""
        sandbox = self.base / slot
        words = script(*self._filled(command, sandbox))
        return forked.run(words, text=True, env=_environment(sandbox))

    def every(self, run: Callable[[str, int, str], None], calls: Sequence[tuple[str, int]] | None = None) -> int:
        """Call ``run(call, number, slot)`` for each of the writer's calls, two at a time; answers how many."""
        chosen = self.calls if calls is None else list(calls)
        free: SimpleQueue[str] = SimpleQueue()
        for slot in SLOTS:
            free.put(slot)

        def one(call: tuple[str, int]) -> None:
            slot = free.get()
            try:
                run(*call, slot)
            finally:
                free.put(slot)

        with ThreadPoolExecutor(len(SLOTS)) as pool:
            for _ in pool.map(one, chosen):
                pass
        return len(chosen)

    def _traced(self, slot: str, options: list[str]) -> tuple[list[tuple[str, int, str]], Outcome]:
        sandbox, log = self._fresh(slot), self.base / f"{slot}.trace"
        trace = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=?" + CALLS.replace(",", ",?"), *options]
        with tempfile.TemporaryFile() as said:
            held = Held(self._filled(self.command, sandbox), _environment(sandbox), said.fileno())
            tracer = subprocess.Popen([*trace, "-p", str(held.pid)], stdin=subprocess.DEVNULL)
            held.go()
            code = held.wait()
            tracer.wait()
            said.seek(0)
            outcome = self._outcome(sandbox, code, said.read().decode("utf-8", "replace"))
        calls = list(_calls(log, str(sandbox)))
        log.unlink()
        return calls, outcome

    def from_the_lock_on(self) -> set[tuple[str, int]]:
        """The calls of the write itself, without those that look for the vault and its settings before."""
        return set(self.calls[self._locked :])

    def _fresh(self, slot: str) -> Path:
        sandbox = self.base / slot
        shutil.rmtree(sandbox)
        shutil.copytree(self.base / f"{slot}.template", sandbox, symlinks=True)
        return sandbox

    def _outcome(self, sandbox: Path, code: int, said: str) -> Outcome:
        spooled = b"\n".join(file.read_bytes() for file in (sandbox / "state").rglob("spool/*.json"))
        return Outcome(code, said, self._note(sandbox), spooled, sandbox)

    def _filled(self, command: Sequence[str], sandbox: Path) -> list[str]:
        return [part.format(vault=sandbox / "vault", state=sandbox / "state") for part in command]

    def _note(self, sandbox: Path) -> bytes | None:
        path = sandbox / "vault" / self.note
        return path.read_bytes() if path.exists() else None


def left_over(sandbox: Path) -> list[str]:
    """Files of ours that should not be in the vault."""
    return [name for _, _, names in os.walk(sandbox / "vault") for name in names if ".tars-" in name]


def _environment(sandbox: Path) -> dict[str, str]:
    """A small environment, so that two runs make the same calls."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(sandbox),
        "TARS_MEMORY_HOME": str(sandbox),
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
        "TARS_NOW": "2026-11-21T10:15:00+00:00",
    }


def _calls(log: Path, sandbox: str) -> Iterator[tuple[str, int, str]]:
    """Of the first process, each call that touches the sandbox: name, number among those of that name, line."""
    numbers: Counter[str] = Counter()
    first = None
    for line in log.read_text("utf-8", "replace").splitlines():
        match = LINE.match(line)
        if not match:
            continue
        process, name = match.groups()
        first = first or process
        if process == first:
            numbers[name] += 1
            if sandbox in line and "execve" not in line:
                yield name, numbers[name], line
