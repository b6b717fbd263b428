"""Normal tensors whose covariance is a product of one matrix per dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.supports import real
from dimtensor.errors import InputError
from dimtensor.tensor.elementwise import log, square
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky, eigh
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class KroneckerNormal(VectorDistribution):
    """Normal elements over several dims, whose covariance is the Kronecker product of one per dim.

    The density is that of MvNormal of all elements; the product is never formed. With noise, whose
    variance is added to those of all elements, the matrices are taken apart into eigenvectors
    (Y. Saatçi, Scalable Inference for Structured Gaussian Process Models, 2011, chapter 5).

    Parameters
    ----------
    mu : DimTensor or number
    covs : sequence of DimTensor, optional
        Covariances, each over a dim and the same one renamed.
    chols : sequence of DimTensor, optional
        Or their lower Cholesky factors.
    sigma : DimTensor or number, optional
        Standard deviation of the noise; takes covariances.

    Raises
    ------
    InputError
        If not exactly one of `covs` and `chols` is given, or there is noise beside factors.
    DimError
        If the dims of a covariance are no pair, or two covariances share a dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=3)
    >>> d = dist.KroneckerNormal(0.0, [dt.eye(a), dt.eye(b)])
    >>> float(d.logp(dt.zeros([a, b])).eval().round(4))
    -5.5136
    """

    def __init__(
        self,
        mu: Any,
        covs: Sequence[Any] | None = None,
        *,
        chols: Sequence[Any] | None = None,
        sigma: Any = None,
    ):
        if (covs is None) == (chols is None):
            raise InputError("KroneckerNormal takes covs, covariances, or chols, their factors")
        if chols is not None and sigma is not None:
            raise InputError("KroneckerNormal takes noise, sigma, beside covs, not beside chols")
        self.form = "cov" if chols is None else "chol"
        matrices = [*(covs or ()), *(chols or ())]
        if not matrices:
            raise InputError("KroneckerNormal takes at least one matrix")
        self.pairs = [matrix(value, None, "KroneckerNormal")[1:] for value in matrices]
        rows = [row for row, _ in self.pairs]
        if len(set(rows)) != len(rows):
            raise InputError(
                "KroneckerNormal: each matrix has a dim of its own, and two of them are over "
                f"{next(row for row in rows if rows.count(row) > 1).short}"
            )
        given = {f"{self.form}_{at}": (value, "real") for at, value in enumerate(matrices)}
        given |= {"mu": (mu, "real"), "sigma": (sigma, "not negative")}
        super().__init__(
            "KroneckerNormal", given, tuple(rows), real, tuple(col for _, col in self.pairs)
        )

    def _factors(self) -> list[DimTensor]:
        values = [self._values[f"{self.form}_{at}"] for at in range(len(self.pairs))]
        if self.form == "chol":
            return values
        return [cholesky(v, list(pair)) for v, pair in zip(values, self.pairs, strict=True)]

    def logp(self, x: Any) -> DimTensor:
        x, p = self._with(x)
        apart = x - p["mu"]
        size = count_of(tuple(row for row, _ in self.pairs))
        logs: Any = 0.0
        if "sigma" in p:
            distance, logs = self._with_noise(apart, p)
        else:
            for factor, (row, col) in zip(self._factors(), self.pairs, strict=True):
                apart = solve_triangular(factor, apart, [row, col])
                each = log(diagonal(factor, [row, col])).sum(row)
                logs = logs + 2.0 * each * size / count_of((row,))
            distance = square(apart).sum([col for _, col in self.pairs])
        return -0.5 * (distance + logs) - HALF_LOG_2PI * size

    def _with_noise(self, apart: DimTensor, p: Any) -> tuple[DimTensor, DimTensor]:
        """The squared distance, and the logarithm of the covariance's determinant."""
        values, along = square(p["sigma"]), []
        product: Any = 1.0
        for at, (row, col) in enumerate(self.pairs):
            found = eigh(p[f"cov_{at}"], [row, col], dim=f"{row.short} eigen")
            (dim,) = [d for d in found.eigenvalues.dims if d not in p[f"cov_{at}"].dims]
            along.append(dim)
            product = product * found.eigenvalues
            apart = dot(apart, found.eigenvectors, dims=[row])
        values = product + values
        return (square(apart) / values).sum(along), log(values).sum(along)

    def mean(self) -> DimTensor:
        return self._values["mu"] + 0.0 * self.variance()

    def variance(self) -> DimTensor:
        product: Any = 1.0
        for at, (row, col) in enumerate(self.pairs):
            value = self._values[f"{self.form}_{at}"]
            chol = self.form == "chol"
            each = square(value).sum(col) if chol else diagonal(value, [row, col])
            product = product * each
        sigma = self._values.get("sigma")
        return product + 0.0 * self._values["mu"] + (0.0 if sigma is None else square(sigma))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        p, whole = self._values, self._draw_dims(dims)
        hidden = dict(self.pairs)
        value, rng = rng.normal(0.0, 1.0, dims=[hidden.get(dim, dim) for dim in whole])
        for factor, (_, col) in zip(self._factors(), self.pairs, strict=True):
            value = dot(factor, value, dims=[col])
        value = p["mu"] + value
        if "sigma" in p:
            noise, rng = rng.normal(0.0, 1.0, dims=whole)
            value = value + p["sigma"] * noise
        return value, rng
