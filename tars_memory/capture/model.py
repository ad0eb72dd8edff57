"""What the use cases of capture answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.capture.copies import Copies, Copy
    from tars_memory.vault.model import Entry


class Receipt:
    """What became of something typed.

    Attributes:
        txn: the transaction that ``undo`` takes; None if nothing was written.
        path: of the note, relative to the vault.
        line: 1-based line of the entry (after a removal: where it stood).
        ref: the entry's name.
        text: its words as they stand in the note.
        written: whether the note changed.
        spooled: whether the text waits in the spool instead.
        notices: what the person should know.
        gone: the lines that were taken out of the note, nested ones too, as they were.
        touched: of ``forget`` the other places that told it.
        copies: of ``forget`` what it knows of them.
    """

    __slots__ = ("copies", "gone", "line", "notices", "path", "ref", "spooled", "text", "touched", "txn", "written")

    def __init__(
        self,
        txn: str | None,
        path: str,
        line: int,
        ref: str,
        text: str,
        *,
        written: bool,
        spooled: bool = False,
        notices: list[str] | None = None,
        gone: bytes = b"",
    ) -> None:
        self.txn = txn
        self.path = path
        self.line = line
        self.ref = ref
        self.text = text
        self.written = written
        self.spooled = spooled
        self.notices = notices or []
        self.gone = gone
        self.touched: list[Copy] = []
        self.copies: Copies | None = None

    def as_dict(self) -> dict[str, object]:
        """The documented JSON object."""
        names = ("txn", "path", "line", "ref", "text", "written", "spooled")
        return {**{name: getattr(self, name) for name in names}, "notices": self.notices}


class Turn(NamedTuple):
    """A line that was said in a conversation: its log, the line of that, the ISO day or '', and the words."""

    log: str
    line: int
    day: str
    text: str


class Today:
    """The daily note of a day.

    Attributes:
        path: relative to the vault, whether or not it exists yet.
        date: the day.
        exists: whether there is such a note.
        text: all of it; empty if there is none.
        entries: its bullets with words.
    """

    __slots__ = ("date", "entries", "exists", "path", "text")

    def __init__(self, path: str, day: date, text: str | None, entries: list[Entry]) -> None:
        self.path = path
        self.date = day
        self.exists = text is not None
        self.text = text or ""
        self.entries = entries
