"""Axis lengths: equivalence classes of axes of a positional graph that have the same length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

from dimtensor.ops.graphs import reduced_axes_of
from dimtensor.ops.positions import GroupExtreme, OwnerOf
from dimtensor.ops.slices import WHOLE, along_axes
from dimtensor.optimize.plan.signatures import core_op, same_axes

Axis = tuple[Variable, int]


class Extents:
    """Union-find over the axes of all variables of a graph.

    Pairs of axes that are known to have the same length can be given.

    Axes of static length 1 are left out: they may be broadcast. Where they may not, `promised` has
    the pairs of axes, by node, that are only right if the other one has length 1 as well.
    """

    def __init__(self, graph: FunctionGraph, same: Iterable[tuple[Axis, Axis]] = ()):
        self._parent: dict[Axis, Axis] = {}
        self.promised: dict[Apply, list[tuple[Axis, Axis]]] = {}
        for one, two in same:
            a, b = self.find(one), self.find(two)
            if a != b:
                self._parent[b] = a
        for node in graph.toposort():
            self._unify_node(node, node)

    def find(self, axis: Axis) -> Axis:
        """Return the representative of the axes of equal length."""
        parent = self._parent
        root = parent.setdefault(axis, axis)
        while parent[root] is not root and parent[root] != root:
            root = parent[root]
        while parent[axis] != root:
            parent[axis], axis = root, parent[axis]
        return root

    def _unify(self, node: Apply, one: Axis, two: Axis, broadcasts: bool = False) -> None:
        """Note that a node wants two axes as long as each other, if the second is not broadcast."""
        single, other = (v.type.shape[axis] == 1 for v, axis in (one, two))
        if single or other:
            if single != other and not (broadcasts and other):
                self.promised.setdefault(node, []).append((one, two))
            return
        a, b = self.find(one), self.find(two)
        if a != b:
            self._parent[b] = a

    def _unify_node(self, node: Apply, by: Apply) -> None:
        """Axes of a node, which is a part of what the node `by` does."""
        op = node.op
        out = node.outputs[0]
        if isinstance(op, Elemwise):
            for result in node.outputs:
                for variable in node.inputs:
                    for axis in range(out.type.ndim):
                        self._unify(by, (result, axis), (variable, axis), broadcasts=True)
        elif isinstance(op, DimShuffle):
            for axis, source in enumerate(op.new_order):
                if source != "x":
                    self._unify(by, (out, axis), (node.inputs[0], source))
        elif isinstance(op, CAReduce):
            kept = kept_axes(node)
            for axis, source in enumerate(kept):
                self._unify(by, (out, axis), (node.inputs[0], source))
        elif isinstance(op, (IncSubtensor, AdvancedIncSubtensor)):
            for axis in range(out.type.ndim):
                self._unify(by, (out, axis), (node.inputs[0], axis))
            selection, value = selection_of(node), node.inputs[1]
            self._unify_node(selection.owner, by)
            gap = selection.type.ndim - value.type.ndim
            # a value may have more axes, whose length is 1
            for axis in range(max(-gap, 0), value.type.ndim):
                self._unify(by, (selection, axis + gap), (value, axis), broadcasts=True)
        elif isinstance(op, Subtensor):
            for axis, source in full_axes(op, node.inputs[0].type.ndim):
                self._unify(by, (out, axis), (node.inputs[0], source))
        elif isinstance(op, AdvancedSubtensor):
            self._unify_gather(node, by)
        elif isinstance(op, OwnerOf):
            self._unify(by, (out, 0), (node.inputs[1], 0))
        elif isinstance(op, Alloc):
            value = node.inputs[0]
            gap = out.type.ndim - value.type.ndim
            for axis in range(value.type.ndim):
                self._unify(by, (out, axis + gap), (value, axis), broadcasts=True)
        else:
            for one, two in same_axes(node):
                self._unify(by, one, two)
            if isinstance(core_op(node), GroupExtreme):
                owners = node.inputs[1].owner
                if owners is not None and isinstance(owners.op, OwnerOf):
                    self._unify(by, (out, out.type.ndim - 1), (owners.inputs[0], 0))

    def _unify_gather(self, node: Apply, by: Apply) -> None:
        layout = gather_layout(node)
        if layout is None:
            return
        x, *indices = node.inputs
        for axis, entry in enumerate(along_axes(node.op.idx_list, x.type.ndim)):
            owners = None if isinstance(entry, slice) else indices[entry].owner
            if owners is not None and isinstance(owners.op, OwnerOf):
                self._unify(by, (x, axis), (owners.inputs[0], 0))
        out = node.outputs[0]
        for axis, (kind, source) in enumerate(layout):
            if kind == "full":
                self._unify(by, (out, axis), (x, source))
            else:
                ndim = max(i.type.ndim for i in indices)
                for index in indices:
                    own = source - (ndim - index.type.ndim)
                    if own >= 0:
                        self._unify(by, (out, axis), (index, own), broadcasts=True)

    def of(self, variable: Variable) -> tuple[Axis | int, ...]:
        """Return the lengths of a variable: 1, or the representative of the axis."""
        shape = enumerate(variable.type.shape)
        return tuple(1 if length == 1 else self.find((variable, axis)) for axis, length in shape)

    def classes(self) -> dict[Axis, list[Axis]]:
        """All axes by their class."""
        found: dict[Axis, list[Axis]] = {}
        for axis in list(self._parent):
            found.setdefault(self.find(axis), []).append(axis)
        return found


def selection_of(node: Apply) -> Variable:
    """Return a variable with the shape of the selection of an update; cached on the node."""
    selection = getattr(node.tag, "kernel_selection", None)
    if selection is None or selection.owner.inputs != [node.inputs[0], *node.inputs[2:]]:
        x = node.inputs[0]
        kind = Subtensor if isinstance(node.op, IncSubtensor) else AdvancedSubtensor
        selection = kind(node.op.idx_list)(x, *node.inputs[2:])
        node.tag.kernel_selection = selection
    return selection


def kept_axes(node: Apply) -> list[int]:
    """Axes of the input that a reduction keeps, in order."""
    reduced = reduced_axes_of(node)
    return [axis for axis in range(node.inputs[0].type.ndim) if axis not in reduced]


def full_axes(op: Any, ndim: int) -> list[tuple[int, int]]:
    """(output axis, input axis) of the axes that a basic selection takes in full."""
    pairs = []
    out = 0
    for axis, entry in enumerate(along_axes(op.idx_list, ndim)):
        if isinstance(entry, slice):
            if entry == WHOLE:
                pairs.append((out, axis))
            out += 1
    return pairs


def gather_layout(node: Apply) -> list[tuple[str, int]] | None:
    """Describe each output axis of an advanced selection; None for other kinds.

    ``("full", a)`` is axis a of the source; ``("index", k)`` is axis k of the broadcast indices.
    """
    op = node.op
    incremental = isinstance(op, AdvancedIncSubtensor)
    x = node.inputs[0]
    indices = node.inputs[2:] if incremental else node.inputs[1:]
    entries = along_axes(op.idx_list, x.type.ndim)
    if any(isinstance(e, slice) and e != WHOLE for e in entries):
        return None
    if any(not hasattr(i.type, "dtype") or i.type.dtype == "bool" for i in indices):
        return None
    at = [axis for axis, entry in enumerate(entries) if not isinstance(entry, slice)]
    ndim = max((i.type.ndim for i in indices), default=0)
    index_axes = [("index", k) for k in range(ndim)]
    full = [(axis, ("full", axis)) for axis, e in enumerate(entries) if isinstance(e, slice)]
    consecutive = at == list(range(at[0], at[0] + len(at)))
    if not consecutive:
        return index_axes + [pair for _, pair in full]
    before = [pair for axis, pair in full if axis < at[0]]
    after = [pair for axis, pair in full if axis > at[0]]
    return before + index_axes + after


def earlier_update(graph: FunctionGraph, node: Apply) -> Apply | None:
    """Return the scatter-add to whose result a scatter-add adds, if nothing else reads it.

    Pairs that are looked up, as of neighbors, have two of them in their gradient.
    """
    before = node.inputs[0].owner
    for each in (node, before):
        if each is None or not isinstance(each.op, AdvancedIncSubtensor):
            return None
        if each.op.set_instead_of_inc:
            return None
    return before if len(graph.clients[node.inputs[0]]) == 1 else None
