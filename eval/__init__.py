"""How well search answers: a small labelled set of the project's own, and what runs it. Not shipped."""
