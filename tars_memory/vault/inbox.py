"""The inbox: proposals that wait for a person, one JSON file each in ``.tars/inbox``, which Obsidian does not show.

Beside it stands ``.tars/decided.jsonl``: what was accepted, rejected or ignored, a line each, so that it is neither
offered again nor done twice when a sync brings an older note back.
Both travel with the vault, so both are read as a sync may leave them: conflict copies count like any other file, what
is half there or no proposal is said and passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from tars_memory.disk import VAULT_FOLDER, sha256
from tars_memory.errors import NotFoundError, TarsError
from tars_memory.vault import layout, writing
from tars_memory.vault.markdown.document import newline_of
from tars_memory.vault.model import Splice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    from tars_memory.vault.vault import Vault
    from tars_memory.vault.writing.store import WriteSession

INBOX = f"{layout.OURS}inbox"

FIELDS = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "conflicts")
"""Of a proposal, in the order in which ``review --list --json`` shows them."""

BOUND = ("replaces", "marks", "occurrence")
"""What binds a proposal to the text that it was made from; kept beside :data:`FIELDS`."""

DECISIONS = ("accepted", "rejected", "ignored")


def proposal_id(op: str, target: str, section: str, text: str, replaces: str = "") -> str:
    """The name of a proposal: 8 hexadecimal digits, made of the change itself."""
    digest = sha256("\0".join((op, target, section, text, replaces)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:8]


def keep(session: WriteSession, proposal: dict[str, Any]) -> str:
    """Keep a proposal for a person to decide; the same one is kept once.

    Args:
        session: in which to write it.
        proposal: :data:`FIELDS` and perhaps :data:`BOUND`, JSON values. An id in it is replaced (:func:`proposal_id`).

    Returns:
        Its id.
    """
    kept = {"id": "", **{name: proposal[name] for name in (*FIELDS, *BOUND) if name in proposal}}
    kept["id"] = _id_of(kept)
    data = (json.dumps(kept, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")

    def plan(found: bytes | None) -> Sequence[Splice]:
        return [] if found else [Splice(0, 0, data)]

    session.write(f"{INBOX}/{kept['id']}.json", plan)
    return str(kept["id"])


def pending(vault: Vault, notices: list[str] | None = None) -> list[dict[str, Any]]:
    """The proposals for notes of ours that wait, oldest day first; of several files that say the same only one.

    Args:
        vault: to read from.
        notices: takes a sentence for each file that is not a proposal.

    Returns:
        for each :data:`FIELDS`, :data:`BOUND` and ``files`` (paths of the files that hold it).
    """
    found: dict[str, dict[str, Any]] = {}
    for path in _files(vault, INBOX, ".json"):
        try:
            proposal = _proposal(json.loads(vault.read(path).decode("utf-8", "surrogateescape")))
        except NotFoundError:
            continue
        except (TarsError, ValueError, RecursionError, KeyError, TypeError) as error:
            if notices is not None:
                reason = error.message if isinstance(error, TarsError) else f"{path} is not a proposal"
                notices.append(f"passed over: {reason}")
            continue
        if not vault.layout.is_ours(proposal["target"]):
            continue
        known = found.setdefault(proposal["id"], {**proposal, "files": []})
        known["files"].append(path)
    return sorted(found.values(), key=lambda each: (each["date"], each["id"]))


def drop(session: WriteSession, proposal: dict[str, Any]) -> None:
    """Take a decided proposal out of the inbox, all files that hold it; one that is gone already does no harm.

    Args:
        session: in which to do it.
        proposal: as :func:`pending` gave it.
    """
    for path in proposal["files"]:
        data = session.read(path)
        if data is not None and _is(data, proposal["id"]):
            session.remove(path, sha256(data).hexdigest())


def decide(
    session: WriteSession, what: Iterable[tuple[str, str]], decision: str, day: date, *, project: str = ""
) -> None:
    """Remember what was decided.

    Args:
        session: in which to write it.
        what: id and words of each.
        decision: one of :data:`DECISIONS`.
        day: of the decision.
        project: whose it is; empty for none.
    """
    said = list(what)
    when = {"date": day.isoformat()} | ({"project": project} if project else {})
    lines = [
        json.dumps({"id": name, "decision": decision, **when, "what": words}, ensure_ascii=False)
        for name, words in said
    ]
    if not lines:
        return

    def plan(data: bytes | None) -> Sequence[Splice]:
        data = data or b""
        known = {name: decision for _, name, decision in _decisions(_objects(data))}
        new = [line for line, (name, _) in zip(lines, said, strict=True) if known.get(name) != decision]
        if not new:
            return []
        start = b"" if not data or data.endswith(b"\n") else newline_of(data)
        text = start + "".join(f"{line}\n" for line in new).encode("utf-8", "surrogateescape")
        return [Splice(len(data), len(data), text)]

    session.write(layout.DECIDED, plan)


def decided(vault: Vault) -> dict[str, str]:
    """What was decided last about each thing: id to decision; from conflict copies of the file as well."""
    return _last(said for _, said in _decided_lines(vault))


def refused(vault: Vault) -> list[str]:
    """The words of what was rejected and not taken up since, as far as they were kept."""
    lines = [said for _, said in _decided_lines(vault)]
    found = {str(said["id"]): str(said["what"]) for said in lines if {"id", "what"} <= said.keys()}
    last = _last(lines)
    return [words for name, words in found.items() if words and last.get(name) == "rejected"]


def told(vault: Vault) -> list[tuple[str, str, str]]:
    """File, id and words of each proposal for a note of ours that waits, and of each decision of our scope."""
    found = [(path, each["id"], each["text"] or each["quote"]) for each in pending(vault) for path in each["files"]]
    found += (
        (path, str(said["id"]), str(said["what"]))
        for path, said in _decided_lines(vault)
        if {"id", "what"} <= said.keys() and said.get("project", "") == vault.layout.scope
    )
    return [(path, name, words) for path, name, words in found if words.strip()]


def words_of(text: str) -> list[str]:
    """The words of a proposal, or of a decision, as its JSON text has them."""
    with contextlib.suppress(ValueError, RecursionError, AttributeError):
        said = json.loads(text)
        return [
            words
            for words in (said.get("text"), said.get("quote"), said.get("what"))
            if isinstance(words, str) and words
        ]
    return []


def purge(session: WriteSession, vault: Vault, words: str) -> int:
    """Take words that shall be forgotten out of the inbox and of what was decided; decisions themselves stay.

    Returns:
        how many proposals and decisions held them.
    """
    count = 0
    for path in _files(vault, INBOX, ".json"):
        data = _there(session, path)
        if data is not None and writing.withheld.file_says(data.decode("utf-8", "surrogateescape"), words):
            count += session.remove(path, sha256(data).hexdigest()) is not None
    for path in _decided_files(vault):
        data = _there(session, path) or b""
        plan = _silenced(data, words)
        if plan:
            count += len(plan)
            session.write(path, lambda now: _silenced(now or b"", words))
    return count


def kept_for_review(proposal: dict[str, Any], what: str = "rule") -> str:
    """The notice that tells of a proposal: of a rule, or of a playbook."""
    return f"a {what} needs a person: proposal {proposal['id']} waits: tars-memory review"


def _files(vault: Vault, folder: str, ending: str) -> list[str]:
    """The paths of the files in one of our folders."""
    try:
        names = os.listdir(vault.root / folder)
    except OSError:
        return []
    return [f"{folder}/{name}" for name in sorted(names) if name.endswith(ending) and not name.startswith(".")]


def _decided_files(vault: Vault) -> list[str]:
    paths = _files(vault, VAULT_FOLDER, ".jsonl")
    return [path for path in paths if path.rpartition("/")[2].startswith("decided")]


def _decided_lines(vault: Vault) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each line of decided things says, with its file; files that can't be read say nothing."""
    for path in _decided_files(vault):
        try:
            data = vault.read(path)
        except TarsError:
            continue
        yield from ((path, said) for said in _objects(data))


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    """The objects in lines of JSON; lines that are none, or half there, are passed over."""
    for line in data.split(b"\n"):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict):
            yield said


def _there(session: WriteSession, path: str) -> bytes | None:
    """What a file of ours holds; None if it is none or can't be read."""
    try:
        return session.read(path)
    except TarsError:
        return None


def _silenced(data: bytes, words: str) -> list[Splice]:
    """For each line of decided things that has the words, the same line without any."""
    found: list[Splice] = []
    start = 0
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(line)
            if isinstance(said, dict) and writing.withheld.says(said, words):
                bare = json.dumps({**said, "what": ""}, ensure_ascii=False).encode("utf-8", "surrogateescape")
                found.append(Splice(start, start + len(line), bare))
        start += len(line) + 1
    return found


def _is(data: bytes, name: str) -> bool:
    """Whether a file of the inbox still holds this proposal."""
    try:
        return bool(_proposal(json.loads(data.decode("utf-8", "surrogateescape")))["id"] == name)
    except (ValueError, RecursionError, KeyError, TypeError):
        return False


def _proposal(said: Any) -> dict[str, Any]:
    """What a file of the inbox says, each value of the type it should have; the id is made of the change itself, so
    that a file that was changed in the meantime is another proposal.

    Raises:
        ValueError, KeyError, TypeError: it is not a proposal.
    """
    texts = {name: said[name] for name in FIELDS if name != "conflicts"}
    if not all(isinstance(value, str) for value in texts.values()):
        raise TypeError("a proposal's values are text")
    replaces = said.get("replaces") or (texts["quote"] if texts["op"] in ("replace", "remove") else "")
    marks = [[str(part) for part in mark][:3] for mark in said.get("marks") or ()]
    occurrence = said.get("occurrence")
    if not isinstance(replaces, str) or not isinstance(occurrence, int | None):
        raise TypeError("a proposal names its entry by the text")
    return {
        **texts,
        "id": _id_of({**texts, "replaces": replaces}),
        "conflicts": [_related(line) for line in said.get("conflicts") or ()],
        "replaces": replaces,
        "marks": marks,
        "occurrence": occurrence,
    }


def _related(line: Any) -> dict[str, Any]:
    """A line that is shown beside a proposal; what was kept by an older version is its words alone."""
    said = line if isinstance(line, dict) else {"text": line}
    number = said.get("line")
    told = {name: str(said.get(name) or "") for name in ("path", "ref", "text", "date")}
    return {**told, "line": number if isinstance(number, int) else 0}


def _id_of(said: dict[str, Any]) -> str:
    replaces = said.get("replaces") or (said["quote"] if said["op"] in ("replace", "remove") else "")
    return proposal_id(said["op"], said["target"], said["section"], said["text"], replaces)


def _last(lines: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Id to the decision of the latest day."""
    return {name: decision for _, name, decision in sorted(_decisions(lines), key=lambda line: line[0])}


def _decisions(lines: Iterable[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Date, id and decision of each line; lines that don't say a decision are left out."""
    return [
        (str(said.get("date")), said["id"], said["decision"])
        for said in lines
        if isinstance(said.get("id"), str) and said.get("decision") in DECISIONS
    ]
