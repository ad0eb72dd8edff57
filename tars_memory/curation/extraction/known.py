"""What the vault holds or refused already, so that no candidate costs the person a second decision."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation import similarity
from tars_memory.errors import TarsError
from tars_memory.language import statements
from tars_memory.settings import FactsOptions
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.facts import claim_in, heading_for
from tars_memory.vault.markdown.lines import FACT
from tars_memory.vault.model import Tier
from tars_memory.vault.sessions import LEFT_OUT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.vault.markdown.facts import Claim
    from tars_memory.vault.vault import Vault

REPLACED = "replaced::"
"""How a line under a promoted candidate begins that names the words it took the place of."""

MOST_TOLD = 40
"""Facts that a model is shown, so that what changes one of them comes as a change."""

TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY, Tier.EPISODIC)
"""Where memory stands; other notes are the person's own texts."""

Key = tuple[tuple[str, ...], frozenset[str]]

_BULLET = re.compile(r"(?:^|(?<=[\r\n]))[ \t]*[-*+][ \t]+([^\r\n]+)")
_LEFT_OUT = re.compile(rf"^## {LEFT_OUT}[ \t]*\r?$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(?<![ \t])[ \t]*\[\w+::[^\[\]]*\]")


class _Line(NamedTuple):
    """A bullet: where it stands, its words, what became of it, what links it; a fact, and the day of a daily note."""

    tier: Tier
    text: str
    state: str | None
    link: str = ""
    fact: facts.Fact | None = None
    day: date | None = None


class Known:
    """The statements of a vault in our scope.

    The same statement is known in whatever tier it stands, decided or not. What a later line replaced is not: it may
    have become true again. Of what was rejected its rewordings are known too.

    Args:
        vault: read once, at the start.
        notices: takes a sentence for each note that can't be read.
        options: how predicates of facts stand in time, and who the person is.
    """

    def __init__(self, vault: Vault, notices: list[str], options: FactsOptions | None = None) -> None:
        self._held: set[Key] = set()
        self._kept: set[Key] = set()
        self._rejected: dict[tuple[str, ...], list[statements.Statement]] = {}
        """By their content in order: what says the same holds the same."""
        self._facts: list[facts.Fact] = []
        options = options or FactsOptions()
        self._me = facts.names(options.me)
        self._predicates = facts.Predicates.of(options)
        links: dict[tuple[str, str, str], set[str]] = {}
        refused: set[str] = set()
        waiting: dict[str, date] = {}
        last = ""
        replaced: set[Key] = set()
        noted: set[Key] = set()
        for line in _lines(vault, notices):
            if line.text.startswith(REPLACED):
                replaced.add(_key(re.sub(r" \([^()]*\)$", "", line.text.removeprefix(REPLACED).strip())))
            elif line.tier is Tier.DAILY:
                (self._held if line.state == "extracted" else noted).add(_key(line.text))
                if line.state == "rejected":
                    said = statements.read(line.text)
                    self._rejected.setdefault(tuple(sorted(said.content)), []).append(said)
                    refused.add(line.link)
                if line.state == "extracted" and line.link and line.day:
                    waiting[line.link] = line.day
            elif claim := claim_in(line.text.removeprefix(FACT)) if line.text.startswith(FACT) else None:
                if claim.until is None:
                    links.setdefault(claim.key, set()).add(last)
            else:
                last = line.link or last
                if line.tier is Tier.EPISODIC:
                    noted.add(_key(line.text))
                else:
                    self._held.add(_key(line.text))
                    self._kept.add(_key(line.text))
                if line.fact:
                    self._facts.append(line.fact)
                    self._held.add(_key(f"{line.fact.subject} {_FIELD.sub('', line.text).replace('::', '')}"))
        self._held |= noted - replaced
        self._held |= {_key(str(each["text"])) for each in inbox.pending(vault, notices)}
        self._refused = {key for key, named in links.items() if named & (refused - {""})}
        self._open: dict[tuple[str, str], list[tuple[date, str]]] = {}
        for (subject, predicate, value), named in links.items():
            for link in named & waiting.keys():
                self._open.setdefault((subject, predicate), []).append((waiting[link], value))

    def why(self, text: str, claim: Claim | None = None, day: date | None = None) -> str:
        """Why a statement need not be noted again: ``rejected`` or ``known``; empty if it must.

        Args:
            text: its words.
            claim: what it states over time; the same fact is known in whatever words.
            day: on which it was said; a fact that did not hold then is news.
        """
        if claim is not None and claim.until is not None:
            claim = None
        if claim is not None and claim.key in self._refused:
            return "rejected"
        new = statements.read(text)
        alike = self._rejected.get(tuple(sorted(new.content)), ())
        if any(similarity.compare(old, new) in ("same", "near") for old in alike):
            return "rejected"
        if claim is None or day is None:
            return "known" if _key(text) in self._held else ""
        return "known" if _key(text) in self._kept or self._says(claim, day) else ""

    def _says(self, claim: Claim, day: date) -> bool:
        """Whether Facts.md or a candidate that waits says so of that day, and none of them said otherwise since."""
        headings = [fact.subject for fact in self._facts]
        about = claim._replace(subject=heading_for(claim.subject, headings, self._me)).key[:2]
        value = claim.key[2]
        held = [fact for fact in self._facts if (facts.folded(fact.subject), facts.folded(fact.predicate)) == about]
        holding = [f for f in held if facts.object_key(f.object) == value and f.holds(claim.since or day)]
        said = sorted((each for each in self._open.get(claim.key[:2], ()) if each[0] <= day), key=lambda each: each[0])
        if not self._predicates.replaces(claim.predicate):
            return bool(holding) or any(each[1] == value for each in said)
        began = max((fact.since or date.min for fact in holding), default=None)
        if said and (began is None or said[-1][0] >= began):
            others = (fact.since for fact in held if facts.folded(fact.object) != value)
            return said[-1][1] == value and not any(since and said[-1][0] < since <= day for since in others)
        return bool(holding)

    def told(self) -> tuple[list[str], list[str]]:
        """The facts that hold, the newest first, a line each; and the predicates that are known."""
        facts_ = sorted((f for f in self._facts if f.until is None), key=lambda f: f.since or date.min, reverse=True)
        lines = [f"{fact.subject}: {fact.predicate}: {fact.object}" for fact in facts_[:MOST_TOLD]]
        usual = self._predicates.single | self._predicates.temporary | self._predicates.events
        return lines, [*dict.fromkeys([*(fact.predicate for fact in facts_[:MOST_TOLD]), *sorted(usual)])]

    def holds(self, claim: Claim) -> bool:
        """Whether Facts.md says that a claim is so, without an end."""
        subject = heading_for(claim.subject, [fact.subject for fact in self._facts], self._me)
        key = claim._replace(subject=subject).key
        return any(
            f.until is None and (facts.folded(f.subject), facts.folded(f.predicate), facts.object_key(f.object)) == key
            for f in self._facts
        )

    def add(self, text: str, claim: Claim | None = None, day: date | None = None) -> None:
        """From now on it is known."""
        self._held.add(_key(text))
        if claim is not None and claim.until is None and day is not None:
            self._open.setdefault(claim.key[:2], []).append((day, claim.key[2]))


def _key(text: str) -> Key:
    said = statements.read(text)
    return said.words, said.tags


def _lines(vault: Vault, notices: list[str]) -> Iterator[_Line]:
    """The bullets of the tiers' notes; those of daily and session notes, which are many, line by line.

    A bullet within a fence counts there too, and one that goes on over several lines only with its first: both cost a
    candidate at most.
    """
    layout = vault.layout
    for path in sorted(vault.paths()):
        if not layout.is_ours(path):
            continue
        tier = layout.tier_of(path)
        if tier not in TIERS:
            continue
        try:
            data = vault.read(path)
        except TarsError as error:
            notices.append(f"passed over: {error.message}")
            continue
        if tier in (Tier.DAILY, Tier.EPISODIC):
            text = _LEFT_OUT.sub("", data.decode("utf-8", "surrogateescape"))
            timed = layout.timed(path)
            for found in _BULLET.finditer(text):
                parts = entries.parse(found[1], timed=timed)
                link = parts.block_id or (parts.provenance or "").partition("#^")[2]
                yield _Line(tier, parts.text, parts.state, link, day=layout.day_of(path))
            continue
        of_facts = path == layout.facts
        for entry in entries.read(path, Document(data)):
            yield _Line(tier, entry.text, entry.state, fact=facts.fact_of(entry) if of_facts else None)
