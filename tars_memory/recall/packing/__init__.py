"""From scored lines and always-loaded notes to one prompt text under a budget."""
