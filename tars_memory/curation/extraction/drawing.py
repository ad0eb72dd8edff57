"""Draws the statements from one conversation, with a model or by the rules, and knows which of them are new.

What the person asked to be remembered is always drawn by the rules, too, so that no model can leave it out. Statements
that the vault has, or that the person rejected, are left out, so that nobody decides about the same statement twice.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import errors, settings
from tars_memory.curation import models
from tars_memory.curation.extraction import rules
from tars_memory.curation.proposals import Drawn, DrawnFact
from tars_memory.language import statements
from tars_memory.language.statements import Key, key_of
from tars_memory.vault import inbox, secrets, sessions, suspicion
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.lines import FACT, bullets_in
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tars_memory.capture.turns import Transcript
    from tars_memory.vault.vault import Vault


MOST_FACTS = 500
"""Maximum number of facts that the rules draw from a conversation at once, as a person has to decide on each. The next
run continues after them."""

Moments = dict[int, datetime]
"""By number, the time of each turn, in the local zone."""


def moments(transcript: Transcript, now: datetime) -> Moments:
    """Return the time of each turn: its own, else that of the turn before, else the beginning of the conversation.

    Args:
        transcript: whose times may be missing.
        now: the time of a conversation without any times.
    """
    timed = next((turn.time for turn in transcript.turns if turn.time is not None), None)
    last = local(transcript.start or timed, now)
    found: Moments = {}
    for turn in transcript.turns:
        last = local(turn.time, last)
        found[turn.number] = last
    return found


def local(time: datetime | None, otherwise: datetime) -> datetime:
    """Return a time in the local zone; ``otherwise`` if it is None, or out of the calendar's range."""
    if time is None:
        return otherwise
    try:
        return time.astimezone()
    except (OverflowError, OSError, ValueError):
        return otherwise


def draw(
    transcript: Transcript,
    new: Collection[int],
    when: Moments,
    model: models.llm.LanguageModel | None,
    known: Known,
    *,
    looks: bool = True,
    noted: int = 0,
) -> Drawn:
    """Return the grounded facts of a conversation, and what it was about.

    Args:
        transcript: the conversation.
        new: numbers of the turns to examine.
        when: :func:`moments`.
        model: to ask; None uses the rules.
        known: the statements of the vault; only new statements get a second look.
        looks: whether the model is asked for a second look.
        noted: number of facts of these turns that are noted already: those of the rules are so many more.

    Raises:
        ModelUnavailableError: the model can't be used, or its answer can't.
    """
    if model is None:
        return _by_rules(transcript, new, when, MOST_FACTS + noted)
    found: list[DrawnFact] = []
    dropped: Counter[str] = Counter()
    days = {number: time.date() for number, time in when.items()}
    named = len({turn.speaker for turn in transcript.turns if turn.role == "user"}) > 1
    for dialogue, window in models.grounding.prompts_of(transcript, new, when, known.shown()):
        grounded, ungrounded = models.grounding.ground(dialogue.ask(model), *window, days, named=named)
        found += grounded
        dropped += ungrounded
    if secret := sum(suspicion.MARK in fact.text for fact in found):
        found, dropped["secret"] = [fact for fact in found if suspicion.MARK not in fact.text], secret
    withdrawn = rules.withdrawn(transcript.turns)
    kept = [fact for fact in found if not any(_overlap(fact.quote, text) for text in withdrawn.get(fact.turn, ()))]
    found, dropped["withdrawn"] = kept, len(found) - len(kept)
    by_rules = _by_rules(transcript, new, when, MOST_FACTS)
    facts = _with_asked(found, by_rules.facts)
    # Known or not without the claim: a known fact may be said to be over.
    unknown = [fact for fact in facts if not known.why(fact.text)]
    asked = model if looks else None
    offered, left_out = models.grounding.second_look(asked, unknown, transcript.turns, days, known.holds)
    offered += tuple(fact for fact in facts if fact not in unknown)
    decisions = tuple(dict.fromkeys(fact.text for fact in offered if fact.kind == "decision"))
    return Drawn(offered, dropped, by_rules.topics, decisions, left_out=left_out)


def _overlap(one: str, other: str) -> bool:
    """Whether one of two quotes of a turn is a part of the other."""
    return one in other or other in one


def _with_asked(found: Sequence[DrawnFact], by_rules: Sequence[DrawnFact]) -> list[DrawnFact]:
    """Return the model's facts, and those the person asked to be remembered that no quote of the model contains."""
    asked = [fact for fact in by_rules if fact.asked]

    def is_found(one: DrawnFact) -> bool:
        return any(one.turn == fact.turn and one.text.casefold() in fact.quote.casefold() for fact in found)

    marked = [
        fact._replace(asked=any(fact.turn == other.turn and _overlap(fact.quote, other.quote) for other in asked))
        for fact in found
    ]
    return [*marked, *(fact for fact in asked if not is_found(fact))]


def _by_rules(transcript: Transcript, new: Collection[int], when: Moments, most: int) -> Drawn:
    """Return what the rules draw from some turns, up to the one with which there are most facts."""
    spoken = [turn for turn in transcript.turns if turn.role in ("user", "assistant")]
    days = {number: time.date() for number, time in when.items()}
    speakers = {turn.speaker for turn in spoken if turn.role == "user"}
    # Mask whole turns: a line of a list of codes is not recognised by itself. No sentence with a credential is a fact.
    shown = [turn._replace(text=secrets.mask(turn.text)) if turn.number in new else turn for turn in spoken]
    found = rules.read(shown, new, days, named=len(speakers) > 1, most=most)
    until = found.facts[-1].turn if len(found.facts) >= most else 0
    plain = tuple(fact for fact in found.facts if suspicion.MARK not in fact.quote)
    claimed = rules.claimed(plain, transcript.turns, days)
    secret = {"secret": len(found.facts) - len(plain)} if len(plain) < len(found.facts) else {}
    left_out = tuple(fact for fact in found.left_out if suspicion.MARK not in fact.quote)
    return found._replace(facts=claimed, dropped=secret, until=until, left_out=left_out)


MOST_SHOWN = 40
"""Maximum number of known facts that a model is shown, so that it reports a change of one of them as a change."""

TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY, Tier.EPISODIC)
"""The tiers of the memory; notes outside of them are the person's own texts."""

_LEFT_OUT = re.compile(rf"^## {sessions.LEFT_OUT}[ \t]*\r?$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""The section of a session note with what was left out."""
_FIELD = re.compile(r"(?<![ \t])[ \t]*\[\w+::[^\[\]]*\]")


class _Line(NamedTuple):
    """A bullet of a tier.

    Attributes:
        tier: of its note.
        text: its words.
        state: of a candidate; None for none.
        link: its own block id, or that of the line that it links to; empty for none.
        fact: that it states, in the note of facts; else None.
        day: of its daily note; else None.
    """

    tier: Tier
    text: str
    state: str | None
    link: str = ""
    fact: facts.Fact | None = None
    day: date | None = None


class Known:
    """The statements that a vault has in our scope.

    A statement is known if any tier has it, decided or not. One that a later line replaced is not known, because it may
    have become true again, but on another day: what a candidate says is known for its day. Rewordings of a rejected
    statement count as rejected.

    Args:
        vault: read once, at the start.
        notices: receives a sentence for each note that can't be read.
        options: which predicates of facts change over time, and who the person is.
    """

    def __init__(self, vault: Vault, notices: list[str], options: settings.FactsOptions | None = None) -> None:
        self._known: set[Key] = set()
        """In any tier, or in the inbox."""
        self._accepted: set[Key] = set()
        """In the notes of the memory, of rules and of facts."""
        self._said: set[tuple[date, Key]] = set()
        """Of candidates, decided or not, with their days."""
        self._rejected: dict[tuple[str, ...], list[statements.Statement]] = {}
        """By their sorted content words, which are the same for statements that say the same."""
        self._facts: list[facts.Fact] = []
        options = options or settings.FactsOptions()
        self._me = options.me
        self._predicates = facts.Predicates.of(options)
        links: dict[tuple[str, str, str], set[str]] = {}  # by a claim's key, the ids of the candidates that state it
        rejected_ids: set[str] = set()
        waiting: dict[str, date] = {}  # by a candidate's id, its day
        last_link = ""
        replaced: set[Key] = set()
        replaceable: set[Key] = set()
        for line in _lines(vault, notices):
            if line.text.startswith(entries.REPLACED):
                replaced.add(key_of(re.sub(r" \([^()]*\)$", "", line.text.removeprefix(entries.REPLACED).strip())))
            elif line.tier is Tier.DAILY:
                (self._known if line.state == "extracted" else replaceable).add(key_of(line.text))
                self._take_candidate(line)
                if line.state == "rejected":
                    rejected_ids.add(line.link)
                if line.state == "extracted" and line.link and line.day:
                    waiting[line.link] = line.day
            elif claim := facts.claim_in(line.text.removeprefix(FACT)) if line.text.startswith(FACT) else None:
                if claim.until is None:
                    links.setdefault(claim.key, set()).add(last_link)
            else:
                last_link = line.link or last_link
                if line.tier is Tier.EPISODIC:
                    replaceable.add(key_of(line.text))
                else:
                    self._known.add(key_of(line.text))
                    self._accepted.add(key_of(line.text))
                if line.fact:
                    self._facts.append(line.fact)
                    self._known.add(key_of(f"{line.fact.subject} {_FIELD.sub('', line.text).replace('::', '')}"))
        self._known |= replaceable - replaced
        self._known |= {key_of(str(proposal["text"])) for proposal in inbox.pending(vault, notices)}
        self._rejected_claims = {key for key, ids in links.items() if ids & (rejected_ids - {""})}
        self._open: dict[tuple[str, str], list[tuple[date, str]]] = {}
        """By subject and predicate, day and object of the candidates that wait."""
        for (subject, predicate, value), ids in links.items():
            for block_id in ids & waiting.keys():
                self._open.setdefault((subject, predicate), []).append((waiting[block_id], value))

    def _take_candidate(self, line: _Line) -> None:
        """Take what a line of a day says for said on that day; and for rejected, if it was."""
        if line.state and line.day:
            self._said.add((line.day, key_of(line.text)))
        if line.state == "rejected":
            statement = statements.read(line.text)
            self._rejected.setdefault(tuple(sorted(statement.content)), []).append(statement)

    def why(self, text: str, claim: facts.Claim | None = None, day: date | None = None) -> str:
        """Return why a statement need not be noted again: ``rejected`` or ``known``; empty if it is new.

        Args:
            text: its words.
            claim: the fact that it states; a fact is known in any words.
            day: on which it was said; a fact that did not hold on that day is new.
        """
        if claim is not None and claim.until is not None:
            claim = None
        if claim is not None and claim.key in self._rejected_claims:
            return "rejected"
        new = statements.read(text)
        alike = self._rejected.get(tuple(sorted(new.content)), ())
        if any(statements.compare(old, new) in ("same", "near") for old in alike):
            return "rejected"
        if day is not None and (day, key_of(text)) in self._said:
            return "known"
        if claim is None or day is None:
            return "known" if key_of(text) in self._known else ""
        return "known" if key_of(text) in self._accepted or self._states(claim, day) else ""

    def _states(self, claim: facts.Claim, day: date) -> bool:
        """Whether Facts.md or a waiting candidate states a claim for a day, and neither states another value since."""
        headings = [fact.subject for fact in self._facts]
        about = claim._replace(subject=facts.heading_for(claim.subject, headings, self._me)).about
        value = claim.key[2]
        same = [fact for fact in self._facts if fact.about == about]
        holding = [f for f in same if facts.object_key(f.object) == value and f.holds(claim.since or day)]
        known = self._open.get(claim.about, ())
        waiting = sorted((pair for pair in known if pair[0] <= day), key=lambda pair: pair[0])
        if not self._predicates.replaces(claim.predicate):
            return bool(holding) or any(other == value for _, other in waiting)
        began = max((fact.since or date.min for fact in holding), default=None)
        last, last_value = waiting[-1] if waiting else (date.min, "")
        if waiting and (began is None or last >= began):
            others = (fact.since for fact in same if facts.folded(fact.object) != value)
            return last_value == value and not any(since and last < since <= day for since in others)
        return bool(holding)

    def shown(self) -> tuple[list[str], list[str]]:
        """Return what a model is shown: the facts that hold, the newest first, one line each; and known predicates."""
        newest = sorted((f for f in self._facts if f.until is None), key=lambda f: f.since or date.min, reverse=True)
        shown = newest[:MOST_SHOWN]
        lines = [f"{fact.subject}: {fact.predicate}: {fact.object}" for fact in shown]
        usual = self._predicates.single | self._predicates.temporary | self._predicates.events
        return lines, [*dict.fromkeys([*(fact.predicate for fact in shown), *sorted(usual)])]

    def holds(self, claim: facts.Claim) -> bool:
        """Whether Facts.md has a claim as a fact without an end."""
        subject = facts.heading_for(claim.subject, [fact.subject for fact in self._facts], self._me)
        key = claim._replace(subject=subject).key
        return any(f.until is None and (*f.about, facts.object_key(f.object)) == key for f in self._facts)

    def add(self, text: str, claim: facts.Claim | None = None, day: date | None = None) -> None:
        """Take a statement for known from now on."""
        self._known.add(key_of(text))
        if day is not None:
            self._said.add((day, key_of(text)))
        if claim is not None and claim.until is None and day is not None:
            self._open.setdefault(claim.about, []).append((day, claim.key[2]))


def _lines(vault: Vault, notices: list[str]) -> Iterator[_Line]:
    """Yield the bullets of the tiers' notes. Daily and session notes, which are many, are read line by line.

    In these, a bullet within a fence counts too, and of a bullet of several lines only the first counts: either costs a
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
        except errors.TarsError as error:
            notices.append(f"skipped: {error.message}")
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
