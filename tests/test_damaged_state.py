"""State that was damaged, member by member: no command ends as a bug, what is whole works, doctor mends the rest."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tars_memory.doors.cli.app import run
from tars_memory.doors.cli.call import Call
from tars_memory.errors import TarsError
from tars_memory.testing import make_vault
from tars_memory.vault.writing.history import entries, lost_lines, transactions, typed_lines, written_lines
from tars_memory.vault.writing.journal import Journal, parse
from tars_memory.vault.writing.store import Spool

DEEP: Any = []
for _ in range(900):
    DEEP = [DEEP]

OTHERS: list[Any] = [
    None, True, -1, 5, 1.5, 10**30, 10**4000, "", "x", "a\0b", "\ud800", "../../etc/passwd", "9" * 5000, [], [[]], {},
    {"a": []}, [None] * 5, [1, 2], ["x", 1],
    [[0, "a", "b", 5, None]], [[-1, "a", "b", None, None]], [[0, "\ud800", "", None, None]],
    [[10**12, "a", "b", None, None]], DEEP,
]  # fmt: skip

RUBBISH = [b"", b"\0" * 4096, b'{"t":"begin","txn":"x', b"[" * 5000, b'{"a":' * 5000, b"null", b"5", b'"x"', b"[]",
           b"{}", b"\xff",
           b"9" * 5000, b"x" * 3_000_000]  # fmt: skip

LOOKS = [
    "history",
    "status",
    "doctor --dry-run",
    "list",
    "search fiord --mode lexical",
    "context",
    "why fiord",
    "facts",
]
WRITES = ["log tea", "doctor --fix", "undo", "remember the fiord is deep"]


class House:
    def __init__(self, base: Path) -> None:
        self.base = base
        self.root, self.home = base / "vault", base / "home"

    def call(self, line: str) -> int:
        env = {
            "TARS_MEMORY_HOME": str(self.home),
            "TARS_MEMORY_DIR": str(self.root),
            "TARS_MEMORY_EMBEDDING_MODEL": "none",
            "TARS_NOW": "2026-11-22T10:00:00+00:00",
            "TERM": "xterm",
        }
        code = run(line.split(), Call(env))
        sys.stdout.flush()
        assert code != 70, line
        return code

    @property
    def state(self) -> Path:
        return next(path for path in (self.home / "state/vaults").iterdir() if path.is_dir())

    @property
    def journal(self) -> Path:
        return next((self.state / "journal").glob("*.jsonl"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> House:
    house = House(tmp_path_factory.mktemp("built"))
    make_vault(house.root, {"Memory.md": "## Notes\n\n- the old fact\n", "Tea.md": "# Tea\n\noolong\n"})
    for line in (
        "remember the fiord is cold",
        "log met Anna at the fiord",
        "edit fiord_is the fiord is icy".replace("_is", ""),
        "feedback bad it was another fiord",
        "facts add Anna lives_in Cork",
        "facts add Anna lives_in Bergen",
        "remember --tier procedural ask before the fiord",
        "forget the_old_fact".replace("_", " "),
        "undo",
        "log once more",
    ):
        assert house.call(line) in (0, 1, 2), line
    return house


@pytest.fixture
def house(built: House, tmp_path: Path) -> House:
    shutil.copytree(built.base, tmp_path / "house", symlinks=True)
    copy = House(tmp_path / "house")
    old = built.state  # the state of a vault hangs on its path
    copy.call("history")
    copy.call("status")
    for made in (copy.home / "state/vaults").iterdir():
        if made.name != old.name:
            shutil.rmtree(made)
    record = json.loads((copy.state / "vault.json").read_text())
    folder = copy.home / "state/vaults" / folder_of(copy.root)
    copy.state.rename(folder)
    (folder / "vault.json").write_text(json.dumps({**record, "path": str(copy.root), "place": None}))
    return copy


def folder_of(root: Path) -> str:
    from tars_memory.disk import sha256

    return sha256(os.fsencode(root.resolve())).hexdigest()[:16]


def changed(record: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The record with one member missing, or of another value."""
    for name in record:
        yield f"no {name}", json.dumps({key: value for key, value in record.items() if key != name}).encode()
        for other in OTHERS:
            with contextlib.suppress(ValueError):
                yield f"{name} = {str(other)[:20]}", json.dumps({**record, name: other}, separators=(",", ":")).encode()


def readers(journal: Journal, root: Path) -> None:
    """All that is read from a journal."""
    list(entries(journal))
    list(transactions(journal))
    written_lines(journal)
    lost_lines(journal, root)
    typed_lines(journal, "Memory.md")
    journal.unfinished()
    Journal.interrupted_transaction(next(journal.records(), None))


def test_each_member_of_each_record_may_be_anything(built: House, tmp_path: Path) -> None:
    lines = built.journal.read_bytes().split(b"\n")[:-1]
    assert {json.loads(line).get("op") for line in lines} >= {"create", "edit", "append"}
    folder = tmp_path / "journal"
    folder.mkdir()
    count = 0
    for number, line in enumerate(lines):
        for what, other in changed(json.loads(line)):
            if parse(other) is not None:  # a record like any other: whoever reads it must be able to
                (folder / built.journal.name).write_bytes(
                    b"\n".join([*lines[:number], other, *lines[number + 1 :], b""])
                )
                try:
                    readers(Journal(folder), built.root)
                except TarsError:
                    continue
                except Exception as error:
                    raise AssertionError((what, other[:200])) from error
            count += 1
    assert count > 1000


def test_damaged_lines_cost_themselves_alone_and_doctor_sets_them_aside(house: House, capsys: Any) -> None:
    lines = house.journal.read_bytes().split(b"\n")[:-1]
    house.call("history --json --limit 100")
    before = json.loads(capsys.readouterr().out)["entries"]
    broken = [other for line in lines for _, other in changed(json.loads(line)) if parse(other) is None]
    broken = [*broken[::7], *RUBBISH[1:]]
    mixed: list[bytes] = []
    for number, line in enumerate(lines):
        mixed += [line, *broken[number :: len(lines)]]
    house.journal.write_bytes(b"\n".join([*mixed, b""]))
    house.call("history --json --limit 100")
    assert json.loads(capsys.readouterr().out)["entries"] == before
    for line in LOOKS:
        house.call(line)
    capsys.readouterr()
    assert house.call("doctor --json") == 1
    assert any(one["kind"] == "journal" for one in json.loads(capsys.readouterr().out)["findings"])
    house.call("doctor --fix")
    capsys.readouterr()
    house.call("doctor --json")
    assert not any(one["kind"] == "journal" for one in json.loads(capsys.readouterr().out)["findings"])
    aside = house.journal.with_suffix(".damaged").read_bytes()
    assert all(line in aside for line in broken)
    assert all(line in house.journal.read_bytes() for line in lines)
    assert house.call("undo") == 0


def test_whatever_a_crash_left_at_the_end_the_next_writer_goes_on(house: House) -> None:
    lines = house.journal.read_bytes().split(b"\n")[:-1]
    number = max(at for at, line in enumerate(lines) if b'"op":"edit"' in line)
    tails = [other for _, other in changed(json.loads(lines[number]))][::19]
    for count, tail in enumerate([*tails, *RUBBISH]):
        for ending in (b"\n", b""):
            house.journal.write_bytes(b"\n".join([*lines[:number], tail]) + ending)
            assert house.call(f"log goes on {count}{ending!r}") in (0, 5), tail[:300]
    said = "".join(path.read_text() for path in [*house.root.glob("*.md"), *house.home.rglob("spool/*.json")])
    assert all(f"goes on {count}b" in said for count in range(len(tails) + len(RUBBISH)))


def test_an_undo_of_half_a_transaction_is_refused(house: House, capsys: Any) -> None:
    capsys.readouterr()
    house.call("history --json --limit 1")
    txn = json.loads(capsys.readouterr().out)["entries"][0]["txn"]
    with house.journal.open("ab") as file:
        file.write(b'{"t":"begin","txn":"' + txn.encode() + b'","n":1,"file":5}\n')
    assert house.call("undo") == 6
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["vault.json", "spool/00000000000000000001-0000abcd.json", "last-search", "sources.json", "lock"]
)
def test_each_file_of_our_state_may_be_anything(house: House, name: str) -> None:
    path = house.state / name
    path.parent.mkdir(exist_ok=True)
    whole = path.read_bytes() if path.is_file() else b""
    if name.startswith("spool"):
        arguments = {"text": "the fiord again", "tier": "semantic", "section": None, "tags": ["a"], "actor": "person",
                     "now": "2026-11-21T10:00:00+00:00", "interactive": False, "project": ""}  # fmt: skip
        item = {"command": "remember", "arguments": arguments}
        mutants = [data for _, data in changed(item)]
        mutants += [json.dumps({**item, "arguments": json.loads(data)}).encode() for _, data in changed(arguments)]
        mutants = mutants[::13]
    elif name == "vault.json":
        mutants = [data for _, data in changed(json.loads(whole))][::7]
    else:
        mutants = []
    for data in [*mutants, *RUBBISH]:
        path.write_bytes(data)
        assert house.call("log tea") in (0, 5), data[:300]
    for data in (mutants[:: max(1, len(mutants) // 4)] or [b"[" * 5000]) + [b"\0" * 100]:
        for line in [*LOOKS, *WRITES, "open 1"]:
            path.write_bytes(data)
            house.call(line)


def test_a_damaged_spool_file_is_set_aside_with_its_words(house: House, capsys: Any) -> None:
    spool = house.state / "spool"
    spool.mkdir(exist_ok=True)
    (spool / "0001.json").write_bytes(b'{"command": "remember", "arguments": {"text": "the lost fiord"')
    assert house.call("doctor") == 1
    house.call("doctor --fix")
    capsys.readouterr()
    house.call("doctor")
    assert "0001" not in capsys.readouterr().out
    assert "lost fiord" in (spool / "0001.json.damaged").read_text()
    assert Spool(spool).damaged() == []


def test_a_damaged_manifest_is_a_model_that_is_not_there(tmp_path: Path) -> None:
    from tars_memory.index.models import EMBEDDED_MANIFEST, read_manifest

    said = EMBEDDED_MANIFEST._asdict()
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"manifest": said, "lengths": {}}))
    assert read_manifest(tmp_path) is not None
    for _, data in changed(said):
        path.write_bytes(json.dumps({"manifest": json.loads(data), "lengths": {}}).encode())
        found = read_manifest(tmp_path)
        assert found is None or {name: type(value) for name, value in found._asdict().items()} == {
            name: type(value) for name, value in said.items()
        }
    for _, data in changed({"manifest": said, "lengths": {"manifest.json": 5}}):
        path.write_bytes(data)
        read_manifest(tmp_path)
    for data in RUBBISH:
        path.write_bytes(data)
        assert read_manifest(tmp_path) is None


def told_by(house: House, capsys: Any, line: str) -> tuple[int, str]:
    capsys.readouterr()
    code = house.call(line)
    told = capsys.readouterr()
    return code, told.out + told.err


@pytest.mark.parametrize("left", [b"", b'{"t":"begin","txn":"1m84w561w","n":0,"time":"2026-'])
def test_a_journal_that_was_emptied_is_told_as_that(house: House, capsys: Any, left: bytes) -> None:
    journal, memory = house.journal, house.root / "Memory.md"
    before = memory.read_bytes()
    journal.write_bytes(left)
    said = f"{journal} was emptied: the writes that it recorded are missing"
    code, told = told_by(house, capsys, "history")
    assert code == 1 and said in told and "no write is recorded" in told and "nothing has been written" not in told
    code, told = told_by(house, capsys, "undo")
    assert code == 1 and "nothing to undo" in told and said in told
    code, told = told_by(house, capsys, "doctor")
    assert code == 1 and said in told and memory.read_bytes() == before
    assert told_by(house, capsys, "remember tea is green") == (0, f"{memory}:{len(before.splitlines()) + 1}\n")
    code, told = told_by(house, capsys, "history")  # what is missing goes on being missed
    assert code == 0 and said in told and "tea is green" in told
    code, told = told_by(house, capsys, "undo --last 2")
    assert code == 1 and "only 1 write can be undone" in told and said in told
    assert "mended: journal" in told_by(house, capsys, "doctor --fix")[1]
    assert "emptied" not in told_by(house, capsys, "doctor")[1]
    assert journal.with_name(f"{journal.name}.damaged").read_bytes() == left
    assert told_by(house, capsys, "undo")[0] == 0 and memory.read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_stands_in_the_place_of_a_journals_file_is_named(house: House, capsys: Any, kind: str) -> None:
    journal = house.journal
    journal.rename(aside := house.base / "aside.jsonl")
    if kind == "folder":
        journal.mkdir()
    elif kind == "pipe":
        os.mkfifo(journal)
    else:
        journal.symlink_to(aside)
    said = f"{journal} has the name of a journal file, but is not a regular file"
    for line in ("history", "undo", "why kestxp64"):
        code, told = told_by(house, capsys, line)
        assert code == 5 and said in told, (line, told)
    code, told = told_by(house, capsys, "remember tea is green")
    assert code == 5 and said in told and "is kept (" in told and "Memory.md can't" not in told
    code, told = told_by(house, capsys, "doctor")
    assert code == 1 and told.count(said) == 1 and "tea is green" in told, told
    code, told = told_by(house, capsys, "doctor --fix")
    assert "placed from the spool" in told and said in told
    assert said not in told_by(house, capsys, "doctor")[1]
    assert "tea is green" in (house.root / "Memory.md").read_text()


def test_a_file_of_the_journal_that_may_not_be_read_is_named(house: House, capsys: Any) -> None:
    refused, real = house.journal, os.open

    def opened(path: Any, *more: Any, **named: Any) -> int:
        if os.fspath(path) == os.fspath(refused):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opened)
        for line in ("history", "undo", "remember tea is green"):
            code, told = told_by(house, capsys, line)
            assert code == 5 and f"{refused}: Permission denied" in told, told
        code, told = told_by(house, capsys, "doctor")
        assert code == 1 and f"{refused}: Permission denied" in told and "tea is green" in told


def test_half_a_line_that_is_taken_out_is_told(house: House, capsys: Any) -> None:
    with house.journal.open("ab") as file:
        file.write(b'{"t":"begin","txn":"x')
    code, told = told_by(house, capsys, "log tea")
    assert code == 0 and "ended within a line, as a crash leaves it: the last 21 bytes are removed" in told
    assert "within a line" not in told_by(house, capsys, "log more tea")[1]


def test_a_journals_file_begins_with_its_first_record(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.open(datetime(2026, 11, 22, tzinfo=UTC))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left") as failed:
            journal.append([{"t": "mark", "txn": "1"}], durable=True)
    assert failed.value.filename == str(tmp_path / "journal/0001-2026-11.jsonl")
    assert list((tmp_path / "journal").iterdir()) == []
    journal.append([{"t": "mark", "txn": "1"}], durable=True)
    journal.append([{"t": "mark", "txn": "2"}], durable=False)
    journal.close()
    assert [record["txn"] for record in journal.records()] == ["2", "1"] and journal.emptied() == []


@pytest.mark.parametrize("name", ["vault.json", "lock", "embed.lock", "index.lock", "last-search", "spool", "journal"])
@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_stands_in_the_place_of_a_file_of_our_state_is_named_and_moved_away(
    house: House, capsys: Any, name: str, kind: str
) -> None:
    house.call("search fiord --mode lexical")
    path, is_folder = house.state / name, name in ("spool", "journal")
    if path.is_dir():
        path.rename(house.base / "aside")
    else:
        path.unlink(missing_ok=True)
    if is_folder and kind == "folder":
        path.write_text("a file")
    elif kind == "folder":
        path.mkdir()
        (path / "more").write_text("x")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("nowhere/at/all")
    said = f"{path} is not a {'folder' if is_folder else 'regular file'}"
    code, told = told_by(house, capsys, "doctor --dry-run")
    assert code == 1 and said in told and f"moves it away, to {name}.damaged" in told, told
    for line in ("search fiord --mode lexical", "history", "status"):
        assert house.call(line) in (0, 1, 5), line
    assert house.call("log tea") in (0, 5)
    house.call("doctor --fix")
    assert said not in told_by(house, capsys, "doctor")[1]
    assert house.call("log more tea") == 0
