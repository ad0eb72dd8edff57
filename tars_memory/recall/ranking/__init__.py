"""From candidates to scored lines and passages: pure arithmetic over what the index gave."""
