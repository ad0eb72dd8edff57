"""``sleep``: a night's work that cron can be trusted with, step by step; what fails in one night is done in the next.

What was examined of a conversation is told by its session note, not by this module. The record of sources only spares
looking again at files that have not changed; it is written after what was drawn from them stands in the vault.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import NotFoundError, TarsError
from tars_memory.options import ReviewOptions, SleepOptions
from tars_memory.settings import AUTO, may_run_by_itself
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.lock import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tars_memory.curation.extraction.extracted import Extracted
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.memory import Memory

COMMANDS = ("expire", "extract", "tidy")
"""As the journal names what a night writes."""

NIGHTS = 60
"""So many nights can be named to ``--undo``; the journal keeps what they wrote for 90 days."""


class Step(NamedTuple):
    """What one step of a night did.

    Attributes:
        name: ``extract``, ``expire``, ``review``, ``tidy``, ``archive`` or ``index``.
        told: one line for the report; empty if there was nothing to do.
        counts: the same as numbers.
        error: why it failed; empty if it did not.
    """

    name: str
    told: str
    counts: dict[str, int]
    error: str = ""


class Night(NamedTuple):
    """One run.

    Attributes:
        steps: in order.
        txns: the transactions that it wrote, in order; :func:`undo` takes them back.
        took: seconds.
        notices: what the person should know.
    """

    steps: list[Step]
    txns: list[str]
    took: float
    notices: list[str]

    @property
    def failed(self) -> bool:
        """Whether a step failed; the others were done."""
        return any(step.error for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {**self._asdict(), "steps": [step._asdict() for step in self.steps]}


class Record:
    """What is known of sources and of the nights before, in the state folder.

    A file that can't be read counts as nothing known: then everything is looked at again, and added once all the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        said = _object(path)
        stamps, nights = said.get("sources"), said.get("nights")
        self.sources: dict[str, Any] = stamps if isinstance(stamps, dict) else {}
        self.nights: list[list[str]] = [night for night in nights if isinstance(night, list)] if nights else []

    def save(self) -> None:
        """Write it durably."""
        said = {"sources": self.sources, "nights": self.nights[-NIGHTS:]}
        replace_file(self.path, json.dumps(said, indent=1).encode("ascii"))


def sleep(memory: Memory, sources: Iterable[str] = ()) -> Night:
    """Do a night's work: each step catches its own failure, tells it, and the next one goes on.

    Args:
        memory: of the vault; with ``dry_run`` nothing is written, not even the record.
        sources: files and folders of chat logs; none: those that are set.

    Raises:
        BusyError: another night's work is going on.
        UnwritableError: the state folder can't be used.
    """
    begun = time.monotonic()
    options = memory.settings.options("sleep", SleepOptions)
    named = [*sources] or [os.path.expanduser(name) for name in map(str.strip, options.sources.split(",")) if name]
    with _alone(memory):
        record = Record(memory.state / "sleep.json")
        before = _last(memory)
        steps: list[Step] = []
        for name, work in (
            ("extract", lambda: _extract(memory, named, record)),
            ("expire", lambda: _expire(memory)),
            ("review", lambda: _review(memory)),
            ("tidy", lambda: _tidy(memory, apply=options.tidy)),
            ("archive", lambda: _archive(memory) if options.archive else ("", {}, "")),
            ("index", lambda: _index(memory)),
        ):
            steps.append(_step(name, work))
        txns = [] if memory.dry_run else _written(memory, before)
        if txns:
            record.nights.append(txns)
            record.save()
    return Night(steps, txns, time.monotonic() - begun, list(dict.fromkeys(memory.notices)))


def undo(memory: Memory) -> list[str]:
    """Take back what the last night wrote that still stands; returns the transactions.

    What was drawn is then drawn again by the next night, unless its source changed nothing: the record forgets them.

    Raises:
        NotFoundError: no night's work stands.
        BusyError: another night's work is going on.
        ConflictError: a note has moved on too far; what was taken back before it stays taken back.
    """
    with _alone(memory):
        record = Record(memory.state / "sleep.json")
        if not record.nights:
            raise NotFoundError("no night's work is known here", "tars-memory history lists what was written")
        done: list[str] = []
        for txn in reversed(record.nights[-1]):
            try:
                memory.undo(txn)
                done.append(txn)
            except NotFoundError:
                continue  # it was taken back by hand
        if not memory.dry_run:
            record.nights.pop()
            record.sources = {}
            record.save()
    return done


def _step(name: str, work: Callable[[], tuple[str, dict[str, int], str]]) -> Step:
    try:
        return Step(name, *work())
    except TarsError as error:
        return Step(name, "", {}, f"{error.message}; {error.hint}" if error.hint else error.message)
    except Exception as error:  # a fault of ours in one step must not cost the others
        return Step(name, "", {}, f"{type(error).__name__}: {error}")


def _extract(memory: Memory, sources: list[str], record: Record) -> tuple[str, dict[str, int], str]:
    """Examine what is new in the sources, file by file; a file counts as seen when its candidates stand."""
    from tars_memory.curation.models.llm import open_llm

    if not sources:
        return "", {}, ""
    if not may_run_by_itself(memory.settings.env):
        return f"nothing was extracted: {AUTO} is set to {memory.settings.env[AUTO]}", {}, ""
    errors: list[str] = []
    counts = {"sources": 0, "conversations": 0, "candidates": 0, "unchanged": 0}
    model = open_llm(memory.settings, "extract")
    for path in _files(sources, errors):
        stamp = _stamp(path)
        if stamp is None or record.sources.get(path) == stamp:
            counts["unchanged"] += 1
            continue
        done = _examine(memory, path, model)
        counts["sources"] += 1
        counts["conversations"] += len(done.sessions)
        counts["candidates"] += sum(len(session.facts) for session in done.sessions)
        if done.failure is not None:
            errors.append(f"{path}: {done.failure.message}; the next night looks again")
            break
        errors += (f"{skipped.source}: {skipped.why}" for skipped in done.skipped if skipped.failed)
        if not memory.dry_run:
            record.sources[path] = stamp
            record.save()
    told = f"{counts['candidates']} candidates from {counts['conversations']} conversations"
    return told if counts["conversations"] else "", counts, "; ".join(errors)


def _examine(memory: Memory, path: str, model: LanguageModel | None) -> Extracted:
    return memory.extract([path], model=model if model is not None else "none", auto=True)


def _expire(memory: Memory) -> tuple[str, dict[str, int], str]:
    from tars_memory.curation.reviewing import aging

    review = memory.review()
    count = aging.settle(review.ctx, review.gather, review.gather())
    return f"{count} candidates marked: too old, or kept already" if count else "", {"marked": count}, ""


def _review(memory: Memory) -> tuple[str, dict[str, int], str]:
    waiting = memory.review().waiting(limit=1).total
    days = memory.settings.options("review", ReviewOptions).window_days
    told = f"{waiting} proposals wait: tars-memory review (candidates expire after {days} days)"
    return told if waiting else "", {"waiting": waiting}, ""


def _tidy(memory: Memory, *, apply: bool) -> tuple[str, dict[str, int], str]:
    done = memory.tidy(apply=apply)
    counts = {"findings": len(done.findings), "applied": sum(each.outcome == "removed" for each in done.applied)}
    told = [f"{counts['applied']} lines tidied away"] if counts["applied"] else []
    told += [f"{counts['findings']} findings: tars-memory tidy"] if counts["findings"] else []
    return ", ".join(told), counts, ""


def _archive(memory: Memory) -> tuple[str, dict[str, int], str]:
    done = memory.archive(apply=True)
    error = "a daily note could not be moved: tars-memory tidy --archive" if done.failed else ""
    moved = len(done.moved)
    return f"{moved} daily notes moved to the archive" if moved else "", {"moved": moved}, error


def _index(memory: Memory) -> tuple[str, dict[str, int], str]:
    if memory.dry_run:
        return "", {}, ""
    report = memory.reindex()
    counts = {"changed": report.changed, "removed": report.removed, "pending": report.pending_vectors}
    told = f"{report.changed} notes read" if report.changed or report.removed else ""
    return told, counts, "; ".join(report.notices)


def _files(sources: Iterable[str], errors: list[str]) -> Iterator[str]:
    """The files of all sources, each with its whole path; hidden ones inside a folder are left out."""
    for source in sources:
        path = os.path.realpath(source)
        if os.path.isfile(path):
            yield path
        elif os.path.isdir(path):
            for folder, folders, names in os.walk(path):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                yield from (os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))
        else:
            errors.append(f"{source} is not there")


def _stamp(path: str) -> list[int] | None:
    """What changes when a file does; taken before it is read, so that what is added meanwhile counts as new."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ino]


def _last(memory: Memory) -> str:
    return next((entry.txn for entry in memory.store(writes=False).history(1)), "")


def _written(memory: Memory, before: str) -> list[str]:
    """The transactions of a night's steps since then, in order; what others wrote meanwhile is not among them."""
    found: dict[str, None] = {}
    for entry in memory.store(writes=False).history():
        if entry.txn <= before:
            break
        if entry.command in COMMANDS and entry.actor == memory.actor and not entry.undone:
            found[entry.txn] = None
    return [*found][::-1]


def _alone(memory: Memory) -> AbstractContextManager[None]:
    """Only one night's work goes on at a time; a dry run disturbs nobody."""
    if memory.dry_run:
        return nullcontext()
    busy, hint = "a night's work is going on already", "try again when it has ended"
    return alone(memory.made_state() / "sleep.lock", "sleep", busy, hint)


def _object(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
