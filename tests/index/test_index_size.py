"""What the index of notes without blanks weighs; measured at full size by ``python -m bench growth``."""

from __future__ import annotations

import pytest

from bench.growth import PARTS
from bench.vault import chinese
from tars_memory.index import database


@pytest.mark.prove
@pytest.mark.skipif(database.driver().vec is None, reason="the vectors of this driver stand in the cache alone")
def test_the_index_of_chinese_notes_is_smaller_than_four_times_their_text(make_index) -> None:
    notes = dict(chinese(300))
    index = make_index(notes)
    index.reindex()
    assert index.pending() == 0
    index.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    text = sum(len(note.encode()) for note in notes.values())
    assert index.files.current().stat().st_size < 4 * text
    name = next(iter(notes)).partition("/")[2].removesuffix(" 0.md")
    reader = index.reader()
    assert reader.sign_frequencies([name])[name] >= 1
    assert index.verify() == []


def test_every_part_of_a_search_that_growth_clocks_is_there() -> None:
    assert [(part, name) for part, named in PARTS.items() for owner, name in named if not hasattr(owner, name)] == []
