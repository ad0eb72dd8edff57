"""The three views of the live search: hits, proposals to review, facts in order of time. Nothing here draws."""

from __future__ import annotations

import contextlib
import io
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.text import Text

from tars_memory.doors.cli import approve
from tars_memory.doors.cli.commands.search import PER_NOTE, suggestion
from tars_memory.doors.cli.output import clean, counted, encoded, keep_hits, line
from tars_memory.doors.cli.screen import hit_lines, truncate
from tars_memory.errors import NotFoundError, TarsError, UsageError, counted_lines
from tars_memory.recall.query import Hit, Query, SearchResult, obsidian_url, verified
from tars_memory.vault.vault import note_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tars_memory.curation.proposals import Proposal
    from tars_memory.doors.live import Heard, Live
    from tars_memory.memory import Memory
    from tars_memory.vault.markdown.facts import Fact


class Passage(NamedTuple):
    """Content of the preview: the lines of a note, or other text.

    Attributes:
        title: the place; may be empty.
        lines: the note's lines, verbatim; or texts with their styles.
        at: the index of the passage's first line.
        last: the index of its last line.
        query: its matches are highlighted.
    """

    title: str
    lines: Sequence[str | Text]
    at: int = 0
    last: int = -1
    query: Query | None = None


class View:
    """A view: its list, its text in the field, and the action of Enter.

    Attributes:
        name: as the head shows it.
        keys: its keys and their meanings, without those of all views.
        hears: kinds of answers that it receives, also while another view is shown.
        items: items of the list.
        at: index of the chosen item.
        typed: the field's text.
        state: sentences below the list.
        passage: the content of the preview.
        top: number of lines that the preview is scrolled by.
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

    @property
    def label(self) -> str:
        """The name in the head."""
        return self.name

    @property
    def chosen(self) -> Any:
        """The item under the mark; None if there is none."""
        return self.items[self.at] if self.at < len(self.items) else None

    def enter(self) -> None:
        """Handle the switch to this view."""

    def reload(self, message: str) -> None:
        """Ask again, since notes may have changed; keep the mark, and show a message meanwhile."""
        self.state = [message]

    def type(self, text: str) -> None:
        """Handle a change of the field."""

    def submit(self) -> None:
        """Handle Enter."""

    def hear(self, answer: Heard) -> None:
        """Take in an answer, the newest of its kind: an error, a note to open, or a preview."""
        if isinstance(answer.value, TarsError):
            self.state = [*sentences(answer.value)]
        elif answer.kind.startswith("open"):
            self.live.open(*answer.value)
        else:
            self.passage = answer.value

    def block(self, item: Any, width: int) -> list[Text]:
        """Make the rows of an item."""
        raise NotImplementedError

    def choose(self, at: int) -> None:
        """Move the mark, and update the preview."""
        self.at = max(0, min(at, len(self.items) - 1))
        self.look()

    def take(self, items: Sequence[Any], key: str, *, stays: bool = True, other: int = 0) -> None:
        """Replace the items. The mark stays at its item, by the attributes that name one; else it goes elsewhere."""
        name = attrgetter(*key.split())
        former, names = self.chosen, [name(item) for item in items]
        is_there = stays and former is not None and name(former) in names
        self.items, self.at = items, names.index(name(former)) if is_there else other

    def look(self) -> None:
        """Update the preview for the chosen item, or ask for it."""
        self.top = 0
        if self.chosen is None:
            self.passage = None
        else:
            self.preview(self.chosen)

    def preview(self, item: Any) -> None:
        """Show an item in the preview, or ask for what to show."""
        raise NotImplementedError


class SearchView(View):
    """Hits as the person types."""

    name = "Search"
    keys = ("Enter: open", "↑↓")
    hears = frozenset(("words", "meaning", "look at hit", "open hit"))

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self.result: SearchResult | None = None
        self._number = self._answered = self._answered_by_meaning = 0
        """Numbers of the newest question, of the newest answer, and of the newest answer by meaning."""
        self._opens = False
        """Enter came before the hits: the first of them will be opened."""
        self._moved = False
        self._message = ""
        self._words_only = live.call.workspace.settings.recall.mode == "lexical"

    def enter(self) -> None:
        """Search again: notes may have changed in the meantime."""
        self.type(self.typed)

    def reload(self, message: str) -> None:
        """Search again."""
        self.type(self.typed)
        self._moved, self._message = True, message

    def type(self, text: str) -> None:
        """Search by words, and after a pause by meaning."""
        self._number += 1
        self._moved = self._opens = False
        number = self._number

        def by_words(memory: Memory) -> tuple[SearchResult, Passage | None]:
            if not text.strip():
                return _found(memory, "", until=memory.workspace.now().date().isoformat())
            return _found(memory, text, mode="lexical", unfinished=True)

        def ask_by_meaning() -> None:
            if number == self._number:
                self.live.slow.ask("meaning", number, lambda memory: _found(memory, text, unfinished=True))

        self.live.quick.ask("words", number, by_words)
        if text.strip() and not self._words_only:
            self.live.when_idle(ask_by_meaning)

    def hear(self, answer: Heard) -> None:
        """Take in hits or a preview, or open a note."""
        if answer.kind in ("words", "meaning"):
            is_outdone = answer.kind == "words" and self._answered_by_meaning == answer.number
            if answer.number == self._number and not is_outdone:
                self._take(answer)
        elif isinstance(answer.value, TarsError):
            self.reload(answer.value.message)  # the hit is not there any more
        else:
            super().hear(answer)

    def _take(self, answer: Heard) -> None:
        """Show the hits of an answer, or its error; keep the mark if the person moved it."""
        if isinstance(answer.value, TarsError):
            self.state, self._answered, self._opens = [*sentences(answer.value)], answer.number, False
            return
        if answer.kind == "meaning":
            self._answered_by_meaning = answer.number
        self._answered = answer.number
        result, passage = answer.value
        self.result = result
        self.take(result.hits, "path start_line", stays=self._moved)
        self.state = [self._message, *self._summary(result)] if self._message else self._summary(result)
        self._message = "" if answer.kind == "meaning" or self._words_only else self._message
        if self.at:
            self.look()
        else:
            self.top, self.passage = 0, passage
        if self._opens:
            self.submit()

    def _summary(self, result: SearchResult) -> list[str]:
        """Return sentences on the number of hits, a suggested spelling, and notices."""
        if result.hits:
            how = "by words" if result.mode == "lexical" else "by words and meaning"
            how = how if result.parsed.searches else "the newest"
            more = f", {result.more} more" if result.more else ""
            summary = f"{counted(len(result.hits), 'hit')}, {how}{more}"
        else:
            summary = "nothing found so far" if result.stale else "nothing relevant"
        return [summary, *([suggestion(result)] if result.did_you_mean else []), *result.notices]

    def choose(self, at: int) -> None:
        """Move the mark; it stays at this hit when new hits come in."""
        self._moved = True
        super().choose(at)

    def preview(self, item: Hit) -> None:
        """Ask for the note that holds the hit."""
        query = self.result.parsed if self.result else None
        self.live.ask(self.live.quick, "look at hit", lambda memory: _passage(memory, item, query))

    def submit(self) -> None:
        """Open the hit if its note still holds it, and keep the hits for ``tm open N``."""
        self._opens = self._answered != self._number
        if self._opens:
            return
        hit, hits = self.chosen, [*self.items]
        if hit is None:
            return

        def place_of_hit(memory: Memory) -> tuple[str, int, str | None]:
            _check(memory, hit)
            keep_hits(memory.workspace.state, hits, terminal=True)
            return hit.path, hit.best_line[0], hit.obsidian_url or None

        self.live.ask(self.live.quick, "open hit", place_of_hit)

    def block(self, item: Hit, width: int) -> list[Text]:
        """Make the rows of a hit as ``tm search`` shows it."""
        assert self.result is not None
        screen = Console(width=max(width, 20), file=io.StringIO(), color_system=None)
        return hit_lines(self.live.call.out, screen, item, self.result.parsed, len(str(len(self.items))), full=False)


def _found(memory: Memory, text: str, **options: Any) -> tuple[SearchResult, Passage | None]:
    """Search; return the result with the preview of its first hit."""
    result = memory.search(text, per_note=PER_NOTE, **options)
    with contextlib.suppress(TarsError):  # the note has just changed; Enter says so
        return result, _passage(memory, result.hits[0], result.parsed) if result.hits else None
    return result, None


def _check(memory: Memory, hit: Hit) -> list[str]:
    """Return the lines of the note that holds a hit; update the hit's line numbers if its lines have moved.

    Raises:
        NotFoundError: the note doesn't hold the hit any more.
    """
    if hit.places:  # of a conversation: the search has compared it with its log
        return hit.text.split("\n")
    contents: dict[str, bytes] = {}

    def read_once(path: str) -> bytes:
        contents[path] = contents.get(path) or memory.workspace.bytes_of(path, hit.vault)
        return contents[path]

    if next(verified([hit], read_once, own=memory.workspace.interactive), None) is None:
        raise NotFoundError(f"{line(hit.path)} has changed: the line is gone")
    return note_lines(contents[hit.path])


def _passage(memory: Memory, hit: Hit, query: Query | None) -> Passage:
    """Return the note of a hit for the preview; of a conversation only the hit's lines and the answer."""
    lines = _check(memory, hit)
    number = hit.best_line[0]
    if hit.places:
        return Passage(f"{line(hit.path)}:{number}", [*lines, *([hit.answer] if hit.answer else [])], 0, -1, query)
    return Passage(f"{line(hit.path)}:{number}", lines, hit.start_line - 1, hit.end_line - 1, query)


class ReviewView(View):
    """Waiting proposals, decided one by one as in ``tm review``."""

    name = "Review"
    hears = frozenset(("waiting", "decide"))

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self._waiting = 0
        self._sitting: approve.Sitting | None = None
        self._apart: set[str] = set()
        self._unfinished: tuple[Proposal, approve.ReviewAnswer] | None = None
        """A decision for which the person is typing words or a heading."""
        self.is_busy = False
        """A decision is being written."""
        self._known = False

    @property
    def label(self) -> str:
        """The name, and the number of waiting proposals."""
        return f"{self.name} {self._waiting}" if self._waiting else self.name

    @property
    def keys(self) -> Sequence[str]:  # type: ignore[override]
        """The keys that apply to the chosen proposal."""
        return (approve.offer(self.chosen), "[u]ndo", "[?]") if self.chosen is not None else ("[u]ndo",)

    def enter(self) -> None:
        """List the waiting proposals."""
        if not self.is_busy:
            self._ask("waiting", lambda _: None)

    def _ask(self, kind: str, act: Callable[[Memory], Any]) -> None:
        """Let the lane call ``act``, then list the waiting proposals."""

        def answer(memory: Memory) -> tuple[Any, Any]:
            done = act(memory)
            return done, memory.review(writes=False).waiting()

        self.is_busy = kind == "decide"
        self.live.ask(self.live.slow, kind, answer)

    def type(self, text: str) -> None:
        """Do nothing before Enter."""

    def hear(self, answer: Heard) -> None:
        """Show the waiting proposals, and the outcome of a decision."""
        self.is_busy = False
        if isinstance(answer.value, TarsError):
            super().hear(answer)
            return
        outcome, listed = answer.value
        proposals = self._taken_apart(listed.proposals)
        self.take(proposals, "id", other=max(0, min(self.at, len(proposals) - 1)))
        self._waiting = listed.total
        more, lines = listed.more
        summary = self._sitting.summary(listed).partition(":")[0] if self._sitting else ""
        rest = [f"{counted_lines(more, 'more proposal', lines)} after these"] if more > 0 else []
        notices = [*listed.notices, *rest]
        if outcome is not None:
            self.state = [*(text.plain for text in outcome.lines), summary, *outcome.notices, *notices]
        elif not self._known or not proposals:
            self.state = ["type a letter, then Enter" if proposals else "nothing waits for a decision", *notices]
        self._known = True
        self.look()

    def submit(self) -> None:
        """Handle the answer in the field."""
        proposal, typed, self.state = self.chosen, self.live.take_text(), []
        if self.is_busy:
            self.state = ["wait a moment: the last answer is being written"]
        elif self._unfinished is not None:
            proposal, answer = self._unfinished
            self._unfinished = None
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

    def _taken_apart(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return the proposals, with the lines of conversations that are decided one by one."""
        return [part for proposal in proposals for part in approve.apart(proposal, self._apart)]

    def _answer(self, proposal: Proposal, answer: approve.ReviewAnswer) -> None:
        """Do what an answer to a proposal asks for."""
        if answer.key == approve.NO_LINE:
            self.state = [approve.unknown_line_reply(proposal)]
        elif answer.key == "q":
            self.live.exit(0)
        elif answer.key == "l":
            self.choose((self.at + 1) % len(self.items))
        elif answer.key == "u":
            self._take_back()
        elif answer.key == "o":
            self._apart |= {part.id for part in proposal.parts}
            self.items = self._taken_apart(self.items)
            self.look()
        elif answer.decides and answer.key in "es":
            self._prepare(proposal, answer)
        elif answer.decides:
            self._decide(proposal, answer)
        elif answer.key == "?":
            keys = approve.keys_of(proposal)
            self.passage = Passage("keys", [f"  {key:<3}  {value.meaning}" for key, value in keys.items()])
        else:
            self.state = [approve.NOT_A_KEY]

    def _prepare(self, proposal: Proposal, answer: approve.ReviewAnswer) -> None:
        """Get the new words from the editor, or ask for them in the field if there is none; ask for a heading there."""
        self.state = []
        if answer.key == "e":
            try:
                with self.live.terminal_released():
                    words = approve.edited(self.live.call, proposal)
            except UsageError as error:
                self.state = [line(error.message)]
            else:
                if words.strip():
                    self._decide(proposal, answer, words=words)
                else:
                    self.state = [approve.NO_WORDS]
                return
        self._unfinished = (proposal, answer)
        missing = "the new words" if answer.key == "e" else "the heading"
        self.state = [*self.state, f"type {missing}, then Enter; Esc: never mind"]
        self.live.set_text(clean(proposal.text) if answer.key == "e" else "")

    def cancel(self) -> bool:
        """Give up an unfinished decision; return False if there is none."""
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None:
            self.live.set_text("")
        return unfinished is not None

    def _decide(self, proposal: Proposal, answer: approve.ReviewAnswer, **wording: str) -> None:
        def act(memory: Memory) -> Any:
            sitting = self._current_sitting(memory)
            with sitting.review.alone():  # nobody is asked here about credentials
                masked = {name: sitting.review.ctx.without_credentials(text) for name, text in wording.items()}
                if proposal.replaces and masked != wording:  # the line may have it: a mask would take its place there
                    raise UsageError("these words contain what looks like a credential", "tars-memory review asks")
                return sitting.decide(proposal, answer, **masked)

        self._ask("decide", act)

    def _take_back(self) -> None:
        self._ask("decide", lambda memory: self._current_sitting(memory).take_back())

    def _current_sitting(self, memory: Memory) -> approve.Sitting:
        """Return the sitting with the current proposals; only the lane that decides calls this."""
        if self._sitting is None:
            self._sitting = approve.Sitting(memory, memory.review(), self.live.call.out.place)
        self._sitting.review = memory.review()
        return self._sitting

    def block(self, item: Proposal, width: int) -> list[Text]:
        """Make a row of the proposed text and its place."""
        out = self.live.call.out
        words = item.text or item.replaces or item.section if not item.parts else item.parts[0].text
        text = Text(encoded(out, line(words)))
        text.append(f"  {encoded(out, approve.place_of(item))}", "dim")
        truncate(out, text, width)
        return [text]

    def preview(self, item: Proposal) -> None:
        """Show the change in the preview."""
        head = " · ".join(part for part in (approve.place_of(item), line(item.date)) if part)
        self.passage = Passage(head, approve.change(item))


class FactsView(View):
    """Facts in order of time, about the name in the field."""

    name = "Facts"
    keys = ("Enter: open", "↑↓")
    hears = frozenset(("facts", "look at fact", "open fact"))
    _stays = True
    """The mark stays at its fact, if the next facts include it."""

    def reload(self, message: str) -> None:
        """Read the facts again."""
        super().reload(message)
        self.enter()

    def enter(self) -> None:
        """Read the facts; the mark stays."""
        self._read(self.typed)

    def type(self, text: str) -> None:
        """Read the facts about a name; the mark returns to the first."""
        self._stays = False
        self._read(text)

    def _read(self, text: str) -> None:
        name = text.strip() or None

        def found(memory: Memory) -> tuple[list[Fact], list[str]]:
            return memory.timeline(name), memory.workspace.notices[:]

        self.live.ask(self.live.quick, "facts", found)

    def hear(self, answer: Heard) -> None:
        """Take in facts or a preview, or open a note."""
        if isinstance(answer.value, TarsError) or answer.kind != "facts":
            super().hear(answer)
        else:
            found, notices = answer.value
            self.take(found, "ref", stays=self._stays)
            self._stays = True
            none = "no such fact" if self.typed.strip() else "there are no facts yet"
            self.state = [counted(len(found), "fact") if found else none, *notices]
            self.look()

    def preview(self, item: Fact) -> None:
        """Ask for the note that holds the fact."""

        def passage(memory: Memory) -> Passage:
            lines = note_lines(memory.workspace.vault.read(item.path))
            return Passage(f"{line(item.path)}:{item.line}", lines, item.line - 1, item.line - 1)

        self.live.ask(self.live.quick, "look at fact", passage)

    def submit(self) -> None:
        """Open the note at its line."""
        fact = self.chosen
        if fact is not None:
            url = obsidian_url(self.live.call.workspace.root.name, fact.path)
            self.live.ask(self.live.quick, "open fact", lambda _: (fact.path, fact.line, url))

    def block(self, item: Fact, width: int) -> list[Text]:
        """Make a row of the fact's days, subject, predicate and object."""
        out = self.live.call.out
        text = Text(f"{item.since or ''!s:<10}  {item.until or ''!s:<10}  ")
        text.append(encoded(out, line(item.subject)), "bold")
        text.append(encoded(out, f" {line(item.predicate)}: {line(item.object)}"))
        truncate(out, text, width)
        return [text]


def sentences(error: TarsError) -> tuple[str, ...]:
    """Return the message and the hint of an error, each on a line."""
    return tuple(line(text) for text in (error.message, error.hint) if text)
