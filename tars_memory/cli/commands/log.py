"""``log``: a line in today's note; alone, today's note."""

from typing import Annotated

import typer

from tars_memory.cli.asking import about_secrets
from tars_memory.cli.output import clean
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.receipts import report


def log(
    ctx: typer.Context,
    text: Annotated[list[str] | None, typer.Argument(metavar="[TEXT…]", help="All remaining words.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Take the text from stdin, all of it as one line.")] = False,
) -> int:
    """Add a line with the time to today's note, under ## Log, and print path:line. Without TEXT, show today's note."""
    call = call_of(ctx)
    if text or stdin:
        call.hold("log")
        words = about_secrets(call, call.words(text, "TEXT", stdin=stdin))
        return report(call, call.memory().log(words))
    today = call.memory().today()
    notices = call.notices()
    if call.out.json:
        call.out.record({"date": str(today.date), "path": today.path, "text": today.text, "notices": notices})
    elif today.text.strip():
        call.out.data(clean(today.text).rstrip("\n"))
    else:
        call.out.say(f"nothing is noted today ({call.out.path(today.path)})")
    return 0


LOG = command(
    log,
    writes=True,
    words=True,
    examples="""
tm log met Anna in Cork
tm log                          # today's note
uptime | tm log --stdin
""",
    answers="""
as remember
[without TEXT]
date path text: today's note
""",
)
