"""Nothing of a note can steer a terminal; JSON keeps everything."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.output import ClosedOutput, LostOutput, Output, clean, line, to_json, wrap_line

HOSTILE = (
    "a\x1b[31mred\x1b[0m b\x1b]52;c;c3RlYWw=\x07c \x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \x9b31mC1\x9b0m "
    "\x9d0;title\x9c \u202eoverride\u202c \u2066isolate\u2069 \U000e0041\U000e0042 \x00\x07\x08\x7f [/bold] [red]"
)


def is_steering(char: str) -> bool:
    code = ord(char)
    return (
        (code < 32 and char not in "\t\n")
        or 0x7F <= code <= 0x9F
        or code in (0x61C, 0x200E, 0x200F)
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x206F
        or 0xE0000 <= code <= 0xE007F
        or 0xD800 <= code <= 0xDFFF
    )


def test_a_hostile_text_is_harmless_and_still_readable() -> None:
    assert clean(HOSTILE) == "ared bc link C1  override isolate   [/bold] [red]"


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_no_text_can_steer_a_terminal(text: str) -> None:
    assert not any(map(is_steering, clean(text)))
    assert not any(is_steering(char) or char in "\t\n" for char in line(text))


@given(st.text(alphabet="\x1b\x9b\x9d\x07\x9c\\[]a1;\n"))
def test_taking_one_sequence_out_never_makes_another(text: str) -> None:
    assert not any(map(is_steering, clean(text)))


def test_an_escape_that_never_ends_takes_no_text_along() -> None:
    assert clean("before \x1b]0;title and all the rest\nnext") == "before 0;title and all the rest\nnext"


@pytest.mark.parametrize("text", ["Zürich 東京 👩‍👩‍👧 naïve", "tab\tand\nnewline", "[/bold] 100 % \\n"])
def test_honest_text_stays(text: str) -> None:
    assert clean(text) == text


def test_line_ends_become_newlines_or_blanks() -> None:
    assert clean("a\r\nb\rc\u2028d") == "a\nb\nc\nd"
    assert line("a\r\nb\tc") == "a b c"


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_json_keeps_every_character_and_holds_none_that_steers(text: str) -> None:
    written = to_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not any(is_steering(char) or char == "\n" for char in written)


def test_json_stays_readable() -> None:
    assert to_json({"a": "Zürich 東京"}) == '{"a": "Zürich 東京"}'


class Failing(io.StringIO):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


def test_a_reader_that_left_and_a_full_disk_are_told_apart() -> None:
    with pytest.raises(ClosedOutput):
        Output({}, stdout=Failing(BrokenPipeError(32, "Broken pipe"))).data("x")
    with pytest.raises(LostOutput, match="No space left"):
        Output({}, stdout=Failing(OSError(28, "No space left on device"))).data("x")


def test_talk_to_nobody_is_no_failure() -> None:
    Output({}, stdout=io.StringIO(), stderr=Failing(BrokenPipeError())).say("anyone?")


def test_talk_is_said_once_and_quiet_only_silences_talk() -> None:
    err = io.StringIO()
    out = Output({}, stdout=io.StringIO(), stderr=err)
    out.say("model missing")
    out.say("model missing")
    assert err.getvalue() == "tars-memory: model missing\n"
    out.quiet = True
    out.say("more")
    out.say_always("broken")
    assert err.getvalue() == "tars-memory: model missing\nbroken\n"


def test_any_character_fits_into_any_stream() -> None:
    raw = io.BytesIO()
    out = Output({}, stdout=io.TextIOWrapper(raw, encoding="ascii"))
    out.data("Zürich \udcff")
    out.flush()
    assert raw.getvalue() == ("Zürich \\udcff" + os.linesep).encode()


def test_talk_writes_bytes_that_are_no_utf_8_as_a_person_reads_them() -> None:
    err = io.StringIO()
    out = Output({}, stdout=io.StringIO(), stderr=err)
    name = b"n\xffame".decode("utf-8", "surrogateescape")
    out.say(f"no note has the name {name!r}: {name}")
    assert err.getvalue() == "tars-memory: no note has the name 'n\\xffame': n\\xffame\n"


def test_a_path_is_never_masked_and_the_text_beside_it_is() -> None:
    name = "Passwort Xk92kdls!.md"
    piped = io.StringIO()
    out = Output({}, stdout=piped, stderr=io.StringIO())
    out.data(f"{out.place(name, 3)}:password: hunter22")
    out.record({"path": name, "text": "password: hunter22"}, lines=True)
    first, second = piped.getvalue().splitlines()
    assert first == f"{name}:3:password: (masked password)"
    assert json.loads(second) == {"path": name, "text": "password: (masked password)"}


def test_talk_on_a_terminal_breaks_between_words():
    told = wrap_line("tars-memory: " + "word " * 20 + "/a/path/" + "x" * 90, 80)
    assert all(len(each) <= 80 for each in told[:-1]) and told[-1] == f"  /a/path/{'x' * 90}"
    assert [each.strip() for each in told[:-1]] == ["tars-memory: " + "word " * 12 + "word", "word " * 6 + "word"]
    assert wrap_line("  short", 80) == ["  short"] and wrap_line("x" * 90, 80) == ["x" * 90]


@pytest.mark.parametrize("name", ["tm", "tars-memory"])
def test_hints_name_the_program_as_it_was_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    root, env = tmp_path / "vault", {"TARS_MEMORY_HOME": str(tmp_path / "home"), "TERM": "dumb"}
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "argv", [f"/usr/bin/{name}"])

    def told(*words: str) -> str:
        run(list(words), Call(env))
        sys.stdout.flush()
        said = capsys.readouterr()
        return said.out + said.err

    assert f"or make one: {name} init PATH" in told("show", "tea")
    told("init")
    assert f"\n  {name} list shows entries" in told("show", "tea")
    assert f"{name} list shows them" in told("show") and f"for example: {name} log " in told("log", " ")
    assert f"one: {name} help search\n" in told("--help")
    assert f"\n  {name} --help lists them; to search: {name} search xyzzy\n" in told("xyzzy")
    assert "no entry 'run tars-memory list'" in told("show", "run tars-memory list"), "what was typed stays"
    told("remember", "run tars-memory list")
    assert ": - run tars-memory list" in told("undo", "--yes"), "and so do the words of a note"
