from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, strategies as st

from tars_memory.recall.query import Hit, SearchResult, located, obsidian_url, parse, verified, widen
from tars_memory.vault.vault import note_lines


def hit(text: str, start: int, *, path: str = "a.md", partial: bool = False) -> Hit:
    return Hit(path=path, start_line=start, end_line=start + text.count("\n"), text=text, partial=partial)


def test_lines_are_counted_as_editors_do():
    assert note_lines(b"a\r\nb\rc\nd\xe2\x80\xa8e\x0cf\n") == ["a", "b", "c", "d\u2028e\x0cf", ""]
    assert note_lines(b"\xef\xbb\xbfa\xff") == ["a\ufffd"]


def test_unchanged_moved_and_gone():
    notes = {"a.md": b"new\nnew\none\ntwo\n", "b.md": b"other\n"}
    hits = [hit("one\ntwo", 1), hit("gone", 1), hit("other", 1, path="b.md"), hit("x", 1, path="missing.md")]

    def read(path: str) -> bytes:
        if path not in notes:
            raise FileNotFoundError(path)
        return notes[path]

    assert [(h.path, h.start_line, h.end_line) for h in verified(hits, read)] == [("a.md", 3, 4), ("b.md", 1, 1)]


def test_the_nearest_of_several_places():
    h = hit("tea", 5)
    assert located(h, ["tea", "", "", "", "x", "", "tea", ""])
    assert h.start_line == 7


def test_a_longer_line_is_not_the_same_line():
    assert not located(hit("tea", 1), ["tea with milk"])


def test_a_piece_of_an_oversized_line_is_found_inside_it():
    piece = hit("middle of it", 2, partial=True)
    assert located(piece, ["x", "start, middle of it, end"])
    assert located(piece, ["start, middle of it, end"])
    assert (piece.start_line, piece.end_line) == (1, 1)
    assert not located(hit("nowhere", 1, partial=True), ["x"])


def test_a_note_is_read_once_and_only_as_far_as_asked():
    reads: list[str] = []

    def read(path: str) -> bytes:
        reads.append(path)
        return b"one\ntwo"

    found = verified(
        (hit(t, n, path=p) for p, t, n in [("a.md", "one", 1), ("a.md", "two", 2), ("b.md", "one", 1)]), read
    )
    next(found)
    next(found)
    assert reads == ["a.md"]


@pytest.mark.parametrize(
    ("text", "start", "count", "lines", "best"),
    [
        ("two", 2, 1, (1, 3), 1),
        ("two", 2, 9, (1, 4), 1),
        ("one\ntwo", 1, 1, (1, 3), 0),
        ("two", 7, 1, (1, 3), 1),  # it has moved
        ("gone", 2, 1, (2, 2), 0),
    ],
)
def test_a_hit_is_widened_by_lines_of_its_note(text: str, start: int, count: int, lines: tuple[int, int], best: int):
    h = hit(text, start)
    widen(h, b"one\ntwo\nthree\nfour\n", count)
    assert ((h.start_line, h.end_line), h.best) == (lines, best)
    assert h.text == (text if text == "gone" else "\n".join(["one", "two", "three", "four"][lines[0] - 1 : lines[1]]))


@given(st.lists(st.sampled_from(["tea", "milk", "", "x"]), min_size=1, max_size=12), st.data())
def test_a_located_hit_stands_where_it_says(lines, data):
    start = data.draw(st.integers(1, 15))
    wanted = "\n".join(data.draw(st.lists(st.sampled_from(["tea", "milk", "x"]), min_size=1, max_size=3)))
    h = hit(wanted, start)
    h.best = data.draw(st.integers(0, wanted.count("\n")))
    best = wanted.split("\n")[h.best]
    whole = f"\n{wanted}\n" in "\n" + "\n".join(lines) + "\n"
    if located(h, lines):
        assert "\n".join(lines[h.start_line - 1 : h.end_line]) == h.text
        assert h.line_at(h.best)[1] == best
        assert (h.text == wanted) == whole
    else:
        assert best not in lines


def test_a_hit_whose_note_was_changed_has_its_best_line_where_it_is_now():
    found = SearchResult(parse("tea", date(2026, 11, 21)), "lexical", [hit("tea", 1)]).hits
    assert [h.best_line for h in verified(found, lambda _: b"milk\n\ntea\n")] == [(3, "tea")]


def test_of_a_passage_that_the_note_holds_in_part_its_best_line_stays_with_those_beside_it():
    ours = ["# Haven", "de kade is nat", "het schip ligt klaar", "de sleutel hangt links"]
    theirs = hit("het schip ligt klaar\nde sleutel hangt links\nnieuw: de kraan is stuk", 3)
    theirs.best = 1
    assert located(theirs, ours)
    assert (theirs.start_line, theirs.end_line, theirs.line_at(theirs.best)) == (3, 4, (4, "de sleutel hangt links"))
    theirs = hit("het schip ligt klaar\nnieuw: de kraan is stuk", 3)
    theirs.best = 1
    assert not located(theirs, ours)


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, "obsidian://open?vault=My%20Vault&file=a%20b%2Fc%26d"),
        ({"headings": ("One", "Two: a #b")}, "obsidian://open?vault=My%20Vault&file=a%20b%2Fc%26d%23Two%20a%20b"),
        ({"headings": ("One",), "block_id": "m-1"}, "obsidian://open?vault=My%20Vault&file=a%20b%2Fc%26d%23%5Em-1"),
    ],
)
def test_obsidian_url(options, url):
    assert obsidian_url("My Vault", "a b/c&d.md", **options) == url


def test_obsidian_url_of_an_undecodable_name():
    assert "%3F" in obsidian_url("v", "a\udcff.md")
