"""Decisions at random over notes at random, several processes at once, an editor in between."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from random_documents import document, scale, seeded

from curation.committer import batch
from curation.deciding import DAILY, DAY, MEMORY, Desk, accept
from tars_memory.curation import commit as committing
from tars_memory.curation.commit import commit
from tars_memory.curation.proposals import Decision, Mark, Proposal
from tars_memory.errors import ConflictError, UnwritableError, UsageError
from tars_memory.vault import inbox
from tars_memory.vault.markdown import edits, entries as grammar
from tars_memory.vault.markdown.document import Document, apply

TEXTS = ["likes tea", "Anna lives in Cork", "- dash", "# hash", "x ^id", "é 😀", "[promoted] y", "%% z", "a\nb"]


def with_candidates(chance: random.Random, data: bytes) -> bytes:
    """A daily note at random, with a few candidates where there is a place for them."""
    for number in range(chance.randint(1, 3)):
        text = grammar.neutralise(chance.choice(TEXTS))
        line = grammar.render(grammar.Parts(text, time="09:00", state="extracted", block_id=f"d-c{number}"))
        try:
            data = apply(data, edits.insert_bullet(data, line, section="Log"))
        except ConflictError:
            continue
    return data


def decisions_at_random(chance: random.Random, desk: Desk) -> list[Decision]:
    daily = Document((desk.root / DAY).read_bytes())
    memory = grammar.read("Memory.md", Document((desk.root / "Memory.md").read_bytes()))
    found = []
    for entry in grammar.read(DAY, daily, timed=True):
        if entry.state is None and chance.random() < 0.7:
            continue
        old = chance.choice(memory).raw if memory and chance.random() < 0.5 else ""
        op = chance.choice(["replace", "remove"]) if old else "append"
        section = chance.choice(["Notes", "Log", "New", "T"])
        source = f"{DAY[:-3]}#^{entry.block_id}" if entry.block_id else "agent"
        mark = Mark(DAY, entry.raw, entry.block_id or "")
        name = inbox.proposal_id(op, "Memory.md", section, entry.text, old)
        proposal = Proposal(
            name, op, "Memory.md", section, entry.text, "", source, DAY[:-3], "", replaces=old, marks=(mark,)
        )
        text = chance.choice([None, None, "other words", " "])
        found.append(Decision(proposal, chance.random() < 0.7, text))
    return found


def check(chance: random.Random, base: Path) -> str:
    desk = Desk(base)
    desk.put("Memory.md", document(chance))
    desk.put(DAY, with_candidates(chance, document(chance)))
    decisions = decisions_at_random(chance, desk)
    before = desk.all()
    failed = None
    try:
        done = commit(desk.ctx(), decisions)
    except (ConflictError, UnwritableError, UsageError) as error:  # unwritable: other than ASCII into Latin-1
        failed = type(error).__name__
    after = desk.all()
    if failed:
        assert after == before
        return failed
    assert [outcome.proposal for outcome in done.decided] == [decision.proposal for decision in decisions]
    if done.txn is None:
        assert after == before
        return "nothing"
    now = {entry.block_id: entry for entry in grammar.read(DAY, Document(after[DAY]), timed=True) if entry.block_id}
    for decision in decisions:
        block = decision.proposal.marks[0].block_id
        if block.startswith("d-c"):
            assert now[block].state == ("promoted" if decision.accept else "rejected")
    desk.ctx().store.undo(done.txn)
    assert desk.all() == before
    return "committed"


def check_many(count: int, seed: int, base: Path) -> Counter[str]:
    chance = seeded(seed)
    told: Counter[str] = Counter()
    for number in range(count):
        told[check(chance, base / str(number))] += 1
    return told


def test_decisions_at_random(tmp_path: Path) -> None:
    told = check_many(120, 20261121, tmp_path)
    assert told["committed"] > 20, told
    assert told["ConflictError"] > 5, told


@pytest.mark.prove
def test_very_many_decisions_at_random(tmp_path: Path) -> None:
    told = check_many(scale(3_000), 7, tmp_path)
    assert told["committed"] > scale(3_000) // 6, told


def test_several_processes_decide_at_once(tmp_path: Path) -> None:
    """The same batch from four processes: it is carried out once, and nobody writes half of it."""
    desk = Desk(tmp_path).fill().fill_facts()
    desk.kept()
    decided = tmp_path / "decisions"
    decided.write_bytes(pickle.dumps(batch(desk)))
    program = str(Path(__file__).with_name("committer.py"))
    writer = (sys.executable, "-sP", program, str(desk.root), str(desk.state), "commit", str(decided))
    runs = [subprocess.Popen(writer, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    said = [run.communicate()[1] for run in runs]
    codes = [run.returncode for run in runs]
    assert 0 in codes, said
    for code, words in zip(codes, said, strict=True):
        # Those that came later find the proposal of the inbox gone, or waited too long.
        assert code == 0 or "decided in the meantime" in words or "BusyError" in words, words
    assert desk.get("Memory.md").count("Anna lives in Cork") == 1
    assert desk.get("Memory.md").count("likes hiking") == 1
    assert desk.get("Memory.md").count("from the inbox") == 1
    assert desk.get("Facts.md").count("works at:: Acme") == desk.get("Facts.md").count("[until:: ") == 1
    assert desk.get(DAY).count("replaced::") == 1
    assert [entry.state for entry in grammar.read(DAY, Document((desk.root / DAY).read_bytes()), timed=True)] == [
        None,
        "promoted",
        None,
        "promoted",
        "rejected",
        "promoted",
    ]


def test_an_editor_that_saves_between_the_look_and_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What he saves elsewhere in the notes stays; where he rewords the very line, nothing at all is written."""
    plan = committing._Batch.plan
    for reworded in (False, True):
        desk = Desk(tmp_path / str(reworded)).fill()
        decisions = accept(desk.promote("lives in Cork", replaces="lives in Berlin"), desk.promote("likes hiking"))

        def saved(batch: committing._Batch, desk: Desk = desk, reworded: bool = reworded) -> None:
            plan(batch)
            desk.put("Memory.md", MEMORY.replace("# Memory", "# Mine"))
            daily = DAILY.replace("had coffee", "had tea")
            desk.put(DAY, daily.replace("likes hiking", "likes walking") if reworded else daily)

        monkeypatch.setattr(committing._Batch, "plan", saved)
        if reworded:
            with pytest.raises(ConflictError):
                commit(desk.ctx(), decisions)
            assert desk.get("Memory.md") == MEMORY.replace("# Memory", "# Mine")
            assert "[promoted]" not in desk.get(DAY)
        else:
            commit(desk.ctx(), decisions)
            assert "# Mine" in desk.get("Memory.md")
            assert "Anna lives in Cork" in desk.get("Memory.md")
            assert "had tea" in desk.get(DAY)
