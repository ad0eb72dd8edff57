"""What writes by one line: ``remember``, ``log``, ``feedback``; and changes one: ``edit``, ``forget``."""

from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.doors.cli.call import (
    STOPPED,
    Call,
    Ref,
    about_secrets,
    call_of,
    chosen,
    command,
    confirmed,
    report,
    say_change,
)
from tars_memory.doors.cli.output import clean, line
from tars_memory.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from tars_memory.jobs.forgetting import Copy, TalkLine
    from tars_memory.memory import Memory


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

    Prints path:line. An exact repeat is not written again. Only a person at a terminal can write a rule: from a script
    or an agent it becomes a proposal in .tars/inbox/ that waits for review.
    """
    call = call_of(ctx)
    if tier not in TIERS:
        raise UsageError(f"--tier {tier!r} can't be written to", f"it is {' or '.join(TIERS)}")
    call.hold("remember", tier=tier, section=section, tags=list(tag or ()))
    words = about_secrets(call, call.words(text, "TEXT", stdin=stdin))
    section = about_secrets(call, section) if section else section
    receipt = call.memory().remember(words, tier=tier, section=section, tags=tuple(tag or ()))
    return report(call, receipt)


REMEMBER = command(
    remember,
    writes=True,
    words=True,
    examples="""
tm remember Anna prefers trains to planes --tag people
tm remember --tier procedural Answer in metric units
git log -1 --format=%s | tm remember --stdin --section Work
""",
    answers="""
txn: the write, for `undo`; null if nothing was written
path line: where the line is
ref: the entry's REF
text: the entry's text
written: false for an exact repeat, and for a proposal
spooled: true if the text waits in the spool (exit 5)
""",
)


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


VERDICTS = ("good", "bad")


def feedback(
    ctx: typer.Context,
    verdict: Annotated[str | None, typer.Argument(metavar="good|bad", help="Was it right?")] = None,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="All remaining words.")] = None,
    question: Annotated[str | None, typer.Option("--question", metavar="TEXT", help="What was asked.")] = None,
    answer: Annotated[str | None, typer.Option("--answer", metavar="TEXT", help="What was answered.")] = None,
) -> int:
    """Note in rewards.md what went well, or in corrections.md what went badly. review makes rules of it."""
    call = call_of(ctx)
    if verdict not in VERDICTS:
        raise UsageError("say good or bad first", "tars-memory feedback bad cited the wrong day")
    call.hold("feedback", good=verdict == "good", question=question, answer=answer)
    words = about_secrets(call, call.words(note, "NOTE"))
    question, answer = (text and about_secrets(call, text) for text in (question, answer))
    return report(call, call.memory().feedback(verdict == "good", words, question=question, answer=answer))


FEEDBACK = command(
    feedback,
    writes=True,
    words=True,
    examples="""
tm feedback good short answer
tm feedback bad gave imperial units --question "how far is it?"
""",
    answers="""
as remember
""",
)


def edit(
    ctx: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="REF", help="Its REF, or in quotes words that only it holds.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT…", help="The new text: all remaining words.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add #TAG; repeatable.")] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Keep no tags and no [field:: value] of the old text.")] = False,
) -> int:
    """Replace an entry's text. Its time, block id and nested lines stay, and a task keeps its box.

    Tags and [field:: value] stay too, unless TEXT brings its own; stderr says which. The first word is the REF. If
    words fit several entries, nothing is written and they are listed (exit 2).
    """
    call = call_of(ctx)
    if not target:
        raise UsageError("REF is missing", "tars-memory list shows them")
    call.hold("edit", target=target, tags=tag or [], bare=bare)
    words = about_secrets(call, call.words(text, "TEXT"))
    receipt = call.memory().edit(call.target(target), words, tags=tuple(tag or ()), bare=bare)
    return report(call, receipt, repeated="it says so already; nothing was written")


EDIT = command(
    edit,
    writes=True,
    words=True,
    examples="""
tm edit 7f3ak2cq Anna prefers night trains
tm edit "night trains" Anna prefers sleepers --tag travel
tm edit Memory.md:12 "[x] book the ferry"    # tick a task
""",
    exits="1 no such entry, 2 several entries fit, 6 the note changed in the meantime",
    answers="""
as remember
""",
)


def forget(
    ctx: typer.Context,
    target: Ref = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Purge our own copies too (journal, index, caches). Can't be undone.")
    ] = False,
) -> int:
    """Remove a statement from every note that holds it: the line, its candidate, quote, session fact and proposal.

    At a terminal it shows all places and asks; elsewhere it removes and lists them. Lines that say the same in other
    words are listed and stay. What was forgotten is not extracted again from an old conversation. undo brings it back,
    except after --everywhere, which also purges what was forgotten before.
    """
    call = call_of(ctx)
    memory, named = call.memory(), call.target(call.words(target, "REF"))
    near, also = memory.near(named), []
    if call.interactive and not call.dry_run:
        if not _wanted(call, memory, named):
            call.settle()
            call.out.say("nothing was forgotten")
            return STOPPED
        also = _also(call, near)
    receipt = memory.forget(named, everywhere=everywhere, also=also)
    if left := [turn for turn in near if turn not in also]:
        where = ", ".join(f"{turn.log}:{turn.line}" for turn in left)
        receipt.notices.append(
            f"said of the same thing, and not withheld: {where}"
            + ("" if call.interactive else "; on a terminal forget asks about each")
        )
    if not call.out.json:
        quiet = everywhere and not call.dry_run  # what is to leave no trace is not said once more
        if receipt.gone and not quiet:
            say_change(call, receipt.path, receipt.line, receipt.gone, b"")
        for copy in getattr(receipt, "touched", ()):
            _say(call, copy, "would be taken out" if call.dry_run else "taken out", quiet=quiet)
    return report(call, receipt, repeated="nothing was removed")


def _wanted(call: "Call", memory: "Memory", target: str) -> bool:
    """Whether the person at the terminal says yes to what would be touched; what can't be found is told later."""
    try:
        copies = memory.copies(target)
    except NotFoundError:
        return True  # it may have been forgotten before
    places = copies.places()
    for path in places:
        for copy in places[path]:
            _say(call, copy, "to take out")
    for sentence in copies.kept():
        call.out.say(sentence)
    return confirmed(call, "forget it?")


def _also(call: "Call", near: "list[TalkLine]") -> "list[TalkLine]":
    """Which lines of conversations are to be withheld, too."""
    if not near:
        return []
    call.out.say("you said of the same thing:")
    for number, turn in enumerate(near, 1):
        day = f"{turn.day}  " if turn.day else ""
        call.out.say(f"  {number}  {day}{line(turn.text)}  ({call.out.path(turn.log)}:{turn.line})")
    return [near[at] for at in chosen(call, "withhold some of these, too?", len(near))]


def _say(call: "Call", copy: "Copy", what: str, *, quiet: bool = False) -> None:
    if not copy.line:
        call.out.say(f"{what}: the topic in a file's name" + ("" if quiet else f": {call.out.path(copy.path)}"))
        return
    told = "" if quiet else f": {line(copy.text)}"
    call.out.say(f"{what}: {call.out.place(copy.path, copy.line)}{told}")


FORGET = command(
    forget,
    writes=True,
    words=True,
    examples="""
tm forget fountain pens             # words that fit one statement
tm forget 7f3ak2cq --dry-run        # what would be touched
tm forget 7f3ak2cq --everywhere     # purge journal, index and caches too
""",
    exits="1 no such entry, 2 several entries fit, 3 some copies could not be purged (they are listed; run it again)",
    answers="""
txn path line ref text written spooled: as for `remember`
touched[].path line: the other places, if there are any; line 0 is a file's name
""",
)
