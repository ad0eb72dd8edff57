"""Links: how a text writes them, and which files they lead to.

A link is resolved as in Obsidian: by path, else by name anywhere in the vault, the archive included.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, NamedTuple
from urllib.parse import unquote

from tars_memory import disk
from tars_memory.vault import layout, markdown
from tars_memory.vault.markdown import lines as grammar
from tars_memory.vault.vault import Vault, key_of

_CODE_BLOCKS = ("fence", "code", "html", "comment", "math")
"""Kinds of blocks in which a link, or a caret at the end of a line, is text."""
_MAX_LINE_LENGTH = 10_000
"""Maximum length of a line whose links are followed, in characters; a longer line is data that somebody pasted."""

BOOKMARKS = ".obsidian/bookmarks.json"
CANVAS = ".canvas"

Way = Literal["path", "name", ""]
"""How a link finds its file: by the file's path, by its name, or not at all."""

_WIKI = r"(!?)\[\[([^\[\]\r\n]+)\]\]"
_MARKDOWN = r"(!?)\[(?:[^\[\]\r\n]|\[[^\[\]\r\n]*\])*\]\(\s*(?:<([^<>\r\n]+)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))"
_DEFINITION = r"^ {0,3}\[[^\]\r\n]+\]:[ \t]*<?([^\s<>]+)"
_HTML = r"""<[A-Za-z][^<>]*?\s(?:src|href)\s*=\s*["']([^"'<>\r\n]+)["']"""
_EXTERNAL = r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\?|$"
"""Beginnings of markdown links that lead out of the vault, or into the note itself."""
_STORED_PATH = r'"(?:file|path)"\s*:\s*"((?:[^"\\\r\n]|\\.)+)"'


_TARGET = re.compile(
    r"\[\[([^\[\]|#^\n]{1,500})(?:[|#^][^\[\]\n]{0,1000})?\]\]"
    r"|\]\(<?((?>(?:[^)<>\s\]]|\](?!\()){1,2000}))>?(?:[ \t]+\"[^\"\n]{0,1000}\")?\)"
)
"""A link to another file, as a cheap, bounded pattern for callers that read every line of a vault."""


class Outlink(NamedTuple):
    """One link of a text.

    Attributes:
        kind: ``wiki``, ``markdown``, or ``stored`` (in a canvas or Obsidian's bookmarks).
        target: the file as the link names it, without the part after ``#``; empty for the note itself.
        anchor: the part after ``#``; empty for none.
        embed: whether the file is shown in place.
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
    """The files of a vault by name, for resolving many links.

    Args:
        paths: paths of all files, relative to the vault, with ``/``; attachments too.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._files = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._files):
            name = key_of(path.rpartition("/")[2])
            self._by_name.setdefault(name, []).append(path)

    def resolve(self, target: str, source: str = "") -> str | None:
        """Return the path of the file that a link leads to; None if there is none.

        A path from the vault's root wins. Otherwise files whose path ends in the target count: first those in the
        folder of ``source``, then the one nearest to the root.

        Args:
            target: the text between ``[[`` and ``]]``; the part after ``#`` or ``|`` is ignored.
            source: path of the note that has the link.
        """
        wanted = file_part(target)
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

    def follow(self, link: Outlink, source: str) -> tuple[Way, str | None]:
        """Return how a link finds its file, and the path of the file; ``source`` is the note that has the link."""
        if not link.target:
            return "name", source
        if link.kind == "stored":
            return ("path", link.target) if link.target in self._files else ("", None)
        relative = os.path.normpath(f"{source.rpartition('/')[0] or '.'}/{link.target}").replace(os.sep, "/")
        absolute = link.target.strip("/")
        paths = [relative] if link.kind == "markdown" or link.target.startswith(("./", "../")) else []
        paths += [absolute] if link.kind == "markdown" or "/" in absolute else []
        for path in paths:
            for candidate in (path, f"{path}.md"):
                if candidate in self._files:
                    return "path", candidate
        found = self.resolve(link.target, source)
        return ("", None) if found is None else ("name", found)

    def same_name(self, path: str) -> list[str]:
        """Return the other files with the same name."""
        return [other for other in self._by_name.get(key_of(path.rpartition("/")[2]), ()) if other != path]

    def name_of(self, path: str) -> str:
        """Return the shortest target that leads to a note from anywhere: its bare name if unique, else its path.

        A project's note always gets its path: a note of the same day may appear in another folder.
        """
        whole = path[:-3] if path[-3:].lower() == ".md" else path
        name = whole.rpartition("/")[2]
        unique = len(self._by_name.get(key_of(f"{name}.md"), ())) <= 1 and not layout.is_in_project(path)
        return name if unique and self.resolve(name) in (path, None) else whole

    def _nearest(self, wanted: str, folder: str, *, absolute: bool) -> str | None:
        """Return the best file for a path: an exact match, else one in ``folder``, else the one nearest to the root."""
        key = key_of(wanted)
        same_name = self._by_name.get(key.rpartition("/")[2], [])
        exact = [path for path in same_name if path == wanted] or [path for path in same_name if key_of(path) == key]
        if exact or absolute:
            return exact[0] if exact else None
        matches = [path for path in same_name if key_of(path).endswith("/" + key)]
        in_folder = [path for path in matches if path.rpartition("/")[0] == folder]
        return min(in_folder or matches, key=lambda path: (path.count("/"), len(path), path), default=None)


def files_of(vault: Vault) -> frozenset[str]:
    """Return the paths of all files of a vault, attachments too; hidden files and linked folders don't count."""
    root = os.path.join(vault.root, "")
    return frozenset(path.removeprefix(root).replace(os.sep, "/") for path in disk.files_below(root))


def links_of(vault: Vault) -> Links:
    """Return a resolver for links, with the files of the vault as they are now."""
    return Links(files_of(vault))


def resolve(vault: Vault, target: str) -> str | None:
    """Return the path of the note that a wikilink leads to (:meth:`Links.resolve`), reading the vault on every call.

    A note named by its path, or in the vault's root, is found without listing the vault.
    """
    wanted = file_part(target).strip("/")
    try:
        if wanted and not wanted.startswith(".") and vault.look(f"{wanted}.md") is not None:
            return f"{wanted}.md"
    except (OSError, ValueError):
        return None
    return links_of(vault).resolve(target)


def block_ids(document: markdown.document.Document) -> dict[str, int]:
    """Return the block ids of a note, folded and without the caret, each with the line, from 1, that ends with it."""
    found: dict[str, int] = {}
    for entry in markdown.entries.read("", document):
        if entry.block_id:
            found.setdefault(entry.block_id.casefold(), entry.line)
    for block in document.blocks:
        if block.kind in _CODE_BLOCKS:
            continue
        for number in range(block.start_line, block.end_line + 1):
            if name := grammar.block_id_of(document.text(number)):
                found.setdefault(name.casefold(), number)
    return found


def anchors(document: markdown.document.Document) -> frozenset[str]:
    """Return the anchors that links to a note can name, as :func:`anchor` folds them: ``^block`` ids and headings."""
    blocks = (f"^{name}" for name in block_ids(document))
    return frozenset((*blocks, *(_folded_heading(section.title) for section in document.sections if section.level)))


def anchor(text: str) -> str:
    """Fold the part after the ``#`` of a link for comparison with :func:`anchors`."""
    return text.casefold() if text.startswith("^") else _folded_heading(text.rpartition("#")[2])


def _folded_heading(title: str) -> str:
    """Fold a heading as Obsidian compares it: without characters that a link can't have, spaces collapsed."""
    return " ".join(re.sub(r"[#|^:%\[\]\\]", " ", markdown.document.plain_heading(title)).casefold().split())


def outlinks(text: str) -> Iterator[Outlink]:
    """Yield the links of a note's text, including those in code and comments, in no particular order."""
    if "[[" in text:
        for found in re.finditer(_WIKI, text):
            target, _, anchor = found[2].partition("|")[0].rstrip("\\").partition("#")
            yield Outlink("wiki", target.strip(), anchor.strip(), bool(found[1]))
    if "](" in text:
        for found in re.finditer(_MARKDOWN, text):
            yield from _markdown_link(found[2] or found[3], bool(found[1]))
    if "]:" in text:
        for found in re.finditer(_DEFINITION, text, re.MULTILINE):
            yield from _markdown_link(found[1], False)
    if "<" in text:
        for found in re.finditer(_HTML, text, re.IGNORECASE):
            yield from _markdown_link(found[1], "src" in found[0])


def targets(lines: Iterable[str]) -> Iterator[str]:
    """Yield the targets of the links in some lines, as written: wiki links, and markdown links to files of the vault.

    Links in code are ignored: they are examples.
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
    """Yield the targets of the links in a text, like :func:`targets`, but in code too."""
    for wiki, address in _TARGET.findall(text):
        if wiki:
            yield wiki.strip()
        elif "://" not in address and not address.startswith(("#", "mailto:")):
            yield unquote(address.partition("#")[0])


def stored_links(text: str) -> Iterator[Outlink]:
    """Yield the files that a canvas or Obsidian's bookmarks name by path, and the wikilinks in their texts."""
    for found in re.finditer(_STORED_PATH, text):
        yield Outlink("stored", re.sub(r"\\(.)", r"\1", found[1]).partition("#")[0])
    for link in outlinks(text):
        if link.kind == "wiki":
            yield link


def links_by_line(document: markdown.document.Document) -> Iterator[tuple[int, str, list[Outlink]]]:
    """Yield the lines of a note with links outside code: number, from 1, text, and links."""
    for block in document.blocks:
        if block.kind in _CODE_BLOCKS:
            continue
        for line in range(block.start_line, block.end_line + 1):
            text = document.text(line)
            if len(text) <= _MAX_LINE_LENGTH and ("[" in text or "<" in text):
                visible = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)|%%.*?%%", "", text)
                yield line, text, list(dict.fromkeys(outlinks(visible)))


def links_by_source(vault: Vault, files: Collection[str]) -> dict[str, set[Outlink]]:
    """Return the links of every note and canvas, and of Obsidian's bookmarks, by path; skip unreadable files."""
    found: dict[str, set[Outlink]] = {}
    paths = (path for path in sorted(files) if path[-3:].lower() == ".md" or path.endswith(CANVAS))
    for path, data in vault.readable((*paths, BOOKMARKS)):
        text = data.decode("utf-8", "surrogateescape")
        found[path] = set(outlinks(text) if path[-3:].lower() == ".md" else stored_links(text))
    return found


def _markdown_link(raw: str, embed: bool) -> Iterator[Outlink]:
    """Yield a link to a file of the vault; nothing for one that leads elsewhere."""
    if re.match(_EXTERNAL, raw):
        return
    target, _, anchor = raw.partition("#")
    yield Outlink("markdown", unquote(target.partition("?")[0]), unquote(anchor), embed)


def file_part(target: str) -> str:
    """Return the part of a link's target that names a file."""
    return target.partition("|")[0].partition("#")[0].strip().replace("\\", "/")
