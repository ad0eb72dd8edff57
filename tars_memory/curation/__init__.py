"""Curation: what may be forgotten, merged or promoted; proposed by rules or a model, decided by the person."""
