"""``verify``: the index against the notes."""

import typer

from tars_memory.cli.output import line
from tars_memory.cli.parsing import call_of, command


def verify(ctx: typer.Context) -> int:
    """Compare the index with what a rebuild from the notes would hold, and print each difference. Exit 1 if any."""
    call = call_of(ctx)
    differences = [str(difference) for difference in call.memory().verify()]
    notices = call.notices()
    if call.out.json:
        call.out.record({"differences": differences, "notices": notices})
    else:
        for difference in differences:
            call.out.data(line(difference))
        if differences:
            call.out.say("the index differs from the notes: tars-memory reindex --full makes it anew")
        else:
            call.out.say("the index agrees with the notes")
    return 1 if differences else 0


VERIFY = command(
    verify,
    examples="""
tm verify
""",
    exits="1 they differ",
    answers="""
differences: a sentence each
""",
)
