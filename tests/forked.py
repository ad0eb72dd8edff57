"""The program without its start: a process forked from one that has imported everything, once for all workers.

``program("search", "tea")`` is a command line like any other. What it starts is a small client (a tenth of the
program's own start) that hands its arguments, environment, folder and first three files to a server that forks; the
child is ``tars_memory.__main__`` from its first line to its exit code, a process of its own with pipes or a terminal.
What a test shows of starts, imports, signals or the terminal's own keys needs the real start:
``started("search", "tea")``.
"""

from __future__ import annotations

import atexit
import io
import marshal
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).parents[1]


def started(*argv: str) -> list[str]:
    """The command line that starts the program in earnest."""
    return [sys.executable, "-m", "tars_memory", *argv]


def program(*argv: str) -> list[str]:
    """The command line that starts the program as a fork."""
    return script("-", *argv)


def script(file: str, *argv: str) -> list[str]:
    """The same for a script of the tests that imports the program; ``-`` is the program itself."""
    return [*_CLIENT, _server(argv).address(), file, *argv]


def command(folder: Path, name: str) -> None:
    """Put the program into a folder of programs."""
    (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    (folder / name).chmod(0o755)


_CLIENT = [getattr(sys, "_base_executable", sys.executable), "-IS", str(Path(__file__).with_name("forked_client.py"))]
"""It needs nothing that is installed: the interpreter itself is a fifth cheaper than an environment's."""


def run(
    call: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | str | None = None,
    input: str | bytes = b"",  # noqa: A002 - as there
    text: bool = False,
    errors: str = "strict",
    check: bool = False,
    timeout: float = 120,
) -> subprocess.CompletedProcess[Any]:
    """``subprocess.run`` of what :func:`program` or :func:`script` made, its output captured: no client stands between.

    The client costs as much as a short command does.
    """
    address, words = call[len(_CLIENT)], call[len(_CLIENT) + 1 :]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(input.encode() if isinstance(input, str) else input)
        given.seek(0)
        folder = os.open(cwd or ".", os.O_RDONLY)
        try:
            client = handed(address, words, env, [given.fileno(), out.fileno(), err.fileno(), folder])
        finally:
            os.close(folder)
        with client:
            client.settimeout(timeout)
            code = client.recv(1)
        out.seek(0)
        err.seek(0)
        said: list[Any] = [out.read(), err.read()]
    if text:
        said = [io.TextIOWrapper(io.BytesIO(each), "utf-8", errors).read() for each in said]
    done = subprocess.CompletedProcess([*words], code[0] if code else -signal.SIGKILL, *said)
    if check:
        done.check_returncode()
    return done


def handed(
    address: str, words: Sequence[str], env: Mapping[str, str], files: Sequence[int], *, first: str = ""
) -> socket.socket:
    """A connection to the server, which is told what to start: with stdin, stdout, stderr and the folder.

    Args:
        address: of the server.
        words: of the command line.
        env: its environment.
        files: the four.
        first: what the fork does before its first line: "tell" its number, "hold" after that; empty for nothing.
    """
    client = socket.socket(socket.AF_UNIX)
    client.connect(address)
    told = marshal.dumps((first, [os.fsencode(word) for word in words], {
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
            self._socket = handed(_server(words).address(), words, env, files, first="hold")
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
    """The process that is forked from, started by whichever worker needs it first; it ends with the last of them.

    Args:
        less: the modules of ours that it doesn't import, with all that they do.
        provider: the file of the process that asks a model: that and what it imports are what is forked.
    """

    def __init__(self, less: tuple[str, ...] = (), provider: str = "") -> None:
        self._address = ""
        self._words = [provider, *less]

    def address(self) -> str:
        """Where it listens."""
        if not self._address:
            import fcntl

            folder = os.environ.get("PYTEST_PREPARED") or tempfile.mkdtemp(prefix="fork-")
            address = os.path.join(folder, f"fork-{crc32(repr(self._words).encode())}")
            with open(f"{address}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                stays = self._there(address) or self._begun(address)
            atexit.register(stays.close)  # before whoever began it waits for its end
            self._address = address
        return self._address

    def _there(self, address: str) -> socket.socket | None:
        """A connection for as long as this process lives to the server that another one began; None: it is gone."""
        stays = socket.socket(socket.AF_UNIX)
        try:
            stays.connect(address)
            stays.sendall(STAYS)
            if stays.recv(1):
                return stays
        except OSError:
            pass
        stays.close()
        return None

    def _begun(self, address: str) -> socket.socket:
        Path(address).unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(address)
        listening.listen(100)
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(listening.fileno()), *self._words],
            stdin=subprocess.DEVNULL,
            pass_fds=[listening.fileno()],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
                "PYTHONHASHSEED": "0",
                "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # a fork copies a third fewer entries of the page tables
                "TZ": "UTC",
                "PYTEST_PREPARED": os.environ.get("PYTEST_PREPARED", ""),
            },
            start_new_session=True,
        )
        listening.close()
        atexit.register(process.wait)
        stays = self._there(address)
        assert stays is not None, "the server of forks didn't start"
        return stays


STAYS = b"\0\0\0\0"
"""Said by a worker, which then holds the connection; whoever wants a fork says more."""
SERVER, OF_MCP = Server(("tars_memory.doors.mcp", "tars_memory.doors.live", "tars_memory.doors.views")), Server()
"""A fork copies the page tables: without what one command needs each costs half."""


def _server(words: Sequence[str]) -> Server:
    return OF_MCP if "mcp" in words else SERVER


# --- the server


def serve(listening: socket.socket, provider: str, less: tuple[str, ...]) -> None:
    """Fork for each client until the last worker has gone."""
    import gc
    import select

    if provider:
        main = asking(provider)
    else:
        everything(less)
        from tars_memory.__main__ import main
    gc.collect()
    gc.freeze()
    staying: list[socket.socket] = []
    while True:
        ready, _, _ = select.select([listening, *staying], [], [])
        for gone in ready:
            if gone is not listening:
                staying.remove(gone)
                gone.close()
        if listening in ready:
            client, _ = listening.accept()
            said, files, _, _ = socket.recv_fds(client, 1_000_000, 4)
            if said == STAYS:
                client.sendall(STAYS[:1])
                staying.append(client)
            else:
                if said and not os.fork():
                    for each in (listening, *staying):
                        each.close()
                    be(client, said, files, main)
                client.close()
                for file in files:
                    os.close(file)
        reap()
        if not staying:
            os._exit(0)


def asking(provider: str) -> Callable[[], None]:
    """What the process runs that asks a model; litellm is imported, and has made whatever its first call makes."""
    import contextlib
    import importlib.util

    spec = importlib.util.spec_from_file_location("provider", provider)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    os.environ.update(module.ENVIRONMENT)
    import litellm

    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):  # nobody listens there
        litellm.completion(
            model="openai/x", messages=[{"role": "user", "content": "x"}], api_key="x",
            api_base="http://127.0.0.1:9/v1", timeout=1, max_retries=0,
        )  # fmt: skip
    main: Callable[[], None] = module.main
    return main


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
        prepared.ready_to_fork(folder)


def be(client: socket.socket, said: bytes, files: list[int], main: Callable[[], None]) -> None:
    """Become what the client was told to start: never comes back."""
    import ctypes
    import runpy

    kernel = ctypes.CDLL(None)
    kernel.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: whatever a broken test leaves ends with the server
    size = int.from_bytes(said[:4], "little")
    said = said[4:]
    while len(said) < size:
        said += client.recv(1_000_000)
    client.set_inheritable(False)
    first, argv, environ = marshal.loads(said)
    leave = os._exit

    def tell(code: int) -> None:
        try:
            client.send(bytes([code & 255]))
        finally:
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
    if first:
        client.send(os.getpid().to_bytes(8, "little"))
    if first == "hold":
        kernel.prctl(0x59616D61, ctypes.c_ulong(-1))  # PR_SET_PTRACER: anybody may trace it
        os.kill(os.getpid(), signal.SIGSTOP)
    file, *words = map(os.fsdecode, argv)
    sys.argv = ["tars-memory" if file == "-" else file, *words]
    try:
        if file == "-":
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
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], tuple(sys.argv[3:]))
