"""From candidates to decisions: what waits, how it is shown, what the person says about it."""
