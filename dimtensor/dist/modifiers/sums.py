"""Probabilities of whole numbers by sums, for distributions that have no formula for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.modifiers.wrappers import SameValues
from dimtensor.dist.supports import plain_bound
from dimtensor.errors import GraphError, build_message, printable
from dimtensor.tensor.constructors import arange, full
from dimtensor.tensor.elementwise import isnan, log1mexp, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

_MOST = 10_000  # terms of a sum


class WithSummedCdf(SameValues, state=("is_whole", "_first", "_dim")):
    """A discrete distribution with probabilities that are sums from one number to another.

    Where values above the last number are possible, `logcdf` and `logsf` are those of values up to
    it.
    """

    def __init__(self, base: Distribution, first: int, last: int, is_whole: bool):
        super().__init__(base.name, base, {})
        self.is_whole, self._first = is_whole, first
        self._dim = Dim(f"values of {base.name}", length=max(last - first + 1, 0))

    def implements(self, what: str) -> bool:
        return self.is_whole if what == "logcdf" else self.base.implements(what)

    @printable
    def __repr__(self) -> str:
        return repr(self.base)

    def _sum(self, x: Any, above: bool) -> DimTensor:
        at = arange(self._dim) + self._first
        counted = at > x if above else at <= x
        total = where(counted, self.base.logp(at), -math.inf).logsumexp(self._dim)
        return where(isnan(x), math.nan, total)

    def logcdf(self, x: Any) -> DimTensor:
        up_to = _number(x)
        if not self.is_whole and (up_to is None or up_to >= self._first + len(self._dim)):
            raise self._missing("logcdf", "there is no closed form, and no end of a sum")
        return self._sum(x, above=False)

    def logsf(self, x: Any) -> DimTensor:
        if self.is_whole:
            return self._sum(x, above=True)
        if not self._dim.length:
            return full(self.dims, 0.0)
        return log1mexp(self._sum(x, above=False))


def with_probabilities(
    d: Distribution, lower: DimTensor | None, upper: DimTensor | None, what: str
) -> Distribution:
    """Add a `logcdf` by summation to a distribution without one.

    Raises
    ------
    GraphError
        If there is neither a formula nor a sum of them.
    """
    if d.implements("logcdf"):
        return d
    if d.discrete:
        low, high = map(_number, d.support.bounds())
        below, above = _number(lower), _number(upper)
        first = low if low is not None else below
        last = high if high is not None or what == "censored" else above
        is_whole = last is not None
        if last is None and what == "truncated" and below is not None:
            last = math.ceil(below) - 1
        if last is None and what == "censored" and low is not None:
            known = [n for n in (below, above) if n is not None]
            given = sum(bound is not None for bound in (lower, upper))
            last = max(known) if len(known) == given else None
        if first is not None and last is not None:
            first, last = math.ceil(first), math.floor(last)
            if last - first < _MOST:
                return WithSummedCdf(d, first, last, is_whole)
        hint = f"a sum takes bounds that are numbers, of up to {_MOST:,} values"
    else:
        hint = "dist.custom(logp=..., logcdf=...) is a distribution of formulas that you write"
    raise GraphError(
        build_message(
            f"{what}: the probability of values beyond a bound of {d.name} has no formula",
            [("distribution", repr(d))],
            hint,
        )
    )


def _number(bound: Any) -> float | None:
    bound = plain_bound(bound)
    return bound if isinstance(bound, (int, float)) else None
