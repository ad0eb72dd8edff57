"""Lines whose own date is past: ``valid until …``, ``expires …``, a deadline, a date due.

``until`` also tells of the past (*lived in Cork until 2019*), and that is worth keeping. So it counts only where the
sentence does not look back, and only if the date was still to come on the day that the line is of.
"""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from tars_memory.curation.tidying.findings.model import Finding
from tars_memory.recall.ranking.dates import dated
from tars_memory.vault.markdown.entries import task
from tars_memory.vault.markdown.lines import end_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.curation.tidying.findings.model import TidyNote, World

STRONG = (
    r"expir(?:es|y|ing|ation)(?: date)?(?: is)?(?: on| in| at| by)?:?",
    r"(?:valid|good|effective|open|free|available) (?:until|till|through|thru|up to):?",
    r"(?:deadline|due(?: date)?|best before|use by|runs out|ends|closes)(?: is)?(?: on| in| at| by)?:?",
    r"(?:📅|⏳)",
    r"(?:gültig|haltbar) bis(?: zum)?:?|läuft (?:am )?|fällig(?: am)?:?|frist(?: ist)?(?: der)?:?|endet (?:am )?",
    r"valable jusqu(?:'au|’au|e)|date limite:?|expire (?:le )?|válid[oa] hasta(?: el)?|vence (?:el )?|caduca (?:el )?",
    r"valid[oa] fino a(?:l)?|scade (?:il )?|geldig tot(?: en met)?|verloopt (?:op )?|válid[oa] até|expira (?:em )?",
    r"\[(?:due|deadline|expires|until)::",
)
"""What announces an end wherever it stands."""

WEAK = (
    r"(?:until|till|through|thru)(?: the end of)?",
    r"\bby",
    r"bis(?: zum| ende)?|jusqu(?:'au|’au|e)|hasta(?: el)?|fino al?|tot(?: en met)?|até",
)
"""What announces an end unless the sentence looks back."""

PAST = (
    r"\b(?:was|were|had|did|been|lived|worked|stayed|ran|went|wrote|built|held|led|taught|studied|served|belonged|"
    r"used to|since|from|between|war|waren|hatte|lebte|arbeitete|wohnte|von|seit|était|vivait|travaillait|depuis|"
    r"era|vivía|trabajó|desde|viveva|lavorava|dal|woonde|werkte|sinds|\w{3,}ed)\b"
)
"""Signs of a sentence that looks back."""

LONG = 1_000
"""Characters of the longest line that is looked at: more is a text, with ends of many things."""

AHEAD = 40
"""Characters behind the word in which its date begins and ends."""

DONE = re.compile(r"\[[xX-]\]")

YEAR = re.compile(r"\d{4}")
"""What each date that is an end here has."""


def expired(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Lines of the always-loaded notes whose own date is past."""
    if note.role not in ("memory", "rules"):
        return
    for entry in note.entries:
        box = task(entry.text)
        if DONE.match(box) or len(entry.text) > LONG or end_in(entry.text) is not None:
            continue  # what says ``[until:: …]`` leaves search and prompts by itself
        end = ending(re.sub(r"~~.*?~~", "", entry.text[len(box) :]), world.today)
        if end is None or end >= world.today:
            continue
        of = _day_of(entry.provenance)
        if of is not None and end <= of:
            continue  # it was over already when it was said
        sentence = f"its date, {end}, is past: bring it up to date, or remove it"
        finding = Finding("", "expired", note.path, entry.line, entry.text, sentence, entry=entry, op="remove")
        yield finding, entry.raw


def ending(text: str, today: date) -> date | None:
    """The last day that a line speaks of as its end; None if it names none."""
    if YEAR.search(text) is None:
        return None  # most lines: whoever has ten thousand waits for the others alone
    ends = [
        end
        for pattern in STRONG
        for found in re.finditer(rf"(?<!\w){pattern}", text, re.IGNORECASE)
        if (end := _date_at(text[found.end() : found.end() + AHEAD], today)) is not None
    ]
    past = re.search(PAST, text, re.IGNORECASE)
    for pattern in WEAK:
        for found in re.finditer(rf"(?<!\w)(?:{pattern})(?=\s)", text, re.IGNORECASE):
            end = _date_at(text[found.end() : found.end() + AHEAD], today)
            if end is not None and not (past and past.end() <= found.start()):
                ends.append(end)
    return max(ends, default=None)


def _date_at(text: str, today: date) -> date | None:
    """The last day of a date with its year that a text begins with."""
    text = text.lstrip(" \t:")
    numeric = re.match(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)", text)
    if numeric:
        return _made(int(numeric[3]), int(numeric[2]), int(numeric[1]))
    iso = re.match(r"(\d{4})-(\d\d)-(\d\d)", text)
    if iso:
        return _made(int(iso[1]), int(iso[2]), int(iso[3]))
    for named, words in dated(text, today):
        spelled = " ".join(words)
        begins = re.match(r"(?:the |der |den |le |el |il )?" + re.escape(words[0]), text, re.IGNORECASE)
        if named.yearless or not begins or not re.search(r"\d{4}", spelled):
            return None
        return named.end
    return None


def _day_of(provenance: str | None) -> date | None:
    found = re.search(r"(\d{4})-(\d\d)-(\d\d)", provenance or "")
    return _made(int(found[1]), int(found[2]), int(found[3])) if found else None


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
