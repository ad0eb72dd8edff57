"""``status``, ``doctor``, ``reindex`` and ``verify``: how vault, index and models are, and bringing them in order."""

import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tars_memory.doors.cli.call import Call, call_of, command, confirmed
from tars_memory.doors.cli.output import clean, counted, duration, line, show_rows, show_tree, within
from tars_memory.errors import UsageError
from tars_memory.index import detached

if TYPE_CHECKING:
    from tars_memory.memory import Memory


WAITS = (
    ("unfinished", "unfinished write", "", "tars-memory doctor"),
    ("ticks", "tick", " that an agent's process found", "tars-memory review"),
    ("review", "proposal", " to decide", "tars-memory review"),
    ("spool", "text", " in the spool", "any command that writes places it"),
)
"""What may wait: its member of ``waiting``, how it is counted, and what to do, the most urgent first."""


COVERS = "semantic search covers"
"""How the notice begins that a row tells, too."""


def status(
    ctx: typer.Context,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show everything, not ten lines.")] = False,
) -> int:
    """Show in ten lines the vault, how fresh its index is, what waits for you and what to do next."""
    call = call_of(ctx)
    told = dict(call.memory().status())
    notices = told.get("notices") or ()
    if call.out.json or verbose:
        told["notices"] = call.notices(notices)
    if call.out.json:
        call.out.record(told)
    elif verbose:
        if seconds := (told.get("index") or {}).get("indexed"):
            told["index"] = {**told["index"], "indexed": _minute(seconds)}
        show_tree(call.out, {name: value for name, value in told.items() if name != "notices"})
    else:
        said = (COVERS, *(f"{path}: rules that" for path in told["rules"]["lines"]))
        call.notices(each for each in notices if not each.startswith(said))
        if call.out.screen and (inside := within(os.path.realpath(os.path.expanduser("~")), told["vault"]["path"])):
            told["vault"] = {**told["vault"], "path": os.path.join("~", inside)}
        show_rows(call.out, _summary(told, bars=_shows(call)), styles=("dim",))
    return 0


def _minute(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def _shows(call: Call) -> bool:
    """Whether stdout can show bars."""
    try:
        return bool(BARS.encode(call.out.stdout.encoding or "utf-8"))
    except UnicodeEncodeError:
        return False


def _summary(told: Mapping[str, Any], *, bars: bool) -> list[tuple[str, str]]:
    """What there is to know, at most ten rows."""
    vault, index, background = told["vault"], told["index"], told["background"]
    waiting, loaded, unapproved = told["waiting"], told["loaded"], told["rules"]["unapproved"]
    tiers = ", ".join(f"{count} {line(str(name))}" for name, count in vault["tiers"].items() if name != "note")
    skipped = _passed_over(vault["skipped"])
    notes = vault["notes"] if vault["notes"] is not None else vault["stale"]  # without an index all of them are stale
    counts = counted(notes, "note") + (f", of these {tiers}" if tiers else "")
    rows = [("vault", line(vault["path"])), ("notes", counts + (f"; {skipped}" if skipped else ""))]
    when = f" ({_minute(index['indexed'])})" if index.get("indexed") else ""
    stale = vault["stale"]
    rows.append(("index", f"behind by {counted(stale, 'file')}" if stale else f"up to date{when}"))
    rows.append(("semantic", _semantic(told["model"], background, index)))
    if team := told.get("team"):
        counts = f"{counted(team['notes'] or 0, 'note')}, published {team['published']} by {team['by']}"
        rows.append(("team", line(f"{team['server']}: {team['problem'] or counts}")))
    if talks := told.get("sources"):
        counts = counted(talks["conversations"], "conversation")
        rows.append(("talks", f"{counts} in {counted(talks['logs'], 'log')}"))
    if any(weeks := told["growth"]["weeks"]):
        total, drawn = sum(weeks), f"{_sparkline(weeks)}  " if bars else ""
        grown = f"{'-' if total < 0 else '+'}{counted(abs(total), 'line')}"
        rows.append(("growth", f"{drawn}{grown} in {counted(len(weeks), 'week')}"))
    if shared := told.get("shared"):
        rows.append(("shared", ", ".join(line(each["name"]) for each in shared)))
    grown = f", {loaded['grown']:+} in {counted(loaded['days'], 'day')}" if loaded["grown"] else ""
    cut = f"; {counted(loaded['left_out'], 'line')} found no room" if loaded["left_out"] else ""
    large = [path for path, note in loaded["notes"].items() if 0 < note["limit"] < note["characters"]]
    cut += f"; large: {', '.join(map(line, large))}" if large else ""
    rows.append(("prompts", f"begin with {loaded['tokens']} of {counted(loaded['budget'], 'token')}{grown}{cut}"))
    if unapproved:
        rows.append(("rules", f"{unapproved} that nobody approved here: no prompt trusts them"))
    waits = [
        (counted(number, what) + where, do) for name, what, where, do in WAITS if (number := _number(waiting.get(name)))
    ]
    rows.append(("waiting", ", ".join(what for what, _ in waits) or "nothing"))
    steps = [do for _, do in waits]
    steps += ["tars-memory review --rules"] if unapproved else []
    steps += ["tars-memory reindex"] if (stale or index.get("pending_vectors")) and not background["running"] else []
    steps += ["tars-memory models list"] if not told["model"]["usable"] else []
    return [*rows, ("next", steps[0] if steps else "nothing to do")]


BARS = "▁▂▃▄▅▆▇█"


def _sparkline(values: Sequence[int]) -> str:
    """A bar each, the highest for the largest; what shrank is as low as nothing."""
    most = max(1, *values)
    return "".join(BARS[-(-max(0, value) * (len(BARS) - 1) // most)] for value in values)


def _number(waits: Any) -> int:
    return len(waits) if isinstance(waits, list | tuple) else int(waits or 0)


def _semantic(model: Mapping[str, Any], background: Mapping[str, Any], index: Mapping[str, Any]) -> str:
    """How far search by meaning is."""
    if not model["usable"]:
        why = (model.get("reason") or "no model is installed", model.get("hint"))
        return "off: " + "; ".join(line(str(each)) for each in why if each)
    name, pending = line(str(model["name"])), index.get("pending_vectors")
    if not pending:
        return f"{name}, all passages" if pending is not None else f"{name}, no passage yet"
    if not background["covers"]:
        covers = f"{name}, no passage yet"
    else:
        covers = f"{name}, {min(99, background['covers'])} % of the passages"
    left = f", {duration(background['left'])}" if background.get("left") else ""
    if background["running"]:
        return f"{covers}{left} left" if left else f"{covers}, being made"
    return f"{covers}{left} to make the rest" if left else covers


STATUS = command(
    status,
    pages=True,
    examples="""
tm status
tm status --verbose    # place and size of everything, model, settings
""",
    answers="""
vault.path id state notes tiers skipped stale: the vault, its state folder, counts
background.running covers left ended: percent of passages with a vector, seconds left, why it ended
index.path bytes journal version complete indexed: the index file
index.scopes chunks vectors pending_vectors without_own_date: what it holds
index.cache_path cache_bytes model: the vectors' cache and model
index.driver sqlite fts5 vec reason: the SQLite in use
model.name usable fingerprint: or `reason` and `hint`
waiting.spool unfinished proposals review ticks: what waits
rules.unapproved lines: rules that nobody approved here
growth.weeks: lines added less those taken out, in each of the last twelve weeks, this one last
loaded.tokens grown left_out budget days notes: what every prompt begins with, and its growth in so many days
sources: as `sources` says, or null
team: of a team's index `server`, `published` (UTC), `by` (machine), `notes`, `chunks`, `vectors`, `bytes`, `problem`
settings: those that are set
[as it applies]
shared[].name path: the shared vaults that are searched
""",
)


def doctor(
    ctx: typer.Context,
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="With --adopt: where the vault was before it was moved.")
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend.")] = False,
    restore: Annotated[
        str | None,
        typer.Option("--restore", metavar="TXN", help="Write the lost lines of this write again (all: of any)."),
    ] = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="Take over the history and undo kept for PATH.")] = False,
    drop: Annotated[
        str | None,
        typer.Option("--drop", metavar="ITEM", help="Take a text out of the spool into a file."),
    ] = None,
    index: Annotated[bool, typer.Option("--index", help="Compare the index with what a rebuild would hold.")] = False,
) -> int:
    """Mend what a crash left, write what waits in the spool, and check writes, syncs, rights, model and index.

    Prints each finding with what to do; exit 1 if any are left. With --dry-run it only looks.
    """
    call = call_of(ctx)
    if adopt + fix + index + (restore is not None) + (drop is not None) > 1:
        raise UsageError("more than one of --fix, --index, --restore, --drop and --adopt", "give one of them")
    if adopt or index:
        return _adopt(call, path) if adopt else _compare(call)
    if path is not None:
        raise UsageError(f"{path!r} without --adopt", "to take over the history of a moved vault: doctor --adopt PATH")
    if drop is not None:
        return _drop(call, drop)
    if restore is not None:
        for written in call.memory().restore(restore):
            call.out.data(call.out.place(written.path, written.line))
        call.notices()
        return 0
    told = dict(call.memory().doctor(fix=fix))
    told["notices"] = call.notices(told.get("notices") or ())
    findings = told.setdefault("findings", [])
    if call.out.json:
        call.out.record(told)
    else:
        for finding in findings:
            done = "mended: " if finding.get("fixed") else ""
            path, message = finding.get("path") or "", clean(finding["message"])
            if path and message.startswith(path):
                message = call.out.path(path) + message[len(path) :]
            call.out.data(f"{done}{finding['kind']}: {message}")
            if finding.get("hint") and not done:
                call.out.data(f"  {clean(finding['hint'])}")
        if not findings:
            call.out.say("all is well")
    return 1 if any(not finding.get("fixed") for finding in findings) else 0


def _drop(call: Call, item: str) -> int:
    kept = call.memory().drop(item)
    call.out.data(clean(str(kept))) if kept else call.out.say("dropped; it was a removal, and holds no words")
    return 0


def _adopt(call: Call, path: str | None) -> int:
    """Take over what is kept for the path that the vault was moved from; a person at the terminal is asked."""
    memory = call.memory()
    if path is None and not call.interactive:
        memory.adoptable()
        raise UsageError("--adopt needs the path that the vault was moved from", "tars-memory doctor names it")
    found = memory.adoptable(path)
    held = f"history (writes: {found.writes}, waiting texts: {found.waiting})"
    if call.interactive and not call.dry_run:
        there = "something else is there now" if found.stands else "nothing is there now"
        new = clean(str(memory.workspace.root))
        asked = f"{held} is kept for {clean(found.path)}; {there}. Was that vault moved to {new}"
        if not confirmed(call, f"{asked}, and is to go on here? No if its disk is only away."):
            call.out.complain("nothing was done")
            return 1
    memory.adopt(found)
    notices = call.notices()
    told = {"from": found.path, "to": str(memory.workspace.root), "writes": found.writes, "waiting": found.waiting}
    if call.out.json:
        call.out.record({"adopted": told, "notices": notices})
    else:
        would = "would adopt" if call.dry_run else "adopted"
        call.out.data(f"{would}: {clean(found.path)} -> {clean(str(memory.workspace.root))}: {held}")
    return 0


DOCTOR = command(
    doctor,
    writes=True,
    examples="""
tm doctor
tm doctor --fix                  # mend indexes, rights, leftovers; never a note
tm doctor --index                # is the index what the notes say?
tm doctor --restore all          # write lost lines again
tm doctor --adopt /old/place     # after you moved the vault
""",
    exits="1 findings are left",
    answers="""
findings[].kind path message hint fixable fixed: what is wrong, and what to do
[--adopt]
adopted: `from`, `to`, `writes`, `waiting`
[--index]
as verify
""",
)


LOOK = 0.5
"""Seconds between two looks at what another process does."""


def reindex(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Read every note again, into a new index.")] = False,
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Words only; leave the vectors for later.")] = False,
) -> int:
    """Bring the index up to date with the notes, and make the vectors that are missing. Never changes a note.

    Shows progress on a terminal. Ctrl-C (exit 130) stops it; the next run goes on there.
    """
    call = call_of(ctx)
    memory = call.memory()
    report = memory.reindex(full=full, embed=not no_embed, progress=call.out.progress())
    if not no_embed:
        _await_others(memory, report)
    return _tell(call, report)


def _await_others(memory: "Memory", report: Any) -> None:
    """Wait for the process that makes the vectors already, and show how far it is."""
    pending = report.pending_vectors
    while pending and detached.is_running(memory.workspace.state):
        if memory.workspace.progress is not None:
            work = detached.told(memory.workspace.state)
            memory.workspace.progress(
                f"{work.phase}, by the process in the background", work.done, max(work.total, work.done + 1)
            )
        time.sleep(LOOK)
        report.pending_vectors = pending = memory.workspace.index().pending()


UNSAID = ("hidden folder", "hidden file", "template", "proposals to review")
"""Why a file is not a note, where that is how it is meant to be; each vault has some."""


def _passed_over(skipped: Mapping[str, int]) -> str:
    """How many files of what kind are not read though they might be meant to be; empty if there are none."""
    told = [f"{count} {line(reason)}" for reason, count in skipped.items() if reason not in UNSAID]
    return f"skipped: {', '.join(told)}" if told else ""


def _tell(call: Call, report: Any) -> int:
    """Say what a refresh did."""
    notices = call.notices(getattr(report, "notices", None) or ())
    if call.out.json:
        names = "changed removed pending_vectors stale skipped took published"
        call.out.record({**{n: getattr(report, n, None) for n in names.split()}, "notices": notices})
        return 0
    told = [f"{counted(report.changed, 'note')} read", f"{report.removed} gone"]
    if skipped := _passed_over(report.skipped or {}):
        told.append(skipped)
    if report.pending_vectors:
        told.append(f"{counted(report.pending_vectors, 'passage')} without a vector yet")
    call.out.data(", ".join(told))
    if report.published:
        call.out.data(report.published)
    return 0


REINDEX = command(
    reindex,
    examples="""
tm reindex
tm reindex --full       # a new index; vectors are kept
""",
    answers="""
changed removed: notes
pending_vectors: passages that are found only by their words so far
stale: notes not read yet
skipped: files that are not notes, counted by reason
took: seconds
published: what a team's index was given; empty without one
""",
)


def verify(ctx: typer.Context) -> int:
    """Compare the index with what a rebuild from the notes would hold, and print each difference. Exit 1 if any.

    The same as `doctor --index`.
    """
    return _compare(call_of(ctx))


def _compare(call: Call) -> int:
    differences = [str(difference) for difference in call.memory().verify()]
    notices = call.notices()
    if call.out.json:
        call.out.record({"differences": differences, "notices": notices})
    else:
        for difference in differences:
            call.out.data(line(difference))
        if differences:
            call.out.say("the index differs from the notes: tars-memory reindex --full rebuilds it")
        else:
            call.out.say("the index agrees with the notes")
    return 1 if differences else 0


VERIFY = command(
    verify,
    examples="""
tm verify
""",
    exits="1 they differ",
    answers="""
differences: a sentence each
""",
)
