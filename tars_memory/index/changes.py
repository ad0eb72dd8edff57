"""What has changed since the last sweep: a pure comparison of two dictionaries, and the brake.

Nothing here touches a disk; the indexer hands in what it read.
"""

from __future__ import annotations

import sys
from struct import Struct, error, pack
from typing import TYPE_CHECKING

from tars_memory.disk import blake2b
from tars_memory.errors import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STAMP = Struct("<qqqq")
"""size, mtime_ns, ctime_ns, inode."""
LOOK_AGAIN = b""
"""The stamp of a note that must be read again whatever its stat says."""
UNSURE = b"?"
"""Stands behind a stamp too young to be believed."""

RACY_NS = 50_000_000
"""A change this young may share its time stamp with the next one: file systems keep time in steps of up to 10 ms."""
COARSE_RACY_NS = 2_100_000_000
"""The same where times come in whole seconds or, on FAT, in steps of two."""

BRAKE_SHARE = 0.30
BRAKE_COUNT = 20
"""More than both vanished and nothing new: rather a share that isn't mounted than a person tidying up (design 4)."""


class Changes:
    """The difference between two looks.

    Attributes:
        added: paths that were not there before.
        changed: paths whose stamp differs; whether the bytes differ only reading tells.
        missing: paths that were there before.
        unsure: paths whose stamp is the same but was too young to be believed when it was taken.
    """

    __slots__ = ("added", "changed", "missing", "unsure")

    def __init__(self, added: list[str], changed: list[str], missing: list[str], unsure: list[str]) -> None:
        self.added = added
        self.changed = changed
        self.missing = missing
        self.unsure = unsure

    def __len__(self) -> int:
        """How many notes differ for certain."""
        return len(self.added) + len(self.changed) + len(self.missing)


class Sweep:
    """What one walk saw.

    Args:
        folders: (prefix, names, four numbers for each name) of every folder, as :meth:`Vault.sweep` gives them.

    Attributes:
        digest: of all paths and stamps in the order of the walk: equal for two sweeps that saw the same in the same
            order, which file systems keep as long as a folder does not change.
    """

    __slots__ = ("_packed", "digest")

    def __init__(self, folders: Iterable[tuple[str, list[str], list[int]]]) -> None:
        digest = blake2b(digest_size=20)
        self._packed: list[tuple[str, list[str], bytes]] = []
        for prefix, names, numbers in folders:
            packed = _packed(numbers)
            digest.update("\0".join((prefix, *names, "")).encode("utf-8", "surrogateescape"))
            digest.update(packed)
            self._packed.append((prefix, names, packed))
        self.digest = digest.digest()

    def stamps(self) -> dict[str, bytes]:
        """Path → stamp."""
        size = STAMP.size
        return {
            prefix + name: packed[at * size : (at + 1) * size]
            for prefix, names, packed in self._packed
            for at, name in enumerate(names)
        }


def _packed(numbers: list[int]) -> bytes:
    """The stamps of a folder, one after the other; an inode of more than 63 bits is cut."""
    try:
        return pack(f"<{len(numbers)}q", *numbers)  # 2.5 times as fast as an array
    except error:
        return pack(f"<{len(numbers)}q", *(number & 0x7FFF_FFFF_FFFF_FFFF for number in numbers))


def is_racy(stamp: bytes, now_ns: int) -> bool:
    """Git's racy rule: whether the file changed so shortly before we looked that a later change could look the same.

    The time compared is that of the last change of any kind (ctime), which no program can set; where that is the time
    of creation (Windows), the one of the last write.
    """
    _, mtime, ctime, _ = STAMP.unpack(stamp)
    changed = mtime if sys.platform == "win32" else ctime
    window = RACY_NS if changed % 1_000_000_000 else COARSE_RACY_NS
    return bool(changed + window >= now_ns)


def diff(stored: Mapping[str, bytes], found: Mapping[str, bytes]) -> Changes:
    """Compare the stamps of the last sweep with those of this one; each list sorted by path."""
    if stored == found:
        return Changes([], [], [], [])
    added = sorted(found.keys() - stored.keys())
    missing = sorted(stored.keys() - found.keys())
    changed: list[str] = []
    unsure: list[str] = []
    for path, now in found.items():
        was = stored.get(path, now)
        if was != now:
            (unsure if was == now + UNSURE else changed).append(path)
    return Changes(added, sorted(changed), missing, sorted(unsure))


def brake(stored: int, found: int, changes: Changes, *, other_device: bool = False) -> str | None:
    """Why this sweep should not be believed, or None.

    Args:
        stored: notes known before.
        found: notes seen now.
        changes: the difference.
        other_device: the root lies on another device than at the last sweep.

    Returns:
        A sentence's end, "the vault …".
    """
    missing = len(changes.missing)
    if not stored or not missing:
        return None
    if not found:
        return f"looks empty: all of it is gone ({counted(stored, 'note')})"
    share = missing / stored
    if other_device and share > BRAKE_SHARE:
        return f"is on another device than before and {missing} of {counted(stored, 'note')} gone"
    if share > BRAKE_SHARE and missing > BRAKE_COUNT and not changes.added:
        return f"looks unmounted or emptied: {missing} of {counted(stored, 'note')} gone, and none is new"
    return None
