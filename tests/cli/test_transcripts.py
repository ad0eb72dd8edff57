"""Every session in ``transcripts/`` goes on as it is written down: :mod:`tesh` says how to read and to write one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tesh

FILES = sorted(tesh.FOLDER.glob("*.tesh"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tesh.shell(tmp_path_factory.mktemp("bin"))


def goes_on(path: Path, sitting: tesh.Sitting) -> None:
    told = tesh.steps(path.read_text("utf-8"))
    assert told
    for step in told:
        done = sitting.run(step)
        where = f"{path.name}:{step.number}: {step.command}\n--- stdout\n{done.out}\n--- stderr\n{done.err}"
        assert not step.differs(done), f"{where}\n--- differs: {step.differs(done)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, programs: Path, tmp_path: Path, inside: Callable[..., Any]) -> None:
    goes_on(path, tesh.Sitting(tmp_path, programs, inside))


@pytest.mark.prove
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_command_is_a_process_of_its_own(path: Path, programs: Path, tmp_path: Path) -> None:
    goes_on(path, tesh.Sitting(tmp_path, programs))
