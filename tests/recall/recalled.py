"""A vault, its real index and its search, in one object for tests."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from tars_memory.index.indexer import Index
from tars_memory.recall import query, search
from tars_memory.recall.query import SearchRequest, SearchResult
from tars_memory.settings import LimitsOptions, RecallOptions
from tars_memory.testing import HashEmbedder, make_vault
from tars_memory.vault.vault import Vault

TODAY = date(2026, 11, 21)


class Recalled:
    def __init__(self, folder: Path, notes: dict[str, str | bytes], *, embed: bool = True, later: bool = False) -> None:
        """``later``: there is an embedder, but no vector yet."""
        self.root = make_vault(folder / "My Vault", notes)
        self.embedder = HashEmbedder()
        self.index = Index(
            Vault.open(self.root),
            folder / "state",
            folder / "cache",
            LimitsOptions(),
            (lambda: self.embedder) if embed else None,
        )
        self.index.reindex(embed=embed and not later)

    def search(self, text: str, mode: str = "hybrid", *, scope: str = "", limit: int = 10, **filters) -> SearchResult:
        half_lives = filters.pop("half_lives", None)
        parsed = query.parse(SearchRequest(text, **filters.pop("options", {})), TODAY)
        parsed.half_lives = half_lives or query.half_lives(RecallOptions())
        parsed.on = None if filters.pop("expired", False) else TODAY
        vector = None if mode == "lexical" or not parsed.meaning else self.embedder.embed_query(parsed.meaning)
        return self.index.read(
            lambda reader: search.search(
                reader,
                parsed,
                SearchRequest(text, mode, limit=limit, project=scope, explain=filters.pop("explain", False)),
                vector=vector,
                read=self.index.vault.read,
                vault_name=self.root.name,
                **filters,
            )
        )

    def found(self, text: str, mode: str = "lexical", **options) -> list[str]:
        """Texts of the hits."""
        return [hit.text for hit in self.search(text, mode, **options).hits]

    def close(self) -> None:
        self.index.close()
