"""The nouns of tidy: a finding, a note as it is looked at, and what is known of the vault around it."""

from __future__ import annotations

import base64
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory.curation.model import Related, day_of
from tars_memory.disk import sha256
from tars_memory.settings import FactsOptions
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Tier
from tars_memory.vault.summaries import is_named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from datetime import date

    from tars_memory.vault.layout import Layout
    from tars_memory.vault.links import Links
    from tars_memory.vault.model import Entry

Kind = Literal[
    "duplicate",
    "near-duplicate",
    "contradiction",
    "merge",
    "empty",
    "placeholder",
    "dead-link",
    "expired",
    "oversized",
    "repeated-heading",
    "repeated-id",
    "malformed",
]

Role = Literal["memory", "rules", "facts", "daily", "feedback", "session"]
"""What a note of ours is for; other notes are never looked at."""


class Finding(NamedTuple):
    """Something to tidy.

    Attributes:
        id: 8 characters, made of the kind, the note's path and the words it is about: other words, another id.
        kind: see :data:`Kind`.
        path: of the note.
        line: 1-based.
        text: the words it is about.
        suggestion: what to do, one sentence.
        fixable: whether ``--apply`` mends it by itself, losing nothing.
        entry: the bullet it is about, if that has words.
        op: the change to offer for review, ``remove``, ``replace`` or ``choose``; empty for none.
        words: the new words, for ``replace``; for ``choose`` the question.
        conflicts: other lines that it is about, as the reviewer should see them; for ``choose`` all of them.
    """

    id: str
    kind: Kind
    path: str
    line: int
    text: str
    suggestion: str
    fixable: bool = False
    entry: Entry | None = None
    op: str = ""
    words: str = ""
    conflicts: tuple[Related, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("id", "kind", "path", "line", "text", "suggestion", "fixable")
        told = {name: getattr(self, name) for name in names}
        return {**told, "lines": [each.as_dict() for each in self.conflicts]}


class TidyNote:
    """One note of ours, read.

    Attributes:
        path: relative to the vault.
        role: see :data:`Role`.
        day: of a daily note, else None.
        document: its structure.
        entries: its bullets with words.
        parents: for each bullet's line the line of the bullet that it is nested in; 0 for none.
    """

    __slots__ = ("day", "document", "entries", "parents", "path", "role")

    def __init__(self, path: str, role: Role, data: bytes, *, day: date | None = None, timed: bool = False) -> None:
        self.path = path
        self.role = role
        self.day = day
        self.document = Document(data)
        self.entries = entries.read(path, self.document, timed=timed)
        self.parents: dict[int, int] = {}
        above: list[tuple[int, int]] = []
        for bullet in self.document.bullets:
            while above and above[-1][1] < bullet.line:
                above.pop()
            self.parents[bullet.line] = above[-1][0] if above else 0
            above.append((bullet.line, bullet.end_line))

    def place(self, line: int) -> tuple[int, int]:
        """Where a bullet stands: the first line of its section, and of the bullet around it (0: none)."""
        return self.document.section_at(line).start_line, self.parents.get(line, 0)


class World(NamedTuple):
    """What is known of the vault around a note.

    Attributes:
        today: the local day.
        layout: of the vault.
        links: to follow links by.
        files: the paths of all files.
        linked: block ids that some note links to, in lower case.
        named: how many notes link to a name that leads nowhere, by the name in lower case.
        form: headings under which the daily template has an empty bullet.
        section_entries: more bullets than this are too many for one section.
        read: the bytes of a note; None if it can't be read.
        dated: the day of a line that names none; empty if it is not known.
        facts: how predicates of facts stand in time, and who the person is.
    """

    today: date
    layout: Layout
    links: Links
    files: Collection[str]
    linked: Collection[str]
    named: Mapping[str, int]
    form: Collection[str]
    section_entries: int
    read: Callable[[str], bytes | None]
    dated: Callable[[Entry], str] = lambda _: ""
    facts: FactsOptions = FactsOptions()

    def related(self, entry: Entry) -> Related:
        """A line as it is shown."""
        return Related(entry.path, entry.line, entry.ref, entry.text, day_of(entry, self.dated))


def role_of(layout: Layout, path: str) -> Role | None:
    """What a note is for; None for a note that tidy leaves alone: the person's own, archived, summaries, a template."""
    if layout.is_template(path):
        return None
    tier = layout.tier_of(path)
    if tier is Tier.SEMANTIC:
        return "facts" if layout.is_facts(path) else "memory"
    if tier is Tier.PROCEDURAL:
        return "rules"
    if tier is Tier.EPISODIC:
        return None if layout.is_archived(path) or is_named(path) else "session"
    if tier is Tier.DAILY:
        return None if layout.is_archived(path) else "daily"
    return "feedback" if layout.timed(path) else None


def named(kind: str, path: str, key: str, occurrence: int = 0) -> str:
    """The id of a finding: the same as long as kind, note and words are.

    Args:
        kind: see :data:`Kind`.
        path: of the note.
        key: the words it is about.
        occurrence: which of several with the same words in the note, from 0.
    """
    name = "\0".join((kind, path, key, str(occurrence)))
    digest = sha256(name.encode("utf-8", "surrogateescape")).digest()
    return base64.b32encode(digest[:5]).decode("ascii").lower()


def numbered(found: Iterable[tuple[Finding, str]]) -> list[Finding]:
    """Findings, each with the key it is named by, in order of their lines and with their ids."""
    seen: Counter[tuple[str, str, str]] = Counter()
    told: list[Finding] = []
    for finding, key in sorted(found, key=lambda each: (each[0].line, each[0].kind)):
        place = (finding.kind, finding.path, key)
        told.append(finding._replace(id=named(*place, seen[place])))
        seen[place] += 1
    return told


def shown(text: str, length: int = 80) -> str:
    """Words in a sentence: on one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
