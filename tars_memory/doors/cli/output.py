"""The program's output: data on stdout, messages on stderr, and a record of what was shown last.

Notes hold whatever somebody pasted or synced into them, so no text of a note reaches a terminal or a pipe as it is:
escape sequences and invisible characters (:mod:`tars_memory.vault.suspicion`) are taken out. JSON keeps the text
verbatim and escapes the same characters.

Credentials are shown only to a person on a terminal. In JSON, in a pipe and in a file they are masked: an agent, a log
or another machine reads those.

The hits of the last search are kept, so that ``open 3`` opens the third one; so are the notices that were shown today.
The vault's state folder has two lists of hits, one for searches on a terminal and one for all others: a search that a
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
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO
from zlib import crc32

from tars_memory import disk, errors, vault
from tars_memory.errors import counted as counted, duration as duration

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
"""JSON members that name a note: never masked."""

LONG = 1_000
"""Number of notes or passages from which on work takes long: some seconds."""


class ClosedOutput(Exception):  # noqa: N818 - not a failure: the reader has had enough
    """The reader of stdout has gone away."""


class LostOutput(Exception):  # noqa: N818
    """Stdout can't be written (disk full); the command itself has done its work."""


def clean(text: str) -> str:
    """Return the text without escape sequences and control characters; line ends become newlines, tabs stay."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    if not text.isprintable():
        text = re.sub(SEQUENCES, "", re.sub(r"\r\n?|[\u2028\u2029]", "\n", text))
        text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    return vault.suspicion.visible(text)


def line(text: str) -> str:
    """Return the text cleaned and on one line: line ends and tabs become blanks."""
    return clean(text).replace("\n", " ").replace("\t", " ")


def to_json(value: Any, indent: int | None = None) -> str:
    """Return JSON with verbatim text; only invisible characters and lone surrogates are escaped."""

    def escaped(characters: str) -> str:
        return json.dumps(characters)[1:-1]

    text = vault.suspicion.visible(json.dumps(value, ensure_ascii=False, indent=indent, default=_plain), escaped)
    return re.sub("[\u2028\u2029\ud800-\udfff]", lambda match: escaped(match[0]), text)


def masked(text: str) -> str:
    """Return the text with its credentials masked."""
    if not vault.suspicion.suspicious(text):
        return text
    return vault.secrets.mask(text)


def members(value: Any) -> dict[str, Any] | None:
    """Return the members of a value's JSON object, from ``as_dict`` or a named tuple's fields; None if it has none."""
    as_dict = getattr(value, "as_dict", None) or getattr(value, "_asdict", None)
    return value if isinstance(value, dict) else as_dict() if as_dict else None


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value as a function changes it, if it is a text or a list of texts; any other value is unchanged."""
    if isinstance(value, list):
        return [each_text(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def masked_value(value: Any, notes: vault.vault.Vault | None = None, path: str = "") -> Any:
    """Return a value for JSON with the credentials in all its texts masked; member names and paths stay.

    Args:
        value: the value.
        notes: the vault whose notes the texts are of, to mask what is a credential only among the other lines.
        path: of the note that the value is of.
    """
    if isinstance(value, str):
        return masked(notes.hide(path, value) if notes and path else value)
    if (found := members(value)) is not None:
        target = found.get("target") if "quote" in found else None  # a proposal's quote is of its target
        path = str(found.get("path") or found.get("file") or target or path)
        return {name: member if name in PATHS else masked_value(member, notes, path) for name, member in found.items()}
    if isinstance(value, list | tuple):
        return [masked_value(item, notes, path) for item in value]
    return value


def fields(value: object, names: str) -> dict[str, Any]:
    """Return the named attributes of a value, in that order, for JSON; a missing attribute is None."""
    return {name: getattr(value, name, None) for name in names.split()}


class Output:
    """The two streams of one command.

    Attributes:
        called: the name that the person calls the program by.
        json: print data as one JSON object a line (indented on a terminal).
        quiet: print nothing on stdout and no messages on stderr; errors are still printed.
        root: the vault's real path, once a vault is open.
        notes: that vault, to mask lines as they are masked among the others; None where they are masked already.
        pages: output that is longer than the screen goes through a pager.
        relative_to: what printed paths are relative to, ``cwd`` or ``vault``; empty for the rule of :meth:`path`.
    """

    def __init__(self, env: Mapping[str, str], stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self.called = PROGRAM
        self.json = False
        self.quiet = False
        self.root = ""
        self.notes: vault.vault.Vault | None = None
        self.pages = False
        self.relative_to = ""
        self.env = env
        _open_closed_streams()
        self.stdout = _stream(stdout or sys.stdout)
        self.stderr = _stream(stderr or sys.stderr)
        self._said: set[str] = set()
        self._lost: Exception | None = None
        """Why data that a message flushed could not be written: Python forgets it then."""
        self._progress: Progress | None = None
        self._shown_paths: dict[tuple[str, str], str] = {}
        """Printed forms of paths, by root and path."""
        self._paths: list[str] = []
        """Paths in the line that is being made, not to be masked: whatever a note's name, it is not a credential."""
        self._noted: list[str] = []
        """Notes of which the line that is being made holds words; those of the line before if it names none."""
        self._was_noted: list[str] = []

    @property
    def screen(self) -> bool:
        """Whether a person reads stdout on a terminal, plain or coloured."""
        return self.stdout.isatty() and not self.json

    @property
    def columns(self) -> int:
        """The width of the terminal that shows stdout; 80 elsewhere."""
        return _columns(self.stdout)

    def progress(self) -> Progress | None:
        """Return the line of progress for a person on a terminal; None where nobody looks."""
        if self._progress is None and not self.quiet and self.stderr.isatty():
            self._progress = Progress(self.stderr)
        return self._progress

    def announce(self, phase: str, done: int, total: int) -> None:
        """Print once, in a pipe or a log, that long work begins; on a terminal :meth:`progress` shows it instead."""
        if not done and total >= LONG:
            self.say(f"{phase}: 0 of {total:,}")

    def clear(self) -> None:
        """Erase the line of progress before something else is written or read."""
        if self._progress is not None:
            self._progress.clear()

    def close(self) -> None:
        """Erase the line of progress and end its thread."""
        if self._progress is not None:
            self._progress.close()

    def path(self, path: str) -> str:
        """Return a vault path as it can be opened from here, on one line (:func:`vault.suspicion.shell_path`).

        Inside of the vault it is relative to the current folder; elsewhere, and where that folder is gone, absolute.
        With :attr:`relative_to` it is always relative to that. JSON keeps the vault path. The path of a link that leads
        nowhere is empty, and stays so.
        """
        if not path:
            return ""
        key = self.root, path
        if key not in self._shown_paths:
            self._shown_paths[key] = self._from_here(path)
        self._paths.append(self._shown_paths[key])
        return self._shown_paths[key]

    def _from_here(self, path: str) -> str:
        """Return the printed form of a vault path, as :meth:`path` describes it."""
        inside = within(self.root, here())
        if not self.root or self.relative_to == "vault":
            shown = path
        elif self.relative_to == "cwd" and here():
            shown = os.path.relpath(os.path.join(self.root, path), here())
        elif inside is None:
            shown = os.path.join(self.root, path)
        else:
            shown = os.path.relpath(path, inside) if inside else path
        return vault.suspicion.shell_path(f"./{shown}" if shown.startswith("-") else shown)

    def place(self, path: str, number: int | None) -> str:
        """Return ``path:line`` as it can be opened from here; the path alone if there is no line.

        The text that follows is masked as in that note.
        """
        self._noted.append(path)
        shown = self.path(path)
        if path and number:
            self._paths[-1] = shown = f"{shown}:{number}"
        return shown

    def data(self, text: str, *, of_notes: bool = True) -> None:
        """Print one or more lines of data, which the caller has cleaned.

        Args:
            text: the lines, without the last newline.
            of_notes: they may hold text of notes, so credentials are masked.
        """
        if not self.quiet:
            self.write((self._shown(text, self.stdout) if of_notes else text) + "\n")

    def sentence(self, text: str) -> None:
        """Print a sentence of data: wrapped at words on a terminal, on one line in a pipe or a file."""
        self.data(_wrapped(text, self.stdout))

    def record(self, value: Any, *, lines: bool = False) -> None:
        """Print one JSON object; ``lines`` keeps it on one line even on a terminal."""
        if not self.quiet:
            self.write(
                to_json(masked_value(value, self.notes), None if lines or not self.stdout.isatty() else 2) + "\n"
            )

    def flush(self) -> None:
        """Flush stdout."""
        self.clear()
        try:
            self.stdout.flush()
        except (OSError, ValueError) as error:
            raise _gone(error) from None
        if self._lost is not None:
            raise self._lost

    def say(self, text: str, words: str = "") -> None:
        """Print a message on stderr, followed by words of a note as they are, on one line and only once each; nothing
        with ``--quiet``.
        """
        text = self.as_called(text) + words
        if not self.quiet and text not in self._said:
            self._said.add(text)
            # A line break in a file's name begins no message.
            self.say_always(f"{PROGRAM}: {line(errors.legible(text))}")

    def as_called(self, text: str) -> str:
        """Return a message in which commands begin with the name that the person calls the program by."""
        return re.sub(rf"(?<![\w./-]){PROGRAM} (?=[a-z]|--)", f"{self.called} ", text)

    def say_always(self, text: str, *, end: str = "\n") -> None:
        """Print something on stderr, even with ``--quiet``.

        Args:
            text: what to print.
            end: what follows it; a blank after a question, so that the answer is typed after it.
        """
        self.clear()
        try:
            self.stdout.flush()  # keeps the order when both are the same terminal or file
        except (OSError, ValueError) as error:
            self._lost = _gone(error)
        try:
            shown = self._shown(text, self.stderr)
            self.stderr.write((shown if self.json else _wrapped(shown, self.stderr)) + end)
            self.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody listens

    def _shown(self, text: str, stream: TextIO) -> str:
        """Return the text for a stream: unchanged on a terminal, elsewhere with credentials masked, except in paths."""
        paths, self._paths = self._paths, []
        self._was_noted, self._noted = self._noted or self._was_noted, []
        if stream.isatty():
            return text
        parts: list[str] = []  # texts and paths in turn
        for path in filter(None, paths):  # the path of a link to nothing is empty
            before, path, after = text.partition(path)
            if path:
                parts += [before, path]
                text = after
        if self.notes and text.strip():
            for note in dict.fromkeys(self._was_noted):
                text = self.notes.hide(note, text)
        parts.append(text)
        if vault.suspicion.suspicious("\n".join(parts[::2])):
            parts[::2] = map(masked, parts[::2])
        return "".join(parts)

    def write(self, text: str) -> None:
        """Write text on stdout as it is; a full disk fails only if there is some.

        Raises:
            ClosedOutput: nobody reads stdout any more.
            LostOutput: stdout can't be written.
        """
        self.clear()
        try:
            if text:
                self.stdout.write(text)
        except (OSError, ValueError) as error:
            raise _gone(error) from None


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed: stdin (``<&-``) is empty, messages (``2>&-``) go nowhere, and
    an answer (``>&-``) can't be written, for its descriptor is open for reading only.

    Without it, a note could be opened as descriptor 1, and what is printed written into it.
    """
    for name, flags, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode, encoding="utf-8"))


def here() -> str:
    """Return the current folder as the system knows it, without links; empty if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def symbol(out: Output, wanted: str, plain: str) -> str:
    """Return a character, or its plain replacement where the terminal's encoding lacks it."""
    return wanted if encoded(out, wanted) == wanted else plain


def encoded(out: Output, text: str) -> str:
    """Return the text as the terminal will show it: characters that its encoding lacks are written as escapes."""
    encoding = getattr(out.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def within(root: str, path: str) -> str | None:
    """Return the part of an absolute path below a folder, empty for the folder itself; None for a path elsewhere."""
    if not root or not path:
        return None
    if path == root:
        return ""
    base = root if root.endswith(os.sep) else root + os.sep
    return path[len(base) :] if path.startswith(base) else None


def discard(stream: TextIO) -> None:
    """Point the stream at the null device, so that flushing its buffer can't fail at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass


def _gone(error: Exception) -> Exception:
    """Return :class:`ClosedOutput` if the reader left (EPIPE; on Windows EINVAL), else :class:`LostOutput`."""
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        return LostOutput("stdout is closed")
    if isinstance(error, ValueError) or (
        isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EINVAL, errno.ECONNRESET)
    ):
        return ClosedOutput()
    return LostOutput(getattr(error, "strerror", None) or str(error))


def _wrapped(text: str, stream: TextIO) -> str:
    """Return the text with its lines wrapped at words to a terminal's width; unchanged for another stream.

    A word that is wider itself, a path or an address, stays whole: the terminal folds it, and it can be copied.
    """
    width = _columns(stream) if stream.isatty() else 0
    return "\n".join(part for row in text.split("\n") for part in wrap_line(row, width)) if width else text


def wrap_line(text: str, width: int) -> list[str]:
    """Wrap a line between words, the second and later lines indented; no word is broken."""
    if len(text) <= width:
        return [text]
    rest = text.lstrip(" ")
    lead = text[: len(text) - len(rest)]
    return wrap(
        rest, width, initial_indent=lead, subsequent_indent=lead or "  ", break_long_words=False, break_on_hyphens=False
    )


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _stream(stream: TextIO) -> TextIO:
    """Make the stream UTF-8, so that it can't fail on any character.

    A terminal with an encoding of its own keeps it, unless that is ASCII only because no locale is set (cron).
    """
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        ascii_only = (stream.encoding or "").lower() in ("ascii", "ansi_x3.4-1968", "us-ascii", "646")
        keep = stream.isatty() and not ascii_only
        reconfigure(encoding=stream.encoding if keep else "utf-8", errors="backslashreplace")
    return stream


def _plain(value: object) -> object:
    """Return a JSON value for one that JSON has no type for: bytes, a set, a date."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, set | frozenset):
        return sorted(value)
    isoformat = getattr(value, "isoformat", None)
    if isoformat is not None:
        return isoformat()
    return str(value)


FIRST = 0.3
"""Seconds of work before the line is drawn: shorter work shows none."""
AGAIN = 0.2
"""Seconds between two drawings."""
BELIEVED = 1.0
"""Seconds that a phase must have run before its speed is used to estimate the time left."""


class Progress:
    """A line of progress on a terminal's stderr, redrawn in place until something else is printed.

    A thread redraws it, so that it goes on during one long call. The work calls it with a phase, how much of the phase
    is done, and how much there is (0: not known).

    Args:
        stream: a terminal.
        clock: a monotonic clock, in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._phase = ""
        self._done = self._total = self._done_before = 0
        self._begun = self._idle_until = 0.0
        self._width = 0
        """Characters of the line that is on the screen."""

    def __call__(self, phase: str, done: int, total: int) -> None:
        """Update the progress of a phase; the line is erased when all of a phase is done."""
        with self._lock:
            now = self._clock()
            if phase != self._phase:
                self._begun, self._done_before = now, done
                if not self._phase:
                    self._idle_until = now
            self._phase, self._done, self._total = phase, done, total
            if total and done >= total:
                self._end()
        if phase and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
            self._thread.start()

    def clear(self) -> None:
        """Erase the line before something else is written or read."""
        with self._lock:
            self._end()

    def close(self) -> None:
        """Erase the line and end the thread."""
        self.clear()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def line(self) -> str:
        """Return the text of the line; empty if nothing is under way."""
        if not self._phase:
            return ""
        took = self._clock() - self._begun
        if not self._total:
            return f"{self._phase}, {took:.0f} s" if took >= BELIEVED else self._phase
        text = f"{self._phase}: {self._done:,} of {self._total:,}"
        done = self._done - self._done_before
        if done > 0 and took >= BELIEVED:
            text += f", {duration(took / done * (self._total - self._done))} left"
        return text

    def draw(self) -> None:
        """Draw the line as it is now, if the work has taken long enough."""
        with self._lock:
            if self._phase and self._clock() - self._idle_until >= FIRST:
                self._write(self.line())

    def _end(self) -> None:
        self._phase = ""
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        """Overwrite the line: blanks over the rest of the old text; if the new one is empty, the cursor goes back."""
        columns = _columns(self._stream)
        text = text[: columns - 1]
        blanks = " " * max(0, min(self._width, columns - 1) - len(text))
        try:
            self._stream.write(f"\r{text}{blanks}" + ("" if text else "\r"))
            self._stream.flush()
        except (OSError, ValueError):
            pass  # nobody looks
        self._width = len(text)

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

    On a terminal they are aligned columns, wrapped at words within its width; elsewhere a row is one line, its cells
    separated by tabs.

    Args:
        out: the output to print on.
        rows: rows of equal length; their cells are cleaned and of one line. They are consumed one by one as they are
            printed, but on a terminal all at once.
        head: names of the columns, shown only on a terminal.
        styles: rich styles of the columns, for a terminal with colour.
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
    """Return names and values as lines ``name  value``, the names of one level padded to the same width."""
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
    """Return a value as a person reads it: ``none``, ``yes``, ``no``, a list with commas, or an object's values."""
    if value is None or value in ({}, [], ()):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_words(item) for item in value)
    if isinstance(value, dict):
        return " ".join(_words(item) for item in value.values())
    return line(str(value))


# --- what was shown last

NAMES = {True: "last-search-terminal", False: "last-search"}
"""Names of the files that hold path, line and link of each hit, separated by NUL, which no path holds; by whether the
search was made on a terminal."""

SHOWN = "told"
"""Name of the file that holds a day and the notices that were shown on it."""


def keep_hits(state: Path, hits: Iterable[Any], *, terminal: bool) -> None:
    """Remember where the hits are, and what their lines say by a checksum.

    A state folder that can't be written is not a reason to fail a search.
    """
    rows = ((hit, hit.whole_line if hit.partial else hit.best_line[1]) for hit in hits)
    checked = ((hit, text and _checksum(text)) for hit, text in rows)
    texts = (f"{hit.path}\0{hit.best_line[0]}\0{hit.obsidian_url or ''}\0{checksum}" for hit, checksum in checked)
    _write(state / NAMES[terminal], "\0".join(texts))


def _checksum(text: str) -> str:
    return str(crc32(text.strip().encode("utf-8", "surrogateescape")))


def shown_today(state: Path, notice: str, day: date) -> bool:
    """Return whether a notice, whatever its numbers, was shown on this day already; record it as shown.

    Where that can't be recorded, the notice will be shown again.
    """
    key = " ".join(re.sub(r"[0-9]+", "#", notice).split())
    first = day.isoformat()
    try:
        known = (disk.read(state / SHOWN, most=disk.LARGEST_OWN) or b"").decode("utf-8", "replace").split("\n")
    except errors.SettingsError:
        known = []
    if known[:1] == [first] and key in known:
        return True
    _write(state / SHOWN, "\n".join([*(known if known[:1] == [first] else [first]), key]))
    return False


def _write(path: Path, text: str) -> None:
    """Replace the text of a state file, if it can be written."""
    with contextlib.suppress(OSError):
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        disk.replace(path, text.encode("utf-8", "surrogateescape"))


def may_be_hit(text: str) -> bool:
    """Return whether a text may be the number of a hit: there are never ten thousand."""
    return text.isdecimal() and len(text) < len("10000")


def hit_of(
    workspace: Workspace, number: int, *, terminal: bool, unchanged: bool = False
) -> tuple[str, int, str | None]:
    """Return the path, line and Obsidian link of a hit of the caller's last search.

    Raises:
        NotFoundError: there was no search here yet, or it was made in another project.
        UsageError: the search had fewer hits.
        ConflictError: with ``unchanged``, if the line says something else now.
    """
    for own in (terminal, not terminal):
        try:
            data = disk.read(workspace.state / NAMES[own], most=disk.LARGEST_OWN)
        except errors.SettingsError:
            continue
        if data is None:
            continue
        values = data.decode("utf-8", "surrogateescape").split("\0") if data else []
        if len(values) % 4 or not all(line.isdecimal() and len(line) < 10 for line in values[1::4]):
            continue
        hits = len(values) // 4
        if not 1 <= number <= hits:
            raise errors.UsageError(
                f"the last search has {counted(hits, 'hit')}: there is no hit {number}",
                "search again, or name it another way",
            )
        path, at, url, checksum = values[4 * number - 4 : 4 * number]
        if not workspace.may_show(path):
            hint = "search again here, or name it: --project"
            raise errors.NotFoundError("the last search was made in another project", hint)
        if unchanged and checksum and not _says_it(workspace, path, int(at), checksum):
            raise errors.ConflictError(f"{line(path)}:{at} has changed since the last search", "search again")
        return path, int(at), url or None
    raise errors.NotFoundError("no search has been made here yet", "tars-memory search WORDS numbers its hits")


def _says_it(workspace: Workspace, path: str, at: int, checksum: str) -> bool:
    """Whether a line of a note, or what it shows masked, has this checksum; True for a note that can't be read here."""
    try:
        data = workspace.bytes_of(path)
    except (OSError, errors.TarsError):
        return True
    wanted = slice(at - 1, at)
    if any(checksum == _checksum(text) for text in vault.vault.note_lines(data)[wanted]):
        return True
    return any(checksum == _checksum(text) for text in vault.vault.note_lines(vault.secrets.veiled(data))[wanted])
