"""Errors for uses of distributions as in other libraries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import numpy as np

from dimtensor.errors import ArgumentError, DtypeError
from dimtensor.spellings.arguments import spelled
from dimtensor.spellings.attributes import no_attribute

_OF_NUMPY = (np.random.Generator, np.random.RandomState)


class Spelled:
    """Checks of the arguments of constructors and draws, and of attributes."""

    name: str

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own: dict[str, Any] = dict(vars(cls))
        if "__init__" in own and not cls.__name__.startswith(("_", "Table")):
            setattr(cls, "__init__", spelled("distribution")(own["__init__"]))  # noqa: B010
        if "draw" in own:
            setattr(cls, "draw", _of_a_generator(own["draw"]))  # noqa: B010

    def _no_value(self, *others: Any, **options: Any) -> NoReturn:
        hint = f"x = dt.rv('x', dist.{self!r})"
        text = "a distribution has no value to compute with; a random variable of it has"
        raise DtypeError(text, hint=hint)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _no_value
    __rtruediv__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = _no_value
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _no_value
    __lt__ = __le__ = __gt__ = __ge__ = __array_ufunc__ = _no_value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "name":
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name)
        raise no_attribute("distribution", name, f"the distribution {self.name}", dir(self), self)


def _of_a_generator[F: Callable[..., Any]](draw: F) -> F:
    """Make `draw` reject a seed or a number of draws in place of a generator."""

    @wraps(draw)
    def checked(self: Any, rng: Any, dims: Any = None) -> Any:
        if not hasattr(rng, "normal") or isinstance(rng, _OF_NUMPY):
            text = f"draw of {self.name} takes a generator of random numbers, not {rng!r}"
            hint = f"x, rng = dist.{self!r}.draw(dt.random.generator(1))"
            raise ArgumentError(text, hint=f"{hint}, with dims=k for draws along k")
        return draw(self, rng, dims)

    return checked  # type: ignore[return-value]
