"""extract at a shell: what it prints, its exit codes, prompts for and replies from other programs."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import conversations as logs
import pytest
from curation import warm
from curation.extracting import FACTS, House, claims, spoken
from curation.loopback import Loopback, good, made

from tars_memory.curation.models import grounding
from tars_memory.doors.cli.output import Output

KEPT = [text for _, text in FACTS.values()]
ANSWER = claims(("I prefer night trains to planes.", 9), ("never said", 9))


class Answer:
    """What one call left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def chat(house: House) -> Path:
    return house.log(logs.chat_jsonl(spoken()))


@pytest.fixture
def tm(house: House, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Run a command in this process, over the real vault."""
    from tars_memory.doors.cli.app import run
    from tars_memory.doors.cli.call import Call

    def call(*argv: object, stdin: bytes = b"", **env: str) -> Answer:
        words = [str(word) for word in argv]
        monkeypatch.chdir(house.root)
        monkeypatch.setattr(sys, "argv", ["tars-memory", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        fixed = {"TERM": "xterm", "TARS_MEMORY_DIR": str(house.root), "TARS_NOW": "2026-11-25T10:00"}
        code = run(words, Call({**house.env, **fixed, **env}))
        sys.stdout.flush()
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call


def test_it_prints_where_what_stands(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    told = tm("extract", chat)
    assert told.code == 0
    rows = told.out.splitlines()
    assert rows[0].startswith("sessions/2026-11-21 1016 conversation.md:1:")
    assert rows[0].endswith(f".md:1:{chat}, 32 turns examined")
    assert [row.split(":", 2)[::2] for row in rows[1:]] == [["2026-11-21.md", text] for text in KEPT]
    for row in rows[1:]:
        path, number, text = row.split(":", 2)
        assert text in (house.root / path).read_text().splitlines()[int(number) - 1]
    assert "no language model is set" in told.err
    assert "3 candidates from 1 conversation" in told.err


def test_json_and_a_second_run(tm: Callable[..., Answer], chat: Path) -> None:
    first = json.loads(tm("extract", chat, "--json").out)
    assert [fact["text"] for session in first["sessions"] for fact in session["facts"]] == KEPT
    assert first["model"] == "rules"
    told = tm("extract", chat, "--json")
    assert told.code == 0
    assert json.loads(told.out)["sessions"] == []
    assert json.loads(told.out)["skipped"][0]["failed"] is False


def test_stdin(tm: Callable[..., Answer]) -> None:
    told = tm("extract", "-", stdin=logs.chat_jsonl(spoken()))
    assert told.code == 0
    assert len(told.out.splitlines()) == 4


def test_what_can_t_be_read_is_named_and_the_rest_is_done(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    picture = house.log(b"\x89PNG\r\n\x1a\n", "picture.png")
    told = tm("extract", picture, chat, house.logs / "missing")
    assert told.code == 3
    assert len(told.out.splitlines()) == 4
    assert "picture.png: it is not text" in told.err
    assert "missing: it can't be read" in told.err


def test_a_dry_run_by_rules(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    before = house.files()
    told = tm("extract", "--dry-run", chat)
    assert (told.code, house.files()) == (0, before)
    assert KEPT[0] in told.out
    assert "dry run: nothing was written" in told.err


def test_a_dry_run_with_a_model_prints_exactly_what_would_be_sent(
    tm: Callable[..., Answer], house: House, chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.install(monkeypatch)
    before = house.files()
    with Loopback([good(ANSWER)]) as server:
        told = tm("extract", "--dry-run", chat, **server.env())
        assert server.requests == []
        assert told.code == 0
        assert house.files() == before
        assert server.url in told.err
        assert "openai/scripted" in told.err
        assert "1 prompt" in told.err
        assert "tokens" in told.err
        shown = json.loads(tm("extract", "--dry-run", "--json", chat, **server.env()).out)
        assert shown["endpoint"] == server.url
        done = tm("extract", chat, **server.env())
        assert done.code == 0
        assert len(server.requests) == 3  # the last two ask for a second look
        sent = server.requests[0].user
    (prompt,) = shown["prompts"]
    same = [line for line in sent.splitlines() if "turns-" not in line]
    assert [line for line in prompt["user"].splitlines() if "turns-" not in line] == same
    assert "Remember that the NAS backs up at 03:15." in told.out
    assert "I prefer night trains" in done.out


def test_another_program_as_the_model(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    before = house.files()
    asked = tm("extract", "--print-prompt", chat)
    assert asked.code == 0
    assert "Remember that the NAS backs up at 03:15." in asked.out
    assert house.files() == before
    told = tm("extract", chat, "--reply", "-", stdin=f"Here you are:\n```json\n{ANSWER}\n```\n".encode())
    assert told.code == 0
    assert told.out.splitlines()[1].endswith(":I prefer night trains to planes")
    assert "1 ungrounded" in told.err
    assert "no language model" not in told.err


def test_another_program_takes_the_second_look(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    first = house.log(ANSWER.encode(), "first")
    before = house.files()
    asked = tm("extract", chat, "--print-prompt", "--reply", first)
    assert asked.code == 0
    assert house.files() == before
    shown = [json.loads(row.partition(" ")[2]) for row in asked.out.splitlines() if row[:1].isdigit()]
    assert [(each["said"], each["fact"]) for each in shown] == [
        ("I prefer night trains to planes.", None),
        ("Remember that the NAS backs up at 03:15.", None),
    ]
    look = [{"n": 1, "kind": "supposed", "alone": True, "fact": True}, {"n": 2, "kind": "task", "alone": True}]
    second = house.log(json.dumps({"verdicts": look}).encode(), "second")
    told = tm("extract", chat, "--reply", second, "--reply", first)
    assert told.code == 0
    assert [row.split(":", 2)[2] for row in told.out.splitlines()[1:]] == ["The NAS backs up at 03:15"]
    assert "1 supposed" in told.err
    listed = tm("review", "--left-out")
    name, *rest = listed.out.rstrip("\n").split("\t")
    assert rest == ["2026-11-21", "supposed", "I prefer night trains to planes"]
    assert "left out: 1 supposed" in listed.err
    known = json.loads(tm("review", "--left-out", "--json").out)
    assert (known["kinds"], known["left_out"][0]["id"]) == ({"supposed": 1}, name)
    offered = tm("review", "--offer", name)
    assert offered.code == 0
    assert offered.out.endswith(":I prefer night trains to planes\n")
    assert tm("review", "--left-out").code == 1
    assert tm("review", "--offer", name).code == 6


def test_a_model_is_checked_once(tm: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    warm.install(monkeypatch)
    with Loopback([made(lambda body: right(str(body["messages"][-1]["content"])))]) as server:
        told = tm("models", "check", **server.env())
    assert (told.code, told.out) == (0, "")
    assert "openai/scripted: 24 of 24 judged correctly" in told.err
    with Loopback([made(lambda body: right(str(body["messages"][-1]["content"]), kind="stated"))]) as server:
        told = tm("models", "check", "--json", **server.env())
    assert told.code == 1
    found = json.loads(told.out)
    assert (found["passed"], found["of"], len(found["wrong"])) == (False, 24, 24 - found["right"])


def right(asked: str, **more: str) -> str:
    """The right answer to the fixed lines of a prompt."""
    known = {one["said"]: one for one in grounding.known_lines()}
    said = [json.loads(row.partition(" ")[2])["said"] for row in asked.split("\n") if row[:1].isdigit()]
    lines = [known[each] for each in said]
    found = [{"n": n, "kind": each["kind"], "fact": each["holds"], **more} for n, each in enumerate(lines, 1)]
    return json.dumps({"verdicts": found})


def test_a_long_conversation_has_several_prompts_and_as_many_answers(tm: Callable[..., Answer], house: House) -> None:
    said = [one._replace(text=one.text + " and so on" * 60) for one in spoken(200, {})]
    said[198] = said[198]._replace(text="I sold the boat.")
    long = house.log(logs.chat_jsonl(said), "long.jsonl")
    asked = tm("extract", "--print-prompt", long)
    prompts = asked.out.split("\n\f\n")
    assert len(prompts) > 2
    assert f"{len(prompts)} prompts" in asked.err
    answers = [claims()] * (len(prompts) - 1) + [claims(("I sold the boat.", 199))]
    files = [house.log(text.encode(), f"answer{number}") for number, text in enumerate(answers)]
    told = tm("extract", long, *[word for file in files for word in ("--reply", file)])
    assert told.code == 0, told.err
    assert "I sold the boat" in told.out
    tm("undo")
    told = tm("extract", long, "--reply", house.log("\n\f\n".join(answers).encode(), "all"))
    assert "I sold the boat" in told.out


@pytest.mark.parametrize(
    "reply",
    [
        ANSWER[:80].encode(),
        ANSWER[:-30].encode(),
        b"",
        b"I can't do that.",
        b"<html><body>502</body></html>",
        b"{" * 5000,
    ],
)
def test_an_unusable_reply_writes_nothing(tm: Callable[..., Answer], house: House, chat: Path, reply: bytes) -> None:
    before = house.files()
    told = tm("extract", chat, "--reply", "-", stdin=reply)
    assert told.code == 7
    assert house.files() == before
    assert "Traceback" not in told.err


def test_a_model_that_fails_later(tm: Callable[..., Answer], house: House) -> None:
    for number in (1, 2):
        house.log(logs.chat_jsonl(spoken(topic=f"t{number}")), f"{number}.jsonl")
    told = tm("extract", house.logs, "--reply", "-", "--json", stdin=ANSWER.encode())
    assert told.code == 3
    assert len(json.loads(told.out)["sessions"]) == 1
    assert "has 1 answer" in told.err


def test_by_itself(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    before = house.files()
    told = tm("extract", "--auto", "--quiet", chat, TARS_AUTO_EXTRACT="0")
    assert (told.code, told.out, told.err) == (0, "", "")
    assert house.files() == before
    assert tm("extract", chat, TARS_AUTO_EXTRACT="0").out
    assert house.files() != before


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("-", "--reply", "-"),
        ("x", "--print-prompt", "--reply", "x"),
        ("x", "--keep", "all"),
        ("x", "--reply", "missing.json"),
    ],
)
def test_what_makes_no_sense_is_refused(tm: Callable[..., Answer], house: House, words: tuple[Any, ...]) -> None:
    before = house.files()
    assert tm("extract", *words).code == 2
    assert house.files() == before


def test_nothing_is_there_to_extract_from(tm: Callable[..., Answer], house: House) -> None:
    told = tm("extract", house.logs)
    assert told.code == 3
    assert "the folder is empty" in told.err


def test_undo_takes_it_back_and_history_names_it(tm: Callable[..., Answer], house: House, chat: Path) -> None:
    before = house.files()
    tm("extract", chat)
    assert "extract" in tm("history").out
    assert tm("undo").code == 0
    assert {path: data for path, data in house.files().items() if path != ".tars/vault-id"} == {
        path: data for path, data in before.items() if path != ".tars/vault-id"
    }


def test_what_failed_is_told_however_much_was_passed_over(tm: Callable[..., Answer], tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.jsonl").write_bytes(logs.chat_jsonl(logs.talk(2, topic=f"topic {number}")))
    (folder / "users.json").write_text('[{"uuid": "1", "full_name": "x"}]')
    told = tm("extract", folder)
    assert told.code == 3
    assert "users.json: its JSON with" in told.err
    assert "4 more conversations" in told.err


@pytest.mark.parametrize("command", ["extract", "import"])
def test_a_pipe_without_a_writer_is_waited_for_and_named_on_a_terminal(
    house: House, tm: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    told: list[str] = []
    opened = threading.Event()
    pipe = house.logs / "named"
    os.mkfifo(pipe)

    def progress(phase: str, *_: int) -> None:
        told.append(phase)
        opened.set()

    def write() -> None:
        assert opened.wait(20), "it says so before it waits"
        pipe.write_bytes(logs.chat_jsonl(spoken()) if command == "extract" else b"# Rules\n\n- Always use tabs.\n")

    monkeypatch.setattr(Output, "progress", lambda _: progress)
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    done = tm(command, pipe, *(["--format", "instructions"] if command == "import" else []))
    writer.join()
    assert (done.code, told) == (0, [f"waiting for {pipe}"])
    assert ("NAS backs up" if command == "extract" else "Always use tabs") in done.out
    log = house.log(logs.chat_jsonl(spoken()), "file.jsonl")
    assert tm(command, log, *(["--format", "instructions"] if command == "import" else [])).code in (0, 3)
    assert told == [f"waiting for {pipe}"]


def test_the_commands_to_take_conversations_back_name_their_projects(house: House, tm: Callable[..., Answer]) -> None:
    for number, name in enumerate(("", "boat", "a boat")):
        work = house.base / f"work{number}"
        work.mkdir()
        (work / ".tars-project").write_text(name or "none")
        said = logs.claude_code(spoken(topic=f"topic {number}"), session=f"session {number}")
        house.log(said.replace(b"/home/anna/code", str(work).encode()), f"{number}.jsonl")
    told = tm("extract", "--model", "none", house.logs).err
    assert "write: undo them with tars-memory undo --last 1 and undo --last 1 --project 'a boat' and " in told
    assert tm("undo", "--last", "1", "--project", "a boat").code == 0
    assert not [*house.root.glob("projects/a boat/**/*.md")] and [*house.root.glob("projects/boat/**/*.md")]
