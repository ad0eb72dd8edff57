"""Embedding: models found and prepared, passages and queries turned into vectors, what was embedded kept."""
