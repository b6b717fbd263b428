"""Normal tensors whose covariance is a product of one matrix per dim."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.gaussian import squared
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.supports import real
from dimtensor.errors import DimError, OptionError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import log, square, stop_gradient, where
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky, eigh
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _Basis(NamedTuple):
    """Eigenvectors of a matrix along a dim, one for each position of another, and eigenvalues."""

    vectors: DimTensor
    row: Dim
    dim: Dim
    values: DimTensor


def _product(factors: Sequence[DimTensor]) -> DimTensor:
    return functools.reduce(operator.mul, factors)


def _through(x: DimTensor, matrices: Sequence[tuple[DimTensor, Dim]]) -> DimTensor:
    """Multiply by one matrix along each dim."""
    for value, dim in matrices:
        x = dot(x, value, dim=[dim])
    return x


def _between(x: DimTensor, matrices: Sequence[tuple[DimTensor, Dim]]) -> DimTensor:
    """Multiply by one matrix over each dim and the same one renamed."""
    for value, dim in matrices:
        x = dot(x, value, dim=[dim]).relabel(dim.rename(), dim)
    return x


class KroneckerNormal(VectorDistribution, state=("form", "pairs")):
    """Normal elements over several dims, whose covariance is the Kronecker product of one per dim.

    The density is that of MvNormal of all elements; the product is never formed. With noise, whose
    variance is added to those of all elements, the matrices are taken apart into eigenvectors
    (Y. Saatçi, Scalable Inference for Structured Gaussian Process Models, 2011, chapter 5).
    First and second derivatives by the covariances exist for equal eigenvalues, too; further ones
    of densities with noise are wrong.

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
    OptionError
        If not exactly one of `covs` and `chols` is given, or noise is combined with factors.
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
        mu: TensorLike,
        covs: Sequence[Any] | None = None,
        *,
        chols: Sequence[Any] | None = None,
        sigma: TensorLike | None = None,
    ):
        if (covs is None) == (chols is None):
            raise OptionError("KroneckerNormal takes covs, covariances, or chols, their factors")
        if chols is not None and sigma is not None:
            raise OptionError("KroneckerNormal takes noise, sigma, with covs, not with chols")
        self.form = "cov" if chols is None else "chol"
        matrices = [*(covs or ()), *(chols or ())]
        if not matrices:
            raise OptionError("KroneckerNormal takes at least one matrix")
        self.pairs = [matrix(value, None, "KroneckerNormal")[1:] for value in matrices]
        rows = [row for row, _ in self.pairs]
        if len(set(rows)) != len(rows):
            raise DimError(
                "KroneckerNormal: each matrix has a dim of its own, and two of them are over "
                f"{next(row for row in rows if rows.count(row) > 1)._short}"
            )
        given = {f"{self.form}_{at}": (value, "real") for at, value in enumerate(matrices)}
        given |= {"mu": (mu, "real"), "sigma": (sigma, "not negative")}
        super().__init__(
            "KroneckerNormal",
            given,
            tuple(rows),
            real,
            tuple(col for _, col in self.pairs),
            {"sigma": (), **{f"{self.form}_{at}": pair for at, pair in enumerate(self.pairs)}},
        )

    def _factors(self) -> list[DimTensor]:
        values = [self._values[f"{self.form}_{at}"] for at in range(len(self.pairs))]
        if self.form == "chol":
            return values
        return [cholesky(v, list(pair)) for v, pair in zip(values, self.pairs, strict=True)]

    def logp(self, x: TensorLike) -> DimTensor:
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
        """Return the squared Mahalanobis distance, and the log determinant of the covariance.

        Eigenvectors have no derivatives where eigenvalues are equal; these two have. So both are
        expansions around the matrices where eigenvectors are taken, which are constants. With
        a = S₀⁻¹r₀ and e = r - S a the distance of r is aᵀr + (a + S₀⁻¹e)ᵀe up to the third order.
        Off-diagonal elements enter the determinant in second order:
        log |D + O| = log |D| - tr(D⁻¹O D⁻¹O) / 2. First and second derivatives are those of the
        density. All of it is in coordinates along the eigenvectors, in which S₀ is diagonal.
        """
        covs, noise = self._covs(p), square(p["sigma"])
        bases = self._bases(covs)
        own = []
        for cov, (row, col), basis in zip(covs, self.pairs, bases, strict=True):
            vectors, dim = basis.vectors, basis.dim
            turned = vectors.relabel(row, col).relabel(dim, dim.rename())
            own.append((dot(cov, vectors, turned, dim=[row, col]), dim))
        fixed = _product([basis.values for basis in bases]) + stop_gradient(noise)
        apart = _through(apart, [(basis.vectors, basis.row) for basis in bases])
        a = stop_gradient(apart) / fixed
        error = apart - _between(a, own) - noise * a
        along = [dim for _, dim in own]
        distance = (a * apart + (a + error / fixed) * error).sum(along)

        variances = [diagonal(value, [dim, dim.rename()]) for value, dim in own]
        values = _product(variances) + noise
        weight = stop_gradient(1.0 / values)
        both = _between(weight, [(square(value), dim) for value, dim in own])
        beside = both - weight * square(_product(variances))
        return distance, (log(values) - 0.5 * weight * beside).sum(along)

    def _covs(self, p: Any) -> list[DimTensor]:
        values = [p[f"{self.form}_{at}"] for at in range(len(self.pairs))]
        if self.form == "cov":
            return values
        return [squared(value, *pair) for value, pair in zip(values, self.pairs, strict=True)]

    def _bases(self, covs: Sequence[DimTensor], constant: bool = True) -> list[_Basis]:
        """Return the eigenvectors and eigenvalues of the covariances."""
        bases = []
        for cov, (row, col) in zip(covs, self.pairs, strict=True):
            taken = stop_gradient(cov) if constant else cov
            found = eigh(taken, [row, col], dim=f"{row._short} eigen")
            (dim,) = [d for d in found.eigenvalues.dims if d not in cov.dims]
            bases.append(_Basis(found.eigenvectors, row, dim, found.eigenvalues))
        return bases

    @staticmethod
    def _noise(p: Any) -> Any:
        return square(p["sigma"]) if "sigma" in p else 0.0

    def _times(self, a: DimTensor, p: Any) -> DimTensor:
        """Multiply by the covariance of all elements, with noise."""
        found = a
        for cov, (row, col) in zip(self._covs(p), self.pairs, strict=True):
            found = dot(found, cov, dim=[row]).relabel(col, row)
        return found + self._noise(p) * a

    def _solved(self, x: DimTensor, p: Any) -> DimTensor:
        """Solve equations with the covariance of all elements, with noise."""
        if "sigma" not in p:
            for factor, (row, col) in zip(self._factors(), self.pairs, strict=True):
                z = solve_triangular(factor, x, [row, col])
                x = solve_triangular(factor, z, [col, row], lower=False)
            return x
        inverse = self._inverse(p, self._bases(self._covs(p)))
        a = inverse(stop_gradient(x))
        return a + inverse(x - self._times(a, p))

    def _inverse(self, p: Any, bases: Sequence[_Basis]) -> Callable[[DimTensor], DimTensor]:
        """Return the product with the inverse covariance of all elements, which is constant."""
        fixed = _product([basis.values for basis in bases]) + stop_gradient(square(p["sigma"]))

        def inverse(r: DimTensor) -> DimTensor:
            r = _through(r, [(basis.vectors, basis.row) for basis in bases])
            return _through(r / fixed, [(basis.vectors, basis.dim) for basis in bases])

        return inverse

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Matheron's rule, as of MvNormal, with one matrix for each dim."""
        p, rows = self._values, [row for row, _ in self.pairs]
        if not set(given.at) <= set(rows):
            raise refusal(self, given)
        at = {row: list(positions) for row, positions in given.at.items()}
        across, blocks = [], []
        known: Any = True
        for cov, (row, col) in zip(self._covs(p), self.pairs, strict=True):
            block = cov
            if row in at:
                known = known & arange(row).isin(at[row])
                block = cov.isel({row: at[row]})
                (here,) = without(block.dims, cov.dims)
                cov = cov.isel({col: at[row]})
                (there,) = without(cov.dims, (row, *block.dims))
                block = block.isel({col: at[row]}).relabel(there, here.rename())
                cov = cov.relabel(there, here.rename())
            blocks.append(block)
            across.append(cov)
        part = KroneckerNormal(0.0, blocks, sigma=p.get("sigma"))

        def of_known(error: DimTensor) -> DimTensor:
            found = part._solved(error.isel(at), part._values)
            for cov, (row, col) in zip(across, part.pairs, strict=True):
                found = dot(cov, found.relabel(row, col), dim=[col])
            return found

        drawn, rng = self.draw(rng, dims)
        return where(known, given.values, drawn + of_known(given.values - drawn)), rng

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

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        p, whole = self._values, self._draw_dims(dims)
        hidden = dict(self.pairs)
        value, rng = rng.normal(0.0, 1.0, dims=[hidden.get(dim, dim) for dim in whole])
        for factor, (_, col) in zip(self._factors(), self.pairs, strict=True):
            value = dot(factor, value, dim=[col])
        value = p["mu"] + value
        if "sigma" in p:
            noise, rng = rng.normal(0.0, 1.0, dims=whole)
            value = value + p["sigma"] * noise
        return value, rng
