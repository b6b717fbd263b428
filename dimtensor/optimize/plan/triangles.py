"""Matrices of which the lower triangle is enough.

A Cholesky factor is computed of the lower triangle of a matrix, and its derivative has zeros above
the diagonal. So the elements above it of what the factor is made of are not needed, and those of
what the derivative is multiplied by add nothing to sums: they have no influence, whatever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import (
    AND,
    NEQ,
    OR,
    Abs,
    Add,
    Cast,
    Mul,
    Neg,
    Sqr,
    Sub,
    Switch,
    TrueDiv,
)
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.linalg import Cholesky

from dimtensor.ops.constants import is_zero
from dimtensor.ops.linalg import CholeskyGradient
from dimtensor.optimize.plan.signatures import core_op, of_one_real_dtype

_OF_ONE = (Neg, Abs, Sqr, Cast)
_OF_ALL = (Add, Sub, OR)


class Triangles:
    """Matrices of a graph of which only the lower triangles matter.

    Matrices are the last two axes of a variable.

    Parameters
    ----------
    graph : FunctionGraph
    order : sequence of Apply
        Its nodes in topological order.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dmatrix()
    >>> doubled = 2 * x
    >>> graph = FunctionGraph([x], [pt.linalg.cholesky(doubled)], clone=False)
    >>> Triangles(graph, graph.toposort()).is_read_below(doubled)
    True
    """

    def __init__(self, graph: FunctionGraph, order: Sequence[Apply]):
        self._zero_above: set[Variable] = set()
        self._read_whole: set[Variable] = set(graph.outputs)
        self._has_any = any(isinstance(core_op(n), (Cholesky, CholeskyGradient)) for n in order)
        if not self._has_any:
            return
        for node in order:
            if _is_matrix(node.outputs[0]) and _gives_zeros_above(node, self._zero_above):
                self._zero_above.add(node.outputs[0])
        for node in reversed(order):
            below = set(self._read_below(node))
            self._read_whole.update(v for v in node.inputs if v not in below)

    def is_read_below(self, variable: Variable) -> bool:
        """Return whether only the lower triangle of a matrix is read."""
        return self._has_any and _is_matrix(variable) and variable not in self._read_whole

    def is_added_below(self, node: Apply) -> bool:
        """Return whether a reduction is a sum, or `any`, of zeros above the diagonal."""
        return (
            isinstance(node.op, CAReduce)
            and isinstance(node.op.scalar_op, (Add, OR))
            and node.inputs[0] in self._zero_above
        )

    def _read_below(self, node: Apply) -> list[Variable]:
        """Return the inputs of which a node needs the lower triangles only."""
        core, (out, *others) = core_op(node), node.outputs
        if self.is_added_below(node):
            return [node.inputs[0]]
        if isinstance(core, (Cholesky, CholeskyGradient)):
            count = 1 if isinstance(core, Cholesky) else 2
            is_lower = not isinstance(core, Cholesky) or core.lower
            of_matrices = is_lower and of_one_real_dtype([*node.inputs[:count], out])
            return list(node.inputs[:count]) if of_matrices else []
        if others or not self.is_read_below(out):
            return []
        if isinstance(node.op, Elemwise) or _keeps_the_last_two(node):
            return list(node.inputs)
        return []


def _is_matrix(variable: Variable) -> bool:
    shape: Any = getattr(variable.type, "shape", ())
    return len(shape) >= 2 and 1 not in shape[-2:]


def _keeps_the_last_two(node: Apply) -> bool:
    if not isinstance(node.op, DimShuffle):
        return False
    ndim, kept = node.inputs[0].type.ndim, list(node.op.new_order)
    return kept[-2:] == [ndim - 2, ndim - 1]


def _gives_zeros_above(node: Apply, known: set[Variable]) -> bool:
    """Return whether a node's result is zero above the diagonal."""
    if isinstance(core_op(node), CholeskyGradient):
        return True
    if _keeps_the_last_two(node):
        return node.inputs[0] in known
    if not isinstance(node.op, Elemwise) or known.isdisjoint(node.inputs):
        return False
    kind, xs = node.op.scalar_op, node.inputs
    vanish = [v in known or is_zero(v) for v in xs]
    if isinstance(kind, (Mul, AND)):
        return any(vanish)
    if isinstance(kind, (TrueDiv, *_OF_ONE)):
        return vanish[0]
    if isinstance(kind, (NEQ, *_OF_ALL)):
        return all(vanish)
    if isinstance(kind, Switch):
        return vanish[2] and (vanish[1] or vanish[0])
    return False
