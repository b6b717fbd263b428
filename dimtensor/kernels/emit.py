"""Source of a function of loop nests, written from a plan."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.basic import Alloc
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.subtensor import Subtensor
from pytensor.tensor.type import TensorType

from dimtensor.kernels.elements import (
    ZERO,
    Term,
    basic_index,
    entries_of,
    gather_index,
    loops_of,
    restrict,
    rule_of,
    slice_ends,
    slice_walk,
)
from dimtensor.kernels.extents import Axis, kept_axes, selection_of
from dimtensor.kernels.nest import Nest
from dimtensor.kernels.plan import (
    Group,
    Plan,
    Task,
    UnsupportedGraph,
    is_matrix_product,
    untransposed,
)
from dimtensor.kernels.scalars import expression, literal


class Scope:
    """Temporaries of one loop nest, each written once."""

    def __init__(self, emitter: Emitter):
        self.emitter = emitter
        self.memo: dict[tuple, Term] = {}
        self.temporaries: list[tuple[str, str, frozenset]] = []
        self.accesses: list[tuple[frozenset, ...]] = []

    def temporary(self, text: str, loops: frozenset) -> Term:
        name = self.emitter.fresh("t")
        self.temporaries.append((name, text, loops))
        return Term(name, loops)


class TopScope(Scope):
    """Scalars outside of all loops, written as soon as they are needed."""

    def temporary(self, text: str, loops: frozenset) -> Term:
        name = self.emitter.fresh("s")
        self.emitter.lines.append(f"{name} = {text}")
        return Term(name)


class Emitter:
    """Writes the source; `namespace` has what it refers to, `constants` its extra arguments."""

    def __init__(self, plan: Plan):
        self.plan = plan
        self.graph = plan.graph
        self.lines: list[str] = []
        self.names: dict[Variable, str] = {}
        self.scalars: dict[Variable, Term] = {}
        self.namespace: dict[str, Any] = {}
        self.constants: list[tuple[str, np.ndarray]] = []
        self.owned: set[Variable] = set()
        self._counter = itertools.count()
        self._lengths: dict[Axis, str] = {}
        self.loop_lengths: dict[str, str] = {}
        self._functions: dict[Any, str] = {}
        self._classes = plan.extents.classes()
        self.top = TopScope(self)

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._counter)}"

    def source(self, name: str = "kernel") -> str:
        """The whole function."""
        arguments = []
        for variable in self.graph.inputs:
            argument = self.fresh("x")
            arguments.append(argument)
            if variable.type.ndim == 0:
                scalar = self.fresh("s")
                self.lines.append(f"{scalar} = {argument}[()]")
                self.scalars[variable] = Term(scalar)
            else:
                self.names[variable] = argument
        for group in self.plan.groups:
            if group.is_call:
                self._call(group.tasks[0])
            else:
                self._nest(group)
        results = [self._result(variable) for variable in self.graph.outputs]
        arguments += [constant for constant, _ in self.constants]
        body = "\n".join("    " + line for line in self.lines) or "    pass"
        returned = "".join(f"{result}, " for result in results)
        return f"def {name}({', '.join(arguments)}):\n{body}\n    return ({returned})\n"

    def _result(self, variable: Variable) -> str:
        if variable.type.ndim == 0:
            text = self.element(variable, (), self.top).text
            # a number that comes out as a Python float, int or bool would lose its dtype
            plain = variable.type.dtype in ("float64", "int64", "bool", "complex128")
            return text if plain else f"np.asarray({text})"
        if isinstance(variable, Constant):
            return f"{self.array(variable)}.copy()"
        name = self.names[variable]
        node = variable.owner
        aliased = node is None or (variable not in self.owned and getattr(node.op, "view_map", {}))
        return f"{name}.copy()" if aliased else name

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
            text = self._length_text(members)
            if text.isdigit():
                known = text
            else:
                known = self.fresh("n")
                self.lines.append(f"{known} = {text}")
            self._lengths[cls] = known
        return known

    def _length_text(self, members: Sequence[Axis]) -> str:
        for variable, axis in members:
            if variable.type.shape[axis] is not None:
                return str(variable.type.shape[axis])
        for variable, axis in members:
            if variable in self.names:
                return f"{self.names[variable]}.shape[{axis}]"
        for variable, axis in members:
            text = self._derived_length(variable, axis)
            if text is not None:
                return text
        raise UnsupportedGraph(f"the length of axis {members[0][1]} of {members[0][0]}")

    def _derived_length(self, variable: Variable, axis: int) -> str | None:
        node = variable.owner
        if node is None:
            return None
        if isinstance(node.op, Alloc):
            return self.element(node.inputs[1 + axis], (), self.top).text
        if isinstance(node.op, Subtensor):
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

    def array(self, variable: Variable) -> str:
        """Name of a stored array."""
        name = self.names.get(variable)
        if name is None:
            if not isinstance(variable, Constant):
                raise UnsupportedGraph(f"{variable} is not stored")
            name = self.fresh("c")
            self.constants.append((name, np.ascontiguousarray(variable.data)))
            self.names[variable] = name
        return name

    def element(self, variable: Variable, index: tuple[Term, ...], scope: Scope) -> Term:
        """One element of a variable."""
        if isinstance(variable, Constant):
            data = np.asarray(variable.data)
            if data.size == 1:
                return Term(literal(data.reshape(()), data.dtype.name))
            return self._load(variable, index, scope)
        if getattr(variable.type, "ndim", 0) == 0:
            return self._scalar(variable)
        if variable in self.names:
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
            name = self.array(variable)
            scope.accesses.append(tuple(term.loops for term in index))
            text = f"{name}[{', '.join(term.text for term in index)}]"
            known = scope.memo[key] = scope.temporary(text, loops_of(index))
        return known

    def computed(self, variable: Variable, index: tuple[Term, ...], scope: Scope) -> Term:
        """One element of a variable, computed from what it depends on."""
        key = (variable, tuple(term.text for term in index), "computed")
        known = scope.memo.get(key)
        if known is None:
            rule = rule_of(variable.owner.op)
            known = scope.memo[key] = rule(self, variable.owner, index, scope)
        return known

    def scalar_call(self, node: Apply, operands: Sequence[Term], scope: Scope) -> Term:
        """A scalar operation on operands."""
        op = node.op.scalar_op if isinstance(node.op, Elemwise) else node.op
        dtypes = [v.type.dtype for v in node.inputs]
        out = node.outputs[0].type.dtype
        text = expression(op, [term.text for term in operands], dtypes, out)
        if text is None:
            function = self._scalar_function(op, dtypes, out)
            text = f"{function}({', '.join(term.text for term in operands)})"
        elif text in [term.text for term in operands]:
            return operands[[term.text for term in operands].index(text)]
        return scope.temporary(text, loops_of(operands))

    def _scalar_function(self, op: Any, dtypes: Sequence[str], out: str) -> str:
        """PyTensor's own numba function of a scalar operation."""
        key = (op, tuple(dtypes))
        name = self._functions.get(key)
        if name is None:
            from pytensor.link.numba.dispatch.basic import numba_funcify
            from pytensor.scalar.basic import get_scalar_type

            node = op.make_node(*[get_scalar_type(dtype)() for dtype in dtypes])
            if node.outputs[0].type.dtype != out:
                raise UnsupportedGraph(f"{op} gives {node.outputs[0].type.dtype}, not {out}")
            name = self._functions[key] = self.fresh("f")
            self.namespace[name] = numba_funcify(op, node=node)
        return name

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, task: Task) -> None:
        """What has no rule is called through PyTensor's numba implementation."""
        from pytensor.link.numba.dispatch.basic import numba_funcify

        node = task.node
        assert node is not None
        if is_matrix_product(node):
            self._matrix_product(node)
            return
        function = self.fresh("f")
        self.namespace[function] = numba_funcify(node.op, node=node)
        arguments = [self._argument(variable) for variable in node.inputs]
        results = [self.fresh("v") for _ in node.outputs]
        targets = ", ".join(results)
        self.lines.append(f"{targets} = {function}({', '.join(arguments)})")
        for variable, name in zip(node.outputs, results, strict=True):
            if isinstance(variable.type, ScalarType):
                self.scalars[variable] = Term(name)
            elif not isinstance(variable.type, TensorType):
                raise UnsupportedGraph(f"a result of type {variable.type}")
            elif variable.type.ndim == 0:
                scalar = self.fresh("s")
                self.lines.append(f"{scalar} = np.asarray({name})[()]")
                self.scalars[variable] = Term(scalar)
            else:
                self.names[variable] = name

    def _matrix_product(self, node: Apply) -> None:
        """A product of matrices is left to the BLAS that numba calls; transposes cost nothing."""
        operands = []
        for variable in node.inputs:
            stored, transposed = untransposed(variable)
            operands.append(self.array(stored) + (".T" if transposed else ""))
        name = self.fresh("v")
        self.lines.append(f"{name} = np.dot({', '.join(operands)})")
        self.names[node.outputs[0]] = name

    def _argument(self, variable: Variable) -> str:
        if isinstance(variable.type, ScalarType):
            return self.element(variable, (), self.top).text
        if not isinstance(variable.type, TensorType):
            raise UnsupportedGraph(f"an input of type {variable.type}")
        if variable.type.ndim == 0:
            return f"np.asarray({self.element(variable, (), self.top).text})"
        return self.array(variable)

    # -- loop nests -------------------------------------------------------------------------------

    def _nest(self, group: Group) -> None:
        loops = {item: f"i{at}" for at, item in enumerate(group.space)}
        scope = Scope(self)
        nest = Nest(self, scope, loops)
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
