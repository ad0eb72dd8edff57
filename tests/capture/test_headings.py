"""The headings of a note: listed, added and removed, nothing else changed; what would lose lines asks first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

MEMORY = "# Me\r\n\r\n## Work\r\n\r\n- at Acme\r\n\r\n### Later\r\n\r\n## Empty\r\n\r\n## Küche\r\n- Ofen"
NOTES = {"Memory.md": MEMORY, "Procedural.md": "## Mail\n\n- ask first\n", "Tea.md": "# Tea\n\n## Brewing\n"}


def test_headings_are_listed_added_and_removed(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    (root / "Memory.md").write_bytes(MEMORY.encode())
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, env=env, actor="script") as memory:
        path, found = memory.headings("memory")
        assert (path, [(each.line, each.level, each.title, each.entries) for each in found]) == (
            "Memory.md",
            [(1, 1, "Me", 0), (3, 2, "Work", 1), (7, 3, "Later", 0), (9, 2, "Empty", 0), (11, 2, "Küche", 1)],
        )
        assert memory.headings("Tea")[1][1].title == "Brewing"
        added = memory.add_heading("Memory.md", "Travel")
        assert (added.path, added.line, added.written) == ("Memory.md", 14, True)
        assert (root / "Memory.md").read_bytes() == f"{MEMORY}\r\n\r\n## Travel\r\n".encode()
        assert not memory.add_heading("Memory", "travel").written
        memory.remove_heading("Memory", "Empty")
        assert "Empty" not in (root / "Memory.md").read_text()
        memory.undo(last=2)
        assert (root / "Memory.md").read_bytes() == MEMORY.encode()
        with pytest.raises(UsageError, match="there is text under 'Küche'"):
            memory.remove_heading("Memory", "küche")
        memory.remove_heading("Memory", "küche", filled=True)
        assert (root / "Memory.md").read_bytes() == MEMORY.partition("\r\n## Küche")[0].encode()
        memory.undo()
        with pytest.raises(UsageError, match="'Later' is below 'Work'"):
            memory.remove_heading("Memory", "Work", filled=True)
        with pytest.raises(NotFoundError) as missing:
            memory.remove_heading("Memory", "Wrok")
        assert "it has: Me, Work, Later, Empty, Küche" in missing.value.hint
        for note in ("Tea", "Procedural"):
            with pytest.raises(UsageError):
                memory.add_heading(note, "New")
        (root / "Memory.md").write_text("## A\n\n## A\n")
        with pytest.raises(AmbiguousError):
            memory.remove_heading("Memory", "A")
        with pytest.raises(UsageError):
            memory.add_heading("Memory", " ")
    with Memory(root, env=env, actor="person", interactive=True) as memory:
        assert memory.add_heading("Procedural", "Style").written


def test_what_is_added_and_removed_leaves_the_note_as_it_was(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", NOTES)
    with Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, actor="script") as memory:
        for text in ("## Notes\n- a\n", "", "# Me\n\n## Notes\n\n- a\n"):
            (root / "Memory.md").write_text(text)
            memory.add_heading("Memory", "Travel")
            memory.remove_heading("Memory", "Travel")
            assert (root / "Memory.md").read_text() == text
