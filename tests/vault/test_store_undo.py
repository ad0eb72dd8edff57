"""Undo, history, the loss check."""

from __future__ import annotations

from pathlib import Path

import pytest
from storekit import Place, add, after, swap

from tars_memory.errors import ConflictError, NotFoundError
from tars_memory.vault.model import Splice


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def undone(place: Place) -> list[tuple[str, str, bool]]:
    return [(entry.command, entry.op, entry.undone) for entry in place.store().history()]


class TestExact:
    def test_edit(self, place: Place) -> None:
        old = b"\xef\xbb\xbf- one \xff\r\n- two\r- three"
        place.put("a.md", old)
        place.write("a.md", swap(b"one \xff\r\n", b"1\r\n"))
        written = place.store().undo()
        assert [(w.path, w.changed) for w in written] == [("a.md", True)]
        assert place.get("a.md") == old
        assert undone(place) == [("undo", "edit", False), ("test", "edit", True)]

    def test_undo_of_undo(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.write("a.md", swap(b"one", b"two"))
        place.store().undo()
        undo = next(place.store().history())
        assert undo.undoes is not None
        place.store().undo(undo.txn)
        assert place.get("a.md") == b"- two\n"
        assert [flag for _, _, flag in undone(place)] == [False, True, False]
        place.store().undo()  # the first write stands again, and is what goes now
        assert place.get("a.md") == b"- one\n"

    def test_folders_that_were_made_for_a_note_go_with_it_if_nothing_else_is_in_them(self, place: Place) -> None:
        (place.root / "x").mkdir()
        place.write("x/b/c/a.md", add(b"- one\n"), create=b"# A\n")
        place.store().undo()
        assert [path.name for path in (place.root / "x").iterdir()] == [], "x was there before"
        place.store().undo(next(place.store().history()).txn)
        assert place.get("x/b/c/a.md") == b"# A\n- one\n"
        (place.root / "x/b/mine.txt").write_text("")
        place.store().undo()
        assert sorted(path.name for path in (place.root / "x").rglob("*")) == ["b", "mine.txt"]

    def test_a_new_note_goes_again_and_comes_back(self, place: Place) -> None:
        place.write("x/a.md", add(b"- one\n"), create=b"# A\n")
        place.store().undo()
        assert place.files() == []
        undo = next(place.store().history())
        assert (undo.op, undo.before, undo.after) == ("remove", "# A\n- one\n", "")
        place.store().undo(undo.txn)
        assert place.get("x/a.md") == b"# A\n- one\n"

    def test_last_two(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        for number in (b"two", b"three"):
            place.write("a.md", add(b"- " + number + b"\n"))
        assert len(place.store().undo(last=2)) == 2
        assert place.get("a.md") == b"- one\n"
        undo = next(place.store().history())
        place.store().undo(undo.txn)
        assert place.get("a.md") == b"- one\n- two\n- three\n"

    def test_last_counts_what_stands_and_no_undos(self, place: Place) -> None:
        for name in ("a.md", "b.md", "c.md"):
            place.write(name, add(b"- x\n"))
        place.store().undo()
        place.store().undo()
        assert place.files() == ["a.md"]

    def test_a_note_that_somebody_has_put_right_already(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.write("a.md", swap(b"one", b"two"))
        place.put("a.md", b"- one\n")
        assert place.store().undo() == []
        with pytest.raises(NotFoundError, match="nothing to undo"):
            place.store().undo()


class TestMovedOn:
    def test_the_line_is_found_again(self, place: Place) -> None:
        place.put("a.md", b"# A\n- one\n- two\n")
        place.write("a.md", swap(b"- one\n", b"- 1\n"))
        place.put("a.md", b"new top\n# A\n- zero\n- 1\n- two\n- end")
        place.store().undo()
        assert place.get("a.md") == b"new top\n# A\n- zero\n- one\n- two\n- end"

    def test_a_removed_line_goes_back_between_its_neighbours(self, place: Place) -> None:
        place.put("a.md", b"- one\n- two\n- three\n")
        place.write("a.md", swap(b"- two\n", b""))
        place.put("a.md", b"top\n- one\n- three\n- four\n")
        place.store().undo()
        assert place.get("a.md") == b"top\n- one\n- two\n- three\n- four\n"

    @pytest.mark.parametrize(
        ("now", "then"),
        [
            (b"- one\n- new\n- three\n", b"- one\n- two\n- new\n- three\n"),
            (b"- new\n- three\n", b"- new\n- two\n- three\n"),
            (b"- three", b"- two\n- three"),
            (b"- one", b"- one\n- two\n"),
        ],
    )
    def test_a_removed_line_goes_back_beside_the_neighbour_that_is_left(
        self, place: Place, now: bytes, then: bytes
    ) -> None:
        place.put("a.md", b"- one\n- two\n- three\n")
        place.write("a.md", swap(b"- two\n", b""))
        place.put("a.md", now)
        place.store().undo()
        assert place.get("a.md") == then

    def test_an_appended_line_in_a_note_with_more_since(self, place: Place) -> None:
        place.put("a.md", b"- one")
        place.write("a.md", add(b"- two\n"))
        place.put("a.md", b"- one\n- two\n- three\n")
        place.store().undo()
        assert place.get("a.md") == b"- one\n- three\n"

    def test_twins_are_told_apart_by_their_neighbours(self, place: Place) -> None:
        place.put("a.md", b"## A\n- x\n## B\n")
        place.write("a.md", add(b"- x\n"))
        place.put("a.md", b"## A\n- x\n## B\n- x\nlater\n")
        place.store().undo()
        assert place.get("a.md") == b"## A\n- x\n## B\nlater\n"

    @pytest.mark.parametrize(
        ("old", "more", "then"),
        [
            (b"## A\n- x\n", b"\n## A\n- y\n", b"## A\n- x\n\n## A\n- y\n"),
            (b"## A\r\n- x\r\n", b"## A\r\n", b"## A\r\n- x\r\n## A\r\n"),
            (b"## A\n- x", b"- y\n", b"## A\n- x\n- y\n"),
        ],
    )
    def test_what_was_added_behind_hides_no_place(self, place: Place, old: bytes, more: bytes, then: bytes) -> None:
        place.put("a.md", old)
        place.write("a.md", swap(old[old.index(b"- x") :], b""))
        place.put("a.md", place.get("a.md") + more)
        place.store().undo()
        assert place.get("a.md") == then

    @pytest.mark.parametrize(
        "now", [b"# T\n- one\n- x\n- two\n- x\n", b"- x\n- one\n- two\n- x\n", b"- one\n- two\n- x\n\n## New\n- x\n"]
    )
    def test_a_removed_line_that_was_written_again_is_not_doubled(self, place: Place, now: bytes) -> None:
        place.put("a.md", b"- one\n- x\n- two\n- x\n")
        place.write("a.md", swap(b"one\n- x\n", b"one\n"))
        place.put("a.md", now)
        with pytest.raises(ConflictError, match=r"'- x' was removed from a\.md by .* and has been written again since"):
            place.store().undo()
        assert place.get("a.md") == now
        place.put("a.md", b"# T\n- one\n- two\n- x\n")
        place.store().undo()
        assert place.get("a.md") == b"# T\n- one\n- x\n- two\n- x\n"

    def test_a_new_note_with_more_in_it_loses_only_our_lines(self, place: Place) -> None:
        place.write("a.md", add(b"- ours\n"), create=b"# Template\n")
        place.put("a.md", b"# Template\n- ours\n- theirs\n")
        place.store().undo()
        assert place.get("a.md") == b"# Template\n- theirs\n"

    @pytest.mark.parametrize("now", [b"- one\n- 2 reworded\n", b"- 2\n- x\n- 2\n", None])
    def test_conflict_shows_the_difference(self, place: Place, now: bytes | None) -> None:
        note = place.put("a.md", b"- one\n- two\n")
        place.write("a.md", swap(b"two", b"2"))
        if now is None:
            note.unlink()
        else:
            note.write_bytes(now)
        with pytest.raises(ConflictError, match=r"(?s)a\.md.*\n-- 2\n\+- two"):
            place.store().undo()
        assert place.get("a.md") == now
        assert undone(place) == [("test", "edit", False)]

    def test_a_removed_note_that_was_made_anew(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        place.store().undo()
        place.put("a.md", b"other\n")
        with pytest.raises(ConflictError, match="created again"):
            place.store().undo(next(place.store().history()).txn)

    def test_all_of_a_transaction_or_nothing(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.put("b.md", b"- one\n")
        with place.store().transaction("both") as transaction:
            transaction.write("a.md", swap(b"one", b"two"))
            transaction.write("b.md", swap(b"one", b"two"))
        place.put("a.md", b"something else\n")
        with pytest.raises(ConflictError, match=r"a\.md has changed since"):
            place.store().undo()
        assert place.get("b.md") == b"- two\n"
        place.put("a.md", b"- two\n")
        place.store().undo()
        assert (place.get("a.md"), place.get("b.md")) == (b"- one\n", b"- one\n")


class TestNames:
    def test_unknown(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        for name in ("nosuch", "000000000", "zzzzzzzzz"):
            with pytest.raises(NotFoundError, match=f"no write {name}"):
                place.store().undo(name)

    def test_twice(self, place: Place) -> None:
        txn = place.write("a.md", add(b"- one\n")).txn
        place.store().undo(txn)
        with pytest.raises(NotFoundError, match="undone"):
            place.store().undo(txn)

    def test_too_many(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n"))
        with pytest.raises(NotFoundError, match="only 1 "):
            place.store().undo(last=2)

    def test_they_sort_even_if_the_clock_stands_or_goes_back(self, place: Place) -> None:
        names = []
        for days in (0, 0, -40, 0, 60, -30):
            place.clock.move(days=days)
            names.append(place.write("a.md", add(b"- x\n")).txn)
        assert names == sorted(set(names))
        assert [entry.txn for entry in place.store().history()] == names[::-1]
        assert len(place.store().undo(last=6)) == 6
        assert place.files() == []


class TestHistory:
    def test_entry(self, place: Place) -> None:
        place.put("a.md", b"- one\n- two\n")
        txn = place.write("a.md", swap(b"two", b"zwei"), command="edit").txn
        (entry,) = place.store().history()
        assert (entry.txn, entry.command, entry.actor, entry.file, entry.op) == (txn, "edit", "person", "a.md", "edit")
        assert (entry.before, entry.after, entry.line, entry.undone) == ("- two\n", "- zwei\n", 2, False)
        assert entry.time == "2026-11-21T10:15:00+00:00"

    def test_limit_and_path(self, place: Place) -> None:
        for number in range(5):
            place.write("ab"[number % 2] + ".md", add(b"- %d\n" % number))
        assert [e.after for e in place.store().history(2)] == ["- 4\n", "- 3\n"]
        assert [e.after for e in place.store().history(path="b.md")] == ["- 3\n", "- 1\n"]


class TestLostLines:
    def test_overwritten_by_an_older_text(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        txn = place.write("a.md", add(b"- two\n")).txn
        place.write("a.md", swap(b"- one", b"- uno"))
        place.put("a.md", b"- one\n")
        lost = place.store().lost_lines()
        assert [(line.file, line.text) for line in lost] == [("a.md", "- two"), ("a.md", "- uno")]
        assert lost[0].txn == txn

    def test_taken_back_or_replaced_by_us_is_not_lost(self, place: Place) -> None:
        place.put("a.md", b"- one\n")
        place.write("a.md", add(b"- two\n"))
        place.store().undo()
        place.write("a.md", add(b"- three\n"))
        place.write("a.md", swap(b"three", b"four"))
        place.write("b.md", add(b"- x\n"))
        place.store().undo()
        assert place.store().lost_lines() == []

    def test_put_back_by_undoing_the_undo(self, place: Place) -> None:
        place.put("a.md", b"")
        place.write("a.md", add(b"- two\n"))
        place.store().undo()
        place.store().undo(next(place.store().history()).txn)
        assert place.store().lost_lines() == []
        place.put("a.md", b"")
        assert [line.text for line in place.store().lost_lines()] == ["- two"]

    def test_moved_within_the_note_or_ended_otherwise_is_there(self, place: Place) -> None:
        place.write("a.md", add(b"- one\n- two\n- two\n"))
        place.put("a.md", b"- two\r\n- two\r\n# x\r\n- one")
        assert place.store().lost_lines() == []
        place.put("a.md", b"- two\n- one")
        assert [line.text for line in place.store().lost_lines()] == ["- two"]

    def test_a_note_that_is_gone(self, place: Place) -> None:
        place.write("x/a.md", add(b"- one\n"))
        (place.root / "x/a.md").unlink()
        assert [line.text for line in place.store().lost_lines()] == ["- one"]
        (place.root / "x").rmdir()
        assert [line.text for line in place.store().lost_lines()] == ["- one"]


def test_a_note_made_by_us_and_edited_since_is_refused_with_the_changed_lines_alone(place: Place) -> None:
    rows = b"".join(b"- line %d\n" % number for number in range(60))
    txn = place.write("a.md", add(rows), create=b"# A\n").txn
    place.put("a.md", place.get("a.md").replace(b"- line 7\n", b"- line seven\n"))
    with pytest.raises(ConflictError) as caught:
        place.store().undo()
    first, *shown = caught.value.message.split("\n")
    assert str(txn) in first and "(test by " in first and "undo would remove" in first
    assert shown[-2:] == ["-- line 7", "+- line seven"] and len(shown) == 5
    assert "remove it by hand" in caught.value.hint and "tars-memory undo TXN" in caught.value.hint
    place.put("a.md", rows.replace(b"line", b"other line"))
    with pytest.raises(ConflictError, match=r"and \d+ more lines$"):
        place.store().undo()


def test_of_several_writes_the_one_in_the_way_is_named_and_the_others_are_taken_back_one_by_one(place: Place) -> None:
    names = []
    for name in ("a.md", "b.md", "c.md"):
        place.put(name, b"- old\n")
        names.append(place.write(name, swap(b"old", b"new")).txn)
    place.put("b.md", b"- mine\n")
    before = place.files()
    with pytest.raises(ConflictError, match=f"none of 3 writes was undone: {names[1]} prevents it") as caught:
        place.store().undo(last=3)
    assert place.files() == before and place.get("a.md") == b"- new\n"
    others = [f"tars-memory undo {names[at]}" for at in (2, 0)]
    assert caught.value.hint.endswith("; ".join(others))
    for at in (2, 0):
        place.store().undo(names[at])
    assert (place.get("a.md"), place.get("b.md"), place.get("c.md")) == (b"- old\n", b"- mine\n", b"- old\n")


def test_an_edit_that_shifts_later_splices(place: Place) -> None:
    place.put("a.md", b"one\ntwo\nthree\n")

    def plan(data: bytes | None) -> list[Splice]:
        return [Splice(0, 0, b"zero\n"), Splice(4, 8, b""), Splice(8, 13, b"3")]

    place.write("a.md", plan)
    assert place.get("a.md") == b"zero\none\n3\n"
    place.put("a.md", b"zero\none\n3\nfour\n")
    place.store().undo()
    assert place.get("a.md") == b"one\ntwo\nthree\nfour\n"


def test_undo_into_a_section(place: Place) -> None:
    place.put("a.md", b"## A\n- a\n## B\n")
    place.write("a.md", after(b"- a\n", b"- b\n"))
    place.put("a.md", b"## B\n## A\n- a\n- b\n- c\n")
    place.store().undo()
    assert place.get("a.md") == b"## B\n## A\n- a\n- c\n"


def test_a_note_that_we_made_goes_with_the_last_of_its_lines_in_whatever_order_they_are_taken_back(
    place: Place,
) -> None:
    first = place.write("x/a.md", add(b"- one\n")).txn
    second = place.write("x/a.md", add(b"- two\n")).txn
    place.store().undo(first)
    assert place.get("x/a.md") == b"- two\n"
    (last,) = place.store().undo(second)
    assert place.files() == []
    place.store().undo(last.txn)
    assert place.get("x/a.md") == b"- two\n"
    place.put("b.md", b"")
    place.write("b.md", add(b"- one\n"))
    place.store().undo()
    assert place.get("b.md") == b""  # it was there before us


def test_a_line_stays_whose_other_copy_a_later_write_took_out(place: Place) -> None:
    first = place.write("a.md", add(b"- one\n")).txn
    place.put("a.md", b"- one\n\nby hand:\n* one ^mine\n")
    later = place.write("a.md", swap(b"* one ^mine\n", b"\n")).txn
    for dry_run in (True, False):
        with pytest.raises(ConflictError, match=f"'- one' is in a.md, but {later} ") as caught:
            place.store(dry_run=dry_run).undo(first)
        assert f"tars-memory undo {later} " in caught.value.hint
    assert place.get("a.md") == b"- one\n\nby hand:\n\n"
    place.store(dry_run=True).undo(last=2)
    place.store().undo(last=2)
    assert place.get("a.md") == b"\nby hand:\n* one ^mine\n"


def test_a_line_changed_and_changed_back_goes_with_the_undo_of_its_first_write(place: Place) -> None:
    place.put("a.md", b"- zero\n")
    first = place.write("a.md", add(b"- [ ] one\n")).txn
    place.write("a.md", swap(b"[ ]", b"[x]"))
    place.write("a.md", swap(b"[x]", b"[ ]"))
    place.store().undo(first)
    assert place.get("a.md") == b"- zero\n"


def test_a_line_logged_twice_goes_with_the_undo_of_both(place: Place) -> None:
    place.put("a.md", b"- zero\n")
    names = [place.write("a.md", add(b"- one\n")).txn for _ in range(2)]
    place.put("a.md", b"- one\n- zero\n- one\n- two\n")
    for name in names:
        place.store().undo(name)
    assert place.get("a.md") == b"- zero\n- two\n"


def test_a_note_made_whole_and_changed_since_stays_and_its_writing_does_not_count_as_undone(place: Place) -> None:
    place.write("a.md", add(b"- one\n"))
    place.store().undo()
    again = place.store().undo(next(place.store().history()).txn)[0].txn
    place.put("a.md", b"- one\n- two\n")
    with pytest.raises(ConflictError, match="created it; undo would remove later changes"):
        place.store().undo(again)
    assert place.get("a.md") == b"- one\n- two\n"
    assert not next(place.store().history()).undone


def test_a_line_that_was_put_back_and_went_with_the_undo_of_its_first_write_is_not_taken_out_again(
    place: Place,
) -> None:
    place.put("a.md", b"- zero\n")
    first = place.write("a.md", add(b"- one\n")).txn
    place.write("a.md", swap(b"- one\n", b""))
    (back,) = place.store().undo()
    place.put("a.md", b"- zero\n- one\n- by hand:\n- one\n")
    place.store().undo(first)
    assert place.get("a.md") == b"- zero\n- by hand:\n- one\n"
    with pytest.raises(ConflictError, match=r"'- one' is in a.md, but"):
        place.store().undo(back.txn)
