"""Quantiles of distributions that have no formula for them: by bisection of the probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.supports import ends
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.control.loops import reduce
from dimtensor.tensor.elementwise import equal, exp, floor, sinh, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_STEP = Dim("step of bisection", length=62)
_MOST = 2.0**48  # counts beyond it are not told apart
_FAR = 700.0  # exp of it is nearly the largest number


def inverted(d: Distribution, q: DimTensor) -> DimTensor:
    """The smallest value up to which a distribution has a probability.

    Numbers with one bound are found by the logarithm of their distance from it, numbers without
    bounds by their inverse hyperbolic sine, to the digits that there are.

    Parameters
    ----------
    d : Distribution
        Of single numbers, with `logcdf`.
    q : DimTensor
    """
    low, high = ends(d.support)
    possible = (q >= 0.0) & (q <= 1.0)
    q = where(possible, q, 0.5)
    zero = 0.0 * d.cdf(0.0 * q)  # of all dims
    place, first, last = _places(low, high, d.discrete)

    def halve(state: Any, _: Any) -> Any:
        left, right = state
        middle = 0.5 * (left + right)
        middle = floor(middle) if d.discrete else middle
        enough = d.cdf(place(middle)) >= q
        return where(enough, left, middle), where(enough, middle, right)

    _, found = reduce(halve, (zero + first, zero + last), arange(_STEP), over=_STEP)
    value = place(found)
    if high is None and not d.discrete:
        value = where(equal(q, 1.0), math.inf, value)
    return where(possible, value, math.nan)


def _places(low: Any, high: Any, discrete: bool) -> tuple[Any, Any, Any]:
    """From numbers to values in the support, and two numbers with all values between theirs."""
    if discrete:
        first = -_MOST if low is None else low - 1.0
        return (lambda t: t), first, (_MOST if high is None else high)
    if low is not None and high is not None:
        return (lambda t: low + (high - low) * t), 0.0, 1.0
    if low is not None:
        return (lambda t: low + exp(t)), -_FAR, _FAR
    if high is not None:
        return (lambda t: high - exp(-t)), -_FAR, _FAR
    return sinh, -_FAR, _FAR
