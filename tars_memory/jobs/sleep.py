"""``sleep``: the nightly run, safe to start from cron; what one night fails to do, the next one does.

The session note of a conversation records what was extracted from it; this module doesn't. The record of sources only
avoids reading files again that have not changed; it is written after the results are in the vault.

``watch``: keep the index up to date and the embedding model loaded for searches.
"""

from __future__ import annotations

import os
import shlex
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import curation, index
from tars_memory.capture.turns import Transcript, Unknown
from tars_memory.curation.extraction.extract import Examiner, conversations, open_model
from tars_memory.curation.extraction.keeping import Record
from tars_memory.errors import (
    ConflictError,
    ModelUnavailableError,
    NotFoundError,
    TarsError,
    counted,
    counted_lines,
    reason,
)
from tars_memory.jobs import hooks, status
from tars_memory.settings import AUTO, SleepOptions, allows
from tars_memory.sources import ENDINGS
from tars_memory.vault.layout import OURS
from tars_memory.vault.writing.system import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.index.indexer import Index
    from tars_memory.memory import Memory


COMMANDS = ("expire", "extract", "sleep", "tidy")
"""The commands under which the journal records a night's writes ("sleep": turns that are kept); ticks and spooled items
that a night applies on the way are not its own."""

IN_A_ROW = 3
"""Number of sources that fail one after the other before the step ends, for then the fault is not theirs. They come
last in the next night."""

MOST_ARCHIVED = 31
"""Maximum number of daily notes that a night moves to the archive: a month of them, since a night adds one. More are a
diary from before this program, or a season without nights, and the person decides whether they move."""

MOST_TOLD = 10
"""Maximum number of failures that a step reports in full; the others are only counted."""

StepResult = tuple[str, dict[str, int], str]
"""The last fields of a :class:`Step`: ``told``, ``counts`` and ``error``."""


class Step(NamedTuple):
    """The result of one step of a night.

    Attributes:
        name: ``extract``, ``keep``, ``expire``, ``curation``, ``review``, ``tidy``, ``archive``, ``compress``, ``size``
            or ``index``.
        told: one line for the report; empty if there was nothing to do.
        counts: the same as numbers.
        error: why it failed; empty if it did not.
        project: the project of the notes; empty for the chosen one, or for notes outside projects.
    """

    name: str
    told: str
    counts: dict[str, int]
    error: str = ""
    project: str = ""


class Night(NamedTuple):
    """The result of one nightly run.

    Attributes:
        steps: in order.
        txns: the transactions that it wrote, in order; :func:`undo` takes them back.
        took: duration in seconds.
        notices: what the person should know.
    """

    steps: list[Step]
    txns: list[str]
    took: float
    notices: list[str]

    @property
    def failed(self) -> bool:
        """Whether any step failed; the other steps still ran."""
        return any(step.error for step in self.steps)


def sleep(memory: Memory, sources: Iterable[str] = ()) -> Night:
    """Run all steps of a night; a step that fails is reported, and the next ones still run.

    If no project is chosen, the steps for notes run for the notes outside projects and then for each project; about
    projects, the report gives only numbers, and no words of their notes.

    Args:
        memory: of the vault; with ``dry_run`` nothing is written, not even the record.
        sources: files and folders of chat logs; if none are given, those in the settings.

    Raises:
        BusyError: another night is running.
        UnwritableError: the state folder can't be used.
        VaultError: the folder is not a vault, or an empty folder is where a vault was.
    """
    memory.workspace.store(writes=not memory.workspace.dry_run)
    started = time.monotonic()
    options = memory.workspace.settings.sleep

    configured = [*map(os.path.expanduser, options.sources)]
    hook_files, now = hooks.HookFolder(memory.workspace.state / "hooks"), time.time()
    unexamined = {name: hook_files.sources(name) for name in hook_files.left(None)}
    named = [*sources] or [*configured, *memory.workspace.settings.sources.logs]
    paths = [*dict.fromkeys(chain(named, *unexamined.values()))]

    with _alone(memory), memory.workspace.vault.read_once():
        record = Record(memory.workspace.state / "sleep.json")
        before = next((entry.txn for entry in memory.workspace.store(writes=False).history(1)), "")
        memory.workspace.night = os.urandom(8).hex()
        steps: list[Step] = []
        models: list[LanguageModel] = []
        steps.append(_step("extract", lambda: _extract(memory, paths, record, models)))
        for transcript, logs in unexamined.items():
            if logs and not memory.workspace.dry_run and not record.new_files(logs, {"unchanged": 0}, []):
                with suppress(OSError):  # then the next night examines it again, which adds nothing twice
                    hook_files.set_aside(transcript, now)
        if memory.workspace.talks() is not None:
            steps.append(_step("keep", lambda: _keep(memory, record)))
        run = partial(_scope_steps, options=options, record=record, models=models)
        steps += run(memory)
        for project in memory.workspace.project_names():
            steps += _project_steps(memory, project, run)
        steps.append(_step("index", lambda: _index(memory)))
        txns = [] if memory.workspace.dry_run else [*_written(memory, memory.workspace.night, before)]
    return Night(steps, txns, time.monotonic() - started, list(dict.fromkeys(memory.workspace.notices)))


def undo(memory: Memory) -> list[str]:
    """Undo the writes of the last night that are not undone yet; return their transactions.

    The record of sources is cleared, and what hooks had left is marked again, so that the next night examines them
    again.

    Raises:
        NotFoundError: there is no night to undo.
        BusyError: another night is running.
        ConflictError: a note has changed too much since; transactions undone before that stay undone.
    """
    with _alone(memory):
        txns = _written(memory)
        if not txns:
            raise NotFoundError("no night's work is recorded here", "tars-memory history lists what was written")
        if not memory.workspace.dry_run:  # first: an undo that is refused or killed may have taken back a part
            Record(memory.workspace.state / "sleep.json").forget()
            hooks.HookFolder(memory.workspace.state / "hooks").bring_back()
        done: list[str] = []
        for txn, project in reversed(txns.items()):
            try:
                with memory.within(project) as inside, inside.workspace.vault.read_once():
                    inside.undo(txn)
                done.append(txn)
            except NotFoundError:
                continue  # a kill had cut it off, and opening the store has just rolled it back
    return done


def _scope_steps(memory: Memory, options: SleepOptions, record: Record, models: list[LanguageModel]) -> list[Step]:
    """Run the steps of a night for the notes of one scope."""
    return [
        _step("expire", lambda: _expire(memory)),
        *([_step("curation", lambda: _curate(memory, record, models))] if options.curate else []),
        _step("review", lambda: _review(memory)),
        _step("tidy", lambda: _tidy(memory, apply=options.tidy)),
        _step("archive", lambda: _archive(memory) if options.archive else ("", {}, "")),
        _step("compress", lambda: _compress(memory)),
        _step("size", lambda: _size(memory)),
    ]


def _project_steps(memory: Memory, project: str, run: Callable[[Memory], list[Step]]) -> list[Step]:
    """Run the steps for the notes of a project that is not the chosen one.

    The report names the command that shows details, and has no words of the project's notes.
    """
    call = f"tars-memory --project {shlex.quote(project)}"
    with memory.within(project) as inside, inside.workspace.vault.read_once():
        steps = []
        for step in run(inside):
            error = f"it failed there; {call} sleep says why" if step.error else ""
            told = step.told.replace("tars-memory", call)
            steps.append(step._replace(told=told, error=error, project=project))
        if inside.workspace.notices:
            memory.workspace.notices.append(
                f"{project}: {len(inside.workspace.notices)} notices; {call} doctor says more"
            )
    return steps


def _step(name: str, work: Callable[[], StepResult]) -> Step:
    """Run a step; if it fails, its error says why."""
    try:
        return Step(name, *work())
    except Exception as error:  # a bug of ours in one step must not keep the others from running
        return Step(name, "", {}, reason(error))


def _extract(memory: Memory, sources: list[str], record: Record, models: list[LanguageModel]) -> StepResult:
    """Examine new and changed sources, file by file; a file counts as seen once its candidates are written.

    The model is opened if there is anything to examine, and appended to ``models``.
    """
    workspace = memory.workspace
    if not sources:
        return "", {}, ""
    if not allows(workspace.settings.env, AUTO):
        return f"nothing was extracted: {AUTO} is set to {workspace.settings.env[AUTO]}", {}, ""
    errors: list[str] = []
    counts = {"sources": 0, "conversations": 0, "candidates": 0, "unchanged": 0}
    new = record.new_files(sources, counts, errors)
    if new:
        workspace.apply_pending_ticks()
        model = open_model(workspace.settings, None)
        models += [model] if model is not None else []
        with memory.writers() as within:
            examiner = Examiner(workspace.capture(writes=False), model, writer=workspace.capture, within=within)
            files, named = _in_turn(new), {*map(os.path.realpath, sources)}
            _examine(examiner, files, record, counts, errors, named, dry_run=workspace.dry_run)
            postponed = len(new) - counts["sources"]
            if postponed:
                errors.append(f"{counted(postponed, 'source waits', 'sources wait')} for the next night")
    report = f"{counted(counts['candidates'], 'candidate')} from {counted(counts['conversations'], 'conversation')}"
    if left_out := counts.get("left_out"):
        report += f", {left_out:,} left out: tars-memory review --left-out"
    more = [f"and {counted(len(errors) - MOST_TOLD, 'more failure')}"] if len(errors) > MOST_TOLD else []
    return report if counts["conversations"] else "", counts, "; ".join([*errors[:MOST_TOLD], *more])


def _keep(memory: Memory, record: Record) -> StepResult:
    """Keep the person's turns of logs that their program is about to delete, in session notes."""
    talks = memory.workspace.talks()
    expiring = record.unkept_files(talks.expiring(memory.workspace.now().timestamp())) if talks is not None else {}
    if not expiring or memory.workspace.dry_run or not allows(memory.workspace.settings.env, AUTO):
        return "", {}, ""
    turns, errors, writer = 0, [], memory.workspace.capture
    for path, stamp in expiring.items():
        try:
            with memory.writers() as within:
                run = Examiner(writer(writes=False), None, force=True, writer=writer, within=within)
                for transcript in conversations([path]):
                    if not isinstance(transcript, Unknown) and transcript.user_turns:
                        turns += run.of(transcript).keep_turns(transcript, memory.workspace.withheld)
            record.kept[path] = stamp
            record.save()
        except Exception as error:
            errors.append(f"{path}: {reason(error)}; the next night tries again")
    report = f"{counted(turns, 'turn')} kept of logs that are about to be deleted" if turns else ""
    return report, {"logs": len(expiring), "turns": turns}, "; ".join(errors[:MOST_TOLD])


def _examine(
    examiner: Examiner,
    waiting: Iterable[tuple[str, list[int], Iterator[Transcript | Unknown]]],
    record: Record,
    counts: dict[str, int],
    errors: list[str],
    named: Container[str],
    *,
    dry_run: bool,
) -> None:
    """Examine files one after the other; a file that fails stops nothing, but :data:`IN_A_ROW` of them end the step.

    Exports hold pictures and pages, too: a file of a folder that can't be read is only reported if its name ends as a
    log's does.

    Args:
        examiner: of the vault.
        waiting: as :func:`_in_turn` gives them.
        record: of the sources; updated, and saved unless ``dry_run``.
        counts: updated.
        errors: appended to.
        named: the sources themselves.
        dry_run: don't save the record.
    """
    failed_in_row = 0
    for path, stamp, found in waiting:
        why = ""
        try:
            done = examiner.over(found, None)
            counts["conversations"] += len(done.sessions)
            counts["candidates"] += sum(len(session.facts) for session in done.sessions)
            if left_out := sum(sum(session.left_out.values()) for session in done.sessions):
                counts["left_out"] = counts.get("left_out", 0) + left_out
            why = done.failure.message if done.failure is not None else ""
            failed = () if why else (skipped for skipped in done.skipped if skipped.failed)
            logs = (each for each in failed if each.source in named or each.source.lower().endswith(ENDINGS))
            errors += (f"{each.source}: {each.why}" for each in logs)
        except Exception as error:
            why = reason(error)
        counts["sources"] += 1
        failed_in_row = failed_in_row + 1 if why else 0
        if why:
            errors.append(f"{path}: {why}; the next night looks again")
            record.failed[path] = record.failed.get(path, 0) + 1
        if not dry_run:
            record.save() if why else record.mark_examined(path, stamp)
        if failed_in_row == IN_A_ROW:
            return


def _in_turn(waiting: dict[str, list[int]]) -> Iterator[tuple[str, list[int], Iterator[Transcript | Unknown]]]:
    """Yield files with their stamps, each with its conversations: those in which somebody typed before automated ones.

    So a night's limits for the model go to what the person said first.
    """
    automated: list[tuple[str, list[int]]] = []
    for path, stamp in waiting.items():
        found = conversations([path])
        first: list[Transcript | Unknown] = []
        with suppress(Exception):  # whoever reads the whole file reports it
            first = [*islice(found, 1)]
        if first and not isinstance(first[0], Unknown) and first[0].automated:
            automated.append((path, stamp))
        else:
            yield path, stamp, chain(first, found) if first else conversations([path])
    for path, stamp in automated:
        yield path, stamp, conversations([path])


def _expire(memory: Memory) -> StepResult:
    """Mark candidates that are too old, or that are in the memory already."""
    review = memory.review()
    count = curation.review.mark_settled(review, review.gather())
    return f"{counted(count, 'candidate')} marked: too old, or kept already" if count else "", {"marked": count}, ""


def _curate(memory: Memory, record: Record, models: list[LanguageModel]) -> StepResult:
    """Ask the model which changes to the memory follow from the last days, unless it has seen the same input before.

    The cost is added to what the night has spent already.
    """
    workspace = memory.workspace
    suggestions = curation.suggestions
    material = suggestions.notes_to_curate(workspace.capture(writes=False))
    if (
        suggestions.nothing_noted(material)
        or record.curated.get(workspace.project) == material.dialogue.code
        or workspace.dry_run
    ):
        return "", {}, ""
    model = curation.models.llm.required(workspace.settings, "tidy")
    model.spent = models[-1].spent if models else model.spent
    models.append(model)
    try:
        done = suggestions.curate(workspace.capture(), material, model)
    except ConflictError as error:
        return f"given up: {error.message}; nothing was proposed, the next night asks again", {}, ""
    record.curated[workspace.project] = material.dialogue.code
    record.save()
    report = f"{done.told}: tars-memory review" if done.told else ""
    return report, {kind: done.counts.get(kind, 0) for kind in suggestions.DONE}, ""


def _review(memory: Memory) -> StepResult:
    """Report how many proposals are pending."""
    listed = memory.review().waiting(limit=1)
    days = memory.workspace.settings.review.window_days
    waits = f"{counted_lines(listed.total, 'proposal', listed.lines)} {'waits' if listed.total == 1 else 'wait'}"
    report = f"{waits}: tars-memory review (candidates expire after {counted(days, 'day')})"
    return report if listed.total else "", {"waiting": listed.total}, ""


def _tidy(memory: Memory, *, apply: bool) -> StepResult:
    """Report findings of ``tidy``; with ``apply``, remove those that can be removed without asking."""
    done = memory.tidy(apply=apply)
    counts = {"findings": len(done.findings), "applied": sum(item.outcome == "removed" for item in done.applied)}
    report = [f"{counted(counts['applied'], 'line')} removed by tidy"] if counts["applied"] else []
    report += [f"{counted(counts['findings'], 'finding')}: tars-memory tidy"] if counts["findings"] else []
    return ", ".join(report), counts, ""


def _archive(memory: Memory) -> StepResult:
    """Move old daily notes to the archive, unless they are more than :data:`MOST_ARCHIVED`: then only report them."""
    done = memory.archive(apply=not memory.workspace.dry_run, most=MOST_ARCHIVED)
    error = "a daily note could not be moved: tars-memory tidy --archive" if done.failed else ""
    moved, planned = len(done.moved), len(done.moves)
    report = f"{counted(moved, 'daily note')} moved to the archive" if moved else ""
    if planned > MOST_ARCHIVED:
        window = memory.workspace.settings.tidy.daily_days
        report = f"{counted(planned, 'daily note')} are older than {window} days, more than {MOST_ARCHIVED}, "
        report += "so they stay: tars-memory tidy --archive --apply moves them"
    elif planned and memory.workspace.dry_run:
        report = f"{counted(planned, 'daily note')} would be moved to the archive"
    return report, {"moved": moved}, error


def _compress(memory: Memory) -> StepResult:
    """Report sessions that are old enough to be summed up; sum them up only if the person's settings allow it."""
    allowed = memory.workspace.settings.permissions.unattended_compress
    done = memory.compress(apply=allowed)
    counts = {"old": len(done.moves), "moved": len(done.moved)}
    if done.txn:
        return f"{counted(len(done.moved), 'old session')} summarised and moved to the archive", counts, ""
    return (
        f"{counted(counts['old'], 'old session')} can be summarised: tars-memory tidy --compress" * bool(counts["old"]),
        counts,
        "",
    )


def _size(memory: Memory) -> StepResult:
    """Measure the notes that every prompt begins with; report them if one of them is heavy."""
    found = memory.loaded()
    counts = {"tokens": found.tokens, "grown": found.grown, "left_out": found.left_out}
    if not any(note.heavy for note in found.notes):
        return "", counts, ""
    report = f"every prompt begins with {counted(found.tokens, 'token')}, {found.grown:+} in {status.DAYS} days"
    more = f"; context leaves out {counted(found.left_out, 'line')}" if found.left_out else ""
    return f"{report}{more}: tars-memory doctor", counts, ""


def _index(memory: Memory) -> StepResult:
    """Index changed notes, and embed passages that have no vector yet."""
    if memory.workspace.dry_run:
        return "", {}, ""
    report = memory.reindex(embed=False)
    try:
        report.pending_vectors = memory.workspace.embed_pending()
    except ModelUnavailableError as error:  # a person without a model knows it: no mail about that every night
        if isinstance(error.__cause__, OSError):
            raise
        memory.workspace.notices.append(f"words only: {reason(error)}")
    counts = {"changed": report.changed, "removed": report.removed, "pending": report.pending_vectors}
    read = f"{counted(report.changed, 'note')} read" if report.changed or report.removed else ""
    return read, counts, "; ".join(report.notices)


def _written(memory: Memory, night: str = "", before: str = "") -> dict[str, str]:
    """Return the transactions of a night's steps that are not undone, in order, each with its project.

    If a project is chosen, only its own. Each write has the id of its night in the journal: so a night that was killed
    counts as well, and nothing that somebody else wrote in the meantime.

    Args:
        memory: of the vault.
        night: the id of the night; by default the last one with such transactions.
        before: ignore this transaction and older ones.
    """
    found: dict[str, str] = {}
    layout = memory.workspace.vault.layout
    for entry in memory.workspace.store(writes=False).history():
        if entry.txn <= before:
            break
        entry_night = entry.record.get("night")
        if entry_night and entry.command in COMMANDS and not entry.undone:
            night = night or entry_night
            if entry_night != night:
                break
            project = "" if entry.file.startswith(OURS) else layout.project_of(entry.file)
            found[entry.txn] = found.get(entry.txn) or project
    return {txn: project for txn, project in reversed(found.items()) if memory.workspace.project in ("", project)}


def _alone(memory: Memory) -> AbstractContextManager[None]:
    """Hold the lock that lets only one night run at a time; a dry run needs none."""
    if memory.workspace.dry_run:
        return nullcontext()
    busy, hint = "a night's work is already running", "try again when it has ended"
    return alone(memory.workspace.ensure_state() / "sleep.lock", "sleep", busy, hint)


# -- the watcher


PORTION = 64
"""Number of passages that are embedded before the watcher checks for new events; about two seconds of work."""

RESPITE = 0.05
"""Seconds to wait for the events of our own writes, which are then dropped."""


class Batch(NamedTuple):
    """The result of one update of the index.

    Attributes:
        changed, removed: number of notes.
        embedded: number of passages that were given a vector.
        pending: number of passages that have none yet.
        took: duration in seconds.
        notices: what the person should know; a notice that persists is not repeated.
    """

    changed: int
    removed: int
    embedded: int
    pending: int
    took: float
    notices: tuple[str, ...]

    @property
    def has_changes(self) -> bool:
        """Whether anything happened."""
        return bool(self.changed or self.removed or self.embedded or self.notices)


class IndexKeeper:
    """Keeps the index of one vault up to date.

    Args:
        open_memory: opens the vault again for each update, so that changed settings take effect.
        watcher: tells when to update.
    """

    def __init__(self, open_memory: Callable[[], Memory], watcher: index.watcher.Watcher) -> None:
        self._open_memory = open_memory
        self._watcher = watcher
        self._embedder: index.passages.Embedder | None = None
        self._model = ""
        self._server: index.watcher.WarmServer | None = None
        self._serves = True
        self._told: frozenset[str] = frozenset()
        self._published: int | None = None

    def once(self) -> Batch:
        """Update the index once, with all missing vectors; another watcher may run at the same time.

        Raises:
            VaultError: there is no vault.
        """
        with self._open_memory():
            pass
        self._serves = False
        batch = self._update()
        while batch.pending and not self._watcher.stopped:
            more = self._update()
            if not more.embedded:
                break
            batch = batch._replace(
                embedded=batch.embedded + more.embedded,
                pending=more.pending,
                took=batch.took + more.took,
                notices=batch.notices + more.notices,
            )
        return batch

    def batches(self) -> Iterator[Batch]:
        """Yield a batch after each update, until the watcher is stopped; the first update is done at once.

        Raises:
            BusyError: another watcher runs on this vault.
            VaultError: there is no vault at the beginning.
        """
        with ExitStack() as stack:
            with self._open_memory() as memory:
                lock = memory.workspace.ensure_state() / "watch.lock"
            stack.enter_context(alone(lock, "watch", "the vault is already being watched", "one watcher is enough"))
            stack.callback(self._watcher.close)
            stack.callback(self._close_server)
            self._watcher.start()
            while True:
                batch = self._update()
                yield batch
                while batch.pending and not self._watcher.hinted() and not self._watcher.stopped and batch.embedded:
                    batch = self._update()
                    yield batch
                if not self._watcher.wait():
                    return

    def _update(self) -> Batch:
        """Apply ticks, read changed notes, embed a portion of their passages, and publish the index."""
        started = time.monotonic()
        notices = [self._watcher.polling] if self._watcher.polling else []
        changed = removed = embedded = pending = 0
        try:
            with self._open_memory() as memory:
                if memory.workspace.apply_pending_ticks():
                    time.sleep(RESPITE)
                notices += memory.workspace.notices
                self._watcher.forget()
                report = memory.workspace.index().refresh(index.intake.RefreshBudget(None, index.database.WRITER_WAIT))
                changed, removed = report.changed, report.removed
                notices += report.notices
                embedded, pending = self._embed(memory, notices)
                if changed or removed or pending != self._published:
                    self._published = None  # stays so if publishing fails
                    memory.workspace.publish()
                    self._published = pending
        except TarsError as error:  # at the next update, the vault may be back, or the disk may have room
            self._watcher.forget()
            notices.append(reason(error))
        took = time.monotonic() - started
        return Batch(changed, removed, embedded, pending, took, self._news(notices))

    def _embed(self, memory: Memory, notices: list[str]) -> tuple[int, int]:
        """Embed a portion of the pending passages; return how many were embedded, and how many are pending."""
        if not memory.workspace.makes_vectors:
            return 0, 0
        try:
            self._hold_model(memory, notices)
            index: Index = memory.workspace.index()
            assert self._embedder is not None
            apart = index.reader().fingerprint not in (None, self._embedder.fingerprint)
            before = index.embed_pending(0) if apart else index.pending()  # another model's vectors still answer
            if self._serves and before > PORTION and memory.workspace.finish_in_background():
                return 0, before
            pending = index.embed_pending(PORTION) if before else 0
        except ModelUnavailableError as error:
            notices.append(f"words only: {reason(error)}")
            return 0, 0
        return max(0, before - pending), pending

    def _hold_model(self, memory: Memory, notices: list[str]) -> None:
        """Keep the model open between updates, and answer queries with it; open another one if the setting changed."""
        name = memory.workspace.settings.embedding.model
        if self._embedder is None or name != self._model:
            self._close_server()
            self._model, self._embedder = name, memory.workspace.open_embedder()
            if self._serves:
                self._serve(memory, notices)
        memory.workspace.embedder = self._embedder

    def _serve(self, memory: Memory, notices: list[str]) -> None:
        """Answer other processes' queries with the open model, over a socket in the state folder."""
        assert self._embedder is not None
        identity = memory.workspace.manifest.identity
        try:
            place = memory.workspace.state / index.models.SOCKET
            self._server = index.watcher.WarmServer(place, identity, self._embedder.embed_query)
        except (OSError, AttributeError) as error:  # no room for its path, or a system without such sockets
            notices.append(f"searches open the model themselves: no socket in the state folder ({error})")

    def _close_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _news(self, notices: list[str]) -> tuple[str, ...]:
        """Return the notices that the last update did not have."""
        news = tuple(notice for notice in dict.fromkeys(notices) if notice not in self._told)
        self._told = frozenset(notices)
        return news
