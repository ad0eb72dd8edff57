"""``why``: where a line came from."""

from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.cli.output import Output, line
from tars_memory.cli.parsing import call_of, command

if TYPE_CHECKING:
    from tars_memory.curation.why import Trace

TITLES = {
    "approved": "approved",
    "written": "written",
    "reworded": "reworded",
    "unknown": "unknown",
    "proposed": "proposed",
    "candidate": "noted",
    "replaced": "replaces",
    "said": "said",
    "promoted": "became",
    "end": "end",
}
"""What a step is called in the text."""


def why(
    ctx: typer.Context,
    target: Annotated[
        list[str] | None, typer.Argument(metavar="REF", help="Its REF, or words that only it holds.")
    ] = None,
) -> int:
    """Show where a line came from: who approved it, the day that noted it, who said it, and what it replaced.

    It is read from the notes and the journal. Where the trail ends, it says so.
    """
    call = call_of(ctx)
    trail = call.memory().why(call.target(call.words(target, "REF")))
    notices = call.notices()
    if call.out.json:
        call.out.record({**trail.as_dict(), "notices": notices})
        return 0
    call.out.data(f"{call.out.place(trail.path, trail.line)}  {line(trail.text)}{_signed(trail.author)}  [{trail.ref}]")
    for step in trail.chain:
        for text in rows(call.out, step):
            call.out.data(f"  {text}")
    return 0


def rows(out: Output, step: "Trace") -> list[str]:
    """One step as lines of plain text: what it is, when, where, the words; then the quote and who said it."""
    where = out.place(step.path, step.line) if step.path and step.kind not in ("approved", "written") else ""
    when = line(step.date)[:16].replace("T", " ")
    head = [
        f"{TITLES.get(step.kind, step.kind):<9}",
        when,
        where,
        line(step.text) + _signed(step.author),
        step.txn and f"[{step.txn}]",
    ]
    found = ["  ".join(part for part in head if part)]
    if step.quote:
        said = ", ".join(part for part in (line(step.speaker), f"turn {step.turn}" if step.turn else "") if part)
        found.append(f"{'':<9}  “{line(step.quote)}”{f' ({said})' if said else ''}")
    return found


def _signed(author: str) -> str:
    return f" ({line(author)})" if author else ""


WHY = command(
    why,
    words=True,
    pages=True,
    examples="""
tm why spare key
""",
    exits="1 no such entry, 2 several entries fit",
    answers="""
ref text path line author: the line
chain[].kind: `approved`, `written`, `unknown` (not in this machine's journal), `reworded`, `proposed`, `candidate`,
  `replaced`, `said`, `promoted`, `end`
chain[].text path line date author: the step
chain[].speaker quote turn: who said what
chain[].actor txn: who wrote it
""",
)
