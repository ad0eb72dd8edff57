"""What a model is asked: wording out of ``wording/*.md``, material between marks, the answer's JSON schema.

Pure but for the drawing of the mark.

Material may hold anything, also what somebody wrote to steer the model. So each line of it begins with a sign of ours,
it stands between tags with a mark drawn for each call, and what is invisible is taken out. That does not make a model
obey us; what it answers is bounded in :mod:`tars_memory.curation.models.replies`, and decided by the person.
"""

from __future__ import annotations

import json
import re
import secrets
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from tars_memory.curation.models.llm import Prompt
from tars_memory.curation.models.replies import KINDS, REVIEW_OPS, TIDY_OPS
from tars_memory.disk import sha256
from tars_memory.recall.packing import fence
from tars_memory.vault.markdown.lines import SENTENCES
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import date

    from tars_memory.capture.transcripts.turns import Turn

EXTRACT_TOKENS, LOOK_TOKENS, OPS_TOKENS = 4_096, 1_024, 4_096
"""Room for an answer: some thirty facts with their quotes, twenty verdicts, or forty ops."""


def extract(
    turns: Sequence[Turn],
    *,
    day: date,
    examine: Collection[int] | None = None,
    title: str = "",
    facts: Sequence[str] = (),
    predicates: Sequence[str] = (),
    draw: Callable[[int], bytes] = secrets.token_bytes,
) -> Prompt:
    """Ask for the facts of one window of a conversation; the answer is read by :func:`replies.extraction`.

    Args:
        turns: of the window, in order; what tools and programs said is left out.
        day: of the conversation; a turn with a time of its own says its own.
        examine: the numbers of the turns to take facts from; None for all.
        title: of the conversation, if it has one.
        facts: that are known, a line each.
        predicates: of facts, that are known.
        draw: makes the mark.
    """
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
    numbers = [turn.number for turn in spoken if examine is None or turn.number in examine]
    named = [f"title| {_line(title)[:200]}"] if title.strip() else []
    shown = "\n".join((*named, *map(_turn, spoken)))
    words = {
        "turns": shown,
        "day": f"{day:%Y-%m-%d}, a {_WEEKDAYS[day.weekday()]}",
        "examine": _ranges(numbers) or "none",
        "facts": "\n".join(f"| {_line(each)}" for each in facts) or "(none)",
        "predicates": ", ".join(map(_line, predicates)) or "(none)",
        "mark": fence.mark((shown, *facts), draw),
    }
    return _prompt("extract", words, _EXTRACTION, EXTRACT_TOKENS)


def look(quotes: Sequence[dict[str, Any]], *, draw: Callable[[int], bytes] = secrets.token_bytes) -> Prompt:
    """Ask what kind of sentences some quotes are; the answer is read by :func:`replies.verdicts`.

    Args:
        quotes: an object each, with ``said``, ``around`` and ``fact``; numbered from 1.
        draw: makes the mark.
    """
    shown = [json.dumps({name: _plain(value) for name, value in each.items()}, ensure_ascii=False) for each in quotes]
    words = {
        "quotes": "\n".join(f"{number} {each}" for number, each in enumerate(shown, 1)),
        "mark": fence.mark(shown, draw),
    }
    return _prompt("look", words, _LOOK, LOOK_TOKENS)


def review(
    candidates: Sequence[str],
    lines: Sequence[str],
    sections: Sequence[str],
    *,
    day: date,
    draw: Callable[[int], bytes] = secrets.token_bytes,
) -> Prompt:
    """Ask what should become of candidates; the answer is read by :func:`replies.ops` with :func:`code` of the lists.

    Args:
        candidates: their words, with date and kind as the person would see them; numbered from 1.
        lines: what the tiers hold already, likewise.
        sections: headings, likewise.
        day: today.
        draw: makes the mark.
    """
    lists = {
        "candidates": _numbered("C", candidates),
        "lines": _numbered("L", lines),
        "sections": _numbered("S", sections),
    }
    return _over(("review", REVIEW_OPS), lists, code(candidates, lines, sections), day, draw)


def tidy(lines: Sequence[str], *, day: date, draw: Callable[[int], bytes] = secrets.token_bytes) -> Prompt:
    """Ask which lines contradict each other or say one thing; read by ``replies.ops(text, 0, len(lines), code=…)``.

    Args:
        lines: their words, with dates; numbered from 1.
        day: today.
        draw: makes the mark.
    """
    return _over(("tidy", TIDY_OPS), {"lines": _numbered("L", lines)}, code(lines), day, draw)


def code(*lists: Sequence[str]) -> str:
    """Six characters of numbered lists: an answer that bears others is about other lists."""
    digest = sha256()
    for one in lists:
        digest.update(b"%d;" % len(one))
        for item in one:
            data = item.encode("utf-8", "replace")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:6]


def _over(
    job: tuple[str, Sequence[str]],
    lists: dict[str, str],
    made_for: str,
    day: date,
    draw: Callable[[int], bytes],
) -> Prompt:
    """A prompt over numbered lists."""
    words = {**lists, "code": made_for, "day": f"{day:%Y-%m-%d}", "mark": fence.mark(lists.values(), draw)}
    return _prompt(job[0], words, _ops_schema(job[1], made_for), OPS_TOKENS)


def _prompt(job: str, words: dict[str, str], schema: dict[str, Any], max_tokens: int) -> Prompt:
    """The prompt, credentials masked: it may also be printed for another program."""
    system, user = _wording(job)
    masked = {name: mask(value) for name, value in words.items()}
    return Prompt(job, Template(system).substitute(masked), Template(user).substitute(masked), schema, max_tokens)


@cache
def _wording(job: str) -> tuple[str, str]:
    """The two halves of a job's wording: the rules, and what the material stands in."""
    text = files(__package__).joinpath("wording", f"{job}.md").read_text("utf-8")
    system, _, user = text.replace("\r\n", "\n").partition("<!-- user -->\n")
    return system.rstrip(), user.rstrip()


def _turn(turn: Turn) -> str:
    """A turn as the prompt shows it; only our own lines begin without the sign."""
    when = f", {turn.time:%Y-%m-%d %H:%M}" if turn.time else ""
    name = "" if turn.speaker.lower() == turn.role else f" ({_line(turn.speaker)[:60]})"
    said = "\n".join(f"| {_shown(line)}" for line in re.split(r"\r\n|\r|\n", turn.text))
    return f"[{turn.number}] {turn.role}{name}{when}\n{said}"


def _numbered(letter: str, items: Sequence[str]) -> str:
    """One line an item."""
    return "\n".join(f"{letter}{number}| {_line(item)}" for number, item in enumerate(items, 1)) or "(none)"


def _line(text: str) -> str:
    return " ".join(_shown(text).split())


def _plain(value: Any) -> Any:
    """A text, or those of a list, as one line each."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return _line(value) if isinstance(value, str) else value


def _shown(text: str) -> str:
    """A line without what is invisible, and without the signs by which models tell roles apart."""
    return _SIGN.sub(r"<\\", fence.visible(text))


_SIGN = re.compile(r"<(?=/?(?:[|｜]|(?:s|bos|eos|think|start_of_turn|end_of_turn)>))")
"""What begins a control sign of today's chat formats (``<|im_end|>``); local servers read them out of plain text."""


def _ranges(numbers: Sequence[int]) -> str:
    """``1-4, 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema that every provider's strict mode takes: each field required, none besides."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer"}
_NUMBERS: dict[str, Any] = {"type": "array", "items": _NUMBER}
_CLAIM = _object(subject=_TEXT, predicate=_TEXT, object=_TEXT, since=_TEXT)
_TRUE: dict[str, Any] = {"type": "boolean"}
_REFER = _object(span=_TEXT, to=_TEXT, turn=_NUMBER)
_FACT = _object(
    quote=_TEXT,
    turn=_NUMBER,
    kind={"type": "string", "enum": list(KINDS)},
    refers={"type": "array", "items": _REFER},
    fact=_CLAIM,
)
_EXTRACTION = _object(facts={"type": "array", "items": _FACT})
_VERDICT = _object(n=_NUMBER, kind={"type": "string", "enum": list(SENTENCES)}, alone=_TRUE, fact=_TRUE)
_LOOK = _object(verdicts={"type": "array", "items": _VERDICT})


def _ops_schema(kinds: Sequence[str], made_for: str) -> dict[str, Any]:
    op = _object(
        op={"type": "string", "enum": list(kinds)},
        candidates=_NUMBERS,
        lines=_NUMBERS,
        section=_NUMBER,
        text=_TEXT,
        why=_TEXT,
    )
    fields: dict[str, dict[str, Any]] = {"for": {"type": "string", "enum": [made_for]}}
    return _object(**fields, ops={"type": "array", "items": op})
