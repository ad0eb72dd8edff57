"""Forgetting for good: a statement's copies beyond the notes, taken out of journal, spool, index, caches and what hooks
keep, and looked for.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from tars_memory import disk
from tars_memory.errors import NotFoundError, PartialError, SettingsError, TarsError, counted
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import QUOTE, quote_in
from tars_memory.vault.writing.history import of_scope
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.spool import Spool
from tars_memory.vault.writing.withheld import Withheld, mentions
from tars_memory.vault.writing.withheld import wordings as said_as

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tars_memory.capture.model import Receipt, Turn
    from tars_memory.memory import Memory
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.writing.history import JournalEntry


OUT_OF_REACH = "what your sync or Obsidian keeps of old versions is out of reach"

COPIES = [
    "copies remain in the journal (for undo) and in the index until the next search: forget --everywhere purges both",
    OUT_OF_REACH,
]
"""What ``forget`` says of copies that it leaves."""

LARGEST_COPY = 1 << 31
"""Bytes of a file of ours that is searched for forgotten words."""

MOST_NEAR = 8
"""So many lines of conversations that speak of the same thing are shown."""

REPEATS = 10
"""So many entries with the same words in one note a REF is tried for."""


def near(memory: Memory, target: str) -> list[Turn]:
    """What was said in conversations of the same thing in other words, best first: forgetting leaves it.

    Args:
        memory: of the vault.
        target: what is to be forgotten: a REF, or words that fit it alone.
    """
    from tars_memory.capture.model import Turn

    if memory.talks() is None:
        return []
    try:
        copies = memory.copies(target)
    except NotFoundError:
        return []  # it may have been forgotten before
    words = [word.lstrip("-") for word in copies.texts[0].replace('"', " ").replace(":", " ").split()]
    if not any(words):
        return []
    said = copies.sentences()
    found: dict[Turn, None] = {}
    for hit in memory.search(" ".join(filter(None, words)), tiers=("talk",), limit=MOST_NEAR, expired=True).hits:
        for text, line in zip(hit.text.split("\n"), hit.places, strict=True):
            if not mentions(text, said):
                found[Turn(hit.path, line, hit.day, text.strip())] = None
    return list(found)[:MOST_NEAR]


def forget_everywhere(memory: Memory, target: str, also: Sequence[Turn] = ()) -> Receipt:
    """Remove an entry and purge it; one that was forgotten before is purged all the same.

    Args:
        memory: of the vault.
        target: as for :func:`near`.
        also: what was said in conversations, to be purged with it.

    Raises:
        NotFoundError: there is no such entry, and none was forgotten.
        UnwritableError: it can't be removed now; nothing is kept for later, for then it could not be purged.
        PartialError: it is removed, but not purged everywhere; the same call again purges the rest.
    """
    from tars_memory.capture.amend import forget
    from tars_memory.capture.model import Receipt

    layout = memory.vault.layout
    history = list(of_scope(memory.store(writes=False).history(None), layout))
    try:
        receipt = forget(memory.capture(), target, later=False, also=also)
    except NotFoundError:
        gone = _forgotten(history, target, layout)
        if gone is None:
            raise
        path, line, text, txn = gone
        ref = grammar.ref(path, text)
        receipt = Receipt(None, path, line, ref, text, written=False, notices=memory.notices)
        if not memory.dry_run:
            receipt.notices += [
                "it was forgotten before",
                *purge(memory, [*wordings(history, path, text, layout), *_quotes(history, txn, layout)]),
            ]
        return receipt
    if receipt.written and receipt.copies is not None:
        before = wordings(history, receipt.path, receipt.text, layout)
        told = (*before, *receipt.copies.texts, *receipt.copies.quotes, *(turn.text for turn in also))
        logs = [*receipt.copies.logs, *(turn.log for turn in also)]
        receipt.notices += purge(memory, list(dict.fromkeys(told)), logs)
    return receipt


def restore(memory: Memory) -> None:
    """What was forgotten by writes that are undone by now is withheld no longer."""
    try:
        withheld = Withheld(memory.state)
    except SettingsError as error:
        memory.notices.append(f"{error.message}; {error.hint}")
        return
    if wanted := withheld.txns:
        undone = {
            entry.txn for entry in memory.store(writes=False).history(None) if entry.txn in wanted and entry.undone
        }
        withheld.drop(undone)


def wordings(history: list[JournalEntry], path: str, text: str, layout: Layout) -> list[str]:
    """The words of an entry, and those it had before it was edited, as far as the journal knows.

    Args:
        history: newest first.
        path: of its note.
        text: its words now, or when it was forgotten.
        layout: says where entries begin with a time.
    """
    found = [text]
    for entry in history:
        same = entry.file == path or path == layout.archived(entry.file) or entry.file == layout.archived(path)
        if same and entry.op == "edit" and entry.before and entry.after:
            before, after = _texts(path, entry.before, layout), _texts(path, entry.after, layout)
            if len(before) == len(after) == 1 and after[0] in found and before[0] not in found:
                found += before
    return found


def purge(memory: Memory, texts: list[str], logs: Sequence[str] = ()) -> list[str]:
    """Take forgotten words out of journal, spool and index, look whether they are gone, and say what we can't reach.

    What was said before now and holds them is withheld, whatever is undone. The journal comes last: while it still
    tells of the removal, the same words name what is left to purge.

    Returns:
        sentences for the person.

    Raises:
        PartialError: a copy could not be purged; the message says where the words remain.
    """
    from tars_memory.curation.tidying.proposed import forget_answers

    store = memory.store()
    counts = {"held": 0, "waiting": 0}

    def proposals() -> None:
        with store.transaction("forget") as transaction:
            counts["waiting"] = sum(inbox.purge(transaction, memory.vault, text) for text in texts)

    def spooled() -> None:
        counts["held"] += sum(Spool(store.state / "spool").purge(text) for text in texts)

    def journal() -> None:
        counts["held"] += store.purge(texts)

    told = [words for text in texts for words in said_as(text)]

    def left() -> None:
        counts["held"] += sum(_left_out(path, told) for path in _ours_left(memory, store.state))

    def said() -> None:
        if (talks := memory.talks()) is not None:
            talks.rebuild()

    steps: tuple[Callable[[], object], ...] = (
        lambda: Withheld(store.state).remember(told, memory.now(), logs=logs),
        lambda: forget_answers(store.state),
        proposals,
        spooled,
        left,
        lambda: memory.index().forget(lambda text: mentions(text, told)),
        said,
        journal,
    )
    failed: list[str] = []
    for step in steps:
        if failed and step is journal:
            break  # else the same call again would find nothing that was forgotten
        try:
            step()
        except (TarsError, OSError) as error:
            failed.append(error.message if isinstance(error, TarsError) else str(error))
    memory.close()
    standing = [path for path in memory.vault.paths() if _holds(memory.root / path, texts)]
    also = [f"the same words stand in {path}" for path in sorted(standing) if memory.vault.layout.is_ours(path)]
    ours = [path for path in sorted(store.state.rglob("*")) if not (standing and path.name.startswith("index"))]
    elsewhere = memory.settings.places.state
    ours += [path for name in ("crash-*", "kept/*", "spool/*") for path in sorted(elsewhere.glob(name))]
    ours += [*sorted((memory.root / inbox.INBOX).glob("*"))]
    also += [f"a copy remains in {path}" for path in ours if path.is_file() and _holds(path, texts)]
    if failed:
        why = "; ".join(dict.fromkeys(failed))
        raise PartialError(
            "\n  ".join((f"the entry is gone from its note, but its words are not purged everywhere: {why}", *also)),
            "make room or mend that, then give the same forget --everywhere again: it purges what is left",
        )
    held = counted(counts["held"], "record")
    done = [f"purged from {held} of journal and spool, from the index and its caches; this can't be undone"]
    done += [f"purged from proposals and decisions about them: {counts['waiting']}"] if counts["waiting"] else []
    return [*done, *also, OUT_OF_REACH]


def _ours_left(memory: Memory, state: Path) -> list[Path]:
    """Files of ours beside journal, spool and index that may hold words: copies of logs that hooks keep, their own log,
    the places of the last search, texts that were given up, traces of crashes.
    """
    home = memory.settings.places.state
    names = ("hooks/kept/*/*/*", "hooks/kept/*/*", "hooks/hook.log", "last-search*")
    found = [path for name in names for path in state.glob(name)]
    found += [path for name in ("hook.log", "kept/*", "crash-*") for path in home.glob(name)]
    return sorted(path for path in found if path.is_file())


def _left_out(path: Path, told: list[list[str]]) -> int:
    """Take the lines that hold a sentence out of a file; how many they were. An empty file goes."""
    data = disk.read(path, most=LARGEST_COPY) or b""
    kept, gone = [], 0
    for line in io.BytesIO(data):
        if mentions(line.decode("utf-8", "replace"), told) or _spelled(line, told):
            gone += 1
        else:
            kept.append(line)
    if gone and kept:
        replace_file(path, b"".join(kept))
    elif gone:
        path.unlink()
    return gone


def _spelled(line: bytes, told: list[list[str]]) -> bool:
    """Whether a line is a JSON value with a text that holds a sentence (its characters may be spelled there)."""
    try:
        return b"\\" in line and mentions(json.dumps(json.loads(line), ensure_ascii=False), told)
    except (ValueError, RecursionError):
        return False


def _forgotten(history: list[JournalEntry], target: str, layout: Layout) -> tuple[str, int, str, str] | None:
    """Note, line, words and transaction of the entry that was forgotten last and is named by its REF or its words."""
    said = " ".join(target.split()).casefold()
    for entry in history:
        if entry.command == "forget" and not entry.undone and not entry.purged:
            for text in _texts(entry.file, entry.before, layout)[:1]:
                refs = {grammar.ref(entry.file, text, number) for number in range(REPEATS)}
                if said in refs or said == " ".join(text.split()).casefold():
                    return entry.file, entry.line, text, entry.txn
    return None


def _quotes(history: list[JournalEntry], txn: str, layout: Layout) -> list[str]:
    """What was said, verbatim, as far as a removal took it out of session notes."""
    gone = (text for entry in history if entry.txn == txn for text in _texts(entry.file, entry.before, layout))
    return [quote_in(text) for text in gone if text.startswith(QUOTE)]


def _texts(path: str, lines: str, layout: Layout) -> list[str]:
    """The words of the entries in some lines of a note."""
    document = Document(lines.encode("utf-8", "surrogateescape"))
    return [entry.text for entry in grammar.read(path, document, timed=layout.timed(path))]


def _holds(path: Path, texts: list[str]) -> bool:
    try:
        data = disk.read(path, most=LARGEST_COPY) or b""
    except SettingsError:
        return False
    shapes = [text.encode("utf-8", "surrogateescape") for text in texts]
    shapes += [json.dumps(text)[1:-1].encode("ascii") for text in texts]
    shapes += [json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape") for text in texts]
    return any(shape in data for shape in shapes)
