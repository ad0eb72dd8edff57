"""Credentials in texts: their shapes, and the text without them. Pure."""
