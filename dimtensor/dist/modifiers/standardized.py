"""Variables as functions of standardized ones, which models sample instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.dist.approximations.low_rank import LowRankNormal
from dimtensor.dist.approximations.state_space import StateSpaceNormal
from dimtensor.dist.approximations.vecchia import NeighborProcess
from dimtensor.dist.distribution import DimsLike, Distribution
from dimtensor.dist.given import KnownPrefix
from dimtensor.dist.joint.gaussian import MatrixNormal, MvNormal, MvStudentT
from dimtensor.dist.parameters import float_dtype
from dimtensor.dist.processes.per_parent import NormalPerParent
from dimtensor.dist.processes.series import AR, RandomWalk
from dimtensor.dist.rows import TABLE
from dimtensor.dist.spec import spec_of
from dimtensor.dist.supports import Support
from dimtensor.dist.tabulated import TableDistribution
from dimtensor.tensor.constructors import arange, eye
from dimtensor.tensor.elementwise import exp, sigmoid, where

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

# rows whose draws are a location and a scale times those of the standard one
_LOCATION_AND_SCALE = {
    "Normal": ("mu", "sigma"),
    "StudentT": ("mu", "sigma"),
    "Cauchy": ("mu", "sigma"),
    "Laplace": ("mu", "b"),
    "Logistic": ("mu", "s"),
    "Gumbel": ("mu", "beta"),
}
_SCALE = {"HalfNormal": "sigma", "HalfStudentT": "sigma", "HalfCauchy": "beta"}
# rows whose draws are functions of normal ones
_OF_NORMAL = {"LogNormal": exp, "LogitNormal": sigmoid}
FAMILIES = (
    *_LOCATION_AND_SCALE, *_SCALE, *_OF_NORMAL, "Exponential", "MvNormal", "MvStudentT", "GP",
    "MatrixNormal", "RandomWalk", "AR",
)  # fmt: skip


class Standardized(NamedTuple):
    """A distribution whose parameters are numbers, and the variable as a function of a draw.

    Attributes
    ----------
    distribution : Distribution
    place : callable
        From a draw of `distribution` to one of the variable.
    swapped : dict of Dim to Dim
        Dims of the variable that draws of `distribution` have others in the place of.
    """

    distribution: Distribution
    place: Callable[[DimTensor], DimTensor]
    swapped: Mapping[Dim, Dim] = MappingProxyType({})

    def dims(self, dims: Dims) -> Dims:
        """Return the dims of the standardized variable, from those of the variable."""
        return sort_dims(self.swapped.get(dim, dim) for dim in dims)


def standardized(d: Distribution) -> Standardized | None:
    """Return the noncentered form of a distribution; None if there is none."""
    if isinstance(d, TableDistribution):
        return _of_row(d)
    if isinstance(d, (MvNormal, MvStudentT)):
        return _of_vector(d)
    if isinstance(d, MatrixNormal):
        return _of_matrix(d)
    if isinstance(d, (StateSpaceNormal, NeighborProcess, NormalPerParent)):
        return Standardized(_normal(), d._placed)
    if isinstance(d, LowRankNormal):
        swapped = {d.row: d.basis}
        return Standardized(_normal(), d._placed, swapped) if d._is_singular else None
    if isinstance(d, RandomWalk):
        return _of_walk(d)
    return _of_autoregression(d) if isinstance(d, AR) else None


def _normal() -> Distribution:
    return TableDistribution(TABLE["Normal"], {"mu": 0.0, "sigma": 1.0})


def _of_row(d: TableDistribution) -> Standardized | None:
    values = d._values(float_dtype(d._nodes))
    if d.name in _LOCATION_AND_SCALE:
        location, scale = _LOCATION_AND_SCALE[d.name]
        mu, sigma = getattr(values, location), getattr(values, scale)
        rest = {n: x for n, x in d.parameters.items() if n not in (location, scale, "tau")}
        standard = TableDistribution(TABLE[d.name], {**rest, location: 0.0, scale: 1.0})
        return Standardized(standard, lambda raw: mu + sigma * raw)
    if d.name in _OF_NORMAL:
        function = _OF_NORMAL[d.name]
        return Standardized(_normal(), lambda raw: function(values.mu + values.sigma * raw))
    if d.name in _SCALE:
        scale = _SCALE[d.name]
        width = getattr(values, scale)
        rest = {n: x for n, x in d.parameters.items() if n not in (scale, "tau", "lam")}
        standard = TableDistribution(TABLE[d.name], {**rest, scale: 1.0})
        return Standardized(standard, lambda raw: width * raw)
    if d.name == "Exponential":
        standard = TableDistribution(TABLE["Exponential"], {"lam": 1.0})
        return Standardized(standard, lambda raw: raw / values.lam)
    return None


def _of_vector(d: MvNormal | MvStudentT) -> Standardized:
    """Return the noncentered form of a multivariate normal or Student t distribution."""

    def place(raw: DimTensor) -> DimTensor:
        return d._values["mu"] + d._turned(raw.relabel(d.row, d.col))

    if isinstance(d, MvNormal):
        return Standardized(_normal(), place)
    standard = MvStudentT(d._values["nu"], 0.0, chol=eye(d.row, d.col))
    return Standardized(standard, place)


def _of_matrix(d: MatrixNormal) -> Standardized:
    def place(raw: DimTensor) -> DimTensor:
        return d._values["mu"] + d._turned(raw.relabel(d.row, d._row).relabel(d.col, d._col))

    return Standardized(_normal(), place)


def _of_walk(d: RandomWalk) -> Standardized | None:
    start, step = standardized(d.start), standardized(d.step)
    if start is None or step is None:
        return None
    first = arange(d.dim) < 1

    def place(raw: DimTensor) -> DimTensor:
        return where(first, start.place(raw), step.place(raw)).cumsum(d.dim)

    both = _by_position(start.distribution, step.distribution, d.dim, 1, d.event_dims)
    return Standardized(both, place)


def _of_autoregression(d: AR) -> Standardized | None:
    start = standardized(d.start)
    if start is None:
        return None
    n = len(d.lag)

    def place(raw: DimTensor) -> DimTensor:
        return d._path_of(start.place(raw), raw, KnownPrefix())

    both = _by_position(start.distribution, _normal(), d.dim, n, d.event_dims)
    return Standardized(both, place)


def _by_position(
    first: Distribution, later: Distribution, dim: Dim, n: int, event: Dims
) -> Distribution:
    """Combine two distributions: one up to a position of a dim, the other from it on."""
    if spec_of(first) == spec_of(later) and not first.event_dims:
        return first
    return _ByPosition(first, later, dim, n, event)


class _ByPosition(Distribution, state=("first", "later", "dim", "n")):
    """Independent elements, with another distribution at the first positions."""

    name = "standardized"

    def __init__(self, first: Distribution, later: Distribution, dim: Dim, n: int, event: Dims):
        self.first, self.later, self.dim, self.n = first, later, dim, n
        self.event_dims = event

    @property
    def parameters(self) -> Mapping[str, DimTensor]:
        parts = (("first", self.first), ("later", self.later))
        return {f"{part}_{n}": x for part, d in parts for n, x in d.parameters.items()}

    @property
    def dims(self) -> Dims:
        return sort_dims(dict.fromkeys((*self.first.dims, *self.later.dims, self.dim)))

    @property
    def support(self) -> Support:
        return self.later.support

    def logp(self, x: Any) -> DimTensor:
        is_first = arange(self.dim) < self.n
        return where(is_first, self.first.logp(x), self.later.logp(x))

    def draw(self, rng: Any, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        first, rng = self.first.draw(rng, whole)
        later, rng = self.later.draw(rng, whole)
        return where(arange(self.dim) < self.n, first, later), rng
