"""The live search: the screen that ``tm`` without a command shows on a terminal. Only this module imports Textual.

It has a field, a list and a preview. Each key searches by words; when the person pauses, the search is by meaning too.
Tab leads on to the proposals that wait for review, and to facts in order of time. The commands' code ranks, reads and
decides (:class:`tars_memory.recall.searcher.Searcher`, :class:`tars_memory.doors.cli.approve.Sitting`); this module
only has the screen.

Two threads ask the vault, each with a memory of its own (:class:`Lane`), so that a key never waits: one answers the
keys, the other takes on longer work. An answer to a question that is no longer the newest is dropped.
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
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from tars_memory.doors.cli.call import Call, Terminated
from tars_memory.doors.cli.commands.open import opener_for
from tars_memory.doors.cli.output import clean, counted, encoded, line, symbol
from tars_memory.doors.cli.screen import MATCH, wrapped
from tars_memory.doors.views import FactsView, Passage, ReviewView, SearchView, View, sentences
from tars_memory.errors import BusyError, ModelUnavailableError, TarsError
from tars_memory.index.models import SOCKET
from tars_memory.index.watcher import WarmServer
from tars_memory.recall.weights import Terms
from tars_memory.settings import NO_PROJECT
from tars_memory.vault.writing.system import alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.driver import Driver
    from textual.events import Key, Resize

    from tars_memory.memory import Memory


PAUSE = 0.25
"""Seconds without a key after which the search is made by meaning, too."""
REST = 1.0
"""Seconds between two checks for changed notes while the person types: with many notes a check takes longer than a
search."""
READING = 1.0
"""Seconds that a first reading of notes may take between two questions."""
WIDE = 100
"""Minimum number of columns for a preview beside the list."""
LOW = 12
"""Minimum number of lines for a preview."""
GRACE = 2.0
"""Seconds that Textual has to restore the terminal after a signal to end; then it is restored by force."""
TERMINAL_CHECK = 2.0
"""Seconds between two checks whether the terminal still exists."""
SWITCH = 0.001
"""Seconds after which a thread gives way to another, so that a key is shown while an answer is being made."""
INTERRUPTED = 130
RESTORE = b"\x1b[?2004l\x1b[?7h\x1b[?1004l\x1b[<u\x1b[?1049l\x1b[?25h"
"""Sequences that undo those of the start; sent to the terminal when it is restored by force."""


def show(call: Call) -> int:
    """Show the live search until the person leaves; return the exit code.

    Raises:
        VaultError: there is no vault.
        Terminated: a signal asked the process to end.
    """
    call.begin()
    call.memory()
    call.out.relative_to = "vault"
    previous_interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        app = Live(call)
        code = app.run(mouse=False)
    finally:
        sys.setswitchinterval(previous_interval)
    app.close()
    if app.failed is not None:
        raise app.failed
    if app.signalled == signal.SIGINT:
        return INTERRUPTED
    if app.signalled:
        raise Terminated(app.signalled)
    return code or app.return_code or 0


class Heard(Message):
    """An answer of a lane, as a message of Textual.

    Attributes:
        kind: the kind of the question; empty for an unexpected failure.
        number: the number of the question; only the newest of its kind counts.
        value: the answer, or an error.
    """

    def __init__(self, kind: str, number: int, value: Any) -> None:
        super().__init__()
        self.kind, self.number, self.value = kind, number, value


class Lane:
    """A thread with a memory of its own. It answers only the newest waiting question of each kind.

    Args:
        open_memory: opens the memory.
        deliver: receives each answer; called from the thread.
    """

    def __init__(self, open_memory: Callable[[], Memory], deliver: Callable[[Heard], object]) -> None:
        self._open_memory = open_memory
        self._deliver = deliver
        self._wake = threading.Condition()
        self._asked: dict[str, tuple[int, Callable[[Memory], Any]]] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ask(self, kind: str, number: int, question: Callable[[Memory], Any]) -> None:
        """Queue a question, in place of a waiting one of the same kind."""
        with self._wake:
            self._asked[kind] = (number, question)
            self._wake.notify()

    def close(self, wait: float | None = 0.0) -> None:
        """Answer nothing more; wait so many seconds for the question under way, with None as long as it takes."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join(wait)

    def _next(self) -> tuple[str, int, Callable[[Memory], Any]] | None:
        """Wait for a question and return its kind, number and function; None once the lane is closed."""
        with self._wake:
            self._wake.wait_for(lambda: self._asked or self._closed)
            if self._closed:
                return None
            kind = next(iter(self._asked))
            return kind, *self._asked.pop(kind)

    def _run(self) -> None:
        """Answer questions in the thread until the lane is closed."""
        kind, number = "", 0
        try:
            with self._open_memory() as memory:
                while (asked := self._next()) is not None:
                    kind, number, question = asked
                    memory.workspace.notices.clear()
                    try:
                        value = question(memory)
                    except TarsError as error:
                        value = error
                    self._deliver(Heard(kind, number, value))
        except Exception as error:
            self._deliver(Heard("", number, error))


class Rows(Widget):
    """A widget of rows of text, without markup."""

    def __init__(self, name: str, resized: Callable[[], None]) -> None:
        super().__init__(id=name)
        self._rows: list[Text] = []
        self._resized = resized

    def on_resize(self) -> None:
        """Draw anew for the new size."""
        self._resized()

    def show(self, rows: Iterable[Text]) -> None:
        """Replace the rows."""
        new = [*rows]
        if [(row, row.style) for row in new] != [(row, row.style) for row in self._rows]:
            self._rows = new
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Render a row of the screen."""
        width = self.size.width
        if y >= len(self._rows):
            return Strip.blank(width)
        text = self._rows[y].copy()
        text.end = ""
        return Strip(text.render(self.app.console)).adjust_cell_length(width)


ACTIONS = {
    "enter": "app.enter",
    "tab": "app.turn(1)",
    "shift+tab": "app.turn(-1)",
    "up": "app.move(-1)",
    "ctrl+p": "app.move(-1)",
    "down": "app.move(1)",
    "ctrl+n": "app.move(1)",
    "pageup": "app.page(-1)",
    "pagedown": "app.page(1)",
    "escape": "app.leave",
    "ctrl+z": "app.suspend_process",
}
"""Actions of the keys that don't edit the field."""


class Field(Input):
    """The input field: one line, without characters that could steer the terminal."""

    def __init__(self) -> None:
        super().__init__(id="field", compact=True, select_on_focus=False)
        self.cursor_blink = False

    virtual_size = Reactive(Size(0, 0))
    """Overrides the reactive of every widget, which would lay out the whole screen at each key."""

    async def _on_key(self, event: Key) -> None:
        """Run the action of a key at once.

        Textual runs bindings after the characters that follow: if keys arrive together, as over a slow line, a
        correction would apply to the text after it, and Tab to the text before it.
        """
        bindings = self._bindings.key_to_bindings.get(event.key, ())
        action = ACTIONS.get(event.key) or next((binding.action for binding in bindings), "")
        if action:
            event.stop()
            event.prevent_default()
            await self.run_action(action)

    def replace(self, text: str, start: int, end: int) -> None:
        """Clean a text and put it in the place of another."""
        super().replace(line(text), start, end)


class Live(App[int]):
    """The screen.

    Args:
        call: gives the vault, project, clock and environment.

    Attributes:
        signalled: the signal that ended it; 0 for none.
        failed: an unexpected exception; None if there was none.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    Rows { height: 1fr; width: 1fr; }
    #head { height: 1; }
    #foot { height: 2; }
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
    .tall #foot { height: 3; }
    .low #side { display: none; }
    .low #foot { height: 1; }
    """
    BINDINGS = [Binding("ctrl+c", "interrupt", priority=True)]  # noqa: RUF012 - as Textual declares it

    def __init__(self, call: Call) -> None:
        super().__init__(ansi_color=True)
        self.call = call
        self.signalled = 0
        self.failed: BaseException | None = None
        self._numbers: dict[str, int] = {}
        self._timer: Any = None
        self._server: WarmServer | None = None
        self._attributes = _attributes()
        self._progress = ""
        memory = call.memory()
        self._root, self._project = memory.workspace.root, memory.workspace.project
        self.quick, self.slow = (Lane(self._open_memory, self.post_message) for _ in range(2))
        self.deciding = ReviewView(self)
        self.views: tuple[View, ...] = (SearchView(self), self.deciding, FactsView(self))
        self.view: View = self.views[0]
        self.title = f"tm {line(self._root.name)}"

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's driver, changed so that typed bytes that are not UTF-8 are ignored."""
        plain: Any = super().get_driver_class()

        class Steady(plain):  # type: ignore[misc]
            def run_input_thread(self) -> None:
                while True:
                    try:
                        super().run_input_thread()
                    except UnicodeDecodeError:
                        continue
                    return

        return Steady

    def _open_memory(self) -> Memory:
        """Open a memory of the same vault, for a thread."""
        memory = self.call.memory_at(self._root, self._project or NO_PROJECT)
        memory.workspace.patience, memory.workspace.may_finish_in_background, memory.workspace.rest = 0.0, True, REST
        return memory

    def close(self) -> None:
        """Close the vault, after waiting for a decision that is being written."""
        self.quick.close()
        self.slow.close(None if self.deciding.is_busy else 0.0)
        if self._server is not None:
            self._server.close()

    # --- what Textual asks

    def compose(self) -> ComposeResult:
        """Lay out head, field, list, preview and foot."""
        yield Rows("head", self.draw)
        with Container(id="line"):
            yield Rows("prompt", self.draw)
            yield Field()
        with Container(id="body"):
            yield Rows("list", self.draw)
            with Container(id="side"):
                yield Rows("rule", self.draw)
                yield Rows("preview", self.draw)
        yield Rows("foot", self.draw)

    def on_mount(self) -> None:
        """Begin: handle signals, ask for the newest notes, then read new notes and load the model."""
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with contextlib.suppress(NotImplementedError, RuntimeError):  # Windows; a test's thread
                    loop.add_signal_handler(number, self.end, number)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.set_interval(TERMINAL_CHECK, self._check_terminal)
        self.query_one("#prompt", Rows).show([Text("> ", "bold")])
        self.query_one(Field).focus()
        self.view.enter()
        self.ask(self.slow, "read", _read_on)
        self.deciding.enter()
        self.ask(self.slow, "warm", self._warm)

    def on_resize(self, event: Resize) -> None:
        """Put the preview beside or below the list, or hide it, as there is room."""
        self.screen.set_class(event.size.width >= WIDE, "wide")
        self.screen.set_class(event.size.height < LOW, "low")

    def on_input_changed(self) -> None:
        """Tell the view that the field's text has changed."""
        typed = self.query_one(Field).value
        if typed != self.view.typed:
            self.view.typed = typed
            self.view.type(typed)

    def on_heard(self, answer: Heard) -> None:
        """Pass the answer of a lane to the view that asked."""
        if not answer.kind:
            self.failed = answer.value
            self.exit(1)
            return
        if self._numbers.get(answer.kind, answer.number) != answer.number:
            return
        if answer.kind == "read":
            self._take_progress(answer.value)
            return
        for view in self.views:
            if answer.kind in view.hears:
                view.hear(answer)
        self.draw()

    # --- keys

    def action_enter(self) -> None:
        """Submit the field to the view."""
        self.on_input_changed()
        self.view.submit()

    def action_turn(self, by: int) -> None:
        """Go to the next view, or the one before; each keeps its own text in the field."""
        self.on_input_changed()
        at = self.views.index(self.view)
        self.view = self.views[(at + by) % len(self.views)]
        self.set_text(self.view.typed)
        self.view.enter()
        self.draw()

    def action_move(self, by: int) -> None:
        """Move the mark up or down."""
        self.view.choose(self.view.at + by)
        self.draw()

    def action_page(self, by: int) -> None:
        """Scroll the preview up or down by half of its height."""
        self.view.top += by * max(1, self.query_one("#preview", Rows).size.height // 2)
        self.draw()

    def action_leave(self) -> None:
        """Leave; or, if the person is typing words for a proposal, only give that up."""
        if not (self.view is self.deciding and self.deciding.cancel()):
            self.exit(0)

    def action_interrupt(self) -> None:
        """Leave on Ctrl-C."""
        self.exit(INTERRUPTED)

    # --- what the views ask for

    def ask(self, lane: Lane, kind: str, question: Callable[[Memory], Any]) -> None:
        """Ask a lane; only the newest question of a kind is answered."""
        self._numbers[kind] = number = self._numbers.get(kind, 0) + 1
        lane.ask(kind, number, question)

    def when_idle(self, act: Callable[[], None]) -> None:
        """Call a function after :data:`PAUSE` seconds, unless another call is scheduled before."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PAUSE, act)

    def take_text(self) -> str:
        """Empty the field, and return its text."""
        typed = self.view.typed
        self.set_text("")
        return typed

    def set_text(self, text: str) -> None:
        """Put a text into the field; the view doesn't take it as typed."""
        self.view.typed = text
        field = self.query_one(Field)
        field.value = text
        field.cursor_position = len(text)

    @contextlib.contextmanager
    def terminal_released(self) -> Any:
        """Give the terminal to another program during the block.

        Textual takes it back only if nothing is raised, so that an exception is raised again afterwards.
        """
        failed: BaseException | None = None
        with self.suspend():
            try:
                yield
            except BaseException as error:
                failed = error
        if failed is not None:
            raise failed

    def open(self, path: str, number: int, url: str | None) -> None:
        """Open a note at a line, as ``tm open`` does; ``url`` is its address in Obsidian."""
        note = self._root / path
        try:
            words = opener_for(self.call, path, number, url)
        except TarsError as error:
            self.view.state = [*sentences(error)]
            return
        label = f"{line(path)}:{number}"
        if words is None:
            self.view.state = [f"{label}: set VISUAL or EDITOR, and Enter opens it"]
            return
        try:
            if any(str(note) in word for word in words):  # an editor, which wants the terminal
                with self.terminal_released():
                    code = subprocess.run(words, check=False).returncode
            else:
                nothing = subprocess.DEVNULL
                code = subprocess.run(words, check=False, stdin=nothing, stdout=nothing, stderr=nothing).returncode
        except OSError as error:
            self.view.state = [f"{line(words[0])} can't be started: {error.strerror}"]
            return
        self.view.reload(f"{line(words[0])} ended with {code}" if code else f"opened {label}")

    # --- what runs in the background

    def _take_progress(self, progress: Any) -> None:
        """Show how far the first reading is, and ask for more of it.

        Args:
            progress: the result of :func:`_read_on`, or an error.
        """
        if isinstance(progress, tuple):
            reading, stale = progress
            if reading:
                self._progress = f"reading the vault: {reading - stale:,} of {counted(reading, 'note')}"
                self.set_timer(0.2, lambda: self.ask(self.slow, "read", _read_on))
            elif self._progress:
                self._progress = ""
                self.view.enter()
        self.draw()

    def _warm(self, memory: Memory) -> None:
        """Load the model before it is needed, and serve hooks and other searches with it, unless a watcher does."""
        try:
            embedder = memory.workspace.open_embedder()
            memory.workspace.opened_embedder = embedder
            identity = memory.workspace.manifest.identity
            lock = memory.workspace.ensure_state() / "watch.lock"
            with alone(lock, "live search", "the vault is already being watched", "one is enough"):
                self._server = WarmServer(memory.workspace.state / SOCKET, identity, embedder.embed_query)
        except (ModelUnavailableError, BusyError, OSError, AttributeError):
            pass  # searches report a problem of the model; a watcher's socket serves as well; or there are no sockets

    def _check_terminal(self) -> None:
        """End as on a hangup if the terminal is gone without a signal."""
        if self._attributes is not None and _attributes() is None:
            self.end(signal.SIGHUP)

    def end(self, number: int) -> None:
        """End on a signal: leave the screen; if that takes too long, restore the terminal by force."""
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
        """Keep an unexpected exception of a handler, to be reported as a bug once the terminal is restored."""
        self.failed = self._exception
        self._close_messages_no_wait()

    # --- drawing

    def draw(self) -> None:
        """Draw the whole screen from the current view."""
        if not self.is_running or not self.screen.is_attached:
            return
        out, view = self.call.out, self.view
        head = Text()
        for tab in self.views:
            label = f"[{tab.label}]" if tab is view else f" {tab.label} "
            head.append(label, "bold" if tab is view else "dim")
        name = Text(f"  {encoded(out, line(self._root.name))}{f' › {self._project}' if self._project else ''}", "dim")
        if (room := self.size.width - head.cell_len - name.cell_len) > 0:
            head.append(" " * room).append(name)
        self.query_one("#head", Rows).show([head])
        self._draw_list(view)
        self._draw_preview(view)
        state = view.state[:1] if self._progress else view.state  # the other sentences count unread notes as well
        text = "  ·  ".join(part for part in (self._progress, *(line(sentence) for sentence in state)) if part)
        screen = Console(width=max(self.size.width, 8), file=io.StringIO(), color_system=None)
        rows = wrapped(screen, Text(encoded(out, text), "dim"), 0) or [Text()]
        self.screen.set_class(len(rows) > 1, "tall")  # the keys stay in sight
        self.query_one("#foot", Rows).show([*rows[:2], Text(self._keys(view), "dim")])

    def _keys(self, view: View) -> str:
        """Return the keys with their meanings, as many as there is room for."""
        text = ""
        for key in (*view.keys, "Tab: next", "Esc: leave", "PgUp PgDn"):
            longer = f"{text}   {key}" if text else key
            text = longer if len(longer) <= self.size.width else text
        return encoded(self.call.out, text)

    def _draw_list(self, view: View) -> None:
        """Draw as many items as fit, so that the chosen one is visible."""
        rows = self.query_one("#list", Rows)
        width, height = rows.size.width - 2, rows.size.height
        blocks: list[list[Text]] = []
        first = used = 0
        for number, item in enumerate(view.items):
            mark = "> " if number == view.at else "  "
            lines = view.block(item, width)
            block = [Text("  " if n else mark, "bold").append_text(text) for n, text in enumerate(lines)]
            if number == view.at:
                for text in block:
                    text.stylize("bold")
            blocks.append(block)
            used += len(block)
            while number <= view.at and used > height and first < number:
                used -= len(blocks[first])
                first += 1
            if number > view.at and used >= height:
                break
        rows.show([text for block in blocks[first:] for text in block][:height])

    def _draw_preview(self, view: View) -> None:
        """Draw the passage around its matching lines, scrolled by ``view.top``."""
        preview, rule = self.query_one("#preview", Rows), self.query_one("#rule", Rows)
        passage, out = view.passage, self.call.out
        dash = symbol(out, "─", "-")
        title = f"{dash * 2} {encoded(out, passage.title)} " if passage is not None and passage.title else ""
        rule.show([Text(title + dash * max(0, rule.size.width - len(title)), "dim")])
        if passage is None or not preview.size.height:
            preview.show([])
            return
        height, width = preview.size.height, preview.size.width
        start = max(0, passage.at - height // 3) if passage.at + 1 > height * 2 // 3 else 0
        begin = max(0, min(start + view.top, len(passage.lines) - 1))
        view.top = begin - start
        screen = Console(width=max(width, 8), file=io.StringIO(), color_system=None)
        shown: list[Text] = []
        for number in range(begin, len(passage.lines)):
            shown += wrapped(screen, self._line(passage, number), 0) or [Text()]
            if len(shown) >= height:
                break
        preview.show(shown[:height])

    def _line(self, passage: Passage, number: int) -> Text:
        """Return a line of the preview, with its matches highlighted."""
        source = passage.lines[number]
        if isinstance(source, Text):
            return source
        words = encoded(self.call.out, clean(source).replace("\n", " ").expandtabs(4))
        text = Text(words, "bold" if passage.at <= number <= passage.last else "")
        if passage.query is not None:
            for start, end in Terms(passage.query).spans(words):
                text.stylize(MATCH, start, end)
        return text


def _read_on(memory: Memory) -> tuple[int, int]:
    """Go on for a while with the first reading of a vault; return the number of its notes, and of those left."""
    memory.workspace.patience = READING
    try:
        _, report = memory.workspace.look()
    finally:
        memory.workspace.patience = 0.0
    return report.reading, report.stale


def _attributes() -> list[Any] | None:
    """Return the terminal's attributes; None if there is no terminal, or no way to know."""
    try:
        import termios

        return termios.tcgetattr(0)
    except Exception:  # Windows has no termios, and its error is not an OSError
        return None


def _restore(attributes: list[Any] | None) -> None:
    """Restore the terminal, whatever the screen's own thread is doing."""
    with contextlib.suppress(Exception):
        os.write(2, RESTORE)
    if attributes is not None:
        with contextlib.suppress(Exception):
            import termios

            termios.tcsetattr(0, termios.TCSANOW, attributes)
