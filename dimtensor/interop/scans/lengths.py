"""Symbolic lengths of first axes: linear sums of constants and input lengths, for comparison."""

from __future__ import annotations

from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import (
    GE,
    GT,
    LE,
    LT,
    Add,
    Cast,
    IntDiv,
    Neg,
    ScalarMaximum,
    ScalarMinimum,
    Sub,
    Switch,
)
from pytensor.tensor.basic import (
    Alloc,
    AllocEmpty,
    Join,
    MakeVector,
    ScalarFromTensor,
    TensorFromScalar,
)
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.subtensor import IncSubtensor, Subtensor, indices_from_subtensor
from pytensor.tensor.type_other import NoneTypeT

from dimtensor.ops.constants import integer_of
from dimtensor.ops.loop.op import Scan

# coefficients by term; the term None is the constant
LinearSum = dict[Any, int]


class KnownIntegers:
    """Static analysis of integers and axis lengths in a graph."""

    def __init__(self) -> None:
        self._known: dict[Variable, LinearSum] = {}
        self._of: dict[Variable, LinearSum] = {}
        self._counts: set[Any] = set()

    def count(self, x: Variable) -> bool:
        """Assume that an integer is not negative; return True if that is not known."""
        terms = self.terms(x)
        if self.is_above(terms, {}):
            return False
        if len(terms) == 1:
            self._counts.update(at for at, n in terms.items() if n == 1)
        return True

    def more(self, one: LinearSum, two: LinearSum) -> int | None:
        """Return the difference of two sums, or None if it is not known."""
        left = _sum(one, two, -1)
        number = left.pop(None, 0)
        return None if left else number

    def number(self, terms: LinearSum) -> int | None:
        """Return the value of a sum, or None if it is not known."""
        return self.more(terms, {})

    def is_above(self, one: LinearSum, two: LinearSum) -> bool:
        """Return whether the first sum is known to be at least the second."""
        left = _sum(one, two, -1)
        number = left.pop(None, 0)
        counts = (n > 0 and (isinstance(at, tuple) or at in self._counts) for at, n in left.items())
        return number >= 0 and all(counts)

    def terms(self, x: Any) -> LinearSum:
        """Return an integer as a linear sum."""
        if x not in self._known:
            self._known[x] = self._terms(x)
        return self._known[x]

    def of(self, x: Any) -> LinearSum:
        """Return the length of the first axis of an array."""
        if x not in self._of:
            self._of[x] = self._length(x)
        return self._of[x]

    def same(self, x: Variable, other: Variable) -> None:
        """Record that two integers are equal."""
        self._known[x] = self.terms(other)

    def know(self, x: Variable, done: Variable, more: int) -> Variable:
        """Record that the length of an array is the number of loop steps plus a constant."""
        self._of[x] = _sum(self.terms(done), {None: more})
        return x

    def is_whole(self, node: Apply) -> bool:
        """Return whether a slice contains all elements."""
        place, *rest = indices_of(node)
        if rest or not isinstance(place, slice) or place.start is not None or place.stop is None:
            return False
        if place.step is not None and integer_of(place.step) != 1:
            return False
        return self.is_above(self.terms(place.stop), self.of(node.inputs[0]))

    # -- sequences -----------------------------------------------------------------------------

    def first(self, x: Any, count: Variable) -> Variable:
        """Truncate a sequence to a number of elements, unless it is known to have as many."""
        return x if self.more(self.of(x), self.terms(count)) == 0 else x[:count]

    def flipped(self, x: Any) -> Variable:
        """Reverse a sequence, removing a reversal that it already has."""
        if not self._runs_back(x):
            return x[::-1]
        node = x.owner
        if isinstance(node.op, Elemwise):
            return node.op(
                *(v if v.type.broadcastable[0] else self.flipped(v) for v in node.inputs)
            )
        return self.flipped(node.inputs[0]) if self.is_whole(node) else node.inputs[0]

    def _runs_back(self, x: Any) -> bool:
        """Return whether a sequence is computed from reversed sequences."""
        node = x.owner
        if node is None:
            return False
        if isinstance(node.op, Elemwise) and len(node.outputs) == 1:
            return any(map(self._runs_back, node.inputs))
        if not isinstance(node.op, Subtensor):
            return False
        place, *rest = indices_of(node)
        if rest or not isinstance(place, slice):
            return False
        if self.is_whole(node):
            return self._runs_back(node.inputs[0])
        step = None if place.step is None else integer_of(place.step)
        return place.start is None and place.stop is None and step == -1

    # -- integers and lengths ------------------------------------------------------------------

    def _terms(self, x: Any) -> LinearSum:
        known = integer_of(x)
        if known is not None:
            return {None: known}
        node = x.owner
        if node is None:
            return {x: 1}
        if isinstance(node.op, Scan) and node.op.stops and x is node.outputs[-1]:
            return {("steps", x): 1}
        scalar = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
        if isinstance(scalar, (ScalarFromTensor, TensorFromScalar)) or (
            isinstance(scalar, Cast) and node.inputs[0].type.dtype.startswith("int")
        ):
            return self.terms(node.inputs[0])
        if isinstance(scalar, (Add, Sub)):
            total, *others = map(self.terms, node.inputs)
            for each in others:
                total = _sum(total, each, -1 if isinstance(scalar, Sub) else 1)
            return total
        if isinstance(scalar, Neg):
            return _sum({}, self.terms(node.inputs[0]), -1)
        if isinstance(scalar, ScalarMinimum):
            found = self._extreme([self.terms(v) for v in node.inputs], largest=False)
            if found is not None:
                return found
        if isinstance(node.op, CAReduce):
            kind, elements = type(node.op.scalar_op), self._elements(node.inputs[0])
            if kind in (ScalarMaximum, ScalarMinimum) and elements:
                found = self._extreme(elements, largest=kind is ScalarMaximum)
                if found is not None:
                    return found
        if isinstance(scalar, Switch):
            condition, then, other = node.inputs
            known_true = self._holds(condition)
            if known_true is not None:
                return self.terms(then if known_true else other)
        if isinstance(scalar, IntDiv) and self.number(self.terms(node.inputs[1])) == 1:
            return self.terms(node.inputs[0])
        if isinstance(node.op, Shape_i) and node.op.i == 0:
            return self.of(node.inputs[0])
        shape = _first_of(node)
        if shape is not None and isinstance(shape.op, Shape):
            return self.of(shape.inputs[0])
        if shape is not None and isinstance(shape.op, MakeVector):
            return self.terms(shape.inputs[0])
        return {x: 1}

    def _elements(self, vector: Any) -> list[LinearSum]:
        """Return the elements of a short vector of integers; empty if they are not known."""
        node = vector.owner
        if node is not None and isinstance(node.op, MakeVector):
            return [self.terms(v) for v in node.inputs]
        if isinstance(getattr(getattr(node, "op", None), "scalar_op", None), Neg):
            return [_sum({}, each, -1) for each in self._elements(node.inputs[0])]
        return []

    def _extreme(self, terms: list[LinearSum], largest: bool) -> LinearSum | None:
        """Return the largest or the smallest of several integers, or None if it is not known."""
        for one in terms:
            pairs = [(one, other) if largest else (other, one) for other in terms]
            if all(self.is_above(*pair) for pair in pairs):
                return one
        return None

    def _holds(self, condition: Any) -> bool | None:
        """Return the value of a comparison of integers, or None if it is not known."""
        node = condition.owner
        scalar = node.op.scalar_op if node is not None and isinstance(node.op, Elemwise) else None
        if not isinstance(scalar, (LT, GT, LE, GE)):
            return None
        one, two = map(self.terms, node.inputs)
        if isinstance(scalar, (GT, GE)):
            one, two = two, one
        # one < two, or one <= two
        more = {None: 1} if isinstance(scalar, (LT, GT)) else {}
        if self.is_above(two, _sum(one, more)):
            return True
        return False if self.is_above(_sum(one, more), _sum(two, {None: 1})) else None

    def _length(self, x: Any) -> LinearSum:
        known, node = x.type.shape[0], x.owner
        if known is not None:
            return {None: known}
        op = None if node is None else node.op
        if isinstance(op, (IncSubtensor, CheckAndRaise)) or (
            isinstance(op, SpecifyShape) and _is_none(node.inputs[1])
        ):
            return self.of(node.inputs[0])
        if isinstance(op, (Alloc, SpecifyShape)):
            return self.terms(node.inputs[1])
        if isinstance(op, AllocEmpty):
            return self.terms(node.inputs[0])
        if isinstance(op, Elemwise):
            # rewrites may refine the types of inputs without refining that of the output
            long = [v for v in node.inputs if not v.type.broadcastable[0]]
            return self.of(long[0]) if long else {None: 1}
        found: LinearSum | None = None
        if isinstance(op, Join) and op.axis % x.type.ndim == 0:
            found = {}
            for each in node.inputs:
                found = _sum(found, self.of(each))
        elif isinstance(op, Scan) and op.runs_all and node.outputs.index(x) >= op.n_states:
            steps = self.terms(node.inputs[0])
            found = steps if self.is_above(steps, {}) else None
        elif isinstance(op, Subtensor):
            found = self._length_of_part(node)
        return {("length", x): 1} if found is None else found

    def _length_of_part(self, node: Apply) -> LinearSum | None:
        """Return the length of the first axis of a slice if it follows from that of the array."""
        place, *_ = indices_of(node)
        if not isinstance(place, slice):
            return None
        whole = self.of(node.inputs[0])
        step = 1 if place.step is None else integer_of(place.step)
        if step == -1 and place.start is place.stop is None:
            return whole
        if step != 1:
            return None
        if place.start is None and place.stop is not None:
            stop = self.terms(place.stop)
            if self.is_above(stop, whole):
                return whole
            if self.is_above(whole, stop) and self.is_above(stop, {}):
                return stop
            last = self.number(stop)
            if last is not None and last < 0 and self.is_above(whole, {None: -last}):
                return _sum(whole, stop)
        start = 0 if place.start is None else integer_of(place.start)
        if place.stop is None and start is not None and start >= 0:
            return _sum(whole, {None: -start}) if self.is_above(whole, {None: start}) else None
        return None


def indices_of(node: Any, first: int = 1) -> list[Any]:
    """Return the indices of a subtensor op, with None instead of symbolic None in slices."""
    found: list[Any] = []
    for each in indices_from_subtensor(node.inputs[first:], node.op.idx_list):
        if isinstance(each, slice):
            parts = (each.start, each.stop, each.step)
            each = slice(*(None if _is_none(part) else part for part in parts))
        found.append(each)
    return found


def _is_none(part: Any) -> bool:
    return part is None or isinstance(part.type, NoneTypeT)


def _sum(one: LinearSum, two: LinearSum, factor: int = 1) -> LinearSum:
    found = dict(one)
    for at, n in two.items():
        found[at] = found.get(at, 0) + factor * n
    return {at: n for at, n in found.items() if n}


def _first_of(node: Apply) -> Apply | None:
    """Return the node of the vector whose first element a node extracts, or None."""
    made = node.inputs[0].owner
    if isinstance(node.op, Subtensor):
        places = indices_of(node)
        first = not isinstance(places[0], slice) and integer_of(places[0]) == 0
    else:
        first = isinstance(node.op, DimShuffle) and node.inputs[0].type.shape == (1,)
        first = first and node.outputs[0].type.ndim == 0
    return made if first else None
