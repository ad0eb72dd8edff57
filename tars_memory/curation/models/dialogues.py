"""Builds the prompts for a model from ``wording/*.md`` and material, and reads its answers.

Pure functions, except that each prompt draws a random mark. Material may contain anything, including text that somebody
wrote to steer the model. So each line of it begins with a sign of ours, it is put between tags with a mark drawn for
each call, and invisible characters are removed. That does not make a model obey us; so its answers are limited here,
and decided by the person.

Reading is tolerant of an answer's form and strict about its content. Models wrap their JSON in prose and fences, break
off, use the wrong quotation marks, number their lines. But an answer may only use the numbers that it was given: an
item that names another candidate, line, section or turn is left out and counted, and nothing is guessed.
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

from tars_memory import disk, errors
from tars_memory.curation.models.llm import LanguageModel, Prompt, Reply, ReplyError, unusable
from tars_memory.curation.proposals import DrawnFact, Refer, Verdict
from tars_memory.recall import packing
from tars_memory.vault.markdown.facts import Claim, claim_of
from tars_memory.vault.markdown.lines import SENTENCES
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tars_memory.capture.turns import Turn

T = TypeVar("T")

MAX_REPLY = 1_000_000
"""Maximum number of characters read of an answer."""
MAX_REPAIR = 60_000
"""Maximum number of characters read of an answer that is not valid JSON and has to be repaired."""
MAX_DEPTH = 10
"""Maximum nesting of an answer that has to be repaired; an honest answer has four levels."""
MAX_FACTS, MAX_OPS = 200, 200
"""Maximum number of items in an answer; more are left out."""
MAX_TEXT, MAX_QUOTE = 500, 2_000
"""Maximum number of characters of a statement or name, and of a quote."""
MAX_REFERS = 8
"""Maximum number of references that a model may resolve in one quote."""

KINDS = ("fact", "preference", "decision", "correction")
"""The kinds of statements that a model may draw."""

NONE, ONE, SOME, MORE, ANY = (0, 0), (1, 1), (1, MAX_OPS), (2, MAX_OPS), (0, MAX_OPS)
"""How many numbers of a list an op may name: minimum and maximum."""
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
"""For each job the ops of an answer, each with how many numbers it names of which list; none of any other list."""

LETTERS = {"candidates": "C", "notes": "N", "lines": "L", "facts": "F", "sections": "S"}
"""The lists that a model is shown, with the letter before their numbers."""

EXTRACT_TOKENS, LOOK_TOKENS, OPS_TOKENS = 4_096, 1_024, 4_096
"""Maximum number of tokens of an answer: some thirty facts with their quotes, twenty verdicts, or forty ops."""


class ModelOp(NamedTuple):
    """One op of a model's answer, about items that it was shown.

    Attributes:
        kind: ``append``, ``replace``, ``same``, ``rule`` or ``skip`` (review); ``repeat``, ``conflict`` or ``stale``
            (tidy); ``add``, ``replace``, ``remove`` or ``end`` (curate).
        candidates: numbers of candidates or, for curate, of notes, each within the list that was shown; empty for
            tidy.
        lines: numbers of lines, within their list.
        section: number of a section, within its list; 0 for none.
        text: the model's words, one line, not neutralised yet; may be empty.
        why: one sentence for the person; may be empty.
        facts: numbers of facts, within their list; empty for all jobs but curate.
    """

    kind: str
    candidates: tuple[int, ...]
    lines: tuple[int, ...]
    section: int
    text: str
    why: str
    facts: tuple[int, ...] = ()


class Ops(NamedTuple):
    """The ops of a model's answer.

    Attributes:
        ops: the valid ones.
        rejected: why each of the others was left out, in the answer's order.
    """

    ops: tuple[ModelOp, ...]
    rejected: tuple[str, ...]


class Dialogue(NamedTuple, Generic[T]):
    """A prompt for a model, and the reader of its answer.

    Attributes:
        prompt: to send.
        read: parses an answer; raises :class:`ReplyError` if it is unusable.
        code: identifies the lists that the prompt shows: the same lists have the same code; empty without lists.
    """

    prompt: Prompt
    read: Callable[[str], T]
    code: str = ""

    def ask(self, model: LanguageModel) -> T:
        """Ask a model, and return what its answer says.

        If the answer is unusable or cut off, the model is asked once more and told why. If the second answer is
        unusable too, what could be read of a first one that was cut off counts.

        Raises:
            ModelUnavailableError: the model gives no answer, or two unusable ones.
        """
        first = model.complete(self.prompt)
        partial_answer: list[T] = []
        try:
            partial_answer.append(self.read(first.text))
            if not first.cut:
                return partial_answer[0]
            why = "it was cut off because it was too long; be briefer"
            if isinstance(model, Reply):
                raise unusable(model.name, ReplyError("it is cut off"))
        except ReplyError as error:
            if isinstance(model, Reply):
                raise unusable(model.name, error) from error
            why = str(error)
        complaint = f"Your previous answer could not be used: {why}. Answer with the JSON only."
        again = f"{self.prompt.user.rstrip()}\n\n{complaint}\n"
        try:
            return self.read(model.complete(self.prompt._replace(user=again)).text)
        except ReplyError as error:
            if partial_answer:
                return partial_answer[0]
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
) -> Dialogue[tuple[DrawnFact, ...]]:
    """Return the question for the facts of one window of a conversation.

    Args:
        turns: of the window, in order; those of tools and programs are left out.
        day: of the conversation; a turn's own time is shown with the turn.
        examine: numbers of the turns to take facts from; None for all.
        title: of the conversation; empty for none.
        facts: known facts, one line each.
        predicates: known predicates.
        draw: returns random bytes for the mark.
    """
    spoken = [turn for turn in turns if turn.role in ("user", "assistant")]
    numbers = [turn.number for turn in spoken if examine is None or turn.number in examine]
    named = [f"title| {_line(title)[:200]}"] if title.strip() else []
    shown = "\n".join((*named, *map(_turn, spoken)))
    words = {
        "turns": shown,
        "day": f"{day:%Y-%m-%d}, a {_WEEKDAYS[day.weekday()]}",
        "examine": _ranges(numbers) or "none",
        "facts": "\n".join(f"| {_line(fact)}" for fact in facts) or "(none)",
        "predicates": ", ".join(map(_line, predicates)) or "(none)",
        "mark": packing.mark((shown, *facts), draw),
    }
    shown_numbers = {turn.number for turn in turns}
    return Dialogue(_prompt("extract", words, _EXTRACTION, EXTRACT_TOKENS), partial(extraction, turns=shown_numbers))


def kinds_question(quotes: Sequence[dict[str, Any]]) -> Dialogue[tuple[Verdict | None, ...]]:
    """Return the question what kind of sentences some quotes are.

    Args:
        quotes: objects with ``said``, ``around`` and ``fact``; numbered from 1.
    """
    shown = [json.dumps({name: _plain(value) for name, value in quote.items()}, ensure_ascii=False) for quote in quotes]
    words = {
        "quotes": "\n".join(f"{number} {quote}" for number, quote in enumerate(shown, 1)),
        "mark": packing.mark(shown),
    }
    return Dialogue(_prompt("look", words, _LOOK, LOOK_TOKENS), partial(verdicts, count=len(quotes)))


def ops_question(job: str, lists: Mapping[str, Sequence[str]], *, day: date) -> Dialogue[Ops]:
    """Return the question for ops on numbered lists.

    That is: what to do with candidates, which lines contradict or repeat each other, or what the last days change in a
    memory.

    Args:
        job: a key of :data:`OPS`.
        lists: by name, the words of each item as the person sees them, with dates; numbered from 1.
        day: today.
    """
    made_for, counts = code(*lists.values()), {name: len(items) for name, items in lists.items()}
    words = {name: _numbered(LETTERS[name], items) for name, items in lists.items()}
    words |= {"code": made_for, "day": f"{day:%Y-%m-%d}", "mark": packing.mark(words.values())}
    prompt = _prompt(job, words, _ops_schema(job, counts, made_for), OPS_TOKENS)
    return Dialogue(prompt, partial(ops, job=job, counts=counts, code=made_for), made_for)


def code(*lists: Sequence[str]) -> str:
    """Return six characters of a hash of numbered lists; an answer with another code is about other lists."""
    return disk.sha256(repr([[*items] for items in lists]).encode()).hexdigest()[:6]


def _prompt(job: str, words: dict[str, str], schema: dict[str, Any], max_tokens: int) -> Prompt:
    """Return the prompt, with credentials masked: it may also be printed for another program."""
    system, user = _wording(job)
    masked = {name: mask(value) for name, value in words.items()}
    return Prompt(job, Template(system).substitute(masked), Template(user).substitute(masked), schema, max_tokens)


@cache
def _wording(job: str) -> tuple[str, str]:
    """Return the two halves of a job's wording: the system prompt, and the user prompt around the material."""
    text = files(__package__).joinpath("wording", f"{job}.md").read_text("utf-8")
    system, _, user = text.replace("\r\n", "\n").partition("<!-- user -->\n")
    return system.rstrip(), user.rstrip()


def _turn(turn: Turn) -> str:
    """Return a turn as the prompt shows it; only our own lines begin without the sign."""
    time = f", {turn.time:%Y-%m-%d %H:%M}" if turn.time else ""
    name = "" if turn.speaker.lower() == turn.role else f" ({_line(turn.speaker)[:60]})"
    words = "\n".join(f"| {_harmless(line)}" for line in re.split(r"\r\n|\r|\n", turn.text))
    return f"[{turn.number}] {turn.role}{name}{time}\n{words}"


def _numbered(letter: str, items: Sequence[str]) -> str:
    """Return a numbered list, one line per item."""
    return "\n".join(f"{letter}{number}| {_line(item)}" for number, item in enumerate(items, 1)) or "(none)"


def _line(text: str) -> str:
    """Return a text as one harmless line."""
    return " ".join(_harmless(text).split())


def _plain(value: Any) -> Any:
    """Return a text, or each text of a list, as one line; any other value as it is."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _line(value) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    """Return a line without invisible characters, and with the control tokens of chat formats broken."""
    return _CONTROL.sub(r"<\\", packing.visible(text))


_CONTROL = re.compile(r"<(?=/?(?:[|｜]|(?:s|bos|eos|think|start_of_turn|end_of_turn)>))")
"""The beginning of a control token of today's chat formats (``<|im_end|>``); local servers obey them in plain text."""


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in short: ``1-4, 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON schema that every provider's strict mode accepts: each field required, no others allowed."""
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
    """Return the schema of an answer with the ops of a job, for lists with a code."""
    numbers = dict.fromkeys((name for name in lists if name != "sections"), _NUMBERS)
    kind = {"type": "string", "enum": list(OPS[job])}
    op = _object(op=kind, **numbers, section=_NUMBER, text=_TEXT, why=_TEXT)
    fields: dict[str, dict[str, Any]] = {"for": {"type": "string", "enum": [made_for]}}
    return _object(**fields, ops={"type": "array", "items": op})


def extraction(text: str, turns: Collection[int]) -> tuple[DrawnFact, ...]:
    """Read an answer to :func:`extract`; the facts are not grounded yet.

    Args:
        text: the answer.
        turns: numbers of the turns that may be quoted. A fact from any other turn, or without a quote, is returned with
            turn 0, so that the check of the quotes counts it as dropped.

    Raises:
        ReplyError: the text contains no answer.
    """
    items = _answer(text, "facts")["facts"]
    items = list(items.values()) if isinstance(items, dict) and "quote" not in items else items
    if (
        items
        and not isinstance(items, dict)
        and not (isinstance(items, list) and any(isinstance(item, dict | str) for item in items))
    ):
        raise ReplyError("the field 'facts' is not a list of objects")
    return tuple(fact for item in _items(items)[:MAX_FACTS] if (fact := _fact(item, turns)))


def _answer(text: str, field: str) -> dict[str, Any]:
    """Return the JSON object in an answer, which has a field."""
    found = _json_object(text)
    if found is None:
        raise ReplyError(_why_none(text))
    if field not in found:
        raise ReplyError(f"the object has no field {field!r}")
    return found


def verdicts(text: str, count: int) -> tuple[Verdict | None, ...]:
    """Read an answer to :func:`kinds_question`: one verdict for each quote that was shown, None for an unknown kind.

    Args:
        text: the answer.
        count: number of quotes shown, numbered from 1.

    Raises:
        ReplyError: the text contains no answer, or its numbers are not 1 to ``count``, each once.
    """
    found = _json_object(text)
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
    """Read an answer to :func:`ops_question`.

    Args:
        text: the answer.
        job: as for :func:`ops_question`.
        counts: length of each list that was shown.
        code: of the prompt; an answer to another prompt is refused. Empty to accept any.

    Raises:
        ReplyError: the text contains no answer, or answers another prompt.
    """
    found = _answer(text, "ops")
    if code and str(found.get("for")).strip() != code:
        raise ReplyError(f"the field 'for' must be {code!r}: this answers another prompt")
    items = _items(found["ops"])
    read = [_op(item, job, counts) for item in items[:MAX_OPS]]
    rejected = [op for op in read if isinstance(op, str)]
    rejected += ["more ops than an answer may have"] * (len(items) - MAX_OPS)
    return Ops(tuple(op for op in read if isinstance(op, ModelOp)), tuple(rejected))


def _op(item: object, job: str, counts: Mapping[str, int]) -> ModelOp | str:
    """Return an op, or why it is invalid."""
    if not isinstance(item, dict):
        return "an op is an object"
    kind = item.get("op")
    if not isinstance(kind, str) or kind not in OPS[job]:
        return "an unknown op"
    numbers: dict[str, tuple[int, ...]] = {}
    for name in LETTERS:
        single = item.get(name[:-1], []) if name in counts else []  # models write "line" for "lines", too
        given = _numbers(single or [] if name == "sections" else item.get(name, single))
        if given is None or any(not 1 <= number <= counts.get(name, 0) for number in given):
            return f"{kind}: {name} that were not shown"
        least, most = (0, 1) if name == "sections" else OPS[job][kind].get(name, NONE)
        if not least <= len(given) <= most:
            return f"{kind}: {_wrong_count(name, least, most)}"
        numbers[name] = given
    text, why = item.get("text") or "", item.get("why") or ""
    if not isinstance(text, str) or not isinstance(why, str) or len(text) > MAX_TEXT:
        return f"{kind}: its words are not text, or too long"
    if kind == "rule" and not text.strip():
        return f"{kind}: no text"
    words, reason = (" ".join(_printable(value).split()) for value in (text, why))
    given, section = numbers["candidates"] or numbers["notes"], sum(numbers["sections"])
    return ModelOp(kind, given, numbers["lines"], section, words, reason[:300], numbers["facts"])


def _wrong_count(name: str, least: int, most: int) -> str:
    """Return what is wrong with how many numbers of a list an op names."""
    if most == 0:
        return f"{name} do not belong to it"
    return f"not exactly one {name[:-1]}" if most == 1 else f"fewer than {errors.counted(least, name[:-1])}"


def _numbers(value: object) -> tuple[int, ...] | None:
    """Return the whole numbers in a value, each once, in order; None if it has anything else, or too many."""
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_OPS or any(type(number) is not int for number in values):
        return None
    return tuple(dict.fromkeys(values))


def _fact(item: object, turns: Collection[int]) -> DrawnFact | None:
    """Return a fact with its quote, not grounded yet; None if the item is not an object."""
    if not isinstance(item, dict):
        return None
    quote = item.get("quote")
    quote = quote.strip() if isinstance(quote, str) and len(quote) <= MAX_QUOTE else ""
    kind = item.get("kind")
    refers = tuple(refer for given in _items(item.get("refers"))[:MAX_REFERS] if (refer := _refer(given)))
    claim = _claim(item.get("fact"))
    number = _turn_number(item.get("turn"))
    number = number if number in turns else 0
    return DrawnFact("", quote, number, kind if kind in KINDS else "fact", claim, refers)


def _refer(item: object) -> Refer | None:
    """Return what words of a quote refer to; None if the item is invalid or too long."""
    if not isinstance(item, dict):
        return None
    span, to = item.get("span"), item.get("to")
    if not (isinstance(span, str) and isinstance(to, str) and span.strip() and to.strip()):
        return None
    return Refer(span, to, _turn_number(item.get("turn"))) if max(len(span), len(to)) <= MAX_TEXT else None


def _turn_number(value: object) -> int:
    """Return the number of a turn, given as a number or as text; 0 for anything else."""
    if isinstance(value, str):
        digits = value.strip("[] ")
        return int(digits) if re.fullmatch(r"[0-9]{1,9}", digits) else 0
    return value if isinstance(value, int) and type(value) is int else 0


def _claim(item: object) -> Claim | None:
    """Return the claim in a fact's ``fact`` member; None if it is empty or invalid."""
    if not isinstance(item, dict):
        return None
    fields = {name: item.get(name) or "" for name in ("subject", "predicate", "object", "since")}
    if not all(isinstance(value, str) and len(value) <= MAX_TEXT for value in fields.values()):
        return None
    subject, predicate, value, since = (" ".join(_printable(str(text)).split()) for text in fields.values())
    if not (predicate and value):
        return None
    try:
        day = date.fromisoformat(since) if since else None
    except ValueError:
        return None
    return claim_of(subject or "me", predicate.removesuffix("::").strip(), value, day)


def _items(value: object) -> list[Any]:
    """Return the items of a list; a single value counts as a list of one."""
    if isinstance(value, list):
        return value
    return [] if value in (None, "") else [value]


def _printable(text: str) -> str:
    """Replace lone surrogates, which no note can contain, by U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


_LISTS = {"quote": "facts", "n": "verdicts"}
"""The name of a bare list whose objects have such a member."""


def _json_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object in an answer, repaired if necessary; None if there is none.

    Raises:
        ReplyError: it needs repair and is nested too deeply for an honest answer.
    """
    text = text[:MAX_REPLY].lstrip("\ufeff").strip()
    decoder = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < 19 else -1)  # -1 is no item's
    for start in _starts(text):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value:
            return value
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return {_LISTS.get(next((key for key in _LISTS if key in value[0]), ""), "ops"): value}
    return _repaired(text)


def _starts(text: str) -> Iterable[int]:
    """Return where an object may begin.

    After a fence, at the first brace and bracket, and at lines that begin with a brace: the first three and the last.
    """
    fenced = [found.end() for found in re.finditer(r"(?:```|~~~)[A-Za-z0-9]*[ \t\r\n]*+(?=[{\[])", text)]
    first = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    lines = [found.start() for found in re.finditer(r"^\{", text, re.MULTILINE)]
    return dict.fromkeys((*fenced[:3], *sorted(first), *lines[:3], *lines[-1:]))


def _repaired(text: str) -> dict[str, Any] | None:
    """Return the object in an answer that is almost JSON; None if there is none.

    Raises:
        ReplyError: it is nested too deeply.
    """
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
        value = next((item for item in value if isinstance(item, dict)), None)
    return value if isinstance(value, dict) and value else None


def _check_depth(text: str) -> None:
    """Check that a text is not nested too deeply to repair: the time that takes grows with the nesting.

    Brackets within strings count too, because in broken JSON nobody knows what is a string.

    Raises:
        ReplyError: it is nested deeper than any honest answer.
    """
    depth = 0
    for found in re.finditer(r"[{}\[\]]", text):
        depth = depth + 1 if found[0] in "{[" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            raise ReplyError("it is nested too deeply")


def _why_none(text: str) -> str:
    """Return why an answer has no object, to be told to the model."""
    if not text.strip("\ufeff \t\r\n"):
        return "it is empty"
    if re.match(r"\s*<(?:!doctype|html)", text, re.IGNORECASE):
        return "it is a web page"
    return "there is no JSON object in it" + (" but an empty one" if re.search(r"\{\s*\}", text) else "")
