"""The figures of an evaluation on cases worked out by hand, the bootstrap of eval/, and what questions may hold."""

from __future__ import annotations

import json
from datetime import date
from math import log2
from pathlib import Path

import pytest

from eval.__main__ import bootstrap, compared
from tars_memory.errors import NotFoundError, UsageError
from tars_memory.recall import evaluation
from tars_memory.recall.evaluation import METRICS, ModeRun, Question, evaluate, questions, score
from tars_memory.recall.query import Hit, SearchResult, parse
from tars_memory.vault.vault import note_lines

LINES = {"a.md": ["x" * 399] * 20, "b.md": ["y" * 799] * 20, "c.md": ["z"] * 20}
"""A line of a.md costs 100 tokens, of b.md 200, of c.md half a one."""


def hits(*places: tuple[str, int, int]) -> list[Hit]:
    return [Hit(path=path, start_line=first, end_line=last, text="") for path, first, last in places]


def figures(gold: list[tuple[str, int | None]], *places: tuple[str, int, int]) -> dict[str, float | None]:
    return score(Question("q", gold), hits(*places), lambda path: LINES.get(path, []))


def test_notes_are_counted_once_each_in_the_order_of_their_first_hits() -> None:
    told = figures([("b.md", None), ("c.md", None)], ("a.md", 1, 1), ("a.md", 2, 2), ("b.md", 1, 1))
    assert (told["note_recall_1"], told["note_recall_5"], told["note_recall_10"]) == (0.0, 0.5, 0.5)
    assert told["mrr"] == 0.5  # the second note, though the third hit
    assert told["ndcg_10"] == pytest.approx((1 / log2(3)) / (1 / log2(2) + 1 / log2(3)))
    assert (told["silent"], told["refused"]) == (0.0, None)


def test_everything_first_is_a_perfect_answer() -> None:
    told = figures([("a.md", 2), ("c.md", 1)], ("c.md", 1, 1), ("a.md", 1, 2))
    assert [told[name] for name in METRICS if name not in ("note_recall_1", "silent", "refused")] == [1.0] * 10
    assert told["note_recall_1"] == 0.5


def test_only_ten_notes_count_for_ndcg() -> None:
    others = [(f"{number}.md", 1, 1) for number in range(10)]
    told = figures([("a.md", None)], *others, ("a.md", 1, 1))
    assert (told["ndcg_10"], told["mrr"]) == (0.0, 1 / 11)
    assert figures([(f"{number}.md", None) for number in range(12)], *others)["ndcg_10"] == pytest.approx(1.0)


def test_lines_are_counted_within_the_first_hits() -> None:
    gold: list[tuple[str, int | None]] = [("a.md", 1), ("a.md", 6), ("b.md", 3), ("c.md", 9)]
    told = figures(gold, *[("a.md", line, line) for line in range(1, 7)], ("c.md", 8, 10))
    assert (told["line_recall_5"], told["line_recall_10"]) == (0.25, 0.75)


def test_a_budget_passes_over_what_does_not_fit_and_pays_for_a_line_once() -> None:
    gold: list[tuple[str, int | None]] = [("a.md", 1), ("a.md", 2), ("b.md", 1), ("c.md", 1)]
    told = figures(gold, ("a.md", 1, 1), ("b.md", 1, 2), ("a.md", 1, 2), ("c.md", 1, 2))
    # 300: 100, 400 don't fit, 100 more for the line that is new, 1. 600: 100, 400, 100, and not even 1 is left.
    assert [told[f"coverage_{budget}"] for budget in (300, 600, 1200)] == [0.75, 0.75, 1.0]


def test_without_lines_in_the_gold_there_are_no_figures_of_lines() -> None:
    told = figures([("a.md", None)], ("a.md", 1, 1))
    assert {name for name, value in told.items() if value is None} == {*evaluation.LINE_METRICS, "refused"}


def test_silence_is_right_only_where_there_is_no_answer() -> None:
    silent = figures([("a.md", 1)])
    assert silent["silent"] == 1.0
    assert {value for name, value in silent.items() if name not in ("silent", "refused")} == {0.0}
    assert figures([])["refused"] == 1.0
    answered = figures([], ("a.md", 1, 1))
    assert answered["refused"] == 0.0
    assert {value for name, value in answered.items() if name != "refused"} == {None}


def row(category: str, **values: float) -> tuple[Question, dict[str, float | None]]:
    return Question("q", [("a.md", None)], category=category), {**dict.fromkeys(METRICS), **values}


def test_means_are_over_the_questions_that_have_the_figure() -> None:
    run = ModeRun("hybrid", [row("b", mrr=1.0), row("a", mrr=0.5, coverage_300=0.25), row("a")], [])
    assert run.categories() == ["a", "b"]
    assert (run.means()["mrr"], run.means()["coverage_300"], run.means()["refused"]) == (0.75, 0.25, None)
    assert (run.means("a")["questions"], run.means("a")["mrr"], run.means("b")["mrr"]) == (2, 0.5, 1.0)


def test_a_bootstrap_of_equal_differences_is_that_difference() -> None:
    found = bootstrap([0.25] * 12)
    assert (found.questions, found.mean, found.low, found.high) == (12, 0.25, 0.25, 0.25)


def test_a_bootstrap_agrees_with_the_normal_interval() -> None:
    differences = [1.0] * 60 + [-1.0] * 40
    found = bootstrap(differences)
    error = 1.96 * (0.96 / 100) ** 0.5  # the variance of these differences is 1 - 0.2²
    assert found.mean == pytest.approx(0.2)
    assert found.low == pytest.approx(0.2 - error, abs=0.03)
    assert found.high == pytest.approx(0.2 + error, abs=0.03)


def test_a_bootstrap_is_the_same_every_time_and_another_with_another_seed() -> None:
    differences = [((number * 37) % 101) / 101 for number in range(50)]
    assert bootstrap(differences) == bootstrap(differences)
    assert bootstrap(differences) != bootstrap(differences, seed=1)


def test_more_questions_make_it_surer() -> None:
    few, many = bootstrap([0.0, 1.0] * 5), bootstrap([0.0, 1.0] * 200)
    assert many.high - many.low < (few.high - few.low) / 3


def test_runs_are_compared_question_by_question() -> None:
    run, other = ([{"id": "", "mrr": mrr} for mrr in of] for of in ((1.0, 0.5, None), (0.5, 0.5, None)))
    found = compared(run, other)
    assert list(found) == ["mrr"]
    assert (found["mrr"].questions, found["mrr"].mean) == (2, 0.25)
    assert (compared(other, run)["mrr"].mean, compared(run, run)["mrr"].high) == (-0.25, 0.0)


def read(path: str) -> bytes:
    if path not in LINES:
        raise NotFoundError(f"there is no note {path}")
    return "\n".join(LINES[path]).encode()


def test_every_question_is_asked_in_every_mode() -> None:
    seen = []

    def search(text: str, mode: str) -> SearchResult:
        seen.append((text, mode))
        found = hits(("a.md", 1, 1)) if mode == "hybrid" else []
        return SearchResult(parse(text, date(2026, 11, 21)), mode, found, notices=["said once"])

    asked = [Question("one", [("a.md", 1)]), Question("two", [("a.md", 21), ("gone.md", None), ("gone.md", 3)])]
    found = evaluate(asked, search, read, mode="hybrid", against=["lexical"], limit=9)
    assert seen == [("one", "hybrid"), ("two", "hybrid"), ("one", "lexical"), ("two", "lexical")]
    assert found.missing == ["a.md:21", "gone.md"]
    assert found.notices == ["said once"]
    told = found.as_dict()
    assert (told["limit"], told["mode"], told["all"]["mrr"], told["against"][0]["all"]["mrr"]) == (
        9,
        "hybrid",
        1.0,
        0.0,
    )
    assert [each["silent"] for each in told["answers"]] == [0.0, 0.0]
    assert [each["silent"] for each in told["against"][0]["answers"]] == [1.0, 1.0]


def test_a_file_of_questions() -> None:
    data = "\ufeff" + "\r\n".join(
        [
            json.dumps({"query": "tea?", "gold": [{"path": "a.md", "line": 2}, {"path": "b.md"}, {"path": "b.md"}]}),
            "",
            json.dumps({"id": 7, "query": "旅行", "gold": [], "category": "none", "more": 1}, ensure_ascii=False),
        ]
    )
    one, other = questions(data.encode(), "q.jsonl")
    assert (one.id, one.query, one.category, one.gold) == ("1", "tea?", "other", (("a.md", 2), ("b.md", None)))
    assert (one.notes, one.lines) == ({"a.md", "b.md"}, {("a.md", 2)})
    assert (other.id, other.query, other.category, other.gold) == ("7", "旅行", "none", ())


@pytest.mark.parametrize(
    "line",
    [
        "tea", "[]", '"tea"', "[" * 100_000, "{}", '{"gold": []}', '{"query": " ", "gold": []}',
        '{"query": "x", "gold": {}}', '{"query": "x", "gold": ["a.md"]}', '{"query": "x", "gold": [{"path": ""}]}',
        '{"query": "x", "gold": [{"path": "a.md", "line": 0}]}',
        '{"query": "x", "gold": [{"path": "a.md", "line": "3"}]}',
        '{"query": "x", "gold": [{"path": "a.md", "line": true}]}', '{"query": "x", "gold": [], "category": 3}',
        '{"query": "tea since:never", "gold": []}',
    ],
)  # fmt: skip
def test_a_bad_line_is_named(line: str) -> None:
    good = '{"query": "x", "gold": []}'
    with pytest.raises(UsageError, match=r"^q\.jsonl:3: ") as caught:
        questions(f"{good}\n\n{line}\n{good}\n".encode(), "q.jsonl")
    assert caught.value.hint


def test_a_file_without_questions_is_said() -> None:
    with pytest.raises(UsageError, match="has no question"):
        questions(b"\n \n", "q.jsonl")


OWN = Path(__file__).parents[2] / "eval"


def test_the_gold_of_the_own_set_stands_in_its_vault() -> None:
    asked = questions((OWN / "questions.jsonl").read_bytes(), "questions.jsonl")
    assert len({question.id for question in asked}) == len(asked) >= 40
    assert len({question.category for question in asked}) >= 5
    assert sum(not question.gold for question in asked) >= 5
    for path, line in {place for question in asked for place in question.gold}:
        lines = note_lines((OWN / "vault" / path).read_bytes())
        assert line is None or lines[line - 1].strip(), f"{path}:{line}"
