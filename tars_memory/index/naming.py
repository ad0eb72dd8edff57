"""The names of notes; what tells of a person or a thing, and what of a topic: by name, alias, link, tag, session topic.

SQL names what may; what a passage really says is asked of the caller, who knows where words begin and end.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tars_memory import vault
from tars_memory.index import fulltext
from tars_memory.index.database import BETWEEN, TIERS
from tars_memory.language.words import STOP_WORDS, fold
from tars_memory.vault.suspicion import visible

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

TOPICS = "topics"
"""The heading, folded, under which a session note lists what it was about."""
_OF_SCOPE = "JOIN scopes s ON s.id = n.scope WHERE s.name IN ('', ?)"

_ASCII_WORD = re.compile(r"[a-z0-9]+[+#]*")
LONGEST = 300
"""Characters of a name that are compared."""
MOST_WORDS, LONGEST_RUN = 64, 16
"""Words of a text that are looked through for names, and how many of them in a row may be one; a sign of a script
without blanks is a word here."""
MISTAKES = 3
"""Letters that may be wrong at most in a name that is offered for what was typed; of short names one in three."""
LETTERS_A_MISTAKE, SIGNS_OF_A_PART = 5, 3
"""Where only a part of a name is meant: one letter in so many may be wrong; of so many signs without blanks one."""
OFFERED = 3
"""Names that are offered at most."""


class Named(NamedTuple):
    """A person or a thing.

    Attributes:
        names: as asked, and the titles, file names and aliases of the notes that are called so.
        targets: of links that lead to these notes, as written.
        paths: of these notes.
        linking: numbers of the notes that hold such links.
    """

    names: tuple[str, ...]
    targets: frozenset[str]
    paths: frozenset[str]
    linking: frozenset[int]


class NameTable:
    """Names, tags and topics in the notes outside projects and in those of one.

    Args:
        connection: of the index.
        scope: the project; empty for none.
        matching: as :func:`fulltext.matching`.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        scope: str = "",
        matching: Callable[[str, str], tuple[str, list[str]]] = fulltext.matching,
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._found_by = matching

    def named(self, name: str) -> Named:
        """Who or what is called by a name, an alias, or the path of its note; any case, accents aside."""
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
                names |= dict.fromkeys(one for one in own if folded(one) not in STOP_WORDS)
        targets, linking = _links_to(paths, [(key, path, links) for key, path, _, _, links in rows])
        return Named(tuple(names or {name: None}), frozenset(targets), frozenset(paths), frozenset(linking))

    def near(self, text: str, *, parts: bool = True) -> list[str]:
        """Names that the text may be misspelt for, the nearest first; what it is itself is not offered.

        Names of sessions are not names that anybody types, and may repeat what was rejected.

        Args:
            text: as it was typed.
            parts: of longer names it may be a misspelt part; to look for that takes ten times as long.
        """
        asked = key(text)
        allowed = min(MISTAKES, (len(asked) + 2) // 4 if len(asked) > 2 else 0)
        if not allowed:
            return []
        sizes = (len(asked) - allowed, LONGEST if parts else len(asked) + allowed)
        rows = self._connection.execute(
            "SELECT name, written, note FROM names WHERE length(name) BETWEEN ? AND ?", sizes
        )
        letters = set(asked)
        found: dict[int, list[tuple[int, int, str]]] = {}
        for name, written, note in rows:
            if len(letters.difference(name)) > allowed:
                continue
            wrong, size = _mistakes(asked, letters, name, allowed), 0
            if parts and wrong > allowed:
                wrong, size = _mistakes_of_a_part(asked, letters, name), len(name)
            if 0 < wrong <= allowed:
                found.setdefault(note, []).append((wrong, size, written))
        sql = f"SELECT n.id FROM json_each(?) j JOIN notes n ON n.id = j.value {_OF_SCOPE} AND n.tier <> ?"
        seen = self._rows(f"{sql} ORDER BY n.path", found, self._scope, TIERS.index("episodic"))
        offered: dict[str, str] = {}
        for *_, written in sorted((one for (note,) in seen for one in found[note]), key=lambda one: one[:2]):
            offered.setdefault(key(written), written)
        return list(offered.values())[:OFFERED]

    def beginning(self, text: str) -> list[str]:
        """Names that begin with the text, the shortest first; names of sessions are none."""
        asked = key(text)
        sql = (
            f"SELECT m.written FROM names m JOIN notes n ON n.id = m.note {_OF_SCOPE}"
            " AND m.name >= ? AND m.name < ? AND n.tier <> ? ORDER BY length(m.name), n.path"
        )
        found = self._connection.execute(
            sql, (self._scope, asked, f"{asked}{chr(sys.maxunicode)}", TIERS.index("episodic"))
        )
        return list(dict.fromkeys(written for (written,) in found))[:OFFERED]

    def all(self) -> list[tuple[str, str]]:
        """All names as written, each with the path of its note; names of sessions are none."""
        sql = (
            f"SELECT m.written, n.path FROM names m JOIN notes n ON n.id = m.note {_OF_SCOPE}"
            " AND n.tier <> ? ORDER BY m.name, n.path"
        )
        return self._connection.execute(sql, (self._scope, TIERS.index("episodic"))).fetchall()

    def headed(self, title: str) -> list[str]:
        """The notes that may have a heading of these words, case, accents and punctuation aside; in order of paths.

        A heading that nothing stands below is told from other lines of these words by who reads the note.
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
        """All tags."""
        sql = (
            "SELECT DISTINCT g.tag FROM chunk_tags g JOIN chunks c ON c.id = g.chunk JOIN notes n ON n.id = c.note"
            f" {_OF_SCOPE} ORDER BY g.tag"
        )
        return [tag for (tag,) in self._connection.execute(sql, (self._scope,))]

    def tagged_notes(self) -> list[tuple[str, str]]:
        """Each note with each of its tags, in order."""
        sql = (
            "SELECT DISTINCT n.path, g.tag FROM notes n JOIN chunks c ON c.note = n.id"
            f" JOIN chunk_tags g ON g.chunk = c.id {_OF_SCOPE}"
        )
        found = {(path, tag) for path, tag in self._connection.execute(sql, (self._scope,))}
        sql = f"SELECT n.path, n.tags FROM notes n {_OF_SCOPE} AND n.tags <> ''"  # blank notes have tags, too
        for path, tags in self._connection.execute(sql, (self._scope,)):
            found |= {(path, tag.strip("/").lower()) for tag in tags.split(BETWEEN)}
        return sorted(found)

    def bearing(
        self, paths: Iterable[str], covers: Callable[[str], bool]
    ) -> Iterator[tuple[str, str, list[str], list[tuple[int, str]]]]:
        """Of some notes path, title, tags of their properties, and line and text of each chunk with a tag.

        Args:
            paths: of the notes.
            covers: whether a tag counts.
        """
        sql = f"SELECT n.id, n.path, n.title, n.tags FROM json_each(?) j JOIN notes n ON n.path = j.value {_OF_SCOPE}"
        for note, path, title, tags in self._rows(sql, paths, self._scope).fetchall():
            sql = (
                "SELECT c.start_line, t.text, g.tag FROM chunks c JOIN chunk_texts t ON t.id = c.id"
                " JOIN chunk_tags g ON g.chunk = c.id WHERE c.note = ? ORDER BY c.position"
            )
            held = {start: text for start, text, tag in self._connection.execute(sql, (note,)) if covers(tag)}
            yield path, title, [tag for tag in tags.split(BETWEEN) if tag], list(held.items())

    def telling(self, found: Named, held_in: Callable[[str], bool]) -> tuple[frozenset[str], set[int]]:
        """The notes that tell of somebody or something as wholes, and all chunks in which something does.

        Args:
            found: who or what.
            held_in: whether a text does; of a chunk's text the index's own notion of words is enough here.
        """
        described = self._described(found, held_in)
        own = self._column("SELECT n.id FROM json_each(?) j JOIN notes n ON n.path = j.value", found.paths)
        chunks = self._of_notes([*own, *(key for _, key in described)])
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
        return found.paths | {path for path, _ in described}, self._with_the_rest(chunks)

    def tagged(
        self, tag: str, covers: Callable[[str], bool], listed: Callable[[str], bool]
    ) -> tuple[frozenset[str], set[int]]:
        """The notes that are of a topic as wholes, and all chunks in which something is.

        Args:
            tag: lower case, without ``#``; those nested below it count.
            covers: whether a tag is it, or nested below it.
            listed: whether a topic of a session means it.
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
        for path, key, text, headings in self._rows(sql, self._matching("text", spaced(tag)), self._scope):
            under = headings.split(BETWEEN)[-1].casefold() == TOPICS
            if under and any(map(listed, text.split("\n"))):
                paths.add(path)
                sessions.add(int(key))
        return frozenset(paths), self._with_the_rest(chunks | self._of_notes(sessions))

    def _described(self, found: Named, held_in: Callable[[str], bool]) -> list[tuple[str, int]]:
        """Path and number of the notes whose front matter names it in a value."""
        notes: set[int] = set(found.linking)
        for name in found.names:
            words = fulltext.word_part(name)
            if words:
                rows = self._connection.execute(*self._found_by("note_words", f"about : {fulltext.quoted(words)}"))
                notes |= {int(note) for (note,) in rows}
        sql = f"SELECT n.path, n.id, n.about FROM json_each(?) j JOIN notes n ON n.id = j.value {_OF_SCOPE}"
        rows = self._rows(sql, notes, self._scope)
        return [(path, int(key)) for path, key, about in rows if any(map(held_in, _values(about)))]

    def _matching(self, column: str, name: str) -> set[int]:
        """The chunks that hold the words of a name in a column, and its signs."""
        found: set[int] | None = None
        words, signs = fulltext.word_part(name), fulltext.sign_expression(name)
        for table, expression in (
            ("chunk_words", f"{column} : {fulltext.quoted(words)}" if words else ""),
            ("chunk_signs", signs),
        ):
            if expression:
                rows = self._connection.execute(*self._found_by(table, expression))
                held = {int(chunk) for (chunk,) in rows}
                found = held if found is None else found & held
        return found or set()

    def _with_the_rest(self, chunks: set[int]) -> set[int]:
        """The chunks, and those in which a list goes on that one of them begins: they start with an indented line."""
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

    def _of_notes(self, notes: Iterable[int]) -> set[int]:
        return set(self._column("SELECT c.id FROM json_each(?) j JOIN chunks c ON c.note = j.value", notes))

    def _column(self, sql: str, keys: Iterable[object]) -> list[int]:
        return [int(key) for (key,) in self._rows(sql, keys)]

    def _rows(self, sql: str, keys: Iterable[object], *values: object) -> sqlite3.Cursor:
        return self._connection.execute(sql, (json.dumps(list(keys)), *values))


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    """What a name is compared by: no case, accents, widths, punctuation; no stop words unless nothing else is left."""
    words = _words(name)
    return _joined([word for word in words if word not in STOP_WORDS] or words) or _plain(name)


def keys_within(text: str) -> list[str]:
    """The key of the whole text, and of whatever in it may be a name, each once."""
    words = _words(text)
    parts = [sign for word in words if word not in STOP_WORDS for sign in (word if _is_run(word) else (word,))]
    found = {key(text): None}
    for start in range(len(parts := parts[:MOST_WORDS])):
        for end in range(start + 1, min(start + LONGEST_RUN, len(parts)) + 1):
            if len(one := _joined(parts[start:end])) > 1:
                found[one] = None
    return list(found)


def names_of(path: str, title: str, aliases: Iterable[str]) -> list[str]:
    """The names of a note as they are written: file name, title, aliases."""
    return list(dict.fromkeys((_stem(path), title, *aliases)))


def keys_of(path: str, title: str, aliases: Iterable[str]) -> dict[str, str]:
    """The same by their keys."""
    found: dict[str, str] = {}
    for name in names_of(path, title, aliases):
        if one := key(name):
            found.setdefault(one, name[:LONGEST])
    return found


def name_parts(name: str) -> list[str]:
    """The words of a name as ranking weighs them; of a script without blanks overlapping pairs of signs."""
    found: list[str] = []
    for word in _words(name):
        if len(word) > 2 and _is_run(word):
            found += (word[i : i + 2] for i in range(len(word) - 1))
        elif word not in STOP_WORDS:
            found.append(word)
    return found


def mistakes(typed: str, meant: str, most: int) -> int:
    """Letters wrong, missing, too many, or swapped with the next; ``most + 1`` stands for any larger number."""
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, letter in enumerate(typed, start=1):
        last, before, row = before, row, [i]
        for j, other in enumerate(meant, start=1):
            least = min(before[j - 1] + (letter != other), before[j] + 1, row[-1] + 1)
            if i > 1 < j and letter == meant[j - 2] and typed[i - 2] == other:
                least = min(least, last[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)


def _mistakes(asked: str, letters: set[str], name: str, most: int) -> int:
    """:func:`mistakes`, a hundred times slower, is asked only where length and letters allow for so few."""
    far = abs(len(name) - len(asked)) > most or len(letters.symmetric_difference(name)) > 2 * most
    return most + 1 if far else mistakes(asked, name, most)


def _mistakes_of_a_part(asked: str, letters: set[str], name: str) -> int:
    """The fewest letters wrong against a part of a longer name that has as many words, or signs; 0 for too many."""
    if _is_run(asked):
        most = 1 if len(asked) >= SIGNS_OF_A_PART else 0
        parts = [name[at : at + len(asked)] for at in range(len(name) - len(asked) + 1)]
    else:
        most, words, count = len(asked) // LETTERS_A_MISTAKE, name.split(" "), asked.count(" ") + 1
        parts = [" ".join(words[at : at + count]) for at in range(len(words) - count + 1)]
    if not most or len(parts) < 2:
        return 0
    least = min(_mistakes(asked, letters, part, most) for part in parts)
    return least if least <= most else 0


def _plain(name: str) -> str:
    cut = fulltext.clean(name)[:LONGEST]
    return " ".join((cut if cut.isascii() else unicodedata.normalize("NFKC", visible(cut))).split())


def _words(name: str) -> list[str]:
    """Its folded words; what is written without blanks apart from the rest, and ``c++`` with its signs."""
    plain = fold(_plain(name))
    return _ASCII_WORD.findall(plain) if plain.isascii() else fulltext.words_and_runs(plain)


def _joined(words: Sequence[str]) -> str:
    """Words as one key: none knows where a blank belongs in a script that is written without."""
    if not any(map(_is_run, words)):
        return " ".join(words)
    text = ""
    for i, word in enumerate(words):
        text += word if not i or (_is_run(word) and _is_run(words[i - 1])) else f" {word}"
    return text


def _is_run(word: str) -> bool:
    return fulltext.is_unspaced(word[0])


def folded(text: str) -> str:
    """A text for comparing: no case, Latin letters without their accents, spaces collapsed."""
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return " ".join(fold(composed).split())


def spaced(text: str) -> str:
    """A tag as words: ``the-van`` is ``the van``."""
    return " ".join(re.sub(r"[-_/]", " ", text).split())


def _links_to(paths: set[str], rows: list[tuple[int, str, str]]) -> tuple[set[str], set[int]]:
    """The targets that lead to some notes, and the notes that have one; rows are number, path and links of all."""
    stems = {_stem(path).lower() for path in paths}
    targets: set[str] = set()
    linking: set[int] = set()
    if not stems:
        return targets, linking
    links = vault.links.Links(path for _, path, _ in rows)
    for key, source, said in rows:
        for target in said.split(BETWEEN):
            if _stem(target).lower() in stems and links.resolve(target, source) in paths:
                targets.add(target)
                linking.add(key)
    return targets, linking


def _values(about: str) -> Iterator[str]:
    """What the properties of a note say, from its searchable text."""
    for line in about.split("\n"):
        key, parted, value = line.partition(": ")
        if parted and key and not key.startswith("#"):
            yield value


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name[:-3] if name[-3:].lower() == ".md" else name
