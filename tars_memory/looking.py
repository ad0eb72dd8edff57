"""What can be asked of a vault's memory: nothing here writes into the vault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory.errors import NotFoundError, UnwritableError, UsageError, counted
from tars_memory.rooms import Rooms
from tars_memory.settings import ALLOWED, FactsOptions, RecallOptions, ReviewOptions, WindowOptions

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable
    from datetime import date

    from tars_memory.capture.remember import Today
    from tars_memory.curation.reviewing.review import Review
    from tars_memory.curation.why import Trail
    from tars_memory.index.embedding.queryvector import QueryVector
    from tars_memory.index.filters import Filter
    from tars_memory.index.intake import RefreshReport
    from tars_memory.index.reader import IndexReader
    from tars_memory.index.talks import TalkReader
    from tars_memory.recall.evaluation import Evaluation
    from tars_memory.recall.links import NoteLinks
    from tars_memory.recall.model import Hit, SearchResult
    from tars_memory.recall.packing.context import Context as Packed
    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.ranked import Answer
    from tars_memory.recall.request import SearchRequest
    from tars_memory.recall.selecting import Selection
    from tars_memory.recall.talks import Conversations
    from tars_memory.talks import Talks
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.history import JournalEntry


REVIEW_NOTE = "Review.md"
"""Where the person may have ticked proposals: :attr:`tars_memory.vault.layout.Layout.review`, without its import."""


HURRIED = 20_000
"""Passages of conversations up to which a hook has all of them compared by meaning: about 10 ms of a processor."""
TOLD = 40
"""Lines of conversations that a prompt may be given at most."""


class Looking(Rooms):
    """The use cases that only read; see :class:`tars_memory.memory.Memory`."""

    def today(self) -> Today:
        """Today's note."""
        from tars_memory.capture.remember import today

        return today(self.capture(writes=False))

    def show(self, target: str) -> Entry:
        """The entry with this REF, or the only one that these words fit."""
        from tars_memory.capture.amend import find

        return find(self.capture(writes=False), self._meant(target))

    def why(self, target: str) -> Trail:
        """Where an entry came from: what was said, who approved it, what it replaced; ``target`` as for ``show``."""
        from tars_memory.curation.why import why

        return why(self.capture(writes=False), self._meant(target))

    def review(self, *, writes: bool = True) -> Review:
        """What waits for the person's word, and how it is decided: see :class:`curation.reviewing.review.Review`.

        Args:
            writes: False for looking alone: nothing is made then, not even the vault's id.
        """
        from tars_memory.curation.reviewing.review import Review

        return Review(self.capture(writes=writes), self.settings.options("review", ReviewOptions))

    def _meant(self, target: str) -> str:
        """Of a proposal's id the REF of the line that it waits to decide; anything else as it is."""
        name = target.strip().removeprefix("^").removeprefix("r-")
        is_id = len(name) == 8 and not set(name) - set("0123456789abcdef")
        return (self.review(writes=False).line_of(name) if is_id else "") or target

    def list(
        self,
        tier: str | None = None,
        section: str | None = None,
        *,
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
    ) -> builtins.list[Entry]:
        """The entries of a tier, or of Memory.md and Procedural.md; ``about`` and ``topics`` as for :meth:`search`."""
        from tars_memory.capture.amend import entries

        found = entries(self.capture(writes=False), tier, section)
        told_of = (tuple(about), tuple(topics))
        return self._selection(*told_of, self.scope(None)).entries(found) if any(told_of) else found

    def history(self, limit: int | None = 20, path: str | None = None) -> builtins.list[JournalEntry]:
        """What was written in our scope, newest first."""
        from itertools import islice

        from tars_memory.vault.writing.history import of_scope

        ours = of_scope(self.store(writes=False).history(path=path), self.vault.layout)
        return list(islice(ours, limit))

    def facts(
        self,
        about: str | None = None,
        *,
        as_of: date | None = None,
        everything: bool = False,
        project: str | None = None,
        topics: Iterable[str] = (),
    ) -> builtins.list[Fact]:
        """What is true today, or held on a day, in the order of Facts.md.

        Args:
            about: a name, or words of one, as subject or object; who is called just so comes first. None: all.
            as_of: the day; None: today.
            everything: what has ended and what is to come as well.
            project: whose facts belong to it too; None for the one that is chosen, ``none`` for none.
            topics: only those with all of these tags, as for :meth:`search`.
        """
        from tars_memory.recall import facts

        day = None if everything else as_of or self.now().date()
        scope = self.scope(project)
        self.notices += self.index().refresh().notices
        found = self.index().read(lambda reader: reader.facts(scope, on=day))
        if tags := tuple(topics):
            selected = self._selection((), tags, scope)
            found = [fact for fact in found if selected.keeps(fact.path, (fact.subject,), f"- {fact.object}")]
        if about is None:
            return found
        told = facts.about(found, about)
        if not told and not tags:
            every = self.index().read(lambda reader: reader.facts(scope))
            near = facts.near(every, about)
            if facts.about(every, about):
                self.notices.append(f"what is known about {about!r} has ended or is to come: --all lists it")
            elif near:
                self.notices.append(f"nothing is known about {about!r}; near: {', '.join(near)}")
        return told

    def links(self, name: str, *, project: str | None = None) -> NoteLinks:
        """Where a note's links lead, and which notes link to it.

        Args:
            name: of the note, or its path, as in a link.
            project: whose notes count too, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
        """
        from tars_memory.recall.links import links

        scope = self.scope(project)
        self.notices += self.index().refresh().notices
        return self.index().read(lambda reader: links(reader, self.whole, name, scope=scope))

    def note_called(self, name: str, *, project: str | None = None) -> str:
        """The path of the note of that name.

        Args:
            name: its title, file name or alias, however it is typed; or its path.
            project: whose notes count too, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
            UsageError: several have the name.
        """
        from tars_memory.recall.links import called

        scope = self.scope(project)
        self.notices += self.index().refresh().notices
        return self.index().read(lambda reader: called(reader, name, scope=scope))

    def timeline(self, about: str, *, project: str | None = None) -> builtins.list[Fact]:
        """All facts about a name, the oldest first; those without a date last."""
        found = self.facts(about, everything=True, project=project)
        return sorted(found, key=lambda fact: (fact.since is None, str(fact.since)))

    def search(self, request: SearchRequest | str, **asked: Any) -> SearchResult:
        """Passages that answer, best first; none if nothing is relevant.

        The index is refreshed first: what changed since the last look is read. Without a usable model a hybrid search
        answers by keywords and says so. What has ended by today (``as_of``: by that day, and facts that began later) is
        left out, unless ``expired``.

        Args:
            request: the whole request, or its text.
            asked: other fields of :class:`tars_memory.recall.request.SearchRequest`, by name.

        Raises:
            UsageError: a bad date, tier or mode.
            ModelUnavailableError: ``mode="semantic"`` and the model can't be used.
        """
        return Searcher(self, self._request(request, asked)).search()

    def _request(self, request: SearchRequest | str, asked: dict[str, Any]) -> SearchRequest:
        """A request with mode, limit and project as they count.

        Raises:
            UsageError: no such mode, or a project that can't be one.
        """
        from datetime import date

        from tars_memory.recall.request import SearchRequest

        if isinstance(request, str):
            request = SearchRequest(request)
        scalar = (str, int, date, type(None))
        given: dict[str, Any] = {name: v if isinstance(v, scalar) else tuple(v) for name, v in asked.items()}
        request = request._replace(**given)
        options = self.settings.options("recall", RecallOptions)
        mode = request.mode or options.mode
        if mode not in ALLOWED["recall.mode"]:
            raise UsageError(f"mode {mode!r} is unknown", f"it is one of {', '.join(map(str, ALLOWED['recall.mode']))}")
        return request._replace(mode=mode, limit=request.limit or options.limit, project=self.scope(request.project))

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
        """What a model should know before it answers, packed for a prompt; nothing is written and no model is asked.

        Args:
            question: in plain words; without one nothing is recalled.
            budget: most tokens (2,000).
            days: daily notes, today's included (1).
            file_cap: most characters of one always-loaded note (20,000).
            loaded: False for facts and recalled lines alone, without the notes that are always loaded.
            window: tokens of a model's window, instead of a budget: of it what is loaded and what is recalled each
                take the share that ``[window]`` gives them.
            asked: ``project``, ``mode``, ``expired``, ``as_of``, ``about``, ``topics``, as for :meth:`search`; the last
                two narrow facts and recalled lines alone.

        Raises:
            UsageError: a number below zero, budget and window, shares of more than the whole, or a project that can't
                be one.
        """
        from tars_memory.recall.decided import outdated
        from tars_memory.recall.packing import context as packing
        from tars_memory.recall.talks import Conversations
        from tars_memory.vault.writing.history import typed_lines

        request = self._request(question, asked)
        recall: int | None = None
        if window is not None:
            if budget is not None:
                raise UsageError("both a budget and a window", "give one of them")
            budget, recall = self._shares(window)
        scope = request.project or ""
        told_of = (request.about, request.topics)
        on = None if request.expired else request.as_of or self.now().date()
        journal = self.store(writes=False).journal
        searcher = Searcher(self, request)
        searcher.said = Conversations()
        packed = packing.context(
            self.whole,
            question,
            now=self.now(),
            typed=lambda path: typed_lines(journal, path),
            answers=searcher.answers,
            decided=lambda names: self.index().read(lambda reader: outdated(reader, names, on)),
            budget=packing.BUDGET if budget is None else budget,
            days=packing.DAYS if days is None else days,
            file_cap=packing.FILE_CAP if file_cap is None else file_cap,
            project=scope,
            loaded=loaded,
            facts_options=self.settings.options("facts", FactsOptions),
            expired=request.expired,
            recall=recall,
            as_of=request.as_of,
            selection=self._selection(*told_of, scope) if any(told_of) else None,
            said=searcher.said,
        )
        packed.notices += searcher.notices
        return packed

    def _selection(self, about: tuple[str, ...], topics: tuple[str, ...], scope: str) -> Selection:
        """What is about somebody or something, or of a topic, in the notes as they are now."""
        from tars_memory.recall.selecting import selection

        self.notices += self.index().refresh().notices
        return self.index().read(lambda reader: selection(reader, about, topics, scope=scope))

    def _shares(self, window: int) -> tuple[int, int]:
        """Of a window the tokens for all that is told, and those of them that are for what is recalled.

        Raises:
            UsageError: the shares come to more than the whole.
        """
        parts = self.settings.options("window", WindowOptions)
        if parts.memory + parts.recall + parts.margin > 100:
            raise UsageError("the shares of [window] come to more than 100", "docs/settings.md lists them")
        recall = window * parts.recall // 100
        return window * parts.memory // 100 + recall, recall

    def evaluate(
        self,
        file: str | os.PathLike[str],
        *,
        mode: str | None = None,
        against: Iterable[str] = (),
        limit: int | None = None,
    ) -> Evaluation:
        """How well search answers the questions of a file, in one mode or in several; nothing is written.

        Args:
            file: JSON lines: ``{"query", "gold": [{"path", "line"?}], "category"?, "id"?}``.
            mode: of the search, as for :meth:`search`.
            against: modes to compare it with.
            limit: most hits of an answer (50).

        Raises:
            UsageError: the file can't be read, or a line of it is no question.
            ModelUnavailableError: ``semantic`` is among the modes, and the model can't be used.
        """
        from tars_memory.recall import evaluation

        try:
            questions = evaluation.questions(Path(file).read_bytes(), os.fspath(file))
        except OSError as error:
            raise UsageError(
                f"{os.fspath(file)} can't be read: {error.strerror}", "name a file of questions"
            ) from error
        limit = limit or evaluation.LIMIT

        def read(path: str) -> bytes:
            if not self.sees(path):
                raise NotFoundError(f"there is no note {path}")
            return self.vault.read(path)

        return evaluation.evaluate(
            questions,
            lambda text, mode: self.search(text, mode=mode, limit=limit),
            read,
            mode=mode or self.settings.options("recall", RecallOptions).mode,
            against=against,
            limit=limit,
        )


class Searcher:
    """One request on its way: the index is brought up to date, the question gets its vector, the index is asked.

    Attributes:
        notices: sentences for the person.
        said: takes the lines of conversations that answer, for a prompt.
    """

    def __init__(self, memory: Looking, request: SearchRequest) -> None:
        self.memory = memory
        self.request = request
        self.notices: builtins.list[str] = []
        self.said: Conversations | None = None

    def search(self) -> SearchResult:
        """The passages that answer.

        Raises:
            UsageError: a bad date or tier.
            ModelUnavailableError: the model can't be used, and the search is by meaning alone.
        """
        from tars_memory.recall import query as queries
        from tars_memory.recall.search import search

        memory, request = self.memory, self.request
        query = queries.parse(
            request.text, memory.now().date(), tiers=request.tiers, tags=request.tags, paths=request.paths,
            since=request.since, until=request.until,
        )  # fmt: skip
        query.on, query.held = (None, None) if request.expired else (request.as_of or query.on, request.as_of)
        talks = self._talks(query)
        report, meant = self._refresh(query)

        def ask(reader: IndexReader) -> SearchResult:
            self._narrow(query, reader)
            vector = self._vector(query, reader, report) if meant else None
            result = search(
                reader, query, request, vector=vector, read=memory.vault.read, own=memory.interactive,
                vault_name=memory.root.name,
            )  # fmt: skip
            if talks is not None:
                said = talks.index.read(
                    lambda other: self._said(talks, other, query, self._vector_for(other, query, vector, reader, meant))
                )
                self._merge(result, said, query, reader, talks)
            return result

        result = memory.index().read(ask)
        result.notices = [*dict.fromkeys(self.notices), *result.notices]
        result.stale, result.unmounted = result.stale + report.stale, report.unmounted
        return result

    def answers(self, query: Query) -> builtins.list[Answer]:
        """The lines that answer a question, best first."""
        from tars_memory.recall.ranking.ranked import narrowed_by, ranked

        report, meant = self._refresh(query)
        if report.stale and not report.reading:
            behind = f"the index is behind by {counted(report.stale, 'file')}"
            self.notices.append(f"{behind}: tars-memory reindex brings it up to date")
        request = self.request
        talks = self._talks(query)

        def ask(reader: IndexReader) -> builtins.list[Answer]:
            from tars_memory.recall.talks import Conversations, Shares, Told, merged

            vector = self._vector(query, reader, report) if meant else None
            narrowed = narrowed_by(query, request.project or "")
            found = ranked(reader, query, narrowed, vector=vector, mode=request.mode or "hybrid")
            if talks is None:
                return found

            def both(other: TalkReader) -> builtins.list[Answer]:
                shares = Shares(query, (reader, other))
                told = self.said = self.said or Conversations()
                said = self._told(talks, other, query, told, self._vector_for(other, query, vector, reader, meant))
                told.pair((*found, *said), said, shares)
                return merged(found, said, lambda one: Told(shares.of(one.text), one.day))

            return talks.index.read(both)

        return self.memory.index().read(ask)

    # --- conversations

    def _talks(self, query: Query) -> Talks | None:
        """The conversations, with what is new in them; None if they can't answer this request."""
        request = self.request
        narrowed = request.where or request.linked_to or request.links_to or request.about or request.topics
        asked = (not query.tiers or "talk" in query.tiers) and "talk" not in query.not_tiers
        talks = self.memory.talks() if asked and not narrowed and not query.tags else None
        if talks is None or (request.session is not None and not talks.index.exists):
            return None
        if request.session is None:
            try:
                report = talks.refresh()
            except UnwritableError as error:  # what the vault says is no worse for it
                self.notices.append(f"what is new in conversations is not searched: {error.message}")
                return talks if talks.index.exists else None
            self.notices += report.notices
            self._unread = report.stale
        return talks

    _unread = 0

    def _within(self, reader: TalkReader, query: Query) -> Filter:
        """Which conversations may answer: those of the project, or outside projects those of none."""
        from tars_memory.recall.ranking.ranked import narrowed_by

        scope, session = self.request.project or "", self.request.session
        reader.most = None if session is None else HURRIED
        return narrowed_by(query, scope, reader.outside(scope), reader.of_log(session) if session else ())

    def _vector_for(
        self, talks: TalkReader, query: Query, ours: QueryVector | None, vault: IndexReader, meant: bool
    ) -> QueryVector | None:
        """The query's vector for conversations: that for the vault, if theirs are of the same model.

        Without any in the vault it is asked for.
        """
        if not meant or talks.fingerprint is None:
            return None
        if vault.fingerprint is not None:
            return ours if vault.fingerprint == talks.fingerprint else None
        needed = self.request.mode == "semantic"
        return self.memory._query_vector(query, talks, None, self.notices, needed=needed)

    def _said(self, talks: Talks, reader: TalkReader, query: Query, vector: QueryVector | None) -> builtins.list[Hit]:
        """The passages of conversations that answer, each with where and when it was said."""
        from tars_memory.recall.search import search
        from tars_memory.talks import log_of

        def read(path: str) -> bytes:
            if talks.is_gone(log_of(path)):
                raise NotFoundError(f"{log_of(path)} is gone")
            return "\n".join(reader.text(path)).encode()

        found = search(reader, query, self.request, vector=vector, narrowed=self._within(reader, query), read=read).hits
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

    def _merge(
        self, result: SearchResult, said: builtins.list[Hit], query: Query, reader: IndexReader, talks: Talks
    ) -> None:
        """Put the hits of conversations among those of the vault."""
        from tars_memory.recall.once import untold
        from tars_memory.recall.talks import Shares, Told, merged

        shares = talks.index.read(lambda other: Shares(query, (reader, other)))
        hits = merged(
            result.hits, untold(reader, result.hits, said, shares.words), lambda hit: Told(shares.of(hit.text), hit.day)
        )
        result.hits = hits[: self.request.limit]
        result.more += len(hits) - len(result.hits)
        for rank, hit in enumerate(result.hits, start=1):
            hit.rank = rank
        result.abstained = not result.hits
        result.stale += self._unread

    def _told(
        self, talks: Talks, reader: TalkReader, query: Query, told: Conversations, vector: QueryVector | None
    ) -> builtins.list[Answer]:
        """The lines of conversations that answer, as a prompt shows them: with day and speaker."""
        from tars_memory.recall.ranking.ranked import Answer, ranked
        from tars_memory.talks import log_of

        found: builtins.list[Answer] = []
        mode = self.request.mode or "hybrid"
        for answer in ranked(reader, query, self._within(reader, query), vector=vector, mode=mode)[:TOLD]:
            (shown,) = reader.shown(answer.path, answer.number, answer.number) or (None,)
            if shown is None or talks.withheld(answer.text, shown.day, log_of(answer.path)):
                continue
            if talks.moved(*reader.place(answer.path)):
                continue
            name = self._called(answer.path)
            lines = told.lines.setdefault(name, [])
            lines += [""] * (answer.number - len(lines))
            day = f"{shown.day} " if shown.day else ""
            lines[answer.number - 1] = f"- {day}{shown.speaker} said: {answer.text.strip()}"
            text = lines[answer.number - 1]
            found.append(Answer(name, answer.number, text, day=shown.day))
        return found

    def _called(self, path: str) -> str:
        """What a prompt calls a conversation: no path of the machine is told."""
        return f"conversation {os.path.basename(path)[:60]}"

    # --- the index

    def _refresh(self, query: Query) -> tuple[RefreshReport, bool]:
        """The index brought up to date, and whether the question can be compared by meaning."""
        report = self.memory.look(self.request.text)
        self.notices += report.notices
        needed, wanted = self.request.mode == "semantic", self.request.mode != "lexical" and bool(query.meaning)
        return report, wanted and self.memory._fill(report, self.notices, query.meaning, needed=needed)

    def _vector(self, query: Query, reader: IndexReader, report: RefreshReport) -> QueryVector | None:
        needed = self.request.mode == "semantic"
        return self.memory._query_vector(query, reader, report, self.notices, needed=needed)

    def _narrow(self, query: Query, reader: IndexReader) -> None:
        """Which notes and passages may answer, by properties, links, names and topics."""
        request, scope = self.request, self.request.project or ""
        if request.where or request.linked_to or request.links_to:
            from tars_memory.recall.links import selected

            query.notes = selected(reader, request.where, request.linked_to, request.links_to, scope=scope)
        if request.about or request.topics:
            from tars_memory.recall.selecting import selection

            query.selection = selection(reader, request.about, request.topics, scope=scope)
