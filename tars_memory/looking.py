"""What can be asked of a vault's memory: nothing here writes into the vault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tars_memory.errors import NotFoundError, UsageError, counted
from tars_memory.options import ALLOWED, FactsOptions, RecallOptions, WindowOptions
from tars_memory.rooms import Rooms

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Sequence
    from datetime import date

    from tars_memory.capture.model import Today
    from tars_memory.curation.why import Trail
    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.evaluation import Evaluation
    from tars_memory.recall.links import NoteLinks
    from tars_memory.recall.model import SearchResult
    from tars_memory.recall.packing.context import Context as Packed
    from tars_memory.recall.query import Query
    from tars_memory.recall.ranking.ranked import Answer
    from tars_memory.recall.selecting import Selection
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.history import JournalEntry


REVIEW_NOTE = "Review.md"
"""Where the person may have ticked proposals: :attr:`tars_memory.vault.layout.Layout.review`, without its import."""


class Looking(Rooms):
    """The use cases that only read; see :class:`tars_memory.memory.Memory`."""

    def today(self) -> Today:
        """Today's note."""
        from tars_memory.capture.daily import today

        return today(self.capture(writes=False))

    def show(self, target: str) -> Entry:
        """The entry with this REF, or the only one that these words fit."""
        from tars_memory.capture.listing import show

        return show(self.capture(writes=False), target)

    def why(self, target: str) -> Trail:
        """Where an entry came from: what was said, who approved it, what it replaced; ``target`` as for ``show``."""
        from tars_memory.curation.why import why

        return why(self.capture(writes=False), target)

    def list(
        self,
        tier: str | None = None,
        section: str | None = None,
        *,
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
    ) -> builtins.list[Entry]:
        """The entries of a tier, or of Memory.md and Procedural.md; ``about`` and ``topics`` as for :meth:`search`."""
        from tars_memory.capture.listing import entries

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

    def timeline(self, about: str, *, project: str | None = None) -> builtins.list[Fact]:
        """All facts about a name, the oldest first; those without a date last."""
        found = self.facts(about, everything=True, project=project)
        return sorted(found, key=lambda fact: (fact.since is None, str(fact.since)))

    def search(
        self,
        text: str,
        *,
        mode: str | None = None,
        tiers: Iterable[str] = (),
        tags: Iterable[str] = (),
        paths: Iterable[str] = (),
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        explain: bool = False,
        project: str | None = None,
        where: Iterable[str] = (),
        linked_to: Iterable[str] = (),
        links_to: Iterable[str] = (),
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
        expired: bool = False,
        as_of: date | None = None,
    ) -> SearchResult:
        """Passages that answer, best first; none if nothing is relevant.

        The index is refreshed first: what changed since the last look is read. Without a usable model a hybrid search
        answers by keywords and says so. ``where`` are conditions on properties (``status=done``); ``linked_to`` keeps
        the notes that a named one links to, ``links_to`` those that link to it; ``about`` keeps the passages about
        somebody or something, ``topics`` those with a tag or of a session with that topic. What has ended by today
        (``as_of``: by that day, and facts that began later) is left out, unless ``expired``.

        Raises:
            UsageError: a bad date, tier or mode.
            ModelUnavailableError: ``mode="semantic"`` and the model can't be used.
        """
        from tars_memory.recall import query as queries
        from tars_memory.recall.search import search

        options = self.settings.options("recall", RecallOptions)
        mode = mode or options.mode
        if mode not in ALLOWED["recall.mode"]:
            raise UsageError(f"mode {mode!r} is unknown", f"it is one of {', '.join(map(str, ALLOWED['recall.mode']))}")
        now = self.now()
        query = queries.parse(
            text, now.date(), tiers=tuple(tiers), tags=tuple(tags), paths=tuple(paths), since=since, until=until
        )
        index = self.index()
        report = index.refresh()
        needed = mode == "semantic"
        told = [*report.notices]
        meant = mode != "lexical" and bool(query.meaning) and self._fill(report, told, needed=needed)

        wanted = (tuple(where), tuple(linked_to), tuple(links_to))
        told_of = (tuple(about), tuple(topics))
        query.on, query.held = (None, None) if expired else (as_of or query.on, as_of)
        scope = self.scope(project)

        def question(reader: IndexReader) -> SearchResult:
            notices = [*told]
            if any(wanted):
                from tars_memory.recall.links import selected

                query.notes = selected(reader, *wanted, scope=scope)
            if any(told_of):
                from tars_memory.recall.selecting import selection

                query.selection = selection(reader, *told_of, scope=scope)
            vector = self._query_vector(query, reader, report, notices, needed=needed) if meant else None
            return search(
                reader,
                query,
                vector=vector,
                mode=mode,
                scope=scope,
                limit=limit or options.limit,
                read=self.vault.read,
                own=self.interactive,
                vault_name=self.root.name,
                explain=explain,
                stale=report.stale,
                notices=notices,
            )

        result = index.read(question)
        result.unmounted = report.unmounted
        return result

    def context(
        self,
        question: str = "",
        *,
        budget: int | None = None,
        days: int | None = None,
        file_cap: int | None = None,
        project: str | None = None,
        loaded: bool = True,
        mode: str | None = None,
        expired: bool = False,
        window: int | None = None,
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
        as_of: date | None = None,
    ) -> Packed:
        """What a model should know before it answers, packed for a prompt; nothing is written and no model is asked.

        Args:
            question: in plain words; without one nothing is recalled.
            budget: most tokens (2,000).
            days: daily notes, today's included (1).
            file_cap: most characters of one always-loaded note (20,000).
            project: whose notes may be used too, as for :meth:`facts`.
            loaded: False for facts and recalled lines alone, without the notes that are always loaded.
            mode: of the search, as for :meth:`search`.
            expired: also what has ended.
            about: only facts and recalled lines about them; what is always loaded stays.
            topics: likewise, with these tags or of sessions with these topics.
            as_of: the day on which facts and lines have to hold, if not today.
            window: tokens of a model's window, instead of a budget: of it what is loaded and what is recalled each
                take the share that ``[window]`` gives them.

        Raises:
            UsageError: a number below zero, budget and window, shares of more than the whole, or a project that can't
                be one.
        """
        from tars_memory.recall.decided import looked_up
        from tars_memory.recall.packing import context as packing
        from tars_memory.recall.ranking.ranked import ranked
        from tars_memory.vault.writing.typed import typed_lines

        mode = mode or self.settings.options("recall", RecallOptions).mode
        scope = self.scope(project)
        recall: int | None = None
        if window is not None:
            if budget is not None:
                raise UsageError("both a budget and a window", "give one of them")
            budget, recall = self._shares(window)
        notices: builtins.list[str] = []

        def answers(query: Query) -> builtins.list[Answer]:
            report = self.index().refresh()
            notices.extend(report.notices)
            if report.stale:
                notices.append(
                    f"the index is behind by {counted(report.stale, 'file')}: tars-memory reindex brings it up to date"
                )

            needed = mode == "semantic"
            meant = mode != "lexical" and bool(query.meaning) and self._fill(report, notices, needed=needed)

            def ask(reader: IndexReader) -> builtins.list[Answer]:
                vector = self._query_vector(query, reader, report, notices, needed=needed) if meant else None
                return ranked(reader, query, vector=vector, mode=mode, scope=scope)

            return self.index().read(ask)

        told_of = (tuple(about), tuple(topics))
        journal = self.store(writes=False).journal
        packed = packing.context(
            self.whole,
            question,
            now=self.now(),
            typed=lambda path: typed_lines(journal, path),
            answers=answers,
            decided=lambda names: self.index().read(lambda reader: looked_up(reader, names)),
            budget=packing.BUDGET if budget is None else budget,
            days=packing.DAYS if days is None else days,
            file_cap=packing.FILE_CAP if file_cap is None else file_cap,
            project=scope,
            loaded=loaded,
            facts_options=self.settings.options("facts", FactsOptions),
            expired=expired,
            recall=recall,
            as_of=as_of,
            selection=self._selection(*told_of, scope) if any(told_of) else None,
            at_odds=_at_odds,
        )
        packed.notices += notices
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


def _at_odds(held: Sequence[str], said: Sequence[str]) -> builtins.list[tuple[int, int]]:
    """:func:`tars_memory.curation.alike.at_odds`, imported when there is something to compare."""
    from tars_memory.curation.alike import at_odds

    return at_odds(held, said)
