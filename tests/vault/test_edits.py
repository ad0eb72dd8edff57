"""Where a bullet goes, byte for byte, and what stands around it afterwards."""

from __future__ import annotations

import time

import pytest

from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.model import Splice
from tars_memory.vault.note import Note


def insert(data: bytes, section: str = "Log", bullet: str = "- new") -> bytes:
    return apply(data, edits.insert_bullet(data, bullet, section=section))


def entry(data: bytes, text: str, *, timed: bool = False) -> entries.Entry:
    return next(found for found in entries.read("n.md", Document(data), timed=timed) if found.text == text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"## Log\n- new\n"),
        (b"\n\n", b"\n\n## Log\n- new\n"),
        (b"\xef\xbb\xbf", b"\xef\xbb\xbf## Log\n- new\n"),
        (b"text", b"text\n\n## Log\n- new\n"),
        (b"text\r\n", b"text\r\n\r\n## Log\r\n- new\r\n"),
        (b"text\r", b"text\r\r## Log\r- new\r"),
        (b"text\n\n", b"text\n\n## Log\n- new\n"),
        (b"## Log", b"## Log\n- new\n"),
        (b"## Log\n", b"## Log\n- new\n"),
        (b"## Log\n\n- a", b"## Log\n\n- a\n- new\n"),
        (b"## Log\r\n- a\r\n", b"## Log\r\n- a\r\n- new\r\n"),
        (b"## Log\n- a\n\ntext\n", b"## Log\n- a\n\ntext\n- new\n"),
        (b"## Log\n- a\n\n## Next\n", b"## Log\n- a\n- new\n\n## Next\n"),
        (b"## Log\n- a\n  - child\n\n\n\n## Next\n", b"## Log\n- a\n  - child\n- new\n\n\n\n## Next\n"),
        (b"## Log\n\n## Next\n", b"## Log\n- new\n\n## Next\n"),
        (b"## Log\n## Next\n", b"## Log\n- new\n## Next\n"),
        (b"## Log\n- a\n### Sub\n- b\n", b"## Log\n- a\n- new\n### Sub\n- b\n"),
        (b"## Log\n- a\n```\ncode", b"## Log\n- a\n- new\n```\ncode"),
        (b"```\n## Log\n", b"## Log\n- new\n\n```\n## Log\n"),
        (b"## Log\n%%\nopen\n", b"## Log\n- new\n%%\nopen\n"),
        (b"## Log\n- a\n%%\nopen\n", b"## Log\n- a\n- new\n%%\nopen\n"),
        (b"## Log\n- a\n  - b\n%%\nopen\n", b"## Log\n- a\n  - b\n- new\n%%\nopen\n"),
        (b"## Log\n<div>\n", b"## Log\n<div>\n\n- new\n"),
        (b"## Log\n  text\n---\n", b"## Log\n   - new\n\n  text\n---\n"),
        (b"## Log\n      - x\n2. two\n  ```\n", b"## Log\n      - x\n2. two\n - new\n  ```\n"),
        (b"---\na: b\n---", b"---\na: b\n---\n\n## Log\n- new\n"),
        (b"## Log\n| a |\n|---|\n", b"## Log\n| a |\n|---|\n- new\n"),
        (
            b"## Log\n- a\n\n%% kanban:settings\n```\n{}\n```\n%%",
            b"## Log\n- a\n\n%% kanban:settings\n```\n{}\n```\n%%\n- new\n",
        ),
    ],
)
def test_a_bullet_goes_to_the_end_of_its_section(before: bytes, after: bytes) -> None:
    assert insert(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"- new\n"),
        (b"text", b"text\n- new\n"),
        (b"# T\n", b"# T\n- new\n"),
        (b"<!-- tars:memory x -->", b"<!-- tars:memory x -->\n- new\n"),
        (b"# T\n\ntext\n\n## A\n- b\n", b"# T\n\ntext\n- new\n\n## A\n- b\n"),
        (b"- a\n\n# T\n- b\n", b"- a\n- new\n\n# T\n- b\n"),
        (b"\xef\xbb\xbf## A\r\n- b\r\n", b"\xef\xbb\xbf- new\r\n## A\r\n- b\r\n"),
        (b"---\na: b\n---\n## A\n", b"---\na: b\n---\n- new\n## A\n"),
        (b"```\nopen\n", b"- new\n```\nopen\n"),
    ],
)
def test_a_bullet_without_a_heading_comes_before_all_of_them(before: bytes, after: bytes) -> None:
    assert apply(before, edits.insert_bullet(before, "- new", section="")) == after


def test_a_new_line_ends_as_its_neighbour_does() -> None:
    assert insert(b"## Log\r\n- a\r\n\n## Next\n") == b"## Log\r\n- a\r\n- new\r\n\n## Next\n"
    assert insert(b"# T\r## Log\r- a") == b"# T\r## Log\r- a\r- new\r"


def test_children_come_along() -> None:
    assert insert(b"## Log\r\n", bullet="- new\n  - answer:: x") == b"## Log\r\n- new\r\n  - answer:: x\r\n"


def test_replacing_keeps_mark_machinery_and_children() -> None:
    data = b"* 14:30 [extracted] old\n  words ([[a#^d|x]]) ^m-1\n  - child\n- z\n"
    found = entry(data, "old words", timed=True)
    after = apply(data, edits.replace_bullet(Note(found.path, data, timed=True), found, "new"))
    assert after == b"* 14:30 [extracted] new ([[a#^d|x]]) ^m-1\n  - child\n- z\n"
    assert edits.replace_bullet(Note(found.path, data, timed=True), found, "old words") == []


@pytest.mark.parametrize(
    ("data", "after"),
    [
        (b"- a\n- b\n- c\n", b"- a\n- c\n"),
        (b"- a\n- b", b"- a"),
        (b"- b", b""),
        (b"\xef\xbb\xbf- b\r\n- c", b"\xef\xbb\xbf- c"),
        (b"- a\n- b\n  - child\n\n  para\n\n- c\n", b"- a\n\n- c\n"),
        (b"text\n- b\n---\n", b"text\n\n---\n"),
        (b"a\r- b\r\n\nc", b"a\r\n\nc"),
    ],
)
def test_removing_takes_the_children_and_nothing_else(data: bytes, after: bytes) -> None:
    assert apply(data, edits.remove_bullet(Note("", data), entry(data, "b"))) == after


def test_changes_of_a_note_that_loses_all_its_lines_keep_what_is_put_in_their_place() -> None:
    made = edits.Changes(b"c")
    made.make([Splice(0, 1, b"")])
    made.make([Splice(0, 0, b"a"), Splice(0, 0, b"b")])
    assert (made.data, apply(b"c", made.splices())) == (b"ab", b"ab")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pinned: |\n  a\n\n  b\nx: 1\n", "pinned: true\nx: 1\n"),
        ("pinned:\n# why\n- a\n\n- b\n\n# of x\nx: 1\n", "pinned: true\n\n# of x\nx: 1\n"),
        ("pinned: 'a' # why\n", "pinned: true # why\n"),
        ('pinned: "a # no\n  b"\nx: 1\n', "pinned: true\nx: 1\n"),
        ("pinned: a\n \nx: 1\n", "pinned: true\n \nx: 1\n"),
        ("pinned:\r\nx: 1\r\n", "pinned: true\r\nx: 1\r\n"),
    ],
)
def test_a_property_is_replaced_with_all_its_lines(before: str, after: str) -> None:
    fence = "---\r\n" if "\r" in before else "---\n"
    data, changed = ((fence + text + fence).encode() for text in (before, after))
    assert apply(data, edits.set_property(data, "pinned", "true")) == changed


def test_a_value_with_many_blanks_is_replaced_in_linear_time() -> None:
    data = f"---\ntitle: x{' ' * 100_000}y # why\n---\n".encode()
    start = time.process_time()
    assert apply(data, edits.set_property(data, "title", "z")) == b"---\ntitle: z # why\n---\n"
    assert time.process_time() - start < 2, "each blank was tried as the one before a comment: ten seconds"
