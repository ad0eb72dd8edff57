"""Credentials that unattended commands are given, or that stand in notes, are in nothing that this program writes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import forked
import pytest
from curation import warm
from curation.loopback import Loopback, made
from forked import program
from traces import left

from bench.seeded import SHAPED, credentials
from tars_memory.doors.tools import Tools
from tars_memory.errors import UnwritableError
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault import secrets
from tars_memory.vault.writing.system import VaultLock

SEEDED = list(credentials(seed=11, each=1))
VALUES = [value for _, value, _ in SEEDED if not value.isdigit()]


def opened(tmp_path: Path, notes: dict[str, str] | None = None, actor: str = "agent") -> Memory:
    vault = tmp_path / "vault"
    if not vault.exists():
        make_vault(vault, notes or {})
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_STORE_LOCK_TIMEOUT": "0"}
    return Memory(vault, actor=actor, env=env, embedder=HashEmbedder())  # type: ignore[arg-type]


def answer(memory: Memory, text: str) -> str:
    """What a search says, but for the query that it repeats."""
    return json.dumps({**memory.search(text).as_dict(), "query": ""}, default=str)


def test_over_a_hundred_credentials_in_over_a_hundred_formats_are_tried() -> None:
    assert len(VALUES) >= 100
    assert len({name for name, _, _ in SEEDED}) >= 100


def test_an_unattended_writer_leaves_none(tmp_path: Path) -> None:
    memory = opened(tmp_path, {"Memory.md": "# Memory\n\n## Notes\n- tea\n"})
    told: list[str] = []
    for number, (_, _, text) in enumerate(SEEDED):
        ways = (
            lambda text: memory.remember(text, section=text if len(text) < 150 else None),
            memory.log,
            lambda text: memory.feedback(False, "wrong", question=text, answer=text),
            lambda text: memory.edit("tea", text),
            lambda text: memory.remember(text, tier="procedural"),
            lambda text: memory.add_fact("Anna", "said", text),
        )
        receipt = ways[number % len(ways)](text)
        told += [receipt.text, *receipt.notices]
        if number % len(ways) == 3:
            memory.edit(receipt.ref, "tea")
    memory.reindex()
    for _, value, text in SEEDED[::5]:
        told += [answer(memory, text), memory.context(value).text]
    memory.close()
    assert not left(VALUES, tmp_path, besides=told)
    assert any("masked before it was written" in one for one in told)


def test_a_label_in_another_argument_counts(tmp_path: Path) -> None:
    memory = opened(tmp_path, {"Memory.md": "# Memory\n"})
    memory.add_fact("Anna", "wifi password", "pzFact1!")
    memory.remember("bank qwSec55!", section="Passwords")
    memory.remember("Sunflower42", tags=["password"])
    memory.add_fact("Anna", "moved to", "Cork in 2027")
    memory.remember("meets Bob at 17:05", section="Work")
    memory.close()
    assert not left(["pzFact1!", "qwSec55!", "Sunflower42"], tmp_path)
    assert left(["Cork in 2027"], tmp_path) and left(["meets Bob at 17:05"], tmp_path)


def test_what_waits_in_the_spool_holds_none_and_places_none(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    memory.log("first")
    store = memory.workspace.store()
    with VaultLock(store.state / "lock", timeout=1, command="test").held():
        for _, _, text in SEEDED[::4]:
            with pytest.raises(UnwritableError):
                memory.log(text)
    assert not left(VALUES, tmp_path)
    memory.log("later")
    assert "(masked " in next((tmp_path / "vault").glob("*.md")).read_text("utf-8")
    memory.close()
    assert not left(VALUES, tmp_path)


def test_credentials_that_stand_in_notes_get_into_no_index(tmp_path: Path) -> None:
    values = VALUES[:60]
    texts = [text for _, value, text in SEEDED if value in values]
    flat = [value for name, value, _ in SEEDED if name in SHAPED and value in values and "\n" not in value]
    body = "\n\n".join(f"## Part {number}\n\n{text}\n\n- point\n  - {text}" for number, text in enumerate(texts))
    long = "word " * 150 + " ".join(text for text in texts if "\n" not in text)
    front = "---\ntitle: " + json.dumps(flat[0]) + "\ntags: [a, b]\nkeys:\n"
    front += "".join(f"  - {json.dumps(value)}\n" for value in flat) + "---\n"
    notes = {
        "Keys.md": f"# Keys\n\n{body}\n\n```\n{body}\n```\n",
        "Long.md": long,
        "Front.md": front + "text\n",
        "Headings.md": "\n\n".join(f"# {value}\n\nbelow" for value in flat),
        "Table.md": "| a | b |\n| - | - |\n" + "\n".join(f"| key | {value} |" for value in flat),
        "Crlf.md": body.replace("\n", "\r\n"),
        "Memory.md": "# Memory\n\n## Notes\n" + "\n".join(f"- {value}" for value in flat) + "\n- milk\n",
    }
    memory = opened(tmp_path, notes)
    memory.reindex()
    memory.log("tea")
    memory.remember("oolong")
    told = [answer(memory, text) for text in ("part point", "keys", "below", *flat[::9])]
    told.append(memory.context("part point keys").text)
    found = memory.doctor()["findings"]
    told.append(json.dumps(found))
    embedder = memory.workspace.embedder
    assert isinstance(embedder, HashEmbedder)
    told += embedder.texts
    memory.close()
    assert not left(values, tmp_path / "home", besides=told)
    assert len([one for one in found if one["kind"] == "secret"]) >= len(values)


def test_credentials_beside_a_written_line_get_into_no_journal_and_the_write_is_undone(tmp_path: Path) -> None:
    lines = ["- gmail: Rabbit2024!x (password)", "- tea", "- door code: 4471", "- milk", "- Honig77xy"]
    note = "# Memory\n\n## Notes\n" + "\n".join(lines[:-1]) + "\n\n## Password\n" + lines[-1] + "\n- rice\n"
    note += "- name: DB_PASSWORD\n  value: hunter22\n- corn\n"
    memory = opened(tmp_path, {"Memory.md": note}, actor="person")
    memory.edit("milk", "oat milk")
    memory.forget("tea")
    memory.forget("rice")
    memory.forget("corn")
    memory.close()
    assert not left(["Rabbit2024!x", "4471", "Honig77xy", "hunter22"], tmp_path / "home")
    path = tmp_path / "vault" / "Memory.md"
    path.write_text("by hand\n" + path.read_text("utf-8"), "utf-8")  # the lines are found by those beside them
    memory = opened(tmp_path, actor="person")
    memory.undo(last=4)
    assert path.read_text("utf-8") == "by hand\n" + note


def test_a_hit_beside_a_credential_is_found_and_shown_with_it_masked(tmp_path: Path) -> None:
    key = next(value for name, value, _ in SEEDED if name == "github token")
    note = f"# Accounts\n\nintro\n\n- the harbour account uses {key} since May\n"
    memory = opened(tmp_path, {"Accounts.md": note})
    (hit,) = [hit for hit in memory.search("harbour account").hits if hit.path == "Accounts.md"]
    assert "harbour account uses (masked github token) since May" in hit.text
    (tmp_path / "vault" / "Accounts.md").write_text("moved\n\n" + note, "utf-8")
    hit = memory.search("harbour account").hits[0]
    assert "(masked github token)" in hit.text
    assert hit.end_line == 7
    memory.close()
    person = Memory(
        tmp_path / "vault",
        actor="person",
        interactive=True,
        env={"TARS_MEMORY_HOME": str(tmp_path / "home")},
        embedder=HashEmbedder(),
    )
    assert key in person.search("harbour account").hits[0].text
    assert "(masked github token)" in person.context("harbour account").text
    person.close()
    assert not left([key], tmp_path / "home")


def test_the_command_line_leaves_none_in_answers_logs_and_traces(tmp_path: Path) -> None:
    make_vault(tmp_path / "vault", {"Memory.md": "# Memory\n\n## Notes\n- old words\n"})
    env = {
        "PATH": os.environ["PATH"],
        "TARS_MEMORY_HOME": str(tmp_path / "home"),
        "TARS_MEMORY_EMBEDDING_MODEL": "none",
    }
    said = b""
    some = [one for one in SEEDED if "\n" not in one[1]][::19]
    for number, (_, _, text) in enumerate(some):
        command = (
            ["remember", text],
            ["log", text, "--json"],
            ["feedback", "bad", text],
            ["edit", "old words", text, "--dry-run"],
            ["search", text, "--json", "--mode", "lexical"],
            ["remember", "--tag", text, "tea"],
        )[number % 6]
        words = program("--vault", str(tmp_path / "vault"), *command)
        done = forked.run(words, env=env)
        said += done.stdout + done.stderr
    (tmp_path / "vault" / "Own.md").write_text("\n".join(f"- mine: {text}" for _, _, text in some), "utf-8")
    for command in (["doctor"], ["doctor", "--json"], ["history", "--json"], ["log"], ["list", "--json"], ["context"]):
        words = program("--vault", str(tmp_path / "vault"), *command)
        done = forked.run(words, env=env)
        assert b"Traceback" not in done.stderr
        said += done.stdout + done.stderr
    assert b"Own.md:1: " in said
    (tmp_path / "vault" / "Own.md").unlink()
    values = [value for _, value, _ in some if not value.isdigit()]
    assert not left(values, tmp_path, besides=[said.decode("utf-8", "replace")])


def test_a_bug_saves_a_trace_without_it(tmp_path: Path) -> None:
    key = next(value for name, value, _ in SEEDED if name == "anthropic key")
    code = (
        "import sys; from tars_memory.memory import Memory\n"
        "def fail(self, text, **more): raise RuntimeError('lost ' + text)\n"
        "Memory.remember = fail\n"
        "from tars_memory.doors.cli.app import run; sys.exit(run(sys.argv[1:]))"
    )
    make_vault(tmp_path / "vault")
    env = {"PATH": os.environ["PATH"], "TARS_MEMORY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path.cwd())}
    words = [sys.executable, "-c", code, "--vault", str(tmp_path / "vault"), "remember", f"key {key}"]
    done = subprocess.run(words, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 70
    traces = list((tmp_path / "home").rglob("crash-*.txt"))
    assert len(traces) == 1
    assert "(masked anthropic key)" in traces[0].read_text("utf-8")
    assert not left([key], tmp_path, besides=[done.stdout.decode(), done.stderr.decode()])


@pytest.mark.parametrize("asks", ["a model over HTTP", "the rules"])
def test_conversations_full_of_them_leave_none_in_notes_requests_and_state(
    tmp_path: Path, asks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.install(monkeypatch)
    turns = []
    for number, (name, _, text) in enumerate(SEEDED):
        said = (f"Remember that the {name} is this: {text}", f"I prefer {text}", f"We decided to use {text}.")[
            number % 3
        ]
        turns += [{"role": "user", "content": said, "name": "Anna"}, {"role": "assistant", "content": f"Noted: {text}"}]
    log = "".join(json.dumps(turn) + "\n" for turn in turns).encode()

    def echo(body: dict[str, Any]) -> str:
        """A model that repeats all that it was sent, and what it wasn't."""
        sent = str(body["messages"][-1]["content"])
        words = [*sent.split("\n"), *(text for _, _, text in SEEDED[:20])]
        return json.dumps({"summary": sent[:2000], "facts": [
            {"text": word[:400], "quote": word[:400], "turn": number} for number, word in enumerate(words, 1) if word
        ][:100], "topics": words[:10], "decisions": words[:10], "open_ends": words[:10]})  # fmt: skip

    with Loopback([made(echo)]) as server:
        env = server.env() if asks == "a model over HTTP" else {}
        make_vault(tmp_path / "vault", {"Memory.md": "# Memory\n"})
        env = {**env, "TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_MEMORY_LLM_MAX_CALLS": "200"}
        memory = Memory(tmp_path / "vault", actor="agent", env=env, embedder=HashEmbedder())
        done = memory.extract([io.BytesIO(log)], keep="full")
        memory.reindex()
        told = [str(done), *(json.dumps(each.as_dict(), default=str) for each in memory.review().gather().proposals)]
        told += [request.data.decode("utf-8", "replace") for request in server.requests]
        memory.close()
    assert len(list((tmp_path / "vault" / "sessions").glob("*.md"))) == 1
    assert bool(server.requests) == (asks == "a model over HTTP")
    assert not left(VALUES, tmp_path, besides=told)


CODES = ("4f3a1-9bc2d", "7e21c-0a9b8", "11aa2-3bb4c", "5d6e7-f8a9b")
SEEDS = ("zebra lemon river stone apple table", "hollow candle market silver window garden")
LINES_OF_KEY = ("MHcCAQEEIKqzl1ZT0uPQwErTyUiOpAsDfGhJkLzXcVbNmQ12", "oAoGCCqGSM49AwEHoUQDQgAE9876asdfqwerzxcv")
OVER_LINES = (
    "## Notes\n- GitHub recovery codes:\n"
    + "".join(f"  - {code}\n" for code in CODES)
    + "- seed phrase\n"
    + "".join(f"  - {words}\n" for words in SEEDS)
    + "\n## Key\n- -----BEGIN EC PRIVATE KEY-----\n"
    + "".join(f"- {part}\n" for part in LINES_OF_KEY)
    + "- -----END EC PRIVATE KEY-----\n- the kettle is blue\n"
)


def test_a_line_alone_is_masked_as_it_is_among_the_others(tmp_path: Path) -> None:
    vault = make_vault(
        tmp_path / "vault", {"Memory.md": OVER_LINES, "Facts.md": "## Password\n- Wi-Fi:: hunter22XyZ\n"}
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    lines = [
        number
        for number, text in enumerate(OVER_LINES.split("\n"), 1)
        if text.endswith((*CODES, *SEEDS, *LINES_OF_KEY))
    ]
    commands = [
        ["context"], ["list"], ["list", "--json"], ["facts"], ["facts", "--json"], ["tidy"], ["tidy", "--json"],
        ["sql", "select text from entries"], ["sql", "select * from facts"],
        ["show", "e"], ["show", "e", "--json"], ["headings", "Memory"],
        *(
            [*command, f"Memory.md:{line}", *more]
            for line in lines[::3]
            for command in (["show"], ["why"], ["forget", "--dry-run"])
            for more in ([], ["--json"])
        ),
        ["forget", f"Memory.md:{lines[0]}"], ["undo"], ["history", "--json"], ["history"], ["export", "../all.db"],
    ]  # fmt: skip
    for command in commands:
        done = forked.run(program("--vault", str(vault), *command), env=env, cwd=vault, text=True)
        said = (
            done.stdout + done.stderr + "".join(path.read_text("utf-8", "replace") for path in tmp_path.glob("all.db"))
        )
        assert "Traceback" not in said
        leaked = [words for words in (*CODES, *SEEDS, *LINES_OF_KEY) if words in said]
        if command[0] in ("facts", "sql") and "facts" in command[-1] + command[0]:
            leaked += ["hunter22XyZ"] * ("hunter22XyZ" in said)
        assert not leaked, (command, said)
        if command == ["list"]:
            assert "the kettle is blue" in said
            assert said.count("(masked recovery code)") == len(CODES)
    tools = Tools(lambda said: Memory(vault, actor="agent", env={**env, **said}))
    assert tools.call("memory_why", {"target": f"Memory.md:{lines[0]}"})["text"] == "(masked recovery code)"


def test_what_is_told_of_a_former_line_is_masked_as_it_was_in_its_note(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault", {"Memory.md": OVER_LINES, "Procedural.md": OVER_LINES})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    line = OVER_LINES.split("\n").index(f"  - {CODES[1]}") + 1

    def says(*command: str) -> str:
        done = forked.run(program("--vault", str(vault), *command), env=env, cwd=vault, text=True)
        said = str(done.stdout + done.stderr)
        assert "Traceback" not in said
        assert not [words for words in (*CODES, *SEEDS, *LINES_OF_KEY) if words in said], (command, said)
        return said

    history = (["history"], ["history", "--json"])
    for command in (
        ["forget", f"Procedural.md:{line}"], ["forget", f"Procedural.md:{line + 1}", "--json"],
        ["review"], ["review", "--json"], *history,
        ["forget", f"Memory.md:{line}"], *history, ["edit", f"Memory.md:{line}", "gone"], *history,
        ["undo", "--dry-run"], ["undo"], *history, ["undo"], *history, ["forget", f"Memory.md:{line}"],
    ):  # fmt: skip
        says(*command)
    assert says("history").count("(masked recovery code)") >= 9
    note = vault / "Memory.md"
    note.write_text(note.read_text("utf-8").replace("c2d", "c2d was").replace("2-3", "2-4"), "utf-8")
    assert "has changed" in says("undo")
    proposal = next((vault / ".tars" / "inbox").glob("*.json"))
    assert any(code in proposal.read_text("utf-8") for code in CODES)  # a person who accepts it finds the line


def test_of_writes_whose_lines_still_stand_only_the_note_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened(tmp_path)
    for number in range(6):
        memory.log(f"the password of site {number} is Sunflower4{number}")
    searched: list[str] = []
    taken = secrets.taken
    monkeypatch.setattr(secrets, "taken", lambda text: searched.append(text) or taken(text))
    told = memory.history(masked=True)
    assert len(searched) == len({write.file for write in told}) and len(told) >= 6
    assert "Sunflower" not in str(told)


def test_the_words_of_a_timed_line_are_masked_without_their_time(tmp_path: Path) -> None:
    words = (" ".join(SEEDS)).split()
    lines = "".join(f"- 09:{number:02} {word}\n" for number, word in enumerate(words, 1))
    note = f"## Log\n- 09:00 seed phrase:\n{lines}- 10:00 tea with Anna\n"
    vault = make_vault(tmp_path / "vault", {"2026-11-20.md": note})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    for command in (["sql", "select text from entries"], ["list", "--tier", "daily"], ["show", "2026-11-20.md:6"]):
        done = forked.run(program("--vault", str(vault), *command), env=env, cwd=vault, text=True)
        assert not [word for word in words if word in done.stdout], (command, done.stdout)
        assert ("tea with Anna" in done.stdout) == (command[0] != "show")


def test_a_code_of_a_list_is_proposed_and_compared_masked(tmp_path: Path) -> None:
    lines = "".join(f"- 09:0{at} [extracted] {code}\n" for at, code in enumerate(CODES, 1))
    note = f"## Log\n- 09:00 GitHub recovery codes:\n{lines}- 09:30 [extracted] tea with Anna\n"
    memory = f"## Recovery codes\n- {CODES[0]}\n- {CODES[1]}\n\n## Notes\n- Anna drinks coffee\n"
    vault = make_vault(tmp_path / "vault", {"2026-11-20.md": note, "Memory.md": memory})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    env["TARS_NOW"] = "2026-11-20T18:00"
    prompts = [[*asked, "--print-prompt"] for asked in (["review"], ["tidy"], ["tidy", "--curate"])]
    for command in (["review"], ["review", "--json"], *prompts, ["review", "--note"], ["log"]):
        done = forked.run(program("--vault", str(vault), *command), env=env, cwd=vault, text=True)
        assert "Anna" in done.stdout or "--note" in command, (command, done.stdout, done.stderr)
        assert not [code for code in CODES if code in done.stdout + done.stderr], (command, done.stdout)
    assert not [code for code in CODES if code in (vault / "Review.md").read_text("utf-8")]


def test_a_code_that_tidy_takes_out_of_its_list_is_told_masked(tmp_path: Path) -> None:
    lines = "".join(f"  - {code}\n" for code in (*CODES, CODES[1]))
    vault = make_vault(tmp_path / "vault", {"Memory.md": f"## Notes\n- GitHub recovery codes:\n{lines}- tea\n"})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    for command in (["tidy"], ["tidy", "--apply"], ["history"], ["list"], ["search", "recovery"], ["undo"]):
        done = forked.run(program("--vault", str(vault), *command), env=env, cwd=vault, text=True)
        assert not [code for code in CODES if code in done.stdout + done.stderr], (command, done.stdout, done.stderr)
    assert (vault / "Memory.md").read_text("utf-8").count(CODES[1]) == 2


def test_a_candidate_keeps_its_words_whatever_a_pin_beside_it_is(tmp_path: Path) -> None:
    said = ["Anna moves to Cork in 2027", "Anna moves to Cork in 2028", "The flat costs 20275 euros since 2027-01-05"]
    lines = "".join(f"- 09:00 [extracted] {text} ^d-a{at}\n" for at, text in enumerate(said))
    vault = make_vault(tmp_path / "vault", {"2026-11-20.md": f"## Log\n{lines}- 09:01 PIN: 2027\n- 09:02 PIN: 2028\n"})
    with Memory(vault, env={"TARS_MEMORY_HOME": str(tmp_path / "home"), "TARS_NOW": "2026-11-20T18:00"}) as memory:
        assert {proposal.text for proposal in memory.review().gather().proposals} == set(said)


def test_every_command_masks_a_line_where_it_stands_and_no_other_line_with_its_words(tmp_path: Path) -> None:
    said = ("Anna moves to Cork in 2027", "the flat costs 2027 euros", "door 2028 is green")
    pins = "| door | PIN |\n|---|---|\n| home | 2028 |\n"
    note = f"# Memory\n\n## Notes\n- PIN: 2027\n{''.join(f'- {text}' + chr(10) for text in said)}\n{pins}"
    daily = f"## Log\n- 09:00 {said[0]}\n- PIN: 2027\n"
    vault = make_vault(tmp_path / "vault", {"Memory.md": note, "2026-11-20.md": daily})
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TARS_MEMORY_HOME": str(tmp_path / "home")}
    env["TARS_NOW"] = "2026-11-20T18:00"
    commands = (
        ["list"], ["list", "--json"], ["sql", "select text from entries"], ["sql", "select text from lines"],
        ["search", "{words}", "--mode", "lexical"], ["search", "{words}", "--json"], ["context", "{words}"],
        ["show", "Memory.md:{}"], ["show", "Memory.md:{}", "--json"], ["why", "Memory.md:{}"],
        ["forget", "Memory.md:{}", "--dry-run"], ["edit", "Memory.md:{}", "{} or so", "--dry-run"],
        ["forget", "Memory.md:{}"], ["history", "--limit", "1"], ["history", "--limit", "1", "--json"],
        ["undo", "--dry-run"], ["undo"],
    )  # fmt: skip
    for number, text in enumerate(said, 5):
        for command in commands:
            told = {"{words}": text.translate({ord(digit): None for digit in "0278"}), "{} or so": f"{text} or so"}
            words = [told.get(word, word.replace("{}", str(number))) for word in command]
            done = forked.run(program("--vault", str(vault), *words), env=env, cwd=vault, text=True)
            assert "Traceback" not in done.stderr
            assert text in done.stdout + done.stderr, (words, done.stdout, done.stderr)
            assert "PIN: 2027" not in done.stdout and "| 2028" not in done.stdout
    forked.run(program("--vault", str(vault), "export", "../all.db"), env=env, cwd=vault, text=True)
    daily = "## Log\n- 09:00 [extracted] The gate has 2028 bars ^d-a1\n- PIN: 2028\n"
    (vault / "2026-11-20.md").write_text(daily, "utf-8")
    done = forked.run(program("--vault", str(vault), "review"), env=env, cwd=vault, text=True)
    assert "The gate has 2028 bars" in done.stdout  # it is no line of the note that it is proposed for
    exported = (tmp_path / "all.db").read_text("utf-8", "replace")
    assert all(text in exported for text in said)
    assert "PIN: 2027" not in exported and "| 2028" not in exported
