"""Choice of the dim that is cut, and of the number of slices.

Both follow from the expressions and the lengths alone, so that results do not depend on the number
of threads, nor on the machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.compile.obstacles import refusal
from dimtensor.cost.weights import weight
from dimtensor.dims import Binding, Dim
from dimtensor.graph import Node, leaves, toposort
from dimtensor.graph.partition.analysis import Combined, Split, split
from dimtensor.graph.regions import DERIVATIVES
from dimtensor.graph.walk import LEAF_KINDS, with_regions
from dimtensor.lower import plan_axes
from dimtensor.tuning import MOST_SLICES, READ_BYTE, SLICE_RESULTS, SLICE_WORK


class SliceCut(NamedTuple):
    """A dim that is cut, and the number of slices.

    Examples
    --------
    >>> SliceCut(Dim("obs"), 4).ends(10)
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    """

    dim: Dim
    number: int

    def ends(self, length: int) -> list[tuple[int, int]]:
        """Return where slices start and stop, whose lengths differ by one at most."""
        bounds = [length * at // self.number for at in range(self.number + 1)]
        return list(itertools.pairwise(bounds))


def dims_to_cut(outputs: Sequence[Node], kinds: Collection[str] = LEAF_KINDS) -> list[Dim]:
    """Return the dims of leaves along which expressions can be cut.

    Parameters
    ----------
    outputs : sequence of Node
    kinds : collection of str
        Kinds of the leaves.

    Raises
    ------
    PartitionError
        If there are none, though there are dims: the error is that of the longest of them.
    """
    found: list[Dim] = []
    refused: list[Split] = []
    own = [leaf for leaf in leaves(outputs) if leaf.kind in kinds]
    for dim in dict.fromkeys(dim for leaf in own for dim in leaf.dims if not dim.parents):
        splits = [split(y, dim) for y in outputs]
        obstacles = [one for one in splits if one.obstacle is not None]
        refused += obstacles[:1]
        if not obstacles and any(one.role is not None for one in splits):
            found.append(dim)
    if refused and not found:
        raise refusal(max(refused, key=lambda one: _rank(one.dim.length)))
    return found


def _rank(length: int | None) -> float:
    return math.inf if length is None else length


def cut_for(outputs: Sequence[Node], dims: Sequence[Dim], binding: Binding) -> SliceCut | None:
    """Choose a cut for given lengths; None if the work is too little for slices.

    Parameters
    ----------
    outputs : sequence of Node
    dims : sequence of Dim
        Dims that can be cut.
    binding : Binding
        Lengths of dims.
    """
    lengths = {dim: dim._bound_length(binding) or 0 for dim in dims}
    if not lengths:
        return None
    # of equal lengths the outermost, whose slices are contiguous
    order = plan_axes(outputs)
    dim = min(lengths, key=lambda one: (-lengths[one], order.key(one)))
    combined = [y for y in outputs if isinstance(split(y, dim).role, Combined)]
    results = sum(_size(y, binding) for y in combined)
    most = work(outputs, binding) / max(SLICE_WORK, SLICE_RESULTS * results)
    number = 2 ** int(math.log2(max(1, min(most, MOST_SLICES, lengths[dim]))))
    return SliceCut(dim, number) if number > 1 else None


def work(outputs: Sequence[Node], binding: Binding) -> float:
    """Estimate the work of outputs: operations, weighted by their costs, and bytes read.

    Notes
    -----
    A derivative costs about twice as much as its function. Repetitions of loops are not counted, so
    that loops are cut into fewer slices than they could be.
    """
    nodes = toposort(outputs)
    inside = with_regions([node for node in nodes if node.kind in DERIVATIVES])
    own = sum(_operations(node, binding) for node in with_regions(nodes))
    return own + sum(_operations(node, binding) for node in inside)


def _operations(node: Node, binding: Binding) -> float:
    if node.kind in LEAF_KINDS:
        return READ_BYTE * np.dtype(node.dtype).itemsize * _size(node, binding)
    if node.kind in DERIVATIVES or not node.inputs:
        return 0
    if node.kind == "dot":
        dims = dict.fromkeys(dim for x in node.inputs for dim in x.dims)
        return math.prod(_length(dim, binding) for dim in dims)
    if node.kind == "elemwise":
        return weight(node.attrs) * _size(node, binding)
    if node.kind == "index":
        return _size(node, binding)
    return max(_size(x, binding) for x in (node, *node.inputs))


def _size(node: Node, binding: Binding) -> int:
    return math.prod(_length(dim, binding) for dim in node.dims)


def _length(dim: Dim, binding: Binding) -> int:
    """Return the length of a dim; of one whose length values decide, an upper bound."""
    known = dim._bound_length(binding)
    if known is not None:
        return known
    return math.prod(_length(parent, binding) for parent in dim.parents)
