"""Evaluate search by questions with known answers: figures of each question, and their means.

Nothing here reads a file or asks an index: :meth:`tars_memory.memory.Memory.evaluate` hands both in. Recall and
reciprocal rank are the usual ones; nDCG takes every gold note for equally good. Coverage is what matters for a prompt:
the share of the gold lines that are among the hits that fit, in their order, into a budget of tokens. Longer passages
don't inflate it.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from tars_memory.errors import TarsError, UsageError
from tars_memory.recall.packing import CHARACTERS_PER_TOKEN
from tars_memory.recall.query import Hit, SearchResult, parse
from tars_memory.vault.vault import note_lines

NOTE_CUTS = (1, 5, 10)
RANKS = 10
"""Number of notes that nDCG counts."""
LINE_CUTS = (5, 10)
BUDGETS = (300, 600, 1200, 2400)
"""Budgets of coverage in tokens: from a hint in a prompt to a page of it."""
LIMIT = 50
"""Default number of hits: more than fit into the largest budget."""
UNNAMED = "other"
"""Category of questions without one."""

NOTE_METRICS = (*(f"note_recall_{cut}" for cut in NOTE_CUTS), "mrr", f"ndcg_{RANKS}")
LINE_METRICS = (*(f"line_recall_{cut}" for cut in LINE_CUTS), *(f"coverage_{budget}" for budget in BUDGETS))
METRICS = (*NOTE_METRICS, *LINE_METRICS, "silent", "refused")
"""All figures, each a share from 0 to 1, in the order in which they are shown.

``silent``: a question with an answer got no hits. ``refused``: a question without an answer got no hits, as it should.
"""

Figures = dict[str, float | None]
"""A number for each of ``METRICS``; None if the question has none, as those of lines if its gold is only notes."""


class Question(NamedTuple):
    """A question and the places of its answer.

    Attributes:
        query: as it is typed.
        gold: paths of notes, each with the 1-based number of a line, or None for the note as a whole. Empty if the
            vault doesn't answer the question.
        category: for means by category; ``other`` if it has none.
        id: from the file, or the number of its line there.
    """

    query: str
    gold: Sequence[tuple[str, int | None]]
    category: str = UNNAMED
    id: str = ""

    @property
    def notes(self) -> set[str]:
        """The paths of the notes that answer."""
        return {path for path, _ in self.gold}

    @property
    def lines(self) -> set[tuple[str, int]]:
        """The path and number of the lines that answer; none if the gold is only notes."""
        return {(path, line) for path, line in self.gold if line is not None}


def questions(data: bytes, name: str) -> list[Question]:
    """Return the questions of a file with one JSON object a line; blank lines are skipped.

    Args:
        data: bytes of the file.
        name: of the file, for errors.

    Raises:
        UsageError: a line is not a question, or there are no questions; the message names file and line.
    """
    found = [_question(text, name, number) for number, text in enumerate(note_lines(data), start=1) if text.strip()]
    if not found:
        raise UsageError(f"{name} has no question in it", EXAMPLE)
    return found


EXAMPLE = 'a line looks like {"query": "when is it due", "gold": [{"path": "Memory.md", "line": 7}]}'


def _question(text: str, name: str, number: int) -> Question:
    """Parse one line of a file of questions."""

    def wrong(why: str) -> UsageError:
        return UsageError(f"{name}:{number}: {why}", EXAMPLE)

    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise wrong(f"this is not JSON ({error})") from None
    if not isinstance(record, dict):
        raise wrong("this is not a JSON object")
    query, gold, category = record.get("query"), record.get("gold"), record.get("category", UNNAMED)
    if not isinstance(query, str) or not query.strip():
        raise wrong("query has to be a string")
    try:
        parse(query, date(2026, 1, 1))  # any day: whether a date is valid doesn't depend on it
    except UsageError as error:
        raise UsageError(f"{name}:{number}: {error.message}", error.hint) from None
    if not isinstance(category, str) or not category.strip():
        raise wrong("category has to be a string")
    if not isinstance(gold, list):
        raise wrong("gold has to be a list; an empty one says that nothing answers")
    places: list[tuple[str, int | None]] = []
    for place in gold:
        path, line = (place.get("path"), place.get("line")) if isinstance(place, dict) else (None, None)
        if not isinstance(path, str) or not path:
            raise wrong("each place of gold has to have the path of a note")
        if line is not None and (type(line) is not int or line < 1):
            raise wrong("line has to be 1 or more")
        places.append((path, line))
    return Question(query, tuple(dict.fromkeys(places)), category, str(record.get("id", number)))


def score(question: Question, hits: Sequence[Hit], lines_of: Callable[[str], list[str]]) -> Figures:
    """Return the figures of one question.

    Args:
        question: with its gold.
        hits: best first.
        lines_of: returns the lines of a note; none if it can't be read.
    """
    figures: Figures = dict.fromkeys(METRICS)
    figures["silent" if question.gold else "refused"] = float(not hits)
    if question.gold:
        figures.update(_note_figures(question.notes, list(dict.fromkeys(hit.path for hit in hits))))
    if question.lines:
        figures.update(_line_figures(question.lines, hits, lines_of))
    return figures


def _note_figures(gold: set[str], found: list[str]) -> Figures:
    """Return recall, reciprocal rank and nDCG of the notes found, best first."""
    right = [path in gold for path in found]
    gains = [1 / math.log2(rank + 1) for rank in range(1, RANKS + 1)]
    figures: Figures = {f"note_recall_{cut}": sum(right[:cut]) / len(gold) for cut in NOTE_CUTS}
    figures["mrr"] = 1 / (right.index(True) + 1) if True in right else 0.0
    gained = sum(gain for gain, is_right in zip(gains, right, strict=False) if is_right)
    figures[f"ndcg_{RANKS}"] = gained / sum(gains[: len(gold)])
    return figures


def _line_figures(gold: set[tuple[str, int]], hits: Sequence[Hit], lines_of: Callable[[str], list[str]]) -> Figures:
    """Return recall and coverage of the gold lines."""
    spans = [{(hit.path, line) for line in range(hit.start_line, hit.end_line + 1)} for hit in hits]
    figures: Figures = {}
    for cut in LINE_CUTS:
        shown: set[tuple[str, int]] = set().union(*spans[:cut])
        figures[f"line_recall_{cut}"] = len(gold & shown) / len(gold)
    for budget in BUDGETS:
        taken: set[tuple[str, int]] = set()
        left = float(budget)
        for span in spans:
            new = span - taken
            cost = _tokens(new, lines_of)
            if cost <= left:
                taken |= new
                left -= cost
        figures[f"coverage_{budget}"] = len(gold & taken) / len(gold)
    return figures


def _tokens(places: Iterable[tuple[str, int]], lines_of: Callable[[str], list[str]]) -> float:
    """Return the number of tokens of lines, with their line ends."""
    texts = ((lines_of(path), line) for path, line in places)
    return sum(len(lines[line - 1]) + 1 for lines, line in texts if line <= len(lines)) / CHARACTERS_PER_TOKEN


class ModeRun(NamedTuple):
    """The figures of all questions in one mode.

    Attributes:
        mode: of the search.
        answers: each question with its figures, in the order of the file.
        notices: of the searches.
    """

    mode: str
    answers: list[tuple[Question, Figures]]
    notices: list[str]

    def means(self, category: str | None = None) -> dict[str, Any]:
        """Return the number of questions, and for each metric the mean over the questions that have it, or None."""
        rows = [figures for question, figures in self.answers if category in (None, question.category)]
        return {"questions": len(rows), **{name: _mean([row[name] for row in rows]) for name in METRICS}}

    def categories(self) -> list[str]:
        """Return the categories, sorted."""
        return sorted({question.category for question, _ in self.answers})

    def as_dict(self) -> dict[str, Any]:
        """Return the documented object of ``eval --json``: means over all questions and by category, and figures."""
        categories = [{"category": name, **_rounded(self.means(name))} for name in self.categories()]
        answers = [{"id": question.id, **_rounded(figures)} for question, figures in self.answers]
        return {"mode": self.mode, "all": _rounded(self.means()), "categories": categories, "answers": answers}


class Evaluation(NamedTuple):
    """The figures of the questions of a file.

    Attributes:
        run: in the chosen mode.
        against: in the modes to compare it with.
        limit: maximum number of hits of a question.
        missing: gold that the vault doesn't contain: ``path``, or ``path:line`` if the note is shorter.
        notices: sentences for the user, each once.
    """

    run: ModeRun
    against: list[ModeRun]
    limit: int
    missing: list[str]
    notices: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the documented object of ``eval --json``, without the notices, which the command adds."""
        against = [other.as_dict() for other in self.against]
        return {"limit": self.limit, **self.run.as_dict(), "against": against, "missing": self.missing}


def evaluate(
    asked: Sequence[Question],
    search: Callable[[str, str], SearchResult],
    read: Callable[[str], bytes],
    *,
    mode: str,
    against: Iterable[str] = (),
    limit: int = LIMIT,
) -> Evaluation:
    """Search for every question in every mode.

    Args:
        asked: the questions.
        search: answers a query in a mode.
        read: returns the bytes of a note by its path; raises OSError or TarsError if it can't be read.
        mode: to evaluate.
        against: modes to compare it with.
        limit: maximum number of hits that ``search`` returns; only reported.
    """

    @cache
    def lines_of(path: str) -> list[str]:
        try:
            return note_lines(read(path))
        except (OSError, TarsError):
            return []

    def run(mode: str) -> ModeRun:
        answers: list[tuple[Question, Figures]] = []
        notices: list[str] = []
        for question in asked:
            result = search(question.query, mode)
            notices += result.notices
            answers.append((question, score(question, result.hits, lines_of)))
        return ModeRun(mode, answers, notices)

    missing = dict.fromkeys(
        path if not lines_of(path) else f"{path}:{line}"
        for question in asked
        for path, line in question.gold
        if len(lines_of(path)) < (line or 1)
    )
    runs = [run(one) for one in (mode, *against)]
    notices = list(dict.fromkeys(notice for one in runs for notice in one.notices))
    return Evaluation(runs[0], runs[1:], limit, list(missing), notices)


def _mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are not None; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in values.items()}
