"""An agent's topic notes: bounded, the agent's own, in its own folder whatever they are called, undoable."""

from __future__ import annotations

import pytest

from tars_memory.capture.amend import edit, find
from tars_memory.capture.notes import read_topic, topic, topics
from tars_memory.errors import NotFoundError, UnwritableError, UsageError
from tars_memory.settings import LayoutOptions, LimitsOptions

MADE = "---\nauthor: claude\ncreated: 2026-11-21\n---\n# Build\n\n## Notes\n- make test [by:: claude]\n"

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def agent(bench, **more):
    ctx = bench.ctx("agent", interactive=False)
    ctx.vault.limits = LimitsOptions(**more)
    return ctx


def test_a_line_is_added_marked_as_the_agents_and_an_undo_takes_it_back(bench):
    made = topic(agent(bench), "claude", "Build", "make test")
    assert (made.path, made.line, made.written) == ("agents/claude/Build.md", 8, True)
    assert bench.get(made.path) == MADE
    assert not topic(agent(bench), "claude", "build", "make test").written
    assert topic(agent(bench), "claude", "BUILD", "make\ncheck").path == made.path
    assert find(bench.ctx(), "agents/claude/Build.md:9").author == "claude"
    edit(agent(bench), "agents/claude/Build.md:9", "make prove")
    assert bench.get(made.path) == f"{MADE}- make prove [by:: claude]\n"
    for _ in range(3):
        bench.ctx().store.undo()
    assert made.path not in bench.files()


def test_an_agent_spelled_in_another_case_is_the_same_agent(bench):
    first = topic(agent(bench), "Claude", "Build", "make test")
    assert first.path == "agents/Claude/Build.md"
    assert topic(agent(bench), "claude", "build", "make check").path == first.path
    assert topic(agent(bench), "CLAUDE", "Tea", "green").path == "agents/Claude/Tea.md"
    assert [found.name for found in topics(agent(bench), "claude")] == ["Build", "Tea"]
    assert read_topic(agent(bench), "cLAUDE", "Build").path == first.path
    assert "[by:: Claude]" in bench.get("agents/Claude/Tea.md")
    assert topic(agent(bench), "codex", "Build", "x").path == "agents/codex/Build.md"


def test_of_two_folders_that_differ_by_case_the_one_that_is_named_is_meant(bench):
    for name in ("Claude", "claude"):
        bench.put(f"agents/{name}/Tea.md", f"# {name}\n")
    if len({(bench.root / "agents" / name).stat().st_ino for name in ("Claude", "claude")}) < 2:
        pytest.skip("the disk knows no case")
    for name in ("Claude", "claude"):
        assert topic(agent(bench), name, "Tea", "green").path == f"agents/{name}/Tea.md"
    assert topic(agent(bench), "CLAUDE", "Tea", "green").path == "agents/Claude/Tea.md"


def test_of_two_notes_that_differ_by_case_the_one_that_is_named_is_written_and_read(bench):
    paths = [f"agents/claude/{name}.md" for name in ("Tea", "tea")]
    for path in paths:
        bench.put(path, f"# {path}\n")
    if len({(bench.root / path).stat().st_ino for path in paths}) < 2:
        pytest.skip("the disk knows no case")
    for path in paths:
        name = path[-6:-3]
        assert topic(agent(bench), "claude", name, "green").path == path
        assert read_topic(agent(bench), "claude", name).path == path


def test_a_credential_in_its_name_stands_neither_in_the_file_nor_in_its_title(bench):
    made = topic(agent(bench), "claude", f"login {TOKEN}", "x")
    assert TOKEN not in made.path + bench.get(made.path)
    assert bench.get(made.path).split("\n")[4] == "# login (masked github token)"


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("../../etc/passwd", "agents/claude/etc passwd.md"),
        ("a.b.md", "agents/claude/a.b.md"),
        (".hidden", "agents/claude/hidden.md"),
        ("é" * 300, f"agents/claude/{'é' * 100}.md"),
        ("构建", "agents/claude/构建.md"),
        ("البناء", "agents/claude/البناء.md"),
        ("Memory", "agents/claude/Memory.md"),
    ],
)
def test_whatever_it_is_called_it_stays_in_the_agents_folder(bench, name, path):
    assert topic(agent(bench), "claude", name, "x").path == path
    assert [each.path for each in topics(agent(bench), "claude")] == [path]
    assert topics(agent(bench), "other") == []


@pytest.mark.parametrize("name", ["", "..", "/", "\u200b", "x.sync-conflict-20261120-101010-ABCDEFG"])
def test_what_names_no_note_is_refused(bench, name):
    with pytest.raises(UsageError):
        topic(agent(bench), "claude", name, "x")


@pytest.mark.parametrize("name", ["", "..", ".x", "a/b", "x" * 81, "a\nb", "[by:: me]", "a:b"])
def test_what_is_no_agents_name_is_refused(bench, name):
    with pytest.raises(UsageError, match="agent's folder"):
        topic(agent(bench), name, "Build", "x")


def test_the_limits_hold_and_say_what_to_do(bench):
    topic(agent(bench), "claude", "Build", "make test")
    bench.put("agents/claude/Build.md", MADE + "- by hand\r\n")
    with pytest.raises(
        UsageError, match=r"agents/claude/Build\.md would have 1[0-9]{2} characters \(at most 100\)"
    ) as told:
        topic(agent(bench, topic_characters=100), "claude", "Build", "one more")
    assert "start another topic" in told.value.hint
    topic(agent(bench, topics=1), "claude", "Build", "one more")
    with pytest.raises(UsageError, match="already has 1 topic note"):
        topic(agent(bench, topics=1), "claude", "Other", "x")
    assert bench.get("agents/claude/Build.md") == MADE + "- by hand\r\n- one more [by:: claude]\r\n"


def test_no_link_leads_out_of_the_folder(bench):
    (bench.root / "agents").mkdir()
    (bench.root / "agents/claude").symlink_to(bench.state.parent, target_is_directory=True)
    with pytest.raises(UnwritableError):
        topic(agent(bench), "claude", "Build", "x")
    assert topics(agent(bench), "claude") == []
    with pytest.raises(NotFoundError):
        read_topic(agent(bench), "claude", "Build")


def test_in_starpods_vault_they_stand_beside_memory_and_none_of_its_own_notes_is_one(bench):
    bench.options = LayoutOptions(like="starpod")
    for path in ("MEMORY.md", "USER.md", "SOUL.md", "HEARTBEAT.md", "memory/2026-11-20.md", "playbooks/x.md"):
        bench.put(path, "# x\n")
    bench.put("travel.md", "# travel\n\nfree text\n")
    assert [(each.name, each.path) for each in topics(agent(bench), "claude")] == [("travel", "travel.md")]
    assert topic(agent(bench), "claude", "Travel", "the ferry").path == "travel.md"
    assert bench.get("travel.md") == "# travel\n\nfree text\n\n## Notes\n- the ferry [by:: claude]\n"
    assert topic(agent(bench), "claude", "New", "x").path == "New.md"
    assert find(bench.ctx(), "travel.md:6").text == "the ferry"
    for name in ("soul", "user", "memory", "Heartbeat", "facts", "Review"):
        with pytest.raises(UsageError, match="not a topic note"):
            topic(agent(bench), "claude", name, "x")
