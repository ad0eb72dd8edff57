"""``facts add``, ``end`` and ``remove``: facts over time, in Facts.md."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory import capture
from tars_memory.errors import AmbiguousError, NotFoundError, UsageError, counted
from tars_memory.vault.change import Change
from tars_memory.vault.markdown import entries, facts
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.secrets import mask

if TYPE_CHECKING:
    from tars_memory.capture.remember import Caller, Receipt
    from tars_memory.vault.model import Entry
    from tars_memory.vault.writing.transaction import Written


def add(
    ctx: Caller,
    subject: str,
    predicate: str,
    object_: str,
    *,
    since: date | None = None,
    until: date | None = None,
) -> Receipt:
    """Add a fact, and end the one that it replaces; what holds already is said, not written.

    Args:
        ctx: the command's view of the vault.
        subject: of whom or what, in words; becomes a heading.
        predicate: in a few words (``lives in``).
        object_: in words; ``[since:: DATE]`` and ``[until:: DATE]`` in it are the dates of the fact.
        since: its first day; a single-valued predicate and an event begin today unless said.
        until: the first day that it no longer holds.

    Raises:
        UsageError: a part is missing or can't be written, a date in it can't be read, or it ends before it begins.
        UnwritableError: the fact is in the spool.
    """
    subject, predicate, object_ = map(ctx.masked, (subject, predicate, object_))
    object_, since, until = _dated(subject, predicate, object_, since, until)
    title = entries.heading(subject)
    name, value = predicate_of(predicate), entries.neutralise(object_)
    if since is not None and until is not None and until <= since:
        raise UsageError(f"the fact would end on {until} and begin on {since}", "give an --until after --since")
    path = ctx.layout.facts
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
        gone=predicates.given_up(name),
        author=ctx.author,
        target=path,
        typed=True,
    )
    with ctx.writing("facts add", arguments) as session:
        (landed,) = session.change([change])
    told, words = landed.outcome, landed.outcome.words
    ctx.notices += [
        f"ended on {ending.on}: {ending.fact.subject} {ending.fact.predicate}:: {ending.fact.object}"
        for ending in told.endings
    ]
    if not predicates.timed(name):
        ctx.notices += _beside(landed.written, title, name, value, ctx.now.date())
    return ctx.receipt(path, *_placed(landed.written, title, words, -1), words, landed.written)


def end(ctx: Caller, target: str, on: date | None = None) -> Receipt:
    """Say when a fact stopped being true; it stays where it is.

    Args:
        ctx: the command's view of the vault.
        target: its REF, or words that fit one fact only.
        on: the first day that it no longer holds; None means today, or the day on which it ended already.

    Raises:
        NotFoundError: no such fact.
        AmbiguousError: several; they are listed.
        UsageError: it would end before it began.
        ConflictError: it changed in the meantime.
        UnwritableError: the note can't be written; the change is in the spool.
    """
    entry, fact = find(ctx, target)
    day = on or ctx.now.date()
    if fact.until is not None and on is None and fact.until <= day:
        day = fact.until
        ctx.notices.append(f"its end stays {fact.until}: --on DATE moves it")
    elif fact.until is not None and fact.until != day:
        ctx.notices.append(f"it was to end on {fact.until}; now it ends on {day}")
    if fact.since is not None and day < fact.since:
        raise UsageError(f"{fact.subject} {fact.predicate}:: {fact.object} began on {fact.since}", "end it later")
    words = facts.words(fact.predicate, fact.object, fact.since, day)
    arguments = {"target": fact.ref, "text": mask(entry.text), "on": day.isoformat()}
    change = Change("replace", fact.subject, words, target=fact.path, typed=True)
    with ctx.writing("facts end", arguments) as session:
        (landed,) = session.change([session.naming(entry, change)])
    written = landed.written
    number, ref = _placed(written, fact.subject, words, fact.line) if written.changed else (fact.line, fact.ref)
    return ctx.receipt(fact.path, number, ref, words, written)


def remove(ctx: Caller, target: str) -> Receipt:
    """Take a fact out of Facts.md, as if it had never been said.

    Raises:
        NotFoundError: no such fact.
        AmbiguousError: several; they are listed.
        ConflictError: it changed in the meantime.
        UnwritableError: the note can't be written; the change is in the spool.
    """
    entry, fact = find(ctx, target)
    change = Change("remove", fact.subject, target=fact.path, typed=True)
    with ctx.writing("facts remove", {"target": fact.ref, "text": mask(entry.text)}) as session:
        (landed,) = session.change([session.naming(entry, change)])
    return ctx.receipt(fact.path, entry.line, fact.ref, entry.text, landed.written)


def again(ctx: Caller, command: str, said: dict[str, Any]) -> Receipt:
    """Carry out a command that waited in the spool, whatever it was about.

    Raises:
        ValueError: no command of capture has this name.
    """
    if command == "remember":
        return capture.remember.remember(
            ctx, said["text"], tier=said["tier"], section=said["section"], tags=said["tags"]
        )
    if command == "log":
        return capture.remember.log(ctx, said["text"])
    if command == "feedback":
        return capture.remember.feedback(ctx, said["good"], said["text"], said["question"], said["answer"])
    if command == "edit":
        tags, bare = said.get("tags", ()), said.get("bare", False)
        return capture.amend.edit(ctx, said["target"], said["text"], tags=tags, bare=bare)
    if command == "new":
        return capture.notes.new(ctx, said["title"], said["text"], beside=said.get("beside", ""))
    if command == "learn":
        return capture.notes.learn(ctx, said["title"], said["text"], when=said.get("when", ""))
    if command == "topic":
        return capture.notes.topic(ctx, said["agent"], said["name"], said["text"])

    def day(name: str) -> date | None:
        return date.fromisoformat(said[name]) if said[name] else None

    if command == "facts add":
        parts = (said["subject"], said["predicate"], said["object"])
        return add(ctx, *parts, since=day("since"), until=day("until"))
    if command == "facts end":
        return end(ctx, said["target"], day("on"))
    if command == "facts remove":
        return remove(ctx, said["target"])
    raise ValueError(f"no command {command!r} can be placed")


def find(ctx: Caller, target: str) -> tuple[Entry, facts.Fact]:
    """The fact with this REF, else the only one with these words (subject, predicate and object in one line).

    Raises:
        NotFoundError: there is none.
        AmbiguousError: there are several.
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
    """Line and REF of the fact that was just written: the last one with these words about its subject, or with a line
    given the one nearest to it.
    """
    about = facts.folded(subject)
    same = [
        (fact.line, fact.ref)
        for entry, fact in facts.read(written.path, Document(written.text))
        if entry.text == words and facts.folded(fact.subject) == about
    ]
    if not same:
        return written.line, facts.ref_of(written.path, subject, words)
    return same[-1] if near < 0 else min(same, key=lambda each: abs(each[0] - near))


def _beside(written: Written, subject: str, predicate: str, value: str, today: date) -> list[str]:
    """A notice about the fact that holds beside a new one with another value, the first time that there are two:
    whether a predicate has one value at a time, only the person knows.
    """
    about = facts.Claim(subject, predicate, value).about
    found = facts.read(written.path, Document(written.text))
    held = [fact for _, fact in found if fact.about == about and fact.holds(today)]
    others = [fact for fact in held if not facts.alike(fact.object, value)]
    if len(held) != 2 or len(others) != 1:
        return []
    other = others[0]
    said = f"{other.subject} {other.predicate}:: {other.object} is still true"
    always = f"if {predicate!r} has one value at a time, add it to single in the settings, under [facts]"
    return [f"{said}; to end it: tars-memory facts end {other.ref}; {always}"]


def _dated(
    subject: str, predicate: str, object_: str, since: date | None, until: date | None
) -> tuple[str, date | None, date | None]:
    """The object without the dates that were typed in it, and the dates of the fact.

    Raises:
        UsageError: a field in one of the parts is not a date of a fact, or says something else than is given beside it.
    """
    said = facts.said(f"x:: {object_}")
    if said is None and facts.stray(object_):
        raise UsageError(f"{object_!r} names no object", facts.HOW)
    value = said.object if said else object_
    for part in (subject, predicate, value):
        if field := facts.stray(part):
            raise UsageError(f"{field} in {part!r} is not a date of a fact", facts.HOW)
    days = [since, until]
    for at, typed in enumerate((said.since, said.until) if said else ()):
        if typed and days[at] not in (None, typed):
            name = ("since", "until")[at]
            raise UsageError(f"--{name} is {days[at]} and the object says [{name}:: {typed}]", "give one of them")
        days[at] = typed or days[at]
    return value, days[0], days[1]


def predicate_of(text: str) -> str:
    """A predicate as it can stand before ``::``.

    Raises:
        UsageError: it holds a character that ends it, or nothing.
    """
    words = entries.neutralise(text).removesuffix("::").strip()
    if not words or re.search(r"::|[\[\]():]", words) or len(words) > 80:
        raise UsageError(f"{text!r} is not a predicate", 'name it in a few words without : [ ] ( ), as "lives in"')
    return words
