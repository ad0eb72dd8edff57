"""All that a search may be asked, as one value: made by command line, Python and hooks, read down to SQL.

Annotations are not put off here: a tuple with names compiles each that is a string, which each search would pay.
"""

from datetime import date
from typing import NamedTuple


class SearchRequest(NamedTuple):
    """One search. A field that is left out narrows nothing.

    Attributes:
        text: in the grammar of :mod:`tars_memory.recall.query`.
        mode: ``hybrid``, ``lexical`` or ``semantic``; None: as set.
        unfinished: somebody is still typing the last word, so it may be the beginning of one.
        tiers: any of these.
        tags: any of these, without ``#``; those nested below them too.
        paths: beginnings of paths, or patterns; any of them.
        since: first day, as typed.
        until: last day, as typed.
        limit: most hits; None: as set.
        per_note: most hits of one note, where several notes answer; what else answers is counted. None: any number.
        explain: keep each part of the scores.
        project: whose notes may answer too; None: the chosen one, ``""``: none.
        where: conditions on properties (``status=done``), all of them.
        linked_to: only notes that all of these link to.
        links_to: only notes that link to all of these.
        about: only passages about all of these.
        topics: only passages with all of these tags, or of sessions with these topics.
        expired: also what has ended.
        agent: whose own notes ``context`` may tell as well; None: those of no agent. A search finds all of them.
        session: the log of the conversation that asks, or '': it does not answer itself, and no log is read for it.
        as_of: the day on which what is found has to hold; None: today.
    """

    text: str = ""
    mode: str | None = None
    unfinished: bool = False
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    limit: int | None = None
    per_note: int | None = None
    explain: bool = False
    project: str | None = None
    where: tuple[str, ...] = ()
    linked_to: tuple[str, ...] = ()
    links_to: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    expired: bool = False
    as_of: date | None = None
    session: str | None = None
    agent: str | None = None
