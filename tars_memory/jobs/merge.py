"""git's merge driver for notes, and its registration in a clone.

git gives the driver three files, and the driver replaces one of them atomically. It opens no vault, index, journal or
network connection. If a note can't be split into entries, if a version has conflict marks, or if our code fails, git
merges the note by lines and keeps both sides of a conflict: conflict marks in a memory would be shown to agents.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk
from tars_memory.errors import TarsError, UnwritableError, UsageError
from tars_memory.vault.layout import DECIDED, Layout
from tars_memory.vault.markdown import document, moment
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
ABOUT = "# tars-memory merges these by entry; in each clone, run once: tars-memory init --git"
"""The comment above our lines of ``.gitattributes``."""

MISSING = "c=$?; if [ $c = 126 ] || [ $c = 127 ]; then git merge-file %A %O %B; else exit $c; fi"
"""Shell code that follows the driver: if the program does not exist any more, git merges. Otherwise the note would have
only our side, without conflict marks."""
FAILED = 255
"""Exit code of a failed merge: for one above 128, git changes nothing."""

_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")
"""Environment variables that would make git work on another repository than the folder's."""


class MergeOutcome(NamedTuple):
    """The outcome of a merge.

    Attributes:
        code: the driver's exit code: 0 for done, 1 for a conflict that git has to show, above 128 for failed.
        disputed: the number of bullets on which the sides disagree; both versions are in the note, and review asks.
        by_lines: git merged the note by lines; where both sides changed the same lines, both versions are in it.
    """

    code: int
    disputed: int = 0
    by_lines: bool = False


def run_driver(base: str, ours: str, theirs: str) -> MergeOutcome:
    """Merge three files that git has made, and replace ``ours`` with the result; of a link, the file it leads to.

    Only regular files are read and replaced: a pipe or a device in their place is a failure.
    """
    if not all(map(os.path.isfile, (base, ours, theirs))):
        return MergeOutcome(FAILED)
    versions: list[bytes] = []
    try:
        versions = [Path(path).read_bytes() for path in (base, ours, theirs)]
        merged = merge(versions[0], versions[1], versions[2], text_merge)
    except Exception:  # whatever fails here: the person's merge goes on as it would without us
        merged = None
    try:
        if merged is None:
            one, other = sorted((ours, theirs), key=lambda path: Path(path).read_bytes())  # the same whoever pulls
            done = _git("merge-file", "-p", "--union", one, base, other)
            if done.returncode:  # a binary file keeps our side, as a conflict: FAILED would end git's whole merge
                binary = any(b"\0" in version for version in versions)
                return MergeOutcome(1 if binary else FAILED, by_lines=True)
        data = merged.data if merged is not None else done.stdout
        disk.replace(Path(os.path.realpath(ours)), data, rights=stat.S_IMODE(os.stat(ours).st_mode))
    except OSError:
        return MergeOutcome(FAILED)
    return MergeOutcome(0, merged.disputed) if merged is not None else MergeOutcome(0, by_lines=True)


def text_merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge lines that are not bullets by git; table rows and quoted lines of both sides are all kept.

    Returns:
        None if the sides changed the same lines.
    """
    rows = all(line.lstrip()[:1] in (b"|", b">") for data in (ours, theirs) for line in data.split(b"\n"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            Path(path).write_bytes(data + b"\n")
        done = _git("merge-file", "-p", *(["--union"] if rows else []), *paths)
    return done.stdout.removesuffix(b"\n") if done.returncode == 0 else None


def _git(*words: str, root: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git; with ``root``, on the repository of that folder."""
    env = {name: value for name, value in os.environ.items() if root is None or name not in _ELSEWHERE}
    return subprocess.run(["git", *words], cwd=root, env=env, capture_output=True, check=False)


# -- registration in a clone


class GitReport(NamedTuple):
    """The result of ``init --git``.

    Attributes:
        repository: the folder of the repository that the vault is in.
        made: whether it was created: there was none before, or only one that ignores the vault.
        attributes: the lines that were added to the vault's ``.gitattributes``.
        registered: whether the clone's configuration was changed: it lacked the driver, or had another command for it.
    """

    repository: str
    made: bool
    attributes: tuple[str, ...]
    registered: bool


def set_up(workspace: Workspace, program: Sequence[str]) -> GitReport:
    """Let git merge the vault's notes by entry: put attributes into the vault, and the driver into the clone's config.

    Args:
        workspace: of the vault; ``undo`` takes the attributes back. In a dry run nothing is done.
        program: the words that start this program.

    Raises:
        UsageError: git is not installed.
        UnwritableError: git fails.
    """
    if shutil.which("git") is None:
        raise UsageError("git is not installed", "install git, then run tars-memory init --git again")
    root, dry_run = workspace.root, workspace.dry_run
    found = _git("rev-parse", "--show-toplevel", root=root)
    made = found.returncode != 0 or _git("check-ignore", "--quiet", ".", root=root).returncode == 0
    if made and not dry_run:
        _run_git("init", "--quiet", root=root)
    repository = str(root) if made else os.fsdecode(found.stdout).rstrip("\n")
    words = f"{' '.join(map(shlex.quote, program))} merge %O %A %B %P; {MISSING}"
    known = {} if made and dry_run else {key: _configured(root, key) for key in ("name", "driver")}
    wanted = {"name": "tars-memory: notes by entry", "driver": words}
    if known != wanted and not dry_run:
        for key, value in wanted.items():
            _run_git("config", "--local", f"merge.{DRIVER}.{key}", value, root=root)
    vault = workspace.whole
    with workspace.store(anew=True).session("init", vault) as session:
        added = _add_attributes(session, vault.layout)
    return GitReport(repository, made, added, known != wanted)


def merge_problem(vault: Vault) -> tuple[str, str]:
    """Return why git doesn't merge the vault's notes by entry although its ``.gitattributes`` asks for it.

    Returns:
        The problem and the remedy; both are empty if git does, or if ``.gitattributes`` doesn't ask for it.
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
    found = os.fsdecode(_git("check-attr", "-z", "merge", "--", path, root=vault.root).stdout).split("\0")
    if len(found) > 2 and found[2] != DRIVER:
        return (
            f"a line with higher precedence sets merge={found[2]} for {path}",
            f"remove it, or move it above {ABOUT!r}",
        )
    return "", ""


def _configured(root: Path, key: str) -> str:
    """Return a value of the driver from the clone's configuration; empty if there is none."""
    return os.fsdecode(_git("config", "--get", f"merge.{DRIVER}.{key}", root=root).stdout).rstrip("\n")


def _run_git(*words: str, root: Path) -> None:
    """Run git on the repository of a folder.

    Raises:
        UnwritableError: git fails.
    """
    done = _git(*words, root=root)
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise UnwritableError(f"git {words[0]} failed in {root}: {why}", "fix that, then run it again")


def _add_attributes(session: WriteSession, layout: Layout) -> tuple[str, ...]:
    """Append the lines that ``.gitattributes`` lacks, and return them."""
    added: list[str] = []

    def plan(data: bytes | None) -> list[Splice]:
        data = data or b""
        present = {line.strip() for line in data.decode("utf-8", "surrogateescape").split("\n")}
        added[:] = [line for line in attributes(layout) if line not in present]
        if not added:
            return []
        newline = document.newline_of(data)
        lines = [*([] if ABOUT in present else [ABOUT]), *added]
        start = b"" if not data or data.endswith((b"\n", b"\r")) else newline
        text = start + b"".join(line.encode("utf-8", "surrogateescape") + newline for line in lines)
        return [Splice(len(data), len(data), text)]

    session.write(ATTRIBUTES, plan)
    return tuple(added)


def attributes(layout: Layout) -> Iterator[str]:
    """Yield the lines of ``.gitattributes``: for notes of all tiers and of agents, Review.md, and what decides."""
    daily = _daily_pattern(layout)
    sessions = f"{_escaped(layout.sessions)}/**/*.md"
    notes = [layout.facts, layout.corrections, layout.rewards, layout.review]
    for scope in ("/", f"/{_escaped(layout.projects)}/*/"):
        tiers = [layout.inner(tier("*" if scope != "/" else "")) for tier in (layout.memory_of, layout.procedural_of)]
        for pattern in (*map(_escaped, (*tiers, *notes)), f"{_escaped(layout.agents)}/**/*.md", sessions, daily):
            yield _line(f"{scope}{pattern}", f"merge={DRIVER}")
        for pattern in (sessions, daily):
            yield _line(f"{scope}{_escaped(layout.archive)}/{pattern}", f"merge={DRIVER}")
    for path in (DECIDED, f"{disk.VAULT_FOLDER}/{disk.ID_FILE}"):
        yield _line(f"/{path}", "merge=union")


def _daily_pattern(layout: Layout) -> str:
    """Return a pattern for the paths of all daily notes.

    A digit stands for any digit. A part of the path whose names differ in length becomes ``*``.
    """
    first = date(2026, 1, 1)
    days = (first + timedelta(days=number) for number in range(366))
    names = [moment.render(layout.daily_format, day, layout.daily_language) for day in days]
    parts = []
    for variants in zip(*(name.split("/") for name in names), strict=False):
        if len(set(map(len, variants))) > 1:
            parts.append("*")
            continue
        parts.append("".join(_any_of(set(chars)) for chars in zip(*variants, strict=True)))
    folder = [_escaped(layout.daily_folder)] if layout.daily_folder else []
    return "/".join([*folder, *parts]) + ".md"


def _any_of(chars: set[str]) -> str:
    """Return a pattern for one character out of a set."""
    if any(map(str.isdigit, chars)):
        return "[0-9]"
    return _escaped(*chars) if len(chars) == 1 else "?"


def _escaped(text: str) -> str:
    """Escape the special characters of patterns in a path."""
    return re.sub(r"([\\*?\[])", r"\\\1", text)


def _line(pattern: str, attribute: str) -> str:
    """Return a line of ``.gitattributes``; a pattern with blanks or quotes is quoted."""
    if re.search(r"[\s\"]", pattern):
        pattern = '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{pattern} {attribute}"
