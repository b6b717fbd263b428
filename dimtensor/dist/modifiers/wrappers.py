"""Distributions around others: truncated, censored, with more zeros, and transformed ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims, sort_dims, union
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.formulas import difference
from dimtensor.dist.modifiers.inversion import inverted
from dimtensor.dist.modifiers.sums import with_probabilities
from dimtensor.dist.parameters import as_number, check_range
from dimtensor.dist.supports import Bounded, Integers, Support, ends, plain_bound
from dimtensor.dist.table import RANGES
from dimtensor.errors import InputError, build_message
from dimtensor.graph.dtypes import is_float
from dimtensor.tensor.control.branches import if_else
from dimtensor.tensor.control.while_loops import while_loop
from dimtensor.tensor.elementwise import (
    ceil,
    equal,
    exp,
    log,
    log1p,
    logaddexp,
    logical_not,
    maximum,
    minimum,
    not_equal,
    where,
)
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


_ATTEMPTS = 100_000  # of draws that are not 0
_FAR = math.log(1e-4)  # log probability of an upper tail


def as_distribution(d: Any, what: str) -> Distribution:
    """A distribution, checked.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not isinstance(d, Distribution):
        raise InputError(f"{what} takes a distribution, such as dist.Normal(0, 1), not {d!r}")
    return d


def of_numbers(d: Any, what: str) -> Distribution:
    """A distribution of single numbers, checked.

    Raises
    ------
    InputError
        If it is something else.
    """
    if as_distribution(d, what).event_dims:
        raise InputError(f"{what} takes a distribution of single numbers, not {d.name}")
    return d


def as_parameter(value: Any, allowed: str, what: str) -> DimTensor:
    """A parameter as a tensor, whose known values are checked."""
    return wrap(check_range(as_number(value, (), what), RANGES[allowed], what))


def as_value(x: Any, d: Distribution) -> DimTensor:
    """A value of a distribution as a tensor."""
    nodes = [node for node in d._nodes if is_float(node.dtype) and node.kind != "constant"]
    return wrap(as_number(x, nodes, f"a value of {d.name}"))


def in_dtype_of(x: DimTensor, d: Distribution, value: DimTensor) -> DimTensor:
    """A log density of x in the dtype of tensors; numbers have none of their own."""
    nodes = [x.node, *(node for node in d._nodes if node.kind != "constant")]
    narrow = is_float(x.dtype) and not any(node.dtype == "float64" for node in nodes)
    return value.astype(x.dtype) if narrow and value.dtype != x.dtype else value


class Wrapper(Distribution):
    """A distribution around another one."""

    def __init__(self, name: str, base: Distribution, parameters: Mapping[str, DimTensor]):
        self.name, self.base = name, base
        self.discrete = base.discrete
        self._own = dict(parameters)
        self._dims = sort_dims(union([base.dims, *(p.dims for p in parameters.values())], name))

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        return {**self.base.parameters, **self._own}

    @property
    def dims(self) -> Dims:
        return self._dims

    @property
    def support(self) -> Support:
        return self.base.support

    def knows(self, what: str) -> bool:
        return super().knows(what) and self.base.knows(what)

    def __repr__(self) -> str:
        own = "".join(f", {name}={wrapper_text(p)}" for name, p in self._own.items())
        return f"{self.name}({self.base!r}{own})"


def wrapper_text(p: DimTensor) -> str:
    """A parameter as a representation shows it."""
    from dimtensor.dist.distribution import _text

    return _text(p.node)


# -- bounds --------------------------------------------------------------------------------------


def _bound(value: Any, infinite: float, what: str) -> DimTensor | None:
    if value is None or (isinstance(value, float) and value == infinite):
        return None
    return as_parameter(value, "bound", what)


class _Between(Wrapper):
    """A distribution with bounds; infinite elements of them are none."""

    def __init__(self, name: str, base: Distribution, lower: Any, upper: Any):
        of_numbers(base, name)
        self.lower = _bound(lower, -math.inf, f"lower of {name}")
        self.upper = _bound(upper, math.inf, f"upper of {name}")
        if self.lower is None and self.upper is None:
            raise InputError(f"{name} takes a lower bound, an upper one, or both")
        bounds = {"lower": self.lower, "upper": self.upper}
        known = {key: bound for key, bound in bounds.items() if bound is not None}
        values = [float(b.node.attrs.value) for b in known.values() if b.node.kind == "constant"]
        if len(values) == 2 and not values[0] < values[1]:
            raise InputError(f"{name}: lower={values[0]:g} is not below upper={values[1]:g}")
        super().__init__(name, with_probabilities(base, self.lower, self.upper, name), known)

    @property
    def support(self) -> Support:
        low, high = ends(self.base.support)
        low = _further(low, plain_bound(self.lower), maximum, max)
        high = _further(high, plain_bound(self.upper), minimum, min)
        return Integers(low, high) if self.discrete else Bounded(low, high)


def _further(one: Any, other: Any, of_tensors: Any, of_numbers: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    both = isinstance(one, float) and isinstance(other, float)
    return of_numbers(one, other) if both else of_tensors(one, other)


class Truncated(_Between):
    """A distribution, given that its values lie between bounds."""

    def knows(self, what: str) -> bool:
        return super().knows("logcdf" if what == "icdf" else what)

    def _tails(self, below: Any, up_to: Any) -> DimTensor:
        """Log probability of values above one number, and not above another one.

        Of the tail that is smaller, where probabilities are precise.
        """
        if below is None:
            return self.base.logcdf(up_to)
        if up_to is None:
            return self.base.logsf(below)
        right = self.base.logsf(below)
        left = difference(self.base.logcdf(up_to), self.base.logcdf(below))
        return where(right < math.log(0.5), difference(right, self.base.logsf(up_to)), left)

    def _below(self) -> Any:
        """The largest number that does not belong to the values."""
        if self.lower is None or not self.discrete:
            return self.lower
        return ceil(self.lower) - 1.0

    @property
    def _log_mass(self) -> DimTensor:
        return self._tails(self._below(), self.upper)

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = where(self._outside(x), -math.inf, self.base.logp(x) - self._log_mass)
        return in_dtype_of(x, self, value)

    def _outside(self, x: DimTensor) -> DimTensor:
        if self.lower is None:
            return x > self.upper
        return x < self.lower if self.upper is None else (x < self.lower) | (x > self.upper)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        inside = x if self.lower is None else maximum(x, self._below())
        inside = inside if self.upper is None else minimum(inside, self.upper)
        return self._tails(self._below(), inside) - self._log_mass

    def logsf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        inside = x if self.lower is None else maximum(x, self._below())
        inside = inside if self.upper is None else minimum(inside, self.upper)
        return self._tails(inside, self.upper) - self._log_mass

    def icdf(self, q: Any) -> DimTensor:
        q = as_value(q, self)
        if not self.base.knows("icdf"):
            return inverted(self, q)
        start = 0.0 if self.lower is None else self.base.cdf(self._below())
        found = self.base.icdf(start + q * exp(self._log_mass))
        if self.lower is None:
            return minimum(found, self.upper)
        found = maximum(found, self.lower)
        found = found if self.upper is None else minimum(found, self.upper)
        # far in the upper tail 1 less a probability has few digits, or none
        far = self.base.logsf(self._below()) < _FAR
        return if_else(far.any(), lambda: where(far, inverted(self, q), found), lambda: found)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        if not self.base.knows("logcdf"):
            return _drawn_until(lambda x: logical_not(self._outside(x)), self.base, rng, whole)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        found = self.icdf(u)
        return (found.astype("int64") if self.discrete else found), rng


class Censored(_Between):
    """A distribution whose values are set to a bound where they are beyond it."""

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logp(x)
        if self.lower is not None:
            value = where(equal(x, self.lower), self.base.logcdf(self.lower), value)
            value = where(x < self.lower, -math.inf, value)
        if self.upper is not None:
            before = ceil(self.upper) - 1.0 if self.discrete else self.upper
            value = where(equal(x, self.upper), self.base.logsf(before), value)
            value = where(x > self.upper, -math.inf, value)
        return in_dtype_of(x, self, value)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logcdf(x)
        value = value if self.lower is None else where(x < self.lower, -math.inf, value)
        return value if self.upper is None else where(x >= self.upper, 0.0, value)

    def icdf(self, q: Any) -> DimTensor:
        return self._cut(self.base.icdf(q))

    def _cut(self, value: DimTensor) -> DimTensor:
        value = value if self.lower is None else maximum(value, self.lower)
        return value if self.upper is None else minimum(value, self.upper)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        value, rng = self.base.draw(rng, self._draw_dims(dims))
        cut = self._cut(value)
        return (cut.astype("int64") if self.discrete else cut), rng


# -- zeros ---------------------------------------------------------------------------------------


class ZeroInflated(Wrapper):
    """A distribution that holds with a probability; else a value is 0."""

    def __init__(self, base: Distribution, psi: Any):
        of_numbers(base, "zero_inflated")
        if not base.discrete:
            raise InputError(
                build_message(
                    f"zero_inflated takes a discrete distribution, not {base.name}",
                    hint="where zeros have a probability of their own, it is dist.hurdle",
                )
            )
        self.psi = as_parameter(psi, "probability", "psi of zero_inflated")
        super().__init__("zero_inflated", base, {"psi": self.psi})

    @property
    def support(self) -> Support:
        return _with_zero(self.base.support)

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = log(self.psi) + self.base.logp(x)
        return where(equal(x, 0), logaddexp(log1p(-self.psi), value), value)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = log(self.psi) + self.base.logcdf(x)
        return where(x < 0, value, logaddexp(log1p(-self.psi), value))

    def mean(self) -> DimTensor:
        return self.psi * self.base.mean()

    def variance(self) -> DimTensor:
        mean = self.base.mean()
        return self.psi * (self.base.variance() + (1.0 - self.psi) * mean * mean)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        value, rng = self.base.draw(rng, whole)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        return where(u < self.psi, value, 0), rng


class Hurdle(Wrapper):
    """A probability of zeros, and a distribution of what is not zero."""

    def __init__(self, base: Distribution, psi: Any):
        of_numbers(base, "hurdle")
        self.psi = as_parameter(psi, "probability", "psi of hurdle")
        super().__init__("hurdle", base, {"psi": self.psi})

    @property
    def _log_rest(self) -> Any:
        """Log probability that a value of the distribution is not 0."""
        return log1p(-exp(self.base.logp(0))) if self.discrete else 0.0

    @property
    def support(self) -> Support:
        inner = self.base.support
        if self.discrete:
            return _with_zero(inner)
        return Bounded(low=0.0) if inner.name == "positive" else inner

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        zero = equal(x, 0)
        # continuous densities may be infinite at 0
        elsewhere = self.base.logp(where(zero, 1, x)) - self._log_rest
        return in_dtype_of(x, self, where(zero, log1p(-self.psi), log(self.psi) + elsewhere))

    def mean(self) -> DimTensor:
        return self.psi * self.base.mean() / exp(self._log_rest)

    def variance(self) -> DimTensor:
        share = self.psi / exp(self._log_rest)
        mean = self.base.mean()
        second = self.base.variance() + mean * mean
        return share * second - (share * mean) ** 2

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        value, rng = self._draw_rest(rng, whole)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        return where(u < self.psi, value, 0), rng

    def _draw_rest(self, rng: Any, whole: Dims) -> tuple[DimTensor, Any]:
        """A value that is not 0."""
        if not self.discrete:
            return self.base.draw(rng, whole)
        low, _ = ends(self.base.support)
        if self.base.knows("logcdf") and isinstance(low, float) and low >= 0.0:
            return truncated(self.base, lower=1).draw(rng, whole)
        return _drawn_until(lambda x: not_equal(x, 0), self.base, rng, whole)


def _with_zero(support: Support) -> Support:
    """The integers of a support, and 0."""
    low, high = ends(support)
    if (low is None and high is None) or (isinstance(low, float) and low == 0.0):
        return support
    low = None if low is None else _further(low, 0.0, minimum, min)
    return Integers(low, None if high is None else _further(high, 0.0, maximum, max))


def _drawn_until(accepts: Any, d: Distribution, rng: Any, whole: Dims) -> tuple[DimTensor, Any]:
    """Draws of a distribution, again and again where they are not accepted."""

    def again(state: Any) -> Any:
        value, rng = state
        new, rng = d.draw(rng, whole)
        return where(accepts(value), value, new), rng

    start = d.draw(rng, whole)
    return while_loop(lambda state: logical_not(accepts(state[0])).any(), again, start, _ATTEMPTS)


# -- constructors ----------------------------------------------------------------------------------


def truncated(d: Distribution, lower: Any = None, upper: Any = None) -> Truncated:
    """A distribution, given that its values lie between bounds, which belong to them.

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
    InputError
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


def censored(d: Distribution, lower: Any = None, upper: Any = None) -> Censored:
    """A distribution whose values are set to a bound where they are beyond it.

    Parameters
    ----------
    d : Distribution
        With a formula of `logcdf`.
    lower, upper : number or DimTensor, optional
        Infinite ones are none, of single elements, too.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If there is no bound, or numbers are out of order.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.censored(dist.Exponential(1.0), upper=2.0)
    >>> float(d.logp(2.0).eval())
    -2.0
    """
    return Censored("censored", d, lower, upper)


def zero_inflated(d: Distribution, psi: Any) -> ZeroInflated:
    """A discrete distribution that holds with a probability; else a value is 0.

    Parameters
    ----------
    d : Distribution
    psi : number or DimTensor
        Probability that a value is one of the distribution.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If the distribution is not discrete, or a known probability is none.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.zero_inflated(dist.Poisson(2.0), psi=0.75)
    >>> float(d.mean().eval())
    1.5
    """
    return ZeroInflated(d, psi)


def hurdle(d: Distribution, psi: Any) -> Hurdle:
    """A probability of zeros, and a distribution of what is not zero.

    Parameters
    ----------
    d : Distribution
        Of a discrete one the probability of 0 is left out.
    psi : number or DimTensor
        Probability that a value is not 0.

    Returns
    -------
    Distribution

    Raises
    ------
    InputError
        If a known probability is none.

    Examples
    --------
    >>> import numpy as np
    >>> from dimtensor import dist
    >>> d = dist.hurdle(dist.Gamma(2.0, 1.0), psi=0.75)
    >>> float(np.exp(d.logp(0.0).eval()))
    0.25
    """
    return Hurdle(d, psi)
