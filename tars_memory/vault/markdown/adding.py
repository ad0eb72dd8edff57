"""What to splice into ``Facts.md`` to add a fact: its own line, and the ends of those that it replaces. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tars_memory.vault.markdown import edits, entries, facts
from tars_memory.vault.markdown.document import Document, apply
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from datetime import date

    from tars_memory.vault.markdown.facts import Ending, Plan, Predicates
    from tars_memory.vault.model import Entry

NEW = b"# Facts\n"
"""What a new Facts.md begins with."""


class Adding(NamedTuple):
    """What adding a fact comes to.

    Attributes:
        plan: see :class:`tars_memory.vault.markdown.facts.Plan`; if it has a ``same``, nothing is to be done.
        words: of the new line.
        ended: the entries that it ends, each with its new words, in the order of ``plan.endings``.
        splices: all of it, in order; empty if nothing is to be done.
    """

    plan: Plan
    words: str
    ended: tuple[tuple[Entry, str], ...]
    splices: tuple[Splice, ...]


def add(
    path: str,
    data: bytes,
    subject: str,
    predicate: str,
    object_: str,
    *,
    since: date | None,
    until: date | None,
    today: date,
    predicates: Predicates,
    link: tuple[str, str] | None = None,
    author: str = "",
) -> Adding:
    """What adding a fact to a note does.

    Args:
        path: of the note.
        data: the note; empty if there is none.
        subject: as a heading takes it.
        predicate: as it can stand before ``::``.
        object_: neutralised.
        since: its first day, if it is known.
        until: the first day that it no longer holds, if it is known.
        today: the day on which it was said.
        predicates: how predicates stand in time.
        link: target and label of its provenance.
        author: who says so; empty for nobody in particular.

    Raises:
        ConflictError: no place takes the line without changing what stands around it.
    """
    found = facts.read(path, data)
    known = {fact.ref: entry for entry, fact in found}
    every = (fact for _, fact in found)
    plan = facts.plan(every, subject, predicate, object_, since=since, until=until, today=today, predicates=predicates)
    words = facts.words(predicate, object_, plan.since, plan.until)
    if plan.same is not None:
        return Adding(plan, words, (), ())
    ended = tuple((known[ending.fact.ref], _until(ending)) for ending in plan.endings)
    target, label = link or (None, None)
    bullet = entries.render(entries.Parts(words, provenance=target, label=label, author=author or None))
    splices = [splice for entry, new in ended for splice in edits.replace_bullet(data, entry, new)]
    return Adding(plan, words, ended, tuple(sorted([*splices, *_placed(path, data, bullet, subject)])))


def _placed(path: str, data: bytes, bullet: str, subject: str) -> list[Splice]:
    """The bullet under its subject; one that is called as the note itself gets a heading of its own."""
    section = Document(data).find_section(subject)
    if section is None or not facts.is_title(path, section.title, section.level):
        return edits.insert_bullet(data, bullet, section=subject)
    (heading,) = edits.insert_heading(data, subject)
    after = apply(data, [heading])
    after = apply(after, edits.insert_bullet(after, bullet, section=subject))
    return [Splice(heading.start, len(data), after[heading.start :])]


def _until(ending: Ending) -> str:
    fact = ending.fact
    return facts.words(fact.predicate, fact.object, fact.since, ending.on)
