"""Distributions of correlation matrices, of covariances and of their Cholesky factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.formulas import LOG_2, LOG_PI
from dimtensor.dist.joint.vectors import VectorDistribution
from dimtensor.dist.modifiers.wrappers import as_distribution
from dimtensor.dist.supports.along import running_sums
from dimtensor.dist.supports.matrix import (
    cholesky_corr,
    cholesky_cov,
    corr_matrix,
    cov_matrix,
    self_product,
)
from dimtensor.errors import DimError, InputError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import (
    betaln,
    equal,
    exp,
    gammaln,
    log,
    log1p,
    maximum,
    sqrt,
    square,
    where,
)
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def _require_pair(name: str, row: Dim, col: Dim) -> None:
    if row.length is None or row.length != col.length or row is col:
        raise DimError(f"{name} takes two dims of one known length, not {row!r} and {col!r}")


def _log_constant(eta: DimTensor, n: int) -> DimTensor:
    """The integral of det^(eta - 1) over correlation matrices, as a logarithm."""
    constant: Any = 0.0 * eta
    for k in range(1, n):
        b = eta + 0.5 * (n - k - 1)
        constant = constant + (n - k) * (LOG_2 * (2.0 * eta - 2.0 + n - k) + betaln(b, b))
    return constant


class LKJCholesky(VectorDistribution):
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

    def __init__(self, row: Dim, col: Dim, eta: Any = 1.0):
        _require_pair("LKJCholesky", row, col)
        self.row, self.col = row, col
        given = {"eta": (eta, "positive")}
        super().__init__(
            "LKJCholesky", given, (row, col), cholesky_corr(row, col), shared={"eta": ()}
        )

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x)
        at = arange(self.row)
        on_diagonal = equal(at, arange(self.col)) & (at > 0)
        powers = float(len(self.row) - 1) - at.astype(x.dtype) + 2.0 * (p["eta"] - 1.0)
        logs = where(on_diagonal, log(where(on_diagonal, x, 1.0)), 0.0)
        constant = _log_constant(p["eta"], len(self.row))
        return (powers * logs).sum([self.row, self.col]) - constant

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
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


class LKJCorr(VectorDistribution):
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

    def __init__(self, row: Dim, col: Dim, eta: Any = 1.0):
        _require_pair("LKJCorr", row, col)
        self.row, self.col = row, col
        given = {"eta": (eta, "positive")}
        super().__init__("LKJCorr", given, (row, col), corr_matrix(row, col), shared={"eta": ()})

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x)
        inside = self._support.contains(x)
        same = equal(arange(self.row), arange(self.col))
        factor = cholesky(where(inside, x, where(same, 1.0, 0.0)), [self.row, self.col])
        logdet = 2.0 * log(diagonal(factor, [self.row, self.col])).sum(self.row)
        value = (p["eta"] - 1.0) * logdet - _log_constant(p["eta"], len(self.row))
        return where(inside, value, -math.inf)

    def mean(self) -> DimTensor:
        same = equal(arange(self.row), arange(self.col))
        return where(same, 1.0, 0.0) + 0.0 * self._values["eta"]

    def variance(self) -> DimTensor:
        same = equal(arange(self.row), arange(self.col))
        return where(same, 0.0, 1.0 / (2.0 * self._values["eta"] + len(self.row) - 1.0))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        factor, rng = LKJCholesky(self.row, self.col, self._parameters["eta"]).draw(rng, dims)
        return self_product(factor, self.row, self.col), rng


class LKJCholeskyCov(VectorDistribution):
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
        Of the standard deviations, each of which it holds for; parameters may have the dim `row`.

    Raises
    ------
    DimError
        If the dims have not one known length, or `sd` has the dim `col`.
    InputError
        If `sd` is no distribution of numbers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.LKJCholeskyCov(k, k.rename(), 1.0, dist.Exponential(1.0))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -2.6931
    """

    def __init__(self, row: Dim, col: Dim, eta: Any, sd: Distribution):
        _require_pair("LKJCholeskyCov", row, col)
        self.row, self.col = row, col
        self.sd = as_distribution(sd, "LKJCholeskyCov")
        if sd.event_dims or sd.discrete:
            raise InputError(
                f"LKJCholeskyCov takes a distribution of positive numbers as sd, not {sd.name}"
            )
        if col in sd.dims:
            raise DimError(f"LKJCholeskyCov: sd has {col.short}, the dim of the columns")
        given = {"eta": (eta, "positive")}
        given |= {f"sd_{key}": (value, "bound") for key, value in sd.parameters.items()}
        super().__init__(
            "LKJCholeskyCov", given, (row, col), cholesky_cov(row, col), shared={"eta": ()}
        )

    def logp(self, x: Any) -> DimTensor:
        x, _ = self._with(x)
        deviations = sqrt(square(x).sum(self.col))
        factor = x / deviations
        at = arange(self.row)
        same = equal(at, arange(self.col))
        logs = log(where(same, factor, 1.0)).sum(self.col) - at.astype(x.dtype) * log(deviations)
        correlations = LKJCholesky(self.row, self.col, self._parameters["eta"]).logp(factor)
        return correlations + (self.sd.logp(deviations) + logs).sum(self.row)

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        correlations = LKJCholesky(self.row, self.col, self._parameters["eta"])
        factor, rng = correlations.draw(rng, without(whole, [self.row, self.col]))
        rows = without(whole, [self.col, *self.sd.dims])
        deviations, rng = self.sd.draw(rng, rows)
        return deviations * factor, rng


class Wishart(VectorDistribution):
    """A covariance: the sum of nu products x x' of normal vectors of covariance V.

    The density is det(X)^((nu - n - 1) / 2) exp(-tr(V⁻¹ X) / 2) / (2^(nu n / 2) det(V)^(nu / 2)
    Γ_n(nu / 2)) (R. J. Muirhead, Aspects of Multivariate Statistical Theory, 1982, theorem 3.2.1).

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom, above the number of rows less 1.
    V : DimTensor, optional
        Positive definite, over a dim of known length and the same one renamed.
    chol : DimTensor, optional
        Or its lower Cholesky factor.

    Raises
    ------
    InputError
        If not exactly one matrix is given, or `nu` is known and too small.
    DimError
        If the dims of the matrix are no pair of one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.Wishart(3.0, dt.eye(k))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -3.531
    """

    def __init__(self, nu: Any, V: Any = None, *, chol: Any = None):
        if (V is None) == (chol is None):
            raise InputError("Wishart takes a matrix V, or its lower Cholesky factor chol")
        _, self.row, self.col = matrix(V if chol is None else chol, None, "Wishart")
        _require_pair("Wishart", self.row, self.col)
        given = {"nu": (nu, "positive"), "V": (V, "real"), "chol": (chol, "real")}
        support = cov_matrix(self.row, self.col)
        super().__init__("Wishart", given, (self.row, self.col), support, shared={"nu": ()})
        node = self._parameters["nu"].node
        if node.kind == "constant" and not float(node.attrs.value) > len(self.row) - 1:
            raise InputError(
                f"nu of Wishart is above {len(self.row) - 1}, the number of rows less 1, not "
                f"{float(node.attrs.value):g}"
            )

    @property
    def _factor(self) -> DimTensor:
        values = self._values
        return values["chol"] if "chol" in values else cholesky(values["V"], [self.row, self.col])

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x)
        n, nu, pair = len(self.row), p["nu"], [self.row, self.col]
        inside = self._support.contains(x)
        same = equal(arange(self.row), arange(self.col))
        of_x = cholesky(where(inside, x, where(same, 1.0, 0.0)), pair)
        factor = self._factor
        inner = Dim(f"{self.row.short} inside", length=n)
        trace = square(solve_triangular(factor, of_x.relabel(self.col, inner), pair))
        logs_x, logs_v = (log(diagonal(each, pair)).sum(self.row) for each in (of_x, factor))
        gammas = gammaln(0.5 * (nu - arange(self.row))).sum(self.row) + 0.25 * n * (n - 1) * LOG_PI
        value = (nu - n - 1.0) * logs_x - 0.5 * trace.sum([self.col, inner])
        value = value - nu * (0.5 * n * LOG_2 + logs_v) - gammas
        return where(inside, value, -math.inf)

    @property
    def _scale(self) -> DimTensor:
        values = self._values
        return values["V"] if "V" in values else self_product(values["chol"], self.row, self.col)

    def mean(self) -> DimTensor:
        return self._values["nu"] * self._scale

    def variance(self) -> DimTensor:
        scale = self._scale
        own = diagonal(scale, [self.row, self.col])
        return self._values["nu"] * (square(scale) + own * own.relabel(self.row, self.col))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        """By the decomposition of M. S. Bartlett, Proc. Royal Society of Edinburgh 53 (1933)."""
        whole = self._draw_dims(dims)
        at = arange(self.row)
        z, rng = rng.normal(0.0, 1.0, dims=whole)
        sizes, rng = rng.chisquare(self._values["nu"] - at, dims=without(whole, [self.col]))
        same, below = equal(at, arange(self.col)), arange(self.col) < at
        lower = where(same, sqrt(sizes), where(below, z, 0.0))
        inner = Dim(f"{self.row.short} inside", length=len(self.row))
        second = lower.relabel(self.col, inner).relabel(self.row, self.col)
        turned = dot(self._factor, second, dims=[self.col]).relabel(inner, self.col)
        return self_product(turned, self.row, self.col), rng
