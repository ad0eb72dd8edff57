"""What a new vault and a new note begin with, and the filling of templates as Obsidian fills them."""

from __future__ import annotations

import json
import os
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.disk import VAULT_FOLDER
from tars_memory.errors import PartialError, TarsError, UnwritableError, VaultError, counted
from tars_memory.settings import PROJECTS, with_setting
from tars_memory.vault.layout import DAILY_FORMAT, OURS, Layout, shipped
from tars_memory.vault.markdown import moment
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import CONVERTED, is_narrow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime
    from pathlib import Path

    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import Store


CONFIG = f"{OURS}config.toml"
"""A vault's own settings."""

FRESH = ("Memory.md", "Procedural.md", "templates/daily.md", ".obsidian/daily-notes.json")
"""What ``init`` puts into an empty folder."""

SHOWN = 3
"""So many users of an agent's folder are named."""

_IGNORED = frozenset({".tars", ".git", ".gitignore", ".gitattributes", ".DS_Store", ".stfolder", "desktop.ini"})
"""Names that leave a folder empty in a person's eyes."""


class InitReport(NamedTuple):
    """What ``init`` did.

    Attributes:
        root: the vault's real path.
        created: paths relative to the vault that were made; in a dry run, that would be.
        fresh: whether the folder was empty before.
        notices: what the person should know.
        layout: the program whose layout the vault has (``[layout] like``); empty for ours.
        daily: today's note where the vault has a folder or a name of its own for it; else empty.
    """

    root: Path
    created: list[str]
    fresh: bool
    notices: list[str]
    layout: str = ""
    daily: str = ""


def make_root(path: Path) -> Path:
    """The vault's folder, made if it is missing; returns its real path.

    Raises:
        VaultError: the path is taken by something that is not a folder.
        UnwritableError: it can't be made.
    """
    try:
        path.expanduser().mkdir(parents=True, exist_ok=True)
        return path.expanduser().resolve(strict=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise VaultError(f"{path} is not a folder", "name a folder, new or existing: tars-memory init PATH") from error
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UnwritableError(f"{path} can't be made: {why}", "name a folder that you may write") from error


def imagined(path: Path) -> InitReport:
    """What would be made at a path where nothing is, for a dry run.

    Raises:
        VaultError: something on the way to it is not a folder.
    """
    real = path.resolve()
    there = next(parent for parent in real.parents if os.path.lexists(parent))
    if not there.is_dir():
        raise VaultError(f"{there} is not a folder", "name a folder, new or existing: tars-memory init PATH")
    return InitReport(real, [*FRESH, f"{VAULT_FOLDER}/vault-id"], fresh=True, notices=[])


def fill_vault(vault: Vault, store: Store, today: date) -> InitReport:
    """Make what is missing; no byte of anything that exists is touched, and a second time nothing is done.

    An empty folder gets all of ``vault-template/`` that :data:`FRESH` names; one with notes or Obsidian settings of
    its own only the tier notes, at the places that its settings give them. One that another program made gets only the
    line in ``.tars/config.toml`` that says so, unless it says something else already; its notes come with what is
    written into them.

    Raises:
        UnwritableError: the vault can't be written.
    """
    fresh = is_fresh(vault.root)
    had_id = vault.id is not None
    created: list[str] = []
    like = "" if fresh or vault.layout.like else recognised(vault.root)
    if like:
        vault = vault.with_places_of(like)
    with store.session("init", vault) as session:
        if like and session.write(CONFIG, lambda data: _saying(data or b"", like)).created:
            created.append(CONFIG)
        for path in FRESH if fresh else _tiers(vault.layout):  # a fresh one's layout is what is written here
            text = shipped(path if fresh else vault.layout.inner(path))
            written = session.write(path, lambda _: (), create=text, restore=True)
            if written.created:
                created.append(path)
    if not had_id and (store.dry_run or vault.ensure_id() is not None):
        created.append(".tars/vault-id")
    notices = [str(vault.layout.problem)] if vault.layout.problem else []
    notices += [f"{path} counts, not {other}: they differ only by case" for path, other in vault.layout.twins()]
    if users := _users(vault.root) if vault.layout.like == "starpod" else []:
        some = f"{', '.join(users[:SHOWN])}{', …' if len(users) > SHOWN else ''}"
        notices.append(f"the users have a memory each, over the common one: {some}; --project {shlex.quote(users[0])}")
    above = vault.root.parent.parent
    if vault.layout.like == "starpod" and vault.root.name in _users(above) and _named(above, "soul.md"):
        notices.append(
            "SOUL.md of the agent is not a note of this vault; to have it in context: "
            f"tars-memory init {shlex.quote(str(above))}, then --project {shlex.quote(vault.root.name)}"
        )
    own = vault.layout.daily_folder or vault.layout.daily_format != DAILY_FORMAT
    daily = vault.layout.daily_path(today) if own else ""
    notices += [] if own else _days_elsewhere(vault)
    return InitReport(vault.root, created, fresh=fresh, notices=notices, layout=vault.layout.like, daily=daily)


def _days_elsewhere(vault: Vault) -> list[str]:
    """Return the settings that take up daily notes which are elsewhere than the layout expects; empty if none are."""
    layout, paths = vault.layout, list(vault.paths())
    if any(map(layout.day_of, paths)):
        return []
    folder, form, count = moment.likely(path for path in paths if not layout.project_of(path))
    if count < 2:
        return []
    settings = {"daily_folder": folder, "daily_format": form if form != DAILY_FORMAT else ""}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in settings.items() if value]
    return [
        (
            f"in {folder or 'the root'}, {counted(count, 'note')} named by their day: to have today's there "
            f"write {' and '.join(lines)} under [layout] in {CONFIG}"
        )
    ]


def _tiers(layout: Layout) -> tuple[str, ...]:
    """The tier notes that a vault gets: none where another program makes them."""
    return () if layout.like else (layout.memory, layout.procedural)


def _saying(data: bytes, like: str) -> Sequence[Splice]:
    """What a vault's settings lack to say whose layout it has."""
    text = data.decode("utf-8", "surrogateescape")
    said = with_setting(text, "layout", f'like = "{like}"', "like").encode("utf-8", "surrogateescape")
    return [] if said == data else [Splice(0, len(data), said)]


def is_fresh(root: Path) -> bool:
    """Whether a folder holds nothing that a person would miss."""
    try:
        return all(entry.name in _IGNORED for entry in root.iterdir())
    except OSError as error:
        raise VaultError(f"{root} can't be listed: {error.strerror}", "is it mounted?") from error


def daily_note(vault: Vault, path: str, when: datetime, notices: list[str]) -> bytes:
    """What a new daily note begins with: the vault's own daily template, filled; without one the title that the program
    has for it which made the vault, if any.

    Args:
        vault: where the template is.
        path: of the new note, whose name is the title.
        when: the instant that dates and times in it say.
        notices: gets a line if the template can't be read or filled.
    """
    title = vault.layout.daily_title.encode() if not vault.layout.daily_template_path else b""
    if title:
        return fill(title, "", when, vault.layout)
    return _filled(vault, vault.layout.daily_template_path, path, when, notices)


def new_note(vault: Vault, path: str, when: datetime, notices: list[str]) -> bytes:
    """What a note that ``new`` makes begins with: the template that is set for it; as :func:`daily_note`."""
    return _filled(vault, vault.layout.note_template_path, path, when, notices)


def _filled(vault: Vault, name: str | None, path: str, when: datetime, notices: list[str]) -> bytes:
    if not name:
        return b""
    try:
        if is_narrow(data := vault.read(name)):
            raise PartialError(f"{name} is not UTF-8", CONVERTED)
        return fill(data, path.rpartition("/")[2][:-3], when, vault.layout)
    except TarsError as error:
        notices.append(f"the template {name} was not used: {error.message}")
        return b""


def review_base(layout: Layout) -> bytes:
    """A base for Obsidian (https://help.obsidian.md/bases/syntax) beside Review.md: the days with what Memory.md took
    from them, the sessions, and the notes of the memory by when they changed.
    """
    own = layout.within(layout.scope, "")
    memory = [f"file.path == {_text(path)}" for path in layout.kept]
    days = [f"file.inFolder({_text(own + layout.daily_folder)})"] if layout.daily_folder else []
    if layout.daily_format == DAILY_FORMAT:
        days.append("/^\\d{4}-\\d{2}-\\d{2}$/.matches(file.basename)")
    if own and not layout.daily_folder:
        days.append(f"file.inFolder({_text(own[:-1])})")
    if not own:
        days.append(f'!file.inFolder("{layout.projects}")')
    sessions = [f"file.inFolder({_text(layout.sessions)})"]
    kept = f'if(file({_text(layout.memory)}).hasLink(file), "kept", "")'
    rows = [
        "# Made once by tars-memory review --note; change it as you like, it is never written again.",
        "filters:",
        "  and:",
        _quoted("    - ", 'file.ext == "md"'),
        "formulas:",
        _quoted("  kept: ", kept),
        "properties:",
        "  formula.kept:",
        "    displayName: In Memory",
        "  file.mtime:",
        "    displayName: Changed",
        "views:",
        *_view("Days", "and", days, ("file.name", "formula.kept", "file.mtime", "file.tags"), "file.name"),
        *_view("Sessions", "and", sessions, ("file.name", "note.date", "note.source", "file.tags"), "file.name"),
        *_view("Memory", "or", memory, ("file.name", "file.mtime", "file.size"), "file.mtime"),
    ]
    return ("\n".join(rows) + "\n").encode("utf-8", "surrogateescape")


def _view(name: str, joined: str, filters: list[str], columns: tuple[str, ...], by: str) -> list[str]:
    rows = ["  - type: table", f"    name: {name}", "    filters:", f"      {joined}:"]
    rows += [_quoted("        - ", each) for each in filters]
    rows += ["    order:", *(f"      - {each}" for each in columns)]
    return [*rows, "    sort:", f"      - property: {by}", "        direction: DESC"]


def _text(path: str) -> str:
    """A text of the expressions of a base."""
    return json.dumps(path, ensure_ascii=False)


def _quoted(head: str, text: str) -> str:
    """A line of YAML whose value is a text between single quotes."""
    return head + "'" + text.replace("'", "''") + "'"


def fill(data: bytes, title: str, when: datetime, layout: Layout) -> bytes:
    """A template with ``{{title}}``, ``{{date}}``, ``{{time}}`` and ``{{date:FORMAT}}`` filled in; all else stays.

    A format that Moment would fill by Obsidian's language is left as it stands.
    """

    def value(found: re.Match[str]) -> str:
        kind, form = found[1].lower(), found[2]
        if kind == "title":
            return found[0] if form else title
        try:
            usual = layout.date_format if kind == "date" else layout.time_format
            return moment.render((form or "").strip() or usual, when, layout.daily_language)
        except ValueError:
            return found[0]

    text = data.decode("utf-8", "surrogateescape")
    return re.sub(r"(?i)\{\{\s*(title|date|time)\s*(?::([^{}\r\n]*))?\}\}", value, text).encode(
        "utf-8", "surrogateescape"
    )


# -- vaults that other programs made


def recognised(root: Path) -> str:
    """The program whose layout a folder has, by what is in it; empty for none, or ours."""
    if _named(root, "config", "user.md") or _has_days(root, "memories") or _inside(root, "channels", "channel.md"):
        return "istota"
    if _inside(root, PROJECTS, "pmemory.md"):
        return "starbot"
    if _has_days(root, "memory") or _users(root):
        return "starpod"
    if any(_named(root, name) for name in ("pinned.md", "feedback")):
        ours = ("memory.md", "procedural.md", "corrections.md", "rewards.md")
        return "tars" if any(_named(root, name) for name in ours) else ""
    return ""


def _users(root: Path) -> list[str]:
    """The users of a Starpod agent's folder, by their folders' names; empty for any other folder."""
    return _inside(root, "users", "user.md", "memory.md")


def _inside(root: Path, folder: str, *notes: str) -> list[str]:
    """The names of the folders within one that have one of some notes."""
    found = _named(root, folder)
    return (
        [name for name in sorted(_names(found)) if any(_named(found / name, note) for note in notes)] if found else []
    )


def _has_days(root: Path, folder: str) -> bool:
    found = _named(root, folder)
    return found is not None and any(re.fullmatch(r"\d{4}-\d\d-\d\d\.md", name) for name in _names(found))


def _named(folder: Path, *steps: str) -> Path | None:
    """What is called so in a folder, and in that, in letters of whatever case; None if there is no such thing."""
    found = folder
    for step in steps:
        name = next((each for each in sorted(_names(found)) if each.lower() == step), None)
        if name is None:
            return None
        found /= name
    return found


def _names(folder: Path) -> list[str]:
    """The names in a folder; none if it can't be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
