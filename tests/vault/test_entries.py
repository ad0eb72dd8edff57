"""The grammar of one bullet, and text from outside that must not forge anything."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt
from random_documents import scale, seeded

from tars_memory.errors import UsageError
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.entries import Parts


def one(line: str, *, timed: bool = False) -> entries.Entry:
    (found,) = entries.read("n.md", Document(line.encode("utf-8", "surrogateescape")), timed=timed)
    return found


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("plain", Parts("plain")),
        ("14:30 met Anna", Parts("met Anna", "14:30")),
        ("2026-11-21 9:05 note", Parts("note", "2026-11-21 9:05")),
        ("14:30 [extracted] x ^d-1", Parts("x", "14:30", "extracted", None, None, "d-1")),
        ("x ([[2026-11-21#^d-1|2026-11-21]])", Parts("x", None, None, "2026-11-21#^d-1", "2026-11-21")),
        ("[promoted] x #t ([[a/b#^d]]) ^m", Parts("x #t", None, "promoted", "a/b#^d", None, "m")),
        ("14:30x y", Parts("14:30x y")),
        ("24:00 y", Parts("24:00 y")),
        ("[extracted]x", Parts("[extracted]x")),
        ("[other] x", Parts("[other] x")),
        ("a^b", Parts("a^b")),
        ("see ([[note]])", Parts("see ([[note]])")),
        ("C# and C++ for issue #12", Parts("C# and C++ for issue #12")),
    ],
)
def test_the_parts_of_a_bullet(words: str, parts: Parts) -> None:
    assert entries.parse(words, timed=True) == parts
    assert entries.parse(entries.render(parts)[2:], timed=True) == parts


def test_a_bullet_of_several_lines_has_the_parts_of_one() -> None:
    entry = one("- likes green\ntea\n([[2026-11-21#^d-1|Saturday]]) ^m-1")
    assert (entry.text, entry.provenance, entry.block_id) == ("likes green tea", "2026-11-21#^d-1", "m-1")
    assert entries.label_of(entry) == "Saturday"


def test_a_time_is_text_where_notes_have_none() -> None:
    assert entries.parse("14:30 met").text == "14:30 met"


def test_an_entry_knows_its_place() -> None:
    data = b"## Work\n- same #a\n  more #b/c `#no`\n  - child\n* same #a more #b/c `#no`\n- ```\n  x\n  ```\n-\n"
    found = entries.read("d/n.md", Document(data))
    assert [(e.line, e.end_line, e.text, e.depth, e.occurrence) for e in found] == [
        (2, 4, "same #a more #b/c `#no`", 0, 0),
        (4, 4, "child", 1, 0),
        (5, 5, "same #a more #b/c `#no`", 0, 1),
    ]
    assert found[0].tags == ("a", "b/c")
    assert found[0].raw == "- same #a\n  more #b/c `#no`"
    assert found[0].section == "Work"
    assert len({e.ref for e in found}) == 3


def test_ref_is_of_path_and_words() -> None:
    assert entries.ref("Memory.md", "a") == "4zwfolgz"  # a REF must stay what it is from release to release
    assert one("- a\n").ref == entries.ref("n.md", "a")
    assert len({entries.ref("a", "b"), entries.ref("b", "b"), entries.ref("a", "b", 1)}) == 3


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("C# and C++, issue #12, **bold**, [[link]], 50 % 😀 שלום", None),
        ("user's `code` & <b>html</b> #tag", None),
        ("<https://x.y>", None),
        ("#tag first", None),
        ("-5 degrees", None),
        ("1.5 litres", None),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f flag", None),
        ("x $$y$$ z", None),
        ("a\nb\r\n c \rd\u2028e", "a b c d e"),
        ("  - item\n- item", "\\- item - item"),
        ("# head", "\\# head"),
        ("1. one", "1\\. one"),
        ("> quote", "\\> quote"),
        ("--", "\\--"),
        ("***", "\\***"),
        ("```py", "\\`\\`\\`py"),
        ("~~~", "\\~\\~\\~"),
        ("[ ] task", "\\[ ] task"),
        ("[a]: http://x", "\\[a]: http://x"),
        ("<div>", "\\<div>"),
        ("a %% b %%% c", "a \\%\\% b \\%\\%\\% c"),
        ("a <!-- b", "a <\\!-- b"),
        ("cost $$ 5", "cost \\$\\$ 5"),
        ("[extracted] x [promoted]", "\\[extracted] x \\[promoted]"),
        ("x ^m-7f3ak2cq", "x \\^m-7f3ak2cq"),
        ("^a", "\\^a"),
        ("x ([[2026-11-21#^d-1|2026-11-21]])", "x \\([[2026-11-21#^d-1|2026-11-21]])"),
        ("a\x00b\x1b[31mc\x9bd\x7f", "ab[31mcd"),
        ("a\u202eb\u2066c", "abc"),
        ("a\U000e0041b", "ab"),
        ("a\udcffb\ud800", "a\ufffdb\ufffd"),
    ],
)
def test_outside_text_keeps_its_characters_but_makes_no_structure(text: str, kept: str | None) -> None:
    words = entries.neutralise(text)
    assert words == (text if kept is None else kept)
    assert entries.neutralise(words) == words


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x1b", "\u200b", "\u202e", "\u2028", "\xa0"])
def test_text_without_anything_to_see_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="text is empty"):
        entries.neutralise(text)


def test_size_has_a_limit_and_no_cliff_before_it() -> None:
    for text in (
        "word " * 20_000,
        "([[" * 33_000,
        " " * 90_000 + "x",
        "%" * 100_000,
        "- " * 50_000,
        "[a" * 50_000,
        "`" * 99_999,
    ):
        assert entries.neutralise(text)
    with pytest.raises(UsageError, match="too many"):
        entries.neutralise("x" * 10_000_000)


@pytest.mark.parametrize(
    ("title", "kept"),
    [
        ("Work", "Work"), ("## Work ##", "Work"), ("# # C#", "C#"), ("\\# Work", "\\# Work"), ("- list", "\\- list"),
        ("# #", None), ("## #", None), ("", None),
    ],
)  # fmt: skip
def test_a_heading_is_itself_when_it_is_read_again(title: str, kept: str | None) -> None:
    # A spooled change holds the heading already made: if it were another the second time, it could never be written.
    if kept is None:
        with pytest.raises(UsageError, match="is not a heading"):
            entries.heading(title)
    else:
        assert entries.heading(title) == entries.heading(kept) == kept


@pytest.mark.parametrize(
    ("text", "name"), [("work", "work"), ("#a/b-c_d", "a/b-c_d"), ("été", "été"), ("😀", "😀"), ("y2", "y2")]
)
def test_tags_are_as_obsidian_takes_them(text: str, name: str) -> None:
    assert entries.tag(text) == name
    assert entries.tags_of(f"x #{name}") == (name,)


@pytest.mark.parametrize("text", ["", "#", "12", "a b", "a#b", "a.b", "a\nb", "a,b", "^x", "(x)", "a\x1bb"])
def test_what_ends_a_tag_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a tag"):
        entries.tag(text)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("- 14:30 [extracted] text ^d-1", "- 14:30 text"),
        ("  * [rejected] text", "  * text"),
        ("- text ([[2026-11-21#^d-1|2026-11-21]]) ^m", "- text (2026-11-21)"),
        ("- text ([[2026-11-21#^d-1]])", "- text (2026-11-21)"),
        ("a paragraph ^id", "a paragraph"),
        ("nothing [extracted] here", "nothing [extracted] here"),
        ("", ""),
    ],
)
def test_plain_has_no_machinery(line: str, plain: str) -> None:
    assert entries.plain(line) == plain


PIECES = [
    *("a", "word", "C#", "C++", "issue #12", "#tag", "**b**", "*", "_", "[[l]]", "[[n#^x|y]]", "![[x]]"),
    *("([[2026-11-21#^d-a|2026-11-21]])", "^abc", "^m-7f3ak2cq", " ", "  ", "\t", "\n", "\r\n", "\r", "\u2028", "\x85"),
    *("\x00", "\x1b[31m", "# ", "#", "## h", "- ", "-", "--", "---", "* ", "***", "+ ", "1. ", "1)", "12. x", ">"),
    *("```", "```py", "~~~", "`", "``", "%%", "%", "%%%", "<!--", "-->", "<div>", "<script>", "</div>", "<https://x.y>"),
    *("<b>", "<?x", "<!X", "[ ] ", "[x] ", "[x]", "[extracted]", "[promoted] ", "[a]: http://b", "[^1]: n", "$$", "$"),
    *("\\", "\\\\", "|", "| a |", "|---|", "===", "___", "14:30 ", "\u202e", "\U000e0041", "="),
    *("😀", "שלום", "\u200b", "\ufeff", "\ud800", "\udcff", "[since:: 2020]", "!", "&lt;", "\xa0", "\u3000", "東京"),
    *("(", ")", "[", "]", "🏴\U000e0067\U000e007f"),
]  # fmt: skip
MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline", True)
FRAMES = [
    (False, Parts("")),
    (True, Parts("", time="14:30")),
    (True, Parts("", time="14:30", state="extracted", block_id="d-1")),
    (False, Parts("", provenance="2026-11-21#^d-1", label="2026-11-21", block_id="m-1")),
]


def forge(seed: int, count: int) -> None:
    """Any text, in any frame, is one bullet; all else in the note, by markdown-it's account too, is as it was."""
    random = seeded(seed)
    before, after = "# A\n\n## Notes\n- before\n", "- after\n  - child\n\ntext\n\n## Next\n- z\n"
    usual = Document(f"{before}- x\n{after}".encode())
    tokens = [(token.type, token.map, token.level) for token in MARKDOWN.parse(f"{before}- x\n{after}")]
    for _ in range(count):
        text = "".join(random.choice(PIECES) for _ in range(random.randint(1, 9)))
        try:
            words = entries.neutralise(text)
        except UsageError:
            continue
        assert entries.neutralise(words) == words
        for timed, frame in FRAMES:
            parts = frame._replace(text=words)
            line = entries.render(parts)
            assert entries.parse(line[2:], timed=timed) == parts
            note = Document(f"{before}{line}\n{after}".encode())
            assert [(b.line, b.end_line, b.depth) for b in note.bullets] == [
                (b.line, b.end_line, b.depth) for b in usual.bullets
            ]
            assert (note.sections, note.blocks) == (usual.sections, usual.blocks)
            assert [(t.type, t.map, t.level) for t in MARKDOWN.parse(f"{before}{line}\n{after}")] == tokens
            found = entries.read("n.md", note, timed=timed)[1]
            assert (found.line, found.text, found.section) == (5, words, "Notes")
            alone = Document(f"{line}\n  - child\n".encode())
            assert len(alone.bullets) == 2
            assert alone.open_line is None


@pytest.mark.parametrize("seed", range(3))
def test_no_text_forges_structure(seed: int) -> None:
    forge(seed, 80)


@pytest.mark.prove
def test_no_text_forges_structure_in_20_000_texts() -> None:
    forge(99, scale(20_000))
