"""Pictures of the screens: what a person sees on a terminal, as text with colours, for ``docs/screens``.

``python -m cli.screens`` in ``tests/`` makes them anew; ``test_screens.py`` holds them in step.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from html import escape
from pathlib import Path

from rich.cells import cell_len
from terminal import environment, on_a_terminal, program, rows

from tars_memory.testing import make_vault

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
SIZES = ((80, 24), (120, 40))
COMMANDS = {
    "search": ["search", "tea"],
    "search-words": ["search", "oolong", "harbour", "wind"],
    "search-script": ["search", "绿茶"],
    "search-full": ["search", "tea", "path:notes", "--full", "--limit", "3"],
    "status": ["status"],
    "facts": ["facts"],
    "timeline": ["timeline", "Anna"],
    "list": ["list"],
    "links": ["links", "Tea"],
    "history": ["history"],
}
"""What is shown, by the name of its picture."""

LONG = (
    "The wind from the harbour cools the cups faster than anybody believes, so Anna brews her oolong a little hotter in"
    " winter, pours it into the small pot first, and only then into the cups that stand on the sill behind the stove"
)
HISTORY, WATER = "这里写的是关于茶的历史。" * 9, "红茶可以用开水。" * 6
NOTES = {
    "Memory.md": (
        "## People\n- Anna prefers green tea to black ([[2026-11-10#^d-aaaaaaa|2026-11-10]])\n"
        "- Mara is Anna's sister and teaches the cello in Porto\n\n## Kitchen\n- the tea stands on the upper shelf\n"
    ),
    "Procedural.md": "## Notes\n- never serve tea with walnuts on the table, Mara is allergic to them\n",
    "Facts.md": (
        "# Facts\n\n## Anna\n- lives in:: Dublin [since:: 2019-04-01] [until:: 2024-09-01]\n"
        "- lives in:: Cork, in a narrow house above the harbour, with a garden that nobody looks after"
        " [since:: 2024-09-01]\n- works as:: boat builder [since:: 2021-02-15]\n\n## 东京塔\n- 高度:: 三百三十三米\n"
    ),
    "2026-11-10.md": "## Log\n- 10:00 [promoted] Anna prefers green tea to black ^d-aaaaaaa\n",
    "2026-11-20.md": (
        "## Log\n- 09:10 tea with Anna, she brought the new cups\n"
        "- 18:40 [extracted] the tea shop closes at seven on Thursdays ^d-bbbbbbb\n"
    ),
    "sessions/2026-11-10 1000 Tea.md": (
        "---\ndate: 2026-11-10\ntitle: Tea\nsource_hash: " + "a" * 64 + "\n---\n\n## Facts\n\n"
        "- Anna prefers green tea to black ([[2026-11-10#^d-aaaaaaa|2026-11-10]])\n"
        '  - quote:: "Remember that Anna prefers green tea to black."\n  - said by:: user, turn 1\n'
    ),
    "notes/drinks/Tea.md": (
        "---\ndate: 2026-03-15\n---\n# Tea\n\n## Green\n\nWater at 80 degrees, two minutes, never longer."
        " See [[Cups]].\n\n"
        "## Oolong\n\n" + LONG + ".\n\n## Buying\n\nThe tea from the market keeps for a year; tea in bags does not."
        " More in [[Shops|the list of shops]] and [[A note that is not there]].\n"
    ),
    "notes/drinks/Cups.md": "---\ndate: 2026-04-02\n---\n# Cups\n\nSmall cups for [[Tea]], the large ones for cocoa.\n",
    "notes/Shops.md": (
        "---\ndate: 2026-05-11\n---\n# Shops\n\n- Tea: the one behind the [[Cups|cup]] maker's\n"
        "- Bread: on the square\n"
    ),
    "notes/中国茶.md": "---\ndate: 2026-06-01\n---\n# 中国茶\n\n" + HISTORY + "绿茶要用八十度的水。" + WATER,
}
CLOCK = "2026-11-21T14:30"


def place(base: Path) -> tuple[Path, dict[str, str]]:
    """A vault with something of everything, written to once, and an environment for it."""
    root = make_vault(base / "Notes", NOTES)
    env = environment(
        base / "home", TERM="xterm-256color", TARS_MEMORY_DIR=str(root), TARS_NOW=CLOCK, COLORTERM="", HOME=str(base),
        TARS_MEMORY_BACKGROUND="0", TARS_MEMORY_EMBEDDING_MODEL="none",
        TARS_MEMORY_RECALL_MODE="lexical",
    )  # fmt: skip
    for words in (["remember", "the blue teapot came from Lisbon"], ["log", "bought tea for the winter"]):
        code, seen = on_a_terminal(program(*words), env, root, size=(80, 24))
        assert code == 0, seen
    for path in root.rglob("*.md"):
        os.utime(path, (1_790_000_000, 1_790_000_000))
    return root, env


def shot(where: tuple[Path, dict[str, str]], name: str, size: tuple[int, int], **more: str) -> str:
    """What one command shows, with its colours (SGR) and without its links.

    What differs from one machine or run to another (names of writes, the time of the last look, the vault's state
    folder) is made the same.
    """
    root, env = where
    code, seen = on_a_terminal(program(*COMMANDS[name]), {**env, **more}, root, size=size)
    assert code == 0, seen
    text = "\n".join(rows(seen))
    text = re.sub(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)", "", text)
    text = re.sub(r"(up to date) \([0-9: -]+\)", r"\1 (2026-11-21 14:30)", text)
    text = re.sub(r"(/vaults/)[0-9a-f]{16}", r"\g<1>9f2c61d07b84e35a", text)
    return TXN.sub(lambda found: TXNS.setdefault(found[0], f"1m2x7{len(TXNS)}"), text) if name == "history" else text


SGR = re.compile(r"\x1b\[([0-9;]*)m")
TXN = re.compile(r"(?m)(?<=^\x1b\[1m)[0-9A-Za-z-]+|^[0-9A-Za-z]{8,}(?=  )")
TXNS: dict[str, str] = {}

WIDE, HIGH = 8.43, 18
"""Pixels of a sign and of a row."""
CLASSES = {"1": "b", "2": "d", "31": "r", "35": "m"}
"""The colours that the program uses, and what they are called in a picture."""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">
<style>
rect{{fill:#fff}} text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}}
.b{{font-weight:bold}} .d{{fill:#6e7781}} .m{{fill:#8b2fa0}} .r{{fill:#c0202f}}
@media (prefers-color-scheme:dark){{rect{{fill:#0d1117}} text{{fill:#e6edf3}} .d{{fill:#8b949e}} .m{{fill:#d2a8ff}}
.r{{fill:#ff7b72}}}}
</style>
<rect width="100%" height="100%" rx="6"/>
"""


def segments(row: str) -> list[tuple[frozenset[str], str]]:
    """The parts of a row with the codes of their colours."""
    found: list[tuple[frozenset[str], str]] = []
    codes: frozenset[str] = frozenset()
    parts = SGR.split(row)
    for at, part in enumerate(parts):
        if at % 2:
            given = {code for code in part.split(";") if code}
            codes = frozenset() if not given or given == {"0"} else codes | given
        elif part:
            found.append((codes, part))
    return found


def picture(text: str, size: tuple[int, int]) -> str:
    """A screen as a small SVG that follows the reader's own choice of light or dark."""
    shown = text.split("\n")
    made = [HEAD.format(width=round(size[0] * WIDE) + 16, height=len(shown) * HIGH + 16)]
    for number, row in enumerate(shown):
        column = 0
        for codes, part in segments(row):
            bare = part.lstrip(" ")
            x = 8 + (column + len(part) - len(bare)) * WIDE
            column += cell_len(part)
            named = " ".join(CLASSES[code] for code in sorted(codes))
            if bare.strip():
                kind = f' class="{named}"' if named else ""
                y = (number + 1) * HIGH + 2
                made.append(f'<text x="{x:.5g}" y="{y}"{kind}>{escape(bare.rstrip(), quote=False)}</text>\n')
    return "".join([*made, "</svg>\n"])


def file_of(name: str, size: tuple[int, int]) -> Path:
    """Where a picture is kept."""
    return FOLDER / f"{name}-{size[0]}.svg"


def main() -> None:
    """Make all pictures anew."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as base:
        where = place(Path(base))
        for name in COMMANDS:
            for size in SIZES:
                file_of(name, size).write_text(picture(shot(where, name, size), size), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
