"""`python -m eval`: sets of questions through the installed command line, in all modes, state in a temporary folder.

A set is a folder with ``vault/`` and ``questions.jsonl`` (or ``queries.jsonl``). The project's own is this folder's;
further ones are those beside the repository, if they are there. No set is changed: each vault is copied.
"""
# ruff: noqa: T201 - a program that prints

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
BENCH = HERE.parents[1] / "shared" / "bench"
QUESTIONS = ("questions.jsonl", "queries.jsonl")
NOW = "2026-11-21T10:15:00+00:00"
"""What the set's own questions mean by "yesterday"."""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


def main() -> None:
    """Measure the sets that are named, or all."""
    sets = {"own": HERE, **{folder.name: folder for folder in sorted(BENCH.glob("*")) if questions_of(folder)}}
    parser = argparse.ArgumentParser(prog="python -m eval", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(sets)}; all if none is named")
    names = parser.parse_args().sets or list(sets)
    unknown = set(names) - set(sets)
    if unknown:
        parser.error(f"no set named {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="eval-") as work:
        for name in names:
            print(f"\n## {name}\n", flush=True)
            measure(sets[name], Path(work), Path(work) / name)


def questions_of(folder: Path) -> Path | None:
    """The questions of a set; None if the folder is none."""
    files = [folder / name for name in QUESTIONS if (folder / name).is_file()]
    return files[0] if files and (folder / "vault").is_dir() else None


def measure(folder: Path, work: Path, vault: Path) -> None:
    """Index a copy of the set's vault, and ask its questions in all modes."""
    shutil.copytree(folder / "vault", vault)
    env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    env |= {"HOME": str(work), "TARS_MEMORY_HOME": str(work / "home"), "TARS_NOW": NOW}
    program = [str(Path(sys.executable).parent / "tars-memory"), "--vault", str(vault)]
    modes = ("--mode", "hybrid", "--against", "lexical", "--against", "semantic")
    subprocess.run([*program, "reindex"], env=env, check=True)
    subprocess.run([*program, "eval", str(questions_of(folder)), *modes], env=env, check=True)


if __name__ == "__main__":
    main()
