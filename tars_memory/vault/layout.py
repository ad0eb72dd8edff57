"""Where the tiers live in one vault, or in one project of it: by settings, else as Obsidian is set, else by default."""

from __future__ import annotations

import contextlib
import os
import re
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tars_memory import disk
from tars_memory.disk import VAULT_FOLDER
from tars_memory.errors import SettingsError, TarsError, UsageError
from tars_memory.settings import PROJECTS, LayoutOptions
from tars_memory.vault import markdown
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Iterable


OURS = f"{VAULT_FOLDER}/"
"""Where our own files are, which are JSON and no notes."""
DECIDED = f"{OURS}decided.jsonl"
"""What was decided about proposals."""
FORGOTTEN = "forgotten.jsonl"
"""In the vault's state folder: what was forgotten (:mod:`tars_memory.vault.writing.withheld`). The first line holds the
salt, each further one what one command forgot."""

DAILY_FORMAT = "YYYY-MM-DD"
ARCHIVE = "archive"
"""Folder of the daily notes and sessions that are past their window, in the vault and in each project."""
OBSIDIAN_DAILY = ".obsidian/daily-notes.json"
OBSIDIAN_PERIODIC = ".obsidian/plugins/periodic-notes/data.json"
OBSIDIAN_APP = ".obsidian/app.json"
OBSIDIAN_TEMPLATES = ".obsidian/templates.json"
OBSIDIAN_TEMPLATER = ".obsidian/plugins/templater-obsidian/data.json"
OBSIDIAN = (OBSIDIAN_PERIODIC, OBSIDIAN_DAILY, OBSIDIAN_TEMPLATES, OBSIDIAN_TEMPLATER, OBSIDIAN_APP)

_Files = dict[str, dict[str, Any] | SettingsError]
"""By path what a settings file of Obsidian says, or why it can't be read."""

LIKE: dict[str, dict[str, str]] = {
    "tars": {
        "loaded": "User.md, Pinned.md",
        "log_heading": "",
        "notes_section": "",
        "daily_title": "# {{date:YYYY-MM-DD}}\n\n",
    },
    "starpod": {
        "memory": "MEMORY.md",
        "daily_folder": "memory",
        "sessions_folder": "memory/sessions",
        "loaded": "SOUL.md, USER.md",
        "daily_title": "# Daily Log — {{date:YYYY-MM-DD}}\n\n",
        "projects": "users",
        "days": "3",
    },
    "istota": {
        "memory": "config/USER.md",
        "project_memory": "CHANNEL.md",
        "daily_folder": "memories",
        "loaded": "",
        "log_heading": "",
        "projects": "Channels",
        "days": "3",
    },
    "starbot": {
        "memory": "MEMORY.md",
        "project_memory": "PMEMORY.md",
        "loaded": "IDENTITY.md, SOUL.md, USER.md",
        "projects": PROJECTS,
    },
}
"""Where other programs have their notes, as far as it is elsewhere than here: ``[layout] like``."""

PROJECT_FOLDERS = frozenset(places.get("projects", PROJECTS).lower() for places in LIKE.values())
"""The folders of projects of all layouts, in small letters."""

SHOWN_OUTSIDE = frozenset({"istota"})
"""The programs whose projects hide nothing from the rest of the vault: the rooms in which one person talks."""

STARPOD_OWN = frozenset({"SOUL", "USER", "MEMORY", "HEARTBEAT", "BOOT", "BOOTSTRAP"})
"""Notes that starpod loads or runs: none of them is a topic note, though they stand beside these."""

_SOME_DAY = date(2026, 11, 21)
_NAMES = 20
"""Daily notes of which the names tell the vault's language."""

_UNNAMEABLE = "[\x00-\x1f\x7f\ud800-\udc7f\udd00-\udfff]"
"""Control characters, and surrogates that stand for no byte of a file's name."""


LONGEST_FILTER = 200
"""Characters of a filter; it comes with the vault, perhaps from elsewhere."""

_COSTLY = r"\)[*+{]|(?:[*+{].*){3}"
"""A repeated group, or three repetitions: such a pattern may take for ever on a path made for it."""

_CHOICES = 256
"""Ways through a pattern's choices, at most: groups that follow each other multiply theirs."""


class Excluded:
    """Obsidian's excluded files (``userIgnoreFilters``): what the person does not want to see in searches.

    Args:
        filters: as Obsidian keeps them: the beginning of a path, or a regular expression between slashes.

    Attributes:
        not_understood: filters that are left alone.
    """

    def __init__(self, filters: Iterable[Any] = ()) -> None:
        beginnings: list[str] = []
        self._patterns: list[re.Pattern[str]] = []
        self.not_understood: list[str] = []
        for text in filters:
            if not isinstance(text, str) or not text.strip():
                continue
            if len(text) > 2 and text.startswith("/") and text.endswith("/"):
                pattern = _compiled(text[1:-1])
                if pattern is None:
                    self.not_understood.append(text)
                else:
                    self._patterns.append(pattern)
            else:
                beginnings.append(text.lstrip("/").lower())
        self._beginnings = tuple(beginnings)

    def __contains__(self, path: str) -> bool:
        return path.lower().startswith(self._beginnings) or any(p.search(path) for p in self._patterns)

    def __str__(self) -> str:
        return f"{self._beginnings} {[pattern.pattern for pattern in self._patterns]}"


class Layout:
    """Paths and headings of one vault, or of one project in it. All paths are relative to the vault, with ``/``.

    Attributes:
        scope: the project whose notes are ours; empty for those outside projects.
        like: the program whose places these are; empty for ours.
        projects: folder of the projects, a folder each.
        corrections: where bad feedback goes.
        rewards: where good feedback goes.
        facts: where facts over time are.
        review: where proposals stand to be decided in an editor; no tier.
        sessions: folder of the episodic tier.
        agents: folder in which each agent has a folder of notes of its own.
        archive: folder that old daily notes and sessions move to, under the same path as before.
        log_heading: heading of a daily note under which ``log`` writes; empty for none.
        notes_section: heading under which ``remember`` writes if told none; empty for none.
        daily_folder: folder of the daily notes; empty for the vault's root.
        daily_format: their name in a Moment format, without ``.md``; may hold folders.
        daily_language: of the names in it that are words, and in templates; that of the daily notes there are.
        daily_template_path: the note that a new daily note starts from, or None.
        note_template_path: the note that a note made by ``new`` starts from, or None.
        new_folder: where Obsidian puts new notes; empty for the vault's root.
        new_beside: it puts them beside the note that is open.
        excluded: what Obsidian's searches leave out.
        template_folders: folders of notes that are only there to be copied, each with a slash at its end.
        date_format: what ``{{date}}`` in a template becomes.
        time_format: what ``{{time}}`` in a template becomes.
        problem: why the daily notes' place is not known, or None. Readers go on with the default meanwhile.
    """

    corrections = "corrections.md"
    rewards = "rewards.md"
    facts = "Facts.md"
    review = "Review.md"
    agents = "agents"
    projects = PROJECTS
    daily_language = "en"

    def __init__(
        self,
        options: LayoutOptions | None = None,
        obsidian: dict[str, Any] | None = None,
        *,
        scope: str = "",
        root: Path | None = None,
    ) -> None:
        options = options or LayoutOptions()
        said = obsidian or {}
        like = LIKE.get(options.like, {})
        self.scope = scope
        self.problem: TarsError | None = None
        self._root = root
        self._found: dict[str, str] = {}
        if "projects" in like:
            theirs = self._cased(like["projects"])
            ours = root is not None and not (root / theirs).is_dir() and (root / PROJECTS).is_dir()
            self.projects = PROJECTS if ours else theirs  # whoever made projects there goes on with them
        usual = like.get("memory", "Memory.md")
        if "/" in usual:
            usual = f"{self._cased(usual.rpartition('/')[0])}/{usual.rpartition('/')[2]}"
        memory = _note(options.memory or usual, "layout.memory")
        procedural = _note(options.procedural or like.get("procedural", "Procedural.md"), "layout.procedural")
        self._days = int(like.get("days", 1))
        self._memory = memory, memory if options.memory else like.get("project_memory", memory)
        """Outside projects, and within one."""
        self._procedural = procedural, procedural
        self._check_apart()
        loaded = like.get("loaded", "User.md") if options.loaded is None else options.loaded
        self._loaded = [_note(name, "layout.loaded") for name in loaded.split(",") if name.strip()]
        self.like = options.like
        if (*self._memory, procedural) != ("Memory.md", "Memory.md", "Procedural.md"):
            self.named = (*self._memory, procedural)  # in the index's fingerprint, as all that is public here
        unset = options.sessions_folder == LayoutOptions.sessions_folder
        sessions = options.sessions_folder
        if unset and "sessions_folder" in like:
            sessions = self._cased(like["sessions_folder"])
        self._sessions = _folder(sessions, "layout.sessions_folder")
        self.sessions = self._sessions
        self._playbooks = _folder(options.playbooks_folder, "layout.playbooks_folder")
        first = self._playbooks.partition("/")[0]
        if first in ("", self.projects, ARCHIVE, Layout.agents) or "/." in f"/{self._playbooks}":
            raise UsageError(
                f"{options.playbooks_folder!r} (layout.playbooks_folder) is not a folder for playbooks",
                "name one of its own, that nothing else is kept in: playbooks",
            )
        if scope:
            for name in ("corrections", "rewards", "facts", "review", "agents", "sessions"):
                setattr(self, name, f"{self.projects}/{scope}/{getattr(self, name)}")
        self.archive = ARCHIVE
        self.log_heading, self.notes_section = options.log_heading, options.notes_section
        if options.log_heading == LayoutOptions.log_heading:
            self.log_heading = like.get("log_heading", options.log_heading)
        if options.notes_section == LayoutOptions.notes_section:
            self.notes_section = like.get("notes_section", options.notes_section)
        self._daily_title = like.get("daily_title", "")
        self.date_format = said.get("date_format") or DAILY_FORMAT
        self.time_format = said.get("time_format") or "HH:mm"
        source = said.get("source", OBSIDIAN_DAILY)
        folder, form, template = options.daily_folder, options.daily_format, options.daily_template
        usual = "" if {"folder", "format", "template"} & said.keys() else like.get("daily_folder", "")
        usual = usual and self._cased(usual)
        self.daily_folder = _folder(
            said.get("folder", usual) if folder is None else folder, source if folder is None else "layout.daily_folder"
        )
        self.daily_template_path = _template(said.get("template") if template is None else template)
        self.note_template_path = _template(options.note_template)
        self.new_folder, self.new_beside = "", False
        self.template_folders: tuple[str, ...] = ()
        self.excluded = Excluded()
        self.daily_format = form or said.get("format") or DAILY_FORMAT
        if self.daily_folder or self.daily_format != DAILY_FORMAT:  # else it is as we chose it
            self._check_format("layout.daily_format" if form else source)
            self._check_daily("layout" if folder is not None or form else source)

    @classmethod
    def of(cls, root: Path, options: LayoutOptions | None = None, *, scope: str = "") -> Layout:
        """The layout of the vault at ``root``. A setting that can't be used, Obsidian's or ours, is :attr:`problem`."""
        said = disk.json_objects(root, OBSIDIAN)
        try:
            layout = cls(options, _obsidian(said), scope=scope, root=root)
        except UsageError as error:
            layout = cls(scope=scope, root=root)
            if options is not None:
                layout.log_heading, layout.notes_section = options.log_heading, options.notes_section
            layout.problem = error
            if options is not None and None not in (options.daily_folder, options.daily_format):
                with contextlib.suppress(UsageError):  # then it is known, whatever Obsidian says
                    layout = cls(options, scope=scope, root=root)
        if (language := _language(root, layout)) != Layout.daily_language:
            layout.daily_language = language
        layout.template_folders = _template_folders(said, layout)
        layout.excluded = _excluded(said)
        layout.new_folder, layout.new_beside = _new_notes(said)
        return layout

    @property
    def memory(self) -> str:
        """The note of the semantic tier."""
        return self.memory_of(self.scope)

    @property
    def procedural(self) -> str:
        """The note of the procedural tier."""
        return self.procedural_of(self.scope)

    def memory_of(self, scope: str) -> str:
        """The note of the semantic tier in a project; outside projects if none is named."""
        return self._spelled(self._memory[bool(scope)], scope)

    def procedural_of(self, scope: str) -> str:
        """The note of the procedural tier in a project; outside projects if none is named."""
        return self._spelled(self._procedural[bool(scope)], scope)

    @property
    def loaded(self) -> list[str]:
        """Further notes that ``context`` always loads; they are the person's own, as all others are."""
        return self.loaded_of(self.scope)

    @property
    def daily_title(self) -> str:
        """What a day's note begins with if there is no template for it, as one."""
        return self._daily_title

    @property
    def days(self) -> int:
        """Daily notes that a prompt begins with, if nothing else is set."""
        return self._days

    def loaded_of(self, scope: str) -> list[str]:
        """Those of a project, each before the vault's of the same name; outside projects if none is named."""
        return [self._spelled(name, each) for name in self._loaded for each in ([scope, ""] if scope else [""])]

    def _cased(self, path: str) -> str:
        """A folder as the vault spells it: as it is named, else the one that differs by case alone."""
        found, names = self._root, list[str]()
        for step in path.split("/"):
            there: list[str] = []
            if found is not None:
                with contextlib.suppress(OSError):
                    there = sorted(os.listdir(found))
            same = [step] if step in there else [each for each in there if each.lower() == step.lower()]
            names.append(next(iter(same), step))
            found = found / names[-1] if found is not None else None
        return "/".join(names)

    @property
    def playbooks(self) -> str:
        """Folder of the playbooks: procedures, a note each, that a person approved or may approve."""
        return self.playbooks_of(self.scope)

    def playbooks_of(self, scope: str) -> str:
        """The folder of the playbooks of a project; outside projects if none is named."""
        return self.within(scope, self._playbooks)

    def is_playbook(self, path: str) -> bool:
        """Whether a note is a playbook, of whatever project."""
        inner = self._inner(path)[1]
        if not inner.startswith(f"{self._playbooks}/") or inner[-3:].lower() != ".md":
            return False
        hidden = any(step.startswith(".") or not step for step in inner.split("/"))
        return not hidden and self.tier_of(path) is Tier.NOTE and not self.is_template(path)

    def is_rules(self, path: str) -> bool:
        """Whether a note tells how to work, so that only a person may change what is followed in it."""
        return self.tier_of(path) is Tier.PROCEDURAL or self.is_playbook(path)

    def _spelled(self, name: str, scope: str) -> str:
        """The path of a note as it is spelled in the vault: as it is set, else in capitals, else in small letters."""
        path = self.within(scope, name)
        if self._root is not None and path not in self._found:
            self._found[path] = next(iter(self._there(path)), path)
        return self._found.get(path, path)

    def _there(self, path: str) -> list[str]:
        """Those spellings of a path that are there, the one that counts first."""
        assert self._root is not None
        there = [each for each in _spellings(path) if os.path.lexists(self._root / each)]
        if len(there) > 1:  # on a file system that ignores case all of them seem to be there
            with contextlib.suppress(OSError):
                names = os.listdir((self._root / path).parent)
                there = [each for each in there if each.rpartition("/")[2] in names] or there
        return there

    def twins(self) -> list[tuple[str, str]]:
        """For each note of a tier whose name differs only by case from another one: the one that counts, the other."""
        if self._root is None:
            return []
        paths = [self.memory, self.procedural, *self.loaded]
        return [(path, other) for path in paths for other in self._there(path) if other != path]

    def daily_path(self, day: date, *, scope: str | None = None) -> str:
        """The daily note of a day, of another project if one is named.

        Raises:
            UsageError: :attr:`problem`.
        """
        if self.problem:
            raise self.problem
        scope = self.scope if scope is None else scope
        name = markdown.moment.render(self.daily_format, day, self.daily_language) + ".md"
        parts = [self.projects, scope] if scope else []
        return "/".join([*parts, *([self.daily_folder] if self.daily_folder else []), name])

    def archived(self, path: str) -> str:
        """Where a note goes when it is archived: the same path below ``archive/`` of the vault or its project."""
        scope, inner = self._inner(path)
        return "/".join([*([self.projects, scope] if scope else []), self.archive, inner])

    def is_archived(self, path: str) -> bool:
        """Whether a path is the daily note of a day, or a session, in the archive."""
        inner = self._inner(path)[1]
        if self._is_session(inner):
            return not inner.startswith(f"{self._sessions}/")
        return self._day(inner) is None and self.day_of(path) is not None

    def day_of(self, path: str) -> date | None:
        """The day that a path is the daily note of, in its place or in the archive, or None."""
        inner = self._inner(path)[1]
        day = self._day(inner)
        if day is None and inner.startswith(f"{self.archive}/"):
            return self._day(inner[len(self.archive) + 1 :])
        return day

    def _day(self, path: str) -> date | None:
        folder = f"{self.daily_folder}/" if self.daily_folder else ""
        if not path.startswith(folder) or path[-3:].lower() != ".md":
            return None
        return markdown.moment.day(
            self.daily_format, markdown.moment.pattern(self.daily_format), path[len(folder) : -3]
        )

    def tier_of(self, path: str) -> Tier:
        """The tier of a note; within a project that of its place in the project."""
        scope, inner = self._inner(path)
        if inner == Layout.facts or inner in _spellings(self._memory[bool(scope)]):
            return Tier.SEMANTIC
        if inner in _spellings(self._procedural[bool(scope)]):
            return Tier.PROCEDURAL
        if self._is_session(inner):
            return Tier.EPISODIC
        return Tier.DAILY if self.day_of(inner) else Tier.NOTE

    def scope_of(self, path: str) -> str:
        """The project that a note is seen from; empty for one that is seen from everywhere."""
        return "" if self.like in SHOWN_OUTSIDE and self.projects != PROJECTS else self._inner(path)[0]

    def project_of(self, path: str) -> str:
        """The project whose folder a note is in; empty for none."""
        return self._inner(path)[0]

    def within(self, scope: str, name: str) -> str:
        """The path of a note in a project; outside projects its name."""
        return f"{self.projects}/{scope}/{name}" if scope else name

    def is_ours(self, path: str) -> bool:
        """Whether a note is of this scope: of the project, or outside projects if none is chosen."""
        return self._inner(path)[0] == self.scope

    def inner(self, path: str) -> str:
        """The path of a note within its project; outside projects its path."""
        return self._inner(path)[1]

    def is_session(self, path: str) -> bool:
        """Whether a note tells of a session, of whatever project, in its place or in the archive."""
        return self._is_session(self._inner(path)[1])

    def _is_session(self, inner: str) -> bool:
        return inner.startswith((f"{self._sessions}/", f"{self.archive}/{self._sessions}/"))

    def agent_of(self, path: str) -> str:
        """The agent whose own note it is, of whatever project; empty for everybody's."""
        parts = self._inner(path)[1].split("/", 2)
        return parts[1] if len(parts) == 3 and parts[0] == Layout.agents else ""

    def topics_of(self, agent: str) -> str:
        """The folder of an agent's topic notes; in starpod's vaults, which have one agent, that of MEMORY.md."""
        return self.memory.rpartition("/")[0] if self.like == "starpod" else f"{self.agents}/{agent}"

    def is_topic(self, path: str, agent: str) -> bool:
        """Whether a path is that of a topic note of an agent, and of nothing else."""
        folder, _, name = path.rpartition("/")
        if folder != self.topics_of(agent) or name[-3:].lower() != ".md" or name.startswith("."):
            return False
        if self.like != "starpod":
            return True
        taken = {each.casefold() for each in (*self.kept, *self.loaded)}
        stem = name[:-3].upper()
        return not (path.casefold() in taken or self.is_kept(path) or self.is_template(path) or stem in STARPOD_OWN)

    def is_review(self, path: str) -> bool:
        """Whether a note has the place where proposals stand to be decided, the vault's or a project's."""
        return self._inner(path)[1] == Layout.review

    @property
    def kept(self) -> tuple[str, ...]:
        """The notes that the memory keeps in this scope, one of a kind."""
        return self.memory, self.procedural, self.facts, self.review, self.corrections, self.rewards

    def is_kept(self, path: str) -> bool:
        """Whether it is the place of a note that the memory keeps, or an agent for itself."""
        return (
            self.inner(path) in map(self.inner, self.kept)
            or self.tier_of(path) is not Tier.NOTE
            or bool(self.agent_of(path))
        )

    def is_template(self, path: str) -> bool:
        """Whether a note is only there to be copied."""
        templates = (self.daily_template_path, self.note_template_path)
        return path in templates or path.startswith(self.template_folders)

    def is_excluded(self, path: str) -> bool:
        """Whether Obsidian is set to leave a note out of its searches; the notes of the tiers are never left out."""
        return path in self.excluded and self.tier_of(path) is Tier.NOTE

    def is_facts(self, path: str) -> bool:
        """Whether a note holds facts over time, the vault's or a project's."""
        return self._inner(path)[1] == Layout.facts

    def timed(self, path: str) -> bool:
        """Whether the entries of a note begin with a time."""
        inner = self._inner(path)[1]
        return inner in (Layout.corrections, Layout.rewards) or self.day_of(inner) is not None

    def _inner(self, path: str) -> tuple[str, str]:
        """Project, and the path within it."""
        parts = path.split("/", 2)
        return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == self.projects else ("", path)

    def _check_apart(self) -> None:
        """Each note has one meaning: what is a rule in one tier may be written in another without asking.

        Raises:
            UsageError: two of them are one note, or one lies where notes of another kind do.
        """
        others = (Layout.facts, Layout.corrections, Layout.rewards, Layout.review)
        folders = (self.projects, ARCHIVE, Layout.agents)
        for memory in self._memory:
            names = [memory, self._procedural[0], *others]
            inside = next((name for name in names[:2] if name.partition("/")[0] in folders), "")
            if inside or len({name.casefold() for name in names}) < len(names):
                raise UsageError(
                    f"memory = {memory!r} and procedural = {names[1]!r} under [layout] can't both be used",
                    "name two notes that are nothing else: Memory.md, Procedural.md",
                )

    def _check_format(self, source: str) -> None:
        try:
            markdown.moment.pattern(self.daily_format)
        except ValueError as error:
            raise UsageError(
                f"the daily note format {self.daily_format!r} ({source}) can't be used: {error}",
                "set it to something like YYYY-MM-DD there, or under [layout] daily_format in the config file",
            ) from error

    def _check_daily(self, source: str) -> None:
        """What is logged must be found again, as a line of that day.

        Raises:
            UsageError: the daily notes would be hidden, a project's or sessions, or no file can have such a name.
        """
        path = self.daily_path(_SOME_DAY, scope="")
        hidden = any(step.startswith(".") for step in path.split("/"))
        if hidden or re.search(_UNNAMEABLE, path) or self.project_of(path) or self.tier_of(path) is not Tier.DAILY:
            raise UsageError(
                f"folder and format of the daily notes ({source}) make {path!r}, which is not a place for a daily note",
                "name a folder that is not hidden, outside projects and sessions, and a format like YYYY-MM-DD",
            )


def _obsidian(files: _Files) -> dict[str, Any]:
    """What Obsidian says of daily notes: the Periodic Notes plugin if it does them, else the core plugin.

    Raises:
        UsageError: a settings file can't be read.
    """
    said: dict[str, Any] = {}
    periodic = _json(files, OBSIDIAN_PERIODIC).get("daily")
    if isinstance(periodic, dict) and periodic.get("enabled"):
        said, source = periodic, OBSIDIAN_PERIODIC
    else:
        said, source = _json(files, OBSIDIAN_DAILY), OBSIDIAN_DAILY
    values: dict[str, Any] = {key: said[key] for key in ("folder", "format", "template") if said.get(key)}
    templates = _json(files, OBSIDIAN_TEMPLATES)
    values |= {"date_format": templates.get("dateFormat"), "time_format": templates.get("timeFormat")}
    for key, value in values.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{key} in {source} is not text", "set it again in Obsidian: Settings, Daily notes")
    return {**values, "source": source}


def _excluded(files: _Files) -> Excluded:
    try:
        filters = _json(files, OBSIDIAN_APP).get("userIgnoreFilters")
    except UsageError:
        filters = None  # no reason to search nothing
    return Excluded(filters if isinstance(filters, list) else ())


def _new_notes(files: _Files) -> tuple[str, bool]:
    """In which folder Obsidian makes a new note, and whether beside the one that is open."""
    try:
        said = _json(files, OBSIDIAN_APP)
    except UsageError:
        said = {}
    where, folder = said.get("newFileLocation"), said.get("newFileFolderPath")
    return (folder.strip().strip("/") if where == "folder" and isinstance(folder, str) else ""), where == "current"


def _language(root: Path, layout: Layout) -> str:
    """In which language the daily notes that there are name months and weekdays."""
    form = layout.daily_format
    if "MMMM" not in form and "dddd" not in form:
        return Layout.daily_language
    top = root / layout.daily_folder
    there = sorted(top.glob("*/" * form.count("/") + "*.md"))[-_NAMES:]
    return markdown.moment.language_of(form, (path.relative_to(top).as_posix()[:-3] for path in there))


def _template_folders(files: _Files, layout: Layout) -> tuple[str, ...]:
    """Where Obsidian's own templates and those of Templater are, as they are set; and the daily template's folder.

    The last one only if its name says so: it may as well be a folder of notes. No folder counts that holds daily notes
    or sessions.
    """
    named: list[object] = []
    for path, key in ((OBSIDIAN_TEMPLATES, "folder"), (OBSIDIAN_TEMPLATER, "templates_folder")):
        try:
            named.append(_json(files, path).get(key))
        except UsageError:
            continue  # no reason to search nothing
    beside = (layout.daily_template_path or "").rpartition("/")[0]
    if "templat" in beside.rpartition("/")[2].lower():
        named.append(beside)
    ours = (f"{layout.daily_folder}/", f"{layout.inner(layout.sessions)}/")
    folders = {f"{name.strip().strip('/')}/" for name in named if isinstance(name, str)} - {"/"}
    return tuple(sorted(folder for folder in folders if not any(place.startswith(folder) for place in ours)))


def _json(files: _Files, path: str) -> dict[str, Any]:
    said = files[path]
    if isinstance(said, SettingsError):
        raise UsageError(
            f"where the daily notes are is not known: {said.message}",
            "set the daily notes again in Obsidian; or say daily_folder and daily_format under [layout]",
        ) from said
    return said


@cache
def _spellings(path: str) -> tuple[str, ...]:
    """A note's path with its name as it is set, in capitals, small letters and with one capital; it ends in ``.md``."""
    folder, slash, name = path.rpartition("/")
    stem = name[:-3]
    return tuple(
        dict.fromkeys(f"{folder}{slash}{each}.md" for each in (stem, stem.upper(), stem.lower(), stem.capitalize()))
    )


def _note(path: str, source: str) -> str:
    """The path of a note inside the vault.

    Raises:
        UsageError: it is none.
    """
    path = path.strip().strip("/")
    if path[-3:] != ".md" or any(part in ("", "..") or part.startswith(".") for part in path.split("/")):
        raise UsageError(
            f"{path!r} ({source}) is not a note inside the vault", "name it as the vault shows it: Memory.md"
        )
    return path


def _folder(path: str, source: str) -> str:
    """A folder inside the vault, without slashes at its ends.

    Raises:
        UsageError: it would leave the vault.
    """
    path = path.strip().strip("/")
    if any(part in ("", ".", "..") for part in path.split("/")) and path:
        raise UsageError(
            f"{path!r} ({source}) is not a folder inside the vault", "name it as the vault shows it: notes/daily"
        )
    return path


def _template(path: str | None) -> str | None:
    path = (path or "").strip().strip("/")
    if not path:
        return None
    return path if path[-3:].lower() == ".md" else f"{path}.md"


def _compiled(text: str) -> re.Pattern[str] | None:
    if len(text) > LONGEST_FILTER or re.search(_COSTLY, text) or _choices(text) > _CHOICES:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError):
        return None


def _choices(text: str) -> int:
    """In how many ways its choices (``|`` of each group, ``?``) can be made together, counted too high if in doubt."""
    plain = re.sub(r"\\.|(?<=\()\?", "", text)
    ways: int = 2 ** plain.count("?")
    for group in re.split(r"[()]", plain):
        ways *= 1 + group.count("|")
    return ways


# -- how Review.md begins when we make it: by this it is told from a note of the person's that has the same name


TITLE = "# Review"
MADE = (
    "`[x]` keeps a line, `[-]` rejects it, `[+]` keeps it and the line it would replace. Change its words in place if",
    "you like. Whatever you leave waits. Decisions are taken by `tars-memory review --from-note`, or by the next",
)
"""What it has begun with from the first."""
BEFORE = "command that writes, which then takes these lines away."
"""What followed in notes of older versions."""
INTRO = (
    *MADE,
    f"{BEFORE} `[x]` at `replace: …` below a line puts the line in its place; `Keep all …` decides every line below.",
)


def is_in_project(path: str) -> bool:
    """Whether a note lies where some layout has projects: its name alone may be that of another one's note."""
    return path.partition("/")[0].lower() in PROJECT_FOLDERS


def is_made_by_us(data: bytes) -> bool:
    """Whether a note of that name is a list of proposals: what stands in it stands in other notes already."""
    return all(line.encode("ascii") in data for line in MADE)


def shipped(path: str) -> bytes:
    """The text of a note in the vault template; empty if it has none of that name.

    Args:
        path: of the note, within its project (:meth:`Layout.inner`).
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_vault_template", package.parent / "vault-template"):
        try:
            return (folder / path).read_bytes()
        except OSError:
            continue
    return b""
