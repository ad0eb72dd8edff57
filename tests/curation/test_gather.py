from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from curation.reviewing import NOTES, Vault
from tars_memory.curation.proposals import Proposal, Related


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


def by_text(vault: Vault, **how: bool) -> dict[str, Proposal]:
    return {each.text: each for each in vault.review().waiting(limit=0, **how).proposals}


def test_gathering_writes_nothing(vault: Vault) -> None:
    before = vault.files()
    assert by_text(vault)
    assert vault.files() == before


def test_what_is_decided_or_old_is_not_offered(vault: Vault) -> None:
    texts = set(by_text(vault))
    assert texts == {
        "prefers tea", "prefers no tea", "Works as a senior engineer", "dentist on 16 Oct",
        "Anna moves to Cork in March 2027", "We decided to use sqlite for the index",
        "Correction: the distance was in miles", "Ask before deleting files",
    }  # fmt: skip
    assert set(by_text(vault, expired=True)) == texts | {"An old thing"}


def test_what_was_said_twice_is_one_proposal_and_comes_first(vault: Vault) -> None:
    first = vault.review().waiting().proposals[0]
    assert first.text == "prefers tea"
    assert [mark.path for mark in first.marks] == ["2026-11-19.md", "2026-11-20.md"]
    assert "Said 2 times: 2026-11-19, 2026-11-20" in first.why
    assert "“I prefer tea.”" in first.why


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("dentist on 16 Oct", Related("Memory.md", 6, "", "dentist on 15 Oct")),
        ("Works as a senior engineer", Related("Memory.md", 5, "", "works as an engineer", "2026-10-02")),
    ],
)
def test_what_is_about_the_same_is_shown_beside_it_and_stays(vault: Vault, text: str, shown: Related) -> None:
    before = vault["Memory.md"]
    found = by_text(vault)[text]
    assert (found.op, found.replaces) == ("append", "")
    assert found.conflicts[0].as_dict() == shown._replace(ref=found.conflicts[0].ref).as_dict()
    assert vault.memory().show(found.conflicts[0].ref).text == shown.text
    vault.review().decide(accept=[found.id])
    assert set(before.split("\n")) <= set(vault["Memory.md"].split("\n"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("prefers tea", "prefers no tea"),
        ("prefers no tea", "prefers tea"),
        ("party on 15 Oct", "party on 16 Oct"),
        ("works as an engineer", "works as a senior engineer"),
        ("works as a senior engineer", "works as an engineer"),
        ("lives in Berlin", "lives in Berlin Mitte"),
        ("keeps the key under the mat", "does not keep the key under the mat"),
        ("pays 1,200 rent", "pays 1,300 rent"),
        ("I am allergic to penicillin", "I'm not allergic to penicillin"),
        ("My car is a red Polo", "My car is a blue Golf"),
        ("I drink three coffees a day", "I quit coffee on Friday"),
        ("我喜欢喝咖啡", "我不喝咖啡了"),
    ],
)
@pytest.mark.parametrize("where", ["memory", "candidate"])
def test_look_alikes_are_shown_and_never_dropped(tmp_path: Path, old: str, new: str, where: str) -> None:
    """Beside a line of the memory, with both dates; beside a candidate, both are offered."""
    new_day = f"## Log\n- 10:00 [extracted] {new} ^d-new\n"
    if where == "memory":
        kept = f"## Notes\n- {old} ([[2026-10-02#^d-old|2026-10-02]])\n"
        vault = Vault(tmp_path, {"Memory.md": kept, "2026-11-20.md": new_day})
        (found,) = vault.review().waiting().proposals
        assert (found.op, found.date) == ("append", "2026-11-20")
        assert [str(each) for each in found.conflicts] == [f"{old} (2026-10-02)"]
        assert found.choices == found.conflicts
    else:
        vault = Vault(tmp_path, {"2026-11-19.md": f"- 10:00 [extracted] {old} ^d-old\n", "2026-11-20.md": new_day})
        found_ = vault.review().waiting().proposals
        assert [[str(each) for each in proposal.conflicts] for proposal in found_] == [
            [f"{new} (2026-11-20)"],
            [f"{old} (2026-11-19)"],
        ]
        assert all(line.waits for proposal in found_ for line in proposal.choices)


def test_of_those_said_as_often_the_oldest_comes_first(tmp_path: Path) -> None:
    day = "- 10:00 [extracted] {} ^d-{}\n"
    notes = {f"2026-11-{n}.md": day.format(f"item {n} is new", n) for n in (20, 12, 16)}
    notes["2026-11-18.md"] = day.format("likes jazz", 1) + day.format("likes jazz", 2)
    found = Vault(tmp_path, notes).review().waiting().proposals
    assert [each.date for each in found] == ["2026-11-18", "2026-11-12", "2026-11-16", "2026-11-20"]


def test_the_day_of_an_undated_line_is_the_journals(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"2026-11-20.md": "- 10:00 [extracted] dentist on 16 Oct ^d-new\n"})
    vault.memory().remember("dentist on 15 Oct")
    (found,) = vault.review().waiting().proposals
    assert [str(each) for each in found.conflicts] == ["dentist on 15 Oct (2026-11-21)"]


def test_a_candidate_whose_words_stand_there_is_settled_without_a_line(vault: Vault) -> None:
    vault["Memory.md"] = vault["Memory.md"] + "- Anna moves to Cork in March 2027.\n"
    before = vault["Memory.md"]
    assert "Anna moves to Cork in March 2027" not in by_text(vault)
    vault.review().decide(reject=[vault.ids()["prefers no tea"]])
    assert vault["Memory.md"] == before
    assert "[promoted] Anna moves to Cork" in vault["2026-11-20.md"]
    assert "[promoted] use metric units!" in vault["corrections.md"]


def test_the_quote_is_the_sessions(vault: Vault) -> None:
    assert by_text(vault)["prefers no tea"].quote == "I'd rather not have tea"
    assert by_text(vault)["Correction: the distance was in miles"].quote == (
        "the distance was in miles (asked: how far is Cork?; answered: 160)"
    )


def test_the_id_stays_whatever_else_changes_in_the_note(vault: Vault) -> None:
    before = vault.ids()
    vault["Memory.md"] = vault["Memory.md"].replace("# Mine", "# All mine\n\n- something above")
    vault["2026-11-20.md"] = vault["2026-11-20.md"].replace("had coffee", "had tea")
    vault["2026-11-21.md"] = "- 08:00 [extracted] Prefers tea ^d-new\n"
    assert vault.ids() == before
    vault["Memory.md"] = vault["Memory.md"].replace("dentist on 15 Oct", "dentist on 14 Oct")
    assert vault.ids() == before  # it names no line


def test_projects_have_a_memory_of_their_own(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"projects/boat/2026-11-20.md": NOTES["2026-11-20.md"]})
    assert not vault.review().waiting().proposals


def test_archived_days_count(tmp_path: Path) -> None:
    vault = Vault(tmp_path, {"archive/2026-11-20.md": "- 10:00 [extracted] likes tea ^d-new\n"})
    assert [each.text for each in vault.review().waiting().proposals] == ["likes tea"]


def test_a_note_that_cannot_be_read_is_told(vault: Vault) -> None:
    (vault.root / "2026-11-18.md").write_bytes(b"x" * 2000 + b"[extracted]")
    memory = vault.memory(env={"TARS_MEMORY_LIMITS_MAX_NOTE_BYTES": "1500"})
    listed = memory.review().waiting()
    assert listed.proposals
    assert any("2026-11-18.md" in notice for notice in listed.notices)


@pytest.mark.parametrize(("extracted", "offered"), [("2026-11-08", 1), ("2026-11-06", 0), ("soon", 0)])
def test_a_candidate_of_an_old_log_does_not_age_on_a_machine_that_did_not_extract_it(
    tmp_path: Path, extracted: str, offered: int
) -> None:
    session = f"---\ndate: 2026-01-02\nsource_hash: {'0' * 64}\nturns: 1\nextracted: {extracted}\n---\n\n## Facts\n\n"
    session += "- likes tea ([[2026-01-02#^d-old|2026-01-02]])\n"
    day = "- 10:00 [extracted] likes tea ^d-old\n- 10:00 [extracted] likes eels ^d-none\n"
    vault = Vault(tmp_path, {"2026-01-02.md": day, "sessions/2026-01-02 1000 tea.md": session})
    found = vault.review().gather()
    assert (len(found.proposals), len(found.aged)) == (offered, 2 - offered)


@pytest.mark.parametrize("days", [0, 13, 14, 15, 400])
def test_the_window_counts_from_the_last_time_it_was_said(tmp_path: Path, days: int) -> None:
    day = date.fromordinal(date(2026, 11, 21).toordinal() - days)
    old = date.fromordinal(day.toordinal() - 30)
    line = "- 10:00 [extracted] likes tea ^d-{}\n"
    vault = Vault(tmp_path, {f"{day}.md": line.format("new"), f"{old}.md": line.format("old")})
    found = vault.review().gather()
    assert (len(found.proposals), len(found.aged)) == ((1, 0) if days <= 14 else (0, 2))


@pytest.mark.parametrize(
    ("said", "rule", "target"),
    [
        ("use metric units", "Use metric units", "Procedural.md"),
        ("please answer in German.", "Answer in German", "Procedural.md"),
        ("you should ask before deleting files", "Ask before deleting files", "Procedural.md"),
        ("you shouldn't delete files", "You shouldn't delete files", "Procedural.md"),
        ("don't use tabs", "Don't use tabs", "Procedural.md"),
        ("never push to main", "Never push to main", "Procedural.md"),
        ("the distance was in miles", "Correction: the distance was in miles", "Procedural.md"),
        ("Bitte immer auf Deutsch antworten", "Immer auf Deutsch antworten", "Procedural.md"),
        ("No, Anna lives in Galway", "Anna lives in Galway", "Memory.md"),
        ("no, use kilometres", "Use kilometres", "Procedural.md"),
        ("answers should be short", "Answers should be short", "Procedural.md"),
        ("too long, three sentences are enough", "Correction: too long, three sentences are enough", "Procedural.md"),
    ],
)
def test_corrections_become_rules_in_the_persons_words(tmp_path: Path, said: str, rule: str, target: str) -> None:
    vault = Vault(tmp_path, {"corrections.md": f"## Feedback\n- 2026-11-20 10:00 {said}\n"})
    (found,) = vault.review().waiting().proposals
    assert (found.text, found.target) == (rule, target)


@pytest.mark.parametrize(
    ("said", "line", "target", "section"),
    [
        ("Always answer in metric units", "Always answer in metric units", "Procedural.md", "Notes"),
        ("Please never use emojis", "Please never use emojis", "Procedural.md", "Notes"),
        ("please always use tabs", "Please always use tabs", "Procedural.md", "Notes"),
        ("Please never mind the cat", "Please never mind the cat", "Memory.md", "Notes"),
        ("never push to main", "Never push to main", "Procedural.md", "Notes"),
        ("Please answer in metric units", "Please answer in metric units", "Procedural.md", "Notes"),
        ("Réponds-moi toujours en français", "Réponds-moi toujours en français", "Procedural.md", "Notes"),
        ("s'il te plaît, n'utilise jamais ça", "s'il te plaît, n'utilise jamais ça", "Procedural.md", "Notes"),
        ("Ne me dis plus jamais bonjour", "Ne me dis plus jamais bonjour", "Procedural.md", "Notes"),
        ("Je ne bois jamais de café", "Je ne bois jamais de café", "Memory.md", "Notes"),
        ("Always loved the sea", "Always loved the sea", "Memory.md", "Notes"),
        ("let's go with SQLite", "let's go with SQLite", "Memory.md", "Decisions"),
        ("I prefer window seats, by the way.", "I prefer window seats", "Memory.md", "Preferences"),
        ("I'm allergic to peanuts", "I'm allergic to peanuts", "Memory.md", "Health"),
        ("I live in Cork and I work as a nurse", "I live in Cork and I work as a nurse", "Memory.md", "About me"),
        ("my boss is called Maeve", "My boss is called Maeve", "Memory.md", "People"),
        ("npm run build takes 40 s", "npm run build takes 40 s", "Memory.md", "Notes"),
        ("The wifi is called Dr. No. Its password hint is on the fridge.",) * 2 + ("Memory.md", "Notes"),
        ("Ich wohne in Kiel.", "Ich wohne in Kiel", "Memory.md", "About me"),
        ("J’habite à Brest", "J’habite à Brest", "Memory.md", "About me"),
        ("s’il te plaît, n’utilise jamais ça", "s’il te plaît, n’utilise jamais ça", "Procedural.md", "Notes"),
    ],
)
def test_a_fresh_memory_gets_what_one_would_have_written(
    tmp_path: Path, said: str, line: str, target: str, section: str
) -> None:
    vault = Vault(tmp_path, {"Memory.md": "## Notes\n", "2026-11-20.md": f"- 10:00 [extracted] {said} ^d-new\n"})
    (found,) = vault.review().waiting().proposals
    assert (found.text, found.target, found.section) == (line, target, section)


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("Anna moves to Cork", "People"),
        ("I prefer oolong in the morning", "Preferences"),
        ("We decided to use SQLite", "Decisions"),
        ("The router stands in the hall", "Notes"),
        ("Bread needs 78 % hydration", "Baking"),
        ("likes sailing #boat", "Boat"),
        ("My sister's name is Ines", "People"),
    ],
)
def test_a_line_goes_where_its_like_stands(tmp_path: Path, text: str, section: str) -> None:
    memory = (
        "## Notes\n- the router is a FritzBox\n\n## People\n- Anna's birthday is 3 May\n\n## Baking\n"
        "- the rye bread bakes at 230 degrees\n- bread dough rests over night\n\n## Boat\n- moored in Kiel\n"
        "\n## Preferences\n\n## Decisions\n"
    )
    vault = Vault(tmp_path, {"Memory.md": memory, "2026-11-20.md": f"- 10:00 [extracted] {text} ^d-new\n"})
    (found,) = vault.review().waiting().proposals
    assert found.section == section


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Ik slaap slecht bij volle maan", "Ik drink mijn koffie zwart"),
        ("Ich schlafe schlecht bei Vollmond", "Ich trinke Kaffee schwarz"),
        ("Sono allergica alle noci", "Sono nata a Lucca"),
        ("Jag sover dåligt, och jag hatar fullmåne", "Jag dricker svart kaffe"),
    ],
)
def test_a_pronoun_is_no_name(tmp_path: Path, known: str, said: str) -> None:
    notes = {"Memory.md": f"## Notes\n\n## Slaap\n- {known}\n", "2026-11-20.md": f"- 10:00 [extracted] {said} ^d-new\n"}
    (found,) = Vault(tmp_path, notes).review().waiting().proposals
    assert found.section == "Notes"


def test_headings_are_made_by_kind_only_where_the_person_has_none(tmp_path: Path) -> None:
    day = {"2026-11-20.md": "- 10:00 [extracted] I prefer oolong in the morning ^d-new\n"}
    bare = Vault(tmp_path / "bare", {"Memory.md": "## Notes\n", **day})
    own = Vault(tmp_path / "own", {"Memory.md": "## Notes\n## Garden\n- roses\n", **day})
    named = Vault(tmp_path / "named", {"Memory.md": "## Notes\n## What I like\n", **day})
    sections = [each.review().waiting().proposals[0].section for each in (bare, own, named)]
    assert sections == ["Preferences", "Notes", "What I like"]


@pytest.mark.parametrize(
    ("memory", "said", "shown"),
    [
        (  # of one day: what was planned around a line that changes
            (
                "- Nous tournons le film à Nantes en juillet ([[2026-11-03#^d-a|2026-11-03]])\n"
                "- L'équipe dort chez Yvonne ([[2026-11-03#^d-b|2026-11-03]])\n"
                "- Le piano est accordé ([[2026-11-04#^d-c|2026-11-04]])\n"
            ),
            "finalement nous tournons le film à Brest",
            ["Nous tournons le film à Nantes en juillet", "L'équipe dort chez Yvonne"],
        ),
        (  # about the same as a line that changes
            "- I water the orchids every second morning\n- Every second morning the fern gets a glass\n- has a kayak\n",
            "I gave the orchids away",
            ["I water the orchids every second morning", "Every second morning the fern gets a glass"],
        ),
        (  # nothing hangs on what has no line about the same
            (
                "- El taller abre a las nueve ([[2026-11-03#^d-a|2026-11-03]])\n"
                "- Marta guarda la llave ([[2026-11-03#^d-b|2026-11-03]])\n"
            ),
            "prefiero el pan de centeno",
            [],
        ),
    ],
)
def test_what_hangs_on_a_line_about_the_same_is_shown_after_it(
    tmp_path: Path, memory: str, said: str, shown: list[str]
) -> None:
    vault = Vault(tmp_path, {"Memory.md": f"## Notes\n{memory}", "2026-11-20.md": f"- [extracted] {said} ^d-x\n"})
    (found,) = vault.review().waiting().proposals
    assert [each.text for each in found.conflicts] == shown
    assert [each.ref for each in found.choices] == [each.ref for each in found.conflicts]
    vault.review().decide(accept=[found.id])
    assert set(memory.splitlines()) <= set(vault["Memory.md"].splitlines())


def test_hundreds_of_candidates_are_handed_out_ten_at_a_time_without_comparing_all_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_memory.language import statements

    compared: list[int] = []
    real = statements.compare
    monkeypatch.setattr(statements, "compare", lambda old, new: compared.append(1) or real(old, new))
    lines = "".join(f"- 10:00 [extracted] box {n} holds item {n * 7} ^d-{n}\n" for n in range(500))
    memory = "## Notes\n" + "".join(f"- shelf {n} bears {n} pots\n" for n in range(300))
    vault = Vault(tmp_path, {"Memory.md": memory, "2026-11-20.md": f"## Log\n{lines}"})
    listed = vault.review().waiting()
    assert (len(listed.proposals), listed.total) == (10, 500)
    assert len(compared) < 500 * 10 + 1500  # ten against all others, each against the lines that share its words


@pytest.mark.parametrize(
    "memory",
    [
        "## Habits\n1. prefers coffee\n2. dentist on 15 Oct\n",
        "## Habits\n1) [ ] prefers coffee\n   - since May\n",
        "## Habits\n\nprefers coffee\nand little else\n",
    ],
)
def test_a_line_that_is_no_bullet_is_named_and_never_replaced(vault: Vault, memory: str) -> None:
    vault["Memory.md"] = memory.replace("coffee", "green tea")
    found = by_text(vault)["prefers tea"]
    assert (found.op, found.replaces) == ("append", "")
    assert "prefers green tea" in found.conflicts[0].text
    assert found.conflicts[0] not in found.choices


def test_what_stands_in_a_paragraph_word_for_word_needs_no_line(vault: Vault) -> None:
    vault["Memory.md"] = "## Habits\n\nprefers tea\n"
    assert "prefers tea" not in by_text(vault)
    vault["Memory.md"] = "```\nprefers tea\n```\n\n<!-- prefers tea -->\n"
    assert "prefers tea" in by_text(vault)
