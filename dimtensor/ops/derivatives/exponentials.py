"""Derivatives of log-sum-exp and of softmax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.ops.along import LogSumExp, ScaledSoftmax
from dimtensor.ops.derivatives.flow import Flow, number, settled, summed_to, total
from dimtensor.ops.derivatives.rules import FlowRules, declare_flow_rules
from dimtensor.ops.derivatives.scalars.elementwise import unused_times
from dimtensor.ops.derivatives.structural import reordered
from dimtensor.ops.nodes import elementwise
from dimtensor.ops.special import vanishing


def _softmax(node: Any) -> Variable:
    return ScaledSoftmax(node.op.axis)(node.inputs[0], number(1, node.inputs[0]))


def _summed(node: Any, terms: Variable, keepdims: bool = True) -> Variable:
    dtype = terms.type.dtype
    return pt.sum(terms, axis=node.op.axis, keepdims=keepdims, dtype=dtype, acc_dtype=dtype)


def _pull_log_sum_exp(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow]:
    (x,) = node.inputs
    axes, numbers = node.op.axis, iter(range(node.outputs[0].type.ndim))
    order = ["x" if at in axes else next(numbers) for at in range(x.type.ndim)]
    flow = reordered(cotangent, order)
    value = ScaledSoftmax(axes)(x, flow.value)
    if flow.sparse:  # what is not used has no influence, also if it is not finite
        used = elementwise(pt.neq, flow.value, number(0, flow.value))
        none = pt.cast(vanishing(flow.value, _softmax(node)), value.type.dtype)
        value = elementwise(pt.switch, used, value, none)
    return [Flow(value, flow.mask, flow.sparse)]


def _push_log_sum_exp(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    (flow,) = tangents
    if flow is None:
        return None
    product = elementwise(pt.mul, _softmax(node), settled(flow, node.inputs[0]))
    return Flow(_summed(node, product, False), None, flow.sparse)


def _pull_softmax(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow | None]:
    (x, factor), (out,) = node.inputs, node.outputs
    t, sparse = settled(cotangent, out), cotangent.sparse_when_masked
    along = _summed(node, unused_times(t, _softmax(node), bool(sparse)))
    found: list[Flow | None] = [None, None]
    if wanted[0]:
        value = unused_times(elementwise(pt.sub, t, along), out, bool(sparse))
        found[0] = summed_to(Flow(value, None, sparse), x, out)
    if wanted[1]:
        found[1] = summed_to(Flow(along, None, sparse), factor, along)
    return found


def _push_softmax(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    (x, factor), (out,), (of_x, of_factor) = node.inputs, node.outputs, tangents
    terms: list[Variable] = []
    softmax = _softmax(node)
    if of_x is not None:
        t = settled(of_x, x)
        along = _summed(node, elementwise(pt.mul, softmax, t))
        terms.append(elementwise(pt.mul, out, elementwise(pt.sub, t, along)))
    if of_factor is not None:
        terms.append(elementwise(pt.mul, softmax, settled(of_factor, factor)))
    if not terms:
        return None
    sparse = max(flow.sparse_when_masked for flow in tangents if flow is not None)
    return Flow(total(terms), None, sparse)


declare_flow_rules(LogSumExp, FlowRules(_pull_log_sum_exp, _push_log_sum_exp))
declare_flow_rules(ScaledSoftmax, FlowRules(_pull_softmax, _push_softmax))
