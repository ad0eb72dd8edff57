"""What ``tidy --compress`` shows: which old sessions would move, and every word that would stand in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.cli.asking import show_plan
from tars_memory.cli.output import clean, counted, line
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.cli.call import Call
    from tars_memory.curation.tidying.compression import Compressed

LEFT = 1


def compress(call: Call, by: str | None, before: str | None, *, apply: bool) -> int:
    """Carry out the command; see :meth:`tars_memory.memory.Memory.compress`.

    Args:
        call: the call.
        by: ``month`` or ``year``; None for what is set.
        before: a date; None for those that are old as it is set.
        apply: do it, instead of showing what would be done.

    Returns:
        The exit code: 1 if something is to be done and was not.
    """
    return _show(call, call.memory().compress(by=by, before=_day(call, before), apply=apply), apply)


def _show(call: Call, told: Compressed, apply: bool) -> int:
    dry = ["dry run: nothing was written"] if call.dry_run and apply and told.summaries else []
    notices = call.notices(told.notices, dry)
    if call.out.json:
        call.out.record({**told.as_dict(), "notices": notices})
    else:
        show_plan(call, told.plan)
        for each in told.summaries:
            verb = "add to" if each.base else "make"
            more = f", {each.left_out} more in the originals" if each.left_out else ""
            counts = f"{counted(each.sessions, 'session')}, {counted(each.statements, 'statement')}{more}"
            call.out.data(f"{verb}  {call.out.path(each.path)}  ({line(counts)})")
            if not apply:
                call.out.data("\n".join(f"  | {row}".rstrip() for row in clean(each.text).strip("\n").split("\n")))
        _say(call, told, apply)
    return LEFT if told.summaries and not apply else 0


def _say(call: Call, told: Compressed, apply: bool) -> None:
    moves = sum(step.action == "move" for step in told.plan)
    if not told.summaries:
        call.out.say("no session is to be summed up")
    elif not apply:
        what = f"{counted(moves, 'session')} would move, {counted(len(told.summaries), 'summary note')} written"
        call.out.say(f"{what}; tars-memory tidy --compress --apply does it, with the same options")


def _day(call: Call, text: str | None) -> date | None:
    """The first day that is no longer taken.

    Raises:
        UsageError: it is no date.
    """
    if text is None:
        return None
    from tars_memory.recall.ranking.dates import ACCEPTED, parse_day

    found = parse_day(text, call.memory().now().date())
    if found is None:
        raise UsageError(f"--before: {text!r} is no date", f"it takes {ACCEPTED}")
    return found.start
