"""``hook``: what coding agents call; it never gets into their way."""

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import typer

from tars_memory.disk import Places, read_id
from tars_memory.doors.cli.call import Call
from tars_memory.doors.cli.output import clean, counted, discard, masked
from tars_memory.doors.cli.parsing import Command, call_of, command
from tars_memory.errors import TarsError, UsageError
from tars_memory.jobs.hooks import COMPACT, END, LONGEST_EVENT, PROMPT, START, Desk, Event, begin, event_of
from tars_memory.settings import AUTO, PROJECT, HookOptions, Settings, find_vault, here, may_run_by_itself

if TYPE_CHECKING:
    from pathlib import Path

OK = 0

PATIENCE = 1.0
"""Seconds of the first reading of a vault for which an agent waits."""


class Late(BaseException):
    """The agent has waited long enough; derived so that nothing on the way takes it for a failure of its own."""


class HookCommand(Command):
    """A command that ends with exit 0 whatever happens: to some agents another code means that a prompt is refused."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As usual; a wrong option is said on stderr, and nothing is done."""
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:
            if ctx.resilient_parsing:
                raise
            call_of(ctx).out.complain(f"tars-memory: {error}\n  tars-memory hook --help shows how")
            raise typer.Exit(OK) from None

    def invoke(self, ctx: Any) -> Any:
        """Answer; a failure is told in the log alone."""
        call = call_of(ctx)
        desks = [_general(call)]
        ctx.meta["desks"] = desks
        before = _set_timer(HookOptions.timeout)
        try:
            super().invoke(ctx)
        except Late:
            desks[-1].log("given up: the agent has waited long enough ([hook] timeout)")
        except Exception as error:
            discard(call.out.stdout)
            _tell(desks[-1], error)
        finally:
            _set_timer(0)
            if before is not None:
                signal.signal(signal.SIGALRM, before)
        return OK


def hook(ctx: typer.Context) -> int:
    """Answer a coding agent's hook: its event comes as JSON on stdin, context goes to stdout.

    At the start of a session it prints what context prints, for each prompt what it finds. Now and then, before
    compaction and at the end it examines the conversation in the background. Always exit 0; errors go to a log.
    """
    call = call_of(ctx)
    if sys.stdin is None or sys.stdin.isatty():
        call.out.say("hook is for coding agents, which give it their events on stdin: docs/agents.md")
        return OK
    data = sys.stdin.buffer.read(LONGEST_EVENT + 1)
    if len(data) > LONGEST_EVENT:
        raise UsageError("the event is too long", f"at most {LONGEST_EVENT} bytes are read")
    event = event_of(data)
    if not event.kind:
        return OK
    if event.folder:
        os.chdir(event.folder)
    settings = Settings(call.env, Places.of(call.env))
    root = find_vault(call.vault, settings, here())
    desk = Desk(settings.places.vault_state(root, read_id(root), create=True) / "hooks")
    ctx.meta["desks"].append(desk)
    options = settings.options("hook", HookOptions)
    _set_timer(options.timeout)
    done = _background(call, event, desk, root, options)
    text = ""
    if event.kind == START:
        text = _context(call, "", budget=options.budget, days=options.days, session=event.transcript)
    elif event.kind == PROMPT and event.prompt.strip():
        text = _context(call, event.prompt, budget=options.found_budget, loaded=False, session=event.transcript)
    _set_timer(0)  # from here on the answer is whole
    desk.log(f"{event.name}: {done or 'nothing begun'}, {counted(len(text), 'character')} told")
    _print(call, event, text)
    return OK


def _background(call: Call, event: Event, desk: Desk, root: "Path", options: HookOptions) -> str:
    """Begin what the event asks for; what was done, for the log. A failure must not cost the answer."""
    if not may_run_by_itself(call.env):
        return f"{AUTO} is set to {call.env[AUTO]}"
    env = {**call.env, PROJECT: call.project} if call.project else call.env
    try:
        if event.kind == START:
            left = desk.left()
            for transcript in left:
                begin(desk, root, transcript, env)
            return f"begun again: {len(left)}" if left else ""
        if not event.transcript:
            return "no transcript"
        if event.kind == PROMPT:
            if not options.review_every or not event.prompt.strip():
                return ""
            number = desk.count(event.transcript)
            if number % options.review_every:
                return f"message {number}"
        if event.kind in (COMPACT, END):
            desk.keep(event.transcript)
        begin(desk, root, event.transcript, env)
    except OSError as error:
        return f"failed: {error}"
    return f"begun: {event.transcript}"


def _context(call: Call, question: str, **options: Any) -> str:
    memory = call.memory()
    memory.workspace.patience = PATIENCE
    return clean(memory.context(question, **options).text)


def _print(call: Call, event: Event, text: str) -> None:
    if not text.strip():
        return
    if call.out.json:
        call.out.record({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}, lines=True)
    else:
        call.out.data(text)
    call.out.flush()


def _general(call: Call) -> Desk:
    """Where a failure is told before the vault is known."""
    return Desk(Places.of(call.env).state)


def _tell(desk: Desk, error: Exception) -> None:
    said = f"{error.message}; {error.hint}" if isinstance(error, TarsError) else f"{type(error).__name__}: {error}"
    desk.log(f"failed: {masked(clean(said))}")


def _set_timer(seconds: float) -> Any:
    """Raise :class:`Late` in so many seconds, 0 for never; the handler before, None where there are no such timers."""
    if not hasattr(signal, "setitimer"):
        return None
    try:
        before = signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    except ValueError:  # not in the main thread
        return None
    return before


def _late(_number: int, _frame: object) -> None:
    raise Late


HOOK = command(
    hook,
    kind=HookCommand,
    examples="""
echo '{"hook_event_name": "UserPromptSubmit", "prompt": "tea for Anna?"}' | tm hook --json
""",
    answers="""
hookSpecificOutput.hookEventName additionalContext: nothing at all if there is nothing to say
""",
)
