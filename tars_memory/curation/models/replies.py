"""What a model's words say: tolerant of their form, strict in their content. Pure.

A model wraps its JSON in prose and fences, breaks off, quotes with the wrong marks, numbers its lines: all that is
read. But it speaks only of the numbers that it was given: what names another candidate, line, section or turn is left
out and counted, never guessed. Everything is bounded, for a model says what a transcript tells it to say.
"""

from __future__ import annotations

import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory.curation.model import DrawnFact, Extraction, Refer, Verdict
from tars_memory.vault.markdown.facts import claim_of
from tars_memory.vault.markdown.lines import SENTENCES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tars_memory.vault.markdown.facts import Claim

MAX_REPLY = 1_000_000
"""Characters of an answer that are looked at at all."""
MAX_REPAIR = 60_000
"""Characters of an answer that is no valid JSON, and is to be mended."""
MAX_DEPTH = 10
"""Levels of nesting; an honest answer has four."""
MAX_FACTS, MAX_OPS = 200, 200
"""Items of an answer; more are left out."""
MAX_TEXT, MAX_QUOTE = 500, 2_000
"""Characters: of a statement or a name, and of a quote."""
MAX_REFERS = 8
"""Words of a quote whose meaning a model may point at."""

KINDS = ("fact", "preference", "decision", "correction")
REVIEW_OPS = ("append", "replace", "same", "rule", "skip")
TIDY_OPS = ("merge", "conflict", "stale")


class ReplyError(ValueError):
    """An answer that nothing can be read from; its words are for the model's second try, one clause."""


class ModelOp(NamedTuple):
    """One op of a model's answer, over the numbers that it was given.

    Attributes:
        kind: ``append``, ``replace``, ``same``, ``rule`` or ``skip`` (review); ``merge``, ``conflict`` or ``stale``
            (tidy).
        candidates: numbers of candidates, each within the list that was shown; empty for tidy.
        lines: numbers of lines, likewise.
        section: number of a section, likewise; 0 for none.
        text: the model's words, one line, not neutralised yet; may be empty.
        why: one sentence for the person; may be empty.
    """

    kind: str
    candidates: tuple[int, ...]
    lines: tuple[int, ...]
    section: int
    text: str
    why: str


class Ops(NamedTuple):
    """A model's ops.

    Attributes:
        ops: those over the given numbers.
        rejected: why each of the others was left out, in the answer's order.
    """

    ops: tuple[ModelOp, ...]
    rejected: tuple[str, ...]


def extraction(text: str, turns: Collection[int]) -> Extraction:
    """What an answer to :func:`prompts.extract` says.

    Args:
        text: the answer.
        turns: the numbers of the turns that may be quoted. A fact from elsewhere, or without a quote, keeps its place
            with turn 0, so that whoever checks the quotes counts it among the ungrounded.

    Raises:
        ReplyError: there is no answer in it.
    """
    found = _object(text)
    if found is None:
        raise ReplyError(_why_not(text))
    if "facts" not in found:
        raise ReplyError("the object has no field 'facts'")
    items = found.get("facts", [])
    items = list(items.values()) if isinstance(items, dict) and "quote" not in items else items
    if (
        items
        and not isinstance(items, dict)
        and not (isinstance(items, list) and any(isinstance(item, dict | str) for item in items))
    ):
        raise ReplyError("the field 'facts' is no list of objects")
    return Extraction(tuple(fact for item in _items(items)[:MAX_FACTS] if (fact := _fact(item, turns))))


def verdicts(text: str, count: int) -> tuple[Verdict | None, ...]:
    """What an answer to :func:`prompts.look` says, one for each object that was shown; None for a kind nobody knows.

    Args:
        text: the answer.
        count: how many were shown, numbered from 1.

    Raises:
        ReplyError: there is no answer in it, or its numbers are not 1 to ``count``, each once.
    """
    found = _object(text)
    items = found.get("verdicts") if found else None
    if not isinstance(items, list):
        raise ReplyError("there is no object with a list 'verdicts'")
    read = {item["n"]: item for item in items[:MAX_OPS] if isinstance(item, dict) and type(item.get("n")) is int}
    if len(items) != count or sorted(read) != [*range(1, count + 1)]:
        raise ReplyError(f"'verdicts' must have the numbers 1 to {count}, each once")
    return tuple(
        Verdict(item["kind"], item.get("alone") is not False, item.get("fact") is not False)
        if item.get("kind") in SENTENCES
        else None
        for _, item in sorted(read.items())
    )


def ops(text: str, candidates: int, lines: int, sections: int = 0, *, code: str = "") -> Ops:
    """What an answer to :func:`prompts.review` (with candidates) or :func:`prompts.tidy` (without) says.

    Args:
        text: the answer.
        candidates: how many were shown, numbered from 1.
        lines: likewise.
        sections: likewise.
        code: of the prompt; an answer to another one is none to this.

    Raises:
        ReplyError: there is no answer in it, or it answers another prompt.
    """
    found = _object(text)
    if found is None:
        raise ReplyError(_why_not(text))
    if "ops" not in found:
        raise ReplyError("the object has no field 'ops'")
    if code and str(found.get("for")).strip() != code:
        raise ReplyError(f"the field 'for' must be {code!r}: this answers another prompt")
    kinds = REVIEW_OPS if candidates else TIDY_OPS
    read: list[ModelOp] = []
    rejected: list[str] = []
    items = _items(found["ops"])
    for item in items[:MAX_OPS]:
        op = _op(item, kinds, candidates, lines, sections)
        if isinstance(op, str):
            rejected.append(op)
        else:
            read.append(op)
    rejected += ["more ops than an answer may have"] * (len(items) - MAX_OPS)
    return Ops(tuple(read), tuple(rejected))


def _op(item: object, kinds: Collection[str], candidates: int, lines: int, sections: int) -> ModelOp | str:
    """One op, or why it is none."""
    if not isinstance(item, dict):
        return "an op is an object"
    kind = item.get("op")
    if not isinstance(kind, str) or kind not in kinds:
        return "an op of another kind"
    numbers = {}
    for name, count in (("candidates", candidates), ("lines", lines)):
        given = _numbers(item.get(name, item.get(name[:-1], [])))
        if given is None or any(not 1 <= number <= count for number in given):
            return f"{kind}: {name} that were not shown"
        numbers[name] = given
    section = item.get("section") or 0
    if type(section) is not int or not 0 <= section <= sections:
        return f"{kind}: a section that was not shown"
    text, why = item.get("text") or "", item.get("why") or ""
    if not isinstance(text, str) or not isinstance(why, str) or len(text) > MAX_TEXT:
        return f"{kind}: words that are none, or too many"
    problem = _shape_problem(kind, numbers["candidates"], numbers["lines"], text)
    if problem:
        return f"{kind}: {problem}"
    words = " ".join(_printable(text).split())
    return ModelOp(
        kind, numbers["candidates"], numbers["lines"], section, words, " ".join(_printable(why).split())[:300]
    )


def _shape_problem(kind: str, candidates: tuple[int, ...], lines: tuple[int, ...], text: str) -> str:
    """What an op of this kind lacks; empty if nothing."""
    if kind in REVIEW_OPS and not candidates:
        return "no candidate"
    if kind in ("replace", "same") and len(lines) != 1:
        return "not exactly one line"
    if kind in ("append", "rule", "skip") and lines:
        return "lines do not belong to it"
    if kind in ("merge", "conflict") and len(lines) < 2:
        return "less than two lines"
    if kind == "stale" and len(lines) != 1:
        return "not exactly one line"
    if kind in ("rule", "merge") and not text.strip():
        return "no text"
    return ""


def _numbers(value: object) -> tuple[int, ...] | None:
    """Whole numbers, each once, in order; None if something else is among them."""
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_OPS or any(type(one) is not int for one in values):
        return None
    return tuple(dict.fromkeys(values))


def _fact(item: object, turns: Collection[int]) -> DrawnFact | None:
    """A quote that is pointed at, grounded or not; None for what is no object."""
    if not isinstance(item, dict):
        return None
    quote = item.get("quote")
    quote = quote.strip() if isinstance(quote, str) and len(quote) <= MAX_QUOTE else ""
    kind = item.get("kind")
    refers = tuple(each for one in _items(item.get("refers"))[:MAX_REFERS] if (each := _refer(one)))
    claim = _claim(item.get("fact"))
    number = _turn(item.get("turn"))
    number = number if number in turns else 0
    return DrawnFact("", quote, number, kind if kind in KINDS else "fact", claim, refers)


def _refer(item: object) -> Refer | None:
    if not isinstance(item, dict):
        return None
    span, to = item.get("span"), item.get("to")
    if not (isinstance(span, str) and isinstance(to, str) and span.strip() and to.strip()):
        return None
    return Refer(span, to, _turn(item.get("turn"))) if max(len(span), len(to)) <= MAX_TEXT else None


def _turn(value: object) -> int:
    """The number of a turn, as a number or as text; 0 for none."""
    if isinstance(value, str):
        digits = value.strip("[] ")
        return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else 0
    return value if isinstance(value, int) and type(value) is int else 0


def _claim(item: object) -> Claim | None:
    """What a fact states over time; None if it is left empty, or can't be understood."""
    if not isinstance(item, dict):
        return None
    said = {name: item.get(name) or "" for name in ("subject", "predicate", "object", "since")}
    if not all(isinstance(value, str) and len(value) <= MAX_TEXT for value in said.values()):
        return None
    subject, predicate, value, since = (" ".join(_printable(str(text)).split()) for text in said.values())
    if not (predicate and value):
        return None
    try:
        day = date.fromisoformat(since) if since else None
    except ValueError:
        return None
    return claim_of(subject or "me", predicate.removesuffix("::").strip(), value, day)


def _items(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _printable(text: str) -> str:
    """Lone surrogates, which no note can hold, become U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


_LISTS = {"quote": "facts", "n": "verdicts"}
"""What a bare list of objects with such a member is a list of."""


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object in an answer, mended if need be; None if there is none.

    Raises:
        ReplyError: there is one that is too deep or too long to be honest.
    """
    text = text[:MAX_REPLY].lstrip("\ufeff").strip()
    for start in _starts(text):
        try:
            value, _ = json.JSONDecoder(parse_int=_int).raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value:
            return value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return {_LISTS.get(next((key for key in _LISTS if key in value[0]), ""), "ops"): value}
    return _mended(text)


def _starts(text: str) -> Iterator[int]:
    """Where an object may begin: at a fence's content, at the first brace and bracket, at the last line of a brace."""
    seen = set()
    fenced = [found.end() for found in re.finditer(r"(?:```|~~~)[A-Za-z0-9]*[ \t\r\n]*+(?=[{\[])", text)]
    first = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    lines = [found.start() for found in re.finditer(r"^\{", text, re.MULTILINE)]
    for place in (*fenced[:3], *sorted(first), *lines[:3], *lines[-1:]):
        if place not in seen:
            seen.add(place)
            yield place


def _mended(text: str) -> dict[str, Any] | None:
    """The object of an answer that is nearly JSON."""
    start = text.find("{")
    if start < 0:
        return None
    text = text[start : start + MAX_REPAIR]
    _check_depth(text)
    import json_repair

    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        value = next((one for one in value if isinstance(one, dict)), None)
    return value if isinstance(value, dict) and value else None


def _check_depth(text: str) -> None:
    """Mending takes time that grows with the nesting; marks within strings count too, for nobody knows what is one.

    Raises:
        ReplyError: it is deeper than any honest answer.
    """
    depth = 0
    for found in re.finditer(r"[{}\[\]]", text):
        depth = depth + 1 if found[0] in "{[" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            raise ReplyError("it is nested too deeply")


def _int(digits: str) -> int:
    """A number, however many digits: a thousand of them are none that was shown."""
    return int(digits) if len(digits) < 19 else -1


def _why_not(text: str) -> str:
    """What is wrong with an answer without an object, for the model's second try."""
    if not text.strip("\ufeff \t\r\n"):
        return "it is empty"
    if re.match(r"\s*<(?:!doctype|html)", text, re.IGNORECASE):
        return "it is a web page"
    return "there is no JSON object in it" + (" but an empty one" if re.search(r"\{\s*\}", text) else "")
