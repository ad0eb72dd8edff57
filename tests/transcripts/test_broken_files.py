"""Archives and files that are damaged, vast or no files: each is one failure with its reason, and costs no other."""

from __future__ import annotations

import errno
import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import conversations as logs
import forked
import pytest
from cli.terminal import environment, program
from conversations import talk
from index.unprivileged import _obedient

from tars_memory.capture import transcripts
from tars_memory.capture.transcripts import read
from tars_memory.capture.turns import Transcript, Unknown

GOOD = logs.chat_list(talk(12))
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, method)
    return held.getvalue()


def data_of(data: bytes, name: str) -> tuple[int, int]:
    """Where a member's packed bytes stand."""
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        info = made.getinfo(name)
    skipped = sum(struct.unpack_from("<HH", data, info.header_offset + 26))
    start = info.header_offset + 30 + skipped
    return start, start + info.compress_size


def directory_of(data: bytes, name: str) -> int:
    """Where the archive's directory tells of a member."""
    at = data.index(b"PK\x01\x02")
    while data[at + 46 : at + 46 + len(name)] != name.encode():
        at = data.index(b"PK\x01\x02", at + 1)
    return at


def patched(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def answers(source: object, name: str = "log") -> tuple[int, list[Unknown]]:
    """How many conversations there are, and what is told beside them."""
    found = list(read(source, name))  # type: ignore[arg-type]
    told = [one for one in found if isinstance(one, Unknown)]
    assert all(one.why and "\n" not in one.why and len(one.why) < 400 for one in told)
    return sum(isinstance(one, Transcript) for one in found), told


def torn(data: bytes, method: int) -> bytes:
    """The same archive with garbage in the middle of b.json."""
    start, end = data_of(data, "b.json")
    return patched(data, (start + end) // 2, b"\xff\x00\xa5\x5a" * 4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", ["chat-list", "chat-jsonl", "plain", "claude-code", "chatgpt"])
def test_a_damaged_file_of_an_archive_is_told_and_costs_no_other(method: int, shape: str) -> None:
    kept = logs.FORMATS[shape][1](talk(400))
    data = torn(archive(("a.json", GOOD), ("b.json", kept), ("c.json", GOOD), method=method), method)
    count, told = answers(io.BytesIO(data))
    assert count in (2, 3), "what came before the damage may be read"
    assert [one.name for one in told] == ["log/b.json"]
    assert told[0].why.startswith(transcripts.BROKEN)


@cache
def damaged() -> dict[str, bytes]:
    """The same archive with b.json broken in each way that an archive's parser knows."""
    data = archive(("a.json", GOOD), ("b.json", GOOD), ("c.json", GOOD))
    at = directory_of(data, "b.json")
    start, _ = data_of(data, "b.json")
    local = start - 30 - len("b.json")
    encrypted = patched(patched(data, at + 8, b"\x01\x00"), local + 6, b"\x01\x00")
    unknown = patched(patched(data, at + 10, struct.pack("<H", 97)), local + 8, struct.pack("<H", 97))
    return {
        "crc": patched(data, at + 16, b"\0\0\0\0"),
        "encrypted": encrypted,
        "unknown method": unknown,
        "size in the directory": patched(data, at + 24, struct.pack("<I", 1_500_000_000)),
        "no local header": patched(data, local, b"XXXX"),
        "another name": patched(data, local + 30, b"x.json"),
        "overlap": patched(data, at + 42, struct.pack("<I", 3)),
        "JSON": archive(("a.json", GOOD), ("b.json", GOOD[:40]), ("c.json", GOOD)),
        "deep JSON": archive(("a.json", GOOD), ("b.json", b"[" * 5_000), ("c.json", GOOD)),
        "a bomb": archive(("a.json", GOOD), ("b.json", b"[" + b"0," * 30_000_000), ("c.json", GOOD)),
    }


def test_each_way_to_break_a_file_of_an_archive_is_one_failure() -> None:
    for way, data in damaged().items():
        count, told = answers(io.BytesIO(data))
        names = [one.name for one in told]
        if way == "overlap" and count == 1:  # Pythons with the check against bombs refuse what is overlapped, too
            names.remove("log/a.json")
            count += 1
        assert count == 2, (way, told)
        assert names == ["log/b.json"], way


def test_a_truncated_archive_is_one_failure() -> None:
    data = archive(("a.json", GOOD), ("b.json", GOOD))
    for end in (10, 100, len(data) // 2, len(data) - 5):
        count, told = answers(io.BytesIO(data[:end]))
        assert (count, [one.name for one in told]) == (0, ["log"])


def test_files_of_an_export_that_are_no_conversations_are_not_told_beside_some() -> None:
    data = archive(("a.json", GOOD), ("user.json", b'{"id": "x"}'), ("note.md", b"nobody speaks"))
    assert answers(io.BytesIO(data)) == (1, [])


def test_an_archive_is_refused_by_what_it_unpacks_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MAX_UNPACKED", 3 * len(GOOD) - 1)
    count, told = answers(io.BytesIO(archive(*((f"{name}.json", GOOD) for name in "abc"))))
    assert count == 2
    assert told == [Unknown("log/c.json", "it can't be read: the archive unpacks to more than 0 MB")]


def test_nothing_is_unpacked_of_what_says_that_it_is_a_trap(monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive(("b.json", b'[{"role": "user", "content": "' + b"a" * 60_000_000 + b'"}]'))
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_, **__: pytest.fail("it was opened"))
    (count, told) = answers(io.BytesIO(data))
    assert (count, [one.name for one in told]) == (0, ["log/b.json"])
    assert "it would unpack to 60 MB, more than 100 times its size" in told[0].why


class Fed(io.RawIOBase):
    """A stream that begins and goes on for ever; counts what was taken of it."""

    def __init__(self, start: bytes, unit: bytes = b"a" * 1_000_000) -> None:
        self.start, self.unit, self.taken = start, unit, 0

    def read(self, size: int = -1) -> bytes:
        data = (self.start or self.unit)[: size if size > 0 else None]
        self.start = self.start[len(data) :]
        self.taken += len(data)
        return data


@pytest.mark.parametrize(
    ("start", "why"),
    [
        (b'[{"role": "user", "content": "', "a text in it is longer than 16 MB"),
        (b'{"messages": [{"role": "user", "', "a text in it is longer than 16 MB"),
        (b'{"role": "user", "content": "hi"}\n{"role": "user", "content": "', "a line is longer than 128 MB"),
        (b"User: hi\nAssistant: ", "a text of more than 100 MB is not read: split it"),
    ],
)
def test_of_a_text_without_end_only_so_much_is_read(start: bytes, why: str) -> None:
    stream = Fed(start)
    _, told = answers(stream)
    assert [one.why.rpartition(": " if "split" not in why else "\0")[2] for one in told] == [why]
    assert stream.taken < 300_000_000


def test_of_a_number_without_end_only_so_much_is_read() -> None:
    stream = Fed(b'[{"role": "user", "content": ', b"9" * 1_000_000)
    _, told = answers(stream)
    assert "a number in it is longer than 1 MB" in told[0].why
    assert stream.taken < 20_000_000


def test_a_longer_line_is_passed_over_and_an_endless_one_ends_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MAX_LINE", 6_400)
    monkeypatch.setattr(transcripts, "MAX_PASSED", 12_800)
    long, endless = (logs.dumps({"role": "user", "content": "a" * size}) + b"\n" for size in (9_000, 90_000))
    (found,) = read(io.BytesIO(logs.chat_jsonl(talk(2)) + long + logs.chat_jsonl(talk(2))), "log")
    assert isinstance(found, Transcript) and (len(found.turns), found.damaged) == (4, 1)
    count, told = answers(io.BytesIO(logs.chat_jsonl(talk(2)) + endless + logs.chat_jsonl(talk(2))))
    assert count == 1 and told[0].why.startswith("it is damaged after 1 conversation: a line is longer than")


class Broken(io.BytesIO):
    """A stream from a disk that fails after so many bytes."""

    def __init__(self, data: bytes, after: int) -> None:
        super().__init__(data)
        self.after = after

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() >= self.after:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().read(min(size, self.after - self.tell()) if size and size > 0 else self.after - self.tell())


@pytest.mark.parametrize("shape", logs.FORMATS)
def test_a_disk_that_fails_while_it_is_read_is_one_failure(shape: str) -> None:
    data = logs.FORMATS[shape][1](talk(8_000))
    _, told = answers(Broken(data, len(data) // 2))
    assert [one.name for one in told] == ["log"] and "Input/output error" in told[0].why


def bad_files(folder: Path) -> list[str]:
    """Make a file for each way in which one of a folder can't be read; their names."""
    broken = damaged()
    made: dict[str, bytes] = {
        "crc.zip": broken["crc"],
        "lzma.zip": torn(archive(("b.json", logs.chat_list(talk(400))), method=zipfile.ZIP_LZMA), zipfile.ZIP_LZMA),
        "deflate.zip": torn(archive(("b.json", logs.chat_list(talk(400)))), zipfile.ZIP_DEFLATED),
        "cut.zip": broken["crc"][:200],
        "log.gz": b"\x1f\x8b\x08" + b"x" * 100,
        "deep.json": b"[" * 100_000,
        "deep.jsonl": b'{"role": "user", "content": ' + b"[" * 100_000 + b"\n",
        "half.json": GOOD[:50],
        "huge.jsonl": b'{"role": "user", "content": ' + b"9" * 10_000 + b"}\n",
        "half-16.json": GOOD[:50].decode().encode("utf-16"),
        "surrogate.txt": b"nobody \xed\xa0\x80 speaks",
        "random.bin": bytes(range(256)) * 20,
    }
    for name, data in made.items():
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "gone").symlink_to("nowhere")
    return sorted([*made, "pipe", "device", "gone"])


def test_every_file_of_a_folder_that_can_t_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    names = bad_files(tmp_path)
    for name in ("a.json", "zz.json"):
        (tmp_path / name).write_bytes(GOOD)
    count, told = answers(tmp_path, "logs")
    assert sorted({one.name.split("/")[1] for one in told}) == names
    assert len(told) >= len(names) and count >= 2


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "x.json").write_bytes(GOOD)
    (tmp_path / "secret.json").write_bytes(GOOD)
    (tmp_path / "zz.json").write_bytes(GOOD)
    for name in ("closed", "secret.json"):
        (tmp_path / name).chmod(0)
    try:
        with _obedient():
            count, told = answers(tmp_path, "logs")
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert count == 1
    assert {one.name: one.why for one in told} == {
        "logs/closed": "it can't be read: Permission denied",
        "logs/secret.json": "it can't be read: Permission denied",
    }


def test_a_file_that_disappears_or_becomes_a_pipe_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.json", "b.json", "c.json"):
        (tmp_path / name).write_bytes(GOOD)
    looked: Callable[..., os.stat_result] = os.stat

    def stat_and_change(path: str, **how: object) -> os.stat_result:
        found = looked(path, **how)
        if str(path).endswith("a.json"):
            os.unlink(path)
        if str(path).endswith("b.json"):
            os.unlink(path)
            os.mkfifo(path)
        return found

    monkeypatch.setattr(os, "stat", stat_and_change)
    count, told = answers(tmp_path, "logs")
    assert count == 1
    assert [one.why for one in told] == ["it can't be read: No such file or directory", "it is not a regular file"]


def test_extract_names_what_it_can_t_read_and_does_the_rest(tmp_path: Path) -> None:
    vault, chats = tmp_path / "vault", tmp_path / "chats"
    vault.mkdir()
    chats.mkdir()
    env = environment(tmp_path / "home", TERM="xterm", TARS_NOW="2026-11-25T10:00")
    forked.run(program("init", "--quiet"), env=env, cwd=vault, check=True, timeout=60)
    names = bad_files(chats)
    for name in ("a.json", "zz.json"):
        (chats / name).write_bytes(logs.chat_list(talk(12, topic=name)))
    done = forked.run(program("--json", "extract", chats), env=env, cwd=vault, timeout=60)
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert {os.path.basename(one["source"]) for one in told["sessions"]} >= {"a.json", "zz.json"}
    failed = {one["source"].removeprefix(f"{chats}/").split("/")[0] for one in told["skipped"] if one["failed"]}
    assert failed == set(names)
    assert not list(tmp_path.rglob("*.trace")) and b"Traceback" not in done.stderr


def test_the_limits_are_those_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "transcripts.md").read_text("utf-8")
    for limit in (transcripts.MAX_TEXT, transcripts.MAX_LINE, transcripts.MAX_PASSED, transcripts.NO_TRAP):
        assert f"{limit // 1_000_000} MB" in page
    assert f"{transcripts.MAX_UNPACKED // 1_000_000_000} GB" in page and f"{transcripts.TRAP} times" in page
