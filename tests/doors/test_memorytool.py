"""The memory tool: what Anthropic documents that it answers, nothing beyond its folder, and all of it taken back."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tars_memory.doors.memorytool import LONGEST_FILE, MOST_FILES, MemoryTool
from tars_memory.errors import UsageError, VaultError
from tars_memory.memory import Memory
from tars_memory.testing import make_vault
from tars_memory.vault.writing.system import VaultLock

KEY = "sk-ant-api03-" + "Zx9" * 31


def env_of(folder: Path) -> dict[str, str]:
    return {"TARS_MEMORY_HOME": str(folder / "home"), "HOME": str(folder), "PATH": os.environ["PATH"]}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n\n- tea\n"})


@pytest.fixture
def tool(root: Path) -> MemoryTool:
    return MemoryTool(root, agent="claude", env=env_of(root.parent))


def do(tool: MemoryTool, command: str, path: str = "", **more: Any) -> str:
    """What a command answers that is done."""
    done = tool.execute({"command": command, **({"path": path} if path else {}), **more})
    assert not done.is_error, done.text
    return done.text


def refused(tool: MemoryTool, command: str, path: str = "", **more: Any) -> str:
    """What a command answers that can't be done."""
    done = tool.execute({"command": command, **({"path": path} if path else {}), **more})
    assert done.is_error, done.text
    return done.text


def create(tool: MemoryTool, path: str, text: str) -> None:
    assert do(tool, "create", path, file_text=text) == f"File created successfully at: {path}"


def files(root: Path) -> dict[str, bytes]:
    below = root / "agents"
    return {str(path.relative_to(below)): path.read_bytes() for path in below.rglob("*") if path.is_file()}


def test_answers_are_as_documented(root: Path, tool: MemoryTool) -> None:
    head = (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:"
    )
    assert do(tool, "view", "/memories") == f"{head}\n0B\t/memories"
    assert not (root / "agents").exists()  # looking makes nothing
    create(tool, "/memories/notes.txt", "Hello World\nThis is line two\n")
    assert do(tool, "view", "/memories/notes.txt") == (
        "Here's the content of /memories/notes.txt with line numbers:\n"
        "     1\tHello World\n     2\tThis is line two\n     3\t"
    )
    assert do(tool, "view", "/memories/notes.txt", view_range=[2, 2]).endswith("numbers:\n     2\tThis is line two")
    assert do(tool, "view", "/memories/notes.txt", view_range=[2, -1]).endswith("     2\tThis is line two\n     3\t")
    assert refused(tool, "create", "/memories/notes.txt", file_text="x") == (
        "Error: File /memories/notes.txt already exists"
    )
    assert do(tool, "str_replace", "/memories/notes.txt", old_str="two", new_str="2") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tHello World\n     2\tThis is line 2\n     3\t"
    )
    assert refused(tool, "str_replace", "/memories/notes.txt", old_str="two", new_str="2") == (
        "No replacement was performed, old_str `two` did not appear verbatim in /memories/notes.txt."
    )
    assert refused(tool, "str_replace", "/memories/notes.txt", old_str="l", new_str="L") == (
        "No replacement was performed. Multiple occurrences of old_str `l` in lines: 1, 1, 1, 2. Please ensure it is "
        "unique"
    )
    assert do(tool, "insert", "/memories/notes.txt", insert_line=1, insert_text="between\n") == (
        "The file /memories/notes.txt has been edited."
    )
    assert files(root) == {"claude/notes.txt": b"Hello World\nbetween\nThis is line 2\n"}
    assert refused(tool, "insert", "/memories/notes.txt", insert_line=4, insert_text="x") == (
        "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]"
    )
    create(tool, "/memories/deep/er/est/x.md", "x" * 1536)
    assert do(tool, "view", "/memories").split("\n")[1:] == [
        "1.5K\t/memories",
        "1.5K\t/memories/deep",
        "1.5K\t/memories/deep/er",
        "35B\t/memories/notes.txt",
    ]
    assert do(tool, "rename", old_path="/memories/deep", new_path="/memories/flat") == (
        "Successfully renamed /memories/deep to /memories/flat"
    )
    assert refused(tool, "rename", old_path="/memories/flat", new_path="/memories/notes.txt") == (
        "Error: The destination /memories/notes.txt already exists"
    )
    assert do(tool, "delete", "/memories/flat") == "Successfully deleted /memories/flat"
    assert sorted(path.name for path in (root / "agents" / "claude").iterdir()) == ["notes.txt"]
    create(tool, "/memories/flat", "a file where a folder was\n")


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ("view", {}, "The path {} does not exist. Please provide a valid path."),
        ("str_replace", {"old_str": "a"}, "Error: The path {} does not exist. Please provide a valid path."),
        ("insert", {"insert_line": 0, "insert_text": "a"}, "Error: The path {} does not exist"),
        ("delete", {}, "Error: The path {} does not exist"),
        ("rename", {"new_path": "/memories/new.md"}, "Error: The path {} does not exist"),
    ],
)
def test_what_is_not_there(tool: MemoryTool, command: str, more: dict[str, Any], said: str) -> None:
    create(tool, "/memories/folder/x.md", "x\n")
    for path in ("/memories/none.md", "/memories/folder/none.md", "/memories/folder/x.md/none.md"):
        named = {"old_path": path} if command == "rename" else {"path": path}
        assert refused(tool, command, **named, **more) == said.format(path)
    if command in ("str_replace", "insert"):  # a folder is not a file
        assert refused(tool, command, "/memories/folder", **more) == said.format("/memories/folder")


def test_a_file_in_the_place_of_a_folder_is_named_as_the_model_knows_it(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/x.md", "x\n")
    said = refused(tool, "create", "/memories/x.md/in.md", file_text="y\n")
    assert said.startswith("Error: /memories/x.md is a link or not a folder") and os.fspath(root) not in said


PATHS = [
    "/etc/passwd", "memories/x", "/memoriesx", "", "/memories/../Memory.md", "/memories/a/../../../Memory.md",
    "/memories/..", "/memories/..\\Memory.md", "/memories/%2e%2e/Memory.md", "/memories/%2E%2E%2FMemory.md",
    "/memories/a\0b", "/memories/.hidden", "/memories/a/.git/x", "/memories/a\nb", "/memories/\u202ex",
    "/memories/" + "x" * 300, "/memories/link/x.md", "/memories/link.md", "/memories/a:b", "/memories/ x",
    "/memories/x.tars-tmp", "/memories/up/vault/Memory.md",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename", "renamed"])
def test_nothing_leads_out_of_its_folder(root: Path, tool: MemoryTool, command: str, path: str) -> None:
    create(tool, "/memories/mine.md", "mine\n")
    inside = root / "agents" / "claude"
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "x.md").write_text("outside\n")
    (inside / "link").symlink_to(root.parent / "outside")
    (inside / "link.md").symlink_to(root / "Memory.md")
    (inside / "up").symlink_to(root.parent)
    before = {at: at.read_bytes() for at in root.parent.rglob("*") if at.is_file() and "home" not in at.parts}
    more: dict[str, Any] = {
        "create": {"file_text": "x"},
        "str_replace": {"old_str": "t", "new_str": "x"},
        "insert": {"insert_line": 0, "insert_text": "x"},
        "rename": {"old_path": path, "new_path": "/memories/new.md"},
        "renamed": {"old_path": "/memories/mine.md", "new_path": path},
    }.get(command, {})
    said = {"command": command.removesuffix("d"), **({} if "old_path" in more else {"path": path}), **more}
    done = tool.execute(said)
    assert done.is_error and "outside\n" not in done.text and "tea" not in done.text, done
    assert {at: at.read_bytes() for at in root.parent.rglob("*") if at.is_file() and "home" not in at.parts} == before


def test_a_link_in_place_of_its_folder_is_not_followed(root: Path, tool: MemoryTool) -> None:
    (root / "agents").mkdir()
    (root / "agents" / "claude").symlink_to(root)
    assert "symlink" in refused(tool, "view", "/memories")
    assert "symlink" in refused(tool, "view", "/memories/Memory.md")
    assert "symlink" in refused(tool, "create", "/memories/x.md", file_text="x")


@pytest.mark.parametrize("agent", ["", ".", "..", "a/b", ".hidden", "a\0", "x" * 201, "a\\b", " a"])
def test_an_agent_has_a_plain_name(root: Path, agent: str) -> None:
    with pytest.raises(UsageError, match="agent"):
        MemoryTool(root, agent=agent)


@pytest.mark.parametrize(
    "said",
    [
        {}, {"command": "format"}, {"command": 3}, {"command": "view"}, {"command": "view", "path": 3},
        {"command": "create", "path": "/memories/x"}, {"command": "create", "path": "/memories/x", "file_text": None},
        {"command": "create", "path": "/memories/x", "file_text": "a\0b"},
        {"command": "create", "path": "/memories", "file_text": "x"},
        {"command": "delete", "path": "/memories"}, {"command": "delete", "path": "/memories/"},
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
        {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/d/e"},
        {"command": "view", "path": "/memories/d/x.md", "view_range": [1]},
        {"command": "view", "path": "/memories/d/x.md", "view_range": ["1", 2]},
        {"command": "view", "path": "/memories/d/x.md", "view_range": [9, 12]},
        {"command": "insert", "path": "/memories/d/x.md", "insert_line": "0", "insert_text": "x"},
        {"command": "insert", "path": "/memories/d/x.md", "insert_line": True, "insert_text": "x"},
        {"command": "str_replace", "path": "/memories/d/x.md", "old_str": "", "new_str": "x"},
    ],
)  # fmt: skip
def test_a_command_that_is_wrong_writes_nothing(root: Path, tool: MemoryTool, said: dict[str, Any]) -> None:
    create(tool, "/memories/d/x.md", "one\n")
    done = tool.execute(said)
    assert done.is_error and len(done.text) > 15
    assert files(root) == {"claude/d/x.md": b"one\n"}


def test_every_write_is_the_agents_and_taken_back(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/a.md", "one\n")
    create(tool, "/memories/d/b.txt", "two\n")
    create(tool, "/memories/d/e/c.md", "three\r\nfour")
    states = [files(root)]
    for command in (
        {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "uno"},
        {"command": "insert", "path": "/memories/d/e/c.md", "insert_line": 2, "insert_text": "five"},
        {"command": "rename", "old_path": "/memories/d", "new_path": "/memories/f/g"},
        {"command": "delete", "path": "/memories/f"},
        {"command": "delete", "path": "/memories/a.md"},
    ):
        assert not tool.execute(command).is_error
        states.append(files(root))
    assert states[2]["claude/d/e/c.md"] == b"three\r\nfour\nfive\n"
    assert states[-1] == {}
    assert {entry.actor for entry in tool.memory.history(None)} == {"agent"}
    with Memory(root, env=env_of(root.parent)) as person:
        for state in states[-2::-1]:
            person.undo()
            assert files(root) == state
        person.undo(last=3)
    assert files(root) == {}


def test_a_memory_that_is_open_stays_its_owners(root: Path) -> None:
    with Memory(root, env=env_of(root.parent)) as memory:
        create(MemoryTool(memory, agent="codex"), "/memories/x.md", "x\n")
        memory.log("tea")
        assert [entry.actor for entry in memory.history()] == ["script", "agent"]


def test_a_projects_agent_has_a_folder_of_its_own(root: Path) -> None:
    (root / "projects" / "boat").mkdir(parents=True)
    create(MemoryTool(root, agent="claude", env=env_of(root.parent), project="boat"), "/memories/x.md", "x\n")
    assert (root / "projects" / "boat" / "agents" / "claude" / "x.md").read_text() == "x\n"


def test_files_are_told_to_an_agent_of_whatever_name_a_folder_can_have(root: Path) -> None:
    name = "claude " + "x" * 150
    tool = MemoryTool(root, agent=name, env=env_of(root.parent))
    create(tool, "/memories/work.md", "# Work\n\nthe rudder is loose\n")
    with Memory(root, env=env_of(root.parent)) as memory:
        assert "rudder" in memory.context("is the rudder loose", loaded=False, agent=name).text
        assert "rudder" not in memory.context("is the rudder loose", loaded=False, agent="").text


def test_its_files_are_found_as_notes_and_told_to_it_alone(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/work.md", "# Work\n\nthe rudder is loose\n")
    with Memory(root, env=env_of(root.parent)) as memory:
        (hit,) = memory.search("rudder", mode="lexical").hits
        assert (hit.path, hit.tier) == ("agents/claude/work.md", "note")
        assert "rudder" not in memory.context("is the rudder loose", loaded=False).text
        assert "rudder" not in memory.context("is the rudder loose", loaded=False, agent="codex").text
        told = memory.context("is the rudder loose", loaded=False, agent="claude")
        assert {block.kind for block in told.blocks} == {"recalled"} and "rudder" in told.text  # as data


def test_an_agent_spelled_in_another_case_is_the_same_agent(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/work.md", "# Work\n\nthe rudder is loose\n")
    other = MemoryTool(root, agent="Claude", env=env_of(root.parent))
    create(other, "/memories/more.md", "# More\n\nthe rudder is new\n")
    assert [path.name for path in (root / "agents").iterdir()] == ["claude"]
    with Memory(root, env=env_of(root.parent)) as memory:
        told = memory.context("which rudder", loaded=False, agent="CLAUDE").text
        assert "rudder is loose" in told and "rudder is new" in told
        assert "rudder" not in memory.context("which rudder", loaded=False, agent="codex").text


def test_forgetting_takes_its_bullets_along(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/work.md", "# Work\n\n- the secret harbour is Kinsale\n- tea\n")
    with Memory(root, env=env_of(root.parent)) as memory:
        memory.remember("the secret harbour is Kinsale")
        memory.forget("the secret harbour is Kinsale")
        assert files(root) == {"claude/work.md": b"# Work\n\n- tea\n"}
        memory.undo()
    assert b"Kinsale" in files(root)["claude/work.md"]


def test_credentials_are_masked_both_ways(root: Path, tool: MemoryTool) -> None:
    told = do(tool, "create", "/memories/k.md", file_text=f"key {KEY}\n")
    assert told.startswith("File created successfully at: /memories/k.md\nNote: masked")
    assert KEY not in (root / "agents" / "claude" / "k.md").read_text()
    (root / "agents" / "claude" / "own.md").write_text(f"key {KEY}\n")
    assert KEY not in do(tool, "view", "/memories/own.md")
    (root / "agents" / "claude" / "own.md").write_text(f"one\n\nkey {KEY}\n")
    told = do(tool, "str_replace", "/memories/own.md", old_str="one", new_str="two")
    assert "two" in told and "key (masked" in told and KEY not in told
    assert KEY in (root / "agents" / "claude" / "own.md").read_text()  # what the person keeps there stays


def test_what_runs_wild_does_not_fill_the_vault(root: Path, tool: MemoryTool) -> None:
    assert "102,400 bytes" in refused(tool, "create", "/memories/big.md", file_text="x" * (LONGEST_FILE + 1))
    create(tool, "/memories/big.md", "x" * LONGEST_FILE)
    assert "102,400 bytes" in refused(tool, "insert", "/memories/big.md", insert_line=0, insert_text="y")
    for number in range(MOST_FILES):
        (root / "agents" / "claude" / f"{number}.md").write_text("")
    assert "1,000 files" in refused(tool, "create", "/memories/more.md", file_text="x")


def test_a_path_that_nobody_could_open_is_refused_and_one_that_is_there_is_passed_over(
    root: Path, tool: MemoryTool
) -> None:
    create(tool, "/memories/tea.md", "tea\n")
    deep = "/memories" + f"/{'d' * 100}" * 50 + "/a.md"
    assert "is too long for a note's path" in refused(tool, "create", deep, file_text="x")
    assert "is too long for" in refused(tool, "rename", old_path="/memories/tea.md", new_path="/memories/" + "d/" * 400)
    with pytest.raises(UsageError, match="too long for a note's path"):
        tool.memory.new("d/" * 400 + "a")
    assert files(root) == {"claude/tea.md": b"tea\n"}
    folder = os.open(root / "agents/claude", os.O_RDONLY)
    for _ in range(50):
        os.mkdir("d" * 100, dir_fd=folder)
        below = os.open("d" * 100, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(os.open("a.md", os.O_CREAT, dir_fd=folder))
    os.close(folder)
    assert "/memories/tea.md" in do(tool, "view", "/memories")
    create(tool, "/memories/ferry.md", "ferry\n")


def test_bytes_that_are_no_text_stay(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/x.md", "one\ntwo\n")
    file = root / "agents" / "claude" / "x.md"
    file.write_bytes(b"\xff one\r\ntwo\xfe")
    assert "two\ufffd" in do(tool, "view", "/memories/x.md")
    do(tool, "str_replace", "/memories/x.md", old_str="one", new_str="uno")
    do(tool, "insert", "/memories/x.md", insert_line=2, insert_text="end\u200b")
    assert file.read_bytes() == b"\xff uno\r\ntwo\xfe\nend\n"


def test_half_a_character_is_refused(root: Path, tool: MemoryTool) -> None:
    create(tool, "/memories/x.md", "one ?\n")
    said = "`{}` contains half a character (U+D800) in line 1, at offset 4"
    assert said.format("insert_text") in refused(
        tool, "insert", "/memories/x.md", insert_line=1, insert_text="end \ud800"
    )
    assert said.format("file_text") in refused(tool, "create", "/memories/y.md", file_text="end \ud800")
    found = refused(tool, "str_replace", "/memories/x.md", old_str="one \ud800", new_str="two")
    assert said.format("old_str") in found
    assert (root / "agents" / "claude" / "x.md").read_text() == "one ?\n"


def test_a_busy_vault_is_said(root: Path) -> None:
    tool = MemoryTool(root, env={**env_of(root.parent), "TARS_MEMORY_STORE_LOCK_TIMEOUT": "0"})
    create(tool, "/memories/x.md", "x\n")
    with VaultLock(tool.memory.workspace.state / "lock", timeout=1, command="test").held():
        assert refused(tool, "delete", "/memories/x.md").startswith("Error: ")
    assert files(root) == {"claude/x.md": b"x\n"}


def test_no_vault_no_tool(tmp_path: Path) -> None:
    with pytest.raises(VaultError):
        MemoryTool(tmp_path / "none", env=env_of(tmp_path))


def test_the_example_runs(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "docs" / "examples" / "memory_tool.py"
    monkeypatch.setattr(sys, "argv", [str(example), "--scripted", str(root)])
    monkeypatch.setenv("TARS_MEMORY_HOME", str(root.parent / "home"))
    runpy.run_path(str(example), run_name="__main__")
    told = capsys.readouterr().out
    assert told.endswith("     4\t- tests are green\n     5\t\n\nIt is noted.\n")
    assert files(root) == {"claude/progress.md": b"# Progress\n\n- migrated the parser\n- tests are green\n"}


def test_a_tool_use_is_answered_by_a_tool_result(tool: MemoryTool) -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": {"command": "view", "path": "/memories/x"}}
    assert tool.answer(block) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "The path /memories/x does not exist. Please provide a valid path.",
        "is_error": True,
    }
