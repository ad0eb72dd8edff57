"""Who links to whom, from the rows of the notes; targets are resolved as Obsidian does, by the names that there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.index.schema import BETWEEN
from tars_memory.vault.links import Links, key_of

if TYPE_CHECKING:
    import sqlite3


class LinkTable:
    """The links between the indexed notes of some scopes.

    Args:
        connection: of the index.
        scope: a project whose notes count beside those outside projects.
        attachments: paths of files that are no notes, which links lead to as well.
    """

    def __init__(self, connection: sqlite3.Connection, scope: str = "", attachments: tuple[str, ...] = ()) -> None:
        sql = (
            "SELECT n.id, n.path, n.links FROM notes n JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"
            " ORDER BY n.path"
        )
        rows = connection.execute(sql, (scope,)).fetchall()
        self.ids = {str(path): int(key) for key, path, _ in rows}
        self._targets = {str(path): tuple(filter(None, links.split(BETWEEN))) for _, path, links in rows}
        self._links = Links((*self.ids, *attachments))

    def find(self, name: str) -> str | None:
        """The note that a name or a path means; None if there is none."""
        found = name if name in self.ids else self._links.resolve(name)
        return found if found in self.ids else None

    def out(self, path: str) -> list[tuple[str, str | None]]:
        """The targets of a note's links as written, in order, each with the path it leads to, or None."""
        return [(target, self._links.resolve(target, path)) for target in self._targets.get(path, ())]

    def back(self, path: str) -> list[str]:
        """The notes that link to a note, in order; itself is none of them."""
        name = key_of(path.rpartition("/")[2].removesuffix(".md"))
        return [
            other
            for other, targets in self._targets.items()
            if other != path
            and any(name in key_of(target) and self._links.resolve(target, other) == path for target in targets)
        ]
