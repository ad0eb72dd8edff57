"""Logs that are broken, vast or made to break: answered in bounded time and memory, never with an exception."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import conversations as logs
import pytest
from conversations import FORMATS, Said, talk
from hypothesis import given, settings, strategies as st
from random_documents import examples, scale, seeded, sized, within

from tars_memory.capture.transcripts import read
from tars_memory.capture.turns import Transcript, Unknown


def all_of(data: bytes) -> list[Transcript | Unknown]:
    found = list(read(io.BytesIO(data), "log"))
    for one in found:
        if isinstance(one, Unknown):
            assert one.name.startswith("log") and one.why and "\n" not in one.why and len(one.why) < 400
            continue
        one.digests()
        assert [turn.number for turn in one.turns] == list(range(1, len(one.turns) + 1))
        for turn in one.turns:
            assert turn.role in ("user", "assistant", "system", "tool")
            assert turn.text == turn.text.strip(" \t\n") != ""
            assert not any("\ud800" <= sign <= "\udfff" or sign in "\0\r" for sign in turn.text + turn.speaker)
            assert turn.time is None or turn.time.utcoffset() is not None
            assert turn.speaker and len(turn.speaker) <= 80 and "\n" not in turn.speaker
    return found


_WORDS = (
    "role content type message messages mapping current_node parent author parts chat_messages sender text uuid "
    "sessionId isSidechain timestamp tool_calls name function choices output input payload conversations value from "
    "system id"
)
KEYS = _WORDS.split()
VALUES = ["user", "assistant", "text", "tool_result", "tool_use", "response_item"]

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(KEYS),
            st.one_of(inner, st.sampled_from(VALUES)),
            max_size=6,
        ),
    ),
    max_leaves=25,
)


@settings(max_examples=examples(300))
@given(st.lists(json_values, min_size=1, max_size=5))
def test_any_json_of_the_logs_own_words_is_answered(values: list[object]) -> None:
    all_of(b"\n".join(json.dumps(value).encode() for value in values))
    all_of(json.dumps(values, indent=1).encode())
    all_of(json.dumps({"conversations": values, "messages": values}).encode())


@settings(max_examples=examples(200))
@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    for more in (data, b"{" + data, b"[" + data, b"PK\x03\x04" + data, b"\xff\xfe" + data, b"User: a\nAI: b\n" + data):
        all_of(more)


@pytest.mark.parametrize("shape", FORMATS)
def test_any_damage_to_a_log_leaves_what_can_be_read(shape: str) -> None:
    random = seeded(sum(shape.encode()))
    data = FORMATS[shape][1](talk(8))
    for _ in range(scale(60)):
        hurt = bytearray(data)
        for _ in range(random.randint(1, 5)):
            at = random.randrange(len(hurt))
            kind = random.random()
            if kind < 0.3:
                hurt[at] = random.randrange(256)
            elif kind < 0.6:
                del hurt[at : at + random.randint(1, 40)]
            else:
                hurt[at:at] = random.choice([b"\0", b"\xff", b"\n", b'"', b"}", b"\xed\xa0\x80", b"\\ud800", b"{" * 50])
        all_of(bytes(hurt))


@pytest.mark.parametrize("shape", ["chat-jsonl", "claude-code", "codex"])
def test_a_damaged_line_costs_that_line_alone(shape: str) -> None:
    lines = FORMATS[shape][1](talk(12)).split(b"\n")
    whole = [turn.text for one in all_of(b"\n".join(lines)) if isinstance(one, Transcript) for turn in one.turns]
    for number, line in enumerate(lines[:-1]):
        for bad in (line[:-3], b"\xff\xfe\0" + line[5:], b"[" * 5000, b'{"a":' * 5000, b"x" * 100):
            (found,) = all_of(b"\n".join([*lines[:number], bad, *lines[number + 1 :]]))
            assert isinstance(found, Transcript)
            left = [turn.text for turn in found.turns]
            assert found.damaged == 1
            assert len(left) >= len(whole) - 1 and set(left) <= set(whole)


def test_a_document_that_breaks_off_gives_the_conversations_before() -> None:
    held = [logs.chatgpt_conversation(talk(4, topic=f"m{n}"), f"id-{n}") for n in range(5)]
    data = logs.dumps(held)
    found = all_of(data[: len(data) - 200])
    assert [one.id for one in found if isinstance(one, Transcript)] == ["id-0", "id-1", "id-2", "id-3"]
    assert isinstance(found[-1], Unknown) and "damaged after 4 conversations" in found[-1].why
    (broken,) = (one for one in all_of(logs.chat_list(talk(10))[:-60]) if isinstance(one, Transcript))
    assert (len(broken.turns), broken.damaged) == (9, 1)


def test_halves_of_characters_controls_and_nul_do_no_harm() -> None:
    words = "a\\ud83d b\\ude00 c\\u0000d \\ud83d\\ude00 e\\u001b[31m f\\u2028g\\ufeff"
    data = '{"role":"user","content":"%s"}\n{"role":"assistant","content":"ok"}\n'.replace("%s", words).encode()
    for made in (data, b"[" + data.strip().replace(b"\n", b",") + b"]"):
        (found,) = all_of(made)
        assert isinstance(found, Transcript)
        text = found.turns[0].text
        assert "cd" in text and "e[31m f" in text and "\U0001f600" in text


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 2_000_000,
        b'{"a":' * 500_000,
        b"[" * 30_000 + b"]" * 30_000,
        b'[{"role":"user","content":' + b"[" * 30_000 + b'"x"' + b"]" * 30_000 + b"}]",
        b'{"role":"user","content":' + b"[" * 500_000,
        b"[" + b'"[",' * 100_000 + b'"x"',
        b"\0" * 3_000_000,
        b"\n" * 3_000_000,
        b"{\n" * 500_000,
        b"{}\n" * 300_000,
        b"a:\n" * 30_000,
        b"**" * 500_000,
        b"**a" * 200_000,
        b"#" * 1_000_000,
        b"```\n" * 50_000,
        b"> " * 300_000,
        b"[10:10] " * 100_000,
        b"[" + b"1," * 300_000 + b"1]",
        b'{"role":"user","content":' + b"9" * 100_000 + b"}\n",
        logs.zipped({"conversations.json": b"[" * 20_000_000}),
        logs.zipped({"a.json": logs.zipped({"b.json": b"[]"})}),
        logs.zipped({"../../etc/x.json": logs.chat_list(talk(0)), "a.png": b"x"}),
        b"PK\x03\x04" + b"\0" * 1000,
        b"\x1f\x8b" + b"x" * 1000,
    ],
    ids=lambda data: f"{data[:12]!r}-{len(data)}",
)
def test_traps_are_answered_in_a_sentence(data: bytes) -> None:
    assert [type(one).__name__ for one in all_of(data)] == ["Unknown"]


@pytest.mark.parametrize(
    "data", [Random(1).randbytes(5_000), b"\x89PNG\r\n\x1a\n" + b"x" * 500, b"%PDF-1.7\nUser: a\nAI: b"]
)
def test_what_is_no_text_is_said_to_be_none(data: bytes) -> None:
    assert all_of(data) == [Unknown("log", "it is not text")]


def test_latin_1_is_text() -> None:
    (found,) = all_of("User: Grüße aus Köln\nAI: schön\n".encode("latin-1"))
    assert isinstance(found, Transcript)
    assert [turn.text for turn in found.turns] == ["Grüße aus Köln", "schön"]


def test_brackets_within_texts_are_no_nesting() -> None:
    spoken = [Said("user", '\\"[[[{{{' * 5_000, logs.START), Said("assistant", "\x1b[31m" * 5_000, logs.START)]
    (found,) = all_of(logs.chat_list(spoken * 20))
    assert isinstance(found, Transcript) and len(found.turns) == 40


@pytest.mark.timed
@pytest.mark.parametrize(
    "words",
    [
        "<system-reminder>" * sized(20_000), "<bash-stdout></bash-stdout>" * sized(10_000) + "hi",
        "<command-args>" * sized(20_000) + "hi", "[Request interrupted by user" * sized(20_000),
        "\ue200" * sized(100_000) + "hi", "\ue200a" * sized(50_000), "**a:" * sized(50_000),
    ],
    ids=lambda words: words[:16],
)  # fmt: skip
def test_no_words_take_time_out_of_proportion(words: str) -> None:
    data = logs.dumps({"type": "user", "sessionId": "s", "message": {"role": "user", "content": words}})
    with within(10):
        all_of(data + b"\n" + logs.claude_code(talk(2), "s"))
        all_of(logs.dumps([{"role": "user", "content": words}, {"role": "assistant", "content": "x"}]))


def test_an_escape_that_a_chunk_cuts_stays_whole() -> None:
    from tars_memory.capture import transcripts

    text = "".join(f"{'x' * number}\U0001f600\\\\ \ud83d" for number in range(60))
    data = json.dumps([{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}], indent=1).encode()
    stream = transcripts.Clean(io.BytesIO(data))
    made = b""
    while piece := stream.read(7):
        made += piece
    assert json.loads(made)[0]["content"] == text.replace("\ud83d", "\ufffd")


def test_special_files_and_what_changes_meanwhile_are_named(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    found = list(read(tmp_path / "loop", "loop"))
    assert len(found) == 1 and isinstance(found[0], Unknown)
    secret = tmp_path / "secret.json"
    secret.write_bytes(logs.chat_list(talk(2)))
    secret.chmod(0)
    if os.geteuid() != 0:
        assert isinstance(next(iter(read(secret, "secret"))), Unknown)
    nul = list(read("a\0b", "nul"))
    assert len(nul) == 1 and isinstance(nul[0], Unknown)


MEASURED = """
import resource, sys
from tars_memory.capture.transcripts import read
from tars_memory.capture.turns import Unknown
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
turns = conversations = 0
for one in read(sys.argv[1]):
    assert not isinstance(one, Unknown), one
    conversations += 1
    turns += len(one.turns)
print(conversations, turns, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.prove
@pytest.mark.parametrize("shape", ["chatgpt", "claude", "claude-lines", "claude-code", "chat-jsonl"])
def test_fifty_megabytes_take_the_memory_of_one_conversation(tmp_path: Path, shape: str) -> None:
    size = max(1, scale(50)) * 1_000_000
    path = tmp_path / "log"
    spoken = [one._replace(text=one.text * 20) for one in talk(40)]
    make = logs.chatgpt_conversation if shape == "chatgpt" else logs.claude_conversation
    with path.open("wb") as file:
        if shape in ("chatgpt", "claude"):
            file.write(b"[")
        count = 0
        while file.tell() < size:
            if shape in ("chatgpt", "claude"):
                file.write((b"," if count else b"") + logs.dumps(make(spoken, f"id-{count}")))
            elif shape == "claude-lines":
                file.write(logs.dumps(make(spoken, f"id-{count}")) + b"\n")
            elif shape == "claude-code":
                said = [*talk(2, topic=f"t{count}"), Said("tool", "x" * 400_000, logs.START)]
                file.write(logs.claude_code(said, "one" if count % 2 else f"s{count}"))
            else:
                file.write(logs.chat_parts([Said("user", "word " * 20_000, logs.START)]))
            count += 1
        if shape in ("chatgpt", "claude"):
            file.write(b"]")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, path], capture_output=True, text=True, check=True, timeout=600
    )
    conversations, turns, grown = map(int, done.stdout.split())
    assert conversations >= 1 and turns >= count
    bound = 3 * size // 1_000_000 if shape == "chat-jsonl" else 40  # one conversation of that size, or many small ones
    assert grown < bound + 20, f"{grown} MB more for {size // 1_000_000} MB"
