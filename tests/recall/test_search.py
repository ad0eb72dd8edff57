from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path

import pytest
from recalled import Recalled

from tars_memory.errors import PartialError
from tars_memory.index import intake
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.vault import Vault

pytestmark = pytest.mark.usefixtures("proved_engine")

NOTES = {
    "Memory.md": "# Memory\n\n## Drinks\n\n- likes oolong tea\n- takes oat milk\n\n"
    "## Work\n\n- editor: Helix ^m-ed1t0r22\n",
    "2026-11-14.md": "## Log\n\n- 14:30 met Anna in Zürich about the harbour\n- 15:10 C++ build broke again\n",
    "2026-03-15.md": "## Log\n\n- 09:00 quarterly plan for the garden shed\n",
    "Servers.md": "# Servers\n\nThe router answers at 10.0.0.1 and the printer at 10.0.0.11.\n\nUse a-b routing.\n",
    "Reise.md": "---\ntags: [travel, travel/asia]\naliases: [Nippon]\n---\n\n"
    "# Reise\n\n東京タワーに行った。\n\n楽しい 🚀 trip\n",
    "User's guide.md": "# Guide\n\nThe user's editor opens at once; users' editors too.\n\nC is another language.\n",
    "projects/alpha/Notes.md": "# Alpha\n\nThe secret oolong codename is Marigold.\n",
    "projects/beta/Notes.md": "# Beta\n\nThe other oolong codename is Foxglove.\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    recalled = Recalled(tmp_path_factory.mktemp("recall"), NOTES)
    yield recalled
    recalled.close()


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_a_hit_says_exactly_where_it_stands(vault, mode):
    result = vault.search("oolong tea", mode)
    hit = result.hits[0]
    assert result.mode == mode
    assert not result.abstained
    assert (hit.rank, hit.path, hit.tier, hit.title) == (1, "Memory.md", "semantic", "Memory")
    assert hit.headings == ("Memory", "Drinks")
    lines = (vault.root / hit.path).read_text("utf-8").split("\n")
    assert "\n".join(lines[hit.start_line - 1 : hit.end_line]) == hit.text
    assert "- likes oolong tea" in hit.text
    assert hit.obsidian_url == "obsidian://open?vault=My%20Vault&file=Memory%23Drinks"


@pytest.mark.parametrize("text", [
    "14 November 2026", "sabato 14 novembre 2026", "14.11.2026", "on 2026-11-14", "November 14th", "14 ноября",
    "on the 14th of November", "14. november",
])  # fmt: skip
def test_a_day_by_itself_is_answered_by_its_own_note(tmp_path, text):
    days = {f"2026-11-{day}.md": f"## Log\n\n- 09:00 bill of 14 November 2026, try {day}\n" for day in range(15, 20)}
    recalled = Recalled(tmp_path, {**days, "2026-11-14.md": "## Log\n\n- 08:00 met Anna\n"})
    assert recalled.search(text, "lexical").hits[0].path == "2026-11-14.md"
    recalled.close()


@pytest.mark.parametrize("own", ["14.11.2026.md", "Journal/2026/11/14.md", "old/20261114.md"])
def test_a_day_is_answered_by_its_note_in_a_former_format_too(tmp_path, own):
    days = {f"2026-11-{day}.md": f"## Log\n\n- 09:00 bill of 14 November 2026, try {day}\n" for day in range(15, 20)}
    recalled = Recalled(tmp_path, {**days, own: "## Log\n\n- 08:00 met Anna\n"})
    assert recalled.search("14 November 2026", "lexical").hits[0].path == own
    recalled.close()


@pytest.mark.parametrize("text", ["November 14th", "14 Kasım", "what did I do on November 14th", "11月14日"])
def test_a_day_without_a_year_is_the_latest_that_has_a_note(tmp_path, text):
    """This year's if there is one, and before a day to come."""
    bills = {f"2025-12-{day}.md": f"## Log\n\n- 09:00 bill of November 14th, try {day}\n" for day in range(10, 15)}
    years = {f"{year}-11-14.md": f"## Log\n\n- 08:00 met Anna in {year}\n" for year in (2019, 2023, 2027)}
    recalled = Recalled(tmp_path, {**bills, **years})
    paths = [hit.path for hit in recalled.search(text, "lexical").hits]
    assert paths[0] == "2023-11-14.md" and {"2019-11-14.md", "2027-11-14.md"} < set(paths)
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("text", ["avec qui étais-je le 14 novembre", "whom did I visit in November"])
def test_of_a_day_without_a_year_the_latest_comes_first_unless_another_answers(tmp_path, text, mode):
    said = {
        2019: "le marché, le soir chez Anna, there",
        2022: "with Bo at the lake",
        2024: "chez Anna",
        2027: "le dentiste",
    }
    notes = {f"{year}-11-14.md": f"- 08:00 {words}\n" for year, words in said.items()}
    others = {f"2025-12-{day}.md": f"- 09:00 rain, try {day}\n" for day in range(10, 20)}
    recalled = Recalled(tmp_path, {**others, **notes})
    assert recalled.search(text, mode).hits[0].path == "2024-11-14.md"
    assert recalled.search(f"{text} marché", mode).hits[0].path == "2019-11-14.md"
    recalled.close()


@pytest.mark.parametrize("text", ["ferry on 14 November 2025", "ferry on 14.11.2025", "ferry on 2025-11-14"])
def test_a_day_in_numbers_says_as_much_as_one_in_words(tmp_path, text):
    others = {f"2026-10-{day}.md": f"- 09:00 garden day {day}\n" for day in range(10, 20)}
    recalled = Recalled(tmp_path, {**others, "2025-11-14.md": "- 08:00 met Anna\n"}, embed=False)
    assert [hit.path for hit in recalled.search(text, "lexical").hits][:1] == ["2025-11-14.md"]
    recalled.close()


@pytest.mark.parametrize("text", ["who was met on November 14th", "who was met in November"])
def test_a_question_with_a_day_or_month_without_a_year_looks_at_every_year(tmp_path, text):
    """Hundreds of notes have the word; the note of the day must be among those that are read."""
    others = {f"2024-{m:02}-{d:02}.md": "- 08:00 met Bob, met Bob\n" for m in range(1, 11) for d in range(1, 29)}
    more = {f"2025-{m:02}-{d:02}.md": "- 08:00 met Bob, met Bob\n" for m in range(1, 11) for d in range(1, 29)}
    wanted = "- 08:00 met Anna at the long table beside the window of the old town hall, after lunch\n"
    recalled = Recalled(tmp_path, {**others, **more, "2021-11-14.md": wanted}, embed=False)
    assert recalled.search(text, "lexical").hits[0].path == "2021-11-14.md"
    recalled.close()


def test_an_empty_task_of_a_template_answers_nothing(tmp_path):
    day = "# 2026-11-14\n\n## Tasks\n- [ ] \n\n## Log\n- 10:00 met Anna in the cafe\n"
    recalled = Recalled(tmp_path, {"2026-11-14.md": day, "Lists/Tools.md": "- [ ]\n- [ ] \n"})
    for mode in ("lexical", "hybrid"):
        lines = [line for text in recalled.found("2026-11-14", mode) for line in text.split("\n")]
        assert "- 10:00 met Anna in the cafe" in lines
        assert not [line for line in lines if line.strip() == "- [ ]"]
    assert recalled.search("Tools", "lexical").hits[0].path == "Lists/Tools.md"
    recalled.close()


def test_json_has_the_documented_fields(vault):
    record = vault.search("oolong tea").as_dict()
    assert list(record) == ["query", "mode", "hits", "abstained", "stale", "notices"]
    assert list(record["hits"][0]) == [
        "rank", "score", "path", "start_line", "end_line", "tier", "date", "title", "headings", "text", "block_id",
        "obsidian_url", "date_is_weak",
    ]  # fmt: skip
    dated = next(hit for hit in vault.search("Anna in Zürich").as_dict()["hits"] if hit["path"] == "2026-11-14.md")
    assert "date_is_weak" not in dated
    assert "explain" in vault.search("oolong tea", explain=True).as_dict()["hits"][0]


def test_explained_parts_add_up_to_the_score(vault):
    for hit in vault.search("oolong tea in Zürich", explain=True).hits:
        assert sum(hit.explain.values()) == pytest.approx(hit.score)


def test_without_a_vector_the_answer_is_by_keywords_and_says_so(vault):
    assert vault.search("oolong", "lexical").mode == "lexical"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("user's editor", "The user's editor opens at once; users' editors too."),
        ("C++", "- 15:10 C++ build broke again"),
        ('"unclosed harbour', "- 14:30 met Anna in Zürich about the harbour"),
        ("a-b", "Use a-b routing."),
        ("2026-03-15", "- 09:00 quarterly plan for the garden shed"),
        ("10.0.0.1", "The router answers at 10.0.0.1 and the printer at 10.0.0.11."),
        ("東京", "東京タワーに行った。"),
        ("京", "東京タワーに行った。"),
        ("Zürich", "- 14:30 met Anna in Zürich about the harbour"),
        ("zurich", "- 14:30 met Anna in Zürich about the harbour"),
        ("🚀", "楽しい 🚀 trip"),
        ("Nippon", "東京タワーに行った。"),
        ("harb*", "- 14:30 met Anna in Zürich about the harbour"),
        ("quarter*", "- 09:00 quarterly plan for the garden shed"),
        ("Foo: harbour", "- 14:30 met Anna in Zürich about the harbour"),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_any_string_finds_what_the_text_holds(vault, text, line, mode):
    assert line in "\n".join(vault.found(text, mode)[:1])


@pytest.mark.parametrize("text", ["qqqxyzzy", "zebra quantum", "\0", "->", "“”", "x" * 100_000, "\ud800"])
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_nonsense_finds_nothing(vault, text, mode):
    result = vault.search(text, mode)
    assert result.hits == []
    assert result.abstained
    assert result.as_dict()["query"] == text


@pytest.mark.parametrize("text", ["12 34 56 78 zq", "!!!! ???? ....", "--- ==="])
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_short_number_or_a_few_dots_among_nonsense_are_held_by_chance(tmp_path, text, mode):
    notes = {f"{n}.md": f"The harbour was quiet, the boats came in late, said number {n}.\n" for n in range(60, 99)}
    notes["n.md"] = "We met 12 of them .... on the pier --- so many\n"
    recalled = Recalled(tmp_path, notes)
    assert recalled.search(text, mode).abstained
    assert recalled.found("....") == ["We met 12 of them .... on the pier --- so many"]
    recalled.close()


def test_negation_leaves_out_entries_not_neighbours(vault):
    assert "- takes oat milk" in "\n".join(vault.found("likes takes"))
    hits = vault.found("likes takes -milk")
    assert any("oolong" in text for text in hits)
    assert not any("milk" in text for text in hits)
    assert vault.found('oolong -"oolong tea"') == []


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "semantic"])
def test_an_excluded_word_is_looked_for_wherever_a_word_is(tmp_path, mode):
    notes = {
        "Budget 2025.md": "The kettle was too dear.\n",
        "Trip.md": "---\naliases: [Budget trip]\n---\n\nWe took a kettle along.\n",
        "Titled.md": "---\ntitle: The budget\n---\n\nA kettle for everyone.\n",
        "Kitchen.md": "# Kitchen\n\n## Budget\n\nAnother kettle.\n\n## Shelf\n\nThe kettle is green.\n",
    }
    recalled = Recalled(tmp_path, notes)
    assert len({hit.path for hit in recalled.search("kettle", mode).hits}) == 4
    assert recalled.found("kettle -budget", mode) == ["The kettle is green."]
    assert recalled.found("kettle -budget -kitchen", mode) == []
    recalled.close()


def test_a_search_that_only_filters_leaves_out_what_is_excluded(vault):
    assert "- takes oat milk" in "\n".join(vault.found("tier:semantic"))
    listed = "\n".join(vault.found("tier:semantic -milk"))
    assert "oolong" in listed and "milk" not in listed
    assert [hit.path for hit in vault.search("tier:note -reise", "lexical", limit=20).hits].count("Reise.md") == 0


def test_a_name_that_is_being_typed_is_no_name_with_an_excluded_word(tmp_path):
    recalled = Recalled(tmp_path, {"Garden party.md": "", "Garden plan.md": "", "Other.md": "words\n"})
    found = recalled.search("gard -party", "lexical", options={"unfinished": True}).hits
    assert [hit.path for hit in found] == ["Garden plan.md"]
    recalled.close()


def test_quotes_alone_have_to_be_held(vault):
    assert vault.found('"oolong tea"') == ["- likes oolong tea"]
    assert vault.found('"tea oolong"') == []
    assert vault.found('"tea oolong" likes')


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("codename tier:daily", []),
        ("build tier:daily", ["2026-11-14.md"]),
        ("plan since:2026-03 until:2026-04", ["2026-03-15.md"]),
        ("plan since:2w", []),
        ("met since:2w", ["2026-11-14.md"]),
        ("trip tag:travel", ["Reise.md"]),
        ("trip tag:travel/asia", ["Reise.md"]),
        ("trip -tag:travel", []),
        ("editor path:User*", ["User's guide.md"]),
        ("editor -path:User -path:Memory", []),
        ("tag:travel", ["Reise.md"]),
        ("tier:daily", ["2026-11-14.md", "2026-03-15.md"]),
    ],
)
def test_filters(vault, text, paths):
    assert list(dict.fromkeys(hit.path for hit in vault.search(text, "lexical").hits)) == paths


def test_filters_hold_for_meaning_too(vault):
    for text in ("oolong tier:daily", "oolong tag:travel", "oolong until:2026-11-20", "oolong path:Servers.md"):
        for hit in vault.search(text, "semantic").hits:
            assert hit.path in ("2026-11-14.md", "Reise.md", "2026-03-15.md", "Servers.md")


def test_the_block_id_is_in_the_link(vault):
    hit = vault.search("Helix", "lexical").hits[0]
    assert hit.block_id == "m-ed1t0r22"
    assert hit.obsidian_url.endswith("file=Memory%23%5Em-ed1t0r22")


def test_a_project_is_seen_from_inside_only(vault):
    assert all("codename" not in text for text in vault.found("oolong codename", "hybrid"))
    inside = "\n".join(vault.found("oolong codename", "hybrid", scope="alpha"))
    assert "Marigold" in inside
    assert "likes oolong tea" in inside
    assert "Foxglove" not in inside


def test_the_limit(vault):
    assert len(vault.search("oolong editor harbour plan", limit=2).hits) == 2


def test_a_long_note_leaves_room_and_no_note_found_so_far_is_lost_by_it(tmp_path):
    long = "\n\n".join(
        f"{i}: the lighthouse keeper spoke of the lighthouse. {'Many a word besides. ' * 9}" for i in range(30)
    )
    short = {f"{name}.md": f"Once a lighthouse, {name}.\n" for name in ("one", "two", "three", "four", "five")}
    recalled = Recalled(tmp_path, {"Lighthouse.md": f"# Lighthouse\n\n{long}\n", **short})
    order = list(dict.fromkeys(hit.path for hit in recalled.search("lighthouse keeper", "lexical", limit=36).hits))
    for limit in (5, 10, 15, 20, 25, 30, 34):
        hits = recalled.search("lighthouse keeper", "lexical", limit=limit).hits
        paths = list(dict.fromkeys(hit.path for hit in hits))
        assert len(hits) == limit
        assert paths == order[: len(paths)]
        assert len(paths) >= min(limit // 5, len(order))
    recalled.close()


def test_changed_notes_between_index_and_print(tmp_path):
    recalled = Recalled(tmp_path, {"a.md": "tea with lemon\n", "b.md": "tea with honey\n", "c.md": "tea with mint\n"})
    (recalled.root / "a.md").write_text("new first line\n\ntea with lemon\n")
    (recalled.root / "b.md").write_text("nothing of it\n")
    (recalled.root / "c.md").unlink()
    hits = recalled.search("tea", "lexical").hits
    assert [(hit.rank, hit.path, hit.start_line, hit.text) for hit in hits] == [(1, "a.md", 3, "tea with lemon")]
    (recalled.root / "a.md").unlink()
    assert recalled.search("tea").abstained
    recalled.close()


def test_a_named_date_and_speaker_lift_their_lines(tmp_path):
    turns = "**Anna:** I painted the boat.\n**Ben:** I painted the fence.\n"
    recalled = Recalled(tmp_path, {f"sessions/2026-{m:02d}-10 talk.md": f"# Talk\n\n{turns}" for m in (1, 5, 9)})
    for text, path in [("What did Ben paint in May?", "sessions/2026-05-10 talk.md"),
                       ("What did Ben paint on 10 September 2026?", "sessions/2026-09-10 talk.md")]:  # fmt: skip
        hit = recalled.search(text, explain=True).hits[0]
        assert hit.path == path
        assert hit.explain["note: date"] > 0
        assert hit.explain["line: speaker"] > 0
    recalled.close()


def test_as_many_hits_as_are_wanted(tmp_path):
    recalled = Recalled(tmp_path, {f"{n}.md": f"heron number {n}\n" for n in range(400)}, embed=False)
    assert len(recalled.search("heron", "lexical", limit=390).hits) == 390
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_the_day_that_is_named_is_found_among_hundreds_alike(tmp_path, mode):
    days = [date(2025, 1, 1) + timedelta(n) for n in range(400)]
    notes = {f"{day}.md": "## Log\n- 09:00 went to the gym with Tom\n- 10:00 paid the milkman\n" for day in days}
    recalled = Recalled(tmp_path, notes)
    for text, path in [("gym on 2025-01-20", "2025-01-20.md"), ("gym with Tom on 2026-01-30", "2026-01-30.md")]:
        assert [hit.path for hit in recalled.search(text, mode, limit=3).hits][:1] == [path]
    recalled.close()


@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.prove)])
def test_no_line_of_another_project_in_any_query(tmp_path, count, proved_engine):
    chance = random.Random(7)
    common = [f"word{i}" for i in range(60)]
    marks = {"": "shared", "a": "alphamark", "b": "betamark"}
    notes = {}
    for scope, mark in marks.items():
        folder = f"projects/{scope}/" if scope else ""
        for n in range(8):
            lines = [f"- {' '.join(chance.choices(common, k=7))} {mark}" for _ in range(12)]
            notes[f"{folder}Note {n}.md"] = "# Note\n\n" + "\n".join(lines) + "\n"
    recalled = Recalled(tmp_path, notes)
    forms = ["{0} {1}", '"{0} {1}"', "{0}*", "{0} -{1}", "{0} path:projects/", "alphamark {0}", "betamark", "tier:note"]
    seen = set()
    for i in range(count if proved_engine == "sqlite" else count // 4):
        text = forms[i % len(forms)].format(*chance.sample(common, 2))
        scope = ("", "a", "b")[i % 3]
        mode = ("hybrid", "lexical", "semantic")[i % 5 % 3]
        for hit in recalled.search(text, mode, scope=scope, limit=20).hits:
            owner = hit.path.split("/")[1] if hit.path.startswith("projects/") else ""
            assert owner in ("", scope)
            assert all(line.split()[-1] in (marks[""], marks[scope]) for line in hit.text.split("\n"))
            seen.add(owner)
    assert seen == {"", "a", "b"}
    recalled.close()


def test_an_empty_vault(tmp_path):
    recalled = Recalled(tmp_path, {})
    assert recalled.search("tea").abstained
    assert recalled.search("tier:note").hits == []
    assert isinstance(recalled.index.vault, Vault)
    recalled.close()


def test_a_line_that_only_says_who_spoke_is_no_hit(tmp_path: Path) -> None:
    note = '## Facts\n\n- I prefer tea\n  - quote:: "I prefer tea."\n  - said by:: user, turn 3\n'
    root = make_vault(tmp_path / "vault", {"sessions/2026-11-21 1015 tea.md": note})
    memory = Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")})
    for mode in ("lexical", "hybrid"):
        for text in ("tea", "user turn 3"):
            assert all(hit.best_line[0] != 5 for hit in memory.search(text, mode=mode).hits)
    assert memory.search("prefer tea", mode="lexical").hits[0].best_line[0] in (3, 4)


def test_a_passage_is_not_better_for_having_a_vector_already(tmp_path: Path) -> None:
    notes = {f"{i:02}.md": f"The harbour in the {place} has a blue boat.\n" for i, place in enumerate(PLACES)}
    notes["far.md"] = "A jetty with dinghies.\n"
    vault = Recalled(tmp_path, notes, later=True)
    asked = "blue boat harbour in the mountains"
    by_words = [hit.path for hit in vault.search(asked, "lexical").hits]
    orders = []
    for _ in range(len(notes)):
        orders.append([hit.path for hit in vault.search(asked, "hybrid", explain=True).hits])
        vault.index.embed_pending(1)
    assert orders[0] == by_words, "no passage has one"
    assert by_words[0] == orders[1][0], "one passage has one"
    for hit in vault.search(asked, "hybrid", explain=True).hits:
        assert hit.explain["line: meaning, as far as known"] == 0, "all have one"
    assert all(order[0] == by_words[0] for order in orders)
    vault.close()


PLACES = ["mountains", "north", "south", "west", "east", "desert", "city", "woods", "marsh", "valley"]


PAGE = """# Gardenia

![stars](https://badges.example/gardenia.svg) ![Gardenia build](https://badges.example/build.svg)
<a class="gardenia" href="https://example.org/gardenia">Open</a> %% gardenia: add a screenshot %%
Gardenia draws your beds as a plan.
[Read on](https://gardenia.example/very/long/address/of/the/page)

[Downloads](https://mirror.example/packages)
"""


def test_what_a_reader_sees_comes_before_addresses_pictures_tags_and_comments(tmp_path):
    recalled = Recalled(
        tmp_path, {"Page.md": PAGE, "Other.md": "# Other\n\n%% end of other %%\n\nSnails eat lettuce.\n"}
    )
    for mode in ("lexical", "hybrid"):
        result = recalled.search("who draws with gardenia", mode)
        assert result.hits[0].best_line[1] == "Gardenia draws your beds as a plan.", mode
    assert recalled.search("mirror.example", "lexical").hits[0].best_line[1].startswith("[Downloads]")
    assert "screenshot" in recalled.search("screenshot", "lexical").hits[0].best_line[1]
    assert "end of other" not in [hit.best_line[1] for hit in recalled.search("snails lettuce").hits]
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_the_name_of_a_note_does_not_choose_among_its_lines(tmp_path, mode):
    """Every line of a note about somebody is about him, whether it has his name or not."""
    lines = ("Beatrice Conti runs the school in Lecce.", "Suona il violoncello in a quartet of friends on Mondays.")
    others = {f"Other {number}.md": f"Note {number} is about geese, suona.\n" for number in range(8)}
    for order in (lines, lines[::-1]):
        text = "# Beatrice Conti\n\n" + "\n".join(order) + "\n"
        recalled = Recalled(tmp_path / order[0][:5], {"Beatrice Conti.md": text, **others})
        assert recalled.search("che suona Beatrice Conti", mode).hits[0].best_line[1] == lines[1], order
        assert recalled.search("Beatrice Conti Lecce", mode).hits[0].best_line[1] == lines[0], order
        assert recalled.search("Beatrice Conti", mode).hits[0].best_line[1] == lines[0], order
        recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_an_embed_is_no_answer_beside_text_but_is_found_by_its_own_words(tmp_path, mode):
    text = "# Giulia Rossi\n\nA kind neighbour.\nGiulia is the head of a school.\n\n![[Giulia Rossi.png]]\n"
    more = "\n## Fotos of Giulia\n\n![[Giulia Rossi at the lake.png|300]]\n\n![[Giulia Rossi again.png]]\n"
    others = {f"Other {number}.md": f"Note {number} is about geese.\n" for number in range(8)}
    recalled = Recalled(tmp_path, {"Giulia Rossi.md": text + more, "Attic.md": "![[Attic.png]]\n", **others})
    for question in ("where does Giulia Rossi work", "Giulia Rossi", "Giulia"):
        best = recalled.search(question, mode).hits[0].best_line[1]
        assert best == "Giulia is the head of a school.", question
        assert not any("again" in line for line in recalled.found(question, mode)), question
    assert recalled.search("lake", mode).hits[0].best_line[1] == "![[Giulia Rossi at the lake.png|300]]"
    assert recalled.search("attic", mode).hits[0].best_line[1] == "![[Attic.png]]"
    recalled.close()


def test_a_query_that_a_plugin_runs_is_found_by_what_nothing_else_says(tmp_path):
    fence = "```dataview\nTABLE author, harvest\nFROM #books\n```"
    text = f"# Shelf\n\n{fence}\n\nThe harvest was good.\n```py\nauthor = 1\n```\n"
    recalled = Recalled(tmp_path, {"Shelf.md": text, "Geese.md": "Geese fly.\n"})
    assert not any("TABLE" in line for line in recalled.found("author of the harvest"))
    assert recalled.found("author")[0].split("\n")[-2:] == ["author = 1", "```"]
    assert "FROM #books" in recalled.found("books")[0]
    recalled.close()


def test_a_query_of_tasks_of_obsidian_itself_or_in_a_callout_is_no_answer_beside_text(tmp_path):
    queries = "```tasks\nnot done\nharvest due\n```\n\n```query\npath:garden harvest\n```\n"
    callout = "> [!info] Books\n> ```dataview\n> TABLE harvest\nThe harvest is late.\n"
    recalled = Recalled(tmp_path, {"Work.md": f"# Work\n\n{queries}\n{callout}", "Geese.md": "Geese fly.\n"})
    assert recalled.found("harvest")[0] == "The harvest is late."
    recalled.close()


def test_a_sentence_is_answered_by_a_line_that_contains_all_its_words_however_few_notes_there_are(tmp_path):
    """In a vault of two notes FTS5 gives every word the idf 0; the shares of the words are rounded sums."""
    fruits = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel"]
    notes = {"A.md": f"{' '.join(fruits)}\n", "B.md": f"{' '.join(fruits[::2])}\n"}
    recalled = Recalled(tmp_path, notes, embed=False)
    chance = random.Random(1)
    for _ in range(40):
        words = chance.sample(fruits, chance.randint(4, 8))
        assert recalled.found(f"what about the {' '.join(words)}"), words
    recalled.close()


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("plumber from Poole", "- Poole: bus 12", "- the man who mended her sink is a plumber and lives in Poole"),
        ("Klempner aus Celle", "- Celle: Bus 12", "- der Mann, der die Spüle repariert hat, ist Klempner in Celle"),
        ("сантехник Тверь", "- Тверь: автобус 12", "- человек, который чинил раковину, сантехник, город Тверь"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_long_line_with_all_words_of_the_question_comes_before_a_short_one(tmp_path, text, short, long, mode):
    long += " " + " ".join(f"xy{i}z" for i in range(60))
    notes = {f"n{i}.md": f"- The weather was fine on walk {i}.\n" for i in range(20)}
    vault = Recalled(tmp_path, notes | {"Notes.md": f"{short}\n{long}\n\n- Other things.\n"})
    hit = vault.search(text, mode, explain=True).hits[0]
    assert hit.best_line[1] == long
    assert hit.score == pytest.approx(sum(hit.explain.values()))
    vault.close()


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_a_line_that_many_days_share_is_found_where_no_other_line_of_the_day_answers(tmp_path, mode):
    days = {f"2026-11-{day:02}.md": f"- gym at seven\n- met Tom {day}\n" for day in range(1, 10)}
    recalled = Recalled(tmp_path, days)
    for text in ("gym", "gym at seven"):
        assert {hit.best_line[1] for hit in recalled.search(text, mode).hits} == {"- gym at seven"}
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_name_with_the_stem_of_a_function_word_is_found_among_many_lines_that_hold_the_word(tmp_path, mode):
    notes = {f"{n}.md": "- in the box\n" for n in range(300)}
    recalled = Recalled(tmp_path, {**notes, "People.md": "- Ines has the keys of the old boat house by the harbour\n"})
    try:
        assert recalled.found("Ines", mode)[0].startswith("- Ines has")
        assert not any("Ines" in text for text in recalled.found("box -Ines", mode))
        assert len(recalled.found("box -Ines", mode)) == 10
    finally:
        recalled.close()


def test_a_name_with_the_stem_of_a_function_word_is_found_in_an_old_note_below_newer_ones(tmp_path):
    notes = {f"{n}.md": "---\ndate: 2026-11-14\n---\n\n- it stands in the lines\n" for n in range(5_100)}
    keys = "---\ndate: 2020-01-01\n---\n\n- Ines has the keys of the old boat house by the harbour\n"
    recalled = Recalled(tmp_path, {**notes, "People.md": keys})
    try:
        for query in ("Ines", "Ines lines"):
            assert recalled.found(query, "lexical")[0].startswith("- Ines has"), query
    finally:
        recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_line_with_a_word_and_a_year_comes_before_the_many_notes_of_that_year_with_the_word(tmp_path, mode):
    days = [(month, day) for month in range(1, 11) for day in (3, 9, 15, 21)]
    notes = {f"2026-{m:02}-{d:02}.md": f"## Log\n- 10:00 boodschappen en wandelen {m} {d}\n" for m, d in days}
    notes["2026-03-09.md"] += "- 11:00 bellen met Anna over de APK van haar auto\n"
    auto = "# Auto\n\n- APK 2026: gedaan bij garage Jansen, 62 euro\n- winterbanden liggen bij Jansen\n"
    recalled = Recalled(tmp_path, {**notes, "Auto.md": auto})
    try:
        assert recalled.found("APK 2026", mode)[0].startswith("- APK 2026")
        assert "bellen met Anna" in recalled.found("APK 2026-03-09", mode)[0]
    finally:
        recalled.close()


def test_hits_in_a_note_that_cannot_be_read_now_are_said_to_be_missing(tmp_path: Path, monkeypatch) -> None:
    notes = {"pier.md": "The pier closes at noon.\n", "jetty.md": "The jetty closes at noon.\n"}
    place = make_vault(tmp_path / "vault", notes)
    monkeypatch.setattr(intake, "RACY_NS", -1)  # no note is so new that it is read again for the index
    with Memory(place, embedder=HashEmbedder()) as memory:
        assert len(memory.search("closes at noon", mode="lexical").hits) == 2
        read = Vault.read

        def failing(self: Vault, path: str) -> bytes:
            if path == "pier.md":
                raise PartialError("pier.md can't be read: Input/output error")
            return read(self, path)

        monkeypatch.setattr(Vault, "read", failing)
        result = memory.search("closes at noon", mode="lexical")
        assert [hit.path for hit in result.hits] == ["jetty.md"]
        assert result.notices == ["hits left out: pier.md can't be read: Input/output error"]
        (place / "jetty.md").unlink()
        assert memory.search("jetty", mode="lexical").notices == [], "a note that is gone is no failure"


@pytest.mark.parametrize(("other", "limit"), [(True, 10), (True, 3), (True, 20), (False, 10)])
def test_of_lines_that_say_the_same_all_but_two_take_only_places_that_are_left(
    tmp_path: Path, other: bool, limit: int
) -> None:
    notes = {f"2026-11-{day}.md": f"- {day - 3}:05 the kettle was late\n" for day in range(10, 22)}
    notes |= (
        {"Kettle.md": "Anna lost her purse beside the kettle.\n", "a.md": "Rain.\n"} if other else {"a.md": "Rain.\n"}
    )
    root = make_vault(tmp_path / "vault", notes)
    with Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, embedder=HashEmbedder()) as memory:
        memory.reindex()
        result = memory.search("late kettle", per_note=2, limit=limit)
        hits = result.hits
        assert len(memory.search("late kettle", limit=50).hits) >= 12, "elsewhere each is a hit"
    late = sum("late" in hit.text for hit in hits)
    assert late == min(12, limit - other)
    assert any("purse" in hit.text for hit in hits) is other
    assert sum(hit.alike for hit in hits) == 12 - late
    assert result.more == 12 + other - len(hits)


def test_the_same_words_in_notes_about_several_things_keep_their_places(tmp_path: Path) -> None:
    notes = {f"{name}.md": "- role: engineer\n" for name in ("Ana", "Bo", "Cy", "Dee")}
    asked = {f"{key}.md": f"Ask some engineer about the roof of house {key} before winter.\n" for key in "EFGH"}
    root = make_vault(tmp_path / "vault", notes | asked)
    with Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, embedder=HashEmbedder()) as memory:
        memory.reindex()
        hits = memory.search("role engineer", per_note=2, limit=4).hits
    assert {hit.path: hit.alike for hit in hits} == dict.fromkeys(notes, 0)
