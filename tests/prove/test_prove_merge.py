"""Two clones of a vault go on by themselves, at random, and are merged both ways: nothing is lost or hidden."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from random_documents import scale, seeded

from tars_memory.errors import TarsError
from tars_memory.index.watcher import Watcher
from tars_memory.jobs.merge import text_merge
from tars_memory.jobs.sleep import IndexKeeper
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import lines_of
from tars_memory.vault.markdown.merging import disputed, merge

NOTES = ("Memory.md", "Facts.md", "2026-11-21.md", "corrections.md")
WORDS = ["harbour", "tea", "ladder", "ferry", "window", "colour", "piano", "kettle", "garden", "office", "lunch", "dog"]
START = {
    "Memory.md": "# Memory\n\n## People\n\n- Anna prefers trains to planes #people\n- Bob likes tea ^m-1\n\n## Notes\n"
    "- the rent is due on Monday\n  - it was late once\n- coffee\n- coffee\n",
    "Facts.md": "# Facts\n\n## Anna\n- lives in:: Cork [since:: 2026-01-01]\n- likes:: tea\n",
    "2026-11-21.md": "---\nmood: fine\n---\n# Day\n\nA quiet day.\n\n## Log\n- 08:00 [extracted] Anna has a dog ^d-1\n"
    "- 08:10 [extracted] Bob moved to Cork ^d-2\n- 09:00 tea with Bob\n",
    "corrections.md": "# Corrections\n\n- 2026-11-20 10:00 too long\n",
}
NOW = datetime.fromisoformat("2026-11-21T10:00:00+00:00")


def sentence(chance: Random) -> str:
    return " ".join(chance.sample(WORDS, 3)) + f" {chance.randrange(1000)}"


def by_command(chance: Random, memory: Memory, minute: int) -> None:
    """One of our commands."""
    what = chance.choice(["remember", "log", "fact", "feedback", "edit", "forget", "undo", "end"])
    memory.workspace._now = NOW + timedelta(minutes=minute)
    if what == "remember":
        memory.remember(sentence(chance), section=chance.choice([None, "People", "Plans"]))
    elif what == "log":
        memory.log(sentence(chance))
    elif what == "feedback":
        memory.feedback(chance.random() < 0.2, sentence(chance))
    elif what == "fact":
        memory.add_fact(chance.choice(["Anna", "Bob"]), chance.choice(["lives in", "likes"]), sentence(chance))
    elif what == "undo":
        left = next((each for each in memory.history(99) if not each.undone and not each.undoes), None)
        if left and left.command != "init":  # which lets git merge by entry
            memory.undo()
    else:
        listed = [each for each in memory.list() if not each.depth and each.block_id is None]
        if listed and what == "edit":
            memory.edit(chance.choice(listed).ref, sentence(chance))
        elif listed and what == "forget":
            memory.forget(chance.choice(listed).ref)


def by_hand(chance: Random, root: Path) -> None:
    """An edit in an editor: of any line, in any place."""
    path = root / chance.choice([name for name in NOTES if (root / name).exists()])
    lines = lines_of(path.read_bytes())
    bullets = [number for number, line in enumerate(lines) if re.match(rb"\s*- ", line)]
    what = chance.random()
    new = f"- {sentence(chance)}\n".encode()
    if what < 0.3 or not bullets:
        at = chance.choice([*(number + 1 for number in bullets), len(lines)]) if bullets else len(lines)
        lines.insert(at, chance.choice([b"", b"", b"  "]) + new)
        if at and not lines[at - 1].endswith((b"\n", b"\r")):
            lines[at - 1] += b"\n"
    elif what < 0.5:
        del lines[chance.choice(bullets)]
    elif what < 0.7:
        at = chance.choice(bullets)
        lines[at] = lines[at].rstrip(b"\r\n") + f" {chance.choice(WORDS)}\n".encode()
    elif what < 0.8:
        line = lines.pop(chance.choice(bullets))
        lines.insert(chance.choice([number for number in bullets if number < len(lines)] or [len(lines)]), line)
    elif what < 0.86:
        lines = [line.replace(b"[extracted]", chance.choice([b"[promoted]", b"[rejected]"]), 1) for line in lines]
    elif what < 0.9:
        lines += [b"\n", f"## {chance.choice(WORDS)}\n".encode(), new]
    elif what < 0.94:
        lines = [line.replace(b"A quiet day", f"A {chance.choice(WORDS)} day".encode()) for line in lines]
    elif what < 0.97:
        lines = [line.replace(b"mood: fine", f"mood: {chance.choice(WORDS)}".encode()) for line in lines]
    else:
        lines = [line.replace(b"\n", b"\r\n") if not line.endswith(b"\r\n") else line for line in lines]
    path.write_bytes(b"".join(lines))


def bullets(data: bytes) -> Counter[str]:
    """How often each bullet is there: by its words, or as what a question is about."""
    return Counter(entry.text for entry in entries.read("2026-11-21.md", Document(data), timed=True))


def check(base: bytes, one: bytes, two: bytes, now: bytes) -> None:
    """Nothing is lost that nobody removed; what one side removed and the other left alone is gone."""
    assert b"<<<<<<<" not in now
    assert b">>>>>>>" not in now
    was, first, second, left = map(bullets, (base, one, two, now))
    shown = Counter(re.sub(r"^also (?:changed|removed):: ", "", text) for text in left.elements())
    # Whoever gives a line wholly other words has made a new line, with what is below it: so top-level lines alone.
    raws = [Counter(line.rstrip() for line in lines_of(data)) for data in (base, one, two)]
    every = [entry for data in (base, one, two) for entry in entries.read("", Document(data), timed=True)]
    nested = {entry.text for entry in every if entry.depth}
    questions = disputed(entries.read("", Document(now), timed=True))
    asked = Counter(line.text for each in questions for line in each.lines)
    for text in was | first | second:
        if text.startswith("also "):
            continue
        added = max(first[text] - was[text], second[text] - was[text], 0)
        untouched = min(first[text], second[text], was[text])
        assert shown[text] >= min(added + untouched, max(first[text], second[text])), ("lost", text)
        assert text in nested or left[text] <= max(first[text], second[text]) + asked[text], ("twice", text)
    for line, count in raws[0].items():
        gone_there = line.startswith(b"- ") and b"::" not in line and count == raws[2][line] == 1 and not raws[1][line]
        text = entries.parse(line[2:].decode(), timed=True).text if gone_there else ""
        if gone_there and not first[text]:
            assert not left[text] or any(each.was == text for each in questions), ("not gone", text)


def history(chance: Random, memory: Memory, edits: int) -> None:
    for number in range(edits):
        if chance.random() < 0.5:
            with suppress(TarsError):  # an entry that is named twice, or an undo of what was edited since
                by_command(chance, memory, number)
        else:
            by_hand(chance, memory.workspace.root)


@pytest.mark.prove
def test_of_a_thousand_histories_nothing_is_lost(tmp_path: Path) -> None:
    cases = asked = 0
    for number in range(scale(1000)):
        chance = seeded(number)
        versions = []
        for side in ("base", "one", "two"):
            root = make_vault(tmp_path / f"{number}-{side}", START)
            if side != "base":
                history(chance, Memory(root, actor="person", interactive=True), chance.randint(1, 12))
            versions.append({name: (root / name).read_bytes() if (root / name).exists() else b"" for name in NOTES})
        for name in {*versions[0], *versions[1], *versions[2]}:
            base, one, two = (version.get(name, b"") for version in versions)
            found = merge(base, one, two, text_merge)
            assert found is not None, (number, name)
            assert merge(base, two, one, text_merge) == found, (number, name)
            try:
                check(base, one, two, found.data)
            except AssertionError as error:
                raise AssertionError(f"history {number}, {name}: {error}") from error
            cases += 1
            asked += found.disputed
    assert cases
    print(f"{cases} notes merged both ways, {asked} questions")


@pytest.mark.prove
def test_clones_that_pull_from_each_other_come_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NAME": "Ann", "EMAIL": "ann@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def git(root: Path, *words: str) -> None:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (root, words, done.stdout, done.stderr)

    for number in range(scale(10)):
        chance = seeded(number)
        roots = [make_vault(tmp_path / f"{number}-0", START)]
        memories = [Memory(roots[0], actor="person", interactive=True)]
        memories[0].merge_by_entry([sys.executable, "-m", "tars_memory"])
        git(roots[0], "add", "-A")
        git(roots[0], "commit", "-qm", "first")
        for clone in (1, 2):
            git(tmp_path, "clone", "-q", os.fspath(roots[0]), f"{number}-{clone}")
            roots.append(tmp_path / f"{number}-{clone}")
            memories.append(Memory(roots[-1], actor="person", interactive=True))
            memories[-1].merge_by_entry([sys.executable, "-m", "tars_memory"])
        for _ in range(3):
            for root, memory in zip(roots, memories, strict=True):
                history(chance, memory, 3)
                git(root, "add", "-A")
                git(root, "commit", "-qm", "more", "--allow-empty")
            puller, pulled = chance.sample(range(3), 2)
            git(roots[puller], "pull", "-q", "--no-rebase", "--no-edit", os.fspath(roots[pulled]))
        for one, two in ((0, 1), (0, 2), (1, 0), (2, 0)):
            git(roots[one], "pull", "-q", "--no-rebase", "--no-edit", os.fspath(roots[two]))
        texts = [{path.name: path.read_bytes() for path in root.glob("*.md")} for root in roots]
        assert texts[0] == texts[1] == texts[2]
        assert all(b"<<<<<<<" not in text for text in texts[0].values())
        assert not any(memory.verify() for memory in memories)


@pytest.mark.prove
def test_a_team_day_loses_nothing_and_keeps_every_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Twenty clones, five authors; one clone publishes the team's index in PostgreSQL, and the others search it.

    Commands in random order with pulls, pushes and searches in between. Where no server can run, each clone searches
    its own index.
    """
    try:
        writer, reader = request.getfixturevalue("roles")
    except pytest.skip.Exception as why:
        print(f"the day goes on without a team's index: {why}")
        writer = reader = ""
    for name, value in {"NAME": "Ann", "EMAIL": "ann@example.org"}.items():
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def git(root: Path, *words: str, check: bool = True) -> bool:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, (root, words, done.stdout, done.stderr)
        return done.returncode == 0

    chance, authors = seeded(0), ("Ann", "Ben", "Cem", "Dora", "Eve")

    def opened(number: int) -> Memory:
        env = {**os.environ, "TARS_AUTHOR": authors[number % 5]}
        if writer:
            env["TARS_MEMORY_INDEX_DATABASE"] = reader if number else writer
        root = tmp_path / f"clone-{number}"
        return Memory(root, actor="person", interactive=True, env=env, embedder=HashEmbedder())

    git(tmp_path, "init", "-q", "--bare", "hub")
    clones: list[Memory] = []
    for number in range(20):
        root = tmp_path / f"clone-{number}"
        git(tmp_path, "clone", "-q", "hub", root.name)
        if not number:
            make_vault(root, START)
        clones.append(opened(number))
        clones[-1].merge_by_entry([sys.executable, "-m", "tars_memory"])
        if not number:
            git(root, "add", "-A")
            git(root, "commit", "-qm", "first")
            git(root, "push", "-q", "origin", "HEAD:main")
            git(tmp_path / "hub", "symbolic-ref", "HEAD", "refs/heads/main")
        git(root, "checkout", "-q", "-B", "main")
        git(root, "branch", "-q", "-u", "origin/main")
    clones[0].reindex()

    def sync(memory: Memory) -> None:
        root = memory.workspace.root
        git(root, "add", "-A")
        git(root, "commit", "-qm", "more", check=False)
        git(root, "pull", "-q", "--no-rebase", "--no-edit")
        git(root, "push", "-q", "origin", "main")
        if memory is not clones[0]:
            return
        if chance.random() < 0.5:
            memory.reindex()
        else:
            assert not IndexKeeper(lambda: opened(0), Watcher(root)).once().notices

    def finds(memory: Memory, text: str) -> bool:
        """Whether a search finds a line, and not only a question about it.

        Whatever it finds stands in the clone's own copy, if that has the note.
        """
        hits = memory.search(f'"{text}"', mode="lexical").hits
        for hit in hits:
            copy = memory.workspace.root / hit.path
            assert not copy.exists() or hit.text in copy.read_text(), (memory.workspace.root, hit)
        return any(re.search(rf"(?<!(?:removed|changed):: ){re.escape(text)}(?!\d)", hit.text) for hit in hits)

    written: dict[str, str] = {}
    removed: set[str] = set()
    for step in range(scale(2000)):
        number = chance.randrange(20)
        memory, text = clones[number], f"{sentence(chance)} step {step}"
        memory.workspace._now = NOW + timedelta(seconds=20 * step)
        what = chance.random()
        there = [each for each in memory.list() if not each.depth and each.text in written] if what < 0.15 else []
        if there:
            one = chance.choice(there)
            memory.edit(one.ref, text) if what < 0.1 else memory.forget(one.ref)
            removed.add(one.text)
        elif what < 0.55:
            memory.log(text)
        elif what < 0.8:
            memory.remember(text)
        elif what < 0.9:
            memory.feedback(False, text)
        else:
            memory.add_fact(f"Thing {step % 7}", "likes", text)
        if not there or what < 0.1:
            written[text] = authors[number % 5]
        if chance.random() < 0.1:
            sync(memory)
        if chance.random() < 0.1:
            clone, text = chance.choice(clones), chance.choice([*written])
            if finds(clone, text) and not writer:
                assert text in "".join(path.read_text() for path in clone.workspace.root.glob("*.md"))
    for memory in (*clones, *clones):
        sync(memory)
    notes = [{path.name: path.read_bytes() for path in each.workspace.root.glob("*.md")} for each in clones]
    assert all(each == notes[0] for each in notes)
    lines = [line for text in notes[0].values() for line in text.decode().split("\n")]
    assert not any(line.startswith(("<<<<<<<", ">>>>>>>")) for line in lines)
    standing = set()
    for text, author in written.items():
        found = [line for line in lines if re.search(rf"(?<!:: ){re.escape(text)}(?!\d)", line)]
        found += [line for line in lines if re.search(rf"likes:: {re.escape(text)}(?!\d)", line)]
        # What one removed and another changed, or put a question below, stays as a question.
        asked = text in removed and any(f"also removed:: {text}" in line for line in lines)
        assert len(found) == 1 if text not in removed else not found or asked, text
        assert all(f"[by:: {author}]" in line for line in found)
        standing.update([text] if found else [])
    assert not any(memory.verify() for memory in clones)
    # Every clone finds what stands, and nothing of what is gone; the team's index knows each line.
    for text in written:
        number = chance.randrange(20)
        assert finds(clones[number], text) is (text in standing), (number, text)
    if writer:
        told = clones[0].status()["team"]
        print(f"{len(written)} lines searched in {told['server']}: {told['notes']} notes, {told['chunks']} passages")
        assert not told["problem"]
