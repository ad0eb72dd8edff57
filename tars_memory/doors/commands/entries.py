"""``list``, ``show`` and ``why``: the entries of the tiers, one of them, and where one came from; ``headings``: the
headings that they stand under.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.doors import cli
from tars_memory.doors.cli.call import (
    STOPPED,
    About,
    Call,
    Ref,
    Topic,
    about_secrets,
    call_of,
    command,
    confirmed,
    report,
)
from tars_memory.doors.cli.output import Output, clean, counted, fields, hit_of, line, show_rows
from tars_memory.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from tars_memory.curation.why import Trace, Trail


ENTRY = "ref path line end_line section text tags time state block_id author"


def list_(
    ctx: typer.Context,
    tier: Annotated[
        str | None, typer.Option("--tier", metavar="TIER", help="semantic, procedural, daily, episodic or note.")
    ] = None,
    section: Annotated[str | None, typer.Option("--section", metavar="NAME", help="Only under this heading.")] = None,
    about: About = None,
    topic: Topic = None,
) -> int:
    """List the entries of Memory.md and Procedural.md, or of one tier, each with its REF.

    In a pipe one line an entry, with tabs: REF, path:line, text. Exit 1 if there are none.
    """
    call = call_of(ctx)
    given = {"about": [call.note(each) for each in about or ()], "topics": topic}
    narrowed: dict[str, Any] = {name: tuple(names) for name, names in given.items() if names}
    entries = list(call.memory().list(tier=tier, section=section, **narrowed))
    notices = call.notices()
    if call.out.json:
        call.out.record({"entries": [entry_json(entry) for entry in entries], "notices": notices})
    elif not entries:
        anything = not (tier or section or narrowed)
        call.out.say("there are no entries yet: tars-memory remember TEXT" if anything else "there are no such entries")
    elif call.out.screen:
        cli.screen.show_entries(call.out, entries)
    else:
        for entry in entries:
            call.out.data(f"{entry.ref}\t{call.out.place(entry.path, entry.line)}\t{line(entry.text)}{signed(entry)}")
    return 0 if entries else 1


def signed(entry: Any) -> str:
    """Who wrote an entry, to be told behind its words; empty where that is not said."""
    return f" ({line(entry.author)})" if getattr(entry, "author", None) else ""


def entry_json(entry: Any) -> dict[str, Any]:
    """One entry as the documented JSON object."""
    return fields(entry, ENTRY)


LIST = command(
    list_,
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


def show(
    ctx: typer.Context,
    target: Ref = None,
) -> int:
    """Show one entry: its place, heading, REF and lines."""
    call = call_of(ctx)
    entry = call.memory().show(call.target(call.words(target, "REF")))
    notices = call.notices()
    if call.out.json:
        call.out.record({**entry_json(entry), "raw": entry.raw, "notices": notices})
        return 0
    under = f"  {line(entry.section)}" if entry.section else ""
    call.out.data(f"{call.out.place(entry.path, entry.line)}{under}  [{entry.ref}]")
    call.out.data(clean(entry.raw).rstrip("\n"))
    return 0


SHOW = command(
    show,
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


TITLES = {
    "approved": "approved",
    "written": "written",
    "reworded": "reworded",
    "unknown": "unknown",
    "proposed": "proposed",
    "candidate": "noted",
    "replaced": "replaces",
    "said": "said",
    "promoted": "became",
    "end": "end",
}
"""What a step is called in the text."""


def why(
    ctx: typer.Context,
    target: Ref = None,
) -> int:
    """Show where a line came from: who approved it, the day that noted it, who said it, and what it replaced.

    Without REF it explains the first hit of the last search, the one that open opens. It is read from the notes and the
    journal. Where the trail ends, it says so.
    """
    call = call_of(ctx)
    trail = call.memory().why(call.target(call.words(target, "REF"))) if target else _why_hit(call)
    notices = call.notices()
    if call.out.json:
        call.out.record({**trail.as_dict(), "notices": notices})
        return 0
    call.out.data(f"{call.out.place(trail.path, trail.line)}  {line(trail.text)}{_signed(trail.author)}  [{trail.ref}]")
    for step in trail.chain:
        for text in rows(call.out, step):
            call.out.data(f"  {text}")
    return 0


def _why_hit(call: Call) -> "Trail":
    """Where the first hit of the last search came from.

    Raises:
        NotFoundError: there was no search, or its first hit is not an entry.
    """
    path, at, _ = hit_of(call.memory().workspace, 1, terminal=call.out.stdout.isatty())
    try:
        return call.memory().why(f"{path}:{at}")
    except NotFoundError:
        raise NotFoundError(
            f"the last hit, {call.out.place(path, at)}, is not an entry of the memory, so nothing is known of where it "
            "came from",
            "name an entry by its REF or its words; tars-memory list shows them",
        ) from None


def rows(out: Output, step: "Trace") -> list[str]:
    """One step as lines of plain text: what it is, when, where, the words; then the quote and who said it."""
    where = out.place(step.path, step.line) if step.path and step.kind not in ("approved", "written") else ""
    when = line(step.date)[:16].replace("T", " ")
    head = [
        f"{TITLES.get(step.kind, step.kind):<9}",
        when,
        where,
        line(step.text) + _signed(step.author),
        step.txn and f"[{step.txn}]",
    ]
    found = ["  ".join(part for part in head if part)]
    if step.quote:
        said = ", ".join(part for part in (line(step.speaker), f"turn {step.turn}" if step.turn else "") if part)
        found.append(f"{'':<9}  “{line(step.quote)}”{f' ({said})' if said else ''}")
    return found


def _signed(author: str) -> str:
    return f" ({line(author)})" if author else ""


WHY = command(
    why,
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


def headings(
    ctx: typer.Context,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="Its name or path.")] = None,
    add: Annotated[str | None, typer.Option("--add", metavar="TITLE", help="Add this heading at the end.")] = None,
    remove: Annotated[str | None, typer.Option("--remove", metavar="TITLE", help="Remove this heading.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove the text under it, too; don't ask.")] = False,
) -> int:
    """List a note's headings with the number of their bullets; add one at its end, or remove one.

    Only the memory's own notes are changed. A heading with text under it is removed with that: on a terminal after a
    question, elsewhere with --yes. In a pipe one line a heading, with tabs: path:line, title, bullets.
    """
    call = call_of(ctx)
    name, memory = call.note(call.words(note, "NOTE")), call.memory()
    if add is not None and remove is not None:
        raise UsageError("both --add and --remove", "give one of them")
    if add is not None:
        return report(call, memory.add_heading(name, about_secrets(call, add)))
    if remove is not None:
        path, found = memory.heading(name, remove)
        if found.filled and call.interactive and not (yes or call.dry_run):
            call.out.complain(clean(found.text).rstrip("\n"))
            if not confirmed(call, f"remove this from {call.out.path(path)}?"):
                call.out.say("nothing was removed")
                return STOPPED
            yes = True
        return report(call, memory.remove_heading(name, remove, filled=yes), repeated="nothing was removed")
    path, listed = memory.headings(name)
    notices = call.notices()
    if call.out.json:
        told = [fields(each, "line level title entries") for each in listed]
        call.out.record({"path": path, "headings": told, "notices": notices})
    elif call.out.screen:
        rows = (("  " * (each.level - 1) + line(each.title), counted(each.entries, "bullet")) for each in listed)
        show_rows(call.out, rows, ("heading", "bullets"), ("magenta", "dim"))
    else:
        for each in listed:
            call.out.data(f"{call.out.place(path, each.line)}\t{line(each.title)}\t{each.entries}")
    if not listed:
        call.out.say(f"{call.out.path(path)} has no headings")
    return 0 if listed else 1


HEADINGS = command(
    headings,
    writes=True,
    words=True,
    examples="""
tm headings Memory
tm headings Memory --add Travel
tm headings Memory --remove Travel
""",
    exits="1 no headings, no such note or heading (those that there are are listed), 2 there is text under it",
    answers="""
path: the note
headings[].line level title: where, how deep, its words
headings[].entries: bullets under it
[with --add or --remove]
as remember
""",
)
