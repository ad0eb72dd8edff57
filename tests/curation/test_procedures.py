"""Procedures that were said: corrections with numbered steps are playbooks to be approved; nothing else is."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from tars_memory.memory import Memory
from tars_memory.testing import make_vault
from tars_memory.vault.markdown.lines import steps_in

NOW = datetime.fromisoformat("2026-11-21T14:30:00+00:00")
HAND = """## Feedback

- 2026-11-20 10:00 pack the kiln like this:
  - asked:: how?
  1. shelves first
  2. then the bowls
  3. cups on top
- 2026-11-20 11:00 wrong order: 1. run the tests 2. raise the version 3. tag it
- 2026-11-20 12:00 versions 1. and 2. are gone
"""
TARS = "# Corrections\n\n## 2026-11-20T10:00:00\n\n- input: boil\n- got: cold\n- note: tea: 1) boil 2) pour 3) wait\n"


def opened(tmp_path, notes, **options):
    env = {"TARS_MEMORY_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    root = tmp_path / "vault"
    return Memory(root if root.exists() else make_vault(root, notes), env=env, now=NOW, **options)


def created(memory):
    return [each for each in memory.review(writes=False).waiting().proposals if each.op == "create"]


@pytest.mark.parametrize(
    ("text", "lead", "steps"),
    [
        ("release: 1. test 2. raise 3. tag", "release", ("test", "raise", "tag")),
        ("To release:\n\n1. run the tests\n   with -x\n2. raise it\n3. tag\n\nThanks!", "To release",
         ("run the tests with -x", "raise it", "tag")),
        ("发布：1、运行测试 2、更新版本 3、打标签", "发布", ("运行测试", "更新版本", "打标签")),
        ("发布：①运行测试②更新版本③打标签", "发布", ("运行测试", "更新版本", "打标签")),
        ("طريقة: ١. شغل ٢. ارفع ٣. ضع", "طريقة", ("شغل", "ارفع", "ضع")),
        ("So nicht. So: (1) sammeln; (2) ausfüllen; (3) absenden", "So", ("sammeln", "ausfüllen", "absenden")),
        (r"1\. boil 2. pour 3. wait", "", ("boil", "pour", "wait")),
    ],
)  # fmt: skip
def test_numbered_steps_are_read_in_any_script(text, lead, steps):
    assert steps_in(text) == (lead, steps)


@pytest.mark.parametrize(
    "text",
    [
        "upgrade to 1.5 and 2.3 then 3.4", "call 1. Anna or 2. Bela", "1. red 2. green 3. blue?", "1. 2. 3. 4.",
        "first boil, then pour, then wait", "- boil\n- pour\n- wait", "3. wait 2. pour 1. boil", "", "1. " * 5_000,
        "1. a\n2. b\n" + "3. " + "c" * 500,
    ],
)  # fmt: skip
def test_what_numbers_no_steps_is_none(text):
    assert steps_in(text) is None


def test_a_correction_that_gives_steps_becomes_a_playbook_and_no_rule(tmp_path):
    with opened(tmp_path, {"corrections.md": HAND}, actor="person", interactive=True) as memory:
        found = created(memory)
        assert {each.target: each.text for each in found} == {
            "playbooks/pack the kiln like this.md": "# pack the kiln like this\n\n1. shelves first\n2. then the bowls\n"
            "3. cups on top\n",
            "playbooks/wrong order.md": "# wrong order\n\n1. run the tests\n2. raise the version\n3. tag it\n",
        }
        rules = [each.text for each in memory.review().waiting().proposals if each.op == "append"]
        assert len(rules) == 1
        memory.review().decide(accept=[found[0].id], reject=[found[1].id])
        assert created(memory) == []
        said = memory.workspace.vault.read("corrections.md").decode()
        assert said.count("[promoted]") == said.count("[rejected]") == 1
        assert [book.approved for book in memory.playbooks()] == [True]
        memory.undo()
        assert len(created(memory)) == 2


def test_tars_own_feedback_counts_too(tmp_path):
    with opened(tmp_path, {"corrections.md": TARS}) as memory:
        assert [each.text for each in created(memory)] == ["# tea\n\n1. boil\n2. pour\n3. wait\n"]


def test_extraction_keeps_a_procedure_that_a_person_gave_with_its_turn(tmp_path):
    said = [("user", "Hello there, I start."), ("assistant", "Hi"), ("user", "My order:\n\n1. boil\n2. pour\n3. wait")]
    said += [("assistant", "1. a\n2. b\n3. c"), ("user", "Thanks.")]
    log = tmp_path / "chat.json"
    log.write_text(json.dumps([{"role": r, "content": c, "timestamp": "2026-11-20T10:00:00Z"} for r, c in said]))
    with opened(tmp_path, {"Memory.md": ""}) as memory:
        memory.extract([log], model="none")
        (note,) = [path for path in memory.workspace.vault.paths() if path.startswith("sessions/")]
        text = memory.workspace.vault.read(note).decode()
    assert "> 1. boil\n> 2. pour\n> 3. wait" in text
    assert "> 1. a" not in text
