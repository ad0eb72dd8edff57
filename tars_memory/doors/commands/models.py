"""``models``: embedding models, and whether a language model can judge sentences; ``eval``: how well search answers
questions whose answers are known.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.curation.models import check, llm
from tars_memory.doors.cli.call import call_of, command
from tars_memory.doors.cli.output import Output, counted, duration, line, show_rows, show_tree
from tars_memory.errors import UsageError
from tars_memory.recall.evaluation import UNNAMED, ModeRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.doors.cli.call import Call


def models(
    ctx: typer.Context,
    action: Annotated[
        str, typer.Argument(metavar="[list|use|check]", help="List them, use one, or check a language model.")
    ] = "list",
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The model to use or to check.")] = None,
    folder: Annotated[
        str | None, typer.Option("--from", metavar="FOLDER", help="Take its files from here instead of downloading.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="List also those that could be downloaded.")] = False,
) -> int:
    """List the embedding models that are here or fit your notes, or use another one. Only models use downloads any.

    check asks a language model 24 test sentences. One that judges fewer than 20 right is not asked for a second look
    any more.
    """
    call = call_of(ctx)
    if action == "check" and not folder:
        return _checked(call, name or "")
    if action not in ("list", "use") or (action == "use") != (name is not None) or (folder and not name):
        raise UsageError("models takes: list, use NAME, or check [NAME]", "tars-memory models list")
    if name is not None:
        told = dict(call.memory().use_model(name, folder=folder))
        told["notices"] = call.notices(told.get("notices") or ())
        if call.out.json:
            call.out.record(told)
        else:
            show_tree(call.out, {key: value for key, value in told.items() if key != "notices"})
        return 0
    known = list(call.memory().models(fetchable=all_ or call.out.json))
    notices = call.notices()
    if call.out.json:
        call.out.record({"models": known, "notices": notices})
        return 0
    here = [(*_cells(model), _here(model), _took(model)) for model in known if _is_ours(model)]
    show_rows(call.out, here, ("", "model", "languages", "size", "here", "vectors"))
    if others := [_cells(model)[1:] for model in known if not _is_ours(model)]:
        if call.out.screen:
            call.out.data("")
        show_rows(call.out, others, ("to download", "languages", "size"))
    if not all_:
        call.out.say("more can be downloaded: tars-memory models --all")
    return 0


def _is_ours(model: "Mapping[str, Any]") -> bool:
    """Whether a model is installed here, set, or one that pip installs; else it could be downloaded."""
    return bool(model.get("installed") or model.get("current")) or "gigabytes" not in model


def _cells(model: "Mapping[str, Any]") -> tuple[str, ...]:
    """Whether it is in use, its name, its languages, its size."""
    size = f"{model['megabytes']} MB" if model.get("megabytes") else ""
    return "*" if model.get("current") else "", line(str(model["name"])), line(str(model.get("languages") or "")), size


def _took(model: "Mapping[str, Any]") -> str:
    """How long the vectors of this vault take; empty if that isn't known."""
    return duration(model["seconds"]) if model.get("seconds") else ""


def _here(model: "Mapping[str, Any]") -> str:
    """Whether a model is on this machine, and whether it is the one for this vault's languages."""
    here = "installed" if model.get("installed") else "not installed"
    return f"{here}, recommended" if model.get("recommended") else here


def _checked(call: "Call", name: str) -> int:
    """How a language model judges sentences; exit 1 if its verdicts don't count."""
    settings = call.memory().workspace.settings
    done = check.check(settings, llm.required(settings, "extract", name))
    notices = call.notices()
    if call.out.json:
        call.out.record({**done.as_dict(), "notices": notices})
        return 0 if done.passed else 1
    for said, kind, answer in done.wrong:
        call.out.data(f"{line(said)}\t{kind}\t{line(answer)}")
    does = "its second look counts" if done.passed else "it is asked for no second look"
    call.out.say(f"{done.model}: {done.right} of {done.of} judged rightly: {does}")
    return 0 if done.passed else 1


MODELS = command(
    models,
    pages=True,
    examples="""
tm models
tm models --all
tm models use multilingual
tm models check gemini/gemini-2.5-flash
""",
    exits="1 the language model failed the check, 7 a model can't be had",
    answers="""
models[].name installed current recommended languages megabytes: each model, those to download as well
models[].seconds: about how long the vectors of this vault take, 0 if unknown (installed models only)
models[].dimension gigabytes: of models that can be downloaded
[use]
model config: what is set, in which file
[check]
model right of passed: the result
wrong[].said kind answer: each wrong answer
""",
)


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
