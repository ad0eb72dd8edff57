"""The index under many more random histories."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

sys.path.insert(0, str(Path(__file__).parents[1] / "index"))

from vault_machine import VaultMachine

SCALE = float(os.environ.get("TARS_PROVE_SCALE", "1"))


@pytest.mark.prove
def test_any_history_gives_the_index_of_a_rebuild() -> None:
    run_state_machine_as_test(
        VaultMachine,
        settings=settings(
            max_examples=max(10, int(400 * SCALE)),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
