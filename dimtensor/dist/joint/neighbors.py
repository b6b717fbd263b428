"""Distributions of vectors of neighbors: conditional autoregressions.

Where the adjacency matrix follows from data alone, sums are over its edges, and its edges and its
eigenvalues are computed once per data set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.dims import Dim, Dims, without
from dimtensor.dist.conditions import is_known
from dimtensor.dist.distribution import DimsLike
from dimtensor.dist.formulas import HALF_LOG_2PI
from dimtensor.dist.joint.gaussian import MvNormal
from dimtensor.dist.joint.shares import Together
from dimtensor.dist.joint.vectors import VectorDistribution, count_of
from dimtensor.dist.supports import Support, real
from dimtensor.errors import build_message, plain_repr
from dimtensor.graph.walk import leaves
from dimtensor.tensor.constructors import arange, full
from dimtensor.tensor.control.loops import while_loop
from dimtensor.tensor.elementwise import (
    equal,
    log,
    logical_not,
    minimum,
    not_equal,
    sqrt,
    square,
    where,
)
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import eigh
from dimtensor.tensor.linalg.equations import slogdet
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.random.generator import Generator
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike

# of numpy.allclose, by which PyMC compares W and its transpose
_RELATIVE, _ABSOLUTE = 1e-5, 1e-8


class Adjacency(Together, state=("col", "connected")):
    """Condition on weights of neighbors: they are symmetric, and 0 on the diagonal.

    Parameters
    ----------
    values : DimTensor
    dim, col : Dim
        Dims of rows and columns.
    what : str
        Name of the parameter in messages.
    connected : bool
        Whether the weights of each element have to have a positive sum, too.
    """

    def __init__(self, values: DimTensor, dim: Dim, col: Dim, what: str, connected: bool):
        self.col, self.connected = col, connected
        super().__init__(values, dim, what)

    def _is_guaranteed_by(self, support: Support) -> bool:
        return False

    def _holds(self, values: DimTensor) -> DimTensor:
        apart = Dim(length=self.dim.length)
        other = values.relabel(self.dim, apart).relabel(self.col, self.dim)
        other = other.relabel(apart, self.col)
        fine = logical_not(abs(values - other) > _ABSOLUTE + _RELATIVE * abs(other))
        fine = fine & (not_equal(arange(self.dim), arange(self.col)) | equal(values, 0.0))
        return fine & logical_not(values.sum(self.col) <= 0.0) if self.connected else fine

    def _message(self) -> str:
        alone = ", or lack weights of an element" if self.connected else ""
        return f"{self.what}: weights are not symmetric, or not 0 on the diagonal{alone}"

    def _refusal(self, values: DimTensor, at: dict[Dim, int]) -> str:
        i, j = at[self.dim], at[self.col]
        batch = {dim: k for dim, k in at.items() if dim not in (self.dim, self.col)}
        one, other = (
            values.isel({**at, self.dim: a, self.col: b}).item() for a, b in ((i, j), (j, i))
        )
        names = [k if self.dim.coords is None else plain_repr(self.dim.coords[k]) for k in (i, j)]
        here, hint = f"{self.dim._short}={names[0]}", None
        if i == j and one:
            text = f"{self.what} has zeros on the diagonal, and {here} is a neighbor of itself"
        elif abs(one - other) > _ABSOLUTE + _RELATIVE * abs(other):
            there = f"{self.dim._short}={names[1]}"
            text = f"{self.what} is symmetric, and from {here} to {there} it is {one:g}, "
            text += f"from {there} to {here} {other:g}"
        else:
            text = f"{self.what}: {here} has no neighbors, and without them an infinite variance"
            hint = "give elements without neighbors a distribution of their own"
        return build_message(text, self._details(batch), hint)


class NeighborPairs(NamedTuple):
    """Pairs of neighbors, along a masked dim.

    Attributes
    ----------
    first, second : DimTensor
        Positions; the first is the lower one.
    weight : DimTensor
    """

    first: DimTensor
    second: DimTensor
    weight: DimTensor

    def roughness(self, x: DimTensor, dim: Dim) -> DimTensor:
        """Return the weighted sum of squared differences of neighbors."""
        apart = x.isel({dim: self.first}) - x.isel({dim: self.second})
        (edge,) = self.first.dims
        return (self.weight * square(apart)).sum(edge)


class NeighborVector(VectorDistribution, state=("row", "col")):
    """Distribution of a vector whose elements are neighbors of each other."""

    def __init__(self, name: str, given: dict[str, tuple[Any, str]], shared: dict[str, Dims]):
        W = given["W"][0]
        _, self.row, self.col = matrix(W, None, name)
        super().__init__(name, given, (self.row,), real, (self.col,), shared)
        self._together = {
            "W": Adjacency(self._parameters["W"], self.row, self.col, f"W of {name}", name == "CAR")
        }

    def _is_fixed(self, W: DimTensor) -> bool:
        """Return whether weights follow from data alone, so that none of their zeros changes."""
        return is_known(W) and all(leaf.kind == "data" for leaf in leaves([W.node]))

    def _edges(self, W: DimTensor) -> NeighborPairs:
        """Return the elements above the diagonal that are not 0 (for any of the batch dims)."""
        pair = [self.row, self.col]
        linked = not_equal(W, 0.0) & (arange(self.row) < arange(self.col))
        if batch := without(W.dims, pair):
            linked = linked.any(batch)
        chosen = linked.ravel(pair)

        def along_edges(x: DimTensor) -> DimTensor:
            return x.ravel(pair)[chosen]

        first, second = (along_edges(arange(dim).expand(pair)) for dim in pair)
        return NeighborPairs(first, second, along_edges(W))


class CAR(NeighborVector):
    """A conditional autoregression: each element around the mean of its neighbors.

    The density is that of a normal vector with the precision tau (D - alpha W), where D has the
    sums of the rows of W (J. Besag, Journal of the Royal Statistical Society B 36, 192-236, 1974).

    Parameters
    ----------
    mu : DimTensor or number
    W : DimTensor
        Weights of neighbors, symmetric and 0 on the diagonal, over a dim and the same one renamed;
        each element has some. If they are data, a call takes a sum over pairs of neighbors, else a
        factorization of the precision.
    alpha : DimTensor or number
        Between -1 and 1: how much neighbors are alike.
    tau : DimTensor or number
        Precision.

    Raises
    ------
    DimError
        If the dims of W are no pair.
    OptionError
        If W is known and not such a matrix; if it is not known yet, a call raises CheckError.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> W = dt.data([[0.0, 1.0], [1.0, 0.0]], dims=[k, k.rename()])
    >>> float(dist.CAR(0.0, W, 0.5, 1.0).logp(dt.zeros(k)).eval().round(4))
    -1.9817
    """

    def __init__(self, mu: TensorLike, W: TensorLike, alpha: TensorLike, tau: TensorLike = 1.0):
        given = {"mu": (mu, "real"), "W": (W, "real"), "alpha": (alpha, "between -1 and 1"),
                 "tau": (tau, "positive")}  # fmt: skip
        super().__init__("CAR", given, {"alpha": (), "tau": ()})

    def _precision(self, p: dict[str, DimTensor]) -> DimTensor:
        """Precision matrix at tau = 1."""
        same = equal(arange(self.row), arange(self.col))
        return where(same, p["W"].sum(self.col), 0.0) - p["alpha"] * p["W"]

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        apart, n = x - p["mu"], count_of((self.row,))
        distance, log_det = (self._by_edges if self._is_fixed(p["W"]) else self._dense)(apart, p)
        return 0.5 * (log_det + n * log(p["tau"]) - p["tau"] * distance) - n * HALF_LOG_2PI

    def _dense(self, apart: DimTensor, p: dict[str, DimTensor]) -> tuple[DimTensor, DimTensor]:
        """Return the squared distance and the log determinant of the precision, at tau = 1."""
        precision = self._precision(p)
        other = apart.relabel(self.row, self.col)
        distance = dot(apart, precision, other, dim=[self.row, self.col])
        return distance, slogdet(precision, [self.row, self.col]).logabsdet

    def _by_edges(self, apart: DimTensor, p: dict[str, DimTensor]) -> tuple[DimTensor, DimTensor]:
        """Compute the same from edges and eigenvalues (Jin et al., Biometrics 61, 2005).

        The precision is √D (1 - alpha S) √D, S = W / √(D D'), whose eigenvalues do not depend on
        alpha; the distance is a sum of squares, (1 - alpha) Σ D x² + alpha Σ W (x - x')² / 2.
        """
        alpha, dtype = p["alpha"], p["W"].dtype
        W = p["W"].astype("float64")
        total = W.sum(self.col)
        scale = 1.0 / sqrt(total)
        scaled = W * scale * scale.relabel(self.row, self.col)
        found = eigh(scaled, [self.row, self.col]).eigenvalues
        (eigen,) = without(found.dims, total.dims)
        found = found.relabel(eigen, self.row).astype(dtype)
        log_det = (log(1.0 - alpha * found) + log(total).astype(dtype)).sum(self.row)
        own = (total.astype(dtype) * square(apart)).sum(self.row)
        return (1.0 - alpha) * own + alpha * self._edges(p["W"]).roughness(apart, self.row), log_det

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        p = self._values
        tau = p["tau"] * self._precision(p)
        return MvNormal(p["mu"], tau=tau).draw(rng, dims)


class ICAR(NeighborVector, state=("zero_sum_stdev",)):
    """The intrinsic conditional autoregression: differences of neighbors are normal.

    The density is sigma^(c - n) exp(-Σ W (x - x')² / (4 sigma²)), for n elements in c connected
    components, up to a constant that depends on W alone, times one that keeps the sum near zero:
    normal with the standard deviation `zero_sum_stdev` times the number of elements (Morris et al.,
    Spatial and Spatio-temporal Epidemiology 31, 100301, 2019).

    Parameters
    ----------
    W : DimTensor
        Weights of neighbors, symmetric and 0 on the diagonal, over a dim and the same one renamed.
    sigma : DimTensor or number
    zero_sum_stdev : float

    Raises
    ------
    DimError
        If the dims of W are no pair.
    OptionError
        If W is known and not such a matrix; if it is not known yet, a call raises CheckError.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> k = dt.Dim("k", length=2)
    >>> W = dt.data([[0.0, 1.0], [1.0, 0.0]], dims=[k, k.rename()])
    >>> d = dist.ICAR(W)
    >>> x = dt.tensor("x", dims=k)
    >>> apart = (d.logp(x) - d.logp(dt.zeros(k))).eval({x: [1.0, -1.0]})
    >>> float(apart.round(12))
    -2.0
    """

    def __init__(self, W: TensorLike, sigma: TensorLike = 1.0, zero_sum_stdev: float = 0.001):
        self.zero_sum_stdev = zero_sum_stdev
        given = {"W": (W, "real"), "sigma": (sigma, "positive")}
        super().__init__("ICAR", given, {"sigma": ()})

    def logp(self, x: TensorLike) -> DimTensor:
        x, p = self._with(x)
        if self._is_fixed(p["W"]):
            rough = self._edges(p["W"]).roughness(x, self.row)
        else:
            apart = square(x - x.relabel(self.row, self.col))
            rough = 0.5 * (p["W"] * apart).sum([self.row, self.col])
        pairs = rough / (2.0 * square(p["sigma"]))
        wide = (full((), self.zero_sum_stdev) * count_of((self.row,))).astype(x.dtype)
        total = x.sum(self.row) / wide
        value = -pairs - 0.5 * square(total) - HALF_LOG_2PI - log(wide)
        if self._parameters["sigma"].node.kind == "constant":
            if float(self._parameters["sigma"].node.attrs.value) == 1.0:
                return value
        free = count_of((self.row,)) - self._components(p["W"])
        return value - free.astype(x.dtype) * log(p["sigma"])

    def _components(self, W: DimTensor) -> DimTensor:
        """Count the connected components of the graph of neighbors.

        Each element gets the lowest position among its neighbors, and then that of this one.
        """
        at, linked = arange(self.row), not_equal(W, 0.0)
        start = full(without(W.dims, [self.col]), at)

        def spread(state: Any) -> Any:
            lowest, _ = state
            other = where(linked, lowest.relabel(self.row, self.col), lowest)
            found = minimum(lowest, other.min(self.col))
            return found.isel({self.row: found}), lowest

        def moves(state: Any) -> Any:
            return not_equal(*state).any()

        lowest, _ = while_loop(moves, spread, (start, start - 1))
        return equal(lowest, at).sum(self.row)

    def draw(self, rng: Generator, dims: DimsLike = None) -> tuple[DimTensor, Any]:
        """Not defined: the density is improper, its integral is infinite.

        Raises
        ------
        GraphError
            Always.
        """
        raise self._missing("draw", "the density is improper: its integral is infinite")
