"""Loops over scalars that are applied to each element: PyTensor's derivatives of series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.scalar.basic import ScalarInnerGraphOp
from pytensor.scalar.loop import ScalarLoop
from pytensor.tensor.elemwise import Elemwise

from dimtensor.kernels.ir.make import TRUE, cast, number
from dimtensor.kernels.ir.nodes import (
    Assign,
    Break,
    Carry,
    Expression,
    For,
    If,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.rules.calls import (
    CallRule,
    call_numba,
    finish,
    loops_over,
    new_scope,
    write_loops,
)
from dimtensor.kernels.rules.elementwise import Place, restrict

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


def _series(e: Emitter, node: Apply) -> None:
    loop = node.op.scalar_op
    if not isinstance(loop, ScalarLoop) or _has_loop(loop):
        call_numba(e, node)
        return
    out = node.outputs[0]
    index, loops = loops_over(e, out)
    wanted = {v: e.allocate(v) if out.type.ndim else None for v in _read(e, node)}
    scope = new_scope(e)
    n, *given = [e.element(v, restrict(v, index), scope) for v in node.inputs]
    results, body = _steps(e, loop, n, given)
    for variable, place in wanted.items():
        result = results[node.outputs.index(variable)]
        if place is None:
            e.scalars[variable] = result
        else:
            body.append(Store(place.at(index), result))
    write_loops(e, loops, scope, body)
    for variable, place in wanted.items():
        if isinstance(place, Place):
            finish(e, variable, place)


def _read(e: Emitter, node: Apply) -> list[Variable]:
    """Results that something reads."""
    return [v for v in node.outputs if e.graph.clients.get(v)] or node.outputs[:1]


def _has_loop(loop: ScalarLoop) -> bool:
    nodes = list(loop.fgraph.toposort())
    while nodes:
        op = nodes.pop().op
        if isinstance(op, ScalarLoop):
            return True
        if isinstance(op, ScalarInnerGraphOp):
            nodes += op.fgraph.toposort()
    return False


def _steps(
    e: Emitter, loop: ScalarLoop, n: Expression, given: Sequence[Expression]
) -> tuple[list[Var], list[Statement]]:
    """Variables of the states, and of whether the loop has ended, with what computes them."""
    n_states = len(loop.outputs) - loop.is_while
    outputs = [Var(e.fresh("s"), v.type.dtype) for v in loop.outputs]
    starts = [*given[:n_states], *[TRUE] * loop.is_while]
    before: list[Statement] = [Assign(s, value) for s, value in zip(outputs, starts, strict=True)]
    states = outputs[:n_states]
    scope = new_scope(e)
    values = _values(e, loop.fgraph, [*states, *given[n_states:]], scope)
    step: list[Statement] = list(scope.temporaries)
    for at, value in enumerate(values):
        if value in states:  # as it was before this step
            kept = Var(e.fresh("s"), value.dtype)
            step.append(Assign(kept, value))
            values[at] = kept
    step += [Carry(s, value) for s, value in zip(outputs, values, strict=True)]
    if loop.is_while:
        step.append(If(outputs[-1], (Break(),)))
    counter = Var(e.fresh("step"), "int64")
    return outputs, [*before, For(counter, cast(n, "int64"), tuple(step), is_scan=True)]


def _values(e: Emitter, graph: Any, given: Sequence[Expression], scope: Any) -> list[Expression]:
    """Results of a graph of scalars."""
    known = dict(zip(graph.inputs, given, strict=True))

    def value(v: Variable) -> Expression:
        return number(v.data, v.type.dtype) if isinstance(v, Constant) else known[v]

    for node in graph.toposort():
        operands = [value(v) for v in node.inputs]
        if isinstance(node.op, ScalarInnerGraphOp):
            found = _values(e, node.op.fgraph, operands, scope)
        else:
            found = [e.scalar_call(node, operands, scope)]
        known.update(zip(node.outputs, found, strict=True))
    return [value(v) for v in graph.outputs]


RULES: list[tuple[Any, CallRule]] = [(Elemwise, _series)]
