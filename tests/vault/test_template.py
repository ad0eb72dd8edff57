"""What init makes and leaves alone, and templates filled as Obsidian fills them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tars_memory.errors import UnwritableError, VaultError
from tars_memory.memory import Memory
from tars_memory.settings import LayoutOptions
from tars_memory.vault import template
from tars_memory.vault.layout import Layout
from tars_memory.vault.markdown import moment
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Store

NOW = datetime(2026, 11, 21, 14, 5, 9, tzinfo=timezone(timedelta(hours=1)))


def init(root: Path, state: Path, *, dry_run: bool = False) -> template.InitReport:
    store = Store(root, state, now=NOW, actor="person", dry_run=dry_run)
    return template.fill_vault(Vault.open(root), store, NOW.date())


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_an_empty_folder_becomes_a_vault(tmp_path: Path) -> None:
    root = template.make_root(tmp_path / "new" / "vault")
    report = init(root, tmp_path / "state")
    assert report.created == [*template.FRESH, ".tars/vault-id"]
    assert report.fresh
    assert set(tree(root)) == set(report.created)
    for path in template.FRESH:
        assert (root / path).read_bytes() == template.shipped(path) != b""
    for path in template.FRESH[:2]:
        note = Document(template.shipped(path))
        assert [section.title for section in note.sections] == ["", "Notes"]
        assert note.bullets == ()
    layout = Layout.of(root)
    assert layout.problem is None
    assert layout.daily_template_path == "templates/daily.md"


def test_twice_is_harmless(tmp_path: Path) -> None:
    root = template.make_root(tmp_path / "vault")
    init(root, tmp_path / "state")
    (root / "Memory.md").write_text("mine\n", "utf-8")
    before = tree(root)
    report = init(root, tmp_path / "state")
    assert report.created == []
    assert tree(root) == before


def test_an_obsidian_vault_keeps_every_byte(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / ".obsidian").mkdir(parents=True)
    (root / ".obsidian/app.json").write_text("{}", "utf-8")
    (root / "Procedural.md").write_bytes(b"\xef\xbb\xbfmy own\r\n")
    (root / "note.md").write_text("a", "utf-8")
    before = tree(root)
    report = init(root, tmp_path / "state")
    assert report.created == ["Memory.md", ".tars/vault-id"]
    after = tree(root)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {"Memory.md", ".tars/vault-id"}


def test_a_folder_of_notes_gets_no_obsidian_settings(tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "readme.md").write_text("a", "utf-8")
    assert init(root, tmp_path / "state").created == ["Memory.md", "Procedural.md", ".tars/vault-id"]


def test_a_dry_run_says_the_same_and_makes_nothing(tmp_path: Path) -> None:
    root = template.make_root(tmp_path / "vault")
    assert init(root, tmp_path / "state", dry_run=True).created == [*template.FRESH, ".tars/vault-id"]
    assert tree(root) == {}


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(VaultError, match="not a folder"):
        template.make_root(tmp_path / "file")
    with pytest.raises((VaultError, UnwritableError)):
        template.make_root(tmp_path / "file" / "below")


def test_a_link_in_place_of_a_tier_note_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    (root / "Memory.md").symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(UnwritableError):
        init(root, tmp_path / "state")
    assert not (tmp_path / "elsewhere.md").exists()


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("# {{title}}", "# name"),
        ("{{date}} {{time}}", "2026-11-21 14:05"),
        ("{{date:dddd, MMMM Do YYYY}} {{time:h:mm a}}", "Saturday, November 21st 2026 2:05 pm"),
        ("{{ Date : YYYY }}{{DATE:YY}}", "202626"),
        (
            "{{date:LT}} {{other}} {{title:x}} <% tp.date.now() %>",
            "{{date:LT}} {{other}} {{title:x}} <% tp.date.now() %>",
        ),
        ("a\r\nb\udcff {{date}}", "a\r\nb\udcff 2026-11-21"),
    ],
)
def test_templates_are_filled_as_obsidian_does(text: str, filled: str) -> None:
    data = template.fill(text.encode("utf-8", "surrogateescape"), "name", NOW, Layout())
    assert data.decode("utf-8", "surrogateescape") == filled


@pytest.mark.parametrize(
    ("headings", "filled"),
    [
        (["# zaterdag 24 oktober 2026", "# vrijdag 23 oktober 2026"], "# zondag 25 oktober 2026"),
        (["# Samstag 24 Oktober 2026", "# my own heading"], "# Sonntag 25 Oktober 2026"),
        (["# my own heading", "# Nothing"], "# Sunday 25 October 2026"),
        ([], "# Sunday 25 October 2026"),
    ],
)
def test_a_new_day_is_named_in_the_language_of_the_others(tmp_path: Path, headings: list[str], filled: str) -> None:
    (tmp_path / "day.md").write_text("# {{date:dddd D MMMM YYYY}}\n{{time}}\n\n## Vandaag\n", "utf-8")
    for day, heading in zip(("24-10-2026", "23-10-2026"), headings, strict=False):
        (tmp_path / f"{day}.md").write_text(f"{heading}\r\n9:00\r\n", "utf-8")
    vault = Vault(tmp_path, LayoutOptions(daily_format="DD-MM-YYYY", daily_template="day"))
    made = template.daily_note(vault, "25-10-2026.md", NOW.replace(month=10, day=25, hour=8, minute=30), [])
    assert made.decode() == f"{filled}\n08:30\n\n## Vandaag\n"


def test_other_notes_beside_the_days_say_nothing_of_their_language(tmp_path: Path) -> None:
    (tmp_path / "day.md").write_text("# {{date:dddd D MMMM}}\n", "utf-8")
    (tmp_path / "zaterdag 24 oktober 2026.md").write_text("# zaterdag 24 oktober\n", "utf-8")
    for number in range(30):
        (tmp_path / f"zzz {number}.md").write_text("# Saturday 24 October\n", "utf-8")
    vault = Vault(tmp_path, LayoutOptions(daily_format="dddd D MMMM YYYY", daily_template="day"))
    path = vault.daily_path(NOW.date().replace(month=10, day=25))
    assert path == "zondag 25 oktober 2026.md"
    assert template.daily_note(vault, path, NOW.replace(month=10, day=25), []) == b"# zondag 25 oktober\n"


def test_a_day_without_a_name_to_fill_reads_no_other_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "day.md").write_text("# {{date}} {{time}}\n", "utf-8")
    monkeypatch.setattr(Layout, "some_days", lambda *_: pytest.fail("it looked for other days"))
    for named in (None, "day"):
        vault = Vault(tmp_path, LayoutOptions(daily_template=named))
        assert template.daily_note(vault, "2026-10-25.md", NOW, []) in (b"", b"# 2026-11-21 14:05\n")


def test_templates_follow_the_formats_of_the_templates_plugin(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian/templates.json").write_text('{"dateFormat": "DD.MM.", "timeFormat": "HHmm"}', "utf-8")
    assert template.fill(b"{{date}} {{time}}", "x", NOW, Layout.of(tmp_path)) == b"21.11. 1405"


def test_a_vault_in_a_vault_is_told_once(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    (root / "House").mkdir(parents=True)
    assert init(root, tmp_path / "state").notices == []
    (notice,) = init(root / "House", tmp_path / "state").notices
    assert notice.startswith(f"it is inside the vault {root}, ")
    assert init(root / "House", tmp_path / "state").notices == []


def diary(root: Path, name: str, text: str = "a walk\n", count: int = 2, every: int = 1) -> None:
    """Write days up to yesterday under a name in which strftime fills the day."""
    for number in range(count):
        path = root / (NOW - timedelta(days=1 + number * every)).strftime(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "after"),
    [
        ("Dziennik/%Y-%m-%d.md", "a walk\n", "## Log\n- HH:05 tea\n"),
        ("journals/%Y_%m_%d.md", "- a walk\n\t- by the sea\n\t  id:: 1\n-\n", "- HH:05 tea\n"),
        ("Daily/%Y/%m/%Y-%m-%d.md", "- a walk\n---\n", "## Log\n- HH:05 tea\n"),
    ],
)
def test_today_goes_where_the_notes_of_days_are(tmp_path: Path, name: str, text: str, after: str) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    diary(root, name, text, 30, every=3)
    before = tree(root)
    report = Memory.init(root, env=env, now=NOW)
    assert report.notices[0].startswith("30 notes in ") and ".tars/config.toml says daily_f" in report.notices[0]
    assert report.daily == NOW.strftime(name) and ".tars/config.toml" in report.created
    assert before.items() <= tree(root).items()
    with Memory(root, env=env, now=NOW) as memory:
        assert memory.log("tea").path == NOW.strftime(name)
    assert re.sub(r"\d\d:", "HH:", (root / NOW.strftime(name)).read_text()) == after
    assert Memory.init(root, env=env, now=NOW).notices == [], "it is said once"


@pytest.mark.parametrize(
    ("heading", "own", "told", "folder"),
    [
        ("Logboek", "", True, "Dagboek"),
        ("Logboek", "", True, "."),
        ("log", "", False, "Dagboek"),
        ("Logboek", '[layout]\nlog_heading = "Logboek"\n', False, "Dagboek"),
    ],
)
def test_who_has_days_with_another_heading_learns_how_to_name_it(
    tmp_path: Path, heading: str, own: str, told: bool, folder: str
) -> None:
    root = tmp_path / "vault"
    (root / ".tars").mkdir(parents=True)
    (root / ".tars/config.toml").write_text(own)
    (root / ".obsidian").mkdir()
    if folder != ".":
        (root / ".obsidian/daily-notes.json").write_text(f'{{"folder": "{folder}"}}')
    (root / folder).mkdir(exist_ok=True)
    for day in (19, 20):
        (root / f"{folder}/2026-11-{day}.md").write_text(f"# Dag {day}\n\n## {heading}\n- gewandeld\n")
    notices = Memory.init(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, now=NOW).notices
    begins = "your daily notes have Logboek, but not Log, under which log writes: log_heading under [layout]"
    assert [each.startswith(begins) for each in notices if "log_heading" in each] == [True][: int(told)]


@pytest.mark.parametrize("agrees", [True, False])
def test_who_is_asked_about_the_heading_of_his_days_may_have_it_set(tmp_path: Path, agrees: bool) -> None:
    root, asked = tmp_path / "vault", list[str]()
    root.mkdir()
    for day in (19, 20):
        (root / f"2026-11-{day}.md").write_text("## Logboek\n- gewandeld\n")
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    report = Memory.init(root, lambda text: asked.append(text) or agrees, env=env, now=NOW)  # type: ignore[func-returns-value]
    assert [text.partition(". ")[2] for text in asked] == ["Should log write under Logboek?"]
    with Memory(root, env=env, now=NOW) as memory:
        memory.log("tea")
    assert ("## Logboek" in (root / "2026-11-21.md").read_text()) is any(
        "undo reverses" in text for text in report.notices
    )
    assert ("## Log\n" in (root / "2026-11-21.md").read_text()) is not agrees


@pytest.mark.parametrize(("count", "every"), [(29, 1), (52, 7)])
def test_a_script_takes_no_meetings_for_a_diary(tmp_path: Path, count: int, every: int) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    diary(root, "Meetings/%Y-%m-%d.md", count=count, every=every)
    report = Memory.init(root, env=env, now=NOW)
    assert f"{count} notes in Meetings are named by day; to put today's note there, set" in report.notices[0]
    assert not report.daily and not (root / ".tars/config.toml").exists()


@pytest.mark.parametrize(
    ("config", "after"),
    [
        ('layout.notes_section = "N"\n', 'layout.daily_folder = "Journal"\nlayout.notes_section = "N"\n'),
        ('layout = { notes_section = "N" }\n', 'layout = { notes_section = "N" }\n'),
    ],
)
def test_a_configuration_that_is_written_in_another_way_stays_valid(tmp_path: Path, config: str, after: str) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    diary(root, "Journal/%Y-%m-%d.md")
    (root / ".tars").mkdir()
    (root / ".tars/config.toml").write_text(config)
    report = Memory.init(root, lambda _: True, env=env, now=NOW)
    assert (root / ".tars/config.toml").read_text() == after
    assert ("to put today's note there, set" in report.notices[0]) is (config == after)
    with Memory(root, env=env, now=NOW) as memory:
        assert memory.log("tea").path == ("2026-11-21.md" if config == after else "Journal/2026-11-21.md")


def test_undo_takes_the_place_of_days_back_alone(tmp_path: Path) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    diary(root, "Journal/%Y-%m-%d.md", count=30)
    Memory.init(root, env=env, now=NOW)
    with Memory(root, env=env, now=NOW) as memory:
        memory.undo()
    assert not (root / ".tars/config.toml").exists() and (root / "Memory.md").exists()
    report = Memory.init(root, env=env, now=NOW)
    assert "to put today's note there, set" in report.notices[0] and not (root / ".tars/config.toml").exists()
    Memory.init(root, lambda _: True, env=env, now=NOW)
    assert (root / ".tars/config.toml").exists(), "who is asked decides anew"


def test_a_no_leaves_the_place_of_days_and_the_next_init_asks_again(tmp_path: Path) -> None:
    root, asked = tmp_path / "vault", list[str]()

    def refuse(question: str) -> bool:
        asked.append(question)
        return False

    diary(root, "Journal/%Y-%m-%d.md")
    for _ in range(2):
        report = Memory.init(root, refuse, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, now=NOW)
        assert report.notices[0].endswith(
            'to put today\'s note there, set daily_folder = "Journal" under [layout] in a new file .tars/config.toml'
        )
    assert asked == ["2 notes in Journal are named by day. Keep today's note there, too?"] * 2
    assert not (root / ".tars/config.toml").exists()


def test_days_in_another_folder_count_until_as_many_are_in_their_place(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    diary(root, "Journal/%Y-%m-%d.md")
    for day in ("15", "16"):  # one log in the wrong place is no reason to say no more
        assert init(root, tmp_path / "state", dry_run=True).notices
        (root / f"2026-11-{day}.md").write_text("- b\n")
    assert init(root, tmp_path / "state").notices == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".obsidian/daily-notes.json", '{"folder": "", "format": "YYYY-MM-DD"}'),
        (".tars/config.toml", '[layout]\ndaily_folder = ""\n'),
    ],
)
def test_a_place_of_days_that_the_person_set_stays(tmp_path: Path, path: str, text: str) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    diary(root, "Journal/%Y-%m-%d.md")
    (root / path).parent.mkdir()
    (root / path).write_text(text)
    report = Memory.init(root, lambda _: pytest.fail("it asked"), env=env, now=NOW)
    assert "to put today's note there, set" in report.notices[0]
    assert (root / path).read_text() == text


@pytest.mark.parametrize(
    ("paths", "settings"),
    [
        (("journals/2026_11_19.md", "journals/2026_11_20.md"), ("journals", "YYYY_MM_DD")),
        (("2026/11/2026-11-19.md", "2026/11/2026-11-20.md"), ("", "YYYY/MM/YYYY-MM-DD")),
        (("D/2026/11-November/2026-11-19-Thursday.md", "D/2026/11-November/2026-11-20-Friday.md"),
         ("D", "YYYY/MM-MMMM/YYYY-MM-DD-dddd")),
        (("19.11.2026.md", "20.11.2026.md"), ("", "DD.MM.YYYY")),
        (("P/31.12.2025.md", "P/1.1.2026.md"), ("P", "D.M.YYYY")),
        (("1-31-2026.md", "2-1-2026.md"), ("", "M-D-YYYY")),
        (("a/11-09-2026.md", "a/11-13-2026.md", "a/11-10-2026.md"), ("a", "MM-DD-YYYY")),
        (("daily.journal.2026.11.19.md", "daily.journal.2026.11.20.md"), ("", "[daily.journal.]YYYY.MM.DD")),
        (("November 19th, 2026.md", "November 20th, 2026.md", "Boat 2026.md"), ("", "MMMM Do, YYYY")),
        (("Boat 1.md", "2026.md", "2026-13-40.md"), ("", "")),
    ],
)  # fmt: skip
def test_the_format_of_days_is_read_from_the_names_of_notes(paths: tuple[str, ...], settings: tuple[str, str]) -> None:
    assert moment.likely(paths)[:2] == settings


def test_a_vault_without_a_numbered_name_waits_for_no_pattern_of_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moment, "pattern", lambda form: pytest.fail(form))
    assert moment.likely(["2026/Memory.md", "Boat.md"]) == ("", "", 0)


def test_today_is_named_where_the_vault_has_its_own_place_for_it(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / "Journal").mkdir()
    (tmp_path / "Journal" / "vendredi 20 novembre 2026.md").write_text("- une vente\n")
    assert init(tmp_path, tmp_path.parent / "one").daily == "", "one note makes no diary"
    (tmp_path / ".obsidian/daily-notes.json").write_text('{"folder": "Journal", "format": "dddd D MMMM YYYY"}')
    assert init(tmp_path, tmp_path.parent / "two").daily == "Journal/samedi 21 novembre 2026.md"
