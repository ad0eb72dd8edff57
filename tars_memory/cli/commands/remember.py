"""``remember``: keep a fact or a rule."""

from typing import Annotated

import typer

from tars_memory.cli.asking import about_secrets
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report
from tars_memory.errors import UsageError

TIERS = ("semantic", "procedural")


def remember(
    ctx: typer.Context,
    text: Annotated[list[str] | None, typer.Argument(metavar="TEXT…", help="All remaining words.")] = None,
    tier: Annotated[
        str, typer.Option("--tier", metavar="TIER", help="semantic (facts) or procedural (rules).")
    ] = "semantic",
    section: Annotated[
        str | None, typer.Option("--section", metavar="NAME", help="The heading to put it under.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add #TAG; repeatable.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Take the text from stdin, all of it as one entry.")] = False,
) -> int:
    """Keep a fact in Memory.md, or with --tier procedural a rule in Procedural.md.

    Prints path:line. An exact repeat is not written again. Only a person at a terminal can write a rule: from a script
    or an agent it becomes a proposal in .tars/inbox/ that waits for review.
    """
    call = call_of(ctx)
    if tier not in TIERS:
        raise UsageError(f"--tier {tier!r} can't be written to", f"it is {' or '.join(TIERS)}")
    call.hold("remember", tier=tier, section=section, tags=list(tag or ()))
    words = about_secrets(call, call.words(text, "TEXT", stdin=stdin))
    receipt = call.memory().remember(words, tier=tier, section=section, tags=tuple(tag or ()))
    return report(call, receipt)


REMEMBER = command(
    remember,
    writes=True,
    words=True,
    examples="""
tm remember Anna prefers trains to planes --tag people
tm remember --tier procedural Answer in metric units
git log -1 --format=%s | tm remember --stdin --section Work
""",
    answers="""
txn: the write, for `undo`; null if nothing was written
path line: where the line is
ref: the entry's REF
text: the entry's text
written: false for an exact repeat, and for a proposal
spooled: true if the text waits in the spool (exit 5)
""",
)
