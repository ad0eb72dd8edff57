"""Old sessions are summed up: shown first, applied whole, every byte kept, found and known as before."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples, sized, within

from curation.oldsessions import Past, day, lead_nowhere, links, session, stamps, statements, summaries
from curation.tidykit import ZONE
from tars_memory.curation.tidying import archive
from tars_memory.curation.tidying.archive import WAITING, compress
from tars_memory.errors import ConflictError, UnwritableError, UsageError
from tars_memory.vault.writing.store import WriteSession

LINKED = "([[2025-03-04#^d-aaaaaa1|2025-03-04]])"


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def test_the_plan_changes_nothing_and_applying_does_just_that(past: Past) -> None:
    one = past.old("2025-03-04", Decisions="The van comes on Friday", Topics=["Cork", "the van"])
    two = past.old("2025-03-09", Decisions="The van comes on Friday", Facts=[f"Anna moves to Cork {LINKED}"])
    past.put("2025-03-04.md", "## Log\n- 10:00 [promoted] Anna moves to Cork ^d-aaaaaa1\n")
    past.old("2026-11-01", Decisions="Recent")
    os.chmod(past.root / one, 0o600)
    before, stamped = past.files(), stamps(past.root)
    shown = past.compress()
    assert past.files() == before and not past.state.exists()
    assert [(step.path, step.action, step.period) for step in shown.plan] == [
        (one, "move", "2025-03"), (two, "move", "2025-03"),
    ]  # fmt: skip
    done = past.compress(apply=True)
    assert (done.plan, done.moved) == (shown.plan, [one, two])
    assert [each.text for each in done.summaries] == [each.text for each in shown.summaries]
    after = past.files()
    made = after.pop("sessions/2025-03 summary.md")
    assert made.decode() == shown.summaries[0].text
    assert after == {f"archive/{path}" if path in (one, two) else path: data for path, data in before.items()}
    assert stamps(past.root)[f"archive/{one}"] == stamped[one]
    assert statements(made)["Decisions"] == ["The van comes on Friday"]
    assert statements(made)["Facts"] == ["Anna moves to Cork"]
    assert statements(made)["Topics"] == ["Cork", "the van"]
    assert lead_nowhere(past.files(), made, "sessions/2025-03 summary.md") == []
    assert {"2025-03-04 1000 talk", "2025-03-09 1000 talk", "2025-03-04#^d-aaaaaa1"} <= set(links(made))
    again = past.compress(apply=True)
    assert (again.plan, again.summaries, again.txn) == ([], [], None)
    past.store().undo(done.txn)
    assert (past.files(), stamps(past.root)) == (before, stamped)


@pytest.mark.parametrize(
    ("now", "said", "by", "old"),
    [
        ("2026-09-27", "2026-03-01", "month", False),  # 180 days after the month's last day
        ("2026-09-28", "2026-03-01", "month", True),
        ("2026-09-28", "2026-03-31", "month", True),
        ("2026-09-28", "2026-04-01", "month", False),
        ("2026-06-29", "2025-01-01", "year", False),
        ("2026-06-30", "2025-01-01", "year", True),
        ("2026-11-21", "2026-11-22", "month", False),
        ("9999-12-31", "9998-12-31", "year", True),
        ("2026-11-21", "0001-01-01", "month", True),
    ],
)
def test_the_edge_of_the_window(past: Past, now: str, said: str, by: str, old: bool) -> None:
    past.now = datetime.fromisoformat(f"{now}T12:00:00").replace(tzinfo=ZONE)
    past.old(said, Decisions="x y z")
    assert bool(past.compress(by=by).plan) is old


@pytest.mark.parametrize(
    ("before", "paths"),
    [("2025-03-04", []), ("2025-03-05", ["2025-03-04"]), ("2030-01-01", ["2025-03-04", "2026-11-20"])],
)
def test_before_a_day_and_never_today(past: Past, before: str, paths: list[str]) -> None:
    for said in ("2025-03-04", "2026-11-20", "2026-11-21"):
        past.old(said, Decisions=f"on {said}")
    assert [step.path[9:19] for step in past.compress(before=day(before)).plan] == paths


def test_years_and_months(past: Past) -> None:
    for said in ("2023-01-31", "2023-12-01", "2024-02-29"):
        past.old(said, Decisions=f"on {said}")
    assert [each.path for each in past.compress(by="year").summaries] == [
        "sessions/2023 summary.md", "sessions/2024 summary.md",
    ]  # fmt: skip
    done = past.compress(apply=True)
    assert [each.period for each in done.summaries] == ["2023-01", "2023-12", "2024-02"]
    past.store().undo()
    assert len(summaries(past.files())) == 0


def test_only_who_may_applies_it(past: Past) -> None:
    past.old("2025-03-04", Decisions="x y z")
    before = past.files()
    with pytest.raises(UsageError, match="person at a terminal"):
        compress(past.ctx("cron"), apply=True, allowed=False)
    assert past.files() == before and not past.state.exists()
    with pytest.raises(UsageError, match="week"):
        past.compress(by="week")


def test_a_dry_run_writes_nothing(past: Past) -> None:
    past.old("2025-03-04", Decisions="x y z")
    before = past.files()
    done = past.compress(apply=True, dry_run=True)
    assert (done.txn, done.moved, len(done.summaries)) == (None, [], 1)
    assert past.files() == before and not past.state.exists()


# --- what stays


def test_a_session_without_a_date_stays_and_is_told(past: Past) -> None:
    past.put("sessions/thoughts.md", "- one\n")
    past.put("sessions/2025-02-30 no such day.md", "- two\n")
    past.put("sessions/2025-03-04 by name.md", "- three\n")
    past.put("sessions/by front matter.md", "---\r\ndate: '2025-03-05'\r\n---\r\n- four\r\n")
    plan = {step.path: (step.action, step.period) for step in past.compress().plan}
    assert plan == {
        "sessions/2025-02-30 no such day.md": ("keep", ""),
        "sessions/2025-03-04 by name.md": ("move", "2025-03"),
        "sessions/by front matter.md": ("move", "2025-03"),
        "sessions/thoughts.md": ("keep", ""),
    }
    past.compress(apply=True)
    assert statements(past.files()["sessions/2025-03 summary.md"])["Facts"] == ["three", "four"]


@pytest.mark.parametrize(("age", "stays"), [(13, True), (14, True), (15, False)])
def test_an_undecided_candidate_keeps_its_session_for_a_time(past: Past, age: int, stays: bool) -> None:
    said = (past.now - timedelta(days=age)).date().isoformat()
    path = past.old(said, Facts=f"likes tea ([[{said}#^d-aaaaaa1|{said}]])")
    past.put(f"{said}.md", "## Log\n- 10:00 [extracted] likes tea ^d-aaaaaa1\n")
    assert (past.kept(before=past.now.date()) == {path: WAITING}) is stays
    past.put(f"{said}.md", "## Log\n- 10:00 [rejected] likes tea ^d-aaaaaa1\n")
    done = past.compress(before=past.now.date(), apply=True)
    assert done.moved == [path] and "likes tea" not in done.summaries[0].text
    assert done.summaries[0].passed_over == 1


def test_a_candidate_that_was_extracted_today_from_an_old_talk_keeps_its_session(past: Past) -> None:
    path = past.old("2020-03-04", Facts="likes tea ([[2020-03-04#^d-aaaaaa1|2020-03-04]])")
    note = past.files()[path].decode()
    past.put(path, note.replace("turns: 12\n", f"turns: 12\nextracted: {past.now.date()}\n"))
    past.put("2020-03-04.md", "## Log\n- 10:00 [extracted] likes tea ^d-aaaaaa1\n")
    assert past.kept() == {path: WAITING}
    past.now += timedelta(days=15)
    assert past.kept() == {}


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("Trip.md", "[then](<sessions/2025-03-04 1000 talk.md>)"),
        ("Trip.md", "[[sessions/2025-03-04 1000 talk]]"),
        ("Board.canvas", '{"nodes":[{"type":"file","file":"sessions/2025-03-04 1000 talk.md"}]}'),
        ("sessions/2026-11-20 1000 new.md", "[[./2025-03-04 1000 talk]]"),
    ],
)
def test_a_session_that_is_linked_by_its_path_stays(past: Past, note: str, text: str) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    other = past.old("2025-03-05", Decisions="a b c")
    past.put(note, text)
    assert note in past.kept()[path]
    assert past.compress(apply=True).moved == [other]
    assert "x y z" not in past.get("sessions/2025-03 summary.md")


def test_a_link_by_its_name_holds(past: Past) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    past.put("Trip.md", "[[2025-03-04 1000 talk]] ![[2025-03-04 1000 talk#Decisions]]")
    assert past.compress(apply=True).moved == [path]
    assert lead_nowhere(past.files(), past.files()["Trip.md"], "Trip.md") == []


def test_another_text_in_the_archive_is_never_written_over(past: Past) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    past.put(f"archive/{path}", "another\n")
    before = past.files()
    assert "says something else" in past.kept()[path]
    assert past.compress(apply=True).moved == [] and past.files() == before


def test_a_move_that_another_program_cut_off_is_finished(past: Past) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    past.put(f"archive/{path}", past.files()[path])
    assert past.compress(apply=True).moved == [path]
    assert past.get(f"archive/{path}") and path not in past.files()


def test_what_may_not_be_written_stays_and_the_rest_goes(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    merging = past.old("2025-03-04", Decisions="x y z")
    past.put(merging, past.get(merging) + "<<<<<<< a\n- one\n=======\n- two\n>>>>>>> b\n")
    locked = past.old("2025-03-05", Decisions="d e f")
    free = past.old("2025-03-06", Decisions="a b c")
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode, **more: not str(path).endswith(locked) and real(path, mode, **more)
    )
    assert {path: reason.split(" ", 4)[1] for path, reason in past.kept().items()} == {merging: "has", locked: "may"}
    assert past.compress(apply=True).moved == [free]


def test_names_that_are_no_text(past: Past) -> None:
    names = [b"2025-03-04 \xff odd.md", b"2025-03-05 two\nlines.md", b"2025-03-06 \xe2\x80\xae turned.md"]
    (past.root / "sessions").mkdir()
    for name in names:
        (past.root / os.fsdecode(os.path.join(b"sessions", name))).write_bytes(b"- something of " + name[:10] + b"\n")
    before = past.files()
    done = past.compress(apply=True)
    taken = {path[9:19] for path in done.moved}
    said = statements(past.files()["sessions/2025-03 summary.md"])
    assert {text[-10:] for text in said["Facts"]} == taken and len(said["Sessions"]) == len(taken) > 0
    past.store().undo()
    assert past.files() == before


@pytest.mark.timed
def test_a_hostile_line_costs_no_time(past: Past) -> None:
    past.old("2025-03-04", Decisions="x y z")
    past.put(
        "2025-03-04.md",
        "- 10:00 " + "[extracted] ^" * sized(70_000) + "\n- 10:00 [extracted] " + "^a" * sized(200_000) + "\n",
    )
    head = f"---\nperiod: 2025-03\ntags: [{archive.TAG}]\n---\n"
    past.put("sessions/2025-03 summary.md", f"{head}## Sessions\n- " + "[[a]] (" * sized(100_000) + "\n")
    with within(20):
        assert len(past.compress().summaries) == 1


def test_a_note_that_changes_meanwhile_stops_all_of_it(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    past.old("2025-03-04", Decisions="x y z")
    last = past.old("2025-03-09", Decisions="a b c")
    before = past.files()
    real = WriteSession.move

    def late(session: WriteSession, path: str, to: str) -> bool:
        if path != last:
            past.put(last, past.files()[last] + b"- one more\n")
        return real(session, path, to)

    monkeypatch.setattr(WriteSession, "move", late)
    with pytest.raises(ConflictError):
        past.compress(apply=True)
    after = past.files()
    assert after.pop(last) == before.pop(last) + b"- one more\n"
    assert after == before


def test_an_archive_that_leads_out_of_the_vault_takes_none(past: Past, tmp_path: Path) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    (tmp_path / "out").mkdir()
    (past.root / "archive").symlink_to(tmp_path / "out")
    before = past.files()
    assert past.kept()[path]
    assert past.compress(apply=True).txn is None
    assert past.files() == before and os.listdir(tmp_path / "out") == []


def test_a_note_that_cannot_be_moved_stops_all_of_it(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    past.old("2025-03-04", Decisions="x y z")
    last = past.old("2025-03-09", Decisions="a b c")
    before, stamped = past.files(), stamps(past.root)
    real = WriteSession.move

    def failing(session: WriteSession, path: str, to: str) -> bool:
        if path == last:
            raise UnwritableError("the disk is full")
        return real(session, path, to)

    monkeypatch.setattr(WriteSession, "move", failing)
    with pytest.raises(UnwritableError):
        past.compress(apply=True)
    assert (past.files(), stamps(past.root)) == (before, stamped)


def test_of_two_at_once_the_second_finds_nothing_to_do(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    path = past.old("2025-03-04", Decisions="x y z")
    real = archive.propose
    first: list[Any] = []

    def meanwhile(*given: Any, **more: Any) -> Any:
        if not first:
            first.append(None)
            first.append(past.compress(apply=True))
        return real(*given, **more)

    monkeypatch.setattr(archive, "propose", meanwhile)
    done = past.compress(apply=True)
    assert first[1].moved == [path] and (done.txn, done.plan, done.summaries) == (None, [], [])
    assert list(statements(past.files()["sessions/2025-03 summary.md"])) == ["Decisions", "Sessions"]


def test_projects_keep_to_themselves(past: Past) -> None:
    ours = past.old("2025-03-04", Decisions="global one")
    past.scope = "boat"
    path = past.old("2025-03-04", Decisions="of the boat")
    done = past.compress(apply=True)
    assert done.moved == [path]
    made = past.files()["projects/boat/sessions/2025-03 summary.md"]
    assert statements(made)["Decisions"] == ["of the boat"]
    assert "projects/boat/archive/sessions/2025-03-04 1000 talk" in links(made)
    assert ours in past.files()
    past.scope = ""
    assert past.compress(apply=True).moved == [ours]
    assert b"boat" not in past.files()["sessions/2025-03 summary.md"]
    known = {"projects/boat/archive/sessions/2025-03-04 1000 talk.md", "archive/sessions/2025-03-04 1000 talk.md"}
    assert known <= set(past.files())
    assert lead_nowhere(past.files(), past.files()["sessions/2025-03 summary.md"], "sessions/2025-03 summary.md") == []


# --- what a summary says


def test_decisions_and_what_was_promoted_come_first_and_the_rest_is_counted(past: Past) -> None:
    facts = [f"fact {n} of many ([[2025-03-04#^d-aaaaa{n:02}|2025-03-04]])" for n in range(30)]
    past.put("2025-03-04.md", "- 10:00 [promoted] fact 29 of many ^d-aaaaa29\n- 10:00 [expired] fact 1 ^d-aaaaa01\n")
    past.old("2025-03-04", Decisions=[f"decision {n}" for n in range(8)], Facts=facts, Topics=["a topic"])
    done = past.compress(lines=10, apply=True)
    said = statements(past.files()["sessions/2025-03 summary.md"])
    assert said["Decisions"] == [f"decision {n}" for n in range(8)]
    assert "fact 29 of many" in said["Facts"] and len(said["Facts"]) == 2
    assert (done.summaries[0].statements, done.summaries[0].left_out) == (10, 29)
    assert "left_out: 29" in past.get("sessions/2025-03 summary.md")


def test_a_statement_keeps_its_author(past: Past) -> None:
    past.old("2025-03-04", Facts=["the roof is new [by:: Anna]", "the roof is new"])
    past.compress(apply=True)
    made = past.get("sessions/2025-03 summary.md")
    assert "- the roof is new [by:: Anna]\n" in made and "- the roof is new\n" in made


def test_what_is_done_secret_or_a_text_is_passed_over(past: Past) -> None:
    past.old(
        "2025-03-04",
        Open_ends=["[x] pay Bob", "[ ] call Anna", "[-] fly"],
        Facts=["the key is AKIAIOSFODNN7EXAMPLQ", "long " * 200, "odd %% comment <!-- and more", "```python"],
    )
    done = past.compress(apply=True)
    said = statements(past.files()["sessions/2025-03 summary.md"])
    assert said["Open ends"] == ["call Anna"]
    assert said["Facts"] == ["odd \\%\\% comment <\\!-- and more"]
    assert "AKIA" not in past.get("sessions/2025-03 summary.md")
    assert done.summaries[0].passed_over == 4


def test_names_that_no_wikilink_can_hold_are_linked_otherwise(past: Past) -> None:
    past.put("sessions/2025-03-04 C# [x] | y.md", "- one fact here\n")
    past.compress(apply=True)
    made = past.get("sessions/2025-03 summary.md")
    assert "(archive/sessions/2025-03-04%20C%23%20%5Bx%5D%20%7C%20y.md)" in made and "[[" not in made


# --- what comes later


def test_a_later_session_of_the_month_gets_a_second_summary_and_the_first_stays(past: Past) -> None:
    past.old("2025-03-04", Decisions="first of all", Topics="the van")
    past.compress(apply=True)
    first, path = past.files()["sessions/2025-03 summary.md"], "sessions/2025-03 summary 2.md"
    later = past.old("2025-03-20", Decisions=["second of all", "first of all"], Facts=["a new fact", "another new one"])
    done = past.compress(apply=True)
    assert done.moved == [later] and [each.path for each in done.summaries] == [path]
    made = past.files()[path]
    assert statements(made)["Decisions"] == ["second of all", "first of all"]
    assert statements(made)["Facts"] == ["a new fact", "another new one"]
    assert past.files()["sessions/2025-03 summary.md"] == first
    past.store().undo()
    assert path not in past.files() and later in past.files()


def test_a_summary_that_the_person_made_another_is_left_alone(past: Past) -> None:
    past.put("sessions/2025-03 summary.md", "my own note\n")
    past.old("2025-03-04", Decisions="x y z")
    done = past.compress(apply=True)
    assert [each.path for each in done.summaries] == ["sessions/2025-03 summary 2.md"]
    assert past.get("sessions/2025-03 summary.md") == "my own note\n"


def test_a_note_that_is_made_in_the_place_of_a_summary_stops_it(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    past.old("2025-03-09", Decisions="a b c")
    path = "sessions/2025-03 summary.md"
    real = WriteSession.move

    def late(session: WriteSession, source: str, to: str) -> bool:
        past.put(path, "mine\n")
        return real(session, source, to)

    monkeypatch.setattr(WriteSession, "move", late)
    before = past.files()
    with pytest.raises(ConflictError):
        past.compress(apply=True)
    after = past.files()
    assert after.pop(path) == b"mine\n"
    assert after == before


# --- any vault

WORDS = st.sampled_from(
    ["takes the night train", "no tea", "tea", "moves on 15 Oct", "moves on 16 Oct", "%% odd", "`[[x]]`", "ü ß 東京",
     "[ ] call Bob", "[x] done", "# no heading", "a #tag", "ends in ^id", "[extracted] odd", "bad \udcff byte"]
)  # fmt: skip
SECTION = st.sampled_from(["Decisions", "Facts", "Open ends", "Topics", "Notes of mine", "Summary", "Turns"])
SAID = st.tuples(
    SECTION, WORDS, st.integers(0, 3), st.sampled_from(["", "extracted", "promoted", "rejected", "expired"])
)
SESSIONS = st.lists(
    st.tuples(st.integers(0, 1200), st.lists(SAID, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans()),
    min_size=1, max_size=6,
)  # fmt: skip


def build(past: Past, made: list[Any]) -> None:
    dailies: dict[date, list[str]] = {}
    for number, (age, said, nl, head) in enumerate(made):
        when = past.now.date() - timedelta(days=age)
        sections: dict[str, list[str]] = {}
        for index, (title, words, twice, state) in enumerate(said):
            text = f"{words} n{twice}"
            if state:
                name = f"d-{number}{index}aaaaa"
                dailies.setdefault(when, []).append(f"- 10:00 [{state}] {text} ^{name}")
                text += f" ([[{when}#^{name}|{when}]])"
            sections.setdefault(title, []).append(text)
        note = session(when.isoformat(), name=str(number), head=head, **sections)  # type: ignore[arg-type]
        past.put(f"sessions/{when} 10{number:02} t.md", note.replace("\n", nl).encode("utf-8", "surrogateescape"))
    for when, lines in dailies.items():
        past.put(f"{when}.md", "\n".join(["## Log", *lines, ""]).encode("utf-8", "surrogateescape"))


@settings(max_examples=examples(60))
@given(SESSIONS, st.sampled_from(["month", "year"]), st.integers(1, 300), st.integers(10, 12))
def test_any_vault_keeps_every_byte_and_every_link(made: Any, by: str, days: int, lines: int) -> None:
    with TemporaryDirectory() as folder:
        past = Past(Path(folder))
        build(past, made)
        before, stamped = past.files(), stamps(past.root)
        shown = past.compress(by=by, days=days, lines=lines)
        assert past.files() == before
        done = past.compress(by=by, days=days, lines=lines, apply=True)
        assert done.plan == shown.plan and [s.text for s in done.summaries] == [s.text for s in shown.summaries]
        after = past.files()
        new = summaries(after)
        moved = {step.path: step.to for step in shown.plan if step.action == "move"}
        assert {moved.get(path, path): data for path, data in before.items()} == {
            path: data for path, data in after.items() if path not in new
        }
        whole = b"\n".join(before[path] for path in moved).decode("utf-8", "replace").replace("\\", "")
        for path, data in new.items():
            assert set(lead_nowhere(after, data, path)) <= {"x"}  # a link of the person that leads nowhere
            told = statements(data)
            for text in (text for title in archive.KINDS.values() for text in told.get(title, ())):
                assert text.replace("\\", "") in whole
            assert sum(len(told.get(title, ())) for title in archive.KINDS.values()) <= lines
        told_of = [link for data in new.values() for link in links(data)]
        assert all(to.rpartition("/")[2][:-3] in told_of for to in moved.values())
        again = past.compress(by=by, days=days, lines=lines, apply=True)
        assert again.txn is None and past.files() == after
        if done.txn:
            past.store().undo(done.txn)
        assert (past.files(), stamps(past.root)) == (before, stamped)
