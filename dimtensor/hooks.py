"""Hooks: functions that upper layers provide and lower layers call, so that imports point one way.

A dim has an HTML form, which the display package makes; nothing in ``dims`` imports that package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

_PROVIDERS: list[str] = []
_PLUGINS = "dimtensor.plugins"


def provided_by(*modules: str) -> None:
    """Name the modules that a hook without a function imports, one after another."""
    _PROVIDERS[:] = modules


class Hook:
    """Function whose implementation another module provides, by the class of its first argument.

    Parameters
    ----------
    name : str
        What it does, for the message of an error.
    plugin : str, optional
        Folder of :mod:`dimtensor.plugins` that is imported where no other module provides it.

    Examples
    --------
    >>> area = Hook("the area")
    >>> @area.provides(str, list)
    ... def area_of_sequence(x):
    ...     return len(x)
    >>> area("abcd"), area([1, 2])
    (4, 2)
    """

    __slots__ = ("_functions", "name", "plugin")

    def __init__(self, name: str, plugin: str | None = None):
        self.name = name
        self.plugin = plugin
        self._functions: dict[type, Callable[..., Any]] = {}

    def provides[F: Callable[..., Any]](self, *classes: type) -> Callable[[F], F]:
        """Register the decorated function for some classes, by default for all."""

        def register(function: F) -> F:
            self._functions.update(dict.fromkeys(classes or (object,), function))
            return function

        return register

    def find(self, x: Any) -> Callable[..., Any] | None:
        """Return the function for the class of an argument, None where no module provides one."""
        for load in (None, *(partial(import_module, name) for name in _PROVIDERS), self._load):
            if load is not None:
                load()
            for base in type(x).__mro__[:-1]:
                if base in self._functions:
                    return self._functions[base]
        # one for all classes, where no module has one for this class
        return self._functions.get(object)

    def __call__(self, x: Any, *arguments: Any, **options: Any) -> Any:
        """Call the function for the class of an argument.

        Raises
        ------
        LookupError
            If no module provides one.
        """
        function = self.find(x)
        if function is None:
            raise LookupError(f"no module provides {self.name} of a {type(x).__name__}")
        return function(x, *arguments, **options)

    def _load(self) -> None:
        """Import the plug-in, unless its folder is missing."""
        if self.plugin is None:
            return
        module = f"{_PLUGINS}.{self.plugin}"
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name not in (module, _PLUGINS):
                raise
