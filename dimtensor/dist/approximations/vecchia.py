"""Vecchia's approximation of Gaussian processes: each value given its nearest earlier ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.dims import Dim, without
from dimtensor.dist.approximations.low_rank import stable_variance
from dimtensor.dist.approximations.pointwise import pointwise_covariance, pointwise_variance
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.given import KnownElements, refusal
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.processes.approximation import ProcessApproximation
from dimtensor.dist.processes.kernels import CovarianceFunction
from dimtensor.dist.spec import parameter_nodes
from dimtensor.dist.supports import real
from dimtensor.errors import OptionError, printable
from dimtensor.tensor.constructors import arange, full
from dimtensor.tensor.control.loops import scan
from dimtensor.tensor.elementwise import equal, log, sqrt, square, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import data
from dimtensor.tensor.linalg.equations import solve

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

_ORDERS = ("maximin", "coordinate")


class Vecchia(ProcessApproximation):
    """Vecchia's approximation: each value depends on its nearest ones among those before it.

    The density is a product of normal densities of one value each, conditional on the values of at
    most `neighbors` points (A. V. Vecchia, Journal of the Royal Statistical Society B 50, 297-312,
    1988; A. Datta and others, Journal of the American Statistical Association 111, 800-812, 2016).
    With all points before it, it is exact. A density costs n m³ for n points and m neighbors.

    Points are known where the process is made: labels of a dim, or data without a name.

    Parameters
    ----------
    neighbors : int
    order : {"maximin", "coordinate"}
        Order of the points: each as far as possible from those before it (J. Guinness,
        Technometrics 60, 415-429, 2018), which takes the square of their number once, or by the
        first number that they consist of.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> place = dt.Dim("place", coords=[0.0, 0.5, 1.0, 2.0])
    >>> kernel = dt.gp.Matern52(1.0)
    >>> d = dist.GP(kernel, place, approximation=dt.gp.Vecchia(neighbors=3))
    >>> exact = dist.GP(kernel, place)
    >>> x = dt.zeros(place)
    >>> float((d.logp(x) - exact.logp(x)).eval().round(9))
    0.0
    """

    def __init__(self, neighbors: int = 15, *, order: str = "maximin"):
        if isinstance(neighbors, bool) or not isinstance(neighbors, int) or neighbors < 0:
            raise OptionError(f"Vecchia: neighbors is an integer of 0 or more, not {neighbors!r}")
        if order not in _ORDERS:
            raise OptionError(f"Vecchia: order is one of {', '.join(_ORDERS)}, not {order!r}")
        self.neighbors, self.order = neighbors, order

    @printable
    def __repr__(self) -> str:
        return f"Vecchia(neighbors={self.neighbors}, order={self.order!r})"

    def _process(
        self, kernel: Any, dim: Dim, points: Any, mean: Any, noise: Any, jitter: Any
    ) -> NeighborProcess:
        """Return the distribution of the values at points."""
        if not isinstance(kernel, CovarianceFunction):
            raise OptionError(f"Vecchia: the kernel is one of dt.gp, not {kernel!r}")
        variance = stable_variance(noise, jitter)
        return NeighborProcess(kernel, dim, points, mean, variance, self.neighbors, self.order)


class Neighborhood(NamedTuple):
    """Order of points, and neighbors of each.

    Attributes
    ----------
    sequence : ndarray
        Positions of the points in their order.
    parents : ndarray
        Positions of the neighbors of each point, in two dims; others are filled by 0.
    counts : ndarray
        How many of these are there.
    """

    sequence: np.ndarray
    parents: np.ndarray
    counts: np.ndarray


class NeighborProcess(VectorDistribution, state=("kernel", "row", "neighbors", "order")):
    """Values of a Gaussian process, each conditional on its neighbors before it."""

    def __init__(
        self,
        kernel: CovarianceFunction,
        row: Dim,
        points: DimTensor,
        mu: TensorLike,
        variance: TensorLike,
        neighbors: int,
        order: str,
    ):
        self.kernel, self.row, self.neighbors, self.order = kernel, row, neighbors, order
        given = {"points": (points, "real"), "mu": (mu, "real"),
                 "variance": (variance, "not negative")}  # fmt: skip
        own = {f"kernel_{at}": (wrap(x), "real") for at, x in enumerate(parameter_nodes(kernel))}
        features = without(points.dims, [row])
        super().__init__("VecchiaGP", {**given, **own}, (row,), real, features)
        self._places()

    def _places(self) -> np.ndarray:
        """Return the points as rows of an array.

        Raises
        ------
        OptionError
            If they are not known.
        """
        node = self._parameters["points"].node
        if node.kind != "data" or (node.name is not None and node.attrs.recipe is None):
            raise OptionError(
                f"Vecchia: the points along {self.row._short} are not known where the process is "
                "made, so that they have no neighbors",
                hint="points are labels of the dim, or data without a name",
            )
        first = node.attrs.dims.index(self.row)
        values = np.moveaxis(np.asarray(node.attrs.values, float), first, 0)
        return values.reshape(len(values), math.prod(values.shape[1:]))

    def _neighborhood(self, known: Sequence[int] = ()) -> Neighborhood:
        """Find the order and the neighbors, of known points first."""
        places = self._places()
        mask = np.isin(np.arange(len(places)), list(known))
        parts = [np.flatnonzero(mask), np.flatnonzero(~mask)]
        sort = maximin_order if self.order == "maximin" else coordinate_order
        sequence = np.concatenate([part[sort(places[part])] for part in parts])
        count = min(self.neighbors, max(len(places) - 1, 0))
        found = nearest_before(places[sequence], count)
        parents = np.zeros_like(found)
        parents[sequence] = sequence[np.maximum(found, 0)] if len(sequence) else found
        counts = np.zeros(len(places), int)
        counts[sequence] = (found >= 0).sum(1)
        return Neighborhood(sequence, parents, counts)

    def _weights(self, of: Neighborhood) -> tuple[DimTensor, DimTensor, DimTensor]:
        """Return positions of neighbors, their weights, and the conditional variances."""
        near = Dim(f"{self.row._short} neighbor", length=of.parents.shape[1])
        other, one = near.rename(), Dim(f"{self.row._short} itself", length=1)
        parents = data(of.parents, dims=[self.row, near])
        there = arange(near) < data(of.counts, dims=self.row)
        points, variance = self._values["points"], self._values["variance"]
        beside = points.isel({self.row: parents})
        own = points.expand(one)
        noise = variance.isel({self.row: parents}) if self.row in variance.dims else variance
        among = self._among(beside, near, beside.relabel(near, other), other)
        same = equal(arange(near), arange(other))
        both = there & there.relabel(near, other)
        among = where(both, where(same, among + noise, among), where(same, 1.0, 0.0))
        across = self._among(beside, near, own, one).isel({one: 0})
        across = where(there, across, 0.0)
        total = pointwise_variance(self.kernel, points, self.row) + variance
        weights = solve(among, across, [near, other], assume_a="pos").relabel(other, near)
        return parents, weights, total - (weights * across).sum(near)

    def _among(self, x: Any, row: Dim, y: Any, col: Dim) -> Any:
        found = pointwise_covariance(self.kernel, x, y, self.row)
        return found.expand([self.row, row, col])

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        parents, weights, variance = self._weights(self._neighborhood())
        (near,) = without(parents.dims, [self.row])
        apart = x - p["mu"]
        error = apart - (weights * apart.isel({self.row: parents})).sum(near)
        terms = log(variance) + square(error) / variance
        return -0.5 * terms.sum(self.row) - HALF_LOG_2PI * count_of((self.row,))

    def mean(self) -> DimTensor:
        return self._values["mu"] + 0.0 * self._weights(self._neighborhood())[2]

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        z, rng = rng.normal(0.0, 1.0, dims=self._draw_dims(dims))
        return self._placed(z), rng

    def _draw_given(self, rng: Any, given: KnownElements, dims: DimsLike) -> tuple[DimTensor, Any]:
        """Draw the other elements after the known ones, with neighbors among both."""
        if set(given.at) != {self.row}:
            raise refusal(self, given)
        positions = given.at[self.row]
        z, rng = rng.normal(0.0, 1.0, dims=self._draw_dims(dims))
        known = arange(self.row).isin(list(positions))
        of = self._neighborhood(positions)
        values = where(known, given.values - self._values["mu"], 0.0)
        found = self._values["mu"] + self._in_turn(z, of, len(positions), values)
        return where(known, given.values, found), rng

    def _placed(self, raw: DimTensor) -> DimTensor:
        """Return the elements of standard normal numbers."""
        return self._values["mu"] + self._in_turn(raw, self._neighborhood(), 0, None)

    def _in_turn(self, z: DimTensor, of: Neighborhood, known: int, values: Any) -> DimTensor:
        """Compute elements from standard normal numbers, after known ones.

        Each turn of the loop computes elements whose neighbors have been computed. Its results are
        a row of the state; the last row is zero and stands for the known elements.
        """
        parents, weights, variance = self._weights(of)
        (near,) = without(parents.dims, [self.row])
        noise = sqrt(variance) * z
        if self.row not in noise.dims:
            noise = noise.expand(self.row)
        if values is not None:
            noise = noise + (weights * values.isel({self.row: parents})).sum(near)
        turns = turns_of(of, known)
        count, width = turns.shape
        row, slot = np.full(len(of.sequence), count), np.zeros(len(of.sequence), int)
        row[turns], slot[turns] = np.indices(turns.shape)
        turn = Dim(f"{self.row._short} turn", length=count)
        own = Dim(f"{self.row._short} slot", length=width)
        rows, slots = Dim(f"{self.row._short} row", length=count + 1), own.rename()
        at = {self.row: data(turns, dims=[turn, own])}
        xs = (
            arange(turn),
            data(row[of.parents[turns]], dims=[turn, own, near]),
            data(slot[of.parents[turns]], dims=[turn, own, near]),
            weights.isel(at),
            noise.isel(at),
        )
        start = full([*without(noise.dims, [self.row]), rows, slots], 0.0)

        def step(whole: Any, given: Any) -> Any:
            at, row, slot, weights, noise = given
            value = (weights * whole.isel({rows: row, slots: slot})).sum(near) + noise
            return whole.isel({rows: at}).set(value.relabel(own, slots)), None

        found = scan(step, start, xs, turn)[0]
        return found.isel({rows: data(row, dims=self.row), slots: data(slot, dims=self.row)})


# -- neighbors -------------------------------------------------------------------------------------


def turns_of(of: Neighborhood, known: int) -> np.ndarray:
    """Return positions that can be computed together, in two dims; the last of a turn may repeat.

    The neighbors of a turn are known, or in the turns before. Turns are about as many as the
    longest chain of neighbors, and of the same length.
    """
    later = of.sequence[known:]
    depth = np.zeros(len(of.sequence), int)
    for position in later:
        count = of.counts[position]
        if count:
            depth[position] = 1 + depth[of.parents[position, :count]].max()
    _, depth = np.unique(depth[later], return_inverse=True)
    sizes = np.bincount(depth)
    width = max(1, -(-len(later) // max(1, len(sizes))))
    groups = np.split(later[np.argsort(depth, kind="stable")], np.cumsum(sizes)[:-1])
    turns = [group[at : at + width] for group in groups for at in range(0, len(group), width)]
    whole = [np.pad(turn, (0, width - len(turn)), mode="edge") for turn in turns]
    return np.array(whole, int).reshape(len(whole), width)


def coordinate_order(places: np.ndarray) -> np.ndarray:
    """Return positions in the order of the first number, then of the others."""
    return np.lexsort(places.T[::-1]) if places.size else np.arange(len(places))


def maximin_order(places: np.ndarray) -> np.ndarray:
    """Return positions in an order in which each point is far from those before it."""
    n = len(places)
    order = np.zeros(n, int)
    if not n:
        return order
    first = np.lexsort((*places.T[::-1], ((places - places.mean(0)) ** 2).sum(1)))[0]
    nearest = np.full(n, math.inf)
    for at in range(n):
        order[at] = first
        nearest = np.minimum(nearest, ((places - places[first]) ** 2).sum(1))
        nearest[first] = -1.0
        first = int(np.argmax(nearest))
    return order


def nearest_before(places: np.ndarray, count: int) -> np.ndarray:
    """Return positions of the nearest points before each, -1 where there are fewer.

    Trees of the first points, of twice as many each time, are searched for more and more points.
    """
    from scipy.spatial import cKDTree

    n = len(places)
    found = np.full((n, count), -1)
    start, stop = 0, min(n, 2 * count + 2)
    while count and start < n:
        tree = cKDTree(places[:stop])
        pending, asked = np.arange(start, stop), min(stop, 2 * count + 2)
        while len(pending):
            _, near = tree.query(places[pending], k=asked)
            near = near.reshape(len(pending), asked)
            early = near < pending[:, None]
            done = (early.sum(1) >= np.minimum(count, pending)) | (asked == stop)
            rank = np.argsort(~early, axis=1, kind="stable")[:, :count]
            chosen = np.where(
                np.take_along_axis(early, rank, 1), np.take_along_axis(near, rank, 1), -1
            )
            found[pending[done], : chosen.shape[1]] = chosen[done]
            pending, asked = pending[~done], min(stop, 2 * asked)
        start, stop = stop, min(n, 2 * stop)
    return found
