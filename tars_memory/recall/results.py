"""What recall hands out: a hit, the answer to one query, and hits that their notes still hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import vault
from tars_memory.errors import TarsError, counted
from tars_memory.vault.suspicion import MARK
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.recall.query import Query


_UNLINKABLE = str.maketrans(dict.fromkeys("#|^:%[]\\", " "))
"""Characters that Obsidian leaves out of a link to a heading."""
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Bytes that a URL holds as they are (RFC 3986)."""


class Fading(NamedTuple):
    """How much a note has faded.

    Attributes:
        age: days since it was said; None where nothing tells, or where it doesn't matter.
        half_life: days in which half of its recency is lost; 0 for what never fades.
        factor: what is left of it, 0 to 1.
    """

    age: int | None
    half_life: float
    factor: float

    def __str__(self) -> str:
        if not self.half_life:
            return "never fades"
        age = "of unknown age" if self.age is None else f"{counted(self.age, 'day')} old"
        return f"{age}: {self.factor:.4f} of its recency left (half-life in days: {self.half_life:g})"


class Hit:
    """A passage that answers: a few whole lines of one note.

    Attributes:
        rank: 1 for the best.
        score: comparable within one answer only.
        path: of the note, relative to the vault, with ``/``.
        start_line: first line, 1-based.
        end_line: last line, inclusive.
        best: which of its lines answers best, counted from 0.
        tier: what kind of memory the note is.
        date: the note's day, ISO, or None.
        title: of the note.
        day: the ISO day on which it was said or began to hold, as far as that is told; else ''.
        headings: the headings that the passage stands under, outermost first.
        text: those lines verbatim, joined by a newline; of an oversized line the piece that answers.
        block_id: Obsidian's id of the block, without the caret, or None.
        obsidian_url: opens the note there.
        partial: the text is a piece of an oversized line.
        speaker: who said it, in a conversation; else ''.
        answer: how the answer to it begins, in a conversation; it was not searched. Else ''.
        statement: the block id of the candidate that its best line is or was drawn from; else ''.
        places: of each of its lines the line of the log, in a conversation; else empty.
        vault: the name of the shared vault that it is in; empty for the person's own.
        more: how many further passages of its note answer; counted on demand, on the first hit of each note.
        explain: each part of the score, weighted, and what it was made from; filled on demand.
        fading: how much its note has faded by its age; told with ``explain``.
    """

    __slots__ = (
        "answer", "best", "block_id", "date", "day", "end_line", "explain", "fading", "headings", "more",
        "obsidian_url", "partial", "path", "places", "rank", "score", "speaker", "start_line", "statement", "text",
        "tier", "title", "vault",
    )  # fmt: skip

    def __init__(
        self, path: str, start_line: int, end_line: int, text: str, *, title: str = "", partial: bool = False
    ) -> None:
        self.rank = 0
        self.best = 0
        self.score = 0.0
        self.path = path
        self.start_line = start_line
        self.end_line = end_line
        self.tier = "note"
        self.date: str | None = None
        self.title = title
        self.headings: tuple[str, ...] = ()
        self.text = text
        self.block_id: str | None = None
        self.partial = partial
        self.obsidian_url = ""
        self.day = ""
        self.speaker = ""
        self.statement = ""
        self.vault = ""
        self.more = 0
        self.answer = ""
        self.places: tuple[int, ...] = ()
        self.explain: dict[str, float] = {}
        self.fading = Fading(None, 0, 1.0)

    @property
    def best_line(self) -> tuple[int, str]:
        """The line that answers best: its 1-based number in the note, and its text, trimmed."""
        number = self.places[self.best] if self.places else self.start_line + self.best
        return number, self.text.split("\n")[self.best].strip()

    @property
    def account(self) -> str:
        """The score as the sum of its parts, and how much the note has faded."""
        parts = ", ".join(f"{name} {value:.4f}" for name, value in self.explain.items())
        return f"{self.score:.4f} = {parts}; {self.fading}"

    def to_json(self) -> dict[str, Any]:
        """The documented object of ``search --json``."""
        record: dict[str, Any] = {
            "rank": self.rank,
            "score": round(self.score, 4),
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "tier": self.tier,
            "date": self.date,
            "title": self.title,
            "headings": list(self.headings),
            "text": self.text,
            "block_id": self.block_id,
            "obsidian_url": self.obsidian_url,
        }
        if self.places:
            record |= {"speaker": self.speaker, "answer": self.answer}
        if self.vault:
            record["vault"] = self.vault
        if self.explain:
            record["explain"] = {name: round(value, 4) for name, value in self.explain.items()}
            record["fading"] = {**self.fading._asdict(), "factor": round(self.fading.factor, 4)}
        return record


class SearchResult:
    """The answer to one query.

    Attributes:
        query: as it was given.
        mode: how it was answered: ``hybrid``, ``lexical`` or ``semantic``.
        hits: best first.
        abstained: something came near, but nothing is relevant enough to be shown.
        stale: number of notes and logs that the index is behind; 0 when it matches.
        unread_logs: how many of these are logs of conversations; a notice tells of them.
        did_you_mean: names of notes that the query may be misspelt for, if no hit is in them and it found nothing, or
            no note holds one of its words.
        unmounted: the vault looks unmounted or emptied; without hits that says nothing of what is in it.
        more: how many hits a larger limit would add; counted where the request limits the hits of a note.
        notices: sentences for the person.
        parsed: the query as it was read, for views that light up what matched.
    """

    __slots__ = (
        "abstained",
        "did_you_mean",
        "hits",
        "mode",
        "more",
        "notices",
        "parsed",
        "query",
        "stale",
        "unmounted",
        "unread_logs",
    )

    def __init__(
        self,
        query: Query,
        mode: str,
        hits: list[Hit] | None = None,
        *,
        abstained: bool = False,
        stale: int = 0,
        notices: list[str] | None = None,
    ) -> None:
        self.query = query.text
        self.parsed = query
        self.mode = mode
        self.hits = hits or []
        self.abstained = abstained
        self.stale = stale
        self.unread_logs = 0
        self.unmounted = False
        self.did_you_mean: list[str] = []
        self.more = 0
        self.notices = notices or []

    def to_json(self) -> dict[str, Any]:
        """The documented object of ``search --json``."""
        record: dict[str, Any] = {
            "query": self.query,
            "mode": self.mode,
            "hits": [hit.to_json() for hit in self.hits],
            "abstained": self.abstained,
            "stale": self.stale,
            "notices": self.notices,
        }
        return record | ({"did_you_mean": self.did_you_mean} if self.did_you_mean else {})


def obsidian_url(vault_name: str, path: str, *, headings: tuple[str, ...] = (), block_id: str | None = None) -> str:
    """The link that opens a note in Obsidian, at its block or else its nearest heading.

    Args:
        vault_name: the vault folder's name, which is what Obsidian calls it.
        path: of the note, relative to the vault.
        headings: the headings above the place, outermost first.
        block_id: without the caret.
    """
    target = path.removesuffix(".md")
    if block_id:
        target += f"#^{block_id}"
    elif headings:
        target += "#" + " ".join(headings[-1].translate(_UNLINKABLE).split())
    return f"obsidian://open?vault={_percent(vault_name)}&file={_percent(target)}"


def _percent(text: str) -> str:
    """Percent-encoded; what stands for undecodable bytes of a file name becomes a replacement character."""
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


# --- a hit is only shown as far as its text stands in the note now: where it was, or where it has moved to.
#
# The index may be behind the vault for a moment; what is printed may not be. 0.3 ms for ten hits (measured).


def verified(hits: Iterable[Hit], read: Callable[[str], bytes], *, own: bool = False) -> Iterator[Hit]:
    """The hits whose best line the notes hold, their lines corrected where it has moved; the others are left out.

    The index holds no credentials: a hit with one masked is looked for in the note with them masked.

    Args:
        hits: best first; consumed only as far as the answers are.
        read: the note's bytes by its path; raises OSError or TarsError when it can't be read.
        own: give such a hit the note's own text, for a person who looks at it.
    """
    notes: dict[str, bytes | None] = {}
    split: dict[tuple[str, bool], list[str]] = {}
    for hit in hits:
        if hit.path not in notes:
            try:
                notes[hit.path] = read(hit.path)
            except (OSError, TarsError):
                notes[hit.path] = None
        data = notes[hit.path]
        if data is None:
            continue
        for hidden in (False, True) if MARK in hit.text else (False,):
            if (hit.path, hidden) not in split:
                split[hit.path, hidden] = note_lines(vault.secrets.veiled(data) if hidden else data)
            if located(hit, split[hit.path, hidden]):
                if hidden and own and not hit.partial:
                    hit.text = "\n".join(note_lines(data)[hit.start_line - 1 : hit.end_line])
                yield hit
                break


def located(hit: Hit, lines: list[str]) -> bool:
    """Whether the lines hold the hit's text; its line numbers are moved to the nearest place that does.

    Where only some of its lines are held, as in a copy of the vault that is a commit behind a team's index, the hit
    becomes the best one and those beside it that are.
    """
    wanted = hit.text.split("\n")
    first, count = hit.start_line - 1, len(wanted)
    if hit.partial:
        if 0 <= first < len(lines) and hit.text in "\n".join(lines[first : hit.end_line]):
            return True
        places = [i for i, line in enumerate(lines) if count == 1 and hit.text in line]
    else:
        if lines[first : first + count] == wanted:
            return True
        places = [
            i for i, line in enumerate(lines) if line == wanted[0] and (count == 1 or lines[i : i + count] == wanted)
        ]
    if not places:
        return not (hit.partial or hit.places) and _narrowed(hit, lines, wanted)
    at = min(places, key=lambda i: abs(i - first))
    hit.start_line, hit.end_line = at + 1, at + count
    return True


def _narrowed(hit: Hit, lines: list[str], wanted: list[str]) -> bool:
    """Whether the lines hold the hit's best one; it keeps that and its neighbours as far as they hold them, too."""
    best, expected = hit.best, hit.start_line - 1 + hit.best
    places = [i for i, line in enumerate(lines) if line == wanted[best] and line.strip()]
    if not places:
        return False
    at = min(places, key=lambda i: abs(i - expected))
    above = below = 0
    while above < min(best, at) and lines[at - above - 1] == wanted[best - above - 1]:
        above += 1
    while below + 1 < min(len(wanted) - best, len(lines) - at) and lines[at + below + 1] == wanted[best + below + 1]:
        below += 1
    hit.text, hit.best = "\n".join(wanted[best - above : best + below + 1]), above
    hit.start_line, hit.end_line = at - above + 1, at + below + 1
    return True
