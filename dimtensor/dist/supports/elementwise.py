"""Supports of single numbers: real, positive, between bounds, and whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dist.supports.support import Bound, Support, plain_bound
from dimtensor.errors import ArgumentError, DimError, OptionError, build_message
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.forms import known_length
from dimtensor.graph.node import Node
from dimtensor.tensor.elementwise import equal, exp, floor, isfinite, log, sigmoid, softplus, where
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.values import has_values
from dimtensor.traversal import reached

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Real(Support):
    """All real numbers: the identity.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.real
    real
    """

    name = "real"

    @property
    def is_unconstrained(self) -> bool:
        return True

    def contains(self, y: DimTensor) -> DimTensor:
        return isfinite(y)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, None]:
        return x, None

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return y


class Positive(Support):
    """Numbers above 0: y = exp(x), with log Jacobian x (Stan, "Lower bounded scalar").

    Examples
    --------
    >>> import dimtensor as dt
    >>> sigma = dt.scalar("sigma")
    >>> density = dt.LogDensity({"sigma": -sigma}, {sigma: dt.positive}, backend="python")
    >>> density.constrain(np.array([0.0]))["sigma"].item()
    1.0
    """

    name = "positive"

    def bounds(self) -> tuple[Bound, Bound]:
        return 0.0, None

    def contains(self, y: DimTensor) -> DimTensor:
        return (y >= 0) & isfinite(y)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        return exp(x), x.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return log(y)


class _BoundedSupport(Support, state=("low", "high")):
    """Numbers between two bounds, each of which is None, a number or a tensor."""

    low: Bound
    high: Bound

    def bounds(self) -> tuple[Bound, Bound]:
        return plain_bound(self.low), plain_bound(self.high)

    @property
    def tensors(self) -> Sequence[DimTensor]:
        return [bound for bound in (self.low, self.high) if isinstance(bound, TensorHandle)]

    def map_tensors(self, f: Callable[[DimTensor], DimTensor]) -> Support:
        return type(self)(
            *(f(x) if isinstance(x, TensorHandle) else x for x in (self.low, self.high))
        )

    def _between(self, y: DimTensor) -> DimTensor:
        """Return whether finite numbers lie between the bounds."""
        inside = isfinite(y)
        if self.low is not None:
            inside = inside & (y >= self.low)
        return inside if self.high is None else inside & (y <= self.high)


class Bounded(_BoundedSupport, state=("_name",)):
    """Numbers between two bounds, or on one side of a bound.

    Between bounds y = a + (b - a) s(x) with the logistic function s, whose log Jacobian is
    log(b - a) + log s(x) + log(1 - s(x)) (Stan, "Lower and upper bounded scalar"); above a bound
    y = a + exp(x), below one y = b - exp(x), both with log Jacobian x.

    The logarithms of s(x) and 1 - s(x) are computed as -softplus(-x) and -softplus(x), which do
    not overflow.

    Examples
    --------
    >>> import dimtensor as dt
    >>> p = dt.scalar("p")
    >>> density = dt.LogDensity({"p": 0.0 * p}, {p: dt.supports.unit}, backend="python")
    >>> density.constrain(np.array([0.0]))["p"].item()
    0.5
    """

    def __init__(self, low: Any = None, high: Any = None, name: str | None = None):
        self.low, self.high = _bound(low, -math.inf), _bound(high, math.inf)
        if self.low is None and self.high is None:
            raise OptionError("bounded takes at least one bound; dt.real has none")
        both = self.low is not None and self.high is not None
        if both and not self.tensors and not self.low < self.high:
            raise OptionError(f"bounded: low={low!r} is not below high={high!r}")
        self._name = name

    @property
    def name(self) -> str:  # type: ignore[override]
        if self._name is not None:
            return self._name
        names = [_short(self.low), _short(self.high)]
        if self.low is None or self.high is None:
            names = [f"high={names[1]}"] if self.low is None else [f"low={names[0]}"]
        return f"bounded({', '.join(names)})"

    def resolve(self, x: DimTensor) -> Support:
        for bound in self.tensors:
            if any(dim not in x.dims for dim in bound.dims):
                raise DimError(
                    build_message(
                        f"a bound of {x.name!r} has dims that the parameter has not",
                        [
                            ("parameter", [dim._short for dim in x.dims]),
                            ("bound", [dim._short for dim in bound.dims]),
                        ],
                    )
                )
        if any(_may_be_infinite(bound.node) for bound in self.tensors):
            return _BoundedByElement(self.low, self.high, self._name)
        return self

    def contains(self, y: DimTensor) -> DimTensor:
        return self._between(y)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        if self.high is None:
            return self.low + exp(x), x.sum()
        if self.low is None:
            return self.high - exp(x), x.sum()
        width = self.high - self.low
        log_width = log(width) if self.tensors else math.log(width)
        slopes = log_width - softplus(x) - softplus(-x)
        return self.low + width * sigmoid(x), slopes.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        if self.high is None:
            return log(y - self.low)
        if self.low is None:
            return log(self.high - y)
        return log(y - self.low) - log(self.high - y)


def _may_be_infinite(bound: Node) -> bool:
    """Return whether elements of a bound may be infinite: by their data or in another graph.

    Inputs over dims are parameters, which are finite.
    """
    nodes = list(reached([bound], lambda x: x.inputs))
    with_length = {dim for x in nodes if x.kind == "data" for dim in x.dims}
    if has_values(bound) and all(
        dim in with_length or known_length(dim) is not None for x in nodes for dim in x.dims
    ):
        return bool(np.isinf(wrap(bound).values).any())
    return any(
        x.kind == "shaped" or (x.kind in ("data", "constant") and np.isinf(wrap(x).values).any())
        for x in nodes
    )


class _BoundedByElement(Bounded):
    """Bounds with infinite elements: the transform differs by element.

    Parameters are those of :class:`Bounded`.
    """

    def _sides(self) -> tuple[DimTensor, DimTensor, DimTensor, DimTensor]:
        """Return masks of finite lower and upper bounds, and the bounds, 0 elsewhere."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        above, below = isfinite(low), isfinite(high)
        return above, below, where(above, low, 0.0), where(below, high, 0.0)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        above, below, low, high = self._sides()
        both, width = above & below, where(above & below, high - low, 1.0)
        open_ended = where(above, low + exp(x), where(below, high - exp(x), x))
        slopes = where(both, log(width) - softplus(x) - softplus(-x), where(above | below, x, 0.0))
        return where(both, low + width * sigmoid(x), open_ended), slopes.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        above, below, low, high = self._sides()
        one = where(above, log(y - low), where(below, log(high - y), y))
        return where(above & below, log(y - low) - log(high - y), one)


class Integers(_BoundedSupport):
    """Whole numbers, with or without bounds.

    There is no map from the real numbers to them: a discrete parameter is summed out of a density.
    """

    discrete = True

    def __init__(self, low: Any = None, high: Any = None):
        self.low, self.high = _bound(low, -math.inf), _bound(high, math.inf)

    @property
    def name(self) -> str:  # type: ignore[override]
        sides = (("low", self.low), ("high", self.high))
        names = [f"{side}={_short(bound)}" for side, bound in sides if bound is not None]
        return f"integers({', '.join(names)})"

    def contains(self, y: DimTensor) -> DimTensor:
        inside = self._between(y)
        return equal(y, floor(y)) & inside if is_float(y.dtype) else inside

    def constrain(self, x: DimTensor) -> tuple[DimTensor, None]:
        raise self._refused()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        raise self._refused()

    def _refused(self) -> OptionError:
        return OptionError(
            build_message(
                f"{self.name} is discrete: no smooth map leads there from the real numbers",
                hint="sum a discrete parameter out of the log density",
            )
        )


def _bound(value: Any, unbounded: float) -> Any:
    """Convert a bound to a float or a tensor; None if it is infinite."""
    if value is None or isinstance(value, TensorHandle):
        return value
    if np.ndim(value) != 0 or isinstance(value, str):
        raise ArgumentError(
            build_message(
                f"a bound is a number or a dims-tensor, not {type(value).__name__}",
                hint="wrap an array with dt.data(array, dims=...)",
            )
        )
    if math.isnan(value):
        raise OptionError("a bound is nan")
    return None if value == unbounded else float(value)


def _short(bound: Any) -> str:
    if isinstance(bound, TensorHandle):
        return bound.name or "..."
    return "None" if bound is None else f"{bound:g}"


def bounded(low: TensorLike | None = None, high: TensorLike | None = None) -> Bounded:
    """Make the support of numbers between two bounds, or on one side of a bound.

    Parameters
    ----------
    low, high : number or DimTensor, optional
        A tensor has dims of the parameter only. It may depend on data, and on parameters that come
        before this one in the model.

    Returns
    -------
    Support

    Raises
    ------
    OptionError
        If there is no bound, or they are numbers out of order.
    ArgumentError
        If a bound is no number and no tensor.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.supports.bounded(0, 10)
    bounded(0, 10)
    >>> dt.supports.bounded(high=1.0)
    bounded(high=1)
    """
    return Bounded(low, high)


real = Real()
positive = Positive()
unit = Bounded(0.0, 1.0, name="unit")
