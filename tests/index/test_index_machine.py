"""Whatever happens to the files, the index that is kept up is the index that would be made anew, row for row."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from vault_machine import VaultMachine

VaultMachine.TestCase.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
TestVaultMachine = VaultMachine.TestCase
