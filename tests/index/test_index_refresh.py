"""Refresh: what is taken in, what is left, what is said; and that nothing in the vault changes."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from unprivileged import unwritable

from tars_memory.errors import UnwritableError, VaultError
from tars_memory.index import indexer
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import Index, RefreshBudget
from tars_memory.index.reader import Filter
from tars_memory.vault.model import Splice
from tars_memory.vault.template import fill_vault
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Store

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)


def paths(index: Index, word: str, within: Filter | None = None) -> list[str]:
    reader = index.reader()
    ids = [chunk for chunk, _ in reader.match_chunks(expression([word]), within or Filter(), 50)]
    return sorted(row.path for row in reader.chunks(ids).values())


def settle(index: Index) -> None:
    """Refresh until no stamp is too young to be believed: 50 ms, or two seconds if it happens to be a whole second."""
    for _ in range(300):
        index.refresh()
        if index.connection().execute("SELECT count(*) FROM files WHERE length(stamp) <> 32").fetchone()[0] == 0:
            return
        time.sleep(0.02)
    raise AssertionError("never settles")


def test_words_with_plainer_letters_leave_the_index_as_they_came(make_index) -> None:
    index = make_index({"Łódź.md": "Die Straße\n\n- ёлка, Αθήνα \0 nul\n", "other.md": "tea\n"})
    root = index.vault.root
    index.refresh()
    assert paths(index, "strasse") == paths(index, "елка") == paths(index, "lodz") == ["Łódź.md"]
    (root / "Łódź.md").write_text("Die Gasse\n\n- ёлка\n")
    index.refresh()
    assert (paths(index, "straße"), paths(index, "ёлка")) == ([], ["Łódź.md"])
    assert index.verify() == []
    (root / "Łódź.md").unlink()
    index.refresh()
    assert (paths(index, "елка"), paths(index, "lodz")) == ([], [])
    assert index.verify() == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("Österreich", ["Österreich/Ärzte.md"]),
        ("ÖSTERREICH/", ["Österreich/Ärzte.md"]),
        ("*/ärzte.md", ["Österreich/Ärzte.md"]),
        ("русский/за", ["Русский/Заметка.md"]),
        ("élan/", [unicodedata.normalize("NFD", "Élan/x.md")]),
        ("[öa]*", ["a [b] c/q.md", "Österreich/Ärzte.md"]),
        ("a [b] c", ["a [b] c/q.md"]),
        ("A [B] c/Q.md", ["a [b] c/q.md"]),
        ("東京", ["東京.md"]),
        ("sterreich", []),
    ],
)
def test_a_path_is_found_in_any_case_and_form(make_index, path: str, found: list[str]) -> None:
    names = ("Österreich/Ärzte.md", "Русский/Заметка.md", "a [b] c/q.md", "東京.md", "b.md")
    index = make_index(dict.fromkeys((*names, unicodedata.normalize("NFD", "Élan/x.md")), "tea\n"))
    index.refresh()
    assert paths(index, "tea", Filter(paths=[path])) == found
    everything = set(paths(index, "tea"))
    assert set(paths(index, "tea", Filter(not_paths=[path]))) == everything - set(found)


def test_create_edit_rename_delete(make_index) -> None:
    index = make_index({"a.md": "tea\n", "b.md": "milk\n"})
    root = index.vault.root
    assert index.refresh().changed == 2
    (root / "a.md").write_text("copper\n")
    assert index.refresh().changed == 1
    assert paths(index, "tea") == []
    assert paths(index, "copper") == ["a.md"]
    (root / "a.md").rename(root / "c.md")
    report = index.refresh()
    assert (report.changed, report.removed) == (1, 1)
    assert paths(index, "copper") == ["c.md"]
    (root / "c.md").unlink()
    assert index.refresh().removed == 1
    assert paths(index, "copper") == []


def test_a_refresh_without_changes_writes_nothing(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    settle(index)
    before = index.connection().execute("PRAGMA data_version").fetchone(), index.connection().total_changes
    report = index.refresh()
    assert (report.changed, report.removed, report.stale) == (0, 0, 0)
    assert (index.connection().execute("PRAGMA data_version").fetchone(), index.connection().total_changes) == before


def test_a_touch_reads_but_changes_no_chunk(make_index) -> None:
    index = make_index({"2026-03-15.md": "tea\n"})
    settle(index)
    ids = index.connection().execute("SELECT id FROM chunks").fetchall()
    os.utime(index.vault.root / "2026-03-15.md", (1_000_000_000, 1_000_000_000))
    assert index.refresh().changed == 0
    assert index.connection().execute("SELECT id FROM chunks").fetchall() == ids


def test_a_same_size_edit_with_its_time_put_back_is_seen(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    settle(index)
    note = index.vault.root / "a.md"
    was = note.stat()
    with open(note, "r+b") as file:
        file.write(b"sea")
    os.utime(note, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert index.refresh().changed == 1
    assert paths(index, "sea") == ["a.md"]


def test_unchanged_chunks_keep_their_number_and_vector(make_index) -> None:
    text = "# A\n\nfirst\n\n# B\n\nsecond\n"
    index = make_index({"a.md": text})
    index.reindex()
    before = dict(index.connection().execute("SELECT t.text, c.id FROM chunks c JOIN chunk_texts t ON t.id = c.id"))
    (index.vault.root / "a.md").write_text("new line\n\n" + text.replace("second", "third"))
    index.refresh()
    after = (
        index.connection()
        .execute(
            "SELECT t.text, c.id, c.start_line, c.embedded FROM chunks c JOIN chunk_texts t ON t.id = c.id"
            " ORDER BY c.position"
        )
        .fetchall()
    )
    assert [row[0] for row in after] == ["new line", "first", "third"]
    assert after[1] == ("first", before["first"], 5, after[1][3])
    assert after[1][3] != 0
    assert after[2][1] != before["second"]
    assert index.verify() == []


def test_beyond_its_budget_a_reader_answers_from_the_old_rows(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    for number in range(5):
        (index.vault.root / f"n{number}.md").write_text("milk\n")
    report = index.refresh(RefreshBudget(notes=4))
    assert report.stale == 5
    assert report.notices == ["the index is behind by 5 files: tars-memory reindex"]
    assert paths(index, "milk") == []
    assert paths(index, "tea") == ["a.md"]
    assert index.refresh().changed == 5


def test_the_first_refresh_takes_in_whatever_there_is(make_index) -> None:
    index = make_index({f"{n}.md": f"note {n}\n" for n in range(300)})
    assert index.refresh(RefreshBudget(notes=10)).changed == 300


def test_the_words_of_a_batch_are_written_at_once(make_index) -> None:
    """One segment a batch: each further one is a merge later, and seven times the cost of a chunk."""
    index = make_index({f"{n}.md": f"note {n}\n\n# A\n\n東京 {n}\n" for n in range(60)})
    index.refresh()
    for table in ("chunk_words", "chunk_signs", "note_words"):
        assert index.connection().execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").fetchall() == [(1,)]


def test_a_first_refresh_that_was_cut_off_goes_on(make_index, monkeypatch) -> None:
    index = make_index({f"{n}.md": f"note {n}\n" for n in range(50)})
    monkeypatch.setattr(indexer.intake, "BATCH", 20)

    def stop(phase: str, done: int, total: int) -> None:
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.refresh(progress=stop)
    index.close()
    index = make_index()
    assert index.refresh(RefreshBudget(notes=5)).changed == 10
    assert index.verify() == []


def test_a_busy_lock_is_waited_for_but_not_long(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    (index.vault.root / "b.md").write_text("milk\n")
    with index.files.lock(1.0) as held:
        assert held
        report = make_index().refresh()
        assert report.stale == 1
        assert 0.05 < report.took < 5
        with pytest.raises(UnwritableError):
            make_index().refresh(RefreshBudget(None, 0.01, strict=True))
    assert index.refresh().changed == 1


def test_the_brake(make_index) -> None:
    index = make_index({f"{n}.md": "tea\n" for n in range(40)})
    index.refresh()
    for number in range(30):
        (index.vault.root / f"{number}.md").unlink()
    report = index.refresh()
    assert report.stale == 30
    assert "unmounted" in report.notices[0] and "missing notes aren't found" in report.notices[0]
    assert len(paths(index, "tea")) == 40
    with pytest.raises(VaultError):
        index.reindex()
    assert index.reindex(full=True).changed == 10
    assert len(paths(index, "tea")) == 10


def without_ours(make_index, tmp_path: Path):
    """An index of 40 notes and of 60 that were written by us and are taken back by an undo that it hasn't seen."""
    index = make_index({f"{n}.md": "tea\n" for n in range(40)})
    store = Store(index.vault.root, tmp_path / "state", now=NOW, actor="script")
    with store.transaction("extract") as transaction:
        for number in range(60):
            transaction.write(f"ours/{number}.md", lambda _: [Splice(0, 0, b"tea\n")])
    index.refresh()
    store.undo()
    return index


def test_a_note_that_another_process_dropped_since_the_look_stops_no_refresh(make_index, tmp_path, monkeypatch) -> None:
    index = without_ours(make_index, tmp_path)
    looks = [lambda *_: {}, indexer.intake.stored]
    monkeypatch.setattr(indexer.intake, "stored", lambda *args: looks.pop()(*args))
    assert index.refresh().unmounted


def test_notes_that_we_removed_ourselves_do_not_trip_the_brake(make_index, tmp_path: Path) -> None:
    index = without_ours(make_index, tmp_path)
    assert (index.refresh().removed, len(paths(index, "tea"))) == (60, 40)
    (index.vault.root / "ours").mkdir()
    for number in range(60):  # somebody wrote them again
        (index.vault.root / f"ours/{number}.md").write_text("green tea\n")
    index.refresh()
    shutil.rmtree(index.vault.root / "ours")
    assert index.refresh().unmounted
    index.reindex(full=True)
    for number in range(30):  # these went without us
        (index.vault.root / f"{number}.md").unlink()
    assert index.refresh().unmounted


def test_a_vault_that_is_gone_is_an_error_and_the_index_stays(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    index.refresh()
    index.vault.root.rename(index.vault.root.with_name("away"))
    with pytest.raises(VaultError):
        index.refresh()
    assert paths(index, "tea") == ["a.md"]


def test_a_note_that_one_look_missed_is_kept(make_index, monkeypatch) -> None:
    index = make_index({"a.md": "tea\n", "b.md": "milk\n"})
    settle(index)
    whole = index.vault.sweep
    looks = []

    def sweep():
        looks.append(1)
        found = whole()
        if len(looks) == 1:  # an editor that saves by rename is between its two steps
            found = [folder._replace(names=["b.md"], numbers=folder.numbers[-4:]) for folder in found]
        return found

    monkeypatch.setattr(index.vault, "sweep", sweep)
    assert index.refresh().removed == 0
    assert len(looks) == 2
    assert paths(index, "tea") == ["a.md"]


def test_odd_files_are_skipped_and_counted(make_index, tmp_path) -> None:
    index = make_index(
        {"a.md": "tea\n", "big.md": b"x" * 5000, ".obsidian/x.md": "no", "n.sync-conflict-20260101-101010.md": "c"}
    )
    root = index.vault.root
    os.mkfifo(root / "pipe.md")
    (root / "dangling.md").symlink_to("nowhere.md")
    outside = tmp_path / "outside.md"
    outside.write_text("secret tea\n")
    (root / "out.md").symlink_to(outside)
    index = make_index(max_note_bytes=1000)
    report = index.refresh()
    assert report.changed == 1
    assert paths(index, "tea") == ["a.md"]
    assert report.skipped["too big"] == 1
    assert report.skipped["dangling link"] == 1
    assert report.skipped["link out of the vault"] == 1
    assert report.skipped["conflict copy"] == 1
    assert report.skipped["not a regular file"] == 1
    settle(index)
    assert index.refresh().skipped == report.skipped
    (root / "big.md").write_text("small tea\n")
    assert index.refresh().changed == 1
    assert index.verify() == []


def test_a_note_that_could_not_be_read_is_tried_again_though_nothing_of_it_changed(make_index, monkeypatch) -> None:
    index = make_index({"a.md": "tea\n", "b.md": "tea\n"})
    index.refresh()
    settle(index)
    read = Vault.read

    def refused(vault: Vault, path: str) -> bytes:
        if path == "b.md":
            raise OSError(errno.EMFILE, "Too many open files")
        return read(vault, path)

    os.utime(index.vault.root / "b.md", (0, 0))
    time.sleep(0.1)  # so that the stamp is old enough to be believed
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "read", refused)
        assert index.refresh().skipped.get("unreadable") == 1
        assert index.refresh().skipped.get("unreadable") == 1
    assert "unreadable" not in index.refresh().skipped
    assert paths(index, "tea") == ["a.md", "b.md"]
    assert index.verify() == []


def test_templates_are_skipped_and_counted(make_index) -> None:
    index = make_index(
        {
            "a.md": "tea\n",
            "templates/daily.md": "## Log\n\ntea {{date}}\n",
            "templates/more/b.md": "tea\n",
            ".obsidian/daily-notes.json": '{"template": "templates/daily"}',
        }
    )
    assert index.refresh().skipped["template"] == 2
    assert paths(index, "tea") == ["a.md"]
    (index.vault.root / ".obsidian/daily-notes.json").write_text("{}")
    index = make_index()
    index.refresh()
    assert paths(index, "tea") == ["a.md", "templates/daily.md", "templates/more/b.md"]
    assert index.verify() == []


def test_what_a_new_vault_begins_with_is_no_hit(make_index) -> None:
    index = make_index({})
    fill_vault(index.vault, Store(index.vault.root, index.files.folder, now=NOW, actor="script"), NOW.date())
    assert set(index.vault.paths()) >= {"Memory.md", "Procedural.md", "templates/daily.md"}
    (index.vault.root / "Memory.md").write_bytes(
        (index.vault.root / "Memory.md").read_bytes() + b"\n- birthday of Anna: 3 May\n"
    )
    index.refresh()
    texts = index.connection().execute("SELECT text FROM chunk_texts").fetchall()
    assert texts == [("- birthday of Anna: 3 May",)]


def test_a_name_in_another_encoding_is_passed_over(make_index) -> None:
    index = make_index({"a.md": "tea\n"})
    with open(os.fsencode(index.vault.root) + b"/\xff.md", "wb") as file:
        file.write(b"tea\n")
    settle(index)
    assert index.refresh().stale == 0
    assert paths(index, "tea") == ["a.md"]
    assert index.verify() == []


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_a_sweep_with_and_without_descriptors(make_index, tmp_path, monkeypatch, by_descriptor: bool) -> None:
    monkeypatch.setattr("tars_memory.vault.vault._BY_DESCRIPTOR", by_descriptor)
    index = make_index(
        {"a.md": "1", "x/b.MD": "2", "x/y/c.md": "3", ".h.md": "4", "a (conflict 1).md": "5", "conflicts.md": "6"}
        | {"closed/e.md": "7", "x/y/.icon.md.icloud": ""}
    )
    vault = index.vault
    os.mkfifo(vault.root / "p.md")
    (vault.root / "x" / "l.md").symlink_to("b.MD")
    (vault.root / "x" / "out").symlink_to(tmp_path)
    with unwritable(vault.root):
        os.chmod(vault.root / "closed", 0)
        expected = {path: os.lstat(vault.root / path) for path in ("a.md", "x/b.MD", "x/y/c.md", "conflicts.md")}
        found = vault.sweep()
    swept = {
        folder.prefix + name: folder.numbers[4 * at : 4 * at + 4]
        for folder in found
        for at, name in enumerate(folder.names)
    }
    assert swept == {
        path: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino] for path, stat in expected.items()
    }
    assert vault.skipped == {
        "unreadable folder": 1,
        "link within the vault": 1,
        "link out of the vault": 1,
        "not a regular file": 1,
        "hidden file": 1,
        "hidden folder": 1,
        "conflict copy": 1,
        "not downloaded (iCloud)": 1,
    }


def test_projects_are_seen_from_inside_alone(make_index) -> None:
    index = make_index({"a.md": "tea\n", "projects/p/n.md": "tea p\n", "projects/q/n.md": "tea q\n"})
    index.reindex()
    assert paths(index, "tea") == ["a.md"]
    assert paths(index, "tea", Filter(scope="p")) == ["a.md", "projects/p/n.md"]
    assert paths(index, "tea", Filter(scope="unknown")) == ["a.md"]


def test_nothing_of_the_vault_changes_and_the_index_is_private(make_index, tmp_path) -> None:
    os.umask(0o022)
    index = make_index({"a.md": "tea\n", "x/b.md": b"\xef\xbb\xbfcrlf\r\n\xff\0"})
    before = snapshot(index.vault.root)
    index.reindex()
    assert index.verify() == []
    assert snapshot(index.vault.root) == before
    for folder in ("state", "cache"):
        assert (tmp_path / folder).stat().st_mode & 0o777 == 0o700
        files = list((tmp_path / folder).iterdir())
        assert files
        for file in files:
            assert file.stat().st_mode & 0o777 == 0o600, file.name


def snapshot(root: Path) -> dict[str, tuple[str, int, int]]:
    return {
        str(path.relative_to(root)): (
            hashlib.md5(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
            path.stat().st_mode,
        )
        for path in root.rglob("*")
        if path.is_file()
    }


def test_two_processes_refresh_at_once(make_index) -> None:
    index = make_index({f"{n}.md": f"note {n}\n" for n in range(60)})
    code = (
        "import sys; from pathlib import Path\n"
        "from tars_memory.index.indexer import Index\nfrom tars_memory.settings import LimitsOptions\n"
        "from tars_memory.vault.vault import Vault\n"
        "root, state, cache = map(Path, sys.argv[1:])\n"
        "index = Index(Vault.open(root), state, cache, LimitsOptions())\n"
        "index.refresh(); print(index.status()['notes'])"
    )
    argv = [sys.executable, "-c", code, str(index.vault.root), str(index.files.folder), str(index.cache)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(__file__).parents[2]), *filter(None, sys.path)))}
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=env) for _ in range(3)]
    assert [process.communicate(timeout=120)[0] for process in running] == ["60\n"] * 3
    assert index.verify() == []


def test_a_reader_in_the_middle_of_a_rebuild_answers(make_index) -> None:
    index = make_index({f"{n}.md": "tea\n" for n in range(30)})
    index.refresh()
    other = make_index()
    found: list[int] = []

    def ask(phase: str, done: int, total: int) -> None:
        found.append(len(paths(other, "tea")))

    index.rebuild(embed=False, progress=ask)
    assert found == [30]
    assert len(paths(other, "tea")) == 30
    assert other.files.current() == index.files.current()
    assert [name for name in os.listdir(index.files.folder) if name.endswith(".db")] == [index.files.current().name]


def test_other_settings_make_other_rows(make_index) -> None:
    index = make_index({"21.11.2026.md": "tea\n"})
    index.refresh()
    assert index.status()["tiers"] == {"note": 1}
    (index.vault.root / ".obsidian").mkdir()
    (index.vault.root / ".obsidian/daily-notes.json").write_text('{"format": "DD.MM.YYYY"}')
    index = make_index()
    assert index.refresh().changed == 1
    assert index.status()["tiers"] == {"daily": 1}
    assert index.verify() == []


def test_the_lock_is_the_kernels(make_index, tmp_path) -> None:
    index = make_index({"a.md": "tea\n"})
    with index.files.lock(0.0) as held:
        assert held
        handle = os.open(tmp_path / "state" / "index.lock", os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)


def test_a_thread_of_edits_beside_refreshes_ends_in_step(make_index) -> None:
    index = make_index({f"{n}.md": "start\n" for n in range(5)})
    root = index.vault.root

    def edit() -> None:
        for turn in range(60):
            path = root / f"{turn % 5}.md"
            temporary = root / ".tmp"
            temporary.write_text(f"turn {turn}\n")
            os.replace(temporary, path)

    thread = threading.Thread(target=edit)
    thread.start()
    while thread.is_alive():
        index.refresh()
    thread.join()
    index.refresh()
    assert index.verify() == []
    assert Vault.open(root).sweep()
