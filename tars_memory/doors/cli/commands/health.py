"""Commands that check, fix and refresh the memory (``status``, ``doctor``, ``reindex``, ``verify``), and that choose
models and measure search (``models``, ``eval``).
"""

import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tars_memory import curation, jobs, recall
from tars_memory.doors.cli.call import Call, command, flag, one_of, one_only, option, word
from tars_memory.doors.cli.output import Output, clean, encoded, fields, line, show_rows, show_tree, within
from tars_memory.errors import ModelUnavailableError, UsageError, counted, counted_lines, duration, reason
from tars_memory.index import detached, intake
from tars_memory.settings import MODES, NO_MODEL
from tars_memory.vault.suspicion import shell_path

if TYPE_CHECKING:
    from tars_memory.memory import Memory


WAITS = (
    ("unfinished", "unfinished write", "", "tars-memory doctor"),
    ("ticks", "tick", " in Review.md that only an agent's process has seen", "tars-memory review"),
    ("review", "proposal", " to decide", "tars-memory review"),
    ("spool", "text", " not written yet", "any command that writes does it"),
)
"""Kinds of waiting work, the most urgent first: the member of ``waiting``, the noun, what follows it, what to do."""


TIERS = {"semantic": "memory", "procedural": "rules", "daily": "days", "episodic": "sessions"}
"""What the notes of each tier hold."""

COVERS = "semantic search covers"
"""Beginning of a notice that repeats a row, so that it is left out."""


@command(
    pages=True,
    examples="""
tm status
tm status --verbose    # place and size of everything, model, settings
""",
    answers="""
vault.path id state notes tiers skipped stale: the vault, its state folder, counts
vault.unmounted: whether so many notes are gone that the vault looks unmounted or emptied
background.running covers left ended: percent of passages with a vector, seconds left, why it ended
index.path bytes journal version complete indexed: the index file
index.scopes chunks vectors pending_vectors without_own_date: what it holds
index.cache_path cache_bytes model: the vectors' cache and model
index.driver sqlite fts5 vec reason: the SQLite in use
model.name usable fingerprint: or `reason` and `hint`
waiting.spool unfinished proposals review lines ticks: what waits: `review` proposals with so many `lines`
rules.unapproved lines: rules that nobody approved here
growth.weeks: lines added minus lines removed, in each of the last twelve weeks, this one last
loaded.tokens grown left_out budget days notes: what every prompt begins with, and its growth in `days` days
sources: as `sources` says, or null
team: of a team's index `server`, `published` (UTC), `by` (machine), `notes`, `chunks`, `vectors`, `bytes`, `problem`
settings: those that are set
places: `settings` (the file), `state` and `cache` of all vaults
[as it applies]
shared[].name path: the shared vaults that are searched
""",
)
def status(call: Call, verbose: bool = flag("--verbose", "Show everything instead of ten lines.")) -> int:
    """Show the vault, where history and index are kept, what waits for you and what to do next, in ten lines."""
    state = dict(call.memory().status())
    notices = state.get("notices") or ()
    if call.out.json or verbose:
        state["notices"] = call.notices(notices)
    if call.out.json:
        call.out.record(state)
    elif verbose:
        if seconds := (state.get("index") or {}).get("indexed"):
            state["index"] = {**state["index"], "indexed": _minute(seconds)}
        show_tree(call.out, {name: value for name, value in state.items() if name != "notices"})
    else:
        in_rows = (COVERS, *(f"{path}: rules that" for path in state["rules"]["lines"]))
        call.notices(notice for notice in notices if not notice.startswith(in_rows))
        if call.out.screen:
            home = os.path.realpath(os.path.expanduser("~"))
            inside = {name: within(home, state["vault"][name]) for name in ("path", "state")}
            state["vault"] = {**state["vault"], **{name: os.path.join("~", at) for name, at in inside.items() if at}}
        rows = _summary(state, bars=encoded(call.out, BARS) == BARS)
        show_rows(call.out, [(name, call.out.as_called(text)) for name, text in rows], styles=("dim",))
    return 0


def _minute(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def _summary(state: Mapping[str, Any], *, bars: bool) -> list[tuple[str, str]]:
    """Return the state of the memory in about ten rows, each a name and a text."""
    vault, index, background = state["vault"], state["index"], state["background"]
    waiting, loaded, unapproved = state["waiting"], state["loaded"], state["rules"]["unapproved"]
    tiers = ", ".join(f"{words} {vault['tiers'][name]}" for name, words in TIERS.items() if name in vault["tiers"])
    skipped = _skipped_counts(vault["skipped"])
    notes = vault["notes"] if vault["notes"] is not None else vault["stale"]  # without an index all of them are stale
    counts = counted(notes, "note") + (f", of these: {tiers}" if tiers else "")
    rows = [("vault", shell_path(vault["path"])), ("state", shell_path(vault["state"]))]
    rows.append(("notes", counts + (f"; {skipped}" if skipped else "")))
    when = f" ({_minute(index['indexed'])})" if index.get("indexed") else ""
    stale = vault["stale"]
    rows.append(("index", f"behind by {counted(stale, 'file')}" if stale else f"up to date{when}"))
    rows.append(("semantic", _semantic(state["model"], background, index)))
    if team := state.get("team"):
        counts = f"{counted(team['notes'] or 0, 'note')}, published {team['published']} by {team['by']}"
        rows.append(("team", line(f"{team['server']}: {team['problem'] or counts}")))
    if talks := state.get("sources"):
        counts = counted(talks["conversations"], "conversation")
        rows.append(("talks", f"{counts} in {counted(talks['logs'], 'log')}"))
    if any(weeks := state["growth"]["weeks"]):
        total, drawn = sum(weeks), f"{_sparkline(weeks)}  " if bars else ""
        grown = f"{'-' if total < 0 else '+'}{counted(abs(total), 'line')}"
        rows.append(("growth", f"{drawn}{grown} in {counted(len(weeks), 'week')}"))
    if shared := state.get("shared"):
        rows.append(("shared", ", ".join(line(other["name"]) for other in shared)))
    grown = f", {loaded['grown']:+} in {counted(loaded['days'], 'day')}" if loaded["grown"] else ""
    cut = f"; {counted(loaded['left_out'], 'line')} left out for lack of room" if loaded["left_out"] else ""
    large = [path for path, note in loaded["notes"].items() if 0 < note["limit"] < note["characters"]]
    cut += f"; large: {', '.join(map(line, large))}" if large else ""
    begin = f"begin with {counted(loaded['tokens'], 'token')} of your notes (at most {loaded['budget']:,})"
    rows.append(("prompts", f"{begin}{grown}{cut}"))
    if unapproved:
        rows.append(("rules", f"{unapproved} that nobody approved here: agents get them as text, not as rules"))
    numbers = {**waiting, "unfinished": len(waiting.get("unfinished", ()))}
    lines = {"review": waiting.get("lines", 0)}
    waits = [
        (counted_lines(number, noun, lines.get(name, number)) + where, step)
        for name, noun, where, step in WAITS
        if (number := numbers[name])
    ]
    rows.append(("waiting", ", ".join(text for text, _ in waits) or "nothing"))
    steps = [step for _, step in waits]
    steps += ["tars-memory review --rules"] if unapproved else []
    usable = state["model"]["usable"]
    left = index.get("pending_vectors") or 0
    pending = left > intake.SEARCH_EMBEDS or index.get("model") not in (None, state["model"].get("fingerprint"))
    steps += ["if the vault is mounted and whole: tars-memory reindex --full"] if vault["unmounted"] else []
    steps += ["tars-memory reindex"] if (stale or (usable and pending)) and not background["running"] else []
    steps += [] if usable or state["model"]["name"] == NO_MODEL else ["get the model: the line semantic says how"]
    steps += ["tars-memory doctor"] if jobs.status.UNSEARCHED.keys() & vault["skipped"].keys() else []
    few = "; the next search reads the rest" if usable and left and not background["running"] else ""
    return [*rows, ("next", steps[0] if steps else f"nothing to do{few}")]


BARS = "▁▂▃▄▅▆▇█"


def _sparkline(values: Sequence[int]) -> str:
    """Return a bar for each value, the highest for the largest; negative values have the lowest bar, as 0 has."""
    most = max(1, *values)
    return "".join(BARS[-(-max(0, value) * (len(BARS) - 1) // most)] for value in values)


def _semantic(model: Mapping[str, Any], background: Mapping[str, Any], index: Mapping[str, Any]) -> str:
    """Say how much of the vault semantic search covers, or why it is off."""
    if not model["usable"]:
        why = (model.get("reason") or "no model is installed", model.get("hint"))
        return "off: " + "; ".join(line(str(sentence)) for sentence in why if sentence)
    name, pending = line(str(model["name"])), index.get("pending_vectors")
    if index.get("model") not in (None, model.get("fingerprint")):
        made = ", which it does now" if background["running"] else ""
        return f"search by meaning uses the former model until {name} has read every passage{made}"
    share = f"{min(99, background['covers'])} % of the passages" if background["covers"] else "no passage yet"
    if not pending:
        share = "all passages" if pending is not None else "no passage yet"
    left = duration(background["left"]) if pending and background.get("left") else ""
    rest = f", {left} left" if left else ", the rest is being read" if pending else ""
    if not background["running"]:
        rest = f"; the rest takes {left}" if left else ""
    return f"search by meaning covers {share} (model: {name}){rest}"


@command(
    writes=True,
    examples="""
tm doctor
tm doctor --fix                  # fixes indexes and leftovers, never a note
tm doctor --index                # does the index agree with the notes?
tm doctor --restore all          # writes lost lines again
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
def doctor(
    call: Call,
    path: str | None = word("[PATH]", "With --adopt: where the vault was before it was moved."),
    fix: bool = flag("--fix", "Fix what is safe to fix."),
    restore: str | None = option(
        "--restore", "TXN", "Write this write's lost lines again (all: those of every write)."
    ),
    adopt: bool = flag("--adopt", "Take over the history kept for PATH."),
    drop: str | None = option("--drop", "ITEM", "Move a text from the spool to a file."),
    index: bool = flag("--index", "Compare the index with the notes."),
) -> int:
    """Repair what a crash left behind, write what waits in the spool, and check writes, syncs, permissions, model and
    index.

    Prints each finding with what to do about it; exit 1 if any are left. With --dry-run it only checks.
    """
    restores, drops = restore is not None, drop is not None
    one_only({"--fix": fix, "--index": index, "--restore": restores, "--drop": drops, "--adopt": adopt})
    if adopt or index:
        return _adopt(call, path) if adopt else verify(call)
    if path is not None:
        raise UsageError(f"{path!r} without --adopt", "to take over the history of a moved vault: doctor --adopt PATH")
    if drop is not None:
        kept = call.memory().drop(drop)
        call.out.data(clean(str(kept))) if kept else call.out.say("dropped; it was a removal, without any words")
        return 0
    if restore is not None:
        for written in call.memory().restore(restore):
            call.out.data(call.out.place(written.path, written.line))
        call.notices()
        return 0
    checked = call.memory().doctor(fix=fix)
    findings = checked["findings"]
    if not call.answered(checked, checked["notices"]):
        for finding in findings:
            fixed = "mended: " if finding["fixed"] else ""
            path, message = finding["path"], clean(finding["message"])
            if path and message.startswith(path):
                message = call.out.path(path) + message[len(path) :]
            call.out.sentence(f"{fixed}{finding['kind']}: {message}")
            if finding["hint"] and not fixed:
                call.out.sentence(f"  {call.out.as_called(clean(finding['hint']))}")
        if not findings:
            call.out.say("all is well")
    return 1 if any(not finding["fixed"] for finding in findings) else 0


def _adopt(call: Call, path: str | None) -> int:
    """Take over the state kept for the path that the vault was moved from, after asking a person at a terminal."""
    memory = call.memory()
    if path is None and not call.interactive:
        memory.adoptable()
        raise UsageError("--adopt needs the path that the vault was moved from", "tars-memory doctor names it")
    found = memory.adoptable(path)
    held = f"history (writes: {found.writes}, waiting texts: {found.waiting})"
    if call.interactive and not call.dry_run:
        there = "something else is there now" if found.stands else "nothing is there now"
        new = clean(str(memory.workspace.root))
        question = f"{held} is kept for {clean(found.path)}; {there}. Was that vault moved to {new}"
        if not call.confirmed(f"{question}? Answer no if its disk is only unmounted."):
            call.out.say_always("nothing was done")
            return 1
    memory.adopt(found)
    root = str(memory.workspace.root)
    answer = {"from": found.path, "to": root, "writes": found.writes, "waiting": found.waiting}
    if not call.answered({"adopted": answer}):
        would = "would adopt" if call.dry_run else "adopted"
        call.out.data(f"{would}: {clean(found.path)} -> {clean(root)}: {held}")
    return 0


POLL = 0.5
"""Seconds between two looks at the progress of another process."""


@command(
    examples="""
tm reindex
tm reindex --full       # a new index; vectors are kept
""",
    answers="""
changed removed: notes
vectors: passages that got a vector
pending_vectors: passages without a vector yet
stale: notes not read yet
skipped: files that are not notes, counted by reason
took: seconds
published: what a team's index was given; empty without one
""",
)
def reindex(
    call: Call,
    full: bool = flag("--full", "Read every note again, into a new index."),
    no_embed: bool = flag("--no-embed", "Index words only; leave the vectors for later."),
) -> int:
    """Bring the index up to date with the notes, and make missing vectors. Never changes a note.

    Shows progress on a terminal. Ctrl-C (exit 130) stops it; the next run continues there.
    """
    memory, progress = call.memory(), call.out.progress()
    report = memory.reindex(full=full, embed=not no_embed, progress=progress)
    if not no_embed and _others_awaited(memory):
        before, report = report, memory.reindex(progress=progress)  # the other may have made those of an old model
        for name in ("changed", "removed", "vectors"):
            setattr(report, name, getattr(before, name) + getattr(report, name))
    return _show_report(call, report)


def _others_awaited(memory: "Memory") -> bool:
    """Wait for another process that is making the vectors, and show its progress; return whether there was one."""
    there = False
    while detached.is_running(memory.workspace.state):
        there = True
        if memory.workspace.progress is not None:
            work = detached.read_progress(memory.workspace.state)
            memory.workspace.progress(
                f"{work.phase}, by the process in the background", work.done, max(work.total, work.done + 1)
            )
        time.sleep(POLL)
    return there


EXPECTED_SKIPS = ("hidden folder", "hidden file", "template", "proposals to review")
"""Reasons to skip a file that need no mention: each vault has such files."""


def _skipped_counts(skipped: Mapping[str, int]) -> str:
    """Return the counts of skipped files by reason, without :data:`EXPECTED_SKIPS`; empty if there are none."""
    counts = [f"{count} {line(reason)}" for reason, count in skipped.items() if reason not in EXPECTED_SKIPS]
    return f"skipped: {', '.join(counts)}" if counts else ""


def _show_report(call: Call, report: Any) -> int:
    """Print what a refresh of the index did."""
    names = "changed removed vectors pending_vectors stale skipped took published"
    if call.answered(fields(report, names), report.notices):
        return 0
    parts = [f"{counted(report.changed, 'note')} read", f"{report.removed} gone"]
    if skipped := _skipped_counts(report.skipped):
        parts.append(skipped)
    if report.vectors:
        parts.append(f"{counted(report.vectors, 'vector')} made")
    if report.pending_vectors:
        made = ", being made in the background" if detached.is_running(call.workspace.state) else ""
        parts.append(f"{counted(report.pending_vectors, 'passage')} without a vector yet{made}")
    call.out.data(", ".join(parts))
    if report.published:
        call.out.data(report.published)
    return 0


@command(
    examples="""
tm verify
""",
    exits="1 they differ",
    answers="""
differences: a sentence each
""",
)
def verify(call: Call) -> int:
    """Compare the index with what a rebuild from the notes would contain, and print each difference. Exit 1 if there
    are any.

    The same as doctor --index.
    """
    differences = [str(difference) for difference in call.memory().verify()]
    if not call.answered({"differences": differences}):
        for difference in differences:
            call.out.data(line(difference))
        mend = "differs from the notes: tars-memory reindex --full rebuilds it"
        call.out.say(f"the index {mend if differences else 'agrees with the notes'}")
    return 1 if differences else 0


@command(
    pages=True,
    examples="""
tm models
tm models --all
tm models use multilingual
tm models check gemini/gemini-2.5-flash
""",
    exits="1 the language model failed the check, 7 the model can't be installed",
    answers="""
models[].name installed current recommended languages megabytes: each model, including those that can be downloaded
models[].seconds: about how long the vectors of this vault take, 0 if unknown (installed models only)
models[].dimension gigabytes: of models that can be downloaded
[use]
model config: what is set, in which file
[check]
model right of passed: the result
wrong[].said kind answer: each wrong answer
""",
)
def models(
    call: Call,
    action: str = word("[list|use|check]", "List them, use one, or check a language model.", default="list"),
    name: str | None = word("[NAME]", "The model to use or to check."),
    folder: str | None = option("--from", "FOLDER", "Take its files from here instead of downloading."),
    all_: bool = flag("--all", "Include models that can be downloaded."),
) -> int:
    """List the embedding models that are installed or fit your notes, or switch to another one. Only models use
    downloads.

    check has a language model judge 24 test sentences. A model that gets fewer than 20 right is no longer asked for a
    second look.
    """
    if action == "check" and not folder:
        return _check(call, name or "")
    if action not in ("list", "use") or (action == "use") != (name is not None) or (folder and not name):
        raise UsageError("models takes: list, use NAME, or check [NAME]", "tars-memory models list")
    if name is not None:
        used = call.memory().use_model(name, folder=folder)
        if not call.answered(used, used["notices"]):
            show_tree(call.out, {key: value for key, value in used.items() if key != "notices"})
        return 0
    known = list(call.memory().models(fetchable=all_ or call.out.json))
    if call.answered({"models": known}):
        return 0
    here = [
        (*_cells(model), _here(model), duration(model["seconds"]) if model.get("seconds") else "")
        for model in known
        if _is_ours(model)
    ]
    show_rows(call.out, here, ("", "model", "languages", "size", "here", "vectors"))
    if others := [_cells(model)[1:] for model in known if not _is_ours(model)]:
        if call.out.screen:
            call.out.data("")
        show_rows(call.out, others, ("to download", "languages", "size"))
    if any(model.get("current") and not model.get("installed") for model in known):
        try:
            call.workspace.demand_model()
        except ModelUnavailableError as error:
            call.out.say(reason(error))
    for name in (model["name"] for model in known if model.get("recommended") and not model.get("current")):
        call.out.say(f"for the languages of your notes: tars-memory models use {name}")
    if not all_:
        call.out.say("more can be downloaded: tars-memory models --all")
    return 0


def _is_ours(model: Mapping[str, Any]) -> bool:
    """Return whether a model is installed, set, or one that pip installs; any other can only be downloaded."""
    return bool(model.get("installed") or model.get("current")) or "gigabytes" not in model


def _cells(model: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a model: a mark if it is in use, its name, languages and size."""
    size = f"{model['megabytes']} MB" if model.get("megabytes") else ""
    return "*" if model.get("current") else "", line(str(model["name"])), line(str(model.get("languages") or "")), size


def _here(model: Mapping[str, Any]) -> str:
    """Say whether a model is installed, and whether it is recommended for this vault's languages."""
    here = "installed" if model.get("installed") else "not installed"
    return f"{here}, recommended" if model.get("recommended") else here


def _check(call: Call, name: str) -> int:
    """Check how well a language model judges sentences; return exit code 1 if its verdicts don't count."""
    settings = call.workspace.settings
    llm = curation.models.llm.required(settings, "extract", name, naming="after check")
    done = curation.models.grounding.check_judge(settings, llm)
    if call.answered(done):
        return 0 if done.passed else 1
    for sentence, kind, answer in done.wrong:
        call.out.data(f"{line(sentence)}\t{kind}\t{line(answer)}")
    verdict = "its second look counts" if done.passed else "it won't be asked for a second look"
    call.out.say(f"{done.model}: {done.right} of {done.of} judged correctly: {verdict}")
    return 0 if done.passed else 1


MOST_MISSING = 5
"""Maximum number of missing places to name."""
HEADINGS = {
    "note_recall_1": "R@1", "note_recall_5": "R@5", "note_recall_10": "R@10", "mrr": "MRR", "ndcg_10": "nDCG",
    "line_recall_5": "lineR@5", "line_recall_10": "lineR@10", "coverage_300": "c@300", "coverage_600": "c@600",
    "coverage_1200": "c@1200", "coverage_2400": "c@2400", "silent": "silent", "refused": "refused",
}  # fmt: skip


@command(
    examples="""
tm eval questions.jsonl
tm eval questions.jsonl --against lexical --against semantic
""",
    exits="3 the vault lacks some of the places that FILE names",
    answers="""
limit mode: as asked
all.questions note_recall_1 note_recall_5 note_recall_10 mrr ndcg_10 line_recall_5 line_recall_10 coverage_300
  coverage_600 coverage_1200 coverage_2400 silent refused: from 0 to 1, null where no question has the figure
categories: the same figures, each with its `category`
answers: the figures of each question, with its `id`
against[].mode all categories answers: the same of each other mode
missing: places that the vault lacks
""",
)
def eval_(
    call: Call,
    file: str = word("FILE", "JSON lines: questions, and where their answers are.", default=...),
    mode: str | None = option("--mode", "MODE", "hybrid, lexical or semantic."),
    against: list[str] | None = option("--against", "MODE", "Compare with this mode; repeatable."),
    limit: int | None = option("--limit", "N", "At most N hits per question (50).", least=1, most=1000),
) -> int:
    """Measure how well search answers questions whose answers you know. Writes nothing into the vault.

    FILE has one JSON object per line: query, gold (a list of path, and line if the line counts; empty if the vault has
    no answer), and optionally category and id. Prints percentages by category.
    """
    for name in (mode, *(against or ())):
        one_of(MODES, name, "mode ")
    options: dict[str, Any] = {"mode": mode, "against": tuple(against or ()), "limit": limit}
    found = call.memory().evaluate(file, **options)
    if not call.answered(found, found.notices, _missing(found.missing)):
        _show_run(call.out, found.run)
        for other in found.against:
            call.out.data("")
            _show_run(call.out, other)
    return 3 if found.missing else 0


def _missing(paths: list[str]) -> list[str]:
    if not paths:
        return []
    more = ", …" if len(paths) > MOST_MISSING else ""
    return [f"{counted(len(paths), 'gold place')} not in the vault: {', '.join(map(line, paths[:MOST_MISSING]))}{more}"]


def _show_run(out: Output, run: "recall.evaluation.ModeRun") -> None:
    """Print a row of figures for all questions, and one for each category if there are any."""
    rows = [("all", run.means()), *((name, run.means(name)) for name in run.categories())]
    cells = [[run.mode, "n", *HEADINGS.values()]]
    cells += [
        [line(name), str(means["questions"]), *(_percent(means[key]) for key in HEADINGS)] for name, means in rows
    ]
    _columns(out, cells if run.categories() != [recall.evaluation.UNNAMED] else cells[:2])


def _columns(out: Output, cells: list[list[str]]) -> None:
    """Print aligned columns: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *rest in cells:
        numbers = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        out.data("  ".join((first.ljust(widths[0]), *numbers)))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
