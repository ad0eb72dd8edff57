"""The laws of the house that import-linter can't say: SQL, output and heavy imports each stay in one place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "tars_memory"
FILES = sorted(PACKAGE.rglob("*.py"))
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(VIRTUAL\s+)?TABLE)\b",
    re.DOTALL,
)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def sql_strings(source: str) -> list[int]:
    return [node.lineno for node in strings(ast.parse(source)) if SQL.search(str(node.value))]


def test_the_sql_rule_sees_sql() -> None:
    assert sql_strings('db.execute("SELECT a FROM b")') == [1]
    assert sql_strings('"""SELECT a FROM b."""\nx = "select the one from the list"') == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_index_speaks_sql(path: Path) -> None:
    if room(path) != "index":
        assert sql_strings(path.read_text("utf-8")) == []


def calls(tree: ast.AST, names: set[str]) -> list[int]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            target = node.func
            name = target.id if isinstance(target, ast.Name) else ast.unparse(target)
            if name in names:
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_the_command_line_prints_asks_or_exits(path: Path) -> None:
    if room(path) not in ("cli", "__main__.py"):
        tree = ast.parse(path.read_text("utf-8"))
        assert calls(tree, {"print", "input", "exit", "sys.exit", "sys.stdout.write", "sys.stderr.write"}) == []


@pytest.mark.parametrize("module", ["litellm", "fastembed"])
def test_a_heavy_library_is_imported_inside_one_function(module: str) -> None:
    places = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for inner in ast.walk(node):
                    names = (
                        [a.name for a in inner.names]
                        if isinstance(inner, ast.Import)
                        else [inner.module or ""]
                        if isinstance(inner, ast.ImportFrom)
                        else []
                    )
                    if any(name.split(".")[0] == module for name in names):
                        places.append((path.name, node.name))
    assert len(set(places)) <= 1, places
    top_level = [
        path.name
        for path in FILES
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom) and module in ast.unparse(node)
    ]
    assert top_level == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_lines_are_not_counted_by_splitlines(path: Path) -> None:
    """``str.splitlines`` breaks at U+2028, form feeds and the like, where no editor does."""
    assert ".splitlines(" not in path.read_text("utf-8")
