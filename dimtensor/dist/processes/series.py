"""Distributions of what follows along a dim: random walks, autoregressions, Markov chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, Dims, SelDim, find_dim, sort_dims, union, without
from dimtensor.dist.distribution import DimsLike, Distribution, PathDistribution
from dimtensor.dist.families import Normal
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownElements, KnownPrefix, known_or, known_start
from dimtensor.dist.joint.vectors import (
    VectorDistribution,
    as_labels,
    as_positions,
    drawn_position,
    first_of,
    later_than,
    positions_support,
    sum_over_first,
)
from dimtensor.dist.modifiers.wrappers import as_distribution
from dimtensor.dist.parameters import as_parameter
from dimtensor.dist.spec import spec_of
from dimtensor.dist.supports import real
from dimtensor.errors import DimError, GraphError, OptionError
from dimtensor.spellings import spelled
from dimtensor.tensor.along.places import inside_of, nearest_to
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.control.loops import cumulate
from dimtensor.tensor.elementwise import equal, log, square, where
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


def series_dim(dim: Any, name: str) -> Dim:
    if not isinstance(dim, Dim):
        raise DimError(f"{name}: dim is the Dim of the series, not {dim!r}")
    return dim


class RandomWalk(VectorDistribution, state=("dim", "step", "start")):
    """A start, and independent steps along a dim.

    The density is that of the first element, times those of the differences.

    Parameters
    ----------
    step : Distribution
        Of the differences. Along `dim` its parameters may change: those at a position are of the
        step that leads to it, and those at the first one mean nothing.
    dim : Dim
    start : Distribution
        Of the first element, without the dim.

    Raises
    ------
    DimError
        If the start has the dim, or it is an event dim of the steps.
    ArgumentError
        If the steps or the start are no distributions.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=3)
    >>> d = dist.RandomWalk(dist.Normal(0.0, 1.0), dim=time, start=dist.Normal(0.0, 1.0))
    >>> float(d.logp(dt.zeros(time)).eval().round(4))
    -2.7568
    """

    _is_per_parent = True

    def __init__(self, step: Distribution, dim: Dim, start: Distribution):
        self.dim = series_dim(dim, "RandomWalk")
        self.step = as_distribution(step, "RandomWalk")
        self.start = as_distribution(start, "RandomWalk")
        for part, dims in ((step, step.event_dims), (start, start.dims)):
            if dim in dims:
                raise DimError(f"RandomWalk: {part.name} has {dim._short}, along which it walks")
            if part.discrete:
                raise OptionError(f"RandomWalk takes continuous steps, not {part.name}")
        given = {f"step_{key}": (value, "bound") for key, value in step.parameters.items()}
        given |= {f"start_{key}": (value, "bound") for key, value in start.parameters.items()}
        event = sort_dims(union([(dim,), step.event_dims, start.event_dims], "RandomWalk"))
        hidden = (*step._lost_dims(), *start._lost_dims())
        super().__init__("RandomWalk", given, event, real, hidden)

    def logp(self, x: TensorLike) -> DimTensor:
        if self.dim._within is not None:
            return self._logp_ahead(x).sum(self.dim)
        x, _ = self._with(x)
        steps = later_than(x, self.dim, 1) - later_than(x, self.dim, 1, by=1)
        along = [dim for dim in steps.dims if dim not in x.dims] or [self.dim]
        first = sum_over_first(x, self.dim, lambda one: self._all(self.start, self.start.logp(one)))
        later = self._all(self.step, _later(self.step, self.dim).logp(steps))
        return first + later.sum([dim for dim in along if dim in later.dims])

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log densities of elements given those before them."""
        x, _ = self._with(x)
        steps = x - x.shift({self.dim: 1}, fill_value=0.0)
        first, later = (
            value.sum([dim for dim in self.event_dims if dim in value.dims and dim != self.dim])
            for value in (self.start.logp(x), self.step.logp(steps))
        )
        return where(equal(arange(self.dim), 0), first, later)

    def _all(self, part: Distribution, value: DimTensor) -> DimTensor:
        """Sum over event elements that are independent in a part."""
        apart = [dim for dim in self.event_dims if dim not in part.event_dims and dim in value.dims]
        return value.sum(apart) if apart else value

    def mean(self) -> DimTensor:
        return self.start.mean() + self._up_to_each(self.step.mean())

    def variance(self) -> DimTensor:
        return self.start.variance() + self._up_to_each(self.step.variance())

    def _up_to_each(self, step: DimTensor) -> DimTensor:
        """Sum the steps up to each position."""
        if self.dim not in step.dims:
            return step * arange(self.dim)
        return where(equal(arange(self.dim), 0), 0.0, step).cumsum(self.dim)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        jumps, rng = self._jumps(rng, dims, KnownPrefix())
        return jumps.cumsum(self.dim), rng

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        prefix = known_start(self, given, self.dim)
        known, x = prefix.along
        jumps, rng = self._jumps(rng, dims, prefix)
        jumps = where(known, x - x.shift({self.dim: 1}, fill_value=0.0), jumps)
        return where(known, x, jumps.cumsum(self.dim)), rng

    def _jumps(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        """Draw a start for each path, and the steps behind it."""
        whole = self._draw_dims(dims)
        apart = () if self.dim._within is not None else (self.dim,)  # a start for each parent
        first, rng = known.start(self.start, rng, without(whole, [*apart, *self.start.dims]), 1)
        steps, rng = self.step.draw(rng, without(whole, self.step.dims))
        return where(equal(arange(self.dim), 0), first, steps), rng


def _later(step: Distribution, dim: Dim) -> Distribution:
    """Return the distribution of the steps: at all positions but the first."""
    if dim not in step.dims:
        return step
    spec, inputs = spec_of(step)
    later = SelDim(dim, positions=slice(1, None))
    values = [later_than(x, dim, 1) if dim in x.dims else x for x in map(wrap, inputs)]
    return spec.map_dims(lambda d: later if d == dim else d).build([x.node for x in values])


@spelled("distribution")
def GaussianRandomWalk(
    mu: TensorLike = 0.0, sigma: TensorLike = 1.0, *, dim: Dim, start: Distribution
) -> RandomWalk:
    """Make a random walk with normal steps.

    Parameters
    ----------
    mu, sigma : DimTensor or number
        Mean and standard deviation of the steps. Along `dim` they may change: those at a position
        are of the step that leads to it, and those at the first one mean nothing. A mean that is
        a walk itself makes a local linear trend.
    dim : Dim
    start : Distribution
        Of the first element, without the dim.

    Returns
    -------
    RandomWalk

    Raises
    ------
    DimError
        If the start has the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=3)
    >>> d = dist.GaussianRandomWalk(1.0, 0.5, dim=time, start=dist.Normal(0.0, 1.0))
    >>> d.mean().eval().values.tolist()
    [0.0, 1.0, 2.0]
    """
    return RandomWalk(Normal(mu, sigma), dim, start)


class AR(PathDistribution, VectorDistribution, state=("dim", "start", "lag")):
    """An autoregression: each element is a sum of multiples of those before it, and noise.

    The density is that of the first elements, as many as there are lags, times
    Normal(constant + Σ rho_j x_(t-j), sigma) of all others.

    Parameters
    ----------
    rho : DimTensor or number
        Multiples, along a dim of lags of a known length, the nearest first. Without dims: of the
        last element alone.
    sigma : DimTensor or number
        Standard deviation of the noise.
    dim : Dim
        The dim of the series.
    start : Distribution
        Distribution of each of the first elements.
    lag : Dim or str, optional
        The dim of lags, needed where `rho` has others.
    constant : DimTensor or number

    Raises
    ------
    DimError
        If the dim of lags is not found.
    GraphError
        If its length is not known.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> time = dt.Dim("time", length=4)
    >>> rho = dt.data([0.5, 0.2], dims=dt.Dim("lag", length=2))
    >>> d = dist.AR(rho, 1.0, dim=time, start=dist.Normal(0.0, 1.0))
    >>> float(d.logp(dt.zeros(time)).eval().round(4))
    -3.6758
    """

    _is_per_parent = True

    def __init__(
        self,
        rho: TensorLike,
        sigma: TensorLike = 1.0,
        *,
        dim: Dim,
        start: Distribution,
        lag: Dim | str | None = None,
        constant: TensorLike = 0.0,
    ):
        self.dim = series_dim(dim, "AR")
        self.start = as_distribution(start, "AR")
        dims: Dims = rho.dims if isinstance(rho, TensorHandle) else ()
        if lag is None and not dims:
            rho = as_parameter(rho, "real", "rho of AR").expand(Dim("lag", length=1))
            dims = rho.dims
        if lag is None and len(dims) != 1:
            raise DimError(
                f"AR: which of {len(dims)} dims of rho is that of the lags is not known",
                [("rho", ", ".join(dim._short for dim in dims))],
                f"name it: lag={dims[0]._short!r}",
            )
        self.lag = dims[0] if lag is None else find_dim(dims, lag, "AR")
        if self.lag.length is None:
            raise GraphError(
                f"AR: the number of lags, the length of {self.lag._title}, is not known"
            )
        given = {"rho": (rho, "real"), "sigma": (sigma, "positive"), "constant": (constant, "real")}
        given |= {f"start_{key}": (value, "bound") for key, value in start.parameters.items()}
        super().__init__("AR", given, (dim,), real, (self.lag,), dict.fromkeys(given, ()))

    def logp(self, x: TensorLike) -> DimTensor:
        if self.dim._within is not None:
            return self._logp_ahead(x).sum(self.dim)
        x, p = self._with(x)
        n = len(self.lag)
        center = p["constant"]
        for by in range(1, n + 1):
            center = center + p["rho"].isel({self.lag: by - 1}) * later_than(x, self.dim, n, by)
        rest = later_than(x, self.dim, n)
        along = [dim for dim in rest.dims if dim not in x.dims] or [self.dim]
        noise = -0.5 * square((rest - center) / p["sigma"]) - log(p["sigma"]) - HALF_LOG_2PI
        first = x.isel({self.dim: slice(None, n)})
        before = [dim for dim in first.dims if dim not in x.dims] or [self.dim]
        return self.start.logp(first).sum(before) + noise.sum(along)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log densities of elements given those before them."""
        x, p = self._with(x)
        center = p["constant"]
        for by in range(1, len(self.lag) + 1):
            before = x.shift({self.dim: by}, fill_value=0.0)
            center = center + p["rho"].isel({self.lag: by - 1}) * before
        later = -0.5 * square((x - center) / p["sigma"]) - log(p["sigma"]) - HALF_LOG_2PI
        return where(arange(self.dim) < len(self.lag), self.start.logp(x), later)

    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        whole = self._draw_dims(dims)
        start, rng = known.start(self.start, rng, without(whole, self.start.dims), len(self.lag))
        noise, rng = rng.normal(0.0, 1.0, dims=whole)
        return self._path_of(start, noise, known), rng

    def _path_of(self, start: DimTensor, noise: DimTensor, known: KnownPrefix) -> DimTensor:
        """Compute a path from its first elements and standardized noise."""
        p = self._values
        early = arange(self.dim) < len(self.lag)
        # of the first elements themselves, of all others their noise
        given = where(early, start, p["constant"] + p["sigma"] * noise)
        state = 0.0 * p["rho"] + 0.0 * first_of(given, self.dim)
        nearest = equal(arange(self.lag), 0)

        def step(state: Any, xs: Any) -> Any:
            value, is_first, *known = xs
            following = (p["rho"] * state).sum(self.lag) + value
            following = known_or(known, where(is_first, value, following))
            moved = state.shift({self.lag: 1}, fill_value=0.0)
            return where(nearest, following, moved)

        states = cumulate(step, init=state, xs=(given, early, *known.along), dim=self.dim)
        return first_of(states, self.lag)


class MarkovChain(PathDistribution, VectorDistribution, state=("dim", "labels", "following")):
    """Labels that follow each other along a dim: each depends on the one before it.

    The probability is start of the first label, times the move from each to the next one.

    Parameters
    ----------
    start : DimTensor
        Probabilities of the first label, along the dim of labels.
    move : DimTensor
        Probabilities of moves, over the dim of labels and the same one renamed: from the label of
        the row to that of the column. Along `dim` they may change: those at a position lead to it,
        and those at the first one mean nothing.
    dim : Dim
        The dim of the series.

    Raises
    ------
    DimError
        If the dims of `move` are no pair.
    OptionError
        If known probabilities do not add up to 1.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> day = dt.Dim("day", length=3)
    >>> sky = dt.Dim("sky", coords=["dry", "wet"])
    >>> start = dt.data([0.5, 0.5], dims=sky)
    >>> move = dt.data([[0.9, 0.1], [0.4, 0.6]], dims=[sky, sky.rename()])
    >>> d = dist.MarkovChain(start, move, dim=day)
    >>> week = dt.data(["dry", "dry", "wet"], dims=day, categories=sky)
    >>> float(d.logp(week).eval().round(4))
    -3.1011
    """

    _is_per_parent = True

    def __init__(self, start: Any, move: Any, dim: Dim):
        self.dim = series_dim(dim, "MarkovChain")
        _, self.labels, self.following = matrix(move, None, "MarkovChain")
        given = {"start": (start, "probability"), "move": (move, "probability")}
        hidden = (self.labels, self.following)
        support = positions_support(self.labels)
        shares = {"start": (self.labels, None), "move": (self.following, dim)}
        super().__init__("MarkovChain", given, (dim,), support, hidden, {"start": ()}, shares)

    @property
    def categories(self) -> Dim:
        return self.labels

    def logp(self, x: TensorLike) -> DimTensor:
        if self.dim._within is not None:
            return self._logp_ahead(x).sum(self.dim)
        x = as_positions(x, self.labels, self.name)
        p = self._values
        start = log(p["start"])
        first = sum_over_first(x, self.dim, lambda one: start.isel({self.labels: one}))
        before, after = later_than(x, self.dim, 1, by=1), later_than(x, self.dim, 1)
        logs = log(p["move"])
        logs = later_than(logs, self.dim, 1) if self.dim in logs.dims else logs
        moves = logs.isel({self.labels: before, self.following: after})
        along = [dim for dim in after.dims if dim not in x.dims] or [self.dim]
        return first + moves.sum(along)

    def _logp_ahead(self, x: Any) -> DimTensor:
        """Log probabilities of labels given those before them."""
        x = as_positions(x, self.labels, self.name)
        p = self._values
        earlier = arange(self.dim) - 1
        before = nearest_to(x, self.dim, earlier, 0)
        moves = log(p["move"]).isel({self.labels: before, self.following: x})
        first = log(p["start"]).isel({self.labels: x})
        return where(inside_of(self.dim, earlier), moves, first)

    def _path(self, rng: Any, dims: DimsLike, known: KnownPrefix) -> tuple[DimTensor, Any]:
        p = self._values
        if known.along:
            mask, labels = known.along
            known = KnownPrefix((mask, as_positions(labels, self.labels, self.name)), known.length)
        u, rng = rng.uniform(0.0, 1.0, dims=self._draw_dims(dims))
        first = drawn_position(p["start"], self.labels, first_of(u, self.dim))

        def step(state: Any, xs: Any) -> Any:
            u, is_first, move, *known = xs
            weights = (move[0] if move else p["move"]).isel({self.labels: state})
            following = drawn_position(weights, self.following, u)
            return known_or(known, where(is_first, state, following))

        is_first = equal(arange(self.dim), 0)
        xs = (u, is_first, (p["move"],) if self.dim in p["move"].dims else (), *known.along)
        states = cumulate(step, init=first, xs=xs, dim=self.dim)
        return as_labels(states, self.labels), rng
