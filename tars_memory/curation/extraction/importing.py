"""``import``: the memories of other programs as candidates, by the way that ``extract`` goes.

Each statement waits as an ``[extracted]`` line in the note of its day, with its exact words and its place in a session
note for each source; ``review`` decides. All sources of a command are one transaction: one ``undo`` takes them back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO

from tars_memory.capture import memories
from tars_memory.curation.extraction.drawing import MOST_FACTS, Drawn
from tars_memory.curation.extraction.extract import Examiner, Extracted, Skipped
from tars_memory.curation.extraction.keeping import words_of
from tars_memory.curation.model import RULE, DrawnFact, Extraction
from tars_memory.errors import UsageError, counted
from tars_memory.settings import ExtractOptions
from tars_memory.vault.secrets import mask
from tars_memory.vault.suspicion import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tars_memory.capture.memories import Collection, Imported
    from tars_memory.capture.remember import Caller
    from tars_memory.capture.transcripts.turns import Transcript, Unknown
    from tars_memory.curation.extraction.extract import Task

LONGEST = 600
"""Characters of a statement that a person is asked about; a longer one is kept in the session note."""

TOO_LONG = "too long"
UNSEEN = "It held invisible characters"


def bring(
    capture: Callable[..., Caller], sources: Iterable[str | os.PathLike[str] | BinaryIO], form: str | None
) -> Extracted:
    """:meth:`tars_memory.memory.Memory.import_memories`."""
    if form is not None and form not in memories.FORMATS:
        raise UsageError(f"unknown format: {form!r}", f"it is one of {', '.join(memories.FORMATS)}")
    run = Importer(capture)
    several = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    return run.over(run.read(several, form or ""))


class Importer(Examiner):
    """Examines what other programs remembered."""

    command = "import"

    def __init__(self, capture: Callable[..., Caller]) -> None:
        super().__init__(capture(writes=False), ExtractOptions(), None, "facts", force=True, writer=capture)
        self._collections: dict[str, Collection] = {}
        self._waiting: list[tuple[Task, Drawn]] = []

    def read(self, sources: Iterable[str | os.PathLike[str] | BinaryIO], form: str) -> Iterator[Transcript | Unknown]:
        """The statements of all sources as conversations; a source without any is noted as skipped."""
        for source in sources:
            for found in memories.read(source, self.ctx.now, form, self._ours):
                if not isinstance(found, memories.Collection):
                    yield found
                    continue
                name = found.transcript.source
                if found.passed:
                    left = counted(found.passed, "code block, table or quotation", "code blocks, tables and quotations")
                    self.ctx.notices.append(f"{name}: {left} left out: only sentences and list items are read")
                if not found.statements:
                    self.skipped.append(Skipped(name, "there is no statement in it"))
                    continue
                self._collections[name] = found
                yield found.transcript

    def _shown(self, transcript: Transcript) -> Transcript:
        """Without what was forgotten; a file that is only newer does not say it anew."""
        found = self._collections[transcript.source].statements
        log = transcript.source, transcript.id
        said = ((turn, turn.time if found[turn.number - 1].dated else None) for turn in transcript.turns)
        kept = tuple(turn for turn, when in said if not self._withheld.holds(turn.text, when, *log))
        return transcript._replace(turns=kept)

    def _drawn(self, task: Task) -> Drawn:
        """Each statement as it stands; the words of a long one are for the session note alone."""
        found = self._collections[task.transcript.source]
        masked = mask("\n".join(each.quote for each in found.statements)).split("\n")
        plain = {quote for quote in masked if quote}  # a line of a list of codes is none by itself
        facts: list[DrawnFact] = []
        long: list[DrawnFact] = []
        secret = new = until = 0
        for turn in task.shown.turns:
            if turn.number <= task.place.turns:
                continue
            statement = found.statements[turn.number - 1]
            if statement.quote not in plain:
                secret += 1
                continue
            fact = _fact(statement, turn.number)
            if len(statement.text) > LONGEST:
                long.append(fact._replace(seen=TOO_LONG))
                continue
            facts.append(fact)
            new += not self.known.why(words_of(fact), fact.claim, task.when[turn.number].date())
            if new == MOST_FACTS:
                until = turn.number
                break
        dropped = {"secret": secret} if secret else {}
        return Drawn(Extraction(tuple(facts)), dropped, until, left_out=tuple(long))

    def _kept(self, task: Task, drawn: Drawn) -> None:
        self._waiting.append((task, drawn))

    def over(
        self, transcripts: Iterable[Transcript | Unknown], progress: Callable[[str], None] | None = None
    ) -> Extracted:
        """Examine them all, then write all of them together."""
        done = super().over(transcripts, progress)
        return done._replace(sessions=self._write(self._waiting) if self._waiting else [])

    def _is_news(self, task: Task, chosen: Drawn) -> bool:
        return bool(chosen.extraction.facts or (chosen.left_out and not task.place.path))


def _fact(statement: Imported, turn: int) -> DrawnFact:
    warnings = (UNSEEN,) if hidden(statement.quote) else ()
    seen = RULE if statement.rule else ""
    return DrawnFact(statement.text, statement.quote, turn, claim=statement.claim, seen=seen, warnings=warnings)
