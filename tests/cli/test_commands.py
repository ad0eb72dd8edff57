"""What each command asks of the memory, and how it answers."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_memory import DEFAULTS, hit, receipt, result

from tars_memory import errors
from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.commands import health
from tars_memory.doors.cli.output import Output
from tars_memory.index import detached
from tars_memory.recall.names import NamedPlace
from tars_memory.recall.query import SearchRequest, parse

Run = Callable[..., Any]


class Stdin:
    """A stdin with bytes behind it."""

    def __init__(self, data: bytes, terminal: bool = False) -> None:
        self.buffer = io.BytesIO(data)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_writers_print_where_and_nothing_else(tm: Run, memory: Any) -> None:
    answer = tm("remember", "likes", "tea", "--section", "Taste", "--tag", "food", "--tag", "home")
    assert (answer.code, answer.out, answer.err) == (0, "Memory.md:7\n", "")
    assert memory.asked == [
        ("remember", ("likes tea",), {"tier": "semantic", "section": "Taste", "tags": ("food", "home")})
    ]
    assert memory.closed == 1
    assert tm("remember", "x", "--quiet").out == ""


def test_a_receipt_as_json(tm: Run) -> None:
    assert tm("remember", "likes tea", "--json").json == {
        "txn": "t1", "path": "Memory.md", "line": 7, "ref": "abcd2345", "text": "likes tea", "written": True,
        "spooled": False, "notices": [],
    }  # fmt: skip


def test_a_repeat_is_said(tm: Run, memory: Any) -> None:
    memory.answers["remember"] = receipt(written=False)
    answer = tm("remember", "likes tea")
    assert (answer.code, answer.out) == (0, "Memory.md:7\n")
    assert "already exists" in answer.err


def test_a_rule_without_a_person_says_where_it_is_kept(tm: Run, memory: Any) -> None:
    memory.answers["remember"] = receipt(written=False, path=None, line=None, notices=["kept as proposal p7"])
    answer = tm("remember", "--tier", "procedural", "always", "ask")
    assert (answer.code, answer.out) == (0, "")
    assert "kept as proposal p7" in answer.err


def test_text_that_cannot_be_written_is_said_to_wait(tm: Run, memory: Any) -> None:
    error = errors.BusyError("the vault is locked by 4711 (reindex)", "try again")
    error.spooled = "s12"
    memory.answers["log"] = error
    answer = tm("log", "x")
    assert answer.code == 5
    assert "s12" in answer.err and "4711" in answer.err
    told = json.loads(tm("log", "x", "--json").err)
    assert told["spooled"] == "s12" and told["exit_code"] == 5


def test_text_from_stdin_is_one_entry(tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin("\ufeffZürich\nis \udcff nice\n".encode("utf-8", "surrogateescape")))
    assert tm("remember", "--stdin").code == 0
    assert memory.asked[0][1] == ("Zürich\nis \udcff nice\n",)
    monkeypatch.setattr(sys, "stdin", Stdin(b" \n"))
    assert tm("log", "--stdin").code == 2
    assert tm("log", "--stdin", "x").code == 2


def test_log_alone_shows_today(tm: Run) -> None:
    assert tm("log").out == "## Log\n\n- 14:30 tea\n"
    assert tm("log", "--json").json == {
        "date": "2026-11-21", "path": "2026-11-21.md", "text": "## Log\n\n- 14:30 tea\n", "notices": [],
    }  # fmt: skip


def test_feedback(tm: Run, memory: Any) -> None:
    tm("feedback", "bad", "wrong", "day", "--question", "when?", "--answer", "Monday")
    assert memory.asked == [("feedback", (False, "wrong day"), {"question": "when?", "answer": "Monday"})]


def test_forget_names_the_copies_that_remain(tm: Run, memory: Any) -> None:
    memory.answers["forget"] = receipt(notices=["the journal keeps a copy for 90 days"])
    answer = tm("forget", "abcd2345")
    assert "the journal keeps a copy for 90 days" in answer.err
    assert tm("forget", "abcd2345", "--everywhere", "--json").json["notices"] == [
        "the journal keeps a copy for 90 days"
    ]
    assert ("forget", ("abcd2345",), {"everywhere": True, "also": [], "parts": False}) in memory.asked


def test_what_fits_several_entries_lists_them(tm: Run, memory: Any) -> None:
    memory.answers["forget"] = errors.AmbiguousError("'tea' fits 2 entries", ["a1 Memory.md:3 tea", "b2 \x1b[31mtea"])
    answer = tm("forget", "tea")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "tars-memory: 'tea' fits 2 entries\n  a1 Memory.md:3 tea\n  b2 tea\n"
    assert json.loads(tm("forget", "tea", "--json").err)["candidates"][0] == "a1 Memory.md:3 tea"


def test_undo(tm: Run, memory: Any) -> None:
    answer = tm("undo")
    assert (answer.out, answer.err) == ("Memory.md:7\n", "tars-memory: removed: Memory.md:7: - likes tea\n")
    tm("undo", "t9")
    tm("undo", "--last", "3", "--json")
    assert [call[1:] for call in memory.asked] == [
        ((None,), {"last": 1}),
        (("t9",), {"last": 1}),
        ((None,), {"last": 3}),
    ]


def test_a_long_change_is_cut_and_says_so(tm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tars_memory.doors.cli.commands.remember.SHOWN", 5)
    assert tm("history").out.endswith("\tMemory.md\t- lik…\n")


def test_history_and_list_are_columns(tm: Run) -> None:
    assert tm("history").out == (
        "t1\t2026-11-21T14:30:00+01:00\tremember\tperson\tappend\tMemory.md\t- likes tea\n"
    )  # fmt: skip
    assert tm("history", "--json").json["entries"][0]["time"] == "2026-11-21T14:30:00.123456+01:00"
    assert list(tm("history", "--json").json["entries"][0]) == [
        "txn", "time", "command", "actor", "file", "op", "before", "after", "undone",
    ]  # fmt: skip
    assert tm("list").out == "abcd2345\tMemory.md:7\tlikes tea\n"
    assert tm("list", "--json").json["entries"][0]["ref"] == "abcd2345"


def test_show(tm: Run) -> None:
    assert tm("show", "abcd2345").out == "Memory.md:7  Notes  [abcd2345]\n- likes tea\n"
    assert tm("show", "abcd2345", "--json").json["raw"] == "- likes tea"


def test_search_in_a_pipe_is_path_line_text_of_the_line_that_answers(tm: Run, memory: Any) -> None:
    answer = tm("search", "green", "teas")
    assert (answer.code, answer.out, answer.err) == (0, "notes/tea.md:4:Green tea for Anna.\n", "")
    assert not any(memory.asked[0][2].values())


def test_search_options_reach_the_memory(tm: Run, memory: Any) -> None:
    line = "search tea --mode Lexical --tier Daily --tier note --tag a --path projects --since 2w --until today"
    line += " --limit 3 --explain --project p"
    tm(*line.split())
    assert {name: value for name, value in memory.asked[0][2].items() if value} == {
        "tiers": ("daily", "note"), "tags": ("a",), "paths": ("projects",), "since": "2w", "until": "today",
        "explain": True, "mode": "lexical", "limit": 3,
    }  # fmt: skip
    assert memory.opened["project"] == "p"


def test_search_as_json_has_the_documented_shape(tm: Run, memory: Any) -> None:
    memory.answers["search"] = result(hit(), notices=["no model"])
    answer = tm("search", "tea", "--json")
    assert list(answer.json) == ["query", "mode", "hits", "abstained", "stale", "notices"]
    assert list(answer.json["hits"][0]) == [
        "rank", "score", "path", "start_line", "end_line", "tier", "date", "title", "headings", "text", "block_id",
        "obsidian_url",
    ]  # fmt: skip
    assert answer.json["notices"] == ["no model"] and "no model" in answer.err
    memory.answers["search"] = result(hit(explain={"bm25": 0.5}))
    assert tm("search", "tea", "--json", "--explain").json["hits"][0]["explain"] == {"bm25": 0.5}


def test_paths_are_printed_once_each(tm: Run, memory: Any) -> None:
    memory.answers["search"] = result(hit(), hit(rank=2, start_line=9), hit(rank=3, path="b.md"))
    assert tm("search", "tea", "--paths").out == "notes/tea.md\nb.md\n"


def test_whoever_searches_for_a_credential_learns_that_its_value_is_masked(tm: Run, memory: Any) -> None:
    memory.answers["search"] = result()
    for words in ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "password: Xk29-fuchs-Haus7"):
        answer = tm("search", words)
        assert answer.code == 1 and "masked in the index" in answer.err and "nothing relevant" in answer.err
        assert "masked in the index" in tm("search", words, "--json").json["notices"][0]
    assert "masked" not in tm("search", "password").err
    memory.answers["search"] = result(hit())
    assert "masked" not in tm("search", "password: Xk29-fuchs-Haus7").err


def test_nothing_is_said_and_never_as_if_all_had_been_read(tm: Run, memory: Any) -> None:
    memory.answers["search"] = result()
    answer = tm("search", "qqqxyzzy")
    assert (answer.code, answer.out, answer.err) == (1, "", "tars-memory: nothing relevant\n")
    late = "the index is behind by 3 files: tars-memory reindex"
    memory.answers["search"] = result(stale=3, notices=[late])
    answer = tm("search", "qqqxyzzy")
    assert answer.code == 1
    said = f"tars-memory: {late}\n"
    assert answer.err == f"{said}tars-memory: nothing found so far\n"
    memory.answers["search"] = result(hit(), stale=3, notices=[late])
    assert tm("search", "tea").err == said, "once"
    memory.answers["search"] = result(stale=3)
    assert tm("search", "qqqxyzzy", "--json").json["stale"] == 3


@pytest.mark.parametrize("hits", [[], [hit()]])
def test_logs_that_are_not_read_are_told_by_their_notice_alone(tm: Run, memory: Any, hits: list[Any]) -> None:
    found = result(*hits, stale=2, notices=["2 logs of conversations are not searched yet: tars-memory reindex"])
    memory.answers["search"] = found
    answer = tm("search", "tea")
    assert "behind by" not in answer.err and answer.err.count("reindex") == 1
    assert ("nothing found so far\n" in answer.err) is not bool(hits)


def test_many_queries_one_object_a_line(tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.answers["search"] = lambda text, **_: result(hit(), query=text) if text != "none" else result(query=text)
    monkeypatch.setattr(sys, "stdin", Stdin("tea\n\n-\r\nnone\nZ\udcff".encode("utf-8", "surrogateescape")))
    answer = tm("search", "--stdin", "--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [line["query"] for line in lines] == ["tea", "", "-", "none", "Z\udcff"]
    assert [len(line["hits"]) for line in lines] == [1, 0, 1, 0, 1]
    assert set(lines[1]) == set(lines[0])
    assert answer.code == 0
    monkeypatch.setattr(sys, "stdin", Stdin(b"none\n\n"))
    assert tm("search", "--stdin", "--json").code == 1


def test_a_query_that_can_not_be_read_is_told_of_and_the_next_one_answered(
    tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(text: str, **options: Any) -> Any:
        parse(SearchRequest(text, since=options.get("since")), date(2026, 11, 21))
        return result(hit(), query=text) if "tea" in text else result(query=text)

    memory.answers["search"] = search
    memory.answers["now"] = datetime(2026, 11, 21, tzinfo=UTC)
    monkeypatch.setattr(sys, "stdin", Stdin(b"since:never tea\ntea\ntier:x\n"))
    answer = tm("search", "--stdin", "--json")
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [(line["query"], len(line["hits"])) for line in lines] == [("since:never tea", 0), ("tea", 1), ("tier:x", 0)]
    assert "'never' is not a date" in lines[0]["notices"][0] and set(lines[0]) == set(lines[1])
    assert answer.code == 0
    monkeypatch.setattr(sys, "stdin", Stdin(b"since:never tea\nnone\n"))
    answer = tm("search", "--stdin")
    assert (answer.code, answer.out) == (2, "\n\n") and "'never' is not a date" in answer.err
    monkeypatch.setattr(sys, "stdin", Stdin(b"tea\ntea\n"))
    answer = tm("search", "--stdin", "--json", "--since", "never")
    assert (answer.code, answer.out) == (2, "")


def test_many_queries_as_text_part_their_answers_by_an_empty_line(
    tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"tea\ntea\n"))
    assert tm("search", "--queries").out == "notes/tea.md:4:Green tea for Anna.\n\n" * 2


def test_open_prints_where_if_nothing_can_open_it(tm: Run, memory: Any, tmp_path: Path) -> None:
    memory.root, memory.state = tmp_path, tmp_path / "state"
    memory.answers["place"] = errors.NotFoundError("no note has the name so")
    assert tm("open").code == 1, "no search yet"
    memory.answers["search"] = result(hit(), hit(rank=2, path="b.md", start_line=9))
    tm("search", "tea")
    assert tm("open", "2").out == f"{tmp_path}/b.md:10\n"
    assert tm("open", "3").code == 2
    assert tm("open", "0").code == 2
    assert tm("open", "2", "--json").json == {
        "path": "b.md", "line": 10, "obsidian_url": hit(path="b.md").obsidian_url, "opened": False, "notices": [],
    }  # fmt: skip


def test_open_takes_the_name_of_a_note(tm: Run, memory: Any, tmp_path: Path) -> None:
    memory.root, memory.state = tmp_path, tmp_path / "state"
    memory.answers["place"] = NamedPlace("guides/Custom domains.md")
    ran = tm("open", "custom", "domains")
    assert (ran.code, ran.out) == (0, f"{tmp_path}/guides/Custom domains.md:1\n")
    assert memory.asked[-1][1] == ("custom domains",)


def test_a_number_is_a_hit_or_else_a_name_and_a_blank_is_neither(
    tm: Run, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.root, memory.state = tmp_path, tmp_path / "state"

    def called(name: str) -> NamedPlace:
        if name != "2025":
            raise errors.NotFoundError(f"no note has the name {name!r}")
        return NamedPlace("years/2025.md")

    monkeypatch.setattr(memory, "place", staticmethod(called), raising=False)
    assert tm("open", "2025").out == f"{tmp_path}/years/2025.md:1\n", "no search was made"
    memory.answers["search"] = result(hit())
    tm("search", "tea")
    assert tm("open", "2025").out == f"{tmp_path}/years/2025.md:1\n"
    assert tm("open", "1").out == f"{tmp_path}/notes/tea.md:4\n"
    ran = tm("open", "2024")
    assert (ran.code, "no hit 2024, and no note has the name '2024'" in ran.err) == (2, True)
    ran = tm("open", "9" * 5_000)
    assert (ran.code, "no note has the name" in ran.err) == (1, True)
    for blank in ("", " ", "\u3000"):
        ran = tm("open", blank)
        assert (ran.code, ran.out, "the name is empty" in ran.err) == (2, "", True)


def test_names_that_are_spelt_alike_are_offered_where_nothing_is_found(tm: Run, memory: Any) -> None:
    memory.answers["search"] = empty = result()
    empty.did_you_mean = ["Zettelkasten", "Kasten"]
    ran = tm("search", "Zetelkasten")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "tars-memory: nothing relevant; did you mean Zettelkasten or Kasten?\n"
    assert tm("search", "Zetelkasten", "--json").json["did_you_mean"] == ["Zettelkasten", "Kasten"]


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim -R", ["vim", "-R", "+10", "NOTE"]),
        ("code --wait", ["code", "--wait", "--goto", "NOTE:10"]),
        ("hx", ["hx", "NOTE:10"]),
    ],
)
def test_an_editor_opens_at_the_line(
    tm: Run, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str, words: list[str]
) -> None:
    from tars_memory.doors.cli.call import Call

    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda argv, check: started.append(argv) or SimpleNamespace(returncode=0))
    monkeypatch.setattr(Call, "actor", "person")
    memory.root, memory.state = tmp_path, tmp_path / "state"
    memory.answers["search"] = result(hit(path="b.md", start_line=9))
    tm("search", "tea")
    assert tm("open", EDITOR=editor).out == ""
    assert started == [[word.replace("NOTE", str(tmp_path / "b.md")) for word in words]]


def test_obsidian_opens_a_note_of_its_vault(
    tm: Run, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.run", lambda argv, check: started.append(argv) or SimpleNamespace(returncode=0))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / ".obsidian").mkdir()
    memory.root, memory.state = tmp_path, tmp_path / "state"
    tm("search", "tea")
    assert tm("open", DISPLAY=":0").code == 0
    assert started == [["xdg-open", hit().obsidian_url]]
    assert tm("open").out == f"{tmp_path}/notes/tea.md:4\n", "no display: nothing to open it with"


def test_init(tm: Run, memory: Any) -> None:
    answer = tm("init", "/v")
    assert (answer.out, answer.err) == ("/v\n", "tars-memory: made Memory.md, Procedural.md\n")
    tm("init")
    tm("--vault", "/w", "init")
    tm("init", TARS_MEMORY_DIR="/x")
    made = [arguments for name, arguments, _ in memory.asked if name == "init"]
    assert made == [("/v",), (".",), ("/w",), ("/x",)]
    assert tm("init", "/v", "--json").json["created"] == ["Memory.md", "Procedural.md"]
    memory.answers["recommended_model"] = {
        "model": "multilingual",
        "why": "90 % of the notes are not in English, most of these in German",
        "megabytes": 72,
        "installed": False,
    }
    said = tm("init", "/v").err
    assert "90 % of the notes are not in English, most of these in German; the model multilingual can search " in said
    assert len(said.splitlines()) == 2  # in a script: what was made, and what is recommended
    assert errors.installing("multilingual") in said and "then: tars-memory models use multilingual" in said
    memory.answers["recommended_model"]["installed"] = True
    said = tm("init", "/v").err
    assert "by meaning (it is installed); " in said and "to use it: tars-memory models use multilingual" in said


@pytest.mark.parametrize(("shares", "enter"), [({"Polish": 0.6, "German": 0.2}, True), ({"German": 0.3}, False)])
def test_enter_takes_the_model_that_most_of_the_notes_need(
    shares: dict[str, float], enter: bool, tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = {"model": "multilingual", "why": "so", "megabytes": 72, "installed": True, "languages": shares}
    memory.answers["recommended_model"] = better
    monkeypatch.setattr(Call, "interactive", True)
    monkeypatch.setattr(Call, "read_answer", lambda _: "")
    tm("init", "/v")
    assert (("use_model", ("multilingual",), {}) in memory.asked) is enter


def test_notes_that_cannot_be_archived_are_not_said_to_need_none(tm: Run, memory: Any) -> None:
    (step,) = (before := DEFAULTS["archive"]).plan
    failed = step._replace(action="keep", reason="archive/2026-01-02.md can't be written: Permission denied")
    memory.answers["archive"] = before._replace(plan=[failed], failed=True)
    answer = tm("tidy", "--archive", "--apply")
    assert (
        answer.code == 3 and "check the owner and the permissions" in answer.err and "needs to move" not in answer.err
    )


def test_reindex_verify_status_doctor_models(tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tm("reindex").out == "2 notes read, 0 gone, skipped: 1 conflict copy\n"
    assert memory.asked[-1][2] == {"full": False, "embed": True, "progress": None}
    running = [True, True, False]
    monkeypatch.setattr(detached, "is_running", lambda _: running.pop(0) if running else False)
    monkeypatch.setattr(detached, "read_progress", lambda _: detached.Work("vectors", 1, 4))
    monkeypatch.setattr(health, "POLL", 0.0)
    memory.answers["reindex"] = SimpleNamespace(
        changed=2, removed=0, vectors=3, pending_vectors=0, stale=0, skipped={}, took=0.1, notices=[], published=""
    )
    assert tm("reindex").out == "4 notes read, 0 gone, 6 vectors made\n", "its own, after that"
    tm("reindex", "--full", "--no-embed")
    assert memory.asked[-1][2] == {"full": True, "embed": False, "progress": None}
    assert tm("verify").code == 0
    memory.answers["verify"] = ["Memory.md: a row too many"]
    assert (tm("verify").code, tm("verify").out) == (1, "Memory.md: a row too many\n")
    told = tm("status", "--verbose").out
    assert told.startswith("vault\n  path       /vault\n  notes      3\n")
    assert "\nindex\n  notes    3\n  vectors  none\n" in told
    assert tm("status", "--json").json["index"] == {"notes": 3, "vectors": None}
    memory.answers["status"] = {"index": {"indexed": 1795348335}}
    assert (
        tm("status", "--verbose").out
        == f"index\n  indexed  {datetime.fromtimestamp(1795348335).astimezone():%Y-%m-%d %H:%M}\n"
    )
    assert tm("status", "--json").json["index"] == {"indexed": 1795348335}
    assert tm("doctor").code == 0
    lost = {"kind": "lost", "path": "", "message": "Memory.md:3 x", "hint": "undo", "fixable": False, "fixed": False}
    memory.answers["doctor"] = {"findings": [lost], "notices": []}
    assert (tm("doctor").code, tm("doctor").out) == (1, "lost: Memory.md:3 x\n  undo\n")
    assert tm("models").out == "*\tembedded\t\t\tinstalled\n\tother\t\t\tnot installed\n"
    memory.answers["models"] = [
        {"name": "embedded", "current": True, "installed": True, "languages": "English", "megabytes": 23, "seconds": 8},
        {"name": "multilingual", "recommended": True, "languages": "about a hundred", "megabytes": 72, "seconds": 240},
    ]
    answer = tm("models")
    assert answer.out == (
        "*\tembedded\tEnglish\t23 MB\tinstalled\tabout 8 s\n"
        "\tmultilingual\tabout a hundred\t72 MB\tnot installed, recommended\tabout 4 min\n"
    )
    assert "for the languages of your notes: tars-memory models use multilingual" in answer.err
    assert memory.asked[-1][2] == {"fetchable": False} and "models --all" in answer.err
    assert "--all" not in tm("models", "--all").err and memory.asked[-1][2] == {"fetchable": True}
    assert tm("models", "--json").code == 0 and memory.asked[-1][2] == {"fetchable": True}
    assert tm("models", "use", "other").out == "model  other\n"


def test_notices_of_the_memory_are_said_once(tm: Run, memory: Any) -> None:
    memory.notices = ["2 lines wait in the spool"]
    memory.answers["search"] = result(hit(), notices=["2 lines wait in the spool", "no model"])
    answer = tm("search", "tea", "--json")
    assert answer.json["notices"] == ["2 lines wait in the spool", "no model"]
    assert answer.err.count("spool") == 1
    assert tm("search", "tea", "--quiet").err == ""


@pytest.mark.parametrize(
    ("terminals", "env", "actor"),
    [
        ("in out err", {}, "person"),
        ("in err", {}, "person"),
        ("in", {}, "script"),
        ("out err", {}, "script"),
        ("", {}, "script"),
        ("", {"TERM": ""}, "script"),
        ("in out err", {"TARS_MEMORY_ACTOR": "agent"}, "agent"),
        ("in out err", {"CLAUDECODE": "1"}, "agent"),
        ("", {"TARS_MEMORY_ACTOR": "person"}, "script"),
        ("", {"TARS_MEMORY_ACTOR": "cron"}, "cron"),
    ],
)
def test_who_calls(
    tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch, terminals: str, env: dict[str, str], actor: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"", "in" in terminals))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: "out" in terminals, raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: "err" in terminals, raising=False)
    tm("status", "--json", **env)
    assert (memory.opened["actor"], memory.opened["interactive"]) == (actor, actor == "person")


def test_an_unknown_actor_is_refused(tm: Run) -> None:
    assert tm("log", "x", TARS_MEMORY_ACTOR="root").code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.VaultError("no vault here", "make one"), 4),
        (errors.NotFoundError("no entry q"), 1),
        (errors.ConflictError("the note changed"), 6),
        (errors.ModelUnavailableError("no model"), 7),
        (errors.PartialError("2 of 3"), 3),
        (OSError(28, "No space left on device", "/state/x"), 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_failures_have_their_exit_code(tm: Run, memory: Any, error: Exception, code: int) -> None:
    memory.answers["show"] = error
    answer = tm("show", "x")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("tars-memory: ")
    told = json.loads(tm("show", "x", "--json").err)
    assert set(told) == {"error", "hint", "exit_code"} and told["exit_code"] == code


def test_a_bug_is_one_sentence_and_a_saved_trace(tm: Run, memory: Any, tmp_path: Path) -> None:
    memory.answers["show"] = ZeroDivisionError("oh")
    answer = tm("show", "x")
    assert answer.code == 70
    assert "Traceback" not in answer.err
    path = Path(answer.err.rsplit(" ", 1)[1].strip())
    assert path.is_relative_to(tmp_path / "state") and path.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError: oh" in path.read_text()
    assert "Traceback" in tm("show", "x", TARS_MEMORY_DEBUG="1").err


def test_old_traces_go(tm: Run, memory: Any, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    for i in range(20):
        (tmp_path / "state" / f"crash-20200101-0000{i:02}-1.txt").write_text("")
    memory.answers["show"] = ZeroDivisionError("oh")
    tm("show", "x")
    assert len(list((tmp_path / "state").glob("crash-*.txt"))) == 10


def test_ctrl_c_is_130_and_silent(tm: Run, memory: Any) -> None:
    memory.answers["show"] = KeyboardInterrupt()
    answer = tm("show", "x")
    assert (answer.code, answer.out, answer.err) == (130, "", "")
    assert memory.closed == 1


def test_an_editor_that_is_not_there_is_a_sentence(
    tm: Run, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tars_memory.doors.cli.call import Call

    monkeypatch.setattr(Call, "actor", "person")
    memory.root, memory.state = tmp_path, tmp_path / "state"
    tm("search", "tea")
    answer = tm("open", EDITOR="no-such-editor-here")
    assert answer.code == 2 and "no-such-editor-here" in answer.err


@pytest.mark.parametrize("editor", ["'", " ", '"nano'])
def test_an_editor_that_is_no_command_is_said(
    tm: Run, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str
) -> None:
    from tars_memory.doors.cli.call import Call

    monkeypatch.setattr(Call, "actor", "person")
    memory.root, memory.state = tmp_path, tmp_path / "state"
    memory.answers["search"] = result(hit())
    tm("search", "tea")
    answer = tm("open", EDITOR=editor)
    assert answer.code == 2
    assert "EDITOR=nano" in answer.err


def test_what_was_taken_out_and_put_back_is_said_line_by_line(tm: Run, memory: Any) -> None:
    def written(path: str, line: int, before: bytes, after: bytes, text: bytes = b"") -> SimpleNamespace:
        return SimpleNamespace(
            txn="t2", path=path, line=line, before=before, after=after, text=text, created=False, op=""
        )

    memory.answers["undo"] = [
        written("Memory.md", 3, b"", b"- a\r\n  - b\r\n- c\r\n", b"## Notes\r\n\r\n- a\r\n  - b\r\n- x\r\n- c\r\n"),
        written("b.md", 1, b"- new\n- kept\n", b"- old\n- kept\n"),
        written("c.md", 2, b"- same\n- same\n", b"- same\n"),
        written(".tars/decided.jsonl", 1, b"{}", b""),
    ]
    answer = tm("undo", "--last", "2")
    assert answer.out.splitlines() == ["Memory.md:3", "b.md:1", "c.md:2", ".tars/decided.jsonl:1"]
    assert [said.removeprefix("tars-memory: ") for said in answer.err.splitlines()] == [
        "restored: Memory.md:3: - a",
        "restored: Memory.md:4: - b",
        "restored: Memory.md:6: - c",
        "changed back: b.md:1: - new → - old",
        "removed: c.md:2: - same",
    ]
    memory.answers["forget"] = receipt(removed=b"- likes tea\n  - green\n")
    assert tm("forget", "tea").err.splitlines() == [
        "tars-memory: removed: Memory.md:7: - likes tea",
        "tars-memory: removed: Memory.md: - green",
    ]
    memory.answers["forget"] = receipt(removed=b"- the code is 4711\n")
    assert "4711" not in tm("forget", "code", "--everywhere").err
    many = b"".join(b"- %d\n" % row for row in range(50))
    memory.answers["forget"] = receipt(removed=many)
    assert "tars-memory: and 30 more lines of Memory.md" in tm("forget", "digits").err.splitlines()
    memory.answers["undo"] = [written("a.md", 1, many, b"")]
    assert tm("undo").err.splitlines()[-1] == "tars-memory: removed: a.md, all of its 50 lines"


@pytest.mark.parametrize("screen", [True, False])
def test_an_undo_of_many_files_tells_of_a_screenful(
    tm: Run, memory: Any, monkeypatch: pytest.MonkeyPatch, screen: bool
) -> None:
    monkeypatch.setattr(Output, "screen", screen)
    sides = [SimpleNamespace(txn="t2", path="", line=1, before=b"", after=b"x", text=b"x", created=True, op="")]
    sides += [
        SimpleNamespace(txn="t2", path="archive/", line=1, before=b"x", after=b"", text=b"", created=False, op="")
    ]
    memory.answers["undo"] = [
        SimpleNamespace(**{**vars(side), "path": f"{side.path}{n}.md"}) for n in range(50) for side in sides
    ]
    answer = tm("undo", "--yes")
    told = [f"tars-memory: moved back: archive/{n}.md → {n}.md" for n in range(6)]
    assert answer.err.splitlines() == [*told, "tars-memory: and 88 more files: --json lists them"]
    assert len(answer.out.splitlines()) == (12 if screen else 100)
