"""Links: how a text writes them, and where they lead.

One leads as Obsidian finds it: by path, else by name anywhere in the vault, the archive included.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import unquote

from tars_memory.errors import TarsError
from tars_memory.vault import markdown
from tars_memory.vault.layout import is_in_project
from tars_memory.vault.markdown import lines as grammar
from tars_memory.vault.markdown.document import Document, plain_heading
from tars_memory.vault.vault import Vault, key_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


_BLOCK = r"(?:^|[ \t])\^([A-Za-z0-9-]+)[ \t]*$"
_CODE = ("fence", "code", "html", "comment", "math")
"""Blocks in which a link, or a caret at the end of a line, is text."""
_LONGEST = 10_000
"""Characters of the longest line whose links are followed: more is data that somebody pasted."""

BOOKMARKS = ".obsidian/bookmarks.json"
CANVAS = ".canvas"

Way = Literal["path", "name", ""]
"""How a link finds its file: by where the file is, by what it is called, or not at all."""

_WIKI = r"(!?)\[\[([^\[\]\r\n]+)\]\]"
_MARKDOWN = r"(!?)\[(?:[^\[\]\r\n]|\[[^\[\]\r\n]*\])*\]\(\s*(?:<([^<>\r\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))"
_DEFINITION = r"^ {0,3}\[[^\]\r\n]+\]:[ \t]*<?([^\s<>]+)"
_HTML = r"""<[A-Za-z][^<>]*?\s(?:src|href)\s*=\s*["']([^"'<>\r\n]+)["']"""
_ELSEWHERE = r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?|$"
"""What a markdown link begins with that leads out of the vault, or into the note itself."""
_STORED = r'"(?:file|path)"\s*:\s*"((?:[^"\\\r\n]|\\.)+)"'


_TARGET = re.compile(
    r"\[\[([^\[\]|#^\n]{1,500})(?:[|#^][^\[\]\n]{0,1000})?\]\]"
    r"|\]\(<?((?>(?:[^)<>\s\]]|\](?!\()){1,2000}))>?(?:[ \t]+\"[^\"\n]{0,1000}\")?\)"
)
"""What leads to another file, at a glance: bounded, for whoever reads every line of a vault."""


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


class Links:
    """The files of a vault by their names; made once for many links.

    Args:
        paths: of all files, relative to the vault, with ``/``; attachments too.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._files):
            name = key_of(path.rpartition("/")[2])
            self._by_name.setdefault(name, []).append(path)

    def resolve(self, target: str, source: str = "") -> str | None:
        """The path of the file that a link leads to, or None.

        A path from the vault's root wins; else the files whose path ends in the target are looked at, those in the
        folder of ``source`` before others, then the one nearest to the root.

        Args:
            target: as it stands between ``[[`` and ``]]``; what follows ``#`` or ``|`` is left out.
            source: path of the note that the link stands in.
        """
        wanted = named_in(target)
        folder = source.rpartition("/")[0]
        if not wanted:
            return source or None
        if wanted.startswith(("./", "../")):
            wanted = os.path.normpath(f"{folder or '.'}/{wanted}").replace(os.sep, "/")
            if wanted.startswith("../"):
                return None
        absolute = wanted.startswith("/")
        wanted = wanted.strip("/")
        for path in (f"{wanted}.md", wanted):
            found = self._nearest(path, folder, absolute=absolute)
            if found:
                return found
        return None

    def lead(self, link: Outlink, source: str) -> tuple[Way, str | None]:
        """How a link finds its file, and which one it is; ``source`` is the path of the note that holds it."""
        if not link.target:
            return "name", source
        if link.kind == "stored":
            return ("path", link.target) if link.target in self._files else ("", None)
        beside = os.path.normpath(f"{source.rpartition('/')[0] or '.'}/{link.target}").replace(os.sep, "/")
        plain = link.target.strip("/")
        relative = link.kind == "markdown" or link.target.startswith(("./", "../"))
        for path in ([beside] if relative else []) + ([plain] if link.kind == "markdown" or "/" in plain else []):
            for named in (path, f"{path}.md"):
                if named in self._files:
                    return "path", named
        found = self.resolve(link.target, source)
        return ("", None) if found is None else ("name", found)

    def called_alike(self, path: str) -> list[str]:
        """The other files of this name."""
        return [other for other in self._by_name.get(key_of(path.rpartition("/")[2]), ()) if other != path]

    def name_of(self, path: str) -> str:
        """The shortest target that leads to a note from anywhere: its bare name if that is enough, else its path.

        A project's note is named by its path: one of the same day may come to stand elsewhere.
        """
        whole = path[:-3] if path[-3:].lower() == ".md" else path
        name = whole.rpartition("/")[2]
        alone = len(self._by_name.get(key_of(f"{name}.md"), ())) <= 1
        alone = alone and not is_in_project(path)
        return name if alone and self.resolve(name) in (path, None) else whole

    def _nearest(self, wanted: str, folder: str, *, absolute: bool) -> str | None:
        low = key_of(wanted)
        named = self._by_name.get(low.rpartition("/")[2], [])
        exact = [path for path in named if path == wanted] or [path for path in named if key_of(path) == low]
        if exact or absolute:
            return exact[0] if exact else None
        fits = [path for path in named if key_of(path).endswith("/" + low)]
        beside = [path for path in fits if path.rpartition("/")[0] == folder]
        return min(beside or fits, key=lambda path: (path.count("/"), len(path), path), default=None)


def files_of(vault: Vault) -> frozenset[str]:
    """The paths of all files of a vault as they are now, attachments too; hidden ones and what is behind links are left
    out, as Obsidian does.
    """
    found: list[str] = []
    for folder, folders, names in os.walk(vault.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        prefix = os.path.relpath(folder, vault.root).replace(os.sep, "/") + "/"
        prefix = "" if prefix == "./" else prefix
        found += (prefix + name for name in names if not name.startswith("."))
    return frozenset(found)


def links_of(vault: Vault) -> Links:
    """The links of a vault as its files are now."""
    return Links(files_of(vault))


def resolve(vault: Vault, target: str) -> str | None:
    """The path of the note that a wikilink's target leads to; see :meth:`Links.resolve`. Looks at the vault each time.

    A note named by its path, or one in the vault's root, is found without a walk.
    """
    wanted = named_in(target).strip("/")
    try:
        if wanted and not wanted.startswith(".") and vault.look(f"{wanted}.md") is not None:
            return f"{wanted}.md"
    except (OSError, ValueError):
        return None
    return links_of(vault).resolve(target)


def block_ids(document: Document) -> dict[str, int]:
    """The block ids of a note, without case and caret, each with the 1-based line that bears it at its end."""
    found: dict[str, int] = {}
    for entry in markdown.entries.read("", document):
        if entry.block_id:
            found.setdefault(entry.block_id.casefold(), entry.line)
    for block in document.blocks:
        if block.kind in _CODE:
            continue
        for number in range(block.start_line, block.end_line + 1):
            match = re.search(_BLOCK, document.text(number))
            if match:
                found.setdefault(match[1].casefold(), number)
    return found


def anchors(document: Document) -> frozenset[str]:
    """What links to a note can name in it, as :func:`anchor` writes it: blocks behind a caret, and headings."""
    blocks = (f"^{name}" for name in block_ids(document))
    return frozenset((*blocks, *(_folded(section.title) for section in document.sections if section.level)))


def anchor(said: str) -> str:
    """What follows the ``#`` of a link, to be looked for among :func:`anchors`."""
    return said.casefold() if said.startswith("^") else _folded(said.rpartition("#")[2])


def _folded(title: str) -> str:
    """A heading as Obsidian compares it: without the signs that a link can't hold, spaces as one."""
    return " ".join(re.sub(r"[#|^:%\[\]\\]", " ", plain_heading(title)).casefold().split())


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


def targets(lines: Iterable[str]) -> Iterator[str]:
    """Where the links of some lines lead, as written: wiki links, and Markdown's to files of the vault.

    What is code counts for nothing: an example of a link leads nowhere.
    """
    fence = ""
    for line in lines:
        if "```" in line or "~~~" in line:
            mark = line.lstrip("> \t")[:3]
            if mark in ("```", "~~~") and fence in ("", mark):
                fence = "" if fence else mark
                continue
        if not fence and ("](" in line or "[[" in line):
            yield from targets_in(grammar.CODE.sub("", line) if "`" in line else line)


def targets_in(text: str) -> Iterator[str]:
    """The same of a text, code too."""
    for wiki, address in _TARGET.findall(text):
        if wiki:
            yield wiki.strip()
        elif "://" not in address and not address.startswith(("#", "mailto:")):
            yield unquote(address.partition("#")[0])


def stored_links(text: str) -> Iterator[Outlink]:
    """The files that a canvas or Obsidian's list of bookmarks names by path, and the wikilinks in its texts."""
    for found in re.finditer(_STORED, text):
        yield Outlink("stored", re.sub(r"\\(.)", r"\1", found[1]).partition("#")[0])
    for link in outlinks(text):
        if link.kind == "wiki":
            yield link


def links_by_line(document: Document) -> Iterator[tuple[int, str, list[Outlink]]]:
    """The lines of a note that hold links which work: each with its 1-based number, its text and its links."""
    for block in document.blocks:
        if block.kind in _CODE:
            continue
        for line in range(block.start_line, block.end_line + 1):
            said = document.text(line)
            if len(said) <= _LONGEST and ("[" in said or "<" in said):
                text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)|%%.*?%%", "", said)
                yield line, said, list(dict.fromkeys(outlinks(text)))


def links_by_source(vault: Vault, files: Collection[str]) -> dict[str, set[Outlink]]:
    """The links of every note and canvas, and of Obsidian's bookmarks; of one that can't be read there are none."""
    found: dict[str, set[Outlink]] = {}
    for path in [*sorted(files), BOOKMARKS]:
        is_note = path[-3:].lower() == ".md"
        if is_note or path.endswith(CANVAS) or path == BOOKMARKS:
            try:
                text = vault.read(path).decode("utf-8", "surrogateescape")
            except TarsError:
                continue
            found[path] = set(outlinks(text) if is_note else stored_links(text))
    return found


def _markdown(raw: str, embed: bool) -> Iterator[Outlink]:
    if re.match(_ELSEWHERE, raw):
        return
    target, _, anchor = raw.partition("#")
    yield Outlink("markdown", unquote(target.partition("?")[0]), unquote(anchor), embed)


def named_in(target: str) -> str:
    """The part of a link's target that names a file."""
    return target.partition("|")[0].partition("#")[0].strip().replace("\\", "/")
