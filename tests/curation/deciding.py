"""A vault with a candidate, and the decisions about it; what the tests of commit and why share."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tars_memory.capture.remember import Caller
from tars_memory.curation.proposals import Decision, EndedFact, Mark, PlainLine, Proposal, ProposedFact
from tars_memory.disk import Places
from tars_memory.settings import LayoutOptions, PermissionOptions, Settings, StoreOptions
from tars_memory.vault import inbox
from tars_memory.vault.markdown import entries as grammar
from tars_memory.vault.markdown.document import Document
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Store

DAY = "2026-11-20.md"
MEMORY = "# Memory\n\n## Notes\n- Anna lives in Berlin ([[2026-10-01#^d-old1|2026-10-01]])\n- prefers tea ^keep\n"
DAILY = (
    "# 2026-11-20\n\n## Log\n- 09:00 had coffee\n- 14:30 [extracted] Anna lives in Cork ^d-cork\n"
    "- 14:31 [extracted] likes hiking ^d-hike\n- 14:32 [extracted] owns a boat ^d-boat\n"
)
FACTS = "# Facts\n\n## me\n- works at:: Initech [since:: 2024-03-01]\n\n## Ruth\n- lives in:: Ghent\n"
CORRECTIONS = (
    "# Corrections\n\n## Feedback\n- 2026-11-19 10:00 use miles, not km\n  - question:: how far?\n  - answer:: 12 km\n"
)


class Desk:
    """One vault, and contexts of any actor over it."""

    def __init__(self, base: Path) -> None:
        self.root = base / "vault"
        self.root.mkdir(parents=True, exist_ok=True)
        self.state = base / "state"
        self.now = datetime(2026, 11, 21, 14, 30, tzinfo=timezone(timedelta(hours=1)))
        self.vault = Vault(self.root, LayoutOptions())

    def fill(self) -> Desk:
        self.put("Memory.md", MEMORY)
        self.put(DAY, DAILY)
        self.put("corrections.md", CORRECTIONS)
        return self

    def ctx(self, actor: Any = "person", *, interactive: bool = True, dry_run: bool = False, **more: Any) -> Caller:
        store = Store(
            self.root,
            self.state,
            now=self.now,
            actor=actor,
            options=StoreOptions(lock_timeout=0.05),
            dry_run=dry_run,
        )
        settings = Settings({}, Places(self.state, self.state, self.state))
        context = Caller(self.vault, store, settings, now=self.now, interactive=interactive)
        context.allowed = PermissionOptions(**more)
        store.notices = context.notices
        return context

    def put(self, path: str, data: bytes | str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data.encode() if isinstance(data, str) else data)

    def get(self, path: str) -> str:
        return (self.root / path).read_bytes().decode("utf-8", "surrogateescape")

    def all(self) -> dict[str, bytes]:
        """All files of the vault, but for the id."""
        return {
            os.path.relpath(os.path.join(folder, name), self.root): (Path(folder) / name).read_bytes()
            for folder, _, names in os.walk(self.root)
            for name in names
            if name != "vault-id"
        }

    def entry(self, path: str, words: str) -> grammar.Entry:
        document = Document((self.root / path).read_bytes())
        return next(e for e in grammar.read(path, document, timed=self.vault.layout.timed(path)) if words in e.text)

    def mark(self, words: str, path: str = DAY, block_id: str = "") -> Mark:
        found = self.entry(path, words)
        return Mark(path, found.raw, found.block_id or block_id)

    def promote(self, words: str, *, replaces: str = "", section: str = "Notes", target: str = "Memory.md") -> Proposal:
        """The candidate's own words, for a note."""
        mark = self.mark(words)
        old = self.entry(target, replaces).raw if replaces else ""
        op = "replace" if replaces else "append"
        text = self.entry(DAY, words).text
        return Proposal(
            inbox.proposal_id(op, target, section, text, old),
            op,
            target,
            section,
            text,
            quote=f"I said: {text}",
            source=f"{DAY[:-3]}#^{mark.block_id}",
            date=DAY[:-3],
            why="said in a conversation",
            replaces=old,
            marks=(mark,),
        )

    def fill_facts(self) -> Desk:
        """A fact that holds, and a candidate that would end it."""
        self.put("Facts.md", FACTS)
        self.put(DAY, self.get(DAY) + "- 14:33 [extracted] I work at Acme now ^d-acme\n")
        return self

    def fact(self) -> Proposal:
        """The candidate as a fact, with what it ends."""
        old = self.entry("Facts.md", "works at")
        text, becomes = "works at:: Acme [since:: 2026-11-20]", f"{old.text} [until:: 2026-11-20]"
        ends = EndedFact(old.ref, old.text, "2024-03-01", "2026-11-20", becomes, "Facts.md", old.line, old.raw)
        instead = PlainLine("Memory.md", "Notes", "I work at Acme now")
        return Proposal(
            inbox.proposal_id("fact", "Facts.md", "me", text, old.raw),
            "fact",
            "Facts.md",
            "me",
            text,
            quote="I work at Acme now",
            source=f"{DAY[:-3]}#^d-acme",
            date=DAY[:-3],
            why="said in a conversation",
            marks=(self.mark("Acme"),),
            fact=ProposedFact("me", "works at", "Acme", "2026-11-20", None, (ends,), instead),
        )

    def rule(self) -> Proposal:
        """A correction, as a rule."""
        block = grammar.block_id("corrections.md", "use miles, not km", "f")
        text = "Use miles, not km."
        return Proposal(
            inbox.proposal_id("append", "Procedural.md", "Rules", text),
            "append",
            "Procedural.md",
            "Rules",
            text,
            quote="use miles, not km",
            source=f"corrections#^{block}",
            date="2026-11-19",
            why="a correction",
            marks=(self.mark("use miles", "corrections.md", block),),
        )

    def kept(self, **values: Any) -> Proposal:
        """A proposal that waits in the inbox."""
        said = dict.fromkeys(inbox.FIELDS, "") | {"conflicts": [], "date": "2026-11-20", "op": "append"}
        said |= {"target": "Memory.md", "section": "Notes", "text": "from the inbox", "source": "agent"} | values
        with self.ctx("agent", interactive=False).store.transaction("remember") as transaction:
            name = inbox.keep(transaction, said)
        found = next(each for each in inbox.pending(self.vault) if each["id"] == name)
        return proposal_of(found)


def proposal_of(said: dict[str, Any]) -> Proposal:
    known = {name: said[name] for name in Proposal._fields if name in said and name not in ("marks", "conflicts")}
    return Proposal(**known, marks=tuple(Mark(*mark) for mark in said["marks"]), kept=True)


def accept(*proposals: Proposal) -> list[Decision]:
    return [Decision(proposal, True) for proposal in proposals]


def reject(*proposals: Proposal) -> list[Decision]:
    return [Decision(proposal, False) for proposal in proposals]
