"""Correlation matrices, covariances and their Cholesky factors.

Canonical partial correlations: Lewandowski, Kurowicka and Joe 2009, "Generating random correlation
matrices based on vines and extended onion method", Journal of Multivariate Analysis 100, 1989-2001,
in the form of the *Stan Reference Manual*, chapter "Constraint Transforms", sections "Cholesky
factors of correlation matrices", "Cholesky factors of covariance matrices" and "Covariance
matrices".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, RenamedDim, SelDim, find_dim, sort_dims
from dimtensor.dist.supports import Support
from dimtensor.dist.supports.along import SUM_WITHIN, running_sums
from dimtensor.errors import DimError, GraphError, OptionError, build_message
from dimtensor.tensor.constructors import arange, ones, zeros
from dimtensor.tensor.elementwise import (
    abs,
    arcsinh,
    equal,
    exp,
    isfinite,
    log,
    softplus,
    sqrt,
    tanh,
    where,
)
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class _Square(Support, state=("_row", "_col")):
    """Square matrices, with unconstrained elements in a triangle."""

    kind: str
    diagonal_too: bool
    is_elementwise = False
    dim_arguments = ("row", "col")

    def __init__(self, row: Dim | str | None = None, col: Dim | str | None = None):
        self._row, self._col = row, col

    @property
    def name(self) -> str:  # type: ignore[override]
        dims = (self._row, self._col)
        shown = [d._short if isinstance(d, Dim) else d for d in dims if d is not None]
        return f"{self.kind}({', '.join(shown)})" if shown else self.kind

    def __call__(self, row: Dim | str | None = None, col: Dim | str | None = None) -> Any:
        if (row is None) != (col is None):
            raise OptionError(f"{self.kind} takes the dims of rows and columns, or neither of them")
        return type(self)(row, col)

    @property
    def event_dims(self) -> Dims:
        return tuple(dim for dim in (self._row, self._col) if isinstance(dim, Dim))

    def resolve(self, x: DimTensor) -> Support:
        row, col = self._find_dims(x)
        if row is col or row.length != col.length:
            raise DimError(
                f"{self.kind} of {x.name!r}: rows and columns are two dims of one length, not "
                f"{row!r} and {col!r}"
            )
        if row.length is None:
            raise GraphError(
                build_message(
                    f"{self.kind} of {x.name!r}: the length of {row._title} is not known",
                    hint="give the dim a length or coords",
                )
            )
        return type(self)(row, col)

    def _find_dims(self, x: DimTensor) -> tuple[Dim, Dim]:
        if self._row is not None and self._col is not None:
            what = f"{self.kind} of {x.name!r}"
            return find_dim(x.dims, self._row, what), find_dim(x.dims, self._col, what)
        if len(x.dims) == 2:
            for row, col in (x.dims, x.dims[::-1]):
                if isinstance(col, RenamedDim) and col.parent is row:
                    return row, col
        raise DimError(
            build_message(
                f"{self.kind} of {x.name!r} needs the dims of its rows and columns",
                [("dims", [dim._short for dim in x.dims] or "none (a scalar)")],
                f"dt.supports.{self.kind}(row, col); only where the tensor has a dim and its "
                "rename, as in dims=[row, row.rename()], they may be left out",
            )
        )

    @property
    def _dims(self) -> tuple[Dim, Dim]:
        assert isinstance(self._row, Dim)
        assert isinstance(self._col, Dim)
        return self._row, self._col

    @property
    def _triangle(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the free elements, row by row."""
        row, _ = self._dims
        return np.tril_indices(len(row), 0 if self.diagonal_too else -1)

    @property
    def pairs(self) -> Dim:
        """Dim of the free elements, row by row, with pairs of labels."""
        row, col = self._dims
        places = self._triangle
        coords: list | None = None
        if row.coords is not None and col.coords is not None:
            rows, cols = row.coords.tolist(), col.coords.tolist()
            coords = [(rows[i], cols[j]) for i, j in zip(*places, strict=True)]
        sign = ">=" if self.diagonal_too else ">"
        return Dim(f"{row._short}{sign}{col._short}", coords=coords, length=len(places[0]))

    def free_dims(self, dims: Dims) -> Dims:
        return sort_dims([self.pairs, *(dim for dim in dims if dim not in self._dims)])

    def _as_matrix(self, x: DimTensor) -> DimTensor:
        """Scatter the free elements into the matrix; other elements are arbitrary."""
        row, col = self._dims
        places = np.zeros((len(row), len(col)), dtype=np.int64)
        places[self._triangle] = np.arange(len(self._triangle[0]))
        product = ProductDim([row, col])
        if product.factors[0] is not row:
            places = places.T
        taken = x.isel({self.pairs: places.ravel()})
        along = SelDim(self.pairs, positions=places.ravel())
        return taken.relabel(along, product).unravel(product)

    def log_diagonal(self, x: DimTensor) -> DimTensor:
        """Return the log diagonal, along the rows, from free elements."""
        raise NotImplementedError

    def _from_matrix(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        product = ProductDim([row, col])
        i, j = self._triangle
        places = i * len(row) + j if product.factors[0] is row else j * len(row) + i
        taken = y.ravel([row, col]).isel({product: places})
        return taken.relabel(SelDim(product, positions=places), self.pairs)


class CholeskyCorr(_Square):
    """Lower triangular matrices with a positive diagonal and rows of length 1.

    Below the diagonal of row i, with the partial correlations zᵢⱼ = tanh(xᵢⱼ) and the products
    rᵢⱼ = Π (1 - zᵢₖ²) over k < j, the matrix is Lᵢⱼ = zᵢⱼ √rᵢⱼ, and Lᵢᵢ = √rᵢᵢ. The log Jacobian is
    the sum below the diagonal of log(1 - zᵢⱼ²) + ½ log rᵢⱼ. The free elements are row by row.

    log(1 - tanh(x)²) is computed as 2 log 2 - 2 x - 2 softplus(-2 x), which does not overflow.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> L = dt.tensor("L", dims=[k, k.rename()])
    >>> density = dt.LogDensity({"L": -(L**2)}, {L: dt.supports.cholesky_corr}, backend="python")
    >>> density.size, density.constrain(np.array([0.0]))["L"].values.tolist()
    (1, [[1.0, 0.0], [0.0, 1.0]])
    """

    kind = "cholesky_corr"
    diagonal_too = False
    is_bounded = True

    def contains(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        at, other = arange(row), arange(col)
        placed = where(other > at, equal(y, 0.0), where(equal(at, other), y > 0, isfinite(y)))
        length_one = abs((y * y).sum(col) - 1.0) <= SUM_WITHIN
        return placed.all([row, col]) & length_one.all(row)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        row, col = self._dims
        batch = [dim for dim in x.dims if dim is not self.pairs]
        if len(row) < 2:
            return ones([row, col, *batch]), zeros()
        log_rest = self._log_rest(x)
        below = arange(col) < arange(row)
        log_r = running_sums(log_rest, col, strictly=True)
        z = where(below, tanh(self._as_matrix(x)), where(equal(arange(col), arange(row)), 1.0, 0.0))
        log_jacobian = log_rest.sum() + 0.5 * where(below, log_r, 0.0).sum()
        return z * exp(0.5 * log_r), log_jacobian

    def _log_rest(self, x: DimTensor) -> DimTensor:
        """Compute log(1 - zᵢⱼ²) below the diagonal."""
        row, col = self._dims
        free = self._as_matrix(x)
        logs = 2.0 * math.log(2.0) - 2.0 * free - 2.0 * softplus(-2.0 * free)
        return where(arange(col) < arange(row), logs, 0.0)

    def log_diagonal(self, x: DimTensor) -> DimTensor:
        return 0.5 * self._log_rest(x).sum(self._dims[1])

    def unconstrain(self, y: DimTensor) -> DimTensor:
        """Invert: artanh(zᵢⱼ) = arsinh(Lᵢⱼ / √(Lᵢ,ⱼ₊₁² + … + Lᵢᵢ²)), as a row has length 1."""
        _, col = self._dims
        turned = SelDim(col, positions=slice(None, None, -1))
        squares = (y * y).isel({col: slice(None, None, -1)})
        # a difference of two sums would cancel digits
        rest = running_sums(squares, turned, strictly=True).isel({turned: slice(None, None, -1)})
        return self._from_matrix(arcsinh(y / sqrt(rest)))


class CholeskyCov(_Square):
    """Lower triangular matrices with a positive diagonal, whose logarithms are free.

    The log Jacobian is the sum of these. The free elements are row by row.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> L = dt.tensor("L", dims=[k, k.rename()])
    >>> density = dt.LogDensity({"L": -(L**2)}, {L: dt.supports.cholesky_cov}, backend="python")
    >>> density.constrain(np.array([0.0, 3.0, 0.0]))["L"].values.tolist()
    [[1.0, 0.0], [3.0, 1.0]]
    """

    kind = "cholesky_cov"
    diagonal_too = True

    def contains(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        at, other = arange(row), arange(col)
        above = where(other > at, equal(y, 0.0), isfinite(y))
        return (above & where(equal(at, other), y > 0, True)).all([row, col])

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        row, col = self._dims
        at, other = arange(row), arange(col)
        free, same = self._as_matrix(x), equal(at, other)
        logs = where(same, free, 0.0)
        # exp sees nothing but logarithms: where it overflows, it has no gradient
        return where(same, exp(logs), where(other < at, free, 0.0)), logs.sum()

    def log_diagonal(self, x: DimTensor) -> DimTensor:
        row, col = self._dims
        return where(equal(arange(row), arange(col)), self._as_matrix(x), 0.0).sum(col)

    def unconstrain(self, y: DimTensor) -> DimTensor:
        same = equal(*map(arange, self._dims))
        return self._from_matrix(where(same, log(where(same, y, 1.0)), y))


class _OfFactor(_Square):
    """Matrices L L' of the factors L of another support."""

    factors: type[_Square]
    _constant = 0.0  # of each row, in the log Jacobian of L L'

    @property
    def _factor(self) -> _Square:
        return self.factors(*self._dims)

    @property
    def _powers(self) -> DimTensor:
        """Powers of the diagonal of L in the Jacobian of L L', by rows."""
        raise NotImplementedError

    def contains(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        turned = transposed(y, row, col)
        # where a matrix is not positive definite, its factor is nan
        known = isfinite(diagonal(cholesky(y, [row, col]), [row, col])).all(row)
        within = abs(y - turned) <= SUM_WITHIN * (1.0 + abs(y))
        return known & within.all([row, col])

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        row, col = self._dims
        factor, log_jacobian = self._factor.constrain(x)
        assert log_jacobian is not None
        if len(row) < 2 and not self.diagonal_too:
            return factor, log_jacobian
        more = (self._powers * self._factor.log_diagonal(x) + self._constant).sum()
        return self_product(factor, row, col), log_jacobian + more

    def unconstrain(self, y: DimTensor) -> DimTensor:
        return self._factor.unconstrain(cholesky(y, list(self._dims)))


class CorrMatrix(_OfFactor):
    """Correlation matrices L L', with the factors L of :class:`CholeskyCorr`.

    Their log Jacobian in the elements below the diagonal of L is Σ (n - k) log Lₖₖ, k from 1 to n.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> corr = dt.tensor("corr", dims=[k, k.rename()])
    >>> density = dt.LogDensity(
    ...     {"corr": -(corr**2)}, {corr: dt.supports.corr_matrix}, backend="python"
    ... )
    >>> density.constrain(np.array([0.0]))["corr"].values.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    kind = "corr_matrix"
    diagonal_too = False
    is_bounded = True
    factors = CholeskyCorr

    @property
    def _powers(self) -> DimTensor:
        row, _ = self._dims
        return float(len(row) - 1) - arange(row)

    def contains(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        ones_there = (abs(diagonal(y, [row, col]) - 1.0) <= SUM_WITHIN).all(row)
        return super().contains(y) & ones_there


class CovMatrix(_OfFactor):
    """Symmetric positive definite matrices L L', with the factors L of :class:`CholeskyCov`.

    Their log Jacobian in the elements of L is n log 2 + Σ (n - k + 1) log Lₖₖ, k from 1 to n.

    Examples
    --------
    >>> import dimtensor as dt
    >>> k = dt.Dim("k", length=2)
    >>> cov = dt.tensor("cov", dims=[k, k.rename()])
    >>> density = dt.LogDensity({"cov": -(cov**2)}, {cov: dt.supports.cov_matrix}, backend="python")
    >>> density.constrain(np.array([0.0, 3.0, 0.0]))["cov"].values.tolist()
    [[1.0, 3.0], [3.0, 10.0]]
    """

    kind = "cov_matrix"
    diagonal_too = True
    factors = CholeskyCov
    _constant = math.log(2.0)

    @property
    def _powers(self) -> DimTensor:
        row, _ = self._dims
        return float(len(row)) - arange(row)


def transposed(x: DimTensor, row: Dim, col: Dim) -> DimTensor:
    """Transpose a matrix on the same dims."""
    aside = Dim(f"{row._short} aside", length=row.length)
    return x.relabel(row, aside).relabel(col, row).relabel(aside, col)


def self_product(factor: DimTensor, row: Dim, col: Dim) -> DimTensor:
    """Compute L L' on the dims of L."""
    inner = Dim(f"{row._short} inside", length=row.length)
    left = factor.relabel(col, inner)
    return dot(left, left.relabel(row, col), dim=[inner])


cholesky_corr = CholeskyCorr()
cholesky_cov = CholeskyCov()
corr_matrix = CorrMatrix()
cov_matrix = CovMatrix()
