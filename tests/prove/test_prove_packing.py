"""``context`` over random vaults: never over budget, no line twice, none cut, none lost silently, no tag forged."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "recall"))

import packed

CASES = max(100, int(10_000 * float(os.environ.get("TARS_PROVE_SCALE", "1"))))


@pytest.mark.prove
@settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(packed.cases())
def test_whatever_the_notes_hold(case):
    packed.check(case, packed.pack(case))
