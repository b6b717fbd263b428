"""Supports of vectors along a dim: ordered, simplex, zero sum.

Formulas and conventions: *Stan Reference Manual*, chapter "Constraint Transforms". The simplex is
that of Stan since version 2.37, the inverse of the isometric log-ratio (Egozcue, Pawlowsky-Glahn,
Mateu-Figueras and Barceló-Vidal 2003, Mathematical Geology 35, 279-300).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim, find_dim, sort_dims
from dimtensor.dist.supports import Support
from dimtensor.errors import DimError, build_message
from dimtensor.tensor.constructors import arange, length, zeros
from dimtensor.tensor.elementwise import equal, exp, isfinite, log, sqrt, where
from dimtensor.tensor.joining import concat

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# Up to this length running sums are written as sums over pairs of positions.
SHORT = 64
# Tolerance of sums: the rounding error of long sums in single precision.
SUM_WITHIN = 1e-4


class AlongDim(Support, state=("dim",)):
    """A support along one dim, which is named by calling it: ``dt.supports.simplex(country)``."""

    kind: str
    is_elementwise = False
    dim_arguments = ("dim",)

    def __init__(self, dim: Dim | str | None = None):
        self.dim = dim

    @property
    def name(self) -> str:  # type: ignore[override]
        shown = self.dim._short if isinstance(self.dim, Dim) else self.dim
        return self.kind if shown is None else f"{self.kind}({shown})"

    def __call__(self, dim: Dim | str | None = None) -> Any:
        return type(self)(dim)

    def resolve(self, x: DimTensor) -> Support:
        return type(self)(the_dim(x, self.dim, self.kind))

    @property
    def event_dims(self) -> Dims:
        return (self.dim,) if isinstance(self.dim, Dim) else ()

    @property
    def _along(self) -> Dim:
        assert isinstance(self.dim, Dim)
        return self.dim


class Ordered(AlongDim):
    """Increasing along a dim: y₁ = x₁, yₖ = yₖ₋₁ + exp(xₖ); log Jacobian x₂ + x₃ + …

    (Stan, "Ordered vector").

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=3))
    >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.supports.ordered}, backend="python")
    >>> density.constrain(np.array([-1.0, 0.0, 0.0]))["x"].values.tolist()
    [-1.0, 0.0, 1.0]
    """

    kind = "ordered"
    is_increasing = True

    def contains(self, y: DimTensor) -> DimTensor:
        return _increasing(y, self._along)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        first = arange(self._along) < 1
        # exp sees 0 in the place of the first element: where it overflows, it has no gradient
        rest = where(first, 0.0, x)
        steps = where(first, x, exp(rest))
        return running_sums(steps, self._along), rest.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        first, _ = _cut(y, self._along, 1)
        return _joined([first, log(y.diff(self._along))], self._along, 1)


class PositiveOrdered(AlongDim):
    """Increasing along a dim and above 0: y₁ = exp(x₁), yₖ = yₖ₋₁ + exp(xₖ); log Jacobian Σ x

    (Stan, "Positive, ordered vector").

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=3))
    >>> density = dt.LogDensity({"x": -x}, {x: dt.supports.positive_ordered}, backend="python")
    >>> density.constrain(np.array([0.0, 0.0, 0.0]))["x"].values.tolist()
    [1.0, 2.0, 3.0]
    """

    kind = "positive_ordered"
    is_increasing = True

    def contains(self, y: DimTensor) -> DimTensor:
        return _increasing(y, self._along) & (y >= 0).all(self._along)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        return running_sums(exp(x), self._along), x.sum()

    def unconstrain(self, y: DimTensor) -> DimTensor:
        first, _ = _cut(y, self._along, 1)
        return log(_joined([first, y.diff(self._along)], self._along, 1))


class Simplex(AlongDim):
    """Positive with sum 1 along a dim of K positions, from K - 1 free elements.

    z = V x with an orthonormal basis V of the vectors that sum to zero, and y = softmax(z) (Stan,
    "Unit simplex"). In terms of wᵢ = xᵢ / √(i (i + 1)), zᵢ = wᵢ + … + w_{K-1} - (i - 1) wᵢ₋₁. The
    log Jacobian is Σ log y + ½ log K.

    Examples
    --------
    >>> import dimtensor as dt
    >>> p = dt.tensor("p", dims=dt.Dim("kind", coords=["low", "high"]))
    >>> density = dt.LogDensity({"p": dt.log(p)}, {p: dt.supports.simplex}, backend="python")
    >>> density.size, density.constrain(np.array([0.0]))["p"].values.tolist()
    (1, [0.5, 0.5])
    """

    kind = "simplex"
    is_bounded = True
    sums_to_one = True

    def contains(self, y: DimTensor) -> DimTensor:
        close = abs(y.sum(self._along) - 1.0) <= SUM_WITHIN
        return (y >= 0).all(self._along) & close

    def free_dims(self, dims: Dims) -> Dims:
        return sort_dims(self._free if dim is self.dim else dim for dim in dims)

    def unlabeled_dims(self, dims: Dims) -> Dims:
        return (self._free,)

    @property
    def _free(self) -> Dim:
        return SelDim(self._along, positions=slice(None, -1))

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        dim, free = self._along, self._free
        number = arange(free, "float64") + 1.0
        w = x / sqrt(number * (number + 1.0))
        log_y = self._sum_to_zero(w, number).log_softmax(dim)
        log_k = log(length(dim).astype("float64"))
        return exp(log_y), (log_y.sum(dim) + 0.5 * log_k).sum()

    def _sum_to_zero(self, w: DimTensor, number: DimTensor) -> DimTensor:
        dim, free = self._along, self._free
        if dim.length is not None and dim.length <= SHORT:
            step = Dim(f"steps of {dim._short}", length=dim.length - 1)
            at, counted = arange(dim), arange(step) + 1
            weights = where(at < counted, 1.0, where(equal(at, counted), -counted, 0.0))
            return (weights * w.relabel(free, step)).sum(step)
        sums = _backwards_cumsum(w, free)
        above = _joined([sums, zeros(SelDim(dim, positions=slice(-1, None)))], dim, -1)
        below = (number * w).relabel(free, SelDim(dim, positions=slice(1, None)))
        return above - _joined([zeros(SelDim(dim, positions=slice(None, 1))), below], dim, 1)

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return self._from_logs(log(y))

    def _from_logs(self, log_y: DimTensor) -> DimTensor:
        dim, free = self._along, self._free
        number = arange(free, "float64") + 1.0
        before, last = log_y.isel({dim: slice(None, -1)}), log_y.isel({dim: slice(1, None)})
        last = last.relabel(SelDim(dim, positions=slice(1, None)), free)
        return (before.cumsum(free) - number * last) / sqrt(number * (number + 1.0))


def running_sums(x: DimTensor, dim: Dim, strictly: bool = False) -> DimTensor:
    """Sum the elements up to each position of a dim, or strictly before it.

    Along a short dim they are sums of products with zeros and ones, which run in the same loop as
    what surrounds them, and compile faster than a cumulative operation.
    """
    if dim.length is None or dim.length > SHORT:
        sums = x.cumsum(dim)
        return sums.shift({dim: 1}, fill_value=0.0) if strictly else sums
    summed = Dim(f"sums along {dim._short}", length=dim.length)
    counted = arange(summed) < arange(dim) if strictly else arange(summed) <= arange(dim)
    return where(counted, x.relabel(dim, summed), 0.0).sum(summed)


class ZeroSum(Simplex):
    """Sum 0 along a dim of K positions, from K - 1 free elements; the map is a rotation.

    It is z = V x with the basis of the simplex (Stan, "Zero sum vector").

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", length=2))
    >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.supports.zero_sum}, backend="python")
    >>> density.constrain(np.array([1.0]))["x"].values.round(4).tolist()
    [0.7071, -0.7071]
    """

    kind = "zero_sum"
    is_bounded = False
    sums_to_one = False

    def contains(self, y: DimTensor) -> DimTensor:
        return abs(y.sum(self._along)) <= SUM_WITHIN * (1.0 + abs(y).max(self._along))

    def constrain(self, x: DimTensor) -> tuple[DimTensor, None]:  # type: ignore[override]
        number = arange(self._free, "float64") + 1.0
        return self._sum_to_zero(x / sqrt(number * (number + 1.0)), number), None

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return self._from_logs(y)


class ZeroSums(Support, state=("_each",)):
    """Sum 0 along each of several dims: the map along one after the other."""

    is_elementwise = False

    def __init__(self, dims: Dims):
        self._each = [ZeroSum(dim) for dim in dims]

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"zero_sum({', '.join(dim._short for dim in self.event_dims)})"

    @property
    def event_dims(self) -> Dims:
        return tuple(one._along for one in self._each)

    def resolve(self, x: DimTensor) -> Support:
        return ZeroSums(tuple(the_dim(x, one._along, "zero_sum") for one in self._each))

    def free_dims(self, dims: Dims) -> Dims:
        for one in self._each:
            dims = one.free_dims(dims)
        return dims

    def unlabeled_dims(self, dims: Dims) -> Dims:
        return tuple(one._free for one in self._each)

    def contains(self, y: DimTensor) -> DimTensor:
        dims = [one._along for one in self._each]
        found: Any = None
        for one in self._each:
            inside = one.contains(y)
            inside = inside.all([d for d in dims if d in inside.dims])
            found = inside if found is None else found & inside
        return found

    def constrain(self, x: DimTensor) -> tuple[DimTensor, None]:
        for one in self._each:
            x, _ = one.constrain(x)
        return x, None

    def unconstrain(self, y: DimTensor) -> DimTensor:
        for one in self._each:
            y = one.unconstrain(y)
        return y


def the_dim(x: DimTensor, dim: Dim | str | None, support: str) -> Dim:
    """Find the dim of a tensor along which a support works.

    Raises
    ------
    DimError
        If it is not there, or not named where the tensor has not exactly one dim.
    """
    if dim is not None:
        return find_dim(x.dims, dim, f"{support} of {x.name!r}")
    if len(x.dims) != 1:
        raise DimError(
            build_message(
                f"{support}: the parameter {x.name!r} has {len(x.dims)} dims, so the one along "
                "which its values constrain each other is named",
                [("dims", [d._short for d in x.dims] or "none (a scalar)")],
                f"dt.supports.{support}({x.dims[0]._short if x.dims else 'dim'})",
            )
        )
    return x.dims[0]


def _increasing(y: DimTensor, dim: Dim) -> DimTensor:
    """Return whether elements are finite and do not decrease along a dim."""
    steps = y.diff(dim)
    along = [d for d in steps.dims if d not in y.dims] or [dim]
    return (steps >= 0).all(along) & isfinite(y).all(dim)


def _cut(x: DimTensor, dim: Any, at: int) -> tuple[DimTensor, DimTensor]:
    return x.isel({dim: slice(None, at)}), x.isel({dim: slice(at, None)})


def _joined(parts: list[DimTensor], dim: Any, at: int) -> DimTensor:
    """Join two parts of a dim."""
    dims = [SelDim(dim, positions=slice(None, at)), SelDim(dim, positions=slice(at, None))]
    whole = concat(parts, dims)
    if dim in whole.dims:
        return whole
    (joined,) = [d for d in whole.dims if d.name == dim.name]
    return whole.relabel(joined, dim)


def _backwards_cumsum(x: DimTensor, dim: Dim) -> DimTensor:
    """Sum the elements from each position to the last one."""
    backwards = SelDim(dim, positions=slice(None, None, -1))
    turned = x.isel({dim: slice(None, None, -1)}).cumsum(backwards)
    turned = turned.isel({backwards: slice(None, None, -1)})
    if dim in turned.dims:
        return turned
    (again,) = [d for d in turned.dims if d not in x.dims]
    return turned.relabel(again, dim)


ordered = Ordered()
positive_ordered = PositiveOrdered()
simplex = Simplex()
zero_sum = ZeroSum()
