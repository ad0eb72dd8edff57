"""tidy: looking changes nothing, mending loses nothing, the rest waits for a person, ignored is quiet."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import random_documents

from curation.tidykit import Desk
from tars_memory.curation.review import Review
from tars_memory.curation.tidying.tidy import MOST, Finding, Tidied, find_all, tidy
from tars_memory.errors import NotFoundError
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.vault import Vault


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def found(desk: Desk) -> list[Finding]:
    return find_all(desk.ctx())


def run(desk: Desk, actor: Any = "person", *, dry_run: bool = False, **more: Any) -> Tidied:
    return tidy(desk.ctx(actor, dry_run=dry_run), **more)


def test_looking_writes_nothing(desk: Desk) -> None:
    desk.put("Memory.md", "## Notes\n- tea\n- tea\n-\n")
    before = desk.files()
    assert [each.kind for each in run(desk).findings] == ["duplicate", "empty"]
    assert desk.files() == before and not desk.state.exists()


def test_mending_leaves_one_line_and_is_taken_back(desk: Desk) -> None:
    desk.put("Memory.md", b"\xef\xbb\xbf# M\r\n\r\n## Notes\r\n- tea #x\r\n- cake  \r\n-\r\n* tea #x ^m-1\r\n\r\nend")
    desk.put("Other.md", "- tea #x\n- tea #x\n-\n")
    before = desk.files()
    done = run(desk, apply=True)
    assert [(each.finding.kind, each.outcome) for each in done.applied] == [
        ("duplicate", "removed"),
        ("empty", "removed"),
    ]
    assert desk.files()["Memory.md"] == b"\xef\xbb\xbf# M\r\n\r\n## Notes\r\n- cake  \r\n* tea #x ^m-1\r\n\r\nend"
    assert desk.files()["Other.md"] == before["Other.md"]
    assert found(desk) == []
    assert run(desk, apply=True).txn is None
    desk.store().undo(done.txn)
    assert desk.files() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- [ ]\n- tea\n- [ ]\n", "- tea\n"),
        ("- cake\n-\ntext\n", "- cake\n\ntext\n"),  # the text would become the cake's
    ],
)
def test_nothing_around_an_empty_bullet_is_read_otherwise_without_it(desk: Desk, before: str, after: str) -> None:
    desk.put("Memory.md", before)
    assert {each.outcome for each in run(desk, apply=True).applied} == {"removed"}
    assert desk.get("Memory.md") == after
    assert found(desk) == []


def test_the_line_that_is_linked_to_stays(desk: Desk) -> None:
    desk.put("Memory.md", "## Notes\n- tea\n- tea ^m-1\n- tea ^m-2\n")
    desk.put("Plan.md", "see [[Memory#^m-2]]\n")
    run(desk, apply=True)
    assert desk.get("Memory.md") == "## Notes\n- tea ^m-2\n"


def test_a_line_whose_provenance_links_to_a_daily_line_keeps_it(desk: Desk) -> None:
    desk.put("2026-11-20.md", "## Log\n- 10:00 [promoted] tea ^d-1\n- 10:00 [promoted] tea ^d-2\n")
    desk.put("Memory.md", "## Notes\n- tea ([[2026-11-20#^d-2|2026-11-20]])\n")
    run(desk, apply=True)
    assert desk.get("2026-11-20.md") == "## Log\n- 10:00 [promoted] tea ^d-2\n"


def test_one_run_removes_so_many_lines_and_says_that_there_are_more(desk: Desk) -> None:
    desk.put("Memory.md", "## Notes\n" + "".join(f"- line {n}\n" * 2 for n in range(MOST + 7)))
    done = run(desk, apply=True)
    assert [each.outcome for each in done.applied].count("removed") == MOST
    assert [each.outcome for each in done.applied].count("left") == len(done.findings) == 7 + 1  # oversized
    assert any("run it again" in notice for notice in done.notices)
    run(desk, apply=True)
    assert desk.get("Memory.md") == "## Notes\n" + "".join(f"- line {n}\n" for n in range(MOST + 7))


def test_a_project_keeps_its_own(desk: Desk) -> None:
    desk.put("projects/boat/Memory.md", "- secret of the boat\n- secret of the boat\n")
    run(desk, apply=True)
    assert desk.get("projects/boat/Memory.md").count("secret") == 2, "outside it is not seen"
    desk.scope = "boat"
    run(desk, apply=True)
    assert desk.get("projects/boat/Memory.md") == "- secret of the boat\n"


def test_the_rest_waits_for_review_and_is_quiet_meanwhile(desk: Desk) -> None:
    desk.put("Memory.md", "## Notes\n- the wifi password is on the fridge\n- wifi password is on the fridge\n- TODO\n")
    before = desk.get("Memory.md")
    done = run(desk, apply=True)
    assert [each.outcome for each in done.applied] == ["proposed", "proposed"]
    assert desk.get("Memory.md") == before
    waiting = inbox.pending(Vault(desk.root))
    assert sorted((each["op"], each["target"], each["replaces"]) for each in waiting) == [
        ("remove", "Memory.md", "- TODO"),
        ("remove", "Memory.md", "- wifi password is on the fridge"),
    ]
    assert all(each["source"] == "tidy" and each["why"] for each in waiting)
    assert found(desk) == []
    desk.store().undo(done.txn)
    assert len(found(desk)) == 2


def test_a_proposal_can_be_accepted_and_names_the_very_line(desk: Desk) -> None:
    from tars_memory.curation.commit import commit
    from tars_memory.curation.gather import gather
    from tars_memory.curation.proposals import Decision

    text = "## A\n- the key is under the pot\n## B\n- the key is under the pot\n- other\n"
    desk.put("Memory.md", text)
    run(desk, apply=True)
    proposals = [each for each in gather(desk.ctx()).proposals if each.source == "tidy"]
    assert len(proposals) == 1
    commit(desk.ctx(), [Decision(proposals[0], accept=True)])
    assert desk.get("Memory.md") == "## A\n- the key is under the pot\n## B\n- other\n"
    assert found(desk) == []


@pytest.mark.parametrize("actor", ["cron", "agent", "script", "model"])
def test_a_rule_takes_a_person(desk: Desk, actor: str) -> None:
    desk.put("Procedural.md", "## Notes\n- be kind\n- be kind\n-\n- TODO\n")
    desk.put("projects/a/Procedural.md", "- be kind\n- be kind\n")
    before = desk.files()
    done = run(desk, actor, apply=True)
    assert sorted(each.outcome for each in done.applied) == ["left", "proposed", "proposed"]
    desk.scope = "a"
    assert [each.outcome for each in run(desk, actor, apply=True).applied] == ["proposed"]
    desk.scope = ""
    after = desk.files()
    assert {path: data for path, data in after.items() if not path.startswith(".tars/")} == before
    assert [each.kind for each in found(desk)] == ["empty"]
    desk.put(".tars/inbox/none", "")
    run(desk, "person", apply=True)
    assert desk.get("Procedural.md") == "## Notes\n- be kind\n- be kind\n- TODO\n"


def test_a_person_tidies_rules(desk: Desk) -> None:
    desk.put("Procedural.md", "## Notes\n- be kind\n- be kind\n-\n")
    run(desk, apply=True)
    assert desk.get("Procedural.md") == "## Notes\n- be kind\n"


def test_ignored_is_quiet_until_its_words_change(desk: Desk) -> None:
    desk.put("Memory.md", "## Notes\n- see [[Gone]]\n- tea\n- tea\n")
    link, repeat = found(desk)
    done = run(desk, ids=[link.id.upper()], ignore=True)
    assert (done.ignored, [each.id for each in done.findings]) == ([link.id], [repeat.id])
    assert desk.get("Memory.md") == "## Notes\n- see [[Gone]]\n- tea\n- tea\n"
    assert [each.id for each in found(desk)] == [repeat.id]
    desk.put("Memory.md", "# M\n\n## Notes\n- new\n- see [[Gone]]\n- tea\n- tea\n")
    assert [each.id for each in found(desk)] == [repeat.id]
    desk.put("Memory.md", "## Notes\n- do see [[Gone]]\n- tea\n- tea\n")
    assert [each.kind for each in found(desk)] == ["dead-link", "duplicate"]
    desk.store().undo(done.txn)
    desk.put("Memory.md", "## Notes\n- see [[Gone]]\n- tea\n- tea\n")
    assert len(found(desk)) == 2


def test_only_the_named_ones_and_unknown_names_are_said(desk: Desk) -> None:
    desk.put("Memory.md", "- tea\n- tea\n- cake\n- cake\n")
    tea, cake = found(desk)
    assert [each.id for each in run(desk, ids=[cake.id]).findings] == [cake.id]
    done = run(desk, ids=[cake.id], apply=True)
    assert desk.get("Memory.md") == "- tea\n- tea\n- cake\n"
    assert [each.id for each in done.findings] == [tea.id]
    for gone in (cake.id, "zzzzzzzz"):
        with pytest.raises(NotFoundError):
            run(desk, ids=[gone], apply=True)


def test_what_has_no_change_to_offer_is_left(desk: Desk) -> None:
    desk.put("Memory.md", "- see [[Gone]]\n")
    done = run(desk, apply=True)
    assert [each.outcome for each in done.applied] == ["left"]
    assert (done.txn, len(done.findings)) == (None, 1)


def test_a_dry_run_tells_and_writes_nothing(desk: Desk) -> None:
    desk.put("Memory.md", "- tea\n- tea\n- TODO\n")
    before = desk.files()
    done = run(desk, apply=True, dry_run=True)
    assert [each.outcome for each in done.applied] == ["removed", "proposed"]
    assert desk.files() == before and not desk.state.exists() and done.txn is None


def test_a_note_that_cannot_be_read_is_said(desk: Desk) -> None:
    desk.put("Memory.md", "- tea\n- tea\n")
    ctx = desk.ctx()
    ctx.vault.limits = type(ctx.vault.limits)(max_note_bytes=3)
    assert find_all(ctx) == []
    assert any("Memory.md" in notice for notice in ctx.notices)


def test_any_note_is_mended_by_whole_lines_and_comes_back(tmp_path: Path) -> None:
    random = Random(5)
    mended = 0
    for number in range(150):
        desk = Desk(tmp_path / str(number))
        data = random_documents.document(random) + random.choice([b"", b"\n- same\n- same\n-\n", b"\r\n* a\r\n* a"])
        desk.put("Memory.md", data)
        before = desk.files()
        done = run(desk, apply=True)
        gone = [each.finding for each in done.applied if each.outcome == "removed"]
        after = desk.files()["Memory.md"]
        if not gone:
            assert after == data
        else:
            mended += 1
            had = [(e.text, e.section) for e in entries.read("", Document(data))]
            has = [(e.text, e.section) for e in entries.read("", Document(after))]
            for each in gone:
                if each.entry is not None:
                    had.remove((each.entry.text, each.entry.section))
            assert sorted(had) == sorted(has)
            assert len(after) < len(data)
        if done.txn:
            desk.store().undo(done.txn)
        assert desk.files() == before
        assert set(has if gone else []) <= set(had if gone else [])
    assert mended > 30


def test_opposites_wait_as_a_question_and_go_only_if_they_are_chosen(desk: Desk) -> None:
    """Both lines with their days; all may stand, and then it is not asked again."""
    desk.put(
        "Memory.md",
        "## Notes\n- I am allergic to nuts ([[2026-10-02#^d-old|2026-10-02]])\n- I'm not allergic to nuts\n",
    )
    desk.put(
        "Facts.md", "# Facts\n\n## me\n- lives in:: Cork [since:: 2024-01-02]\n- lives in:: Oslo [since:: 2026-01-02]\n"
    )
    before = desk.files()
    done = tidy(desk.ctx("cron"), apply=True)
    asked_ = [each.outcome for each in done.applied if each.finding.kind == "contradiction"]
    assert asked_ == ["proposed", "proposed"]
    assert {path: data for path, data in desk.files().items() if path in before} == before
    asked = {each.target: each for each in Review(desk.ctx()).waiting().proposals}
    assert [str(line) for line in asked["Memory.md"].choices] == [
        "I am allergic to nuts (2026-10-02)",
        "I'm not allergic to nuts",
    ]
    home, oslo = asked["Facts.md"], asked["Facts.md"].choices[1]
    review = Review(desk.ctx())
    review.decide([asked["Memory.md"].id])
    assert desk.get("Memory.md").encode() == before["Memory.md"]
    review.decide([home.id], replace={home.id: [home.choices[0].ref]})
    assert "- lives in:: Cork [since:: 2024-01-02] [until:: 2026-01-02]\n- lives in:: Oslo" in desk.get("Facts.md")
    assert oslo.text == "lives in Oslo"
    assert [each.kind for each in find_all(desk.ctx()) if each.op] == []
