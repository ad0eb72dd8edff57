"""Rules that stand in the vault though nobody typed or approved them here: brought along, synced, edited elsewhere.

Approving one changes no byte of its note: the journal of this machine says that the person stands by these very lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.errors import TarsError, UsageError
from tars_memory.recall.packing.loaded import Loaded
from tars_memory.recall.packing.rules import by_approval
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.model import Tier
from tars_memory.vault.writing.history import typed_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.caller import Caller


class Rule(NamedTuple):
    """A rule that nobody approved here.

    Attributes:
        path, line: where it stands.
        ref: the name of its entry.
        section: the heading above it; empty for none.
        text: its words, with those of the bullets below it, a line each.
        raw: its lines and those of its headings, as bytes, without endings.
    """

    path: str
    line: int
    ref: str
    section: str
    text: str
    raw: tuple[bytes, ...]

    def as_dict(self) -> dict[str, object]:
        """The documented JSON object."""
        return {name: getattr(self, name) for name in ("path", "line", "ref", "section", "text")}


def unapproved(ctx: Caller) -> list[Rule]:
    """The rules of the vault, and of its projects, that are bullets and that nobody typed or approved here."""
    found: list[Rule] = []
    for path in sorted(path for path in ctx.vault.paths() if ctx.layout.tier_of(path) is Tier.PROCEDURAL):
        try:
            found += _of_note(ctx, path, ctx.vault.read(path))
        except TarsError as error:
            ctx.notices.append(error.message)
    return found


def approve(ctx: Caller, rules: Sequence[Rule]) -> str | None:
    """Say in the journal that the person stands by these rules as they are; the transaction that ``undo`` takes.

    Raises:
        UsageError: no person at a terminal does it.
        ConflictError: one of them does not stand there (any more); nothing was approved.
        UnwritableError: the vault can't be written.
    """
    if not ctx.attended:
        raise UsageError("approving a rule takes a person at a terminal", "run tars-memory review --rules there")
    with ctx.writing("review", None, whole=True) as transaction:
        for path in dict.fromkeys(rule.path for rule in rules):
            transaction.vouch(path, {line for rule in rules if rule.path == path for line in rule.raw})
    return next((written.txn for written in transaction.written if written.txn), None)


def _of_note(ctx: Caller, path: str, data: bytes) -> Iterator[Rule]:
    note = Loaded(path, data, whole_items=True)
    known = typed_lines(ctx.store.journal, path)
    entries = {entry.line: entry for entry in grammar.read(path, note.document)}
    for unit in by_approval(note, known)[1]:
        entry, raw = entries.get(unit.start_line), note.rules.get(unit.start_line)
        if entry is not None and raw:
            below = [line.strip() for line in unit.texts[1 + entry.raw.count("\n") :] if line.strip()]
            headings = [line for above in unit.headings for line in note.raw(above) if line not in known]
            text = "\n".join([entry.text, *below])
            yield Rule(path, entry.line, entry.ref, entry.section, text, (*headings, *raw))
