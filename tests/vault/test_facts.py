"""The grammar of facts, and what adding one does to the others."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest
from hypothesis import given, strategies as st

from tars_memory.settings import FactsOptions
from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.edits import add_fact
from tars_memory.vault.markdown.facts import Claim, Ending, Fact, Predicates, Said
from tars_memory.vault.note import Note

TODAY = date(2026, 11, 21)
PREDICATES = Predicates.of(FactsOptions())


DAY = date(2025, 1, 1)


def fact(object_: str, since: date | None = None, until: date | None = None, predicate: str = "lives in") -> Fact:
    return Fact(f"ref-{object_}"[:8], "Anna", predicate, object_, since, until, "", "Facts.md", 3)


def day(text: str) -> date:
    return date.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lives in:: Cork", Said("lives in", "Cork", None, None)),
        ("lives in:: Cork [since:: 2026-11-14]", Said("lives in", "Cork", day("2026-11-14"), None)),
        ("lives in:: Cork (since:: 2026-11-14)", Said("lives in", "Cork", day("2026-11-14"), None)),
        (
            "a:: b [until:: 2027-01-01] [since:: 2026-11-14]",
            Said("a", "b", day("2026-11-14"), day("2027-01-01")),
        ),
        ("said:: [since:: 2026-13-40]", Said("said", "[since:: 2026-13-40]", None, None)),
        ("site:: https://x.org/a::b #tag", Said("site", "https://x.org/a::b #tag", None, None)),
        (
            "a:: b [since:: 2026-01-01] [since:: 2025-01-01]",
            Said("a", "b [since:: 2026-01-01]", day("2025-01-01"), None),
        ),
        ("a:: b [until:: 2027-01-01] #tag", Said("a", "b #tag", None, day("2027-01-01"))),
        ("a:: b [Since:: 2026-11-14], by the sea", Said("a", "b, by the sea", day("2026-11-14"), None)),
        ("a:: b\t(UNTIL::2026-11-14T10:30)", Said("a", "b", None, day("2026-11-14"))),
        ("a:: b [since:: 2026-11-14 10:30]", Said("a", "b", day("2026-11-14"), None)),
        ("a:: b [since:: [[2026-11-14]]]", Said("a", "b", day("2026-11-14"), None)),
        ("a:: b (since:: [[2026-11-14|Saturday]]) c", Said("a", "b c", day("2026-11-14"), None)),
        ("a:: b [since:: 2026-02-30]", Said("a", "b [since:: 2026-02-30]", None, None)),
        ("lives in::Cork", Said("lives in", "Cork", None, None)),
        ("lives in (mostly):: Cork", Said("lives in (mostly)", "Cork", None, None)),
        ("[[works at]]:: the mill", Said("[[works at]]", "the mill", None, None)),
        ("a" * 200 + ":: b", Said("a" * 200, "b", None, None)),
        ("[ ] lives in:: Cork", None),
        ("some words [since:: 2026-11-14]", None),
        ("no fact at all", None),
        ("lives in::", None),
        (":: Cork", None),
        ("[lives in:: Cork]", None),
    ],
)
def test_the_grammar(text: str, expected: Said | None) -> None:
    assert facts.parse(text) == expected


NAMES = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=12)
DAYS = st.none() | st.dates(date(2000, 1, 1), date(2100, 1, 1))


@given(predicate=NAMES, object_=NAMES, since=DAYS, until=DAYS)
def test_what_is_written_is_read_again(predicate: str, object_: str, since: date | None, until: date | None) -> None:
    assert facts.parse(facts.words(predicate, object_, since, until)) == Said(predicate, object_, since, until)


def test_a_note_and_what_in_it_is_no_fact() -> None:
    note = (
        b"# Facts\n- stray:: one\n\n## Anna\r\n"
        b"- lives in:: Cork [since:: 2026-11-14] ([[2026-11-14#^d-1|2026-11-14]])\r\n"
        b"  - nested:: thing\n- just a remark\n\n```\n- in a:: fence\n```\n\n## [[Bela]]\n* likes:: oolong ^m-1\n"
    )
    found = [fact for _, fact in facts.read("Facts.md", Document(note))]
    assert [(f.subject, f.predicate, f.object, f.line, f.source) for f in found if f.subject != "Facts"] == [
        ("Anna", "lives in", "Cork", 5, "2026-11-14#^d-1"),
        ("Bela", "likes", "oolong", 14, ""),
    ]


@pytest.mark.parametrize(
    ("since", "until", "on", "holds"),
    [
        (None, None, "1900-01-01", True),
        ("2026-11-14", None, "2026-11-13", False),
        ("2026-11-14", None, "2026-11-14", True),
        (None, "2026-11-14", "2026-11-13", True),
        (None, "2026-11-14", "2026-11-14", False),
    ],
)
def test_when_it_holds(since: str | None, until: str | None, on: str, holds: bool) -> None:
    assert fact("x", since and day(since), until and day(until)).holds(day(on)) is holds


def plan(known: list[Fact], object_: str, since: str | None = None, until: str | None = None, predicate="lives in"):
    new = Claim("anna", predicate, object_, day(since) if since else None, day(until) if until else None)
    return facts.plan(known, new, today=TODAY, predicates=PREDICATES)


def test_a_new_value_ends_the_old_one_at_its_own_start() -> None:
    old = fact("Dublin", day("2024-03-01"))
    assert plan([old], "Cork") == (None, TODAY, None, (Ending(old, TODAY),))
    assert plan([old], "Cork", "2025-01-01").endings == (Ending(old, day("2025-01-01")),)
    undated = fact("Dublin")
    assert plan([undated], "Cork").endings == (Ending(undated, TODAY),)
    future = plan([old], "Cork", "2027-01-01")
    assert future.endings == (Ending(old, day("2027-01-01")),) and future.since == day("2027-01-01")


def test_a_back_dated_value_never_ends_a_later_one() -> None:
    later = fact("Dublin", day("2024-03-01"))
    assert plan([later], "Cork", "2020-01-01") == (None, day("2020-01-01"), day("2024-03-01"), ())
    first = fact("Bonn", day("2010-01-01"), day("2024-03-01"))
    made = plan([first, later], "Cork", "2020-01-01")
    assert made.until == day("2024-03-01") and made.endings == (Ending(first, day("2020-01-01")),)
    assert plan([later], "Cork", "2020-01-01", "2021-01-01").until == day("2021-01-01")


@pytest.mark.parametrize("since", [None, "2019-01-01", "2024-06-01"])
def test_what_is_over_already_ends_nothing(since: str | None) -> None:
    current = fact("Dublin", day("2018-03-01"))
    made = plan([current], "Cork", since, "2024-12-31")
    assert made == (None, since and day(since), day("2024-12-31"), ())
    over = fact("Cork", since and day(since), day("2024-12-31"))
    assert plan([current, over], "cork", since, "2024-12-31").same == over
    assert plan([current], "Cork", None, "2100-01-01").endings == (Ending(current, TODAY),)


def test_a_fact_by_hand_that_never_held_counts_for_nothing() -> None:
    never = fact("Cork", day("2030-01-01"), day("2020-01-01"))
    assert plan([never], "Bonn", "2025-01-01") == (None, day("2025-01-01"), None, ())


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("Cork [until:: soon]", "[until:: soon]"),
        ("Cork (Since::2026-02-30)", "(Since::2026-02-30)"),
        ("Cork [by:: Bob], perhaps", "[by:: Bob]"),
        ("Cork [until:: [[tomorrow]]]", "[until:: [[tomorrow]]]"),
        ("Cork [until::]", "[until::]"),
        ("Cork", ""),
        ("Cork [nearby:: Bob] until:: x", ""),
    ],
)
def test_a_field_that_is_no_date_is_noticed(text: str, field: str) -> None:
    assert facts.stray_field(text) == field


def test_there_and_back_again() -> None:
    known = [fact("Cork", day("2020-01-01"), day("2024-03-01")), fact("Dublin", day("2024-03-01"))]
    made = plan(known, "Cork")
    assert made.same is None and made.endings == (Ending(known[1], TODAY),)


@pytest.mark.parametrize(
    ("old", "new"), [("engineer", "senior engineer"), ("Berlin", "Berlin Mitte"), ("tea", "no tea")]
)
def test_a_near_value_is_another_value(old: str, new: str) -> None:
    known = fact(old, day("2024-01-01"))
    assert plan([known], new).endings == (Ending(known, TODAY),)
    liked = fact(old, day("2024-01-01"), predicate="likes")
    made = plan([liked], new, predicate="likes")
    assert made.same is None and made.endings == ()


def test_what_holds_already_is_not_said_twice() -> None:
    known = fact("Cork", day("2024-03-01"))
    assert plan([known], "CORK").same == known
    assert plan([known], "Cork", "2023-01-01").same is None  # it held earlier than was known
    assert plan([fact("tea", predicate="likes")], "tea", predicate="likes").same is not None


def test_events_end_and_temporary_ones_coexist() -> None:
    met = plan([], "the harbour master", "2026-11-01", predicate="met")
    assert met.until == day("2027-01-30")
    trip = fact("Rome", day("2026-11-20"), predicate="is in")
    assert plan([trip], "Milan", predicate="is in").endings == ()


@pytest.mark.parametrize(
    ("old", "new"), [("A", "A*"), ("tea", "~~tea~~"), ("C", "C#"), ("C", "C++"), ("5", "5.0"), ("Ann", "Anna")]
)
def test_what_only_signs_tell_apart_is_another_value(old: str, new: str) -> None:
    assert plan([fact(old, predicate="grade")], new, predicate="grade").same is None


@pytest.mark.parametrize(("old", "new"), [("Cork", "[[Cork]]"), ("Cork", "[[places/Cork|cork ]]"), ("a  b", "A b")])
def test_what_only_a_link_or_case_tells_apart_is_the_same(old: str, new: str) -> None:
    assert facts.same_object(old, new)


def test_nobody_is_called_as_the_note() -> None:
    data = b"# Facts\n- lives in:: Cork\n\n## Anna\n- likes:: tea\n\n### At work\n- likes:: mate\n"
    assert [(each.subject, each.object) for _, each in facts.read("projects/a/Facts.md", Document(data))] == [
        ("Anna", "tea"),
        ("At work", "mate"),
    ]
    new = Claim("Facts", "likes", "figures")
    planned = facts.plan([], new, today=TODAY, predicates=PREDICATES)
    _, _, splices = add_fact(Note("Facts.md", data), new, planned)
    found = [each for _, each in facts.read("Facts.md", Document(apply(data, splices)))]
    assert ("Facts", "figures") in [(each.subject, each.object) for each in found]


def test_a_name_does_not_pass_from_one_subject_to_another() -> None:
    data = b"## Anna\n- likes:: tea\n\n## Ben\n- likes:: tea\n- likes:: tea\n"
    before = {each.ref: each.subject for _, each in facts.read("Facts.md", Document(data))}
    assert len(before) == 3
    turned = b"## Ben\n- likes:: tea\n\n## [[Anna]]\n- likes:: tea\n"
    after = {each.ref: each.subject for _, each in facts.read("Facts.md", Document(turned))}
    assert {ref: before[ref] for ref in after} == {ref: each.strip("[]") for ref, each in after.items()}


def test_a_predicate_with_underscores_is_the_same() -> None:
    told = facts.plan([fact("Cork")], Claim("Anna", "lives_in", "Bonn", DAY), today=TODAY, predicates=PREDICATES)
    assert [ending.fact.object for ending in told.endings] == ["Cork"]
    again = facts.plan([fact("Cork")], Claim("Anna", "lives_in", "Cork"), today=TODAY, predicates=PREDICATES)
    assert again.same == fact("Cork")
    assert Claim("Anna", "lives_in", "Cork").key == Claim("anna", "Lives in", "Cork").key
    assert PREDICATES.replaces("has_status") and not PREDICATES.replaces("works_on")
    assert PREDICATES.is_event("disposed_of")
    assert facts.predicate_key("_likes_") == "likes"


def test_a_subject_whose_letters_are_decomposed_is_the_same() -> None:
    known = Note("Facts.md", "## José\n- lives in:: Orléans\n".encode())
    typed = unicodedata.normalize("NFD", "José"), "lives in", unicodedata.normalize("NFD", "Orléans")
    (fact,) = (fact for _, fact in known.facts)
    assert Claim(*typed).key == Claim(fact.subject, fact.predicate, fact.object).key
    section = known.document.find_section(typed[0])
    assert section is not None and section.title == "José"
