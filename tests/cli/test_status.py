"""``status`` in ten lines: what the vault is, how fresh, what waits, what to do next."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import forked
import pytest
from terminal import OURS, environment, on_a_terminal, program, rows as screen_rows

from tars_memory.doors.cli.output import tree
from tars_memory.index.intake import SEARCH_EMBEDS
from tars_memory.memory import Memory
from tars_memory.testing import make_vault

NOTES = {
    "Memory.md": "## Notes\n- Anna prefers tea\n",
    "Procedural.md": "## Notes\n- weigh the dough\n",
    "2026-11-20.md": "## Log\n- 10:00 [extracted] I prefer walnut cupboards ^d-aaaaaaa\n"
    "- 10:01 [extracted] the ferry leaves at seven ^d-bbbbbbb\n",
    "sessions/2026-11-20 1000 Home.md": "---\ndate: 2026-11-20\nsource_hash: " + "a" * 64 + "\n---\n\n## Facts\n\n"
    "- I prefer walnut cupboards ([[2026-11-20#^d-aaaaaaa|2026-11-20]])\n"
    '  - quote:: "I prefer walnut cupboards."\n  - said by:: user, turn 1\n',
}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    root = make_vault(tmp_path / "vault", NOTES)
    return root, environment(tmp_path / "home", TERM="xterm", TARS_MEMORY_DIR=str(root), TARS_MEMORY_BACKGROUND="0")


def told(place: tuple[Path, dict[str, str]], *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = program("status", *words)
    return forked.run(argv, env={**place[1], **env}, cwd=place[0], text=True, timeout=60, check=True)


def rows(text: str) -> dict[str, str]:
    return dict(line.split("\t", 1) for line in text.splitlines())


def test_ten_lines_say_what_waits_and_what_is_next(place: tuple[Path, dict[str, str]]) -> None:
    done = told(place, TARS_MEMORY_EMBEDDING_MODEL="none")
    said = rows(done.stdout)
    assert len(said) <= 10
    assert said["vault"] == str(place[0].resolve())
    assert Path(said["state"], "vault.json").is_file()
    assert said["notes"].startswith("4 notes, of these: memory 1, rules 1, ")
    assert said["index"].startswith("up to date")
    assert said["semantic"].startswith("off: ")
    assert said["rules"].startswith("1 that nobody approved")
    assert said["waiting"] == "2 proposals to decide"
    assert said["next"] == "tars-memory review"
    assert "rules that nobody" not in done.stderr, "a row says it"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that not even root can write into")
def test_it_answers_where_no_index_can_be_made(place: tuple[Path, dict[str, str]]) -> None:
    done = told(place, TARS_MEMORY_HOME="/proc/none", TARS_MEMORY_EMBEDDING_MODEL="none")
    said = rows(done.stdout)
    assert (said["notes"].split(";")[0], said["index"]) == ("4 notes", "behind by 4 files")
    assert "set TARS_MEMORY_HOME" in done.stderr


def test_what_waits_is_counted_wherever_it_waits(place: tuple[Path, dict[str, str]]) -> None:
    waiting = json.loads(told(place, "--json").stdout)["waiting"]
    assert waiting["review"] == 2 and waiting["proposals"] == 0
    proposed = program("remember", "--tier", "procedural", "never suggest walnuts")
    forked.run(proposed, env=place[1], cwd=place[0], timeout=60, check=True)
    waiting = json.loads(told(place, "--json").stdout)["waiting"]
    assert waiting["review"] == 3 and waiting["proposals"] == 1
    noted = program("review", "--note")
    forked.run(noted, env=place[1], cwd=place[0], timeout=60, check=True)
    assert rows(told(place).stdout)["waiting"] == "3 proposals to decide", "in Review.md they are the same"


def test_the_lines_of_one_conversation_are_counted_alike_wherever_they_wait(place: tuple[Path, dict[str, str]]) -> None:
    said = ["I live in Cork.", "My sister is called Mara.", "I am allergic to walnuts."]
    talk = "\n\n".join(f"**Anna:** {words}\n\n**Assistant:** Noted." for words in said)
    (place[0] / "talk.txt").write_text(talk, encoding="utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return forked.run(program(*words), env=place[1], cwd=place[0], timeout=60, text=True)

    assert "3 candidates from 1 conversation" in run("extract", "talk.txt").stderr
    lines = len(run("review", "--list").stdout.splitlines())
    assert rows(told(place).stdout)["waiting"] == f"3 proposals ({lines} lines) to decide"
    assert f"3 proposals ({lines} lines) there" in run("review", "--note").stderr
    assert f"2 more proposals ({lines - 1} lines) after these" in run("review", "--list", "--limit", "1").stderr
    listed, status = (
        json.loads(run(*words).stdout) for words in (("review", "--list", "--json"), ("status", "--json"))
    )
    assert (listed["total"], listed["lines"]) == (3, lines) == (status["waiting"]["review"], status["waiting"]["lines"])


def test_nothing_waits_in_a_vault_that_is_in_order(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n- Anna prefers tea\n"})
    env = environment(tmp_path / "home", TARS_MEMORY_DIR=str(root), TARS_MEMORY_BACKGROUND="0")
    said = rows(told((root, env)).stdout)
    assert said["waiting"] == "nothing" and "rules" not in said
    assert said["semantic"] == "search by meaning covers no passage yet (model: embedded)"
    assert said["next"] == "nothing to do; the next search reads the rest"
    for number in range(SEARCH_EMBEDS):
        (root / f"{number}.md").write_text("tea\n")
    assert rows(told((root, env)).stdout)["next"] == "tars-memory reindex"


@pytest.mark.parametrize("size", [(80, 24), (40, 24), (120, 40)])
def test_it_fits_the_screen(place: tuple[Path, dict[str, str]], size: tuple[int, int]) -> None:
    code, seen = on_a_terminal(program("status"), {**place[1], "NO_COLOR": "1"}, place[0], size=size)
    lines = screen_rows(OURS.sub(b"", seen))
    assert code == 0 and max(map(len, lines)) <= size[0] and len(lines) < size[1]


def test_verbose_shows_everything(place: tuple[Path, dict[str, str]]) -> None:
    text = told(place, "--verbose").stdout
    for name in ("path", "state", "chunks", "driver", "fingerprint", "reason", "left out", "unapproved"):
        assert any(line.strip().startswith(name) for line in text.splitlines()), name


def test_objects_in_a_list_are_shown_by_their_values() -> None:
    assert tree({"shared": [{"name": "team", "path": "/team"}, {"name": "club", "path": "/club"}]}) == [
        "shared  team /team, club /club"
    ]


def test_growth_is_drawn_by_weeks(tmp_path: Path) -> None:
    root = make_vault(tmp_path / "vault", {"Memory.md": "## Notes\n- by hand\n"})
    env = environment(tmp_path / "home", TARS_MEMORY_DIR=str(root), TARS_MEMORY_BACKGROUND="0")
    with Memory(root, env=env) as memory:
        assert memory.status()["growth"]["weeks"] == [0] * 12
    written: list[str] = []
    for day, lines in (("2026-08-01", 9), ("2026-08-31", 1), ("2026-09-08", 4), ("2026-11-20", 2)):
        with Memory(root, env=env, now=datetime.fromisoformat(f"{day}T10:00:00+00:00")) as memory:
            written += [memory.remember(f"{day} line {number}").txn for number in range(lines)]
    with Memory(root, env=env, now=datetime.fromisoformat("2026-11-21T10:00:00+00:00")) as memory:
        memory.undo()
        memory.undo(written[0])  # of a write before these weeks
        assert memory.status()["growth"]["weeks"] == [1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert rows(told((root, env)).stdout)["growth"] == "▃█▁▁▁▁▁▁▁▁▁▃  +6 lines in 12 weeks"
    _, seen = on_a_terminal(program("status"), {**env, "PYTHONIOENCODING": "ascii", "TERM": "xterm"}, root)
    assert b"growth" in seen and b"\\u25" not in seen
