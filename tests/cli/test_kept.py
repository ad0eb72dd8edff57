"""Whatever ends a command after words were typed: they are written once, now or by the next command that writes."""

from __future__ import annotations

import io
import json
import os
import pwd
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from platformdirs import PlatformDirs

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call
from tars_memory.memory import Memory
from tars_memory.testing import make_vault
from tars_memory.vault.change import Change
from tars_memory.vault.model import Entry
from tars_memory.vault.writing.store import WriteSession

WORDS = "the ferry to Cobh leaves at nine"


def as_bytes(text: str | bytes | None) -> bytes:
    return text if isinstance(text, bytes) else (text or "").encode()


@pytest.mark.parametrize("by", ["an error", "a path"])
def test_without_a_home_folder_the_words_are_repeated_and_a_search_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    """A container whose user has no account, and cron's environment."""
    for name in [name for name in os.environ if name.startswith(("HOME", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: (_ for _ in ()).throw(KeyError("no entry")))
    if by == "a path":  # as platformdirs did before 4.4
        monkeypatch.setattr(PlatformDirs, "user_state_dir", "~/.local/state/tars-memory")
    desk = Desk(tmp_path, capsys, monkeypatch)
    code, told = desk.call("remember", WORDS, TARS_MEMORY_HOME="")
    assert (code, "HOME is not set" in told, WORDS in told) == (5, True, True)
    code, told = desk.call("search", "fact", TARS_MEMORY_HOME="")
    assert (code, "TARS_MEMORY_HOME" in told) == (5, True)
    code, told = desk.call("remember", "--nonsense", "--stdin", stdin=WORDS, TARS_MEMORY_HOME="")
    assert (code, WORDS in told) == (2, True)
    assert desk.call("hook", stdin='{"hook_event_name": "SessionStart"}', TARS_MEMORY_HOME="")[0] == 0


class Desk:
    """A vault, and commands in this process."""

    def __init__(self, base: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self.root = make_vault(base / "vault", {"Memory.md": "## Notes\n\n- a fact to edit\n"})
        self.home = base / "home"
        self.capsys, self.patch = capsys, patch
        patch.chdir(base)

    def call(self, *argv: str, stdin: str | bytes | None = None, vault: bool = True, **env: str) -> tuple[int, str]:
        known = {"TARS_MEMORY_HOME": str(self.home), "TERM": "xterm"}
        if vault:
            known["TARS_MEMORY_DIR"] = str(self.root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_bytes(stdin))))
            code = run(list(argv), Call({**known, **env}))
        sys.stdout.flush()
        told = self.capsys.readouterr()
        return code, told.out + told.err

    def times(self, words: str = WORDS) -> int:
        """How often the words stand in notes."""
        return sum(path.read_text("utf-8").count(words) for path in self.root.rglob("*.md"))

    def config(self, text: str) -> None:
        path = self.home / "config/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def waiting(self) -> list[Path]:
        return [*self.home.rglob("spool/*.json")]

    def aside(self) -> list[str]:
        return [path.read_text() for path in self.home.glob("state/kept/*.txt")]


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, capsys, monkeypatch)


FAULTS = {
    "a bug": (lambda: RuntimeError("boom"), 70),
    "too deeply": (lambda: RecursionError("deep"), 70),
    "no memory": (lambda: MemoryError(), 70),
    "a sick disk": (lambda: OSError(5, "Input/output error"), 5),
    "Ctrl-C": (lambda: KeyboardInterrupt(), 130),
    "SIGTERM": (signal.SIGTERM, 143),
    "SIGHUP": (signal.SIGHUP, 129),
}
PLACES = {
    "before the vault is found": "tars_memory.settings.find_vault",
    "before the text is looked at": "tars_memory.workspace.Workspace.apply_pending_ticks",
    "while the text is looked at": "tars_memory.capture.remember.Caller.masked",
    "while the change is planned": "tars_memory.vault.writing.transaction.edits.spans_of",
    "before the note is touched": "tars_memory.vault.writing.protocol.same_state",
    "when the note is written": "tars_memory.vault.writing.transaction.Written.__init__",
    "when it is told": "tars_memory.capture.remember.Receipt.__init__",
}
CALLS = {
    "remember": (["remember", WORDS], None),
    "a pipe": (["remember", "--stdin"], WORDS),
    "log": (["log", WORDS], None),
    "feedback": (["feedback", "bad", WORDS], None),
    "edit": (["edit", "a fact to edit", WORDS], None),
    "facts": (["facts", "add", "Cobh", "is known for", WORDS], None),
}


def raising(fault: Callable[[], BaseException] | signal.Signals) -> object:
    def fail(*_args: object, **_more: object) -> None:
        if isinstance(fault, signal.Signals):
            os.kill(os.getpid(), fault)
            raise AssertionError("the signal ends it")
        raise fault()

    return fail


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("place", PLACES)
def test_whatever_goes_wrong_the_words_are_written_once(fault: str, place: str, desk: Desk) -> None:
    error, code = FAULTS[fault]
    reached = 0
    for number, name in enumerate(["remember"] if fault not in ("a bug", "Ctrl-C") else CALLS):
        words = f"the bus to Youghal leaves at {number} sharp"
        argv, stdin = CALLS[name]
        argv = [words if part == WORDS else part for part in argv]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PLACES[place], raising(error))
            ended, told = desk.call(*argv, stdin=stdin and words)
        if ended == 0:
            continue  # this call doesn't come by there
        reached += 1
        assert ended in (code, 5), told
        assert "your text is kept (" in told and "Traceback" not in told, told
        assert ended != 70 or "trace" in told or "crash-" in told
        desk.call("log", f"after {name}")
        _, told = desk.call("log", f"and once more after {name}")
        assert desk.times(words) == 1, (name, told)
        assert desk.waiting() == []
    assert reached


def test_an_edit_that_waits_keeps_its_target_its_tags_and_what_it_was_told_to_leave_out(desk: Desk) -> None:
    (desk.root / "Memory.md").write_text("## Notes\n- tea is green #drinks [until:: 2099-01-01]\n- coffee\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PLACES["before the text is looked at"], raising(lambda: RuntimeError("boom")))
        assert desk.call("edit", "--bare", "--tag", "pot", "tea is green", "tea", "is", "black")[0] == 70
    desk.call("log", "and on")
    assert (desk.root / "Memory.md").read_text() == "## Notes\n- tea is black #pot\n- coffee\n"
    assert desk.waiting() == []


def test_signals_are_as_before_when_a_command_has_ended(desk: Desk) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tars_memory.workspace.Workspace.apply_pending_ticks", raising(lambda: RuntimeError("boom")))
        desk.call("remember", WORDS)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


@pytest.mark.parametrize("text", ["x = [[[[[", "[store]\nlock_timeout = 'x'\n", "[capture]\nauthor = 5\n", "vault = 5"])
@pytest.mark.parametrize("name", ["remember", "a pipe", "log", "facts"])
def test_what_is_wrong_in_the_persons_own_file_costs_no_words(text: str, name: str, desk: Desk) -> None:
    desk.config(text)
    code, told = desk.call(*CALLS[name][0], stdin=CALLS[name][1], vault="vault" not in text)
    assert (code, desk.times()) == (2, 0) and "your text is kept (" in told, told
    desk.config(f"vault = '{desk.root}'")
    code, told = desk.call("log", "mended", vault=False)
    assert code == 0 and desk.times() == 1 and desk.waiting() == [], told


def test_a_vault_that_is_not_there_gets_its_words_when_it_is_back(desk: Desk, tmp_path: Path) -> None:
    away = tmp_path / "away"
    desk.root.rename(away)
    code, told = desk.call("remember", WORDS)
    assert code == 4 and "is kept (" in told and f"that writes into the vault at {desk.root}" in told
    other = make_vault(tmp_path / "other", {"Memory.md": "## Notes\n"})
    assert desk.call("--vault", str(other), "log", "elsewhere", vault=False)[0] == 0
    assert WORDS not in (other / "Memory.md").read_text(), "another vault does not get them"
    away.rename(desk.root)
    assert desk.call("log", "back")[0] == 0
    assert desk.times() == 1 and desk.waiting() == []


@pytest.mark.parametrize("place", [".", "notes"])
def test_words_typed_before_there_is_a_vault_are_written_when_it_is_made_from_their_folder(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    here, elsewhere = tmp_path / "new", tmp_path / "elsewhere"
    for folder, words in ((here, WORDS), (elsewhere, "typed elsewhere")):
        folder.mkdir()
        monkeypatch.chdir(folder)
        code, told = desk.call("remember", words, vault=False)
        assert code == 4 and "tars-memory init" in told
    monkeypatch.chdir(here)
    code, told = desk.call("init", place, vault=False)
    assert code == 0 and "placed from the spool: Memory.md" in told
    text = (here / place / "Memory.md").read_text()
    assert text.count(WORDS) == 1 and "typed elsewhere" not in text
    assert len(desk.waiting()) == 1


def test_words_for_a_vault_of_the_settings_that_is_away_go_to_no_other_that_is_made(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for away, count in ((tmp_path / "away", 0), (tmp_path / "notes", 1)):
        desk.config(f"vault = '{away}'")
        code, told = desk.call("remember", WORDS, vault=False)
        assert code == 4 and desk.waiting() and f"that writes into the vault at {away}" in told
        code, told = desk.call("init", "notes", vault=False)
        assert code == 0, told
        note = tmp_path / "notes/Memory.md"
        assert note.read_text().count(WORDS) == count
        note.parent.rename(tmp_path / f"gone-{count}")
    assert desk.waiting() == []


def test_an_edit_of_a_hit_whose_line_moves_between_two_looks_at_the_note_changes_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, show = desk.root / "Memory.md", Memory.show
    note.write_text("- tea\n- a raft\n")
    desk.call("search", "raft", "--mode", "lexical")

    def late(memory: Memory, target: str) -> Entry:
        note.write_text(f"- by hand\n{note.read_text()}")
        return show(memory, target)

    monkeypatch.setattr(Memory, "show", late)
    code, told = desk.call("edit", "1", "a boat")
    assert code == 6 and "Memory.md:2 has changed since the last search" in told
    assert note.read_text() == "- by hand\n- tea\n- a raft\n"


def test_a_hit_in_a_line_that_was_cut_is_edited_only_if_all_of_the_line_is_as_it_was(desk: Desk) -> None:
    note, text = desk.root / "Memory.md", f"- {'rafts and boats. ' * 400}a kayak\n"
    note.write_text(text)
    desk.call("search", "kayak", "--mode", "lexical")
    assert desk.call("edit", "1", "short", "--dry-run")[0] == 0
    note.write_text(text.replace("rafts", "sails", 1))
    assert desk.call("edit", "1", "short")[0] == 6


def test_a_search_that_finds_nothing_leaves_no_hit_of_the_one_before_to_be_edited_or_opened(desk: Desk) -> None:
    note = desk.root / "Memory.md"
    note.write_text("- tea\n- a raft\n")
    assert desk.call("search", "raft", "--mode", "lexical")[0] == 0
    assert desk.call("search", "kayak", "--mode", "lexical")[0] == 1
    code, told = desk.call("edit", "1", "a boat")
    assert code == 2 and "raft" not in told, told
    code, told = desk.call("open", "1")
    assert code == 2 and "the last search has 0 hits: there is no hit 1" in told
    assert note.read_text() == "- tea\n- a raft\n"


def test_a_refused_text_stays_with_whoever_typed_it_but_for_a_pipe(desk: Desk) -> None:
    for argv in (["--tier", "bogus"], ["--bogus"], ["--tag", "two words #"], ["--now", "never"]):
        code, told = desk.call("remember", *argv, WORDS)
        assert code == 2 and "kept" not in told, told
        code, told = desk.call("remember", "--stdin", *argv, stdin=WORDS)
        assert code == 2 and "state/kept/" in told, told
    assert desk.aside() == [f"{WORDS}\n"] * 4
    assert desk.waiting() == []
    code, told = desk.call("remember", "--stdin", stdin="  \n")
    assert code == 2 and "kept" not in told
    code, told = desk.call("edit", "nothing like that", WORDS)
    assert code == 1 and "kept" not in told and desk.waiting() == []


def test_what_could_not_be_kept_is_repeated(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    for vault in (True, False):
        code, told = desk.call("remember", WORDS, vault=vault)
        assert code in (4, 5) and WORDS in told, told


def test_json_names_the_item_that_waits(desk: Desk) -> None:
    desk.config("x = [")
    _, told = desk.call("remember", WORDS, "--json")
    said = json.loads(told)
    assert said["spooled"] and said["exit_code"] == 2


def test_credentials_wait_masked_unless_a_person_decided(desk: Desk) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    desk.config("x = [")
    desk.call("remember", f"my key is {secret}")
    assert desk.waiting() and secret not in desk.waiting()[0].read_text()
    desk.call("remember", "tea is green", "--tag", secret, "--tag", "tea")
    assert len(desk.waiting()) == 2 and secret not in "".join(item.read_text() for item in desk.waiting())
    desk.config("")
    code, told = desk.call("log", "goes on")
    assert code == 0 and "left out 1 tag with a credential" in told and desk.waiting() == []
    assert "- tea is green #tea\n" in (desk.root / "Memory.md").read_text()
    code, told = desk.call("remember", "tea is black", "--tag", secret)
    assert code == 0 and "left out 1 tag with a credential" in told
    assert "- tea is black\n" in (desk.root / "Memory.md").read_text()


def test_words_that_bring_out_a_bug_hold_up_nothing_and_can_be_given_up(desk: Desk) -> None:
    change = WriteSession.change

    def deep(session: WriteSession, changes: Sequence[Change], **more: Any) -> object:
        if any(WORDS in each.text for each in changes):
            raise RecursionError("deep")
        return change(session, changes, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WriteSession, "change", deep)
        assert desk.call("remember", WORDS)[0] == 70
        code, told = desk.call("log", "goes on")
        assert code == 0 and "kept in the spool" in told and desk.times("goes on") == 1
        item = desk.waiting()[0].stem
        assert item in told and "doctor --drop" in told
        code, told = desk.call("doctor", TARS_MEMORY_EMBEDDING_MODEL="none")
        assert code == 1 and WORDS in told and "--drop" in told
        code, told = desk.call("doctor", "--drop", item)
    assert code == 0 and desk.waiting() == [] and desk.aside() == [f"{WORDS}\n"]
    code, told = desk.call("log", "all quiet")
    assert code == 0 and "kept" not in told
    assert desk.call("doctor", "--drop", item)[0] == 1


def test_doctor_names_a_note_that_waits_by_its_title(desk: Desk) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WriteSession, "write", raising(lambda: OSError(28, "No space left on device")))
        assert desk.call("new", "Rye bread")[0] == 5
        assert "spool: new 'Rye bread' waits as " in desk.call("doctor", "--dry-run")[1]


def test_a_mistyped_variable_is_said_at_once(desk: Desk) -> None:
    code, told = desk.call("log", "tea", vault=False, TARS_MEMORY_DRI=str(desk.root))
    assert code == 4 and "did you mean TARS_MEMORY_DIR?" in told
    code, told = desk.call("log", "tea", TARS_MEMORY_STORE_LOCK_TIMOUT="5")
    assert code == 0 and told.count("TARS_MEMORY_STORE_LOCK_TIMEOUT?") == 1
    desk.config("[recall]\nlimitt = 3\n")
    code, told = desk.call("log", "coffee")
    assert code == 0 and "limitt" not in told, "in the mail of each cron job it would be noise"
    code, told = desk.call("status", TARS_MEMORY_EMBEDDING_MODEL="none")
    assert code == 0 and told.count("limitt") == 1


NO_TEXT = {
    "Latin-1": (b"tea\nand caf\xe9", "byte E9 in line 2, at offset 11", "iconv -f latin1 -t utf-8", "tea\nand café"),
    "several bytes": (
        b"\xff. \xfe \xff",
        "byte FF in line 1, at offset 0; it is the first of 3",
        "iconv -f latin1 -t utf-8",
        "ÿ. þ ÿ",
    ),
    "Latin-1 with NULs": (
        b"caf\xe9\0 and\0 tea",
        "byte E9 in line 1, at offset 3",
        "iconv -f latin1 -t utf-8 | tr -d '\\0'",
        "café and tea",
    ),
    "UTF-16": ("café".encode("utf-16"), "byte FF in line 1, at offset 0", "iconv -f utf-16 -t utf-8", "café"),
    "UTF-16, big end first": (
        b"\xfe\xff" + "café".encode("utf-16-be"),
        "byte FE in line 1, at offset 0",
        "iconv -f utf-16 -t utf-8",
        "café",
    ),
    "UTF-16 without a mark": ("tea".encode("utf-16-le"), "contains a NUL", "iconv -f utf-16le -t utf-8", "tea"),
    "UTF-16 without a mark, big end first": (
        "café".encode("utf-16-be"),
        "contains a NUL",
        "iconv -f utf-16be -t utf-8",
        "café",
    ),
    "Russian in UTF-16": ("Чай и 茶".encode("utf-16-le"), "", "iconv -f utf-16le -t utf-8", "Чай и 茶"),
    "UTF-32": ("café".encode("utf-32"), "byte FF in line 1, at offset 0", "iconv -f utf-32 -t utf-8", "café"),
    "a NUL": ("tee für Ä\0nna".encode(), "contains a NUL in line 1, at offset 11", "tr -d '\\0'", "tee für Änna"),
}


@pytest.mark.parametrize("name", NO_TEXT)
def test_what_came_on_stdin_and_is_no_text_is_refused_and_kept_to_the_byte(desk: Desk, name: str) -> None:
    data, place, hint, meant = NO_TEXT[name]
    before = {path: path.read_bytes() for path in desk.root.rglob("*.md")}
    for argv in (["remember"], ["log"], ["new", "Note"], ["learn", "how"], ["topic", "--agent", "claude", "t"]):
        code, told = desk.call(*argv, "--stdin", stdin=data)
        assert code == 2 and place in told and f"{hint}; the input" in told and "is kept in " in told, (argv, told)
    assert {path: path.read_bytes() for path in desk.root.rglob("*.md")} == before
    kept = [path.read_bytes() for path in desk.home.glob("state/kept/*.txt")]
    assert kept == [data] * 5 and desk.waiting() == []
    code, told = desk.call("doctor")
    pipes = re.findall(r"^ *((?:iconv|tr) .*) \| tars-memory (\w+) --stdin writes", told, re.MULTILINE)
    assert [command for _, command in pipes].count("log") == 1 and len(pipes) == 5, told
    for pipe, _ in pipes:
        done = subprocess.run(["sh", "-c", pipe], capture_output=True, check=True)
        assert (done.stdout.decode(), done.stderr) == (meant, b"")


class Cut(io.RawIOBase):
    """A pipe on which some text comes, and then a signal to the process that reads it."""

    def __init__(self, text: bytes, number: int) -> None:
        self.parts, self.number = [text[:9], text[9:]], number

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.parts:
            os.kill(os.getpid(), self.number)
            raise AssertionError("the signal ends it")
        part = self.parts.pop(0)
        buffer[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_came_on_stdin_before_a_signal_is_kept_in_a_file_and_not_written(desk: Desk, number: int) -> None:
    before = {path: path.read_bytes() for path in desk.root.rglob("*.md")}
    for argv in (["remember"], ["log"], ["new", "Note"], ["learn", "how"], ["topic", "--agent", "claude", "t"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Cut(b"one line\nand half", number))))
            env = {"TARS_MEMORY_HOME": str(desk.home), "TARS_MEMORY_DIR": str(desk.root)}
            code = run([*argv, "--stdin"], Call(env))
        told = desk.capsys.readouterr().err
        assert code == 128 + number and "the input on stdin is kept in " in told, (argv, told)
    assert {path: path.read_bytes() for path in desk.root.rglob("*.md")} == before
    assert [text.rstrip("\n") for text in desk.aside()] == ["one line\nand half"] * 5 and desk.waiting() == []


def test_words_that_an_ascii_locale_hides_name_the_locale(desk: Desk) -> None:
    code, told = desk.call("log", "größe".encode().decode("ascii", "surrogateescape"))
    assert code == 2 and "LC_ALL=C.UTF-8" in told and "NUL" not in told, told


@pytest.mark.parametrize(
    "argv",
    [
        ["remember", "tea \udcff"],
        ["remember", "tea", "--section", "\udcff"],
        ["remember", "tea", "--tag", "x\udcff"],
        ["log", "tea \udcff"],
        ["feedback", "good", "tea \udcff"],
        ["feedback", "good", "tea", "--question", "\udcff"],
        ["edit", "a fact to edit", "tea \udcff"],
        ["facts", "add", "Anna", "lives in", "C\udcffrk"],
        ["facts", "add", "\udcff", "lives in", "Cork"],
        ["new", "tea \udcff"],
        ["headings", "Memory.md", "--add", "tea \udcff"],
        ["learn", "how", "--when", "\udcff", "--file", "steps.md"],
        ["topic", "--agent", "claude", "tea", "\udcff"],
        ["topic", "--agent", "claude", "\udcff", "tea"],
    ],
)
def test_words_that_are_no_text_are_refused_wherever_they_stand(desk: Desk, argv: list[str]) -> None:
    (desk.root.parent / "steps.md").write_text("1. boil water\n")
    code, told = desk.call(*argv)
    assert code == 2 and "byte FF in line 1" in told, told
    assert [path.name for path in desk.root.rglob("*.md")] == ["Memory.md"]
    assert desk.waiting() == [] and desk.aside() == []


def test_a_file_of_steps_or_of_an_answer_that_is_no_text_is_refused(desk: Desk) -> None:
    (desk.root.parent / "steps.md").write_bytes(b"1. boil\n2. st\xe9p\n")
    code, told = desk.call("learn", "how", "--file", "steps.md")
    assert code == 2 and "byte E9 in line 2, at offset 13" in told
    code, told = desk.call("extract", "steps.md", "--reply", "steps.md")
    assert code == 2 and "the answer is not UTF-8: byte E9 in line 2" in told, told


def test_a_search_takes_what_is_no_text(desk: Desk) -> None:
    assert desk.call("search", "f\udcffct", "--mode", "lexical")[0] in (0, 1)
    assert desk.call("context", "f\udcffct")[0] in (0, 1)


def test_control_characters_are_left_out_with_a_word(desk: Desk) -> None:
    code, told = desk.call("remember", "--stdin", stdin=b"a \x1b[31mred\x07 ferry\r\nand\ta page\x0cend\n")
    assert code == 0 and "left out 2 invisible characters" in told
    assert "- a [31mred ferry and\ta page end\n" in (desk.root / "Memory.md").read_text()


def test_what_is_left_in_the_pipe_by_a_command_that_was_called_wrongly_is_kept(desk: Desk) -> None:
    for argv in (["learn", "how", "--file", "x"], ["new", "--section", "a"], ["topic"]):
        code, told = desk.call(*argv, "--stdin", stdin=WORDS)
        assert code == 2 and "the input on stdin is kept in" in told, (argv, told)
    assert desk.aside() == [f"{WORDS}\n"] * 3


def test_nothing_is_written_into_a_note_of_utf_16_and_the_words_wait(desk: Desk) -> None:
    memory = desk.root / "Memory.md"
    text = memory.read_text()
    memory.write_bytes(text.encode("utf-16"))
    before = memory.read_bytes()
    code, told = desk.call("remember", WORDS)
    assert code == 5 and "Memory.md is UTF-16, not UTF-8" in told and "is kept (" in told
    assert memory.read_bytes() == before
    for argv in (["context"], ["list"]):
        assert "Memory.md is UTF-16, not UTF-8" in desk.call(*argv)[1]
    facts = desk.root / "Facts.md"
    facts.write_bytes("## Anna\n\n- likes:: tea\n".encode("utf-16"))
    code, told = desk.call("facts", "add", "Anna", "likes", WORDS)
    assert code == 5 and "Facts.md is UTF-16, not UTF-8" in told and "is kept (" in told
    assert "Facts.md is UTF-16, not UTF-8" in desk.call("facts")[1]
    facts.unlink()
    assert "Memory" not in desk.call("search", "fact", "--mode", "lexical")[1]
    assert "1 not UTF-8" in desk.call("status")[1]
    code, told = desk.call("doctor")
    assert code == 1 and "iconv -f utf-16 -t utf-8 Memory.md > Memory.md.new && mv Memory.md.new Memory.md" in told
    memory.write_text(text)  # converted
    code, told = desk.call("log", "and on")
    assert code == 0 and "placed from the spool" in told
    assert memory.read_text() == f"{text}- {WORDS}\n"


def test_a_note_that_is_not_on_this_device_is_not_made_anew_and_the_words_wait(desk: Desk) -> None:
    memory, placeholder = desk.root / "Memory.md", desk.root / ".Memory.md.icloud"
    text = memory.read_text()
    memory.unlink()
    placeholder.write_bytes(b"bplist00")
    code, told = desk.call("remember", WORDS)
    assert code == 5 and "Memory.md is not on this device" in told and "is kept (" in told
    assert not memory.exists()
    assert "Memory.md is not on this device" in desk.call("context")[1]
    placeholder.unlink()
    memory.write_text(text)  # downloaded
    code, told = desk.call("log", "and on")
    assert code == 0 and "placed from the spool" in told
    assert memory.read_text() == f"{text}- {WORDS}\n"


def test_a_note_of_latin_1_takes_what_makes_no_mixture_of_it(desk: Desk) -> None:
    memory = desk.root / "Memory.md"
    memory.write_bytes(b"## Notes\n\n- caf\xe9\n")
    code, told = desk.call("remember", "Käse")
    assert code == 5 and "Memory.md is not UTF-8" in told and "is kept (" in told
    assert memory.read_bytes() == b"## Notes\n\n- caf\xe9\n"
    assert "Memory.md is not UTF-8" in desk.call("doctor")[1]
    code, told = desk.call("remember", "cheese")
    assert code == 0 and "1 in the spool can't be placed yet: Memory.md is not UTF-8" in told
    assert memory.read_bytes() == b"## Notes\n\n- caf\xe9\n- cheese\n"
    assert desk.call("undo")[0] == 0
    memory.write_bytes(b"## Notes\n\n- caf\xe9\n- \xc3\xa9\n")  # UTF-8 with a byte that is none
    assert desk.call("log", "and on")[0] == 0
    assert memory.read_bytes() == b"## Notes\n\n- caf\xe9\n- \xc3\xa9\n- K\xc3\xa4se\n"


def test_a_template_of_latin_1_makes_no_note_of_two_encodings(desk: Desk) -> None:
    (desk.root / "templates").mkdir()
    (desk.root / "templates/daily.md").write_bytes(b"## Log\n- caf\xe9\n")
    (desk.root / ".obsidian").mkdir(exist_ok=True)
    (desk.root / ".obsidian/daily-notes.json").write_text('{"template": "templates/daily"}')
    code, told = desk.call("log", "Käse", "--now", "2026-11-23T10:00")
    assert code == 0 and "the template templates/daily.md was not used: templates/daily.md is not UTF-8" in told
    assert (desk.root / "2026-11-23.md").read_text() == "## Log\n- 10:00 Käse\n"


def test_doctor_names_each_note_that_can_not_be_read(desk: Desk) -> None:
    (desk.root / "Facts.md").symlink_to(desk.root / "Memory.md")
    (desk.root / "Large.md").write_bytes(b"- tea\n" * 2_000)
    (desk.root / ".tars/inbox").mkdir()
    (desk.root / ".tars/inbox/aaaaaaaa.json").mkdir()
    (desk.root / ".tars/inbox/bbbbbbbb.json").write_text("[]")
    (desk.root / ".tars/vault-id").unlink()
    (desk.root / ".tars/vault-id").mkdir()
    desk.config("[limits]\nmax_note_bytes = 1000\n")
    code, told = desk.call("doctor")
    assert code == 1
    assert "skipped: " in told and "Facts.md is a link or not a file: it is neither read nor written" in told
    assert "not searched, too big: Large.md" in told
    assert "skipped: .tars/inbox/bbbbbbbb.json is not a proposal" in told
    assert "vault-id has no readable id" in told


@pytest.mark.parametrize("argv", [["remember", WORDS], ["log", WORDS], ["facts", "add", "Cobh", "is known for", WORDS]])
def test_words_for_which_the_vaults_own_state_has_no_place_wait_beside_it(desk: Desk, argv: list[str]) -> None:
    assert desk.call("log", "first")[0] == 0
    (state,) = (desk.home / "state/vaults").iterdir()
    (state / "spool").write_text("a file")
    (state / "lock").rename(desk.home / "lock")
    (state / "lock").mkdir()  # neither can the note be written
    code, told = desk.call("log", "another word")
    assert code == 5 and "is kept (" in told and "NOT" not in told
    (state / "spool").unlink()
    (state / "lock").rmdir()
    assert desk.call("log", "second")[0] == 0 and desk.times("another word") == 1
    state.rename(aside := desk.home / "aside")
    state.write_text("a file")
    code, told = desk.call(*argv)
    assert code == 5 and f"the state folder can't be used: {state}" in told and "is kept (" in told
    assert "NOT" not in told and WORDS not in told
    state.unlink()
    aside.rename(state)
    assert desk.call("log", "and on")[0] == 0
    assert desk.times() == 1 and desk.waiting() == []


def test_a_note_that_can_not_be_read_has_lost_no_line(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.call("remember", WORDS)[0] == 0
    memory = desk.root / "Memory.md"
    text = memory.read_text()
    memory.write_bytes(text.encode("utf-16"))
    assert "lost line" not in desk.call("doctor")[1]
    memory.write_text(text)

    def closed(*_args: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tars_memory.vault.writing.history.read_note", closed)
    assert "lost line" not in desk.call("doctor")[1]
    monkeypatch.undo()
    memory.unlink()
    assert "lost line" in desk.call("doctor")[1]


def test_a_damaged_list_of_hits_is_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A raised digit is a digit for Python, and no number."""
    desk = Desk(tmp_path, capsys, monkeypatch)
    assert desk.call("search", "fact")[0] == 0
    (hits,) = (desk.home / "state/vaults").glob("*/last-search")
    hits.write_text("Memory.md\0²\0\0005", "utf-8")
    assert [desk.call(command, "1")[0] for command in ("open", "show", "why")] == [1, 1, 1]


def test_a_dash_is_no_text_lest_what_is_in_the_pipe_is_lost(desk: Desk) -> None:
    before = {path: path.read_bytes() for path in desk.root.rglob("*.md")}
    for argv in (["remember"], ["log"], ["edit", "Memory.md:1"], ["topic", "--agent", "claude", "t"]):
        code, told = desk.call(*argv, "-", stdin=WORDS)
        assert code == 2 and f"tars-memory {argv[0]} --help shows how" in told, (argv, told)
    assert {path: path.read_bytes() for path in desk.root.rglob("*.md")} == before
