"""What a review tells instead of passing it over: boxes of themes, lost marks, hopeless proposals, cut batches."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from curation.deciding import Desk, accept
from curation.reviewing import Vault
from tars_memory.curation import review_note
from tars_memory.curation.commit import commit
from tars_memory.errors import UsageError
from tars_memory.vault import inbox


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path)


def tick(vault: Vault, text: str, box: str) -> str:
    """Tick a proposal in Review.md; its id."""
    name = vault.ids()[text]
    lines = vault["Review.md"].split("\n")
    at = next(number for number, line in enumerate(lines) if f"^r-{name}" in line)
    lines[at] = lines[at].replace("[ ]", f"[{box}]", 1)
    vault["Review.md"] = "\n".join(lines)
    return name


@pytest.mark.parametrize("box", ["✓", "/", ">", "?", "!", "–", "х", "✔️", "1", "*", "Ⅹ", "✅"])
def test_a_mark_of_a_theme_decides_nothing_and_is_told(vault: Vault, box: str) -> None:
    vault.review().write_note()
    tick(vault, "dentist on 16 Oct", box)
    other = tick(vault, "Anna moves to Cork in March 2027", "x")
    before = vault["Memory.md"]
    done = vault.review().from_note()
    assert [each.proposal.id for each in done.decided] == [other]
    (told,) = [each for each in done.notices if "has no meaning" in each]
    assert told.startswith("Review.md:")
    assert f"left for later: [{box}] has no meaning here: [x] accepts, [-] rejects" in told
    assert done.left == 1
    assert "dentist on 16 Oct" not in vault["Memory.md"]
    assert before != vault["Memory.md"]
    assert f"[{box}] dentist on 16 Oct" in vault["Review.md"]


def test_the_same_proposal_decided_in_a_copy_counts(vault: Vault) -> None:
    vault.review().write_note()
    whole = vault["Review.md"]
    name = tick(vault, "dentist on 16 Oct", "x")
    vault["Review (conflicted copy 2026-11-21).md"] = vault["Review.md"]
    vault["Review.md"] = whole
    tick(vault, "dentist on 16 Oct", "/")
    done = vault.review().from_note()
    assert ([each.proposal.id for each in done.decided], done.left) == ([name], 0)


def test_other_marks_wake_no_other_command(vault: Vault) -> None:
    vault.review().write_note()
    tick(vault, "dentist on 16 Oct", "/")
    assert not review_note.ticked(vault["Review.md"].encode())
    assert vault.memory().log("met Anna").notices == []


@pytest.mark.parametrize("box", ["x", "-"])
def test_a_ticked_line_whose_mark_is_gone_is_told(vault: Vault, box: str) -> None:
    vault.review().write_note()
    name = tick(vault, "dentist on 16 Oct", box)
    vault["Review.md"] = vault["Review.md"].replace(f" ^r-{name}", "")
    done = vault.review().from_note()
    assert (done.decided, done.left) == ([], 1)
    assert "left for later: its mark (^r-…) is gone" in done.notices[0]


def test_what_is_left_in_the_note_is_told_where_it_is_asked_for_alone(vault: Vault) -> None:
    vault.review().write_note()
    name = tick(vault, "dentist on 16 Oct", "x")
    tick(vault, "Anna moves to Cork in March 2027", "x")
    vault["Review.md"] = vault["Review.md"].replace(f" ^r-{name}", "")
    assert not any("left for later" in notice for notice in vault.memory().log("met Anna").notices)
    assert not any("left for later" in notice for notice in vault.memory().remember("Ben paints").notices)
    assert any("left for later" in notice for notice in vault.memory().status()["notices"])
    assert any("left for later" in notice for notice in vault.review().waiting().notices)
    assert any("left for later" in notice for notice in vault.review().from_note().notices)


def test_a_task_of_the_person_is_none(vault: Vault) -> None:
    vault.review().write_note()
    vault["Review.md"] += "\n## Mine\n- [x] buy milk\n  - oat\n- [x] to:: nobody\n"
    assert vault.review().from_note().notices == []


def keep(vault: Vault, **said: str) -> str:
    """A proposal in the inbox, as a script or a sync leaves it."""
    proposal = {
        **dict.fromkeys(inbox.FIELDS, ""),
        "op": "append", "target": "Memory.md", "section": "Notes", "text": "from afar", "source": "script",
        "date": "2026-11-20", "why": "a script asks", "conflicts": [], **said,
    }  # fmt: skip
    proposal["id"] = name = inbox.proposal_id(
        str(proposal["op"]), str(proposal["target"]), str(proposal["section"]), str(proposal["text"])
    )
    folder = vault.root / ".tars" / "inbox"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(proposal), "utf-8")
    return name


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"target": "diary.md"}, "it can only be rejected: it would change diary.md, which only you may change"),
        ({"op": "rename"}, "it can only be rejected: 'rename' is an unknown kind of proposal"),
        (
            {"op": "fact", "text": "lives in:: Cork"},
            "it can only be rejected: a proposal in the inbox can't add a fact",
        ),
    ],
)
def test_what_can_only_be_rejected_says_so_when_it_is_listed(vault: Vault, said: dict[str, str], why: str) -> None:
    name = keep(vault, **said)
    (listed,) = [each for each in vault.review().waiting(limit=0).proposals if each.id == name]
    assert listed.why.startswith(f"a script asks; {why}")
    with pytest.raises(UsageError, match="can't be accepted"):
        vault.review().decide(accept=[name])
    assert [each.decision for each in vault.review().decide(reject=[name]).decided] == ["rejected"]


def test_what_came_from_the_same_line_is_said_to_add_nothing(vault: Vault) -> None:
    name = keep(vault, text="works as an engineer, it seems", source="2026-10-02#^d-old")
    (listed,) = [each for each in vault.review().waiting(limit=0).proposals if each.id == name]
    assert "accepting it adds nothing" in listed.why
    before = vault["Memory.md"]
    (done,) = vault.review().decide(accept=[name]).decided
    assert (done.outcome, "came from the same line" in done.reason) == ("no-op", True)
    assert vault["Memory.md"] == before


@pytest.mark.parametrize(
    ("allowed", "named"),
    [
        ((), "unattended_review and unattended_rules under [permissions] together allow it"),
        (("unattended_review",), "terminal; unattended_rules under [permissions] allows"),
        (("unattended_rules",), "terminal; unattended_review under [permissions] allows"),
    ],
)
def test_a_refused_rule_names_every_permission_that_it_takes(
    tmp_path: Path, allowed: tuple[str, ...], named: str
) -> None:
    desk = Desk(tmp_path).fill()
    with pytest.raises(UsageError) as refused:
        commit(desk.ctx("script", interactive=False, **dict.fromkeys(allowed, True)), accept(desk.rule()))
    assert named in str(refused.value.hint)


def test_a_batch_that_was_cut_off_is_told_and_taken_back(tmp_path: Path) -> None:
    """Killed between its notes, it leaves candidates that look decided: a list may not say that nothing waits."""
    vault = Vault(
        tmp_path, {"Memory.md": "## Notes\n- x\n", "2026-11-20.md": "## Log\n- 10:00 [extracted] owns a boat ^d-a\n"}
    )
    program = """
import os, sys, signal
sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from curation.deciding import Desk, accept
from curation.reviewing import Vault
from tars_memory.curation.commit import commit
from tars_memory.vault import inbox
inbox.decide = lambda *args, **how: os.kill(os.getpid(), signal.SIGKILL)
vault = Vault(Path(sys.argv[3]), {})
vault.review().decide(accept=list(vault.ids().values()))
"""
    here = Path(__file__).parents[1]
    (name,) = vault.ids().values()
    killed = subprocess.run([sys.executable, "-c", program, str(here.parent), str(here), str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert "[promoted]" in vault["2026-11-20.md"]
    listed = vault.review().waiting()
    assert (listed.proposals, listed.unsettled) == ([], True)
    assert "was not finished and will be undone; until the next command that writes" in listed.notices[-1]
    done = vault.review().decide(accept=[name])  # it is settled first, so the proposal is there
    assert [each.outcome for each in done.decided] == ["applied"]
    assert vault["Memory.md"].count("owns a boat") == 1
    assert not vault.review().waiting().unsettled
