"""``doctor``: check everything that can go wrong, say what to do about each finding, and with ``fix`` do what is safe.

A fix is safe if it can lose nothing that a person wrote: it touches derived data and our own leftovers. What only the
person can decide has an option of its own: ``--adopt`` takes over the state that is kept for the path from which the
vault was moved, ``--restore`` rewrites lines of ours that something else overwrote, ``--drop`` turns a spooled text
into a file.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
from collections import Counter, deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk, errors, vault
from tars_memory.capture.remember import SECTION, place_spool
from tars_memory.disk import ID_FILE, VAULT_FOLDER, read_id
from tars_memory.errors import NotFoundError, TarsError, UsageError, counted
from tars_memory.index import detached, intake
from tars_memory.jobs.forgetting import stop_withholding_undone
from tars_memory.jobs.merge import ATTRIBUTES, merge_problem
from tars_memory.jobs.status import DAYS, UNSEARCHED, agents, current_model, loaded, recommended, refresh_index
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.markdown.edits import insert_bullet, texts_of
from tars_memory.vault.markdown.lines import unmarked
from tars_memory.vault.model import Splice
from tars_memory.vault.writing.history import RESTORE, LostLine
from tars_memory.vault.writing.journal import NO_FILE, Journal
from tars_memory.vault.writing.store import ELSEWHERE, Spool, Store, Written
from tars_memory.vault.writing.system import VaultLock
from tars_memory.vault.writing.transaction import writing
from tars_memory.vault.writing.withheld import Withheld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tars_memory.workspace import Workspace


UNSEEN = "not checked"
"""The kind of a finding about an error that kept a check from running."""
SHOWN = 3
"""Maximum number of lines of a conflict copy that are shown."""
TEMPLATE = 3
"""Number of notes with the same line from which on it counts as a template's."""
NAMED = 10
"""Maximum number of unsearched files that are named per reason."""
TWIN_LINES, TWIN_OWN = 3, 0.5
"""A numbered note counts as a copy if it has at least this many lines, and if at most this share of them is its own:
two notes made from one template share headings, but hardly their text."""


class Diagnosis(NamedTuple):
    """A problem that a check found.

    Attributes:
        kind: in one or two words.
        message: what is wrong, and with which file.
        hint: what to do next; a command where there is one.
        path: of the file, relative to the vault; empty for none.
        fix: fixes it, if that is safe; None if a person has to.
    """

    kind: str
    message: str
    hint: str
    path: str = ""
    fix: Callable[[], object] | None = None


def doctor(workspace: Workspace, *, fix: bool = False) -> dict[str, Any]:
    """Run all checks; unless in a dry run, also recover unfinished writes and place spooled items.

    Args:
        workspace: of the vault.
        fix: also fix what can be fixed safely.

    Returns:
        ``findings``, each with ``kind``, ``path``, ``message``, ``hint``, ``fixable`` and ``fixed``; ``notices``.
    """
    findings: list[dict[str, Any]] = []
    for subject, kind, check in CHECKS:
        if workspace.progress is not None:
            workspace.progress(f"checking {subject}", 0, 0)
        for finding in _findings(kind, check, workspace):
            if finding.kind == UNSEEN and any(finding.message in known["message"] for known in findings):
                continue  # an earlier check said so, and more
            fixed = fix and not workspace.dry_run and finding.fix is not None and _apply(finding.fix)
            shown = {"kind": finding.kind, "path": finding.path, "message": finding.message, "hint": finding.hint}
            findings.append({**shown, "fixable": finding.fix is not None, "fixed": fixed})
    return {"findings": findings, "notices": list(workspace.notices)}


def _findings(
    kind: str, check: Callable[[Workspace], Iterable[Diagnosis]], workspace: Workspace
) -> Iterator[Diagnosis]:
    """Run a check; an error that stops it becomes a finding, so that the next check runs all the same."""
    try:
        yield from check(workspace)
    except errors.VaultError:
        raise  # there is no vault to check
    except TarsError as error:
        yield Diagnosis(kind, error.message, error.hint)
    except OSError as error:
        yield Diagnosis(UNSEEN, f"{error.filename}: {error.strerror}", "check its owner and the disk")


def _apply(fix: Callable[[], object]) -> bool:
    """Apply a fix; return whether it worked."""
    try:
        fix()
    except (TarsError, OSError):
        return False
    return True


def _writes(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find unfinished writes, spooled texts, overwritten lines of ours, and a process that holds the lock."""
    store = workspace.store(writes=False)
    refused: dict[str, str] = {}
    readable = _is_readable(store.journal)
    try:
        if readable and not workspace.dry_run:
            store = workspace.store()
            store.recover()
            stop_withholding_undone(workspace)
            context = workspace.capture()
            place_spool(context)
            refused = context.spool.refused
    except errors.BusyError as error:
        yield Diagnosis("busy", error.message, "wait for it, or end that process: the kernel frees its lock")
    except TarsError as error:
        yield Diagnosis("writing", error.message, error.hint)
    yield from _typed_texts(workspace, store.spool, refused)
    try:
        Withheld(store.state)
    except errors.SettingsError as error:
        yield Diagnosis("forgotten", error.message, error.hint)
    for name in store.limbo():
        path = f".tars/limbo/{name}"
        yield Diagnosis(
            "limbo", f"{path} is a save that came while a write was interrupted", "merge it, then remove it", path
        )
    if readable:
        for sentence in store.pending():
            yield Diagnosis("unfinished", sentence, "the next command that writes settles it: tars-memory doctor")
        for lost in store.lost_lines():
            yield _lost_line(lost, ours=workspace.vault.layout.is_ours(lost.file))
        for name in store.leftovers():
            yield _leftover(workspace, name, ours=store.is_own_leftover(name))


_FOLDERS = ("journal", "spool", "talks", "shared", "hooks")
"""The folders in a vault's state folder; everything else there is a file, or the socket of a running process."""


def _state(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find folders in the place of files of our state, and the reverse."""
    state = workspace.state
    for folder in (state, state / "talks"):
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue  # there is none, or its parent's check finds that it is not a folder
        for entry in entries:
            is_folder = folder == state and entry.name in _FOLDERS
            is_socket = stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
            fits = entry.is_dir() if is_folder else entry.is_file() or is_socket
            if fits or ".damaged" in entry.name or entry.name == vault.layout.FORGOTTEN:  # _writes reports that one
                continue
            kind = "folder" if is_folder else "regular file"
            message = f"{entry.path} is not a {kind}: the file that belongs there can't be used"
            yield _misplaced("state", Path(entry.path), message, "put back what was there")


UNRECORDED = "the writes that {} recorded are missing from history and undo; the notes are as they were written"


def _journal(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find files of the journal that are damaged, or not files at all."""
    store = workspace.store(writes=False)
    for path in store.journal.strangers():
        message = f"{NO_FILE.format(path)}: nothing can be written, history and undo don't work"
        yield _misplaced("journal", path, message, "put the file back", "what is there")
    if not _is_readable(store.journal):
        return
    for path in store.journal.emptied():
        message = f"{path} was emptied: {UNRECORDED.format('it')}"
        yield _misplaced("journal", path, message, "put it back from a backup")
    for path, count in store.journal.damaged().items():
        yield Diagnosis(
            "journal",
            f"{path}: damaged lines: {count}; {UNRECORDED.format('they')}",
            f"tars-memory doctor --fix sets them aside, in {path.with_suffix('.damaged').name} beside it",
            fix=partial(store.set_aside, path),
        )


def _is_readable(journal: Journal) -> bool:
    """Whether all files of the journal are files."""
    try:
        journal.files()
    except errors.UnwritableError:
        return False
    return True


def _misplaced(kind: str, path: Path, message: str, hint: str, what: str = "it") -> Diagnosis:
    """Describe what can't be used in its place; the fix moves it to an unused name beside it, which no code of ours
    reads.
    """
    aside = path.with_name(f"{path.name}.damaged")
    while os.path.lexists(aside):
        aside = aside.with_name(f"{aside.name}-1")
    hint += f"; tars-memory doctor --fix moves {what} away, to {aside.name}"
    return Diagnosis(kind, message, hint, fix=partial(path.rename, aside))


def _typed_texts(workspace: Workspace, spool: Spool, refused: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Find typed texts that are in no note: spooled ones, those that can't be placed, and those put aside."""
    for item in spool.pending():
        ours = item.arguments.get("project", "") == workspace.project
        text = repr(item.arguments.get("text") or item.arguments.get("title", "")) if ours else ELSEWHERE
        why = f": {refused[item.id]}" if item.id in refused and ours else ""
        yield Diagnosis(
            "spool",
            f"{item.command} {text} waits as {item.id}{why}",
            f"the next command that writes tries again; tars-memory doctor --drop {item.id} makes a file of it instead",
            fix=partial(spool.drop, item, workspace.kept_folder) if item.id in refused else None,
        )
    unclaimed = Spool(workspace.unclaimed)
    for item in unclaimed.pending():
        asked = item.arguments
        hidden = workspace.project or asked.get("asked_vault") or asked.get("asked_project")
        text = "" if hidden else f" {asked.get('text') or asked.get('title', '')!r}"
        named, folder = asked.get("asked_vault"), asked.get("asked_folder")
        origin = f"{named} was named" if named else f"called in {folder}"
        yield Diagnosis(
            "spool",
            f"{item.command}{text} waits as {item.id} for its vault: {origin}",
            "the next command that writes in that vault writes it; "
            f"tars-memory doctor --drop {item.id} makes a file of it",
        )
    for damaged in (*spool.damaged(), *unclaimed.damaged()):
        hint = "look at it; tars-memory doctor --fix sets it aside, beside the others"
        yield Diagnosis("spool", f"{damaged} can't be read", hint, fix=partial(spool.set_aside, damaged))
    for path in sorted(workspace.kept_folder.glob("*.txt")):
        command = f"tars-memory {'log' if path.stem.endswith('-log') else 'remember'} --stdin"
        first, *rest = [*vault.suspicion.conversion(disk.read(path, most=disk.LARGEST_OWN) or b""), command]
        pipeline = " | ".join((f"{first} < {shlex.quote(str(path))}", *rest))
        hint = f"{pipeline} writes it; remove it when you don't need it"
        yield Diagnosis("kept", f"{path} has words that were typed but are not in any note", hint)


def drop(workspace: Workspace, name: str) -> Path | None:
    """Remove an item from the spool; its words become a file, whose path is returned.

    Raises:
        NotFoundError: no item has that name.
        UnwritableError: the words can't be kept; the item stays in the spool.
    """
    for spool in (Spool(workspace.state / "spool"), Spool(workspace.unclaimed)):
        for item in spool.pending():
            if item.id == name:
                return spool.drop(item, workspace.kept_folder)
    raise NotFoundError(f"nothing waits as {name!r}", "tars-memory doctor lists what does")


def _lost_line(lost: LostLine, *, ours: bool) -> Diagnosis:
    """Describe a line of ours that something else removed; ``ours``: its note is in our scope."""
    time = lost.time[:16].replace("T", " ")
    return Diagnosis(
        "lost line",
        f"{lost.file}: {repr(lost.text) if ours else 'a line'}, written {time}, is gone, and this "
        "program did not remove it",
        f"if you removed it by hand, that's fine; if not, tars-memory doctor --restore {lost.txn} writes it again",
        lost.file,
    )


def _leftover(workspace: Workspace, name: str, *, ours: bool) -> Diagnosis:
    """Describe a temporary file next to its note; it is safe to remove if the journal or the note has all its lines."""
    folder, _, base = name.rpartition("/")
    note = base.lstrip(".").split(".md", 1)[0] + ".md"
    place = workspace.root / folder
    try:
        copy = workspace.vault.read(name)
        original = workspace.vault.read(f"{folder}/{note}" if folder else note)
    except TarsError:
        copy, original = b"?", b""
    message = f"{name} is left next to its note"
    if not ours and vault.vault.lines_only_in_copy(original, copy):
        return Diagnosis("left over", message, "compare the two, then remove it", name)
    where = "the journal" if ours else "its note"
    hint = f"tars-memory doctor --fix removes it: {where} has all of its text"
    return Diagnosis("left over", message, hint, name, (place / base).unlink)


def _folders(workspace: Workspace) -> Iterator[Diagnosis]:
    """Check settings, layout and permissions of the vault, and the permissions of the state folder."""
    for sentence in (*workspace.settings.unknown_variables, *workspace.settings.unknown_keys()):
        yield Diagnosis("settings", sentence, "fix it there; man tm lists all settings")
    id_file = workspace.root / VAULT_FOLDER / ID_FILE
    if workspace.vault.id is None and os.path.lexists(id_file):
        yield Diagnosis("layout", f"{id_file} has no readable id", "move it away, and the next write makes one")
    if workspace.vault.layout.problem is not None:
        yield Diagnosis("layout", workspace.vault.layout.problem.message, workspace.vault.layout.problem.hint)
    for path, other in workspace.vault.layout.twins():
        yield Diagnosis(
            "layout", f"{path} counts, not {other}: they differ only by case", "merge them into one note", other
        )
    for filter_ in workspace.vault.layout.excluded.not_understood:
        yield Diagnosis(
            "layout", f"Obsidian excludes {filter_!r}, which is not followed here", "use a plain folder instead"
        )
    if not os.access(workspace.root, os.W_OK):
        message = f"{workspace.root} can't be written"
        yield Diagnosis("permissions", message, "searches work; what you type waits in the spool")
    layout = workspace.vault.layout
    for path in (layout.memory, layout.procedural, layout.facts):
        if (workspace.root / path).exists() and not os.access(workspace.root / path, os.W_OK):
            allow = f"chmod u+w {vault.suspicion.shell_word(str(workspace.root / path))}"
            yield Diagnosis("permissions", f"{path} can't be written", allow, path)
    for folder, path in workspace.settings.places.absent(workspace.root, workspace.vault.id):
        yield Diagnosis(
            "moved",
            f"a vault with the same id was at {path} and is gone; its history and waiting texts stay in {folder}",
            f"if you moved it here: tars-memory doctor --adopt {shlex.quote(path)}; if its disk is away, leave it",
        )
    state = workspace.state
    if state.is_dir() and os.name == "posix" and stat.S_IMODE(state.stat().st_mode) & 0o077:
        yield Diagnosis(
            "permissions",
            f"others can read {state}",
            "tars-memory doctor --fix makes it private",
            fix=lambda: os.chmod(state, 0o700),
        )


def _sync(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find conflict copies, notes with unresolved markers, and notes that were not downloaded or are not UTF-8."""
    why, hint = merge_problem(workspace.vault)
    if why:
        yield Diagnosis("git", f"{ATTRIBUTES} lets git merge the notes by entry, but {why}", hint, ATTRIBUTES)
    paths = workspace.vault.paths()
    existing, skipped = set(paths), workspace.vault.skipped_paths
    for path in sorted(skipped.get(vault.vault.AWAY, ())):
        folder, slash, name = path.removesuffix(vault.folder.PLACEHOLDER_SUFFIX).rpartition("/")
        shown = folder + slash + name[1:]
        yield Diagnosis("not downloaded", vault.vault.NOT_DOWNLOADED.format(shown), vault.vault.DOWNLOAD, shown)
    for path in sorted(skipped.get(vault.vault.CONFLICT_COPY, ())):
        yield _conflict_copy(workspace, path)
    numbered_notes = {
        path: original
        for path in paths
        if (original := vault.vault.original_of_numbered(path)) in existing
        and not workspace.vault.layout.is_session(path)
    }
    others = [path for path in paths if path not in numbered_notes]
    read = workspace.vault.readable(others if numbered_notes else ())
    counts = Counter(line for _, data in read for line in vault.vault.lines_only_in_copy(b"", data))
    common = {line for line, count in counts.items() if count >= TEMPLATE}  # as from a template: no sign of a copy
    for path, original in numbered_notes.items():
        yield from _numbered_copy(workspace, path, original, common)
    yield from _unreadable(workspace, paths)


def _unreadable(workspace: Workspace, paths: Iterable[str]) -> Iterator[Diagnosis]:
    """Find notes and proposals that can't be used or only in part: links, text that is not UTF-8, unresolved conflicts,
    broken proposals.
    """
    layout = workspace.vault.layout
    for path in (layout.memory, layout.procedural, layout.facts):
        if workspace.vault.look(path) is None and os.path.lexists(workspace.root / path):
            message = f"{path} is a link or not a file: it is neither read nor written"
            yield Diagnosis("skipped", message, "put the note itself there", path)
    for path in paths:
        try:
            data = workspace.vault.read(path)
        except vault.vault.WrongEncodingError as error:
            yield Diagnosis("encoding", error.message, _conversion(path, error.iconv_name), path)
            continue
        except TarsError:
            continue  # _unsearched reports it
        if vault.vault.is_other_encoding(data):
            message = (
                f"{path} is not UTF-8: non-ASCII text is shown as U+FFFD and not found, and can't be written into it"
            )
            yield Diagnosis("encoding", message, _conversion(path, "latin1", ", cp1251, shift_jis, gb18030, …"), path)
        if vault.vault.has_markers(data):
            message = f"{path} has unresolved conflict markers (<<<<<<<): it is neither searched nor written"
            yield Diagnosis("conflict", message, "choose between the two versions there", path)
    proposals: list[str] = []
    vault.inbox.pending(workspace.vault, proposals)
    for sentence in proposals:
        yield Diagnosis("proposal", sentence, f"fix it or move it away, in {workspace.root}; review can't ask about it")


def _conversion(path: str, encoding: str, others: str = "") -> str:
    """Return the shell command that converts a note to UTF-8.

    Args:
        path: of the note.
        encoding: for the command.
        others: encodings that the note may be in as well, as the end of a list: bytes don't tell Polish from French.
    """
    old, new = map(vault.suspicion.shell_word, (path, f"{path}.new"))
    place = (
        f"in the vault's folder, with the encoding it has ({encoding}{others})" if others else "in the vault's folder"
    )
    return f"{place}: iconv -f {encoding} -t utf-8 {old} > {new} && mv {new} {old}"


def _numbered_copy(workspace: Workspace, path: str, original: str, common: set[bytes]) -> Iterator[Diagnosis]:
    """Report a note that is named as syncs name copies, if most of its lines are in the note without that end.

    If lines of its own contain its name with the number (Chapter 2, a theme called Things 3), a person gave it that
    name, for a copy has the words of its original.

    Args:
        workspace: of the vault.
        path: of the note with the number.
        original: path of the note without it.
        common: lines to ignore.
    """
    try:
        copy, other = workspace.vault.read(path), workspace.vault.read(original)
    except (TarsError, OSError):
        return
    name = path.rpartition("/")[2].removesuffix(".md").casefold()
    own = [line for line in vault.vault.lines_only_in_copy(other, copy) if line not in common]
    if any(name in line.decode("utf-8", "replace").casefold() for line in own):
        return
    lines = sum(line not in common for line in vault.vault.lines_only_in_copy(b"", copy))
    if lines >= TWIN_LINES and len(own) <= lines * TWIN_OWN:
        yield Diagnosis(
            "conflict copy",
            f"{path} says nearly the same as {original}: syncs name copies like this. It is searched like any note",
            f"copy what is true from it into {original}, then remove it; or rename it",
            path,
        )


def _conflict_copy(workspace: Workspace, path: str) -> Diagnosis:
    """Describe a conflict copy: the lines that its note lacks."""
    original = vault.vault.original_of(path)
    try:
        copy = workspace.vault.read(path)
    except TarsError as error:
        return Diagnosis("conflict copy", error.message, error.hint, path)
    try:
        note = workspace.vault.read(original)
    except TarsError:
        message = f"{path} is a copy of {original}, which does not exist"
        return Diagnosis("conflict copy", message, f"rename it to {original} if it is the one to keep", path)
    missing = vault.vault.lines_only_in_copy(note, copy)
    if not missing:
        message = f"{path} says nothing that {original} doesn't"
        return Diagnosis("conflict copy", message, "remove it", path)
    some = "; ".join(line.decode("utf-8", "replace")[:80] for line in missing[:SHOWN])
    more = "; …" if len(missing) > SHOWN else ""
    shown = f": {some}{more}" if workspace.vault.layout.is_ours(path) else ""  # show no words of other scopes
    return Diagnosis(
        "conflict copy",
        f"{path} has {counted(len(missing), 'line')} that {original} lacks{shown}",
        f"copy what is true from it into {original}, then remove it",
        path,
    )


def _tiers(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find notes that every prompt begins with and that are large, or for which ``context`` has no room."""
    for note in loaded(workspace).notes:
        if not note.heavy:
            continue
        sections = ", ".join(f"{title} {size}" for title, size in note.sections.items())
        message = f"{note.path} has {counted(note.tokens, 'token')}, which every prompt begins with"
        message += f" ({note.grown:+} in {DAYS} days; largest: {sections or 'no headings'})"
        message += f"; {counted(note.limit, 'character')} is a good size" if note.large else ""
        message += f"; context leaves out {counted(note.left_out, 'line')} of it" if note.left_out else ""
        hint = "tars-memory tidy finds what can go; or give context a larger --budget"
        yield Diagnosis("size", message, hint, note.path)


def _secrets(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find credentials in notes; findings name place and kind, never the value."""
    for path, data in workspace.vault.readable(sorted(workspace.vault.paths())):
        if vault.secrets.veiled(data) is data:
            continue
        text = data.decode("utf-8", "surrogateescape")
        line = at = 0
        for found in vault.secrets.find(text):
            line, at = line + len(re.findall(r"\r\n|\r|\n", text[at : found.start])), found.start
            message = f"{path}:{line + 1}: {found.kind}"
            yield Diagnosis("secret", message, "it is not indexed; keep it in a password manager", path)


def _model(workspace: Workspace) -> Iterator[Diagnosis]:
    """Open the embedding model and embed a query; if nobody chose a model, name one that fits the notes better."""
    model = current_model(workspace)
    if model["usable"]:
        workspace.open_embedder().embed_query("a probe of the model")
        if "embedding.model" not in workspace.settings.origins and (better := recommended(workspace)):
            workspace.notices.append(
                f"{better['why']}; the model {better['model']} can search these by meaning: tars-memory models"
            )
    elif workspace.makes_vectors:
        yield Diagnosis("model", model["reason"], model["hint"])


def _index(workspace: Workspace) -> Iterator[Diagnosis]:
    """Open the index, update it, and compare it with a new one, unless a process in the background works on it."""
    report = refresh_index(workspace)
    status = workspace.index().status()
    yield from _stale_notes(workspace, report)
    if (talks := workspace.talks()) is not None:
        try:
            talks.refresh()
        except TarsError as error:
            yield Diagnosis("sources", f"conversations are not searched: {error.message}", error.hint)
    if report.pending_vectors and current_model(workspace)["usable"]:
        yield from _pending_vectors(workspace, report.pending_vectors)
    if not status["vec"]:
        message = f"no vector index: {status['reason']}"
        yield Diagnosis("sqlite", message, "pip install pysqlite3; the answers are the same")
    yield from _unsearched(workspace)
    if detached.is_running(workspace.state):  # a comparison reads all notes, and both processes would take longer
        workspace.notices.append(
            "the index is not compared with the notes while it is being made: tars-memory doctor --index does it now"
        )
    elif not report.stale and (differences := workspace.index().verify()):
        message = f"the index differs from the notes: {differences[0]}"
        yield Diagnosis("index", message, "tars-memory reindex --full", fix=lambda: workspace.reindex(full=True))


def _unsearched(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find files that may be meant as notes and are not searched."""
    left_out = {**workspace.vault.skipped_paths, **workspace.index().left_out()}
    for reason, hint in UNSEARCHED.items():
        if paths := left_out.get(reason):
            names = ", ".join(map(vault.suspicion.shell_path, paths[:NAMED])) + (", …" if len(paths) > NAMED else "")
            whole = paths[0] if len(paths) == 1 and reason != vault.vault.MISNAMED else ""
            yield Diagnosis("skipped", f"not searched, {reason}: {names}", hint, whole)


def _agents(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find problems of coding agents' hooks, and what the agents leave out or soon delete."""
    for message, hint in agents(workspace):
        yield Diagnosis("agent", message, hint)


def _shared(workspace: Workspace) -> Iterator[Diagnosis]:
    """Find folders under ``[vaults] shared`` that can't be searched, or only in an earlier state."""
    notices: list[str] = []
    for _ in workspace.shared(notices):
        pass  # opening them fills the notices
    for notice in notices:
        yield Diagnosis("shared", notice, "is it mounted, and correct under [vaults] in your config.toml?")


def _team(workspace: Workspace) -> Iterable[Diagnosis]:
    """Query the team's index, if one is set; an error becomes the finding."""
    if (team := workspace.team()) is not None:
        team.describe()
    return ()


def _stale_notes(workspace: Workspace, report: intake.RefreshReport) -> Iterator[Diagnosis]:
    """Find notes that are not indexed yet; there is nothing to do if they are being indexed in the background."""
    if report.stale and not report.unmounted and _is_finishing(workspace):
        workspace.notices += report.notices
        return
    for sentence in report.notices:
        yield Diagnosis("index", sentence, "tars-memory reindex")


def _pending_vectors(workspace: Workspace, pending: int) -> Iterator[Diagnosis]:
    """Find passages without a vector; a few are embedded here, as a search would do it."""
    few = pending <= intake.SEARCH_EMBEDS
    try:
        if few and not workspace.dry_run and not workspace.index().embed_pending(intake.SEARCH_EMBEDS):
            return
    except errors.ModelUnavailableError:
        return  # _model reports it
    if few:
        workspace.notices.append(f"{counted(pending, 'passage')} without a vector yet: the next search makes them")
    elif _is_finishing(workspace):
        workspace.notices.append(f"{counted(pending, 'passage')} without a vector yet: made in the background")
    elif notice := workspace.coverage(pending):
        yield Diagnosis("index", notice.partition(": ")[0], "tars-memory reindex makes the rest", fix=workspace.reindex)


def _is_finishing(workspace: Workspace) -> bool:
    """Whether a background process finishes the index, or will do so when the machine is plugged in."""
    waits = detached.read_progress(workspace.state).ended == detached.BATTERY and detached.on_battery()
    return workspace.finish_in_background() or waits


CHECKS = (
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
"""All checks in order: the subject, the kind of the finding if the check fails with an error, and the function."""


# --- a vault that was moved

_OWN = ("vault.json", "lock")
"""Names of files that belong to one state folder, and are not taken over by another."""


class Adoption(NamedTuple):
    """State of another path that this vault may take over.

    Attributes:
        folder: the state folder.
        path: of the vault that it is kept for.
        writes: number of writes in its journal.
        waiting: number of items in its spool.
        stands: whether something is at that path, though no vault of this id.
    """

    folder: Path
    path: str
    writes: int
    waiting: int
    stands: bool


def adoptable(workspace: Workspace, path: str | None) -> Adoption:
    """Return the state that this vault may take over.

    Args:
        workspace: of the vault.
        path: from which the vault was moved; None if there is only one candidate.

    Raises:
        UsageError: an agent calls; or a vault of this id is at that path now, so this one is a copy.
        NotFoundError: no state is kept for a vault of this id at that path; or, without a path, none or several are.
    """
    if workspace.actor in ("agent", "model"):
        raise UsageError("only a person may take over another path's state", "run it yourself, at a terminal")
    found = workspace.settings.places.absent(workspace.root, workspace.vault.id)
    if path is not None:
        old = Path(os.path.expanduser(path))
        names = {os.path.abspath(old), os.path.realpath(old)}
        if workspace.vault.id is not None and read_id(old) == workspace.vault.id and str(workspace.root) not in names:
            raise UsageError(
                f"{path} still exists and is a vault with the same id: {workspace.root} is a copy of it",
                "each of the two keeps its own history; nothing was done",
            )
        found = [(folder, old_path) for folder, old_path in found if old_path in names]
    if not found:
        of = f" {path}" if path is not None else ""
        raise NotFoundError(
            f"no history is kept for a vault{of} of this id that is gone from its place",
            "tars-memory doctor names the paths that have one",
        )
    if len(found) > 1:
        paths = ", ".join(shlex.quote(old_path) for _, old_path in found)
        raise NotFoundError(f"history is kept for several paths: {paths}", "name one: tars-memory doctor --adopt PATH")
    folder, old_path = found[0]
    writes = sum(1 for _ in Journal(folder / "journal").records(lambda line: b'"t":"begin"' in line))
    return Adoption(folder, old_path, writes, len(Spool(folder / "spool").pending()), os.path.lexists(old_path))


def adopt(workspace: Workspace, adoption: Adoption) -> None:
    """Take over history, undo, approvals and the spool of another state folder, and append the writes made here since.

    A kill on the way loses nothing: a second call completes the first.

    Raises:
        ConflictError: the writes there and here alternate in time: these are two vaults.
        BusyError: another process writes for one of the two.
        UnwritableError: the state folder can't be written.
    """
    if workspace.dry_run:
        return
    here = workspace.ensure_state(used=True)
    workspace.close()
    options = workspace.store(writes=False).options
    _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
    for folder in (adoption.folder, here):  # unfinished writes of both are settled on the notes of this vault
        Store(workspace.root, folder, now=workspace.now(), actor=workspace.actor, options=options).recover()
    locks = [
        VaultLock(folder / "lock", timeout=options.lock_timeout, command="doctor") for folder in (adoption.folder, here)
    ]
    with locks[0].held(), locks[1].held(), writing(os.fspath(here)):
        _check_order(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _append_journal(Journal(adoption.folder / "journal"), Journal(here / "journal"))
        _move_files(here, adoption.folder)
        aside = here.with_name(f".{here.name}.{os.getpid()}")
        here.rename(aside)
        adoption.folder.rename(here)
        workspace.ensure_state(used=True)
        shutil.rmtree(aside, ignore_errors=True)


def _check_order(old: Journal, new: Journal) -> None:
    """Check that the first write of the new journal is later than the last one of the old journal.

    Raises:
        ConflictError: it is not.
    """
    last, first = next(old.records(), None), next(iter(deque(new.records(), maxlen=1)), None)
    if last is not None and first is not None and str(first["txn"]) <= str(last["txn"]):
        raise errors.ConflictError(
            "both were written to in turn: what is kept for the other path is newer than the first write here",
            "these are two vaults with separate histories; nothing was done",
        )


def _append_journal(old: Journal, new: Journal) -> None:
    """Move the files of the new journal behind those of the old one."""
    for path in new.files():
        old.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = int(old.files()[-1].name[:4]) + 1 if old.files() else 1
        path.rename(old.folder / f"{number:04}-{path.stem[-7:]}.jsonl")


def _move_files(source: Path, target: Path) -> None:
    """Move the files of one state folder into another, unless they exist there; index, lock and its own file stay."""
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
"""Stands for all transactions with lost lines."""

_HEADING = re.compile(rb"#{2,6}[ \t]+(.*)")


def restore(workspace: Workspace, txn: str) -> list[Written]:
    """Rewrite lines of a transaction that something else overwrote, each under its old heading.

    The note is checked once more when it is written: another device may have restored the line. A note of ours that is
    gone is created again with its first content.

    Args:
        workspace: of the vault.
        txn: the transaction whose lines to restore, or :data:`ALL`.

    Returns:
        The outcome for each bullet that was written.

    Raises:
        NotFoundError: no line of it is lost.
        UnwritableError: a note can't be written.
    """
    found = workspace.store(writes=False).lost_lines()
    lost = [line for line in found if txn in (line.txn, ALL)]
    if not lost:
        message = "no line is lost" if txn == ALL else f"{txn} has lost no line"
        raise NotFoundError(message, "tars-memory doctor lists lost lines")

    context = workspace.capture()
    with context.writing(RESTORE, None) as session:
        for lines in _bullets(lost):
            if lines[0].created is not None:
                made = _bytes(lines[0].created)
                session.write(lines[0].file, lambda data, made=made: [] if data else [Splice(0, 0, made)])  # type: ignore[misc]
            session.write(
                lines[0].file,
                lambda data, lines=lines: _insert(data or b"", lines, context.layout),  # type: ignore[misc]
            )
        return list(session.written)


def _bullets(lost: Iterable[LostLine]) -> list[list[LostLine]]:
    """Return each lost bullet with those of its children that were lost directly below it."""
    bullets: list[list[LostLine]] = []
    for line in lost:
        last = bullets[-1][-1] if bullets else None
        same = last is not None and (line.txn, line.file) == (last.txn, last.file)
        if last is not None and same and line.text[:1] in (" ", "\t") and line.above[:1] == (_bytes(last.text),):
            bullets[-1].append(line)
        else:
            bullets.append([line])
    return bullets


def _insert(data: bytes, lines: Sequence[LostLine], layout: vault.layout.Layout) -> Sequence[Splice]:
    """Return the splices that insert one bullet under its heading; none if it is there by now."""
    first = lines[0]
    if texts_of(data).count(_bytes(first.text)) >= first.wanted:
        return []
    words = first.text.strip()
    bullet = "\n".join([words if unmarked(words) != words else f"- {words}", *(line.text for line in lines[1:])])
    return insert_bullet(data, bullet, section=_section(Document(data), first) or _default_heading(layout, first.file))


def _section(document: Document, line: LostLine) -> str:
    """Return the heading under which a line was; empty if it can't be found.

    It is the nearest heading above the line, or that of the nearest line above it that is still in the note, under one
    heading only.
    """
    for above in line.above:
        heading = _HEADING.match(above)
        if heading:
            return heading[1].decode("utf-8", "surrogateescape").strip()
        if not above.strip():
            continue
        numbers = [n for n, (start, end, _) in enumerate(document.lines, 1) if document.data[start:end] == above]
        titles = {document.section_at(number).title for number in numbers}
        if len(titles) == 1 and "" not in titles:
            return titles.pop()
    return ""


def _default_heading(layout: vault.layout.Layout, path: str) -> str:
    """Return the heading under which new lines of such a note go."""
    if layout.day_of(path) is not None:
        return layout.log_heading
    return SECTION if layout.timed(path) else layout.notes_section


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
