"""``review``: lists the proposals that wait, and carries out what the person decides about them.

A decided proposal is not offered again, and a decision counts only for the proposal as it was shown: its id is made of
the change, so if a line changes in the meantime, its proposal has another id.

Also here: rules in the vault that nobody typed or approved on this machine (imported, synced, or edited with another
program), which the person can approve: that changes no byte of them, it only records in the journal of this machine
that the person approves exactly these lines. And statements that a second look left out, which can be offered after
all.
"""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import capture, disk, recall, vault
from tars_memory.curation import extraction, review_note
from tars_memory.curation.commit import RecordedTick, Reviewed, commit
from tars_memory.curation.gather import Gathered, gather
from tars_memory.curation.proposals import Decision, DrawnFact, Mark, Proposal, ProposedFact
from tars_memory.errors import AmbiguousError, BusyError, ConflictError, NotFoundError, TarsError, UsageError, counted
from tars_memory.vault import inbox, playbooks, sessions
from tars_memory.vault.folder import digest
from tars_memory.vault.markdown import document, edits, entries as grammar, facts
from tars_memory.vault.markdown.edits import Changes, splices_between
from tars_memory.vault.model import Entry, Splice, Tier
from tars_memory.vault.note import Note
from tars_memory.vault.sessions import LEFT_OUT, SessionFact
from tars_memory.vault.vault import Vault, is_conflict_copy
from tars_memory.vault.writing import history, journal, system, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.writing.store import WriteSession


# --- carries out decisions: those ticked in Review.md, those made in the terminal or by a script, and expiry
#
# ``review --from-note`` applies ticks, and so does the next command that writes. Ticks in conflict copies of the note
# (a second device) count like those in the note itself. A decision is carried out once: ``.tars/decided.jsonl`` records
# it by its proposal's id, so if a sync brings an old note back, decided proposals are silently removed from it. A
# process that an agent runs applies no ticks, because the agent may have set them itself. It only records, in the state
# folder, that it found them; the next process that no agent runs applies them, or the person decides them in
# ``review``.
#
# A candidate that nobody decided within the window is marked ``[expired]``; it stays in its note, and search still
# finds it. A candidate whose words are already in a tier note is marked ``[promoted]``: there is nothing to decide.


GONE = "no such proposal is waiting; its line may have changed"
"""Why the tick on a proposal that is not offered stays."""

HELD = "it contains what looks like a credential ({}): remove that, or type it into tars-memory review, which asks"
"""Why the tick on words or a place with a credential stays: here nobody can be asked, and masked they would be lost."""

RECORD = "ticks.json"
"""File in the state folder: for each review note, the ticks that agents' processes found. It holds only hashes of the
words."""


def recorded_notice(ctx: Caller, found: Sequence[RecordedTick]) -> list[str]:
    """Return one sentence that says how to apply recorded ticks; an empty list if there are none."""
    if not found:
        return []
    where = f"{review_note.NOTE}:{', '.join(str(tick.line) for tick in found[:5])}{', …' * (len(found) > 5)}"
    summary = f"{counted(len(found), 'tick')} recorded, not done ({where})"
    if ctx.may_tick:
        return [f"{summary}: an agent may have set them; decide with tars-memory review"]
    return [f"{summary}: an agent runs this; run tars-memory review yourself"]


def recorded_ticks(ctx: Caller) -> list[RecordedTick]:
    """Return the ticks that an agent's process recorded and that are in the note unchanged."""
    known = _load_record(ctx).get(ctx.layout.review)
    if not known:
        return []
    _, ticks, _ = _read_ticks(ctx.vault)
    return [
        _recorded(ctx, name, tick, str(known[name][1]))
        for name, tick in ticks.items()
        if name in known and known[name][0] == _hash(tick)
    ]


def _recorded(ctx: Caller, name: str, tick: review_note.Ticked, time: str, *, is_new: bool = False) -> RecordedTick:
    decision = "accepted" if tick.accept else "rejected"
    return RecordedTick(name, decision, ctx.layout.review, tick.line, time, is_new)


def _record_ticks(ctx: Caller, ticks: dict[str, review_note.Ticked]) -> list[RecordedTick]:
    """Record the ticks that an agent's process found, in place of those recorded for the note before.

    Raises:
        UnwritableError: the state folder can't be written.
    """
    record = _load_record(ctx)
    known = record.get(ctx.layout.review, {})
    now = ctx.now.isoformat()
    found = []
    for name, tick in ticks.items():
        first_found = known[name][1] if name in known and known[name][0] == _hash(tick) else None
        found.append(_recorded(ctx, name, tick, first_found or now, is_new=first_found is None))
    _save_record(ctx, record, {tick.id: [_hash(ticks[tick.id]), tick.time] for tick in found})
    return found


def _load_record(ctx: Caller) -> dict[str, dict[str, Any]]:
    """Return the well-formed entries of the record file: by note and proposal id, a tick's hash and time."""
    return {
        path: {name: pair for name, pair in known.items() if isinstance(pair, list) and len(pair) == 2}
        for path, known in disk.state_object(ctx.store.state / RECORD).items()
        if isinstance(known, dict)
    }


def _save_record(ctx: Caller, record: dict[str, dict[str, Any]], of_note: dict[str, Any]) -> None:
    """Write the record file with new entries for our review note; nothing is written if they are the same."""
    if ctx.store.dry_run or record.get(ctx.layout.review, {}) == of_note:
        return
    record = {path: entries for path, entries in {**record, ctx.layout.review: of_note}.items() if entries}
    path = ctx.store.state / RECORD
    with transaction.writing(os.fspath(path)):
        journal.replace_file(path, json.dumps(record, indent=1).encode("ascii"))


def _hash(tick: review_note.Ticked) -> str:
    """Return a hash of what a tick decides, wherever its line is."""
    return disk.sha256(repr(tick._replace(line=0)).encode("utf-8", "surrogatepass")).hexdigest()


def notes(vault: Vault) -> list[str]:
    """Return the paths of Review.md and its conflict copies, as far as they exist; the note comes first."""
    folder, slash, name = vault.layout.review.rpartition("/")
    try:
        names = os.listdir(vault.root / folder)
    except OSError:
        return []
    stem = name[:-3]
    copies = [file for file in names if file.startswith(stem) and file[-3:].lower() == ".md" and is_conflict_copy(file)]
    paths = [folder + slash + file for file in (name, *sorted(copies))]
    return [path for path in paths if vault.look(path) is not None]


def apply_pending_ticks(open_review: Callable[[], Review], notices: list[str]) -> None:
    """Apply the ticks in Review.md before another command writes.

    No error raised here ends that command. Ticks that can't be applied stay in the note; ``review`` and ``status`` say
    so. Nothing is applied while another review is running, nor from a note that is as an undo left it.

    Args:
        open_review: returns the vault's review.
        notices: receives sentences for the person.
    """
    try:
        review = open_review()
        data_of = _note_data(review.ctx.vault)
        if not any(map(review_note.ticked, data_of.values())) or is_undone(
            review.ctx, data_of.get(review.ctx.layout.review, b"")
        ):
            return
        with review.alone():
            done, _, recorded_ticks = apply_ticks(review)
    except BusyError:
        return
    except Exception as error:  # the command that the person typed comes first
        notices.append(f"{review_note.NOTE} waits: {getattr(error, 'message', None) or repr(error)}")
        return
    outcomes = [outcome for committed in done for outcome in committed.decided]
    if outcomes:
        accepted = [outcome for outcome in outcomes if outcome.decision == "accepted"]
        notices.append(
            f"decided in {review_note.NOTE}: {len(accepted)} accepted, {len(outcomes) - len(accepted)} rejected"
        )
        notices += [
            f"{outcome.proposal.id} changed nothing: {outcome.reason}" for outcome in accepted if outcome.reason
        ]
    if any(tick.is_new for tick in recorded_ticks):
        notices += recorded_notice(review.ctx, recorded_ticks)


def unclear_ticks(vault: Vault, found: Gathered | None = None) -> list[str]:
    """Return a sentence for each tick in the note or its copies that can't be understood.

    Args:
        vault: where the note is.
        found: what waits; None if nobody knows: then lines that hold the words of two are not found.
    """
    items, ticks, notices = _read_ticks(vault)
    return [*notices, *(_mixed(items, ticks, found).values() if found else ())]


def _read_ticks(vault: Vault) -> tuple[list[list[review_note.ReviewItem]], dict[str, review_note.Ticked], list[str]]:
    """Return the items of the note and of each copy, the ticks, and a notice for each tick that is unclear."""
    data_of = _note_data(vault)
    items = [review_note.read(data) for data in data_of.values()]
    ticks, notices = review_note.decisions(items)
    notices += (notice for path, data in data_of.items() for notice in review_note.unread(path, data))
    return items, ticks, notices


def _later(line: int, why: str) -> str:
    """Return the notice that a tick in the note waits."""
    return f"{review_note.NOTE}:{line}: left for later: {why}"


def _mixed(
    items: Sequence[Sequence[review_note.ReviewItem]], ticks: Mapping[str, review_note.Ticked], found: Gathered
) -> dict[str, str]:
    """Return a notice for each ticked proposal whose line has not its words alone, by its id."""
    texts = {name: review_note.words_of(each) for name, each in found.offered.items() if not each.parts}
    lines = {ref: proposal.line_text for ref, proposal in found.waiting.items()}
    lines |= {ref: line.text for ref, line in found.lines.items()}
    rejected = {name for name, tick in ticks.items() if not tick.accept}
    return {item.id: _later(item.line, why) for item, why in review_note.mixed(items, texts, lines, rejected)}


def is_undone(ctx: Caller, data: bytes) -> bool:
    """Whether the note is as an undo left it: then its ticks wait until the person applies them explicitly."""
    last = next(iter(ctx.store.history(1, ctx.layout.review)), None)
    return last is not None and last.undoes is not None and last.record.get("new") == digest(data)


def apply_ticks(review: Review) -> tuple[list[Reviewed], list[str], list[RecordedTick]]:
    """Apply the ticks of the note and its copies; if an agent runs this, only record them.

    Returns:
        The commits that were made, each of one or more decisions; a notice for each tick that can't be applied (the
        line to replace has changed, a line is cut off) and stays in the note; the ticks that were only recorded.

    Raises:
        UnwritableError: the vault can't be written.
    """
    ctx = review.ctx
    items, ticks, notices = _read_ticks(ctx.vault)
    decided = inbox.decided(ctx.vault).keys()
    present = {item.id for of_note in items for item in of_note}
    if not (ctx.may_tick or ctx.may_accept):
        undecided = {name: tick for name, tick in ticks.items() if name not in decided}
        return [], notices, _record_ticks(ctx, undecided)
    if not ticks and not present & decided:
        return [], notices, []
    found = review.gather(expired=True)
    offered = found.offered
    mixed = _mixed(items, ticks, found)
    notices += mixed.values()
    ticks = {name: tick for name, tick in ticks.items() if name not in mixed}
    wanted: list[Decision] = []
    refused: list[str] = []
    gone: list[str] = []
    for name, tick in ticks.items():
        if name in decided and name not in offered:
            continue
        if name not in offered:
            gone.append(_later(tick.line, GONE))
        elif tick.as_line and not offered[name].fact:
            notices.append(_later(tick.line, "only a fact can become a line instead"))
        else:
            try:
                wanted.append(_decision(ctx, offered[name], tick, found))
            except (ConflictError, UsageError) as error:
                refused.append(_later(tick.line, error.message))
    chosen, conflicts = _compatible(wanted)
    ctx.notices += replaced_notices(wanted, chosen)
    deciding = {mark for decision in chosen for mark in decision.marks}
    mark_settled(review, found, but=deciding, expired=True)
    taken = {item.state for of_note in items for item in of_note}
    recorded_at = {tick.id: tick.time for tick in recorded_ticks(ctx)}
    lines = {name: tick.line for name, tick in ticks.items()}
    stale = (present & decided) - offered.keys()
    done, failures = _commit(ctx, chosen, stale, taken, recorded_at, lines, offered)
    return done, [*notices, *refused, *gone, *conflicts, *failures], []


def _compatible(decisions: Sequence[Decision]) -> tuple[list[Decision], list[str]]:
    """Return decisions that can be carried out together, in their order, and a notice for those that can't.

    Where proposals replace each other, only decisions that replace nothing are left.
    """
    order = [decision.proposal.id for decision in decisions]
    found: list[Decision] = []
    notices: list[str] = []
    for group in _connected(decisions):
        try:
            found += resolved(group)
        except UsageError as error:
            notices.append(f"{review_note.NOTE}: left for later: {error.message}")
            found += [decision for decision in group if not decision.instead]
    return sorted(found, key=lambda decision: order.index(decision.proposal.id)), notices


def _commit(
    ctx: Caller,
    chosen: Sequence[Decision],
    stale: set[str],
    taken: set[tuple[object, ...]],
    recorded_at: Mapping[str, str],
    lines: Mapping[str, int],
    offered: Mapping[str, Proposal],
) -> tuple[list[Reviewed], list[str]]:
    """Commit decisions in two transactions: those whose ticks an agent's process recorded have their own.

    So the journal can say which ticks were recorded first. A transaction that fails is repeated decision by decision,
    and a notice names each decision that fails.

    Args:
        ctx: the command's view of the vault.
        chosen: decisions that can be carried out together.
        stale: ids of proposals in the note that were decided before.
        taken: the state of each item of the note when it was read.
        recorded_at: by proposal id, when an agent's process recorded the tick.
        lines: by proposal id, where the tick is.
        offered: by id, the proposals as they were offered.
    """

    def still_stale() -> set[str]:
        return stale & inbox.decided(ctx.vault).keys()  # under the lock: a commit that was cut off is taken back now

    if not chosen:
        with ctx.writing("review", None, atomic=True) as session:
            clear(session, ctx, still_stale(), taken)
        return [], []

    def commit_batch(batch: Sequence[Decision]) -> Reviewed:
        def also(session: vault.writing.store.WriteSession) -> None:
            decided = as_offered(batch, offered)
            clear(session, ctx, still_stale() | {proposal.id for proposal in decided}, taken, decided)

        times = [recorded_at[decision.proposal.id] for decision in batch if decision.proposal.id in recorded_at]
        return commit(ctx, batch, by_tick=True, ticked=min(times, default=""), also=also)

    by_person = [decision for decision in chosen if decision.proposal.id not in recorded_at]
    by_agent = [decision for decision in chosen if decision.proposal.id in recorded_at]
    batches = [batch for batch in (by_person, by_agent) if batch]
    done: list[Reviewed] = []
    notices: list[str] = []
    while batches:
        batch = batches.pop(0)
        try:
            done.append(commit_batch(batch))
        except (ConflictError, UsageError) as error:
            if len(batch) > 1:
                batches[:0] = ([decision] for decision in batch)
            else:
                notices.append(_later(lines[batch[0].proposal.id], error.message))
    return done, notices


def as_offered(decisions: Iterable[Decision], offered: Mapping[str, Proposal]) -> list[Proposal]:
    """Return the proposals that are decided, and those that others take the place of, as Review.md has them."""
    decided = (proposal for decision in decisions for proposal in (decision.proposal, *decision.instead))
    return [offered.get(proposal.id, proposal) for proposal in decided]


def clear(
    session: vault.writing.store.WriteSession,
    ctx: Caller,
    ids: Collection[str],
    taken: Collection[tuple[object, ...]] = (),
    decided: Collection[Proposal] = (),
) -> None:
    """Remove decided proposals from the note and its copies; a file with no text of the person's left is removed.

    Args:
        session: the transaction that decides them.
        ctx: the command's view of the vault.
        ids: of the decided proposals.
        taken: the states of the items when the note was read; empty for decisions made elsewhere.
        decided: the proposals that are decided now, among ``ids``, as they were offered.

    Raises:
        ConflictError: the person changed one of the items in the meantime.
    """
    written = partial(_written, ctx)
    for path in notes(ctx.vault):
        data = session.read(path)
        if data is None:
            continue
        items = review_note.read(data)
        for item in items:
            if taken and item.id in ids and item.decided and item.state not in taken:
                raise ConflictError(f"{path}:{item.line} was changed while you decided", "try again")
        dropped = set(ids)
        if path != ctx.layout.review:
            dropped |= {item.id for item in items if not (item.decided or item.odd)}
        new = review_note.without_proposals(data, dropped, decided, written)
        if new == data:
            continue
        if review_note.is_bare(new) and session.remove(path, digest(data)):
            continue

        def plan(found: bytes | None, dropped: Collection[str] = dropped) -> Sequence[Splice]:
            return splices_between(found or b"", review_note.without_proposals(found or b"", dropped, decided, written))

        session.write(path, plan)


def _written(ctx: Caller) -> Iterator[str]:
    """Yield the lines that we wrote into the note, as far as the journal knows."""
    for entry in ctx.store.history(path=ctx.layout.review):
        if not entry.undoes:
            yield from entry.after.split("\n")


def _decision(ctx: Caller, proposal: Proposal, tick: review_note.Ticked, found: Gathered) -> Decision:
    """Return the decision that a tick makes about a proposal, with the words and the place that the note has."""
    if not tick.accept:
        return Decision(proposal, accept=False)
    words = None if tick.words == review_note.words_of(proposal) else tick.words
    moved = tick.place not in ("", review_note.place_of(proposal))
    as_line = tick.as_line or (moved and proposal.fact is not None)
    made = accepted(proposal, found, text=words, both=tick.both, as_line=as_line, replaces=tick.replaces)
    made = made._replace(proposal=_moved(ctx, made, tick.place)) if moved else made
    heading = made.proposal.section
    held = vault.secrets.masked_among(words or "", *capture.remember.around(heading, ()))[1]
    if held := held or (vault.secrets.find(heading) if moved else []):
        raise UsageError(HELD.format(vault.secrets.kinds(held)), "take it out")
    if proposal.replaces and words and vault.suspicion.MARK in words and vault.suspicion.MARK not in proposal.text:
        raise UsageError("its line has a credential that is masked here: reword it in tars-memory review", "there")
    return made


def _moved(ctx: Caller, decision: Decision, place: str) -> Proposal:
    """Return the proposal of a decision for another place.

    Raises:
        UsageError: the proposal writes no new line, its line takes the place of one that it replaces, or the place is
            not in the notes of the tiers.
    """
    proposal = decision.proposal
    target, _, heading = (part.strip() for part in place.partition("›"))
    own = (ctx.layout.memory, ctx.layout.procedural)
    if proposal.op != "append" or target not in own:
        what = f"{proposal.id} can't go where its to:: says"
        raise UsageError(f"{what}: only a new line can, and only to {' or '.join(own)}", "change its to:: back")
    if any(line.path == target for line in decision.replaces):
        why = f"{proposal.id} goes where the line is that it replaces, not where its to:: says"
        raise UsageError(why, "change its to:: back, or untick that line")
    return proposal._replace(target=target, section=heading)


def _note_data(vault: Vault) -> dict[str, bytes]:
    """Return the bytes of Review.md and its conflict copies by their paths, the note first."""
    found = {}
    for path in notes(vault):
        try:
            found[path] = vault.read(path)
        except NotFoundError:
            continue
    return found


def accepted(
    proposal: Proposal,
    found: Gathered,
    *,
    text: str | None = None,
    both: bool = False,
    as_line: bool = False,
    replaces: Iterable[str] = (),
) -> Decision:
    """Return the decision to accept a proposal.

    Args:
        proposal: as it was shown.
        found: the other proposals, and the lines that this one may replace.
        text: the person's words in place of the proposal's; None for its own.
        both: keep the line that it would replace, or leave the fact that it would end open.
        as_line: write a fact as a line of ``Memory.md``.
        replaces: REFs of lines, or of candidates, to be replaced.

    Raises:
        UsageError: ``as_line`` without a fact, ``replaces`` where the proposal can't replace lines, or ``text`` for a
            question.
        ConflictError: a line to be replaced does not exist (any more).
    """
    lines, waiting, chosen = found.lines, found.waiting, tuple(dict.fromkeys(replaces))
    missing = [name for name in chosen if name not in lines and name not in waiting]
    if missing:
        raise ConflictError(
            f"no line {', '.join(missing)} is waiting or in the tier notes", "tars-memory review --list"
        )
    instead = {waiting[name].id: waiting[name] for name in chosen if name not in lines}
    if proposal.id in instead:
        raise UsageError(f"{proposal.id} can't replace itself", "name another line")
    if chosen and (both or not proposal.adds):
        why = "keeping both doesn't replace a line" if both else f"{proposal.id} names its line itself"
        raise UsageError(why, "leave out the lines to replace")
    if text is not None and not proposal.takes_words:
        raise UsageError(f"{proposal.id} is not a line to reword", "leave its words as they were, or reject it")
    if as_line:
        if proposal.fact is None:
            raise UsageError(f"{proposal.id} is not a fact", "only a fact can be kept as a line instead: --accept")
        target, section, words = proposal.fact.instead
        text = text and _as_line(text, proposal.fact)
        proposal = proposal._replace(op="append", target=target, section=section, text=words, fact=None)
    elif both and proposal.op in ("fact", "replace"):
        proposal = proposal._replace(op="append", replaces="", fact=None)
    replaced = tuple(lines[name] for name in chosen if name in lines)
    return Decision(proposal, accept=True, text=text, replaces=replaced, instead=tuple(instead.values()))


def _as_line(text: str, proposed: ProposedFact) -> str:
    """Return the person's words for a fact as a plain line: what was said, if only its object is another one."""
    fact, said = facts.parse(text), proposed.instead.text
    if fact is None:
        return text
    since = None if str(fact.since) == proposed.since else fact.since
    dates = facts.words("", "", since, fact.until).removeprefix("::").strip()
    if fact.predicate == proposed.predicate and said.count(proposed.object) == 1:
        return f"{said.replace(proposed.object, fact.object)} {dates}".rstrip()
    subject = f"{proposed.subject} " if said.startswith(proposed.subject) else ""
    return f"{subject}{fact.predicate} {fact.object} {dates}".rstrip()


def _connected(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """Group the decisions: two are in one group if they decide, or take the place of, the same proposal."""
    groups: list[tuple[set[str], list[Decision]]] = []
    for decision in decisions:
        ids, group = {proposal.id for proposal in (decision.proposal, *decision.instead)}, [decision]
        for other in [other for other in groups if other[0] & ids]:
            groups.remove(other)
            ids, group = ids | other[0], [*other[1], *group]
        groups.append((ids, group))
    return [group for _, group in groups]


def resolved(decisions: Sequence[Decision]) -> list[Decision]:
    """Return decisions that can be carried out together.

    A proposal that another accepted one takes the place of is not decided by itself; the lines and proposals that it
    would replace, the other one replaces. A proposal rejected by its id stays rejected.

    Raises:
        UsageError: two proposals replace each other.
    """
    found = list(decisions)
    rejected = {decision.proposal.id for decision in found if not decision.accept}
    while old := next((x for x in found for y in found if x.accept and y.accept and x.proposal in y.instead), None):
        new = next(decision for decision in found if old.proposal in decision.instead)
        if new.proposal in old.instead:
            raise UsageError(f"{old.proposal.id} and {new.proposal.id} replace each other", "choose one of them")
        replaces = tuple(dict.fromkeys((*new.replaces, *old.replaces)))
        instead = tuple(dict.fromkeys((*new.instead, *old.instead)))
        found[found.index(new)] = new._replace(replaces=replaces, instead=instead)
        found.remove(old)
    return [
        decision._replace(instead=tuple(proposal for proposal in decision.instead if proposal.id not in rejected))
        for decision in found
    ]


def replaced_notices(wanted: Sequence[Decision], resolved: Sequence[Decision]) -> list[str]:
    """Return a sentence for each accepted proposal that is not written, since another accepted one takes its place."""
    successors = {old.id: decision.proposal.id for decision in resolved for old in decision.instead}
    written = {decision.proposal.id for decision in resolved}
    old = [decision.proposal.id for decision in wanted if decision.accept and decision.proposal.id not in written]
    return [
        f"{name} is not written separately: {successors[name]} takes its place" for name in old if name in successors
    ]


COMMAND = "expire"
"""Name of these writes in the history."""


def mark_settled(review: Review, found: Gathered, *, but: Collection[Mark] = (), expired: bool = False) -> int:
    """Mark aged candidates ``[expired]`` and settled ones ``[promoted]``, in one transaction.

    Settled candidates are gathered again under the lock: what a tier note held a moment ago may be half of a commit
    that was cut off, and taken back since. A candidate that the person has ticked in the note does not age, even if
    the tick could not be applied yet.

    Args:
        review: of the vault.
        found: the result of :func:`tars_memory.curation.gather.gather`.
        but: candidates that are being decided.
        expired: whether ``found`` was gathered with ``expired``.

    Returns:
        How many lines were marked. A line that changed in the meantime is skipped: the next call finds it. Nothing is
        written if there is nothing to mark.

    Raises:
        UnwritableError: the vault can't be written.
    """
    ctx = review.ctx
    if found.aged:
        but = {*but, *_ticked_marks(review)}
    if not _new_states(found, but):
        return 0
    count = 0
    with ctx.writing(COMMAND, None) as session:
        new_states = _new_states(review.gather(expired=expired) if found.settled else found, but)
        for pairs in new_states.values():
            changes = [mark.change(state, named=False) for mark, state in pairs]
            count += sum(landed.outcome.status == "applied" for landed in session.change(changes, partly=True))
    return count


def _ticked_marks(review: Review) -> set[Mark]:
    """Return the candidates that the person has ticked in the note or a copy, whether or not the tick was applied."""
    items = (item for data in _note_data(review.ctx.vault).values() for item in review_note.read(data))
    ticked = {item.id for item in items if item.decided}
    offered = review.gather(expired=True).offered if ticked else {}
    return {mark for name in ticked & offered.keys() for mark in offered[name].marks}


def _new_states(found: Gathered, but: Collection[Mark]) -> dict[str, list[tuple[Mark, str]]]:
    """Return, for each note, the marks whose candidates get a new state, with that state; those in ``but`` get none."""
    by_note: dict[str, list[tuple[Mark, str]]] = {}
    for marks, state in ((found.aged, "expired"), (found.settled, "promoted")):
        for mark in (mark for mark in marks if mark not in but):
            by_note.setdefault(mark.path, []).append((mark, state))
    return by_note


ID = re.compile(r"[0-9a-z]{8}")
"""The id of a proposal."""


class Listed(NamedTuple):
    """The proposals that wait.

    Attributes:
        proposals: the first ones, up to the limit; those that were said most often come first.
        total: how many there are in all.
        lines: how many lines all of them have.
        notices: which notes could not be read, and which commands were cut off.
        unsettled: whether a command was cut off: then the notes show half of what it did, and the proposals that it
            decided are not listed.
        recorded: ticks in Review.md that agents' processes found, and that were not applied.
        asked: how many more seem to repeat what was refused; ``expired`` lists them.
    """

    proposals: list[Proposal]
    total: int
    lines: int
    notices: list[str]
    unsettled: bool = False
    recorded: tuple[RecordedTick, ...] = ()
    refused_before: int = 0

    @property
    def more(self) -> tuple[int, int]:
        """How many proposals, and how many lines of these, are beyond the limit."""
        shown = sum(len(proposal.leaves) for proposal in self.proposals)
        return self.total - len(self.proposals), self.lines - shown


class Review:
    """The review of one vault.

    Args:
        ctx: the command's view of the vault.
    """

    def __init__(self, ctx: Caller) -> None:
        self.ctx = ctx

    def waiting(self, *, limit: int | None = None, expired: bool = False) -> Listed:
        """Return the proposals that wait; nothing is written.

        Args:
            limit: maximum number of proposals; None for the setting, 0 for all.
            expired: also list candidates that aged, and proposals that seem to repeat what was refused.
        """
        limit = self.ctx.settings.review.limit if limit is None else limit
        found = self.gather(expired=expired, related_for=limit or None)
        every = [*found.proposals, *(found.refused_before if expired else ())]
        shown = every[:limit] if limit else every
        cut_off = self.ctx.store.pending()
        notices = [
            f"{command}; until the next command that writes, what it decided is not listed" for command in cut_off
        ]
        recorded = tuple(recorded_ticks(self.ctx))
        notices += [*recorded_notice(self.ctx, recorded), *unclear_ticks(self.ctx.vault, found)]
        asked = 0 if expired else len(found.refused_before)
        if asked:
            notices.append(f"you rejected {asked} more in other words; --expired lists them")
        lines = sum(len(proposal.leaves) for proposal in every)
        return Listed(shown, len(every), lines, [*found.notices, *notices], bool(cut_off), recorded, asked)

    def line_of(self, name: str) -> str:
        """Return the REF of the line that a waiting proposal is about; empty if no proposal with that id waits.

        Raises:
            AmbiguousError: the proposal is about several lines.
            NotFoundError: what it proposes is not in any note yet.
        """
        found = self.gather(expired=True)
        if (proposal := found.offered.get(name)) is None:
            return ""
        ids = {part.id for part in proposal.leaves}
        refs = [ref for ref, waiting in found.waiting.items() if waiting.id in ids]
        refs += [
            ref
            for ref, line in found.lines.items()
            if (line.path, line.raw) == (proposal.target, proposal.replaces)
            or (proposal.op == "choose" and ref in {asked.ref for asked in proposal.conflicts})
        ]
        if not refs:
            drop = f"tars-memory review --reject {name} drops it"
            raise NotFoundError(f"proposal {name} is not in any note yet", drop)
        if len(refs) > 1:
            texts = [found.waiting[ref].line_text if ref in found.waiting else str(found.lines[ref]) for ref in refs]
            lines = [f"{ref}  {text}" for ref, text in zip(refs, texts, strict=True)]
            raise AmbiguousError(f"proposal {name} is about {counted(len(refs), 'line')}", lines, "name one by its REF")
        return refs[0]

    def recover(self) -> None:
        """Recover from killed commands: finish or undo what they left, because the notes show half of it until then.

        Raises:
            UnwritableError: the vault can't be written.
        """
        if not self.ctx.store.dry_run and self.ctx.store.pending():
            self.ctx.store.recover()

    def decide(
        self,
        accept: Sequence[str] = (),
        reject: Sequence[str] = (),
        *,
        both: Collection[str] = (),
        lines: Collection[str] = (),
        texts: Mapping[str, str] | None = None,
        sections: Mapping[str, str] | None = None,
        replace: Mapping[str, Collection[str]] | None = None,
    ) -> Reviewed:
        """Accept and reject proposals by their ids, all of them or none.

        Args:
            accept: ids.
            reject: ids.
            both: ids of accepted proposals that keep the line which they would replace.
            lines: ids of accepted facts that become a line of Memory.md instead.
            texts: by id of an accepted proposal, the words to write instead of its own.
            sections: by id of an accepted proposal, the heading to write it under instead of its own.
            replace: by id of an accepted proposal, the REFs of the lines or candidates that it replaces; all others
                stay.

        Raises:
            UsageError: an id is malformed or both accepted and rejected, or the caller may not accept.
            ConflictError: a proposal does not exist (any more), or a line that it names has changed; nothing was
                written.
            BusyError: another process is writing.
        """
        _check(accept, reject)
        texts, sections, replace = texts or {}, sections or {}, replace or {}
        if self.ctx.may_accept or not accept:
            self.recover()
        found = self.gather(expired=True)
        offered = found.offered
        unknown = [name for name in (*accept, *reject) if name not in offered]
        if unknown:
            raise ConflictError(
                f"no proposal {', '.join(unknown)} is waiting; nothing was written",
                "it was decided in the meantime or its note changed: tars-memory review --list",
            )
        chosen: list[Decision] = []
        for name in dict.fromkeys(accept):
            proposal = offered[name]
            if proposal.parts and (name in sections or name in texts or name in lines or replace.get(name)):
                raise UsageError(
                    f"{name} is {counted(len(proposal.parts), 'line')}", "name the one that you mean by its own id"
                )
            if name in sections:
                proposal = proposal._replace(section=self.ctx.masked(sections[name]))
            chosen += [
                accepted(
                    part,
                    found,
                    text=texts.get(name),
                    both=name in both,
                    as_line=name in lines,
                    replaces=replace.get(name, ()),
                )
                for part in proposal.leaves
            ]
        chosen += [Decision(part, accept=False) for name in dict.fromkeys(reject) for part in offered[name].leaves]
        decisions = resolved(chosen)
        self.ctx.notices += replaced_notices(chosen, decisions)
        return self.commit(decisions, found)

    def commit(self, chosen: Sequence[Decision], found: Gathered) -> Reviewed:
        """Carry out decisions; aged and settled candidates are marked first, in a transaction of their own."""
        if self.ctx.may_accept or not any(decision.accept for decision in chosen):
            mark_settled(self, found, but={mark for decision in chosen for mark in decision.marks})

        def also(session: WriteSession) -> None:
            decided = as_offered(chosen, found.offered)
            clear(session, self.ctx, {proposal.id for proposal in decided}, decided=decided)

        return commit(self.ctx, chosen, also=also)

    def from_note(self) -> Reviewed:
        """Apply the ticks in Review.md and its conflict copies; those that can't be applied stay there, with a notice.

        If an agent runs this, and nobody has allowed it to accept, the ticks are only recorded.

        Raises:
            BusyError: another process writes.
            UnwritableError: the vault can't be written.
        """
        self.recover()
        done, left, recorded = apply_ticks(self)
        outcomes = [outcome for committed in done for outcome in committed.decided]
        txns = [committed.txn for committed in done if committed.txn]
        notices = [*self.ctx.notices, *left, *recorded_notice(self.ctx, recorded)]
        return Reviewed(txns[-1] if txns else None, outcomes, notices, len(left), tuple(recorded))

    def write_note(self, *, limit: int | None = None, expired: bool = False) -> tuple[str, int, int]:
        """Write the proposals that wait into Review.md, after those already there; waiting ones that are no longer
        offered are removed, ticked ones stay.

        Returns:
            The note's path, and how many proposals and how many lines of them it holds now.

        Raises:
            UnwritableError: the note can't be written.
        """
        self.recover()
        mark_settled(self, self.gather())
        ctx, shown = self.ctx, self.waiting(limit=limit, expired=expired).proposals
        if not shown and ctx.vault.look(ctx.layout.review) is None:
            return ctx.layout.review, 0, 0  # nobody needs a note without a proposal
        offered = self.gather(expired=True).offered
        counts = 0, 0
        without = partial(review_note.without_proposals, written=partial(_written, ctx))

        def plan(data: bytes | None) -> Sequence[Splice]:
            nonlocal counts
            items = review_note.read(data or b"")
            gone = {item.id for item in items if not (item.id in offered or item.decided or item.odd)}
            new = review_note.with_new(without(data, gone) if data is not None else None, shown)
            counts = review_note.count(new)
            return splices_between(data or b"", new)

        with ctx.writing("review", None) as session:
            created = session.write(ctx.layout.review, plan).created
            base = ctx.layout.review.removesuffix(".md") + ".base"
            exists = os.path.lexists(ctx.vault.root / base)
            if created and not exists and not next(ctx.store.history(limit=1, path=base), None):
                session.write(base, lambda _: (), create=vault.template.review_base(ctx.layout), restore=True)
                ctx.notices.append(
                    f"also made {base}: tables of days, sessions and memory for Obsidian; it won't be changed again"
                )
        return ctx.layout.review, *counts

    def gather(self, *, expired: bool = False, related_for: int | None = 0) -> Gathered:
        """Return everything that waits for review; see :func:`tars_memory.curation.gather.gather`."""
        return gather(self.ctx, expired=expired, related_for=related_for)

    def alone(self) -> AbstractContextManager[None]:
        """Return a context that holds the lock which allows one review at a time.

        Raises:
            BusyError: another review is running.
        """
        lock, hint = self.ctx.store.state / "review-lock", "end it there, then try again"
        return system.alone(lock, "review", "another review is running", hint)


def _check(accept: Sequence[str], reject: Sequence[str]) -> None:
    """Check that these are ids, and that none is both accepted and rejected.

    Raises:
        UsageError: they are not.
    """
    for name in (*accept, *reject):
        if not ID.fullmatch(name):
            raise UsageError(f"{name!r} is not a proposal's id", "tars-memory review --list shows them")
    twice = set(accept) & set(reject)
    if twice:
        raise UsageError(f"{', '.join(sorted(twice))}: both accepted and rejected", "choose one")


class UnapprovedRule(NamedTuple):
    """A rule, or a whole playbook, that nobody approved on this machine.

    Attributes:
        path, line: where it is; ``path`` is absolute for a rule of a shared vault.
        ref: REF of its entry; empty for a playbook.
        section: the heading above it, empty for none; for a playbook its title.
        text: its words and those of the bullets below it, one line each.
        raw: its lines and those of its headings, as bytes without line endings; for a rule of a shared vault only the
            rule's lines, as they would be written here.
        vault: name of the shared vault that has the rule; empty for the person's own.
    """

    path: str
    line: int
    ref: str
    section: str
    text: str
    raw: tuple[bytes, ...]
    vault: str = ""

    def as_dict(self) -> dict[str, object]:
        """The documented JSON object."""
        fields = {name: getattr(self, name) for name in ("path", "line", "ref", "section", "text")}
        return fields | ({"vault": self.vault} if self.vault else {})


def unapproved(ctx: Caller) -> list[UnapprovedRule]:
    """Return the rules that nobody typed or approved on this machine: bullets of the vault and its projects, then
    playbooks.
    """
    paths = sorted(path for path in ctx.vault.paths() if ctx.layout.tier_of(path) is Tier.PROCEDURAL)
    found = [rule for note in ctx.notes(paths) for rule in _of_note(ctx, note.path, note.data)]
    scopes = dict.fromkeys(("", *map(ctx.layout.scope_of, ctx.vault.paths())))
    return [*found, *_playbooks(ctx, playbooks.paths(ctx.vault, scopes))]


def unapproved_here(ctx: Caller) -> list[UnapprovedRule]:
    """Return those of the chosen project, or outside projects if none is; a notice says that there are others."""
    found = unapproved(ctx)
    here = [rule for rule in found if ctx.layout.scope_of(rule.path) == ctx.layout.scope]
    if len(here) < len(found):
        ctx.notices.append("there are such rules elsewhere, too: tars-memory status --verbose names their notes")
    return here


def unapproved_beside(ctx: Caller, name: str, other: Vault) -> list[UnapprovedRule]:
    """Return the rules of a shared vault, and of its project with the chosen name, that are not approved here.

    Args:
        ctx: the command's view of the person's own vault.
        name: of the shared vault.
        other: the shared vault; a note of it that can't be read is skipped, with a notice.
    """
    approved: set[str] = set()
    for note in ctx.notes(dict.fromkeys(ctx.layout.procedural_of(scope) for scope in ("", ctx.layout.scope))):
        own = recall.loaded.Loaded(note.path, note.document, whole_items=True)
        for unit in recall.loaded.by_approval(own, history.typed_lines(ctx.store.journal, note.path))[0]:
            approved |= unit.wordings
    found: list[UnapprovedRule] = []
    for path in dict.fromkeys(other.layout.procedural_of(scope) for scope in ("", ctx.layout.scope)):
        try:
            shared = recall.loaded.Loaded(path, document.Document(other.read(path)), whole_items=True)
        except NotFoundError:
            continue
        except TarsError as error:
            ctx.notices.append(f"{name}: {error.message}")
            continue
        entries = {entry.line: entry for entry in grammar.read(path, shared.document)}
        for unit in shared.units:
            entry, raw = entries.get(unit.start_line), shared.rules.get(unit.start_line)
            if entry is None or not raw or not approved.isdisjoint(unit.wordings):
                continue
            below = raw[1 + entry.raw.count("\n") :]
            text = "\n".join([entry.text, *(line.decode("utf-8", "replace").strip() for line in below)])
            title = next((s.title for s in shared.document.sections if s.title == entry.section and s.level > 1), "")
            raw = [f"- {entry.text}".encode("utf-8", "surrogateescape"), *below]
            absolute = os.path.join(other.root, path)
            found.append(UnapprovedRule(absolute, entry.line, entry.ref, title, text, tuple(raw), name))
    return found


def _playbooks(ctx: Caller, paths: Sequence[str]) -> Iterator[UnapprovedRule]:
    """Yield the playbooks that nobody typed or approved on this machine, each as a whole."""
    for note in ctx.notes(paths):
        first = note.document.body_line
        rows = [note.data[line.start : line.end] for line in note.document.lines[first - 1 :]]
        raw = [row for row in rows if row.strip()]
        if not history.stands_approved(ctx.store.journal, note.path, note.data):
            text = "\n".join(row.decode("utf-8", "replace") for row in raw)
            yield UnapprovedRule(note.path, first, "", playbooks.read(note).title, text, tuple(raw))


def approve(ctx: Caller, rules: Sequence[UnapprovedRule]) -> str | None:
    """Record in the journal that the person approves these rules as they are.

    Rules of shared vaults are copied into Procedural.md, because a note that others may change is never trusted.

    Returns:
        The transaction, for ``undo``; None if nothing was written.

    Raises:
        UsageError: no person at a terminal runs this.
        ConflictError: a rule is gone or has changed; nothing was approved.
        UnwritableError: the vault can't be written.
    """
    if not ctx.attended:
        raise UsageError("only a person at a terminal may approve a rule", "run tars-memory review --rules there")
    with ctx.writing("review", None, atomic=True) as session:
        for path in dict.fromkeys(rule.path for rule in rules if not rule.vault):
            session.vouch(path, {line for rule in rules if rule.path == path for line in rule.raw})
        for rule in rules:
            if rule.vault:
                bullet = ctx.masked(b"\n".join(rule.raw).decode("utf-8", "surrogateescape"))
                section = rule.section or ctx.layout.notes_section
                session.write(
                    ctx.layout.procedural,
                    lambda data, bullet=bullet, section=section: edits.insert_bullet(
                        data or b"", bullet, section=section
                    ),  # type: ignore[misc]
                )
    return session.txn


def _of_note(ctx: Caller, path: str, data: bytes) -> Iterator[UnapprovedRule]:
    """Yield the bullets of a note of rules that nobody typed or approved on this machine."""
    note = recall.loaded.Loaded(path, document.Document(data), whole_items=True)
    approved = history.typed_lines(ctx.store.journal, path)
    entries = {entry.line: entry for entry in grammar.read(path, note.document)}
    for unit in recall.loaded.by_approval(note, approved)[1]:
        entry, raw = entries.get(unit.start_line), note.rules.get(unit.start_line)
        if entry is not None and raw:
            below = [line.strip() for line in unit.texts[1 + entry.raw.count("\n") :] if line.strip()]
            headings = [line for above in unit.headings for line in note.raw(above) if line not in approved]
            text = "\n".join([entry.text, *below])
            yield UnapprovedRule(path, entry.line, entry.ref, entry.section, text, (*headings, *raw))


ANYWAY = "It was left out as: {kind}"
"""The warning at a statement that was left out and is offered after all."""

_TITLE = LEFT_OUT.encode("ascii")


class LeftOut(NamedTuple):
    """A statement of a conversation that a second look left out, so that it was not proposed.

    Attributes:
        entry: its bullet in the session note.
        said: its fields: words, quote, speaker, turn, kind and warnings.
        date: of the conversation, ``YYYY-MM-DD``.
    """

    entry: Entry
    fact: SessionFact
    date: str

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            "id": self.entry.ref,
            "kind": self.fact.kind,
            "text": self.fact.text,
            "quote": self.fact.quote,
            "said_by": self.fact.speaker,
            "turn": self.fact.turn,
            "path": self.entry.path,
            "line": self.entry.line,
            "date": self.date,
            "fact": self.fact.claim or None,
            "warnings": list(self.fact.warnings),
        }


def left_out(ctx: Caller) -> list[LeftOut]:
    """Return all left-out statements in the session notes of our scope, the newest conversation first."""
    found: list[LeftOut] = []
    for note in ctx.notes(sorted(ctx.vault.tier_paths(Tier.EPISODIC), reverse=True)):
        if _TITLE in note.data:
            day = str(note.properties.get("date", ""))
            found += (LeftOut(entry, fact, day) for entry, fact in sessions.facts_of(note.entries, LEFT_OUT))
    return found


def offer_left_out(ctx: Caller, ids: Sequence[str]) -> list[extraction.keeping.KeptFact]:
    """Make candidates of left-out statements, in one transaction: lines of their days that the session notes link to.

    Args:
        ctx: the command's view of the vault.
        ids: REFs of statements that :func:`left_out` returns.

    Returns:
        The candidates with their lines.

    Raises:
        ConflictError: a statement is not left out (any more).
        UnwritableError: the vault can't be written.
    """
    by_ref = {statement.entry.ref: statement for statement in left_out(ctx)}
    unknown = [name for name in ids if name not in by_ref]
    if unknown:
        raise ConflictError(
            f"no left-out line has the id {', '.join(unknown)}; nothing was written",
            "tars-memory review --left-out lists them",
        )
    chosen = [by_ref[name] for name in dict.fromkeys(ids)]
    today = ctx.now.date().isoformat()
    with ctx.writing("extract", None, atomic=True) as session:
        said = [(_fact(statement.fact), _time(statement, ctx.now), statement.fact.speaker) for statement in chosen]
        kept = extraction.keeping.write_candidates(ctx, session, said)
        for statement, (_, linked) in zip(chosen, kept, strict=True):

            def moved(data: bytes | None, entry: Entry = statement.entry, linked: SessionFact = linked) -> list[Splice]:
                changes = Changes(data or b"")
                note = sessions.read(entry.path, changes.data)
                if note is not None:
                    changes.make(
                        sessions.grow(
                            changes.data, note._replace(facts=(linked,), left_out=(), kept=(), extracted=today)
                        )
                    )
                left = Note(entry.path, changes.data)
                left_out = (bullet for bullet, _ in sessions.facts_of(left.entries, LEFT_OUT))
                if (bullet := next((bullet for bullet in left_out if bullet.text == entry.text), None)) is None:
                    raise ConflictError(f"{entry.path} changed in the meantime", "try again")
                changes.make(edits.remove_bullet(left, bullet))
                return changes.splices()

            session.write(statement.entry.path, moved)
    return [fact for fact, _ in kept]


def _fact(said: SessionFact) -> DrawnFact:
    """Return a left-out statement as a fact to offer, with a warning why it was left out."""
    warnings = (*said.warnings, ANYWAY.format(kind=said.kind)) if said.kind else said.warnings
    return DrawnFact(said.text, said.quote, said.turn, seen="stated", warnings=warnings)


def _time(statement: LeftOut, now: datetime) -> datetime:
    """Return when the conversation began, from its note's name and front matter; ``now`` if they don't say.

    The time of the statement's own turn is not known any more.
    """
    clock = re.search(r"\d{4}-\d\d-\d\d (\d\d)(\d\d) ", statement.entry.path.rpartition("/")[2])
    try:
        day = datetime.fromisoformat(statement.date)
        return day.replace(hour=int(clock[1]), minute=int(clock[2])) if clock else day
    except ValueError:
        return now
