"""``list``: the entries of the tiers."""

from typing import Annotated, Any

import typer

from tars_memory.cli.output import fields, line
from tars_memory.cli.parsing import About, Topic, call_of, command

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
        from tars_memory.cli.views import show_entries

        show_entries(call.out, entries)
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
