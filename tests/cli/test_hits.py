"""The hits of a search as a person sees them: two lines each, cut at words around the match, as many as fit."""

from __future__ import annotations

import io
import re
from datetime import date
from pathlib import Path

import forked
import pytest
from cli.fake_memory import hit
from rich.cells import cell_len
from terminal import OURS, environment, on_a_terminal, program, rows

from tars_memory.doors.cli.output import Output
from tars_memory.doors.cli.screen import show_hits
from tars_memory.recall.query import Hit, SearchResult, parse
from tars_memory.testing import make_vault

LONG = "Far before it all there were words and more words, " * 8 + "then green tea for Anna, " + "and after that, " * 9


class Terminal(io.StringIO):
    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return True


def result(*hits: Hit, query: str = "green tea", more: int = 0) -> SearchResult:
    for rank, each in enumerate(hits, 1):
        each.rank = rank
    found = SearchResult(parse(query, date(2026, 11, 21)), "lexical", list(hits))
    found.more = more
    return found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch):
    def show(found: SearchResult, columns: int = 80, lines: int = 24, **more: object) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        stream = Terminal(str(more.pop("encoding", "utf-8")))
        out = Output({"TERM": "xterm", "NO_COLOR": "1"}, stream, stream)
        out.pages = bool(more.pop("pages", False))
        show_hits(out, found, full=bool(more.pop("full", False)), wanted=bool(more.pop("wanted", False)))
        return stream.getvalue().splitlines()

    return show


def hits(count: int) -> list[Hit]:
    return [hit(path=f"notes/tea {n}.md", text=f"green tea {n}", end_line=3, headings=()) for n in range(1, count + 1)]


def test_a_long_name_is_not_cut_between_a_letter_and_its_accent(shown) -> None:
    one = hit(path="notes/" + "и\u0306" * 60 + ".md", text="green tea", headings=())
    for columns in range(30, 40):
        assert shown(result(one), columns)[0].startswith("1  …и\u0306")


def test_the_best_stands_last_and_keeps_its_number(shown) -> None:
    told = shown(result(*hits(3)))
    assert [row[:2] for row in told[::2]] == ["3 ", "2 ", "1 "]
    assert told[-1] == "   green tea 1"


@pytest.mark.parametrize(("lines", "fit"), [(24, 10), (12, 5), (8, 3), (3, 3)])
def test_as_many_as_fit_are_shown_and_the_rest_is_counted(shown, lines: int, fit: int) -> None:
    told = shown(result(*hits(10)), lines=lines)
    rest = [f"+{10 - fit} more: --limit 10; the best is last"] if fit < 10 else []
    assert told[: len(rest)] == rest
    assert len(told) == 2 * fit + len(rest)
    assert told[-1].endswith("green tea 1")


def test_what_a_larger_limit_would_find_is_counted(shown) -> None:
    assert shown(result(*hits(4), more=12))[0] == "+12 more: --limit 16; the best is last"


@pytest.mark.parametrize(
    ("weak", "day", "shown_day"),
    [(False, "", "2026-11-20"), (True, "", "changed 2026-11-20"), (True, "2026-11-03", "2026-11-03")],
)
def test_the_day_of_a_file_is_not_shown_as_that_of_its_words(shown, weak: bool, day: str, shown_day: str) -> None:
    one = hit(path="tea.md", text="green tea", date="2026-11-20", date_is_weak=weak, day=day, headings=())
    assert shown(result(one))[0] == f"1  tea.md:3  {shown_day}"


def test_what_was_asked_for_is_shown_best_first_where_a_pager_takes_it(shown) -> None:
    told = shown(result(*hits(30)), wanted=True, pages=True)
    assert len(told) == 60 and told[0].startswith(" 1  ")
    assert shown(result(*hits(30)), wanted=True)[-1].endswith("green tea 1")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_a_long_line_is_cut_at_words_around_the_match(shown, columns: int) -> None:
    (head, words) = shown(result(hit(text=LONG, end_line=3)), columns)
    assert cell_len(words) <= columns and cell_len(head) <= columns
    assert "green tea" in words
    assert words.strip().startswith("…") and words.endswith("…")
    assert set(words.strip().strip("…").replace(",", " ").split()) <= set(LONG.replace(",", " ").split())


def test_a_script_without_blanks_is_cut_between_signs(shown) -> None:
    text = "在山上有很多树木和石头。" * 20 + "绿茶很好喝。" + "河流向东流去。" * 20
    (_, words) = shown(result(hit(text=text, end_line=3), query="绿茶"))
    assert "绿茶" in words and cell_len(words) <= 80


def test_a_wide_sign_may_be_followed_by_a_cut(shown) -> None:
    text = "同步历史功能在 Obsidian 一" + "点七及以后的版本中可以使用" * 9
    (_, words) = shown(result(hit(text=text, end_line=3), query="同步"))
    assert 78 <= cell_len(words) <= 80 and words.endswith("…")


def test_a_deep_path_keeps_its_name_and_line(shown) -> None:
    path = "/".join(f"a rather long folder {n}" for n in range(9)) + "/tea.md"
    head = shown(result(hit(path=path)), 40)[0]
    assert head.startswith("1  …/") and "tea.md:" in head and cell_len(head) <= 40


def test_a_note_is_named_before_its_day_and_what_else_it_holds(shown) -> None:
    one = hit(path="notes/a name of some length.md")
    one.more = 7
    assert shown(result(one), 48)[0] == "1  …/a name of some length.md:4  2026-03-15  +7"
    assert shown(result(one), 36)[0] == "1  …/a name of some length.md:4  +7"


def test_the_rest_of_a_note_and_of_a_line_is_counted(shown) -> None:
    one = hit()
    one.more = 7
    assert "+7 in this note" in shown(result(one))[0]
    one.alike = 5
    assert "+7 in this note  +5 alike" in shown(result(one))[0]


def test_machinery_is_not_shown(shown) -> None:
    text = "- 10:01 [promoted] green tea ([[2026-11-10#^d-fxc6wrn|2026-11-10]]) ^d-abc"
    assert shown(result(hit(text=text, end_line=3)))[1] == "   - 10:01 green tea (2026-11-10)"


def test_a_terminal_without_the_signs_gets_others(shown) -> None:
    told = shown(result(hit(text=LONG, end_line=3, headings=("Brewing", "Green"))), encoding="ascii")
    assert all(row.isascii() for row in told)
    assert "Brewing > Green" in told[0] and "..." in told[1] and "\\u" not in "".join(told)


def test_full_shows_the_whole_passage(shown) -> None:
    told = shown(result(hit(text=LONG, end_line=3)), full=True)
    assert " ".join(" ".join(told[1:]).split()) == " ".join(LONG.split())


@pytest.fixture
def vault(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    root = tmp_path / "vault"
    root.mkdir()
    for n in range(30):
        (root / f"note {n}.md").write_text(
            f"# Note {n}\n\nwalnut table number {n}\n\nanother walnut shelf {n}\n", "utf-8"
        )
    (root / "long.md").write_text("# Long\n\n" + "".join(f"walnut drawers {n}\n\n" for n in range(60)), "utf-8")
    env = environment(tmp_path / "home", TERM="xterm", TARS_MEMORY_DIR=str(root), TARS_MEMORY_BACKGROUND="0")
    return root, {**env, "TARS_MEMORY_RECALL_MODE": "lexical"}


def screen(vault: tuple[Path, dict[str, str]], *words: str, **env: str) -> list[str]:
    root, base = vault
    code, seen = on_a_terminal(program(*words), {**base, **env}, root, size=(80, 24))
    assert code == 0, seen
    return rows(OURS.sub(b"", seen))


def test_a_note_has_two_hits_and_the_rest_is_counted(vault: tuple[Path, dict[str, str]]) -> None:
    told = screen(vault, "search", "walnut drawers", "--limit", "10")
    places = [row for row in told if ".md:" in row]
    assert len(places) == 10 and len(told) <= 23
    for name in {row.split("  ")[1].partition(":")[0] for row in places}:
        assert sum(f"  {name}:" in row for row in places) <= 2
    assert ["in this note" in row for row in places if "  long.md:" in row] == [True, False]  # the best hit is last
    assert re.fullmatch(r"\+\d+ more: --limit \d+; the best is last", told[0])
    assert re.fullmatch(r"\+\d+ more: --limit \d+", screen(vault, "search", "walnut drawers", "--limit", "1")[0])
    alone = screen(vault, "search", "walnut", "path:long.md", "--limit", "5")
    assert sum("long.md:" in row for row in alone) == 5


MARKED = "sed 's/^/> /'"


@pytest.mark.parametrize(
    ("words", "env", "through"),
    [
        (["--limit", "30"], {"PAGER": MARKED}, True),
        (["--limit", "30"], {"PAGER": "cat", "TARS_MEMORY_TERMINAL_PAGER": MARKED}, True),
        (["--limit", "30"], {"PAGER": "no-such-program-anywhere"}, False),
        (["--limit", "30"], {"PAGER": "/"}, False),
        (["--limit", "30"], {"PAGER": "sed 's/^/> /"}, False),
        (["--limit", "30"], {"PAGER": MARKED, "TARS_MEMORY_TERMINAL_PAGER": "off"}, False),
        (["--limit", "30", "--no-pager"], {"PAGER": MARKED}, False),
        (["--limit", "30"], {"PAGER": MARKED, "AI_AGENT": "1"}, False),
        (["--limit", "5"], {"PAGER": MARKED}, False),
        (["--limit", "30"], {"PAGER": MARKED, "TERM": "dumb"}, False),
        (["--limit", "30"], {"TERM": "dumb", "TARS_MEMORY_TERMINAL_PAGER": MARKED}, True),
    ],
)
def test_a_pager_takes_what_is_longer_than_the_screen(
    vault: tuple[Path, dict[str, str]], words: list[str], env: dict[str, str], through: bool
) -> None:
    told = screen(vault, "search", "walnut", *words, **env)
    assert sum(row.startswith("> ") and ".md:" in row for row in told) == (30 if through else 0)
    assert sum(".md:" in row for row in told) == int(words[1])


def test_less_is_told_to_end_where_all_fits(vault: tuple[Path, dict[str, str]]) -> None:
    told = screen(vault, "search", "walnut", "--limit", "30", PAGER='cat >/dev/null; echo "LESS is $LESS"')
    assert told == ["LESS is FRX"]


def test_paths_begin_where_they_are_asked_to(vault: tuple[Path, dict[str, str]], tmp_path: Path) -> None:

    root, env = vault
    for place, words, wanted in (
        (tmp_path, ["--relative-to", "cwd"], "vault/note 7.md"),
        (tmp_path, ["--relative-to", "vault"], "note 7.md"),
        (root, [], "note 7.md"),
        (tmp_path, [], f"{root.resolve()}/note 7.md"),
    ):
        argv = program("search", "table number 7", "--limit", "1", *words)
        done = forked.run(argv, env=env, cwd=place, text=True, timeout=60)
        assert done.stdout.partition(":")[0] == wanted


def test_what_a_person_writes_into_a_file_is_masked_as_in_its_note(tmp_path: Path) -> None:
    codes = ["4821-9377", "5521-8812", "7719-0031", "9987-1234"]
    lines = "".join(f"- {code}\n" for code in codes)
    vault = make_vault(tmp_path / "vault", {"Router.md": f"# Router\n- the keel\n- recovery codes:\n{lines}"})
    env = environment(tmp_path / "home", TARS_MEMORY_BACKGROUND="0", TARS_MEMORY_DIR=str(vault))
    for words in (["recovery", "codes"], ["recovery", "codes", "--json"], ["keel", "--context", "9"]):
        argv = program("search", "--mode", "lexical", *words)
        _, seen = on_a_terminal(["sh", "-c", '"$@" > ../out', "sh", *argv], env, vault)
        said = seen.decode() + (tmp_path / "out").read_text()
        assert said.count("(masked recovery code)") == 4 and not [code for code in codes if code in said], words
    assert codes[0] in on_a_terminal(program("search", "keel", "--context", "9"), env, vault)[1].decode()
