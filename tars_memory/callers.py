"""By what a process shows that an agent started it: asked by every gate that an agent must not go through alone.

A mark is a variable that the host of an agent sets for the commands which the agent runs, and for nothing else. What
people's own terminals carry, too, is none (``CURSOR_TRACE_ID``, ``CLAUDE_CODE_SSE_PORT``, ``CODEX_HOME``,
``GOOSE_PROVIDER``, ``COPILOT_MODEL``): it would take their own decisions from them. It is a sign, no lock: whoever runs
a command can take a variable away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTOR = "TARS_MEMORY_ACTOR"
"""The variable in which a caller may say who he is."""

AGENT_MARKS = (
    "CLAUDECODE", "AI_AGENT", "AGENT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
    "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "OPENCODE_CLIENT", "COPILOT_CLI", "COPILOT_AGENT",
    "COPILOT_AGENT_SESSION_ID", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID", "CRUSH", "QWEN_CODE", "CLINE_ACTIVE",
    "AUGMENT_AGENT", "PI_CODING_AGENT", "TRAE_AI_SHELL_ID",
)  # fmt: skip
"""Documented in docs/commands.md, with who sets which."""


def agent_mark(env: Mapping[str, str]) -> str:
    """The variable that says that an agent runs this process; empty if none does."""
    if env.get(ACTOR) == "agent":
        return ACTOR
    return next((mark for mark in AGENT_MARKS if env.get(mark)), "")
