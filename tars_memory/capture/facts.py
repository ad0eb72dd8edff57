"""Add, end and remove facts in Facts.md; and run spooled commands of all kinds again."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory import capture
from tars_memory.errors import AmbiguousError, NotFoundError, PartialError, UsageError, counted
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import document, entries, facts
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.transaction import Written


DAYS = frozenset({"since", "until", "on"})
"""Names of arguments that are days, which the spool keeps as ISO text."""


def add(
    ctx: Caller,
    subject: str,
    predicate: str,
    object_: str,
    *,
    since: date | None = None,
    until: date | None = None,
    other_names: Callable[[str], Iterable[str]] = lambda _: (),
) -> Receipt:
    """Add a fact, unless it is there already, and end the fact that it supersedes.

    A subject that has no facts is written under its other name that has some.

    Args:
        ctx: the command's view of the vault.
        subject: the person or thing that it is about; becomes a heading.
        predicate: in a few words (``lives in``).
        object_: in words; ``[since:: DATE]`` and ``[until:: DATE]`` in it are the dates of the fact.
        since: its first day; by default today for an event or a predicate with a single value.
        until: the first day on which it no longer holds.
        other_names: returns the other names of a subject.

    Raises:
        UsageError: a part is missing or invalid, a date in it is invalid, or the fact ends before it begins.
        UnwritableError: the vault can't be written; the fact is in the spool.
    """
    subject, predicate = map(ctx.masked, (subject, predicate))
    object_ = ctx.masked(object_, f"{subject} {predicate}: ")
    object_, since, until = _dated(subject, predicate, object_, since, until)
    title = entries.heading(subject)
    name, value = predicate_of(predicate), entries.neutralise(object_)
    if since is not None and until is not None and until <= since:
        raise UsageError(f"the fact would end on {until}, before it begins on {since}", "give an --until after --since")
    path = ctx.layout.facts
    if known := _same_subject(ctx, title, other_names):
        ctx.notices.append(f"{title} is another name of {known}")
        title = subject = known
    days = {"since": since and since.isoformat(), "until": until and until.isoformat()}
    parts = {"subject": subject, "predicate": predicate, "object": object_}
    arguments: dict[str, Any] = {**parts, **days, "text": f"{subject} {name} {value}"}
    predicates = facts.Predicates.of(ctx.settings.facts)
    change = Change(
        "fact",
        title,
        facts.words(name, value, since, until),
        label=ctx.now.date().isoformat(),
        single=predicates.replaces(name),
        event=predicates.is_event(name),
        gone=predicates.ended_by(name),
        author=ctx.author,
        target=path,
        typed=True,
    )
    with ctx.writing("facts add", arguments) as session:
        (landed,) = session.change([change])
    words = landed.outcome.words
    ctx.notices += [
        f"ended on {ending.on}: {ending.fact.subject} {ending.fact.predicate}:: {ending.fact.object}"
        for ending in landed.outcome.endings
    ]
    if not predicates.timed(name):
        ctx.notices += _second_value(landed.written, title, name, value, max(since or date.min, ctx.now.date()))
    return ctx.receipt(path, *_placed(landed.written, title, words, -1), words, landed.written)


def end(ctx: Caller, target: str, on: date | None = None) -> Receipt:
    """Set the end of a fact; its line stays where it is.

    Args:
        ctx: the command's view of the vault.
        target: its REF, or words that fit one fact only.
        on: the first day on which it no longer holds; None means today, or the end that it has if that is past.

    Raises:
        NotFoundError: there is no such fact.
        AmbiguousError: several facts fit; the error lists them.
        UsageError: the fact would end before it began.
        ConflictError: the fact changed in the meantime.
        UnwritableError: the note can't be written; the change is in the spool.
    """
    entry, fact = find(ctx, target)
    day = on or ctx.now.date()
    if fact.until is not None and on is None and fact.until <= day:
        day = fact.until
        ended = f"{fact.subject} {fact.predicate}:: {fact.object} ended on {day} already"
        ctx.notices.append(f"{ended}; for another day: tars-memory facts end {fact.ref} --on DATE")
    elif fact.until is not None and fact.until != day:
        ctx.notices.append(f"it was going to end on {fact.until}; now it ends on {day}")
    if fact.since is not None and day < fact.since:
        raise UsageError(f"{fact.subject} {fact.predicate}:: {fact.object} began on {fact.since}", "end it later")
    words = facts.words(fact.predicate, fact.object, fact.since, day)
    arguments = {"target": fact.ref, "text": mask(entry.text), "on": day.isoformat()}
    change = Change("replace", fact.subject, words, target=fact.path, typed=True)
    with ctx.writing("facts end", arguments) as session:
        (landed,) = session.change([session.retarget(entry, change)])
    written = landed.written
    number, ref = _placed(written, fact.subject, words, fact.line) if written.changed else (fact.line, fact.ref)
    return ctx.receipt(fact.path, number, ref, words, written)


def remove(ctx: Caller, target: str) -> Receipt:
    """Remove a fact from Facts.md, instead of ending it.

    Raises:
        NotFoundError: there is no such fact.
        AmbiguousError: several facts fit; the error lists them.
        ConflictError: the fact changed in the meantime.
        UnwritableError: the note can't be written; the change is in the spool.
    """
    entry, fact = find(ctx, target)
    change = Change("remove", fact.subject, target=fact.path, typed=True)
    with ctx.writing("facts remove", {"target": fact.ref, "text": mask(entry.text)}) as session:
        (landed,) = session.change([session.retarget(entry, change)])
    return ctx.receipt(fact.path, entry.line, fact.ref, entry.text, landed.written)


def run_spooled(ctx: Caller, command: str, arguments: dict[str, Any]) -> Receipt:
    """Run any command from the spool again.

    Args:
        ctx: the command's view of the vault, with the instant and actor of its first call.
        command: the name of the command.
        arguments: of the command.

    Raises:
        ValueError: no command of capture has this name.
    """
    known: dict[str, tuple[Callable[..., Receipt], tuple[str, ...], tuple[str, ...]]] = {
        "remember": (capture.remember.remember, ("text",), ("tier", "section", "tags")),
        "log": (capture.remember.log, ("text",), ()),
        "feedback": (capture.remember.feedback, ("good", "text", "question", "answer"), ()),
        "edit": (capture.amend.edit, ("target", "text"), ("tags", "bare")),
        "new": (capture.notes.new, ("title", "text"), ("beside",)),
        "learn": (capture.notes.learn, ("title", "text"), ("when",)),
        "topic": (capture.notes.topic, ("agent", "name", "text"), ()),
        "facts add": (add, ("subject", "predicate", "object"), ("since", "until")),
        "facts end": (end, ("target",), ("on",)),
        "facts remove": (remove, ("target",), ()),
    }
    if command not in known:
        raise ValueError(f"there is no command {command!r} to place")
    run, needed, more = known[command]
    may_lack = command in ("edit", "new", "learn")  # without them they do no more than was typed
    options = {name: arguments[name] for name in more if name in arguments or not may_lack}
    for name in DAYS & options.keys():
        options[name] = date.fromisoformat(options[name]) if options[name] else None
    return run(ctx, *(arguments[name] for name in needed), **options)


def find(ctx: Caller, target: str) -> tuple[Entry, facts.Fact]:
    """Return the fact with this REF, else the only one that contains these words (subject, predicate and object).

    Raises:
        NotFoundError: no fact fits.
        AmbiguousError: several facts fit.
    """
    path, wanted = ctx.layout.facts, facts.folded(target)
    try:
        found = ctx.vault.note(path).facts
    except NotFoundError:
        found = ()
    for entry, fact in found:
        if fact.ref == wanted or (entry.ref == wanted and [e.text for e, _ in found].count(entry.text) == 1):
            return entry, fact
    fits = [(e, f) for e, f in found if wanted and wanted in facts.folded(f"{f.subject} {f.predicate} {f.object}")]
    fits += [(e, f) for e, f in found if wanted and wanted in facts.folded(e.text) and (e, f) not in fits]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFoundError(f"no fact is {target!r}", "tars-memory facts --all lists them with their REFs")
    listed = [f"{fact.ref} {path}:{fact.line} {fact.subject} {entry.text}" for entry, fact in fits[:20]]
    raise AmbiguousError(f"{target!r} fits {counted(len(fits), 'fact')}", listed, "name one by its REF")


def _placed(written: Written, subject: str, words: str, near: int) -> tuple[int, str]:
    """Return line and REF of the fact that was just written.

    Args:
        written: the outcome of the write.
        subject: of the fact.
        words: of its bullet.
        near: of several such facts, take the one nearest to this line; -1 for the last one.
    """
    about = facts.folded(subject)
    same = [
        (fact.line, fact.ref)
        for entry, fact in facts.read(written.path, document.Document(written.text))
        if entry.text == words and facts.folded(fact.subject) == about
    ]
    if not same:
        return written.line, facts.ref_of(written.path, subject, words)
    return same[-1] if near < 0 else min(same, key=lambda place: abs(place[0] - near))


def _same_subject(ctx: Caller, subject: str, other_names: Callable[[str], Iterable[str]]) -> str:
    """Return the only subject with facts that is another name of this one; empty if this one has facts itself."""
    try:
        known = {facts.folded(fact.subject): fact.subject for _, fact in ctx.vault.note(ctx.layout.facts).facts}
    except (NotFoundError, PartialError):  # what can't be read is refused where it would be written
        return ""
    if facts.folded(subject) in known:
        return ""
    same = {known[name] for name in map(facts.folded, other_names(subject)) if name in known}
    return same.pop() if len(same) == 1 else ""


def _second_value(written: Written, subject: str, predicate: str, value: str, day: date) -> list[str]:
    """Return a notice if a new fact gives a predicate a second value that holds on the same day.

    Only the person knows whether the predicate has one value at a time. There is no notice about a third value.
    """
    about = facts.Claim(subject, predicate, value).about
    found = facts.read(written.path, document.Document(written.text))
    holding = [fact for _, fact in found if fact.about == about and fact.holds(day)]
    others = [fact for fact in holding if not facts.same_object(fact.object, value)]
    if len(holding) != 2 or len(others) != 1:
        return []
    other = others[0]
    still = f"{other.subject} {other.predicate}:: {other.object} is still true"
    always = f"if {predicate!r} has one value at a time, add it to single in the settings, under [facts]"
    return [f"{still}; to end it: tars-memory facts end {other.ref}; {always}"]


def _dated(
    subject: str, predicate: str, object_: str, since: date | None, until: date | None
) -> tuple[str, date | None, date | None]:
    """Return the object without the dates in it, and the dates of the fact (since, until).

    Raises:
        UsageError: a field in one of the parts is not a date that a fact can have, or differs from the given date.
    """
    parsed = facts.parse(f"x:: {object_}")
    if parsed is None and facts.stray_field(object_):
        raise UsageError(f"{object_!r} has no object", facts.DATE_HINT)
    value = parsed.object if parsed else object_
    for part in (subject, predicate, value):
        if field := facts.stray_field(part):
            raise UsageError(f"{field} in {part!r} is not a date that a fact can have", facts.DATE_HINT)
    days = [since, until]
    for at, typed in enumerate((parsed.since, parsed.until) if parsed else ()):
        if typed and days[at] not in (None, typed):
            name = ("since", "until")[at]
            raise UsageError(f"--{name} is {days[at]} and the object says [{name}:: {typed}]", "give only one of them")
        days[at] = typed or days[at]
    return value, days[0], days[1]


def predicate_of(text: str) -> str:
    """Return a predicate in the form in which it can precede ``::``.

    Raises:
        UsageError: it is empty, too long, or has a character that would end it.
    """
    words = entries.neutralise(text).removesuffix("::").strip()
    if not words or re.search(r"::|[\[\]():]", words) or len(words) > 80:
        raise UsageError(f"{text!r} is not a predicate", 'name it in a few words without : [ ] ( ), as "lives in"')
    return words
