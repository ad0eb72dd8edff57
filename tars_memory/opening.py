"""How a room is opened: its modules are imported when they are first named, so that a start pays for what it uses."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import ModuleType


def opener(room: str, modules: Collection[str]) -> Callable[[str], ModuleType]:
    """What a package takes for its ``__getattr__``: it imports one of its modules.

    Raises:
        AttributeError: the package offers no module of that name.
    """

    def opened(name: str) -> ModuleType:
        if name not in modules:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        return import_module(f"{room}.{name}")

    return opened
