"""daily: what is written, what is refused, what is kept."""

from __future__ import annotations

from datetime import datetime

import pytest

from tars_memory.capture.remember import log, today
from tars_memory.errors import UnwritableError, UsageError
from tars_memory.settings import LayoutOptions


def test_file_name_and_time_come_from_one_instant(bench):
    bench.now = datetime.fromisoformat("2026-12-31T23:59:59.999999+13:00")
    receipt = log(bench.ctx(), "last line")
    assert (receipt.path, receipt.line) == ("2026-12-31.md", 2)
    assert bench.get("2026-12-31.md") == "## Log\n- 23:59 last line\n"


def test_a_new_note_comes_from_the_vaults_own_template(bench):
    bench.put(".obsidian/daily-notes.json", '{"folder": "J", "format": "YYYY/DD-MM-YYYY", "template": "T/day"}')
    bench.put(
        "T/day.md",
        "---\r\ncreated: {{date}} {{time}}\r\n---\r\n# {{title}}\r\n\r\n## Log\r\n\r\n## Tasks\r\n- [ ] x\r\n",
    )
    log(bench.ctx(), "met Anna")
    head = "---\r\ncreated: 2026-11-21 14:30\r\n---\r\n# 21-11-2026\r\n\r\n## Log\r\n"
    assert bench.get("J/2026/21-11-2026.md") == head + "- 14:30 met Anna\r\n\r\n## Tasks\r\n- [ ] x\r\n"


def test_a_note_that_obsidian_made_keeps_every_other_byte(bench):
    before = "# Saturday\n\n## Tasks\n- [ ] call\n\n## Log\n\n- 09:00 up\n  - early\n\n## Thanks\n\n- \n"
    bench.put("2026-11-21.md", before)
    log(bench.ctx(), "met Anna")
    log(bench.ctx(), "met Anna")
    added = "- 14:30 met Anna\n- 14:30 met Anna\n"
    assert bench.get("2026-11-21.md") == before.replace("  - early\n", "  - early\n" + added)


def test_each_line_has_its_own_name(bench):
    first, second = log(bench.ctx(), "same"), log(bench.ctx(), "same")
    assert first.ref != second.ref
    assert (first.line, second.line) == (2, 3)


def test_a_template_that_is_missing_is_said(bench):
    bench.put(".obsidian/daily-notes.json", '{"template": "nowhere"}')
    receipt = log(bench.ctx(), "x")
    assert receipt.written
    assert any("template" in notice for notice in receipt.notices)


def test_the_heading_is_configurable(bench):
    bench.options = LayoutOptions(log_heading="Journal")
    bench.put("2026-11-21.md", "### Journal\ntext\n## Log\n")
    log(bench.ctx(), "x")
    assert bench.get("2026-11-21.md") == "### Journal\ntext\n- 14:30 x\n## Log\n"


@pytest.mark.parametrize("text", ["# head", "[extracted] x", "15:00 later", "a\n## Log\nb", "^id"])
def test_what_is_logged_is_one_line_of_text(bench, text):
    log(bench.ctx(), text)
    note = today(bench.ctx())
    (entry,) = note.entries
    assert (entry.time, entry.state, entry.block_id, entry.section) == ("14:30", None, None, "Log")


def test_a_format_that_cannot_be_used_loses_nothing(bench):
    bench.put(".obsidian/daily-notes.json", '{"format": "[x]"}')
    with pytest.raises(UnwritableError, match=r"daily-notes\.json") as caught:
        log(bench.ctx(), "typed")
    assert [item.arguments["text"] for item in bench.spool.pending()] == ["typed"]
    assert caught.value.spooled == bench.spool.pending()[0].id
    with pytest.raises(UsageError):
        today(bench.ctx())


def test_today_reads_and_makes_nothing(bench):
    note = today(bench.ctx())
    assert (note.path, note.exists, note.text, note.entries) == ("2026-11-21.md", False, "", [])
    assert bench.files() == set()
    bench.put("2026-11-21.md", b"- 09:00 a\xff\n")
    note = today(bench.ctx())
    assert (note.exists, note.text, len(note.entries)) == (True, "- 09:00 a\ufffd\n", 1)


def test_a_day_has_one_note_even_if_it_is_archived(bench):
    bench.put("archive/2026-11-21.md", "## Log\n- 09:00 early\n")
    assert log(bench.ctx(), "late").path == "archive/2026-11-21.md"
    assert bench.get("archive/2026-11-21.md") == "## Log\n- 09:00 early\n- 14:30 late\n"
    assert [entry.text for entry in today(bench.ctx()).entries] == ["early", "late"]


def test_the_note_in_its_place_comes_before_the_archived_one(bench):
    bench.put("archive/2026-11-21.md", "## Log\n")
    bench.put("2026-11-21.md", "## Log\n")
    assert log(bench.ctx(), "late").path == "2026-11-21.md"
    assert bench.get("archive/2026-11-21.md") == "## Log\n"


def test_a_folder_that_cannot_be_looked_into_is_left_to_the_reader(bench, monkeypatch):
    def refused(path):
        raise PermissionError(path)

    vault = bench.ctx().vault
    monkeypatch.setattr(vault, "look", refused)
    assert vault.daily_path(bench.now.date()) == "2026-11-21.md"
