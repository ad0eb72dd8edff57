"""The commands, those of one kind in a file."""
