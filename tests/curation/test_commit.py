"""What was decided becomes text: all of it or nothing, marked for ever, and taken back byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.deciding import DAILY, DAY, MEMORY, Desk, accept, reject
from tars_memory.curation.commit import commit
from tars_memory.curation.proposals import Decision, Mark
from tars_memory.errors import ConflictError, UnwritableError, UsageError
from tars_memory.vault import inbox
from tars_memory.vault.layout import DECIDED
from tars_memory.vault.writing.transaction import Transaction


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).fill()


def test_a_promoted_line_links_to_its_day_and_the_day_says_so(desk: Desk) -> None:
    proposal = desk.promote("likes hiking")
    done = commit(desk.ctx(), accept(proposal))
    line = "- likes hiking ([[2026-11-20#^d-hike|2026-11-20]])\n"
    assert desk.get("Memory.md") == MEMORY + line
    assert desk.get(DAY) == DAILY.replace("[extracted] likes", "[promoted] likes")
    (outcome,) = done.decided
    told = outcome.as_dict()
    assert told == {
        "id": proposal.id,
        "decision": "accepted",
        "outcome": "applied",
        "reason": "",
        "path": "Memory.md",
        "line": 6,
        "ref": desk.entry("Memory.md", "likes hiking").ref,
    }
    history = list(desk.ctx().store.history())
    assert {entry.txn for entry in history} == {done.txn}
    assert [(entry.command, entry.actor, entry.file) for entry in history] == [
        ("review", "person", DECIDED),
        ("review", "person", DAY),
        ("review", "person", "Memory.md"),
    ]


def test_a_replaced_line_is_kept_under_its_candidate_with_where_it_came_from(desk: Desk) -> None:
    commit(desk.ctx(), accept(desk.promote("lives in Cork", replaces="lives in Berlin")))
    line = "- Anna lives in Cork ([[2026-11-20#^d-cork|2026-11-20]])\n"
    assert desk.get("Memory.md") == MEMORY.replace("- Anna lives in Berlin ([[2026-10-01#^d-old1|2026-10-01]])\n", line)
    assert desk.get(DAY) == DAILY.replace(
        "[extracted] Anna lives in Cork ^d-cork\n",
        "[promoted] Anna lives in Cork ^d-cork\n"
        "  - replaced:: Anna lives in Berlin ([[2026-10-01#^d-old1|2026-10-01]])\n",
    )


def test_replacing_keeps_the_block_id(desk: Desk) -> None:
    commit(desk.ctx(), accept(desk.promote("likes hiking", replaces="prefers tea")))
    assert "- likes hiking ([[2026-11-20#^d-hike|2026-11-20]]) ^keep\n" in desk.get("Memory.md")


def test_a_rejected_candidate_is_marked_and_nothing_else_is_written(desk: Desk) -> None:
    done = commit(desk.ctx(), reject(desk.promote("owns a boat")))
    assert desk.get("Memory.md") == MEMORY
    assert desk.get(DAY) == DAILY.replace("[extracted] owns", "[rejected] owns")
    assert done.decided[0].decision == "rejected"
    assert list(inbox.decided(desk.vault).values()) == ["rejected"]


def test_a_correction_gets_a_state_and_an_id_that_the_rule_links_to(desk: Desk) -> None:
    rule = desk.rule()
    commit(desk.ctx(), accept(rule))
    block = rule.marks[0].block_id
    assert f"- Use miles, not km. ([[corrections#^{block}|2026-11-19]])\n" in desk.get("Procedural.md")
    assert desk.get("corrections.md") == (
        "# Corrections\n\n## Feedback\n"
        f"- 2026-11-19 10:00 [promoted] use miles, not km ^{block}\n  - question:: how far?\n  - answer:: 12 km\n"
    )


def test_many_decisions_are_one_transaction_and_one_undo(desk: Desk) -> None:
    before = desk.all()
    decisions = [
        *accept(desk.promote("lives in Cork", replaces="lives in Berlin"), desk.promote("likes hiking"), desk.rule()),
        *accept(desk.kept()),
        *reject(desk.promote("owns a boat"), desk.kept(text="not this")),
    ]
    waiting = desk.all()
    done = commit(desk.ctx(), decisions)
    assert inbox.pending(desk.vault) == []
    decided = inbox.decided(desk.vault)
    assert decided == {each.proposal.id: "accepted" if each.accept else "rejected" for each in decisions}
    assert len({entry.txn for entry in desk.ctx().store.history() if entry.command == "review"}) == 1
    desk.ctx().store.undo(done.txn)
    after = desk.all()
    assert after == waiting
    assert {path: after[path] for path in before} == before


def test_the_words_of_the_person_are_written_and_forge_nothing(desk: Desk) -> None:
    text = "[promoted] likes hiking\n- and more ([[x#^y]]) ^id %%"
    commit(desk.ctx(), [Decision(desk.promote("likes hiking"), True, text)])
    entry = desk.entry("Memory.md", "likes hiking")
    assert entry.provenance == "2026-11-20#^d-hike"
    assert entry.state is None
    assert entry.block_id is None
    assert desk.get("Memory.md").count("\n") == MEMORY.count("\n") + 1
    with pytest.raises(UsageError):
        commit(desk.ctx(), [Decision(desk.promote("owns a boat"), True, " \n ")])


class TestWhoMay:
    def test_nobody_accepts_without_a_person(self, desk: Desk) -> None:
        before = desk.all()
        for actor in ("script", "agent", "cron", "model"):
            for proposal in (desk.promote("likes hiking"), desk.rule()):
                with pytest.raises(UsageError):
                    commit(desk.ctx(actor, interactive=False), accept(proposal))
        with pytest.raises(UsageError):
            commit(desk.ctx("person", interactive=False), accept(desk.promote("likes hiking")))
        assert desk.all() == before

    def test_anybody_rejects(self, desk: Desk) -> None:
        commit(desk.ctx("agent", interactive=False), reject(desk.promote("likes hiking")))
        assert "[rejected] likes hiking" in desk.get(DAY)

    def test_the_persons_own_settings_allow_it_and_rules_on_their_own(self, desk: Desk) -> None:
        ctx = desk.ctx("script", interactive=False, unattended_review=True)
        with pytest.raises(UsageError, match="rule"):
            commit(ctx, accept(desk.rule()))
        commit(ctx, accept(desk.promote("likes hiking")))
        assert "likes hiking" in desk.get("Memory.md")
        both = desk.ctx("script", interactive=False, unattended_review=True, unattended_rules=True)
        commit(both, accept(desk.rule()))
        assert "Use miles" in desk.get("Procedural.md")

    def test_a_tick_is_the_persons_whoever_finds_it_but_an_agent(self, desk: Desk) -> None:
        for actor in ("agent", "model"):
            before = desk.all()
            with pytest.raises(UsageError, match="needs a person"):
                commit(desk.ctx(actor, interactive=False), accept(desk.rule()), by_tick=True)
            assert desk.all() == before
        ctx = desk.ctx("cron", interactive=False)
        commit(ctx, accept(desk.rule()), by_tick=True)
        assert {entry.actor for entry in ctx.store.history()} == {"person"}
        assert ctx.store.actor == "cron"
        assert ctx.store.tick is None

    def test_what_an_agent_may_accept_it_accepts_in_its_own_name(self, desk: Desk) -> None:
        ctx = desk.ctx("agent", interactive=False, unattended_review=True)
        with pytest.raises(UsageError, match="rule"):
            commit(ctx, accept(desk.rule()), by_tick=True)
        commit(ctx, accept(desk.promote("likes hiking")), by_tick=True)
        assert {entry.actor for entry in ctx.store.history()} == {"agent"}

    @pytest.mark.parametrize("target", ["projects.md", "../out.md", ".obsidian/app.json", "/etc/x.md", "note.md"])
    def test_no_note_but_ours_is_a_target(self, desk: Desk, target: str) -> None:
        desk.put("note.md", "mine\n")
        before = desk.all()
        with pytest.raises(UsageError):
            commit(desk.ctx(), accept(desk.promote("likes hiking")._replace(target=target)))
        assert desk.all() == before

    def test_a_mark_brings_no_text_of_its_own(self, desk: Desk) -> None:
        """A file of the inbox came from anywhere; what else it may not do: test_forged_proposals.py."""
        for block in ("x\n- [promoted] forged", "a b", "é", "x" * 200):
            kept = desk.kept(marks=[[DAY, "- 14:31 [extracted] likes hiking ^d-hike", block]], text=f"t {len(block)}")
            commit(desk.ctx("agent", interactive=False), reject(kept))
        kept = desk.kept(marks=[[f"projects/../{DAY}", "- 14:31 [extracted] likes hiking ^d-hike", ""]])
        commit(desk.ctx(), reject(kept))
        assert desk.get(DAY) == DAILY


class TestAllOrNothing:
    def test_a_line_that_changed_since(self, desk: Desk) -> None:
        decisions = accept(desk.promote("likes hiking"), desk.promote("lives in Cork", replaces="lives in Berlin"))
        desk.put("Memory.md", MEMORY.replace("Berlin", "Bern"))
        before = desk.all()
        with pytest.raises(ConflictError, match="Bern"):
            commit(desk.ctx(), decisions)
        assert desk.all() == before

    def test_a_line_that_stands_there_twice(self, desk: Desk) -> None:
        decisions = accept(desk.promote("lives in Cork", replaces="prefers tea"))
        desk.put("Memory.md", MEMORY + "- prefers tea ^keep\n")
        before = desk.all()
        with pytest.raises(ConflictError, match="2 times"):
            commit(desk.ctx(), decisions)
        assert desk.all() == before

    def test_another_line_that_changed_is_no_matter(self, desk: Desk) -> None:
        decisions = accept(desk.promote("lives in Cork", replaces="lives in Berlin"))
        desk.put("Memory.md", MEMORY.replace("# Memory", "# Mine\r\n\nmoved\n"))
        desk.put(DAY, DAILY.replace("had coffee", "had two coffees"))
        commit(desk.ctx(), decisions)
        assert "Anna lives in Cork" in desk.get("Memory.md")
        assert "# Mine\r\n\nmoved\n" in desk.get("Memory.md")

    def test_a_candidate_that_is_gone_or_was_decided(self, desk: Desk) -> None:
        decisions = accept(desk.promote("likes hiking"), desk.promote("owns a boat"))
        for daily in (
            DAILY.replace("- 14:32 [extracted] owns a boat ^d-boat\n", ""),
            DAILY.replace("[extracted] owns", "[rejected] owns"),
            DAILY.replace("owns a boat", "sold the boat"),
        ):
            desk.put(DAY, daily)
            before = desk.all()
            with pytest.raises(ConflictError):
                commit(desk.ctx(), decisions)
            assert desk.all() == before
        (desk.root / DAY).unlink()
        with pytest.raises(ConflictError, match="is gone"):
            commit(desk.ctx(), decisions)

    def test_a_proposal_that_was_decided_on_another_machine(self, desk: Desk) -> None:
        kept = desk.kept()
        next((desk.root / inbox.INBOX).iterdir()).unlink()
        with pytest.raises(ConflictError, match="decided in the meantime"):
            commit(desk.ctx(), accept(kept, desk.promote("likes hiking")))
        assert desk.get("Memory.md") == MEMORY

    @pytest.mark.parametrize("failing", [DAY, "Memory.md", "corrections.md", "Procedural.md"])
    def test_a_note_that_changes_after_the_look(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch, failing: str
    ) -> None:
        """Whichever note it is: what was written of the others is taken back."""
        decisions = accept(desk.promote("lives in Cork", replaces="lives in Berlin"), desk.rule())
        before = desk.all()
        write = Transaction.write

        def racing(self: Transaction, path: str, *arguments: object, **named: object) -> object:
            if path == failing and "undoes" not in named:
                raise ConflictError("it changed")
            return write(self, path, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Transaction, "write", racing)
        with pytest.raises(ConflictError, match="it changed"):
            commit(desk.ctx(), decisions)
        monkeypatch.undo()
        assert desk.all() == before
        assert desk.ctx().store.pending() == []
        commit(desk.ctx(), decisions)
        assert "Anna lives in Cork" in desk.get("Memory.md")

    def test_a_disk_that_is_full_half_way(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        decisions = accept(desk.promote("likes hiking"))
        before = desk.all()
        write = Transaction.write

        def full(self: Transaction, path: str, *arguments: object, **named: object) -> object:
            if path == DAY:
                raise UnwritableError("no space left")
            return write(self, path, *arguments, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Transaction, "write", full)
        with pytest.raises(UnwritableError) as caught:
            commit(desk.ctx(), decisions)
        assert caught.value.spooled is None
        monkeypatch.undo()
        assert desk.all() == before

    def test_interrupted_by_the_person(self, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
        before = desk.all()
        monkeypatch.setattr(inbox, "decide", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            commit(desk.ctx(), accept(desk.promote("likes hiking")))
        assert desk.all() == before


class TestTwice:
    def test_what_stands_already_is_only_marked(self, desk: Desk) -> None:
        """A line that came from this candidate stands: the marks were lost, by a kill or a sync."""
        proposal = desk.promote("likes hiking")
        desk.put("Memory.md", MEMORY + "- enjoys hiking ([[2026-11-20#^d-hike|2026-11-20]])\n")
        done = commit(desk.ctx(), accept(proposal))
        assert desk.get("Memory.md").count("hiking") == 1
        assert "[promoted] likes hiking" in desk.get(DAY)
        assert done.decided[0].outcome == "no-op"
        assert "line 6" in done.decided[0].reason

    def test_a_replacement_that_stands_already(self, desk: Desk) -> None:
        decisions = accept(desk.promote("lives in Cork", replaces="lives in Berlin"))
        commit(desk.ctx(), decisions)
        once = desk.all()
        done = commit(desk.ctx(), decisions)
        assert desk.all() == once
        assert done.txn is None
        assert done.decided[0].outcome == "no-op"

    def test_the_same_words_are_not_written_twice(self, desk: Desk) -> None:
        desk.put("Memory.md", MEMORY + "- likes hiking\n")
        commit(desk.ctx(), accept(desk.promote("likes hiking")))
        assert desk.get("Memory.md").count("likes hiking") == 1
        assert "[promoted] likes hiking" in desk.get(DAY)

    def test_one_proposal_for_several_candidates(self, desk: Desk) -> None:
        desk.put("2026-11-19.md", "## Log\n- 08:00 [extracted] likes hiking ^d-first\n")
        proposal = desk.promote("likes hiking")
        marks = (*proposal.marks, desk.mark("likes hiking", "2026-11-19.md"))
        commit(desk.ctx(), accept(proposal._replace(marks=marks)))
        assert "[promoted] likes hiking" in desk.get("2026-11-19.md")
        assert "[promoted] likes hiking" in desk.get(DAY)

    def test_two_decisions_about_one(self, desk: Desk) -> None:
        proposal = desk.promote("likes hiking")
        with pytest.raises(UsageError):
            commit(desk.ctx(), [*accept(proposal), *reject(proposal)])


def test_a_dry_run_writes_nothing_and_finds_conflicts(desk: Desk) -> None:
    before = desk.all()
    done = commit(desk.ctx(dry_run=True), accept(desk.promote("likes hiking"), desk.rule()))
    assert [outcome.outcome for outcome in done.decided] == ["applied", "applied"]
    assert done.txn is None
    gone = desk.promote("owns a boat")
    with pytest.raises(ConflictError):
        commit(desk.ctx(dry_run=True), accept(gone._replace(marks=(Mark(DAY, "- 14:32 nothing"),))))
    assert desk.all() == before


def test_other_line_endings_stay(desk: Desk) -> None:
    desk.put(DAY, DAILY.replace("\n", "\r\n").encode()[:-2])
    proposal = desk.promote("owns a boat", replaces="prefers tea")
    commit(desk.ctx(), accept(proposal))
    assert desk.get(DAY).endswith("[promoted] owns a boat ^d-boat\r\n  - replaced:: prefers tea")
    assert "\n" not in desk.get(DAY).replace("\r\n", "")
