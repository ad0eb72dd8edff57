"""A vault with a word of its own in everything that a scope holds, and every command to look for it with.

``WORD`` stands in each line, heading, property, tag, quote; ``NAME`` in the names of files and folders. The lines are
asked for by other words: what is asked may be told back.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import conversations as logs

from tars_memory.errors import TarsError
from tars_memory.index.tables import TABLES
from tars_memory.memory import Memory
from tars_memory.settings import StoreOptions
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.writing.system import VaultLock

NOW = "2026-11-21T14:30:00+00:00"
PROJECTS = ("nameboat", "nameboathouse")
"""One name begins with the other."""
SCOPES = ("", *PROJECTS)
TOPICS = ["harbour", "tea", "ladder", "oolong", "ferry", "window", "colour", "piano", "kettle", "garden"]


def word(scope: str) -> str:
    """Of the texts of a scope; none is part of another one."""
    return {"": "zorvane", "nameboat": "quillet", "nameboathouse": "brambix"}[scope]


def name(scope: str) -> str:
    """Of the names of its notes."""
    return {"": "fileglobal", "nameboat": "fileboat", "nameboathouse": "filehouse"}[scope]


def handle(scope: str) -> str:
    """What can be asked for and stands in one line of the scope alone."""
    return {"": "onlyoutside", "nameboat": "onlyinboat", "nameboathouse": "onlyinhouse"}[scope]


def at(scope: str) -> str:
    return f"projects/{scope}/" if scope else ""


def notes(chance: random.Random) -> dict[str, str]:
    """Notes of every kind in every scope."""
    found: dict[str, str] = {}
    for scope in SCOPES:
        w, n, ids = word(scope), name(scope), {"": "g", "nameboat": "b", "nameboathouse": "h"}[scope]

        def said(w: str = w) -> str:
            return f"{w} " + " ".join(chance.sample(TOPICS, 4))

        old = f"## Log\n\n- 09:00 {said()}\n"
        inside = {
            "Memory.md": f"# {said()}\n\n## Notes\n\n- {said()} {handle(scope)}\n- TODO {w}\n- {said()} [[Plan {n}]]\n"
            f"- {said()} #tag{w}\n"
            f"- kettle {w} twin\n- kettle {w} twin\n-\n- see [[Gone {w}]]\n- due 2025-01-02: {w}\n\n"
            f"## Decisions\n\n- 2026-11-01 10:00 the harbour wall is {w}\n\n### Part {w}\n\n- {said()}\n",
            "Procedural.md": f"## Rules {w}\n\n- always {said()}\n- never {w} {handle(scope)}\n",
            "Facts.md": f"## Anna\n\n- lives in:: {w} [since:: 2026-01-01]\n- likes:: {said()}\n\n"
            f"## Me\n\n- drinks:: {said()}\n- lives in:: {w} town\n\n## Thing {w}\n\n- colour:: {w} blue\n",
            "User.md": f"I am {w}\n",
            "corrections.md": f"## Feedback\n\n- 2026-11-20 10:00 {said()}\n  - question:: {said()}\n",
            "rewards.md": f"## Feedback\n\n- 2026-11-20 10:00 {said()}\n",
            "Review.md": f"- [ ] {said()} ^r-0a1b2c3d\n  - to:: Memory.md › Notes\n",
            "2026-11-20.md": f"## Log\n\n- 10:00 {said()}\n- 10:05 [extracted] {said()} ^d-{ids}aaaaa\n"
            f"- 10:06 [extracted] I prefer {w} tea ^d-{ids}bbbbb\n- 25:10 {w}\n",
            "2026-11-21.md": f"## Log\n\n- 11:00 {said()}\n",
            "2026-01-02.md": old,
            "archive/2025-01-02.md": old,
            f"sessions/2026-11-20 1000 {n}.md": f"---\ndate: 2026-11-20\ntitle: {w}\ntags: [{w}]\n---\n\n"
            f"## Summary\n\n{said()}\n\n## Facts\n\n- {said()} ([[2026-11-20#^d-{ids}aaaaa|2026-11-20]])\n"
            f'  - quote:: "{said()}"\n  - said by:: {w}, turn 3\n\n## Turns\n\n> [3] 14:30 **{w}:** {said()}\n',
            f"sessions/2025-03-04 1000 {n}.md": f"---\ndate: 2025-03-04\n---\n\n## Decisions\n\n- {said()}\n"
            f"- {said()}\n\n## Facts\n\n- {said()} ([[2026-11-20#^d-{ids}bbbbb|2026-11-20]])\n- kettle {w}\n",
            f"Plan {n}.md": f"---\nstatus: open\nowner: {w}\naliases: [plan of {w}]\ntags: [work, {w}]\n---\n"
            f"# Plan {said()}\n\n{said()} [[Memory]] #work/{w} [{w}]({n}/deep.md)\n",
            f"{n}/deep.md": f"# {w}\n\n| {w} | tea |\n| --- | --- |\n| {said()} | {w} |\n\n```\n{w} harbour\n```\n",
            f"Memory.sync-conflict-20261120-101010-{ids.upper() * 7}.md": f"## Notes\n\n- conflict {said()}\n",
            f"playbooks/Do {n}.md": f"# Do {w}\n\nWhen to use: {w} harbour\n\n1. {w} tea\n2. {w} kettle\n",
            f"agents/claude/Own {n}.md": f"# {w}\n\n- {w} kettle\n",
            f"Merge {n}.md": f"{'<' * 7} a\n- {w} one\n{'=' * 7}\n- {w} two\n{'>' * 7} b\n",
        }
        found |= {at(scope) + path: text for path, text in inside.items()}
    return found


def opened(root: Path, scope: str, **more: Any) -> Memory:
    more.setdefault("actor", "agent")
    more.setdefault("now", datetime.fromisoformat(NOW))
    return Memory(root, env=env_of(root), project=scope or "none", embedder=HashEmbedder(), **more)


def env_of(root: Path) -> dict[str, str]:
    return {
        "TARS_MEMORY_HOME": str(root.parent / "home"),
        "TARS_MEMORY_DIR": str(root),
        "TARS_NOW": NOW,
        "TERM": "xterm",
        "HOME": str(root.parent),
        "PATH": os.environ["PATH"],
    }


class Planted(NamedTuple):
    """The vault, and what each scope's entries, writes and proposals are called."""

    root: Path
    refs: dict[str, list[str]]
    txns: dict[str, list[str]]
    proposals: dict[str, list[str]]


def plant(folder: Path, chance: random.Random) -> Planted:
    """The vault: notes, proposals, the journal, lost lines, text in the spool, a last search of every scope."""
    root = make_vault(folder / "vault", notes(chance))
    (folder / "logs").mkdir()
    for scope in SCOPES:
        w, own = word(scope), {"actor": "person", "interactive": True}
        log = folder / "logs" / f"{name(scope)}.jsonl"
        said = logs.Said("user", f"Please remember that the {w} key is under the blue pot.", logs.START)
        log.write_bytes(logs.chat_jsonl([*logs.talk(8), said]))
        with opened(root, scope) as memory:
            memory.remember(f"never {w} by hand", tier="procedural")
            memory.extract([log], model="none")
            memory.feedback(False, f"{w} was cited wrongly", question=f"{w}?", answer=w)
        with opened(root, scope, **own) as memory:
            memory.remember(f"lost {w} line")
            memory.add_fact("Boat", "lies in", f"{w} bay")
            memory.log(f"oiled {w}")
            review = memory.review()
            offered = review.waiting(limit=100).proposals
            review.decide([], [offered[-1].id])
            review.decide([offered[0].id], [])
        memory_note = root / (at(scope) + "Memory.md")
        memory_note.write_text("".join(x for x in memory_note.read_text().splitlines(True) if "lost " not in x))
    for scope in SCOPES:
        memory = opened(root, scope)
        with memory, VaultLock(memory.workspace.ensure_state() / "lock", timeout=5, command="test").held():
            memory.workspace.settings.store = StoreOptions(lock_timeout=0)
            with contextlib.suppress(TarsError):
                memory.log(f"waits {word(scope)}")
            with contextlib.suppress(TarsError):
                memory.edit(f"gone {word(scope)} line", f"{word(scope)} edited")
            assert len([*(memory.workspace.state / "spool").glob("*.json")]) >= 1
    refs, txns, proposals = {}, {}, {}
    for scope in SCOPES:
        with opened(root, scope) as memory:
            entries = [each for tier in ("semantic", "procedural", "daily") for each in memory.list(tier)]
            refs[scope] = [chance.choice(entries).ref for _ in range(4)]
            txns[scope] = list({each.txn: 0 for each in memory.history(None)})[:2]
            proposals[scope] = [each.id for each in memory.review(writes=False).waiting(limit=100).proposals][:2]
    return Planted(root, refs, txns, proposals)


WHOLE = {"sources", "status", "doctor", "reindex", "verify", "watch", "sleep", "init"}
"""Commands that look after the vault as a whole: they may tell of all scopes by path, never by a word of theirs."""

BOTH = {
    "search", "context", "facts", "timeline", "open", "links", "related", "tags", "playbooks",
    "headings",
    "eval", "hook", "sql", "export", "mcp",
}  # fmt: skip
"""Commands that see the vault outside projects from within one, too."""


def calls(planted: Planted, scope: str) -> dict[str, list[str]]:
    """Command lines of every command, asked from one scope, also for what other scopes hold. ``<`` begins stdin."""
    folder = planted.root.parent
    others = [each for each in SCOPES if each != scope]
    foreign = [ref for other in others for ref in planted.refs[other]]
    handles = [handle(each) for each in SCOPES]
    event = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "harbour tea oolong", "cwd": str(folder)})
    start = json.dumps({"hook_event_name": "SessionStart", "cwd": str(folder)})
    logs_ = " ".join(shlex.quote(str(path)) for path in sorted((folder / "logs").glob("*.jsonl")))
    questions = [{"query": "harbour tea", "gold": [{"path": f"{at(each)}Memory.md", "line": 5}]} for each in SCOPES]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    rules = folder / f"rules {name(scope)}.md"
    rules.write_text(f"- {word(scope)} harbour first\n- {word(scope)} kettle last\n")
    asked = "\n".join([*TOPICS, *handles, "what lies in the bay", "where does Anna live"])
    found = {
        "init": ["init --dry-run"],
        "merge": ["merge base ours theirs"],
        "remember": ["remember harbour tea anew --dry-run", "remember --tier procedural ladder first", "remember tea"],
        "log": ["log", "log oolong at four", "log --dry-run ferry"],
        "daily": ["daily", "daily yesterday --print", "daily 2026-01-02 --dry-run"],
        "new": [
            "new harbour",
            "new tea --dry-run",
            *(f"new 'Plan {name(each)}' --dry-run" for each in SCOPES),
            *(f"new '{at(each)}ladder' --dry-run" for each in SCOPES),
            "new --stdin kettle <ferry",
        ],
        "learn": [
            "learn how tea is made --stdin <boil\npour",
            "learn how the ladder stands --stdin --when ferry --dry-run <one\ntwo",
            *(f"learn 'Do {name(each)}' --stdin --dry-run <one" for each in SCOPES),
        ],
        "playbooks": [
            "playbooks",
            *(f"playbooks 'Do {name(each)}'" for each in SCOPES),
            *(f"playbooks '{at(each)}playbooks/Do {name(each)}.md' --pin --dry-run" for each in SCOPES),
            *(f"playbooks 'Do {word(each)}' --unpin --dry-run" for each in SCOPES),
        ],
        "topic": [
            "topic --agent claude",
            "topic --agent claude harbour the tea is ready",
            "topic --agent claude harbour",
            *(f"topic --agent claude 'Do {name(each)}'" for each in SCOPES),
            *(f"topic --agent claude 'Own {name(each)}'" for each in SCOPES),
            "topic --agent claude ../Memory ladder --dry-run",
        ],
        "feedback": ["feedback bad harbour was wrong", "feedback good tea --question kettle"],
        "edit": [
            *(f"edit {each} other words --dry-run" for each in [*foreign, *handles]),
            f"edit {planted.refs[scope][0]} other words --dry-run",
            "edit harbour other --dry-run",
            "edit 'kettle' other --dry-run",
        ],
        "forget": [
            *(f"forget {each} --dry-run" for each in [*foreign, *handles]),
            *(f"forget {each} --everywhere --dry-run" for each in foreign[:2]),
            "forget tea --dry-run",
            "forget --everywhere harbour",
        ],
        "headings": [
            "headings Memory",
            *(f"headings 'Plan {name(each)}'" for each in SCOPES),
            *(f"headings {at(each)}Memory.md" for each in SCOPES),
            "headings Memory --add Harbours --dry-run",
            "headings Memory --remove Harbours --dry-run",
            "headings 'Plan boat' --remove tea --yes --dry-run",
        ],
        "search": [
            *(f"search {topic} --explain --limit 50" for topic in TOPICS),
            *(f"search {each}" for each in handles),
            "search --mode semantic tea kettle --explain",
            "search --path 'projects/*' tea",
            "search --path '*' harbour --paths",
            "search tea tag:work",
            "search harbour --where status=open",
            "search tea --tier daily --tier episodic --since 2020-01-01 --limit 100",
            *(f"search tea --links-to 'Plan {name(each)}'" for each in SCOPES),
            *(f"search tea --linked-to 'Plan {name(each)}'" for each in SCOPES),
            "search tea --about Anna",
            "search harbour --topic work --explain",
            *(f"search kettle --about 'Plan {name(each)}'" for each in SCOPES),
            f"search --stdin --explain --limit 30 <{asked}",
        ],
        "context": [
            "context harbour tea oolong",
            "context --window 4000 ladder ferry",
            "context --budget 20000 --days 300 what of Anna and the Boat --expired",
            "context --found-only kettle",
            "context tea --about Anna --topic work",
            *(f"context {each}" for each in handles),
        ],
        "facts": [
            "facts",
            "facts --all",
            "facts Anna",
            "facts Boat --as-of 2027-01-01",
            "facts Thing",
            "facts --topic work",
            "facts --mermaid",
        ]
        + [f"facts end {ref} --dry-run" for ref in foreign]
        + [f"facts remove {ref} --dry-run" for ref in foreign]
        + ["facts add Anna 'lives in' Cork --dry-run", "facts end lives --dry-run", "facts remove colour --dry-run"],
        "timeline": ["timeline Anna", "timeline Boat", "timeline me"],
        "open": [
            *(f"open {number}" for number in range(1, 6)),
            "open Memory",
            *(f"open 'Plan {name(each)}'" for each in SCOPES),
            *(f"open 'Plam {name(each)}'" for each in SCOPES),
            *(f"open 'Part {word(each)}'" for each in SCOPES),
            *(f"open '{at(each)}Memory#Notes'" for each in SCOPES),
            "open Notes",
            *(f"open {each}" for each in foreign),
        ],
        "links": [
            "links Memory",
            "links 2026-11-20",
            *(f"links 'Plan {name(each)}'" for each in SCOPES),
            *(f"links '{at(each)}Memory'" for each in SCOPES),
        ],
        "related": [
            "related Memory",
            "related 2026-11-20",
            *(f"related 'Plan {name(each)}'" for each in SCOPES),
            *(f"related '{at(each)}Memory'" for each in SCOPES),
        ],
        "tags": ["tags", "tags work", *(f"tags {each}" for each in ("tea", "session"))],
        "list": [
            "list",
            *(f"list --tier {each}" for each in ("semantic", "procedural", "daily", "episodic", "note")),
            "list --about Anna",
            "list --tier note --topic work",
        ],
        "show": [
            f"show {planted.refs[scope][0]}",
            *(f"show {each}" for each in [*foreign, *handles]),
            "show harbour",
            "show kettle",
        ],
        "sql": [
            "sql",
            *(f"sql --{form} 'SELECT * FROM {each}'" for form in ("csv", "nl", "table") for each in TABLES),
            "sql SELECT path FROM notes UNION SELECT path FROM main.lines",
            "sql 'WITH lines AS (SELECT * FROM main.lines) SELECT path, text FROM lines WHERE text LIKE \"%harbour%\"'",
            *(f"sql 'SELECT * FROM {each}'" for each in ("sqlite_master", "chunk_texts", "pragma_database_list")),
            f"sql 'ATTACH \"{folder}/home\" AS x'",
        ],
        "export": [
            f"export {shlex.quote(str(folder))}/{name(scope)}.db --replace",
        ],
        "extract": [
            f"extract {logs_}",
            f"extract --print-prompt --force {logs_}",
            f"extract --dry-run --model none {logs_}",
        ],
        "import": [f"import --format instructions {shlex.quote(str(rules))}"],
        "review": [
            "review",
            "review --list --expired --limit 100",
            "review --rules",
            "review --left-out",
            "review --print-prompt",
            *(f"review --reject {each} --dry-run" for other in others for each in planted.proposals[other]),
            *(f"review --accept {each}" for other in others for each in planted.proposals[other]),
            "review --note",
            "review --from-note",
        ],
        "tidy": [
            "tidy",
            "tidy --print-prompt",
            "tidy --curate --print-prompt",
            "tidy --archive",
            "tidy --compress",
            "tidy --compress --by year --before 2026-11-21",
            "tidy --dry-run --apply",
            "tidy --apply",
        ],
        "why": [
            f"why {planted.refs[scope][0]}",
            *(f"why {each}" for each in [*foreign, *handles]),
            "why key",
            "why tea",
        ],
        "history": ["history --limit 100", *(f"history --path '{at(each)}Memory.md'" for each in SCOPES)],
        "undo": [
            *(f"undo {txn} --dry-run" for other in others for txn in planted.txns[other]),
            *(f"undo {txn}" for other in others for txn in planted.txns[other]),
            "undo --last 3 --dry-run",
            "undo --last 200 --dry-run",
        ],
        "status": ["status"],
        "doctor": ["doctor --dry-run", "doctor --index", "doctor"],
        "reindex": ["reindex --no-embed", "reindex --full --no-embed"],
        "sources": ["sources list"],
        "sleep": ["sleep --dry-run", f"sleep {logs_}", "sleep --undo --dry-run", "sleep --print-schedule cron"],
        "hook": [
            f"hook <{event}",
            f"hook <{start}",
            "hook status",
            "hook install claude --dry-run",
            "hook uninstall claude",
        ],
        "mcp": [f"mcp <{session(planted, scope)}"],
        "watch": ["watch --once", "watch --print-service systemd"],
        "verify": ["verify"],
        "models": ["models"],
        "completion": [f"completion {each}" for each in ("bash", "zsh", "fish")],
        "eval": [f"eval {shlex.quote(str(folder / 'questions.jsonl'))} --mode lexical"],
    }
    for each in found["search"][:1]:
        found["open"].insert(0, each)
    return found


def session(planted: Planted, scope: str) -> str:
    """What a client says that asks a server of the scope for what others hold, by every tool."""
    foreign = [ref for each in SCOPES if each != scope for ref in planted.refs[each]]
    paths = [f"{at(each)}{path}" for each in SCOPES for path in ("Memory.md", f"Plan {name(each)}.md:1-9")]
    asked = [
        *(("memory_search", {"query": topic, "limit": 50}) for topic in TOPICS),
        *(("memory_search", {"query": handle(each), "mode": "lexical"}) for each in SCOPES),
        ("memory_search", {"query": "tea path:projects/", "as_of": "2026-11-20"}),
        *(("memory_get", {"target": each}) for each in [*foreign, *paths, *map(handle, SCOPES), "Memory", "kettle"]),
        *(("memory_get", {"target": f"Plan {name(each)}"}) for each in SCOPES),
        *(("memory_context", {"question": each, "budget": 9_000}) for each in ["harbour tea", *map(handle, SCOPES)]),
        ("memory_facts", {"all": True}),
        *(("memory_facts", {"about": each}) for each in ("Anna", "Boat", "Thing")),
        *(("memory_why", {"target": each}) for each in [*foreign, "key", "tea"]),
        ("memory_add", {"text": "kettle twin", "tier": "semantic"}),
        ("memory_propose", {"text": "ladder first"}),
    ]
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    said = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}]
    for number, (tool, arguments) in enumerate(asked, start=1):
        params = {"name": tool, "arguments": arguments}
        said.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    return "\n".join(map(json.dumps, said)) + "\n"


def run(planted: Planted, scope: str, line: str, *more: str) -> tuple[str, int]:
    """All that a command says on both streams, called in this process, and its exit code."""
    from tars_memory.doors.cli.app import run as program
    from tars_memory.doors.cli.call import Call

    said, _, stdin = line.partition("<")
    argv = [*shlex.split(said), *more, "--project", scope or "none"]
    before = sys.stdin, sys.stdout, sys.stderr, os.getcwd()
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"), out, err
    os.chdir(planted.root.parent)
    try:
        code = program(argv, Call(env_of(planted.root)))
    finally:
        out.flush()
        err.flush()
        sys.stdin, sys.stdout, sys.stderr, folder = before
        os.chdir(folder)
    return (out.buffer.getvalue() + err.buffer.getvalue()).decode(), code


def foreign(scope: str, command: str) -> list[str]:
    """What a command must not say in a scope."""
    hidden = [each for each in PROJECTS if each != scope]
    hidden += [""] if scope and command not in BOTH else []
    words = [word(each) for each in hidden]
    return words if command in WHOLE else [*words, *map(name, hidden), *filter(None, hidden)]
