"""The walk on a real terminal: every key, every way to end it, every width, text that would steer the screen."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from dialogue import Dialogue
from rich.console import Console
from terminal import OURS, environment, program, started

from tars_memory.curation.proposals import EndedFact, PlainLine, Proposal, ProposedFact, Related
from tars_memory.doors.cli.approve import ReviewAnswer, answer_to, explained, offer
from tars_memory.testing import make_vault

DAY = "2026-11-20.md"
LINES = ("likes oolong", "Anna moves to Cork", "the router is in the hall", "owns two bicycles")
MEMORY = "## Notes\n- dentist on 15 Oct\n"
ASK = "[?]: "
Start = Callable[..., list[str]]


class Desk:
    """A vault with some candidates, and walks over it."""

    def __init__(self, base: Path, lines: tuple[str, ...] = LINES) -> None:
        self.base = base
        day = "".join(f"- 10:{n:02} [extracted] {text} ^d-{n}aaaaaa\n" for n, text in enumerate(lines))
        self.root = make_vault(base / "vault", {"Memory.md": MEMORY, DAY: f"## Log\n{day}"})
        self.env = environment(base / "home", TERM="xterm-256color")

    def walk(self, *more: str, columns: int = 200, start: Start = program, **env: str) -> Dialogue:
        argv = start("--vault", str(self.root), "review", *more)
        return Dialogue(argv, {**self.env, **env}, self.base, columns=columns)

    def __getitem__(self, path: str) -> str:
        return (self.root / path).read_text("utf-8")

    def editor(self, script: str) -> str:
        path = self.base / "editor.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return str(path)

    def states(self) -> list[str]:
        return re.findall(r"\[(\w+)\]", self[DAY])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_accept_edit_reject_later_quit_and_resume(desk: Desk) -> None:
    walk = desk.walk(NO_COLOR="1", EDITOR=desk.editor("sed -i '1s/.*/rides to Galway/' \"$1\""))
    shown: list[str] = []
    for key in ("a", "e", "r", "l"):
        shown.append(walk.wait_for(ASK))
        walk.type(f"{key}\n")
    assert walk.end() == 0
    order = [re.search(r"\+ ([^\r\n]+)", each) for each in shown]
    first, second, third, last = (found[1] for found in order if found)
    assert {first, second, third, last} == {
        text[:1].upper() + text[1:] if text[:3] == "the" else text for text in LINES
    }
    assert b"2 accepted, 1 rejected, 1 proposal left" in walk.screen
    assert f"- {first} ([[2026-11-20#^d-" in desk["Memory.md"]
    assert "- rides to Galway ([[2026-11-20#^d-" in desk["Memory.md"]
    assert sorted(desk.states()) == ["extracted", "promoted", "promoted", "rejected"]
    again = desk.walk()
    assert last in again.wait_for(ASK)
    again.type("q\n")
    assert again.end() == 0


def test_a_credential_typed_in_the_walk_is_asked_about_as_by_remember(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ("likes oolong",))
    walk = desk.walk(NO_COLOR="1", EDITOR=desk.editor("sed -i '1s/.*/the door code is 4471#/' \"$1\""))
    for answer in ("n", "y"):
        walk.wait_for(ASK)
        walk.type("e\n")
        walk.wait_for("[n] stop")
        walk.type(f"{answer}\n")
    assert walk.end() == 0
    assert "- the door code is 4471# ([[2026-11-20#^d-" in desk["Memory.md"]


def test_the_next_walk_goes_on_where_quit_stopped_this_one(desk: Desk) -> None:
    walk = desk.walk()
    walk.wait_for(ASK)
    walk.type("a\n")
    walk.wait_for("2 of 4")
    walk.wait_for(ASK)
    walk.type("q\n")
    assert walk.end() == 0
    again = desk.walk()
    again.wait_for("1 of 3")
    again.wait_for(ASK)
    again.type("\x04")  # Ctrl-D
    assert again.end() == 0
    assert desk.states().count("promoted") == 1


def test_related_lines_are_numbered_and_one_is_replaced_only_if_it_is_named(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ("dentist on 16 Oct",))
    before = desk["Memory.md"], desk[DAY]
    walk = desk.walk(NO_COLOR="1")
    shown = walk.wait_for(ASK)
    assert "+ dentist on 16 Oct\r\n" in shown
    assert "1  dentist on 15 Oct (undated)\r\n" in shown
    assert "[a]ccept [e]dit [r 1] replace [r]eject [l]ater [q]uit" in shown
    for typed in ("r 2", "r 0", "a 1", "r x"):
        walk.type(f"{typed}\n")
        walk.wait_for(ASK)
    assert (desk["Memory.md"], desk[DAY]) == before
    walk.type("r 1\n")
    assert walk.end() == 0
    assert desk["Memory.md"] == "## Notes\n- dentist on 16 Oct ([[2026-11-20#^d-0aaaaaa|2026-11-20]])\n"


def test_a_plain_yes_adds(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ("dentist on 16 Oct",))
    walk = desk.walk(NO_COLOR="1")
    walk.wait_for(ASK)
    walk.type("a\n")
    assert walk.end() == 0
    assert desk["Memory.md"] == (
        "## Notes\n- dentist on 15 Oct\n- dentist on 16 Oct ([[2026-11-20#^d-0aaaaaa|2026-11-20]])\n"
    )


def test_another_heading_and_taking_back(desk: Desk) -> None:
    before = desk["Memory.md"], desk[DAY]
    walk = desk.walk()
    walk.wait_for(ASK)
    walk.type("s\n")
    walk.wait_for("heading: ")
    walk.type("## Tea & more\n")
    walk.wait_for(ASK)
    assert "## Tea & more\n- " in desk["Memory.md"]
    walk.type("u\n")
    walk.wait_for("undone")
    walk.wait_for(ASK)
    assert (desk["Memory.md"], desk[DAY]) == before
    walk.type("u\n")
    walk.wait_for("nothing to undo")
    walk.type("what?\n")
    walk.wait_for("that is not an answer: ? explains the keys")
    assert b"accept it as it is" not in walk.screen
    walk.type("?\n")
    walk.wait_for("accept it as it is")
    walk.type("q\n")
    assert walk.end() == 0
    assert b"0 accepted, 0 rejected, 4 proposals left" in walk.screen


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ('true > "$1"', "no words are left"),
        ('rm "$1"', "no words are left"),
        ("exit 3", "ended with 3"),
        ('printf "caf\\351" > "$1"', "byte E9 in line 1, at offset 3"),
    ],
)
def test_an_editor_that_leaves_no_text_decides_nothing(desk: Desk, script: str, told: str) -> None:
    walk = desk.walk(EDITOR=desk.editor(script))
    walk.wait_for(ASK)
    walk.type("e\n")
    walk.wait_for(told)
    if "words" not in told:
        walk.wait_for("new words: ")
        walk.type("\n")
    walk.wait_for(ASK)
    walk.type("q\n")
    assert walk.end() == 0
    assert set(desk.states()) == {"extracted"}
    kept = [path.read_bytes() for path in (desk.base / "home/state/kept").glob("*-editor.txt")]
    assert kept == ([b"caf\xe9"] if "byte" in told else [])
    assert b"Traceback" not in walk.screen


def test_without_an_editor_the_words_are_asked_for(desk: Desk) -> None:
    walk = desk.walk()
    walk.wait_for(ASK)
    for key, prompt in (("e", "new words: "), ("s", "heading: ")):  # who wants to leave types a key here, too
        walk.type(f"{key}\n")
        walk.wait_for(prompt)
        walk.type("q\n")
        walk.wait_for("'q' is a key, not text: nothing is decided")
        walk.wait_for(ASK)
    assert set(desk.states()) == {"extracted"}
    walk.type("e\n")
    walk.wait_for("new words: ")
    walk.type("drinks oolong only\n")
    walk.wait_for("accepted: ")
    walk.type("q\n")
    assert walk.end() == 0
    assert "- drinks oolong only ([[" in desk["Memory.md"]


def test_ctrl_c_loses_nothing(desk: Desk) -> None:
    walk = desk.walk(start=started)
    walk.wait_for(ASK)
    walk.type("a\n")
    walk.wait_for(ASK)
    assert walk.interrupt() == 130
    assert b"Traceback" not in walk.screen
    assert desk.states().count("promoted") == 1
    again = desk.walk()
    again.wait_for("1 of 3")
    again.wait_for(ASK)
    again.type("q\n")
    assert again.end() == 0


def test_a_closed_terminal_loses_nothing_and_leaves_no_process(desk: Desk) -> None:
    walk = desk.walk(start=started)
    walk.wait_for(ASK)
    walk.type("a\n")
    walk.wait_for(ASK)
    walk.hang_up()
    assert walk.process.returncode is not None
    assert desk.states().count("promoted") == 1
    again = desk.walk()
    again.wait_for("1 of 3")
    again.wait_for(ASK)
    again.type("q\n")
    assert again.end() == 0


def test_a_closed_terminal_without_the_signal(desk: Desk) -> None:
    """As under nohup, or in a session that has lost its terminal: the end of input ends the walk."""
    argv = ["/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh", *started("--vault", str(desk.root), "review")]
    walk = Dialogue(argv, desk.env, desk.base)
    walk.wait_for(ASK)
    walk.hang_up()
    assert walk.process.returncode in (0, 3)
    assert set(desk.states()) == {"extracted"}


def test_killed_while_it_waits(desk: Desk) -> None:
    walk = desk.walk(start=started)
    walk.wait_for(ASK)
    walk.type("r\n")
    walk.wait_for("2 of 4")
    os.killpg(walk.process.pid, signal.SIGKILL)
    walk.process.wait(120)
    again = desk.walk()
    again.wait_for("1 of 3")  # the lease went with the process
    again.wait_for(ASK)
    again.type("q\n")
    assert again.end() == 0


def test_two_walks_at_once(desk: Desk) -> None:
    first = desk.walk()
    first.wait_for(ASK)
    second = desk.walk()
    assert second.end() == 5
    assert b"another review is running: process" in second.screen
    first.type("a\n")
    first.wait_for(ASK)
    first.type("q\n")
    assert first.end() == 0


def test_others_may_write_while_it_waits(desk: Desk) -> None:
    """A walk holds the review, not the vault; a line that changed in the meantime is told and shown anew."""
    from tars_memory.memory import Memory

    walk = desk.walk("--limit", "1")
    shown = walk.wait_for(ASK)
    assert Memory(desk.root, env=desk.env).log("meanwhile").written
    text = next(text for text in LINES if text[1:] in shown)
    (desk.root / DAY).write_text(desk[DAY].replace(text, "something else"), "utf-8")
    walk.type("a\n")
    walk.wait_for("is waiting")
    walk.end()
    assert text not in desk["Memory.md"]


def test_what_is_taken_back_has_its_number_again(desk: Desk) -> None:
    walk = desk.walk(NO_COLOR="1")
    for number, key in ((1, "a"), (2, "l"), (3, "u"), (1, "r"), (3, "u"), (1, "l"), (3, "l"), (4, "q")):
        walk.wait_for(f"{number} of 4")
        walk.wait_for(ASK)
        walk.type(f"{key}\n")
    assert walk.end() == 0
    assert b"0 accepted, 0 rejected" in walk.screen


@pytest.mark.parametrize("columns", [1, 2, 8, 20, 40, 400])
def test_any_width(desk: Desk, columns: int) -> None:
    walk = desk.walk(columns=columns, NO_COLOR="1")
    for _ in range(4):
        walk.wait_for("1" if columns < 8 else "2026")
        break
    for key in ("?", "a", "r", "q"):
        walk.type(f"{key}\n")
    assert walk.end() == 0
    assert b"Traceback" not in walk.screen
    assert sorted(desk.states()).count("promoted") == 1


def proposed(op: str, **more: object) -> Proposal:
    texts = dict.fromkeys(("section", "quote", "source", "date", "why"), "")
    return Proposal(id="aaaaaaaa", op=op, target="Memory.md", text="rides to Galway", **texts)._replace(**more)


NEW_FACT = ProposedFact("Anna", "lives in", "Cork", None, None, (), PlainLine("Memory.md", "", "Anna lives in Cork"))
ENDED = EndedFact("bbbbbbbb", "lives in Turin", None, None, "lives in Turin", "Facts.md", 1, "- lives in Turin")
BESIDE = Related("Memory.md", 1, "bbbbbbbb", "dentist on 15 Oct", raw="- dentist on 15 Oct")
PROPOSED = {
    "line": proposed("append"),
    "line beside another": proposed("append", conflicts=(BESIDE,)),
    "heading": proposed("add_section", text=""),
    "note": proposed("create"),
    "replacement": proposed("replace", replaces="- dentist on 15 Oct"),
    "fact": proposed("fact", fact=NEW_FACT),
    "fact that ends one": proposed("fact", fact=NEW_FACT._replace(ends=(ENDED,))),
    "question": proposed("choose", conflicts=(BESIDE, BESIDE._replace(ref="cccccccc"))),
    "removal": proposed("remove", replaces="- dentist on 15 Oct", text=""),
    "conversation": proposed("together", parts=(proposed("append"),)),
}


@pytest.mark.parametrize("proposal", PROPOSED.values(), ids=PROPOSED)
def test_the_prompt_its_explanation_and_what_is_taken_agree(proposal: Proposal) -> None:
    told = [text.plain[2:7].strip() for text in explained(Console(width=200), proposal)]
    prompt = re.findall(r"\[(.)(?: [1N])?\]", offer(proposal))
    taken = [key for key in "abcdefghijklmnopqrstuvwxyz" if answer_to(proposal, key).key == key]
    assert sorted(key for key in told if key != "r N") == taken
    assert set(prompt) == {*taken} - {"s", "u"}
    assert bool(answer_to(proposal, "r 1").chosen) == ("r N" in told) == bool(proposal.choices)
    for key, rest in re.findall(r"\[(\w)\]([a-z ]+?)(?= \[|$)", offer(proposal)):
        assert answer_to(proposal, f"{key.upper()}{rest}").key == key


@pytest.mark.parametrize(
    "typed", ["sì", "si", "ja", "yes", "oui", "ok", "lalala", "l 1", "a 1", "r x", "9" * 9_999, "1"]
)
@pytest.mark.parametrize("proposal", PROPOSED.values(), ids=PROPOSED)
def test_another_word_decides_nothing(proposal: Proposal, typed: str) -> None:
    assert answer_to(proposal, typed) == ReviewAnswer("")


def test_what_keys_do_is_indented_below_itself() -> None:
    shown = [text.plain for text in explained(Console(width=40), PROPOSED["line"])]
    assert max(map(len, shown)) <= 40
    assert shown[:2] == ["  a    accept it as it is: nothing is", "       replaced"]


def test_text_that_would_steer_the_screen(tmp_path: Path) -> None:
    evil = "tea \x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\u202c \U000e0041 [/bold] [?]: "
    desk = Desk(tmp_path, (evil, "dentist on 16 Oct \x1b[31m"))
    forged = dict.fromkeys(("section", "text", "quote", "source", "date", "why"), evil)
    beside = {"path": evil, "line": 1, "ref": evil, "text": evil, "date": evil}
    forged |= {"id": "aaaaaaaa", "op": "append", "target": "Memory.md", "conflicts": [beside]}
    (desk.root / ".tars" / "inbox").mkdir(parents=True)
    (desk.root / ".tars" / "inbox" / "aaaaaaaa.json").write_text(json.dumps(forged))
    for more in ((), ("--list",)):
        walk = desk.walk(*more)
        if not more:
            walk.wait_for("[q]uit")
            walk.type("l\n")
            walk.wait_for("2 of 3")
            walk.type("l\n")
            walk.wait_for("3 of 3")
            walk.type("q\n")
        walk.end()
        left = OURS.sub(b"", walk.screen)
        assert b"\x1b" not in left
        assert not set("\u202e\u202c\U000e0041\x9b") & set(left.decode())
        assert b"[/bold]" in left


def test_nothing_waits(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ())
    walk = desk.walk()
    assert walk.end() == 1
    assert b"nothing waits for a decision" in walk.screen


def test_an_agents_terminal_is_no_persons(desk: Desk) -> None:
    walk = desk.walk(CLAUDECODE="1")
    assert walk.end() == 0
    assert ASK.encode() not in walk.screen


def test_ten_at_a_sitting(tmp_path: Path) -> None:
    desk = Desk(tmp_path, tuple(f"box {n} holds item {n * 7}" for n in range(30)))
    walk = desk.walk()
    walk.wait_for("1 of 10")
    for _ in range(10):
        walk.wait_for(ASK)
        walk.type("r\n")
    assert walk.end() == 0
    assert b"20 proposals left: continue with tars-memory review" in walk.screen


def test_rules_that_nobody_approved_are_walked(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ())
    rules = "## Notes\n- answer briefly\n- use metric units\n- ask first\n- no force-push\n"
    (desk.root / "Procedural.md").write_text(rules)
    walk = desk.walk("--rules", NO_COLOR="1", columns=80)
    shown = walk.wait_for("[q]uit: ")
    assert "1 of 4" in shown and "answer briefly" in shown
    for key, then in (("what?", "[a]pprove"), ("l", "2 of 4"), ("a", "3 of 4"), ("A", "3 approved, 1 rule left")):
        walk.type(f"{key}\n")
        walk.wait_for(then)
    assert walk.end() == 0
    assert desk["Procedural.md"] == rules
    again = desk.walk("--rules")
    assert "answer briefly" in again.wait_for("[q]uit: ")
    again.type("\x04")
    assert again.end() == 0


def test_rules_of_a_shared_vault_are_walked_after_ones_own(desk: Desk, tmp_path: Path) -> None:
    team = make_vault(tmp_path / "team", {"Procedural.md": "## Git\n- no force-push\n- small commits\n"})
    (desk.root / "Procedural.md").write_text("- answer briefly\n")
    config = tmp_path / "home/config/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[vaults]\nshared = ["{team}"]\n')
    walk = desk.walk("--rules", NO_COLOR="1")
    assert "[a]pprove [A]ll" in walk.wait_for("[q]uit: ")
    for key, then in (("A", "[a]dd to Procedural.md [A]ll of team"), ("A", "3 approved, 0 rules left")):
        walk.type(f"{key}\n")
        walk.wait_for(then)
    assert walk.end() == 0
    assert desk["Procedural.md"] == "- answer briefly\n\n## Git\n- no force-push\n- small commits\n"
    assert (team / "Procedural.md").read_text() == "## Git\n- no force-push\n- small commits\n"


SESSION = "sessions/2026-11-20 1000 talk.md"


def talked(tmp_path: Path) -> Desk:
    """Three lines of one conversation wait."""
    desk = Desk(tmp_path, LINES[:3])
    told = "".join(
        f'- {text} ([[2026-11-20#^d-{n}aaaaaa|2026-11-20]])\n  - quote:: "{text}"\n' for n, text in enumerate(LINES[:3])
    )
    (desk.root / "sessions").mkdir(exist_ok=True)
    (desk.root / SESSION).write_text(f"---\ntags: [session]\n---\n## Facts\n{told}", "utf-8")
    return desk


def test_lines_of_one_conversation_take_one_key(tmp_path: Path) -> None:
    desk = talked(tmp_path)
    walk = desk.walk(NO_COLOR="1")
    shown = walk.wait_for(ASK)
    assert "1-3 of 3  one conversation, 3 lines" in shown
    assert all(f"+ {text[:1]}" in shown or text[1:] in shown for text in LINES[:3])
    assert "[a]ccept all [o]ne by one [r]eject all [l]ater [q]uit" in shown
    walk.type("a\n")
    assert walk.end() == 0
    assert b"3 accepted, 0 rejected, nothing is left" in walk.screen
    assert desk.states() == ["promoted"] * 3


def test_related_lines_have_a_number_only_where_one_can_be_chosen(tmp_path: Path) -> None:
    desk = talked(tmp_path)
    (desk.root / "Memory.md").write_text(f"{MEMORY}- owns a router in the hall\n")
    walk = desk.walk(NO_COLOR="1")
    assert "beside: owns a router in the hall" in walk.wait_for(ASK)
    walk.type("o\n")
    while "the router" not in (shown := walk.wait_for(ASK).partition("\n")[2]).lower():
        walk.type("l\n")
    assert "1  owns a router in the hall" in shown
    walk.type("q\n")
    assert walk.end() == 0


def test_lines_of_one_conversation_one_by_one(tmp_path: Path) -> None:
    desk = talked(tmp_path)
    walk = desk.walk(NO_COLOR="1")
    for key, place in (("o", "1-3 of 3"), ("a", "1 of 3"), ("r", "2 of 3"), ("u", "3 of 3"), ("l", "2 of 3")):
        assert place in walk.wait_for(ASK), key
        walk.type(f"{key}\n")
    assert "of 3" in walk.wait_for(ASK)
    walk.type("a\n")
    assert walk.end() == 0
    assert sorted(desk.states()) == ["extracted", "promoted", "promoted"]


def test_what_waits_as_well_can_be_replaced(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ("I prefer aisle seats", "I prefer window seats"))
    walk = desk.walk(NO_COLOR="1")
    walk.wait_for(ASK)
    walk.type("l\n")
    shown = walk.wait_for(ASK)
    assert "1  I prefer aisle seats (2026-11-20, waits too)" in shown
    walk.type("r 1\n")
    assert walk.end() == 0
    assert "aisle" not in desk["Memory.md"]
    assert "- I prefer window seats ([[" in desk["Memory.md"]
    assert desk.states() == ["promoted", "promoted"]
