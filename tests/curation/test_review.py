"""Deciding by ids: gates, binding, all or nothing, one at a time, undo."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from forked import program

from curation.reviewing import NOTES, Vault
from tars_memory.curation.proposals import day_of
from tars_memory.errors import BusyError, ConflictError, UsageError
from tars_memory.testing import ScriptedLLM
from tars_memory.vault import inbox

ANNA = "Anna moves to Cork in March 2027"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


def test_accepting_promotes_links_and_marks_and_undo_gives_the_bytes_back(vault: Vault) -> None:
    ids = vault.ids()
    before = vault.files()
    done = vault.review().decide(accept=[ids[ANNA]])
    (result,) = done.decided
    assert (result.decision, result.outcome, result.path) == ("accepted", "applied", "Memory.md")
    assert vault["Memory.md"].split("\n")[result.line - 1] == f"- {ANNA} ([[2026-11-20#^d-baaaaac|2026-11-20]])"
    assert f"[promoted] {ANNA} ^d-baaaaac" in vault["2026-11-20.md"]
    assert ANNA not in vault.ids()
    vault.memory().undo(done.txn)
    vault.memory().undo(last=1)  # what aged
    assert vault.files() == before


def test_every_form_of_a_decision_is_undone_to_the_byte(vault: Vault) -> None:
    vault["Memory.md"] = vault["Memory.md"].replace("\n", "\r\n").encode()[:-2]
    vault.review().decide(reject=[vault.ids()["prefers no tea"]])  # what aged is marked now
    for how in (
        {"accept": ["dentist on 16 Oct"]},
        {"accept": ["dentist on 16 Oct"], "replace": ["dentist on 15 Oct"]},
        {"accept": ["dentist on 16 Oct"], "replace": ["dentist on 15 Oct", "prefers coffee", "works as an engineer"]},
        {"accept": ["prefers tea", "dentist on 16 Oct"], "replace": ["Use metric units"]},
        {"accept": ["dentist on 16 Oct"], "both": ["dentist on 16 Oct"]},
        {"accept": ["prefers tea", ANNA, "Ask before deleting files"], "reject": ["dentist on 16 Oct"]},
    ):
        ids = vault.ids()
        before = vault.files()
        chosen = {ids["dentist on 16 Oct"]: [ref(vault, text) for text in how.pop("replace", [])]}
        done = vault.review().decide(
            **{key: [ids[text] for text in texts] for key, texts in how.items()}, replace=chosen
        )
        assert vault.files() != before
        assert not any(f"- {text}" in vault["Memory.md"] + vault["Procedural.md"] for text in how.get("replace", []))
        vault.memory().undo(done.txn)
        assert vault.files() == before


def ref(vault: Vault, text: str) -> str:
    return vault.memory().show(text).ref


def test_the_tags_of_a_replaced_line_stay(vault: Vault) -> None:
    vault["Memory.md"] = b"## Notes\n- dentist on 15 Oct #health\n"
    name = vault.ids()["dentist on 16 Oct"]
    vault.review().decide(accept=[name], replace={name: [ref(vault, "dentist on 15 Oct #health")]})
    assert "- dentist on 16 Oct #health ([[" in vault["Memory.md"] and "15 Oct" not in vault["Memory.md"]


def test_other_words_and_another_heading(vault: Vault) -> None:
    name = vault.ids()[ANNA]
    vault.review().decide(accept=[name], texts={name: "Anna is off\n- to [promoted] Cork ^x"}, sections={name: "Moves"})
    assert vault["Memory.md"].endswith(
        "## Moves\n- Anna is off - to \\[promoted] Cork \\^x ([[2026-11-20#^d-baaaaac|2026-11-20]])\n"
    )


def test_without_a_person_nothing_is_accepted_and_rejecting_is_allowed(vault: Vault) -> None:
    ids = vault.ids()
    before = vault.files()
    for text in (ANNA, "Ask before deleting files"):
        with pytest.raises(UsageError, match="person at a terminal"):
            vault.script().review().decide(accept=[ids[text]])
        with pytest.raises(UsageError, match="person at a terminal"):
            vault.script().review().decide(accept=[ids[text]], reject=[ids["prefers no tea"]])
    assert vault.files() == before
    vault.script().review().decide(reject=[ids[ANNA]])
    assert vault["Procedural.md"] == NOTES["Procedural.md"]
    assert f"[rejected] {ANNA}" in vault["2026-11-20.md"]


def test_the_persons_own_configuration_may_allow_it_for_facts_alone(vault: Vault) -> None:
    ids = vault.ids()
    folder = vault.base / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("[permissions]\nunattended_review = true\n")
    with pytest.raises(UsageError, match="is a rule"):
        vault.script().review().decide(accept=[ids["Ask before deleting files"]])
    assert vault["Procedural.md"] == NOTES["Procedural.md"]
    assert vault.script().review().decide(accept=[ids[ANNA]]).txn


@pytest.mark.parametrize("bad", ["", "zz", "ABCDEFGH", "../../x", "12345678 "])
def test_what_is_no_id_is_a_usage_error(vault: Vault, bad: str) -> None:
    before = vault.files()
    with pytest.raises(UsageError):
        vault.review().decide(reject=[bad])
    assert vault.files() == before


def test_all_or_none(vault: Vault) -> None:
    ids = vault.ids()
    before = vault.files()
    with pytest.raises(ConflictError, match="no proposal 0000aaaa"):
        vault.review().decide(accept=[ids[ANNA]], reject=[ids["prefers no tea"], "0000aaaa"])
    with pytest.raises(UsageError, match="both accepted and rejected"):
        vault.review().decide(accept=[ids[ANNA]], reject=[ids[ANNA]])
    assert vault.files() == before


def test_twice_is_once(vault: Vault) -> None:
    name = vault.ids()[ANNA]
    vault.review().decide(accept=[name, name])
    before = vault.files()
    with pytest.raises(ConflictError):
        vault.review().decide(accept=[name])
    assert vault.files() == before
    assert vault["Memory.md"].count(ANNA) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- dentist on 15 Oct", "- dentist on 15 Oct, 9 am"),
        ("- dentist on 15 Oct\n", ""),
    ],
)
def test_a_line_that_changed_since_is_refused_and_nothing_else_written(vault: Vault, old: str, new: str) -> None:
    ids, chosen = vault.ids(), ref(vault, "dentist on 15 Oct")
    vault["Memory.md"] = vault["Memory.md"].replace(old, new)
    before = vault.files()
    with pytest.raises(ConflictError):
        vault.review().decide(
            accept=[ids["dentist on 16 Oct"], ids[ANNA]], replace={ids["dentist on 16 Oct"]: [chosen]}
        )
    now = vault.files()
    assert {path: now[path] for path in ("Memory.md", "Procedural.md", "2026-11-20.md")} == {
        path: before[path] for path in ("Memory.md", "Procedural.md", "2026-11-20.md")
    }


def test_a_line_that_moved_is_found_again(vault: Vault) -> None:
    ids = vault.ids()
    lines = [line for line in vault["Memory.md"].split("\n") if line != "- dentist on 15 Oct"]
    vault["Memory.md"] = "\n".join([*lines, "## Health", "- dentist on 15 Oct", ""])
    name = ids["dentist on 16 Oct"]
    vault.review().decide(accept=[name], replace={name: [ref(vault, "dentist on 15 Oct")]})
    assert "## Health\n- dentist on 16 Oct ([[" in vault["Memory.md"]


def test_a_note_edited_while_it_is_decided_is_refused_with_nothing_written(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the lock: the daily line is gone, or the line to replace says something else."""
    from tars_memory.curation import review

    ids, chosen = vault.ids(), ref(vault, "dentist on 15 Oct")
    vault.review().decide(reject=[ids["prefers no tea"]])
    for path, old, new in (
        ("2026-11-20.md", ANNA, "Anna stays"),
        ("Memory.md", "dentist on 15 Oct", "dentist on 17 Oct"),
    ):
        kept = vault[path]
        real = review.commit

        def meanwhile(
            *args: Any, path: str = path, old: str = old, new: str = new, real: Any = real, **how: Any
        ) -> Any:
            vault[path] = vault[path].replace(old, new)
            return real(*args, **how)

        monkeypatch.setattr(review, "commit", meanwhile)
        name = ids["dentist on 16 Oct"]
        with pytest.raises(ConflictError):
            vault.review().decide(accept=[ids[ANNA], name, ids["Ask before deleting files"]], replace={name: [chosen]})
        monkeypatch.setattr(review, "commit", real)
        assert vault["Procedural.md"] == NOTES["Procedural.md"]
        assert ANNA not in vault["Memory.md"]
        vault[path] = kept


def test_only_one_review_decides_at_a_time(vault: Vault) -> None:
    """The second is another process: it ends at once with exit 5, and lists all the same."""
    env = {"TARS_MEMORY_HOME": str(vault.base / "home"), "TARS_NOW": "2026-11-21T15:00", "PATH": "/usr/bin:/bin"}
    call = program("--vault", str(vault.root), "review")
    name = vault.ids()[ANNA]
    with vault.review().alone():
        second = subprocess.run([*call, "--reject", name], env=env, capture_output=True, text=True, check=False)
        assert second.returncode == 5
        assert "another review is running: process" in second.stderr
        assert "spool" not in second.stderr
        assert subprocess.run([*call, "--list"], env=env, capture_output=True, check=False).returncode == 0
        with pytest.raises(BusyError), vault.review().alone():
            pass
    assert subprocess.run([*call, "--reject", name], env=env, check=False, capture_output=True).returncode == 0


def test_what_nobody_decides_ages_and_can_be_had_back(vault: Vault) -> None:
    vault.review().decide(reject=[vault.ids()["prefers no tea"]])
    assert vault["2026-10-20.md"] == "## Log\n- 10:00 [expired] an old thing ^d-caaaaaa\n"
    assert "An old thing" not in vault.ids()
    name = vault.ids(expired=True)["An old thing"]
    vault.review().decide(accept=[name])
    assert "[promoted] an old thing" in vault["2026-10-20.md"]
    assert "- An old thing ([[2026-10-20#^d-caaaaaa|2026-10-20]])" in vault["Memory.md"]


def test_a_candidate_that_is_being_decided_does_not_age_on_the_way(vault: Vault) -> None:
    name = vault.ids(expired=True)["An old thing"]
    vault.review().decide(reject=[name])
    assert "[rejected] an old thing" in vault["2026-10-20.md"]


def test_proposals_of_scripts_wait_in_the_same_list(vault: Vault) -> None:
    vault.script().remember("Never force-push", tier="procedural")
    vault.script().forget("Use metric units")
    listed = {each.text or each.replaces: each for each in vault.review().waiting(limit=0).proposals}
    assert {"Never force-push", "- Use metric units"} <= set(listed)
    assert vault["Procedural.md"] == NOTES["Procedural.md"]
    vault.review().decide(accept=[listed["Never force-push"].id], reject=[listed["- Use metric units"].id])
    assert "- Never force-push" in vault["Procedural.md"]
    assert "- Use metric units" in vault["Procedural.md"]
    assert not {"Never force-push", "- Use metric units"} & {
        each.text or each.replaces for each in vault.review().waiting(limit=0).proposals
    }
    vault.script().forget("Use metric units")  # it was rejected once
    assert "- Use metric units" not in {each.replaces for each in vault.review().waiting(limit=0).proposals}


def test_a_proposal_of_the_inbox_whose_line_is_gone_says_so_and_can_be_rejected(vault: Vault) -> None:
    vault.script().forget("Use metric units")
    vault["Procedural.md"] = "## Notes\n- Use metric units only\n"
    (found,) = [each for each in vault.review().waiting(limit=0).proposals if each.op == "remove"]
    assert "it can only be rejected: Procedural.md no longer has" in found.why
    with pytest.raises(ConflictError):
        vault.review().decide(accept=[found.id])
    vault.review().decide(reject=[found.id])
    assert vault["Procedural.md"] == "## Notes\n- Use metric units only\n"


def test_looking_makes_nothing_in_a_folder_that_is_no_vault_yet(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    vault = Vault(tmp_path)
    (vault.root / ".tars" / "vault-id").unlink()
    (vault.root / ".tars").rmdir()
    assert vault.memory().review(writes=False).waiting().proposals
    assert not (vault.root / ".tars").exists()


@pytest.mark.parametrize("how", ["both", "section", "text", "note"])
def test_a_kept_proposal_takes_every_form_of_yes(vault: Vault, how: str) -> None:
    vault.script().edit("Use metric units", "Use metric units and 24 h times")
    (found,) = [each for each in vault.review().waiting(limit=0).proposals if each.kept]
    assert found.op == "replace"
    if how == "both":
        vault.review().decide(accept=[found.id], both=[found.id])
        assert "- Use metric units\n" in vault["Procedural.md"]
    elif how == "section":
        vault.review().decide(accept=[found.id], both=[found.id], sections={found.id: "Units"})
        assert "## Units\n- Use metric units and 24 h times" in vault["Procedural.md"]
    elif how == "text":
        vault.review().decide(accept=[found.id], texts={found.id: "Use SI units"})
        assert vault["Procedural.md"] == "## Notes\n- Use SI units\n"
    else:
        vault.review().write_note()
        vault["Review.md"] = vault["Review.md"].replace("- [ ] Use metric units and 24 h times", "- [+] Use SI units")
        assert len(vault.script().review().from_note().decided) == 1
        assert "- Use metric units\n- Use SI units" in vault["Procedural.md"]
    assert not [each for each in vault.review().waiting(limit=0).proposals if each.kept]


def test_a_dry_run_writes_nothing(vault: Vault) -> None:
    ids = vault.ids()
    before = vault.files()
    memory = vault.memory(dry_run=True)
    assert memory.review().decide(accept=[ids[ANNA]], reject=[ids["prefers tea"]]).txn is None
    memory.review().write_note()
    assert vault.files() == before


# --- with a model


def answer(code: str, *ops: dict[str, Any]) -> str:
    import json

    full = {"candidates": [], "lines": [], "section": 0, "text": "", "why": ""}
    return json.dumps({"for": code, "ops": [{**full, **op} for op in ops]})


def test_a_models_ops_become_proposals_of_the_inbox_and_nothing_else(vault: Vault) -> None:
    from tars_memory.curation import suggestions

    review = vault.review()
    asked = suggestions.candidates_to_sort(review)
    number = {each.text: n for n, each in enumerate(asked.candidates, 1)}
    line = {each.text: n for n, each in enumerate(asked.lines, 1)}
    before = {path: data for path, data in vault.files().items() if not path.startswith(".tars")}
    model = ScriptedLLM(
        [
            answer(
                asked.dialogue.prompt.schema["properties"]["for"]["enum"][0],
                {"op": "append", "candidates": [number[ANNA]], "text": "Anna moves to Cork\n## x", "section": 2},
                {
                    "op": "rule",
                    "candidates": [
                        number["Correction: the distance was in miles"],
                        number["Ask before deleting files"],
                    ],
                    "text": "Give distances in kilometres",
                    "why": "you asked for it",
                },
                {"op": "replace", "candidates": [number["dentist on 16 Oct"]], "lines": [line["dentist on 15 Oct"]]},
                {"op": "skip", "candidates": [number["prefers tea"]]},
                {"op": "append", "candidates": [99], "text": "out of nowhere"},
                {"op": "append", "candidates": [number[ANNA]], "text": "a second time"},
            )
        ]
    )
    made = suggestions.suggest(review, asked, model)
    assert len(made.kept) == 3
    assert len(made.notices) == 2
    assert {path: data for path, data in vault.files().items() if not path.startswith(".tars")} == before
    listed = {each.text: each for each in vault.review().waiting(limit=0).proposals}
    assert "prefers tea" in listed
    assert ANNA not in listed
    anna = listed["Anna moves to Cork ## x"]
    assert (anna.target, anna.section, anna.op, anna.source) == (
        "Memory.md",
        "People",
        "append",
        "2026-11-20#^d-baaaaac",
    )
    rule = listed["Give distances in kilometres"]
    assert (rule.target, len(rule.marks), rule.why) == ("Procedural.md", 2, f"you asked for it; worded by {model.name}")
    dentist = listed["dentist on 16 Oct"]
    assert (dentist.op, dentist.choices[0].text) == ("append", "dentist on 15 Oct")
    done = vault.review().decide([anna.id, rule.id, dentist.id], replace={dentist.id: [dentist.choices[0].ref]})
    assert [each.outcome for each in done.decided] == ["applied"] * 3
    assert vault["corrections.md"].count("[promoted]") == 3  # two by the rule; one said what stands there
    assert "dentist on 15 Oct" not in vault["Memory.md"]
    assert not [path for path in vault.files() if path.startswith(".tars/inbox")]


def test_an_unusable_answer_writes_nothing(vault: Vault) -> None:
    from tars_memory.curation import suggestions
    from tars_memory.errors import ModelUnavailableError

    before = vault.files()
    review = vault.review()
    asked = suggestions.candidates_to_sort(review)
    for said in ("I'm sorry, I can't", answer("000000", {"op": "skip", "candidates": [1]}), "<html>"):
        with pytest.raises(ModelUnavailableError):
            suggestions.suggest(review, asked, ScriptedLLM([said, said]))
    assert vault.files() == before


@pytest.mark.parametrize("second", ["09:07", "09:06"], ids=["a minute later", "alike in every byte"])
@pytest.mark.parametrize(
    ("path", "line"),
    [("2026-11-20.md", "- {} [extracted] keeps bees"), ("corrections.md", "- 2026-11-20 {} keeps bees")],
    ids=["candidates", "feedback"],
)
def test_the_same_words_twice_are_accepted_once_and_no_two_lines_share_a_block_id(
    tmp_path: Path, path: str, line: str, second: str
) -> None:
    vault = Vault(tmp_path, {path: f"## Log\n{line.format('09:06')}\n{line.format(second)}\n", "Memory.md": ""})
    before = vault.files()
    (text,) = vault.ids()
    done = vault.review().decide(accept=[vault.ids()[text]])
    (result,) = done.decided
    assert vault[result.path].count(text) == 1
    marks = re.findall(r"\[promoted\] keeps bees \^(\S+)$", vault[path], re.MULTILINE)
    assert len(marks) == len(set(marks)) == 2
    assert f"#^{marks[0]}|" in vault[result.path]
    vault.memory().undo(done.txn)
    assert {name: data for name, data in vault.files().items() if name in before} == before


def test_a_block_id_of_another_line_is_not_given_again(tmp_path: Path) -> None:
    """The id is made of the words, and a hand may have put other words before it since."""
    vault = Vault(tmp_path, {"2026-11-20.md": "## Log\n- 09:06 [extracted] keeps bees\n", "Memory.md": ""})
    vault.review().decide(accept=[vault.ids()["keeps bees"]])
    reworded = vault["2026-11-20.md"].replace("keeps bees", "keeps many bees")
    vault["2026-11-20.md"] = reworded + "- 09:09 [extracted] keeps bees\n"
    vault["Memory.md"] = ""
    vault.review().decide(accept=[vault.ids()["keeps bees"]])
    marks = re.findall(r"\^(\S+)$", vault["2026-11-20.md"], re.MULTILINE)
    assert len(marks) == len(set(marks)) == 2


# --- what replaces what


@pytest.mark.parametrize(
    "choice",
    [
        {"replace": {"*": ["zzzzzzzz"]}},
        {"replace": {"*": ["dentist on 15 Oct"]}, "both": ["*"]},
        {"replace": {"-": ["dentist on 15 Oct"]}},
    ],
)
def test_a_choice_that_makes_no_sense_is_refused_and_nothing_is_written(vault: Vault, choice: dict[str, Any]) -> None:
    vault.script().edit("Use metric units", "Use SI units")
    waiting = {each.text: each for each in vault.review().waiting(limit=0).proposals}
    names = {"*": waiting["dentist on 16 Oct"].id, "-": waiting["Use SI units"].id}
    replace = {
        names[name]: [each if each == "zzzzzzzz" else ref(vault, each) for each in lines]
        for name, lines in choice["replace"].items()
    }
    before = vault.files()
    with pytest.raises((ConflictError, UsageError)):
        vault.review().decide(list(replace), replace=replace, both=[names[each] for each in choice.get("both", ())])
    assert vault.files() == before


def test_a_fact_that_a_line_replaces_ends_on_its_day(vault: Vault) -> None:
    vault["Facts.md"] = "# Facts\n\n## me\n- plans:: Anna moves to Cork in March [since:: 2026-10-01]\n"
    vault["Procedural.md"] = "## Notes\n- Use metric units\n- Give distances in miles\n"
    (found,) = [each for each in vault.review().waiting(limit=0).proposals if each.text == ANNA]
    fact = found.choices[0]
    assert (fact.path, fact.text, fact.date) == ("Facts.md", "plans Anna moves to Cork in March", "2026-10-01")
    done = vault.review().decide([found.id], replace={found.id: [fact.ref, ref(vault, "Give distances in miles")]})
    assert "March [since:: 2026-10-01] [until:: 2026-11-20]\n" in vault["Facts.md"]
    assert vault["Procedural.md"] == "## Notes\n- Use metric units\n"
    assert [step.text for step in vault.memory().why(done.decided[0].ref).chain if step.kind == "replaced"] == [
        "plans:: Anna moves to Cork in March [since:: 2026-10-01]",
        "Give distances in miles",
    ]


def test_a_rule_is_replaced_only_by_whoever_may_write_rules(vault: Vault) -> None:
    folder = vault.base / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("[permissions]\nunattended_review = true\n")
    name, rule = vault.ids()[ANNA], ref(vault, "Use metric units")
    with pytest.raises(UsageError, match="is a rule"):
        vault.script().review().decide([name], replace={name: [rule]})
    assert vault["Procedural.md"] == NOTES["Procedural.md"]


def pairs() -> list[tuple[str, str]]:
    """A thousand pairs of short statements of one form that are about different things."""
    things = ["aisle seats", "dark mode", "night trains", "oat milk", "tabs", "sqlite", "long walks", "rye bread"]
    things += ["window seats", "paper maps"]
    of_what = ["colour", "tea", "editor", "season", "city", "composer", "airline", "font", "bakery", "river"]
    forms = (
        "I prefer {0}",
        "my favourite {1} is {0}",
        "allergic to {0}",
        "we decided to use {0}",
        "I'm not keen on {0}",
        "lives near {0}",
        "user likes {0} best",
        "Ich mag {0}",
        "the {1} is no longer {0}",
        "I bought {0} for 20 euros",
        "from now on only {0}",
    )
    said = [form.format(a, of_what[n]) for form in forms for n, a in enumerate(things)]
    every = [(a, b) for a in said for b in said if a != b]
    return every[:: len(every) // 1000][:1000]


def test_a_plain_yes_to_any_of_a_thousand_pairs_of_short_statements_removes_nothing(tmp_path: Path) -> None:
    """What stands, and what is said: twenty of each in a vault, accepted by id or by a tick, alone or of one talk."""
    every = pairs()
    assert len(every) == 1000
    for number in range(0, 1000, 250):
        part = every[number : number + 250]
        held, said = ({pair[side]: None for pair in part} for side in (0, 1))
        lines = [f"- 10:00 [extracted] {text} ^d-{n}aaa\n" for n, text in enumerate(said)]
        notes = {
            "Memory.md": "## Notes\n" + "".join(f"- {text}\n" for text in held),
            "2026-11-20.md": "## Log\n" + "".join(lines),
        }
        if number >= 500:
            told = "".join(f"- {text} ([[2026-11-20#^d-{n}aaa|2026-11-20]])\n" for n, text in enumerate(said))
            notes["sessions/2026-11-20 1000 talk.md"] = f"## Facts\n{told}"
        vault = Vault(tmp_path / str(number), notes)
        assert any(each.parts for each in vault.review().waiting(limit=0).proposals) == (number >= 500)
        if number % 500:
            vault.review().write_note(limit=0)
            vault["Review.md"] = re.sub(r"(?m)^- \[ \]", "- [x]", vault["Review.md"])
            done = vault.script().review().from_note()
        else:
            done = vault.review().decide([each.id for each in vault.review().waiting(limit=0).proposals])
        assert done.decided and done.left == 0
        stands = vault["Memory.md"].split("\n")
        assert not [text for text in held if f"- {text}" not in stands]


@pytest.mark.parametrize(
    ("refused", "again", "collapsed"),
    [
        ("I prefer aisle seats", "I like aisle seats best", True),
        ("I prefer aisle seats", "aisle seats are what I prefer", True),
        ("I prefer aisle seats", "I prefer window seats", False),
        ("I prefer aisle seats", "I don't like aisle seats", False),
        ("I like tea", "I like green tea", False),
        ("the rent is 1,200 euros", "the rent is 1,300 euros", False),
    ],
)
def test_what_was_refused_is_not_asked_again_in_other_words(
    tmp_path: Path, refused: str, again: str, collapsed: bool
) -> None:
    vault = Vault(tmp_path, {"Memory.md": "## Notes\n", "2026-11-19.md": f"- 10:00 [extracted] {refused} ^d-one\n"})
    vault.review().decide(reject=list(vault.ids().values()))
    vault["2026-11-20.md"] = f"- 10:00 [extracted] {again} ^d-two\n"
    listed = vault.review().waiting()
    assert (len(listed.proposals), listed.refused_before) == (not collapsed, collapsed)
    assert any("you rejected 1 more" in each for each in listed.notices) == collapsed
    (found,) = vault.review().waiting(expired=True).proposals
    assert found.asked_before.casefold() == (refused.casefold() if collapsed else "")
    vault.review().decide([found.id])
    assert f"- {found.text} (" in vault["Memory.md"]


def test_a_day_that_shares_its_name_with_others_is_linked_by_its_path(tmp_path: Path) -> None:
    said = "## Log\n- 14:30 [extracted] prefers green tea ^d-aaaaaaa\n"
    notes = {"Diario/2026/novembre/20.md": said, "Diario/2025/novembre/20.md": "## Log\n- 10:00 rain\n"}
    form = '{"folder": "Diario", "format": "YYYY/MMMM/DD"}'
    vault = Vault(tmp_path, {**notes, ".obsidian/daily-notes.json": form, "Memory.md": "## Notes\n"})
    vault.review().decide(accept=list(vault.ids().values()))
    assert "- prefers green tea ([[Diario/2026/novembre/20#^d-aaaaaaa|2026-11-20]])\n" in vault["Memory.md"]
    (entry,) = vault.memory().list("semantic")
    assert day_of(entry, lambda _: "") == "2026-11-20"
    assert [step.path for step in vault.memory().why(entry.ref).chain if step[0] == "candidate"] == [*notes][:1]
    assert vault.memory().tidy().findings == []


SENIOR = "Works as a senior engineer"
CHANGED = {
    "to:: Memory.md › Work": {
        "to:: Procedural.md": ("Procedural.md", "- Use metric units\n- Works as a senior"),
        "to:: Memory.md › people": ("Memory.md", "3 May #people\n- Works as a senior"),
        "to::  Memory.md ›  Jobs ": ("Memory.md", "## Jobs\n- Works as a senior"),
        "to:: Memory.md › Work\n  - to:: Memory.md › People": ("", "more than one to::"),
        "to:: Facts.md": ("", "can't go where its to:: says"),
        "to:: ../Memory.md › Work": ("", "can't go where its to:: says"),
    },
    "said:: ([[": {"said:: on Monday ([[": ("Review.md", "- said:: on Monday ([[")},
    "replace: works": {"replace: no longer works": ("Review.md", "replace: no longer works as an engineer")},
}


@pytest.mark.parametrize(
    ("old", "new", "path", "found"),
    [(old, new, *result) for old, changes in CHANGED.items() for new, result in changes.items()],
)
def test_what_the_person_changes_in_the_note_is_done_or_waits_or_stays(
    vault: Vault, old: str, new: str, path: str, found: str
) -> None:
    vault.review().write_note()
    before, own, after = vault["Review.md"].partition(f"- [ ] {SENIOR}")
    vault["Review.md"] = changed = before + own.replace("[ ]", "[x]") + after.replace(old, new, 1)
    done = vault.review().from_note()
    assert len(done.decided) == bool(path)
    if path:
        assert found in vault[path]
        assert SENIOR not in vault["Review.md"]
        assert vault["Review.md"].count("- to::") == changed.count("- to::") - 1
    else:
        assert [found in notice for notice in done.notices] == [True]
        assert vault["Review.md"] == changed


def test_a_line_that_replaces_another_goes_to_no_other_place(vault: Vault) -> None:
    vault.review().write_note()
    before, own, after = vault["Review.md"].partition(f"- [ ] {SENIOR}")
    after = after.replace("[ ] replace: works", "[x] replace: works", 1).replace(
        "Memory.md › Work", "Memory.md › Jobs", 1
    )
    vault["Review.md"] = changed = before + own.replace("[ ]", "[x]") + after
    done = vault.review().from_note()
    assert ["goes where the line" in notice for notice in done.notices] == [True]
    assert vault["Review.md"] == changed


def test_other_words_for_a_removal_wait(vault: Vault) -> None:
    said = dict.fromkeys(inbox.FIELDS, "") | {"op": "remove", "target": "Memory.md", "replaces": "- prefers coffee"}
    with vault.review().ctx.store.transaction("remember") as transaction:
        inbox.keep(transaction, {**said, "conflicts": [], "date": "2026-11-20"})
    vault.review().write_note()
    vault["Review.md"] = vault["Review.md"].replace("- [ ] Remove: prefers coffee", "- [x] prefers green tea")
    notices = vault.review().from_note().notices
    assert ["is not a line to reword" in notice for notice in notices] == [True]
    assert "- [x] prefers green tea ^r-" in vault["Review.md"]


def test_words_that_the_person_did_not_tick_stay_when_the_proposal_goes(vault: Vault) -> None:
    vault.review().write_note()
    vault["Review.md"] = vault["Review.md"].replace(f"[ ] {SENIOR}", "[ ] Leads the team")
    vault.review().decide(reject=[vault.ids()[SENIOR]])
    assert "- [ ] Leads the team\n" in vault["Review.md"]
