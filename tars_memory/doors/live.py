"""The live search: what a bare ``tm`` shows on a terminal, by Textual, which is imported here alone.

One field, one list, one preview. What is typed is answered at each key by words, and by meaning too when the person
pauses; Tab leads on to what waits for review, and to facts in order of time. Ranking, reading and deciding are what
the commands do (:class:`tars_memory.recall.searcher.Searcher`, :class:`tars_memory.doors.cli.approve.Sitting`): here
is only what a screen of them needs.

The vault is asked in two threads, each with a memory of its own (:class:`Lane`), so that a key never waits: one answers
the keys, the other what takes longer. An answer to a question that is not the newest any more is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import Container
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from tars_memory.doors.cli.approve import (
    KEYS,
    NO_LINE,
    NO_WORDS,
    ReviewAnswer,
    Sitting,
    answer_to,
    apart,
    change,
    edited,
    is_for,
    no_line,
    offer,
    place_of,
)
from tars_memory.doors.cli.call import Ended
from tars_memory.doors.cli.output import clean, counted, line
from tars_memory.doors.cli.recent import keep
from tars_memory.doors.cli.screen import MATCH, encoded, hit_lines, sign, wrapped
from tars_memory.doors.commands.open import opener_for
from tars_memory.doors.commands.search import PER_NOTE
from tars_memory.errors import BusyError, ModelUnavailableError, NotFoundError, TarsError, UsageError
from tars_memory.index.embedding import models
from tars_memory.index.embedding.queryvector import SOCKET
from tars_memory.index.watcher import WarmServer
from tars_memory.memory import Memory
from tars_memory.recall.ranking.words import Terms
from tars_memory.recall.results import note_lines, obsidian_url, verified
from tars_memory.settings import NO_PROJECT
from tars_memory.vault.writing.lock import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from textual.app import ComposeResult

    from tars_memory.curation.model import Proposal
    from tars_memory.doors.cli.call import Call
    from tars_memory.recall.query import Query
    from tars_memory.recall.results import Hit, SearchResult
    from tars_memory.vault.markdown.facts import Fact

PAUSE = 0.25
"""Seconds without a key after which the question is asked by meaning, too."""
READING = 1.0
"""Seconds of a turn in which notes are read for the first time, between two questions."""
WIDE = 100
"""Columns from which on the preview stands beside the list."""
LOW = 12
"""Lines below which there is no preview."""
GRACE = 2.0
"""Seconds that the screen has to be put back once the system asks the process to end; then it is done by force."""
STILL_THERE = 2.0
"""Seconds between two looks whether the terminal is."""
SWITCH = 0.001
"""Seconds after which a thread gives way to another: a key is shown while an answer is being made."""
INTERRUPTED = 130
RESTORE = b"\x1b[?2004l\x1b[?7h\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[?25h"
"""What the terminal is told by force: as it was told to begin with, the other way round."""


def show(call: Call) -> int:
    """Show the live search until the person leaves; the exit code.

    Raises:
        VaultError: there is no vault.
        Ended: the system asked the process to end.
    """
    call.begin()
    call.memory()
    call.out.relative_to = "vault"
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        app = Live(call)
        code = app.run(mouse=False)
    finally:
        sys.setswitchinterval(before)
    app.close()
    if app.failed is not None:
        raise app.failed
    if app.signalled == signal.SIGINT:
        return INTERRUPTED
    if app.signalled:
        raise Ended(app.signalled)
    return code or 0


class Said(Message):
    """An answer of a lane.

    Attributes:
        kind: of the question.
        number: of the question; only the newest of its kind counts.
        answer: or the error.
    """

    def __init__(self, kind: str, number: int, answer: Any) -> None:
        super().__init__()
        self.kind = kind
        self.number = number
        self.answer = answer


class Lane:
    """A thread with a memory of its own. Of what waits for it only the newest question of each kind is answered.

    Args:
        opened: opens the memory.
        tell: is given each answer; called from the thread.
    """

    def __init__(self, opened: Callable[[], Memory], tell: Callable[[Said], object]) -> None:
        self._opened = opened
        self._tell = tell
        self._wake = threading.Condition()
        self._asked: dict[str, tuple[int, Callable[[Memory], Any]]] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, kind: str, number: int, question: Callable[[Memory], Any]) -> None:
        """Answer this next, instead of what was asked of the same kind and not begun."""
        with self._wake:
            self._asked[kind] = (number, question)
            self._wake.notify()

    def close(self, wait: float | None = 0.0) -> None:
        """Answer nothing more; wait so many seconds for what is being answered, None for as long as it takes."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join(wait)

    def _next(self) -> tuple[str, int, Callable[[Memory], Any]] | None:
        with self._wake:
            self._wake.wait_for(lambda: self._asked or self._closed)
            if self._closed:
                return None
            kind = next(iter(self._asked))
            return kind, *self._asked.pop(kind)

    def _run(self) -> None:
        kind, number = "", 0
        try:
            with self._opened() as memory:
                while (asked := self._next()) is not None:
                    kind, number, question = asked
                    memory.workspace.notices.clear()
                    try:
                        answer = question(memory)
                    except TarsError as error:
                        answer = error
                    self._tell(Said(kind, number, answer))
        except Exception as error:
            self._tell(Said("", number, error))


class Passage(NamedTuple):
    """What the preview shows: the lines of a note, or other text.

    Attributes:
        title: where it is; empty for none.
        lines: of the note, as they stand there; or texts with their styles.
        at: the number of the first line that answers, from 0 on.
        last: that of the last one.
        query: what is lit.
    """

    title: str
    lines: Sequence[str | Text]
    at: int = 0
    last: int = -1
    query: Query | None = None


class Place(NamedTuple):
    """Where a note is to be opened."""

    path: str
    line: int
    url: str | None


class Rows(Widget):
    """Rows of text, as they are: nothing in them is markup."""

    DEFAULT_CSS = "Rows { height: 1fr; width: 1fr; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._rows: list[Text] = []

    def show(self, rows: Iterable[Text]) -> None:
        """Show these from the top, instead of the former ones."""
        new = [*rows]
        if new != self._rows or any(a.spans != b.spans for a, b in zip(new, self._rows, strict=True)):
            self._rows = new
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """A row of the screen."""
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width)
        text = self._rows[y].copy()
        text.end = ""
        return Strip(text.render(self.app.console)).adjust_cell_length(width)


class Field(Input):
    """What the person types: one line, without signs that could steer the terminal."""

    def __init__(self) -> None:
        super().__init__(id="field", compact=True, select_on_focus=False)
        self.cursor_blink = False

    def replace(self, text: str, start: int, end: int) -> None:
        """Put a text, cleaned, in the place of another."""
        super().replace(line(text), start, end)


class View:
    """One of the three: a list, what is typed for it, and what Enter does.

    Attributes:
        name: as the head shows it.
        keys: what they do, beside those that all have.
        items: of the list.
        at: which of them is chosen.
        typed: what stands in the field.
        state: a sentence or two below the list.
        passage: in the preview.
        top: how many lines the preview was turned by.
    """

    name = ""
    keys = ""

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
        """The person comes here."""

    def type(self, text: str) -> None:
        """The field has changed."""

    def submit(self) -> None:
        """Enter."""

    def hear(self, said: Said) -> None:
        """An answer to what was asked, the newest of its kind."""

    def block(self, item: Any, width: int) -> list[Text]:
        """The rows of an item."""
        raise NotImplementedError

    def choose(self, at: int) -> None:
        """Move the mark, and look at what is there."""
        self.at = max(0, min(at, len(self.items) - 1))
        self.look()

    def look(self) -> None:
        """See to the preview of what is chosen."""
        self.top = 0
        self.passage = None
        self.live.draw()


class SearchView(View):
    """Hits as the person types."""

    name = "Search"
    keys = "Enter opens"

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self.result: SearchResult | None = None
        self._number = 0
        self._meant = 0
        self._moved = False
        self._told = ""
        memory = live.call.memory()
        self._root = memory.workspace.root
        self._by_words = memory.workspace.settings.recall.mode == "lexical"

    def enter(self) -> None:
        """Ask anew: notes may have changed meanwhile."""
        self.type(self.typed)

    def type(self, text: str) -> None:
        """Answer by words, and after a pause by meaning."""
        self._number += 1
        self._moved = False
        number = self._number

        def by_words(memory: Memory) -> SearchResult:
            if not text.strip():
                return memory.search("", until=memory.workspace.now().date().isoformat(), per_note=PER_NOTE)
            return memory.search(text, mode="lexical", unfinished=True, per_note=PER_NOTE)

        self.live.quick.ask("words", number, by_words)
        if text.strip() and not self._by_words:
            self.live.when_idle(PAUSE, lambda: self._ask_by_meaning(text, number))

    def _ask_by_meaning(self, text: str, number: int) -> None:
        if number == self._number:
            self.live.slow.ask(
                "meaning", number, lambda memory: memory.search(text, unfinished=True, per_note=PER_NOTE)
            )

    def hear(self, said: Said) -> None:
        """Hits, a preview, or where to open."""
        if said.kind in ("words", "meaning"):
            if said.number == self._number and not (said.kind == "words" and self._meant == said.number):
                self._take(said)
        elif isinstance(said.answer, TarsError):
            self._say_changed(said.answer)
        elif said.kind == "open":
            self.live.open(said.answer)
        else:
            self.passage = said.answer

    def _take(self, said: Said) -> None:
        if isinstance(said.answer, TarsError):
            self.state = [*_sentences(said.answer)]
            return
        if said.kind == "meaning":
            self._meant = said.number
        former, result = self.chosen, said.answer
        self.result, self.items = result, result.hits
        places = [(hit.path, hit.start_line) for hit in result.hits]
        stays = self._moved and former is not None and (former.path, former.start_line) in places
        self.at = places.index((former.path, former.start_line)) if stays else 0
        self.state = [self._told, *self._summary(result)] if self._told else self._summary(result)
        self._told = ""
        self.look()
        self.live.read_on()

    def _summary(self, result: SearchResult) -> list[str]:
        from tars_memory.doors.commands.search import meant

        if result.hits:
            how = "by words" if result.mode == "lexical" else "by words and meaning"
            how = how if result.parsed.searches else "the newest"
            told = [f"{counted(len(result.hits), 'hit')} {how}" + (f", {result.more} more" if result.more else "")]
        else:
            told = ["nothing found so far" if result.stale else "nothing relevant"]
        told += [meant(result)] if result.did_you_mean else []
        return [*told, *result.notices]

    def _say_changed(self, error: TarsError) -> None:
        """A hit is not there any more: say so, and search anew."""
        self._told = error.message
        self.state = [error.message]
        self.type(self.typed)

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
        hit, hits = self.chosen, [*self.items]
        if hit is None:
            return

        def where(memory: Memory) -> Place:
            _check(memory, hit)
            keep(memory.workspace.state, hits, terminal=True)
            return Place(hit.path, hit.best_line[0], hit.obsidian_url or None)

        self.live.ask(self.live.quick, "open", where)

    def block(self, item: Hit, width: int) -> list[Text]:
        """As ``tm search`` shows it."""
        assert self.result is not None
        screen = Console(width=max(width, 20), file=io.StringIO(), color_system=None)
        return hit_lines(self.live.call.out, screen, item, self.result.parsed, len(str(len(self.items))), full=False)


def _check(memory: Memory, hit: Hit) -> list[str]:
    """The lines of the note that holds a hit; the hit's own lines are moved to where they stand now.

    Raises:
        NotFoundError: it isn't there any more.
    """
    if hit.places:  # of a conversation: held against its log by the search
        return hit.text.split("\n")
    read: dict[str, bytes] = {}

    def once(path: str) -> bytes:
        read[path] = read.get(path) or memory.workspace.vault.read(path)
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

    def __init__(self, live: Live) -> None:
        super().__init__(live)
        self._waiting = 0
        self._sitting: Sitting | None = None
        self._apart: set[str] = set()
        self._asks: tuple[Proposal, ReviewAnswer] | None = None
        """A decision that wants words or a heading first."""
        self.is_busy = False
        """A decision is being written."""
        self._known = False

    @property
    def label(self) -> str:
        """The name, and how many wait."""
        return f"{self.name} {self._waiting}" if self._waiting else self.name

    @property
    def keys(self) -> str:  # type: ignore[override]
        """What may be answered to what is chosen."""
        if self._asks is not None:
            what = "the new words" if self._asks[1].key == "e" else "the heading"
            return f"Enter: {what}   Esc: never mind"
        return f"{offer(self.chosen)} [u]ndo [?], Enter" if self.chosen is not None else ""

    def enter(self) -> None:
        """Look what waits."""
        if not self.is_busy:
            self._ask("waiting", lambda _: None)

    def count(self) -> None:
        """Look how many wait, for the head."""
        self.enter()

    def _ask(self, kind: str, act: Callable[[Memory], Any]) -> None:
        """Do something, then list what waits."""

        def answer(memory: Memory) -> tuple[Any, Any]:
            done = act(memory)
            return done, memory.review(writes=False).waiting()

        self.is_busy = kind == "decide"
        self.live.ask(self.live.slow, kind, answer)

    def type(self, text: str) -> None:
        """Nothing happens before Enter."""

    def hear(self, said: Said) -> None:
        """What waits, and what became of an answer."""
        self.is_busy = False
        if isinstance(said.answer, TarsError):
            self.state = [*_sentences(said.answer)]
            return
        told, listed = said.answer
        former = self.chosen
        self.items = [one for each in listed.proposals for one in apart(each, self._apart)]
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
            self.state = notices if names else ["nothing waits for a decision", *notices]
        self._known = True
        self.look()

    def submit(self) -> None:
        """Do what was answered."""
        proposal, typed = self.chosen, self.live.taken()
        if self.is_busy:
            self.state = ["wait a moment: the last answer is being written"]
        elif self._asks is not None:
            proposal, answer = self._asks
            self._asks = None
            if not typed.strip():
                self.state = [NO_WORDS if answer.key == "e" else "no heading, so nothing is decided"]
            else:
                self._decide(proposal, answer, **{"words" if answer.key == "e" else "heading": typed.strip()})
        elif proposal is None:
            if typed.strip() == "u":
                self._take_back()
            elif typed.strip() == "q":
                self.live.exit(0)
        else:
            self._answer(proposal, answer_to(proposal, typed.strip()))
        self.live.draw()

    def _answer(self, proposal: Proposal, answer: ReviewAnswer) -> None:
        if answer.key == NO_LINE:
            self.state = [no_line(proposal)]
        elif answer.key == "q":
            self.live.exit(0)
        elif answer.key == "l":
            self.choose((self.at + 1) % len(self.items))
        elif answer.key == "u":
            self._take_back()
        elif answer.key == "o":
            self._apart |= {each.id for each in proposal.parts}
            self.items = [one for each in self.items for one in apart(each, self._apart)]
            self.look()
        elif answer.decides and answer.key in "es" and is_for(answer.key, proposal):
            self._prepare(proposal, answer)
        elif answer.decides:
            self._decide(proposal, answer)
        else:
            self.passage = Passage("keys", [f"  {each:<3}  {text}" for each, text in KEYS.items()])

    def _prepare(self, proposal: Proposal, answer: ReviewAnswer) -> None:
        """Let the person word it in the editor, or where there is none here; ask for a heading here."""
        if answer.key == "e":
            try:
                with self.live.aside():
                    words = edited(self.live.call, proposal)
            except UsageError as error:
                self.state = [line(error.message)]
            else:
                if words.strip():
                    self._decide(proposal, answer, words=words)
                else:
                    self.state = [NO_WORDS]
                return
        self._asks = (proposal, answer)
        self.live.put(clean(proposal.text) if answer.key == "e" else "")

    def cancel(self) -> bool:
        """Ask for no words any more; False if none were asked for."""
        asked, self._asks = self._asks, None
        if asked is not None:
            self.live.put("")
        return asked is not None

    def _decide(self, proposal: Proposal, answer: ReviewAnswer, **said: str) -> None:
        def act(memory: Memory) -> Any:
            sitting = self._at(memory)
            with sitting.review.alone():
                return sitting.decide(proposal, answer, **said)

        self._ask("decide", act)

    def _take_back(self) -> None:
        self._ask("decide", lambda memory: self._at(memory).take_back())

    def _at(self, memory: Memory) -> Sitting:
        """The sitting, as of now; only the lane that decides calls this."""
        if self._sitting is None:
            self._sitting = Sitting(memory, memory.review(), self.live.call.out.place)
        self._sitting.review = memory.review()
        return self._sitting

    def block(self, item: Proposal, width: int) -> list[Text]:
        """What would be written, on a line."""
        out = self.live.call.out
        words = item.text or item.replaces or item.section if not item.parts else item.parts[0].text
        text = Text(encoded(out, line(words)))
        text.append(f"  {encoded(out, place_of(item))}", "dim")
        text.truncate(width, overflow="ellipsis" if sign(out, "…", "...") == "…" else "crop")
        return [text]

    def look(self) -> None:
        """Show what would change."""
        self.top = 0
        chosen = self.chosen
        if chosen is None:
            self.passage = None
            return
        head = " · ".join(part for part in (place_of(chosen), line(chosen.date)) if part)
        self.passage = Passage(head, change(chosen))


class FactsView(View):
    """Facts in order of time, of whom or what is typed."""

    name = "Facts"
    keys = "Enter opens"

    def enter(self) -> None:
        """Read them."""
        self.type(self.typed)

    def type(self, text: str) -> None:
        """Those about a name."""
        name = text.strip() or None

        def found(memory: Memory) -> tuple[list[Fact], list[str]]:
            return memory.timeline(name), memory.workspace.notices[:]

        self.live.ask(self.live.quick, "facts", found)

    def hear(self, said: Said) -> None:
        """Facts, or the note of one."""
        if isinstance(said.answer, TarsError):
            self.state = [*_sentences(said.answer)]
        elif said.kind == "open":
            self.live.open(said.answer)
        elif said.kind == "look":
            self.passage = said.answer
        else:
            found, notices = said.answer
            former = self.chosen
            self.items = found
            self.at = next((n for n, each in enumerate(found) if former is not None and each.ref == former.ref), 0)
            self.state = [counted(len(found), "fact") if found else "no such fact is known", *notices]
            self.look()

    def look(self) -> None:
        """Read the note that it stands in."""
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
                lambda memory: Place(fact.path, fact.line, obsidian_url(memory.workspace.root.name, fact.path)),
            )

    def block(self, item: Fact, width: int) -> list[Text]:
        """Since when, until when, and what."""
        out = self.live.call.out
        text = Text(f"{item.since or '':<10}  {item.until or '':<10}  ")
        text.append(encoded(out, line(item.subject)), "bold")
        text.append(encoded(out, f" {line(item.predicate)}: {line(item.object)}"))
        text.truncate(width, overflow="ellipsis" if sign(out, "…", "...") == "…" else "crop")
        return [text]


class Live(App[int]):
    """The screen.

    Args:
        call: whose vault, project, clock and environment count.

    Attributes:
        signalled: the signal that ended it; 0 for none.
        failed: what no part of it should have raised.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    #head, #said, #keys { height: 1; }
    #line { height: 1; layout: horizontal; }
    #prompt { width: 2; }
    #field, #field:focus { width: 1fr; padding: 0; background: ansi_default; background-tint: ansi_default 0%; }
    #field>.input--cursor { text-style: reverse; color: ansi_default; background: ansi_default; }
    #body { layout: vertical; height: 1fr; }
    #list { height: 1fr; }
    #rule { height: 1; }
    .wide #body { layout: horizontal; }
    .wide #list { width: 1fr; height: 100%; }
    .wide #side { width: 1fr; height: 100%; margin-left: 2; }
    .low #side { display: none; }
    .low #keys { display: none; }
    """
    BINDINGS = [  # noqa: RUF012 - as Textual declares it
        Binding("tab", "turn(1)", priority=True),
        Binding("shift+tab", "turn(-1)", priority=True),
        Binding("up,ctrl+p", "move(-1)", priority=True),
        Binding("down,ctrl+n", "move(1)", priority=True),
        Binding("pageup", "page(-1)", priority=True),
        Binding("pagedown", "page(1)", priority=True),
        Binding("escape", "leave", priority=True),
        Binding("ctrl+c", "interrupt", priority=True),
    ]

    def __init__(self, call: Call) -> None:
        super().__init__(ansi_color=True)
        self.call = call
        self.signalled = 0
        self.failed: BaseException | None = None
        self._numbers: dict[str, int] = {}
        self._timer: Any = None
        self._server: WarmServer | None = None
        self._attributes = _attributes()
        memory = call.memory()
        self._root, self._project = memory.workspace.root, memory.workspace.project
        self.quick, self.slow = (Lane(self._opened, self._tell) for _ in range(2))
        self.deciding = ReviewView(self)
        self.views: tuple[View, ...] = (SearchView(self), self.deciding, FactsView(self))
        self.view: View = self.views[0]
        self.title = f"tm {line(self._root.name)}"

    def _opened(self) -> Memory:
        """A memory of the same vault, for a thread."""
        call = self.call
        memory = Memory(
            self._root, actor=call.actor, interactive=call.interactive, now=call.now, dry_run=call.dry_run,
            env=call.env, project=self._project or NO_PROJECT,
        )  # fmt: skip
        memory.workspace.patience, memory.workspace.apart = 0.0, True
        return memory

    def _tell(self, said: Said) -> None:
        self.post_message(said)

    def close(self) -> None:
        """Let go of the vault, once what was decided is written."""
        self.quick.close()
        self.slow.close(None if self.deciding.is_busy else 0.0)
        if self._server is not None:
            self._server.close()

    # --- what Textual asks

    def compose(self) -> ComposeResult:
        """Head, field, list, preview, two lines below."""
        yield Rows("head")
        with Container(id="line"):
            yield Rows("prompt")
            yield Field()
        with Container(id="body"):
            yield Rows("list")
            with Container(id="side"):
                yield Rows("rule")
                yield Rows("preview")
        yield Rows("said")
        yield Rows("keys")

    def on_mount(self) -> None:
        """Begin: hear what the system says, ask for the newest notes, then make ready what takes longer."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows; a test's thread
                    loop.add_signal_handler(number, self.end, number)
        self.set_interval(STILL_THERE, self._look_for_the_terminal)
        self.query_one("#prompt", Rows).show([Text("> ", "bold")])
        self.query_one(Field).focus()
        self.view.enter()
        self.ask(self.slow, "read", _read_on)
        self.deciding.enter()
        self.ask(self.slow, "warm", self._warm)

    def on_resize(self) -> None:
        """Beside or below, as there is room."""
        self.call_after_refresh(self.draw)
        self.screen.set_class(self.size.width >= WIDE, "wide")
        self.screen.set_class(self.size.height < LOW, "low")

    def on_input_changed(self, event: Input.Changed) -> None:
        """A key changed the field."""
        if event.value != self.view.typed:
            self.view.typed = event.value
            self.view.type(event.value)

    def on_input_submitted(self) -> None:
        """Enter."""
        self.view.submit()

    def on_said(self, said: Said) -> None:
        """A lane has answered."""
        if not said.kind:
            self.failed = said.answer
            self.exit(1)
            return
        if self._numbers.get(said.kind, said.number) != said.number:
            return
        if said.kind == "read":
            self._take_progress(said.answer)
            return
        if said.kind == "warm":
            return
        for view in self.views:
            if said.kind in HEARD_BY[view.name] and (view is self.view or said.kind in ALWAYS):
                view.hear(said)
        self.draw()

    # --- keys

    def action_turn(self, by: int) -> None:
        """To the next view, or the one before; each keeps what was typed there."""
        at = self.views.index(self.view)
        self.view = self.views[(at + by) % len(self.views)]
        self.put(self.view.typed)
        self.view.enter()
        self.draw()

    def action_move(self, by: int) -> None:
        """The mark up or down."""
        self.view.choose(self.view.at + by)
        self.draw()

    def action_page(self, by: int) -> None:
        """The preview up or down by half of its height."""
        self.view.top += by * max(1, self.query_one("#preview", Rows).size.height // 2)
        self.draw()

    def action_leave(self) -> None:
        """Leave, but for a question that is being answered."""
        if not (self.view is self.deciding and self.deciding.cancel()):
            self.exit(0)

    def action_interrupt(self) -> None:
        """Ctrl-C."""
        self.exit(INTERRUPTED)

    # --- what the views ask for

    def ask(self, lane: Lane, kind: str, question: Callable[[Memory], Any]) -> None:
        """Ask a lane; only the newest question of a kind is answered."""
        self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
        lane.ask(kind, number, question)

    def when_idle(self, seconds: float, act: Callable[[], None]) -> None:
        """Do this unless something else is asked for meanwhile."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(seconds, act)

    def taken(self) -> str:
        """What stands in the field, which is empty from now on."""
        typed = self.view.typed
        self.put("")
        return typed

    def put(self, text: str) -> None:
        """Put a text into the field as if it had stood there."""
        self.view.typed = text
        field = self.query_one(Field)
        field.value = text
        field.cursor_position = len(text)

    @contextlib.contextmanager
    def aside(self) -> Any:
        """Give the terminal to another program meanwhile."""
        with self.suspend():
            yield

    def open(self, place: Place) -> None:
        """Open a note as ``tm open`` does."""
        note = self._root / place.path
        url = place.url if (self._root / ".obsidian").is_dir() else None
        try:
            words = opener_for(self.call, note, place.line, url)
        except TarsError as error:
            self.view.state = [*_sentences(error)]
            return
        where = f"{line(place.path)}:{place.line}"
        if words is None:
            self.view.state = [f"{where}: set VISUAL or EDITOR, and Enter opens it"]
            return
        try:
            if any(str(note) in word for word in words):  # an editor, which wants the terminal
                with self.aside():
                    code = subprocess.run(words, check=False).returncode
            else:
                nothing = subprocess.DEVNULL
                code = subprocess.run(words, check=False, stdin=nothing, stdout=nothing, stderr=nothing).returncode
        except OSError as error:
            self.view.state = [f"{line(words[0])} can't be started: {error.strerror}"]
            return
        self.view.state = [f"{line(words[0])} ended with {code}" if code else f"opened {where}"]
        self.view.enter()

    # --- what goes on beside

    def read_on(self) -> None:
        """See to it that a vault that is being read for the first time is read to its end."""

    def _take_progress(self, answer: Any) -> None:
        if isinstance(answer, tuple):
            reading, stale = answer
            if reading:
                self._progress = f"reading the vault: {reading - stale:,} of {counted(reading, 'note')}"
                self.set_timer(0.2, lambda: self.ask(self.slow, "read", _read_on))
            elif self._progress:
                self._progress = ""
                self.view.enter()
        self.draw()

    _progress = ""

    def _warm(self, memory: Memory) -> None:
        """Open the model before it is asked for, and answer hooks and searches with it, unless a watcher does."""
        name = memory.workspace.settings.embedding.model
        try:
            held = memory.workspace.open_embedder()
            memory.workspace.warm = held
            identity = models.manifest_of(name, memory.workspace.settings.places.cache).identity
            lock = memory.workspace.made_state() / "watch.lock"
            with alone(lock, "live search", "the vault is watched already", "one is enough"):
                self._server = WarmServer(memory.workspace.state / SOCKET, identity, held.embed_query)
        except (ModelUnavailableError, BusyError, OSError, AttributeError):
            pass  # searches say what is wrong with the model; a watcher's socket is as good; or there are no sockets

    def _look_for_the_terminal(self) -> None:
        """A terminal that is gone without a word is a hangup."""
        if self._attributes is not None and _attributes() is None:
            self.end(signal.SIGHUP)

    def end(self, number: int) -> None:
        """The system asks the process to end: put the terminal back, by force if that takes too long."""
        if not self.signalled:
            self.signalled = number
            timer = threading.Timer(GRACE, self._force)
            timer.daemon = True
            timer.start()
            self.exit(128 + number)

    def _force(self) -> None:
        _restore(self._attributes)
        os._exit(128 + self.signalled)

    def _fatal_error(self) -> None:
        """What no handler should raise is told like any other bug, once the terminal is as it was."""
        self.failed = self._exception
        self._close_messages_no_wait()

    # --- drawing

    def draw(self) -> None:
        """Show how things are."""
        if not self.is_running or not self.screen.is_attached:
            return
        out, view = self.call.out, self.view
        head = Text()
        for each in self.views:
            label = f"[{each.label}]" if each is view else f" {each.label} "
            head.append(label, "bold" if each is view else "dim")
        name = Text(f"  {encoded(out, line(self._root.name))}{f' › {self._project}' if self._project else ''}", "dim")
        if (room := self.size.width - head.cell_len - name.cell_len) > 0:
            head.append(" " * room).append(name)
        self.query_one("#head", Rows).show([head])
        self._draw_list(view)
        self._draw_preview(view)
        said = "  ·  ".join(part for part in (self._progress, *(line(each) for each in view.state)) if part)
        self.query_one("#said", Rows).show([Text(encoded(out, said), "dim")])
        common = "Tab: next   Esc: leave"
        keys = f"{view.keys}   ↑↓ PgUp PgDn   {common}" if view.name != "Review" else f"{view.keys}   {common}"
        self.query_one("#keys", Rows).show([Text(encoded(out, keys), "dim")])

    def _draw_list(self, view: View) -> None:
        rows = self.query_one("#list", Rows)
        width, height = rows.size.width - 2, rows.size.height
        blocks: list[list[Text]] = []
        first = used = 0
        for number, item in enumerate(view.items):
            mark = "> " if number == view.at else "  "
            lines = view.block(item, width)
            block = [Text("  " if n else mark, "bold").append_text(each) for n, each in enumerate(lines)]
            if number == view.at:
                for each in block:
                    each.stylize("bold")
            blocks.append(block)
            used += len(block)
            while number <= view.at and used > height and first < number:
                used -= len(blocks[first])
                first += 1
            if number > view.at and used >= height:
                break
        rows.show([each for block in blocks[first:] for each in block][:height])

    def _draw_preview(self, view: View) -> None:
        preview, rule = self.query_one("#preview", Rows), self.query_one("#rule", Rows)
        passage, out = view.passage, self.call.out
        dash = sign(out, "─", "-")
        title = f"{dash * 2} {encoded(out, passage.title)} " if passage is not None and passage.title else ""
        rule.show([Text(title + dash * max(0, rule.size.width - len(title)), "dim")])
        if passage is None or not preview.size.height:
            preview.show([])
            return
        height, width = preview.size.height, preview.size.width
        begin = max(0, passage.at - height // 3) if passage.at + 1 > height * 2 // 3 else 0
        begin = max(0, min(begin + view.top, len(passage.lines) - 1))
        view.top = begin - (max(0, passage.at - height // 3) if passage.at + 1 > height * 2 // 3 else 0)
        screen = Console(width=max(width, 8), file=io.StringIO(), color_system=None)
        shown: list[Text] = []
        for number in range(begin, len(passage.lines)):
            shown += wrapped(screen, self._line(passage, number), 0) or [Text()]
            if len(shown) >= height:
                break
        preview.show(shown[:height])

    def _line(self, passage: Passage, number: int) -> Text:
        """A line of the preview, with what matches lit."""
        given = passage.lines[number]
        if isinstance(given, Text):
            return given
        words = encoded(self.call.out, clean(given).replace("\n", " ").expandtabs(4))
        text = Text(words, "bold" if passage.at <= number <= passage.last else "")
        if passage.query is not None:
            for start, end in Terms(passage.query).spans(words):
                text.stylize(MATCH, start, end)
        return text


HEARD_BY = {
    "Search": frozenset(("words", "meaning", "look", "open")),
    "Review": frozenset(("waiting", "decide")),
    "Facts": frozenset(("facts", "look", "open")),
}
"""Who takes which answers."""
ALWAYS = frozenset(("words", "meaning", "waiting", "decide", "facts"))
"""Answers that a view takes though another one is shown."""


def _read_on(memory: Memory) -> tuple[int, int]:
    """Read a vault for the first time, for a while: how many notes it has, and how many of them are left."""
    memory.workspace.patience = READING
    try:
        report = memory.workspace.look()
    finally:
        memory.workspace.patience = 0.0
    return report.reading, report.stale


def _sentences(error: TarsError) -> tuple[str, ...]:
    return tuple(line(each) for each in (error.message, error.hint) if each)


def _attributes() -> list[Any] | None:
    """How the terminal is set; None if there is none, or no way to know."""
    try:
        import termios

        return termios.tcgetattr(0)
    except (ImportError, OSError, ValueError):
        return None
    except Exception:  # termios.error is no OSError
        return None


def _restore(attributes: list[Any] | None) -> None:
    """Put the terminal back as it was, whatever the screen's own thread is at."""
    with contextlib.suppress(Exception):
        os.write(2, RESTORE)
    if attributes is not None:
        with contextlib.suppress(Exception):
            import termios

            termios.tcsetattr(0, termios.TCSANOW, attributes)
