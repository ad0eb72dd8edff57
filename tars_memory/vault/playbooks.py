"""Playbooks: procedures, one note each in a folder of their own. Reading and composing such notes, and their last use.

A playbook begins with its title; below are when to use it, and then the steps. ``created`` and ``pinned`` are
properties of its front matter. Any note in the folder is a playbook, whoever made it, and missing properties are no
error. The last use is recorded in the vault's state folder, because a prompt must not change a note.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import date, datetime, timedelta
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import disk, errors
from tars_memory.vault.markdown.document import Document, front_day, front_strings, plain_heading
from tars_memory.vault.suspicion import visible
from tars_memory.vault.vault import Vault, is_conflict_copy, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tars_memory.vault.note import Note

PINNED, LAST_USED = "pinned", "last used"
"""Our own properties of a playbook. The day of creation is read from any property that Obsidian's programs use."""

USES = "playbook-uses.jsonl"
"""File in the vault's state folder with path and day of each use, one per line; the latest day of a path counts."""

MAX_USES_SIZE = 200_000
"""Size in bytes, some thousand lines, above which the file is reduced to the latest use of each playbook."""

WHEN = "When to use: "
"""Beginning of the paragraph below the title of a playbook that we make."""

MAX_WHEN = 200
"""Maximum length of :attr:`Playbook.when`, in characters."""


class Playbook(NamedTuple):
    """What a playbook's note says about the playbook.

    Attributes:
        path: path of the note.
        title: the first heading; without one the note's name.
        when: when to use the playbook: its ``description``, else the first paragraph; empty if there is neither.
        created: the day of creation by the properties; if they have no day at all, the day of the file's last change.
        used: the day of the last use; None if unknown.
        pinned: whether the playbook stays in prompts even if unused.
        approved: whether a person typed or approved every line of it on this machine; False if nobody has checked.
    """

    path: str
    title: str
    when: str
    created: date | None
    used: date | None = None
    pinned: bool = False
    approved: bool = False

    def expires_on(self, days: int) -> date | None:
        """Return the first day on which the playbook is no longer in prompts; None if it stays.

        Args:
            days: number of days without a use after which it leaves; 0 for never.
        """
        last = max(filter(None, (self.created, self.used)), default=None)
        if self.pinned or not days or last is None:
            return None
        return date.fromordinal(min(date.max.toordinal(), last.toordinal() + days + 1))

    def is_shown(self, today: date, days: int) -> bool:
        """Whether the playbook is in prompts on a day."""
        end = self.expires_on(days)
        return end is None or today < end

    @property
    def named(self) -> str:
        """Title, and when to use the playbook, in one line."""
        return f"{self.title}: {self.when}" if self.when else self.title


def read(note: Note, changed: date | None = None) -> Playbook:
    """Read a note as a playbook.

    Args:
        note: the note.
        changed: the day of the file's last change.
    """
    properties, document = note.properties, note.document
    title = next((section.title for section in document.sections if section.level and section.title), "")
    when = " ".join(next(iter(front_strings(properties.get("description"))), "").split()) or _first_paragraph(document)
    when = when.removeprefix(WHEN)
    blank = str.maketrans("_-", "  ")
    last = next((value for key, value in properties.items() if key.translate(blank).casefold() == LAST_USED), None)
    used = front_day({"date": last})
    return Playbook(
        note.path,
        " ".join(visible(title).split()) or note.path.rpartition("/")[2][:-3],
        errors.shortened(when, MAX_WHEN),
        front_day(properties) or (None if used else changed),
        used,
        str(properties.get(PINNED, "")).strip().lower() in ("true", "yes"),
    )


def _first_paragraph(document: Document) -> str:
    """Return the paragraph right below the title, or below a second heading right after it; empty if there is none."""
    for number, block in enumerate(document.blocks[:3]):
        if block.kind == "paragraph":
            return visible(" ".join(document.text(block.start_line, block.end_line).split()))
        if block.kind != "heading" or number == 2:
            break
    return ""


def read_all(vault: Vault, used: Mapping[str, date], scopes: Iterable[str]) -> list[Playbook]:
    """Return the playbooks of some scopes, in the order of their paths; unreadable notes are left out.

    Args:
        vault: the vault to read.
        used: day of the last use by path (:func:`last_uses`).
        scopes: projects; '' for the notes outside projects.
    """
    found = []
    for path in paths(vault, scopes):
        with contextlib.suppress(errors.TarsError, OSError):
            state = vault.look(path)
            if state is not None:
                book = read(vault.note(path), datetime.fromtimestamp(state.st_mtime).astimezone().date())
                last = max(filter(None, (book.used, used.get(path))), default=None)
                found.append(book._replace(used=last))
    return found


def paths(vault: Vault, scopes: Iterable[str]) -> list[str]:
    """Return the paths of the playbooks of some scopes, in order; symbolic links are not followed."""
    found: list[str] = []
    for scope in scopes:
        top = vault.layout.playbooks_of(scope)
        if any(os.path.islink(vault.root / folder) for folder in (top, *map(str, PurePath(top).parents))):
            continue
        for folder, _, names in os.walk(vault.root / top):
            inside = os.path.relpath(folder, vault.root).replace(os.sep, "/")
            files = (name for name in names if _is_plain(f"{folder}/{name}") and not is_conflict_copy(name))
            found += filter(vault.layout.is_playbook, (f"{inside}/{name}" for name in files))
    return sorted(found)


def find_by_name(books: Iterable[Playbook], name: str) -> list[Playbook]:
    """Return the playbooks with a name: a path, else a file's name, else a title, else part of a title or path.

    Case is ignored.
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


def _is_plain(path: str) -> bool:
    """Whether there is a regular file at a path, and no link."""
    return os.path.isfile(path) and not os.path.islink(path)


# --- composing a playbook


def compose(title: str, when: str, steps: str) -> str:
    """Return the text of a playbook, without properties; several plain lines are numbered.

    Args:
        title: words of the heading.
        when: when to use it; empty to leave it out.
        steps: markdown, or one step per line.
    """
    when = " ".join(visible(when).split())
    parts = [f"# {title}", when and WHEN + when, _numbered(_lines(steps))]
    return "\n\n".join(part for part in parts if part) + "\n"


def retitled(text: str, title: str) -> str:
    """Replace the title in the text of a playbook."""
    first, _, rest = text.partition("\n")
    return f"# {title}\n{rest}" if first.startswith("# ") else f"# {title}\n\n{text}"


def _lines(text: str) -> str:
    """Normalise a text to lines of a note: LF line endings, no invisible characters."""
    lines = (visible(line).rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    return "\n".join(lines).strip("\n")


def _numbered(steps: str) -> str:
    """Number plain lines; a text with any structure of its own, or a single line, stays as it is."""
    lines = [line.strip() for line in steps.split("\n") if line.strip()]
    blocks = Document(steps.encode("utf-8", "surrogateescape")).blocks
    if len(lines) < 2 or any(block.kind != "paragraph" for block in blocks):
        return steps
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


def title_of(text: str) -> str:
    """Return the title that a playbook's text begins with; empty if it has none."""
    first = text.lstrip("\n").partition("\n")[0]
    return plain_heading(first[2:]) if first.startswith("# ") else ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a playbook's text that are not blank, without the title."""
    rest = text.lstrip("\n").partition("\n")[2] if title_of(text) else text
    return [line.rstrip() for line in rest.split("\n") if line.strip()]


# --- the last use


def last_uses(state: Path) -> dict[str, date]:
    """Return the day of the last use of each playbook on this machine, by path; empty if the file can't be read."""
    found: dict[str, date] = {}
    with contextlib.suppress(errors.SettingsError):
        for line in (disk.read(state / USES, most=disk.LARGEST_OWN) or b"").split(b"\n"):
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                record = json.loads(line)
                path, day = str(record["path"]), date.fromisoformat(record["day"])
                found[path] = max(day, found.get(path, day))
    return found


def use(state: Path, used: Iterable[str], day: date) -> None:
    """Record the use of playbooks on a day, each once a day; a state folder that can't be written is ignored."""
    known = last_uses(state)
    new = [path for path in dict.fromkeys(used) if known.get(path, day - timedelta(1)) < day]
    if not new:
        return
    file = state / USES
    with contextlib.suppress(OSError):
        os.makedirs(state, mode=0o700, exist_ok=True)
        if os.path.exists(file) and os.path.getsize(file) > MAX_USES_SIZE:
            disk.replace(file, _use_lines(known.items()))
        fd = disk.append_to(file)
        try:
            os.write(
                fd, _use_lines((path, day) for path in new)
            )  # a single write, so that lines of two processes don't mix
        finally:
            os.close(fd)


def _use_lines(days: Iterable[tuple[str, date]]) -> bytes:
    """Return path and day of uses as lines of JSON."""
    lines = (json.dumps({"path": path, "day": day.isoformat()}) + "\n" for path, day in days)
    return "".join(lines).encode("ascii", "backslashreplace")
