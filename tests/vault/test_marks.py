"""What becomes of a candidate is said in its line: the tag, perhaps an id, perhaps a bullet below; nothing else."""

from __future__ import annotations

import random

import pytest
from random_documents import document

from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import mark_bullet
from tars_memory.vault.note import Note


def marked(note: str, state: str = "promoted", *, timed: bool = True, at: int = 0, **more: str) -> str:
    data = note.encode()
    entry = entries.read("a.md", Document(data), timed=timed)[at]
    return apply(data, mark_bullet(Note("", data, timed=timed), entry, state, **more)).decode()


def test_the_tag_alone_changes() -> None:
    assert marked("-  9:05  [extracted]  a  ^d-1 \n") == "-  9:05  [promoted]  a  ^d-1 \n"
    assert marked("* [extracted] a ^d-1", "expired", timed=False) == "* [expired] a ^d-1"
    assert marked("- 14:30 [promoted] a\n") == "- 14:30 [promoted] a\n"
    assert marked("- 14:30 [extracted] a [extracted] b\n", "rejected") == "- 14:30 [rejected] a [extracted] b\n"
    assert marked("- 14:30 [extracted] a\r\n  b\r\n", "rejected") == "- 14:30 [rejected] a\r\n  b\r\n"


def test_a_line_without_a_tag_gets_one_after_its_time() -> None:
    assert marked("- 2026-11-19 10:00 use miles\n") == "- 2026-11-19 10:00 [promoted] use miles\n"
    assert marked("- no time\n") == "- [promoted] no time\n"
    assert marked("- 14:30 looks like a time\n", timed=False) == "- [promoted] 14:30 looks like a time\n"


def test_an_id_comes_last_and_only_if_there_is_none() -> None:
    assert marked("- 9:05 a\n", block_id="f-1") == "- 9:05 [promoted] a ^f-1\n"
    assert marked("- 9:05 a ^mine\n", block_id="f-1") == "- 9:05 [promoted] a ^mine\n"


def test_a_bullet_below_is_the_last_child() -> None:
    child = "replaced:: b"
    assert marked("- 9:05 a\n- c\n", children=(child,)) == "- 9:05 [promoted] a\n  - replaced:: b\n- c\n"
    assert marked("- 9:05 a", children=(child,)) == "- 9:05 [promoted] a\n  - replaced:: b"
    assert marked("- 9:05 a\n\t- x\n\t\t- y\n- c\n", children=(child,)) == (
        "- 9:05 [promoted] a\n\t- x\n\t\t- y\n\t- replaced:: b\n- c\n"
    )
    assert marked("- o\n    - 9:05 a\n\n- c\n", children=(child,), at=1) == (
        "- o\n    - 9:05 [promoted] a\n      - replaced:: b\n\n- c\n"
    )


@pytest.mark.parametrize("timed", [True, False])
def test_documents_at_random(timed: bool) -> None:
    chance = random.Random(20261121)
    nested = 0
    for _ in range(400):
        data = document(chance)
        found = entries.read("a.md", Document(data), timed=timed)
        ids = [each.block_id for each in found]
        unique = [each for each in found if not each.block_id or ids.count(each.block_id) == 1]
        if not unique:
            continue
        entry = chance.choice(unique)
        state = chance.choice(entries.STATES)
        splices = mark_bullet(Note("", data, timed=timed), entry, state, block_id="f-9", children=("replaced:: old",))
        new = apply(data, splices)
        now = entries.read("a.md", Document(new), timed=timed)
        said = [e for e in now if e.text != "replaced:: old"]
        assert [e.text for e in said] == [e.text for e in found], (data, new)
        mine = said[found.index(entry)]
        assert mine.state == state
        assert mine.block_id == (entry.block_id or "f-9")
        for was, one in zip(found, said, strict=True):
            if was is not entry:
                for name in ("state", "block_id", "depth", "section"):
                    assert getattr(was, name) == getattr(one, name)
        nested += len(now) - len(said)
        for splice in splices:
            assert splice.end - splice.start <= 9
    assert nested > 100
