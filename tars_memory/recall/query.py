"""The request, the query and the result of a search.

All options of a search are one value, which the command line, Python and hooks make and SQL reads. The typed text
becomes words, phrases, negations and filters; any string is valid:

- ``words``: any of them; stop words are dropped unless nothing else is left
- ``"a phrase"``: these words in this order; an unclosed quote is plain text
- ``-word``, ``-"a phrase"``: not this; only after the first word, so that ``-milk`` alone is a word
- ``auto*``: words that begin with ``auto``
- ``tag:work path:projects/* tier:daily since:2w until:2026-03``: filters; ``-tag:work`` is their opposite
- ``foo:bar``: text; only the names above are operators

The result consists of hits, each verified against its note before it is shown.

This module does not postpone the evaluation of annotations: a NamedTuple compiles annotations that are strings, at a
cost to every search.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from tars_memory import language as languages, vault
from tars_memory.errors import TarsError, UsageError, counted
from tars_memory.index.fulltext import Filter
from tars_memory.language import words as language
from tars_memory.language.words import ASKING_WORDS, STOP_WORDS, WORD, fold, runs_and_rest, tokens, unspaced_runs

if TYPE_CHECKING:
    from tars_memory.recall.names import Selection
    from tars_memory.settings import RecallOptions


TIERS = ("semantic", "procedural", "daily", "episodic", "note", "talk")
FIELDS = ("tag", "path", "tier", "since", "until")

LONGEST = 10_000
"""Maximum number of characters of a query that are read: the rest of a pasted page adds nothing. If there are more, a
notice says so."""
MOST_WORDS = 64
"""Maximum number of distinct words of a query, the first ones; FTS5 reads one posting list per word."""

_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "\0": " "} | dict.fromkeys("‐‑", "-")
)


def says_something(text: str) -> bool:
    """Whether a text has anything but ASCII punctuation and blanks: a letter, a digit, an emoji."""
    return any(sign.isalnum() or not sign.isascii() for sign in text)


class SearchRequest(NamedTuple):
    """The options of one search. A field that is not set doesn't narrow it.

    Attributes:
        text: in the grammar of :mod:`tars_memory.recall.query`.
        mode: ``hybrid``, ``lexical`` or ``semantic``; None: from the settings.
        unfinished: whether the last word is still being typed, so that it may be the beginning of a word.
        tiers: any of these.
        tags: all of these, without ``#``; a tag nested below one of them counts as that one.
        paths: prefixes of paths, or patterns; any of them.
        since: first day, as typed.
        until: last day, as typed.
        limit: maximum number of hits; None: from the settings.
        per_note: maximum number of hits per note, if several notes answer; the others are counted. None: any number.
        explain: whether to keep the parts of the scores.
        around: number of lines of the note to add before and after each hit.
        project: the project whose notes may answer, too; None: the chosen one, ``""``: none.
        where: conditions on properties (``status=done``), all of them.
        linked_to: only notes that all of these link to.
        links_to: only notes that link to all of these.
        about: only passages about all of these.
        topics: only passages with all of these tags, or of sessions with these topics.
        expired: whether to include passages that have ended.
        agent: the agent whose own notes ``context`` may show, too; None: no agent's. A search finds those of all
            agents.
        session: the log of the conversation that asks, or '' if it is unknown: its own lines are not answers, and no
            log is read for the search. None: no conversation is asking.
        as_of: the day on which passages must hold; None: today.
    """

    text: str = ""
    mode: str | None = None
    unfinished: bool = False
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    limit: int | None = None
    per_note: int | None = None
    explain: bool = False
    around: int = 0
    project: str | None = None
    where: tuple[str, ...] = ()
    linked_to: tuple[str, ...] = ()
    links_to: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    expired: bool = False
    as_of: date | None = None
    session: str | None = None
    agent: str | None = None


class Query:
    """A parsed query.

    Attributes:
        text: as it was given.
        meaning: the words without operators and negations, for the embedding; '' if there are none.
        words: folded single words to search for, without repeats and without stop words (unless there are no others).
        phrases: folded sequences of words, from quotes and from compounds such as ``10.0.0.1`` or ``a-b``.
        quoted: those of the phrases that were in quotes.
        written: folded texts in quotes with scripts without blanks, which are literals, too.
        literals: folded strings that no word index contains: emoji, ``c++``, words of scripts without spaces.
        prefixes: folded beginnings of words.
        negations: folded words and phrases that a hit must not contain.
        filter: what narrows the query to tiers, tags, paths, days and notes.
        dates: the dates that the text names.
        date_words: the words that name them.
        halves: the two parts of a word at each place where notes may have a hyphen, of a number where its thousands may
            be set apart → the word.
        joined: those of the phrases that are written with hyphens, or are a number → the same in one word.
        stems: stem of each word of the above fields.
        names: the capitalised words, folded, that FTS5 treats as function words.
        runs: the runs of ``meaning`` in scripts without blanks.
        tokens: the folded words of ``meaning``.
        content: those of them that are not stop words, in order: a model computes a vector for each of them.
        language: of ``meaning``; '' if it is English or unknown.
        is_latin: whether ``meaning`` is in Latin script.
        grammar: the folded function words of that language.
        small_words: the folded function words of a question about a day, in another language than English that the
            rules know, without those that name it.
        is_sentence: whether the text contains stop words besides other words.
        notices: sentences for the user about how the query was read.
        today: the day of the search; None if it is unknown.
        half_lives: in days, by tier, how fast lines of the tier fade; those of other tiers never do.
        me: the subjects of facts that mean the user, in lower case.
        unfinished: whether the last word may be the beginning of a word.
        last_word: that word, folded, if it may be a complete word too; else ''.
        on: the day on which passages have to hold; None: those that have ended may answer too.
        started_by: the day on which facts must have begun; None: future facts may answer too.
        selection: the passages that ``--about`` and ``--topic`` leave; None: all.
        relatives: stem of a word that no note contains → stems of other forms of it that notes contain
            (:func:`tars_memory.recall.weights.relatives_of`); set by the search.
        compounds: parts of a word that notes write with a hyphen or a blank, as in "Wi-Fi" → the word as the query has
            it, "wifi"; and a phrase of the query, as "wi-fi" → the word without its hyphen, which notes contain. Set by
            the search.
    """

    today: date | None = None
    on: date | None = None
    started_by: date | None = None
    filter = Filter()
    meaning = last_word = language = ""
    unfinished = is_sentence = False
    is_latin = True
    words = literals = written = prefixes = negations = tuple[str, ...]()
    phrases = quoted = tuple[tuple[str, ...], ...]()
    names = date_words = tokens = grammar = small_words = me = frozenset[str]()

    def __init__(self, text: str) -> None:
        self.text = text
        self.half_lives: Mapping[str, float] = {}
        self.selection: Selection | None = None
        self.relatives: dict[str, tuple[str, ...]] = {}
        self.compounds: dict[tuple[str, ...], str] = {}
        self.dates: list[languages.dates.NamedDate] = []
        self.halves: dict[tuple[str, str], str] = {}
        self.joined: dict[tuple[str, ...], str] = {}
        self.stems: dict[str, str] = {}
        self.runs: list[str] = []
        self.content: list[str] = []
        self.notices: list[str] = []

    @property
    def searches(self) -> bool:
        """Whether there is anything to search for; else the query only filters."""
        return bool(self.words or self.phrases or self.literals or self.prefixes)

    @property
    def is_day(self) -> bool:
        """Whether the query consists of one day only: ``3 May 2026``, ``le 3 mai``, ``2026年5月3日``."""
        words = {*self.words, *(word for phrase in self.phrases for word in phrase)}
        named = self.date_words | self.small_words
        if len(self.dates) != 1 or self.quoted or self.prefixes or not words.union(self.literals) <= named:
            return False
        return self.dates[0].start == self.dates[0].end

    @property
    def mistaken(self) -> tuple[str, ...]:
        """The capitalised words that FTS5 treats as function words: "Ines" has the stem of "in".

        In lower case such a word is seldom a name (``use`` has the stem of "us"), and is searched for by its stem.
        """
        return tuple(word for word in self.words if word in self.names)

    @property
    def by_stem(self) -> dict[str, str]:
        """Maps stem to word, for the words."""
        return {self.stems[word]: word for word in self.words}

    def phrase_key(self, phrase: Sequence[str]) -> str:
        """Return the key of a phrase among the terms: its stems in quotes."""
        return f'"{" ".join(self.stems[word] for word in phrase)}"'

    @property
    def facts_on(self) -> date | None:
        """The first day that the query names with a year, if it is in the past: facts that held then may answer."""
        first = min((named.start for named in self.dates if not named.yearless), default=None)
        return first if first and self.on and not self.started_by and first < self.on else None

    @property
    def filters(self) -> bool:
        """Whether any filter is set."""
        return self.filter != Filter() or self.selection is not None

    def narrowed(self, scope: str) -> Filter:
        """Return where to look, as the index takes it, in a project (the scope) and outside projects."""
        chunks = None if self.selection is None else self.selection.chunks
        on, facts_on = (day.isoformat() if day else None for day in (self.on, self.facts_on))
        return self.filter._replace(scope=scope, chunks=chunks, on=on, facts_on=facts_on)

    @property
    def exact(self) -> bool:
        """Whether the query consists of quotes only: then a hit must contain one of them."""
        if not (self.quoted or self.written):
            return False
        written = language.Divided(" ".join(self.written))
        inside = {*written.words, *(word for phrase in self.quoted for word in phrase)}
        others = {*self.prefixes, *self.literals}.difference(self.written, written.literals)
        more = others or len(self.quoted) + len(written.phrases) < len(self.phrases)
        return not more and inside.issuperset(self.words)


def half_lives(options: "RecallOptions") -> dict[str, float]:
    """Return the half-lives by tier; other tiers never fade."""
    return {"daily": options.daily_half_life, "episodic": options.session_half_life}


def parse(
    request: SearchRequest | str, today: date, day_of_name: Callable[[str], date | None] = lambda _: None
) -> Query:
    """Parse a query.

    Args:
        request: the request, or only its text; its filters are joined with those in the text.
        today: the day from which relative dates count.
        day_of_name: returns the day whose daily note has a name, as the vault names them; None for other texts.

    Raises:
        UsageError: a value is not a date, or not a tier; everything else is valid.
    """
    request = SearchRequest(request) if isinstance(request, str) else request
    text, unfinished = request.text, request.unfinished
    query = Query(text)
    query.today = today
    if not request.expired:
        query.on, query.started_by = request.as_of or today, request.as_of
    query.unfinished = unfinished
    parser = _Parser(query, today, day_of_name)
    days = {"since": [request.since], "until": [request.until]}
    for name, values in {**days, "tier": request.tiers, "tag": request.tags, "path": request.paths}.items():
        for value in values:
            if value is not None:
                parser.filter(name, value, negated=False)
    source = text
    if len(source) > LONGEST:
        source = source[:LONGEST]
        query.notices.append(f"the query is long: only its first {LONGEST:,} characters are searched")
    source = source.translate(_QUOTES)
    if unfinished:
        source, last_word = _mark_last_word(source)
        query.last_word = "" if last_word in STOP_WORDS else last_word
    for negated, field, value, is_phrase in _pieces(source):
        if field:
            parser.filter(field, value, negated=negated)
        elif negated:
            parser.negate(value)
        elif is_phrase:
            parser.phrase(value)
        else:
            parser.word(value)
    parser.finish()
    return query


def _mark_last_word(text: str) -> tuple[str, str]:
    """Mark the last word of a text as a prefix.

    A single letter after other words is left out: too many words begin with it.

    Returns:
        The text, and the last word, folded, if it may be a complete word too; else ''.
    """
    last = re.search(r"\S+\Z", text)
    tail = re.search(r"[^\W_]+\Z", text)
    if last is None or tail is None or text.count('"') % 2 or text.startswith("-", last.start()):
        return text, ""
    if unspaced_runs(tail[0]) or any(last[0].startswith(f"{field}:") for field in FIELDS):
        return text, ""
    head = text[: tail.start()]
    if len(tail[0]) == 1:
        return head if head.strip() else f"{tail[0]}*", ""
    return f"{head} {tail[0]}*", fold(tail[0])


_EXCLUDES = re.compile(r'-(?![A-Za-z0-9](?!\S))(?:[^\W_]|")')
"""The dash of a word that is excluded, not of a program's option of one letter: ``jq -r``."""


def _pieces(text: str) -> Iterator[tuple[bool, str, str, bool]]:
    """Yield (negated, field or '', value, in quotes) for each piece of the text."""
    i, first = 0, True
    while i < len(text):
        if text[i].isspace():
            i += 1
            continue
        negated = not first and _EXCLUDES.match(text, i) is not None
        start = i + negated
        field = next((f for f in FIELDS if text.startswith(f + ":", start)), "")
        at = start + len(field) + 1 if field else start
        value, end = _value(text, at)
        if field and not value.strip():
            field, (value, end) = "", _value(text, start)
        yield negated, field, value, not field and text[at : at + 1] == '"' and end > at + len(value)
        i, first = end, False


def _value(text: str, at: int) -> tuple[str, int]:
    """Return the quoted string or the word at ``at``, and the position after it."""
    if text[at : at + 1] == '"':
        close = text.find('"', at + 1)
        if close > at:
            return text[at + 1 : close], close + 1
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[at:end], end


def _adjacent_day(day: date, by: int) -> date:
    """Return the day ``by`` days later; the same day if the calendar has none."""
    number = day.toordinal() + by
    return day.fromordinal(number) if 0 < number <= day.max.toordinal() else day


class _Parser:
    """Sorts the pieces of a text into the fields of a query."""

    def __init__(self, query: Query, today: date, day_of_name: Callable[[str], date | None]) -> None:
        self.query = query
        self.today = today
        self.day_of_name = day_of_name
        self.meaning_parts: list[str] = []
        self.texts: list[str] = []
        """Texts that :meth:`finish` divides into words, compounds and literals."""
        self.phrases: dict[tuple[str, ...], None] = {}

    def filter(self, name: str, value: str, *, negated: bool) -> None:
        """Add a filter.

        Raises:
            UsageError: the value is not a date, or not a tier.
        """
        known = self.query.filter
        if name in ("since", "until"):
            day = self.day_of_name(value)
            dates = languages.dates
            named = dates.NamedDate(day, day) if day else dates.parse_day(value, self.today)
            if named is None:
                raise UsageError(f"{name}: {value!r} {dates.refusal(value)}", f"give {dates.ACCEPTED}")
            if (name == "since") != negated:
                first = (_adjacent_day(named.end, 1) if negated else named.start).isoformat()
                self.query.filter = known._replace(since=max(first, known.since or first))
            else:
                last = (_adjacent_day(named.start, -1) if negated else named.end).isoformat()
                self.query.filter = known._replace(until=min(last, known.until or last))
            return
        if name == "tier":
            value = value.strip().lower()
            if value not in TIERS:
                raise UsageError(f"tier: {value!r} is not a tier", f"give one of {', '.join(TIERS)}")
        if name == "tag":
            value = value.strip().lstrip("#").rstrip("/")
        field = f"not_{name}s" if negated else f"{name}s"
        values = getattr(known, field)
        if value and value not in values:
            changed: dict[str, Any] = {field: (*values, value)}
            self.query.filter = known._replace(**changed)

    def negate(self, value: str) -> None:
        """Add a word or phrase that hits must not contain."""
        folded = fold(value.removesuffix("*")).strip()
        if folded and folded not in self.query.negations:
            self.query.negations = (*self.query.negations, folded)

    def phrase(self, value: str) -> None:
        """Add a quoted phrase; its words count by themselves too."""
        self.meaning_parts.append(value)
        parts = tuple(tokens(value))
        if unspaced_runs(value):
            self.query.written = (*self.query.written, fold(value))
        elif len(parts) > 1:
            self.phrases[parts] = None
            self.query.quoted = (*self.query.quoted, parts)
        self.texts.append(value)

    def word(self, value: str) -> None:
        """Add a word, a prefix (``auto*``), or other text without spaces."""
        self.meaning_parts.append(value.replace("*", " ").replace('"', " ").strip())
        if value.endswith("*"):
            head = fold(value.rstrip("*"))
            if WORD.fullmatch(head) and not unspaced_runs(head):
                if head not in self.query.prefixes:
                    self.query.prefixes = (*self.query.prefixes, head)
                return
        self.texts += value.split('"')

    def finish(self) -> None:
        """Divide all texts into words, compounds and literals, and set the fields of the query, up to their limits."""
        query = self.query
        found = language.Divided(" ".join(self.texts))
        words, literals = list(found.words), list(dict.fromkeys((*query.written, *found.literals)))
        self.phrases |= found.phrases
        if not (words or self.phrases or literals or query.prefixes):
            words, literals = list(found.stop_words), [] if found.stop_words else list(found.punctuation)
        elif found.stop_words:
            query.is_sentence = True
            words = [word for word in words if word not in ASKING_WORDS] or words
        query.words = tuple(words)[:MOST_WORDS]
        query.phrases = tuple(self.phrases)[:MOST_WORDS]
        query.literals = tuple(literals)[:MOST_WORDS]
        if len(words) > MOST_WORDS:
            query.notices.append(f"the query has {counted(len(words), 'word')}: the first {MOST_WORDS} are looked up")
        query.meaning = " ".join(part for part in self.meaning_parts if part)
        dated = languages.dates.dated(query.meaning, self.today)
        query.dates = [named for named, _ in dated]
        named = [word for _, words in dated for word in words]
        parts = (part for word in named for group in runs_and_rest(word) for part in group)  # 3日: 3 and 日
        pairs = language.Divided(" ".join(named)).literals  # 지난주: 지난 and 난주
        query.date_words = frozenset((*map(fold, named), *parts, *pairs, *tokens(" ".join(named))))  # नवंबर: two tokens
        query.names = language.names_like_function_words(query.text)
        query.runs = unspaced_runs(query.meaning)
        spoken = tokens(query.meaning)
        query.tokens, query.content = frozenset(spoken), [word for word in spoken if word not in STOP_WORDS]
        query.language = language.foreign_language(query.meaning)
        query.grammar = language.grammar_words(query.language)
        text = fold(query.meaning)
        # "j'habite", "est-ce": their other words are looked for alone; "e-mail" is one word, also beside "o João e …"
        elided = {
            phrase
            for phrase in set(query.phrases).difference(query.quoted if query.words else query.phrases)
            if query.grammar.issuperset(phrase)
            or ("'".join(phrase) in text.replace("’", "'") and not query.grammar.isdisjoint(phrase))
        }
        query.phrases = tuple(phrase for phrase in query.phrases if phrase not in elided)
        is_ordinal = re.search(r"\d\. ", query.meaning)  # "am 9. November" has no word that English lacks
        code = language.language_of(query.meaning, "de" if is_ordinal else "") if dated else ""
        if code and code != "en":  # English ones are not words of the query
            listed = language.language(code).words("words")
            query.small_words = frozenset(part for word in listed for part in tokens(word)) - query.date_words
        query.is_latin = language.is_latin(query.meaning)
        phrased = (word for phrase in (*query.phrases, *query.quoted) for word in phrase)
        query.halves = language.halves((*query.words, query.last_word))
        whole = (parts for parts in query.phrases if "-".join(parts) in text or language.is_grouped(parts))
        query.joined = {parts: "".join(parts) for parts in whole}
        halves = (half for pair in query.halves for half in pair)
        query.stems = language.stems(
            {*query.words, query.last_word, *query.date_words, *phrased, *query.joined.values(), *halves}
        )


# --- the result


_UNLINKABLE = str.maketrans(dict.fromkeys("#|^:%[]\\", " "))
"""Characters that Obsidian leaves out of links to headings."""


class Fading(NamedTuple):
    """How much a note has faded.

    Attributes:
        age: in days; None if it is unknown or doesn't matter.
        half_life: days in which it loses half of its recency; 0 if it never fades.
        factor: the recency that is left, 0 to 1.
    """

    age: int | None
    half_life: float
    factor: float

    def __str__(self) -> str:
        if not self.half_life:
            return "never fades"
        age = "of unknown age" if self.age is None else f"{counted(self.age, 'day')} old"
        return f"{age}: {self.factor:.4f} of its recency left (half-life in days: {self.half_life:g})"


_FIELDS_SHOWN = (
    *("rank", "score", "path", "start_line", "end_line", "tier", "date", "title", "headings", "text", "block_id"),
    "obsidian_url",
)
"""The fields of a hit in its documented object."""


class Hit:
    """A passage that answers: a few whole lines of one note.

    Attributes:
        rank: 1 for the best.
        score: comparable within one answer only.
        path: of the note, relative to the vault, with ``/``.
        start_line: first line, 1-based.
        end_line: last line, inclusive.
        best: index of the line that answers best, from 0.
        best_line: that line's 1-based number in the note, and its text, trimmed; set when it is verified or ranked.
        tier: of the note.
        date: the note's day, ISO, or None.
        date_is_weak: whether that is only the day of the file's last change.
        title: of the note.
        day: the ISO day on which it was said or began to hold; '' if it is unknown.
        headings: the headings above the passage, outermost first.
        text: the lines verbatim, joined by a newline; of an oversized line the piece that answers.
        block_id: Obsidian's id of the block, without the caret, or None.
        obsidian_url: a link that opens the note at the passage.
        partial: whether the text is a piece of an oversized line.
        whole_line: the line that a piece is of, as its note has it now; '' until it is compared.
        speaker: of a line of a conversation; else ''.
        answer: the beginning of the reply to a line of a conversation, which was not searched; else ''.
        statement: the block id of the candidate that its best line is or was extracted from; else ''.
        places: of a passage of a conversation the line numbers in the log; else empty.
        vault: the name of the shared vault that contains it; empty for the user's own.
        around: number of lines of its note that were added before and after it.
        indexed: of a passage of a conversation where it is in the index: conversation, first and last line.
        beside: number and text of its best line and the lines up to ``around`` it, without those beside better hits.
        more: number of other passages of its note that answer; counted on demand, on the last hit of each note.
        alike: number of further hits that say the same; counted on demand, on the last of them.
        holds: whether its chunk holds a word of the query.
        explain: the weighted parts of the score by name; filled on demand.
        fading: how much its note has faded by its age; shown with ``explain``.
    """

    rank = best = more = alike = around = 0
    score = 0.0
    tier = "note"
    obsidian_url = day = speaker = statement = vault = answer = whole_line = ""
    date: str | None = None
    date_is_weak = False
    holds = True
    block_id: str | None = None
    headings: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    indexed: tuple[str, int, int] = ("", 0, 0)
    beside: tuple[tuple[int, str], ...] = ()
    fading = Fading(None, 0, 1.0)

    def __init__(
        self, path: str, start_line: int, end_line: int, text: str, *, title: str = "", partial: bool = False
    ) -> None:
        self.best_line = (start_line, "")
        self.path = path
        self.start_line = start_line
        self.end_line = end_line
        self.title = title
        self.text = text
        self.partial = partial
        self.explain: dict[str, float] = {}

    def line_at(self, index: int) -> tuple[int, str]:
        """Return the 1-based number of a line in the note, given its index, and its text, trimmed."""
        number = self.places[index] if self.places else self.start_line + index
        return number, self.text.split("\n")[index].strip()

    def take_beside(self, taken: set[tuple[str, int, str]]) -> None:
        """Set :attr:`beside`, without the lines of its note that are ``taken`` by other hits; add those to them."""
        texts = self.text.split("\n")
        near = range(max(0, self.best - self.around), min(len(texts), self.best + self.around + 1))
        rows = [(at, (self.line_at(at)[0], texts[at])) for at in near]
        self.beside = tuple(row for at, row in rows if at == self.best or (self.path, *row) not in taken)
        taken.update((self.path, *row) for row in self.beside)

    @property
    def account(self) -> str:
        """The score as the sum of its parts, and how much the note has faded."""
        parts = ", ".join(f"{name} {value:.4f}" for name, value in self.explain.items())
        return f"{self.score:.4f} = {parts}; {self.fading}"

    def as_dict(self) -> dict[str, Any]:
        """Return the documented object of ``search --json``."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS_SHOWN}
        record |= {"score": round(self.score, 4), "headings": list(self.headings)}
        if self.date_is_weak:
            record["date_is_weak"] = True
        if self.places:
            record |= {"speaker": self.speaker, "answer": self.answer}
        if self.vault:
            record["vault"] = self.vault
        if self.explain:
            record["explain"] = {name: round(value, 4) for name, value in self.explain.items()}
            record["fading"] = {**self.fading._asdict(), "factor": round(self.fading.factor, 4)}
        return record


class Tag:
    """Finds a tag, or a tag nested below it, in texts; ``name`` is without ``#``, in any case."""

    def __init__(self, name: str) -> None:
        self.name = vault.markdown.lines.tag_key(name)

    def found_in(self, text: str) -> bool:
        """Whether a text has the tag; tags in code don't count."""
        return "#" in text and any(map(self.covers, vault.markdown.lines.tags_in(text)))

    def covers(self, tag: str) -> bool:
        """Whether a tag is this one, or nested below it."""
        tag = vault.markdown.lines.tag_key(tag)
        return tag == self.name or tag.startswith(self.name + "/")


class SearchResult:
    """The result of one query.

    Attributes:
        query: as it was given.
        mode: that was used: ``hybrid``, ``lexical`` or ``semantic``.
        hits: best first.
        stale: number of notes and logs that the index has not read yet.
        did_you_mean: names of notes without a hit that the query may misspell; only if there are no hits, or no note
            contains one of its words.
        unmounted: whether the vault looks unmounted or emptied; then a lack of hits proves nothing.
        more: number of hits that a larger limit would add; counted if the request limits the hits of a note.
        notices: sentences for the user.
        parsed: the parsed query, for views that highlight what matched.
    """

    stale = more = 0
    unmounted = False

    def __init__(self, query: Query, mode: str, hits: Iterable[Hit] = (), *, notices: Iterable[str] = ()) -> None:
        self.query = query.text
        self.parsed = query
        self.mode = mode
        self.did_you_mean: list[str] = []
        self.notices = [*notices]
        self.show([*hits])

    @property
    def abstained(self) -> bool:
        """Whether nothing is relevant enough to be shown."""
        return not self.hits

    def show(self, hits: Sequence[Hit], limit: int | None = None) -> None:
        """Set the hits and their ranks; those beyond the limit are only counted, in :attr:`more`."""
        self.hits = list(hits[:limit])
        self.more += len(hits) - len(self.hits)
        for rank, hit in enumerate(self.hits, start=1):
            hit.rank, hit.best_line = rank, hit.line_at(hit.best)

    def as_dict(self) -> dict[str, Any]:
        """Return the documented object of ``search --json``."""
        record: dict[str, Any] = {
            "query": self.query,
            "mode": self.mode,
            "hits": [hit.as_dict() for hit in self.hits],
            "abstained": self.abstained,
            "stale": self.stale,
            "notices": self.notices,
        }
        return record | ({"did_you_mean": self.did_you_mean} if self.did_you_mean else {})


def obsidian_url(vault_name: str, path: str, *, headings: tuple[str, ...] = (), block_id: str | None = None) -> str:
    """Return the link that opens a note in Obsidian, at its block or else its nearest heading.

    Args:
        vault_name: name of the vault's folder, as Obsidian uses it.
        path: of the note, relative to the vault.
        headings: the headings above the place, outermost first.
        block_id: without the caret.
    """
    target = path.removesuffix(".md")
    if block_id:
        target += f"#^{block_id}"
    elif headings:
        target += "#" + " ".join(headings[-1].translate(_UNLINKABLE).split())
    return f"obsidian://open?vault={_percent(vault_name)}&file={_percent(target)}"


def _percent(text: str) -> str:
    """Percent-encode a text; surrogates for undecodable bytes of a file name become a question mark."""
    return quote(text, safe="", errors="replace")


# --- a hit is only shown if its note contains its text now, where it was or where it has moved to
#
# The index may be behind the vault for a moment; the output may not. 0.3 ms for ten hits (measured).


def verified(hits: Iterable[Hit], read: Callable[[str], bytes], *, own: bool = False) -> Iterator[Hit]:
    """Yield the hits whose best line their notes still contain, with line numbers corrected if it has moved.

    The index contains no credentials: a hit with a masked one is compared with the masked note.

    Args:
        hits: best first; consumed only as far as the result is consumed.
        read: returns the bytes of a note by its path; raises OSError or TarsError if it can't be read.
        own: whether such a hit gets the note's real text, to show to a person.
    """

    @cache
    def lines_of(path: str, masked: bool) -> list[str]:
        try:
            data = read(path)
        except (OSError, TarsError):
            return []
        return vault.vault.note_lines(vault.secrets.veiled(data) if masked else data)

    for hit in hits:
        for masked in (False, True) if vault.suspicion.MARK in hit.text else (False,):
            if located(hit, lines_of(hit.path, masked)):
                if masked and own and not hit.partial:
                    hit.text = "\n".join(lines_of(hit.path, False)[hit.start_line - 1 : hit.end_line])
                hit.best_line = hit.line_at(hit.best)
                if hit.partial:
                    hit.whole_line = lines_of(hit.path, masked)[hit.best_line[0] - 1]
                yield hit
                break


def located(hit: Hit, lines: list[str]) -> bool:
    """Whether a note contains the text of a hit; sets the line numbers of the hit to the nearest place that does.

    If the note contains only some of the lines, as in a copy of the vault that is a commit behind a team's index, the
    hit is reduced to its best line and the neighbours that are there.

    Args:
        hit: to look for; changed.
        lines: of the note.
    """
    wanted = hit.text.split("\n")
    first, count = hit.start_line - 1, len(wanted)
    if hit.partial:
        if 0 <= first < len(lines) and hit.text in "\n".join(lines[first : hit.end_line]):
            return True
        places = [i for i, line in enumerate(lines) if count == 1 and hit.text in line]
    else:
        if lines[first : first + count] == wanted:
            return True
        places = [
            i for i, line in enumerate(lines) if line == wanted[0] and (count == 1 or lines[i : i + count] == wanted)
        ]
    if not places:
        return not (hit.partial or hit.places) and _reduce_to_best(hit, lines, wanted)
    at = min(places, key=lambda i: abs(i - first))
    hit.start_line, hit.end_line = at + 1, at + count
    return True


def widen(hit: Hit, data: bytes, count: int) -> None:
    """Add to a hit up to ``count`` lines before and after it, if its note still contains it."""
    lines = vault.vault.note_lines(data)
    if hit.partial or not located(hit, lines):
        return
    first = max(1, hit.start_line - count)
    hit.best += hit.start_line - first
    hit.start_line, hit.end_line = first, min(len(lines) - (not lines[-1]), hit.end_line + count)
    hit.text, hit.around = "\n".join(lines[first - 1 : hit.end_line]), count


def _reduce_to_best(hit: Hit, lines: list[str], wanted: list[str]) -> bool:
    """Reduce a hit to its best line and the neighbours that the note still contains; False if that line is gone."""
    best, expected = hit.best, hit.start_line - 1 + hit.best
    places = [i for i, line in enumerate(lines) if line == wanted[best] and line.strip()]
    if not places:
        return False
    at = min(places, key=lambda i: abs(i - expected))
    above = below = 0
    while above < min(best, at) and lines[at - above - 1] == wanted[best - above - 1]:
        above += 1
    while below + 1 < min(len(wanted) - best, len(lines) - at) and lines[at + below + 1] == wanted[best + below + 1]:
        below += 1
    hit.text, hit.best = "\n".join(wanted[best - above : best + below + 1]), above
    hit.start_line, hit.end_line = at - above + 1, at + below + 1
    return True
