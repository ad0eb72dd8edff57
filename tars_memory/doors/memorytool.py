"""Anthropic's memory tool (``memory_20250818``) over a folder of the vault: ``/memories`` is ``agents/NAME/``.

Its answers repeat Anthropic's documentation word for word, and where that is silent, the reference implementation in
their Python SDK: a model gets the answers that it was trained on. Writes go through the vault's only door: the journal
records them as the agent's, and ``undo`` takes them back, for a folder all files together. The files are the agent's
own notes: a search finds them, ``context`` shows them only to that agent.

    tool = MemoryTool("~/Notes", agent="claude")
    tool.answer(block)      # takes a message's tool_use block, returns the tool_result block
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from tars_memory.errors import NotFoundError, TarsError, UsageError, counted, reason
from tars_memory.memory import Memory
from tars_memory.vault import secrets, suspicion
from tars_memory.vault.folder import TEMP_SUFFIX, digest
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from tars_memory.vault.writing.store import WriteSession
    from tars_memory.workspace import Opening

ROOT = "/memories"
TOOL = {"type": "memory_20250818", "name": "memory"}
"""The tool as a request to the Messages API lists it."""

MOST_LINES = 999_999
"""Maximum number of lines of a file to view, as documented."""
LONGEST_FILE = 102_400
"""Maximum size of a written file in bytes, as in Anthropic's own memory stores."""
MOST_FILES = 1_000
"""Maximum number of files in an agent's folder: an agent that runs wild must not fill the vault."""
AROUND = 2
"""Lines to show before and after a replacement, as in the reference implementation."""
DEPTH = 2
"""Levels of folders in a listing."""
LONGEST_NAME = 200
"""Maximum length of a file's name in bytes: the 255 of file systems, with room for the suffix of a temporary file."""

NO_PATH = "The path {} does not exist. Please provide a valid path."


class ToolAnswer(NamedTuple):
    """The answer of a command.

    Attributes:
        text: the text for the model.
        is_error: whether the command failed; nothing was written then.
    """

    text: str
    is_error: bool = False


class MemoryToolError(TarsError):
    """A command can't be carried out; the message is the answer."""


class MemoryTool:
    """The commands ``view``, ``create``, ``str_replace``, ``insert``, ``delete`` and ``rename`` for one agent.

    Args:
        vault: the vault's folder, None to find it, or a memory that is open.
        agent: the name of its folder below ``agents/``.
        opening: as for :class:`tars_memory.memory.Memory`; the actor is always ``agent``.

    Attributes:
        memory: the opened vault; ``memory.undo()`` takes the last command back.

    Raises:
        UsageError: no folder can have the agent's name.
        VaultError: there is no vault.
    """

    def __init__(
        self, vault: str | os.PathLike[str] | Memory | None = None, *, agent: str = "claude", **opening: Unpack[Opening]
    ) -> None:
        if _is_odd(agent):
            raise UsageError(f"{agent!r} is not a name for an agent's folder", "give a plain one, such as claude")
        opening["actor"] = "agent"
        self.memory = vault if isinstance(vault, Memory) else Memory(vault, **opening)
        self._agent = agent

    def __enter__(self) -> MemoryTool:
        return self

    def __exit__(self, *_: object) -> None:
        self.memory.close()

    @property
    def folder(self) -> str:
        """The folder of the files, relative to the vault."""
        vault = self.memory.workspace.vault
        return f"{vault.layout.agents}/{vault.agent_named(self._agent)}"

    def answer(self, block: Any) -> dict[str, Any]:
        """Carry out a block of type ``tool_use``, and return the block of type ``tool_result``.

        Args:
            block: a mapping, or an object of Anthropic's SDK.
        """
        use_id, command = (block["id"], block["input"]) if isinstance(block, Mapping) else (block.id, block.input)
        answer = self.execute(command)
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": use_id, "content": answer.text}
        return result | ({"is_error": True} if answer.is_error else {})

    def execute(self, command: Mapping[str, Any]) -> ToolAnswer:
        """Carry out a command; an invalid one is answered with an error.

        Args:
            command: the input of a ``tool_use``: ``command``, and its arguments.
        """
        commands = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }
        name = command.get("command")
        run = commands.get(name) if isinstance(name, str) else None
        if run is None:
            return ToolAnswer(f"Error: Unknown command: {name}. It is one of {', '.join(commands)}", is_error=True)
        try:
            return ToolAnswer(run(command))
        except MemoryToolError as error:
            return ToolAnswer(error.message, is_error=True)
        except TarsError as error:
            folder = os.fspath(self.memory.workspace.root / self.folder)
            return ToolAnswer(f"Error: {reason(error).replace(folder, ROOT)}", is_error=True)

    # --- the commands

    def _view(self, arguments: Mapping[str, Any]) -> str:
        named = _text(arguments, "path")
        path = self._path(named)
        kind = self._kind(path)
        if kind == "folder" or path == self.folder:
            return self._listing(named, path)
        if kind != "file":
            raise MemoryToolError(NO_PATH.format(named))
        lines = _shown(self._read(path)).split("\n")
        if len(lines) > MOST_LINES:
            raise MemoryToolError(f"File {named} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(arguments.get("view_range"), len(lines))
        return f"Here's the content of {named} with line numbers:\n{_numbered(lines, first, last)}"

    def _create(self, arguments: Mapping[str, Any]) -> str:
        named, text = _text(arguments, "path"), _text(arguments, "file_text")
        path = self._path(named)
        if self._kind(path) or path == self.folder:
            raise MemoryToolError(f"Error: File {named} already exists")
        if len(self._files(self.folder)) >= MOST_FILES:
            raise MemoryToolError(f"Error: {ROOT} already has {counted(MOST_FILES, 'file')}. Please delete one first")
        kept, notices = self._writable(text)
        data = _bytes(kept)
        _check_size(named, len(data))

        def new(existing: bytes | None) -> Sequence[Splice]:
            if existing not in (None, data):
                raise MemoryToolError(f"Error: File {named} already exists")
            return ()

        with self._session("memory create") as session:
            session.write(path, new, create=data, restore=True)
        return f"File created successfully at: {named}{notices}"

    def _str_replace(self, arguments: Mapping[str, Any]) -> str:
        named, old, new = _text(arguments, "path"), _text(arguments, "old_str"), _text(arguments, "new_str", "")
        path = self._path(named)
        if self._kind(path) != "file":
            raise MemoryToolError(f"Error: {NO_PATH.format(named)}")
        wanted, (kept, notices) = _bytes(old), self._writable(new)

        def replaced(data: bytes | None) -> Sequence[Splice]:
            places = [match.start() for match in re.finditer(re.escape(wanted), data or b"")] if wanted else []
            if not places:
                raise MemoryToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {named}."
                )
            assert data is not None
            if len(places) > 1:
                lines = ", ".join(str(data.count(b"\n", 0, at) + 1) for at in places)
                raise MemoryToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            splice = Splice(places[0], places[0] + len(wanted), _bytes(kept))
            _check_size(named, len(data) + len(splice.data) - len(wanted))
            return (splice,) if splice.data != wanted else ()

        before = self._read(path)
        with self._session("memory str_replace") as session:
            written = session.write(path, replaced)
        number = before.count(b"\n", 0, max(0, before.find(wanted))) + 1
        lines = _shown(written.text).split("\n")
        snippet = _numbered(lines, max(1, number - AROUND), min(len(lines), number + AROUND))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            f"{snippet}{notices}"
        )

    def _insert(self, arguments: Mapping[str, Any]) -> str:
        named, text = _text(arguments, "path"), _text(arguments, "insert_text")
        path, after = self._path(named), arguments.get("insert_line")
        if self._kind(path) != "file":
            raise MemoryToolError(f"Error: The path {named} does not exist")
        kept, notices = self._writable(text.rstrip("\n"))

        def inserted(data: bytes | None) -> Sequence[Splice]:
            data = data or b""
            lines = data.removesuffix(b"\n").split(b"\n") if data else []
            if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after <= len(lines):
                raise MemoryToolError(
                    f"Error: Invalid `insert_line` parameter: {after}. It should be within the range of lines of the "
                    f"file: [0, {len(lines)}]"
                )
            at = min(len(data), sum(len(line) + 1 for line in lines[:after]))
            newline = b"" if at == 0 or data[at - 1 : at] == b"\n" else b"\n"
            splice = Splice(at, at, newline + _bytes(kept) + b"\n")
            _check_size(named, len(data) + len(splice.data))
            return (splice,)

        with self._session("memory insert") as session:
            session.write(path, inserted)
        return f"The file {named} has been edited.{notices}"

    def _delete(self, arguments: Mapping[str, Any]) -> str:
        named = _text(arguments, "path")
        path = self._path(named)
        if path == self.folder:
            raise MemoryToolError(f"Error: Cannot delete the {ROOT} directory itself")
        files = self._below(path)
        if not files:
            raise MemoryToolError(f"Error: The path {named} does not exist")
        with self._session("memory delete", atomic=True) as session:
            for file in files:
                data = session.read(file)
                if data is not None and session.remove(file, digest(data)) is None:
                    raise MemoryToolError(f"Error: {named} changed in the meantime. Please view it and try again")
            session.remove_empty(path)
        return f"Successfully deleted {named}"

    def _rename(self, arguments: Mapping[str, Any]) -> str:
        old, new = _text(arguments, "old_path"), _text(arguments, "new_path")
        source, target = self._path(old), self._path(new)
        if source == self.folder:
            raise MemoryToolError(f"Error: Cannot rename the {ROOT} directory itself")
        if self._kind(target) or target == self.folder:
            raise MemoryToolError(f"Error: The destination {new} already exists")
        files = self._below(source)
        if not files:
            raise MemoryToolError(f"Error: The path {old} does not exist")
        if target.startswith(f"{source}/"):
            raise MemoryToolError(f"Error: {old} cannot be renamed into itself")
        with self._session("memory rename", atomic=True) as session:
            for file in files:
                if not session.move(file, target + file[len(source) :]):
                    raise MemoryToolError(f"Error: {old} changed in the meantime. Please view it and try again")
            session.remove_empty(source)
        return f"Successfully renamed {old} to {new}"

    # --- files and folders

    def _session(self, command: str, *, atomic: bool = False) -> AbstractContextManager[WriteSession]:
        """Open a session of writes as the agent."""
        store = self.memory.workspace.store()
        store.actor = "agent"
        return store.session(command, self.memory.workspace.vault, atomic=atomic)

    def _path(self, named: str) -> str:
        """Return the vault path of a path below ``/memories``.

        Raises:
            MemoryToolError: the path could lead elsewhere, or no file here may have that name.
        """
        if named != ROOT and not named.startswith(f"{ROOT}/"):
            raise MemoryToolError(f"Error: Path must start with {ROOT}, got: {named}")
        steps = [step for step in named[len(ROOT) :].split("/") if step]
        if ".." in steps or "\\" in named or re.search(r"%(2e|2f|5c|00)", named, re.IGNORECASE):
            raise MemoryToolError(f"Error: Path {named} would escape {ROOT} directory")
        for step in steps:
            if _is_odd(step):
                raise MemoryToolError(
                    f"Error: {step!r} in {named!r} is not a name for a file here. Please use a plain one"
                )
        return "/".join([self.folder, *steps])

    def _kind(self, path: str) -> str:
        """Return ``file``, or ``folder`` for one with files in it; empty if nothing is there.

        Raises:
            MemoryToolError: a step of the path is a link, or the path is neither a file nor a folder.
        """
        at = os.fspath(self.memory.workspace.root)
        mode = 0
        for step in path.split("/"):
            at = os.path.join(at, step)
            try:
                mode = os.lstat(at).st_mode
            except (FileNotFoundError, NotADirectoryError):
                return ""
            except OSError as error:
                raise MemoryToolError(f"Error: {step!r} can't be looked at: {error.strerror}") from error
            if stat.S_ISLNK(mode):
                raise MemoryToolError(f"Error: Path would escape {ROOT} directory via symlink")
        if stat.S_ISDIR(mode):
            return "folder" if self._files(path) else ""
        if not stat.S_ISREG(mode):
            raise MemoryToolError("Error: Unsupported file type")
        return "file"

    def _below(self, path: str) -> list[str]:
        """Return the file of that path, or the files in that folder; nothing if there is neither."""
        kind = self._kind(path)
        return [path] if kind == "file" else list(self._files(path)) if kind else []

    def _files(self, path: str) -> dict[str, int]:
        """Return the files in and below a folder, sorted, with their sizes; without links and hidden files."""
        return dict(sorted(self._walk(path)))

    def _walk(self, path: str) -> Iterator[tuple[str, int]]:
        """Yield the files of a folder and of those below it, with their sizes; not what the system can't look at."""
        try:
            with os.scandir(os.path.join(self.memory.workspace.root, path)) as found:
                entries = [entry for entry in found if entry.name[0] != "." and not entry.is_symlink()]
        except OSError:
            return
        for entry in entries:
            if entry.is_dir():
                yield from self._walk(f"{path}/{entry.name}")
            elif entry.is_file():
                with suppress(OSError):
                    yield f"{path}/{entry.name}", entry.stat().st_size

    def _listing(self, named: str, path: str) -> str:
        """Return the answer that lists a folder's files and folders, two levels deep."""
        self._kind(path)  # refuses links
        sizes: dict[str, int] = {}
        for file, size in self._files(path).items():
            steps = file[len(path) + 1 :].split("/")
            if "node_modules" in steps:
                continue
            for depth in range(min(len(steps), DEPTH) + 1):
                shown = "/".join([named.rstrip("/"), *steps[:depth]])
                sizes[shown] = sizes.get(shown, 0) + size
        top = named.rstrip("/")
        rows = [f"{_size(sizes.pop(top, 0))}\t{top}", *(f"{_size(size)}\t{shown}" for shown, size in sizes.items())]
        head = f"Here're the files and directories up to {DEPTH} levels deep in {named}, excluding hidden items and "
        return "\n".join([f"{head}node_modules:", *rows])

    def _read(self, path: str) -> bytes:
        try:
            return self.memory.workspace.vault.read(path)
        except NotFoundError:
            return b""

    def _writable(self, text: str) -> tuple[str, str]:
        """Return the text without credentials and invisible characters, and notices about that, a line each."""
        caller = self.memory.workspace.capture(writes=False)
        caller.notices, caller.interactive = [], False
        kept = "\r".join(map(suspicion.visible, caller.masked(text).split("\r")))
        return kept, "".join(f"\nNote: {notice}" for notice in caller.notices)


def _check_size(named: str, size: int) -> None:
    """Refuse a file that would be too large.

    Raises:
        MemoryToolError: the file would have more than :data:`LONGEST_FILE` bytes.
    """
    if size > LONGEST_FILE:
        raise MemoryToolError(
            f"Error: {named} would be larger than {LONGEST_FILE:,} bytes. Please split it into several files"
        )


def _is_odd(name: str) -> bool:
    """Return whether a name is not allowed: it is hidden, leads elsewhere, or some system can't hold it."""
    odd = name[:1] in ("", ".") or name.endswith(TEMP_SUFFIX) or len(_bytes(name)) > LONGEST_NAME
    return odd or not name.isprintable() or name != name.strip() or any(character in name for character in '/\\:*?"<>|')


def _text(arguments: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return an argument that is a text.

    Raises:
        MemoryToolError: the argument is missing or not a text.
        UsageError: the text holds characters that a note can't hold.
    """
    text = arguments.get(name, default)
    if not isinstance(text, str):
        raise MemoryToolError(f"Error: `{name}` is missing or not a text")
    suspicion.check_text(text, f"`{name}`")
    return text


def _range(view_range: Any, lines: int) -> tuple[int, int]:
    """Return the first and the last line to show, as the reference implementation reads ``view_range``."""
    if view_range is None:
        return 1, lines
    is_pair = isinstance(view_range, list | tuple) and len(view_range) == 2
    if not is_pair or not all(type(number) is int for number in view_range):
        raise MemoryToolError("Error: Invalid `view_range` parameter. It should be a list of two whole numbers")
    first, last = max(1, view_range[0]), lines if view_range[1] == -1 else min(lines, view_range[1])
    if first > max(1, last):
        raise MemoryToolError(
            f"Error: Invalid `view_range` parameter: {list(view_range)}. It should be within the range of lines of the "
            f"file: [1, {lines}]"
        )
    return first, last


def _numbered(lines: Sequence[str], first: int, last: int) -> str:
    """Return the lines, each behind its number, six characters wide, and a tab."""
    return "\n".join(f"{number:6d}\t{lines[number - 1]}" for number in range(first, last + 1))


def _size(count: int) -> str:
    """Format a size as the documentation does: ``0B``, ``512B``, ``5.5K``, ``1.2M``."""
    size, unit = float(count), "B"
    for unit in ("B", "K", "M", "G"):
        if size < 1024 or unit == "G":
            break
        size /= 1024
    return f"{size:.1f}".removesuffix(".0") + unit


def _bytes(text: str) -> bytes:
    """Encode a text, which :func:`_text` has checked."""
    return text.encode("utf-8", "replace")


def _shown(data: bytes) -> str:
    """Return a file's text with credentials masked, line by line, since an agent's reading goes to a model."""
    return secrets.veiled(data).decode("utf-8", "replace")
