"""Zero-inflated and hurdle distributions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims
from dimtensor.dist.conditions import Condition, beside
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.modifiers.bounds import drawn_until, further, truncated
from dimtensor.dist.modifiers.inversion import inverted
from dimtensor.dist.modifiers.wrappers import (
    Wrapper,
    as_value,
    in_dtype_of,
    of_numbers,
)
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.probabilities import log_part
from dimtensor.dist.supports import Bounded, Integers, Support
from dimtensor.errors import OptionError, build_message
from dimtensor.spellings import spelled
from dimtensor.tensor.elementwise import (
    clip,
    equal,
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    logical_not,
    maximum,
    minimum,
    not_equal,
    where,
)
from dimtensor.tensor.handle import constant, wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _WithZeros(Wrapper, state=("psi",)):
    """Distribution that is 0 with probability 1 - psi, and else has values of another one."""

    def __init__(self, name: str, base: Distribution, psi: Any):
        self.psi = as_parameter(psi, "probability", f"psi of {name}")
        super().__init__(name, base, {"psi": self.psi})

    @property
    def _share(self) -> DimTensor:
        """Factor of the density of the base distribution at nonzero values."""
        return self.psi

    def _conditions(self, x: DimTensor) -> list[Condition]:
        return beside(equal(x, 0), self.base._conditions(x))

    def mean(self) -> DimTensor:
        return self._share * self.base.mean()

    def variance(self) -> DimTensor:
        share, mean = self._share, self.base.mean()
        return share * (self.base.variance() + (1.0 - share) * mean * mean)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        value, rng = self._draw_rest(rng, whole)
        u, rng = rng.uniform(0.0, 1.0, dims=whole)
        return where(u < self.psi, value, 0), rng

    def _draw_rest(self, rng: Any, whole: Dims) -> tuple[DimTensor, Any]:
        """Draw a value of the base distribution."""
        return self.base.draw(rng, whole)


class ZeroInflated(_WithZeros):
    """Zero-inflated distribution."""

    def __init__(self, base: Distribution, psi: Any):
        of_numbers(base, "zero_inflated")
        if not base.discrete:
            raise OptionError(
                build_message(
                    f"zero_inflated takes a discrete distribution, not {base.name}",
                    hint="where zeros have a probability of their own, it is dist.hurdle",
                )
            )
        super().__init__("zero_inflated", base, psi)

    @property
    def support(self) -> Support:
        return _with_zero(self.base.support)

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logp(x)
        return where(equal(x, 0), _or_zero(self.psi, value), log(self.psi) + value)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logcdf(x)
        return where(x < 0, log(self.psi) + value, _or_zero(self.psi, value))

    def logsf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        value = self.base.logsf(x)
        return where(x < 0, _or_zero(self.psi, value), log(self.psi) + value)


class Hurdle(_WithZeros):
    """Make a hurdle model: zeros with a probability, and a distribution of nonzero values."""

    def __init__(self, base: Distribution, psi: Any):
        super().__init__("hurdle", of_numbers(base, "hurdle"), psi)

    @property
    def _log_rest(self) -> Any:
        """Log probability of nonzero values of the base distribution."""
        return log1mexp(self.base.logp(0)) if self.discrete else 0.0

    @property
    def support(self) -> Support:
        inner = self.base.support
        if self.discrete:
            return _with_zero(inner)
        low, high = inner.bounds()
        return Bounded(low=0.0) if _is_zero(low) and high is None else inner

    def logp(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        zero = equal(x, 0)
        # continuous densities may be infinite at 0
        elsewhere = self.base.logp(where(zero, 1, x)) - self._log_rest
        return in_dtype_of(x, self, where(zero, log1p(-self.psi), log(self.psi) + elsewhere))

    def implements(self, what: str) -> bool:
        return super().implements("logcdf" if what == "icdf" else what)

    def logcdf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        if self.discrete:
            above = minimum(self.base.logsf(maximum(x, 0)) - self._log_rest, 0.0)
            rest = log1mexp(above)
        else:
            rest = self.base.logcdf(maximum(x, 0))
        value = where(x < 0, self._log_negative(minimum(x, 0)), _or_zero(self.psi, rest))
        return in_dtype_of(x, self, value)

    def logsf(self, x: Any) -> DimTensor:
        x = as_value(x, self)
        positive = log(self.psi) + self.base.logsf(maximum(x, 0)) - self._log_rest
        value = where(x < 0, log1mexp(self._log_negative(minimum(x, 0))), positive)
        return in_dtype_of(x, self, value)

    def _log_negative(self, x: Any) -> DimTensor:
        """Return the log probability of values up to a negative number."""
        return log(self.psi) + self.base.logcdf(x) - self._log_rest

    def _logcdf_below(self, x: Any) -> DimTensor:
        if self.discrete:
            return super()._logcdf_below(x)
        return where(x <= 0, self._log_negative(minimum(x, 0)), self.logcdf(x))

    def _logsf_from(self, x: Any) -> DimTensor:
        if self.discrete:
            return super()._logsf_from(x)
        return where(x <= 0, log1mexp(self._log_negative(minimum(x, 0))), self.logsf(x))

    def icdf(self, q: Any) -> DimTensor:
        q = as_value(q, self)
        if self.discrete:
            return inverted(self, q)
        possible = (q >= 0.0) & (q <= 1.0)
        negative = exp(self._log_negative(wrap(constant(0.0, q.dtype))))
        zero = 1.0 - self.psi
        is_zero = (q > negative) & (q <= negative + zero)
        rest = where(q <= negative, q, q - zero) / where(self.psi > 0.0, self.psi, 1.0)
        rest = where(possible & logical_not(is_zero), clip(rest, 0.0, 1.0), 0.5)
        d = self.base
        found = d.icdf(rest) if d.implements("icdf") else inverted(d, rest)
        return where(possible, where(is_zero, 0.0, found), math.nan)

    @property
    def _share(self) -> DimTensor:
        return self.psi / exp(self._log_rest)

    def _draw_rest(self, rng: Any, whole: Dims) -> tuple[DimTensor, Any]:
        """Draw a value that is not 0."""
        if not self.discrete:
            return self.base.draw(rng, whole)
        low, _ = self.base.support.bounds()
        if self.base.implements("logcdf") and isinstance(low, float) and low >= 0.0:
            return truncated(self.base, lower=1).draw(rng, whole)
        return drawn_until(lambda x: not_equal(x, 0), self.base, rng, whole)


def _or_zero(psi: DimTensor, value: DimTensor) -> DimTensor:
    """Compute log(1 - psi + psi exp(value)), with derivatives where psi is 0 or 1."""
    only = psi >= 1.0
    tiny = value < -700.0
    known = where(tiny, -1.0, value)
    sums = log_part(1.0 - psi + psi * exp(known), -psi * expm1(known))
    return where(tiny, where(only, value, log1p(-where(only, 0.5, psi))), sums)


def _is_zero(bound: Any) -> bool:
    return isinstance(bound, float) and bound == 0.0


def _with_zero(support: Support) -> Support:
    """Extend a support of integers by 0."""
    low, high = support.bounds()
    if (low is None and high is None) or _is_zero(low):
        return support
    low = None if low is None else further(low, 0.0, minimum, min)
    return Integers(low, None if high is None else further(high, 0.0, maximum, max))


@spelled("distribution")
def zero_inflated(d: Distribution, psi: TensorLike) -> ZeroInflated:
    """Inflate the probability of 0 of a discrete distribution.

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
    OptionError
        If the distribution is not discrete, or a known probability is none.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.zero_inflated(dist.Poisson(2.0), psi=0.75)
    >>> float(d.mean().eval())
    1.5
    """
    return ZeroInflated(d, psi)


@spelled("distribution")
def hurdle(d: Distribution, psi: TensorLike) -> Hurdle:
    """Make a hurdle model: zeros with a probability, and a distribution of nonzero values.

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
    OptionError
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
