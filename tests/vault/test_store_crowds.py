"""Many processes at once (in full size: tests/prove)."""

from __future__ import annotations

from pathlib import Path

from crowds import check_appends
from storekit import Place


def test_processes_append(tmp_path: Path) -> None:
    check_appends(Place(tmp_path), processes=8, count=50)
