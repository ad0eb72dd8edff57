"""The threads in which a live search asks the vault: each has a memory of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.errors import TarsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tars_memory.memory import Memory


class LaneAnswer(NamedTuple):
    """An answer of a lane.

    Attributes:
        kind: of the question; empty for a failure that no question should meet.
        number: of the question; only the newest of its kind counts.
        answer: or the error.
    """

    kind: str
    number: int
    answer: Any


class Lane:
    """A thread with a memory of its own. Of what waits for it only the newest question of each kind is answered.

    Args:
        opened: opens the memory.
        tell: is given each answer; called from the thread.
    """

    def __init__(self, opened: Callable[[], Memory], tell: Callable[[LaneAnswer], object]) -> None:
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
                    self._tell(LaneAnswer(kind, number, answer))
        except Exception as error:
            self._tell(LaneAnswer("", number, error))
