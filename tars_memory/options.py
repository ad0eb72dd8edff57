"""What can be set, one class of options for each room, with its defaults.

:mod:`tars_memory.settings` fills them from flag, environment, configuration file and vault.
"""

from __future__ import annotations

from typing import Any


class Options:
    """Frozen values with defaults: the class attributes are the defaults, an instance overrides some of them.

    A frozen dataclass would say the same at 0.8 ms a class, which every start of the command line would pay.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options are frozen: {name}")


class LayoutOptions(Options):
    """``[layout]``: where the tiers live in the vault. ``None`` means: as Obsidian is set, else the default."""

    daily_folder: str | None = None
    daily_format: str | None = None
    daily_template: str | None = None
    log_heading: str = "Log"
    notes_section: str = "Notes"
    sessions_folder: str = "sessions"


class LimitsOptions(Options):
    """``[limits]``: what is too big to read."""

    max_note_bytes: int = 10_000_000


class StoreOptions(Options):
    """``[store]``: how writes behave."""

    lock_timeout: float = 30.0
    journal_days: int = 90


class CaptureOptions(Options):
    """``[capture]``: what is written with a line.

    Attributes:
        author: whose words they are; empty for nobody in particular. ``TARS_AUTHOR`` goes before it.
    """

    author: str = ""


class IndexOptions(Options):
    """``[index]``: how the index is kept.

    Attributes:
        background: ``off`` starts no process that reads new notes and makes vectors by itself;
            ``TARS_MEMORY_BACKGROUND=0`` says the same for one call.
    """

    background: str = "on"


class EmbeddingOptions(Options):
    """``[embedding]``: which model makes vectors. ``embedded`` is the one installed by the extra of that name."""

    model: str = "embedded"


class RecallOptions(Options):
    """``[recall]``: how search answers."""

    limit: int = 10
    mode: str = "hybrid"


class WindowOptions(Options):
    """``[window]``: how ``context --window`` parts a model's window, in percent; the rest is for the conversation.

    Attributes:
        memory: rules, memory and daily notes.
        recall: facts and recalled lines.
        margin: left free because tokens are estimated.
    """

    memory: int = 15
    recall: int = 35
    margin: int = 10


class LlmOptions(Options):
    """``[llm]``: which language model extract, review and tidy may ask, and how much. Empty: none is asked.

    Attributes:
        model: as litellm names it (``openai/gpt-…``, ``ollama/…``).
        extract_model, review_model, tidy_model: another one for that job.
        endpoint: base address of the provider's interface; empty for the provider's own.
        key: for the provider; empty takes it from the provider's own variable.
        timeout: seconds for one answer, by the wall clock.
        max_calls, max_tokens, max_cost: for one command; tokens both ways, cost in US dollars.
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


class ExtractOptions(Options):
    """``[extract]``: which conversations are worth a look, and what a session note keeps of the turns."""

    min_user_turns: int = 3
    keep: str = "exchanges"


class ReviewOptions(Options):
    """``[review]``: how long a candidate is offered, and how many at a time."""

    window_days: int = 14
    limit: int = 10


class TidyOptions(Options):
    """``[tidy]``: what is too much, and how long notes stay where they are.

    Attributes:
        section_entries: bullets of a section; more are a finding.
        daily_days: a daily note moves when it is older.
        session_days: sessions are summed up when their month or year ended longer ago.
        session_period: ``month`` or ``year``.
        summary_lines: statements that a summary holds at most.
    """

    section_entries: int = 60
    daily_days: int = 90
    session_days: int = 180
    session_period: str = "month"
    summary_lines: int = 100


class SleepOptions(Options):
    """``[sleep]``: what a night's work does.

    Attributes:
        sources: files and folders of chat logs, parted by commas.
        archive: move daily notes past their window to the archive.
        tidy: tidy away what loses nothing; else only report it.
    """

    sources: str = ""
    archive: bool = True
    tidy: bool = False


class HookOptions(Options):
    """``[hook]``: what coding agents are told, and when their conversations are examined.

    Attributes:
        review_every: so many messages of the person, then the conversation is examined in the background; 0: never.
        budget: most tokens that a starting session is told.
        days: daily notes it is told, today's included.
        found_budget: most tokens that a prompt is told.
        model: for the background, as ``[llm] model``; ``none`` for the built-in rules; empty for what is set there.
        timeout: seconds that the agent waits at most; then it is told nothing.
        longest: seconds after which a run in the background is ended.
    """

    review_every: int = 10
    budget: int = 2_000
    days: int = 2
    found_budget: int = 800
    model: str = ""
    timeout: float = 5.0
    longest: int = 3_600


class SourcesOptions(Options):
    """``[sources]``: conversations that are searched beside the vault. Read from the person's own file alone.

    Attributes:
        paths: files and folders of logs, parted by commas; ``sources add`` writes them.
        vectors: passages that get a vector, the newest; all others are found by their words.
    """

    paths: str = ""
    vectors: int = 50_000


class TerminalOptions(Options):
    """``[terminal]``: how a person's screen is used.

    Attributes:
        pager: the program that takes what is longer than the screen; ``off`` for none, empty for ``PAGER``, else less.
    """

    pager: str = ""


class FactsOptions(Options):
    """``[facts]``: predicates by how they stand in time, parted by commas; all others coexist.

    Attributes:
        single: of a subject one value is true at a time; a new one ends the old one.
        temporary: never end anything.
        events: happen once, and count for 90 days unless an end is said.
        me: the subjects that mean the user.
    """

    me: str = "me, I, we, user, the user"
    single: str = (
        "lives in, works at, works as, works for, job, employer, is called, name, phone, email, address, birthday,"
        " age, married to, partner, boss, manager, uses editor, drives, home town, status, role, favourite colour"
    )
    temporary: str = "is in, is visiting, is on holiday, is ill, feels, is reading, is working on"
    events: str = "met, visited, travelled to, attended, bought, sold, started, finished, moved to, celebrated"


class PermissionOptions(Options):
    """``[permissions]``: what may happen without a person at the terminal. Read from the person's own file alone."""

    unattended_rules: bool = False
    unattended_review: bool = False
    unattended_compress: bool = False


SECTIONS: dict[str, type[Options]] = {
    "layout": LayoutOptions,
    "limits": LimitsOptions,
    "store": StoreOptions,
    "capture": CaptureOptions,
    "index": IndexOptions,
    "embedding": EmbeddingOptions,
    "recall": RecallOptions,
    "window": WindowOptions,
    "llm": LlmOptions,
    "extract": ExtractOptions,
    "review": ReviewOptions,
    "tidy": TidyOptions,
    "sleep": SleepOptions,
    "sources": SourcesOptions,
    "hook": HookOptions,
    "terminal": TerminalOptions,
    "facts": FactsOptions,
    "permissions": PermissionOptions,
}
"""The sections of a configuration file."""

ALLOWED: dict[str, tuple[float, float] | tuple[str, ...]] = {
    "limits.max_note_bytes": (1_000, 2_000_000_000),
    "store.lock_timeout": (0, 86_400),
    "store.journal_days": (1, 36_500),
    "index.background": ("on", "off"),
    "llm.timeout": (1, 3_600),
    "llm.max_calls": (0, 100_000),
    "llm.max_tokens": (0, 1_000_000_000),
    "llm.max_cost": (0, 100_000),
    "extract.min_user_turns": (0, 1_000),
    "extract.keep": ("facts", "quotes", "full"),
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
    "window.memory": (0, 100),
    "window.recall": (0, 100),
    "window.margin": (0, 100),
    "recall.limit": (1, 1_000),
    "recall.mode": ("hybrid", "lexical", "semantic"),
}
"""Least and greatest number, or the words, that a setting may have; the others may have any of their type."""
