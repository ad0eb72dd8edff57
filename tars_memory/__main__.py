"""The entry point of ``tars-memory`` and ``tm``, and of ``python -m tars_memory``.

A command is a short process: imports take half of its time, of which a tenth is the garbage collector running over the
new objects, and another tenth the interpreter tearing the modules down at the end. So the collector's thresholds are
raised, and the process ends by ``os._exit`` once its output is flushed and its exit handlers have run (measured:
``import typer`` costs 6.2 times ``python -c pass`` without these two measures, 4.7 with them).
"""

import atexit
import gc
import os
import sys

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C ended: 128 + SIGINT, as in shells."""


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
    """Join threads, run exit handlers, flush output, and end the process without tearing down its modules."""
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
            pass  # the reader closed it, or it was never open
    os._exit(code)


if __name__ == "__main__":
    main()
