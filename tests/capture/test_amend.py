"""amend: what is written, what is refused, what is kept."""

from __future__ import annotations

import json
import re

import pytest

from tars_memory.capture.amend import edit, entries, find
from tars_memory.capture.remember import log, remember
from tars_memory.errors import AmbiguousError, ConflictError, NotFoundError, UsageError
from tars_memory.jobs.forgetting import forget
from tars_memory.vault.markdown import entries as grammar


def test_editing_by_name_keeps_everything_else(bench):
    bench.put("2026-11-20.md", "## Log\r\n- 09:00 [extracted] old #t ([[s#^d]]) ^d-1\r\n  - child\r\n- z\r\n")
    ref = entries(bench.ctx(), "daily")[0].ref
    receipt = edit(bench.ctx(), ref.upper(), "new\nwords")
    assert (
        bench.get("2026-11-20.md")
        == "## Log\r\n- 09:00 [extracted] new words #t ([[s#^d]]) ^d-1\r\n  - child\r\n- z\r\n"
    )
    assert (receipt.line, receipt.text, receipt.written) == (2, "new words #t", True)
    assert find(bench.ctx(), receipt.ref).text == "new words #t"


def test_new_words_are_masked_under_the_heading_that_says_what_they_are(bench):
    bench.put("Memory.md", "## Recovery codes\n- tea\n\n## Notes\n- coffee\n")
    script = bench.ctx("script", interactive=False)
    assert edit(script, "tea", "k9l8-m7n6").text == "(masked recovery code)"
    edit(script, "coffee", "k9l8-m7n6")
    assert bench.get("Memory.md") == "## Recovery codes\n- (masked recovery code)\n\n## Notes\n- k9l8-m7n6\n"


def test_the_same_words_change_nothing(bench):
    remember(bench.ctx(), "a")
    assert not edit(bench.ctx(), "a", "a").written


def test_forgetting_takes_the_children(bench):
    bench.put("Memory.md", "## Notes\n- a\n- b\n  - child\n- c")
    receipt = forget(bench.ctx(), "b")
    assert (receipt.line, receipt.text, receipt.written) == (3, "b", True)
    assert bench.get("Memory.md") == "## Notes\n- a\n- c"
    forget(bench.ctx(), "c")
    assert bench.get("Memory.md") == "## Notes\n- a"


def test_equal_words_win_over_words_within(bench):
    bench.put("Memory.md", "- tea\n- green tea\n- Black TEA\n")
    assert find(bench.ctx(), "TEA").line == 1
    assert find(bench.ctx(), "green").line == 2
    with pytest.raises(AmbiguousError) as caught:
        forget(bench.ctx(), "ea")
    assert len(caught.value.candidates) == 3
    for candidate in caught.value.candidates:
        ref, place, *_ = candidate.split()
        assert f"{find(bench.ctx(), ref).path}:{find(bench.ctx(), ref).line}" == place
    for missing in ("coffee", "aaaaaaaa"):
        with pytest.raises(NotFoundError, match=missing):
            forget(bench.ctx(), missing)
    with pytest.raises(UsageError):
        forget(bench.ctx(), " ")
    assert bench.get("Memory.md") == "- tea\n- green tea\n- Black TEA\n"


@pytest.mark.parametrize("typed", ["ÇİLEK", "cilek", "C\u0327ilek reçeli", "RECELI"])
def test_words_name_a_line_as_search_finds_them(bench, typed):
    bench.put("Memory.md", "- tea\n- çilek reçeli severim\n")
    assert find(bench.ctx(), typed).line == 2
    assert forget(bench.ctx(), typed).written and bench.get("Memory.md") == "- tea\n"


def test_words_as_typed_win_over_those_that_only_fold_to_the_same(bench):
    bench.put("Memory.md", "- Papa kauft Brot\n- Papá kauft Brot\n- ano nuevo\n- Año nuevo\n")
    for typed, line in ("papá kauft brot", 2), ("Papa kauft", 1), ("Papá", 2), ("año nuevo", 4), ("ANO", 3):
        assert find(bench.ctx(), typed).line == line
    with pytest.raises(AmbiguousError):
        find(bench.ctx(), "pápa")


def test_a_line_of_a_note_that_the_memory_does_not_edit_is_shown_and_nothing_else(bench):
    bench.put("Boat.md", "# Boat\n- paint the hull\n")
    (listed,) = entries(bench.ctx(), "note")
    for name in (listed.ref, "Boat.md:2"):
        assert find(bench.ctx(), name, anywhere=True) == listed
        for change in (lambda name: edit(bench.ctx(), name, "new"), lambda name: forget(bench.ctx(), name)):
            with pytest.raises(
                UsageError, match=r"^Boat\.md:2 is in a note that the memory reads and does not"
            ) as told:
                change(name)
            assert "tars-memory open Boat.md:2" in told.value.hint
    assert find(bench.ctx(), "the hull", anywhere=True) == listed
    with pytest.raises(
        NotFoundError, match=r"^no entry 'the hull': Boat\.md:2, with these words, is in a note"
    ) as told:
        forget(bench.ctx(), "the hull")
    assert "tars-memory open Boat.md:2" in told.value.hint
    assert bench.get("Boat.md") == "# Boat\n- paint the hull\n"


@pytest.mark.parametrize("name", ["House/Boat.md", "house/boat", "Boat", "Boat.md:1", "../Boat.md:3:some words"])
def test_who_names_a_note_where_an_entry_belongs_hears_what_opens_it(bench, name):
    bench.put("House/Boat.md", "# Boat\nIt has a blue hull.\n")
    bench.put("House/Boats.md", "- a box\n")
    with pytest.raises(NotFoundError) as told:
        find(bench.ctx(), name, anywhere=True)
    place = "House/Boat.md" + "".join(re.findall(r":\d", name))
    assert told.value.hint.startswith(f"tars-memory open {place} opens the note; ")


@pytest.mark.parametrize("note", ["Memory.md", "Boat.md"])
def test_of_a_place_in_a_note_that_is_too_big_that_is_said(bench, note):
    bench.put(note, "- tea\n" * 2_000_000)
    for use in (lambda: find(bench.ctx(), f"{note}:2"), lambda: edit(bench.ctx(), f"{note}:2", "new")):
        with pytest.raises(NotFoundError, match="bytes; more than 10,000,000 are not read") as told:
            use()
        assert told.value.hint == "raise [limits] max_note_bytes, or split the note"


def test_eight_letters_may_be_a_word(bench):
    remember(bench.ctx(), "absolute")
    assert find(bench.ctx(), "absolute").text == "absolute"


def test_hand_written_marks_are_found_as_typed(bench):
    bench.put("Memory.md", "- [ ] call Bob\n- see %%x%% C++\n")
    assert find(bench.ctx(), "[ ] call Bob").line == 1
    assert find(bench.ctx(), "see %%x%%").line == 2


def test_entries_are_listed_by_tier_and_section(bench):
    bench.put("Memory.md", "## A\n- one\n  - two\n## b\n- three\n")
    bench.put("Procedural.md", "- rule\n")
    for day in ("2026-11-19", "2026-11-21", "2026-11-20"):
        bench.put(f"{day}.md", f"- 10:00 {day}\n")
    bench.put("projects/x/Memory.md", "- foreign\n")
    bench.put("projects/x/2026-11-21.md", "- 10:00 foreign\n")
    bench.put("other.md", "- note\n")
    texts = lambda *args: [entry.text for entry in entries(bench.ctx(), *args)]  # noqa: E731
    assert texts() == ["one", "two", "three", "rule"]
    assert texts("semantic", "B") == ["three"]
    assert texts("procedural") == ["rule"]
    assert texts("daily") == ["2026-11-21", "2026-11-20", "2026-11-19"]
    assert texts("note") == ["note"]
    assert texts(None, "none") == []
    with pytest.raises(UsageError, match="no tier"):
        texts("weekly")
    with pytest.raises(NotFoundError):
        find(bench.ctx(), "foreign")


def test_a_note_that_cannot_be_read_is_said_once(bench):
    bench.put("elsewhere.md", "- x\n")
    (bench.root / "Memory.md").symlink_to(bench.root / "elsewhere.md")
    (bench.root / "Procedural.md").mkdir()
    ctx = bench.ctx()
    assert entries(ctx) == []


def test_without_a_person_no_byte_of_the_rules_changes(bench):
    bench.put("Procedural.md", "## Notes\n- be kind ^p-1\n")
    before = bench.get("Procedural.md")
    changed = edit(bench.ctx("agent", interactive=False), "be kind", "be cruel")
    gone = forget(bench.ctx("script", interactive=False), "be kind")
    assert bench.get("Procedural.md") == before
    assert not changed.written
    assert not gone.written
    first, second = (json.loads(bench.get(receipt.path)) for receipt in (changed, gone))
    assert (first["op"], first["text"], first["quote"]) == ("replace", "be cruel", "- be kind ^p-1")
    assert (second["op"], second["text"], second["quote"]) == ("remove", "", "- be kind ^p-1")


def test_an_entry_that_changed_under_the_edit_is_refused(bench, monkeypatch):
    bench.put("Memory.md", "- old\n")
    ctx = bench.ctx()
    real = ctx.store.session

    def session(*args, **options):
        bench.put("Memory.md", "- quite other\n")
        return real(*args, **options)

    monkeypatch.setattr(ctx.store, "session", session)
    with pytest.raises(ConflictError, match="old"):
        edit(ctx, "old", "new")
    assert bench.get("Memory.md") == "- quite other\n"


def test_a_log_line_is_edited_without_its_time(bench):
    receipt = log(bench.ctx(), "met Ana")
    edit(bench.ctx(), receipt.ref, "met Anna")
    assert bench.get("2026-11-21.md") == "## Log\n- 14:30 met Anna\n"


def test_a_task_stays_a_task(bench):
    bench.put("Memory.md", "## Notes\n- [ ] pay rent\n- [x] call Anna\n- plain\n")
    receipt = edit(bench.ctx(), "pay rent", "pay rent by Friday")
    assert find(bench.ctx(), receipt.ref).text == receipt.text == "[ ] pay rent by Friday"
    edit(bench.ctx(), "by Friday", "[x] pay rent by Friday")
    edit(bench.ctx(), "plain", "[x] forged")
    edit(bench.ctx(), "call Anna", "- [ ] call Anna")  # as copied from the note
    assert bench.get("Memory.md") == "## Notes\n- [x] pay rent by Friday\n- [ ] call Anna\n- \\[x] forged\n"
    with pytest.raises(UsageError):
        edit(bench.ctx(), "by Friday", "[ ] ")


@pytest.mark.parametrize(
    ("old", "new", "more", "expected"),
    [
        ("likes tea #food #home/kitchen", "likes green tea", {}, "likes green tea #food #home/kitchen"),
        ("likes tea #food", "likes coffee #drinks", {}, "likes coffee #drinks"),
        ("met #anna in Cork", "met Anna in Galway", {}, "met Anna in Galway #anna"),
        ("likes tea #food", "likes coffee", {"tags": ["#hot", "food"]}, "likes coffee #food #hot"),
        ("likes tea #food [until:: 2026-12-01]", "likes coffee", {"bare": True}, "likes coffee"),
        ("a permit [until:: 2026-12-01] #car", "the permit", {}, "the permit [until:: 2026-12-01] #car"),
        ("a permit [until:: 2026-12-01] #car", "it [until:: 2027-01-01]", {}, "it [until:: 2027-01-01] #car"),
        ("it (Until:: [[2026-12-01|then]])", "so (a:: b)", {}, "so (a:: b) (Until:: [[2026-12-01|then]])"),
        ("see `#code [a:: b]` and #1", "see this", {}, "see this"),
        ("[ ] call Anna #phone", "[x] call Ben", {}, "[x] call Ben #phone"),
    ],
)  # fmt: skip
def test_an_edit_keeps_tags_and_fields_unless_it_brings_its_own(bench, old, new, more, expected):
    bench.put("Memory.md", f"## Notes\n\n- {old} ([[2026-11-14#^d-abc|2026-11-14]]) ^m-1\n  - below\n")
    entry = entries(bench.ctx())[0]
    receipt = edit(bench.ctx(), entry.ref, new, **more)
    assert receipt.text == expected
    assert bench.get("Memory.md") == f"## Notes\n\n- {expected} ([[2026-11-14#^d-abc|2026-11-14]]) ^m-1\n  - below\n"
    kept = [part for part in grammar.kept_fields(old, new) if not more.get("bare")]
    assert [notice for notice in receipt.notices if notice.startswith("kept")] == (
        [f"kept of the old text: {' '.join(kept)} (--bare leaves it out)"] if kept else []
    )
