"""Where the tiers live, by default, by Obsidian's settings, by ours; and Moment's formats."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tars_memory.errors import UsageError
from tars_memory.language import calendar
from tars_memory.settings import LayoutOptions
from tars_memory.vault.layout import Layout
from tars_memory.vault.markdown import moment
from tars_memory.vault.model import Tier
from tars_memory.vault.template import fill

DAY = date(2026, 11, 21)


def obsidian(root: Path, path: str, said: object) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(json.dumps(said), "utf-8")


def test_the_defaults(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path)
    assert layout.daily_path(DAY) == "2026-11-21.md"
    assert layout.day_of("2026-11-21.md") == DAY
    assert layout.day_of("2026-11-21.MD") == DAY
    assert layout.day_of("2026-02-30.md") is None
    assert layout.day_of("notes/2026-11-21.md") is None
    assert layout.daily_template_path is None


@pytest.mark.parametrize(
    ("path", "tier", "scope"),
    [
        ("Memory.md", Tier.SEMANTIC, ""),
        ("Facts.md", Tier.SEMANTIC, ""),
        ("Procedural.md", Tier.PROCEDURAL, ""),
        ("2026-11-21.md", Tier.DAILY, ""),
        ("sessions/2026-11-21 1015 topic.md", Tier.EPISODIC, ""),
        ("notes/Memory.md", Tier.NOTE, ""),
        ("corrections.md", Tier.NOTE, ""),
        ("projects/a/Memory.md", Tier.SEMANTIC, "a"),
        ("projects/a/2026-11-21.md", Tier.DAILY, "a"),
        ("projects/a/sessions/x.md", Tier.EPISODIC, "a"),
        ("projects/a/b/c.md", Tier.NOTE, "a"),
        ("projects/readme.md", Tier.NOTE, ""),
    ],
)
def test_the_path_alone_says_tier_and_scope(tmp_path: Path, path: str, tier: Tier, scope: str) -> None:
    layout = Layout.of(tmp_path)
    assert (layout.tier_of(path), layout.scope_of(path)) == (tier, scope)


def test_obsidian_says_where_daily_notes_are(tmp_path: Path) -> None:
    said = {"folder": "/Journal/", "format": "YYYY/MM-MMMM/YYYY-MM-DD dddd", "template": "Templates/Day"}
    obsidian(tmp_path, ".obsidian/daily-notes.json", said)
    layout = Layout.of(tmp_path)
    path = "Journal/2026/11-November/2026-11-21 Saturday.md"
    assert layout.daily_path(DAY) == path
    assert layout.day_of(path) == DAY
    assert layout.day_of("Journal/2026/11-November/2026-11-21 Sunday.md") is None
    assert layout.tier_of(path) is Tier.DAILY
    assert layout.tier_of("projects/a/" + path) is Tier.DAILY
    assert layout.daily_path(DAY, scope="a") == "projects/a/" + path
    assert layout.daily_template_path == "Templates/Day.md"


def test_periodic_notes_win_if_they_do_daily_notes(tmp_path: Path) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", {"folder": "core"})
    periodic = {"daily": {"enabled": True, "folder": "periodic", "format": "", "template": "t.md"}}
    obsidian(tmp_path, ".obsidian/plugins/periodic-notes/data.json", periodic)
    layout = Layout.of(tmp_path)
    assert layout.daily_path(DAY) == "periodic/2026-11-21.md"
    assert layout.daily_template_path == "t.md"
    periodic["daily"]["enabled"] = False
    obsidian(tmp_path, ".obsidian/plugins/periodic-notes/data.json", periodic)
    assert Layout.of(tmp_path).daily_path(DAY) == "core/2026-11-21.md"


def test_our_settings_win_over_obsidian(tmp_path: Path) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", {"folder": "core", "format": "DD.MM.YYYY", "template": "t"})
    layout = Layout.of(tmp_path, LayoutOptions(daily_folder="", daily_format="YYYYMMDD", daily_template=""))
    assert layout.daily_path(DAY) == "20261121.md"
    assert layout.daily_template_path is None


@pytest.mark.parametrize(
    "form", ["[daily]", "ww", "MM-DD", "YYYY-MM", "YYYY-MM-DD HH:mm", "YYYY-MM-DD LT", "../YYYY-MM-DD", "/YYYY-MM-DD"]
)
def test_a_format_that_names_no_day_is_refused_with_its_source(tmp_path: Path, form: str) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", {"format": form})
    layout = Layout.of(tmp_path)
    with pytest.raises(UsageError, match=r"\.obsidian/daily-notes\.json"):
        layout.daily_path(DAY)
    assert layout.tier_of("2026-11-21.md") is Tier.DAILY  # readers go on
    with pytest.raises(UsageError, match=r"layout\.daily_format"):
        Layout(LayoutOptions(daily_format=form))


@pytest.mark.parametrize("text", ["{", "\xff", "[" * 100_000])
def test_settings_that_are_no_json_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian/daily-notes.json").write_text(text, "latin-1")
    with pytest.raises(UsageError, match=r"daily-notes\.json .* not valid JSON"):
        Layout.of(tmp_path).daily_path(DAY)


@pytest.mark.parametrize("said", [[], "text", {"folder": 3}, {"folder": "a/../b"}, {"format": ["x"]}])
def test_settings_of_the_wrong_kind_do_not_break_readers(tmp_path: Path, said: object) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", said)
    assert Layout.of(tmp_path).tier_of("Memory.md") is Tier.SEMANTIC


@pytest.mark.parametrize("folder", ["../out", "a//b", "./a", "a\0b"])
def test_a_folder_stays_in_the_vault(folder: str) -> None:
    with pytest.raises(UsageError, match="not a folder inside the vault"):
        Layout(LayoutOptions(daily_folder=folder))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("YYYY-MM-DD", "2026-11-21"),
        ("D.M.YY", "21.11.26"),
        ("MMM Do, YYYY", "Nov 21st, 2026"),
        ("dddd ddd dd d E", "Saturday Sat Sa 6 6"),
        ("[Week] ww W GGGG gggg", "Week 47 47 2026 2026"),
        ("DDDD DDD Q", "325 325 4"),
        ("YYYY[Y]", "2026Y"),
        ("HH:mm h:mm A", "14:05 2:05 PM"),
        ("ZZ Z", "+0100 +01:00"),
    ],
)
def test_moment_formats(form: str, text: str) -> None:
    when = datetime(2026, 11, 21, 14, 5, tzinfo=timezone(timedelta(hours=1)))
    assert moment.render(form, when) == text


def test_weeks_at_the_turn_of_the_year() -> None:
    assert moment.render("GGGG-[W]WW gggg-ww", date(2027, 1, 1)) == "2026-W53 2027-01"
    assert moment.render("GGGG-[W]WW gggg-ww", date(2025, 12, 29)) == "2026-W01 2026-01"
    assert moment.render("gggg-ww", date(2026, 1, 3)) == "2026-01"
    assert moment.render("gggg-ww", date(2026, 1, 4)) == "2026-02"


@pytest.mark.parametrize("number", [1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30])
def test_ordinals(number: int) -> None:
    endings = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}
    assert moment.render("Do", date(2026, 1, number)) == f"{number}{endings.get(number, 'th')}"


@pytest.mark.parametrize(
    "form",
    [
        "YYYY-MM-DD",
        "D-M-YYYY",
        "YYYY/MM/YYYY-MM-DD-dddd",
        "MMM Do YY",
        "YYYY DDDD",
        "[a.b] YYYYMMDD",
        "gggg-[W]ww/YYYY-MM-DD",
        "MMMM D, YYYY",
    ],
)
def test_every_day_is_read_back_from_its_name(form: str) -> None:
    matcher = moment.pattern(form)
    for number in range(0, 800, 7):
        day = date(2025, 12, 25) + timedelta(number)
        assert moment.day(form, matcher, moment.render(form, day)) == day


@pytest.mark.parametrize("language", calendar.DIARY_NAMES)
def test_names_in_the_language_of_the_vault(tmp_path: Path, language: str) -> None:
    form = "YYYY/dddd D MMMM YYYY"
    obsidian(tmp_path, ".obsidian/daily-notes.json", {"folder": "Journal", "format": form})
    days = [date(2026, 1, 1) + timedelta(number) for number in range(0, 365, 13)]
    names = [moment.render(form, day, language) for day in days]
    assert [moment.day(form, moment.pattern(form), name) for name in names] == days
    (tmp_path / "Journal/2026").mkdir(parents=True)
    for name in [*names, "2026/Monday 23 November 2026"]:
        (tmp_path / f"Journal/{name}.md").write_text("- seen\n")
    layout = Layout.of(tmp_path)
    assert layout.daily_path(DAY) == f"Journal/{moment.render(form, DAY, language)}.md"
    assert {layout.tier_of(path.relative_to(tmp_path).as_posix()) for path in tmp_path.rglob("*.md")} == {Tier.DAILY}
    filled = fill(b"{{date:dddd}} {{date:MMM}}", "", datetime(2026, 11, 23, tzinfo=UTC), layout)
    assert filled.decode() == f"{calendar.DIARY_NAMES[language][1][0]} Nov"


@pytest.mark.parametrize(
    ("form", "language", "name"),
    [
        ("YYYY/MM-MMMM/YYYY-MM-DD-dddd", "pl", "2026/11-listopad/2026-11-21-sobota"),
        ("dddd, D MMMM YYYY", "pl", "sobota, 21 listopada 2026"),
        ("D [de] MMMM YYYY", "es", "21 de noviembre 2026"),
        ("D. MMMM YYYY", "cs", "21. listopadu 2026"),
        ("YYYY-MM-DD dddd", "sv", "2026-11-21 lördag"),
        ("YYYY年M月D日 dddd", "ja", "2026年11月21日 土曜日"),
    ],
)
def test_a_month_has_the_form_that_it_has_in_obsidian(form: str, language: str, name: str) -> None:
    assert moment.render(form, DAY, language) == name
    assert moment.day(form, moment.pattern(form), name) == DAY


def test_no_name_means_two_months_or_two_weekdays() -> None:
    forms = [*(months for months, _ in calendar.DIARY_NAMES.values()), *calendar.GENITIVES.values()]
    for named in (forms, [weekdays for _, weekdays in calendar.DIARY_NAMES.values()]):
        pairs = {(name, number) for names in named for number, name in enumerate(names)}
        assert len(pairs) == len({name for name, _ in pairs})


@pytest.mark.parametrize(
    ("form", "name", "day"),
    [
        ("DD-MM-YYYY", "03-10-2026", date(2026, 10, 3)),
        ("MM-DD-YYYY", "03-10-2026", date(2026, 3, 10)),
        ("YYYY/MM-MMMM/DD-MM-YYYY", "03-10-2026", date(2026, 10, 3)),
        ("YYYY-MM-DD", "03-10-2026", None),
        ("YYYY/MM/DD", "03", None),
    ],
)
def test_the_name_of_a_daily_note_is_its_day(form: str, name: str, day: date | None) -> None:
    assert Layout(LayoutOptions(daily_format=form)).day_of_name(name) == day


def test_names_of_no_known_day_leave_the_language_english(tmp_path: Path) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", {"format": "dddd D MMMM YYYY"})
    (tmp_path / "dimanche 23 novembre 2026.md").write_text("that was a Monday\n")
    assert Layout.of(tmp_path).daily_path(DAY) == "Saturday 21 November 2026.md"


def test_a_format_that_parts_a_name_in_countless_ways_is_no_format() -> None:
    for form in ("YYYY-MM-DD" + "dddd" * 20, "YYYY-MM-DD" + "wW" * 10, "YYYYMMDD" + "[x]" * 10_000):
        with pytest.raises(ValueError, match="too"):
            moment.pattern(form)


def test_a_format_may_name_its_day_again_and_again() -> None:
    form = "YYYY/[Q]Q/MM-MMMM/[W]W/YYYY-MM-DD dddd MMM Do wo"
    for day in (date(2026, 5, 1), date(2026, 9, 30), date(2024, 12, 31)):
        assert moment.day(form, moment.pattern(form), moment.render(form, day)) == day


def test_no_time_of_day_from_a_date() -> None:
    with pytest.raises(ValueError, match="time of day"):
        moment.render("HH", date(2026, 1, 1))
    assert moment.render("x", datetime(2026, 1, 1, tzinfo=UTC)) == "1767225600000"


@pytest.mark.parametrize(
    "said",
    [
        {"folder": ".obsidian"},
        {"folder": "a/.hidden"},
        {"format": "[.]YYYY-MM-DD"},
        {"format": "YYYY-MM-DD[/]"},
        {"format": "[../]YYYY-MM-DD"},
        {"format": "[sessions/]YYYY-MM-DD"},
        {"folder": "sessions"},
        {"folder": "projects/a"},
        {"format": "YYYY-MM-DD\0"},
        {"format": "YYYY-MM-DD[\n]"},
        {"folder": "\ud800"},
    ],
)
def test_a_place_where_a_log_line_would_not_be_found_again_is_a_problem(tmp_path: Path, said: dict[str, str]) -> None:
    obsidian(tmp_path, ".obsidian/daily-notes.json", said)
    layout = Layout.of(tmp_path, LayoutOptions(notes_section="Facts"))
    assert layout.problem is not None
    assert layout.notes_section == "Facts"
    with pytest.raises(UsageError, match="daily note"):
        layout.daily_path(DAY)


def test_a_setting_of_ours_that_cannot_be_used_is_a_problem_too(tmp_path: Path) -> None:
    layout = Layout.of(tmp_path, LayoutOptions(daily_format="YYYY", log_heading="Day"))
    assert layout.problem is not None
    assert layout.log_heading == "Day"


@pytest.mark.parametrize(
    ("settings", "folders"),
    [
        ({}, ()),
        ({".obsidian/templates.json": {"folder": "Meta/Boiler/"}}, ("Meta/Boiler/",)),
        ({".obsidian/templates.json": {"folder": "/"}}, ()),
        ({".obsidian/templates.json": {"folder": 7}}, ()),
        ({".obsidian/plugins/templater-obsidian/data.json": {"templates_folder": "T"}}, ("T/",)),
        ({".obsidian/daily-notes.json": {"template": "x/My Templates/day"}}, ("x/My Templates/",)),
        ({".obsidian/daily-notes.json": {"template": "Meta/day"}}, ()),
        (
            {
                ".obsidian/daily-notes.json": {"folder": "Journal/Daily", "template": "Journal/day"},
                ".obsidian/templates.json": {"folder": "Journal"},
            },
            (),
        ),
    ],
)
def test_templates_are_where_obsidian_has_them(tmp_path: Path, settings: dict[str, object], folders: object) -> None:
    for path, said in settings.items():
        obsidian(tmp_path, path, said)
    layout = Layout.of(tmp_path)
    assert layout.problem is None
    assert layout.template_folders == folders
    for folder in layout.template_folders:
        assert layout.is_template(f"{folder}a/b.md")
    assert layout.daily_template_path is None or layout.is_template(layout.daily_template_path)
    assert not layout.is_template("Template.md")


def test_places_are_spelled_as_the_vault_composes_their_letters(tmp_path: Path) -> None:
    names = ["Tägliches", "Sätze", "Käse", "Mörtel", "Frühes", "Über"]
    days, sessions, playbooks, templates, new, me = (unicodedata.normalize("NFD", name) for name in names)
    for folder in (days, sessions, playbooks, templates, new):
        (tmp_path / folder).mkdir()
    for note in (f"{days}/{unicodedata.normalize('NFD', '1. März 2026')}.md", f"{templates}/day.md", f"{me}.md"):
        (tmp_path / note).write_text("- tea\n", "utf-8")
    settings = {
        "daily-notes": {"folder": names[0], "format": "D. MMMM YYYY", "template": f"{names[3]}/day"},
        "templates": {"folder": names[3]},
        "app": {"newFileLocation": "folder", "newFileFolderPath": names[4]},
    }
    for name, said in settings.items():
        obsidian(tmp_path, f".obsidian/{name}.json", said)
    options = LayoutOptions(sessions_folder=names[1], playbooks_folder=names[2], memory=f"{names[5]}.md")
    layout = Layout.of(tmp_path, options)
    assert layout.daily_language == "de" and layout.memory == f"{me}.md"
    assert layout.daily_path(date(2026, 3, 1)) == f"{days}/{unicodedata.normalize('NFD', '1. März 2026')}.md"
    assert layout.day_of(layout.daily_path(date(2026, 3, 1))) == date(2026, 3, 1)
    assert layout.daily_path(date(2026, 4, 1)) == f"{days}/1. April 2026.md"
    assert (layout.sessions, layout.playbooks, layout.new_folder) == (sessions, playbooks, new)
    assert layout.daily_template_path == f"{templates}/day.md" and layout.template_folders == (f"{templates}/",)
    assert layout.tier_of(f"{me}.md") is Tier.SEMANTIC


def test_broken_settings_of_templates_hide_nothing(tmp_path: Path) -> None:
    path = tmp_path / ".obsidian/plugins/templater-obsidian/data.json"
    path.parent.mkdir(parents=True)
    path.write_text("{half")
    layout = Layout.of(tmp_path)
    assert (layout.problem, layout.template_folders) == (None, ())


@pytest.mark.parametrize(
    ("options", "path", "archived"),
    [
        ({}, "2026-11-21.md", "archive/2026-11-21.md"),
        ({"daily_folder": "Journal"}, "Journal/2026-11-21.md", "archive/Journal/2026-11-21.md"),
        (
            {"daily_folder": "Journal", "daily_format": "YYYY/MM/YYYY-MM-DD"},
            "Journal/2026/11/2026-11-21.md",
            "archive/Journal/2026/11/2026-11-21.md",
        ),
        ({}, "projects/a/2026-11-21.md", "projects/a/archive/2026-11-21.md"),
        ({"daily_folder": "archive"}, "archive/2026-11-21.md", "archive/archive/2026-11-21.md"),
    ],
)
def test_an_archived_day_is_a_day(tmp_path: Path, options: dict[str, str], path: str, archived: str) -> None:
    layout = Layout.of(tmp_path, LayoutOptions(**options))
    assert layout.archived(path) == archived
    for place in (path, archived):
        assert (layout.day_of(place), layout.tier_of(place), layout.timed(place)) == (DAY, Tier.DAILY, True)
        assert layout.scope_of(place) == layout.scope_of(path)
    assert (layout.is_archived(path), layout.is_archived(archived)) == (False, True)
    assert layout.daily_path(DAY, scope=layout.scope_of(path)) == path


def test_the_archive_is_the_folder_of_that_name_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "Archive").mkdir()
    layout = Layout.of(tmp_path)
    assert layout.archived("2026-11-21.md") == "Archive/2026-11-21.md"
    assert layout.is_archived("Archive/2026-11-21.md") and not layout.is_archived("archive/2026-11-21.md")
    (tmp_path / "archive").mkdir(exist_ok=True)
    if len([*tmp_path.iterdir()]) == 2:
        assert Layout.of(tmp_path).archived("2026-11-21.md") == "archive/2026-11-21.md"


@pytest.mark.parametrize(
    "path",
    [
        "archive/Memory.md",
        "archive/archive/2026-11-21.md",
        "archive/notes/2026-11-21.md",
        "archive/projects/a/2026-11-21.md",
        "projects/archive/2026-11-21 x.md",
        "Archive/2026-11-21.md",
    ],
)
def test_other_notes_in_the_archive_are_notes(tmp_path: Path, path: str) -> None:
    layout = Layout.of(tmp_path)
    assert (layout.tier_of(path), layout.day_of(path), layout.is_archived(path)) == (Tier.NOTE, None, False)


@pytest.mark.parametrize(
    ("options", "path", "archived"),
    [
        ({}, "sessions/2026-01-02 1000 x.md", "archive/sessions/2026-01-02 1000 x.md"),
        ({}, "projects/a/sessions/deep/x.md", "projects/a/archive/sessions/deep/x.md"),
        ({"sessions_folder": "Log/chats"}, "Log/chats/x.md", "archive/Log/chats/x.md"),
    ],
)
def test_an_archived_session_is_a_session(tmp_path: Path, options: dict[str, str], path: str, archived: str) -> None:
    layout = Layout.of(tmp_path, LayoutOptions(**options))
    assert layout.archived(path) == archived
    for place in (path, archived):
        assert (layout.tier_of(place), layout.is_session(place), layout.day_of(place)) == (Tier.EPISODIC, True, None)
        assert layout.scope_of(place) == layout.scope_of(path)
    assert (layout.is_archived(path), layout.is_archived(archived)) == (False, True)
    assert not layout.is_session("archive/notes/x.md") and not layout.is_archived("archive/notes/x.md")


def test_the_day_of_a_name_is_read_from_it_once(monkeypatch):
    held = []
    monkeypatch.setattr(moment, "render", lambda form, when, each: held.append(each) or "1987/novembre/20")
    matcher = moment.pattern("YYYY/MMMM/DD")
    for _ in range(3):
        assert moment.day("YYYY/MMMM/DD", matcher, "1987/novembre/20") == date(1987, 11, 20)
        assert moment.day("YYYY/MMMM/DD", matcher, "recipes/rye") is None
    assert held == ["fr"]
