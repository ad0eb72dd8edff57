"""The journal: torn tails, months, retention, purging; and the spool."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from storekit import Place, add, swap

from tars_memory.errors import ConflictError, UnwritableError
from tars_memory.vault.writing import journal as journals
from tars_memory.vault.writing.history import lost_lines, typed_lines
from tars_memory.vault.writing.journal import Journal, next_txn
from tars_memory.vault.writing.store import Spool
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.withheld import item_says


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def only_file(place: Place) -> Path:
    (file,) = place.store().journal.files()
    return file


class TestTail:
    @pytest.mark.parametrize("rubbish", [b'{"t":"begin","txn":"x', b"\0" * 5000, b"}", b'{"t":"end"'])
    def test_a_torn_last_line_never_was(self, place: Place, rubbish: bytes) -> None:
        place.write("a.md", add(b"- one\n"))
        whole = only_file(place).read_bytes()
        only_file(place).write_bytes(whole + rubbish)
        assert place.store().pending() == []
        assert [entry.after for entry in place.store().history()] == ["- one\n"]
        place.write("a.md", add(b"- two\n"))
        assert only_file(place).read_bytes().startswith(whole + b'{"txn"')
        assert [entry.after for entry in place.store().history()] == ["- two\n", "- one\n"]

    def test_a_whole_line_of_rubbish_is_stepped_over(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        with only_file(place).open("ab") as file:
            file.write(b"\0\0\0\n[1]\nnull\n")
        place.write("a.md", add(b"- two\n"))
        assert len(place.store().undo(last=2)) == 2

    def test_a_name_that_no_transaction_has_is_rubbish(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        with only_file(place).open("ab") as file:
            file.write(b'{"t":"mark","txn":"' + b"z" * 40 + b'"}\n')
        only_file(place).rename(only_file(place).with_name("0001-1999-01.jsonl"))
        place.write("a.md", add(b"- two\n"))
        assert len(place.store().undo(last=2)) == 2

    def test_records_longer_than_the_first_look(self, place: Place) -> None:
        big = b"- " + b"x" * (journals.BLOCK_BYTES * 2) + b"\n"
        place.write("a.md", add(big))
        with place.store().transaction("two") as transaction:
            transaction.write("a.md", add(big))
        assert len(place.store().undo(last=2)) == 2
        assert place.files() == []

    def test_reading_backwards_in_small_blocks(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(20):
            place.write("a.md", add(b"- %d\n" % number))
        expected = only_file(place).read_bytes().split(b"\n")[-2::-1]
        for size in (1, 7, 100, 1 << 20):
            monkeypatch.setattr(journals, "BLOCK_BYTES", size)
            assert list(place.store().journal.backwards()) == expected

    def test_the_last_undo_reads_only_the_tail(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        place.write("a.md", add(b"- one\n"))
        line = only_file(place).read_bytes()
        only_file(place).write_bytes(line * 20_000)
        place.write("a.md", add(b"- two\n"))
        parsed = []
        monkeypatch.setattr(
            journals.json, "loads", lambda line: parsed.append(1) or json.JSONDecoder().decode(line.decode())
        )
        place.store().undo()
        assert place.get("a.md") == b"- one\n"
        assert len(parsed) < 20


class TestFiles:
    def test_readable_by_the_owner_alone(self, place: Place) -> None:
        os.umask(os.umask(0o022))
        place.write("a.md", add(b"- one\n"))
        assert stat.S_IMODE(only_file(place).stat().st_mode) == 0o600
        assert stat.S_IMODE(only_file(place).parent.stat().st_mode) == 0o700

    def test_a_file_a_month_in_order_even_if_the_clock_goes_back(self, place: Place) -> None:
        for months in (0, 1, -2, 0):
            place.clock.move(days=31 * months)
            place.write("a.md", add(b"- x\n"))
        names = [file.name for file in place.store().journal.files()]
        assert names == ["0001-2026-11.jsonl", "0002-2026-12.jsonl", "0003-2026-10.jsonl"]
        assert len(list(place.store().history())) == 4

    def test_retention_is_by_whole_months_when_a_new_one_begins(self, place: Place) -> None:
        for _ in range(6):
            place.write("a.md", add(b"- x\n"))
            place.clock.move(days=31)
        names = [file.name[5:12] for file in place.store().journal.files()]
        # On 24 April the month that ended on 31 December is more than 90 days old, the next one is not.
        assert names == ["2027-01", "2027-02", "2027-03", "2027-04"]

    def test_a_clock_that_jumps_ahead_costs_no_history(self, place: Place) -> None:
        for days in (0, 31, 4000, 1):
            place.clock.move(days=days)
            place.write("a.md", add(b"- x\n"))
        assert len(place.store().undo(last=4)) == 4

    def test_a_crash_in_the_old_month_is_settled_before_the_new_file(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.write("a.md", add(b"- two\n"))
        begin = only_file(place).read_bytes().splitlines(keepends=True)[0]
        only_file(place).write_bytes(begin)
        place.clock.move(days=31)
        assert len(place.store().pending()) == 1
        place.write("a.md", add(b"- three\n"))
        assert place.store().pending() == []
        assert [entry.after for entry in place.store().history()] == ["- three\n", "- two\n"]

    def test_names_sort_by_time(self) -> None:
        early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2041, 1, 1, tzinfo=UTC)
        assert next_txn(early, None) < next_txn(late, None)
        assert next_txn(early, next_txn(late, None)) > next_txn(late, None)

    def test_a_failed_write_leaves_no_half_record(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        journal = Journal(tmp_path / "journal")
        journal.open(datetime(2026, 1, 1, tzinfo=UTC))
        journal.append([{"t": "mark", "txn": "1"}], durable=True)
        write = os.write

        def full(fd: int, data: bytes) -> int:
            if len(data) > 4:
                return write(fd, bytes(data[:4]))
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="No space"):
                journal.append([{"t": "mark", "txn": "22222"}], durable=False)
        journal.append([{"t": "mark", "txn": "3"}], durable=False)
        journal.close()
        assert [record["txn"] for record in journal.records()] == ["3", "1"]


class TestPurge:
    def test_the_text_is_gone_and_the_rest_is_not(self, place: Place) -> None:
        place.put("a.md", b"- secret tea\n- b\n- c\n")
        place.write("a.md", add(b"- d\n"))
        place.write("a.md", swap(b"- secret tea\n", b""))
        place.write("a.md", swap(b"- c", b"- C"))
        assert place.store().purge(["secret tea"]) == 1
        assert b"secret" not in b"".join(file.read_bytes() for file in place.store().journal.files())
        assert stat.S_IMODE(only_file(place).stat().st_mode) == 0o600
        entries = list(place.store().history())
        assert [entry.purged for entry in entries] == [False, True, False]
        place.store().undo()
        assert place.get("a.md") == b"- b\n- c\n- d\n"
        with pytest.raises(ConflictError, match="forgotten for good"):
            place.store().undo()
        place.store().undo(entries[-1].txn)
        assert place.get("a.md") == b"- b\n- c\n"

    def test_landmarks_and_whole_notes_count(self, place: Place) -> None:
        place.put("a.md", b"- Zo\xc3\xab's secret\n- b\n")
        place.write("a.md", swap(b"- b", b"- B"))
        place.write("new.md", add(b"- other secret\n"))
        place.store().undo()
        assert place.store().purge(["Zoë's secret"]) == 1
        assert place.store().purge(["other secret"]) == 2
        assert "secret" not in only_file(place).read_text("ascii")

    def test_a_write_beside_it_stays_known(self, place: Place) -> None:
        place.put("a.md", b"# A\n")
        place.write("a.md", add(b"- one\n"))
        place.write("a.md", add(b"- secret tea\n"))
        place.write("a.md", swap(b"- one", b"- two"))
        place.write("a.md", add(b"- three\n"))
        place.write("a.md", swap(b"- secret tea\n", b""))
        assert place.store().purge(["secret tea"]) == 4
        assert b"secret" not in only_file(place).read_bytes()
        assert [entry.purged for entry in place.store().history()] == [True, False, False, True, False]
        assert lost_lines(place.store().journal, place.root) == []
        assert typed_lines(place.store().journal, "a.md") == {b"- two", b"- three"}
        place.store().undo([entry.txn for entry in place.store().history()][2])
        assert place.get("a.md") == b"# A\n- one\n- three\n"

    def test_blank_lines_behind_a_forgotten_one_are_still_taken_back(self, place: Place) -> None:
        place.put("a.md", b"# A\n")
        place.write("a.md", add(b"- one\n- secret tea\n\n  - with Anna\n\n- two\n"))
        place.write("a.md", swap(b"- secret tea\n\n  - with Anna\n", b""))
        place.store().purge(["secret tea"])
        newest, first = place.store().history()
        assert first.after == "- one\n\n- two\n"
        with pytest.raises(ConflictError, match="can't be undone") as refused:
            place.store().undo(newest.txn)
        assert "undo TXN" in refused.value.hint
        place.store().undo(first.txn)
        assert place.get("a.md") == b"# A\n"

    def test_the_other_lines_of_a_write_can_still_be_undone(self, place: Place) -> None:
        place.put("a.md", b"# A\n- old\n")
        place.write("a.md", add(b"- one\n- secret tea\n  - with Anna\n- two\n"))
        place.write("a.md", swap(b"- secret tea\n  - with Anna\n- two\n", b""))
        place.store().undo()
        place.write("a.md", swap(b"- secret tea\n  - with Anna\n", b""))
        assert place.store().purge(["secret tea"]) == 4
        assert not [word for word in (b"secret", b"Anna") if word in only_file(place).read_bytes()]
        entries = list(place.store().history())
        assert [(entry.purged, entry.before, entry.after) for entry in entries] == [
            (True, "", ""),
            (False, "", "- two\n"),
            (False, "- two\n", ""),
            (False, "", "- one\n- two\n"),
        ]
        assert lost_lines(place.store().journal, place.root) == []
        place.store().undo(entries[-1].txn)
        assert place.get("a.md") == b"# A\n- old\n"

    def test_part_of_other_words_is_not_meant(self, place: Place) -> None:
        place.put("a.md", b"")
        place.write("a.md", add(b"- coffee instead of green tea\n"))
        place.write("a.md", add(b"- tea\n"))
        assert place.store().purge(["tea"]) == 1
        assert [entry.purged for entry in place.store().history()] == [True, False]

    def test_no_journal(self, place: Place) -> None:
        assert place.store().purge(["x"]) == 0


class TestSpool:
    def test_keeps_in_order_until_removed(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path / "state/spool")
        assert spool.pending() == []
        first = spool.put("remember", {"text": "Zoë \udcff", "tags": ["a"]})
        second = spool.put("log", {"text": "tea"})
        assert [(i.id, i.command, i.arguments["text"]) for i in spool.pending()] == [
            (first, "remember", "Zoë \udcff"),
            (second, "log", "tea"),
        ]
        assert all(stat.S_IMODE(f.stat().st_mode) == 0o600 for f in spool.folder.iterdir())
        spool.remove(first)
        spool.remove(first)
        assert [item.id for item in spool.pending()] == [second]

    def test_what_cannot_be_kept_is_in_the_message(self, tmp_path: Path) -> None:
        (tmp_path / "spool").write_text("in the way")
        with pytest.raises(UnwritableError, match="could NOT be kept, copy it from here: buy tea"):
            Spool(tmp_path / "spool").put("log", {"text": "buy tea"})
        with pytest.raises(UnwritableError, match=r"copy it from here: Plan for May$"):
            Spool(tmp_path / "spool").put("new", {"title": "Plan for May", "text": "", "actor": "script"})
        with pytest.raises(UnwritableError, match="forget was not done, and can't be kept"):
            Spool(tmp_path / "spool").put("forget", {"text": "buy tea"})

    def test_damaged_files_are_told_and_passed_over(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path)
        spool.put("log", {"text": "x"})
        for number, text in enumerate(["", "{", "[]", '{"command": "x"}']):
            (tmp_path / f"{number}.json").write_text(text)
        assert len(spool.pending()) == 1
        assert [path.name for path in spool.damaged()] == ["0.json", "1.json", "2.json", "3.json"]

    def test_each_item_is_placed_once(self, place: Place) -> None:
        spool = Spool(place.state / "spool")
        for text in ("one", "two"):
            spool.put("remember", {"text": text})
        with spool.placing(place.store().journal) as items:
            with spool.placing(place.store().journal) as again:
                assert again == []
            for item in items:
                with place.store().transaction(item.command, settles=item.id) as transaction:
                    transaction.write("a.md", add(b"- %s\n" % item.arguments["text"].encode()))
                if item.arguments["text"] == "one":
                    spool.remove(item.id)
                # "two" was written, and the process was killed before it could remove the item
        with spool.placing(place.store().journal) as items:
            assert items == []
        assert spool.pending() == []
        assert place.get("a.md") == b"- one\n- two\n"

    def test_an_item_whose_write_failed_is_not_settled(self, place: Place) -> None:
        spool = Spool(place.state / "spool")
        item = spool.put("remember", {"text": "one"})
        (place.root / "a.md").mkdir()
        with pytest.raises(UnwritableError), place.store().transaction("remember", settles=item) as transaction:
            transaction.write("a.md", add(b"- one\n"))
        with spool.placing(place.store().journal) as items:
            assert [each.id for each in items] == [item]

    def test_purge(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path)
        spool.put("remember", {"text": "a secret", "tags": []})
        spool.put("remember", {"text": "x", "tags": ["secret"]})
        spool.put("remember", {"text": "x", "tags": []})
        assert spool.purge(partial(item_says, words="secret")) == 0, "part of other words is not meant"
        assert spool.purge(partial(item_says, words="a secret")) == 1
        assert spool.purge(partial(item_says, words="x #secret")) == 1
        assert len(spool.pending()) == 1

    def test_a_lock_of_the_spool_is_not_an_item(self, tmp_path: Path) -> None:
        with VaultLock(tmp_path / "lock", timeout=0, command="x").held():
            assert Spool(tmp_path).pending() == []
