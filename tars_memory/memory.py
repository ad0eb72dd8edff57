"""Memory: one short method for each use case. This is the Python API; the command line calls nothing else.

A use case is imported by the method that calls it, so that a command pays for its own room only.
"""

from __future__ import annotations

import os
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, Unpack

from tars_memory import capture, curation, index, jobs, recall, vault
from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted
from tars_memory.settings import PermissionOptions
from tars_memory.workspace import Workspace

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date, datetime
    from types import TracebackType

    from tars_memory.capture.remember import Caller, Receipt, Today
    from tars_memory.capture.topics import Topic
    from tars_memory.curation.extraction.extract import Extracted, Prompts
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.reviewing.review import Review
    from tars_memory.curation.tidying.archive import Archived
    from tars_memory.curation.tidying.compression import Compressed
    from tars_memory.curation.tidying.tidy import Tidied
    from tars_memory.curation.why import Trail
    from tars_memory.index.embedding.passages import Embedder
    from tars_memory.index.intake import RefreshReport
    from tars_memory.jobs.doctor import Adoption
    from tars_memory.jobs.forgetting import Copies, Forgotten, TalkLine
    from tars_memory.jobs.merge import GitReport
    from tars_memory.jobs.status import Growth
    from tars_memory.recall.evaluation import Evaluation
    from tars_memory.recall.links import NamedPlace, NearNote, NoteLinks, TagCount, Tagged
    from tars_memory.recall.packing.context import Context as Packed
    from tars_memory.recall.query import SearchRequest
    from tars_memory.recall.results import SearchResult
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Actor, Entry
    from tars_memory.vault.note import Note
    from tars_memory.vault.playbooks import Playbook
    from tars_memory.vault.template import InitReport
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.store import Written
    from tars_memory.workspace import Opening

SQL_SECONDS = 10.0
"""How long a query of somebody else's may work, if nothing is said."""


class Memory:
    """One vault's memory: what the commands do, as methods.

    Args:
        vault: the vault's folder, or None to find it, as for :class:`tars_memory.workspace.Workspace`; or one that is
            open already.
        embedder: makes vectors instead of the model that is set.
        opening: how it is opened: actor, interactive, now, dry_run, env and project, see there.

    Attributes:
        workspace: the vault with its settings, index and model, opened.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str] | Workspace | None = None,
        *,
        embedder: Embedder | None = None,
        **opening: Unpack[Opening],
    ) -> None:
        self.workspace = vault if isinstance(vault, Workspace) else Workspace(vault, **opening)
        self.workspace.others = {"forget": _forget}
        if embedder is not None:
            self.workspace.embedder = embedder

    @cached_property
    def searcher(self) -> recall.searcher.Searcher:
        """What answers searches, with its model held open between them."""
        return recall.searcher.Searcher(self.workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index."""
        self.workspace.close()

    def within(self, project: str) -> Memory:
        """The same memory with another project chosen, or none; its notices are its own. The caller closes it."""
        return Memory(self.workspace.within(project))

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
            VaultError: the path is not a folder.
            UnwritableError: it can't be written.
        """
        root = Path(path).expanduser()
        if dry_run and not os.path.lexists(root):
            return vault.template.imagined(root)
        opened = Workspace(
            vault.template.make_root(root),
            actor=actor,
            interactive=interactive,
            now=now,
            dry_run=dry_run,
            env=env,
        )
        store = opened.store(writes=not dry_run, anew=True)
        report = vault.template.fill_vault(opened.vault, store, opened.now().date())
        report.notices.extend(opened.notices)
        if not dry_run and not opened.settings.places.has_used(opened.root):
            report.notices.append(
                "an agent called: in this folder the vault is found only after you ran tars-memory init here yourself"
            )
        return report

    # --- asking

    def search(self, request: SearchRequest | str, **asked: Any) -> SearchResult:
        """Passages that answer, best first; none if nothing is relevant.

        The index is refreshed first: what changed since the last look is read. Without a usable model a hybrid search
        answers by keywords and says so. What has ended by today (``as_of``: by that day, and facts that began later) is
        left out, unless ``expired``.

        Args:
            request: the whole request, or its text.
            asked: other fields of :class:`tars_memory.recall.query.SearchRequest`, by name.

        Raises:
            UsageError: a bad date, tier or mode.
            ModelUnavailableError: ``mode="semantic"`` and the model can't be used.
        """
        return self.searcher.search(request, **asked)

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
        """What a model should know before it answers, packed for a prompt; the vault is not written and no model asked.

        A playbook that is given whole counts as used today, in the vault's state folder.

        Args:
            question: in plain words; without one nothing is recalled.
            budget: most tokens (2,000).
            days: daily notes: 1 for today's, of several the last that there are; None for what is set.
            file_cap: most characters of one always-loaded note; None for what is set.
            loaded: False for facts and recalled lines alone, without the notes that are always loaded.
            window: tokens of a model's window, instead of a budget: of it what is loaded and what is recalled each
                take the share that ``[window]`` gives them.
            asked: ``project``, ``mode``, ``expired``, ``as_of``, ``about``, ``topics``, as for :meth:`search`; the last
                two narrow facts and recalled lines alone. ``agent``: the name of one whose own notes may be told, too.

        Raises:
            UsageError: a number below zero, budget and window, shares of more than the whole, or a project that can't
                be one.
        """
        packed = self.searcher.context(
            question, budget=budget, days=days, file_cap=file_cap, loaded=loaded, window=window, **asked
        )
        self._use(*(each.path for each in packed.playbooks if each.whole))
        return packed

    def today(self) -> Today:
        """Today's note."""
        return capture.remember.today(self.workspace.capture(writes=False))

    def show(self, target: str) -> Entry:
        """The entry with this REF, or the only one that these words fit."""
        return capture.amend.find(self.workspace.capture(writes=False), self.workspace.meant(target))

    def why(self, target: str) -> Trail:
        """Where an entry came from: what was said, who approved it, what it replaced; ``target`` as for ``show``."""
        return curation.why.why(self.workspace.capture(writes=False), self.workspace.meant(target))

    def list(
        self,
        tier: str | None = None,
        section: str | None = None,
        *,
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
    ) -> builtins.list[Entry]:
        """The entries of a tier, or of Memory.md and Procedural.md; ``about`` and ``topics`` as for :meth:`search`."""
        found = capture.amend.entries(self.workspace.capture(writes=False), tier, section)
        told_of = (tuple(about), tuple(topics))
        return self.searcher.selection(*told_of, self.workspace.scope(None)).entries(found) if any(told_of) else found

    def history(self, limit: int | None = 20, path: str | None = None) -> builtins.list[JournalEntry]:
        """What was written in our scope, newest first."""
        ours = vault.writing.history.of_scope(
            self.workspace.store(writes=False).history(path=path), self.workspace.vault.layout
        )
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
        day = None if everything else as_of or self.workspace.now().date()
        scope = self.workspace.scope(project)
        found = self.workspace.ask(lambda reader: reader.facts(scope, on=day))
        for shared in self.workspace.shared(self.workspace.notices):
            theirs = shared.index.read(lambda reader: reader.facts(scope, on=day))
            found += [
                fact._replace(path=shared.path(fact.path), vault=shared.name)
                for fact in theirs
                if not self.workspace.withheld(f"{fact.predicate}:: {fact.object}", recall.searcher.LONG_AGO)
            ]
        if tags := tuple(topics):
            selected = self.searcher.selection((), tags, scope)
            found = [fact for fact in found if selected.keeps(fact.path, (fact.subject,), f"- {fact.object}")]
        if about is None:
            return found
        told = recall.facts.about(found, about)
        if not told and not tags:
            every = self.workspace.index().read(lambda reader: reader.facts(scope))
            near = recall.facts.near(every, about)
            if recall.facts.about(every, about):
                self.workspace.notices.append(f"what is known about {about!r} has ended or is to come: --all lists it")
            elif near:
                self.workspace.notices.append(f"nothing is known about {about!r}; near: {', '.join(near)}")
        return told

    def links(self, name: str, *, project: str | None = None) -> NoteLinks:
        """Where a note's links lead, and which notes link to it.

        Args:
            name: of the note, or its path, as in a link.
            project: whose notes count too, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
        """
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.links.links(reader, self.workspace.whole, name, scope=scope))

    def note_called(self, name: str, *, project: str | None = None) -> str:
        """The path of the note of that name.

        Args:
            name: its title, file name or alias, however it is typed; or its path.
            project: whose notes count too, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
            UsageError: several have the name.
        """
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.links.called(reader, name, scope=scope))

    def place(self, name: str) -> NamedPlace:
        """Where a name leads: to a note as in :meth:`note_called`; an entry by its REF; ``Note#Heading`` or
        ``Note#^id``; or the only heading that is called so.

        Raises:
            NotFoundError: to nothing.
            UsageError: to several notes, entries or headings.
        """
        scope, whole = self.workspace.project, self.workspace.whole
        try:
            return self.workspace.ask(lambda reader: recall.links.place(reader, whole, name, scope=scope))
        except NotFoundError as error:
            try:
                entry = self.show(name) if len(name.strip()) == 8 else None  # a REF has eight characters
            except (NotFoundError, UsageError):
                entry = None
            if entry is None or entry.ref != name.strip().lower():  # words of entries are searched for, not opened
                raise error from None
            return recall.links.NamedPlace(entry.path, entry.line, block_id=entry.block_id)

    def tags(self, *, project: str | None = None) -> builtins.list[TagCount]:
        """All tags with the number of their notes, nested ones counted in those above; in the order of names."""
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.links.tags(reader, scope=scope))

    def tagged(self, tag: str, *, project: str | None = None) -> builtins.list[Tagged]:
        """The notes with a tag, or one nested below it, and the lines that bear it.

        Raises:
            NotFoundError: no note has it.
        """
        scope, whole = self.workspace.scope(project), self.workspace.whole
        return self.workspace.ask(lambda reader: recall.links.tagged(reader, whole, tag, scope=scope))

    def related(self, name: str, *, limit: int = 10, project: str | None = None) -> tuple[str, builtins.list[NearNote]]:
        """The path of the note of that name, and the notes near it with their reasons, best first; none if none is.

        Args:
            name: its title, file name or alias, or its path.
            limit: most notes.
            project: whose notes count too, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
            UsageError: several have the name.
        """
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.links.related(reader, name, scope=scope, limit=limit))

    def sql(self, query: str, *, seconds: float = SQL_SECONDS) -> index.tables.TableQuery:
        """The rows that one SELECT finds in the tables ``notes``, ``lines``, ``entries``, ``facts``, ``links`` and
        ``tags`` (:data:`tars_memory.index.tables.TABLES`): those of the project that is chosen and of the notes outside
        projects; never a conversation.

        Args:
            query: one statement that only reads these tables.
            seconds: how long it may work.

        Raises:
            UsageError: it can't be run, or would do something else.
            PartialError: its time is up; also while the rows are read.
        """
        today, scope = self.workspace.now().date(), self.workspace.project
        return self.workspace.ask(
            lambda reader: index.tables.TableQuery(reader.tables(self.workspace.whole, scope, today), query, seconds)
        )

    def export(
        self, path: str | os.PathLike[str], tables: Iterable[str] = (), *, replace: bool = False
    ) -> dict[str, int]:
        """Write the tables of :meth:`sql` into a file outside the vault; see :func:`tars_memory.index.tables.export`.

        Raises:
            UsageError: what is asked for can't be written so.
            UnwritableError: the file can't be written.
        """
        named = Path(path)
        if self.workspace.root in (real := named.resolve()).parents or real == self.workspace.root:
            raise UsageError(f"{named} is in the vault", "an export is not a note: name a file outside of it")
        today, scope, wanted = self.workspace.now().date(), self.workspace.project, tuple(tables)
        return self.workspace.ask(
            lambda reader: index.tables.export(
                reader.tables(self.workspace.whole, scope, today), named, wanted, replace=replace
            )
        )

    def playbooks(self) -> builtins.list[Playbook]:
        """The playbooks of the vault, and of the project that is chosen, in the order of their paths."""
        whole, journal = self.workspace.whole, self.workspace.store(writes=False).journal
        stands, loaded = partial(vault.writing.history.stands_approved, journal), recall.packing.loaded
        scopes = dict.fromkeys((self.workspace.project, ""))
        found = vault.playbooks.shelf(whole, vault.playbooks.uses(self.workspace.state), scopes)
        return [book._replace(approved=loaded.is_approved(whole, stands, book.path)) for book in found]

    def playbook(self, name: str) -> tuple[Playbook, str]:
        """A playbook and its text; it counts as used today.

        Args:
            name: its file's name, its title, or its path.

        Raises:
            NotFoundError: there is none.
            AmbiguousError: several have that title.
        """
        book = self._playbook(name)
        text = self.workspace.vault.read(book.path).decode("utf-8", "replace")
        self._use(book.path)
        return book, text

    def _playbook(self, name: str) -> Playbook:
        found = vault.playbooks.called(self.playbooks(), name)
        if len(found) > 1:
            paths = [book.path for book in found]
            raise AmbiguousError(
                f"{counted(len(found), 'playbook')} are called {name!r}", paths, "name one by its path"
            )
        if not found:
            raise NotFoundError(f"there is no playbook {name!r}", "tars-memory playbooks lists them")
        return found[0]

    def _use(self, *paths: str) -> None:
        """Playbooks were used today."""
        if paths and not self.workspace.dry_run:
            vault.playbooks.use(self.workspace.state, paths, self.workspace.now().date())

    def timeline(self, about: str | None = None, *, project: str | None = None) -> builtins.list[Fact]:
        """All facts, or those about a name, the oldest first; those without a date last."""
        found = self.facts(about, everything=True, project=project)
        return sorted(found, key=lambda fact: (fact.since is None, str(fact.since)))

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
            UsageError: the file can't be read, or a line of it is not a question.
            ModelUnavailableError: ``semantic`` is among the modes, and the model can't be used.
        """
        try:
            questions = recall.evaluation.questions(Path(file).read_bytes(), os.fspath(file))
        except OSError as error:
            raise UsageError(
                f"{os.fspath(file)} can't be read: {error.strerror}", "name a file of questions"
            ) from error
        limit = limit or recall.evaluation.LIMIT

        def read(path: str) -> bytes:
            if not self.workspace.sees(path):
                raise NotFoundError(f"there is no note {path}")
            return self.workspace.vault.read(path)

        return recall.evaluation.evaluate(
            questions,
            lambda text, mode: self.search(text, mode=mode, limit=limit),
            read,
            mode=mode or self.workspace.settings.recall.mode,
            against=against,
            limit=limit,
        )

    # --- writing

    def remember(
        self, text: str, *, tier: str = "semantic", section: str | None = None, tags: Iterable[str] = ()
    ) -> Receipt:
        """Keep a fact in Memory.md, or with ``tier="procedural"`` a rule; an exact repeat is said, not written."""
        self.workspace.take_ticks()
        return capture.remember.remember(
            self.workspace.keeping(text), text, tier=tier, section=section, tags=tuple(tags)
        )

    def propose(
        self,
        text: str,
        *,
        section: str | None = None,
        tags: Iterable[str] = (),
        steps: Sequence[str] = (),
        when: str = "",
    ) -> Receipt:
        """Offer a rule for Procedural.md: it waits for the person's review, whoever calls and whatever is allowed.

        Args:
            text: the rule; with ``steps`` the title of a playbook, which is offered instead.
            section: heading to put the rule under.
            tags: added to the rule.
            steps: how something is done, in order.
            when: to use the playbook.
        """
        self.workspace.take_ticks()
        caller = self.workspace.keeping(text)
        caller.allowed, caller.interactive = PermissionOptions(), False
        if steps:
            listed = "\n".join(f"{number}. {' '.join(step.split())}" for number, step in enumerate(steps, 1))
            return capture.learn.learn(caller, text, listed, when=when)
        return capture.remember.remember(caller, text, tier="procedural", section=section, tags=tuple(tags))

    def log(self, text: str) -> Receipt:
        """Add a line with the time to today's note."""
        self.workspace.take_ticks()
        return capture.remember.log(self.workspace.keeping(text), text)

    def daily(self, day: date | None = None) -> Receipt:
        """The note of a day (today's), made from the vault's own daily template if it is missing."""
        day = day or self.workspace.now().date()
        missing = self.workspace.vault.look(self.workspace.vault.daily_path(day)) is None
        return capture.notes.daily(self.workspace.capture(writes=missing), day)

    def new(self, title: str, text: str = "", *, beside: str = "") -> Receipt:
        """Make a note where Obsidian puts new ones; one that is there is never overwritten.

        Args:
            title: its name, behind folders of the vault (``recipes/Rye``).
            text: what stands in it, below the template that is set.
            beside: the folder that counts as the current one, relative to the vault.

        Raises:
            UsageError: there is such a note, or it can't be called so.
        """
        self.workspace.take_ticks()
        return capture.notes.new(self.workspace.keeping(text or title), title, text, beside=beside)

    def learn(self, title: str, steps: str, *, when: str = "") -> Receipt:
        """Make a playbook; what no person at a terminal gives waits for the person's review.

        Args:
            title: what it is about.
            steps: markdown, or a step a line.
            when: to use it.

        Raises:
            UsageError: there is such a playbook, which says something else; or it can't be called so.
        """
        self.workspace.take_ticks()
        return capture.learn.learn(self.workspace.keeping(steps), title, steps, when=when)

    def topic(self, name: str, text: str, *, agent: str) -> Receipt:
        """Add a line to a topic note that an agent keeps for itself; no tier, and told to that agent alone.

        Raises:
            UsageError: no such name can be, or the note, or their number, would go beyond ``[limits]``.
        """
        self.workspace.take_ticks()
        return capture.topics.topic(self.workspace.keeping(text), agent, name, text)

    def topics(self, agent: str) -> builtins.list[Topic]:
        """The topic notes of an agent, in the order of their names."""
        return capture.topics.topics(self.workspace.capture(writes=False), agent)

    def topic_note(self, name: str, *, agent: str) -> Note:
        """A topic note of an agent.

        Raises:
            NotFoundError: the agent keeps none of that name.
        """
        return capture.topics.read(self.workspace.capture(writes=False), agent, name)

    def pin(self, name: str, *, pinned: bool = True) -> Receipt:
        """Keep a playbook in prompts whether it is used or not, or no longer; ``name`` as for :meth:`playbook`."""
        return capture.learn.pin(self.workspace.capture(), self._playbook(name).path, pinned=pinned)

    def headings(self, name: str) -> tuple[str, builtins.list[capture.notes.Heading]]:
        """The path of the note of that name, as for :meth:`note_called`, and its headings in order."""
        path = self._kept_or_called(name)
        return path, capture.notes.headings(self.workspace.capture(writes=False), path)

    def heading(self, name: str, title: str) -> tuple[str, capture.notes.Heading]:
        """The path of the note of that name, and the heading that :meth:`remove_heading` would remove."""
        path = self._kept_or_called(name)
        return path, capture.notes.heading_named(self.workspace.capture(writes=False), path, title)

    def add_heading(self, name: str, title: str) -> Receipt:
        """Put a heading at the end of a note of the memory, unless it has it.

        Raises:
            NotFoundError: there is no such note.
            UsageError: it is a note of the person's own, or the title has no words.
        """
        self.workspace.take_ticks()
        return capture.notes.add_heading(self.workspace.capture(), self._kept_or_called(name), title)

    def remove_heading(self, name: str, title: str, *, filled: bool = False) -> Receipt:
        """Remove a heading of a note of the memory, with ``filled`` also one that something stands under, with that.

        Raises:
            NotFoundError: there is no such note, or no such heading, and the message lists those that there are.
            UsageError: something stands under it, several are called so, or it is a note of the person's own.
        """
        self.workspace.take_ticks()
        return capture.notes.remove_heading(self.workspace.capture(), self._kept_or_called(name), title, filled=filled)

    def _kept_or_called(self, name: str) -> str:
        """The path of a note: one that the memory keeps by its file's name, in the project first; else by any name."""
        layout = self.workspace.vault.layout
        kept = [path for path in (*layout.kept, *layout.loaded) if self.workspace.vault.look(path) is not None]
        wanted = name.strip().removesuffix(".md").casefold()
        same = [path for path in kept if path.rpartition("/")[2].removesuffix(".md").casefold() == wanted]
        return same[0] if same else self.note_called(name)

    def feedback(self, good: bool, note: str, *, question: str | None = None, answer: str | None = None) -> Receipt:
        """Note what went well (rewards.md) or badly (corrections.md)."""
        self.workspace.take_ticks()
        return capture.remember.feedback(self.workspace.keeping(note), good, note, question, answer)

    def edit(self, target: str, text: str, *, tags: Iterable[str] = (), bare: bool = False) -> Receipt:
        """Give an entry other words; ``target`` is its REF, ``path:line``, or words that fit it alone.

        Its tags and fields stay unless the text brings its own; ``tags`` are added, ``bare`` keeps none.
        """
        self.workspace.take_ticks()
        return capture.amend.edit(
            self.workspace.keeping(text), self.workspace.meant(target), text, tags=tuple(tags), bare=bare
        )

    def copies(self, target: str) -> Copies:
        """What :meth:`forget` would take out, and what would stay."""
        return jobs.forgetting.copies_of(self.workspace.capture(writes=False), self._to_forget(target))

    def _to_forget(self, target: str) -> str:
        """Of a proposal's id the REF of its line; one that stands in no note yet is forgotten itself."""
        try:
            return self.workspace.meant(target)
        except NotFoundError:
            return target.strip().removeprefix("^").removeprefix("r-")

    def near(self, target: str) -> builtins.list[TalkLine]:
        """What was said in conversations of the same thing as an entry, in other words: :meth:`forget` leaves it."""
        return jobs.forgetting.near(self.workspace, target)

    def forget(self, target: str, *, everywhere: bool = False, also: Iterable[TalkLine] = ()) -> Forgotten:
        """Remove a statement: its line and all that tells it in the notes; its notices say which copies remain.

        What was said before and holds it is withheld from extraction from now on, until an undo.

        Args:
            target: a REF, or words that fit it alone.
            everywhere: also purge it, and what it said before it was edited, from journal, spool, index, caches and
                what hooks keep; it can't be undone then. What was forgotten already can still be purged.
            also: lines of conversations (of :meth:`near`) to be withheld with it.
        """
        self.workspace.take_ticks()
        target = self._to_forget(target)
        self.workspace.forget_withheld()
        if everywhere:
            return jobs.forgetting.forget_everywhere(self.workspace, target, tuple(also))
        receipt = jobs.forgetting.forget(self.workspace.capture(), target, also=tuple(also))
        if receipt.written:
            receipt.notices += jobs.forgetting.COPIES
        return receipt

    def add_fact(
        self, subject: str, predicate: str, object_: str, *, since: date | None = None, until: date | None = None
    ) -> Receipt:
        """Add a fact to Facts.md; one of which only one holds at a time ends the old one, as the notices say."""
        kept = self.workspace.keeping(f"{subject} {predicate}:: {object_}")
        return capture.facts.add(kept, subject, predicate, object_, since=since, until=until)

    def end_fact(self, target: str, *, on: date | None = None) -> Receipt:
        """Say when a fact stopped being true (today unless said)."""
        return capture.facts.end(self.workspace.capture(), target, on)

    def remove_fact(self, target: str) -> Receipt:
        """Take a fact out, as if it had never been said."""
        return capture.facts.remove(self.workspace.capture(), target)

    def undoable(
        self, txn: str | None = None, *, last: int = 1
    ) -> tuple[builtins.list[JournalEntry], builtins.list[Written]]:
        """The writes that :meth:`undo` would take back, and what it would write; nothing is written."""
        caller = self.workspace.capture(writes=False)
        caller.store.dry_run = True
        found = vault.writing.history.find_transactions(caller.store.journal, txn, last)
        names = [name for name, _ in found]
        return [entry for _, group in found for entry in group], capture.amend.undo(caller, names)

    def undo(self, txn: str | Sequence[str] | None = None, *, last: int = 1) -> builtins.list[Written]:
        """Take back the last transactions, or those named; an undo can be undone by its name.

        Raises:
            UsageError: it would change a rule, and no person sits at a terminal.
            NotFoundError: there is nothing to undo.
            ConflictError: a note has moved on too far; nothing of that note was written.
        """
        done = capture.amend.undo(self.workspace.capture(), txn, last=last)
        jobs.forgetting.restore(self.workspace)
        return done

    # --- deciding

    def review(self, *, writes: bool = True) -> Review:
        """What waits for the person's word, and how it is decided: see :class:`curation.reviewing.review.Review`.

        Args:
            writes: False for looking alone: nothing is made then, not even the vault's id.
        """
        return self.workspace.review(writes=writes)

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
        if apply or ignore:
            self.workspace.take_ticks()
        entries = self.workspace.settings.tidy.section_entries
        context = self.workspace.capture(writes=apply or ignore)
        return curation.tidying.tidy.tidy(context, section_entries=entries, apply=apply, ignore=ignore, ids=tuple(ids))

    def archive(self, *, apply: bool = False) -> Archived:
        """Which daily notes are past the window and go to ``archive/``; with ``apply`` they are moved.

        Raises:
            UsageError: the vault's daily note format can't be used.
            UnwritableError: the vault can't be written.
        """
        if apply:
            self.workspace.take_ticks()
        options = self.workspace.settings.tidy
        window_days = self.workspace.settings.review.window_days
        return curation.tidying.archive.archive(
            self.workspace.capture(writes=apply), days=options.daily_days, window_days=window_days, apply=apply
        )

    def compress(self, *, by: str | None = None, before: date | None = None, apply: bool = False) -> Compressed:
        """Which old sessions go to ``archive/`` and what summary stands in their place; with ``apply`` it is done.

        Args:
            by: ``month`` or ``year``; None for what is set.
            before: sessions before this day; None for those whose period ended long enough ago.
            apply: write, all of it or nothing.

        Raises:
            UsageError: no such period; or nobody who may sits at a terminal, and the configuration does not allow it.
            ConflictError: a note changed in the meantime; nothing was written.
            UnwritableError: a note can't be written; nothing was.
        """
        may = self.workspace.settings.permissions.unattended_compress
        allowed = may or (self.workspace.interactive and self.workspace.actor == "person")
        if apply and allowed:
            self.workspace.take_ticks()
        context = self.workspace.capture(writes=apply and allowed)
        compression = curation.tidying.compression
        terms = compression.CompressionTerms.of(self.workspace.settings, by, before)
        return compression.compress(context, terms, apply=apply, allowed=allowed)

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
        self.workspace.take_ticks()
        return curation.extraction.extract.from_sources(
            self.workspace.capture,
            self.workspace.settings,
            sources,
            model,
            keep=keep,
            force=force,
            auto=auto,
            progress=progress,
        )

    def import_memories(
        self, sources: Iterable[str | os.PathLike[str] | BinaryIO], *, form: str | None = None
    ) -> Extracted:
        """Take over what other programs remember: candidates as :meth:`extract` writes them, all in one transaction.

        Args:
            sources: files, folders, or binary streams; nothing is written into them.
            form: ``instructions``, ``claude-memory``, ``basic-memory`` or ``mem0``; None to tell it by the content.

        Raises:
            UsageError: no such format; or the vault's daily note format can't be used.
            UnwritableError: the vault can't be written, and nothing was.
        """
        self.workspace.take_ticks()
        return curation.extraction.extract.bring(self.workspace.capture, sources, form)

    def extract_prompts(
        self,
        sources: Iterable[str | os.PathLike[str] | BinaryIO],
        *,
        model: LanguageModel | str | None = None,
        force: bool = False,
    ) -> Prompts:
        """What :meth:`extract` would ask a model, with tokens and cost; nothing is sent or written."""
        return curation.extraction.extract.asked(
            self.workspace.capture(writes=False), self.workspace.settings, sources, model, force=force
        )

    # --- the index

    def reindex(
        self, *, full: bool = False, embed: bool = True, progress: Callable[[str, int, int], None] | None = None
    ) -> RefreshReport:
        """Bring the index in step with the vault, vectors included; ``full`` makes it anew.

        Without a usable model the keyword side is still brought up to date, and a notice says so.
        """
        return self.workspace.reindex(full=full, embed=embed, progress=progress)

    def sources(self) -> dict[str, Any]:
        """The logs that are searched beside the vault.

        Returns:
            ``sources`` (each with ``path`` and ``there``), numbers of ``logs`` and ``conversations`` that can be
            searched, ``nights`` (whether ``sleep`` ran in the last three days), ``notices``.
        """
        return jobs.status.sources(self.workspace)

    def add_source(self, path: str, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
        """Search the conversations of a log or a folder of logs from now on; returns what :meth:`sources` does.

        Raises:
            UsageError: it is not there.
            UnwritableError: the person's settings or the index can't be written.
        """
        return jobs.status.add_source(self.workspace, path, progress)

    def remove_source(self, path: str) -> dict[str, Any]:
        """Search a source no more, and forget what was read of it; returns what :meth:`sources` does.

        Raises:
            UsageError: it is none.
            UnwritableError: the person's settings or the index can't be written.
        """
        return jobs.status.remove_source(self.workspace, path)

    def verify(self) -> builtins.list[str]:
        """How the index differs from one made anew, a sentence each; pending vectors are no difference."""
        self.workspace.index().refresh()
        return self.workspace.index().verify()

    def models(self, *, fetchable: bool = True) -> builtins.list[dict[str, Any]]:
        """The embedding models: which is used, which are here, which fit; ``fetchable``: which could be fetched."""
        return jobs.status.models(self.workspace, fetchable=fetchable)

    def merge_by_entry(self, program: Sequence[str]) -> GitReport:
        """Let git merge the notes by entry in this clone, which becomes a repository if it is in none.

        Args:
            program: the words that start this program, for git to call it.

        Raises:
            UsageError: git is not installed.
            UnwritableError: git refuses, or the vault can't be written.
        """
        return jobs.merge.set_up(self.workspace, program)

    def recommended_model(self) -> dict[str, Any] | None:
        """The embedding model that fits the vault's languages better than the one that is set, if there is one."""
        return jobs.status.recommended(self.workspace)

    def use_model(self, name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Get a model (from a folder, else over the network), and set it in the person's configuration."""
        return jobs.status.use_model(self.workspace, name, Path(folder) if folder is not None else None)

    def status(self) -> dict[str, Any]:
        """How vault, index and model stand; the index is refreshed first."""
        return jobs.status.status(self.workspace)

    def loaded(self) -> Growth:
        """How big the notes are that every prompt begins with, how fast they grow, and what of them finds no room."""
        return jobs.status.loaded(self.workspace)

    def doctor(self, *, fix: bool = False) -> dict[str, Any]:
        """What needs a look (``findings``); settles what a crash left, places what waits in the spool.

        Args:
            fix: also mend what is safe to mend: derived data, and leftovers of our own.
        """
        return jobs.doctor.doctor(self.workspace, fix=fix)

    def adoptable(self, path: str | os.PathLike[str] | None = None) -> Adoption:
        """What the state folder keeps for a path that this vault was moved from; None if there is but one such path.

        Raises:
            UsageError: a vault of this id is at that path now, so this one is a copy; or an agent asks.
            NotFoundError: nothing is kept for it; or for several, and none is named.
        """
        return jobs.doctor.adoptable(self.workspace, os.fspath(path) if path is not None else None)

    def adopt(self, adoption: Adoption) -> None:
        """Take over history, undo, approvals and what waits from the path that this vault was moved from.

        Raises:
            ConflictError: writes there and here took turns.
            UnwritableError: the state folder can't be written, or another process writes.
        """
        jobs.doctor.adopt(self.workspace, adoption)

    def drop(self, item: str) -> Path | None:
        """Give up what waits in the spool under that name; its words become a file; its path is returned.

        Raises:
            NotFoundError: nothing waits under that name.
        """
        return jobs.doctor.drop(self.workspace, item)

    def restore(self, txn: str) -> builtins.list[Written]:
        """Write the lines of a transaction (``all``: of any) anew that something else overwrote, each once."""
        return jobs.doctor.restore(self.workspace, txn)


def _forget(caller: Caller, said: Mapping[str, Any]) -> Receipt:
    """Forget what waited in the spool."""
    return jobs.forgetting.forget(caller, said["target"])
