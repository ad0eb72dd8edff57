"""``status``: vault, index, model, and what to do next."""

import os
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer

from tars_memory.cli.commands.reindex import passed_over
from tars_memory.cli.output import counted, duration, line, within
from tars_memory.cli.parsing import call_of, command
from tars_memory.cli.tables import show_rows, show_tree

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
        show_rows(call.out, _summary(told), styles=("dim",))
    return 0


def _minute(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def _summary(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What there is to know, at most ten rows."""
    vault, index, background = told["vault"], told["index"], told["background"]
    waiting, loaded, unapproved = told["waiting"], told["loaded"], told["rules"]["unapproved"]
    tiers = ", ".join(f"{count} {line(str(name))}" for name, count in vault["tiers"].items() if name != "note")
    skipped = passed_over(vault["skipped"])
    notes = vault["notes"] if vault["notes"] is not None else vault["stale"]  # without an index all of them are stale
    counts = counted(notes, "note") + (f", of these {tiers}" if tiers else "")
    rows = [("vault", line(vault["path"])), ("notes", counts + (f"; {skipped}" if skipped else ""))]
    when = f" ({_minute(index['indexed'])})" if index.get("indexed") else ""
    stale = vault["stale"]
    rows.append(("index", f"behind by {counted(stale, 'file')}" if stale else f"up to date{when}"))
    rows.append(("semantic", _semantic(told["model"], background, index)))
    if talks := told.get("sources"):
        counts = counted(talks["conversations"], "conversation")
        rows.append(("talks", f"{counts} in {counted(talks['logs'], 'log')}"))
    grown = f", {loaded['grown']:+} in {counted(loaded['days'], 'day')}" if loaded["grown"] else ""
    cut = f"; {counted(loaded['left_out'], 'line')} found no room" if loaded["left_out"] else ""
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
vault: `path`, `id`, `state`, `notes`, `tiers`, `skipped`, `stale`
background: `running`, `covers` (% of passages with a vector), `left` (seconds), `ended` (why)
index: `path`, `notes` or `chunks`, `vectors`, `pending_vectors`, `model`, the SQLite in use …
model: `name`, `usable`, `fingerprint`, or `reason` and `hint`
waiting: `spool`, `unfinished`, `proposals`, `review`, `ticks`
rules: rules that nobody approved here: `unapproved`, `lines`
loaded: the notes that every prompt begins with: `tokens`, `grown` in so many `days`, `left_out` of a `budget`, and
  each of the `notes`
sources: as `sources` says, or null
settings: those that are set
""",
)
