"""Gaussian processes over time as linear state-space models: densities and draws in linear time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.dist.approximations.hilbert import harmonic_variances, harmonics
from dimtensor.dist.approximations.low_rank import stable_variance
from dimtensor.dist.approximations.ordering import are_in_order, inverse, order_along, taken
from dimtensor.dist.approximations.ranges import range_of
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.processes.approximation import ProcessApproximation
from dimtensor.dist.processes.kernels import (
    CovarianceFunction,
    KernelOn,
    ProductOfKernels,
    ScaledKernel,
    SumOfKernels,
    White,
    places_along,
)
from dimtensor.dist.processes.stationary import (
    Matern12,
    Matern32,
    Matern52,
    Periodic,
)
from dimtensor.dist.spec import parameter_nodes
from dimtensor.dist.supports import real
from dimtensor.errors import DimError, OptionError, printable
from dimtensor.tensor.constructors import arange, full
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import cos, exp, log, sin, sqrt, square, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.contract import dot

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class TransitionTerm(NamedTuple):
    """Part of a transition matrix: a function of the time step times a constant matrix.

    Attributes
    ----------
    factor : callable
        From a time step to a number.
    waves : tuple of (callable, ndarray, DimTensor)
        Cosines or sines of multiples, one per row, of a frequency times the step.
    matrix : ndarray
    """

    factor: Callable[[Any], Any]
    waves: tuple[tuple[Callable[[Any], Any], np.ndarray, Any], ...]
    matrix: np.ndarray


class LinearModel(NamedTuple):
    """Stationary linear state-space model of a kernel.

    Attributes
    ----------
    terms : list of TransitionTerm
        Their sum is the transition matrix.
    covariance : list of (DimTensor, ndarray)
        Numbers and constant matrices, whose sum is the covariance of a state.
    read : ndarray
        The value of the process is the scalar product of this and the state.
    white : DimTensor or number
        Variance of noise that each element has of its own.
    """

    terms: list[TransitionTerm]
    covariance: list[tuple[Any, np.ndarray]]
    read: np.ndarray
    white: Any


# states are derivatives in units of the decay rate, so that matrices are constants
_NILPOTENT = {
    Matern12: np.zeros((1, 1)),
    Matern32: np.array([[1.0, 1.0], [-1.0, -1.0]]),
    Matern52: np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [-1.0, -3.0, -2.0]]),
}
_COVARIANCE = {
    Matern12: np.eye(1),
    Matern32: np.eye(2),
    Matern52: np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
}


def linear_model(kernel: Any, waves: int | None = None) -> LinearModel:
    """Return the state-space model of a kernel.

    Matérn kernels: J. Hartikainen and S. Särkkä, IEEE International Workshop on Machine Learning
    for Signal Processing, 2010; periodic ones and products: A. Solin and S. Särkkä, Proceedings of
    Machine Learning Research 33, 904-912, 2014.

    Raises
    ------
    OptionError
        If it has none.
    """
    if isinstance(kernel, ScaledKernel):
        of = linear_model(kernel.kernel, waves)
        scaled = [(kernel.variance * number, matrix) for number, matrix in of.covariance]
        return of._replace(covariance=scaled, white=kernel.variance * of.white)
    if isinstance(kernel, KernelOn):
        return linear_model(kernel.kernel, waves)
    if isinstance(kernel, ProductOfKernels):
        return _product(*(linear_model(part, waves) for part in kernel.parts))
    if isinstance(kernel, SumOfKernels):
        return _sum(*(linear_model(part, waves) for part in kernel.parts))
    if isinstance(kernel, White):
        empty = np.zeros((0, 0))
        return LinearModel([], [(1.0, empty)], np.zeros(0), kernel.variance)
    if isinstance(kernel, Periodic):
        return _periodic(kernel, waves)
    if type(kernel) in _NILPOTENT:
        return _matern(kernel)
    raise OptionError(
        f"StateSpace: {kernel!r} is no state-space model",
        hint="Matérn and periodic kernels are, and their sums and products; squared exponential "
        "kernels have approximation=dt.gp.HSGP()",
    )


def _matern(kernel: Any) -> LinearModel:
    """Return exp(F t) = exp(-s) Σ N^k s^k / k! with s = √(2ν) t / ℓ and N = F / rate + 1."""
    nilpotent = _NILPOTENT[type(kernel)]
    size = len(nilpotent)
    rate = math.sqrt(2 * size - 1) / kernel._values["lengthscale"]

    def factor(k: int) -> Callable[[Any], Any]:
        return lambda gap: exp(-rate * gap) * (rate * gap) ** k if k else exp(-rate * gap)

    powers = [np.linalg.matrix_power(nilpotent, k) / math.factorial(k) for k in range(size)]
    terms = [TransitionTerm(factor(k), (), power) for k, power in enumerate(powers)]
    return LinearModel(terms, [(1.0, _COVARIANCE[type(kernel)])], np.eye(size)[0], 0.0)


def _periodic(kernel: Periodic, waves: int | None) -> LinearModel:
    """Return oscillators at multiples of the frequency; variances are Fourier coefficients."""
    low, high = range_of(kernel._values["lengthscale"]) or (1.0, 2.0)
    count = waves or harmonics(low, 1e-12 if low == high else 1e-3)
    order = np.array([0.0, *np.repeat(np.arange(1.0, count + 1), 2)])
    size = len(order)
    turn = np.zeros((size, size))
    for at in range(1, size, 2):
        turn[at, at + 1], turn[at + 1, at] = -1.0, 1.0
    frequency = 2.0 * np.pi / kernel._values["period"]
    terms = [
        TransitionTerm(lambda gap: 1.0, ((cos, order, frequency),), np.eye(size)),
        TransitionTerm(lambda gap: 1.0, ((sin, order, frequency),), turn),
    ]
    number = Dim(length=count + 1)
    variances = harmonic_variances(kernel._values["lengthscale"], np.arange(count + 1), number)
    parts = [(variances.isel({number: j}), np.diag(1.0 * (order == j))) for j in range(count + 1)]
    read = np.array([1.0, *np.tile([1.0, 0.0], count)])
    return LinearModel(terms, parts, read, 0.0)


def _sum(one: LinearModel, other: LinearModel) -> LinearModel:
    m, n = len(one.read), len(other.read)

    def below(x: np.ndarray) -> np.ndarray:
        return np.pad(x, [(0, n)] * x.ndim)

    def above(x: np.ndarray) -> np.ndarray:
        return np.pad(x, [(m, 0)] * x.ndim)

    terms, covariance = [], []
    for model, padded in ((one, below), (other, above)):
        for term in model.terms:
            waves = tuple((f, padded(order), rate) for f, order, rate in term.waves)
            terms.append(TransitionTerm(term.factor, waves, padded(term.matrix)))
        covariance += [(number, padded(matrix)) for number, matrix in model.covariance]
    read = np.concatenate([one.read, other.read])
    return LinearModel(terms, covariance, read, one.white + other.white)


def _product(one: LinearModel, other: LinearModel) -> LinearModel:
    m, n = len(one.read), len(other.read)
    if not (m and n) or any(not isinstance(x.white, float) for x in (one, other)):
        raise OptionError("StateSpace: white noise is added to kernels, not multiplied")

    def both(a: TransitionTerm, b: TransitionTerm) -> TransitionTerm:
        waves = [(f, np.repeat(order, n), rate) for f, order, rate in a.waves]
        waves += [(f, np.tile(order, m), rate) for f, order, rate in b.waves]
        return TransitionTerm(
            lambda gap: a.factor(gap) * b.factor(gap), tuple(waves), np.kron(a.matrix, b.matrix)
        )

    terms = [both(a, b) for a in one.terms for b in other.terms]
    covariance = [(p * q, np.kron(a, b)) for p, a in one.covariance for q, b in other.covariance]
    return LinearModel(terms, covariance, np.kron(one.read, other.read), 0.0)


class StateSpace(ProcessApproximation):
    """Linear state-space form of a process over time: exact, and linear in the number of points.

    For Matérn kernels, their sums and products, also with periodic kernels, of points that are one
    number each, such as dates: in any order, unequally spaced, and some of them the same. A
    periodic kernel is the sum of its first Fourier coefficients. Along a ragged dim there is a
    process for each parent.

    Parameters
    ----------
    waves : int, optional
        Number of multiples of the frequency of periodic kernels. By default as many as a known
        length scale needs for 12 digits, or the low end of the central 80% of its prior (or else a
        length scale of 1) for 3 digits.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> day = dt.date_range("day", "2026-01-01", periods=3, freq="30D")
    >>> d = dist.GP(dt.gp.Matern32("60D"), day, approximation=dt.gp.StateSpace())
    >>> float(d.logp(dt.zeros(day)).eval().round(4))
    -1.736
    """

    _is_per_parent = True

    def __init__(self, waves: int | None = None):
        if waves is not None and (not isinstance(waves, int) or waves < 1):
            raise OptionError(f"StateSpace: waves is a positive integer, not {waves!r}")
        self.waves = waves

    @printable
    def __repr__(self) -> str:
        return f"StateSpace({'' if self.waves is None else f'waves={self.waves}'})"

    def _process(
        self, kernel: Any, dim: Dim, points: Any, mean: Any, noise: Any, jitter: Any
    ) -> StateSpaceNormal:
        """Return the distribution of the values at points."""
        if other := without(points.dims, [dim]):
            raise DimError(
                f"StateSpace: points along {dim._short} are of one number each, and have "
                f"{other[0]._short}, too",
                hint="for points of several numbers: approximation=dt.gp.HSGP()",
            )
        variance = stable_variance(noise, jitter)
        return StateSpaceNormal(kernel, dim, points, mean, variance, self.waves)


class StateSpaceNormal(VectorDistribution, state=("kernel", "row", "waves")):
    """Values of a Gaussian process along a dim, whose kernel is a state-space model.

    The Kalman filter gives the distribution of each value conditional on those before it. States'
    covariances are carried as differences from the stationary one, which has the process noise.
    Along a ragged dim the filter starts anew for each parent.
    """

    _is_per_parent = True

    def __init__(
        self,
        kernel: CovarianceFunction,
        row: Dim,
        points: TensorLike,
        mu: TensorLike,
        variance: TensorLike,
        waves: int | None,
    ):
        self.kernel, self.row, self.waves = kernel, row, waves
        linear_model(kernel, waves)
        given = {"points": (points, "real"), "mu": (mu, "real"),
                 "variance": (variance, "not negative")}  # fmt: skip
        own = {f"kernel_{at}": (wrap(x), "real") for at, x in enumerate(parameter_nodes(kernel))}
        super().__init__("StateSpaceGP", {**given, **own}, (row,), real)

    # -- filter ------------------------------------------------------------------------------------

    def _in_order(self, *values: Any) -> tuple[list[Any], Any]:
        """Sort values by the points, unless they are known to be in order; return the positions."""
        points = self._values["points"]
        node = points.node
        if node.kind == "data" and (node.name is None or node.attrs.recipe is not None):
            if are_in_order(node.attrs.values, self.row):
                return list(values), None
        order = order_along(points, self.row)
        return [self._at(x, order) for x in values], order

    def _at(self, x: Any, order: Any) -> Any:
        return x if order is None or self.row not in x.dims else taken(x, self.row, order)

    def _back(self, x: Any, order: Any) -> Any:
        """Undo :meth:`_in_order`."""
        return x if order is None else taken(x, self.row, inverse(order))

    def _gaps(self, order: Any) -> Any:
        points = self._at(self._values["points"], order)
        before = points.shift({self.row: 1}, fill_value=0.0)
        return where(arange(self.row) < 1, 0.0, points - before)

    def _filtered(
        self, xs: Any, order: Any, gaps: Any, update: Callable[..., Any], dims: Dims
    ) -> Any:
        """Run the Kalman filter, and return the outputs of `update` along the dim.

        Parameters
        ----------
        update : callable
            Of the element of `xs`, the expected value, its variance, and its covariances with the
            state.
        dims : tuple of Dim
            Of the means of states.
        """
        model = linear_model(self.kernel, self.waves)
        state, other, inner = self._dims(model)
        read = data(model.read, dims=state)
        stationary: Any = 0.0
        for number, matrix in model.covariance:
            stationary = stationary + number * data(matrix, dims=[state, other])
        noise = self._at(self._values["variance"] + model.white, order)

        def step(carried: Any, given: Any) -> Any:
            (mean, below), (x, gap, noise) = carried, given
            move = transition(model, gap, state, other)
            mean = dot(move, mean.relabel(state, other), dim=[other])
            half = dot(move, below.relabel(other, inner).relabel(state, other), dim=[other])
            across = move.relabel(other, inner).relabel(state, other)
            below = dot(half, across, dim=[inner])
            shared = dot(stationary + below, read.relabel(state, other), dim=[other])
            total = (read * shared).sum(state) + noise
            error, weight, kept = update(x, (read * mean).sum(state), total, shared)
            mean = mean + shared * (weight * error / total)
            below = below - weight / total * shared * shared.relabel(state, other)
            return (mean, below), kept

        zero = self._zeros(noise, gaps, stationary, xs, dims, state, other)
        return scan(step, zero, (xs, gaps, noise + 0.0 * gaps), self.row)[1]

    def _zeros(
        self, noise: Any, gaps: Any, stationary: Any, xs: Any, dims: Dims, state: Dim, other: Dim
    ) -> Any:
        pair = [state, other]
        kernel = [dim for node in parameter_nodes(self.kernel) for dim in node.dims]
        own = dict.fromkeys((*noise.dims, *gaps.dims, *stationary.dims, *kernel))
        batch = without(tuple(own), [self.row, *pair])
        return (
            full(sort_dims(dict.fromkeys((*without(dims, [self.row]), *batch, state))), 0.0),
            full(sort_dims((*batch, *pair)), 0.0),
        )

    def _dims(self, model: LinearModel) -> tuple[Dim, Dim, Dim]:
        state = Dim(f"{self.row._short} state", length=len(model.read))
        return state, state.rename(), state.rename(f"{state._short} inner")

    # -- the distribution --------------------------------------------------------------------------

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        (apart,), order = self._in_order(x - p["mu"])

        def update(x: Any, expected: Any, total: Any, shared: Any) -> Any:
            error = x - expected
            return error, 1.0, (error, total)

        errors, totals = self._filtered(apart, order, self._gaps(order), update, apart.dims)
        terms = log(totals) + square(errors) / totals
        return -0.5 * terms.sum(self.row) - HALF_LOG_2PI * count_of((self.row,))

    def mean(self) -> DimTensor:
        return self._values["mu"] + 0.0 * self.variance()

    def variance(self) -> DimTensor:
        model = linear_model(self.kernel, self.waves)
        total = self._values["variance"] + model.white
        for number, matrix in model.covariance:
            total = total + number * float(model.read @ matrix @ model.read)
        return total + 0.0 * self._values["points"] + 0.0 * self._values["mu"]

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        z, rng = rng.normal(0.0, 1.0, dims=self._draw_dims(dims))
        return self._placed(z), rng

    def _placed(self, raw: DimTensor) -> DimTensor:
        """Return the elements of standard normal numbers, as the Cholesky factor does."""
        (z,), order = self._in_order(raw)

        def update(z: Any, expected: Any, total: Any, shared: Any) -> Any:
            error = sqrt(total) * z
            return error, 1.0, expected + error

        found = self._filtered(z, order, self._gaps(order), update, z.dims)
        return self._values["mu"] + self._back(found, order)

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Move a draw by what its known elements lack, smoothed (Matheron's rule).

        The smoothed mean: J. Durbin and S. J. Koopman, Biometrika 89, 603-616, 2002.
        """
        if set(given.at) != {self.row}:
            raise refusal(self, given)
        known = places_along(self.row).isin(list(given.at[self.row]))
        drawn, rng = self.draw(rng, dims)
        lack = where(known, given.values - drawn, 0.0)
        moved = drawn + self._smoothed(lack, known)
        return where(known, given.values, moved), rng

    def _smoothed(self, x: DimTensor, known: DimTensor) -> DimTensor:
        """Return the expected values of the process conditional on known elements."""
        (x, seen), order = self._in_order(x, 1.0 * known)
        gaps = self._gaps(order)

        def update(x: Any, expected: Any, total: Any, shared: Any) -> Any:
            value, weight = x
            error = value - expected
            return error, weight, (expected, error, total, shared)

        kept = self._filtered((x, seen), order, gaps, update, x.dims)
        expected, errors, totals, shared = kept
        model = linear_model(self.kernel, self.waves)
        state, other, _ = self._dims(model)
        read = data(model.read, dims=state)

        def step(later: Any, given: Any) -> Any:
            error, total, shared, weight, gap = given
            gain = weight * (error - (shared * later).sum(state)) / total
            later = later + read * gain
            move = transition(model, gap, state, other)
            before = dot(move, later, dim=[state]).relabel(other, state)
            return before, (shared * later).sum(state)

        start = full(sort_dims((*without(errors.dims, [self.row]), state)), 0.0)
        xs = (errors, totals, shared, seen, gaps)
        change = scan(step, start, xs, self.row, reverse=True)[1]
        return self._back(expected + change, order)


def transition(model: LinearModel, gap: Any, state: Dim, other: Dim) -> Any:
    """Return the transition matrix of a time step."""
    total: Any = 0.0
    for term in model.terms:
        factor = term.factor(gap)
        for function, order, frequency in term.waves:
            factor = factor * function(data(order, dims=state) * (frequency * gap))
        total = total + factor * data(term.matrix, dims=[state, other])
    return total
