"""A stranger's vault is read for the first time: what answers meanwhile, and who reads the rest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tars_memory import jobs
from tars_memory.doors.cli import background
from tars_memory.index import detached, intake, prepare, vectors
from tars_memory.index.database import BACKGROUND, IndexFiles
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import Index
from tars_memory.index.intake import RefreshBudget
from tars_memory.index.reader import Filter
from tars_memory.memory import Memory
from tars_memory.settings import allows
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parents[1]))
from forked import started

AT_ONCE = 0.0
"""Patience for one batch."""


def vault_notes(count: int = 300) -> dict[str, str]:
    """Notes that all say the same but for their numbers."""
    notes = {f"plain {n}.md": f"# Plain {n}\n\ntea number {n}\n\n## More\n\nwords of {n}\n" for n in range(count)}
    return {"Memory.md": "# Memory\n\n- tea at noon\n", **notes, "茶园.md": "tea in China\n"}


def found(index: Index, word: str = "tea") -> set[str]:
    """The notes in which a word is found."""
    reader = index.reader()
    chunks = reader.chunks(chunk for chunk, _ in reader.match_chunks(expression([word]), Filter(), 10_000))
    return {chunk.path for chunk in chunks.values()}


@pytest.mark.parametrize("query", ["plain 299", "what does Plain 299 say?", "茶园", "园"])
def test_what_the_query_names_is_read_first(make_index, query: str) -> None:
    index = make_index(vault_notes())
    old = index.vault.root / "plain 299.md"
    os.utime(old, (1, 1))
    os.utime(index.vault.root / "茶园.md", (1, 1))
    report = index.refresh(RefreshBudget(patience=AT_ONCE, wanted=query))
    assert ("茶园.md" if "园" in query else "plain 299.md") in found(index)
    assert "Memory.md" in found(index)
    assert report.reading == 302 and report.stale == 252
    while index.refresh(RefreshBudget(patience=AT_ONCE, wanted="")).stale:
        pass
    assert len(found(index)) == 302
    assert index.verify() == []


def test_without_a_name_the_newest_notes_are_read_first(make_index) -> None:
    index = make_index(vault_notes())
    for number in range(300):
        os.utime(index.vault.root / f"plain {number}.md", (10_000 + number, 10_000 + number))
    index.refresh(RefreshBudget(patience=AT_ONCE, wanted=""))
    assert {"Memory.md", *(f"plain {number}.md" for number in range(260, 300))} <= found(index)
    assert "plain 5.md" not in found(index)


def test_a_huge_note_keeps_nobody_waiting(make_index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "BATCH_BYTES", intake.BATCH_BYTES // 50)
    index = make_index(
        {
            **vault_notes(10),
            "too big.md": "tea " * 3_000_000,
            "huge.md": "tea and many words\n" * 3_000,
            "huge 2.md": "tea\n" * 12_000,
        }
    )
    assert index.refresh(RefreshBudget(patience=AT_ONCE, wanted="plain")).stale == 2
    assert len(found(index)) == 12
    assert index.refresh(RefreshBudget(patience=AT_ONCE, wanted="huge 2")).stale == 1
    assert "huge 2.md" in found(index)
    assert index.refresh().stale == 0
    assert index.verify() == []


def test_who_has_no_patience_set_waits_for_all_of_it(make_index) -> None:
    index = make_index(vault_notes())
    assert index.refresh().stale == 0
    assert len(found(index)) == 302


def test_a_search_gets_its_turn_while_another_process_reads(make_index) -> None:
    index, other = make_index(vault_notes()), make_index()
    answered: list[set[str]] = []

    def ask(phase: str, done: int, total: int) -> None:
        if done == 100:
            other.refresh(RefreshBudget(patience=AT_ONCE, wanted="plain 7"))
            answered.append(found(other))

    index.refresh(RefreshBudget(None, wanted=""), ask)
    assert "plain 7.md" in answered[0] and len(answered[0]) < 302
    assert index.refresh().changed == 0
    assert index.verify() == []


def test_nobody_who_asks_waits_for_another_process_to_make_a_few_vectors(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "- tea at noon\n"})
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        memory.reindex(embed=False)
        memory.workspace.patience = 5.0
        with IndexFiles(memory.workspace.state).lock(0.0) as held:
            begun = time.monotonic()
            assert [hit.path for hit in memory.search("tea").hits] == ["Memory.md"]
            assert held and time.monotonic() - begun < 25  # a writer waits 30
        assert memory.workspace.index().pending() == 1
        memory.search("tea at noon")
        assert memory.workspace.index().pending() == 0


def test_a_vault_that_grows_while_it_is_read(make_index) -> None:
    index = make_index(vault_notes())

    def grow(phase: str, done: int, total: int) -> None:
        (index.vault.root / f"later {done}.md").write_text("tea of later\n")
        (index.vault.root / "plain 3.md").unlink(missing_ok=True)

    index.refresh(RefreshBudget(None, wanted=""), grow)
    index.refresh()
    assert "plain 3.md" not in found(index) and "later 100.md" in found(index)
    assert index.verify() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a fork")
@pytest.mark.parametrize("batches", [0, 1, 3, 6])
def test_killed_at_any_moment_of_the_first_index_it_goes_on_there(make_index, batches: int) -> None:
    index = make_index(vault_notes())
    child = os.fork()
    if not child:
        index.refresh(RefreshBudget(None, wanted=""), lambda _, done, __: os._exit(9) if done >= 50 * batches else None)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    again = make_index()
    assert again.refresh().changed == 302 - 50 * batches
    assert again.verify() == []


def test_vectors_for_what_every_prompt_begins_with_then_first_passages_then_the_newest(make_index) -> None:
    long = "\n".join(f"## Part {n}\n\n{'many words ' * 60}{n}\n" for n in range(3))
    index = make_index({"2026-01-01.md": long, "2026-02-02.md": long, "Memory.md": long, "2026-03-03.md": long})
    index.refresh()
    connection = index.connection()
    order = [chunks[0] for chunks in vectors._chunks_by_hash(connection, "1", None).values()]
    sql = "SELECT n.path, c.position FROM chunks c JOIN notes n ON n.id = c.note WHERE c.id = ?"
    placed = [connection.execute(sql, (chunk,)).fetchone() for chunk in order]
    days = ["2026-03-03.md", "2026-02-02.md", "2026-01-01.md"]
    memory = [one for one in placed if one[0] == "Memory.md"]
    assert placed[: len(memory)] == memory
    assert placed[len(memory) :] == [
        *((day, 0) for day in days),
        *((day, position) for day in days for position in (1, 2)),
    ]


# --- the process of its own


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault that the process may be let loose on, with a model of tests."""
    root = make_vault(tmp_path / "vault", vault_notes(60))
    monkeypatch.setenv("TARS_MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Workspace, "open_embedder", lambda _: HashEmbedder())
    monkeypatch.setattr(background, "_detach", lambda _: None)
    return root


def test_it_reads_all_notes_and_makes_all_vectors(place: Path) -> None:
    assert background.finish(str(place)) == 0
    with Memory(place) as memory:
        assert memory.workspace.index().refresh().changed == 0
        assert memory.workspace.index().pending() == 0
        assert detached.read_progress(memory.workspace.state).ended == ""
        assert memory.status()["background"] == {"running": False, "covers": 100, "left": None, "ended": ""}


@pytest.mark.parametrize("late", [True, False])
def test_after_a_change_of_the_model_it_counts_and_makes_the_vectors_of_all_texts(
    place: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    background.finish(str(place))
    told: list[detached.Work] = []
    monkeypatch.setattr(Workspace, "open_embedder", lambda _: HashEmbedder("another"))
    monkeypatch.setattr(background, "PORTION", 16)
    monkeypatch.setattr(background, "NEWS", 0.0)
    monkeypatch.setattr(detached, "write_progress", lambda _, work: told.append(work))
    if late:
        make_vault(place, {"late.md": "only this one has no vector of the former model\n"})
    background.finish(str(place))
    with Memory(place) as memory:
        assert memory.workspace.index().reader().fingerprint == "another"
        assert memory.workspace.index().pending() == 0
    vectors = [(work.done, work.total) for work in told if work.phase == "vectors" and work.total]
    assert vectors[0][1] >= 60 and all(done <= total for done, total in vectors)


def test_the_share_that_status_tells_is_of_one_moment(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reads_on(workspace: Workspace, _: list[str]) -> dict[str, list[int]]:
        make_vault(place, {f"late {number}.md": f"late {number}\n" for number in range(60)})
        workspace.index().refresh()
        return {}

    monkeypatch.setattr(jobs.status, "_unapproved", reads_on)  # as another process may while status looks at the rest
    with Memory(place) as memory:
        assert memory.status()["background"]["covers"] == 0


def test_the_speed_that_is_measured_leaves_out_the_opening_of_the_model(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(place) as memory:
        memory.workspace.ensure_state()
        work = background._Finishing(memory)
        for second, done, speed in ((100.0, 1, 0.0), (104.0, 41, 10.0)):
            monkeypatch.setattr(time, "monotonic", lambda second=second: second)
            work._report_vectors(0, 1500, "vectors", done, 1500)
            assert detached.read_progress(memory.workspace.state).speed == speed


def test_there_is_never_a_second_one(place: Path) -> None:
    with Memory(place) as memory, IndexFiles(memory.workspace.ensure_state()).lock(0.0, BACKGROUND) as mine:
        assert mine and detached.is_running(memory.workspace.state)
        assert background.finish(str(place)) == 0
        assert memory.workspace.index().files.current() is None  # it did nothing
        assert not detached.is_due(memory.workspace.state)


def test_on_battery_words_are_read_and_vectors_wait(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detached, "on_battery", lambda: True)
    background.finish(str(place))
    with Memory(place) as memory:
        assert memory.workspace.index().refresh().changed == 0
        assert memory.workspace.index().pending() > 60
        assert "battery" in detached.read_progress(memory.workspace.state).ended
        assert not detached.is_due(memory.workspace.state)
        monkeypatch.setattr(detached, "on_battery", lambda: False)
        assert detached.is_due(memory.workspace.state)  # plugged in, it goes on at the next search


def test_what_ends_it_is_told_and_no_search_tries_again_at_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.errors import ModelUnavailableError

    def missing(_: Memory) -> HashEmbedder:
        raise ModelUnavailableError("the model is not here", "install it")

    monkeypatch.setattr(Workspace, "open_embedder", missing)
    background.finish(str(place))
    with Memory(place) as memory:
        assert detached.read_progress(memory.workspace.state).ended == "the model is not here; install it"
        assert not detached.is_due(memory.workspace.state)
        later = time.time() + detached.PAUSE + 1
        monkeypatch.setattr(detached.time, "time", lambda: later)
        assert detached.is_due(memory.workspace.state)


def test_a_vault_that_is_gone_ends_it(place: Path) -> None:
    background.finish(str(place))
    with Memory(place) as memory:
        for note in place.iterdir():
            note.unlink() if note.is_file() else None
        background.finish(str(place))
        assert "looks empty" in detached.read_progress(memory.workspace.state).ended
        assert memory.workspace.index().status()["notes"] == 62  # what was read answers still
    assert background.finish(str(place / "nowhere")) == 0


def test_a_disk_without_room_costs_only_the_news(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(detached, "replace", full)
    assert background.finish(str(place)) == 0
    with Memory(place) as memory:
        assert memory.workspace.index().pending() == 0
        assert detached.read_progress(memory.workspace.state) == detached.Work()


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b'{"done": "many"}', b'{"phase": 3}', b"\xff" * 100])
def test_of_a_damaged_note_nothing_is_known(tmp_path: Path, said: bytes) -> None:
    (tmp_path / detached.NOTE).write_bytes(said)
    assert detached.read_progress(tmp_path) == detached.Work()
    assert detached.is_due(tmp_path)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The vaults for which the process was begun; none is."""
    asked: list[Path] = []

    def begin(_state: Path, root: Path, _env: object) -> bool:
        asked.append(root)
        return True

    monkeypatch.setattr(detached, "start", begin)
    return asked


def cold(place: Path, tmp_path: Path, **env: str) -> Memory:
    """A vault that was never read, as a command opens it."""
    memory = Memory(place, env={"TARS_MEMORY_HOME": str(tmp_path / "home"), **env})
    memory.workspace.patience, memory.workspace.may_finish_in_background = AT_ONCE, True
    return memory


def test_a_first_search_begins_it_and_says_so(place: Path, tmp_path: Path, begun: list[Path]) -> None:
    with cold(place, tmp_path) as memory:
        result = memory.search("plain 41", mode="lexical")
    assert begun == [place]
    assert result.hits[0].path == "plain 41.md"
    assert result.stale == 12
    assert result.notices == ["50 of 62 notes read, the rest and vectors in the background"]


@pytest.mark.parametrize("env", [{}, {"TARS_MEMORY_BACKGROUND": "0"}])
def test_where_many_notes_must_be_read_anew_it_is_said_who_reads_them(
    place: Path, tmp_path: Path, begun: list[Path], env: dict[str, str]
) -> None:
    for number in range(intake.READER_NOTES):
        (place / f"new {number}.md").write_text("tea\n")
    with cold(place, tmp_path) as memory:
        memory.reindex(embed=False)
    (place / ".tars/config.toml").write_text('[layout]\ndaily_folder = "Days"\n')
    with cold(place, tmp_path, **env) as memory:
        notices = memory.search("plain 41", mode="lexical").notices
    rest = ": tars-memory reindex" if env else "; they are being read in the background"
    assert notices == [f"the index is behind by 262 files{rest}"]


@pytest.mark.parametrize("off", [{"TARS_MEMORY_BACKGROUND": "0"}, {"TARS_MEMORY_INDEX_BACKGROUND": "off"}])
def test_nothing_goes_on_by_itself_where_that_is_off(
    place: Path, tmp_path: Path, begun: list[Path], off: dict[str, str]
) -> None:
    with cold(place, tmp_path, **off) as memory:
        notices = memory.search("plain 41", mode="lexical").notices
        memory.reindex(embed=False)
        memory.search("tea", mode="lexical")
    assert begun == []
    assert notices == ["50 of 62 notes read; tars-memory reindex reads the rest"]


def test_a_library_leaves_no_process_behind(place: Path, tmp_path: Path, begun: list[Path]) -> None:
    with Memory(place, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        assert memory.search("tea", mode="lexical").stale == 0
    assert begun == []


@pytest.mark.parametrize(("value", "may"), [("", True), ("1", True), ("0", False), ("off", False), (" No ", False)])
def test_the_variable(value: str, may: bool) -> None:
    assert allows({"TARS_MEMORY_BACKGROUND": value}, "TARS_MEMORY_BACKGROUND") is may


def test_init_begins_it_for_a_vault_of_many_notes_alone(
    place: Path, tmp_path: Path, begun: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    place = place.rename(place.parent / "My notes")
    assert run(["init", str(tmp_path / "new")], Call(env)) == 0
    assert begun == []
    assert run(["init", str(place)], Call(env)) == 0
    assert begun == [place]
    assert f"notes are being read in the background: cd '{place}' && tars-memory status" in capsys.readouterr().err
    with Memory(place, env=env) as memory:
        memory.reindex(embed=False)
    assert run(["init", str(place)], Call(env)) == 0
    assert "being read" not in capsys.readouterr().err, "all of them are"


def test_ctrl_c_says_what_is_done(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    def interrupted(index: Index, *_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Index, "embed_pending", interrupted)
    call = Call({"TARS_MEMORY_HOME": str(tmp_path / "home")})
    assert run(["--vault", str(place), "reindex"], call) == 130
    said = capsys.readouterr().err
    assert "stopped; 0 of 122 vectors made; tars-memory reindex continues" in said


@pytest.mark.parametrize("words", [["search", "plain"], ["status"], ["reindex"]])
def test_ctrl_c_in_the_first_reading_says_what_is_done(
    words: list[str], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    whole = intake.Batches.step

    def interrupted(plan: intake.Batches, *given: Any) -> int:
        if plan.done:
            raise KeyboardInterrupt
        return whole(plan, *given)

    monkeypatch.setattr(intake, "BATCH", 50)
    monkeypatch.setattr(intake.Batches, "step", interrupted)
    call = Call({"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_BACKGROUND": "0"})
    assert run(["--vault", str(place), *words], call) == 130
    stopped = "tars-memory: stopped; 50 notes read; tars-memory search and reindex continue there\n"
    assert capsys.readouterr().err.endswith(stopped)


@pytest.mark.parametrize(("many", "said"), [(62, "tars-memory: reading notes: 0 of 62\n"), (63, "")])
def test_a_pipe_is_told_that_a_long_reading_begins(
    many: int,
    said: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tars_memory.doors.cli import output
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    monkeypatch.setattr(output, "LONG", many)
    call = Call({"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_BACKGROUND": "0"})
    assert run(["--vault", str(place), "search", "plain", "--mode", "lexical"], call) == 0
    assert capsys.readouterr().err == said


def test_ctrl_c_while_the_model_is_prepared_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    def interrupted(*_: object) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "prepare_packaged", interrupted)
    vault = make_vault(tmp_path / "small", {"Tea.md": "green tea\n"})
    call = Call({"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_BACKGROUND": "0"})
    assert run(["--vault", str(vault), "search", "what is there to drink"], call) == 130
    assert "stopped; 1 note read; the next search prepares the model" in capsys.readouterr().err


# --- power


def supply(folder: Path, name: str, **said: str) -> None:
    (folder / name).mkdir(parents=True)
    for what, value in said.items():
        (folder / name / what).write_text(value + "\n")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's folder")
@pytest.mark.parametrize(
    ("supplies", "battery"),
    [
        ({}, False),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Charging"}}, False),
        ({"BAT0": {"type": "Battery", "status": "Full"}, "AC": {"type": "Mains", "online": "1"}}, False),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "0"}}, True),
        ({"BAT0": {"type": "Battery", "status": "Discharging"}, "AC": {"type": "Mains", "online": "1"}}, False),
        ({"hid": {"type": "Battery", "status": "Discharging", "scope": "Device"}}, False),
        ({"BAT0": {"type": "Battery"}}, False),
    ],
)
def test_power(tmp_path: Path, supplies: dict[str, dict[str, str]], battery: bool) -> None:
    for name, said in supplies.items():
        supply(tmp_path / "power", name, **said)
    assert detached.on_battery(str(tmp_path / "power")) is battery


# --- in earnest


def until(what: Callable[[], bool]) -> None:
    ends = time.monotonic() + 120
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="POSIX")
def test_it_outlives_the_terminal_and_a_killed_one_is_followed_by_another(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", vault_notes(400))
    env = {"PATH": os.environ["PATH"], "TARS_MEMORY_HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8"}
    env |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    state = Memory(root, env=env).workspace.ensure_state()

    def search() -> None:
        asked = [*started("--vault", str(root)), "search", "--mode", "lexical", "plain 41"]
        with subprocess.Popen(asked, env=env, start_new_session=True, stdout=subprocess.PIPE) as process:
            assert b"plain 41.md" in process.communicate()[0]
            try:
                os.killpg(process.pid, signal.SIGHUP)  # what a closed terminal does to all that is its own
            except ProcessLookupError:
                pass

    def pids() -> list[int]:
        mine = f"background\0index\0{root}".encode()
        told = [(entry.name, entry / "cmdline") for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(name) for name, path in told if mine in _bytes(path)]

    search()
    if not Path("/proc/self/cmdline").exists():
        return
    until(lambda: detached.read_progress(state).phase == "vectors" and detached.read_progress(state).done > 0)
    (pid,) = pids()
    assert os.getsid(pid) == pid and os.getpriority(os.PRIO_PROCESS, pid) >= 10
    os.kill(pid, signal.SIGKILL)
    until(lambda: not detached.is_running(state))
    search()
    until(lambda: bool(pids()))
    for pid in pids():
        os.kill(pid, signal.SIGTERM)
    until(lambda: not detached.is_running(state))
    told = subprocess.run([*started("--vault", str(root)), "verify", "--json"], env=env, capture_output=True)
    assert json.loads(told.stdout)["differences"] == []


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
