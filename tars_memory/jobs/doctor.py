"""``doctor``: probe what can go wrong, say what to do about each finding, and with ``fix`` do what is safe.

A finding is safe to mend if nothing that a person wrote can be lost by it: derived data, our own leftovers. What only
the person can decide has an option of its own: ``--adopt`` takes over the state that is kept for the path which the
vault was moved from, ``--restore`` writes lines of ours again that something else overwrote, ``--drop`` makes a
file of a text that waits.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.capture.remember import SECTION, place_spool
from tars_memory.disk import ID_FILE, VAULT_FOLDER, read_id
from tars_memory.errors import (
    BusyError,
    ConflictError,
    ModelUnavailableError,
    NotFoundError,
    SettingsError,
    TarsError,
    UnwritableError,
    UsageError,
    VaultError,
    counted,
)
from tars_memory.index import detached
from tars_memory.index.intake import SEARCH_EMBEDS, RefreshReport
from tars_memory.jobs.merge import ATTRIBUTES, hindered
from tars_memory.jobs.status import DAYS, UNSEARCHED, agents, loaded, model_of, refreshed
from tars_memory.vault import inbox, secrets
from tars_memory.vault.layout import FORGOTTEN, Layout
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import bare, insert_bullet, lines_of
from tars_memory.vault.markdown.lines import unmarked
from tars_memory.vault.model import Splice
from tars_memory.vault.suspicion import conversion, written
from tars_memory.vault.vault import (
    MISNAMED,
    WrongEncodingError,
    has_markers,
    is_conflict_copy,
    is_narrow,
    lacks,
    numbered,
    original_of,
)
from tars_memory.vault.writing.history import RESTORE, LostLine
from tars_memory.vault.writing.journal import NO_FILE, Journal
from tars_memory.vault.writing.store import ELSEWHERE, Spool, Store, Written
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.transaction import writing
from tars_memory.vault.writing.withheld import Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.workspace import Workspace


UNSEEN = "not looked at"
"""The kind of what kept a probe from looking."""
SHOWN = 3
"""Lines of a conflict copy that are shown."""
TEMPLATE = 3
"""Notes that hold the same line before it counts as a template's."""
NAMED = 10
"""Files that are not searched, of one reason, that are named."""
TWIN_LINES, TWIN_OWN = 3, 0.5
"""A numbered note counts as a copy from that many lines on, and if at most this share of them is its own: two notes of
one template share headings, hardly their text."""


class Trouble(NamedTuple):
    """What needs a look.

    Attributes:
        kind: in one or two words.
        message: what it is, and of which file.
        hint: what to do next; a command where there is one.
        path: of the file, relative to the vault; empty for none.
        mend: does it, where that is safe; None where a person must.
    """

    kind: str
    message: str
    hint: str
    path: str = ""
    mend: Callable[[], object] | None = None


def doctor(workspace: Workspace, *, fix: bool = False) -> dict[str, Any]:
    """Settle what a crash left, place what waits, then look; in a dry run only look.

    Args:
        workspace: of the vault.
        fix: also mend what is safe to mend.

    Returns:
        ``findings``: ``kind``, ``path``, ``message``, ``hint``, ``fixable`` and ``fixed`` each; ``notices``.
    """
    told: list[dict[str, Any]] = []
    for what, kind, probe in PROBES:
        if workspace.progress is not None:
            workspace.progress(f"looking at {what}", 0, 0)
        for finding in _probed(kind, probe, workspace):
            if finding.kind == UNSEEN and any(finding.message in each["message"] for each in told):
                continue  # a probe before it said so, and more
            fixed = fix and not workspace.dry_run and finding.mend is not None and _mended(finding)
            said = {"kind": finding.kind, "path": finding.path, "message": finding.message, "hint": finding.hint}
            told.append({**said, "fixable": finding.mend is not None, "fixed": fixed})
    return {"findings": told, "notices": list(workspace.notices)}


def _probed(kind: str, probe: Callable[[Workspace], Iterable[Trouble]], workspace: Workspace) -> Iterator[Trouble]:
    """What a probe finds; what keeps it from looking is a finding, too, and the next one looks all the same."""
    try:
        yield from probe(workspace)
    except VaultError:
        raise  # there is nothing to look at
    except TarsError as error:
        yield Trouble(kind, error.message, error.hint)
    except OSError as error:
        yield Trouble(UNSEEN, f"{error.filename}: {error.strerror}", "check its owner and the disk")


def _mended(finding: Trouble) -> bool:
    assert finding.mend is not None
    try:
        finding.mend()
    except (TarsError, OSError):
        return False  # it stays a finding, with its hint
    return True


def _writes(workspace: Workspace) -> Iterator[Trouble]:
    """Unfinished writes, text that waits, lines of ours that something overwrote, and who holds the lock."""
    store = workspace.store(writes=False)
    refused: dict[str, str] = {}
    readable = _is_readable(store.journal)
    try:
        if readable and not workspace.dry_run:
            store = workspace.store()
            store.recover()
            context = workspace.capture()
            place_spool(context)
            refused = context.spool.refused
    except BusyError as error:
        yield Trouble("busy", error.message, "wait for it, or end that process: the kernel frees its lock")
    except TarsError as error:
        yield Trouble("writing", error.message, error.hint)
    yield from _waiting(workspace, Spool(store.state / "spool"), refused)
    try:
        Withheld(store.state)
    except SettingsError as error:
        yield Trouble("forgotten", error.message, error.hint)
    for name in store.limbo():
        left = f".tars/limbo/{name}"
        yield Trouble(
            "limbo", f"{left} is a save that came while a write was interrupted", "merge it, then remove it", left
        )
    if readable:
        for sentence in store.pending():
            yield Trouble("unfinished", sentence, "the next command that writes settles it: tars-memory doctor")
        for lost in store.lost_lines():
            yield _lost(lost, ours=workspace.vault.layout.is_ours(lost.file))
        for name in store.leftovers():
            yield _leftover(workspace, name, ours=store.is_ours(name))


_OURS = ("journal", "spool", "talks", "shared", "hooks")
"""The folders in a vault's state folder; all else there are files, and sockets while a process lives."""


def _state(workspace: Workspace) -> Iterator[Trouble]:
    """What stands in the place of a file or a folder of our state, and is none."""
    state = workspace.state
    for folder in (state, state / "talks"):
        try:
            found = sorted(os.scandir(folder), key=lambda each: each.name)
        except (FileNotFoundError, NotADirectoryError):
            continue  # there is none, or it is told of with its own folder
        for each in found:
            is_folder = folder == state and each.name in _OURS
            is_socket = stat.S_ISSOCK(each.stat(follow_symlinks=False).st_mode)
            fits = each.is_dir() if is_folder else each.is_file() or is_socket
            if fits or ".damaged" in each.name or each.name == FORGOTTEN:  # that one is only named
                continue
            path = Path(each.path)
            yield Trouble(
                "state",
                f"{path} is not a {'folder' if is_folder else 'regular file'}: what belongs there can't be used",
                f"put back what was there; tars-memory doctor --fix moves it away, to {_aside(path).name}",
                mend=partial(path.rename, _aside(path)),
            )


def _journal(workspace: Workspace) -> Iterator[Trouble]:
    """Files of the journal that are damaged, or not files at all."""
    store = workspace.store(writes=False)
    for path in store.journal.strangers():
        yield Trouble(
            "journal",
            f"{NO_FILE.format(path)}: nothing can be written, history and undo don't work",
            f"put the file back; tars-memory doctor --fix moves what is there away, to {_aside(path).name}",
            mend=partial(path.rename, _aside(path)),
        )
    if not _is_readable(store.journal):
        return
    for path in store.journal.emptied():
        yield Trouble(
            "journal",
            f"{path} was emptied: the writes that it recorded are missing from history and undo; the notes are as they "
            "were written",
            f"put it back from a backup; tars-memory doctor --fix moves it away, to {_aside(path).name}",
            mend=partial(path.rename, _aside(path)),
        )
    for path, count in store.journal.damaged().items():
        yield Trouble(
            "journal",
            f"{path}: damaged lines: {count}; the writes that they recorded are missing from history and undo"
            "; the notes are as they were written",
            f"tars-memory doctor --fix sets them aside, in {path.with_suffix('.damaged').name} beside it",
            mend=partial(store.set_aside, path),
        )


def _is_readable(journal: Journal) -> bool:
    """Whether there is nothing in the place of a file of the journal that is none."""
    try:
        journal.files()
    except UnwritableError:
        return False
    return True


def _aside(path: Path) -> Path:
    """A name beside a file, which nobody reads and nothing bears."""
    aside = path.with_name(f"{path.name}.damaged")
    while os.path.lexists(aside):
        aside = aside.with_name(f"{aside.name}-1")
    return aside


def _waiting(workspace: Workspace, spool: Spool, refused: Mapping[str, str]) -> Iterator[Trouble]:
    """What was typed and is not written: what waits, what can't be placed, what was put aside."""
    for item in spool.pending():
        ours = item.arguments.get("project", "") == workspace.project
        text = repr(item.arguments.get("text", "")) if ours else ELSEWHERE
        why = f": {refused[item.id]}" if item.id in refused and ours else ""
        yield Trouble(
            "spool",
            f"{item.command} {text} waits as {item.id}{why}",
            f"the next command that writes tries again; tars-memory doctor --drop {item.id} makes a file of it instead",
            mend=partial(spool.drop, item, workspace.kept) if item.id in refused else None,
        )
    for item in workspace.unclaimed.pending():
        said = item.arguments
        hidden = workspace.project or said.get("asked_vault") or said.get("asked_project")
        text = "" if hidden else f" {said.get('text', '')!r}"
        yield Trouble(
            "spool",
            f"{item.command}{text} waits as {item.id} for its vault: {_called(said)}",
            "the next command that writes in that vault writes it; "
            f"tars-memory doctor --drop {item.id} makes a file of it",
        )
    for damaged in (*spool.damaged(), *workspace.unclaimed.damaged()):
        hint = "look at it; tars-memory doctor --fix sets it aside, beside the others"
        yield Trouble("spool", f"{damaged} can't be read", hint, mend=partial(spool.set_aside, damaged))
    for path in sorted(workspace.kept.glob("*.txt")):
        command = f"tars-memory {'log' if path.stem.endswith('-log') else 'remember'} --stdin"
        kept, name = (
            (disk.read(path, most=disk.LARGEST_OWN) or b"").decode("utf-8", "surrogateescape"),
            shlex.quote(str(path)),
        )
        into = f"{filter_} < {name} | {command}" if (filter_ := conversion(kept)) else f"{command} < {name}"
        hint = f"{into} writes it; remove it when you don't need it"
        yield Trouble("kept", f"{path} holds words that were typed and are in no note", hint)


def _called(said: Mapping[str, Any]) -> str:
    return f"{said['asked_vault']} was named" if said.get("asked_vault") else f"called in {said.get('asked_folder')}"


def drop(workspace: Workspace, name: str) -> Path | None:
    """Give up what waits in the spool under a name; its words become a file, whose path is returned.

    Raises:
        NotFoundError: nothing waits under that name.
        UnwritableError: the words can't be kept; they still wait.
    """
    for spool in (Spool(workspace.state / "spool"), workspace.unclaimed):
        for item in spool.pending():
            if item.id == name:
                return spool.drop(item, workspace.kept)
    raise NotFoundError(f"nothing waits as {name!r}", "tars-memory doctor lists what does")


def _lost(lost: LostLine, *, ours: bool) -> Trouble:
    return Trouble(
        "lost line",
        f"{lost.file}: {repr(lost.text) if ours else 'a line'}, written {lost.time}, is no longer there, and not by our"
        " doing",
        f"fine if you took it out by hand; else tars-memory doctor --restore {lost.txn} writes it again",
        lost.file,
    )


def _leftover(workspace: Workspace, name: str, *, ours: bool) -> Trouble:
    """A temporary file beside its note: safe to remove if the journal or the note holds all that it says."""
    folder, _, base = name.rpartition("/")
    note = base.lstrip(".").split(".md", 1)[0] + ".md"
    place = workspace.root / folder
    try:
        copy = workspace.vault.read(name)
        original = workspace.vault.read(f"{folder}/{note}" if folder else note)
    except TarsError:
        copy, original = b"?", b""
    said = f"{name} is beside its note"
    if not ours and lacks(original, copy):
        return Trouble("left over", said, "compare the two, then remove it", name)
    knows = "the journal" if ours else "its note"
    return Trouble(
        "left over", said, f"tars-memory doctor --fix removes it: {knows} says all of it", name, (place / base).unlink
    )


def _folders(workspace: Workspace) -> Iterator[Trouble]:
    """What is set, the vault's layout and rights, and those of the state folder."""
    for sentence in (*workspace.settings.unknown_variables(), *workspace.settings.unknown_keys()):
        yield Trouble("settings", sentence, "mend it there; docs/settings.md lists all settings")
    id_file = workspace.root / VAULT_FOLDER / ID_FILE
    if workspace.vault.id is None and os.path.lexists(id_file):
        yield Trouble(
            "layout", f"{id_file} holds no id that could be read", "move it away, and the next write makes one"
        )
    if workspace.vault.layout.problem is not None:
        yield Trouble("layout", workspace.vault.layout.problem.message, workspace.vault.layout.problem.hint)
    for path, other in workspace.vault.layout.twins():
        yield Trouble("layout", f"{path} counts, not {other}: they differ only by case", "make one note of them", other)
    for filter_ in workspace.vault.layout.excluded.not_understood:
        yield Trouble(
            "layout", f"Obsidian excludes {filter_!r}, which is not followed here", "use a plain folder instead"
        )
    if not os.access(workspace.root, os.W_OK):
        said = f"{workspace.root} can't be written"
        yield Trouble("permissions", said, "searches work; what is typed waits in the spool")
    layout = workspace.vault.layout
    for path in (layout.memory, layout.procedural, layout.facts):
        if (workspace.root / path).exists() and not os.access(workspace.root / path, os.W_OK):
            yield Trouble(
                "permissions", f"{path} can't be written", f"chmod u+w {shlex.quote(str(workspace.root / path))}", path
            )
    for folder, path in workspace.settings.places.absent(workspace.root, workspace.vault.id):
        yield Trouble(
            "moved",
            f"a vault of the same id was at {path} and is gone; its history and waiting texts stay in {folder}",
            f"if you moved it here: tars-memory doctor --adopt {shlex.quote(path)}; if its disk is away, leave it",
        )
    state = workspace.state
    if state.is_dir() and os.name == "posix" and stat.S_IMODE(state.stat().st_mode) & 0o077:
        yield Trouble(
            "permissions",
            f"others may look into {state}",
            "tars-memory doctor --fix closes it",
            mend=lambda: os.chmod(state, 0o700),
        )


def _sync(workspace: Workspace) -> Iterator[Trouble]:
    """Conflict copies, notes with unresolved markers, notes that were not downloaded or are not UTF-8."""
    why, hint = hindered(workspace.vault)
    if why:
        yield Trouble("git", f"{ATTRIBUTES} lets git merge the notes by entry, but {why}", hint, ATTRIBUTES)
    for folder, folders, names in os.walk(workspace.root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inside = os.path.relpath(folder, workspace.root).replace(os.sep, "/")
        for name in sorted(names):
            path = name if inside == "." else f"{inside}/{name}"
            if name.startswith(".") and name.endswith(".icloud"):
                shown = path.replace(name, name[1 : -len(".icloud")])
                yield Trouble("not downloaded", f"{shown} is not on this device", "open it in Finder or Files", shown)
            elif name[-3:].lower() == ".md" and is_conflict_copy(name):
                yield _copy(workspace, path)
    paths = workspace.vault.paths()
    known = set(paths)
    twins = {
        path: original
        for path in paths
        if (original := numbered(path)) in known and not workspace.vault.layout.is_session(path)
    }
    common = _common(workspace, [path for path in paths if path not in twins]) if twins else set()
    for path, original in twins.items():
        yield from _twin(workspace, path, original, common)
    yield from _unread(workspace, paths)
    for path, data in workspace.vault.readable(paths):
        if has_markers(data):
            yield Trouble(
                "conflict",
                f"{path} holds unresolved conflict markers (<<<<<<<): it is neither searched nor written",
                "choose between the two versions there",
                path,
            )


def _unread(workspace: Workspace, paths: Iterable[str]) -> Iterator[Trouble]:
    """Notes and proposals that can't be read, or only in part: links in their place, not UTF-8, no proposal."""
    vault, layout = workspace.vault, workspace.vault.layout
    for path in (layout.memory, layout.procedural, layout.facts):
        if vault.look(path) is None and os.path.lexists(workspace.root / path):
            said = f"{path} is a link or no file: it is neither read nor written"
            yield Trouble("skipped", said, "put the note itself there", path)
    for path in paths:
        try:
            data = vault.read(path)
        except WrongEncodingError as error:
            yield Trouble("encoding", error.message, _conversion(path, error.encoding), path)
            continue
        except TarsError:
            continue  # it is named with what is not searched
        if is_narrow(data):
            said = f"{path} is not UTF-8: what is not ASCII is shown as U+FFFD, not found, and not written into it"
            yield Trouble("encoding", said, _conversion(path, "Latin1"), path)
    proposals: list[str] = []
    inbox.pending(vault, proposals)
    for sentence in proposals:
        yield Trouble("proposal", sentence, f"mend it or move it away, in {workspace.root}; review can't ask about it")


def _conversion(path: str, encoding: str) -> str:
    """How a note becomes UTF-8, in the vault's folder."""
    old, new = shlex.quote(path), shlex.quote(f"{path}.new")
    return f"in the vault's folder: iconv -f {encoding.lower()} -t utf-8 {old} > {new} && mv {new} {old}"


def _common(workspace: Workspace, paths: list[str]) -> set[bytes]:
    """The lines that many of these notes hold, as those of one template do: they say nothing of copies."""
    counts = Counter(line for _, data in workspace.vault.readable(paths) for line in lacks(b"", data))
    return {line for line, count in counts.items() if count >= TEMPLATE}


def _twin(workspace: Workspace, path: str, original: str, common: set[bytes]) -> Iterator[Trouble]:
    """A note named as iCloud names a conflict copy, if it says mostly what the note without the number says.

    One that says its own name with the number where the other doesn't (Chapter 2, a theme called Things 3) was given it
    by a person: a copy has the words of its original.
    """
    try:
        copy, held = workspace.vault.read(path), workspace.vault.read(original)
    except (TarsError, OSError):
        return
    name = path.rpartition("/")[2].removesuffix(".md").casefold()
    mine = [line for line in lacks(held, copy) if line not in common]
    if any(name in line.decode("utf-8", "replace").casefold() for line in mine):
        return
    said, own = sum(line not in common for line in lacks(b"", copy)), len(mine)
    if said >= TWIN_LINES and own <= said * TWIN_OWN:
        yield Trouble(
            "conflict copy",
            f"{path} says nearly the same as {original}: iCloud names its copies so. It is searched like any note",
            f"copy what is true from it into {original}, then remove it; or give it a name of its own",
            path,
        )


def _copy(workspace: Workspace, path: str) -> Trouble:
    """A conflict copy: what it says that its note does not."""
    original = original_of(path)
    try:
        copy = workspace.vault.read(path)
    except TarsError as error:
        return Trouble("conflict copy", error.message, error.hint, path)
    try:
        held = workspace.vault.read(original)
    except TarsError:
        said = f"{path} is a copy of {original}, which is not there"
        return Trouble("conflict copy", said, f"rename it to {original} if it is the one to keep", path)
    missing = lacks(held, copy)
    if not missing:
        said = f"{path} says nothing that {original} does not"
        return Trouble("conflict copy", said, "remove it", path)
    some = "; ".join(line.decode("utf-8", "replace")[:80] for line in missing[:SHOWN])
    more = "; …" if len(missing) > SHOWN else ""
    shown = f": {some}{more}" if workspace.vault.layout.is_ours(path) else ""  # of other scopes the place alone
    return Trouble(
        "conflict copy",
        f"{path} has {counted(len(missing), 'line')} that {original} lacks{shown}",
        f"copy what is true from it into {original}, then remove it",
        path,
    )


def _tiers(workspace: Workspace) -> Iterator[Trouble]:
    """The size of what is always loaded, and what of it finds no room."""
    for note in loaded(workspace).notes:
        if not note.heavy:
            continue
        sections = ", ".join(f"{title} {size}" for title, size in note.sections.items())
        said = f"{note.path} has {counted(note.tokens, 'token')}, which every prompt begins with"
        said += f" ({note.grown:+} in {DAYS} days; largest: {sections or 'no headings'})"
        said += f"; {counted(note.limit, 'character')} is a good size" if note.large else ""
        said += f"; context leaves out {counted(note.left_out, 'line')} of it" if note.left_out else ""
        hint = "tars-memory tidy finds what can go; or give context a larger --budget"
        yield Trouble("size", said, hint, note.path)


def _secrets(workspace: Workspace) -> Iterator[Trouble]:
    """Credentials in notes: where and what kind, never the value."""
    for path, data in workspace.vault.readable(sorted(workspace.vault.paths())):
        text = data.decode("utf-8", "surrogateescape")
        line = at = 0
        for found in secrets.find(text):
            line, at = line + len(re.findall(r"\r\n|\r|\n", text[at : found.start])), found.start
            said = f"{path}:{line + 1}: {found.kind}"
            yield Trouble("secret", said, "it is not indexed; keep it in a password manager", path)


def _model(workspace: Workspace) -> Iterator[Trouble]:
    """The embedding model is opened and asked."""
    told = model_of(workspace)
    if told["usable"]:
        workspace.open_embedder().embed_query("a probe of the model")
    else:
        yield Trouble("model", told["reason"], told["hint"])


def _index(workspace: Workspace) -> Iterator[Trouble]:
    """The index is opened, brought in step, and compared with a new one."""
    report = refreshed(workspace)
    told = workspace.index().status()
    yield from _behind(workspace, report)
    if (talks := workspace.talks()) is not None:
        try:
            talks.refresh()
        except TarsError as error:
            yield Trouble("sources", f"conversations are not searched: {error.message}", error.hint)
    if report.pending_vectors and model_of(workspace)["usable"]:
        yield from _without_vector(workspace, report.pending_vectors)
    if not told["vec"]:
        yield Trouble("sqlite", f"no vector index: {told['reason']}", "pip install pysqlite3; the answers are the same")
    yield from _unsearched(workspace)
    if not report.stale and (differences := workspace.index().verify()):
        said = f"the index differs from the notes: {differences[0]}"
        yield Trouble("index", said, "tars-memory reindex --full", mend=lambda: workspace.reindex(full=True))


def _unsearched(workspace: Workspace) -> Iterator[Trouble]:
    """What may be meant to be a note and is not searched, by name."""
    left_out = {**workspace.vault.passed_over, **workspace.index().left_out()}
    for reason, hint in UNSEARCHED.items():
        if paths := left_out.get(reason):
            names = ", ".join(map(written, paths[:NAMED])) + (", …" if len(paths) > NAMED else "")
            whole = paths[0] if len(paths) == 1 and reason != MISNAMED else ""
            yield Trouble("skipped", f"not searched, {reason}: {names}", hint, whole)


def _agents(workspace: Workspace) -> Iterator[Trouble]:
    """The hooks of coding agents, and what these soon forget."""
    for said, hint in agents(workspace):
        yield Trouble("agent", said, hint)


def _shared(workspace: Workspace) -> Iterator[Trouble]:
    """Folders under ``[vaults] shared`` that can't be searched, or only as they were."""
    told: list[str] = []
    for _ in workspace.shared(told):
        pass  # each that can be asked
    for sentence in told:
        yield Trouble("shared", sentence, "is it mounted, and right under [vaults] in your config.toml?")


def _team(workspace: Workspace) -> Iterable[Trouble]:
    """A team's index is asked, if one is set."""
    if (team := workspace.team()) is not None:
        team.told()
    return ()


def _behind(workspace: Workspace, report: RefreshReport) -> Iterator[Trouble]:
    """Notes that are not read yet: somebody must do something about it, unless they are read in the background."""
    if report.stale and not report.unmounted and _goes_on(workspace):
        workspace.notices += report.notices
        return
    for sentence in report.notices:
        yield Trouble("index", sentence, "tars-memory reindex")


def _without_vector(workspace: Workspace, pending: int) -> Iterator[Trouble]:
    """The same of passages without a vector; a few are given theirs, as by a search."""
    few = pending <= SEARCH_EMBEDS
    try:
        if few and not workspace.dry_run and not workspace.index().embed_pending(SEARCH_EMBEDS):
            return
    except ModelUnavailableError:
        return  # the probe of the model says so
    if few:
        workspace.notices.append(f"{counted(pending, 'passage')} without a vector yet: the next search makes them")
    elif _goes_on(workspace):
        workspace.notices.append(f"{counted(pending, 'passage')} without a vector yet: made in the background")
    elif said := workspace.covers(pending):
        yield Trouble("index", said.partition(": ")[0], "tars-memory reindex makes the rest", mend=workspace.reindex)


def _goes_on(workspace: Workspace) -> bool:
    """Whether the index is being finished in the background, or will be when the machine is plugged in."""
    waits = detached.told(workspace.state).ended == detached.BATTERY and detached.on_battery()
    return workspace.goes_on() or waits


PROBES = (
    ("the state folder", UNSEEN, _state),
    ("the journal", UNSEEN, _journal),
    ("the writes", UNSEEN, _writes),
    ("the folders", UNSEEN, _folders),
    ("what is synced", UNSEEN, _sync),
    ("the tiers", UNSEEN, _tiers),
    ("the notes, for credentials", UNSEEN, _secrets),
    ("coding agents", UNSEEN, _agents),
    ("the model", "model", _model),
    ("the index", "index", _index),
    ("the team's index", "team", _team),
    ("shared vaults", UNSEEN, _shared),
)
"""What is looked at, in this order; the kind of finding that it is if it can't be looked at; and how."""


# --- a vault that was moved

_OWN = ("vault.json", "lock")
"""Names in a state folder that are of the folder itself."""


class Adoption(NamedTuple):
    """State of another path that this vault may take over.

    Attributes:
        folder: where it is.
        path: of the vault that it is kept for.
        writes: how many are in its journal.
        waiting: how many texts wait in its spool.
        stands: whether something is at that path, though no vault of this id.
    """

    folder: Path
    path: str
    writes: int
    waiting: int
    stands: bool


def adoptable(workspace: Workspace, path: str | None) -> Adoption:
    """The state that this vault may take over.

    Args:
        workspace: of the vault.
        path: that the vault was moved from; None if there is but one.

    Raises:
        UsageError: an agent asks; or a vault of this id is at that path now, so this one is a copy.
        NotFoundError: none is kept for a vault of this id that was at that path; or none at all, or several.
    """
    if workspace.actor in ("agent", "model"):
        raise UsageError("only a person takes over another path's state", "run it yourself, at a terminal")
    found = workspace.settings.places.absent(workspace.root, workspace.vault.id)
    if path is not None:
        old = Path(os.path.expanduser(path))
        names = {os.path.abspath(old), os.path.realpath(old)}
        if workspace.vault.id is not None and read_id(old) == workspace.vault.id and str(workspace.root) not in names:
            raise UsageError(
                f"{path} is there and is a vault of the same id: {workspace.root} is a copy of it",
                "each of the two keeps its own history; nothing was done",
            )
        found = [each for each in found if each[1] in names]
    if not found:
        of = f" {path}" if path is not None else ""
        raise NotFoundError(
            f"no history is kept for a vault{of} of this id that is gone from its place",
            "tars-memory doctor names the paths for which there is",
        )
    if len(found) > 1:
        paths = ", ".join(shlex.quote(each) for _, each in found)
        raise NotFoundError(f"history is kept for several paths: {paths}", "name one: tars-memory doctor --adopt PATH")
    folder, old_path = found[0]
    writes = sum(1 for _ in Journal(folder / "journal").records(lambda line: b'"t":"begin"' in line))
    return Adoption(folder, old_path, writes, len(Spool(folder / "spool").pending()), os.path.lexists(old_path))


def adopt(workspace: Workspace, adoption: Adoption) -> None:
    """Take over history, undo, approvals and what waits; what was written here since follows it.

    A kill on the way loses nothing: done again, it is completed.

    Raises:
        ConflictError: writes there and here took turns: these are two vaults.
        BusyError: another process writes for one of the two.
        UnwritableError: the state folder can't be written.
    """
    if workspace.dry_run:
        return
    here = workspace.made_state(used=True)
    workspace.close()
    options = workspace.store(writes=False).options
    _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
    for folder in (adoption.folder, here):  # what a killed process left there is settled on the notes as they are here
        Store(workspace.root, folder, now=workspace.now, actor=workspace.actor, options=options).recover()
    locks = [
        VaultLock(folder / "lock", timeout=options.lock_timeout, command="doctor") for folder in (adoption.folder, here)
    ]
    with locks[0].held(), locks[1].held(), writing(os.fspath(here)):
        _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _append(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _gather(here, adoption.folder)
        aside = here.with_name(f".{here.name}.{os.getpid()}")
        here.rename(aside)
        adoption.folder.rename(here)
        workspace.made_state(used=True)
        shutil.rmtree(aside, ignore_errors=True)


def _check_order(old: Journal, new: Journal) -> None:
    """Whether all that was written here was written after what was written there."""
    last = next(old.records(), None)
    first = None
    for record in new.records():
        first = record
    if last is not None and first is not None and str(first["txn"]) <= str(last["txn"]):
        raise ConflictError(
            "both were written to in turn: what is kept for the other path is newer than the first write here",
            "these are two vaults with histories of their own; nothing was done",
        )


def _append(old: Journal, new: Journal) -> None:
    """Put the files of one journal behind those of the other."""
    for path in new.files():
        old.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = old.files()[-1].name[:4] if old.files() else ""
        number = int(last) + 1 if last.isdigit() else 1
        path.rename(old.folder / f"{number:04}-{path.stem[-7:]}.jsonl")


def _gather(source: Path, target: Path) -> None:
    """Move what a state folder holds into another, unless that has it; an index is made again, locks stay."""
    for folder, _, names in os.walk(source):
        inside = target / os.path.relpath(folder, source)
        for name in names:
            path = Path(folder, name)
            derived = folder == os.fspath(source) and (name in _OWN or name.startswith(("index", ".")))
            if derived or not path.is_file() or path.is_symlink() or os.path.lexists(inside / name):
                continue
            inside.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.rename(inside / name)


# --- lines that something else overwrote

ALL = "all"
"""Instead of the name of a transaction: whatever is lost."""

_HEADING = re.compile(rb"#{2,6}[ \t]+(.*)")


def restore(workspace: Workspace, txn: str) -> list[Written]:
    """Write the lines of a transaction again that something else overwrote, each under its old heading.

    Whether a line is missing is asked once more of the note as it is at that moment: another device may have brought
    it back. A note of ours that is gone is made again as it was made.

    Args:
        workspace: of the vault.
        txn: of the write whose lines to have back, or :data:`ALL`.

    Returns:
        A receipt for each bullet that was written.

    Raises:
        NotFoundError: nothing of it is lost.
        UnwritableError: a note can't be written.
    """
    found = workspace.store(writes=False).lost_lines()
    lost = [line for line in found if txn in (line.txn, ALL)]
    if not lost:
        said = "no line is lost" if txn == ALL else f"no line of {txn} is lost"
        raise NotFoundError(said, "tars-memory doctor lists those that are")

    context = workspace.capture()
    with context.writing(RESTORE, None) as session:
        for lines in _bullets(lost):
            if lines[0].created is not None:
                made = _bytes(lines[0].created)
                session.write(lines[0].file, lambda data, made=made: [] if data else [Splice(0, 0, made)])  # type: ignore[misc]
            session.write(
                lines[0].file,
                lambda data, lines=lines: _placed(data or b"", lines, context.layout),  # type: ignore[misc]
            )
        return list(session.written)


def _bullets(lost: Iterable[LostLine]) -> Iterator[list[LostLine]]:
    """Each lost bullet with those of its children that were lost right below it."""
    lines: list[LostLine] = []
    for line in lost:
        last = lines[-1] if lines else None
        below = last is not None and line.text[:1] in (" ", "\t") and (line.txn, line.file) == (last.txn, last.file)
        if last is not None and below and line.above[:1] == (_bytes(last.text),):
            lines.append(line)
            continue
        if lines:
            yield lines
        lines = [line]
    if lines:
        yield lines


def _placed(data: bytes, lines: Sequence[LostLine], layout: Layout) -> Sequence[Splice]:
    """One bullet under its heading, unless it is there by now."""
    first = lines[0]
    if [bare(each) for each in lines_of(data)].count(_bytes(first.text)) >= first.wanted:
        return []
    words = first.text.strip()
    bullet = "\n".join([words if unmarked(words) != words else f"- {words}", *(line.text for line in lines[1:])])
    return insert_bullet(data, bullet, section=_section(Document(data), first) or _usual(layout, first.file))


def _section(document: Document, line: LostLine) -> str:
    """The heading that the line stood under: of the nearest line above it that is still there, or itself a heading."""
    for mark in line.above:
        heading = _HEADING.match(mark)
        if heading:
            return heading[1].decode("utf-8", "surrogateescape").strip()
        if not mark.strip():
            continue
        numbers = [n for n, (start, end, _) in enumerate(document.lines, 1) if document.data[start:end] == mark]
        titles = {document.section_at(number).title for number in numbers}
        if len(titles) == 1 and "" not in titles:
            return titles.pop()
    return ""


def _usual(layout: Layout, path: str) -> str:
    """Where a new line of such a note goes."""
    if layout.day_of(path) is not None:
        return layout.log_heading
    return SECTION if layout.timed(path) else layout.notes_section


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
