"""A commit of its own process, to be killed or raced: ``committer.py VAULT STATE fill|commit|undo|recover [FILE]``."""

# ruff: noqa: E402 - found by the path that is set first

from __future__ import annotations

import pickle
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from curation.deciding import Desk, accept, proposal_of, reject
from tars_memory.curation.commit import commit
from tars_memory.curation.proposals import Decision
from tars_memory.vault import inbox


def batch(desk: Desk) -> list[Decision]:
    """Five notes and the inbox: a line replaced, one added, a rule, a fact that ends another, one taken from the inbox,
    one rejected.
    """
    (kept,) = inbox.pending(desk.vault)
    return [
        *accept(
            desk.promote("lives in Cork", replaces="lives in Berlin"),
            desk.promote("likes hiking"),
            desk.rule(),
            desk.fact(),
        ),
        *accept(proposal_of(kept)),
        *reject(desk.promote("owns a boat")),
    ]


def main() -> None:
    vault, _, action, *given = sys.argv[1:]
    desk = Desk(Path(vault).parent)
    if action == "fill":
        desk.fill().fill_facts().kept()
    elif action == "undo":
        desk.ctx().store.undo()
    elif action == "recover":
        desk.ctx().store.recover()
    elif given:
        commit(desk.ctx(), pickle.loads(Path(given[0]).read_bytes()))
    else:
        commit(desk.ctx(), batch(desk))


if __name__ == "__main__":
    main()
