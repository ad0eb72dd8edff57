"""``review``: decide what is kept for good; ``tidy``: what is wrong with the notes, and what is old enough to move."""

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

from tars_memory import curation
from tars_memory.doors import cli
from tars_memory.doors.cli.call import Call, PrintPrompt, ReplyFile, answering, command, day, flag, option, word
from tars_memory.doors.cli.output import clean, counted, line
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tars_memory.curation.tidying.archive import Archived
    from tars_memory.curation.tidying.compression import Compressed
    from tars_memory.curation.tidying.tidy import Tidied

LEFT, PARTLY, CONFLICT = 1, 3, 6


@command(
    writes=True,
    examples="""
tm review                                   # the walk
tm review --note                            # decide in Obsidian: Review.md
tm review --accept d41c56f2 --reject 7d1eede4
tm review --replace d41c56f2:k3v7q2ma       # in place of the line k3v7q2ma
""",
    exits="1 nothing waits, 2 you may not accept, 3 some were not decided, 5 another review runs, 6 it changed",
    answers="""
proposals[].id: made of the change: if the line changes, so does the id
proposals[].op: `append`, `fact`, `together`; from the inbox also `replace`, `remove`, `choose`
proposals[].target section text: what would be written, where
proposals[].quote source date: what it rests on
proposals[].speaker: whose words these are, if not yours; or where an imported line stands
proposals[].why: one sentence
proposals[].conflicts[].path line ref text date: related lines, the best first
proposals[].replaces: the line that a proposal of the inbox names
proposals[].fact.subject predicate object since until: or null
proposals[].fact.ends[].ref text since until becomes path line: what it would end
proposals[].fact.instead.target section text: the line that `--as-line` makes
proposals[].kind checked warnings: what the second look found
proposals[].asked_before: the refused words that it seems to repeat
total asked_before: how many wait; how many more were refused before and are not listed
[as it applies]
proposals[].parts: of `together`: a proposal for each line
recorded[].id decision path line time: ticks that an agent's process found
[decisions]
txn: for `undo`
decided[].id decision: `accepted` or `rejected`
decided[].outcome reason: `applied`, or `no-op` if the note says so already
decided[].path line ref: where
[--note]
path proposals: the note, and how many are in it
[--rules]
rules[].path line ref section text: rules and playbooks that nobody approved here; a playbook has no REF
[--left-out]
left_out[].id kind text quote said_by turn path line date fact warnings: what the second look left out
kinds: counts
[--offer]
offered[].ref text path line quote speaker turn kind claim sentence warnings: the new candidates, as for `extract`
""",
)
def review(
    call: Call,
    list_: Annotated[bool, flag("--list", "List what waits; decide nothing.")] = False,
    accept: Annotated[list[str] | None, option("--accept", "IDS", "Accept these.")] = None,
    both: Annotated[
        list[str] | None,
        option("--both", "IDS", "Accept these and keep what they would replace or end."),
    ] = None,
    replace: Annotated[list[str] | None, option("--replace", "ID:REF", "Accept this in place of the line REF.")] = None,
    as_line: Annotated[list[str] | None, option("--as-line", "IDS", "Keep these facts as lines of Memory.md.")] = None,
    reject: Annotated[list[str] | None, option("--reject", "IDS", "Reject these.")] = None,
    note: Annotated[bool, flag("--note", "Write them into Review.md, to decide in Obsidian.")] = False,
    from_note: Annotated[bool, flag("--from-note", "Do what Review.md says.")] = False,
    rules: Annotated[bool, flag("--rules", "Approve rules and playbooks that nobody approved here.")] = False,
    expired: Annotated[bool, flag("--expired", "Also what expired undecided, or was refused in other words.")] = False,
    left_out: Annotated[bool, flag("--left-out", "List what a model's second look left out.")] = False,
    offer: Annotated[list[str] | None, option("--offer", "IDS", "Propose these left-out lines after all.")] = None,
    limit: Annotated[int | None, option("--limit", "N", "At most N at a time.", least=1)] = None,
    model: Annotated[
        str | None,
        option("--model", "NAME", 'Let a model sort and word them first ("": the one set).'),
    ] = None,
    print_prompt: PrintPrompt = False,
    reply: ReplyFile = None,
) -> int:
    """Decide what is kept for good: extracted lines, corrections, praise, and proposals of scripts and agents.

    On a terminal it walks through them: accept, edit, reject, later, quit. Elsewhere it lists them. Accepting adds; it
    replaces a line only if you choose that line. Accepting needs a person at a terminal or a tick in Review.md. IDS are
    separated by commas; all of them are decided or none.
    """
    accepted, beside, lines, rejected = _ids(accept), _ids(both), _ids(as_line), _ids(reject)
    offered = _ids(offer)
    instead = _pairs(replace)
    deciding = bool(accepted or beside or lines or rejected or instead)
    asking = model is not None or print_prompt or reply is not None
    forms = {
        "--list": list_,
        "--accept, --both, --replace, --as-line, --reject": deciding,
        "--note": note,
        "--from-note": from_note,
        "--left-out": left_out,
        "--offer": bool(offered),
        "--rules": rules,
        "--model, --print-prompt, --reply": asking,
    }
    chosen = [name for name, said in forms.items() if said]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} don't go together", "give one of them")
    if print_prompt + (reply is not None) > 1:
        raise UsageError("both --print-prompt and --reply", "print the prompt first, then give the reply")
    if rules:
        return _rules(call)
    looking = (
        list_
        or left_out
        or print_prompt
        or call.out.json
        or call.out.quiet
        or not (call.interactive and call.out.screen)
    )
    writes = deciding or note or from_note or bool(offered) or (asking and not print_prompt) or not looking
    room = call.memory().review(writes=writes)
    if asking and not _asked(call, room, model=model, print_prompt=print_prompt, reply=reply, expired=expired):
        return 0
    if left_out:
        return _left_out(call, room, limit)
    if offered:
        return _offered(call, room, offered)
    if deciding:
        with room.alone():
            yes = [*accepted, *beside, *lines, *instead]
            return _told(call, room.decide(yes, rejected, both=beside, lines=lines, replace=instead))
    if from_note:
        with room.alone():
            return _told(call, room.from_note())
    if note:
        with room.alone():
            return _noted(call, room.write_note(limit=limit, expired=expired))
    if looking:
        return _list(call, room.waiting(limit=limit, expired=expired))

    with room.alone():
        return cli.approve.Walk(call, room, limit=limit, expired=expired).run()


def _ids(said: list[str] | None) -> list[str]:
    """The ids of an option that was given once or more, each with ids parted by commas or blanks.

    Raises:
        UsageError: it was given, but without one.
    """
    found = [re.sub(r"^\^?r-", "", each) for word in said or () for each in re.split(r"[,\s]+", word) if each]
    if said and not found:
        raise UsageError("no proposal is named", "tars-memory review --list shows their ids")
    return found


def _pairs(said: list[str] | None) -> dict[str, list[str]]:
    """By id, the lines that it replaces, of an option that was given once or more: ``ID:REF``.

    Raises:
        UsageError: it is not one.
    """
    found: dict[str, list[str]] = {}
    for each in said or ():
        name, parted, ref = re.sub(r"^\^?r-", "", each).partition(":")
        if not (parted and re.fullmatch(r"[0-9a-z]{8}", ref)):
            raise UsageError(f"--replace {each!r} is not an ID:REF", "tars-memory review --list --json shows both")
        found.setdefault(name, []).append(ref)
    return found


def _list(call: Call, listed: Any) -> int:
    """The proposals: as JSON, as a screen, or one line each with tabs between id, place and words."""
    code = 0 if listed.proposals else 1
    answer = {"proposals": listed.proposals, "total": listed.total, "asked_before": listed.asked}
    if call.answered({**answer, **_recorded(listed.recorded)}, listed.notices):
        return code
    if not listed.proposals:
        call.out.say("nothing else waits for a decision" if listed.unsettled else "nothing waits for a decision")
    elif call.out.screen:
        cli.approve.show(call, listed.proposals)
    else:
        for each in (one for proposal in listed.proposals for one in proposal.each):
            where = call.out.path(each.target) + (f" › {line(each.section)}" if each.section else "")
            ends = "; ".join(line(end.becomes) for end in each.fact.ends) if each.fact else ""
            told = f"{line(each.text or each.replaces)}{f'{chr(9)}ends: {ends}' if ends else ''}"
            call.out.data(f"{each.id}\t{where}\t{each.op}\t{told}")
    if len(listed.proposals) < listed.total:
        call.out.say(f"{counted(listed.total - len(listed.proposals), 'more proposal')} after these: --limit N")
    return code


def _left_out(call: Call, room: Any, limit: int | None) -> int:
    """What a second look left out, newest conversation first: id, kind and words; how many of each kind."""
    found = curation.review.left_out(room.ctx)
    shown = found[:limit] if limit else found
    kinds = dict(Counter(one.said.kind for one in found).most_common())
    if call.answered({"left_out": shown, "kinds": kinds}, room.ctx.notices):
        return 0 if found else 1
    for one in shown:
        call.out.data(f"{one.entry.ref}\t{one.date}\t{line(one.said.kind)}\t{line(one.said.text)}")
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    call.out.say(f"left out: {counts}; --offer ID proposes one after all" if found else "nothing was left out")
    return 0 if found else 1


def _offered(call: Call, room: Any, ids: list[str]) -> int:
    """Propose lines after all, and print where they are."""
    with room.alone():
        kept = curation.review.offer(room.ctx, ids)
    if call.answered({"offered": kept}, room.ctx.notices, call.dry()):
        return 0
    for one in kept:
        call.out.data(f"{call.out.place(one.path, one.line)}:{line(one.text)}")
    call.out.say(f"{counted(len(kept), 'candidate')}: decide with tars-memory review")
    return 0


def _rules(call: Call) -> int:
    """Walk through the rules that nobody approved here; elsewhere than at a terminal list them."""
    asks = call.interactive and call.out.screen and not (call.out.json or call.out.quiet)
    context = call.workspace.capture(writes=asks)
    found = curation.review.unapproved(context)
    for other in call.workspace.shared(context.notices, look=False):
        found += curation.review.unapproved_beside(context, other.name, other.vault)
    if asks and found:
        call.notices(context.notices)
        return cli.approve.walk_rules(call, context, found)
    for each in found if not call.answered({"rules": found}, context.notices) else ():
        whose = f"\t[{line(each.vault)}]" if each.vault else ""
        call.out.data(f"{call.out.place(each.path, each.line)}\t{line(each.section)}\t{line(each.text)}{whose}")
    if not found:
        call.out.say("every rule was typed or approved here")
    return 0 if found else 1


def _recorded(ticks: Any) -> dict[str, Any]:
    """Ticks that only agents' processes have found, where there are any."""
    return {"recorded": ticks} if ticks else {}


def _told(call: Call, done: Any) -> int:
    """What became of decisions: one line each, where an accepted one stands."""
    code = (PARTLY if done.decided or done.recorded else CONFLICT) if done.left or done.recorded else 0
    answer = {"txn": done.txn, "decided": done.decided, **_recorded(done.recorded)}
    if call.answered(answer, done.notices, call.dry()):
        return code
    for each in done.decided:
        place = call.out.place(each.path, each.line) if each.line else call.out.path(each.proposal.target)
        call.out.data(f"{each.proposal.id}\t{each.decision}\t{place if each.decision == 'accepted' else ''}".rstrip())
        if each.reason:
            call.out.say(f"{each.proposal.id}: {each.reason}")
    for each in done.recorded:
        call.out.data(f"{each.id}\trecorded\t{call.out.place(each.path, each.line)}")
    if not done.decided:
        call.out.say("nothing was decided")
    return code


def _noted(call: Call, written: tuple[str, int]) -> int:
    """Where the note is, and how many proposals it holds."""
    path, count = written
    if call.answered({"path": path, "proposals": count}, call.dry()):
        return 0 if count else 1
    if count:
        call.out.data(call.out.path(path))
        call.out.say(f"{counted(count, 'proposal')} there; tars-memory review --from-note does what you tick")
    else:
        call.out.say("nothing waits for a decision")
    return 0 if count else 1


def _asked(call: Call, room: Any, *, model: str | None, print_prompt: bool, reply: str | None, expired: bool) -> bool:
    """Let a model sort what waits; False if that was all (a prompt was shown, or nothing waits)."""
    asked = curation.suggestions.to_sort(room, expired=expired)
    if not asked.candidates:
        call.out.say("nothing waits that a model could sort")
        return not print_prompt
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return False
    named = answering(call, asked.dialogue.prompt, "review", model or "", reply)
    if named is None:
        return False
    with room.alone():
        made = curation.suggestions.suggest(room, asked, named)
    call.notices([*made.notices, f"{counted(len(made.kept), 'proposal')} worded by {named.name}"])
    return True


@command(
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
def tidy(
    call: Call,
    ids: Annotated[list[str] | None, word("[IDS…]", "Only these findings.")] = None,
    apply: Annotated[bool, flag("--apply", "Remove what loses nothing, offer the rest for review; or move.")] = False,
    ignore: Annotated[bool, flag("--ignore", "Never report these findings again.")] = False,
    archive: Annotated[bool, flag("--archive", "Plan which daily notes go to the archive.")] = False,
    compress: Annotated[
        bool, flag("--compress", "Propose summaries of old sessions, which go to the archive.")
    ] = False,
    by: Annotated[str | None, option("--by", "PERIOD", "With --compress: a summary each month or year.")] = None,
    before: Annotated[str | None, option("--before", "DATE", "With --compress: sessions before this day.")] = None,
    model: Annotated[
        str | None,
        option("--model", "NAME", "Let a model find contradictions (default: the one set)."),
    ] = None,
    curating: Annotated[
        bool,
        flag("--curate", "Let a model propose what the last days change in Memory.md and facts."),
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
    ids = [each for word in ids or () for each in re.split(r"[,\s]+", word) if each]
    if print_prompt and reply is not None:
        raise UsageError("both --print-prompt and --reply", "print the prompt first, then give the reply")
    asking = model is not None or print_prompt or reply is not None or curating
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
        return _ask(call, curating, model or "", print_prompt, reply)
    if ignore and (apply or archive):
        raise UsageError("--ignore with --apply or --archive", "do one after the other")
    if archive:
        if ids:
            raise UsageError("IDS with --archive", "the archive takes all notes past the window: leave the IDS out")
        return _show_archived(call, call.memory().archive(apply=apply), apply)
    if ignore and not ids:
        raise UsageError("IDS are missing", "name the findings to ignore: tars-memory tidy lists them")
    return _show_findings(call, call.memory().tidy(apply=apply, ignore=ignore, ids=tuple(ids)))


def _ask(call: Call, curating: bool, model: str, print_prompt: bool, reply: str | None) -> int:
    """Show what a model would be asked of contradictions, or of the last days; or ask it, and list what it proposes."""
    context = call.workspace.capture(writes=not (print_prompt or call.dry_run))
    room = curation.suggestions
    asked: Any = room.to_curate(context) if curating else room.to_compare(context)
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return 0
    missing = "" if curating or len(asked.lines) > 1 else "there are no two lines to compare"
    if why := room.nothing_noted(asked) if curating else missing:
        call.out.say(why)
        return 0
    named = answering(call, asked.dialogue.prompt, "tidy", model, reply)
    if named is None:
        return 0
    done: Any = (room.curate if curating else room.compare)(context, asked, named)
    made = (done.told or "nothing proposed") if curating else counted(len(done.kept), "proposal")
    told = f"{made} by {named.name}" + (": decide with tars-memory review" if done.kept else "")
    for name in done.kept if not call.answered({"proposed": done.kept}, done.notices, [told], call.dry()) else ():
        call.out.data(name)
    return 0


def _show_findings(call: Call, told: "Tidied") -> int:
    if not call.answered(told, told.notices, call.dry(writes=bool(told.applied or told.ignored))):
        for done in told.applied:
            reason = f" ({line(done.reason)})" if done.reason else ""
            call.out.data(f"{done.outcome}  {call.out.path(done.finding.path)}  {line(done.finding.text)}{reason}")
        done_ids = {done.finding.id for done in told.applied}
        for path, group in groupby((f for f in told.findings if f.id not in done_ids), key=lambda found: found.path):
            for found in group:
                said = f"{call.out.place(path, found.line)}: {found.kind}: {line(found.text)}"
                call.out.sentence(said)
                call.out.sentence(f"  {found.id}  {line(found.suggestion)}")
        if told.findings:
            fixable = sum(found.fixable and found.id not in done_ids for found in told.findings)
            how = f"tars-memory tidy --apply mends {fixable}" if fixable else "none can go without loss"
            call.out.say(f"{counted(len(told.findings), 'finding')}; {how}")
        elif not told.applied and not told.ignored:
            waits = f"{counted(told.waiting, 'proposal')} to decide: tars-memory review"
            call.out.say(f"nothing else to tidy; {waits}" if told.waiting else "all is tidy")
    return LEFT if told.findings else 0


def _show_plan(call: Call, steps: "Iterable[Any]") -> None:
    """Print what moves, and where to, a line each."""
    for step in steps:
        where = f" -> {call.out.path(step.to)}" if step.action == "move" else ""
        call.out.data(f"{step.action}  {call.out.path(step.path)}{where}  ({line(step.reason)})")


def _show_archived(call: Call, told: "Archived", apply: bool) -> int:
    moves = [step for step in told.plan if step.action == "move"]
    if not call.answered(told, told.notices, call.dry(writes=apply and bool(told.plan))):
        _show_plan(call, told.plan)
        if not moves:
            call.out.say("no daily note is to move")
        elif not apply:
            call.out.say(f"{counted(len(moves), 'note')} would move; tars-memory tidy --archive --apply does it")
    if told.failed:
        return PARTLY
    return LEFT if moves and not apply else 0


def _show_summaries(call: Call, told: "Compressed", apply: bool) -> int:
    """Which old sessions move, and every word of their summaries."""
    if call.answered(told, told.notices, call.dry(writes=apply and bool(told.summaries))):
        return LEFT if told.summaries and not apply else 0
    _show_plan(call, told.plan)
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
