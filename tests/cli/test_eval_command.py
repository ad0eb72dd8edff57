"""``eval``: what it asks of the memory, what it prints, and one run over a real vault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_memory import evaluated

from tars_memory.testing import make_vault

Run = Callable[..., Any]


def test_a_table_with_a_row_for_each_category(tm: Run) -> None:
    answer = tm("eval", "questions.jsonl")
    assert (answer.code, answer.err) == (0, "")
    heading, every, *rest = answer.out.splitlines()
    assert heading.split()[:6] == ["hybrid", "n", "R@1", "R@5", "R@10", "MRR"]
    assert every.split() == ["all", "1", *["100.0"] * 11, "0.0", "-"]
    assert [row.split()[0] for row in rest] == ["drinks"]
    assert len({len(row) for row in answer.out.splitlines()}) == 1


def test_another_mode_is_shown_below(tm: Run, memory: Any) -> None:
    memory.answers["evaluate"] = evaluated("lexical")
    out = tm("eval", "questions.jsonl", "--against", "lexical").out
    first, second = out.split("\n\n")
    assert (first.split()[0], second.split()[0]) == ("hybrid", "lexical")


def test_the_options_are_handed_on(tm: Run, memory: Any) -> None:
    tm("eval", "q.jsonl", "--mode", "semantic", "--against", "lexical", "--against", "hybrid", "--limit", "7")
    given = {"mode": "semantic", "against": ("lexical", "hybrid"), "limit": 7}
    assert memory.asked == [("evaluate", ("q.jsonl",), given)]


@pytest.mark.parametrize("option", ["--mode", "--against"])
def test_an_unknown_mode_is_said(tm: Run, memory: Any, option: str) -> None:
    answer = tm("eval", "q.jsonl", option, "magic")
    assert (answer.code, answer.out) == (2, "")
    assert "mode 'magic' is unknown" in answer.err
    assert memory.asked == []


def test_missing_gold_is_said_after_the_figures(tm: Run, memory: Any) -> None:
    memory.answers["evaluate"] = evaluated(gold="gone.md", notices=("no model here",))
    answer = tm("eval", "q.jsonl")
    assert answer.code == 3
    assert answer.out.startswith("hybrid")
    assert answer.err == "tars-memory: no model here\ntars-memory: 1 gold place not in the vault: gone.md\n"
    told = tm("eval", "q.jsonl", "--json").json
    assert told["missing"] == ["gone.md"]
    assert told["notices"] == ["no model here", "1 gold place not in the vault: gone.md"]


NOTES = {
    "Tea.md": "# Tea\n\n- Anna likes oolong in the morning\n- Bela drinks coffee\n",
    "Boats.md": "# Boats\n\nThe harbour of Cork freezes in no winter.\n",
}
ASKED = [
    {"query": "who likes oolong", "gold": [{"path": "Tea.md", "line": 3}], "category": "drinks"},
    {"query": "harbour of Cork", "gold": [{"path": "Boats.md"}], "category": "places"},
    {"query": "qqqxyzzy", "gold": [], "category": "unanswerable"},
]


@pytest.fixture
def real(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run ``eval`` over a real vault with these questions."""
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    root = make_vault(tmp_path / "vault", NOTES)
    file = tmp_path / "questions.jsonl"

    def call(lines: list[Any] | None, *options: str) -> tuple[int, str, str]:
        if lines is not None:
            told = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            file.write_text("".join(f"{line}\n" for line in told), "utf-8")
        env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_DIR": str(root), "TERM": "xterm"}
        code = run(["eval", str(file), *options], Call(env))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_a_real_vault_is_measured_and_stays_as_it_is(real: Callable[..., Any], tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()}
    code, out, _ = real(ASKED, "--mode", "lexical", "--json")
    told = json.loads(out)
    assert code == 0
    assert {name: told["all"][name] for name in ("questions", "mrr", "line_recall_5", "silent", "refused")} == {
        "questions": 3, "mrr": 1.0, "line_recall_5": 1.0, "silent": 0.0, "refused": 1.0,
    }  # fmt: skip
    assert [row["category"] for row in told["categories"]] == ["drinks", "places", "unanswerable"]
    assert told["categories"][1]["line_recall_5"] is None
    assert told["missing"] == []
    assert {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()} == before


def test_two_modes_are_compared(real: Callable[..., Any]) -> None:
    code, out, _ = real(ASKED, "--mode", "lexical", "--against", "lexical", "--json")
    (other,) = json.loads(out)["against"]
    assert code == 0
    assert other["mode"] == "lexical"
    assert other["answers"] == json.loads(out)["answers"]
    assert [each["id"] for each in other["answers"]] == ["1", "2", "3"]


def test_a_bad_line_is_named(real: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = real([ASKED[0], "", '{"query": "x"}'], "--mode", "lexical")
    assert (code, out) == (2, "")
    assert f"{tmp_path / 'questions.jsonl'}:3: gold has to be a list" in err


def test_a_file_that_is_not_there_is_named(real: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = real(None)
    assert (code, out) == (2, "")
    assert f"{tmp_path / 'questions.jsonl'} can't be read" in err
