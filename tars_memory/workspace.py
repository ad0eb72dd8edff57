"""One opened vault, which every use case receives instead of opening index, model and settings by itself.

Everything heavy (index, model) is imported by the method that needs it.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from tars_memory import capture, curation, errors, index, settings, vault
from tars_memory.disk import ID_FILE, STATE_FILE, VAULT_FOLDER, json_objects, read, read_id
from tars_memory.errors import counted, duration, reason
from tars_memory.vault.layout import FORGOTTEN, OBSIDIAN
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.index import models, passages, postgres
    from tars_memory.index.database import Progress
    from tars_memory.index.indexer import Index
    from tars_memory.index.intake import RefreshReport
    from tars_memory.index.reader import IndexReader
    from tars_memory.sources import SharedVault, Talks
    from tars_memory.vault.model import Actor
    from tars_memory.vault.writing.store import Spool, SpooledItem, Store
    from tars_memory.vault.writing.withheld import Withheld

    Answered = TypeVar("Answered")

    class Opening(TypedDict, total=False):
        """How a vault is opened: see :class:`Workspace`."""

        actor: Actor
        interactive: bool
        now: datetime | None
        dry_run: bool
        env: Mapping[str, str] | None
        project: str | None


PREPARING = "preparing the model, once"
"""Name of the phase, for progress, in which a model that pip installed is opened for the first time."""
STARTING = 5.0
"""Seconds that a background process may take to start."""
LONG_AGO = "1970-01-01"
"""Date used for an unknown day: earlier than anything that was ever forgotten here."""
NEARLY_ALL = 99
"""Percentage of passages with a vector above which no notice about the coverage is needed while the rest is being
made."""


class Workspace:
    """One opened vault: its settings, and on demand its index, its model, its journal and its conversations.

    Args:
        vault: the vault's folder; None finds it as the command line does (``TARS_MEMORY_DIR``, a vault here or above
            that the person has used there, the configuration).
        actor: who writes: ``person``, ``script``, ``cron``, ``agent`` or ``model``; always ``agent`` if ``env`` has an
            agent's mark (:mod:`tars_memory.settings`).
        interactive: a person sits at a terminal; without one a procedural rule becomes a proposal.
        now: the instant that counts as now; None means the clock, read once for each call.
        dry_run: everything is planned and returned, but nothing is written.
        env: environment variables to use instead of the process's own.
        project: the project whose notes are written and read; ``none`` for those outside projects; None as the command
            line finds it (``TARS_PROJECT``, a ``.tars-project`` file here or above).

    Attributes:
        root: the vault's real path.
        state: the vault's state folder: journal, index, spool. It may not exist yet.
        project: the folder name of the chosen project; empty for none.
        project_is_named: whether the project (or none) was chosen by name: then conversations from other projects go
            there, too.
        whole: the vault without a chosen project, for the index, which keeps scopes apart itself.
        vault: the vault whose layout leads into the chosen project, for writing and listing.
        notices: what the person should know besides the answers.
        unclaimed: the folder of a spool of texts whose vault could not be opened; each item records how and where it
            was called.
        made_from: the folder from which a person is making this vault; None if the call is not ``init``.
        kept_folder: the folder of texts that no command can place by itself, one file each.
        night: the name of the current night's work; empty if there is none.
        others: functions that place a spooled command that capture can't place, by the command's name.
        item: the name that the next text gets in the spool if it can't be written.
        embedder: makes vectors in place of the configured model; None for that model.
        warm: the configured model, once a search has had to open it.
        patience: seconds after which a search answers from what is read so far, while the index is made for the first
            time; None waits until all is read.
        rest: seconds for which the notes needn't be checked again, for callers that search at each keystroke; every hit
            is still compared with its note. 0: check for every question.
        progress: called during long work with a phase, how much of it is done, and how much there is (0: not known).
        apart: a background process may finish the index when this process ends.
        reading: number of notes, if the last check did not finish reading all of them for the first time; else 0.

    Raises:
        VaultError: there is no vault there.
        UsageError: the configuration can't be understood.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str] | None = None,
        *,
        actor: Actor = "script",
        interactive: bool = False,
        now: datetime | None = None,
        dry_run: bool = False,
        env: Mapping[str, str] | None = None,
        project: str | None = None,
    ) -> None:
        env = os.environ if env is None else env
        self.settings = settings.Settings(env)
        self.actor: Actor = "agent" if settings.agent_mark(env) else actor
        self.root = settings.find_vault(os.fspath(vault) if vault is not None else None, self.settings, settings.here())
        self.settings.read_vault(self.root)
        notices: list[str] = []
        chosen = settings.chosen_project(project, env, settings.here(), self.settings.places, notices)
        self.limits = self.settings.limits
        vault_id = read_id(self.root)
        self.state = self.settings.places.vault_state(self.root, vault_id, create=False)
        obsidian = json_objects(self.root, OBSIDIAN)
        self.whole = Vault.open(self.root, self.settings.layout, self.limits, vault_id, obsidian)
        self.whole.problem = self.settings.vault_problem
        self.project = settings.find_project(self.projects, chosen) if chosen else ""
        self.project_is_named = project is not None
        self.vault = self.whole.scoped(self.project)
        self._review_note = self.root / self.vault.layout.review
        self.interactive = interactive
        self.dry_run = dry_run
        self.notices = notices
        if self.vault.problem is not None:
            self.notices.append(f"ignored: {self.vault.problem.message}")
        if self.settings.passed_over is not None or self.vault.id is None:
            self.notices += self._identity()
        self.unclaimed = self.settings.places.state / "spool"
        self.made_from: Path | None = None
        self.kept_folder = self.settings.places.state / "kept"
        self.night = ""
        self.item: str | None = None
        self.others: Mapping[str, Callable[[Caller, Mapping[str, Any]], Receipt]] = {}
        self._now = now
        self.embedder: passages.Embedder | None = None
        self.opened_embedder: passages.Embedder | None = None
        self.patience: float | None = None
        self.rest = 0.0
        self.progress: Progress | None = None
        self.may_finish_in_background = False
        self.reading = 0
        self._opened: Index | None = None
        self._team: postgres.TeamIndex | None = None
        self._talks: Talks | None = None
        self._shared: tuple[list[SharedVault], list[str]] | None = None
        self._withheld: Withheld | None = None
        self._prepares = self._embeds = False
        self._background_since: float | None = None
        self._fresh_until = 0.0

    def close(self) -> None:
        """Close the conversations, the index and the shared vaults."""
        self.close_talks()
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        if self._team is not None:
            self._team.close()
            self._team = None
        for shared in self._shared[0] if self._shared else ():
            shared.index.close()
        self._shared = None

    def now(self) -> datetime:
        """Return the instant that counts as now, in the local zone."""
        return (self._now or datetime.now().astimezone()).astimezone()

    def _identity(self) -> Iterator[str]:
        """Yield notices about which vault was found, and about its id."""
        if self.settings.passed_over is not None:
            other = self.settings.passed_over
            yield (
                f"this is about {self.root}, not {other}, a vault that you have never used here; if it is yours: "
                f"tars-memory init {settings.quoted(str(other))}"
            )
        if self.vault.id is None and os.path.lexists(path := self.root / VAULT_FOLDER / ID_FILE):
            try:
                read(path, self.root)
                problem = f"{VAULT_FOLDER}/{ID_FILE} has no vault id; remove it, and the next write makes one"
                yield f"ignored: {problem}"
            except errors.SettingsError as error:
                yield f"ignored: {error.message}; {error.hint}"

    def moved_notices(self) -> list[str]:
        """Return notices about state that is kept for vaults with the same id that are no longer at their path."""
        return [
            f"a vault with the id of this one was at {path}, and is gone; its history and waiting texts "
            f"stay with that path. If you moved it here: tars-memory doctor --adopt {settings.quoted(path)}"
            for _, path in self.settings.places.absent(self.root, self.vault.id)
        ]

    def scope(self, project: str | None) -> str:
        """Return the scope of a question: that of the given project, else of the chosen one.

        Raises:
            UsageError: no project can have that name.
        """
        if project is None:
            return self.project
        return settings.find_project(self.projects, settings.project_name(project, "project")) if project else ""

    def missing_project(self, scope: str) -> list[str]:
        """Return a notice if the question is about a project that has no folder, so that no notes of it are found."""
        if not scope or (self.projects / scope).is_dir():
            return []
        return [f"there is no project {scope!r}: {self.whole.layout.within(scope, '')[:-1]} is not a folder"]

    def within(self, project: str) -> Workspace:
        """Open the same vault with another project chosen, or none. It has its own notices; the caller closes it."""
        other = Workspace(
            self.root,
            actor=self.actor,
            interactive=self.interactive,
            now=self._now,
            dry_run=self.dry_run,
            env=self.settings.env,
            project=project or settings.NO_PROJECT,
        )
        other.embedder, other.night = self.embedder, self.night
        return other

    @property
    def projects(self) -> Path:
        """The vault's folder of projects, which may not exist."""
        return self.root / self.whole.layout.projects

    def project_names(self) -> list[str]:
        """Return the projects of the vault if none is chosen; nothing within a project."""
        if self.project:
            return []
        try:
            with os.scandir(self.projects) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(name for name in names if _is_name(name))

    def may_show(self, path: str) -> bool:
        """Return whether answers here may show a note: one of the chosen project, or outside projects."""
        return self.whole.layout.scope_of(path) in ("", self.project)

    def store(self, *, writes: bool = True, anew: bool = False) -> Store:
        """Return the store, the only door for writes; with ``writes=False`` only to read, so that nothing is created.

        Raises:
            VaultError: the folder is not a vault, or a vault was there and is empty now; ``anew`` makes a new one.
        """
        now = self.now()
        if writes and not anew:
            self._check_vault()
        makes = writes and not self.dry_run
        if makes:
            used = self.actor not in ("agent", "model") or (anew and self._is_blank())
            if self.vault.id is None:
                self.vault.ensure_id(self.settings.places.lost_id(self.root))
        store = vault.writing.store.Store(
            self.root,
            self.ensure_state(used=used) if makes else self.state,
            now=now,
            actor=self.actor,
            options=self.settings.store,
            dry_run=self.dry_run,
        )
        store.notices, store.night = self.notices, self.night
        if makes and not store.journal.folder.exists():
            self.notices += (sentence for sentence in self.moved_notices() if sentence not in self.notices)
        return store

    def _check_vault(self) -> None:
        """Refuse to write into a folder that is not a vault, or no longer the one that this process opened.

        Raises:
            VaultError: the folder is not a vault, or another one, or looks unmounted or emptied.
        """
        known, places, vault_id = self.vault.id, self.settings.places, read_id(self.root)
        if vault_id is not None or self.vault.looks_like_vault():
            if known in (None, vault_id) or not self.root.is_dir():
                return
            # The person may have removed .tars, or a sync may have brought another id.
            if (
                places.lost_id(self.root)
                if vault_id is None
                else places.vault_state(self.root, vault_id, create=False) == self.state
            ):
                return
            raise errors.VaultError(f"another folder is at {self.root} now", "start this program again to use it")
        if places.had_vault(self.root):
            raise errors.VaultError(
                f"the vault {self.root} looks unmounted or emptied: nothing is in it",
                "is it mounted? tars-memory init makes a new one",
            )
        raise errors.VaultError(
            f"{self.root} is not a vault: it has no notes, no .obsidian and no {VAULT_FOLDER}",
            f"tars-memory init {settings.quoted(str(self.root))} makes it a vault",
        )

    def _is_blank(self) -> bool:
        """Return whether the folder has nothing in it that a stranger could have written."""
        return vault.template.is_fresh(self.root) and not os.path.lexists(self.root / VAULT_FOLDER)

    def index(self) -> Index:
        """Return the index; its file is made by the first reader."""
        if self._opened is None:
            if not (self.state / STATE_FILE).exists():
                with suppress(errors.UnwritableError):  # an existing index can still answer
                    self.ensure_state()
            self._opened = self._index_of(self.whole, self.state)
            self._opened.progress = self.progress
        return self._opened

    def _index_of(self, notes: Vault, state: Path) -> Index:
        """Return the index of a vault, kept in a state folder, as the settings want it."""
        cache, cut = self.settings.places.cache, self.settings.index.cut
        return index.indexer.Index(notes, state, cache, self.limits, self.open_embedder, cut)

    def team(self) -> postgres.TeamIndex | None:
        """Return the team's index, which search and context ask instead of this machine's; None if none is set.

        Raises:
            SettingsError: its address can't be used.
        """
        if self._team is None and (address := self.settings.index.database):
            self._team = index.postgres.TeamIndex(address, self.vault.id)
        return self._team

    def publish(self, progress: Progress | None = None, *, takes_over: bool = False) -> str:
        """Bring the team's index into step with this machine's; return a sentence about it, empty if none is set.

        Args:
            progress: called with how much is copied.
            takes_over: publish even if another machine published before.

        Raises:
            TeamIndexError: the team's index can't be reached, or can't be written now.
        """
        team = self.team()
        if team is None:
            return ""
        done = team.publish(
            self.index().published_from(),
            self.settings.places.cache,
            progress or self.progress,
            takes_over=takes_over,
            wait=0.0 if self.night else index.database.WRITER_WAIT,
        )
        if done is None:
            return f"{team.address.shown} can only be read by this role: it is updated when its own machine publishes"
        counts = f"{counted(done.changed, 'note')} written, {done.removed} gone, {counted(done.vectors, 'vector')}"
        return f"published to {team.address.shown}: {counts}"

    def look(self, query: str = "") -> tuple[Index, RefreshReport]:
        """Bring the index into step with the vault, for :attr:`patience` seconds at most; return it, and the report.

        A background process finishes the rest, where that is allowed; the report's notices say so.

        Args:
            query: the question; notes that it may name are read first.

        Raises:
            UnwritableError: there is no index and none can be made.
        """
        makes_vectors, opened, patience = self.makes_vectors, self.index(), self.patience
        if time.monotonic() < self._fresh_until:
            return opened, index.intake.RefreshReport(opened.pending)
        if patience is not None and opened.files.is_held(index.database.BACKGROUND):
            patience = 0.0  # a background process reads all notes: read only those that the query may name
        wanted = None if patience is None else query
        report = opened.refresh(index.intake.RefreshBudget(patience=patience, wanted=wanted))
        self.reading = report.reading
        if self.rest and not (report.reading or report.stale or report.notices):
            self._fresh_until = time.monotonic() + self.rest
        is_behind = report.stale or (makes_vectors and opened.is_behind(index.intake.SEARCH_EMBEDS))
        may_finish = self.may_finish_in_background and bool(is_behind) and not report.unmounted
        goes_on = may_finish and self.finish_in_background()
        if report.reading:
            read = f"{report.reading - report.stale:,} of {counted(report.reading, 'note')} read"
            rest = ", the rest and vectors in the background" if goes_on else "; tars-memory reindex reads the rest"
            report.notices.append(read + rest)
        elif goes_on:  # a refresh doesn't know what comes after it
            instead = {errors.behind(report.stale): errors.behind(report.stale, goes_on=True)}
            report.notices = [instead.get(notice, notice) for notice in report.notices]
        return opened, report

    def finish_in_background(self) -> bool:
        """Start a background process that finishes the index, if allowed and needed; return whether one is running."""
        if self._starts() or self.index().files.is_held(index.database.BACKGROUND):
            return True
        allowed = self.settings.index.background == "on" and settings.allows(self.settings.env, settings.BACKGROUND)
        if not (self.may_finish_in_background and allowed and not self.dry_run):
            return False
        begun = index.detached.is_due(self.state) and index.detached.start(self.state, self.root, self.settings.env)
        self._background_since = time.monotonic() if begun else None
        return begun

    def _starts(self) -> bool:
        """Return whether this object has just started the background process, so that it may not hold its lock yet."""
        return self._background_since is not None and time.monotonic() - self._background_since < STARTING

    def coverage(self, pending: int) -> str:
        """Return a sentence on how much semantic search covers, how long the rest takes, or why the rest can't be made.

        Args:
            pending: number of passages without a vector.
        """
        chunks = self.index().read(lambda reader: reader.chunk_count())
        share = min(99, 100 * (chunks - pending) // max(1, chunks))
        try:
            self.demand_model()
        except errors.ModelUnavailableError as error:
            coverage = f"semantic search covers {share} %" if share else "words only"
            return f"{coverage}: {error.message}: tars-memory status"
        seconds = self.seconds_left(pending)
        time = f" ({duration(seconds)})" if seconds else ""
        if self._starts() or index.detached.is_running(self.state):
            left = f", {duration(seconds)} left" if seconds else ""
            return "" if share >= NEARLY_ALL else errors.TransientNotice(f"semantic search covers {share} %{left}")
        return f"semantic search covers {share} %: tars-memory reindex{time}"

    def seconds_left(self, pending: int) -> float:
        """Estimate how many seconds the missing vectors take on this machine; 0 if that isn't known.

        The estimate uses the speed that was measured here, or else that of the machine the program was developed on.
        """
        if speed := index.detached.read_progress(self.state).speed:
            return pending / speed
        return float(index.models.seconds(self.settings.embedding.model, pending) or 0)

    def ask(self, question: Callable[[IndexReader], Answered]) -> Answered:
        """Bring the index into step with the notes, and ask its reader; the refresh's notices are added to ours."""
        self.notices += self.index().refresh().notices
        return self.index().read(question)

    def ask_without_refresh(self, question: Callable[[IndexReader], Answered]) -> Answered | None:
        """Ask a reader of the index as it is, without a refresh; None if there is no index."""
        if self._opened is None:
            found = self._index_of(self.whole, self.state)
            if found.files.current() is None:
                return None
            self._opened = found
        return question(self._opened.reader())

    def reindex(self, *, full: bool = False, embed: bool = True, progress: Progress | None = None) -> RefreshReport:
        """Bring the index in step with the vault; see :meth:`tars_memory.memory.Memory.reindex`."""
        index = self.index()
        report = index.reindex(full=full, embed=False, progress=progress)
        talks = self.talks()
        if talks is not None:
            talks_report = talks.rebuild(progress) if full else talks.refresh(None, progress)
            report.notices += talks_report.notices
        for shared in self.shared(report.notices):
            report.notices += shared.index.reindex(full=full, embed=False, progress=progress).notices

        done_before = 0

        def count(phase: str, done: int, total: int) -> None:
            nonlocal done_before
            report.vectors += max(0, done - done_before)  # each index begins with 0
            done_before = done
            if tell := progress or self.progress:
                tell(phase, done, total)

        if embed:
            try:
                report.pending_vectors = self.embed_pending(count)
            except errors.ModelUnavailableError as error:
                report.notices.append(f"words only: {reason(error)}")
        report.published = self.publish(progress, takes_over=full)
        return report

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Make the missing vectors of notes, conversations and shared vaults; return how many are still pending.

        Raises:
            ModelUnavailableError: there are texts to embed, and the model can't be used.
            UnwritableError: the vectors can't be written.
        """
        if not self.makes_vectors:
            return 0
        self._embeds = True
        left = self.index().embed_pending(progress=progress)
        talks = self.talks()
        left += talks.index.embed_pending(self.open_embedder, progress) if talks is not None else 0
        left += sum(shared.index.embed_pending(progress=progress) for shared in self.shared([]))
        self._embeds = False
        return left

    def talks(self) -> Talks | None:
        """Return the conversations that are searched beside the vault; None if the settings name no source.

        Statements that another process has forgotten meanwhile are withheld from now on.
        """
        options = self.settings.sources
        if options.paths and not self._knows_forgotten("conversations", self.notices):
            return None
        if self._talks is None and options.paths:
            from tars_memory.sources import Talks

            folder, places = self.state / "talks", self.settings.places
            self._talks = Talks(options.logs, folder, places, self.root, self.projects, self.withheld, options.vectors)
        return self._talks

    def shared(self, notices: list[str], *, look: bool = True) -> Iterator[SharedVault]:
        """Yield the shared vaults that can be asked now.

        Args:
            notices: receives a sentence for each vault that can't be searched, or only with its old index.
            look: bring each index into step with its notes first; otherwise only notes can be read.
        """
        if not self.settings.vaults.shared:
            return
        from tars_memory.sources import refreshed, shared_vaults

        if not self._knows_forgotten("shared vaults", notices):
            return
        if self._shared is None:
            folder = self.state / "shared"
            self._shared = shared_vaults(self.settings, self.root, folder, self._index_of)
        notices += self._shared[1]
        yield from refreshed(self._shared[0], self.patience, notices) if look else self._shared[0]

    def bytes_of(self, path: str, shared: str = "") -> bytes:
        """Read a note: one of this vault, or by its absolute path one of the shared vault with this name.

        Raises:
            NotFoundError: there is no such note, or no such vault.
        """
        if not shared:
            return self.vault.read(path)
        for other in self.shared([], look=False):
            if other.name == shared:
                return other.vault.read(os.path.relpath(path, other.vault.root).replace(os.sep, "/"))
        raise errors.NotFoundError(f"{shared} no longer exists")

    def shared_note(self, named: str) -> tuple[SharedVault, str] | None:
        """Find the shared vault that holds a note; return it with the path in it, or None if no shared vault may show
        the note.

        Args:
            named: the note's absolute path, or its name in prompts: ``team: Note.md``.
        """
        for shared in self.shared([], look=False):
            for prefix in (f"{shared.vault.root}/", f"{shared.name}: "):
                path, layout = named.removeprefix(prefix), shared.vault.layout
                if named.startswith(prefix) and layout.scope_of(path) in ("", self.project):
                    hidden = any(step[:1] in ("", ".") for step in path.split("/")) or layout.agent_of(path)
                    return None if hidden or not path.lower().endswith(".md") else (shared, path)
        return None

    def close_talks(self) -> None:
        """Close the conversations, because their sources change."""
        if self._talks is not None:
            self._talks.close()
            self._talks = None

    def forget_withheld(self, known: Withheld | None = None) -> None:
        """Drop the cached record of what was forgotten, so that it is read again when needed, or take this one."""
        self._withheld = known

    def _knows_forgotten(self, what: str, notices: list[str]) -> bool:
        """Read again what was forgotten; if that fails, return False and add a notice that ``what`` is not searched."""
        self.forget_withheld()
        try:
            self._forgotten()
        except errors.SettingsError as error:
            notices.append(f"{what} are not searched: {reason(error)}")
            return False
        return True

    def _forgotten(self) -> Withheld | None:
        """Return the record of what was forgotten here; None if nothing was, so that a search usually loads nothing for
        it.

        Raises:
            SettingsError: the file that records it can't be read.
        """
        if self._withheld is None:
            try:
                os.lstat(self.state / FORGOTTEN)
            except FileNotFoundError:
                return None
            except OSError:
                pass  # the file exists, or may: reading it raises the right error
            self._withheld = vault.writing.withheld.Withheld(self.state)
        return self._withheld

    @property
    def forgets(self) -> bool:
        """Whether anything is withheld."""
        return bool(self._forgotten())

    def withheld(self, text: str, said: str, *logs: str) -> bool:
        """Return whether a text of a conversation must no longer be shown, because it has been forgotten since.

        Args:
            text: a sentence, or a whole turn.
            said: its ISO day or time, or '' if that isn't known; a day counts as its beginning.
            logs: names of the log, for a text without a day.
        """
        forgotten = self._forgotten()
        if forgotten is None:
            return False
        time = datetime.fromisoformat(said).astimezone() if said else None
        return forgotten.holds(text, time, *logs)

    def hides(self, text: str) -> bool:
        """Return whether lines of another vault, whose date is unknown, say anything that was ever forgotten here."""
        return self.withheld(text, LONG_AGO)

    def capture(self, *, writes: bool = True) -> Caller:
        """Return the caller that the functions of capture receive."""
        store, author = self.store(writes=writes), ""
        if writes:
            author = vault.markdown.entries.author(
                self.settings.env.get(settings.AUTHOR) or self.settings.capture.author
            )
            unclaimed = vault.writing.store.Spool(self.unclaimed)
            with suppress(errors.UnwritableError):  # a file that can't be read now must not keep this call from writing
                for item in () if self.dry_run else unclaimed.pending():
                    if self._claim(item, store.spool):
                        unclaimed.remove(item.id)
        context = capture.remember.Caller(
            self.vault, store, self.settings, now=store.now, interactive=self.interactive, author=author
        )
        context.run_command = self._again
        if writes and (problem := self.vault.layout.problem) is not None and problem is not self.vault.problem:
            notice = f"notes are written to the default place: {reason(problem)}"
            self.notices += [notice] if notice not in self.notices else []
        context.notices, context.kept = self.notices, self.kept_folder
        return context

    def _again(self, caller: Caller, command: str, arguments: dict[str, Any]) -> Receipt:
        """Run a command from the spool again."""
        run = self.others.get(command)
        return run(caller, arguments) if run else capture.facts.run_spooled(caller, command, arguments)

    def keeping(self, text: str) -> Caller:
        """Return the caller for writing a text; the text is not lost if that fails.

        Raises:
            UnwritableError: there is no state folder, so not even a spool: the message repeats the text.
        """
        try:
            context = self.capture()
        except errors.UnwritableError as error:
            text = text if self.interactive else vault.secrets.mask(text)
            raise errors.UnwritableError.of_lost(text, reason(error)) from error
        context.item, self.item = self.item, None
        return context

    def review(self, *, writes: bool = True) -> curation.review.Review:
        """Return the proposals that wait for the person; see :meth:`tars_memory.memory.Memory.review`."""
        return curation.review.Review(self.capture(writes=writes))

    def resolve_proposal(self, target: str) -> str:
        """Return the REF of the line that a proposal is about, if the target is the proposal's id; else the target.

        Raises:
            UsageError: the target is a place in a shared vault.
        """
        path, _, line = target.strip().rpartition(":")
        if found := self.shared_note(path if line.isdecimal() else target.strip()):
            place = vault.suspicion.shell_word(str(found[0].vault.root))
            raise errors.UsageError(
                f"{target} is in the shared vault {found[0].name}, which can only be searched from here",
                f"to change it, if it is yours: tars-memory --vault {place}",
            )
        name = target.strip().removeprefix("^").removeprefix("r-")
        is_id = len(name) == 8 and not set(name) - set("0123456789abcdef")
        return (self.review(writes=False).line_of(name) if is_id else "") or target

    def apply_pending_ticks(self) -> bool:
        """Apply the person's new ticks in Review.md; a failure must not cost the text that is being written.

        If there is no such note, this costs one file-system check and imports nothing from curation.

        Returns:
            Whether there is such a note, so that something may have been written.
        """
        if self.dry_run or not os.path.lexists(self._review_note):
            return False
        curation.review.apply_pending_ticks(self.review, self.notices)
        return True

    def _claim(self, item: SpooledItem, spool: Spool) -> bool:
        """Put a text into this vault's spool if the same command given now would find this vault; return whether.

        A text that finds no vault goes to the vault that is later made from its folder: what is typed before ``init
        notes`` is meant for it, unless the person's settings name a vault that is not mounted.
        """
        arguments = dict(item.arguments)
        names = ("asked_vault", "asked_project", "asked_folder")
        asked_vault, asked_project, folder = (arguments.pop(name, None) for name in names)
        try:
            cwd = Path(folder or os.sep)
            try:
                found = settings.find_vault(asked_vault, self.settings, cwd)
            except errors.VaultError:
                if asked_vault or self.settings.vault_path() or cwd != self.made_from:
                    return False
                found = self.root
            if found != self.root:
                return False
            project = settings.find_project(
                self.projects, settings.chosen_project(asked_project, {}, cwd, self.settings.places)
            )
            arguments |= {"project": project} if project else {}
            spool.put(item.command, arguments, item.id)
        except (errors.TarsError, OSError, ValueError):
            return False
        return True

    @property
    def manifest(self) -> models.Manifest:
        """The manifest of the configured model.

        Raises:
            ModelUnavailableError: the model was never fetched.
        """
        return index.models.manifest_of(self.settings.embedding.model, self.settings.places.cache)

    @property
    def makes_vectors(self) -> bool:
        """Whether a model is configured, on this machine or not."""
        return self.embedder is not None or self.settings.embedding.model != settings.NO_MODEL

    def demand_model(self) -> None:
        """Check that the configured model is available here, without preparing or opening it.

        Raises:
            ModelUnavailableError: the model is not on this machine; the hint says how to get it.
        """
        if self.embedder is None:
            index.prepare.demand(self.settings.embedding.model, self.settings.places.cache)

    def is_prepared(self) -> bool:
        """Return whether the configured model opens at once; also True for one that can't be prepared here."""
        return index.models.is_prepared(self.settings.embedding.model, self.settings.places.cache)

    def open_embedder(self) -> passages.Embedder:
        """Return the embedder that was given, or else open the configured model.

        Raises:
            ModelUnavailableError: the model is not on this machine.
        """
        if (embedder := self.embedder or self.opened_embedder) is not None:
            return embedder
        model, cache = self.settings.embedding.model, self.settings.places.cache
        opened = index.passages.open_embedder(model, cache, self._preparing)
        self._prepares = False
        return opened

    def _preparing(self) -> None:
        self._prepares = True
        if self.progress is not None:
            self.progress(PREPARING, 0, 0)

    def interrupted_progress(self) -> str:
        """Return how far an interrupted first reading, preparation of a model or :meth:`embed_pending` got, and which
        command continues it; empty if none of these was under way.
        """
        if self._opened is None:
            return ""
        status = self._opened.status()
        read = f"{counted(status['notes'] or 0, 'note')} read"
        if not status["complete"]:
            return f"{read}; tars-memory search and reindex continue there"
        if self._prepares:
            return f"{read}; the next search prepares the model"
        if self._embeds:
            made = f"{status['vectors'] or 0:,} of {counted(status['chunks'] or 0, 'vector')} made"
            return f"{made}; tars-memory reindex continues"
        return ""

    def ensure_state(self, *, used: bool = False) -> Path:
        """Return the vault's state folder, made if it is missing; ``used`` records that the person uses the vault here.

        Raises:
            UnwritableError: the folder can't be made.
        """
        try:
            self.state = self.settings.places.vault_state(self.root, self.vault.id, create=True, used=used)
        except OSError as error:
            raise errors.UnwritableError(
                f"the state folder can't be used: {error.filename or self.settings.places.state}: {error.strerror}",
                f"{_remedy(error)}, or name another place with TARS_MEMORY_HOME or XDG_STATE_HOME",
            ) from error
        return self.state


def _remedy(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "make room on its disk" if full else "check its owner, its permissions, and what is there"


def _is_name(name: str) -> bool:
    """Return whether a project can be chosen by this folder name."""
    try:
        return settings.project_name(name, "") == name
    except errors.UsageError:
        return False
