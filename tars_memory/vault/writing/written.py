"""What became of one write of one note."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tars_memory.vault.markdown.spans import Span


class Written:
    """What became of one write.

    Attributes:
        txn: the transaction; empty if nothing was written.
        path: of the note, relative to the vault.
        line: 1-based line, in the new text, of the first changed line that isn't blank.
        before: the changed lines as they were.
        after: the changed lines as they are.
        text: the whole note as it is now.
        changed: whether anything was written (in a dry run: would be).
        created: whether the note is new.
    """

    __slots__ = ("after", "before", "changed", "created", "line", "path", "text", "txn")

    def __init__(
        self, txn: str, path: str, text: bytes, spans: Sequence[Span] = (), *, line: int = 1, created: bool = False
    ) -> None:
        self.txn = txn
        self.path = path
        self.line = line
        self.before = b"".join(span.before for span in spans)
        self.after = b"".join(span.after for span in spans)
        self.text = text
        self.changed = bool(spans) or created
        self.created = created
