"""The inbox: proposals that wait for a person, one JSON file each in ``.tars/inbox``, which Obsidian does not show.

``.tars/decided.jsonl`` records what was accepted, rejected or ignored, one line per decision, so that nothing is
offered again, or applied twice when a sync brings back an older note. Both are synced with the vault, so both are read
in any state that a sync may leave: conflict copies count like any other file; incomplete files, and files that are no
proposals, are skipped with a notice.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from tars_memory import disk, errors
from tars_memory.vault import layout, writing
from tars_memory.vault.markdown.document import newline_of
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from tars_memory.vault.vault import Vault

INBOX = f"{layout.OURS}inbox"

FIELDS = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts")
"""Fields of a proposal, in the order in which ``review --list --json`` shows them."""

BOUND = ("replaces", "marks", "occurrence")
"""Fields that bind a proposal to the text that it was made from; stored with :data:`FIELDS`."""

DECISIONS = ("accepted", "rejected", "ignored")


def proposal_id(op: str, target: str, section: str, text: str, replaces: str = "") -> str:
    """Return the id of a proposal: 8 hexadecimal digits, computed from the change itself."""
    digest = disk.sha256("\0".join((op, target, section, text, replaces)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:8]


def keep(session: writing.store.WriteSession, proposal: dict[str, Any]) -> str:
    """Store a proposal for a person to decide; the same proposal is stored only once.

    Args:
        session: the write session.
        proposal: JSON values of :data:`FIELDS` and perhaps :data:`BOUND`. An id is replaced (:func:`proposal_id`).

    Returns:
        The id.
    """
    kept = {"id": "", **{name: proposal[name] for name in (*FIELDS, *BOUND) if name in proposal}}
    kept["id"] = _id_of(kept)
    data = (json.dumps(kept, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")

    def plan(found: bytes | None) -> Sequence[Splice]:
        return [] if found else [Splice(0, 0, data)]

    session.write(f"{INBOX}/{kept['id']}.json", plan)
    return str(kept["id"])


def pending(vault: Vault, notices: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the pending proposals for notes of ours, oldest day first, each once even if several files have it.

    Args:
        vault: the vault to read.
        notices: gets a sentence for each file that is not a proposal.

    Returns:
        Dicts with :data:`FIELDS`, :data:`BOUND` and ``files``, the paths of the files that have the proposal.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in _files(vault, INBOX, ".json"):
        try:
            proposal = _proposal(json.loads(vault.read(path).decode("utf-8", "surrogateescape")))
        except errors.NotFoundError:
            continue
        except (errors.TarsError, ValueError, RecursionError, KeyError, TypeError) as error:
            if notices is not None:
                reason = error.message if isinstance(error, errors.TarsError) else f"{path} is not a proposal"
                notices.append(f"skipped: {reason}")
            continue
        if not vault.layout.is_ours(proposal["target"]):
            continue
        known = found.setdefault(proposal["id"], {**proposal, "files": []})
        known["files"].append(path)
    return sorted(found.values(), key=lambda proposal: (proposal["date"], proposal["id"]))


def drop(session: writing.store.WriteSession, proposal: dict[str, Any]) -> None:
    """Remove a decided proposal from the inbox, with all files that have it; missing files are ignored.

    Args:
        session: the write session.
        proposal: the proposal, as :func:`pending` returned it.
    """
    for path in proposal["files"]:
        data = session.read(path)
        if data is not None and _has_proposal(data, proposal["id"]):
            session.remove(path, disk.sha256(data).hexdigest())


def decide(
    session: writing.store.WriteSession, what: Iterable[tuple[str, str]], decision: str, day: date, *, project: str = ""
) -> None:
    """Record decisions.

    Args:
        session: the write session.
        what: id and words of each proposal.
        decision: one of :data:`DECISIONS`.
        day: day of the decision.
        project: project of the decision; empty for none.
    """
    decided_now = list(what)
    common = {"date": day.isoformat()} | ({"project": project} if project else {})
    lines = [
        json.dumps({"id": name, "decision": decision, **common, "what": words}, ensure_ascii=False)
        for name, words in decided_now
    ]
    if not lines:
        return

    def plan(data: bytes | None) -> Sequence[Splice]:
        data = data or b""
        before = {name: former for _, name, former in _decisions(_objects(data))}
        new = [line for line, (name, _) in zip(lines, decided_now, strict=True) if before.get(name) != decision]
        if not new:
            return []
        start = b"" if not data or data.endswith(b"\n") else newline_of(data)
        text = start + "".join(f"{line}\n" for line in new).encode("utf-8", "surrogateescape")
        return [Splice(len(data), len(data), text)]

    session.write(layout.DECIDED, plan)


def decided(vault: Vault) -> dict[str, str]:
    """Return the last decision about each proposal, by id; conflict copies of the file count too."""
    return _last_decisions(record for _, record in _decided_lines(vault))


def refused(vault: Vault) -> list[str]:
    """Return the words of the proposals whose last decision is a rejection, as far as they are stored."""
    lines = [record for _, record in _decided_lines(vault)]
    found = {str(record["id"]): str(record["what"]) for record in lines if {"id", "what"} <= record.keys()}
    last = _last_decisions(lines)
    return [words for name, words in found.items() if words and last.get(name) == "rejected"]


def recorded_words(vault: Vault) -> list[tuple[str, str, str]]:
    """Return file, id and words of every pending proposal for notes of ours, and of every decision of our scope."""
    found = [
        (path, proposal["id"], proposal["text"] or proposal["quote"])
        for proposal in pending(vault)
        for path in proposal["files"]
    ]
    found += (
        (path, str(record["id"]), str(record["what"]))
        for path, record in _decided_lines(vault)
        if {"id", "what"} <= record.keys() and record.get("project", "") == vault.layout.scope
    )
    return [(path, name, words) for path, name, words in found if words.strip()]


def words_of(text: str, *, decided: bool = False) -> list[str]:
    """Return the words in the JSON text of a proposal or decision; ``decided``: after what was decided about them."""
    with contextlib.suppress(ValueError, RecursionError, AttributeError):
        record = json.loads(text)
        before = f"{record['decision']}: " if decided and "decision" in record else ""
        return [
            before + words
            for words in (record.get("text"), record.get("quote"), record.get("what"))
            if isinstance(words, str) and words
        ]
    return []


def forget_words(session: writing.store.WriteSession, vault: Vault, words: str) -> int:
    """Remove words that must be forgotten from the inbox and from recorded decisions; the decisions themselves stay.

    Returns:
        Number of proposals and decisions that had the words.
    """
    count = 0
    for path in _files(vault, INBOX, ".json"):
        data = _read_if_possible(session, path)
        if data is not None and writing.withheld.file_says(data.decode("utf-8", "surrogateescape"), words):
            count += session.remove(path, disk.sha256(data).hexdigest()) is not None
    for path in _decided_files(vault):
        data = _read_if_possible(session, path) or b""
        plan = _without_words(data, words)
        if plan:
            count += len(plan)
            session.write(path, lambda now: _without_words(now or b"", words))
    return count


def _files(vault: Vault, folder: str, ending: str) -> list[str]:
    """Return the paths of the files in one of our folders that have an ending."""
    try:
        names = os.listdir(vault.root / folder)
    except OSError:
        return []
    return [f"{folder}/{name}" for name in sorted(names) if name.endswith(ending) and not name.startswith(".")]


def _decided_files(vault: Vault) -> list[str]:
    """Return the paths of the file of decisions and its conflict copies."""
    paths = _files(vault, disk.VAULT_FOLDER, ".jsonl")
    return [path for path in paths if path.rpartition("/")[2].startswith("decided")]


def _decided_lines(vault: Vault) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every recorded decision with the path of its file; unreadable files are skipped."""
    for path, data in vault.readable(_decided_files(vault)):
        yield from ((path, record) for record in _objects(data))


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects in lines of JSON; other and incomplete lines are skipped."""
    for line in data.split(b"\n"):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _read_if_possible(session: writing.store.WriteSession, path: str) -> bytes | None:
    """Return the content of a file of ours; None if it does not exist or can't be read."""
    try:
        return session.read(path)
    except errors.TarsError:
        return None


def _without_words(data: bytes, words: str) -> list[Splice]:
    """Return a splice for each recorded decision with these words: the same line without words."""
    found: list[Splice] = []
    start = 0
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and writing.withheld.says(record, words):
                bare = json.dumps({**record, "what": ""}, ensure_ascii=False).encode("utf-8", "surrogateescape")
                found.append(Splice(start, start + len(line), bare))
        start += len(line) + 1
    return found


def _has_proposal(data: bytes, name: str) -> bool:
    """Whether a file of the inbox still has the proposal with this id."""
    try:
        return bool(_proposal(json.loads(data.decode("utf-8", "surrogateescape")))["id"] == name)
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def _proposal(record: Any) -> dict[str, Any]:
    """Check the JSON value in a file of the inbox and return the proposal.

    The id is computed from the change itself, so that an edited file is another proposal.

    Raises:
        ValueError, KeyError, TypeError: the value is not a proposal.
    """
    texts = {name: record[name] for name in FIELDS if name != "conflicts"}
    if not all(isinstance(value, str) for value in texts.values()):
        raise TypeError("a proposal's values must be text")
    replaces = _replaces(record)
    marks = [[str(part) for part in mark][:3] for mark in record.get("marks") or ()]
    occurrence = record.get("occurrence")
    if not isinstance(replaces, str) or not isinstance(occurrence, int | None):
        raise TypeError("a proposal must name its entry by the text")
    return {
        **texts,
        "id": _id_of(record),
        "conflicts": [_shown_line(line) for line in record.get("conflicts") or ()],
        "replaces": replaces,
        "marks": marks,
        "occurrence": occurrence,
    }


def _shown_line(line: Any) -> dict[str, Any]:
    """Return a line that is shown with a proposal; older versions stored only its words."""
    record = line if isinstance(line, dict) else {"text": line}
    number = record.get("line")
    texts = {name: str(record.get(name) or "") for name in ("path", "ref", "text", "date")}
    return {**texts, "line": number if isinstance(number, int) else 0}


def _id_of(record: dict[str, Any]) -> str:
    """Return the id of a proposal by its fields."""
    return proposal_id(record["op"], record["target"], record["section"], record["text"], _replaces(record))


def _replaces(record: dict[str, Any]) -> Any:
    """Return the lines that a proposal replaces or removes: ``replaces``, or its quote if that is missing."""
    return record.get("replaces") or (record["quote"] if record["op"] in ("replace", "remove") else "")


def _last_decisions(lines: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the decision of the latest day by id."""
    return {name: decision for _, name, decision in sorted(_decisions(lines), key=lambda line: line[0])}


def _decisions(lines: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return date, id and decision of each line; lines without a decision are left out."""
    return [
        (str(record.get("date")), record["id"], record["decision"])
        for record in lines
        if isinstance(record.get("id"), str) and record.get("decision") in DECISIONS
    ]
