"""Supports whose elements belong together along a dim: ordered vectors and simplexes.

Formulas and conventions: *Stan Reference Manual*, chapter "Constraint Transforms". The simplex is
that of Stan since version 2.37, the inverse of the isometric log-ratio (Egozcue, Pawlowsky-Glahn,
Mateu-Figueras and Barceló-Vidal 2003, Mathematical Geology 35, 279-300).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim, sort_dims
from dimtensor.model.supports import Support, the_dim
from dimtensor.tensor.constructors import arange, length, zeros
from dimtensor.tensor.elementwise import exp, log, sqrt
from dimtensor.tensor.functions import concat

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class AlongDim(Support):
    """A support along one dim, which is named by calling it: ``dt.simplex(country)``."""

    def __init__(self, kind: str, dim: Dim | str | None = None):
        self._kind = kind
        self.dim = dim
        shown = dim.short if isinstance(dim, Dim) else dim
        self.name = kind if dim is None else f"{kind}({shown})"

    def __call__(self, dim: Dim | str) -> Any:
        return type(self)(self._kind, dim)

    def resolve(self, x: DimTensor) -> Support:
        return type(self)(self._kind, the_dim(x, self.dim, self._kind))


class Ordered(AlongDim):
    """Increasing along a dim: y₁ = x₁, yₖ = yₖ₋₁ + exp(xₖ); log Jacobian x₂ + x₃ + …

    (Stan, "Ordered vector").
    """

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        first, rest = _cut(x, self.dim, 1)
        steps = _joined([first, exp(rest)], self.dim, 1)
        return steps.cumsum(self.dim), rest.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        first, _ = _cut(y, self.dim, 1)
        return _joined([first, log(y.diff(self.dim))], self.dim, 1)


class PositiveOrdered(AlongDim):
    """Increasing along a dim and above 0: y₁ = exp(x₁), yₖ = yₖ₋₁ + exp(xₖ); log Jacobian Σ x

    (Stan, "Positive, ordered vector").
    """

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        return exp(x).cumsum(self.dim), x.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        first, _ = _cut(y, self.dim, 1)
        return log(_joined([first, y.diff(self.dim)], self.dim, 1))


class Simplex(AlongDim):
    """Positive with sum 1 along a dim of K positions, from K - 1 free elements.

    z = V x with an orthonormal basis V of the vectors that sum to zero, and y = softmax(z) (Stan,
    "Unit simplex"). In terms of wᵢ = xᵢ / √(i (i + 1)), zᵢ = wᵢ + … + w_{K-1} - (i - 1) wᵢ₋₁. The
    log Jacobian is Σ log y + ½ log K.
    """

    def free_dims(self, dims: Dims) -> Dims:
        return sort_dims(self._free if dim is self.dim else dim for dim in dims)

    def numbered(self, dims: Dims) -> Dims:
        return (self._free,)

    @property
    def _free(self) -> Dim:
        assert isinstance(self.dim, Dim)
        return SelDim(self.dim, positions=slice(None, -1))

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        dim, free = self.dim, self._free
        assert isinstance(dim, Dim)
        number = arange(free, "float64") + 1.0
        w = x / sqrt(number * (number + 1.0))
        sums = _backwards_cumsum(w, free)
        above = _joined([sums, zeros(SelDim(dim, positions=slice(-1, None)))], dim, -1)
        below = (number * w).relabel(free, SelDim(dim, positions=slice(1, None)))
        below = _joined([zeros(SelDim(dim, positions=slice(None, 1))), below], dim, 1)
        log_y = (above - below).log_softmax(dim)
        log_k = log(length(dim).astype("float64"))
        return exp(log_y), (log_y.sum(dim) + 0.5 * log_k).sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        free = self._free
        log_y = log(y)
        number = arange(free, "float64") + 1.0
        before, last = (
            log_y.isel({self.dim: slice(None, -1)}),
            log_y.isel({self.dim: slice(1, None)}),
        )
        assert isinstance(self.dim, Dim)
        last = last.relabel(SelDim(self.dim, positions=slice(1, None)), free)
        return (before.cumsum(free) - number * last) / sqrt(number * (number + 1.0))


def _cut(x: DimTensor, dim: Any, at: int) -> tuple[DimTensor, DimTensor]:
    return x.isel({dim: slice(None, at)}), x.isel({dim: slice(at, None)})


def _joined(parts: list[DimTensor], dim: Any, at: int) -> DimTensor:
    """Two parts that a dim was cut into, put together on the dim."""
    dims = [SelDim(dim, positions=slice(None, at)), SelDim(dim, positions=slice(at, None))]
    whole = concat(parts, dims)
    if dim in whole.dims:
        return whole
    (joined,) = [d for d in whole.dims if d.name == dim.name]
    return whole.relabel(joined, dim)


def _backwards_cumsum(x: DimTensor, dim: Dim) -> DimTensor:
    """Sums from each position to the last one."""
    backwards = SelDim(dim, positions=slice(None, None, -1))
    turned = x.isel({dim: slice(None, None, -1)}).cumsum(backwards)
    turned = turned.isel({backwards: slice(None, None, -1)})
    if dim in turned.dims:
        return turned
    (again,) = [d for d in turned.dims if d not in x.dims]
    return turned.relabel(again, dim)


ordered = Ordered("ordered")
positive_ordered = PositiveOrdered("positive_ordered")
simplex = Simplex("simplex")
