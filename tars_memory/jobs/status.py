"""How vault, index and models stand, and which embedding model is used."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tars_memory.curation.reviewing.ticks import recorded
from tars_memory.errors import ModelUnavailableError, TarsError, UnwritableError
from tars_memory.settings import EmbeddingOptions
from tars_memory.vault import inbox
from tars_memory.vault.writing.spool import Spool

if TYPE_CHECKING:
    from pathlib import Path

    from tars_memory.index.intake import RefreshReport
    from tars_memory.memory import Memory
    from tars_memory.recall.packing.growth import Growth
    from tars_memory.settings import Settings


SAMPLE, SAMPLED, FOREIGN_SHARE = 100, 2_000, 0.1
"""Notes and characters of each that are looked at to learn a vault's languages, and the share of the notes in other
languages than English from which on another model than one for English is recommended."""
SHOWN = 10
"""So many lines a notice names."""


def status(memory: Memory) -> dict[str, Any]:
    """One object: where things are, how far the index is, which model and driver are in use; additive only.

    Returns:
        ``vault``, ``background`` (:func:`background`), ``index``, ``model``, ``waiting`` (``spool``, ``unfinished``
        writes, ``proposals`` of the inbox, ``review``: all that a review would offer, ``ticks`` that agents' processes
        found), ``rules`` (those that nobody typed or approved here, by note the lines), ``loaded`` (:func:`loaded`),
        ``sources`` (numbers of ``logs`` and ``conversations`` that are searched; None without any), ``settings`` and
        ``notices``.
    """
    if memory.progress is not None:
        memory.progress("looking at the vault", 0, 0)
    index = memory.index()
    report = refreshed(memory)
    spool = Spool(memory.state / "spool")
    model = model_of(memory)
    unknown = [*memory.settings.unknown_variables(), *memory.settings.unknown_keys()]
    notices = [*memory.notices, *(said for said in unknown if said not in memory.notices)]
    notices += [*memory.moved(), *report.notices]
    told = index.status()
    if report.pending_vectors and model["usable"] and not report.reading:
        notices += filter(None, [memory.covers(report.pending_vectors)])
    doubtful = _unapproved(memory, notices)
    if memory.vault.look(memory.vault.layout.review) is not None:
        from tars_memory.curation.reviewing import ticks

        notices += ticks.left(memory.vault)
    return {
        "vault": {
            "path": str(memory.root),
            "id": memory.vault.id,
            "state": str(memory.state),
            "notes": told.pop("notes"),
            "tiers": told.pop("tiers"),
            "skipped": report.skipped,
            "stale": report.stale,
        },
        "background": background(memory, report.pending_vectors),
        "index": told,
        "model": model,
        "waiting": {
            "spool": len(spool.pending()),
            "unfinished": memory.store(writes=False).pending(),
            "proposals": len(inbox.pending(memory.vault, notices)),
            "review": memory.review(writes=False).waiting(limit=1).total,
            "ticks": len(recorded(memory.capture(writes=False))),
        },
        "rules": {"unapproved": sum(map(len, doubtful.values())), "lines": doubtful},
        "loaded": loaded(memory).as_dict(),
        "sources": _sources(memory),
        "settings": memory.settings.given,
        "notices": notices,
    }


def _sources(memory: Memory) -> dict[str, int] | None:
    """How much of conversations is searched."""
    from tars_memory.talks import source_paths

    if not source_paths(memory.settings):
        return None
    told = memory.sources()
    return {"logs": told["logs"], "conversations": told["conversations"]}


def background(memory: Memory, pending: int) -> dict[str, Any]:
    """The process that finishes the index by itself.

    Args:
        memory: of the vault.
        pending: passages without a vector.

    Returns:
        ``running``; ``covers`` (percent of the passages that have a vector), ``left`` (seconds that the rest takes
        here, None if nothing is left or that isn't known), ``ended`` (why the last one stopped before the end).
    """
    from tars_memory.index.live import detached

    chunks = memory.index().status()["chunks"] or 0
    running = detached.is_running(memory.state)
    return {
        "running": running,
        "covers": 100 * (chunks - pending) // chunks if chunks else 100,
        "left": round(memory.seconds_left(pending)) or None if pending else None,
        "ended": "" if running else detached.told(memory.state).ended,
    }


def loaded(memory: Memory) -> Growth:
    """How big the notes are that every prompt begins with, how fast they grow, and what of them finds no room."""
    from tars_memory.recall.packing.growth import DAYS, growth
    from tars_memory.vault.writing.history import entries

    since = (memory.now() - timedelta(days=DAYS)).isoformat()[:10]
    journal = memory.store(writes=False).journal

    def written(path: str) -> int:
        """What an undo took back counts against what it took back."""
        count = 0
        for entry in entries(journal, path=path):
            if entry.time[:10] < since:
                break
            count += len(entry.after) - len(entry.before)
        return count

    return growth(memory.vault, memory.context(""), written)


def _unapproved(memory: Memory, notices: list[str]) -> dict[str, list[int]]:
    """The rules that ``context`` does not trust, said with what can be done."""
    from tars_memory.recall.packing.rules import unapproved
    from tars_memory.vault.writing.history import typed_lines

    journal = memory.store(writes=False).journal
    found = unapproved(memory.vault, lambda path: typed_lines(journal, path))
    for path, lines in found.items():
        where = ", ".join(map(str, lines[:SHOWN])) + (", …" if len(lines) > SHOWN else "")
        notices.append(
            f"{path}: rules that nobody typed or approved here, so no prompt trusts them: line {where}; if they are "
            "yours, tars-memory review --rules approves them, at a terminal"
        )
    return found


def refreshed(memory: Memory) -> RefreshReport:
    """The index brought in step with the vault; where there is none and none can be made, all of the vault is stale."""
    from tars_memory.index.intake import RefreshReport

    try:
        return memory.look()
    except UnwritableError as error:
        report = RefreshReport()
        report.stale = len(memory.vault.paths())
        report.skipped = memory.vault.skipped
        report.notices.append(f"{error.message}; {error.hint}")
        return report


def models(memory: Memory) -> list[dict[str, Any]]:
    """The models that pip installs, those fetched, and those that fastembed could fetch; the one in use is ``current``.

    ``languages`` and ``megabytes`` where they are known; ``seconds`` that the vectors of this vault take, where the
    model's speed was measured.
    """
    from tars_memory.index.embedding import fetch
    from tars_memory.index.embedding import models as known

    cache = memory.settings.places.cache
    current = memory.settings.options("embedding", EmbeddingOptions).model
    names = {manifest.name: True for manifest in known.installed(cache)}
    for name in (known.EMBEDDED, known.MULTILINGUAL):
        names[name] = _usable(memory.settings, name)
    names.setdefault(current, False)
    passages = memory.index().status()["chunks"] or 0
    fetchable = {one[0]: one for one in fetch.known_models()}
    listed: list[dict[str, Any]] = []
    for name in dict.fromkeys((*names, *fetchable)):
        told: dict[str, Any] = {"name": name, "installed": names.get(name, False), "current": name == current}
        if name in known.COSTS:
            cost = known.COSTS[name]
            told |= {"languages": cost.languages, "megabytes": cost.megabytes, "seconds": known.seconds(name, passages)}
        elif name in fetchable:
            _, dimension, gigabytes, languages = fetchable[name]
            size = {"gigabytes": gigabytes, "megabytes": round(1000 * gigabytes)}
            told |= {"dimension": dimension, "languages": languages, **size}
        listed.append(told)
    return listed


def recommended(memory: Memory) -> dict[str, Any] | None:
    """The model that fits the languages of the vault's notes better than the one that is set; None if none does.

    Returns:
        ``model``, ``languages`` (with the share of the notes looked at), ``megabytes``, ``seconds`` that the vectors
        take, ``installed``.
    """
    from tars_memory.index.embedding import models as known
    from tars_memory.recall.ranking.languages import foreign

    current = memory.settings.options("embedding", EmbeddingOptions).model
    paths = sorted(memory.vault.paths())
    found: dict[str, int] = {}
    looked = letters = 0
    for path in paths[:: max(1, len(paths) // SAMPLE)]:
        try:
            text = memory.vault.read(path).decode("utf-8", "replace")
        except (OSError, TarsError):
            continue
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
        "installed": _usable(memory.settings, known.MULTILINGUAL),
    }


def use_model(memory: Memory, name: str, folder: Path | None) -> dict[str, Any]:
    """Get the model unless it is here, and set it in the person's configuration.

    Raises:
        UsageError: fastembed knows no such model.
        ModelUnavailableError: it can't be fetched or doesn't work.
        UnwritableError: the configuration can't be written.
    """
    from tars_memory.index.embedding import fetch

    name = fetch.use_model(name, memory.settings.places.cache, folder).name
    path = memory.settings.places.config / "config.toml"
    memory.settings.write("embedding", "model", name)
    notices = ["tars-memory reindex makes its vectors; those of the other model answer until they are there"]
    return {"model": name, "config": str(path), "notices": notices}


def model_of(memory: Memory) -> dict[str, Any]:
    """The model that is set: ``name``, ``usable``; its ``fingerprint``, or ``reason`` and ``hint``."""
    from tars_memory.index.embedding import models as known

    name = memory.settings.options("embedding", EmbeddingOptions).model
    try:
        if memory.embedder is None:  # one that was given stands for it
            known.ready(name, memory.settings.places.cache)
    except ModelUnavailableError as error:
        return {"name": name, "usable": False, "reason": error.message, "hint": error.hint}
    return {"name": name, "usable": True, "fingerprint": memory.fingerprint()}


def _usable(settings: Settings, name: str) -> bool:
    from tars_memory.index.embedding import models as known

    try:
        known.ready(name, settings.places.cache)
    except ModelUnavailableError:
        return False
    return True
