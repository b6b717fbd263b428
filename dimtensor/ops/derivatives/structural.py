"""Derivatives of operations that are linear: of forward mode, the operation on the tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.gradient import DisconnectedGrad, GradClip, GradScale, UndefinedGrad, ZeroGrad
from pytensor.graph.basic import Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import (
    Alloc,
    ARange,
    ExtractDiag,
    Join,
    MakeVector,
    ScalarFromTensor,
    Split,
    TensorFromScalar,
)
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot, Sum
from pytensor.tensor.reshape import JoinDims, SplitDims
from pytensor.tensor.shape import Reshape, SpecifyShape
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
)

from dimtensor.ops.derivatives.flow import (
    MOSTLY,
    SPARSE,
    Flow,
    Undefined,
    filled,
    masked,
    number,
    of_dtype,
    settled,
    shuffled,
    zeros,
)
from dimtensor.ops.derivatives.products import pull_running_product, push_running_product
from dimtensor.ops.derivatives.repeated import last_write_cotangent
from dimtensor.ops.derivatives.rules import (
    FlowRules,
    Tangents,
    declare_flow_rules,
    forward_rule,
    reverse_rule,
)
from dimtensor.ops.derivatives.scalars.poles import may_be_infinite, may_become_infinite
from dimtensor.ops.graphs import cotangent_of, note_cotangent, reduced_axes_of
from dimtensor.ops.nodes import lengths, reshaped, selected
from dimtensor.ops.special import vanishing

Results = list[Any]


def _first_only(node: Any, wanted: Sequence[bool], result: Any) -> Results:
    """Return the cotangent of the first input; the others are indices or lengths."""
    return [result if wanted[0] else None, *[None] * (len(node.inputs) - 1)]


def reordered(flow: Flow, order: Sequence[Any]) -> Flow:
    """Reorder the axes of a derivative, where "x" is a new one."""
    mask = flow.mask
    if mask is not None:
        rest = [
            axis for axis in range(mask.type.ndim)
            if axis not in order and mask.type.shape[axis] != 1
        ]  # fmt: skip
        if rest:
            return reordered(Flow(masked(flow.value, mask), None, SPARSE), order)
        mask = shuffled(mask, order)
    return Flow(shuffled(flow.value, order), mask, flow.sparse)


def _pull_dimshuffle(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> Results:
    order: list[Any] = ["x"] * node.inputs[0].type.ndim
    for at, axis in enumerate(node.op.new_order):
        if axis != "x":
            order[axis] = at
    return [reordered(cotangent, order)]


def _push_dimshuffle(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    flow = tangents[0]
    return None if flow is None else reordered(flow, node.op.new_order)


declare_flow_rules(DimShuffle, FlowRules(_pull_dimshuffle, _push_dimshuffle))


def _pull_sum(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> Results:
    axes, numbers = reduced_axes_of(node), iter(range(node.outputs[0].type.ndim))
    order = ["x" if at in axes else next(numbers) for at in range(node.inputs[0].type.ndim)]
    flow = reordered(cotangent, order)
    dtype = node.inputs[0].type.dtype
    if flow.value.type.dtype != dtype:
        flow = flow._replace(value=pt.cast(flow.value, dtype))
    return [flow]


def _push_sum(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    flow = tangents[0]
    if flow is None:
        return None
    return Flow(node.op(filled(flow.value, node.inputs[0])), None, flow.sparse)


declare_flow_rules(Sum, FlowRules(_pull_sum, _push_sum))


@forward_rule(
    Reshape, SpecifyShape, Split, ScalarFromTensor, TensorFromScalar, Subtensor, AdvancedSubtensor,
    ExtractDiag, JoinDims, SplitDims, Alloc,
)  # fmt: skip
def _applied(node: Any, tangents: Tangents) -> Results:
    """Operations that are linear in the first input; the others are indices and lengths."""
    if tangents[0] is None:
        return [None] * len(node.outputs)
    # a tangent of the operand's type needs no look at the lengths again
    tangent = [tangents[0], *node.inputs[1:]]
    return list(node.clone_with_new_inputs(tangent, strict=False).outputs)


@forward_rule(CheckAndRaise, ViewOp, DeepCopyOp)
def _passed(node: Any, tangents: Tangents) -> Results:
    return [tangents[0]]


@reverse_rule(CheckAndRaise, ViewOp, DeepCopyOp, SpecifyShape)
def _passed_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return _first_only(node, wanted, cotangents[0])


@forward_rule(DisconnectedGrad, ZeroGrad)
def _stopped(node: Any, tangents: Tangents) -> Results:
    return [None]


@reverse_rule(DisconnectedGrad, ZeroGrad)
def _stopped_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return [None]


@forward_rule(GradScale)
def _scaled(node: Any, tangents: Tangents) -> Results:
    t = tangents[0]
    return [None if t is None else t * number(node.op.multiplier, t)]


@reverse_rule(GradScale)
def _scaled_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return list(_scaled(node, cotangents))


@reverse_rule(GradClip)
def _clipped_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    c = cotangents[0]
    bounds = (node.op.clip_lower_bound, node.op.clip_upper_bound)
    return [None if c is None else pt.clip(c, *(number(b, c) for b in bounds))]


@reverse_rule(UndefinedGrad)
def _undefined_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return [Undefined("it is declared to be undefined")]


@forward_rule(UndefinedGrad)
def _undefined(node: Any, tangents: Tangents) -> Results:
    return [Undefined("it is declared to be undefined")]


@reverse_rule(Reshape, JoinDims, SplitDims)
def _reshaped_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    x = node.inputs[0]
    return _first_only(node, wanted, reshaped(cotangents[0], lengths(x)))


@reverse_rule(ScalarFromTensor)
def _scalar_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return [pt.tensor_from_scalar(cotangents[0])]


@reverse_rule(TensorFromScalar)
def _tensor_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    return [pt.scalar_from_tensor(cotangents[0])]


@reverse_rule(Alloc)
def _alloc_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    x, out = node.inputs[0], node.outputs[0]
    new = out.type.ndim - x.type.ndim
    axes = [
        *range(new),
        *(
            at + new
            for at, n in enumerate(x.type.shape)
            if n == 1 and out.type.shape[at + new] != 1
        ),
    ]
    c = cotangents[0]
    if axes:
        c = pt.sum(c, axis=axes, dtype=x.type.dtype, acc_dtype=x.type.dtype)
        kept = iter(range(x.type.ndim))
        order = ["x" if at + new in axes else next(kept) for at in range(x.type.ndim)]
        c = shuffled(c, order)
    return _first_only(node, wanted, c)


@forward_rule(MakeVector)
def _stacked(node: Any, tangents: Tangents) -> Results:
    elements = [zeros(x) if t is None else t for x, t in zip(node.inputs, tangents, strict=True)]
    return [MakeVector(node.op.dtype)(*elements)]


@reverse_rule(MakeVector)
def _unstacked(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    c = cotangents[0]
    return [c[at] if on else None for at, on in enumerate(wanted)]  # type: ignore[index]


@forward_rule(Join)
def _joined(node: Any, tangents: Tangents) -> Results:
    parts = [zeros(x) if t is None else t for x, t in zip(node.inputs, tangents, strict=True)]
    out = node.outputs[0].type.dtype
    return [node.op(*(pt.cast(p, out) if p.type.dtype != out else p for p in parts))]


@reverse_rule(Join)
def _cut(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    axis = node.op.axis
    found: Results = []
    start: Any = 0
    for x, on in zip(node.inputs, wanted, strict=True):
        stop = start + (x.shape[axis] if x.type.shape[axis] is None else x.type.shape[axis])
        part = (*[slice(None)] * axis, slice(start, stop))
        found.append(selected(cotangents[0], part) if on else None)
        start = stop
    return found


@reverse_rule(Split)
def _split_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    pairs = zip(node.outputs, cotangents, strict=True)
    parts = [zeros(v) if c is None else c for v, c in pairs]
    return _first_only(node, wanted, pt.join(node.op.axis, *parts))


@reverse_rule(Subtensor, AdvancedSubtensor)
def _selection_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    x, *indices = node.inputs
    put = IncSubtensor if isinstance(node.op, Subtensor) else AdvancedIncSubtensor
    cotangent = put(node.op.idx_list)(zeros(x), cotangents[0], *indices)
    return _first_only(node, wanted, cotangent)


@forward_rule(IncSubtensor, AdvancedIncSubtensor)
def _put(node: Any, tangents: Tangents) -> Results:
    x, y, *indices = node.inputs
    tx, ty = tangents[:2]
    if ty is None and not node.op.set_instead_of_inc:
        return [tx]
    tx = zeros(x) if tx is None else tx
    if ty is None:
        ty = pt.constant(0, dtype=x.type.dtype)
        ty = ty.dimshuffle(["x"] * y.type.ndim) if y.type.ndim else ty
    return [node.op(tx, ty, *indices)]


@reverse_rule(IncSubtensor, AdvancedIncSubtensor)
def _put_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    from dimtensor.upstream.pytensor import sum_over_broadcast_dims

    x, y, *indices = node.inputs
    c = cotangents[0]
    found: Results = [None] * len(node.inputs)
    if wanted[0]:
        found[0] = c
        if node.op.set_instead_of_inc:
            nothing = number(0, x)
            if nothing.type.ndim != y.type.ndim:
                nothing = pt.constant(0, dtype=x.type.dtype)
                nothing = nothing.dimshuffle(["x"] * y.type.ndim) if y.type.ndim else nothing
            found[0] = node.op(c, nothing, *indices)
    if wanted[1]:
        advanced = isinstance(node.op, AdvancedIncSubtensor)
        take = (AdvancedSubtensor if advanced else Subtensor)(node.op.idx_list)
        taken = take(c, *indices)
        if node.op.set_instead_of_inc or getattr(node.op, "ignore_duplicates", False):
            taken = last_write_cotangent(node, taken)
        found[1] = sum_over_broadcast_dims(y, taken)
    return found


@reverse_rule(ExtractDiag)
def _diagonal_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    (x,), (out,) = node.inputs, node.outputs
    op = node.op
    axes = (op.axis1, op.axis2)
    order = [*axes, *(at for at in range(x.type.ndim) if at not in axes)]
    count = out.shape[-1] if out.type.shape[-1] is None else out.type.shape[-1]
    at = pt.arange(count)
    rows, columns = (at, at + op.offset) if op.offset >= 0 else (at - op.offset, at)
    c = cotangents[0]
    last = c.type.ndim - 1  # type: ignore[union-attr]
    c = shuffled(c, [last, *range(last)])
    blank = shuffled(zeros(x), order)
    put = pt.set_subtensor(blank[rows, columns], c)
    back = [order.index(at) for at in range(x.type.ndim)]
    return [shuffled(put, back)]


def _backwards(x: Variable, axis: int) -> Variable:
    return selected(x, [*[slice(None)] * axis, slice(None, None, -1)])


def sum_from_the_end(x: Variable, axis: int) -> Variable:
    """Sum each element and those after it."""
    return _backwards(pt.cumsum(_backwards(x, axis), axis=axis), axis)


@forward_rule(CumOp)
def _cumulated(node: Any, tangents: Tangents) -> Results:
    if node.op.mode == "mul":
        return [push_running_product(node, tangents[0])]
    return [pt.cumsum(tangents[0], axis=node.op.axis)]


@reverse_rule(CumOp)
def _cumulated_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    if node.op.mode == "mul":
        return [pull_running_product(node, cotangents[0])]
    return [sum_from_the_end(cotangents[0], node.op.axis)]


@reverse_rule(ARange)
def _arange_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    c = cotangents[0]
    at = pt.arange(c.shape[0], dtype=c.type.dtype)  # type: ignore[union-attr]
    return [
        pt.sum(c) if wanted[0] else None,
        None,
        pt.sum(c * at) if wanted[2] else None,
    ]


@forward_rule(ARange)
def _arange(node: Any, tangents: Tangents) -> Results:
    start, _, step = tangents
    (out,) = node.outputs
    at = pt.arange(out.shape[0], dtype=out.type.dtype)
    terms = [] if step is None else [step * at]
    terms += [] if start is None else [filled(start.dimshuffle("x"), out)]
    return [pt.add(*terms) if len(terms) > 1 else terms[0] if terms else None]


@forward_rule(Dot)
def _dot(node: Any, tangents: Tangents) -> Results:
    return [_push_dot(node, [None if t is None else Flow(t, None, SPARSE) for t in tangents]).value]


@reverse_rule(Dot)
def _dot_back(node: Any, cotangents: Tangents, wanted: Sequence[bool]) -> Results:
    flows = pull_dot(node, Flow(cotangents[0], None, SPARSE), wanted)
    return [None if flow is None else flow.value for flow in flows]


def _push_dot(node: Any, tangents: Sequence[Flow | None]) -> Flow:
    (x, y), (u, v) = node.inputs, tangents
    terms = [] if u is None else [_dot_with(y, u, x, False)]
    terms += [] if v is None else [_dot_with(x, v, y, True)]
    return Flow(pt.add(*terms) if len(terms) > 1 else terms[0], None, SPARSE)


def pull_dot(node: Any, cotangent: Flow, wanted: Sequence[bool]) -> list[Flow | None]:
    """Cotangents of the factors of a product of matrices."""
    (out,) = node.outputs
    found: list[Flow | None] = [None, None]
    for at in (0, 1):
        if not wanted[at]:
            continue
        factor = shuffled(node.inputs[1 - at], [1, 0])
        product, sparse = None, max(cotangent.sparse_when_masked, MOSTLY)
        noted = cotangent_of(out) == 1 - at
        if noted and factor.type.shape[at] != 1:
            # the factor is a cotangent: where it is zero, the other operand has no influence
            t = settled(cotangent, out)
            if factor.type.shape[1 - at] == 1:
                product = _with_vector(t, factor, at == 0)
            elif may_become_infinite(cotangent.value):
                product = _where_infinite(t, factor, at == 0)
        if product is None:
            product = _dot_with(factor, cotangent, out, at == 1)
        if cotangent.sparse and isinstance(product.owner.op, Dot):
            note_cotangent(product, at)
        if noted and factor.type.shape[at] == 1:
            t = settled(cotangent, out)
            none = of_dtype(vanishing(factor, t), product)
            product, sparse = pt.switch(pt.neq(factor, number(0, factor)), product, none), SPARSE
        found[at] = Flow(product, None, sparse)
    return found


declare_flow_rules(Dot, FlowRules(pull_dot, _push_dot))


def _dot_with(factor: Variable, flow: Flow, like: Variable, first: bool) -> Variable:
    """Multiply a derivative by a matrix factor, on either side.

    A derivative may be zero because an element is not used. Then it is not multiplied by what may
    be infinite, as in the products of elements that this is the sum of. Of two matrices that takes
    as long as a product without BLAS, so it is done where a factor is infinite.
    """
    t = settled(flow, like)
    is_vector = like.type.shape[int(first)] == 1
    if not (flow.sparse >= (MOSTLY if is_vector else SPARSE) and may_be_infinite(factor)):
        return pt.dot(factor, t) if first else pt.dot(t, factor)
    return (_with_vector if is_vector else _where_infinite)(factor, t, first)


def _with_vector(factor: Variable, t: Variable, first: bool) -> Variable:
    """Multiply a factor by a vector of derivatives, skipping zeros."""
    across = shuffled(t, [1, 0])
    used, nothing = pt.neq(across, number(0, t)), number(0, factor)
    kept = pt.switch(used, factor, nothing)
    # zero, with the slope that the product has; subtracted, so that a negative zero stays one
    slopes = pt.switch(used, nothing, of_dtype(vanishing(pt.neg(across), factor), factor))
    none = pt.sum(slopes, axis=[int(first)], keepdims=True, dtype=slopes.type.dtype)
    return pt.sub(pt.dot(kept, t) if first else pt.dot(t, kept), none)


def _where_infinite(factor: Variable, t: Variable, first: bool) -> Variable:
    """Multiply a factor by a derivative, with guarded products if an element is infinite."""
    from dimtensor.ops.loop.conditional import Shortcut, conditional

    def plain() -> list[Variable]:
        product = pt.dot(factor, t) if first else pt.dot(t, factor)
        note_cotangent(product, int(first))
        return [product]

    def guarded() -> list[Variable]:
        rows, columns = [0, 1, "x"], ["x", 0, 1]
        slope = shuffled(factor, rows if first else columns)
        derivative = shuffled(t, columns if first else rows)
        product = pt.mul(slope, derivative)
        none = of_dtype(vanishing(derivative, slope), product)
        terms = pt.switch(pt.neq(derivative, number(0, derivative)), product, none)
        return [pt.sum(terms, axis=[1], dtype=terms.type.dtype, acc_dtype=terms.type.dtype)]

    finite = pt.all(pt.lt(pt.abs(factor), number(float("inf"), factor)))
    return conditional(finite, plain, guarded, kind=Shortcut)[0]
