"""Distributions of correlation matrices, of covariances and of their Cholesky factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.formulas import LOG_2
from dimtensor.dist.joint.vectors import VectorDistribution
from dimtensor.dist.modifiers.wrappers import as_distribution
from dimtensor.dist.supports import Support
from dimtensor.dist.supports.along import running_sums
from dimtensor.dist.supports.matrix import (
    cholesky_corr,
    cholesky_cov,
    corr_matrix,
    self_product,
)
from dimtensor.errors import DimError, OptionError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import (
    betaln,
    equal,
    exp,
    log,
    log1p,
    maximum,
    sqrt,
    square,
    where,
)
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def require_pair(name: str, row: Dim, col: Dim) -> None:
    """Check that two dims are those of square matrices of a known size.

    Raises
    ------
    DimError
        If they are not.
    """
    for each in (row, col):
        if not isinstance(each, Dim):
            raise DimError(
                f"{name} takes the dims of rows and columns, not {each!r}",
                hint=f"k = dt.Dim('k', length=3); dist.{name}(k, k.rename(), eta=1.0)",
            )
    if row.length is None or row.length != col.length or row is col:
        raise DimError(f"{name} takes two dims of one known length, not {row!r} and {col!r}")


def _log_constant(eta: DimTensor, n: int) -> DimTensor:
    """Compute the log of the integral of det^(eta - 1) over correlation matrices."""
    constant: Any = 0.0 * eta
    for k in range(1, n):
        b = eta + 0.5 * (n - k - 1)
        constant = constant + (n - k) * (LOG_2 * (2.0 * eta - 2.0 + n - k) + betaln(b, b))
    return constant


class _SquareMatrix(VectorDistribution, state=("row", "col")):
    """Base class of the distributions of matrices made from correlations."""

    def __init__(
        self, name: str, row: Dim, col: Dim, support: Support, given: dict[str, tuple[Any, str]]
    ):
        require_pair(name, row, col)
        self.row, self.col = row, col
        super().__init__(name, given, (row, col), support, shared={"eta": ()})

    @property
    def _is_diagonal(self) -> DimTensor:
        return equal(arange(self.row), arange(self.col))


class LKJCholesky(_SquareMatrix):
    """The Cholesky factor of a correlation matrix.

    The density of the factor L is Π L_kk^(n - k + 2 (eta - 1)) / c, k from 2 to n, with the
    constant of Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100, 1989-2001
    (2009), equation 16: that of the matrix is det(L L')^(eta - 1) / c.

    Parameters
    ----------
    row, col : Dim
        Of one length, which is known.
    eta : DimTensor or number
        Positive: all correlation matrices are equally likely for 1.

    Raises
    ------
    DimError
        If the dims have not one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.LKJCholesky(k, k.rename(), 1.0)
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -0.6931
    """

    def __init__(self, row: Dim, col: Dim, eta: TensorLike = 1.0):
        super().__init__(
            "LKJCholesky", row, col, cholesky_corr(row, col), {"eta": (eta, "positive")}
        )

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        at = arange(self.row)
        on_diagonal = self._is_diagonal & (at > 0)
        powers = float(len(self.row) - 1) - at.astype(x.dtype) + 2.0 * (p["eta"] - 1.0)
        logs = where(on_diagonal, log(where(on_diagonal, x, 1.0)), 0.0)
        constant = _log_constant(p["eta"], len(self.row))
        return (powers * logs).sum([self.row, self.col]) - constant

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        n = len(self.row)
        shape = self._values["eta"] + 0.5 * (float(n - 2) - arange(self.col))
        # the last column has no partial correlations: any shape will do
        shape = maximum(shape, 0.5 * self._values["eta"])
        y, rng = rng.beta(shape, shape, dims=self._draw_dims(dims))
        at, other = arange(self.row), arange(self.col)
        below, same = other < at, equal(at, other)
        z = where(below, 2.0 * y - 1.0, 0.0)
        rest = running_sums(log1p(-square(z)), self.col, strictly=True)
        return where(same, 1.0, z) * exp(0.5 * where(below | same, rest, 0.0)), rng


class LKJCorr(_SquareMatrix):
    """A correlation matrix, with the density det(x)^(eta - 1) / c.

    The constant and the draws are those of :class:`LKJCholesky`, which samples faster.

    Parameters
    ----------
    row, col : Dim
        Of one length, which is known.
    eta : DimTensor or number
        Positive: all correlation matrices are equally likely for 1.

    Raises
    ------
    DimError
        If the dims have not one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.LKJCorr(k, k.rename(), 2.0)
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -0.2877
    """

    def __init__(self, row: Dim, col: Dim, eta: TensorLike = 1.0):
        super().__init__("LKJCorr", row, col, corr_matrix(row, col), {"eta": (eta, "positive")})

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        inside = self._support.contains(x)
        known = where(inside, x, where(self._is_diagonal, 1.0, 0.0))
        factor = cholesky(known, [self.row, self.col])
        logdet = 2.0 * log(diagonal(factor, [self.row, self.col])).sum(self.row)
        value = (p["eta"] - 1.0) * logdet - _log_constant(p["eta"], len(self.row))
        return where(inside, value, -math.inf)

    def mean(self) -> DimTensor:
        return where(self._is_diagonal, 1.0, 0.0) + 0.0 * self._values["eta"]

    def variance(self) -> DimTensor:
        apart = 1.0 / (2.0 * self._values["eta"] + len(self.row) - 1.0)
        return where(self._is_diagonal, 0.0, apart)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        factor, rng = LKJCholesky(self.row, self.col, self._parameters["eta"]).draw(rng, dims)
        return self_product(factor, self.row, self.col), rng


class LKJCholeskyCov(_SquareMatrix, state=("sd",)):
    """The Cholesky factor of a covariance, of standard deviations and a correlation matrix.

    The factor is that of the correlations, whose rows are multiplied by the standard deviations s.
    Its density is that of these two, times Π L_kk / s_k^k.

    Parameters
    ----------
    row, col : Dim
        Of one length, which is known.
    eta : DimTensor or number
        Positive: of :class:`LKJCholesky`.
    sd : Distribution
        Distribution of each standard deviation; its parameters may have the dim `row`.

    Raises
    ------
    DimError
        If the dims have not one known length, or `sd` has the dim `col`.
    ArgumentError
        If `sd` is no distribution.
    OptionError
        If it is none of positive numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.LKJCholeskyCov(k, k.rename(), 1.0, dist.Exponential(1.0))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -2.6931
    """

    def __init__(self, row: Dim, col: Dim, eta: TensorLike, sd: Distribution):
        self.sd = as_distribution(sd, "LKJCholeskyCov")
        if sd.event_dims or sd.discrete:
            raise OptionError(
                f"LKJCholeskyCov takes a distribution of positive numbers as sd, not {sd.name}"
            )
        if col in sd.dims:
            raise DimError(f"LKJCholeskyCov: sd has {col._short}, the dim of the columns")
        given = {"eta": (eta, "positive")}
        given |= {f"sd_{key}": (value, "bound") for key, value in sd.parameters.items()}
        super().__init__("LKJCholeskyCov", row, col, cholesky_cov(row, col), given)

    def logp(self, x: TensorLike) -> DimTensor:
        x, _ = self._with(x)
        deviations = sqrt(square(x).sum(self.col))
        factor = x / deviations
        at = arange(self.row)
        logs = log(where(self._is_diagonal, factor, 1.0)).sum(self.col)
        logs = logs - at.astype(x.dtype) * log(deviations)
        correlations = LKJCholesky(self.row, self.col, self._parameters["eta"]).logp(factor)
        return correlations + (self.sd.logp(deviations) + logs).sum(self.row)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        correlations = LKJCholesky(self.row, self.col, self._parameters["eta"])
        factor, rng = correlations.draw(rng, without(whole, [self.row, self.col]))
        rows = without(whole, [self.col, *self.sd.dims])
        deviations, rng = self.sd.draw(rng, rows)
        return deviations * factor, rng
