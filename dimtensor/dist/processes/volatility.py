"""Distributions of series whose spread or drift follows from what came before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, without
from dimtensor.dist.distribution import DimsLike, Distribution, PathDistribution
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownPrefix, known_or
from dimtensor.dist.joint.gaussian import MvNormal, MvStudentT
from dimtensor.dist.joint.vectors import VectorDistribution, first_of, later_than, sum_over_first
from dimtensor.dist.modifiers.wrappers import as_distribution
from dimtensor.dist.processes.series import RandomWalk, series_dim
from dimtensor.dist.supports import real
from dimtensor.errors import ArgumentError, DimError
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.control.loops import cumulate
from dimtensor.tensor.elementwise import equal, log, sqrt, square, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class GARCH11(PathDistribution, VectorDistribution, state=("dim",)):
    """Normal elements around 0, whose variance follows from the element before and its variance.

    The variance of the first element is initial_vol², and then
    v_t = omega + alpha_1 x_(t-1)² + beta_1 v_(t-1) (T. Bollerslev, Journal of Econometrics 31,
    307-327, 1986).

    Parameters
    ----------
    omega : DimTensor or number
        Positive.
    alpha_1, beta_1 : DimTensor or number
        0 or above.
    initial_vol : DimTensor or number
        Standard deviation of the first element.
    dim : Dim
        The dim of the series.

    Raises
    ------
    DimError
        If a parameter has the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=3)
    >>> d = dist.GARCH11(0.5, 0.2, 0.5, 1.0, dim=time)
    >>> float(d.logp(dt.zeros(time)).eval().round(4))
    -2.7568
    """

    def __init__(
        self,
        omega: TensorLike,
        alpha_1: TensorLike,
        beta_1: TensorLike,
        initial_vol: TensorLike,
        *,
        dim: Dim,
    ):
        self.dim = series_dim(dim, "GARCH11")
        given = {
            "omega": (omega, "positive"),
            "alpha_1": (alpha_1, "not negative"),
            "beta_1": (beta_1, "not negative"),
            "initial_vol": (initial_vol, "positive"),
        }
        _without_series(given, dim, "GARCH11")
        super().__init__("GARCH11", given, (dim,), real)

    def logp(self, x: TensorLike) -> DimTensor:
        return self._logp_ahead(x).sum(self.dim)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log densities of elements given those before them."""
        x, p = self._with(x)
        before = square(x).shift({self.dim: 1}, fill_value=0.0)
        later = arange(self.dim) > 0
        # with all dims that the state of the loop will have
        start = square(p["initial_vol"]) + 0.0 * (
            p["omega"] + p["alpha_1"] + p["beta_1"] + first_of(before, self.dim)
        )

        def step(variance: Any, xs: Any) -> Any:
            square_before, is_later = xs
            following = p["omega"] + p["alpha_1"] * square_before + p["beta_1"] * variance
            return where(is_later, following, variance)

        variance = cumulate(step, init=start, xs=(before, later), dim=self.dim)
        return -0.5 * (square(x) / variance + log(variance)) - HALF_LOG_2PI

    def mean(self) -> DimTensor:
        return 0.0 * self.variance()

    def variance(self) -> DimTensor:
        p = self._values
        keep = p["alpha_1"] + p["beta_1"]
        start = square(p["initial_vol"]) + 0.0 * (p["omega"] + keep)

        def step(variance: Any, is_later: Any) -> Any:
            return where(is_later, p["omega"] + keep * variance, variance)

        return cumulate(step, init=start, xs=arange(self.dim) > 0, dim=self.dim)

    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        p = self._values
        noise, rng = rng.normal(0.0, 1.0, dims=self._draw_dims(dims))
        zero = 0.0 * (p["omega"] + p["alpha_1"] + p["beta_1"] + first_of(noise, self.dim))
        start = (square(p["initial_vol"]) + zero, zero)

        def step(state: Any, xs: Any) -> Any:
            variance, value = state
            noise, is_later, *known = xs
            following = p["omega"] + p["alpha_1"] * square(value) + p["beta_1"] * variance
            variance = where(is_later, following, variance)
            return variance, known_or(known, sqrt(variance) * noise)

        xs = (noise, arange(self.dim) > 0, *known.along)
        _, values = cumulate(step, init=start, xs=xs, dim=self.dim)
        return values, rng


class EulerMaruyama(PathDistribution, VectorDistribution, state=("dim", "sde", "start", "_names")):
    """A stochastic differential equation in steps of one length.

    The density is that of the first element, times
    Normal(x_(t-1) + drift dt, diffusion √dt) of each of the others (P. E. Kloeden and E. Platen,
    Numerical Solution of Stochastic Differential Equations, 1992, chapter 9).

    Parameters
    ----------
    sde : callable
        ``sde(x, **parameters)`` gives the drift and the diffusion at values.
    dt : DimTensor or number
        The length of a step.
    dim : Dim
        The dim of the series.
    start : Distribution
        Of the first element.
    **parameters : DimTensor or number
        Of the equation.

    Raises
    ------
    DimError
        If a parameter has the dim.
    ArgumentError
        If `sde` is no function.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=3)
    >>> d = dist.EulerMaruyama(
    ...     lambda x, back: (-back * x, 1.0), 1.0, dim=time, start=dist.Normal(0.0, 1.0), back=0.5
    ... )
    >>> float(d.logp(dt.zeros(time)).eval().round(4))
    -2.7568
    """

    def __init__(
        self,
        sde: Callable[..., Any],
        dt: Any,
        *,
        dim: Dim,
        start: Distribution,
        **parameters: TensorLike,
    ):
        if not callable(sde):
            raise ArgumentError(f"EulerMaruyama: sde is a function of a value, not {sde!r}")
        self.dim, self.sde = series_dim(dim, "EulerMaruyama"), sde
        self.start = as_distribution(start, "EulerMaruyama")
        self._names = tuple(parameters)
        given = {"dt": (dt, "positive")}
        given |= {key: (value, "bound") for key, value in parameters.items()}
        _without_series(given, dim, "EulerMaruyama")
        given |= {f"start_{key}": (value, "bound") for key, value in start.parameters.items()}
        super().__init__("EulerMaruyama", given, (dim,), real)

    def _coefficients(self, x: Any, p: Any) -> tuple[Any, Any]:
        drift, diffusion = self.sde(x, **{name: p[name] for name in self._names})
        return drift, diffusion

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        before, after = later_than(x, self.dim, 1, by=1), later_than(x, self.dim, 1)
        drift, diffusion = self._coefficients(before, p)
        sigma = sqrt(p["dt"]) * diffusion
        z = (after - before - p["dt"] * drift) / sigma
        along = [dim for dim in after.dims if dim not in x.dims] or [self.dim]
        # a diffusion without dims counts for every step
        terms = -0.5 * square(z) - log(sigma) - HALF_LOG_2PI
        return sum_over_first(x, self.dim, self.start.logp) + terms.sum(along)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log densities of elements given those before them."""
        x, p = self._with(x)
        before = x.shift({self.dim: 1}, fill_value=0.0)
        drift, diffusion = self._coefficients(before, p)
        sigma = sqrt(p["dt"]) * diffusion
        z = (x - before - p["dt"] * drift) / sigma
        later = -0.5 * square(z) - log(sigma) - HALF_LOG_2PI
        return where(equal(arange(self.dim), 0), self.start.logp(x), later)

    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        p, whole = self._values, self._draw_dims(dims)
        first, rng = known.start(self.start, rng, without(whole, [self.dim, *self.start.dims]), 1)
        noise, rng = rng.normal(0.0, 1.0, dims=whole)

        def step(x: Any, xs: Any) -> Any:
            noise, is_first, *known = xs
            drift, diffusion = self._coefficients(x, p)
            following = x + p["dt"] * drift + sqrt(p["dt"]) * diffusion * noise
            return known_or(known, where(is_first, x, following))

        is_first = equal(arange(self.dim), 0)
        init = first + 0.0 * first_of(noise, self.dim)
        return cumulate(step, init=init, xs=(noise, is_first, *known.along), dim=self.dim), rng


def _without_series(given: dict[str, tuple[Any, str]], dim: Dim, name: str) -> None:
    for key, (value, _) in given.items():
        if dim in getattr(value, "dims", ()):
            raise DimError(f"{name}: {key} has {dim._short}, the dim of the series")


def MvGaussianRandomWalk(
    mu: TensorLike,
    cov: TensorLike | None = None,
    *,
    dim: Dim,
    start: Distribution,
    tau: TensorLike | None = None,
    chol: TensorLike | None = None,
) -> RandomWalk:
    """Make a random walk with multivariate normal steps.

    Parameters
    ----------
    mu : DimTensor or number
        Mean of the steps.
    cov, tau, chol : DimTensor
        One of them: the covariance of the steps, its inverse, or its lower Cholesky factor.
    dim : Dim
    start : Distribution
        Of the first vector.

    Returns
    -------
    RandomWalk

    Raises
    ------
    OptionError
        If not exactly one matrix is given.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time, k = dt.Dim("time", length=2), dt.Dim("k", length=2)
    >>> start = dist.MvNormal(0.0, dt.eye(k))
    >>> d = dist.MvGaussianRandomWalk(0.0, dt.eye(k), dim=time, start=start)
    >>> float(d.logp(dt.zeros([time, k])).eval().round(4))
    -3.6758
    """
    return RandomWalk(MvNormal(mu, cov, tau=tau, chol=chol), dim, start)


def MvStudentTRandomWalk(
    nu: TensorLike,
    mu: TensorLike,
    cov: TensorLike | None = None,
    *,
    dim: Dim,
    start: Distribution,
    tau: TensorLike | None = None,
    chol: TensorLike | None = None,
) -> RandomWalk:
    """Make a random walk with multivariate Student t steps.

    Parameters
    ----------
    nu : DimTensor or number
        Degrees of freedom.
    mu : DimTensor or number
    cov, tau, chol : DimTensor
        One of them: the squared scales of the steps, their inverse, or their lower Cholesky factor.
    dim : Dim
    start : Distribution
        Of the first vector.

    Returns
    -------
    RandomWalk

    Raises
    ------
    OptionError
        If not exactly one matrix is given.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time, k = dt.Dim("time", length=2), dt.Dim("k", length=2)
    >>> start = dist.MvNormal(0.0, dt.eye(k))
    >>> d = dist.MvStudentTRandomWalk(3.0, 0.0, dt.eye(k), dim=time, start=start)
    >>> float(d.logp(dt.zeros([time, k])).eval().round(4))
    -3.6758
    """
    return RandomWalk(MvStudentT(nu, mu, cov, tau=tau, chol=chol), dim, start)
