"""What leaves the program: data on stdout, talk on stderr, nothing that could steer a terminal; what was shown last.

Notes hold whatever somebody pasted or synced into them, so no text of a note reaches a terminal or a pipe as it is:
escape sequences and invisible characters (:mod:`tars_memory.vault.suspicion`) are taken out. JSON keeps the text
verbatim and escapes the same characters.

Credentials are shown to a person on a terminal only. In JSON, in a pipe and in a file they are masked: an agent, a log
or another machine reads those.

The hits of the last search are kept, so that ``open 3`` knows what the third one was, and which notices were told
today. Two lists are in the vault's state folder, one of searches on a terminal and one of all others: a search that a
script or an agent makes in between doesn't change what the person's numbers mean.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TextIO

from tars_memory import disk, vault
from tars_memory.errors import (
    NotFoundError,
    SettingsError,
    UsageError,
    counted as counted,
    duration as duration,
    legible,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from tars_memory.workspace import Workspace


PROGRAM = "tars-memory"

SEQUENCES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"  # any other escape
)


PATHS = frozenset(("path", "file", "to", "target", "back", "obsidian_url", "root"))
"""Members of JSON that name a note: never masked."""


LONG = 1_000
"""Notes or passages from which on work is long: some seconds."""


class ClosedOutput(Exception):  # noqa: N818 - not a failure: the reader has had enough
    """Whoever read our output has gone away."""


class LostOutput(Exception):  # noqa: N818
    """Our output can't be written (disk full); what the command did is done."""


def clean(text: str) -> str:
    """The text without what could steer a terminal; lines end in newlines, tabs stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    if not text.isprintable():
        text = re.sub(SEQUENCES, "", re.sub(r"\r\n?|[\u2028\u2029]", "\n", text))
        text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    return vault.suspicion.visible(text)


def line(text: str) -> str:
    """The text on one line: cleaned, line ends and tabs as blanks."""
    return clean(text).replace("\n", " ").replace("\t", " ")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON with verbatim text; invisible characters and lone surrogates are escaped."""

    def escaped(signs: str) -> str:
        return json.dumps(signs)[1:-1]

    text = vault.suspicion.visible(json.dumps(value, ensure_ascii=False, indent=indent, default=_plain), escaped)
    return re.sub("[\u2028\u2029\ud800-\udfff]", lambda found: escaped(found[0]), text)


def masked(text: str) -> str:
    """The text with its credentials masked."""
    if not vault.suspicion.suspicious(text):
        return text
    return vault.secrets.mask(text)


def members(value: Any) -> dict[str, Any] | None:
    """The members of the JSON object that shows a value: as the value itself says, or by the names of its fields; None
    if JSON has another form for it.
    """
    named = getattr(value, "as_dict", None) or getattr(value, "_asdict", None)
    return value if isinstance(value, dict) else named() if named else None


def hidden(value: Any) -> Any:
    """A value for JSON with the credentials of all its texts masked; names of fields stay, and so do paths."""
    if isinstance(value, str):
        return masked(value)
    if (named := members(value)) is not None:
        return {name: each if name in PATHS else hidden(each) for name, each in named.items()}
    if isinstance(value, list | tuple):
        return [hidden(each) for each in value]
    return value


def fields(thing: object, names: str) -> dict[str, Any]:
    """The named attributes of a value, in that order, for JSON; an absent one is None."""
    return {name: getattr(thing, name, None) for name in names.split()}


class Output:
    """The two streams of one command.

    Attributes:
        json: data is one JSON object a line (indented on a terminal).
        quiet: nothing on stdout, no talk on stderr; errors are still said.
        root: the vault's real path, once a vault is open.
        pages: a pager takes what is longer than the screen.
        relative_to: where printed paths begin, ``cwd`` or ``vault``; empty: as :meth:`path` says.
    """

    def __init__(self, env: Mapping[str, str], stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.json = False
        self.quiet = False
        self.root = ""
        self.pages = False
        self.relative_to = ""
        self.env = env
        self.stdout = _stream(stdout or sys.stdout)
        self.stderr = _stream(stderr or sys.stderr)
        self._said: set[str] = set()
        self._progress: Progress | None = None
        self._opened: dict[tuple[str, str], str] = {}
        self._paths: list[str] = []
        """Those of the line that is being made: a path is not a credential, whatever a note is called."""

    @property
    def screen(self) -> bool:
        """Whether a person reads stdout on a terminal, plain or coloured."""
        return self.stdout.isatty() and not self.json

    def progress(self) -> Progress | None:
        """What tells a person on a terminal what is under way; None where nobody looks."""
        if self._progress is None and not self.quiet and self.stderr.isatty():
            self._progress = Progress(self.stderr)
        return self._progress

    def announce(self, phase: str, done: int, total: int) -> None:
        """Say in a pipe or a log, once, that long work begins: what :meth:`progress` shows a person on a terminal."""
        if not done and total >= LONG:
            self.say(f"{phase}: 0 of {total:,}")

    def clear(self) -> None:
        """Take the line of progress away: something else is written, or read."""
        if self._progress is not None:
            self._progress.clear()

    def close(self) -> None:
        """Remove the line of progress from the terminal."""
        if self._progress is not None:
            self._progress.close()

    def path(self, path: str) -> str:
        """A path in the vault as it can be opened from here, on one line (:func:`vault.suspicion.written`).

        Inside of the vault it is relative to the current folder, elsewhere (and where that folder is gone) absolute;
        with :attr:`relative_to` always relative to that.
        JSON keeps the vault's own. A link that leads nowhere has none: empty stays empty.
        """
        if not path:
            return ""
        asked = self.root, path
        if asked not in self._opened:
            self._opened[asked] = self._from_here(path)
        self._paths.append(self._opened[asked])
        return self._opened[asked]

    def _from_here(self, path: str) -> str:
        inside = within(self.root, here())
        if not self.root or self.relative_to == "vault":
            shown = path
        elif self.relative_to == "cwd" and here():
            shown = os.path.relpath(os.path.join(self.root, path), here())
        elif inside is None:
            shown = os.path.join(self.root, path)
        else:
            shown = os.path.relpath(path, inside) if inside else path
        return vault.suspicion.written(f"./{shown}" if shown.startswith("-") else shown)

    def place(self, path: str, number: int | None) -> str:
        """``path:line`` as it can be opened from here; the path alone where there is no line."""
        return f"{self.path(path)}:{number}" if number else self.path(path)

    def data(self, text: str, *, of_notes: bool = True) -> None:
        """One line, or several, of data. The caller has cleaned them.

        Args:
            text: without the last newline.
            of_notes: it may hold words of notes; else nothing in it is masked.
        """
        if not self.quiet:
            self.write((self._shown(text, self.stdout) if of_notes else text) + "\n")

    def sentence(self, text: str) -> None:
        """A sentence of data, on a terminal broken between words; in a pipe and a file one line."""
        self.data(_wrapped(text, self.stdout))

    def record(self, value: Any, *, lines: bool = False) -> None:
        """One JSON object; ``lines`` keeps it on one line even on a terminal."""
        if not self.quiet:
            self.write(to_json(hidden(value), None if lines or not self.stdout.isatty() else 2) + "\n")

    def flush(self) -> None:
        """Hand over what is written so far."""
        self.write("")
        try:
            self.stdout.flush()
        except (OSError, ValueError) as error:
            raise _gone(error) from None

    def say(self, text: str) -> None:
        """Talk: a sentence on stderr, once however often it is said; nothing with ``--quiet``."""
        if not self.quiet and text not in self._said:
            self._said.add(text)
            self.complain(f"{PROGRAM}: {clean(legible(text))}")

    def complain(self, text: str) -> None:
        """Something on stderr that even ``--quiet`` doesn't silence."""
        self.clear()
        try:
            self.stdout.flush()  # keeps the order when both are the same terminal or file
        except (OSError, ValueError):
            pass
        try:
            shown = self._shown(text, self.stderr)
            self.stderr.write((shown if self.json else _wrapped(shown, self.stderr)) + "\n")
            self.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody listens

    def _shown(self, text: str, stream: TextIO) -> str:
        """The text as this stream may have it: but on a terminal with its credentials masked, its paths as they are."""
        paths, self._paths = self._paths, []
        if stream.isatty():
            return text
        found = []
        for path in filter(None, paths):  # a link to nothing has none
            before, path, behind = text.partition(path)
            if path:
                found += [masked(before) if before else "", path]
                text = behind
        return "".join([*found, masked(text)])

    def write(self, text: str) -> None:
        """Text on stdout as it is.

        Raises:
            ClosedOutput: nobody reads it any more.
            LostOutput: it can't be written.
        """
        self.clear()
        try:
            self.stdout.write(text)
        except (OSError, ValueError) as error:
            raise _gone(error) from None


def here() -> str:
    """The current folder as the system knows it, without links; empty if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def sign(out: Output, wanted: str, plain: str) -> str:
    """A sign, or its replacement where the terminal's encoding doesn't have it."""
    return wanted if encoded(out, wanted) == wanted else plain


def encoded(out: Output, text: str) -> str:
    """The text as the terminal will show it: what its encoding doesn't have is written as an escape."""
    encoding = getattr(out.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def within(root: str, path: str) -> str | None:
    """The part of an absolute path below a folder, empty for the folder itself; None if the path is elsewhere."""
    if not root or not path:
        return None
    if path == root:
        return ""
    base = root if root.endswith(os.sep) else root + os.sep
    return path[len(base) :] if path.startswith(base) else None


def discard(stream: TextIO) -> None:
    """Point the stream at nothing, so that what it still buffers can't fail at exit."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
    except (OSError, ValueError):
        pass


def _gone(error: Exception) -> Exception:
    """The reader left (EPIPE; EINVAL is Windows' word for it), or there is no room for the output."""
    if isinstance(error, ValueError) or (
        isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EINVAL, errno.ECONNRESET)
    ):
        return ClosedOutput()
    return LostOutput(getattr(error, "strerror", None) or str(error))


def _wrapped(text: str, stream: TextIO) -> str:
    """The text with its lines broken between words where they are wider than a terminal; as it is elsewhere.

    A word that is wider itself, a path or an address, stays whole: the terminal folds it, and it can be copied.
    """
    width = _columns(stream) if stream.isatty() else 0
    return "\n".join(part for each in text.split("\n") for part in broken(each, width)) if width else text


def broken(text: str, width: int) -> list[str]:
    """A line in as many as it takes: broken between words, the second and later ones indented; no word is broken."""
    indent = len(text) - len(text.lstrip(" "))
    lead, rest, made = " " * indent, text[indent:], []
    while len(lead) + len(rest) > width:
        room = max(width - len(lead), 1)
        at = rest.rfind(" ", 1, room + 1)
        at = at if at > 0 else rest.find(" ", room)
        if at < 0:
            break
        made.append(lead + rest[:at])
        lead, rest = " " * max(indent, 2), rest[at + 1 :]
    return [*made, lead + rest]


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _stream(stream: TextIO | None) -> TextIO:
    """The stream as UTF-8, unable to fail on any character; a closed one (``>&-``) becomes nothing.

    A terminal with an encoding of its own keeps it, unless that is ASCII only because no locale is set (cron).
    """
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        ascii_only = (stream.encoding or "").lower() in ("ascii", "ansi_x3.4-1968", "us-ascii", "646")
        keep = stream.isatty() and not ascii_only
        reconfigure(encoding=stream.encoding if keep else "utf-8", errors="backslashreplace")
    return stream


def _plain(value: object) -> object:
    """A value that JSON has no word for."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, set | frozenset):
        return sorted(value)
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    return str(value)


FIRST = 0.3
"""Seconds before the line is drawn: shorter work shows none."""
AGAIN = 0.2
"""Seconds between two drawings."""
BELIEVED = 1.0
"""Seconds of a phase before its speed says how much time is left."""


class Progress:
    """One line on a terminal's stderr that says what is under way, redrawn in its place until something else is said.

    A clock of its own redraws it, so that it goes on while the work is in one long call. It is
    called with a phase, how much of it is done, and how much there is (0: not known).

    Args:
        stream: a terminal.
        clock: seconds that only grow.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._phase = ""
        self._done = self._total = self._before = 0
        self._begun = self._quiet = 0.0
        self._shown = 0

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Take in how far the work is; the line goes when all of a phase is done."""
        with self._lock:
            now = self._clock()
            if phase != self._phase:
                self._begun, self._before = now, done
                if not self._phase:
                    self._quiet = now
            self._phase, self._done, self._total = phase, done, total
            if total and done >= total:
                self._end()
        if phase and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Take the line away: something else is going to be written, or read."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Take the line away for good."""
        self.clear()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """What is under way, in words; empty for nothing."""
        if not self._phase:
            return ""
        took = self._clock() - self._begun
        if not self._total:
            return f"{self._phase}, {took:.0f} s" if took >= BELIEVED else self._phase
        text = f"{self._phase}: {self._done:,} of {self._total:,}"
        done = self._done - self._before
        if done > 0 and took >= BELIEVED:
            text += f", {duration(took / done * (self._total - self._done))} left"
        return text

    def draw(self) -> None:
        """Draw the line as it is now, if it is time."""
        with self._lock:
            if self._phase and self._clock() - self._quiet >= FIRST:
                self._write(self.line())

    def _end(self) -> None:
        self._phase = ""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        """Put a text in the place of the one before it: blanks over its rest, the cursor back at the start."""
        columns = _columns(self._stream)
        text = text[: columns - 1]
        blanks = " " * max(0, min(self._shown, columns - 1) - len(text))
        try:
            self._stream.write(f"\r{text}{blanks}" + ("" if text else "\r"))
            self._stream.flush()
        except (OSError, ValueError):
            pass  # nobody looks
        self._shown = len(text)

    def _run(self) -> None:
        while not self._wake.wait(AGAIN):
            self.draw()


def show_rows(
    out: Output,
    rows: Iterable[Sequence[str]],
    head: Sequence[str] = (),
    styles: Sequence[str] = (),
    *,
    of_notes: bool = True,
) -> None:
    """Print rows of cells.

    On a terminal they are columns that line up and wrap at words within its width; elsewhere a row is one line, its
    cells parted by tabs.

    Args:
        out: where to.
        rows: as many cells each; cleaned, of one line. Elsewhere each is made when the one before it is printed.
        head: names of the columns, shown on a terminal alone.
        styles: rich's, of the columns, for a terminal with colour.
        of_notes: as :meth:`Output.data` takes it.
    """
    if out.screen:
        from tars_memory.doors.cli.screen import show_table

        show_table(out, [*rows], head, styles)
        return
    for row in rows:
        out.data("\t".join(row).rstrip("\t"), of_notes=of_notes)


def show_tree(out: Output, values: Mapping[str, Any]) -> None:
    """Print names and values, nested ones indented below their name."""
    for text in tree(values):
        out.data(text)


def tree(values: Mapping[str, Any], indent: str = "") -> list[str]:
    """Names and values as lines: ``name  value``, names of one level padded to one width."""
    width = max((len(str(name)) for name in values), default=0)
    lines = []
    for name, value in values.items():
        label = line(str(name)).replace("_", " ")
        if isinstance(value, dict) and value:
            lines.append(f"{indent}{label}")
            lines.extend(tree(value, indent + "  "))
        else:
            lines.append(f"{indent}{label:<{width}}  {_words(value)}".rstrip())
    return lines


def _words(value: Any) -> str:
    if value is None or value in ({}, [], ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_words(each) for each in value)
    return line(str(value))


# --- what was shown last

NAMES = {True: "last-search-terminal", False: "last-search"}
"""Path, line and link of each hit, parted by NUL, which no path holds."""

TOLD = "told"
"""A file: the day, and the notices that were shown on it."""


def keep(state: Path, hits: Iterable[Any], *, terminal: bool) -> None:
    """Remember where the hits are. A state folder that can't be written is no reason to fail a search."""
    told = "\0".join(f"{hit.path}\0{hit.best_line[0]}\0{hit.obsidian_url or ''}" for hit in hits)
    _write(state / NAMES[terminal], told)


def told_today(state: Path, notice: str, day: date) -> bool:
    """Whether a notice, whatever its numbers, was shown on this day already; it is noted as shown.

    Where that can't be noted it is shown again.
    """
    key = " ".join(re.sub(r"[0-9]+", "#", notice).split())
    first = day.isoformat()
    try:
        known = (disk.read(state / TOLD, most=disk.LARGEST_OWN) or b"").decode("utf-8", "replace").split("\n")
    except SettingsError:
        known = []
    if known[:1] == [first] and key in known:
        return True
    _write(state / TOLD, "\n".join([*(known if known[:1] == [first] else [first]), key]))
    return False


def _write(path: Path, told: str) -> None:
    """Put a text in the place of the one before it, if that can be."""
    with contextlib.suppress(OSError):
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        disk.replace(path, told.encode("utf-8", "surrogateescape"))


def hit_of(workspace: Workspace, number: int, *, terminal: bool) -> tuple[str, int, str | None]:
    """The path, line and Obsidian link of one hit of the caller's last search.

    Raises:
        NotFoundError: there was no search here yet, or one in another project.
        UsageError: it had fewer hits.
    """
    for own in (terminal, not terminal):
        try:
            data = disk.read(workspace.state / NAMES[own], most=disk.LARGEST_OWN) or b""
        except SettingsError:
            continue
        told = data.decode("utf-8", "surrogateescape").split("\0")
        if len(told) % 3 or not all(line.isdigit() and len(line) < 10 for line in told[1::3]):
            continue
        hits = len(told) // 3
        if not 1 <= number <= hits:
            raise UsageError(
                f"the last search has {counted(hits, 'hit')}: there is no hit {number}",
                "search again, or open another one",
            )
        path, at, url = told[3 * number - 3 : 3 * number]
        if not workspace.sees(path):
            hint = "search again here, or name it: --project"
            raise NotFoundError("the last search was made in another project", hint)
        return path, int(at), url or None
    raise NotFoundError("no search has been made here yet", "tars-memory search WORDS, then tars-memory open 1")
