"""How every writer answers: ``path:line`` on stdout, what else there is to know on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.cli.output import fields, line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.cli.call import Call

RECEIPT = "txn path line ref text written spooled"
UNWRITABLE = 5


def report(call: Call, receipt: Any, *, repeated: str = "already there; nothing was written") -> int:
    """Print one receipt.

    Args:
        call: the call it answers.
        receipt: what the writer returned.
        repeated: what to say when nothing was written and no notice says why.

    Returns:
        The exit code: 5 if the text went to the spool, else 0.
    """
    own = list(getattr(receipt, "notices", None) or ())
    if receipt.spooled and not own:
        own.append("the note can't be written now: your text is in the spool, and the next writing command places it")
    elif call.dry_run and not receipt.spooled:
        own.append("dry run: nothing was written")
    elif not receipt.written and not str(receipt.path or ".tars").startswith(".tars"):
        own.append(repeated)  # below .tars/ it is a proposal, and a notice says so
    notices = call.notices(own)
    if call.out.json:
        call.out.record({**fields(receipt, RECEIPT), "notices": notices})
    else:
        place = line(receipt.path or "")
        if place:
            call.out.data(f"{place}:{receipt.line}" if receipt.line else place)
        if call.dry_run and receipt.text:
            call.out.data(f"  {line(receipt.text)}")
    return UNWRITABLE if receipt.spooled else 0


def show_plan(call: Call, steps: Iterable[Any]) -> None:
    """What is to be moved, and where to, a line each."""
    for step in steps:
        where = f" -> {line(step.to)}" if step.action == "move" else ""
        call.out.data(f"{step.action}  {line(step.path)}{where}  ({line(step.reason)})")
