"""Hilbert-space approximation of Gaussian processes: sums of sines with independent weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, without
from dimtensor.dist.approximations.low_rank import LowRankNormal, variance_of
from dimtensor.dist.approximations.ranges import as_pair, range_of
from dimtensor.dist.processes.approximation import ProcessApproximation
from dimtensor.dist.processes.kernels import (
    KernelOn,
    Linear,
    ScaledKernel,
    SumOfKernels,
    WarpedKernel,
)
from dimtensor.dist.processes.stationary import (
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    SquaredExponential,
)
from dimtensor.errors import DimError, ModelWarning, OptionError, printable, warn
from dimtensor.tensor.check import check
from dimtensor.tensor.elementwise import cos, exp, log, maximum, sin, sqrt
from dimtensor.tensor.handle import TensorHandle
from dimtensor.tensor.inputs import data
from dimtensor.tensor.joining import concat

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# orders of smoothness; infinite for the squared exponential kernel
ORDERS = {Matern12: 0.5, Matern32: 1.5, Matern52: 2.5, SquaredExponential: math.inf}
_AIM, _BAD = 0.01, 0.05  # errors of covariances, as parts of the variance
_MANY = 20_000


class HSGP(ProcessApproximation):
    r"""Hilbert-space approximation: a sum of sines and cosines with independent normal weights.

    On the interval of half length L around the points the process is
    :math:`\sum_j \sqrt{S(\omega_j)} \phi_j(x) z_j` with
    :math:`\phi_j(x) = \sin(\omega_j (x + L)) / \sqrt{L}`, :math:`\omega_j = \pi j / (2 L)` and the
    spectral density S of the kernel (A. Solin and S. Särkkä, Statistics and Computing 30, 419-446,
    2020; G. Riutort-Mayol and others, Statistics and Computing 33, 17, 2023). Of points of several
    numbers the functions are products over these. Kernels are squared exponential, Matérn, periodic
    (by their own Fourier series) and linear, scaled and added.

    Models sample the weights z, as many as basis functions, without being told to.

    Parameters
    ----------
    basis : int or dict, optional
        Number of basis functions; of points of several numbers, for each of these, or by their
        label. By default as many as the least length scale needs: the covariances are right up to
        1% of the variance.
    boundary : float or dict, optional
        Half length L of the interval in half ranges of the points; above 1. By default as the
        largest length scale needs.
    domain : tuple or dict, optional
        Lowest and highest point, predictions included. By default of the points that are known.
    lengthscale : tuple, optional
        Least and largest length scale that matter, for the choice of `basis` and `boundary`. By
        default the length scale itself or the central 80% of its prior.

    Warns
    -----
    ModelWarning
        If covariances may be wrong by more than 5% of the variance.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> place = dt.Dim("place", coords=[0.0, 0.5, 1.0, 2.0])
    >>> kernel = dt.gp.Matern52(1.0)
    >>> d = dist.GP(kernel, place, approximation=dt.gp.HSGP(basis=40, boundary=3.5))
    >>> d.variance().eval().values.round(2).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        basis: int | Mapping[Any, int] | None = None,
        boundary: float | Mapping[Any, float] | None = None,
        *,
        domain: Any = None,
        lengthscale: Any = None,
    ):
        self.basis, self.boundary, self.domain = basis, boundary, domain
        self.lengthscale = None if lengthscale is None else as_pair(lengthscale, "lengthscale")
        for name, given, allowed in (
            ("basis", basis, lambda x: isinstance(x, int) and not isinstance(x, bool) and x > 0),
            ("boundary", boundary, lambda x: isinstance(x, (int, float)) and x > 1.0),
        ):
            values = given.values() if isinstance(given, Mapping) else [given]
            for value in values:
                if value is not None and not allowed(value):
                    spoken = "a positive integer" if name == "basis" else "above 1"
                    raise OptionError(f"HSGP: {name} is {spoken}, not {value!r}")

    @printable
    def __repr__(self) -> str:
        given = {key: x for key, x in vars(self).items() if x is not None}
        return f"HSGP({', '.join(f'{key}={x!r}' for key, x in given.items())})"

    def _process(
        self, kernel: Any, dim: Dim, points: Any, mean: Any, noise: Any, jitter: Any
    ) -> LowRankNormal:
        """Return the distribution of the values at points."""
        blocks = [self._block(x, terms, dim) for x, terms in _by_points(kernel, points, dim)]
        features, scales, along = zip(*blocks, strict=True)
        basis = along[0]
        if len(blocks) > 1:
            name = f"{dim._short} basis"
            features = (concat(features, along, name),)
            (basis,) = without(features[0].dims, blocks[0][0].dims)
            scales = (concat(scales, along, name),)
        variance, singular = variance_of(noise, jitter, "HSGP")
        return LowRankNormal("HSGP", dim, basis, mean, features[0], scales[0], variance, singular)

    def _block(self, points: Any, terms: Any, dim: Dim) -> tuple[DimTensor, DimTensor, Dim]:
        """Return features, scales and the dim of the basis of kernels of the same points."""
        ((first, _), *_) = terms
        if isinstance(first, Linear):
            return _linear(terms, points, dim)
        if isinstance(first, Periodic):
            return self._periodic(terms, points, dim)
        feature = _feature_of(points, dim)
        found = [
            self._interval(one, terms, points, dim, feature)
            for one in ([None] if feature is None else range(len(feature)))
        ]
        total = math.prod(each.basis for each in found)
        if total > _MANY:
            raise OptionError(
                f"HSGP: {total:,} basis functions are needed",
                [("by number of a point", ", ".join(f"{each.basis:,}" for each in found))],
                "dt.gp.HSGP(lengthscale=(0.5, 10.0)), the length scales that matter",
            )
        basis = Dim(f"{dim._short} basis", length=total)
        numbers = np.indices([each.basis for each in found]).reshape(len(found), -1) + 1.0
        dims = [basis] if feature is None else [feature, basis]

        def along(values: list[float]) -> Any:
            return data(np.array(values), dims=feature) if feature is not None else values[0]

        half = np.array([each.half for each in found])
        omega_ = numbers * np.pi / (2.0 * half[:, None])
        omega = data(omega_[0] if feature is None else omega_, dims=dims)
        apart = points - along([each.center for each in found])
        inside = abs(apart) <= along([(1.0 + 1e-9) * each.radius for each in found])
        message = (
            f"HSGP: points along {dim._short} are outside of the domain of the approximation; "
            "domain=(lowest, highest) makes it wider"
        )
        apart = check(inside, message, apart)
        wave = sin(omega * (apart + along([each.half for each in found])))
        features = (wave if feature is None else wave.prod(feature)) / math.sqrt(half.prod())
        total_density: Any = 0.0
        for one, variance in terms:
            total_density = total_density + variance * _density(one, omega, feature)
        return features, sqrt(total_density), basis

    def _interval(
        self, at: int | None, terms: Any, points: Any, dim: Dim, feature: Dim | None
    ) -> _BasisInterval:
        """Choose the interval and the number of basis functions along one number of points."""

        def own(given: Any) -> Any:
            if isinstance(given, Mapping) and feature is not None:
                return given.get(feature.to_index()[at])
            return given

        low, high = self._domain(points if at is None else points.isel({feature: at}), own, dim)
        radius = 0.5 * (high - low) or 1.0
        scales = [
            (ORDERS[type(k)], self.lengthscale or range_of(_along(k, feature, at)))
            for k, _ in terms
        ]
        known = [(order, scale) for order, scale in scales if scale is not None]
        boundary, basis = own(self.boundary), own(self.basis)
        if (boundary is None or basis is None) and len(known) < len(scales):
            raise OptionError(
                "HSGP: the length scale is not known, and tells no number of basis functions",
                [("kernels", ", ".join(repr(k) for k, _ in terms))],
                "dt.gp.HSGP(lengthscale=(0.5, 10.0)), its least and largest value, or "
                "dt.gp.HSGP(basis=30, boundary=1.5)",
            )
        best_c = max((_boundary(o, s[1] / radius) for o, s in known), default=1.5)
        c = boundary or best_c
        best_m = max((_count(o, s[0] / radius, c) for o, s in known), default=1)
        m = basis or best_m
        for order, scale in known:
            _warn_if_bad(order, scale, radius, c, m, (best_c, best_m))
        return _BasisInterval(0.5 * (low + high), radius, c * radius, m)

    def _domain(self, points: Any, own: Any, dim: Dim) -> tuple[float, float]:
        if (given := own(self.domain)) is not None:
            return as_pair(given, "domain")
        found = range_of(points)
        if found is None:
            raise OptionError(
                f"HSGP: the points along {dim._short} are not known yet, so that they tell no "
                "interval",
                hint="dt.gp.HSGP(domain=(0.0, 10.0)), the lowest and highest point",
            )
        return found

    def _periodic(self, terms: Any, points: Any, dim: Dim) -> tuple[DimTensor, DimTensor, Dim]:
        """Return cosines and sines of multiples of the frequency (Solin and Särkkä 2014, (26))."""
        ((kernel, variance),) = terms
        if _feature_of(points, dim) is not None:
            raise DimError(
                "HSGP: a periodic kernel is of points of one number: kernel.sel(feature=...)"
            )
        known = range_of(kernel._values["lengthscale"])
        count = self.basis if isinstance(self.basis, int) else None
        if count is None:
            count = harmonics(known[0], _AIM) if known is not None else 20
        basis = Dim(f"{dim._short} waves", length=2 * count + 1)
        order = np.array([0, *np.repeat(np.arange(1, count + 1), 2)])
        phase = np.array([0.0, *np.tile([0.0, -0.5 * np.pi], count)])
        turns = 2.0 * np.pi * points / kernel._values["period"]
        features = cos(data(1.0 * order, dims=basis) * turns + data(phase, dims=basis))
        scales = sqrt(variance * harmonic_variances(kernel._values["lengthscale"], order, basis))
        return features, scales, basis


class _BasisInterval(NamedTuple):
    """Interval of basis functions along one number of the points, and how many there are."""

    center: float
    radius: float
    half: float
    basis: int


def _by_points(kernel: Any, points: Any, dim: Dim) -> list[tuple[Any, list[tuple[Any, Any]]]]:
    """Return parts of a kernel and their variances, together where they share a basis."""
    groups: dict[Any, tuple[Any, list[tuple[Any, Any]]]] = {}

    def visit(part: Any, at: Any, variance: Any) -> None:
        if type(part) is SumOfKernels:
            for each in part.parts:
                visit(each, at, variance)
        elif isinstance(part, ScaledKernel):
            visit(part.kernel, at, variance * part.variance)
        elif isinstance(part, KernelOn):
            visit(part.kernel, at, variance)
        elif isinstance(part, WarpedKernel):
            visit(part.kernel, part.function(at), variance)
        elif type(part) in ORDERS:
            groups.setdefault(at.node, (at, []))[1].append((part, variance))
        elif isinstance(part, (Linear, Periodic)):
            groups[at.node, len(groups)] = (at, [(part, variance)])
        else:
            raise OptionError(
                f"HSGP: {part!r} has no spectral density here",
                [("kernel", repr(kernel))],
                "squared exponential, Matérn, periodic and linear kernels have, and their sums",
            )

    visit(kernel, points, 1.0)
    return list(groups.values())


def _feature_of(points: Any, dim: Dim) -> Dim | None:
    """Return the dim of the numbers of a point."""
    found = without(points.dims, [dim])
    if not found:
        return None
    if len(found) > 1 or found[0].length is None:
        names = ", ".join(each._short for each in found)
        raise DimError(
            f"HSGP: points have one dim of known length beside {dim._short}, not {names}"
        )
    return found[0]


def _along(kernel: Any, feature: Dim | None, at: int | None) -> Any:
    scale = kernel._values["lengthscale"]
    return scale.isel({feature: at}) if feature in scale.dims else scale


def _density(kernel: Any, omega: Any, feature: Dim | None) -> Any:
    """Return the spectral density of a kernel of variance 1.

    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, (4.11) and
    (4.15), with a length scale for each of the D numbers of a point.
    """
    scale, order = kernel._values["lengthscale"], ORDERS[type(kernel)]
    squares: Any = (scale * omega) ** 2
    number = 1
    if feature is not None:
        squares, number = squares.sum(feature), len(feature)
        scale = scale.prod(feature) if feature in scale.dims else scale**number
    if math.isinf(order):
        return (2.0 * math.pi) ** (0.5 * number) * scale * exp(-0.5 * squares)
    power = order + 0.5 * number
    constant = (
        number * math.log(2.0 * math.sqrt(math.pi))
        + math.lgamma(power)
        - math.lgamma(order)
        + order * math.log(2.0 * order)
    )
    return scale * exp(constant - power * log(2.0 * order + squares))


def _linear(terms: Any, points: Any, dim: Dim) -> tuple[DimTensor, DimTensor, Dim]:
    ((kernel, variance),) = terms
    apart = points - kernel.center
    basis = _feature_of(points, dim)
    name = f"{dim._short} slope"
    own = Dim(name, length=1 if basis is None else len(basis))
    apart = apart.expand(own) if basis is None else apart.relabel(basis, own)
    scale = sqrt(variance) if isinstance(variance, TensorHandle) else math.sqrt(variance)
    return apart, scale * data(np.ones(len(own)), dims=own), own


# -- errors ----------------------------------------------------------------------------------------


def _correlation(order: float, r: float) -> float:
    """Correlation at a distance in length scales."""
    s = math.sqrt(2.0 * order) * r if math.isfinite(order) else r
    if math.isinf(order):
        return math.exp(-0.5 * r * r)
    return {0.5: 1.0, 1.5: 1.0 + s, 2.5: 1.0 + s + s * s / 3.0}[order] * math.exp(-s)


def _boundary(order: float, scale: float) -> float:
    """Return the boundary for a length scale in half ranges.

    The sum of all basis functions is the kernel without its mirror images at the boundary, of which
    the nearest one is 2 (L - S) from the outermost point at S.
    """
    from scipy.optimize import brentq

    r = brentq(lambda r: _correlation(order, r) - 0.5 * _AIM, 0.0, 100.0)
    return max(1.2, 1.0 + 0.5 * r * scale)


def _count(order: float, scale: float, boundary: float) -> int:
    """Return the number of basis functions for a length scale in half ranges.

    Basis functions of higher frequencies have the variance of the spectral density's tail, which is
    that of a normal distribution or of Student's t with 2 ν degrees of freedom.
    """
    from scipy import stats

    law = stats.norm if math.isinf(order) else stats.t(2.0 * order)
    return max(1, math.ceil(2.0 * boundary / (math.pi * scale) * law.isf(0.25 * _AIM)))


def _warn_if_bad(
    order: float,
    scale: tuple[float, float],
    radius: float,
    c: float,
    m: int,
    better: tuple[float, int],
) -> None:
    from scipy import stats

    law = stats.norm if math.isinf(order) else stats.t(2.0 * order)
    tail = 2.0 * float(law.sf(math.pi * m / (2.0 * c) * scale[0] / radius))
    image = _correlation(order, 2.0 * (c - 1.0) * radius / scale[1])
    for error, at, remedy in (
        (image, scale[1], f"boundary={math.ceil(10 * better[0]) / 10:g}"),
        (tail, scale[0], f"basis={better[1]}"),
    ):
        if error > _BAD:
            warn(
                f"HSGP: covariances are wrong by up to {error:.0%} of the variance at a length "
                f"scale of {at:.3g}",
                ModelWarning,
                [("basis", m), ("boundary", f"{c:g}"), ("half range of the points", f"{radius:g}")],
                f"dt.gp.HSGP({remedy}), or leave it out",
            )


# -- Fourier series of the periodic kernel ---------------------------------------------------------


def harmonics(lengthscale: float, error: float) -> int:
    """Return the number of multiples of its frequency that a periodic kernel needs."""
    from scipy.special import ive

    a = lengthscale**-2.0
    rest = 1.0 - np.cumsum([ive(0, a), *(2.0 * ive(np.arange(1, 400), a))])
    return max(1, int(np.argmax(rest < error)))


def harmonic_variances(lengthscale: Any, order: np.ndarray, dim: Dim) -> Any:
    """Return the variances of cosines and sines of multiples of the frequency, by the multiples.

    These are exp(-a) I_j(a), doubled for j > 0, with a = 1 / lengthscale²: Fourier coefficients of
    the kernel, which the sum over equally spaced angles has to rounding if they are many.
    """
    count = 4 * int(order.max()) + 32
    angles = 2.0 * np.pi * np.arange(count) / count
    angle = Dim(length=count)
    weights = np.cos(np.outer(order, angles)) * np.where(order > 0, 2.0, 1.0)[:, None] / count
    kernel = exp(data(np.cos(angles) - 1.0, dims=angle) / lengthscale**2)
    total = (data(weights, dims=[dim, angle]) * kernel).sum(angle)
    return maximum(total, 1e-30)
