"""Constants in place of what a graph computes from constants alone.

Lengths that follow from values (the positions where a constant mask is true, the parts of a vector
that a loop over a triangle chooses) are lengths that types tell afterwards, as JAX needs them, and
operations that a backend lacks are gone where their operands are constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import HasInnerGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import io_toposort
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.basic import Alloc, AllocDiag, AllocEmpty, ARange, Eye
from pytensor.tensor.random.op import RNGConsumerOp
from pytensor.tensor.subtensor import AdvancedIncSubtensor, AdvancedSubtensor
from pytensor.tensor.type import DenseTensorType

from dimtensor.ops.constants import follows
from dimtensor.ops.interpret import perform_of
from dimtensor.ops.positions import positions_of_masks
from dimtensor.tuning import FOLDED_ELEMENTS

# Kernels exploit the structure of these results.
_STRUCTURED = (Alloc, AllocDiag, AllocEmpty, ARange, Eye)
_LEFT = (*_STRUCTURED, CheckAndRaise, HasInnerGraph, RNGConsumerOp)


def with_known_values(
    inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> tuple[Sequence[Variable], Sequence[Variable]]:
    """Fold constants of a graph, and replace constant masks by positions.

    Constants of more elements than those that they are computed from are left out.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> x, mask = pt.dvector("x"), pt.constant(np.array([1.0, -1.0, 2.0])) > 0
    >>> x[mask.nonzero()].type.shape
    (None,)
    >>> _, (found,) = with_known_values([x], [x[mask.nonzero()]])
    >>> found.type.shape
    (2,)
    """
    nodes = io_toposort(list(inputs), list(outputs))
    values = _values(nodes)
    masked = any(
        isinstance(node.op, (AdvancedSubtensor, AdvancedIncSubtensor))
        and any(v.type.dtype == "bool" for v in node.inputs if hasattr(v.type, "dtype"))
        for node in nodes
    )
    if not values and not masked:
        return inputs, outputs
    constants: dict[Variable, Variable] = {}
    for v, value in values.items():
        kind: Any = v.type
        constants[v] = kind.clone(shape=value.shape).make_constant(value)
    # types that tell more than before: nodes of them are made anew
    outputs = clone_replace(list(outputs), constants, rebuild_strict=False)
    graph = FunctionGraph(list(inputs), outputs, clone=True)
    positions_of_masks(graph)
    return graph.inputs, graph.outputs


def _values(nodes: Sequence[Apply]) -> dict[Variable, np.ndarray]:
    """Return the values of node outputs that follow from constants and are worth storing."""
    found: dict[Variable, Any] = {}
    kept: dict[Variable, np.ndarray] = {}
    given = sum(np.size(c.data) for c in _constants(nodes))
    for node in nodes:
        if not follows(node, found):
            continue
        computed = _performed(node, found, max(given, FOLDED_ELEMENTS))
        if computed is None:
            continue
        found.update(zip(node.outputs, computed, strict=True))
        if not isinstance(node.op, _STRUCTURED):
            kept.update(
                (v, value)
                for v, value in zip(node.outputs, computed, strict=True)
                if isinstance(v.type, DenseTensorType) and value.size <= max(given, FOLDED_ELEMENTS)
            )
    return kept


def _constants(nodes: Sequence[Apply]) -> set[Constant]:
    return {v for node in nodes for v in node.inputs if isinstance(v, Constant)}


def _performed(node: Apply, found: dict[Variable, Any], most: int) -> list[Any] | None:
    """Perform a node; None if it fails or its outputs have too many elements."""
    if isinstance(node.op, _LEFT) and not isinstance(node.op, _STRUCTURED):
        return None
    for v in node.outputs:
        shape: Any = getattr(v.type, "shape", (None,))
        if None not in shape and math.prod(shape) > most:
            return None
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    given = [v.data if isinstance(v, Constant) else found[v] for v in node.inputs]
    try:
        with np.errstate(all="ignore"):
            perform_of(node)(node, given, storage)
    except (NotImplementedError, ValueError, IndexError, ArithmeticError, AssertionError):
        return None  # it fails when it runs, where it runs
    pairs = zip(node.outputs, storage, strict=True)
    return [
        np.asarray(cell[0], v.type.dtype) if isinstance(v.type, DenseTensorType) else cell[0]
        for v, cell in pairs
    ]
