"""``review``: decide on proposals; ``tidy``: find what is wrong with the notes, and archive old ones."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tars_memory import curation
from tars_memory.doors import cli
from tars_memory.doors.cli.call import PRINT_PROMPT, REPLY_FILE, Call, command, flag, one_only, option, word
from tars_memory.doors.cli.output import clean, counted, line
from tars_memory.errors import UsageError, counted_lines

LEFT, PARTLY, CONFLICT = 1, 3, 6
PROMPT_FIRST = "print the prompt first, then give the reply"
NOTHING_TO_TIDY = "nothing to tidy in memory, rules, facts, days and sessions; other notes are not examined"


@command(
    writes=True,
    examples="""
tm review                                   # the walk
tm review --note                            # decide in Obsidian: Review.md
tm review --accept d41c56f2 --reject 7d1eede4
tm review --replace d41c56f2:k3v7q2ma       # in place of the line k3v7q2ma
""",
    exits="1 nothing waits, 2 you may not accept, 3 some not decided, 5 another review is running, 6 a note changed",
    answers="""
proposals[].id: made of the change: if the line changes, so does the id
proposals[].op: `append`, `fact`, `together`; from the inbox also `replace`, `remove`, `choose`
proposals[].target section text: what would be written, where
proposals[].quote source date: what it rests on
proposals[].speaker: whose words these are, if not yours; or the place of an imported line
proposals[].why: one sentence
proposals[].conflicts[].path line ref text date: related lines, the best first
proposals[].replaces: the line that a proposal of the inbox names
proposals[].fact.subject predicate object since until: or null
proposals[].fact.ends[].ref text since until becomes path line: what it would end
proposals[].fact.instead.target section text: the line that `--as-line` makes
proposals[].kind checked warnings: what the second look found
proposals[].asked_before: the rejected words that it seems to repeat
total lines: how many wait, and how many lines these have
asked_before: how many more were rejected before and are not listed
[as it applies]
proposals[].parts: of `together`: a proposal for each line
recorded[].id decision path line time: ticks that an agent's process found
[decisions]
txn: for `undo`
decided[].id decision: `accepted` or `rejected`
decided[].outcome reason: `applied`, or `no-op` if the note says so already
decided[].path line ref: where
[--note]
path proposals lines: the note, how many are in it, and how many lines these have
[--rules]
rules[].path line ref section text: rules and playbooks that nobody approved here; a playbook has no REF
[--left-out]
left_out[].id kind text quote said_by turn path line date fact warnings: what was left out
kinds: counts
[--offer]
offered[].ref text path line quote speaker turn kind claim sentence warnings: the new candidates, as for `extract`
""",
)
def review(
    call: Call,
    list_: bool = flag("--list", "List what waits; decide nothing."),
    accept: list[str] | None = option("--accept", "IDS", "Accept these."),
    both: list[str] | None = option("--both", "IDS", "Accept these and keep what they would replace or end."),
    replace: list[str] | None = option("--replace", "ID:REF", "Accept this in place of the line REF."),
    as_line: list[str] | None = option("--as-line", "IDS", "Keep these facts as lines of Memory.md."),
    reject: list[str] | None = option("--reject", "IDS", "Reject these."),
    note: bool = flag("--note", "Write them into Review.md, to decide in Obsidian."),
    from_note: bool = flag("--from-note", "Carry out the ticks in Review.md."),
    rules: bool = flag("--rules", "Approve rules and playbooks that nobody approved here."),
    expired: bool = flag("--expired", "Include what expired undecided, or was rejected in other words."),
    left_out: bool = flag("--left-out", "List what was left out: fiction, a model's guesses."),
    offer: list[str] | None = option("--offer", "IDS", "Propose these left-out lines after all."),
    limit: int | None = option("--limit", "N", "At most N at a time.", least=1),
    model: str | None = option("--model", "NAME", 'Let a model sort and reword them first ("": the configured one).'),
    print_prompt: bool = PRINT_PROMPT,
    reply: str | None = REPLY_FILE,
) -> int:
    """Decide what to keep for good: extracted lines, corrections, praise, and proposals from scripts and agents.

    On a terminal it walks through them: accept, edit, reject, later, quit. Elsewhere it lists them. Accepting adds; it
    replaces a line only if you choose that line. Accepting needs a person at a terminal or a tick in Review.md. IDS are
    separated by commas; either all of them are decided or none.
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
    chosen = [name for name, given in forms.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} don't go together", "give one of them")
    one_only({"--print-prompt": print_prompt, "--reply": reply is not None}, PROMPT_FIRST)
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
            return _show_decisions(call, room.decide(yes, rejected, both=beside, lines=lines, replace=instead))
    if from_note:
        with room.alone():
            return _show_decisions(call, room.from_note())
    if note:
        with room.alone():
            return _noted(call, room.write_note(limit=limit, expired=expired))
    if looking:
        return _list(call, room.waiting(limit=limit, expired=expired))

    with room.alone():
        return cli.approve.Walk(call, room, limit=limit, expired=expired).run()


def _ids(values: list[str] | None) -> list[str]:
    """Return the ids in the values of an option, where commas or blanks separate them.

    Raises:
        UsageError: the option was given without an id.
    """
    ids = [re.sub(r"^\^?r-", "", word) for value in values or () for word in re.split(r"[,\s]+", value) if word]
    if values and not ids:
        raise UsageError("no proposal is named", "tars-memory review --list shows their ids")
    return ids


def _pairs(values: list[str] | None) -> dict[str, list[str]]:
    """Return the REFs of the lines to replace by the id of the proposal, from values ``ID:REF``.

    Raises:
        UsageError: a value has another form.
    """
    refs: dict[str, list[str]] = {}
    for value in values or ():
        name, colon, ref = re.sub(r"^\^?r-", "", value).partition(":")
        if not (colon and re.fullmatch(r"[0-9a-z]{8}", ref)):
            raise UsageError(f"--replace {value!r} is not an ID:REF", "tars-memory review --list --json shows both")
        refs.setdefault(name, []).append(ref)
    return refs


def _list(call: Call, listed: Any) -> int:
    """Print proposals: as JSON, on a screen, or a line each with tabs between id, place and words."""
    code = 0 if listed.proposals else 1
    answer = {"proposals": listed.proposals, "total": listed.total, "lines": listed.lines}
    answer |= {"asked_before": listed.refused_before, **_recorded(listed.recorded)}
    if call.answered(answer, listed.notices):
        return code
    if not listed.proposals:
        call.out.say("nothing else waits for a decision" if listed.unsettled else "nothing waits for a decision")
    elif call.out.screen:
        cli.approve.show(call, listed.proposals)
    else:
        for proposal in (part for listed_one in listed.proposals for part in listed_one.leaves):
            place = call.out.place(proposal.target, None)
            place += f" › {line(proposal.section)}" if proposal.section else ""
            ends = "; ".join(line(end.becomes) for end in proposal.fact.ends) if proposal.fact else ""
            text = f"{line(proposal.text or proposal.replaces)}{f'{chr(9)}ends: {ends}' if ends else ''}"
            call.out.data(f"{proposal.id}\t{place}\t{proposal.op}\t{text}")
    more, lines = listed.more
    if more:
        call.out.say(f"{counted_lines(more, 'more proposal', lines)} after these: --limit N")
    return code


def _left_out(call: Call, room: Any, limit: int | None) -> int:
    """Print the lines that were left out, newest conversation first, and how many there are of each kind."""
    found = curation.review.left_out(room.ctx)
    shown = found[:limit] if limit else found
    kinds = dict(Counter(item.fact.kind for item in found).most_common())
    if call.answered({"left_out": shown, "kinds": kinds}, room.ctx.notices):
        return 0 if found else 1
    for item in shown:
        call.out.data(f"{item.entry.ref}\t{item.date}\t{line(item.fact.kind)}\t{line(item.fact.text)}")
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    call.out.say(f"left out: {counts}; --offer ID proposes one after all" if found else "nothing was left out")
    return 0 if found else 1


def _offered(call: Call, room: Any, ids: list[str]) -> int:
    """Propose left-out lines after all, and print where they are."""
    with room.alone():
        kept = curation.review.offer_left_out(room.ctx, ids)
    if call.answered({"offered": kept}, room.ctx.notices, call.dry_run_notice()):
        return 0
    for candidate in kept:
        call.out.data(f"{call.out.place(candidate.path, candidate.line)}:{line(candidate.text)}")
    call.out.say(f"{counted(len(kept), 'candidate')}: decide with tars-memory review")
    return 0


def _rules(call: Call) -> int:
    """Walk through the rules that nobody approved here; without a terminal list them."""
    asks = call.interactive and call.out.screen and not (call.out.json or call.out.quiet)
    context = call.workspace.capture(writes=asks)
    found = curation.review.unapproved_here(context)
    for other in call.workspace.shared(context.notices, look=False):
        found += curation.review.unapproved_beside(context, other.name, other.vault)
    if asks and found:
        call.notices(context.notices)
        return cli.approve.walk_rules(call, context, found)
    for rule in found if not call.answered({"rules": found}, context.notices) else ():
        shared = f"\t[{line(rule.vault)}]" if rule.vault else ""
        call.out.data(f"{call.out.place(rule.path, rule.line)}\t{line(rule.section)}\t{line(rule.text)}{shared}")
    if not found:
        call.out.say("every rule was typed or approved here")
    return 0 if found else 1


def _recorded(ticks: Any) -> dict[str, Any]:
    """Return the JSON member for ticks that only agents' processes have found; empty if there are none."""
    return {"recorded": ticks} if ticks else {}


def _show_decisions(call: Call, done: Any) -> int:
    """Print decisions, a line each, with the place of an accepted line; return the exit code."""
    code = (PARTLY if done.decided or done.recorded else CONFLICT) if done.left or done.recorded else 0
    answer = {"txn": done.txn, "decided": done.decided, **_recorded(done.recorded)}
    if call.answered(answer, done.notices, call.dry_run_notice()):
        return code
    for result in done.decided:
        place = ""
        if result.decision == "accepted":
            target = result.proposal.target
            place = call.out.place(result.path, result.line) if result.line else call.out.path(target)
        call.out.data(f"{result.proposal.id}\t{result.decision}\t{place}".rstrip())
        if result.reason:
            call.out.say(f"{result.proposal.id}: {result.reason}")
    for tick in done.recorded:
        call.out.data(f"{tick.id}\trecorded\t{call.out.place(tick.path, tick.line)}")
    if not done.decided:
        call.out.say("nothing was decided")
    return code


def _noted(call: Call, written: tuple[str, int, int]) -> int:
    """Print the path of the review note, and how many proposals it holds."""
    path, count, lines = written
    if call.answered({"path": path, "proposals": count, "lines": lines}, call.dry_run_notice()):
        return 0 if count else 1
    if count:
        call.out.data(call.out.path(path))
        held = counted_lines(count, "proposal", lines)
        call.out.say(f"{held} there; tars-memory review --from-note carries out your ticks")
    else:
        call.out.say("nothing waits for a decision")
    return 0 if count else 1


def _asked(call: Call, room: Any, *, model: str | None, print_prompt: bool, reply: str | None, expired: bool) -> bool:
    """Let a model sort the waiting candidates; False if nothing is left to do (a prompt was shown, or none wait)."""
    asked = curation.suggestions.candidates_to_sort(room, expired=expired)
    if not asked.candidates:
        call.out.say("nothing waits that a model could sort")
        return not print_prompt
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return False
    llm = call.answering(asked.dialogue.prompt, "review", model or "", reply)
    if llm is None:
        return False
    with room.alone():
        made = curation.suggestions.suggest(room, asked, llm)
    call.notices([*made.notices, f"{counted(len(made.kept), 'proposal')} worded by {llm.name}"])
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
plan[].path to action reason period: `move` or `keep`
summaries[].period path action sessions statements left_out passed_over text: each summary: `make`, what it
  holds and what not
moved: paths
[--model, --curate]
proposed: ids of the proposals
""",
)
def tidy(
    call: Call,
    ids: list[str] | None = word("[IDS…]", "Only these findings."),
    apply: bool = flag("--apply", "Fix what loses nothing, propose the rest; or move the notes."),
    ignore: bool = flag("--ignore", "Never report these findings again."),
    archive: bool = flag("--archive", "Plan which daily notes go to the archive."),
    compress: bool = flag("--compress", "Propose summaries of old sessions, which go to the archive."),
    by: str | None = option("--by", "PERIOD", "With --compress: one summary per month or year."),
    before: str | None = option("--before", "DATE", "With --compress: sessions before this day."),
    model: str | None = option("--model", "NAME", "Let a model find contradictions (default: the configured one)."),
    curating: bool = flag("--curate", "Let a model propose changes to Memory.md and facts from recent days."),
    print_prompt: bool = PRINT_PROMPT,
    reply: str | None = REPLY_FILE,
) -> int:
    """Find duplicates, empty bullets, dead links, expired lines and contradictions in memory, rules, facts, days and
    sessions; other notes are not examined. Exit 1 with findings.

    Nothing changes without --apply. --apply removes exact repeats and empty bullets (at most 50 per run), and proposes
    what you must decide. --archive moves old daily notes to archive/; --compress moves old sessions there and writes a
    summary of each month in their place; both only list until you add --apply.
    """
    ids = [word for value in ids or () for word in re.split(r"[,\s]+", value) if word]
    one_only({"--print-prompt": print_prompt, "--reply": reply is not None}, PROMPT_FIRST)
    asking = model is not None or print_prompt or reply is not None or curating
    if compress:
        if ids or ignore or archive or asking:
            raise UsageError("--compress with IDS, --ignore, --archive or a model", "do one after the other")
        first = call.day(before, "--before")
        return _show_summaries(call, call.memory().compress(by=by, before=first, apply=apply), apply)
    if by is not None or before is not None:
        raise UsageError("--by and --before belong to --compress", "add --compress")
    if asking:
        if apply or ignore or archive or ids:
            raise UsageError(
                "a model with --apply, --ignore, --archive or IDS",
                "what it finds waits for review: give that option alone",
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
    (call.out.progress() or call.out.announce)("looking through the notes", 0, 0)
    return _show_findings(call, call.memory().tidy(apply=apply, ignore=ignore, ids=tuple(ids)))


def _ask(call: Call, curating: bool, model: str, print_prompt: bool, reply: str | None) -> int:
    """Ask a model about contradictions or the last days, and list its proposals; or show what it would be asked."""
    context = call.workspace.capture(writes=not (print_prompt or call.dry_run))
    room = curation.suggestions
    asked: Any = room.notes_to_curate(context) if curating else room.lines_to_compare(context)
    if print_prompt:
        call.out.data(clean(str(asked.dialogue.prompt)))
        return 0
    missing = "" if curating or len(asked.lines) > 1 else "there are no two lines to compare"
    if why := room.nothing_noted(asked) if curating else missing:
        call.out.say(why)
        return 0
    llm = call.answering(asked.dialogue.prompt, "tidy", model, reply)
    if llm is None:
        return 0
    done: Any = (room.curate if curating else room.compare)(context, asked, llm)
    made = (done.told or "nothing proposed") if curating else counted(len(done.kept), "proposal")
    summary = f"{made} by {llm.name}" + (": decide with tars-memory review" if done.kept else "")
    for name in (
        done.kept if not call.answered({"proposed": done.kept}, done.notices, [summary], call.dry_run_notice()) else ()
    ):
        call.out.data(name)
    return 0


def _show_findings(call: Call, tidied: "curation.tidying.tidy.Tidied") -> int:
    """Print the applied findings and those that are left; return the exit code."""
    if not call.answered(tidied, tidied.notices, call.dry_run_notice(writes=bool(tidied.applied or tidied.ignored))):
        for done in tidied.applied:
            reason = f" ({line(done.reason)})" if done.reason else ""
            place = call.out.place(done.finding.path, None)
            call.out.data(f"{done.outcome}  {place}  {line(done.finding.text)}{reason}")
        done_ids = {done.finding.id for done in tidied.applied}
        for finding in tidied.findings:
            if finding.id not in done_ids:
                place = call.out.place(finding.path, finding.line)
                call.out.sentence(f"{place}: {finding.kind}: {line(finding.text)}")
                call.out.sentence(f"  {finding.id}  {line(finding.suggestion)}")
        if tidied.findings:
            fixable = sum(finding.fixable and finding.id not in done_ids for finding in tidied.findings)
            remedy = f"tars-memory tidy --apply fixes {fixable}" if fixable else "none can be fixed without loss"
            call.out.say(f"{counted(len(tidied.findings), 'finding')}; {remedy}")
        elif not tidied.applied and not tidied.ignored:
            waiting = f"{counted(tidied.waiting, 'proposal')} to decide: tars-memory review"
            call.out.say(f"nothing else to tidy; {waiting}" if tidied.waiting else NOTHING_TO_TIDY)
    return LEFT if tidied.findings else 0


def _show_plan(call: Call, steps: "Iterable[Any]") -> None:
    """Print which notes move, and where to, a line each."""
    for step in steps:
        target = f" -> {call.out.path(step.to)}" if step.action == "move" else ""
        call.out.data(f"{step.action}  {call.out.path(step.path)}{target}  ({line(step.reason)})")


def _show_archived(call: Call, archived: "curation.tidying.archive.Archived", apply: bool) -> int:
    """Print which daily notes move; return the exit code."""
    moves = len(archived.moves)
    if not call.answered(archived, archived.notices, call.dry_run_notice(writes=apply and bool(archived.plan))):
        _show_plan(call, archived.plan)
        if archived.failed:
            call.out.say(
                "what is kept could not be moved: check the owner and the permissions of the notes and of archive/"
            )
        elif not moves:
            call.out.say("no daily note needs to move")
        elif not apply:
            call.out.say(f"{counted(moves, 'note')} would move; tars-memory tidy --archive --apply does it")
    if archived.failed:
        return PARTLY
    return LEFT if moves and not apply else 0


def _show_summaries(call: Call, compressed: "curation.tidying.archive.Archived", apply: bool) -> int:
    """Print which old sessions move, and their summaries in full; return the exit code."""
    summaries = compressed.summaries or []
    if call.answered(compressed, compressed.notices, call.dry_run_notice(writes=apply and bool(summaries))):
        return LEFT if summaries and not apply else 0
    _show_plan(call, compressed.plan)
    for summary in summaries:
        more = f", {summary.left_out} more in the originals" if summary.left_out else ""
        counts = f"{counted(summary.sessions, 'session')}, {counted(summary.statements, 'statement')}{more}"
        call.out.data(f"make  {call.out.path(summary.path)}  ({line(counts)})")
        if not apply:
            call.out.data("\n".join(f"  | {row}".rstrip() for row in clean(summary.text).strip("\n").split("\n")))
    if not summaries:
        call.out.say("no session needs a summary")
    elif not apply:
        moves = counted(len(compressed.moves), "session")
        plan = f"{moves} would move, {counted(len(summaries), 'summary note')} written"
        call.out.say(f"{plan}; tars-memory tidy --compress --apply does it, with the same options")
    return LEFT if summaries and not apply else 0
