"""Checks of lengths and positions in kernels whose arguments are unchecked.

`dimtensor.function` checks arguments by name before a call. Nothing checks those of a positional
graph from elsewhere: a loop over two arrays of different lengths would read past the end of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.basic import Alloc, Eye, MakeVector
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.shape import Shape, SpecifyShape
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

from dimtensor.interop.scans.outputs import UNFIT
from dimtensor.kernels.emit.emitter import Emitter
from dimtensor.kernels.emit.scopes import Scope
from dimtensor.kernels.emit.shared import Shared
from dimtensor.kernels.ir.make import ONE, ZERO, cast, integer, known, op
from dimtensor.kernels.ir.nodes import (
    Accumulate,
    Assign,
    Expression,
    For,
    If,
    Length,
    Raise,
    Statement,
    Var,
)
from dimtensor.kernels.rules.elementwise import Place, counter
from dimtensor.ops.constants import integer_of
from dimtensor.ops.slices import along_axes
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.axis_lengths import gather_layout, selection_of
from dimtensor.optimize.plan.plan import Group, Plan, Task
from dimtensor.optimize.plan.signatures import signature_of

OUTSIDE = "index is out of bounds"


class GuardedEmitter(Emitter):
    """Emitter that writes checks in front of the loops that rely on them.

    A kernel raises a `ValueError` with the message `UNFIT` before it reads or writes outside of an
    array, and an `IndexError` for a position outside of an axis. Arguments that do not fit may be
    valid all the same (an update with a value of run-time length 1, a negative position in a
    slice): PyTensor's implementation of the same graph decides.
    """

    trusting = False

    def __init__(
        self,
        plan: Plan,
        shared: Shared | None = None,
        destinations: Mapping[Variable, Place] | None = None,
    ):
        super().__init__(plan, shared, destinations)
        self._rank = {node: rank for rank, node in enumerate(plan.order)}
        self._guarded: set[Variable] = set()
        self._compared: set[tuple[Expression, Expression]] = set()
        self._defined: dict[Expression, Expression] = {}
        self._ranges: set[tuple[Any, ...]] = set()
        self._signed: set[Expression] = set()

    def named(self, length: Expression, early: bool) -> Var:
        name = super().named(length, early)
        self._defined[name] = length
        return name

    def _call(self, task: Task) -> None:
        assert task.node is not None
        self._guard(task.node.inputs)
        if isinstance(task.node.op, (Alloc, Eye)):
            self._guard_new(task.node)
        self._compare_cores(task.node)
        results = set(task.node.outputs)
        self._compare_promised(task.node, lambda v, axis: v not in results or _is_static(v, axis))
        super()._call(task)
        self._compare_promised(task.node)
        for variable in task.node.outputs:
            if variable in self.places:
                self._guarded.add(variable)
                self._compare_shape(variable)

    def _nest(self, group: Group, *rest: Any) -> None:
        self._guard(v for task in group.tasks for v in _computed_by(task))
        super()._nest(group, *rest)

    def _returned(self, variable: Variable) -> Expression:
        self._guard([variable])
        return super()._returned(variable)

    def _guard(self, variables: Iterable[Variable]) -> None:
        """Write the checks of all nodes that some variables depend on."""
        new = [v for v in ancestors(variables, blockers=self._guarded) if v not in self._guarded]
        self._guarded.update(new)
        for variable in new:
            if variable.owner is None and variable in self.places:
                self._compare_shape(variable)
        nodes = {v.owner for v in new if v.owner is not None}
        for node in sorted(nodes, key=self._rank.__getitem__):
            self._guard_node(node)

    def _guard_node(self, node: Apply) -> None:
        op = node.op
        self._compare_promised(node)
        if isinstance(op, (Alloc, Eye)):
            self._guard_new(node)
        if isinstance(op, Alloc):
            for axis, length in enumerate(node.inputs[1:]):
                self._compare(self.element(length, (), self.top), node.outputs[0], axis)
        elif isinstance(op, SpecifyShape):
            for axis, length in enumerate(node.inputs[1:]):
                own = self.length(node.inputs[0], axis)
                self._compare(own, node.outputs[0], axis)
                if getattr(length.type, "ndim", None) == 0:
                    self._require_equal(own, self.element(length, (), self.top))
        elif isinstance(op, DimShuffle):
            for axis in op.drop:
                if node.inputs[0].type.shape[axis] != 1:
                    self._require_equal(self.length(node.inputs[0], axis), ONE)
        elif isinstance(op, Subtensor) and node in self.plan.inline:
            self._guard_basic(node)
        elif isinstance(op, IncSubtensor) and self.plan.is_scatter(node):
            self._guard_basic(selection_of(node).owner)
        elif isinstance(op, AdvancedSubtensor) and node in self.plan.inline:
            self._guard_gather(node)
        elif isinstance(op, AdvancedIncSubtensor) and self.plan.is_scatter(node):
            self._guard_gather(node)

    # -- lengths ----------------------------------------------------------------------------------

    def _compare_shape(self, variable: Variable) -> None:
        """Compare the lengths of a stored array with those of the arrays it is used with."""
        place = self.place(variable)
        for axis in range(variable.type.ndim):
            self._compare(place.length(axis), variable, axis)

    def _compare_promised(
        self, node: Apply, is_told: Callable[[Variable, int], bool] = lambda v, axis: True
    ) -> None:
        """Compare the lengths of pairs of axes that were assumed not to broadcast."""
        for one, two in self.plan.extents.promised.get(node, ()):
            if is_told(*one) and is_told(*two):
                self._require_equal(self.length(*one), self.length(*two))

    def _compare(self, length: Expression, variable: Variable, axis: int) -> None:
        """Compare a length with that of the equivalence class of an axis."""
        self._require_equal(length, self.length(variable, axis))

    def _require_equal(self, one: Expression, two: Expression) -> None:
        compared = self._compared & {(one, two), (two, one)}
        if one not in (two, self._defined.get(two)) and not compared:
            self._compared.add((one, two))
            self._refuse_if(op("!=", one, two))

    def agree(self, one: Expression, two: Expression) -> None:
        self._require_equal(one, two)

    def differ(self, one: Expression, two: Expression) -> None:
        self._refuse_if(op("==", one, two))

    def is_inside(self, position: Expression, length: Expression) -> None:
        below = op("<", position, op("neg", length))
        self._refuse_if(op("or", op(">=", position, length), below), OUTSIDE)

    def _refuse_if(self, condition: Expression, message: str = UNFIT) -> None:
        error = "ValueError" if message == UNFIT else "IndexError"
        self.lines.append(If(condition, (Raise(error, message),)))

    def _guard_new(self, node: Apply) -> None:
        """Check that a new array has no negative length, before memory is allocated."""
        for length in node.inputs[1:] if isinstance(node.op, Alloc) else node.inputs[:2]:
            value = self.element(length, (), self.top)
            value = self._defined.get(value, value)
            if known(value) is None and not isinstance(value, Length) and value not in self._signed:
                self._signed.add(value)
                lines = self.early if self.is_early(value) else self.lines
                lines.append(If(op("<", value, ZERO), (Raise("ValueError", UNFIT),)))
            elif (known(value) or 0) < 0:
                raise UnsupportedGraph(f"an array of length {known(value)}")

    def _compare_cores(self, node: Apply) -> None:
        """Compare lengths that share a name in a signature, such as both of a square matrix."""
        signature, _ = signature_of(node) or ((), ())
        lengths: dict[str, Expression] = {}
        for variable, core in zip(node.inputs, signature, strict=False):
            batch = variable.type.ndim - len(core)
            for axis, name in enumerate(core, batch):
                length = self.length(variable, axis)
                self._require_equal(length, lengths.setdefault(name, length))

    # -- positions --------------------------------------------------------------------------------

    def _guard_basic(self, node: Apply) -> None:
        """Check that positions are within their axes, and the lengths of slices."""
        x = node.inputs[0]
        out_axis = 0
        for axis, entry in enumerate(along_axes(node.op.idx_list, x.type.ndim)):
            if isinstance(entry, slice):
                if entry != slice(None):
                    length = self._derived_length(node.outputs[0], out_axis)
                    assert length is not None
                    self._compare(length, node.outputs[0], out_axis)
                out_axis += 1
                continue
            length = self.length(x, axis)
            position = integer_of(node.inputs[1 + entry])
            if position is None:
                self.is_inside(self.element(node.inputs[1 + entry], (), self.top), length)
            else:
                self._require_longer(position, position, length)

    def _require_longer(self, low: int, high: int, length: Expression) -> None:
        """Check that an axis contains all positions between two known ones."""
        least, n = max(high + 1, -low), known(length)
        if n is None:
            self._refuse_if(op("<", length, integer(least)), OUTSIDE)
        elif n < least:
            raise UnsupportedGraph(f"positions from {low} to {high} of {n}")

    def _guard_gather(self, node: Apply) -> None:
        x = node.inputs[0]
        if gather_layout(node) is None:
            return
        update = isinstance(node.op, AdvancedIncSubtensor)
        indices = node.inputs[2:] if update else node.inputs[1:]
        wraps = update or self._wraps(x)
        for axis, entry in enumerate(along_axes(node.op.idx_list, x.type.ndim)):
            if not isinstance(entry, slice):
                self._guard_positions(indices[entry], self.length(x, axis), wraps)

    def _wraps(self, x: Variable) -> bool:
        """Return whether kernels count negative positions of an array from the end."""
        stack = [x]
        while stack:
            v = stack.pop()
            if v in self.places or isinstance(v, Constant) or not getattr(v.type, "ndim", 0):
                continue
            if v.owner is None or isinstance(v.owner.op, (Subtensor, MakeVector, Shape)):
                return False
            many = isinstance(v.owner.op, Elemwise)
            stack.extend(v.owner.inputs if many else v.owner.inputs[:1])
        return True

    def _guard_positions(self, index: Variable, length: Expression, wraps: bool) -> None:
        # the check without wrapping includes the other one
        if not self._ranges.isdisjoint({(index, length, wraps), (index, length, False)}):
            return
        self._ranges.add((index, length, wraps))
        if isinstance(index, Constant):
            positions = np.asarray(index.data)
            if positions.size:
                low, high = int(positions.min()), int(positions.max())
                self._require_longer(low, high, length)
                if low < 0 and not wraps:
                    raise UnsupportedGraph("negative positions in a slice")
            return
        outside, negative = (Var(self.fresh("b"), "int64") for _ in range(2))
        self.lines += [Assign(each, cast(ZERO, "int64")) for each in (outside, negative)]
        self._walk(index, outside, negative, length)
        self._refuse_if(op("<", outside, ZERO), OUTSIDE)
        if not wraps:
            self._refuse_if(op("<", negative, ZERO))

    def _walk(self, index: Variable, outside: Var, negative: Var, length: Expression) -> None:
        """Write loops over all positions in an index."""
        scope = Scope(self)
        at: list[Expression] = []
        loops: list[tuple[Var, Expression]] = []
        for axis, static in enumerate(index.type.shape):
            if static == 1:
                at.append(ZERO)
                continue
            each = counter(self.fresh("j"))
            loops.append((each, self.length(index, axis)))
            at.append(each)
        value = self.element(index, tuple(at), scope)
        position = Var(self.fresh("p"), "int64")
        above = op("-", op("-", length, ONE), position)
        body: list[Statement] = [
            *scope.temporaries,
            Assign(position, cast(value, "int64")),
            # the sign bit accumulates over all positions, without a comparison for each
            Accumulate("|", outside, op("|", op("+", position, length), above)),
            Accumulate("|", negative, position),
        ]
        for each, length in reversed(loops):
            body = [For(each, length, tuple(body))]
        self.lines += body


def _is_static(variable: Variable, axis: int) -> bool:
    return variable.type.shape[axis] is not None


def _computed_by(task: Task) -> Iterator[Variable]:
    yield task.target
    yield from (task.node.outputs if task.node is not None else ())
