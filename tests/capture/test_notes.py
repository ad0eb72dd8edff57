"""Whole notes: where they come, what they begin with, what is refused; none is ever overwritten."""

from __future__ import annotations

import json
import unicodedata
from datetime import date, timedelta

import pytest

from tars_memory.capture.notes import daily, new
from tars_memory.capture.remember import log
from tars_memory.errors import BusyError, ConflictError, UsageError
from tars_memory.settings import LayoutOptions
from tars_memory.vault.vault import MAX_NAME_BYTES
from tars_memory.vault.writing.system import VaultLock


def place(bench, **app):
    bench.put(".obsidian/app.json", json.dumps(app))


def test_a_missing_day_is_made_once_and_an_undo_takes_it_back(bench):
    bench.put(".obsidian/daily-notes.json", '{"folder": "J", "template": "T"}')
    bench.put("T.md", "# {{date:dddd}} {{title}} {{time}}\r\n")
    made = daily(bench.ctx(), date(2026, 11, 19))
    assert (made.path, made.written) == ("J/2026-11-19.md", True)
    assert bench.get("J/2026-11-19.md") == "# Thursday 2026-11-19 14:30\r\n"
    assert not daily(bench.ctx(), date(2026, 11, 19)).written
    bench.ctx().store.undo()
    assert "J/2026-11-19.md" not in bench.files()


def test_a_day_without_a_template_is_an_empty_note_that_log_goes_on_with(bench):
    assert daily(bench.ctx(), date(2026, 11, 21)).written
    assert bench.get("2026-11-21.md") == ""
    log(bench.ctx(), "tea")
    assert bench.get("2026-11-21.md") == "## Log\n- 14:30 tea\n"


@pytest.mark.parametrize(
    ("said", "beside", "path"),
    [
        ({}, "here", "Rye.md"),
        ({"newFileLocation": "root", "newFileFolderPath": "n"}, "here", "Rye.md"),
        ({"newFileLocation": "folder", "newFileFolderPath": "/n/ew/"}, "here", "n/ew/Rye.md"),
        ({"newFileLocation": "folder"}, "here", "Rye.md"),
        ({"newFileLocation": "current"}, "here", "here/Rye.md"),
        ({"newFileLocation": "current"}, "", "Rye.md"),
        ({"newFileLocation": ["folder"], "newFileFolderPath": 3}, "here", "Rye.md"),
    ],
)
def test_a_note_comes_where_obsidian_puts_new_ones(bench, said, beside, path):
    place(bench, **said)
    assert new(bench.ctx(), "Rye", beside=beside).path == path
    assert bench.get(path) == ""
    assert new(bench.ctx(), "bread/Rye", beside=beside).path == "bread/Rye.md", "folders that are named go first"


def test_settings_that_cannot_be_used_are_named_and_those_that_cannot_be_read_are_none(bench):
    place(bench, newFileLocation="folder", newFileFolderPath="../out")
    with pytest.raises(UsageError, match=r"app\.json"):
        new(bench.ctx(), "Rye")
    place(bench, newFileLocation="folder", newFileFolderPath=".obsidian")
    with pytest.raises(UsageError, match=r"app\.json"):
        new(bench.ctx(), "Rye")
    bench.put(".obsidian/app.json", "{broken")
    assert new(bench.ctx(), "Rye").path == "Rye.md"


def test_what_stands_in_it_is_a_template_and_the_text_as_it_is(bench):
    bench.options = LayoutOptions(note_template="T/note")
    bench.put("T/note.md", "---\nmade: {{date}}\n---\n# {{title}}")
    text = "- [ ] x ^d-forged\n%%\n\n# More `code`\r\nlast"
    made = new(bench.ctx(), "Rye", text)
    assert bench.get(made.path) == f"---\nmade: 2026-11-21\n---\n# Rye\n{text}\n"
    bench.options = LayoutOptions(note_template="T/gone")
    made = new(bench.ctx(), "Oat", "x\n")
    assert bench.get("Oat.md") == "x\n" and "T/gone.md was not used" in made.notices[0]


@pytest.mark.parametrize("there", ["Rye.md", "rye.MD", "RYE.md"])
def test_nothing_is_overwritten(bench, there):
    bench.put(there, "mine")
    with pytest.raises(UsageError, match="already exists"):
        new(bench.ctx(), "Rye", "other")
    assert bench.files() == {there} and bench.get(there) == "mine"


def test_a_name_that_a_mac_took_apart_is_the_same_name(bench):
    bench.put(unicodedata.normalize("NFD", "Büro.md"), "mine")
    with pytest.raises(UsageError, match="already exists"):
        new(bench.ctx(), unicodedata.normalize("NFC", "Büro"))


@pytest.mark.parametrize(
    ("title", "path"),
    [
        ("Rye.md", "Rye.md"),
        ("What? A:B #c [[d|e]]^f", "What A B c d e f.md"),
        ("日本語のノート", "日本語のノート.md"),
        ("a\x1b[31m\u202eb\nc", "a 31mb c.md"),
        (".hidden", "hidden.md"),
        ("a / b", "a/b.md"),
        ("x" * 300, "x" * MAX_NAME_BYTES + ".md"),
        ("ü" * 300, "ü" * (MAX_NAME_BYTES // 2) + ".md"),
    ],
)
def test_a_title_becomes_a_name_that_every_system_and_link_can_hold(bench, title, path):
    made = new(bench.ctx(), title)
    assert made.path == path and made.written
    assert bool(made.notices) == (f"{title.removesuffix('.md')}.md" != path)


@pytest.mark.parametrize("title", ["", " ", "/", "a//b", "../x", "a/../b", ".", "?", "\u200b", "/etc/passwd"])
def test_what_is_no_name_is_refused(bench, title):
    with pytest.raises(UsageError, match="not a name"):
        new(bench.ctx(), title)
    assert bench.files() == set()


@pytest.mark.parametrize(
    "title",
    [
        "Memory", "Procedural", "Facts", "Review", "corrections", "2026-11-25", "sessions/x", "agents/claude/x",
        "projects/boat/Procedural", "projects/boat/x", "x (Anna's conflicted copy 2026-11-20)",
    ],
)  # fmt: skip
def test_the_memory_s_own_places_and_those_of_others_are_refused(bench, title):
    for actor in ("person", "agent"):
        with pytest.raises(UsageError):
            new(bench.ctx(actor), title, "never ask")
    assert bench.files() == set()


def test_a_credential_from_a_script_is_masked(bench):
    key = "ghp_" + "a1B2" * 9
    made = new(bench.ctx("script", interactive=False), "Keys", f"token {key}\n")
    assert key not in bench.get("Keys.md") and any("masked" in notice for notice in made.notices)


def test_what_can_not_be_written_now_is_made_later(bench):
    with (
        VaultLock(bench.state / "lock", timeout=1, command="another").held(),
        pytest.raises(BusyError) as caught,
    ):
        new(bench.ctx(), "a/Rye", "flour\n")
    assert caught.value.spooled and "a/Rye.md" not in bench.files()
    bench.now += timedelta(days=1)
    log(bench.ctx(), "x")
    assert bench.get("a/Rye.md") == "flour\n"
    assert bench.spool.pending() == []


def test_an_undo_takes_its_text_out_of_a_note_that_has_moved_on(bench):
    new(bench.ctx(), "Tea", "green")
    bench.put("Tea.md", "mine\ngreen\n")
    bench.ctx().store.undo()
    assert bench.get("Tea.md") == "mine\n"
    new(bench.ctx(), "Bread", "rye")
    bench.put("Bread.md", "mine\n")
    with pytest.raises(ConflictError, match="changed"):
        bench.ctx().store.undo()
    assert bench.get("Bread.md") == "mine\n"
