"""The index answers what was true when as a naive reading of Facts.md does, whatever was done to the note."""

from __future__ import annotations

import re
import tempfile
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault

FIRST = date(2026, 11, 1)
SUBJECTS = st.sampled_from(["Anna", "anna", "Béla", "the boat"])
PREDICATES = st.sampled_from(["lives in", "works as", "likes", "met", "is in"])
OBJECTS = st.sampled_from(["Cork", "Berlin", "Berlin Mitte", "engineer", "senior engineer", "tea", "no tea"])
DAYS = st.none() | st.integers(-40, 40).map(lambda days: FIRST + timedelta(days=days))
PROBES = [FIRST + timedelta(days=days) for days in range(-60, 200, 13)]


def naive(text: str) -> list[tuple[str, str, str, date | None, date | None]]:
    """What a person reads in the note: line by line, no library."""
    found, subject = [], ""
    for line in re.split(r"\r\n|\r|\n", text):
        if line.startswith("#"):
            subject = line.lstrip("#").strip()
        elif match := re.fullmatch(r"- ([^:\[\]()]+?):: (.+?)((?: \[(?:since|until):: \d{4}-\d\d-\d\d\])*)", line):
            days = dict(re.findall(r"(since|until):: (\S{10})", match[3]))
            since, until = (date.fromisoformat(days[n]) if n in days else None for n in ("since", "until"))
            found.append((subject, match[1], match[2], since, until))
    return found


def on(found, day: date) -> list[tuple[str, str, str]]:
    return sorted(f[:3] for f in found if (f[3] is None or f[3] <= day) and (f[4] is None or day < f[4]))


class FactsMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        base = Path(self.folder.name)
        self.root = make_vault(base / "vault", {"Facts.md": "# Facts\n\n## Anna\n- likes:: tea\n"})
        self.env = {"TARS_MEMORY_HOME": str(base / "home")}
        self.today = FIRST
        self.said: set[str] = {"tea"}
        self.index = Memory(self.root, embedder=HashEmbedder(), env=self.env)

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()

    def memory(self) -> Memory:
        from datetime import datetime

        now = datetime(self.today.year, self.today.month, self.today.day, 12).astimezone()
        return Memory(self.root, embedder=HashEmbedder(), env=self.env, now=now)

    def text(self) -> str:
        return (self.root / "Facts.md").read_text("utf-8")

    @rule(subject=SUBJECTS, predicate=PREDICATES, object_=OBJECTS, since=DAYS, until=DAYS)
    def add(self, subject: str, predicate: str, object_: str, since: date | None, until: date | None) -> None:
        before = len(naive(self.text()))
        with self.memory() as memory:
            try:
                receipt = memory.add_fact(subject, predicate, object_, since=since, until=until)
            except UsageError:
                return
        assert len(naive(self.text())) == before + receipt.written  # nothing ever vanishes by an addition
        self.said.add(object_)

    @rule(object_=OBJECTS, day=DAYS)
    def end(self, object_: str, day: date | None) -> None:
        with self.memory() as memory:
            try:
                memory.end_fact(object_, on=day)
            except (NotFoundError, AmbiguousError, UsageError):
                return

    @rule(object_=OBJECTS)
    def remove(self, object_: str) -> None:
        with self.memory() as memory:
            try:
                memory.remove_fact(object_)
            except (NotFoundError, AmbiguousError):
                return

    @rule(subject=SUBJECTS, predicate=PREDICATES, object_=OBJECTS, crlf=st.booleans())
    def by_hand(self, subject: str, predicate: str, object_: str, crlf: bool) -> None:
        nl = "\r\n" if crlf else "\n"
        with (self.root / "Facts.md").open("a", encoding="utf-8", newline="") as file:
            file.write(f"{nl}## {subject}{nl}- {predicate}:: {object_}{nl}")

    @rule()
    def undo(self) -> None:
        with self.memory() as memory:
            try:
                memory.undo()
            except (NotFoundError, UsageError):
                return

    @rule(days=st.integers(1, 20))
    def wait(self, days: int) -> None:
        self.today += timedelta(days=days)

    @rule()
    def lose_the_index(self) -> None:
        self.index.close()
        for path in Path(self.folder.name).joinpath("home").rglob("index-*"):
            path.unlink()
        self.index = Memory(self.root, embedder=HashEmbedder(), env=self.env)

    @invariant()
    def the_index_says_what_the_note_says(self) -> None:
        told = naive(self.text())
        for day in PROBES:
            found = self.index.facts(as_of=day)
            assert sorted((f.subject, f.predicate, f.object) for f in found) == on(told, day)
        single = [(f.subject.casefold(), f.predicate) for f in self.index.facts(as_of=date(1990, 1, 1))]
        assert len(self.index.facts(everything=True)) == len(told) >= len(single)


TestFacts = FactsMachine.TestCase
TestFacts.settings = settings(
    max_examples=15, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)


def test_a_stale_name_never_ends_somebody_elses_fact(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Facts.md": "## Anna\n- likes:: tea\n\n## Ben\n- likes:: tea\n"})
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        anna, ben = memory.facts()
        (root / "Facts.md").write_text("## Ben\n- likes:: tea\n\n## Anna\n- likes:: tea\n")
        ended = memory.end_fact(ben.ref)
        assert (ended.line, [fact.subject for fact in memory.facts()]) == (2, ["Anna"])
        assert [fact.subject for fact in memory.facts(everything=True) if fact.ref == ended.ref] == ["Ben"]
        assert memory.show(anna.ref).line == 5
        memory.undo(ended.txn)
        (root / "Facts.md").write_text("## Ben\n- likes:: tea\n")
        with pytest.raises(NotFoundError):
            memory.remove_fact(anna.ref)
        assert memory.remove_fact(ben.ref).written
