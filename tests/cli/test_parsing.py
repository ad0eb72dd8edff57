"""How a command line is read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any

import commands_page as reference
import pytest

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import SHARED, Call, instant, separate
from tars_memory.errors import UsageError

FLAGS, VALUED = {"--json", "--stdin"}, {"--tier", "--since"}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["tea", "-milk"], ["--", "tea", "-milk"]),
        (["-milk", "tea"], ["--", "-milk", "tea"]),
        (["-5", "degrees", "--json"], ["--json", "--", "-5", "degrees"]),
        (["-"], ["--", "-"]),
        (["tea", "--tier", "-x", "pot"], ["--tier", "-x", "--", "tea", "pot"]),
        (["tea", "--tier=daily"], ["--tier=daily", "--", "tea"]),
        (["--", "--json", "-5"], ["--", "--json", "-5"]),
        (["a", "--", "b", "--", "c"], ["--", "a", "b", "--", "c"]),
        (["a", "--tier"], ["--tier"]),
        (["a", "--bogus", "b"], ["--bogus"]),
        ([], ["--"]),
    ],
)
def test_words_and_options_are_told_apart(args: list[str], expected: list[str]) -> None:
    assert separate(args, FLAGS, VALUED) == expected


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["log", "met", "Anna"], "met Anna"),
        (["log", "--", "-5", "degrees"], "-5 degrees"),
        (["log", "it", "was", "-5", "degrees", "--json"], "it was -5 degrees"),
        (["--json", "log", "-h", "is", "a", "letter"], "-h is a letter"),
        (["log", "--quiet", "a", "--vault", "/v", "b"], "a b"),
        (["log", "--", "--json"], "--json"),
    ],
)
def test_text_is_all_the_remaining_words(tm: Callable[..., Any], memory: Any, argv: list[str], text: str) -> None:
    assert tm(*argv).code == 0
    assert memory.asked == [("log", (text,), {})]


@pytest.mark.parametrize("query", [["tea", "-milk"], ["-milk", "tea"], ["-"], ["AND"], ['"unclosed'], ["C++"]])
def test_any_words_are_a_query(tm: Callable[..., Any], memory: Any, query: list[str]) -> None:
    assert tm("search", *query).code == 0
    assert memory.asked[0][1] == (" ".join(query),)


@pytest.mark.parametrize("shared", [["--json"], ["--vault", "/v"], ["--now", "2026-11-21T09:00"], ["--quiet"]])
@pytest.mark.parametrize("command", [["status"], ["search", "tea"], ["list"], ["undo"]])
def test_shared_options_count_before_and_after_the_name(
    tm: Callable[..., Any], memory: Any, shared: list[str], command: list[str]
) -> None:
    before = tm(*shared, *command)
    opened, memory.opened = memory.opened, {}
    after = tm(*command, *shared)
    assert (before.code, before.out, before.err) == (after.code, after.out, after.err)
    assert opened == memory.opened


def test_the_later_one_holds(tm: Callable[..., Any], memory: Any) -> None:
    tm("--vault", "/first", "status", "--vault", "/second")
    assert memory.opened["vault"] == "/second"


WRITERS = ["remember x", "log x", "feedback good x", "edit abcd2345 x", "forget abcd2345", "undo"]


@pytest.mark.parametrize("call", WRITERS)
def test_every_writer_can_be_tried_without_writing(tm: Callable[..., Any], memory: Any, call: str) -> None:
    for argv in ([*call.split(), "--dry-run"], ["--dry-run", *call.split()]):
        answer = tm(*argv)
        assert (answer.code, memory.opened["dry_run"]) == (0, True)
        assert "dry run: nothing was written" in answer.err


def test_readers_have_no_dry_run(tm: Callable[..., Any]) -> None:
    assert tm("status", "--dry-run").code == 2
    before = tm("--dry-run", "status")
    assert before.code == 2 and "status has no --dry-run: it writes nothing into the vault" in before.err


GIVEN = {
    "vault": ["--vault", "/v"],
    "project": ["--project", "p"],
    "json": ["--json"],
    "quiet": ["--quiet"],
    "no_pager": ["--no-pager"],
    "now": ["--now", "2026-11-21T09:00"],
    "dry_run": ["--dry-run"],
}


@pytest.mark.parametrize("name", reference.NAMES)
def test_every_command_takes_every_shared_option_in_both_places(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(GIVEN) == {*SHARED} - {"help"}
    made = reference.command(name)
    told: list[tuple[Any, ...]] = []

    def invoke(_: Any, ctx: Any) -> None:
        call = ctx.obj
        out = call.out
        told.append((call.vault, call.project, out.json, out.quiet, call._now_text, call.dry_run, call.no_pager))

    monkeypatch.setattr(type(made), "invoke", invoke)
    needed = ["x"] * {"extract": 1, "eval": 1, "export": 1, "import": 1, "merge": 3}.get(name, 0)
    for option, words in GIVEN.items():
        if option in [param.name for param in made.params]:
            told.clear()
            for argv in ([*words, name, *needed], [name, *words, *needed], [name, *needed, *words]):
                assert run(argv, Call({})) == 0
            assert told[0] == told[1] == told[2] != (None, None, False, False, None, False, False), (name, option)


BAD_CALLS = """
serch tea
search
search --mode psychic tea
search --queries x
search tea --limit 0
search tea --limit many
search --tier
search --bogus
remember
remember x --tier daily
feedback
feedback meh x
feedback good
edit
edit abcd2345
forget
show
undo t1 --last 2
undo --last 0
models use
models burn
status extra
--now tomorrow-ish log x
--bogus
"""


@pytest.mark.parametrize(
    "argv", [*map(str.split, BAD_CALLS.strip().splitlines()), ["search", " "], ["log", ""]], ids=repr
)
def test_a_bad_call_is_a_sentence_and_exit_2(tm: Callable[..., Any], memory: Any, argv: list[str]) -> None:
    answer = tm(*argv)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("tars-memory: ")
    assert len(answer.err.splitlines()) == 2, "what happened, and what to do next"
    assert memory.asked == []


@pytest.mark.parametrize("text", ["{} 8:05", "yesterday 08:05", "gestern um 8:05", "8:05"])
def test_an_instant_is_a_day_in_any_words_and_a_time(text: str) -> None:
    today = datetime.now().astimezone().date()
    day = today if text == "8:05" else today - timedelta(1)
    when = instant(text.format(day), "--now")
    assert (when.date(), when.time()) == (day, time(8, 5))


def test_a_coming_day_is_the_next_of_its_name_though_years_lack_it(tmp_path: Path) -> None:
    call = Call({"TARS_MEMORY_HOME": str(tmp_path)})
    coming = call.day("29 February", "--until", coming=True)
    assert coming is not None
    assert coming >= call.today()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Monday", "2026-11-23"),
        ("on friday", "2026-11-27"),
        ("Montag", "2026-11-23"),
        ("Saturday", "2026-11-21"),
        ("last Monday", "2026-11-16"),
        ("yesterday", "2026-11-20"),
        ("3d", "2026-11-18"),
        ("this month", "2026-11-01"),
    ],
)
def test_a_coming_day_of_the_week_is_the_next_one(tmp_path: Path, text: str, day: str) -> None:
    call = Call({"TARS_MEMORY_HOME": str(tmp_path), "TARS_NOW": "2026-11-21T12:00"})
    call.begin()
    assert str(call.day(text, "--until", coming=True)) == day


def test_a_command_that_is_nearly_one_is_suggested(tm: Callable[..., Any]) -> None:
    assert "did you mean search?" in tm("serch", "tea").err
    assert "did you mean search?" in tm("serach", "tea").err
    assert "did you mean --until?" in tm("search", "tea", "--untill", "2w").err
    assert "did you mean" not in tm("search", "tea", "--sort", "day").err, "all begin with two dashes"
    assert "--help lists them" in tm("paste", "Memory.md").err
    assert "did you mean forget?" in tm("delete", "Memory.md").err, "as other programs call it"
    assert "did you mean --version?" in tm("version").err
    assert "did you mean status --verbose?" in tm("config").err


def test_help_needs_no_vault_and_knows_every_command(tm: Callable[..., Any], memory: Any) -> None:
    from tars_memory.doors.cli.app import COMMANDS, EVERY_DAY, HIDDEN

    overview, whole = tm("--help"), tm("help", "all")
    assert (overview.code, whole.code) == (0, 0)
    assert "--vault DIR" in whole.out
    for names in COMMANDS.values():
        for name in names:
            assert (f"\n  {name} " in overview.out) == (name in EVERY_DAY)
            assert (f"\n  {name} " in whole.out) == (name not in HIDDEN)
            for argv in ([name, "--help"], ["help", name], [name, "-h"]):
                answer = tm(*argv)
                assert (answer.code, answer.err) == (0, "")
                assert answer.out.startswith(f"Usage: tars-memory {name} [OPTIONS]")
    assert "-h, --help" in answer.out
    search = tm("search", "--help").out
    assert "--queries" in search and "--stdin" not in search and "--expired" not in search, "old names are hidden"
    assert tm().out == tm("help").out == overview.out
    assert memory.opened == {}


def test_version(tm: Callable[..., Any]) -> None:
    from tars_memory import __version__

    assert tm("--version").out == f"tars-memory {__version__}\n"


def test_an_instant_without_a_zone_is_local_and_one_with_it_is_the_same_moment() -> None:
    assert instant("2026-11-21T14:30", "--now").replace(tzinfo=None).isoformat() == "2026-11-21T14:30:00"
    assert instant("2026-11-21", "--now").tzinfo is not None
    assert instant("2026-11-21T14:30:00Z", "--now").timestamp() == 1795271400.0
    assert instant("gestern", "--now") < instant("today", "--now") <= datetime.now().astimezone()
    for bad in ("", "soon", "2026-13-01", "99999-01-01"):
        with pytest.raises(UsageError):
            instant(bad, "--now")


def test_the_instant_comes_from_the_option_before_the_variable(tm: Callable[..., Any], memory: Any) -> None:
    tm("status", TARS_NOW="2026-11-21T14:30")
    assert memory.opened["now"].hour == 14
    tm("status", "--now", "2026-11-21T15:30", TARS_NOW="2026-11-21T14:30")
    assert memory.opened["now"].hour == 15
    assert tm("status", TARS_NOW="later").code == 2
    tm("status")
    assert memory.opened["now"] is None


@pytest.mark.parametrize("call", [["init", ""], ["--vault", "", "init"]])
def test_an_empty_path_is_not_this_folder(call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tars_memory.doors.cli.app import run

    monkeypatch.chdir(tmp_path)
    assert run(call) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("when", ["0001-01-01", "1969-12-31", "9999-12-31T23:59", "3000-01-01"])
def test_a_year_at_an_end_of_the_calendar_is_refused(tm: Callable[..., Any], when: str) -> None:
    answer = tm("search", "tea", "--now", when)
    assert answer.code == 2
    assert "is out of range" in answer.err and "1970" in answer.err
