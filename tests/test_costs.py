"""No text costs more than its length: shown by counting what is done for n and for 4 n of it, never by the clock.

Patterns do their work where nothing can be counted: `python -m bench growth` measures them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from random_documents import document as random_document

from tars_memory.curation import gather
from tars_memory.curation.extraction import drawing
from tars_memory.curation.extraction.drawing import Known
from tars_memory.curation.tidying import tidy
from tars_memory.errors import TarsError
from tars_memory.index import indexer
from tars_memory.jobs import doctor, forgetting
from tars_memory.language import statements
from tars_memory.memory import Memory
from tars_memory.recall import search
from tars_memory.recall.loaded import Loaded
from tars_memory.recall.packing import Packing, Portion
from tars_memory.testing import make_vault
from tars_memory.vault import labelled, secrets
from tars_memory.vault.markdown import document, edits, entries, lines
from tars_memory.vault.markdown.document import Document, _cached_shape, apply, plain_heading
from tars_memory.vault.markdown.merging import merge
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import has_markers

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
LINEAR = 5
"""Four times the text may take at most so many times the steps."""


def steps(work: Callable[[], object]) -> int:
    """The bytecodes that a piece of work runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def bullets(count: int) -> bytes:
    return b"## Notes\n\n" + b"".join(b"- bullet %d of many\n" % number for number in range(count))


def copies(count: int) -> bytes:
    return b"".join(b"- same\n- %d\n" % number for number in range(count))


def _no_text(*_: bytes) -> None:
    return None


def nested(count: int, indent: bytes = b"  ") -> bytes:
    return b"## Notes\n\n" + b"".join(indent * number + b"- level %d\n" % number for number in range(count))


def opened(folder: Path) -> Memory:
    env = {"TARS_MEMORY_HOME": str(folder / "home"), "HOME": str(folder), "TARS_MEMORY_RECALL_MODE": "lexical"}
    return Memory(make_vault(folder / "vault"), env=env, now=NOW, actor="script")


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path)


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda count: Loaded("Memory.md", Document(bullets(count))), id="bullets that are always loaded"),
        pytest.param(
            lambda count: Loaded("Memory.md", Document(bullets(count)), ended=[(3 + n, 3 + n) for n in range(count)]),
            id="bullets that have ended",
        ),
        pytest.param(
            lambda count: edits.insert_bullets(bullets(9), [f"- new {n}" for n in range(count)], section="Notes"),
            id="many bullets placed",
        ),
        pytest.param(
            lambda count: [
                *map(Packing(9, {}).add, ["memory"] * count, [Portion("n.md", 1, ["text"] * count)] * count)
            ],
            id="lines of a paragraph that has no room",
        ),
        pytest.param(
            lambda count: merge(copies(count), copies(count) + b"- same\n", copies(count) + b"- new\n", _no_text),
            id="copies of a line of which one is new",
        ),
    ],
)
def test_four_times_the_text_takes_four_times_the_steps(work: Callable[[int], object]) -> None:
    steps(lambda: work(10))  # imports and caches; Python 3.12 counts from the second time on
    _cached_shape.cache_clear()
    few = steps(lambda: work(75))
    many = steps(lambda: work(300))
    assert many < LINEAR * few


@pytest.mark.parametrize(("count", "indent"), [(1_100, b"  "), (300, b"\t"), (60, b"    ")])
def test_a_line_is_remembered_beside_nested_bullets(memory: Memory, count: int, indent: bytes) -> None:
    note = Path(memory.workspace.vault.root, "Memory.md")
    before = nested(count, indent) + b"\n## Decisions\n\n- 2026-11-01 10:00 tea\n"
    note.write_bytes(before)
    memory.remember("A new thing")
    after = note.read_bytes()
    assert after.replace(b"- A new thing\n", b"", 1).split() == before.split()
    assert Document(after).find_section("Decisions") is not None
    (entry,) = [entry for entry in entries.read("Memory.md", Document(after)) if entry.text == "A new thing"]
    assert (entry.section, entry.depth) == ("Notes", 0)
    memory.undo()
    assert note.read_bytes() == before


def test_what_follows_deep_nesting_is_read(memory: Memory) -> None:
    Path(memory.workspace.vault.root, "Memory.md").write_bytes(nested(300) + b"\n## Tea\n\n- the needle is oolong\n")
    told = memory.context("")
    assert "the needle is oolong" in told.text
    assert any("line by line" in notice for notice in told.notices)


def test_a_conversation_of_many_statements_costs_few_parses(tmp_path: Path) -> None:
    parses: list[int] = []
    parsed = document._tokens

    def counted(text: str) -> Any:
        parses[-1] += 1
        return parsed(text)

    for count in (8, 32):
        memory = opened(tmp_path / str(count))
        log = tmp_path / f"{count}.md"
        log.write_text("".join(f"User: I like tea {n} of {count}.\n\nAssistant: I see.\n\n" for n in range(count)))
        parses.append(0)
        _cached_shape.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(document, "_tokens", counted)
            memory.extract([str(log)])
        assert Path(memory.workspace.vault.root, "2026-11-21.md").read_text().count(f"of {count}") == count
    assert parses[1] <= parses[0] + 4


def shape(data: bytes) -> Any:
    """What the parser says of a note, asked anew: blocks, bullets, sections and more."""
    return Document(data)._parse()


def test_reading_by_lines_says_what_the_parser_says(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parent.parent / "docs/vault-format.md").read_bytes()
    before = shape(text)
    monkeypatch.setattr(document, "MAX_PARSED_LINES", 0)
    after = shape(text)
    assert after.by_lines
    assert not before.by_lines
    assert after[:3] == before[:3]


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ("text\nmore\n\n# H #\n- a\n  b\nlazy\n", "paragraph heading item"),
        ("T\n===\n- a\n---\n", "heading item rule"),
        ("```\n- no\n```\n~~~ x\n", "fence fence"),
        ("1. a\n   - b\n\n   c\n2. d\n", "item item"),
        ("-\ta\n\t- b\n\t  -\tc\n\t\t- d\n10.\te\n", "item item"),
        ("| a | b |\n| - | - |\n| c | d |\n\n> q\n> r\nlazy\n", "table quote"),
        ("%%\nhidden\n%%\n$$\nx\n$$\n<!-- a\n\nb -->\n<div>\nx\n\ny\n", "comment math html html paragraph"),
        ("    code\n\n    more\ntext\n", "code paragraph"),
    ],
)
def test_a_long_note_is_told_line_by_line(lines: str, kinds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shape(lines.encode())
    monkeypatch.setattr(document, "MAX_PARSED_LINES", 0)
    after = shape(lines.encode())
    assert [block.kind for block in after.blocks] == kinds.split()
    assert after[:3] == before[:3]


@pytest.mark.parametrize("number", range(100))
def test_any_bytes_can_be_read_by_lines(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from random import Random

    data = random_document(Random(number))
    monkeypatch.setattr(document, "MAX_PARSED_LINES", -1)
    found = shape(data)
    assert [section.start_line for section in found.sections][:1] == [Document(data).body_line]
    lines = [line for section in found.sections for line in range(section.start_line, section.end_line + 1)]
    assert lines == sorted(set(lines))
    for bullet in found.bullets:
        assert bullet.line <= bullet.own_end_line <= bullet.end_line <= len(Document(data).lines)
    try:
        after = apply(data, edits.insert_bullet(data, "- new words", section="Log"))
    except TarsError:
        return
    assert [entry.text for entry in entries.read("", Document(after))].count("new words") == 1


@pytest.mark.parametrize(
    ("data", "held"),
    [
        (b"<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n", True),
        (b"<<<<<<< a\n=======\n<<<<<<< c\n", False),
        (b">>>>>>> b\n=======\n<<<<<<< a\n", False),
        (b"x <<<<<<< a\n=======\n>>>>>>> b\n", False),
        (b"<<<<<<< a\r\n=======\r\n>>>>>>> b\r\n", True),
        (b"<<<<<<< a\n" * 50_000, False),
    ],
)
def test_conflict_marks_are_looked_for_one_after_the_other(data: bytes, held: bool) -> None:
    assert has_markers(data) is held


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[[a|b]] ![[c]] [d](e) [f]", "b c d [f]"),
        ("[[a [[b]] c]", "a [[b c]"),
        ("[a](b [c](d)", "a"),
        ("__a__ b_c \\_d_ _ (_", "a b_c _d _ ("),
        ("[a](" * 20_000, "[a](" * 20_000),
    ],
)
def test_a_heading_without_its_marks(text: str, plain: str) -> None:
    assert plain_heading(text) == plain


def test_a_conversation_of_too_many_statements_is_drawn_from_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "MOST_FACTS", 5)
    memory = opened(tmp_path)
    log = tmp_path / "log.md"
    log.write_text("".join(f"User: I like tea {n}.\n\nAssistant: I see.\n\n" for n in range(12)))
    daily = Path(memory.workspace.vault.root, "2026-11-21.md")
    counts = []
    for last in (5, 10, 12):
        done = memory.extract([str(log)], force=last > 5)  # which gets past what was noted, too
        counts.append(sum(len(session.facts) for session in done.sessions))
        assert daily.read_text().count("[extracted]") == last
        assert (last < 10) is ("turns 20 to 24 are" not in " ".join(done.notices))
    assert counts == [5, 5, 2]
    assert len(list(Path(memory.workspace.vault.root, "sessions").glob("*.md"))) == 1
    again = memory.extract([str(log)])
    why = "nothing new since sessions/2026-11-21 1430 conversation.md (--force examines it again)"
    assert [skipped.why for skipped in again.skipped] == [why]


def test_a_statement_is_held_against_few_rejected_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make_vault(tmp_path / "vault")
    lines = "".join(f"- 14:30 [rejected] I like tea number {n} ^d-{n:06d}\n" for n in range(400))
    Path(vault, "2026-11-20.md").write_text("## Log\n\n" + lines)
    known = Known(Memory(vault, env={"TARS_MEMORY_HOME": str(tmp_path)}, now=NOW).workspace.vault, [])
    compared = []
    compare = statements.compare
    monkeypatch.setattr(statements, "compare", lambda *said: compared.append(said) or compare(*said))
    assert known.why("i like TEA, number 7!") == "rejected"
    assert known.why("I like tea number 700") == ""
    assert len(compared) == 1


def test_the_same_bytes_are_masked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search indexes a note that changed, then looks its hits up in the same bytes."""
    note = b"- tea\n- password: Tr0ub4dor3x9\n"
    looked: list[str] = []
    plain = secrets.find
    monkeypatch.setattr(secrets, "find", lambda text: looked.append(text) or plain(text))
    secrets._veiled_or_none.cache_clear()
    shown = [secrets.veiled(bytes(bytearray(note))) for _ in range(3)]
    assert shown == [b"- tea\n- password: (masked password)\n"] * 3
    assert len(looked) == 2, "once, and once more what is left of it"
    free = b"- tea\n"
    assert secrets.veiled(free) is free


def test_doctor_looks_for_credentials_in_a_note_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"# Session {number}\n\n- the token of {number} is in the safe\n" for number in range(3)]
    for number, text in enumerate(texts):
        Path(memory.workspace.vault.root, f"{number}.md").write_text(text)
    memory.search("safe")
    looked: list[str] = []
    plain = secrets.find
    monkeypatch.setattr(secrets, "find", lambda text: looked.append(text) or plain(text))
    secrets._FREE.clear()
    memory.doctor()
    assert [text for text in looked if text in texts] == texts


def test_the_places_of_a_frequent_word_are_compared_by_a_sum(memory: Memory) -> None:
    Path(memory.workspace.vault.root, "Own.md").write_text("tea " * 50)
    memory.search("tea")
    parts = {name: [*found] for name, found in indexer.rows(memory.workspace.index().connection())}
    (tea,) = [row for row in parts["words of notes"] if row[0] == "tea"]
    assert (len(tea), tea[1]) == (3, 50)


def test_no_line_is_compared_where_nothing_waits(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(memory.workspace.vault.root, "Memory.md").write_bytes(bullets(3))
    monkeypatch.setattr(gather, "key_of", None)  # nobody asks for words
    monkeypatch.setattr(gather, "_stems", None)
    assert memory.review(writes=False).waiting().proposals == []


def test_the_removal_of_a_forgotten_line_is_planned_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(memory.workspace.vault.root, "Memory.md").write_bytes(bullets(3))
    planned: list[str] = []
    plan = forgetting._Plan
    monkeypatch.setattr(forgetting, "_Plan", lambda *given: planned.append(given[1]) or plan(*given))
    memory.forget("bullet 1 of many")
    assert planned == ["Memory.md"]


def test_all_copies_in_a_note_are_taken_out_in_few_parses(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [f"- other {number}" for number in range(40)]
    note = Path(memory.workspace.vault.root, "Memory.md")
    note.write_text("\n".join(f"{other}\n- the key" for other in others))  # the last line has no ending
    parsed: list[str] = []
    plain = document._tokens
    monkeypatch.setattr(document, "_tokens", lambda text: parsed.append(text) or plain(text))
    memory.forget("the key")
    assert note.read_text() == "\n".join(others)
    assert len(parsed) < 10


def test_lines_near_each_other_are_searched_for_credentials_once(monkeypatch: pytest.MonkeyPatch) -> None:
    note = b"".join(b"- password: Hase%d!x\n- tea\n" % number for number in range(100, 200))
    searched: list[str] = []
    plain = secrets.veil
    monkeypatch.setattr(secrets, "veil", lambda text: searched.append(text) or plain(text))
    gone = [Splice(found.start(), found.end(), b"") for found in re.finditer(b"- tea\n", note)]
    assert all(span.previous.startswith(b"(masked") for span in edits.spans_of(note, gone))
    assert len(searched) < 4


def test_only_entries_with_all_words_of_a_copy_are_taken_apart(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(memory.workspace.vault.root, "Memory.md").write_bytes(bullets(3))
    read: list[str] = []
    plain = forgetting.wordings
    monkeypatch.setattr(forgetting, "wordings", lambda text: read.append(text) or plain(text))
    assert len(forgetting.copies_of(memory.workspace.capture(), "bullet 1 of many").entries) == 1
    assert {*read} == {"bullet 1 of many"}


def test_tokens_of_a_long_note_that_are_alike_are_one() -> None:
    tokens = document._by_lines("- a\n" * 9)
    assert len({id(token) for token in tokens if token.map is None}) == len(("bullet_list_open", "bullet_list_close"))


def test_undo_masks_each_state_of_a_note_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(memory.workspace.vault.root, "Memory.md").write_text("## Notes\n\n- password: Tr0ub4dor3x9\n- milk\n")
    memory.remember("tea")
    veiled: list[str] = []
    plain = secrets.veil
    monkeypatch.setattr(secrets, "veil", lambda text: veiled.append(text) or plain(text))
    memory.undo()
    assert len(veiled) == len(set(veiled)) == 2


def test_a_long_note_is_parsed_once_for_an_edit(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MAX_CACHED_BYTES", 500)
    Path(memory.workspace.vault.root, "Memory.md").write_bytes(bullets(40))
    read: list[int] = []
    parsed = Document._parse
    count = lambda found: read.append(len(found.data)) or parsed(found)  # noqa: E731
    monkeypatch.setattr(document, "_large_shape", lru_cache(maxsize=1)(count))
    memory.edit("bullet 7 of many", "bullet seven")
    assert len([size for size in read if size > 500]) == 1


def test_a_cell_that_names_nothing_secret_is_not_compared_with_each_label() -> None:
    work = lambda: labelled._kind_of_name("the colour of the fence")  # noqa: E731
    assert work() == ""
    assert steps(work) < 50


def test_a_line_without_a_year_is_not_searched_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "phrase_pattern", None)  # nobody goes through the patterns
    assert tidy.last_day_named("valid until the 3rd of May, bullet 123 of many", NOW.date()) is None
    with pytest.raises(TypeError):
        tidy.last_day_named("valid until 2026-05-03", NOW.date())


def test_the_lines_of_credentials_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"- password: Tr0ub4dor{number}x9\r\n" for number in range(30))
    make_vault(tmp_path / "vault", {"Own.md": text.replace("\r\n", "\r", 1)})
    looked: list[str] = []
    finds = SimpleNamespace(findall=lambda pattern, part: looked.append(part) or re.findall(pattern, part))
    monkeypatch.setattr(doctor, "re", finds)
    with Memory(tmp_path / "vault", env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        told = [found.message for found in doctor._secrets(memory.workspace)]
    assert told == [f"Own.md:{number}: password" for number in range(1, 31)]
    assert sum(map(len, looked)) <= len(text)


def test_lines_of_properties_are_looked_up_in_a_set(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    read = lines.read_properties
    monkeypatch.setattr(lines, "read_properties", lambda *given: seen.append(given[2]) or read(*given))
    (memory.workspace.vault.root / "n.md").write_text("---\n" + "key: some value\n" * 9 + "---\ntext\n")
    memory.search("text", mode="lexical")
    assert [type(told) for told in seen] == [frozenset]


def test_the_case_of_a_question_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Text(str):
        def islower(self) -> bool:
            looks.append(self)
            return False

    looks: list[str] = []
    asked = SimpleNamespace(text=Text("word " * 9), stems={}, date_words=())
    search._named_in_part(asked, SimpleNamespace(idfs={}, chunks=[]))  # type: ignore[arg-type]
    assert len(looks) == 1
