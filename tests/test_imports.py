"""What a command must not import: start-up is the product, and an import is most of what it costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from grimp import build_graph

from tars_memory.testing import make_vault

HEAVY = {
    "asyncio",
    "fastembed",
    "huggingface_hub",
    "importlib.metadata",
    "litellm",
    "numpy",
    "onnxruntime",
    "pydantic",
    "rich",
    "sqlite_utils",
    "sqlite_vec",
    "tokenizers",
    "watchdog",
    "yaml",
}
PARSER = {"markdown_it"}
DRIVERS = {"sqlite3", "pysqlite3"}
ROOMS = {f"tars_memory.{room}" for room in ("memory", "index", "recall", "capture", "vault.vault", "vault.folder")}
"""Opened for what needs a vault; of ``vault`` a failure may load what is pure, to mask a credential that was typed."""

WATCHED = """
import atexit, json, sys
atexit.register(lambda: print("MODULES" + json.dumps(sorted(sys.modules)), file=sys.__stderr__))
sys.argv[0] = "tars-memory"
from tars_memory.__main__ import main
main()
"""

NOTES = {
    "Tea.md": "# Tea\n\n- Anna likes oolong in the morning\n- Bela drinks coffee\n",
    "Boats.md": "# Boats\n\nThe harbour of Cork freezes in no winter.\n",
    "Memory.md": "# Memory\n\n## Notes\n\n- the key is under the blue pot\n",
}


class Program:
    """The command line in a process of its own, over one vault."""

    def __init__(self, folder: Path) -> None:
        self.root = make_vault(folder / "vault", NOTES)
        self.env = {
            "PATH": os.environ["PATH"],
            "TARS_MEMORY_HOME": str(folder / "home"),
            "TARS_MEMORY_DIR": str(self.root),
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder),
            "PYTHONPATH": str(Path(__file__).parents[1]),
        }

    def modules(self, *arguments: str, code: int = 0) -> set[str]:
        """Run a command that must end with that exit code; every module it had imported."""
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, *arguments], env=self.env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, done.stderr
        self.out = done.stdout
        (line,) = [line for line in done.stderr.split("\n") if line.startswith("MODULES")]
        return set(json.loads(line.removeprefix("MODULES")))


def test_every_module_can_be_imported_first() -> None:
    """Two that import each other at the top can't: whichever comes second finds half of the first.

    Only what imports itself in the end can; of all others the first import is as any.
    """
    graph = build_graph("tars_memory", cache_dir=None, exclude_type_checking_imports=True)
    first = {name: {*graph.find_modules_directly_imported_by(name), name.rpartition(".")[0]} for name in graph.modules}
    names = []
    for name in graph.modules:
        seen: set[str] = set()
        to_do = [name]
        while to_do:
            to_do += (new := first.get(to_do.pop(), set()) - seen - {""})
            seen |= new
        names += [name] if name in seen else []
    assert 5 < len(names) < len(graph.modules) / 2
    names.append("tars_memory.memory")
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ImportError as error:\n"
        "        print(name, error)\n"
        "    for ours in [each for each in sys.modules if each.partition('.')[0] == 'tars_memory']:\n"
        "        del sys.modules[ours]\n"
    )
    names = [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == ""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = Program(tmp_path_factory.mktemp("imports"))
    program.modules("remember", "oolong is tea")  # for a history, whichever test comes first
    return program


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = Program(tmp_path_factory.mktemp("indexed"))
    assert "numpy" in program.modules("reindex")  # the watch sees what is there to be seen
    return program


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"]], ids=" ".join)
def test_help_imports_no_room(arguments: list[str], program: Program) -> None:
    assert program.modules(*arguments) & (HEAVY | PARSER | DRIVERS | ROOMS) == set()


def test_a_wrong_option_imports_no_room(program: Program) -> None:
    assert program.modules("search", "--nonsense", "tea", code=2) & (HEAVY | PARSER | DRIVERS | ROOMS) == set()


@pytest.mark.parametrize(
    "arguments",
    [["remember", "Chidi plays chess"], ["log", "met Anna"], ["log"], ["history"], ["feedback", "good", "short"]],
    ids=" ".join,
)
def test_writers_import_no_index(arguments: list[str], program: Program) -> None:
    loaded = program.modules(*arguments)
    assert loaded & (HEAVY | DRIVERS) == set()
    assert [name for name in loaded if name.startswith("tars_memory.index.")] == []


def test_search_by_words(indexed: Program) -> None:
    indexed.modules("search", "--mode", "lexical", "oolong")
    loaded = indexed.modules("search", "--mode", "lexical", "oolong")
    assert "oolong" in indexed.out
    assert loaded & (HEAVY | PARSER) == set()
    assert loaded & {f"tars_memory.index.{name}" for name in ("models", "passages", "prepare")} == set()


def test_search_with_a_remembered_vector(indexed: Program) -> None:
    cold = indexed.modules("--json", "search", "who has oolong in the morning?")
    assert json.loads(indexed.out)["mode"] == "hybrid"
    assert "onnxruntime" in cold
    assert cold & (HEAVY - {"numpy", "onnxruntime", "tokenizers"}) == set()
    warm = indexed.modules("--json", "search", "who has oolong in the morning?")
    assert json.loads(indexed.out)["mode"] == "hybrid"
    assert warm & (HEAVY | PARSER) == set()


def test_a_context_without_a_question_opens_no_index(program: Program) -> None:
    loaded = program.modules("context")
    assert "blue pot" in program.out
    assert loaded & (HEAVY | DRIVERS) == set()


def test_a_context_with_a_remembered_vector(indexed: Program) -> None:
    indexed.modules("context", "--found-only", "who", "drinks", "oolong?")
    assert "oolong" in indexed.out
    assert indexed.modules("context", "--found-only", "who", "drinks", "oolong?") & (HEAVY | PARSER) == set()
