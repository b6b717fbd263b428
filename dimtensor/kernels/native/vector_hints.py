"""Hints for LLVM's loop vectorizer: loops whose bodies are too long for its cost model.

LLVM decides on the width of such a loop by the registers that its body needs, and chooses too few
lanes to hide the latency of long chains of operations. It would also compile the body three times:
for vectors, for the remaining iterations, and unrolled. With metadata on the loop, it vectorizes
with a given width and masks the last iteration instead (tail folding).
"""

from __future__ import annotations

from collections.abc import Iterator

from dimtensor.kernels.ir import nodes as ir
from dimtensor.kernels.ir.make import ZERO, known
from dimtensor.kernels.ir.walk import expressions_in
from dimtensor.kernels.native.builder import Hint
from dimtensor.kernels.native.functions import library
from dimtensor.tuning import (
    HINTED_ITERATIONS,
    STATEMENTS_PER_SCATTERED,
    VECTORIZED_STATEMENTS,
)

_KINDS = (ir.Assign, ir.Store, ir.Accumulate)


def hint_of(node: ir.For) -> Hint | None:
    """Return the hint of a loop; None leaves its vectorization to LLVM.

    A width permits LLVM to reorder all sums of a loop, so loops with states have no hint.
    """
    if not node.is_wide or node.step != 1 or len(node.body) > VECTORIZED_STATEMENTS:
        return None
    if not all(isinstance(each, _KINDS) for each in node.body):
        return None
    width, length = library.lanes(), known(node.stop)
    if length is not None and node.start == ZERO:
        if length < HINTED_ITERATIONS:
            return None
        width = min(width, 1 << (length - 1).bit_length())
    is_row = _Contiguous(node).is_row
    scattered = {each for each in _accesses(node) if not is_row(each)}
    return Hint(width, STATEMENTS_PER_SCATTERED * len(scattered) <= len(node.body))


def _accesses(node: ir.For) -> Iterator[ir.Load]:
    for statement in node.body:
        for read in statement.reads:
            yield from (each for each in expressions_in(read) if isinstance(each, ir.Load))


class _Contiguous:
    """Elements that are adjacent in memory for adjacent iterations of a loop."""

    def __init__(self, node: ir.For):
        self._counter = node.counter.name
        assigned = {each.target.name for each in node.body if isinstance(each, ir.Assign)}
        self._varying = assigned | {self._counter}

    def is_row(self, node: ir.Load) -> bool:
        """Return whether an access is contiguous, or the same in all iterations."""
        *outer, last = node.index
        if any(map(self._varies, outer)):
            return False
        return not self._varies(last) or self._moves_by_one(last)

    def _varies(self, node: ir.Expression) -> bool:
        return not node.uses.isdisjoint(self._varying)

    def _moves_by_one(self, node: ir.Expression) -> bool:
        if isinstance(node, ir.Var):
            return node.name == self._counter
        if not isinstance(node, ir.Op) or node.op not in ("cast", "+", "-"):
            return False
        moving = [each for each in node.operands if self._varies(each)]
        if len(moving) != 1 or (node.op == "-" and moving[0] is not node.operands[0]):
            return False
        return self._moves_by_one(moving[0])
