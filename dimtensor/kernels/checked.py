"""Checks in a positional graph: an error is raised, or the array is what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply
from pytensor.raise_op import CheckAndRaise

from dimtensor.kernels.calls import CallRule, set_length

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter


def _check(e: Emitter, node: Apply) -> None:
    if node.op.exc_type is not ValueError:  # machine code raises no other
        e.call_numba(node)
        return
    (x, *conditions), (out,) = node.inputs, node.outputs
    for condition in conditions:
        e.lines.append(f"if not {e.scalar(condition).text}:")
        e.lines.append(f"    raise ValueError({node.op.msg!r})")
    if out.type.ndim == 0:
        e.scalars[out] = e.scalar(x)
        return
    for axis in range(out.type.ndim):
        set_length(e, out, axis, e.length(x, axis))
    e.places[out] = e.place(x)


RULES: list[tuple[Any, CallRule]] = [(CheckAndRaise, _check)]
