"""``init``: make a vault."""

from typing import TYPE_CHECKING, Annotated

import typer

import tars_memory
from tars_memory.apart import program
from tars_memory.doors.cli.call import Call, call_of, command, confirmed
from tars_memory.doors.cli.output import counted, duration, line
from tars_memory.errors import UsageError
from tars_memory.index.intake import FIRST_BATCH

if TYPE_CHECKING:
    from pathlib import Path

    from tars_memory.jobs.merge import GitReport


def init(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="The folder; else --vault, TARS_MEMORY_DIR, or this one.")
    ] = None,
    git: Annotated[bool, typer.Option("--git", help="Let git merge the notes by entry; once in each clone.")] = False,
) -> int:
    """Make a vault in PATH, or add what is missing to a vault you already have. Nothing that exists is changed.

    Prints the vault's folder. From then on the vault is found from inside its folder. If the embedding model can't
    read the languages of your notes, init names one that can and asks at a terminal whether to use it.

    --git makes the folder a git repository if it is in none, adds what is missing to its .gitattributes, and tells this
    clone how to merge. tm undo takes the lines back; git config --remove-section merge.tars-memory forgets the rest.
    """
    call = call_of(ctx)
    if path == "" or call.vault == "":
        raise UsageError("PATH is empty", "name the folder, or run init inside it without PATH")
    root = path or call.vault or call.env.get("TARS_MEMORY_DIR") or "."
    made = tars_memory.Memory.init(
        root, actor=call.actor, interactive=call.interactive, now=call.now, dry_run=call.dry_run, env=call.env
    )
    notices = call.notices(made.notices)
    report = set_up_git(call, made.root) if git else None
    if call.out.json:
        told = {"path": str(made.root), "created": list(made.created), "layout": made.layout, "daily": made.daily}
        call.out.record({**told, **({"git": report._asdict()} if report else {}), "notices": notices})
        return 0
    call.out.data(line(str(made.root)), of_notes=False)
    would = "would make" if call.dry_run else "made"
    call.out.say(f"{would} {', '.join(made.created)}" if made.created else "nothing was missing")
    if made.layout:
        call.out.say(f"layout: {made.layout} ([layout] like, docs/seeds.md)")
    if made.daily:
        call.out.say(f"today's note: {made.daily}")
    if report:
        say_git(call, report)
    if not call.dry_run:
        memory = tars_memory.Memory(
            made.root, actor=call.actor, interactive=call.interactive, now=call.now, env=call.env
        )
        recommend(call, memory)
        begin_reading(call, memory)
    return 0


def set_up_git(call: Call, root: "Path") -> "GitReport":
    """Let git merge the vault's notes by entry."""
    memory = tars_memory.Memory(
        root, actor=call.actor, interactive=call.interactive, now=call.now, dry_run=call.dry_run, env=call.env
    )
    return memory.merge_by_entry(program())


def say_git(call: Call, report: "GitReport") -> None:
    """Say what git knows now, and what is left to do."""
    if report.made:
        call.out.say(f"{'would make' if call.dry_run else 'made'} a git repository in this folder")
    if report.attributes:
        lines = counted(len(report.attributes), "line")
        call.out.say(f"{'would add' if call.dry_run else 'added'} {lines} to .gitattributes: commit it")
    if report.registered:
        call.out.say("git merges the notes by entry here; in every other clone run: tars-memory init --git")
    elif not report.attributes:
        call.out.say("git merges the notes by entry here already")


def begin_reading(call: Call, memory: "tars_memory.Memory") -> None:
    """Let a vault of many notes be read in the background, before anybody asks."""
    memory.workspace.apart = True
    notes = len(memory.workspace.vault.paths())
    if notes > FIRST_BATCH and memory.workspace.goes_on():
        call.out.say(f"{counted(notes, 'note')} are being read in the background: tars-memory status")


def recommend(call: Call, memory: "tars_memory.Memory") -> None:
    """Say which embedding model fits the vault's languages, if it isn't the one that is set; ask where it is here."""
    better = memory.recommended_model()
    if better is None:
        return
    languages = ", ".join(f"{name} {round(100 * share)} %" for name, share in list(better["languages"].items())[:3])
    took = duration(better["seconds"])
    call.out.say(f"notes in other languages: {languages}")
    call.out.say(f"{better['model']} knows them ({better['megabytes']} MB; vectors of this vault: {took})")
    if not better["installed"]:
        call.out.say(f"to use it: pip install 'tars-memory[{better['model']}]'")
        call.out.say(f"then: tars-memory models use {better['model']}")
    elif call.interactive and confirmed(call, "use it?"):
        for notice in memory.use_model(better["model"])["notices"]:
            call.out.say(notice)
    else:
        call.out.say(f"to use it: tars-memory models use {better['model']}")


INIT = command(
    init,
    writes=True,
    examples="""
tm init ~/Notes       # a new vault, or your own Obsidian vault
tm init --git         # let git merge the notes by entry, in this clone
tm init --dry-run     # what would be made in this folder
""",
    answers="""
path: the vault
created: the files that were made
layout: the program whose layout the vault has (`starpod`, …), or empty
daily: today's note, if it has a name or folder of its own in this vault
[--git]
path created layout daily: as without
git.repository made: the repository's folder, and whether it was made
git.attributes: the lines that were added to .gitattributes
git.registered: whether this clone did not know how to merge
""",
)
