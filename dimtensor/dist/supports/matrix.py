"""Cholesky factors of correlation matrices.

Canonical partial correlations: Lewandowski, Kurowicka and Joe 2009, "Generating random correlation
matrices based on vines and extended onion method", Journal of Multivariate Analysis 100, 1989-2001,
in the form of the *Stan Reference Manual*, chapter "Constraint Transforms", section "Cholesky
factors of correlation matrices".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import Dim, Dims, ProductDim, RenamedDim, SelDim, find_dim, sort_dims
from dimtensor.dist.supports import Support
from dimtensor.dist.supports.along import SUM_WITHIN, running_sums
from dimtensor.errors import DimError, GraphError, InputError, build_message
from dimtensor.tensor.constructors import arange, ones, zeros
from dimtensor.tensor.elementwise import arcsinh, equal, exp, isfinite, softplus, sqrt, tanh, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class CholeskyCorr(Support):
    """Lower triangular matrices with a positive diagonal and rows of length 1.

    Below the diagonal of row i, with the partial correlations zᵢⱼ = tanh(xᵢⱼ) and the products
    rᵢⱼ = Π (1 - zᵢₖ²) over k < j, the matrix is Lᵢⱼ = zᵢⱼ √rᵢⱼ, and Lᵢᵢ = √rᵢᵢ. The log Jacobian is
    the sum below the diagonal of log(1 - zᵢⱼ²) + ½ log rᵢⱼ. The free elements are row by row.

    log(1 - tanh(x)²) is computed as 2 log 2 - 2 x - 2 softplus(-2 x), which does not overflow.
    """

    def __init__(self, row: Dim | str | None = None, col: Dim | str | None = None):
        self._row, self._col = row, col
        shown = [d.short if isinstance(d, Dim) else d for d in (row, col) if d is not None]
        self.name = f"cholesky_corr({', '.join(shown)})" if shown else "cholesky_corr"

    def __call__(self, row: Dim | str | None = None, col: Dim | str | None = None) -> CholeskyCorr:
        if (row is None) != (col is None):
            raise InputError("cholesky_corr takes the dims of rows and columns, or neither of them")
        return CholeskyCorr(row, col)

    def resolve(self, x: DimTensor) -> Support:
        row, col = self._find_dims(x)
        if row is col or row.length != col.length:
            raise DimError(
                f"cholesky_corr of {x.name!r}: rows and columns are two dims of one length, not "
                f"{row!r} and {col!r}"
            )
        if row.length is None:
            raise GraphError(
                build_message(
                    f"cholesky_corr of {x.name!r}: the length of {row.title} is not known",
                    hint="give the dim a length or coords",
                )
            )
        return CholeskyCorr(row, col)

    def _find_dims(self, x: DimTensor) -> tuple[Dim, Dim]:
        if self._row is not None and self._col is not None:
            what = f"cholesky_corr of {x.name!r}"
            return find_dim(x.dims, self._row, what), find_dim(x.dims, self._col, what)
        if len(x.dims) == 2:
            for row, col in (x.dims, x.dims[::-1]):
                if isinstance(col, RenamedDim) and col.parent is row:
                    return row, col
        raise DimError(
            build_message(
                f"cholesky_corr: the dims of rows and columns of {x.name!r} are named",
                [("dims", [dim.short for dim in x.dims] or "none (a scalar)")],
                "dt.cholesky_corr(row, col); only where the tensor has a dim and its rename, as in "
                "dims=[row, row.rename()], they may be left out",
            )
        )

    @property
    def _dims(self) -> tuple[Dim, Dim]:
        assert isinstance(self._row, Dim)
        assert isinstance(self._col, Dim)
        return self._row, self._col

    def contains(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        at, other = arange(row), arange(col)
        placed = where(other > at, equal(y, 0.0), where(equal(at, other), y > 0, isfinite(y)))
        length_one = abs((y * y).sum(col) - 1.0) <= SUM_WITHIN
        return placed.all([row, col]) & length_one.all(row)

    @property
    def pairs(self) -> Dim:
        """The dim of the elements below the diagonal, row by row, labelled by row and column."""
        row, col = self._dims
        below = np.tril_indices(len(row), -1)
        coords: list | None = None
        if row.coords is not None and col.coords is not None:
            rows, cols = row.coords.tolist(), col.coords.tolist()
            coords = [(rows[i], cols[j]) for i, j in zip(*below, strict=True)]
        return Dim(f"{row.short}>{col.short}", coords=coords, length=len(below[0]))

    def free_dims(self, dims: Dims) -> Dims:
        return sort_dims([self.pairs, *(dim for dim in dims if dim not in self._dims)])

    def _as_matrix(self, x: DimTensor) -> DimTensor:
        """Free elements at their places in the matrix, something else at the other places."""
        row, col = self._dims
        places = np.zeros((len(row), len(col)), dtype=np.int64)
        below = np.tril_indices(len(row), -1)
        places[below] = np.arange(len(below[0]))
        product = ProductDim([row, col])
        if product.factors[0] is not row:
            places = places.T
        taken = x.isel({self.pairs: places.ravel()})
        along = SelDim(self.pairs, positions=places.ravel())
        return taken.relabel(along, product).unravel(product)

    def _from_matrix(self, y: DimTensor) -> DimTensor:
        row, col = self._dims
        product = ProductDim([row, col])
        i, j = np.tril_indices(len(row), -1)
        places = i * len(row) + j if product.factors[0] is row else j * len(row) + i
        taken = y.ravel([row, col]).isel({product: places})
        return taken.relabel(SelDim(product, positions=places), self.pairs)

    def constrain(self, x: DimTensor) -> tuple[DimTensor, DimTensor]:
        row, col = self._dims
        batch = [dim for dim in x.dims if dim is not self.pairs]
        if len(row) < 2:
            return ones([row, col, *batch]), zeros()
        below = arange(col) < arange(row)
        free = self._as_matrix(x)
        log_rest = where(below, 2.0 * math.log(2.0) - 2.0 * free - 2.0 * softplus(-2.0 * free), 0.0)
        log_r = running_sums(log_rest, col, strictly=True)
        z = where(below, tanh(free), where(equal(arange(col), arange(row)), 1.0, 0.0))
        log_jacobian = log_rest.sum() + 0.5 * where(below, log_r, 0.0).sum()
        return z * exp(0.5 * log_r), log_jacobian

    def unconstrain(self, y: DimTensor) -> DimTensor:
        """The inverse: artanh(zᵢⱼ) = arsinh(Lᵢⱼ / √(Lᵢ,ⱼ₊₁² + … + Lᵢᵢ²)), as a row has length 1."""
        _, col = self._dims
        turned = SelDim(col, positions=slice(None, None, -1))
        squares = (y * y).isel({col: slice(None, None, -1)})
        # a difference of two sums would cancel digits
        rest = running_sums(squares, turned, strictly=True).isel({turned: slice(None, None, -1)})
        return self._from_matrix(arcsinh(y / sqrt(rest)))


cholesky_corr = CholeskyCorr()
