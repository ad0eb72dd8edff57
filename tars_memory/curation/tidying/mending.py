"""Taking lines out of a note for good reason: into the archive first, then out of the note; pure but for the writes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tars_memory.curation.patch import splices_between
from tars_memory.errors import ConflictError, TarsError
from tars_memory.vault.markdown import edits, entries
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.markdown.entries import heading
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.tidying.findings.model import Finding
    from tars_memory.vault.writing.store import Transaction

TIDIED = "Tidied.md"
"""The note in the archive that holds what was removed."""

INTRODUCTION = (
    b"<!-- Lines that tidy took out of the notes named here, by day; each still stands in its note once. -->\n"
)


def mend(ctx: Caller, transaction: Transaction, path: str, still: Callable[[bytes], list[Finding]]) -> list[str]:
    """Remove the lines of some findings from a note.

    They are put into the archive first, so that no kill loses them. A line that can't be removed without changing what
    stands around it stays.

    Args:
        ctx: the command's view of the vault.
        transaction: in which to write.
        path: of the note.
        still: which findings the note's bytes still have; it is asked again if the note changes meanwhile.

    Returns:
        The ids of the findings whose lines went.
    """
    timed = ctx.layout.timed(path)
    data = transaction.read(path)
    gone: list[Finding] = without(data, still(data), timed=timed)[1] if data is not None else []
    if not gone:
        return []
    _keep(ctx, transaction, path, [each for each in gone if each.entry is not None], timed=timed)
    removed: list[str] = []

    def plan(found: bytes | None) -> Sequence[Splice]:
        nonlocal removed
        kept = {each.id for each in gone}
        new, went = without(found or b"", [each for each in still(found or b"") if each.id in kept], timed=timed)
        removed = [each.id for each in went]
        return splices_between(found or b"", new)

    try:
        transaction.write(path, plan)
    except ConflictError:
        return []
    return removed


def without(data: bytes, found: Iterable[Finding], *, timed: bool) -> tuple[bytes, list[Finding]]:
    """A note without the lines of some findings, from the last to the first, and the findings whose lines went. Pure.

    Args:
        data: the note.
        found: findings about whole bullets of it.
        timed: see :func:`tars_memory.vault.markdown.entries.parse`.
    """
    went: list[Finding] = []
    for each in sorted(found, key=lambda finding: finding.line, reverse=True):
        try:
            if each.entry is not None:
                new = apply(data, edits.remove_bullet(data, each.entry, timed=timed))
            else:
                new = apply(data, [_blank_bullet(Document(data), each.line)])
        except ConflictError:
            continue
        if _only_less(data, new, each, timed=timed):
            data = new
            went.append(each)
    return data, went[::-1]


def _blank_bullet(document: Document, line: int) -> Splice:
    """The line of a bullet without words, with the line ending that sets it apart."""
    start, end, after = document.lines[line - 1]
    if after == end and line > 1:
        return Splice(document.lines[line - 2].end, end, b"")
    return Splice(start, after, b"")


def _only_less(before: bytes, after: bytes, gone: Finding, *, timed: bool) -> bool:
    """Whether a note reads as it did, but for one bullet that is gone."""
    old, new = Document(before), Document(after)
    had = Counter((e.text, e.time, e.state, e.section, e.depth) for e in entries.read("", old, timed=timed))
    has = Counter((e.text, e.time, e.state, e.section, e.depth) for e in entries.read("", new, timed=timed))
    entry = gone.entry
    if entry is not None:
        had -= Counter([(entry.text, entry.time, entry.state, entry.section, entry.depth)])
    kinds, now = (Counter(block.kind for block in each.blocks if block.kind != "item") for each in (old, new))
    return (
        had == has
        and kinds == now
        and len(old.bullets) == len(new.bullets) + 1
        and [section.path for section in old.sections] == [section.path for section in new.sections]
    )


def _keep(ctx: Caller, transaction: Transaction, path: str, gone: Sequence[Finding], *, timed: bool) -> None:
    """Put the lines into the archive's note of removed lines; what an earlier run that was cut off put there counts."""
    if not gone:
        return
    layout = ctx.layout
    folder = path.split("/", 2)[:2] if layout.scope_of(path) else []
    title = heading(f"{ctx.now:%Y-%m-%d} {path}")
    wanted = [_bullet(each, timed=timed) for each in gone]

    def plan(data: bytes | None) -> Sequence[Splice]:
        start = new = data or b""
        there = Counter(_under(start, title))
        for bullet in wanted:
            if there[bullet]:
                there[bullet] -= 1
            else:
                new = _added(new, bullet, title)
        return splices_between(start, new)

    transaction.write(layout.archived("/".join([*folder, TIDIED])), plan, create=INTRODUCTION)


def _bullet(finding: Finding, *, timed: bool) -> str:
    """The bullet on one line, with everything that belongs to it."""
    assert finding.entry is not None
    document = Document(finding.entry.raw.strip(" \t").encode("utf-8", "surrogateescape"))
    own = document.bullets[0]
    words = " ".join(document.data[own.start : own.end].decode("utf-8", "surrogateescape").split("\n"))
    return entries.render(entries.parse(words, timed=timed))


def _under(data: bytes, title: str) -> list[str]:
    """The lines under a heading."""
    document = Document(data)
    section = document.find_section(title)
    if section is None:
        return []
    return document.text(section.body_line, section.end_line).replace("\r\n", "\n").split("\n")


def _added(data: bytes, bullet: str, title: str) -> bytes:
    try:
        return apply(data, edits.insert_bullet(data, bullet, section=title))
    except TarsError:
        plain = f"- {entries.neutralise(bullet.removeprefix('- '))}"
        return apply(data, edits.insert_bullet(data, plain, section=title))
