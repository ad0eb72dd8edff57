"""The state of vault, index and models, which embedding model is used, and how what every prompt begins with grows."""

from __future__ import annotations

import os
import re
import time
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import index
from tars_memory.curation import ticks
from tars_memory.disk import VAULT_FOLDER
from tars_memory.errors import ModelUnavailableError, TarsError, UnwritableError, UsageError, counted, reason
from tars_memory.index import models as known, passages, prepare
from tars_memory.index.intake import RefreshReport
from tars_memory.jobs.hooks import CLEANUP_DAYS, lines_of
from tars_memory.language.words import foreign
from tars_memory.recall.context import BEYOND_CAP
from tars_memory.recall.loaded import unapproved
from tars_memory.recall.packing import NO_ROOM, tokens
from tars_memory.recall.searcher import Searcher
from tars_memory.vault import inbox
from tars_memory.vault.layout import OURS
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.vault import MISNAMED, UNREADABLE_FILE, UNREADABLE_FOLDER
from tars_memory.vault.writing.history import entries, of_scope, stands_approved, typed_lines
from tars_memory.vault.writing.store import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tars_memory.index.database import Progress
    from tars_memory.settings import Settings
    from tars_memory.vault.vault import Vault
    from tars_memory.workspace import Workspace


SAMPLE, SAMPLED, FOREIGN_SHARE = 100, 2_000, 0.1
"""Notes and characters of each that are looked at to learn a vault's languages, and the share of the notes in other
languages than English from which on another model than one for English is recommended."""
SHOWN = 10
"""Lines that a notice names."""
UNSEARCHED = {
    MISNAMED: "rename it with mv; convmv renames many",
    "too big": "raise [limits] max_note_bytes, or split the note",
    "unreadable": "look at it with ls -l",
    UNREADABLE_FILE: "look at it with ls -l",
    UNREADABLE_FOLDER: "look at it with ls -ld",
}
"""Why what may be meant to be a note is not searched, and what to do about it."""


def status(workspace: Workspace) -> dict[str, Any]:
    """One object: where things are, how far the index is, which model and driver are in use; additive only.

    Returns:
        ``vault``, ``background`` (:func:`background`), ``index``, ``model``, ``waiting`` (``spool``, ``unfinished``
        writes, ``proposals`` of the inbox, ``review``: all that a review would offer, ``ticks`` that agents' processes
        found), ``rules`` (those that nobody typed or approved here, by note the lines), ``loaded`` (``Memory.loaded``),
        ``growth`` (:func:`weeks`), ``sources`` (numbers of ``logs`` and ``conversations`` that are searched; None
        without any), ``shared`` (``name`` and ``path`` of each shared vault that is searched), ``team`` (what a team's
        index says of itself, and the ``problem`` if it can't be asked; None if none is set), ``settings`` and
        ``notices``.
    """
    if workspace.progress is not None:
        workspace.progress("looking at the vault", 0, 0)
    index = workspace.index()
    report = refreshed(workspace)
    spool = Spool(workspace.state / "spool")
    model = model_of(workspace)
    unknown = [*workspace.settings.unknown_variables(), *workspace.settings.unknown_keys()]
    notices = [*workspace.notices, *(said for said in unknown if said not in workspace.notices)]
    notices += [*workspace.moved(), *report.notices]
    told = index.status()
    if report.pending_vectors and model["usable"] and not report.reading:
        notices += filter(None, [workspace.covers(report.pending_vectors)])
    doubtful = _unapproved(workspace, notices)
    if workspace.vault.look(workspace.vault.layout.review) is not None:
        notices += ticks.left(workspace.vault)
    notices += [f"{said}; {hint}" for said, hint in agents(workspace)]
    return {
        "vault": {
            "path": str(workspace.root),
            "id": workspace.vault.id,
            "state": str(workspace.state),
            "notes": told.pop("notes"),
            "tiers": told.pop("tiers"),
            "skipped": report.skipped,
            "stale": report.stale,
        },
        "background": background(workspace, report.pending_vectors),
        "index": told,
        "model": model,
        "waiting": {
            "spool": len(spool.pending()),
            "unfinished": workspace.store(writes=False).pending(),
            "proposals": len(inbox.pending(workspace.vault, notices)),
            "review": workspace.review(writes=False).waiting(limit=1).total,
            "ticks": len(ticks.recorded(workspace.capture(writes=False))),
        },
        "rules": {"unapproved": sum(map(len, doubtful.values())), "lines": doubtful},
        "loaded": loaded(workspace).as_dict(),
        "growth": {"weeks": weeks(workspace)},
        "sources": _sources(workspace),
        "team": _team(workspace),
        "shared": [{"name": each.name, "path": str(each.vault.root)} for each in workspace.shared(notices)],
        "settings": workspace.settings.given,
        "notices": notices,
    }


def agents(workspace: Workspace) -> list[tuple[str, str]]:
    """What is wrong with the hooks of coding agents, and what they soon forget: sentences, each with what to do."""
    from tars_memory.jobs.hosts import warnings

    now = workspace.now().timestamp()
    kept, lines = has_nights(workspace.state), lines_of(workspace.settings.hook.lines)
    return warnings(workspace.settings.env, now, kept=kept, lines=lines)


def _sources(workspace: Workspace) -> dict[str, int] | None:
    """How much of conversations is searched."""
    if not workspace.settings.sources.logs:
        return None
    told = sources(workspace)
    return {"logs": told["logs"], "conversations": told["conversations"]}


def _team(workspace: Workspace) -> dict[str, Any] | None:
    """A team's index, as far as it can be asked."""
    unknown = dict.fromkeys(("published", "by", "notes", "chunks", "vectors", "bytes"))
    try:
        team = workspace.team()
    except TarsError as error:
        return {"server": "", **unknown, "problem": error.message}
    if team is None:
        return None
    try:
        return {**team.told(), "problem": ""}
    except TarsError as error:
        return {"server": team.address.shown, **unknown, "problem": error.message}


def background(workspace: Workspace, pending: int) -> dict[str, Any]:
    """The process that finishes the index by itself.

    Args:
        workspace: of the vault.
        pending: passages without a vector.

    Returns:
        ``running``; ``covers`` (percent of the passages that have a vector), ``left`` (seconds that the rest takes
        here, None if nothing is left or that isn't known), ``ended`` (why the last one stopped before the end).
    """
    chunks = workspace.index().status()["chunks"] or 0
    running = index.detached.is_running(workspace.state)
    return {
        "running": running,
        "covers": 100 * (chunks - pending) // chunks if chunks else 100,
        "left": round(workspace.seconds_left(pending)) or None if pending else None,
        "ended": "" if running else index.detached.told(workspace.state).ended,
    }


WEEKS = 12
"""Weeks of growth: as much as the journal keeps by default."""


def weeks(workspace: Workspace) -> list[int]:
    """Lines that this program added to notes of our scope, less those it took out, a week each, this one last; what a
    new vault begins with is left out.
    """
    today = workspace.now().date()
    found = [0] * WEEKS
    for entry in of_scope(entries(workspace.store(writes=False).journal), workspace.vault.layout):
        ago = (today - datetime.fromisoformat(entry.time).date()).days // 7
        if ago >= WEEKS:
            break
        if ago >= 0 and entry.command != "init" and not entry.file.startswith(OURS):
            found[WEEKS - 1 - ago] += _lines(entry.after) - _lines(entry.before)
    return found


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in re.split(r"\r\n|\r|\n", text))


def _unapproved(workspace: Workspace, notices: list[str]) -> dict[str, list[int]]:
    """The rules that ``context`` does not trust, said with what can be done."""
    journal = workspace.store(writes=False).journal
    found = unapproved(workspace.vault, partial(typed_lines, journal), partial(stands_approved, journal))
    for path, lines in found.items():
        where = ", ".join(map(str, lines[:SHOWN])) + (", …" if len(lines) > SHOWN else "")
        notices.append(
            f"{path}: rules that nobody typed or approved here, so no prompt trusts them: line {where}; if they are "
            "yours, tars-memory review --rules approves them, at a terminal"
        )
    return found


def refreshed(workspace: Workspace) -> RefreshReport:
    """The index brought in step with the vault; where there is none and none can be made, all of the vault is stale."""
    try:
        return workspace.look()
    except UnwritableError as error:
        report = RefreshReport()
        report.stale = len(workspace.vault.paths())
        report.skipped = workspace.vault.skipped
        report.notices.append(reason(error))
        return report


def models(workspace: Workspace, *, fetchable: bool = True) -> list[dict[str, Any]]:
    """The models that pip installs, those fetched, and those that fastembed could fetch; the one in use is ``current``.

    ``languages`` and ``megabytes`` where they are known; ``seconds`` that the vectors of this vault take, where the
    model's speed was measured; ``recommended`` for the vault's languages.

    Args:
        workspace: of the vault.
        fetchable: False to leave out what fastembed could fetch: it takes a second to ask.
    """
    cache = workspace.settings.places.cache
    current = workspace.settings.embedding.model
    names = {manifest.name: True for manifest in known.installed(cache)}
    for name in (known.EMBEDDED, known.MULTILINGUAL):
        names[name] = _is_here(workspace.settings, name)
    names.setdefault(current, False)
    chunks = workspace.index().status()["chunks"] or 0
    others = {one[0]: one for one in (passages.known_models() if fetchable else ())}
    better = (recommended(workspace) or {"model": current})["model"]
    listed: list[dict[str, Any]] = []
    for name in dict.fromkeys((*names, *others)):
        told: dict[str, Any] = {"name": name, "installed": names.get(name, False), "current": name == current}
        told["recommended"] = name == better and name in known.COSTS
        if name in known.COSTS:
            cost = known.COSTS[name]
            told |= {"languages": cost.languages, "megabytes": cost.megabytes, "seconds": known.seconds(name, chunks)}
        elif name in others:
            _, dimension, gigabytes, languages = others[name]
            size = {"gigabytes": gigabytes, "megabytes": round(1000 * gigabytes)}
            told |= {"dimension": dimension, "languages": languages, **size}
        listed.append(told)
    return listed


def recommended(workspace: Workspace) -> dict[str, Any] | None:
    """The model that fits the languages of the vault's notes better than the one that is set; None if none does.

    Returns:
        ``model``, ``languages`` (with the share of the notes looked at), ``megabytes``, ``seconds`` that the vectors
        take, ``installed``.
    """
    current = workspace.settings.embedding.model
    paths = sorted(workspace.vault.paths())
    found: dict[str, int] = {}
    looked = letters = 0
    for _, data in workspace.vault.readable(paths[:: max(1, len(paths) // SAMPLE)]):
        text = data.decode("utf-8", "replace")
        looked += 1
        letters += len(text)
        language = foreign(text[:SAMPLED])
        if language:
            found[language] = found.get(language, 0) + 1
    if not known.is_english(current) or sum(found.values()) < max(2, looked * FOREIGN_SHARE):
        return None
    passages = round(letters / looked * len(paths) / 800)
    return {
        "model": known.MULTILINGUAL,
        "languages": {name: round(n / looked, 2) for name, n in sorted(found.items(), key=lambda one: -one[1])},
        "megabytes": known.COSTS[known.MULTILINGUAL].megabytes,
        "seconds": known.seconds(known.MULTILINGUAL, passages),
        "installed": _is_here(workspace.settings, known.MULTILINGUAL),
    }


def use_model(workspace: Workspace, name: str, folder: Path | None) -> dict[str, Any]:
    """Get the model unless it is here, and set it in the person's configuration.

    Raises:
        UsageError: fastembed knows no such model.
        ModelUnavailableError: it can't be fetched or doesn't work.
        UnwritableError: the configuration can't be written.
    """
    used = passages.use_model(name, workspace.settings.places.cache, folder)
    path = workspace.settings.places.config / "config.toml"
    workspace.settings.write("embedding", "model", used.name)
    held = workspace.peek(lambda reader: reader.fingerprint)
    notices = ["tars-memory reindex makes its vectors; until then the old model answers"]
    if held is None:
        notices = ["its vectors are made as you search; tars-memory reindex makes them at once"]
    elif held == used.fingerprint:
        notices = []
    return {"model": used.name, "config": str(path), "notices": notices}


def model_of(workspace: Workspace) -> dict[str, Any]:
    """The model that is set: ``name``, ``usable``; its ``fingerprint``, or ``reason`` and ``hint``."""
    name = workspace.settings.embedding.model
    try:
        if workspace.embedder is None:  # one that was given is used instead
            prepare.ready(name, workspace.settings.places.cache)
    except ModelUnavailableError as error:
        return {"name": name, "usable": False, "reason": error.message, "hint": error.hint}
    return {"name": name, "usable": True, "fingerprint": workspace.fingerprint()}


def _is_here(settings: Settings, name: str) -> bool:
    """Whether a model that pip installs is here; it is not prepared for that, which takes seconds."""
    manifest = known.packaged(name)
    assert manifest is not None
    return known.is_prepared(name, settings.places.cache) or prepare.is_installed(manifest)


# --- conversations


def sources(workspace: Workspace) -> dict[str, Any]:
    """The sources and what was read of them: see :meth:`tars_memory.memory.Memory.sources`."""
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


def add_source(workspace: Workspace, path: str, progress: Progress | None) -> dict[str, Any]:
    """Name a file or folder of logs in the person's own settings, and read it.

    Raises:
        UsageError: it is not a file or folder, or a vault, or its name holds what the settings can't.
        UnwritableError: the settings or the index can't be written.
    """
    whole = os.path.abspath(os.path.expanduser(path))
    if not path or not os.path.exists(whole):
        raise UsageError(f"{path or 'no file'} is not there", "name a file or a folder of logs")
    if not os.path.isdir(whole) and not os.path.isfile(whole):
        raise UsageError(f"{path} is neither a file nor a folder", "name a file or a folder of logs")
    if "," in whole or whole != whole.strip() or not whole.isprintable():
        raise UsageError(
            f"{path} has a comma, a blank at its end or a character that can't be shown in its name",
            "give it another name, or name a link to it",
        )
    if os.path.isdir(whole) and any(os.path.lexists(os.path.join(whole, name)) for name in (".obsidian", VAULT_FOLDER)):
        raise UsageError(f"{path} is a vault: search finds its notes by themselves", "name the folder of your logs")
    known, before = workspace.settings.sources.logs, sources(workspace)
    if whole not in known:
        workspace.settings.write("sources", "paths", ", ".join([*known, whole]))
    workspace.close_talks()
    talks = workspace.talks()
    notices = talks.refresh(None, progress).notices if talks is not None else []
    found = sources(workspace)
    if whole not in known and found["conversations"] == before["conversations"]:
        read = counted(found["logs"] - before["logs"], "file")
        notices = [notice for notice in notices if not notice.startswith(f"{whole} ")]
        notices.insert(0, f"no conversation there yet ({read} read); what comes is searched")
    if found["pending_vectors"] and model_of(workspace)["usable"] and workspace.goes_on():
        notices.append("found by words now; vectors are being made in the background")
    expiry = [f"programs delete logs (Claude Code: {CLEANUP_DAYS} days); sleep keeps your words"]
    if not found["nights"]:
        expiry.append("no night's work has run in three days: tars-memory sleep --help")
    found["notices"] += [*notices, *expiry]
    return found


def remove_source(workspace: Workspace, path: str) -> dict[str, Any]:
    """Take a source out of the person's settings, and forget what was read of it.

    Raises:
        UsageError: it is not one.
        UnwritableError: the settings or the index can't be written.
    """
    whole = os.path.abspath(os.path.expanduser(path))
    before = workspace.talks()
    known = workspace.settings.sources.logs
    if whole not in known:
        raise UsageError(f"{path} is not a source", "tars-memory sources lists them")
    workspace.settings.write("sources", "paths", ", ".join(each for each in known if each != whole))
    if before is not None:
        before.sources = [each for each in before.sources if each != whole]
        before.rebuild() if before.sources else before.index.clear()
    workspace.close_talks()
    return sources(workspace)


def has_nights(state: Path) -> bool:
    """Whether a night's work ran in the last three days."""
    try:
        return time.time() - os.stat(state / "sleep.json").st_mtime < 3 * 86_400
    except OSError:
        return False


# -- what every prompt begins with, and how it grows

DAYS = 30
"""Days of growth that are shown; the journal keeps 90."""

LARGEST = 5
"""Sections of a note that are named."""


class LoadedNote(NamedTuple):
    """One note that every prompt begins with.

    Attributes:
        path: of the note.
        tokens: of its text.
        grown: tokens that this program added to it, less those it took out, in :data:`DAYS` days.
        left_out: lines that ``context`` has no room for.
        sections: tokens of its largest sections by their headings, largest first; of a note of our scope.
        characters: of its text.
        limit: characters from which on it counts as large; 0 for none.
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
        """Whether it is large, or finds no room for some of its lines."""
        return self.large or self.left_out > 0


class Growth(NamedTuple):
    """What is always loaded.

    Attributes:
        notes: those that exist, in the order of a prompt.
        budget: tokens that ``context`` packs by default.
    """

    notes: list[LoadedNote]
    budget: int

    @property
    def tokens(self) -> int:
        """Of all notes."""
        return sum(note.tokens for note in self.notes)

    @property
    def grown(self) -> int:
        """Of all notes."""
        return sum(note.grown for note in self.notes)

    @property
    def left_out(self) -> int:
        """Of all notes."""
        return sum(note.left_out for note in self.notes)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        notes = {note.path: {name: getattr(note, name) for name in note._fields[1:]} for note in self.notes}
        totals = {"tokens": self.tokens, "grown": self.grown, "left_out": self.left_out}
        return {**totals, "budget": self.budget, "days": DAYS, "notes": notes}


def loaded(workspace: Workspace) -> Growth:
    """Measure the notes that are always loaded in our scope; one that can't be read is left out."""
    vault, packed, journal = workspace.vault, Searcher(workspace).context(), workspace.store(writes=False).journal
    since = (workspace.now() - timedelta(days=DAYS)).isoformat()[:10]
    found: list[LoadedNote] = []
    options, others = workspace.settings.context, vault.layout.loaded
    for path, data in vault.readable(_paths(vault)):
        text = data.decode("utf-8", "replace")
        gone = sum(
            drop.end_line - drop.start_line + 1
            for drop in packed.dropped
            if drop.path == path and drop.why in (NO_ROOM, BEYOND_CAP)
        )
        lately = takewhile(lambda entry: entry.time[:10] >= since, entries(journal, path=path))
        characters = sum(len(entry.after) - len(entry.before) for entry in lately)  # an undo counts, too
        grown = tokens(characters) if characters > 0 else -tokens(-characters)
        sections = _sections(data) if vault.layout.is_ours(path) else {}
        limit = options.user_chars if path in others else options.memory_chars
        found.append(LoadedNote(path, tokens(len(text)), grown, gone, sections, len(text), limit))
    return Growth(found, packed.budget)


def _paths(vault: Vault) -> Iterator[str]:
    layout = vault.layout
    for scope in [layout.scope, ""] if layout.scope else [""]:
        yield layout.memory_of(scope)
        yield layout.procedural_of(scope)
    yield from layout.loaded


def _sections(data: bytes) -> dict[str, int]:
    """Tokens by heading, without what comes before the first one; sections of one name count together."""
    document = Document(data)
    sizes: dict[str, int] = {}
    for section in document.sections:
        if section.level:
            size = len(document.text(section.start_line, section.end_line))
            sizes[section.title] = sizes.get(section.title, 0) + size
    largest = sorted(sizes.items(), key=lambda each: -each[1])[:LARGEST]
    return {title: tokens(size) for title, size in largest}
