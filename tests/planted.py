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
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.writing.lock import VaultLock

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
            "archive/Tidied.md": f"## 2026-01-02\n\n- {said()}\n",
            f"sessions/2026-11-20 1000 {n}.md": f"---\ndate: 2026-11-20\ntitle: {w}\ntags: [{w}]\n---\n\n"
            f"## Summary\n\n{said()}\n\n## Facts\n\n- {said()} ([[2026-11-20#^d-{ids}aaaaa|2026-11-20]])\n"
            f'  - quote:: "{said()}"\n  - said by:: {w}, turn 3\n\n## Turns\n\n> [3] 14:30 **{w}:** {said()}\n',
            f"sessions/2025-03-04 1000 {n}.md": f"---\ndate: 2025-03-04\n---\n\n## Decisions\n\n- {said()}\n"
            f"- {said()}\n\n## Facts\n\n- {said()} ([[2026-11-20#^d-{ids}bbbbb|2026-11-20]])\n- kettle {w}\n",
            f"Plan {n}.md": f"---\nstatus: open\nowner: {w}\naliases: [plan of {w}]\ntags: [work, {w}]\n---\n"
            f"# Plan {said()}\n\n{said()} [[Memory]] #work/{w} [{w}]({n}/deep.md)\n",
            f"{n}/deep.md": f"# {w}\n\n| {w} | tea |\n| --- | --- |\n| {said()} | {w} |\n\n```\n{w} harbour\n```\n",
            f"Memory.sync-conflict-20261120-101010-{ids.upper() * 7}.md": f"## Notes\n\n- conflict {said()}\n",
            f"Merge {n}.md": f"        "doctor": ["doctor --dry-run", "doctor --index", "doctor"],
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
