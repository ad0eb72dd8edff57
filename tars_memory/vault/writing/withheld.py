"""What was forgotten stays forgotten: salted hashes of the sentences, and when; no words.

A turn of a conversation that was said before and holds such a sentence is withheld from all that reads conversations:
extraction, kept turns, the index of talks, context. Said again later it counts. The file stands in the state folder,
beside journal and index, and survives a rebuild of either.

A sentence is found inside a longer text, case, blanks and punctuation aside: as a run of the same words; of scripts
that part no words, of the same signs. One of less than three words must be a whole sentence of the text.

The words themselves are taken out of the journal's records, which then can't be undone (:func:`purge`).
"""

from __future__ import annotations

import io
import json
import os
import re
import unicodedata
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tars_memory import disk
from tars_memory.disk import blake2b
from tars_memory.errors import SettingsError, StateError
from tars_memory.vault import layout, secrets
from tars_memory.vault.markdown.entries import holds, neutralise
from tars_memory.vault.writing.journal import Journal, Record, encode_record, parse, replace_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

LEAST_WORDS, LEAST_SIGNS = 3, 6
"""Shorter sentences must be a whole sentence of a text: "tea" must not withhold all that mentions tea."""

LONGEST_SALT = 64
"""Bytes: no hash takes a longer key."""

_ALONE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Signs of scripts without blanks: Thai, Lao, Burmese, Khmer, kana, Han."""
_UNITS = re.compile(rf"[{_ALONE}]|[^\W_{_ALONE}]+")
_ENDS = re.compile(r"[.!?;:…。！？；：\n\r\u2028\u2029]+")
_ASIDE = re.compile(r"\[[^\[\]]*\]|(?:^|(?<=\s))#\S+|\((?:\[\[)?\d{4}-\d\d-\d\d[^()]*\)")
"""What a note adds to what was said: what a word refers to, fields, tags, a day."""


def folded(text: str) -> str:
    """A text without case, in one form of each character."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def units(text: str) -> list[str]:
    """The words of a text as they are compared; of scripts that part none each sign."""
    return _UNITS.findall(folded(text))


def mentions(text: str, sentences: Iterable[Sequence[str]]) -> bool:
    """Whether a text holds one of these sentences; they are as :func:`units` gives them."""
    said: list[str] | None = None
    for sentence in sentences:
        if not sentence:
            continue
        if said is None:
            said = units(text)
        if _short(sentence):
            if any(units(part) == [*sentence] for part in _ENDS.split(text)):
                return True
            continue
        size, first = len(sentence), sentence[0]
        for at, unit in enumerate(said[: len(said) - size + 1]):
            if unit == first and said[at : at + size] == [*sentence]:
                return True
    return False


def wordings(text: str) -> list[list[str]]:
    """A statement as a note says it, and as it may have been said: without asides, tags and days."""
    found = [units(text), units(_ASIDE.sub(" ", text))]
    return [each for at, each in enumerate(found) if each and each not in found[:at]]


class _Forgotten(NamedTuple):
    """What one command forgot: when, which transaction, the logs it came from, and the sentences."""

    at: datetime
    txn: str
    logs: tuple[str, ...]
    said: tuple[tuple[int, int, str], ...]
    """Of each sentence how many units, a byte of its first one (most texts need no more than that), and its hash."""


class Withheld:
    """The sentences that were forgotten in one vault.

    Args:
        state: the vault's state folder; where nothing was forgotten there is no file, and nothing is withheld.

    Raises:
        StateError: the file can't be read or has lost its salt: what was forgotten can't be told from what was not.
    """

    def __init__(self, state: Path) -> None:
        self.path = state / layout.FORGOTTEN
        try:
            self._salt, self._records, self._odd = _read(self.path)
        except SettingsError as error:
            raise StateError(error.message, error.hint) from error
        self._known: dict[str, list[_Forgotten]] = {}
        self._sizes: dict[int, set[int]] = {}
        for record in self._records:
            for size, sign, digest in record.said:
                self._known.setdefault(digest, []).append(record)
                self._sizes.setdefault(sign, set()).add(size)
        self._signs: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._records)

    def holds(self, text: str, when: datetime | str | None, *logs: str) -> bool:
        """Whether a text is to be withheld: it holds a sentence that was forgotten after the text was said.

        Args:
            text: a sentence, or a whole turn.
            when: it was said, or the ISO day of that, which counts from its beginning; None or '' if that isn't known.
                Then it is withheld if the sentence came from one of its logs, or from no log that is known.
            logs: names of the log it is from: its file, its own name of the conversation.
        """
        if not self._records:
            return False
        if isinstance(when, str):
            when = _moment(when)
        names = {self._digest(_name(log)) for log in logs if log} if when is None else set()
        return any(self._applies(record, when, names) for record in self._found(text))

    def remember(
        self, sentences: Iterable[Sequence[str]], now: datetime, *, txn: str = "", logs: Iterable[str] = ()
    ) -> None:
        """Withhold what holds one of these sentences and was said before now.

        Args:
            sentences: as :func:`units` gives them.
            now: the instant of the command.
            txn: the transaction; :meth:`drop` takes it back.
            logs: names of the logs that the sentences came from.

        Raises:
            OSError: the file can't be written.
        """
        said = tuple(
            dict.fromkeys(
                (len(each), self._sign(each[0]), self._digest("\x1f".join(each))) for each in sentences if each
            )
        )
        if not said:
            return
        names = tuple(dict.fromkeys(self._digest(_name(log)) for log in logs if log))
        self._records.append(_Forgotten(now.astimezone(), txn, names, said))
        self._write()

    def drop(self, txns: Collection[str]) -> None:
        """Withhold no longer what these transactions forgot: they were undone.

        Raises:
            OSError: the file can't be written.
        """
        kept = [record for record in self._records if not record.txn or record.txn not in txns]
        if len(kept) != len(self._records):
            self._records = kept
            self._write()

    @property
    def txns(self) -> set[str]:
        """The transactions that forgot something."""
        return {record.txn for record in self._records if record.txn}

    def _write(self) -> None:
        lines: list[dict[str, Any]] = [{"salt": self._salt.hex()}]
        lines += [
            {"at": record.at.isoformat(), "txn": record.txn, "logs": record.logs, "said": record.said}
            for record in self._records
        ]
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = [json.dumps(line).encode("ascii") for line in lines]
        replace_file(self.path, b"".join(line + b"\n" for line in (*written, *self._odd)))
        self.__init__(self.path.parent)  # type: ignore[misc]

    def _found(self, text: str) -> Iterator[_Forgotten]:
        """What forgot a sentence that the text holds."""
        said = units(text)
        for at, unit in enumerate(said):
            sign = self._signs.get(unit)
            if sign is None:
                sign = self._signs[unit] = self._sign(unit)
            for size in self._sizes.get(sign, ()):
                run = said[at : at + size]
                if len(run) == size and not _short(run):
                    yield from self._known.get(self._digest("\x1f".join(run)), ())
        for part in _ENDS.split(text):
            run = units(part)
            if run and _short(run):
                yield from self._known.get(self._digest("\x1f".join(run)), ())

    @staticmethod
    def _applies(record: _Forgotten, when: datetime | None, logs: Collection[str]) -> bool:
        if when is None:
            return not record.logs or any(log in logs for log in record.logs)
        return when.astimezone() < record.at

    def _digest(self, text: str) -> str:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._salt).hexdigest()

    def _sign(self, unit: str) -> int:
        return blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=1, key=self._salt).digest()[0]


def _moment(day: str) -> datetime | None:
    try:
        return datetime.fromisoformat(day).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def _name(log: str) -> str:
    return log.replace("\\", "/").rpartition("/")[2].casefold()


def _short(sentence: Sequence[str]) -> bool:
    return len(sentence) < LEAST_WORDS or sum(map(len, sentence)) < LEAST_SIGNS


def _read(path: Path) -> tuple[bytes, list[_Forgotten], list[bytes]]:
    """Salt, records, and the lines that are none: they are kept. A new salt where there is no file."""
    data = disk.read(path, most=disk.LARGEST_OWN) or b""
    salt = b""
    found: list[_Forgotten] = []
    odd: list[bytes] = []
    for line in filter(bytes.strip, data.split(b"\n")):
        try:
            said = json.loads(line)
            if "salt" in said:
                salt = bytes.fromhex(said["salt"])[:LONGEST_SALT]
                continue
            records = tuple((int(size), int(sign), str(digest)) for size, sign, digest in said["said"])
            at = datetime.fromisoformat(said["at"]).astimezone()
            found.append(_Forgotten(at, str(said["txn"]), tuple(map(str, said["logs"])), records))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            odd.append(line)
    if not salt and (found or odd):
        raise SettingsError(
            f"{path} has lost its first line (the salt), so what was forgotten is not recognised; it is left as it is",
            "put it back from a backup; or move it away: old conversations may then bring back what was forgotten",
        )
    return salt or os.urandom(16), found, odd


# -- taking words out of the journal for good


_HEAD = ("t", "txn", "n", "time", "command", "actor", "file", "op", "undoes", "settles", "whole")
"""What a purged record keeps."""


def purge(journal: Journal, texts: Sequence[str]) -> int:
    """Take texts out of every record that holds one; such a write can't be undone any more.

    The newest file comes last, so that the removal of an entry is told until all older files are done.

    Returns:
        how many records held one.

    Raises:
        OSError: a file could not be rewritten; it is as it was.
    """
    journal.close()
    purged = 0
    for path in journal.files():
        lines, found = [], 0
        for line in io.BytesIO(path.read_bytes()):
            record = parse(line)
            if record is not None and any(_holds(record, text) for text in texts):
                found += 1
                kept = {key: record[key] for key in _HEAD if key in record} | {"purged": True, "spans": []}
                line = encode_record(
                    kept | {"file": _unnamed(str(kept.get("file", "")), texts)} if "file" in kept else kept
                )
            lines.append(line)
        if found:
            replace_file(path, b"".join(lines))
            purged += found
    return purged


def _unnamed(path: str, texts: Sequence[str]) -> str:
    """The path of a note, under another name if its own one tells what was forgotten."""
    folder, _, name = path.rpartition("/")
    telling = mentions(path, [units(text) for text in texts])
    return "/".join(filter(None, (folder, f"forgotten.{name.rpartition('.')[2]}"))) if telling else path


def item_says(arguments: dict[str, Any], words: str) -> bool:
    """Whether what waits in the spool would become an entry of exactly these words (with its tags or without)."""
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        return False
    if mentions(text, [units(words)]):
        return True
    said = neutralise(text)
    tags = arguments.get("tags")
    # of a removal that waits, the spool holds the words without their credentials
    return any(one in (said, said + "".join(f" #{tag}" for tag in tags or ())) for one in (words, secrets.mask(words)))


def says(value: Any, words: str) -> bool:
    """Whether somewhere in a JSON value a text holds these words, or an entry with them."""
    if isinstance(value, str):
        return (
            " ".join(value.split()) == " ".join(words.split()) or holds(value, words) or mentions(value, [units(words)])
        )
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(says(part, words) for part in parts)


def file_says(text: str, words: str) -> bool:
    """Whether one of our JSON files has the words: the whole of it, or one of its lines, is a JSON value."""
    for part in (text, *re.split(r"\r\n|\r|\n", text)):
        try:
            if says(json.loads(part), words):
                return True
        except (ValueError, RecursionError):
            continue
    return False


def _holds(record: Record, words: str) -> bool:
    said = [units(words)]
    texts = [part for span in record.get("spans", ()) for part in span[1:] if part]
    texts += [record["base"]] if record.get("base") else []
    within = file_says if str(record.get("file", "")).startswith(layout.OURS) else holds
    return mentions(str(record.get("file", "")), said) or any(
        within(text, words) or mentions(text, said) for text in texts
    )
