from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[2] / "scripts"))

import fake_memory


class Answer:
    """What one call left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Inside = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def inside(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Run these words in this process, in a pipe; models are asked by a process that is forked."""
    from curation import warm

    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    def call(words: Sequence[str], env: Mapping[str, str], cwd: Path, text: str = "") -> Any:
        warm.install(monkeypatch)
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["tars-memory", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        capsys.readouterr()
        code = run(list(words), Call(dict(env)))
        sys.stdout.flush()
        said = capsys.readouterr()
        return subprocess.CompletedProcess(list(words), code, said.out, said.err)

    return call


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> type[fake_memory.FakeMemory]:
    return fake_memory.install(monkeypatch)


@pytest.fixture
def tm(
    memory: type[fake_memory.FakeMemory],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Callable[..., Answer]:
    """Run a command in this process, over the fake memory."""
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    def call(*argv: str, **env: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tars-memory", *argv])
        code = run(list(argv), Call({"TERM": "xterm", "TARS_MEMORY_HOME": str(tmp_path), **env}))
        sys.stdout.flush()
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
