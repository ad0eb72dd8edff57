"""Commands that exchange data with other programs: conversations (``extract``, ``sources``), memories of other tools
(``import``), and the notes as tables (``sql``, ``export``).
"""

import csv
import io
import os
import shlex
import stat
import sys
from collections import Counter
from functools import partial
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory import curation, index
from tars_memory.doors.cli.call import PRINT_PROMPT, Call, answer_in, command, flag, option, word
from tars_memory.doors.cli.output import clean, counted, line, show_rows
from tars_memory.errors import TarsError, UsageError
from tars_memory.memory import SQL_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tars_memory.curation.extraction.extract import Extracted, Prompts


PARTLY = 3
NAMED = 5
"""Maximum number of skipped sources to name; the others are counted."""

SEPARATOR = "\f"
"""A line with a form feed separates prompts, and answers."""


@command(
    writes=True,
    examples="""
tm extract ~/.claude/projects/website/*.jsonl
tm extract chatgpt-export.zip --model gemini/gemini-2.5-flash --dry-run
tm extract --print-prompt chat.jsonl | llm | tm extract --reply - chat.jsonl
""",
    exits="3 some files could not be read, 7 the model failed or its answer is unusable",
    answers="""
sessions[].source path date: the log, its session note, its day
sessions[].turns examined: how many, and how many were new
sessions[].facts[].ref text path line: the candidate
sessions[].facts[].quote speaker turn: the words it rests on
sessions[].facts[].kind: `fact`, `preference`, `decision` …
sessions[].facts[].claim: the fact over time that it states, or empty
sessions[].facts[].sentence warnings: what the second look found
sessions[].dropped.ungrounded known rejected secret: counts
sessions[].left_out: counts by kind of sentence
sessions[].txn: for `undo`
skipped[].source why failed: files that were not examined
model: `rules`, or its name
[--print-prompt, --dry-run with a model]
prompts[].source system user examined tokens cost: what would be sent
skipped[].source why failed: as above
model endpoint: who would answer, where
""",
)
def extract(
    call: Call,
    files: list[str] = word("FILES…", "Chat logs, folders of them, or - for stdin.", default=...),
    keep: str | None = option("--keep", "WHAT", "What a session note keeps: exchanges, facts, quotes or full."),
    force: bool = flag("--force", "Include short conversations and turns examined before."),
    auto: bool = flag("--auto", "For hooks and cron: do nothing if TARS_AUTO_EXTRACT=0."),
    model: str | None = option("--model", "NAME", 'Ask this model; "none" uses the built-in rules.'),
    print_prompt: bool = PRINT_PROMPT,
    reply: list[str] | None = option("--reply", "FILE", "Take a model's answer from FILE, or - for stdin; repeatable."),
) -> int:
    """Find facts, preferences and decisions in conversations, each with the words it rests on.

    They become [extracted] lines in the daily notes of the days they were said, with a session note for each
    conversation; in review you decide what to keep. Turns that were examined before are skipped; --force examines them
    again, and adds only what is new. Without --model the built-in rules look for what you asked to be remembered and
    for plain statements about yourself. With a model, --dry-run shows what would be sent and its cost; after
    --print-prompt and a first --reply, extract prints the prompt of the second look.
    """
    sources = _awaited(call, _with_stdin(files, reply or ()))
    answers = _answers(reply) if reply else None
    asks = call.dry_run and not reply and call.workspace.settings.llm.named("extract", model or "")
    if print_prompt or asks:
        found = call.memory().extract_prompts(sources, model=answers or model, force=force)
        return _asked(call, found, plain=print_prompt)

    def progress(source: str) -> None:
        call.out.clear()
        if call.out.screen:
            call.out.say(f"reading {source} …")

    done = call.memory().extract(sources, model=answers or model, keep=keep, force=force, auto=auto, progress=progress)
    return _report(call, done)


@command(
    writes=True,
    examples="""
tm import ~/code/website/CLAUDE.md --project website
tm import ~/.claude/projects/-home-me-website/memory
tm import mem0.json ~/basic-memory --dry-run
""",
    exits="3 some sources could not be read",
    answers="""
sessions[].source path date: the file or folder, its session note, its first day
sessions[].turns examined: statements in it, and those that were looked at
sessions[].facts[].ref text path line: the candidate
sessions[].facts[].quote speaker turn: its exact words, their place (`CLAUDE.md:12`), their number
sessions[].facts[].kind claim sentence warnings: as in `extract`; `sentence` is `rule` for a rule
sessions[].dropped.ungrounded known rejected secret: counts
sessions[].left_out: counts
sessions[].txn: for `undo`, the same for all
skipped[].source why failed: what gave nothing
model: `rules`
""",
)
def import_(
    call: Call,
    sources: list[str] = word("FROM…", "Files, folders, or - for stdin.", default=...),
    form: str | None = option("--format", "NAME", "Read it as instructions, claude-memory, basic-memory or mem0."),
) -> int:
    """Import CLAUDE.md and AGENTS.md Claude Code's auto-memory, Basic Memory's notes and Mem0's exports.

    Each statement waits for review, with its words, its place and its day: instructions as rules, everything else as
    facts. What the memory already has, and what you rejected, is left out, so a second run adds only what is new. The
    sources are only read; one undo takes back a whole run.
    """
    done = call.memory().import_memories(_awaited(call, _with_stdin(sources)), form=form)
    return _report(call, done, "source", "statement")


def _with_stdin(files: list[str], others: "Iterable[str]" = ()) -> list[Any]:
    """Return the files with stdin in the place of ``-``.

    Raises:
        UsageError: ``-`` is there more than once, in the files and in ``others``.
    """
    if [*files, *others].count("-") > 1:
        raise UsageError("stdin can be read only once", "give - once")
    return [sys.stdin.buffer if name == "-" else name for name in files]


def _awaited(call: Call, sources: list[Any]) -> "Iterator[Any]":
    """Yield the sources; before a pipe, which may have no writer yet, tell a terminal what is awaited."""
    for source in sources:
        told = call.out.progress()
        if told is not None and isinstance(source, str) and _is_pipe(source):
            told(f"waiting for {line(source)}", 0, 0)
        yield source


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _answers(names: list[str]) -> Any:
    """Return the answers of another program, in order; one file may hold several.

    Raises:
        UsageError: a file can't be read.
    """
    texts = [text for name in names for text in answer_in(name).split(SEPARATOR)]
    return curation.models.llm.Reply(texts)


def _asked(call: Call, found: "Prompts", *, plain: bool) -> int:
    """Print the prompts that would be sent, and their size and price unless ``plain``; return the exit code."""
    code = PARTLY if any(skipped.failed for skipped in found.skipped) else 0
    if call.answered(found, found.notices):
        return code
    texts = [clean(str(asked.prompt)).replace(SEPARATOR, "") for asked in found.prompts]
    call.out.data(f"{SEPARATOR}\n".join(texts).rstrip("\n"))
    _say_skipped(call, found.skipped)
    if not plain:
        address = found.endpoint or "the provider's own address"
        costs = [asked.cost for asked in found.prompts]
        price = "the cost is unknown" if None in costs else f"at most ${sum(filter(None, costs)):.4f}"
        tokens = sum(asked.tokens for asked in found.prompts)
        size = f"{counted(len(found.prompts), 'prompt')}, {counted(tokens, 'token')}"
        call.out.say(f"would ask {found.model} at {address}: {size}, {price}")
    elif len(found.prompts) > 1:
        call.out.say(
            f"{counted(len(found.prompts), 'prompt')}, a line with a form feed between two: answer each, likewise"
        )
    return code


def _report(call: Call, done: "Extracted", source: str = "conversation", part: str = "turn") -> int:
    """Print each session note and its candidates as ``path:line:text``; return the exit code.

    Args:
        call: the call.
        done: the result to print.
        source: the word for an examined source.
        part: the word for its parts.
    """
    answer = {"sessions": done.sessions, "skipped": done.skipped, "model": done.model}
    if not call.answered(answer, done.notices, call.dry_run_notice()):
        for session in done.sessions:
            place = call.out.place(session.path, 1)
            call.out.sentence(f"{place}:{line(session.source)}, {counted(session.examined, part)} examined")
            for fact in session.facts:
                call.out.sentence(f"{call.out.place(fact.path, fact.line)}:{line(fact.text)}")
        _say_skipped(call, done.skipped, source)
        _say_sum(call, done, source)
    if done.failure is not None:
        call.out.say_always(f"tars-memory: {clean(done.failure.message)}\n  {clean(done.failure.hint)}")
        return PARTLY
    return PARTLY if any(skipped.failed for skipped in done.skipped) else 0


def _say_skipped(call: Call, skipped: list[Any], source: str = "conversation") -> None:
    failed_first = sorted(skipped, key=lambda skip: not skip.failed)  # failures set the exit code, so name them first
    for skip in failed_first[:NAMED]:
        call.out.say(f"skipped: {skip.source}: {skip.why}")
    if len(skipped) > NAMED:
        call.out.say(f"skipped: {counted(len(skipped) - NAMED, f'more {source}')} (--json names them)")


def _say_sum(call: Call, done: "Extracted", source: str) -> None:
    """Print how many candidates there are, and how many statements were left out and why."""
    facts, project_of = sum(len(session.facts) for session in done.sessions), call.workspace.whole.layout.project_of
    dropped: Counter[str] = Counter()
    for session in done.sessions:
        dropped.update(session.dropped)
        dropped.update(session.left_out)
    left_out = ", ".join(f"{count} {why}" for why, count in dropped.items() if count)
    if done.sessions:
        more = f" (left out: {left_out})" if left_out else ""
        summary = f"{counted(facts, 'candidate')} from {counted(len(done.sessions), source)}{more}"
        found = {project_of(session.path): "review" for session in done.sessions if session.facts}
        kept = (
            ""
            if call.dry_run
            else f"; search finds what {'its' if len(done.sessions) == 1 else 'their'} session note keeps"
        )
        call.out.say(summary + (f": decide with {_in_each(found)}" if facts else kept))
    writes = Counter(
        project for project, _ in {(project_of(each.path), each.txn) for each in done.sessions if each.txn}
    )
    if writes.total() > 1:
        undos = {project: f"undo --last {count}" for project, count in writes.items()}  # each takes back its project's
        call.out.say(f"each is a separate write: undo them with {_in_each(undos)}")


def _in_each(commands: dict[str, str]) -> str:
    """Return the commands by project as they are typed."""
    options = {name: f" --project {shlex.quote(name)}" if name else "" for name in commands}
    return f"tars-memory {' and '.join(f'{commands[name]}{options[name]}' for name in sorted(commands))}"


ACTIONS = ("list", "add", "remove")


@command(
    examples="""
tm sources add ~/.claude/projects ~/chatgpt-export.zip
tm sources
""",
    answers="""
sources[].path there: each place
logs conversations passages: counts
pending_vectors: passages that are found only by their words so far
nights: whether `sleep` ran in the last three days
""",
)
def sources(
    call: Call,
    action: str = word("[list|add|remove]", "List them, add some or remove some.", default="list"),
    paths: list[str] | None = word("[PATH…]", "Logs, or folders of logs."),
) -> int:
    """Name the logs of your conversations with models, so that search and context find what you said in them.

    The logs are read where they are. Only your own words are searched. The list is in your settings, never in a vault.
    """
    if action not in ACTIONS or (action == "list") != (not paths):
        raise UsageError("sources takes: list, add PATH, or remove PATH", "tars-memory sources add ~/.claude/projects")
    memory = call.memory()
    change = (
        memory.remove_source if action == "remove" else partial(memory.add_source, progress=memory.workspace.progress)
    )
    found = [] if paths else [memory.sources()]
    for path in paths or ():
        try:
            found.append(change(path))
        except TarsError as error:
            done = ", ".join(line(each) for each in (paths or ())[: len(found)])
            error.message += f"; {action.removesuffix('e')}ed before that: {done}" if done else ""
            raise
    notices = dict.fromkeys(notice for each in found for notice in each["notices"])
    return _show_sources(call, {**found[-1], "notices": [*notices]})


def _show_sources(call: Call, found: dict[str, Any]) -> int:
    """Print the sources, and how many conversations they hold."""
    if call.answered(found, found["notices"]):
        return 0
    rows = [(line(source["path"]), "" if source["there"] else "missing") for source in found["sources"]]
    show_rows(call.out, rows, ("log or folder", ""), of_notes=False)
    if found["sources"]:
        conversations = counted(found["conversations"], "conversation")
        call.out.say(f"{conversations} in {counted(found['logs'], 'log')} can be searched")
    else:
        call.out.say("no conversations yet: tars-memory sources add ~/.claude/projects")
    return 0


@command(
    words=True,
    pages=True,
    examples="""
tm sql    # the tables and their columns
tm sql "select tag, count(*) from tags group by tag"
tm sql --csv "select subject, predicate, object from facts where current"
""",
    exits="1 no rows, 2 no such table, or more than one query 3 stopped by --timeout",
    answers="""
columns: their names, in order
rows: an object for each row, its members named by the columns
[without QUERY]
tables[].name: of the table
tables[].columns[].name: of the column
tables[].columns[].meaning: what it holds
""",
)
def sql(
    call: Call,
    query: list[str] | None = word("[QUERY…]", "One SELECT; without it, list the tables."),
    csv_: bool = flag("--csv", "Print CSV, with a header."),
    nl: bool = flag("--nl", "Print one JSON object per row."),
    table: bool = flag("--table", "Print aligned columns, even in a pipe."),
    timeout: float = option(
        "--timeout", "SECONDS", "Stop the query after this time (10).", least=0.01, default=SQL_SECONDS
    ),
) -> int:
    """Query the index with SQL: one read-only query over the notes that a search would see.

    It works on a copy of the tables with these notes only: no notes of other projects, no conversations. Nothing can be
    written. Without a query it lists the tables and their columns.

    In a pipe, one tab-separated line per row. Exit 1 if there are no rows.
    """
    if sum((csv_, nl, table, call.out.json)) > 1:
        raise UsageError("only one of --csv, --nl, --table and --json", "leave the others out")
    text = " ".join(query or ()).strip().rstrip("; ")
    if not text:
        return _tables(call)
    found = call.memory().sql(text, seconds=timeout)
    rest = iter(found)
    first = next(rest, None)
    rows = chain([] if first is None else [first], rest)
    if call.out.json:
        call.answered({"columns": found.columns, "rows": [_record(found.columns, row) for row in rows]})
        return 1 if first is None else 0
    call.notices()
    if nl:
        for row in rows:
            call.out.record(_record(found.columns, row), lines=True)
    elif csv_:
        call.out.data(_csv(found.columns))
        for row in rows:
            call.out.data(_csv(map(_cell, row)), of_notes=False)
    elif table and not call.out.screen:
        from tabulate import tabulate

        cells = [[line(_cell(value)) for value in row] for row in rows]
        call.out.data(tabulate(cells, found.columns, disable_numparse=True), of_notes=False)
    else:
        show_rows(call.out, ([line(_cell(value)) for value in row] for row in rows), found.columns, of_notes=False)
    return 1 if first is None else 0


def _record(columns: "Iterable[str]", row: "Iterable[Any]") -> dict[str, Any]:
    """Return a row by columns; JSON has no number for infinity, so it is null."""
    values = (None if isinstance(value, float) and not isfinite(value) else value for value in row)
    return dict(zip(columns, values, strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(row: "Iterable[str]") -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow([clean(cell) for cell in row])
    return buffer.getvalue()[:-1]


def _tables(call: Call) -> int:
    """List the tables and their columns."""
    tables = index.tables.TABLES
    answer = [
        {"name": name, "columns": [{"name": column, "meaning": meaning} for column, meaning in columns.items()]}
        for name, columns in tables.items()
    ]
    if not call.answered({"tables": answer}):
        rows = ((name, column, meaning) for name, columns in tables.items() for column, meaning in columns.items())
        show_rows(call.out, rows, ("table", "column", "what it holds"), ("magenta",), of_notes=False)
    return 0


@command(
    examples="""
tm export memory.db
tm export website.db --project website
""",
    exits="2 an unknown ending, or the file exists, 5 the file can't be written",
    answers="""
file: that was written
tables: how many rows of each table
""",
)
def export(
    call: Call,
    file: Path = word("FILE", "A name that ends in .db, .sqlite or .sqlite3.", default=...),
    replace: bool = flag("--replace", "Overwrite an existing file."),
) -> int:
    """Write the tables of sql to a file: a SQLite database, for Datasette and other tools.

    It contains what a search here would see, with credentials masked; no notes of other projects and no conversations.
    Only you can read the file. It is a copy: changes to it don't reach the vault.
    """
    memory = call.memory()
    (call.out.progress() or call.out.announce)("writing the tables", 0, 0)
    rows = memory.export(file, replace=replace)
    if not call.answered({"file": str(file), "tables": rows}):
        call.out.data(line(str(file)), of_notes=False)
        call.out.say(", ".join(f"{name}: {counted(count, 'row')}" for name, count in rows.items()))
    return 0
