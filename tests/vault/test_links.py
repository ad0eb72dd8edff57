"""Where a link leads, as Obsidian finds it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from tars_memory.vault.links import Links, block_ids, links_of, resolve
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.vault import Vault

PATHS = [
    "2026-11-21.md",
    "projects/boat/2026-11-21.md",
    "archive/2026-01-02.md",
    "notes/Tea.md",
    "notes/deep/Tea.md",
    "notes/deep/Cup.md",
    "other/Plan.v2.md",
    "pictures/cup.png",
    "Über Käse.md",
    "a#b.md",
]


@pytest.mark.parametrize(
    ("target", "source", "path"),
    [
        ("2026-11-21", "", "2026-11-21.md"),
        ("2026-11-21#^d-abc", "", "2026-11-21.md"),
        ("2026-11-21#^d-abc|21 November", "", "2026-11-21.md"),
        ("2026-11-21.md", "", "2026-11-21.md"),
        ("2026-11-21", "projects/boat/Memory.md", "2026-11-21.md"),
        ("projects/boat/2026-11-21", "", "projects/boat/2026-11-21.md"),
        ("boat/2026-11-21", "", "projects/boat/2026-11-21.md"),
        ("2026-01-02#^d-x", "", "archive/2026-01-02.md"),
        ("tea", "", "notes/Tea.md"),
        ("TEA", "notes/deep/Cup.md", "notes/deep/Tea.md"),
        ("deep/tea", "", "notes/deep/Tea.md"),
        ("./Tea", "notes/deep/Cup.md", "notes/deep/Tea.md"),
        ("../Tea", "notes/deep/Cup.md", "notes/Tea.md"),
        ("../../..", "notes/deep/Cup.md", None),
        ("../../../Tea", "notes/Tea.md", None),
        ("/notes/Tea", "", "notes/Tea.md"),
        ("/Tea", "", None),
        ("Plan.v2", "", "other/Plan.v2.md"),
        ("cup.png", "", "pictures/cup.png"),
        ("cup", "", "notes/deep/Cup.md"),
        ("über käse", "", "Über Käse.md"),
        ("#heading", "notes/Tea.md", "notes/Tea.md"),
        ("", "", None),
        ("never", "", None),
        ("ea", "", None),
        ("a", "", None),
        ("\x00", "", None),
    ],
)
def test_resolve(target: str, source: str, path: str | None) -> None:
    assert Links(PATHS).resolve(target, source) == path


def test_the_shortest_name_leads_back() -> None:
    links = Links(PATHS)
    assert links.name_of("2026-11-21.md") == "2026-11-21"
    assert links.name_of("projects/boat/2026-11-21.md") == "projects/boat/2026-11-21"
    assert links.name_of("archive/2026-01-02.md") == "2026-01-02"
    assert links.name_of("notes/Tea.md") == "notes/Tea"
    assert links.name_of("not/there/yet.md") == "yet"
    for path in PATHS:
        if "#" not in path and path.endswith(".md"):
            assert links.resolve(links.name_of(path)) == path


def test_a_vault(tmp_path: Path) -> None:
    for path in [*PATHS, ".obsidian/hidden.md", "notes/.hidden.md"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"")
    vault = Vault.open(tmp_path)
    links = links_of(vault)
    assert [links.resolve(name) for name in ("hidden", ".hidden", "cup.png")] == [None, None, "pictures/cup.png"]
    for target in ("2026-11-21#^x", "2026-01-02", "never", "cup.png", "..", "\x00", "../../etc/passwd", "a" * 5000):
        assert resolve(vault, target) == links.resolve(target), target


NOTE = b"""# T
- one ^d-a
- two
  - child ^d-b

text and
more ^para

```
- code ^d-c
```
%% ^d-d %%

| a |
| - |

^table
1. numbered ^num
> quote ^quo
- x^d-e
"""


WHERE = {"d-a": 2, "D-A": 2, "d-b": 4, "para": 7, "d-c": None, "d-d": None, "table": 17, "num": 18, "quo": 19}
WHERE |= dict.fromkeys(("d-e", "d-", "", "never", "ü"))


@pytest.mark.parametrize(("block", "line"), WHERE.items())
def test_a_block_is_found_by_its_id(block: str, line: int | None) -> None:
    for note in (NOTE, NOTE.replace(b"\n", b"\r\n")):
        assert block_ids(Document(note)).get(block.casefold()) == line


def test_letters_that_a_mac_takes_apart_are_the_same_letters() -> None:
    apart = unicodedata.normalize("NFD", "notes/Zürich.md")
    links = Links([apart, "notes/Bern.md"])
    for target in ("Zürich", "zürich", "notes/Zürich", unicodedata.normalize("NFD", "Zürich#Altstadt")):
        assert links.resolve(target, "notes/Bern.md") == apart
    whole = Links(["Zürich.md"])
    assert whole.resolve(unicodedata.normalize("NFD", "Zürich")) == "Zürich.md"
