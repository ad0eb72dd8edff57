"""What is searched beside the person's own vault, each with an index of its own in the state folder: folders that the
person named, read where they lie, never written.

Conversations: only the person's own words are indexed (:mod:`tars_memory.capture.transcripts` judges which these are),
with credentials masked. A conversation belongs to the project of the folder in which it was held.

Vaults of others: search, ``context`` and facts see their notes, marked by the vault's name. Nothing of theirs is
believed: no setting, no approval, no rule; what stands in them is data.
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

from tars_memory import capture, index
from tars_memory.disk import Places, blake2b, sha256
from tars_memory.errors import TarsError, UnwritableError, counted
from tars_memory.index.database import PART, STAMP, Progress
from tars_memory.index.talks import Log, OwnTurn, Talk, TalkIndex
from tars_memory.settings import PROJECT_FILE, LayoutOptions, Settings, chosen_project, find_project
from tars_memory.vault.secrets import mask, veil
from tars_memory.vault.template import recognised
from tars_memory.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from tars_memory.capture.turns import Transcript, Turn
    from tars_memory.index.indexer import Index


# --- conversations


ENDINGS = (".jsonl", ".ndjson", ".json", ".md", ".txt", ".zip")
"""Files of a folder that are looked at."""
GROWING = (".jsonl", ".ndjson")
"""Files that are only added to: a look goes on where the last one ended."""
LARGEST = 64_000_000
"""Bytes of a log that is read at once; a larger one is an export, whose turns are not told apart by line."""
WAIT = 0.1
"""Seconds that a reader spends on new logs, and waits for the index."""
AT_A_GLANCE = 1_000_000
"""New bytes of one log that a reader looks at; more is left to ``reindex`` and the night."""
PATIENCE = 30.0
LIVELY, FULL_LOOK = 7 * 86_400, 3_600
"""Seconds: logs written to since are looked at by each search; all others when the last look at them is that old."""
RACY = 2.0
"""Seconds that a folder has to be at rest before its time tells that nothing came or went (git's racy rule)."""
BATCH, PAUSE = 200, 1.0
"""Logs of one transaction at most, and seconds after which what was read is written: it answers from then on."""
LONGEST = 20_000
"""Characters of one turn that are indexed: a pasted document says nothing more about the person."""
ANSWER = 300
"""Characters of an answer that are shown beside what was said."""
KEPT_AFTER = 25
"""Days without a word after which a night keeps what the person said in a log."""
DOUBTFUL_TOLD = 3
"""So many logs of a look are named that are left out because it isn't sure who speaks; the others are counted."""
NEAR = 4_096
"""Bytes at both ends of what was read that are compared when a log has grown."""


class TalkReport(NamedTuple):
    """What a look at the logs came to.

    Attributes:
        read: logs that were read.
        stale: logs that are new or changed and not read yet.
        notices: sentences for the person.
    """

    read: int
    stale: int
    notices: list[str]


class Talks:
    """The conversations of one vault's owner.

    Args:
        sources: files and folders of logs.
        folder: of the index.
        places: of the program.
        root: of the vault.
        projects: its folder of projects, which conversations may belong to.
        withheld: :meth:`tars_memory.workspace.Rooms.withheld`.
        vectors: passages that get one, the newest.
    """

    def __init__(
        self,
        sources: Sequence[str],
        folder: Path,
        places: Places,
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
        self._named: dict[str, bool] = {}
        self._doubtful: dict[str, str] = {}

    def close(self) -> None:
        """Let go of the index."""
        self.index.close()

    def refresh(self, seconds: float | None = WAIT, progress: Progress | None = None) -> TalkReport:
        """Read what is new in the logs, the newest first.

        Args:
            seconds: to spend at most on reading; the rest is told as stale. None: all is read.
            progress: told how many logs are read.
        """
        report = self.index.mended(lambda: self._refreshed(seconds, progress))
        if seconds is None:
            report.notices.extend(self._left_out())
        return report

    def _refreshed(self, seconds: float | None, progress: Progress | None) -> TalkReport:
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
        for path in [path for path in found if not path.isprintable()]:  # what no hit could name
            del found[path]
        known = self.index.logs()
        stamps = {path: _stamp(looked) for path, looked in found.items()}
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
            logs = counted(stale, "log of conversations is", "logs of conversations are")
            notices.append(f"{logs} not searched yet: tars-memory reindex reads them")
        return TalkReport(read, stale, notices)

    def _left_out(self) -> list[str]:
        """The logs just read that can't be searched, a sentence each for the first ones."""
        doubtful = sorted(self._doubtful.items())
        told = [f"{path} is not searched: {why}" for path, why in doubtful[:DOUBTFUL_TOLD]]
        more = len(doubtful) - len(told)
        return [*told, f"nor {counted(more, 'other log')} in which it isn't sure who speaks"] if more else told

    def rebuild(self, progress: Progress | None = None) -> TalkReport:
        """Read all logs again, into a new file: what is withheld by now is in none of its pages, nor in a vector."""
        model = self.index.model()
        self.index.start_over()
        report = self.refresh(None, progress)
        self.index.restore(model)
        return report

    def going(self, now: float) -> list[str]:
        """The logs that their program may delete within days, the oldest first: of Claude Code, not written to lately.

        Args:
            now: seconds since 1970.
        """
        before = now - KEPT_AFTER * 86_400
        old = [(looked.st_mtime, path) for path, looked in self._found([], {}).items() if looked.st_mtime < before]
        return [path for _, path in sorted(old) if path.endswith(GROWING)]

    def is_gone(self, log: str) -> bool:
        """Whether a log is in no source any more, or was deleted; not if its whole source is away."""
        source = next((each for each in self.sources if log == each or log.startswith(each + os.sep)), None)
        return source is None or (not os.path.lexists(log) and not self._is_away(source))

    def moved(self, folder: str, scope: str) -> bool:
        """Whether conversations of a folder belong to another scope by now than the index says."""
        return bool(folder) and self._scope(folder) != scope

    # --- inside

    @staticmethod
    def _is_away(source: str) -> bool:
        """Whether a source holds no log at all: a folder on which a disk is not mounted is there, and empty."""
        return next(_entries(source, lambda *_: None), None) is None

    def _found(self, notices: list[str], folders: dict[str, int]) -> dict[str, os.stat_result]:
        """What each log looks like; when the folders that hold them changed last goes into ``folders``."""
        found: dict[str, os.stat_result] = {}
        for source in self.sources:
            try:
                looked = os.stat(source)
            except OSError:
                notices.append(f"{source} is not there; conversations in it are searched as they were last read")
                continue
            if stat.S_ISDIR(looked.st_mode):
                before = len(found)
                _below(source, found, notices, folders)
                if len(found) == before:
                    notices.append(
                        f"{source} holds no log; conversations that were in it are searched as they were last read "
                        f"(tars-memory sources remove {source} forgets them)"
                    )
            elif stat.S_ISREG(looked.st_mode):
                found[source] = looked
        for path in [path for path in found if self._is_note(path)]:
            del found[path]
        return found

    def _seen(self, found: Mapping[str, os.stat_result], folders: Mapping[str, int], now: float) -> str:
        """What :meth:`_looks_the_same` compares: when, the sources, and what folders and the latest logs were like."""
        recent = [(path, _state(one)) for path, one in found.items() if now - one.st_mtime < LIVELY]
        young = (now - RACY) * 1e9  # what changes again before the clock of the disk has moved on looks the same
        known = [(path, changed if changed < young else 0) for path, changed in folders.items()]
        return json.dumps((now, list(self.sources), known, recent))

    def _is_note(self, path: str) -> bool:
        """Whether a file is a note of the vault: it is searched as that, in its own scope, and by no other way."""
        return path.lower().endswith(".md") and Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(self._root)
        )

    def _looks_the_same(self) -> bool:
        """Whether the same logs are there as at the last look, and those of the last days have not changed.

        A folder's own time tells whether anything came or went in it. A look at each of 10,000 logs would cost a search
        half as much again. One long silent that goes on is seen within the hour, and by ``reindex`` and the night at
        once.
        """
        try:
            at, sources, folders, recent = json.loads(self.index.seen() or "null") or (0, [], [], [])
        except (ValueError, TypeError):
            return False
        if not 0 <= time.time() - at < FULL_LOOK or sources != self.sources:
            return False
        try:
            return all(os.stat(path).st_mtime_ns == changed for path, changed in folders) and all(
                _state(os.stat(path)) == state for path, state in recent
            )
        except OSError:
            return False

    def _settle_scopes(self, wait: float) -> None:
        """A folder may have become a project's, or another one's, since its conversations were read."""
        moved = {}
        self._projects.clear()
        self._named.clear()
        for folder, scope in self.index.folders().items():
            now = self._scope(folder)
            if now != scope:
                moved[folder] = now
        if moved:
            self.index.move(moved, wait)

    def _scope(self, folder: str) -> str:
        """The project of a folder, else the folder itself; '' for none."""
        if not folder:
            return ""
        if folder not in self._projects:
            project = ""
            if os.path.isabs(folder) and "\0" not in folder and self._is_named(folder):
                project = find_project(self._folder, chosen_project(None, {}, Path(folder), self._places, []))
            self._projects[folder] = project or (folder if "/" in folder or "\\" in folder else f"/{folder}")
        return self._projects[folder]

    def _is_named(self, folder: str) -> bool:
        """Whether a file that names a project lies in a folder or above it; each of them is looked into once."""
        if folder not in self._named:
            above = os.path.dirname(folder)
            here = os.path.lexists(os.path.join(folder, PROJECT_FILE))
            self._named[folder] = here or (above != folder and self._is_named(above))
        return self._named[folder]

    def _read(self, path: str, stamp: bytes, known: Log | None) -> tuple[Log, list[Talk], Log | None]:
        """What a log says; with what was known of it if only what was added since was read."""
        size = STAMP.unpack(stamp)[0]
        growing = path.endswith(GROWING) and size <= LARGEST
        if known is not None and known.before and growing and size >= known.offset:
            found = self._read_on(path, stamp, known)
            if found is not None:
                return found
        if size > LARGEST:
            return Log(path, stamp, size, b""), self._talks(path, None, path, 0), None
        try:
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
        except OSError:
            return Log(path, stamp, 0, b""), [], None
        whole = data[: data.rfind(b"\n") + 1] if growing else data
        talks = self._talks(path, whole, io.BytesIO(whole), 0)
        before = b""
        if growing and len(talks) == 1 and all(one.day for one in talks[0].said):
            before = _hash_of_ends(whole[:NEAR], whole[-NEAR:])
        return Log(path, stamp, len(whole), before), talks, None

    def _read_on(self, path: str, stamp: bytes, known: Log) -> tuple[Log, list[Talk], Log] | None:
        """The rest of a log that has grown; None if it is another one by now."""
        try:
            with open(path, "rb") as file:
                head = file.read(min(NEAR, known.offset))
                file.seek(max(0, known.offset - NEAR))
                tail = file.read(min(NEAR, known.offset))
                if _hash_of_ends(head, tail) != known.before:
                    return None
                file.seek(0)
                lines = 0
                left = known.offset
                while left > 0 and (part := file.read(min(left, 1_000_000))):
                    lines += part.count(b"\n")
                    left -= len(part)
                data = file.read(LARGEST)
        except OSError:
            return None
        whole = data[: data.rfind(b"\n") + 1]
        talks = self._talks(path, whole, io.BytesIO(whole), lines)
        if len(talks) > 1 or any(not one.day for talk in talks for one in talk.said):
            return None
        end = (tail + whole)[-NEAR:]
        return Log(path, stamp, known.offset + len(whole), _hash_of_ends((head + whole)[:NEAR], end)), talks, known

    def _talks(self, path: str, data: bytes | None, source: io.BytesIO | str, lines: int) -> list[Talk]:
        """The conversations of a log, or of what was added to it after so many lines."""
        logs = capture.transcripts.read(source, path)
        found = [log for log in logs if not isinstance(log, capture.turns.Unknown)]
        talks: list[Talk] = []
        for transcript in found:
            name = path if len(found) == 1 else f"{path}{PART}{_id(transcript, len(talks))}"
            said = tuple(self._said(transcript, data, lines))
            if said:
                title = transcript.title or Path(path).stem
                held = self._scope(transcript.folder), transcript.folder
                talks.append(Talk(name, *held, title, said[0].day, said, transcript.automated))
        return talks

    def _said(self, transcript: Transcript, data: bytes | None, lines: int) -> Iterator[OwnTurn]:
        """The person's turns."""
        own = [turn for turn in transcript.turns if turn.role == "user"]
        if own and transcript.doubt:
            self._doubtful[transcript.source] = transcript.doubt
        if not own or transcript.doubt or transcript.is_silent:
            return
        texts = _masked([turn.text[:LONGEST] for turn in own])
        answers = _answers(transcript.turns)
        places = _places(data, own, lines) if data is not None else [1] * len(own)
        day = _day(transcript.start)
        digests = transcript.digests()
        for turn, text, place in zip(own, texts, places, strict=True):
            day = _day(turn.time) or day
            kept = tuple(line for line in text if line.strip())
            when = turn.time.isoformat() if turn.time else day
            if kept and not self.withheld(turn.text, when, transcript.source, transcript.id):
                moment = f"{turn.time.isoformat()}\n{turn.text}" if turn.time else digests[turn.number - 1]
                identity = blake2b(moment.encode("utf-8", "replace"), digest_size=16).digest()
                speaker = turn.speaker if turn.speaker != turn.role else "user"
                answer = answers.get(turn.number, "")
                if answer and self.withheld(answer, when, transcript.source, transcript.id):
                    answer = ""
                yield OwnTurn(place, day, speaker, kept, answer, identity)


def _below(folder: str, found: dict[str, os.stat_result], notices: list[str], folders: dict[str, int]) -> None:
    """Look at the logs of a folder and of those in it; links to folders are not followed."""

    def failed(where: str, error: OSError) -> None:
        notices.append(f"{where} can't be read: {error.strerror}")

    for entry in _entries(folder, failed, folders):
        with suppress(OSError):  # a link that leads to itself, or a log that goes meanwhile
            if entry.is_file():
                found[entry.path] = entry.stat()


def _entries(
    folder: str, failed: Callable[[str, OSError], object], changed: dict[str, int] | None = None
) -> Iterator[os.DirEntry[str]]:
    """What is named like a log in a folder and in those below it, however deep they are.

    Args:
        folder: to look into.
        failed: told which folder can't be read, and why.
        changed: takes for each folder when anything came or went in it, as it was before it was looked into.
    """
    folders = [folder]
    while folders:
        where = folders.pop()
        try:
            if changed is not None:
                changed[where] = os.stat(where).st_mtime_ns
            with os.scandir(where) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif name.lower().endswith(ENDINGS):
                        yield entry
        except OSError as error:
            failed(where, error)


def _stamp(looked: os.stat_result) -> bytes:
    """What changes when a file does."""
    return STAMP.pack(looked.st_size, looked.st_mtime_ns, looked.st_ctime_ns, looked.st_ino)


def _state(looked: os.stat_result) -> list[int]:
    return [looked.st_size, looked.st_mtime_ns, looked.st_ino]


def _hash_of_ends(head: bytes, tail: bytes) -> bytes:
    return blake2b(head + b"\0" + tail, digest_size=16).digest()


def _id(transcript: Transcript, number: int) -> str:
    """What tells a conversation from the others of its file."""
    kept = "".join(sign for sign in transcript.id if sign.isalnum() or sign in "-_")[:80]
    return kept or str(number + 1)


def _day(moment: datetime | None) -> str:
    return moment.astimezone().date().isoformat() if moment is not None else ""


def _masked(texts: Sequence[str]) -> list[list[str]]:
    """The lines of each text, credentials masked: a label and its value may stand in two turns."""
    counts = [text.count("\n") + 1 for text in texts]
    lines = iter(veil("\n".join(texts)).replace("\r", " ").split("\n"))
    return [[next(lines, "") for _ in range(count)] for count in counts]


def _answers(turns: Iterable[Turn]) -> dict[int, str]:
    """By the number of a turn of the person how the first answer to it begins."""
    found: dict[int, str] = {}
    asked = 0
    for turn in turns:
        if turn.role == "user":
            asked = turn.number
        elif turn.role == "assistant" and asked:
            text = " ".join(turn.text[: 4 * ANSWER].split())
            found[asked] = mask(text)[:ANSWER]
            asked = 0
    return found


def _places(data: bytes, turns: Sequence[Turn], lines: int) -> list[int]:
    """The line of the log on which each turn stands, found by how it begins, as JSON or as it is."""
    found: list[int] = []
    at = counted_to = 0
    line = lines + 1
    for turn in turns:
        begins = turn.text.split("\n", 1)[0][:40]
        forms = dict.fromkeys(
            (
                begins.encode("utf-8", "replace"),
                *(json.dumps(begins, ensure_ascii=each)[1:-1].encode() for each in (True, False)),
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
    """One such vault.

    Args:
        name: what its notes are marked with.
        index: of its notes. The vault is opened with the layout that these have: its own ``.tars/config.toml`` is not
            read.
    """

    def __init__(self, name: str, index: Index) -> None:
        self.name = name
        self.index = index
        self.vault = index.vault

    def path(self, path: str) -> str:
        """The whole path of a note."""
        return os.path.join(self.vault.root, path)

    def refresh(self, patience: float | None) -> list[str]:
        """Bring its index in step with its notes, as far as there is patience; what to say of that.

        Raises:
            TarsError: it can't be searched now.
        """
        report = self.index.refresh(index.intake.RefreshBudget(patience=patience))
        told = []
        if report.unmounted:
            told.append(f"{self.name} looks unmounted or emptied; it is searched as it was last read")
        elif report.stale:
            told.append(f"{self.name} is behind by {counted(report.stale, 'note')}: tars-memory reindex")
        return told


def shared_vaults(
    settings: Settings, own: Path, state: Path, index_of: Callable[[Vault, Path], Index]
) -> tuple[list[SharedVault], list[str]]:
    """The shared vaults that are there, and a sentence for each that can't be used.

    Args:
        settings: the person's.
        own: the person's own vault.
        state: folder in which each index gets one.
        index_of: gives a vault its index, in a folder.
    """
    found: list[SharedVault] = []
    notices: list[str] = []
    for named in settings.vaults.shared:
        path = Path(os.path.expanduser(named))
        if not path.is_absolute():  # else it would be another folder wherever a command is run
            notices.append(f"the shared vault {named!r} is not searched: name its whole path in your config.toml")
            continue
        path = Path(os.path.abspath(path))
        try:
            root = path.resolve(strict=True)
            empty = not any(root.iterdir())
        except (FileNotFoundError, RuntimeError, ValueError):
            empty, root = True, path
        except OSError as error:
            why = "it is a file, name its folder" if isinstance(error, NotADirectoryError) else error.strerror
            notices.append(f"the shared vault {path} is not searched: {why}")
            continue
        if empty:
            notices.append(f"the shared vault {path} is not there: not searched (unmounted?)")
            continue
        if root == own or root in own.parents or own in root.parents:
            notices.append(f"{path} is not a shared vault: one of it and your own vault is inside the other")
            continue
        if any(root == each.vault.root for each in found):  # named twice, or by a link
            continue
        vault = Vault.open(root, LayoutOptions(like=recognised(root)), settings.limits)
        folder = state / sha256(os.fsencode(root)).hexdigest()[:16]
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            notices.append(f"the shared vault {path} is not searched: {folder} can't be made: {error.strerror}")
            continue
        name = _name(root, {each.name for each in found})
        found.append(SharedVault(name, index_of(vault, folder)))
    return found, notices


def in_step(vaults: list[SharedVault], patience: float | None, notices: list[str]) -> Iterator[SharedVault]:
    """Those that can be asked now, each in step with its notes; sentences go into ``notices``."""
    for each in vaults:
        try:
            notices += each.refresh(patience)
        except (TarsError, UnwritableError, OSError) as error:
            notices.append(f"{each.name} is not searched: {getattr(error, 'message', None) or error}")
            continue
        yield each


def _name(root: Path, taken: set[str]) -> str:
    """What a vault is called: as its folder, with those above it as far as needed to tell it from others."""
    parts = [part for part in root.parts if part != root.anchor] or ["vault"]
    names = ("/".join(parts[-count:]) for count in range(1, len(parts) + 1))
    name = next((name for name in names if name not in taken), "/".join(parts))
    return "".join(sign if sign.isprintable() and sign not in "[]<>`" else "_" for sign in name)
