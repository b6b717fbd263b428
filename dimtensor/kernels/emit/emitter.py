"""A function of loop nests, written from a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import Neg, ScalarType, TrueDiv
from pytensor.tensor.basic import Alloc, ARange
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import SpecifyShape
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.kernels.emit.nest import Nest, scattered, segments_of
from dimtensor.kernels.emit.scopes import Scope, TopScope
from dimtensor.kernels.emit.shared import Shared, TooDeep
from dimtensor.kernels.foreign import NumbaFunction
from dimtensor.kernels.ir.make import ONE, ZERO, integer, known, number, op
from dimtensor.kernels.ir.nodes import (
    Allocate,
    Array,
    Assign,
    Bind,
    Call,
    Const,
    Expression,
    Fill,
    Function,
    Length,
    Load,
    Statement,
    Var,
    Wrapped,
)
from dimtensor.kernels.ir.python import printed
from dimtensor.kernels.ir.verify import verify
from dimtensor.kernels.passes.pipeline import optimized
from dimtensor.kernels.rules.blockwise import call_rule
from dimtensor.kernels.rules.elementwise import (
    Index,
    Place,
    Rows,
    basic_index,
    counter,
    gather_index,
    length_of_range,
    length_of_slice,
    loops_of,
    rule_of,
)
from dimtensor.kernels.rules.scalars import expression, meeting_dtype
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.axis_lengths import Axis, kept_axes
from dimtensor.optimize.plan.plan import Group, Plan, Task, has_simple_slices
from dimtensor.tuning import INLINED_DEPTH


class Emitter:
    """Writes the loops of a graph: of a whole function, or of a block inside another one.

    A block, such as the body of a loop, is written by an emitter that is given the other's
    `shared`. Its inputs are bound by `bind` to scalars and arrays of the function around it;
    `write` then fills `lines`, to be put in the loop, and `early`, to be put before
    the loop: lengths, and arrays whose lengths are known there. After that `scalar` and `place`
    tell where its outputs are.

    Parameters
    ----------
    plan : Plan
    shared : Shared, optional
        Names, constants and namespace of the function that the block is a part of.
    destinations : mapping of Variable to Place, optional
        Where outputs of a block are to be stored; must not overlap what is bound.
    """

    # whether lengths and positions of arguments were checked before the call; an emitter of graphs
    # from elsewhere writes checks instead, in `agree`, `differ` and `is_inside`
    trusting = True

    def __init__(
        self,
        plan: Plan,
        shared: Shared | None = None,
        destinations: Mapping[Variable, Place] | None = None,
    ):
        self.plan = plan
        self.graph = plan.graph
        self.shared = Shared() if shared is None else shared
        self.fresh = self.shared.fresh
        self.namespace, self.constants = self.shared.namespace, self.shared.constants
        self.destinations = {} if destinations is None else dict(destinations)
        self.lines: list[Statement] = []
        self.early: list[Statement] = self.lines if shared is None else []
        self.places: dict[Variable, Place] = {}
        # where loops in the steps of the block keep their traces, from which row on
        self.kept: dict[Variable, Rows] = {}
        self.scalars: dict[Variable, Expression] = {}
        self.owned: set[Variable] = set()
        self._lengths: dict[Axis, Expression] = {}
        self._in_question: set[Axis] = set()
        self._early_lengths: set[str] = set()
        self.known_before: set[str] = set()  # numbers that a block finds before its loop
        self.loop_lengths: dict[str, Expression] = {}
        self._classes = plan.extents.classes()
        self.top = TopScope(self)
        self._depth = 0

    def function(self, name: str = "kernel") -> Function:
        """Return the whole function after all passes; to be called once."""
        return self.optimized(self.plain(name))

    def plain(self, name: str = "kernel") -> Function:
        """Return the whole function before the passes over it; to be called once."""
        arguments = []
        for variable in self.graph.inputs:
            dtype, rank = variable.type.dtype, variable.type.ndim
            argument = Array(self.fresh("x"), dtype, rank)
            arguments.append(argument)
            if rank == 0:
                scalar = Var(self.fresh("s"), dtype)
                self.lines.append(Assign(scalar, Load(argument, ())))
                self.bind(variable, scalar)
            else:
                self.bind(variable, Place(argument))
        self.write()
        results = tuple(self._returned(variable) for variable in self.graph.outputs)
        arguments += [Array(each, data.dtype.name, data.ndim) for each, data in self.constants]
        return Function(name, tuple(arguments), tuple(self.lines), results)

    def optimized(self, function: Function) -> Function:
        """Run the passes over a function."""
        check = verify if self.shared.verifies else None
        return optimized(function, self.fresh, self.shared.passes_off, check)

    def source(self) -> str:
        """Return the whole function as Python; to be called once."""
        return printed(self.function())

    def bind(self, variable: Variable, where: Expression | Place) -> None:
        """Say what an input is."""
        if isinstance(where, Place):
            self.places[variable] = where
        else:
            self.scalars[variable] = where

    def write(self) -> None:
        """Write all groups of the plan."""
        for at, group in enumerate(self.plan.groups):
            self._call(group.tasks[0]) if group.is_call else self._nest(group, at)
        for variable, place in self.destinations.items():
            if self.places.get(variable) is not place:
                self.lines.append(Fill(place.whole, self.argument(variable)))

    def scalar(self, variable: Variable) -> Expression:
        """Return a variable without axes."""
        return self.element(variable, (), self.top)

    def place(self, variable: Variable) -> Place:
        """Return the location of a stored array."""
        known = self.places.get(variable)
        if known is None:
            if not isinstance(variable, Constant):
                raise UnsupportedGraph(f"{variable} is not stored")
            known = self.places[variable] = Place(self.shared.constant(variable))
        return known

    def _returned(self, variable: Variable) -> Expression:
        if variable.type.ndim == 0:
            value = self.scalar(variable)
            # a number that comes out as a Python float, int or bool would lose its dtype
            plain = variable.type.dtype in ("float64", "int64", "bool", "complex128")
            return value if plain else Wrapped("box", value)
        whole = self.place(variable).whole
        if isinstance(variable, Constant):
            return Wrapped("copy", whole)
        node = variable.owner
        aliased = node is None or (variable not in self.owned and getattr(node.op, "view_map", {}))
        return Wrapped("copy", whole) if aliased else whole

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, variable: Variable, start: Expression | Place | None = None) -> Place:
        """Allocate an array with the shape and dtype of a variable.

        Parameters
        ----------
        variable : TensorVariable
        start : Expression or Place, optional
            A number to fill it with, or an array to copy.
        """
        self.owned.add(variable)
        lengths = self._shape(variable)
        place = self.destinations.get(variable)
        if place is None:
            early = all(n.uses <= self._early_lengths for n in lengths)
            place = Place(self.array(variable), early=early)
            if not early or self.early is self.lines:
                if isinstance(start, Place):
                    self.lines.append(Bind(place.array, Wrapped("copy", start.whole)))
                else:
                    self.lines.append(Allocate(place.array, lengths, start))
                return place
            self.early.append(Allocate(place.array, lengths))
        if start is not None:
            value = start.whole if isinstance(start, Place) else start
            self.lines.append(Fill(place.whole, value))
        return place

    def array(self, variable: Variable) -> Array:
        """Name an array of the dtype and rank of a variable."""
        return Array(self.fresh("v"), variable.type.dtype, variable.type.ndim)

    def is_free_after(self, variable: Variable, number: int, target: Variable) -> bool:
        """Return whether a result of a group may overwrite the memory of an array."""
        return (
            variable in self.owned
            and variable.type.dtype == target.type.dtype
            and variable.type.ndim == target.type.ndim
            and variable not in self.graph.outputs
            and variable not in self.destinations
            and target not in self.destinations
            and self.plan.last_reader(variable) == number
            and self._shape(variable) == self._shape(target)
        )

    def _shape(self, variable: Variable) -> tuple[Expression, ...]:
        return tuple(self.length(variable, axis) for axis in range(variable.type.ndim))

    # -- lengths ----------------------------------------------------------------------------------

    def length(self, variable: Variable, axis: int) -> Expression:
        """Length of an axis: a number, or a variable that holds it."""
        static = variable.type.shape[axis]
        if static is not None:
            return integer(static)
        cls = self.plan.extents.find((variable, axis))
        found = self._lengths.get(cls)
        if found is None:
            members = self._classes.get(cls, [(variable, axis)])
            if cls in self._in_question:
                raise UnsupportedGraph(f"length of axis {axis} of {variable}: follows from itself")
            self._in_question.add(cls)
            try:
                value, early = self._length_of(members)
            finally:
                self._in_question.remove(cls)
            n = known(value)
            found = self._lengths[cls] = self.named(value, early) if n is None else integer(n)
        return found

    def named(self, length: Expression, early: bool) -> Var:
        """Name a length."""
        name = Var(self.fresh("n"), length.dtype)
        (self.early if early else self.lines).append(Assign(name, length))
        if early:
            self._early_lengths.add(name.name)
        return name

    def name_early(self, length: Assign) -> None:
        """Assign a length before the loop around the block."""
        self.early.append(length)
        self._early_lengths.add(length.target.name)

    def agree(self, one: Expression, two: Expression) -> None:
        """State that two lengths are equal, which this emitter does not check."""

    def differ(self, one: Expression, two: Expression) -> None:
        """State that two numbers differ, which this emitter does not check."""

    def is_inside(self, position: Expression, length: Expression) -> None:
        """State that a position is within an axis, which this emitter does not check."""

    def is_early(self, value: Expression) -> bool:
        """Return whether a length or number is known before the loop around the block."""
        if self.early is self.lines:
            return True
        if isinstance(value, Length):
            return any(p.early and p.array == value.array for p in self.places.values())
        return value.uses <= self._early_lengths | self.known_before

    def is_length(self, value: Expression) -> bool:
        """Return whether a number is the length of an axis."""
        return value in self._lengths.values()

    def is_known_length(self, value: Expression) -> bool:
        """Return whether a number is a literal or a length, hence not negative."""
        return known(value) is not None or self.is_length(value)

    def name_length(self, variable: Variable, axis: int, value: Expression) -> Expression:
        """Say how long an axis is, unless it is known."""
        cls = self.plan.extents.find((variable, axis))
        if cls not in self._lengths:
            early = self.is_early(value)
            if (n := known(value)) is not None:
                value = integer(n)
            elif not isinstance(value, Var):
                value = self.named(value, early)
            elif early:
                self._early_lengths.add(value.name)
            self._lengths[cls] = value
        return self._lengths[cls]

    def _length_of(self, members: Sequence[Axis]) -> tuple[Expression, bool]:
        """Return a length, and whether it is known before the loop around the block."""
        for variable, axis in members:
            if variable.type.shape[axis] is not None:
                return integer(variable.type.shape[axis]), True
        stored = [
            (self.places[variable], axis) for variable, axis in members if variable in self.places
        ]
        for place, axis in sorted(stored, key=lambda item: not item[0].early):
            return place.length(axis), place.early
        for variable, axis in members:
            try:
                value = self._derived_length(variable, axis)
            except UnsupportedGraph:  # one may follow from another that follows from it
                continue
            if value is not None:
                return value, self.is_early(value)
        raise UnsupportedGraph(f"the length of axis {members[0][1]} of {members[0][0]}")

    def _derived_length(self, variable: Variable, axis: int) -> Expression | None:
        if (node := variable.owner) is None:
            return None
        if isinstance(node.op, Alloc):
            return self.element(node.inputs[1 + axis], (), self.top)
        if isinstance(node.op, ARange):
            return length_of_range(self, node)
        if isinstance(node.op, SpecifyShape):
            return self.length(node.inputs[0], axis)
        if isinstance(node.op, Elemwise) and all(v.type.shape[axis] == 1 for v in node.inputs):
            return ONE  # a rewrite made the operands such, and left the type of the result
        # what an update of computed ends selects is as long as the value that it is updated by
        if isinstance(node.op, Subtensor) and has_simple_slices(node):
            return length_of_slice(self, node, axis)
        return None

    # -- elements ---------------------------------------------------------------------------------

    def element(self, variable: Variable, index: Index, scope: Scope) -> Expression:
        """One element of a variable."""
        if (variable, index) in scope.owners:
            return scope.owners[variable, index]
        if isinstance(variable, Constant):
            data = np.asarray(variable.data)
            if data.size == 1:
                return number(data.reshape(()), data.dtype.name)
            return self._load(variable, index, scope)
        if getattr(variable.type, "ndim", 0) == 0:
            return self._scalar(variable)
        if variable in self.places:
            return self._load(variable, index, scope)
        return self.computed(variable, index, scope)

    def _scalar(self, variable: Variable) -> Expression:
        found = self.scalars.get(variable)
        if found is None:
            found = self.scalars[variable] = self.computed(variable, (), self.top)
        return found

    def _load(self, variable: Variable, index: Index, scope: Scope) -> Expression:
        key = (variable, index)
        found = scope.memo.get(key)
        if found is None:
            place = self.place(variable)
            scope.accesses.append(tuple(each.loops for each in index))
            found = scope.memo[key] = scope.temporary(place.at(index), loops_of(index))
        return found

    def computed(self, variable: Variable, index: Index, scope: Scope) -> Expression:
        """Return an element of a variable, computed from its operands."""
        if (variable, index) in scope.owners:
            return scope.owners[variable, index]
        key = (variable, index, "computed")
        known = scope.memo.get(key)
        if known is not None:
            return known
        if self._depth:
            return self._computed(key, index, scope)
        # what lies too deep is computed first, however long the chain of operations is
        pending = [(key, index, scope)]
        while pending:
            try:
                known = self._computed(*pending[-1])
            except TooDeep as deep:
                pending.append(deep.element)
            else:
                pending.pop()
        assert known is not None
        return known

    def _computed(self, key: tuple[Any, ...], index: Index, scope: Scope) -> Expression:
        if self._depth == INLINED_DEPTH:
            raise TooDeep(key, index, scope)
        node = key[0].owner
        self._depth += 1
        try:
            known = scope.memo[key] = rule_of(node.op)(self, node, index, scope)
        finally:
            self._depth -= 1
        return known

    def scalar_call(self, node: Apply, operands: Sequence[Expression], scope: Scope) -> Expression:
        """Apply a scalar operation to operands."""
        scalar_op = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
        dtypes = [v.type.dtype for v in node.inputs]
        out = node.outputs[0].type.dtype
        operands = list(operands)
        for at, operand in enumerate(operands):
            if isinstance(operand, Const):
                dtype = meeting_dtype(scalar_op, at, dtypes, out)
                if dtype:
                    operands[at], dtypes[at] = number(operand.value, dtype), dtype
        loops = loops_of(operands)
        value = expression(scalar_op, operands, dtypes, out)
        kind = type(scalar_op)
        if kind is TrueDiv and operands[0] in scope.negated and dtypes[1] == "float64":
            # of x / s and -x / s one is divided
            positive = scope.temporary(op("/", scope.negated[operands[0]], operands[1]), loops)
            made = scope.temporary(op("neg", positive), loops)
            scope.negated[made] = positive
            return made
        if kind is Neg and operands[0] in scope.negated:
            return scope.negated[operands[0]]
        if value is None:
            function = self.shared.scalar_function(scalar_op, dtypes, out)
            value = Call(function, tuple(operands), out)
        elif any(value is each for each in operands):
            return value
        made = scope.temporary(value, loops)
        if kind is Neg and out == dtypes[0] == "float64":
            scope.negated[made] = operands[0]
        return made

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, task: Task) -> None:
        assert task.node is not None
        call_rule(task.node)(self, task.node)

    def numba_function(self, node: Apply) -> str:
        """Name of PyTensor's numba function of a node."""
        return self.shared.function(NumbaFunction(node))

    def argument(self, variable: Variable) -> Expression:
        """Return the argument for a variable in a call of a numba function."""
        if isinstance(variable.type, ScalarType):
            return self.element(variable, (), self.top)
        if not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"an input of type {variable.type}")
        if variable.type.ndim == 0:
            return Wrapped("box", self.element(variable, (), self.top))
        return self.place(variable).whole

    # -- loop nests -------------------------------------------------------------------------------

    def _nest(self, group: Group, number: int) -> None:
        loops = {item: counter(f"i{at}") for at, item in enumerate(group.space)}
        scope = Scope(self)
        below = tuple(loops[item].name for item in group.below)
        segments = segments_of(self, group, loops)
        nest = Nest(self, scope, list(loops.values()), number, below, segments)
        for task in group.tasks:
            index = self._iterate(task, loops)
            if task.kind == "store":
                value = self.computed(task.target, index, scope)
                nest.store(task.target, index, value)
            elif task.kind == "reduce":
                assert task.node is not None
                value = self.element(task.node.inputs[0], index, scope)
                kept = tuple(index[axis] for axis in kept_axes(task.node))
                nest.reduce(task.node, kept, value)
            else:
                scattered(self, task, index, scope, nest)
        nest.write()

    def _iterate(self, task: Task, loops: dict[Any, Var]) -> Index:
        index: list[Expression] = [ZERO] * task.iterated.type.ndim
        for item, axis in zip(task.space, task.axes, strict=True):
            index[axis] = loops[item]
            self.loop_lengths[loops[item].name] = self.length(task.iterated, axis)
        return tuple(index)

    def source_index(self, node: Apply, index: Index, scope: Scope) -> Index:
        """Return the position in the source of an element of a selection."""
        if isinstance(node.op, Subtensor):
            return basic_index(self, node, index, scope)
        return gather_index(self, node, index, scope)
