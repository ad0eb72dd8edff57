"""Commands that set up a vault (``init``), completion by Tab (``completion``) and git (``merge``, which git calls)."""

import os
from functools import partial
from pathlib import Path

import tars_memory
from tars_memory import index, jobs
from tars_memory.doors import cli
from tars_memory.doors.cli.app import program
from tars_memory.doors.cli.call import Call, command, flag, word
from tars_memory.doors.cli.output import counted
from tars_memory.errors import UnwritableError, UsageError, installing
from tars_memory.vault.suspicion import shell_path, shell_word


@command(
    writes=True,
    examples="""
tm init ~/Notes       # a new vault, or your own Obsidian vault
tm init --git         # let git merge the notes by entry, in this clone
tm init --dry-run     # what would be created in this folder
""",
    answers="""
path: the vault
created: the files that were made
layout: the program whose layout the vault has (`starpod`, …), or empty
daily: today's note, if it has a name or folder of its own in this vault
[--git]
path created layout daily: as without
git.repository made: the repository's folder, and whether it was made
git.attributes: the lines that were added to .gitattributes
git.registered: true if this clone did not know yet how to merge
""",
)
def init(
    call: Call,
    path: str | None = word("[PATH]", "The folder; else --vault, TARS_MEMORY_DIR, or this one."),
    git: bool = flag("--git", "Let git merge notes entry by entry; run it in each clone."),
) -> int:
    """Create a vault in PATH, or add what is missing to a vault you already have. Existing notes are never changed.

    Prints the vault's folder. From then on the vault is found from inside its folder. If your daily notes are in a
    folder that neither Obsidian's settings nor yours name, init asks at a terminal whether to keep today's note there,
    too; a script does so if there are 30 or more, ten a month. If the embedding model can't read the languages of your
    notes, init names one that can and asks at a terminal whether to use it.

    --git makes the folder a git repository if it is in none, adds what is missing to its .gitattributes, and tells this
    clone how to merge. tm undo takes the lines out; git config --remove-section merge.tars-memory forgets the rest.
    """
    if path == "" or call.vault == "":
        raise UsageError("PATH is empty", "name the folder, or run init inside it without PATH")
    root = path or call.vault or call.env.get("TARS_MEMORY_DIR") or "."
    ask = partial(call.confirmed, enter=True) if call.interactive and not call.dry_run else None
    made = tars_memory.Memory.init(
        root, ask, actor=call.actor, interactive=call.interactive, now=call.now, dry_run=call.dry_run, env=call.env
    )
    if not call.out.json:
        _say_made(call, made)
    call.notices(made.notices)  # git may refuse
    report = call.memory_at(made.root).merge_by_entry(program()) if git else None
    answer = {"path": str(made.root), "created": made.created, "layout": made.layout, "daily": made.daily}
    notices = [*made.notices, *call.dry_run_notice(writes=bool(made.created or report))]
    if call.answered({**answer, **({"git": report} if report else {})}, notices):
        return 0
    if report:
        _say_git(call, report)
    if not call.dry_run:
        memory = call.memory_at(made.root)
        _recommend(call, memory)
        _begin_reading(call, memory)
    return 0


def _say_made(call: Call, made: "tars_memory.vault.template.InitReport") -> None:
    """Print the vault's folder, and what was made and recognised there."""
    call.out.data(shell_path(str(made.root)), of_notes=False)
    would = "would make" if call.dry_run else "made"
    call.out.say(f"{would} {', '.join(made.created)}" if made.created else "nothing was missing")
    if made.layout:
        call.out.say(f"layout: {made.layout} (like in .tars/config.toml)")
    if made.daily:
        call.out.say(f"today's note: {made.daily}")


def _say_git(call: Call, report: "jobs.merge.GitReport") -> None:
    """Print what was set up in git, and what is left to do."""
    if report.made:
        call.out.say(f"{'would make' if call.dry_run else 'made'} a git repository in this folder")
    if report.attributes:
        lines = counted(len(report.attributes), "line")
        call.out.say(f"{'would add' if call.dry_run else 'added'} {lines} to .gitattributes: commit it")
    if report.registered and call.dry_run:
        call.out.say("would tell git how to merge the notes by entry here")
    elif report.registered:
        call.out.say("git merges the notes by entry here; in every other clone run: tars-memory init --git")
    elif not report.attributes:
        call.out.say("git merges the notes by entry here already")


def _begin_reading(call: Call, memory: "tars_memory.Memory") -> None:
    """Start to read the vault in the background if many of its notes are unread, before the first search."""
    workspace = memory.workspace
    workspace.may_finish_in_background = True
    unread = len(workspace.vault.paths()) - (workspace.ask_without_refresh(lambda reader: reader.note_count()) or 0)
    if unread > index.intake.FIRST_BATCH and workspace.finish_in_background():
        root = workspace.whole.root
        inside = Path.cwd().resolve().is_relative_to(root.resolve())
        status = "tars-memory status" if inside else f"cd {shell_word(str(root))} && tars-memory status"
        call.out.say(f"{counted(unread, 'note')} are being read in the background: {status}")


def _recommend(call: Call, memory: "tars_memory.Memory") -> None:
    """Print which embedding model fits the vault's languages, if it isn't the one that is set.

    If the model is installed, ask the person whether to use it.
    """
    better = memory.recommended_model()
    if better is None:
        return
    name, installed = better["model"], better["installed"]
    size = "it is installed" if installed else f"{better['megabytes']} MB"
    told = [better["why"], f"the model {name} can search these by meaning ({size})"]
    use = [f"to use it: tars-memory models use {name}"]
    if not installed:
        use = [f"to use it: {installing(name)}", f"then: tars-memory models use {name}"]
    elif call.interactive:
        use = []
    for text in [*told, *use] if call.interactive else ["; ".join([*told, *use])]:
        call.out.say(text)
    if use:
        return
    asked = call.confirmed("search with that model?", enter=sum(better["languages"].values()) > 0.5)
    for text in memory.use_model(name)["notices"] if asked else [f"to use it: tars-memory models use {name}"]:
        call.out.say(text)


@command(
    writes=True,
    examples="""
tm completion --install        # for the shell you are in
tm completion fish > ~/.config/fish/completions/tm.fish
""",
    exits="2 no such shell, 5 a file can't be written",
    answers="""
shell: its name
script: what the shell runs
files: the files that --install wrote
""",
)
def completion(
    call: Call,
    shell: str = word("[bash|zsh|fish]", "The shell (default: the one you are in).", default=""),
    into: bool = flag("--install", "Install it, and print where."),
) -> int:
    """Print the script that lets Tab complete commands, options, tags, notes, tiers and REFs, or install it.

    It works for tm and tars-memory. --install writes it where the shell looks for it, and adds the line that loads it
    to `.bashrc` or `.zshrc` if that is missing.
    """
    if shell and shell not in cli.completion.SHELLS:
        raise UsageError(f"no script for {shell!r}", f"there is one for {', '.join(cli.completion.SHELLS)}")
    (install if into else show)(call, shell)
    return 0


def show(call: Call, shell: str) -> None:
    """Print the script of a shell; if none is named, of the shell that runs the program."""
    shell = shell or _running()
    if not call.answered({"shell": shell, "script": cli.completion.script(shell), "files": []}):
        call.out.data(cli.completion.script(shell).rstrip("\n"), of_notes=False)


def install(call: Call, shell: str) -> None:
    """Write the script into the person's own folders, and add the line that loads it if it is missing.

    Raises:
        UnwritableError: a file can't be written.
    """
    shell = shell or _running()
    home = Path(call.env.get("HOME") or Path.home())
    data = Path(call.env.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(call.env.get("XDG_CONFIG_HOME") or home / ".config")
    if shell == "fish":
        files = [config / "fish/completions" / f"{name}.fish" for name in ("tm", "tars-memory")]
        loads, start = "", home
    elif shell == "zsh":
        files = [data / "tars-memory/completion/_tars_memory"]
        start = Path(call.env.get("ZDOTDIR") or home) / ".zshrc"
        loads = f"autoload -Uz compinit && compinit; source {_quoted(files[0])}"
    else:
        files, start = [data / "tars-memory/completion/tars-memory.bash"], home / ".bashrc"
        loads = f"source {_quoted(files[0])}"
    try:
        for path in () if call.dry_run else files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(cli.completion.script(shell), "utf-8")
        if loads:
            before = start.read_bytes() if start.exists() else b""
            if loads.encode() not in before and not call.dry_run:
                with open(start, "ab") as file:
                    file.write((b"\n" if before and not before.endswith(b"\n") else b"") + loads.encode() + b"\n")
            files.append(start)
    except OSError as error:
        raise UnwritableError(
            f"{error.filename} can't be written: {error.strerror}", f"tars-memory completion {shell} prints the script"
        ) from error
    names = [str(path) for path in files]
    if call.answered({"shell": shell, "script": cli.completion.script(shell), "files": names}, call.dry_run_notice()):
        return
    for name in names:
        call.out.data(name, of_notes=False)
    if not call.dry_run:
        call.out.say(f"from its next start on {shell} completes tm and tars-memory")


def _quoted(path: Path) -> str:
    """Return a path in single quotes, for a shell's file."""
    return "'" + os.fspath(path).replace("'", "'\\''") + "'"


def _running() -> str:
    """Return the name of the shell that runs the program.

    Raises:
        UsageError: the shell is unknown, or has no script.
    """
    import shellingham  # typer brings it along

    try:
        name, _ = shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        name = ""
    if name not in cli.completion.SHELLS:
        raise UsageError(
            "which shell is it?", f"name one of {', '.join(cli.completion.SHELLS)}: tars-memory completion bash"
        )
    return str(name)


@command(
    examples="""
tm merge %O %A %B %P   # what tm init --git tells git to call
""",
    exits="1 the file is not text, and git shows a conflict, 255 nothing was changed",
    answers="""
path: the note
code: the exit code
disputed: number of bullets that the sides disagree about
by_lines: git merged it by lines
""",
)
def merge(
    call: Call,
    base: str = word("BASE", "The common ancestor (%O).", default=...),
    ours: str = word("OURS", "Our version (%A); the result replaces it.", default=...),
    theirs: str = word("THEIRS", "Their version (%B).", default=...),
    path: str = word("PATH", "The note's path (%P).", default=""),
) -> int:
    """Merge three versions of a note entry by entry: git calls this, after tm init --git.

    Additions of both sides stay, without repeats; a change or removal on one side is applied. Where the sides disagree
    about a bullet, both versions stay in the note, and tm review asks. Only these files are read and written. If
    bullets can't be recognised (conflict markers, a fence that is never closed), git merges by lines: where both sides
    changed the same ones, both stay.
    """
    done = jobs.merge.run_driver(base, ours, theirs)
    if call.answered({"path": path, **done._asdict()}):
        return done.code
    if done.disputed:
        call.out.say(
            f"{path or ours}: {counted(done.disputed, 'line')} changed on both sides, both kept: tm review asks"
        )
    elif done.by_lines and not done.code:
        call.out.say(f"{path or ours}: merged by lines; where both sides changed the same ones, both stay: look at it")
    elif done.code == jobs.merge.FAILED:
        call.out.say(f"{path or ours} is unchanged: one of its three versions can't be read, written or merged")
    return done.code
