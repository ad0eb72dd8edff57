"""The proposals of the inbox, each with what there is to know before a person decides: whether it can be accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tars_memory.curation.gates import refused
from tars_memory.curation.model import Mark, Proposal, Related
from tars_memory.curation.patch import locate
from tars_memory.errors import TarsError
from tars_memory.vault import inbox

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tars_memory.vault.vault import Vault


def kept(vault: Vault, sources: Collection[str], lines: Mapping[str, Related], notices: list[str]) -> list[Proposal]:
    """The proposals of the inbox that were not rejected elsewhere.

    Args:
        vault: to read.
        sources: the provenances, folded, that lines of the tier notes have.
        lines: the entries of the tier notes by their names.
        notices: takes a sentence for each file that is no proposal.
    """
    decided = inbox.decided(vault)
    found = []
    for said in inbox.pending(vault, notices):
        if decided.get(said["id"]) in ("rejected", "ignored"):
            continue
        marks = tuple(Mark(*mark) for mark in said["marks"] if len(mark) >= 2)
        names = ("id", "op", "target", "section", "text", "quote", "source", "date", "why", "replaces", "occurrence")
        beside = tuple(_now(Related(**each), lines) for each in said["conflicts"])
        proposal = Proposal(**{name: said[name] for name in names}, conflicts=beside, marks=marks, kept=True)
        told = (said["why"], _hindered(vault, proposal), _standing(proposal, sources))
        found.append(proposal._replace(why="; ".join(part for part in told if part)))
    return found


def _now(line: Related, lines: Mapping[str, Related]) -> Related:
    """A line as it stands now; one that is gone can't be chosen."""
    found = lines.get(line.ref)
    return found._replace(date=line.date) if found and found.path == line.path else line


def _hindered(vault: Vault, proposal: Proposal) -> str:
    """Why a proposal can't be accepted; empty if it can."""
    why = refused(vault.layout, proposal) or _gone(vault, proposal)
    return f"it can only be rejected: {why}" if why else ""


def _gone(vault: Vault, proposal: Proposal) -> str:
    """Why its line can't be told any more; empty if it can, or it names none."""
    if not proposal.replaces or proposal.op not in ("replace", "remove"):
        return ""
    path = proposal.target
    try:
        found: Any = locate(
            vault.read(path),
            proposal.replaces,
            path=path,
            timed=vault.layout.timed(path),
            occurrence=proposal.occurrence,
        )
    except TarsError as error:
        found = error.message
    return found if isinstance(found, str) else ""


def _standing(proposal: Proposal, sources: Collection[str]) -> str:
    """That accepting it would change nothing: what it comes from has come to the notes already."""
    if proposal.op != "append" or proposal.source.casefold() not in sources:
        return ""
    return "a line of your notes comes from the same source: accepting it adds nothing"
