"""Which facts stand in a prompt: the user's always, others when the question touches them, the newest first."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from tars_memory.memory import Memory
from tars_memory.recall.names import QuestionWords, relevant
from tars_memory.settings import ContextOptions, FactsOptions
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.markdown import facts
from tars_memory.vault.markdown.document import Document

TODAY = date(2026, 11, 21)
MOST = ContextOptions.facts


def told(note: str, question: str = "", **options: bool) -> list[str]:
    known = [fact for _, fact in facts.read("Facts.md", Document(note.encode()))]
    found = relevant(
        known,
        question,
        today=TODAY,
        predicates=facts.Predicates.of(FactsOptions()),
        me=FactsOptions.me,
        most=MOST,
        **options,
    )
    return [fact.object for fact in found]


@pytest.mark.parametrize(
    ("name", "question", "touched"),
    [
        ("Anna", "where does ANNA live?", True),
        ("Anna", "where is Annabel?", False),
        ("Zoë", "and zoe?", True),
        ("Zoe\u0308", "and Zoë?", True),
        ("Zu\u0308rich", "flights to Zürich", True),
        ("Юлия", "как дела у Юлии и юлия?", True),
        ("田中", "田中さんはどこに住んでいますか", True),
        ("田中", "山田さんはどこ", False),
        ("Anna", "Anna는 어디에 살아요?", True),
        ("The Who", "when do the who play?", True),
        ("Will", "where does Will live?", True),
        ("the house", "the garden of the town", False),
        ("the house", "paint the house", True),
        ("Anna Berg", "Anna's address", False),
        ("Anna Berg", "the address of anna berg", True),
        ("red bike with a basket", "is the bike red?", True),
        ("red bike with a basket", "a bike with no lights", False),
        ("[[people/Anna|Annie]]", "what does Annie like", True),
        ("[[Anna Berg|her]]", "who is Anna Berg", True),
        ("", "anything", False),
        ("...", "...", False),
        ("C++", "who writes c++", True),
    ],
)
def test_what_a_question_touches(name: str, question: str, touched: bool) -> None:
    assert QuestionWords(question).touches(name) is touched


NOTE = """\
## me
- lives in:: Cork
- met:: Carla [since:: 2026-11-01]
- uses editor:: vim [since:: 2026-01-01]
- works at:: Shipyard [until:: 2026-11-21]
- works at:: Harbour Ltd [since:: 2026-11-22]

## Anna
- likes:: oolong [since:: 2026-02-01]
- plays:: the oboe [since:: 2026-03-01]

## Ben
- sister:: Anna
"""


def test_the_users_facts_always_but_events_only_when_touched() -> None:
    assert told(NOTE) == ["vim", "Cork"]
    assert told(NOTE, "when did I see Carla?") == ["Carla", "vim", "Cork"]
    assert told(NOTE, "whom have I met?") == ["Carla", "vim", "Cork"]
    assert told(NOTE, "what does the user do", expired=True) == ["Harbour Ltd", "vim", "Shipyard", "Cork"]


def test_those_of_others_by_subject_or_object_the_newest_first() -> None:
    assert told(NOTE, "tell me of anna") == ["the oboe", "oolong", "Anna", "vim", "Cork"]
    assert told(NOTE, "who plays an oboe") == ["the oboe", "vim", "Cork"]


def test_of_one_day_the_line_further_down_is_the_newer_one() -> None:
    assert told("## me\n- likes:: tea\n- likes:: coffee\n- likes:: cocoa [since:: 2020-01-01]\n") == [
        "cocoa", "coffee", "tea",
    ]  # fmt: skip


def test_never_more_than_the_cap_in_a_project_and_outside_together(tmp_path: Path) -> None:
    days = [TODAY - timedelta(days=number) for number in range(60)]
    note = "## Anna\n" + "".join(f"- saw:: film {number} [since:: {day}]\n" for number, day in enumerate(days))
    assert told(note, "Anna") == [f"film {number}" for number in range(MOST)]
    mine = "## Me\n" + "".join(f"- likes:: tea {number}\n- met:: Ida {number}\n" for number in range(MOST + 10))
    assert told(mine + note, "Anna") == [f"tea {number}" for number in reversed(range(MOST + 10))]
    assert len(told(mine + note, "Anna and Ida 3")) == MOST + 10  # they count, and none of them is left out
    root = make_vault(tmp_path / "vault", {"Facts.md": note, "projects/boat/Facts.md": note.replace("film", "play")})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, embedder=HashEmbedder(), env=env, now=datetime(2026, 11, 21, 12).astimezone()) as memory:
        packed = memory.context("Anna", project="boat", budget=50_000, loaded=False)
        text = "\n".join(block.text for block in packed.blocks if block.kind == "facts")
        assert text.count("- saw::") == MOST
        assert text.count("play") == MOST


def test_what_has_ended_in_another_project_is_not_told_of(tmp_path: Path) -> None:
    notes = {"a.md": "- tea\n", "projects/boat/b.md": "- canary [until:: 2026-01-01]\n"}
    root = make_vault(tmp_path / "vault", notes)
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, embedder=HashEmbedder(), env=env, now=datetime(2026, 11, 21, 12).astimezone()) as memory:
        assert memory.search("canary", mode="lexical").notices == []
        assert memory.search("canary", mode="lexical", project="boat").notices != []


PEOPLE = (
    "## Anna Kelly\n- lives in:: Cork\n## Anna\n- likes:: tea\n"
    "## José Müller\n- works at:: Acme\n## 王芳\n- 住在:: 上海\n"
    "## Анна Ёлкина\n- likes:: Anna Kelly\n## [[people/bob|Bob]] Stone\n- sister:: Belarus\n## राम\n- likes:: चाय\n"
    "## रामायण\n- likes:: books\n## Ivan\n- lives in:: Rome [until:: 2021-01-01]\n"
)


@pytest.mark.parametrize(
    ("name", "objects"),
    [
        ("anna", ["tea", "Cork", "Anna Kelly"]),
        ("ANNA KELLY", ["Cork", "Anna Kelly"]),
        ("kelly, anna", ["Cork"]),
        ("[[Anna]]", ["tea", "Cork", "Anna Kelly"]),
        ("ann", []),
        ("jose", ["Acme"]),
        ("MULLER", ["Acme"]),
        ("王芳", ["上海"]),
        ("王", ["上海"]),
        ("елкина", ["Anna Kelly"]),
        ("bob", ["Belarus"]),
        ("राम", ["चाय"]),
        ("belarus", ["Belarus"]),
        ("bela", []),
        ("Ivan", []),
        ("...", []),
    ],
)
def test_facts_are_found_by_words_of_a_name_in_any_script(tmp_path: Path, name: str, objects: list[str]) -> None:
    root = make_vault(tmp_path / "vault", {"Facts.md": PEOPLE})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, env=env, now=datetime(2026, 11, 21, 12).astimezone()) as memory:
        assert [fact.object for fact in memory.facts(name)] == objects
        assert {fact.object for fact in memory.timeline(name)} == {*objects, *(["Rome"] if name == "Ivan" else [])}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ana", "similar names: Anna, Anna Kelly"),
        ("kely", "similar names: Anna Kelly"),
        ("jossé", "similar names: José Müller"),
        ("Ivan", "have ended"),
        ("nobody at all", ""),
    ],
)
def test_where_nobody_is_called_so_near_names_are_told(tmp_path: Path, name: str, said: str) -> None:
    root = make_vault(tmp_path / "vault", {"Facts.md": PEOPLE})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home")}
    with Memory(root, env=env, now=datetime(2026, 11, 21, 12).astimezone()) as memory:
        assert memory.facts(name) == []
        assert said in " ".join(memory.workspace.notices) if said else not memory.workspace.notices


OWN = (
    "## {other}\n- {lives}:: Görlitz\n- {doctor}:: Frau Uhl\n## {me}\n- {lives}:: Dresden\n- {doctor}:: Lowe\n"
    "## Anna\n- {lives}:: York\n"
)


@pytest.mark.parametrize(
    ("me", "other", "lives", "doctor", "asked"),
    [
        ("me", "my grandmother", "lives in", "doctor", ("Where do I live?", "who is my doctor", "lives in")),
        ("ich", "meine Oma", "wohnt in", "Arzt", ("Wo wohne ich?", "wer ist mein Arzt", "wohnt")),
        ("yo", "mi abuela", "vivo en", "médico", ("¿Dónde vivo?", "quién es mi médico", "vivo en")),
        ("je", "ma mère", "habite à", "médecin", ("Où est-ce que j'habite ?", "qui est mon médecin", "habite")),
    ],
)
def test_a_question_that_names_nobody_is_about_the_user(
    tmp_path: Path, me: str, other: str, lives: str, doctor: str, asked: tuple[str, ...]
) -> None:
    note = OWN.format(me=me, other=other, lives=lives, doctor=doctor)
    root = make_vault(tmp_path / "vault", {"Facts.md": note, "Oma.md": f"- {other} {lives} Görlitz\n"})
    with Memory(root, embedder=HashEmbedder(), env={"TARS_MEMORY_HOME": str(tmp_path / "home")}) as memory:
        for question, answer in zip(asked, ("Dresden", "Lowe", "Dresden"), strict=True):
            hits = memory.search(question, mode="lexical").hits
            assert answer in "".join(hit.best_line[1] for hit in hits[:1]), question
        for name in (other, "Anna", "Karl"):
            first = [hit.best_line[1] for hit in memory.search(f"{name} {lives}", mode="lexical").hits[:1]]
            assert not any("Dresden" in line for line in first), name
