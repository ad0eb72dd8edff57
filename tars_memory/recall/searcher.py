"""One door for everything that is searched: the command line, Python, ``context`` and hooks ask a :class:`Searcher`.

It brings the index up to date, gives the question its vector, asks the index, and puts what was said in conversations
among what the notes say. What it needs of an open vault it takes from the workspace.
"""

from __future__ import annotations

import os
from copy import copy
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tars_memory import errors, index, recall, vault
from tars_memory.errors import counted
from tars_memory.index.database import AUTOMATED, log_of
from tars_memory.index.files import WRITER_WAIT
from tars_memory.index.intake import READER_WAIT, SEARCH_EMBEDS, RefreshReport
from tars_memory.language.words import foreign, is_latin
from tars_memory.recall import query as queries
from tars_memory.recall.query import Hit, Query, SearchRequest, SearchResult
from tars_memory.settings import MODES
from tars_memory.vault.suspicion import suspicious
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.beside import SharedVault, Talks
    from tars_memory.index.fulltext import Filter
    from tars_memory.index.models import QueryVector
    from tars_memory.index.reader import IndexReader
    from tars_memory.index.talks import TalkReader
    from tars_memory.index.vectors import QueryVectors
    from tars_memory.recall.context import Context as Packed
    from tars_memory.recall.names import Selection
    from tars_memory.recall.search import Answer, Shares
    from tars_memory.vault.playbooks import Playbook
    from tars_memory.workspace import Workspace

Asked = TypeVar("Asked")

HURRIED = 20_000
"""Passages of conversations up to which a hook has all of them compared by meaning: about 10 ms of a processor."""
PREPARED_IN = 2.0
"""Seconds in which a model is prepared that was never used here; whoever waits for less has words alone meanwhile."""
TOLD = 40
"""Lines of conversations, or of a shared vault, that a prompt may be given at most."""


class Searcher:
    """Answers requests about one vault, with the model held open between them.

    Args:
        workspace: the vault, opened.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._languages: set[str] = set()
        self._queries: QueryVectors | None = None

    def follow(self, former: Searcher) -> None:
        """Go on with the model that another searcher of the same person holds open, if it is the one that is set."""
        self._queries = former._queries
        ours, theirs = (each.workspace.settings.embedding for each in (self, former))
        if ours.model == theirs.model:
            self.workspace.warm = former.workspace.warm

    def search(self, request: SearchRequest | str, **asked: Any) -> SearchResult:
        """Passages that answer, best first; see :meth:`tars_memory.memory.Memory.search`."""
        return Search(self, self._request(request, asked)).result()

    def context(
        self,
        question: str = "",
        *,
        budget: int | None = None,
        days: int | None = None,
        file_cap: int | None = None,
        loaded: bool = True,
        window: int | None = None,
        **asked: Any,
    ) -> Packed:
        """What a model should know before it answers; see :meth:`tars_memory.memory.Memory.context`."""
        options = self.workspace.settings.context
        request = self._request(question, asked)
        recalled: int | None = None
        if window is not None:
            if budget is not None:
                raise errors.UsageError("both a budget and a window", "give one of them")
            budget, recalled = self._shares(window)
        scope = request.project or ""
        told_of = (request.about, request.topics)
        journal = self.workspace.store(writes=False).journal
        search = Search(self, request)
        search.said = recall.loaded.Conversations()
        wanted = recall.context.ContextRequest(
            question,
            budget=recall.context.BUDGET if budget is None else budget,
            days=self._days() if days is None else days,
            file_cap=options.file_cap if file_cap is None else file_cap,
            most_facts=options.facts,
            project=scope,
            loaded=loaded,
            expired=request.expired,
            recall=recalled,
            as_of=request.as_of,
            facts=self.workspace.settings.facts,
            agent=request.agent or "",
            playbooks=recall.context.Playbooks(
                self._books(scope),
                self.workspace.settings.recall.playbook_days,
                search.procedures,
                partial(vault.writing.history.stands_approved, journal),
            ),
            shared=[
                recall.loaded.SharedSource(each.name, each.vault, self.workspace.hides)
                for each in self.workspace.shared(search.notices, look=False)
            ],
        )
        on = wanted.held_on(self.workspace.now())
        packed = recall.context.context(
            self.workspace.whole,
            wanted,
            now=self.workspace.now(),
            typed=lambda path: vault.writing.history.typed_lines(journal, path),
            answers=search.answers,
            decided=lambda names: search.read(lambda reader: recall.decided.outdated(reader, names, on)),
            selection=search.selection() if any(told_of) else None,
            conversations=search.said,
        )
        return packed._replace(notices=[*dict.fromkeys((*packed.notices, *search.notices))])

    def _books(self, scope: str) -> Sequence[Playbook]:
        """The playbooks that a prompt may tell; a vault that has none pays for one look."""
        whole, scopes = self.workspace.whole, dict.fromkeys((scope, ""))
        if not any(os.path.isdir(whole.root / whole.layout.playbooks_of(each)) for each in scopes):
            return ()
        books = vault.playbooks
        return books.shelf(whole, books.uses(self.workspace.state), scopes)

    def _request(self, request: SearchRequest | str, asked: dict[str, Any]) -> SearchRequest:
        """A request with mode, limit and project as they count.

        Raises:
            UsageError: no such mode, or a project that can't be one.
        """
        if isinstance(request, str):
            request = SearchRequest(request)
        scalar = (str, int, date, type(None))
        given: dict[str, Any] = {name: v if isinstance(v, scalar) else tuple(v) for name, v in asked.items()}
        request = request._replace(**given)
        options = self.workspace.settings.recall
        mode = request.mode or options.mode
        if mode not in MODES:
            raise errors.UsageError(f"mode {mode!r} is unknown", f"it is one of {', '.join(MODES)}")
        return request._replace(
            mode=mode, limit=request.limit or options.limit, project=self.workspace.scope(request.project)
        )

    def selection(self, about: tuple[str, ...], topics: tuple[str, ...], scope: str) -> Selection:
        """What is about somebody or something, or of a topic, in the notes as they are now."""
        return self.workspace.ask(lambda reader: recall.names.selection(reader, about, topics, scope=scope))

    def _days(self) -> int:
        """Daily notes of a prompt: as it is set, else as the program has it that made the vault."""
        settings = self.workspace.settings
        set_to = settings.context.days
        return set_to if "context.days" in settings.given else self.workspace.whole.layout.days

    def _shares(self, window: int) -> tuple[int, int]:
        """Of a window the tokens for all that is told, and those of them that are for what is recalled.

        Raises:
            UsageError: the shares come to more than the whole.
        """
        parts = self.workspace.settings.window
        if parts.memory + parts.recall + parts.margin > 100:
            raise errors.UsageError("the shares of [window] come to more than 100", "docs/settings.md lists them")
        recalled = window * parts.recall // 100
        return window * parts.memory // 100 + recalled, recalled

    def unknown_language(self, text: str, model: str) -> list[str]:
        """A sentence, once, if the model that answers knows English alone and the query is in another language."""
        language = foreign(text) if self.workspace.embedder is None and index.models.is_english(model) else ""
        if not language or language in self._languages:
            return []
        self._languages.add(language)
        return [errors.Passing(warning(language))]

    def queries(self, model: str) -> QueryVectors:
        """The vectors of queries by a model: remembered, from whoever holds it open, or by opening it."""
        workspace = self.workspace
        if self._queries is None or self._queries.model != model:
            socket = workspace.state / index.models.SOCKET
            self._queries = index.vectors.QueryVectors(model, workspace.settings.places.cache, socket)
        if workspace.warm is not None and model == workspace.settings.embedding.model:
            self._queries.embed = workspace.warm.embed_query
        return self._queries


class Search:
    """One request on its way: the index is brought up to date, the question gets its vector, the index is asked.

    Attributes:
        notices: sentences for the person.
        said: takes the lines of conversations that answer, for a prompt.
    """

    def __init__(self, searcher: Searcher, request: SearchRequest) -> None:
        self.searcher = searcher
        self.workspace = searcher.workspace
        self.request = request
        self.scope = request.project or ""
        self.mode = request.mode or "hybrid"
        self.notices: list[str] = []
        self.said: recall.loaded.Conversations | None = None
        self._by_ourselves = False

    def result(self) -> SearchResult:
        """The passages that answer.

        Raises:
            UsageError: a bad date or tier.
            ModelUnavailableError: the model can't be used, and the search is by meaning alone.
        """
        workspace, request = self.workspace, self.request
        query = queries.parse(request, workspace.now().date())
        query.half_lives = workspace.settings.recall.half_lives
        talks = self._talks(query)

        def ask(reader: IndexReader, report: RefreshReport, meant: bool) -> SearchResult:
            self._narrow(query, reader)
            vector = self._vector(query, reader, report) if meant else None
            result = recall.search.search(
                reader, query, request, vector=vector, read=self._reading(reader), own=workspace.interactive,
                vault_name=workspace.root.name,
            )  # fmt: skip
            result.stale, result.unmounted = report.stale, report.unmounted
            if talks is not None:
                said = talks.index.read(
                    lambda other: self._said(talks, other, query, self._vector_for(other, query, vector, reader, meant))
                )
                self._merge(result, said, query, reader, talks)
            for shared in workspace.shared(self.notices):
                shared.index.read(partial(self._beside, result, shared, query, reader, vector))
            return result

        result = self._answered(query, ask)
        result.notices = [*dict.fromkeys(self.notices), *result.notices]
        return result

    def _beside(
        self, result: SearchResult, shared: SharedVault, query: Query, reader: IndexReader,
        vector: QueryVector | None, other: IndexReader,
    ) -> None:  # fmt: skip
        """Put the hits of a shared vault among the others, marked by its name; the best one always has a place."""
        theirs = self._asked_of(query, other)
        known = self._vector_for(other, query, vector, reader, self._is_meant(query))
        found = recall.search.search(
            other, theirs, self.request, vector=known, read=shared.vault.read, vault_name=shared.vault.root.name
        ).hits
        kept = [hit for hit in found if not self.workspace.hides(hit.text)]
        for hit in kept:
            hit.path, hit.vault = shared.path(hit.path), shared.name
        shares = recall.search.Shares(query, (reader, other))
        hits = recall.search.merged(result.hits, kept, shares.sort_key)
        limit = self.request.limit or len(result.hits)
        if limit > 1 and not any(hit.vault == shared.name for hit in hits[:limit]):
            best = next((at for at, hit in enumerate(hits) if hit.vault == shared.name), None)
            if best is not None:
                hits.insert(limit - 1, hits.pop(best))
        result.show(hits, limit)

    def _asked_of(self, query: Query, reader: IndexReader) -> Query:
        """The query as it is asked of another vault: what narrows it is looked up there."""
        theirs = copy(query)
        self._narrow(theirs, reader)
        return theirs

    def _is_meant(self, query: Query) -> bool:
        """Whether a question is to be compared by meaning."""
        return self.mode != "lexical" and bool(query.meaning)

    def answers(self, query: Query) -> list[Answer]:
        """The lines that answer a question, best first."""
        query.not_paths += self._other_agents()
        query.half_lives = self.workspace.settings.recall.half_lives
        talks = self._talks(query)

        def ask(reader: IndexReader, report: RefreshReport, meant: bool) -> list[Answer]:
            if report.stale and not report.reading:
                self.notices.append(f"the index is behind by {counted(report.stale, 'file')}: tars-memory reindex")
            vector = self._known = self._vector(query, reader, report) if meant else None
            narrowed = recall.search.narrowed_by(query, self.scope)
            found = recall.search.ranked(reader, query, narrowed, vector, self.mode)
            for shared in self.workspace.shared(self.notices):
                theirs, shares = shared.index.read(partial(self._lines, shared, query, reader, vector))
                found = recall.search.merged(found, theirs, shares.sort_key)
            if talks is None:
                return found

            def both(other: TalkReader) -> list[Answer]:
                shares = recall.search.Shares(query, (reader, other))
                told = self.said = self.said or recall.loaded.Conversations()
                known = self._vector_for(other, query, vector, reader, meant)
                within = self._within(other, query)
                if other.knows_jobs():  # looked for by themselves, they can't crowd out what somebody typed
                    typed, jobs = within._replace(not_tags=(AUTOMATED,)), within._replace(tags=(AUTOMATED,))
                    theirs = self._told(talks, other, query, told, known, jobs)
                    said = self._told(talks, other, query, told, known, typed)
                    said = recall.search.merged(said, theirs, shares.sort_key)
                else:
                    said = self._told(talks, other, query, told, known, within)
                shares.read(one.text for one in (*found, *said))
                told.pair((*found, *said), said, shares)
                return recall.search.merged(found, said, shares.sort_key)

            return talks.index.read(both)

        return self._answered(query, ask)

    _known: QueryVector | None = None
    """The vector of the question that was answered last."""

    def procedures(self, query: Query) -> list[str]:
        """The paths of the playbooks that answer a question, best first, as the index is since :meth:`answers`."""
        layout, theirs = self.workspace.whole.layout, copy(query)
        theirs.paths = tuple(f"{layout.playbooks_of(scope)}/" for scope in dict.fromkeys((self.scope, "")))
        narrowed = recall.search.narrowed_by(theirs, self.scope)
        return self.read(lambda reader: recall.search.best_notes(reader, theirs, narrowed, self._known, self.mode))

    # --- which index

    def read(self, question: Callable[[IndexReader], Asked]) -> Asked:
        """What the index that answers this search says: a team's if one is set and can be asked, else our own.

        Raises:
            TeamIndexError: the team's can't be asked, and words of our own won't do.
        """
        if not self._by_ourselves and (team := self.workspace.team()) is not None:
            try:
                return team.read(question)
            except errors.TeamIndexError as error:
                self._fall_back(error)
        return self.workspace.index().read(question)

    def _answered(self, query: Query, ask: Callable[[IndexReader, RefreshReport, bool], Asked]) -> Asked:
        """What the index says to a question: a team's as it was published, our own once it is up to date."""
        if not self._by_ourselves and (team := self.workspace.team()) is not None:
            try:
                return team.read(lambda reader: ask(reader, RefreshReport(), self._is_meant(query)))
            except errors.TeamIndexError as error:
                self._fall_back(error)
        report, meant = self._refresh(query)
        return self.workspace.index().read(lambda reader: ask(reader, report, meant))

    def selection(self) -> Selection:
        """What is about somebody or something, or of a topic, by the index that answers this search."""
        told_of = (self.request.about, self.request.topics)
        if self._by_ourselves or self.workspace.team() is None:
            return self.searcher.selection(*told_of, self.scope)
        return self.read(lambda reader: recall.names.selection(reader, *told_of, scope=self.scope))

    def _fall_back(self, error: errors.TeamIndexError) -> None:
        """Let words of our own index answer in place of a team's, if there are any and they will do.

        Raises:
            TeamIndexError: the same, if not.
        """
        if self.mode == "semantic" or self.workspace.index().files.current() is None:
            raise error
        self.notices.append(f"{error.message}: searched this machine's own index instead, by words")
        self._by_ourselves = True

    def _reading(self, reader: IndexReader) -> Callable[[str], bytes]:
        """How hits are held against their notes: by our own copy, else by the text that a team's index has."""
        own = self.workspace.vault.read

        def read(path: str) -> bytes:
            try:
                return own(path)
            except errors.NotFoundError:
                text = reader.text_of(path)
                if not text:
                    raise
                self.notices.append("notes that this copy of the vault lacks are shown as the team's index has them")
                return text

        return own if self._by_ourselves or self.workspace.team() is None else read

    def _other_agents(self) -> tuple[str, ...]:
        """Folders of notes that agents keep for themselves, but for the one that asks."""
        found: list[str] = []
        for scope in dict.fromkeys(("", self.scope)):
            folder = self.workspace.vault.scoped(scope).layout.agents
            try:
                names = os.listdir(self.workspace.root / folder)
            except OSError:
                continue  # there is none
            found += [f"{folder}/{name}/" for name in names if name != self.request.agent]
        return tuple(found)

    # --- conversations

    def _talks(self, query: Query) -> Talks | None:
        """The conversations, with what is new in them; None if they can't answer this request."""
        request = self.request
        narrowed = request.where or request.linked_to or request.links_to or request.about or request.topics
        asked = (not query.tiers or "talk" in query.tiers) and "talk" not in query.not_tiers
        talks = self.workspace.talks() if asked and not narrowed and not query.tags else None
        if talks is None or (request.session is not None and not talks.index.exists):
            return None
        if request.session is None:
            try:
                report = talks.refresh()
            except errors.UnwritableError as error:  # the vault's answer holds all the same
                self.notices.append(f"what is new in conversations is not searched: {error.message}")
                return talks if talks.index.exists else None
            self.notices += report.notices
            self._unread = report.stale
        return talks

    _unread = 0

    def _within(self, reader: TalkReader, query: Query) -> Filter:
        """Which conversations may answer: those of the project, or outside projects those of none."""
        scope, session = self.scope, self.request.session
        reader.most = None if session is None else HURRIED
        return recall.search.narrowed_by(query, scope, reader.outside(scope), reader.of_log(session) if session else ())

    def _vector_for(
        self, talks: IndexReader, query: Query, ours: QueryVector | None, vault: IndexReader, meant: bool
    ) -> QueryVector | None:
        """The query's vector for another index: that for the vault, if theirs are of the same model.

        Without any in the vault it is asked for.
        """
        if not meant or talks.fingerprint is None:
            return None
        if vault.fingerprint is not None:
            return ours if vault.fingerprint == talks.fingerprint else None
        return self._vector(query, talks, None)

    def _said(self, talks: Talks, reader: TalkReader, query: Query, vector: QueryVector | None) -> list[Hit]:
        """The passages of conversations that answer, each with where and when it was said."""

        def read(path: str) -> bytes:
            if talks.is_gone(log_of(path)):
                raise errors.NotFoundError(f"{log_of(path)} is gone")
            return "\n".join(reader.text(path)).encode()

        found = recall.search.search(
            reader, query, self.request, vector=vector, narrowed=self._within(reader, query), read=read
        ).hits
        kept = []
        for hit in found:
            shown = reader.shown(hit.path, hit.start_line, hit.end_line)
            if talks.moved(*reader.place(hit.path)) or len(shown) != hit.text.count("\n") + 1:
                continue
            if any(
                talks.withheld(text, one.day, log_of(hit.path))
                for text, one in zip(hit.text.split("\n"), shown, strict=True)
            ):
                continue
            best = shown[hit.best]
            hit.places = tuple(one.line for one in shown)
            hit.path, hit.start_line, hit.end_line = log_of(hit.path), hit.places[0], max(hit.places)
            hit.date, hit.day, hit.speaker = best.day or None, best.day, best.speaker
            hit.answer = "" if talks.withheld(best.answer, best.day, log_of(hit.path)) else best.answer
            hit.obsidian_url = ""
            kept.append(hit)
        return kept

    def _merge(self, result: SearchResult, said: list[Hit], query: Query, reader: IndexReader, talks: Talks) -> None:
        """Put the hits of conversations among those of the vault."""
        shares = talks.index.read(lambda other: recall.search.Shares(query, (reader, other)))
        said = recall.scores.not_in_vault(reader, result.hits, said, shares.words)
        hits = recall.search.merged(result.hits, said, shares.sort_key)
        result.show(hits, self.request.limit)
        result.unread_logs = self._unread
        result.stale += self._unread

    def _told(
        self,
        talks: Talks,
        reader: TalkReader,
        query: Query,
        told: recall.loaded.Conversations,
        vector: QueryVector | None,
        within: Filter,
    ) -> list[Answer]:
        """The lines of conversations that answer, as a prompt shows them: with day and speaker."""
        found: list[Answer] = []
        for answer in recall.search.ranked(reader, query, within, vector, self.mode)[:TOLD]:
            (shown,) = reader.shown(answer.path, answer.number, answer.number) or (None,)
            if shown is None or talks.withheld(answer.text, shown.day, log_of(answer.path)):
                continue
            if talks.moved(*reader.place(answer.path)):
                continue
            name = f"conversation {os.path.basename(answer.path)[:60]}"  # no path of the machine is told
            day = f"{shown.day} " if shown.day else ""
            text = f"- {day}{shown.speaker} said: {answer.text.strip()}"
            told.put(name, answer.number, text)
            if within.tags:
                told.automated.add(name)
            found.append(recall.search.Answer(name, answer.number, text, day=shown.day))
        return found

    def _lines(
        self, shared: SharedVault, query: Query, reader: IndexReader, vector: QueryVector | None, other: IndexReader
    ) -> tuple[list[Answer], Shares]:
        """The lines of a shared vault that answer, as a prompt shows them; and how much of the question each covers."""
        theirs = self._asked_of(query, other)
        known = self._vector_for(other, query, vector, reader, self._is_meant(query))
        narrowed = recall.search.narrowed_by(theirs, self.scope)
        told = self.said = self.said or recall.loaded.Conversations()
        found: list[Answer] = []
        notes: dict[str, list[str]] = {}
        for answer in recall.search.ranked(other, theirs, narrowed, known, self.mode)[:TOLD]:
            if shared.vault.layout.agent_of(answer.path):
                continue
            if answer.path not in notes:
                try:
                    notes[answer.path] = note_lines(vault.secrets.veiled(shared.vault.read(answer.path)))
                except errors.TarsError:
                    notes[answer.path] = []
            text = next(iter(notes[answer.path][answer.number - 1 : answer.number]), "")
            if not text.strip() or recall.loaded.dismissed(text) or self.workspace.hides(text):
                continue
            name = shared.path(answer.path)
            told.shared[name] = (shared.name, answer.path)
            told.put(name, answer.number, text)
            found.append(recall.search.Answer(name, answer.number, text, day=answer.day))
        return found, recall.search.Shares(query, (reader, other))

    # --- the index

    def _refresh(self, query: Query) -> tuple[RefreshReport, bool]:
        """The index brought up to date, and whether the question can be compared by meaning."""
        report = self.workspace.look(self.request.text)
        self.notices += report.notices
        if self._by_ourselves:
            return report, False
        return report, self._is_meant(query) and self._fill(report, query.meaning)

    # --- the vector of the question

    def _without_model(self, error: errors.TarsError) -> None:
        """Say that words alone answer, where they will do.

        Raises:
            TarsError: the same, if they won't.
        """
        if self.mode == "semantic":
            raise error
        self.notices.append(f"words only: {error.message}: tars-memory status")

    def _fill(self, report: RefreshReport, text: str) -> bool:
        """Give vectors to the few chunks that have none yet, if the query has to open the model anyway.

        Returns:
            False if the model can't be used; that is said.

        Raises:
            ModelUnavailableError: the model can't be used, and the search is by meaning alone.
            UnwritableError: likewise.
        """
        workspace = self.workspace
        try:
            few = 0 < report.pending_vectors <= SEARCH_EMBEDS
            if few and not self._takes_too_long() and self._opens(text):
                wait = WRITER_WAIT if workspace.patience is None else READER_WAIT
                report.pending_vectors = workspace.index().embed_pending(SEARCH_EMBEDS, wait=wait)
        except (errors.ModelUnavailableError, errors.UnwritableError) as error:
            self._without_model(error)
            return False
        if report.pending_vectors:
            workspace.goes_on()
        return True

    def _takes_too_long(self) -> bool:
        """Whether the model has yet to be prepared, and whoever asks doesn't wait for that."""
        workspace = self.workspace
        if workspace.patience is None or workspace.patience >= PREPARED_IN or workspace.embedder is not None:
            return False
        return not workspace.is_prepared()

    def _opens(self, text: str) -> bool:
        """Whether the model is open, or the query opens it: nobody remembers its vector or holds the model open."""
        workspace = self.workspace
        if workspace.embedder is not None:
            return True
        queries = self.searcher.queries(workspace.settings.embedding.model)
        if queries.remembered(_shown(text)) or index.models.is_ours(workspace.state / index.models.SOCKET):
            return False
        workspace.warm = workspace.warm or workspace.open_embedder()
        return True

    def _vector(self, query: Query, reader: IndexReader, report: RefreshReport | None) -> QueryVector | None:
        """The query's vector, if it can be had and the index holds vectors of the same model; else a notice."""
        workspace = self.workspace
        try:
            missing = 0 if report is None or report.reading else report.pending_vectors
            if missing and (said := workspace.covers(missing)):
                self.notices.append(said)
            model = self._model_of(reader)
            if not model:
                return None
            self.notices += self.searcher.unknown_language(query.meaning, model)
            if self.mode != "semantic" and not self._reads(model, query.meaning):
                return None
            shown = _shown(query.meaning)
            ours = workspace.embedder
            return self.searcher.queries(model).query(shown) if ours is None else ours.embed_query(shown)
        except (errors.ModelUnavailableError, errors.UnwritableError) as error:
            self._without_model(error)
            return None

    def _reads(self, model: str, text: str) -> bool:
        """Whether the model knows the script of a text; what it can't read is found by its words alone."""
        if is_latin(text):
            return True
        workspace = self.workspace
        known = workspace.embedder or index.models.manifest_of(model, workspace.settings.places.cache)
        return known.scripts != index.models.LATIN

    def _model_of(self, reader: IndexReader) -> str:
        """The model whose vectors the index holds: the one that is set, else one that is here; that is said.

        Vectors of two models are never compared. Empty where there is no vector yet.

        Raises:
            ModelUnavailableError: they are of a model that is not here; or there is none, and meaning alone may answer.
        """
        name, held = self.workspace.settings.embedding.model, reader.fingerprint
        if held is None:
            if self.mode == "semantic" and reader.chunk_count():
                self.workspace.demand_model()
                raise errors.ModelUnavailableError("no passage has a vector yet", "tars-memory reindex makes them")
            return ""
        if held == self.workspace.fingerprint():
            return name
        if self.workspace.embedder is None:
            former = index.models.made_by(held, self.workspace.settings.places.cache)
            if former is not None:
                self.notices.append(
                    f"until all vectors are made with {name}, {former.name} answers: tars-memory status"
                )
                return former.name
        raise errors.ModelUnavailableError("the vectors are another model's", "tars-memory reindex makes new ones")

    def _narrow(self, query: Query, reader: IndexReader) -> None:
        """Which notes and passages may answer, by properties, links, names and topics."""
        request, scope = self.request, self.scope
        if request.where or request.linked_to or request.links_to:
            query.notes = recall.names.selected(reader, request.where, request.linked_to, request.links_to, scope=scope)
        if request.about or request.topics:
            query.selection = recall.names.selection(reader, request.about, request.topics, scope=scope)


def _shown(text: str) -> str:
    """A query without credentials: what is looked for is remembered, and notes are indexed without them as well."""
    if not suspicious(text):
        return text
    return vault.secrets.mask(text)


def warning(language: str) -> str:
    """What the person is told whose query an English model can't read."""
    return f"the model knows English, not {language}: tars-memory models list"
