"""git's merge driver for notes, and how a clone learns of it.

The driver is given three files by git and writes one of them, in one step. It opens no vault, no index, no journal and
no network. What can't be told apart into entries, a version that holds conflict marks, a bug of ours: git merges it by
lines, and where both sides changed the same ones both stay, for a memory with conflict marks in it is told to agents.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import TarsError, UnwritableError, UsageError
from tars_memory.vault.layout import DECIDED, Layout
from tars_memory.vault.markdown import moment
from tars_memory.vault.markdown.document import newline_of
from tars_memory.vault.markdown.merging import merge
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import WriteSession
    from tars_memory.workspace import Workspace

DRIVER = "tars-memory"
"""The driver's name in ``.gitattributes`` and in a clone's configuration."""
ATTRIBUTES = ".gitattributes"
ABOUT = "# tars-memory merges these by entry; each clone is told of it once: tars-memory init --git"

MISSING = "c=$?; if [ $c = 126 ] || [ $c = 127 ]; then git merge-file %A %O %B; else exit $c; fi"
"""What a shell does after the driver: where the program is gone, git merges. Else only our side would be there,
with no mark in it."""
FAILED = 255
"""Above 128 git takes the merge for failed, and changes nothing."""

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""What would make git work on another repository than that of the folder."""


class Driven(NamedTuple):
    """What became of a merge.

    Attributes:
        code: the driver's exit code: 0 for done, 1 for a conflict that git has to show, above 128 nothing was done.
        disputed: about how many bullets the sides disagree; both versions are in the note, and review asks.
        by_lines: git merged it by lines; where both sides changed the same ones both stay.
    """

    code: int
    disputed: int = 0
    by_lines: bool = False


def drive(base: str, ours: str, theirs: str) -> Driven:
    """Merge three files that git has made, and put the outcome in the place of ``ours``."""
    versions: list[bytes] = []
    try:
        versions = [Path(path).read_bytes() for path in (base, ours, theirs)]
        merged = merge(versions[0], versions[1], versions[2], text_merge)
    except Exception:  # whatever it is: the person's merge goes on as without us
        merged = None
    try:
        if merged is None:
            done = _git("merge-file", "-p", "--union", ours, base, theirs)
            if done.returncode:  # of what is not text, ours stays as a conflict: FAILED ends all of git's merge
                binary = any(b"\0" in version for version in versions)
                return Driven(1 if binary else FAILED, by_lines=True)
            _put(ours, done.stdout)
            return Driven(0, by_lines=True)
        _put(ours, merged.data)
    except OSError:
        return Driven(FAILED)
    return Driven(0, merged.disputed)


def text_merge(base: bytes, one: bytes, two: bytes) -> bytes | None:
    """Lines that are not bullets, merged by git; rows and quoted lines that both sides added all stay.

    Returns:
        None if the sides changed the same lines.
    """
    rows = all(line.lstrip()[:1] in (b"|", b">") for data in (one, two) for line in data.split(b"\n"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("one", "base", "two")]
        for path, data in zip(paths, (one, base, two), strict=True):
            Path(path).write_bytes(data + b"\n")
        done = _git("merge-file", "-p", *(["--union"] if rows else []), *paths)
    return done.stdout.removesuffix(b"\n") if done.returncode == 0 else None


def _put(path: str, data: bytes) -> None:
    """A file's new bytes, all of them or none."""
    beside = f"{path}.tars-tmp"
    try:
        with open(beside, "wb") as file:
            file.write(data)
        shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _git(*words: str, root: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if root is None or name not in _ELSEWHERE}
    return subprocess.run(["git", *words], cwd=root, env=env, capture_output=True, check=False)


# -- a clone is told


class GitReport(NamedTuple):
    """What ``init --git`` did.

    Attributes:
        repository: the folder of the repository that the vault is in.
        made: whether there was none before, or one that ignores the vault.
        attributes: the lines that were added to the vault's ``.gitattributes``.
        registered: whether the clone did not know the driver, or by other words.
    """

    repository: str
    made: bool
    attributes: tuple[str, ...]
    registered: bool


def set_up(workspace: Workspace, program: Sequence[str]) -> GitReport:
    """Let git merge the vault's notes by entry: attributes in the vault, the driver in this clone's configuration.

    Args:
        workspace: the vault; ``undo`` takes the attributes back. In a dry run nothing is done.
        program: the words that start this program.

    Raises:
        UsageError: git is not installed.
        UnwritableError: git refuses.
    """
    if shutil.which("git") is None:
        raise UsageError("git is not installed", "install git, then run tars-memory init --git again")
    root, dry_run = workspace.root, workspace.dry_run
    found = _git("rev-parse", "--show-toplevel", root=root)
    made = found.returncode != 0 or _git("check-ignore", "--quiet", ".", root=root).returncode == 0
    if made and not dry_run:
        _must("init", "--quiet", root=root)
    repository = str(root) if made else os.fsdecode(found.stdout).rstrip("\n")
    words = f"{' '.join(map(shlex.quote, program))} merge %O %A %B %P; {MISSING}"
    known = {} if made and dry_run else {key: _configured(root, key) for key in ("name", "driver")}
    wanted = {"name": "tars-memory: notes by entry", "driver": words}
    if known != wanted and not dry_run:
        for key, value in wanted.items():
            _must("config", "--local", f"merge.{DRIVER}.{key}", value, root=root)
    vault = workspace.whole
    with workspace.store(anew=True).session("init", vault) as session:
        added = _add(session, vault.layout)
    return GitReport(repository, made, added, known != wanted)


def hindered(vault: Vault) -> tuple[str, str]:
    """Why git doesn't merge the vault's notes by entry although its ``.gitattributes`` says so, and what to do.

    Returns:
        Two empty sentences where it does, or nothing is said.
    """
    try:
        named = f"merge={DRIVER}".encode() in vault.read(ATTRIBUTES)
    except TarsError:
        return "", ""
    if not named or shutil.which("git") is None:
        return "", ""
    if not _configured(vault.root, "driver"):
        return "this clone doesn't know how", "tars-memory init --git"
    path = vault.layout.memory
    told = os.fsdecode(_git("check-attr", "-z", "merge", "--", path, root=vault.root).stdout).split("\0")
    if len(told) > 2 and told[2] != DRIVER:
        return f"a line that counts more says merge={told[2]} for {path}", f"take it out, or write it above {ABOUT!r}"
    return "", ""


def _configured(root: Path, key: str) -> str:
    return os.fsdecode(_git("config", "--get", f"merge.{DRIVER}.{key}", root=root).stdout).rstrip("\n")


def _must(*words: str, root: Path) -> None:
    done = _git(*words, root=root)
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UnwritableError(f"git {words[0]} failed in {root}: {why}", "mend that, then run it again")


def _add(session: WriteSession, layout: Layout) -> tuple[str, ...]:
    """Add the lines that ``.gitattributes`` lacks at its end; those that were added."""
    added: list[str] = []

    def plan(data: bytes | None) -> list[Splice]:
        data = data or b""
        there = {line.strip() for line in data.decode("utf-8", "surrogateescape").split("\n")}
        added[:] = [line for line in attributes(layout) if line not in there]
        if not added:
            return []
        newline = newline_of(data)
        lines = [*([] if ABOUT in there else [ABOUT]), *added]
        start = b"" if not data or data.endswith((b"\n", b"\r")) else newline
        text = start + b"".join(line.encode("utf-8", "surrogateescape") + newline for line in lines)
        return [Splice(len(data), len(data), text)]

    session.write(ATTRIBUTES, plan)
    return tuple(added)


def attributes(layout: Layout) -> Iterator[str]:
    """The lines of ``.gitattributes`` for a vault: its notes of all tiers and Review.md, and those of its projects."""
    daily = _pattern(layout)
    sessions = f"{_quoted(layout.sessions)}/**/*.md"
    notes = [layout.facts, layout.corrections, layout.rewards, layout.review]
    for scope in ("/", f"/{_quoted(layout.projects)}/*/"):
        tiers = [layout.inner(tier("*" if scope != "/" else "")) for tier in (layout.memory_of, layout.procedural_of)]
        for each in (*map(_quoted, (*tiers, *notes)), sessions, daily):
            yield _line(f"{scope}{each}", f"merge={DRIVER}")
        for each in (sessions, daily):
            yield _line(f"{scope}{_quoted(layout.archive)}/{each}", f"merge={DRIVER}")
    yield _line(f"/{DECIDED}", "merge=union")


def _pattern(layout: Layout) -> str:
    """What all daily notes' paths match: their digits as digits, and where names have several lengths, anything."""
    first = date(2026, 1, 1)
    days = (first + timedelta(days=each) for each in range(366))
    names = [moment.render(layout.daily_format, day, layout.daily_language) for day in days]
    steps = []
    for same in zip(*(name.split("/") for name in names), strict=False):
        if len(set(map(len, same))) > 1:
            steps.append("*")
            continue
        signs = (set(each) for each in zip(*same, strict=True))
        steps.append("".join(map(_any_of, signs)))
    folder = [_quoted(layout.daily_folder)] if layout.daily_folder else []
    return "/".join([*folder, *steps]) + ".md"


def _any_of(signs: set[str]) -> str:
    """What matches the signs of one place."""
    if any(map(str.isdigit, signs)):
        return "[0-9]"
    return _quoted(*signs) if len(signs) == 1 else "?"


def _quoted(text: str) -> str:
    """A path of which no sign means more than itself."""
    return re.sub(r"([\\*?\[])", r"\\\1", text)


def _line(pattern: str, attribute: str) -> str:
    if re.search(r"[\s\"]", pattern):
        pattern = '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{pattern} {attribute}"
