"""Checks in a positional graph: an error is raised, or the array is what it was."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply
from pytensor.raise_op import CheckAndRaise

from dimtensor.kernels.ir.make import op
from dimtensor.kernels.ir.nodes import If, Raise
from dimtensor.kernels.native.translate import ERRORS
from dimtensor.kernels.rules.calls import CallRule, call_numba, set_length

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


def _check(e: Emitter, node: Apply) -> None:
    error = node.op.exc_type.__name__
    if getattr(builtins, error, None) is not node.op.exc_type or error not in ERRORS:
        call_numba(e, node)
        return
    (x, *conditions), (out,) = node.inputs, node.outputs
    for condition in conditions:
        refused = op("not", e.scalar(condition))
        e.lines.append(If(refused, (Raise(error, node.op.msg),)))
    if out.type.ndim == 0:
        e.scalars[out] = e.scalar(x)
        return
    for axis in range(out.type.ndim):
        set_length(e, out, axis, e.length(x, axis))
    e.places[out] = e.place(x)


RULES: list[tuple[Any, CallRule]] = [(CheckAndRaise, _check)]
