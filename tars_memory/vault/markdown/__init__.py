"""The grammar of a vault's markdown: bytes to structure, and what to splice in. Pure."""
