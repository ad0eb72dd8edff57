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

    Prints path:line. An exact repeat is said and not written again. A rule needs a person at a terminal: from a script
    or an agent it is kept as a proposal, and the message says where.
    """
    call = call_of(ctx)
    if tier not in TIERS:
        raise UsageError(f"--tier {tier!r} can't be written to", f"it is {' or '.join(TIERS)}")
    call.hold("remember", tier=tier, section=section, tags=list(tag or ()))
    words = about_secrets(call, call.words(text, "TEXT", stdin=stdin))
    receipt = call.memory().remember(words, tier=tier, section=section, tags=tuple(tag or ()))
    return report(call, receipt)


COMMAND = command(remember, writes=True, words=True)
