"""``tidy``: what is twice, empty, dead or past; and what is old enough for the archive."""

import re
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.curation.tidying import contradictions, curate
from tars_memory.doors.cli.call import Call, PrintPrompt, ReplyFile, answering, call_of, command, day, show_plan
from tars_memory.doors.cli.output import clean, counted, line
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from tars_memory.curation.tidying.archive import Archived
    from tars_memory.curation.tidying.compression import Compressed
    from tars_memory.curation.tidying.tidy import Tidied

LEFT = 1
PARTLY = 3
FEW = 2


def tidy(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[IDS…]", help="Only these findings.")] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Remove what loses nothing, offer the rest for review; or move.")
    ] = False,
    ignore: Annotated[bool, typer.Option("--ignore", help="Never report these findings again.")] = False,
    archive: Annotated[bool, typer.Option("--archive", help="Plan which daily notes go to the archive.")] = False,
    compress: Annotated[
        bool, typer.Option("--compress", help="Propose summaries of old sessions, which go to the archive.")
    ] = False,
    by: Annotated[
        str | None, typer.Option("--by", metavar="PERIOD", help="With --compress: a summary each month or year.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="With --compress: sessions before this day.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Let a model find contradictions (default: the one set)."),
    ] = None,
    curation: Annotated[
        bool,
        typer.Option("--curate", help="Let a model propose what the last days change in Memory.md and facts."),
    ] = False,
    print_prompt: PrintPrompt = False,
    reply: ReplyFile = None,
) -> int:
    """Find duplicates, empty bullets, dead links, expired lines and contradictions in the tier notes. Exit 1 with
    findings.

    Nothing changes without --apply. It removes exact repeats and empty bullets (50 a run, kept in archive/Tidied.md),
    and makes proposals of what you must decide. --archive moves old daily notes to archive/, --compress old sessions,
    and writes a summary of each month in their place; both list first and act with --apply.
    """
    call = call_of(ctx)
    ids = [each for word in ids or () for each in re.split(r"[,\s]+", word) if each]
    if print_prompt and reply is not None:
        raise UsageError("both --print-prompt and --reply", "print the prompt first, then give the reply")
    asking = model is not None or print_prompt or reply is not None or curation
    if compress:
        if ids or ignore or archive or asking:
            raise UsageError("--compress with IDS, --ignore, --archive or a model", "do one after the other")
        first = day(call, before, "--before")
        return _show_summaries(call, call.memory().compress(by=by, before=first, apply=apply), apply)
    if by is not None or before is not None:
        raise UsageError("--by and --before belong to --compress", "add --compress")
    if asking:
        if apply or ignore or archive or ids:
            raise UsageError(
                "a model with --apply, --ignore, --archive or IDS", "what it finds waits for review: ask it alone"
            )
        return (_curate if curation else _ask)(call, model or "", print_prompt, reply)
    if ignore and (apply or archive):
        raise UsageError("--ignore with --apply or --archive", "do one after the other")
    if archive:
        if ids:
            raise UsageError("IDS with --archive", "the archive takes all notes past the window: leave the IDS out")
        return _show_plan(call, call.memory().archive(apply=apply), apply)
    if ignore and not ids:
        raise UsageError("IDS are missing", "name the findings to ignore: tars-memory tidy lists them")
    return _show(call, call.memory().tidy(apply=apply, ignore=ignore, ids=tuple(ids)))


def _ask(call: "Call", model: str, print_prompt: bool, reply: str | None) -> int:
    """Show what a model would be asked, or ask it, and tell what waits for review then."""
    context = call.memory().workspace.capture(writes=not (print_prompt or call.dry_run))
    asked = contradictions.material(context)
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return 0
    if len(asked.lines) < FEW:
        call.out.say("there are no two lines to compare")
        return 0
    named = answering(call, asked.dialogue.prompt, "tidy", model, reply)
    if named is None:
        return 0
    done = contradictions.compare(context, asked, named)
    return _offered(call, done.kept, done.notices, f"{counted(len(done.kept), 'proposal')} by {named.name}")


def _curate(call: "Call", model: str, print_prompt: bool, reply: str | None) -> int:
    """The same about what the last days change."""
    context = call.memory().workspace.capture(writes=not (print_prompt or call.dry_run))
    asked = curate.material(context)
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return 0
    if why := curate.left_out(asked):
        call.out.say(why)
        return 0
    named = answering(call, asked.dialogue.prompt, "tidy", model, reply)
    if named is None:
        return 0
    done = curate.curate(context, asked, named)
    return _offered(call, done.kept, done.notices, f"{done.told or 'nothing proposed'} by {named.name}")


def _offered(call: "Call", kept: list[str], notices: list[str], told: str) -> int:
    """What a model's answer came to."""
    notices = call.notices(notices, [f"{told}: tars-memory review decides" if kept else told], _dry(call, True))
    if call.out.json:
        call.out.record({"proposed": kept, "notices": notices})
    else:
        for name in kept:
            call.out.data(name)
    return 0


def _show(call: "Call", told: "Tidied") -> int:
    notices = call.notices(told.notices, _dry(call, bool(told.applied or told.ignored)))
    if call.out.json:
        call.out.record({**told.as_dict(), "notices": notices})
    else:
        for done in told.applied:
            reason = f" ({line(done.reason)})" if done.reason else ""
            call.out.data(f"{done.outcome}  {call.out.path(done.finding.path)}  {line(done.finding.text)}{reason}")
        done_ids = {done.finding.id for done in told.applied}
        for path, group in groupby((f for f in told.findings if f.id not in done_ids), key=lambda found: found.path):
            for found in group:
                call.out.data(f"{call.out.place(path, found.line)}: {found.kind}: {line(found.text)}")
                call.out.data(f"  {found.id}  {line(found.suggestion)}")
        if told.findings:
            fixable = sum(found.fixable and found.id not in done_ids for found in told.findings)
            how = f"tars-memory tidy --apply mends {fixable}" if fixable else "none can go without loss"
            call.out.say(f"{counted(len(told.findings), 'finding')}; {how}")
        elif not told.applied and not told.ignored:
            waits = f"{counted(told.waiting, 'proposal')} to decide: tars-memory review"
            call.out.say(f"nothing else to tidy; {waits}" if told.waiting else "all is tidy")
    return LEFT if told.findings else 0


def _show_plan(call: "Call", told: "Archived", apply: bool) -> int:
    notices = call.notices(told.notices, _dry(call, apply and bool(told.plan)))
    moves = [step for step in told.plan if step.action == "move"]
    if call.out.json:
        call.out.record({**told.as_dict(), "notices": notices})
    else:
        show_plan(call, told.plan)
        if not moves:
            call.out.say("no daily note is to move")
        elif not apply:
            call.out.say(f"{counted(len(moves), 'note')} would move; tars-memory tidy --archive --apply does it")
    if told.failed:
        return PARTLY
    return LEFT if moves and not apply else 0


def _show_summaries(call: "Call", told: "Compressed", apply: bool) -> int:
    """Which old sessions move, and every word that stands in their place."""
    notices = call.notices(told.notices, _dry(call, apply and bool(told.summaries)))
    if call.out.json:
        call.out.record({**told.as_dict(), "notices": notices})
        return LEFT if told.summaries and not apply else 0
    show_plan(call, told.plan)
    for each in told.summaries:
        verb = "add to" if each.base else "make"
        more = f", {each.left_out} more in the originals" if each.left_out else ""
        counts = f"{counted(each.sessions, 'session')}, {counted(each.statements, 'statement')}{more}"
        call.out.data(f"{verb}  {call.out.path(each.path)}  ({line(counts)})")
        if not apply:
            call.out.data("\n".join(f"  | {row}".rstrip() for row in clean(each.text).strip("\n").split("\n")))
    moves = sum(step.action == "move" for step in told.plan)
    if not told.summaries:
        call.out.say("no session is to be summed up")
    elif not apply:
        what = f"{counted(moves, 'session')} would move, {counted(len(told.summaries), 'summary note')} written"
        call.out.say(f"{what}; tars-memory tidy --compress --apply does it, with the same options")
    return LEFT if told.summaries and not apply else 0


def _dry(call: "Call", writes: bool) -> list[str]:
    return ["dry run: nothing was written"] if call.dry_run and writes else []


TIDY = command(
    tidy,
    writes=True,
    examples="""
tm tidy
tm tidy --apply
tm tidy --ignore qm3v7dka      # never report this one again
tm tidy --archive --apply
tm tidy --compress --by year
tm tidy --curate --print-prompt | llm | tm tidy --curate --reply -
""",
    exits="1 findings, or notes to move, 2 you may not compress, 3 some notes were not moved, 6 a note changed, "
    "7 no model, or no usable answer",
    answers="""
txn: for `undo`, or null
findings[].id kind path line text: what is left
findings[].suggestion fixable: what to do; whether `--apply` can
findings[].lines[].path line ref text date: the other lines it is about
applied[].id kind path text outcome reason: `removed`, `proposed` or `left`
ignored: ids
waiting: proposals of tidy that wait
[--archive]
txn: for `undo`, or null
plan[].path to action reason: `move` or `keep`
moved: paths
[--compress]
txn: for `undo`, or null
plan[].path to action reason period: `move`, `keep`, or `add` (in the archive, and grown since)
summaries[].period path action sessions statements left_out passed_over text: each summary: `make` or
  `add`, what it holds and what not
moved: paths
[--model, --curate]
proposed: ids of the proposals
""",
)
