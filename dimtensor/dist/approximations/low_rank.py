"""Normal vectors whose covariance is of low rank, but for a variance of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.supports import real
from dimtensor.errors import OptionError
from dimtensor.tensor.constructors import arange, eye
from dimtensor.tensor.elementwise import log, sqrt, square, where
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

_JITTER = 1e-6


class LowRankNormal(VectorDistribution, state=("row", "basis", "_is_singular")):
    """Normal vector mu + features · (scale · z) + noise, of a few standard normal numbers z.

    Densities and conditional draws cost n m² for n elements and m numbers (matrix inversion lemma;
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, A.3).

    Parameters
    ----------
    name : str
    row, basis : Dim
        Dims of the elements and of the numbers z.
    mu, features, scale, variance : TensorLike
        Features are over both dims, scales over `basis` or neither; the variance of the noise may
        be over `row`.
    singular : bool
        Whether the noise is for numerical stability only: the noncentered form has none.
    """

    def __init__(
        self,
        name: str,
        row: Dim,
        basis: Dim,
        mu: TensorLike,
        features: TensorLike,
        scale: TensorLike,
        variance: TensorLike,
        singular: bool,
        **more: TensorLike,
    ):
        self.row, self.basis, self._is_singular = row, basis, singular
        given = {"mu": (mu, "real"), "features": (features, "real"), "scale": (scale, "real"),
                 "variance": (variance, "not negative")}  # fmt: skip
        given |= {key: (value, "real") for key, value in more.items()}
        super().__init__(name, given, (row,), real, (basis,), {"scale": ()})

    def _of_numbers(self, z: Any) -> DimTensor:
        """Multiply numbers along the basis by scales and features."""
        p = self._values
        return dot(p["features"], p["scale"] * z, dim=[self.basis])

    def _from_rows(self, x: Any, p: dict[str, DimTensor]) -> DimTensor:
        """Multiply values along the rows by the transposed features, and by the scales."""
        return p["scale"] * dot(p["features"], x, dim=[self.row])

    def _capacitance(self, weight: Any, p: dict[str, DimTensor]) -> tuple[DimTensor, Dim]:
        """Return the Cholesky factor of 1 + Fᵀ W F, F scaled features, and the dim of its columns.

        Products of features alone stay the same where parameters change, so that they are outside
        of the weight if it is the same for all elements.
        """
        own, other = p["features"], self.basis.rename()
        right = own.relabel(self.basis, other)
        if self.row in weight.dims:
            product = dot(own * weight, right, dim=[self.row])
        else:
            product = weight * dot(own, right, dim=[self.row])
        scale = p["scale"]
        if self.basis in scale.dims:
            product = scale * product * scale.relabel(self.basis, other)
        else:
            product = square(scale) * product
        return cholesky(product + eye(self.basis, other), [self.basis, other]), other

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        weight, n = 1.0 / p["variance"], count_of((self.row,))
        apart = x - p["mu"]
        factor, other = self._capacitance(weight, p)
        pair = [self.basis, other]
        within = solve_triangular(factor, self._from_rows(weight * apart, p), pair)
        distance = (weight * square(apart)).sum(self.row) - square(within).sum(other)
        logs = log(p["variance"])
        total = logs.sum(self.row) if self.row in logs.dims else n * logs
        half_log = 0.5 * total + log(diagonal(factor, pair)).sum(self.basis)
        return -0.5 * distance - half_log - HALF_LOG_2PI * n

    def mean(self) -> DimTensor:
        return self._values["mu"] + 0.0 * self.variance()

    def variance(self) -> DimTensor:
        p = self._values
        own = square(p["features"] * p["scale"]).sum(self.basis)
        return own + p["variance"] + self._lacking() + 0.0 * p["mu"]

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        _, value, rng = self._drawn(rng, dims, False)
        return value, rng

    def _lacking(self) -> Any:
        """Variance of elements that densities take no account of."""
        return 0.0

    def _drawn(self, rng: Any, dims: DimsLike, known: Any) -> tuple[DimTensor, DimTensor, Any]:
        """Draw the numbers z and the elements, of which some are known."""
        whole, p = self._draw_dims(dims), self._values
        z, rng = rng.normal(0.0, 1.0, dims=[*without(whole, [self.row]), self.basis])
        noise, rng = rng.normal(0.0, 1.0, dims=whole)
        variance = p["variance"] + where(known, 0.0, self._lacking())
        return z, p["mu"] + self._of_numbers(z) + sqrt(variance) * noise, rng

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Move a draw of the numbers z by what its known elements lack (Matheron's rule)."""
        if set(given.at) != {self.row}:
            raise refusal(self, given)
        p = self._values
        known = arange(self.row).isin(list(given.at[self.row]))
        weight = where(known, 1.0 / p["variance"], 0.0)
        _, value, rng = self._drawn(rng, dims, known)
        factor, other = self._capacitance(weight, p)
        lack = self._from_rows(weight * where(known, given.values - value, 0.0), p)
        within = solve_triangular(factor, lack, [self.basis, other])
        gain = solve_triangular(factor, within, [other, self.basis], lower=False)
        return where(known, given.values, value + self._of_numbers(gain)), rng

    def _placed(self, raw: DimTensor) -> DimTensor:
        """Return the elements without noise, of numbers z."""
        return self._values["mu"] + self._of_numbers(raw)


def variance_of(noise: Any, jitter: Any, what: str) -> tuple[Any, bool]:
    """Return the variance of single elements, and whether it is for stability only.

    Raises
    ------
    OptionError
        If it is zero.
    """
    if noise is None and jitter is None:
        return _JITTER, True
    total = (0.0 if noise is None else square(noise)) + (0.0 if jitter is None else jitter)
    if isinstance(total, (int, float)) and total == 0.0:
        raise OptionError(
            f"{what}: values of a sum of few functions have no density without noise",
            hint="leave jitter out: models sample the weights of the functions",
        )
    return total, False


def stable_variance(noise: Any, jitter: Any) -> Any:
    """Return the variance of single elements: of noise, or else a small one for stability."""
    if noise is None:
        return _JITTER if jitter is None else jitter
    return square(noise) if jitter is None else square(noise) + jitter
