"""What ``tidy --compress`` shows: which old sessions would move, and every word that would stand in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.cli.answers import answer_in
from tars_memory.cli.output import clean, counted, line
from tars_memory.cli.receipts import show_plan
from tars_memory.errors import UsageError

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.cli.call import Call
    from tars_memory.curation.models.llm import LanguageModel, Prompt
    from tars_memory.curation.tidying.compression import Compressed

LEFT = 1
BETWEEN = "\f"
"""A line with a form feed stands between two prompts, and between two answers, as for ``extract``."""

REPLY = "another program"
"""Who sums up where the answer comes by ``--reply``."""


class Asked(NamedTuple):
    """What was typed.

    Attributes:
        by: ``month`` or ``year``; None for what is set.
        before: a date; None for those that are old as it is set.
        model: the name of a model; None for none.
        reply: the file with the answers of another program.
        print_prompt: print what a model would be asked, and nothing else.
    """

    by: str | None = None
    before: str | None = None
    model: str | None = None
    reply: str | None = None
    print_prompt: bool = False


def compress(call: Call, asked: Asked, *, apply: bool) -> int:
    """Carry out the command; see :meth:`tars_memory.memory.Memory.compress`.

    Args:
        call: the call.
        asked: what was typed.
        apply: do it, instead of showing what would be done.

    Returns:
        The exit code: 1 if something is to be done and was not.
    """
    memory = call.memory()
    day = _day(call, asked.before)
    if asked.print_prompt or (asked.model is not None and call.dry_run and asked.reply is None):
        from tars_memory.curation.tidying.compression import Terms, prompts

        found = prompts(memory.capture(writes=False), Terms.of(memory.settings, asked.by, day))
        return _ask(call, found, None if asked.print_prompt else asked.model)
    named = _model(call, asked.model, asked.reply)
    return _show(call, memory.compress(by=asked.by, before=day, model=named, apply=apply), apply)


def _model(call: Call, model: str | None, reply: str | None) -> LanguageModel | None:
    """Who is asked: the file of ``--reply``, else the model that is named; None for the rules."""
    if model is None and reply is None:
        return None
    from tars_memory.curation.models import llm

    if reply is not None:
        return llm.Reply(answer_in(reply).split(BETWEEN), REPLY)
    return llm.required(call.memory().settings, "tidy", model or "")


def _ask(call: Call, asked: list[Prompt], model: str | None) -> int:
    """Print the prompts; with a model's name also what they would cost there."""
    if not asked:
        call.out.say("no session is old enough")
        return 0
    call.out.data(f"{BETWEEN}\n".join(clean(str(prompt)).replace(BETWEEN, "") for prompt in asked).rstrip("\n"))
    if model is None:
        if len(asked) > 1:
            call.out.say(f"{counted(len(asked), 'prompt')}, a line with a form feed between two: answer each, likewise")
        return 0
    from tars_memory.curation.models import llm

    named = llm.required(call.memory().settings, "tidy", model)
    tokens, costs = zip(*(llm.estimate(prompt, named) for prompt in asked), strict=True)
    priced = "of unknown price" if None in costs else f"at most {sum(filter(None, costs)):.4f} US dollars"
    where = named.endpoint or "the provider's own address"
    say = f"{counted(len(asked), 'prompt')}, about {counted(sum(tokens), 'token')}, {priced}"
    call.out.say(f"dry run: {named.name} at {where} would be asked this: {say}")
    return 0


def _show(call: Call, told: Compressed, apply: bool) -> int:
    dry = ["dry run: nothing was written"] if call.dry_run and apply and told.summaries else []
    notices = call.notices(told.notices, dry)
    if call.out.json:
        call.out.record({**told.as_dict(), "notices": notices})
    else:
        show_plan(call, told.plan)
        for each in told.summaries:
            verb = "add to" if each.base else "make"
            more = f", {each.left_out} more in the originals" if each.left_out else ""
            more += f", {counted(len(each.dropped), 'sentence')} of {each.by} dropped" if each.dropped else ""
            counts = f"{counted(each.sessions, 'session')}, {counted(each.statements, 'statement')}{more}"
            call.out.data(f"{verb}  {call.out.path(each.path)}  ({line(counts)})")
            if not apply:
                call.out.data("\n".join(f"  | {row}".rstrip() for row in clean(each.text).strip("\n").split("\n")))
        _say(call, told, apply)
    return LEFT if told.summaries and not apply else 0


def _say(call: Call, told: Compressed, apply: bool) -> None:
    moves = sum(step.action == "move" for step in told.plan)
    if not told.summaries:
        call.out.say("no session is to be summed up")
    elif not apply:
        what = f"{counted(moves, 'session')} would move, {counted(len(told.summaries), 'summary note')} written"
        call.out.say(f"{what}; tars-memory tidy --compress --apply does it, with the same options")


def _day(call: Call, text: str | None) -> date | None:
    """The first day that is no longer taken.

    Raises:
        UsageError: it is no date.
    """
    if text is None:
        return None
    from tars_memory.recall.ranking.dates import ACCEPTED, parse_day

    found = parse_day(text, call.memory().now().date())
    if found is None:
        raise UsageError(f"--before: {text!r} is no date", f"it takes {ACCEPTED}")
    return found.start
