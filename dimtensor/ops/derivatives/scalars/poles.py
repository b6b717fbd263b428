"""Poles: values that may be infinite or NaN although their operands are finite.

A derivative that is zero because an element is not used is not multiplied by partial derivatives
made of such values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.scalar.basic as ps
from pytensor.graph.basic import Variable
from pytensor.graph.op import HasMultipleInnerGraph
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from dimtensor.graph.dtypes import is_float
from dimtensor.ops.constants import constant_of, number_of
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import tag_of
from dimtensor.traversal import reached
from dimtensor.tuning import COTANGENT_POLE_SEARCH, POLE_SEARCH

_MARK = "dimtensor_may_be_infinite"  # in the tag of an input of an inner graph


def may_be_infinite(variable: Variable, most: int = POLE_SEARCH) -> bool:
    """Return whether the operations just before a value have a pole or an edge of a domain.

    Parameters
    ----------
    variable : variable
    most : int
        How many operations are looked at.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dscalar("x")
    >>> may_be_infinite(pt.sin(2.0 / x)), may_be_infinite(pt.sin(x) / 2.0)
    (True, False)
    """
    waiting, looked = deque([variable]), 0  # those nearest to it first
    seen: set[Variable] = set()
    while waiting and looked < most:
        value = waiting.popleft()
        if not is_float(getattr(value.type, "dtype", "object")):
            continue
        if is_marked(value) or _is_nan(value):
            return True
        node = value.owner
        if node is None or value in seen:
            continue
        seen.add(value)
        looked += not isinstance(node.op, DimShuffle)
        if _has_pole(value):
            return True
        waiting += node.inputs
    return False


def may_become_infinite(cotangent: Variable) -> bool:
    """Apply `may_be_infinite` to a cotangent, with a wider search."""
    return may_be_infinite(cotangent, COTANGENT_POLE_SEARCH)


def _is_nan(variable: Variable) -> bool:
    """Return whether a variable is the constant NaN, which pads ends."""
    number = number_of(variable)
    return number is not None and bool(np.isnan(number))


def is_marked(variable: Variable) -> bool:
    """Return whether a variable is marked as possibly infinite."""
    return tag_of(variable).get(_MARK, False)


def mark_infinite(variable: Variable) -> None:
    """Mark the input of an inner graph as possibly infinite."""
    tag_of(variable)[_MARK] = True


def stand_ins(inner: Sequence[Variable], values: Sequence[Variable]) -> list[Variable]:
    """Make new variables for the inputs of an inner graph, which is differentiated on its own.

    They are marked where the values may be infinite. Scalars are not: all that uses one that is
    infinite is, too.
    """
    found = [variable.type() for variable in inner]
    for new, value in zip(found, values, strict=True):
        if getattr(value.type, "ndim", 0) and may_be_infinite(value):
            mark_infinite(new)
    return found


def poles_of(op: Any) -> list[bool]:
    """For each output of an operation with inner graphs, whether there is a pole in them.

    A state of a loop has those of all that it is computed from in earlier steps.
    """
    found: list[bool] | None = getattr(op, "poles", None)
    if found is None:
        n_states = getattr(op, "n_states", 0)
        columns = [_poles_within(graph, n_states) for graph in op.inner_graphs.values()]
        found = [any(row) for row in zip(*columns, strict=True)]
        op.poles = found
    return found


def _poles_within(graph: Any, n_states: int) -> list[bool]:
    following = dict(zip(graph.inputs, graph.outputs[:n_states], strict=False))

    def below(variable: Variable) -> list[Variable]:
        return [following[variable]] if variable in following else _float_inputs(variable)

    return [any(map(_has_pole, reached([output], below))) for output in graph.outputs]


def _float_inputs(variable: Variable) -> list[Variable]:
    node = variable.owner
    if node is None:
        return []
    return [v for v in node.inputs if is_float(getattr(v.type, "dtype", "object"))]


def _has_pole(variable: Variable) -> bool:
    """Return whether the operation of a value, or its inner graph, has a pole."""
    node = variable.owner
    if node is None:
        return False
    if isinstance(node.op, HasMultipleInnerGraph):
        return poles_of(node.op)[node.outputs.index(variable)]
    if isinstance(node.op, Elemwise):
        return not _is_finite(node)
    return getattr(node.op, "has_pole", False)


def _is_finite(node: Variable) -> bool:
    """Return whether an operation is finite at finite operands."""
    kind = node.op.scalar_op
    if isinstance(kind, ps.TrueDiv):
        divisor = constant_of(node.inputs[1])
        return divisor is not None and bool(np.all(divisor != 0))
    if isinstance(kind, ps.Pow):
        exponent = constant_of(node.inputs[1])
        return exponent is not None and bool(np.all((exponent >= 0) & (exponent % 1 == 0)))
    return facts_of(kind).is_finite
