"""Partition a graph into a per-call and a data-only part.

The inputs of a graph are the arguments of a call, and inputs that stay the same between calls.
Results computed from the latter alone become further inputs, computed by a graph of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Cast, ScalarOp, ScalarType
from pytensor.tensor.basic import Alloc, Nonzero, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.shape import Reshape, Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor, Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.graph.dtypes import is_inexact
from dimtensor.ops.constants import follows
from dimtensor.ops.facts import facts_of
from dimtensor.optimize.plan.axis_lengths import Axis
from dimtensor.optimize.plan.plan import Plan
from dimtensor.optimize.plan.segments import is_segmented
from dimtensor.tuning import DATA_ONLY_COST, DATA_ONLY_ELEMENTS, GATHER_COST

# Casts to floats: of long integers half a dozen instructions for a vector, before AVX-512.
_FROM = {"int64": DATA_ONLY_COST, "uint64": DATA_ONLY_COST, "bool": 2}
# Operations whose integers are no lengths.
_OF_VALUES = (Elemwise, ScalarOp, ScalarFromTensor, TensorFromScalar, CAReduce, DimShuffle)
_BY_INDEX = (AdvancedSubtensor, AdvancedIncSubtensor)


class DataSplit(NamedTuple):
    """Per-call graph, and the data-only graph whose results it takes.

    Attributes
    ----------
    graph : FunctionGraph
        Takes the results of `once` after its other inputs.
    once : FunctionGraph
        Takes the inputs that stay the same between calls.
    same_lengths : list of (Axis, Axis)
        Axes of `graph` whose equal length follows from the data-only part.
    """

    graph: FunctionGraph
    once: FunctionGraph
    same_lengths: list[tuple[Axis, Axis]]


def split_once(
    graph: FunctionGraph, fixed: Sequence[Variable], walks_segments: bool = True
) -> DataSplit | None:
    """Move data-only computations to a graph of their own; None where that is not worthwhile.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.
    fixed : sequence of Variable
        Inputs of the graph that stay the same between calls.
    walks_segments : bool
        Whether loops along segments are loops over them, which need no segment of each position.

    Notes
    -----
    An array is kept where it takes more than a few products to compute an element of it again,
    where its operands are read across the order in which they are stored, or where it was to be
    stored at every call anyway. It is no larger than another array that calls
    store or take, unless it is small: a product of two vectors of data is not kept as a matrix.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x, k = pt.dvector("x"), pt.dvector("k")
    >>> split = split_once(FunctionGraph([x, k], [(x - pt.gammaln(k)).sum()], clone=False), [k])
    >>> [str(node.op.scalar_op) for node in split.once.toposort()]
    ['gammaln']
    """
    if not fixed or len(fixed) == len(graph.inputs):
        return None
    chosen = _Chooser(graph, fixed, walks_segments).chosen()
    if not chosen:
        return None
    once = FunctionGraph(list(fixed), list(chosen.variables), clone=True)
    stand_ins = [v.type() for v in chosen.variables]
    for old, new in zip(chosen.variables, stand_ins, strict=True):
        graph.add_input(new)
        graph.replace(old, new, reason="once", import_missing=True)
    classes: dict[Axis, Axis] = {}
    pairs = []
    olds = dict(zip(stand_ins, chosen.variables, strict=True))
    made = (v for node in graph.toposort() for v in node.outputs)
    for variable in (*graph.inputs, *made):
        for axis in range(getattr(variable.type, "ndim", 0)):
            root = chosen.plan.extents.find((olds.get(variable, variable), axis))
            first = classes.setdefault(root, (variable, axis))
            if first != (variable, axis):
                pairs.append((first, (variable, axis)))
    return DataSplit(graph, once, pairs)


def lengths_are_known(graph: FunctionGraph) -> bool:
    """Return True if the lengths of the inputs determine all lengths of a graph.

    Data-only lengths, as of what a mask of data selects, are those of inputs once that part is
    split off. False where this is not certain.
    """
    known: set[Variable] = set()
    for node in graph.toposort():
        if follows(node, known) or isinstance(node.op, (Shape, Shape_i)):
            known.update(node.outputs)
        elif isinstance(node.op, Nonzero):
            return False
        elif not isinstance(node.op, _OF_VALUES):
            indices = node.inputs[1:] if isinstance(node.op, _BY_INDEX) else ()
            if any(_dtype(v) == "bool" for v in indices):
                return False
            lengths = [v for v in node.inputs if v not in known and not isinstance(v, Constant)]
            if any(_may_be_length(v, isinstance(node.op, Reshape)) for v in lengths):
                return False
    return True


def _may_be_length(variable: Variable, vector: bool) -> bool:
    of_one = getattr(variable.type, "ndim", 0) == 0 or (vector and variable.type.ndim == 1)
    return of_one and _dtype(variable).startswith(("int", "uint"))


def _dtype(variable: Variable) -> str:
    return str(getattr(variable.type, "dtype", ""))


class _KeptResults(NamedTuple):
    variables: list[Variable]
    plan: Plan


class _Chooser:
    """Search for the results of the data-only part that are kept."""

    def __init__(self, graph: FunctionGraph, fixed: Collection[Variable], walks_segments: bool):
        self._graph = graph
        self._walks_segments = walks_segments
        self._nodes = list(graph.toposort())
        # data-only variables, and the readers of their values, not only of their lengths
        self._known: set[Variable] = set(fixed)
        self._valued: set[Variable] = set(fixed)
        for node in self._nodes:
            if _follows(node, self._known):
                self._known.update(node.outputs)
                if not isinstance(node.op, (Shape, Shape_i)) and any(
                    v in self._valued for v in node.inputs
                ):
                    self._valued.update(node.outputs)
        self._costs: dict[Variable, int] = {}

    def chosen(self) -> _KeptResults | None:
        demanded = [(v, node) for v, node in self._demanded() if v.owner is not None]
        if not any(v in self._valued for v, _ in demanded):
            return None
        plan = self._plan = Plan(self._graph)
        self._sizes = _maximal(
            _classes(plan, v) for v in plan.stored if isinstance(v.type, TensorType)
        )
        for node in self._nodes:
            if node.outputs[0] in self._known:
                self._set_costs(node)
        found: dict[Variable, None] = {}
        seen: set[Variable] = set()
        stack = [v for v, _ in reversed(demanded)]
        while stack:
            variable = stack.pop()
            if variable in seen or variable not in self._valued or variable.owner is None:
                continue
            seen.add(variable)
            if self._is_worth_it(variable):
                found[variable] = None
            elif not isinstance(variable.owner.op, (Shape, Shape_i)):
                stack += reversed(variable.owner.inputs)
        if not any(v.type.ndim or v.owner not in plan.inline for v in found):
            return None  # some numbers are not worth a function
        return _KeptResults(list(found), plan)

    def _demanded(self) -> Iterator[tuple[Variable, Apply | None]]:
        """Yield the data-only variables that the per-call part reads."""
        for node in self._nodes:
            if node.outputs[0] not in self._known and not isinstance(node.op, (Shape, Shape_i)):
                for variable in node.inputs:
                    if variable in self._known:
                        yield variable, node
        for variable in self._graph.outputs:
            if variable in self._known and getattr(variable.type, "ndim", 1) == 0:
                yield variable, None

    def _set_costs(self, node: Apply) -> None:
        """Set the cost of computing an element of a result from arrays in memory."""
        op, cost = node.op, 0
        costs = [self._costs.get(v, 0) for v in node.inputs]
        if node in self._plan.inline:
            if isinstance(op, Elemwise):
                cost = sum(costs) + _cost(node)
            elif isinstance(op, AdvancedSubtensor):
                # what a mask selects is no longer than what it is selected from
                masked = any(_is_by_mask(v) for v in node.inputs[1:])
                cost = DATA_ONLY_COST if masked else GATHER_COST + sum(costs[1:])
            elif isinstance(op, DimShuffle):
                # a broadcast value is computed once for all positions
                kept = [axis for axis in op.new_order if axis != "x"]
                cost = 0 if len(kept) < len(op.new_order) else costs[0]
                # neighbors along the last axis of a transposed array are apart in memory
                cost += GATHER_COST * (kept != sorted(kept))
            elif isinstance(op, (Subtensor, SpecifyShape)):
                cost = costs[0]
        for variable in node.outputs:
            self._costs[variable] = cost

    def _is_worth_it(self, variable: Variable) -> bool:
        node = variable.owner
        if not isinstance(variable.type, TensorType):
            return False
        if node not in self._plan.inline or (is_segmented(node) and not self._walks_segments):
            return True
        if isinstance(node.op, (Alloc, SpecifyShape)):
            return False
        cost = self._costs[variable]
        if variable in self._plan.stored and variable.type.ndim:
            return cost > 0
        return cost >= DATA_ONLY_COST and self._fits(variable)

    def _fits(self, variable: Variable) -> bool:
        """Return whether an array is small, or no larger than one that is in memory anyway."""
        size = 1
        for length in variable.type.shape:
            size = DATA_ONLY_ELEMENTS + 1 if length is None else size * length
        if size <= DATA_ONLY_ELEMENTS:
            return True
        classes = _classes(self._plan, variable)
        return any(classes <= other for other in self._sizes)


def _is_by_mask(index: Variable) -> bool:
    return index.owner is not None and isinstance(index.owner.op, Nonzero)


def _cost(node: Apply) -> int:
    """Return the cost of an elementwise operation without its operands."""
    kind, (x, *_) = node.op.scalar_op, node.inputs
    if isinstance(kind, Cast) and is_inexact(node.outputs[0].type.dtype):
        return _FROM.get(x.type.dtype, 1)
    return facts_of(kind).cost


def _follows(node: Apply, known: Collection[Variable]) -> bool:
    """Return whether a node computes arrays from constants and known variables."""
    return follows(node, known) and all(
        isinstance(v.type, (TensorType, ScalarType)) for v in (*node.inputs, *node.outputs)
    )


def _classes(plan: Plan, variable: Any) -> Counter[Axis]:
    """Count the axes of an array that are not 1, by class of equal length."""
    space, _ = plan.space_of(variable)
    return Counter(cls for cls, _ in space)


def _maximal(found: Iterator[Counter[Axis]]) -> list[Counter[Axis]]:
    unique = {frozenset(one.items()): one for one in found}
    return list(unique.values())
