"""Truncated and censored distributions."""

from __future__ import annotations

import math
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims
from dimtensor.dist.conditions import Condition, beside, is_known, within
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.modifiers.inversion import inverted
from dimtensor.dist.modifiers.sums import with_probabilities
from dimtensor.dist.modifiers.wrappers import (
    Wrapper,
    as_value,
    in_dtype_of,
    of_numbers,
)
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.probabilities import difference
from dimtensor.dist.supports import Bounded, Integers, Support, plain_bound
from dimtensor.errors import OptionError
from dimtensor.spellings import spelled
from dimtensor.tensor.control.branches import if_else
from dimtensor.tensor.control.loops import while_loop
from dimtensor.tensor.elementwise import (
    ceil,
    equal,
    exp,
    floor,
    logical_not,
    maximum,
    minimum,
    where,
)

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


_ATTEMPTS = 100_000  # to draw a value that is accepted
_FIRST_ATTEMPTS = 100  # of them before a value is searched for, which takes probabilities
_FAR = math.log(1e-4)  # log probability of an upper tail


def _bound(value: Any, infinite: float, what: str) -> DimTensor | None:
    if value is None or (isinstance(value, float) and value == infinite):
        return None
    return as_parameter(value, "bound", what)


class _WithBounds(Wrapper, state=("lower", "upper")):
    """Base class of truncated and censored distributions; infinite elements are no bounds."""

    def __init__(self, name: str, base: Distribution, lower: Any, upper: Any):
        of_numbers(base, name)
        self.lower = _bound(lower, -math.inf, f"lower of {name}")
        self.upper = _bound(upper, math.inf, f"upper of {name}")
        if self.lower is None and self.upper is None:
            raise OptionError(f"{name} takes a lower bound, an upper one, or both")
        bounds = {"lower": self.lower, "upper": self.upper}
        known = {key: bound for key, bound in bounds.items() if bound is not None}
        values = [float(b.node.attrs.value) for b in known.values() if b.node.kind == "constant"]
        if len(values) == 2 and not values[0] < values[1]:
            raise OptionError(f"{name}: lower={values[0]:g} is not below upper={values[1]:g}")
        super().__init__(name, with_probabilities(base, self.lower, self.upper, name), known)

    @property
    def _low(self) -> Any:
        """The lower bound, a known one as a number, which has no dtype."""
        return plain_bound(self.lower)

    @property
    def _high(self) -> Any:
        return plain_bound(self.upper)

    def _cut(self, value: DimTensor) -> DimTensor:
        value = value if self.lower is None else maximum(value, self._low)
        return value if self.upper is None else minimum(value, self._high)

    @property
    def support(self) -> Support:
        low, high = self.base.support.bounds()
        low, high = further(low, self._low, maximum, max), further(high, self._high, minimum, min)
        return Integers(low, high) if self.discrete else Bounded(low, high)


def further(one: Any, other: Any, of_tensors: Any, of_numbers: Any) -> Any:
    """Combine two bounds by `of_tensors` or `of_numbers`; None is no bound."""
    if one is None or other is None:
        return other if one is None else one
    both = isinstance(one, float) and isinstance(other, float)
    return of_numbers(one, other) if both else of_tensors(one, other)


def _rounded(bound: Any, of_number: Any, of_tensor: Any) -> Any:
    if bound is None:
        return None
    return float(of_number(bound)) if isinstance(bound, float) else of_tensor(bound)


class Truncated(_WithBounds):
    """Truncated distribution."""

    @property
    def _low(self) -> Any:
        """The smallest value between the bounds."""
        return _rounded(super()._low, math.ceil, ceil) if self.discrete else super()._low

    @property
    def _high(self) -> Any:
        return _rounded(super()._high, math.floor, floor) if self.discrete else super()._high

    def implements(self, what: str) -> bool:
        return super().implements("logcdf" if what == "icdf" else what)

    def _tails(self, start: Any, up_to: Any, from_start: bool = True) -> DimTensor:
        """Return the log probability of values from (or above) one number up to another.

        It is computed in the smaller tail, in which probabilities are precise.
        """
        if start is None:
            return self.base.logcdf(up_to)
        d = self.base
        right = d._logsf_from(start) if from_start else d.logsf(start)
        if up_to is None:
            return right
        below = d._logcdf_below(start) if from_start else d.logcdf(start)
        left = difference(d.logcdf(up_to), below)
        return where(right < math.log(0.5), difference(right, self.base.logsf(up_to)), left)

    def _below(self) -> Any:
        """Return the largest number below the truncated support."""
        return self._low if self.lower is None or not self.discrete else self._low - 1.0

    @property
    def _log_mass(self) -> DimTensor:
        return self._tails(self._low, self._high)

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = where(self._outside(x), -math.inf, self.base.logp(x) - self._log_mass)
        return in_dtype_of(x, self, value)

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return [*within(x, self._low, self._high), *self.base._conditions(x)]

    def _outside(self, x: DimTensor) -> DimTensor:
        if self.lower is None:
            return x > self._high
        return x < self._low if self.upper is None else (x < self._low) | (x > self._high)

    def _inside(self, x: DimTensor) -> DimTensor:
        x = x if self.lower is None else maximum(x, self._below())
        return x if self.upper is None else minimum(x, self._high)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self._tails(self._low, self._inside(x)) - self._log_mass
        return value if self.lower is None else where(x < self._low, -math.inf, value)

    def logsf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self._tails(self._inside(x), self._high, from_start=False) - self._log_mass
        return value if self.lower is None else where(x < self._low, 0.0, value)

    def icdf(self, q: Any) -> DimTensor:
        q = as_value(q, self)
        if not self.base.implements("icdf"):
            return inverted(self, q)
        q = where((q >= 0.0) & (q <= 1.0), q, math.nan)
        start = 0.0 if self.lower is None else exp(self.base._logcdf_below(self._low))
        # the sum may exceed 1 in its last digit, and where q is 1 fall short of the whole
        found = self._cut(self.base.icdf(minimum(start + q * exp(self._log_mass), 1.0)))
        last = further(self.base.support.bounds()[1], self._high, minimum, min)
        found = where(equal(q, 1.0), math.inf if last is None else last, found)
        if self.lower is None:
            return found
        # far in the upper tail 1 less a probability has few digits, or none
        far = self.base._logsf_from(self._low) < _FAR
        return if_else(far.any(), lambda: where(far, inverted(self, q), found), lambda: found)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)

        def accepts(x: DimTensor) -> DimTensor:
            return logical_not(self._outside(x))

        if not self.base.implements("logcdf"):
            return drawn_until(accepts, self.base, rng, whole)
        if not self.discrete or self.base.implements("icdf"):
            u, rng = rng.uniform(0.0, 1.0, dims=whole)
            found = self.icdf(u)
            return (found.astype("int64") if self.discrete else found), rng
        found, rng = drawn_until(accepts, self.base, rng, whole, _FIRST_ATTEMPTS)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        rare = self._outside(found)  # so is the range between the bounds
        return where(rare, inverted(self, u, rare).astype("int64"), found), rng


class Censored(_WithBounds):
    """Censor a distribution: values beyond a bound are recorded as the bound."""

    def _conditions(self, x: DimTensor) -> list[Condition]:
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        found = within(x, self._low, self._high)
        if not is_known(*bounds):
            return found
        at_bound = reduce(or_, [equal(x, bound) for bound in bounds])
        return [*found, *beside(at_bound, self.base._conditions(x))]

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logp(x)
        if self.lower is not None:
            value = where(equal(x, self.lower), self.base.logcdf(self.lower), value)
            value = where(x < self.lower, -math.inf, value)
        if self.upper is not None:
            value = where(equal(x, self.upper), self.base._logsf_from(self.upper), value)
            value = where(x > self.upper, -math.inf, value)
        return in_dtype_of(x, self, value)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logcdf(x)
        value = value if self.lower is None else where(x < self.lower, -math.inf, value)
        return value if self.upper is None else where(x >= self.upper, 0.0, value)

    def logsf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logsf(x)
        value = value if self.lower is None else where(x < self.lower, 0.0, value)
        return value if self.upper is None else where(x >= self.upper, -math.inf, value)

    def icdf(self, q: Any) -> DimTensor:
        return self._cut(self.base.icdf(q))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        value, rng = self.base.draw(rng, self._draw_dims(dims))
        cut = self._cut(value)
        return (cut.astype("int64") if self.discrete else cut), rng


def drawn_until(
    accepts: Any, d: Distribution, rng: Any, whole: Dims, attempts: int = _ATTEMPTS
) -> tuple[DimTensor, Any]:
    """Draw by rejection: repeat the elements that are not accepted."""

    def again(state: Any) -> Any:
        value, rng = state
        new, rng = d.draw(rng, whole)
        return where(accepts(value), value, new), rng

    start = d.draw(rng, whole)
    return while_loop(lambda state: logical_not(accepts(state[0])).any(), again, start, attempts)


@spelled("distribution")
def truncated(
    d: Distribution, lower: TensorLike | None = None, upper: TensorLike | None = None
) -> Truncated:
    """Truncate a distribution: condition on values between bounds, which are included.

    Parameters
    ----------
    d : Distribution
        With a formula of `logcdf`; of a discrete one without, probabilities are summed up, if the
        bounds are numbers. Where there is none of `icdf`, quantiles and draws are found by
        bisection.
    lower, upper : number or DimTensor, optional
        Infinite ones are none, of single elements, too.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If there is no bound, or numbers are out of order.
    GraphError
        If the probability between the bounds has neither a formula nor a sum.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.truncated(dist.Exponential(1.0), upper=2.0)
    >>> float(d.cdf(1.0).eval().round(4))
    0.7311
    """
    return Truncated("truncated", d, lower, upper)


@spelled("distribution")
def censored(
    d: Distribution, lower: TensorLike | None = None, upper: TensorLike | None = None
) -> Censored:
    """Censor a distribution: values beyond a bound are recorded as the bound.

    Parameters
    ----------
    d : Distribution
        With a formula of `logcdf`; of a discrete one without, probabilities are summed up from its
        lowest value, if the bounds are numbers.
    lower, upper : number or DimTensor, optional
        Infinite ones are none, of single elements, too.

    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If there is no bound, or numbers are out of order.
    GraphError
        If the probability beyond a bound has neither a formula nor a sum.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.censored(dist.Exponential(1.0), upper=2.0)
    >>> float(d.logp(2.0).eval())
    -2.0
    """
    return Censored("censored", d, lower, upper)
