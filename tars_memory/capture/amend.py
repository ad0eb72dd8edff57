"""List, find and edit existing entries, and undo writes."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tars_memory.capture.remember import Caller, Receipt, around, end_notices
from tars_memory.errors import AmbiguousError, ConflictError, NotFoundError, PartialError, UsageError, counted
from tars_memory.language.words import fold
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import document, entries as grammar
from tars_memory.vault.markdown.lines import typed_words, unbulleted
from tars_memory.vault.model import Entry, Tier
from tars_memory.vault.suspicion import shell_word, visible
from tars_memory.vault.writing.history import find_transactions, hide_former, of_scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tars_memory.vault.writing import history, store

ASKED = "asked for this"
"""What the actor did, in the reason for a proposal to change a rule."""

CANDIDATES = 20
"""Maximum number of entries that an error about an ambiguous target lists."""


def edit(ctx: Caller, target: str, text: str, *, tags: Sequence[str] = (), bare: bool = False) -> Receipt:
    """Replace the words of an entry. Its time, state, provenance, block id and nested bullets stay, and a task's box.

    Its tags stay unless the text has tags, and each of its fields (``[until:: DATE]``) unless the text has that field;
    a notice says what was kept.

    Args:
        ctx: the command's view of the vault.
        target: a REF, or words that fit one entry only.
        text: the new words; those of a task may begin with a box, to tick it.
        tags: appended to the words as ``#tag``.
        bare: keep neither tags nor fields.

    Raises:
        UsageError: no text.
        NotFoundError: there is no such entry.
        AmbiguousError: several entries fit; the error lists them.
        ConflictError: the entry changed in the meantime.
        UnwritableError: the vault can't be written; the change is in the spool.
    """
    grammar.neutralise(text)
    entry, tags = find(ctx, target), [grammar.tag(tag) for tag in ctx.masked_tags(tags)]
    text = ctx.masked(text, *around(entry.section, tags))
    words = _reworded(entry, text)
    kept = [] if bare else grammar.kept_fields(entry.text, words)
    words = grammar.with_tags(" ".join([words, *kept]), tags)
    if kept and words != entry.text:
        ctx.notices.append(f"kept of the old text: {' '.join(kept)} (--bare leaves it out)")
    ctx.notices += end_notices(words, ctx.now.date())
    change = Change("replace", entry.section, words, author=ctx.author, target=entry.path, typed=True)
    with ctx.writing("edit", {"target": entry.ref, "text": text, "tags": tags, "bare": bare}) as session:
        change = session.retarget(entry, change)
        if ctx.must_propose(entry.path):
            return ctx.proposed(session, change, ASKED)
        (landed,) = session.change([change])
    return ctx.landed(landed, words)


def _reworded(entry: Entry, text: str) -> str:
    """Return the new words of an entry; a task keeps its box unless the text has one."""
    box = grammar.task(entry.text)
    bare = unbulleted(text).lstrip()
    new = box and grammar.task(bare)
    return new + grammar.neutralise(bare[len(new) :]) if new else box + typed_words(text)


def entries(ctx: Caller, tier: str | None = None, section: str | None = None) -> list[Entry]:
    """Return the entries of a tier, including nested ones; without a tier, those of Memory.md and Procedural.md.

    Daily and session notes come newest first.

    Raises:
        UsageError: there is no such tier.
    """
    if tier is not None and tier not in list(Tier):
        raise UsageError(f"no tier {tier!r}", f"use one of {', '.join(Tier)}")
    wanted = document.plain_heading(section).casefold() if section is not None else None
    return [
        entry
        for path in _paths(ctx, tier)
        for entry in _read(ctx, path)
        if wanted is None or entry.section.casefold() == wanted
    ]


def find(ctx: Caller, target: str, *, anywhere: bool = False) -> Entry:
    """Return the only entry of :func:`matching_entries`; with ``anywhere`` also that of a note which we don't edit.

    Raises:
        NotFoundError: no entry fits.
        AmbiguousError: several entries fit; its candidates are ``REF path:line text``.
        UsageError: the target is blank.
    """
    found = matching_entries(ctx, target, anywhere=anywhere)
    if len(found) > 1:
        raise ambiguous(ctx, target, found)
    return found[0]


def ambiguous(ctx: Caller, target: str, found: Sequence[Entry], hint: str = "name one by its REF") -> AmbiguousError:
    """Return the error that lists the entries that fit a target, masked as they are in their notes."""
    lines = [
        f"{entry.ref}  {entry.path}:{entry.line}  {ctx.vault.hide(entry.path, entry.text)}"
        for entry in found[:CANDIDATES]
    ]
    more = f" (the first {CANDIDATES} are listed)" if len(found) > CANDIDATES else ""
    return AmbiguousError(f"{counted(len(found), 'entry fits', 'entries fit')} {target.strip()!r}{more}", lines, hint)


def matching_entries(ctx: Caller, target: str, *, anywhere: bool = False) -> list[Entry]:
    """Return the entry with this REF or place (``path:line``), else those with these words, else those containing them.

    Words are searched in Memory.md, Procedural.md, Facts.md, the feedback notes and the daily notes, newest first; if
    none fits, in session notes; and then in playbooks and agents' notes. With ``anywhere``, at last in any note.

    Raises:
        NotFoundError: no entry fits; or the note at the place can't be read.
        UsageError: the target is blank or a number; or without ``anywhere`` it is in a note that the memory does not
            edit.
    """
    wanted = target.strip()
    if not wanted:
        raise UsageError("name an entry", "use its REF (tars-memory list shows them) or its words")
    if wanted.isdecimal() and len(wanted) < len("10000"):  # meant as a hit, it would fit whatever entry contains it
        raise UsageError(
            f"{wanted} doesn't name an entry", "use its REF (tars-memory list shows them), or more of its words"
        )
    paths = [
        *_paths(ctx, None),
        *_existing(ctx, ctx.layout.facts, ctx.layout.corrections, ctx.layout.rewards),
        *_paths(ctx, Tier.DAILY),
    ]
    sessions = _paths(ctx, Tier.EPISODIC)
    layout = ctx.layout
    notes = _paths(ctx, Tier.NOTE)
    others = [path for path in notes if layout.agent_of(path) or layout.is_topic(path, "") or layout.is_playbook(path)]
    if named := _by_name(ctx, [*paths, *sessions, *others], wanted):
        return [named]
    if found := _by_words(ctx, paths, wanted) or _by_words(ctx, sessions, wanted) or _by_words(ctx, others, wanted):
        return found
    notes = [path for path in notes if path not in others]
    named = _by_name(ctx, notes, wanted)
    said = [path for path in notes if not layout.is_review(path)]  # a line there only repeats what waits
    theirs = [named] if named is not None else _by_words(ctx, said, wanted)
    if not theirs:
        place = _place_named([*paths, *sessions, *others, *notes], wanted)
        opens = f"tars-memory open {shell_word(place)} opens the note; " if place else ""
        if not place and (log := re.match(r"(?s)(.+?):[0-9]", wanted)) and os.path.isfile(log[1]):
            hint = "only lines that you said in a conversation can be named like this, and only by forget"
            raise NotFoundError(f"no entry {wanted!r}: it is not in a note, but in a file that is never written", hint)
        raise NotFoundError(f"no entry {wanted!r}", f"{opens}tars-memory list shows entries with their REFs")
    if anywhere:
        return theirs
    place = f"{theirs[0].path}:{theirs[0].line}"
    where = "is in a note that the memory reads and does not edit"
    hint = f"tars-memory open {shell_word(place)} opens it in your editor"
    if named is None:
        raise NotFoundError(f"no entry {wanted!r}: {place}, with these words, {where}", hint)
    raise UsageError(f"{place} {where}", hint)


def _by_name(ctx: Caller, paths: Sequence[str], target: str) -> Entry | None:
    """Return the entry of these notes with this REF or place."""
    ref = target.lower()
    return (_by_ref(ctx, paths, ref) if re.fullmatch(r"[a-z2-7]{8}", ref) else None) or _by_place(ctx, paths, target)


def _by_words(ctx: Caller, paths: Sequence[str], target: str) -> list[Entry]:
    """Return the entries with these words, else those that contain them; in either case those that have them exactly as
    typed, if any do: ``Papá`` is not ``Papa`` where both are there. A line that was copied from its note is known by
    all its words and its time; what was typed with such a mark, as ``- 5 degrees``, by that mark as well.
    """
    line = unbulleted(target)
    copied = grammar.parse(line, timed=True) if line != target else grammar.Parts(target)
    typed = {comparable(target), comparable(grammar.neutralise(target))}
    whole = comparable(line) or comparable(target)
    words = comparable(copied.text) or whole
    equal: list[Entry] = []
    containing: list[Entry] = []
    for path in paths:
        for entry in _read(ctx, path, words.split()[0]):
            text = comparable(entry.text)
            forms = {*typed, whole, words if copied.time in (None, entry.time) else whole}
            first = entry.raw.split("\n")[0]  # of a bullet of several lines one may be copied
            if text in forms or (line != target and comparable(unbulleted(first)) == whole):
                equal.append(entry)
            elif any(form in text for form in typed):
                containing.append(entry)
    found, spelt = equal or containing, " ".join((copied.text or target).casefold().split())
    return [entry for entry in found if spelt in " ".join(entry.text.casefold().split())] or found


def _by_ref(ctx: Caller, paths: Sequence[str], ref: str) -> Entry | None:
    """Return the entry with a REF, or with that of its fact (which depends on the subject as well)."""
    for path in paths:
        for entry in _read(ctx, path):
            if entry.ref == ref:
                return entry
    for path in _existing(ctx, ctx.layout.facts):
        for entry, fact in ctx.vault.note(path).facts:
            if fact.ref == ref:
                return entry
    return None


def _by_place(ctx: Caller, paths: Sequence[str], target: str) -> Entry | None:
    """Return the entry at ``path:line``; the text of the line may follow, as in listings."""
    for found in re.finditer(r":([0-9]{1,9})(?=:|$)", target):
        if (path := target[: found.start()]) in paths:
            number = int(found[1])
            try:
                entries = ctx.vault.note(path).entries
            except PartialError as error:
                raise NotFoundError(error.message, error.hint) from None
            return max(
                (entry for entry in entries if entry.line <= number <= entry.end_line),
                key=lambda entry: entry.line,
                default=None,
            )
    return None


def _place_named(paths: Sequence[str], target: str) -> str:
    """Return the note that a target names by its path, else by its name, and the line that it names; empty for none."""
    found = re.fullmatch(r"(?is)(.*?)(?:\.md)?(:[0-9]{1,9})?(?::.*)?", target)
    name, number = (found[1].casefold(), found[2] or "") if found else ("", "")
    stems = {path: path.removesuffix(".md").casefold() for path in paths}
    by_name = (path for path, stem in stems.items() if stem.rpartition("/")[2] == name.rpartition("/")[2])
    note = next((path for path, stem in stems.items() if stem == name), "") or next(by_name, "")
    return note and note + number


def comparable(text: str) -> str:
    """Return a text for comparison: folded as search folds it, with single blanks, without invisible characters."""
    return " ".join(fold(visible(text)).split())


def _paths(ctx: Caller, tier: str | None) -> list[str]:
    """Return the notes of a tier in our scope; without a tier, Memory.md and Procedural.md."""
    layout = ctx.layout
    if tier is None:
        return _existing(ctx, layout.memory, layout.procedural)
    if tier in (Tier.SEMANTIC, Tier.PROCEDURAL):
        return _existing(ctx, *((layout.memory, layout.facts) if tier == Tier.SEMANTIC else (layout.procedural,)))
    found = ctx.vault.tier_paths(Tier(tier))
    if tier == Tier.DAILY:
        return sorted(found, key=lambda path: str(layout.day_of(path)), reverse=True)
    return sorted(found, reverse=tier == Tier.EPISODIC)


def _existing(ctx: Caller, *paths: str) -> list[str]:
    """Return the paths that exist as regular files; a notice names those that exist as something else."""
    found = [path for path in paths if ctx.vault.look(path) is not None]
    for path in paths:
        if path not in found and os.path.lexists(ctx.vault.root / path):
            notice = f"{path} is a link or not a file, so it is neither read nor written: put the note itself there"
            if notice not in ctx.notices:
                ctx.notices.append(notice)
    return found


def _read(ctx: Caller, path: str, word: str = "") -> Iterator[Entry]:
    """Yield the entries of a note; none, and a notice, if it can't be read.

    A note that does not contain ``word``, which is folded, is not parsed.
    """
    for note in ctx.notes([path]):
        if not word or word in fold(note.data.decode("utf-8", "surrogateescape")):
            yield from note.entries


def undo(ctx: Caller, txn: str | Sequence[str] | None = None, *, last: int = 1) -> list[store.Written]:
    """Undo the last transactions of the scope, or those named.

    The spool is not placed first, so that the last transaction stays the last one.

    Raises:
        UsageError: it would change a rule without a person at a terminal; or it was written for another project.
        NotFoundError: there is nothing to undo.
        ConflictError: a note has changed too much since.
    """
    chosen = find_transactions(ctx.store.journal, txn, last, ctx.layout)
    for name, group in chosen:
        if len([*of_scope(iter(group), ctx.layout)]) < len(group):
            raise UsageError(
                f"{name} was written in another project, or in none",
                "choose that project with --project, or none; tars-memory history lists what was written here",
            )
    if not ctx.may_write_rules:
        for name, group in chosen:
            rules = [entry.file for entry in group if ctx.layout.is_rules(entry.file)]
            if rules:
                raise UsageError(
                    f"undoing {name} would change {rules[0]}, which only a person at a terminal may",
                    f"run it at a terminal: tars-memory undo {name}",
                )
    newest = find_transactions(ctx.store.journal, None, 1)[0][0] if not txn else ""
    if newest > chosen[0][0]:
        ctx.notices.append(f"{newest}, the newest write, stays: it is of another project, or of none (--project)")
    return _undone(ctx, chosen)


def _undone(ctx: Caller, chosen: Sequence[tuple[str, list[history.JournalEntry]]]) -> list[store.Written]:
    """Undo transactions; reports and refusals are masked as in the notes before and after."""
    entries = [entry for _, group in chosen for entry in reversed(group)]
    hide_former(entries, ctx.vault)
    try:
        undone = ctx.store.undo([name for name, _ in chosen])
    except ConflictError as error:
        for path in set() if ctx.interactive else {entry.file for entry in entries}:
            error.message = ctx.vault.hide(path, error.message)
        raise
    for write in undone:
        ctx.vault.hide_former(write.path, write.text.decode("utf-8", "surrogateescape"))
    return undone
