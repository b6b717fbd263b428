"""Transform a distribution by a monotonic function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.dist.conditions import Condition, in_support
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.modifiers.inversion import upper_quantile
from dimtensor.dist.modifiers.wrappers import Wrapper, as_distribution, as_value, in_dtype_of
from dimtensor.dist.parameters import as_number
from dimtensor.dist.supports import Support, value_between
from dimtensor.errors import OptionError
from dimtensor.graph.dtypes import is_float
from dimtensor.tensor.autodiff import grad
from dimtensor.tensor.elementwise import abs, equal, isnan, log, where
from dimtensor.tensor.graphs.substitution import substitute
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import tensor

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class Transformed(Wrapper, state=("forward", "inverse", "_support", "increasing")):
    """Distribution of a monotonic function of a random variable."""

    def __init__(
        self, base: Distribution, forward: Any, inverse: Any, support: Support, increasing: bool
    ):
        super().__init__("transformed", base, {})
        self.forward, self.inverse = forward, inverse
        self._support, self.increasing = support, increasing

    @property
    def support(self) -> Support:
        return self._support

    def _conditions(self, x: DimTensor) -> list[Condition]:
        inside = in_support(self._support, x)
        safe = where(inside[0].holds, x, self._inner(x))
        return [*inside, *self.base._conditions(self.inverse(safe))]

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        inside = self._support.contains(x)
        safe = where(inside, x, self._inner(x))
        # elementwise: the gradient of the sum has the derivative of every element
        z = tensor(None, safe.dims, safe.dtype)
        slope = substitute(grad(self.inverse(z).sum(), z), {z: safe})
        value = self.base.logp(self.inverse(safe))
        # at an end the slope is infinite where the variable is
        value = where(equal(value, -math.inf), value, value + log(abs(slope)))
        outside = where(isnan(x), math.nan, -math.inf)
        return in_dtype_of(x, self, where(inside, value, outside))

    def _inner(self, x: DimTensor) -> Any:
        """Return a value inside of the support, with the dtype of x."""
        bounds = (
            bound if isinstance(bound, float) else None for bound in self.base.support.bounds()
        )
        value = self.forward(wrap(as_number(value_between(*bounds), (), "a value")))
        narrow = is_float(x.dtype) and isinstance(value, TensorHandle)
        return value.astype(x.dtype) if narrow else value

    def logcdf(self, x: Any) -> DimTensor:
        return self._log_probability(as_value(x, self), up_to=True)

    def logsf(self, x: Any) -> DimTensor:
        return self._log_probability(as_value(x, self), up_to=False)

    def _log_probability(self, x: DimTensor, up_to: bool) -> DimTensor:
        """Return the log cdf or survival function, also outside of the support."""
        low, high = self._support.bounds()
        below, above = (-math.inf, 0.0) if up_to else (0.0, -math.inf)
        outside: Any = False
        outside = outside if low is None else outside | (x < low)
        outside = outside if high is None else outside | (x > high)
        z = self.inverse(x if outside is False else where(outside, self._inner(x), x))
        value = self.base.logcdf(z) if up_to == self.increasing else self.base.logsf(z)
        value = value if low is None else where(x < low, below, value)
        return value if high is None else where(x > high, above, value)

    def icdf(self, q: Any) -> DimTensor:
        q = as_value(q, self)
        return self.forward(self.base.icdf(q) if self.increasing else upper_quantile(self.base, q))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        value, rng = self.base.draw(rng, dims)
        return self.forward(value), rng


def transformed(
    d: Distribution,
    forward: Callable[[Any], Any],
    inverse: Callable[[Any], Any],
    support: Support,
    increasing: bool = True,
) -> Transformed:
    """Transform a distribution by a monotonic function.

    Parameters
    ----------
    d : Distribution
        A continuous one of single numbers.
    forward, inverse : callable
        Elementwise, of tensors. The derivative of `inverse` is taken.
    support : Support
        Where the values of `forward` lie.
    increasing : bool
        Or else decreasing.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the distribution is discrete or of vectors.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> d = dist.transformed(dist.Normal(0.0, 1.0), dt.exp, dt.log, dt.positive)
    >>> (
    ...     float(d.logp(2.0).eval().round(4)),
    ...     float(dist.LogNormal(0.0, 1.0).logp(2.0).eval().round(4)),
    ... )
    (-1.8523, -1.8523)
    """
    as_distribution(d, "transformed")
    if d.discrete or d.event_dims:
        raise OptionError(f"transformed takes a continuous distribution of numbers, not {d.name}")
    return Transformed(d, forward, inverse, support, increasing)
