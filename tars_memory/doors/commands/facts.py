"""``facts``: what is true, and since when; add, end and remove. ``timeline``: the same in order of time."""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.doors import cli
from tars_memory.doors.cli.call import Call, beyond, call_of, command, day, report, today
from tars_memory.doors.cli.output import counted, line, show_rows
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from tars_memory.vault.markdown.facts import Fact


EXAMPLE = 'add Anna "lives in" Cork'
VERBS = {
    "add": f"add SUBJECT PREDICATE OBJECT, as: facts {EXAMPLE}",
    "end": "end REF",
    "remove": "remove REF",
}


MISSING = "no such fact is known"


def facts(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ABOUT | add S P O | end REF | remove REF]", help="A name; or what to do."),
    ] = None,
    as_of: Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="What held on this day.")] = None,
    topic: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TAG", help="Only below this tag; repeatable.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also facts that have ended or not begun.")] = False,
    in_time: Annotated[bool, typer.Option("--timeline", help="In order of time, ended ones too.")] = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As --timeline, as a chart for Obsidian.")] = False,
    since: Annotated[str | None, typer.Option("--since", metavar="DATE", help="add: its first day.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="add: the first day that it no longer holds.")
    ] = None,
    on: Annotated[str | None, typer.Option("--on", metavar="DATE", help="end: on this day (today).")] = None,
) -> int:
    """List what is true, all of it or about one name. Or add, end or remove a fact.

    A predicate that holds one value at a time ends its old value, which stays in Facts.md. A fact holds from its since
    day until the day before its until day.
    """
    call = call_of(ctx)
    said = words or []
    if said and said[0] in VERBS and (len(said) > 1 or said[0] != "add"):
        return _change(call, said[0], said[1:], day(call, since, "--since"), day(call, until, "--until"), on)
    if any((since, until, on)):
        raise UsageError("--since, --until and --on belong to add and end", "--as-of names a day to look at")
    if as_of is not None and all_:
        raise UsageError("both --as-of and --all", "give one of them")
    name = " ".join(said) or None
    if in_time or mermaid:
        if as_of is not None or topic:
            raise UsageError("--timeline beside --as-of or --topic", "a timeline shows every day; leave those out")
        in_order = call.memory().timeline(name)
        return _chart(call, in_order) if mermaid else show(call, in_order, in_time=True)
    tagged: dict[str, Any] = {"topics": tuple(topic)} if topic else {}
    found = call.memory().facts(name, **tagged, as_of=day(call, as_of, "--as-of", last=True), everything=all_)
    missing = MISSING if name or topic or as_of else f"there are no facts yet: tars-memory facts {EXAMPLE}"
    return show(call, found, day(call, as_of, "--as-of", last=True), missing=missing)


def show(
    call: Call, found: "list[Fact]", on: date | None = None, *, in_time: bool = False, missing: str = MISSING
) -> int:
    """Print facts; exit 1 if there are none.

    Args:
        call: the call.
        found: the facts, in their order.
        on: the day that they are looked at from (today).
        in_time: they are in order of time: on a terminal their days come first.
        missing: what to say if there are none.
    """
    shown = on or today(call)
    notices = call.notices()
    if call.out.json:
        call.out.record({"facts": [fact.as_dict(shown) for fact in found], "notices": notices})
    elif not found:
        call.out.say(missing + beyond(call))
    elif call.out.screen and in_time:
        cli.spans.show(call.out, found, shown)
    elif call.out.screen:
        _show_table(call, found)
    else:
        for fact in found:
            call.out.data(
                f"{fact.ref}\t{line(fact.subject)} {line(fact.predicate)}: {line(fact.object)}"
                f"{_whose(fact)}{_when(fact, shown)}"
            )
    return 0 if found else 1


def _show_table(call: Call, found: "list[Fact]") -> None:
    """The facts as columns, for a terminal."""
    told = [
        (
            *(fact.ref, line(fact.subject), f"{line(fact.predicate)}: {line(fact.object)}{_whose(fact)}"),
            *(str(fact.since or ""), str(fact.until or "")),
        )
        for fact in found
    ]
    show_rows(call.out, told, ("REF", "about", "fact", "since", "until"), ("dim", "bold"))


def _chart(call: Call, found: "list[Fact]") -> int:
    """Print facts as a chart in Mermaid; exit 1 if there is none with a day."""
    chart = cli.spans.gantt(found, today(call))
    undated = sum(not (fact.since or fact.until) for fact in found)
    notices = call.notices([f"{counted(undated, 'fact')} without a day left out"] if undated else [])
    if call.out.json:
        call.out.record({"mermaid": chart, "notices": notices})
    elif chart:
        call.out.data(chart)
    elif not found:
        call.out.say(MISSING)
    return 0 if chart else 1


def _whose(fact: "Fact") -> str:
    """The shared vault that a fact stands in."""
    return f"  [{line(fact.vault)}]" if fact.vault else ""


def _when(fact: "Fact", today: date) -> str:
    told = [f"since {fact.since}"] if fact.since else []
    told += [f"until {fact.until}"] if fact.until else []
    told += ["ended"] if fact.until and fact.until <= today else []
    return f"\t{', '.join(told)}" if told else ""


def _change(call: Call, verb: str, rest: list[str], since: date | None, until: date | None, on: str | None) -> int:
    if verb == "add" and on:
        raise UsageError("--on belongs to end", "--since names the first day of a fact")
    if verb != "add" and (since or until or (on and verb == "remove")):
        raise UsageError("--since and --until belong to add, --on to end", f"facts {VERBS[verb]}")
    if verb == "add":
        if len(rest) != 3:
            raise UsageError(f"facts add takes three words or quoted parts, not {len(rest)}", VERBS["add"])
        parts: dict[str, Any] = dict(zip(("subject", "predicate", "object"), rest, strict=True), text=" ".join(rest))
        days = {name: None if each is None else each.isoformat() for name, each in (("since", since), ("until", until))}
        call.hold("facts add", **parts, **days)
    memory: Any = call.memory()
    if verb == "add":
        return report(call, memory.add_fact(*rest, since=since, until=until), repeated="already known; nothing written")
    target = " ".join(rest)
    if not target:
        raise UsageError("no fact is named", f"facts {VERBS[verb]}; facts --all lists them")
    if verb == "end":
        return report(call, memory.end_fact(target, on=day(call, on, "--on")), repeated="it ended then already")
    return report(call, memory.remove_fact(target))


FACTS = command(
    facts,
    writes=True,
    words=True,
    pages=True,
    examples="""
tm facts add Anna "lives in" Cork      # ends "lives in Dublin" today
tm facts Anna --as-of 2025             # what was true then
tm facts Anna --timeline               # in order of time, drawn on a terminal
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


def timeline(
    ctx: typer.Context,
    about: Annotated[list[str] | None, typer.Argument(metavar="ABOUT…", help="A name, as subject or object.")] = None,
) -> int:
    """List all facts about a name in order of time, ended ones too. Those without a date come last.

    The same as `facts --timeline`.
    """
    call = call_of(ctx)
    name = call.words(about, "ABOUT")
    return show(call, call.memory().timeline(name), in_time=True)


TIMELINE = command(
    timeline,
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
