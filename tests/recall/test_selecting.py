"""``--about`` and ``--topic``: which passages tell of somebody, and which are of a topic."""

from __future__ import annotations

import re
import tempfile
import unicodedata
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from random_documents import examples

from tars_memory.errors import NotFoundError, UsageError
from tars_memory.memory import Memory
from tars_memory.recall.names import Criterion, Names
from tars_memory.recall.query import Tag
from tars_memory.testing import HashEmbedder, make_vault

pytestmark = pytest.mark.usefixtures("proved_engine")

NOW = datetime(2026, 11, 21, 12).astimezone()


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        ("Anna", "met anna's sister", True),
        ("anna", "**ANNA:** hello", True),
        ("Anna", "_Anna_ came", True),
        ("Anna", "Annabel and Hanna came", False),
        ("Zoë", "zoe and Zoe\u0308 came", True),
        ("Anna Berg", "Anna  Berg", True),
        ("Anna Berg", "Anna\nBerg", True),
        ("Anna Berg", "Anna, Berg", False),
        ("Юлия", "вчера юлия звонила", True),
        ("Юлия", "Юлиями", False),
        ("राम", "राम घर गया", True),
        ("राम", "रामायण पढ़ा", False),
        ("田中", "昨日田中さんに会った", True),
        ("Anna", "昨日Annaさんに会った", True),
        ("Ann", "昨日Annaさんに会った", False),
        ("C++", "wrote C++ all day", True),
        ("C++", "wrote C all day", False),
        ("R2", "the R2-unit", True),
        ("O'Neil", "said O'Neil today", True),
        ("STRASSE", "die Strasse", True),
    ],
)
def test_names_are_whole_words_in_any_case(name: str, text: str, held: bool) -> None:
    assert Names([name]).found_in(text) is held


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("report #work", True),
        ("report #Work/plans/2026", True),
        ("#work/", True),
        ("report #workshop", False),
        ("report #home/work", False),
        ("`#work` in code", False),
        ("https://x.org/#work", False),
        ("(#work)", True),
    ],
)
def test_a_tag_holds_those_nested_below_it(text: str, held: bool) -> None:
    assert Tag("work").found_in(text) is held


LIST = """\
intro of the day
goes on

- Anna
  - likes tea

  and cake
- Ben
  - met Anna
  - likes coffee
- moved to Cork
  - quote:: "I did"
  - said by:: Anna, turn 3
- other
  - said by:: Ben, turn 4

> [31] 14:30 **Anna:** I'm moving
> some time in spring

> [32] 14:31 **Assistant:** A van.

| Anna | 3 |
| Ben | 4 |
"""


def test_a_passage_counts_with_what_is_nested_in_it() -> None:
    texts = LIST.split("\n")
    kept = Criterion(Names(["Anna"]).found_in, ()).of(texts)
    assert [texts[i].strip() for i in sorted(kept)] == [
        "- Anna", "- likes tea", "and cake", "- met Anna", "- moved to Cork", '- quote:: "I did"',
        "- said by:: Anna, turn 3", "> [31] 14:30 **Anna:** I'm moving", "> some time in spring", "| Anna | 3 |",
    ]  # fmt: skip


VAULT = {
    "people/Anna Berg.md": "---\naliases: [Annie, AB]\ntags: [family]\n---\nPlays the oboe, drinks tea.\n",
    "Memory.md": "## Notes\n- Anna Berg prefers green tea #food/tea\n- the kettle makes tea\n- annie's tea pot\n",
    "Facts.md": (
        "## Anna Berg\n- drinks:: oolong tea\n- lives in:: Cork\n## Ben\n- sister:: [[Anna Berg|his sister]] of tea\n"
        "- drinks:: tea #food\n## me\n- drinks:: tea\n- likes:: [[people/Anna Berg|A.]]\n"
    ),
    "2026-11-20.md": "## Log\n- 09:00 tea with [[people/Anna Berg|my cousin]]\n- 10:00 buy tea\n- 11:00 Annabel, tea",
    "sessions/2026-10-02 1000 move.md": (
        "---\ntags: [session]\n---\n## Summary\n\nA van and tea for the helpers.\n\n## Topics\n\n- the tea van\n\n"
        "## Facts\n\n- tea is in box 4\n  - said by:: Annie, turn 3\n- tea costs 2\n  - said by:: Ben, turn 4\n"
    ),
    "meetings/m.md": "---\nattendees:\n  - '[[Anna Berg]]'\n---\nTea was served.\n",
    "Anna Berg's recipes.md": "Scones for tea.\n",
    "Tagged.md": "# Plans #work/house\n\nTea room in the attic.\n\n# Else\n\nTea room in the cellar.\n",
    "projects/boat/Log.md": "- Anna Berg drinks canary tea #food\n",
    "projects/boat/Anna Berg.md": "---\naliases: [Canaria]\n---\ncanary tea\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    root = make_vault(tmp_path / "vault", VAULT)
    return Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, now=NOW)


def lines(memory: Memory, text: str = "tea", **options: object) -> list[str]:
    hits = memory.search(text, limit=200, **options).hits  # type: ignore[arg-type]
    return sorted(line.strip() for hit in hits for line in hit.text.split("\n") if line.strip())


ANNA = [
    "- 09:00 tea with [[people/Anna Berg|my cousin]]",
    "- Anna Berg prefers green tea #food/tea",
    "- annie's tea pot",
    "- drinks:: oolong tea",
    "- said by:: Annie, turn 3",
    "- sister:: [[Anna Berg|his sister]] of tea",
    "- tea is in box 4",
    "Plays the oboe, drinks tea.",
    "Tea was served.",
]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize("name", ["Anna Berg", "annie", "[[Anna Berg|her]]", "people/Anna Berg", "People/anna berg.md"])
def test_about_somebody(memory: Memory, mode: str, name: str) -> None:
    found = set(lines(memory, mode=mode, about=[name]))
    assert found - {"- lives in:: Cork", "- likes:: [[people/Anna Berg|A.]]", "- said by:: Annie, turn 3"} == set(
        ANNA
    ) - {"- said by:: Annie, turn 3"}
    assert not any("canary" in line for line in found)


def test_a_name_that_no_note_has_is_looked_for_as_words(memory: Memory) -> None:
    assert lines(memory, about=["annabel"]) == ["- 11:00 Annabel, tea"]
    assert lines(memory, about=["my cousin"]) == ["- 09:00 tea with [[people/Anna Berg|my cousin]]"]
    assert lines(memory, about=["Canaria"]) == []
    found = lines(memory, about=["Canaria"], project="boat")  # there she is Anna Berg
    assert {line for line in found if "canary" in line} == {"- Anna Berg drinks canary tea #food", "canary tea"}
    assert "- Anna Berg prefers green tea #food/tea" in found


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("food", ["- Anna Berg prefers green tea #food/tea", "- drinks:: tea #food"]),
        ("#Food/tea", ["- Anna Berg prefers green tea #food/tea"]),
        ("family", ["Plays the oboe, drinks tea."]),
        ("work", ["Tea room in the attic."]),
        ("fo", []),
        ("tea-van", ["- tea costs 2", "- tea is in box 4", "- the tea van", "A van and tea for the helpers."]),
    ],
)
@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_of_a_topic(memory: Memory, mode: str, topic: str, expected: list[str]) -> None:
    found = lines(memory, mode=mode, topics=[topic])
    assert [line for line in found if "said by" not in line and "# " not in line] == expected


def test_filters_narrow_each_other(memory: Memory) -> None:
    assert lines(memory, about=["Annie"], topics=["food"]) == ["- Anna Berg prefers green tea #food/tea"]
    assert lines(memory, about=["Annie", "Ben"]) == ["- sister:: [[Anna Berg|his sister]] of tea"]
    assert lines(memory, about=["Annie"], links_to=["Anna Berg"], tiers=["daily"]) == [ANNA[0]]
    assert lines(memory, about=["Annie"], where=["attendees"]) == ["Tea was served."]
    assert lines(memory, about=["Annie"], topics=["work"]) == []
    assert lines(memory, tags=["food", "work"]) == []


@pytest.mark.parametrize("tag", ["हिन्दी", "مُهِمّ", "ที่นี่", "йод", "café", "İzmir"])
def test_a_tag_has_its_accents_and_vowel_signs_however_they_are_encoded(tmp_path: Path, tag: str) -> None:
    apart = unicodedata.normalize("NFD", tag)
    notes = {"a.md": f"- tea #{apart}, at noon\n- tea #️⃣1\n", "b.md": f"---\ntags: [{apart}]\n---\nCake.\n"}
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(make_vault(tmp_path / "vault", notes), embedder=HashEmbedder(), env=home, now=NOW)
    (counted,) = memory.tags()
    plain = unicodedata.normalize("NFC", tag).lower().replace("i\u0307", "i")  # "izmir", as people type it
    assert (counted.tag, counted.notes) == (plain, 2)
    assert [each.path for each in memory.tagged(tag)] == ["a.md", "b.md"]
    for form in (tag, apart, tag.upper(), plain, plain.replace("i", "İ")):
        assert {hit.path for hit in memory.search("", tags=[form]).hits} == {"a.md", "b.md"}
        assert {hit.path for hit in memory.search(f"tag:{form}").hits} == {"a.md", "b.md"}
        assert lines(memory, topics=[form]) == [f"- tea #{apart}, at noon"]


def test_filters_alone_list_the_newest_first(memory: Memory) -> None:
    dated = [hit.date for hit in memory.search("", about=["Annie"], tiers=["daily", "episodic"]).hits]
    assert dated == ["2026-11-20", "2026-10-02"]
    assert len(memory.search("", about=["Annie"], limit=3).hits) == 3
    assert set(lines(memory, "", about=["Annie"])) >= set(ANNA)


def test_what_filters_list_is_shown_by_a_line_with_words(tmp_path: Path) -> None:
    notes = {"Boat.md": "---\ntags: [boat]\n---\n## Hull\n\n%%\nto check\n%%\n\nVarnished with [[Ben]].\n"}
    told = "## Summary\n\nBy rules, in the words of the conversation:\n\nOpening: “Which varnish?” [1]\n"
    notes["sessions/2026-11-20 1000 boat.md"] = f"---\ntags: [session, boat]\n---\n{told}"
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(make_vault(tmp_path / "vault", notes), embedder=HashEmbedder(), env=home, now=NOW)
    shown = {hit.best_line[1] for hit in memory.search("", topics=["boat"]).hits}
    assert shown == {"to check", "Opening: “Which varnish?” [1]"}
    assert not memory.search("rules", mode="lexical").hits, "a heading of ours says nothing"


def test_a_property_is_the_same_however_its_accents_are_encoded(tmp_path: Path) -> None:
    notes = {"a.md": unicodedata.normalize("NFD", "---\nрайон: Йошкар-Ола\n---\nCake.\n")}
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(make_vault(tmp_path / "vault", notes), embedder=HashEmbedder(), env=home, now=NOW)
    assert lines(memory, "", where=["РАЙОН=йошкар-ола"]) == ["Cake."]


def test_what_a_tag_lists_is_shown_by_a_line_with_the_tag(tmp_path: Path) -> None:
    notes = {
        "2026-11-20.md": "## Log\n- met Ben\n- bought a kettle #tea/green\n",
        "T.md": "# At home #tea\n\n- a cup\n",
    }
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(make_vault(tmp_path / "vault", notes), embedder=HashEmbedder(), env=home, now=NOW)
    shown = {"- bought a kettle #tea/green", "- a cup"}
    assert {hit.best_line[1] for hit in memory.search("", tags=["#Tea"]).hits} == shown
    assert {hit.best_line[1] for hit in memory.search("tag:tea").hits} == shown


def test_filters_alone_list_no_empty_bullets(tmp_path: Path) -> None:
    form = "## Tasks\n- [ ] \n\n## Mood\n- {}\n\n## Log\n- rain\n"
    notes = {f"2026-11-{day}.md": form.format("\U0001f642" if day == 12 else "") for day in range(10, 20)}
    home = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    memory = Memory(make_vault(tmp_path / "vault", notes), embedder=HashEmbedder(), env=home, now=NOW)
    assert [hit.text for hit in memory.search("", tiers=["daily"], limit=7).hits] == ["- rain"] * 7
    assert lines(memory, "", since="2026-11-12", until="2026-11-12") == ["- rain", "- \U0001f642"]


@pytest.mark.parametrize("name", ["", "  ", "[[]]", "/", "\u200b"])
def test_a_name_that_names_nothing(memory: Memory, name: str) -> None:
    with pytest.raises(UsageError):
        memory.search("tea", about=[name])
    with pytest.raises(UsageError):
        memory.search("tea", topics=[name])
    with pytest.raises(NotFoundError):
        memory.search("tea", about=["Anna"], links_to=["Nobody"])


@pytest.mark.parametrize("name", ['"', "a OR b", "x\0y", "💥", "*", "[[x", "#", "a" * 3000, "-", "NEAR(", "::", "%_"])
def test_no_name_breaks_the_question(memory: Memory, name: str) -> None:
    assert lines(memory, about=[name]) == []
    if name != "#":
        assert lines(memory, topics=[name]) == []


def test_context_narrows_facts_and_what_is_recalled(memory: Memory) -> None:
    packed = memory.context("where is the tea", about=["Annie"], budget=9000, loaded=False)
    told = "\n".join(block.text for block in packed.blocks if block.kind == "facts")
    assert "Cork" in told
    assert "his sister" in told
    assert "- drinks:: tea" not in packed.text
    assert "kettle" not in packed.text
    assert "box 4" in packed.text
    assert "canary" not in packed.text
    assert "kettle" in memory.context("tea", about=["Annie"], budget=9000).text  # Memory.md is loaded all the same
    tagged = memory.context("what does Ben drink", topics=["food"], budget=9000, loaded=False).text
    assert "- drinks:: tea #food" in tagged
    assert "oolong" not in tagged


def test_a_list_and_the_facts_narrowed(memory: Memory) -> None:
    assert [entry.text for entry in memory.list(about=["Annie"])] == [
        "Anna Berg prefers green tea #food/tea",
        "annie's tea pot",
    ]
    assert [entry.text for entry in memory.list(topics=["food"])] == ["Anna Berg prefers green tea #food/tea"]
    assert [fact.object for fact in memory.facts(topics=["food"])] == ["tea #food"]
    assert memory.facts("Anna Berg", topics=["food"]) == []


def test_hand_edits_count_at_once(memory: Memory) -> None:
    assert "- the kettle makes tea" not in lines(memory, about=["Annie"])
    note = memory.workspace.root / "Memory.md"
    note.write_text(note.read_text("utf-8").replace("the kettle", "Annie's kettle"), "utf-8")
    assert "- Annie's kettle makes tea" in lines(memory, about=["Anna Berg"])
    (memory.workspace.root / "people/Anna Berg.md").unlink()
    assert lines(memory, about=["Annie"]) == ["- Annie's kettle makes tea", "- annie's tea pot", "- tea is in box 4"]


def test_what_is_nested_far_below_its_bullet_belongs_to_it(tmp_path: Path) -> None:
    """A list longer than a chunk, as outliners write them."""
    below = "".join(f"  - entry {number} about the kettle and what became of it\n" for number in range(60))
    notes = {"Outline.md": f"- Anna #kin\n{below}- Ben\n{below.replace('entry', 'item')}"}
    notes["Other.md"] = f"## One\n- Anna\n\n## Two\n{below.replace('entry', 'thing')}"
    root = make_vault(tmp_path / "vault", notes)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, embedder=HashEmbedder(), env=env, now=NOW) as memory:
        for options in ({"about": ["Anna"]}, {"topics": ["kin"]}):
            found = lines(memory, "", **options)
            assert {line for line in found if "kettle" in line} == {line.strip() for line in below.strip().split("\n")}
            searched = lines(memory, "kettle", mode="lexical", **options)
            assert any("entry" in line for line in searched)
            assert not any("item" in line or "thing" in line for line in searched)


SAID = st.sampled_from(
    ["kettle", "Anna's kettle", "kettle of ANNA", "Annabel kettle", "kettle, Ben", "#kin kettle", "x#kin"]
)
NESTED = st.lists(st.tuples(st.integers(0, 3), SAID), min_size=1, max_size=30)
HEADED = st.lists(st.tuples(st.sampled_from(["One", "With Anna", "Two #kin/far"]), NESTED), min_size=1, max_size=3)


@settings(max_examples=examples(20))
@given(sections=HEADED)
def test_search_as_a_naive_reading(sections):
    """Each line by its own words, those of the bullets that it is nested in, and its heading."""
    written, tells, bears = [], set(), set()
    for heading, items in sections:
        written.append(f"## {heading}")
        above: list[str] = []
        for wished, words in items:
            del above[min(wished, len(above)) :]
            above.append(words)
            line = f"- {words} {len(written)}"
            written.append("  " * (len(above) - 1) + line)
            if any(re.search(r"\banna\b", text, re.IGNORECASE) for text in (heading, *above)):
                tells.add(line)
            if any(re.search(r"(?:^|\s)#kin\b", text) for text in (heading, *above)):
                bears.add(line)
        written.append("")
    with tempfile.TemporaryDirectory() as folder:
        root = make_vault(Path(folder) / "vault", {"n.md": "\n".join(written)})
        env = {"TARS_MEMORY_HOME": f"{folder}/home"}
        with Memory(root, embedder=HashEmbedder(), env=env, now=NOW) as memory:
            for options, expected in (
                ({"about": ["anna"]}, tells), ({"topics": ["kin"]}, bears),
                ({"about": ["Anna"], "topics": ["KIN"]}, tells & bears),
            ):  # fmt: skip
                assert {line for line in lines(memory, "", **options) if line.startswith("- ")} == expected
                found = {line for line in lines(memory, "kettle", mode="lexical", **options) if line.startswith("- ")}
                assert {line for line in expected if "kettle" in line} <= found <= expected
