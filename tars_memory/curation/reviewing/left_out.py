"""What a second look left out: listed from the session notes, and offered after all if the person wants it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.extraction.keeping import Dailies
from tars_memory.curation.model import Fact
from tars_memory.curation.reviewing.candidates import COMMAND
from tars_memory.errors import ConflictError
from tars_memory.vault import sessions
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.spans import Changes
from tars_memory.vault.sessions import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.extraction.keeping import Kept
    from tars_memory.vault.model import Entry, Splice
    from tars_memory.vault.sessions import SessionFact

ANYWAY = "It was left out as: {kind}"

_TITLE = LEFT_OUT.encode("ascii")


class LeftOut(NamedTuple):
    """One statement that nobody was asked about.

    Attributes:
        entry: its bullet in the session note.
        said: what the note says of it.
        date: of the conversation, ``YYYY-MM-DD``.
    """

    entry: Entry
    said: SessionFact
    date: str

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        stands = {"path": self.entry.path, "line": self.entry.line, "date": self.date}
        said = {"text": self.said.text, "quote": self.said.quote, "said_by": self.said.speaker, "turn": self.said.turn}
        looked = {"fact": self.said.claim or None, "warnings": list(self.said.warnings)}
        return {"id": self.entry.ref, "kind": self.said.kind, **said, **stands, **looked}


def listed(ctx: Caller) -> list[LeftOut]:
    """All that is left out in the session notes of our scope, the newest conversation first."""
    layout = ctx.layout
    paths = sorted(
        (path for path in ctx.vault.paths() if layout.is_session(path) and layout.is_ours(path)), reverse=True
    )
    found: list[LeftOut] = []
    for path, data in ctx.readable(sorted(paths, reverse=True)):
        if _TITLE in data:
            document = Document(data)
            day = str(document.front_matter.get("date", ""))
            found += (LeftOut(*one, day) for one in sessions.facts_of(entries.read(path, document), LEFT_OUT))
    return found


def offer(ctx: Caller, ids: Sequence[str]) -> list[Kept]:
    """Make candidates of some of them, in one transaction: lines of their days, which the session notes link to.

    Args:
        ctx: the command's view of the vault.
        ids: of :func:`listed`.

    Returns:
        The candidates with their lines.

    Raises:
        ConflictError: one of them is not there (any more).
        UnwritableError: the vault can't be written.
    """
    there = {one.entry.ref: one for one in listed(ctx)}
    unknown = [name for name in ids if name not in there]
    if unknown:
        raise ConflictError(
            f"nothing with the id {', '.join(unknown)} is left out; nothing was written",
            "tars-memory review --left-out lists what is",
        )
    chosen = [there[name] for name in dict.fromkeys(ids)]
    with ctx.writing(COMMAND, None, whole=True) as transaction:
        daily = Dailies(ctx, transaction)
        kept = daily.write([daily.add(_fact(one.said), _moment(one, ctx.now), one.said.speaker) for one in chosen])
        for one, line in zip(chosen, kept, strict=True):
            linked = daily.linked(line)

            def moved(data: bytes | None, one: LeftOut = one, linked: SessionFact = linked) -> list[Splice]:
                changes = Changes(data or b"")
                note = sessions.read(one.entry.path, changes.data)
                if note is not None:
                    changes.make(sessions.grow(changes.data, note._replace(facts=(linked,), left_out=(), kept=())))
                left = entries.read(one.entry.path, Document(changes.data))
                same = (each for each, _ in sessions.facts_of(left, LEFT_OUT) if each.text == one.entry.text)
                if (entry := next(same, None)) is None:
                    raise ConflictError(f"{one.entry.path} changed meanwhile", "try again")
                changes.make(edits.remove_bullet(changes.data, entry))
                return changes.splices()

            transaction.write(one.entry.path, moved)
    return kept


def _fact(said: SessionFact) -> Fact:
    warnings = (*said.warnings, ANYWAY.format(kind=said.kind)) if said.kind else said.warnings
    return Fact(said.text, said.quote, said.turn, seen="stated", warnings=warnings)


def _moment(one: LeftOut, now: datetime) -> datetime:
    """When the conversation began, as its note's name and front matter say; the exact turn is not known any more."""
    clock = re.search(r"\d{4}-\d\d-\d\d (\d\d)(\d\d) ", one.entry.path.rpartition("/")[2])
    try:
        day = datetime.fromisoformat(one.date)
        return day.replace(hour=int(clock[1]), minute=int(clock[2])) if clock else day
    except ValueError:
        return now
