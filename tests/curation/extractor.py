"""An extract of its own process, for the test that kills it: ``extractor.py VAULT STATE fill|extract|recover``."""

# ruff: noqa: E402 - found by the path that is set first

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

import io
from datetime import timedelta

import conversations as logs
from conversations import START

from curation.extracting import NOW, dialogue
from tars_memory.capture.remember import Caller
from tars_memory.curation.extraction.extract import Examiner, conversations
from tars_memory.disk import Places
from tars_memory.settings import Settings, StoreOptions
from tars_memory.vault.vault import Vault
from tars_memory.vault.writing.store import Store

TALK = dialogue(
    "I live in Cork.", "Ah.", "I prefer night trains.", "Oh.", "I love rowing.", "Nice.", step=timedelta(hours=5)
)
"""Over midnight: two daily notes and a session note."""


def context(vault: str, state: str) -> Caller:
    root = Path(vault)
    store = Store(root, Path(state), now=NOW, actor="script", options=StoreOptions(lock_timeout=300))
    return Caller(Vault(root), store, Settings({}, Places(root, root, root)), now=NOW)


def main() -> None:
    vault, state, action = sys.argv[1:]
    ctx = context(vault, state)
    if action == "fill":
        with ctx.store.transaction("log") as transaction:
            transaction.write("2026-11-21.md", lambda _: (), create=b"## Log\n- 09:00 tea\n\n## Night\n", restore=True)
    elif action == "recover":
        ctx.store.recover()
    else:
        assert START.year == 2026
        run = Examiner(ctx, None, "exchanges", force=False, writer=lambda: ctx)
        run.over(conversations([io.BytesIO(logs.chat_jsonl(TALK))]), None)


if __name__ == "__main__":
    main()
