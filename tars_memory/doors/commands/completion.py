"""``completion``: the script by which a shell completes commands, options and names of the vault."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tars_memory.doors.cli.call import Call, call_of, command
from tars_memory.doors.cli.completion import SHELLS, script
from tars_memory.errors import UnwritableError, UsageError


def completion(
    ctx: typer.Context,
    shell: Annotated[
        str, typer.Argument(metavar="[bash|zsh|fish]", help="The shell; the one that runs this if none is named.")
    ] = "",
    into: Annotated[bool, typer.Option("--install", help="Install it for you, and say where.")] = False,
) -> int:
    """Print the script that completes commands, options, tags, notes, tiers and REFs by Tab, or install it.

    It serves tm and tars-memory. --install writes it where the shell looks for it, and adds the line that loads it to
    `.bashrc` or `.zshrc` if that is missing.
    """
    call = call_of(ctx)
    if shell and shell not in SHELLS:
        raise UsageError(f"no script for {shell!r}", f"there is one for {', '.join(SHELLS)}")
    (install if into else show)(call, shell)
    return 0


def show(call: Call, shell: str) -> None:
    """Print the script of a shell; of the one that runs us if none is named."""
    shell = shell or _running()
    if call.out.json:
        call.out.record({"shell": shell, "script": script(shell), "files": [], "notices": []})
    else:
        call.out.data(script(shell).rstrip("\n"), of_notes=False)


def install(call: Call, shell: str) -> None:
    """Write the script into the person's own folders, and the line that loads it; twice is harmless.

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
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script(shell), "utf-8")
        if loads:
            before = start.read_bytes() if start.exists() else b""
            if loads.encode() not in before:
                with open(start, "ab") as file:
                    file.write((b"\n" if before and not before.endswith(b"\n") else b"") + loads.encode() + b"\n")
            files.append(start)
    except OSError as error:
        raise UnwritableError(
            f"{error.filename} can't be written: {error.strerror}", f"tars-memory completion {shell} prints the script"
        ) from error
    told = [str(path) for path in files]
    if call.out.json:
        call.out.record({"shell": shell, "script": script(shell), "files": told, "notices": []})
        return
    for each in told:
        call.out.data(each, of_notes=False)
    call.out.say(f"{shell} completes tm and tars-memory from its next start on")


def _quoted(path: Path) -> str:
    """A path for a shell's file: in single quotes."""
    return "'" + os.fspath(path).replace("'", "'\\''") + "'"


def _running() -> str:
    """The shell that runs us.

    Raises:
        UsageError: it is none that has a script.
    """
    import shellingham  # typer brings it along

    try:
        name, _ = shellingham.detect_shell()
    except shellingham.ShellDetectionFailure:
        name = ""
    if name not in SHELLS:
        raise UsageError("which shell is it?", f"name one of {', '.join(SHELLS)}: tars-memory completion bash")
    return str(name)


COMPLETION = command(
    completion,
    examples="""
tm completion --install        # for the shell that you type this in
tm completion fish > ~/.config/fish/completions/tm.fish
""",
    exits="2 no such shell, 5 a file can't be written",
    answers="""
shell: its name
script: what it runs
files: that were written by --install
""",
)
