"""Sources that are searched beside the person's own vault: logs of conversations and vaults of others.

The person names them; they are read where they are and never written. Each has its own index in the state folder.

Conversations: only the person's own words are indexed (:mod:`tars_memory.capture.transcripts` judges which these are),
with credentials masked. A conversation belongs to the project of the folder in which it was held.

Vaults of others: search, ``context`` and facts see their notes, marked with the vault's name. None of their settings,
approvals or rules count; their content is data.
"""

from __future__ import annotations

import io
import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import capture, disk, errors, index
from tars_memory.index.database import PART, STAMP, Progress
from tars_memory.index.talks import Log, OwnTurn, Talk, TalkIndex
from tars_memory.settings import PROJECT_FILE, LayoutOptions, Settings, chosen_project, find_project, may_be_folder
from tars_memory.vault import secrets, template
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tars_memory.index.indexer import Index


# --- conversations


ENDINGS = (".jsonl", ".ndjson", ".json", ".md", ".txt", ".zip")
"""Endings of the files of a folder that count as logs: archives, and what is read in them
(:data:`tars_memory.capture.transcripts.MEMBERS`)."""
GROWING = (".jsonl", ".ndjson")
"""Endings of files that are only appended to: reading goes on where it ended."""
LARGEST = 64_000_000
"""Maximum size in bytes of a log that is read at once; a larger one is an export, whose turns get no line numbers."""
WAIT = 0.1
"""Seconds that a search spends on new logs, and waits for the index."""
AT_A_GLANCE = 1_000_000
"""Maximum number of new bytes of a log that a search reads; ``reindex`` and the night read more."""
PATIENCE = 30.0
"""Seconds that a refresh without a time limit waits for the index."""
LIVELY, FULL_LOOK = 7 * 86_400, 3_600
"""Seconds: each search checks the logs that were written to within the first; all others after the second."""
RACY = 2.0
"""Seconds without a change after which a folder's time shows reliably that nothing came or went (git's racy rule)."""
BATCH, PAUSE = 200, 1.0
"""Maximum number of logs in a transaction, and of seconds before the logs read so far are written, so that they are
found."""
LONGEST = 20_000
"""Characters of a turn to index: the rest of a pasted document says nothing more about the person."""
ANSWER = 300
"""Characters of the assistant's answer to show below a turn."""
KEPT_AFTER = 25
"""Days without a new turn after which a night keeps the person's words of a log."""
MOST_DOUBTFUL = 3
"""Maximum number of logs to name that are left out because it is unclear who speaks; the others are counted."""
NEAR = 4_096
"""Bytes at both ends of the part that was read to compare when a log has grown."""


class TalkReport(NamedTuple):
    """The result of a refresh of the conversations.

    Attributes:
        read: number of logs that were read.
        stale: number of logs that are new or changed and not read yet.
        notices: sentences for the person.
    """

    read: int
    stale: int
    notices: list[str]


class Talks:
    """The conversations of one vault's owner.

    Args:
        sources: files and folders of logs.
        folder: the folder of the index.
        places: the program's folders.
        root: the vault's folder.
        projects: the vault's folder of projects, which conversations may belong to.
        withheld: :meth:`tars_memory.workspace.Workspace.withheld`.
        vectors: number of the newest passages that get a vector.
    """

    def __init__(
        self,
        sources: Sequence[str],
        folder: Path,
        places: disk.Places,
        root: Path,
        projects: Path,
        withheld: Callable[..., bool],
        vectors: int,
    ) -> None:
        self.sources = sources
        self.index = TalkIndex(folder, vectors)
        self.withheld = withheld
        self._places = places
        self._root, self._folder = root, projects
        self._projects: dict[str, str] = {}
        """Scopes by the folder of a conversation."""
        self._has_project_file: dict[str, bool] = {}
        self._doubtful: dict[str, str] = {}
        """Logs that can't be searched, with the reason."""

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    def refresh(self, seconds: float | None = WAIT, progress: Progress | None = None) -> TalkReport:
        """Read what is new in the logs, the newest first.

        Args:
            seconds: time limit for reading; the rest counts as stale. None reads all.
            progress: called with the number of logs read.
        """
        report = self.index.with_repair(lambda: self._refreshed(seconds, progress))
        if seconds is None:
            report.notices.extend(self._left_out())
        return report

    def _refreshed(self, seconds: float | None, progress: Progress | None) -> TalkReport:
        """Read new and changed logs, batch by batch, and drop deleted ones; see :meth:`refresh`."""
        notices: list[str] = []
        self._doubtful.clear()
        wait = PATIENCE if seconds is None else WAIT
        self._settle_scopes(wait)
        if seconds is not None and self._looks_the_same():
            return TalkReport(0, 0, notices)
        begun = time.time()
        folders: dict[str, int] = {}
        found = self._found(notices, folders)
        seen = self._seen(found, folders, begun)
        for path in [path for path in found if not path.isprintable()]:  # no hit could name them
            del found[path]
        known = self.index.logs()
        stamps = {
            path: STAMP.pack(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            for path, status in found.items()
        }
        changed = [path for path, stamp in stamps.items() if path not in known or known[path].stamp != stamp]
        changed.sort(key=lambda path: found[path].st_mtime_ns, reverse=True)
        gone = sorted(path for path in known.keys() - set(found) if self.is_gone(path))
        deadline = None if seconds is None else time.monotonic() + seconds
        read = 0
        batch: list[tuple[Log, list[Talk], Log | None]] = []
        started = time.monotonic()
        for number, path in enumerate(changed, 1):
            log = known.get(path)
            size = found[path].st_size
            if deadline is not None:
                if time.monotonic() >= deadline:
                    break
                if size - (log.offset if log is not None and log.before else 0) > AT_A_GLANCE:
                    continue
            batch.append(self._read(path, stamps[path], log))
            if progress:
                progress("conversations", number, len(changed))
            if len(batch) >= BATCH or time.monotonic() - started > PAUSE:
                if not self.index.write(batch, gone, wait):
                    batch = []
                    break
                read += len(batch)
                batch, gone, started = [], [], time.monotonic()
        if self.index.write(batch, gone, wait, seen if read + len(batch) == len(changed) else ""):
            read += len(batch)
        stale = len(changed) - read
        if stale:
            logs = errors.counted(stale, "log of conversations is", "logs of conversations are")
            notices.append(f"{logs} not searched yet: tars-memory reindex reads them")
        return TalkReport(read, stale, notices)

    def _left_out(self) -> list[str]:
        """Return notices about logs just read that can't be searched: a sentence each for the first ones."""
        doubtful = sorted(self._doubtful.items())
        notices = [f"{path} is not searched: {why}" for path, why in doubtful[:MOST_DOUBTFUL]]
        more = len(doubtful) - len(notices)
        if more:
            logs = errors.counted(more, "other log is", "other logs are")
            notices.append(f"{logs} not searched either: it is unclear who speaks")
        return notices

    def rebuild(self, progress: Progress | None = None) -> TalkReport:
        """Read all logs again, into a new file, so that no page and no vector holds what is withheld by now."""
        model = self.index.model()
        self.index.start_over()
        report = self.refresh(None, progress)
        self.index.restore(model)
        return report

    def read_again(self, logs: Collection[str], since: datetime | None = None) -> bool:
        """Read some logs anew, so that the index has what is not withheld by now; ``since`` a write that was undone
        also those that changed after it, and then wait for a busy index.

        Returns:
            False if the index is busy: nothing is written then.
        """
        after = since.timestamp() * 1e9 if since else float("inf")

        def read() -> bool:
            known = {path: log.stamp for path, log in self.index.logs().items() if log.stamp}  # else it is read anyway
            there = [path for path in known if path in logs or max(STAMP.unpack(known[path])[1:3]) >= after]
            batch = [self._read(path, known[path], None) for path in there if os.path.isfile(path)]
            return self.index.write(batch, (), PATIENCE if since else WAIT)

        return self.index.with_repair(read)

    def has_log(self, name: str) -> bool:
        """Whether one of the logs has this file name."""
        return any(os.path.basename(log).casefold() == name.casefold() for log in self._found([], {}))

    def expiring(self, now: float) -> list[str]:
        """Return the logs that their program may soon delete, as Claude Code does: not written to lately, oldest first.

        Args:
            now: seconds since 1970.
        """
        before = now - KEPT_AFTER * 86_400
        old = [(status.st_mtime, path) for path, status in self._found([], {}).items() if status.st_mtime < before]
        return [path for _, path in sorted(old) if path.endswith(GROWING)]

    def is_gone(self, log: str) -> bool:
        """Return whether a log is in no source any more, or was deleted; False if its whole source is unmounted."""
        source = next((path for path in self.sources if log == path or log.startswith(path + os.sep)), None)
        if source is None or os.path.lexists(log):
            return source is None
        return any(True for _ in _entries(source, lambda *_: None))  # without its disk a mount point is an empty folder

    def has_moved(self, folder: str, scope: str) -> bool:
        """Return whether conversations of a folder now belong to another scope than the index records."""
        return bool(folder) and self._scope(folder) != scope

    # --- inside

    def _found(self, notices: list[str], folders: dict[str, int]) -> dict[str, os.stat_result]:
        """Return the status of each log by path; add the times at which their folders changed to ``folders``."""

        def failed(folder: str, error: OSError) -> None:
            notices.append(f"{folder} can't be read: {error.strerror}")

        found: dict[str, os.stat_result] = {}
        for source in self.sources:
            try:
                status = os.stat(source)
            except OSError:
                notices.append(f"{source} does not exist; its conversations are searched as they were last read")
                continue
            if stat.S_ISDIR(status.st_mode):
                before = len(found)
                for entry in _entries(source, failed, folders):
                    with suppress(OSError):  # a link to itself, or a log that is deleted meanwhile
                        if entry.is_file():
                            found[entry.path] = entry.stat()
                if len(found) == before and any(log.startswith(source + os.sep) for log in self.index.logs()):
                    notices.append(
                        f"{source} has no logs; conversations that were in it are searched as they were last read "
                        f"(tars-memory sources remove {source} forgets them)"
                    )
            elif stat.S_ISREG(status.st_mode):
                found[source] = status
        for path in [path for path in found if self._is_note(path)]:
            del found[path]
        return found

    def _seen(self, found: Mapping[str, os.stat_result], folders: Mapping[str, int], now: float) -> str:
        """Return what :meth:`_looks_the_same` compares, as JSON: the time, the sources, folders and recent logs."""
        recent = [(path, _state(status)) for path, status in found.items() if now - status.st_mtime < LIVELY]
        young = (now - RACY) * 1e9  # another change within one tick of the disk's clock would not be seen
        known = [(path, changed if changed < young else 0) for path, changed in folders.items()]
        return json.dumps((now, list(self.sources), known, recent))

    def _is_note(self, path: str) -> bool:
        """Return whether a file is a note of the vault, which is only searched as a note, in its own scope."""
        return path.lower().endswith(".md") and Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(self._root)
        )

    def _looks_the_same(self) -> bool:
        """Return whether the logs are the same as at the last look, and those of the last days have not changed.

        A folder's own time shows whether anything came or went in it. Checking each of 10,000 logs would make a search
        half as expensive again. A new turn in an old log is found within the hour, and by ``reindex`` and the night at
        once.
        """
        try:
            at, sources, folders, recent = json.loads(self.index.seen() or "null") or (0, [], [], [])
            return (
                0 <= time.time() - at < FULL_LOOK
                and sources == self.sources
                and all(os.stat(path).st_mtime_ns == changed for path, changed in folders)
                and all(_state(os.stat(path)) == state for path, state in recent)
            )
        except (OSError, ValueError, TypeError):
            return False

    def _settle_scopes(self, wait: float) -> None:
        """Update the scopes in the index: a folder may belong to another project since its conversations were read."""
        self._projects.clear()
        self._has_project_file.clear()
        scopes = self.index.folders().items()
        moved = {folder: now for folder, scope in scopes if (now := self._scope(folder)) != scope}
        if moved:
            self.index.move(moved, wait)

    def _scope(self, folder: str) -> str:
        """Return the scope of a folder: its project, else the folder itself; '' for no folder."""
        if not folder:
            return ""
        if folder not in self._projects:
            project = ""
            if may_be_folder(folder) and self._is_in_project(folder):
                project = find_project(self._folder, chosen_project(None, {}, Path(folder), self._places, []))
            self._projects[folder] = project or (folder if "/" in folder or "\\" in folder else f"/{folder}")
        return self._projects[folder]

    def _is_in_project(self, folder: str) -> bool:
        """Return whether a folder or one above it has a :data:`PROJECT_FILE`; check each folder once."""
        return any(map(self._has_file, (folder, *map(str, Path(folder).parents))))

    def _has_file(self, folder: str) -> bool:
        if folder not in self._has_project_file:
            self._has_project_file[folder] = os.path.lexists(os.path.join(folder, PROJECT_FILE))
        return self._has_project_file[folder]

    def _read(self, path: str, stamp: bytes, known: Log | None) -> tuple[Log, list[Talk], Log | None]:
        """Read a log; if it was only appended to, read only the new part.

        Returns:
            The log's record, its conversations, and the old record if only the new part was read.
        """
        size = STAMP.unpack(stamp)[0]
        if size > LARGEST:
            return Log(path, stamp, size, b""), self._talks(path, None, path, 0), None
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except OSError:
            return Log(path, stamp, 0, b""), [], None
        growing = path.endswith(GROWING)
        whole = data[: data.rfind(b"\n") + 1] if growing else data
        end = len(whole)
        if known is not None and known.before and growing and _hash_of_ends(data, known.offset) == known.before:
            new = whole[known.offset :]
            talks = self._talks(path, new, io.BytesIO(new), data.count(b"\n", 0, known.offset))
            if len(talks) <= 1 and all(turn.day for talk in talks for turn in talk.said):
                return Log(path, stamp, end, _hash_of_ends(data, end)), talks, known
        talks = self._talks(path, whole, io.BytesIO(whole), 0)
        is_one = growing and len(talks) == 1 and all(turn.day for turn in talks[0].said)
        return Log(path, stamp, end, _hash_of_ends(data, end) if is_one else b""), talks, None

    def _talks(self, path: str, data: bytes | None, source: io.BytesIO | str, lines: int) -> list[Talk]:
        """Return the conversations of a log, or of the part after so many lines."""
        logs = capture.transcripts.read(source, path)
        found = [log for log in logs if not isinstance(log, capture.turns.Unknown)]
        talks: list[Talk] = []
        for transcript in found:
            name = path if len(found) == 1 else f"{path}{PART}{_id(transcript, len(talks))}"
            turns = tuple(self._own_turns(transcript, data, lines))
            if turns:
                title = transcript.title or Path(path).stem
                folder = transcript.folder
                talks.append(Talk(name, self._scope(folder), folder, title, turns[0].day, turns, transcript.automated))
        return talks

    def _own_turns(self, transcript: capture.turns.Transcript, data: bytes | None, lines: int) -> Iterator[OwnTurn]:
        """Yield the person's turns that may be searched, with the beginnings of the answers to them."""
        own = [turn for turn in transcript.turns if turn.role == "user"]
        if own and transcript.doubt:
            self._doubtful[transcript.source] = transcript.doubt
        if not own or transcript.doubt or transcript.is_silent:
            return
        texts, told = _masked([turn.text[:LONGEST] for turn in own])
        answers = _answers(transcript.turns, told)
        places = [lines + turn.line for turn in own]
        if not own[0].line:
            places = _places(data, own, lines) if data is not None else [1] * len(own)
        day = _day(transcript.start)
        digests = transcript.digests()
        for turn, text, place in zip(own, texts, places, strict=True):
            day = _day(turn.time) or day
            kept = tuple(line for line in text if line.strip())
            time = turn.time.isoformat() if turn.time else day
            if kept and not self.withheld(turn.text, time, transcript.source, transcript.id):
                key = f"{turn.time.isoformat()}\n{turn.text}" if turn.time else digests[turn.number - 1]
                identity = disk.blake2b(key.encode("utf-8", "replace"), digest_size=16).digest()
                speaker = turn.speaker if turn.speaker != turn.role else "user"
                answer = answers.get(turn.number, "")
                if answer and self.withheld(answer, time, transcript.source, transcript.id):
                    answer = ""
                yield OwnTurn(place, day, speaker, kept, answer, identity)


def _entries(
    folder: str, failed: Callable[[str, OSError], object], changed: dict[str, int] | None = None
) -> Iterator[os.DirEntry[str]]:
    """Yield the files in and below a folder, at any depth, whose names end as logs' do; links to folders are not
    followed.

    Args:
        folder: the folder to search.
        failed: called with a folder that can't be read, and the error.
        changed: receives the time of the last change in each folder, as of before it is read.
    """
    folders = [folder]
    while folders:
        current = folders.pop()
        try:
            if changed is not None:
                changed[current] = os.stat(current).st_mtime_ns
            with os.scandir(current) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif name.lower().endswith(ENDINGS):
                        yield entry
        except OSError as error:
            failed(current, error)


def _state(status: os.stat_result) -> list[int]:
    """Return size, time and inode, as :meth:`Talks._looks_the_same` compares them."""
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def _hash_of_ends(data: bytes, end: int) -> bytes:
    """Return a hash of the first and the last bytes of the part of a log before ``end``."""
    return disk.blake2b(data[: min(NEAR, end)] + b"\0" + data[max(0, end - NEAR) : end], digest_size=16).digest()


def _id(transcript: capture.turns.Transcript, number: int) -> str:
    """Return a name that distinguishes a conversation from the others of its file."""
    kept = "".join(character for character in transcript.id if character.isalnum() or character in "-_")[:80]
    return kept or str(number + 1)


def _day(time: datetime | None) -> str:
    return time.astimezone().date().isoformat() if time is not None else ""


def _masked(texts: Sequence[str]) -> tuple[list[list[str]], secrets.Taken]:
    """Return the lines of each text with credentials masked, across turns: a label and its value may be in two; and the
    credentials.
    """
    counts = [text.count("\n") + 1 for text in texts]
    said = "\n".join(texts)
    shown = secrets.veil(said)
    lines = iter(shown.replace("\r", " ").split("\n"))
    told = secrets.values(said if shown is not said else "")  # it takes as long as to mask
    return [[next(lines, "") for _ in range(count)] for count in counts], told


def _answers(turns: Iterable[capture.turns.Turn], told: secrets.Taken) -> dict[int, str]:
    """Return the beginning of the first answer to each of the person's turns, by the turn's number; without the
    credentials that the person told.
    """
    answers: dict[int, str] = {}
    question = 0
    for turn in turns:
        if turn.role == "user":
            question = turn.number
        elif turn.role == "assistant" and question:
            text = " ".join(turn.text[: 4 * ANSWER].split())
            answers[question] = secrets.mask(told.hide(text))[:ANSWER]
            question = 0
    return answers


def _places(data: bytes, turns: Sequence[capture.turns.Turn], lines: int) -> list[int]:
    """Return the line number of each turn in the log, found by the beginning of its text, verbatim or as JSON."""
    found: list[int] = []
    at = counted_to = 0
    line = lines + 1
    for turn in turns:
        beginning = turn.text.split("\n", 1)[0][:40]
        forms = dict.fromkeys(
            (
                beginning.encode("utf-8", "replace"),
                *(json.dumps(beginning, ensure_ascii=ascii_only)[1:-1].encode() for ascii_only in (True, False)),
            )
        )
        places = [place for place in (data.find(form, at) for form in forms) if place >= 0]
        if places:
            place = min(places)
            line += data.count(b"\n", counted_to, place)
            at = counted_to = place
            at += 1
        found.append(line)
    return found


# --- vaults of others


class SharedVault:
    """A vault of others.

    Args:
        name: the name that its notes are marked with.
        index: the index of its notes. Its vault has the layout that the notes suggest: its own ``.tars/config.toml``
            is not read.
    """

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.index = index
        self.vault = index.vault

    def path(self, path: str) -> str:
        """Return the absolute path of a note."""
        return os.path.join(self.vault.root, path)

    def refresh(self, patience: float | None) -> list[str]:
        """Bring the index in step with the notes, for ``patience`` seconds at most; return notices.

        Raises:
            TarsError: the vault can't be searched now.
        """
        report = self.index.refresh(index.intake.RefreshBudget(patience=patience))
        if report.unmounted:
            return [f"{self.name} looks unmounted or emptied; it is searched as it was last read"]
        if report.stale:
            return [f"{self.name} is behind by {errors.counted(report.stale, 'note')}: tars-memory reindex"]
        return []


def shared_vaults(
    settings: Settings, own: Path, state: Path, index_of: Callable[[Vault, Path], Index]
) -> tuple[list[SharedVault], list[str]]:
    """Return the shared vaults that exist, and a sentence for each that can't be used.

    Args:
        settings: the person's settings.
        own: the person's own vault.
        state: the folder in which each index gets a folder.
        index_of: returns the index of a vault, kept in a folder.
    """
    found: list[SharedVault] = []
    notices: list[str] = []
    for named in settings.vaults.shared:
        path = Path(os.path.expanduser(named))
        if not path.is_absolute():  # a relative path would depend on where a command is run
            notices.append(f"the shared vault {named!r} is not searched: name its whole path in your config.toml")
            continue
        path = Path(os.path.abspath(path))
        try:
            root = Path(os.path.realpath(path, strict=True))
            empty = not any(root.iterdir())
        except (FileNotFoundError, ValueError):
            empty, root = True, path
        except OSError as error:
            why = "it is a file: name its folder" if isinstance(error, NotADirectoryError) else error.strerror
            notices.append(f"the shared vault {path} is not searched: {why}")
            continue
        if empty:
            notices.append(f"the shared vault {path} does not exist, so it is not searched (unmounted?)")
            continue
        if root in own.parents or own in root.parents:
            notices.append(f"{path} is not a shared vault: it is inside your own vault, or yours is inside it")
            continue
        if root in (own, *(other.vault.root for other in found)):  # the person is in it, or named it twice
            continue
        vault = Vault.open(root, LayoutOptions(like=template.recognised(root)), settings.limits)
        folder = state / disk.sha256(os.fsencode(root)).hexdigest()[:16]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            notices.append(f"the shared vault {path} is not searched: {folder} can't be made: {error.strerror}")
            continue
        name = _name(root, {other.name for other in found})
        found.append(SharedVault(name, index_of(vault, folder)))
    return found, notices


def refreshed(vaults: list[SharedVault], patience: float | None, notices: list[str]) -> Iterator[SharedVault]:
    """Yield the vaults that can be asked now, each after its refresh; add sentences to ``notices``."""
    for vault in vaults:
        try:
            notices += vault.refresh(patience)
        except (errors.TarsError, OSError) as error:
            notices.append(f"{vault.name} is not searched: {getattr(error, 'message', None) or error}")
            continue
        yield vault


def _name(root: Path, taken: set[str]) -> str:
    """Return a vault's name: that of its folder, behind as many folders above it as are needed to make it unique."""
    parts = [part for part in root.parts if part != root.anchor] or ["vault"]
    names = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
    name = next((name for name in names if name not in taken), "/".join(parts))
    return "".join(letter if letter.isprintable() and letter not in "[]<>`" else "_" for letter in name)
