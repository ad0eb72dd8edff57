"""spooled: what is written, what is refused, what is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tars_memory.capture.amend import edit
from tars_memory.capture.remember import feedback, log, place_spool, remember
from tars_memory.errors import BusyError, UnwritableError
from tars_memory.jobs.forgetting import forget
from tars_memory.vault.writing.journal import Journal
from tars_memory.vault.writing.system import VaultLock


def busy(bench):
    return VaultLock(bench.state / "lock", timeout=1, command="another").held()


def test_what_is_typed_while_another_holds_the_lock_is_placed_later(bench):
    bench.put("Memory.md", "## Notes\n- old\n- gone\n")
    with busy(bench):
        for call in (
            lambda: log(bench.ctx("cron"), "yesterday"),
            lambda: remember(bench.ctx("agent"), "fact", section="S", tags=["t"]),
            lambda: remember(bench.ctx("agent"), "rule", tier="procedural"),
            lambda: feedback(bench.ctx(), True, "fine", question="q"),
            lambda: edit(bench.ctx(), "old", "new"),
            lambda: forget(bench.ctx(), "gone"),
        ):
            with pytest.raises(BusyError) as caught:
                call()
            assert caught.value.spooled
            assert caught.value.spooled == bench.spool.pending()[-1].id
    assert bench.get("Memory.md") == "## Notes\n- old\n- gone\n"
    bench.now += timedelta(days=1)
    ctx = bench.ctx("script", interactive=False)
    receipt = log(ctx, "today")
    assert bench.spool.pending() == []
    assert bench.get("2026-11-21.md") == "## Log\n- 14:30 yesterday\n"
    assert bench.get("2026-11-22.md") == "## Log\n- 14:30 today\n"
    assert bench.get("Memory.md") == "## Notes\n- new\n\n## S\n- fact #t\n"
    assert "- 2026-11-21 14:30 fine\n" in bench.get("rewards.md")
    assert "Procedural.md" not in bench.files()
    assert sum("placed from the spool" in notice for notice in receipt.notices) == 6
    actors = [
        record["actor"] for record in ctx.store.journal.records() if record.get("t") == "begin" or "actor" in record
    ]
    assert {"cron", "agent", "person", "script"} <= set(actors)
    assert ctx.store.actor == "script"


def test_while_it_still_cannot_be_written_it_stays_and_the_next_joins_it(bench):
    with busy(bench):
        for text in ("one", "two"):
            with pytest.raises(BusyError):
                log(bench.ctx(), text)
        assert [item.arguments["text"] for item in bench.spool.pending()] == ["one", "two"]
    assert place_spool(bench.ctx()) == 2
    assert bench.get("2026-11-21.md") == "## Log\n- 14:30 one\n- 14:30 two\n"
    assert place_spool(bench.ctx()) == 0


def test_an_edit_whose_entry_is_gone_is_given_up_aloud(bench):
    bench.put("Memory.md", "- old\n")
    with busy(bench), pytest.raises(BusyError):
        edit(bench.ctx(), "old", "typed words")
    bench.put("Memory.md", "- other\n")
    ctx = bench.ctx()
    assert place_spool(ctx) == 0
    assert bench.spool.pending() == []
    assert any("typed words" in notice for notice in ctx.notices)
    assert bench.get("Memory.md") == "- other\n"


def test_an_item_that_is_not_understood_stays_and_blocks_nothing(bench):
    bench.spool.put("dance", {"now": bench.now.isoformat(), "actor": "person", "interactive": True})
    bench.spool.put("log", {"text": "no instant"})
    ctx = bench.ctx()
    assert log(ctx, "x").written
    assert len(bench.spool.pending()) == 2
    assert sum("kept in the spool" in notice for notice in ctx.notices) == 2


@pytest.mark.parametrize(
    ("command", "lacks"),
    [("remember", {"text": "x", "section": None, "tags": []}), ("facts end", {"target": "Anna likes"})],
)
def test_an_item_without_its_tier_or_its_day_is_not_placed_by_guess(bench, command, lacks):
    bench.put("Facts.md", "## Anna\n- likes:: tea\n")
    said = {"now": bench.now.isoformat(), "actor": "person", "interactive": True, **lacks}
    bench.spool.put(command, said)
    ctx = bench.ctx()
    assert place_spool(ctx) == 0
    assert len(bench.spool.pending()) == 1
    assert "kept in the spool" in ctx.notices[-1]
    assert bench.get("Facts.md") == "## Anna\n- likes:: tea\n"
    assert bench.files() == {"Facts.md"}


def test_a_vault_that_cannot_be_written_keeps_the_text(bench, monkeypatch):
    bench.put("Memory.md", "## Notes\n- a\n")
    ctx = bench.ctx()

    def refuse(*_args, **_options):
        raise UnwritableError("the disk is full")

    monkeypatch.setattr("tars_memory.vault.writing.store.Transaction.write", refuse)
    with pytest.raises(UnwritableError, match="disk is full") as caught:
        remember(ctx, "kept")
    assert caught.value.spooled
    monkeypatch.undo()
    assert place_spool(bench.ctx()) == 1
    assert bench.get("Memory.md") == "## Notes\n- a\n- kept\n"


def test_a_dry_run_neither_spools_nor_places(bench):
    with busy(bench), pytest.raises(BusyError):
        log(bench.ctx(), "one")
    log(bench.ctx(dry_run=True), "two")
    assert [item.arguments["text"] for item in bench.spool.pending()] == ["one"]
    assert bench.files() == set()


def test_what_cannot_be_placed_holds_up_nothing_else(bench):
    (bench.root / "Memory.md").mkdir()
    for text in ("one", "two"):
        with pytest.raises(UnwritableError):
            remember(bench.ctx(), text)
    receipt = log(bench.ctx(), "day")
    assert receipt.written
    assert bench.get("2026-11-21.md") == "## Log\n- 14:30 day\n"
    assert [notice for notice in receipt.notices if notice.startswith("2 in the spool can't be placed yet")]
    (bench.root / "Memory.md").rmdir()
    log(bench.ctx(), "evening")
    assert [line for line in bench.get("Memory.md").splitlines() if line.startswith("- ")] == ["- one", "- two"]
    assert bench.spool.pending() == []


class Killed(BaseException):
    """Stands for the end of the process: nothing handles it."""


def test_what_was_placed_by_a_process_that_was_killed_is_not_placed_again(bench, monkeypatch):
    with busy(bench), pytest.raises(BusyError):
        log(bench.ctx(), "once")
    append = Journal.append

    def stop_at_the_end(journal, records, **options):
        if any(record["t"] == "end" for record in records):
            raise Killed
        append(journal, records, **options)

    monkeypatch.setattr(Journal, "append", stop_at_the_end)
    with pytest.raises(Killed):
        log(bench.ctx(), "next")
    monkeypatch.undo()
    assert "- 14:30 once\n" in bench.get("2026-11-21.md")
    assert bench.spool.pending()
    log(bench.ctx(), "last")
    assert bench.get("2026-11-21.md").count("once") == 1
    assert bench.spool.pending() == []
