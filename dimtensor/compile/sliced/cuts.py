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
from dimtensor.tuning import (
    CALL,
    FEWEST_SLICES,
    MOST_SLICES,
    QUICK,
    QUICK_OPERATION,
    SLICE_BLOCK,
    SLICE_RESULTS,
    SLICE_WORK,
)  # fmt: skip


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
        """Return where slices start and stop.

        Long slices have whole blocks of rows, which start at cache lines where the whole does.
        Lengths differ by a block at most, those of short slices by one.
        """
        unit = SLICE_BLOCK if length >= self.number * SLICE_BLOCK * 16 else 1
        bounds = [length * at // self.number // unit * unit for at in range(self.number)]
        bounds.append(length)
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
    if most < FEWEST_SLICES:
        return None
    number = 2 ** int(math.log2(max(1, min(most, MOST_SLICES, lengths[dim]))))
    return SliceCut(dim, number) if number > 1 else None


def work(outputs: Sequence[Node], binding: Binding) -> float:
    """Estimate the time of outputs, in units of the time that a byte takes to be read.

    Notes
    -----
    Functions of a library take time of their own; cheap operations are made while the next values
    are read. A derivative costs about twice as much as its function. Repetitions of loops are not
    counted, so that loops are cut into fewer slices than they could be.
    """
    nodes = toposort(outputs)
    inside = with_regions([node for node in nodes if node.kind in DERIVATIVES])
    read = sum(_bytes(node, binding) for node in nodes)
    calls, quick = 0.0, 0.0
    for node in [*with_regions(nodes), *inside]:
        cost = _operations(node, binding)
        if _is_call(node):
            calls += cost
        else:
            quick += cost
    return calls + max(read, QUICK_OPERATION * quick)


def _bytes(node: Node, binding: Binding) -> int:
    return np.dtype(node.dtype).itemsize * _size(node, binding) if node.kind in LEAF_KINDS else 0


def _is_call(node: Node) -> bool:
    """Return True for operations that a library's functions compute."""
    if node.kind in ("reduce", "softmax"):
        return node.kind == "softmax" or node.attrs.name == "logsumexp"
    if node.kind != "elemwise" or weight(node.attrs) < CALL:
        return False
    # powers with constant exponents are products, and roots
    return not (node.attrs == "power" and node.inputs[1].kind == "constant")


def _operations(node: Node, binding: Binding) -> float:
    if node.kind in LEAF_KINDS or node.kind in DERIVATIVES or not node.inputs:
        return 0
    if node.kind == "dot":
        dims = dict.fromkeys(dim for x in node.inputs for dim in x.dims)
        return math.prod(_length(dim, binding) for dim in dims)
    if node.kind == "elemwise":
        cost = weight(node.attrs)
        return (QUICK if cost == CALL and not _is_call(node) else cost) * _size(node, binding)
    if node.kind == "index":
        return _size(node, binding)
    largest = max(_size(x, binding) for x in (node, *node.inputs))
    return CALL * largest if _is_call(node) else largest


def _size(node: Node, binding: Binding) -> int:
    return math.prod(_length(dim, binding) for dim in node.dims)


def _length(dim: Dim, binding: Binding) -> int:
    """Return the length of a dim; of one whose length values decide, an upper bound."""
    known = dim._bound_length(binding)
    if known is not None:
        return known
    return math.prod(_length(parent, binding) for parent in dim.parents)
