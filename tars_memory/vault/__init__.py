"""The vault: markdown, the only truth. Reading, parsing, and the one door for writes."""
