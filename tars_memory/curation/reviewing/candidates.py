"""Candidates: lines that wait for the person's word, read from the daily notes and the feedback. Nothing is written."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.capture.remember import ANSWER, QUESTION
from tars_memory.curation.model import Mark
from tars_memory.errors import NotFoundError, TarsError
from tars_memory.settings import PROJECTS
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Tier
from tars_memory.vault.sessions import SessionFact, linked
from tars_memory.vault.writing import history
from tars_memory.vault.writing.journal import time_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tars_memory.vault.markdown.facts import Claim
    from tars_memory.vault.model import Entry
    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.journal import Journal


COMMAND = "extract"
"""What writes candidates."""

_CANDIDATE = re.compile(r"\[extracted\][^\r\n]*\^(d-[0-9a-z]+)")
_NAMED = re.compile(rb"#\^([A-Za-z0-9-]+)")


class Candidate(NamedTuple):
    """A line that waits.

    Attributes:
        mark: the line itself.
        text: its words.
        day: of its note, or of the feedback.
        kind: ``fact``, ``correction`` or ``reward``.
        state: ``extracted``, ``expired``, or None for feedback.
        question, answer: that the feedback is about; empty for none.
        claim: what it states over time; None for nothing.
        said: what the newest session note that links to it says of it.
        talk: path of that note; empty for none.
        line, ref: of its entry.
    """

    mark: Mark
    text: str
    day: date
    kind: str = "fact"
    state: str | None = None
    question: str = ""
    answer: str = ""
    claim: Claim | None = None
    said: SessionFact = SessionFact("")
    talk: str = ""
    line: int = 0
    ref: str = ""

    @property
    def source(self) -> str:
        """``2026-11-21#^d-abc``, as a link's target."""
        whole = self.mark.path[:-3]  # a project's note shares its name with those of the same day elsewhere
        name = whole if whole.startswith(f"{PROJECTS}/") else whole.rpartition("/")[2]
        return f"{name}#^{self.mark.block_id}"


class Waiting(NamedTuple):
    """What was found.

    Attributes:
        candidates: oldest first; of the same day in the order of their lines.
        notices: notes that can't be read.
        refused: the words of what was rejected, each once.
    """

    candidates: list[Candidate]
    notices: list[str]
    refused: list[str]


def read(vault: Vault, *, expired: bool = False) -> Waiting:
    """The undecided candidates of all daily notes, archived ones too, and of the feedback.

    Args:
        vault: to read, as far as it is of our scope: each project has a memory of its own.
        expired: those that aged, too.
    """
    layout = vault.layout
    states = ("extracted", "expired") if expired else ("extracted",)
    notices: list[str] = []
    found: list[Candidate] = []
    refused = dict.fromkeys(words for words in inbox.refused(vault) if not re.match("[-*+][ \t]", words))  # removals
    for path in vault.paths():
        day = None if not layout.is_ours(path) or layout.tier_of(path) is not Tier.DAILY else layout.day_of(path)
        if day is None:
            continue
        data = _data(vault, path, notices)
        if any(f"[{state}]".encode() in data for state in (*states, "rejected")):
            entries = grammar.read(path, Document(data), timed=True)
            marks = _Marks(entries)
            found += (
                Candidate(marks.of(entry), entry.text, day, state=entry.state, line=entry.line, ref=entry.ref)
                for entry in entries
                if entry.state in states
            )
            refused |= dict.fromkeys(entry.text for entry in entries if entry.state == "rejected")
    for path, kind in ((layout.corrections, "correction"), (layout.rewards, "reward")):
        if vault.look(path) is not None:
            found += _feedback(path, _data(vault, path, notices), kind)
    found.sort(key=lambda candidate: candidate.day)  # stable: lines of one note keep their order
    return Waiting(found, notices, list(refused))


def is_old(day: date, today: date, window_days: int) -> bool:
    """Whether a candidate of that day is offered no more."""
    return day < earliest(today, window_days)


def earliest(today: date, window_days: int) -> date:
    """The first day of the window."""
    return date.fromordinal(max(1, today.toordinal() - window_days))


def arrived(journal: Journal, since: date) -> frozenset[str]:
    """The block ids of the candidates that were extracted on this machine on that day or later.

    Args:
        journal: of the vault; read back as far as the day.
        since: the first day that counts.

    Raises:
        UnwritableError: the journal can't be read.
    """
    found: set[str] = set()
    first = since.isoformat()
    for entry in history.entries(journal):
        said = max(entry.time[:10], time_of(entry.txn).date().isoformat())  # names go on when a clock is set back
        if said < first:
            break
        if entry.command == COMMAND and not entry.undone:
            found.update(_CANDIDATE.findall(entry.after))
    return frozenset(found)


def said(vault: Vault, block_ids: Collection[str]) -> dict[str, tuple[str, SessionFact]]:
    """By block id of a daily line, the path of the newest session note that links to it, and what that says of it."""
    wanted = {name for name in block_ids if name}
    found: dict[str, tuple[str, SessionFact]] = {}
    layout = vault.layout
    sessions = [path for path in vault.paths() if layout.is_session(path) and layout.is_ours(path)] if wanted else []
    for path in sorted(sessions, key=lambda path: (not layout.is_archived(path), path), reverse=True):
        data = _data(vault, path, [])
        if here := wanted & {name.decode("ascii") for name in _NAMED.findall(data)}:
            found |= {name: (path, fact) for name, fact in linked(data).items() if name in here}
            wanted -= here
        if not wanted:
            break
    return found


def _feedback(path: str, data: bytes, kind: str) -> Iterator[Candidate]:
    entries = grammar.read(path, Document(data), timed=True)
    marks = _Marks(entries, "f")
    for number, entry in enumerate(entries):
        if entry.depth or entry.state or not entry.time:
            continue
        said = {QUESTION: "", ANSWER: ""}
        for below in entries[number + 1 :]:
            if not below.depth:
                break
            for key in said:
                if below.text.startswith(key):
                    said[key] = below.text.removeprefix(key)
        day = re.match(r"\d{4}-\d\d-\d\d", entry.time)
        try:
            when = date.fromisoformat(day[0]) if day else None
        except ValueError:
            when = None
        if when is not None:
            asked = said[QUESTION], said[ANSWER]
            yield Candidate(marks.of(entry), entry.text, when, kind, None, *asked, line=entry.line, ref=entry.ref)


class _Marks:
    """The candidates of a note, each with the block id that it is to get if it has none: a link leads to it alone."""

    def __init__(self, entries: Sequence[Entry], prefix: str = "d") -> None:
        self._prefix = prefix
        self._taken = {entry.block_id.lower() for entry in entries if entry.block_id}
        self._repeats: Counter[str] = Counter()

    def of(self, entry: Entry) -> Mark:
        """The mark of the next candidate."""
        name = entry.block_id
        while name is None:
            free = grammar.block_id(entry.path, entry.text, self._prefix, self._repeats[entry.text])
            self._repeats[entry.text] += 1
            name = None if free in self._taken else free
        return Mark(entry.path, entry.raw, name)


def _data(vault: Vault, path: str, notices: list[str]) -> bytes:
    try:
        return vault.read(path)
    except NotFoundError:
        return b""
    except TarsError as error:
        notices.append(error.message)
        return b""
