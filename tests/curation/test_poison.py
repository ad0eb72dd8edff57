"""Poisoned conversations and a model that obeys whoever wrote them; a few of those that ``make prove`` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.attacked import attack
from curation.poison import OBEYS, cases, obey
from tars_memory.testing import ScriptedLLM

FEW = list(cases(26))


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name.split(",")[0])
def test_nothing_said_does_harm(tmp_path: Path, case) -> None:
    model = ScriptedLLM(lambda prompt: obey(prompt.user, OBEYS[case.style], case.words))
    attack(tmp_path, case, model)
    assert model.prompts or case.style == "none"
