"""What is not a line yet, or not one that reads as it was meant: empty bullets, placeholders, malformed daily lines.

And sections that have grown too long to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tars_memory.curation.tidying.findings.model import Finding, shown
from tars_memory.errors import counted
from tars_memory.vault.markdown.entries import STATES, task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.curation.tidying.findings.model import TidyNote, World

EMPTY = r"[ \t]*[-*+](?:[ \t]+\[[^\[\]]?\])?[ \t]*"
"""A bullet without words, with or without a box."""

PLACEHOLDERS = (
    r"(?:todo|to ?do|tbd|tba|tbc|fixme|xxx+)[.:!?… ]*",
    r"[.…?_–—-]{1,20}",
    r"(?:lorem ipsum|placeholder|your text here|add (?:text|your \w+) here|write here|fill (?:this )?in)\b.{0,60}",
    r"to be (?:done|decided|defined|written|filled in|added)[.… ]*",
    r"\{\{[^{}]{0,80}\}\}|<%[^%]{0,200}%>",  # a template's own, never filled
    r"[^:]{1,40}::",  # an inline field without a value
)
"""What stands for words that were never written. ``none`` and ``nothing`` are answers, and not among them."""

SIMILAR = 0.85
"""How like a state a word in brackets must be to be taken for one: ``extraced``, not ``expected``."""

CLOCKS = (
    (r"(?:2[4-9]|[3-9]\d):[0-5]\d(?!\S)|\d{1,2}:[6-9]\d(?!\S)", "is no time of day"),
    (r"\d{1,2}:\d\d:\d\d(?!\S)", "has seconds, and is read as text"),
    (r"\d{1,2}(?::\d\d)?[ ]?[ap]\.?m\b\.?", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3])[h.][0-5]\d[ ]?(?:h|Uhr)(?!\S)", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3])h[0-5]\d(?!\S)", "is read as text: write 14:30"),
    (r"(?:[01]?\d|2[0-3]):[0-5]\d[:,;](?=\s)", "is read as text: leave the sign after the time out"),
)  # fmt: skip
"""Shapes of a time at the start of a daily line that the grammar does not take for one, and why."""


def empty_bullets(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Bullets without a word. Those of the template are a form to fill, and today's may be filled yet."""
    if note.role == "session" or not _over(note, world):
        return
    for bullet in note.document.bullets:
        words = note.document.text(bullet.line)
        if bullet.end_line != bullet.line or not re.fullmatch(EMPTY, words):
            continue
        title = note.document.section_at(bullet.line).title
        if note.role == "daily" and title.casefold() in world.form:
            continue
        where = f"under {title!r}" if title else "at the start of the note"
        sentence = f"an empty bullet {where}: remove it"
        yield Finding("", "empty", note.path, bullet.line, words.strip(), sentence, fixable=True), title


def placeholders(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Bullets that only say that something is to be written."""
    if note.role == "session" or not _over(note, world):
        return
    for entry in note.entries:
        words = entry.text[len(task(entry.text)) :].strip()
        plain = re.sub(r"[*~=`]+", "", words)
        if entry.end_line > entry.line or not plain:
            continue
        if any(re.fullmatch(shape, plain, re.IGNORECASE) for shape in PLACEHOLDERS):
            sentence = "it only says that something is to be written: write it, or remove it"
            op = "" if note.role in ("daily", "facts") else "remove"
            yield Finding("", "placeholder", note.path, entry.line, entry.text, sentence, entry=entry, op=op), entry.raw


def oversized(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Sections with more bullets than anybody reads; named anew whenever they have grown by half again."""
    if note.role not in ("memory", "rules", "facts"):
        return
    starts = (note.document.section_at(entry.line).start_line for entry in note.entries if not entry.depth)
    counts = Counter(starts)
    for section in note.document.sections:
        count = counts[section.start_line]
        if count > world.section_entries:
            title = section.title or note.path
            limit = f"[tidy] section_entries is {world.section_entries}"
            sentence = f"{counted(count, 'line')} under one heading: part them into several ({limit})"
            size = 2 * count // world.section_entries
            yield (
                Finding("", "oversized", note.path, section.start_line, title, sentence),
                f"{' › '.join(section.path)}\0{size}",
            )


def malformed(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Lines of a daily log whose time or state was meant, and is not read as one."""
    if note.role != "daily":
        return
    heading = world.layout.log_heading.casefold()
    for entry in note.entries:
        if entry.depth or task(entry.text):
            continue
        why = _state_problem(entry.text)
        if not why and entry.section.casefold() == heading:
            why = _time_problem(entry.text, timed=entry.time is not None)
        if why:
            yield Finding("", "malformed", note.path, entry.line, entry.text, why, entry=entry), entry.raw
    for bullet in note.document.bullets:
        words = note.document.text(bullet.line)
        if bullet.end_line == bullet.line and re.fullmatch(r"[-*+][ \t]+(?:[01]?\d|2[0-3]):[0-5]\d[ \t]*", words):
            sentence = "a time without words: write what was then, or remove it"
            yield Finding("", "malformed", note.path, bullet.line, words.strip(), sentence), words.strip()


def without_mark(note: TidyNote, world: World) -> Iterator[tuple[Finding, str]]:
    """Lines of a daily log that begin with a time, and are no bullets, or a part of the one above."""
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
            found = re.match(r"([-*+]?)(?:[01]?\d|2[0-3]):[0-5]\d[ \t]+\S", words)
            if found:
                missing = f"a blank: put one behind its “{found[1]}”" if found[1] else "a mark: put “- ” before it"
                sentence = f"it is no line of the log without {missing}"
                yield Finding("", "malformed", note.path, line, words, sentence), words


def _over(note: TidyNote, world: World) -> bool:
    """Whether a note is not a day that is still going on, or to come."""
    return note.day is None or note.day < world.today


def _state_problem(text: str) -> str:
    """Why a tag in square brackets is no state; empty if it is none, or meant as none."""
    glued = re.match(r"\[(" + "|".join(STATES) + r")\](?=\w)", text)
    if glued:
        return f"{glued[0]} is read as text: put a blank behind it"
    found = re.match(r"\[([A-Za-z]+)\](?=[ \t]|$)", text)
    if found:
        word = found[1]
        if word in STATES:
            return f"it has two states: leave one of them, [{word}] is read as text"
        meant = get_close_matches(word.casefold(), STATES, n=1, cutoff=SIMILAR)
        if meant:
            return f"[{word}] is read as text: write [{meant[0]}]"
    found = re.search(r"(?<=\s)(?<!\\)\[(" + "|".join(STATES) + r")\]$", text)
    return f"{found[0]} counts only before the words: put it behind the time" if found else ""


def _time_problem(text: str, *, timed: bool) -> str:
    """Why the start of a line is no time; empty if there is none to it."""
    if timed:
        half = re.match(r"[ap]\.?m\b", text, re.IGNORECASE)
        return f"{half[0]!r} is read as text, and the time as one before noon: write 14:30" if half else ""
    for shape, why in CLOCKS:
        found = re.match(shape, text)
        if found:
            return f"{shown(found[0])!r} {why}"
    return ""
