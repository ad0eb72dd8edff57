"""Plugins of coding agents: in step with the program, and of the form that each agent's documents ask for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tars_memory.jobs.hosts import HOSTS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import plugins  # noqa: E402

CURSOR = set(
    re.findall(
        r"\w+",
        "name displayName description version author publisher homepage repository license logo keywords category tags"
        " commands agents skills rules hooks variables mcpServers",
    )
)
"""What https://cursor.com/schemas/cursor-plugin/plugin.json allows; it allows nothing else."""


def test_the_plugins_are_what_make_plugins_makes() -> None:
    made = plugins.files()
    there = {str(path.relative_to(plugins.PLUGINS)) for path in plugins.PLUGINS.rglob("*") if path.is_file()}
    assert there == set(made)
    for path, text in made.items():
        assert (plugins.PLUGINS / path).read_text("utf-8") == text, "make plugins"


@pytest.mark.parametrize("name", HOSTS)
def test_a_manifest_is_of_the_agents_form(name: str) -> None:
    manifest = json.loads(plugins.files()[f"{name}/{plugins.MANIFESTS[name]}"])
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", manifest["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", manifest["version"])
    assert 0 < len(manifest["description"]) <= 1024
    assert set(manifest) <= CURSOR
    hooks = json.loads(plugins.files()[f"{name}/hooks/hooks.json"])
    assert list(hooks["hooks"]) == list(HOSTS[name].events)
    assert set(hooks) <= ({"version", "hooks"} if name in ("cursor", "copilot") else {"hooks"})
    assert f"tars-memory hook --agent {name}" in json.dumps(hooks)


def test_the_skill_keeps_to_the_common_form() -> None:
    """https://agentskills.io/specification"""
    text = plugins.files()[f"claude/{plugins.SKILL}"]
    _, front, body = text.split("---\n", 2)
    told = dict(line.split(": ", 1) for line in front.strip().split("\n"))
    assert told["name"] == Path(plugins.SKILL).parent.name
    assert 0 < len(told["description"]) <= 1024
    assert not set("<>") & set(told["description"])
    assert len(told["compatibility"]) <= 500
    assert set(told) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert len(body.split("\n")) < 500
