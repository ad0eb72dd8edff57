"""docs/commands.md says what the commands are: no option, usage line or JSON member may differ."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reference
from fake_memory import hit, result

PAGE = (Path(__file__).parents[2] / "docs" / "commands.md").read_text("utf-8")


def part(name: str) -> str:
    """The text below a command's heading."""
    return re.split(r"^#{1,2} ", PAGE.split(f"\n## {name}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def table(text: str) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if not row.startswith(("| |", "| ---", "| option |"))]


def test_every_command_has_its_part_in_the_order_of_the_help() -> None:
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert headings == ["For every command", *reference.NAMES]


def test_the_headings_are_those_of_the_help() -> None:
    from tars_memory.cli.app import COMMANDS

    assert re.findall(r"^# (.+)$", PAGE, re.MULTILINE) == ["Commands", *COMMANDS]


def test_the_shared_options() -> None:
    assert table(part("For every command").split("###")[0]) == reference.shared_rows()


@pytest.mark.parametrize("name", reference.NAMES)
def test_usage_and_options(name: str) -> None:
    assert part(name).lstrip().splitlines()[0] == f"`{reference.usage(name)}`"
    assert table(part(name)) == reference.rows(name)


def shape(value: Any) -> Any:
    """The names of an object and of the objects in its lists; not the values."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shape(value[0])]
    return None


CALLS = {
    "init": ["/v"],
    "remember": ["x"],
    "log": ["x"],
    "feedback": ["good", "x"],
    "edit": ["abcd2345", "x"],
    "forget": ["abcd2345"],
    "search": ["tea"],
    "show": ["abcd2345"],
    "links": ["tea"],
    "why": ["abcd2345"],
    "eval": ["questions.jsonl"],
    "extract": ["chat.jsonl"],
}


@pytest.mark.parametrize("name", [name for name in reference.NAMES if "```json" in part(name)])
def test_the_json_objects(name: str, tm: Callable[..., Any], memory: Any, tmp_path: Path) -> None:
    memory.state = tmp_path
    memory.answers["search"] = result(hit())
    if name == "open":
        tm("search", "tea")
    told = tm(name, *CALLS.get(name, []), "--json").json
    documented = re.findall(r"```json\n(.+)\n```", part(name))
    assert [shape(json.loads(text)) for text in documented] == [shape(told)]


def test_every_exit_code_of_the_error_tree_is_explained() -> None:
    from tars_memory import errors

    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    raised = {
        value.exit_code
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.TarsError)
    }
    assert raised <= codes and {0, 2, 70, 130} <= codes


def test_every_variable_that_the_command_line_reads_is_listed() -> None:
    from tars_memory.cli.call import AGENT_MARKS

    package = Path(sys.modules["tars_memory"].__file__ or "").parent
    source = "\n".join(path.read_text("utf-8") for path in (package / "cli").rglob("*.py"))
    for variable in {*re.findall(r'env\.get\("([A-Z_]+)"\)', source), *AGENT_MARKS} - {"DISPLAY", "WAYLAND_DISPLAY"}:
        assert f"`{variable}`" in PAGE or f"`{variable}=" in PAGE, variable
