"""``sleep``: a night's work that cron can be trusted with, step by step; what fails in one night is done in the next.

A conversation's session note says what was examined of it, not this module. The record of sources only spares
looking again at files that have not changed; it is written after what was drawn from them is in the vault.

``watch``: the index follows the vault while it runs, and new queries find the model open.
"""

from __future__ import annotations

import os
import shlex
import time
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import cache, partial
from itertools import chain, groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import curation, index
from tars_memory.capture.turns import Transcript, Unknown
from tars_memory.curation.extraction.extract import Examiner, conversations, opened
from tars_memory.curation.extraction.keeping import Record
from tars_memory.curation.ticks import settle
from tars_memory.errors import ConflictError, ModelUnavailableError, NotFoundError, TarsError, counted, reason
from tars_memory.index.files import WRITER_WAIT
from tars_memory.index.intake import RefreshBudget
from tars_memory.jobs.hooks import Desk
from tars_memory.jobs.status import DAYS
from tars_memory.settings import AUTO, SleepOptions, chosen_project, may_run_by_itself
from tars_memory.vault.layout import OURS
from tars_memory.vault.writing.system import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.index.indexer import Index
    from tars_memory.index.passages import Embedder
    from tars_memory.index.watcher import WarmServer, Watcher
    from tars_memory.memory import Memory


COMMANDS = ("expire", "extract", "tidy")
"""As the journal names what a night writes; what it did for others on the way (ticks, the spool) is not its own."""

IN_A_ROW = 3
"""Sources that fail one after the other before the step ends: then it isn't them. They come last in the next night."""

MOST_TOLD = 10
"""Failures that one step names; the others are counted."""


class Step(NamedTuple):
    """What one step of a night did.

    Attributes:
        name: ``extract``, ``keep``, ``expire``, ``curation``, ``review``, ``tidy``, ``archive``, ``compress``, ``size``
            or ``index``.
        told: one line for the report; empty if there was nothing to do.
        counts: the same as numbers.
        error: why it failed; empty if it did not.
        project: whose notes it was about; empty for the chosen one's, or for those outside projects.
    """

    name: str
    told: str
    counts: dict[str, int]
    error: str = ""
    project: str = ""


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


def sleep(memory: Memory, sources: Iterable[str] = ()) -> Night:
    """Do a night's work: each step catches its own failure, tells it, and the next one goes on.

    If no project is chosen, what is done with notes is done outside projects and then in each project by itself; of
    these the report tells numbers, no words.

    Args:
        memory: of the vault; with ``dry_run`` nothing is written, not even the record.
        sources: files and folders of chat logs; none: those that are set.

    Raises:
        BusyError: another night's work is going on.
        UnwritableError: the state folder can't be used.
        VaultError: nothing makes the folder a vault, or an empty one is where a vault was.
    """
    memory.workspace.store(writes=not memory.workspace.dry_run)
    begun = time.monotonic()
    options = memory.workspace.settings.sleep

    own = [os.path.expanduser(name) for name in map(str.strip, options.sources.split(",")) if name]
    desk, moment = Desk(memory.workspace.state / "hooks"), time.time()
    left = [*filter(os.path.isfile, desk.left(None))]
    named = [*sources] or [*dict.fromkeys([*own, *memory.workspace.settings.sources.logs, *left])]

    with _alone(memory), memory.workspace.vault.read_once():
        record = Record(memory.workspace.state / "sleep.json")
        before, memory.workspace.night = _last(memory), os.urandom(8).hex()
        steps: list[Step] = []
        asked: list[LanguageModel] = []
        steps.append(_step("extract", lambda: _extract(memory, named, record, asked)))
        for transcript in left:
            if not memory.workspace.dry_run and transcript in record.sources:
                desk.drop(transcript, [], moment)
        if memory.workspace.talks() is not None:
            steps.append(_step("keep", lambda: _keep(memory, record)))
        tend = partial(_tended, options=options, record=record, asked=asked)
        steps += tend(memory)
        for project in memory.workspace.project_names():
            steps += _elsewhere(memory, project, tend)
        steps.append(_step("index", lambda: _index(memory)))
        txns = [] if memory.workspace.dry_run else [*_written(memory, memory.workspace.night, before)]
    return Night(steps, txns, time.monotonic() - begun, list(dict.fromkeys(memory.workspace.notices)))


def undo(memory: Memory) -> list[str]:
    """Take back what the last night wrote that still stands; returns the transactions.

    What was drawn is then drawn again by the next night, unless its source changed nothing: the record forgets them.

    Raises:
        NotFoundError: there is no night's work to take back.
        BusyError: another night's work is going on.
        ConflictError: a note has moved on too far; what was taken back before it stays taken back.
    """
    with _alone(memory):
        txns = _written(memory)
        if not txns:
            raise NotFoundError("no night's work is known here", "tars-memory history lists what was written")
        done: list[str] = []
        for txn, project in reversed(txns.items()):
            try:
                with memory.within(project) as inside, inside.workspace.vault.read_once():
                    inside.undo(txn)
                done.append(txn)
            except NotFoundError:
                continue  # it was cut off by a kill, and is taken back just now
        if not memory.workspace.dry_run:
            Record(memory.workspace.state / "sleep.json").forget()
    return done


def _tended(memory: Memory, options: SleepOptions, record: Record, asked: list[LanguageModel]) -> list[Step]:
    """What a night does with the notes of one scope."""
    return [
        _step("expire", lambda: _expire(memory)),
        *([_step("curation", lambda: _curate(memory, record, asked))] if options.curate else []),
        _step("review", lambda: _review(memory)),
        _step("tidy", lambda: _tidy(memory, apply=options.tidy)),
        _step("archive", lambda: _archive(memory) if options.archive else ("", {}, "")),
        _step("compress", lambda: _compress(memory)),
        _step("size", lambda: _size(memory)),
    ]


def _elsewhere(memory: Memory, project: str, tend: Callable[[Memory], list[Step]]) -> list[Step]:
    """The same in a project that isn't the chosen one: without a word of its notes, and with where to ask for them."""
    call = f"tars-memory --project {shlex.quote(project)}"
    with memory.within(project) as inside, inside.workspace.vault.read_once():
        found = []
        for step in tend(inside):
            error = f"it failed there; {call} sleep says why" if step.error else ""
            told = step.told.replace("tars-memory", call)
            found.append(step._replace(told=told, error=error, project=project))
        if inside.workspace.notices:
            memory.workspace.notices.append(
                f"{project}: {len(inside.workspace.notices)} notices; {call} doctor says more"
            )
    return found


def _step(name: str, work: Callable[[], tuple[str, dict[str, int], str]]) -> Step:
    try:
        return Step(name, *work())
    except Exception as error:  # a fault of ours in one step must not cost the others
        return Step(name, "", {}, reason(error))


def _extract(
    memory: Memory, sources: list[str], record: Record, asked: list[LanguageModel]
) -> tuple[str, dict[str, int], str]:
    """Examine what is new in the sources, file by file; a file counts as seen when its candidates stand."""
    if not sources:
        return "", {}, ""
    if not may_run_by_itself(memory.workspace.settings.env):
        return f"nothing was extracted: {AUTO} is set to {memory.workspace.settings.env[AUTO]}", {}, ""
    errors: list[str] = []
    counts = {"sources": 0, "conversations": 0, "candidates": 0, "unchanged": 0}
    waiting = record.new(sources, counts, errors)
    if waiting:
        memory.workspace.take_ticks()
        model = opened(memory.workspace.settings, None)
        asked += [model] if model is not None else []
        with ExitStack() as others:

            @cache
            def run(project: str) -> Examiner:
                inside = memory if project == memory.workspace.project else others.enter_context(memory.within(project))
                writer = inside.workspace.capture
                return Examiner(writer(writes=False), model, writer=writer)

            turns = _in_turn(
                waiting,
                lambda: curation.models.llm.share_of(model.spent, memory.workspace.settings.llm) if model else 0.0,
            )
            _examine(run, memory.workspace.project, turns, record, counts, errors, dry_run=memory.workspace.dry_run)
            waits = len(waiting) - counts["sources"]
            if waits:
                errors.append(f"{counted(waits, 'source waits', 'sources wait')} for the next night")
    told = f"{counted(counts['candidates'], 'candidate')} from {counted(counts['conversations'], 'conversation')}"
    if out := counts.get("left_out"):
        told += f", {out:,} left out: tars-memory review --left-out"
    more = [f"and {counted(len(errors) - MOST_TOLD, 'more failure')}"] if len(errors) > MOST_TOLD else []
    return told if counts["conversations"] else "", counts, "; ".join([*errors[:MOST_TOLD], *more])


def _keep(memory: Memory, record: Record) -> tuple[str, dict[str, int], str]:
    """Keep what the person said in logs that their program is about to delete, as turns of their session notes."""
    talks = memory.workspace.talks()
    going = record.going(talks.going(memory.workspace.now().timestamp())) if talks is not None else {}
    if not going or memory.workspace.dry_run or not may_run_by_itself(memory.workspace.settings.env):
        return "", {}, ""
    turns, errors = 0, []
    for path, stamp in going.items():
        try:
            for transcript in conversations([path]):
                if isinstance(transcript, Unknown) or not transcript.user_turns:
                    continue
                project = _project_of(transcript) or memory.workspace.project
                with nullcontext(memory) if project == memory.workspace.project else memory.within(project) as inside:
                    writer = inside.workspace.capture
                    run = Examiner(writer(writes=False), None, force=True, writer=writer)
                    turns += run.keep_said(transcript, memory.workspace.withheld)
            record.kept[path] = stamp
            record.save()
        except Exception as error:
            errors.append(f"{path}: {reason(error)}; the next night tries again")
    told = f"{counted(turns, 'turn')} kept of logs that are about to be deleted" if turns else ""
    return told, {"logs": len(going), "turns": turns}, "; ".join(errors[:MOST_TOLD])


def _examine(
    run: Callable[[str], Examiner],
    chosen: str,
    waiting: Iterable[tuple[str, list[int], Iterator[Transcript | Unknown]]],
    record: Record,
    counts: dict[str, int],
    errors: list[str],
    *,
    dry_run: bool,
) -> None:
    """Examine files one after the other, until too many in a row have failed. One keeps no other from its turn.

    A conversation belongs to the project of the folder in which it was held, else to the one that is chosen.
    """
    row = 0
    for path, stamp, found in waiting:
        why = ""
        try:
            for project, held in groupby(found, lambda each: _project_of(each) or chosen):
                done = run(project).over(held, None)
                counts["conversations"] += len(done.sessions)
                counts["candidates"] += sum(len(session.facts) for session in done.sessions)
                if out := sum(sum(session.left_out.values()) for session in done.sessions):
                    counts["left_out"] = counts.get("left_out", 0) + out
                why = done.failure.message if done.failure is not None else ""
                errors += (f"{skipped.source}: {skipped.why}" for skipped in done.skipped if skipped.failed and not why)
                if why:
                    break
        except Exception as error:
            why = reason(error)
        counts["sources"] += 1
        row = row + 1 if why else 0
        if why:
            errors.append(f"{path}: {why}; the next night looks again")
            record.failed[path] = record.failed.get(path, 0) + 1
        if not dry_run:
            record.save() if why else record.seen(path, stamp)
        if row == IN_A_ROW:
            return


TYPED_SHARE = 0.8
"""Of what a night may ask a model, for conversations in which somebody typed while others wait; as in istota."""


def _in_turn(
    waiting: dict[str, list[int]], used: Callable[[], float]
) -> Iterator[tuple[str, list[int], Iterator[Transcript | Unknown]]]:
    """Files in the order in which they are examined, each with its stamp and conversations.

    Those in which somebody typed come first, up to their share; then the others, up to theirs; then what is left.

    Args:
        waiting: files with their stamps.
        used: the share of the night's limits that is spent by now; asked before each file.
    """
    automated: dict[str, list[int]] = {}
    left: dict[str, list[int]] = {}
    for path, stamp in waiting.items():
        found = conversations([path])
        first: list[Transcript | Unknown] = []
        with suppress(Exception):  # told by whoever reads it whole
            first = [*islice(found, 1)]
        if not first:
            yield path, stamp, conversations([path])
        elif isinstance(first[0], Unknown) or not first[0].automated:
            if used() < TYPED_SHARE:
                yield path, stamp, chain(first, found)
            else:
                left[path] = stamp
        else:
            automated[path] = stamp
    begun = used()
    for path, stamp in automated.items():
        if used() - begun < 1 - TYPED_SHARE:
            yield path, stamp, conversations([path])
        else:
            left[path] = stamp
    for path, stamp in left.items():
        yield path, stamp, conversations([path])


def _project_of(transcript: Transcript | Unknown) -> str:
    """The project of the folder in which a conversation was held; empty for none.

    Raises:
        UsageError: a file there names one that can't be.
    """
    folder = getattr(transcript, "folder", "")
    return chosen_project(None, {}, Path(folder)) if os.path.isabs(folder) and "\0" not in folder else ""


def _expire(memory: Memory) -> tuple[str, dict[str, int], str]:
    review = memory.review()
    count = settle(review, review.gather())
    return f"{counted(count, 'candidate')} marked: too old, or kept already" if count else "", {"marked": count}, ""


def _curate(memory: Memory, record: Record, asked: list[LanguageModel]) -> tuple[str, dict[str, int], str]:
    """Ask the model what the last days change in the memory, unless it was asked about the very same before.

    What it costs counts with what the night has asked for already.
    """
    workspace = memory.workspace
    suggestions = curation.suggestions
    what = suggestions.to_curate(workspace.capture(writes=False))
    if (
        suggestions.nothing_noted(what)
        or record.curated.get(workspace.project) == what.dialogue.code
        or workspace.dry_run
    ):
        return "", {}, ""
    model = curation.models.llm.required(workspace.settings, "tidy")
    model.spent = asked[-1].spent if asked else model.spent
    asked.append(model)
    try:
        done = suggestions.curate(workspace.capture(), what, model)
    except ConflictError as error:
        return f"given up: {error.message}; nothing was proposed, the next night asks again", {}, ""
    record.curated[workspace.project] = what.dialogue.code
    record.save()
    told = f"{done.told}: tars-memory review" if done.told else ""
    return told, {kind: done.counts.get(kind, 0) for kind in suggestions.DONE}, ""


def _review(memory: Memory) -> tuple[str, dict[str, int], str]:
    waiting = memory.review().waiting(limit=1).total
    days = memory.workspace.settings.review.window_days
    waits = counted(waiting, "proposal waits", "proposals wait")
    told = f"{waits}: tars-memory review (candidates expire after {counted(days, 'day')})"
    return told if waiting else "", {"waiting": waiting}, ""


def _tidy(memory: Memory, *, apply: bool) -> tuple[str, dict[str, int], str]:
    done = memory.tidy(apply=apply)
    counts = {"findings": len(done.findings), "applied": sum(each.outcome == "removed" for each in done.applied)}
    told = [f"{counted(counts['applied'], 'line')} tidied away"] if counts["applied"] else []
    told += [f"{counted(counts['findings'], 'finding')}: tars-memory tidy"] if counts["findings"] else []
    return ", ".join(told), counts, ""


def _archive(memory: Memory) -> tuple[str, dict[str, int], str]:
    done = memory.archive(apply=True)
    error = "a daily note could not be moved: tars-memory tidy --archive" if done.failed else ""
    moved = len(done.moved)
    return f"{counted(moved, 'daily note')} moved to the archive" if moved else "", {"moved": moved}, error


def _compress(memory: Memory) -> tuple[str, dict[str, int], str]:
    """Say that sessions are old enough to be summed up; do it only if the person's own configuration allows it."""
    allowed = memory.workspace.settings.permissions.unattended_compress
    done = memory.compress(apply=allowed)
    counts = {"old": sum(step.action != "keep" for step in done.plan), "moved": len(done.moved)}
    if done.txn:
        return f"{counted(len(done.moved), 'old session')} summed up, and moved to the archive", counts, ""
    return (
        f"{counted(counts['old'], 'old session')} can be summed up: tars-memory tidy --compress" * bool(counts["old"]),
        counts,
        "",
    )


def _size(memory: Memory) -> tuple[str, dict[str, int], str]:
    """How big the notes are that every prompt begins with; said if they leave little room, or find none."""
    found = memory.loaded()
    counts = {"tokens": found.tokens, "grown": found.grown, "left_out": found.left_out}
    if not any(note.heavy for note in found.notes):
        return "", counts, ""
    told = f"every prompt begins with {counted(found.tokens, 'token')}, {found.grown:+} in {DAYS} days"
    more = f"; context leaves out {counted(found.left_out, 'line')}" if found.left_out else ""
    return f"{told}{more}: tars-memory doctor", counts, ""


def _index(memory: Memory) -> tuple[str, dict[str, int], str]:
    if memory.workspace.dry_run:
        return "", {}, ""
    report = memory.reindex(embed=False)
    try:
        report.pending_vectors = memory.workspace.embed_pending()
    except ModelUnavailableError as error:  # whoever has no model knows it, and need not be told by mail every night
        if isinstance(error.__cause__, OSError):
            raise
        memory.workspace.notices.append(f"keywords only: {reason(error)}")
    counts = {"changed": report.changed, "removed": report.removed, "pending": report.pending_vectors}
    told = f"{counted(report.changed, 'note')} read" if report.changed or report.removed else ""
    return told, counts, "; ".join(report.notices)


def _last(memory: Memory) -> str:
    return next((entry.txn for entry in memory.workspace.store(writes=False).history(1)), "")


def _written(memory: Memory, night: str = "", before: str = "") -> dict[str, str]:
    """The transactions that a night's steps wrote and that stand, in order, each with its project; by default of the
    last night that did. If a project is chosen, those for it.

    Each write says in the journal which night it is of: so a night that was killed is one, too, and nothing that
    somebody else wrote meanwhile is taken for it.
    """
    found: dict[str, str] = {}
    layout = memory.workspace.vault.layout
    for entry in memory.workspace.store(writes=False).history():
        if entry.txn <= before:
            break
        mark = entry.record.get("night")
        if mark and entry.command in COMMANDS and not entry.undone:
            night = night or mark
            if mark != night:
                break
            inside = "" if entry.file.startswith(OURS) else layout.project_of(entry.file)
            found[entry.txn] = found.get(entry.txn) or inside
    return {txn: project for txn, project in reversed(found.items()) if memory.workspace.project in ("", project)}


def _alone(memory: Memory) -> AbstractContextManager[None]:
    """Only one night's work goes on at a time; a dry run disturbs nobody."""
    if memory.workspace.dry_run:
        return nullcontext()
    busy, hint = "a night's work is going on already", "try again when it has ended"
    return alone(memory.workspace.made_state() / "sleep.lock", "sleep", busy, hint)


# -- the watcher


PORTION = 64
"""Passages that are embedded before the watcher looks for new hints; about two seconds of work."""

RESPITE = 0.05
"""Seconds for the events of our own writes to arrive before they are taken as answered."""


class Batch(NamedTuple):
    """What one look did.

    Attributes:
        changed, removed: notes.
        embedded: passages that were given a vector.
        pending: passages that have none yet.
        took: seconds.
        notices: what the person should know; each is told when it begins to hold, not with every look.
    """

    changed: int
    removed: int
    embedded: int
    pending: int
    took: float
    notices: tuple[str, ...]

    @property
    def worth_telling(self) -> bool:
        """Whether anything happened."""
        return bool(self.changed or self.removed or self.embedded or self.notices)


class Watching:
    """One watcher over one vault.

    Args:
        open_memory: opens the vault again, so that a changed setting counts from the next look on.
        watcher: tells when to look.
    """

    def __init__(self, open_memory: Callable[[], Memory], watcher: Watcher) -> None:
        self._open_memory = open_memory
        self._watcher = watcher
        self._embedder: Embedder | None = None
        self._model = ""
        self._server: WarmServer | None = None
        self._serves = True
        self._told: frozenset[str] = frozenset()
        self._published: int | None = None

    def once(self) -> Batch:
        """One look, with all vectors that are missing; another watcher may live meanwhile.

        Raises:
            VaultError: there is no vault.
        """
        with self._open_memory():
            pass
        self._serves = False
        batch = self._look()
        while batch.pending and not self._watcher.stopped:
            more = self._look()
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
        """One batch for each look, until the watcher is stopped; the first one right away.

        Raises:
            BusyError: another watcher lives on this vault.
            VaultError: there is no vault at the beginning.
        """
        with ExitStack() as stack:
            with self._open_memory() as memory:
                lock = memory.workspace.made_state() / "watch.lock"
            stack.enter_context(alone(lock, "watch", "the vault is watched already", "one watcher is enough"))
            stack.callback(self._watcher.close)
            stack.callback(self._close_server)
            self._watcher.start()
            while True:
                batch = self._look()
                yield batch
                while batch.pending and not self._watcher.hinted() and not self._watcher.stopped and batch.embedded:
                    batch = self._look()
                    yield batch
                if not self._watcher.wait():
                    return

    def _look(self) -> Batch:
        begun = time.monotonic()
        notices = [self._watcher.polling] if self._watcher.polling else []
        changed = removed = embedded = pending = 0
        try:
            with self._open_memory() as memory:
                if memory.workspace.take_ticks():
                    time.sleep(RESPITE)
                notices += memory.workspace.notices
                self._watcher.forget()
                report = memory.workspace.index().refresh(RefreshBudget(None, WRITER_WAIT))
                changed, removed = report.changed, report.removed
                notices += report.notices
                embedded, pending = self._embed(memory, notices)
                if changed or removed or pending != self._published:
                    self._published = None  # until it is
                    memory.workspace.publish()
                    self._published = pending
        except TarsError as error:  # the vault may be back, the disk may have room at the next look
            self._watcher.forget()
            notices.append(reason(error))
        took = time.monotonic() - begun
        return Batch(changed, removed, embedded, pending, took, self._news(notices))

    def _embed(self, memory: Memory, notices: list[str]) -> tuple[int, int]:
        """Give a portion of the pending passages their vectors; how many were given one, and how many wait."""
        try:
            self._hold_model(memory, notices)
            index: Index = memory.workspace.index()
            before = index.pending()
            if self._serves and before > PORTION and memory.workspace.goes_on():
                return 0, before
            assert self._embedder is not None
            if index.reader().fingerprint not in (None, self._embedder.fingerprint):  # another model's make way
                left = index.embed_pending(PORTION)
                return PORTION, left
            pending = index.embed_pending(PORTION) if before else 0
        except ModelUnavailableError as error:
            notices.append(f"keywords only: {reason(error)}")
            return 0, 0
        return before - pending, pending

    def _hold_model(self, memory: Memory, notices: list[str]) -> None:
        """Keep the model open between looks, and answer queries with it; another one if another one is set."""
        name = memory.workspace.settings.embedding.model
        if self._embedder is None or name != self._model:
            self._close_server()
            self._model, self._embedder = name, memory.workspace.open_embedder()
            if self._serves:
                self._serve(memory, notices)
        memory.workspace.embedder = self._embedder

    def _serve(self, memory: Memory, notices: list[str]) -> None:
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
        """Those that did not hold at the last look."""
        news = tuple(notice for notice in dict.fromkeys(notices) if notice not in self._told)
        self._told = frozenset(notices)
        return news
