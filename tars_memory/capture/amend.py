"""Entries that are there: ``list``, ``show``, finding the one that is meant, ``edit`` and ``undo``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tars_memory.capture.remember import Caller, Receipt, doubts
from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import plain_heading
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.suspicion import visible
from tars_memory.vault.writing.history import find_transactions, of_scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.vault.writing.store import Written

ASKED = "asked for this"
"""What whoever changes a rule did, for the person who decides."""

CANDIDATES = 20
"""How many an ambiguous name lists."""


def edit(ctx: Caller, target: str, text: str, *, tags: Sequence[str] = (), bare: bool = False) -> Receipt:
    """Give an entry other words. Its time, state, provenance, block id and nested bullets stay, and a task stays one.

    Its tags stay unless the text brings some, each of its fields (``[until:: DATE]``) unless the text brings the same;
    a notice says so.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one entry only.
        text: the new words; those of a task may begin with a box, to tick it.
        tags: added to them as ``#tag``.
        bare: keep neither tags nor fields.

    Raises:
        UsageError: no text.
        NotFoundError: no such entry.
        AmbiguousError: several; they are listed.
        ConflictError: the entry changed in the meantime.
        UnwritableError: the change is in the spool.
    """
    text, tags = ctx.masked(text), [grammar.tag(ctx.masked(tag)) for tag in tags]
    grammar.neutralise(text)
    entry = find(ctx, target)
    words = _reworded(entry, text)
    kept = [] if bare else grammar.carried(entry.text, words)
    words = grammar.tagged(" ".join([words, *kept]), tags)
    if kept and words != entry.text:
        ctx.notices.append(f"kept of the old text: {' '.join(kept)} (--bare leaves it out)")
    ctx.notices += doubts(words, ctx.now.date())
    change = Change("replace", entry.section, words, author=ctx.author, target=entry.path, typed=True)
    with ctx.writing("edit", {"target": entry.ref, "text": text, "tags": tags, "bare": bare}) as session:
        change = session.naming(entry, change)
        if ctx.must_propose(entry.path):
            return ctx.proposed(session, change, ASKED)
        (landed,) = session.change([change])
    return ctx.landed(landed, words)


def _reworded(entry: Entry, text: str) -> str:
    """The new words; a task keeps its box unless the text brings another one."""
    box = grammar.task(entry.text)
    if not box:
        return grammar.neutralise(text)
    new = grammar.task(text.lstrip())
    return (new or box) + grammar.neutralise(text.lstrip()[len(new) :])


def entries(ctx: Caller, tier: str | None = None, section: str | None = None) -> list[Entry]:
    """The entries of a tier, nested ones too; without a tier those of Memory.md and Procedural.md.

    Daily and session notes come newest first.

    Raises:
        UsageError: no such tier.
    """
    if tier is not None and tier not in list(Tier):
        raise UsageError(f"no tier {tier!r}", f"use one of {', '.join(Tier)}")
    wanted = plain_heading(section).casefold() if section is not None else None
    return [
        entry
        for path in _paths(ctx, tier)
        for entry in _read(ctx, path)
        if wanted is None or entry.section.casefold() == wanted
    ]


def find(ctx: Caller, target: str) -> Entry:
    """The only entry of :func:`fitting`.

    Raises:
        NotFoundError: there is none.
        AmbiguousError: there are several; its candidates are ``REF path:line text``.
        UsageError: the target is blank.
    """
    found = fitting(ctx, target)
    if len(found) > 1:
        raise ambiguous(target, found)
    return found[0]


def ambiguous(target: str, found: Sequence[Entry]) -> AmbiguousError:
    """The failure that lists the entries which a target fits."""
    lines = [f"{entry.ref}  {entry.path}:{entry.line}  {entry.text}" for entry in found[:CANDIDATES]]
    more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
    return AmbiguousError(
        f"{counted(len(found), 'entry fits', 'entries fit')} {target.strip()!r}{more}", lines, "name one by its REF"
    )


def fitting(ctx: Caller, target: str) -> list[Entry]:
    """The entry with this REF or at this place (``path:line``), else those with these words, else those that hold them.

    Looked for in Memory.md, Procedural.md, Facts.md, the feedback notes, the daily notes, newest first, if there is
    none, in the notes of sessions, and then in playbooks and what agents keep.

    Raises:
        NotFoundError: there is none.
        UsageError: the target is blank.
    """
    said = target.strip()
    if not said:
        raise UsageError("no entry is named", "name one by its REF (tars-memory list shows them) or by its words")
    paths = [
        *_paths(ctx, None),
        *_existing(ctx, ctx.layout.facts, ctx.layout.corrections, ctx.layout.rewards),
        *_paths(ctx, Tier.DAILY),
    ]
    sessions = _paths(ctx, Tier.EPISODIC)
    layout = ctx.layout
    kept = [
        path
        for path in _paths(ctx, Tier.NOTE)
        if layout.agent_of(path) or layout.is_topic(path, "") or layout.is_playbook(path)
    ]
    every = [*paths, *sessions, *kept]
    if re.fullmatch(r"[a-z2-7]{8}", said.lower()) and (named := _named(ctx, every, said.lower())):
        return [named]
    if placed := _placed(ctx, every, said):
        return [placed]
    if found := _worded(ctx, paths, said) or _worded(ctx, sessions, said) or _worded(ctx, kept, said):
        return found
    raise NotFoundError(f"no entry {said!r}", "tars-memory list shows entries with their REF")


def _worded(ctx: Caller, paths: Sequence[str], said: str) -> list[Entry]:
    """The entries with these words, else those that hold them."""
    typed, kept = _folded(said), _folded(grammar.neutralise(said))
    equal: list[Entry] = []
    holding: list[Entry] = []
    for path in paths:
        for entry in _read(ctx, path, typed.split()[0]):
            text = _folded(entry.text)
            if text in (typed, kept):
                equal.append(entry)
            elif typed in text or kept in text:
                holding.append(entry)
    return equal or holding


def _named(ctx: Caller, paths: Sequence[str], ref: str) -> Entry | None:
    """The entry with a REF; a fact's own one, which is of its subject as well, counts too."""
    for path in paths:
        for entry in _read(ctx, path):
            if entry.ref == ref:
                return entry
    for path in _existing(ctx, ctx.layout.facts):
        for entry, fact in ctx.vault.note(path).facts:
            if fact.ref == ref:
                return entry
    return None


def _placed(ctx: Caller, paths: Sequence[str], said: str) -> Entry | None:
    """The entry at ``path:line`` of the vault, with or without the line's text behind it, as a listing prints it."""
    for found in re.finditer(r":([0-9]{1,9})(?=:|$)", said):
        if (path := said[: found.start()]) in paths:
            number = int(found[1])
            return max(
                (entry for entry in _read(ctx, path) if entry.line <= number <= entry.end_line),
                key=lambda entry: entry.line,
                default=None,
            )
    return None


def _folded(text: str) -> str:
    return " ".join(visible(text).casefold().split())


def _paths(ctx: Caller, tier: str | None) -> list[str]:
    """The notes of a tier in our scope; without a tier the two tier notes."""
    layout = ctx.layout
    if tier is None:
        return _existing(ctx, layout.memory, layout.procedural)
    if tier in (Tier.SEMANTIC, Tier.PROCEDURAL):
        return _existing(ctx, *((layout.memory, layout.facts) if tier == Tier.SEMANTIC else (layout.procedural,)))
    found = ctx.vault.ours(Tier(tier))
    if tier == Tier.DAILY:
        return sorted(found, key=lambda path: str(layout.day_of(path)), reverse=True)
    return sorted(found, reverse=tier == Tier.EPISODIC)


def _existing(ctx: Caller, *paths: str) -> list[str]:
    """Those that are there as regular files; a notice names one that is there as something else."""
    found = [path for path in paths if ctx.vault.look(path) is not None]
    for path in paths:
        if path not in found and os.path.lexists(ctx.vault.root / path):
            notice = f"{path} is a link or no file: it is neither read nor written; put the note itself there"
            if notice not in ctx.notices:
                ctx.notices.append(notice)
    return found


def _read(ctx: Caller, path: str, word: str = "") -> Iterator[Entry]:
    """The entries of a note; one that can't be read has none, and a notice says so.

    A note that does not hold ``word`` anywhere, in any case, is not parsed.
    """
    for note in ctx.notes([path]):
        if not word or word in note.data.decode("utf-8", "surrogateescape").casefold():
            yield from note.entries


def undo(ctx: Caller, txn: str | Sequence[str] | None = None, *, last: int = 1) -> list[Written]:
    """Take back the last transactions, or those named.

    What waits in the spool is left there: the last thing done must stay the last.

    Raises:
        UsageError: it would change a rule, and no person sits at a terminal; or it was written for another project.
        NotFoundError: there is nothing to undo.
        ConflictError: a note has moved on too far.
    """
    for name, group in find_transactions(ctx.store.journal, txn, last):
        if len([*of_scope(iter(group), ctx.layout)]) < len(group):
            raise UsageError(
                f"{name} was written for another project, or for none",
                "choose that one with --project, or none; tars-memory history lists what was written here",
            )
    if not ctx.may_write_rules:
        for name, group in find_transactions(ctx.store.journal, txn, last):
            rules = [entry.file for entry in group if ctx.layout.is_rules(entry.file)]
            if rules:
                raise UsageError(
                    f"undoing {name} would change {rules[0]}, which only a person at a terminal may",
                    f"run it at a terminal: tars-memory undo {name}",
                )
    return ctx.store.undo(txn, last=last)
