"""Sums of products along, or beside, a short axis, written out."""

from __future__ import annotations

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.math import Sum

from dimtensor.ops.along import ScaledSoftmax, Softmax
from dimtensor.ops.facts import facts_of
from dimtensor.ops.graphs import on_nodes
from dimtensor.optimize.rules import rewrite
from dimtensor.optimize.short_axes import ShortAxisParts, joins, short_axes
from dimtensor.tuning import UNROLLED_PRODUCT_LENGTH, UNROLLED_PRODUCTS


def write_out_short_products(graph: FunctionGraph) -> None:
    """Write out sums of products along, or beside, a short axis, before they give up factors.

    Of a regression on a few predictors, ``sum(b[:, None] * x, axis=0)`` becomes ``b[0] * x[0] +
    b[1] * x[1]``, and ``sum(d / s * x, axis=1)`` a vector of two sums, out of which the divisions
    can be taken. Rows of an array that was joined of some are what it was joined of.

    Parameters
    ----------
    graph : FunctionGraph
        It is changed.

    Notes
    -----
    Only what is read row by row in memory is written out, and only where an element is cheap, since
    other sums may read the same elements. What is left is for `write_out_short_axes`.
    """
    if _short_products(graph):
        rewrite(graph)


@on_nodes(Sum)
def _short_products(node: Apply) -> Variable | None:
    out = node.outputs[0]
    if out.type.ndim != 1 or out.type.dtype != "float64":
        return None
    inside = _cheap_rows(node.inputs[0])
    return ShortAxisParts(inside, UNROLLED_PRODUCT_LENGTH).joined(node) if inside else None


def _cheap_rows(x: Variable) -> set[Variable]:
    """Collect the variables that compute the rows of a matrix cheaply from rows in memory."""
    inside: set[Variable] = set()
    short = short_axes(x, UNROLLED_PRODUCT_LENGTH)
    if (
        x.type.ndim != 2
        or len(short) != 1
        or not isinstance(getattr(x.owner, "op", None), Elemwise)
    ):
        return inside
    stack = [(x, short[0])]
    while stack:
        v, axis = stack.pop()
        node = v.owner
        if v in inside or isinstance(v, Constant) or v.type.shape[axis] == 1:
            continue
        if node is not None and isinstance(node.op, (ScaledSoftmax, Softmax)):
            return set()
        if node is not None and isinstance(node.op, Elemwise) and len(node.outputs) == 1:
            inside.add(v)
            if not facts_of(node.op.scalar_op).is_cheap:
                return set()
            stack += [(operand, axis) for operand in node.inputs]
        elif node is not None and isinstance(node.op, DimShuffle):
            source = node.op.new_order[axis]
            stack += [] if source == "x" else [(node.inputs[0], source)]
        elif joins(v, axis):
            stack += [(part, axis) for part in node.inputs]
        elif v.type.ndim > 1 and axis == v.type.ndim - 1:
            return set()  # columns
    return inside if len(inside) * x.type.shape[short[0]] <= UNROLLED_PRODUCTS else set()
