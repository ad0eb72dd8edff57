"""The index: SQLite, FTS5 and vectors, derived from the vault; delete it any time."""
