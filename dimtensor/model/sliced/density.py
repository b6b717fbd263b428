"""Value and gradient of a log density as what is counted once and the shares of slices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dimtensor.compile.sliced.program import SliceProgram
from dimtensor.compile.sliced.storage import narrow_storage
from dimtensor.dims import Dim
from dimtensor.graph import Node, leaves

if TYPE_CHECKING:
    from dimtensor.model.functions import ModelFunctions

# Value and gradient of a log density, or the shares of a slice in them.
Pair = Sequence[np.ndarray]


class Evaluator(Protocol):
    """Computes the log density of a model in another way than by one call of compiled code."""

    def logp_and_grad(self, x: np.ndarray, /) -> Pair:
        """Return value and gradient at a flat vector, a contiguous array of float64."""


class Evaluation(Protocol):
    """A way to evaluate log densities; pickled with them, if it can be."""

    def __call__(self, functions: ModelFunctions, /) -> Evaluator | None:
        """Make the evaluator of a model on its data; None for one call of compiled code."""


class DensitySlices:
    """Value and gradient of a log density, in slices of a dim.

    Parameters
    ----------
    functions : ModelFunctions
    dim : Dim
    rows : bool
        Whether the density may be that of distinct rows of the data, in place of all of them, which
        takes all data in memory; `dim` may then be a dim of distinct rows.
    elsewhere : collection of Node
        Data along the dim that are not in memory as a whole.
    length : int, optional
        Length of the dim, where neither the dim nor data in memory have it.

    Attributes
    ----------
    program : SliceProgram
        Of value and gradient as functions of the flat vector; models that differ in data share it.
    held : HeldSlices
    lengths : list of ndarray
        Lengths of dims of parameters, which the code takes after the vector.

    Raises
    ------
    PartitionError
        If the log density is no sum over the dim.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs, mu = dt.Dim("obs"), dt.scalar("mu")
    >>> y = dt.data([1.0, 2.0, 4.0], dims=obs)
    >>> logp = {"y": -((y - mu) ** 2), "mu": -(mu**2)}
    >>> density = dt.LogDensity(logp, {mu: dt.real}, backend="python")
    >>> slices, x = DensitySlices(density.functions, obs), np.array([1.0])
    >>> pieces = [slices.held.pieces(0, 2), slices.held.pieces(2, 3)]
    >>> shares = [slices.share(pieces[0], 0), slices.share(pieces[1], 2)]
    >>> value, gradient = slices.total([share(x) for share in shares], slices.rest(x))
    >>> float(value), gradient.tolist()
    (-11.0, [6.0])
    """

    def __init__(
        self,
        functions: ModelFunctions,
        dim: Dim,
        *,
        rows: bool = False,
        elsewhere: Collection[Node] = (),
        length: int | None = None,
    ):
        parts = functions.computed if rows else functions.assembly
        self._late = functions.late_roots()
        values = {**functions.replaced, **functions.row_values} if rows else functions.replaced
        outputs = [parts.value.node, parts.gradient.node]
        stored = narrow_storage(outputs, dim, values) if rows else {}
        key = ("slices", dim, parts.value.node, tuple(self._late), frozenset(stored.items()))
        known = functions.shared.get(key)
        if known is None:
            inputs: list[Node | Dim] = [parts.flat.node, *self._late]
            known = SliceProgram(inputs, outputs, dim, functions.backend, stored=stored)
            functions.shared[key] = known
        self.program: SliceProgram = known
        own = set(leaves(self.program.outputs))
        replaced = {node: value for node, value in values.items() if node in own}
        self.held = self.program.hold(replaced, elsewhere, length)
        self.lengths = [
            np.asarray(dim._bound_length(functions.binding), dtype=np.int64) for dim in self._late
        ]

    def share(
        self, pieces: Sequence[np.ndarray], start: int = 0, length: int | None = None
    ) -> Callable[[np.ndarray], Pair]:
        """Bind the data of a slice; see :meth:`HeldSlices.share`."""
        call, lengths = self.held.share(pieces, start, length), self.lengths
        return (lambda x: call(x, *lengths)) if lengths else call

    def rest(self, x: np.ndarray) -> list[np.ndarray | None]:
        """Compute the terms without the dim: priors and Jacobians."""
        return self.held.rest(x, *self.lengths)

    def total(self, shares: Sequence[Pair], rest: Sequence[np.ndarray | None]) -> Pair:
        """Add the shares of all slices, in order, and the rest."""
        return self.program.total(shares, rest)
