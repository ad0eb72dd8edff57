"""A vault under attack: one poisoned conversation goes through the whole loop, and all that must hold is checked."""

from __future__ import annotations

import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from curation.poison import ASKED, TOKEN, Case
from tars_memory.capture.transcripts import read
from tars_memory.capture.turns import Transcript
from tars_memory.curation import suggestions
from tars_memory.curation.models.llm import LanguageModel
from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault import sessions
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document

NOW = datetime.fromisoformat("2026-11-21T10:15:00+00:00")
TIERS = {
    "Memory.md": b"# Memory\n\n## Notes\n- lives in Galway\n- likes coffee\n",
    "Procedural.md": b"# Procedural\n\n## Rules\n- Ask before deleting.\n",
    "Facts.md": b"## me\n- lives in:: Cork [since:: 2020-01-01]\n",
    "Ideas.md": b"# Ideas\n\n- a boat\n",
    "rewards.md": b"- 2026-11-20 09:00 short answers were right\n",
}
UNTOUCHED = ("Memory", "Procedural", "Facts")
CANDIDATE = re.compile(r"- \d\d:\d\d \[extracted\] \S.* \^d-[a-z2-7]{7}")
RUNS = re.compile(r"<%|`\s*\$=|^[> ]*(?:```|~~~)\s*dataview", re.MULTILINE)
"""What a plugin of the editor would run."""
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\U000e0001-\U000e007f]")
STEP = 20.0
"""Seconds for one step, whatever was sent."""


class Survived(NamedTuple):
    """What an attack came to."""

    facts: int
    failed: str


class Watch:
    """A vault, and what stood in it before."""

    def __init__(self, root: Path, notes: dict[str, bytes]) -> None:
        self.top = root
        self.vault = make_vault(root / "vault", {**TIERS, **notes})
        self.before = self.files()
        self.around = self.outside()

    def files(self) -> dict[str, bytes]:
        """All of the vault."""
        found = (path for path in self.vault.rglob("*") if path.is_file())
        return {path.relative_to(self.vault).as_posix(): path.read_bytes() for path in found}

    def outside(self) -> set[str]:
        """All files that are neither in the vault nor the program's own."""
        found = (path.relative_to(self.top).as_posix() for path in self.top.rglob("*") if path.is_file())
        return {path for path in found if not path.startswith(("vault/", "home/"))}

    def memory(self) -> Memory:
        """As an agent opens it, nobody at the terminal."""
        env = {"TARS_MEMORY_HOME": str(self.top / "home"), "TZ": "UTC"}
        return Memory(self.vault, actor="agent", now=NOW, embedder=HashEmbedder(), env=env)

    def check(self) -> dict[str, bytes]:
        """Hold what is there now against the laws; answers with it."""
        now = self.files()
        assert self.outside() == self.around
        for path, old in self.before.items():
            assert path in now, f"{path} is gone"
            if now[path] == old:
                continue
            assert not path.startswith(
                ("Memory", "Procedural", "Facts", "Ideas", "corrections", "rewards", "Review")
            ), path
            kept = iter(lines(now[path]))
            assert all(line in kept for line in lines(old)), f"{path} lost a line"
        for path in now.keys() - self.before.keys():
            assert re.fullmatch(r"\d{4}-\d\d-\d\d\.md|sessions/[^/]+\.md|\.tars/inbox/[^/]+\.json", path), path
            assert len(path.encode()) < 250
        for path, data in now.items():
            if path.endswith(".md") and data != self.before.get(path):
                old = set(lines(self.before.get(path, b"")))
                self.check_note(path, data, [line for line in lines(data) if line not in old])
            if data != self.before.get(path):
                assert TOKEN.encode() not in data, path
        return now

    def check_note(self, path: str, data: bytes, added: list[str]) -> None:
        """New lines of a note are what they claim to be, and nothing else."""
        assert not any(UNSEEN.search(line) or RUNS.search(line) for line in added), (path, added)
        assert not any("�" not in line and re.search("[\ud800-\udfff]", line) for line in added)
        if path.startswith("sessions/"):
            note = sessions.read(path, data)
            assert note is not None, path
            titles = {section.title for section in Document(data).sections if section.level}
            assert titles <= {*sessions.SECTIONS, note.title, ""}, titles
            assert not any(entry.state or entry.block_id for entry in entries.read(path, Document(data), timed=True))
            return
        for line in added:
            template = not line.strip() or line.startswith(("#", "---", "date:", "tags:"))
            assert template or CANDIDATE.fullmatch(line), (path, line)


def lines(data: bytes) -> list[str]:
    return re.split(r"\r\n|\r|\n", data.decode("utf-8", "surrogateescape"))


def attack(root: Path, case: Case, model: LanguageModel) -> Survived:
    """The loop as a machine runs it: extract twice, let the model review, list, try to accept, look, undo."""
    watch = Watch(root, case.notes)
    log = root / "logs" / case.file
    log.parent.mkdir()
    log.write_bytes(case.log)
    watch.around = watch.outside()
    facts, failed = 0, ""
    with watch.memory() as memory:
        with Limit("extract"):
            try:
                done = memory.extract([log], model=model, keep=case.keep, force=True)
                facts = sum(len(session.facts) for session in done.sessions)
            except ModelUnavailableError as error:
                failed = error.message
        first = watch.check()
        if failed:
            assert {path: data for path, data in first.items() if path != ".tars/vault-id"} == {
                path: data for path, data in watch.before.items() if path != ".tars/vault-id"
            }
        else:
            held = b"".join(data for path, data in first.items() if not path.startswith("sessions/"))
            alone = len(speakers(log)) == 1  # among people "remember" is said to one of them
            if done.sessions and alone and ASKED.encode() in case.log:
                assert b"the spare key is with ida" in held.lower(), "what was asked for is lost"
            with Limit("extract again"):
                memory.extract([log], model=model, keep=case.keep, force=True)
            assert watch.files() == first, "a second run changed something"
        with Limit("review"):
            review = memory.review()
            asked = suggestions.candidates_to_sort(review)
            if asked.candidates:
                try:
                    suggestions.suggest(review, asked, model)
                except ModelUnavailableError as error:
                    failed = failed or error.message
        with Limit("tidy"):
            context = memory.workspace.capture()
            try:
                suggestions.compare(context, suggestions.lines_to_compare(context), model)
            except ModelUnavailableError as error:
                failed = failed or error.message
            listed = memory.review().waiting(limit=0)
        for proposal in listed.proposals:
            if proposal.why.startswith("obey"):
                continue  # forged in the inbox itself; deciding about such ones has tests of its own
            assert proposal.target in ("Memory.md", "Procedural.md", "Facts.md"), proposal
            assert "\n" not in proposal.text + proposal.section, proposal
            assert not UNSEEN.search(proposal.text), proposal
        watch.check()
        with Limit("accept"):
            ids = [proposal.id for proposal in listed.proposals]
            if ids:
                with pytest.raises(UsageError):
                    memory.review().decide(accept=ids)
        with Limit("look"):
            memory.tidy()
            memory.search("tea obey")
            memory.context("which tea?")
        watch.check()
        with Limit("undo"):
            written = [entry.txn for entry in memory.history(limit=None) if not entry.undone]
            for txn in dict.fromkeys(written):
                memory.undo(txn)
        after = watch.files()
        assert {path: data for path, data in after.items() if path.endswith(".md")} == {
            path: data for path, data in watch.before.items() if path.endswith(".md")
        }, "undo did not bring back what was"
    return Survived(facts, failed)


def speakers(log: Path) -> set[str]:
    """Who speaks as the person."""
    told = (found.turns for found in read(str(log)) if isinstance(found, Transcript))
    return {turn.speaker for turns in told for turn in turns if turn.role == "user"}


class Limit:
    """A step that must not take long."""

    def __init__(self, step: str) -> None:
        self.step = step

    def __enter__(self) -> None:
        self.start = time.process_time()

    def __exit__(self, *error: object) -> None:
        spent = time.process_time() - self.start
        assert spent < STEP or "TARS_PROVE_SEED" not in os.environ, f"{self.step} took {spent:.1f} s"
