"""The pure comparison of two looks."""

from __future__ import annotations

import pytest

from tars_memory.index.database import STAMP
from tars_memory.index.intake import RACY_NS, Diff, Sweep, brake, diff, is_racy

SECOND = 1_000_000_000


def test_diff() -> None:
    difference = diff({"a": b"1", "b": b"2", "c": b"3"}, {"a": b"1", "b": b"x", "d": b"4"})
    assert (difference.added, difference.changed, difference.missing) == (["d"], ["b"], ["c"])
    assert len(difference) == 3
    assert not diff({"a": b"1"}, {"a": b"1"})
    difference = diff({"a": b"1?", "b": b"1?"}, {"a": b"1", "b": b"2"})
    assert (difference.changed, difference.unsure, len(difference)) == (["b"], ["a"], 1)


def test_a_sweep_tells_any_number_apart() -> None:
    base = [("", ["a.md"], [1, 2, 3, 4]), ("x/", ["b.md"], [5, 6, 7, 8])]
    assert Sweep(base, {}).digest == Sweep(list(base), {}).digest
    assert Sweep(base, {}).stamps() == {"a.md": STAMP.pack(1, 2, 3, 4), "x/b.md": STAMP.pack(5, 6, 7, 8)}
    for at in range(4):
        numbers = [1, 2, 3, 4]
        numbers[at] += 1
        assert Sweep([("", ["a.md"], numbers), base[1]], {}).digest != Sweep(base, {}).digest
    assert Sweep([("", ["b.md"], [1, 2, 3, 4]), base[1]], {}).digest != Sweep(base, {}).digest
    assert Sweep([("", ["a.md", "x/b.md"], [1, 2, 3, 4, 5, 6, 7, 8])], {}).digest != Sweep(base, {}).digest


def test_an_inode_of_64_bits_is_a_stamp_too() -> None:
    one, other = (Sweep([("", ["a"], [1, 2, 3, 2**64 - by])], {}) for by in (1, 2))
    assert one.digest != other.digest


@pytest.mark.parametrize(
    ("changed", "now", "racy"),
    [
        (100 * SECOND + 5, 100 * SECOND + 5, True),
        (100 * SECOND + 5, 100 * SECOND + 5 + RACY_NS + 1, False),
        (100 * SECOND, 101 * SECOND, True),  # a clock of whole seconds
        (100 * SECOND, 103 * SECOND, False),
        (200 * SECOND + 5, 100 * SECOND, True),  # the file system's clock is ahead
    ],
)
def test_racy(changed: int, now: int, racy: bool) -> None:
    assert is_racy(STAMP.pack(1, 0, changed, 1), now) is racy


@pytest.mark.parametrize(
    ("stored", "missing", "added", "other", "trips"),
    [
        (100, 31, 0, False, True),
        (100, 30, 0, False, False),
        (50, 20, 0, False, False),  # a share that is large, of few notes
        (100, 100, 0, False, True),
        (3, 3, 0, False, True),  # an empty folder is never believed
        (100, 60, 1, False, False),  # something new: a person moved things
        (10, 5, 5, True, True),
        (10, 0, 0, True, False),
        (0, 0, 5, False, False),
    ],
)
def test_brake(stored: int, missing: int, added: int, other: bool, trips: bool) -> None:
    changes = Diff([f"+{n}" for n in range(added)], [], [f"-{n}" for n in range(missing)], [])
    found = stored - missing + added
    assert (brake(stored, found, changes, other_device=other) is not None) is trips
