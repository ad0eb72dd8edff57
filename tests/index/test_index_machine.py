"""Whatever happens to the files, the index that is kept up is the index that would be made anew, row for row."""

from __future__ import annotations

from hypothesis import settings
from random_documents import examples
from vault_machine import VaultMachine

VaultMachine.TestCase.settings = settings(max_examples=examples(10), stateful_step_count=15)
TestVaultMachine = VaultMachine.TestCase
