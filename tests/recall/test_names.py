"""Whoever types a note's name wants that note."""

from __future__ import annotations

import shlex
import unicodedata

import pytest
from recalled import Recalled

from tars_memory.errors import NotFoundError, UsageError
from tars_memory.index.naming import keys_within, mistakes
from tars_memory.memory import Memory
from tars_memory.recall.names import path_of_note
from tars_memory.recall.weights import LINE_NAMED, NOTE_NAME
from tars_memory.testing import make_vault
from tars_memory.vault.vault import key_of

pytestmark = pytest.mark.usefixtures("proved_engine")

NAMED = {
    "Zettelkasten.md": "Notes that are linked.\n",
    "guides/Custom domains.md": "Point a record at the server.\n",
    "The What.md": "A short essay.\n",
    "Größe & Maß.md": "Wie lang etwas ist.\n",
    "用户界面.md": "这里介绍窗口。\n",
    "Obsidian 官方同步简介.md": "笔记在设备之间传送。\n",
    "한국어 문법.md": "조사에 대하여.\n",
    "Élodie.md": "She prefers tea.\n",
    "plans/C++.md": "Templates and headers.\n",
    "plans/C.md": "Headers alone.\n",
    "People/Anna.md": "---\ntitle: Anna Kowalska\naliases: [Ania, 'A. K.']\n---\n\nPlays the cello.\n",
    "🚀.md": "Launch day.\n",
    "Empty idea.md": "",
    "People/Anna notes.md": "Anna Kowalska reads of Custom domains, Zettelkasten, C++ and 用户界面.\n" * 3,
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    recalled = Recalled(tmp_path_factory.mktemp("names"), NAMED)
    yield recalled
    recalled.close()


@pytest.mark.parametrize("mode", ["lexical", "hybrid", "semantic"])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Zettelkasten", "Zettelkasten.md"),
        ("what is a zettelkasten?", "Zettelkasten.md"),
        ("ｚｅｔｔｅｌｋａｓｔｅｎ", "Zettelkasten.md"),
        ("custom-domains", "guides/Custom domains.md"),
        ("The CUSTOM domains", "guides/Custom domains.md"),
        ("The What?", "The What.md"),
        ("grosse mass", "Größe & Maß.md"),
        ("Gro\u0308ße Maß", "Größe & Maß.md"),
        ("用户界面", "用户界面.md"),
        ("Obsidian官方同步简介", "Obsidian 官方同步简介.md"),
        ("한국어문법", "한국어 문법.md"),
        ("elodie", "Élodie.md"),
        ("c++", "plans/C++.md"),
        ("C", "plans/C.md"),
        ("anna kowalska", "People/Anna.md"),
        ("Anna", "People/Anna.md"),
        ("ania", "People/Anna.md"),
        ("A.K.", "People/Anna.md"),
        ("🚀", "🚀.md"),
        ("empty idea", "Empty idea.md"),
    ],
)
def test_a_name_finds_its_note_first(vault, text, path, mode):
    hits = vault.search(text, mode).hits
    assert hits[0].path == path
    assert hits[0].score >= LINE_NAMED - 0.5
    assert [hit.score for hit in hits[1:] if hit.score > LINE_NAMED - 0.5] == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("zettelk", "Zettelkasten.md"),
        ("custom-dom", "guides/Custom domains.md"),
        ("größe &", "Größe & Maß.md"),
        ("用户", "用户界面.md"),
        ("empty id", "Empty idea.md"),
        ("c", "plans/C.md"),
    ],
)
def test_the_beginning_of_a_name_that_is_still_typed_finds_its_note_first(vault, text, path):
    assert vault.search(text, "lexical", options={"unfinished": True}).hits[0].path == path


def test_the_last_word_may_be_a_whole_one_in_another_form(vault):
    for text in ("header", "headers", "head"):
        paths = {hit.path for hit in vault.search(text, "lexical", options={"unfinished": True}).hits}
        assert paths >= {"plans/C++.md", "plans/C.md"}, text


def test_a_named_note_shows_its_first_line_of_text_or_one_with_a_word_of_the_name(tmp_path):
    lines = [f"- The {word} was mended by a man in the village." for word in ("roof", "door", "gate", "wall", "shed")]
    properties = "---\nowner: Ruth\nplace: hill\n---\n"
    notes = {
        f"n{i}.md": f"{properties}\n# House\n\n## Work\n\n![a](a.png)\n\n" + "\n".join([*lines[i:], *lines[:i]]) + "\n"
        for i in range(5)
    }
    vault = Recalled(tmp_path, notes | {"Named.md": f"{properties}The gate of Named.\n\n- What named is.\n"})
    for mode in ("lexical", "hybrid"):
        shown = [vault.search(f"n{i}", mode).hits[0].best_line[1] for i in range(5)]
        assert shown == lines, mode
    assert vault.search("is named", "hybrid").hits[0].best_line[1] == "- What named is."
    vault.close()


def test_a_name_within_a_question_lifts_its_note_a_little(vault):
    found = vault.search("how can our custom domains be registered at the server", "lexical", explain=True).hits
    first = found[0]
    assert first.path == "guides/Custom domains.md"
    assert 0 < first.explain["note: name"] < NOTE_NAME
    assert first.explain["line: its note is named"] == 0
    assert "custom domains" in keys_within("how can our custom domains be registered tomorrow")
    assert "用户界面" in keys_within("怎样打开用户界面窗口")


def test_a_filter_and_a_project_hold_for_names_too(vault):
    assert [hit.path for hit in vault.search("Zettelkasten path:guides/*", "lexical").hits] == []
    assert all(hit.path != "Zettelkasten.md" for hit in vault.search("Zettelkasten -linked", "lexical").hits)


def test_a_blank_note_comes_behind_its_namesakes_and_changes_no_other_order(tmp_path):
    notes = {f"{i}.md": f"The harbour number {i} has {'many ' * i}boats.\n" for i in range(8)}
    vault = Recalled(tmp_path / "a", notes | {"x/Harbour.md": "Ships lie here.\n"})
    more = Recalled(
        tmp_path / "b", notes | {"x/Harbour.md": "Ships lie here.\n", "Harbour.md": "", "What.md": "", "Boats.md": ""}
    )
    assert [hit.path for hit in more.search("harbour", "lexical").hits][:2] == ["x/Harbour.md", "Harbour.md"]
    for text in ("many boats in the harbour", "what has number 3"):
        before, after = (
            [(hit.path, round(hit.score, 6)) for hit in one.search(text, "lexical").hits] for one in (vault, more)
        )
        assert before == after
    vault.close()
    more.close()


def test_names_of_many_notes_name_none_and_a_bare_date_names_the_note_of_that_day(tmp_path):
    notes = {f"{where}/Index.md": "Overview of all.\n" for where in "abcd"}
    notes |= {
        "journal/2026-03-15.md": "Rain.\n",
        "202603151405.md": "Rain on 2026-03-15.\n",
        "x/Glossary.md": "Words.\n",
        "y/Glossary.md": "Terms.\n",
    }
    vault = Recalled(tmp_path, notes)

    def lifts(text):
        return [hit.explain["line: its note is named"] for hit in vault.search(text, explain=True).hits]

    assert set(lifts("Index")) == {0}
    assert lifts("2026-03-15")[:2] == [LINE_NAMED, 0]
    assert sorted(lifts("Glossary")) == [LINE_NAMED, LINE_NAMED]
    vault.close()


def test_a_renamed_note_is_found_by_its_new_name_alone(tmp_path):
    vault = Recalled(tmp_path, {"Old name.md": "Rain.\n", "Other.md": "Snow.\n"})
    (vault.root / "Old name.md").rename(vault.root / "Harbour.md")
    vault.index.refresh()
    assert [hit.path for hit in vault.search("harbour", "lexical").hits] == ["Harbour.md"]
    assert vault.search("old name", "lexical").hits == []
    vault.close()


def test_a_line_that_many_notes_share_tells_none_of_them(tmp_path):
    footer = "%% Please read the beekeeping guide: it explains beekeeping %%\n"
    notes = {
        f"Note {i}.md": f"Some words about the {thing}.\n\n{footer}"
        for i, thing in enumerate(["river", "hill", "lake", "wood", "road"])
    }
    notes["Hobbies.md"] = "In spring, after the long rains, grandfather began with beekeeping behind the old barn.\n"
    vault = Recalled(tmp_path, notes)
    for mode in ("lexical", "hybrid"):
        assert vault.search("beekeeping", mode).hits[0].path == "Hobbies.md"
    vault.close()


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("Zetelkastn", ["Zettelkasten"]),
        ("zettelkatsen", ["Zettelkasten"]),
        ("用户介面", ["用户界面"]),
        ("Elodi", ["Élodie"]),
        ("Umzugskarton", []),
        ("Zq", []),
        ("custmo domains", ["Custom domains"]),
        ("Kustom domains", ["Custom domains"]),
        ("domanis", ["Custom domains"]),
        ("官方同歩", ["Obsidian 官方同步简介"]),
        ("官歩", []),
    ],
)
def test_what_finds_nothing_is_told_the_names_that_are_spelt_alike(vault, text, offered):
    result = vault.search(text, "lexical")
    if not result.hits:
        assert result.did_you_mean == offered
        assert result.as_dict().get("did_you_mean", []) == offered
    assert vault.index.read(lambda reader: reader.names().suggestions(text)) == offered


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("obsidian", ["Obsidian 官方同步简介"]),
        ("한국어", ["한국어 문법"]),
        ("groesse", ["Größe & Maß"]),
        ("custom", ["Custom domains"]),
        ("domains", []),
        ("!", []),
        ("it's", []),
    ],
)
def test_of_a_name_that_no_note_has_the_ones_that_begin_so_are_offered(vault, text, offered):
    def ask(reader):
        with pytest.raises(NotFoundError) as told:
            path_of_note(reader, vault.index.vault, text, scope="")
        return str(told.value.hint)

    hint = vault.index.read(ask)
    search = f"tars-memory search {shlex.quote(text)} looks inside notes"
    assert hint == (f"did you mean {offered[0]}?" if offered else search)


def test_the_name_that_begins_so_is_offered_before_those_that_are_spelt_alike(tmp_path):
    recalled = Recalled(tmp_path, {f"20260310120{n} Idea {n}.md": f"idea {n}\n" for n in (1, 2, 3)})
    with pytest.raises(NotFoundError) as told:
        recalled.index.read(lambda reader: path_of_note(reader, recalled.index.vault, "202603101202 Ide", scope=""))
    recalled.close()
    assert str(told.value.hint).startswith("did you mean 202603101202 Idea 2, ")


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_misspelt_name_is_offered_though_its_other_words_find_something(tmp_path, mode):
    notes = {"Les Misérables.md": "A novel.\n", "Война и мир.md": "Роман.\n"}
    notes |= {f"{n}.md": f"les mots de la page {n}, война на странице {n}\n" for n in range(1, 5)}
    vault = Recalled(tmp_path, notes)
    for text, meant in [("Les Misérabels", "Les Misérables"), ("война и мур", "Война и мир")]:
        result = vault.search(text, mode)
        assert meant in [*result.did_you_mean, *(hit.title for hit in result.hits)]
    assert vault.search("les mots", mode).did_you_mean == [], "each of its words is held"
    assert vault.search("Les Misérables", mode).did_you_mean == []
    vault.close()


def test_a_name_is_no_misspelling_of_another(tmp_path):
    notes = {f"{n}.md": f"---\naliases: [n120{n}]\n---\nRain on day {n}.\n" for n in range(4)}
    vault = Recalled(tmp_path, notes)
    result = vault.search("n1203")
    assert (result.hits[0].path, result.did_you_mean) == ("3.md", [])
    assert vault.search("n1207").did_you_mean == ["n1200", "n1201", "n1202"]
    vault.close()


def test_who_finds_something_is_offered_no_other_name(vault):
    result = vault.search("server", "lexical")
    assert result.hits
    assert "did_you_mean" not in result.as_dict()


def test_a_heading_finds_its_section_first_though_other_notes_have_its_words(tmp_path):
    notes = {f"{n}.md": f"On day {n} the plants, which Ada left, got their watering. 植物浇水。\n" for n in range(30)}
    notes |= {f"week {n}.md": "## Notes on the week\n\nRain.\n" for n in range(5)}
    notes["House.md"] = "## Watering plants\n\nTwice a week.\n\n## 植物浇水\n\n每周两次。\n"
    vault = Recalled(tmp_path, notes)
    for text, line in (("watering the PLANTS", "Twice a week."), ("植物浇水", "每周两次。")):
        assert vault.search(text, "lexical").hits[0].best_line[1] == line
    named = [hit.explain["note: name"] for hit in vault.search("notes on the week", "lexical", explain=True).hits]
    assert max(named) < NOTE_NAME, "a heading of many notes names none"
    vault.close()


@pytest.mark.parametrize(
    ("typed", "meant", "count"),
    [("abc", "abc", 0), ("acb", "abc", 1), ("ab", "abc", 1), ("xyz", "abc", 3), ("", "ab", 2)],
)
def test_mistakes_are_counted(typed, meant, count):
    assert mistakes(typed, meant, 3) == count
    assert mistakes(meant, typed, 3) == count
    assert mistakes(typed, meant, 1) == min(count, 2)


def test_a_name_is_compared_without_what_nobody_sees(tmp_path):
    notes = {
        "zero\u200bwidth\u2060name.md": "One.\n",
        "\u202etfel ot thgir.md": "Two.\n",
        "می\u200cخواهم.md": "Three.\n",
    }
    with Memory(make_vault(tmp_path / "vault", notes)) as memory:
        for text, path in zip(("zerowidthname", "tfel ot thgir", "می\u200cخواهم"), notes, strict=True):
            assert memory.note_called(text) == path
            result = memory.search(text, mode="lexical")
            assert (result.hits[0].path, result.did_you_mean) == (path, [])


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_note_with_an_id_for_a_name_is_found_by_the_title_that_it_opens_with(tmp_path, mode):
    titled = {
        "202310101010.md": "# Kongres w Toruniu\n\nReferat: termin w styczniu.\n",
        "202305121000.md": "---\ntags: [poet]\n---\n\nJean de La Ville\n================\n\nMort à Verneuil.\n",
    }
    others = {f"2021{n:08}.md": f"# Uwaga {n}\n\nW opisie de la ville w ogóle nie ma {n} słów.\n" for n in range(30)}
    with Memory(make_vault(tmp_path / "vault", titled | others)) as memory:
        for text, path in zip(("w Kongres", "Jean de La Ville"), titled, strict=True):
            assert memory.search(text, mode=mode).hits[0].path == path
        assert memory.note_called("kongres w Toruniu") == "202310101010.md"


def test_a_file_name_without_its_number_or_day_is_a_name_behind_those_that_are_whole(tmp_path):
    notes = {f"{n}.md": f"An idea on rivers, tax, a review of the budget {n}.\n" * 3 for n in range(20)}
    numbered = {
        "Idea on rivers": "202403171015 Idea on rivers.md",
        "Budget review": "Budget review 2024-03-16.md",
        "tax": "11.02 - Tax.md",
        "rain": "12a3 Rain.md",
        "hail": "20240317T1015 Hail.md",
        "مذكرات": "٢٠٢٤-٠٣ مذكرات.md",
        "Twice": "2024-03-16 Twice.md",
    }
    notes |= dict.fromkeys(numbered.values(), "Rain.\n") | {"2024-W12.md": "Snow.\n", "20240318T1015.md": "Hail.\n"}
    notes |= {f"2024-03-1{n} Standup.md": f"Rain {n}.\n" for n in range(5)}
    with Memory(make_vault(tmp_path / "vault", notes)) as memory:
        for text, path in numbered.items():
            assert memory.search(text, mode="lexical").hits[0].path == path
            assert memory.note_called(text) == path
        for text in ("W12", "T1015"):
            with pytest.raises(NotFoundError):
                memory.note_called(text)
        with pytest.raises(UsageError, match="5 notes have the name 'standup'"):
            memory.note_called("standup")
        (tmp_path / "vault" / "Twice.md").write_text("Sun.\n")
        assert memory.note_called("twice") == "Twice.md"


def test_a_name_spelt_as_typed_goes_before_one_that_differs_in_accents_or_signs(tmp_path):
    names = ["Ho Chi Minh", "Hồ Chí Minh", "Papa", "Papá", "Ёж", "Еж", "Straße", "Strasse", "To do", "To-do", "Notes!"]
    notes = {f"{name}.md": f"{name} and Hồ Chí Minh, Ho Chi Minh.\n" for name in [*names, "The notes", "Notes"]}
    with Memory(make_vault(tmp_path / "vault", notes)) as memory:
        for name in [*names, "strasse", "STRASSE", unicodedata.normalize("NFD", "hồ chí minh")]:
            path = next(path for path in notes if key_of(path) == key_of(f"{name}.md"))
            assert memory.note_called(name) == path
            assert memory.search(name, mode="lexical").hits[0].path == path
        with pytest.raises(UsageError, match="2 notes have the name 'pàpa'"):
            memory.note_called("pàpa")


def test_only_a_first_heading_of_level_1_names_a_note_and_a_file_name_goes_before_it(tmp_path):
    notes = {
        "Index.md": "Everything.\n",
        "1.md": "# Index\n\nOne.\n",
        "2.md": "---\ntitle: Second\n---\n# Twice\n\nTwo.\n",
        "3.md": "## Thrice\n\nThree.\n",
        "4.md": "Four.\n\n# Fourfold\n\nFour.\n",
    }
    with Memory(make_vault(tmp_path / "vault", notes)) as memory:
        assert memory.note_called("index") == "Index.md"
        for name in ("Twice", "Thrice", "Fourfold"):
            with pytest.raises(NotFoundError):
                memory.note_called(name)


def test_a_note_is_named_by_title_alias_or_path_and_by_nothing_else(tmp_path):
    notes = {**NAMED, "a/Index.md": "One.\n", "b/Index.md": "Two.\n", "2026-03-15.md": "- rain\n"}
    with Memory(make_vault(tmp_path / "vault", notes)) as memory:
        for text, path in [
            ("custom DOMAINS", "guides/Custom domains.md"),
            ("ania", "People/Anna.md"),
            ("empty idea", "Empty idea.md"),
            ("2026-03-15", "2026-03-15.md"),
            ("a/Index", "a/Index.md"),
            ("b/Index.md", "b/Index.md"),
        ]:
            assert memory.note_called(text) == path
        with pytest.raises(UsageError, match=r"2 notes have the name 'index': a/Index.md, b/Index.md"):
            memory.note_called("index")
        with pytest.raises(NotFoundError) as error:
            memory.note_called("Zettelkasen")
        assert error.value.hint == "did you mean Zettelkasten?"


PEOPLE = [
    ("Großvater Heinrich", "Opa", "mag am liebsten Linsensuppe", "Was isst Opa gern?"),
    ("Grandfather Henry", "Gramps", "likes lentil soup best", "What does Gramps want to eat?"),
    ("Grand-père Henri", "Papi", "préfère la soupe de lentilles", "Que mange Papi volontiers ?"),
    ("Дедушка Генрих", "Деда", "больше всего любит чечевичный суп", "Что ест Деда?"),
    ("祖父ヘンリー", "じいじ", "レンズ豆のスープが一番好き", "じいじは何を食べる？"),
]


def test_a_question_that_names_a_note_is_answered_by_it_however_far_a_model_finds_it(tmp_path):
    notes = {f"Page {number}.md": f"a word about matter {number}\n" for number in range(8)}
    notes |= {f"{name}.md": f"---\naliases: [{alias}]\n---\n\n- {line}\n" for name, alias, line, _ in PEOPLE}
    vault = Recalled(tmp_path, notes)
    for mode in ("lexical", "hybrid"):
        for _, _, line, asked in PEOPLE:
            assert [hit.best_line[1] for hit in vault.search(asked, mode).hits][:1] == [f"- {line}"], (mode, asked)
        assert vault.search("Was xqz gern zfrt?", mode).abstained
    vault.close()


def test_a_name_among_many_words_that_no_note_contains_makes_no_answer(tmp_path):
    notes = {f"{name}.md": "- likes green tea\n" for name in ("Anna", "Tom", "Mira", "Kenji")}
    notes |= {f"2026-10-{day:02}.md": f"- called about invoice {day}\n" for day in range(1, 29)}
    vault = Recalled(tmp_path, notes)
    for mode in ("lexical", "hybrid"):
        assert vault.found("Anna zirconium trebuchet", mode), mode
        assert vault.found("Anna zirconium trebuchet mercenaries Ravenna tariffs quinces sarcophagi", mode) == [], mode
    vault.close()


def test_a_question_that_names_a_person_by_one_of_two_names_is_answered_by_that_note(tmp_path):
    notes = {
        f"2026-{month:02}-{day:02}.md": f"- called about invoice {day}\n" for month in (8, 9) for day in range(1, 29)
    }
    notes |= {f"{name}.md": "- likes green tea\n" for name in ("Antoni Wójcik", "Oliwia Kamińska", "Green Tea")}
    notes |= {f"{name} Nowak.md": "- plays chess\n" for name in ("Ewa", "Jan", "Ola", "Piotr")}
    vault = Recalled(tmp_path, notes)
    few = "trebuchets, mercenaries, tariffs, zirconium"
    for asked in (f"does Oliwia have {few}", f"what does Kamińska do with {few}", f"is oliwia in {few}"):
        assert [hit.path for hit in vault.search(asked).hits] == ["Oliwia Kamińska.md"], asked
    for asked in (
        f"does oliwia have {few}, Jonathan",  # a word like any other, where names have capitals
        f"does tea go with {few}",  # not rare
        f"does Nowak have {few}",  # more than three notes
        f"does Oliwia have {few}, quinces, sarcophagi, yaks",  # a small part of the question
    ):
        assert vault.search(asked).abstained, asked
    vault.close()


SUBJECTS = [
    (("Opa", "Inge", "Jonas", "Mia"), "wohnt in", "lebt in", "Wo wohnt Opa?"),
    (("Дедушка", "Оля", "Миша", "Света"), "живёт в", "поселился в", "Где живёт дедушка?"),
    (("Papi", "Odile", "Jules", "Manon"), "habite à", "vit à", "Où habite Papi ?"),
    (("El abuelo", "Pilar", "Javi", "Lucía"), "vive en", "reside en", "¿Dónde vive el abuelo?"),
]


@pytest.mark.parametrize(("people", "usual", "other", "asked"), SUBJECTS)
def test_a_question_that_names_the_subject_of_facts_is_answered_by_a_fact_of_its_own(
    tmp_path, people, usual, other, asked
):
    """Whatever verb its facts are written with, and whoever else's fact is written with the verb that was asked."""
    towns = dict(zip(people, ("Kiel", "Bremen", "Riga", "Brest"), strict=True))
    facts = "".join(f"\n## {one}\n\n- {usual if n else other}:: {towns[one]}\n" for n, one in enumerate(people))
    home = "# ⌂\n\n- est là, wo ist der Schlüssel\n- Aquí se vive tranquilo, где ключ\n"
    vault = Recalled(tmp_path, {"Facts.md": f"# Facts\n{facts}", "Home.md": home})
    for mode in ("lexical", "hybrid"):
        first = vault.search(asked, mode).hits[0]
        assert (first.path, first.headings[-1]) == ("Facts.md", people[0]), mode
    vault.close()


def test_in_a_small_vault_the_words_of_a_questions_grammar_name_nothing(tmp_path):
    """There they are as rare as any, and would be what the question asks about."""
    likes = {"Papi": "la soupe", "Odile": "les sushis", "Jules": "la pizza"}
    home = "# Maison\n\n- Le vélo est à la cave, que les clés sont dans le couloir\n"
    notes = {f"2026-10-0{n}.md": f"- 10:00 {one} préfère {what}\n" for n, (one, what) in enumerate(likes.items(), 1)}
    vault = Recalled(tmp_path, {**notes, "Maison.md": home})
    for mode in ("lexical", "hybrid"):
        assert vault.found("Qu'est-ce que Papi préfère ?", mode)[0] == "- 10:00 Papi préfère la soupe", mode
        assert vault.found("est que", mode)[0].startswith("- Le vélo est"), mode
    vault.close()
