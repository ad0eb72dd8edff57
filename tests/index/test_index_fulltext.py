"""Any text is a legal query, and finds itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.index import database, fulltext
from tars_memory.index.fulltext import expression, fold_signs, signs
from tars_memory.index.indexer import Index
from tars_memory.index.reader import Filter

pytestmark = pytest.mark.usefixtures("engine")

HOSTILE = [
    *(
        "user's editor",
        "C++",
        '"unclosed',
        "AND",
        "OR",
        "NOT",
        "NEAR(a b)",
        "a-b",
        "2026-03-15",
        "10.0.0.1",
        "東京",
        "京",
    ),
    *(
        "Zürich",
        "🎉",
        "👍🏽",
        "❤️",
        "foo:bar",
        "col : x",
        "a*",
        "^start",
        "{x}",
        "(y",
        "z)",
        "C#",
        "x\0y",
        "한국",
        "ไทย",
        "issue #12",
    ),
    *("naïve café", "ÅNGSTRÖM", "½", "a/b/c", "--flag", "'; DROP TABLE notes; --", "\\", "%", "_", "->", "€", "ﬁne"),
]


def find(index: Index, text: str) -> set[str]:
    """Paths found by words or as written."""
    reader = index.reader()
    ids = [chunk for chunk, _ in reader.match_chunks(expression([text]), Filter(), 50)]
    ids += [chunk for chunk, _ in reader.match_text([text], Filter(), 50)]
    return {row.path for row in reader.chunks(ids).values()}


def test_a_hostile_text_finds_the_note_that_holds_it(make_index) -> None:
    notes = {f"n{number}.md": f"before {text} after\n" for number, text in enumerate(HOSTILE)}
    index = make_index({**notes, "other.md": "nothing of that kind\n"})
    index.refresh()
    for number, text in enumerate(HOSTILE):
        found = find(index, text)
        assert f"n{number}.md" in found, text
        assert "other.md" not in found or text in ("OR", "NOT"), text


def test_empty_and_huge_queries(make_index) -> None:
    index = make_index({"a.md": "tea and words\n"})
    index.refresh()
    for text in ("", " ", "\0", "\ud800"):
        assert find(index, text) == set()
    assert find(index, "tea " * 25_000) == set()  # as one phrase
    assert expression(("tea " * 25_000).split()) == '"tea"'
    assert len(expression([f"w{number}" for number in range(100_000)])) < 2_000
    reader = index.reader()
    assert reader.match_chunks(expression([f"w{n}" for n in range(100_000)]), Filter(), 5) == []


def test_prefixes(make_index) -> None:
    index = make_index({"a.md": "museum of tea\n", "b.md": "museums of milk\n"})
    index.refresh()
    reader = index.reader()

    def paths(query: str) -> set[str]:
        ids = [chunk for chunk, _ in reader.match_chunks(query, Filter(), 9)]
        return {row.path for row in reader.chunks(ids).values()}

    assert paths(expression([], prefixes=["mus"])) == {"a.md", "b.md"}
    assert expression(["++", "..."]) == ""


def test_signs_are_found_at_any_position_but_not_across_a_gap(make_index) -> None:
    index = make_index({"a.md": "東京都庁へ。京都\n", "b.md": "C plus C#\n", "c.md": "C++11 or g++\n"})
    index.refresh()
    assert find(index, "都庁") == {"a.md"}
    assert find(index, "庁京") == set()
    reader = index.reader()
    rows = reader.chunks([chunk for chunk, _ in reader.match_text(["C#"], Filter(), 9)])
    assert {row.path for row in rows.values()} == {"b.md"}
    rows = reader.chunks([chunk for chunk, _ in reader.match_text(["g++"], Filter(), 9)])
    assert {row.path for row in rows.values()} == {"c.md"}


def test_text_matches_count_the_strings_held(make_index) -> None:
    index = make_index({"a.md": "東京 Zürich\n", "b.md": "東京\n"})
    index.refresh()
    assert [count for _, count in index.reader().match_text(["東京", "zurich"], Filter(), 9)] == [2, 1]


def test_plain_text_has_no_signs() -> None:
    assert signs("plain words, #tag and a+b = c; Zürich") == ""


@settings(max_examples=examples(300))
@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_no_text_is_a_syntax_error(text: str, prefixes: list[str]) -> None:
    connection = _memory()
    for query, table in (
        (expression([text, *text.split()], prefixes=prefixes), "chunk_words"),
        (fulltext.sign_expression(text), "chunk_signs"),
    ):
        if query:
            connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", (query,)).fetchall()
    assert "\0" not in fold_signs(fulltext.clean(text))


_made = []


def _memory():
    if not _made:
        connection = database.driver().module.connect(":memory:", isolation_level=None)
        database.make_tables(connection)
        connection.execute("INSERT INTO chunk_texts VALUES (1, 'head', 'some text', '[]', NULL)")
        connection.execute("INSERT INTO chunk_words (rowid, head, text) VALUES (1, 'head', 'some text')")
        connection.execute("INSERT INTO chunk_signs (rowid, signs) VALUES (1, '東 京')")
        _made.append(connection)
    return _made[0]


@pytest.mark.parametrize(
    ("one", "other"), [("Zürich", "zurich"), ("ÅNGSTRÖM", "angstrom"), ("東京", "東京"), ("ﬁne", "fine")]
)
def test_folding(one: str, other: str) -> None:
    assert fold_signs(one) == fold_signs(other)
