"""The laws of the house that import-linter can't say: SQL, output and heavy imports each stay in one place."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from grimp import build_graph

PACKAGE = Path(__file__).parents[1] / "tars_memory"
FILES = sorted(PACKAGE.rglob("*.py"))
SOURCES = {path: path.read_text("utf-8") for path in FILES}
SQL = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(VIRTUAL\s+)?TABLE)\b",
    re.DOTALL,
)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(SOURCES[path])


@cache
def walked(tree: ast.AST) -> list[ast.AST]:
    """Its nodes, for all tests that look through them."""
    return [*ast.walk(tree)]


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def strings(tree: ast.AST) -> Iterator[ast.Constant]:
    docs = {
        id(node.body[0].value)
        for node in walked(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in walked(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def sql_strings(source: str) -> list[int]:
    if not SQL.search(source):
        return []  # spares the parse
    return [node.lineno for node in strings(ast.parse(source)) if SQL.search(str(node.value))]


def test_the_sql_rule_sees_sql() -> None:
    assert sql_strings('db.execute("SELECT a FROM b")') == [1]
    assert sql_strings('"""SELECT a FROM b."""\nx = "select the one from the list"') == []


def test_only_index_speaks_sql() -> None:
    found = {path: sql_strings(SOURCES[path]) for path in FILES if room(path) != "index"}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_message_sends_to_a_page_that_an_installed_program_lacks() -> None:
    found = []
    for path in FILES:
        tree = tree_of(path) if "docs/" in SOURCES[path] else ast.Module([], [])
        docs = {id(node.value) for node in walked(tree) if isinstance(node, ast.Expr)}
        texts = [node for node in walked(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
        found += [(path.name, node.lineno) for node in texts if re.search(r"docs/[\w-]+\.md", str(node.value))]
    assert found == []


def calls(tree: ast.AST, names: set[str]) -> list[int]:
    found = []
    for node in walked(tree):
        if isinstance(node, ast.Call):
            target = node.func
            name = target.id if isinstance(target, ast.Name) else ast.unparse(target)
            if name in names:
                found.append(node.lineno)
    return found


def test_only_the_command_line_prints_asks_or_exits() -> None:
    names = {"print", "input", "exit", "sys.exit", "sys.stdout.write", "sys.stderr.write"}
    found = {path: calls(tree_of(path), names) for path in FILES if room(path) not in ("doors", "__main__.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("module", ["litellm", "fastembed"])
def test_a_heavy_library_is_imported_inside_one_function(module: str) -> None:
    places = []
    for path in FILES:
        for node in walked(tree_of(path)) if module in SOURCES[path] else ():
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
        for node in tree_of(path).body
        if isinstance(node, ast.Import | ast.ImportFrom) and re.search(rf"(?<![\w.]){module}\b", ast.unparse(node))
    ]
    assert top_level == []


def test_lines_are_not_counted_by_splitlines() -> None:
    """``str.splitlines`` breaks at U+2028, form feeds and the like, where no editor does."""
    assert [path for path in FILES if ".splitlines(" in SOURCES[path]] == []


GRAMMAR = re.compile(r"\[-\*\+\]|#\{1,6\}|\\\^\(|rejected\|expired|\\\[\\\[(?!\?)")
"""Pieces of a regular expression for list marks, headings, block ids, states and links."""


def grammar_in(tree: ast.AST) -> list[int]:
    return [node.lineno for node in strings(tree) if GRAMMAR.search(str(node.value))]


def test_the_grammar_rule_sees_grammar() -> None:
    for text in (
        r"[ \t]*(?:[-*+]|\d[.)])",
        r"(#{1,6})[ \t]",
        r"\^([A-Za-z0-9-]+)$",
        r"\[(rejected|expired)\]",
        r"\[\[(.*)\]\]",
    ):
        assert grammar_in(ast.parse(f"x = {text!r}")) == [1], text
    assert grammar_in(ast.parse("x = ['rejected', '- said', '^']")) == []


OTHER_GRAMMARS = {
    "capture/text_logs.py", "capture/memories.py", "index/chunking.py", "language/statements.py",
}  # fmt: skip
"""Logs of chats and other programs' memories are not notes, Dataview's inline fields may be anywhere in a line, and
what a statement says is what its links show."""


def test_only_the_vault_knows_how_markdown_is_written() -> None:
    """The index keeps what each line is, and curation asks the parser."""
    outside = {path.relative_to(PACKAGE).as_posix(): path for path in FILES if room(path) != "vault"}
    found = {name: grammar_in(tree_of(path)) for name, path in outside.items() if name not in OTHER_GRAMMARS}
    assert {name: at for name, at in found.items() if at} == {}


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 go on from where a repeat of the group failed: an atomic group around it does not."""
    found = set()
    for path in FILES:
        for node in walked(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                plain = re.sub(r"\[(?:\\.|[^\]\\])*\]", "x", node.value)
                if re.search(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+", plain):
                    found.add(f"{path.name}:{node.lineno}")
    assert not found


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and comprehensions in it."""
    waiting = [*ast.iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, *COMPREHENSIONS, ast.GeneratorExp)):
            waiting += ast.iter_child_nodes(node)


def stored_names(nodes: Iterable[ast.AST]) -> set[str]:
    found = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found | {node.arg for node in nodes if isinstance(node, ast.arg)}


def hidden_names(tree: ast.AST) -> list[tuple[int, str]]:
    """Names that an inner function takes from the outer one, and that a comprehension in it binds, with its line."""
    found = []
    for outer in walked(tree):
        if not isinstance(outer, FUNCTIONS):
            continue
        bound = stored_names([*own_nodes(outer), *ast.walk(outer.args)])
        for inner in walked(outer):
            if inner is outer or not isinstance(inner, FUNCTIONS):
                continue
            nodes = [*walked(inner)]
            for node in nodes:
                if not isinstance(node, COMPREHENSIONS):
                    continue
                names = bound & stored_names(target for part in node.generators for target in ast.walk(part.target))
                if names:
                    others = set(nodes) - set(walked(node))
                    read = {other.id for other in others if isinstance(other, ast.Name)}
                    found += [(node.lineno, name) for name in names & read]
    return found


def test_the_rule_of_hidden_names_sees_one() -> None:
    body = "  a = {n: word for n, word in pairs}\n  return [n for n in a if n != word]\n"
    assert hidden_names(ast.parse("def f(word, pairs):\n def g():\n" + body)) == [(3, "word")]
    assert hidden_names(ast.parse("def f(pairs):\n def g(word):\n" + body)) == []


def test_no_comprehension_hides_a_name_that_its_function_takes_from_outside() -> None:
    """Python 3.12 and 3.13 (seen in 3.12.1 and 3.13.0) take it for the comprehension's own: an UnboundLocalError."""
    found = {path.relative_to(PACKAGE).as_posix(): hidden_names(tree_of(path)) for path in FILES}
    assert {name: at for name, at in found.items() if at} == {}


# --- what no room may have


LIBRARIES_CALL = [
    *("readinto", "resolve_command", "collect_usage_pieces", "verify_request", "handle_error", "on_any_event"),
    *("daemon_threads", "block_on_close", "request_queue_size", "suppress_debug_info", "disable_hf_tokenizer_download"),
    *("drop_params", "telemetry", "log_severity_level", "inter_op_num_threads", "intra_op_num_threads"),
    *("whitespace_split", "commenters", "terminal_width"),
    *("graph_optimization_level", "optimized_model_filepath", "enable_cpu_mem_arena"),
    *("CSS", "BINDINGS", "ENABLE_COMMAND_PALETTE", "compose", "render_line", "virtual_size", "cursor_blink"),
    *("on_mount", "on_resize", "on_input_changed", "on_heard", "_on_key", "action_*", "_fatal_error"),
    "cursor_position",
    "__signature__",
]
"""Names that a library asks for: Textual, typer, socketserver, watchdog, litellm, onnxruntime, shlex."""
BY_NAME = [
    "__getattr__",
    "normalised",
    "extract_model",
    "review_model",
    "tidy_model",
    "FrozenClock",
    "advance",
    "make_vault",
    "ScriptedLLM",
    "TOOL",
]
"""What a manifest tells, settings that are read by a job's name, and what is shipped for other programs."""


@pytest.mark.prove  # and in make check: three seconds
def test_nothing_is_unused() -> None:
    """A function, class, attribute or constant that only tests use is unused as well."""
    from vulture import Vulture

    look = Vulture(ignore_names=[*LIBRARIES_CALL, *BY_NAME], ignore_decorators=["@command"])
    look.scavenge([PACKAGE, PACKAGE.parent / "bench", PACKAGE.parent / "eval"])
    assert [each.get_report() for each in look.get_unused_code()] == []


def test_imports_go_in_no_circles_larger_than_two() -> None:
    """Those inside functions and those for types alone are imports as well."""
    graph = build_graph("tars_memory", cache_dir=None, exclude_type_checking_imports=False)
    below = {name: set(graph.find_modules_directly_imported_by(name)) for name in graph.modules}
    reached: dict[str, set[str]] = {}
    for name in below:
        seen: set[str] = set()
        to_do = [name]
        while to_do:
            to_do += (new := below[to_do.pop()] - seen)
            seen |= new
        reached[name] = seen
    circles = {frozenset({n, *(m for m in reached[n] if n in reached[m])}) for n in below if n in reached[n]}
    assert [sorted(each) for each in circles if len(each) > 2] == []


def test_a_public_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name for tree in map(tree_of, FILES) for node in walked(tree) if isinstance(node, ast.ClassDef)
    )
    assert {name for name, count in names.items() if count > 1 and name[0] != "_"} == set()


def test_no_function_takes_nine_values() -> None:
    """A command's options are its parameters; for anything else they are one value, like ``SearchRequest``."""
    found = set()
    for path in FILES:
        for node in walked(tree_of(path)) if "commands" not in path.parts else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                taken = node.args
                count = len([*taken.posonlyargs, *taken.args, *taken.kwonlyargs])
                if count + bool(taken.vararg) + bool(taken.kwarg) >= 9:
                    found.add(f"{path.relative_to(PACKAGE).as_posix()}:{node.name}")
    assert found == set()
