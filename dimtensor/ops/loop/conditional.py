"""Conditional: runs one of two frozen graphs, and differentiates the one that ran.

PyTensor's ``ifelse`` takes computed values, and moves a node into a branch at compile time if no
other node needs it. Intermediates that a branch shares with its gradient are needed by two
conditionals, so they stay outside and always run. Here branches are graphs, and the gradient of a
conditional is a conditional of the branches' gradients, which recompute their intermediates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.graph.traversal import ancestors
from pytensor.tensor.type import TensorType

from dimtensor.errors import GraphError
from dimtensor.ops.derivatives import Undefined, pull, push
from dimtensor.ops.derivatives.flow import is_continuous, zeros
from dimtensor.ops.derivatives.scalars.poles import stand_ins
from dimtensor.ops.differentiable import WithRules
from dimtensor.ops.graphs import bound, freeze, inputs_of, replaced
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop.capture import as_result, converted
from dimtensor.traversal import reached


class Conditional(WithRules, Op, HasInnerGraph):
    """One of two branches.

    Parameters
    ----------
    then_branch, else_branch : FrozenFunctionGraph
        With the same types of inputs, and the same types of outputs but for lengths that only one
        of them knows.

    Notes
    -----
    Inputs of a node are a bool scalar and what the branches take. Only the branch that is taken
    runs. The lengths of an output are those of the branch.
    """

    __props__ = ("then_branch", "else_branch")

    inner_rewritten = False  # no property: the rewrites of its branches have run

    def __init__(self, then_branch: FrozenFunctionGraph, else_branch: FrozenFunctionGraph):
        pairs = zip(then_branch.outputs, else_branch.outputs, strict=True)
        self.output_types = [_joint(a.type, b.type) for a, b in pairs]
        if [v.type for v in then_branch.inputs] != [v.type for v in else_branch.inputs]:
            raise TypeError("the branches take inputs of different types")
        self.then_branch = then_branch
        self.else_branch = else_branch

    @property
    def fgraph(self) -> FrozenFunctionGraph:
        return self.then_branch

    @property
    def inner_graphs(self) -> dict[str, FrozenFunctionGraph]:
        return {"then": self.then_branch, "else": self.else_branch}

    def __str__(self) -> str:
        return type(self).__name__

    def __call__(self, *inputs: Any, **kwargs: Any) -> list[Variable]:
        """Return the outputs as a list, also where there is only one."""
        return super().__call__(*inputs, **{**kwargs, "return_list": True})

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (*self.__props__, "output_types")}

    @cached_property
    def _run(self) -> tuple[Interpreter, Interpreter]:
        graphs = [graph.unfreeze() for graph in (self.else_branch, self.then_branch)]
        return tuple(Interpreter(graph.inputs, graph.outputs) for graph in graphs)  # type: ignore

    def make_node(self, condition: Any, *inputs: Any) -> Apply:
        condition = pt.as_tensor_variable(
            np.bool_(condition) if isinstance(condition, bool) else condition
        )
        if condition.type.ndim != 0 or condition.type.dtype != "bool":
            raise TypeError(f"a condition is a bool scalar, not {condition.type}")
        types = [v.type for v in self.then_branch.inputs]
        given = [type_.filter_variable(x) for type_, x in zip(types, inputs, strict=True)]
        outputs = [type_() for type_ in self.output_types]
        return Apply(self, [condition, *given], outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        condition, *given = inputs
        for cell, value, variable in zip(
            output_storage, self._run[bool(condition)](*given), node.outputs, strict=True
        ):
            tensor = isinstance(variable.type, TensorType)
            cell[0] = np.array(value, dtype=variable.type.dtype) if tensor else value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[False] * len(self.then_branch.outputs), *self._connections]

    @cached_property
    def _connections(self) -> list[list[bool]]:
        """For each input that is not the condition, which outputs depend on it."""
        behind = [
            (set(ancestors([a])), set(ancestors([b])))
            for a, b in zip(self.then_branch.outputs, self.else_branch.outputs, strict=True)
        ]
        pairs = zip(self.then_branch.inputs, self.else_branch.inputs, strict=True)
        return [[x in a or y in b for a, b in behind] for x, y in pairs]

    def pull_rule(self, node: Any, cotangents: Any, wanted: Sequence[bool]) -> list[Any]:
        """Return a conditional of the branches' derivatives, which recompute their intermediates.

        An input whose derivative is undefined in one branch has none in the other, either.
        """
        condition, *given = node.inputs
        at = [k for k, c in enumerate(cotangents) if c is not None]
        wrt = [
            number
            for number, on in enumerate(wanted[1:])
            if on and any(self._connections[number][k] for k in at)
        ]
        answers: list[Any] = [None] * len(node.inputs)
        if not at or not wrt:
            return answers
        slopes = [_slopes(g, given, at, wrt) for g in (self.then_branch, self.else_branch)]
        undefined = [
            next((v for v in pair if isinstance(v, Undefined)), None)
            for pair in zip(*(found for _, found in slopes), strict=True)
        ]
        for number, reason in zip(wrt, undefined, strict=True):
            answers[number + 1] = reason
        kept = [k for k, reason in enumerate(undefined) if reason is None]
        if kept:
            branches = [
                freeze(inner, _of_types([found[k] for k in kept], [inner[wrt[k]] for k in kept]))
                for inner, found in slopes
            ]
            results = type(self)(*branches)(condition, *given, *(cotangents[k] for k in at))
            for k, result in zip(kept, results, strict=True):
                answers[wrt[k] + 1] = result
        return answers

    def push_rule(self, node: Any, tangents: Any) -> list[Any]:
        condition, *given = node.inputs
        moved = [number for number, t in enumerate(tangents[1:]) if t is not None]
        reached = [
            k
            for k, out in enumerate(node.outputs)
            if is_continuous(out) and any(self._connections[number][k] for number in moved)
        ]
        answers: list[Any] = [None] * len(node.outputs)
        if not reached:
            return answers
        branches = [
            _tangents(g, given, moved, reached) for g in (self.then_branch, self.else_branch)
        ]
        results = type(self)(*branches)(condition, *given, *(tangents[n + 1] for n in moved))
        for k, result in zip(reached, results, strict=True):
            answers[k] = result
        return answers


class Shortcut(Conditional):
    """A conditional whose else-branch is always valid; its then-branch is a faster special case.

    A batch therefore needs a single condition: that all conditions of the batch hold.
    """


def _joint(one: Any, other: Any) -> Any:
    """Merge the types of an output of two branches, with all static lengths."""
    if one == other:
        return one
    tensors = isinstance(one, TensorType) and isinstance(other, TensorType)
    if not tensors or (one.dtype, one.ndim) != (other.dtype, other.ndim):
        raise TypeError(f"one branch gives {one}, the other {other}")
    pairs = list(zip(one.shape, other.shape, strict=True))
    if any(n != m and None not in (n, m) for n, m in pairs):
        raise TypeError(f"one branch gives {one}, the other {other}")
    return TensorType(one.dtype, [m if n is None else n for n, m in pairs])


def _slopes(
    branch: FrozenFunctionGraph, given: Sequence[Variable], at: Sequence[int], wrt: Sequence[int]
) -> tuple[list[Variable], list[Any]]:
    """Return the inputs of a branch with cotangents of its outputs, and the cotangents of its
    inputs.
    """
    inputs = stand_ins(branch.inputs, given)
    outputs, _ = bound(branch, inputs)
    cotangents = [outputs[k].type() for k in at]
    found = pull([outputs[k] for k in at], cotangents, [inputs[k] for k in wrt], "return")
    return [*inputs, *cotangents], found


def _of_types(results: Sequence[Any], like: Sequence[Variable]) -> list[Variable]:
    """Results of a branch, zeros where there is none, of the types that the other has, too."""
    pairs = zip(results, like, strict=True)
    return [_of_type(zeros(x) if v is None else v, x.type) for v, x in pairs]


def _tangents(
    branch: FrozenFunctionGraph,
    given: Sequence[Variable],
    moved: Sequence[int],
    reached: Sequence[int],
) -> FrozenFunctionGraph:
    inputs = stand_ins(branch.inputs, given)
    outputs, _ = bound(branch, inputs)
    outputs = [outputs[k] for k in reached]
    tangents = [inputs[k].type() for k in moved]
    results = push(outputs, [inputs[k] for k in moved], tangents)
    return freeze([*inputs, *tangents], _of_types(results, outputs))


def _of_type(variable: Variable, wanted: Any) -> Variable:
    """Convert a variable to exactly one type, on which two branches agree."""
    variable = converted(variable, wanted)
    if variable.type != wanted:
        variable = pt.specify_shape(variable, wanted.shape)
    return variable


def conditional(
    condition: Any,
    then_function: Callable[..., Any],
    else_function: Callable[..., Any],
    operands: Sequence[Any] = (),
    kind: type[Conditional] = Conditional,
) -> list[Variable]:
    """Run one of two functions.

    Parameters
    ----------
    condition : bool scalar variable
    then_function, else_function : callable
        Get the operands and give a sequence of variables of equal dtypes and numbers of axes; what
        they reach outside is captured by itself.
    operands : sequence of variables
    kind : type
        `Shortcut` where the second function is right whatever the condition is.

    Returns
    -------
    list of variable

    Raises
    ------
    GraphError
        If the branches give different numbers of results, or results of different types.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> (root,) = conditional(x > 0, lambda: [pt.sqrt(x)], lambda: [0.0 * x])
    >>> float(root.eval({x: 9.0}, mode="FAST_COMPILE"))
    3.0
    """
    given = [pt.as_tensor_variable(x) if not isinstance(x, Variable) else x for x in operands]
    inner = [x.type() for x in given]
    mark = _age(pt.constant(0).clone())
    results = [[as_result(x) for x in f(*inner)] for f in (then_function, else_function)]
    if len(results[0]) != len(results[1]):
        raise GraphError(f"one branch gives {len(results[0])} results, the other {len(results[1])}")
    types = [_common(k, a, b) for k, (a, b) in enumerate(zip(*results, strict=True))]
    results = [[_of_type(x, t) for x, t in zip(xs, types, strict=True)] for xs in results]
    outside = _made_before(mark, inner, [x for xs in results for x in xs])
    bound = [x.type() for x in outside]
    graphs = [
        freeze([*inner, *bound], replaced(xs, dict(zip(outside, bound, strict=True))))
        for xs in results
    ]
    return kind(*graphs)(condition, *given, *outside)


def _age(variable: Variable) -> int:
    """Return the serial number of a variable; later variables have larger ones."""
    return int(variable.auto_name.removeprefix("auto_"))


def _made_before(
    mark: int, inner: Sequence[Variable], outputs: Sequence[Variable]
) -> list[Variable]:
    """Free variables of branches. A branch owns the variables made in it: they run only with it."""
    own = set(inner)

    def is_outside(variable: Variable) -> bool:
        return variable.owner is None or _age(variable) < mark

    def below(variable: Variable) -> list[Variable]:
        return [] if variable in own or is_outside(variable) else inputs_of(variable)

    return [
        v
        for v in reached(outputs, below)
        if v not in own and not isinstance(v, Constant) and is_outside(v)
    ]


def _common(number: int, one: Variable, other: Variable) -> Any:
    """Type of a result of both branches."""
    a, b = one.type, other.type
    if not isinstance(a, TensorType) or not isinstance(b, TensorType) or a.ndim != b.ndim:
        if a == b:
            return a
        raise _different(number, a, b)
    lengths = []
    for n, m in zip(a.shape, b.shape, strict=True):
        if n != m and None not in (n, m):
            raise _different(number, a, b)
        lengths.append(m if n is None else n)
    dtype = pytensor.scalar.upcast(a.dtype, b.dtype)
    return TensorType(dtype, lengths)


def _different(number: int, one: Any, other: Any) -> GraphError:
    return GraphError(
        f"the branches give different things as result {number}", [("then", one), ("else", other)]
    )
