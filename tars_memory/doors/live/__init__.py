"""The live search."""
