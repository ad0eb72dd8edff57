"""Random notes: an edit changes its own span alone, and a new bullet is a list item in the section meant for it."""

from __future__ import annotations

import re
from random import Random

import pytest
from markdown_it import MarkdownIt
from random_documents import document, scale, seeded

from tars_memory.errors import ConflictError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, apply, plain_heading
from tars_memory.vault.model import Splice
from tars_memory.vault.note import Note

PLAIN = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").disable("inline", True)


def only_its_span(before: bytes, splices: list[Splice]) -> bytes:
    after = apply(before, splices)
    (splice,) = splices
    assert after[: splice.start] == before[: splice.start]
    assert after[splice.start + len(splice.data) :] == before[splice.end :]
    return after


def oracle(data: bytes, title: str, words: str) -> list[tuple[str, int]]:
    """By markdown-it alone: the heading above, and the depth, of each list item that begins with the words."""
    note = Document(data)
    text = data[note.lines[note.body_line - 1].start :] if note.body_line <= len(note.lines) else b""
    heading, found, tokens = "", [], PLAIN.parse(text.decode("utf-8", "surrogateescape"))
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0:
            heading = plain_heading(tokens[index + 1].content)
        is_worded = token.type == "list_item_open" and tokens[index + 1].type == "paragraph_open"
        if is_worded and tokens[index + 2].content.split("\n")[0] == words:
            found.append((heading, token.level))
    return found


def check_structure(data: bytes) -> None:
    note = Document(data)
    assert len(note.lines) == len(re.split(rb"\r\n|\r|\n", data))
    assert data[note.lines[0].start :] == b"".join(data[line.start : line.next] for line in note.lines)
    covered = [line for section in note.sections for line in range(section.start_line, section.end_line + 1)]
    assert covered == list(range(note.body_line, max(note.last_line + 1, note.body_line)))
    for bullet in note.bullets:
        assert bullet.line <= bullet.own_end_line <= bullet.end_line <= len(note.lines)
        assert note.line_at(bullet.start) == bullet.line


def check_insert(data: bytes, random: Random) -> None:
    title = random.choice(["Log", "Log", "Notes", "New one"])
    bullet = random.choice(["- new words", "- new words", "- new words\n  - answer:: child"])
    note = Document(data)
    after = only_its_span(data, edits.insert_bullet(data, bullet, section=title))
    made = [entry for entry in entries.read("n.md", Document(after)) if entry.text == "new words"]
    assert len(made) == 1
    assert (made[0].section, made[0].depth) == (title, 0)
    assert made[0].end_line == made[0].line + bullet.count("\n")
    target = note.find_section(title)
    if note.open_line is None and (target is None or target is note.sections[-1]):
        assert after.startswith(data)
    if b"%%" not in data and b"$$" not in data:
        assert oracle(after, title, "new words") == [(title, 1)]
    back = edits.remove_bullet(Note("", after), made[0])
    assert len(entries.read("n.md", Document(apply(after, back)))) == len(entries.read("n.md", note))


def check_amend(data: bytes, random: Random) -> None:
    old = entries.read("n.md", Document(data), timed=True)
    if not old:
        return
    entry = random.choice(old)
    after = only_its_span(data, edits.replace_bullet(Note("", data, timed=True), entry, "other words"))
    new = entries.read("n.md", Document(after), timed=True)
    assert len(new) == len(old)
    (changed,) = [now for now in new if now.text == "other words"]
    for name in ("line", "section", "block_id", "time", "state", "provenance", "depth"):
        assert getattr(changed, name) == getattr(entry, name)
    only_its_span(data, removal := edits.remove_bullet(Note("", data, timed=True), entry))
    assert removal[0].data == b""
    removed = data[removal[0].start : removal[0].end].decode("utf-8", "surrogateescape")
    assert re.split(r"\r\n|\r|\n", entry.raw)[0].strip() in removed
    flat = [entry for entry in old if not entry.depth]
    after = apply(data, edits.remove_bullets(Note("", data, timed=True), flat)) if flat else data
    lines = {line for entry in flat for line in range(entry.line, entry.end_line + 1)} if after != data else ()
    left = [other.text for other in entries.read("n.md", Document(after), timed=True)]
    assert left == [other.text for other in old if other.line not in lines]  # all or none are removed


def run(seed: int, count: int) -> None:
    random = seeded(seed)
    refused = 0
    for _ in range(count):
        data = document(random)
        check_structure(data)
        try:
            check_insert(data, random)
        except ConflictError:
            refused += 1
        check_amend(data, random)
    assert refused <= count // 1000


@pytest.mark.parametrize("seed", range(3))
def test_an_edit_changes_only_its_own_span(seed: int) -> None:
    run(seed, 100)


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(100, 104))
def test_an_edit_changes_only_its_own_span_in_20_000_documents(seed: int) -> None:
    run(seed, scale(5_000))
