"""What a line is worth beside its words: only of equal lines it decides."""

from __future__ import annotations

from datetime import date

import pytest
from recalled import TODAY, Recalled

from tars_memory.language import dates
from tars_memory.recall import query, weights
from tars_memory.settings import RecallOptions
from tars_memory.vault.markdown import lines


@pytest.mark.parametrize(
    ("tier", "day", "factor"),
    [
        ("daily", "2026-11-21", 1.0),
        ("daily", "2026-10-22", 0.5),
        ("daily", "2026-12-24", 1.0),
        ("episodic", "2026-05-25", 0.5),
        ("semantic", "2020-11-21", 1.0),
        ("note", "2020-11-21", 1.0),
        ("daily", "", 0.0),
        ("daily", "2026-02-31", 0.0),
    ],
)
def test_what_was_said_fades_with_the_half_life_of_its_tier_and_the_rest_never(tier, day, factor):
    half_lives = query.half_lives(RecallOptions())
    assert weights.fading(tier, day, TODAY, half_lives).factor == pytest.approx(factor)
    assert weights.fading(tier, day, None, half_lives).factor == 1.0
    assert weights.fading(tier, day, TODAY, {"daily": 0, "episodic": 0}).factor == 1.0


@pytest.mark.parametrize(
    ("line", "worth"),
    [
        ("  - [rejected] likes coffee", weights.PENALTY),
        ("- [expired] likes coffee", weights.PENALTY),
        ("- [extracted] likes coffee", 0.0),
        ("he wrote [rejected] on the form", 0.0),
        ("- lives in:: Cork [since:: 2019-01-01] [until:: 2024-05-01]", weights.PENALTY),
        ("- lives in:: Cork [until:: 2027-05-01]", 0.0),
        ("- lives in:: Cork (until:: 2024-05-01)", weights.PENALTY),
        ("- lives in:: Cork [since:: 2026-11-22]", weights.PENALTY),
        ("- lives in:: Cork [since:: 2026-11-21]", 0.0),
        ("plain words", 0.0),
    ],
)
def test_validity_of_a_line(line, worth):
    assert weights.validity(lines.read([line])[0], TODAY) == worth


@pytest.mark.parametrize(
    ("question", "worth"),
    [
        ("where did I live in 2018", weights.PENALTY),
        ("where did I live in 2021", 0.0),
        ("where did I live in 2025", weights.PENALTY),
        ("where will I live in 2031", 0.0),
        ("where do I live in May", 0.0),
    ],
)
def test_a_fact_is_as_good_as_any_for_a_question_about_its_time(question, worth):
    ended, begun = lines.read(
        ["- lives in:: Cork [since:: 2019-01-01] [until:: 2024-05-01]", "- lives in:: Cork [since:: 2030-01-01]"]
    )
    asked = [day for day, _ in dates.dated(question, TODAY)]
    assert weights.validity(begun if "2031" in question else ended, TODAY, asked) == worth


@pytest.fixture
def recalled(tmp_path):
    made = []

    def make(notes):
        made.append(Recalled(tmp_path / str(len(made)), notes))
        return made[-1]

    yield make
    for one in made:
        one.close()


def paths(vault, text, mode):
    return [hit.path for hit in vault.search(text, mode).hits]


def test_of_equal_lines_the_newer_comes_first(recalled):
    days = [date(2026, month, 3).isoformat() for month in (6, 11, 8, 10)]
    vault = recalled({f"{day}.md": "- the oolong kettle is on the upper shelf\n" for day in days})
    assert paths(vault, "oolong kettle shelf", "lexical") == [f"{day}.md" for day in sorted(days, reverse=True)]
    worth = [hit.explain["note: recency"] for hit in vault.search("oolong kettle", explain=True).hits]
    assert len(set(worth)) == 4
    assert max(worth) < weights.RECENCY_WORTH


def test_a_plan_in_force_comes_before_the_one_that_it_replaced(recalled):
    new = "we travel to Porto, not to Lisbon, from the third to the seventh"
    vault = recalled(
        {
            "2026-11-10.md": "- 19:00 [promoted] we travel to Lisbon in December ^d-x7mf6vg\n- 19:04 it rained\n",
            "2026-11-18.md": f"- 17:20 [promoted] {new} ^d-ojt6fnt\n"
            "  - replaced:: we travel to Lisbon in December ([[2026-11-10#^d-x7mf6vg|2026-11-10]])\n",
            "Memory.md": f"- {new} ([[2026-11-18#^d-ojt6fnt|2026-11-18]])\n",
        }
    )
    assert "Porto" in vault.search("where do we travel in December", "lexical").hits[0].text


def test_what_only_an_opening_repeats_still_speaks_for_its_session(recalled):
    opening = "# A talk\n\n## Summary\n\nOpening: “the dentist moved my appointment to the eighteenth” [1]\n"
    vault = recalled(
        {"sessions/2026-11-12 1400 A talk.md": opening}
        | {f"{day}.md": "- my appointment was long, the room was cold\n" for day in ("2026-11-13", "2026-11-14")}
    )
    hits = vault.search("when is my dentist appointment", "lexical", explain=True).hits
    assert "dentist" in hits[0].text
    assert hits[0].explain["line: validity"] == weights.REPEATED
    assert hits[0].explain["note: best line"] > 0


LONG = [f"- talked about matter {i} of the garden and the fence\n" for i in range(14)]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    ("asked", "older", "newer"),
    [
        ("oolong kettle", "the oolong kettle is on the upper shelf", "the oolong kettle is on the upper shelf"),
        ("rent of the workshop", "the rent of the workshop is 840 euros", "the rent of the workshop is 910 euros"),
        ("Zahnarzttermin Levin", "Levins Zahnarzttermin ist am 12. März", "Levins Zahnarzttermin ist am 4. Mai"),
        ("船屋的备用钥匙", "船屋的备用钥匙挂在蓝色木桶后面", "船屋的备用钥匙放在丽华的办公室"),
    ],
)
def test_of_the_same_words_the_newer_come_first_whatever_stands_around_them(recalled, mode, asked, older, newer):
    old, new = f"- {older}\n", f"- 08:15 {newer}\n"
    session = "---\ndate: 2026-05-03\n---\n# A talk\n\n"
    dated = {f"2026-11-{day}.md": old + "".join(LONG[: 14 - day % 13]) for day in (13, 14, 15, 16)}
    for notes in (
        {"sessions/2026-05-03 1015 A talk.md": session + old, "2026-11-20.md": "".join([*LONG[:9], new, *LONG[9:]])},
        {"2026-11-18.md": old, "2026-11-19.md": "".join([*LONG, new]), "2026-11-17.md": "".join(LONG)},
        dated | {"2026-11-20.md": new},
    ):
        vault = recalled(notes | {f"Note {i}.md": f"words {i} about something else\n" for i in range(4)})
        hits = vault.search(asked, mode, explain=True).hits
        assert newer in hits[0].text
        for hit in hits:
            assert sum(hit.explain.values()) == pytest.approx(hit.score)


@pytest.mark.parametrize(
    ("asked", "older", "newer"),
    [
        ("where is the water meter", "the water meter is behind the boiler", "The water meter is behind the boiler!"),
        ("Wo sitzt der Zähler?", "Der Zähler sitzt hinter dem Kessel", "Der **Zähler** sitzt hinter dem [[Kessel]]."),
        ("水道メーターはどこ", "水道メーターはボイラーの裏にあります", "**水道**メーターは[[ボイラー]]の裏にあります"),
        ("水表 锅炉", "水表在锅炉后面", "[[水]]表在锅炉后面。 #house/cellar"),
    ],
)
def test_what_dresses_a_line_does_not_make_it_another(recalled, asked, older, newer):
    marked = f"- 14:30 [extracted] {newer} ([[sessions/A talk]]) ^d-abcdefg\n"
    for old, new in ((f"- {older}\n", marked), (marked, f"- {older}\n")):
        vault = recalled({"2026-11-02.md": old, "2026-11-19.md": "".join([*LONG[:5], new, *LONG[5:]])})
        assert paths(vault, asked, "lexical")[:1] == ["2026-11-19.md"], (old, new)


def test_of_the_same_words_that_have_faded_long_ago_the_newer_come_first(recalled):
    """Decades of a half-life away no bonus is left that could part them."""
    days = ["2009-05-01", "2012-05-01", "2010-01-01"]
    vault = recalled({f"{day}.md": "- the oolong kettle is on the upper shelf\n" for day in days})
    assert paths(vault, "oolong kettle", "lexical") == [f"{day}.md" for day in sorted(days, reverse=True)]


def test_a_tier_without_half_life_never_gives_way_to_a_newer_line(recalled):
    line = "- the oolong kettle is on the upper shelf\n"
    older, newer = "2026-03-04.md", "sessions/2026-11-19 1200 A talk.md"
    vault = recalled({older: line, newer: f"---\ndate: 2026-11-19\n---\n# Kettle\n\n{line}"})
    assert paths(vault, "oolong kettle", "lexical")[0] == newer
    assert vault.search("oolong kettle", "lexical", half_lives={"daily": 0, "episodic": 180}).hits[0].path == older


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_what_never_fades_does_not_sink_below_a_newer_line_of_the_same_words(recalled, mode):
    line = "- the oolong kettle is on the upper shelf\n"
    vault = recalled({"Memory.md": "".join(LONG) + line, "House.md": "".join(LONG) + line, f"{TODAY}.md": line})
    assert list(dict.fromkeys(paths(vault, "oolong kettle", mode)))[-1] == f"{TODAY}.md"
    for hit in vault.search("oolong kettle", mode, explain=True).hits:
        assert hit.explain["note: recency"] == pytest.approx(weights.RECENCY_WORTH)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_of_equal_lines_memory_comes_before_the_day_it_was_said(recalled, mode):
    line = "- the oolong kettle is on the upper shelf\n"
    vault = recalled({f"{TODAY}.md": line, "Memory.md": line, "A note.md": line})
    hits = vault.search("oolong kettle shelf", mode, explain=True).hits
    order = [hit.path for hit in hits]
    assert order.index("Memory.md") < order.index(f"{TODAY}.md")
    assert hits[order.index("Memory.md")].explain["note: tier"] == weights.TIER_WORTH["semantic"]
    assert hits[order.index(f"{TODAY}.md")].explain["note: recency"] == pytest.approx(weights.RECENCY_WORTH)
    for hit in hits:
        assert sum(hit.explain.values()) == pytest.approx(hit.score)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_better_old_answer_stays_before_a_worse_new_one(recalled, mode):
    vault = recalled(
        {
            "2021-03-05.md": "- the oolong kettle stands on the upper shelf of the pantry\n",
            f"{TODAY}.md": "- bought a kettle descaler and a birthday card for the neighbour upstairs\n",
            "Memory.md": "- the upper flat has a balcony where the oolong dries in June\n",
        }
    )
    assert paths(vault, "where is the oolong kettle, which shelf", mode)[0] == "2021-03-05.md"


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "semantic"])
def test_a_rejected_candidate_is_not_found_and_an_expired_one_lower(recalled, mode):
    text = "prefers the oolong kettle from the upper shelf"
    vault = recalled(
        {
            f"{TODAY}.md": f"# Day\n\n- 09:00 [rejected] {text}\n  of the yard ^d-aaaaaaa\n- 10:00 paid the rent\n",
            "2026-11-20.md": f"# Day\n\n- 09:00 [expired] {text} ^d-bbbbbbb\n",
            "2026-11-02.md": f"# Day\n\n- 09:00 [extracted] {text} ^d-ccccccc\n",
            "Offers.md": f"- [rejected] {text}, they said\n",
        }
    )
    found = vault.search("oolong kettle upper shelf yard", mode).hits
    assert next(hit.path for hit in found) == "2026-11-02.md"
    assert {"2026-11-20.md", "Offers.md"} < {hit.path for hit in found}
    assert not [hit.text for hit in found if hit.path == f"{TODAY}.md" and ("shelf" in hit.text or "yard" in hit.text)]
    listed = vault.found("tier:daily", mode)
    assert len([text for text in listed if "shelf" in text]) == 2 and "- 10:00 paid the rent" in listed


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_line_that_does_not_hold_yet_stands_below_one_that_does(recalled, mode):
    vault = recalled(
        {
            "2026-11-20.md": "# Day\n\n- the bike stands in the shed of the neighbours [since:: 2027-03-01]\n",
            "2026-11-02.md": "# Day\n\n- the bike stands in the yard of the neighbours\n",
        }
    )
    assert paths(vault, "bike of the neighbours", mode) == ["2026-11-02.md", "2026-11-20.md"]


def test_a_fact_that_has_ended_stands_below_one_that_holds(recalled):
    vault = recalled(
        {
            "Facts.md": "## Me\n\n- lives in:: Cork [since:: 2019-01-01] [until:: 2024-05-01]\n"
            "- lives in:: Galway [since:: 2024-05-01]\n"
        }
    )
    assert vault.found("lives in") == ["- lives in:: Galway [since:: 2024-05-01]"]
    hits = vault.search("lives in", "lexical", expired=True, explain=True).hits
    lines = "\n".join(hit.text for hit in hits).split("\n")
    assert "Galway" in hits[0].best_line[1]
    assert any("Cork" in line for line in lines)


@pytest.mark.parametrize(
    ("asked", "answers_first"),
    [
        ("- How much do we pay for the mortgage? And until when?", True),
        ("Opening: “How much do we pay for the mortgage? And until when?” [1]", True),
        ("Asked: “¿How much do we pay for the mortgage?” [12]", True),
        ("- How much do we pay for the mortgage? Too much! Right?", False),
        ("> [1] 10:00 **user:** How much do we pay for the mortgage?", False),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_the_same_question_asked_before_comes_after_what_answers_it(tmp_path, asked, answers_first, mode):
    notes = {f"2026-10-{day:02}.md": f"- called about invoice {day}\n" for day in range(1, 29)}
    notes |= {"Bank.md": "- the mortgage is 742 a month\n", "sessions/2026-11-11 1000 money.md": asked + "\n"}
    vault = Recalled(tmp_path, notes)
    hits = vault.search("How much do we pay for the mortgage?", mode).hits
    assert [hit.path == "Bank.md" for hit in hits][:2] == [answers_first, not answers_first]
    assert vault.search("when pay", mode).hits[0].path.startswith("sessions/")  # no other note has a word of it
    vault.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_question_is_found_in_a_note_of_ones_own_and_raised_in_none(tmp_path, mode):
    notes = {f"2026-10-{day:02}.md": f"- called about invoice {day}\n" for day in range(1, 29)}
    notes |= {"To do.md": "- [ ] who has the key of the chemistry cabinet?\n", "Tools.md": "- sorts by key\n"}
    notes |= {"Boiler.md": "- pressure of the boiler: 1.5 bar\n", "2026-10-29.md": "- the boiler man came\n"}
    notes |= {"sessions/2026-11-11 1000 home.md": "- how often should somebody look at the boiler in the cellar?\n"}
    vault = Recalled(tmp_path, notes)
    hits = vault.search("who has the key of the chemistry cabinet?", mode).hits
    assert [hit.path for hit in hits][:2] == ["To do.md", "Tools.md"]
    paths = [hit.path for hit in vault.search("boiler pressure", mode).hits]
    assert paths[:2] == ["Boiler.md", "2026-10-29.md"]
    vault.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_month_alone_comes_after_the_notes_of_the_day(tmp_path, mode):
    notes = {f"2026-10-{day:02}.md": f"- called about invoice {day}\n" for day in range(1, 29)}
    notes |= {"Plot.md": "- rent due in October\n"}
    vault = Recalled(tmp_path, notes)
    paths = [hit.path for hit in vault.search("What happened on 5 October?", mode).hits]
    assert paths.index("2026-10-05.md") < paths.index("Plot.md")
    vault.close()
