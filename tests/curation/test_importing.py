"""import: what other programs remember becomes candidates, each with its place and its exact words, once."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from curation import poison
from curation.extracting import House, texts
from tars_memory.capture import memories
from tars_memory.curation.extraction.drawing import MOST_FACTS
from tars_memory.errors import UsageError

INSTRUCTIONS = """\
# Website

This is a Next.js app.

## Commands

- Run tests with `npm test`.
- Build with:
  - `make ci` in CI
    and nowhere else

```bash
npm run lint
```

## Style

1. Use 2 spaces.
2. Never commit to main.
@docs/style.md

For tests:

- use fixtures

**Before a release:**
1. **Review**: read it all
   - every line
2. Build
   ```bash
   make
   ```
   - without warnings
- [ ] tag it
  1. sign the tag

> quoted

@docs/more.md
"""
RULES = [
    ("This is a Next.js app", "CLAUDE.md:3"),
    ("Run tests with `npm test` [Commands]", "CLAUDE.md:7"),
    ("`make ci` in CI and nowhere else [Build with]", "CLAUDE.md:9"),
    ("Use 2 spaces [Style]", "CLAUDE.md:18"),
    ("Never commit to main [Style]", "CLAUDE.md:19"),
    ("use fixtures [For tests]", "CLAUDE.md:24"),
    ("**Review**: read it all [Before a release]", "CLAUDE.md:27"),
    ("every line [Review]", "CLAUDE.md:28"),
    ("Build [Before a release]", "CLAUDE.md:29"),
    ("without warnings [Build]", "CLAUDE.md:33"),
    ("tag it [Before a release]", "CLAUDE.md:34"),
    ("sign the tag [tag it]", "CLAUDE.md:35"),
]
FEEDBACK = """\
---
name: testing
description: how to test
{type}
---

Tests must hit a real database.

**Why:** a mocked migration broke production.
**How to apply:** everywhere.
"""
KNOWLEDGE = """\
---
title: Coffee
permalink: coffee
created: 2025-03-01
---
Prose, which is no observation.

- [method] Pour over is clearer than French press
- [technique] 96 °C is best #brewing (own experience)
- [ ] a task
- [x] done
- [a link](x.md) to somewhere
- requires_the [[Grinder]] (for espresso)
- [[Tea|the other one]]
- a whole sentence of many words about [[Cups]]
"""
EXPORT: list[dict[str, Any]] = [
    {"id": "b2", "memory": "Prefers tea.", "user_id": "ida", "updated_at": "2024-07-21T08:00:00Z"},
    {"id": "a1", "memory": "Ruth lives in Ghent", "user_id": "ida", "created_at": "2024-07-20T08:00:00Z"},
]


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def brought(house: House, *sources: Any, **more: Any) -> Any:
    with house.memory(**{key: more.pop(key) for key in ("dry_run",) if key in more}) as memory:
        return memory.import_memories(sources, **more)


def waiting(house: House) -> list[Any]:
    with house.memory() as memory:
        found = memory.review(writes=False).waiting(limit=1_000).proposals
        return [one for each in found for one in each.leaves]


def places(done: Any) -> list[tuple[str, str]]:
    return [(fact.text, fact.speaker) for session in done.sessions for fact in session.facts]


def test_instructions_wait_as_rules_with_their_places_once(house: House) -> None:
    source = house.log(INSTRUCTIONS.encode(), "CLAUDE.md")
    os.utime(source, (1_790_000_000, 1_790_000_000))
    before, stamp = house.files(), source.stat()
    done = brought(house, source)
    assert places(done) == RULES
    assert "2 code blocks, tables and quotations left out" in done.notices[0]
    assert {(each.target, each.talk) for each in waiting(house)} == {("Procedural.md", done.sessions[0].path)}
    assert [(each.text, each.speaker) for each in waiting(house)] == RULES
    assert house.files().get("Procedural.md") == before.get("Procedural.md")
    assert (source.read_bytes(), source.stat().st_mtime_ns) == (INSTRUCTIONS.encode(), stamp.st_mtime_ns)
    with house.memory() as memory:
        chain = memory.why("Never commit to main [Style]").chain
        assert [(step.quote, step.speaker) for step in chain if step.kind == "said"] == [
            ("Never commit to main.", "CLAUDE.md:19")
        ]
    made = house.files()
    again = brought(house, source)
    assert (again.sessions, [each.failed for each in again.skipped]) == ([], [False])
    assert house.files() == made
    with house.memory() as memory:
        memory.undo(done.sessions[0].txn)
    now = house.files()
    assert now == before | {path: now[path] for path in now if path.startswith(".tars/")}


def test_several_sources_are_one_transaction_and_a_dry_run_is_none(house: House) -> None:
    (house.logs / "site").mkdir()
    for name in ("CLAUDE.md", "AGENTS.md"):
        (house.logs / "site" / name).write_text(f"- Only in {name}\n- In both\n")
    export = house.log(json.dumps(EXPORT).encode(), "mem0.json")
    before = house.files()
    dry = brought(house, house.logs / "site", export, dry_run=True)
    assert house.files() == before
    done = brought(house, house.logs / "site", export)
    assert (
        texts(dry)
        == texts(done)
        == [
            *("Only in AGENTS.md", "In both", "Only in CLAUDE.md"),
            *("Ruth lives in Ghent", "Prefers tea"),
        ]
    )
    assert len({session.txn for session in done.sessions}) == 1
    assert [session.dropped["known"] for session in done.sessions] == [0, 1, 0]
    with house.memory() as memory:
        memory.undo()
    now = house.files()
    assert now == before | {path: now[path] for path in now if path.startswith(".tars/")}


@pytest.mark.parametrize("kind", ["type: feedback", "metadata:\n  node_type: memory\n  type: feedback"])
def test_the_auto_memory_of_claude_code(house: House, kind: str) -> None:
    folder = house.logs / "-home-me-site" / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Index\n\n- [Testing](testing.md) — real database\n- The host is st-4\n")
    (folder / "testing.md").write_text(FEEDBACK.replace("{type}", kind))
    (folder / "role.md").write_text(
        "---\nname: role\ntype: user\ncreated: 2026-11-20\n---\nKnows Go.\n\nNew to React.\n"
    )
    done = brought(house, folder)
    rule = "Tests must hit a real database. **Why:** a mocked migration broke production. **How to apply:** everywhere"
    assert places(done) == [
        ("The host is st-4", "MEMORY.md:4"),
        ("Knows Go [role]", "role.md:6"),
        ("New to React [role]", "role.md:8"),
        (rule, f"testing.md:{7 + kind.count(chr(10))}"),
    ]
    assert [fact.path for fact in done.sessions[0].facts[1:3]] == ["2026-11-20.md"] * 2
    assert done.sessions[0].path.endswith("memory of -home-me-site.md")
    assert brought(house, folder / "MEMORY.md").skipped[0].why == "nothing new in it"
    targets = {each.text: each.target for each in waiting(house)}
    assert [text for text, target in targets.items() if target == "Procedural.md"] == [rule]


def test_observations_and_relations_of_basic_memory(house: House) -> None:
    done = brought(house, house.log(KNOWLEDGE.encode(), "coffee.md"))
    assert places(done) == [
        ("Pour over is clearer than French press [Coffee]", "coffee.md:8"),
        ("96 °C is best #brewing (own experience) [Coffee]", "coffee.md:9"),
        ("Coffee requires the Grinder", "coffee.md:13"),
        ("Coffee relates to Tea", "coffee.md:14"),
    ]
    assert {fact.path for fact in done.sessions[0].facts} == {"2025-03-01.md"}
    facts = [each.fact for each in waiting(house) if each.fact]
    assert [(each.subject, each.predicate, each.object) for each in facts] == [
        ("Coffee", "requires the", "Grinder"),
        ("Coffee", "relates to", "Tea"),
    ]


@pytest.mark.parametrize("shape", [list, lambda each: {"results": each}, lambda each: {"memories": each, "count": 2}])
def test_exports_of_mem0(house: House, shape: Any) -> None:
    done = brought(house, io.BytesIO(json.dumps(shape(EXPORT)).encode()))
    assert places(done) == [("Ruth lives in Ghent", "- a1"), ("Prefers tea", "- b2")]
    assert [fact.path for fact in done.sessions[0].facts] == ["2024-07-20.md", "2024-07-21.md"]
    grown = [*EXPORT, {"id": "c3", "memory": "Has a cat", "user_id": "ben", "updated_at": "2024-08-01T08:00:00Z"}]
    assert texts(brought(house, io.BytesIO(json.dumps(shape(grown)).encode()))) == ["ben: Has a cat"]
    graph = {"results": [], "relations": [{"source": "ida", "relationship": "works_at", "target": "acme_corp"}]}
    (fact,) = brought(house, io.BytesIO(json.dumps(graph).encode())).sessions[0].facts
    assert (fact.text, fact.claim, fact.quote) == (
        "ida works at acme corp", "ida › works at:: acme corp", "ida works_at acme_corp"
    )  # fmt: skip


def test_an_export_whose_names_are_no_texts_is_read(house: House) -> None:
    odd: list[Any] = [["a"], {"b": 1}, 7, None]
    export = [{"id": who, "memory": f"Knows {number}", "user_id": who} for number, who in enumerate(odd)]
    done = brought(house, io.BytesIO(json.dumps(export).encode()))
    assert texts(done) == ["Knows 0", "Knows 1", "Knows 2", "Knows 3"]


@pytest.mark.parametrize("export", [b'{"results": 5}', b'{"memories": true}', b'{"results": {"memory": "x"}}'])
def test_an_export_without_a_list_says_so(house: House, export: bytes) -> None:
    (unknown,) = brought(house, io.BytesIO(export)).skipped
    assert unknown.why.startswith("its JSON has no list of objects")


def test_an_empty_path_is_not_the_current_folder(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(house.log(b"- One is here\n", "AGENTS.md")).parent)
    assert [skipped.why for skipped in brought(house, "").skipped] == ["the path is empty"]


def test_what_was_added_or_moved_gives_only_what_is_new(house: House) -> None:
    source = house.log(b"- One is here\n- Two is here\n", "AGENTS.md")
    brought(house, source)
    with house.memory() as memory:
        first, _ = memory.review().waiting(limit=10).proposals
        memory.review().decide([], [first.id])
    source.write_text("# Now\n\n- Zero is here\n- Two is here\n- One is here\n")
    done = brought(house, source)
    assert texts(done) == ["Zero is here"]
    assert (done.sessions[0].dropped["known"], done.sessions[0].dropped["rejected"]) == (1, 1)
    assert len([*(house.root / "sessions").glob("*.md")]) == 1
    made = house.files()
    source.write_text("- One is here\n- Zero is here\n")
    assert brought(house, source).skipped[0].why == "nothing new in it"
    assert house.files() == made


def test_what_was_forgotten_does_not_come_back_by_a_newer_file(house: House) -> None:
    source = house.log(b"- The spare key is with Ida\n- Feed the cat at nine\n", "AGENTS.md")
    brought(house, source)
    with house.memory(interactive=True, actor="person") as memory:
        memory.forget("The spare key is with Ida")
    source.write_text("- Water the fern\n- The spare key is with Ida\n- Feed the cat at nine\n")
    os.utime(source, (1_890_000_000, 1_890_000_000))
    assert texts(brought(house, source)) == ["Water the fern"]
    anew = [{"id": "1", "memory": "The spare key is with Ida", "created_at": "2029-01-01T00:00:00Z"}]
    assert texts(brought(house, house.log(json.dumps(anew).encode(), "mem0.json"))) == ["The spare key is with Ida"]
    whole = b"".join(data for path, data in house.files().items() if "mem0" not in path and "2029" not in path)
    assert b"spare key" not in whole


BROKEN: dict[str, tuple[bytes, str]] = {
    "cut.json": (b'[{"memory": "x"', "its JSON is incomplete or invalid:"),
    "deep.json": (b"[" * 100_000, "its JSON is incomplete or invalid: it is nested too deeply"),
    "chat.json": (b'[{"role": "user", "content": "hi"}]', "tars-memory extract reads conversations"),
    "chat.jsonl": (b'{"role": "user"}\n{"role": "user"}\n', "line 2 column 1 (char 17); tars-memory extract reads"),
    "export.zip": (b"PK\x03\x04\x14\0\0\0", "it is an archive; tars-memory extract reads conversations"),
    "page.md": (b"# A page\n\n- of notes\n", "--format instructions"),
    "picture.md": (b"\x89PNG\r\n\x1a\n\0\0", "it is not text"),
    "CLAUDE.md": (b"- caf\xe9\n", "it is not UTF-8: byte 5"),
    "AGENTS.md": (b"- a\n" * 600_000, "more than 2 MB"),
}


def test_what_is_broken_is_named_and_the_rest_is_brought(house: House) -> None:
    paths = [house.log(data, name) for name, (data, _) in BROKEN.items()]
    (house.logs / "empty").mkdir()
    os.mkfifo(house.logs / "empty" / "pipe.md")
    good = house.log(b"- The good one\n", "GEMINI.md")
    done = brought(house, *paths, house.logs / "missing", house.logs / "empty", good)
    assert texts(done) == ["The good one"]
    told = {os.path.basename(each.source): each.why for each in done.skipped}
    for name, (_, why) in BROKEN.items():
        assert why in told[name], name
    assert told["missing"] == "it can't be read: No such file or directory"
    assert told["pipe.md"] == "it is not a regular file"
    assert all(each.failed for each in done.skipped)
    with pytest.raises(UsageError, match="unknown format: 'mem1'"):
        brought(house, good, form="mem1")
    assert texts(brought(house, house.logs / "page.md", form="instructions")) == ["of notes"]


def test_poison_is_words_and_a_rule_stays_a_proposal(house: House) -> None:
    before = house.files()
    said = [text for name, text in poison.SAID.items() if name not in ("one long line", "many lines", "deep")]
    source = house.log("".join(f"- {text}\n\n" for text in said).encode("utf-8", "replace"), "CLAUDE.md")
    export = house.log(json.dumps([{"id": name, "memory": name} for name in said]).encode(), "mem0.json")
    brought(house, source, export)
    now = house.files()
    assert {now.get(each) == before.get(each) for each in ("Memory.md", "Procedural.md")} == {True}
    lines = [line for path, data in now.items() if "/" not in path and path not in before for line in data.splitlines()]
    form = re.compile(rb"- \d\d:\d\d \[extracted\] .* \^d-[a-z2-7]{7}(-\d+)?")
    assert lines and all(line in (b"", b"## Log") or form.fullmatch(line) for line in lines)
    whole = b"\n".join(data for path, data in now.items() if path not in before).decode()
    assert poison.TOKEN not in whole and "hunter2" not in whole
    assert not re.search("[\U000e0000-\U000e0fff\u202a-\u202e\u2066-\u2069]", whole)
    assert any("It contained invisible characters" in each.warnings for each in waiting(house))


def test_what_is_long_is_kept_and_what_is_much_comes_in_parts(house: House) -> None:
    many = "".join(f"- Item {number} is here\n" for number in range(MOST_FACTS + 20))
    source = house.log(f"- {'long ' * 200}\n{many}".encode(), "AGENTS.md")
    first = brought(house, source)
    assert len(texts(first)) == MOST_FACTS
    assert first.sessions[0].left_out == {"too long": 1}
    assert f"{MOST_FACTS} candidates are enough" in " ".join(first.notices)
    assert "long long" in house.session()
    assert len(texts(brought(house, source))) == 20


def test_notes_of_this_memory_are_no_source(house: House) -> None:
    (house.root / "coffee.md").write_text(KNOWLEDGE)
    (house.root / "Memory.md").write_text("## Notes\n\n- [fact] stands here\n")
    assert {fact.speaker.partition(":")[0] for fact in brought(house, house.root).sessions[0].facts} == {"coffee.md"}
    assert brought(house, house.root / "Memory.md").skipped[0].why == "it is a note of this memory, not a log"


def test_the_formats_are_those_of_the_help() -> None:
    from tars_memory.doors.cli.app import load

    said = next(each.help for each in load("import").params if each.name == "form")
    assert all(form in said for form in memories.FORMATS)
