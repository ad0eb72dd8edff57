"""How a package is opened: a module is imported when it is first named, so that a start pays for what it uses."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # that of typing, whose import the command line puts off until the collector waits
if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def opener(package: str, modules: Collection[str], **inside: str) -> Callable[[str], object]:
    """What a package takes for its ``__getattr__``: it imports one of its modules.

    Args:
        package: its name.
        modules: those that it offers.
        inside: names that it offers, each with the module that holds it.

    Raises:
        AttributeError: the package offers nothing of that name.
    """

    def opened(name: str) -> object:
        if name in inside:
            return getattr(import_module(f"{package}.{inside[name]}"), name)
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return opened
