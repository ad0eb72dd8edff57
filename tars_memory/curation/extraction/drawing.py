"""What is drawn from one conversation, by a model or by the rules, and what of it is news.

What the person asked to be remembered is drawn by the rules in any case, so that no model can leave it out. What the
vault holds or refused already is left out, so that no candidate costs the person a second decision.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation import models
from tars_memory.curation.extraction import rules
from tars_memory.curation.proposals import Drawn, DrawnFact
from tars_memory.errors import TarsError
from tars_memory.language import statements
from tars_memory.settings import FactsOptions
from tars_memory.vault import inbox, secrets, sessions, suspicion
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.lines import FACT, bullets_in
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.capture.turns import Transcript
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.vault.vault import Vault


MOST_FACTS = 500
"""That the rules draw from a conversation at once: a person is to decide on each. The next run goes on behind them."""

Moments = dict[int, datetime]
"""When each turn was said, by its number, in the local zone."""


def moments(transcript: Transcript, now: datetime) -> Moments:
    """When each turn was said: its own time, else that of the turn before, else when the conversation began.

    Args:
        transcript: whose times may be missing.
        now: counts for a conversation that does not say any.
    """
    timed = next((turn.time for turn in transcript.turns if turn.time is not None), None)
    last = local(transcript.start or timed, now)
    found: Moments = {}
    for turn in transcript.turns:
        last = local(turn.time, last)
        found[turn.number] = last
    return found


def local(time: datetime | None, otherwise: datetime) -> datetime:
    """The time in the local zone; the other one if there is none, or none that a calendar holds."""
    if time is None:
        return otherwise
    try:
        return time.astimezone()
    except (OverflowError, OSError, ValueError):
        return otherwise


def draw(
    transcript: Transcript,
    after: int,
    when: Moments,
    model: LanguageModel | None,
    known: Known,
    *,
    looks: bool = True,
) -> Drawn:
    """The grounded facts, and what the conversation was about.

    Args:
        transcript: the conversation.
        after: the number of turns that were examined before.
        when: :func:`moments`.
        model: whom to ask; None uses the rules.
        known: what the vault holds; a second look is had only at what is new.
        looks: whether the model is asked for a second look.

    Raises:
        ModelUnavailableError: the model can't be used, or its answer can't.
    """
    if model is None:
        return _by_rules(transcript, after, when)
    found: list[DrawnFact] = []
    dropped: dict[str, int] = {}
    days = {number: moment.date() for number, moment in when.items()}
    named = len({turn.speaker for turn in transcript.turns if turn.role == "user"}) > 1
    for asked in models.grounding.prompts_of(transcript, after, when, known.told()):
        held = models.grounding.ground(asked.dialogue.ask(model).facts, asked.turns, asked.examined, days, named=named)
        found += held.facts
        for why, count in held.dropped.items():
            dropped[why] = dropped.get(why, 0) + count
    if secret := sum(suspicion.MARK in fact.text for fact in found):
        found, dropped["secret"] = [fact for fact in found if suspicion.MARK not in fact.text], secret
    by_rules = _by_rules(transcript, after, when)
    facts = _with_asked(found, by_rules.extraction.facts)
    news = [fact for fact in facts if not known.why(fact.text)]  # what is known of a fact may be said to be over
    offered, left_out = models.grounding.sorted_out(model if looks else None, news, transcript.turns, days, known.holds)
    offered += tuple(fact for fact in facts if fact not in news)
    decisions = tuple(dict.fromkeys(fact.text for fact in offered if fact.kind == "decision"))
    extraction = by_rules.extraction._replace(facts=offered, decisions=decisions)
    return Drawn(extraction, dropped, left_out=left_out)


def _with_asked(found: Sequence[DrawnFact], by_rules: Sequence[DrawnFact]) -> list[DrawnFact]:
    """What a model pointed at, and what the person asked to be remembered that no quote of the model holds whole."""
    asked = [fact for fact in by_rules if fact.asked]

    def touches(one: DrawnFact, other: DrawnFact) -> bool:
        return one.turn == other.turn and (one.quote in other.quote or other.quote in one.quote)

    def held(one: DrawnFact) -> bool:
        return any(one.turn == fact.turn and one.text.casefold() in fact.quote.casefold() for fact in found)

    pointed = [fact._replace(asked=any(touches(fact, each) for each in asked)) for fact in found]
    return [*pointed, *(each for each in asked if not held(each))]


def _by_rules(transcript: Transcript, after: int, when: Moments) -> Drawn:
    spoken = [turn for turn in transcript.turns if turn.role in ("user", "assistant")]
    examined = {turn.number for turn in spoken if turn.number > after}
    days = {number: moment.date() for number, moment in when.items()}
    speakers = {turn.speaker for turn in spoken if turn.role == "user"}
    # A turn is masked as a whole, for a line of a list of codes is not one by itself; what holds one is not a fact.
    shown = [turn._replace(text=secrets.mask(turn.text)) if turn.number > after else turn for turn in spoken]
    read = rules.read(shown, examined, days, named=len(speakers) > 1, most=MOST_FACTS)
    found = read.extraction
    until = found.facts[-1].turn if len(found.facts) >= MOST_FACTS else 0
    plain = tuple(fact for fact in found.facts if suspicion.MARK not in fact.quote)
    claimed = rules.claimed(plain, transcript.turns, days)
    secret = {"secret": len(found.facts) - len(plain)} if len(plain) < len(found.facts) else {}
    return read._replace(extraction=found._replace(facts=claimed), dropped=secret, until=until)


MOST_TOLD = 40
"""Facts that a model is shown, so that what changes one of them comes as a change."""

TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY, Tier.EPISODIC)
"""Where memory is kept; other notes are the person's own texts."""

Key = tuple[tuple[str, ...], frozenset[str]]

_LEFT_OUT = re.compile(rf"^## {sessions.LEFT_OUT}[ \t]*\r?$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"(?<![ \t])[ \t]*\[\w+::[^\[\]]*\]")


class _Line(NamedTuple):
    """A bullet: its place, its words, what became of it, what links it; a fact, and the day of a daily note."""

    tier: Tier
    text: str
    state: str | None
    link: str = ""
    fact: facts.Fact | None = None
    day: date | None = None


class Known:
    """The statements of a vault in our scope.

    The same statement is known in whatever tier it is, decided or not. What a later line replaced is not: it may
    have become true again. Of what was rejected its rewordings are known too.

    Args:
        vault: read once, at the start.
        notices: takes a sentence for each note that can't be read.
        options: which predicates of facts change over time, and who the person is.
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
            if line.text.startswith(entries.REPLACED):
                replaced.add(_key(re.sub(r" \([^()]*\)$", "", line.text.removeprefix(entries.REPLACED).strip())))
            elif line.tier is Tier.DAILY:
                (self._held if line.state == "extracted" else noted).add(_key(line.text))
                if line.state == "rejected":
                    said = statements.read(line.text)
                    self._rejected.setdefault(tuple(sorted(said.content)), []).append(said)
                    refused.add(line.link)
                if line.state == "extracted" and line.link and line.day:
                    waiting[line.link] = line.day
            elif claim := facts.claim_in(line.text.removeprefix(FACT)) if line.text.startswith(FACT) else None:
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

    def why(self, text: str, claim: facts.Claim | None = None, day: date | None = None) -> str:
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
        if any(statements.compare(old, new) in ("same", "near") for old in alike):
            return "rejected"
        if claim is None or day is None:
            return "known" if _key(text) in self._held else ""
        return "known" if _key(text) in self._kept or self._says(claim, day) else ""

    def _says(self, claim: facts.Claim, day: date) -> bool:
        """Whether Facts.md or a candidate that waits says so of that day, and none of them said otherwise since."""
        headings = [fact.subject for fact in self._facts]
        about = claim._replace(subject=facts.heading_for(claim.subject, headings, self._me)).about
        value = claim.key[2]
        held = [fact for fact in self._facts if fact.about == about]
        holding = [f for f in held if facts.object_key(f.object) == value and f.holds(claim.since or day)]
        said = sorted((each for each in self._open.get(claim.about, ()) if each[0] <= day), key=lambda each: each[0])
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

    def holds(self, claim: facts.Claim) -> bool:
        """Whether Facts.md says that a claim is so, without an end."""
        subject = facts.heading_for(claim.subject, [fact.subject for fact in self._facts], self._me)
        key = claim._replace(subject=subject).key
        return any(f.until is None and (*f.about, facts.object_key(f.object)) == key for f in self._facts)

    def add(self, text: str, claim: facts.Claim | None = None, day: date | None = None) -> None:
        """From now on it is known."""
        self._held.add(_key(text))
        if claim is not None and claim.until is None and day is not None:
            self._open.setdefault(claim.about, []).append((day, claim.key[2]))


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
            note = vault.note(path)
        except TarsError as error:
            notices.append(f"passed over: {error.message}")
            continue
        if tier in (Tier.DAILY, Tier.EPISODIC):
            text = _LEFT_OUT.sub("", note.data.decode("utf-8", "surrogateescape"))
            timed = layout.timed(path)
            for words in bullets_in(text):
                parts = entries.parse(words, timed=timed)
                link = parts.block_id or (parts.provenance or "").partition("#^")[2]
                yield _Line(tier, parts.text, parts.state, link, day=layout.day_of(path))
            continue
        of_facts = path == layout.facts
        for entry in note.entries:
            yield _Line(tier, entry.text, entry.state, fact=facts.fact_of(entry) if of_facts else None)
