"""The one entry point for searches: command line, Python, ``context`` and hooks ask a :class:`Searcher`.

It updates the index, gets the vector of the question, asks the index, and merges hits of conversations and of shared
vaults with those of the notes. Everything about the open vault comes from the workspace.
"""

from __future__ import annotations

import contextlib
import os
from copy import copy
from datetime import date
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from tars_memory import errors, index, recall, settings, vault
from tars_memory.recall import query as queries
from tars_memory.recall.query import Hit, Query, SearchRequest, SearchResult
from tars_memory.vault.vault import key_of, note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.index.fulltext import Filter
    from tars_memory.index.intake import RefreshReport
    from tars_memory.index.models import QueryVector
    from tars_memory.index.reader import IndexReader
    from tars_memory.index.talks import TalkReader
    from tars_memory.recall.search import Answer, Shares
    from tars_memory.sources import SharedVault, Talks
    from tars_memory.workspace import Workspace

Result = TypeVar("Result")

HURRIED = 20_000
"""Number of passages of conversations up to which a hook finds them by meaning too: about 10 ms of CPU time. If there
are more, meaning only orders the passages that words find."""
PREPARED_IN = 2.0
"""Seconds that it takes to prepare a model that was never used here; a search with less patience is by words only."""
MOST_LINES = 40
"""Maximum number of lines of conversations, or of a shared vault, for one prompt."""


class Searcher:
    """Answers requests about one vault and keeps the model open between them.

    Args:
        workspace: the open vault.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._languages: set[str] = set()
        self._queries: index.vectors.QueryVectors | None = None

    def take_over_model(self, former: Searcher) -> None:
        """Take over the model that another searcher of the same user keeps open, if the settings name the same one."""
        self._queries = former._queries
        ours, theirs = (searcher.workspace.settings.embedding for searcher in (self, former))
        if ours.model == theirs.model:
            self.workspace.opened_embedder = former.workspace.opened_embedder

    def search(self, request: SearchRequest | str, **asked: Any) -> SearchResult:
        """Return the passages that answer, best first; see :meth:`tars_memory.memory.Memory.search`."""
        return Search(self, request, asked).result()

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
    ) -> recall.context.Context:
        """Return what a model should know before it answers; see :meth:`tars_memory.memory.Memory.context`."""
        options, origins = self.workspace.settings.context, self.workspace.settings.origins
        layout = self.workspace.whole.layout
        search = Search(self, question, asked)
        request, scope = search.request, search.scope
        recalled: int | None = None
        if window is not None:
            if budget is not None:
                raise errors.UsageError("a budget and a window are both set", "give only one of them")
            budget, recalled = self._shares(window)
        journal = self.workspace.store(writes=False).journal
        wanted = recall.context.ContextRequest(
            question,
            budget=recall.context.BUDGET if budget is None else budget,
            days=(options.days if "context.days" in origins else layout.days) if days is None else days,
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
                self._playbooks(scope),
                self.workspace.settings.recall.playbook_days,
                search.fitting_playbooks,
                partial(vault.writing.history.stands_approved, journal),
            ),
            shared=[
                recall.loaded.SharedSource(shared.name, shared.vault, self.workspace.hides)
                for shared in self.workspace.shared(search.notices, look=False)
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
            selection=search.selection() if request.about or request.topics else None,
            conversations=search.conversations,
        )
        return packed._replace(notices=[*dict.fromkeys((*packed.notices, *search.notices))])

    def _playbooks(self, scope: str) -> Sequence[vault.playbooks.Playbook]:
        """Return the playbooks that a prompt may show; costs little in a vault without playbooks."""
        whole, scopes = self.workspace.whole, dict.fromkeys((scope, ""))
        if not any(os.path.isdir(whole.root / whole.layout.playbooks_of(scope)) for scope in scopes):
            return ()
        books = vault.playbooks
        return books.read_all(whole, books.last_uses(self.workspace.state), scopes)

    def _request(self, request: SearchRequest | str, asked: dict[str, Any]) -> SearchRequest:
        """Return a request with mode, limit and project filled in from the settings.

        Args:
            request: the request, or its text.
            asked: further fields of the request, by name.

        Raises:
            UsageError: unknown mode, or a name that can't be a project's.
        """
        if isinstance(request, str):
            request = SearchRequest(request)
        scalar = (str, int, date, type(None))
        given: dict[str, Any] = {name: v if isinstance(v, scalar) else tuple(v) for name, v in asked.items()}
        request = request._replace(**given)
        options = self.workspace.settings.recall
        mode = request.mode or options.mode
        if mode not in settings.MODES:
            raise errors.UsageError(f"mode {mode!r} is unknown", f"it is one of {', '.join(settings.MODES)}")
        if mode == "hybrid" and not self.workspace.makes_vectors:
            mode = "lexical"
        return request._replace(
            mode=mode, limit=request.limit or options.limit, project=self.workspace.scope(request.project)
        )

    def selection(self, about: tuple[str, ...], topics: tuple[str, ...], scope: str) -> recall.names.Selection:
        """Return the passages about names, or with topics, in the notes as they are now."""
        return self.workspace.ask(lambda reader: recall.names.selection(reader, about, topics, scope=scope))

    def _shares(self, window: int) -> tuple[int, int]:
        """Return how many tokens of a context window the prompt may use, and how many of these are for recalled lines.

        Raises:
            UsageError: the shares add up to more than 100 %.
        """
        parts = self.workspace.settings.window
        if parts.memory + parts.recall + parts.margin > 100:
            raise errors.UsageError("the shares in [window] add up to more than 100", "lower memory, recall or margin")
        recalled = window * parts.recall // 100
        return window * parts.memory // 100 + recalled, recalled

    def unknown_language(self, language: str, model: str) -> list[str]:
        """Return a warning, once for each language, if the model only knows English and the query is in another
        language.
        """
        if not language or language in self._languages:
            return []
        if self.workspace.embedder is not None or not index.models.is_english(model):
            return []
        self._languages.add(language)
        return [errors.TransientNotice(warning(language))]

    def queries(self, model: str) -> index.vectors.QueryVectors:
        """Return the vectors of queries by a model: remembered, from a process that has it open, or by opening it."""
        workspace = self.workspace
        if self._queries is None or self._queries.model != model:
            socket = workspace.state / index.models.SOCKET
            self._queries = index.vectors.QueryVectors(model, workspace.settings.places.cache, socket)
        if workspace.opened_embedder is not None and model == workspace.settings.embedding.model:
            self._queries.embed = workspace.opened_embedder.embed_query
        return self._queries


class Search:
    """One request: updates the index, gets the vector of the question, and asks the index.

    Attributes:
        today: the day from which relative dates count.
        half_lives: in days, by tier, how fast lines fade.
        me: the subjects of facts that mean the user, in lower case.
        notices: sentences for the user.
        team: the team's index; None if none is set.
        talks: the conversations, once the index is asked; None if they can't answer this request.
        shared: the shared vaults, likewise.
    """

    def __init__(self, searcher: Searcher, request: SearchRequest | str, asked: dict[str, Any]) -> None:
        workspace = self.workspace = searcher.workspace
        self.searcher = searcher
        self.request = searcher._request(request, asked)
        self.scope = self.request.project or ""
        self.mode = self.request.mode or "hybrid"
        self.notices = workspace.missing_project(self.scope)
        self.today = workspace.now().date()
        self.team = workspace.team()
        self.talks: Talks | None = None
        self.shared: list[SharedVault] = []
        self.half_lives = queries.half_lives(workspace.settings.recall)
        self.me = frozenset(map(str.casefold, workspace.settings.facts.me))
        self._own_index_only = False
        """Whether a team's index is not asked any more, because it failed."""
        self._compared = False
        """Whether a hit of a team's index was compared with our copy of its note."""
        self._last_vector: QueryVector | None = None
        """The vector of the question that :meth:`answers` answered."""
        self._unread_logs = 0

    @cached_property
    def conversations(self) -> recall.loaded.Conversations:
        """The lines of conversations and shared vaults that answer, for a prompt; :meth:`answers` fills it."""
        return recall.loaded.Conversations()

    def result(self) -> SearchResult:
        """Return the passages that answer.

        Raises:
            UsageError: a bad date or tier.
            ModelUnavailableError: the model can't be used, and the search is by meaning only.
        """
        workspace, request = self.workspace, self.request
        query = queries.parse(request, self.today, workspace.whole.layout.day_of_name)
        query.half_lives, query.me = self.half_lives, self.me

        def ask(reader: IndexReader, report: RefreshReport, compares_meaning: bool) -> SearchResult:
            talks = self.talks
            self._narrow(query, reader)
            vector = self._vector(query, reader, report) if compares_meaning else None
            result = recall.search.search(
                reader, query, request, vector=vector, read=self._reader_of_notes(reader), own=workspace.interactive,
                vault_name=workspace.root.name,
            )  # fmt: skip
            result.stale, result.unmounted = report.stale, report.unmounted
            if self._compared and not result.hits:
                self.notices.append("the team's index has lines about this that this copy of the vault lacks")
            if talks is not None:
                said = talks.index.read(
                    lambda other: self._conversation_hits(
                        talks, other, query, self._vector_for(other, query, vector, reader, compares_meaning)
                    )
                )
                self._add_conversations(result, said, query, reader, talks)
            for shared in self.shared:
                shared.index.read(partial(self._add_shared, result, shared, query, reader, vector))
            return result

        result = self._ask(query, ask)
        result.notices = [*dict.fromkeys(self.notices), *result.notices]
        if not request.around:
            return result
        for number, hit in enumerate(result.hits):
            if hit.places and self.talks is not None:
                self.talks.index.read(partial(self._widen_conversation, hit, self.talks))
            else:
                with contextlib.suppress(errors.TarsError):  # only a team's index has it, or it can't be read any more
                    data = workspace.bytes_of(hit.path, hit.vault)
                    own = workspace.interactive and not hit.vault
                    data, around = data if own else vault.secrets.veiled(data), request.around
                    queries.widen(wide := copy(hit), data, around)
                    while hit.vault and around and workspace.hides(wide.text):  # what was forgotten here is near
                        around //= 2
                        queries.widen(wide := copy(hit), data, around)
                    result.hits[number] = wide
        taken = {(hit.path, hit.line_at(hit.best)[0], hit.text.split("\n")[hit.best]) for hit in result.hits}
        for hit in result.hits:
            hit.take_beside(taken)
        return result

    def _add_shared(
        self, result: SearchResult, shared: SharedVault, query: Query, reader: IndexReader,
        vector: QueryVector | None, other: IndexReader,
    ) -> None:  # fmt: skip
        """Merge the hits of a shared vault into the result, marked with its name; the best one is always shown."""
        theirs = self._query_for(query, other)
        known = self._vector_for(other, query, vector, reader, self._compares_meaning(query))
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

    def _query_for(self, query: Query, reader: IndexReader) -> Query:
        """Return the query for another vault, with its filters looked up in that vault's index."""
        theirs = copy(query)
        self._narrow(theirs, reader)
        return theirs

    def _compares_meaning(self, query: Query) -> bool:
        """Whether a question is compared by meaning."""
        return self.mode != "lexical" and bool(query.meaning)

    def answers(self, query: Query) -> list[Answer]:
        """Return the lines that answer a question, best first."""
        query.filter = query.filter._replace(not_paths=(*query.filter.not_paths, *self._other_agents()))
        query.half_lives, query.me = self.half_lives, self.me

        def ask(reader: IndexReader, report: RefreshReport, compares_meaning: bool) -> list[Answer]:
            talks = self.talks
            vector = self._last_vector = self._vector(query, reader, report) if compares_meaning else None
            found = recall.search.ranked(reader, query, query.narrowed(self.scope), vector, self.mode)
            for shared in self.shared:
                theirs, shares = shared.index.read(partial(self._shared_lines, shared, query, reader, vector))
                found = recall.search.merged(found, theirs, shares.sort_key)
            if talks is None:
                return found

            def both(other: TalkReader) -> list[Answer]:
                shares = recall.search.Shares(query, (reader, other))
                known = self._vector_for(other, query, vector, reader, compares_meaning)
                narrowed = self._conversation_filter(other, query)
                if other.knows_jobs():  # searched by themselves, they can't crowd out lines that somebody typed
                    tags = (index.database.AUTOMATED,)
                    typed, jobs = narrowed._replace(not_tags=tags), narrowed._replace(tags=tags)
                    automated = self._conversation_lines(talks, other, query, known, jobs)
                    said = self._conversation_lines(talks, other, query, known, typed)
                    said = recall.search.merged(said, automated, shares.sort_key)
                else:
                    said = self._conversation_lines(talks, other, query, known, narrowed)
                shares.read(answer.text for answer in (*found, *said))
                self.conversations.pair((*found, *said), said, shares)
                return recall.search.merged(found, said, shares.sort_key)

            return talks.index.read(both)

        return self._ask(query, ask)

    def fitting_playbooks(self, query: Query) -> list[str]:
        """Return the paths of the playbooks that answer a question, best first; call :meth:`answers` before.

        The index is not updated again, and the vector of the question is used again.
        """
        layout = self.workspace.whole.layout
        paths = tuple(f"{layout.playbooks_of(scope)}/" for scope in dict.fromkeys((self.scope, "")))
        narrowed = query.narrowed(self.scope)._replace(paths=paths)
        asked = (query, narrowed, self._last_vector, self.mode)
        found = self.read(lambda reader: recall.search.ranked(reader, *asked))
        return [*dict.fromkeys(answer.path for answer in found)]

    # --- which index

    def read(self, question: Callable[[IndexReader], Result]) -> Result:
        """Ask the index: the team's if one is set and can be asked, else our own.

        Raises:
            TeamIndexError: the team's index can't be asked, and our own can't replace it.
        """
        if not self._own_index_only and self.team is not None:
            try:
                return self.team.read(question)
            except errors.TeamIndexError as error:
                self._fall_back(error)
        return self.workspace.index().read(question)

    def _ask(self, query: Query, ask: Callable[[IndexReader, RefreshReport, bool], Result]) -> Result:
        """Ask the index: the team's as it was published, or our own after updating it.

        Args:
            query: parsed.
            ask: takes the index, what its update found, and whether the question is compared by meaning.
        """
        self.talks = self._open_talks(query)
        self.shared = [*self.workspace.shared(self.notices)]
        if not self._own_index_only and self.team is not None:
            try:
                published, compares_meaning = index.intake.RefreshReport(), self._compares_meaning(query)
                return self.team.read(lambda reader: ask(reader, published, compares_meaning))
            except errors.TeamIndexError as error:
                self._fall_back(error)
        opened, report = self.workspace.look(self.request.text)
        self.notices += report.notices
        compares_meaning = not self._own_index_only and self._compares_meaning(query)
        compares_meaning = compares_meaning and self._embed_pending(opened, report, query.meaning)
        return opened.read(lambda reader: ask(reader, report, compares_meaning))

    def selection(self) -> recall.names.Selection:
        """Return the passages about the names and topics of the request, from the index that answers this search."""
        about, topics = self.request.about, self.request.topics
        if self._own_index_only or self.team is None:
            return self.searcher.selection(about, topics, self.scope)
        return self.read(lambda reader: recall.names.selection(reader, about, topics, scope=self.scope))

    def _fall_back(self, error: errors.TeamIndexError) -> None:
        """Search our own index by words in place of the team's.

        Raises:
            TeamIndexError: the given error, if the search is by meaning only, or there is no index of our own.
        """
        if self.mode == "semantic" or self.workspace.index().files.current() is None:
            raise error
        self.notices.append(f"{error.message}: searched this machine's own index instead, by words")
        self._own_index_only = True

    def _reader_of_notes(self, reader: IndexReader) -> Callable[[str], bytes]:
        """Return the function that reads notes to verify hits: our own copy, else the text in the team's index.

        Of a note that is there and can't be read it leaves a notice: its hits are missing, and nobody should take that
        for an answer.
        """
        own = self.workspace.vault.read

        def read(path: str) -> bytes:
            team = self._compared = self.team is not None and not self._own_index_only
            try:
                return own(path).replace(b"\0", b" ") if team else own(path)  # as PostgreSQL stores it
            except errors.NotFoundError:
                text = reader.text_of(path) if team else b""
                if not text:
                    raise
                self.notices.append("notes that this copy of the vault lacks are shown as the team's index has them")
                return text
            except errors.TarsError as error:
                self.notices.append(f"hits left out: {error.message}")
                raise

        return read

    def _other_agents(self) -> tuple[str, ...]:
        """Return the folders of the notes of other agents than the one that asks."""
        found: list[str] = []
        for scope in dict.fromkeys(("", self.scope)):
            scoped = self.workspace.vault.scoped(scope)
            own = key_of(self.request.agent or "")
            found += [f"{scoped.layout.agents}/{name}/" for name in scoped.agent_folders() if key_of(name) != own]
        return tuple(found)

    # --- conversations

    def _open_talks(self, query: Query) -> Talks | None:
        """Open the conversations and read what is new in them; None if they can't answer this request."""
        request = self.request
        narrowed = request.where or request.linked_to or request.links_to or request.about or request.topics
        within = query.filter
        asked = (not within.tiers or "talk" in within.tiers) and "talk" not in within.not_tiers
        talks = self.workspace.talks() if asked and not narrowed and not within.tags else None
        if talks is None or (request.session is not None and not talks.index.exists):
            return None
        if request.session is None:
            try:
                report = talks.refresh()
            except errors.UnwritableError as error:  # the vault can still be searched
                self.notices.append(f"new conversations are not searched: {error.message}")
                return talks if talks.index.exists else None
            self.notices += report.notices
            self._unread_logs = report.stale
        return talks

    def _conversation_filter(self, reader: TalkReader, query: Query) -> Filter:
        """Return the filter for conversations: those of the project, or outside projects those without one."""
        scope, session = self.scope, self.request.session
        reader.most = None if session is None else HURRIED
        own = reader.talks_of_log(session) if session else ()
        return query.narrowed(scope)._replace(scopes=reader.visible_scopes(scope), not_notes=own)

    def _vector_for(
        self, talks: IndexReader, query: Query, ours: QueryVector | None, vault: IndexReader, compares_meaning: bool
    ) -> QueryVector | None:
        """Return the vector of the query for another index, None if it can't be compared there.

        Args:
            talks: the other index.
            query: parsed.
            ours: the vector for the vault; used if the other index has vectors of the same model.
            vault: the index of the vault; if it has no vectors, the vector is made for the other index.
            compares_meaning: whether the question is compared by meaning.
        """
        if not compares_meaning or talks.fingerprint is None:
            return None
        if vault.fingerprint is not None:
            return ours if vault.fingerprint == talks.fingerprint else None
        return self._vector(query, talks, None)

    def _conversation_hits(
        self, talks: Talks, reader: TalkReader, query: Query, vector: QueryVector | None
    ) -> list[Hit]:
        """Return the passages of conversations that answer, with places in the log, day and speaker."""

        def read(path: str) -> bytes:
            if talks.is_gone(log := index.database.log_of(path)):
                raise errors.NotFoundError(f"{log} is gone")
            return "\n".join(reader.text(path)).encode()

        found = recall.search.search(
            reader, query, self.request, vector=vector, narrowed=self._conversation_filter(reader, query), read=read
        ).hits
        kept = []
        for hit in found:
            log = index.database.log_of(hit.path)
            shown = reader.shown(hit.path, hit.start_line, hit.end_line)
            if talks.has_moved(*reader.place(hit.path)) or len(shown) != hit.text.count("\n") + 1:
                continue
            if any(
                self._is_withheld(talks, reader, hit.path, at, line.day)
                for at, line in enumerate(shown, hit.start_line)
            ):
                continue
            best = shown[hit.best]
            hit.places, hit.indexed = tuple(line.line for line in shown), (hit.path, hit.start_line, hit.end_line)
            hit.path, hit.start_line, hit.end_line = log, hit.places[0], max(hit.places)
            hit.date, hit.day, hit.speaker = best.day or None, best.day, best.speaker
            hit.answer = "" if talks.withheld(best.answer, best.day, log) else best.answer
            hit.obsidian_url = ""
            kept.append(hit)
        return kept

    def _widen_conversation(self, hit: Hit, talks: Talks, reader: TalkReader) -> None:
        """Add lines of its conversation before and after a hit, up to a turn that was forgotten."""
        path, first, last = hit.indexed
        lines, count = reader.text(path), self.request.around
        low, high = max(1, first - count), min(len(lines), last + count)
        shown = reader.shown(path, low, high)
        if len(shown) != high - low + 1 or lines[first - 1 : last] != hit.text.split("\n"):
            return
        hidden = [at for at, line in enumerate(shown, low) if self._is_withheld(talks, reader, path, at, line.day)]
        start = max([at + 1 for at in hidden if at < first], default=low)
        end = min([at - 1 for at in hidden if at > last], default=high)
        hit.best += first - start
        hit.text, hit.around = "\n".join(lines[start - 1 : end]), count
        hit.places = tuple(line.line for line in shown[start - low : end - low + 1])
        hit.start_line, hit.end_line = hit.places[0], max(hit.places)

    def _is_withheld(self, talks: Talks, reader: TalkReader, path: str, number: int, day: str) -> bool:
        """Return whether the turn with this line must not be shown any more, because it was forgotten."""
        if not self.workspace.forgets:  # usually, and then no turn is read for it
            return False
        return talks.withheld(reader.turn(path, number), day, index.database.log_of(path))

    def _add_conversations(
        self, result: SearchResult, said: list[Hit], query: Query, reader: IndexReader, talks: Talks
    ) -> None:
        """Merge the hits of conversations into the result, after those of a note that the question names."""
        shares = talks.index.read(lambda other: recall.search.Shares(query, (reader, other)))
        said = recall.scores.not_in_vault(reader, result.hits, said, shares.words)
        named = [hit for hit in result.hits if hit.score >= recall.search.LEAST_NAMED]
        others = [hit for hit in result.hits if hit.score < recall.search.LEAST_NAMED]
        hits = [*named, *recall.search.merged(others, said, shares.sort_key)]
        result.show(hits, self.request.limit)
        result.stale += self._unread_logs

    def _conversation_lines(
        self, talks: Talks, reader: TalkReader, query: Query, vector: QueryVector | None, narrowed: Filter
    ) -> list[Answer]:
        """Return the lines of conversations that answer, as a prompt shows them: with day and speaker; the lines are
        added to :attr:`conversations` too.

        Args:
            talks: the conversations.
            reader: of their index.
            query: parsed.
            vector: of the query for that index.
            narrowed: which conversations may answer.
        """
        found: list[Answer] = []
        for answer in recall.search.ranked(reader, query, narrowed, vector, self.mode)[:MOST_LINES]:
            (shown,) = reader.shown(answer.path, answer.number, answer.number) or (None,)
            if shown is None or self._is_withheld(talks, reader, answer.path, answer.number, shown.day):
                continue
            if talks.has_moved(*reader.place(answer.path)):
                continue
            name = f"conversation {os.path.basename(answer.path)[:60]}"  # no path of this machine is shown
            day = f"{shown.day} " if shown.day else ""
            text = f"- {day}{shown.speaker} said: {answer.text.strip()}"
            self.conversations.put(name, answer.number, text, answer.text)
            if narrowed.tags:
                self.conversations.automated.add(name)
            found.append(recall.search.Answer(name, answer.number, text, day=shown.day))
        return found

    def _shared_lines(
        self, shared: SharedVault, query: Query, reader: IndexReader, vector: QueryVector | None, other: IndexReader
    ) -> tuple[list[Answer], Shares]:
        """Return the lines of a shared vault that answer, as a prompt shows them, and the shares of the question that
        lines cover; the lines are added to :attr:`conversations` too.
        """
        theirs = self._query_for(query, other)
        known = self._vector_for(other, query, vector, reader, self._compares_meaning(query))
        found: list[Answer] = []
        notes: dict[str, list[str]] = {}
        for answer in recall.search.ranked(other, theirs, theirs.narrowed(self.scope), known, self.mode)[:MOST_LINES]:
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
            self.conversations.shared[name] = (shared.name, answer.path)
            self.conversations.put(name, answer.number, text)
            found.append(recall.search.Answer(name, answer.number, text, day=answer.day))
        return found, recall.search.Shares(query, (reader, other))

    # --- the vector of the question

    def _without_model(self, error: errors.TarsError) -> None:
        """Add a notice that the search is by words only.

        Raises:
            TarsError: the given error, if the search is by meaning only.
        """
        if self.mode == "semantic":
            raise error
        self.notices.append(f"words only: {error.message}: tars-memory status")

    def _embed_pending(self, opened: index.indexer.Index, report: RefreshReport, text: str) -> bool:
        """Make the vectors of chunks that have none yet, if they are few and the query has to open the model anyway.

        Returns:
            False, with a notice, if the model can't be used.

        Raises:
            ModelUnavailableError: the model can't be used, and the search is by meaning only.
            UnwritableError: a file can't be written, and the search is by meaning only.
        """
        workspace, patience, most = self.workspace, self.workspace.patience, index.intake.SEARCH_EMBEDS
        queries = self.searcher.queries(workspace.settings.embedding.model)
        try:
            few = 0 < report.pending_vectors <= most
            hurried = patience is not None and patience < PREPARED_IN and workspace.embedder is None
            if few and not (hurried and not workspace.is_prepared()):
                if (embedder := workspace.embedder) is None and not queries.are_at_hand(text):
                    embedder = workspace.opened_embedder = workspace.open_embedder()
                if embedder is not None:
                    wait = index.database.WRITER_WAIT if patience is None else index.intake.READER_WAIT
                    report.pending_vectors = opened.embed_pending(most, wait=wait, opened=embedder)
        except (errors.ModelUnavailableError, errors.UnwritableError) as error:
            self._without_model(error)
            return False
        if report.pending_vectors:
            workspace.finish_in_background()
        return True

    def _vector(self, query: Query, reader: IndexReader, report: RefreshReport | None) -> QueryVector | None:
        """Return the vector of the query; None if the index has no vectors, if the model can't read the script or,
        with a notice, if it can't be used.

        Args:
            query: parsed.
            reader: the index.
            report: of its update; None for another index than the vault's.
        """
        workspace = self.workspace
        try:
            missing = 0 if report is None or report.reading else report.pending_vectors
            if missing and (notice := workspace.coverage(missing)):
                self.notices.append(notice)
            model = self._model_of(reader)
            if not model:
                return None
            # words tell no language for sure that no list has: Catalan has the function words of Spanish
            named = "the language of this question" if query.language and query.is_latin else query.language
            self.notices += self.searcher.unknown_language(named, model)
            ours = workspace.embedder
            if self.mode != "semantic" and not query.is_latin:  # else texts in other scripts are searched by words only
                known = ours or index.models.manifest_of(model, workspace.settings.places.cache)
                if known.scripts == index.models.LATIN:
                    return None
            if ours is not None:
                return ours.embed_query(index.vectors.without_credentials(query.meaning))
            return self.searcher.queries(model).query(query.meaning)
        except (errors.ModelUnavailableError, errors.UnwritableError) as error:
            self._without_model(error)
            return None

    def _model_of(self, reader: IndexReader) -> str:
        """Return the name of the model of the index's vectors: the one in the settings or, with a notice, another one
        that is installed; '' if there are no vectors yet. Vectors of two models are never compared.

        Raises:
            ModelUnavailableError: the vectors are of a model that is not installed; or there are none, and the search
                is by meaning only.
        """
        name, held = self.workspace.settings.embedding.model, reader.fingerprint
        if held is None:
            if self.mode == "semantic" and reader.chunk_count():
                self.workspace.demand_model()
                raise errors.ModelUnavailableError("no passage has a vector yet", "tars-memory reindex makes them")
            return ""
        known = self.workspace.embedder or self.workspace.opened_embedder or self.searcher.queries(name).manifest
        if held == known.fingerprint:
            return name
        if self.workspace.embedder is None:
            former = index.models.made_by(held, self.workspace.settings.places.cache)
            if former is not None:
                goes_on = self.workspace.finish_in_background()
                how = "; they are being made in the background" if goes_on else ": tars-memory reindex makes them"
                self.notices.append(f"until all vectors are made with {name}, {former.name} is used{how}")
                return former.name
        raise errors.ModelUnavailableError("the vectors are another model's", "tars-memory reindex makes new ones")

    def _narrow(self, query: Query, reader: IndexReader) -> None:
        """Set which notes and passages may answer a query, by properties, links, names and topics of the request."""
        request, scope = self.request, self.scope
        if request.where or request.linked_to or request.links_to:
            wanted = request.where, request.linked_to, request.links_to
            notes = recall.names.selected(reader, self.workspace.whole, *wanted, scope=scope)
            query.filter = query.filter._replace(notes=notes)
        if request.about or request.topics:
            query.selection = recall.names.selection(reader, request.about, request.topics, scope=scope)


def warning(language: str) -> str:
    """Return the warning for a query in a language that an English model can't read."""
    return f"the model knows English, not {language}: tars-memory models list"
