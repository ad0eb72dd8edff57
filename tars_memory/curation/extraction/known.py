"""What the vault holds or refused already, so that no candidate costs the person a second decision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tars_memory.curation import similarity
from tars_memory.curation.extraction import statements
from tars_memory.errors import TarsError
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.vault.vault import Vault

REPLACED = "replaced::"
"""How a line under a promoted candidate begins that names the words it took the place of."""

TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY, Tier.EPISODIC)
"""Where memory stands; other notes are the person's own texts."""

Key = tuple[tuple[str, ...], frozenset[str]]

_BULLET = re.compile(r"(?:^|(?<=[\r\n]))[ \t]*[-*+][ \t]+([^\r\n]+)")
_FIELD = re.compile(r"[ \t]*\[\w+::[^\[\]]*\]")


class _Line(NamedTuple):
    """A bullet: where it stands, its words, what became of it, and of a fact the subject."""

    tier: Tier
    text: str
    state: str | None
    subject: str = ""


class Known:
    """The statements of a vault in our scope.

    The same statement is known in whatever tier it stands, decided or not. What a later line replaced is not: it may
    have become true again. Of what was rejected its rewordings are known too.

    Args:
        vault: read once, at the start.
        notices: takes a sentence for each note that can't be read.
    """

    def __init__(self, vault: Vault, notices: list[str]) -> None:
        self._held: set[Key] = set()
        self._rejected: list[str] = []
        replaced: set[Key] = set()
        daily: set[Key] = set()
        for line in _lines(vault, notices):
            if line.text.startswith(REPLACED):
                replaced.add(_key(re.sub(r" \([^()]*\)$", "", line.text.removeprefix(REPLACED).strip())))
            elif line.tier is Tier.DAILY:
                daily.add(_key(line.text))
                if line.state == "rejected":
                    self._rejected.append(line.text)
            else:
                self._held.add(_key(line.text))
                if line.subject:
                    self._held.add(_key(f"{line.subject} {_FIELD.sub('', line.text).replace('::', '')}"))
        self._held |= daily - replaced
        self._held |= {_key(str(each["text"])) for each in inbox.pending(vault, notices)}

    def why(self, text: str) -> str:
        """Why a statement need not be noted again: ``rejected`` or ``known``; empty if it must."""
        if any(similarity.relation(old, text) in ("same", "near") for old in self._rejected):
            return "rejected"
        return "known" if _key(text) in self._held else ""

    def add(self, text: str) -> None:
        """From now on it is known."""
        self._held.add(_key(text))


def _key(text: str) -> Key:
    said = statements.read(text)
    return said.words, said.tags


def _lines(vault: Vault, notices: list[str]) -> Iterator[_Line]:
    """The bullets of the tiers' notes; those of daily and session notes, which are many, line by line.

    A bullet within a fence counts there too, and one that goes on over several lines only with its first: both cost a
    candidate at most.
    """
    layout = vault.layout
    for path in sorted(vault.paths()):
        if not layout.is_ours(path):
            continue
        tier = layout.tier_of(path)
        if tier not in TIERS:
            continue
        try:
            data = vault.read(path)
        except TarsError as error:
            notices.append(f"passed over: {error.message}")
            continue
        if tier in (Tier.DAILY, Tier.EPISODIC):
            text = data.decode("utf-8", "surrogateescape")
            timed = layout.timed(path)
            for found in _BULLET.finditer(text):
                parts = entries.parse(found[1], timed=timed)
                yield _Line(tier, parts.text, parts.state)
            continue
        subject = path == layout.facts
        for entry in entries.read(path, Document(data)):
            yield _Line(tier, entry.text, entry.state, entry.section if subject else "")
