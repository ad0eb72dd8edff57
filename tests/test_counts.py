"""Messages count in words: one line, two lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import tars_memory
from tars_memory.errors import counted

PACKAGE = Path(tars_memory.__file__).parent
PLURALS = re.compile(
    r"^ (?:[a-z]+ ){0,3}?(?:notes|lines|proposals|candidates|entries|writes|files|turns|hits|words|days|tokens|times"
    r"|statements|sessions|sections|findings|facts|prompts|conversations|sentences|passages|records|copies|bullets|items"
    r"|questions|sources|failures|rules|links|vectors|summaries|bytes|characters|duplicates|tags|months)\b"
)
NO_COUNT = (
    "links to it",
    " writes it again",
    "of daily notes",
    "no links",
    "too many for one entry",
    "are not read",
    " writes it; remove",
    " has words",
    "more than",
    "looks inside notes",
    "in other words",
    "of your notes",
)
"""What only looks like one: a verb, or what is never said of one."""


def counts(tree: ast.AST) -> Iterator[str]:
    """The f-strings in which a number stands before a plural as it is; names in capitals are of many."""
    for node in ast.walk(tree):
        for number, behind in pairwise(node.values if isinstance(node, ast.JoinedStr) else ()):
            if isinstance(number, ast.FormattedValue) and isinstance(behind, ast.Constant):
                if not PLURALS.match(str(behind.value)):  # what tells most apart comes first: unparsing takes long
                    continue
                fixed = (name := ast.unparse(number.value).rpartition(".")[2]).isidentifier() and name.isupper()
                text = ast.unparse(node)
                if not fixed and not any(phrase in text for phrase in NO_COUNT):
                    yield text


def test_one_is_never_said_as_many() -> None:
    assert counted(1, "candidate") == "1 candidate"
    assert counted(0, "line") == "0 lines"
    assert counted(1, "proposal waits", "proposals wait") == "1 proposal waits"
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1200, "file") == "1,200 files"


def test_every_message_counts_with_that() -> None:
    found = {str(path): list(counts(ast.parse(path.read_text("utf-8")))) for path in PACKAGE.rglob("*.py")}
    assert {name: said for name, said in found.items() if said} == {}
