"""Whether a model can judge sentences: 24 fixed lines with known answers, asked once for each model and remembered.

A model that fails them is not asked for a second look any more. One that was never checked is: its verdicts can only
leave out what ``review --left-out`` shows again, so a person need not run a command before the first conversation.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.curation.models import dialogues
from tars_memory.vault.writing.journal import replace_file
from tars_memory.vault.writing.transaction import writing

if TYPE_CHECKING:
    from tars_memory.curation.models.llm import LanguageModel
    from tars_memory.settings import Settings

RECORD = "models.json"
"""In the state folder: by the model's name and endpoint, how many lines it judged rightly."""

ENOUGH = 0.8
"""Share of the lines that a model must judge rightly for its verdicts to count."""

A_CALL = 12


class Checked(NamedTuple):
    """How a model did.

    Attributes:
        model: its name.
        right, of: lines judged rightly, of all.
        wrong: for each of the others what was said, what it is, and what the model took it for.
    """

    model: str
    right: int
    of: int
    wrong: tuple[tuple[str, str, str], ...] = ()

    @property
    def passed(self) -> bool:
        """Whether its verdicts count."""
        return self.right >= ENOUGH * self.of

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        wrong = [dict(zip(("said", "kind", "answer"), each, strict=True)) for each in self.wrong]
        return {"model": self.model, "right": self.right, "of": self.of, "passed": self.passed, "wrong": wrong}


def check(settings: Settings, model: LanguageModel) -> Checked:
    """Ask a model the fixed lines, and remember how it did.

    Raises:
        ModelUnavailableError: it does not answer, or unusably twice.
        UnwritableError: the state folder can't be written.
    """
    wrong: list[tuple[str, str, str]] = []
    for start in range(0, len(lines()), A_CALL):
        some = lines()[start : start + A_CALL]
        found = dialogues.look([{name: one[name] for name in ("said", "around", "fact")} for one in some]).ask(model)
        for one, verdict in zip(some, found, strict=True):
            wanted, answer = _told(one["kind"], one["holds"]), "nothing that is known"
            if verdict is not None:
                answer = _told(verdict.kind, verdict.fact or one["fact"] is None)
            if answer != wanted:
                wrong.append((one["said"], wanted, answer))
    done = Checked(model.name, len(lines()) - len(wrong), len(lines()), tuple(wrong))
    path = settings.places.state / RECORD
    known = {**disk.own_object(path), _key(model): {"right": done.right, "of": done.of}}
    with writing(os.fspath(path)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, json.dumps(known, indent=1).encode("ascii"))
    return done


def remembered(settings: Settings, model: LanguageModel) -> Checked | None:
    """How a model did when it was checked; None if it never was, or with other lines."""
    found = disk.own_object(settings.places.state / RECORD).get(_key(model))
    right, of = (found.get("right"), found.get("of")) if isinstance(found, dict) else (None, None)
    return Checked(model.name, right, of) if isinstance(right, int) and of == len(lines()) else None


@cache
def lines() -> tuple[dict[str, Any], ...]:
    """The lines: ``said``, ``around``, ``fact``, and what is right: ``kind``, and whether the fact ``holds``."""
    text = files(__package__).joinpath("wording", "check.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.replace("\r\n", "\n").split("\n") if line)


_WITH_FACT = ("stated", "planned")
"""Kinds whose fact counts; that of any other sentence is left out whatever a model says of it."""


def _told(kind: str, holds: bool) -> str:
    return kind if holds or kind not in _WITH_FACT else f"{kind}, but not that fact"


def _key(model: LanguageModel) -> str:
    return f"{model.name} {getattr(model, 'endpoint', '')}".strip()
