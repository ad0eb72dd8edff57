"""The state of vault, index, models and sources, and the size of the notes that every prompt begins with."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk, index
from tars_memory.curation import review
from tars_memory.errors import ModelUnavailableError, TarsError, UnwritableError, UsageError, counted, reason
from tars_memory.index import models as known, passages, prepare
from tars_memory.jobs.hooks import CLEANUP_DAYS, lines_of
from tars_memory.language.words import foreign_language
from tars_memory.recall.context import BEYOND_CAP
from tars_memory.recall.packing import NO_ROOM, tokens
from tars_memory.recall.searcher import Searcher
from tars_memory.settings import NO_MODEL, NO_PROJECT, NOTHING, Settings
from tars_memory.sources import ENDINGS
from tars_memory.vault import inbox
from tars_memory.vault.layout import OURS
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.suspicion import shell_word
from tars_memory.vault.vault import MISNAMED, UNREADABLE_FILE, UNREADABLE_FOLDER, Vault
from tars_memory.vault.writing.history import entries, of_scope
from tars_memory.vault.writing.system import VaultLock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tars_memory.workspace import Workspace


SAMPLE, SAMPLED, FOREIGN_SHARE = 100, 2_000, 0.1
"""Number of notes, and of characters of each, that are sampled to detect a vault's languages; and the share of notes in
other languages from which on a model for many languages is recommended instead of one for English."""
SHOWN = 10
"""Maximum number of lines that a notice names."""
SETTINGS_WAIT = 10.0
"""Seconds to wait for another command that changes the person's settings."""
UNSEARCHED = {
    MISNAMED: "rename it with mv; convmv renames many",
    "too big": "raise [limits] max_note_bytes, or split the note",
    "unreadable": "look at it with ls -l",
    UNREADABLE_FILE: "look at it with ls -l",
    UNREADABLE_FOLDER: "look at it with ls -ld",
}
"""Reasons why a file that may be meant as a note is not searched, each with what to do about it."""


def status(workspace: Workspace) -> dict[str, Any]:
    """Return the state of everything as one JSON object: paths, index, model, what waits; members are only ever added.

    Returns:
        ``vault``, ``background`` (:func:`background`), ``index``, ``model``, ``waiting`` (numbers: ``spool``,
        ``unfinished`` writes, ``proposals`` of the inbox, ``review``: all that a review would offer, ``lines`` of them,
        ``ticks`` that agents' processes found), ``rules`` (those that nobody typed or approved here: their number, and
        their line numbers by note), ``loaded`` (``Memory.loaded``), ``growth`` (:func:`weeks`), ``sources`` (numbers of
        ``logs`` and ``conversations`` that are searched; None without any), ``shared`` (``name`` and ``path`` of each
        shared vault that is searched), ``team`` (the state of a team's index, and the ``problem`` if it can't be asked;
        None if none is set), ``settings``, ``places`` (of all vaults, and of the file of settings) and ``notices``.
    """
    if workspace.progress is not None:
        workspace.progress("checking the vault", 0, 0)
    index, places = workspace.index(), workspace.settings.places
    report = refresh_index(workspace)
    store = workspace.store(writes=False)
    model = current_model(workspace)
    unknown = [*workspace.settings.unknown_variables, *workspace.settings.unknown_keys()]
    notices = [*workspace.notices, *(notice for notice in unknown if notice not in workspace.notices)]
    notices += [*workspace.moved_notices(), *report.notices]
    counts = index.status()
    if report.pending_vectors and model["usable"] and not report.reading:
        notices += filter(None, [workspace.coverage(report.pending_vectors)])
    unapproved_lines = _unapproved(workspace, notices)
    listed = workspace.review(writes=False).waiting(limit=1)
    logs = sources(workspace) if workspace.settings.sources.logs else None
    if workspace.vault.look(workspace.vault.layout.review) is not None:
        notices += review.unclear_ticks(workspace.vault)
    notices += [f"{problem}; {remedy}" for problem, remedy in agents(workspace)]
    return {
        "vault": {
            "path": str(workspace.root),
            "id": workspace.vault.id,
            "state": str(workspace.state),
            "notes": counts.pop("notes"),
            "tiers": counts.pop("tiers"),
            "skipped": report.skipped,
            "stale": report.stale,
            "unmounted": report.unmounted,
        },
        "background": background(workspace, counts),
        "index": counts,
        "model": model,
        "waiting": {
            "spool": len(store.spool.pending()),
            "unfinished": store.pending(),
            "proposals": len(inbox.pending(workspace.vault, notices)),
            "review": listed.total,
            "lines": listed.lines,
            "ticks": len(review.recorded_ticks(workspace.capture(writes=False))),
        },
        "rules": {"unapproved": sum(map(len, unapproved_lines.values())), "lines": unapproved_lines},
        "loaded": loaded(workspace).as_dict(),
        "growth": {"weeks": weeks(workspace)},
        "sources": {name: logs[name] for name in ("logs", "conversations")} if logs else None,
        "team": _team(workspace),
        "shared": [{"name": shared.name, "path": str(shared.vault.root)} for shared in workspace.shared(notices)],
        "settings": workspace.settings.origins,
        "places": {
            "settings": str(places.config / "config.toml"),
            "state": str(places.state),
            "cache": str(places.cache),
        },
        "notices": notices,
    }


def agents(workspace: Workspace) -> list[tuple[str, str]]:
    """Return (problem, remedy) pairs: faults of coding agents' hooks, and what the agents leave out or soon delete."""
    from tars_memory.jobs.hosts import warnings

    now = workspace.now().timestamp()
    kept, lines = has_nights(workspace.state), lines_of(workspace.settings.hook.lines)
    return warnings(workspace.settings.env, now, kept=kept, lines=lines)


def _team(workspace: Workspace) -> dict[str, Any] | None:
    """Return the state of the team's index, or the problem if it can't be asked; None if no team is set."""
    unknown = dict.fromkeys(("published", "by", "notes", "chunks", "vectors", "bytes"))
    try:
        team = workspace.team()
    except TarsError as error:
        return {"server": "", **unknown, "problem": error.message}
    if team is None:
        return None
    try:
        return {**team.describe(), "problem": ""}
    except TarsError as error:
        return {"server": team.address.shown, **unknown, "problem": error.message}


def background(workspace: Workspace, counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of the background process that embeds passages.

    Args:
        workspace: of the vault.
        counts: of the index, all of one moment: notes may be read while this runs.

    Returns:
        ``running``; ``covers`` (percentage of the passages that have a vector), ``left`` (seconds that the rest takes
        on this machine, None if nothing is left or that isn't known), ``ended`` (why the last process stopped early).
    """
    chunks, pending = counts["chunks"] or 0, counts["pending_vectors"] or 0
    running = index.detached.is_running(workspace.state)
    return {
        "running": running,
        "covers": 100 * (chunks - pending) // chunks if chunks else 100,
        "left": round(workspace.seconds_left(pending)) or None if pending else None,
        "ended": "" if running else index.detached.read_progress(workspace.state).ended,
    }


WEEKS = 12
"""Number of weeks of growth that are shown: what the journal keeps by default."""


def weeks(workspace: Workspace) -> list[int]:
    """Return by how many lines this program grew or shrank the notes of our scope, per week, the current week last.

    The lines that a new vault begins with don't count, nor do writes that were taken back.
    """
    today = workspace.now().date()
    found = [0] * WEEKS
    for entry in of_scope(entries(workspace.store(writes=False).journal), workspace.vault.layout):
        weeks_ago = (today - datetime.fromisoformat(entry.time).date()).days // 7
        if weeks_ago >= WEEKS:
            break
        passed_over = entry.command == "init" or entry.undone or entry.undoes or entry.file.startswith(OURS)
        if weeks_ago >= 0 and not passed_over:
            found[WEEKS - 1 - weeks_ago] += _lines(entry.after) - _lines(entry.before)
    return found


def _lines(text: str) -> int:
    """Count the lines that are not blank."""
    return sum(bool(line.strip()) for line in re.split(r"\r\n|\r|\n", text))


def _unapproved(workspace: Workspace, notices: list[str]) -> dict[str, list[int]]:
    """Return the lines of rules that ``context`` does not trust, by note; add a notice about each note."""
    found: dict[str, list[int]] = {}
    for rule in review.unapproved(workspace.capture(writes=False)):
        found.setdefault(rule.path, []).append(rule.line)
    for path, lines in found.items():
        where = ", ".join(map(str, lines[:SHOWN])) + (", …" if len(lines) > SHOWN else "")
        scope = workspace.vault.layout.scope_of(path)
        project = "" if scope == workspace.vault.layout.scope else f" --project {shell_word(scope or NO_PROJECT)}"
        notices.append(
            f"{path}: rules that nobody typed or approved here, so prompts don't trust them: line {where}; if they are "
            f"yours, tars-memory{project} review --rules approves them, at a terminal"
        )
    return found


def refresh_index(workspace: Workspace) -> index.intake.RefreshReport:
    """Update the index and return the report; if there is no index and none can be made, all notes count as stale."""
    try:
        return workspace.look()[1]
    except UnwritableError as error:
        report = index.intake.RefreshReport()
        report.stale = len(workspace.vault.paths())
        report.skipped = workspace.vault.skipped
        report.notices.append(reason(error))
        return report


def models(workspace: Workspace, *, fetchable: bool = True) -> list[dict[str, Any]]:
    """List the models that pip installs, those fetched, and those that fastembed could fetch.

    Args:
        workspace: of the vault.
        fetchable: False to leave out what fastembed could fetch: it takes a second to ask.

    Returns:
        For each model ``name``, ``installed``, ``current`` (it is in use), and ``recommended`` (for the vault's
        languages); ``languages`` and ``megabytes`` where they are known; ``seconds`` that the vectors of this vault
        take, where the model's speed was measured; ``dimension`` and ``gigabytes`` of those only fastembed knows.
    """
    cache = workspace.settings.places.cache
    current = workspace.settings.embedding.model
    names = {manifest.name: True for manifest in known.installed(cache)}
    for name in (known.EMBEDDED, known.MULTILINGUAL):
        names[name] = _is_here(workspace.settings, name)
    if workspace.makes_vectors:
        names.setdefault(current, False)
    chunks = workspace.index().status()["chunks"] or 0
    others = {model[0]: model for model in (passages.known_models() if fetchable else ())}
    best = (recommended(workspace) or {"model": current})["model"]
    listed: list[dict[str, Any]] = []
    for name in dict.fromkeys((*names, *others)):
        model: dict[str, Any] = {"name": name, "installed": names.get(name, False), "current": name == current}
        model["recommended"] = name == best and name in known.COSTS
        if name in known.COSTS:
            cost = known.COSTS[name]
            model |= {"languages": cost.languages, "megabytes": cost.megabytes, "seconds": known.seconds(name, chunks)}
        elif name in others:
            _, dimension, gigabytes, languages = others[name]
            size = {"gigabytes": gigabytes, "megabytes": round(1000 * gigabytes)}
            model |= {"dimension": dimension, "languages": languages, **size}
        listed.append(model)
    return listed


def recommended(workspace: Workspace) -> dict[str, Any] | None:
    """Return the model that fits the languages of the vault's notes better than the current one; None if none does.

    Returns:
        ``model``, ``languages`` (with their share of the sampled notes), ``why`` (a sentence about these),
        ``megabytes``, ``installed``.
    """
    if not known.is_english(workspace.settings.embedding.model):
        return None
    paths = sorted(workspace.vault.paths())
    found: dict[str, int] = {}
    sampled = 0
    for _, data in workspace.vault.readable(paths[:: max(1, len(paths) // SAMPLE)]):
        text = data.decode("utf-8", "replace")
        sampled += 1
        language = foreign_language(text[:SAMPLED])
        if language:
            found[language] = found.get(language, 0) + 1
    if sum(found.values()) < max(2, sampled * FOREIGN_SHARE):
        return None
    share, found = round(100 * sum(found.values()) / sampled), dict(sorted(found.items(), key=lambda item: -item[1]))
    return {
        "model": known.MULTILINGUAL,
        "languages": {name: round(n / sampled, 2) for name, n in found.items()},
        "why": f"{share} % of the notes are not in English, most of these in {next(iter(found))}",
        "megabytes": known.COSTS[known.MULTILINGUAL].megabytes,
        "installed": _is_here(workspace.settings, known.MULTILINGUAL),
    }


def use_model(workspace: Workspace, name: str, folder: Path | None) -> dict[str, Any]:
    """Fetch a model if necessary, and set it in the person's configuration.

    Raises:
        UsageError: fastembed knows no such model.
        ModelUnavailableError: it can't be fetched or doesn't work.
        UnwritableError: the configuration can't be written.
    """
    path = workspace.settings.places.config / "config.toml"
    if name.strip().lower() in NOTHING:
        with _latest(workspace, "embedding") as settings:
            settings.write("embedding", "model", NO_MODEL)
        return {"model": NO_MODEL, "config": str(path), "notices": ["search goes by words; existing vectors stay"]}
    used = passages.use_model(name, workspace.settings.places.cache, folder)
    with _latest(workspace, "embedding") as settings:
        settings.write("embedding", "model", used.name)
    indexed = workspace.ask_without_refresh(lambda reader: reader.fingerprint)
    if indexed == used.fingerprint:
        notices = []
    elif workspace.finish_in_background():
        notices = [
            "its vectors are being made in the background" + ("; until then the old model is used" if indexed else "")
        ]
    elif indexed is None:
        notices = ["its vectors are made as you search; tars-memory reindex makes them at once"]
    else:
        notices = ["tars-memory reindex makes its vectors; until then the old model is used"]
    return {"model": used.name, "config": str(path), "notices": notices}


def current_model(workspace: Workspace) -> dict[str, Any]:
    """Describe the current model: ``name``, ``usable``, and its ``fingerprint`` or else ``reason`` and ``hint``."""
    name = workspace.settings.embedding.model
    try:
        if workspace.embedder is None:  # an embedder that was passed in needs no model
            prepare.ready(name, workspace.settings.places.cache)
    except ModelUnavailableError as error:
        return {"name": name, "usable": False, "reason": error.message, "hint": error.hint}
    return {"name": name, "usable": True, "fingerprint": (workspace.embedder or workspace.manifest).fingerprint}


def _is_here(settings: Settings, name: str) -> bool:
    """Whether a model that pip installs is available; it is not prepared here, since that takes seconds."""
    manifest = known.packaged(name)
    assert manifest is not None
    return known.is_prepared(name, settings.places.cache) or prepare.is_installed(manifest)


# --- conversations


def sources(workspace: Workspace) -> dict[str, Any]:
    """List the sources and what was read of them: see :meth:`tars_memory.memory.Memory.sources`."""
    paths = workspace.settings.sources.logs
    talks = workspace.talks()
    counts = talks.index.counts() if talks is not None and talks.index.exists else {}
    return {
        "sources": [{"path": path, "there": os.path.exists(path)} for path in paths],
        "logs": counts.get("logs", 0),
        "conversations": counts.get("conversations", 0),
        "passages": counts.get("passages", 0),
        "pending_vectors": talks.index.pending() if talks is not None else 0,
        "nights": has_nights(workspace.state),
        "notices": [],
    }


def add_source(workspace: Workspace, path: str, progress: index.database.Progress | None) -> dict[str, Any]:
    """Add a file or folder of logs to the sources in the person's settings, and read it.

    Raises:
        UsageError: it is neither a file nor a folder, it is a vault or has notes of this one, or its name
            can't be in the settings.
        UnwritableError: the settings or the index can't be written.
    """
    target = os.path.abspath(os.path.expanduser(path))
    if not path or not os.path.exists(target):
        raise UsageError(f"{path or 'no file'} does not exist", "name a file or a folder of logs")
    if not os.path.isdir(target) and not os.path.isfile(target):
        raise UsageError(f"{path} is neither a file nor a folder", "name a file or a folder of logs")
    if "," in target or target != target.strip() or not target.isprintable():
        raise UsageError(
            f"{path} has a comma, a blank at its end or a character that can't be shown in its name",
            "give it another name, or name a link to it",
        )
    if os.path.isdir(target) and any(
        os.path.lexists(os.path.join(target, name)) for name in (".obsidian", disk.VAULT_FOLDER)
    ):
        raise UsageError(f"{path} is a vault: search finds its notes anyway", "name the folder of your logs")
    inside = os.path.relpath(os.path.realpath(target), os.path.realpath(workspace.root))
    names = [target] if os.path.isfile(target) else (name for *_, names in os.walk(target) for name in names)
    endings = (os.path.splitext(name.lower())[1] for name in names)
    if not inside.startswith(".") and {*endings}.intersection(ENDINGS) == {".md"}:  # beside logs, notes are left out
        raise UsageError(f"{path} is in the vault: search finds its notes anyway", "name the folder of your logs")
    before = sources(workspace)
    with _latest(workspace, "sources") as settings:
        known = settings.sources.logs
        if target not in known:
            settings.write("sources", "paths", [*known, target])
    workspace.close_talks()
    talks = workspace.talks()
    notices = talks.refresh(None, progress).notices if talks is not None else []
    found = sources(workspace)
    if target not in known and found["conversations"] == before["conversations"]:
        read = counted(found["logs"] - before["logs"], "file")
        notices = [notice for notice in notices if not notice.startswith(f"{target} ")]
        notices.insert(0, f"no conversation there yet ({read} read); new ones will be searched")
    if found["pending_vectors"] and current_model(workspace)["usable"] and workspace.finish_in_background():
        notices.append("found by words now; vectors are being made in the background")
    expiry = [f"programs delete logs (Claude Code: {CLEANUP_DAYS} days); sleep keeps your words"]
    if not found["nights"]:
        expiry.append("no night's work has run in three days: tars-memory sleep --help")
    found["notices"] += [*notices, *expiry]
    return found


def remove_source(workspace: Workspace, path: str) -> dict[str, Any]:
    """Remove a source from the person's settings, and what was read of it from the index.

    Raises:
        UsageError: it is not a source.
        UnwritableError: the settings or the index can't be written.
    """
    target = os.path.abspath(os.path.expanduser(path))
    talks = workspace.talks()
    with _latest(workspace, "sources") as settings:
        known = settings.sources.logs
        if target not in known:
            raise UsageError(f"{path} is not a source", "tars-memory sources lists them")
        settings.write("sources", "paths", [source for source in known if source != target])
    if talks is not None:
        talks.sources = [source for source in talks.sources if source != target]
        talks.rebuild() if talks.sources else talks.index.clear()
    workspace.close_talks()
    return sources(workspace)


@contextmanager
def _latest(workspace: Workspace, section: str) -> Iterator[Settings]:
    """Yield the settings, a section of the person's own as it is on disk now, while no other command changes the file.

    Raises:
        BusyError: another command changes it all the time.
        UnwritableError: the lock file can't be made.
    """
    lock = workspace.settings.places.state / "settings.lock"
    with VaultLock(lock, timeout=SETTINGS_WAIT, command="settings").held():
        workspace.settings.read_again(section)
        yield workspace.settings


def has_nights(state: Path) -> bool:
    """Whether a night's work ran in the last three days."""
    try:
        return time.time() - os.stat(state / "sleep.json").st_mtime < 3 * 86_400
    except OSError:
        return False


# -- the notes that every prompt begins with, and their growth

DAYS = 30
"""Number of days over which growth is measured; the journal keeps 90."""

LARGEST = 5
"""Maximum number of sections of a note that are listed."""


class LoadedNote(NamedTuple):
    """A note that every prompt begins with.

    Attributes:
        path: of the note.
        tokens: length of its text.
        grown: tokens that this program added to it, less those it removed, in :data:`DAYS` days.
        left_out: number of lines that ``context`` has no room for.
        sections: tokens of its largest sections by their headings, largest first; empty for a note of another scope.
        characters: length of its text.
        limit: number of characters above which it counts as large; 0 for no limit.
    """

    path: str
    tokens: int
    grown: int
    left_out: int
    sections: dict[str, int]
    characters: int
    limit: int

    @property
    def large(self) -> bool:
        """Whether it leaves little room in a prompt."""
        return 0 < self.limit < self.characters

    @property
    def heavy(self) -> bool:
        """Whether it is large, or ``context`` has no room for some of its lines."""
        return self.large or self.left_out > 0


class Growth(NamedTuple):
    """The notes that every prompt begins with.

    Attributes:
        tokens, grown, left_out: the sums over all notes.
        budget: number of tokens that ``context`` packs by default.
        notes: those that exist, in the order of a prompt.
    """

    tokens: int
    grown: int
    left_out: int
    budget: int
    notes: list[LoadedNote]

    def as_dict(self) -> dict[str, Any]:
        """Return the documented JSON object."""
        totals = {name: getattr(self, name) for name in self._fields[:-1]}
        notes = {note.path: {name: getattr(note, name) for name in note._fields[1:]} for note in self.notes}
        return {**totals, "days": DAYS, "notes": notes}


def loaded(workspace: Workspace) -> Growth:
    """Measure the notes that every prompt in our scope begins with; a note that can't be read is left out."""
    vault, packed, journal = workspace.vault, Searcher(workspace).context(), workspace.store(writes=False).journal
    since = (workspace.now() - timedelta(days=DAYS)).isoformat()[:10]
    found: list[LoadedNote] = []
    options, others = workspace.settings.context, vault.layout.loaded
    for path, data in vault.readable(_paths(vault)):
        text = data.decode("utf-8", "replace")
        left_out = sum(
            drop.end_line - drop.start_line + 1
            for drop in packed.dropped
            if drop.path == path and drop.why in (NO_ROOM, BEYOND_CAP)
        )
        recent = takewhile(lambda entry: entry.time[:10] >= since, entries(journal, path=path))
        characters = sum(len(entry.after) - len(entry.before) for entry in recent)  # an undo counts as a write
        grown = tokens(characters) if characters > 0 else -tokens(-characters)
        sections = _sections(data) if vault.layout.is_ours(path) else {}
        limit = options.user_chars if path in others else options.memory_chars
        found.append(LoadedNote(path, tokens(len(text)), grown, left_out, sections, len(text), limit))
    sums: dict[str, Any] = {name: sum(getattr(note, name) for note in found) for name in Growth._fields[:3]}
    return Growth(**sums, budget=packed.budget, notes=found)


def _paths(vault: Vault) -> Iterator[str]:
    """Yield the paths of the notes that every prompt in our scope begins with."""
    layout = vault.layout
    for scope in [layout.scope, ""] if layout.scope else [""]:
        yield layout.memory_of(scope)
        yield layout.procedural_of(scope)
    yield from layout.loaded


def _sections(data: bytes) -> dict[str, int]:
    """Return the tokens of the largest sections by heading; sections with the same heading are summed.

    Text before the first heading doesn't count.
    """
    document = Document(data)
    sizes: dict[str, int] = {}
    for section in document.sections:
        if section.level:
            size = len(document.text(section.start_line, section.end_line))
            sizes[section.title] = sizes.get(section.title, 0) + size
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:LARGEST]
    return {title: tokens(size) for title, size in largest}
