"""The program without its start: a process forked from one that has imported everything.

``program("search", "tea")`` is a command line like any other. What it starts is a small client (a tenth of the
program's own start) that hands its arguments, environment, folder and first three files to a server that forks; the
child is ``tars_memory.__main__`` from its first line to its exit code, a process of its own with pipes or a terminal.
What a test shows of starts, imports, signals or the terminal's own keys needs the real start:
``started("search", "tea")``.
"""

from __future__ import annotations

import atexit
import marshal
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def started(*argv: str) -> list[str]:
    """The command line that starts the program in earnest."""
    return [sys.executable, "-m", "tars_memory", *argv]


def program(*argv: str) -> list[str]:
    """The command line that starts the program as a fork."""
    return script("-", *argv)


def script(file: str, *argv: str) -> list[str]:
    """The same for a script of the tests that imports the program; ``-`` is the program itself."""
    return [sys.executable, "-IS", CLIENT, _server(argv).address(), file, *argv]


def command(folder: Path, name: str) -> None:
    """Put the program into a folder of programs."""
    (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    (folder / name).chmod(0o755)


CLIENT = str(Path(__file__).with_name("forked_client.py"))


def done(words: Sequence[str], env: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run the program as a fork, without a client between: a third of the time of a short command."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as nothing:
        files = [nothing.fileno(), out.fileno(), err.fileno(), os.open(folder, os.O_RDONLY)]
        with _handed(["-", *words], env, files) as client:
            os.close(files[-1])
            code = client.recv(1)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess([*words], code[0] if code else -9, out.read(), err.read())


def _handed(words: Sequence[str], env: Mapping[str, str], files: Sequence[int], *, hold: bool = False) -> socket.socket:
    """A connection to the server, which is told what to start: with stdin, stdout, stderr and the folder."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(_server(words).address())
    told = marshal.dumps((hold, [os.fsencode(word) for word in words], {
        os.fsencode(name): os.fsencode(value) for name, value in env.items()
    }))  # fmt: skip
    socket.send_fds(client, [len(told).to_bytes(4, "little") + told], files)
    return client


class Held:
    """A fork that stands still before its first line, so that it can be traced from there.

    Args:
        words: of the command line: a script or ``-``, and its arguments.
        env: its environment.
        said: takes its stdout and stderr.
    """

    def __init__(self, words: Sequence[str], env: Mapping[str, str], said: int) -> None:
        with open(os.devnull, "rb") as nothing:
            files = [nothing.fileno(), said, said, os.open("/", os.O_RDONLY)]
            self._socket = _handed(words, env, files, hold=True)
            os.close(files[-1])
        self.pid = int.from_bytes(self._socket.recv(8), "little")
        while self._told("State:") != "T":
            time.sleep(0.0005)

    def go(self) -> None:
        """Let it run, once somebody traces it: then not a single call of it is missed."""
        while self._told("TracerPid:") == "0":
            time.sleep(0.0005)
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> int:
        """Until it has ended; its exit code, or -9 if it was killed."""
        code = self._socket.recv(1)
        self._socket.close()
        return code[0] if code else -9

    def _told(self, name: str) -> str:
        (line,) = [line for line in Path(f"/proc/{self.pid}/status").read_text().split("\n") if line.startswith(name)]
        return line.split()[1]


class Server:
    """The process that is forked from, started when it is first needed; it ends with this process.

    Args:
        less: the modules of ours that it doesn't import, with all that they do.
    """

    def __init__(self, less: tuple[str, ...] = ()) -> None:
        self._address = ""
        self._less = less

    def address(self) -> str:
        """Where it listens."""
        if not self._address:
            folder = tempfile.mkdtemp(prefix="fork-")
            self._address = os.path.join(folder, "socket")
            listening = socket.socket(socket.AF_UNIX)
            listening.bind(self._address)
            listening.listen(100)
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(listening.fileno()), *self._less],
                stdin=subprocess.PIPE,
                pass_fds=[listening.fileno()],
                env={
                    "PATH": os.environ["PATH"],
                    "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
                    "PYTHONHASHSEED": "0",
                    "TZ": "UTC",
                    "PYTEST_PREPARED": os.environ.get("PYTEST_PREPARED", ""),
                },
                start_new_session=True,
            )
            listening.close()
            atexit.register(self._end)
        return self._address

    def _end(self) -> None:
        self._process.communicate()


SERVER, OF_MCP = Server(("tars_memory.doors.mcp", "tars_memory.doors.live")), Server()
"""A fork copies the page tables: without what one command needs each costs half."""


def _server(words: Sequence[str]) -> Server:
    return OF_MCP if "mcp" in words else SERVER


# --- the server


def serve(listening: socket.socket, less: tuple[str, ...]) -> None:
    """Fork for each client until nobody holds the other end of stdin any more."""
    import gc
    import select

    everything(less)
    gc.collect()
    gc.freeze()
    while True:
        ready, _, _ = select.select([0, listening], [], [])
        if 0 in ready:
            reap()
            os._exit(0)
        client, _ = listening.accept()
        if not os.fork():
            listening.close()
            be(client)
        client.close()
        reap()


def reap() -> None:
    """Wait for those that have ended, so that what they took is counted."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def everything(less: tuple[str, ...] = ()) -> None:
    """Import what any command may import, less some of our modules."""
    import contextlib
    import pkgutil
    from datetime import date
    from importlib import import_module

    import tars_memory

    found = pkgutil.walk_packages(tars_memory.__path__, "tars_memory.")
    names = [module.name for module in found if not module.name.startswith(less)]
    for name in [
        *names,
        "markdown_it",
        "yaml",
        "rich.console",
        "numpy",
        "onnxruntime",
        "tokenizers",
        "ctypes",
        "runpy",
    ]:
        with contextlib.suppress(ImportError):
            import_module(name)
    rules = import_module("tars_memory.curation.extraction.rules")
    rules.stated("tea", date.min)  # compiles the phrases of all languages, a third of a second for each fork
    if folder := os.environ.get("PYTEST_PREPARED"):
        import prepared

        prepared.install(folder)


def be(client: socket.socket) -> None:
    """Become what the client was told to start: never comes back."""
    import ctypes
    import io
    import runpy

    kernel = ctypes.CDLL(None)
    kernel.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: whatever a broken test leaves ends with the server
    said, files, _, _ = socket.recv_fds(client, 1_000_000, 4)
    size = int.from_bytes(said[:4], "little")
    said = said[4:]
    while len(said) < size:
        said += client.recv(1_000_000)
    client.set_inheritable(False)
    hold, argv, environ = marshal.loads(said)
    leave = os._exit

    def tell(code: int) -> None:
        client.send(bytes([code & 255]))
        leave(code)

    os._exit = tell  # type: ignore[assignment]
    os.fchdir(files.pop())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environb.update({b"TARS_MEMORY_BACKGROUND": b"0", **environ})
    time.tzset()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, (name, errors) in enumerate(
        (("stdin", "surrogateescape"), ("stdout", "surrogateescape"), ("stderr", "backslashreplace"))
    ):
        raw: Any = io.BufferedReader(io.FileIO(0)) if number == 0 else io.BufferedWriter(io.FileIO(number, "w"))
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=number == 2 or raw.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if hold:
        kernel.prctl(0x59616D61, ctypes.c_ulong(-1))  # PR_SET_PTRACER: anybody may trace it
        client.send(os.getpid().to_bytes(8, "little"))
        os.kill(os.getpid(), signal.SIGSTOP)
    file, *words = map(os.fsdecode, argv)
    sys.argv = ["tars-memory" if file == "-" else file, *words]
    try:
        if file == "-":
            from tars_memory.__main__ import main

            main()
        sys.path[0] = os.path.dirname(file)
        runpy.run_path(file, run_name="__main__")
        tell(0)
    except SystemExit as end:
        sys.stdout.flush()
        tell(end.code if isinstance(end.code, int) else int(bool(end.code)))
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    tell(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), tuple(sys.argv[2:]))
