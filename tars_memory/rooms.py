"""The rooms of one vault, opened on demand and wired to each other; what :class:`tars_memory.memory.Memory` stands on.

Everything heavy (index, model) is imported by the method that needs it.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING

from tars_memory.errors import ModelUnavailableError, UnwritableError, VaultError
from tars_memory.options import (
    CaptureOptions,
    EmbeddingOptions,
    FactsOptions,
    LayoutOptions,
    LimitsOptions,
    PermissionOptions,
    StoreOptions,
)
from tars_memory.settings import (
    AUTHOR,
    NO_PROJECT,
    Places,
    Settings,
    chosen_project,
    find_project,
    find_vault,
    here,
    project_name,
)
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from tars_memory.capture.context import Context
    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.index.embedding.queryvector import QueryVector
    from tars_memory.index.indexer import Index, RefreshReport
    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.query import Query
    from tars_memory.vault.model import Actor
    from tars_memory.vault.writing.store import Store

SEARCH_EMBEDS = 16
"""Changed chunks that one hybrid search gives vectors to; more are left to ``reindex``."""


class Rooms:
    """One vault's rooms.

    Args:
        vault: the vault's folder; None finds it as the command line does (``TARS_MEMORY_DIR``, a ``.tars`` folder here
            or above, the configuration).
        actor: who writes: ``person``, ``script``, ``cron``, ``agent`` or ``model``.
        interactive: a person sits at a terminal; without one a procedural rule becomes a proposal.
        now: the instant that counts as now; None means the clock, read once for each call.
        dry_run: everything is planned and returned, nothing is written.
        embedder: makes vectors instead of the configured model.
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
        embedder: as given; whoever holds a model open may set it later.

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
        embedder: Embedder | None = None,
        env: Mapping[str, str] | None = None,
        project: str | None = None,
    ) -> None:
        env = os.environ if env is None else env
        self.settings = Settings(env, Places.of(env))
        self.root = find_vault(os.fspath(vault) if vault is not None else None, self.settings, here())
        self.settings.read_vault(self.root)
        self.limits = self.settings.options("limits", LimitsOptions)
        self.project = find_project(self.root, chosen_project(project, env, here()))
        self.whole = Vault.open(self.root, self.settings.options("layout", LayoutOptions), self.limits)
        self.whole.problem = self.settings.vault_problem
        self.vault = self.whole.scoped(self.project)
        self.actor = actor
        self.interactive = interactive
        self.dry_run = dry_run
        self.notices: list[str] = [] if self.vault.problem is None else [f"ignored: {self.vault.problem.message}"]
        self.night = ""
        self._now = now
        self.embedder = embedder
        self._opened: Index | None = None
        self._ask_model: Callable[[str], QueryVector] | None = None
        self._languages: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def now(self) -> datetime:
        """The instant that counts as now, in the local zone."""
        return (self._now or datetime.now().astimezone()).astimezone()

    def scope(self, project: str | None) -> str:
        """The scope of one question: of the project that is named there, else of the one that is chosen.

        Raises:
            UsageError: it can't be one.
        """
        if project is None:
            return self.project
        return find_project(self.root, project_name(project, "project")) if project else ""

    def within(self, project: str) -> Self:
        """The same memory with another project chosen, or none; its notices are its own. The caller closes it."""
        other = type(self)(
            self.root,
            actor=self.actor,
            interactive=self.interactive,
            now=self._now,
            dry_run=self.dry_run,
            embedder=self.embedder,
            env=self.settings.env,
            project=project or NO_PROJECT,
        )
        other.night = self.night
        return other

    def sees(self, path: str) -> bool:
        """Whether what is asked here may tell of a note: one of the chosen project, or outside projects."""
        return self.whole.layout.scope_of(path) in ("", self.project)

    @property
    def state(self) -> Path:
        """The vault's state folder: journal, index, spool. It may not exist yet."""
        return self.settings.places.vault_state(self.root, self.vault.id, create=False)

    def store(self, *, writes: bool = True, anew: bool = False) -> Store:
        """The door for writes; with ``writes=False`` only for looking, and nothing is made.

        Raises:
            VaultError: an empty folder stands where a vault was; ``anew`` makes another one of it.
        """
        from tars_memory.vault.writing.store import Store

        options = self.settings.options("store", StoreOptions)
        if writes and not self.dry_run:
            if self.vault.id is None and not anew and self.settings.places.held_vault(self.root):
                raise VaultError(
                    f"the vault {self.root} looks unmounted or emptied: nothing is in it",
                    "is it mounted? tars-memory init makes a new one",
                )
            self.vault.ensure_id()
        store = Store(
            self.root,
            self.made_state() if writes and not self.dry_run else self.state,
            now=self.now,
            actor=self.actor,
            lock_timeout=options.lock_timeout,
            journal_days=options.journal_days,
            dry_run=self.dry_run,
        )
        store.notices, store.night = self.notices, self.night
        return store

    def index(self) -> Index:
        """The index; its file is made by the first reader."""
        if self._opened is None:
            from tars_memory.index.indexer import Index

            try:
                state = self.made_state()
            except UnwritableError:
                state = self.state  # an index that is there already answers all the same
            self._opened = Index(self.whole, state, self.settings.places.cache, self.limits, self.open_embedder)
        return self._opened

    def capture(self, *, writes: bool = True) -> Context:
        """What capture is given."""
        from tars_memory.capture.context import Context
        from tars_memory.vault.markdown import entries
        from tars_memory.vault.writing.spool import Spool

        author = self.settings.env.get(AUTHOR) or self.settings.options("capture", CaptureOptions).author
        author = entries.author(author) if writes else ""
        store = self.store(writes=writes)
        allowed = self.settings.options("permissions", PermissionOptions)
        context = Context(
            self.vault,
            store,
            Spool(store.state / "spool"),
            now=self.now(),
            actor=self.actor,
            interactive=self.interactive,
            unattended_rules=allowed.unattended_rules,
            unattended_review=allowed.unattended_review,
            facts_options=self.settings.options("facts", FactsOptions),
            author=author,
        )
        context.notices = self.notices
        return context

    def _keeping(self, text: str) -> Context:
        """What capture is given to write this text.

        Raises:
            UnwritableError: there is no state folder, so not even a spool: the message repeats the text.
        """
        try:
            return self.capture()
        except UnwritableError as error:
            from tars_memory.vault.secrets.masking import mask

            text = text if self.interactive else mask(text)
            raise UnwritableError(
                f"your text could NOT be kept, copy it from here: {text}", f"{error.message}; {error.hint}"
            ) from error

    def fingerprint(self) -> str:
        """Of the model that is set, over this version's chunks.

        Raises:
            ModelUnavailableError: a model that was never fetched is set.
        """
        from tars_memory.index.embedding import models
        from tars_memory.index.schema import CHUNKER

        if self.embedder is not None:
            return self.embedder.fingerprint
        options = self.settings.options("embedding", EmbeddingOptions)
        return models.manifest_of(options.model, self.settings.places.cache).fingerprint(str(CHUNKER))

    def open_embedder(self) -> Embedder:
        """What makes vectors: the one that was given, else the model that is set.

        Raises:
            ModelUnavailableError: it is not here.
        """
        from tars_memory.index.embedding.passages import open_embedder
        from tars_memory.index.schema import CHUNKER

        if self.embedder is not None:
            return self.embedder
        options = self.settings.options("embedding", EmbeddingOptions)
        return open_embedder(options, self.settings.places.cache, chunker=str(CHUNKER))

    def _fill(self, report: RefreshReport, notices: list[str], *, needed: bool) -> bool:
        """Give vectors to the few chunks that have none yet, before anything is asked; False, and said, if it can't be.

        Raises:
            ModelUnavailableError: the model can't be used, and is ``needed``.
            UnwritableError: likewise.
        """
        try:
            if 0 < report.pending_vectors <= SEARCH_EMBEDS:
                report.pending_vectors = self.index().embed_pending(SEARCH_EMBEDS)
        except (ModelUnavailableError, UnwritableError) as error:
            if needed:
                raise
            notices.append(f"answered by keywords only: {error.message}; {error.hint}")
            return False
        return True

    def _query_vector(
        self, query: Query, reader: IndexReader, report: RefreshReport, notices: list[str], *, needed: bool
    ) -> QueryVector | None:
        """The query's vector, if it can be had and the index holds vectors of the same model; else a notice."""
        try:
            if report.pending_vectors:
                notices.append(
                    f"passages without a vector, found by their words alone: {report.pending_vectors}; "
                    "tars-memory reindex makes them"
                )
            if reader.fingerprint is None:
                self._check_empty(reader, needed=needed)
                return None
            self._check_model(reader.fingerprint)
            notices += self._unknown_language(query)
            return self._ask(query.meaning)
        except (ModelUnavailableError, UnwritableError) as error:
            if needed:
                raise
            notices.append(f"answered by keywords only: {error.message}; {error.hint}")
            return None

    def _check_empty(self, reader: IndexReader, *, needed: bool) -> None:
        """Without a single vector there is nothing to compare by meaning: an error if that is ``needed``."""
        if needed and reader.chunk_count():
            raise ModelUnavailableError("no passage has a vector yet", "tars-memory reindex makes them")

    def _unknown_language(self, query: Query) -> list[str]:
        """A sentence, once, if the model that is set knows English alone and the query is in another language."""
        from tars_memory.index.embedding.models import is_english
        from tars_memory.recall.ranking.languages import foreign, warning

        model = self.settings.options("embedding", EmbeddingOptions).model
        language = foreign(query.meaning) if self.embedder is None and is_english(model) else ""
        if not language or language in self._languages:
            return []
        self._languages.add(language)
        return [warning(language)]

    def _check_model(self, held: str) -> None:
        """Vectors of two models are never compared."""
        if held != self.fingerprint():
            raise ModelUnavailableError("the index holds another model's vectors", "tars-memory reindex makes new ones")

    def _ask(self, text: str) -> QueryVector:
        if self._ask_model is None:
            if self.embedder is not None:
                self._ask_model = self.embedder.embed_query
            else:
                from tars_memory.index.embedding.queryvector import QueryVectors
                from tars_memory.index.live.warm import SOCKET

                options = self.settings.options("embedding", EmbeddingOptions)
                self._ask_model = QueryVectors(options, self.settings.places.cache, self.state / SOCKET).query
        from tars_memory.suspicion import suspicious

        if suspicious(text):
            from tars_memory.vault.secrets.masking import mask

            text = mask(text)
        return self._ask_model(text)  # what is looked for is remembered, and notes are indexed masked as well

    def made_state(self) -> Path:
        """The vault's state folder, made if it is missing.

        Raises:
            UnwritableError: it can't be made.
        """
        try:
            return self.settings.places.vault_state(self.root, self.vault.id, create=True)
        except OSError as error:
            raise UnwritableError(
                f"the state folder {self.settings.places.state} can't be made: {error.strerror}",
                "name another place with TARS_MEMORY_HOME or XDG_STATE_HOME",
            ) from error
