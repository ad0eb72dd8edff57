"""``sql`` and ``export``: what they tell is what the scope may see, and nothing can be written or reached beside it."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import forked
import planted
import pytest
from sqlite_utils import Database

from tars_memory.errors import PartialError, TarsError, UsageError
from tars_memory.index.tables import TABLES
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

NOTES = {
    "Memory.md": "# Memory\n\n## Notes\n\n- Anna likes tea #food\n  - green ^m-abc\n- the key is ghp_"
    + "A1b2" * 9
    + "\n",
    "Facts.md": "## Anna\n\n- lives in:: Bonn [since:: 2020-01-01] [until:: 2021-01-01]\n- lives in:: Cork\n",
    "2026-11-20.md": "## Log\n\n- 10:00 [rejected] met Bo ([[Tea]]) ^d-aaaaaa\n",
    "Tea.md": "---\naliases: [chai, té]\ntags: [drink]\n---\n# Tea\n\n[[Memory]] [[Gone]]\n\n"
    + "word " * 900
    + "end\n",
    "projects/boat/Memory.md": "## Notes\n\n- boatword #boattag\n",
    "projects/car/Memory.md": "## Notes\n\n- carword\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return opened(tmp_path)


def opened(tmp_path: Path, project: str = "none") -> Memory:
    root = tmp_path / "vault"
    if not root.exists():
        make_vault(root, NOTES)
    return Memory(root, env={"TARS_MEMORY_HOME": str(tmp_path / "home")}, project=project)


def asked(memory: Memory, sql: str, **more: Any) -> list[tuple[Any, ...]]:
    return list(memory.sql(sql, **more))


def test_the_tables_tell_what_the_notes_say(memory: Memory) -> None:
    assert asked(memory, "SELECT title, tier, aliases FROM notes WHERE path = 'Tea.md'") == [
        ("Tea", "note", "chai\nté")
    ]
    assert asked(memory, "SELECT line, state, block_id FROM lines WHERE path = '2026-11-20.md' AND kind = 'item'") == [
        (3, "rejected", "d-aaaaaa")
    ]
    listed = [(each.ref, each.line, each.text) for each in memory.list("semantic") if each.path == "Memory.md"][:2]
    assert (
        asked(memory, "SELECT ref, line, text FROM entries WHERE path = 'Memory.md' AND text NOT LIKE '%key%'")
        == listed
    )
    assert asked(memory, "SELECT object FROM facts WHERE current") == [("Cork",)]
    assert asked(memory, "SELECT count(*), count(since) FROM facts") == [(2, 1)]
    assert asked(memory, "SELECT target, to_path FROM links WHERE path = 'Tea.md'") == [
        ("Memory", "Memory.md"),
        ("Gone", None),
    ]
    assert asked(memory, "SELECT path, tag FROM tags") == [("Memory.md", "food"), ("Tea.md", "drink")]


def test_bytes_that_are_not_utf8_are_shown_as_in_passages(memory: Memory) -> None:
    (memory.workspace.root / "Memory.md").write_bytes(
        b"## Caf\xe9\n\n- J\xe9r\xf4me \xed\xa0\x80 [source:: [[n\xe9]]] #caf\xe9\n"
    )
    ((section, text, line),) = asked(
        memory,
        "SELECT e.section, e.text, l.text FROM entries e JOIN lines l USING (path, line) WHERE path = 'Memory.md'",
    )
    assert section == "Caf\ufffd" and text.startswith("J\ufffdr\ufffdme \ufffd") and text in line


def test_every_line_is_there_once(memory: Memory) -> None:
    ((text,),) = asked(memory, "SELECT group_concat(text, '|') FROM lines WHERE path = 'Tea.md' AND line = 9")
    assert text.endswith("end") and text.count("|") >= 4
    twice = asked(memory, "SELECT path, line, piece FROM lines GROUP BY 1, 2, 3 HAVING count(*) > 1")
    assert twice == []
    long = "\n".join(f"- item {number} {'x' * 60}" for number in range(400))
    (memory.workspace.root / "Long.md").write_text(long, "utf-8")
    found = asked(memory, "SELECT line, text FROM lines WHERE path = 'Long.md' ORDER BY line")
    assert found == [(number, text) for number, text in enumerate(long.split("\n"), 1)]


@pytest.mark.parametrize("project", ["none", "boat"])
def test_a_scope_sees_itself_and_what_is_outside_projects(tmp_path: Path, project: str) -> None:
    memory = opened(tmp_path, project)
    told = {name: asked(memory, f"SELECT * FROM {name}") for name in TABLES}
    assert all(told.values()), "each table has rows"
    assert "carword" not in str(told) and "projects/car" not in str(told)
    assert ("boatword" in str(told)) == (project == "boat")
    memory.export(tmp_path / "out.db")
    data = (tmp_path / "out.db").read_bytes()
    assert b"carword" not in data and (b"boatword" in data) == (project == "boat")


def test_credentials_are_masked_however_they_are_asked_for(memory: Memory, tmp_path: Path) -> None:
    for sql in ("SELECT hex(text) FROM entries", "SELECT hex(text) FROM lines"):
        assert b"A1b2A1b2" not in b"".join(bytes.fromhex(text) for (text,) in asked(memory, sql))
    memory.export(tmp_path / "out.db")
    assert b"A1b2A1b2" not in (tmp_path / "out.db").read_bytes()


REFUSED = [
    "DELETE FROM notes",
    "INSERT INTO notes (path) VALUES ('x')",
    "WITH a AS (SELECT 1) UPDATE notes SET title = 'x'",
    "CREATE TABLE a (b)",
    "CREATE TEMP VIEW a AS SELECT 1",
    "DROP TABLE notes",
    "ATTACH '{home}/x.db' AS x",
    "VACUUM INTO '{home}/x.db'",
    "PRAGMA query_only = OFF",
    "PRAGMA writable_schema = ON",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM sqlite_master",
    "WITH notes AS (SELECT * FROM sqlite_schema) SELECT * FROM notes",
    "SELECT load_extension('x')",
    "SELECT * FROM chunk_texts",
    "SELECT readfile('/etc/passwd')",
    "BEGIN",
    "SELECT 1; DROP TABLE notes",
    "SELECT 1;\nSELECT 2",
    "",
    "-- nothing",
    "nonsense",
    "SELECT 'unclosed",
    "SELECT nothing FROM notes",
    "SELECT '\0'",
    "SELECT '\udcff'",
    "SELECT CAST(x'ff' AS TEXT)",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_but_one_query_that_reads_is_run(memory: Memory, tmp_path: Path, sql: str) -> None:
    asked(memory, "SELECT count(*) FROM notes")
    before = {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()}
    with pytest.raises(UsageError):
        asked(memory, sql.format(home=tmp_path))
    assert not memory.workspace.notices
    assert {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()} == before
    assert not (tmp_path / "x.db").exists()


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


@pytest.mark.parametrize("sql", [ENDLESS + "count(*) FROM n", ENDLESS + "i FROM n", ENDLESS + "i FROM n ORDER BY i"])
def test_a_query_ends_when_its_time_is_up(memory: Memory, sql: str) -> None:
    rows: list[object] = []
    with pytest.raises(PartialError, match=r"stopped after 0\.2 s"):
        rows.extend(memory.sql(sql, seconds=0.2))
    assert bool(rows) == sql.endswith("i FROM n")


def test_a_query_that_wants_all_memory_fails_alone(memory: Memory) -> None:
    with pytest.raises((PartialError, UsageError)):
        asked(memory, ENDLESS + "i, zeroblob(20000000) AS t FROM n ORDER BY t", seconds=60)
    assert asked(memory, "SELECT 1") == [(1,)]


def test_the_rows_of_a_query_are_printed_in_each_form(tmp_path: Path) -> None:
    opened(tmp_path).close()
    env = {
        "PATH": os.environ["PATH"],
        "TARS_MEMORY_HOME": str(tmp_path / "home"),
        "TARS_MEMORY_DIR": str(tmp_path / "vault"),
    }

    def tm(*words: str) -> subprocess.CompletedProcess[str]:
        from forked import program

        return forked.run(program(*words), env=env, text=True, cwd=tmp_path)

    sql = "SELECT path, aliases, NULL AS missing, path FROM notes WHERE path = 'Tea.md'"
    assert tm("sql", sql).stdout == "Tea.md\tchai té\t\tTea.md\n"
    assert [*csv.reader(io.StringIO(tm("sql", "--csv", sql).stdout))] == [
        ["path", "aliases", "missing", "path:2"],
        ["Tea.md", "chai\nté", "", "Tea.md"],
    ]
    row = {"path": "Tea.md", "aliases": "chai\nté", "missing": None, "path:2": "Tea.md"}
    assert json.loads(tm("sql", "--nl", sql).stdout) == row
    assert json.loads(tm("sql", "--json", sql).stdout)["rows"] == [row]
    assert tm("sql", "--table", sql).stdout.splitlines()[0].split() == ["path", "aliases", "missing", "path:2"]
    assert tm("sql", "SELECT 1 WHERE 0").returncode == 1
    assert tm("sql", "--csv", "--nl", sql).returncode == 2
    endless = tm("sql", "--timeout", "0.2", ENDLESS + "i FROM n")
    assert endless.returncode == 3 and endless.stdout.startswith("1\n2\n") and "--timeout" in endless.stderr
    assert tm("export", "vault/out.db").returncode == 2
    assert not (tmp_path / "vault" / "out.db").exists()


def test_an_export_opens_anywhere(memory: Memory, tmp_path: Path) -> None:
    counts = memory.export(tmp_path / "out.db")
    assert (tmp_path / "out.db").stat().st_mode & 0o777 == 0o600
    database = Database(sqlite3.connect(tmp_path / "out.db"))
    assert {*TABLES} <= {*database.table_names()}
    for name, columns in TABLES.items():
        assert [column.name for column in database[name].columns] == [*columns]
        assert [tuple(row.values()) for row in database[name].rows] == asked(memory, f"SELECT * FROM {name}")
        assert database[name].count == counts[name]
    assert [row["line"] for row in database["lines"].search("likes")] == [5]
    assert database["notes"].pks == ["path"]
    assert {key.other_table for key in database["lines"].foreign_keys} == {"notes"}
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("name", ["out.txt", "out", "out.csv"])
def test_what_cannot_be_exported_is_said_before_a_file_is_made(memory: Memory, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        memory.export(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) in (["home", "vault"], ["vault"])


def test_a_file_that_is_there_is_kept(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "out.db").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        memory.export(tmp_path / "out.db")
    assert (tmp_path / "out.db").read_text() == "mine"
    memory.export(tmp_path / "out.db", replace=True)
    assert (tmp_path / "out.db").read_bytes().startswith(b"SQLite format 3")
    with pytest.raises(TarsError):
        memory.export(tmp_path / "nowhere" / "out.db")
    os.symlink(tmp_path / "vault", tmp_path / "link")
    with pytest.raises(UsageError, match="vault"):
        memory.export(tmp_path / "link" / "out.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "link", "out.db", "vault"]


def test_no_row_of_another_scope_and_no_talk_is_in_a_copy(tmp_path: Path) -> None:
    vault = planted.plant(tmp_path, random.Random(3))
    for scope in planted.SCOPES:
        hidden = [planted.word(each) for each in planted.PROJECTS if each != scope]
        with planted.opened(vault.root, scope) as memory:
            told = str([asked(memory, f"SELECT * FROM {name}") for name in TABLES])
            assert planted.word(scope) in told
            assert not [word for word in hidden if word in told]
            assert asked(memory, "SELECT count(*) FROM notes WHERE tier = 'talk'") == [(0,)]
