"""Memory: one short method for each use case. This is the Python API; the command line calls nothing else.

A use case is imported by the method that calls it, so that a command pays for its own room only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tars_memory.errors import ModelUnavailableError, UsageError
from tars_memory.rooms import Rooms
from tars_memory.settings import ALLOWED, FactsOptions, RecallOptions, ReviewOptions, TidyOptions

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date, datetime

    from tars_memory.capture.model import Receipt, Today
    from tars_memory.curation.archive import Archived
    from tars_memory.curation.extracted import Extracted, Prompts
    from tars_memory.curation.llm import LanguageModel
    from tars_memory.curation.review import Review
    from tars_memory.curation.tidy import Tidied
    from tars_memory.curation.why import Trail
    from tars_memory.index.indexer import RefreshReport
    from tars_memory.index.reader import IndexReader
    from tars_memory.recall.context import Context as Packed
    from tars_memory.recall.evaluation import Evaluation
    from tars_memory.recall.links import NoteLinks
    from tars_memory.recall.model import SearchResult
    from tars_memory.recall.query import Query
    from tars_memory.recall.ranked import Answer
    from tars_memory.vault.facts import Fact
    from tars_memory.vault.history import JournalEntry
    from tars_memory.vault.model import Actor, Entry
    from tars_memory.vault.store import Written
    from tars_memory.vault.template import InitReport


REVIEW_NOTE = "Review.md"
"""Where the person may have ticked proposals: :attr:`tars_memory.vault.layout.Layout.review`, without its import."""


class Memory(Rooms):
    """One vault's memory: what the commands do, as methods. See :class:`tars_memory.rooms.Rooms` for the arguments."""

    @classmethod
    def init(
        cls,
        path: str | os.PathLike[str],
        *,
        actor: Actor = "script",
        interactive: bool = False,
        now: datetime | None = None,
        dry_run: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> InitReport:
        """Make a vault, or take an existing folder as one: only what is missing is made, nothing is changed.

        Raises:
            VaultError: the path is no folder.
            UnwritableError: it can't be written.
        """
        from tars_memory.vault.template import fill_vault, imagined, make_root

        root = Path(path).expanduser()
        if dry_run and not os.path.lexists(root):
            return imagined(root)
        memory = cls(
            make_root(root),
            actor=actor,
            interactive=interactive,
            now=now,
            dry_run=dry_run,
            env=env,
        )
        report = fill_vault(memory.vault, memory.store(writes=not dry_run))
        report.notices.extend(memory.notices)
        return report

    # --- writing

    def remember(
        self, text: str, *, tier: str = "semantic", section: str | None = None, tags: Iterable[str] = ()
    ) -> Receipt:
        """Keep a fact in Memory.md, or with ``tier="procedural"`` a rule; an exact repeat is said, not written."""
        from tars_memory.capture.remember import remember

        self.take_ticks()
        return remember(self._keeping(text), text, tier=tier, section=section, tags=tuple(tags))

    def log(self, text: str) -> Receipt:
        """Add a line with the time to today's note."""
        from tars_memory.capture.daily import log

        self.take_ticks()
        return log(self._keeping(text), text)

    def feedback(self, good: bool, note: str, *, question: str | None = None, answer: str | None = None) -> Receipt:
        """Note what went well (rewards.md) or badly (corrections.md)."""
        from tars_memory.capture.feedback import feedback

        self.take_ticks()
        return feedback(self._keeping(note), good, note, question, answer)

    def edit(self, target: str, text: str) -> Receipt:
        """Give an entry other words; ``target`` is its REF, or words that fit it alone."""
        from tars_memory.capture.amend import edit

        self.take_ticks()
        return edit(self._keeping(text), target, text)

    def forget(self, target: str, *, everywhere: bool = False) -> Receipt:
        """Remove an entry; its notices say which copies remain.

        Args:
            target: its REF, or words that fit it alone.
            everywhere: also purge it, and what it said before it was edited, from journal, spool and index; it can't be
                undone then. What was forgotten already can still be purged.
        """
        from tars_memory import forgetting
        from tars_memory.capture.amend import forget

        self.take_ticks()
        if everywhere:
            return forgetting.forget_everywhere(self, target)
        receipt = forget(self.capture(), target)
        if receipt.written:
            receipt.notices += forgetting.COPIES
        return receipt

    def add_fact(
        self, subject: str, predicate: str, object_: str, *, since: date | None = None, until: date | None = None
    ) -> Receipt:
        """Add a fact to Facts.md; one of which only one holds at a time ends the old one, as the notices say."""
        from tars_memory.capture.facts import add

        kept = self._keeping(f"{subject} {predicate}:: {object_}")
        return add(kept, subject, predicate, object_, since=since, until=until)

    def end_fact(self, target: str, *, on: date | None = None) -> Receipt:
        """Say when a fact stopped being true (today unless said)."""
        from tars_memory.capture.facts import end

        return end(self.capture(), target, on)

    def remove_fact(self, target: str) -> Receipt:
        """Take a fact out, as if it had never been said."""
        from tars_memory.capture.facts import remove

        return remove(self.capture(), target)

    def undo(self, txn: str | None = None, *, last: int = 1) -> builtins.list[Written]:
        """Take back the last transactions, or the one named; an undo can be undone by its name.

        Raises:
            UsageError: it would change a rule, and no person sits at a terminal.
            NotFoundError: there is nothing to undo.
            ConflictError: a note has moved on too far; nothing of that note was written.
        """
        from tars_memory.capture.undo import undo

        return undo(self.capture(), txn, last=last)

    # --- keeping it tidy

    def tidy(self, *, apply: bool = False, ignore: bool = False, ids: Iterable[str] = ()) -> Tidied:
        """What is to be tidied in the notes of ours; nothing is written unless it is asked for.

        Args:
            apply: remove what loses nothing, offer for review what has a change to offer.
            ignore: never tell of these findings again, as long as their words stay.
            ids: only these findings.

        Raises:
            NotFoundError: there is no finding with one of these ids.
            UnwritableError: the vault can't be written.
        """
        from tars_memory.curation.tidy import tidy

        if apply or ignore:
            self.take_ticks()
        entries = self.settings.options("tidy", TidyOptions).section_entries
        context = self.capture(writes=apply or ignore)
        return tidy(context, section_entries=entries, apply=apply, ignore=ignore, ids=tuple(ids))

    def archive(self, *, apply: bool = False) -> Archived:
        """Which daily notes are past the window and go to ``archive/``; with ``apply`` they are moved.

        Raises:
            UsageError: the vault's daily note format can't be used.
            UnwritableError: the vault can't be written.
        """
        from tars_memory.curation.archive import archive

        if apply:
            self.take_ticks()
        options = self.settings.options("tidy", TidyOptions)
        window_days = self.settings.options("review", ReviewOptions).window_days
        return archive(self.capture(writes=apply), days=options.daily_days, window_days=window_days, apply=apply)

    # --- drawing from conversations

    def extract(
        self,
        sources: Iterable[str | os.PathLike[str] | BinaryIO],
        *,
        model: LanguageModel | str | None = None,
        keep: str | None = None,
        force: bool = False,
        auto: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Extracted:
        """Draw candidates out of conversations: ``[extracted]`` lines in the notes of their days, a note a session.

        Args:
            sources: files, folders, or binary streams of chat logs in any of the known shapes.
            model: whom to ask; a name as litellm knows it; ``"none"`` for the built-in rules; None for what is set.
            keep: what a session note keeps of the turns: ``facts``, ``quotes`` or ``full``; None for what is set.
            force: conversations with few turns of a person too.
            auto: nobody typed this: with ``TARS_AUTO_EXTRACT=0`` nothing is done.
            progress: is told each conversation's source before it is looked at.

        Raises:
            ModelUnavailableError: the model can't be used, and nothing was written.
            UsageError: no such ``keep``; or the vault's daily note format can't be used.
            UnwritableError: the vault can't be written.
        """
        from tars_memory.curation import extract

        self.take_ticks()
        return extract.from_sources(
            self.capture, self.settings, sources, model, keep=keep, force=force, auto=auto, progress=progress
        )

    def extract_prompts(
        self,
        sources: Iterable[str | os.PathLike[str] | BinaryIO],
        *,
        model: LanguageModel | str | None = None,
        force: bool = False,
    ) -> Prompts:
        """What :meth:`extract` would ask a model, with tokens and cost; nothing is sent or written."""
        from tars_memory.curation import extract

        return extract.asked(self.capture(writes=False), self.settings, sources, model, force=force)

    # --- deciding

    def review(self, *, writes: bool = True) -> Review:
        """What waits for the person's word, and how it is decided; see :class:`tars_memory.curation.review.Review`.

        Args:
            writes: False for looking alone: nothing is made then, not even the vault's id.
        """
        from tars_memory.curation.review import Review

        return Review(self.capture(writes=writes), self.settings.options("review", ReviewOptions))

    # --- looking

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

    def list(self, tier: str | None = None, section: str | None = None) -> builtins.list[Entry]:
        """The entries of a tier, or of Memory.md and Procedural.md."""
        from tars_memory.capture.listing import entries

        return entries(self.capture(writes=False), tier, section)

    def history(self, limit: int | None = 20, path: str | None = None) -> builtins.list[JournalEntry]:
        """What was written, newest first."""
        return list(self.store(writes=False).history(limit, path))

    def facts(
        self,
        about: str | None = None,
        *,
        as_of: date | None = None,
        everything: bool = False,
        project: str | None = None,
    ) -> builtins.list[Fact]:
        """What is true today, or held on a day, in the order of Facts.md.

        Args:
            about: a name, as subject or object; None: all.
            as_of: the day; None: today.
            everything: what has ended and what is to come as well.
            project: whose facts belong to it too.
        """
        from tars_memory.vault import facts

        day = None if everything else as_of or self.now().date()
        self.notices += self.index().refresh().notices
        found = self.index().read(lambda reader: reader.facts(project or "", on=day))
        return found if about is None else facts.about(found, about)

    def links(self, name: str, *, project: str | None = None) -> NoteLinks:
        """Where a note's links lead, and which notes link to it.

        Args:
            name: of the note, or its path, as in a link.
            project: whose notes count too.

        Raises:
            NotFoundError: there is no such note.
        """
        from tars_memory.recall.links import links

        self.notices += self.index().refresh().notices
        return self.index().read(lambda reader: links(reader, self.vault, name, scope=project or ""))

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
    ) -> SearchResult:
        """Passages that answer, best first; none if nothing is relevant.

        The index is refreshed first: what changed since the last look is read. Without a usable model a hybrid search
        answers by keywords and says so. ``where`` are conditions on properties (``status=done``); ``linked_to`` keeps
        the notes that a named one links to, ``links_to`` those that link to it.

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

        def question(reader: IndexReader) -> SearchResult:
            from tars_memory.recall.links import selected

            notices = [*told]
            query.notes = selected(reader, *wanted, scope=project or "") if any(wanted) else None
            vector = self._query_vector(query, reader, report, notices, needed=needed) if meant else None
            return search(
                reader,
                query,
                vector=vector,
                mode=mode,
                scope=project or "",
                limit=limit or options.limit,
                read=self.vault.read,
                own=self.interactive,
                vault_name=self.root.name,
                explain=explain,
                stale=report.stale,
                notices=notices,
            )

        return index.read(question)

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
    ) -> Packed:
        """What a model should know before it answers, packed for a prompt; nothing is written and no model is asked.

        Args:
            question: in plain words; without one nothing is recalled.
            budget: most tokens (2,000).
            days: daily notes, today's included (1).
            file_cap: most characters of one always-loaded note (20,000).
            project: whose notes may be used too.
            loaded: False for facts and recalled lines alone, without the notes that are always loaded.
            mode: of the search, as for :meth:`search`.
            expired: also facts that no longer hold.

        Raises:
            UsageError: a number below zero, or a project that can't be one.
        """
        from tars_memory.recall import context as packing
        from tars_memory.recall.ranked import ranked
        from tars_memory.vault.typed import typed_lines

        mode = mode or self.settings.options("recall", RecallOptions).mode
        notices: builtins.list[str] = []

        def answers(query: Query) -> builtins.list[Answer]:
            report = self.index().refresh()
            notices.extend(report.notices)
            if report.stale:
                notices.append(f"the index is behind by {report.stale} files: tars-memory reindex brings it up to date")

            needed = mode == "semantic"
            meant = mode != "lexical" and bool(query.meaning) and self._fill(report, notices, needed=needed)

            def ask(reader: IndexReader) -> builtins.list[Answer]:
                vector = self._query_vector(query, reader, report, notices, needed=needed) if meant else None
                return ranked(reader, query, vector=vector, mode=mode, scope=project or "")

            return self.index().read(ask)

        journal = self.store(writes=False).journal
        packed = packing.context(
            self.vault,
            question,
            now=self.now(),
            typed=lambda path: typed_lines(journal, path),
            answers=answers,
            budget=packing.BUDGET if budget is None else budget,
            days=packing.DAYS if days is None else days,
            file_cap=packing.FILE_CAP if file_cap is None else file_cap,
            project=project,
            loaded=loaded,
            facts_options=self.settings.options("facts", FactsOptions),
            expired=expired,
        )
        packed.notices += notices
        return packed

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
        return evaluation.evaluate(
            questions,
            lambda text, mode: self.search(text, mode=mode, limit=limit),
            self.vault.read,
            mode=mode or self.settings.options("recall", RecallOptions).mode,
            against=against,
            limit=limit,
        )

    def take_ticks(self) -> None:
        """Do what the person ticked in Review.md since; whatever stands in the way of that must not cost what is typed.

        Where there is no such note this is one look; nothing of curation is imported then.
        """
        if self.dry_run or not os.path.lexists(self.root / REVIEW_NOTE):
            return
        from tars_memory.curation import ticks

        ticks.by_the_way(self.review, self.notices)

    # --- the index

    def reindex(
        self, *, full: bool = False, embed: bool = True, progress: Callable[[str, int, int], None] | None = None
    ) -> RefreshReport:
        """Bring the index in step with the vault, vectors included; ``full`` makes it anew.

        Without a usable model the keyword side is still brought up to date, and a notice says so.
        """
        index = self.index()
        report = index.reindex(full=full, embed=False, progress=progress)
        if embed:
            try:
                report.pending_vectors = index.embed_pending(progress=progress)
            except ModelUnavailableError as error:
                report.notices.append(f"keywords only: {error.message}; {error.hint}")
        return report

    def verify(self) -> builtins.list[str]:
        """How the index differs from one made anew, a sentence each; pending vectors are no difference."""
        self.index().refresh()
        return self.index().verify()

    def models(self) -> builtins.list[dict[str, Any]]:
        """The embedding models: which is used, which are here."""
        from tars_memory import upkeep

        return upkeep.models(self)

    def use_model(self, name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Get a model (from a folder, else over the network), and set it in the person's configuration."""
        from tars_memory import upkeep

        return upkeep.use_model(self, name, Path(folder) if folder is not None else None)

    def status(self) -> dict[str, Any]:
        """How vault, index and model stand; the index is refreshed first."""
        from tars_memory import upkeep

        return upkeep.status(self)

    def doctor(self, *, fix: bool = False) -> dict[str, Any]:
        """What needs a look (``findings``); settles what a crash left, places what waits in the spool.

        Args:
            fix: also mend what is safe to mend: derived data, and leftovers of our own.
        """
        from tars_memory.doctor import doctor

        return doctor(self, fix=fix)

    def restore(self, txn: str) -> builtins.list[Written]:
        """Write the lines of a transaction (``all``: of any) anew that something else overwrote, each once."""
        from tars_memory.restoring import restore

        return restore(self, txn)
