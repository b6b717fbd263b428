"""Derivatives of operations that have graphs of their own, or that run over leading axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from pytensor.compile.builders import OpFromGraph
from pytensor.conditional.op import IfElse
from pytensor.graph.basic import Variable
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.math import Dot

from dimtensor.ops.batching import over_batch
from dimtensor.ops.derivatives.driver import (
    pull,
    pulled_by_op,
    pulled_node,
    push,
    pushed_by_pulling,
    pushed_node,
)
from dimtensor.ops.derivatives.flow import MOSTLY, SPARSE, Flow, settled, zeros
from dimtensor.ops.derivatives.rules import (
    FlowRules,
    Tangents,
    declare_flow_rules,
    forward_rule,
    reverse_rule,
)
from dimtensor.ops.derivatives.scalars.elementwise import expanded
from dimtensor.ops.derivatives.scalars.poles import mark_infinite, may_become_infinite, stand_ins
from dimtensor.ops.derivatives.scalars.series import is_series, pull_series, push_series
from dimtensor.ops.derivatives.structural import pull_dot
from dimtensor.ops.graphs import bound, cotangent_of, pass_on, replaced
from dimtensor.upstream.pytensor import core_node

Results = list[Any]


def _pushed_inside(
    write_out: Callable[[Any], list[Variable]], node: Any, tangents: Tangents
) -> Results:
    """Tangents of what a node computes, its graph written out."""
    fresh = stand_ins(node.inputs, node.inputs)
    outputs = write_out(SimpleNamespace(op=node.op, inputs=fresh, outputs=node.outputs))
    moved = [at for at, t in enumerate(tangents) if t is not None]
    inner = [tangents[at].type() for at in moved]  # type: ignore[union-attr]
    found = push(outputs, [fresh[at] for at in moved], inner)
    outside = dict(zip(fresh, node.inputs, strict=True))
    outside |= dict(zip(inner, (tangents[at] for at in moved), strict=True))
    return _outside(found, outside)


def _pulled_inside(
    write_out: Callable[[Any], list[Variable]],
    node: Any,
    cotangents: Tangents,
    wanted: Sequence[bool],
) -> Results:
    """Cotangents of what a node takes, its graph written out."""
    fresh = stand_ins(node.inputs, node.inputs)
    outputs = write_out(SimpleNamespace(op=node.op, inputs=fresh, outputs=node.outputs))
    inner = [None if c is None else v.type() for c, v in zip(cotangents, node.outputs, strict=True)]
    asked = [x for x, on in zip(fresh, wanted, strict=True) if on]
    found = pull(outputs, inner, asked, undefined="return")
    outside = dict(zip(fresh, node.inputs, strict=True))
    outside |= {v: c for v, c in zip(inner, cotangents, strict=True) if v is not None}
    answers = iter(_outside(found, outside))
    return [next(answers) if on else None for on in wanted]


def _outside(found: Sequence[Any], pairs: dict[Any, Any]) -> Results:
    here = [v for v in found if isinstance(v, Variable)]
    answers = iter(replaced(here, pairs))
    return [next(answers) if isinstance(v, Variable) else v for v in found]


def _written_out(node: Any) -> list[Variable]:
    """Inline the graph of an `OpFromGraph`."""
    graph = node.op.fgraph
    if isinstance(graph, FrozenFunctionGraph):
        return bound(graph, node.inputs)[0]
    return replaced(graph.outputs, dict(zip(graph.inputs, node.inputs, strict=True)))


@forward_rule(OpFromGraph)
def _push_graph(node: Any, tangents: Tangents) -> Results:
    if _has_own(node.op):
        return pushed_by_pulling(node, tangents)
    return _pushed_inside(_written_out, node, tangents)


@reverse_rule(OpFromGraph)
def _pull_graph(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    if _has_own(node.op):
        return pulled_by_op(node, cotangents, wanted)
    return _pulled_inside(_written_out, node, cotangents, wanted)


def _has_own(op: OpFromGraph) -> bool:
    """Return whether the operation overrides its derivative."""
    return (
        getattr(op, "pullback_overrides", None) is not None
        or type(op).pullback is not OpFromGraph.pullback
    )


@forward_rule(Elemwise)
def _push_composite(node: Any, tangents: Tangents) -> Results:
    if is_series(node):
        return push_series(node, tangents)
    if not _is_composite(node):
        return pushed_by_pulling(node, tangents)
    return _pushed_inside(expanded, node, tangents)


@reverse_rule(Elemwise)
def _pull_composite(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    if is_series(node):
        return pull_series(node, cotangents, wanted)
    if not _is_composite(node):
        return pulled_by_op(node, cotangents, wanted)
    return _pulled_inside(expanded, node, cotangents, wanted)


def _is_composite(node: Any) -> bool:
    from pytensor.scalar.basic import Composite

    return isinstance(node.op.scalar_op, Composite)


@forward_rule(IfElse)
def _push_ifelse(node: Any, tangents: Tangents) -> Results:
    condition, *values = node.inputs
    n = node.op.n_outs
    found: Results = []
    for at in range(n):
        pair = [tangents[1 + at], tangents[1 + n + at]]
        if pair == [None, None]:
            found.append(None)
            continue
        full = [
            zeros(x) if t is None else t
            for t, x in zip(pair, (values[at], values[n + at]), strict=True)
        ]
        found.append(_ifelse(condition, *full))
    return found


@reverse_rule(IfElse)
def _pull_ifelse(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    condition, *values = node.inputs
    n = node.op.n_outs
    found: Results = [None] * len(node.inputs)
    for at, c in enumerate(cotangents):
        if c is None:
            continue
        first, second = 1 + at, 1 + n + at
        if wanted[first]:
            found[first] = _ifelse(condition, c, zeros(values[at]))
        if wanted[second]:
            found[second] = _ifelse(condition, zeros(values[n + at]), c)
    return found


def _ifelse(condition: Variable, one: Variable, other: Variable) -> Variable:
    from pytensor.conditional.op import ifelse

    return ifelse(condition, one, other)


def _core(node: Any) -> Any:
    """Return a node of the core operation on new variables, without batch axes."""
    core = core_node(node.op, node.inputs)
    inputs = stand_ins(core.inputs, node.inputs)
    outputs = [v.type() for v in core.outputs]
    for old, new in zip(node.outputs, outputs, strict=True):
        pass_on(old, new)
    return SimpleNamespace(op=node.op.core_op, inputs=inputs, outputs=outputs)


def _seeds(core: Any, cotangents: Tangents) -> list[Variable | None]:
    """Variables for cotangents of one element of the batch, marked where that is asked."""
    found = [None if c is None else v.type() for v, c in zip(core.outputs, cotangents, strict=True)]
    for new, v, c in zip(found, core.outputs, cotangents, strict=True):
        if c is not None and cotangent_of(v) is not None and may_become_infinite(c):
            mark_infinite(new)
    return found


def _batch_ndim(node: Any) -> int:
    return node.outputs[0].type.ndim - len(node.op.outputs_sig[0])


@forward_rule(Blockwise)
def _push_blockwise(node: Any, tangents: Tangents) -> Results:
    if _batch_ndim(node) == 0:
        inner = SimpleNamespace(op=node.op.core_op, inputs=node.inputs, outputs=node.outputs)
        return list(pushed_node(inner, tangents))
    core = _core(node)
    inside = [None if t is None else x.type() for x, t in zip(core.inputs, tangents, strict=True)]
    found = pushed_node(core, inside)
    batched = dict(zip(core.inputs, node.inputs, strict=True))
    batched |= dict(zip(core.outputs, node.outputs, strict=True))
    batched |= {v: t for v, t in zip(inside, tangents, strict=True) if v is not None}
    return _vectorized(found, batched)


@reverse_rule(Blockwise)
def _pull_blockwise(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return _pulled_core(node, cotangents, wanted, pulled_node)


def _pulled_core(
    node: Any, cotangents: Tangents, wanted: Sequence[bool], rule: Callable[..., Sequence[Any]]
) -> Results:
    if _batch_ndim(node) == 0:
        inner = SimpleNamespace(op=node.op.core_op, inputs=node.inputs, outputs=node.outputs)
        return list(rule(inner, cotangents, wanted))
    core = _core(node)
    inside = _seeds(core, cotangents)
    found = rule(core, inside, wanted)
    batched = dict(zip(core.inputs, node.inputs, strict=True))
    batched |= dict(zip(core.outputs, node.outputs, strict=True))
    batched |= {v: c for v, c in zip(inside, cotangents, strict=True) if v is not None}
    answers = _vectorized(found, batched)
    n = _batch_ndim(node)
    batch = node.outputs[0]
    return [_summed(answer, x, batch, n) if isinstance(answer, Variable) else answer
            for answer, x in zip(answers, node.inputs, strict=True)]  # fmt: skip


def _pull_products(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow | None]:
    """Cotangents of the factors of a batch of matrix products."""
    sparse = cotangent.sparse_when_masked

    def rule(core: Any, inside: Tangents, wanted: Sequence[bool]) -> list[Variable | None]:
        found = pull_dot(core, Flow(inside[0], None, sparse), wanted)
        pairs = zip(found, core.inputs, strict=True)
        return [None if flow is None else settled(flow, x) for flow, x in pairs]

    given = settled(cotangent, node.outputs[0])
    found = _pulled_core(node, [given], wanted, rule)
    return [None if v is None else Flow(v, None, max(sparse, MOSTLY)) for v in found]


def _push_products(node: Any, tangents: Sequence[Flow | None]) -> Flow:
    """Push tangents through a batch of matrix products."""
    pairs = zip(tangents, node.inputs, strict=True)
    (found,) = _push_blockwise(node, [None if t is None else settled(t, x) for t, x in pairs])
    return Flow(found, None, SPARSE)


declare_flow_rules(
    Blockwise,
    FlowRules(_pull_products, _push_products, lambda node: isinstance(node.op.core_op, Dot)),
)


def _summed(answer: Variable, x: Variable, batch: Variable, n: int) -> Variable:
    """Sum a cotangent over the leading axes along which an input was repeated."""
    axes = [at for at in range(n) if x.type.shape[at] == 1 and batch.type.shape[at] != 1]
    if not axes:
        return answer
    import pytensor.tensor as pt

    return pt.sum(answer, axis=axes, keepdims=True, dtype=x.type.dtype, acc_dtype=x.type.dtype)


def _vectorized(found: Sequence[Any], batched: dict[Variable, Variable]) -> Results:
    here = [v for v in found if isinstance(v, Variable)]
    answers = iter(over_batch(here, batched) if here else ())
    return [next(answers) if isinstance(v, Variable) else v for v in found]
