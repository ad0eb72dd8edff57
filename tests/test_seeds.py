"""Vaults that other programs made work as they are: found again by init, read, written, reviewed, taken back."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from tars_memory.memory import Memory
from tars_memory.settings import LayoutOptions
from tars_memory.vault.layout import LIKE, Layout
from tars_memory.vault.model import Tier

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
CORRECTIONS = """\
# Corrections

## 2026-11-20T10:22:33

- input: how warm is it
- got: 68 °F
- note: always answer in metric units

## 2026-11-20T11:00:00

- input: and the wind
- got: 12 mph
"""
SEEDS: dict[str, dict[str, str]] = {
    "tars": {
        "Memory.md": "<!-- tars:memory what is known -->\n- Ida prefers oolong\n",
        "Procedural.md": "- answer briefly\n",
        "Pinned.md": "- the release is on Friday\n",
        "2026-11-20.md": "# 2026-11-20\n\n- 09:00 [cli] session saved — a walk\n"
        "- 09:05 [cli] [extracted] Ida has a boat\n09:05 [telegram] [extracted] Ida keeps bees\n"
        "- 09:06 tool:search — wind\n- 09:07 correction: metric\n",
        "2026-11-19.md": "# 2026-11-19\n\n"
        "10:00 [extracted] Ida rows on Sundays\n10:01 [web] [extracted] Ida owns a kite\n",
        "sessions/2026-11-20T09-00-00-cli.md": "# Session 2026-11-20 09:00\n\nA walk.\n\n## Final\n",
        "corrections.md": CORRECTIONS,
        "feedback/old.md": "- done\n",
    },
    "starpod": {
        "MEMORY.md": "# Memory\n\n- Ida prefers oolong\n",
        "USER.md": "Ida, who lives in Cork.\n",
        "SOUL.md": "Calm and brief.\n",
        "memory/2026-11-20.md": "- 09:05 [extracted] Ida has a boat\n",
        "memory/sessions/a.md": "# A walk\n",
        "boats.md": "Sails and oars.\n",
    },
    "istota": {
        "config/USER.md": "## Tastes\n\n- Ida prefers oolong\n",
        "memories/2026-11-20.md": "- 09:05 [extracted] Ida has a boat\n- fixed the sail (2026-11-20, ref:17)\n",
        "Channels/abc/CHANNEL.md": "A channel.\n",
        "playbooks/sail.md": "How to sail.\n",
    },
    "starbot": {
        "MEMORY.md": "## Decisions\n\n- 2026-01-01: use metric units\n\n## Facts\n\n- Ida prefers oolong\n",
        "projects/boat/PMEMORY.md": "- the keel is red\n",
        "2026-11-20.md": "- 09:05 [extracted] Ida has a boat\n",
    },
}
NOTES = {
    "tars": ("Memory.md", "2026-11-21.md", "sessions", ["User.md", "Pinned.md"]),
    "starpod": ("MEMORY.md", "memory/2026-11-21.md", "memory/sessions", ["SOUL.md", "USER.md"]),
    "istota": ("config/USER.md", "memories/2026-11-21.md", "sessions", []),
    "starbot": ("MEMORY.md", "2026-11-21.md", "sessions", ["IDENTITY.md", "SOUL.md", "USER.md"]),
}


def planted(root: Path, notes: dict[str, str]) -> dict[str, bytes]:
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    return tree(root)


def tree(root: Path) -> dict[str, bytes]:
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {path: data for path, data in found.items() if not path.startswith(".tars/")}


def opened(root: Path, **more: Any) -> Memory:
    return Memory(root, now=NOW, env={"TARS_MEMORY_HOME": str(root.parent / "home")}, **more)


def made(root: Path, **more: Any) -> Any:
    return Memory.init(root, now=NOW, env={"TARS_MEMORY_HOME": str(root.parent / "home")}, **more)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_vault_of_another_program_works_as_it_is(tmp_path: Path, seed: str) -> None:
    root = tmp_path / "vault"
    notes = planted(root, SEEDS[seed])
    assert made(root, dry_run=True).layout == seed
    assert tree(root) == notes
    report = made(root)
    assert report.layout == seed
    assert (root / ".tars/config.toml").read_text() == f'[layout]\nlike = "{seed}"\n'
    assert {path: data for path, data in tree(root).items() if path in notes} == notes
    assert set(tree(root)) == set(notes)
    again = made(root)
    assert (again.created, again.layout) == ([], seed)
    before = tree(root)
    memory_note, today, sessions, loaded = NOTES[seed]
    with opened(root, interactive=True, actor="person") as memory:
        layout = memory.workspace.vault.layout
        assert (layout.memory, layout.sessions, layout.loaded) == (memory_note, sessions, loaded)
        assert "Ida prefers oolong" in [entry.text for entry in memory.list("semantic")]
        assert memory.search("oolong", mode="lexical").hits[0].path == memory_note
        told = memory.context("what does Ida drink")
        assert "Ida prefers oolong" in told.text
        assert all(SEEDS[seed][path].strip() in told.text for path in loaded if path in SEEDS[seed])
        assert memory.log("met Ruth").path == today
        assert memory.remember("Ruth has a dog").path == memory_note
        (boat,) = [each for each in memory.review().waiting(limit=50).proposals if "boat" in each.text]
        assert boat.target == memory_note
        memory.review().decide([boat.id], [])
        assert "[promoted] Ida has a boat" in "".join(path.read_text() for path in root.rglob("2026-11-20.md"))
        memory.undo(last=3)
    assert tree(root) == before


def test_tars_lines_and_feedback_are_candidates_and_corrections(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    planted(root, SEEDS["tars"])
    made(root)
    with opened(root, interactive=True, actor="person") as memory:
        waiting = {each.text: each for each in memory.review().waiting(limit=50).proposals for each in each.leaves}
        drawn = {"Ida has a boat", "Ida keeps bees", "Ida rows on Sundays", "Ida owns a kite"}
        assert set(waiting) == drawn | {"Always answer in metric units"}
        rule = waiting["Always answer in metric units"]
        assert rule.target == "Procedural.md"
        assert rule.quote == "always answer in metric units (asked: how warm is it; answered: 68 °F)"
        memory.review().decide(
            [rule.id, waiting["Ida has a boat"].id],
            [waiting[each].id for each in ("Ida rows on Sundays", "Ida keeps bees")],
        )
        assert "- [promoted] note: always answer in metric units ^f-" in (root / "corrections.md").read_text()
        first, second = (root / "2026-11-20.md").read_text().splitlines()[3:5]
        assert first.startswith("- 09:05 [cli] [promoted] Ida has a boat ^d-")
        assert second.startswith("09:05 [telegram] [rejected] Ida keeps bees ^d-")
        assert (
            (root / "2026-11-19.md").read_text().startswith("# 2026-11-19\n\n10:00 [rejected] Ida rows on Sundays ^d-")
        )
        left = [each.text for each in memory.review().waiting(limit=50).proposals]
        assert left == ["Ida owns a kite"]
        told = memory.context("what does Ida own and row", days=3).text
        assert "Ida owns a kite" in told and "rows" not in told and "bees" not in told
        kite = memory.why("Ida owns a kite")
        assert (kite.path, kite.line) == ("2026-11-19.md", 4)
        memory.undo()
    assert tree(root) == {path: text.encode() for path, text in SEEDS["tars"].items()}


def test_lines_stand_where_the_program_that_made_the_vault_writes_them(tmp_path: Path) -> None:
    """Bare bullets at the end for tars, in a day that begins with its date; istota's days are bare bullets, too."""
    root = tmp_path / "vault"
    planted(root, {**SEEDS["tars"], "Memory.md": "- Ida prefers oolong\n"})
    made(root)
    with opened(root, interactive=True, actor="person") as memory:
        memory.log("met Ruth")
        memory.log("left")
        memory.remember("Ruth has a dog")
        day = root / "2026-11-21.md"
        day.write_text(day.read_text() + "- 14:31 [cli] [extracted] ma sœur habite à Cork\n")
        assert {each.section for each in memory.review().waiting(limit=50).proposals} == {""}
        day.write_text(day.read_text().partition("- 14:31")[0])
        (boat,) = [each for each in memory.review().waiting(limit=50).proposals if "boat" in each.text]
        memory.review().decide([boat.id], [])
        assert (root / "2026-11-21.md").read_text() == "# 2026-11-21\n\n- 14:30 met Ruth\n- 14:30 left\n"
        lines = (root / "Memory.md").read_text().splitlines()
        assert lines[:2] == ["- Ida prefers oolong", "- Ruth has a dog"] and lines[2].startswith("- Ida has a boat ([[")
        (root / "Memory.md").write_text("## People\n\n- Anna\n")
        assert memory.remember("Bo is tall").line == 1
        assert (root / "Memory.md").read_text() == "- Bo is tall\n## People\n\n- Anna\n"
    root = tmp_path / "istota"
    day = "- rigged (2026-11-21, ref:4)\n\n## Later\n\n- tea\n"
    planted(root, {**SEEDS["istota"], "memories/2026-11-21.md": day})
    made(root)
    with opened(root) as memory:
        assert memory.log("met Ruth").line == 2
        assert memory.remember("Ruth has a dog").line == 6


def test_obsidian_wins_over_the_program_that_made_the_vault(tmp_path: Path) -> None:
    planted(tmp_path, {**SEEDS["starpod"], ".obsidian/daily-notes.json": '{"folder": "Journal"}'})
    options = LayoutOptions(like="starpod")
    assert Layout.of(tmp_path, options).daily_path(NOW.date()) == "Journal/2026-11-21.md"
    (tmp_path / ".obsidian/daily-notes.json").write_text('{"format": "YYYYMMDD"}')
    assert Layout.of(tmp_path, options).daily_path(NOW.date()) == "20261121.md"
    assert Layout.of(tmp_path, LayoutOptions(like="starpod", daily_folder="own")).daily_folder == "own"


def test_a_note_of_ours_in_another_case_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    planted(root, {"facts.md": "## Anna\n\n- likes:: tea\n", "Corrections.md": "- slower\n", "Review.md": "x\n"})
    assert Layout.of(root).twins() == [("Facts.md", "facts.md"), ("corrections.md", "Corrections.md")]
    assert "Facts.md counts, not facts.md: they differ only by case" in made(root).notices


@pytest.mark.parametrize(
    ("there", "memory", "twins"),
    [
        ((), "Memory.md", []),
        (("MEMORY.md",), "MEMORY.md", []),
        (("memory.md",), "memory.md", []),
        (("Memory.md", "memory.md"), "Memory.md", [("Memory.md", "memory.md")]),
        (("MEMORY.md", "memory.md"), "MEMORY.md", [("MEMORY.md", "memory.md")]),
    ],
)
def test_names_that_differ_by_case(tmp_path: Path, there: tuple[str, ...], memory: str, twins: list[Any]) -> None:
    root = tmp_path / "vault"
    before = planted(root, {path: f"- in {path}\n" for path in there} | {"projects/a/MEMORY.md": "- in a\n"})
    layout = Layout.of(root)
    assert (layout.memory, layout.twins()) == (memory, twins)
    assert {layout.tier_of(path) for path in (*there, "projects/a/MEMORY.md")} == {Tier.SEMANTIC}
    assert Layout.of(root, scope="a").memory == "projects/a/MEMORY.md"
    report = made(root)
    assert report.notices[: len(twins)] == [
        f"{one} counts, not {other}: they differ only by case" for one, other in twins
    ]
    assert {path: data for path, data in tree(root).items() if path in before} == before
    assert ("Memory.md" in report.created) is not bool(there)
    with opened(root) as vault:
        assert vault.remember("Ruth has a dog").path == memory


def test_places_are_notes_inside_the_vault(tmp_path: Path) -> None:
    planted(tmp_path, {"brain/core.md": "- in core\n", "about.md": "- about\n"})
    layout = Layout.of(tmp_path, LayoutOptions(memory="brain/Core.md", loaded=("about.md", "Me.md")))
    assert (layout.memory, layout.loaded) == ("brain/core.md", ["about.md", "Me.md"])
    assert layout.tier_of("brain/core.md") is Tier.SEMANTIC
    assert layout.tier_of("Memory.md") is Tier.NOTE
    for bad in ("../x.md", ".hidden/x.md", "x.txt", "a//b.md", "a\0b.md"):
        layout = Layout.of(tmp_path, LayoutOptions(memory=bad))
        assert "is not a note inside the vault" in str(layout.problem)
        assert layout.memory == "Memory.md"
    for both in ({"memory": "Procedural.md"}, {"procedural": "memory.md"}, {"memory": "Review.md"}):
        layout = Layout.of(tmp_path, LayoutOptions(**both))
        assert "can't both be used" in str(layout.problem)
        assert layout.tier_of("Procedural.md") is Tier.PROCEDURAL
    assert Layout.of(tmp_path, LayoutOptions(procedural="projects/a/Procedural.md")).problem


DAYS = ["2026-01-02", "2026-02-03", "2026-03-04", "2026-09-05", "2026-11-20"]
AGENT = {
    "SOUL.md": "Calm and brief.\n",
    "HEARTBEAT.md": "Look at the xylophone.\n",
    "BOOT.md": "Greet the zither.\n",
    "BOOTSTRAP.md": "Ask for the bassoon.\n",
    "MEMORY.md": "- the harbour closes at ten\n",
    **{f"users/ida/{path}": text for path, text in SEEDS["starpod"].items() if path != "SOUL.md"},
    "users/ルス/USER.md": "ルスは横浜に住んでいる。\n",
    "users/ルス/MEMORY.md": "- canarytea\n",
    "users/ルス/memory/2026-11-20.md": "# Daily Log — 2026-11-20\n\n## 09:05:00\ncanaryday\n",
}


def test_each_user_of_an_agent_has_a_memory_over_the_common_one(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    notes = planted(root, AGENT)
    report = made(root)
    assert report.notices == ["each user has a memory beside the shared one: ida, ルス; choose one with --project ida"]
    assert (report.layout, report.created) == ("starpod", [".tars/config.toml"])
    with opened(root, project="ida", interactive=True, actor="person") as ida:
        told = ida.context("what does Ida drink").text
        for said in ("Calm and brief", "lives in Cork", "oolong", "closes at ten"):
            assert said in told
        for unsaid in ("xylophone", "zither", "bassoon", "canary", "横浜"):
            assert unsaid not in told
        assert not ida.search("canarytea").hits and not ida.search("canaryday").hits
        assert ida.search("harbour", mode="lexical").hits[0].path == "MEMORY.md"
        assert ida.remember("Ruth has a dog").path == "users/ida/MEMORY.md"
        assert ida.log("met Ruth").path == "users/ida/memory/2026-11-21.md"
        (boat,) = [each for each in ida.review().waiting(limit=50).proposals if "boat" in each.text]
        ida.review().decide([boat.id], [])
        linked = "([[users/ida/memory/2026-11-20#^d-"
        assert linked in (root / "users/ida/MEMORY.md").read_text()
        ida.undo(last=3)
    with opened(root, project="ルス") as ruth:
        assert "横浜" in ruth.context().text and "oolong" not in ruth.context().text
        assert ruth.remember("お茶").path == "users/ルス/MEMORY.md"
        ruth.undo()
    with opened(root) as outside:
        assert not outside.search("oolong").hits and "Calm" in outside.context().text
    assert tree(root) == notes
    report = made(root / "users/ida")
    assert report.layout == "starpod" and "to have it in context" in report.notices[0]


def test_what_a_prompt_of_an_agent_begins_with(tmp_path: Path) -> None:
    """SOUL, USER and MEMORY capped, and the last three daily logs that there are; soft limits are told."""
    root = tmp_path / "agent"
    logs = {f"users/ida/memory/{day}.md": f"## 09:00:00\ntold on {day}\n" for day in DAYS}
    long = {
        "SOUL.md": "".join(f"soul {number} is calm.\n\n" for number in range(500)),
        "users/ida/MEMORY.md": "".join(f"- memory {number} of the boat\n" for number in range(500)),
        "users/ida/USER.md": "".join(f"Ida knows {number}.\n\n" for number in range(400)),
    }
    planted(root, {**AGENT, **logs, **long})
    made(root)
    with opened(root, project="ida") as ida:
        told = ida.context(budget=50_000).text
        assert [day for day in DAYS if f"told on {day}" in told] == DAYS[2:]
        assert all(told.count(words) > 300 for words in ("is calm", "of the boat", "Ida knows"))
        assert "told on 2026-01-02" in ida.context(budget=50_000, days=5).text
        assert all("told on" not in ida.context(budget=50_000, days=days).text for days in (0, 1))
        capped = ida.context(budget=50_000, file_cap=400).text
        assert all(0 < capped.count(words) < 30 for words in ("is calm", "of the boat", "Ida knows"))
        small = ida.context(budget=1_000).text
        assert all(words in small for words in ("is calm", "of the boat", "Ida knows"))
        large = {note.path for note in ida.loaded().notes if note.large}
        assert large == {"SOUL.md", "users/ida/USER.md", "users/ida/MEMORY.md"}
        told_by = {each["path"]: each["message"] for each in ida.doctor()["findings"] if each["kind"] == "size"}
        assert "4,000 characters is a good size" in told_by["users/ida/USER.md"]


@pytest.mark.parametrize(("mark", "end"), [("", "\n"), ("- ", "\r\n")])
def test_of_a_long_paragraph_that_finds_no_room_the_beginning_is_told(tmp_path: Path, mark: str, end: str) -> None:
    """Starpod cuts a note at its cap and leaves none out; a sentence stays whole, also in scripts without blanks."""
    root = tmp_path / "agent"
    told = {"a": "Ida rows every morning before breakfast. ", "ui": "彼女は毎朝湖でボートを漕いでいます。"}
    notes = {
        f"users/{name}/USER.md": f"Short for {name}.{end}{end}{mark}{text * 300}{end}" for name, text in told.items()
    }
    memories = {f"users/{name}/MEMORY.md": f"- it is Tuesday{end}" * 400 for name in told}
    planted(root, {**AGENT, **notes, **memories, "SOUL.md": "Calm and brief. " * 2_000})
    made(root)
    for name, text in told.items():
        with opened(root, project=name) as memory:
            packed = memory.context(budget=1_500)
            (said,) = [block.text for block in packed.blocks if block.path.endswith("USER.md")]
            assert packed.used <= 1_500
            assert said.startswith(f"Short for {name}.") and said.endswith(f"{text.strip()} …") and said.count(text) > 5
            (soul,) = [block for block in memory.context(budget=50_000).blocks if block.path == "SOUL.md"]
            assert 15_000 < len(soul.text) <= 20_000 and soul.text.endswith("brief. …")
            for budget in range(20, 1_500, 421):
                assert memory.context(budget=budget).used <= budget
                assert memory.context("who rows", budget=budget, mode="lexical").used <= budget


def test_channels_are_seen_from_everywhere_and_written_each_by_itself(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    channel = {
        "Channels/Küche/CHANNEL.md": "# Küche\n\n- der Ofen ist kaputt\n",
        "Channels/Küche/memories/2026-11-20.md": "- neue Pfanne gekauft (2026-11-20, ref:19)\n",
    }
    notes = planted(root, {**SEEDS["istota"], **channel})
    made(root)
    with opened(root) as outside:
        assert outside.search("Ofen", mode="lexical").hits[0].path == "Channels/Küche/CHANNEL.md"
        assert "Ofen" not in outside.context().text and "oolong" in outside.context().text
    with opened(root, project="küche", interactive=True, actor="person") as inside:
        told = inside.context("Pfanne").text
        assert "Ofen" in told and "Pfanne" in told and "oolong" in told
        assert inside.remember("Herd ist neu").path == "Channels/Küche/CHANNEL.md"
        assert inside.log("geputzt").path == "Channels/Küche/memories/2026-11-21.md"
        assert [each.text for each in inside.list()] == ["der Ofen ist kaputt", "Herd ist neu"]
        inside.undo(last=2)
    assert tree(root) == notes


def test_projects_of_ours_in_such_a_vault_stay_projects(tmp_path: Path) -> None:
    for seed in ("starpod", "istota"):
        root = tmp_path / seed
        planted(root, {**SEEDS[seed], "projects/boat/Memory.md": "- canarykeel\n"})
        for path in [path for path in SEEDS[seed] if path.startswith("Channels/")]:
            (root / path).unlink()
            (root / path).parent.rmdir()
            (root / "Channels").rmdir()
        made(root)
        with opened(root) as outside:
            assert not outside.search("canarykeel").hits
        with opened(root, project="boat") as inside:
            assert inside.search("canarykeel", mode="lexical").hits
            assert inside.log("sailed").path.startswith("projects/boat/mem")


HYBRIDS: dict[str, tuple[str, ...]] = {
    "starpod": ("Memory/2026-11-20.md", "memory.md"),
    "istota": ("Config/user.md", "Notes/a.md"),
    "starbot": ("Projects/Boot/Pmemory.md", "Memory.md", "feedback.md"),
    "tars": ("PINNED.md", "memory.md"),
    "": ("Memory.md", "memory/thoughts.md", "users/list.md", "Channels/tv.md", "Journal/2026-11-20.md"),
}


@pytest.mark.parametrize("like", HYBRIDS)
def test_names_in_other_letters_and_vaults_that_look_alike_in_part(tmp_path: Path, like: str) -> None:
    root = tmp_path / "vault"
    planted(root, {path: f"- in {path}\n" for path in HYBRIDS[like]})
    assert made(root).layout == like
    daily = {"starpod": "Memory/2026-11-21.md", "istota": "memories/2026-11-21.md"}
    kept = {"istota": "Config/user.md", "": "Memory.md"}
    with opened(root, project="boot" if like == "starbot" else None) as memory:
        if like == "starbot":
            assert memory.remember("red").path == "Projects/Boot/Pmemory.md"
        else:
            assert memory.remember("red").path == kept.get(like, "memory.md")
            assert memory.log("blue").path == daily.get(like, "2026-11-21.md")


def test_predicates_of_other_programs_are_ours(tmp_path: Path) -> None:
    """A new value ends the old one under either name; events end after 90 days; what is given away is no longer had."""
    single = {"works_at": "works at", "lives_in": "lives in", "has_role": "role", "has_status": "status"}
    events = ("interested_in", "completed", "acquired", "disposed_of", "traveled_to")
    others = ("works_on", "uses_tech", "knows", "speaks", "prefers", "allergic_to", "owns", "relates_to")
    others += ("has_family_member", "has_scheduled_procedure", "has_medical_workup", "grew_up_in", "born_in")
    root = tmp_path / "vault"
    planted(root, {"Memory.md": ""})
    with opened(root) as memory:
        for theirs, ours in single.items():
            memory.add_fact("me", theirs, "old", since=date(2026, 1, 1))
            memory.add_fact("me", ours, "new")
        for name in (*others, "staying_in", "visiting", "decided"):
            memory.add_fact("me", name, "one")
            memory.add_fact("me", name, "two")
        for name in events:
            memory.add_fact("me", name, "a skiff", since=date(2026, 11, 1))
        now = {(fact.predicate, fact.object, str(fact.until)) for fact in memory.facts()}
        assert {(name, "new", "None") for name in single.values()} <= now
        assert not any(object_ == "old" for _, object_, _ in now)
        assert {(name, value, "None") for name in (*others, "decided") for value in ("one", "two")} <= now
        assert all((name, "a skiff", "2027-01-30") in now for name in events if name != "acquired")
        assert not any(name == "acquired" for name, *_ in now)
        memory.add_fact("me", "owns", "a [[Dinghy]]", since=date(2026, 3, 1))
        receipt = memory.add_fact("me", "sold", "a dinghy")
        assert "ended on 2026-11-21: me owns:: a [[Dinghy]]" in receipt.notices


def test_each_layout_can_be_set() -> None:
    from tars_memory.settings import ALLOWED

    assert {*LIKE, ""} == {*ALLOWED["layout.like"]}
