"""A person who types a credential is asked on a real terminal what shall become of it."""

from __future__ import annotations

import json
import locale
import os
import select
import subprocess
import time
from pathlib import Path

import pytest
from cli.dialogue import Dialogue
from cli.terminal import environment, program, started

from tars_memory.doors.cli.call import Call

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def typed(
    argv: list[str], env: dict[str, str], cwd: Path, answer: bytes, asks: bytes = b"[n] stop"
) -> tuple[int, bytes]:
    """Run on a pty and type the answer once the question stands there."""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(
        argv, stdin=follower, stdout=follower, stderr=follower, env=env, cwd=cwd, start_new_session=True
    )
    os.close(follower)
    screen, sent, deadline = b"", False, time.monotonic() + 120
    while time.monotonic() < deadline:
        ready, _, _ = select.select([leader], [], [], 0.1)
        if ready:
            try:
                screen += os.read(leader, 65536)
            except OSError:
                break
            if not sent and screen.endswith(asks + b" "):
                os.write(leader, answer)
                sent = True
        elif process.poll() is not None:
            break
    process.wait(120)
    os.close(leader)
    return process.returncode, screen


@pytest.mark.parametrize(
    ("answer", "code", "written"),
    [(b"\n", 0, "(masked github token)"), (b"m\n", 0, "(masked github token)"), (b"y\n", 0, KEY), (b"n\n", 1, None),
     (b"\x04", 0, "(masked github token)"), (b"what?\ny\n", 0, KEY), (b"\xff\nn\n", 1, None)],
)  # fmt: skip
@pytest.mark.parametrize("command", ["remember", "log"])
def test_it_is_kept_masked_or_not_written(
    tmp_path: Path, command: str, answer: bytes, code: int, written: str | None
) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    env = environment(tmp_path / "home", TERM="dumb")
    argv = program("--vault", str(vault), command, f"the deploy key is {KEY}")
    returned, screen = typed(argv, env, tmp_path, answer)
    notes = "".join(path.read_text("utf-8") for path in vault.glob("*.md"))
    assert returned == code, screen
    assert answer != b"\x04" or b"stop \r\nno answer came: that counts as Enter" in screen, "Ctrl-D ends no line"
    assert screen.count(b"that is not an answer: type m, y or n") == answer.count(b"\n") - (answer != b"\x04"), screen
    assert b"this looks like a credential: github token" in screen
    if written is None:
        assert notes == ""
        assert b"You typed: the deploy key is " + KEY.encode() in b" ".join(screen.split())
    else:
        assert f"the deploy key is {written}" in notes


@pytest.mark.parametrize(
    "words",
    [
        ("log", f"the key is {KEY}"),
        ("feedback", "bad", f"told {KEY}", "--answer", f"it is {KEY}"),
        ("remember", f"told {KEY}", "--tag", KEY),
    ],
)
def test_a_terminal_closed_at_the_question_keeps_no_credential(tmp_path: Path, words: tuple[str, ...]) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    env = environment(tmp_path / "home", TERM="dumb")
    asked = Dialogue(started("--vault", str(vault), *words), env, tmp_path)
    asked.wait_for("[n] stop")
    asked.hang_up()
    done = subprocess.run(program("--vault", str(vault), "log", "tea"), env=env, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0 and b"placed from the spool" in done.stderr
    notes = "".join(path.read_text("utf-8") for path in vault.glob("*.md"))
    assert "(masked github token)" in notes and KEY not in notes


@pytest.mark.parametrize("words", [("headings", "Memory", "--add"), ("remember", "tea", "--section")])
def test_a_heading_is_asked_about_as_well(tmp_path: Path, words: tuple[str, ...]) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Memory.md").write_text("- oolong\n")
    argv = program("--vault", str(vault), *words, f"Key {KEY}")
    returned, screen = typed(argv, environment(tmp_path / "home", TERM="dumb"), tmp_path, b"m\n")
    assert returned == 0 and b"this looks like a credential: github token" in screen
    assert "## Key (masked github token)\n" in (vault / "Memory.md").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("facts", "add", "Anna", "wifi password", "Sunflower42"),
        ("remember", "Sunflower42", "--tag", "password"),
        ("remember", "Sunflower42", "--section", "Password"),
    ],
)
def test_a_label_in_another_argument_is_asked_about_as_well(tmp_path: Path, words: tuple[str, ...]) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Memory.md").write_text("- oolong\n")
    argv = program("--vault", str(vault), *words)
    returned, screen = typed(argv, environment(tmp_path / "home", TERM="dumb"), tmp_path, b"m\n")
    assert returned == 0 and b"this looks like a credential: password" in screen
    notes = "".join(path.read_text("utf-8") for path in vault.glob("*.md"))
    assert "(masked password)" in notes and "Sunflower42" not in notes


@pytest.mark.parametrize(("answer", "written"), [(b"m\n", "- tea #green\n"), (b"y\n", f"- tea #{KEY} #green\n")])
def test_a_tag_is_asked_about_as_well(tmp_path: Path, answer: bytes, written: str) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Memory.md").write_text("- oolong\n")
    argv = program("--vault", str(vault), "remember", "tea", "--tag", KEY, "--tag", "green")
    returned, screen = typed(argv, environment(tmp_path / "home", TERM="dumb"), tmp_path, answer)
    assert returned == 0 and b"this looks like a credential: github token" in screen
    assert written in (vault / "Memory.md").read_text()


def test_an_agent_on_a_terminal_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    env = environment(tmp_path / "home", TERM="dumb", CLAUDECODE="1")
    argv = program("--vault", str(tmp_path / "vault"), "remember", f"key {KEY}")
    returned, screen = typed(argv, env, tmp_path, b"y\n")
    assert returned == 0
    assert b"masked before it was written: github token" in screen
    assert KEY not in (tmp_path / "vault" / "Memory.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("answer", "code"),
    [(b"n\n", 1), (b"y\n", 0), ("ｙ\n".encode(), 0), (b"\n", 1), (b"s\ny\n", 0), (b"ja\nno\n", 1)],
)
def test_forget_shows_what_it_would_take_out_and_asks(tmp_path: Path, answer: bytes, code: int) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Memory.md").write_text("- a walnut cupboard ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n- tea\n")
    day = vault / "2026-11-20.md"
    day.write_text("## Log\n- 10:00 [promoted] I want a walnut cupboard ^d-aaaaaaa\n- 11:00 tea\n")
    before = day.read_bytes()
    argv = program("--vault", str(vault), "forget", "a walnut cupboard")
    returned, screen = typed(argv, environment(tmp_path / "home", TERM="dumb"), tmp_path, answer, b"[y/N]")
    assert returned == code, screen
    first, *more = answer.split()[:2] or [b""]
    assert b"forget it? [y/N] " + first in screen, "the answer stands behind the question"
    assert (b"that is not an answer: type y for yes, or n for no" in screen) is bool(more), "a word of another language"
    said = b" ".join(screen.split())
    assert b"to remove:" in said and b"Memory.md:1: a walnut cupboard" in said
    assert b"2026-11-20.md:2: I want a walnut cupboard" in said
    assert (day.read_bytes() == before) is bool(code) and ("walnut" in (vault / "Memory.md").read_text()) is bool(code)


@pytest.mark.parametrize(
    ("typed", "means"),
    [("tak", True), ("T", True), ("nie", False), ("y", True), ("n", False), ("tak nie", None), ("1", None)],
)
def test_a_word_of_the_language_that_the_locale_names_is_an_answer(
    typed: str, means: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    polish = {locale.YESEXPR: "^[+1tTyY]", locale.NOEXPR: "^[-0nN]"}
    monkeypatch.setattr(locale, "nl_langinfo", polish.get)
    before, answers = locale.setlocale(locale.LC_MESSAGES), iter([typed, typed, typed])
    call = Call({})
    monkeypatch.setattr(call, "read_answer", lambda: next(answers))
    assert call.confirmed("forget it?") is bool(means)
    assert len([*answers]) == (0 if means is None else 2) and locale.setlocale(locale.LC_MESSAGES) == before


def test_forget_takes_out_what_it_showed_though_the_line_moves_while_it_asks(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    note = vault / "Memory.md"
    note.write_text("- owns a rug\n- a walnut cupboard\n- tea\n")
    env = environment(tmp_path / "home", TERM="dumb")
    call = ["--vault", str(vault)]
    subprocess.run(program(*call, "search", "walnut", "--mode", "lexical"), env=env, check=True, capture_output=True)
    for named, kept in (("1", "- owns a rug\n- tea\n"), ("Memory.md:2", "- tea\n")):
        asked = Dialogue(started(*call, "forget", named), env, tmp_path)
        asked.wait_for("[y/N] ")
        note.write_text(f"- by hand\n{note.read_text()}")
        asked.type("y\n")
        assert asked.end() == 0
        assert note.read_text().replace("- by hand\n", "") == kept


@pytest.mark.parametrize(
    ("words", "asks", "count", "said"),
    [("forget walnut", b"[y/N]", 3, b"nothing was forgotten"),
     (f"log the key {KEY}", b"[n] stop", 3, b"stopped: nothing was written. You typed: the key")],
)  # fmt: skip
def test_whoever_never_answers_is_not_asked_for_ever(
    tmp_path: Path, words: str, asks: bytes, count: int, said: bytes
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Memory.md").write_text("- a walnut cupboard\n")
    argv = program("--vault", str(vault), *words.split())
    returned, screen = typed(argv, environment(tmp_path / "home", TERM="dumb"), tmp_path, b"evet\n" * 5, asks)
    assert returned == 1 and screen.count(asks) == count, screen
    shown = b" ".join(screen.split())
    assert b"no answer after 3 questions: that counts as n" in shown and said in shown
    assert [path.name for path in vault.glob("*.md")] == ["Memory.md"]
    assert (vault / "Memory.md").read_text() == "- a walnut cupboard\n"


@pytest.mark.parametrize(("answer", "stays"), [(b"y\n1\n", False), (b"y\n\n", True), (b"y\n9\n1 x\nall\n", False)])
def test_forget_asks_which_turns_of_the_same_thing_are_withheld(tmp_path: Path, answer: bytes, stays: bool) -> None:
    vault, logs = tmp_path / "vault", tmp_path / "logs"
    vault.mkdir()
    logs.mkdir()
    (vault / "Memory.md").write_text("- a walnut cupboard\n- tea\n")
    said = {"role": "user", "content": "how do I oil a cupboard of walnut", "timestamp": "2026-11-02T10:00:00Z"}
    (logs / "a.jsonl").write_text(json.dumps(said) + "\n")
    env = environment(tmp_path / "home", TERM="dumb")
    call = program("--vault", str(vault))
    subprocess.run([*call, "sources", "add", str(logs)], env=env, check=True, capture_output=True)
    returned, screen = typed([*call, "forget", "a walnut cupboard"], env, tmp_path, answer, b"]")
    assert returned == 0, screen
    assert b"you also said about the same thing:" in screen and b"how do I oil a cupboard of walnut" in screen
    found = subprocess.run([*call, "search", "oil cupboard"], env=env, check=False, capture_output=True).stdout
    assert (b"walnut" in found) is stays
    assert (b"not withheld" in screen) is stays


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"y\n", 0)])
def test_a_hit_that_is_a_talk_is_shown_and_forgotten_by_its_number(tmp_path: Path, answer: bytes, code: int) -> None:
    vault, log = tmp_path / "vault", tmp_path / "a.jsonl"
    vault.mkdir()
    (vault / "Memory.md").write_text("- tea\n")
    said = {"role": "user", "content": "our cupboard is walnut", "timestamp": "2026-11-02T10:00:00Z"}
    log.write_text(json.dumps(said) + "\n")
    env = environment(tmp_path / "home", TERM="dumb")
    call = program("--vault", str(vault))
    for words in (["sources", "add", str(log)], ["search", "walnut"]):
        subprocess.run([*call, *words], env=env, check=True, capture_output=True)
    returned, screen = typed([*call, "forget", "1"], env, tmp_path, answer, b"[y/N]")
    assert returned == code and b"a.jsonl:1: our cupboard is walnut" in b" ".join(screen.split()), screen
    found = subprocess.run([*call, "search", "walnut"], env=env, check=False, capture_output=True).stdout
    assert (b"cupboard" in found) is bool(code) and json.loads(log.read_text()) == said
    if not code:
        returned, screen = typed([*call, "undo"], env, tmp_path, b"y\n", b"[y/N]")
        assert returned == 0 and b"found again:" in screen, screen
        subprocess.run([*call, "search", "walnut"], env=env, check=True, capture_output=True)  # it is found


@pytest.mark.parametrize("words", ["log met Anna", "facts add Anna likes tea --since 2026-11-01"])
def test_whoever_declines_a_vault_that_was_never_used_is_asked_once(tmp_path: Path, words: str) -> None:
    (tmp_path / "vault/.obsidian").mkdir(parents=True)
    env = environment(tmp_path / "home", TERM="dumb")
    returned, screen = typed(program(*words.split()), env, tmp_path / "vault", b"n\nn\n", b"[y/N]")
    assert returned == 4 and screen.count(b"[y/N]") == 1, screen
    assert b"your text is kept (" in b" ".join(screen.split())


@pytest.mark.parametrize(("answer", "folder"), [(b"\n", "Dagboek/"), (b"n\n", "")])
def test_init_asks_whether_today_goes_where_the_notes_of_days_are(tmp_path: Path, answer: bytes, folder: str) -> None:
    vault = tmp_path / "vault"
    (vault / "Dagboek").mkdir(parents=True)
    for day in (18, 19, 20):
        (vault / f"Dagboek/2026-11-{day}.md").write_text("gewandeld\n")
    env = environment(tmp_path / "home", TERM="dumb", TARS_MEMORY_BACKGROUND="0")
    returned, screen = typed(
        program("init", str(vault)), env, tmp_path, answer, asks=b"Keep today's note there, too? [Y/n]"
    )
    assert returned == 0 and b"3 notes in Dagboek are named by day. Keep" in screen
    assert (vault / ".tars/config.toml").exists() is bool(folder)
    assert typed(program("--vault", str(vault), "log", "thee"), env, tmp_path, b"")[0] == 0
    assert (vault / f"{folder}2026-11-21.md").read_text() == "## Log\n- 14:30 thee\n"
