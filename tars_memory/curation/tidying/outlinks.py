"""The links that a text holds: wikilinks, embeds, markdown links, and what canvases and bookmarks name. Pure."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tars_memory.vault.links import Links

Way = Literal["path", "name", ""]
"""How a link finds its file: by where the file is, by what it is called, or not at all."""

_WIKI = r"(!?)\[\[([^\[\]\r\n]+)\]\]"
_MARKDOWN = r"(!?)\[(?:[^\[\]\r\n]|\[[^\[\]\r\n]*\])*\]\(\s*(?:<([^<>\r\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))"
_DEFINITION = r"^ {0,3}\[[^\]\r\n]+\]:[ \t]*<?([^\s<>]+)"
_HTML = r"""<[A-Za-z][^<>]*?\s(?:src|href)\s*=\s*["']([^"'<>\r\n]+)["']"""
_ELSEWHERE = r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?|$"
"""What a markdown link begins with that leads out of the vault, or into the note itself."""
_STORED = r'"(?:file|path)"\s*:\s*"((?:[^"\\\r\n]|\\.)+)"'


class Outlink(NamedTuple):
    """One link of a text.

    Attributes:
        kind: ``wiki``, ``markdown``, or ``stored`` (a canvas or Obsidian's bookmarks).
        target: the file as it is named, without what follows ``#``; empty for the note itself.
        anchor: what follows ``#``; empty for none.
        embed: whether the file is to be shown in place.
    """

    kind: Literal["wiki", "markdown", "stored"]
    target: str
    anchor: str = ""
    embed: bool = False

    def __str__(self) -> str:
        whole = f"{self.target}#{self.anchor}" if self.anchor else self.target
        mark = "!" if self.embed else ""
        return f"{mark}[[{whole}]]" if self.kind == "wiki" else f"{mark}({whole})"


def outlinks(text: str) -> Iterator[Outlink]:
    """The links of a note's text, those in code and comments too, in no order."""
    if "[[" in text:
        for found in re.finditer(_WIKI, text):
            target, _, anchor = found[2].partition("|")[0].rstrip("\\").partition("#")
            yield Outlink("wiki", target.strip(), anchor.strip(), bool(found[1]))
    if "](" in text:
        for found in re.finditer(_MARKDOWN, text):
            yield from _markdown(found[2] or found[3], bool(found[1]))
    if "]:" in text:
        for found in re.finditer(_DEFINITION, text, re.MULTILINE):
            yield from _markdown(found[1], False)
    if "<" in text:
        for found in re.finditer(_HTML, text, re.IGNORECASE):
            yield from _markdown(found[1], "src" in found[0])


def stored_links(text: str) -> Iterator[Outlink]:
    """The files that a canvas or Obsidian's list of bookmarks names by path, and the wikilinks in its texts."""
    for found in re.finditer(_STORED, text):
        yield Outlink("stored", re.sub(r"\\(.)", r"\1", found[1]).partition("#")[0])
    for link in outlinks(text):
        if link.kind == "wiki":
            yield link


def lead(link: Outlink, source: str, links: Links, files: Collection[str]) -> tuple[Way, str | None]:
    """How a link finds its file, and which one it is.

    Args:
        link: to follow.
        source: path of the note that holds it.
        links: of the vault.
        files: the same files, as a set.
    """
    if not link.target:
        return "name", source
    if link.kind == "stored":
        return ("path", link.target) if link.target in files else ("", None)
    beside = os.path.normpath(f"{source.rpartition('/')[0] or '.'}/{link.target}").replace(os.sep, "/")
    plain = link.target.strip("/")
    relative = link.kind == "markdown" or link.target.startswith(("./", "../"))
    for path in ([beside] if relative else []) + ([plain] if link.kind == "markdown" or "/" in plain else []):
        for named in (path, f"{path}.md"):
            if named in files:
                return "path", named
    found = links.resolve(link.target, source)
    return ("", None) if found is None else ("name", found)


def _markdown(raw: str, embed: bool) -> Iterator[Outlink]:
    if re.match(_ELSEWHERE, raw):
        return
    target, _, anchor = raw.partition("#")
    yield Outlink("markdown", unquote(target.partition("?")[0]), unquote(anchor), embed)
