"""Old daily notes move to the archive: none is lost, every link holds, and what the plan says is what happens."""

from __future__ import annotations

import os
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from curation.tidykit import Desk
from tars_memory.capture.remember import Caller
from tars_memory.curation.tidying import archive as archiving
from tars_memory.curation.tidying.archive import CUT_OFF, WAITING, OldNote, archive
from tars_memory.errors import ConflictError, UnwritableError, UsageError
from tars_memory.memory import Memory
from tars_memory.settings import ReviewOptions, TidyOptions
from tars_memory.vault.inbox import FIELDS, INBOX, keep
from tars_memory.vault.links import Links, outlinks, resolve
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import WriteSession
from tars_memory.vault.writing.transaction import Transaction

TODAY = date(2026, 11, 21)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def of_days(desk: Desk, days: int, window: int, actor: Any = "person", **more: Any) -> Caller:
    tidy, review = TidyOptions(daily_days=days), ReviewOptions(window_days=window)
    return desk.ctx(actor, tidy=tidy, review=review, **more)


def planned(desk: Desk, days: int = 90, window: int = 14) -> list[OldNote]:
    return archive(of_days(desk, days, window)).plan


def kept(desk: Desk, days: int = 90, window: int = 14) -> dict[str, str]:
    return {step.path: step.reason for step in planned(desk, days, window) if step.action == "keep"}


def move(desk: Desk, days: int = 90, actor: Any = "person", **more: Any) -> list[str]:
    return archive(of_days(desk, days, 14, actor, **more), apply=True).moved


def test_the_plan_changes_nothing_and_moving_does_just_that(desk: Desk) -> None:
    desk.put("2026-01-02.md", "## Log\n- 10:00 tea\n")
    desk.put("2026-11-20.md", "## Log\n- 10:00 cake\n")
    before = desk.files()
    steps = planned(desk)
    assert desk.files() == before and not desk.state.exists()
    assert [step.as_dict() for step in steps] == [
        {"path": "2026-01-02.md", "to": "archive/2026-01-02.md", "action": "move", "reason": "323 days old"}
    ]
    done = archive(desk.ctx(), apply=True)
    assert (done.plan, done.moved, done.failed) == (steps, ["2026-01-02.md"], False)
    assert desk.files() == {
        "archive/2026-01-02.md": before["2026-01-02.md"],
        "2026-11-20.md": before["2026-11-20.md"],
    }
    assert planned(desk) == []
    assert [written.txn for written in desk.store().undo(done.txn)]
    assert desk.files() == before


@pytest.mark.parametrize(("age", "moves"), [(0, False), (89, False), (90, False), (91, True), (-1, False)])
def test_the_edge_of_the_window(desk: Desk, age: int, moves: bool) -> None:
    path = f"{TODAY - timedelta(days=age)}.md"
    desk.put(path, "- x\n")
    assert [step.path for step in planned(desk)] == ([path] if moves else [])


@pytest.mark.parametrize(("now", "moves"), [("2026-11-21T23:59:00-11:00", False), ("2026-11-22T00:01:00-11:00", True)])
def test_the_local_day_counts(desk: Desk, now: str, moves: bool) -> None:
    desk.now = datetime.fromisoformat(now)  # in UTC both are the 22nd
    desk.put("2026-08-23.md", "- x\n")
    assert bool(planned(desk)) is moves


@pytest.mark.parametrize(
    ("layout", "path"),
    [
        ({"daily_folder": "Journal"}, "Journal/2026-01-02.md"),
        ({"daily_format": "YYYY/MM/YYYY-MM-DD"}, "2026/01/2026-01-02.md"),
        ({"daily_folder": "J", "daily_format": "YYYY/MMMM/Do[ of ]MMMM YYYY"}, "J/2026/January/2nd of January 2026.md"),
        ({}, "projects/boat/2026-01-02.md"),
        ({"daily_folder": "archive"}, "archive/2026-01-02.md"),
    ],
)
def test_folders_formats_and_projects(tmp_path: Path, layout: dict[str, str], path: str) -> None:
    desk = Desk(tmp_path, **layout)
    desk.scope = "boat" if "boat" in path else ""
    desk.put(path, "## Log\n- 10:00 tea ^d-abc\n")
    desk.put("projects/other/2026-01-01.md", "not ours\n")
    ctx = desk.ctx()
    assert move(desk) == [path]
    to = ctx.layout.archived(path)
    assert set(desk.files()) == {to, "projects/other/2026-01-01.md"}
    assert (ctx.layout.day_of(to), ctx.layout.scope_of(to)) == (date(2026, 1, 2), ctx.layout.scope_of(path))
    assert resolve(Vault(desk.root), path.rpartition("/")[2][:-3] + "#^d-abc") == to
    assert planned(desk) == []


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("Trip.md", "see [that day](Journal/2026-01-02.md)"),
        ("Trip.md", "see [that day](<Journal/2026-01-02.md#x>)"),
        ("Trip.md", "see [[Journal/2026-01-02]]"),
        ("Trip.md", "see [[Journal/2026-01-02#^d-1|then]]"),
        ("Trip.md", "![[Journal/2026-01-02.md]]"),
        ("Trip.md", "---\nday: '[[Journal/2026-01-02]]'\n---\n"),
        ("Trip.md", "[then]: Journal/2026-01-02.md\n"),
        ("Trip.md", '<a href="Journal/2026-01-02.md">then</a>'),
        ("Notes/Trip.md", "see [then](../Journal/2026-01-02.md)"),
        ("Journal/2026-11-20.md", "see [[./2026-01-02]]"),
        ("Board.canvas", '{"nodes":[{"type":"file","file":"Journal/2026-01-02.md"}]}'),
        (".obsidian/bookmarks.json", '{"items":[{"type":"file","path":"Journal/2026-01-02.md"}]}'),
    ],
)
def test_a_note_that_is_linked_by_its_path_stays(tmp_path: Path, note: str, text: str) -> None:
    desk = Desk(tmp_path, daily_folder="Journal")
    desk.put("Journal/2026-01-02.md", "- x\n")
    desk.put(note, text)
    assert list(kept(desk)) == ["Journal/2026-01-02.md"]
    assert note in kept(desk)["Journal/2026-01-02.md"]
    assert move(desk) == []


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("Trip.md", "see [[2026-01-02]] and [[2026-01-02#^d-1|then]] and ![[2026-01-02]]"),
        ("Trip.md", "see [out](https://example.org/Journal/2026-01-02.md)"),
        ("Trip.md", "see [other](Journal/2026-01-03.md) and [[Journal/2026-01-03]]"),
        ("Board.canvas", '{"nodes":[{"type":"text","text":"[[2026-01-02]]"}]}'),
    ],
)
def test_a_note_that_is_linked_by_its_name_moves(tmp_path: Path, note: str, text: str) -> None:
    desk = Desk(tmp_path, daily_folder="Journal")
    desk.put("Journal/2026-01-02.md", "- x\n")
    desk.put(note, text)
    assert move(desk) == ["Journal/2026-01-02.md"]


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        ("![](pic.png)", True),
        ("![p](<pic.png>)", True),
        ("[up](../Home.md)", True),
        ("[[../Home]]", True),
        ('<img src="pic.png">', True),
        ("![[pic.png]] [[Home]] [out](https://x.org/pic.png) [gone](gone.png) [part](#log)", False),
        ("[by its place in the vault](Deep/Other.md)", False),
    ],
)
def test_links_of_the_note_itself(tmp_path: Path, text: str, stays: bool) -> None:
    desk = Desk(tmp_path, daily_folder="Journal")
    desk.put("Journal/2026-01-02.md", text)
    desk.put("Journal/pic.png", b"x")
    desk.put("Home.md", "x")
    desk.put("Deep/Other.md", "x")
    assert (list(kept(desk)) == ["Journal/2026-01-02.md"]) is stays
    assert (move(desk) == []) is stays


def test_notes_that_link_each_other_by_path_move_together_or_stay_together(tmp_path: Path) -> None:
    desk = Desk(tmp_path, daily_folder="Journal")
    desk.put("Journal/2026-01-02.md", "[next](2026-01-03.md)")
    desk.put("Journal/2026-01-03.md", "[before](2026-01-02.md)")
    assert move(desk) == ["Journal/2026-01-02.md", "Journal/2026-01-03.md"]
    desk.put("Journal/2026-01-04.md", "[next](2026-01-05.md)")
    desk.put("Journal/2026-01-05.md", "[[Journal/2026-01-05]]")
    assert list(kept(desk)) == ["Journal/2026-01-04.md", "Journal/2026-01-05.md"]


def test_a_name_that_two_notes_share_leads_where_it_led(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- ours\n")
    desk.put("projects/a/2026-01-02.md", "[[2026-01-02]]\n")
    desk.put("deep/er/Trip.md", "[[2026-01-02]]\n")
    before = {path: Links(desk.files()).resolve("2026-01-02", path) for path in ("deep/er/Trip.md",)}
    move(desk)
    files = desk.files()
    for path, led in before.items():
        found = Links(files).resolve("2026-01-02", path)
        assert found is not None and led is not None
        assert files[found] == b"- ours\n"


@pytest.mark.parametrize(("age", "stays"), [(13, True), (14, True), (15, False)])
def test_lines_that_wait_for_review_keep_their_note_for_a_time(desk: Desk, age: int, stays: bool) -> None:
    path = f"{TODAY - timedelta(days=age)}.md"
    desk.put(path, "## Log\n- 10:00 [extracted] likes tea ^d-1\n")
    assert (path in kept(desk, days=5)) is stays
    desk.put(path, "## Log\n- 10:00 [promoted] likes tea ^d-1\n")
    assert path not in kept(desk, days=5)


def test_a_move_that_was_cut_off_is_finished(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- x\n")
    desk.put("archive/2026-01-02.md", "- x\n")
    assert "interrupted" in planned(desk)[0].reason
    assert move(desk) == ["2026-01-02.md"]
    assert desk.files() == {"archive/2026-01-02.md": b"- x\n"}


def test_another_text_in_the_archive_is_never_written_over(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- x\n")
    desk.put("archive/2026-01-02.md", "- y\n")
    before = desk.files()
    assert "says something else" in kept(desk)["2026-01-02.md"]
    assert move(desk) == [] and desk.files() == before


def test_what_cannot_be_written_is_said_and_the_rest_moves(desk: Desk, tmp_path: Path) -> None:
    desk.put("2026-01-02.md", "- x\n")
    desk.put("2026-01-03.md", "- y\n")
    (tmp_path / "out").mkdir()
    (desk.root / "archive").mkdir()
    (desk.root / "archive" / "2026-01-02.md").symlink_to(tmp_path / "out")
    done = archive(desk.ctx(), apply=True)
    assert done.moved == ["2026-01-03.md"]
    assert [step.path for step in done.plan if step.action == "keep"] == ["2026-01-02.md"]
    assert os.listdir(tmp_path / "out") == []


def test_a_move_that_fails_is_said_and_the_rest_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in ("2026-01-02", "2026-01-03", "2026-01-04"):
        desk.put(f"{day}.md", f"- {day}\n")
    before = desk.files()
    real = WriteSession.move

    def failing(session: WriteSession, path: str, to: str) -> bool:
        if path == "2026-01-02.md":
            raise UnwritableError("the disk is full")
        return path != "2026-01-03.md" and real(session, path, to)

    monkeypatch.setattr(WriteSession, "move", failing)
    done = archive(desk.ctx(), apply=True)
    assert (done.failed, done.moved) == (True, ["2026-01-04.md"])
    assert [step.reason for step in done.plan if step.action == "keep"] == ["the disk is full", archiving.CHANGED]
    assert desk.files().items() > {path: data for path, data in before.items() if path != "2026-01-04.md"}.items()


def test_an_archive_that_would_make_other_notes_of_them_takes_none(tmp_path: Path) -> None:
    desk = Desk(tmp_path, sessions_folder="archive")
    desk.put("2026-01-02.md", "- x\n")
    assert "would not be a daily note" in kept(desk)["2026-01-02.md"]


def test_templates_other_notes_and_the_archive_stay(desk: Desk) -> None:
    for path in ("notes/2026-01-02.md", "archive/2026-01-02.md", "Memory.md", "sessions/2026-01-02 1000 x.md"):
        desk.put(path, "- x\n")
    desk.put(".obsidian/templates.json", '{"folder": "2020"}')
    before = desk.files()
    assert planned(desk) == [] and move(desk) == [] and desk.files() == before


def test_a_layout_that_is_not_known_moves_nothing(desk: Desk) -> None:
    desk.put(".obsidian/daily-notes.json", '{"format": "HH:mm"}')
    desk.put("2026-01-02.md", "- x\n")
    with pytest.raises(UsageError):
        planned(desk)


def test_a_dry_run_moves_nothing(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- x\n")
    before = desk.files()
    assert move(desk, dry_run=True) == []
    assert desk.files() == before and not desk.state.exists()


def test_cron_may_archive(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- x\n")
    assert move(desk, actor="cron") == ["2026-01-02.md"]
    assert not (desk.root / INBOX).exists()


# --- any vault

LAYOUTS = [
    {},
    {"daily_folder": "Journal"},
    {"daily_folder": "Journal", "daily_format": "YYYY/MM/YYYY-MM-DD"},
    {"daily_format": "YYYY/YYYY-MM-DD"},
]
DAYS = st.integers(-3, 400).map(lambda age: TODAY - timedelta(days=age))
SHAPES = [
    "[[{name}]]", "[[{name}#^d-1|x]]", "![[{name}]]", "[[{path}]]", "[x]({path}.md)", "[x](<{name}.md>)",
    "[[./{name}]]", "[x](../{name}.md)", "[[archive/{name}]]", "![](pic.png)", "[[Home]]", "[extracted] [[{name}]]",
]  # fmt: skip
LINES = st.lists(st.tuples(st.sampled_from(SHAPES), st.integers(0, 9)), max_size=3)
NOTES = st.lists(st.tuples(DAYS, st.sampled_from(["", "a"]), LINES), min_size=1, max_size=7)


def build(desk: Desk, notes: list[tuple[date, str, Any]], others: list[Any], copies: list[bool]) -> None:
    layout = desk.ctx().layout
    days = [day for day, _, _ in notes]

    def text(lines: Any) -> str:
        told = ["## Log"]
        for shape, number in lines:
            day = days[number % len(days)]
            path = layout.daily_path(day)[:-3]
            told.append(f"- 10:00 {shape.format(name=path.rpartition('/')[2], path=path)} ^d-1")
        return "\n".join(told) + "\n"

    for index, (day, scope, lines) in enumerate(notes):
        path = layout.daily_path(day, scope=scope)
        desk.put(path, f"{text(lines)}- 11:00 word{index}\n")
        if copies[index % len(copies)]:
            desk.put(layout.archived(path), desk.get(path) if index % 2 else "- other\n")
    for index, lines in enumerate(others):
        desk.put(["Home.md", "deep/Trip.md", "archive/Old.md"][index], text(lines))
    desk.put("pic.png", b"x")


def led(files: dict[str, bytes]) -> dict[tuple[str, str], tuple[str | None, bytes | None]]:
    """For every note (by its name without archive/) and every wikilink in it: the note that it leads to."""
    links = Links(files)
    found = {}
    for path, data in files.items():
        if path.endswith(".md"):
            for link in outlinks(data.decode()):
                if link.kind == "wiki":
                    to = links.resolve(link.target, path)
                    name = to.replace("archive/", "") if to else None
                    found[path.replace("archive/", ""), str(link)] = name, files.get(to or "")
    return found


@settings(max_examples=examples(80))
@given(
    st.sampled_from(LAYOUTS), NOTES, st.lists(LINES, max_size=3), st.lists(st.booleans(), min_size=1, max_size=3),
    st.integers(1, 120),
)  # fmt: skip
def test_any_vault_keeps_every_note_and_every_link(
    layout: dict[str, str], notes: Any, others: Any, copies: list[bool], days: int
) -> None:
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder), **layout)
        build(desk, notes, others, copies)
        before = desk.files()
        shown = planned(desk, days)
        assert desk.files() == before
        done = archive(of_days(desk, days, 14), apply=True)
        after = desk.files()
        assert done.plan == shown
        archived = desk.ctx().layout.archived
        moved = {step.path: step.to for step in shown if step.action == "move"}
        assert {moved.get(path, path): data for path, data in before.items()} == after
        for path, to in moved.items():
            assert to == archived(path)
            day = desk.ctx().layout.day_of(to)
            assert day is not None and (TODAY - day).days > days
        was, now = led(before), led(after)
        for key, (name, data) in was.items():
            if name is not None:
                assert now[key] == (name, data), key
        assert move(desk, days) == [] and desk.files() == after
        if moved:
            desk.store().undo(done.txn)
            assert desk.files() == before


def test_archived_notes_are_found_shown_and_packed_as_before(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "2026-01-02.md").write_text("## Log\n- 10:00 the zeppelin landed ^d-1\n", "utf-8")
    (root / "2026-11-21.md").write_text("## Log\n- 10:00 the balloon rose\n", "utf-8")
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    now = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
    with Memory(root, actor="person", interactive=True, now=now, env=env) as memory:
        assert memory.archive(apply=True).moved == ["2026-01-02.md"]
        for query in ("zeppelin", "zeppelin tier:daily", "zeppelin tier:daily since:2026-01-01 until:2026-01-31"):
            hits = memory.search(query, mode="lexical").hits
            assert [(hit.path, str(hit.tier), str(hit.date)) for hit in hits] == [
                ("archive/2026-01-02.md", "daily", "2026-01-02")
            ]
        assert "zeppelin" in memory.context(days=365, budget=500).text
        assert [entry.text for entry in memory.list("daily")] == ["the balloon rose", "the zeppelin landed"]
        assert memory.show("zeppelin").path == "archive/2026-01-02.md"
    then = datetime.fromisoformat("2026-01-02T18:00:00+00:00")
    with Memory(root, actor="person", interactive=True, now=then, env=env) as memory:
        assert memory.log("added later").path == "archive/2026-01-02.md"
        assert not (root / "2026-01-02.md").exists()


def test_a_kill_between_the_two_writes_leaves_both_until_the_next_write_takes_the_first_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.put("2026-01-02.md", "- x\n")
    desk.put("2026-01-03.md", "- y\n")
    before = desk.files()

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            move(desk)
    assert desk.files() == {**before, "archive/2026-01-02.md": b"- x\n"}
    assert [step.reason for step in planned(desk)] == [CUT_OFF, "322 days old"]
    desk.store().recover()
    assert desk.files() == before
    assert move(desk) == ["2026-01-02.md", "2026-01-03.md"]
    assert desk.files() == {f"archive/{path}": data for path, data in before.items()}
    desk.store().undo()
    assert desk.files() == before


def test_the_writing_of_a_note_is_undone_after_its_move_to_the_archive_or_not_at_all(desk: Desk) -> None:
    before = desk.files()
    with desk.store().transaction("log") as transaction:
        txn = transaction.write("2026-01-02.md", lambda _: [Splice(0, 0, b"- x\n")]).txn
    assert move(desk) == ["2026-01-02.md"]
    with pytest.raises(ConflictError, match=r"2026-01-02.md was removed by \w+ \(tidy\)"):
        desk.store().undo(txn)
    assert "archive/2026-01-02.md" in desk.files() and not next(desk.store().history(path="2026-01-02.md")).undone
    desk.store().undo(last=2)
    assert desk.files() == before


def test_a_note_changed_in_the_archive_is_not_there_twice_after_an_undo(desk: Desk) -> None:
    desk.put("2026-01-02.md", "- x\n")
    assert move(desk) == ["2026-01-02.md"]
    desk.put("archive/2026-01-02.md", "- x\n- by hand\n")
    before = desk.files()
    with pytest.raises(ConflictError, match=r"archive/2026-01-02.md has changed since"):
        desk.store().undo()
    assert desk.files() == before


def test_a_line_promoted_long_ago_still_says_where_it_is_from(tmp_path: Path) -> None:
    from tars_memory.curation.proposals import Decision

    root = tmp_path / "vault"
    root.mkdir()
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    (root / "2026-01-02.md").write_text("## Log\n- 10:00 [extracted] Anna moved to Cork ^d-1\n", "utf-8")
    then = datetime.fromisoformat("2026-01-03T10:00:00+00:00")
    with Memory(root, actor="person", interactive=True, now=then, env=env) as memory:
        review = memory.review()
        offered = review.waiting().proposals
        review.commit([Decision(each, accept=True) for each in offered], review.gather())
    later = datetime.fromisoformat("2026-11-21T10:00:00+00:00")
    with Memory(root, actor="person", interactive=True, now=later, env=env) as memory:
        before = [(link.kind, link.date) for link in memory.why("Anna moved to Cork").chain]
        assert memory.archive(apply=True).moved == ["2026-01-02.md"]
        trail = memory.why("Anna moved to Cork")
        assert [(link.kind, link.date) for link in trail.chain] == before
        assert "archive/2026-01-02.md" in [link.path for link in trail.chain]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "-".join(layout.values()) or "default")
def test_every_line_is_found_as_a_line_of_its_day(tmp_path: Path, layout: dict[str, str]) -> None:
    desk = Desk(tmp_path, **layout)
    (desk.root / ".obsidian").mkdir()
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    env |= {f"TARS_MEMORY_LAYOUT_{name.upper()}": value for name, value in layout.items()}
    words: dict[str, date] = {}
    for number, age in enumerate((89, 90, 91, 120, 200, 365)):
        day = TODAY - timedelta(days=age)
        lines = [f"quagga{number}x{line}" for line in range(2)]
        desk.put(
            desk.ctx().layout.daily_path(day),
            "## Log\n" + "".join(f"- 10:0{n} {w} came by\n" for n, w in enumerate(lines)),
        )
        words |= dict.fromkeys(lines, day)
    with Memory(desk.root, actor="cron", now=desk.now, env=env) as memory:
        memory.reindex(embed=False)
        assert len(memory.archive(apply=True).moved) == 4
        for word, day in words.items():
            (hit,) = memory.search(f"{word} tier:daily since:{day} until:{day}", mode="lexical").hits
            assert (str(hit.date), word in hit.text) == (str(day), True)
            assert memory.workspace.vault.layout.is_archived(hit.path) is ((TODAY - day).days > 90)
        assert memory.verify() == []
        assert [each["kind"] for each in memory.doctor()["findings"]] in ([], ["index"])


def test_what_was_said_long_ago_and_extracted_only_now_keeps_its_note_until_it_is_decided(tmp_path: Path) -> None:
    """A first import: the conversations are old, their candidates are new."""
    desk = Desk(tmp_path)
    line = b"## Log\n- 10:00 [extracted] keeps bees ^d-7f3ak2c\n"
    desk.put("2026-01-02.md", line)
    head = f"---\ndate: 2026-01-02\nsource_hash: {'0' * 64}\nturns: 1\nextracted: {desk.now.date()}\n---\n\n"
    link = "- keeps bees ([[2026-01-02#^d-7f3ak2c|2026-01-02]])\n"
    desk.put("sessions/2026-01-02 1000 bees.md", f"{head}## Facts\n\n{link}")
    assert kept(desk) == {"2026-01-02.md": WAITING}
    assert move(desk) == []
    desk.put("2026-01-02.md", line.replace(b"extracted", b"rejected"))
    assert move(desk) == ["2026-01-02.md"]


def test_a_line_that_was_said_again_lately_is_still_offered_with_both_its_notes(desk: Desk) -> None:
    desk.put("2026-01-02.md", "## Log\n- 10:00 [extracted] keeps bees ^d-1\n")
    desk.put("2026-11-20.md", "## Log\n- 10:00 [extracted] keeps bees ^d-2\n")
    assert kept(desk) == {"2026-01-02.md": WAITING}


def test_a_proposal_in_the_inbox_keeps_the_note_of_the_line_that_it_decides(desk: Desk) -> None:
    line = "- 10:00 [expired] keeps bees ^d-1"
    desk.put("2026-01-02.md", f"## Log\n{line}\n")
    mark = ["2026-01-02.md", line, "d-1"]
    told = {"op": "append", "target": "Memory.md", "section": "Notes", "text": "keeps bees", "marks": [mark]}
    with desk.ctx().writing("suggest", None) as transaction:
        keep(transaction, {**dict.fromkeys(FIELDS, ""), "conflicts": [], "date": "2026-01-02", **told})
    assert kept(desk) == {"2026-01-02.md": WAITING}
