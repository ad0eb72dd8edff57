"""The inbox and what was decided, as a sync may leave them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from storekit import Place

from tars_memory.vault import inbox
from tars_memory.vault.layout import DECIDED
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import Vault

SAID = {
    "op": "append",
    "target": "Memory.md",
    "section": "Notes",
    "text": 'sagt "Grüße" \\ döner',
    "quote": "",
    "source": "agent",
    "date": "2026-11-20",
    "why": "said so",
    "conflicts": [{"path": "Memory.md", "line": 3, "ref": "abcdefgh", "text": "other", "date": ""}],
    "marks": [["2026-11-20.md", "- 09:00 x ^d-x", "d-x"]],
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def keep(place: Place, **values: Any) -> str:
    with place.store().transaction("test") as transaction:
        return inbox.keep(transaction, {"id": "", **SAID, **values})


def vault(place: Place) -> Vault:
    return Vault.open(place.root)


def test_what_is_kept_comes_back_as_it_was(place: Place) -> None:
    name = keep(place)
    (found,) = inbox.pending(vault(place))
    assert found.pop("files") == [f".tars/inbox/{name}.json"]
    assert found == {**SAID, "id": name, "replaces": "", "occurrence": None}
    assert "Grüße" in (place.root / inbox.INBOX / f"{name}.json").read_text("utf-8")


def test_the_name_is_the_change_itself(place: Place) -> None:
    name = keep(place)
    assert keep(place, why="another reason", date="2026-11-21") == name
    assert keep(place, text="other") != name
    raw = "- old line"
    old = keep(place, op="replace", quote=raw)
    assert old == inbox.proposal_id("replace", "Memory.md", "Notes", SAID["text"], raw)
    assert keep(place, op="replace", quote="said", replaces=raw) == old
    assert len(inbox.pending(vault(place))) == 3


def test_what_a_sync_leaves(place: Place) -> None:
    name = keep(place)
    folder = place.root / inbox.INBOX
    whole = (folder / f"{name}.json").read_bytes()
    (folder / f"{name}.sync-conflict-20261121-101500-ABC.json").write_bytes(whole)
    changed = json.loads(whole) | {"text": "tampered"}
    (folder / "0000.json").write_text(json.dumps(changed), "utf-8")
    (folder / "half.json").write_bytes(whole[: len(whole) // 2])
    (folder / "list.json").write_text("[1]", "utf-8")
    (folder / "deep.json").write_text("[" * 100_000, "utf-8")
    (folder / "nul.json").write_bytes(b"\0" * 100)
    (folder / "types.json").write_text(json.dumps(changed | {"text": 5}), "utf-8")
    (folder / "marks.json").write_text(json.dumps(changed | {"marks": [5]}), "utf-8")
    (folder / ".tmp.json").write_text("{}", "utf-8")
    (folder / "folder.json").mkdir()
    notices: list[str] = []
    found = inbox.pending(vault(place), notices)
    assert {each["text"] for each in found} == {SAID["text"], "tampered"}
    assert len(notices) == 7
    assert all("skipped" in notice for notice in notices)
    mine = next(each for each in found if each["id"] == name)
    assert len(mine["files"]) == 2
    with place.store().transaction("test") as transaction:
        inbox.drop(transaction, mine)
    assert [each["text"] for each in inbox.pending(vault(place))] == ["tampered"]


def test_a_file_that_became_another_proposal_is_not_dropped(place: Place) -> None:
    name = keep(place)
    (found,) = inbox.pending(vault(place))
    path = place.root / inbox.INBOX / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"text": "other"}), "utf-8")
    with place.store().transaction("test") as transaction:
        inbox.drop(transaction, found)
    assert path.exists()


def test_decided_things_of_all_copies(place: Place) -> None:
    assert inbox.decided(vault(place)) == {}
    for name, decision, day in (("a", "rejected", 1), ("b", "ignored", 1), ("a", "rejected", 2), ("c", "accepted", 2)):
        with place.store().transaction("test") as transaction:
            inbox.decide(transaction, [(name, "ünsaid")], decision, date(2026, 11, day))
    file = place.root / DECIDED
    assert file.read_text("utf-8").count("\n") == 3
    assert json.loads(file.read_text("utf-8").split("\n")[0]) == {
        "id": "a",
        "decision": "rejected",
        "date": "2026-11-01",
        "what": "ünsaid",
    }
    copy = file.with_name("decided.sync-conflict-20261121-101500-ABC.jsonl")
    copy.write_text(
        '{"id":"d","decision":"ignored"}\n{"id":"c","decision":"rejected","date":"2026-11-09"}\n{"id":"e","dec'
    )
    with file.open("ab") as half:
        half.write(b'\xff{"id"')
    assert inbox.decided(vault(place)) == {
        "a": "rejected",
        "b": "ignored",
        "c": "rejected",
        "d": "ignored",
    }
    with place.store().transaction("test") as transaction:
        inbox.decide(transaction, [("f", "after a half line")], "ignored", date(2026, 11, 3))
    assert inbox.decided(vault(place))["f"] == "ignored"


def test_what_another_machine_decided_is_no_lost_line(place: Place) -> None:
    name = keep(place)
    place.write("Memory.md", lambda data: [Splice(0, 0, b"- lost\n")])
    with place.store().transaction("test") as transaction:
        inbox.decide(transaction, [("a", "x")], "ignored", date(2026, 11, 1))
    for path in (f"{inbox.INBOX}/{name}.json", DECIDED, "Memory.md"):
        (place.root / path).unlink()
    assert [line.file for line in place.store().lost_lines()] == ["Memory.md"]
