"""How Review.md begins when we make it: by this it is told from a note of the person's that has the same name."""

from __future__ import annotations

TITLE = "# Review"
MADE = (
    "`[x]` keeps a line, `[-]` rejects it, `[+]` keeps it and the line it would replace. Change its words in place if",
    "you like. Whatever you leave waits. Decisions are taken by `tars-memory review --from-note`, or by the next",
)
"""What it has begun with from the first."""
BEFORE = "command that writes, which then takes these lines away."
"""What followed in notes of older versions."""
INTRO = (
    *MADE,
    f"{BEFORE} `[x]` at `replace: …` below a line puts the line in its place; `Keep all …` decides every line below.",
)


def is_made_by_us(data: bytes) -> bool:
    """Whether a note of that name is a list of proposals: what stands in it stands in other notes already."""
    return all(line.encode("ascii") in data for line in MADE)
