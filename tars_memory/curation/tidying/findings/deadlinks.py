"""Links that lead nowhere.

Obsidian lets a person link to a note before it is written, so a bare name counts as dead only where that is not meant:
in the tier notes, and if no other notes name it as well.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.curation.tidying.findings.model import Finding, shown
from tars_memory.curation.tidying.outlinks import Outlink, lead, outlinks
from tars_memory.vault.links import block_ids
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
    anchors: dict[str, frozenset[str] | None] = {}
    for line in _lines(note):
        if len(note.document.text(line)) > LONG:
            continue
        text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)|%%.*?%%", "", note.document.text(line))
        for link in dict.fromkeys(outlinks(text)):
            why = _why_dead(link, note, world, anchors)
            if why:
                words = re.sub(r"^[ \t]*(?:[-*+][ \t]+)?", "", note.document.text(line)).strip()
                sentence = f"{shown(str(link))} {why}"
                yield Finding("", "dead-link", note.path, line, words, sentence), f"{link}\0{words}"


def _lines(note: TidyNote) -> Iterator[int]:
    for block in note.document.blocks:
        if block.kind not in UNLINKED:
            yield from range(block.start_line, block.end_line + 1)


def _why_dead(link: Outlink, note: TidyNote, world: World, anchors: dict[str, frozenset[str] | None]) -> str:
    """What is wrong with a link; empty if nothing is. ``anchors`` takes those of each note that is looked at."""
    _, found = lead(link, note.path, world.links, world.files)
    if found is None:
        return "" if _meant(link, note, world) else "leads to no note: mend the link, or take it out"
    if not link.anchor or found[-3:].lower() != ".md":
        return ""
    if found not in anchors:
        data = note.document.data if found == note.path else world.read(found)
        anchors[found] = None if data is None else _anchors(Document(data))
    there = anchors[found]
    if there is None or _anchor(link.anchor) in there:
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


def _anchors(document: Document) -> frozenset[str]:
    """What the links to a note can name in it: blocks behind a caret, and headings."""
    blocks = (f"^{name}" for name in block_ids(document))
    return frozenset((*blocks, *(_folded(section.title) for section in document.sections if section.level)))


def _anchor(said: str) -> str:
    """What a link names, to be looked for among them."""
    return said.casefold() if said.startswith("^") else _folded(said.rpartition("#")[2])


def _folded(title: str) -> str:
    """A heading as Obsidian compares it: without the signs that a link can't hold, spaces as one."""
    return " ".join(re.sub(r"[#|^:%\[\]\\]", " ", plain_heading(title)).casefold().split())
