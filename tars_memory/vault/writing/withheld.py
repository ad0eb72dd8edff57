"""Keep forgotten sentences forgotten: stores their salted hashes and the time of forgetting, but no words.

A turn of a conversation that is older than the forgetting and holds such a sentence is withheld from all that reads
conversations: extraction, kept turns, the index of talks, context. If it is said again later, it counts. The file is in
the state folder, beside journal and index, and survives a rebuild of either.

A sentence is found inside a longer text as a run of the same words, whatever their case, blanks and punctuation; in
scripts without blanks between words, as a run of the same characters. A sentence of less than three words must be a
whole sentence of the text.

The words themselves are removed from the journal's records, which then can't be undone (:func:`purge`).
"""

import contextlib
import io
import json
import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from tars_memory import disk, errors
from tars_memory.vault import layout, secrets, suspicion
from tars_memory.vault.markdown.entries import has_entry, neutralise
from tars_memory.vault.writing.journal import OPPOSITE, Journal, Record, encode_record, parse, replace_file
from tars_memory.vault.writing.system import VaultLock

MIN_WORDS, MIN_CHARACTERS = 3, 6
"""Size of a sentence below which it must be a whole sentence of a text: "tea" must not withhold all mentions of tea."""

MAX_SALT_BYTES = 64
"""Maximum length of a salt: BLAKE2b takes no longer key."""

LOCK_WAIT = 10.0
"""Seconds to wait for another process that changes the file."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Characters of scripts without blanks between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_UNITS = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_SENTENCE_ENDS = re.compile(r"[.!?;:…。！？；：\n\r\u2028\u2029]+")
_ASIDES = re.compile(r"\[[^\[\]]*\]|(?:^|(?<=\s))#\S+|\((?:\[\[)?\d{4}-\d\d-\d\d[^()]*\)")
"""What a note adds to the words that were said: explanations in brackets, fields, tags, a day."""


_MASKED = suspicion.MARK.strip("( ")
"""The unit that a masked credential begins with."""


def folded(text: str) -> str:
    """Return a text in NFKC and without case."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()


def units(text: str) -> list[str]:
    """Return the words of a text in the form that is compared; in scripts without blanks, the characters."""
    return _UNITS.findall(folded(text))


def mentions(text: str, sentences: Iterable[Sequence[str]]) -> bool:
    """Whether a text holds one of the sentences, each a list as :func:`units` returns it."""
    words = units(text) if sentences else []
    for sentence in filter(None, sentences):
        size, first = len(sentence), sentence[0]
        runs = (words[at : at + size] for at, unit in enumerate(words) if unit == first)
        if [*sentence] in (_wholes(text) if is_short(sentence) else runs):
            return True
    return False


def wordings(text: str) -> list[list[str]]:
    """Return the units of a statement in a note as written, and as it may have been said (without asides)."""
    written, said = units(text), units(_ASIDES.sub(" ", text))
    return [wording for wording in ([written] if said == written else [written, said]) if wording]


class _Forgotten(NamedTuple):
    """What one command forgot.

    Attributes:
        at: the time of the command.
        txn: its transaction; empty if it has none.
        logs: hashed names of the logs that the sentences came from.
        sentences: for each sentence the number of its units, a byte of the hash of its first unit (which suffices to
            rule out most texts), and its own hash.
        masked: whether a sentence holds a masked credential, as notes and the index do: texts are masked to compare.
        undone: whether the transaction was undone: nothing is withheld until that is undone in turn.
    """

    at: datetime
    txn: str
    logs: tuple[str, ...]
    sentences: tuple[tuple[int, int, str], ...]
    masked: bool = False
    undone: bool = False


class Withheld:
    """The sentences that were forgotten in one vault.

    Args:
        state: the vault's state folder; if nothing was forgotten, there is no file, and nothing is withheld.

    Raises:
        StateError: the file can't be read or has lost its salt, so that forgotten sentences can't be recognised.
    """

    def __init__(self, state: Path) -> None:
        self.path = state / layout.FORGOTTEN
        self._load()

    def _load(self) -> None:
        """Read the file."""
        try:
            self._salt, self._records, self._foreign_lines = _read(self.path)
        except errors.SettingsError as error:
            raise errors.StateError(error.message, error.hint) from error
        self._bytes_by_unit: dict[str, int] = {}
        self._index()

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the file's lock for a ``with`` block that changes the records, as they are in the file by then.

        Commands that forget at the same time would else overwrite each other's records, and salts.
        """
        lock = VaultLock(self.path.with_suffix(".lock"), timeout=LOCK_WAIT, command="forget")
        with lock.held():
            self._load()
            yield
            self._write()

    def _index(self) -> None:
        """Build the tables in which :meth:`_matches` looks a text up."""
        self._records_by_digest: dict[str, list[_Forgotten]] = {}
        self._sizes_by_byte: dict[int, set[int]] = {}
        for record in self._in_force():
            for size, first_byte, digest in record.sentences:
                self._records_by_digest.setdefault(digest, []).append(record)
                self._sizes_by_byte.setdefault(first_byte, set()).add(size)

    def _in_force(self) -> list[_Forgotten]:
        return [record for record in self._records if not record.undone]

    def __bool__(self) -> bool:
        return bool(self._in_force())

    def holds(self, text: str, when: datetime | None, *logs: str) -> bool:
        """Whether a text must be withheld: it holds a sentence that was forgotten after the text was said.

        Args:
            text: a sentence, or a whole turn.
            when: when the text was said; None if that isn't known. Then the text is withheld if the sentence came from
                one of its logs, or from no known log.
            logs: names of the log that the text is from: its file, its own name of the conversation.
        """
        if not self._records_by_digest:
            return False
        names = {self._digest(_log_name(log)) for log in logs if log} if when is None else set()
        forms = {text, secrets.veil(text)} if any(record.masked for record in self._records) else {text}
        return any(self._applies(record, when, names) for form in forms for record in self._matches(form))

    def remember(
        self, sentences: Iterable[Sequence[str]], now: datetime, *, txn: str = "", logs: Iterable[str] = ()
    ) -> None:
        """Withhold from now on what holds one of the sentences and was said before now.

        Args:
            sentences: each a list as :func:`units` returns it.
            now: the instant of the command.
            txn: name of the transaction; :meth:`drop` takes it.
            logs: names of the logs that the sentences came from.

        Raises:
            OSError, TarsError: the file can't be read, locked or written.
        """
        wanted = [sentence for sentence in sentences if sentence]
        if not wanted:
            return
        with self._changing():
            hashed = tuple(
                dict.fromkeys(
                    (len(sentence), self._digest_byte(sentence[0]), self._digest("\x1f".join(sentence)))
                    for sentence in wanted
                )
            )
            names = tuple(dict.fromkeys(self._digest(_log_name(log)) for log in logs if log))
            masked = any(_MASKED in sentence for sentence in wanted)
            self._records.append(_Forgotten(now.astimezone(), txn, names, hashed, masked))

    def drop(self, txns: Collection[str]) -> None:
        """Drop what these transactions forgot, as they failed.

        Raises:
            OSError, TarsError: the file can't be read, locked or written.
        """
        if self.txns & set(txns):
            with self._changing():
                self._records = [record for record in self._records if not record.txn or record.txn not in txns]

    def settled(self, undone: Mapping[str, bool]) -> dict[str, datetime]:
        """Withhold what these transactions forgot, or no longer, by whether they are undone now; in memory alone.

        Returns:
            Those for which that changed anything, and when they forgot it.
        """
        before = self._records
        self._records = [record._replace(undone=undone.get(record.txn, record.undone)) for record in before]
        self._index()
        return {old.txn: old.at for old, new in zip(before, self._records, strict=True) if old != new}

    def settle(self, undone: Mapping[str, bool]) -> None:
        """As :meth:`settled`, in the file too.

        Raises:
            OSError, TarsError: the file can't be read, locked or written.
        """
        with self._changing():
            self.settled(undone)

    def txns_of(self, sentences: Iterable[Sequence[str]]) -> set[str]:
        """Return the transactions that forgot one of the sentences."""
        digests = {self._digest("\x1f".join(sentence)) for sentence in sentences}
        return {record.txn for record in self._records if digests.intersection(each[2] for each in record.sentences)}

    @property
    def txns(self) -> set[str]:
        """The transactions that forgot something."""
        return {record.txn for record in self._records if record.txn}

    def _write(self) -> None:
        lines: list[dict[str, Any]] = [{"salt": self._salt.hex()}]
        lines += [
            {"at": record.at.isoformat(), "txn": record.txn, "logs": record.logs, "said": record.sentences}
            | {name: True for name in ("masked", "undone") if getattr(record, name)}
            for record in self._records
        ]
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = [json.dumps(line).encode("ascii") for line in lines]
        replace_file(self.path, b"".join(line + b"\n" for line in (*written, *self._foreign_lines)))
        self._index()

    def _matches(self, text: str) -> Iterator[_Forgotten]:
        """Yield the records with a sentence that the text holds."""
        words = units(text)
        for at, unit in enumerate(words):
            first_byte = self._bytes_by_unit.get(unit)
            if first_byte is None:
                first_byte = self._bytes_by_unit[unit] = self._digest_byte(unit)
            for size in self._sizes_by_byte.get(first_byte, ()):
                run = words[at : at + size]
                if len(run) == size and not is_short(run):
                    yield from self._records_by_digest.get(self._digest("\x1f".join(run)), ())
        for run in _wholes(text):
            if run and is_short(run):
                yield from self._records_by_digest.get(self._digest("\x1f".join(run)), ())

    @staticmethod
    def _applies(record: _Forgotten, when: datetime | None, logs: Collection[str]) -> bool:
        """Whether a text said at ``when``, or if that isn't known in these logs, falls under a record."""
        if when is None:
            return not record.logs or any(log in logs for log in record.logs)
        return when.astimezone() < record.at

    def _digest(self, text: str) -> str:
        return disk.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._salt).hexdigest()

    def _digest_byte(self, unit: str) -> int:
        """Return one byte of a unit's hash, to rule out most texts quickly."""
        return disk.blake2b(unit.encode("utf-8", "surrogatepass"), digest_size=1, key=self._salt).digest()[0]


def _log_name(log: str) -> str:
    """Return the file name of a log's path, without case."""
    return log.replace("\\", "/").rpartition("/")[2].casefold()


def _wholes(text: str) -> list[list[str]]:
    """Return the sentences of a text, its lines ("Dr. Smith" is one sentence), and all of it, as units."""
    return [units(part) for part in {text, *text.split("\n"), *_SENTENCE_ENDS.split(text)}]


def is_short(sentence: Sequence[str]) -> bool:
    """Whether a sentence is too short to be looked for within other sentences."""
    return len(sentence) < MIN_WORDS or sum(map(len, sentence)) < MIN_CHARACTERS


def _read(path: Path) -> tuple[bytes, list[_Forgotten], list[bytes]]:
    """Return the salt (a new one if there is no file), the records, and the lines that are no records, to be kept.

    Raises:
        SettingsError: the file can't be read or has lost its salt.
    """
    data = disk.read(path, most=disk.LARGEST_OWN) or b""
    salt = b""
    records: list[_Forgotten] = []
    foreign: list[bytes] = []
    for line in filter(bytes.strip, data.split(b"\n")):
        try:
            value = json.loads(line)
            if "salt" in value:
                salt = bytes.fromhex(value["salt"])[:MAX_SALT_BYTES]
                continue
            sentences = tuple((int(size), int(first_byte), str(digest)) for size, first_byte, digest in value["said"])
            at = datetime.fromisoformat(value["at"]).astimezone()
            logs = tuple(map(str, value["logs"]))
            flags = (bool(value.get(name)) for name in ("masked", "undone"))
            records.append(_Forgotten(at, str(value["txn"]), logs, sentences, *flags))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            foreign.append(line)
    if not salt and (records or foreign):
        raise errors.SettingsError(
            f"{path} has lost its first line (the salt): forgotten statements are not recognised; it was not changed",
            "put it back from a backup; or move it away: old conversations may then bring forgotten statements back",
        )
    return salt or os.urandom(16), records, foreign


# -- removing words from the journal for good


_KEPT_KEYS = ("t", "txn", "n", "time", "command", "actor", "file", "op", "undoes", "settles", "whole")
"""Members that a purged record keeps."""


def purge(journal: Journal, texts: Sequence[str], txns: Collection[str] = ()) -> int:
    """Remove texts from every record that holds one; a write of such a text can't be undone any more.

    A write beside such a text only loses that landmark: its own lines are still known as written, edited or approved.
    So are the other lines of a write that added or removed several.

    The newest file is rewritten last, so that the journal shows the removal of an entry until all older files are done.

    Args:
        journal: of the vault.
        texts: the forgotten texts.
        txns: transactions that withheld one of them, which can't be undone any more either.

    Returns:
        The number of records that held a text.

    Raises:
        OSError: a file could not be rewritten; it is as it was.
    """
    journal.close()
    purged = 0
    for path in journal.files():
        lines, count = [], 0
        for line in io.BytesIO(path.read_bytes()):
            record = parse(line)
            if record is not None and record["txn"] in txns and record.get("op") in OPPOSITE:
                count += not record.get("purged")
                line = encode_record(record | {"purged": True})
            elif record is not None and any(_record_holds(record, text) for text in texts):
                count += 1
                line = encode_record(_purged(record, texts))
            lines.append(line)
        if count:
            replace_file(path, b"".join(lines))
            purged += count
    return purged


def _purged(record: Record, texts: Sequence[str]) -> Record:
    """Return a record without the forgotten texts: without its landmarks that hold one, else without the lines that it
    added or removed and that hold one, else without all its words.
    """

    def holds(changed: Record) -> bool:
        return any(_record_holds(record | changed, text) for text in texts)

    spans = [
        [*span[:3], *(None if holds({"spans": [], "base": mark}) else mark for mark in span[3:])]
        for span in record.get("spans", ())
    ]
    if not holds({"spans": spans}):
        return record | {"spans": spans}
    # what "forget" removed is not brought back in part
    cut = [_without_lines(span, texts) for span in spans] if record.get("command") != "forget" else []
    if record["op"] in ("append", "edit") and any(span[1] or span[2] for span in cut) and not holds({"spans": cut}):
        return record | {"spans": cut, "old": None, "new": None}  # no note is as it was before and after the rest
    head = {key: record[key] for key in _KEPT_KEYS if key in record} | {"purged": True, "spans": []}
    return head | {"file": _neutral_path(str(head.get("file", "")), texts)} if "file" in head else head


def _without_lines(span: list[Any], texts: Sequence[str]) -> list[Any]:
    """Return a span that only adds or only removes lines without those that hold a forgotten text, and those within
    them; any other span as it is.
    """
    start, before, after, *marks = span
    if before and after:
        return span
    kept, blank, within = list[str](), list[str](), -1
    for line in re.findall(r"[^\r\n]*(?:\r\n|[\r\n])|[^\r\n]+\Z", before or after):
        if not line.strip():
            blank.append(line)  # it goes only if more of the same entry follows
            continue
        indent = len(line) - len(line.lstrip(" \t"))
        goes_on = 0 <= within < indent
        if not goes_on:
            holds = any(_record_holds({"spans": [[start, line, ""]]}, text) for text in texts)
            within = indent if holds else -1
        kept += ([] if goes_on else blank) + ([line] if within < 0 else [])
        blank = []
    kept += blank
    return [start, "".join(kept) if before else "", "".join(kept) if after else "", *marks]


def _neutral_path(path: str, texts: Sequence[str]) -> str:
    """Return the path of a note, with a neutral file name if the path holds a forgotten text."""
    if not mentions(path, [units(text) for text in texts]):
        return path
    folder, _, name = path.rpartition("/")
    return "/".join(filter(None, (folder, f"forgotten.{name.rpartition('.')[2]}")))


def item_says(arguments: dict[str, Any], words: str) -> bool:
    """Whether an item of the spool mentions the words, or would become an entry of them (with or without its tags)."""
    text = arguments.get("text")
    if not isinstance(text, str) or not text.strip():
        return False
    if mentions(text, [units(words)]):
        return True
    entry = neutralise(text)
    tagged = entry + "".join(f" #{tag}" for tag in arguments.get("tags") or ())
    # the spool holds the words of a removal with their credentials masked
    return not {words, secrets.mask(words)}.isdisjoint((entry, tagged))


def says(value: Any, words: str) -> bool:
    """Whether a text anywhere in a JSON value holds these words, or an entry with them."""
    if isinstance(value, str):
        same = " ".join(value.split()) == " ".join(words.split())
        return same or has_entry(value, words) or mentions(value, [units(words)])
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(says(part, words) for part in parts)


def file_says(text: str, words: str) -> bool:
    """Whether one of our JSON or JSON lines files holds the words."""
    for part in (text, *re.split(r"\r\n|\r|\n", text)):
        try:
            if says(json.loads(part), words):
                return True
        except (ValueError, RecursionError):
            continue
    return False


def _record_holds(record: Record, words: str) -> bool:
    """Whether a record's path or one of its texts holds the words."""
    sentence = [units(words)]
    texts = [part for span in record.get("spans", ()) for part in span[1:] if part]
    texts += [record["base"]] if record.get("base") else []
    path = str(record.get("file", ""))
    text_holds = file_says if path.startswith(layout.OURS) else has_entry
    return mentions(path, sentence) or any(text_holds(text, words) or mentions(text, sentence) for text in texts)
