"""Facts through the loop as a person meets it: the program itself, a pipe, a terminal, hand edits underneath."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dialogue import Dialogue
from terminal import environment, program

from tars_memory.testing import make_vault

ASK = "[?]: "
SAID = ("I live in Cork now.", "My manager is Dana since May.", "I like hiking.", "We use Postgres.")
FACTS = "# Facts\n\n## me\n- lives in:: Dublin [since:: 2024-03-01]\n"
ENDS = "ends: lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]"
ALLOWED = "[permissions]\nunattended_review = true\n"


class House:
    """A vault with a fact in it, and a conversation that says otherwise."""

    def __init__(self, base: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        self.base, self.inside = base, inside
        self.root = make_vault(base / "vault", {"Facts.md": FACTS})
        self.env = environment(base / "home", TARS_NOW="2026-11-25T10:00:00+00:00")

    def run(self, *argv: str, code: int = 0, text: str | None = None, **env: str) -> str:
        done = self.inside(["--vault", str(self.root), *argv], {**self.env, **env}, self.base, text or "")
        assert done.returncode == code, (argv, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *argv: str, **how: Any) -> Any:
        return json.loads(self.run(*argv, "--json", **how))

    def say(self, *texts: str) -> None:
        turns = [each for text in texts for each in (("user", text), ("assistant", "I see."))]
        lines = [
            json.dumps({
                "type": role, "sessionId": "s1", "timestamp": "2026-11-21T10:00:00Z",
                "message": {"role": role, "content": text},
            })
            for role, text in turns
        ]  # fmt: skip
        self.run("extract", "-", text="\n".join(lines) + "\n")

    def ids(self) -> dict[str, str]:
        listed = self.json("review")["proposals"]
        every = [one for each in listed for one in each.get("parts", [each])]
        return {each["text"].partition(" [")[0]: each["id"] for each in every}

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(self.root.rglob("*")) if path.is_file()}

    def note(self, path: str = "Facts.md") -> str:
        return (self.root / path).read_bytes().decode()

    def allow(self) -> None:
        """Let scripts accept, as the person's own configuration may."""
        config = self.base / "home" / "config" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(ALLOWED)


@pytest.fixture
def house(tmp_path: Path, inside: Callable[..., subprocess.CompletedProcess[str]]) -> House:
    found = House(tmp_path, inside)
    found.say(*SAID)
    return found


def test_the_whole_way_and_back(house: House) -> None:
    before = house.files()
    rows = [line.split("\t") for line in house.run("review").splitlines()]
    assert sorted([row[1].rpartition("/")[2], *row[2:]] for row in rows) == [
        ["Facts.md › me", "fact", "lives in:: Cork [since:: 2026-11-21]", ENDS],
        ["Facts.md › me", "fact", "manager:: Dana [since:: 2026-05-01]"],
        ["Facts.md › we", "fact", "uses:: Postgres"],
        ["Memory.md › Preferences", "append", "I like hiking"],
    ]
    house.run("review", "--accept", rows[0][0], code=2)
    assert house.files() == before
    house.allow()
    ids = house.ids()
    done = house.json("review", "--accept", ",".join(ids[each] for each in ("lives in:: Cork", "manager:: Dana")))
    assert [each["path"] for each in done["decided"]] == ["Facts.md", "Facts.md"]
    told = house.json("facts", "me")["facts"]
    assert [(each["object"], each["since"], each["current"]) for each in told] == [
        ("Cork", "2026-11-21", True),
        ("Dana", "2026-05-01", True),
    ]
    assert [each["object"] for each in house.json("facts", "me", "--as-of", "2026-11-20")["facts"]] == [
        "Dublin",
        "Dana",
    ]
    line = house.run("timeline", "me").splitlines()[0]
    assert "Dublin" in line
    assert "until 2026-11-21" in line
    assert "lives in:: Cork" in house.run("context", "where do I live?")
    chain = house.json("why", told[0]["ref"])["chain"]
    assert chain[-1]["quote"] == "I live in Cork now."
    house.run("undo", done["txn"])
    assert house.note() == FACTS
    assert house.files() == {**before, **{path: data for path, data in house.files().items() if path not in before}}
    assert house.ids() == ids


def test_a_hand_edit_underneath_is_a_conflict_and_changes_no_byte(house: House) -> None:
    house.allow()
    shown = house.ids()["lives in:: Cork"]
    (house.root / "Facts.md").write_bytes(FACTS.replace("Dublin", "Galway").encode())
    before = house.files()
    house.run("review", "--accept", shown, code=6)
    assert house.files() == before
    house.run("review", "--accept", house.ids()["lives in:: Cork"])
    assert "- lives in:: Galway [since:: 2024-03-01] [until:: 2026-11-21]\n" in house.note()


def test_a_fact_that_was_added_by_hand_in_between_is_taken_into_account(house: House) -> None:
    house.allow()
    house.run("facts", "add", "me", "lives in", "Oslo", "--since", "2026-11-23")
    house.run("review", "--accept", house.ids()["lives in:: Cork"])
    assert [line.partition(" ([[")[0] for line in house.note().splitlines()[3:]] == [
        "- lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]",
        "- lives in:: Oslo [since:: 2026-11-23]",
        "- lives in:: Cork [since:: 2026-11-21] [until:: 2026-11-23]",
    ]
    assert house.json("facts", "me")["facts"][0]["object"] == "Oslo"


def test_as_a_line_beside_or_not_at_all(house: House) -> None:
    house.allow()
    ids = house.ids()
    house.run("review", "--as-line", ids["manager:: Dana"], "--both", ids["lives in:: Cork"])
    assert "- My manager is Dana since May ([[2026-11-21#^d-" in house.note("Memory.md")
    assert "- lives in:: Dublin [since:: 2024-03-01]\n- lives in:: Cork [since:: 2026-11-21] (" in house.note()
    house.run("review", "--reject", ids["uses:: Postgres"])
    assert "uses" not in house.note()
    assert list(house.ids()) == ["I like hiking"]
    house.run("review", "--as-line", house.ids()["I like hiking"], code=2)


def test_on_a_terminal(house: House) -> None:
    def asked() -> str:
        return str(walk.wait_for(ASK))

    walk = Dialogue(program("--vault", str(house.root), "review"), {**house.env, "NO_COLOR": "1"}, house.base)
    for _ in (*SAID, "one conversation"):
        shown = asked()
        key = "l"
        if "one conversation" in shown:
            key = "o"
        elif "lives in:: Cork" in shown:
            assert "- lives in:: Dublin [since:: 2024-03-01]" in shown
            assert "+ lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]" in shown
            assert "Facts.md › me" in shown
            assert "“I live in Cork now.”" in shown
            assert "or as a line of Memory.md › About me: I live in Cork now" in shown
            assert "[b]oth [m]emory" in shown
            key = "a"
        elif "manager:: Dana" in shown:
            assert "[b]oth" not in shown
            key = "m"
        walk.type(f"{key}\n")
    assert walk.end() == 0
    assert "- lives in:: Dublin [since:: 2024-03-01] [until:: 2026-11-21]\n- lives in:: Cork" in house.note()
    assert "- My manager is Dana since May" in house.note("Memory.md")
    assert b"2 accepted, 0 rejected, 1 proposal (2 lines) left" in walk.screen


def test_by_ticks(house: House) -> None:
    house.run("review", "--note")
    note = house.root / "Review.md"
    text = note.read_text("utf-8").replace("- [ ] lives in", "- [x] lives in").replace("- [ ] uses", "- [-] uses")
    note.write_text(text.replace("- [ ] manager", "- [m] manager"), "utf-8")
    house.run("log", "anything")
    assert "[until:: 2026-11-21]" in house.note()
    assert "- My manager is Dana since May" in house.note("Memory.md")
    day = house.note("2026-11-21.md")
    assert [day.count(f"[{state}]") for state in ("promoted", "rejected", "extracted")] == [2, 1, 1]
