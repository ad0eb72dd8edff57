"""Chunks: verbatim, with exact lines, bounded by headings, none lost."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from random_documents import examples

from tars_memory.index import chunking
from tars_memory.index.chunking import Parsed, pieces
from tars_memory.settings import CUT
from tars_memory.vault.links import targets
from tars_memory.vault.markdown import document, lines
from tars_memory.vault.markdown.lines import plain


def parse(path: str, data: bytes, *, facts: bool = False, session: bool = False, **others: Any) -> Parsed:
    outline = lines.outline(data, facts=facts, session=session)
    return chunking.parse(path, outline, list(targets(outline.lines)), session=session, **others)


def lines_of(data: bytes) -> list[str]:
    return re.split(r"\r\n|\r|\n", data.decode("utf-8-sig", "replace"))


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# A",
            "## B #tag",
            "- item",
            "  - nested ^id",
            "> quote",
            "```",
            "~~~",
            "| a |",
            "|---|",
            "text",
            "",
            " ",
            "%%",
            "$$",
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.sampled_from(["word " * 400, "x" * 2000, "One. Two! Three? " * 100, "東京。" * 500, "---", "[a]: b"]),
    max_size=20,
)


@settings(max_examples=examples(80))
@given(MARKDOWN, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
@example(["word " * 100, "zeppelin", "===", "## B"], "\n", False)  # a paragraph with a rule right below is a heading
@example(["## B", "## B", "# A", "- item"], "\n", False)  # a heading right above its like is one with it
@example(["---", "# A", "---"], "\n", False)  # a comment of properties
@example(["%%", "```", "# A"], "\n", False)  # a comment that never ends was taken for a plugin's
@example(["%%", "# A", "```", "%%"], "\n", False)  # as was one that ends right below the beginning of a fence
def test_every_chunk_is_the_notes_own_lines_and_no_word_is_lost(parts: list[str], ending: str, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + ending.join(parts).encode()
    note = parse("n.md", data)
    lines = lines_of(data)
    covered = set()
    for chunk in note.chunks:
        own = lines[chunk.start_line - 1 : chunk.end_line]
        if chunk.partial:
            assert chunk.start_line == chunk.end_line
            assert chunk.text in own[0]
            assert len(chunk.text) <= CUT.size
        else:
            assert chunk.text == "\n".join(own)
            assert len(chunk.text) <= CUT.size or len(own) > 1
        covered.update(range(chunk.start_line, chunk.end_line + 1))
    headings = " ".join(name for chunk in note.chunks for name in chunk.headings)
    texts = {line for chunk in note.chunks for line in chunk.text.split("\n")}
    body = 1
    if lines[0].rstrip(" \t") == "---" and len(note.chunks) and note.chunks[0].start_line > 1:
        body = note.chunks[0].start_line
    marks = [number for number, line in enumerate(lines, 1) if line.rstrip(" \t") == "---"]
    properties = range(marks[1] if len(marks) > 1 and marks[0] == 1 else 0)
    text = "\n".join(lines)
    plugins = [
        range(text.count("\n", 0, found.start()) + 1, text.count("\n", 0, found.end()) + 2)
        for found in re.finditer(r"(?ms)^%%$.*?^```.*?^```\n%%", text)
    ]
    for number, line in enumerate(lines, 1):
        if number in properties and line.lstrip().startswith("#"):
            continue  # a comment
        if any(number in lines_of_plugin for lines_of_plugin in plugins):
            continue
        if number >= body and re.search(r"[^\W_]", line) and number not in covered:
            words = re.findall(r"[^\W_]+", line)
            assert line in texts or any(word in headings for word in words), (number, line)


@given(st.text(alphabet="ab .!?。\"'", min_size=CUT.size + 1, max_size=5000))
def test_the_pieces_of_a_line_overlap_and_lose_nothing(line: str) -> None:
    end = 0
    for start, stop in pieces(line):
        assert 0 < stop - start <= CUT.size
        assert start <= end  # no gap
        assert start == 0 or start >= end - CUT.overlap
        assert stop > end
        end = stop
    assert end == len(line)


def test_a_huge_line_is_cut_in_linear_time() -> None:
    assert len(list(pieces("word " * 200_000))) > 1000


def test_small_blocks_are_packed_under_their_heading_only() -> None:
    note = parse("n.md", b"intro\n\n# A\n\n- one\n- two\n\ntext\n\n## B\n\nmore\n\n# Empty\n")
    assert [(c.start_line, c.end_line, c.headings) for c in note.chunks] == [
        (1, 1, ()),
        (5, 8, ("A",)),
        (12, 14, ("A", "B")),
    ]
    assert note.chunks[2].head == "n › A › B"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\n## B\n\n# C\n", ["## B\n\n# C"]),  # nothing but headings: they are what it says
        ("# A\n\n# B\n\ntext\n", ["# A\n\n# B\n\ntext"]),
        ("# A\n\ntext\n\n# B\n\n# C\n\nmore\n", ["text\n\n# B", "more"]),
        ("# A\n\n<!-- hint -->\n\n# B\n\nmore\n", ["# A", "more"]),
        ("# A\n\n" + "x" * 900 + "\n\n# B\n", ["x" * 800, "x" * 260, "# B"]),
        ("# A\n" * 2 + "# B\n" * 2, ["# A\n# B\n# B"]),
        ("#\n\n#\n", ["#"]),
    ],
)
def test_a_bare_heading_goes_with_the_text_beside_it(text: str, expected: list[str]) -> None:
    assert [chunk.text for chunk in parse("n.md", text.encode()).chunks] == expected


def test_many_bare_headings_are_cut_too() -> None:
    note = parse("n.md", "".join(f"# Heading {number}\n" for number in range(1000)).encode())
    assert max(len(chunk.text) for chunk in note.chunks) <= CUT.size
    assert [c.start_line for c in note.chunks[1:]] == [c.end_line + 1 for c in note.chunks[:-1]]


def test_the_headings_of_a_chunk_are_those_of_its_text() -> None:
    chunks = parse("n.md", b"# A\n\n# B\n\n## C\n\ntext\n\n# D\n").chunks
    assert [(chunk.start_line, chunk.end_line, chunk.headings) for chunk in chunks] == [(1, 9, ("B", "C"))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!-- hint -->\n", []),
        ("<!-- one\n\ntwo -->\n\ntext\n", ["text"]),
        ("one\n\n<!-- hint -->\n\ntwo\n", ["one", "two"]),
        ("<!-- a --> <!-- b -->\n", []),
        ("<!-- a --> text\n", ["<!-- a --> text"]),
        ("text <!-- a -->\n", ["text <!-- a -->"]),
        ("- item\n  <!-- a -->\n", ["- item\n  <!-- a -->"]),
        ("<!-- never closed\n\ntext\n", ["<!-- never closed\n\ntext"]),
        ("<div>\n<!-- a -->\n</div>\n", ["<div>\n<!-- a -->\n</div>"]),
        ("%%\ncomment\n%%\n", ["%%\ncomment\n%%"]),
        ("```\n<!-- code -->\n```\n", ["```\n<!-- code -->\n```"]),
        ("text\n\n%%\n## Drawing\n```compressed-json\nN4KAkA\n\nRSGiaG\n```\n%%\n", ["text"]),  # Excalidraw
        ("text\n\n%% kanban:settings\n```\n{}\n```\n%%\n", ["text"]),
        ("```\ncode\n```\n%% mine %%\n", ["```\ncode\n```\n%% mine %%"]),
    ],
)
def test_an_html_comment_and_the_data_of_a_plugin_belong_to_no_chunk(text: str, expected: list[str]) -> None:
    assert [chunk.text for chunk in parse("n.md", text.encode()).chunks] == expected


def test_many_comments_before_a_word_are_read_in_linear_time() -> None:
    assert len(parse("n.md", b"<!-- a --> " * 5000 + b"x").chunks) > 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!-- guidance -->\n\n## Notes\n", []),
        ("---\ntags: daily\n---\n\n## Tasks\n\n## Log\n", []),
        ("## Tasks\n\n## Log\n\n- 14:30 tea\n", ["## Tasks\n\n## Log\n\n- 14:30 tea"]),
        ("## Notes\n\n## Log\n\n- 14:30 tea\n", ["- 14:30 tea"]),
        ("## Notes\n\n### Zanzibar\n\n## Log\n\n- tea\n", ["### Zanzibar\n\n## Log\n\n- tea"]),
    ],
)
def test_headings_that_wait_for_lines_are_no_hits(text: str, expected: list[str]) -> None:
    chunks = parse("2026-03-15.md", text.encode(), skeleton={"Notes", "Log"}).chunks
    assert [chunk.text for chunk in chunks] == expected


def test_a_long_list_is_cut_on_lines_of_about_equal_length() -> None:
    data = "\n".join(f"- item {number} " + "x" * 80 for number in range(30)).encode()
    sizes = [len(chunk.text) for chunk in parse("n.md", data).chunks]
    assert max(sizes) <= CUT.size
    assert min(sizes) > CUT.size / 2


@pytest.mark.parametrize(
    ("path", "text", "day", "expected"),
    [
        ("2026-03-15.md", "", date(2026, 3, 15), (20260315, "name")),
        ("sessions/2026-03-15 1015 tea.md", "---\ndate: 2020-01-01\n---\n", None, (20260315, "name")),
        ("a.md", "---\ndate: 2020-01-02T10:00\n---\n", None, (20200102, "property")),
        ("a.md", "---\ncreated: '[[2020-01-03]]'\n---\n", None, (20200103, "property")),
        ("a.md", "---\nDate Created: Sunday, March 1st 2026, 10:00:00 am\n---\n", None, (20260301, "property")),
        ("a.md", "---\ndate modified: 2026-04-01\ndate created: 2026-03-01\n---\n", None, (20260301, "property")),
        ("2026-99-15.md", "", None, (20260707, "mtime")),
        ("journals/2026_03_15.md", "", None, (20260315, "name")),
        ("daily.journal.2026.03.15.md", "", None, (20260315, "name")),
        ("20260315 tea.md", "", None, (20260315, "name")),
        ("202603151405 tea.md", "", None, (20260315, "name")),
        ("20260315T140522--tea.md", "", None, (20260315, "name")),
        ("20263115.md", "", None, (20260707, "mtime")),
        ("15.03.2026.md", "", None, (20260315, "name")),
        ("15.03.2026 tea.md", "---\ndate: 2020-01-02\n---\n", None, (20260315, "name")),
        ("32.03.2026.md", "", None, (20260707, "mtime")),
        ("115.03.2026.md", "", None, (20260707, "mtime")),
        ("Journal/2026/03/15.md", "", None, (20260315, "name")),
        ("Journal/2026/03/tea.md", "", None, (20260707, "mtime")),
        ("03/15.md", "", None, (20260707, "mtime")),
        ("Trip 2020-01-02/20260315.md", "", None, (20260315, "name")),
        ("Trip 2020-01-02/day/1.md", "", None, (20260707, "mtime")),
        ("2026_03-15.md", "", None, (20260707, "mtime")),
        ("order 4120260315.md", "", None, (20260707, "mtime")),
        ("a.md", "---\ndate: soon\n---\n", None, (20260707, "mtime")),
    ],
)
def test_dates(path: str, text: str, day: date | None, expected: tuple[int, str]) -> None:
    note = parse(path, text.encode(), day=day, modified=date(2026, 7, 7))
    assert (note.day, note.day_source) == expected


def test_a_weak_date_is_no_part_of_the_head() -> None:
    assert parse("a.md", b"x", modified=date(2026, 7, 7)).chunks[0].head == "a"
    assert parse("a.md", b"---\ndate: 2020-01-02\n---\nx").chunks[0].head == "a › 2020-01-02"


def test_an_example_of_a_link_in_code_is_no_link() -> None:
    text = "see [[Tea]] and `[[Code]]` and [[Cups]]\n\n```\n[[Fenced]]\n~~~\n```\n\n[[After]]\n\n~~~~\n[x](Open.md)\n"
    assert parse("a.md", text.encode()).links == ("Tea", "Cups", "After")


def test_names_tags_links_and_properties() -> None:
    note = parse(
        "people/Anna.md",
        b"---\ntitle: Anna B.\naliases: [Annie]\ntags: [Person, work/x]\nemail: a@b.example\n---\n"
        b"# Home #here\n\nlives in [[Cork|there]] #a/b `#no` x#no #12\n\n```\n#code\n```\n- line ^m-1\n",
    )
    assert (note.title, note.aliases, note.tags, note.links) == ("Anna B.", ("Annie",), ("person", "work/x"), ("Cork",))
    assert "a@b.example" in note.about
    assert "people" in note.about
    assert "Anna" in note.about
    assert note.chunks[0].tags == ("a/b", "here", "person", "work/x")


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_a_page_of_logseq_has_the_tags_and_aliases_of_its_properties(ending: bytes) -> None:
    page = b"type:: project\ntags:: works, [[at home]], #x\nalias:: Kitchen, Hearth\n\n- budget:: 9500\n- tags:: no\n"
    note = parse("pages/k.md", page.replace(b"\n", ending))
    assert (note.tags, note.aliases) == (("works", "at", "home", "x"), ("Kitchen", "Hearth"))
    assert parse("k.md", b"- bread\n\ntags:: no\n").tags == ()


def test_a_note_of_properties_alone_can_be_cited() -> None:
    note = parse("a.md", b"---\nphone: 12345\n---\n")
    assert [(c.text, c.start_line, c.end_line) for c in note.chunks] == [("phone: 12345", 2, 2)]


def test_properties_that_say_something_are_a_chunk_after_those_of_the_text() -> None:
    front = b"title: Anna\nbirthday: 30 October\ntags: [person]\nlikes:\n- tea\n- a: b\nmet: true\n# y\nday: 20261120\n"
    note = parse("Anna.md", b"---\n" + front + b"---\n# A\n\nTea: green.\nPot: blue.\nCup: red.\n")
    assert [(c.start_line, c.end_line, c.front) for c in note.chunks] == [(14, 16, False), (3, 7, True)]
    assert not any(chunk.front for chunk in parse("Tea.md", b"Tea: green.\nPot: blue.\nCup: red.\n").chunks)
    kinds = [
        (text, line.kind) for text, line in zip(note.chunks[1].text.split("\n"), note.chunks[1].lines, strict=True)
    ]
    assert [text for text, kind in kinds if kind == "property"] == ["birthday: 30 October", "likes:", "- tea", "- a: b"]
    assert [text for text, kind in kinds if kind == "machinery"] == ["tags: [person]"]


@pytest.mark.parametrize(
    ("front", "told"),
    [
        ("employer: ACME", True),
        ("phone: 0171 2345678", True),
        ("born: 1990-10-30", True),
        ("address:\n  city: Cork", True),
        ("職業: 医者", True),
        ("motto: a: b", True),  # no YAML
        ("title: Anna", False),
        ("aliases: [Annie]", False),
        ("tags: person", False),
        ("created: 2026-11-20", False),
        ("created:", False),
        ("publish: true", False),
        ("expires: 2027-01-01", True),
        ("cover: https://example.org/a/b.jpg", False),
        ("uid: 3f1c2b7a-9d20-4d1e-8a44-5b6c7d8e9f00", False),
        ("likes: []", False),
        ("# birthday: 30 October", False),
    ],
)
def test_what_is_read_elsewhere_or_has_no_words_is_no_property_to_cite(front: str, told: bool) -> None:
    note = parse("a.md", f"---\n{front}\n---\nText.\n".encode())
    assert [c.text for c in note.chunks] == (["Text.", front] if told else ["Text."])


def test_properties_of_a_session_note_only_describe_it() -> None:
    note = parse("sessions/a.md", b"---\nsource: Claude\n---\nText.\n", session=True)
    assert [c.text for c in note.chunks] == ["Text."]


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("<< [[2026-11-18]] | [[2026-11-20]] >>", True),
        ("[[Daily/2026-11-18|← yesterday]] · [[2026-W47]] · [[2026-11]] · [[2026-11-20|tomorrow →]]", True),
        ("❮ [[18.11.2026]] | [[20.11.2026]] ❯", True),
        ("- [[2026-11-18]]", False),
        ("from [[2026-11-18]] to [[2026-11-20]]", False),
        ("[[2026-11-18 Rome]] [[2026-11-20 Bari]]", False),
        ("[[Tea]] | [[Coffee]]", False),
    ],
)
def test_a_line_that_only_leads_from_day_to_day_is_no_answer(text: str, leads: bool) -> None:
    (chunk,) = parse("2026-11-19.md", f"{text}\n\nrain\n".encode(), day=date(2026, 11, 19)).chunks
    assert (chunk.lines[0].kind == "machinery") == leads


def test_machinery_is_not_embedded() -> None:
    line = "- 14:30 [extracted] likes **tea** ([[2026-11-21#^d-1|2026-11-21]]) ^m-7f3ak2cq"
    assert "extracted" not in plain(line)
    assert "m-7f" not in plain(line)
    assert "likes tea" in plain(line)
    chunk = parse("a.md", b"- one ^m-1\n").chunks[0]
    assert chunk.block_id == "m-1"
    assert chunk.text == "- one ^m-1"


def test_the_embedded_text_has_a_line_for_every_line_of_the_chunk() -> None:
    chunk = parse("a.md", b"one\n\ntwo **x** ^id\n").chunks[0]
    assert chunking.embedded_text(chunk.head, plain(chunk.text)) == "a\none\n\ntwo x"


def test_a_huge_note_has_its_names_and_tags() -> None:
    data = b"---\ntitle: The log\naliases: [Logbook]\ntags: [sea]\nvalid-until: 2030-01-01\n---\n# Days\n\n"
    note = parse("n.md", data + b"waves and wind\n\n" * document.MAX_PARSED_LINES)
    assert (note.title, note.aliases, note.tags) == ("The log", ("Logbook",), ("sea",))
    assert note.chunks[0].start_line > 6
    assert not any("Logbook" in chunk.text for chunk in note.chunks)
    plain = parse("n.md", b"--- no front matter\n" + b"waves and wind\n\n" * document.MAX_PARSED_LINES)
    assert (plain.title, plain.chunks[0].start_line) == ("n", 1)
