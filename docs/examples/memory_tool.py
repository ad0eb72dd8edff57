"""A conversation with Anthropic's memory tool over a vault.

    python docs/examples/memory_tool.py ~/Notes "What were we at?"      # pip install anthropic tars-memory
    python docs/examples/memory_tool.py --scripted DIR                  # nobody is asked: see what the vault gets

``converse`` takes any client with ``messages.create``; ``Scripted`` is one that says what it was told to.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from tars_memory.doors.memorytool import TOOL, MemoryTool

MODEL = "claude-sonnet-4-5"


def converse(client: Any, tool: MemoryTool, question: str) -> str:
    """Ask a question, and answer every use of the tool until the model says something."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        reply = client.messages.create(model=MODEL, max_tokens=2048, tools=[TOOL], messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
        answers = [tool.answer(block) for block in reply.content if block.type == "tool_use"]
        if not answers:
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "user", "content": answers})


class Scripted:
    """A client whose model uses the tool as it is told to, and prints what it hears."""

    def __init__(self, *commands: dict[str, Any]) -> None:
        self._commands = list(commands)
        self.messages = self

    def create(self, *, messages: list[dict[str, Any]], **_: Any) -> Any:
        """The next use of the tool, or a last word."""
        for block in messages[-1]["content"] if len(messages) > 1 else ():
            print(block["content"], end="\n\n")
        if self._commands:
            use = {"type": "tool_use", "name": "memory", "id": f"use_{len(messages)}", "input": self._commands.pop(0)}
            return SimpleNamespace(content=[SimpleNamespace(**use)])
        return SimpleNamespace(content=[SimpleNamespace(type="text", text="It is noted.")])


SCRIPT = (
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/progress.md", "file_text": "# Progress\n\n- migrated the parser\n"},
    {"command": "insert", "path": "/memories/progress.md", "insert_line": 3, "insert_text": "- tests are red\n"},
    {
        "command": "str_replace",
        "path": "/memories/progress.md",
        "old_str": "tests are red",
        "new_str": "tests are green",
    },
    {"command": "view", "path": "/memories/progress.md"},
)

if __name__ == "__main__":
    scripted = sys.argv[1] == "--scripted"
    with MemoryTool(sys.argv[2] if scripted else sys.argv[1], agent="claude") as memory:
        if scripted:
            print(converse(Scripted(*SCRIPT), memory, "Note where we are."))
        else:
            from anthropic import Anthropic

            print(converse(Anthropic(), memory, sys.argv[2]))
