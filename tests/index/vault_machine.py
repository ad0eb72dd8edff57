"""A machine that does to a vault what people, editors and sync programs do, and asks after each step whether the index
that was kept up is the one that would be made anew."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from tars_memory.index.indexer import Index, RefreshBudget
from tars_memory.settings import LimitsOptions
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.vault import Vault

NAMES = st.sampled_from(
    [
        "a",
        "b",
        "Tea",
        "2026-03-15",
        "2026-03-16 1015 topic",
        "sessions/2026-01-02 x",
        "projects/p/Memory",
        "projects/q/n",
        "Memory",
        "Procedural",
        "deep/er/note",
        "Zürich",
        "東京",
        "with space",
        "[draft]",
        "a%b_c",
    ]
)
LINES = st.sampled_from(
    [
        "# Head",
        "## Sub #work",
        "- one #tag",
        "  - child ^id-1",
        "- 14:30 [extracted] tea ([[2026-03-15#^d-1|x]]) ^m-2",
        "plain words here",
        "東京へ行く🎉",
        "C++ and C#",
        "",
        "```",
        "| a | b |",
        "|---|---|",
        "%%",
        "---",
        "[x]: y",
        "long " * 90,
        "sentence one. Sentence two! " * 40,
        "tags: [x, y]",
        "date: 2020-02-02",
        "nul\x00byte",
        "�",
    ]
)
TEXTS = st.lists(LINES, max_size=12).map("\n".join)
FRONT = st.sampled_from(
    ["", "", "---\ntitle: T\ndate: 2024-05-06\ntags: [x, y/z]\naliases: [other]\n---\n", "---\nk: v\n---"]
)
NOTES = st.builds(lambda front, text, end: front + text + end, FRONT, TEXTS, st.sampled_from(["", "\n", "\r\n"]))


class VaultMachine(RuleBasedStateMachine):
    """Rules are what happens to files; the invariant is what the index promises."""

    paths = Bundle("paths")

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        make_vault(self.home / "vault", {"keep.md": "something that always stays\n"})
        vault = Vault.open(self.home / "vault")
        self.index = Index(
            vault, self.home / "state", self.home / "cache", LimitsOptions(max_note_bytes=20_000), HashEmbedder
        )
        self.root = vault.root

    def teardown(self) -> None:
        self.index.close()
        shutil.rmtree(self.home)

    @initialize()
    def first(self) -> None:
        self.index.refresh()

    @rule(target=paths, name=NAMES, text=NOTES)
    def create(self, name: str, text: str) -> str:
        path = self.root / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return f"{name}.md"

    @rule(path=paths, text=NOTES)
    def edit(self, path: str, text: str) -> None:
        if (self.root / path).exists():
            (self.root / path).write_bytes(text.encode())

    @rule(path=paths, line=LINES)
    def append(self, path: str, line: str) -> None:
        if (self.root / path).exists():
            with open(self.root / path, "ab") as file:
                file.write(f"\n- {line}".encode())

    @rule(path=paths, at=st.integers(0, 200))
    def edit_in_place_unseen(self, path: str, at: int) -> None:
        """As a sync program does: the same size and the time of modification put back."""
        file = self.root / path
        if file.exists() and (data := bytearray(file.read_bytes())):
            was = file.stat()
            data[at % len(data)] = ord("k") if data[at % len(data)] != ord("k") else ord("m")
            with open(file, "r+b") as stream:
                stream.write(data)
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))

    @rule(path=paths, days=st.integers(-4000, 400))
    def touch(self, path: str, days: int) -> None:
        if (self.root / path).exists():
            when = 1_790_000_000 + days * 86_400
            os.utime(self.root / path, (when, when))

    @rule(target=paths, path=consumes(paths), name=NAMES)
    def rename(self, path: str, name: str) -> str:
        new = self.root / f"{name}.md"
        if (self.root / path).exists():
            new.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.root / path, new)
        return f"{name}.md"

    @rule(one=paths, other=paths)
    def swap(self, one: str, other: str) -> None:
        if (self.root / one).exists() and (self.root / other).exists() and one != other:
            os.rename(self.root / one, self.home / "aside")
            os.rename(self.root / other, self.root / one)
            os.rename(self.home / "aside", self.root / other)

    @rule(path=consumes(paths))
    def delete(self, path: str) -> None:
        (self.root / path).unlink(missing_ok=True)

    @rule(path=paths)
    def grow_too_big(self, path: str) -> None:
        if (self.root / path).exists():
            (self.root / path).write_bytes(b"big " * 6_000)

    @rule()
    def embed(self) -> None:
        self.index.refresh(RefreshBudget(None, override=True))
        assert self.index.embed_pending() == 0

    @rule()
    def open_anew(self) -> None:
        self.index.close()

    @invariant()
    def incremental_is_full(self) -> None:
        self.index.refresh(RefreshBudget(None, override=True))
        assert self.index.verify() == []
