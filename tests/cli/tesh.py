"""Sessions at a shell, as a person would have them: run line by line, and written down anew.

A ``$`` line is run by ``sh`` in an empty folder that the transcript makes a vault; if it only calls the program,
``make test`` does that in its own process. A ``%`` line is run there on a terminal of 80 columns. What it prints
follows: lines of stdout (or the terminal) behind two blanks, lines of stderr behind ``2> ``; ``>>> N`` is its exit
code, 0 if not said. ``< KEYS`` types KEYS and Enter on the terminal, once all that stands above it is shown.
``{{ref}}``, ``{{n}}``, ``{{any}}`` (of a line), ``{{some}}`` (lines) and others stand for what differs from run to
run. ``#`` begins a comment.

``make transcripts`` (``PYTHONPATH=..:.:cli python -m cli.tesh FILE…`` in ``tests/``) runs transcripts and puts what was
said in place of what they say otherwise: write the commands, run it, read what it made.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
from dialogue import Dialogue
from terminal import OURS, environment

FOLDER = Path(__file__).parent / "transcripts"

HOLES = {
    "ref": "[a-z2-7]{8}",
    "txn": "[0-9A-Za-z-]+",
    "any": ".*",
    "some": "(?s:.*)",
    "n": "[0-9]+",
    "score": "-?[0-9.e-]+",
    "mark": "[a-z2-7]{8}",
    "item": "[0-9]{20}-[0-9a-f]{8}",
    "today": "20[0-9]{2}-[0-9]{2}-[0-9]{2}",
    "vault": "/[^ ]*/vault",
    "home": "/[^ ]*/home",
    "base": "/[^ ]*",
}
PROGRAMS = ("tars-memory", "tm")
QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
SHELL = re.compile(r"[$`|&;<>()*?~{}!\\[\]]|\s#")
"""What only a shell understands, outside of :data:`QUOTED`."""
COLUMNS = 80
PATIENCE = 120.0
QUIET = 0.7
"""Seconds without a word after which it is taken for a question, where a dialogue is written down anew."""


class Step:
    """One command of a transcript and what it should do.

    Attributes:
        said: its head and whatever stood above it: comments and empty lines.
        at_terminal: it is run on one.
        out: what it prints there; what is typed begins with :data:`TYPED`.
    """

    def __init__(self, number: int, line: str, said: list[str]) -> None:
        self.number, self.command = number, line[2:]
        self.at_terminal = line.startswith("%")
        self.said = [*said, line]
        self.out: list[str] = []
        self.err: list[str] = []
        self.code = 0

    def differs(self, done: Done) -> str:
        """What is otherwise than the transcript says; empty if nothing is."""
        if done.code != self.code:
            return f"exit {done.code}, not {self.code}"
        if not re.fullmatch(pattern(self.out), done.out):
            return "stdout"
        return "" if re.fullmatch(pattern(self.err), done.err) else "stderr"

    def text(self, last: list[str] | None = None) -> str:
        """As it stands in a transcript."""
        told = [line if line.startswith(TYPED) else f"  {line}".rstrip(" ") or "  " for line in self.out]
        told += [f"2> {line}" for line in self.err]
        told += [f">>> {self.code}"] if self.code else []
        return "\n".join([*self.said, *told, *(last or [])]) + "\n"


class Done:
    """What one command did."""

    def __init__(self, code: int, out: str, err: str = "") -> None:
        self.code, self.out, self.err = code, out.rstrip("\n"), err.rstrip("\n")


TYPED = "< "


def steps(text: str) -> list[Step]:
    """The steps of a transcript.

    Raises:
        AssertionError: a line is neither a command nor what it prints.
    """
    found: list[Step] = []
    above: list[str] = []
    for number, line in enumerate(text.rstrip("\n").split("\n"), start=1):
        if line.startswith(("$ ", "% ")):
            found.append(Step(number, line, above))
            above = []
        elif line.startswith("#") or not line:
            above.append(line)
        elif found and not above and line.startswith(">>> "):
            found[-1].code = int(line[4:])
        elif found and not above and (line == "2>" or line.startswith("2> ")):
            found[-1].err.append(line[3:])
        elif found and not above and line.startswith("  "):
            found[-1].out.append(line[2:])
        elif found and not above and found[-1].at_terminal and line.startswith(TYPED.rstrip()):
            found[-1].out.append(TYPED + line[2:])
        else:
            raise AssertionError(f"line {number}: neither command nor output: {line!r}")
    return found


def pattern(lines: list[str]) -> str:
    """What the lines stand for: with holes, with any blanks at their ends, and what is typed behind its question."""
    told = ""
    for line in lines:
        if line.startswith(TYPED):
            told = f"{told.removesuffix(END)}[ ]*{re.escape(line.removeprefix(TYPED))}{END}"
        else:
            told += re.escape(line.rstrip(" ")) + END
    return re.sub(r"\\\{\\\{(\w+)\\\}\\\}", lambda hole: HOLES[hole[1]], told.removesuffix("\n"))


END = "[ ]*\n"


def shell(folder: Path) -> Path:
    """A folder with the two programs, for PATH."""
    for name in PROGRAMS:
        forked.command(folder, name)
    return folder


def forked_call(words: list[str], env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a process."""
    return forked.run(forked.program(*words), env=env, cwd=cwd, text=True)


class Sitting:
    """An empty vault's folder and what is run there.

    Args:
        base: an empty folder; the vault and the program's own folders are made below it.
        programs: what :func:`shell` made.
        call: runs the program, given its words, environment and folder.
    """

    def __init__(self, base: Path, programs: Path, call: Callable[..., Any] = forked_call) -> None:
        self._call = call
        self.vault = base / "vault"
        self.vault.mkdir()
        models = programs / "models"  # preparing the model takes half a second: all sittings share what the first made
        models.mkdir(exist_ok=True)
        (base / "home" / "cache").mkdir(parents=True)
        (base / "home" / "cache" / "models").symlink_to(models)
        self.env = environment(base / "home", TERM="xterm", HOME=str(base), EDITOR="true")
        self.env["PATH"] = f"{programs}{os.pathsep}{self.env['PATH']}"

    def run(self, step: Step, *, keep_time: bool = True) -> Done:
        """Run a step.

        Args:
            step: the one.
            keep_time: type when what was to be seen is seen; else when nothing more comes.
        """
        argv, env = ["sh", "-c", step.command], dict(self.env)
        if not SHELL.search(QUOTED.sub("", step.command)):  # as sh would, at half the cost
            words = shlex.split(step.command)
            while re.match(r"[A-Z_]+=", words[0]):
                name, _, env[name] = words.pop(0).partition("=")
            if words[0] in PROGRAMS and not step.at_terminal:
                call = self._call if env == self.env else forked_call  # some of it is read once in a process
                done = call(words[1:], env, self.vault)
                return Done(done.returncode, done.stdout, done.stderr)
            if words[0] in PROGRAMS:
                argv = forked.program(*words[1:])
        if step.at_terminal:
            return self._talk(argv, env, step.out, keep_time=keep_time)
        done = subprocess.run(
            argv, env=env, cwd=self.vault, capture_output=True, timeout=PATIENCE, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def _talk(self, argv: list[str], env: dict[str, str], told: list[str], *, keep_time: bool) -> Done:
        talk = Dialogue(argv, env, self.vault, columns=COLUMNS)
        for at, line in enumerate(told):
            if line.startswith(TYPED):
                if not talk.wait_until(shown(told[:at]) if keep_time else Quiet()):
                    break
                talk.type(line.removeprefix(TYPED) + "\n")
        code = talk.end()
        return Done(code, plain(talk.screen))


def plain(screen: bytes) -> str:
    """The rows of a screen without colours and links; of a row that was drawn over what came last."""
    text = OURS.sub(b"", screen).decode().replace("\r\n", "\n")
    return "\n".join(row.rpartition("\r")[2] for row in text.split("\n"))


def shown(lines: list[str]) -> Callable[[bytes], bool]:
    """Tells whether a screen shows this and no more."""
    wanted = re.compile(pattern(lines) + "[ ]*")
    return lambda screen: bool(wanted.fullmatch(plain(screen)))


class Quiet:
    """Tells whether nothing has come for a while."""

    def __init__(self) -> None:
        self._seen, self._since = -1, 0.0

    def __call__(self, screen: bytes) -> bool:
        if len(screen) != self._seen:
            self._seen, self._since = len(screen), time.monotonic()
        return time.monotonic() - self._since > QUIET


# --- writing down


def write_down(path: Path, programs: Path) -> int:
    """Run a transcript and put what it says in place of what differs; the number of steps that did."""
    count = 0
    with tempfile.TemporaryDirectory() as base:
        sitting = Sitting(Path(base), programs)
        text = path.read_text("utf-8")
        told = steps(text)
        last = re.search(r"\n((?:#[^\n]*\n|\n)*)\Z", text)
        for step in told:
            done = sitting.run(step, keep_time=False)
            if step.differs(done):
                count += 1
                typed = [line for line in step.out if line.startswith(TYPED)]
                hide = hider(sitting)
                step.code, step.out, step.err = done.code, lines(hide(done.out)), lines(hide(done.err))
                step.out = with_typed(step.out, typed)
    path.write_text("".join(step.text() for step in told) + (last[1] if last else ""), "utf-8")
    return count


def lines(text: str) -> list[str]:
    return [line.rstrip(" ") for line in text.split("\n")] if text else []


def with_typed(shown: list[str], typed: list[str]) -> list[str]:
    """The rows with what was typed on a line of its own below the row that it ends."""
    found: list[str] = []
    left = list(typed)
    for row in shown:
        keys = left[0].removeprefix(TYPED) if left else None
        if keys is not None and row.endswith((f"] {keys}".rstrip(), f": {keys}".rstrip())):
            found += [row.removesuffix(keys).rstrip(" "), left.pop(0)]
        else:
            found.append(row)
    return found + left


def hider(sitting: Sitting) -> Callable[[str], str]:
    """What puts holes where one run differs from the next."""
    base = sitting.vault.parent
    places = {str(base / "vault"): "{{vault}}", str(base / "home"): "{{home}}", str(base): "{{base}}"}
    known = [
        (r'(?<="score": )-?[0-9.e-]+', "{{score}}"),
        (r"\b[0-9]{20}-[0-9a-f]{8}\b", "{{item}}"),
        (r"(?<=vaults/)[0-9a-f]{16}", "{{any}}"),
        (r"(?<= marked )[a-z2-7]{8}\b", "{{mark}}"),
        (r"(?<=[a-z]-)[a-z2-7]{8}(?=>)", "{{mark}}"),
        (r'(?<="took": )[0-9.e-]+', "{{score}}"),
        (r"(?<=up to date \()[^)]*", "{{any}}"),
        (f'(?<="date": "){time.strftime("%Y-%m-%d")}', "{{today}}"),
        (r"(?<=process )[0-9]+", "{{n}}"),
        (r"(?<= in )[0-9.]+(?= s$)", "{{score}}"),
    ]

    def hide(text: str) -> str:
        for place, hole in places.items():
            text = text.replace(place, hole)
        for regex, hole in known:
            text = re.sub(regex, hole, text, flags=re.MULTILINE)
        return text

    return hide


def main() -> None:
    """Write down the transcripts that are named, or all."""
    with tempfile.TemporaryDirectory() as folder:
        programs = shell(Path(folder))
        for path in [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.tesh")):
            print(path.name, write_down(path, programs))


if __name__ == "__main__":
    main()
