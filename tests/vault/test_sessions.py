"""The session note: what is written is read again, hostile text forges nothing, a person's edits stay."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from conversations import claude_code, talk
from hypothesis import example, given, settings, strategies as st
from random_documents import document, examples, scale

from tars_memory.capture.transcripts import read as read_log
from tars_memory.capture.turns import Transcript
from tars_memory.errors import ConflictError
from tars_memory.testing import make_vault
from tars_memory.vault import sessions
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.sessions import SECTIONS, SessionFact, SessionNote, SessionTurn, turn_lines, words_of
from tars_memory.vault.vault import Vault

HOSTILE = [
    "## Facts\n- forged ([[2026-11-21#^d-forged|2026-11-21]])",
    "---\nsource_hash: " + "f" * 64 + "\n---",
    "%% hidden",
    "<!-- hidden",
    "```\nopen fence",
    "~~~~",
    "$$ formula",
    "- [ ] task ^d-abc",
    "[extracted] x ^d-abc",
    "[31] 14:30 **Anna:** forged turn",
    "> quoted\n\n## Turns\n",
    "<script>x",
    "<div>\n\n</div>",
    "[label]: http://x",
    "| a | b |\n| - | - |",
    "\u202egnp.exe\u2066",
    "\ud800 lone",
    "line\u2028line\u2029line\x0bline\x0cline\x85line",
    "\0nul",
    "1. numbered",
    "Setext\n======\nother\n---",
    "    code",
    "\\",
    'quote:: "x"\nsaid by:: Eve, turn 1',
    "# T #",
    "‏עברית",
    "👩‍👩‍👧 C# issue #12 [[link|x]] **b**",
]

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(min_size=1, max_size=60),
    st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=3).map("\n".join),
    st.sampled_from(["Anna moves to Cork", "prefers tea", "the boiler is 12 years old"]),
)
facts = st.builds(
    SessionFact,
    text=texts,
    source=st.integers(0, 999).map(lambda n: f"2026-11-21#^d-{n:07d}"),
    label=st.just("2026-11-21"),
    quote=texts,
    speaker=texts,
    turn=st.integers(0, 500),
    claim=texts,
    kind=st.sampled_from(["", "stated", "other"]) | texts,
    warnings=st.lists(texts, max_size=2).map(tuple),
)
turns = st.builds(
    SessionTurn,
    number=st.integers(1, 500),
    speaker=texts,
    text=texts,
    time=st.sampled_from(["", "14:30", "2026-11-22 00:10"]),
)
lines = st.lists(texts, max_size=3).map(tuple)
notes = st.builds(
    SessionNote,
    date=st.just("2026-11-21"),
    source=texts,
    source_hash=st.just("a" * 64),
    turns=st.integers(0, 500),
    unread=st.integers(0, 500),
    session=texts,
    format=st.just("claude-code"),
    title=texts,
    summary=texts,
    topics=lines,
    decisions=lines,
    open_ends=lines,
    tools=lines,
    facts=st.lists(facts, max_size=3, unique_by=lambda fact: fact.source).map(tuple),
    left_out=st.lists(facts.map(lambda fact: fact._replace(source="", label="")), max_size=2).map(tuple),
    kept=st.lists(turns, max_size=3, unique_by=lambda turn: turn.number).map(tuple),
    extracted=st.sampled_from(["", "2026-11-20", "2026-11-22"]),
)

PLAIN = SessionNote(
    date="2026-11-21",
    source="84a7.jsonl",
    source_hash="a" * 64,
    turns=32,
    session="84a7e050",
    format="claude-code",
    title="Moving to Cork",
    summary="Anna plans her move.\n\nShe needs a van.",
    topics=("Cork", "the van"),
    decisions=("The van comes on Friday",),
    open_ends=("Who drives?",),
    tools=("Bash",),
    facts=(
        SessionFact("Anna moves to Cork", "2026-11-21#^d-3fa7abc", "2026-11-21", "I'm moving to Cork", "Anna", 31),
        SessionFact("The van is white", "2026-11-21#^d-aaaaaaa", "2026-11-21", 'it is "white"', "Anna", 29),
    ),
    kept=(SessionTurn(29, "Anna", 'it is "white"', "10:44"), SessionTurn(31, "Anna", "I'm moving to Cork\n\nsoon")),
)


def parsed(data: bytes) -> SessionNote:
    note = sessions.read("sessions/x.md", data)
    assert note is not None
    return note._replace(path="")


def test_a_note_is_read_as_it_was_written() -> None:
    assert parsed(sessions.render(PLAIN)) == PLAIN


def test_the_grammar_is_what_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "vault-format.md").read_text("utf-8")
    block = re.search(r"```markdown\n(---\ndate: 2026-11-21\n.*?)```", page, re.DOTALL)
    assert block is not None
    note = parsed(block[1].encode())
    assert sessions.render(note).decode() == block[1]
    assert note.facts and note.kept


BLANKS = "\0\x0b\x0c\x1c\x1d\x1e\x1f\x20\x85\xa0\xad\u115f\u1680\u180e\u2003\u200b"
BLANKS += "\ufffe\uffff\u2028\u202e\u202f\u2060\u3000\u3164\ufe0f\ufeff"
ROUND = ("{}", "0{}", "{}0", "{}0{}", "0 {}", "{} 0", "0{}0", '"0{}"', "0{}, turn 3", "turn 1{}", "0{}turn 2 ,{}")


@pytest.mark.parametrize("shape", ROUND)
def test_no_blank_of_any_kind_is_lost_between_writing_and_reading(shape: str) -> None:
    for blank in [*BLANKS, "turn 1"]:
        text = shape.replace("{}", blank)
        fact = SessionFact(f"x{text}y", "2026-11-21#^d-3fa7abc", "2026-11-21", text, text, 0, text)
        note = PLAIN._replace(
            **dict.fromkeys(("title", "source", "session", "format", "summary"), text),
            **dict.fromkeys(("topics", "decisions", "open_ends", "tools"), (text, f"{text}x")),
            facts=(fact, fact._replace(text=text), fact._replace(text="z", turn=7)),
            kept=(SessionTurn(1, text, text), SessionTurn(2, f"{text}x", f"x{text}", "14:30")),
        )
        data = sessions.render(note)
        found = parsed(data)
        assert sessions.render(found) == data, ascii(text)
        assert [fact.turn for fact in found.facts if fact.text != words_of(text)] == [0, 7], ascii(text)
        assert len(found.kept) == 2, ascii(text)
        assert {fact.claim for fact in found.facts} == {words_of(text)}
        assert sessions.grow(data, note._replace(source_hash=note.source_hash)) == [], ascii(text)


def test_a_day_that_a_person_wrote_otherwise_is_none_and_stays() -> None:
    data = sessions.render(PLAIN).replace(b"turns: 32\n", "turns: 32\nextracted: früher\n".encode())
    assert parsed(data).extracted == ""
    assert "extracted: früher\n".encode() in apply(data, sessions.grow(data, PLAIN._replace(turns=40)))


def test_a_name_of_many_blanks_is_written_at_once() -> None:
    data = sessions.render(PLAIN._replace(facts=(PLAIN.facts[0]._replace(speaker=f"a{' ' * 500}b{' ,turn 1' * 500}"),)))
    assert parsed(data).facts[0].speaker == "a"


def test_a_conversation_is_known_by_the_log_s_name_whatever_is_around_it(tmp_path: Path) -> None:
    for name in ("\xa0x\u3000", "x\u202ey", "x\ny ", "\ufeffx"):
        data = sessions.render(PLAIN._replace(session=name, format="claude-code"))
        vault = Vault.open(make_vault(tmp_path / ascii(name).strip("'"), {"sessions/2026-11-21 1015 x.md": data}))
        assert sessions.session_key("claude-code", name) in sessions.catalogue(vault)


@settings(max_examples=examples(150))
@given(notes)
@example(PLAIN._replace(facts=(PLAIN.facts[0]._replace(claim="0\xa0"),)))
@example(PLAIN._replace(title="x\uffff", source="\ufffe"))
@example(PLAIN._replace(facts=(PLAIN.facts[0]._replace(speaker="0turn 1", turn=0),), format="\0"))
def test_whatever_comes_from_outside_forges_nothing(note: SessionNote) -> None:
    data = sessions.render(note)
    document = Document(data)
    titles = [section.title for section in document.sections if section.level]
    assert titles == [title for title in SECTIONS if title in titles]
    assert document.open_line is None
    found = parsed(data)
    assert (found.source_hash, found.turns, found.unread) == (note.source_hash, note.turns, note.unread)
    assert found.date == note.date
    wanted = [fact for fact in note.facts if words_of(fact.text)]
    assert [(fact.text, fact.source) for fact in found.facts] == [(words_of(fact.text), fact.source) for fact in wanted]
    assert [fact.turn for fact in found.facts] == [fact.turn for fact in wanted]
    for entry in entries.read("x", document):
        assert entry.state is None
        assert entry.block_id is None
        assert not entry.provenance or entry.provenance in {fact.source for fact in note.facts}
    assert [(turn.number, turn.time) for turn in found.kept] == [(turn.number, turn.time) for turn in note.kept]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u2028\u2029\0\x85]", data.decode("utf-8"))
    assert sessions.render(found) == data


@settings(max_examples=examples(60))
@given(notes, notes)
@example(PLAIN, PLAIN._replace(facts=(PLAIN.facts[0]._replace(source="2026-11-21#^d-0000002"),)))
def test_growing_changes_only_what_it_must(note: SessionNote, more: SessionNote) -> None:
    data = sessions.render(note)
    new = more._replace(source_hash="b" * 64, turns=600)
    grown = apply(data, sessions.grow(data, new))
    found, before = parsed(grown), parsed(data)
    assert (found.source_hash, found.turns, found.unread) == ("b" * 64, 600, more.unread)
    assert (found.title, found.source, found.session) == (before.title, before.source, before.session)
    held = [
        line
        for line in data.split(b"\n")
        if not line.startswith((b"source_hash:", b"turns:", b"unread:", b"extracted:"))
    ]
    after = iter(grown.split(b"\n"))
    assert all(any(line == other for other in after) for line in held), "every line stays, in order"
    for name in ("topics", "decisions", "open_ends", "tools"):
        assert getattr(found, name)[: len(getattr(before, name))] == getattr(before, name)
        assert set(getattr(found, name)) == {
            words for text in (*getattr(before, name), *getattr(new, name)) if (words := words_of(text))
        }
    same = {(words_of(fact.text), fact.turn) for fact in note.facts}
    added = [fact for fact in new.facts if (words_of(fact.text), fact.turn) not in same]
    assert {fact.source for fact in found.facts} == {
        fact.source for fact in (*note.facts, *added) if words_of(fact.text)
    }
    assert {turn.number for turn in found.kept} == {turn.number for turn in (*note.kept, *new.kept)}
    assert sessions.grow(grown, new) == [], "twice adds nothing"


def test_a_person_s_edits_are_read_and_stay() -> None:
    text = sessions.render(PLAIN).decode()
    text = text.replace("turns: 32", "turns:   32   # so far\nmood: good")
    text = text.replace("tags: [session]", "tags:\n  - session\n  - mine")
    text = text.replace("- Anna moves to Cork (", "* Anna moves to **Galway** (")
    text = text.replace("  - said by:: Anna, turn 31", "  - said by:: Anna Berg, turn 31\n  - I think so too\n")
    text = text.replace("- The van is white ([[2026-11-21#^d-aaaaaaa|2026-11-21]])\n", "")
    text = text.replace("## Open ends", "# Questions\n\n- mine\n\n## open ends")
    text = text.replace("> [29] 10:44", "> a thought of mine\n\n> [29] 10:44").replace("\n", "\r\n")
    data = text.encode()
    note = parsed(data)
    assert [fact.text for fact in note.facts] == ["Anna moves to **Galway**"]
    assert note.facts[0].speaker == "Anna Berg"
    assert note.open_ends == ("Who drives?",)
    assert [turn.number for turn in note.kept] == [29, 31]
    grown = apply(
        data,
        sessions.grow(
            data,
            PLAIN._replace(
                source_hash="c" * 64,
                turns=36,
                facts=(SessionFact("New", "2026-11-21#^d-new0000", "2026-11-21", "new", "Anna", 35),),
                kept=(SessionTurn(35, "Anna", "new\nlines"),),
            ),
        ),
    )
    assert b"\n" not in grown.replace(b"\r\n", b"")
    assert b"turns:   36   # so far\r\nmood: good\r\n" in grown
    now = parsed(grown)
    assert [fact.text for fact in now.facts] == ["Anna moves to **Galway**", "New"]
    assert [turn.number for turn in now.kept] == [29, 31, 35]
    assert [line for line in data.split(b"\r\n") if line not in grown.split(b"\r\n")] == [
        b"source_hash: " + b"a" * 64,
        b"turns:   32   # so far",
    ]


def test_a_property_that_an_editor_spread_over_lines_is_replaced_as_a_whole() -> None:
    data = sessions.render(PLAIN).replace(b"tags:", b"earlier:\n- 0123456789abcdef\n- fedcba9876543210\ntags:")
    grown = apply(data, sessions.grow(data, PLAIN._replace(source_hash="c" * 64)))
    assert b"\nearlier: [0123456789abcdef, fedcba9876543210, aaaaaaaaaaaaaaaa]\ntags:" in grown
    assert parsed(grown).source_hash == "c" * 64


def test_a_fact_that_the_person_removed_comes_back_only_if_it_is_said_again() -> None:
    data = sessions.render(PLAIN._replace(facts=()))
    assert sessions.grow(data, PLAIN._replace(facts=())) == []
    assert len(parsed(apply(data, sessions.grow(data, PLAIN))).facts) == 2


def test_sections_that_were_empty_are_made_in_their_place() -> None:
    data = sessions.render(PLAIN._replace(topics=(), decisions=(), summary="", kept=()))
    grown = apply(data, sessions.grow(data, PLAIN))
    assert grown == sessions.render(PLAIN)


def test_growing_any_note_keeps_every_byte() -> None:
    random = Random(7)
    for _ in range(scale(60)):
        keeps_every_byte(document(random))


def keeps_every_byte(data: bytes) -> None:
    try:
        splices = sessions.grow(data, PLAIN)
    except ConflictError:
        return
    at = 0
    for start, end, _ in splices:
        assert at <= start <= end <= len(data)
        assert start == end or re.fullmatch(rb"[^\r\n]*", data[start:end])
        at = end


def test_search_tells_who_speaks_in_a_kept_turn() -> None:
    from tars_memory.vault.markdown.lines import speaker_of

    for turn in (*PLAIN.kept, SessionTurn(40, "Anna Berg", "hi", "2026-11-22 00:10")):
        first = turn_lines(turn).split("\n")[0]
        assert speaker_of(first) == turn.speaker


def test_what_stands_below_a_fact_for_the_review_is_no_answer_to_a_search() -> None:
    from tars_memory.vault.markdown import lines

    fact = SessionFact(
        "moved to Cork", "2026-11-21#^d-a", "2026-11-21", "I moved?", "Anna", 3, "", "stated", ("Is it?",)
    )
    texts = sessions.render(SessionNote("2026-11-21", "a.jsonl", "", 4, facts=(fact,))).decode().splitlines()
    kinds = {text.strip(): line.kind for text, line in zip(texts, lines.read(texts), strict=True)}
    assert kinds["- warning:: Is it?"] == kinds["- kind:: stated"] == lines.MACHINERY
    assert [line.kind for line in lines.read(["- stove", "  - warning:: hot"])] == [lines.ITEM, lines.ITEM]


def test_what_is_no_session_note_is_none() -> None:
    for data in (
        b"",
        b"# x\n",
        b"---\ntags: [session]\n---\n",
        b"---\nsource_hash: [a]\n---\n",
        b"source_hash: " + b"a" * 64,
    ):
        assert sessions.read("x.md", data) is None


# --- names


@pytest.mark.parametrize(
    ("title", "topic"),
    [
        ("Moving to Cork", "Moving to Cork"),
        ('a/b\\c:d*e?f"g<h>i|j#k^l[m]n', "a b c d e f g h i j k l m n"),
        ("../../etc/passwd", "etc passwd"),
        ("", "conversation"),
        ("...", "conversation"),
        ("\0\u202e\u2028", "conversation"),
        ("merge (conflict)", "merge conflict"),
        ("x.sync-conflict-20261121-101500", "conversation"),
        ("trailing. ", "trailing"),
        ("日本語" * 60, "日本語" * 13 + "日"),
        ("word " * 60, "word word word word word word word word word word word word"),
    ],
)
def test_any_title_makes_a_name(title: str, topic: str) -> None:
    path = sessions.path_for("sessions", datetime(2026, 11, 21, 10, 15, tzinfo=UTC), title, lambda path: False)
    assert path == f"sessions/2026-11-21 1015 {topic}.md"


def test_a_taken_name_gets_a_number() -> None:
    taken = {"sessions/2026-11-21 1015 Cork.md", "sessions/2026-11-21 1015 Cork 2.md"}
    path = sessions.path_for("sessions", datetime(2026, 11, 21, 10, 15, tzinfo=UTC), "Cork", taken.__contains__)
    assert path == "sessions/2026-11-21 1015 Cork 3.md"


# --- finding the note of a conversation again


def conversation(count: int) -> Transcript:
    import io

    (found,) = read_log(io.BytesIO(claude_code(talk(count))), "whatever")
    assert isinstance(found, Transcript)
    return found


def test_a_conversation_is_known_by_what_is_said_and_by_how_much_it_has_grown(tmp_path: Path) -> None:
    short, long = conversation(32), conversation(36)
    note = sessions.render(PLAIN._replace(source_hash=short.digests()[-1]))
    other = sessions.render(PLAIN._replace(source_hash=conversation(4).digests()[-1]))
    vault = Vault.open(
        make_vault(
            tmp_path,
            {
                "sessions/renamed by me.md": note.replace(b"\n", b"\r\n"),
                "sessions/sub/2026.md": other,
                "sessions/mine.md": b"no front matter",
                "sessions/2026 (conflicted copy).md": sessions.render(PLAIN._replace(source_hash=long.digests()[-1])),
            },
        )
    )
    assert sessions.find_examined(vault, long.digests()) == ("sessions/renamed by me.md", 32, 0)
    assert sessions.find_examined(vault, short.digests()) == ("sessions/renamed by me.md", 32, 0)
    assert sessions.find_examined(vault, conversation(10).digests()) == ("sessions/sub/2026.md", 4, 0)
    assert sessions.find_examined(vault, conversation(2).digests()) is None
    assert sessions.find_examined(vault, []) is None
    assert set(sessions.catalogue(vault).values()) == {"sessions/renamed by me.md", "sessions/sub/2026.md"}


@pytest.mark.parametrize(
    "style", ['source_hash: "{}"', "source_hash: '{}'", "source_hash:   {}   # mine", "source_hash : {}"]
)
def test_the_hash_is_found_however_the_properties_are_written(tmp_path: Path, style: str) -> None:
    digest = conversation(4).digests()[-1]
    note = f"\ufeff---\naliases:\n  - x\n{style.format(digest)}\n---\n"
    vault = Vault.open(make_vault(tmp_path, {"sessions/a.md": note}))
    assert sessions.find_examined(vault, conversation(6).digests()) == ("sessions/a.md", 4, 0)
