"""The mode of a log density, and the normal distribution that fits it there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.errors import CheckError, ModelWarning, listing, warn
from dimtensor.model.inference.starts import not_finite_message

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# A point is a maximum if a Newton step from it gains less than this.
_GAIN = 1e-5
_STEPS = 10_000
# Products with the Hessian that compute the gain.
_PRODUCTS = 50
# Penalty of a point that is not finite.
_WALL = 10.0
# Curvature relative to the largest below which it is rounding of finite differences.
_CURVED = 1e-9
# Distance from the start by which the search leaves a saddle, such as zero for all factors.
_ASIDE = 0.01


class Mode(NamedTuple):
    """Maximum of a log density.

    Attributes
    ----------
    vector : ndarray
    value : float
        The log density there.
    evaluations : int
        Of value and gradient together.
    converged : bool
    message : str
        SciPy's.
    seconds : float
    """

    vector: np.ndarray
    value: float
    evaluations: int
    converged: bool
    message: str
    seconds: float


class _Climb:
    """Objective of the optimizer: minus the log density, and its gradient.

    Outside of the finite region it is a bowl around the last finite point, so that a line search
    comes back.
    """

    def __init__(self, density: LogDensity):
        self.density = density
        self.point: np.ndarray
        self.value: float

    def visit(self, x: np.ndarray) -> np.ndarray | None:
        """Compute the gradient and store the point; None if something is not finite."""
        try:
            value, gradient = self.density.logp_and_grad(x)
        except CheckError:
            return None
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return None
        self.point, self.value = x.copy(), -value
        return -gradient

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = self.visit(x)
        if gradient is not None:
            return self.value, gradient
        rise, away = _WALL * max(1.0, abs(self.value)), x - self.point
        return self.value + rise, 2 * rise * away / max(float(away @ away), 1e-300)


def find_mode(density: LogDensity, start: np.ndarray, what: str = "mode") -> Mode:
    """Maximize a log density by L-BFGS, from close to a start.

    A start at which unknowns are exchangeable, or factors of a product are all zero, is often on
    the way to a saddle. The search begins beside it, at the same point in each call.

    Raises
    ------
    CheckError
        If the log density is not finite at the start.

    Warns
    -----
    ModelWarning
        If no maximum is found.

    References
    ----------
    Liu and Nocedal 1989, "On the limited memory BFGS method for large scale optimization",
    Mathematical Programming 45, as SciPy has it.
    """
    from scipy.optimize import minimize

    climb = _Climb(density)
    if climb.visit(start) is None:
        where = "where the search for the mode starts"
        try:
            value, gradient = density.logp_and_grad(start)
        except CheckError as error:
            text = f"{what}: a check of the log density fails {where}"
            hint = "start elsewhere with initial={...}"
            raise CheckError(text, [("there", str(error))], hint) from error
        raise CheckError(not_finite_message(density, start, where, value, gradient, method=what))
    began = time.perf_counter()
    beside = start + _ASIDE * np.random.default_rng(0).uniform(-1.0, 1.0, start.shape)
    start = start if climb.visit(beside) is None else beside
    options = {"maxiter": _STEPS, "maxfun": 10 * _STEPS, "ftol": 1e-14, "gtol": 1e-8, "maxcor": 20}
    found = minimize(climb, start, jac=True, method="L-BFGS-B", options=options)
    value, gradient = density.logp_and_grad(found.x) if found.x.size else (-found.fun, found.x)
    # what Newton's step gains in each element, by the curvature that the search has seen
    gains = gradient * found.hess_inv.dot(gradient) if found.x.size else gradient
    converged = bool(np.isfinite(found.fun))
    if converged and not gains.sum() < _GAIN:
        # of directions that the search has not seen it knows a common curvature only
        converged = _newton_gain(density, found.x, gradient, found.hess_inv.dot) < _GAIN
    if not converged:
        names = listing([density.names[at] for at in np.argsort(-gains) if gains[at] > _GAIN])
        warn(
            f"{what}: the search for the mode did not end at a maximum",
            ModelWarning,
            [("reason", found.message), ("elements with a slope", names)],
            hint=(
                "the density may have no maximum, as that of a spread and its effects has none; "
                "try fit.noncentered(...), or start elsewhere with initial={...}"
            ),
        )
    seconds = time.perf_counter() - began
    return Mode(found.x, float(value), int(found.nfev), converged, str(found.message), seconds)


def _newton_gain(
    density: LogDensity,
    x: np.ndarray,
    gradient: np.ndarray,
    precondition: Callable[[np.ndarray], np.ndarray],
) -> float:
    """Compute twice the gain of a Newton step by conjugate gradients; inf where there is none.

    Products with the Hessian are central differences of gradients.

    References
    ----------
    Nocedal and Wright 2006, "Numerical Optimization", algorithm 5.3.
    """
    rest, step = gradient, np.zeros_like(gradient)
    direction = scaled = precondition(rest)
    for _ in range(_PRODUCTS):
        remaining = rest @ scaled
        if not remaining >= _GAIN / 10:
            break
        size = np.cbrt(np.finfo(float).eps) / np.linalg.norm(direction)
        try:
            ends = [density.logp_and_grad(x + side * size * direction)[1] for side in (1, -1)]
        except CheckError:
            return np.inf
        product = (ends[1] - ends[0]) / (2 * size)
        curvature = direction @ product
        if not curvature > 0:
            return np.inf
        length = remaining / curvature
        step, rest = step + length * direction, rest - length * product
        scaled = precondition(rest)
        direction = scaled + (rest @ scaled) / remaining * direction
    return float(gradient @ step + rest @ scaled)


class Normal(NamedTuple):
    """A normal distribution of flat vectors.

    Attributes
    ----------
    mean : ndarray
    factor : ndarray
        Lower triangle: the product with its transpose is the precision.
    log_evidence : float
        Logarithm of the integral of the density, by this approximation.
    """

    mean: np.ndarray
    factor: np.ndarray
    log_evidence: float

    def draw(self, draws: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw vectors, and compute their log densities under the approximation."""
        from scipy.linalg import solve_triangular

        z = np.random.default_rng(seed).normal(size=(draws, len(self.mean)))
        vectors = self.mean + solve_triangular(self.factor, z.T, lower=True, trans="T").T
        log_det = np.log(np.diag(self.factor)).sum()
        log_q = -0.5 * (z**2).sum(axis=1) - 0.5 * len(self.mean) * np.log(2 * np.pi) + log_det
        return vectors, log_q


def normal_at(density: LogDensity, mode: Mode) -> Normal:
    """Compute Laplace's approximation: the precision is minus the Hessian at the mode.

    The Hessian is a central difference of exact gradients.

    Raises
    ------
    CheckError
        If the log density is flat or rises along a direction: no normal distribution fits.

    References
    ----------
    Tierney and Kadane 1986, "Accurate approximations for posterior moments and marginal densities",
    Journal of the American Statistical Association 81, section 2.
    """
    x = mode.vector
    size = len(x)
    steps = np.cbrt(np.finfo(float).eps) * np.maximum(abs(x), 1.0)
    hessian = np.empty((size, size))
    for at, step in enumerate(steps):
        above, below = x.copy(), x.copy()
        above[at] += step
        below[at] -= step
        difference = density.logp_and_grad(above)[1] - density.logp_and_grad(below)[1]
        hessian[at] = difference / (above[at] - below[at])
    precision = -(hessian + hessian.T) / 2
    values, vectors = np.linalg.eigh(precision)
    if size and not values[0] > _CURVED * values[-1]:
        flat = mode.converged and abs(values[0]) <= _CURVED * abs(values[-1])
        raise _no_normal(density, flat, float(-values[0]), vectors[:, 0])
    factor = np.linalg.cholesky(precision)
    log_det = 2 * np.log(np.diag(factor)).sum()
    evidence = mode.value + 0.5 * size * np.log(2 * np.pi) - 0.5 * log_det
    return Normal(x, factor, float(evidence))


def _no_normal(
    density: LogDensity, flat: bool, curvature: float, direction: np.ndarray
) -> CheckError:
    """Return the error that names the direction in which the log density is flat or rises."""
    elements = [density.names[at] for at in np.argsort(-abs(direction))[:3]]
    if flat:
        return CheckError(
            "laplace: the log density is flat along a direction at its mode, so that no normal "
            "distribution fits",
            [("elements along it", listing(elements))],
            "neither data nor priors tell them apart: give them a narrower prior, or leave one out",
        )
    return CheckError(
        "laplace: the search ended at no maximum: along a direction the log density does not "
        "curve downwards, so that no normal distribution fits",
        [
            ("elements along it", listing(elements)),
            ("its second derivative", f"{curvature:.3g}"),
        ],
        "another parametrization may have a maximum, fit.noncentered(...), or another start, "
        "initial={...}; sampling needs none",
    )
