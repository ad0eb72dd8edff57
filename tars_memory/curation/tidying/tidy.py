"""``tidy``: finds problems in our notes, fixes those that lose nothing, and proposes changes for the others.

Finding problems writes nothing. Fixes are limited in number per run, each removed line is still in its note once, and
``undo`` takes them back. A rule is fixed only if a person asks for it at a terminal.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tars_memory import errors, settings
from tars_memory.curation.extraction.rules import stated
from tars_memory.curation.proposals import TIDY, Proposal, Related, change_of_line, day_of, question, question_about
from tars_memory.curation.tidying.archive import is_named
from tars_memory.language import statements
from tars_memory.language.dates import dated
from tars_memory.language.words import fold, phrase_pattern
from tars_memory.vault import change, inbox
from tars_memory.vault.links import Links, Outlink, anchor, anchors, files_of, links_by_line, links_by_source
from tars_memory.vault.markdown import edits, entries, facts as truth, lines
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Entry, Splice, Tier, is_empty_item
from tars_memory.vault.note import Note

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from tars_memory.capture.remember import Caller
    from tars_memory.vault.layout import Layout
    from tars_memory.vault.writing.store import WriteSession


# --- finds problems in lines: empty bullets, placeholders, malformed daily lines, expired lines, dead links; and
# between lines: the same words twice, the same in other words, and lines that contradict each other
#
# A finder is a pure function of a note and of what is known about the vault around it. A new one is a function here,
# its name in :data:`Kind`, and its place in :data:`FIXABLE` or :data:`OTHERS`.
#
# ``until`` may also be about the past (*lived in Cork until 2019*), which is worth keeping. So it counts only if the
# sentence is not in the past, and if the date was still ahead on the day of the line. Obsidian lets a person link to a
# note before it is written, so a link to a bare name is dead only where that is unlikely: in the tier notes, and if few
# other notes link to the name.


Kind = Literal[
    "duplicate",
    "near-duplicate",
    "contradiction",
    "merge",
    "empty",
    "placeholder",
    "dead-link",
    "expired",
    "oversized",
    "repeated-heading",
    "repeated-id",
    "malformed",
]

Role = Literal["memory", "rules", "facts", "daily", "feedback", "session"]
"""The purpose of a note that tidy looks at; it never looks at other notes."""


class Finding(NamedTuple):
    """Something to tidy.

    Attributes:
        id: 8 characters, made of the kind, the note's path and the key; if the words change, so does the id.
        kind: see :data:`Kind`.
        path: of the note.
        line: 1-based.
        text: the words that it is about.
        suggestion: what to do, one sentence.
        fixable: whether ``--apply`` can fix it, losing nothing.
        entry: the bullet that it is about, if that has words.
        op: the change to offer for review, ``remove``, ``replace`` or ``choose``; empty for none.
        words: for ``replace`` the new words; for ``choose`` the question.
        conflicts: other lines that it is about, to show to the reviewer; for ``choose`` all of them.
        key: the words that its id is made of.
    """

    id: str
    kind: Kind
    path: str
    line: int
    text: str
    suggestion: str
    fixable: bool = False
    entry: Entry | None = None
    op: str = ""
    words: str = ""
    conflicts: tuple[Related, ...] = ()
    key: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON object."""
        names = ("id", "kind", "path", "line", "text", "suggestion", "fixable")
        return {**{name: getattr(self, name) for name in names}, "lines": self.conflicts}


class TidyNote:
    """One note to tidy, parsed.

    Attributes:
        path: relative to the vault.
        role: see :data:`Role`.
        document: its structure.
        entries: its bullets with words.
        parents: by a bullet's line, the line of the bullet that it is nested in; 0 for none.
    """

    __slots__ = ("document", "entries", "parents", "path", "role")

    def __init__(self, note: Note, role: Role) -> None:
        self.path = note.path
        self.role = role
        self.document = note.document
        self.entries = [entry for entry in note.entries if not is_empty_item(entry.raw)]
        self.parents: dict[int, int] = {}
        open_bullets: list[tuple[int, int]] = []
        for bullet in self.document.bullets:
            while open_bullets and open_bullets[-1][1] < bullet.line:
                open_bullets.pop()
            self.parents[bullet.line] = open_bullets[-1][0] if open_bullets else 0
            open_bullets.append((bullet.line, bullet.end_line))

    def at(self, kind: Kind, line: int, text: str, suggestion: str, key: str, **more: Any) -> Finding:
        """Return a finding about a line, without an id yet; ``more`` are fields of :class:`Finding`."""
        return Finding("", kind, self.path, line, text, suggestion, key=key, **more)

    def about(self, kind: Kind, entry: Entry, suggestion: str, key: str = "", **more: Any) -> Finding:
        """Return a finding about a bullet with words; its key is the bullet's own lines, if no other is given."""
        return self.at(kind, entry.line, entry.text, suggestion, key or entry.raw, entry=entry, **more)

    def place(self, line: int) -> tuple[int, int]:
        """Return where a bullet is: the first lines of its section and of the bullet that it is nested in (0: none)."""
        return self.document.section_at(line).start_line, self.parents.get(line, 0)


@dataclass(frozen=True)
class World:
    """What finders know about the vault around a note.

    Attributes:
        today: the local day.
        layout: of the vault.
        links: to follow links.
        linked: block ids that some note links to, in lower case.
        named: by a name in lower case that leads to no note, how many notes link to it.
        form: headings under which the daily template has an empty bullet, in lower case.
        section_entries: a section with more bullets than this is too large.
        read: returns the bytes of a note; None if it can't be read.
        dated: returns the day of a line that names none; empty if it is not known.
        facts: which predicates of facts change over time, and who the person is.
    """

    today: date
    layout: Layout
    links: Links
    linked: Collection[str]
    named: Mapping[str, int]
    form: Collection[str]
    section_entries: int
    read: Callable[[str], bytes | None]
    dated: Callable[[Entry], str] = lambda _: ""
    facts: settings.FactsOptions = field(default_factory=settings.FactsOptions)

    @cached_property
    def stated(self) -> list[tuple[Entry, truth.Fact]]:
        """The facts of the note of facts; read once for all notes."""
        path = self.layout.facts
        return list(truth.read(path, Document(self.read(path) or b"")))

    @cached_property
    def predicates(self) -> truth.Predicates:
        """How predicates change over time."""
        return truth.Predicates.of(self.facts)

    def related(self, entry: Entry) -> Related:
        """Return a line as it is shown beside a finding."""
        return Related.of(entry, day_of(entry, self.dated))


def role_of(layout: Layout, path: str) -> Role | None:
    """Return the role of a note; None for one that tidy leaves alone: the person's own, archived, summary, template."""
    if layout.is_template(path):
        return None
    tier = layout.tier_of(path)
    if tier is Tier.SEMANTIC:
        return "facts" if layout.is_facts(path) else "memory"
    if tier is Tier.PROCEDURAL:
        return "rules"
    if tier is Tier.EPISODIC:
        return None if layout.is_archived(path) or is_named(path) else "session"
    if tier is Tier.DAILY:
        return None if layout.is_archived(path) else "daily"
    return "feedback" if layout.timed(path) else None


def numbered(found: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of their lines, with their ids."""
    seen: Counter[tuple[str, str, str]] = Counter()
    with_ids: list[Finding] = []
    for finding in sorted(found, key=lambda finding: (finding.line, finding.kind)):
        identity = (finding.kind, finding.path, finding.key)
        words = "\0".join((finding.path, finding.key, str(seen[identity])))
        with_ids.append(finding._replace(id=entries.ref(finding.kind, words)))
        seen[identity] += 1
    return with_ids


def shown(text: str) -> str:
    """Return words to be named in a sentence: on one line, at most 80 characters."""
    return errors.shortened(" ".join(text.split()), 80)


PLACEHOLDERS = (
    r"(?:todo|to ?do|tbd|tba|tbc|fixme|xxx+)[.:!?… ]*",
    r"[.…?_–—-]{1,20}",
    r"(?:lorem ipsum|placeholder|your text here|add (?:text|your \w+) here|write here|fill (?:this )?in)\b.{0,60}",
    r"to be (?:done|decided|defined|written|filled in|added)[.… ]*",
    # A template's own, never filled: a name, perhaps with a format. What has arguments is a macro of Logseq or Roam.
    r"\{\{[ \t]*[\w.-]*(?::\S[^{}]{0,80})?[ \t]*\}\}|<%[^%]{0,200}%>",
    r"[^:]{1,40}::",  # an inline field without a value
)
"""Patterns of placeholders for words that were never written. ``none`` and ``nothing`` are answers, and so not among
them."""

CLOCKS = (
    (r"(?:2[4-9]|[3-9]\d):[0-5]\d(?!\S)|\d{1,2}:[6-9]\d(?!\S)", "is not a time of day"),
    (r"\d{1,2}:\d\d:\d\d(?!\S)", "has seconds, and is read as text"),
    (r"\d{1,2}(?::\d\d)?[ ]?[ap]\.?m\b\.?", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3])[h.][0-5]\d[ ]?(?:h|Uhr)(?!\S)", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3])h[0-5]\d(?!\S)", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3]):[0-5]\d[:,;](?=\s)", "is read as text: remove the sign after the time"),
)  # fmt: skip
"""Patterns of a time at the start of a daily line that the grammar does not read as one, and what is wrong with it."""


def empty_bullets(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets without words; except those of the daily template, to be filled in, and those of today."""
    if note.role == "session" or not _is_past(note, world):
        return
    for bullet in note.document.bullets:
        words = note.document.text(bullet.line)
        if bullet.end_line != bullet.line or not is_empty_item(words):
            continue
        title = note.document.section_at(bullet.line).title
        if note.role == "daily" and title.casefold() in world.form:
            continue
        where = f"under {title!r}" if title else "at the start of the note"
        sentence = f"an empty bullet {where}: remove it"
        yield note.at("empty", bullet.line, words.strip(), sentence, title, fixable=True)


def placeholders(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets that only say that something is to be written."""
    if note.role == "session" or not _is_past(note, world):
        return
    for entry in note.entries:
        words = entry.text[len(entries.task(entry.text)) :].strip()
        plain = re.sub(r"[*~=`]+", "", words)
        if entry.end_line > entry.line or not plain:
            continue
        if any(re.fullmatch(shape, plain, re.IGNORECASE) for shape in PLACEHOLDERS):
            sentence = "it only says that something is to be written: write it, or remove it"
            op = "" if note.role in ("daily", "facts") else "remove"
            yield note.about("placeholder", entry, sentence, op=op)


def oversized(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find sections with too many bullets; an ignored one is found again when it has grown by half the limit."""
    if note.role not in ("memory", "rules", "facts"):
        return
    starts = (note.document.section_at(entry.line).start_line for entry in note.entries if not entry.depth)
    counts = Counter(starts)
    for section in note.document.sections:
        count = counts[section.start_line]
        if count > world.section_entries:
            title = section.title or note.path
            limit = f"[tidy] section_entries is {world.section_entries}"
            sentence = f"{errors.counted(count, 'line')} under one heading: split them up ({limit})"
            size = 2 * count // world.section_entries
            yield note.at("oversized", section.start_line, title, sentence, f"{' › '.join(section.path)}\0{size}")


def malformed(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find lines of a daily log with a time or state that is not read as one, and times without words."""
    if note.role != "daily":
        return
    heading = world.layout.log_heading.casefold()
    for entry in note.entries:
        if entry.depth or entries.task(entry.text):
            continue
        why = _state_problem(entry.text)
        if not why and entry.section.casefold() == heading:
            why = _time_problem(entry.text, timed=entry.time is not None)
        if why:
            yield note.about("malformed", entry, why)
    for bullet in note.document.bullets:
        words = note.document.text(bullet.line)
        if bullet.end_line == bullet.line and lines.is_time_alone(words):
            sentence = "a time without words: write what was then, or remove it"
            yield note.at("malformed", bullet.line, words.strip(), sentence, words.strip())


def without_mark(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find lines of a daily log that begin with a time and are not bullets of their own."""
    if note.role != "daily":
        return
    heading = world.layout.log_heading.casefold()
    for block in note.document.blocks:
        if block.kind not in ("paragraph", "item"):
            continue
        if note.document.section_at(block.start_line).title.casefold() != heading:
            continue
        for line in range(block.start_line, block.end_line + 1):
            words = note.document.text(line).strip()
            mark = lines.mark_before_time(words)
            if mark is not None:
                missing = f"a blank: put one after its “{mark}”" if mark else "a mark: put “- ” before it"
                sentence = f"it is not a line of the log without {missing}"
                yield note.at("malformed", line, words, sentence, words)


def _is_past(note: TidyNote, world: World) -> bool:
    """Whether a note is not the daily note of today or of a later day."""
    day = world.layout.day_of(note.path)
    return day is None or day < world.today


def _state_problem(text: str) -> str:
    """Return why a state in square brackets, at either end of a line, is not read as one; empty if there is none."""
    states = "|".join(entries.STATES)
    found = re.search(rf"^\[(?:{states})\]|(?<=\s)\[(?:{states})\]$", text, re.IGNORECASE)
    return f"{found[0]} is read as text: put one state, in lower case, after the time, then a blank" if found else ""


def _time_problem(text: str, *, timed: bool) -> str:
    """Return why the start of a line is not read as the time that is meant; empty if there is no problem."""
    if timed:
        half = re.match(r"[ap]\.?m\b", text, re.IGNORECASE)
        return f"{half[0]!r} is read as text, and the time as one before noon: write 14:30" if half else ""
    for shape, why in CLOCKS:
        found = re.match(shape, text)
        if found:
            return f"{shown(found[0])!r} {why}"
    return ""


ANNOUNCED = "ends", "announced", r"(?<!\w){}"
"""Phrases that announce an end date in any sentence: table and name in the files of languages, and their expression."""

UNLESS_PAST = "ends", "ahead", r"(?<!\w){}(?=\s)"
"""The same for phrases that announce an end date unless the sentence is in the past."""

PAST = "ends", "past", r"\b{}\b"
"""The same for words that show that a sentence is in the past."""

LONG = 1_000
"""Maximum number of characters of a line to search or to compare: a longer one is a text, with dates of many things."""

AHEAD = 40
"""Number of characters after such a phrase that must contain its date."""

DONE = re.compile(r"\[[xX-]\]")
"""The box of a task that is done."""

YEAR = re.compile(r"\d{4}")
"""A year. Each end date contains one, so a line without it needs no slower search."""


def expired(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find lines of the always-loaded notes whose end date is past."""
    if note.role not in ("memory", "rules"):
        return
    for entry in note.entries:
        box = entries.task(entry.text)
        if DONE.match(box) or len(entry.text) > LONG or lines.end_in(entry.text) is not None:
            continue  # a line with ``[until:: …]`` disappears from search and prompts without tidy
        end = last_day_named(re.sub(r"~~.*?~~", "", entry.text[len(box) :]), world.today)
        if end is None or end >= world.today:
            continue
        said = re.search(r"(\d{4})-(\d\d)-(\d\d)", entry.provenance or "")
        day = _day(*said.groups()) if said else None
        if day is not None and end <= day:
            continue  # it was over already when it was said
        sentence = f"its date, {end}, is past: update it, or remove it"
        yield note.about("expired", entry, sentence, op="remove")


def last_day_named(text: str, today: date) -> date | None:
    """Return the last end date that a line names; None if it names none."""
    if YEAR.search(text) is None:
        return None  # most lines: with ten thousand of them this saves the time
    ends = [
        end
        for found in phrase_pattern(*ANNOUNCED).finditer(text)
        if (end := _date_at(text[found.end() : found.end() + AHEAD], today)) is not None
    ]
    past = phrase_pattern(*PAST).search(text)
    for found in phrase_pattern(*UNLESS_PAST).finditer(text):
        end = _date_at(text[found.end() : found.end() + AHEAD], today)
        if end is not None and not (past and past.end() <= found.start()):
            ends.append(end)
    return max(ends, default=None)


def _date_at(text: str, today: date) -> date | None:
    """Return the last day of the date, with a year, that a text begins with; None if it begins with none."""
    text = text.lstrip(" \t:")
    numeric = re.match(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)", text)
    if numeric:
        return _day(numeric[3], numeric[2], numeric[1])
    iso = re.match(r"(\d{4})-(\d\d)-(\d\d)", text)
    if iso:
        return _day(*iso.groups())
    for span, words in dated(text, today):
        begins = re.match(r"(?:the |der |den |le |el |il )?" + re.escape(words[0]), text, re.IGNORECASE)
        if span.yearless or not begins or not YEAR.search(" ".join(words)):
            return None
        return span.end
    return None


def _day(year: str, month: str, day: str) -> date | None:
    """Return the day that numbers in the digits of any script name; None if there is no such day."""
    return lines.calendar_day(f"{int(year):04}-{int(month):02}-{int(day):02}")


TOPIC = 3
"""Minimum number of notes that link to a name without a note for it to be a topic, not a mistake."""

ENDINGS = (
    r".*\.(?:md|canvas|base|pdf|png|jpe?g|gif|svg|webp|avif|bmp|mp[34]|wav|m4a|ogg|flac|mov|webm|mkv|txt|csv|json|docx|xlsx"
    r"|pptx|odt|zip)"
)
"""Pattern of the names of files that a vault may contain; ``example.org`` is an address."""


def dead_links(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find links to a note, heading or block that does not exist."""
    known: dict[str, frozenset[str] | None] = {}
    for line, text, links in links_by_line(note.document):
        for link in links:
            why = _why_dead(link, note, world, known)
            if why:
                words = lines.unbulleted(text).strip()
                sentence = f"{shown(str(link))} {why}"
                yield note.at("dead-link", line, words, sentence, f"{link}\0{words}")


def _why_dead(link: Outlink, note: TidyNote, world: World, known: dict[str, frozenset[str] | None]) -> str:
    """Return what is wrong with a link; empty if it is fine.

    Args:
        link: of the note.
        note: that has the link.
        world: around the note.
        known: receives the anchors of each note that is read, by path.
    """
    _, target = world.links.follow(link, note.path)
    if target is None:
        return "" if _is_intended(link, note, world) else "leads to no note: fix the link, or remove it"
    if not link.anchor or target[-3:].lower() != ".md":
        return ""
    if _has_anchor(link, target, note, world, known) is not False:
        return ""
    what = "line" if link.anchor.startswith("^") else "heading"
    visible = ("", world.layout.scope)  # never name another project's notes
    alike = (path for path in world.links.same_name(target) if world.layout.project_of(path) in visible)
    meant = [path for path in alike if _has_anchor(link, path, note, world, known)]
    if len(meant) == 1:
        right = f"[[{world.links.name_of(meant[0])}#{link.anchor}]]"
        return f"leads to no {what} of {target}, but {meant[0]} has it: write {right}"
    return f"leads to no {what} of {target}: fix the link, or remove it"


def _has_anchor(
    link: Outlink, path: str, note: TidyNote, world: World, known: dict[str, frozenset[str] | None]
) -> bool | None:
    """Whether a note has the heading or block that a link names; None if it can't be read."""
    if path not in known:
        data = note.document.data if path == note.path else world.read(path)
        known[path] = None if data is None else anchors(note.document if path == note.path else Document(data))
    found = known[path]
    return None if found is None else anchor(link.anchor) in found


def _is_intended(link: Outlink, note: TidyNote, world: World) -> bool:
    """Whether a link to no note may be intended."""
    target = link.target.strip("/")
    is_file = re.fullmatch(ENDINGS, target, re.IGNORECASE) is not None
    if link.kind == "markdown":
        # A path from the root means other things to other programs; without an ending it may be a folder or an address.
        return link.target.startswith("/") or not is_file
    if link.embed or link.anchor or "/" in target or is_file:
        return False
    if world.layout.day_of(world.layout.daily_folder + "/" * bool(world.layout.daily_folder) + f"{target}.md"):
        return True  # a day that nothing was logged on
    if note.role not in ("memory", "rules", "facts"):
        return True
    return world.named.get(target.casefold(), 0) >= TOPIC


# -- between lines
#
# Contradictions are: facts of one subject and predicate that has only one value at a time (``Memory.md`` may state one
# of them), lines with the same words but another date, time or number, and lines that differ by a negation. They become
# questions; nothing is changed.


STANDING = 4
"""Minimum number of words of a line that means the same under another heading. A shorter one, like ``likes tea``, may
be about somebody else, unless one of the headings is the one for everything."""

COMMON = 40
"""Maximum number of lines with a word for it to pair them; lines that say the same share rarer words."""

TELLING = 2
"""Minimum number of content words of a statement; fewer are an exclamation."""

LISTS = frozenset({"topics", "decisions", "open ends", "tools", "facts"})
"""Headings of a session note under which each line is written once."""

SESSION_HEADINGS = frozenset({"summary", "topics", "decisions", "open ends", "tools", "facts", "turns"})
"""Headings that a session note has once; any other heading may be a speaker's name."""


def duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets with exactly the same words and time in the same place."""
    groups: dict[tuple[object, ...], list[Entry]] = defaultdict(list)
    for entry in note.entries:
        if note.role == "daily" and entry.time is None:
            continue  # a tally or a habit may be meant twice
        if note.role == "session" and (entry.depth or entry.section.casefold() not in LISTS):
            continue  # it may have been said twice
        groups[*note.place(entry.line), entry.time, entry.state, entry.text].append(entry)
    for group in groups.values():
        if len(group) > 1:
            stays = min(group, key=lambda entry: _rank(entry, world))
            for entry in group:
                if entry is not stays:
                    yield _duplicate(note, entry, stays, world)


def near_duplicates(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find bullets that say the same: in other words, order or accents, or exactly under another heading."""
    entries = _short(note)
    parsed = [statements.read(entry.text) for entry in entries]
    gone: set[Entry] = set()
    general = {"", world.layout.notes_section.casefold()}
    for first, second in _pairs([tuple(map(fold, statement.content)) for statement in parsed]):
        old, new = entries[first], entries[second]
        equal, together = old.text == new.text, note.place(old.line) == note.place(new.line)
        if (equal and together) or old in gone or new in gone:
            continue
        apart = not together and not (equal and {old.section.casefold(), new.section.casefold()} & general)
        if apart and min(len(old.text.split()), len(new.text.split())) < STANDING:
            continue
        if not equal and len(set(parsed[first].content)) < TELLING:
            continue
        reworded = statements.compare(parsed[first], parsed[second]) in ("same", "near")
        if reworded or fold(old.text) == fold(new.text):
            worse, better = sorted((old, new), key=lambda entry: _rank(entry, world), reverse=True)
            gone.add(worse)
            how = "" if equal else " in other words" if reworded else " in another spelling"
            sentence = f"line {better.line} says the same{how}: keep one"
            op = "" if _why_kept(worse, world) else "remove"
            key, conflicts = f"{worse.raw.strip()}\0{better.text}", (world.related(better),)
            yield note.about(
                "duplicate" if equal else "near-duplicate", worse, sentence, key, op=op, conflicts=conflicts
            )


def repeated_headings(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find headings that occur twice below the same headings: new lines go only to the first."""
    first: dict[tuple[object, ...], int] = {}
    for section in note.document.sections:
        title = section.title.casefold()
        if not section.level or not title:
            continue
        if note.role == "daily" and title != world.layout.log_heading.casefold():
            continue
        if note.role == "session" and title not in SESSION_HEADINGS:
            continue
        key = (section.level, *(name.casefold() for name in section.path))
        line = first.setdefault(key, section.start_line)
        if line != section.start_line:
            sentence = f"the heading is already in line {line}: move its lines there and remove this one"
            yield note.at("repeated-heading", section.start_line, section.title, sentence, " › ".join(section.path))


def repeated_ids(note: TidyNote, _world: World) -> Iterator[Finding]:
    """Find block ids that two different bullets have: a link leads only to the first."""
    first: dict[str, Entry] = {}
    for entry in note.entries:
        if entry.block_id:
            other = first.setdefault(entry.block_id.casefold(), entry)
            if other is not entry and (other.text, other.time) != (entry.text, entry.time):
                sentence = f"^{entry.block_id} is the id of line {other.line} too: give this line another one"
                yield note.about("repeated-id", entry, sentence, entry.raw.strip())


def _duplicate(note: TidyNote, entry: Entry, stays: Entry, world: World) -> Finding:
    """Return the finding that an entry repeats the one that stays."""
    reason = _why_kept(entry, world)
    sentence = f"line {stays.line} says the same: remove this one"
    if reason:
        sentence = f"line {stays.line} says the same, but {reason}: keep one by hand"
    conflicts = (world.related(stays),)
    return note.about("duplicate", entry, sentence, entry.raw.strip(), fixable=not reason, conflicts=conflicts)


def _rank(entry: Entry, world: World) -> tuple[object, ...]:
    """Return the rank of a line among duplicates; the lowest stays.

    First comes a line that is linked to, then one with lines below it, one with a block id, one with a provenance.
    """
    return (
        not _linked(entry, world),
        entry.end_line == _own_end(entry),
        entry.block_id is None,
        entry.provenance is None,
        entry.line,
    )


def _why_kept(entry: Entry, world: World) -> str:
    """Return why a line can't be removed without loss; empty if it can."""
    if _linked(entry, world):
        return "this one is linked to as well"
    return "this one has lines under it" if entry.end_line > _own_end(entry) else ""


def _linked(entry: Entry, world: World) -> bool:
    """Whether a note links to a line."""
    return entry.block_id is not None and entry.block_id.casefold() in world.linked


def _own_end(entry: Entry) -> int:
    """Return the last line of a bullet, without the bullets nested in it."""
    return entry.line + entry.raw.count("\n")


def _pairs(contents: list[tuple[str, ...]]) -> list[tuple[int, int]]:
    """Return the pairs of lines to compare, by number: those that share half of the shorter one's words.

    Only words that at most :data:`COMMON` lines have count as shared.
    """
    lines_with: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(contents):
        for word in set(words):
            lines_with[word].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in lines_with.values():
        if len(numbers) <= COMMON:
            shared.update(combinations(numbers, 2))
    sizes = [len(set(words)) for words in contents]
    return sorted(pair for pair, count in shared.items() if 2 * count >= min(sizes[pair[0]], sizes[pair[1]]))


MOST_ALIKE = 3
"""Maximum number of lines with the same words and other numbers; more of them are a list of records."""

OPPOSED = 0.8
"""Two lines, one with a negation, contradict each other if they share this much of their content. Lines about the same
thing often differ by a negation: among 26,000 lines of talk and prose any overlap finds 8,100 such pairs, this finds
36."""

Group = list[tuple["Entry", Related]]
"""Entries of which perhaps only one is true, each with the line that is shown for it."""


def opposites(note: TidyNote, world: World) -> Iterator[Finding]:
    """Find groups of lines that contradict each other, each group once."""
    seen: set[frozenset[tuple[str, int]]] = set()
    for group in (*_rival_values(note, world), *_other_numbers(note, world), *_negations(note, world)):
        places = frozenset((line.path, line.line) for _, line in group)
        if places in seen or len({line.text for _, line in group}) < 2:
            continue
        seen.add(places)
        lines = sorted((line for _, line in group), key=lambda line: (line.path != note.path, line.line))
        entry = next(entry for entry, line in reversed(group) if line.path == note.path)
        choices = " or ".join(f"“{line.text}” ({line.date or 'undated'}, {line.path}:{line.line})" for line in lines)
        words = question(lines)
        asked = f"which of these? {choices}"
        yield note.about("contradiction", entry, asked, words, op="choose", words=words, conflicts=tuple(lines))


def _rival_values(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield facts with the same subject and predicate, which has only one value at a time, that all hold today."""
    path = world.layout.facts
    if note.role != "memory" and note.path != path:
        return
    entries = {fact: entry for entry, fact in world.stated}
    headings = [fact.subject for fact in entries]
    for entry in _short(note) if note.role == "memory" else ():
        if claim := stated(entry.text, world.today):
            subject = truth.heading_for(claim.subject, headings, world.facts.me)
            parts = (subject, claim.predicate, claim.object, None, None)
            entries[truth.Fact(entry.ref, *parts, "", entry.path, entry.line)] = entry
    for group in truth.rivals(entries, world.predicates, world.today):
        if note.path in {fact.path for fact in group}:
            yield [
                (entries[fact], Related.stating(fact) if fact.path == path else world.related(entries[fact]))
                for fact in group
            ]


def _other_numbers(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield lines with the same words but another date, time or number, at most :data:`MOST_ALIKE`; more are a list."""
    same: dict[tuple[tuple[str, ...], int, object], list[Entry]] = defaultdict(list)
    for entry in _short(note):
        statement = statements.read(entry.text)
        words = tuple(word for word in statement.content if word not in statement.numbers)
        if words and statement.numbers:
            same[words, statement.denied % 2, note.place(entry.line)].append(entry)
    for (words, *_), group in same.items():
        values = {statements.read(entry.text).numbers for entry in group}
        dated = not all(number.isdigit() for numbers in values for number in numbers)
        # "item 1" and "item 2" are names; "dentist at 9:30" and "dentist at 8:15" are not.
        if len(values) > 1 and len(group) <= (MOST_ALIKE if dated else 2) and (dated or len(words) > 1):
            yield [(entry, world.related(entry)) for entry in group]


def _negations(note: TidyNote, world: World) -> Iterator[Group]:
    """Yield pairs of lines that share their words, one of them with a negation."""
    entries = _short(note)
    parsed = [statements.read(entry.text) for entry in entries]
    for first, second in _pairs([statement.content for statement in parsed]):
        old, new = parsed[first], parsed[second]
        if old.denied % 2 != new.denied % 2 and statements.overlap(old, new) >= OPPOSED:
            yield [(entry, world.related(entry)) for entry in (entries[first], entries[second])]


def _short(note: TidyNote) -> Sequence[Entry]:
    """Return the top-level entries of a note of the memory or of rules that are short enough to be one statement."""
    if note.role not in ("memory", "rules"):
        return ()
    return [entry for entry in note.entries if not entry.depth and len(entry.text) <= LONG]


Finder = Callable[[TidyNote, World], "Iterable[Finding]"]

FIXABLE: tuple[Finder, ...] = (duplicates, empty_bullets)
"""Finders of what ``--apply`` may fix: their findings that say they are ``fixable``."""

OTHERS: tuple[Finder, ...] = (
    near_duplicates,
    opposites,
    repeated_headings,
    repeated_ids,
    placeholders,
    oversized,
    malformed,
    without_mark,
    dead_links,
    expired,
)
"""Finders whose findings take a person's decision."""

MOST = 50
"""Maximum number of lines that one run removes, so that a mistake of ours stays small."""

CHANGED = "its note changed in the meantime, or the line can't go without changing the lines around it"
LATER = f"a run removes {MOST} lines at most: run it again"
"""Reasons to leave a line that could be fixed."""


class Applied(NamedTuple):
    """The result of ``--apply`` for one finding.

    Attributes:
        finding: as it was.
        outcome: ``removed``, ``proposed`` (it waits for review), or ``left``.
        reason: why it was left, or as which proposal it waits.
    """

    finding: Finding
    outcome: str
    reason: str = ""

    def as_dict(self) -> dict[str, str]:
        """The documented JSON object."""
        fields = {name: getattr(self.finding, name) for name in ("id", "kind", "path", "text")}
        return {**fields, "outcome": self.outcome, "reason": self.reason}


class Tidied(NamedTuple):
    """The result of ``tidy``.

    Attributes:
        txn: the transaction, for ``undo``; None if nothing was written.
        findings: those that are left, by note and line.
        applied: results of ``--apply``.
        ignored: ids of the findings that are ignored from now on.
        waiting: number of tidy's proposals that wait for review.
        notices: sentences for the person.
    """

    txn: str | None
    findings: list[Finding]
    applied: list[Applied]
    ignored: list[str]
    waiting: int
    notices: list[str]


def find_all(ctx: Caller) -> list[Finding]:
    """Return the findings, by note and line, without those that are ignored or wait for review. Nothing is written."""
    world, paths = survey(ctx)
    found = [finding for note in ctx.notes(paths) for finding in found_in(note_of(ctx, note), world)]
    quiet = quiet_ids(ctx)
    return [finding for finding in found if quiet.isdisjoint(_ids(finding))]


def _ids(finding: Finding) -> list[str]:
    """Return the ids under which a finding may have been answered: its own, and that of its proposal in the inbox."""
    return [finding.id, *([_proposal(finding, finding.entry, "").id] if finding.entry else [])]


def tidy(ctx: Caller, *, apply: bool = False, ignore: bool = False, ids: Collection[str] = ()) -> Tidied:
    """Find problems; with ``apply`` fix them or propose a change, with ``ignore`` ignore them from now on.

    Args:
        ctx: the command's view of the vault.
        apply: fix what loses nothing, and offer other changes for review.
        ignore: do not return these findings again as long as their words stay the same.
        ids: only these findings; empty for all.

    Raises:
        NotFoundError: there is no finding with one of these ids.
        UnwritableError: the vault can't be written.
    """
    found = find_all(ctx)
    chosen = _chosen(found, ids)
    if not (apply or ignore) or not (chosen or ctx.store.pending()):
        return Tidied(None, chosen, [], [], _waiting(ctx), ctx.notices)
    with ctx.writing("tidy", None) as session:
        if ignore:
            decided, project = [(finding.id, finding.text) for finding in chosen], ctx.layout.scope
            inbox.decide(session, decided, "ignored", ctx.now.date(), project=project)
            applied: list[Applied] = []
        else:
            applied = _apply(ctx, session, chosen)
        txn = session.txn
    ignored = [finding.id for finding in chosen] if ignore else []
    gone = {*ignored, *(result.finding.id for result in applied if result.outcome != "left")}
    left = [finding for finding in found if finding.id not in gone]
    return Tidied(txn, left, applied, ignored, _waiting(ctx), ctx.notices)


def _waiting(ctx: Caller) -> int:
    """Return the number of tidy's proposals that wait for review."""
    return sum(proposal["source"] == TIDY for proposal in inbox.pending(ctx.vault))


def survey(ctx: Caller) -> tuple[World, list[str]]:
    """Return what finders need to know about the vault, and the paths of the notes to search."""
    layout = ctx.layout
    files = files_of(ctx.vault)
    links = Links(files)
    linked: set[str] = set()
    named: Counter[str] = Counter()
    for source, outgoing in links_by_source(ctx.vault, files).items():
        linked |= {link.anchor[1:].casefold() for link in outgoing if link.anchor.startswith("^")}
        bare = {link.target.casefold() for link in outgoing if link.kind == "wiki" and "/" not in link.target}
        named.update(name for name in bare if name and links.resolve(name, source) is None)

    def read(path: str) -> bytes | None:
        try:
            return ctx.vault.read(path)
        except errors.TarsError:
            return None

    template = read(layout.daily_template_path) if layout.daily_template_path else None
    world = World(
        today=ctx.now.date(),
        layout=layout,
        links=links,
        linked=linked,
        named=named,
        form=_form(template),
        section_entries=ctx.settings.tidy.section_entries,
        read=read,
        dated=ctx.dated,
        facts=ctx.settings.facts,
    )
    return world, sorted(path for path in ctx.vault.paths() if layout.is_ours(path) and role_of(layout, path))


def note_of(ctx: Caller, note: Note) -> TidyNote:
    """Return a note as finders take it."""
    role = role_of(ctx.layout, note.path)
    assert role is not None
    return TidyNote(note, role)


def quiet_ids(ctx: Caller) -> set[str]:
    """Return the ids not to show again: of ignored findings, and of proposals that wait or were rejected."""
    declined = (name for name, decision in inbox.decided(ctx.vault).items() if decision != "accepted")
    return {*declined, *(str(proposal["id"]) for proposal in inbox.pending(ctx.vault))}


def _chosen(found: list[Finding], ids: Collection[str]) -> list[Finding]:
    """Return the findings with these ids; all of them if none are given.

    Raises:
        NotFoundError: there is no finding with one of these ids.
    """
    if not ids:
        return found
    known = {finding.id for finding in found}
    missing = [name for name in ids if name.lower() not in known]
    if missing:
        raise errors.NotFoundError(
            f"there is no finding {', '.join(missing)}: its line changed, or it has been dealt with",
            "tars-memory tidy lists them",
        )
    wanted = {name.lower() for name in ids}
    return [finding for finding in found if finding.id in wanted]


def _apply(ctx: Caller, session: WriteSession, chosen: list[Finding]) -> list[Applied]:
    """Fix what may be fixed, note by note; propose the other changes, and leave what has none."""
    results: list[Applied] = []
    world, _ = survey(ctx)  # again, under the lock
    room = MOST
    for path in dict.fromkeys(finding.path for finding in chosen):
        of_note = [finding for finding in chosen if finding.path == path]
        may_write = ctx.layout.tier_of(path) is not Tier.PROCEDURAL or ctx.may_write_rules
        to_fix = [finding for finding in of_note if finding.fixable and may_write]
        now, later = to_fix[:room], to_fix[room:]
        removed = _fix(ctx, session, path, now, world) if now else []
        room -= len(removed)
        results += [
            Applied(finding, "removed") if finding.id in removed else Applied(finding, "left", CHANGED)
            for finding in now
        ]
        results += [Applied(finding, "left", LATER) for finding in later]
        results += [_propose(ctx, session, finding) for finding in of_note if finding not in to_fix]
    if any(result.reason == LATER for result in results):
        ctx.notices.append(f"{MOST} lines were removed, the most of one run: run it again for the rest")
    return results


def _fix(ctx: Caller, session: WriteSession, path: str, to_fix: Sequence[Finding], world: World) -> list[str]:
    """Remove the lines of findings from a note, and return the ids of those that were removed.

    A line that can't be removed without changing the lines around it stays.
    """
    wanted = {finding.id for finding in to_fix}
    removed: list[str] = []

    def plan(data: bytes | None) -> Sequence[Splice]:
        """Plan the removal of those that the note has; called again if the note changes in the meantime."""
        nonlocal removed
        note = Note.of(ctx.layout, path, data)
        changes, removed = edits.Changes(note.data), []
        for finding in reversed(fixable(note_of(ctx, note), world)):  # what is above keeps its place
            last = finding.entry.end_line if finding.entry else finding.line
            if finding.id in wanted and (made := edits.remove_lines(Document(changes.data), finding.line, last)):
                changes.make(made)
                removed.append(finding.id)
        return changes.splices()

    try:
        session.write(path, plan)
    except errors.ConflictError:
        return []
    return removed


def _propose(ctx: Caller, session: WriteSession, finding: Finding) -> Applied:
    """Put the change of a finding into the inbox, if it has one."""
    is_rule = finding.fixable  # a rule, which is fixed only if a person asks for it
    if finding.entry is None or not (finding.op or is_rule):
        why = "it needs a person at a terminal" if is_rule else "only you can fix it"
        return Applied(finding, "left", why)
    proposal = _proposal(finding, finding.entry, ctx.now.date().isoformat())
    if proposal.replaces:
        _, occurrence = change.reference_to(ctx.vault.note(finding.path), finding.entry)
        proposal = proposal._replace(occurrence=occurrence)
    return Applied(finding, "proposed", f"it waits for review as {inbox.keep(session, proposal.stored())}")


def _proposal(finding: Finding, entry: Entry, today: str) -> Proposal:
    """Return the proposal that a finding about an entry becomes."""
    lines = finding.conflicts
    if finding.op == "choose":
        day = max(line.date for line in lines) or today
        return question_about(entry.path, entry.section, lines, day, "", finding.words)._replace(source=TIDY)
    why = f"{finding.kind}: {finding.suggestion}"
    return change_of_line(finding.op or "remove", entry, finding.words, today, why)._replace(conflicts=lines)


def _form(template: bytes | None) -> frozenset[str]:
    """Return the headings under which the daily template has an empty bullet, in lower case."""
    if template is None:
        return frozenset()
    document = Document(template)
    empty = [bullet.line for bullet in document.bullets if not bullet.worded or bullet.start == bullet.end]
    boxes = [bullet.line for bullet in document.bullets if document.data[bullet.start : bullet.end].strip() == b"[ ]"]
    return frozenset(document.section_at(line).title.casefold() for line in (*empty, *boxes))


def found_in(note: TidyNote, world: World) -> list[Finding]:
    """Return all findings in a note, in the order of its lines."""
    return numbered(finding for find in (*FIXABLE, *OTHERS) for finding in find(note, world))


def fixable(note: TidyNote, world: World) -> list[Finding]:
    """Return the findings that ``--apply`` may fix, with the same ids as :func:`found_in` gives them."""
    every = numbered(finding for find in FIXABLE for finding in find(note, world))
    return [finding for finding in every if finding.fixable]
