"""Names of notes, and the chunks about a person, a thing or a topic, by name, alias, link, tag and session topic.

SQL finds what may match; whether a passage really does is decided by the caller's predicates, which know where words
begin and end.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.index import fulltext
from tars_memory.index.database import BETWEEN, TIERS
from tars_memory.language.words import STOP_WORDS, UNSPACED, fold, is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tars_memory.index.reader import IndexReader

TOPICS = "topics"
"""Heading, in lower case, under which a session note lists its topics."""
_OF_SCOPE = "JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"

_ASCII_WORD = re.compile(r"[a-z0-9]+[+#]*")
_NUMBER = re.compile(
    r"^\d+(?:[a-zT]\d+)*[a-z]?\b[\d\W_]*(?:T\d[\d\W_]*)?(?<=[\W_])(?![TW]\d)(?=[^\W\d_])"
    r"|(?<=[^\W\d_])[\W_]+\d[\d.:T_-]{7,}$"
)
"""Number (``12a3``), day or time before a file's name (Zettelkasten, notes in order), day or time behind it."""
MAX_NAME = 300
"""Maximum number of characters of a name that are compared."""
MAX_WORDS, MAX_NAME_WORDS = 64, 16
"""Maximum number of words of a text that are searched for names, and of words in one of these names; a sign of a script
without blanks counts as a word."""
MISTAKES = 3
"""Maximum number of wrong letters in a name that is suggested for what was typed; for short names, one in three."""
LETTERS_A_MISTAKE, SIGNS_OF_A_PART = 5, 3
"""If only a part of a name was typed: number of letters per wrong one; in a script without blanks, number of signs from
which one may be wrong."""
SUGGESTIONS = 3
"""Maximum number of names that are suggested."""


class Named(NamedTuple):
    """A person or a thing.

    Attributes:
        names: the name asked for, and the titles, file names and aliases of the notes with that name.
        targets: targets of links that lead to these notes, as written.
        paths: of these notes.
        linking: ids of the notes that contain such links.
    """

    names: tuple[str, ...]
    targets: frozenset[str]
    paths: frozenset[str]
    linking: frozenset[int]


class NameTable:
    """Names, tags and topics of the notes outside projects and of those of one project.

    Args:
        reader: of the index.
        scope: the project; empty for none.
    """

    def __init__(self, reader: IndexReader, scope: str) -> None:
        self._connection = reader.connection
        self._scope = scope
        self._match = reader.matching
        self._rows = reader.listed

    def named(self, name: str) -> Named:
        """Return the person or thing with that name, alias or note path; case and accents don't matter."""
        sql = f"SELECT n.id, n.path, n.title, n.aliases, n.links FROM notes n {_OF_SCOPE} ORDER BY n.path"
        rows = self._connection.execute(sql, (self._scope,)).fetchall()
        wanted = folded(name)
        by_path = wanted.removesuffix(".md") if "/" in wanted or wanted.endswith(".md") else ""
        names = {} if by_path else {name: None}
        paths: set[str] = set()
        for _, path, title, aliases, _ in rows:
            own = [title, _stem(path), *filter(None, aliases.split(BETWEEN))]
            if wanted in map(folded, own) or (by_path and folded(path).removesuffix(".md") == by_path):
                paths.add(path)
                names |= dict.fromkeys(known for known in own if folded(known) not in STOP_WORDS)
        targets, linking = _links_to(paths, [(key, path, links) for key, path, _, _, links in rows])
        return Named(tuple(names or {name: None}), frozenset(targets), frozenset(paths), frozenset(linking))

    def suggestions(self, text: str, *, parts: bool = True) -> list[str]:
        """Return names of which the text may be a misspelling, the nearest first; none if it is a name itself.

        Names of sessions are left out: nobody types them, and they may repeat what was rejected.

        Args:
            text: as it was typed.
            parts: also look for longer names of which the text may be a misspelt part; takes ten times as long.
        """
        typed = key(text)
        allowed = min(MISTAKES, (len(typed) + 2) // 4 if len(typed) > 2 else 0)
        if not allowed:
            return []
        sizes = (len(typed) - allowed, MAX_NAME if parts else len(typed) + allowed)
        rows = self._connection.execute(
            "SELECT name, written, note FROM names WHERE length(name) BETWEEN ? AND ?", sizes
        )
        letters = set(typed)
        found: dict[int, list[tuple[int, int, str]]] = {}
        for name, written, note in rows:
            if len(letters.difference(name)) > allowed:
                continue
            wrong, size = _mistakes(typed, letters, name, allowed), 0
            if parts and wrong > allowed:
                wrong, size = _mistakes_of_a_part(typed, letters, name), len(name)
            if wrong <= allowed and (wrong or not size):
                found.setdefault(note, []).append((wrong, size, written))
        sql = f"SELECT n.id FROM json_each(?) j JOIN notes n ON n.id = j.value {_OF_SCOPE} AND n.tier <> ?"
        notes = self._rows(f"{sql} ORDER BY n.path", found, self._scope, TIERS.index("episodic"))
        nearest = sorted((min(found[note]) for (note,) in notes), key=lambda match: match[:2])
        if nearest and not nearest[0][0]:
            return []
        names: dict[str, str] = {}
        for *_, written in nearest:
            names.setdefault(key(written), written)
        return list(names.values())[:SUGGESTIONS]

    def beginning(self, text: str) -> list[str]:
        """Return names that begin with the text, the shortest first, without names of sessions."""
        prefix = key(text)
        sql = (
            f"SELECT m.written FROM names m JOIN notes n ON n.id = m.note {_OF_SCOPE}"
            " AND m.name >= ? AND m.name < ? AND n.tier <> ? ORDER BY length(m.name), n.path"
        )
        found = self._connection.execute(
            sql, (self._scope, prefix, f"{prefix}{chr(sys.maxunicode)}", TIERS.index("episodic"))
        )
        return list(dict.fromkeys(written for (written,) in found))[:SUGGESTIONS]

    def all(self) -> list[tuple[str, str]]:
        """Return all (name as written, path of its note), without names of sessions."""
        sql = (
            f"SELECT m.written, n.path FROM names m JOIN notes n ON n.id = m.note {_OF_SCOPE}"
            " AND n.tier <> ? ORDER BY m.name, n.path"
        )
        return self._connection.execute(sql, (self._scope, TIERS.index("episodic"))).fetchall()

    def with_heading(self, title: str) -> list[str]:
        """Return the paths of the notes that may have a heading with these words, ordered by path.

        Case, accents and punctuation don't matter. A note is also returned if the words are in a chunk that contains a
        heading line; the caller has to read the note to find out.
        """
        sql = (
            "SELECT n.path, t.headings, EXISTS (SELECT 1 FROM lines l WHERE l.chunk = c.id AND l.kind = 'heading')"
            " FROM json_each(?) j JOIN chunks c ON c.id = j.value JOIN chunk_texts t ON t.id = c.id"
            f" JOIN notes n ON n.id = c.note {_OF_SCOPE} ORDER BY n.path"
        )
        chunks = self._matching("head", title) | self._matching("text", title)
        rows = self._rows(sql, chunks, self._scope)
        wanted = key(title)
        return list(
            dict.fromkeys(path for path, names, bare in rows if bare or wanted in map(key, names.split(BETWEEN)))
        )

    def tags(self) -> list[str]:
        """Return all tags, sorted."""
        sql = (
            "SELECT DISTINCT g.tag FROM chunk_tags g JOIN chunks c ON c.id = g.chunk JOIN notes n ON n.id = c.note"
            f" {_OF_SCOPE} ORDER BY g.tag"
        )
        return [tag for (tag,) in self._connection.execute(sql, (self._scope,))]

    def tagged_notes(self) -> list[tuple[str, str]]:
        """Return all (path of a note, tag of it), sorted."""
        sql = (
            "SELECT DISTINCT n.path, g.tag FROM notes n JOIN chunks c ON c.note = n.id"
            f" JOIN chunk_tags g ON g.chunk = c.id {_OF_SCOPE}"
        )
        found = {(path, tag) for path, tag in self._connection.execute(sql, (self._scope,))}
        sql = f"SELECT n.path, n.tags FROM notes n {_OF_SCOPE} AND n.tags <> ''"  # blank notes have tags, too
        for path, tags in self._connection.execute(sql, (self._scope,)):
            found |= {(path, tag) for tag in tags.split(BETWEEN)}
        return sorted(found)

    def tagged_chunks(
        self, paths: Iterable[str], covers: Callable[[str], bool]
    ) -> Iterator[tuple[str, str, list[str], list[tuple[int, str]]]]:
        """Yield of each note the path, the title, the tags of its properties, and (line, text) of chunks with a tag.

        Args:
            paths: of the notes.
            covers: whether a chunk's tag counts.
        """
        sql = f"SELECT n.id, n.path, n.title, n.tags FROM json_each(?) j JOIN notes n ON n.path = j.value {_OF_SCOPE}"
        for note, path, title, tags in self._rows(sql, paths, self._scope):
            sql = (
                "SELECT c.start_line, t.text, g.tag FROM chunks c JOIN chunk_texts t ON t.id = c.id"
                " JOIN chunk_tags g ON g.chunk = c.id WHERE c.note = ? ORDER BY c.position"
            )
            chunks = {start: text for start, text, tag in self._connection.execute(sql, (note,)) if covers(tag)}
            yield path, title, [tag for tag in tags.split(BETWEEN) if tag], list(chunks.items())

    def about_name(self, found: Named, held_in: Callable[[str], bool]) -> tuple[frozenset[str], set[int]]:
        """Return the paths of the notes that are about a person or thing as a whole, and all chunks about it.

        Args:
            found: the person or thing.
            held_in: whether a text names it; for the text of chunks, matching by the index's words is enough.
        """
        described = self._described(found, held_in)
        own = self._column("SELECT n.id FROM json_each(?) j JOIN notes n ON n.path = j.value", found.paths)
        chunks = self._chunks_of([*own, *(note for _, note in described)])
        heads: set[int] = set()
        for name in found.names:
            chunks |= self._matching("text", name)
            heads |= self._matching("head", name)
        sql = "SELECT t.id, t.headings FROM json_each(?) j JOIN chunk_texts t ON t.id = j.value WHERE t.headings <> ''"
        for chunk, headings in self._rows(sql, heads - chunks):
            if any(map(held_in, headings.split(BETWEEN))):
                chunks.add(int(chunk))
        sql = (
            "SELECT c.id, t.text FROM json_each(?) j JOIN chunks c ON c.note = j.value"
            " JOIN chunk_texts t ON t.id = c.id"
        )
        for chunk, text in self._rows(sql, found.linking):
            if "[" in text and held_in(text):
                chunks.add(int(chunk))
        return found.paths | {path for path, _ in described}, self._with_continued(chunks)

    def about_tag(
        self, tag: str, covers: Callable[[str], bool], listed: Callable[[str], bool]
    ) -> tuple[frozenset[str], set[int]]:
        """Return the paths of the notes that are about a topic as a whole, and all chunks about it.

        Args:
            tag: lower case, without ``#``; tags nested below it count, too.
            covers: whether a tag is this tag or nested below it.
            listed: whether a line of a session's topics means this tag.
        """
        sql = f"SELECT n.path, n.tags FROM notes n {_OF_SCOPE} AND n.tags <> ''"
        rows = self._connection.execute(sql, (self._scope,))
        paths = {path for path, tags in rows if any(map(covers, tags.split(BETWEEN)))}
        sql = "SELECT chunk FROM chunk_tags WHERE tag = ? OR tag >= ? AND tag < ?"
        chunks = {int(chunk) for (chunk,) in self._connection.execute(sql, (tag, f"{tag}/", f"{tag}0"))}
        sql = (
            "SELECT n.path, n.id, t.text, t.headings FROM json_each(?) j JOIN chunks c ON c.id = j.value"
            " JOIN chunk_texts t ON t.id = c.id JOIN notes n ON n.id = c.note"
            f" {_OF_SCOPE} AND c.tier = {TIERS.index('episodic')}"
        )
        sessions: set[int] = set()
        for path, note, text, headings in self._rows(sql, self._matching("text", spaced(tag)), self._scope):
            in_topics = headings.split(BETWEEN)[-1].casefold() == TOPICS
            if in_topics and any(map(listed, text.split("\n"))):
                paths.add(path)
                sessions.add(int(note))
        return frozenset(paths), self._with_continued(chunks | self._chunks_of(sessions))

    def _described(self, found: Named, held_in: Callable[[str], bool]) -> list[tuple[str, int]]:
        """Return (path, id) of the notes that name the person or thing in a value of their front matter."""
        notes: set[int] = set(found.linking)
        for name in found.names:
            words = fulltext.word_part(name)
            if words:
                rows = self._connection.execute(*self._match("note_words", f"about : {fulltext.quoted(words)}"))
                notes |= {int(note) for (note,) in rows}
        sql = f"SELECT n.path, n.id, n.about FROM json_each(?) j JOIN notes n ON n.id = j.value {_OF_SCOPE}"
        abouts = self._rows(sql, notes, self._scope)
        return [(path, int(note)) for path, note, about in abouts if any(map(held_in, _values(about)))]

    def _matching(self, column: str, name: str) -> set[int]:
        """Return the chunks that contain the words of a name in a column, and its signs."""
        found: set[int] | None = None
        words, signs = fulltext.word_part(name), fulltext.sign_expression(name)
        for table, expression in (
            ("chunk_words", f"{column} : {fulltext.quoted(words)}" if words else ""),
            ("chunk_signs", signs),
        ):
            if expression:
                rows = self._connection.execute(*self._match(table, expression))
                matches = {int(chunk) for (chunk,) in rows}
                found = matches if found is None else found & matches
        return found or set()

    def _with_continued(self, chunks: set[int]) -> set[int]:
        """Return the chunks and those that continue a list of theirs: these start with an indented line."""
        sql = (
            "SELECT d.id FROM json_each(?) j JOIN chunks c ON c.id = j.value JOIN chunk_texts s ON s.id = c.id"
            " JOIN chunks d ON d.note = c.note AND d.position = c.position + 1 JOIN chunk_texts t ON t.id = d.id"
            " WHERE substr(t.text, 1, 1) IN (' ', char(9)) AND t.headings = s.headings"
        )
        found, last = set(chunks), chunks
        while last:
            last = set(self._column(sql, last)) - found
            found |= last
        return found

    def _chunks_of(self, notes: Iterable[int]) -> set[int]:
        return set(self._column("SELECT c.id FROM json_each(?) j JOIN chunks c ON c.note = j.value", notes))

    def _column(self, sql: str, keys: Iterable[object]) -> list[int]:
        """Run SQL whose first parameter is a JSON list of keys and that returns ids."""
        return [int(number) for (number,) in self._rows(sql, keys)]


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    """Return what a name is compared by: it without case, accents, widths, punctuation and, unless it has only those,
    stop words.
    """
    return _key_of(name, _words(name))


def _key_of(name: str, words: Sequence[str]) -> str:
    """Return the key of a name with these words."""
    return _joined([word for word in words if word not in STOP_WORDS] or words) or _plain(name)


def keys_within(text: str) -> list[str]:
    """Return the key of the whole text, and then of everything in it that may be a name, each once."""
    words = _words(text)
    parts = [sign for word in words if word not in STOP_WORDS for sign in (word if _is_run(word) else (word,))]
    found = {_key_of(text, words): None}
    parts = parts[:MAX_WORDS]
    for start in range(len(parts)):
        for end in range(start + 1, min(start + MAX_NAME_WORDS, len(parts)) + 1):
            name = _joined(parts[start:end])
            if len(name) > 1:
                found[name] = None
    return list(found)


def names_of(path: str, title: str, aliases: Iterable[str]) -> list[str]:
    """Return the names of a note as written: file name, title, aliases, file name without its number or date."""
    name = _stem(path)
    bare = _NUMBER.sub("", name) if name[:1].isdecimal() or name[-1:].isdecimal() else name
    return list(dict.fromkeys((name, title, *aliases, bare)))


def keys_of(path: str, title: str, aliases: Iterable[str]) -> dict[str, str]:
    """Return key → name as written, for the names of a note."""
    found: dict[str, str] = {}
    for name in names_of(path, title, aliases):
        if name_key := key(name):
            found.setdefault(name_key, name[:MAX_NAME])
    return found


def name_parts(name: str) -> list[str]:
    """Return the words of a name as ranking weighs them; in scripts without blanks, overlapping pairs of signs."""
    found: list[str] = []
    for word in _words(name):
        if len(word) > 2 and _is_run(word):
            found += (word[i : i + 2] for i in range(len(word) - 1))
        elif word not in STOP_WORDS:
            found.append(word)
    return found


def mistakes(typed: str, meant: str, limit: int) -> int:
    """Count letters that are wrong, missing, too many or swapped with the next; at most ``limit + 1``."""
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, letter in enumerate(typed, start=1):
        last, before, row = before, row, [i]
        for j, other in enumerate(meant, start=1):
            least = min(before[j - 1] + (letter != other), before[j] + 1, row[-1] + 1)
            if i > 1 < j and letter == meant[j - 2] and typed[i - 2] == other:
                least = min(least, last[j - 2] + 1)
            row.append(least)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def _mistakes(typed: str, letters: set[str], name: str, limit: int) -> int:
    """Return :func:`mistakes`, which is a hundred times slower, only if length and letters allow for so few."""
    too_far = abs(len(name) - len(typed)) > limit or len(letters.symmetric_difference(name)) > 2 * limit
    return limit + 1 if too_far else mistakes(typed, name, limit)


def _mistakes_of_a_part(typed: str, letters: set[str], name: str) -> int:
    """Return the fewest mistakes against a part of a longer name with as many words or signs; 0 if too many."""
    if _is_run(typed):
        limit = 1 if len(typed) >= SIGNS_OF_A_PART else 0
        parts = [name[at : at + len(typed)] for at in range(len(name) - len(typed) + 1)]
    else:
        limit, words, count = len(typed) // LETTERS_A_MISTAKE, name.split(" "), typed.count(" ") + 1
        parts = [" ".join(words[at : at + count]) for at in range(len(words) - count + 1)]
    if not limit or len(parts) < 2:
        return 0
    least = min(_mistakes(typed, letters, part, limit) for part in parts)
    return least if least <= limit else 0


def _plain(name: str) -> str:
    """Return a name with visible characters and normal widths alone, cut and with single spaces."""
    cut = fulltext.clean(name)[:MAX_NAME]
    return " ".join((cut if cut.isascii() else unicodedata.normalize("NFKC", vault.suspicion.visible(cut))).split())


def _words(name: str) -> list[str]:
    """Return the folded words of a name; runs without blanks are words of their own, and ``c++`` keeps its signs."""
    plain = _plain(name)
    return _ASCII_WORD.findall(plain.lower()) if plain.isascii() else fulltext.words_and_runs(fold(plain))


def _joined(words: Sequence[str]) -> str:
    """Join words into a key, without blanks inside a script that is written without them."""
    text = " ".join(words)
    return text if text.isascii() else re.sub(rf"(?<=[{UNSPACED}]) (?=[{UNSPACED}])", "", text)


def _is_run(word: str) -> bool:
    """Whether a word is a run of signs in a script without blanks."""
    return not word.isascii() and is_unspaced(word[0])


def folded(text: str) -> str:
    """Return a text for comparison: without case, Latin letters without accents, spaces collapsed."""
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return " ".join(fold(composed).split())


def spaced(text: str) -> str:
    """Return a tag as words: ``the-van`` becomes ``the van``."""
    return " ".join(re.sub(r"[-_/]", " ", text).split())


def _links_to(paths: set[str], rows: list[tuple[int, str, str]]) -> tuple[set[str], set[int]]:
    """Return the link targets that lead to the notes at ``paths``, and the ids of the notes that contain one.

    ``rows`` are (id, path, links) of all notes.
    """
    stems = {_stem(path).lower() for path in paths}
    targets: set[str] = set()
    linking: set[int] = set()
    if not stems:
        return targets, linking
    links = vault.links.Links(path for _, path, _ in rows)
    for note, source, written in rows:
        for target in written.split(BETWEEN):
            if _stem(target).lower() in stems and links.resolve(target, source) in paths:
                targets.add(target)
                linking.add(note)
    return targets, linking


def _values(about: str) -> Iterator[str]:
    """Yield the values of a note's properties, from its searchable text (``notes.about``)."""
    for line in about.split("\n"):
        name, separator, value = line.partition(": ")
        if separator and name and not name.startswith("#"):
            yield value


def _stem(path: str) -> str:
    """Return a path's file name without ``.md``."""
    name = path.rpartition("/")[2]
    return name[:-3] if name[-3:].lower() == ".md" else name
