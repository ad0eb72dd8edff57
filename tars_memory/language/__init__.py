"""Words, sentences and dates of the languages that the rules know: one TOML each. Pure: nothing of a person is read."""
