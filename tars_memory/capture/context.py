"""What every use case of capture is given, and how typed text is kept when it can't be written."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tars_memory.errors import NotFoundError, TarsError, UnwritableError
from tars_memory.settings import FactsOptions
from tars_memory.vault.markdown.visible import hidden
from tars_memory.vault.suspicion import suspicious

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.model import Actor
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.spool import Spool
    from tars_memory.vault.writing.store import Store, Transaction


class Context:
    """One command's view of the vault.

    Attributes:
        vault: to read from.
        store: to write through.
        spool: for what can't be written now.
        now: the one instant of the command, aware, in the local zone.
        actor: who writes.
        interactive: whether a person sits at a terminal.
        unattended_rules: whether the person's own configuration lets others write procedural rules.
        unattended_review: whether it lets others accept proposals.
        facts_options: how predicates of facts stand in time.
        author: who is named beside what is written; empty for nobody.
        notices: what the person should know; each said once.
        settles: the spool item that is being placed, or None.
        item: the name under which the words of this command go to the spool if they can't be written, or None; what is
            written bears it, so that whoever keeps the words as well never has them written twice.
        kept: the folder of words that are given up; None keeps them nowhere.
    """

    __slots__ = (
        "actor",
        "author",
        "facts_options",
        "interactive",
        "item",
        "kept",
        "notices",
        "now",
        "settles",
        "spool",
        "store",
        "unattended_review",
        "unattended_rules",
        "vault",
    )

    def __init__(
        self,
        vault: Vault,
        store: Store,
        spool: Spool,
        *,
        now: datetime,
        actor: Actor,
        interactive: bool = False,
        unattended_rules: bool = False,
        unattended_review: bool = False,
        settles: str | None = None,
        facts_options: FactsOptions | None = None,
        author: str = "",
    ) -> None:
        self.vault = vault
        self.store = store
        self.spool = spool
        self.now = now
        self.actor = actor
        self.interactive = interactive
        self.unattended_rules = unattended_rules
        self.unattended_review = unattended_review
        self.notices: list[str] = []
        self.settles = settles
        self.item: str | None = None
        self.kept: Path | None = None
        self.facts_options = facts_options or FactsOptions()
        self.author = author

    @property
    def layout(self) -> Layout:
        """Where the tiers live in this vault."""
        return self.vault.layout

    @property
    def may_write_rules(self) -> bool:
        """Whether a procedural rule may be written without asking anybody."""
        return self.unattended_rules or self.attended

    @property
    def may_accept(self) -> bool:
        """Whether a proposal may be accepted: a person sits there, or the person's own configuration allows it."""
        return self.unattended_review or self.attended

    @property
    def may_tick(self) -> bool:
        """Whether ticks that this process finds are taken for the person's; an agent may have put them there."""
        return self.actor not in ("agent", "model")

    @property
    def attended(self) -> bool:
        """Whether a person at a terminal does this."""
        return self.interactive and self.actor == "person"

    def readable(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Each note that is there, with its bytes; of one that can't be read a notice says why."""
        for path in paths:
            try:
                yield path, self.vault.read(path)
            except NotFoundError:
                continue
            except TarsError as error:
                self.notices.append(error.message)

    def masked(self, text: str) -> str:
        """The text as it may be written, kept in the spool and recorded in the journal.

        A person at a terminal decides what becomes of a credential (the command line asks). Whoever else writes
        gets it masked, and a notice says so. Of invisible characters, which are left out where it is written, a notice
        tells as well.
        """
        if unseen := hidden(text):
            self.notices.append(f"left out {unseen} invisible character{'s' * (unseen > 1)}")
        if self.attended or not suspicious(text):
            return text
        from tars_memory.vault import secrets

        found = secrets.find(text)
        if not found:
            return text
        self.notices.append(f"masked before it was written: {secrets.kinds(found)}")
        return secrets.mask(text)

    @contextlib.contextmanager
    def writing(self, command: str, arguments: dict[str, Any] | None, *, whole: bool = False) -> Iterator[Transaction]:
        """A transaction; if the vault can't be written, the command and its arguments go to the spool.

        What waits in the spool is placed first.

        Args:
            command: as history shows it; :func:`tars_memory.capture.spooled.place_spool` calls it again.
            arguments: of the use case, JSON values; None keeps nothing: it can't be done later.
            whole: all of its writes or none, see :meth:`tars_memory.vault.writing.store.Store.transaction`.

        Raises:
            UnwritableError: with ``spooled`` set to the spool item, unless this is a dry run.
        """
        try:
            if self.settles is None and not self.store.dry_run:
                from tars_memory.capture.spooled import place_spool

                place_spool(self)
            if command == "log":
                self._check_daily()
            with self.store.transaction(command, settles=self.settles or self.item, whole=whole) as transaction:
                yield transaction
        except UnwritableError as error:
            if arguments is not None and self.settles is None and not self.store.dry_run and error.spooled is None:
                kept = {**arguments, "now": self.now.isoformat(), "actor": self.actor}
                kept |= {"project": self.vault.scope} if self.vault.scope else {}
                kept |= {"author": self.author} if self.author else {}
                error.spooled = self.spool.put(command, {**kept, "interactive": self.interactive}, self.item)
            raise

    def _check_daily(self) -> None:
        """Where the daily note is must be known.

        Raises:
            UnwritableError: Obsidian's setting can't be used; what was typed can wait until it is mended.
        """
        if self.layout.problem:
            raise UnwritableError(self.layout.problem.message, self.layout.problem.hint)
