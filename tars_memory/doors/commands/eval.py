"""``eval``: how well search answers questions whose answers are known."""

from typing import Annotated, Any

import typer

from tars_memory.doors.cli.call import call_of, command
from tars_memory.doors.cli.output import Output, counted, line
from tars_memory.errors import UsageError
from tars_memory.recall.evaluation import UNNAMED, ModeRun

MODES = ("hybrid", "lexical", "semantic")
MOST_MISSING = 5
HEADINGS = {
    "note_recall_1": "R@1", "note_recall_5": "R@5", "note_recall_10": "R@10", "mrr": "MRR", "ndcg_10": "nDCG",
    "line_recall_5": "lineR@5", "line_recall_10": "lineR@10", "coverage_300": "c@300", "coverage_600": "c@600",
    "coverage_1200": "c@1200", "coverage_2400": "c@2400", "silent": "silent", "refused": "refused",
}  # fmt: skip


def eval_(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Questions with their answers' places, JSON lines.")],
    mode: Annotated[str | None, typer.Option("--mode", metavar="MODE", help="hybrid, lexical or semantic.")] = None,
    against: Annotated[
        list[str] | None, typer.Option("--against", metavar="MODE", help="Compare with this mode; repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, max=1000, help="At most N hits a question (50).")
    ] = None,
) -> int:
    """Measure how well search answers questions whose answers you know. Writes nothing into the vault.

    FILE holds a JSON object a line: query, gold (a list of path, and line if a line counts; empty if the vault has no
    answer), and if you like category and id. Prints percentages by category.
    """
    call = call_of(ctx)
    for name in (mode, *(against or ())):
        if name is not None and name not in MODES:
            raise UsageError(f"mode {name!r} is unknown", f"it is one of {', '.join(MODES)}")
    options: dict[str, Any] = {"mode": mode, "against": tuple(against or ()), "limit": limit}
    found = call.memory().evaluate(file, **options)
    notices = call.notices(found.notices, _missing(found.missing))
    if call.out.json:
        call.out.record({**found.to_json(), "notices": notices})
    else:
        _show_run(call.out, found.run)
        for other in found.against:
            call.out.data("")
            _show_run(call.out, other)
    return 3 if found.missing else 0


def _missing(paths: list[str]) -> list[str]:
    if not paths:
        return []
    more = ", …" if len(paths) > MOST_MISSING else ""
    return [f"{counted(len(paths), 'gold place')} not in the vault: {', '.join(map(line, paths[:MOST_MISSING]))}{more}"]


def _show_run(out: Output, run: "ModeRun") -> None:
    """A row for all questions, and one for each category if there are any."""
    rows = [("all", run.means()), *((name, run.means(name)) for name in run.categories())]
    cells = [[run.mode, "n", *HEADINGS.values()]]
    cells += [
        [line(name), str(means["questions"]), *(_percent(means[key]) for key in HEADINGS)] for name, means in rows
    ]
    _show(out, cells if run.categories() != [UNNAMED] else cells[:2])


def _show(out: Output, cells: list[list[str]]) -> None:
    """Columns side by side: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        out.data("  ".join((first.ljust(widths[0]), *numbers)))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


EVAL = command(
    eval_,
    examples="""
tm eval questions.jsonl
tm eval questions.jsonl --against lexical --against semantic
""",
    exits="3 the vault has not all the places that FILE names",
    answers="""
limit mode: as asked
all.questions note_recall_1 note_recall_5 note_recall_10 mrr ndcg_10 line_recall_5 line_recall_10 coverage_300
  coverage_600 coverage_1200 coverage_2400 silent refused: from 0 to 1, null where no question has the figure
categories: the same figures, each with its `category`
answers: the figures of each question, with its `id`
against[].mode all categories answers: the same of each other mode
missing: places that are not there
""",
)
