"""The pictures in ``docs/screens`` show what a terminal shows, at both sizes, in colour and without, dark and light."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli import screens
from rich.cells import cell_len

PAGE = screens.FOLDER.parent / "screens.md"
PALETTES = {
    # red and magenta of xterm, of macOS's Terminal and of VS Code's two default themes, each on its background
    "dark": [((205, 0, 0), (205, 0, 205), (0, 0, 0)), ((205, 49, 49), (188, 63, 188), (24, 24, 24))],
    "light": [((205, 0, 0), (205, 0, 205), (255, 255, 255)), ((205, 49, 49), (188, 5, 188), (255, 255, 255))],
}
LEAST = 3
"""The contrast that large or bold text needs (WCAG 2)."""


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    return screens.place(tmp_path_factory.mktemp("screens"))


@pytest.mark.parametrize("size", screens.SIZES, ids=str)
@pytest.mark.parametrize("name", screens.COMMANDS)
def test_the_picture_is_what_the_terminal_shows(
    where: tuple[Path, dict[str, str]], name: str, size: tuple[int, int]
) -> None:
    text = screens.shot(where, name, size)
    plain = screens.SGR.sub("", text)
    assert screens.shot(where, name, size, NO_COLOR="1") == plain, "colour says nothing that the words don't"
    rows = plain.split("\n")
    assert max(map(cell_len, rows)) <= size[0]
    assert len(rows) < size[1], "with the prompt below it"
    assert not [row for row in rows if row != row.rstrip()]
    used = {code for row in text.split("\n") for codes, _ in screens.segments(row) for code in codes}
    assert used <= screens.CLASSES.keys()
    kept = screens.file_of(name, size).read_text("utf-8")
    assert kept == screens.picture(text, size), "make screens makes the pictures anew"
    assert len(kept) < 6_000


def test_the_page_shows_all_of_them() -> None:
    page = PAGE.read_text("utf-8")
    for name in screens.COMMANDS:
        for size in screens.SIZES:
            assert f"(screens/{screens.file_of(name, size).name})" in page
    assert len([*screens.FOLDER.iterdir()]) == len(screens.COMMANDS) * len(screens.SIZES)


@pytest.mark.parametrize("background", PALETTES)
def test_the_colours_can_be_read(background: str) -> None:
    assert screens.CLASSES.keys() == {"1", "2", "31", "35"}, "bold, faint, red and magenta"
    for red, magenta, ground in PALETTES[background]:
        for colour in (red, magenta):
            assert contrast(colour, ground) >= LEAST


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Of two colours, as WCAG 2 has it."""

    def light(colour: tuple[int, ...]) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    bright, dark = sorted((light(one), light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)
