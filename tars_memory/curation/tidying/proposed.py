"""The summaries that are proposed for old sessions: their words, by rules or by a model, and what is to be written."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tars_memory import disk
from tars_memory.curation.models.llm import Reply
from tars_memory.curation.tidying import digest, distilled
from tars_memory.disk import sha256
from tars_memory.errors import ConflictError
from tars_memory.vault import summaries as notes
from tars_memory.vault.links import Links
from tars_memory.vault.markdown.document import apply
from tars_memory.vault.markdown.entries import visible
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tars_memory.capture.caller import Caller
    from tars_memory.curation.models.llm import LanguageModel, Prompt
    from tars_memory.curation.tidying.aged import Aged, Survey
    from tars_memory.curation.tidying.digest import Merged
    from tars_memory.vault.summaries import Summary, SummaryLine

RULES = "rules"
"""Who sums up where no model is asked."""

ANSWERS = "compress"
"""Folder of the state folder in which what a model said waits until it is applied."""


class Proposed(NamedTuple):
    """The summary of one period, new or added to.

    Attributes:
        period: ``2025-03`` or ``2025``.
        path: of the note.
        sessions: how many go into it.
        statements: how many it is given.
        left_out: statements that found no room; they stand in the originals.
        passed_over: bullets that were rejected in review, are done, too long, or hold a credential.
        dropped: why sentences of a model were dropped.
        by: :data:`RULES`, or the model's name.
        base: the note as it is; empty for a new one.
        splices: what to change in it.
    """

    period: str
    path: str
    sessions: int
    statements: int
    left_out: int
    passed_over: int
    dropped: tuple[str, ...]
    by: str
    base: bytes
    splices: tuple[Splice, ...]

    @property
    def text(self) -> str:
        """The words that the note is to hold, or that are added to it."""
        if not self.base:
            return apply(b"", list(self.splices)).decode("utf-8", "replace")
        return "".join(splice.data.decode("utf-8", "replace") for splice in self.splices)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "period": self.period,
            "path": self.path,
            "action": "add" if self.base else "make",
            "sessions": self.sessions,
            "statements": self.statements,
            "left_out": self.left_out,
            "passed_over": self.passed_over,
            "dropped": list(self.dropped),
            "by": self.by,
            "text": self.text,
        }


class _Group(NamedTuple):
    """The sessions of one summary, and what they say that it does not hold yet."""

    period: str
    path: str
    sessions: list[Aged]
    said: list[Merged]
    passed_over: int
    held: notes.HeldSummary | None
    base: bytes


def propose(
    ctx: Caller, seen: Survey, lines: int, model: LanguageModel | None, *, reuse: bool = False
) -> list[Proposed]:
    """The summaries of what was found, oldest period first.

    Args:
        ctx: the command's view of the vault.
        seen: the sessions.
        lines: statements that a summary holds at most.
        model: whom to ask; None for the statements as they are.
        reuse: take what it said last about the same statements.

    Raises:
        ConflictError: a summary that is there takes nothing more.
        ModelUnavailableError: the model does not answer, or unusably.
    """
    groups = _groups(ctx, seen)
    if not groups:
        return []
    link = _linker(seen)
    answers = _Answers(ctx, model, reuse=reuse) if model is not None else None
    found = [_proposed(group, lines, link, answers) for group in groups]
    if answers is not None and not ctx.store.dry_run:
        answers.keep()
    return found


def prompts(ctx: Caller, seen: Survey) -> list[Prompt]:
    """What a model would be asked, summary by summary."""
    day = ctx.now.date()
    return [distilled.prompt_for(group.period, _shown(group)[0], day) for group in _groups(ctx, seen) if group.said]


def forget_answers(state: Path) -> None:
    """Remove what models said about sessions that are summed up, or that was forgotten."""
    for path in (state / ANSWERS).glob("*.json"):
        path.unlink(missing_ok=True)


def _groups(ctx: Caller, seen: Survey) -> list[_Group]:
    by_path: dict[str, list[Aged]] = {}
    for step in seen.steps:
        if step.action != "keep":
            each = seen.notes[step.path]
            by_path.setdefault(each.summary, []).append(each)
    groups = []
    for path, sessions in by_path.items():
        base = ctx.vault.read(path) if path in seen.files else b""
        held = notes.read(base) if base else None
        told = [
            said
            for each in sessions
            for said in each.told.statements
            if not each.since or not said.turn or said.turn > each.since
        ]
        merged = [each for each in digest.merged(told) if held is None or each.first.text not in held.texts]
        passed_over = sum(each.told.left_out for each in sessions)
        groups.append(_Group(sessions[0].period, path, sessions, merged, passed_over, held, base))
    return sorted(groups, key=lambda group: (group.period, group.path))


def _proposed(group: _Group, limit: int, link: Callable[[str], str], answers: _Answers | None) -> Proposed:
    room = max(0, limit - (len(group.held.texts) if group.held else 0))
    dropped: tuple[str, ...] = ()
    if answers is not None and group.said:
        shown, left_out = _shown(group)
        by = answers.name
        done = answers.about(group.period, shown)
        dropped = tuple(done.dropped)
        lines = [
            digest.line([said for one in each.rests_on for said in one.all], link, text=each.text, kind=each.kind)
            for each in done.sentences[:room]
        ]
        dropped += ("more than the summary may hold",) * (len(done.sentences) - len(lines))
    else:
        by = RULES
        chosen, left_out = digest.weightiest(group.said, room)
        lines = [digest.line(each.all, link) for each in chosen]
    summary = _summary(group, by, lines, left_out, link)
    try:
        splices = notes.add(group.base, summary) if group.base else [Splice(0, 0, notes.render(summary))]
    except ConflictError as error:
        raise ConflictError(f"{group.path} takes nothing more: {error.message}", error.hint) from error
    return Proposed(
        group.period,
        group.path,
        len(group.sessions),
        len(lines),
        left_out,
        group.passed_over,
        dropped,
        by,
        group.base,
        tuple(splices),
    )


def _summary(
    group: _Group, by: str, lines: Sequence[SummaryLine], left_out: int, link: Callable[[str], str]
) -> Summary:
    sources = tuple(
        notes.SummarySource(each.day.isoformat(), link(each.path), notes.number_in(each.data, "turns"))
        for each in group.sessions
    )
    day = max(each.day for each in group.sessions).isoformat()
    return notes.Summary(group.period, day, by, tuple(lines), sources, left_out)


def _shown(group: _Group) -> tuple[list[Merged], int]:
    return digest.weightiest(group.said, distilled.LINES)


def _linker(seen: Survey) -> Callable[[str], str]:
    """From a session's path to the link that leads to it in the archive."""
    to = {step.path: step.to for step in seen.steps if step.action != "keep"}
    links = Links({to.get(path, path) for path in seen.files})

    def link(path: str) -> str:
        place = to[path]
        name = links.name_of(place)
        if any(sign in name for sign in "#^[]|") or name.strip() != name or not name.isprintable():
            label = visible(name.rpartition("/")[2].translate(_NO_BRACKETS))
            return f"[{label}]({quote(place, errors='surrogateescape')})"
        return f"[[{name}]]"

    return link


_NO_BRACKETS = {ord("["): "(", ord("]"): ")"}


class _Answers:
    """A model, and what it said last about the same statements: what is applied is what was shown.

    The answer of another program stands in a file that the person keeps; it is neither kept nor taken from here.
    """

    def __init__(self, ctx: Caller, model: LanguageModel, *, reuse: bool) -> None:
        self.name = model.name
        self._lasting = not isinstance(model, Reply)
        self._reuse = reuse and self._lasting
        self._ctx = ctx
        self._model = model
        self._folder = ctx.store.state / ANSWERS
        self._kept: dict[str, dict[str, Any]] = {}

    def about(self, period: str, shown: Sequence[Merged]) -> distilled.Distilled:
        """What it says about the statements of a period."""
        lines = distilled.numbered(shown)
        key = sha256(json.dumps([self.name, period, lines]).encode("ascii")).hexdigest()[:32]
        done = self._before(key, shown) if self._reuse else None
        if done is None:
            done = distilled.distil(self._model, period, shown, self._ctx.now.date())
        numbers = {id(each): number for number, each in enumerate(shown)}
        sentences = [[each.kind, each.text, [numbers[id(one)] for one in each.rests_on]] for each in done.sentences]
        self._kept[key] = {"sentences": sentences, "dropped": done.dropped}
        return done

    def keep(self) -> None:
        """Keep what was said, and nothing of other times."""
        if not self._lasting:
            return
        forget_answers(self._ctx.store.state)
        try:
            self._ctx.store.state.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for key, said in self._kept.items():
                path = self._folder / f"{key}.json"
                path.write_text(json.dumps(said), "ascii")
                os.chmod(path, 0o600)
        except OSError as error:
            self._ctx.notices.append(f"what {self.name} said can't be kept: it will be asked again ({error.strerror})")

    def _before(self, key: str, shown: Sequence[Merged]) -> distilled.Distilled | None:
        """What it said before; each sentence is checked again."""
        try:
            said = disk.own_object(self._folder / f"{key}.json")
            sentences = [
                distilled.Sentence(kind, text, tuple(shown[number] for number in numbers))
                for kind, text, numbers in said["sentences"]
            ]
            held = [each for each in sentences if not distilled.strange(each.text, each.rests_on)]
            return distilled.Distilled(held, [str(why) for why in said["dropped"]]) if held else None
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return None
