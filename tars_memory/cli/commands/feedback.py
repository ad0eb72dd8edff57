"""``feedback``: what went well or badly."""

from typing import Annotated

import typer

from tars_memory.cli.asking import about_secrets
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report
from tars_memory.errors import UsageError

VERDICTS = ("good", "bad")


def feedback(
    ctx: typer.Context,
    verdict: Annotated[str | None, typer.Argument(metavar="good|bad", help="Was it right?")] = None,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="All remaining words.")] = None,
    question: Annotated[str | None, typer.Option("--question", metavar="TEXT", help="What was asked.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", metavar="TEXT", help="What was answered.")] = None,
) -> int:
    """Note in rewards.md what went well, or in corrections.md what went badly. review makes rules of it."""
    call = call_of(ctx)
    if verdict not in VERDICTS:
        raise UsageError("say good or bad first", "tars-memory feedback bad cited the wrong day")
    call.hold("feedback", good=verdict == "good", question=question, answer=answer)
    words = about_secrets(call, call.words(note, "NOTE"))
    question, answer = (text and about_secrets(call, text) for text in (question, answer))
    return report(call, call.memory().feedback(verdict == "good", words, question=question, answer=answer))


FEEDBACK = command(
    feedback,
    writes=True,
    words=True,
    examples="""
tm feedback good short answer
tm feedback bad gave imperial units --question "how far is it?"
""",
    answers="""
as remember
""",
)
