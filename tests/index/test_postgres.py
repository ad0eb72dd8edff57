"""A team's index in PostgreSQL: the same answers as the file's, whoever else reads, writes or dies meanwhile."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from postgres_server import QUICK, NoServer, others, server
from psycopg import errors
from random_documents import examples

from tars_memory.errors import SettingsError, TeamIndexError
from tars_memory.index import postgres as room, postgres_reader, vectors
from tars_memory.index.fulltext import expression
from tars_memory.index.indexer import Index
from tars_memory.index.postgres import TeamIndex, address
from tars_memory.index.postgres_reader import parsed, pattern
from tars_memory.index.reader import Filter
from tars_memory.index.watcher import Watcher
from tars_memory.jobs.sleep import IndexKeeper
from tars_memory.memory import Memory
from tars_memory.testing import HashEmbedder, hashed, make_vault

WORDS = ("tea", "river", "copper", "museum", "train", "winter", "C++", "東京", "Zürich", "a-b")


# --- the address


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:secret@localhost/db", "contains a password"),
        ("postgresql://me@localhost/db?password=secret", "contains a password"),
        ("postgresql://me@db.example.org/db?sslmode=prefer", "anybody could read"),
        ("postgresql://me@localhost,db.example.org/db?sslmode=disable", "anybody could read"),
        ("postgresql:///db?host=db.example.org&sslmode=allow", "anybody could read"),
        ("postgresql://me@localhost/db?hostaddr=192.0.2.7&sslmode=disable", "anybody could read"),
        ("postgresql:///db?service=team", "service file"),
        ("mysql://localhost/db", "not a PostgreSQL address"),
        ("notes.db", "not a PostgreSQL address"),
        ("postgresql://localhost/db?connect_timeout=soon", "not a number of seconds"),
    ],
)
def test_an_address_that_is_not_safe_is_refused_and_no_password_is_repeated(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said) as raised:
        address(url)
    assert "secret" not in f"{raised.value.message} {raised.value.hint}"


def test_off_this_machine_the_connection_is_encrypted(monkeypatch) -> None:
    for here in (
        "postgresql:///db",
        "postgresql://localhost/db",
        "postgresql://me@127.0.0.1:5433/db",
        "postgresql://me@[::1]/db",
        "postgresql://me@%2Fvar%2Frun/db",
        "postgresql:///db?host=/run",
    ):
        assert "sslmode" not in address(here).options
    assert address("postgresql://db.example.org/db").options["sslmode"] == "require"
    assert address("postgresql://db.example.org/db?sslmode=verify-full").options["sslmode"] == "verify-full"
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert address("postgresql:///db").options["sslmode"] == "require"
    monkeypatch.setenv("PGSSLMODE", "prefer")
    with pytest.raises(SettingsError):
        address("postgresql:///db")


# --- expressions


def test_an_expression_is_taken_apart_as_fts5_binds_it() -> None:
    found = parsed('("tea" AND "rivers flow") OR text : "mus" * OR ("a-b")', "porter unicode61")
    assert [[phrase.tokens for phrase in group] for group in found] == [
        [("tea",), ("river", "flow")],
        [("mu",)],
        [("a", "b")],
    ]
    assert found[1][0].prefix and found[1][0].column == "text" and not found[0][0].prefix
    for bad in ("tea", '"tea" "milk"', '"tea" OR', '"tea" NOT "milk"'):
        with pytest.raises(ValueError, match="not an expression"):
            parsed(bad, "unicode61")


def test_a_path_pattern_means_the_same_as_a_glob() -> None:
    import re
    import sqlite3

    connection = sqlite3.connect(":memory:")
    chance = random.Random(3)
    for _ in range(2_000):
        glob = "".join(chance.choices("ab*?[]^-.\\+é", k=chance.randint(0, 6)))
        text = "".join(chance.choices("ab^-.\\+é[]", k=chance.randint(0, 5)))
        if glob.count("[") > glob.count("]") or "-" in glob or "\\" in glob:
            continue  # filters close each bracket and never write a range
        (fits,) = connection.execute("SELECT ? GLOB ?", (text, glob)).fetchone()
        assert bool(re.search(pattern(glob), text, re.DOTALL)) is bool(fits), (glob, text)


# --- publishing


@pytest.fixture
def team(make_index, postgres: str) -> Iterator[Callable[..., tuple[Index, TeamIndex]]]:
    """Makes a vault, its index, and what a team reads of it; called without notes it publishes again."""
    made: list[tuple[Index, TeamIndex]] = []

    def give(notes: dict[str, str] | None = None, *, where: str = "", vault: str = "") -> tuple[Index, TeamIndex]:
        if notes is not None:
            index = make_index(notes)
            name = vault or f"{os.getpid()}x{time.monotonic_ns()}"
            made.append((index, TeamIndex(where or postgres, name)))
        index, one = made[-1]
        index.reindex()
        one.publish(index.published_from(), index.cache, None, takes_over=False, wait=5.0)
        return index, one

    yield give
    for _, one in made:
        one.close()


def texts(chance: random.Random) -> str:
    lines = [" ".join(chance.choices(WORDS, k=chance.randint(1, 9))) for _ in range(chance.randint(0, 6))]
    tags = "---\ntags: [work/a]\naliases: [Nippon]\nstatus: done\n---\n" if chance.random() < 0.3 else ""
    return tags + f"# {chance.choice(WORDS)}\n\n" + "\n\n".join(f"- {line}" for line in lines) + "\n"


def answers(reader) -> list[object]:
    """What both engines have to say alike."""
    found: list[object] = []
    for within in (Filter(), Filter(scope="p"), Filter(tags=["work"]), Filter(paths=["x/*"]), Filter(tiers=["note"])):
        for query in (["tea", "river"], ["copper museum", "a-b"], ["Zürich", "rivers", "river"], ["nowhere"]):
            asked = expression(query, prefixes=["tr"])
            found.append([(key, round(score, 7)) for key, score in reader.match_chunks(asked, within, 20)])
            found.append([(key, round(score, 7)) for key, score in reader.match_notes(asked, within, 20)])
        found.append([(key, round(score, 7)) for key, score in reader.match_signs(["東京", "京"], within, 20)])
        found.append([(key, round(score, 5)) for key, score in reader.nearest(hashed("tea river"), within, 5)])
        found.append(reader.newest(within, 9))
        found.append([reader.hyphenated(parts, within) for parts in (("a", "b"), ("tea", "river"), ("x", "y"))])
        found.append(reader.held({"tea": "tea", "river": "rivers", "winter": "winter", "none": "none"}, within))
    every = reader.chunks(range(1, 2_000))
    found += [{key: [*vars(row).values()] for key, row in every.items()}]
    found += [reader.frequencies(["tea", "river", "winter", "none"]), reader.chunk_count(), reader.embedded(every)]
    found += [reader.words_with(beginning) for beginning in ("t", "riv", "zur", "none")]
    found += [reader.word_bits(every), reader.names().all(), reader.names().tags(), reader.notes_where(["status=done"])]
    found += [reader.text_of(row.path) for row in every.values()]
    return found


@pytest.mark.parametrize("seed", range(examples(6)))
def test_after_any_changes_the_team_finds_what_the_file_finds(team, seed: int) -> None:
    chance = random.Random(seed)
    paths = [f"{folder}n{number}.md" for folder in ("", "x/", "projects/p/") for number in range(5)]
    index, one = team({path: texts(chance) for path in paths})
    for _ in range(4):
        for path in chance.sample(paths, 3):
            place = index.vault.root / path
            if place.exists() and chance.random() < 0.4:
                place.unlink()
            else:
                place.write_text(texts(chance), "utf-8")
        team()
        assert one.read(answers) == index.read(answers)


@pytest.mark.parametrize("few", [False, True], ids=["a thousand first", "ten first"])
def test_among_many_a_graph_names_the_neighbours_within_every_filter(team, monkeypatch, few: bool) -> None:
    monkeypatch.setattr(vectors, "MANY", 30)
    if few:
        monkeypatch.setattr(vectors, "SHORTLIST", 10)
    chance = random.Random(5)
    paths = [f"{folder}n{number}.md" for folder in ("", "x/", "projects/p/") for number in range(15)]
    index, one = team({path: texts(chance) for path in paths})

    def near(reader) -> list[object]:
        found = []
        for within in (Filter(), Filter(scope="p"), Filter(tags=["work"]), Filter(paths=["x/*"]), Filter(since="2026")):
            near = reader.nearest(hashed("tea river"), within, 5)
            found.append([round(score, 5) for _, score in near] if not few else len(near))
        return found

    def planned(reader) -> str:
        asked = []
        reader._team.execute, real = lambda *given: (asked.append(given), real(*given))[1], reader._team.execute
        reader.nearest(hashed("tea"), Filter(), 5)
        (sql, values) = next(given for given in asked if "<~>" in given[0])
        real("SELECT set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true)")
        return "\n".join(line for (line,) in real(f"EXPLAIN {sql}", values))

    assert one.read(lambda reader: reader.chunk_count()) > 40
    assert one.read(near) == index.read(near)
    assert "Index Scan using graph" in one.read(planned)
    for path in paths[:5]:
        (index.vault.root / path).write_text(texts(chance), "utf-8")
    team()
    assert one.read(near) == index.read(near)
    for number in range(60):
        (index.vault.root / f"more{number}.md").write_text("tea by the river\n")
    team()
    assert one.read(near) == index.read(near)
    assert "Index Scan using graph" in one.read(planned)


def test_of_many_occurrences_those_of_the_rarest_words_name_the_rows_and_all_count(team, monkeypatch) -> None:
    chance = random.Random(9)
    notes = {
        f"n{number}.md": " ".join(chance.choices(("tea", "river", "copper"), (60, 30, 1), k=40)) for number in range(90)
    }
    _, one = team(notes)
    asked = expression(["tea", "river", "copper", "copper train"])

    def best(reader) -> dict[int, float]:
        return dict(reader.match_chunks(asked, Filter(), 20))

    every = one.read(best)
    rare = {row for row, _ in one.read(lambda reader: reader.match_chunks(expression(["copper"]), Filter(), 90))}
    assert 20 < len(rare) < 90
    monkeypatch.setattr(postgres_reader, "POSTINGS", len(rare))
    found = one.read(best)
    assert len(found) == 20
    assert set(found) <= rare
    assert {row: score for row, score in found.items() if row in every} == {
        row: score for row, score in every.items() if row in found
    }
    assert len(found.keys() & every.keys()) >= 15

    def told(reader) -> list[object]:
        narrow = Filter(notes=tuple(reader.chunks([row])[row].note_id for row in every if row not in rare)[:3])
        return [reader.match_chunks(asked, narrow, 20), reader.match_notes(asked, narrow, 20)]

    narrow = one.read(told)
    monkeypatch.undo()
    assert narrow == one.read(told)


def test_as_many_words_name_rows_as_the_best_take(team, monkeypatch) -> None:
    """A row of common words alone may be better than one of a rare word: then the common ones name rows, too."""
    chance = random.Random(5)
    words = ("tin", "fern", "clay", "moss", "reed")
    notes = {}
    for number in range(120):
        held = [word for word, share in zip(words, (0.1, 0.3, 0.35, 0.4, 0.45), strict=True) if chance.random() < share]
        notes[f"n{number}.md"] = " ".join([*held, *chance.choices(("a1", "b2", "c3", "d4"), k=chance.randint(2, 60))])
    _, one = team(notes)
    asked = expression(list(words))
    every = one.read(lambda reader: reader.match_chunks(asked, Filter(), 12))
    rare = {row for row, _ in one.read(lambda reader: reader.match_chunks(expression(["tin"]), Filter(), 90))}
    assert not {row for row, _ in every} <= rare
    read: list[tuple[tuple[str, ...], bool]] = []
    hits = postgres_reader._hits

    def counted(table, terms, idfs, among):
        read.append((tuple(terms), among is None))
        return hits(table, terms, idfs, among)

    monkeypatch.setattr(postgres_reader, "_hits", counted)
    monkeypatch.setattr(postgres_reader, "POSTINGS", 1)
    assert one.read(lambda reader: reader.match_chunks(asked, Filter(), 12)) == every
    named = [len(terms) for terms, whole in read if whole]
    assert named[0] < named[-1], "more words than the limit allows"
    read.clear()
    one.read(lambda reader: reader.match_chunks(expression(["tin", "fern"]), Filter(), 3))
    assert [terms for terms, whole in read if whole] == [("tin",)], "a row of fern alone is none of three best"


def test_vectors_follow_when_they_are_made(team) -> None:
    index, one = team({"a.md": "tea\n"})
    (index.vault.root / "b.md").write_text("river\n")
    index.refresh()
    one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0)
    assert one.read(lambda reader: (reader.chunk_count(), len(reader.embedded([1, 2])))) == (2, 1)
    index.embed_pending()
    done = one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0)
    assert (done.changed, done.vectors) == (0, 1)
    assert one.read(lambda reader: len(reader.nearest(hashed("river"), Filter(), 9))) == 2


def test_another_version_of_the_rows_is_not_read_and_gives_way_whole(team, postgres: str, monkeypatch) -> None:
    index, one = team({"a.md": "tea\n"})
    monkeypatch.setattr(room, "FORMAT", "99.9")
    with pytest.raises(TeamIndexError, match=r"has version .*, but this program reads 99\.9"):
        one.read(lambda reader: reader.chunk_count())
    assert one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0).whole
    assert one.read(lambda reader: reader.chunk_count()) == 1
    with psycopg.connect(postgres) as connection:
        beside = "SELECT count(*) FROM pg_namespace WHERE starts_with(nspname, %s)"
        (left,) = connection.execute(beside, (f"tars_{one.vault}_",)).fetchone()
    assert left == 1


def test_an_index_of_another_version_is_neither_read_nor_taken_for_ones_own(team, postgres: str, monkeypatch) -> None:
    """Rows of then may lack what is asked now: only the registry and who published are looked at."""
    index, one = team({"a.md": "tea\n"})
    place = one.read(lambda reader: reader._team.execute("SELECT current_schema()").fetchone()[0])
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {place}.notes DROP COLUMN title; DROP TABLE {place}.lines")
        connection.execute("UPDATE tars_memory.indexes SET version = '9.3' WHERE vault = %s", (one.vault,))
    with pytest.raises(TeamIndexError, match=r"has version 9\.3, but this program reads"):
        one.read(lambda reader: reader.chunk_count())
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "second")
        with pytest.raises(TeamIndexError, match="is published by"):
            one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0)
    assert one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0).whole
    assert one.read(answers) == index.read(answers)
    with monkeypatch.context() as older:
        older.setattr(room, "FORMAT", "9.3")
        with pytest.raises(TeamIndexError, match=r"this program reads 9\.3"):
            one.read(lambda reader: reader.chunk_count())
        with pytest.raises(TeamIndexError, match=r"by a newer version"):
            one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0)
    assert one.read(answers) == index.read(answers)


def test_two_that_publish_at_once_leave_one_whole_index(team, postgres: str) -> None:
    index, one = team({f"n{number}.md": f"heron {number}\n" for number in range(20)})
    for number in range(20):
        (index.vault.root / f"n{number}.md").write_text(f"kingfisher {number}\n")
    index.reindex()
    failed: list[Exception] = []

    def publish() -> None:
        mine = TeamIndex(postgres, one.vault)
        try:
            mine.publish(index.published_from(), index.cache, None, takes_over=False, wait=60.0)
        except Exception as error:
            failed.append(error)

    both = [threading.Thread(target=publish) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert failed == []
    assert one.read(answers) == index.read(answers)


def test_a_second_one_that_publishes_waits_or_says_who_is_at_it(team, postgres: str) -> None:
    index, one = team({"a.md": "tea\n"})
    with psycopg.connect(postgres, autocommit=True, application_name="tars-memory on host") as other:
        take = "SELECT pg_advisory_lock(%s, hashtext(%s))"
        other.execute(take, (room.LOCK, one.vault))
        with pytest.raises(TeamIndexError, match=r"another process \(tars-memory on host\) is publishing"):
            one.publish(index.published_from(), index.cache, None, takes_over=False, wait=0.0)
        threading.Timer(0.3, other.close).start()
        assert one.publish(index.published_from(), index.cache, None, takes_over=False, wait=20.0) is not None


def test_one_machine_publishes_until_another_takes_over(team, monkeypatch) -> None:
    index, one = team({"a.md": "tea\n"})
    monkeypatch.setattr("platform.node", lambda: "second")
    with pytest.raises(TeamIndexError, match="is published by"):
        one.publish(index.published_from(), index.cache, None, takes_over=False, wait=1.0)
    assert one.publish(index.published_from(), index.cache, None, takes_over=True, wait=1.0).whole
    assert one.describe()["by"] == "second"


def test_a_connection_that_the_server_ended_is_opened_again_and_one_that_fails_is_left_alone_for_a_while(
    team, postgres: str, monkeypatch
) -> None:
    _, one = team({"a.md": "tea\n"})
    pid = one.read(lambda reader: reader.backend)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
    assert one.read(lambda reader: (reader.chunk_count(), reader.backend != pid)) == (1, True)
    tried: list[object] = []
    real = room.connect
    monkeypatch.setattr(room, "connect", lambda where: (tried.append(where), real(where))[1])
    nowhere = TeamIndex("postgresql://me@127.0.0.1:1/x?connect_timeout=60", "v")
    for _ in range(5):
        with pytest.raises(TeamIndexError, match="Connection refused"):
            nowhere.read(lambda reader: reader.chunk_count())
    assert len(tried) == 1


def test_whoever_is_killed_leaves_what_was_published_before(team, monkeypatch) -> None:
    index, one = team({f"n{number}.md": f"heron {number}\n" for number in range(30)})
    before = one.read(answers)
    index.close()
    for number in range(30):
        (index.vault.root / f"n{number}.md").write_text(f"kingfisher {number}\n")
    for statement in ("DELETE FROM totals", "INSERT INTO totals", "COPY", "CREATE SCHEMA", "ANALYZE"):
        child = os.fork()
        if not child:  # it dies as a machine does that loses its power
            try:
                _die_at(statement)
                again = Index(index.vault, index.files.folder, index.cache, index.limits, HashEmbedder)
                again.refresh()
                whole = statement in ("CREATE SCHEMA", "ANALYZE")
                if whole:
                    room.FORMAT = "99.9"
                TeamIndex(one.address.url, one.vault).publish(
                    again.published_from(), again.cache, None, takes_over=False, wait=5.0
                )
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, statement
        assert one.read(answers) == before
    index, one = team()
    assert one.read(answers) == index.read(answers) != before


def _die_at(statement: str) -> None:
    """Be killed where a statement that begins so would be sent."""
    for kind, method in ((psycopg.Connection, "execute"), (psycopg.Cursor, "copy")):
        real = getattr(kind, method)

        def doomed(self, sql, *args, real=real, **kwargs):
            if str(sql).startswith(statement):
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, sql, *args, **kwargs)

        setattr(kind, method, doomed)


def test_twenty_readers_see_each_publishing_whole_or_not_at_all(team, postgres: str, monkeypatch) -> None:
    """Two notes say the same number; readers never find two, while notes change and whole indexes are replaced."""
    index, one = team({"a.md": "round 0\n", "b.md": "round 0\n"})
    seen: list[set[str]] = []
    failed: list[Exception] = []
    done = threading.Event()

    def look() -> None:
        mine = TeamIndex(postgres, one.vault)
        try:
            while not done.wait(0.01):  # as often as anybody asks; the rest of the time is the publisher's
                rows = mine.read(lambda reader: [reader.text_of(path) for path in ("a.md", "b.md")])
                seen.append({row.decode() for row in rows})
        except Exception as error:
            failed.append(error)
        finally:
            mine.close()

    readers = [threading.Thread(target=look) for _ in range(20)]
    for reader in readers:
        reader.start()
    for number in range(1, 5):
        for name in ("a.md", "b.md"):
            (index.vault.root / name).write_text(f"round {number}\n")
        with monkeypatch.context() as whole:
            if number % 2:
                whole.setattr(room._Publisher, "_step", lambda _: None)
            team()
    done.set()
    for reader in readers:
        reader.join()
    assert failed == []
    assert all(len(each) == 1 for each in seen)
    assert len({one for each in seen for one in each}) > 1


# --- rights


def test_who_reads_can_write_nothing(roles: tuple[str, str], team) -> None:
    writer, reader = roles
    index, one = team({"a.md": "tea\n"}, where=writer)
    theirs = TeamIndex(reader, one.vault)
    assert theirs.read(answers) == index.read(answers)
    assert theirs.publish(index.published_from(), index.cache, None, takes_over=True, wait=1.0) is None
    schema = theirs.read(lambda asked: asked._team.execute("SELECT current_schema()").fetchone()[0])
    with psycopg.connect(reader, autocommit=True) as connection:
        for sql in (
            f"INSERT INTO {schema}.scopes VALUES (9, 'x')",
            f"UPDATE {schema}.notes SET path = 'x'",
            f"DELETE FROM {schema}.lines",
            f"TRUNCATE {schema}.vectors",
            f"DROP SCHEMA {schema} CASCADE",
            f"CREATE TABLE {schema}.mine (a int)",
            "CREATE TABLE public.mine (a int)",
            "CREATE SCHEMA mine",
            "UPDATE tars_memory.indexes SET place = 'x'",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                connection.execute(sql)
    with psycopg.connect(writer, autocommit=True) as connection:
        connection.execute(f"REVOKE USAGE ON SCHEMA {schema} FROM memory_reader")
    with pytest.raises(TeamIndexError, match="the role memory_reader may not read the index of this vault"):
        theirs.read(answers)
    theirs.close()


# --- what can't be


def test_what_stands_in_the_way_is_said(postgres: str, tmp_path: Path, monkeypatch) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bare")
        connection.execute("CREATE ROLE stranger LOGIN")
    silent = socket.create_server(("127.0.0.1", 0))
    plain = socket.create_server(("127.0.0.1", 0))

    def refuse_tls() -> None:
        while True:
            try:
                one, _ = plain.accept()
            except OSError:
                return
            one.recv(8)
            one.sendall(b"N")

    threading.Thread(target=refuse_tls, daemon=True).start()
    source = tmp_path / "index-1.0001.db"
    cases = [
        (postgres.replace("/postgres?", "/nowhere?"), "can't be reached.*does not exist"),
        (postgres, "no index of this vault"),
        (postgres.replace("postgres@", "nobody@"), "can't be reached.*nobody"),
        (f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x", "did not answer within 1 s"),
        (f"postgresql://me@0.0.0.0:{plain.getsockname()[1]}/x?connect_timeout=60", "can't be reached.*SSL"),
        ("postgresql://me@127.0.0.1:1/x?connect_timeout=60", "can't be reached: Connection refused$"),
    ]
    for url, said in cases:
        with pytest.raises(TeamIndexError, match=said):
            TeamIndex(url, "v").read(lambda reader: reader.chunk_count())
    with monkeypatch.context() as patched:
        patched.setenv("PGSERVICE", "team")
        with pytest.raises(SettingsError, match="PGSERVICE is set"):
            address(postgres)
    for url, said in [
        (postgres.replace("/postgres?", "/bare?"), "lacks the extension pgvector"),
        (postgres.replace("postgres@", "stranger@").replace("/postgres?", "/bare?"), "may not create anything"),
    ]:
        with pytest.raises(TeamIndexError, match=said):
            TeamIndex(url, "v").publish(_empty(source), tmp_path, None, takes_over=False, wait=0.0)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "psycopg", None)
        with pytest.raises(TeamIndexError, match="needs psycopg"):
            TeamIndex(postgres, "v").read(lambda reader: reader.chunk_count())
        with pytest.raises(TeamIndexError, match="needs psycopg"):
            TeamIndex(postgres, "v").publish(source, tmp_path, None, takes_over=False, wait=0.0)
    with pytest.raises(TeamIndexError, match="has none"):
        TeamIndex(postgres, None).read(lambda reader: reader.chunk_count())
    silent.close()
    plain.close()


def _empty(path: Path) -> Path:
    from tars_memory.index.database import create_index

    if not path.exists():
        create_index(path).close()
    return path


@pytest.mark.prove
def test_a_server_off_this_machine_is_reached_by_tls_alone() -> None:
    """0.0.0.0 is not known for this machine; a server without TLS and one that is not the right one are refused."""
    import pwd

    found = others()
    if found is None or shutil.which("openssl") is None:
        pytest.skip("the system brings no PostgreSQL, and that of the wheel knows no TLS")
    with tempfile.TemporaryDirectory(prefix="pg-") as name, socket.create_server(("", 0)) as free:
        folder, port = Path(name), free.getsockname()[1]
        folder.chmod(0o711)
        free.close()
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=0.0.0.0 -addext subjectAltName=IP:0.0.0.0"
        subprocess.run([*made.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
        key.chmod(0o640)  # root's own, readable by the group of whom the server runs as
        os.chown(key, os.geteuid(), pwd.getpwnam("postgres").pw_gid if not os.geteuid() else os.getegid())
        options = ["listen_addresses=0.0.0.0", f"ssl_cert_file={certificate}", f"ssl_key_file={key}"]
        url = f"postgresql://postgres@0.0.0.0:{port}/postgres?connect_timeout=60"
        try:
            with server(folder / "tls", [*QUICK, *options, "ssl=on"], found, port):
                connection = room.connect(address(f"{url}&sslmode=verify-full&sslrootcert={certificate}"))
                assert connection.pgconn.ssl_in_use
                connection.close()
                room.connect(address(url)).close()
                with pytest.raises(TeamIndexError, match="certificate"):
                    room.connect(address(f"{url}&sslmode=verify-full&sslrootcert=system"))
            with (
                server(folder / "clear", [*QUICK, *options], found, port),
                pytest.raises(TeamIndexError, match="SSL"),
            ):
                room.connect(address(url))
        except NoServer as error:
            pytest.skip(f"no PostgreSQL: {error}")


def test_a_server_that_stops_while_it_is_asked_is_waited_for_ten_times_as_long(team, monkeypatch) -> None:
    index, one = team({"a.md": "tea\n"})
    with monkeypatch.context() as hasty:
        hasty.setattr(room, "READ_FACTOR", 0.3 / one.address.patience)
        with pytest.raises(TeamIndexError, match=r"did not answer within 0[.]3 s"):
            one.read(lambda reader: reader._team.execute("SELECT pg_sleep(60)"))
        with pytest.raises(TeamIndexError, match=r"did not answer within 0[.]3 s"):  # and is left alone for a while
            one.read(lambda reader: reader.chunk_count())
    one._retry_at = 0.0
    assert one.read(lambda reader: reader.chunk_count()) == index.read(lambda reader: reader.chunk_count())


def test_a_server_that_says_nothing_is_waited_for_a_second() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(TeamIndexError, match="did not answer within 1 s"):
            TeamIndex(f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/x", "v").read(lambda _: None)
        assert 0.9 < time.monotonic() - begun < 9  # ten times as long is waited for one that has begun to answer


# --- search


def test_a_copy_of_the_vault_searches_the_team_and_tells_what_it_has_itself(postgres: str, tmp_path: Path) -> None:
    notes = {
        "tea.md": "green tea from Uji\n",
        "river.md": "# River\n\nthe tea boat\n",
        "cups.md": "- tea cups\n- added since\n",
        "nul.md": "\0 black tea\n",
        ".tars/vault-id": "0" * 32 + "\n",
    }
    make_vault(tmp_path / "one", notes)
    mine = {"tea.md": "\n\nmoved down\n\ngreen tea from Uji\n", "cups.md": "- tea cups\n"}
    make_vault(tmp_path / "two", notes | mine)
    (tmp_path / "two/river.md").unlink()

    def opened(name: str, url: str = postgres) -> Memory:
        env = {"HOME": str(tmp_path / f"home-{name}"), "TARS_MEMORY_INDEX_DATABASE": url}
        return Memory(tmp_path / name, env=env)

    with opened("one") as first:
        assert "published to" in first.reindex(embed=False).published
    with opened("two") as second:
        result = second.search("tea", mode="lexical")
        assert {(hit.path, hit.start_line, hit.text) for hit in result.hits} == {
            ("tea.md", 5, "green tea from Uji"),
            ("river.md", 3, "the tea boat"),
            ("cups.md", 1, "- tea cups"),
            ("nul.md", 1, "  black tea"),
        }
        assert any("lacks" in said for said in result.notices)
        result = second.search("added since", mode="lexical")
        assert not result.hits
        assert "the team's index has lines about this that this copy of the vault lacks" in result.notices
        assert not any("lacks" in said for said in second.search("xylophone", mode="lexical").notices)
        assert not list((tmp_path / "home-two").rglob("index-*.db"))
        assert "green tea from Uji" in second.context("tea", mode="lexical").text
    with opened("two", "postgresql://me@127.0.0.1:1/x?connect_timeout=60") as alone:
        with pytest.raises(TeamIndexError) as raised:
            alone.search("tea")
        assert raised.value.exit_code == 7
        alone.workspace.index().refresh()
        result = alone.search("tea")
        assert {hit.path for hit in result.hits} == {"tea.md", "cups.md", "nul.md"}
        assert result.mode == "lexical"
        assert any("own index" in said for said in result.notices)
        with pytest.raises(TeamIndexError):
            alone.search("tea", mode="semantic")


def test_watching_publishes_what_changes(postgres: str, tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"a.md": "tea\n", ".tars/vault-id": "watched-vault\n"})

    def opened() -> Memory:
        env = {"HOME": str(tmp_path), "TARS_MEMORY_INDEX_DATABASE": postgres, "TARS_MEMORY_BACKGROUND": "0"}
        memory = Memory(root, env=env)
        memory.workspace.embedder = HashEmbedder()
        return memory

    one = TeamIndex(postgres, "watched-vault")
    batches = IndexKeeper(opened, Watcher(root)).batches()
    next(batches)
    assert one.read(lambda reader: len(reader.embedded([1]))) == 1
    (root / "b.md").write_text("river\n")
    next(batches)
    assert one.read(lambda reader: len(reader.match_chunks('"river"', Filter(), 9))) == 1
    batches.close()
    one.close()


def test_status_and_doctor_ask_it_and_what_is_forgotten_leaves_it(postgres: str, tmp_path: Path) -> None:
    notes = {"Memory.md": "## Facts\n\n- likes tea\n- fears herons\n", ".tars/vault-id": "asked-vault\n"}
    root = make_vault(tmp_path / "vault", notes)

    def opened(url: str = postgres) -> Memory:
        env = {"HOME": str(tmp_path), "TARS_MEMORY_INDEX_DATABASE": url, "TARS_MEMORY_BACKGROUND": "0"}
        return Memory(root, env=env, actor="person", interactive=True)

    def team_troubles(memory: Memory) -> list[str]:
        return [each["message"] for each in memory.doctor()["findings"] if each["kind"] == "team"]

    with opened() as memory:
        assert "no index of this vault" in memory.status()["team"]["problem"]
        assert len(team_troubles(memory)) == 1
        memory.reindex(embed=False)
        told = memory.status()["team"]
        assert (told["notes"], told["chunks"], told["problem"]) == (1, 1, "")
        assert team_troubles(memory) == []
        assert any("published to" in said for said in memory.forget("fears herons", everywhere=True).notices)
        assert memory.workspace.team().read(lambda reader: reader.match_text(["herons"], Filter(), 9)) == []
    with opened("postgresql://me@127.0.0.1:1/x?connect_timeout=60") as memory:
        assert "can't be reached" in memory.status()["team"]["problem"]
    with opened("") as memory:
        assert memory.status()["team"] is None
        assert memory.workspace.publish() == ""
