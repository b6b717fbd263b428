"""Checks in a positional graph: raise, or pass the array through."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply
from pytensor.raise_op import CheckAndRaise

from dimtensor.kernels.ir.make import op
from dimtensor.kernels.ir.nodes import If, Raise
from dimtensor.kernels.native.values import ERRORS
from dimtensor.kernels.rules.calls import CallRule, call_numba, set_length

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


def _error(e: Emitter, kind: type[BaseException]) -> str | None:
    """Return the name of an error class in loops, with its module unless it is built in."""
    name, module = kind.__name__, kind.__module__
    if getattr(builtins, name, None) is kind:
        return name if name in ERRORS else None
    if getattr(sys.modules.get(module), name, None) is not kind:
        return None  # one that nobody can import
    known = e.namespace.setdefault(name, kind)
    return f"{module}:{name}" if known is kind else None


def _check(e: Emitter, node: Apply) -> None:
    error = _error(e, node.op.exc_type)
    if error is None:
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
