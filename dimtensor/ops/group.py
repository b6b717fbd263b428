"""GroupPosition: where in a vector the first, smallest or largest element of each group is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op

WHICH = ("first", "min", "max")


class GroupPosition(Op):
    """Position of one element per group; -1 for a group without elements.

    Ties go to the smaller position. Of a group that has NaN, the extreme element is its first NaN,
    as in NumPy's ``min`` and ``max``.

    Parameters
    ----------
    which : {"first", "min", "max"}

    Notes
    -----
    Inputs are a vector of shape ``(n,)``, the integer group of each element of shape ``(n,)``, and
    the numbers of the groups, ``arange(k)``; the output has shape ``(k,)`` and dtype int64.
    Elements whose group is not in ``0 <= group < k`` belong to none. The output has
    no gradient: select the elements at the positions instead.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> op = GroupPosition("max")
    >>> op(np.array([3.0, 5.0, 4.0]), np.array([0, 2, 0]), np.arange(3)).eval().tolist()
    [2, -1, 1]
    """

    __props__ = ("which",)

    def __init__(self, which: str):
        if which not in WHICH:
            raise ValueError(f"which is one of {WHICH}, not {which!r}")
        self.which = which

    def make_node(self, x: Variable, codes: Variable, groups: Variable) -> Apply:
        x, codes, groups = (pt.as_tensor_variable(v) for v in (x, codes, groups))
        if not x.type.ndim == codes.type.ndim == groups.type.ndim == 1:
            raise TypeError("GroupPosition takes three vectors")
        if np.dtype(codes.type.dtype).kind not in "iu":
            raise TypeError(f"groups are integers, not {codes.type.dtype}")
        return Apply(self, [x, codes, groups], [pt.vector(dtype="int64", shape=groups.type.shape)])

    def perform(
        self, node: Apply, inputs: Sequence[np.ndarray], output_storage: list[list[Any]]
    ) -> None:
        x, codes, groups = inputs
        output_storage[0][0] = group_position(self.which, x, codes, len(groups))

    def infer_shape(self, node: Apply, shapes: Sequence[Any]) -> list[Any]:
        return [shapes[2]]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Variable]:
        from pytensor.gradient import DisconnectedType

        return [DisconnectedType()() for _ in inputs]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False], [False], [False]]


def group_position(which: str, x: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """NumPy implementation of :class:`GroupPosition`."""
    inside = (codes >= 0) & (codes < n_groups)
    at = np.flatnonzero(inside)
    x, codes = x[inside], codes[inside]
    if which != "first" and len(x):
        largest = which == "max"
        if x.dtype.kind == "f":
            start = -np.inf if largest else np.inf
        elif x.dtype.kind == "b":
            start = not largest
        else:
            start = np.iinfo(x.dtype).min if largest else np.iinfo(x.dtype).max
        extreme = np.full(n_groups, start, dtype=x.dtype)
        (np.maximum if largest else np.minimum).at(extreme, codes, x)
        hit = x == extreme[codes]
        if x.dtype.kind == "f":
            hit |= np.isnan(x)
        at, codes = at[hit], codes[hit]
    positions = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(positions, codes, at)
    return np.where(positions == np.iinfo(np.int64).max, -1, positions)


def _batched(which: str) -> Callable[..., np.ndarray]:
    """Return the function of vectors, over leading axes."""

    def positions(x: np.ndarray, codes: np.ndarray, groups: np.ndarray) -> np.ndarray:
        batch = np.broadcast_shapes(x.shape[:-1], codes.shape[:-1], groups.shape[:-1])
        x, codes = (np.broadcast_to(v, (*batch, v.shape[-1])) for v in (x, codes))
        found = np.empty((*batch, groups.shape[-1]), dtype=np.int64)
        for at in np.ndindex(batch):
            found[at] = group_position(which, x[at], codes[at], groups.shape[-1])
        return found

    return positions


first_positions, min_positions, max_positions = (_batched(which) for which in WHICH)
