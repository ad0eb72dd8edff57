"""What stood in a tier note only because a commit was cut off there is no reason to settle its candidate."""

from __future__ import annotations

from pathlib import Path

from curation.reviewing import Vault


def cut_off(journal: Path, size: int, last: bytes) -> None:
    """Leave the journal as a kill does after a write, the last of those since it had this size."""
    records = journal.read_bytes()[size:].split(b"\n")
    first = next(number for number, record in enumerate(records) if last in record)
    end = next(number for number, record in enumerate(records) if number > first and record.startswith(b'{"t":"end"'))
    journal.write_bytes(journal.read_bytes()[:size] + b"\n".join(records[: end + 1]) + b"\n")


def test_a_candidate_of_a_commit_that_is_taken_back_waits_as_before(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    memory, daily = vault["Memory.md"], vault["2026-11-20.md"]
    words = "Anna moves to Cork in March 2027"
    with vault.memory() as before:
        before.log("the journal begins")
        journal = next((before.workspace.store().journal.folder).glob("*.jsonl"))
    size = len(journal.read_bytes())
    vault.review().decide(accept=[vault.ids()[words]])
    assert words in vault["Memory.md"]

    # As if it had been killed when the tier note was written, and the candidate not yet marked.
    cut_off(journal, size, b'"Memory.md"')
    vault["2026-11-20.md"] = daily

    vault.review().decide(reject=[vault.ids()["prefers no tea"]])
    assert vault["Memory.md"] == memory
    assert f"[extracted] {words}" in vault["2026-11-20.md"]
    assert words in vault.ids()


def test_ticks_of_a_commit_that_is_taken_back_count_as_before(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    words = "Anna moves to Cork in March 2027"
    with vault.memory() as before:
        before.log("the journal begins")
        journal = next((before.workspace.store().journal.folder).glob("*.jsonl"))
    vault.review().write_note(limit=0)
    vault["Review.md"] = vault["Review.md"].replace(f"- [ ] {words}", "- [x] Anna moves to Galway")
    ticked, size = vault["Review.md"], len(journal.read_bytes())
    vault.review().from_note()
    assert "Anna moves to Galway" in vault["Memory.md"] and vault["Review.md"] != ticked

    # As if it had been killed when the decision was written down, and the tick not yet taken away.
    cut_off(journal, size, b"/decided.jsonl")
    vault["Review.md"] = ticked

    with vault.memory() as memory:
        memory.log("something else")
    assert vault["Review.md"] == ticked and "Galway" not in vault["Memory.md"]
    with vault.memory() as memory:
        memory.log("something else again")
    assert "Anna moves to Galway" in vault["Memory.md"]
