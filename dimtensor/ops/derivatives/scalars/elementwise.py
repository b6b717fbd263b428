"""Derivatives of elementwise operations: one partial derivative per operand, for both modes.

A partial derivative is a function from a derivative to the product. The tangent of the result is
the sum of what they make of the operands' tangents; the cotangent of an operand is what its partial
makes of that of the result. So both modes agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytensor.scalar.basic as ps
import pytensor.tensor as pt
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Variable
from pytensor.graph.null_type import NullType
from pytensor.graph.utils import MethodNotDefined
from pytensor.scalar.basic import Invert
from pytensor.tensor.elemwise import Elemwise

from dimtensor.graph.dtypes import is_complex
from dimtensor.ops.constants import is_constant
from dimtensor.ops.derivatives.flow import (
    SPARSE,
    Flow,
    Undefined,
    both,
    filled,
    is_continuous,
    masked,
    number,
    of_dtype,
    summed_to,
    total,
)
from dimtensor.ops.derivatives.order import is_differentiated_again
from dimtensor.ops.derivatives.rules import FlowRules, declare_flow_rules
from dimtensor.ops.derivatives.scalars.poles import may_be_infinite
from dimtensor.ops.graphs import cotangent_of, note_cotangent
from dimtensor.ops.nodes import elementwise
from dimtensor.ops.special import vanishing
from dimtensor.upstream.pytensor import batch_derivatives


class Partial(NamedTuple):
    """The partial derivative by one operand.

    Attributes
    ----------
    times : callable
        From a derivative to its product with the partial.
    mask : variable of bools, optional
        Where it is false, the partial counts as zero.
    singular : bool
        Whether it may be infinite, or not a number, where the operands are finite. Then it is not
        multiplied by what is zero.
    """

    times: Callable[[Variable], Variable]
    mask: Variable | None = None
    singular: bool = False


def same(t: Variable) -> Variable:
    """Return the derivative itself: the partial derivative is one."""
    return t


Partials = Callable[[Sequence[Variable], Variable], Sequence[Partial | None]]
_PARTIALS: dict[type, Partials] = {}


def partials(*kinds: type) -> Callable[[Partials], Partials]:
    """Declare the partial derivatives of scalar operations, given the operands and the result."""

    def declare(rule: Partials) -> Partials:
        _PARTIALS.update(dict.fromkeys(kinds, rule))
        return rule

    return declare


def _is_real(node: Any) -> bool:
    return len(node.outputs) == 1 and not any(
        is_complex(v.type.dtype) for v in (*node.inputs, *node.outputs)
    ) and (type(node.op.scalar_op) in _PARTIALS or _has_pullback(node.op.scalar_op))  # fmt: skip


def _has_pullback(scalar_op: Any) -> bool:
    from pytensor.scalar.basic import ScalarInnerGraphOp

    return not isinstance(scalar_op, ScalarInnerGraphOp)


def _partials_of(node: Any) -> Sequence[Partial | None]:
    rule = _PARTIALS.get(type(node.op.scalar_op))
    if rule is not None:
        return rule(node.inputs, node.outputs[0])
    return [Partial(_by_op(node, at), None, True) for at in range(len(node.inputs))]


class _HasNone(Exception):
    """An operation does not have some partial derivative."""


def _by_op(node: Any, at: int) -> Callable[[Variable], Variable]:
    """Return the partial derivative that PyTensor's scalar operation defines."""

    def product(t: Variable) -> Variable:
        try:
            found = batch_derivatives(node.op, list(node.inputs), list(node.outputs), [t])[at]
        except (NotImplementedError, MethodNotDefined) as error:
            raise _HasNone(f"{type(node.op.scalar_op).__name__} has none") from error
        if isinstance(found.type, NullType):
            raise _HasNone(str(found.type.why_null))
        if isinstance(found.type, DisconnectedType):
            raise _HasNone(f"{node.op} is not connected to its operand {at}")
        return found

    return product


def pull_elementwise(
    node: Any, cotangent: Flow, wanted: Sequence[bool]
) -> Sequence[Flow | Undefined | None]:
    """Cotangents of the operands of an elementwise operation."""
    (out,) = node.outputs
    factor = cotangent_of(out)
    found: list[Flow | Undefined | None] = []
    for at, partial in enumerate(_partials_of(node)):
        x = node.inputs[at]
        if not wanted[at] or partial is None or not is_continuous(x):
            found.append(None)
            continue
        mask, sparse = both(cotangent.mask, partial.mask), cotangent.sparse
        if factor not in (None, at) and not is_differentiated_again():
            mask = both(mask, pt.neq(node.inputs[factor], 0))
        try:
            if cotangent.sparse and _is_singular(node, at, partial):
                value = of_dtype(_guarded(partial, cotangent.value), x)
            else:
                value = partial.times(cotangent.value)
                if cotangent.sparse:
                    _note_factor(value, cotangent.value)
                value = of_dtype(value, x)
        except _HasNone as error:
            found.append(Undefined(str(error)))
            continue
        if factor not in (None, at) and is_differentiated_again():
            value, sparse = _where_used(node, at, factor, value, cotangent.value), SPARSE
        found.append(summed_to(Flow(value, mask, sparse), x, out))
    return found


def _where_used(node: Any, at: int, noted: int, value: Variable, t: Variable) -> Variable:
    """Derive a product by an operand where another operand is a cotangent that may be zero.

    Where it is, the value is zero, with the slope by the cotangent that it has elsewhere: that of
    a product, or of a quotient of which the cotangent is the numerator, is the value for one.
    """
    c = node.inputs[noted]
    xs = [number(1, x) if k == noted else x for k, x in enumerate(node.inputs)]
    partial = _PARTIALS[type(node.op.scalar_op)](xs, node.op(*xs))[at]
    assert partial is not None  # the value has been taken of it
    none = of_dtype(vanishing(c, partial.times(t)), value)
    return elementwise(pt.switch, elementwise(pt.neq, c, number(0, c)), value, none)


def _note_factor(product: Variable, cotangent: Variable) -> None:
    """Note on a product or a quotient which factor is a cotangent that may be zero."""
    node = product.owner
    if node is None or cotangent not in node.inputs:
        return
    at = node.inputs.index(cotangent)
    kind = getattr(node.op, "scalar_op", None)
    if isinstance(kind, ps.Mul) or (isinstance(kind, ps.TrueDiv) and at == 0):
        note_cotangent(product, at)


def _is_singular(node: Any, at: int, partial: Partial) -> bool:
    """Return whether a partial derivative, or an operand it reads, may be infinite or NaN."""
    if partial.singular or partial.times in (same, pt.neg):
        return partial.singular
    linear = isinstance(node.op.scalar_op, (ps.Mul, ps.TrueDiv))
    read = [x for k, x in enumerate(node.inputs) if not (linear and k == at)]
    return any(map(may_be_infinite, read))


def _guarded(partial: Partial, t: Variable) -> Variable:
    """Multiply a derivative by a partial that may be infinite, so that zero stays zero.

    That it is zero need not stay so: by the derivative itself the product has the slope that it
    has elsewhere. Only what the partial is computed from has no influence where it is zero.
    """
    product, slope = partial.times(t), partial.times(number(1, t))
    used = elementwise(pt.neq, t, number(0, t))
    return elementwise(pt.switch, used, product, of_dtype(vanishing(t, slope), product))


def unused_times(t: Variable, factor: Variable, infinite: bool) -> Variable:
    """Multiply a derivative, zero for unused elements, by a factor that may be infinite."""
    if infinite:
        return _guarded(Partial(lambda t: elementwise(pt.mul, t, factor)), t)
    product = elementwise(pt.mul, t, factor)
    _note_factor(product, t)
    return product


def push_elementwise(node: Any, tangents: Sequence[Flow | None]) -> Flow | None:
    """Push tangents through an elementwise operation."""
    from dimtensor.errors import GraphError

    terms: list[tuple[Variable, Variable | None]] = []
    sparse = SPARSE
    for at, (flow, partial) in enumerate(zip(tangents, _partials_of(node), strict=True)):
        if flow is None or partial is None:
            continue
        # tangents carry no mask of unused elements
        value = flow.value
        try:
            guard = flow.sparse and not is_constant(value) and _is_singular(node, at, partial)
            term = _guarded(partial, value) if guard else partial.times(value)
        except _HasNone as error:
            raise GraphError(f"a derivative in this expression is not known: {error}") from error
        term = of_dtype(term, node.outputs[0])
        terms.append((term, partial.mask))
        sparse = min(sparse, SPARSE if partial.mask is not None else flow.sparse)
    if not terms:
        return None
    plain = [term for term, mask in terms if mask is None]
    chosen = [(term, mask) for term, mask in terms if mask is not None]
    values = [total(plain)] if plain else []
    if len(chosen) == 2 and _opposite(chosen[0][1], chosen[1][1]):
        values.append(elementwise(pt.switch, chosen[0][1], chosen[0][0], chosen[1][0]))
    else:
        values += [masked(term, mask) for term, mask in chosen]
    return Flow(total(values), None, sparse)


def _opposite(one: Any, other: Any) -> bool:
    """Return whether one mask is the negation of the other."""
    node = other.owner
    return (
        node is not None
        and isinstance(node.op, Elemwise)
        and isinstance(node.op.scalar_op, Invert)
        and node.inputs[0] is one
    )


declare_flow_rules(Elemwise, FlowRules(pull_elementwise, push_elementwise, _is_real))


def expanded(node: Any) -> list[Variable]:
    """Write out the outputs of a composed elementwise operation."""
    inner = node.op.scalar_op.fgraph
    known: dict[Variable, Variable] = dict(zip(inner.inputs, node.inputs, strict=True))
    for part in inner.toposort():
        operands = [
            known[v] if v in known else pt.constant(v.data, dtype=v.type.dtype) for v in part.inputs
        ]
        results = Elemwise(part.op)(*operands, return_list=True)
        known.update(zip(part.outputs, results, strict=True))
    return [filled(known[v], out) for v, out in zip(inner.outputs, node.outputs, strict=True)]
