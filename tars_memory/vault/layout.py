"""Where the tiers are in a vault or in a project of it: by our settings, else by Obsidian's, else by default."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from unicodedata import normalize

from tars_memory import disk
from tars_memory.errors import SettingsError, TarsError, UsageError
from tars_memory.settings import PROJECTS, LayoutOptions
from tars_memory.vault import markdown
from tars_memory.vault.model import Tier

OURS = f"{disk.VAULT_FOLDER}/"
"""Folder of our own files, which are JSON, not notes."""
DECIDED = f"{OURS}decided.jsonl"
"""File of the decisions about proposals."""
FORGOTTEN = "forgotten.jsonl"
"""File in the vault's state folder of what was forgotten (:mod:`tars_memory.vault.writing.withheld`).

Its first line holds the salt, each further line what one command forgot.
"""

DAILY_FORMAT = "YYYY-MM-DD"
"""Default format of the daily notes' names."""
ARCHIVE = "archive"
"""Folder of daily notes and sessions that are past their window, in the vault and in each project."""
OBSIDIAN_DAILY = ".obsidian/daily-notes.json"
OBSIDIAN_PERIODIC = ".obsidian/plugins/periodic-notes/data.json"
OBSIDIAN_APP = ".obsidian/app.json"
OBSIDIAN_TEMPLATES = ".obsidian/templates.json"
OBSIDIAN_TEMPLATER = ".obsidian/plugins/templater-obsidian/data.json"
OBSIDIAN = (OBSIDIAN_PERIODIC, OBSIDIAN_DAILY, OBSIDIAN_TEMPLATES, OBSIDIAN_TEMPLATER, OBSIDIAN_APP)

Files = dict[str, dict[str, Any] | SettingsError]
"""Obsidian's settings files by path: the JSON object, or the error that it can't be read."""

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
"""Places of other programs' notes for ``[layout] like``, where they differ from ours."""

_PROJECT_FOLDERS = frozenset(places.get("projects", PROJECTS).lower() for places in LIKE.values())
"""The projects' folders of all layouts, in lower case."""

_SHOWN_OUTSIDE = frozenset({"istota"})
"""Programs whose projects hide nothing from the rest of the vault: they are chat rooms of one person."""

STARPOD_OWN = frozenset({"SOUL", "USER", "MEMORY", "HEARTBEAT", "BOOT", "BOOTSTRAP"})
"""Notes that starpod loads or runs: they are not topic notes, though they are in the same folder."""

_SOME_DAY = date(2026, 11, 21)
"""Any day, to try a daily note's format with."""
_NAMES_FOR_LANGUAGE = 20
"""Maximum number of daily notes whose names are read to find their language."""

_UNNAMEABLE = "[\x00-\x1f\x7f\ud800-\udc7f\udd00-\udfff]"
"""Control characters, and surrogates that represent no byte of a file's name."""

_MAX_FILTER_LENGTH = 200
"""Maximum number of characters of a filter, which comes with the vault and perhaps from a stranger."""

_COSTLY = r"\)[*+{]|(?:[*+{].*){3}"
"""A repeated group, or three repetitions: such a pattern may take for ever on a malicious path."""

_MAX_CHOICES = 256
"""Maximum number of combinations of a pattern's alternatives; those of consecutive groups multiply."""


class Excluded:
    """Obsidian's excluded files (``userIgnoreFilters``), which the person does not want to see in searches.

    Args:
        filters: as Obsidian stores them: the beginning of a path, or a regular expression between slashes.

    Attributes:
        not_understood: filters that are ignored, as they can't be used or would be too slow.
    """

    def __init__(self, filters: Iterable[Any] = ()) -> None:
        beginnings: list[str] = []
        self._patterns: list[re.Pattern[str]] = []
        self.not_understood: list[str] = []
        for text in filters:
            if not isinstance(text, str) or not text.strip():
                continue
            if len(text) > 2 and text.startswith("/") and text.endswith("/"):
                pattern = _compile_filter(text[1:-1])
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
    """Paths and headings of a vault, or of a project in it. All paths are relative to the vault, with ``/``.

    The index's fingerprint covers all public attributes; what must not change it is private.

    Args:
        options: the ``[layout]`` settings; None for the defaults.
        obsidian: Obsidian's settings, as :func:`_daily_settings` returns them; None for none.
        scope: the project; empty for the vault outside projects.
        root: the vault's root, to find how existing notes are spelled; None to take them as they are set.

    Attributes:
        scope: the project whose notes are ours; empty for those outside projects.
        like: the program whose places these are; empty for our own.
        projects: folder that holds a folder for each project.
        corrections: note for bad feedback.
        rewards: note for good feedback.
        facts: note of facts over time.
        review: note in which proposals are decided in an editor; it is in no tier.
        sessions: folder of the episodic tier.
        agents: folder in which each agent has a folder for its own notes.
        archive: folder that old daily notes and sessions are moved to, under the same path as before.
        log_heading: heading of a daily note under which ``log`` writes; empty for none.
        notes_section: heading under which ``remember`` writes by default; empty for none.
        daily_folder: folder of the daily notes; empty for the vault's root.
        daily_format: Moment format of their names, without ``.md``; may hold folders.
        daily_language: language of month and weekday names in that format and in templates; that of the existing daily
            notes.
        daily_template_path: the note that a new daily note starts from, or None.
        note_template_path: the note that a note made by ``new`` starts from, or None.
        new_folder: folder in which Obsidian creates notes; empty for the vault's root.
        new_beside: whether Obsidian creates notes beside the open note.
        excluded: the notes that Obsidian's searches leave out.
        template_folders: folders of notes that only serve to be copied, each with a slash at its end.
        date_format: format of ``{{date}}`` in a template.
        time_format: format of ``{{time}}`` in a template.
        problem: the reason why the place of the daily notes is not known, or None. Readers use the default meanwhile.
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
        obsidian = obsidian or {}
        like = LIKE.get(options.like, {})
        self.scope = scope
        self.problem: TarsError | None = None
        self._root = root
        self._existing_notes: dict[str, str] = {}
        if "projects" in like:
            theirs = self._as_spelled_on_disk(like["projects"])
            ours = root is not None and not (root / theirs).is_dir() and (root / PROJECTS).is_dir()
            self.projects = PROJECTS if ours else theirs  # projects that were made in our folder stay in use
        memory = like.get("memory", "Memory.md")
        if "/" in memory:
            folder, _, name = memory.rpartition("/")
            memory = f"{self._as_spelled_on_disk(folder)}/{name}"
        memory = _note(options.memory or memory, "layout.memory")
        procedural = _note(options.procedural or like.get("procedural", "Procedural.md"), "layout.procedural")
        self._days = int(like.get("days", 1))
        self._memory = memory, memory if options.memory else like.get("project_memory", memory)
        """Outside projects, and within one."""
        self._procedural = procedural
        self._check_apart()
        loaded = like.get("loaded", "User.md").split(", ") if options.loaded is None else options.loaded
        self._loaded = [_note(name, "layout.loaded") for name in loaded if name]
        self.like = options.like
        if (*self._memory, procedural) != ("Memory.md", "Memory.md", "Procedural.md"):
            self.named = (*self._memory, procedural)  # public, so that it is in the index's fingerprint
        sessions = options.sessions_folder
        if sessions == LayoutOptions.sessions_folder and "sessions_folder" in like:
            sessions = self._as_spelled_on_disk(like["sessions_folder"])
        self._sessions = _folder(sessions, "layout.sessions_folder", root)
        self.sessions = self._sessions
        self._playbooks = _folder(options.playbooks_folder, "layout.playbooks_folder", root)
        first = self._playbooks.partition("/")[0]
        if first in ("", self.projects, ARCHIVE, Layout.agents) or "/." in f"/{self._playbooks}":
            raise UsageError(
                f"{options.playbooks_folder!r} (layout.playbooks_folder) is not a folder for playbooks",
                "name a folder that is used for nothing else: playbooks",
            )
        if scope:
            for name in ("corrections", "rewards", "facts", "review", "agents", "sessions"):
                setattr(self, name, f"{self.projects}/{scope}/{getattr(self, name)}")
        self.archive = self._existing_archive()
        self.log_heading, self.notes_section = options.log_heading, options.notes_section
        if options.log_heading == LayoutOptions.log_heading:
            self.log_heading = like.get("log_heading", options.log_heading)
        if options.notes_section == LayoutOptions.notes_section:
            self.notes_section = like.get("notes_section", options.notes_section)
        self._daily_title = like.get("daily_title", "")
        self.date_format = obsidian.get("date_format") or DAILY_FORMAT
        self.time_format = obsidian.get("time_format") or "HH:mm"
        source = obsidian.get("source", OBSIDIAN_DAILY)
        form, template = options.daily_format, options.daily_template
        self._says_where_days_are = bool(
            options.daily_folder is not None or form or {"folder", "format"} & obsidian.keys()
        )
        if options.daily_folder is not None:
            self.daily_folder = _folder(options.daily_folder, "layout.daily_folder", root)
        else:
            usual = "" if {"folder", "format", "template"} & obsidian.keys() else like.get("daily_folder", "")
            folder = obsidian.get("folder", usual and self._as_spelled_on_disk(usual))
            self.daily_folder = _folder(folder, source, root)
        self.daily_template_path = _template(obsidian.get("template") if template is None else template, root)
        self.note_template_path = _template(options.note_template, root)
        self.new_folder, self.new_beside = "", False
        self.template_folders: tuple[str, ...] = ()
        self.excluded = Excluded()
        self.daily_format = form or obsidian.get("format") or DAILY_FORMAT
        if self.daily_folder or self.daily_format != DAILY_FORMAT:  # our defaults need no check
            self._check_format("layout.daily_format" if form else source)
            self._check_daily("layout" if options.daily_folder is not None or form else source)

    @property
    def places_days(self) -> bool:
        """Whether the person has set a folder or a format of the daily notes, here or in Obsidian."""
        return self._says_where_days_are

    @classmethod
    def of(
        cls, root: Path, options: LayoutOptions | None = None, files: Files | None = None, *, scope: str = ""
    ) -> Layout:
        """Return the layout of the vault at ``root``; a setting that can't be used becomes its :attr:`problem`.

        ``files`` are those of :data:`OBSIDIAN`, read now unless they are given.
        """
        files = disk.json_objects(root, OBSIDIAN) if files is None else files
        try:
            layout = cls(options, _daily_settings(files), scope=scope, root=root)
        except UsageError as error:
            layout = cls(scope=scope, root=root)
            if options is not None:
                layout.log_heading, layout.notes_section = options.log_heading, options.notes_section
            layout.problem = error
            if options is not None and None not in (options.daily_folder, options.daily_format):
                with contextlib.suppress(UsageError):  # our settings say it all, so Obsidian's don't matter
                    layout = cls(options, scope=scope, root=root)
        if (language := _daily_language(root, layout)) != Layout.daily_language:
            layout.daily_language = language
        layout.template_folders = _template_folders(root, files, layout)
        layout.excluded = _read_excluded(files)
        layout.new_folder, layout.new_beside = _read_new_note_place(root, files)
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
        """Return the note of the semantic tier in a project; for an empty ``scope`` the one outside projects."""
        return self._existing_note(self._memory[bool(scope)], scope)

    def procedural_of(self, scope: str) -> str:
        """Return the note of the procedural tier in a project; for an empty ``scope`` the one outside projects."""
        return self._existing_note(self._procedural, scope)

    @property
    def loaded(self) -> list[str]:
        """Further notes that ``context`` always loads; they are the person's own, like all other notes."""
        return self.loaded_of(self.scope)

    @property
    def daily_title(self) -> str:
        """Template text that a daily note begins with if no template is set."""
        return self._daily_title

    @property
    def days(self) -> int:
        """Default number of daily notes that a prompt begins with."""
        return self._days

    def loaded_of(self, scope: str) -> list[str]:
        """Return the further notes of a project, each followed by the vault's of the same name.

        For an empty ``scope`` only those outside projects.
        """
        scopes = [scope, ""] if scope else [""]
        return [self._existing_note(name, owner) for name in self._loaded for owner in scopes]

    def _existing_archive(self) -> str:
        """Return the folder ``archive``, or ``Archive`` in a vault that has that alone."""
        exists = self._root is not None and (self._root / ARCHIVE.capitalize()).is_dir()  # also where case is ignored
        return self._as_spelled_on_disk(ARCHIVE) if exists else ARCHIVE

    def _as_spelled_on_disk(self, path: str) -> str:
        """Return a folder's path with its steps as the vault spells them, if they differ by case alone."""
        if self._root is None:
            return path
        folder = self._root
        for step in path.split("/"):
            names: list[str] = []
            with contextlib.suppress(OSError):
                names = sorted(os.listdir(folder))
            folder /= step if step in names else next((name for name in names if name.lower() == step.lower()), step)
        return folder.relative_to(self._root).as_posix()

    @property
    def playbooks(self) -> str:
        """Folder of the playbooks: one note for each procedure that a person approved or may approve."""
        return self.playbooks_of(self.scope)

    def playbooks_of(self, scope: str) -> str:
        """Return the playbooks' folder of a project; for an empty ``scope`` the one outside projects."""
        return self.within(scope, self._playbooks)

    def is_playbook(self, path: str) -> bool:
        """Whether a note is a playbook, in any project or outside."""
        inner = self._split(path)[1]
        if not inner.startswith(f"{self._playbooks}/") or inner[-3:].lower() != ".md":
            return False
        hidden = any(step.startswith(".") or not step for step in inner.split("/"))
        return not hidden and self.tier_of(path) is Tier.NOTE and not self.is_template(path)

    def is_rules(self, path: str) -> bool:
        """Whether a note has rules or is a playbook, so that only a person may change what agents follow in it."""
        return self.tier_of(path) is Tier.PROCEDURAL or self.is_playbook(path)

    def _existing_note(self, name: str, scope: str) -> str:
        """Return the path of a note as the vault spells it: as it is set, else by :func:`_possible_spellings`."""
        path = self.within(scope, name)
        if self._root is not None and path not in self._existing_notes:
            self._existing_notes[path] = next(iter(self._existing_spellings(path)), path)
        return self._existing_notes.get(path, path)

    def _existing_spellings(self, path: str) -> list[str]:
        """Return the spellings of a path that exist in the vault; the first one counts."""
        assert self._root is not None
        existing = [spelling for spelling in _possible_spellings(path) if os.path.lexists(self._root / spelling)]
        if len(existing) > 1:  # on a file system that ignores case all of them seem to exist
            with contextlib.suppress(OSError):
                names = os.listdir((self._root / path).parent)
                existing = [spelling for spelling in existing if spelling.rpartition("/")[2] in names] or existing
        return existing

    def twins(self) -> list[tuple[str, str]]:
        """Return pairs of notes whose names differ only by case: the one that counts, there or not, and the other."""
        if self._root is None:
            return []
        paths = [*self.kept, *self.loaded]
        return [(path, other) for path in paths for other in self._existing_spellings(path) if other != path]

    def daily_path(self, day: date, *, scope: str | None = None) -> str:
        """Return the path of a day's daily note.

        Args:
            day: in the local zone.
            scope: the project; empty for none, None for the layout's own.

        Raises:
            UsageError: there is a :attr:`problem`.
        """
        if self.problem:
            raise self.problem
        scope = self.scope if scope is None else scope
        name = markdown.moment.render(self.daily_format, day, self.daily_language) + ".md"
        path = self.within(scope, f"{self.daily_folder}/{name}" if self.daily_folder else name)
        return _composed_as_on_disk(path, self._root)

    def archived(self, path: str) -> str:
        """Return the path of a note in the archive: the same path below ``archive/`` of the vault or its project."""
        scope, inner = self._split(path)
        return self.within(scope, f"{self.archive}/{inner}")

    def is_archived(self, path: str) -> bool:
        """Whether a path is that of a daily note or a session in the archive."""
        inner = self._split(path)[1]
        if self._is_session(inner):
            return not inner.startswith(f"{self._sessions}/")
        return self._day(inner) is None and self.day_of(path) is not None

    def day_of(self, path: str) -> date | None:
        """Return the day of a daily note, in its place or in the archive; None for any other path."""
        inner = self._split(path)[1]
        day = self._day(inner)
        if day is None and inner.startswith(f"{self.archive}/"):
            return self._day(inner[len(self.archive) + 1 :])
        return day

    def some_days(self, root: Path) -> list[Path]:
        """Return the last few daily notes of the vault at ``root`` by name, as far as such notes are in their place."""
        top, matcher = root / self.daily_folder, markdown.moment.pattern(self.daily_format)
        found = top.glob("*/" * self.daily_format.count("/") + "*.md")
        names = ((path, normalize("NFC", path.as_posix()[len(top.as_posix()) + 1 : -3])) for path in found)
        days = (path for path, name in names if matcher.fullmatch(name))
        return sorted(days)[-_NAMES_FOR_LANGUAGE:]

    def day_of_name(self, name: str) -> date | None:
        """Return the day whose daily note has a name, folders aside; None for a name that is not a whole date here."""
        form = self.daily_format.rpartition("/")[2]
        try:
            return markdown.moment.day(form, markdown.moment.pattern(form), name.strip())
        except ValueError:  # such as "DD" in a folder of a month
            return None

    def _day(self, path: str) -> date | None:
        """Return the day of a daily note in its place, by its path within the project; None for any other path."""
        folder = f"{self.daily_folder}/" if self.daily_folder else ""
        if not path.startswith(folder) or path[-3:].lower() != ".md":
            return None
        return markdown.moment.day(
            self.daily_format, markdown.moment.pattern(self.daily_format), path[len(folder) : -3]
        )

    def tier_of(self, path: str) -> Tier:
        """Return the tier of a note; in a project, by its path within the project."""
        scope, inner = self._split(path)
        if inner == Layout.facts or inner in _possible_spellings(self._memory[bool(scope)]):
            return Tier.SEMANTIC
        if inner in _possible_spellings(self._procedural):
            return Tier.PROCEDURAL
        if self._is_session(inner):
            return Tier.EPISODIC
        return Tier.DAILY if self.day_of(inner) else Tier.NOTE

    def scope_of(self, path: str) -> str:
        """Return the only project that sees a note; empty for a note that is seen from everywhere."""
        return "" if self.like in _SHOWN_OUTSIDE and self.projects != PROJECTS else self._split(path)[0]

    def project_of(self, path: str) -> str:
        """Return the project whose folder a note is in; empty for none."""
        return self._split(path)[0]

    def within(self, scope: str, name: str) -> str:
        """Return the path of a note in a project; for an empty ``scope`` its name."""
        return f"{self.projects}/{scope}/{name}" if scope else name

    def is_ours(self, path: str) -> bool:
        """Whether a note is in this scope: in the layout's project, or outside projects if it has none."""
        return self._split(path)[0] == self.scope

    def inner(self, path: str) -> str:
        """Return the path of a note within its project; outside projects its whole path."""
        return self._split(path)[1]

    def is_session(self, path: str) -> bool:
        """Whether a note is a session, in any project or outside, in its place or in the archive."""
        return self._is_session(self._split(path)[1])

    def _is_session(self, inner: str) -> bool:
        return inner.startswith((f"{self._sessions}/", f"{self.archive}/{self._sessions}/"))

    def agent_of(self, path: str) -> str:
        """Return the agent that a note belongs to, in any project or outside; empty for a note of no agent."""
        parts = self._split(path)[1].split("/", 2)
        return parts[1] if len(parts) == 3 and parts[0] == Layout.agents else ""

    def topics_of(self, agent: str) -> str:
        """Return the folder of an agent's topic notes; in starpod's vaults, which have one agent, that of MEMORY.md."""
        return self.memory.rpartition("/")[0] if self.like == "starpod" else f"{self.agents}/{agent}"

    def is_topic(self, path: str, agent: str) -> bool:
        """Whether a path is that of a topic note of an agent, and of nothing else."""
        folder, _, name = path.rpartition("/")
        if folder != self.topics_of(agent) or name[-3:].lower() != ".md" or name.startswith("."):
            return False
        if self.like != "starpod":
            return True
        taken = {note.casefold() for note in (*self.kept, *self.loaded)}
        stem = name[:-3].upper()
        return not (path.casefold() in taken or self.is_kept(path) or self.is_template(path) or stem in STARPOD_OWN)

    def is_review(self, path: str) -> bool:
        """Whether a path is that of the review note, the vault's or a project's."""
        return self._split(path)[1] == Layout.review

    @property
    def kept(self) -> tuple[str, ...]:
        """The single notes that this program keeps in the scope."""
        return self.memory, self.procedural, self.facts, self.review, self.corrections, self.rewards

    def is_kept(self, path: str) -> bool:
        """Whether a path is that of a note that this program keeps, or that an agent keeps for itself."""
        return (
            self.inner(path) in map(self.inner, self.kept)
            or self.tier_of(path) is not Tier.NOTE
            or bool(self.agent_of(path))
        )

    def is_template(self, path: str) -> bool:
        """Whether a note only serves to be copied."""
        templates = (self.daily_template_path, self.note_template_path)
        return path in templates or path.startswith(self.template_folders)

    def is_excluded(self, path: str) -> bool:
        """Whether Obsidian's searches leave a note out; notes of a tier are never left out."""
        return path in self.excluded and self.tier_of(path) is Tier.NOTE

    def is_facts(self, path: str) -> bool:
        """Whether a note holds facts over time, the vault's or a project's."""
        return self._split(path)[1] == Layout.facts

    def timed(self, path: str) -> bool:
        """Whether the entries of a note begin with a time."""
        inner = self._split(path)[1]
        return inner in (Layout.corrections, Layout.rewards) or self.day_of(inner) is not None

    def _split(self, path: str) -> tuple[str, str]:
        """Return the project of a path (empty for none) and the path within it."""
        parts = path.split("/", 2)
        return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == self.projects else ("", path)

    def _check_apart(self) -> None:
        """Check that each note has one role: what needs approval in one tier may be written in another without.

        Raises:
            UsageError: two roles share a note, or a note is in a folder for notes of another kind.
        """
        others = (Layout.facts, Layout.corrections, Layout.rewards, Layout.review)
        folders = (self.projects, ARCHIVE, Layout.agents)
        for memory in self._memory:
            names = [memory, self._procedural, *others]
            misplaced = next((name for name in names[:2] if name.partition("/")[0] in folders), "")
            if misplaced or len({name.casefold() for name in names}) < len(names):
                raise UsageError(
                    f"memory = {memory!r} and procedural = {names[1]!r} under [layout] can't both be used",
                    "name two notes with no other role: Memory.md, Procedural.md",
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
        """Check that a logged line will be found again as a line of that day.

        Raises:
            UsageError: the daily notes would be hidden, in a project or sessions, or no file can have such a name.
        """
        path = self.daily_path(_SOME_DAY, scope="")
        hidden = any(step.startswith(".") for step in path.split("/"))
        if hidden or _is_unnameable(path) or self.project_of(path) or self.tier_of(path) is not Tier.DAILY:
            raise UsageError(
                f"folder and format of the daily notes ({source}) make {path!r}, which is not a place for a daily note",
                "name a folder that is not hidden, outside projects and sessions, and a format like YYYY-MM-DD",
            )


def _daily_settings(files: Files) -> dict[str, Any]:
    """Return Obsidian's settings of daily notes: of the Periodic Notes plugin if it makes them, else the core plugin.

    Returns:
        folder, format and template as far as they are set, date_format and time_format of templates (or None), and
        source: the settings file.

    Raises:
        UsageError: a settings file can't be read, or a value is not text.
    """
    settings: dict[str, Any]
    periodic = _settings_of(files, OBSIDIAN_PERIODIC).get("daily")
    if isinstance(periodic, dict) and periodic.get("enabled"):
        settings, source = periodic, OBSIDIAN_PERIODIC
    else:
        settings, source = _settings_of(files, OBSIDIAN_DAILY), OBSIDIAN_DAILY
    values: dict[str, Any] = {key: settings[key] for key in ("folder", "format", "template") if settings.get(key)}
    templates = _settings_of(files, OBSIDIAN_TEMPLATES)
    values |= {"date_format": templates.get("dateFormat"), "time_format": templates.get("timeFormat")}
    for key, value in values.items():
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{key} in {source} is not text", "set it again in Obsidian: Settings, Daily notes")
    return {**values, "source": source}


def _read_excluded(files: Files) -> Excluded:
    """Return Obsidian's excluded files; none if its settings can't be read."""
    filters = _readable_settings(files, OBSIDIAN_APP).get("userIgnoreFilters")
    return Excluded(filters if isinstance(filters, list) else ())


def _read_new_note_place(root: Path, files: Files) -> tuple[str, bool]:
    """Return the folder in which Obsidian creates a note, and whether it does so beside the open note."""
    settings = _readable_settings(files, OBSIDIAN_APP)
    where, folder = settings.get("newFileLocation"), settings.get("newFileFolderPath")
    named = folder.strip().strip("/") if where == "folder" and isinstance(folder, str) else ""
    return _composed_as_on_disk(named, root), where == "current"


def _daily_language(root: Path, layout: Layout) -> str:
    """Return the language in which the existing daily notes name months and weekdays."""
    form = layout.daily_format
    if "MMMM" not in form and "dddd" not in form:
        return Layout.daily_language
    top = root / layout.daily_folder
    return markdown.moment.language_of(form, (path.relative_to(top).as_posix()[:-3] for path in layout.some_days(root)))


def _template_folders(root: Path, files: Files, layout: Layout) -> tuple[str, ...]:
    """Return the folders set for Obsidian's own templates and for Templater's, and the daily template's folder.

    The last one counts only if its name says so, as it may be a folder of notes. A folder that holds daily notes or
    sessions does not count.
    """
    places = ((OBSIDIAN_TEMPLATES, "folder"), (OBSIDIAN_TEMPLATER, "templates_folder"))
    named: list[object] = [_readable_settings(files, path).get(key) for path, key in places]
    beside = (layout.daily_template_path or "").rpartition("/")[0]
    if "templat" in beside.rpartition("/")[2].lower():
        named.append(beside)
    ours = (f"{layout.daily_folder}/", f"{layout.inner(layout.sessions)}/")
    names = (name.strip().strip("/") for name in named if isinstance(name, str))
    folders = {f"{_composed_as_on_disk(name, root)}/" for name in names if name}
    return tuple(sorted(folder for folder in folders if not any(place.startswith(folder) for place in ours)))


def _settings_of(files: Files, path: str) -> dict[str, Any]:
    """Return the JSON object of a settings file of Obsidian.

    Raises:
        UsageError: it could not be read.
    """
    settings = files[path]
    if isinstance(settings, SettingsError):
        raise UsageError(
            f"the place of the daily notes is unknown: {settings.message}",
            "set the daily notes again in Obsidian; or set daily_folder and daily_format under [layout]",
        ) from settings
    return settings


def _readable_settings(files: Files, path: str) -> dict[str, Any]:
    """Return the JSON object of a settings file of Obsidian; empty if it can't be read: no search must fail for it."""
    settings = files[path]
    return settings if isinstance(settings, dict) else {}


@cache
def _possible_spellings(path: str) -> tuple[str, ...]:
    """Return a note's path with its name as it is set, in upper case, in lower case and capitalised; no path twice.

    Each is followed by its composed and its decomposed form.
    """
    folder, slash, name = path.rpartition("/")
    stem = name[:-3]
    stems = (stem, stem.upper(), stem.lower(), stem.capitalize())
    spellings = (f"{folder}{slash}{spelling}.md" for spelling in stems)
    return tuple(dict.fromkeys(form for spelling in spellings for form in _composed(spelling)))


def _composed(path: str) -> tuple[str, ...]:
    """Return a path as it is, with its letters composed (NFC), and decomposed (NFD), as a Mac may write them."""
    return (path,) if path.isascii() else (path, normalize("NFC", path), normalize("NFD", path))


def _composed_as_on_disk(path: str, root: Path | None) -> str:
    """Return that form of a path (:func:`_composed`) that exists in the vault; the path as it is if none does."""
    if path.isascii() or root is None:
        return path
    return next((form for form in _composed(path) if os.path.lexists(root / form)), path)


def _is_unnameable(path: str) -> bool:
    """Whether a path holds a character that no file of a vault can be named by; usual ones need no pattern."""
    return not path.isprintable() and re.search(_UNNAMEABLE, path) is not None


def _note(path: str, source: str) -> str:
    """Return a setting as the path of a note, without slashes at its ends.

    Raises:
        UsageError: it is not a path of a note inside the vault.
    """
    path = path.strip().strip("/")
    hidden = any(part in ("", "..") or part.startswith(".") for part in path.split("/"))
    if path[-3:] != ".md" or hidden or _is_unnameable(path):
        raise UsageError(f"{path!r} ({source}) is not a note inside the vault", "give its path in the vault: Memory.md")
    return path


def _folder(path: str, source: str, root: Path | None) -> str:
    """Return a setting as the path of a folder, without slashes at its ends, its letters composed as in the vault.

    Raises:
        UsageError: the path would leave the vault, or no folder can have such a name.
    """
    path = path.strip().strip("/")
    if path and (any(part in ("", ".", "..") for part in path.split("/")) or _is_unnameable(path)):
        raise UsageError(
            f"{path!r} ({source}) is not a folder inside the vault", "give its path in the vault: notes/daily"
        )
    return _composed_as_on_disk(path, root)


def _template(path: str | None, root: Path | None) -> str | None:
    """Return a setting as the path of a note, with ``.md`` if that is missing, its letters composed as in the vault;
    None if it is empty.
    """
    path = (path or "").strip().strip("/")
    if not path:
        return None
    return _composed_as_on_disk(path if path[-3:].lower() == ".md" else f"{path}.md", root)


def _compile_filter(text: str) -> re.Pattern[str] | None:
    """Return a filter's pattern; None if it can't be used or would be too slow."""
    if len(text) > _MAX_FILTER_LENGTH or re.search(_COSTLY, text) or _count_choices(text) > _MAX_CHOICES:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError):
        return None


def _count_choices(text: str) -> int:
    """Return the number of combinations of a pattern's alternatives (``|`` in each group, ``?``), rather too high."""
    plain = re.sub(r"\\.|(?<=\()\?", "", text)
    ways: int = 2 ** plain.count("?")
    for group in re.split(r"[()]", plain):
        ways *= 1 + group.count("|")
    return ways


# -- the first lines of a Review.md that we make: they distinguish it from a person's note of the same name


TITLE = "# Review"
MADE = (
    "`[x]` keeps a line, `[-]` rejects it, `[+]` keeps it and the line it would replace. Change its words in place if",
    "you like. Whatever you leave waits. Decisions are taken by `tars-memory review --from-note`, or by the next",
)
"""First lines of the introduction."""
INTRO = (
    *MADE,
    (
        "command that writes, which then removes these lines. `[x]` at `replace: …` below a line puts the line in "
        "its place; `Keep all …` decides every line below."
    ),
)


def is_in_project(path: str) -> bool:
    """Whether a note is where some layout has projects: another project may have a note of the same name."""
    return path.partition("/")[0].lower() in _PROJECT_FOLDERS


def is_made_by_us(data: bytes) -> bool:
    """Whether a review note was made by us, so that its lines only repeat other notes."""
    return all(line.encode("ascii") in data for line in MADE)


def shipped(path: str) -> bytes:
    """Return the text of a note in the vault template; empty if the template has no such note.

    Args:
        path: the note's path within its project (:meth:`Layout.inner`).
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_vault_template", package.parent / "vault-template"):
        try:
            return (folder / path).read_bytes()
        except OSError:
            continue
    return b""
