"""Derivatives of log-sum-exp and of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.ops.along import LogSumExp, ScaledSoftmax, Softmax
from dimtensor.ops.derivatives.flow import Flow, number, settled, summed_to, total
from dimtensor.ops.derivatives.rules import FlowRules, declare_flow_rules
from dimtensor.ops.derivatives.scalars.elementwise import unused_times
from dimtensor.ops.derivatives.structural import reordered
from dimtensor.ops.nodes import elementwise
from dimtensor.ops.special import vanishing


def _softmax(node: Any) -> Variable:
    if isinstance(node.op, Softmax) and not node.op.log:
        return node.outputs[0]
    return ScaledSoftmax(node.op.axis)(node.inputs[0], number(1, node.inputs[0]))


def _summed(node: Any, terms: Variable, keepdims: bool = True) -> Variable:
    dtype = terms.type.dtype
    return pt.sum(terms, axis=node.op.axis, keepdims=keepdims, dtype=dtype, acc_dtype=dtype)


def _scaled(node: Any, factor: Variable, sparse: int) -> Variable:
    """Multiply the softmax by a factor that is zero for unused elements."""
    value = ScaledSoftmax(node.op.axis)(node.inputs[0], factor)
    if sparse:  # what is not used has no influence, also if it is not finite
        used = elementwise(pt.neq, factor, number(0, factor))
        none = pt.cast(vanishing(factor, _softmax(node)), value.type.dtype)
        value = elementwise(pt.switch, used, value, none)
    return value


def _pull_log_sum_exp(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow]:
    (x,) = node.inputs
    axes, numbers = node.op.axis, iter(range(node.outputs[0].type.ndim))
    order = ["x" if at in axes else next(numbers) for at in range(x.type.ndim)]
    flow = reordered(cotangent, order)
    return [Flow(_scaled(node, flow.value, flow.sparse), flow.mask, flow.sparse)]


def _push_log_sum_exp(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    (flow,) = tangents
    if flow is None:
        return None
    product = elementwise(pt.mul, _softmax(node), settled(flow, node.inputs[0]))
    return Flow(_summed(node, product, False), None, flow.sparse)


def _pull_scaled_softmax(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow | None]:
    (x, factor), (out,) = node.inputs, node.outputs
    value, along, sparse = _pulled(node, cotangent)
    found: list[Flow | None] = [None, None]
    if wanted[0]:
        found[0] = summed_to(Flow(value, None, sparse), x, out)
    if wanted[1]:
        found[1] = summed_to(Flow(along, None, sparse), factor, along)
    return found


def _pulled(node: Any, cotangent: Flow) -> tuple[Variable, Variable, int]:
    """Return the cotangents of the operand of a softmax and of its factor, and the sparsity."""
    (out,) = node.outputs
    t, sparse = settled(cotangent, out), cotangent.sparse_when_masked
    along = _summed(node, unused_times(t, _softmax(node), bool(sparse)))
    return unused_times(elementwise(pt.sub, t, along), out, bool(sparse)), along, sparse


def _pull_softmax(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow]:
    if not node.op.log:
        value, _, sparse = _pulled(node, cotangent)
        return [Flow(value, None, sparse)]
    t, sparse = settled(cotangent, node.outputs[0]), cotangent.sparse_when_masked
    taken = _scaled(node, _summed(node, t), sparse)
    return [Flow(elementwise(pt.sub, t, taken), None, sparse)]


def _push_scaled_softmax(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    (x, factor), (out,), (of_x, of_factor) = node.inputs, node.outputs, tangents
    terms: list[Variable] = []
    if of_x is not None:
        terms.append(elementwise(pt.mul, out, _less_mean(node, settled(of_x, x))))
    if of_factor is not None:
        terms.append(elementwise(pt.mul, _softmax(node), settled(of_factor, factor)))
    if not terms:
        return None
    sparse = max(flow.sparse_when_masked for flow in tangents if flow is not None)
    return Flow(total(terms), None, sparse)


def _push_softmax(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    (flow,) = tangents
    if flow is None:
        return None
    value = _less_mean(node, settled(flow, node.inputs[0]))
    if not node.op.log:
        value = elementwise(pt.mul, node.outputs[0], value)
    return Flow(value, None, flow.sparse_when_masked)


def _less_mean(node: Any, t: Variable) -> Variable:
    """Subtract the mean of a tangent, weighted by the softmax."""
    return elementwise(pt.sub, t, _summed(node, elementwise(pt.mul, _softmax(node), t)))


declare_flow_rules(LogSumExp, FlowRules(_pull_log_sum_exp, _push_log_sum_exp))
declare_flow_rules(ScaledSoftmax, FlowRules(_pull_scaled_softmax, _push_scaled_softmax))
declare_flow_rules(Softmax, FlowRules(_pull_softmax, _push_softmax))
