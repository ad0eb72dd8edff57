"""Commands for agents: playbooks and topic notes (``learn``, ``playbooks``, ``topic``), the MCP server (``mcp``)."""

from typing import TYPE_CHECKING, Any

from tars_memory import jobs, settings
from tars_memory.doors import cli
from tars_memory.doors.cli.call import PATIENCE, Call, command, flag, one_only, option, text_in, word
from tars_memory.doors.cli.output import clean, fields, line, show_rows
from tars_memory.errors import UsageError, installing
from tars_memory.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tars_memory.vault.playbooks import Playbook

BLANK = "1. "
"""The text that the editor begins with."""


@command(
    writes=True,
    words=True,
    examples="""
tm learn how I release a version        # your editor opens
tm learn how I release --when "a version is ready" --file release.md
git log --oneline | tm learn --stdin how this was done
""",
    exits="2 a playbook with this title says something else, or the steps are missing",
    answers="""
as remember
""",
)
def learn(
    call: Call,
    title: list[str] | None = word("TITLE…", "What it is about: how I …"),
    when: str | None = option("--when", "TEXT", "When to use it."),
    stdin: bool = flag("--stdin", "Take the steps from stdin."),
    file: str | None = option("--file", "FILE", "Take the steps from a file."),
    edit: bool = flag("--edit", "Write the steps in your editor.", "-e"),
) -> int:
    """Write down how something is done, as a playbook: a note in playbooks/. Prints path:line.

    The steps are markdown; several plain lines are numbered. At a terminal without --stdin or --file your editor opens.
    A person at a terminal writes the note directly; a script or an agent makes a proposal that waits for review.
    context shows the playbook that fits a question. An existing playbook is never overwritten.
    """
    call.hold("learn", when="")
    heading = call.ask_about_secrets(call.words(title, "TITLE"))
    assert call.typed is not None
    call.typed.arguments |= {"title": heading, "text": ""}
    steps = call.ask_about_secrets(_steps(call, heading, stdin=stdin, file=file, edit=edit))
    usage = call.ask_about_secrets(when) if when else ""
    call.typed.arguments |= {"title": heading, "text": steps, "when": usage}
    return call.report(call.memory().learn(heading, steps, when=usage))


def _steps(call: Call, title: str, *, stdin: bool, file: str | None, edit: bool) -> str:
    """Return the steps from stdin, the file or the editor.

    Raises:
        UsageError: there is no source of steps, or more than one.
    """
    one_only({"--stdin": stdin, "--file": file is not None, "--edit": edit})
    if stdin:
        return call.words(None, "STEPS", stdin=True)
    if file is not None:
        return text_in(file, "name a text file with the steps").removeprefix("\ufeff")
    if not call.interactive:
        raise UsageError("the steps are missing", "pipe them in with --stdin, or name a file: --file steps.md")
    comments = [title, "the steps, as markdown or one per line"]
    written = cli.approve.in_editor(call, BLANK, comments, instead="give the steps with --stdin or --file")
    steps = "" if written == BLANK.strip() else written
    if call.typed is not None:
        call.typed.arguments["text"], call.typed.source = steps, "from the editor"
    return steps


@command(
    writes=True,
    words=True,
    pages=True,
    examples="""
tm playbooks
tm playbooks how I release            # print it
tm playbooks how I release --pin
""",
    exits="1 no playbooks, or none with that name, 2 several have it (they are listed)",
    answers="""
playbooks[].path title when: its note, its heading, when to use it
playbooks[].created used: days; null if not known
playbooks[].pinned: whether it stays in prompts for good
playbooks[].fades: the day on which it leaves prompts; null if it stays
playbooks[].shown: whether it is in prompts today
playbooks[].approved: whether a person typed or approved every line of it here
[with PLAYBOOK]
path title when created used pinned fades shown approved: the same
text: the note, verbatim
[--pin, --unpin]
as remember
""",
)
def playbooks(
    call: Call,
    name: list[str] | None = word("[PLAYBOOK…]", "Its name, title or path."),
    pin: bool = flag("--pin", "Keep it in prompts, used or not."),
    unpin: bool = flag("--unpin", "Leave it out of prompts when it is not used."),
) -> int:
    """List the playbooks with their last use, or print one, which counts as a use.

    A playbook that is not used for 90 days (playbook_days of [recall]) is left out of prompts, but stays in the vault;
    using or pinning it brings it back. In a pipe, one tab-separated line per playbook: path, last use, state, title.
    Exit 1 if there are none.
    """
    wanted = " ".join(name or ())
    one_only({"--pin": pin, "--unpin": unpin})
    if not wanted:
        if pin or unpin or name:
            raise UsageError("no playbook is named", "tars-memory playbooks lists them")
        return _list(call)
    wanted = call.note(wanted)
    if pin or unpin:
        return call.report(call.memory().pin(wanted, pinned=pin), repeated="it already is; nothing was written")
    found, text = call.memory().playbook(wanted)
    if not call.answered({**_json(call, found), "text": text}):
        call.out.data(clean(text).rstrip("\n"))
    return 0


def _list(call: Call) -> int:
    """Print the playbooks; return exit code 1 if there are none."""
    found = call.memory().playbooks()
    if call.answered({"playbooks": [_json(call, book) for book in found]}):
        return 0 if found else 1
    if found:
        rows = (
            (call.out.path(book.path), str(book.used or ""), _state(call, book), line(book.title)) for book in found
        )
        show_rows(call.out, rows, ("playbook", "last use", "state", "title"), ("magenta", "green", "dim"))
    else:
        call.out.say("there are no playbooks yet: tars-memory learn how I …")
    return 0 if found else 1


def _json(call: Call, book: "Playbook") -> dict[str, Any]:
    """Return the members of a playbook's JSON object."""
    days, today = call.workspace.settings.recall.playbook_days, call.workspace.now().date()
    members = fields(book, "path title when pinned approved")
    dates = {"created": book.created, "used": book.used, "fades": book.expires_on(days)}
    return {**members, **dates, "shown": book.is_shown(today, days)}


def _state(call: Call, book: "Playbook") -> str:
    """Say whether a playbook is in prompts, and until when."""
    days, today = call.workspace.settings.recall.playbook_days, call.workspace.now().date()
    end = book.expires_on(days)
    shown = "pinned" if book.pinned else "stays" if end is None else f"until {end}" if today < end else f"faded {end}"
    return shown if book.approved else f"{shown}, not approved here"


@command(
    writes=True,
    words=True,
    pages=True,
    examples="""
tm topic "build system" --agent claude make test needs three minutes
tm topic "build system" --agent claude    # print it
tm topic --agent claude                   # all of them
""",
    exits="1 no notes, or none with that name; 2 beyond the limits",
    answers="""
as remember
[with TOPIC alone]
agent path: whose, and which note
text: the note, verbatim
entries[].ref line text author: its lines
[without TOPIC]
agent: whose
topics[].name path characters limit: the notes
""",
)
def topic(
    call: Call,
    name: str | None = word("[TOPIC]", "In quotes if it has several words."),
    text: list[str] | None = word("[TEXT…]", "All remaining words."),
    agent: str | None = option(
        "--agent", "NAME", "The agent that owns the notes (default: TARS_AUTHOR, or the caller)."
    ),
    stdin: bool = flag("--stdin", "Take the text from stdin, all of it as one line."),
) -> int:
    """Add a line to a topic note that an agent keeps for itself, in agents/NAME/; print path:line.

    Without TEXT print the note, without TOPIC list the agent's notes. Such a note is not a tier: context shows it to
    that agent alone, as data. A note may have 8000 characters, and an agent 100 notes ([limits]); edit and forget take
    a line by REF or path:line.
    """
    whose = agent or _caller(call)
    if name and (text or stdin):
        name = call.ask_about_secrets(name)
        call.hold("topic", agent=whose, name=name)
        words = call.ask_about_secrets(call.words(text, "TEXT", stdin=stdin))
        return call.report(call.memory().topic(name, words, agent=whose))
    if stdin or name == "":
        raise UsageError("TOPIC is missing", "tars-memory topic NAME TEXT")
    return _topics(call, whose) if name is None else _topic(call, whose, name)


def _caller(call: Call) -> str:
    """Return the name of the calling agent, from ``TARS_AUTHOR`` or the mark of its host.

    Raises:
        UsageError: neither is set.
    """
    mark = settings.agent_mark(call.env).lower()
    agent = call.env.get(settings.AUTHOR) or next((name for name in jobs.hooks.AGENTS if mark.startswith(name)), "")
    if not agent:
        raise UsageError(
            "no agent is named",
            "name the agent whose notes you mean: --agent claude; TARS_AUTHOR names it for all calls",
        )
    return agent


def _topics(call: Call, agent: str) -> int:
    """Print the topic notes of an agent; return exit code 1 if there are none."""
    memory = call.memory()
    found, most = memory.topics(agent), memory.workspace.settings.limits.topic_characters
    if call.answered({"agent": agent, "topics": [{**note._asdict(), "limit": most} for note in found]}):
        return 0 if found else 1
    if found:
        rows = ((call.out.path(note.path), f"{note.characters} of {most}") for note in found)
        show_rows(call.out, rows, ("topic", "characters"), ("magenta", "dim"))
    else:
        call.out.say(f"{agent} has no topic yet: tars-memory topic NAME TEXT")
    return 0 if found else 1


def _topic(call: Call, agent: str, name: str) -> int:
    """Print one topic note of an agent."""
    note = call.memory().topic_note(name, agent=agent)
    text = note.data.decode("utf-8", "replace")
    lines = [fields(entry, "ref line text author") for entry in note.entries]
    if not call.answered({"agent": agent, "path": note.path, "text": text, "entries": lines}):
        call.out.data(clean(text).rstrip("\n"))
    return 0


@command(
    writes=True,
    examples="""
tm mcp
claude mcp add memory -- tm mcp --vault ~/Notes
""",
    exits="4 no vault",
)
def mcp(call: Call) -> int:
    """Serve the memory to an agent's host as tools, by the Model Context Protocol on stdin and stdout.

    The vault and the project are fixed at the start; no call can choose others. It may search, read, add lines under
    the client's name, and propose rules. It ends when the host closes stdin.
    """
    with Memory(call.vault, actor="agent", now=call.now, env=call.env, project=call.project) as memory:
        root, project = memory.workspace.root, memory.workspace.project or "none"
        call.notices(memory.workspace.notices)

    def open_memory(variables: "Mapping[str, str]") -> Memory:
        env = {**variables, **call.env}
        memory = Memory(root, actor="agent", now=call.now, dry_run=call.dry_run, env=env, project=project)
        memory.workspace.patience, memory.workspace.may_finish_in_background = PATIENCE, True
        return memory

    try:
        from tars_memory.doors import mcp as protocol
    except ImportError as error:
        raise UsageError(
            f"mcp needs the MCP SDK, 2.3 or newer, which is not installed ({error})", installing("mcp")
        ) from None

    def failed(error: Exception) -> None:
        cli.failures.explain(error, call)

    if call.out.stderr.isatty():
        call.out.say(f"serving {root} on stdin and stdout; an agent's host starts this: tars-memory mcp --help")
    protocol.serve(open_memory, failed)
    return 0
