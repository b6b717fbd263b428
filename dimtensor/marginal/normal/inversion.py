"""Residuals solved for a vector: the vector as an affine function of the residual's value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dims, without
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.normal.affine import Term
from dimtensor.marginal.normal.quadratics import number_of
from dimtensor.marginal.normal.slices import NotAlongChain
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import log, sqrt, where
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.equations import diagonal, solve_triangular

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


class NotInvertible(Exception):
    """Residual that does not determine a vector, or not in a known way."""


def solve_residual(affine: Node, x: Node, value: Node) -> tuple[Node, list[Any]]:
    """Solve `affine = value` for a vector.

    Parameters
    ----------
    affine : Node
        Affine in the vector.
    x : Node
        The vector.
    value : Node
        Over the dims of `affine`.

    Returns
    -------
    solution : Node
    logs : list of DimTensor
        Their sum over all dims of the vector is the logarithm of the determinant of the solution's
        derivative; each has all dims of the vector, or lacks those that were summed over.

    Raises
    ------
    NotInvertible
        If the residual does not determine the vector by elementwise operations, renamed dims and
        triangular matrices.
    """
    logs: list[Any] = []
    while affine is not x:
        affine, value = _outermost(affine, x, value, logs)
    if set(value.dims) - set(x.dims):
        raise NotInvertible
    return expand_node(value, x.dims), logs


def _outermost(node: Node, x: Node, value: Node, logs: list[Any]) -> tuple[Node, Node]:
    """Undo the outermost operation of an expression."""
    on = [x in set(toposort([one])) for one in node.inputs]
    if sum(on) != 1:
        raise NotInvertible
    at, kind, given = on.index(True), node.kind, wrap(value)
    inner = node.inputs[at]
    if kind in ("check", "cast", "named"):
        return inner, value
    if kind == "relabel":
        pairs = [(new, old) for old, new in node.attrs.pairs if new in value.dims]
        return inner, relabel_node(value, *pairs)
    if kind == "elemwise":
        if set(inner.dims) != set(node.dims):
            raise NotInvertible
        return inner, _elementwise(node, at, given, logs).node
    if kind == "apply" and node.attrs.name == "solve_triangular" and at == 1:
        return inner, _multiplied(node, given, logs).node
    if kind == "dot" and len(node.inputs) == 2:
        return inner, _unmultiplied(node, node.inputs[1 - at], given, logs).node
    raise NotInvertible


def _elementwise(node: Node, at: int, value: DimTensor, logs: list[Any]) -> DimTensor:
    name = node.attrs
    if name == "negative":
        return -value
    if name not in ("add", "subtract", "multiply", "divide"):
        raise NotInvertible
    known = wrap(node.inputs[1 - at])
    if name == "add":
        return value - known
    if name == "subtract":
        return known - value if at else value + known
    if name == "divide" and at:
        raise NotInvertible
    size = log(abs(known))
    logs.append(wrap(expand_node((size if name == "divide" else -size).node, node.dims)))
    return value * known if name == "divide" else value / known


def _multiplied(node: Node, value: DimTensor, logs: list[Any]) -> DimTensor:
    """Undo the solution of a triangular system."""
    row, col = node.attrs.core_in[0]
    if node.attrs.function.options.get("unit_diagonal"):
        raise NotInvertible
    matrix, lower = wrap(node.inputs[0]), node.attrs.function.options["lower"]
    rows, cols = arange(row), arange(col)
    used = where(rows >= cols if lower else rows <= cols, matrix, 0.0)
    logs.append(_determinant(matrix, row, col, without(value.dims, [col])))
    return dot(used, value, dim=[col])


def _unmultiplied(node: Node, matrix: Node, value: DimTensor, logs: list[Any]) -> DimTensor:
    """Undo a product with a Cholesky factor."""
    if matrix.kind != "apply" or matrix.attrs.name != "cholesky" or len(node.attrs) != 1:
        raise NotInvertible
    row, col = matrix.attrs.core_in[0]
    (summed,) = node.attrs
    kept = col if summed is row else row
    logs.append(-_determinant(wrap(matrix), row, col, without(value.dims, [kept])))
    return solve_triangular(wrap(matrix), value, [kept, summed], lower=summed is col)


def _determinant(matrix: DimTensor, row: Any, col: Any, dims: Dims) -> DimTensor:
    total = log(abs(diagonal(matrix, [row, col]))).sum(row)
    return wrap(expand_node(total.node, dims))


def precision_root(term: Term) -> Any:
    """Return the square root of twice the negative weight of a square; a float if it is known."""
    weight = folded(term.weight.node)
    if weight is not None:
        if weight >= 0.0:
            raise NotAlongChain
        return math.sqrt(-2.0 * weight)
    precision = -2.0 * term.weight
    there = precision > 0.0
    return where(there, sqrt(where(there, precision, 1.0)), 0.0)


def folded(node: Node) -> float | None:
    """Return the value of an expression of numbers, or None."""
    values: dict[Node, float | None] = {}
    for x in toposort([node]):
        known = [values[i] for i in x.inputs]
        if x.kind == "constant":
            values[x] = number_of(x)
        elif x.kind == "elemwise" and None not in known and not x.dims:
            one, *two = [value for value in known if value is not None]
            values[x] = {
                "negative": lambda a, *b: -a, "multiply": lambda a, b: a * b,
                "divide": lambda a, b: a / b if b else None,
            }.get(x.attrs, lambda *_: None)(one, *two)  # fmt: skip
        else:
            values[x] = None
    return values[node]


def attributes_of(node: Node) -> set[Any]:
    """Return the names of the elementwise operations of an expression."""
    return {x.attrs for x in toposort([node]) if x.kind == "elemwise"}
