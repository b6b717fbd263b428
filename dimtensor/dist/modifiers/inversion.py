"""Quantiles by bisection of the cumulative distribution function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.probabilities import rounding
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.control.branches import if_else
from dimtensor.tensor.control.loops import reduce, while_loop
from dimtensor.tensor.elementwise import (
    abs,
    clip,
    equal,
    exp,
    floor,
    log,
    maximum,
    sigmoid,
    sinh,
    sqrt,
    stop_gradient,
    where,
)

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_STEP = Dim("step of bisection", length=62)
_MOST = 2.0**48  # counts beyond it are not told apart
_FAR = 700.0  # exp of it is nearly the largest number
_CLOSE = 1e-6  # of a probability: what halving leaves of it is less
_FEW = 2.0**-10  # probabilities below it are found by their logarithms


def inverted(d: Distribution, q: DimTensor, needed: DimTensor | bool = True) -> DimTensor:
    """Invert a cumulative distribution function: the smallest value with at least a probability.

    Numbers with bounds are found by the logarithm of their distance from one, numbers without
    bounds by their inverse hyperbolic sine, to the digits that there are. Derivatives are those of
    the quantile: of a probability the reciprocal of the density.

    Parameters
    ----------
    d : Distribution
        Of single numbers, with `logcdf`.
    q : DimTensor
    needed : DimTensor, optional
        Elements of a discrete distribution that are searched for; others are not computed.
    """
    possible = (q >= 0.0) & (q <= 1.0)
    q = where(possible, q, 0.5)
    low, high = d.support.bounds()
    # the probability of a count, computed elsewhere, may differ in its last digits
    enough = q - rounding(q) if d.discrete else q
    if d.discrete:
        value = _searched(d, lambda x: d.cdf(x) >= enough, q, needed)
        value = value if low is None else maximum(value, low)  # of probability 0
    else:
        value = stop_gradient(_halved(d, lambda x: d.cdf(x) >= enough, q))
        lacking = q - d.cdf(value)
        # a value that has a probability by itself does not move
        value = _steered(value, lacking, abs(lacking) < _CLOSE * q, -d.logp(value))
        value = where(equal(q, 0.0), -math.inf if low is None else low, value)
    value = where(equal(q, 1.0), math.inf if high is None else high, value)
    return where(possible, value, math.nan)


def upper_quantile(d: Distribution, q: DimTensor) -> DimTensor:
    """Invert the survival function of a continuous distribution.

    Of a small one 1 less it has few digits, or none: it is found by the logarithm of the
    probability of larger values.

    Parameters
    ----------
    d : Distribution
        Of single numbers, with `icdf`.
    q : DimTensor
    """
    found = d.icdf(1.0 - q)
    if not d.implements("logcdf"):
        return found
    small = (q > 0.0) & (q < _FEW)

    def beyond() -> Any:
        wanted = log(where(small, q, 0.5))
        value = stop_gradient(_halved(d, lambda x: d.logsf(x) <= wanted, q))
        beside = d.logsf(value)
        value = _steered(value, beside - wanted, small, beside - d.logp(value))
        return where(small, value, found)

    return if_else(small.any(), beyond, lambda: found)


def _searched(d: Distribution, enough: Callable[[Any], Any], q: DimTensor, needed: Any) -> Any:
    """Find the smallest integer at which a predicate holds, by magnitude and then by halves."""
    low, high = d.support.bounds()
    first = -_MOST if low is None else low - 1.0
    last = _MOST if high is None else high
    zero = 0.0 * d.cdf(0.0 * q)  # of all dims
    before, value = zero + first, zero + last
    if needed is not True:
        before = where(needed, before, value - 1.0)

    def narrow(state: Any) -> Any:
        left, right = state
        # the distance from the first value, plus one, is known up to a factor before digits are
        near, far = left - first + 1.0, right - first + 1.0
        middle = where(far > 4.0 * near, first - 1.0 + sqrt(near * far), 0.5 * (left + right))
        middle = clip(floor(middle), left + 1.0, right - 1.0)
        found = enough(middle)
        return where(found, left, middle), where(found, middle, right)

    _, value = while_loop(
        lambda state: state[1] - state[0] > 1.0,
        narrow,
        (before, value),
        _STEP.length,
    )
    return stop_gradient(value)


def _halved(d: Distribution, enough: Callable[[Any], Any], q: DimTensor) -> Any:
    """Bisect: the smallest number at which a predicate holds."""
    place, first, last = _places(*d.support.bounds())
    zero = 0.0 * d.cdf(0.0 * q)  # of all dims

    def halve(state: Any, _: Any) -> Any:
        left, right = state
        middle = 0.5 * (left + right)
        found = enough(place(middle))
        return where(found, left, middle), where(found, middle, right)

    _, found = reduce(halve, (zero + first, zero + last), arange(_STEP), dim=_STEP)
    return place(found)


def _steered(value: Any, lacking: Any, moves: Any, log_factor: Any) -> Any:
    """Give a bisected value the derivatives of a Newton step."""
    factor = stop_gradient(where(moves & (log_factor < _FAR), exp(log_factor), 0.0))
    return value + (lacking - stop_gradient(lacking)) * factor


def _places(low: Any, high: Any) -> tuple[Any, Any, Any]:
    """From numbers to values in the support, and two numbers with all values between theirs."""
    if low is not None and high is not None:
        width = high - low

        def between(t: Any) -> Any:
            return where(t < 0.0, low + width * sigmoid(t), high - width * sigmoid(-t))

        return between, -_FAR, _FAR
    if low is not None:
        return (lambda t: low + exp(t)), -_FAR, _FAR
    if high is not None:
        return (lambda t: high - exp(-t)), -_FAR, _FAR
    return sinh, -_FAR, _FAR
