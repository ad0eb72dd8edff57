"""Commands for entries (``list``, ``show``, ``why``), headings (``headings``) and facts (``facts``, ``timeline``)."""

from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory.doors import cli
from tars_memory.doors.cli.call import ABOUT, REF, STOPPED, TOPIC, Call, command, flag, one_only, option, word
from tars_memory.doors.cli.output import Output, clean, counted, fields, hit_of, line, show_rows
from tars_memory.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from tars_memory.curation.why import Trace, Trail
    from tars_memory.vault.markdown.facts import Fact


ENTRY = "ref path line end_line section text tags time state block_id author"


@command(
    pages=True,
    examples="""
tm list
tm list --tier daily --topic work
""",
    exits="1 no entries",
    answers="""
entries[].ref: its REF; it changes with the text
entries[].path line end_line: where it is
entries[].section: its heading
entries[].text tags: its words and tags
entries[].time state block_id author: or null
""",
)
def list_(
    call: Call,
    tier: str | None = option("--tier", "TIER", "semantic, procedural, daily, episodic or note."),
    section: str | None = option("--section", "NAME", "Only under this heading."),
    about: list[str] | None = ABOUT,
    topic: list[str] | None = TOPIC,
) -> int:
    """List the entries of Memory.md and Procedural.md, or of one tier, each with its REF.

    In a pipe, one tab-separated line per entry: REF, path:line, text. Exit 1 if there are none.
    """
    given = {"about": [call.note(name) for name in about or ()], "topics": topic}
    narrowed: dict[str, Any] = {name: tuple(names) for name, names in given.items() if names}
    entries = list(call.memory().list(tier=tier, section=section, **narrowed))
    if call.answered({"entries": [fields(entry, ENTRY) for entry in entries]}):
        return 0 if entries else 1
    if not entries:
        layout = call.workspace.vault.layout
        nothing = f"no entries in {layout.memory} and {layout.procedural} yet: tars-memory remember TEXT"
        call.out.say("there are no such entries" if tier or section or narrowed else nothing)
    elif call.out.screen:
        cli.screen.show_entries(call.out, entries)
    else:
        for entry in entries:
            text = f"{line(entry.text)}{_signed(entry.author)}"
            call.out.data(f"{entry.ref}\t{call.out.place(entry.path, entry.line)}\t{text}")
    return 0 if entries else 1


@command(
    words=True,
    pages=True,
    examples="""
tm show 7f3ak2cq
tm show Memory.md:12
""",
    exits="1 no such entry, 2 several entries fit",
    answers="""
ref path line end_line section text tags time state block_id author: as for `list`
raw: its lines, verbatim
""",
)
def show(call: Call, target: list[str] | None = REF) -> int:
    """Show one entry: its place, heading, REF and lines."""
    entry = call.memory().show(call.target(call.words(target, "REF")))
    if call.answered({**fields(entry, ENTRY), "raw": entry.raw}):
        return 0
    section = f"  {line(entry.section)}" if entry.section else ""
    call.out.data(f"{call.out.place(entry.path, entry.line)}{section}  [{entry.ref}]")
    call.out.data(clean(entry.raw).rstrip("\n"))
    return 0


TITLES = {"candidate": "noted", "replaced": "replaces", "promoted": "became"}
"""Printed names of the kinds of steps that have another one."""


@command(
    words=True,
    pages=True,
    examples="""
tm why spare key
tm why                 # the hit that tm open opens
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
def why(
    call: Call, target: list[str] | None = word("[REF]", "Its REF, a hit's number, or words that only it contains.")
) -> int:
    """Show where a line came from: who approved it, the daily note it was in, who said it, and what it replaced.

    Without REF it explains the first hit of the last search, the one that open opens. The trail comes from the notes
    and the journal; where it ends, why says so.
    """
    trail = call.memory().why(call.target(call.words(target, "REF"))) if target else _why_hit(call)
    if call.answered(trail):
        return 0
    call.out.data(f"{call.out.place(trail.path, trail.line)}  {line(trail.text)}{_signed(trail.author)}  [{trail.ref}]")
    for step in trail.chain:
        for text in rows(call.out, step):
            call.out.data(f"  {text}")
    return 0


def _why_hit(call: Call) -> "Trail":
    """Return the trail of the first hit of the last search.

    Raises:
        NotFoundError: there was no search, or its first hit is not an entry.
    """
    path, at, _ = hit_of(call.workspace, 1, terminal=call.out.stdout.isatty())
    try:
        return call.memory().why(f"{path}:{at}")
    except NotFoundError:
        raise NotFoundError(
            f"the last hit, {call.out.place(path, at)}, is not an entry of the memory: its origin isn't known",
            "name an entry by its REF or its words; tars-memory list shows them",
        ) from None


def rows(out: Output, step: "Trace") -> list[str]:
    """Return one step as lines of plain text: kind, time, place and words; then the quote and who said it."""
    place = out.place(step.path, step.line) if step.path and step.kind not in ("approved", "written") else ""
    time = line(step.date)[:16].replace("T", " ")
    head = [
        f"{TITLES.get(step.kind, step.kind):<9}",
        time,
        place,
        line(step.text) + _signed(step.author),
        step.txn and f"[{step.txn}]",
    ]
    lines = ["  ".join(part for part in head if part)]
    if step.quote:
        source = ", ".join(part for part in (line(step.speaker), f"turn {step.turn}" if step.turn else "") if part)
        lines.append(f"{'':<9}  “{line(step.quote)}”{f' ({source})' if source else ''}")
    return lines


def _signed(author: str | None) -> str:
    """Return the author of a line to print behind it; empty if it has none."""
    return f" ({line(author)})" if author else ""


@command(
    writes=True,
    words=True,
    examples="""
tm headings Memory
tm headings Memory --add Travel
tm headings Memory --remove Travel
""",
    exits="1 no headings, no such note or heading (existing ones are listed), 2 there is text under it",
    answers="""
path: the note
headings[].line level title: where, how deep, its words
headings[].entries: bullets under it
[with --add or --remove]
as remember
""",
)
def headings(
    call: Call,
    note: list[str] | None = word("NOTE…", "Its name or path."),
    add: str | None = option("--add", "TITLE", "Add this heading at the end."),
    remove: str | None = option("--remove", "TITLE", "Remove this heading."),
    yes: bool = flag("--yes", "Remove the text under it, too; don't ask."),
) -> int:
    """List a note's headings with the number of their bullets; add one at its end, or remove one.

    Only the memory's own notes are changed. A heading with text under it is removed together with the text: at a
    terminal after you confirm, elsewhere with --yes. In a pipe, one tab-separated line per heading: path:line, title,
    bullets.
    """
    name, memory = call.note(call.words(note, "NOTE")), call.memory()
    one_only({"--add": add is not None, "--remove": remove is not None})
    if add is not None:
        return call.report(memory.add_heading(name, call.ask_about_secrets(add)))
    if remove is not None:
        path, found = memory.heading(name, remove)
        if found.filled and call.interactive and not (yes or call.dry_run):
            call.out.say_always(clean(found.text).rstrip("\n"))
            if not call.confirmed(f"remove this from {call.out.path(path)}?"):
                call.out.say("nothing was removed")
                return STOPPED
            yes = True
        return call.report(memory.remove_heading(name, remove, filled=yes), repeated="nothing was removed")
    path, listed = memory.headings(name)
    if call.answered({"path": path, "headings": [fields(heading, "line level title entries") for heading in listed]}):
        return 0 if listed else 1
    if call.out.screen:
        rows = (
            ("  " * (heading.level - 1) + line(heading.title), counted(heading.entries, "bullet")) for heading in listed
        )
        show_rows(call.out, rows, ("heading", "bullets"), ("magenta", "dim"))
    else:
        for heading in listed:
            call.out.data(f"{call.out.place(path, heading.line)}\t{line(heading.title)}\t{heading.entries}")
    if not listed:
        call.out.say(f"{call.out.path(path)} has no headings")
    return 0 if listed else 1


FACT = 'add Anna "lives in" Cork'
VERBS = {
    "add": f"SUBJECT PREDICATE OBJECT, as: tars-memory facts {FACT}",
    "end": "tars-memory facts end REF",
    "remove": "tars-memory facts remove REF",
}
"""How each is called."""


MISSING = "no such fact"


@command(
    writes=True,
    words=True,
    pages=True,
    examples="""
tm facts add Anna "lives in" Cork      # ends "lives in Dublin" today
tm facts Anna --as-of 2025             # what was true then
tm facts Anna --timeline               # in chronological order, drawn on a terminal
tm facts Anna --mermaid | tm new --stdin "Anna in time"
tm facts end 7f3ak2cq --on 2026-11-01
""",
    exits="1 no such fact",
    answers="""
facts[].ref: its REF
facts[].subject predicate object: the fact
facts[].since until: days, or null
facts[].current: whether it holds today, or on the `--as-of` day
facts[].source: the day's line it came from
facts[].path line: where it is
[--mermaid]
mermaid: the chart in its fence
[add, end, remove]
as remember
[as it applies]
facts[].vault: of a fact in a shared vault: its name; `path` is absolute then
""",
)
def facts(
    call: Call,
    words: list[str] | None = word("[ABOUT | add S P O | end REF | remove REF]", "A name; or what to do."),
    as_of: str | None = option("--as-of", "DATE", "What held on this day."),
    topic: list[str] | None = option("--topic", "TAG", "Only facts with this tag; repeatable."),
    all_: bool = flag("--all", "Include facts that have ended or not yet begun."),
    in_time: bool = flag("--timeline", "In chronological order, including ended facts."),
    mermaid: bool = flag("--mermaid", "Like --timeline, as a chart for Obsidian."),
    since: str | None = option("--since", "DATE", "add: its first day."),
    until: str | None = option("--until", "DATE", "add: the first day on which it no longer holds."),
    on: str | None = option("--on", "DATE", "end: the day it ends (default: today)."),
) -> int:
    """List what is true, in all or about one name; or add, end or remove a fact.

    If a predicate has one value at a time, a new value ends the old one, which stays in Facts.md. A fact holds from its
    since date to the day before its until date.
    """
    if words and words[0] in VERBS:
        return _change(
            call, words[0], words[1:], call.day(since, "--since"), call.day(until, "--until", coming=True), on
        )
    if any((since, until, on)):
        raise UsageError("--since, --until and --on belong to add and end", "--as-of names a day to look at")
    one_only({"--as-of": as_of is not None, "--all": all_})
    name = " ".join(words or ()) or None
    if in_time or mermaid:
        if as_of is not None or topic:
            raise UsageError(
                "--timeline beside --as-of or --topic", "a timeline covers all days; leave those options out"
            )
        in_order = call.memory().timeline(name)
        return _chart(call, in_order) if mermaid else _show_facts(call, in_order, in_time=True)
    topics: dict[str, Any] = {"topics": tuple(topic)} if topic else {}
    as_of_day = call.day(as_of, "--as-of", last=True)
    found = call.memory().facts(name, **topics, as_of=as_of_day, everything=all_)
    missing = MISSING if name or topic or as_of else f"there are no facts yet: tars-memory facts {FACT}"
    if words and len(words) > len(("S", "P", "O")):  # a misspelt add
        missing += f"; to add one: tars-memory facts {FACT}"
    return _show_facts(call, found, as_of_day, missing=missing)


def _show_facts(
    call: Call, found: "list[Fact]", on: date | None = None, *, in_time: bool = False, missing: str = MISSING
) -> int:
    """Print facts; exit 1 if there are none.

    Args:
        call: the call.
        found: the facts, in their order.
        on: the day on which a fact counts as current; today by default.
        in_time: they are in order of time: a terminal shows them as bars.
        missing: the message if there are none.
    """
    as_of = on or call.today()
    if call.answered({"facts": [fact.as_dict(as_of) for fact in found]}):
        return 0 if found else 1
    if not found:
        call.out.say(missing + call.unsearched_projects())
    elif call.out.screen and in_time:
        cli.screen.show_timeline(call.out, found, as_of)
    elif call.out.screen:
        rows = [
            (
                *(fact.ref, line(fact.subject), f"{line(fact.predicate)}: {line(fact.object)}{_vault_mark(fact)}"),
                *(str(fact.since or ""), str(fact.until or "")),
            )
            for fact in found
        ]
        show_rows(call.out, rows, ("REF", "about", "fact", "since", "until"), ("dim", "bold"))
    else:
        for fact in found:
            call.out.data(
                f"{fact.ref}\t{line(fact.subject)} {line(fact.predicate)}: {line(fact.object)}"
                f"{_vault_mark(fact)}{_days(fact, as_of)}"
            )
    return 0 if found else 1


def _chart(call: Call, found: "list[Fact]") -> int:
    """Print facts as a chart in Mermaid; exit 1 if none has a day."""
    chart = cli.screen.gantt(found, call.today())
    undated = sum(not (fact.since or fact.until) for fact in found)
    if call.answered({"mermaid": chart}, [f"{counted(undated, 'fact')} without a day left out"] if undated else []):
        return 0 if chart else 1
    if chart:
        call.out.data(chart)
    elif not found:
        call.out.say(MISSING)
    return 0 if chart else 1


def _vault_mark(fact: "Fact") -> str:
    """Return the name of the shared vault that a fact is from, to print behind it; empty for an own fact."""
    return f"  [{line(fact.vault)}]" if fact.vault else ""


def _days(fact: "Fact", today: date) -> str:
    """Return the days of a fact as a cell with its tab; empty if it has none."""
    parts = [f"since {fact.since}"] if fact.since else []
    parts += [f"until {fact.until}"] if fact.until else []
    parts += ["ended"] if fact.until and fact.until <= today else []
    return f"\t{', '.join(parts)}" if parts else ""


def _change(call: Call, verb: str, rest: list[str], since: date | None, until: date | None, on: str | None) -> int:
    """Add, end or remove a fact: check the options that belong to the verb, and print the receipt."""
    if verb == "add" and on:
        raise UsageError("--on belongs to end", "--since names the first day of a fact")
    if verb != "add" and (since or until or (on and verb == "remove")):
        raise UsageError("--since and --until belong to add, --on to end", VERBS[verb])
    if verb == "add":
        if len(rest) != 3:
            raise UsageError(f"facts add takes three words or quoted parts, not {len(rest)}", VERBS["add"])
        named = [*map(call.ask_about_secrets, rest[:2])]
        rest = [*named, call.ask_about_secrets(rest[2], f"{' '.join(named)}: ")]
        parts: dict[str, Any] = dict(zip(("subject", "predicate", "object"), rest, strict=True), text=" ".join(rest))
        days = {"since": since and since.isoformat(), "until": until and until.isoformat()}
        call.hold("facts add", **parts, **days)
        receipt = call.memory().add_fact(*rest, since=since, until=until)
        return call.report(receipt, repeated="already known; nothing written")
    memory, target = call.memory(), " ".join(rest)
    if not target:
        raise UsageError("no fact is named", f"{VERBS[verb]}; tars-memory facts --all lists them")
    memory.workspace.vault.hide(memory.workspace.vault.layout.facts, "")  # its lines are masked as they are in it now
    ends = verb == "end"
    receipt = memory.end_fact(target, on=call.day(on, "--on")) if ends else memory.remove_fact(target)
    code = call.report(receipt, repeated="nothing was written")
    if receipt.written and not call.out.json:
        text = line(cli.output.masked_value(receipt.text, call.out.notes, receipt.path))
        call.out.say(f"now: {text}" if ends else f"removed: {text}")
    return code


@command(
    words=True,
    pages=True,
    examples="""
tm timeline Anna
""",
    exits="1 no such fact",
    answers="""
as facts
""",
)
def timeline(call: Call, about: list[str] | None = word("ABOUT…", "A name, as subject or object.")) -> int:
    """List all facts about a name in chronological order, including ended ones. Those without a date come last.

    The same as facts --timeline.
    """
    name = call.words(about, "ABOUT")
    return _show_facts(call, call.memory().timeline(name), in_time=True)
