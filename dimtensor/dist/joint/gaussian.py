"""Distributions of normal vectors and matrices."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI, LOG_2, LOG_PI
from dimtensor.dist.gammas import log_rising
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.supports import real
from dimtensor.dist.supports.along import ZeroSums
from dimtensor.errors import OptionError
from dimtensor.tensor.constructors import arange, eye, zeros
from dimtensor.tensor.elementwise import (
    log,
    log1p,
    sqrt,
    square,
    where,
)
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, inv, solve, solve_triangular
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _Elliptical(VectorDistribution, state=("form", "row", "col")):
    """A distribution of a vector by the distance from its location, in a matrix."""

    def __init__(self, name: str, given: dict[str, tuple[Any, str]], *shared: str):
        forms = {key: given[key][0] for key in ("cov", "tau", "chol") if given[key][0] is not None}
        if len(forms) != 1:
            raise OptionError(
                f"{name} takes one of cov, a covariance, tau, its inverse, and chol, its Cholesky "
                f"factor, not {len(forms)} of them"
            )
        ((self.form, value),) = forms.items()
        _, self.row, self.col = matrix(value, None, name)
        super().__init__(name, given, (self.row,), real, (self.col,), dict.fromkeys(shared, ()))

    @property
    def _factor(self) -> DimTensor:
        value = self._values[self.form]
        return value if self.form == "chol" else cholesky(value, [self.row, self.col])

    def logp(self, x: TensorLike) -> DimTensor:
        return self._logp_of_known(x, None)

    @abstractmethod
    def _logp_of_known(self, x: TensorLike, there: DimTensor | None) -> DimTensor:
        """Return the marginal log density of the observed elements, by default of all."""

    def _known_distance(
        self, x: DimTensor, mu: Any, there: DimTensor | None
    ) -> tuple[DimTensor, DimTensor, Any]:
        """Return the squared Mahalanobis distance of the observed elements.

        Returns
        -------
        distance : DimTensor
        half_log : DimTensor
            Half of the log determinant of their covariance.
        count : DimTensor
            Their number.
        """
        if there is None:
            return *self._distance(x, mu), count_of((self.row,))
        # the others are independent with variance 1, and at their mean
        both = there & there.relabel(self.row, self.col)
        factor = cholesky(where(both, self._matrix, eye(self.row, self.col)), [self.row, self.col])
        z = solve_triangular(factor, where(there, x - mu, 0.0), [self.row, self.col])
        half_log = log(diagonal(factor, [self.row, self.col])).sum(self.row)
        return square(z).sum(self.col), half_log, there.sum(self.row)

    def _distance(self, x: DimTensor, mu: Any) -> tuple[DimTensor, DimTensor]:
        """Return the squared Mahalanobis distance, and half of the covariance's log determinant."""
        factor = self._factor
        apart = x - mu
        half_log = log(diagonal(factor, [self.row, self.col])).sum(self.row)
        if self.form == "tau":
            return square(dot(factor, apart, dim=[self.row])).sum(self.col), -half_log
        z = solve_triangular(factor, apart, [self.row, self.col])
        return square(z).sum(self.col), half_log

    def _normal(self, rng: Any, dims: Dims) -> tuple[DimTensor, Any]:
        """Draw a normal vector with mean 0."""
        z, rng = rng.normal(0.0, 1.0, dims=[*without(dims, [self.row]), self.col])
        return self._turned(z), rng

    def _turned(self, z: DimTensor) -> DimTensor:
        """Multiply independent elements by the Cholesky factor of the covariance."""
        if self.form == "tau":
            return solve_triangular(self._factor, z, [self.col, self.row], lower=False)
        return dot(self._factor, z, dim=[self.col])

    @property
    def _matrix(self) -> DimTensor:
        """The covariance, or the matrix of scales."""
        value = self._values[self.form]
        if self.form == "cov":
            return value
        if self.form == "tau":
            return inv(value, [self.row, self.col])
        return squared(value, self.row, self.col)

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Matheron's rule: a draw of the whole vector is moved by what its known elements lack.

        With the matrix K, known elements a, and a draw z around 0 it is mu + z + g(x - mu - z),
        g(e) = K[:, a] K[a, a]⁻¹ e[a] (A. G. Journel and C. J. Huijbregts, Mining Geostatistics,
        1978, section VII.A.1).
        """
        if set(given.at) != {self.row}:
            raise refusal(self, given)
        at, whole, cov = list(given.at[self.row]), self._draw_dims(dims), self._matrix
        across = cov.isel({self.col: at})
        (col,) = without(across.dims, cov.dims)
        (row,) = without(cov.isel({self.row: at}).dims, cov.dims)

        def of_known(error: DimTensor) -> tuple[DimTensor, DimTensor]:
            known = error.isel({self.row: at})
            weights = solve(across.isel({self.row: at}), known, [row, col], assume_a="pos")
            distance = (known * weights.relabel(col, row)).sum(row)
            return dot(across, weights, dim=[col]), distance

        z, rng = self._normal(rng, whole)
        expected, distance = of_known(given.values - self._values["mu"])
        scale, rng = self._scale_given(rng, distance, len(at), without(whole, [self.row]))
        value = self._values["mu"] + expected + (z - of_known(z)[0]) * scale
        known = arange(self.row).isin(at)
        return where(known, given.values, value), rng

    def _scale_given(self, rng: Any, distance: DimTensor, n: int, dims: Dims) -> tuple[Any, Any]:
        """Draw the scale of the errors conditional on `n` elements at a squared distance."""
        return 1.0, rng

    @property
    def _covariance_diagonal(self) -> DimTensor:
        if self.form == "chol":
            return square(self._factor).sum(self.col)
        return diagonal(self._matrix, [self.row, self.col])


def squared(factor: DimTensor, row: Dim, col: Dim) -> DimTensor:
    """Multiply a matrix by its transpose."""
    left = factor.relabel(col, inner := col.rename())
    return dot(left, left.relabel(row, col), dim=[inner])


class MvNormal(_Elliptical):
    """A normal vector, over the rows of a covariance.

    The density is exp(-d² / 2) / √((2π)^n det cov), d² = (x - mu)' cov⁻¹ (x - mu).

    Parameters
    ----------
    mu : DimTensor or number
    cov, tau, chol : DimTensor
        One of them: the covariance, its inverse, or its lower Cholesky factor; over a dim and the
        same one renamed.

    Raises
    ------
    OptionError
        If not exactly one matrix is given.
    DimError
        If its dims are no pair.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.MvNormal(0.0, dt.eye(k))
    >>> float(d.logp(dt.zeros(k)).eval().round(4))
    -1.8379
    """

    def __init__(
        self,
        mu: TensorLike,
        cov: TensorLike | None = None,
        *,
        tau: TensorLike | None = None,
        chol: TensorLike | None = None,
    ):
        given = {
            "mu": (mu, "real"),
            "cov": (cov, "real"),
            "tau": (tau, "real"),
            "chol": (chol, "real"),
        }
        super().__init__("MvNormal", given)

    def _logp_of_known(self, x: TensorLike, there: DimTensor | None) -> DimTensor:
        x, p = self._with(x)
        distance, half_log, count = self._known_distance(x, p["mu"], there)
        return -0.5 * distance - half_log - HALF_LOG_2PI * count

    def mean(self) -> DimTensor:
        mu = self._values["mu"]
        return mu + zeros(without(self.dims, mu.dims), dtype=mu.dtype)

    def variance(self) -> DimTensor:
        return self._covariance_diagonal + 0.0 * self._values["mu"]

    def covariance(self) -> DimTensor:
        """Return the covariances of the elements.

        Returns
        -------
        DimTensor
            Over the event dim and the same one renamed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> k = dt.Dim("k", length=2)
        >>> dist.MvNormal(0.0, tau=2.0 * dt.eye(k)).covariance().eval().values.tolist()
        [[0.5, 0.0], [0.0, 0.5]]
        """
        return self._matrix

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        value, rng = self._normal(rng, self._draw_dims(dims))
        return self._values["mu"] + value, rng


class MvStudentT(_Elliptical):
    """A vector of Student's t distribution, over the rows of a matrix of scales.

    The density is Γ((nu + n) / 2) / Γ(nu / 2) (nu π)^(-n/2) det(cov)^(-1/2)
    (1 + d² / nu)^(-(nu + n) / 2), with the distance d of MvNormal.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom.
    mu : DimTensor or number
    cov, tau, chol : DimTensor
        One of them: the squared scales, their inverse, or their lower Cholesky factor.

    Raises
    ------
    OptionError
        If not exactly one matrix is given.
    DimError
        If its dims are no pair.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.MvStudentT(3.0, 0.0, dt.eye(k))
    >>> float(d.logp(dt.zeros(k)).eval().round(4))
    -1.8379
    """

    def __init__(
        self,
        nu: TensorLike,
        mu: TensorLike,
        cov: TensorLike | None = None,
        *,
        tau: TensorLike | None = None,
        chol: TensorLike | None = None,
    ):
        given = {"nu": (nu, "positive"), "mu": (mu, "real"), "cov": (cov, "real"),
                 "tau": (tau, "real"), "chol": (chol, "real")}  # fmt: skip
        super().__init__("MvStudentT", given, "nu")

    def _logp_of_known(self, x: TensorLike, there: DimTensor | None) -> DimTensor:
        x, p = self._with(x)
        distance, half_log, n = self._known_distance(x, p["mu"], there)
        nu = p["nu"]
        ratio = log_rising(0.5 * nu, 0.5 * n) - 0.5 * n * (LOG_2 + LOG_PI)
        return ratio - half_log - 0.5 * (nu + n) * log1p(distance / nu)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        value, rng = self._normal(rng, whole)
        nu = self._values["nu"]
        size, rng = rng.chisquare(nu, dims=without(whole, [self.row]))
        return self._values["mu"] + value * sqrt(nu / size), rng

    def _scale_given(self, rng: Any, distance: DimTensor, n: int, dims: Dims) -> tuple[Any, Any]:
        # P. Ding, The American Statistician 70, 293-295, 2016
        nu = self._values["nu"]
        size, rng = rng.chisquare(nu + n, dims=dims)
        return sqrt((nu + distance) / size), rng


class MatrixNormal(VectorDistribution, state=("row", "_row", "col", "_col")):
    """A normal matrix, whose rows and columns have covariances.

    The density is that of MvNormal of all elements, with the Kronecker product of the covariances.

    Parameters
    ----------
    mu : DimTensor or number
    rows, cols : DimTensor
        Covariances of the rows and of the columns, each over a dim and the same one renamed.

    Raises
    ------
    DimError
        If the dims of a covariance are no pair.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=3)
    >>> d = dist.MatrixNormal(0.0, dt.eye(a), dt.eye(b))
    >>> float(d.logp(dt.zeros([a, b])).eval().round(4))
    -5.5136
    """

    def __init__(self, mu: TensorLike, rows: TensorLike, cols: TensorLike):
        _, self.row, self._row = matrix(rows, None, "rows of MatrixNormal")
        _, self.col, self._col = matrix(cols, None, "cols of MatrixNormal")
        given = {"mu": (mu, "real"), "rows": (rows, "real"), "cols": (cols, "real")}
        pairs = {"rows": (self.row, self._row), "cols": (self.col, self._col)}
        event, hidden = (self.row, self.col), (self._row, self._col)
        super().__init__("MatrixNormal", given, event, real, hidden, pairs)

    def _factors(self) -> tuple[DimTensor, DimTensor]:
        values = self._values
        return (
            cholesky(values["rows"], [self.row, self._row]),
            cholesky(values["cols"], [self.col, self._col]),
        )

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        rows, cols = self._factors()
        z = solve_triangular(rows, x - p["mu"], [self.row, self._row])
        z = solve_triangular(cols, z, [self.col, self._col])
        n, m = count_of((self.row,)), count_of((self.col,))
        logs = m * log(diagonal(rows, [self.row, self._row])).sum(self.row)
        logs = logs + n * log(diagonal(cols, [self.col, self._col])).sum(self.col)
        return -0.5 * square(z).sum([self._row, self._col]) - logs - HALF_LOG_2PI * n * m

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        apart = without(self._draw_dims(dims), [self.row, self.col])
        z, rng = rng.normal(0.0, 1.0, dims=[*apart, self._row, self._col])
        return self._values["mu"] + self._turned(z), rng

    def _turned(self, z: DimTensor) -> DimTensor:
        """Multiply independent elements by the Cholesky factors of rows and columns."""
        rows, cols = self._factors()
        return dot(rows, z, cols, dim=[self._row, self._col])


class ZeroSumNormal(VectorDistribution, state=("dim",)):
    """Normal elements whose sums along dims are zero.

    The density, on the space of such elements, is that of independent normal ones in an
    orthonormal basis of it.

    Parameters
    ----------
    sigma : DimTensor or number
        Without the dims.
    dim : Dim or sequence of Dim
        Along each of them sums are zero.

    Raises
    ------
    DimError
        If sigma has one of the dims.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=3)
    >>> d = dist.ZeroSumNormal(1.0, dim=k)
    >>> float(d.logp(dt.zeros(k)).eval().round(4))
    -1.8379
    """

    def __init__(self, sigma: TensorLike, dim: Dim | Iterable[Dim]):
        dims = sort_dims([dim] if isinstance(dim, Dim) else dim)
        self.dim = dims
        given = {"sigma": (sigma, "positive")}
        super().__init__("ZeroSumNormal", given, dims, ZeroSums(dims), shared={"sigma": ()})

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        inside = self._support.contains(x)
        free: Any = 1.0
        for dim in self.dim:
            free = free * (count_of((dim,)) - 1.0)
        total = square(where(inside, x, 0.0) / p["sigma"]).sum(list(self.dim))
        value = -0.5 * total - free * (log(p["sigma"]) + HALF_LOG_2PI)
        return where(inside, value, -math.inf)

    def mean(self) -> DimTensor:
        return 0.0 * self.variance()

    def variance(self) -> DimTensor:
        share: Any = 1.0
        for dim in self.dim:
            share = share * (1.0 - 1.0 / count_of((dim,)) + 0.0 * arange(dim))
        return square(self._values["sigma"]) * share

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        x, rng = rng.normal(0.0, 1.0, dims=self._draw_dims(dims))
        for dim in self.dim:
            x = x - x.mean(dim)
        return self._values["sigma"] * x, rng
