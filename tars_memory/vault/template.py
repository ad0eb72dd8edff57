"""Create a new vault, and fill the templates of new notes as Obsidian does."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.disk import VAULT_FOLDER
from tars_memory.errors import PartialError, TarsError, UnwritableError, VaultError, counted
from tars_memory.language.calendar import DIARY_NAMES
from tars_memory.settings import PROJECTS, with_setting
from tars_memory.vault.layout import DAILY_FORMAT, OURS, Layout, shipped
from tars_memory.vault.markdown import moment
from tars_memory.vault.model import Splice
from tars_memory.vault.vault import CONVERTED, Vault, is_other_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from tars_memory.vault.writing.store import Store


CONFIG = f"{OURS}config.toml"
"""File of a vault's own settings."""

FRESH = ("Memory.md", "Procedural.md", "templates/daily.md", ".obsidian/daily-notes.json")
"""Files that ``init`` puts into an empty folder."""

_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*?)[ \t\r#]*$", re.MULTILINE)

_QUESTION = "Keep today's note there, too?"
_UNDER = "Should log write under {}?"

_DIARY = 30
"""Number of notes named by day, one in three days or more, from which on they are taken for a diary unasked."""

_MAX_USERS_SHOWN = 3
"""Maximum number of users of an agent's folder that a notice names."""

_IGNORED = frozenset({".tars", ".git", ".gitignore", ".gitattributes", ".DS_Store", ".stfolder", "desktop.ini"})
"""Names that may be in a folder that counts as empty."""


class InitReport(NamedTuple):
    """The result of ``init``.

    Attributes:
        root: the vault's real path.
        created: paths relative to the vault that were created; in a dry run, those that would be.
        fresh: whether the folder was empty before.
        notices: messages for the person.
        layout: the program whose layout the vault has (``[layout] like``); empty for ours.
        daily: path of today's note if the vault has its own folder or format for daily notes; else empty.
    """

    root: Path
    created: list[str]
    fresh: bool
    notices: list[str]
    layout: str = ""
    daily: str = ""


def make_root(path: Path) -> Path:
    """Create the vault's folder if it is missing; returns its real path.

    Raises:
        VaultError: the path is taken by something that is not a folder.
        UnwritableError: the folder can't be created.
    """
    try:
        path.expanduser().mkdir(parents=True, exist_ok=True)
        return path.expanduser().resolve(strict=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise VaultError(f"{path} is not a folder", "name a folder, new or existing: tars-memory init PATH") from error
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UnwritableError(f"{path} can't be made: {why}", "name a folder that you can write to") from error


def planned_init(path: Path) -> InitReport:
    """Return what ``init`` would create at a path that doesn't exist, for a dry run.

    Raises:
        VaultError: a parent in the path is not a folder.
        UnwritableError: nothing can be made in it.
    """
    real = path.resolve()
    parent = next(parent for parent in real.parents if os.path.lexists(parent))
    if not parent.is_dir():
        raise VaultError(f"{parent} is not a folder", "name a folder, new or existing: tars-memory init PATH")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise UnwritableError(f"{parent} can't be written", "name a folder that you can write to")
    created = [*FRESH, f"{VAULT_FOLDER}/vault-id"]
    return InitReport(real, created, fresh=True, notices=_hint_about_a_vault_above(real))


def fill_vault(vault: Vault, store: Store, today: date, ask: Callable[[str], bool] | None = None) -> InitReport:
    """Create what a vault lacks. No byte of an existing note is changed, and a second call does nothing.

    An empty folder gets the files of ``vault-template/`` that :data:`FRESH` names. A folder with its own notes or
    Obsidian settings only gets the tier notes, at the places that its settings give them. A folder that another program
    made only gets a line in ``.tars/config.toml`` that names that program, unless there is such a line already; its
    notes are created when something is written into them.

    Where notes of days lie in another place than today's would, ``.tars/config.toml`` gets the lines that put today's
    among them, by a write of its own that ``undo`` takes back, if the person agrees or they are a diary.

    Args:
        vault: the folder, as it is.
        store: writes into it.
        today: the day whose note is named in the report.
        ask: asks the person a question that a yes or a no answers; None: there is nobody to ask, and the notes decide
            (:func:`_is_diary`).

    Raises:
        UnwritableError: the vault can't be written.
    """
    fresh = is_fresh(vault.root)
    had_id = vault.id is not None
    created: list[str] = []
    like = "" if fresh or vault.layout.like else recognised(vault.root)
    if like:
        vault = vault.with_layout(like=like)
    with store.session("init", vault) as session:
        if like and session.write(CONFIG, lambda data: _config_splices(data or b"", {"like": like})).created:
            created.append(CONFIG)
        # The layout of an empty folder is made by the files that are written here.
        for path in FRESH if fresh else _missing_tier_notes(vault.layout):
            text = shipped(path if fresh else vault.layout.inner(path))
            written = session.write(path, lambda _: (), create=text, restore=True)
            if written.created:
                created.append(path)
    if not had_id and (store.dry_run or vault.ensure_id() is not None):
        created.append(".tars/vault-id")
    notices = [str(vault.layout.problem)] if vault.layout.problem else []
    notices += [f"{path} counts, not {other}: they differ only by case" for path, other in vault.layout.twins()]
    if users := _users(vault.root) if vault.layout.like == "starpod" else []:
        some = f"{', '.join(users[:_MAX_USERS_SHOWN])}{', …' if len(users) > _MAX_USERS_SHOWN else ''}"
        notices.append(
            f"each user has a memory beside the shared one: {some}; choose one with --project {shlex.quote(users[0])}"
        )
    above = vault.root.parent.parent
    if vault.layout.like == "starpod" and vault.root.name in _users(above) and _find_ignoring_case(above, "soul.md"):
        notices.append(
            "SOUL.md of the agent is not a note of this vault; to have it in context: "
            f"tars-memory init {shlex.quote(str(above))}, then --project {shlex.quote(vault.root.name)}"
        )
    notices += _hint_about_a_vault_above(vault.root) if created and not vault.layout.like else []
    own = vault.layout.daily_folder or vault.layout.daily_format != DAILY_FORMAT
    daily = vault.layout.daily_path(today) if own else ""
    settings, why = ({}, "") if own or vault.layout.problem else _days_elsewhere(vault)
    lines = " and ".join(f"{key} = {_text_literal(value)}" for key, value in settings.items())
    there, is_set = vault.with_layout(**settings), False
    if settings and not vault.layout.places_days and (ask(f"{why}. {_QUESTION}") if ask else _is_diary(there, store)):
        with store.session("init", vault) as session:
            written = session.write(CONFIG, lambda data: _config_splices(data or b"", settings))
        is_set = written.changed
        created += [CONFIG] if written.created else []
    if is_set:
        daily = there.layout.daily_path(today)
        says = "would say" if store.dry_run else "says"
        notices.append(
            f"{why}, so today's note goes there, too: {CONFIG} {says} {lines}; tars-memory undo reverses that"
        )
    elif settings:
        notices.append(f"{why}; to put today's note there, set {lines} under [layout] in {_config_of(vault)}")
    notices += _settled_log_heading(there, store, ask) if is_set or not settings else []
    return InitReport(vault.root, created, fresh=fresh, notices=notices, layout=vault.layout.like, daily=daily)


def _hint_about_a_vault_above(root: Path) -> list[str]:
    """Return a notice if a new vault lies in another one: commands typed in it no longer find that one."""
    above = next((folder for folder in root.parents if (folder / VAULT_FOLDER / "vault-id").is_file()), None)
    if above is None:
        return []
    lies = f"it is inside the vault {above}, which commands run in here no longer find"
    return [f"{lies}; if you don't want that, remove {root / VAULT_FOLDER}"]


def _days_elsewhere(vault: Vault) -> tuple[dict[str, str], str]:
    """Return the settings of ``[layout]`` that put today's note among the notes of days, and which notes these are;
    nothing unless more notes are named by days in one other place than where today's would be, where the first ``log``
    has made one.
    """
    layout, paths = vault.layout, list(vault.paths())
    folder, form, count = moment.likely(path for path in paths if not layout.project_of(path))
    if count < 2 or count <= sum(map(bool, map(layout.day_of, paths))):
        return {}, ""
    settings = {"daily_folder": folder, "daily_format": form if form != DAILY_FORMAT else ""}
    settings = {key: value for key, value in settings.items() if value}
    if _is_outline(vault.with_layout(**settings)):
        settings["log_heading"] = ""
    return settings, f"{counted(count, 'note')} in {folder or 'the vault'} are named by day"


def _is_diary(vault: Vault, store: Store) -> bool:
    """Whether the daily notes are so many, and so close to each other, that they can't be those of weekly meetings, and
    nobody took back what an earlier ``init`` made of that.
    """
    days = sorted(filter(None, map(vault.layout.day_of, vault.paths())))
    many = len(days) >= _DIARY and (days[-1] - days[-_DIARY]).days <= 3 * _DIARY
    return many and not any(write.undone for write in store.history(path=CONFIG))


def _is_outline(vault: Vault) -> bool:
    """Whether the last few daily notes hold nothing but bullets, as Logseq's do: a heading would break their list."""
    rows = [row for data in _last_days(vault) for row in data.split(b"\n") if row.strip()]
    return bool(rows) and all(row.startswith((b"-", b"\t", b"  ")) and row.strip() != b"---" for row in rows)


def _last_days(vault: Vault) -> Iterator[bytes]:
    """Yield the last few daily notes."""
    paths = (path.relative_to(vault.root).as_posix() for path in vault.layout.some_days(vault.root))
    yield from (data for _, data in vault.readable(paths))


def _settled_log_heading(vault: Vault, store: Store, ask: Callable[[str], bool] | None) -> list[str]:
    """Return a notice if the last few daily notes have headings in common, but not the one under which ``log`` writes:
    in another language, or with another name, today's would be the first with two. A person who is asked about the only
    one may have it set.
    """
    wanted = vault.layout.log_heading
    titles = [_HEADING.findall(data.decode("utf-8", "replace")) for data in _last_days(vault)]
    shared = [title for title in titles[-1] if all(title in each for each in titles)] if len(titles) > 1 else []
    if not shared or not wanted or wanted.casefold() in {title.casefold() for each in titles for title in each}:
        return []
    has = f"your daily notes have {' and '.join(shared[:3])}, but not {wanted}, under which log writes"
    if len(shared) > 1 or ask is None:
        return [f"{has}: log_heading under [layout] in {_config_of(vault)} names another heading"]
    if not ask(f"{has}. {_UNDER.format(shared[0])}"):
        return []
    with store.session("init", vault) as session:
        session.write(CONFIG, lambda data: _config_splices(data or b"", {"log_heading": shared[0]}))
    return [f"{CONFIG} says log_heading = {_text_literal(shared[0])}; tars-memory undo reverses that"]


def _config_of(vault: Vault) -> str:
    """Return how the vault's settings are named to a person who is to write into them."""
    return CONFIG if (vault.root / CONFIG).exists() else f"a new file {CONFIG}"


def _missing_tier_notes(layout: Layout) -> tuple[str, ...]:
    """Return the tier notes that a vault gets: none if another program makes them."""
    return () if layout.like else (layout.memory, layout.procedural)


def _config_splices(data: bytes, values: Mapping[str, str]) -> Sequence[Splice]:
    """Return the splices that set keys of ``[layout]`` in a vault's settings; none if they are set so already."""
    text = data.decode("utf-8", "surrogateescape")
    for key, value in reversed([*values.items()]):  # each goes to the head of the section
        text = with_setting(text, "layout", f"{key} = {_text_literal(value)}", key)
    new = text.encode("utf-8", "surrogateescape")
    return [] if new == data else [Splice(0, len(data), new)]


def is_fresh(root: Path) -> bool:
    """Whether a folder is empty except for files of sync programs, git and the like.

    Raises:
        VaultError: the folder can't be listed.
    """
    try:
        return all(entry.name in _IGNORED for entry in root.iterdir())
    except OSError as error:
        raise VaultError(f"{root} can't be listed: {error.strerror}", "is it mounted?") from error


def daily_note(vault: Vault, path: str, when: datetime, notices: list[str]) -> bytes:
    """Return the text that a new daily note begins with.

    It is the vault's daily template, filled; without a template the title that the program which made the vault gives
    its daily notes, if any.

    Args:
        vault: holds the template.
        path: path of the new note, whose name is the title.
        when: the instant of the dates and times in it.
        notices: receives a message if the template can't be read or filled.
    """
    title = vault.layout.daily_title.encode() if not vault.layout.daily_template_path else b""
    if title:
        return fill(title, "", when, vault.layout)
    return _filled_template(vault, vault.layout.daily_template_path, path, when, notices, daily=True)


def new_note(vault: Vault, path: str, when: datetime, notices: list[str]) -> bytes:
    """Return the text that a note made by ``new`` begins with: its template, filled; see :func:`daily_note`."""
    return _filled_template(vault, vault.layout.note_template_path, path, when, notices)


def _filled_template(
    vault: Vault, name: str | None, path: str, when: datetime, notices: list[str], *, daily: bool = False
) -> bytes:
    """Return the template ``name``, filled; empty if there is none or it can't be used, which adds a notice.

    That of a daily note names months and weekdays in the language in which the last few daily notes have them.
    """
    if not name:
        return b""
    try:
        if is_other_encoding(data := vault.read(name)):
            raise PartialError(f"{name} is not UTF-8", CONVERTED)
        language = _language_of_days(vault, data, when) if daily else ""
        return fill(data, path.rpartition("/")[2][:-3], when, vault.layout, language)
    except TarsError as error:
        notices.append(f"the template {name} was not used: {error.message}")
        return b""


def _language_of_days(vault: Vault, template: bytes, when: datetime) -> str:
    """Return the language in which most of the last few daily notes have a line of the template that languages fill
    differently; '' if none has.
    """
    layout = vault.layout

    def filled(line: bytes, day: date) -> dict[str, bytes]:
        return {language: fill(line, "", day, layout, language).strip() for language in DIARY_NAMES}

    counts = Counter[str]()
    if named := [line for line in template.split(b"\n") if len({*filled(line, when).values()}) > 1]:
        paths = (path.relative_to(vault.root).as_posix() for path in layout.some_days(vault.root))
        for path, data in vault.readable(paths):
            day, lines = layout.day_of(path), {line.strip() for line in data.split(b"\n")}
            texts = [filled(line, day) for line in named] if day else []
            counts.update(language for of_line in texts for language, text in of_line.items() if text in lines)
    return max(counts, key=lambda language: counts[language], default="")


def review_base(layout: Layout) -> bytes:
    """Return a base for Obsidian (https://help.obsidian.md/bases/syntax) that is put beside Review.md.

    It lists the daily notes and which of them Memory.md links to, the sessions, and the notes that this program keeps
    by the time of their last change.
    """
    own = layout.within(layout.scope, "")
    memory = [f"file.path == {_text_literal(path)}" for path in layout.kept]
    days = [f"file.inFolder({_text_literal(own + layout.daily_folder)})"] if layout.daily_folder else []
    if layout.daily_format == DAILY_FORMAT:
        days.append("/^\\d{4}-\\d{2}-\\d{2}$/.matches(file.basename)")
    if own and not layout.daily_folder:
        days.append(f"file.inFolder({_text_literal(own[:-1])})")
    if not own:
        days.append(f'!file.inFolder("{layout.projects}")')
    sessions = [f"file.inFolder({_text_literal(layout.sessions)})"]
    kept = f'if(file({_text_literal(layout.memory)}).hasLink(file), "kept", "")'
    rows = [
        "# Created once by tars-memory review --note; change it as you like: it is never overwritten.",
        "filters:",
        "  and:",
        _yaml_quoted("    - ", 'file.ext == "md"'),
        "formulas:",
        _yaml_quoted("  kept: ", kept),
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


def _view(name: str, operator: str, filters: list[str], columns: tuple[str, ...], by: str) -> list[str]:
    """Return the lines of a base's table, with filters joined by ``and`` or ``or``, latest first by a property."""
    rows = ["  - type: table", f"    name: {name}", "    filters:", f"      {operator}:"]
    rows += [_yaml_quoted("        - ", expression) for expression in filters]
    rows += ["    order:", *(f"      - {column}" for column in columns)]
    return [*rows, "    sort:", f"      - property: {by}", "        direction: DESC"]


def _text_literal(path: str) -> str:
    """Return a text as a literal in a base's expressions."""
    return json.dumps(path, ensure_ascii=False)


def _yaml_quoted(head: str, text: str) -> str:
    """Return a line of YAML whose value is a text in single quotes."""
    return head + "'" + text.replace("'", "''") + "'"


def fill(data: bytes, title: str, when: date, layout: Layout, language: str = "") -> bytes:
    """Return a template with ``{{title}}``, ``{{date}}``, ``{{time}}`` and ``{{date:FORMAT}}`` filled in.

    All else stays, and so does a format that Moment would fill by Obsidian's language, or a time of a day alone.

    Args:
        data: the template.
        title: the note's title.
        when: the instant, or a day.
        layout: has the usual formats, and the language of the names of daily notes.
        language: another language for names of months and weekdays.
    """

    def value(found: re.Match[str]) -> str:
        kind, form = found[1].lower(), found[2]
        if kind == "title":
            return found[0] if form else title
        try:
            usual = layout.date_format if kind == "date" else layout.time_format
            return moment.render((form or "").strip() or usual, when, language or layout.daily_language)
        except ValueError:
            return found[0]

    text = data.decode("utf-8", "surrogateescape")
    return re.sub(r"(?i)\{\{\s*(title|date|time)\s*(?::([^{}\r\n]*))?\}\}", value, text).encode(
        "utf-8", "surrogateescape"
    )


# -- vaults that other programs made


def recognised(root: Path) -> str:
    """Return the program whose layout a folder has, by its files; empty for none, or ours."""
    if (
        _find_ignoring_case(root, "config", "user.md")
        or _has_days(root, "memories")
        or _folders_with_note(root, "channels", "channel.md")
    ):
        return "istota"
    if _folders_with_note(root, PROJECTS, "pmemory.md"):
        return "starbot"
    if _has_days(root, "memory") or _users(root):
        return "starpod"
    if any(_find_ignoring_case(root, name) for name in ("pinned.md", "feedback")):
        ours = ("memory.md", "procedural.md", "corrections.md", "rewards.md")
        return "tars" if any(_find_ignoring_case(root, name) for name in ours) else ""
    return ""


def _users(root: Path) -> list[str]:
    """Return the users in a Starpod agent's folder, by their folders' names; empty for any other folder."""
    return _folders_with_note(root, "users", "user.md", "memory.md")


def _folders_with_note(root: Path, folder: str, *notes: str) -> list[str]:
    """Return the names of the folders in ``folder`` that hold one of the notes."""
    parent = _find_ignoring_case(root, folder)
    if parent is None:
        return []
    names = sorted(_list_names(parent))
    return [name for name in names if any(_find_ignoring_case(parent / name, note) for note in notes)]


def _has_days(root: Path, folder: str) -> bool:
    """Whether a folder holds notes named by days."""
    found = _find_ignoring_case(root, folder)
    return found is not None and any(re.fullmatch(r"\d{4}-\d\d-\d\d\.md", name) for name in _list_names(found))


def _find_ignoring_case(folder: Path, *steps: str) -> Path | None:
    """Return the path of ``steps`` below a folder, whatever its case; None if it doesn't exist.

    Args:
        folder: where to begin.
        steps: names in lower case, each in the folder before it.
    """
    found = folder
    for step in steps:
        name = next((entry for entry in sorted(_list_names(found)) if entry.lower() == step), None)
        if name is None:
            return None
        found /= name
    return found


def _list_names(folder: Path) -> list[str]:
    """Return the names in a folder; none if it can't be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
