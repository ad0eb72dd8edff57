"""``models``: embedding models; and whether a language model can judge sentences."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.curation.models import check, llm
from tars_memory.doors.cli.call import call_of, command
from tars_memory.doors.cli.output import duration, line, show_rows, show_tree
from tars_memory.errors import UsageError

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
