"""Sources of conversations that are looked at night by night: files and folders of chat logs, and which are new."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

from tars_memory import disk
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.transaction import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class Record:
    """What is known of sources, in the state folder.

    A file that can't be read counts as nothing known: then everything is looked at again, and added once all the same.

    Attributes:
        sources: size, time and inode of each file, taken before all of it was examined.
        kept: size, time and inode of each file whose turns were kept before it goes.
        failed: nights in a row in which a file could not be examined.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        said = disk.own_object(path)
        self.sources: dict[str, Any] = _table(said.get("sources"))
        self.kept: dict[str, Any] = _table(said.get("kept"))
        self.failed = {name: count for name, count in _table(said.get("failed")).items() if isinstance(count, int)}

    def new(self, sources: Iterable[str], counts: dict[str, int], errors: list[str]) -> dict[str, list[int]]:
        """The files of sources that are new or changed, with their stamps; what failed before comes last.

        Args:
            sources: files and folders.
            counts: ``unchanged`` is raised by those that need no look.
            errors: takes a sentence for what is not there or can't be read.
        """
        found: dict[str, list[int]] = {}
        for path in files(sources, errors):
            try:
                stamp = _stamp(path)
            except OSError as error:
                errors.append(f"{path} can't be read: {error.strerror}")
                continue
            if stamp is not None and self.sources.get(path) != stamp:
                found[path] = stamp
            elif stamp is not None:
                counts["unchanged"] += 1
        return dict(sorted(found.items(), key=lambda each: self.failed.get(each[0], 0)))

    def seen(self, path: str, stamp: list[int]) -> None:
        """Note durably that a file needs no look until it changes."""
        self.sources[path] = stamp
        self.failed.pop(path, None)
        self.save()

    def going(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """Those of some files whose turns were not kept yet, with their stamps."""
        found: dict[str, list[int]] = {}
        for path in paths:
            try:
                stamp = _stamp(path)
            except OSError:
                continue
            if stamp is not None and self.kept.get(path) != stamp:
                found[path] = stamp
        return found

    def forget(self) -> None:
        """Look at everything again next time."""
        self.sources, self.failed, self.kept = {}, {}, {}
        self.save()

    def save(self) -> None:
        """Write it durably.

        Raises:
            UnwritableError: it can't be written.
        """
        with writing(os.fspath(self.path)):
            said = {"sources": self.sources, "failed": self.failed, "kept": self.kept}
            replace_file(self.path, json.dumps(said, indent=1).encode("ascii"))


def files(sources: Iterable[str], errors: list[str]) -> Iterator[str]:
    """The files of all sources, each with its whole path; hidden ones inside a folder are left out."""

    def unreadable(error: OSError) -> None:
        errors.append(f"{error.filename} can't be read: {error.strerror}")

    for source in sources:
        path = os.path.realpath(source)
        if os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            for folder, folders, names in os.walk(path, onerror=unreadable):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))
        else:
            errors.append(f"{source} is not there")


def _stamp(path: str) -> list[int] | None:
    """What changes when a file does; taken before it is read, so that what is added meanwhile counts as new.

    None for what is gone by now, or no regular file: a pipe would keep us waiting for ever.

    Raises:
        OSError: it can't be read now.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return None
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _table(said: object) -> dict[str, Any]:
    return said if isinstance(said, dict) else {}
