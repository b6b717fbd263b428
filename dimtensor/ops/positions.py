"""Positions that are computed, in dims that may turn out to be empty.

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

from pytensor.graph.basic import Variable
from pytensor.raise_op import CheckAndRaise

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
    """A length that is not 0 wherever something is read."""
    import pytensor.tensor as pt

    condition = pt.or_(pt.gt(length, 0), pt.invert(is_read))
    return Inhabited(IndexError, NOTHING_TO_READ)(length, condition)


def without_empty(entries: Sequence[Any], shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of which all axes that positions are of have elements.

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
