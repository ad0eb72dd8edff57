"""Sessions of MCP clients with the server, recorded frame by frame: ``make sessions`` records them anew.

The SDK's 1.x and 2.x can't be in one environment: for 1.x one of its own is made below ``.cache`` (out of PyPI). What
is recorded is checked in, so that the tests replay what clients of both eras say wherever they run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO

from tars_memory.testing import make_vault

HERE = Path(__file__).parent
CLIENT = HERE / "mcp_client.py"
RECORDED = HERE / "sessions"
CACHE = HERE.parents[1] / ".cache" / "mcp-1"
NOW = "2026-11-21T14:30:00+00:00"
NOTES = {
    "Memory.md": "# Memory\n\n## Notes\n\n- Mira is allergic to walnuts #people\n- The ferry to Mira leaves at 18:40\n",
    "Procedural.md": "# Procedural\n\n## Rules\n\n- Answer briefly\n",
    "Facts.md": "# Facts\n\n## Mira\n\n- lives in:: Cork [since:: 2026-01-01]\n",
    "2026-11-20.md": "## Log\n\n- 10:00 booked the ferry to Mira\n",
}
MODES = ("1", "2", "2-handshake")


def surroundings(folder: Path) -> dict[str, str]:
    """The vault of the sessions in a folder, and the environment in which it is served."""
    root = make_vault(folder / "vault", NOTES)
    for path in root.rglob("*.md"):
        os.utime(path, (1_763_640_000, 1_763_640_000))
    return {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "TARS_MEMORY_BACKGROUND": "0",
        "TARS_MEMORY_DIR": str(root),
        "TARS_MEMORY_HOME": str(folder / "home"),
        "TARS_NOW": NOW,
        "TZ": "UTC",
    }


def python(mode: str) -> str:
    """The interpreter whose SDK speaks so; for 1.x it is there only once sessions were recorded here."""
    return str(CACHE / "bin" / "python") if mode == "1" else sys.executable


def plain(frame: Any) -> Any:
    """A frame without what may change: random marks, scores, versions, descriptions, lists of arguments."""
    result = frame.get("result", {})
    if "tools" in result:
        result["tools"] = [{"name": tool["name"], "annotations": tool["annotations"]} for tool in result["tools"]]
    if "structuredContent" in result:
        assert json.loads(result.pop("content")[0]["text"]) == result["structuredContent"]
        for hit in result["structuredContent"].get("hits", ()):
            del hit["score"]
    if "instructions" in result:
        del result["instructions"]
    text = re.sub(r"(</?[a-z]+-|marked )[a-z0-9]{8}\b", r"\1MARK", json.dumps(frame))
    text = re.sub(r'(memory_[a-z]+ takes )[a-z_, ]+(?=")', r"\1ARGUMENTS", text)
    return json.loads(re.sub(r'("name": "tars-memory", "version": )"[^"]*"', r'\1"VERSION"', text))


def frames(mode: str) -> list[tuple[str, dict[str, Any]]]:
    """What was said in a recorded session: by whom (``client``, ``server``), and the frame."""
    lines = (RECORDED / f"{mode}.jsonl").read_text("utf-8").splitlines()
    return [(who, frame) for who, frame in map(json.loads, lines)]


def tee(file: str, command: list[str]) -> int:
    """Stand between a client and the server, and write down what both say."""
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin and server.stdout
    lock = threading.Lock()
    with open(file, "w", encoding="utf-8") as record:

        def copy(who: str, source: BinaryIO, sink: BinaryIO) -> None:
            for line in source:
                with lock:
                    record.write(json.dumps([who, plain(json.loads(line))], ensure_ascii=False) + "\n")
                sink.write(line)
                sink.flush()
            sink.close()

        back = threading.Thread(target=copy, args=("server", server.stdout, sys.stdout.buffer))
        back.start()
        copy("client", sys.stdin.buffer, server.stdin)  # type: ignore[arg-type]
        back.join()
        return server.wait()


def record() -> None:
    """Record a session of each kind."""
    if not CACHE.exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        subprocess.run([python("1"), "-m", "pip", "install", "-q", "mcp>=1.30,<2"], check=True)
    RECORDED.mkdir(exist_ok=True)
    for mode in MODES:
        with tempfile.TemporaryDirectory() as folder:
            env = surroundings(Path(folder)) | {"PYTHONPATH": os.pathsep.join(sys.path)}
            between = [sys.executable, __file__, str(RECORDED / f"{mode}.jsonl")]
            served = [*between, sys.executable, "-m", "tars_memory", "mcp"]
            plainly = {name: value for name, value in env.items() if name != "PYTHONPATH" or mode != "1"}
            if mode == "1":
                served = ["env", f"PYTHONPATH={env['PYTHONPATH']}", *served]
            subprocess.run([python(mode), str(CLIENT), mode, *served], check=True, env=plainly)


if __name__ == "__main__":
    sys.exit(tee(sys.argv[1], sys.argv[2:])) if sys.argv[1:] else record()
