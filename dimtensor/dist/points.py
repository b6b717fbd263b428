"""Point mass, and densities interpolated between points."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Dim, Dims, SelDim, find_dim
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.joint.vectors import VectorDistribution, later_than
from dimtensor.dist.probabilities import log_part
from dimtensor.dist.supports import Bounded, Integers, Support
from dimtensor.errors import DimError, OptionError
from dimtensor.tensor.constructors import full, length
from dimtensor.tensor.elementwise import clip, equal, log, maximum, sqrt, where
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class _Point(Integers):
    """Support of a point mass, which need not be whole."""

    name = "point"

    def __init__(self, value: DimTensor):
        self.low = self.high = value

    def contains(self, y: DimTensor) -> DimTensor:
        return equal(y, self.low)

    def map_tensors(self, f: Callable[[DimTensor], DimTensor]) -> Support:
        assert isinstance(self.low, TensorHandle)
        return _Point(f(self.low))


class DiracDelta(VectorDistribution):
    """One number, with probability 1.

    Parameters
    ----------
    c : DimTensor or number
        The number. Draws have its dtype.

    Raises
    ------
    DtypeError
        If it is of labels, bools or complex numbers.

    Examples
    --------
    >>> from dimtensor import dist
    >>> d = dist.DiracDelta(2.5)
    >>> float(d.logp(2.5).eval()), float(d.logp(2.0).eval())
    (0.0, -inf)
    """

    def __init__(self, c: TensorLike):
        super().__init__("DiracDelta", {"c": (c, "real")}, (), Integers(0, 0))
        self._support = _Point(self._parameters["c"])

    @property
    def dtype(self) -> str:
        return self._parameters["c"].dtype

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        return where(equal(x, p["c"]), 0.0 * x, -math.inf)

    def logcdf(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        return where(x < p["c"], -math.inf, 0.0 * p["c"])

    def logsf(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        return where(x < p["c"], 0.0 * p["c"], -math.inf)

    def icdf(self, q: TensorLike) -> DimTensor:
        q, p = self._with(q)
        return where((q >= 0.0) & (q <= 1.0), p["c"], math.nan)

    def mean(self) -> DimTensor:
        return self._values["c"]

    def variance(self) -> DimTensor:
        return 0.0 * self._values["c"]

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        return full(self._draw_dims(dims), self._parameters["c"]), rng


class Interpolated(VectorDistribution, state=("dim",)):
    """A number whose density is drawn as straight lines through points, and 0 outside of them.

    Parameters
    ----------
    x_points : DimTensor
        Increasing along a dim.
    pdf_points : DimTensor
        The density there, up to a factor; 0 or above.
    dim : Dim or str, optional
        The dim of the points, needed where they have others.

    Raises
    ------
    DimError
        If the dim is not there.
    OptionError
        If the points are known and not increasing, or a density is below 0.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> at = dt.Dim("at", length=3)
    >>> d = dist.Interpolated(dt.data([0.0, 1.0, 2.0], dims=at), dt.data([0.0, 1.0, 0.0], dims=at))
    >>> float(d.cdf(0.5).eval().round(4)), float(d.icdf(0.5).eval())
    (0.125, 1.0)
    """

    def __init__(self, x_points: TensorLike, pdf_points: TensorLike, dim: Dim | str | None = None):
        dims: Dims = x_points.dims if isinstance(x_points, TensorHandle) else ()
        if dim is None and len(dims) != 1:
            raise DimError(
                f"Interpolated: the points have {len(dims)} dims; dim=... names that along which "
                "they increase"
            )
        self.dim = dims[0] if dim is None else find_dim(dims, dim, "Interpolated")
        given = {"x_points": (x_points, "real"), "pdf_points": (pdf_points, "not negative")}
        super().__init__("Interpolated", given, (), Integers(0, 0), (self.dim,))
        points = self._parameters["x_points"]
        if points.node.kind == "data":
            axis = points.node.dims.index(self.dim)
            if (np.diff(np.asarray(points.node.attrs.values), axis=axis) <= 0).any():
                raise OptionError(
                    "Interpolated: the points do not increase along " + self.dim._short
                )
        first, last = self._ends
        self._support = Bounded(first, last)
        self.discrete = False

    @property
    def _ends(self) -> tuple[DimTensor, DimTensor]:
        points = self._values["x_points"]
        return points.isel({self.dim: 0}), points.isel({self.dim: -1})

    def _pieces(self, p: Any) -> tuple[Any, Any, Any, Any]:
        """Return left ends, widths, and unnormalized densities at both ends of all pieces."""
        at, density = p["x_points"], p["pdf_points"]
        left, right = later_than(at, self.dim, 1, by=1), later_than(at, self.dim, 1)
        low, high = later_than(density, self.dim, 1, by=1), later_than(density, self.dim, 1)
        return left, right - left, low, high

    def _piece_of(self, below: Any, *values: Any) -> tuple[Any, ...]:
        """Select the last piece for which a condition holds."""
        (dim,) = [d for d in values[0].dims if d not in self.dims]
        at = clip(below.sum(dim) - 1, 0, length(dim) - 1)
        return tuple(value.isel({dim: at}) for value in values)

    def _masses(self, p: Any) -> tuple[Any, Any, Any]:
        """Return the masses of the pieces, their cumulative sums, and the total."""
        _, width, low, high = self._pieces(p)
        mass = 0.5 * width * (low + high)
        (dim,) = [d for d in mass.dims if d not in self.dims]
        return mass, mass.shift({dim: 1}, 0.0).cumsum(dim), mass.sum(dim)

    def _after(self, mass: DimTensor) -> DimTensor:
        """Sum the masses of all pieces after each."""
        (dim,) = [d for d in mass.dims if d not in self.dims]
        back = slice(None, None, -1)
        turned = SelDim(dim, positions=back)
        after = mass.shift({dim: -1}, 0.0).isel({dim: back}).cumsum(turned).isel({turned: back})
        return after.relabel(SelDim(turned, positions=back), dim)

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        inside = self._support.contains(x)
        x = where(inside, x, self._ends[0])
        left, width, low, high = self._pieces(p)
        start, width, low, high = self._piece_of(left <= x, left, width, low, high)
        density = low + (high - low) * (x - start) / width
        known = inside & (density > 0.0)
        return where(known, log(where(known, density, 1.0)), -math.inf) - log(self._masses(p)[2])

    def _parts(self, x: DimTensor, p: Any) -> tuple[DimTensor, DimTensor]:
        """Return the cumulative distribution function and the survival function."""
        x = clip(x, *self._ends)
        left, width, low, high = self._pieces(p)
        mass, before, whole = self._masses(p)
        values = left, left + width, width, low, high, before, self._after(mass)
        start, end, width, low, high, before, after = self._piece_of(left <= x, *values)
        t, rest = x - start, end - x
        below = before + t * (low + 0.5 * (high - low) * t / width)
        above = after + rest * (high - 0.5 * (high - low) * rest / width)
        return below / whole, above / whole

    def logcdf(self, x: TensorLike) -> DimTensor:
        return log_part(*self._parts(*self._with(x)))

    def logsf(self, x: TensorLike) -> DimTensor:
        return log_part(*self._parts(*self._with(x))[::-1])

    def icdf(self, q: TensorLike) -> DimTensor:
        q, p = self._with(q)
        possible = (q >= 0.0) & (q <= 1.0)
        left, width, low, high = self._pieces(p)
        mass, before, whole = self._masses(p)
        target = where(possible, q, 0.5) * whole
        found = self._piece_of(before <= target, left, width, low, high, before, mass)
        start, width, low, high, before, mass = found
        rest = clip(target - before, 0.0, mass)
        # the root of a quadratic, in the form that does not cancel
        root = sqrt(maximum(low * low + 2.0 * (high - low) / width * rest, 0.0))
        below = low + root
        step = where(below > 0.0, 2.0 * rest / where(below > 0.0, below, 1.0), 0.0)
        return where(possible, start + clip(step, 0.0, width), math.nan)

    def _moments(self) -> tuple[DimTensor, DimTensor]:
        left, width, low, high = self._pieces(self._values)
        mass, _, whole = self._masses(self._values)
        (dim,) = [d for d in mass.dims if d not in self.dims]
        first = width * width * (low + 2.0 * high) / 6.0
        second = width**3 * (low + 3.0 * high) / 12.0
        mean = (left * mass + first).sum(dim) / whole
        apart = left - mean
        return mean, (apart * apart * mass + 2.0 * apart * first + second).sum(dim) / whole

    def mean(self) -> DimTensor:
        return self._moments()[0]

    def variance(self) -> DimTensor:
        return self._moments()[1]

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        u, rng = rng.uniform(0.0, 1.0, dims=self._draw_dims(dims))
        return self.icdf(u), rng
