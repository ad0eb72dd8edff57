"""The three views of the live search: hits, what waits for review, facts in order of time. Nothing here draws."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.text import Text

from tars_memory.doors.cli import approve
from tars_memory.doors.cli.output import clean, counted, encoded, keep, line, sign
from tars_memory.doors.cli.screen import hit_lines
from tars_memory.doors.commands.search import PER_NOTE, meant
from tars_memory.errors import NotFoundError, TarsError, UsageError
from tars_memory.recall.query import Hit, Query, SearchResult, obsidian_url, verified
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.curation.proposals import Proposal
    from tars_memory.doors.live import LaneAnswer, Live
    from tars_memory.memory import Memory
    from tars_memory.vault.markdown.facts import Fact


PAUSE = 0.25
"""Seconds without a key after which the question is asked by meaning, too."""


class Passage(NamedTuple):
    """What the preview shows: the lines of a note, or other text.

    Attributes:
        title: where it is; empty for none.
        lines: of the note, as they are there; or texts with their styles.
        at: the number of the first line that answers, from 0 on.
        last: that of the last one.
        query: what is lit.
    """

    title: str
    lines: Sequence[str | Text]
    at: int = 0
    last: int = -1
    query: Query | None = None


class LivePlace(NamedTuple):
    """Where to open a note."""

    path: str
    line: int
    url: str | None


class View:
    """One of the three: a list, what is typed for it, and what Enter does.

    Attributes:
        name: as the head shows it.
        keys: what they do, beside those that all have.
        hears: kinds of answers that are its own, also while another view is shown.
        items: of the list.
        at: which of them is chosen.
        typed: the field's text.
        state: a sentence or two below the list.
        passage: in the preview.
        top: how many lines the preview was turned by.
    """

    name = ""
    keys: Sequence[str] = ()
    hears: frozenset[str] = frozenset()

    def __init__(self, live: Live) -> None:
        self.live = live
        self.items: Sequence[Any] = ()
        self.at = 0
        self.typed = ""
        self.state: list[str] = []
        self.passage: Passage | None = None
        self.top = 0
        self._drawn: dict[int, list[Text]] = {}
        self._drawn_for: tuple[Sequence[Any], int] = ((), 0)

    @property
    def label(self) -> str:
        """The name in the head."""
        return self.name

    @property
    def chosen(self) -> Any:
        """The item under the mark; None if there is none."""
        return self.items[self.at] if self.at < len(self.items) else None

    def enter(self) -> None:
        """The person comes here."""

    def again(self, told: str) -> None:
        """The notes may have changed: ask again, and keep the mark; say this meanwhile."""
        self.state = [told]

    def type(self, text: str) -> None:
        """The field has changed."""

    def submit(self) -> None:
        """Enter."""

    def hear(self, said: LaneAnswer) -> None:
        """An answer to what was asked, the newest of its kind."""

    def block(self, item: Any, width: int) -> list[Text]:
        """The rows of an item."""
        raise NotImplementedError

    def drawn(self, item: Any, width: int) -> list[Text]:
        """The rows of an item, made once."""
        if self._drawn_for[0] is not self.items or self._drawn_for[1] != width:
            self._drawn, self._drawn_for = {}, (self.items, width)
        if id(item) not in self._drawn:
            self._drawn[id(item)] = self.block(item, width)
        return self._drawn[id(item)]

    def choose(self, at: int) -> None:
        """Move the mark, and look at what is there."""
        self.at = max(0, min(at, len(self.items) - 1))
        self.look()

    def look(self) -> None:
        """See to the preview of what is chosen."""
        raise NotImplementedError


class SearchView(View):
    """Hits as the person types."""

    name = "Search"
    keys = ("Enter: open", "↑↓")
    hears = frozenset(("words", "meaning"))

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self.result: SearchResult | None = None
        self._number = self._answered = self._meant = 0
        self._opens = False
        """Enter came before the hits: the first of them is opened."""
        self._moved = False
        self._told = ""
        memory = live.call.memory()
        self._root = memory.workspace.root
        self._by_words = memory.workspace.settings.recall.mode == "lexical"

    def enter(self) -> None:
        """Ask again: notes may have changed in the meantime."""
        self.type(self.typed)

    def again(self, told: str) -> None:
        """Search again."""
        self.type(self.typed)
        self._moved, self._told = True, told

    def type(self, text: str) -> None:
        """Answer by words, and after a pause by meaning."""
        self._number += 1
        self._moved = self._opens = False
        number = self._number

        def by_words(memory: Memory) -> HitsFound:
            if not text.strip():
                day = memory.workspace.now().date().isoformat()
                return _found(memory, memory.search("", until=day, per_note=PER_NOTE))
            return _found(memory, memory.search(text, mode="lexical", unfinished=True, per_note=PER_NOTE))

        self.live.quick.ask("words", number, by_words)
        if text.strip() and not self._by_words:
            self.live.when_idle(PAUSE, lambda: self._ask_by_meaning(text, number))

    def _ask_by_meaning(self, text: str, number: int) -> None:
        if number == self._number:
            self.live.slow.ask(
                "meaning",
                number,
                lambda memory: _found(memory, memory.search(text, unfinished=True, per_note=PER_NOTE)),
            )

    def hear(self, said: LaneAnswer) -> None:
        """Hits, a preview, or where to open."""
        if said.kind in ("words", "meaning"):
            if said.number == self._number and not (said.kind == "words" and self._meant == said.number):
                self._take(said)
        elif isinstance(said.answer, TarsError):
            self.again(said.answer.message)  # the hit is not there any more
        elif said.kind == "open":
            self.live.open(said.answer)
        else:
            self.passage = said.answer

    def _take(self, said: LaneAnswer) -> None:
        if isinstance(said.answer, TarsError):
            self.state, self._answered, self._opens = [*sentences(said.answer)], said.number, False
            return
        if said.kind == "meaning":
            self._meant = said.number
        self._answered = said.number
        former, result = self.chosen, said.answer.result
        self.result, self.items = result, result.hits
        places = [(hit.path, hit.start_line) for hit in result.hits]
        stays = self._moved and former is not None and (former.path, former.start_line) in places
        self.at = places.index((former.path, former.start_line)) if stays else 0
        self.state = [self._told, *self._summary(result)] if self._told else self._summary(result)
        self._told = "" if said.kind == "meaning" or self._by_words else self._told
        if self.at:
            self.look()
        else:
            self.top, self.passage = 0, said.answer.passage
        if self._opens:
            self.submit()

    def _summary(self, result: SearchResult) -> list[str]:
        if result.hits:
            how = "by words" if result.mode == "lexical" else "by words and meaning"
            how = how if result.parsed.searches else "the newest"
            more = f", {result.more} more" if result.more else ""
            told = [f"{counted(len(result.hits), 'hit')}, {how}{more}"]
        else:
            told = ["nothing found so far" if result.stale else "nothing relevant"]
        told += [meant(result)] if result.did_you_mean else []
        return [*told, *result.notices]

    def choose(self, at: int) -> None:
        """Keep the mark at this hit, whatever comes in."""
        self._moved = True
        super().choose(at)

    def look(self) -> None:
        """Read the note that the hit is in."""
        self.top = 0
        hit, query = self.chosen, self.result.parsed if self.result else None
        if hit is None:
            self.passage = None
        else:
            self.live.ask(self.live.quick, "look", lambda memory: _passage(memory, hit, query))

    def submit(self) -> None:
        """Open the hit, if its note holds it still; ``tm open N`` knows the list from then on."""
        self._opens = self._answered != self._number
        if self._opens:
            return
        hit, hits = self.chosen, [*self.items]
        if hit is None:
            return

        def where(memory: Memory) -> LivePlace:
            _check(memory, hit)
            keep(memory.workspace.state, hits, terminal=True)
            return LivePlace(hit.path, hit.best_line[0], hit.obsidian_url or None)

        self.live.ask(self.live.quick, "open", where)

    def block(self, item: Hit, width: int) -> list[Text]:
        """As ``tm search`` shows it."""
        assert self.result is not None
        screen = Console(width=max(width, 20), file=io.StringIO(), color_system=None)
        return hit_lines(self.live.call.out, screen, item, self.result.parsed, len(str(len(self.items))), full=False)


class HitsFound(NamedTuple):
    """What a search answers, with the preview of its first hit."""

    result: SearchResult
    passage: Passage | None


def _found(memory: Memory, result: SearchResult) -> HitsFound:
    passage = None
    if result.hits:
        with contextlib.suppress(TarsError):  # it changed this very moment; Enter says so
            passage = _passage(memory, result.hits[0], result.parsed)
    return HitsFound(result, passage)


def _check(memory: Memory, hit: Hit) -> list[str]:
    """The lines of the note that holds a hit; the hit's own lines are moved to where they are now.

    Raises:
        NotFoundError: it isn't there any more.
    """
    if hit.places:  # of a conversation: held against its log by the search
        return hit.text.split("\n")
    read: dict[str, bytes] = {}

    def once(path: str) -> bytes:
        read[path] = read.get(path) or memory.workspace.bytes_of(path, hit.vault)
        return read[path]

    if next(verified([hit], once, own=memory.workspace.interactive), None) is None:
        raise NotFoundError(f"{line(hit.path)} has changed: the line is not there any more")
    return note_lines(read[hit.path])


def _passage(memory: Memory, hit: Hit, query: Query | None) -> Passage:
    """The note around a hit."""
    lines = _check(memory, hit)
    number = hit.best_line[0]
    if hit.places:
        return Passage(f"{line(hit.path)}:{number}", [*lines, *([hit.answer] if hit.answer else [])], 0, -1, query)
    return Passage(f"{line(hit.path)}:{number}", lines, hit.start_line - 1, hit.end_line - 1, query)


class ReviewView(View):
    """What waits for the person's word, decided one by one, as ``tm review`` does."""

    name = "Review"
    hears = frozenset(("waiting", "decide"))

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self._waiting = 0
        self._sitting: approve.Sitting | None = None
        self._apart: set[str] = set()
        self._asks: tuple[Proposal, approve.ReviewAnswer] | None = None
        """A decision that wants words or a heading first."""
        self.is_busy = False
        """A decision is being written."""
        self._known = False

    @property
    def label(self) -> str:
        """The name, and how many wait."""
        return f"{self.name} {self._waiting}" if self._waiting else self.name

    @property
    def keys(self) -> Sequence[str]:  # type: ignore[override]
        """What may be answered to what is chosen."""
        return (approve.offer(self.chosen), "[u]ndo", "[?]") if self.chosen is not None else ("[u]ndo",)

    def enter(self) -> None:
        """Look what waits."""
        if not self.is_busy:
            self._ask("waiting", lambda _: None)

    def _ask(self, kind: str, act: Callable[[Memory], Any]) -> None:
        """Do something, then list what waits."""

        def answer(memory: Memory) -> tuple[Any, Any]:
            done = act(memory)
            return done, memory.review(writes=False).waiting()

        self.is_busy = kind == "decide"
        self.live.ask(self.live.slow, kind, answer)

    def type(self, text: str) -> None:
        """Nothing happens before Enter."""

    def hear(self, said: LaneAnswer) -> None:
        """What waits, and what became of an answer."""
        self.is_busy = False
        if isinstance(said.answer, TarsError):
            self.state = [*sentences(said.answer)]
            return
        told, listed = said.answer
        former = self.chosen
        self.items = [one for each in listed.proposals for one in approve.apart(each, self._apart)]
        self._waiting = listed.total
        names = [each.id for each in self.items]
        stays = former is not None and former.id in names
        self.at = names.index(former.id) if stays else max(0, min(self.at, len(names) - 1))
        more = listed.total - len(listed.proposals)
        summary = self._sitting.summary(listed.total).partition(":")[0] if self._sitting else ""
        notices = [*listed.notices, *([f"{counted(more, 'more proposal')} after these"] if more > 0 else [])]
        if told is not None:
            self.state = [*(each.plain for each in told.lines), summary, *told.notices, *notices]
        elif not self._known or not names:
            self.state = ["type a letter, then Enter" if names else "nothing waits for a decision", *notices]
        self._known = True
        self.look()

    def submit(self) -> None:
        """Do what was answered."""
        proposal, typed, self.state = self.chosen, self.live.taken(), []
        if self.is_busy:
            self.state = ["wait a moment: the last answer is being written"]
        elif self._asks is not None:
            proposal, answer = self._asks
            self._asks = None
            if not typed.strip():
                self.state = [approve.NO_WORDS if answer.key == "e" else "no heading, so nothing is decided"]
            else:
                self._decide(proposal, answer, **{"words" if answer.key == "e" else "heading": typed.strip()})
        elif proposal is None:
            if typed.strip() == "u":
                self._take_back()
            elif typed.strip() == "q":
                self.live.exit(0)
        else:
            self._answer(proposal, approve.answer_to(proposal, typed.strip()))
        self.live.draw()

    def _answer(self, proposal: Proposal, answer: approve.ReviewAnswer) -> None:
        if answer.key == approve.NO_LINE:
            self.state = [approve.no_line(proposal)]
        elif answer.key == "q":
            self.live.exit(0)
        elif answer.key == "l":
            self.choose((self.at + 1) % len(self.items))
        elif answer.key == "u":
            self._take_back()
        elif answer.key == "o":
            self._apart |= {each.id for each in proposal.parts}
            self.items = [one for each in self.items for one in approve.apart(each, self._apart)]
            self.look()
        elif answer.decides and answer.key in "es" and approve.is_for(answer.key, proposal):
            self._prepare(proposal, answer)
        elif answer.decides:
            self._decide(proposal, answer)
        else:
            self.passage = Passage("keys", [f"  {each:<3}  {text}" for each, text in approve.KEYS.items()])

    def _prepare(self, proposal: Proposal, answer: approve.ReviewAnswer) -> None:
        """Let the person word it in the editor, or where there is none here; ask for a heading here."""
        self.state = []
        if answer.key == "e":
            try:
                with self.live.aside():
                    words = approve.edited(self.live.call, proposal)
            except UsageError as error:
                self.state = [line(error.message)]
            else:
                if words.strip():
                    self._decide(proposal, answer, words=words)
                else:
                    self.state = [approve.NO_WORDS]
                return
        self._asks = (proposal, answer)
        what = "the new words" if answer.key == "e" else "the heading"
        self.state = [*self.state, f"type {what}, then Enter; Esc: never mind"]
        self.live.put(clean(proposal.text) if answer.key == "e" else "")

    def cancel(self) -> bool:
        """Ask for no words any more; False if none were asked for."""
        asked, self._asks = self._asks, None
        if asked is not None:
            self.live.put("")
        return asked is not None

    def _decide(self, proposal: Proposal, answer: approve.ReviewAnswer, **said: str) -> None:
        def act(memory: Memory) -> Any:
            sitting = self._at(memory)
            with sitting.review.alone():
                return sitting.decide(proposal, answer, **said)

        self._ask("decide", act)

    def _take_back(self) -> None:
        self._ask("decide", lambda memory: self._at(memory).take_back())

    def _at(self, memory: Memory) -> approve.Sitting:
        """The sitting, as of now; only the lane that decides calls this."""
        if self._sitting is None:
            self._sitting = approve.Sitting(memory, memory.review(), self.live.call.out.place)
        self._sitting.review = memory.review()
        return self._sitting

    def block(self, item: Proposal, width: int) -> list[Text]:
        """What would be written, on a line."""
        out = self.live.call.out
        words = item.text or item.replaces or item.section if not item.parts else item.parts[0].text
        text = Text(encoded(out, line(words)))
        text.append(f"  {encoded(out, approve.place_of(item))}", "dim")
        text.truncate(width, overflow="ellipsis" if sign(out, "…", "...") == "…" else "crop")
        return [text]

    def look(self) -> None:
        """Show what would change."""
        self.top = 0
        chosen = self.chosen
        if chosen is None:
            self.passage = None
            return
        head = " · ".join(part for part in (approve.place_of(chosen), line(chosen.date)) if part)
        self.passage = Passage(head, approve.change(chosen))


class FactsView(View):
    """Facts in order of time, of whom or what is typed."""

    name = "Facts"
    keys = ("Enter: open", "↑↓")
    hears = frozenset(("facts",))
    _stays = True
    """The mark stays at its fact, if that is among the next."""

    def again(self, told: str) -> None:
        """Read them again."""
        super().again(told)
        self.enter()

    def enter(self) -> None:
        """Read them; the mark stays."""
        self._read(self.typed)

    def type(self, text: str) -> None:
        """Those about a name."""
        self._stays = False
        self._read(text)

    def _read(self, text: str) -> None:
        name = text.strip() or None

        def found(memory: Memory) -> tuple[list[Fact], list[str]]:
            return memory.timeline(name), memory.workspace.notices[:]

        self.live.ask(self.live.quick, "facts", found)

    def hear(self, said: LaneAnswer) -> None:
        """Facts, or the note of one."""
        if isinstance(said.answer, TarsError):
            self.state = [*sentences(said.answer)]
        elif said.kind == "open":
            self.live.open(said.answer)
        elif said.kind == "look":
            self.passage = said.answer
        else:
            found, notices = said.answer
            former = self.chosen
            self.items = found
            refs = [fact.ref for fact in found] if self._stays else []
            self.at = refs.index(former.ref) if former is not None and former.ref in refs else 0
            self._stays = True
            self.state = [counted(len(found), "fact") if found else "no such fact is known", *notices]
            self.look()

    def look(self) -> None:
        """Read the note that holds it."""
        self.top = 0
        fact = self.chosen
        if fact is None:
            self.passage = None
            return

        def passage(memory: Memory) -> Passage:
            lines = note_lines(memory.workspace.vault.read(fact.path))
            return Passage(f"{line(fact.path)}:{fact.line}", lines, fact.line - 1, fact.line - 1)

        self.live.ask(self.live.quick, "look", passage)

    def submit(self) -> None:
        """Open the note at its line."""
        fact = self.chosen
        if fact is not None:
            self.live.ask(
                self.live.quick,
                "open",
                lambda memory: LivePlace(fact.path, fact.line, obsidian_url(memory.workspace.root.name, fact.path)),
            )

    def block(self, item: Fact, width: int) -> list[Text]:
        """Since when, until when, and what."""
        out = self.live.call.out
        text = Text(f"{item.since or ''!s:<10}  {item.until or ''!s:<10}  ")
        text.append(encoded(out, line(item.subject)), "bold")
        text.append(encoded(out, f" {line(item.predicate)}: {line(item.object)}"))
        text.truncate(width, overflow="ellipsis" if sign(out, "…", "...") == "…" else "crop")
        return [text]


def sentences(error: TarsError) -> tuple[str, ...]:
    """What went wrong, and what to do about it."""
    return tuple(line(each) for each in (error.message, error.hint) if each)
