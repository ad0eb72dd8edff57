"""Memory: one short method for each use case. This is the Python API; the command line calls nothing else.

A use case is imported by the method that calls it, so that a command pays for its own room only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tars_memory.errors import ModelUnavailableError
from tars_memory.looking import Looking
from tars_memory.settings import PROJECTS, PermissionOptions, ReviewOptions, TidyOptions

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable, Mapping
    from datetime import date, datetime

    from tars_memory.capture.caller import Caller, Receipt
    from tars_memory.curation.extraction.extract import Extracted, Prompts
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.curation.tidying.archive import Archived
    from tars_memory.curation.tidying.compression import Compressed
    from tars_memory.curation.tidying.tidy import Tidied
    from tars_memory.index.indexer import RefreshReport
    from tars_memory.jobs.doctor import Adoption
    from tars_memory.jobs.forgetting import Copies, Forgotten, TalkLine
    from tars_memory.recall.packing.growth import Growth
    from tars_memory.vault.model import Actor
    from tars_memory.vault.template import InitReport
    from tars_memory.vault.writing.store import Written


REVIEW_NOTE = "Review.md"
"""Where the person may have ticked proposals: :attr:`tars_memory.vault.layout.Layout.review`, without its import."""


class Memory(Looking):
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
        report = fill_vault(memory.vault, memory.store(writes=not dry_run, anew=True))
        report.notices.extend(memory.notices)
        if not dry_run and not memory.settings.places.has_used(memory.root):
            report.notices.append(
                "an agent called: in this folder the vault is found only after you ran tars-memory init here yourself"
            )
        return report

    # --- writing

    def capture(self, *, writes: bool = True) -> Caller:
        """What capture is given; what was to be forgotten may have waited in the spool as well."""
        context = super().capture(writes=writes)
        context.others = {"forget": _forget}
        return context

    def remember(
        self, text: str, *, tier: str = "semantic", section: str | None = None, tags: Iterable[str] = ()
    ) -> Receipt:
        """Keep a fact in Memory.md, or with ``tier="procedural"`` a rule; an exact repeat is said, not written."""
        from tars_memory.capture.remember import remember

        self.take_ticks()
        return remember(self._keeping(text), text, tier=tier, section=section, tags=tuple(tags))

    def log(self, text: str) -> Receipt:
        """Add a line with the time to today's note."""
        from tars_memory.capture.remember import log

        self.take_ticks()
        return log(self._keeping(text), text)

    def feedback(self, good: bool, note: str, *, question: str | None = None, answer: str | None = None) -> Receipt:
        """Note what went well (rewards.md) or badly (corrections.md)."""
        from tars_memory.capture.remember import feedback

        self.take_ticks()
        return feedback(self._keeping(note), good, note, question, answer)

    def edit(self, target: str, text: str, *, tags: Iterable[str] = (), bare: bool = False) -> Receipt:
        """Give an entry other words; ``target`` is its REF, ``path:line``, or words that fit it alone.

        Its tags and fields stay unless the text brings its own; ``tags`` are added, ``bare`` keeps none.
        """
        from tars_memory.capture.amend import edit

        self.take_ticks()
        return edit(self._keeping(text), self._meant(target), text, tags=tuple(tags), bare=bare)

    def copies(self, target: str) -> Copies:
        """What :meth:`forget` would take out, and what would stay."""
        from tars_memory.jobs.forgetting import copies_of

        return copies_of(self.capture(writes=False), self._meant(target))

    def near(self, target: str) -> builtins.list[TalkLine]:
        """What was said in conversations of the same thing as an entry, in other words: :meth:`forget` leaves it."""
        from tars_memory.jobs import forgetting

        return forgetting.near(self, target)

    def forget(self, target: str, *, everywhere: bool = False, also: Iterable[TalkLine] = ()) -> Forgotten:
        """Remove a statement: its line and all that tells it in the notes; its notices say which copies remain.

        What was said before and holds it is withheld from extraction from now on, until an undo.

        Args:
            target: a REF, or words that fit it alone.
            everywhere: also purge it, and what it said before it was edited, from journal, spool, index, caches and
                what hooks keep; it can't be undone then. What was forgotten already can still be purged.
            also: lines of conversations (of :meth:`near`) to be withheld with it.
        """
        from tars_memory.jobs import forgetting

        self.take_ticks()
        self._withheld, target = None, self._meant(target)  # what is withheld is read anew after this
        if everywhere:
            return forgetting.forget_everywhere(self, target, tuple(also))
        receipt = forgetting.forget(self.capture(), target, also=tuple(also))
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
        from tars_memory.capture.amend import undo
        from tars_memory.jobs.forgetting import restore

        done = undo(self.capture(), txn, last=last)
        restore(self)
        return done

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
        from tars_memory.curation.tidying.tidy import tidy

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
        from tars_memory.curation.tidying.archive import archive

        if apply:
            self.take_ticks()
        options = self.settings.options("tidy", TidyOptions)
        window_days = self.settings.options("review", ReviewOptions).window_days
        return archive(self.capture(writes=apply), days=options.daily_days, window_days=window_days, apply=apply)

    def compress(self, *, by: str | None = None, before: date | None = None, apply: bool = False) -> Compressed:
        """Which old sessions go to ``archive/`` and what summary stands in their place; with ``apply`` it is done.

        Args:
            by: ``month`` or ``year``; None for what is set.
            before: sessions before this day; None for those whose period ended long enough ago.
            apply: write, all of it or nothing.

        Raises:
            UsageError: no such period; or nobody who may sits at a terminal, and the configuration does not allow it.
            ConflictError: a note changed meanwhile; nothing was written.
            UnwritableError: a note can't be written; nothing was.
        """
        from tars_memory.curation.tidying.compression import Terms, compress

        may = self.settings.options("permissions", PermissionOptions).unattended_compress
        allowed = may or (self.interactive and self.actor == "person")
        if apply and allowed:
            self.take_ticks()
        context = self.capture(writes=apply and allowed)
        return compress(context, Terms.of(self.settings, by, before), apply=apply, allowed=allowed)

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
        from tars_memory.curation.extraction import extract

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
        from tars_memory.curation.extraction import extract

        return extract.asked(self.capture(writes=False), self.settings, sources, model, force=force)

    # --- deciding

    def take_ticks(self) -> bool:
        """Do what the person ticked in Review.md since; whatever stands in the way of that must not cost what is typed.

        Where there is no such note this is one look; nothing of curation is imported then.

        Returns:
            Whether there is such a note, so that something may have been written.
        """
        folder = self.root / PROJECTS / self.project if self.project else self.root
        if self.dry_run or not os.path.lexists(folder / REVIEW_NOTE):
            return False
        from tars_memory.curation.reviewing import ticks

        ticks.by_the_way(self.review, self.notices)
        return True

    # --- the index

    def reindex(
        self, *, full: bool = False, embed: bool = True, progress: Callable[[str, int, int], None] | None = None
    ) -> RefreshReport:
        """Bring the index in step with the vault, vectors included; ``full`` makes it anew.

        Without a usable model the keyword side is still brought up to date, and a notice says so.
        """
        index = self.index()
        report = index.reindex(full=full, embed=False, progress=progress)
        talks = self.talks()
        if talks is not None:
            said = talks.rebuild(progress) if full else talks.refresh(None, progress)
            report.notices += said.notices
        if embed:
            try:
                report.pending_vectors = self.embed_pending(progress)
            except ModelUnavailableError as error:
                report.notices.append(f"keywords only: {error.message}; {error.hint}")
        return report

    def embed_pending(self, progress: Callable[[str, int, int], None] | None = None) -> int:
        """Make the vectors that are missing, of notes and then of conversations; returns how many are still pending.

        Raises:
            ModelUnavailableError: texts are to be embedded and the model can't be used.
            UnwritableError: the vectors can't be kept.
        """
        left = self.index().embed_pending(progress=progress)
        talks = self.talks()
        return left + (talks.index.embed_pending(self.open_embedder, progress) if talks is not None else 0)

    def sources(self) -> dict[str, Any]:
        """The logs that are searched beside the vault.

        Returns:
            ``sources`` (each with ``path`` and ``there``), numbers of ``logs`` and ``conversations`` that can be
            searched, ``nights`` (whether ``sleep`` ran in the last three days), ``notices``.
        """
        from tars_memory.talks import told

        return told(self)

    def add_source(self, path: str, progress: Callable[[str, int, int], None] | None = None) -> dict[str, Any]:
        """Search the conversations of a log or a folder of logs from now on; returns what :meth:`sources` does.

        Raises:
            UsageError: it is not there.
            UnwritableError: the person's settings or the index can't be written.
        """
        from tars_memory.talks import add_source, expiry, told

        add_source(self.settings, path)
        self._reopen_talks()
        talks = self.talks()
        notices = talks.refresh(None, progress).notices if talks is not None else []
        found = told(self)
        if found["pending_vectors"] and self.goes_on():
            notices.append("found by words now; vectors are being made in the background")
        found["notices"] += [*notices, *expiry(nights=found["nights"])]
        return found

    def remove_source(self, path: str) -> dict[str, Any]:
        """Search a source no more, and forget what was read of it; returns what :meth:`sources` does.

        Raises:
            UsageError: it is none.
            UnwritableError: the person's settings or the index can't be written.
        """
        from tars_memory.talks import remove_source, told

        before = self.talks()
        remove_source(self.settings, path)
        if before is not None:
            before.sources = [each for each in before.sources if each != os.path.abspath(os.path.expanduser(path))]
            before.rebuild() if before.sources else before.index.clear()
        self._reopen_talks()
        return told(self)

    def _reopen_talks(self) -> None:
        if self._talks is not None:
            self._talks.close()
            self._talks = None

    def verify(self) -> builtins.list[str]:
        """How the index differs from one made anew, a sentence each; pending vectors are no difference."""
        self.index().refresh()
        return self.index().verify()

    def models(self) -> builtins.list[dict[str, Any]]:
        """The embedding models: which is used, which are here."""
        from tars_memory.jobs import status

        return status.models(self)

    def recommended_model(self) -> dict[str, Any] | None:
        """The embedding model that fits the vault's languages better than the one that is set, if there is one."""
        from tars_memory.jobs import status

        return status.recommended(self)

    def use_model(self, name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Get a model (from a folder, else over the network), and set it in the person's configuration."""
        from tars_memory.jobs import status

        return status.use_model(self, name, Path(folder) if folder is not None else None)

    def status(self) -> dict[str, Any]:
        """How vault, index and model stand; the index is refreshed first."""
        from tars_memory.jobs import status

        return status.status(self)

    def loaded(self) -> Growth:
        """How big the notes are that every prompt begins with, how fast they grow, and what of them finds no room."""
        from tars_memory.jobs import status

        return status.loaded(self)

    def doctor(self, *, fix: bool = False) -> dict[str, Any]:
        """What needs a look (``findings``); settles what a crash left, places what waits in the spool.

        Args:
            fix: also mend what is safe to mend: derived data, and leftovers of our own.
        """
        from tars_memory.jobs.doctor import doctor

        return doctor(self, fix=fix)

    def adoptable(self, path: str | os.PathLike[str] | None = None) -> Adoption:
        """What the state folder keeps for a path that this vault was moved from; None if there is but one such path.

        Raises:
            UsageError: a vault of this id is at that path now, so this one is a copy; or an agent asks.
            NotFoundError: nothing is kept for it; or for several, and none is named.
        """
        from tars_memory.jobs.doctor import adoptable

        return adoptable(self, os.fspath(path) if path is not None else None)

    def adopt(self, adoption: Adoption) -> None:
        """Take over history, undo, approvals and what waits from the path that this vault was moved from.

        Raises:
            ConflictError: writes there and here took turns.
            UnwritableError: the state folder can't be written, or another process writes.
        """
        from tars_memory.jobs.doctor import adopt

        adopt(self, adoption)

    def drop(self, item: str) -> Path | None:
        """Give up what waits in the spool under that name; its words become a file; its path is returned.

        Raises:
            NotFoundError: nothing waits under that name.
        """
        from tars_memory.jobs.doctor import drop

        return drop(self, item)

    def restore(self, txn: str) -> builtins.list[Written]:
        """Write the lines of a transaction (``all``: of any) anew that something else overwrote, each once."""
        from tars_memory.jobs.doctor import restore

        return restore(self, txn)


def _forget(ctx: Caller, said: Mapping[str, Any]) -> Receipt:
    """Forget what waited in the spool."""
    from tars_memory.jobs.forgetting import forget

    return forget(ctx, said["target"])
