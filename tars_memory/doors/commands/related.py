"""``tags`` and ``related``: the tags of the vault and where they stand; which notes are near a note, and why."""

from typing import TYPE_CHECKING, Annotated

import typer

from tars_memory.doors.cli.call import Call, call_of, command
from tars_memory.doors.cli.output import line, show_rows

if TYPE_CHECKING:
    from tars_memory.recall.links import Reason

NOTHING = 1
"""The exit code where there is none."""


def tags(
    ctx: typer.Context,
    tag: Annotated[list[str] | None, typer.Argument(metavar="[TAG]", help="List its notes and lines.")] = None,
) -> int:
    """List all tags with the number of their notes; with TAG, the notes and lines that bear it.

    A nested tag (food/tea) counts for the ones above it, too. In a pipe a tag is one line, with a tab before the
    number; a line of a note is path:line:text, and path alone a note whose properties name the tag.
    """
    call = call_of(ctx)
    if tag:
        return _of(call, call.words(tag, "TAG"))
    found = call.memory().tags()
    notices = call.notices()
    if call.out.json:
        call.out.record({"tags": [each._asdict() for each in found], "notices": notices})
    elif call.out.screen:
        rows = (("  " * each.tag.count("/") + line(each.tag), str(each.notes)) for each in found)
        show_rows(call.out, rows, ("tag", "notes"), ("magenta", "dim"))
    else:
        show_rows(call.out, ((line(each.tag), str(each.notes)) for each in found))
    if not found:
        call.out.say("no note has a tag")
    return 0 if found else NOTHING


def _of(call: Call, tag: str) -> int:
    found = call.memory().tagged(tag)
    notices = call.notices()
    if call.out.json:
        notes = [
            {**each._asdict(), "lines": [{"line": number, "text": text} for number, text in each.lines]}
            for each in found
        ]
        call.out.record({"notes": notes, "notices": notices})
        return 0
    for each in found:
        if each.whole or not each.lines:
            call.out.data(call.out.path(each.path))
        for number, text in each.lines:
            call.out.data(f"{call.out.place(each.path, number)}:{line(text).strip()}")
    return 0


TAGS = command(
    tags,
    words=True,
    pages=True,
    examples="""
tm tags
tm tags food           # food and what is nested below it
""",
    exits="1 no tags, or no such tag",
    answers="""
tags[].tag notes: lower case, without #; how many notes bear it, or a tag nested below it
[with TAG]
notes[].path title: a note
notes[].whole: its properties name the tag
notes[].lines[].line text: a line that bears it
""",
)


def related(
    ctx: typer.Context,
    note: Annotated[list[str] | None, typer.Argument(metavar="NOTE…", help="Its name or path, as in a link.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most N notes.")] = 10,
) -> int:
    """List the notes that are near a note, best first, each with the reasons.

    Notes are near by links in either direction, by a link to the same or a tag that few notes have, and by passages
    that mean the same, as far as there are vectors. Where nothing is near it lists nothing. In a pipe one line a
    note, with tabs: path, reasons.
    """
    call = call_of(ctx)
    name = call.note(call.words(note, "NOTE").removeprefix("[[").removesuffix("]]"))
    path, found = call.memory().related(name, limit=limit)
    notices = call.notices()
    if call.out.json:
        near = [{**each._asdict(), "reasons": [why._asdict() for why in each.reasons]} for each in found]
        call.out.record({"path": path, "related": near, "notices": notices})
    else:
        rows = ((call.out.path(each.path), "; ".join(map(_said, each.reasons))) for each in found)
        show_rows(call.out, rows, ("note", "why"), ("magenta",))
        if not found:
            call.out.say(f"nothing is near {call.out.path(path)}")
    return 0 if found else NOTHING


def _said(reason: "Reason") -> str:
    what = line(reason.what)
    return {
        "links_to": "links here",
        "linked_from": "linked from here",
        "target": f"both link to {what}",
        "tag": f"both have #{what}",
        "meaning": f"near in meaning: line {what}",
    }[reason.kind]


RELATED = command(
    related,
    words=True,
    pages=True,
    examples="""
tm related Rye bread
""",
    exits="1 nothing is near, or no such note; 2 several notes fit",
    answers="""
path: the note
related[].path title score: a note near it; higher is nearer
related[].reasons[].kind: `links_to` (it links here), `linked_from`, `target` (both link to it), `tag`, `meaning`
related[].reasons[].what: the target or tag; of `meaning` the line of the passage
related[].reasons[].weight: its part of the score
""",
)
