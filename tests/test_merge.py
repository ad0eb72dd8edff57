"""``init --git`` and what git calls: two clones of a vault, merged by entry."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tars_memory.disk import read_id
from tars_memory.jobs.merge import FAILED, run_driver
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

PROGRAM = [sys.executable, "-m", "tars_memory"]
MARKS = ("<<<<<<<", ">>>>>>>")


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """git as if nobody had set it up, and no repository around."""
    for name, value in {"NAME": "Ann", "EMAIL": "ann@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    return tmp_path


def run(folder: Path, *words: str, code: int = 0) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def vault(folder: Path) -> Memory:
    Memory.init(folder)
    memory = Memory(folder, actor="person", interactive=True)
    report = memory.merge_by_entry(PROGRAM)
    assert report.registered
    return memory


def two_clones(folder: Path) -> tuple[Memory, Memory]:
    one = vault(folder / "one")
    one.remember("Anna prefers trains")
    one.log("met Anna")
    run(folder / "one", "add", "-A")
    run(folder / "one", "commit", "-qm", "first")
    run(folder, "clone", "-q", "one", "two")
    two = Memory(folder / "two", actor="person", interactive=True)
    two.merge_by_entry(PROGRAM)
    return one, two


def test_init_git_adds_what_is_missing_once_and_undo_takes_it_back(git: Path) -> None:
    root = git / "v"
    root.mkdir()
    (root / ".gitattributes").write_bytes(b"*.png binary\r\n/Memory.md merge=tars-memory")
    memory = vault(root)
    said = (root / ".gitattributes").read_bytes()
    assert said.startswith(b"*.png binary\r\n/Memory.md merge=tars-memory\r\n# tars-memory")
    assert said.count(b"/Memory.md merge=tars-memory\r\n") == 2  # the vault's, and the projects'
    again = memory.merge_by_entry(PROGRAM)
    assert (again.attributes, again.registered, again.made) == ((), False, False)
    assert (root / ".gitattributes").read_bytes() == said
    for path in ("2026-11-21.md", "projects/x/Facts.md", "archive/sessions/a b.md", "sessions/2026/c.md"):
        assert run(root, "check-attr", "merge", path).endswith("merge: tars-memory\n"), path
    assert run(root, "check-attr", "merge", "x/Memory.md").endswith("unspecified\n")
    memory.undo()
    assert (root / ".gitattributes").read_bytes() == b"*.png binary\r\n/Memory.md merge=tars-memory"
    dry = Memory(root, dry_run=True)
    assert dry.merge_by_entry(["another"]).attributes
    assert (root / ".gitattributes").read_bytes() == b"*.png binary\r\n/Memory.md merge=tars-memory"
    assert "another" not in run(root, "config", "merge.tars-memory.driver")


def test_names_of_daily_notes_become_patterns(git: Path) -> None:
    root = git / "v"
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian/daily-notes.json").write_text('{"folder": "my [days]", "format": "YYYY/MMMM/dddd YYYY-MM-DD"}')
    vault(root)
    path = "my [days]/2026/November/Saturday 2026-11-21.md"
    assert run(root, "check-attr", "merge", path).endswith("merge: tars-memory\n")
    assert run(root, "check-attr", "merge", "my [days]/plan.md").endswith("unspecified\n")


def test_a_pull_merges_by_entry_and_review_asks_on_either_machine(git: Path) -> None:
    one, two = two_clones(git)
    one.edit("Anna prefers trains", "Anna prefers night trains")
    two.edit("Anna prefers trains", "Anna prefers slow trains")
    for memory, town in ((one, "Cork"), (two, "Galway")):
        memory.log(f"arrived in {town}")
        memory.add_fact("Anna", "lives in", town)
        run(memory.workspace.root, "commit", "-qam", town) if memory is one else None
        run(memory.workspace.root, "add", "-A")
        run(memory.workspace.root, "commit", "-qam", town)
    told = run(git / "two", "pull", "-q", "--no-rebase", "--no-edit", "../one")
    assert "Memory.md: 1 line changed on both sides, both kept: tm review asks" in told
    run(git / "one", "pull", "-q", "../two")
    for memory in (one, two):
        texts = [path.read_text() for path in memory.workspace.root.glob("*.md")]
        assert not any(mark in text for mark in MARKS for text in texts)
        assert {(each.op, each.text) for each in memory.review().waiting().proposals} == {
            ("choose", "Which of these holds: “Anna prefers night trains” or “Anna prefers slow trains”?"),
            ("choose", "Which of these holds: “lives in Cork” or “lives in Galway”?"),
        }
        question = next(each for each in memory.review().waiting().proposals if each.target == "Facts.md")
        assert all(line.date for line in question.conflicts)  # both say since when
        assert not memory.doctor()["findings"]
    assert "also changed" not in str(two.search("Anna trains").hits)
    review = two.review()
    lines, _ = review.waiting().proposals
    review.decide([lines.id], replace={lines.id: [lines.choices[0].ref]})
    assert (git / "two/Memory.md").read_text().endswith("## Notes\n- Anna prefers slow trains\n")
    (left,) = two.review().waiting().proposals
    review.decide([left.id])
    assert two.review().waiting().proposals == []
    two.undo()
    assert len(two.review().waiting().proposals) == 1


def test_every_answer_to_what_a_merge_has_asked_leaves_a_clean_note(tmp_path: Path) -> None:
    below, ended = "  - also changed:: tea\n", "- lives in:: Cork [since:: 2026-01-01] [until:: 2026-0{}-01]\n"
    three = "".join(f"- {kind} tea\n{below}" for kind in ("weak", "strong", "no"))
    removed = "- rent is due\n  - also removed:: the rent\n"
    facts = "".join(f"{ended.format(month)}  - also changed:: lives in:: Cork\n" for month in (3, 5))
    day = "".join(f"- 08:00 [{state}] a dog ^d-1\n  - also changed:: a dog\n" for state in ("promoted", "rejected"))
    notes = {"Memory.md": three + removed, "Facts.md": f"## Anna\n{facts}", "2026-11-20.md": f"## Log\n{day}"}
    left = {}
    for answer in ("first", "last", "all stand", "reject"):
        memory = Memory(make_vault(tmp_path / answer, notes), actor="person", interactive=True)
        review = memory.review()
        asked = review.waiting().proposals
        assert len(asked) == 4
        assert "“08:00 [promoted] a dog ^d-1” or “08:00 [rejected] a dog ^d-1”" in str([each.text for each in asked])
        if answer == "reject":
            review.decide([], reject=[each.id for each in asked])
        else:
            at = {"first": slice(1), "last": slice(-1, None), "all stand": slice(0)}[answer]
            review.decide([each.id for each in asked], replace={e.id: [c.ref for c in e.choices[at]] for e in asked})
        left[answer] = {name: (memory.workspace.root / name).read_text() for name in notes}
        assert "also" not in str(left[answer])
        assert memory.review().waiting().proposals == []
        assert not memory.verify()
    assert left["all stand"] == left["reject"]
    assert left["first"]["Memory.md"] == "- strong tea\n- no tea\n"
    assert left["last"]["Memory.md"] == "- weak tea\n- strong tea\n"
    assert left["first"]["Facts.md"] == "## Anna\n" + ended.format(5)
    assert left["last"]["2026-11-20.md"] == "## Log\n- 08:00 [promoted] a dog ^d-1\n"
    # What came back with a merge is asked anew, whatever was answered before.
    (memory.workspace.root / "Memory.md").write_text(three)
    assert len(memory.review().waiting().proposals) == 1


def test_what_an_agent_notes_on_two_machines_is_merged_and_asked(git: Path) -> None:
    one, two = two_clones(git)
    one.topic("build", "make test takes three minutes", agent="claude")
    run(git / "one", "add", "-A")
    run(git / "one", "commit", "-qm", "topic")
    run(git / "two", "pull", "-q", "../one")
    for memory, minutes in ((one, "two"), (two, "four")):
        note = memory.workspace.root / "agents/claude/build.md"
        note.write_text(note.read_text().replace("three", minutes) + f"- seen with {minutes} cores\n")
        run(memory.workspace.root, "commit", "-qam", minutes)
    run(git / "two", "pull", "-q", "--no-rebase", "--no-edit", "../one")
    review = two.review()
    (asked,) = review.waiting().proposals
    review.decide([asked.id], replace={asked.id: [asked.choices[0].ref]})
    left = (git / "two/agents/claude/build.md").read_text().partition("## Notes\n")[2]
    assert [line.partition(" [")[0] for line in left.splitlines()] == [
        "- make test takes two minutes", "- seen with four cores", "- seen with two cores"
    ]  # fmt: skip
    two.undo()
    assert len(two.review().waiting().proposals) == 1


def test_vaults_that_two_machines_made_become_one(git: Path) -> None:
    one, two = vault(git / "one"), vault(git / "two")
    for memory, said in ((one, "from one"), (two, "from two")):
        memory.remember(said)
        run(memory.workspace.root, "add", "-A")
        run(memory.workspace.root, "commit", "-qm", said)
    ids = {read_id(memory.workspace.root) for memory in (one, two)}
    run(git / "two", "pull", "-q", "--no-rebase", "--no-edit", "--allow-unrelated-histories", "../one")
    run(git / "one", "pull", "-q", "../two")
    assert {read_id(git / "one"), read_id(git / "two")} == {min(map(str, ids))}
    assert (git / "one/Memory.md").read_text().endswith("## Notes\n- from one\n- from two\n")
    with Memory(git / "two") as merged:
        assert not merged.doctor()["findings"]
        merged.undo()  # its journal is still its own
    assert (git / "two/Memory.md").read_text().endswith("## Notes\n- from one\n")


def test_a_clone_that_was_not_told_is_pointed_out(git: Path) -> None:
    _, two = two_clones(git)
    assert not two.doctor()["findings"]
    run(git / "two", "config", "--remove-section", "merge.tars-memory")
    (found,) = two.doctor()["findings"]
    assert "tars-memory init --git" in str(found)
    two.merge_by_entry(PROGRAM)
    with open(git / "two/.gitattributes", "a") as file:
        file.write("*.md merge=union\n")
    (found,) = two.doctor()["findings"]
    assert "merge=union" in str(found)


def test_what_cannot_be_merged_by_entry_is_merged_by_lines_without_conflict_marks(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("base", "ours", "theirs")]

    def driven(*texts: str) -> tuple[int, str, str]:
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        one, other = sorted(files[1:], key=Path.read_text)
        git = subprocess.run(
            ["git", "merge-file", "-p", "--union", *map(str, (one, files[0], other))], capture_output=True
        )
        done = run_driver(*map(str, files))
        assert done.by_lines
        merged = files[1].read_text()
        files[1].write_text(texts[2])
        files[2].write_text(texts[1])
        assert run_driver(*map(str, files)) == done
        assert files[1].read_text() == merged, "whoever pulls"
        assert sorted(tmp_path.iterdir()) == sorted(files)
        return done.code, merged, git.stdout.decode()

    code, ours, its = driven("- a\n", "- b\n```\n", "- c\n```\n- d\n")
    assert (code, ours) == (0, its)
    assert "- b\n" in ours
    assert "- c\n" in ours
    marked = "<<<<<<< ours\n- b\n=======\n- c\n>>>>>>> theirs\n"
    code, ours, its = driven("- a\n", marked, "- a\n- d\n")
    assert (code, ours) == (0, its)
    assert "- d\n" in ours
    assert run_driver(str(files[0]), str(files[1]), str(tmp_path / "none")).code == FAILED
    for file, data in zip(files, (b"- \0a\n", b"- \0b\n", b"- \0c\n"), strict=True):
        file.write_bytes(data)
    assert run_driver(*map(str, files)).code == 1
    assert files[1].read_bytes() == b"- \0b\n"


@pytest.mark.parametrize("at", range(3))
def test_what_is_no_regular_file_is_neither_read_nor_replaced(tmp_path: Path, at: int) -> None:
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for number, file in enumerate(files):
        file.write_bytes(b"- tea\n" * number)
    files[at].unlink()
    os.mkfifo(files[at])
    before = [os.lstat(file) for file in files]
    assert run_driver(*map(str, files)).code == FAILED
    assert [(found.st_ino, found.st_mode) for found in before] == [
        (found.st_ino, found.st_mode) for found in map(os.lstat, files)
    ]


def test_through_a_link_its_file_is_merged(tmp_path: Path) -> None:
    base, ours, theirs, link = (tmp_path / name for name in ("base", "ours", "theirs", "link"))
    base.write_bytes(b"- tea\n")
    ours.write_bytes(b"- tea\n- ferry\n")
    theirs.write_bytes(b"- kettle\n- tea\n")
    link.symlink_to("ours")
    assert run_driver(str(base), str(link), str(theirs)).code == 0
    assert link.is_symlink()
    assert ours.read_bytes() == b"- kettle\n- tea\n- ferry\n"


def test_a_vault_in_a_folder_of_a_repository_has_its_own_lines_there(git: Path) -> None:
    run(git, "init", "-q", "repo")
    (git / "repo/a [b]").mkdir()
    memory = vault(git / "repo/a [b]/notes")
    assert not (git / "repo/.gitattributes").exists()
    assert run(git / "repo", "check-attr", "merge", "a [b]/notes/Memory.md").endswith("merge: tars-memory\n")
    assert run(git / "repo", "check-attr", "merge", "Memory.md").endswith("unspecified\n")
    assert not memory.merge_by_entry(PROGRAM).made


def test_where_the_program_is_gone_git_merges(git: Path) -> None:
    one, two = two_clones(git)
    two.merge_by_entry([str(git / "gone")])
    for memory, word in ((one, "one"), (two, "two")):
        memory.remember(f"a thought of {word}")
        run(memory.workspace.root, "commit", "-qam", word)
    run(git / "two", "pull", "-q", "--no-rebase", "--no-edit", "../one", code=1)
    text = (git / "two/Memory.md").read_text()
    assert all(mark in text for mark in (*MARKS, "thought of one", "thought of two"))


def test_a_killed_merge_leaves_the_clone_as_it_was(git: Path) -> None:
    one, two = two_clones(git)
    one.log("from one")
    two.log("from two")
    for memory in (one, two):
        run(memory.workspace.root, "commit", "-qam", "more")
    before = (git / "two").glob("*.md")
    texts = {path: path.read_bytes() for path in before}
    script = git / "driver"
    script.write_text(f"#!/bin/sh\necho $$ > {git}/pid; kill -9 $$\n")
    script.chmod(0o755)
    run(git / "two", "config", "merge.tars-memory.driver", f"{script} %O %A %B %P")
    done = subprocess.run(
        ["git", "pull", "-q", "--no-rebase", "--no-edit", "../one"], cwd=git / "two", capture_output=True, check=False
    )
    assert done.returncode
    assert all(not any(mark in path.read_text() for mark in MARKS) for path in texts)
    assert {path: path.read_bytes() for path in texts} == texts
    two.merge_by_entry(PROGRAM)
    subprocess.run(["git", "merge", "--abort"], cwd=git / "two", capture_output=True, check=False)
    run(git / "two", "pull", "-q", "--no-rebase", "--no-edit", "../one")
    assert run(git / "two", "status", "--porcelain") == ""


def test_the_driver_loads_no_vault_and_no_index(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("base", "ours", "theirs")]
    for file, text in zip(files, ("- a\n", "- a\n- b\n", "- a\n- c\n"), strict=True):
        file.write_text(text)
    code = (
        "import sys; from tars_memory.doors.cli.app import run;"
        f"run(['merge', *{[*map(str, files)]!r}, 'Memory.md']);"
        "print([m for m in sys.modules if m.startswith(('tars_memory.index.', 'tars_memory.workspace', 'sqlite3',"
        " 'tars_memory.vault.writing', 'tars_memory.memory'))])"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "[]\n"
    assert files[1].read_text() == "- a\n- b\n- c\n"
