"""Links that lead nowhere.

Obsidian lets a person link to a note before it is written, so a bare name counts as dead only where that is not meant:
in the tier notes, and if no other notes name it as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.curation.tidying.findings.model import Finding, shown
from tars_memory.curation.tidying.outlinks import Outlink, lead, outlinks
from tars_memory.vault.links import find_block
from tars_memory.vault.markdown.document import Document, plain_heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.curation.tidying.findings.model import TidyNote, World

UNLINKED = ("fence", "code", "html", "comment", "math")
"""Blocks in which no link is one."""

LONG = 10_000
"""Characters of the longest line whose links are followed: more is data that somebody pasted."""

TOPIC = 3
"""A name without a note that so many notes link to is a topic, not a mistake."""

ENDINGS = (
    r".*\.(?:md|canvas|base|pdf|png|jpe?g|gif|svg|webp|avif|bmp|mp[34]|wav|m4a|ogg|flac|mov|webm|mkv|txt|csv|json|docx|xlsx"
    r"|pptx|odt|zip)"
)
"""The endings of files that a vault holds; ``example.org`` is an address."""


def dead_links(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Links whose note, heading or block is not there."""
    for line in _lines(note):
        if len(note.document.text(line)) > LONG:
            continue
        text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)|%%.*?%%", "", note.document.text(line))
        for link in dict.fromkeys(outlinks(text)):
            why = _why_dead(link, note, world)
            if why:
                words = re.sub(r"^[ \t]*(?:[-*+][ \t]+)?", "", note.document.text(line)).strip()
                sentence = f"{shown(str(link))} {why}"
                yield Finding("", "dead-link", note.path, line, words, sentence), f"{link}\0{words}"


def _lines(note: TidyNote) -> Iterator[int]:
    for block in note.document.blocks:
        if block.kind not in UNLINKED:
            yield from range(block.start_line, block.end_line + 1)


def _why_dead(link: Outlink, note: TidyNote, world: World) -> str:
    """What is wrong with a link; empty if nothing is."""
    _, found = lead(link, note.path, world.links, world.files)
    if found is None:
        return "" if _meant(link, note, world) else "leads to no note: mend the link, or take it out"
    if not link.anchor or found[-3:].lower() != ".md":
        return ""
    data = note.document.data if found == note.path else world.read(found)
    if data is None or _holds(data, link.anchor):
        return ""
    what = "line" if link.anchor.startswith("^") else "heading"
    return f"leads to no {what} of {found}: mend the link, or take it out"


def _meant(link: Outlink, note: TidyNote, world: World) -> bool:
    """Whether a link without a note may well be meant so."""
    target = link.target.strip("/")
    is_file = re.fullmatch(ENDINGS, target, re.IGNORECASE) is not None
    if link.kind == "markdown":
        # Other programs mean other things by a path from the root; without an ending it may be a folder, or an address.
        return link.target.startswith("/") or not is_file
    if link.embed or link.anchor or "/" in target or is_file:
        return False
    if world.layout.day_of(world.layout.daily_folder + "/" * bool(world.layout.daily_folder) + f"{target}.md"):
        return True  # a day that nothing was logged on
    if note.role not in ("memory", "rules", "facts"):
        return True
    return world.named.get(target.casefold(), 0) >= TOPIC


def _holds(data: bytes, anchor: str) -> bool:
    """Whether a note has the block or the heading that an anchor names."""
    if anchor.startswith("^"):
        return find_block(data, anchor[1:]) is not None
    wanted = _folded(anchor.rpartition("#")[2])
    return any(_folded(section.title) == wanted for section in Document(data).sections if section.level)


def _folded(title: str) -> str:
    """A heading as Obsidian compares it: without the signs that a link can't hold, spaces as one."""
    return " ".join(re.sub(r"[#|^:%\[\]\\]", " ", plain_heading(title)).casefold().split())
