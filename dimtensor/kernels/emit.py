"""Source of a function of loop nests, written from a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.kernels.batches import call_rule
from dimtensor.kernels.elements import (
    ZERO,
    Place,
    Term,
    basic_index,
    entries_of,
    gather_index,
    loops_of,
    new_array,
    restrict,
    rule_of,
    slice_ends,
    slice_walk,
)
from dimtensor.kernels.extents import Axis, kept_axes, selection_of
from dimtensor.kernels.nest import Nest
from dimtensor.kernels.plan import Group, Plan, Task, UnsupportedGraph, has_simple_slices
from dimtensor.kernels.scalars import expression, is_call, literal, meeting_dtype
from dimtensor.kernels.scopes import Scope, TopScope
from dimtensor.kernels.shared import NumbaFunction, Shared

_NAME = re.compile(r"[A-Za-z_]\w*")


# operations between an element and one that is computed for it at once
_DEEPEST = 50


class _TooDeep(Exception):
    """An element has to be computed before the one that it was asked for by."""

    def __init__(self, *element: Any):
        super().__init__("an element of many operations in a row")
        self.element = element


class Emitter:
    """Writes the source of a graph: of a whole function, or of a block inside another one.

    A block, such as the body of a loop, is written by an emitter that is given the other's
    `shared`. Its inputs are bound by `bind` to scalars and arrays of the function around it;
    `write` then fills `lines`, to be indented and put in the loop, and `early`, to be put before
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

    trusting = True  # arguments fit, because somebody has looked at them

    def __init__(
        self,
        plan: Plan,
        shared: Shared | None = None,
        destinations: Mapping[Variable, Place] | None = None,
    ):
        self.plan = plan
        self.graph = plan.graph
        self.shared = Shared() if shared is None else shared
        self.destinations = {} if destinations is None else dict(destinations)
        self.lines: list[str] = []
        self.early: list[str] = self.lines if shared is None else []
        self.places: dict[Variable, Place] = {}
        self.scalars: dict[Variable, Term] = {}
        self.owned: set[Variable] = set()
        self._lengths: dict[Axis, str] = {}
        self._in_question: set[Axis] = set()
        self._early_lengths: set[str] = set()
        self.known_before: set[str] = set()  # numbers that a block finds before its loop
        self.loop_lengths: dict[str, str] = {}
        self._classes = plan.extents.classes()
        self.top = TopScope(self)
        self._depth = 0

    @property
    def fresh(self) -> Callable[[str], str]:
        return self.shared.fresh

    @property
    def namespace(self) -> dict[str, Any]:
        return self.shared.namespace

    @property
    def constants(self) -> list[tuple[str, np.ndarray]]:
        return self.shared.constants

    def source(self, name: str = "kernel") -> str:
        """The whole function."""
        arguments = []
        for variable in self.graph.inputs:
            argument = self.fresh("x")
            arguments.append(argument)
            if variable.type.ndim == 0:
                scalar = self.fresh("s")
                self.lines.append(f"{scalar} = {argument}[()]")
                self.bind(variable, Term(scalar))
            else:
                self.bind(variable, Place(argument))
        self.write()
        results = [self._returned(variable) for variable in self.graph.outputs]
        arguments += [constant for constant, _ in self.shared.constants]
        body = "\n".join("    " + line for line in self.lines) or "    pass"
        returned = "".join(f"{result}, " for result in results)
        return f"def {name}({', '.join(arguments)}):\n{body}\n    return ({returned})\n"

    def bind(self, variable: Variable, where: Term | Place) -> None:
        """Say what an input is."""
        known: dict = self.scalars if isinstance(where, Term) else self.places
        known[variable] = where

    def write(self) -> None:
        """Write all groups of the plan."""
        for number, group in enumerate(self.plan.groups):
            if group.is_call:
                self._call(group.tasks[0])
            else:
                self._nest(group, number)
        for variable, place in self.destinations.items():
            if self.places.get(variable) is not place:
                self.lines.append(f"{place.everything} = {self.argument(variable)}")

    def scalar(self, variable: Variable) -> Term:
        """A variable without axes."""
        return self.element(variable, (), self.top)

    def place(self, variable: Variable) -> Place:
        """Where a stored array is."""
        known = self.places.get(variable)
        if known is None:
            if not isinstance(variable, Constant):
                raise UnsupportedGraph(f"{variable} is not stored")
            known = self.places[variable] = Place(self.shared.constant(variable))
        return known

    def _returned(self, variable: Variable) -> str:
        if variable.type.ndim == 0:
            text = self.scalar(variable).text
            # a number that comes out as a Python float, int or bool would lose its dtype
            plain = variable.type.dtype in ("float64", "int64", "bool", "complex128")
            return text if plain else f"np.asarray({text})"
        whole = self.place(variable).whole
        if isinstance(variable, Constant):
            return f"{whole}.copy()"
        node = variable.owner
        aliased = node is None or (variable not in self.owned and getattr(node.op, "view_map", {}))
        return f"{whole}.copy()" if aliased else whole

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, variable: Variable, start: str | Place | None = None) -> Place:
        """A new array with the shape and dtype of a variable.

        Parameters
        ----------
        variable : TensorVariable
        start : str or Place, optional
            A number that it is filled with, or an array that it is a copy of.
        """
        self.owned.add(variable)
        lengths = self._shape(variable)
        place = self.destinations.get(variable)
        if place is None:
            early = all(n.isdigit() or n in self._early_lengths for n in lengths)
            place = Place(self.fresh("v"), early=early)
            shape, dtype = f"({', '.join(lengths)},)", variable.type.dtype
            if not early or self.early is self.lines:
                self.lines.append(f"{place.name} = {new_array(shape, dtype, start)}")
                return place
            self.early.append(f"{place.name} = {new_array(shape, dtype, None)}")
        if start is not None:
            text = start.whole if isinstance(start, Place) else start
            self.lines.append(f"{place.everything} = {text}")
        return place

    def is_free_after(self, variable: Variable, number: int, target: Variable) -> bool:
        """Whether the memory of an array may be overwritten by one that a group makes of it."""
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

    def _shape(self, variable: Variable) -> list[str]:
        return [self.length(variable, axis) for axis in range(variable.type.ndim)]

    # -- lengths ----------------------------------------------------------------------------------

    def length(self, variable: Variable, axis: int) -> str:
        """Length of an axis, as an integer or as a name that holds it."""
        static = variable.type.shape[axis]
        if static is not None:
            return str(static)
        cls = self.plan.extents.find((variable, axis))
        known = self._lengths.get(cls)
        if known is None:
            members = self._classes.get(cls, [(variable, axis)])
            if cls in self._in_question:
                raise UnsupportedGraph(
                    f"the length of axis {axis} of {variable} follows from itself"
                )
            self._in_question.add(cls)
            try:
                text, early = self._length_text(members)
            finally:
                self._in_question.remove(cls)
            if text.isdigit():
                known = text
            else:
                known = self.fresh("n")
                (self.early if early else self.lines).append(f"{known} = {text}")
                if early:
                    self._early_lengths.add(known)
            self._lengths[cls] = known
        return known

    def agree(self, one: str, two: str) -> None:
        """Say that two lengths are the same; `guards` looks."""

    def differ(self, one: str, two: str) -> None:
        """Say that two numbers are not the same; `guards` looks."""

    def is_inside(self, position: str, length: str) -> None:
        """Say that a position is one of an axis; `guards` looks."""

    def is_early(self, text: str) -> bool:
        """Whether a length or number is known before the loop around the block."""
        names = set(_NAME.findall(text)) - {"max", "min"}
        return self.early is self.lines or names <= (self._early_lengths | self.known_before)

    def is_length(self, text: str) -> bool:
        """Whether a number is the length of an axis."""
        return text in self._lengths.values()

    def is_known_length(self, text: str) -> bool:
        """Whether a number is a literal or the length of an axis, so that it is not negative."""
        return text.isdigit() or self.is_length(text)

    def name_length(self, variable: Variable, axis: int, text: str) -> str:
        """Say how long an axis is, unless it is known."""
        cls = self.plan.extents.find((variable, axis))
        if cls not in self._lengths:
            known = text.isidentifier() or text.isdigit()
            name = self._lengths[cls] = text if known else self.fresh("n")
            early = self.is_early(text)
            if early:
                self._early_lengths.add(name)
            if not known:
                (self.early if early else self.lines).append(f"{name} = {text}")
        return self._lengths[cls]

    def _length_text(self, members: Sequence[Axis]) -> tuple[str, bool]:
        """Source of a length, and whether it is known before the loop around the block."""
        for variable, axis in members:
            if variable.type.shape[axis] is not None:
                return str(variable.type.shape[axis]), True
        stored = [
            (self.places[variable], axis) for variable, axis in members if variable in self.places
        ]
        for place, axis in sorted(stored, key=lambda item: not item[0].early):
            return place.length(axis), place.early
        for variable, axis in members:
            try:
                text = self._derived_length(variable, axis)
            except UnsupportedGraph:  # one may follow from another that follows from it
                continue
            if text is not None:
                return text, self.is_early(text)
        raise UnsupportedGraph(f"the length of axis {members[0][1]} of {members[0][0]}")

    def _derived_length(self, variable: Variable, axis: int) -> str | None:
        node = variable.owner
        if node is None:
            return None
        if isinstance(node.op, Alloc):
            return self.element(node.inputs[1 + axis], (), self.top).text
        if isinstance(node.op, Elemwise) and all(v.type.shape[axis] == 1 for v in node.inputs):
            return "1"  # a rewrite made the operands such, and left the type of the result
        # what an update of computed ends selects is as long as the value that it is updated by
        if isinstance(node.op, Subtensor) and has_simple_slices(node):
            kept = [
                (source, entry)
                for source, entry in enumerate(entries_of(node.op, node.inputs[0].type.ndim))
                if isinstance(entry, slice)
            ]
            source, entry = kept[axis]
            length = self.length(node.inputs[0], source)
            return slice_walk(slice_ends(node, entry, 1), length)[2]
        return None

    # -- elements ---------------------------------------------------------------------------------

    def element(self, variable: Variable, index: tuple[Term, ...], scope: Scope) -> Term:
        """One element of a variable."""
        if isinstance(variable, Constant):
            data = np.asarray(variable.data)
            if data.size == 1:
                number = data.reshape(())
                return Term(literal(number, data.dtype.name), value=number)
            return self._load(variable, index, scope)
        if getattr(variable.type, "ndim", 0) == 0:
            return self._scalar(variable)
        if variable in self.places:
            return self._load(variable, index, scope)
        return self.computed(variable, index, scope)

    def _scalar(self, variable: Variable) -> Term:
        known = self.scalars.get(variable)
        if known is None:
            known = self.scalars[variable] = self.computed(variable, (), self.top)
        return known

    def _load(self, variable: Variable, index: tuple[Term, ...], scope: Scope) -> Term:
        key = (variable, tuple(term.text for term in index))
        known = scope.memo.get(key)
        if known is None:
            place = self.place(variable)
            scope.accesses.append(tuple(term.loops for term in index))
            known = scope.memo[key] = scope.temporary(
                place.at(index), loops_of(index), variable.type.dtype
            )
        return known

    def computed(self, variable: Variable, index: tuple[Term, ...], scope: Scope) -> Term:
        """One element of a variable, computed from what it depends on."""
        key = (variable, tuple(term.text for term in index), "computed")
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
            except _TooDeep as deep:
                pending.append(deep.element)
            else:
                pending.pop()
        assert known is not None
        return known

    def _computed(self, key: tuple, index: tuple[Term, ...], scope: Scope) -> Term:
        if self._depth == _DEEPEST:
            raise _TooDeep(key, index, scope)
        node = key[0].owner
        self._depth += 1
        try:
            known = scope.memo[key] = rule_of(node.op)(self, node, index, scope)
        finally:
            self._depth -= 1
        return known

    def scalar_call(self, node: Apply, operands: Sequence[Term], scope: Scope) -> Term:
        """A scalar operation on operands."""
        op = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
        dtypes = [v.type.dtype for v in node.inputs]
        out = node.outputs[0].type.dtype
        texts = [term.text for term in operands]
        for at, term in enumerate(operands):
            if term.value is not None and (dtype := meeting_dtype(op, at, dtypes, out)):
                texts[at], dtypes[at] = literal(term.value, dtype), dtype
        text = expression(op, texts, dtypes, out)
        kind = type(op).__name__
        if kind == "TrueDiv" and texts[0] in scope.negated and dtypes[1] == "float64":
            # of x / s and -x / s one is divided
            quotient = f"({scope.negated[texts[0]]} / {texts[1]})"
            text = f"(-{scope.temporary(quotient, loops_of(operands), out).text})"
        if text is None:
            text = f"{self.shared.scalar_function(op, dtypes, out)}({', '.join(texts)})"
        elif text in texts:
            at = texts.index(text)
            return operands[at] if operands[at].text == text else Term(text)
        term = scope.temporary(text, loops_of(operands), out)
        if kind == "Neg" and out == dtypes[0] == "float64":
            scope.negated[term.text] = texts[0]
        if is_call(op):
            scope.calls.add(term.text)
        return term

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, task: Task) -> None:
        assert task.node is not None
        call_rule(task.node)(self, task.node)

    def numba_function(self, node: Apply) -> str:
        """Name of PyTensor's numba function of a node."""
        name = self.fresh("f")
        self.namespace[name] = NumbaFunction(node)
        return name

    def argument(self, variable: Variable) -> str:
        """What a function of numba is given for a variable."""
        if isinstance(variable.type, ScalarType):
            return self.element(variable, (), self.top).text
        if not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"an input of type {variable.type}")
        if variable.type.ndim == 0:
            return f"np.asarray({self.element(variable, (), self.top).text})"
        return self.place(variable).whole

    # -- loop nests -------------------------------------------------------------------------------

    def _nest(self, group: Group, number: int) -> None:
        loops = {item: f"i{at}" for at, item in enumerate(group.space)}
        scope = Scope(self)
        nest = Nest(self, scope, loops, number)
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
                self._scatter(task, index, scope, nest)
        nest.write()

    def _iterate(self, task: Task, loops: dict) -> tuple[Term, ...]:
        ndim = self._iterated(task).type.ndim
        index = [ZERO] * ndim
        for item, axis in zip(task.space, task.axes, strict=True):
            name = loops[item]
            index[axis] = Term(name, frozenset({name}))
            self.loop_lengths[name] = self.length(self._iterated(task), axis)
        return tuple(index)

    def _iterated(self, task: Task) -> Variable:
        if task.kind == "store":
            return task.target
        assert task.node is not None
        return task.node.inputs[0] if task.kind == "reduce" else selection_of(task.node)

    def _scatter(self, task: Task, index: tuple[Term, ...], scope: Scope, nest: Any) -> None:
        node = task.node
        assert node is not None
        value = node.inputs[1]
        own = index[len(index) - value.type.ndim :]
        element = self.element(value, restrict(value, own), scope)
        selection = selection_of(node)
        places = self.source_index(selection.owner, index, scope)
        nest.scatter(node, places, element)

    def source_index(self, node: Apply, index: tuple[Term, ...], scope: Scope) -> tuple[Term, ...]:
        """Where in the source the element of a selection is."""
        if isinstance(node.op, Subtensor):
            return basic_index(self, node, index, scope)
        return gather_index(self, node, index, scope)
