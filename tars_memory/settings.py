"""Settings: flag > environment > configuration file > default, as frozen options, one class per section; and which
vault, project and kind of caller a call refers to.

Two files are read: the person's own ``config.toml`` (any key), and the vault's ``.tars/config.toml``, which may only
have what travels with a vault (``[layout]`` and ``[limits]``): a synced vault must not reconfigure the program.

The environment name of ``[section] key`` is ``TARS_MEMORY_SECTION_KEY``.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches  # typer has imported it
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from tars_memory import disk
from tars_memory.disk import OBSIDIAN_FOLDER, VAULT_FOLDER, Places
from tars_memory.errors import SettingsError, UnwritableError, UsageError, VaultError

# --- the sections and their keys


class Options:
    """Frozen values with defaults: the class attributes are the defaults, an instance overrides some of them.

    A frozen dataclass would do the same, but costs 0.8 ms per class at every start of the command line.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options are frozen: {name}")


def listed(text: str) -> tuple[str, ...]:
    """Return the items of a list that is written as one comma-separated string."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


class LayoutOptions(Options):
    """``[layout]``: where the tiers are in the vault. ``None`` means: Obsidian's own setting, else that of ``like``,
    else the default.

    Attributes:
        like: the program that made the vault, whose layout gives the defaults.
        memory, procedural: the notes of the semantic and of the procedural tier.
        loaded: further notes that ``context`` always loads.
        playbooks_folder: folder of the playbooks, in the vault and in each project.
    """

    like: str = ""
    memory: str | None = None
    procedural: str | None = None
    loaded: tuple[str, ...] | None = None
    daily_folder: str | None = None
    daily_format: str | None = None
    daily_template: str | None = None
    note_template: str = ""
    log_heading: str = "Log"
    notes_section: str = "Notes"
    sessions_folder: str = "sessions"
    playbooks_folder: str = "playbooks"


class LimitsOptions(Options):
    """``[limits]``: the maximum size of a note, and how much an agent may keep for itself.

    Attributes:
        topic_characters: maximum length of an agent's topic note; the same as starpod allows an agent's own memory.
        topics: maximum number of an agent's topic notes.
    """

    max_note_bytes: int = 10_000_000
    topic_characters: int = 8_000
    topics: int = 100


class StoreOptions(Options):
    """``[store]``: how writes behave."""

    lock_timeout: float = 30.0
    journal_days: int = 90


class CaptureOptions(Options):
    """``[capture]``: what is written with a line.

    Attributes:
        author: the author of the lines; empty for none. ``TARS_AUTHOR`` takes precedence.
    """

    author: str = ""


class Cut(NamedTuple):
    """How notes are cut into passages.

    Attributes:
        size: maximum length of a passage in characters: MiniLM sees 256 word pieces, about 1,000 characters with the
            prefix; 1,600 and 3,200 ranked worse on all three sets.
        overlap: characters that two pieces of one line share.
    """

    size: int = 800
    overlap: int = 160


CUT = Cut()
"""The default for notes; conversations are always cut like this."""


class IndexOptions(Options):
    """``[index]``: how the index is kept.

    Attributes:
        background: ``off`` starts no background process that reads new notes and makes vectors;
            ``TARS_MEMORY_BACKGROUND=0`` does the same for one call.
        database: ``postgresql://…`` of a team's index, without a password; search and context then ask that index.
        chunk_size: maximum length of a passage in characters.
        chunk_overlap: characters that two pieces of a longer line share; half of the size at most.
    """

    background: str = "on"
    database: str = ""
    chunk_size: int = 800
    chunk_overlap: int = 160
    cut = CUT  # of the size and the overlap

    def __init__(self, **values: Any) -> None:
        """Set the values.

        Raises:
            SettingsError: the overlap is more than half of the size.
        """
        super().__init__(**values)
        if 2 * self.chunk_overlap > self.chunk_size:
            raise SettingsError(
                f"index.chunk_overlap ({self.chunk_overlap}) is more than half of index.chunk_size ({self.chunk_size})",
                _SETTINGS_HINT,
            )
        vars(self)["cut"] = Cut(self.chunk_size, self.chunk_overlap)


NO_MODEL = "none"
"""The name that means no model, where a name has to be given."""


class EmbeddingOptions(Options):
    """``[embedding]``: which model makes vectors. ``embedded`` is the one installed by the extra of that name;
    :data:`NO_MODEL`: none, search is by words.
    """

    model: str = "embedded"


MODES = ("hybrid", "lexical", "semantic")
"""Modes of a search: by words and meaning, by words, by meaning."""


class RecallOptions(Options):
    """``[recall]``: how search and ``context`` answer.

    Attributes:
        limit: number of hits.
        mode: one of :data:`MODES`.
        playbook_days: days without use after which a playbook is left out of prompts; 0 for never.
        daily_half_life, session_half_life: days in which the recency of a daily or a session note loses half its
            weight; 0: it never fades.
    """

    limit: int = 10
    mode: str = "hybrid"
    playbook_days: int = 90
    daily_half_life: float = 30.0
    session_half_life: float = 180.0


class ContextOptions(Options):
    """``[context]``: what every prompt begins with.

    Attributes:
        days: number of daily notes: 1 is today's, more are the latest ones. Unset: that of ``[layout] like``, else 1.
        file_cap: maximum length of an always loaded note, in characters.
        facts: maximum number of facts in a prompt; facts about the user that are not events count, but are never left
            out.
        memory_chars, user_chars: length above which a memory note, or another always loaded note, counts as large; 0:
            never.
    """

    days: int = 1
    file_cap: int = 20_000
    facts: int = 50
    memory_chars: int = 8_000
    user_chars: int = 4_000


class WindowOptions(Options):
    """``[window]``: how ``context --window`` divides a model's window, in percent; the rest is for the conversation.

    Attributes:
        memory: share of rules, memory and daily notes.
        recall: share of facts and recalled lines.
        margin: share that stays free, because tokens are estimated.
    """

    memory: int = 15
    recall: int = 35
    margin: int = 10


DEFAULT = "default"
"""The name that means the model in the settings, where a name has to be given."""


class LlmOptions(Options):
    """``[llm]``: which language model extract, review and tidy may ask, and how much. Empty: none is asked.

    Attributes:
        model: its name for litellm (``openai/gpt-…``, ``ollama/…``).
        extract_model, review_model, tidy_model: another model for that job.
        endpoint: base address of the provider's interface; empty for the provider's own.
        key: the provider's key; empty takes it from the provider's own variable.
        timeout: seconds for one answer, by the wall clock.
        max_calls, max_tokens, max_cost: limits of one command; tokens both ways, cost in US dollars.
    """

    model: str = ""
    extract_model: str = ""
    review_model: str = ""
    tidy_model: str = ""
    endpoint: str = ""
    key: str = ""
    timeout: float = 120.0
    max_calls: int = 50
    max_tokens: int = 500_000
    max_cost: float = 1.0

    def named(self, job: str, model: str = "") -> str:
        """Return the model for a job: the given one, unless it is :data:`DEFAULT`, else the one set; empty for none,
        which each of them may also say with a word of :data:`NOTHING`.
        """
        name = (model if model != DEFAULT else "") or str(getattr(self, f"{job}_model")) or self.model
        return "" if name.strip().lower() in NOTHING else name


KEEPS = ("exchanges", "facts", "quotes", "full")
"""Which turns a session note keeps: those that a fact quotes, with the turns right before and after them; none; only
those that a fact quotes; all of them."""


class ExtractOptions(Options):
    """``[extract]``: which conversations are worth examining, and what a session note keeps (one of :data:`KEEPS`)."""

    min_user_turns: int = 3
    keep: str = "exchanges"


class ReviewOptions(Options):
    """``[review]``: how long candidates are offered, and how many at a time."""

    window_days: int = 14
    limit: int = 10


class TidyOptions(Options):
    """``[tidy]``: how large a section may be, and how long notes stay where they are.

    Attributes:
        section_entries: number of bullets above which a section is a finding.
        daily_days: age in days above which a daily note is archived.
        session_days: days after the end of their month or year after which sessions are summarised.
        session_period: ``month`` or ``year``.
        summary_lines: maximum number of statements in a summary.
    """

    section_entries: int = 60
    daily_days: int = 90
    session_days: int = 180
    session_period: str = "month"
    summary_lines: int = 100


class SleepOptions(Options):
    """``[sleep]``: what a night's work does.

    Attributes:
        sources: files and folders of chat logs.
        archive: move daily notes past their window to the archive.
        tidy: remove what ``tidy`` can remove without loss; else only report it.
        curate: let the model that is set for ``tidy`` propose what the last days change in the memory.
    """

    sources: tuple[str, ...] = ()
    archive: bool = True
    tidy: bool = False
    curate: bool = False


class HookOptions(Options):
    """``[hook]``: what coding agents receive, and when their conversations are examined.

    Attributes:
        review_every: number of the person's messages between two examinations of a conversation; 0: never.
        lines: events that get a line in today's note: ``tools``, ``corrections``, ``compaction``.
        budget: maximum number of tokens at the start of a session.
        days: number of daily notes at the start of a session, today's included.
        found_budget: maximum number of tokens for a prompt.
        model: the model for the background, as ``[llm] model``; ``none`` for the built-in rules; empty for that of
            ``[llm]``.
        timeout: maximum number of seconds that the agent waits; then it receives nothing.
        longest: seconds after which a background run is stopped.
    """

    review_every: int = 10
    lines: tuple[str, ...] = ()
    budget: int = 2_000
    days: int = 2
    found_budget: int = 800
    model: str = ""
    timeout: float = 5.0
    longest: int = 3_600


class SourcesOptions(Options):
    """``[sources]``: conversations that are searched beside the vault. Only read from the person's own file.

    Attributes:
        paths: files and folders of logs; ``sources add`` writes them.
        vectors: number of the newest passages that get a vector; all others are found by their words.
    """

    paths: tuple[str, ...] = ()
    vectors: int = 50_000

    @property
    def logs(self) -> list[str]:
        """The files and folders of ``paths``, absolute, in order."""
        return [os.path.abspath(os.path.expanduser(name)) for name in self.paths]


class VaultsOptions(Options):
    """``[vaults]``: vaults of others. Only read from the person's own file.

    Attributes:
        shared: folders of vaults that are searched beside the person's own, and never written.
    """

    shared: tuple[str, ...] = ()


class TerminalOptions(Options):
    """``[terminal]``: how a person's screen is used.

    Attributes:
        pager: the program that shows output longer than the screen; ``off`` for none, empty for ``PAGER``, else less.
    """

    pager: str = ""


class FactsOptions(Options):
    """``[facts]``: kinds of predicates; the facts of all other predicates coexist.

    Attributes:
        single: predicates with one value at a time for a subject; a new value ends the old one.
        temporary: predicates that never end anything.
        events: predicates of events, which happen once and count for 90 days unless an end is given.
        getting, giving: predicates of getting a thing and of giving it away; giving it away ends the facts that say
            that the subject got it.
        me: the subjects that mean the user.
    """

    me: tuple[str, ...] = ("me", "I", "we", "user", "the user", "ich", "wir", "yo", "nosotros", "je", "nous")
    single: tuple[str, ...] = listed(
        "lives in, works at, works as, works for, job, employer, is called, name, phone, email, address, birthday,"
        " age, married to, partner, boss, manager, uses editor, drives, home town, status, role, favourite colour,"
        " has status, has role"
    )
    temporary: tuple[str, ...] = listed(
        "is in, is visiting, is on holiday, is ill, feels, is reading, is working on, staying in, visiting"
    )
    events: tuple[str, ...] = listed(
        "met, visited, travelled to, attended, bought, sold, started, finished, moved to, celebrated, interested in,"
        " completed, acquired, disposed of, traveled to"
    )
    getting: tuple[str, ...] = ("acquired", "bought", "owns")
    giving: tuple[str, ...] = ("disposed of", "sold")


class PermissionOptions(Options):
    """``[permissions]``: what may happen without a person at the terminal. Only read from the person's own file."""

    unattended_rules: bool = False
    unattended_review: bool = False
    unattended_compress: bool = False


ALLOWED: dict[str, tuple[float, float] | tuple[str, ...]] = {
    "layout.like": ("", "tars", "starpod", "istota", "starbot"),
    "limits.max_note_bytes": (1_000, 2_000_000_000),
    "limits.topic_characters": (100, 100_000),
    "limits.topics": (1, 1_000),
    "store.lock_timeout": (0, 86_400),
    "store.journal_days": (1, 36_500),
    "index.background": ("on", "off"),
    "index.chunk_size": (200, 8_000),
    "index.chunk_overlap": (0, 4_000),
    "llm.timeout": (1, 3_600),
    "llm.max_calls": (0, 100_000),
    "llm.max_tokens": (0, 1_000_000_000),
    "llm.max_cost": (0, 100_000),
    "extract.min_user_turns": (0, 1_000),
    "extract.keep": KEEPS,
    "review.window_days": (1, 3_650),
    "review.limit": (1, 1_000),
    "tidy.section_entries": (1, 100_000),
    "tidy.daily_days": (1, 36_500),
    "tidy.session_days": (1, 36_500),
    "tidy.session_period": ("month", "year"),
    "tidy.summary_lines": (10, 2_000),
    "hook.review_every": (0, 100_000),
    "hook.budget": (0, 1_000_000),
    "hook.days": (0, 366),
    "hook.found_budget": (0, 1_000_000),
    "hook.timeout": (0.1, 600),
    "hook.longest": (1, 86_400),
    "sources.vectors": (0, 10_000_000),
    "context.days": (0, 366),
    "context.file_cap": (0, 10_000_000),
    "context.facts": (0, 10_000),
    "context.memory_chars": (0, 10_000_000),
    "context.user_chars": (0, 10_000_000),
    "window.memory": (0, 100),
    "window.recall": (0, 100),
    "window.margin": (0, 100),
    "recall.limit": (1, 1_000),
    "recall.daily_half_life": (0, 36_500),
    "recall.session_half_life": (0, 36_500),
    "recall.mode": MODES,
    "recall.playbook_days": (0, 36_500),
}
"""The range or the allowed words of a setting; settings that are not listed may have any value of their type."""

OFF = frozenset({"0", "false", "no", "off"})
"""Values that turn a setting off."""
NOTHING = OFF | {NO_MODEL}
"""Values that mean none of what a setting names."""
OFF_AS = {"embedding.model": NO_MODEL, "index.background": "off", "hook.lines": "", "terminal.pager": "off"}
"""The one word that replaces each of :data:`NOTHING` (and, in a file, ``false``) in a setting that can be off; in a
list, no item."""
EMBEDDING_MODELS = ("embedded", "multilingual", NO_MODEL)
"""Names of embedding models without a slash; one with a slash can be downloaded."""


# --- files and variables

VAULT_SECTIONS = frozenset({"layout", "limits"})
"""The sections that a vault's own ``.tars/config.toml`` may set."""
NEVER_BY_ENVIRONMENT = frozenset({"permissions", "sources", "vaults"})
"""The sections that only the person's own file may set: a caller could set a variable, and so grant itself rights."""

OURS = "TARS_MEMORY_"
VARIABLES = frozenset(
    {
        *(f"{OURS}{name}" for name in ("DIR", "HOME", "ACTOR", "DEBUG", "SQLITE", "BACKGROUND")),
        *("TARS_NOW", "TARS_AUTHOR", "TARS_PROJECT", "TARS_AUTO_EXTRACT"),
    }
)
"""The variables that are not a key of a section."""

AUTO = "TARS_AUTO_EXTRACT"
"""Variable that keeps hooks, cron and sleep from extracting."""

BACKGROUND = f"{OURS}BACKGROUND"
"""Variable that keeps a call from starting a background process that finishes the index."""


def allows(env: Mapping[str, str], variable: str) -> bool:
    """Return whether a variable, :data:`AUTO` or :data:`BACKGROUND`, does not forbid the work that it controls."""
    return env.get(variable, "").strip().lower() not in OFF


ACTOR = "TARS_MEMORY_ACTOR"
"""Variable in which a caller may name its kind: ``agent``, ``script``, ``cron`` or ``person``."""

# A mark is a variable that an agent's host sets for the commands that the agent runs, and for nothing else. Variables
# that people's own terminals have, too, are not marks (CURSOR_TRACE_ID, CLAUDE_CODE_SSE_PORT, CODEX_HOME,
# GOOSE_PROVIDER, COPILOT_MODEL): they would take decisions away from people. A mark is a sign, not a lock:
# whoever runs a command can remove a variable.
AGENT_MARKS = (
    "CLAUDECODE", "AI_AGENT", "AGENT", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
    "CURSOR_AGENT", "GEMINI_CLI", "OPENCODE", "OPENCODE_CLIENT", "COPILOT_CLI", "COPILOT_AGENT",
    "COPILOT_AGENT_SESSION_ID", "GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID", "CRUSH", "QWEN_CODE", "CLINE_ACTIVE",
    "AUGMENT_AGENT", "PI_CODING_AGENT", "TRAE_AI_SHELL_ID",
)  # fmt: skip
"""Variables that show that an agent started the process; docs/commands.md says who sets which."""


def agent_mark(env: Mapping[str, str]) -> str:
    """Return the variable that shows that an agent runs this process; empty if none does."""
    if env.get(ACTOR) == "agent":
        return ACTOR
    return next((mark for mark in AGENT_MARKS if env.get(mark)), "")


AnyOptions = TypeVar("AnyOptions", bound=Options)


class SettingsSection(Generic[AnyOptions]):
    """A section of the settings as an attribute of :class:`Settings`: read at its first use, then kept."""

    def __init__(self, kind: type[AnyOptions]) -> None:
        self.kind = kind

    def __set_name__(self, _: type, name: str) -> None:
        self.name = name

    def __get__(self, settings: Settings, _: type) -> AnyOptions:
        """The options of the section.

        Raises:
            SettingsError: a value does not have the type of its key.
        """
        options: AnyOptions = self.kind(**settings.values_of(self.name, self.kind))
        vars(settings)[self.name] = options
        return options


class Settings:
    """All options, with an attribute for each section, and the vault that the configuration names.

    ``origins`` maps ``section.key`` to the place that set it (``config``, ``vault config``, or the variable's name).
    ``unknown_variables`` has a sentence for each variable that looks like one of ours but is unknown, and so sets
    nothing. ``vault_problem`` is an error in the vault's own file, or None: a sync brought the file, perhaps half of
    it, so it must not end a command. ``passed_over`` is a vault here or above that :func:`find_vault` did not take
    because the person never used it there, or None.
    """

    layout = SettingsSection(LayoutOptions)
    limits = SettingsSection(LimitsOptions)
    store = SettingsSection(StoreOptions)
    capture = SettingsSection(CaptureOptions)
    index = SettingsSection(IndexOptions)
    embedding = SettingsSection(EmbeddingOptions)
    recall = SettingsSection(RecallOptions)
    context = SettingsSection(ContextOptions)
    window = SettingsSection(WindowOptions)
    llm = SettingsSection(LlmOptions)
    extract = SettingsSection(ExtractOptions)
    review = SettingsSection(ReviewOptions)
    tidy = SettingsSection(TidyOptions)
    sleep = SettingsSection(SleepOptions)
    sources = SettingsSection(SourcesOptions)
    vaults = SettingsSection(VaultsOptions)
    hook = SettingsSection(HookOptions)
    terminal = SettingsSection(TerminalOptions)
    facts = SettingsSection(FactsOptions)
    permissions = SettingsSection(PermissionOptions)

    def __init__(self, env: Mapping[str, str], places: Places | None = None) -> None:
        self.env = env
        self.places = places = places or Places.of(env)
        self.origins: dict[str, str] = {}
        self.vault_problem: UsageError | None = None
        self.passed_over: Path | None = None
        self._user = disk.toml_table(places.config / "config.toml")
        self._vault: dict[str, Any] = {}
        self._vault_table: dict[str, Any] = {}
        self.unknown_variables = self._unknown_variables()

    def read_vault(self, root: Path) -> None:
        """Read the vault's own configuration; keys outside :data:`VAULT_SECTIONS` are ignored."""
        try:
            table = disk.toml_table(root / VAULT_FOLDER / "config.toml", root)
        except SettingsError as error:
            self.vault_problem = error
            table = {}
        self._vault_table = table
        self._vault = {name: value for name, value in table.items() if name in VAULT_SECTIONS}
        for name in SECTIONS:  # all at once, since a command uses most of them
            try:
                getattr(self, name)
            except SettingsError:
                continue  # raised again where the section is used

    def _unknown_variables(self) -> list[str]:
        """Return the value of :attr:`unknown_variables`."""
        sections = [name for name in SECTIONS if name not in NEVER_BY_ENVIRONMENT]
        known = {f"{OURS}{section}_{key}".upper() for section in sections for key in SECTIONS[section].__annotations__}
        known |= VARIABLES
        found = []
        for name in self.env:
            if name.startswith("TARS_") and name not in known:
                ours = name.startswith(OURS)
                near = _nearest(name, known if ours else VARIABLES, OURS if ours else "TARS_")
                if near or ours:  # other programs may have variables with this prefix, too
                    found.append(f"the variable {name} is unknown and sets nothing{near}")
        return sorted(found)

    def unknown_keys(self) -> list[str]:
        """Return a sentence for each unknown key of the configuration files, which sets nothing."""
        found = []
        own = self.places.config / "config.toml"
        for file, table, sections in (
            (own, self._user, SECTIONS.keys()),
            (f"{VAULT_FOLDER}/config.toml", self._vault_table, VAULT_SECTIONS),
        ):
            for name, part in table.items():
                if name == "vault" and file is own:
                    continue
                if name in SECTIONS and name not in sections:
                    found.append(f"{file}: [{name}] is ignored: a vault may only set [layout] and [limits]")
                elif name not in SECTIONS or not isinstance(part, dict):
                    shown = f"[{name}]" if isinstance(part, dict) else name
                    found.append(f"{file}: {shown} is unknown and sets nothing{_nearest(name, {*sections, 'vault'})}")
                else:
                    keys = SECTIONS[name].__annotations__
                    found += [
                        f"{file}: {key} in [{name}] is unknown and sets nothing{_nearest(key, keys)}"
                        for key in part
                        if key not in keys
                    ]
        return found

    def vault_path(self) -> str | None:
        """Return the vault that the person's own configuration names (``vault = "~/Notes"``); None if it names none."""
        value = self._user.get("vault")
        if value is not None and not isinstance(value, str):
            raise SettingsError(f"vault in {self.places.config / 'config.toml'} must be a path in quotes")
        return os.path.expanduser(value) if value else None

    def write(self, section: str, key: str, value: str | Sequence[str]) -> Path:
        """Set one key in the person's own configuration, leaving every other line as it is; return the file.

        The file may be a link to where the person keeps it; its permissions stay.

        Raises:
            UnwritableError: the file can't be written.
        """
        path = self.places.config / "config.toml"
        try:
            text = (disk.read(path, links=True) or b"").decode()
            line = f"{key} = {json.dumps(value, ensure_ascii=False)}"
            changed = with_setting(text, section, line, key)
            if line not in changed:
                raise UnwritableError(
                    f"{path}: {section} is written in a way that this program won't change", f"set {key} of it there"
                )
            place = Path(os.path.realpath(path))
            place.parent.mkdir(parents=True, exist_ok=True)
            rights = stat.S_IMODE(place.stat().st_mode) if place.exists() else None
            disk.replace(place, changed.encode(), 0o666, rights)
        except OSError as error:
            hint = f"set {key} in [{section}] there"
            raise UnwritableError(f"{path} can't be written: {error.strerror}", hint) from error
        self.read_again(section)
        return path

    def read_again(self, section: str) -> None:
        """Read a section of the person's own configuration as it is on disk now.

        Raises:
            SettingsError: the file can't be read.
        """
        self._user = disk.toml_table(self.places.config / "config.toml")
        vars(self).pop(section, None)

    def values_of(self, section: str, kind: type[Options]) -> dict[str, Any]:
        """The keys of a section that are set, from all places; the nearest place wins.

        Raises:
            SettingsError: a value does not have the type of its key.
        """
        values: dict[str, Any] = {}
        tables = (("config", self._user), ("vault config", self._vault))
        for key in kind.__annotations__:
            variable = f"TARS_MEMORY_{section}_{key}".upper()
            said: list[tuple[str, object]] = []
            if self.env.get(variable) and section not in NEVER_BY_ENVIRONMENT:  # an empty variable counts as unset
                said.append((variable, self.env[variable]))
            for place, table in tables:
                part = table.get(section)
                if isinstance(part, dict) and key in part:
                    said.append((place, part[key]))
            for place, value in said:
                try:
                    name = f"{section}.{key}"
                    default = () if "tuple" in kind.__annotations__[key] else getattr(kind, key)
                    typed = _typed(_off(value, name), default, f"{name} ({place})")
                    values[key] = _allowed(typed, name, place)
                except SettingsError as error:
                    if place != "vault config":
                        raise
                    self.vault_problem = self.vault_problem or error
                    continue
                self.origins[f"{section}.{key}"] = place
                break
        return values


SECTIONS: dict[str, type[Options]] = {
    name: section.kind for name, section in vars(Settings).items() if isinstance(section, SettingsSection)
}
"""The sections of a configuration file."""


def with_setting(text: str, section: str, line: str, key: str) -> str:
    """Set one line of a section in a configuration: in place, else below the section's name, else at the end; at the
    start if the section is written as ``section.key = …``. A text in which none of these would be valid is returned
    unchanged.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split("\n")
    head = next((at for at, row in enumerate(lines) if re.match(rf"\ufeff?\s*\[{section}\]\s*(#.*)?$", row)), None)
    if head is None:
        ways = (f"{text.rstrip()}{end}{end}[{section}]{end}{line}{end}".lstrip(), f"{section}.{line}{end}{text}")
        return next((changed for changed in ways if _is_whole(changed.lstrip("\ufeff"))), text)
    line += end[:-1]
    for at in range(head + 1, len(lines)):
        if lines[at].lstrip().startswith("["):
            break
        if re.match(rf"\s*{key}\s*=", lines[at]):
            ends = (end for end in range(at + 1, len(lines)) if _is_whole("\n".join([*lines[at:end], ""])))
            return "\n".join([*lines[:at], line, *lines[next(ends, at + 1) :]])
    return "\n".join([*lines[: head + 1], line, *lines[head + 1 :]])


def _is_whole(text: str) -> bool:
    """Whether lines of a configuration are complete, so that no value continues on the next line."""
    import tomllib  # only when the program writes a setting

    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


_KINDS: dict[type, str] = {str: "text in quotes", int: "whole number", float: "number", bool: "true or false"}
_LONGEST_SHOWN = 80
_SETTINGS_HINT = "fix it there; man tm lists all settings"


def _off(value: object, name: str) -> object:
    """Return the word for nothing (:data:`OFF_AS`) if the setting's value means nothing; else the value."""
    means_nothing = value is False or (isinstance(value, str) and value.strip().lower() in NOTHING)
    return OFF_AS.get(name, value) if means_nothing else value


def _allowed(value: Any, name: str, place: str) -> Any:
    """Return a value that :data:`ALLOWED` permits.

    Raises:
        SettingsError: the value is not permitted.
    """
    known = ALLOWED.get(name, ())
    if name == "embedding.model" and value not in EMBEDDING_MODELS and "/" not in value:
        names = ", ".join(EMBEDDING_MODELS)
        hint = f"it is one of {names}, or a name with a slash: tars-memory models --all lists them"
        raise SettingsError(f"{name} ({place}): {_shown(value)} is unknown", hint)
    if isinstance(value, str):
        if known and value not in known:
            raise SettingsError(
                f"{name} ({place}): {_shown(value)} is unknown", f"it is one of {', '.join(map(str, known))}"
            )
    elif known:
        least, greatest = known[:2]
        if not least <= value <= greatest:
            raise SettingsError(
                f"{name} ({place}): {_shown(value)} is not between {least} and {greatest}", _SETTINGS_HINT
            )
    return value


def _typed(value: object, default: object, where: str) -> object:
    """Return the value as its default's type; text (from the environment) is converted.

    Raises:
        SettingsError: the text can't be converted, or a value of TOML has another type.
    """
    kind: type = str if default is None else type(default)
    if kind is bool and isinstance(value, str):
        if value.lower() in ("1", "true", "yes", "on"):
            return True
        if value.lower() in OFF or not value:
            return False
        raise SettingsError(f"{where}: {_shown(value)} is neither true nor false", _SETTINGS_HINT)
    if kind is tuple:
        if isinstance(value, str):
            return listed(value)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SettingsError(f"{where} must be a list of strings, not {_shown(value)}", _SETTINGS_HINT)
        return tuple(value)
    if isinstance(value, str) or (kind is float and isinstance(value, int) and not isinstance(value, bool)):
        try:
            return kind(value)
        except (ValueError, OverflowError) as error:
            raise SettingsError(f"{where}: {_shown(value)} is not a {_KINDS[kind]}", _SETTINGS_HINT) from error
    if type(value) is not kind:
        raise SettingsError(f"{where} must be a {_KINDS[kind]}, not {_shown(value)}", _SETTINGS_HINT)
    return value


def _nearest(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return "did you mean" with the most similar known name, to end a sentence with; empty if none is similar."""
    rests = [other.removeprefix(prefix) for other in known if other.startswith(prefix)]
    near = get_close_matches(name.removeprefix(prefix), rests, n=1, cutoff=0.65)
    return f"; did you mean {prefix}{near[0]}?" if near else ""


def _shown(value: object) -> str:
    """Return a value as messages show it, cut if it is long; Python refuses to print numbers of thousands of digits."""
    try:
        shown = repr(value)
    except ValueError:
        return "a number of thousands of digits"
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


# --- projects

AUTHOR = "TARS_AUTHOR"
"""Variable that names the author of written lines, such as an agent in a vault with several writers."""

PROJECT = "TARS_PROJECT"
"""Variable that names the project."""
PROJECT_FILE = ".tars-project"
"""File whose first line names the project of its folder and of all folders below."""

NO_PROJECT = "none"
"""The name that means no project, whatever a variable or a file says."""

PROJECTS = "projects"
"""The vault's folder of projects, with one folder per project, unless its layout names another folder."""

_LONGEST_NAME = 200
"""Maximum length of a project's name in bytes: file systems allow 255 for a folder's name."""


def may_be_folder(text: str) -> bool:
    """Return whether a path from a log can be a folder here: it is absolute, and no system has a longer path."""
    return os.path.isabs(text) and "\0" not in text and len(text.encode("utf-8", "replace")) < 4_096


def chosen_project(
    flag: str | None, env: Mapping[str, str], cwd: Path, places: Places | None = None, notices: list[str] | None = None
) -> str:
    """Return the chosen project: ``--project``, else ``TARS_PROJECT``, else a ``.tars-project`` file here or above.

    Args:
        flag: the value of ``--project``, or None.
        env: the variables.
        cwd: the folder from which to look for the file upward.
        places: if given, skip a file inside a vault that the person never used there, as that vault is skipped.
        notices: receives a sentence for a file that can't be used, which is skipped then; None raises the error.

    Returns:
        The name as it was given; empty for none.

    Raises:
        UsageError: no folder can have the name.
    """
    if flag == "":
        raise UsageError("--project is empty", f"name a folder below {PROJECTS}/, or {NO_PROJECT}, or leave it out")
    if flag is not None:
        return project_name(flag, "--project")
    if env.get(PROJECT):
        return project_name(env[PROJECT], PROJECT)
    strangers = [root for root, strange in vaults_above(places, cwd) if strange] if places is not None else []
    for folder in (cwd, *cwd.parents):
        if any(folder.is_relative_to(root) for root in strangers):
            continue
        path = folder / PROJECT_FILE
        try:
            data = disk.read(path)
            if data is not None:
                first = data.split(b"\n", 1)[0][: 4 * _LONGEST_NAME]
                return project_name(first.decode("utf-8-sig", "replace").strip(), str(path))
        except UsageError as error:
            if notices is None:
                raise
            notices.append(f"ignored: {error.message}")
    return ""


def project_name(text: str, where: str) -> str:
    """Return a project's name from a setting; empty for :data:`NO_PROJECT`.

    Args:
        text: the value.
        where: the option, variable or file that it came from, for the message.

    Raises:
        UsageError: no folder of a vault can have this name: it would lead elsewhere, be hidden, or break links.
    """
    name = text.strip()
    if name == NO_PROJECT:
        return ""
    odd = not name or name[0] == "." or name[-1] in ". " or len(name.encode("utf-8", "replace")) > _LONGEST_NAME
    if odd or not name.isprintable() or any(sign in name for sign in '/\\:*?"<>|#^[]%'):
        raise UsageError(
            f"{_shown(name)} ({where}) is not a project", f"name a folder below {PROJECTS}/, or {NO_PROJECT}"
        )
    return name


def find_project(projects: Path, name: str) -> str:
    """Return the name of a project as its folder spells it: case and composition of letters don't matter.

    A project that has no folder yet keeps the given name, its letters composed.

    Args:
        projects: the vault's folder of projects.
        name: the given name.
    """
    if not name or (projects / name).is_dir():
        return name
    from unicodedata import normalize

    wanted = normalize("NFC", name).casefold()
    try:
        found = sorted(folder.name for folder in projects.iterdir() if folder.is_dir())
    except OSError:
        found = []
    return next((other for other in found if normalize("NFC", other).casefold() == wanted), normalize("NFC", name))


# --- the chosen vault


def here() -> Path:
    """Return the current folder; the root if it was removed, as happens to jobs, so that nothing is found above it."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.sep)


def quoted(path: str) -> str:
    """Return a path quoted for a shell."""
    import shlex  # only errors need it

    return shlex.quote(path)


class StrangeVaultError(VaultError):
    """There is a vault here that the person never used, and no other one is named; ``root`` is its real path."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            f"{root} is a vault that you have never used here",
            f"if it is yours, run once: tars-memory init {quoted(str(root))}; else name yours with --vault",
        )
        self.root = root


def vaults_above(places: Places, cwd: Path, mark: str = VAULT_FOLDER) -> Iterator[tuple[Path, bool]]:
    """Yield the vaults here and above, nearest first: the real path, and whether the person has never used it there.

    A folder that came from elsewhere (a clone, an archive) may be a vault, too, and its notes are then a stranger's
    words.
    """
    for folder in (cwd, *cwd.parents):
        if (folder / mark).is_dir():
            root = folder.resolve()
            yield root, not places.has_used(root)


def find_vault(flag: str | None, settings: Settings, cwd: Path) -> Path:
    """Return the vault's real path: from ``--vault``, ``TARS_MEMORY_DIR``, a vault here or above that the person has
    used there before, or the configuration; without any of them a vault that only Obsidian knows.

    A vault that the person never used is skipped, and named in :attr:`Settings.passed_over`.

    Raises:
        UsageError: the flag is empty, for example because of an unset variable.
        StrangeVaultError: the only vault here is one that the person never used.
        VaultError: no vault is named or found, or the named one is not a folder.
    """
    if flag == "":
        raise UsageError("--vault is empty", "name the vault's folder, or leave --vault out")
    named = flag or settings.env.get("TARS_MEMORY_DIR")
    strangers: list[Path] = []
    if not named:
        for found, strange in vaults_above(settings.places, cwd):
            if not strange:
                settings.passed_over = next(iter(strangers), None)
                return found
            strangers.append(found)
        named = settings.vault_path()
    if strangers and not named:
        raise StrangeVaultError(strangers[0])
    for found, strange in () if named else vaults_above(settings.places, cwd, OBSIDIAN_FOLDER):
        if strange:
            raise StrangeVaultError(found)
        return found
    if not named:
        raise VaultError(
            "no vault here", "name one with --vault or TARS_MEMORY_DIR, or make one: tars-memory init PATH"
        )
    root = Path(os.path.expanduser(named))
    try:
        real = root.resolve(strict=True)
        if not real.is_dir():
            raise VaultError(f"{root} is not a folder", "name the vault's folder with --vault")
    except (OSError, RuntimeError, ValueError) as error:
        raise VaultError(
            f"no vault at {named!r}: {getattr(error, 'strerror', None) or error}",
            "is it mounted? tars-memory init makes a new one",
        ) from error
    settings.passed_over = next((each for each in strangers if each != real), None)
    return real
