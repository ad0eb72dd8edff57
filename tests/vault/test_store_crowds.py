"""Many processes at once (in full size: tests/prove)."""

from __future__ import annotations

from pathlib import Path

from crowds import check_appends, check_editor
from storekit import Place


def test_processes_append(tmp_path: Path) -> None:
    check_appends(Place(tmp_path), processes=8, count=200)


def test_an_editor_beside_processes_that_edit(tmp_path: Path) -> None:
    stand, _ = check_editor(Place(tmp_path), saves=80, processes=3, count=20)
    assert stand > 0
