"""What the vault holds or refused already, so that no candidate costs the person a second decision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tars_memory.curation import similarity, statements
from tars_memory.errors import TarsError
from tars_memory.vault import entries, inbox
from tars_memory.vault.document import Document
from tars_memory.vault.model import Tier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tars_memory.vault.model import Entry
    from tars_memory.vault.vault import Vault

REPLACED = "replaced::"
"""How a line under a promoted candidate begins that names the words it took the place of."""

TIERS = (Tier.SEMANTIC, Tier.PROCEDURAL, Tier.DAILY, Tier.EPISODIC)
"""Where memory stands; other notes are the person's own texts."""

Key = tuple[tuple[str, ...], frozenset[str]]

_FIELD = re.compile(r"[ \t]*\[\w+::[^\[\]]*\]")


class Known:
    """The statements of a vault, outside projects.

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
        for path, entry in _entries(vault, notices):
            if entry.text.startswith(REPLACED):
                replaced.add(_key(re.sub(r" \([^()]*\)$", "", entry.text.removeprefix(REPLACED).strip())))
            elif vault.layout.tier_of(path) is Tier.DAILY:
                daily.add(_key(entry.text))
                if entry.state == "rejected":
                    self._rejected.append(entry.text)
            else:
                self._held.add(_key(entry.text))
                if path == vault.layout.facts and entry.section:
                    self._held.add(_key(f"{entry.section} {_FIELD.sub('', entry.text).replace('::', '')}"))
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


def _entries(vault: Vault, notices: list[str]) -> Iterator[tuple[str, Entry]]:
    layout = vault.layout
    for path, _ in sorted(vault.walk()):
        if layout.scope_of(path) or layout.tier_of(path) not in TIERS:
            continue
        try:
            data = vault.read(path)
        except TarsError as error:
            notices.append(f"passed over: {error.message}")
            continue
        for entry in entries.read(path, Document(data), timed=layout.timed(path)):
            yield path, entry
