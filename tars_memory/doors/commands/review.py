"""``review``: decide what is kept for good."""

import re
from collections import Counter
from typing import Annotated, Any

import typer

from tars_memory import curation
from tars_memory.curation.reviewing.review import left_out, offer, unapproved, unapproved_beside
from tars_memory.doors import cli
from tars_memory.doors.cli.call import Call, PrintPrompt, ReplyFile, answering, call_of, command
from tars_memory.doors.cli.output import clean, counted, line
from tars_memory.errors import UsageError

PARTLY, CONFLICT = 3, 6


def review(
    ctx: typer.Context,
    list_: Annotated[bool, typer.Option("--list", help="List what waits; decide nothing.")] = False,
    accept: Annotated[list[str] | None, typer.Option("--accept", metavar="IDS", help="Accept these.")] = None,
    both: Annotated[
        list[str] | None,
        typer.Option("--both", metavar="IDS", help="Accept these and keep what they would replace or end."),
    ] = None,
    replace: Annotated[
        list[str] | None, typer.Option("--replace", metavar="ID:REF", help="Accept this in place of the line REF.")
    ] = None,
    as_line: Annotated[
        list[str] | None, typer.Option("--as-line", metavar="IDS", help="Keep these facts as lines of Memory.md.")
    ] = None,
    reject: Annotated[list[str] | None, typer.Option("--reject", metavar="IDS", help="Reject these.")] = None,
    note: Annotated[bool, typer.Option("--note", help="Write them into Review.md, to decide in Obsidian.")] = False,
    from_note: Annotated[bool, typer.Option("--from-note", help="Do what Review.md says.")] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="Approve rules and playbooks that nobody approved here.")
    ] = False,
    expired: Annotated[
        bool, typer.Option("--expired", help="Also what expired undecided, or was refused in other words.")
    ] = False,
    left_out: Annotated[bool, typer.Option("--left-out", help="List what a model's second look left out.")] = False,
    offer: Annotated[
        list[str] | None, typer.Option("--offer", metavar="IDS", help="Propose these left-out lines after all.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="At most N at a time.")] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help='Let a model sort and word them first ("": the one set).'),
    ] = None,
    print_prompt: PrintPrompt = False,
    reply: ReplyFile = None,
) -> int:
    """Decide what is kept for good: extracted lines, corrections, praise, and proposals of scripts and agents.

    On a terminal it walks through them: accept, edit, reject, later, quit. Elsewhere it lists them. Accepting adds; it
    replaces a line only if you choose that line. Accepting needs a person at a terminal or a tick in Review.md. IDS are
    separated by commas; all of them are decided or none.
    """
    call = call_of(ctx)
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
        UsageError: it is none.
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
    notices = call.notices(listed.notices)
    if call.out.json:
        proposals = [each.as_dict() for each in listed.proposals]
        more = _recorded(listed.recorded)
        counts = {"total": listed.total, "asked_before": listed.asked}
        call.out.record({"proposals": proposals, **counts, **more, "notices": notices})
    elif not listed.proposals:
        call.out.say("nothing else waits for a decision" if listed.unsettled else "nothing waits for a decision")
    elif call.out.screen:
        cli.approve.show(call, listed.proposals)
    else:
        for each in (one for proposal in listed.proposals for one in proposal.each):
            where = call.out.path(each.target) + (f" › {line(each.section)}" if each.section else "")
            ends = "; ".join(line(end.becomes) for end in each.fact.ends) if each.fact else ""
            told = f"{line(each.text or each.replaces)}{f'{chr(9)}ends: {ends}' if ends else ''}"
            call.out.data(f"{each.id}\t{where}\t{each.op}\t{told}")
    if len(listed.proposals) < listed.total and not call.out.json:
        call.out.say(f"{counted(listed.total - len(listed.proposals), 'more proposal')} after these: --limit N")
    return 0 if listed.proposals else 1


def _left_out(call: Call, room: Any, limit: int | None) -> int:
    """What a second look left out, newest conversation first: id, kind and words; how many of each kind."""
    found = left_out(room.ctx)
    shown = found[:limit] if limit else found
    kinds = dict(Counter(one.said.kind for one in found).most_common())
    notices = call.notices(room.ctx.notices)
    if call.out.json:
        call.out.record({"left_out": [one.as_dict() for one in shown], "kinds": kinds, "notices": notices})
        return 0 if found else 1
    for one in shown:
        call.out.data(f"{one.entry.ref}\t{one.date}\t{line(one.said.kind)}\t{line(one.said.text)}")
    counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    call.out.say(f"left out: {counts}; --offer ID proposes one after all" if found else "nothing was left out")
    return 0 if found else 1


def _offered(call: Call, room: Any, ids: list[str]) -> int:
    """Where the lines stand that are proposed after all."""
    with room.alone():
        kept = offer(room.ctx, ids)
    notices = call.notices([*room.ctx.notices, *(["dry run: nothing was written"] if call.dry_run else [])])
    if call.out.json:
        call.out.record({"offered": [one._asdict() for one in kept], "notices": notices})
        return 0
    for one in kept:
        call.out.data(f"{call.out.place(one.path, one.line)}:{line(one.text)}")
    call.out.say(f"{counted(len(kept), 'candidate')}: tars-memory review decides")
    return 0


def _rules(call: Call) -> int:
    """Walk through the rules that nobody approved here; elsewhere than at a terminal list them."""
    asks = call.interactive and call.out.screen and not (call.out.json or call.out.quiet)
    context = call.memory().workspace.capture(writes=asks)
    found = unapproved(context)
    for other in call.memory().workspace.shared(context.notices, look=False):
        found += unapproved_beside(context, other.name, other.vault)
    notices = call.notices(context.notices)
    if asks and found:
        return cli.approve.walk_rules(call, context, found)
    if call.out.json:
        call.out.record({"rules": [each.as_dict() for each in found], "notices": notices})
    for each in found if not call.out.json else ():
        whose = f"\t[{line(each.vault)}]" if each.vault else ""
        call.out.data(f"{call.out.place(each.path, each.line)}\t{line(each.section)}\t{line(each.text)}{whose}")
    if not found:
        call.out.say("every rule was typed or approved here")
    return 0 if found else 1


def _recorded(ticks: Any) -> dict[str, Any]:
    """Ticks that only agents' processes have found, where there are any."""
    return {"recorded": [each.as_dict() for each in ticks]} if ticks else {}


def _told(call: Call, done: Any) -> int:
    """What became of decisions: one line each, where an accepted one stands."""
    code = (PARTLY if done.decided or done.recorded else CONFLICT) if done.left or done.recorded else 0
    notices = call.notices([*done.notices, *(["dry run: nothing was written"] if call.dry_run else [])])
    if call.out.json:
        decided = [each.as_dict() for each in done.decided]
        call.out.record({"txn": done.txn, "decided": decided, **_recorded(done.recorded), "notices": notices})
        return code
    for each in done.decided:
        place = call.out.place(each.path, each.line) if each.line else call.out.path(each.proposal.target)
        call.out.data(f"{each.proposal.id}\t{each.decision}\t{place if each.decision == 'accepted' else ''}".rstrip())
        if each.reason:
            call.out.say(f"{each.proposal.id}: {each.reason}")
    for each in done.recorded:
        call.out.data(f"{each.id}\trecorded\t{line(each.path)}:{each.line}")
    if not done.decided:
        call.out.say("nothing was decided")
    return code


def _noted(call: Call, written: tuple[str, int]) -> int:
    """Where the note is, and how many proposals it holds."""
    path, count = written
    notices = call.notices(["dry run: nothing was written"] if call.dry_run else [])
    if call.out.json:
        call.out.record({"path": path, "proposals": count, "notices": notices})
    elif count:
        call.out.data(call.out.path(path))
        call.out.say(f"{counted(count, 'proposal')} there; tars-memory review --from-note does what you tick")
    else:
        call.out.say("nothing waits for a decision")
    return 0 if count else 1


def _asked(call: Call, room: Any, *, model: str | None, print_prompt: bool, reply: str | None, expired: bool) -> bool:
    """Let a model sort what waits; False if that was all (a prompt was shown, or nothing waits)."""
    asked = curation.reviewing.suggest.material(room, expired=expired)
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
        made = curation.reviewing.suggest.suggest(room, asked, named)
    call.notices([*made.notices, f"{counted(len(made.kept), 'proposal')} worded by {named.name}"])
    return True


REVIEW = command(
    review,
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
