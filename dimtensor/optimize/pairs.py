"""Exponentials of two numbers less the larger one: that of the larger is 1.

The logarithm of a sum of two exponentials, and the weights of its gradient, take one exponential
in place of two. What comes out is the same to the last bit: the exponential of 0 is 1, and where
the larger number is not finite nothing is subtracted. The logarithm of their sum is one of
1 + x with x from 0 to 1, which loses no digits of a small x.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import EQ, OR, Add, Exp, IsInf, IsNan, Log, ScalarMaximum, Sub, Switch
from pytensor.tensor.elemwise import Elemwise

from dimtensor.ops.constants import number_of
from dimtensor.ops.special import log1p_unit


def one_exponential_of_two(graph: FunctionGraph) -> None:
    """Compute ``exp(a - m)`` and ``exp(b - m)`` of the larger one m by one exponential."""
    for node in graph.toposort():
        if not is_operation(node, ScalarMaximum) or len(node.inputs) != 2:
            continue
        (a, b), (larger,) = node.inputs, node.outputs
        if not a.type == b.type == larger.type or a.type.dtype not in ("float32", "float64"):
            continue
        for shift in list(where_finite(graph, larger)):
            of_a, of_b = exponential(graph, a, shift), exponential(graph, b, shift)
            if of_a is None or of_b is None:
                continue
            is_first = pt.or_(pt.gt(a, b), pt.isnan(a))
            other = pt.exp(pt.switch(is_first, b, a) - shift)
            ends = pt.or_(pt.isnan(larger), pt.isinf(larger))
            number = pt.constant(0, dtype=larger.type.dtype)
            one = pt.constant(1, dtype=larger.type.dtype)
            # of minus infinity 0, of infinity and NaN themselves
            at_ends = pt.switch(pt.eq(larger, -float("inf")), number, larger)
            own = pt.switch(ends, at_ends, one)
            for total, log in list(_logarithms_of_sum(graph, of_a, of_b)):
                at_end = larger if log.owner.inputs[0] is total else at_ends
                logarithm = pt.switch(ends, at_end, log1p_unit(other))
                graph.replace(log, logarithm, reason="one_exponential_of_two", import_missing=True)
            graph.replace_all(
                [
                    (of_a, pt.switch(is_first, own, other)),
                    (of_b, pt.switch(is_first, other, own)),
                ],
                reason="one_exponential_of_two",
                import_missing=True,
            )


def is_operation(node: Apply | None, kind: type) -> bool:
    return (
        node is not None and isinstance(node.op, Elemwise) and isinstance(node.op.scalar_op, kind)
    )


def readers(graph: FunctionGraph, variable: Variable, kind: type) -> Iterator[Apply]:
    """Operations of a kind on a variable."""
    for node, _ in graph.clients.get(variable, ()):
        if isinstance(node, Apply) and is_operation(node, kind):
            yield node


def where_finite(graph: FunctionGraph, larger: Variable) -> Iterator[Variable]:
    """Yield the selections of a maximum where it is finite, and of 0 elsewhere."""
    for node in readers(graph, larger, Switch):
        test, none, value = node.inputs
        if value is larger and number_of(none) == 0 and is_operation(test.owner, OR):
            parts = test.owner.inputs
            kinds = [type(x.owner.op.scalar_op) for x in parts if is_operation(x.owner, object)]
            if set(kinds) == {IsNan, IsInf} and all(x.owner.inputs[0] is larger for x in parts):
                yield node.outputs[0]


def _logarithms_of_sum(
    graph: FunctionGraph, one: Variable, other: Variable
) -> Iterator[tuple[Variable, Variable]]:
    """Yield sums of two and their logarithms, also of sums guarded against 0."""
    for node in readers(graph, one, Add):
        if len(node.inputs) != 2 or other not in node.inputs or one is other:
            continue
        (total,) = node.outputs
        for log in readers(graph, total, Log):
            yield total, log.outputs[0]
        for switch in readers(graph, total, Switch):
            test, at_zero, elsewhere = switch.inputs
            if elsewhere is total and number_of(at_zero) == 1 and is_none(test, total):
                for log in readers(graph, switch.outputs[0], Log):
                    yield total, log.outputs[0]


def is_none(test: Variable, total: Variable) -> bool:
    """Return whether a variable is compared with 0."""
    if not is_operation(test.owner, EQ):
        return False
    first, second = test.owner.inputs
    return (first is total and number_of(second) == 0) or (
        second is total and number_of(first) == 0
    )


def exponential(graph: FunctionGraph, x: Variable, shift: Variable) -> Variable | None:
    for node in readers(graph, x, Sub):
        if node.inputs[0] is x and node.inputs[1] is shift:
            for reader in readers(graph, node.outputs[0], Exp):
                return reader.outputs[0]
    return None
