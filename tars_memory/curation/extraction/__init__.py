"""From a conversation to candidates: what was said, by whom, with the words that it stands on."""
