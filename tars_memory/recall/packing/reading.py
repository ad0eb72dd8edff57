"""Notes read for a prompt: which lines of them are told on purpose to nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tars_memory.errors import NotFoundError, TarsError
from tars_memory.recall import decided as states
from tars_memory.recall.packing.loaded import COMMENT, ENDED, EXPIRED, REJECTED, REPLACED, Loaded, key
from tars_memory.recall.packing.packing import NO_ROOM
from tars_memory.recall.talks import Conversations
from tars_memory.recall.verify import note_lines
from tars_memory.settings import PROJECTS
from tars_memory.vault.markdown import lines as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.lines import ended_lines, may_say_end
from tars_memory.vault.model import Tier
from tars_memory.vault.secrets import veiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.vault.vault import Vault

WHY = {grammar.REJECTED: REJECTED, grammar.EXPIRED: EXPIRED, grammar.REPLACED: REPLACED, states.ENDED: ENDED}


class Reading:
    """The notes of one prompt.

    Args:
        vault: to read from.
        scope: a project whose notes may be used too; empty for none.
        decided: by block ids of daily lines what became of them, if they are no longer to be told.
        on: the day on which lines have to count still; None: all do.

    Attributes:
        notices: sentences for the person.
        notes: the lines of the notes that were read.
        called: how the prompt names notes whose own path it must not show.
        was: what lines of these notes were replaced by others, as :func:`loaded.key` gives it.
        settled: lines that are left out on purpose: recall must not bring them back.
        said: the lines of conversations.
        gone: what was left out, as (path, first line, last line, why).
    """

    def __init__(
        self, vault: Vault, scope: str, decided: Callable[[Sequence[str]], Mapping[str, str]], on: date | None
    ) -> None:
        self.vault = vault
        self.scope = scope
        self.decided = decided
        self.on = on
        self.notices: list[str] = []
        self.notes: dict[str, list[str]] = {}
        self.called: dict[str, str] = {}
        self.was: set[str] = set()
        self.settled: set[tuple[str, int]] = set()
        self.gone: list[tuple[str, int, int, str]] = []
        self.said = Conversations()

    def leave_out(self, path: str, first: int, last: int, why: str) -> None:
        """Note that lines are left out, and why."""
        self.gone.append((path, first, last, why))
        if why != NO_ROOM:
            self.settled.update((path, number) for number in range(first, last + 1))

    def typed_in(self, typed: Callable[[str], frozenset[bytes]], path: str) -> frozenset[bytes]:
        """What the journal says that a person typed; nothing, and a notice, if it can't be read."""
        try:
            return frozenset(map(veiled, typed(path)))  # as the note's own lines are
        except TarsError as error:
            self.notices.append(error.message)
            return frozenset()

    def scopes(self) -> list[str]:
        """The project, if there is one, and the vault outside projects."""
        return [self.scope, ""] if self.scope else [""]

    def read(self, paths: Iterable[str], *, whole_items: bool = False) -> Iterator[Loaded]:
        """Those of the notes that exist, each as units."""
        for path in paths:
            data = self._bytes(path)
            if data is not None:
                note = Loaded(path, data, whole_items=whole_items, over=self._over(path), expired=self.on is None)
                self.notes[path] = note.lines
                if note.document.by_lines:
                    self.notices.append(f"{path}: so long, or nested so deep, that it is read line by line")
                yield note

    def _over(self, path: str) -> Callable[[Document], list[tuple[int, int]]]:
        """What of a note no longer counts."""

        def ended(document: Document) -> list[tuple[int, int]]:
            if self.on is None or not may_say_end(document.data):
                return []
            layout = self.vault.layout
            session = layout.tier_of(path) is Tier.EPISODIC
            return ended_lines(document, self.on, facts=layout.is_facts(path), session=session)

        return ended

    def read_for_recall(self, path: str) -> None:
        """Read a note that lines are recalled from; those that Obsidian hides are not."""
        if path in self.said:
            self.notes[path] = self.said.lines[path]
            return
        data = self._bytes(path)
        if data is None:
            return
        self.notes[path] = note_lines(data)
        if b"%%" in data or b"<!--" in data:
            for first, last, why in Loaded(path, data).omitted:
                if why == COMMENT:
                    self.leave_out(path, first, last, why)
        if self.on is not None and may_say_end(data):
            for first, last in self._over(path)(Document(data)):
                self.leave_out(path, first, last, ENDED)
        tier, lines = self.vault.layout.tier_of(path), self.notes[path]
        self.was.update(map(key, filter(None, map(grammar.replaced_words, lines))))
        if tier is Tier.EPISODIC and b"#^" in data:
            known = self.decided(states.ids(lines))
            self.called[path] = states.called(path, lines, known)
            gone = states.standing(lines, known)
        elif tier is Tier.DAILY and b" ^" in data:
            named = {at: name for at, line in enumerate(lines) if (name := grammar.block_id_of(line))}
            known = self.decided(list(named.values()))
            gone = {index: known[name] for index, name in named.items() if name in known}
        else:
            return
        for index, state in gone.items():
            if state != grammar.EXPIRED or self.on is not None:
                self.leave_out(path, index + 1, index + 1, WHY[state])

    def _bytes(self, path: str) -> bytes | None:
        """A note's bytes, if it is of the right scope and can be read; a notice if it is there but can't be."""
        if self.vault.layout.scope_of(path) not in ("", self.scope):
            return None
        try:
            return veiled(self.vault.read(path))
        except NotFoundError:
            return None
        except TarsError as error:
            if error.message not in self.notices:
                self.notices.append(error.message)
            return None


def within(scope: str, name: str) -> str:
    """The path of a note in a project; outside projects its name."""
    return f"{PROJECTS}/{scope}/{name}" if scope else name
