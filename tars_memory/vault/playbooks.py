"""Playbooks: procedures, a note each in a folder of their own. What such a note says, how a new one is made, and when
each was used last.

A note begins with its title, says below it when to use it, and then the steps. ``created`` and ``pinned`` are
properties of its front matter; any note in that folder is a playbook, whoever made it, and a property that it lacks is
no error. The last use stands in the vault's state folder: a prompt must not change a note.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk
from tars_memory.errors import SettingsError, TarsError, cut
from tars_memory.vault.markdown.document import Document, front_day, front_strings, plain_heading
from tars_memory.vault.suspicion import visible
from tars_memory.vault.vault import Vault, is_conflict_copy, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from tars_memory.vault.note import Note

PINNED, LAST_USED = "pinned", "last used"
"""Properties of a playbook that are ours to read; the day on which it was made is told by any that Obsidian knows."""

USES = "playbook-uses.jsonl"
"""In the vault's state folder: path and day of each use, a line each; the latest day of a path counts."""

LONGEST_USES = 200_000
"""Bytes from which on only the latest use of each is kept: some thousand lines."""

WHEN = "When to use: "
"""How the paragraph below the title of a playbook begins that we make."""

LONGEST_WHEN = 200
"""Characters of a line that says when to use one."""


class Playbook(NamedTuple):
    """What a playbook says of itself.

    Attributes:
        path: of its note.
        title: its first heading; without one the note's name.
        when: when to use it: its ``description``, else the first paragraph; empty if it says nothing.
        created: the day that its properties say; where they say none at all, that on which its file was changed last.
        used: the day on which it was used last, as far as that is known.
        pinned: it stays in prompts, used or not.
        approved: whether a person typed or approved every line of it here, as far as somebody has looked.
    """

    path: str
    title: str
    when: str
    created: date | None
    used: date | None = None
    pinned: bool = False
    approved: bool = False

    def fades(self, days: int) -> date | None:
        """The first day on which it is in prompts no longer; None if it stays.

        Args:
            days: without a use; 0 for ever.
        """
        last = max(filter(None, (self.created, self.used)), default=None)
        if self.pinned or not days or last is None:
            return None
        return date.fromordinal(min(date.max.toordinal(), last.toordinal() + days + 1))

    def is_shown(self, today: date, days: int) -> bool:
        """Whether it is in prompts on a day."""
        end = self.fades(days)
        return end is None or today < end

    @property
    def named(self) -> str:
        """It in one line: its title, and when to use it."""
        return f"{self.title}: {self.when}" if self.when else self.title


def read(note: Note, changed: date | None = None) -> Playbook:
    """What a note says as a playbook.

    Args:
        note: whose it is.
        changed: the day on which its file was changed last.
    """
    said, document = note.properties, note.document
    title = next((section.title for section in document.sections if section.level and section.title), "")
    when = " ".join(next(iter(front_strings(said.get("description"))), "").split()) or _first_paragraph(document)
    when = when.removeprefix(WHEN)
    blank = str.maketrans("_-", "  ")
    last = next((value for key, value in said.items() if key.translate(blank).casefold() == LAST_USED), None)
    used = front_day({"date": last})
    return Playbook(
        note.path,
        " ".join(visible(title).split()) or note.path.rpartition("/")[2][:-3],
        cut(when, LONGEST_WHEN),
        front_day(said) or (None if used else changed),
        used,
        str(said.get(PINNED, "")).strip().lower() in ("true", "yes"),
    )


def _first_paragraph(document: Document) -> str:
    """The words below the title, or below a heading that follows it, if a paragraph stands there before all else."""
    for number, block in enumerate(document.blocks[:3]):
        if block.kind == "paragraph":
            return visible(" ".join(document.text(block.start_line, block.end_line).split()))
        if block.kind != "heading" or number == 2:
            break
    return ""


def shelf(vault: Vault, used: Mapping[str, date], scopes: Iterable[str]) -> list[Playbook]:
    """The playbooks of some scopes, in the order of their paths; notes that can't be read are none.

    Args:
        vault: to read.
        used: by path the day of the last use (:func:`uses`).
        scopes: projects; '' for the notes outside projects.
    """
    found = []
    for path in paths(vault, scopes):
        with contextlib.suppress(TarsError, OSError):
            state = vault.look(path)
            if state is not None:
                book = read(vault.note(path), datetime.fromtimestamp(state.st_mtime).astimezone().date())
                last = max(filter(None, (book.used, used.get(path))), default=None)
                found.append(book._replace(used=last))
    return found


def paths(vault: Vault, scopes: Iterable[str]) -> list[str]:
    """The paths of the playbooks of some scopes, in order; no link is followed."""
    found: list[str] = []
    for scope in scopes:
        top = vault.layout.playbooks_of(scope)
        if not any(os.path.islink(vault.root / each) for each in _above(top)):
            found += (path for path in _below(vault.root, top) if vault.layout.is_playbook(path))
    return sorted(found)


def called(books: Iterable[Playbook], name: str) -> list[Playbook]:
    """Those of the playbooks that are called so: by path, else by the name of the file, else by the title, else those
    whose title or name holds these words; any case.
    """
    books, wanted = list(books), key_of(name.strip())
    for names in (
        lambda book: (book.path, book.path[:-3]),
        lambda book: (book.path.rpartition("/")[2][:-3], book.path.partition("/")[2][:-3]),
        lambda book: (book.title,),
    ):
        if found := [book for book in books if wanted in map(key_of, names(book))]:
            return found
    return [book for book in books if wanted and any(wanted in key_of(name) for name in (book.title, book.path))]


def _above(folder: str) -> Iterator[str]:
    """A folder and all those above it."""
    steps = folder.split("/")
    return ("/".join(steps[:count]) for count in range(1, len(steps) + 1))


def _below(root: Path, folder: str) -> Iterator[str]:
    try:
        with os.scandir(root / folder) as listed:
            each = [entry for entry in listed if not entry.is_symlink()]
    except OSError:
        return
    for entry in each:
        if entry.is_dir():
            yield from _below(root, f"{folder}/{entry.name}")
        elif entry.is_file() and not is_conflict_copy(entry.name):
            yield f"{folder}/{entry.name}"


# --- what a new one says


def composed(title: str, when: str, steps: str) -> str:
    """The text of a playbook without its properties; several plain lines are numbered.

    Args:
        title: a heading's words.
        when: to use it; empty for nothing.
        steps: markdown, or a step a line.
    """
    used = " ".join(visible(when).split())
    parts = [f"# {title}", used and WHEN + used, _numbered(_lines(steps))]
    return "\n\n".join(part for part in parts if part) + "\n"


def retitled(text: str, title: str) -> str:
    """The text of a playbook under another title."""
    first, _, rest = text.partition("\n")
    return f"# {title}\n{rest}" if first.startswith("# ") else f"# {title}\n\n{text}"


def _lines(text: str) -> str:
    """A text as lines of a note: with our own ends of line, without what can't be seen."""
    lines = (visible(line).rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "\n".join(lines).strip("\n")


def _numbered(steps: str) -> str:
    """Plain lines as a numbered list; a text with any structure of its own, and a single line, as it is."""
    lines = [line.strip() for line in steps.split("\n") if line.strip()]
    blocks = Document(steps.encode("utf-8", "surrogateescape")).blocks
    if len(lines) < 2 or any(block.kind != "paragraph" for block in blocks):
        return steps
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def title_of(text: str) -> str:
    """The title that a playbook's text begins with; empty if it begins with none."""
    first = text.lstrip("\n").partition("\n")[0]
    return plain_heading(first[2:]) if first.startswith("# ") else ""


def lines_of(text: str) -> list[str]:
    """The lines of a playbook's text that have words, without its title."""
    rest = text.lstrip("\n").partition("\n")[2] if title_of(text) else text
    return [line.rstrip() for line in rest.split("\n") if line.strip()]


# --- when they were used


def uses(state: Path) -> dict[str, date]:
    """By path the day on which a playbook was used last on this machine; nothing if that can't be read."""
    found: dict[str, date] = {}
    with contextlib.suppress(SettingsError):
        for line in (disk.read(state / USES, most=disk.LARGEST_OWN) or b"").split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                said = json.loads(line)
                path, day = str(said["path"]), date.fromisoformat(said["day"])
                found[path] = max(day, found.get(path, day))
    return found


def use(state: Path, used: Iterable[str], day: date) -> None:
    """Note that playbooks were used on a day, each once a day. A state folder that can't be written is ignored."""
    known = uses(state)
    new = [path for path in dict.fromkeys(used) if known.get(path, day - timedelta(1)) < day]
    if not new:
        return
    file = state / USES
    with contextlib.suppress(OSError):
        os.makedirs(state, mode=0o700, exist_ok=True)
        if os.path.exists(file) and os.path.getsize(file) > LONGEST_USES:
            disk.replace(file, _said(known.items()))
        fd = disk.append_to(file)
        try:
            os.write(fd, _said((path, day) for path in new))  # one write: lines of two processes don't mix
        finally:
            os.close(fd)


def _said(days: Iterable[tuple[str, date]]) -> bytes:
    lines = (json.dumps({"path": path, "day": day.isoformat()}) + "\n" for path, day in days)
    return "".join(lines).encode("ascii", "backslashreplace")
