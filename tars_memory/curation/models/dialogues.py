"""What a model is asked, and what its words say: wording out of ``wording/*.md``, material between marks, a reader.

Pure but for the drawing of the mark. Material may hold anything, also what somebody wrote to steer the model. So each
line of it begins with a sign of ours, it stands between tags with a mark drawn for each call, and what is invisible is
taken out. That does not make a model obey us; so what it answers is bounded here, and decided by the person.

An answer is read tolerant of its form, strict in its content: a model wraps its JSON in prose and fences, breaks off,
quotes with the wrong marks, numbers its lines. But it speaks only of the numbers that it was given: what names another
candidate, line, section or turn is left out and counted, never guessed.
"""

from __future__ import annotations

import json
import re
import secrets
from datetime import date
from functools import cache, partial
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from tars_memory.curation.models.llm import LanguageModel, Prompt, Reply, ReplyError, unusable
from tars_memory.curation.proposals import DrawnFact, Extraction, Refer, Verdict
from tars_memory.disk import sha256
from tars_memory.errors import counted
from tars_memory.recall import packing
from tars_memory.vault.markdown.facts import Claim, claim_of
from tars_memory.vault.markdown.lines import SENTENCES
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from tars_memory.capture.turns import Turn

T = TypeVar("T")

MAX_REPLY = 1_000_000
"""Characters of an answer that are looked at at all."""
MAX_REPAIR = 60_000
"""Characters of an answer that is not valid JSON, and is to be mended."""
MAX_DEPTH = 10
"""Levels of nesting; an honest answer has four."""
MAX_FACTS, MAX_OPS = 200, 200
"""Items of an answer; more are left out."""
MAX_TEXT, MAX_QUOTE = 500, 2_000
"""Characters: of a statement or a name, and of a quote."""
MAX_REFERS = 8
"""Words of a quote whose meaning a model may point at."""

KINDS = ("fact", "preference", "decision", "correction")

NONE, ONE, SOME, MORE, ANY = (0, 0), (1, 1), (1, MAX_OPS), (2, MAX_OPS), (0, MAX_OPS)
"""How many numbers of a list an op names, at least and at most."""
OPS = {
    "review": {
        "append": {"candidates": SOME},
        "replace": {"candidates": SOME, "lines": ONE},
        "same": {"candidates": SOME, "lines": ONE},
        "rule": {"candidates": SOME},
        "skip": {"candidates": SOME},
    },
    "tidy": {"repeat": {"lines": MORE}, "conflict": {"lines": MORE}, "stale": {"lines": ONE}},
    "curate": {
        "add": {"notes": SOME},
        "replace": {"notes": SOME, "lines": ONE},
        "remove": {"notes": ANY, "lines": ONE},
        "end": {"notes": SOME, "facts": ONE},
    },
}
"""By job the ops of an answer, each with the numbers that it names; of a list that is not named here, none."""

LETTERS = {"candidates": "C", "notes": "N", "lines": "L", "facts": "F", "sections": "S"}
"""The lists that a model is shown, by the letter before their numbers."""

EXTRACT_TOKENS, LOOK_TOKENS, OPS_TOKENS = 4_096, 1_024, 4_096
"""Room for an answer: some thirty facts with their quotes, twenty verdicts, or forty ops."""


class ModelOp(NamedTuple):
    """One op of a model's answer, over the numbers that it was given.

    Attributes:
        kind: ``append``, ``replace``, ``same``, ``rule`` or ``skip`` (review); ``repeat``, ``conflict`` or ``stale``
            (tidy); ``add``, ``replace``, ``remove`` or ``end`` (curate).
        candidates: numbers of candidates, or of notes to curate by, each within the list that was shown; empty for
            tidy.
        lines: numbers of lines, likewise.
        section: number of a section, likewise; 0 for none.
        text: the model's words, one line, not neutralised yet; may be empty.
        why: one sentence for the person; may be empty.
        facts: numbers of facts, likewise; empty for all but curate.
    """

    kind: str
    candidates: tuple[int, ...]
    lines: tuple[int, ...]
    section: int
    text: str
    why: str
    facts: tuple[int, ...] = ()


class Ops(NamedTuple):
    """A model's ops.

    Attributes:
        ops: those over the given numbers.
        rejected: why each of the others was left out, in the answer's order.
    """

    ops: tuple[ModelOp, ...]
    rejected: tuple[str, ...]


class Dialogue(NamedTuple, Generic[T]):
    """A question to a model, and what makes sense of its answer.

    Attributes:
        prompt: what it is asked.
        read: what an answer says; raises :class:`ReplyError` for one that says nothing.
        code: of the lists that it is about: the same again has the same; empty where there are none.
    """

    prompt: Prompt
    read: Callable[[str], T]
    code: str = ""

    def ask(self, model: LanguageModel) -> T:
        """What the answer says; an unusable or cut one is asked for once more, with the reader's words.

        Of two cut answers what can be read counts.

        Raises:
            ModelUnavailableError: the model does not answer, or unusably twice.
        """
        first = model.complete(self.prompt)
        held: list[T] = []
        try:
            held.append(self.read(first.text))
            if not first.cut:
                return held[0]
            why = "it was cut off for want of room; be briefer"
            if isinstance(model, Reply):
                raise unusable(model.name, ReplyError("it is cut off"))
        except ReplyError as error:
            if isinstance(model, Reply):
                raise unusable(model.name, error) from error
            why = str(error)
        said = f"Your previous answer could not be used: {why}. Answer with the JSON only."
        again = f"{self.prompt.user.rstrip()}\n\n{said}\n"
        try:
            return self.read(model.complete(self.prompt._replace(user=again)).text)
        except ReplyError as error:
            if held:
                return held[0]
            raise unusable(model.name, error) from error


def extract(
    turns: Sequence[Turn],
    *,
    day: date,
    examine: Collection[int] | None = None,
    title: str = "",
    facts: Sequence[str] = (),
    predicates: Sequence[str] = (),
    draw: Callable[[int], bytes] = secrets.token_bytes,
) -> Dialogue[Extraction]:
    """Ask for the facts of one window of a conversation.

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
        "mark": packing.mark((shown, *facts), draw),
    }
    shown_numbers = {turn.number for turn in turns}
    return Dialogue(_prompt("extract", words, _EXTRACTION, EXTRACT_TOKENS), partial(extraction, turns=shown_numbers))


def look(quotes: Sequence[dict[str, Any]]) -> Dialogue[tuple[Verdict | None, ...]]:
    """Ask what kind of sentences some quotes are.

    Args:
        quotes: an object each, with ``said``, ``around`` and ``fact``; numbered from 1.
    """
    shown = [json.dumps({name: _plain(value) for name, value in each.items()}, ensure_ascii=False) for each in quotes]
    words = {
        "quotes": "\n".join(f"{number} {each}" for number, each in enumerate(shown, 1)),
        "mark": packing.mark(shown),
    }
    return Dialogue(_prompt("look", words, _LOOK, LOOK_TOKENS), partial(verdicts, count=len(quotes)))


def over(job: str, lists: Mapping[str, Sequence[str]], *, day: date) -> Dialogue[Ops]:
    """Ask for ops over numbered lists: what should become of candidates, which lines contradict each other or say one
    thing, what the last days change in a memory.

    Args:
        job: one of :data:`OPS`.
        lists: by name the words of each item, as the person would see them, with dates; numbered from 1.
        day: today.
    """
    made_for, counts = code(*lists.values()), {name: len(items) for name, items in lists.items()}
    words = {name: _numbered(LETTERS[name], items) for name, items in lists.items()}
    words |= {"code": made_for, "day": f"{day:%Y-%m-%d}", "mark": packing.mark(words.values())}
    prompt = _prompt(job, words, _ops_schema(job, counts, made_for), OPS_TOKENS)
    return Dialogue(prompt, partial(ops, job=job, counts=counts, code=made_for), made_for)


def code(*lists: Sequence[str]) -> str:
    """Six characters of numbered lists: an answer that bears others is about other lists."""
    digest = sha256()
    for one in lists:
        digest.update(b"%d;" % len(one))
        for item in one:
            data = item.encode("utf-8", "replace")
            digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:6]


def _prompt(job: str, words: dict[str, str], schema: dict[str, Any], max_tokens: int) -> Prompt:
    """The prompt, credentials masked: it may also be printed for another program."""
    system, user = _wording(job)
    masked = {name: mask(value) for name, value in words.items()}
    return Prompt(job, Template(system).substitute(masked), Template(user).substitute(masked), schema, max_tokens)


@cache
def _wording(job: str) -> tuple[str, str]:
    """The two halves of a job's wording: the rules, and what is around the material."""
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
    """A line without what is invisible, and without the signs by which models know roles."""
    return _SIGN.sub(r"<\\", packing.visible(text))


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


def _ops_schema(job: str, lists: Iterable[str], made_for: str) -> dict[str, Any]:
    numbers = dict.fromkeys((name for name in lists if name != "sections"), _NUMBERS)
    kind = {"type": "string", "enum": list(OPS[job])}
    op = _object(op=kind, **numbers, section=_NUMBER, text=_TEXT, why=_TEXT)
    fields: dict[str, dict[str, Any]] = {"for": {"type": "string", "enum": [made_for]}}
    return _object(**fields, ops={"type": "array", "items": op})


def extraction(text: str, turns: Collection[int]) -> Extraction:
    """What an answer to :func:`extract` says.

    Args:
        text: the answer.
        turns: the numbers of the turns that may be quoted. A fact from elsewhere, or without a quote, keeps its place
            with turn 0, so that whoever checks the quotes counts it among the ungrounded.

    Raises:
        ReplyError: there is no answer in it.
    """
    found = _found(text)
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
        raise ReplyError("the field 'facts' is not a list of objects")
    return Extraction(tuple(fact for item in _items(items)[:MAX_FACTS] if (fact := _fact(item, turns))))


def verdicts(text: str, count: int) -> tuple[Verdict | None, ...]:
    """What an answer to :func:`look` says, one for each object that was shown; None for a kind nobody knows.

    Args:
        text: the answer.
        count: how many were shown, numbered from 1.

    Raises:
        ReplyError: there is no answer in it, or its numbers are not 1 to ``count``, each once.
    """
    found = _found(text)
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


def ops(text: str, job: str, counts: Mapping[str, int], code: str = "") -> Ops:
    """What an answer over numbered lists says.

    Args:
        text: the answer.
        job: as for :func:`over`.
        counts: how long each list is that was shown.
        code: of the prompt; an answer to another one doesn't count.

    Raises:
        ReplyError: there is no answer in it, or it answers another prompt.
    """
    found = _found(text)
    if found is None:
        raise ReplyError(_why_not(text))
    if "ops" not in found:
        raise ReplyError("the object has no field 'ops'")
    if code and str(found.get("for")).strip() != code:
        raise ReplyError(f"the field 'for' must be {code!r}: this answers another prompt")
    read: list[ModelOp] = []
    rejected: list[str] = []
    items = _items(found["ops"])
    for item in items[:MAX_OPS]:
        op = _op(item, job, counts)
        if isinstance(op, str):
            rejected.append(op)
        else:
            read.append(op)
    rejected += ["more ops than an answer may have"] * (len(items) - MAX_OPS)
    return Ops(tuple(read), tuple(rejected))


def _op(item: object, job: str, counts: Mapping[str, int]) -> ModelOp | str:
    """One op, or why it can't be one."""
    if not isinstance(item, dict):
        return "an op is an object"
    kind = item.get("op")
    if not isinstance(kind, str) or kind not in OPS[job]:
        return "an op of another kind"
    numbers: dict[str, tuple[int, ...]] = {}
    for name in LETTERS:
        one = item.get(name[:-1], []) if name in counts else []
        given = _numbers(one or [] if name == "sections" else item.get(name, one))
        if given is None or any(not 1 <= number <= counts.get(name, 0) for number in given):
            return f"{kind}: {name} that were not shown"
        least, most = (0, 1) if name == "sections" else OPS[job][kind].get(name, NONE)
        if not least <= len(given) <= most:
            return f"{kind}: {_unfit(name, least, most)}"
        numbers[name] = given
    text, why = item.get("text") or "", item.get("why") or ""
    if not isinstance(text, str) or not isinstance(why, str) or len(text) > MAX_TEXT:
        return f"{kind}: words that are none, or too many"
    if kind == "rule" and not text.strip():
        return f"{kind}: no text"
    words, reason = (" ".join(_printable(each).split()) for each in (text, why))
    given, section = numbers["candidates"] or numbers["notes"], sum(numbers["sections"])
    return ModelOp(kind, given, numbers["lines"], section, words, reason[:300], numbers["facts"])


def _unfit(name: str, least: int, most: int) -> str:
    """What is wrong with how many numbers of a list an op names."""
    if most == 0:
        return f"{name} do not belong to it"
    return f"not exactly one {name[:-1]}" if most == 1 else f"fewer than {counted(least, name[:-1])}"


def _numbers(value: object) -> tuple[int, ...] | None:
    """Whole numbers, each once, in order; None if something else is among them."""
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_OPS or any(type(one) is not int for one in values):
        return None
    return tuple(dict.fromkeys(values))


def _fact(item: object, turns: Collection[int]) -> DrawnFact | None:
    """A quote that is pointed at, grounded or not; None for what is not an object."""
    if not isinstance(item, dict):
        return None
    quote = item.get("quote")
    quote = quote.strip() if isinstance(quote, str) and len(quote) <= MAX_QUOTE else ""
    kind = item.get("kind")
    refers = tuple(each for one in _items(item.get("refers"))[:MAX_REFERS] if (each := _refer(one)))
    claim = _claim(item.get("fact"))
    number = _turn_number(item.get("turn"))
    number = number if number in turns else 0
    return DrawnFact("", quote, number, kind if kind in KINDS else "fact", claim, refers)


def _refer(item: object) -> Refer | None:
    if not isinstance(item, dict):
        return None
    span, to = item.get("span"), item.get("to")
    if not (isinstance(span, str) and isinstance(to, str) and span.strip() and to.strip()):
        return None
    return Refer(span, to, _turn_number(item.get("turn"))) if max(len(span), len(to)) <= MAX_TEXT else None


def _turn_number(value: object) -> int:
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


def _found(text: str) -> dict[str, Any] | None:
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
    """A number; one with a thousand digits was not shown, and is -1."""
    return int(digits) if len(digits) < 19 else -1


def _why_not(text: str) -> str:
    """What is wrong with an answer without an object, for the model's second try."""
    if not text.strip("\ufeff \t\r\n"):
        return "it is empty"
    if re.match(r"\s*<(?:!doctype|html)", text, re.IGNORECASE):
        return "it is a web page"
    return "there is no JSON object in it" + (" but an empty one" if re.search(r"\{\s*\}", text) else "")
