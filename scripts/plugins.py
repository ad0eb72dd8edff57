"""Write plugins/: for each coding agent a plugin with our hooks and a skill (``make plugins``).

Each agent has a folder of its own, for they look for hooks in the same place and read them in different forms. Events,
forms and the version come from the program, so that none of them can fall behind.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from tars_memory.jobs.hosts import HOSTS, SERVER, handler

ROOT = Path(__file__).parents[1]
PLUGINS = ROOT / "plugins"
MANIFESTS = {
    "claude": ".claude-plugin/plugin.json",
    "codex": ".codex-plugin/plugin.json",
    "gemini": "gemini-extension.json",
    "cursor": ".cursor-plugin/plugin.json",
    "copilot": "plugin.json",
}
SKILL = f"skills/{SERVER}/SKILL.md"
SAID = "Long-term memory in plain markdown: what you told it comes back at the start of a session and with each prompt."
AUTHOR = {"name": "the tars-memory authors"}


def files() -> dict[str, str]:
    """All files below plugins/ that are made, with their texts."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    skill = (ROOT / "scripts" / "SKILL.md").read_text("utf-8")
    found: dict[str, Any] = {}
    for name, host in HOSTS.items():
        manifest: dict[str, Any] = {"name": SERVER, "version": version, "description": SAID}
        if name != "gemini":  # it knows no more
            manifest |= {"author": AUTHOR, "license": "MIT", "keywords": ["memory", "markdown", "obsidian"]}
        hooks: dict[str, Any] = {} if name not in ("cursor", "copilot") else {"version": 1}
        command = f"tars-memory hook --agent {name}"
        hooks["hooks"] = {event: [handler(name, command)] for event in host.events}
        found[f"{name}/{MANIFESTS[name]}"] = manifest
        found[f"{name}/hooks/hooks.json"] = hooks
        found[f"{name}/{SKILL}"] = skill
        if host.servers:
            found[f"{name}/{host.servers}"] = {"mcpServers": {SERVER: {"command": "tars-memory", "args": ["mcp"]}}}
    entry = {"name": SERVER, "description": SAID}
    found[".claude-plugin/marketplace.json"] = {
        "name": SERVER,
        "description": SAID,
        "owner": AUTHOR,
        "plugins": [{**entry, "source": "./claude"}],
    }
    found[".github/plugin/marketplace.json"] = {
        "name": SERVER,
        "owner": AUTHOR,
        "plugins": [{**entry, "source": "./copilot"}],
    }
    found[".agents/plugins/marketplace.json"] = {
        "name": SERVER,
        "plugins": [
            {
                "name": SERVER,
                "source": {"source": "local", "path": "./codex"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": "Productivity",
            }
        ],
    }
    return {path: text if isinstance(text, str) else json.dumps(text, indent=2) + "\n" for path, text in found.items()}


if __name__ == "__main__":
    for path, text in files().items():
        (PLUGINS / path).parent.mkdir(parents=True, exist_ok=True)
        (PLUGINS / path).write_text(text, "utf-8")
    sys.stdout.write(f"{PLUGINS}\n")
