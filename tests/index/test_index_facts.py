"""The index answers what was true when as a naive reading of Facts.md does, whatever was done to the note."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from random_documents import examples

from tars_memory.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
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
        self.made: list[tuple[str, str]] = []
        """The note before and after each of our writes that is not undone."""
        self.index = Memory(self.root, embedder=HashEmbedder(), env=self.env)

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()

    def memory(self) -> Memory:
        from datetime import datetime

        now = datetime(self.today.year, self.today.month, self.today.day, 12).astimezone()
        return Memory(self.root, embedder=HashEmbedder(), env=self.env, now=now)

    def text(self) -> str:
        return (self.root / "Facts.md").read_bytes().decode("utf-8")

    @contextmanager
    def writing(self) -> Iterator[Memory]:
        before = self.text()
        with self.memory() as memory:
            yield memory
        if self.text() != before:
            self.made.append((before, self.text()))

    @rule(subject=SUBJECTS, predicate=PREDICATES, object_=OBJECTS, since=DAYS, until=DAYS)
    def add(self, subject: str, predicate: str, object_: str, since: date | None, until: date | None) -> None:
        before = len(naive(self.text()))
        with self.writing() as memory:
            try:
                receipt = memory.add_fact(subject, predicate, object_, since=since, until=until)
            except UsageError:
                return
        assert len(naive(self.text())) == before + receipt.written  # nothing ever vanishes by an addition

    @rule(object_=OBJECTS, day=DAYS)
    def end(self, object_: str, day: date | None) -> None:
        with self.writing() as memory, suppress(NotFoundError, AmbiguousError, UsageError):
            memory.end_fact(object_, on=day)

    @rule(object_=OBJECTS)
    def remove(self, object_: str) -> None:
        with self.writing() as memory, suppress(NotFoundError, AmbiguousError):
            memory.remove_fact(object_)

    @rule(subject=SUBJECTS, predicate=PREDICATES, object_=OBJECTS, crlf=st.booleans())
    def by_hand(self, subject: str, predicate: str, object_: str, crlf: bool) -> None:
        nl = "\r\n" if crlf else "\n"
        with (self.root / "Facts.md").open("a", encoding="utf-8", newline="") as file:
            file.write(f"{nl}## {subject}{nl}- {predicate}:: {object_}{nl}")

    @rule()
    def undo(self) -> None:
        """What was added by hand since stays behind it; a line that was removed and written again is not doubled."""
        now = self.text()
        wanted, refused = now, False
        if self.made:
            before, after = self.made[-1]
            assert now.startswith(after)
            old, left, since = (text.splitlines() for text in (before, after, now[len(after) :]))
            refused = len(old) > len(left) and any(old.count(line) > left.count(line) for line in old if line in since)
            wanted = now if refused else before + now[len(after) :]
        with self.memory() as memory:
            try:
                memory.undo()
            except ConflictError:
                assert refused
            except NotFoundError:
                assert not self.made
            else:
                assert not refused
                self.made.pop()
        assert self.text() == wanted

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
TestFacts.settings = settings(max_examples=examples(10), stateful_step_count=12)


@pytest.mark.parametrize(("subject", "crlf"), [("Anna", False), ("Béla", False), ("Béla", True)])
def test_a_fact_that_was_removed_and_written_again_by_hand_is_neither_lost_nor_doubled(
    subject: str, crlf: bool
) -> None:
    machine = FactsMachine()
    try:
        machine.by_hand(subject, "lives in", "Cork", crlf)
        machine.remove("Cork")
        machine.by_hand(subject, "lives in", "Cork", crlf)
        machine.undo()
        machine.the_index_says_what_the_note_says()
        machine.remove("Cork")
        machine.by_hand(subject, "likes", "tea", crlf)
        machine.undo()
        machine.the_index_says_what_the_note_says()
        machine.undo()
    finally:
        machine.teardown()


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


def test_a_fact_that_is_not_utf_8_ends_no_reading(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Facts.md": "## Anna\n- lives in:: Berlin\n", "Tea.md": "the tea\n"})
    (root / "Facts.md").write_bytes(b"## Anna\n- lives in:: M\xfcnchen\n- likes:: tea\n")
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        assert [fact.object for fact in memory.facts()] == ["M\ufffdnchen", "tea"]
        assert memory.search("tea", mode="lexical").hits


def opened(tmp_path: Path, facts: str) -> Memory:
    from datetime import datetime

    root = make_vault(tmp_path / "vault", {"Facts.md": facts})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    return Memory(root, embedder=HashEmbedder(), env=env, now=datetime(2026, 11, 21, 12).astimezone())


KNOWN = "# Facts\n\n## Anna\n- lives in:: Berlin [since:: 2019-01-01]\n"


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("Cork [until:: 2020-01-01]", "- lives in:: Cork [until:: 2020-01-01]"),
        ("Cork (UNTIL:: 2020-01-01) by the sea", "- lives in:: Cork by the sea [until:: 2020-01-01]"),
        (
            "科克 [since:: 2019-05-01] [until:: [[2020-01-01]]]",
            "- lives in:: 科克 [since:: 2019-05-01] [until:: 2020-01-01]",
        ),
    ],
)
def test_dates_typed_in_the_object_are_those_of_the_fact(tmp_path: Path, typed: str, written: str) -> None:
    with opened(tmp_path, KNOWN) as memory:
        memory.add_fact("Anna", "lives in", typed)
        assert (memory.workspace.root / "Facts.md").read_text("utf-8") == f"{KNOWN}{written}\n"
        assert [fact.object for fact in memory.facts("Anna")] == ["Berlin"]
        assert not memory.add_fact("Anna", "lives in", typed).written


def test_a_first_day_typed_in_the_object_ends_what_was_so_before(tmp_path: Path) -> None:
    with opened(tmp_path, KNOWN) as memory:
        memory.add_fact("Anna", "lives in", "Cork [since:: 2026-01-01]", since=date(2026, 1, 1))
        assert [(fact.object, fact.since) for fact in memory.facts("Anna")] == [("Cork", date(2026, 1, 1))]
        assert memory.facts("Anna", everything=True)[0].until == date(2026, 1, 1)


@pytest.mark.parametrize(
    ("parts", "days"),
    [
        (("Anna", "lives in", "Cork [until:: soon]"), {}),
        (("Anna", "lives in", "Cork [since:: 2026-02-30]"), {}),
        (("Anna", "lives in", "Cork [since:: 2026-02-01] [until:: 2025-01-01]"), {}),
        (("Anna", "lives in", "Cork [since:: 2026-02-01] (since:: 2025-01-01)"), {}),
        (("Anna", "lives in", "Cork [by:: Bob]"), {}),
        (("Anna", "lives in", "[until:: 2020-01-01]"), {}),
        (("Anna [until:: 2020-01-01]", "lives in", "Cork"), {}),
        (("Anna (by:: Bob)", "lives in", "Cork"), {}),
        (("Anna", "lives in [since:: 2020-01-01]", "Cork"), {}),
        (("Anna", "lives in", "Cork [until:: 2030-01-01]"), {"until": date(2031, 1, 1)}),
    ],
)
def test_a_field_that_can_be_no_date_of_the_fact_is_refused(
    tmp_path: Path, parts: tuple[str, str, str], days: dict[str, date]
) -> None:
    with opened(tmp_path, KNOWN) as memory:
        with pytest.raises(UsageError):
            memory.add_fact(*parts, **days)
        assert (memory.workspace.root / "Facts.md").read_text("utf-8") == KNOWN


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tea [until:: nonsense]", "is not a date"),
        ("tea (until:: 2026-02-30)", "is not a date"),
        ("tea [until:: 2020-01-01]", "has ended already"),
        ("tea [since:: 2027-01-02] [until:: 2027-01-01]", "never holds"),
        ("tea [until:: 2027-01-01]", ""),
        ("`[until:: nonsense]` ends a line", ""),
    ],
)
def test_an_end_that_does_nothing_or_is_past_is_told_and_the_line_is_written(
    tmp_path: Path, text: str, said: str
) -> None:
    with opened(tmp_path, KNOWN) as memory:
        milk = memory.remember("milk")
        for done in (memory.remember(text), memory.log(text), memory.edit(milk.ref, f"milk and {text}")):
            assert done.written
            assert said in " ".join(done.notices) if said else not done.notices
