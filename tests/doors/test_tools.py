"""The tools that a model may call: what they say of themselves is what they do, and none goes beyond its right."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tars_memory.doors.tools import MOST_CHARACTERS, TOOLS, Tools, explained
from tars_memory.errors import TarsError, UnwritableError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import make_vault
from tars_memory.vault.writing.system import VaultLock

NOW = "2026-11-21T14:30:00+00:00"
KEY = "sk-ant-api03-" + "Zx9" * 31
NOTES = {
    "Memory.md": "# Memory\n\n## Notes\n\n- Mira is allergic to walnuts #people\n- the kettle is blue\n",
    "Procedural.md": "## Rules\n\n- answer briefly\n",
    "Facts.md": "## Mira\n\n- lives in:: Cork [since:: 2026-01-01]\n- lived in:: Bergen [until:: 2025-12-31]\n",
    "2026-11-20.md": "## Log\n\n- 10:00 met Mira about the ferry\n",
    "Plans/Boat.md": "# Boat\n\n" + "".join(f"plank {number} of the hull\n" for number in range(3, 900)),
    "Keys.md": f"the token is {KEY}\n\nsail \u202eno\u202c\u200b cloth\n",
    "projects/other/Memory.md": "## Notes\n\n- quillet in the other project\n",
    ".obsidian/secret.md": "hidden\n",
    ".tars/config.toml": "",
}


def tools_of(root: Path, project: str = "none", **more: Any) -> Tools:
    env = {"TARS_MEMORY_HOME": str(root.parent / "home"), "HOME": str(root.parent), "PATH": os.environ["PATH"]}

    def opened(said: Mapping[str, str]) -> Memory:
        now = datetime.fromisoformat(NOW)
        return Memory(root, actor="agent", now=now, env={**said, **env, **more}, project=project)

    return Tools(opened)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_vault(tmp_path / "vault", NOTES)


@pytest.fixture
def tools(root: Path) -> Tools:
    return tools_of(root)


CALLS: dict[str, list[dict[str, Any]]] = {
    "memory_search": [{"query": "kettle"}, {"query": "nothing of the kind zzz", "mode": "lexical", "tier": ["daily"]}],
    "memory_get": [{"target": "Plans/Boat.md:10-12"}, {"target": "Boat", "lines": 3}, {"target": "kettle is blue"}],
    "memory_context": [{"question": "ferry", "budget": 300}, {"found_only": True, "as_of": "2026-11-20"}, {}],
    "memory_add": [{"text": "tea at four"}, {"text": "tea is green", "tier": "semantic", "tags": ["food"]}],
    "memory_propose": [
        {"text": "never sail at night"},
        {"text": "answer briefly"},
        {"text": "how to moor", "steps": ["slow down", "throw the rope"], "when": "at a quay"},
    ],
    "memory_facts": [{}, {"about": "Mira", "as_of": "2025-06-01"}, {"all": True}],
    "memory_why": [{"target": "the kettle is blue"}],
}


def test_there_are_at_most_seven_and_each_says_when_to_use_it() -> None:
    assert sorted(tool.name for tool in TOOLS) == sorted(CALLS)
    assert len(TOOLS) <= 7
    for tool in TOOLS:
        assert tool.description.startswith("Use when ")
        assert not {"vault", "project", "scope", "author"} & set(tool.takes)


@pytest.mark.parametrize("name", CALLS)
def test_answers_are_as_the_schemas_say(tools: Tools, name: str) -> None:
    schemas = pytest.importorskip("jsonschema")
    tool = next(tool for tool in TOOLS if tool.name == name)
    for schema in (tool.input_schema, tool.output_schema):
        schemas.Draft202012Validator.check_schema(schema)
    for arguments in CALLS[name]:
        schemas.validate(arguments, tool.input_schema)
        answer = tools.call(name, arguments, "host")
        schemas.validate(answer, tool.output_schema)
        assert json.loads(json.dumps(answer)) == answer
        assert set(answer) <= set(tool.output_schema["properties"]) | {"did_you_mean"}


def test_a_search_finds_with_place_and_without_a_link_for_people(tools: Tools) -> None:
    (hit,) = tools.call("memory_search", {"query": "walnuts"})["hits"]
    assert (hit["path"], hit["start_line"], hit["tier"]) == ("Memory.md", 5, "semantic")
    assert "obsidian_url" not in hit


@pytest.mark.parametrize(
    ("target", "first", "last", "begins"),
    [
        ("Plans/Boat.md", 1, 200, "# Boat"),
        ("Plans/Boat.md:201", 201, 400, "plank 201"),
        ("Plans/Boat.md:890-2000", 890, 899, "plank 890"),
        ("Boat", 1, 200, "# Boat"),
        ("walnuts", 5, 5, "- Mira"),
        ("Memory.md:6", 6, 6, "- the kettle"),
    ],
)
def test_a_note_is_read_in_parts(tools: Tools, target: str, first: int, last: int, begins: str) -> None:
    got = tools.call("memory_get", {"target": target})
    assert (got["start_line"], got["end_line"]) == (first, last)
    assert got["text"].startswith(begins) and got["text"].count("\n") == last - first


def test_long_lines_are_cut_to_what_an_answer_holds(root: Path, tools: Tools) -> None:
    (root / "Long.md").write_text("x" * 60_000 + "\n" + "y" * 30_000 + "\n")
    assert len(tools.call("memory_get", {"target": "Long.md"})["text"]) == MOST_CHARACTERS
    assert tools.call("memory_get", {"target": "Long.md:2"})["text"] == "y" * 30_000


@pytest.mark.parametrize(
    "target",
    [
        ".obsidian/secret.md", ".tars/config.toml", "../outside.md", "/etc/hosts", "Plans/../../outside.md",
        "projects/other/Memory.md", "link.md", "folder/outside.md", "a\0b.md", "Plans/Boat.md:99999", "nothing like it",
    ],
)  # fmt: skip
def test_nothing_else_is_read(root: Path, tools: Tools, target: str) -> None:
    (root.parent / "outside.md").write_text("outside zorvane\n")
    (root / "link.md").symlink_to(root.parent / "outside.md")
    (root / "folder").symlink_to(root.parent)
    with pytest.raises(TarsError) as error:
        tools.call("memory_get", {"target": target})
    assert "zorvane" not in explained(error.value) and "quillet" not in explained(error.value)
    assert error.value.hint or "\n" in explained(error.value)
    assert "not written" not in explained(error.value)  # nobody wanted to write


def test_credentials_and_invisible_characters_do_not_get_out(tools: Tools) -> None:
    got = tools.call("memory_get", {"target": "Keys.md"})["text"]
    found = tools.call("memory_search", {"query": "token sail cloth", "mode": "lexical"})
    packed = tools.call("memory_context", {"question": "token sail cloth"})
    for told in (got, json.dumps(found), packed["text"]):
        assert KEY not in told and "\u202e" not in told and "\\u202e" not in told
    assert "sail no cloth" in got


def test_what_is_added_bears_the_clients_name_and_is_taken_back(root: Path, tools: Tools) -> None:
    before = (root / "Memory.md").read_bytes()
    kept = tools.call("memory_add", {"text": "Mira sails", "tier": "semantic"}, "Claude Code")
    assert kept["written"] and "- Mira sails [by:: Claude Code]\n" in (root / "Memory.md").read_text()
    logged = tools.call("memory_add", {"text": "met Mira"}, "a|b[c]")  # no name that could stand in a note
    assert (root / logged["path"]).read_text().endswith("- 14:30 met Mira [by:: agent]\n")
    assert not tools.call("memory_add", {"text": "Mira sails", "tier": "semantic"}, "other")["written"]
    with Memory(root, env=dict(os.environ) | {"TARS_MEMORY_HOME": str(root.parent / "home")}) as memory:
        assert {entry.actor for entry in memory.history()} == {"agent"}
        memory.undo(last=2)
    assert (root / "Memory.md").read_bytes() == before


def test_a_rule_waits_for_the_person_whatever_is_allowed(root: Path) -> None:
    (root.parent / "home").mkdir()
    (root.parent / "home" / "config.toml").write_text("[permissions]\nunattended_rules = true\n")
    tools = tools_of(root)
    waiting = tools.call("memory_propose", {"text": "always sail"}, "host")
    assert waiting["proposal"] and "review" in waiting["notices"][0]
    assert (root / "Procedural.md").read_text() == NOTES["Procedural.md"]
    assert (root / ".tars" / "inbox" / f"{waiting['proposal']}.json").exists()
    assert tools.call("memory_propose", {"text": "answer briefly"})["proposal"] is None
    moored = tools.call("memory_propose", {"text": "how to moor", "steps": ["slow down", "throw\nthe rope"]}, "host")
    assert "a playbook needs a person" in moored["notices"][0]
    assert "1. slow down\\n2. throw the rope" in (root / ".tars/inbox" / f"{moored['proposal']}.json").read_text()
    assert not (root / "playbooks").exists()
    for tier in ("procedural", "episodic", "note"):
        with pytest.raises(UsageError, match="is unknown"):
            tools.call("memory_add", {"text": "always", "tier": tier})


def test_a_project_is_that_of_the_start(root: Path) -> None:
    inside, outside = tools_of(root, "other"), tools_of(root)
    assert inside.call("memory_search", {"query": "quillet"})["hits"]
    assert not outside.call("memory_search", {"query": "quillet path:projects/"})["hits"]
    assert inside.call("memory_add", {"text": "deck", "tier": "semantic"})["path"] == "projects/other/Memory.md"


def test_an_agents_own_notes_are_told_to_it_alone(root: Path, tools: Tools) -> None:
    for name in ("claude", "codex"):
        (root / "agents" / name).mkdir(parents=True)
        (root / "agents" / name / "Work.md").write_text(f"the rudder of {name} is loose\n")
    asked = {"question": "rudder loose", "found_only": True}
    clients = ("", "claude", "codex", "..", "@company/claude", "claude: desktop")
    told = {client: tools.call("memory_context", asked, client)["text"] for client in clients}
    assert {client for client, text in told.items() if "rudder of claude" in text} == {"claude"}
    assert {client for client, text in told.items() if "rudder of codex" in text} == {"codex"}
    assert len(tools.call("memory_search", {"query": "rudder loose"})["hits"]) == 2


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_search", {}, "query is missing"),
        ("memory_search", {"query": None}, "query is missing"),
        ("memory_search", {"query": "  "}, "query is empty"),
        ("memory_search", {"query": 3}, "query is not a text"),
        ("memory_search", {"query": "x" * 2001}, "query is too long: 2,001 characters, at most 2,000"),
        ("memory_search", {"query": "x", "limit": 0}, "limit is 0; it is between 1 and 50"),
        ("memory_search", {"query": "x", "limit": True}, "limit is not a whole number"),
        ("memory_search", {"query": "x", "limit": 1.5}, "limit is not a whole number"),
        ("memory_search", {"query": "x", "mode": "fuzzy"}, "mode: 'fuzzy' is unknown"),
        ("memory_search", {"query": "x", "tier": "daily"}, "tier is not a list"),
        ("memory_search", {"query": "x", "tier": ["weekly"]}, "tier: 'weekly' is unknown"),
        ("memory_search", {"query": "x", "tag": [1]}, "tag is not a text"),
        ("memory_search", {"query": "x", "tag": ["y"] * 21}, "tag has 21 items, at most 20"),
        ("memory_search", {"query": "x", "project": "other"}, "memory_search takes no 'project'"),
        ("memory_search", {"query": "x", "as_of": "someday"}, "as_of: 'someday' is not a date"),
        ("memory_search", {"query": "x", "since": "someday"}, "someday"),
        ("memory_context", {"agent": "codex"}, "memory_context takes no 'agent'"),
        ("memory_facts", {"all": True, "as_of": "2026-01-01"}, "as_of and all"),
        ("memory_add", {"text": "x", "section": "Log"}, "tier daily takes no section"),
        ("memory_why", {"target": "no such line"}, "no such line"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(tools: Tools, name: str, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TarsError) as error:
        tools.call(name, arguments)
    told = explained(error.value)
    assert said in told and "\n" in told, told


def test_what_is_null_is_left_out_and_numbers_are_numbers(tools: Tools) -> None:
    asked = {"query": "kettle", "limit": 2.0, "mode": None, "tier": None, "as_of": None}
    assert tools.call("memory_search", asked)["hits"]
    assert (
        tools.call("memory_add", {"text": "tea", "tier": None, "section": None, "tags": None})["path"]
        == "2026-11-21.md"
    )


def test_a_busy_vault_keeps_the_words(root: Path) -> None:
    tools = tools_of(root, TARS_MEMORY_STORE_LOCK_TIMEOUT="0")
    tools.call("memory_add", {"text": "first"})
    with tools._open({}) as memory:
        state = memory.workspace.state
    with VaultLock(state / "lock", timeout=1, command="test").held(), pytest.raises(UnwritableError) as error:
        tools.call("memory_add", {"text": "second"}, "host")
    assert "don't send it again" in explained(error.value)
    tools.call("memory_add", {"text": "third"})
    assert [line for line in (root / "2026-11-21.md").read_text().split("\n") if "second" in line]


def test_reading_makes_nothing_in_the_vault(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "- the kettle is blue\n"}, vault_id=None)
    tools = tools_of(root)
    for name, calls in CALLS.items():
        for arguments in calls if name not in ("memory_add", "memory_propose") else ():
            try:
                tools.call(name, arguments)
            except TarsError:
                continue  # there is no such note
    assert [path.name for path in root.iterdir()] == ["Memory.md"]


def test_each_call_sees_the_vault_and_the_settings_as_they_are(root: Path, tools: Tools) -> None:
    tools.call("memory_search", {"query": "kettle"})
    (root / "Memory.md").write_text("## Notes\n\n- the kettle is red\n")
    (root / ".tars" / "config.toml").write_text('[layout]\nnotes_section = "Kept"\n')
    assert [hit["text"] for hit in tools.call("memory_search", {"query": "kettle"})["hits"]] == ["- the kettle is red"]
    tools.call("memory_add", {"text": "tea", "tier": "semantic"})
    assert (root / "Memory.md").read_text().endswith("## Kept\n- tea [by:: agent]\n")


def test_the_model_stays_open_from_call_to_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.index import passages

    tools = tools_of(make_vault(tmp_path / "vault", {"Memory.md": NOTES["Memory.md"]}))
    with tools._open({}) as memory:
        memory.reindex()
    opened = []
    monkeypatch.setattr(
        passages, "open_runner", lambda *asked, real=passages.open_runner: opened.append(asked) or real(*asked)
    )
    for words in ("kettle of blue", "allergic Mira", "walnut allergy", "is the kettle blue"):
        assert tools.call("memory_search", {"query": words})["mode"] == "hybrid"
    assert len(opened) == 2  # a process that asks once does not hold it
