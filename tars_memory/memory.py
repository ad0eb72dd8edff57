"""The Python API: ``Memory`` has one short method for each use case. The command line calls nothing else.

A use case is imported by the method that calls it, so that a command only pays for what it uses.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, Unpack

from tars_memory import capture, curation, disk, index, jobs, recall, vault, workspace
from tars_memory.errors import AmbiguousError, NotFoundError, TarsError, UsageError, counted
from tars_memory.settings import PermissionOptions, here

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from types import TracebackType

    from tars_memory.capture.remember import Receipt
    from tars_memory.curation.tidying.archive import Archived
    from tars_memory.curation.tidying.tidy import Tidied
    from tars_memory.jobs.forgetting import Forgotten, TalkLine
    from tars_memory.recall.names import NearNote
    from tars_memory.recall.query import SearchRequest, SearchResult
    from tars_memory.recall.searcher import Searcher
    from tars_memory.vault.markdown.facts import Fact
    from tars_memory.vault.model import Entry
    from tars_memory.vault.note import Note
    from tars_memory.vault.writing.history import JournalEntry
    from tars_memory.vault.writing.store import Written
    from tars_memory.workspace import Opening

SQL_SECONDS = 10.0
"""Seconds that a query may take if its caller sets no limit."""


class Memory:
    """The memory of one vault: a method for each command.

    Args:
        vault: the vault's folder; None: :class:`tars_memory.workspace.Workspace` looks for one. Or a workspace that is
            already open.
        embedder: makes vectors in place of the configured model.
        opening: ``actor``, ``interactive``, ``now``, ``dry_run``, ``env`` and ``project``, as for the workspace.

    Attributes:
        workspace: the opened vault with its settings, index and model.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str] | workspace.Workspace | None = None,
        *,
        embedder: index.passages.Embedder | None = None,
        **opening: Unpack[Opening],
    ) -> None:
        self.workspace = vault if isinstance(vault, workspace.Workspace) else workspace.Workspace(vault, **opening)
        self.workspace.others = {"forget": _forget}
        if embedder is not None:
            self.workspace.embedder = embedder

    @cached_property
    def searcher(self) -> Searcher:
        """The searcher, which keeps the model open between searches."""
        from tars_memory.recall.searcher import Searcher

        return Searcher(self.workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index."""
        self.workspace.close()

    def within(self, project: str) -> Memory:
        """Open the same vault with another project, or with none. It has its own notices, and the caller closes it."""
        return Memory(self.workspace.within(project))

    @contextmanager
    def writers(self) -> Iterator[curation.extraction.extract.Within]:
        """Yield a function that opens the same vault with a project and returns its writer; the end closes them all."""
        with ExitStack() as others:
            yield lambda project: others.enter_context(self.within(project)).workspace.capture

    @classmethod
    def init(
        cls, path: str | os.PathLike[str], ask: Callable[[str], bool] | None = None, **opening: Unpack[Opening]
    ) -> vault.template.InitReport:
        """Make a vault, or turn an existing folder into one. Adds what is missing and changes no existing note.

        Then writes the texts that were typed before there was a vault.

        Args:
            path: the vault's folder.
            ask: asks whether to keep today's note where the vault's daily notes are; without it that happens only for a
                diary of many days.
            opening: as for :class:`Memory`.

        Raises:
            VaultError: the path is not a folder.
            UnwritableError: the folder can't be written.
        """
        root, dry_run = Path(path).expanduser(), opening.get("dry_run", False)
        if dry_run and not os.path.lexists(root):
            return vault.template.planned_init(root)
        opened = workspace.Workspace(vault.template.make_root(root), **opening)
        store = opened.store(writes=not dry_run, anew=True)
        report = vault.template.fill_vault(opened.vault, store, opened.now().date(), ask)
        if not dry_run and opened.settings.places.has_used(opened.root):
            opened.made_from = here()
            with suppress(TarsError):  # the texts keep waiting, and the next command that writes says why
                capture.remember.place_spool(cls(opened).workspace.capture())
        elif not dry_run:
            opened.notices.append(
                "an agent called: in this folder the vault is found only after you ran tars-memory init here yourself"
            )
        report.notices.extend(opened.notices)
        return report

    # --- asking

    def search(self, request: SearchRequest | str, **asked: Any) -> SearchResult:
        """Find the passages that answer a question, best first; none if nothing is relevant.

        The search first reads the notes that changed since the last one. Without a usable model a hybrid search uses
        keywords, and a notice says so. It leaves out what has ended by today, unless ``expired`` is set; with ``as_of``
        what had ended by that day, and facts that began later.

        Args:
            request: the whole request, or its text.
            asked: other fields of :class:`tars_memory.recall.query.SearchRequest`, by name.

        Raises:
            UsageError: a date, tier or mode is invalid.
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
    ) -> recall.context.Context:
        """Pack what a model should know before it answers, for its prompt. Asks no model and writes no note.

        A playbook that is included whole counts as used today; the state folder records that.

        Args:
            question: in plain words; without one, nothing is recalled.
            budget: maximum number of tokens (2,000).
            days: number of daily notes: 1 is today's, more are the latest ones; None: the setting.
            file_cap: maximum number of characters of an always loaded note; None: the setting.
            loaded: False leaves out the notes that are always loaded.
            window: tokens of a model's window, instead of a budget. ``[window]`` in the settings says which share of it
                loaded notes may take, and which share recalled lines.
            asked: ``project``, ``mode``, ``expired``, ``as_of``, ``about``, ``topics``, as for :meth:`search`; the last
                two apply to facts and recalled lines only. ``agent``: include the notes that this agent keeps.

        Raises:
            UsageError: a number is below zero, both budget and window are given, the shares exceed the whole, or the
                project's name is invalid.
        """
        packed = self.searcher.context(
            question, budget=budget, days=days, file_cap=file_cap, loaded=loaded, window=window, **asked
        )
        self._use(*(book.path for book in packed.playbooks if book.whole))
        return packed

    def today(self) -> capture.remember.Today:
        """Return today's note."""
        return capture.remember.today(self.workspace.capture(writes=False))

    def show(self, target: str) -> Entry:
        """Return the entry with this REF, or the only entry that contains these words."""
        ctx = self.workspace.capture(writes=False)
        return capture.amend.find(ctx, self.workspace.resolve_proposal(target), anywhere=True)

    def why(self, target: str) -> curation.why.Trail:
        """Trace an entry back: to what was said, who approved it, what it replaced; ``target`` as for :meth:`show`."""
        talks = self.workspace.talks()
        more = () if talks is None else (talks.has_log,)
        return curation.why.why(self.workspace.capture(writes=False), self.workspace.resolve_proposal(target), *more)

    def list(
        self,
        tier: str | None = None,
        section: str | None = None,
        *,
        about: Iterable[str] = (),
        topics: Iterable[str] = (),
    ) -> builtins.list[Entry]:
        """List the entries of a tier, or of Memory.md and Procedural.md; filter them as :meth:`search` does."""
        found = capture.amend.entries(self.workspace.capture(writes=False), tier, section)
        filters = (tuple(about), tuple(topics))
        return self.searcher.selection(*filters, self.workspace.scope(None)).entries(found) if any(filters) else found

    def history(
        self, limit: int | None = 20, path: str | None = None, *, masked: bool = False
    ) -> builtins.list[JournalEntry]:
        """List the writes in this vault or project, newest first. A notice names each file of the journal that was
        emptied.

        Args:
            limit: maximum number of writes; None for all.
            path: only writes to this note.
            masked: mask what was a credential in its note at the time, whatever the note contains now.
        """
        store, notices = self.workspace.store(writes=False), self.workspace.notices
        ours = vault.writing.history.of_scope(store.history(path=path), self.workspace.vault.layout)
        found = list(islice(ours, limit))
        if masked:
            vault.writing.history.hide_former(found, self.workspace.vault)
        notices += [gap for gap in store.journal.gaps() if gap not in notices]
        return found

    def facts(
        self,
        about: str | None = None,
        *,
        as_of: date | None = None,
        everything: bool = False,
        project: str | None = None,
        topics: Iterable[str] = (),
    ) -> builtins.list[Fact]:
        """List the facts that hold today, or held on another day, in the order of Facts.md.

        Args:
            about: a name, or words of one, as subject or object; an exact match comes first. None: all facts.
            as_of: the day; None: today.
            everything: include facts that have ended or not yet begun.
            project: include its facts; None: the chosen project; ``none``: no project.
            topics: only facts with all of these tags, as for :meth:`search`.
        """
        day = None if everything else as_of or self.workspace.now().date()
        scope = self.workspace.scope(project)
        found = self.workspace.ask(lambda reader: reader.facts(scope, on=day))
        for shared in self.workspace.shared(self.workspace.notices):
            theirs = shared.index.read(lambda reader: reader.facts(scope, on=day))
            found += [
                fact._replace(path=shared.path(fact.path), vault=shared.name)
                for fact in theirs
                if not self.workspace.hides(f"{fact.predicate}:: {fact.object}")
            ]
        if not found:  # a note that can't be read has no rows; a notice says so
            caller = self.workspace.capture(writes=False)
            list(caller.notes([caller.layout.facts]))
        if tags := tuple(topics):
            selected = self.searcher.selection((), tags, scope)
            found = [fact for fact in found if selected.keeps(fact.path, (fact.subject,), f"- {fact.object}")]
        if about is None:
            return found
        matches = recall.names.about(found, about)
        for name in () if matches else self._other_names(about, scope):
            matches += [fact for fact in recall.names.about(found, name) if fact not in matches]
        if not matches and not tags:
            all_facts = self.workspace.index().read(lambda reader: reader.facts(scope))
            near = recall.names.near(all_facts, about)
            if recall.names.about(all_facts, about):
                self.workspace.notices.append(
                    f"all facts about {about!r} have ended or are still to come: --all lists them"
                )
            elif near:
                self.workspace.notices.append(f"no facts about {about!r}; similar names: {', '.join(near)}")
        return matches

    def links(self, name: str, *, project: str | None = None) -> recall.names.NoteLinks:
        """List where a note's links lead, and which notes link to it.

        Args:
            name: the note's name or path, as in a link.
            project: include its notes, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
        """
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.names.links(reader, self.workspace.whole, name, scope=scope))

    def note_called(self, name: str, *, project: str | None = None) -> str:
        """Return the path of the note with this name.

        Args:
            name: its title, file name or alias, however it is typed; or its path.
            project: include its notes, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
            UsageError: several notes have the name.
        """
        scope, whole = self.workspace.scope(project), self.workspace.whole
        return self.workspace.ask(lambda reader: recall.names.path_of_note(reader, whole, name, scope=scope))

    def place(self, name: str) -> recall.names.NamedPlace:
        """Find the place that a name refers to: a note as in :meth:`note_called`, an entry by its REF,
        ``Note#Heading``, ``Note#^id``, or the only heading with this title.

        Raises:
            NotFoundError: nothing has this name.
            UsageError: several notes, entries or headings have it.
        """
        scope, whole = self.workspace.project, self.workspace.whole
        try:
            return self.workspace.ask(lambda reader: recall.names.find_place(reader, whole, name, scope=scope))
        except NotFoundError as error:
            try:
                entry = self.show(name) if len(name.strip()) == 8 else None  # a REF has eight characters
            except (NotFoundError, UsageError):
                entry = None
            if entry is None or entry.ref != name.strip().lower():  # words of entries are searched for, not opened
                raise error from None
            return recall.names.NamedPlace(entry.path, entry.line, block_id=entry.block_id)

    def tags(self, *, project: str | None = None) -> builtins.list[recall.names.TagCount]:
        """List all tags by name, each with its number of notes, including those of tags nested below it."""
        scope = self.workspace.scope(project)
        return self.workspace.ask(lambda reader: recall.names.tags(reader, scope=scope))

    def tagged(self, tag: str, *, project: str | None = None) -> builtins.list[recall.names.Tagged]:
        """List the notes that have a tag or one nested below it, and the lines that have it.

        Raises:
            NotFoundError: no note has the tag.
        """
        scope, whole = self.workspace.scope(project), self.workspace.whole
        return self.workspace.ask(lambda reader: recall.names.tagged(reader, whole, tag, scope=scope))

    def related(self, name: str, *, limit: int = 10, project: str | None = None) -> tuple[str, builtins.list[NearNote]]:
        """Return the path of the note with this name, and the related notes with the reasons, best first.

        Args:
            name: its title, file name or alias, or its path.
            limit: maximum number of notes.
            project: include its notes, as for :meth:`facts`.

        Raises:
            NotFoundError: there is no such note.
            UsageError: several notes have the name.
        """
        scope = self.workspace.scope(project)
        whole = self.workspace.whole
        found = self.workspace.ask(
            lambda reader: recall.names.notes_near(reader, whole, name, scope=scope, limit=limit)
        )
        if not found[1] and (pending := self.workspace.index().pending()):
            self.workspace.notices += filter(None, [self.workspace.coverage(pending)])
        return found

    def sql(self, query: str, *, seconds: float = SQL_SECONDS) -> index.tables.TableQuery:
        """Run one SELECT over the tables ``notes``, ``lines``, ``entries``, ``facts``, ``links`` and ``tags``
        (:data:`tars_memory.index.tables.TABLES`). They contain the notes of the chosen project and those outside
        projects, but no conversations.

        Args:
            query: one statement that only reads these tables.
            seconds: time limit.

        Raises:
            UsageError: the query can't be run, or does more than read.
            PartialError: its time is up; this may also be raised while the rows are read.
        """
        today, scope = self.workspace.now().date(), self.workspace.project
        return self.workspace.ask(
            lambda reader: index.tables.TableQuery(reader.tables(self.workspace.whole, scope, today), query, seconds)
        )

    def export(self, path: str | os.PathLike[str], *, replace: bool = False) -> dict[str, int]:
        """Write the tables of :meth:`sql` into a file outside the vault; see :func:`tars_memory.index.tables.export`.

        Raises:
            UsageError: the file's ending is unknown, or the file exists or is in the vault.
            UnwritableError: the file can't be written.
        """
        file = Path(path)
        if self.workspace.root in (real := file.resolve()).parents or real == self.workspace.root:
            raise UsageError(f"{file} is in the vault", "an export is not a note: name a file outside the vault")
        today, scope = self.workspace.now().date(), self.workspace.project
        return self.workspace.ask(
            lambda reader: index.tables.export(reader.tables(self.workspace.whole, scope, today), file, replace=replace)
        )

    def playbooks(self) -> builtins.list[vault.playbooks.Playbook]:
        """List the playbooks of the vault and of the chosen project, by path."""
        whole, journal = self.workspace.whole, self.workspace.store(writes=False).journal
        stands, loaded = partial(vault.writing.history.stands_approved, journal), recall.loaded
        scopes = dict.fromkeys((self.workspace.project, ""))
        found = vault.playbooks.read_all(whole, vault.playbooks.last_uses(self.workspace.state), scopes)
        return [book._replace(approved=loaded.is_approved(whole, stands, book.path)) for book in found]

    def playbook(self, name: str) -> tuple[vault.playbooks.Playbook, str]:
        """Return a playbook and its text; the playbook counts as used today.

        Args:
            name: its file's name, its title, or its path.

        Raises:
            NotFoundError: there is no such playbook.
            AmbiguousError: several playbooks have that title.
        """
        book = self._playbook(name)
        text = self.workspace.vault.read(book.path).decode("utf-8", "replace")
        self._use(book.path)
        return book, text

    def _playbook(self, name: str) -> vault.playbooks.Playbook:
        found = vault.playbooks.find_by_name(self.playbooks(), name)
        if len(found) > 1:
            paths = [book.path for book in found]
            raise AmbiguousError(
                f"{counted(len(found), 'playbook')} are called {name!r}", paths, "name one by its path"
            )
        if not found:
            raise NotFoundError(f"there is no playbook {name!r}", "tars-memory playbooks lists them")
        return found[0]

    def _use(self, *paths: str) -> None:
        """Record that playbooks were used today."""
        if paths and not self.workspace.dry_run:
            vault.playbooks.use(self.workspace.state, paths, self.workspace.now().date())

    def timeline(self, about: str | None = None, *, project: str | None = None) -> builtins.list[Fact]:
        """List all facts, or those about a name, oldest first; those without a date come last."""
        found = self.facts(about, everything=True, project=project)
        return sorted(found, key=lambda fact: (fact.since is None, str(fact.since)))

    def evaluate(
        self,
        file: str | os.PathLike[str],
        *,
        mode: str | None = None,
        against: Iterable[str] = (),
        limit: int | None = None,
    ) -> recall.evaluation.Evaluation:
        """Measure how well search answers the questions of a file, in one mode or several. Writes nothing.

        Args:
            file: JSON lines: ``{"query", "gold": [{"path", "line"?}], "category"?, "id"?}``.
            mode: as for :meth:`search`.
            against: modes to compare it with.
            limit: maximum number of hits of an answer (50).

        Raises:
            UsageError: the file can't be read, or a line of it is not a question.
            ModelUnavailableError: ``semantic`` is among the modes, and the model can't be used.
        """
        try:
            questions = recall.evaluation.questions(disk.read_named(file), os.fspath(file))
        except OSError as error:
            raise UsageError(
                f"{os.fspath(file)} can't be read: {error.strerror}", "name a file of questions"
            ) from error
        limit = limit or recall.evaluation.LIMIT

        def read(path: str) -> bytes:
            if not self.workspace.may_show(path):
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

    def _writer(self, text: str | None = None, *, writes: bool = True) -> capture.remember.Caller:
        """Return the caller of a write, after applying the ticks in Review.md.

        Args:
            text: kept if the write fails; None for a write without a text.
            writes: False only to read.
        """
        if writes:
            self.workspace.apply_pending_ticks()
        return self.workspace.capture(writes=writes) if text is None else self.workspace.keeping(text)

    def remember(
        self, text: str, *, tier: str = "semantic", section: str | None = None, tags: Iterable[str] = ()
    ) -> Receipt:
        """Keep a fact in Memory.md, or with ``tier="procedural"`` a rule. An exact repeat is reported, not written."""
        caller = self._writer(text)
        return capture.remember.remember(caller, text, tier=tier, section=section, tags=tuple(tags))

    def propose(
        self,
        text: str,
        *,
        section: str | None = None,
        tags: Iterable[str] = (),
        steps: Sequence[str] = (),
        when: str = "",
    ) -> Receipt:
        """Propose a rule for Procedural.md. It always waits for the person's review, whoever calls.

        Args:
            text: the rule; with ``steps`` the title of a playbook, which is offered instead.
            section: heading to put the rule under.
            tags: tags to add to the rule.
            steps: the steps of the playbook, in order.
            when: when to use the playbook.
        """
        caller = self._writer(text)
        caller.allowed, caller.interactive = PermissionOptions(), False
        if steps:
            listed = "\n".join(f"{number}. {' '.join(step.split())}" for number, step in enumerate(steps, 1))
            return capture.notes.learn(caller, text, listed, when=when)
        return capture.remember.remember(caller, text, tier="procedural", section=section, tags=tuple(tags))

    def log(self, text: str) -> Receipt:
        """Add a line with the time to today's note."""
        return capture.remember.log(self._writer(text), text)

    def daily(self, day: date | None = None) -> Receipt:
        """Return the note of a day (today); create it from the vault's daily template if it is missing."""
        day = day or self.workspace.now().date()
        missing = self.workspace.vault.look(self.workspace.vault.daily_path(day)) is None
        return capture.notes.daily(self.workspace.capture(writes=missing), day)

    def new(self, title: str, text: str = "", *, beside: str = "") -> Receipt:
        """Create a note where Obsidian puts new ones. Never overwrites an existing note.

        Args:
            title: its name, which may begin with folders of the vault (``recipes/Rye``).
            text: its text, which follows that of the template.
            beside: the folder that counts as the current one, relative to the vault.

        Raises:
            UsageError: the note exists, or the title can't be a file's name.
        """
        return capture.notes.new(self._writer(text or title), title, text, beside=beside)

    def learn(self, title: str, steps: str, *, when: str = "") -> Receipt:
        """Create a playbook. Unless a person at a terminal calls, it waits for the person's review.

        Args:
            title: the playbook's title.
            steps: markdown, or one step per line.
            when: when to use it.

        Raises:
            UsageError: a playbook with this title says something else, or the title can't be a file's name.
        """
        return capture.notes.learn(self._writer(steps), title, steps, when=when)

    def topic(self, name: str, text: str, *, agent: str) -> Receipt:
        """Add a line to a topic note that an agent keeps for itself. Only this agent gets it in prompts.

        Raises:
            UsageError: the name can't be a file's name, or the note or the number of notes would exceed ``[limits]``.
        """
        return capture.notes.topic(self._writer(text), agent, name, text)

    def topics(self, agent: str) -> builtins.list[capture.notes.Topic]:
        """List the topic notes of an agent, by name."""
        return capture.notes.topics(self.workspace.capture(writes=False), agent)

    def topic_note(self, name: str, *, agent: str) -> Note:
        """Return a topic note of an agent.

        Raises:
            NotFoundError: the agent has no topic note with this name.
        """
        return capture.notes.read_topic(self.workspace.capture(writes=False), agent, name)

    def pin(self, name: str, *, pinned: bool = True) -> Receipt:
        """Keep an unused playbook in prompts, or let it go (``pinned=False``); ``name`` as for :meth:`playbook`."""
        return capture.notes.pin(self._writer(), self._playbook(name).path, pinned=pinned)

    def headings(self, name: str) -> tuple[str, builtins.list[capture.notes.Heading]]:
        """Return the path of the note with this name, as :meth:`note_called` finds it, and its headings in order."""
        path = self._kept_or_called(name)
        return path, capture.notes.headings(self.workspace.capture(writes=False), path)

    def heading(self, name: str, title: str) -> tuple[str, capture.notes.Heading]:
        """Return the path of the note with this name, and the heading that :meth:`remove_heading` would remove."""
        path = self._kept_or_called(name)
        return path, capture.notes.heading_named(self.workspace.capture(writes=False), path, title)

    def add_heading(self, name: str, title: str) -> Receipt:
        """Add a heading at the end of a note of the memory, unless the note has it.

        Raises:
            NotFoundError: there is no such note.
            UsageError: the note is the person's own, or the title has no words.
        """
        return capture.notes.add_heading(self._writer(), self._kept_or_called(name), title)

    def remove_heading(self, name: str, title: str, *, filled: bool = False) -> Receipt:
        """Remove a heading from a note of the memory; with ``filled`` also the text under it.

        Raises:
            NotFoundError: there is no such note or heading; the message lists the headings.
            UsageError: the heading has text under it and ``filled`` is not set, several headings have this title, or
                the note is the person's own.
        """
        return capture.notes.remove_heading(self._writer(), self._kept_or_called(name), title, filled=filled)

    def _kept_or_called(self, name: str) -> str:
        """Find a note by name: one of the memory's own by its file name, the project's first; else any note."""
        layout = self.workspace.vault.layout
        kept = [path for path in (*layout.kept, *layout.loaded) if self.workspace.vault.look(path) is not None]
        wanted = name.strip().removesuffix(".md").casefold()
        same = [path for path in kept if path.rpartition("/")[2].removesuffix(".md").casefold() == wanted]
        return same[0] if same else self.note_called(name)

    def feedback(self, good: bool, note: str, *, question: str | None = None, answer: str | None = None) -> Receipt:
        """Note what went well (rewards.md) or badly (corrections.md)."""
        return capture.remember.feedback(self._writer(note), good, note, question, answer)

    def edit(self, target: str, text: str, *, tags: Iterable[str] = (), bare: bool = False) -> Receipt:
        """Change the text of an entry. ``target`` is its REF, ``path:line``, or words that only this entry contains.

        The entry's tags and fields stay unless the text has its own; ``tags`` are added; ``bare`` keeps none.
        """
        return capture.amend.edit(
            self._writer(text), self.workspace.resolve_proposal(target), text, tags=tuple(tags), bare=bare
        )

    def copies(self, target: str) -> jobs.forgetting.Copies:
        """Find what :meth:`forget` would remove, and what would stay."""
        lines = partial(jobs.forgetting.talk_lines, self.workspace)
        return jobs.forgetting.copies_of(self.workspace.capture(writes=False), self._to_forget(target), lines)

    def _to_forget(self, target: str) -> str:
        """Return the REF of a proposal's line for the proposal's id; the id itself if the line is in no note yet."""
        try:
            return self.workspace.resolve_proposal(target)
        except NotFoundError:
            return target.strip().removeprefix("^").removeprefix("r-")

    def near(self, target: str) -> builtins.list[TalkLine]:
        """List the lines of conversations that say the same as an entry in other words; :meth:`forget` leaves them."""
        return jobs.forgetting.similar_talk_lines(self.workspace, target)

    def forget(
        self, target: str, *, everywhere: bool = False, also: Iterable[TalkLine] = (), parts: bool = True
    ) -> Forgotten:
        """Remove a statement from every note that has it, or withhold what was only said in a conversation. The
        notices say which copies remain.

        Until an undo, extraction skips earlier conversation text that contains the statement.

        Args:
            target: a REF, or words that only this entry or sentence contains, or ``path:line`` of a log.
            everywhere: also purge it, and its old words, from journal, spool, index, caches and the hooks' files.
                This can't be undone. A statement that is already forgotten can still be purged.
            also: lines of conversations, from :meth:`near`, that extraction will skip, too.
            parts: accept words that are only part of it, even if several entries say it; otherwise an error lists the
                entries.
        """
        self.workspace.apply_pending_ticks()
        target = self._to_forget(target)
        self.workspace.forget_withheld()
        if everywhere:
            return jobs.forgetting.forget_everywhere(self.workspace, target, tuple(also), parts=parts)
        lines = partial(jobs.forgetting.talk_lines, self.workspace)
        receipt = jobs.forgetting.forget(
            self.workspace.capture(), target, also=tuple(also), parts=parts, talk_lines=lines
        )
        jobs.forgetting.read_again(self.workspace, receipt)
        if receipt.written:
            only_said = receipt.withheld and not receipt.touched
            receipt.notices += jobs.forgetting.TALK_COPIES if only_said else jobs.forgetting.COPIES
        return receipt

    def add_fact(
        self, subject: str, predicate: str, object_: str, *, since: date | None = None, until: date | None = None
    ) -> Receipt:
        """Add a fact to Facts.md. If its predicate has one value at a time, the old fact ends, and a notice says so.

        If the subject has no facts and is the name of exactly one note in the index, the fact goes under that note's
        other name.
        """
        caller = self._writer(f"{subject} {predicate}:: {object_}")
        names = partial(self._other_names, scope=self.workspace.project)
        return capture.facts.add(caller, subject, predicate, object_, since=since, until=until, other_names=names)

    def _other_names(self, name: str, scope: str) -> tuple[str, ...]:
        """Return all names of the only note with this name, as the index has them; none if the index can't be read."""
        try:
            found = self.workspace.ask_without_refresh(lambda reader: reader.names(scope).named(name))
        except (index.database.IndexDamagedError, index.database.driver().module.Error, OSError):
            return ()
        return found.names if found and len(found.paths) == 1 else ()

    def end_fact(self, target: str, *, on: date | None = None) -> Receipt:
        """End a fact on a day (today)."""
        return capture.facts.end(self._writer(), target, on)

    def remove_fact(self, target: str) -> Receipt:
        """Remove a fact, as if nobody had ever stated it."""
        return capture.facts.remove(self._writer(), target)

    def undoable(
        self, txn: str | None = None, *, last: int = 1
    ) -> tuple[builtins.list[JournalEntry], builtins.list[Written]]:
        """Return the writes that :meth:`undo` would undo, and what it would write. Writes nothing."""
        caller = self.workspace.capture(writes=False)
        caller.store.dry_run = True
        found = vault.writing.history.find_transactions(caller.store.journal, txn, last, caller.layout)
        return [entry for _, group in found for entry in group], capture.amend.undo(caller, txn, last=last)

    def undo(self, txn: str | Sequence[str] | None = None, *, last: int = 1) -> builtins.list[Written]:
        """Undo the last transactions of the chosen project, or those named. Naming an undo undoes it.

        Raises:
            UsageError: the undo would change a rule, and no person is at a terminal.
            NotFoundError: there is nothing to undo.
            ConflictError: a note has changed too much since; that note was not changed.
        """
        done = capture.amend.undo(self.workspace.capture(), txn, last=last)
        jobs.forgetting.stop_withholding_undone(self.workspace)
        return done

    # --- deciding

    def review(self, *, writes: bool = True) -> curation.review.Review:
        """Return the proposals that wait for the person, to decide them: see :class:`curation.review.Review`.

        Args:
            writes: False only to read: nothing is written, not even the vault's id.
        """
        return self.workspace.review(writes=writes)

    # --- keeping it tidy

    def tidy(self, *, apply: bool = False, ignore: bool = False, ids: Iterable[str] = ()) -> Tidied:
        """Find what to tidy in the notes of the memory. Writes only with ``apply`` or ``ignore``.

        Args:
            apply: remove what loses nothing, and propose the other changes for review.
            ignore: don't report these findings again until their words change.
            ids: only these findings.

        Raises:
            NotFoundError: there is no finding with one of these ids.
            UnwritableError: the vault can't be written.
        """
        caller = self._writer(writes=apply or ignore)
        return curation.tidying.tidy.tidy(caller, apply=apply, ignore=ignore, ids=tuple(ids))

    def archive(self, *, apply: bool = False, most: int | None = None) -> Archived:
        """Find the daily notes that are old enough for ``archive/``; ``apply`` moves them, unless they are more than
        ``most``.

        Raises:
            UsageError: the vault's daily note format can't be used.
            UnwritableError: the vault can't be written.
        """
        return curation.tidying.archive.archive(self._writer(writes=apply), apply=apply, most=most)

    def compress(self, *, by: str | None = None, before: date | None = None, apply: bool = False) -> Archived:
        """Plan which old sessions go to ``archive/``, with the summaries that replace them; ``apply`` does it.

        Args:
            by: ``month`` or ``year``; None for the setting.
            before: sessions before this day; None for those whose period ended long enough ago.
            apply: write all of it, or nothing.

        Raises:
            UsageError: the period is unknown; or no person is at a terminal, and the settings require one.
            ConflictError: a note changed in the meantime; nothing was written.
            UnwritableError: a note can't be written; nothing was written.
        """
        may = self.workspace.settings.permissions.unattended_compress
        allowed = may or (self.workspace.interactive and self.workspace.actor == "person")
        caller = self._writer(writes=apply and allowed)
        return curation.tidying.archive.compress(caller, by=by, before=before, apply=apply, allowed=allowed)

    # --- extracting from conversations

    def extract(
        self,
        sources: Iterable[str | os.PathLike[str] | BinaryIO],
        *,
        model: curation.models.llm.LanguageModel | str | None = None,
        keep: str | None = None,
        force: bool = False,
        auto: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> curation.extraction.extract.Extracted:
        """Find candidates in conversations: ``[extracted]`` lines in daily notes, and a note for each session.

        Args:
            sources: files, folders, or binary streams of chat logs in any known format.
            model: a model, or its name for litellm; ``"none"``: the built-in rules; None: the setting.
            keep: what a session note keeps of the turns: ``exchanges``, ``facts``, ``quotes``, ``full``.
            force: also examine conversations in which the person says little, and turns that were examined before.
            auto: a hook or cron is calling: do nothing if ``TARS_AUTO_EXTRACT=0``.
            progress: called with the source of each conversation before it is read.

        A conversation held in a project's folder goes to that project, unless this memory was opened for one.

        Raises:
            ModelUnavailableError: the model can't be used, and nothing was written.
            UsageError: ``keep`` is unknown; or the vault's daily note format can't be used.
            UnwritableError: the vault can't be written.
        """
        self.workspace.apply_pending_ticks()
        with self.writers() as within:
            return curation.extraction.extract.from_sources(
                self.workspace.capture,
                sources,
                model,
                keep=keep,
                force=force,
                auto=auto,
                progress=progress,
                within=None if self.workspace.project_is_named else within,
            )

    def import_memories(
        self, sources: Iterable[str | os.PathLike[str] | BinaryIO], *, form: str | None = None
    ) -> curation.extraction.extract.Extracted:
        """Import what other programs remember: candidates as :meth:`extract` writes them, all in one transaction.

        Args:
            sources: files, folders, or binary streams; they are only read.
            form: ``instructions``, ``claude-memory``, ``basic-memory`` or ``mem0``; None: detected from the content.

        Raises:
            UsageError: the format is unknown; or the vault's daily note format can't be used.
            UnwritableError: the vault can't be written; nothing was written.
        """
        self.workspace.apply_pending_ticks()
        return curation.extraction.extract.import_memories(self.workspace.capture, sources, form)

    def extract_prompts(
        self,
        sources: Iterable[str | os.PathLike[str] | BinaryIO],
        *,
        model: curation.models.llm.LanguageModel | str | None = None,
        force: bool = False,
    ) -> curation.extraction.extract.Prompts:
        """Return what :meth:`extract` would ask a model, with tokens and cost. Sends and writes nothing."""
        ctx, work = self.workspace.capture(writes=False), curation.extraction.extract.prompts_for
        with self.writers() as within:
            return work(ctx, sources, model, force=force, within=None if self.workspace.project_is_named else within)

    # --- the index

    def reindex(
        self, *, full: bool = False, embed: bool = True, progress: Callable[[str, int, int], None] | None = None
    ) -> index.intake.RefreshReport:
        """Bring the index up to date, vectors included; ``full`` makes a new one.

        Without a usable model only the keywords are updated, and a notice says so.
        """
        return self.workspace.reindex(full=full, embed=embed, progress=progress)

    def sources(self) -> dict[str, Any]:
        """List the logs that search covers besides the vault.

        Returns:
            ``sources`` (each with ``path`` and ``there``), numbers of ``logs`` and ``conversations`` that can be
            searched, ``nights`` (whether ``sleep`` ran in the last three days), ``notices``.
        """
        return jobs.status.sources(self.workspace)

    def add_source(self, path: str, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
        """Search a log, or a folder of logs, from now on; returns what :meth:`sources` returns.

        Raises:
            UsageError: there is nothing at the path.
            UnwritableError: the person's settings or the index can't be written.
        """
        return jobs.status.add_source(self.workspace, path, progress)

    def remove_source(self, path: str) -> dict[str, Any]:
        """Stop searching a source and drop what was read of it; returns what :meth:`sources` returns.

        Raises:
            UsageError: the path is not a source.
            UnwritableError: the person's settings or the index can't be written.
        """
        return jobs.status.remove_source(self.workspace, path)

    def verify(self) -> builtins.list[str]:
        """List how the index differs from a new one, one sentence per difference. Pending vectors don't count."""
        self.workspace.index().refresh()
        return self.workspace.index().verify()

    def models(self, *, fetchable: bool = True) -> builtins.list[dict[str, Any]]:
        """List the embedding models that are installed or fit; with ``fetchable`` also those that can be downloaded."""
        return jobs.status.models(self.workspace, fetchable=fetchable)

    def merge_by_entry(self, program: Sequence[str]) -> jobs.merge.GitReport:
        """Set up git to merge notes entry by entry in this clone; makes a repository if there is none.

        Args:
            program: the words that start this program, so that git can call it.

        Raises:
            UsageError: git is not installed.
            UnwritableError: git refuses, or the vault can't be written.
        """
        return jobs.merge.set_up(self.workspace, program)

    def recommended_model(self) -> dict[str, Any] | None:
        """Return the embedding model that fits the vault's languages better than the configured one, or None."""
        return jobs.status.recommended(self.workspace)

    def use_model(self, name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Get a model, from a folder or else by download, and set it in the person's settings."""
        return jobs.status.use_model(self.workspace, name, Path(folder) if folder is not None else None)

    def status(self) -> dict[str, Any]:
        """Return the state of vault, index and model; bring the index up to date first."""
        return jobs.status.status(self.workspace)

    def loaded(self) -> jobs.status.Growth:
        """Return the size of the notes that begin every prompt, their growth, and how much of them doesn't fit."""
        return jobs.status.loaded(self.workspace)

    def doctor(self, *, fix: bool = False) -> dict[str, Any]:
        """Find what is wrong (``findings``). Finishes what a crash interrupted, and writes what waits in the spool.

        Args:
            fix: also repair what is safe to repair: derived data, and leftovers of this program.
        """
        return jobs.doctor.doctor(self.workspace, fix=fix)

    def adoptable(self, path: str | os.PathLike[str] | None = None) -> jobs.doctor.Adoption:
        """Find the state that is kept for a path from which this vault was moved.

        Args:
            path: the old path; None if state is kept for only one.

        Raises:
            UsageError: a vault of this id is at that path now, so this one is a copy; or an agent asks.
            NotFoundError: no state is kept for the path; or state is kept for several paths, and none is named.
        """
        return jobs.doctor.adoptable(self.workspace, os.fspath(path) if path is not None else None)

    def adopt(self, adoption: jobs.doctor.Adoption) -> None:
        """Take over history, undo, approvals and waiting texts from the path that this vault was moved from.

        Raises:
            ConflictError: writes to both paths alternated.
            UnwritableError: the state folder can't be written, or another process writes.
        """
        jobs.doctor.adopt(self.workspace, adoption)

    def drop(self, item: str) -> Path | None:
        """Take a text out of the spool: save it as a file, and return the file's path; None for a removal without text.

        Raises:
            NotFoundError: no waiting text has this name.
        """
        return jobs.doctor.drop(self.workspace, item)

    def restore(self, txn: str) -> builtins.list[Written]:
        """Write again the lines of a transaction (``all``: of every one) that another program overwrote, each once."""
        return jobs.doctor.restore(self.workspace, txn)


def _forget(caller: capture.remember.Caller, arguments: Mapping[str, Any]) -> Receipt:
    """Run a ``forget`` that waited in the spool."""
    return jobs.forgetting.forget(caller, arguments["target"])
