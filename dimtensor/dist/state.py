"""Values that are their class and the state that it declares."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any, Self

from dimtensor.errors import GraphError, build_message


class HasState:
    """Base of distributions and supports: one is equal to another of its class and state.

    A class names the attributes of its state beside those of its bases:
    ``class Shifted(Distribution, state=("by",))``. They are tensors, dims, plain values, functions,
    supports and distributions, or lists, tuples and dicts of them. A copy may have other tensors
    and dims in their place, so what follows from them is a property, not an attribute.
    """

    _state_names: tuple[str, ...] = ()

    def __init_subclass__(cls, state: tuple[str, ...] = (), **options: Any) -> None:
        """Declare the attributes of the state."""
        super().__init_subclass__(**options)
        inherited = (getattr(base, "_state_names", ()) for base in cls.__bases__)
        cls._state_names = tuple(dict.fromkeys((*state, *itertools.chain(*inherited))))

    def _state(self) -> dict[str, Any]:
        """Return the attributes of the state by name.

        Raises
        ------
        GraphError
            If there are others.
        """
        undeclared = [name for name in self.__dict__ if name not in self._state_names]
        if undeclared:
            raise GraphError(
                build_message(
                    f"copies of {type(self).__name__} would lose attributes that its state does "
                    f"not declare: {', '.join(undeclared)}",
                    hint=f"class {type(self).__name__}(..., state={tuple(undeclared)})",
                )
            )
        return {name: getattr(self, name) for name in self._state_names}

    @classmethod
    def _from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return a value with some attributes, which its constructor has checked before."""
        made = cls.__new__(cls)
        made.__dict__.update(state)
        return made

    def __reduce__(self) -> tuple:
        return (self._from_state, (picklable(self._state()),))


class _PickledByValue:
    """A function that cannot be imported by its name."""

    def __init__(self, function: Any):
        self.function = function

    def __reduce__(self) -> tuple:
        by_value = sys.modules.get("cloudpickle")
        if by_value is None:
            name = getattr(self.function, "__qualname__", repr(self.function))
            raise GraphError(
                build_message(
                    f"a distribution is made of the function {name}, which pickle cannot find by "
                    "its name",
                    hint="define the function at the top of a module, or pickle with cloudpickle, "
                    "which keeps functions by value",
                )
            )
        return (by_value.loads, (by_value.dumps(self.function),))


def picklable(x: Any) -> Any:
    """Return an attribute in which functions without a name to import are pickled by value."""
    if type(x) in (list, tuple):
        return type(x)(map(picklable, x))
    if type(x) is dict:
        return {key: picklable(value) for key, value in x.items()}
    function = x.func if isinstance(x, partial) else x
    if not isinstance(function, FunctionType):
        return x
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return x if found is function else _PickledByValue(x)
