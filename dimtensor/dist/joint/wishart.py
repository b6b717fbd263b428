"""Wishart distributions of covariances, their inverses, and of their Cholesky factors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import LOG_2, LOG_PI
from dimtensor.dist.joint.covariances import require_pair
from dimtensor.dist.joint.vectors import VectorDistribution
from dimtensor.dist.supports.matrix import cholesky_cov, cov_matrix, self_product
from dimtensor.errors import OptionError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import equal, gammaln, log, sqrt, square, where
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _Wishart(VectorDistribution, state=("row", "col")):
    """Base class of the Wishart distributions and their Cholesky factors.

    Parameters
    ----------
    name : str
    nu : DimTensor or number
        Degrees of freedom, above the number of rows less 1.
    V, chol : DimTensor, optional
        A matrix, or its lower Cholesky factor.

    Raises
    ------
    OptionError
        If not exactly one matrix is given, or `nu` is known and too small.
    """

    _of_factors = False  # whether values are Cholesky factors

    def __init__(self, name: str, nu: Any, V: Any, chol: Any):
        if (V is None) == (chol is None):
            raise OptionError(f"{name} takes a matrix V, or its lower Cholesky factor chol")
        _, self.row, self.col = matrix(V if chol is None else chol, None, name)
        require_pair(name, self.row, self.col)
        given = {"nu": (nu, "positive"), "V": (V, "real"), "chol": (chol, "real")}
        support = (cholesky_cov if self._of_factors else cov_matrix)(self.row, self.col)
        super().__init__(name, given, (self.row, self.col), support, shared={"nu": ()})
        node = self._parameters["nu"].node
        if node.kind == "constant" and not float(node.attrs.value) > len(self.row) - 1:
            raise OptionError(
                f"nu of {name} is above {len(self.row) - 1}, the number of rows less 1, not "
                f"{float(node.attrs.value):g}"
            )

    @property
    def _pair(self) -> list[Dim]:
        return [self.row, self.col]

    @property
    def _factor(self) -> DimTensor:
        values = self._values
        return values["chol"] if "chol" in values else cholesky(values["V"], self._pair)

    @property
    def _scale(self) -> DimTensor:
        values = self._values
        return values["V"] if "V" in values else self_product(values["chol"], self.row, self.col)

    @property
    def _inner(self) -> Dim:
        return Dim(f"{self.row._short} inside", length=len(self.row))

    def _log_diagonal(self, factor: DimTensor) -> DimTensor:
        """Half of the logarithm of a determinant."""
        return log(diagonal(factor, self._pair)).sum(self.row)

    def _log_gamma(self, nu: DimTensor) -> DimTensor:
        """Compute the log of the multivariate gamma function at nu / 2, times a power of 2."""
        n = len(self.row)
        gammas = gammaln(0.5 * (nu - arange(self.row))).sum(self.row)
        return gammas + 0.25 * n * (n - 1) * LOG_PI + 0.5 * n * LOG_2 * nu

    def _squares(self, divisor: DimTensor, factor: DimTensor) -> DimTensor:
        """Compute the trace of (D D')⁻¹ F F'."""
        inner = self._inner
        found = solve_triangular(divisor, factor.relabel(self.col, inner), self._pair)
        return square(found).sum([self.col, inner])

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        if self._of_factors:
            return self._log_density(x, p["nu"]) + self._log_jacobian(x)
        inside = self._support.contains(x)
        same = equal(arange(self.row), arange(self.col))
        factor = cholesky(where(inside, x, where(same, 1.0, 0.0)), self._pair)
        return where(inside, self._log_density(factor, p["nu"]), -math.inf)

    def _log_density(self, of_x: DimTensor, nu: DimTensor) -> DimTensor:
        """Compute the log density of a covariance from its Cholesky factor."""
        n, factor = len(self.row), self._factor
        value = (nu - n - 1.0) * self._log_diagonal(of_x) - 0.5 * self._squares(factor, of_x)
        return value - nu * self._log_diagonal(factor) - self._log_gamma(nu)

    def _log_jacobian(self, factor: DimTensor) -> DimTensor:
        """Log Jacobian of the covariance as a function of its Cholesky factor."""
        n = len(self.row)
        powers = n - arange(self.row).astype(factor.dtype)
        return (powers * log(diagonal(factor, self._pair))).sum(self.row) + n * LOG_2

    def _bartlett(self, rng: Any, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Draw the factor of a Wishart matrix with scale I by Bartlett's decomposition.

        M. S. Bartlett, Proceedings of the Royal Society of Edinburgh 53, 260-283 (1933).
        """
        whole, at = self._draw_dims(dims), arange(self.row)
        z, rng = rng.normal(0.0, 1.0, dims=whole)
        sizes, rng = rng.chisquare(self._values["nu"] - at, dims=without(whole, [self.col]))
        same, below = equal(at, arange(self.col)), arange(self.col) < at
        return where(same, sqrt(sizes), where(below, z, 0.0)), rng

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        lower, rng = self._bartlett(rng, dims)
        return self._drawn(lower), rng

    def _drawn(self, lower: DimTensor) -> DimTensor:
        """Compute a draw from the factor of a Wishart matrix with scale I."""
        second = lower.relabel(self.col, inner := self._inner).relabel(self.row, self.col)
        factor = dot(self._factor, second, dim=[self.col]).relabel(inner, self.col)
        return factor if self._of_factors else self_product(factor, self.row, self.col)


class _InverseWishart(_Wishart):
    """Base class of the inverse Wishart distributions."""

    def _log_density(self, of_x: DimTensor, nu: DimTensor) -> DimTensor:
        n, factor = len(self.row), self._factor
        value = -(nu + n + 1.0) * self._log_diagonal(of_x) - 0.5 * self._squares(of_x, factor)
        return value + nu * self._log_diagonal(factor) - self._log_gamma(nu)

    def _drawn(self, lower: DimTensor) -> DimTensor:
        inner = self._inner
        scale = self._factor.relabel(self.row, inner).relabel(self.col, self.row)
        root = solve_triangular(lower, scale, self._pair).relabel(inner, self.row)
        whole = self_product(root, self.row, self.col)
        return cholesky(whole, self._pair) if self._of_factors else whole


class Wishart(_Wishart):
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
    OptionError
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

    def __init__(
        self, nu: TensorLike, V: TensorLike | None = None, *, chol: TensorLike | None = None
    ):
        super().__init__("Wishart", nu, V, chol)

    def mean(self) -> DimTensor:
        return self._values["nu"] * self._scale

    def variance(self) -> DimTensor:
        scale = self._scale
        own = diagonal(scale, self._pair)
        return self._values["nu"] * (square(scale) + own * own.relabel(self.row, self.col))


class WishartCholesky(_Wishart):
    """The Cholesky factor of a covariance with a Wishart distribution.

    The density of L is that of L L', times 2^n Π L_kk^(n - k + 1) (*Stan Functions Reference*,
    "Wishart distribution, Cholesky parameterization").

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
    OptionError
        If not exactly one matrix is given, or `nu` is known and too small.
    DimError
        If the dims of the matrix are no pair of one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.WishartCholesky(3.0, chol=dt.eye(k))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -2.1447
    """

    _of_factors = True

    def __init__(
        self, nu: TensorLike, V: TensorLike | None = None, *, chol: TensorLike | None = None
    ):
        super().__init__("WishartCholesky", nu, V, chol)


class InverseWishart(_InverseWishart):
    """A covariance whose inverse has a Wishart distribution, of the inverse of V.

    The density is det(V)^(nu / 2) det(X)^(-(nu + n + 1) / 2) exp(-tr(V X⁻¹) / 2) /
    (2^(nu n / 2) Γ_n(nu / 2)) (K. V. Mardia, J. T. Kent and J. M. Bibby, Multivariate Analysis,
    1979, section 3.8).

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
    OptionError
        If not exactly one matrix is given, or `nu` is known and too small.
    DimError
        If the dims of the matrix are no pair of one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.InverseWishart(3.0, dt.eye(k))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -3.531
    """

    def __init__(
        self, nu: TensorLike, V: TensorLike | None = None, *, chol: TensorLike | None = None
    ):
        super().__init__("InverseWishart", nu, V, chol)

    def mean(self) -> DimTensor:
        rest = self._values["nu"] - len(self.row) - 1.0
        exists = rest > 0.0
        return where(exists, self._scale / where(exists, rest, 1.0), math.nan)

    def variance(self) -> DimTensor:
        scale, rest = self._scale, self._values["nu"] - len(self.row)
        own = diagonal(scale, self._pair)
        exists = rest > 3.0
        rest = where(exists, rest, 4.0)
        products = (rest + 1.0) * square(scale)
        products = products + (rest - 1.0) * own * own.relabel(self.row, self.col)
        value = products / (rest * square(rest - 1.0) * (rest - 3.0))
        return where(exists, value, math.nan)


class InverseWishartCholesky(_InverseWishart):
    """The Cholesky factor of a covariance with an inverse Wishart distribution.

    The density of L is that of L L', times 2^n Π L_kk^(n - k + 1) (*Stan Functions Reference*,
    "Inverse Wishart distribution, Cholesky parameterization").

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
    OptionError
        If not exactly one matrix is given, or `nu` is known and too small.
    DimError
        If the dims of the matrix are no pair of one known length.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> d = dist.InverseWishartCholesky(3.0, chol=dt.eye(k))
    >>> float(d.logp(dt.eye(k)).eval().round(4))
    -2.1447
    """

    _of_factors = True

    def __init__(
        self, nu: TensorLike, V: TensorLike | None = None, *, chol: TensorLike | None = None
    ):
        super().__init__("InverseWishartCholesky", nu, V, chol)
