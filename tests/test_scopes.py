"""Projects: what is written into one is found there, and nothing of it anywhere else."""

from __future__ import annotations

import json
import os
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import conversations as logs
import forked
import pytest
from forked import program

from tars_memory.errors import NotFoundError, TarsError, UsageError
from tars_memory.jobs import sleep as nights
from tars_memory.memory import Memory
from tars_memory.settings import StoreOptions, chosen_project, find_project
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.writing.system import VaultLock

NOW = "2026-11-21T14:30:00+00:00"
OWNERS = ("", "boat", "house")
WORDS = ["harbour", "tea", "ladder", "oolong", "ferry", "window", "colour", "piano", "kettle", "garden"]


def prefix(owner: str) -> str:
    return f"projects/{owner}/" if owner else ""


def canary(owner: str) -> str:
    return f"canary{owner or 'global'}"


def notes(chance: random.Random) -> dict[str, str]:
    """Every kind of note in every scope, with the scope's canary in every line, and ids that differ."""
    found: dict[str, str] = {}
    for owner in OWNERS:

        def said(owner: str = owner) -> str:
            return f"{canary(owner)} " + " ".join(chance.sample(WORDS, 4))

        at, tag = prefix(owner), owner or "g"
        found |= {
            f"{at}Memory.md": f"# {said()}\n\n## Notes\n\n- {said()}\n- TODO {canary(owner)}\n- {said()} [[Plan]]\n",
            f"{at}Procedural.md": f"## Rules\n\n- always {said()}\n",
            f"{at}Facts.md": f"## Anna\n\n- lives in:: {said()} [since:: 2026-01-01]\n\n## Me\n\n- drinks:: {said()}\n",
            f"{at}corrections.md": f"## Feedback\n\n- 2026-11-20 10:00 {said()}\n",
            f"{at}rewards.md": f"## Feedback\n\n- 2026-11-20 10:00 {said()}\n",
            f"{at}2026-11-20.md": f"## Log\n\n- 10:00 {said()}\n- 10:05 [extracted] {said()} ^d-{tag}aaaaa\n",
            f"{at}2026-11-21.md": f"## Log\n\n- 11:00 {said()}\n",
            f"{at}sessions/2026-11-20 1000 {tag}.md": f"---\ndate: 2026-11-20\n---\n\n## Summary\n\n{said()}\n\n"
            f'## Facts\n\n- {said()} ([[2026-11-20#^d-{tag}aaaaa|2026-11-20]])\n  - quote:: "{said()}"\n',
            f"{at}Plan.md": f"---\nstatus: open\n---\n# Plan {said()}\n\n{said()} [[Memory]] #work\n",
        }
    return found


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scopes")
    root = make_vault(folder / "vault", notes(random.Random(7)))
    inbox = root / ".tars" / "inbox"
    inbox.mkdir(parents=True)
    for owner in OWNERS:
        with opened(root, owner) as memory:
            memory.remember(f"never {canary(owner)} by hand", tier="procedural")
    return root


def opened(root: Path, owner: str, **more: Any) -> Memory:
    env = {"TARS_MEMORY_HOME": str(root.parent / "home"), "TARS_NOW": NOW}
    more.setdefault("actor", "agent")
    return Memory(
        root, env=env, now=datetime.fromisoformat(NOW), project=owner or "none", embedder=HashEmbedder(), **more
    )


def foreign(owner: str, *, outside: bool) -> list[str]:
    """What must not show up: canaries of other projects, with ``outside`` also that of what is outside projects."""
    hidden = [each for each in OWNERS if each and each != owner]
    return [canary(each) for each in hidden] + ([canary("")] if outside and owner else [])


def shown(value: object) -> str:
    """All that an answer holds, its attributes' attributes too."""
    seen: set[int] = set()

    def parts(each: object) -> Any:
        if isinstance(each, str | int | float | None):
            return str(each)
        if id(each) in seen:
            return ""
        seen.add(id(each))
        if isinstance(each, dict):
            return [parts(inner) for pair in each.items() for inner in pair]
        if isinstance(each, list | tuple | set | frozenset):
            return [parts(inner) for inner in each]
        names = [*getattr(each, "__dict__", {}), *getattr(type(each), "__slots__", ())]
        return [parts(getattr(each, name, "")) for name in names if not name.startswith("_")]

    return json.dumps(parts(value))


FORMS = ["{0}", "{0} {1}", '"{0} {1}"', "{0}*", "{0} -{1}", "path:projects/ {0}", "tier:daily {0}"]
QUERIES = [*FORMS, "canaryboat", "canaryhouse {0}"]


@pytest.mark.parametrize("count", [20, pytest.param(350, marks=pytest.mark.prove)])
def test_no_line_of_another_scope_in_any_question(vault: Path, count: int) -> None:
    chance = random.Random(3)
    asked = 0
    for owner in OWNERS:
        with opened(vault, owner) as memory:
            ours = 0
            for _ in range(count):
                text = chance.choice(QUERIES).format(*chance.sample(WORDS, 2))
                mode = chance.choice(["lexical", "hybrid"])
                found = memory.search(text, mode=mode, explain=True, limit=50)
                packed = memory.context(text.replace("path:", ""), mode=mode, budget=chance.choice([200, 2000, 9000]))
                told = json.dumps(packed)
                told += shown(found) if "canary" not in text else shown([(hit.path, hit.text) for hit in found.hits])
                assert not [each for each in foreign(owner, outside=False) if each in told], text
                ours += canary(owner) in told
                asked += 1
            assert ours > count * 0.8, "and it does find its own"
    assert asked == count * len(OWNERS)


def test_no_line_of_another_scope_in_any_other_answer(vault: Path) -> None:
    for owner in OWNERS:
        with opened(vault, owner) as memory:
            review = memory.review(writes=False)
            both = [memory.facts(everything=True), memory.timeline("Anna"), memory.links("Plan"), memory.facts("Me")]
            own: list[object] = [
                memory.list(),
                *(memory.list(tier) for tier in ("semantic", "procedural", "daily", "episodic")),
                memory.today().text,
                memory.history(None),
                [each.as_dict() for each in review.waiting(limit=100).proposals],
                memory.tidy().findings,
            ]
            trail = memory.why(f"always {canary(owner)}")
            for answer in both:
                assert not [each for each in foreign(owner, outside=False) if each in shown(answer)]
            for answer in [*own, trail]:
                assert not [each for each in foreign(owner, outside=True) if each in shown(answer)], shown(answer)
            assert all(canary(owner) in shown(answer) for answer in [own[0], *own[1:5], own[5], own[6], own[7], trail])
            for other in OWNERS:
                if other != owner:
                    with pytest.raises(TarsError):
                        memory.show(f"always {canary(other)}")


def test_what_is_written_lands_in_the_project(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n\n- outside\n", "2026-11-21.md": "## Log\n"})
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    with opened(root, "boat", actor="person", interactive=True) as memory:
        receipts = [
            memory.remember("the mast is green"),
            memory.remember("ask before sailing", tier="procedural"),
            memory.log("oiled the deck"),
            memory.feedback(False, "too long"),
            memory.add_fact("Boat", "lies in", "Cork"),
            memory.edit("the mast is green", "the mast is red"),
        ]
        assert all(receipt.path.startswith("projects/boat/") for receipt in receipts)
        with pytest.raises(TarsError):
            memory.edit("outside", "inside")
        assert "the mast is red" in memory.context().text
        memory.forget("the mast is red")
        log = tmp_path / "talk.jsonl"
        said = logs.Said("user", "Please remember that the spare key is under the blue pot.", logs.START)
        log.write_bytes(logs.chat_jsonl([*logs.talk(8), said]))
        done = memory.extract([log], model="none")
        assert [session.path.startswith("projects/boat/sessions/") for session in done.sessions] == [True]
        (offered,) = [each for each in memory.review().waiting().proposals if "spare key" in each.text]
        memory.review().decide([offered.id], [])
        (kept,) = [entry for entry in memory.list() if "spare key" in entry.text]
        assert kept.path == "projects/boat/Memory.md"
        assert [step.kind for step in memory.why(kept.ref).chain].count("said") == 1
    assert {path: path.read_bytes() for path in before} == before
    with opened(root, "") as memory:
        again = memory.extract([log], model="none")
        assert again.sessions == [] and "already" in again.skipped[0].why
        assert "spare key" not in memory.context("where is the spare key").text


def test_what_waited_is_placed_in_its_project(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n"})
    with (
        opened(root, "boat") as memory,
        VaultLock(memory.workspace.ensure_state() / "lock", timeout=5, command="test").held(),
    ):
        memory.workspace.settings.store = StoreOptions(lock_timeout=0)
        with pytest.raises(TarsError) as failed:
            memory.remember("the mast is green")
        assert getattr(failed.value, "spooled", None)
    with opened(root, "house") as memory:
        memory.log("the roof leaks")
    assert "the mast is green" in (root / "projects/boat/Memory.md").read_text()
    assert "mast" not in (root / "Memory.md").read_text() + (root / "projects/house/2026-11-21.md").read_text()


def test_undo_without_a_name_keeps_to_its_scope(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n"})
    with opened(root, "boat") as memory:
        memory.remember("the mast is green")
    with opened(root, "") as memory:
        assert memory.history() == []
        with pytest.raises(NotFoundError, match="nothing to undo") as nothing:
            memory.undo()
        assert "mast" not in str(nothing.value) + str(nothing.value.hint)
        memory.remember("tea")
    with opened(root, "boat") as memory:
        with pytest.raises(UsageError, match="another project") as refused:
            memory.undo(next(memory.workspace.store().history()).txn)
        assert "tea" not in str(refused.value) + str(refused.value.hint)
        assert [entry.file for entry in memory.history()] == ["projects/boat/Memory.md"]
        memory.undo()
        assert memory.list() == []
        (notice,) = memory.workspace.notices
        assert "the newest write, stays" in notice
        assert "tea" not in notice


def test_a_playbook_outside_of_the_project_is_pinned_there_and_undo_in_it_passes_over_that(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"playbooks/release.md": "# release\n\n1. tag\n"})
    with opened(root, "boat", actor="person", interactive=True) as memory:
        memory.remember("the mast is green")
        with pytest.raises(UsageError, match="outside of project boat") as refused:
            memory.pin("release")
        assert "--project none playbooks playbooks/release.md --pin" in str(refused.value.hint)
    with opened(root, "", actor="person", interactive=True) as memory:
        assert memory.pin("release").written
    with opened(root, "boat", actor="person", interactive=True) as memory:
        assert [entry.file for entry in memory.undoable()[0]] == ["projects/boat/Memory.md"]
        memory.undo()
        assert memory.list() == []
    assert "pinned: true" in (root / "playbooks/release.md").read_text()


def test_which_project_is_meant(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / ".tars-project").write_text("boat  \nand a comment\n")
    assert chosen_project(None, {}, inner) == "boat"
    assert chosen_project(None, {}, tmp_path) == ""
    assert chosen_project(None, {"TARS_PROJECT": "house"}, inner) == "house"
    assert chosen_project(None, {"TARS_PROJECT": ""}, inner) == "boat"
    assert chosen_project("garden", {"TARS_PROJECT": "house"}, inner) == "garden"
    assert chosen_project("none", {"TARS_PROJECT": "house"}, inner) == ""
    (inner / ".tars-project").write_text("none")
    assert chosen_project(None, {}, inner) == ""
    for bad in ("..", ".", "a/b", "a\\b", "", "  ", "a\nb", ".hidden", "a\0", "x" * 300, "a#b", "[[a]]"):
        with pytest.raises(UsageError, match=r"project"):
            chosen_project(bad, {}, tmp_path)
    (inner / ".tars-project").write_text("../../etc")
    with pytest.raises(UsageError, match="not a project"):
        chosen_project(None, {}, inner)


def test_letters_of_a_project_may_differ_in_case_and_composition(tmp_path: Path) -> None:
    (tmp_path / "projects" / "Zürich").mkdir(parents=True)
    assert find_project(tmp_path / "projects", "zu\u0308rich") == "Zürich"
    assert find_project(tmp_path / "projects", "Bern") == "Bern"


def test_every_command_chooses_alike(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n\n- outside\n"})
    desk = tmp_path / "desk"
    desk.mkdir()
    (desk / ".tars-project").write_text("boat\n")
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "TARS_MEMORY_HOME": str(tmp_path / "home"),
        "TARS_MEMORY_DIR": str(root),
        "TERM": "xterm",
    }

    def run(*argv: str, cwd: Path = desk, **more: str) -> str:
        done = forked.run(program(*argv), env={**env, **more}, cwd=cwd, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(f"{root}{os.sep}", "")

    assert run("remember", "the mast is green").startswith("projects/boat/Memory.md:")
    assert run("remember", "the roof is green", TARS_PROJECT="house").startswith("projects/house/Memory.md:")
    assert run("remember", "--project", "none", "the sky is blue").startswith("Memory.md:")
    assert [line.split()[-1] for line in run("list").splitlines()] == ["green"]
    assert "mast" in run("list") and "roof" in run("list", "--project", "House") and "sky" in run("list", cwd=tmp_path)
    found = run("search", "--mode", "lexical", "green", "sky")
    assert "mast" in found and "sky" in found and "roof" not in found
    assert "roof" not in run("context", "green") and "mast" in run("context")


def test_one_night_serves_every_scope_by_itself(tmp_path: Path) -> None:
    def held(w: str) -> dict[str, str]:
        return {
            "Memory.md": f"## Notes\n\n- {w} twin\n- {w} twin\n",
            "2026-10-20.md": f"## Log\n\n- 10:00 [extracted] {w} prefers oolong ^d-{w}aaa\n",
            "2026-06-20.md": f"## Log\n\n- 10:00 {w} was here\n",
        }

    notes = {f"{prefix(owner)}{path}": text for owner in OWNERS for path, text in held(canary(owner)).items()}
    root = make_vault(tmp_path / "vault", notes | {"projects/.hidden/2026-06-20.md": "- x\n"})
    (root / "projects" / "linked").symlink_to(root / "projects" / "boat")
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    with opened(root, "boat") as memory:
        alone = nights.sleep(memory)
        assert {step.project for step in alone.steps} == {""} and len(alone.txns) == 2
        assert (root / "projects/boat/archive/2026-06-20.md").exists() and (root / "2026-06-20.md").exists()
        assert nights.undo(memory) == alone.txns[::-1]
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before
    with opened(root, "") as memory:
        night = nights.sleep(memory)
        assert not night.failed
        assert [step.project for step in night.steps if step.name == "archive"] == ["", "boat", "house"]
        for owner in OWNERS:
            assert (root / f"{prefix(owner)}archive/2026-06-20.md").exists()
            assert "[expired]" in (root / f"{prefix(owner)}2026-10-20.md").read_text()
            (told,) = [step.told for step in night.steps if (step.name, step.project) == ("tidy", owner)]
            assert told.endswith(f"tars-memory --project {owner} tidy" if owner else "tars-memory tidy")
        report = json.dumps(night)
        assert not [each for each in map(canary, OWNERS) if each in report]
        assert nights.sleep(memory).txns == []
    with opened(root, "house") as memory:
        own = nights.undo(memory)
        assert len(own) == 2 and (root / "projects/house/2026-06-20.md").exists()
        assert not (root / "projects/boat/2026-06-20.md").exists()
    with opened(root, "") as memory:
        assert sorted([*nights.undo(memory), *own]) == sorted(night.txns)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before
    with opened(root, "") as memory:
        again = nights.sleep(memory)
        assert len(again.txns) == len(night.txns), "and it can be done again"


def test_what_fails_in_one_project_is_told_there_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_vault(tmp_path / "vault", {f"{prefix(owner)}2026-06-20.md": "- x\n" for owner in OWNERS})
    real = Memory.archive

    def failing(self: Memory, **more: Any) -> Any:
        if self.workspace.project == "boat":
            raise TarsError("canaryboat stood there")
        return real(self, **more)

    monkeypatch.setattr(Memory, "archive", failing)
    with opened(root, "") as memory:
        night = nights.sleep(memory)
    assert night.failed and "canaryboat" not in json.dumps(night)
    assert [step.error for step in night.steps if step.error] == [
        "it failed there; tars-memory --project boat sleep says why"
    ]
    assert (root / "projects/house/archive/2026-06-20.md").exists()
    with opened(root, "boat") as memory:
        assert "canaryboat stood" in json.dumps(nights.sleep(memory))


def test_forget_everywhere_keeps_to_its_scope(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {})
    for owner in OWNERS:
        with opened(root, owner, actor="person", interactive=True) as memory:
            memory.remember("the same secret line")
    with opened(root, "boat", actor="person", interactive=True) as memory:
        told = memory.forget("the same secret line", everywhere=True).notices
        assert memory.list() == [] and "house" not in str(told) and "Memory.md" not in str(told)
    for owner in ("", "house"):
        with opened(root, owner) as memory:
            assert [entry.text for entry in memory.list()] == ["the same secret line"]
            assert "boat" not in str(memory.forget("the same secret line", everywhere=True).notices)


def test_a_conversation_goes_to_the_project_of_its_folder(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"projects/boat/Memory.md": "## Notes\n"})
    logs_ = tmp_path / "logs"
    logs_.mkdir()
    for owner in (*OWNERS, "none", "gone"):
        desk = tmp_path / f"desk{owner}" / "deep"
        if owner != "gone":
            desk.mkdir(parents=True)
        if owner in ("boat", "house", "none"):
            (desk.parent / ".tars-project").write_text("Boat\n" if owner == "boat" else f"{owner}\n")
        said = logs.Said("user", f"Please remember that the {owner or 'global'} key is under the pot.", logs.START)
        log = logs.claude_code([*logs.talk(8), said], session=f"session-{owner}").decode()
        told = [json.dumps({**json.loads(line), "cwd": str(desk)}) for line in log.splitlines()]
        (logs_ / f"{owner or 'global'}.jsonl").write_text("\n".join(told) + "\n")
    with opened(root, "house") as memory:
        night = nights.sleep(memory, [str(logs_ / "boat.jsonl")])
        assert not night.failed and not (root / "projects/house").exists(), "not even if another one is chosen"
        nights.undo(opened(root, ""))
    with opened(root, "") as memory:
        night = nights.sleep(memory, [str(logs_)])
        assert not night.failed and night.steps[0].counts["conversations"] == 5
        again = nights.sleep(memory, [str(logs_)])
        assert again.txns == []

    def noted(owner: str) -> set[str]:
        paths = [*(root / prefix(owner)).glob("20*.md"), *(root / prefix(owner)).glob("sessions/*.md")]
        return {
            each
            for path in paths
            for each in ("boat", "house", "global", "none", "gone")
            if f"{each} key" in path.read_text()
        }

    assert noted("boat") == {"boat"} and noted("house") == {"house"} and noted("") == {"global", "none", "gone"}
    with opened(root, "") as memory:
        nights.undo(memory)
    assert not noted("boat") | noted("house") | noted("")


@pytest.mark.parametrize(("owner", "other"), [("", "boat"), ("boat", "house"), ("boat", "")])
def test_a_link_into_another_scope_leads_nowhere(tmp_path: Path, owner: str, other: str) -> None:
    tag = f"d-{other or 'g'}aaaaa"
    root = make_vault(
        tmp_path / "vault",
        {
            f"{prefix(other)}2026-11-20.md": f"## Log\n\n- 10:00 [promoted] {canary(other)} said so ^{tag}\n",
            f"{prefix(other)}Plan.md": f"{canary(other)} plan\n",
            f"{prefix(owner)}Memory.md": f"## Notes\n\n- ours ([[{prefix(other)}2026-11-20#^{tag}|2026-11-20]])\n"
            f"- see [[{prefix(other)}Plan]]\n",
        },
    )
    with opened(root, owner) as memory:
        trail = memory.why("ours")
        assert canary(other) not in shown(trail) and trail.chain[-1].kind == "end"
        assert canary(other) not in memory.context("ours").text if other else True
        found = memory.links("Memory" if not owner else f"{prefix(owner)}Memory")
        targets = dict(found.out)
        assert (targets[f"{prefix(other)}Plan"] is None) == bool(other)
