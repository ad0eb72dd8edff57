"""Every session in ``transcripts/`` goes on as it is written down: :mod:`tesh` says how to read and to write one."""

from __future__ import annotations

from pathlib import Path

import pytest
import tesh

FILES = sorted(tesh.FOLDER.glob("*.tesh"))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tesh.shell(tmp_path_factory.mktemp("bin"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_transcript(path: Path, programs: Path, tmp_path: Path) -> None:
    told = tesh.steps(path.read_text("utf-8"))
    assert told
    sitting = tesh.Sitting(tmp_path, programs)
    for step in told:
        done = sitting.run(step)
        where = f"{path.name}:{step.number}: {step.command}\n--- stdout\n{done.out}\n--- stderr\n{done.err}"
        assert not step.differs(done), f"{where}\n--- differs: {step.differs(done)}"
