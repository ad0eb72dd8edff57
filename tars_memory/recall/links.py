"""``links``: where a note's links lead, which notes link to it; and the notes that these narrow a search to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted
from tars_memory.index.filters import Filter
from tars_memory.index.naming import key
from tars_memory.vault.links import block_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.index.properties import LinkTable
    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.vault import Vault


SHOWN, CANDIDATES = 5, 20
"""Paths that are named at most where several notes have a name, and headings that are listed."""


class NoteLinks(NamedTuple):
    """The links of one note.

    Attributes:
        path: of the note.
        out: its targets as written, in order, each with the path of the file it leads to, or None for none.
        back: the notes that link to it.
    """

    path: str
    out: list[tuple[str, str | None]]
    back: list[str]


def links(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NoteLinks:
    """The links of the note of that name.

    Raises:
        NotFoundError: there is none.
    """
    attachments = tuple(path for path in _attachments(vault) if vault.layout.scope_of(path) in ("", scope))
    table = reader.links(scope, attachments)
    path = _found(table, name)
    return NoteLinks(path, table.out(path), table.back(path))


class NamedPlace(NamedTuple):
    """What a name leads to.

    Attributes:
        path: of the note.
        line: 1-based.
        headings: the one that is meant, if one is.
        block_id: likewise, without its caret.
    """

    path: str
    line: int = 1
    headings: tuple[str, ...] = ()
    block_id: str | None = None


def place(reader: IndexReader, vault: Vault, name: str, *, scope: str) -> NamedPlace:
    """The note of that name; else the part of one that ``Note#Heading`` or ``Note#^id`` names; else the only heading.

    Raises:
        NotFoundError: there is none, as for :func:`called`.
        AmbiguousError: several headings are called so; they are listed.
        UsageError: several notes are.
    """
    note, parted, part = name.partition("#")
    if parted and note.strip() and part.strip() and not reader.called([key(name)], Filter(scope=scope)):
        return _part(vault, called(reader, note.strip(), scope=scope), part.strip())
    try:
        return NamedPlace(called(reader, name, scope=scope))
    except NotFoundError as error:
        found = [
            NamedPlace(path, section.start_line, (section.title,))
            for path in reader.names(scope).headed(name)
            for section in vault.note(path).document.sections
            if section.level and key(section.title) == key(name)
        ]
        if len(found) > 1:
            listed = [f"{each.path}:{each.line}  {each.headings[0]}" for each in found[:CANDIDATES]]
            more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
            hint = "name one as in a link: Note#Heading"
            raise AmbiguousError(f"{counted(len(found), 'heading')} are called {name!r}{more}", listed, hint) from None
        if not found:
            raise error from None
        return found[0]


def _part(vault: Vault, path: str, part: str) -> NamedPlace:
    """The heading, or with a caret the block, that a link names behind ``#``; of nested headings the last one."""
    document = vault.note(path).document
    if part.startswith("^"):
        line = block_ids(document).get(part[1:].casefold())
        found = None if line is None else NamedPlace(path, line, block_id=part[1:])
    else:
        section = document.find_section(part.rpartition("#")[2])
        found = None if section is None else NamedPlace(path, section.start_line, (section.title,))
    if found is None:
        raise NotFoundError(f"{path} has no heading or block {part!r}", f"tars-memory open {path} opens the note")
    return found


def called(reader: IndexReader, name: str, *, scope: str) -> str:
    """The path of the note of that name, or at that path.

    Raises:
        NotFoundError: there is none; names that are spelt alike are told, else those that begin so.
        UsageError: several have the name.
    """
    notes = reader.called([key(name)], Filter(scope=scope)).get(key(name), [])
    if len(notes) == 1:
        return notes[0][1]
    path = reader.links(scope).find(name) if not notes or "/" in name else None
    if path is not None:
        return path
    if notes:
        paths = [path for _, path, _ in notes]
        more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
        raise UsageError(
            f"{counted(len(paths), 'note')} are called {name!r}: {', '.join(paths[:SHOWN])}{more}",
            "name one by its path",
        )
    names = reader.names(scope)
    near = names.near(name) or names.beginning(name)
    raise NotFoundError(
        f"no note is called {name!r}", did_you_mean(near) if near else f"tars-memory search {name} looks inside notes"
    )


def did_you_mean(names: Sequence[str]) -> str:
    """The question that offers these names."""
    *others, last = names
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def selected(
    reader: IndexReader,
    where: Sequence[str],
    linked_to: Sequence[str],
    links_to: Sequence[str],
    *,
    scope: str,
) -> tuple[int, ...]:
    """The notes that fulfil everything: numbers of rows.

    Args:
        reader: of the index.
        where: conditions on properties.
        linked_to: notes that must link to them.
        links_to: notes that they must link to.
        scope: a project whose notes count too.

    Raises:
        UsageError: a condition that is none.
        NotFoundError: a named note that is not there.
    """
    sets: list[set[int]] = [reader.notes_where(where)] if where else []
    if linked_to or links_to:
        table = reader.links(scope)
        for name in linked_to:
            targets = (path for _, path in table.out(_found(table, name)))
            sets.append({table.ids[path] for path in targets if path in table.ids})
        for name in links_to:
            back = table.back(_found(table, name))
            sets.append({table.ids[path] for path in back})
    return tuple(sorted(set.intersection(*sets)))


def _found(table: LinkTable, name: str) -> str:
    path = table.find(name)
    if path is None:
        raise NotFoundError(f"there is no note {name!r}", "name it as in a link: its name, or its path in the vault")
    return path


def _attachments(vault: Vault) -> Iterator[str]:
    """Files that are no notes, as links name them; hidden ones are left out."""
    for folder, folders, names in os.walk(vault.root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = os.path.relpath(folder, vault.root).replace(os.sep, "/")
        for name in names:
            if not name.startswith(".") and not name.lower().endswith(".md"):
                yield name if inside == "." else f"{inside}/{name}"
