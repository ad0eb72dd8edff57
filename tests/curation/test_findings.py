"""What tidy finds, each kind with its negative twin: what looks like it and is left alone."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from random_documents import sized, within

from tars_memory.curation.tidying.tidy import Finding, TidyNote, World, fixable, found_in, last_day_named, role_of
from tars_memory.settings import LayoutOptions
from tars_memory.vault.layout import Layout
from tars_memory.vault.links import Links, outlinks
from tars_memory.vault.note import Note

TODAY = date(2026, 11, 21)
LAYOUT = Layout(LayoutOptions())


def look(
    text: str | bytes, path: str = "Memory.md", *, linked: set[str] | None = None, form: set[str] | None = None,
    named: dict[str, int] | None = None, entries: int = 60, today: date = TODAY, **others: str,
) -> list[Finding]:  # fmt: skip
    data = text.encode() if isinstance(text, str) else text
    notes = {path: data, **{name.replace("__", ".").replace("_", " "): said.encode() for name, said in others.items()}}
    world = World(
        today,
        LAYOUT,
        Links(notes),
        linked or set(),
        Counter(named or {}),
        form or set(),
        entries,
        notes.get,
    )
    role = role_of(LAYOUT, path)
    assert role is not None
    note = TidyNote(Note.of(LAYOUT, path, data), role)
    found = found_in(note, world)
    assert [each for each in found if each.fixable] == fixable(note, world)
    assert len({each.id for each in found}) == len(found)
    return found


def kinds(*args: object, **more: object) -> list[tuple[str, int]]:
    return [(each.kind, each.line) for each in look(*args, **more)]  # type: ignore[arg-type]


# --- exact repeats


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Notes\n- likes tea\n- likes tea\n", [("duplicate", 3)]),
        ("## Notes\n- likes tea\n- b c\n- likes tea\n* likes tea\n", [("duplicate", 4), ("duplicate", 5)]),
        ("- likes tea\n- Likes tea!\n", [("near-duplicate", 2)]),
        ("- the café is in the old mill\n- the cafe is in the old mill\n", [("near-duplicate", 2)]),
        ("- Фёдор живёт в Риге\n- Федор живет в Риге\n", [("near-duplicate", 2)]),
        ("## Notes\n- likes tea\n- likes teas and cakes\n", []),
        ("## Anna\n- likes tea\n## Ben\n- likes tea\n", []),
        ("- Anna\n  - likes tea\n- Ben\n  - likes tea\n", []),
        ("- Anna\n  - likes tea\n  - likes tea\n", [("duplicate", 3)]),
        ("```\n- likes tea\n- likes tea\n```\n", []),
        ("%%\n- likes tea\n- likes tea\n%%\n", []),
        ("- [ ] call Bo\n- [x] call Bo\n", []),
        ("## A\n- the key is under the pot\n## B\n- the key is under the pot\n", [("duplicate", 4)]),
        ("## A\n- the key is under the pot\n## B\n- the key is under the mat\n", []),
        ("## Notes\n- likes tea\n## Food\n- likes tea\n", [("duplicate", 4)]),
    ],
)
def test_exact_repeats(text: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text) == found


def test_only_repeats_in_one_place_go_by_themselves() -> None:
    here = look("## A\n- the key is under the pot\n- the key is under the pot\n")
    there = look("## A\n- the key is under the pot\n## B\n- the key is under the pot\n")
    assert ([each.fixable for each in here], [each.fixable for each in there]) == ([True], [False])
    assert there[0].op == "remove"


@pytest.mark.parametrize(
    ("text", "linked", "goes"),
    [
        ("- tea ^m-1\n- tea ^m-2\n", {"m-2"}, 1),
        ("- tea ^m-1\n- tea ^m-2\n", {"m-1"}, 2),
        ("- tea\n- tea ^m-2\n", set(), 1),
        ("- tea\n- tea ([[2026-01-02#^d-1|2026-01-02]])\n", set(), 1),
        ("- tea\n- tea\n  - green\n", set(), 1),
        ("- tea\n- tea\n", set(), 2),
        ("- tea ^M-1\n- tea\n  - green\n", {"m-1"}, None),
        ("- tea\n  - black\n- tea\n  - green\n", set(), None),
        ("- tea ^m-1\n- tea ^m-2\n", {"m-1", "m-2"}, None),
    ],
)
def test_the_line_that_something_hangs_on_stays(text: str, linked: set[str], goes: int | None) -> None:
    found = [each for each in look(text, linked=linked) if each.kind == "duplicate"]
    assert len(found) == 1
    assert [each.line for each in found if each.fixable] == ([goes] if goes else [])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Log\n- 10:00 tea\n- 10:00 tea\n", [("duplicate", 3)]),
        ("## Log\n- 10:00 tea\n- 11:00 tea\n", []),
        ("## Log\n- tea\n- tea\n", []),
        ("## Log\n- 10:00 [extracted] tea ^d-1\n- 10:00 [promoted] tea ^d-2\n", []),
    ],
)
def test_a_day_may_have_the_same_twice(text: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text, "2026-11-20.md") == found


def test_what_was_said_twice_in_a_session_was_said_twice() -> None:
    text = "## Facts\n- likes tea\n- likes tea\n## Turns\n- Anna: yes\n- Anna: yes\n"
    assert kinds(text, "sessions/2026-11-20 1000 x.md") == [("duplicate", 3)]
    assert kinds("- Anna: yes\n- Anna: yes\n", "sessions/2026-11-20 1000 x.md") == []


# --- in other words, and denied


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- the wifi password is on the fridge\n- wifi password is on the fridge\n", [("near-duplicate", 2)]),
        ("- prefers tea\n- prefers no tea\n", [("contradiction", 2)]),
        ("- prefers tea\n- no longer prefers tea\n", [("contradiction", 2)]),
        ("- a longer rope on deck\n- a rope on deck\n", []),
        ("- prefers tea\n- prefers coffee\n", []),
        ("- engineer at Acme\n- senior engineer at Acme\n", []),
        ("## Anna\n- likes green tea\n## Ben\n- likes tea green\n", []),
        ("- ah\n- oh\n", []),
    ],
)
def test_the_same_in_other_words(text: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text) == found
    assert not any(each.fixable for each in look(text))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("- dentist on 15 Oct\n- milk\n- dentist on 16 Oct\n", [(1, 3)]),
        ("- the rent is 1,200 euros\n- the rent is 1,300 euros\n", [(1, 2)]),
        ("- Anna has two children\n- Anna has three children\n", [(1, 2)]),
        ("- Anna moved to Cork in 2024\n- Anna moved to Cork in 2025\n", [(1, 2)]),
        ("- box 1 holds 7 cups\n- box 2 holds 14 cups\n- box 3 holds 21 cups\n- box 4 holds 28 cups\n", []),
        ("- choir on Tuesdays\n- Choir on tuesdays ^c\n- rent of 840 €\n- Rent of 840 €.\n", []),
        ("- I am allergic to penicillin\n## Health\n- I'm not allergic to penicillin\n", [(1, 3)]),
        ("- I live in Leipzig\n- I have two cats\n- I live in Hamburg\n", [(1, 3)]),
        ("- prefers tea\n- prefers coffee\n", []),
        ("- allergic to nuts\n- allergic to cats\n- not allergic to dust\n", []),
        ("- prefers dark mode\n- prefers night trains\n- does not prefer tabs\n", []),
    ],
)
def test_which_of_these_is_asked_by_structure_alone(text: str, lines: list[tuple[int, ...]]) -> None:
    found = [each for each in look(text) if each.kind == "contradiction"]
    assert [tuple(line.line for line in each.conflicts) for each in found] == lines
    assert all(each.op == "choose" and each.suggestion.startswith("which of these? “") for each in found)
    assert not any(each.fixable for each in found)


def test_two_values_of_a_predicate_that_has_one_at_a_time() -> None:
    facts = "## me\n- lives in:: Cork [since:: 2026-01-02]\n- lives in:: Oslo\n- likes:: tea\n- likes:: rye\n"
    over = "- lives in:: Rome [until:: 2020-01-01]\n"
    (found,) = look(facts + over, "Facts.md")
    assert [str(line) for line in found.conflicts] == ["lives in Cork (2026-01-02)", "lives in Oslo"]
    (beside,) = look("- I live in Dublin\n", Facts__md=facts.replace("- lives in:: Oslo\n", ""))
    assert [line.path for line in beside.conflicts] == ["Memory.md", "Facts.md"]
    assert look("- I live in Cork\n", Facts__md=facts.replace("- lives in:: Oslo\n", "")) == []


# --- nothing in it


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a\n-\n- b\n", [("empty", 2)]),
        ("- a\n- \n* [ ] \n+ [x]\n", [("empty", 2), ("empty", 3), ("empty", 4)]),
        ("- a\n  - b\n  -\n", [("empty", 3)]),
        ("-\n  - b\n", []),
        ("- ![[x.png]]\n", [("dead-link", 1)]),
        ("```\n-\n```\n", []),
        ("- TODO\n", [("placeholder", 1)]),
        ("- [ ] tbd…\n", [("placeholder", 1)]),
        ("- **TODO**: \n- {{title}}\n- lives in::\n- ...\n", [("placeholder", n) for n in (1, 2, 3, 4)]),
        ("- {{}}\n- {{ date }}\n- {{date:YYYY-MM-DD HH:mm}}\n", [("placeholder", n) for n in (1, 2, 3)]),
        (
            "- {{embed ((6543-aa))}}\n- {{query (task TODO)}}\n- {{video https://x.org}}\n- {{youtube: https://y.org}}\n",
            [],
        ),
        ("- {{[[2026-12-24]]}}\n", []),
        ("- TODO: call Bo\n- none\n- nothing\n- n/a\n- example.org is down\n", []),
        ("- lives in:: Cork\n- Birthday:\n  - 3 May\n", []),
    ],
)
def test_empty_bullets_and_placeholders(text: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text) == found
    assert all(each.fixable == (each.kind == "empty") for each in look(text))


def test_a_day_is_looked_at_when_it_is_over_and_its_form_is_left_alone() -> None:
    text = "## Log\n-\n## Mood\n- [ ]\n"
    assert kinds(text, "2026-11-20.md") == [("empty", 2), ("empty", 4)]
    assert kinds(text, "2026-11-20.md", form={"mood"}) == [("empty", 2)]
    assert kinds(text, "2026-11-21.md") == kinds(text, "2026-11-22.md") == []


# --- links


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- see [[Gone]]\n", 1),
        ("- see [[Gone|there]] and [[Gone]]\n", 1),
        ("- ![[gone.png]]\n- [x](gone.png)\n- [x](deep/Gone.md)\n", 3),
        ("- [[deep/Gone]]\n- [[Tea#Gone]]\n- [[Tea#^gone]]\n- [[#Gone]]\n", 4),
        ("- moved ([[2026-01-02#^d-1|2026-01-02]])\n", 1),
        ("- [[Tea]] [[tea]] [[Tea.md]] [[Tea#Green leaf]] [[Tea#^t-1]] [[Tea#Tea#Green leaf]] [[#Own]]\n## Own\n", 0),
        ("- [out](https://x.org/gone.md) [m](mailto:a@b.c) [w](www.gone.com) [r](/gone.md) [f](deep/) [a](#x)\n", 0),
        ("- `[[Gone]]` and ``![[gone.png]]``\n```\n[[Gone]]\n```\n%% [[Gone]] %%\n", 0),
        ("- a day to come: [[2026-12-24]]\n", 0),
    ],
)
def test_dead_links(text: str, found: int) -> None:
    note = "# Tea\n## Green leaf\n- oolong ^t-1\n"
    assert [each.kind for each in look(text, Tea__md=note)] == ["dead-link"] * found


def test_a_name_without_a_note_is_dead_only_where_that_is_not_meant() -> None:
    assert kinds("- see [[Anna]]\n", named={"anna": 2}) == [("dead-link", 1)]
    assert kinds("- see [[Anna]]\n", named={"anna": 3}) == []
    assert kinds("- met [[Anna]]\n", "2026-11-20.md") == []
    assert kinds("- met [[deep/Anna]]\n", "2026-11-20.md") == [("dead-link", 1)]


def test_where_a_line_is_from_is_found_in_the_archive() -> None:
    text = "- moved ([[2026-01-02#^d-1|2026-01-02]])\n"
    assert kinds(text, **{"archive/2026-01-02__md": "- 10:00 x ^d-1\n"}) == []
    assert kinds(text, **{"archive/2026-01-02__md": "- 10:00 x ^d-2\n"}) == [("dead-link", 1)]


def test_a_link_to_another_note_of_the_name_is_told_how_it_is_written_right() -> None:
    days = {"2026/october/21__md": "- 10:00 x ^d-1\n", "2026/november/21__md": "- 10:00 y ^d-2\n"}
    (found,) = look("- moved ([[21#^d-2|21]])\n", **days)
    assert found.suggestion == (
        "[[21#^d-2]] leads to no line of 2026/october/21.md, but 2026/november/21.md has it: "
        "write [[2026/november/21#^d-2]]"
    )
    (found,) = look("- moved ([[21#^d-3|21]])\n", **days)
    assert found.suggestion.endswith("leads to no line of 2026/october/21.md: fix the link, or remove it")
    (found,) = look("- moved ([[21#^d-2|21]])\n", **days, **{"2026/december/21__md": "- z ^d-2\n"})
    assert "has it" not in found.suggestion


# --- dates


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("passport valid until 2025-03-01", date(2025, 3, 1)),
        ("passport expires in March 2025", date(2025, 3, 31)),
        ("on leave until 3 March 2025", date(2025, 3, 3)),
        ("deadline: 15 Oct 2026", date(2026, 10, 15)),
        ("report due 2026-11-20", date(2026, 11, 20)),
        ("Ausweis gültig bis 01.03.2025", date(2025, 3, 1)),
        ("carte valable jusqu'au 2025-03-01", date(2025, 3, 1)),
        ("renew 📅 2026-01-02", date(2026, 1, 2)),
        ("passport valid until ٢٠٢٥-٠٣-٠١", date(2025, 3, 1)),
        ("Ausweis gültig bis １.３.２０２５", date(2025, 3, 1)),
        ("lived in Cork until 2019-05-01", None),
        ("worked at Acme from 2018 until 2020", None),
        ("wohnte bis 01.03.2025 in Köln", None),
        ("expired on 2024-01-01", None),
        ("use the side door until Friday", None),
        ("open until 22:00", None),
        ("born 2001-02-03", None),
        ("until 2026-13-45", None),
    ],
)
def test_the_end_that_a_line_names(text: str, end: date | None) -> None:
    assert last_day_named(text, TODAY) == end


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- code TEA good until 2026-11-20\n", True),
        ("- code TEA good until 2026-11-21\n", False),
        ("- code TEA good until 2027-01-01\n", False),
        ("- [x] report due 2026-01-01\n", False),
        ("- ~~report due 2026-01-01~~\n", False),
        ("- code TEA [until:: 2026-11-20]\n", False),
        ("- on leave until 2026-02-01 ([[2026-01-02#^d|2026-01-02]])\n", True),
        ("- on leave until 2026-01-01 ([[2026-01-02#^d|2026-01-02]])\n", False),
    ],
)
def test_a_date_that_is_past(text: str, found: bool) -> None:
    assert ("expired" in [each.kind for each in look(text)]) is found
    assert kinds(text, "2026-11-20.md", **{"2026-01-02__md": "- x ^d\n"}) == []


def test_a_fact_that_ended_is_no_finding() -> None:
    assert kinds("## Anna\n- lives in:: Cork [since:: 2020-01-01] [until:: 2025-01-01]\n", "Facts.md") == []


# --- sections and headings


def test_a_section_that_is_too_long() -> None:
    lines = "".join(f"- line number {number} of many\n" for number in range(6))
    assert kinds(f"## Notes\n{lines}", entries=5) == [("oversized", 1)]
    assert kinds(f"## Notes\n{lines}", entries=6) == []
    assert kinds(f"## Notes\n{lines}".replace("- line number 3", "## More\n- line number 3"), entries=5) == []
    assert kinds(f"## Notes\n{lines}", "2026-11-20.md", entries=5) == []


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        ("## Notes\n- a b\n## Work\n- c d\n## notes\n- e f\n", "Memory.md", [("repeated-heading", 5)]),
        ("## A\n### Notes\n- a b\n## B\n### Notes\n- c d\n", "Memory.md", []),
        ("## Log\n- 10:00 a\n## Log\n- 11:00 b\n", "2026-11-20.md", [("repeated-heading", 3)]),
        ("## Meeting\n- a b\n## Meeting\n- c d\n", "2026-11-20.md", []),
        ("## Facts\n- a b\n## Facts\n- c d\n", "sessions/2026-11-20 1000 x.md", [("repeated-heading", 3)]),
        ("## Anna\nhi\n## Anna\nho\n", "sessions/2026-11-20 1000 x.md", []),
        ("```\n## Notes\n```\n## Notes\n- a b\n", "Memory.md", []),
    ],
)
def test_repeated_headings(text: str, path: str, found: list[tuple[str, int]]) -> None:
    assert kinds(text, path) == found


def test_a_block_id_that_two_lines_bear() -> None:
    assert kinds("- tea ^m-1\n- coffee ^m-1\n") == [("repeated-id", 2)]
    assert kinds("- tea ^m-1\n- coffee ^m-2\n") == []


# --- daily lines


@pytest.mark.parametrize(
    "line",
    [
        "25:10 tea", "10:75 tea", "10:15:30 tea", "2pm tea", "2:30 pm tea", "14h30 tea", "14.30 Uhr Tee", "14:30: tea",
        "10:00 [Extracted] tea", "10:00 [extracted] [promoted] tea",
        "10:00 tea [extracted]", "10:00", "10:00 [extracted]tea ^d-1",
    ],
)  # fmt: skip
def test_malformed_daily_lines(line: str) -> None:
    found = look(f"## Log\n- 09:00 before\n- {line}\n", "2026-11-20.md")
    assert [(each.kind, each.line, each.fixable) for each in found] == [("malformed", 3, False)]


@pytest.mark.parametrize(
    "line",
    [
        "10:00 tea", "9:30 tea", "10:00 [extracted] tea ^d-1", "10:00 [expired] tea", "tea", "9:30-10:30 tea with Bo",
        "1.50 Euro for bread", "2 apples", "3:2 win", "10:00 [expected] tea", "10:00 tea \\[extracted]", "[ ] 2pm tea",
        "10:00 [extraced] tea", "10:00 the tag \\[extracted] is ours",
    ],
)  # fmt: skip
def test_daily_lines_that_are_fine(line: str) -> None:
    assert kinds(f"## Log\n- 09:00 before\n- {line}\n", "2026-11-20.md") == []
    assert kinds("## Plan\n- 2pm tea\n- 25:10 against them\n", "2026-11-20.md") == []


def test_a_daily_line_without_its_mark() -> None:
    assert kinds("## Log\n10:00 tea\n", "2026-11-20.md") == [("malformed", 2)]
    assert kinds("## Log\n- 10:00 tea\n11:00 cake\n", "2026-11-20.md") == [("malformed", 3)]
    assert kinds("## Log\n- 10:00 tea\n-11:00 cake\n", "2026-11-20.md") == [("malformed", 3)]
    assert kinds("## Log\n- 10:00 tea\n  -5 degrees, 11:00-12:00 outside\n", "2026-11-20.md") == []
    assert kinds("## Log\n- 10:00 tea\n  with cake at 11:00\n\n12 guests\n", "2026-11-20.md") == []
    assert kinds("## Log\n```\n10:00 tea\n```\n## Plan\n10:00 tea\n", "2026-11-20.md") == []


# --- names


def test_an_id_is_made_of_the_words_alone() -> None:
    before = look("- likes tea\n- likes tea\n- see [[Gone]]\n")
    moved = look("# M\n\n- something else\n- likes tea\n- likes tea\n\n- see [[Gone]]\n")
    assert [each.id for each in before] == [each.id for each in moved]
    changed = look("- likes milk\n- likes milk\n- do see [[Gone]]\n")
    assert not {each.id for each in before} & {each.id for each in changed}


@pytest.mark.parametrize("path", ["Tea.md", "archive/2026-01-02.md", "projects/readme.md"])
def test_notes_of_the_person_and_archived_ones_are_not_looked_at(path: str) -> None:
    assert role_of(LAYOUT, path) is None


@pytest.mark.timed
@pytest.mark.parametrize(
    "line",
    [
        "` `` ``` " * sized(30_000), "[" * sized(200_000), "[a](" * sized(60_000), "![[" * sized(60_000),
        "<a " * sized(60_000), "until 2020 " * sized(20_000), "[x][x]" * sized(40_000), "%%" * sized(100_000),
        "<a" + " " * sized(200_000), "edededed" * sized(30_000), "no tea " * sized(30_000),
    ],
)  # fmt: skip
def test_a_monstrous_line_takes_no_time(line: str) -> None:
    with within(5):
        look(f"- {line}\n- {line[:-1]}\n- a\n")
        set(outlinks(line))


def test_any_bytes_are_looked_at() -> None:
    assert look(b"\xff\xfe- \x00\r- a\xc3\x28 b [[\xff]]\r- [[x]](y\r\n") is not None
