"""One vault, opened: what every use case is given instead of opening index, model and settings by itself.

Everything heavy (index, model) is imported by the method that needs it.
"""

from __future__ import annotations

import errno
import os
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from tars_memory import capture, curation, errors, index, vault
from tars_memory.disk import ID_FILE, VAULT_FOLDER, read
from tars_memory.errors import counted, duration, reason
from tars_memory.settings import (
    AUTHOR,
    NO_PROJECT,
    Settings,
    agent_mark,
    chosen_project,
    find_project,
    find_vault,
    here,
    may_go_on_apart,
    project_name,
    quoted,
)
from tars_memory.vault.layout import FORGOTTEN
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tars_memory.beside import SharedVault, Talks
    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.curation.review import Review
    from tars_memory.index.database import Progress
    from tars_memory.index.indexer import Index
    from tars_memory.index.intake import RefreshReport
    from tars_memory.index.models import Manifest
    from tars_memory.index.passages import Embedder
    from tars_memory.index.postgres import TeamIndex
    from tars_memory.index.reader import IndexReader
    from tars_memory.vault.model import Actor
    from tars_memory.vault.writing.store import Spool, Store
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


REVIEW_NOTE = "Review.md"
"""Where the person may have ticked proposals: :attr:`tars_memory.vault.layout.Layout.review`, without its import."""
PREPARING = "preparing the model, once"
"""What is under way, as progress is told, when a model that pip installed is opened for the first time."""
STARTING = 5.0
"""Seconds that a process of our own may take to start."""
LONG_AGO = "1970-01-01"
"""What counts as the time of what nobody knows the time of: whatever was ever forgotten here is younger."""
NEARLY_ALL = 99
"""Percent of the passages with a vector from which on nobody need be told that more are under way."""


class Workspace:
    """One vault, opened: its settings, and on demand its index, its model, its journal and its conversations.

    Args:
        vault: the vault's folder; None finds it as the command line does (``TARS_MEMORY_DIR``, one here or above that
            the person has used there, the configuration).
        actor: who writes: ``person``, ``script``, ``cron``, ``agent`` or ``model``; ``agent``, whatever is given, where
            ``env`` bears the mark of one (:mod:`tars_memory.settings`).
        interactive: a person sits at a terminal; without one a procedural rule becomes a proposal.
        now: the instant that counts as now; None means the clock, read once for each call.
        dry_run: everything is planned and returned, nothing is written.
        env: environment variables instead of the process's own.
        project: whose notes are written and read; ``none`` for those outside projects; None as the command line finds
            it (``TARS_PROJECT``, a ``.tars-project`` file here or above).

    Attributes:
        root: the vault's real path.
        project: the one that is chosen, as its folder is called; empty for none.
        whole: the vault for what looks at all of it, whatever is chosen: the index, which keeps scopes apart itself.
        vault: the vault for what writes and lists: its layout leads into the project.
        notices: what the person should know besides the answers.
        night: the name of the night's work that this is; empty for anything else.
        others: places what a command of that name left in the spool, where capture can't.
        item: the name under which the caller keeps the next words that are typed, if they can't be written.
        embedder: makes vectors instead of the model that is set; None for that one.
        warm: the model that is set, once a search had to open it.
        patience: seconds after which a search answers from what is read so far, while the index is made for the first
            time; None: when all is read.
        rest: seconds for which a look at the notes counts, for who asks at each key; every hit is held against its note
            all the same. 0: each question looks.
        progress: is told what takes its time: a phase, how much of it is done, and how much there is (0: not known).
        apart: a process of its own may finish the index when this one ends.
        reading: notes that are there, if the last look did not get to read all of them for the first time; else 0.

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
        self.settings = Settings(env)
        self.root = find_vault(os.fspath(vault) if vault is not None else None, self.settings, here())
        self.settings.read_vault(self.root)
        self.limits = self.settings.limits
        passed_over: list[str] = []
        chosen = chosen_project(project, env, here(), self.settings.places, passed_over)
        self.whole = Vault.open(self.root, self.settings.layout, self.limits)
        self.whole.problem = self.settings.vault_problem
        self.project = find_project(self.projects, chosen)
        self.vault = self.whole.scoped(self.project)
        self.actor: Actor = "agent" if agent_mark(env) else actor
        self.interactive = interactive
        self.dry_run = dry_run
        self.notices = passed_over
        if self.vault.problem is not None:
            self.notices.append(f"ignored: {self.vault.problem.message}")
        self.notices += self._identity()
        self.night = ""
        self.item: str | None = None
        self.others: Mapping[str, Callable[[Caller, Mapping[str, Any]], Receipt]] = {}
        self._now = now
        self.embedder: Embedder | None = None
        self.warm: Embedder | None = None
        self.patience: float | None = None
        self.rest = 0.0
        self.progress: Progress | None = None
        self.apart = False
        self.reading = 0
        self._state: tuple[str | None, Path] | None = None
        self._opened: Index | None = None
        self._team: TeamIndex | None = None
        self._talks: Talks | None = None
        self._shared: tuple[list[SharedVault], list[str]] | None = None
        self._withheld: Withheld | None = None
        self._prepares = self._embeds = False
        self._went_on: float | None = None
        self._rested = 0.0

    def close(self) -> None:
        """Let go of the index."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        if self._team is not None:
            self._team.close()
            self._team = None
        self.close_talks()
        for shared in self._shared[0] if self._shared else ():
            shared.index.close()
        self._shared = None

    def now(self) -> datetime:
        """The instant that counts as now, in the local zone."""
        return (self._now or datetime.now().astimezone()).astimezone()

    def _identity(self) -> Iterator[str]:
        """What is to be said of which vault this is."""
        if self.settings.passed_over is not None:
            other = self.settings.passed_over
            yield (
                f"this is about {self.root}, not about {other}, a vault that you have never used here; if it is yours: "
                f"tars-memory init {quoted(str(other))}"
            )
        if self.vault.id is None and os.path.lexists(path := self.root / VAULT_FOLDER / ID_FILE):
            try:
                read(path, self.root)
                said = f"{VAULT_FOLDER}/{ID_FILE} holds no id of a vault; remove it, and the next write makes one"
                yield f"ignored: {said}"
            except errors.SettingsError as error:
                yield f"ignored: {error.message}; {error.hint}"

    def moved(self) -> list[str]:
        """What to say of state that waits for vaults of the same id, which are not where they were."""
        return [
            f"a vault with the id of this one was at {path}, and is gone; its history, undo and waiting texts "
            f"stay with that path. If you moved it here: tars-memory doctor --adopt {quoted(path)}"
            for _, path in self.settings.places.absent(self.root, self.vault.id)
        ]

    def scope(self, project: str | None) -> str:
        """The scope of one question: of the project that is named there, else of the one that is chosen.

        Raises:
            UsageError: it can't be one.
        """
        if project is None:
            return self.project
        return find_project(self.projects, project_name(project, "project")) if project else ""

    def within(self, project: str) -> Workspace:
        """The same vault with another project chosen, or none; its notices are its own. The caller closes it."""
        other = Workspace(
            self.root,
            actor=self.actor,
            interactive=self.interactive,
            now=self._now,
            dry_run=self.dry_run,
            env=self.settings.env,
            project=project or NO_PROJECT,
        )
        other.embedder, other.night = self.embedder, self.night
        return other

    @property
    def projects(self) -> Path:
        """The vault's folder of projects, whether or not it is there."""
        return self.root / self.whole.layout.projects

    def project_names(self) -> list[str]:
        """The projects of the vault, if none is chosen; empty within one."""
        if self.project:
            return []
        try:
            with os.scandir(self.projects) as found:
                names = [each.name for each in found if each.is_dir(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(name for name in names if _is_name(name))

    def sees(self, path: str) -> bool:
        """Whether what is asked here may tell of a note: one of the chosen project, or outside projects."""
        return self.whole.layout.scope_of(path) in ("", self.project)

    @property
    def state(self) -> Path:
        """The vault's state folder: journal, index, spool. It may not exist yet."""
        if self._state is None or self._state[0] != self.vault.id:
            self._state = (self.vault.id, self.settings.places.vault_state(self.root, self.vault.id, create=False))
        return self._state[1]

    def store(self, *, writes: bool = True, anew: bool = False) -> Store:
        """The door for writes; with ``writes=False`` only for looking, and nothing is made.

        Raises:
            VaultError: nothing makes the folder a vault, or an empty one stands where a vault was; ``anew`` makes one.
        """
        options = self.settings.store
        if writes and not anew:
            self._check_vault()
        makes = writes and not self.dry_run
        if makes:
            used = self.actor not in ("agent", "model") or (anew and self._is_blank())
            if self.vault.id is None:
                self.vault.ensure_id(self.settings.places.lost_id(self.root))
        store = vault.writing.store.Store(
            self.root,
            self.made_state(used=used) if makes else self.state,
            now=self.now,
            actor=self.actor,
            options=options,
            dry_run=self.dry_run,
        )
        store.notices, store.night = self.notices, self.night
        if makes and not store.journal.folder.exists():
            self.notices += (sentence for sentence in self.moved() if sentence not in self.notices)
        return store

    def _check_vault(self) -> None:
        """A writer makes no vault of any folder.

        Raises:
            VaultError: nothing makes it one.
        """
        if self.vault.id is not None or self.vault.is_one():
            return
        if self.settings.places.held_vault(self.root):
            raise errors.VaultError(
                f"the vault {self.root} looks unmounted or emptied: nothing is in it",
                "is it mounted? tars-memory init makes a new one",
            )
        raise errors.VaultError(
            f"{self.root} is not a vault: it holds no note, no .obsidian and no {VAULT_FOLDER}",
            f"tars-memory init {quoted(str(self.root))} makes it one",
        )

    def _is_blank(self) -> bool:
        """Whether nothing is in the folder that a stranger could have written."""
        return vault.template.is_fresh(self.root) and not os.path.lexists(self.root / VAULT_FOLDER)

    def index(self) -> Index:
        """The index; its file is made by the first reader."""
        if self._opened is None:
            try:
                state = self.made_state()
            except errors.UnwritableError:
                state = self.state  # an index that is there already answers all the same
            self._opened = self._index_of(self.whole, state)
            self._opened.progress = self.progress
        return self._opened

    def _index_of(self, notes: Vault, state: Path) -> Index:
        """The index of a vault, in a folder of its own, as it is set."""
        settings = self.settings
        cut = settings.index.cut
        return index.indexer.Index(notes, state, settings.places.cache, self.limits, self.open_embedder, cut)

    def team(self) -> TeamIndex | None:
        """The index of a team, which search and context ask instead of the one of this machine; None if none is set.

        Raises:
            SettingsError: its address can't be used.
        """
        if self._team is None and (address := self.settings.index.database):
            self._team = index.postgres.TeamIndex(address, self.vault.id)
        return self._team

    def publish(self, progress: Progress | None = None, *, takes_over: bool = False) -> str:
        """Bring a team's index in step with the one of this machine; a sentence about it, empty if none is set.

        Args:
            progress: is told how much is copied.
            takes_over: although another machine published it.

        Raises:
            TeamIndexError: it can't be reached, or not be written now.
        """
        team = self.team()
        if team is None:
            return ""
        done = team.publish(
            self.index().published_from(),
            self.settings.places.cache,
            progress or self.progress,
            takes_over=takes_over,
            wait=0.0 if self.night else index.files.WRITER_WAIT,
        )
        if done is None:
            return f"{team.address.shown} may only be read by this role: it follows when its own machine publishes"
        what = f"{counted(done.changed, 'note')} written, {done.removed} gone, {counted(done.vectors, 'vector')}"
        return f"published to {team.address.shown}: {what}"

    def look(self, query: str = "") -> RefreshReport:
        """The index brought in step with the vault as far as somebody who waits for an answer has the patience.

        What is left to do goes on in a process of its own, where that may be; the report's notices say so.

        Args:
            query: what is asked: notes that it may name are read first.

        Raises:
            UnwritableError: there is no index and none can be made.
        """
        if time.monotonic() < self._rested:
            return index.intake.RefreshReport(self.index().pending)
        patience = self.patience
        if patience is not None and self.index().files.is_held(index.files.BACKGROUND):
            patience = 0.0  # all is being read already: only what the query may name is read here before that
        wanted = None if patience is None else query
        report = self.index().refresh(index.intake.RefreshBudget(patience=patience, wanted=wanted))
        self.reading = report.reading
        if self.rest and not (report.reading or report.stale or report.notices):
            self._rested = time.monotonic() + self.rest
        many = report.stale or self.index().is_behind(index.intake.SEARCH_EMBEDS)
        left = self.apart and bool(many) and not report.unmounted
        goes_on = left and self.goes_on()
        if report.reading:
            read = f"{report.reading - report.stale:,} of {counted(report.reading, 'note')} read"
            rest = ", the rest and vectors in the background" if goes_on else "; tars-memory reindex reads the rest"
            report.notices.append(read + rest)
        return report

    def goes_on(self) -> bool:
        """See to it that a process of its own finishes the index, where one may; whether one is at it now."""
        if self._starts() or self.index().files.is_held(index.files.BACKGROUND):
            return True
        allowed = self.settings.index.background == "on"
        if not (self.apart and allowed and may_go_on_apart(self.settings.env) and not self.dry_run):
            return False
        begun = index.detached.is_due(self.state) and index.detached.begin(self.state, self.root, self.settings.env)
        self._went_on = time.monotonic() if begun else None
        return begun

    def _starts(self) -> bool:
        """Whether this call began that process a moment ago, so that it may not have its lock yet."""
        return self._went_on is not None and time.monotonic() - self._went_on < STARTING

    def covers(self, pending: int) -> str:
        """How far the vectors are, as a sentence: by percent, and by the time that the rest takes here; or what keeps
        them from being made.

        Args:
            pending: passages without one.
        """
        chunks = self.index().read(lambda reader: reader.chunk_count())
        share = min(99, 100 * (chunks - pending) // max(1, chunks))
        try:
            self.demand_model()
        except errors.ModelUnavailableError as error:
            far = f"semantic search covers {share} %" if share else "words only"
            return f"{far}: {error.message}: tars-memory status"
        took = self.seconds_left(pending)
        time = f" ({duration(took)})" if took else ""
        if self._starts() or index.detached.is_running(self.state):
            left = f", {duration(took)} left" if took else ""
            return "" if share >= NEARLY_ALL else errors.Passing(f"semantic search covers {share} %{left}")
        return f"semantic search covers {share} %: tars-memory reindex{time}"

    def seconds_left(self, pending: int) -> float:
        """How long the vectors that are missing take on this machine; 0 if that isn't known.

        By the speed that was measured here, or where nothing was yet, by that of the machine the program was made on.
        """
        if speed := index.detached.told(self.state).speed:
            return pending / speed
        return float(index.models.seconds(self.settings.embedding.model, pending) or 0)

    def ask(self, question: Callable[[IndexReader], Answered]) -> Answered:
        """What a reader of the index answers, once that is in step with the notes; its notices are ours."""
        self.notices += self.index().refresh().notices
        return self.index().read(question)

    def peek(self, question: Callable[[IndexReader], Answered]) -> Answered | None:
        """What a reader of the index answers as it stands, not brought up to date; None if there is no index."""
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
            said = talks.rebuild(progress) if full else talks.refresh(None, progress)
            report.notices += said.notices
        for shared in self.shared(report.notices):
            report.notices += shared.index.reindex(full=full, embed=False, progress=progress).notices
        if embed:
            try:
                report.pending_vectors = self.embed_pending(progress)
            except errors.ModelUnavailableError as error:
                report.notices.append(f"keywords only: {reason(error)}")
        report.published = self.publish(progress, takes_over=full)
        return report

    def embed_pending(self, progress: Progress | None = None) -> int:
        """Make the vectors that are missing, of notes and then of conversations; returns how many are still pending.

        Raises:
            ModelUnavailableError: texts are to be embedded and the model can't be used.
            UnwritableError: the vectors can't be kept.
        """
        self._embeds = True
        left = self.index().embed_pending(progress=progress)
        talks = self.talks()
        left += talks.index.embed_pending(self.open_embedder, progress) if talks is not None else 0
        left += sum(shared.index.embed_pending(progress=progress) for shared in self.shared([]))
        self._embeds = False
        return left

    def talks(self) -> Talks | None:
        """The conversations that are searched beside the vault; None if no source is named.

        What was forgotten meanwhile, by another process, is withheld from here on.
        """
        options = self.settings.sources
        if options.paths and not self._knows_forgotten("conversations", self.notices):
            return None
        if self._talks is None and options.paths:
            from tars_memory.beside import Talks

            folder, places = self.state / "talks", self.settings.places
            self._talks = Talks(options.logs, folder, places, self.root, self.projects, self.withheld, options.vectors)
        return self._talks

    def shared(self, notices: list[str], *, look: bool = True) -> Iterator[SharedVault]:
        """The shared vaults that can be asked now.

        Args:
            notices: takes a sentence for each that can't be asked, or only as it was.
            look: bring each index in step with its notes first; without, only notes can be read.
        """
        if not self.settings.vaults.shared:
            return
        from tars_memory.beside import in_step, shared_vaults

        if not self._knows_forgotten("shared vaults", notices):
            return
        if self._shared is None:
            folder = self.state / "shared"
            self._shared = shared_vaults(self.settings, self.root, folder, self._index_of)
        notices += self._shared[1]
        yield from in_step(self._shared[0], self.patience, notices) if look else self._shared[0]

    def bytes_of(self, path: str, shared: str = "") -> bytes:
        """A note as it stands: our own, or by its whole path that of a shared vault with this name.

        Raises:
            NotFoundError: there is none, or no such vault.
        """
        if not shared:
            return self.vault.read(path)
        for each in self.shared([], look=False):
            if each.name == shared:
                return each.vault.read(os.path.relpath(path, each.vault.root).replace(os.sep, "/"))
        raise errors.NotFoundError(f"{shared} is not there any more")

    def beside(self, named: str) -> tuple[SharedVault, str] | None:
        """The shared vault of a note, and the path in it; None if it is none of what may be told here.

        Args:
            named: its whole path, or as prompts name it: ``team: Note.md``.
        """
        for each in self.shared([], look=False):
            for begins in (f"{each.vault.root}/", f"{each.name}: "):
                path, layout = named.removeprefix(begins), each.vault.layout
                if named.startswith(begins) and layout.scope_of(path) in ("", self.project):
                    hidden = any(step[:1] in ("", ".") for step in path.split("/")) or layout.agent_of(path)
                    return None if hidden or not path.lower().endswith(".md") else (each, path)
        return None

    def close_talks(self) -> None:
        """Let go of the conversations: their sources are another set from now on."""
        if self._talks is not None:
            self._talks.close()
            self._talks = None

    def forget_withheld(self) -> None:
        """Read anew what is withheld when it is asked for next."""
        self._withheld = None

    def _knows_forgotten(self, what: str, notices: list[str]) -> bool:
        """Read anew what was forgotten; False, and a notice, if that can't be: then nothing from beside is told."""
        self.forget_withheld()
        try:
            self._forgotten()
        except errors.SettingsError as error:
            notices.append(f"{what} are not searched: {reason(error)}")
            return False
        return True

    def _forgotten(self) -> Withheld | None:
        """What was forgotten here; None where nothing was, as is usual: a search then loads nothing for it.

        Raises:
            SettingsError: the file that says so can't be read.
        """
        if self._withheld is None:
            try:
                os.lstat(self.state / FORGOTTEN)
            except FileNotFoundError:
                return None
            except OSError:
                pass  # it is there, or may be: whoever reads it says what is wrong
            self._withheld = vault.writing.withheld.Withheld(self.state)
        return self._withheld

    def withheld(self, text: str, said: str, *logs: str) -> bool:
        """Whether what was said in a conversation must not be told any more, because it was forgotten since.

        Args:
            text: a sentence, or a whole turn.
            said: its ISO day or time, or '' if that isn't known; of a day its beginning counts.
            logs: names of the log, for what has no day.
        """
        forgotten = self._forgotten()
        if forgotten is None:
            return False
        when = datetime.fromisoformat(said).astimezone() if said else None
        return forgotten.holds(text, when, *logs)

    def hides(self, text: str) -> bool:
        """Whether lines of another vault, whose day nobody knows, say what was ever forgotten here."""
        return self.withheld(text, LONG_AGO)

    def capture(self, *, writes: bool = True) -> Caller:
        """What capture is given."""
        if writes and not self.dry_run:
            self._take_over()
        author = self.settings.env.get(AUTHOR) or self.settings.capture.author
        author = vault.markdown.entries.author(author) if writes else ""
        store = self.store(writes=writes)
        context = capture.remember.Caller(
            self.vault, store, self.settings, now=self.now(), interactive=self.interactive, author=author
        )
        context.again = self._again
        if writes and (problem := self.vault.layout.problem) is not None and problem is not self.vault.problem:
            said = f"notes are written where they are by default: {reason(problem)}"
            self.notices += [said] if said not in self.notices else []
        context.notices, context.kept = self.notices, self.kept
        return context

    def _again(self, caller: Caller, command: str, said: dict[str, Any]) -> Receipt:
        other = self.others.get(command)
        return other(caller, said) if other else capture.facts.again(caller, command, said)

    def keeping(self, text: str) -> Caller:
        """What capture is given to write this text.

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

    def review(self, *, writes: bool = True) -> Review:
        """What waits for the person's word; see :meth:`tars_memory.memory.Memory.review`."""
        return curation.review.Review(self.capture(writes=writes))

    def meant(self, target: str) -> str:
        """Of a proposal's id the REF of the line that it waits to decide; anything else as it is.

        Raises:
            UsageError: it is a place in a shared vault.
        """
        path, _, line = target.strip().rpartition(":")
        if there := self.beside(path if line.isdecimal() else target.strip()):
            raise errors.UsageError(
                f"{target} is in the shared vault {there[0].name}, which is only searched from here",
                f"tars-memory --vault {there[0].vault.root} reaches it, if it is yours to change",
            )
        name = target.strip().removeprefix("^").removeprefix("r-")
        is_id = len(name) == 8 and not set(name) - set("0123456789abcdef")
        return (self.review(writes=False).line_of(name) if is_id else "") or target

    def take_ticks(self) -> bool:
        """Do what the person ticked in Review.md since; whatever stands in the way of that must not cost what is typed.

        Where there is no such note this is one look; nothing of curation is imported then.

        Returns:
            Whether there is such a note, so that something may have been written.
        """
        folder = self.root / self.whole.layout.within(self.project, "")
        if self.dry_run or not os.path.lexists(folder / REVIEW_NOTE):
            return False
        curation.ticks.apply_pending_ticks(self.review, self.notices)
        return True

    @property
    def unclaimed(self) -> Spool:
        """What was typed when its vault could not be opened; each says how it was called, and from where."""
        return vault.writing.store.Spool(self.settings.places.state / "spool")

    @property
    def kept(self) -> Path:
        """The folder of words that no command can place by itself, a text file each."""
        return self.settings.places.state / "kept"

    def _take_over(self) -> None:
        """What waits unclaimed and would come here, were the same command given again now, waits here from now on."""
        unclaimed = self.unclaimed
        try:
            waiting = unclaimed.pending()
        except errors.UnwritableError:
            return  # it can't be read now: no reason to write nothing
        for item in waiting:
            said = dict(item.arguments)
            named, project, folder = (said.pop(name, None) for name in ("asked_vault", "asked_project", "asked_folder"))
            try:
                cwd = Path(folder or os.sep)
                if find_vault(named, self.settings, cwd) != self.root:
                    continue
                named = find_project(self.projects, chosen_project(project, {}, cwd, self.settings.places))
                said |= {"project": named} if named else {}
                vault.writing.store.Spool(self.made_state() / "spool").put(item.command, said, item.id)
            except (errors.TarsError, OSError, ValueError):
                continue
            unclaimed.remove(item.id)

    @property
    def manifest(self) -> Manifest:
        """What the model that is set is.

        Raises:
            ModelUnavailableError: it was never fetched.
        """
        return index.models.manifest_of(self.settings.embedding.model, self.settings.places.cache)

    def fingerprint(self) -> str:
        """What an index's vectors are by when they are made now.

        Raises:
            ModelUnavailableError: a model that was never fetched is set.
        """
        return (self.embedder or self.manifest).fingerprint

    def demand_model(self) -> None:
        """See that the model that is set can be had here; it is neither prepared nor opened.

        Raises:
            ModelUnavailableError: it is not on this machine; says how to get it.
        """
        if self.embedder is None:
            index.prepare.demand(self.settings.embedding.model, self.settings.places.cache)

    def is_prepared(self) -> bool:
        """Whether the model that is set opens at once; True, too, for one that can't be prepared here."""
        return index.models.is_prepared(self.settings.embedding.model, self.settings.places.cache)

    def open_embedder(self) -> Embedder:
        """What makes vectors: the one that was given, else the model that is set.

        Raises:
            ModelUnavailableError: it is not here.
        """
        if (held := self.embedder or self.warm) is not None:
            return held
        self._prepares = not self.is_prepared()
        if self._prepares and self.progress is not None:
            self.progress(PREPARING, 0, 0)
        opened = index.passages.open_embedder(self.settings.embedding.model, self.settings.places.cache)
        self._prepares = False
        return opened

    def begun(self) -> str:
        """How far a first reading, a model's preparation or :meth:`embed_pending` was that somebody stopped, and what
        goes on with it; empty if none of these was under way.
        """
        if self._opened is None:
            return ""
        told = self._opened.status()
        read = f"{counted(told['notes'] or 0, 'note')} read"
        if not told["complete"]:
            return f"{read}; tars-memory search and reindex go on there"
        if self._prepares:
            return f"{read}; the next search prepares the model"
        if self._embeds:
            made = f"{told['vectors'] or 0:,} of {counted(told['chunks'] or 0, 'vector')} made"
            return f"{made}; tars-memory reindex goes on"
        return ""

    def made_state(self, *, used: bool = False) -> Path:
        """The vault's state folder, made if it is missing; ``used`` says that the person uses the vault at this place.

        Raises:
            UnwritableError: it can't be made.
        """
        try:
            return self.settings.places.vault_state(self.root, self.vault.id, create=True, used=used)
        except OSError as error:
            raise errors.UnwritableError(
                f"the state folder can't be used: {error.filename or self.settings.places.state}: {error.strerror}",
                f"{_remedy(error)}, or name another place with TARS_MEMORY_HOME or XDG_STATE_HOME",
            ) from error


def _remedy(error: OSError) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "make room on its disk" if full else "check its owner and rights, and what stands there"


def _is_name(name: str) -> bool:
    """Whether a folder's name is one that a project can be chosen by."""
    try:
        return project_name(name, "") == name
    except errors.UsageError:
        return False
