"""A night's work: what bad nights leave is done by the next good one, once, and every night can be undone."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import conversations as logs
import pytest

from tars_memory.curation.extraction import drawing
from tars_memory.curation.models import llm
from tars_memory.curation.models.llm import Prompt
from tars_memory.errors import BusyError, ConflictError, ModelUnavailableError, NotFoundError
from tars_memory.jobs import sleep as nights
from tars_memory.jobs.hooks import HookFolder
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, ScriptedLLM, make_vault

START = datetime.fromisoformat("2026-10-20T22:00:00+02:00")  # a week before summer time ends in Europe


class Talk:
    """One conversation that grows in a file, in the shape of a coding agent's log."""

    def __init__(self, folder: Path, name: str, when: datetime) -> None:
        self.path = folder / f"{name}.jsonl"
        self.name = name
        self.when = when
        self.said: list[str] = []
        self.lines = 0

    def grow(self, turns: int, chance: random.Random) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            for _ in range(turns):
                number = len(self.said)
                self.when += timedelta(minutes=chance.randint(1, 200))
                colour = f"{self.name.capitalize()} box {number} holds {chance.randint(1000, 9999)} buttons"
                self.said.append(colour)
                for role, text in (("user", f"Please remember that {colour}."), ("assistant", "Noted.")):
                    self.lines += 1
                    message = {
                        "type": role,
                        "uuid": f"{self.name}-{self.lines}",
                        "sessionId": self.name,
                        "timestamp": self.when.isoformat(),
                        "message": {"role": role, "content": text},
                    }
                    file.write(json.dumps(message) + "\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    notes = {"Memory.md": "# Memory\n\n## Notes\n- the key is under the blue pot\n"}
    make_vault(tmp_path / "vault", notes, vault_id="2f0c9a52-6f0e-4a58-9d5e-0d5a4f8f1c11")
    (tmp_path / "logs").mkdir()
    return tmp_path


def opened(place: Path, now: datetime, **env: str) -> Memory:
    said = {"TARS_MEMORY_HOME": str(place / "home"), **env}
    return Memory(place / "vault", embedder=HashEmbedder(), actor="cron", now=now, env=said)


def files(place: Path) -> dict[str, bytes]:
    root = place / "vault"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".tars" not in path.parts
    }


def kept(place: Path) -> Counter[str]:
    """How often each box stands as a candidate in a daily note."""
    found: Counter[str] = Counter()
    for path in [*(place / "vault").glob("20*.md"), *(place / "vault" / "archive").glob("20*.md")]:
        found.update(
            re.findall(r"^- .*\[(?:extracted|expired)\] .*?(\w+ box \d+ holds \d+)", path.read_text(), re.MULTILINE)
        )
    return found


def expected(talks: Sequence[Talk | Grown]) -> Counter[str]:
    return Counter(said.removesuffix(" buttons") for talk in talks for said in talk.said)


def test_a_night_says_what_a_model_left_out(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(prompt: Prompt) -> str:
        if prompt.job == "look":
            return '{"verdicts": [{"n": 1, "kind": "fiction", "alone": true, "fact": true}]}'
        return '{"facts": [{"quote": "I live in a lighthouse", "turn": 1}]}'

    monkeypatch.setattr(nights, "open_model", lambda *_args, **_more: ScriptedLLM(answer))
    said = [
        ("user", "Once upon a time: I live in a lighthouse."),
        ("assistant", "Ah."),
        ("user", "So."),
        ("user", "So"),
    ]
    rows = (json.dumps({"role": role, "content": text, "timestamp": START.isoformat()}) for role, text in said)
    (place / "logs" / "tale.jsonl").write_text("\n".join(rows))
    with opened(place, START) as memory:
        night = nights.sleep(memory, [str(place / "logs")])
    assert night.steps[0].told == "0 candidates from 1 conversation, 1 left out: tars-memory review --left-out"
    assert night.steps[0].counts["left_out"] == 1


def test_a_night_says_once_how_much_no_rule_can_read(place: Path) -> None:
    for name, said in (
        ("a", ["我对花生过敏", "我住在杭州", "谢谢你"]),
        ("b", ["我住在宁波", "我喜欢喝茶", "再见", "好的"]),
    ):
        rows = (json.dumps({"role": "user", "content": text, "timestamp": START.isoformat()}) for text in said)
        (place / "logs" / f"{name}.jsonl").write_text("\n".join(rows))
    with opened(place, START) as memory:
        told = [notice[:35] for notice in nights.sleep(memory, [str(place / "logs")]).notices if "turns" in notice]
    assert told == ["0 of 7 turns are in a language that"]


def test_a_diary_from_before_stays_until_the_person_moves_it(place: Path) -> None:
    days = [f"{START.date() - timedelta(days=100 + back):%Y-%m-%d}.md" for back in range(nights.MOST_ARCHIVED + 1)]
    for day in days:
        (place / "vault" / day).write_text("- x\n")
    with opened(place, START) as memory:
        told = {step.name: step.told for step in nights.sleep(memory).steps}
        assert told["archive"] == (
            "32 daily notes are older than 90 days, more than 31, so they stay: "
            "tars-memory tidy --archive --apply moves them"
        )
        assert {*days} <= {*files(place)}
        (place / "vault" / days[0]).unlink()
        assert len(memory.archive().plan) == len(days) - 1
        told = {step.name: step.told for step in nights.sleep(memory).steps}
    assert told["archive"] == "31 daily notes moved to the archive" and not {*days} & {*files(place)}


def test_a_night_does_its_work_once_and_the_second_run_nothing(place: Path) -> None:
    chance = random.Random(1)
    talk = Talk(place / "logs", "harbour", START)
    talk.grow(5, chance)
    with opened(place, START) as memory:
        night = nights.sleep(memory, [str(place / "logs")])
    assert not night.failed and night.txns
    steps = ["extract", "expire", "review", "tidy", "archive", "compress", "size", "index"]
    assert [step.name for step in night.steps] == steps
    assert "5 candidates from 1 conversation" in night.steps[0].told
    assert "1 proposal (5 lines) waits" in night.steps[2].told
    assert kept(place) == expected([talk])
    before = files(place)
    with opened(place, START + timedelta(hours=1)) as memory:
        again = nights.sleep(memory, [str(place / "logs")])
    assert again.txns == [] and again.steps[0].counts["unchanged"] == 1 and files(place) == before
    talk.grow(2, chance)
    with opened(place, START + timedelta(days=1)) as memory:
        nights.sleep(memory, [str(place / "logs")])
    assert kept(place) == expected([talk])


def offered(memory: Memory, *, expired: bool = False) -> int:
    """How many lines wait for a decision; those of one conversation are decided together."""
    return sum(len(each.leaves) for each in memory.review().waiting(limit=0, expired=expired).proposals)


def test_what_was_said_long_ago_waits_from_the_night_on_which_it_was_extracted(place: Path) -> None:
    Talk(place / "logs", "harbour", START - timedelta(days=400)).grow(5, random.Random(1))
    for days, waiting in ((0, 5), (14, 5), (16, 0)):
        with opened(place, START + timedelta(days=days)) as memory:
            night = nights.sleep(memory, [str(place / "logs")])
            assert not night.failed
            assert offered(memory) == waiting
            assert offered(memory, expired=True) == 5
    assert sum(data.count(b"[expired]") for data in files(place).values()) == 5


def test_a_night_may_let_a_model_curate_and_is_undone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = place / "vault" / "2026-10-20.md"
    note.write_text("## Log\n- 09:00 the key hangs in the shed now\n")
    spent, busy = [], [True]

    def answer(prompt: Prompt) -> str:
        code = prompt.user.rsplit('"for": "', 1)[1][:6]
        if busy.pop() if busy else False:
            note.write_text(note.read_text() + "- 09:30 typed meanwhile\n")
        return json.dumps({"for": code, "ops": [{"op": "replace", "notes": [1], "lines": [1], "text": "", "why": ""}]})

    model = ScriptedLLM(answer)
    monkeypatch.setattr(llm, "required", lambda *_: model)
    for env, told in (
        ({}, None),
        ({"TARS_MEMORY_SLEEP_CURATE": "true"}, "given up: 2026-10-20.md changed while scripted was asked"),
        ({"TARS_MEMORY_SLEEP_CURATE": "true"}, "1 replaced proposed: tars-memory review"),
        ({"TARS_MEMORY_SLEEP_CURATE": "true"}, ""),
    ):
        with opened(place, START, **env) as memory:
            night = nights.sleep(memory)
        assert not night.failed
        found = [step.told for step in night.steps if step.name == "curation"]
        assert bool(found) == (told is not None) and all(each.startswith(told or "") for each in found)
        assert told != "" or found == [""], "the very same is not asked about twice"
        spent.append(len(model.prompts))
    assert spent == [0, 1, 2, 2]
    with opened(place, START) as memory:
        (proposal,) = memory.review().waiting().proposals
        assert (proposal.text, proposal.conflicts[0].text) == (
            "the key hangs in the shed now",
            "the key is under the blue pot",
        )
        nights.undo(memory)
        assert memory.review().waiting().proposals == []


def test_without_a_model_curation_fails_by_itself(place: Path) -> None:
    (place / "vault" / "2026-10-20.md").write_text("## Log\n- 09:00 the key hangs in the shed now\n")
    with opened(place, START, TARS_MEMORY_SLEEP_CURATE="true") as memory:
        errors = {step.name: step.error for step in nights.sleep(memory).steps if step.error}
    assert list(errors) == ["curation"] and errors["curation"].startswith("no model is set; name one")


def test_a_night_examines_what_a_killed_session_left_behind(place: Path) -> None:
    Talk(place, "killed", START - timedelta(hours=9)).grow(5, random.Random(1))
    with opened(place, START) as memory:
        desk = HookFolder(memory.workspace.ensure_state() / "hooks")
        for name in ("killed", "gone"):
            desk.watch(str(place / f"{name}.jsonl"))
        (extract, *_) = nights.sleep(memory).steps
        assert extract.counts["conversations"] == 1 and not extract.error
        assert desk.left(None) == [str(place / "gone.jsonl")]


def test_a_night_that_fails_with_a_killed_session_looks_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk, chance = Talk(place, "killed", START - timedelta(hours=9)), random.Random(1)
    answers: list[Any] = [None, ModelUnavailableError("the model hangs"), None]
    for night, answer in enumerate(answers):
        talk.grow(3, chance)
        model = ScriptedLLM(lambda prompt, answer=answer: _raise(answer)) if answer else None
        monkeypatch.setattr(nights, "open_model", lambda *_args, model=model, **_more: model)
        with opened(place, START + timedelta(days=night)) as memory:
            desk = HookFolder(memory.workspace.ensure_state() / "hooks")
            desk.watch(str(talk.path))
            nights.sleep(memory)
            assert desk.left(None) == ([str(talk.path)] if answer else [])
    assert kept(place) == expected([talk])


def _raise(error: Exception) -> str:
    raise error


def test_a_night_examines_what_hooks_left_although_other_logs_are_named_and_the_log_is_gone(place: Path) -> None:
    talk = Talk(place, "compacted", START - timedelta(hours=9))
    talk.grow(4, random.Random(1))
    with opened(place, START) as memory:
        desk = HookFolder(memory.workspace.ensure_state() / "hooks")
        desk.keep(str(talk.path))
        talk.path.unlink()
        nights.sleep(memory, [str(place / "logs")])
        assert kept(place) == expected([talk])
        assert desk.left(None) == []


def test_an_undone_night_leaves_what_hooks_had_left(place: Path) -> None:
    talk, gone = (Talk(place, name, START - timedelta(hours=9)) for name in ("killed", "compacted"))
    for each in (talk, gone):
        each.grow(4, random.Random(1))
    with opened(place, START) as memory:
        desk = HookFolder(memory.workspace.ensure_state() / "hooks")
        desk.watch(str(talk.path))
        desk.keep(str(gone.path))
        gone.path.unlink()
        nights.sleep(memory)
        assert desk.left(None) == [] and kept(place) == expected([talk, gone])
        nights.undo(memory)
        assert not kept(place)
        nights.sleep(memory)
        assert desk.left(None) == [] and kept(place) == expected([talk, gone])
        for path in (memory.workspace.state / "hooks").rglob("*"):
            os.utime(path, (1, 1))
        desk.prune()
        assert not [*(memory.workspace.state / "hooks" / "kept").iterdir()]


def test_a_night_that_is_undone_in_part_is_examined_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(place / "logs", "harbour", START)
    talk.grow(4, random.Random(1))
    with opened(place, START) as memory:
        assert nights.sleep(memory, [str(place / "logs")]).txns
        monkeypatch.setattr(Memory, "undo", lambda *_: _raise(ConflictError("it moved on", "")))
        with pytest.raises(ConflictError):
            nights.undo(memory)
        assert nights.sleep(memory, [str(place / "logs")]).steps[0].counts["sources"] == 1


def test_a_dry_run_writes_nothing(place: Path) -> None:
    Talk(place / "logs", "harbour", START).grow(5, random.Random(1))
    before = files(place)
    memory = opened(place, START)
    memory.workspace.dry_run = True
    with memory:
        night = nights.sleep(memory, [str(place / "logs")])
    assert night.steps[0].counts["candidates"] == 5
    assert files(place) == before and not list((place / "home").rglob("sleep.json"))


def test_undone_night_by_night(place: Path) -> None:
    chance = random.Random(2)
    talk = Talk(place / "logs", "harbour", START)
    states = []
    for day in range(3):
        talk.grow(4, chance)
        states.append(files(place))
        with opened(place, START + timedelta(days=day)) as memory:
            assert nights.sleep(memory, [str(place / "logs")]).txns
    for state in reversed(states):
        with opened(place, START + timedelta(days=4)) as memory:
            nights.undo(memory)
        assert files(place) == state
    with opened(place, START) as memory, pytest.raises(NotFoundError):
        nights.undo(memory)
    with opened(place, START + timedelta(days=5)) as memory:
        nights.sleep(memory, [str(place / "logs")])
    assert kept(place) == expected([talk])


def test_each_step_catches_its_own_failure(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Talk(place / "logs", "harbour", START).grow(5, random.Random(1))

    def broken(self: Memory, **options: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(Memory, "tidy", broken)
    with opened(place, START) as memory:
        night = nights.sleep(memory, [str(place / "logs"), str(place / "missing")])
    errors = {step.name: step.error for step in night.steps if step.error}
    assert "missing does not exist" in errors["extract"] and errors["tidy"] == "RuntimeError: out of order"
    assert night.steps[0].counts["candidates"] == 5 and night.steps[-1].counts["changed"]


def test_nothing_is_extracted_where_it_is_forbidden(place: Path) -> None:
    Talk(place / "logs", "harbour", START).grow(5, random.Random(1))
    with opened(place, START, TARS_AUTO_EXTRACT="0") as memory:
        night = nights.sleep(memory, [str(place / "logs")])
    assert "TARS_AUTO_EXTRACT" in night.steps[0].told and not kept(place)


def test_two_at_once(place: Path) -> None:
    with opened(place, START) as memory, nights._alone(memory), opened(place, START) as other:
        with pytest.raises(BusyError, match="already"):
            nights.sleep(other)
        with pytest.raises(BusyError):
            nights.undo(other)


PROGRAM = """
import sys
from tars_memory.__main__ import main
sys.argv = ["tars-memory", *sys.argv[1:]]
main()
"""


def start(place: Path, now: datetime, zone: str, **env: str) -> subprocess.Popen[bytes]:
    said = {
        "PATH": os.environ["PATH"],
        "TARS_MEMORY_HOME": str(place / "home"),
        "TARS_MEMORY_DIR": str(place / "vault"),
        "TARS_NOW": now.isoformat(),
        "TZ": zone,
        "PYTHONDONTWRITEBYTECODE": "1",  # a file limit would leave halves of compiled modules behind
        **env,
    }
    command = [sys.executable, "-c", PROGRAM, "sleep", str(place / "logs")]
    return subprocess.Popen(command, env=said, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


FORMS = {
    "anchor": (".jsonl", lambda said, name: logs.claude_code(said, session=name)),
    "barrel": (".json", lambda said, name: logs.dumps([logs.claude_conversation(said, name, f"Talk {name}")])),
    "cellar": (".json", lambda said, name: logs.dumps([logs.chatgpt_conversation(said, name, f"Talk {name}")])),
    "dagger": (".jsonl", lambda said, _: logs.codex(said)),
    "engine": (".jsonl", lambda said, _: logs.chat_jsonl(said)),
    "falcon": (".md", lambda said, _: logs.bold(said)),
    "garden": (".txt", lambda said, _: logs.plain(said)),
    "harbour": (".md", lambda said, _: logs.headings(said)),
}


class Grown:
    """A conversation in one of the known shapes, whose file is renamed, moved, cut, removed and brought back."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.end, self.shape = FORMS[name]
        self.path = folder / f"{name}{self.end}"
        self.talk: list[logs.Said] = []
        self.said: list[str] = []

    def grow(self, turns: int, chance: random.Random) -> None:
        for _ in range(turns):
            when = START + timedelta(minutes=len(self.talk) * chance.randint(1, 90))
            self.said.append(
                f"{self.name.capitalize()} box {len(self.said)} holds {chance.randint(1000, 9999)} buttons"
            )
            self.talk.append(logs.Said("user", f"Please remember that {self.said[-1]}.", when))
            self.talk.append(logs.Said("assistant", "Noted.", when))
        self.save()

    def save(self) -> None:
        self.path.write_bytes(self.shape(self.talk, self.name))

    def suffer(self, what: str, night: int) -> None:
        before = self.path
        if what == "renamed":
            self.path = self.path.with_name(f"{self.name}-{night}{self.end}")
        elif what == "moved":
            self.path = self.path.parent / str(night) / self.path.name
            self.path.parent.mkdir()
        elif what == "gone":
            self.path.unlink()
        elif what == "cut":
            data = self.path.read_bytes()
            self.path.write_bytes(data[: len(data) // 2])
        if self.path != before:
            before.rename(self.path)


@pytest.mark.prove
def test_ten_nights_of_failures(place: Path) -> None:
    """Killed, without a model, on a full disk, twice at once, the clock set back, in other zones, over logs that are
    renamed, moved, cut and gone: every turn is examined once, every fact stands once, and each night can be undone."""
    chance = random.Random(int(os.environ.get("TARS_PROVE_SEED", "7")))
    talks = [Grown(place / "logs", name) for name in FORMS]
    down = {"TARS_MEMORY_LLM_MODEL": "openai/none", "TARS_MEMORY_LLM_ENDPOINT": "http://127.0.0.1:9/v1"}
    states = []
    for night in range(10):
        for talk in talks:
            if not night or chance.random() < 0.5:
                talk.grow(chance.randint(0, 3) if night else 4, chance)
        now = START + timedelta(days=night if chance.random() < 0.8 else -night, minutes=chance.randint(0, 600))
        with opened(place, now) as memory:
            memory.workspace.store().recover()
        states.append(files(place))
        ill, what = chance.choice(talks), chance.choice(["well", "renamed", "moved", "gone", "cut", "away"])
        ill.suffer(what, night)
        if what == "away":
            (place / "logs").rename(place / "away")
        kind = chance.choice(["kill", "kill", "model", "twice", "full", "good"])
        fine = 3 if what in ("away", "cut") else 0
        bad_night(place, kind, now, chance, down, {0, fine})
        if what == "away":
            (place / "away").rename(place / "logs")
        ill.save()
        assert max(kept(place).values(), default=1) == 1
        assert kept(place) <= expected(talks)
    assert start(place, START + timedelta(days=11), "UTC").wait() == 0
    assert kept(place) == expected(talks)
    for talk in talks:
        texts = [path.read_text() for path in (place / "vault" / "sessions").glob("*.md")]
        facts = [text.partition("\n## Facts\n")[2] for text in texts]  # a summary quotes what it opens with
        assert sum(f"{talk.said[0]}." in told for told in facts) == 1
        # One note, unless a night read it first when it was cut in the midst of a line: the whole line is another turn.
        box = f"{talk.name.capitalize()} box"
        assert any(f"\nturns: {len(talk.talk)}\n" in text and box in text for text in texts)
    before = {path: path.stat().st_mtime_ns for path in (place / "vault").rglob("*")}
    assert start(place, START + timedelta(days=11), "UTC").wait() == 0
    assert {path: path.stat().st_mtime_ns for path in (place / "vault").rglob("*")} == before
    with opened(place, START + timedelta(days=12)) as memory:
        while True:
            try:
                nights.undo(memory)
            except NotFoundError:
                break
            while states[-1] != files(place):
                states.pop()
    assert states and files(place) == states[0]


def bad_night(
    place: Path, kind: str, now: datetime, chance: random.Random, down: dict[str, str], codes: set[int]
) -> None:
    zone = chance.choice(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
    processes = [start(place, now, zone, **(down if kind == "model" else {})) for _ in range(1 + (kind == "twice"))]
    if kind == "kill":
        time.sleep(chance.uniform(0.05, 2.5))
        processes[0].send_signal(signal.SIGKILL)
    elif kind == "full":
        limit = chance.choice([200, 1000, 4096])
        __import__("resource").prlimit(processes[0].pid, __import__("resource").RLIMIT_FSIZE, (limit, limit))
    for process in processes:
        told = process.communicate()[1]
        assert b"Traceback" not in told and b"this is a bug" not in told, told
        allowed = {"kill": {-9}, "model": {3}, "twice": {5}, "full": {3, 5}}.get(kind, set())
        assert process.returncode in codes | allowed, (kind, told)


def test_what_somebody_typed_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def log(name: str, **more: str) -> None:
        said = [("user", f"{name} holds {n} buttons") if n % 2 else ("assistant", "ah") for n in range(8)]
        rows = [
            {"type": role, "uuid": f"{name}{n}", "sessionId": name, "timestamp": START.isoformat(), **more,
             "message": {"role": role, "content": text}}
            for n, (role, text) in enumerate(said)
        ]  # fmt: skip
        (place / "logs" / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    for number in range(6):
        log(f"a{number}", entrypoint="sdk-cli")
        log(f"b{number}", entrypoint="cli")
    asked: list[str] = []

    def answer(prompt: Prompt) -> str:
        asked.append(re.findall(r"\b[ab]\d holds", prompt.user)[0][:2])
        return '{"facts": []}'

    model = ScriptedLLM(answer)
    monkeypatch.setattr(nights, "open_model", lambda *_: model)
    with opened(place, START) as memory:
        nights.sleep(memory, [str(place / "logs")])
    assert asked == [f"{by}{number}" for by in "ba" for number in range(6)]


def test_one_that_always_fails_keeps_no_other_from_its_turn(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    talks = [Talk(place / "logs", name, START) for name in ("anchor", "barrel", "cellar", "garden", "harbour")]
    for talk in talks:
        talk.grow(4, chance)
    draw, asked = drawing.draw, []

    def poisoned(transcript: Any, *rest: Any, **more: Any) -> Any:
        asked.append(transcript.id)
        if transcript.id in ("anchor", "barrel", "cellar"):
            raise ModelUnavailableError("no usable answer")
        return draw(transcript, *rest, **more)

    monkeypatch.setattr(drawing, "draw", poisoned)
    for day, told in ((0, "2 sources wait for the next night"), (1, "cellar.jsonl: no usable answer")):
        with opened(place, START + timedelta(days=day)) as memory:
            night = nights.sleep(memory, [str(place / "logs")])
        assert night.failed and told in night.steps[0].error
    assert kept(place) == expected(talks[3:])
    assert asked == ["anchor", "barrel", "cellar", "garden", "harbour", "anchor", "barrel", "cellar"]
    monkeypatch.undo()
    with opened(place, START + timedelta(days=2)) as memory:
        assert not nights.sleep(memory, [str(place / "logs")]).failed
    assert kept(place) == expected(talks)


def test_what_cannot_be_read_one_night_is_read_the_next(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(place / "logs", "harbour", START)
    talk.grow(5, random.Random(1))
    os.mkfifo(place / "logs" / "pipe")
    open_ = os.open

    def refused(path: Any, *rest: Any, **named: Any) -> int:
        if str(path).endswith("harbour.jsonl"):
            raise PermissionError(13, "Permission denied", str(path))
        return open_(path, *rest, **named)

    with monkeypatch.context() as patch, opened(place, START) as memory:
        patch.setattr(os, "open", refused)
        night = nights.sleep(memory, [str(place / "logs")])
    assert "harbour.jsonl can't be read: Permission denied" in night.steps[0].error and not kept(place)
    with opened(place, START + timedelta(days=1)) as memory:
        assert not nights.sleep(memory, [str(place / "logs")]).failed
    assert kept(place) == expected([talk])


@pytest.mark.parametrize(("named", "told"), [("logs", ["user.json"]), ("logs/chat.html", ["chat.html"])])
def test_pages_and_pictures_beside_logs_are_no_failure(place: Path, named: str, told: list[str]) -> None:
    (place / "logs").mkdir(exist_ok=True)
    for name in ("chat.html", "picture.png", "user.json"):
        (place / "logs" / name).write_text('{"email": "anna"}\n')
    with opened(place, START) as memory:
        error = nights.sleep(memory, [str(place / named)]).steps[0].error
    assert [name for name in ("chat.html", "picture.png", "user.json") if name in error] == told


def test_a_killed_night_is_a_night_and_others_writes_are_not(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    talk = Talk(place / "logs", "harbour", START)
    talk.grow(4, chance)
    empty = files(place)
    with opened(place, START) as memory, monkeypatch.context() as patch:
        patch.setattr(Memory, "review", lambda self: os._exit(9))
        if (child := os.fork()) == 0:
            nights.sleep(memory, [str(place / "logs")])
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    killed = files(place)
    assert kept(place) == expected([talk])
    other = Talk(place, "garden", START)
    other.grow(4, chance)
    with opened(place, START + timedelta(hours=1)) as memory:
        memory.extract([str(other.path)])
    by_hand = files(place)
    talk.grow(4, chance)
    with opened(place, START + timedelta(days=1)) as memory:
        nights.sleep(memory, [str(place / "logs")])
    with opened(place, START + timedelta(days=2)) as memory:
        nights.undo(memory)
        assert files(place) == by_hand
        memory.undo()
        assert files(place) == killed
        nights.undo(memory)
        with pytest.raises(NotFoundError):
            nights.undo(memory)
    assert killed != empty and files(place) == empty


def test_a_clock_without_its_battery_does_not_let_candidates_expire(place: Path) -> None:
    talk = Talk(place / "logs", "harbour", START - timedelta(days=400))
    for now in (START, START - timedelta(days=9000), START + timedelta(days=1)):
        talk.grow(4, random.Random(1))
        with opened(place, now) as memory:
            assert not nights.sleep(memory, [str(place / "logs")]).failed
    with opened(place, START + timedelta(days=1)) as memory:
        assert offered(memory) == len(talk.said)


def test_a_folder_that_was_removed_under_a_job(place: Path) -> None:
    talk = Talk(place / "logs", "harbour", START)
    talk.grow(4, random.Random(1))
    gone = place / "gone"
    gone.mkdir()
    said = {"PATH": os.environ["PATH"], "TARS_MEMORY_HOME": str(place / "home")}
    # As the installed program, which imports nothing from the current folder (-P): Python 3.13 can't, if that is gone.
    words = [sys.executable, "-P", "-c", PROGRAM, "--vault", str(place / "vault"), "sleep", str(place / "logs")]
    script = 'rmdir "$0"; exec "$@" <&- >/dev/null 2>&-'
    assert subprocess.run(["sh", "-c", script, str(gone), *words], cwd=gone, env=said).returncode == 0
    assert kept(place) == expected([talk])


def test_a_model_that_was_never_fetched_is_told_and_no_failure(place: Path) -> None:
    Talk(place / "logs", "harbour", START).grow(4, random.Random(1))
    said = {"TARS_MEMORY_HOME": str(place / "home"), "TARS_MEMORY_EMBEDDING_MODEL": "BAAI/bge-small-en-v1.5"}
    with Memory(place / "vault", actor="cron", now=START, env=said) as memory:
        night = nights.sleep(memory, [str(place / "logs")])
    assert not night.failed and night.steps[-1].counts["changed"]
    assert [notice for notice in night.notices if "words only" in notice]
