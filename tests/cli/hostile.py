"""A text that tries to steer a terminal in every way known."""

from __future__ import annotations

HOSTILE = (
    "tea \x1b[31mred\x1b[0m \x1b]52;c;c3RlYWw=\x07 \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x9b31mC1 "
    "\x9d0;title\x9c \u202eoverride\u2066 \U000e0041\x00\x07\x08\x7f [/bold] [red]x[/red] :smile: Zürich 東京 \udcff"
)
