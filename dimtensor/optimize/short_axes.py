"""Short axes written out: an array with a short axis as so many arrays without it.

A sum over four components for each of many observations is a loop in a loop, whose elements are
stored by one loop nest and read by another. Written as the sum of four vectors it is one expression
of an element: what value and gradient need of an observation stays in registers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Add, Mul
from pytensor.tensor.basic import Alloc, Join
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.subtensor import AdvancedIncSubtensor
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax
from dimtensor.ops.facts import REDUCTIONS
from dimtensor.ops.loop.op import Scan
from dimtensor.optimize.exponentials import FewTerms
from dimtensor.optimize.plan.axis_lengths import gather_layout, kept_axes
from dimtensor.tuning import (
    UNROLLED_LENGTH,
    UNROLLED_OPERATIONS,
)

_SOFTMAX = (ScaledSoftmax, Softmax)


def write_out_short_axes(graph: FunctionGraph) -> None:
    """Write out axes that are short and reduced over, where all else is long.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.

    Notes
    -----
    An array is written out where everything that reads it is an operation on elements or a
    reduction, and leads to one over its short axis, or adds it up by group along another axis. Of
    what a loop takes step by step the parts are joined. Those of inputs, and of what is computed by
    other operations, are read element by element; what is looked up along another axis is looked up
    in a part.

    Sums and products over a short axis are taken from its first position to its last.

    Examples
    --------
    >>> x, b = pt.matrix("x", shape=(None, 2)), pt.vector("b", shape=(2,))
    >>> graph = FunctionGraph([x, b], [pt.exp((x * b).sum(axis=1))], clone=False)
    >>> write_out_short_axes(graph)
    >>> sorted({node.outputs[0].type.ndim for node in graph.toposort()})  # no matrix is left
    [0, 1]
    """
    chosen = _Region(graph).chosen()
    if chosen is None:
        return
    parts = ShortAxisParts(chosen.inside)
    for node in chosen.ends:
        out = node.outputs[0]
        if isinstance(node.op, Softmax):
            found = parts.log_softmax(node)
        else:
            found = parts.joined(node) if _is_reduction(node) else parts.by_group(node)
        new = out.type.filter_variable(found)
        parts.replaced[out] = new
        graph.replace(out, new, reason="short_axes", import_missing=True)
    for out in chosen.sequences:
        new = out.type.filter_variable(parts.stacked(out))
        graph.replace(out, new, reason="short_axes", import_missing=True)


def joins(variable: Variable, axis: int) -> bool:
    """Return whether a variable is a concatenation of pieces of known lengths along an axis."""
    node = variable.owner
    if node is None or not isinstance(node.op, Join) or node.op.axis % variable.type.ndim != axis:
        return False
    return all(piece.type.shape[axis] is not None for piece in node.inputs)


class _WrittenOut(NamedTuple):
    """Variables to unroll.

    Attributes
    ----------
    inside : set of Variable
    ends : list of Apply
        Reductions whose results are arrays as before.
    sequences : list of Variable
        Arrays that loops take step by step.
    """

    inside: set[Variable]
    ends: list[Apply]
    sequences: list[Variable]


def short_axes(variable: Variable, most: int = UNROLLED_LENGTH) -> tuple[int, ...]:
    """Return the short axes of an array that also has a long one."""
    if not isinstance(variable.type, TensorType):
        return ()
    shape = variable.type.shape
    short = tuple(k for k, n in enumerate(shape) if n is not None and 1 < n <= most)
    has_long = any(n is None or n > most for n in shape)
    count = math.prod(n or 1 for k, n in enumerate(shape) if k in short)
    return short if has_long and count <= most else ()


def _is_reduction(node: Apply) -> bool:
    if isinstance(node.op, LogSumExp):
        return set(node.op.axis) <= set(short_axes(node.inputs[0]))
    return isinstance(node.op, CAReduce) and type(node.op.scalar_op) in REDUCTIONS


class _Region:
    """Search for the variables of a graph to unroll."""

    def __init__(self, graph: FunctionGraph):
        self._graph = graph
        self._nodes = list(graph.toposort())

    def chosen(self) -> _WrittenOut | None:
        inside: set[Variable] = set()
        for variables, nodes in self._components(self._candidates()):
            reduces = any(map(_is_over_short_alone, nodes))
            reduces |= any(isinstance(node.op, _SOFTMAX) for node in nodes)
            if reduces and sum(map(_count, variables)) <= UNROLLED_OPERATIONS:
                inside |= variables
        ends = [
            node
            for node in self._nodes
            if (
                _is_reduction(node)
                and node.outputs[0] not in inside
                and (node.inputs[0] in inside or self._reads_elements(node, inside))
            )
            or (isinstance(node.op, AdvancedIncSubtensor) and node.inputs[1] in inside)
            or (_is_log_softmax(node) and self._shares_none(node, inside))
        ]
        sequences = [
            node.outputs[0]
            for node in self._nodes
            if node.outputs[0] in inside
            and any(
                _takes_in_steps(reader, node.outputs[0])
                for reader, _ in self._graph.clients[node.outputs[0]]
            )
        ]
        return _WrittenOut(inside, ends, sequences) if ends or sequences else None

    def _reads_elements(self, node: Apply, inside: set[Variable]) -> bool:
        """Return whether a log-sum-exp of a stored array is unrolled with all its softmaxes."""
        if not isinstance(node.op, LogSumExp) or not _is_over_short_alone(node):
            return False
        return all(v in inside for v in self._softmaxes(node.inputs[0]))

    def _shares_none(self, node: Apply, inside: set[Variable]) -> bool:
        """Return whether no other softmax of a stored array takes its exponentials as a whole."""
        (out,) = node.outputs
        others = [v for v in self._softmaxes(node.inputs[0]) if v is not out]
        return out not in inside and all(v in inside for v in others)

    def _softmaxes(self, x: Variable) -> list[Variable]:
        readers = [reader for reader, _ in self._graph.clients[x] if isinstance(reader, Apply)]
        return [reader.outputs[0] for reader in readers if isinstance(reader.op, _SOFTMAX)]

    def _candidates(self) -> set[Variable]:
        """Arrays with short axes that only operations on elements and reductions read."""
        outputs = set(self._graph.outputs)
        found: set[Variable] = set()
        for node in reversed(self._nodes):
            out = node.outputs[0]
            if not (_is_elementwise(node) or _is_reduction(node)) or not short_axes(out):
                continue
            readers = [reader for reader, _ in self._graph.clients[out]]
            if out not in outputs and all(_reads_parts(reader, out, found) for reader in readers):
                found.add(out)
        return found

    def _components(self, candidates: set[Variable]) -> list[tuple[set[Variable], list[Apply]]]:
        """Candidates that operations connect, and these operations."""
        root = {v: v for v in candidates}

        def find(v: Variable) -> Variable:
            while root[v] is not v:
                root[v] = v = root[root[v]]
            return v

        touched: list[tuple[Variable, Apply]] = []
        for node in self._nodes:
            near = [v for v in (*node.inputs, *node.outputs) if v in candidates]
            for v in near[1:]:
                root[find(v)] = find(near[0])
            if near:
                touched.append((near[0], node))
        found: dict[Variable, tuple[set[Variable], list[Apply]]] = {}
        for v in candidates:
            found.setdefault(find(v), (set(), []))[0].add(v)
        for v, node in touched:
            found[find(v)][1].append(node)
        return list(found.values())


def _is_elementwise(node: Apply) -> bool:
    """Return whether each part of a result is computed from parts of the operands."""
    if isinstance(node.op, _SOFTMAX):
        return set(node.op.axis) <= set(short_axes(node.inputs[0]))
    if isinstance(node.op, Elemwise):
        return len(node.outputs) == 1
    return isinstance(node.op, DimShuffle)


def _is_log_softmax(node: Apply) -> bool:
    """Return whether a node is the logarithm of a softmax over all short axes of an array."""
    is_log = isinstance(node.op, Softmax) and node.op.log
    return is_log and node.op.axis == short_axes(node.inputs[0])


def _takes_in_steps(reader: Apply | str, variable: Variable) -> bool:
    """Return whether a loop takes an array step by step."""
    if not isinstance(reader, Apply) or not isinstance(reader.op, Scan):
        return False
    return variable in reader.op.split_inputs(reader.inputs).sequences


def _reads_parts(reader: Apply | str, variable: Variable, found: set[Variable]) -> bool:
    """Return whether a reader can read the parts of an array, or takes them joined."""
    if not isinstance(reader, Apply):
        return False
    if _takes_in_steps(reader, variable):
        return True
    out = reader.outputs[0]
    if out in found or (_is_reduction(reader) and not short_axes(out)):
        return True
    if not _adds_parts(reader):
        return False
    target, added, *_ = reader.inputs
    return added is variable and target is not variable


def _adds_parts(node: Apply) -> bool:
    """Return whether an update adds a value whose short axes are axes of the target, too."""
    if not isinstance(node.op, AdvancedIncSubtensor) or node.op.set_instead_of_inc:
        return False
    value, layout = node.inputs[1], _plain_layout(node)
    if len(layout) != value.type.ndim:
        return False
    shape = node.inputs[0].type.shape
    return all(
        layout[axis][0] == "full" and shape[layout[axis][1]] == value.type.shape[axis]
        for axis in short_axes(value)
    )


def _plain_layout(node: Apply) -> list[tuple[str, int]]:
    """Return the axes of a selection by positions; empty if some of them may move."""
    taken = [axis for axis, entry in enumerate(node.op.idx_list) if not isinstance(entry, slice)]
    in_place = taken[-1] - taken[0] + 1 == len(taken)
    return (gather_layout(node) or []) if in_place else []


def _without_axes(op: Any, taken: Collection[int]) -> tuple[Any, ...]:
    """Return the entries of a selection for an array that lacks some fully selected axes."""
    return tuple(entry for axis, entry in enumerate(op.idx_list) if axis not in taken)


def _is_over_short_alone(node: Apply) -> bool:
    """Return whether a reduction over a short axis keeps a long one."""
    if not _is_reduction(node):
        return False
    x, kept = node.inputs[0], kept_axes(node)
    short = short_axes(x)
    lengths = [x.type.shape[axis] for axis in kept if axis not in short]
    return any(axis not in kept for axis in short) and any(n != 1 for n in lengths)


def _count(variable: Variable) -> int:
    """Count the parts of an array."""
    return math.prod(variable.type.shape[axis] for axis in short_axes(variable))


class ShortAxisParts:
    """Arrays without their short axes, at positions of these."""

    def __init__(self, inside: set[Variable], most: int = UNROLLED_LENGTH):
        self._inside = inside
        self._most = most
        self._known: dict[tuple[Variable, frozenset[tuple[int, int]]], Variable] = {}
        self._few: dict[Any, FewTerms] = {}
        self.replaced: dict[Variable, Variable] = {}

    def joined(self, node: Apply) -> Variable:
        """Return the result of a reduction as an array."""
        out = node.outputs[0]
        kept = [
            k
            for k, axis in enumerate(kept_axes(node))
            if axis in short_axes(node.inputs[0], self._most)
        ]
        if not kept:
            return self._reduced(node, {})
        shape = [out.type.shape[axis] for axis in kept]
        places = itertools.product(*map(range, shape))
        parts = [self._reduced(node, dict(zip(kept, at, strict=True))) for at in places]
        numbers = [part.dimshuffle(()) for part in parts]  # what is left of their axes is 1 long
        vector = pt.stack(numbers)
        return vector if out.type.ndim == 1 else vector.reshape(out.type.shape)

    def stacked(self, variable: Variable) -> Variable:
        """Join the parts of an array."""
        short = short_axes(variable, self._most)
        shape = [variable.type.shape[axis] for axis in short]
        found = np.empty(shape, dtype=object)
        for at in itertools.product(*map(range, shape)):
            found[at] = self.part(variable, dict(zip(short, at, strict=True)))
        return _stacked(found, short)

    def part(self, variable: Variable, at: Mapping[int, int]) -> Variable:
        """Return an array at positions of some axes, without them."""
        variable = self.replaced.get(variable, variable)
        if not at:
            return variable
        key = variable, frozenset(at.items())
        if key not in self._known:
            self._known[key] = self._part(variable, at)
        return self._known[key]

    def _part(self, variable: Variable, at: Mapping[int, int]) -> Variable:
        node = variable.owner
        if node is not None and isinstance(node.op, DimShuffle):
            return self._moved(node, at)
        if variable in self._inside:
            if _is_reduction(node):
                return self._reduced(node, at)
            if isinstance(node.op, _SOFTMAX):
                return self._softmax(node, at)
            return node.op(*(self._operand(operand, at) for operand in node.inputs))
        for axis in at:
            if joins(variable, axis):
                return self._piece(node, axis, at)
        if node is not None and isinstance(node.op, Alloc):
            return self._repeated(node, at)
        if isinstance(variable, Constant):
            return pt.constant(variable.data[_entries(variable, at)])
        return variable[_entries(variable, at)]

    def _operand(self, operand: Variable, at: Mapping[int, int]) -> Variable:
        """Return a part of an operand that may broadcast along some of the axes."""
        shape = operand.type.shape
        return self.part(operand, {k: 0 if shape[k] == 1 else where for k, where in at.items()})

    def _softmax(self, node: Apply, at: Mapping[int, int]) -> Variable:
        x, *factor = node.inputs
        along = {axis: at[axis] for axis in node.op.axis}
        here = {axis: where for axis, where in at.items() if axis not in along}
        shape = [x.type.shape[axis] for axis in along]
        which = int(np.ravel_multi_index(tuple(along.values()), shape))
        few = self._exponentials(x, here, along)
        if factor:
            return few.scaled_softmax(which, self._operand(factor[0], at))
        return few.log_softmax(which) if node.op.log else few.softmax(which)

    def log_softmax(self, node: Apply) -> Variable:
        """Return the logarithm of a softmax of an array that is stored."""
        (x,) = node.inputs
        few = self._exponentials(x, {}, node.op.axis)
        kept = iter(range(x.type.ndim))
        order = ["x" if axis in node.op.axis else next(kept) for axis in range(x.type.ndim)]
        return (x - few.largest.dimshuffle(order)) - few.log_total.dimshuffle(order)

    def _exponentials(
        self, x: Variable, here: Mapping[int, int], over: Collection[int]
    ) -> FewTerms:
        """Return the exponentials over short axes, at positions of others."""
        shape = x.type.shape
        here = {axis: 0 if shape[axis] == 1 else where for axis, where in here.items()}
        key = x, frozenset(here.items()), tuple(over)
        if key not in self._few:
            places = itertools.product(*(range(shape[axis]) for axis in over))
            found = [self.part(x, here | dict(zip(over, each, strict=True))) for each in places]
            self._few[key] = FewTerms(found)
        return self._few[key]

    def _moved(self, node: Apply, at: Mapping[int, int]) -> Variable:
        (x,), order = node.inputs, node.op.new_order
        taken = {order[axis]: where for axis, where in at.items() if order[axis] != "x"}
        left = [axis for axis in range(x.type.ndim) if axis not in taken]
        kept = [source for axis, source in enumerate(order) if axis not in at]
        part = self.part(x, taken)
        return part.dimshuffle(*("x" if each == "x" else left.index(each) for each in kept))

    def _repeated(self, node: Apply, at: Mapping[int, int]) -> Variable:
        """Return a part of a broadcast array, broadcast."""
        value, *lengths = node.inputs
        gap = len(lengths) - value.type.ndim
        part = self._operand(
            value, {axis - gap: where for axis, where in at.items() if axis >= gap}
        )
        left = [axis for axis in range(len(lengths)) if axis not in at]
        if not left:
            return part
        # PyTensor would work out the lengths that the node knows
        of = node.outputs[0].type
        out = TensorType(of.dtype, [of.shape[axis] for axis in left])
        return Apply(node.op, [part, *(lengths[axis] for axis in left)], [out()]).outputs[0]

    def by_group(self, node: Apply) -> Variable:
        """Return a sum by group along other axes as an array."""
        x, value, *indices = node.inputs
        layout = _plain_layout(node)
        short = short_axes(value, self._most)
        shape = [value.type.shape[axis] for axis in short]
        over = [layout[axis][1] for axis in short]
        found = np.empty(shape, dtype=object)
        for at in itertools.product(*map(range, shape)):
            taken = dict(zip(over, at, strict=True))
            op = type(node.op)(_without_axes(node.op, taken))
            part = self.part(value, dict(zip(short, at, strict=True)))
            found[at] = op(self.part(x, taken), part, *indices)
        return _stacked(found, over)

    def _piece(self, node: Apply, axis: int, at: Mapping[int, int]) -> Variable:
        """Return a part of a concatenation, from the piece that contains it."""
        where = at[axis]
        for piece in node.inputs:
            length = piece.type.shape[axis]
            if where < length:
                break
            where -= length
        return self.part(piece, {**at, axis: where})

    def _reduced(self, node: Apply, at: Mapping[int, int]) -> Variable:
        """Return a reduction at positions of the short axes that it keeps."""
        (x,), (out,) = node.inputs, node.outputs
        kept, short = kept_axes(node), short_axes(x, self._most)
        here = {kept[axis]: where for axis, where in at.items()}
        over = [axis for axis in short if axis not in kept]
        if isinstance(node.op, LogSumExp):
            return self._exponentials(x, here, over).log_sum_exp
        dtype = str(out.type.dtype)
        if type(node.op.scalar_op) in (Add, Mul):
            dtype = accumulator(dtype)  # as in loops
        places = itertools.product(*(range(x.type.shape[axis]) for axis in over))
        parts = [self.part(x, here | dict(zip(over, each, strict=True))) for each in places]
        fold = Elemwise(node.op.scalar_op)
        total = reduce(fold, (pt.cast(each, dtype) for each in parts))
        left = [axis for axis in range(x.type.ndim) if axis not in over and axis not in here]
        axes = [number for number, axis in enumerate(left) if axis not in kept]
        if axes:
            wide = {} if node.op.dtype is None else {"dtype": dtype, "acc_dtype": dtype}
            total = node.op.clone(axis=axes, **wide)(total)
        return pt.cast(total, out.type.dtype)


def _stacked(parts: Any, axes: Sequence[int]) -> Variable:
    """Stack the parts of an array along axes that they lack."""
    if not axes:
        return parts
    first, *rest = axes
    later = [axis - 1 for axis in rest]
    return pt.stack([_stacked(part, later) for part in parts], axis=first)


def _entries(variable: Variable, at: Mapping[int, int]) -> tuple[int | slice, ...]:
    return tuple(at.get(axis, slice(None)) for axis in range(variable.type.ndim))
