"""The session note: what was drawn from one conversation, written, read and grown as plain markdown."""
