"""``hook``: answers the hooks of coding agents, without ever blocking them; and installs itself in their settings."""

import os
import signal
import sys
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

import tars_memory
from tars_memory import disk, jobs, vault
from tars_memory.doors.cli.app import program
from tars_memory.doors.cli.call import Call, Command, call_of, command, flag, option, word
from tars_memory.doors.cli.output import clean, counted, discard, line, masked, show_rows
from tars_memory.errors import ModelUnavailableError, SettingsError, StateError, UnwritableError, UsageError, reason
from tars_memory.jobs import hooks
from tars_memory.settings import ACTOR, AUTHOR, AUTO, PROJECT, HookOptions, Settings, allows, find_vault, here

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from tars_memory.jobs.hosts import Edit, Hosts

OK = 0
STOPPED = 1

KNOWN = ", ".join(hooks.AGENTS)
"""The agents that can be named, for messages."""

ACTIONS = ("install", "uninstall", "status")

LOCK_WAIT = "1"
"""Seconds that a daily line waits for another writer; then it goes to the spool."""

PATIENCE = 1.0
"""Seconds that an agent waits for the first reading of a vault."""


class Late(BaseException):
    """The agent has waited long enough. Not an Exception, so that no handler on the way catches it."""


class HookCommand(Command):
    """A command that exits with 0 whatever happens when an agent calls it: to some agents another code means that a
    prompt is refused. With an action it is a command like all others.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual; if an agent passes a wrong option, only print that on stderr."""
        words = [*args]  # parsing consumes them
        try:
            return super().parse_args(ctx, args)
        except typer.Exit:
            raise
        except Exception as error:
            if ctx.resilient_parsing or set(words) & set(ACTIONS):
                raise
            call_of(ctx).out.say_always(f"tars-memory: {error}\n  tars-memory hook --help shows how")
            raise typer.Exit(OK) from None

    def invoke(self, ctx: Any) -> Any:
        """Answer; a failure only goes into the log."""
        if ctx.params.get("action") is not None:
            return super().invoke(ctx)
        call = call_of(ctx)
        try:
            desks = [hooks.HookFolder(disk.Places.of(call.env).state)]  # for failures before the vault is known
        except StateError as error:  # no log can be written either
            call.out.say_always(f"tars-memory: {reason(error)}")
            return OK
        ctx.meta["desks"] = desks
        before = _set_timer(HookOptions.timeout)
        try:
            super().invoke(ctx)
        except Late:
            desks[-1].log("given up: the agent has waited long enough ([hook] timeout)")
        except Exception as error:
            discard(call.out.stdout)
            desks[-1].log(f"failed: {masked(clean(reason(error)))}")
        finally:
            _set_timer(0)
            if before is not None:
                signal.signal(signal.SIGALRM, before)
        return OK


@command(
    writes=True,
    kind=HookCommand,
    examples="""
tm hook install claude           # shows the change, asks, writes
tm hook status
tm hook uninstall                # from all agents here
echo '{"hook_event_name": "UserPromptSubmit", "prompt": "tea?"}' | tm hook
""",
    exits="""1 you said no, 6 the agent's settings changed in the meantime; 0 whatever happens when an agent calls""",
    answers="""
hookSpecificOutput.hookEventName additionalContext: nothing at all if there is nothing to say
[install]
changes[].agent path changed: each file
[uninstall]
changes[].agent path changed: each file
[status]
agents[].agent there files events servers problem: each agent
""",
)
def hook(
    ctx: typer.Context,
    action: str | None = word("[install|uninstall|status]", "Connect agents, disconnect them, or list them."),
    hosts: list[str] | None = word("[AGENT…]", f"{KNOWN}; default: those found here."),
    yes: bool = flag("--yes", "Change the agent's settings without asking."),
    agent: str = option("--agent", "AGENT", "The calling agent; sets the form of the answer.", default=""),
) -> int:
    """Answer a coding agent's hook: its event comes as JSON on stdin, context goes to stdout.

    At the start of a session it prints what context prints; for each prompt, what a search finds. Now and then, before
    compaction and at the end, it examines the conversation in the background. Always exit 0; errors go to a log.

    install shows the change to the agent's own settings, asks, and writes it; uninstall restores the settings byte for
    byte.
    """
    call = call_of(ctx)
    if action is not None:
        return _act(call, action, list(hosts or ()), yes=yes)
    if agent and agent not in hooks.AGENTS:
        raise UsageError(f"unknown agent: {agent!r}", f"it is one of {KNOWN}")
    if sys.stdin.isatty():
        call.out.say("hook is for coding agents, which send it their events on stdin")
        call.out.say("tars-memory hook install connects them")
        return OK
    data = sys.stdin.buffer.read(hooks.LONGEST_EVENT + 1)
    if len(data) > hooks.LONGEST_EVENT:
        raise UsageError("the event is too long", f"at most {hooks.LONGEST_EVENT} bytes are read")
    event = hooks.event_of(data)
    if not event.kind or (event.cursor and agent not in ("", "cursor")):
        return OK  # Cursor runs Claude Code's hooks too: its own hook answers
    if event.folder:
        named = call.env.get("TARS_MEMORY_DIR") if call.vault is None else call.vault
        call.vault = os.path.abspath(os.path.expanduser(named)) if named else call.vault
        os.chdir(event.folder)
    settings = Settings(call.env)
    root = find_vault(call.vault, settings, here())
    desk = hooks.HookFolder(settings.places.vault_state(root, disk.read_id(root), create=True) / "hooks")
    ctx.meta["desks"].append(desk)
    options = settings.hook
    _set_timer(options.timeout)
    if agent in hooks.UNREAD or event.cursor:
        event = event._replace(transcript="")
    done = _background(call, event, desk, root, options)
    text = ""
    if event.kind == hooks.START:
        text = _context(call, "", agent, budget=options.budget, days=options.days, session=event.transcript)
    elif event.kind == hooks.PROMPT and event.prompt.strip():
        for question in hooks.questions(event.prompt):
            text = text or _context(
                call, question, agent, budget=options.found_budget, loaded=False, session=event.transcript
            )
    _set_timer(0)  # from here on the answer is complete
    if event.kind != hooks.TOOL:
        desk.log(f"{event.name}: {done or 'nothing begun'}, {counted(len(text), 'character')} returned")
    _print(call, event, text, agent)
    _set_timer(options.timeout)  # the note must not cost the answer
    _note(call, event, agent, hooks.lines_of(options.lines).values())
    return OK


def _note(call: Call, event: hooks.Event, agent: str, wanted: "Collection[str]") -> None:
    """Write a line about an event into today's note, as the agent, in the project of the agent's folder."""
    text = hooks.daily_line(agent, event, wanted, vault.secrets.mask) if wanted else ""
    if text:
        env = {"TARS_MEMORY_STORE_LOCK_TIMEOUT": LOCK_WAIT, AUTHOR: agent or "agent", **call.env, ACTOR: "agent"}
        opening: dict[str, Any] = {"now": call.now, "dry_run": call.dry_run, "project": call.project}
        with tars_memory.Memory(call.vault, actor="agent", env=env, **opening) as memory:
            memory.log(text)


def _background(call: Call, event: hooks.Event, desk: hooks.HookFolder, root: "Path", options: HookOptions) -> str:
    """Start the background work that the event asks for; return what was done, for the log.

    A failure must not cost the answer, so it is returned too.
    """
    if event.kind in (hooks.TOOL, hooks.CORRECTION):
        return ""
    if not allows(call.env, AUTO):
        return f"{AUTO} is set to {call.env[AUTO]}"
    env = {**call.env, PROJECT: call.project} if call.project else call.env
    try:
        if event.kind == hooks.START:
            return _flush(desk, root, event, env)
        if not event.transcript:
            return "no transcript"
        if event.kind == hooks.PROMPT:
            if not event.prompt.strip():
                return ""
            number = desk.count(event.transcript)
            desk.watch(event.transcript)
            flushed = _flush(desk, root, event, env) if number == 1 else ""
            if not options.review_every or number % options.review_every:
                return f"message {number}" + (f", {flushed}" if flushed else "")
        if event.kind in (hooks.COMPACT, hooks.END):
            desk.keep(event.transcript)
        hooks.start_background(desk, root, event.transcript, env, goes_on=event.kind == hooks.PROMPT)
    except OSError as error:
        return f"failed: {error}"
    return f"begun: {event.transcript}"


def _flush(desk: hooks.HookFolder, root: "Path", event: hooks.Event, env: "Mapping[str, str]") -> str:
    """Examine the conversations that other sessions left behind, even those that sent no event of their end."""
    left = desk.left(but="" if event.transcript and desk.kept(event.transcript) else event.transcript)
    for transcript in left:
        hooks.start_background(desk, root, transcript, env)
    return f"begun again: {len(left)}" if left else ""


def _context(call: Call, question: str, agent: str, **options: Any) -> str:
    """Return the context of a prompt; with ``agent`` also from the agent's own notes, as ``context --agent`` does."""
    memory = call.memory()
    memory.workspace.patience = PATIENCE
    return clean(memory.context(question, agent=agent or None, **options).text)


def _print(call: Call, event: hooks.Event, text: str, agent: str) -> None:
    """Print the context in the form that the calling agent reads; nothing if it is empty."""
    if not text.strip():
        return
    if call.out.json or agent or event.cursor:
        answer = hooks.context_reply(agent, event, text)
        if answer is not None:
            call.out.json = True
            call.out.record(answer, lines=True)
    else:
        call.out.data(text)
    call.out.flush()


def _set_timer(seconds: float) -> Any:
    """Raise :class:`Late` after so many seconds (0: never); return the previous handler, None without such timers."""
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


# --- installing the hook


def _act(call: Call, action: str, names: list[str], *, yes: bool) -> int:
    """Install, uninstall, or print the status.

    Raises:
        UsageError: the action or an agent is unknown, or nobody can confirm the change.
    """
    if action not in ACTIONS:
        instead = "without an action, hook answers an event from stdin, and --agent names the caller"
        raise UsageError(f"unknown action: {action!r}", f"it is {', '.join(ACTIONS)}; {instead}")
    if unknown := [name for name in names if name not in hooks.AGENTS]:
        raise UsageError(f"unknown agent: {unknown[0]!r}", f"tars-memory hook {action} takes {KNOWN}")
    settings = Settings(call.env)
    hosts = jobs.hosts.Hosts(call.env, settings.places.state, hooks.lines_of(settings.hook.lines))
    if action == "status":
        return _show_status(call, hosts, names or list(hooks.AGENTS))
    names = list(dict.fromkeys(names)) or hosts.installed()
    if not names and action == "install":
        titles = ", ".join(f"{name} ({host.title})" for name, host in jobs.hosts.HOSTS.items())
        raise UsageError("no agent's settings were found", f"name the agent: {titles}")
    edits = _planned(call, hosts, action, names)
    changes = [edit for edit in edits if edit.changes]
    for edit in changes:
        if not call.out.json:
            call.out.data(_difference(edit))  # settings hold credentials: a pipe gets them masked
    if changes and not call.dry_run and not yes and not _agreed(call, changes):
        return STOPPED
    files = []
    for edit in edits:
        changed = edit.changes if call.dry_run else hosts.carry_out(edit)
        files.append({"agent": edit.host, "path": str(edit.path), "changed": changed})
        if changed and not call.dry_run:
            call.out.say(f"{'removed' if edit.after is None else 'changed'}: {clean(str(edit.path))}")
    notices = [note for edit in edits for note in edit.notes]
    if action == "install":
        _prepare(call)
        notices += [note for name in names for note in jobs.hosts.HOSTS[name].notes]
    if not call.answered({"changes": files}, notices) and not changes:
        call.out.say(f"nothing to do: {'installed already' if action == 'install' else 'not installed'}")
    return OK


def _prepare(call: Call) -> None:
    """Prepare the embedding model: no prompt waits for that, so the first ones would be answered by words alone."""
    workspace = call.memory().workspace
    if call.dry_run or workspace.settings.recall.mode == "lexical" or workspace.is_prepared():
        return
    with suppress(ModelUnavailableError, UnwritableError):
        workspace.open_embedder()


def _planned(call: Call, hosts: "Hosts", action: str, names: list[str]) -> "list[Edit]":
    """Plan the changes of all files, so that a failure with one comes before anything is written.

    Raises:
        SettingsError: a file can't be changed; the hint has the command for the other agents.
    """
    plan: Callable[[str], list[Edit]] = hosts.uninstall
    if action == "install":
        settings = Settings(call.env)
        root = find_vault(call.vault, settings, here())
        vault = str(root) if call.vault or not settings.vault_path() else ""
        server = find_spec("mcp") is not None
        plan = partial(hosts.install, program=program(), vault=vault, server=server)
    edits: list[Edit] = []
    for name in names:
        try:
            edits += plan(name)
        except SettingsError as error:
            if others := " ".join(other for other in names if other != name):
                error.hint = f"{error.hint}; for the others: tars-memory hook {action} {others}"
            raise
    return edits


def _difference(edit: "Edit") -> str:
    """Return a change as a unified diff."""
    (before, old), (after, new) = (
        ("/dev/null", []) if data is None else (str(edit.path), data.decode("utf-8", "replace").split("\n"))
        for data in (edit.before, edit.after)
    )
    return "\n".join(unified_diff(old, new, before, after, lineterm=""))


def _agreed(call: Call, changes: "list[Edit]") -> bool:
    """Ask the person to confirm the changes.

    Raises:
        UsageError: no person is at a terminal.
    """
    files = ", ".join(dict.fromkeys(clean(str(edit.path)) for edit in changes))
    if not call.interactive:
        raise UsageError(
            f"nobody is at a terminal to confirm the change of {files}", "nothing was written; --yes agrees to it"
        )
    if call.confirmed(f"change {files}?"):
        return True
    call.out.say_always("nothing was written")
    return False


def _show_status(call: Call, hosts: "Hosts", names: list[str]) -> int:
    """Print for each agent whether the hook is installed, with its events and files."""
    found = [hosts.status(name) for name in names]
    if call.answered({"agents": found}, [f"{host.agent}: {host.problem}" for host in found if host.problem]):
        return OK
    rows = []
    for host in found:
        state = "installed" if host.events or host.servers else "not installed" if host.there else "not here"
        events = ", ".join([*host.events, *(["MCP"] if host.servers else [])])
        rows.append((host.agent, jobs.hosts.HOSTS[host.agent].title, state, events, line(", ".join(host.files))))
    show_rows(call.out, rows, ("", "agent", "hook", "events", "file"), of_notes=False)
    return OK
