"""Words, sentences and dates of the languages that the rules know: one TOML each. Pure: nothing of a person is read."""

from __future__ import annotations

from tars_memory.opening import opener

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tars_memory.language import named_dates

__all__ = ["named_dates"]
__getattr__ = opener(__name__, __all__)
