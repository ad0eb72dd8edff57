"""The entry point of ``tars-memory`` and ``tm``, and of ``python -m tars_memory``.

A command is a short process: half of what it could cost is imports, and of those a tenth is the garbage collector
running over them, and a tenth more the interpreter taking them all apart at the end. So the collector is told to wait,
and the process leaves by ``os._exit`` once its output is flushed and its exit handlers have run (measured: ``import
typer`` costs 6.2 times ``python -c pass`` without the two, 4.7 with them).
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: 128 + SIGINT, as shells have it."""


def main() -> None:
    """Run the command line with the arguments of this process and end it with the documented exit code."""
    gc.set_threshold(100_000, 50, 50)
    try:
        from tars_memory.doors.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    _leave(code)


def _leave(code: int) -> None:
    """End the process: output flushed, threads joined, exit handlers run, modules not taken apart one by one."""
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            for thread in threading.enumerate():
                if thread is not threading.main_thread() and not thread.daemon:
                    thread.join()
        atexit._run_exitfuncs()
    except KeyboardInterrupt:
        code = INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass  # closed by the reader, or never open: silence
    os._exit(code)


if __name__ == "__main__":
    main()
