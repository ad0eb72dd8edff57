"""What was decided is done: what the walk or a script names, what is ticked in Review.md, what time decides.

Ticks are taken by ``review --from-note``, and by the next command that writes. Those in conflict copies of the note (a
second device) count like those in the note itself. A decision is done once: what was decided stands in
``.tars/decided.jsonl`` by its id, so a note that a sync brings back is cleared of it without a word. A process that an
agent runs does none of it: it may have ticked them itself. It records that it found them, in the state folder and
nowhere else, and the next process of anybody else does them, or the walk decides them.

A candidate that nobody decided within the window is marked ``[expired]``; it stays in its note and is found. One whose
words stand in a tier note already is marked ``[promoted]``: there is nothing to decide.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk, vault
from tars_memory.curation import review_note
from tars_memory.curation.commit import Committed, commit
from tars_memory.curation.proposals import Decision, Mark, Proposal
from tars_memory.errors import BusyError, ConflictError, NotFoundError, UsageError
from tars_memory.vault import inbox
from tars_memory.vault.folder import digest
from tars_memory.vault.markdown.edits import splices_between
from tars_memory.vault.vault import Vault, is_conflict_copy
from tars_memory.vault.writing import journal, transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tars_memory.capture.remember import Caller
    from tars_memory.curation.gather import Gathered
    from tars_memory.curation.review import Review
    from tars_memory.vault.model import Splice
    from tars_memory.vault.writing.store import WriteSession


RECORD = "ticks.json"
"""In the state folder: by the note, the ticks that agents' processes found. Words stand there as a hash alone."""


class Recorded(NamedTuple):
    """A tick that a process which an agent runs has found, and that nobody has done since.

    Attributes:
        id: of the proposal.
        decision: ``accepted`` or ``rejected``, once somebody does it.
        path, line: where it is.
        time: when it was found, ISO 8601.
        is_new: whether it was found just now.
    """

    id: str
    decision: str
    path: str
    line: int
    time: str
    is_new: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {name: getattr(self, name) for name in ("id", "decision", "path", "line", "time")}


class Taken(NamedTuple):
    """What became of the ticks of a note.

    Attributes:
        done: what was carried out, all together or else each alone.
        notices: what the person should know.
        recorded: what was only recorded.
    """

    done: list[Committed]
    notices: list[str]
    recorded: list[Recorded] = []  # noqa: RUF012  # never changed


def waiting(ctx: Caller, found: Sequence[Recorded]) -> list[str]:
    """What to do about recorded ticks, in a sentence; none if there are none."""
    if not found:
        return []
    where = f"{review_note.NOTE}:{', '.join(str(each.line) for each in found[:5])}{', …' * (len(found) > 5)}"
    what = f"{len(found)} tick{'s' * (len(found) > 1)} recorded, not done ({where})"
    if ctx.may_tick:
        return [f"{what}: an agent may have set them; decide with tars-memory review"]
    return [f"{what}: an agent runs this; run tars-memory review yourself"]


def recorded(ctx: Caller) -> list[Recorded]:
    """The ticks that only agents' processes have found, as far as the note still has them as they were found."""
    known = _record(ctx).get(ctx.layout.review)
    if not known:
        return []
    said, _ = review_note.decisions([review_note.read(data) for data in _texts(ctx.vault).values()])
    return [
        _recorded(ctx, name, what, str(known[name][1]))
        for name, what in said.items()
        if name in known and known[name][0] == _hash(what)
    ]


def _recorded(ctx: Caller, name: str, what: review_note.Ticked, time: str, *, is_new: bool = False) -> Recorded:
    decision = "accepted" if what.accept else "rejected"
    return Recorded(name, decision, ctx.layout.review, what.line, time, is_new)


def _put_down(ctx: Caller, said: dict[str, review_note.Ticked]) -> list[Recorded]:
    """Record what an agent's process has found; what is not ticked any more is forgotten.

    Raises:
        UnwritableError: the state folder can't be written.
    """
    every = _record(ctx)
    known = every.get(ctx.layout.review, {})
    now = ctx.now.isoformat()
    found = []
    for name, what in said.items():
        old = known[name][1] if name in known and known[name][0] == _hash(what) else None
        found.append(_recorded(ctx, name, what, old or now, is_new=old is None))
    _save(ctx, every, {each.id: [_hash(said[each.id]), each.time] for each in found})
    return found


def _record(ctx: Caller) -> dict[str, dict[str, Any]]:
    """All of the file, as far as it is what it should be."""
    return {
        path: {name: pair for name, pair in known.items() if isinstance(pair, list) and len(pair) == 2}
        for path, known in disk.own_object(ctx.store.state / RECORD).items()
        if isinstance(known, dict)
    }


def _save(ctx: Caller, every: dict[str, dict[str, Any]], known: dict[str, Any]) -> None:
    if ctx.store.dry_run or every.get(ctx.layout.review, {}) == known:
        return
    every = {path: held for path, held in {**every, ctx.layout.review: known}.items() if held}
    path = ctx.store.state / RECORD
    with transaction.writing(os.fspath(path)):
        journal.replace_file(path, json.dumps(every, indent=1).encode("ascii"))


def _hash(what: review_note.Ticked) -> str:
    """What a tick says, without its words."""
    return disk.sha256(repr(what._replace(line=0)).encode("utf-8", "surrogatepass")).hexdigest()


def notes(vault: Vault) -> list[str]:
    """The note and its conflict copies, those that are there; the note first."""
    folder, slash, name = vault.layout.review.rpartition("/")
    try:
        names = os.listdir(vault.root / folder)
    except OSError:
        return []
    stem = name[:-3]
    copies = [each for each in names if each.startswith(stem) and each[-3:].lower() == ".md" and is_conflict_copy(each)]
    paths = [folder + slash + each for each in (name, *sorted(copies))]
    return [path for path in paths if vault.look(path) is not None]


def by_the_way(open_review: Callable[[], Review], notices: list[str]) -> None:
    """Do what is ticked before another command writes; nothing that goes wrong here ends that command.

    What can't be done stays in the note; ``review`` and ``status`` say so.

    Nothing is done while another review goes on, nor with a note that an undo brought back as it was.

    Args:
        open_review: called only if something is ticked.
        notices: takes what the person should know.
    """
    try:
        review = open_review()
        texts = _texts(review.ctx.vault)
        if not any(map(review_note.ticked, texts.values())) or undone(
            review.ctx, texts.get(review.ctx.layout.review, b"")
        ):
            return
        with review.alone():
            done, _, found = take(review)
    except BusyError:
        return
    except Exception as error:  # what was typed comes first
        notices.append(f"{review_note.NOTE} waits: {getattr(error, 'message', None) or repr(error)}")
        return
    results = [each for bundle in done for each in bundle.outcomes]
    if results:
        accepted = [each for each in results if each.decision == "accepted"]
        notices.append(
            f"decided in {review_note.NOTE}: {len(accepted)} accepted, {len(results) - len(accepted)} rejected"
        )
        notices += [f"{each.proposal.id} changed nothing: {each.reason}" for each in accepted if each.reason]
    if any(each.is_new for each in found):
        notices += waiting(review.ctx, found)


def left(vault: Vault) -> list[str]:
    """What is ticked in the note or its copies and can't be taken so, a sentence each."""
    texts = _texts(vault)
    notices = review_note.decisions([review_note.read(data) for data in texts.values()])[1]
    return [*notices, *(told for path, data in texts.items() for told in review_note.unmarked(path, data))]


def undone(ctx: Caller, data: bytes) -> bool:
    """Whether the note is as an undo left it: then its ticks wait until the person says so again."""
    last = next(iter(ctx.store.history(1, ctx.layout.review)), None)
    return last is not None and last.undoes is not None and last.record.get("new") == digest(data)


def take(review: Review) -> Taken:
    """Do what the note and its copies say; if an agent runs this, only record it.

    What can't be done (the line it replaces has changed, a cut-off line) is left in the note, and named.

    Raises:
        UnwritableError: the vault can't be written.
    """
    ctx = review.ctx
    texts = _texts(ctx.vault)
    items = {path: review_note.read(data) for path, data in texts.items()}
    said, _ = review_note.decisions(list(items.values()))
    notices = left(ctx.vault)
    known = inbox.decided(ctx.vault).keys()
    present = {item.id for each in items.values() for item in each}
    if not (ctx.may_tick or ctx.may_accept):
        return Taken([], notices, _put_down(ctx, {name: what for name, what in said.items() if name not in known}))
    if not said and not present & known:
        return Taken([], notices)
    found = review.gather(expired=True)
    offered = found.offered
    unfit = {name: what for name, what in said.items() if what.as_line and name in offered and not offered[name].fact}
    notices += [
        f"{review_note.NOTE}:{what.line}: left for later: only a fact becomes a line instead" for what in unfit.values()
    ]
    chosen = []
    for name in (name for name in said if name in offered.keys() - unfit.keys()):
        try:
            chosen.append(_decision(offered[name], said[name], found))
        except (ConflictError, UsageError) as error:
            notices.append(f"{review_note.NOTE}:{said[name].line}: left for later: {error.message}")
    stale = (present & known) - offered.keys()
    notices += [
        f"{review_note.NOTE}:{what.line}: left for later: no such proposal waits (any more); its line may have changed"
        for name, what in said.items()
        if name not in offered and name not in known
    ]
    order = [each.proposal.id for each in chosen]
    groups, chosen = _entangled(chosen), []
    for group in groups:
        try:
            chosen += resolved(group)
        except UsageError as error:
            notices.append(f"{review_note.NOTE}: left for later: {error.message}")
            chosen += [each for each in group if not each.instead]
    chosen.sort(key=lambda each: order.index(each.proposal.id))
    deciding = {mark for each in chosen for mark in each.marks}
    settle(review, found, but=deciding, expired=True)
    taken = {item.state for each in items.values() for item in each if item.id in said}
    seen = {each.id: each.time for each in recorded(ctx)}
    done, more = _commit(ctx, chosen, stale, taken, seen)
    return Taken(done, [*notices, *more])


def _commit(
    ctx: Caller,
    chosen: Sequence[Decision],
    stale: set[str],
    taken: set[tuple[object, ...]],
    seen: Mapping[str, str],
) -> tuple[list[Committed], list[str]]:
    """All at once, but those apart that an agent's process found first (``seen``): then the journal can say so.

    If that can't be, one by one, and what can't be done is named.
    """
    if not chosen:
        with ctx.writing("review", None, atomic=True) as session:
            clear(session, ctx.vault, stale, taken)
        return [], []

    def do(bundle: Sequence[Decision]) -> Committed:
        ids = stale | {one.id for each in bundle for one in (each.proposal, *each.instead)}

        def also(session: WriteSession) -> None:
            clear(session, ctx.vault, ids, taken)

        ticked = min((seen[each.proposal.id] for each in bundle if each.proposal.id in seen), default="")
        return commit(ctx, bundle, by_tick=True, ticked=ticked, also=also)

    apart = [each for each in chosen if each.proposal.id in seen]
    done: list[Committed] = []
    notices: list[str] = []
    for bundle in ([each for each in chosen if each.proposal.id not in seen], apart):
        try:
            done += [do(bundle)] if bundle else []
            continue
        except (ConflictError, UsageError) as error:
            if len(bundle) == 1:
                notices.append(f"{review_note.NOTE}: left for later: {error.message}")
                continue
        for one in bundle:
            try:
                done.append(do([one]))
            except (ConflictError, UsageError) as error:
                notices.append(f"{review_note.NOTE}: left for later: {error.message}")
    return done, notices


def clear(
    session: WriteSession, vault: Vault, ids: Collection[str], taken: Collection[tuple[object, ...]] = ()
) -> None:
    """Take decided proposals out of the note and its copies; what then holds nothing of the person's is removed.

    Args:
        session: that decides them.
        vault: to look for copies.
        ids: what is decided.
        taken: each item's state as it was understood.

    Raises:
        ConflictError: the person changed one of them in the meantime.
    """
    for path in notes(vault):
        data = session.read(path)
        if data is None:
            continue
        items = review_note.read(data)
        for item in items:
            if taken and item.id in ids and item.decided and item.state not in taken:
                raise ConflictError(f"{path}:{item.line} was changed while it was decided", "try again")
        dropped = set(ids)
        if path != vault.layout.review:
            dropped |= {item.id for item in items if not item.decided}
        new = review_note.without(data, dropped)
        if new == data:
            continue
        if review_note.is_bare(new) and session.remove(path, digest(data)):
            continue

        def plan(found: bytes | None, dropped: Collection[str] = dropped) -> Sequence[Splice]:
            return splices_between(found or b"", review_note.without(found or b"", dropped))

        session.write(path, plan)


def write_note(review: Review, proposals: Iterable[Proposal]) -> tuple[str, int]:
    """Put proposals into the note, after those that stand there; those that are offered no more and not ticked go.

    Returns:
        The note's path, and how many proposals it holds now.

    Raises:
        UnwritableError: it can't be written.
    """
    ctx = review.ctx
    shown = list(proposals)
    if not shown and ctx.vault.look(ctx.layout.review) is None:
        return ctx.layout.review, 0  # nobody needs a note without a proposal
    offered = review.gather(expired=True).offered
    counts = [0]

    def plan(data: bytes | None) -> Sequence[Splice]:
        gone = {item.id for item in review_note.read(data or b"") if item.id not in offered and not item.decided}
        new = review_note.with_new(review_note.without(data, gone) if data is not None else None, shown)
        counts[0] = review_note.count(new)
        return splices_between(data or b"", new)

    with ctx.writing("review", None) as session:
        made = session.write(ctx.layout.review, plan).created
        base = ctx.layout.review.removesuffix(".md") + ".base"
        there = os.path.lexists(ctx.vault.root / base)
        if made and not there and not next(ctx.store.history(limit=1, path=base), None):
            session.write(base, lambda _: (), create=vault.template.review_base(ctx.layout), restore=True)
    return ctx.layout.review, counts[0]


def _decision(proposal: Proposal, said: review_note.Ticked, found: Gathered) -> Decision:
    if not said.accept:
        return Decision(proposal, accept=False)
    words = None if said.words == review_note.words_of(proposal) else said.words
    return accepted(proposal, found, text=words, both=said.both, as_line=said.as_line, replaces=said.replaces)


def _texts(vault: Vault) -> dict[str, bytes]:
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
    """The decision to accept a proposal.

    Args:
        proposal: as it was shown.
        found: what else waits, and the lines that it may replace.
        text: other words; None for its own.
        both: the line that it would replace, or the fact that it would end, stays.
        as_line: it becomes a line of ``Memory.md`` and no fact.
        replaces: the names of lines to be replaced.

    Raises:
        UsageError: it is not a fact, nothing that replaces lines, or a question that takes no words.
        ConflictError: a line is not there (any more).
    """
    lines, waiting, chosen = found.lines, found.waiting, tuple(dict.fromkeys(replaces))
    gone = [name for name in chosen if name not in lines and name not in waiting]
    if gone:
        raise ConflictError(
            f"no line {', '.join(gone)} waits or is in the tier notes (any more)", "tars-memory review --list"
        )
    instead = {waiting[name].id: waiting[name] for name in chosen if name not in lines}
    if proposal.id in instead:
        raise UsageError(f"{proposal.id} can't replace itself", "name another line")
    if chosen and (both or not proposal.adds):
        why = "keeping both replaces no line" if both else f"{proposal.id} names its line itself"
        raise UsageError(why, "leave out which lines it replaces")
    if text is not None and proposal.op == "choose":
        raise UsageError(f"{proposal.id} asks which line holds, and takes no other words", "choose the line that goes")
    if as_line:
        if proposal.fact is None:
            raise UsageError(f"{proposal.id} is not a fact", "only a fact can be kept as a line instead: --accept")
        target, section, words = proposal.fact.instead
        proposal = proposal._replace(op="append", target=target, section=section, text=words, fact=None)
    elif both:
        proposal = beside(proposal)
    taken = tuple(lines[name] for name in chosen if name in lines)
    return Decision(proposal, accept=True, text=text, replaces=taken, instead=tuple(instead.values()))


def _entangled(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """The decisions in groups: what one takes the place of, or shares with another one, is in its own group."""
    groups: list[tuple[set[str], list[Decision]]] = []
    for each in decisions:
        names, group = {one.id for one in (each.proposal, *each.instead)}, [each]
        for others in [others for others in groups if others[0] & names]:
            groups.remove(others)
            names, group = names | others[0], [*others[1], *group]
        groups.append((names, group))
    return [group for _, group in groups]


def resolved(decisions: Sequence[Decision]) -> list[Decision]:
    """Decisions that can be carried out together: what one of them takes the place of is not decided by itself.

    It hands on what it was to replace. What is rejected by name stays rejected.

    Raises:
        UsageError: two are to replace each other.
    """
    found = list(decisions)
    rejected = {each.proposal.id for each in found if not each.accept}
    while over := next((x for x in found for y in found if x.accept and y.accept and x.proposal in y.instead), None):
        after = next(each for each in found if over.proposal in each.instead)
        if after.proposal in over.instead:
            raise UsageError(f"{over.proposal.id} and {after.proposal.id} replace each other", "choose one of them")
        replaces = tuple(dict.fromkeys((*after.replaces, *over.replaces)))
        instead = tuple(dict.fromkeys((*after.instead, *over.instead)))
        found[found.index(after)] = after._replace(replaces=replaces, instead=instead)
        found.remove(over)
    return [each._replace(instead=tuple(one for one in each.instead if one.id not in rejected)) for each in found]


def beside(proposal: Proposal) -> Proposal:
    """The proposal as a line of its own, that it would replace or end staying as it is."""
    if proposal.op == "fact":
        return proposal._replace(op="append", fact=None)
    return proposal._replace(op="append", replaces="") if proposal.op == "replace" else proposal


COMMAND = "expire"
"""As history shows it."""


def settle(review: Review, found: Gathered, *, but: Collection[Mark] = (), expired: bool = False) -> int:
    """Mark what has aged and what is settled, in one transaction; nothing is written if there is neither.

    Under the lock it is gathered again: what a tier note held a moment ago may be half of a commit that was cut off,
    and taken back since. What the person has ticked in the note does not age, though it could not be done yet.

    Args:
        review: of the vault.
        found: what was gathered.
        but: lines that are being decided.
        expired: what has aged was gathered, too.

    Returns:
        How many lines were marked. One that changed in the meantime is passed over: the next look finds it.

    Raises:
        UnwritableError: the vault can't be written.
    """
    ctx = review.ctx
    if found.aged:
        but = {*but, *_ticked(review)}
    if not _by_note(found, but):
        return 0
    count = 0
    with ctx.writing(COMMAND, None) as session:
        by_note = _by_note(review.gather(expired=expired) if found.settled else found, but)
        for pairs in by_note.values():
            wanted = [mark.change(state, named=False) for mark, state in pairs]
            count += sum(each.outcome.status == "applied" for each in session.change(wanted, partly=True))
    return count


def _ticked(review: Review) -> set[Mark]:
    """The candidates that the person has decided in the note or a copy of it, done or not."""
    items = (item for data in _texts(review.ctx.vault).values() for item in review_note.read(data))
    said = {item.id for item in items if item.decided}
    offered = review.gather(expired=True).offered if said else {}
    return {mark for name in said & offered.keys() for mark in offered[name].marks}


def _by_note(found: Gathered, but: Collection[Mark]) -> dict[str, list[tuple[Mark, str]]]:
    by_note: dict[str, list[tuple[Mark, str]]] = {}
    for marks, state in ((found.aged, "expired"), (found.settled, "promoted")):
        for mark in (each for each in marks if each not in but):
            by_note.setdefault(mark.path, []).append((mark, state))
    return by_note
