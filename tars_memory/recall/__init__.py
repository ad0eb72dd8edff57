"""Recall: search and context. Reads, never writes a note, never asks a model."""
