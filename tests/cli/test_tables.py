"""Tables on a terminal: columns line up, whatever the width of their signs, and wrap at words; in a pipe, tabs."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len

from tars_memory.doors.cli.output import Output, show_rows

WORDS = "the quick brown fox jumps over the lazy dog and then over the fence into the neighbour's garden"
ROWS = [
    ("k3v7q2ma", "Anna", "lives in: Cork", "2026-11-14", ""),
    ("rc47jkqj", "東京タワー", "高さ: 333メートル、1958年に完成した電波塔", "1958-12-23", "2026-01-01"),
    ("m2x6e7rt", "👩‍👩‍👧 family", f"says: {WORDS}", "", ""),
]
HEAD = ("REF", "about", "fact", "since", "until")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, rows: list[tuple[str, ...]], **more: str) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    show_rows(Output({"TERM": "xterm", "NO_COLOR": "1", **more}, stream, stream), rows, HEAD[: len(rows[0])])
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("columns", [72, 80, 120, 200])
def test_columns_line_up_and_nothing_is_lost(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told = shown(monkeypatch, columns, ROWS)
    assert max(map(cell_len, told)) <= columns
    assert all(row == row.rstrip() for row in told)
    at = cell_len(told[0][: told[0].index("fact")])
    for row, begins in ((told[1], "lives in"), (told[2], "高さ")):
        assert cell_len(row[: row.index(begins)]) == at
    cells = "".join("".join(told).split())
    for row in ROWS:
        for cell in row[:2]:
            assert "".join(cell.split()) in cells
    words = {word for row in told for word in row.split()}
    assert set(WORDS.split()) <= words, "no word is broken"


def test_where_a_column_would_be_too_thin_each_row_is_a_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    told = shown(monkeypatch, 40, ROWS)
    assert max(map(cell_len, told)) <= 40
    assert told[0] == "k3v7q2ma  Anna  2026-11-14"
    assert told[1] == "  lives in: Cork"
    assert set(WORDS.split()) <= {word for row in told for word in row.split()}


def test_a_word_longer_than_the_screen_goes_on_below(monkeypatch: pytest.MonkeyPatch) -> None:
    link = "https://example.org/" + "a" * 90
    told = shown(monkeypatch, 60, [("k3v7q2ma", link)])
    assert max(map(cell_len, told)) <= 60
    assert link in "".join(row[10:] for row in told[1:])


def test_a_terminal_without_such_signs_shows_escapes_that_line_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="cp1252", errors="backslashreplace", write_through=True)
    stream.isatty = lambda: True  # type: ignore[method-assign]
    show_rows(Output({"NO_COLOR": "1"}, stream, stream), [("a", "東", "X"), ("b", "Zoë", "Y")], ("x", "y", "z"))
    head, first, second = raw.getvalue().decode("cp1252").splitlines()
    assert "\\u6771" in first and "Zoë" in second
    assert first.index("X") == second.index("Y") == head.index("z")


def test_a_pipe_has_a_row_a_line_with_tabs() -> None:
    stream = io.StringIO()
    show_rows(Output({}, stream, stream), iter(ROWS), HEAD)
    assert stream.getvalue().splitlines()[0] == "k3v7q2ma\tAnna\tlives in: Cork\t2026-11-14"
    assert len(stream.getvalue().splitlines()) == len(ROWS)
