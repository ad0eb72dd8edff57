"""`python -m eval`: sets of questions through the installed command line, in all modes, state in a temporary folder.

A set is a folder with ``vault/`` and ``questions.jsonl`` (or ``queries.jsonl``). The project's own is this folder's;
further ones are those beside the repository, if they are there. No set is changed: each vault is copied.

``extraction`` is another kind of set, and so is any FILE.jsonl: an object a line, with ``language``, a ``text`` that a
person says, the ``facts`` that a model points at in it, and as ``labels`` the passages that are worth keeping. Printed
is how many of them ``extract`` offers, by language.
"""
# ruff: noqa: T201 - a program that prints

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).parent
BENCH = HERE.parents[1] / "shared" / "bench"
QUESTIONS = ("questions.jsonl", "queries.jsonl")
RESAMPLES = 2000
SEED = 20261121
"""Any number would do; a fixed one gives the same interval every time."""
OUTSIDE = 0.025
"""Share of the resampled means on either side of the interval."""
NOW = "2026-11-21T10:15:00+00:00"
"""What the set's own questions mean by "yesterday"."""
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


def main() -> None:
    """Measure the sets that are named, or all."""
    sets = {
        "own": HERE,
        "extraction": HERE / "extraction.jsonl",
        **{folder.name: folder for folder in sorted(BENCH.glob("*")) if questions_of(folder)},
    }
    parser = argparse.ArgumentParser(prog="python -m eval", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(sets)}; all if none is named")
    names = parser.parse_args().sets or list(sets)
    sets |= {name: Path(name) for name in names if name.endswith(".jsonl")}
    unknown = set(names) - set(sets)
    if unknown:
        parser.error(f"no set named {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="eval-") as work:
        for name in names:
            print(f"\n## {name}\n", flush=True)
            if sets[name].suffix == ".jsonl":
                extraction(sets[name], Path(work))
            else:
                measure(sets[name], Path(work), Path(work) / name)


def questions_of(folder: Path) -> Path | None:
    """The questions of a set; None if the folder is none."""
    files = [folder / name for name in QUESTIONS if (folder / name).is_file()]
    return files[0] if files and (folder / "vault").is_dir() else None


def extraction(file: Path, work: Path) -> None:
    """Extract from conversations of one turn each with what a model pointed at, language by language."""
    rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
    offered, wanted = Counter[str](), Counter[str]()
    for code in dict.fromkeys(row["language"] for row in rows):
        own = [row for row in rows if row["language"] == code]
        vault = Path(tempfile.mkdtemp(prefix="vault-", dir=work))
        chats = []
        for number, row in enumerate(own):
            said = [{"role": "user", "content": row["text"]}, {"role": "assistant", "content": "…"}]
            chats.append(vault.with_suffix(f".{number:04}.jsonl"))
            chats[-1].write_text("\n".join(json.dumps({**one, "timestamp": NOW}) for one in said), "utf-8")
        answers = [json.dumps({"facts": [{"turn": 1, **fact} for fact in row["facts"]]}) for row in own]
        reply = vault.with_suffix(".reply")
        reply.write_text("\n\f\n".join(answers), "utf-8")
        env = environment(work)
        program = [str(Path(sys.executable).parent / "tars-memory"), "--vault", str(vault)]
        subprocess.run([*program, "init", "--quiet"], env=env, check=True)
        told = subprocess.run(
            [*program, "extract", "--force", "--json", "--reply", str(reply), *map(str, chats)],
            env=env, check=True, capture_output=True,
        )  # fmt: skip
        found = {each["source"]: each["facts"] for each in json.loads(told.stdout)["sessions"]}
        for chat, row in zip(chats, own, strict=True):
            quotes = [fact["quote"] for fact in found.get(str(chat), [])]
            wanted[code] += len(row["labels"])
            offered[code] += sum(any(covers(each, label) for each in quotes) for label in row["labels"])
    for code, count in wanted.items():
        print(f"{code:8}{offered[code]:4} of {count:4}  {offered[code] / count:6.1%}")
    print(f"{'all':8}{offered.total():4} of {wanted.total():4}  {offered.total() / wanted.total():6.1%}")


def covers(quote: str, label: str) -> bool:
    """Whether a quote holds a passage, or most of it."""
    return label in quote or (quote in label and 2 * len(quote) > len(label))


def environment(work: Path) -> dict[str, str]:
    """What the program is run with."""
    env = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    own = {"HOME": str(work), "TARS_MEMORY_HOME": str(work / "home"), "TARS_NOW": NOW, "TARS_MEMORY_BACKGROUND": "0"}
    return env | own


def measure(folder: Path, work: Path, vault: Path) -> None:
    """Index a copy of the set's vault, and ask its questions in all modes."""
    shutil.copytree(folder / "vault", vault)
    env = environment(work)
    program = [str(Path(sys.executable).parent / "tars-memory"), "--vault", str(vault)]
    modes = ("--mode", "hybrid", "--against", "lexical", "--against", "semantic", "--json")
    subprocess.run([*program, "reindex"], env=env, check=True)
    asked = subprocess.run([*program, "eval", str(questions_of(folder)), *modes], env=env, stdout=subprocess.PIPE)
    told = json.loads(asked.stdout)
    names = [name for name in told["all"] if name != "questions"]
    for run in (told, *told["against"]):
        print(f"\n{run['mode']:14}{'n':>5}" + "".join(f"{name.replace('recall', 'R'):>14}" for name in names))
        for row in (run["all"], *run["categories"]):
            cells = "".join(f"{'-' if row[name] is None else f'{row[name]:.1%}':>14}" for name in names)
            print(f"{row.get('category', 'all'):14}{row['questions']:5}{cells}")
    for other in told["against"]:
        print(f"\n{told['mode']} against {other['mode']}: mean difference, 95 % interval, questions")
        for name, found in compared(told["answers"], other["answers"]).items():
            print(f"{name:16}{found.mean:+8.1%}{found.low:+8.1%} to{found.high:+7.1%}{found.questions:6}")


class Difference(NamedTuple):
    """How much better one run is than another in one figure; sure when ``low`` to ``high`` holds no 0."""

    questions: int
    mean: float
    low: float
    high: float


def bootstrap(differences: Sequence[float], seed: int = SEED) -> Difference:
    """The mean of paired differences with its 95 % interval: percentiles of the means of resampled questions."""
    dice = random.Random(seed)  # noqa: S311 - statistics
    count = len(differences)
    means = sorted(sum(dice.choices(differences, k=count)) / count for _ in range(RESAMPLES))
    cut = int(RESAMPLES * OUTSIDE)
    return Difference(count, sum(differences) / count, means[cut], means[-1 - cut])


def compared(mine: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> dict[str, Difference]:
    """How much better the answers of one run are than another's to the same questions, figure by figure."""
    pairs = {name: [(a[name], b[name]) for a, b in zip(mine, theirs, strict=True)] for name in mine[0] if name != "id"}
    found = {name: [a - b for a, b in each if a is not None and b is not None] for name, each in pairs.items()}
    return {name: bootstrap(each) for name, each in found.items() if each}


if __name__ == "__main__":
    main()
