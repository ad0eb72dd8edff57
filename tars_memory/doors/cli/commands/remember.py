"""Commands that write or change a line (``remember``, ``log``, ``feedback``, ``edit``, ``forget``), list writes
(``history``) and take them back (``undo``).
"""

import os
import re
from difflib import unified_diff
from itertools import groupby, islice, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from tars_memory import vault
from tars_memory.doors import cli
from tars_memory.doors.cli.call import (
    LINE_NUMBER,
    MOST_LINES,
    REF,
    STOPPED,
    Call,
    command,
    flag,
    holds_text_on_stdin,
    one_only,
    option,
    word,
)
from tars_memory.doors.cli.output import Output, clean, counted, fields, line, symbol
from tars_memory.errors import NotFoundError, TarsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.jobs.forgetting import Copy, TalkLine
    from tars_memory.memory import Memory
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.store import Written


TIERS = ("semantic", "procedural")


@command(
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
written: false for a repeat, and for a proposal
spooled: true if the text waits in the spool (exit 5)
""",
)
def remember(
    call: Call,
    text: list[str] | None = word("TEXT…", "All remaining words."),
    tier: str = option("--tier", "TIER", "semantic (facts) or procedural (rules).", default="semantic"),
    section: str | None = option("--section", "NAME", "The heading to put it under."),
    tag: list[str] | None = option("--tag", "TAG", "Add #TAG; repeatable."),
    stdin: bool = flag("--stdin", "Take the text from stdin, all of it as one entry."),
) -> int:
    """Keep a fact in Memory.md or, with --tier procedural, a rule in Procedural.md.

    Prints path:line. A repeat is not written again, even if the case of its first letter or its final full stop
    differs. Only a person at a terminal can write a rule: from a script or an agent it becomes a proposal in
    .tars/inbox/ that waits for review.
    """
    if tier not in TIERS:
        raise UsageError(f"--tier {tier!r} can't be written to", f"it is {' or '.join(TIERS)}")
    call.hold("remember", tier=tier, section=section, tags=list(tag or ()))
    tags = tuple(tag or ())
    around = f"## {section}\n\n- " if section else "", "".join(f" #{one.lstrip('#')}" for one in tags)
    words = call.ask_about_secrets(call.words(text, "TEXT", stdin=stdin), *around)
    section = call.ask_about_secrets(section) if section else section
    tags = tuple(map(call.ask_about_secrets, tags))
    receipt = call.memory().remember(words, tier=tier, section=section, tags=tags)
    return call.report(receipt)


@command(
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
def log(
    call: Call,
    text: list[str] | None = word("[TEXT…]", "All remaining words."),
    stdin: bool = flag("--stdin", "Take the text from stdin, all of it as one line."),
) -> int:
    """Add a line with the time to today's note, under ## Log, and print path:line. Without TEXT, show today's note."""
    if text or stdin or holds_text_on_stdin():
        call.hold("log")
        words = call.ask_about_secrets(call.words(text, "TEXT", stdin=stdin))
        return call.report(call.memory().log(words))
    today = call.memory().today()
    if call.answered(fields(today, "date path text")):
        return 0
    if today.text.strip():
        call.out.data(clean(today.text).rstrip("\n"))
    else:
        call.out.say(f"nothing is noted today ({call.out.path(today.path)})")
    return 0


VERDICTS = ("good", "bad")


@command(
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
def feedback(
    call: Call,
    verdict: str | None = word("good|bad", "Praise or correction."),
    note: list[str] | None = word("NOTE…", "All remaining words."),
    question: str | None = option("--question", "TEXT", "What was asked."),
    answer: str | None = option("--answer", "TEXT", "What was answered."),
) -> int:
    """Note what went well in rewards.md, or what went badly in corrections.md. review turns it into rules."""
    if verdict not in VERDICTS:
        raise UsageError("say good or bad first", "tars-memory feedback bad cited the wrong day")
    call.hold("feedback", good=verdict == "good", question=question, answer=answer)
    words = call.ask_about_secrets(call.words(note, "NOTE"))
    question, answer = (text and call.ask_about_secrets(text) for text in (question, answer))
    return call.report(call.memory().feedback(verdict == "good", words, question=question, answer=answer))


@command(
    writes=True,
    words=True,
    examples="""
tm edit 7f3ak2cq Anna prefers night trains
tm edit 1 Anna prefers sleepers --tag travel         # the first hit of the last search
tm edit Memory.md:12 "[x] book the ferry"    # tick a task
""",
    exits="1 no such entry, 2 several entries fit, 6 the note changed in the meantime",
    answers="""
as remember
""",
)
def edit(
    call: Call,
    target: str | None = word("REF", "Its REF, a hit's number, or words that only it contains (quoted)."),
    text: list[str] | None = word("TEXT…", "The new text: all remaining words."),
    tag: list[str] | None = option("--tag", "TAG", "Add #TAG; repeatable."),
    bare: bool = flag("--bare", "Keep no tags and no [field:: value] of the old text."),
) -> int:
    """Replace an entry's text. Its time, block id and nested lines stay, and a task keeps its box.

    Tags and [field:: value] stay too, unless TEXT has its own; stderr says which stay. The first word is the REF. If
    words fit several entries, nothing is written and they are listed (exit 2). A hit's line must still be as the search
    found it.
    """
    if not target:
        raise UsageError("REF is missing", "tars-memory list shows them")
    call.hold("edit", target=target, tags=tag or [], bare=bare)
    words, *tags = map(call.ask_about_secrets, (call.words(text, "TEXT"), *(tag or ())))
    memory = call.memory()
    target = _named(call, memory, target)
    old = memory.show(target)
    was = cli.output.masked_value(old.text, call.out.notes, old.path)  # while its note still says what it is
    receipt = memory.edit(target, words, tags=tags, bare=bare)
    code = call.report(receipt, repeated="it already says so; nothing was written")
    if receipt.written and not call.out.json:
        call.out.say(f"was: {line(was)}")
        call.out.say(f"now: {line(cli.output.masked_value(receipt.text, call.out.notes, receipt.path))}")
    return code


@command(
    writes=True,
    words=True,
    examples="""
tm forget fountain pens             # words that fit one statement
tm forget 7f3ak2cq --dry-run        # what would be touched
tm forget ~/logs/a.jsonl:12         # what you said there
tm forget 7f3ak2cq --everywhere     # purge journal, index and caches too
""",
    exits="1 no such entry, 2 several entries fit, 3 some copies could not be purged (they are listed; run it again)",
    answers="""
txn path line ref text written spooled: as for `remember`
touched[].path line: the other places, if there are any; line 0 is a file's name
[as it applies]
withheld[].path line: turns of logs, if it is a sentence of a conversation
staying[].path line: copies in notes that only you change
""",
)
def forget(
    call: Call,
    target: list[str] | None = REF,
    everywhere: bool = flag("--everywhere", "Purge our own copies too (journal, index, caches). Can't be undone."),
    yes: bool = flag("--yes", "Don't ask; remove every line that says it, even if REF is only part of it."),
) -> int:
    """Remove a statement from every note that has it: the line, its candidate, quote, session fact and proposal.

    At a terminal it shows all places and asks; elsewhere it removes and lists them, and refuses a hit's number.
    Elsewhere, if REF is only part of the words and fits several lines that say the same, it lists them and removes
    nothing (exit 2); --yes removes them.

    What is in no note, but was said in a conversation, is named by its words, the number of a hit or PATH:LINE; its
    turns are withheld from searches and prompts, your logs stay as they are. Elsewhere, a word or two that several
    turns say need --yes.

    Lines that say the same in other words, and copies in your own notes, are listed and stay. What was forgotten is not
    extracted again from an old conversation. undo brings it back, except after --everywhere, which also purges what was
    forgotten before.
    """
    memory, tell = call.memory(), call.out.progress() or call.out.announce
    tell("looking through the notes", 0, 0)
    named = _named(call, memory, call.words(target, "REF"), hits=call.interactive)
    near, also = memory.near(named), []
    asks = call.interactive and not (yes or call.dry_run)
    if asks:
        if not _wanted(call, memory, named):
            call.settle()
            call.out.say("nothing was forgotten")
            return STOPPED
        also = _also_withheld(call, near)
        tell("looking through the notes", 0, 0)
    receipt = memory.forget(named, everywhere=everywhere, also=also, parts=yes or call.interactive)
    if left := [turn for turn in near if turn not in also]:
        where = ", ".join(dict.fromkeys(f"{turn.log}:{turn.line}" for turn in left))
        receipt.notices.append(
            f"about the same thing, and not withheld: {where}"
            + ("" if call.interactive else "; on a terminal forget asks about each")
        )
    if not call.out.json:
        quiet = everywhere and not call.dry_run  # a statement that must leave no trace is not printed once more
        if receipt.removed and not quiet:
            call.say_change(receipt.path, receipt.line, receipt.removed, b"")
        for copy in getattr(receipt, "touched", ()):
            _say_copy(call, copy, "would be removed" if call.dry_run else "removed", quiet=quiet)
        for copy in getattr(receipt, "withheld", ()):
            _say_copy(call, copy, "would be withheld" if call.dry_run else "withheld", quiet=quiet)
    return call.report(receipt, repeated="nothing was removed")


def _named(call: Call, memory: "Memory", text: str, *, hits: bool = True) -> str:
    """Return what names an entry, as :meth:`Call.target` does, but for a place the REF of the entry there.

    Another line can come to be at the place before it is written: while a question waits, or by a tick in Review.md.
    """
    target = call.target(text, hits=hits)
    if not re.search(LINE_NUMBER, target):
        return target
    try:
        ref = memory.show(target).ref
    except TarsError:
        return target
    call.target(text, hits=hits)  # checks a hit once more: its line could change before the entry was read
    return call.target(ref)


def _wanted(call: Call, memory: "Memory", target: str) -> bool:
    """Show the places of a statement and ask whether to forget it; True if there are none, which is reported later."""
    try:
        copies = memory.copies(target)
    except NotFoundError:
        return True  # it may have been forgotten before
    places = copies.places()
    for path in places:
        for copy in places[path]:
            _say_copy(call, copy, "to remove")
    for turn in copies.said:
        call.out.say(f"to withhold: {call.out.place(turn.log, turn.line)}", f": {line(turn.text)}")
    for sentence in copies.kept():
        call.out.say(sentence)
    return call.confirmed("forget it?")


def _also_withheld(call: Call, near: "list[TalkLine]") -> "list[TalkLine]":
    """Ask which of the similar lines of conversations to withhold, too."""
    if not near:
        return []
    call.out.say("you also said about the same thing:")
    for number, turn in enumerate(near, 1):
        day = f"{turn.day}  " if turn.day else ""
        call.out.say(f"  {number}  ", f"{day}{line(turn.text)}  ({call.out.path(turn.log)}:{turn.line})")
    return [near[at] for at in call.chosen("withhold some of these, too?", len(near))]


def _say_copy(call: Call, copy: "Copy", change: str, *, quiet: bool = False) -> None:
    """Print what happens to a copy of a statement; ``quiet`` leaves out its words."""
    if not copy.line:
        call.out.say(f"{change}: the topic in a file's name" + ("" if quiet else f": {call.out.path(copy.path)}"))
        return
    text = "" if quiet else f": {line(copy.text)}"
    call.out.say(f"{change}: {call.out.place(copy.path, copy.line)}", text)


ENTRY = "txn time command actor file op before after undone"
SHOWN = 200
"""Maximum length of a change in the listing, in characters."""
SHOWN_NOTES = 8
"""Maximum number of notes to show the difference of before an undo."""
TURN_IS = {"release": "found again", "withhold": "withheld again"}
"""What an undo or a redo does to a turn of a conversation."""
SHOWN_WRITES = 12
"""Maximum number of files that an undo names: with a sentence for each they fit on a screen."""


@command(
    pages=True,
    examples="""
tm history
tm history --path Memory.md --limit 5
""",
    exits="1 nothing was written",
    answers="""
entries[].txn time command actor: the write
entries[].file op before after: what it changed
entries[].undone: whether it was taken back
""",
)
def history(
    call: Call,
    limit: int = option("--limit", "N", "At most N writes.", least=1, default=20),
    path: str | None = option("--path", "NOTE", "Only writes to this note."),
) -> int:
    """List what this program wrote, newest first. On a terminal, a write is shown by the notes it changed, or else by
    its decisions.

    In a pipe, one tab-separated line per write: write, time (ISO 8601), command, who, operation, note, change. Exit 1
    if nothing was written.
    """
    most = None if call.out.screen else limit  # a terminal shows of each write a part, which is not known before
    memory, note, masked = call.memory(), path and call.note(path), not call.out.screen
    entries = memory.history(limit=most, path=note, masked=masked)
    if note and not entries and not note.lower().endswith(".md"):  # named as a link names it
        entries = memory.history(limit=most, path=f"{note}.md", masked=masked)
    if call.answered({"entries": [fields(entry, ENTRY) for entry in entries]}):
        return 0 if entries else 1
    if not entries:
        lost = call.workspace.store(writes=False).journal.emptied()
        to = f" to {path}" if path else ""
        call.out.say(f"no write{to} is recorded" if lost else f"nothing has been written{to} yet")
    elif call.out.screen:
        cli.screen.show_history(call.out, (_row(call.out, entry) for entry in islice(_of_interest(entries), limit)))
    else:
        for entry in entries:
            call.out.data("\t".join(_row(call.out, entry)))
    return 0 if entries else 1


def _of_interest(entries: "Iterable[JournalEntry]") -> "Iterator[JournalEntry]":
    """Yield of each write its notes; if it changed none, its decisions, or else its other files of ours."""
    for _, group in groupby(entries, attrgetter("txn")):
        files = [*group]
        notes = [entry for entry in files if not entry.file.startswith(vault.layout.OURS)]
        yield from notes or [entry for entry in files if entry.file == vault.layout.DECIDED] or files


def _row(out: Output, write: "JournalEntry") -> list[str]:
    """Return a write as columns of plain text."""
    sides = [_words(side) if write.file.startswith(vault.layout.OURS) else side for side in (write.before, write.after)]
    op = f"{write.op} (undone)" if write.undone else write.op
    who = (line(text) for text in (write.txn, re.sub(r"\.\d+", "", write.time), write.command, write.actor))
    if out.screen and write.op == "create":  # without properties
        note = vault.markdown.document.Document(sides[1].encode("utf-8", "replace"))
        sides[1] = note.text(note.body_line, len(note.lines))
    at = write.line if write.op in TURN_IS else None
    return [*who, op, _place(out, write.file, at), _change(out, *sides)]


def _place(out: Output, path: str, number: int | None = None) -> str:
    """Return a place as :meth:`Output.place` does; on a terminal a file of ours is called by what it holds."""
    if out.screen and path.startswith(vault.layout.DECIDED):
        return "a decision"
    return "a proposal" if out.screen and path.startswith(vault.inbox.INBOX) else out.place(path, number)


def _words(text: str) -> str:
    """Return the words of a proposal or of decisions from the text of a file of ours; all of it if it has none."""
    words_of = vault.inbox.words_of
    return (
        "; ".join(dict.fromkeys(words for part in (text, *text.split("\n")) for words in words_of(part, decided=True)))
        or text
    )


def _change(out: Output, before: str, after: str) -> str:
    """Return a change on one line."""
    whole = (line(side).strip() for side in (before, after))
    was, now = (side if len(side) <= SHOWN else side[:SHOWN].rstrip() + symbol(out, "…", "...") for side in whole)
    return f"{was} → {now}" if was and now else (now or (f"removed: {was}" if was else ""))


@command(
    writes=True,
    examples="""
tm undo
tm undo --last 3
tm undo 1m2x7k --yes
""",
    exits="1 no such write, or you said no; 6 the note has changed since",
    answers="""
undone[].txn path line: each write that was taken back
""",
)
def undo(
    call: Call,
    txn: str | None = word("[TXN]", "The write, as tm history lists it."),
    last: int | None = option("--last", "N", "Undo the last N writes.", least=1),
    yes: bool = flag("--yes", "Don't ask."),
) -> int:
    """Undo the last write, the one you name, or the last N. An undo can be undone.

    Writes in other projects, and in a project those outside it, are skipped, as in history.

    On a terminal it shows what changes and asks first; in a pipe, with --json, --quiet or --yes it doesn't. The note
    gets its exact bytes back. If the note has changed since, only our change is reversed; if that would take a guess,
    nothing is written and the difference is shown (exit 6).
    """
    one_only({"TXN": txn, "--last": last is not None})
    named: str | list[str] | None = txn
    asks = call.interactive and call.out.screen and not (yes or call.out.quiet or call.dry_run)
    if asks:
        named = _agreed(call, txn, last or 1)
        if not named:
            call.out.say("nothing was undone")
            return STOPPED
    written = call.memory().undo(named, last=last or 1)
    if call.answered({"undone": [fields(write, "txn path line") for write in written]}, call.dry_run_notice()):
        return 0
    moved = _moved(written)
    notes = [write for write in written if not write.path.startswith(vault.layout.OURS)]
    written = notes or written if call.out.screen else written
    for number, write in enumerate(written):
        if number < SHOWN_WRITES or not call.out.screen:
            own = call.out.screen and write.path.startswith(vault.layout.OURS)
            words = _words((write.before or write.after or write.text).decode("utf-8", "replace")) if own else ""
            gone = call.out.screen and not (own or write.text or write.op or call.dry_run)
            place = _place(call.out, write.path, None if gone else write.line)
            call.out.data(f"{place}{f': {line(words)}' if own else '  (gone)' if gone else ''}")
        if number >= SHOWN_WRITES:
            continue
        if asks or write.path.startswith(".tars/") or (not write.text and write.path in moved.values()):
            continue  # it was shown before, with the question; or it is a file of ours, of no interest to a person
        _say_undone(call, write, moved)
    if len(written) > SHOWN_WRITES:
        call.out.say(f"and {counted(len(written) - SHOWN_WRITES, 'more file')}: --json lists them")
    if not written:
        call.out.say("there is nothing to undo")
    return 0


def _say_undone(call: Call, write: "Written", moved: dict[str, str]) -> None:
    """Print what a write did that took another one back; ``moved`` as :func:`_moved` returns it."""
    would = "would be " if call.dry_run else ""
    if write.op:
        call.out.say(f"{would}{_turn_is(write)}: {call.out.place(write.path, write.line)}")
    elif write.path in moved:
        call.out.say(f"{would}moved back: {call.out.path(moved[write.path])} → {call.out.path(write.path)}")
    elif write.created:
        call.say_note("restored", write.path, write.text)
    else:
        call.say_change(write.path, write.line, write.before, write.after, write.text)


def _turn_is(write: "Written") -> str:
    """Return what an undo or a redo does to a turn of a conversation; the index gets none back without its log."""
    there = write.op != "release" or os.path.isfile(write.path)
    return TURN_IS[write.op] if there else "withheld no longer, but its log is gone"


def _moved(written: "list[Written]") -> dict[str, str]:
    """Return the path that a note has lost, by the one that it has again, for each two writes that take a move back."""
    pairs = pairwise(written)
    return {to.path: at.path for to, at in pairs if to.created and not at.text and at.before == to.text}


def _agreed(call: Call, txn: str | None, last: int) -> list[str]:
    """Show what an undo changes, and ask; return the names of the writes to take back, none if the person says no."""
    entries, written = call.memory().undoable(txn, last=last)
    writes = {entry.txn: entry for entry in entries}
    for entry in writes.values():
        time = str(entry.time)[:16].replace("T", " ")
        call.out.say_always(line(f"{entry.txn}  {time}  {entry.command} by {entry.actor}"))
        for part in _of_interest(other for other in entries if other.txn == entry.txn):
            if part.file.startswith(vault.layout.OURS):  # no note shows it
                call.out.say_always(f"  {line(_words(part.before or part.after))}")
    for write in written:
        if write.op:
            call.out.say_always(f"{_turn_is(write)}: {call.out.place(write.path, write.line)}")
    vault_now = call.workspace.vault
    notes = {write.path: write.text for write in written if not (write.op or write.path.startswith(".tars/"))}
    now = {path: vault_now.read(path) if vault_now.look(path) is not None else None for path in notes}
    moved = {to: at for to, at in _moved(written).items() if to in now and now.get(at) == notes[to]}
    notes = {path: text for path, text in notes.items() if path not in moved.values()}
    for path in [*notes][:SHOWN_NOTES]:
        if path in moved:
            call.out.say_always(f"{call.out.path(moved[path])} → {call.out.path(path)}")
        else:
            call.out.say_always("\n".join(_difference(call.out.path(path), now[path], notes[path])))
    if len(notes) > SHOWN_NOTES:
        call.out.say_always(
            f"and {counted(len(notes) - SHOWN_NOTES, 'more note')}: tars-memory undo --dry-run --json lists them"
        )
    return [*writes] if call.confirmed("undo it?" if len(writes) == 1 else "undo them?") else []


def _difference(path: str, now: bytes | None, then: bytes) -> list[str]:
    """Return the change of a note as a short diff; ``now`` is None if there is no such note now."""
    old, new = (re.split(r"\r\n|\r|\n", (side or b"").decode("utf-8", "replace")) for side in (now, then))
    for rows in (old, new):
        if not rows[-1]:
            rows.pop()  # the last line ends with a newline
    diff = ["..." if row.startswith("@@") else line(row) for row in unified_diff(old, new, lineterm="", n=1)][3:]
    fate = "  (comes back)" if now is None else "" if then else "  (goes)"
    more = [f"and {counted(len(diff) - MOST_LINES, 'more line')}"] if len(diff) > MOST_LINES else []
    return [path + fate, *(f"  {row}" for row in [*diff[:MOST_LINES], *more])]
