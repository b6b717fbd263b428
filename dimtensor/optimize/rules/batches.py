"""Rewrites of batches: one operation on arrays with more axes, in place of one for each array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytensor.graph.basic import Apply, Variable
from pytensor.tensor.basic import Alloc
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.subtensor import AdvancedIncSubtensor, IncSubtensor, Subtensor

from dimtensor.ops.nodes import alloc
from dimtensor.optimize.rules.table import rule

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting


@rule(Blockwise)
def selection_in_batch(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace equal basic selections or updates in a batch by one with full slices along it."""
    core = node.op.core_op
    if not isinstance(core, (Subtensor, IncSubtensor)):
        return None
    batch = node.op.batch_ndim(node)
    count = 1 + isinstance(core, IncSubtensor)
    arrays, indices = node.inputs[:count], node.inputs[count:]
    numbers = _same_in_all(indices, batch)
    if numbers is None:
        return None
    entries = (*[slice(None)] * batch, *core.idx_list)
    if isinstance(core, Subtensor):
        return Subtensor(entries)(arrays[0], *numbers)
    x, value = arrays
    x = _for_all(x, value, batch, rw)
    selected = Subtensor(entries)(x, *numbers)
    value = _with_core_axes(value, batch, selected.type.ndim - batch)
    return IncSubtensor(entries, set_instead_of_inc=core.set_instead_of_inc)(x, value, *numbers)


@rule(Blockwise)
def scatter_in_batch(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace equal updates through positions in a batch by one with full slices along it."""
    core = node.op.core_op
    if not isinstance(core, AdvancedIncSubtensor):
        return None
    entries = core.idx_list
    at = [axis for axis, entry in enumerate(entries) if not isinstance(entry, slice)]
    if at != list(range(at[0], at[0] + len(at))):
        return None  # what is selected has their axes first, before those of the batch
    batch = node.op.batch_ndim(node)
    x, value, *given = node.inputs
    positions = _same_in_all(given, batch)
    if positions is None:
        return None
    x = _for_all(x, value, batch, rw)
    indexed = max(position.type.ndim for position in positions)
    selected = x.type.ndim - batch - len(at) + indexed
    value = _with_core_axes(value, batch, selected)
    op = AdvancedIncSubtensor(
        (*[slice(None)] * batch, *entries),
        set_instead_of_inc=core.set_instead_of_inc,
        ignore_duplicates=core.ignore_duplicates,
    )
    return op(x, value, *positions)


def _same_in_all(arrays: list[Variable], batch: int) -> list[Variable] | None:
    """Arrays without the axes of the batch, along which they are repeated; None if one is not."""
    found = []
    for x in arrays:
        core = _without_batch(x, batch)
        if core is None:
            return None
        found.append(core)
    return found


def _without_batch(x: Variable, batch: int) -> Variable | None:
    axes = range(x.type.ndim)
    if all(x.type.shape[axis] == 1 for axis in axes[:batch]):
        return x.dimshuffle(list(axes[batch:]))
    made = x.owner
    if made is None or not isinstance(made.op, Alloc):
        return None
    value, *lengths = made.inputs
    kept = min(value.type.ndim, len(lengths) - batch)
    dropped = value.type.ndim - kept
    if any(value.type.shape[axis] != 1 for axis in range(dropped)):
        return None
    value = value.dimshuffle(list(range(dropped, value.type.ndim)))
    return alloc(value, *lengths[batch:]) if len(lengths) > batch else value


def _with_core_axes(value: Variable, batch: int, count: int) -> Variable:
    """Add leading core axes to a batch of arrays, up to `count` core axes."""
    axes = range(value.type.ndim)
    missing = batch + count - value.type.ndim
    return value.dimshuffle([*axes[:batch], *["x"] * missing, *axes[batch:]])


def _for_all(x: Variable, value: Variable, batch: int, rw: Rewriting) -> Variable:
    """Repeat an array along batch axes, one copy for each value that is written into it."""
    pairs = zip(x.type.shape[:batch], value.type.shape, strict=False)
    if not any(n == 1 and m != 1 for n, m in pairs):
        return x
    whole = [rw.length(value if x.type.shape[a] == 1 else x, a) for a in range(batch)]
    return alloc(x, *whole, *(rw.length(x, a) for a in range(batch, x.type.ndim)))
