"""What of the journal goes with time, what stays for ever, and what is taken out because it shall be forgotten.

A month goes as a whole, once it ended longer ago than the limit, but for the records that tell who gave or approved a
rule, and what was promoted by review: ``context`` and ``why`` ask for them years later.
"""

from __future__ import annotations

import io
import json
import re
from datetime import date
from typing import TYPE_CHECKING, Any

from tars_memory.vault.writing.journal import Record, parse, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from tars_memory.vault.writing.journal import Journal

FOREVER = "review"
"""The command whose writes are kept: they are decisions of the person."""

_RULES = re.compile(r"(?:projects/[^/]+/)?Procedural\.md")

_HEAD = ("t", "txn", "n", "time", "command", "actor", "file", "op", "undoes", "settles", "whole")
"""What a purged record keeps."""


def prune(journal: Journal, now: datetime, days: int) -> list[str]:
    """Remove what ended more than ``days`` days ago, never of the newest file, and not what is kept for ever.

    Call it under the lock, without an unfinished write.

    Returns:
        the names of the files that went or became shorter.
    """
    less: list[str] = []
    kept: set[str] = set()
    for path in journal.files()[:-1]:
        year, month = int(path.stem[-7:-3]), int(path.stem[-2:])
        ended = date(year + month // 12, month % 12 + 1, 1)
        if (now.date() - ended).days <= days:
            break
        lines = path.read_bytes().split(b"\n")[:-1]
        stays = [_line(record | {"kept": True}) for record in _forever(lines, kept)]
        if len(stays) == len(lines):
            continue
        if stays:
            replace_file(path, b"".join(stays))
        else:
            try:
                path.unlink()
            except OSError:  # it is tried again; that old file must not keep anything from being written
                continue
        less.append(path.name)
    return less


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
                line = _line({key: record[key] for key in _HEAD if key in record} | {"purged": True, "spans": []})
            lines.append(line)
        if found:
            replace_file(path, b"".join(lines))
            purged += found
    return purged


def says(value: Any, words: str) -> bool:
    """Whether somewhere in a JSON value a text holds these words, or an entry with them."""
    from tars_memory.vault.markdown.entries import holds
    from tars_memory.vault.writing.withheld import mentions, units

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


def _forever(lines: list[bytes], kept: set[str]) -> Iterator[Record]:
    """The records that stay: of rules, of decisions, and of what took either of them back.

    Args:
        lines: of one file, in order.
        kept: the transactions of such writes so far; added to.
    """
    ends: set[tuple[str, int]] = set()
    for line in lines:
        record = parse(line)
        if record is None:
            continue
        name = (str(record["txn"]), int(record.get("n", -1)))
        if record["t"] == "begin":
            rule = _RULES.fullmatch(str(record["file"])) is not None
            if rule or record["command"] == FOREVER or record.get("undoes") in kept:
                kept.add(name[0])
                ends.add(name)
                yield record
        elif name in ends or (record["t"] == "mark" and (record.get("undoes") in kept or name[0] in kept)):
            yield record


def _line(record: Record) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"


def _holds(record: Record, words: str) -> bool:
    from tars_memory.vault.inbox import OURS
    from tars_memory.vault.markdown.entries import holds
    from tars_memory.vault.writing.withheld import mentions, units

    said = [units(words)]
    texts = [part for span in record.get("spans", ()) for part in span[1:] if part]
    texts += [record["base"]] if record.get("base") else []
    within = file_says if str(record.get("file", "")).startswith(OURS) else holds
    return mentions(str(record.get("file", "")), said) or any(
        within(text, words) or mentions(text, said) for text in texts
    )
