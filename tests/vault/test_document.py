"""What a note's structure is: sections, bullets, blocks, front matter, and what is left open."""

from __future__ import annotations

from sys import getsizeof

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.vault.markdown import document as structure
from tars_memory.vault.markdown.bylines import ByLines
from tars_memory.vault.markdown.document import Document, apply, front_aliases, front_tags, plain_heading, read_front
from tars_memory.vault.model import Splice


def bullets(data: bytes) -> list[tuple[int, int, int]]:
    return [(bullet.line, bullet.own_end_line, bullet.end_line) for bullet in Document(data).bullets]


def kinds(data: bytes) -> list[tuple[str, int, int]]:
    return [(block.kind, block.start_line, block.end_line) for block in Document(data).blocks]


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"", 1), (b"a", 1), (b"a\n", 2), (b"a\r\nb\rc\nd", 4), (b"\n\r", 3), ("a\u2028b\x85c\x0c".encode(), 1)],
)
def test_lines_end_at_newline_and_return_only(data: bytes, count: int) -> None:
    assert len(Document(data).lines) == count


def test_a_byte_order_mark_is_no_text() -> None:
    note = Document(b"\xef\xbb\xbf# Title\n- a\n")
    assert note.sections[0].title == "Title"
    assert note.text(1) == "# Title"
    assert note.text(1, 2) == "# Title\n- a"
    assert note.bullets[0].line == 2


def test_bytes_that_are_no_utf_8_come_back() -> None:
    data = b"- a\xff\xfe\x00b\n"
    assert Document(data).text(1).encode("utf-8", "surrogateescape") == data[:-1]


def test_sections_are_flat_and_know_their_path() -> None:
    note = Document(b"before\n# One\n## Two\ntext\n\nThree\n---\n- a\n# Four\n")
    assert [(s.path, s.level, s.start_line, s.body_line, s.end_line) for s in note.sections] == [
        ((), 0, 1, 1, 1),
        (("One",), 1, 2, 3, 2),
        (("One", "Two"), 2, 3, 4, 5),
        (("One", "Three"), 2, 6, 8, 8),
        (("Four",), 1, 9, 10, 9),
    ]
    assert note.section_at(8).title == "Three"


def test_headings_in_fences_quotes_lists_and_comments_are_none() -> None:
    data = b"```\n## Log\n```\n> ## Log\n\n- ## Log\n\n%%\n## Log\n%%\n\n<!--\n## Log\n-->\n"
    assert Document(data).find_section("Log") is None


@pytest.mark.parametrize(
    "heading",
    [
        b"## Log",
        b"## Log ##",
        b"##\tLog  ",
        b"## **Log**",
        b"## [[Log]]",
        b"## [[note|Log]]",
        b"## [Log](x.md)",
        b"### Log",
        b"Log\n---",
        b"## `Log`",
        b"## log",
    ],
)
def test_a_section_is_found_by_the_words_of_its_heading(heading: bytes) -> None:
    section = Document(b"# Day\n\n" + heading + b"\n- a\n").find_section("Log")
    assert section is not None
    assert section.start_line == 3


def test_level_two_is_preferred_then_the_first() -> None:
    note = Document(b"# Log\n### Log\n## Log\n## Log\n## log\n")
    section = note.find_section("Log")
    assert section is not None
    assert section.start_line == 3


def test_plain_heading_keeps_the_characters_of_words() -> None:
    assert plain_heading("C# and snake_case_name, 2 * 3") == "C# and snake_case_name, 2 3"
    assert plain_heading(r"\# not a mark \*") == "# not a mark *"


def test_bullets_have_children_and_lazy_lines() -> None:
    assert bullets(b"- a\n  more\nlazy\n  - child\n    - deep\n- b\n\n  second paragraph\n\n\n* c\n") == [
        (1, 3, 5),
        (4, 4, 5),
        (5, 5, 5),
        (6, 6, 8),
        (11, 11, 11),
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"```\n- a\n```\n",
        b"~~~\n- a\n",
        b"    - code\n",
        b"<!--\n- a\n-->\n",
        b"<div>\n- a\n</div>\n",
        b"%%\n- a\n%%\n",
        b"text %%\n- a\n%%\n",
        b"$$\n- a\n$$\n",
        b"| x |\n|---|\n| - a |\n",
        b"> - quoted\n",
        b"---\nlist:\n- a\n---\n",
        b"1. one\n",
        b"-not\n",
        b"- - -\n",
    ],
)
def test_what_only_looks_like_a_bullet_is_none(data: bytes) -> None:
    assert bullets(data) == []


@pytest.mark.parametrize(
    "data", [b"%% x %% \n- a\n", b"100%% sure\n\n- a\n", b"`%%`\n- a\n", b"$$ 5\n- a\n", b"%%\nx\n%%\n- a\n"]
)
def test_comments_end(data: bytes) -> None:
    assert len(bullets(data)) == 1


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a\n```\nb\n", 2),
        (b"a\n```\nb\n```\n", None),
        (b"a\n````\nb\n```\n", 2),
        (b"```", 1),
        (b"a\n\n%%\nb\n", 3),
        (b"<!-- a\n\nb\n", 1),
        (b"<!-- a -->\n", None),
        (b"<script>\n\nb\n", 1),
        (b"<div>\nb\n", None),
        (b"- ```\n  b\n", None),
        (b"> ```\n> b\n", None),
        (b"---\nx: y\n---\na\n~~~\nb\n", 5),
    ],
)
def test_what_swallows_all_that_follows_is_open(data: bytes, line: int | None) -> None:
    assert Document(data).open_line == line


def test_blocks_come_in_order_with_list_items_apart() -> None:
    data = b"# H\ntext\nmore\n\n- a\n  - b\n\n1. c\n\n> q\n\n| a |\n|---|\n\n"
    data += b"```\nx\n```\n\n    code\n\n***\n<b>\nx\n\n%%\nc\n%%\n"
    assert kinds(data) == [
        ("heading", 1, 1),
        ("paragraph", 2, 3),
        ("item", 5, 6),
        ("item", 8, 8),
        ("quote", 10, 10),
        ("table", 12, 13),
        ("fence", 15, 17),
        ("code", 19, 19),
        ("rule", 21, 21),
        ("html", 22, 23),
        ("comment", 25, 27),
    ]


def test_front_matter_stands_at_the_very_start_only() -> None:
    note = Document(b"\xef\xbb\xbf---\r\ntitle: A\r\ntags: [x, 'y z']\r\n---\r\n# H\r\n")
    assert note.front_matter_lines == (1, 4)
    assert note.front_matter == {"title": "A", "tags": ["x", "y z"]}
    assert note.body_line == 5
    for data in (b"\n---\na: b\n---\n", b"---\na: b\n", b" ---\na: b\n---\n", b"---\na: b\n...\n"):
        assert Document(data).front_matter_lines is None
        assert Document(data).front_matter == {}


def test_front_matter_values_stay_text() -> None:
    values = read_front("date: 2026-11-21\nno: no\nnull: ~\nn: 010\nnested:\n  a: {b: [1]}\n")
    assert values == {"date": "2026-11-21", "no": "no", "null": "~", "n": "010", "nested": {"a": {"b": ["1"]}}}


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x\n",
        "a: [" * 40,
        "- a\n- b\n",
        "just text",
        "a: b: c",
        "\x00",
        "[" * 30_000,
        "- " * 30_000,
        "x: " + "y" * 70_000,
        "!!python/object/apply:os.system [ls]",
    ],
)
def test_front_matter_that_is_no_plain_mapping_is_empty(text: str) -> None:
    assert read_front(text) == {}


def test_tags_and_aliases_are_read_in_every_form() -> None:
    assert front_tags({"tags": ["#a", "b/c", "a"], "tag": "d, e f"}) == ("a", "b/c", "d", "e", "f")
    assert front_tags({"tags": {"no": "list"}}) == ()
    assert front_aliases({"aliases": "One, Two", "alias": ["Three, still"]}) == ("One", "Two", "Three, still")


def test_splices_must_not_overlap() -> None:
    assert apply(b"abcdef", [Splice(1, 2, b"X"), Splice(2, 2, b"Y"), Splice(6, 6, b"Z")]) == b"aXYcdefZ"
    with pytest.raises(ValueError, match="overlaps"):
        apply(b"abc", [Splice(1, 3, b""), Splice(2, 3, b"")])
    with pytest.raises(ValueError, match="leaves"):
        apply(b"abc", [Splice(2, 4, b"")])


@pytest.mark.parametrize(
    "data",
    [
        b"> " * 5_000,
        b"".join(b" " * (2 * n) + b"- a\n" for n in range(300)),
        b"[a\n" * 5_000,
        b"a %% b\n" * 5_000,
        b"%% a\n" * 5_000,
        b"<!-- \n" * 5_000,
        b"- ```\n" * 3_000,
        b"$$ a\n\n" * 3_000,
        b"`" * 100_000,
        b"a" * 1_000_000,
        b"***" * 20_000,
    ],
)
def test_hostile_notes_are_parsed(data: bytes) -> None:
    """Each of these took minutes in some parser; here a hundred times the work would still end with the test run."""
    assert len(Document(data * 3).lines) >= 1


def test_a_text_looked_at_again_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "MAX_CACHED_BYTES", 1_000)

    assert Document(b"- one\n- two\n").bullets is Document(b"- one\n- two\n").bullets
    long, other = (mark + b" x\n" * 1_000 for mark in (b"-", b"*"))
    assert (first := Document(long).bullets) is Document(long).bullets
    assert Document(other).bullets is Document(other).bullets  # of long ones, only the last is kept
    assert Document(long).bullets is not first


def test_the_front_matter_is_read_without_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "_tokens", None)
    assert Document(b"---\ndate: 2026-11-21\n---\n- not asked for\n").front_matter == {"date": "2026-11-21"}


BARE = [
    *("", "# T", "## Two words #", "### ", "#### `a` [b](c) *d*", "#no", "###### six ######", "# 100 %"),
    *("<!-- one -->", "<!-- two\n\n# no\nlines -->  ", "<!---->", "<!-->", "<!-- - -- x -->"),
    *("# <!-- in it -->", "<!-- a --> b"),
]


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(BARE)), st.booleans())
def test_a_note_without_words_has_the_same_shape_without_the_parser(lines: list[str], ends: bool) -> None:
    found, parsed = (Document(("\n".join(lines) + "\n" * ends).encode()) for _ in range(2))
    parsed.__dict__["_tokens"] = structure._parser(False).parse(parsed.data.decode())
    assert found._parse() == parsed._parse()


def test_tokens_of_a_long_note_take_less_memory_than_the_parsers() -> None:
    ours, theirs = ByLines("- one\n").tokens[0], structure._parser(False).parse("- one\n")[0]
    assert ours.type == theirs.type and 1.4 * getsizeof(ours) < getsizeof(theirs)
