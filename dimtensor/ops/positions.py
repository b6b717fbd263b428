"""Positions: those that are computed, in dims that may turn out to be empty, and those of masks.

Computed positions are clipped to their dim, and whether they were inside is said after the run. Of
a dim without elements no position is inside, clipped or not, and must not be read before that is
said. So clipping takes the length of the dim from an operation that looks whether there is anything
to read. What it does where there is nothing depends on who runs the graph:

- Compiled loops raise before they read, and the caller says which check it was.
- The interpreter and JAX read zeros, and updates do nothing (:func:`without_empty`). The check that
  fails is said as all others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    inc_subtensor,
    indices_from_subtensor,
)

from dimtensor.ops.graphs import nodes_of

# the whole message of the IndexError of compiled loops
NOTHING_TO_READ = "positions computed for an empty dim are outside of its length"


class Inhabited(CheckAndRaise):
    """A length, and conditions that say that it is not 0 or that nothing is read.

    Examples
    --------
    >>> import numpy as np, pytensor.tensor as pt
    >>> from dimtensor.ops.interpret import Interpreter
    >>> n = pt.lscalar()
    >>> length = Inhabited(IndexError, NOTHING_TO_READ)(n, pt.gt(n, 0))
    >>> Interpreter([n], [length])(np.array(0))
    [array(0)]
    """

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0]

    def c_code(self, *args: Any) -> str:
        raise NotImplementedError("there is no C code")


def inhabited(length: Variable, is_read: Variable) -> Variable:
    """Check that a length is not 0 if an element is read."""
    condition = pt.or_(pt.gt(length, 0), pt.invert(is_read))
    return Inhabited(IndexError, NOTHING_TO_READ)(length, condition)


def without_empty(entries: Sequence[Any], shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape whose indexed axes have at least one element.

    Parameters
    ----------
    entries : sequence
        For each of the first axes a slice or what the positions are; the ``idx_list`` of an
        operation.
    shape : sequence of int

    Examples
    --------
    >>> without_empty((slice(None), 0), (0, 0, 3))
    (0, 1, 3)
    """
    found = list(shape)
    for axis, entry in enumerate(entries):
        if not isinstance(entry, slice):
            found[axis] = max(found[axis], 1)
    return tuple(found)


def positions_of_masks(graph: FunctionGraph) -> None:
    """Replace masks that are known by the positions that they choose."""
    for node in nodes_of(graph, AdvancedSubtensor, AdvancedIncSubtensor):
        op = node.op
        first = 1 if isinstance(op, AdvancedSubtensor) else 2
        indices = indices_from_subtensor(node.inputs[first:], op.idx_list)
        masks = [i for i in indices if getattr(i, "dtype", None) == "bool"]
        if not masks or not all(isinstance(i, Constant) and i.data.ndim for i in masks):
            continue
        x = node.inputs[0]
        written: list[Any] = []
        lengths: list[int | None] = []
        for i in indices:
            if i in masks:
                written += [pt.constant(at) for at in i.data.nonzero()]
                lengths += i.data.shape
            else:
                written.append(i)
                lengths.append(None)
        lengths += [None] * (x.type.ndim - len(lengths))
        pairs = zip(lengths, x.type.shape, strict=True)
        if any(length not in (None, known) for length, known in pairs):
            x = pt.specify_shape(x, lengths)
        new = x[tuple(written)]
        if first == 2:
            new = inc_subtensor(
                new,
                _without_first_axes(node.inputs[1], new.type.ndim),
                set_instead_of_inc=op.set_instead_of_inc,
                ignore_duplicates=op.ignore_duplicates,
            )
        out = node.outputs[0]
        new = out.type.filter_variable(new)
        graph.replace(out, new, reason="positions_of_masks", import_missing=True)


def _without_first_axes(value: Variable, ndim: int) -> Variable:
    """Squeeze leading axes of length 1 that the selection lacks."""
    more = max(value.type.ndim - ndim, 0)
    return value.squeeze(tuple(range(more))) if more else value
