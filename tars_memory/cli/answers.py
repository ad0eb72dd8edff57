"""Who answers a prompt: a model, another program (``--print-prompt``, then ``--reply``), or nobody (``--dry-run``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.cli.call import read_stdin
from tars_memory.cli.output import clean, counted
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from tars_memory.cli.call import Call
    from tars_memory.curation.models.llm import LanguageModel, Prompt

PrintPrompt = Annotated[
    bool, typer.Option("--print-prompt", help="Print what a model would be asked, for another program.")
]
ReplyFile = Annotated[
    str | None, typer.Option("--reply", metavar="FILE", help="Take a model's answer from FILE, or - for stdin.")
]


def answer_in(source: str) -> str:
    """The text of a file, or of stdin; bytes that are no UTF-8 are replaced.

    Raises:
        UsageError: it can't be read.
    """
    if source == "-":
        return read_stdin()
    try:
        return Path(source).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(f"{source} can't be read: {error.strerror}", "name the file that holds the answer") from error


def answering(call: Call, prompt: Prompt, job: str, model: str, reply: str | None) -> LanguageModel | None:
    """Who answers: the file of ``--reply``, else the model; None after a dry run has shown what it would be asked.

    Args:
        call: the call.
        prompt: what is asked.
        job: whose model is set, see :data:`tars_memory.curation.models.llm.JOBS`.
        model: the name of another one; may be empty.
        reply: the file that holds the answer.

    Raises:
        ModelUnavailableError: no model is set, or litellm is not installed.
        UsageError: the file can't be read.
    """
    from tars_memory.curation.models import llm

    if reply is not None:
        return llm.Reply([answer_in(reply)])
    named = llm.required(call.memory().settings, job, model)
    if not call.dry_run:
        return named
    tokens, cost = llm.estimate(prompt, named)
    priced = f"at most {cost:.4f} US dollars" if cost is not None else "of unknown price"
    call.out.data(clean(str(prompt)))
    where = named.endpoint or "the provider's own address"
    call.out.say(f"dry run: {named.name} at {where} would be asked this, about {counted(tokens, 'token')}, {priced}")
    return None
