"""Rewrites of selections and updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.scalar.basic import Add
from pytensor.tensor.basic import Alloc, MakeVector
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    IncSubtensor,
    Subtensor,
)

from dimtensor.ops.constants import number_of
from dimtensor.ops.nodes import alloc, has_axes_of, selected
from dimtensor.ops.slices import (
    WHOLE,
    as_slice,
    entries_of,
    is_known,
    parts_of,
    selected_positions,
)
from dimtensor.optimize.rules.table import REDUCTION, rule
from dimtensor.tuning import SEARCHED_UPDATES

if TYPE_CHECKING:
    from dimtensor.optimize.rules.driver import Rewriting


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry == WHOLE


def _shortest(entry: Any, length: int | None) -> Any:
    """Drop the ends of a slice that coincide with those of the axis."""
    if not isinstance(entry, slice):
        return entry
    start, stop, step = parts_of(entry)
    if step == 1:
        step = None
    if step is None or (isinstance(step, int) and step > 0):
        if start == 0 or (length is not None and isinstance(start, int) and start <= -length):
            start = None
        if length is not None and isinstance(stop, int) and stop >= length:
            stop = None
    if length is not None and step is None and isinstance(start, int) and -length < start < 0:
        start += length
    if length is not None and step is None and isinstance(stop, int) and -length < stop < 0:
        stop += length
    return slice(start, stop, step)


@rule(Subtensor)
def selection(node: Apply, rw: Rewriting) -> Variable | None:
    """Remove a selection of all elements, and write equal selections in one way."""
    x = node.inputs[0]
    entries = entries_of(node)
    shortest = [_shortest(e, n) for e, n in zip(entries, x.type.shape, strict=True)]
    if all(map(_is_whole, shortest)):
        return x
    if _written(shortest) == len(node.op.idx_list) and list(map(parts_of, entries)) == list(
        map(parts_of, shortest)
    ):
        return None
    return selected(x, shortest[: _written(shortest)])


def _written(entries: list[Any]) -> int:
    """Count the entries before trailing full slices."""
    return max((at + 1 for at, e in enumerate(entries) if not _is_whole(e)), default=0)


@rule(Subtensor)
def selection_of_vector(node: Apply, rw: Rewriting) -> Variable | None:
    """Elements of a vector that is made of numbers are the numbers."""
    made = node.inputs[0].owner
    if made is None or not isinstance(made.op, MakeVector):
        return None
    (entry,) = entries_of(node)
    if not is_known(entry):
        return None
    if isinstance(entry, slice):
        taken = made.inputs[entry]
        return made.op(*taken) if taken else None
    if not -len(made.inputs) <= entry < len(made.inputs):
        return None
    return made.inputs[entry]


@rule(Subtensor)
def selection_of_selection(node: Apply, rw: Rewriting) -> Variable | None:
    """Merge two selections whose ends are known and count from the start."""
    before = node.inputs[0].owner
    if before is None or not isinstance(before.op, Subtensor):
        return None
    outer, inner = entries_of(node), entries_of(before)
    combined: list[Any] = []
    left = iter(outer)
    for entry, length in zip(inner, before.inputs[0].type.shape, strict=True):
        if not isinstance(entry, slice):
            combined.append(entry)
            continue
        following = next(left)
        if _is_whole(following):
            combined.append(entry)
        elif _is_whole(entry):
            combined.append(following)
        else:
            taken = selected_positions(entry, length)
            then = None if taken is None else selected_positions(following, len(taken))
            if taken is None or then is None:
                return None
            single = isinstance(following, int)
            combined.append(taken[then[0]] if single else as_slice(taken[following]))
    return selected(before.inputs[0], combined)


@rule(IncSubtensor)
def update_of_all(node: Apply, rw: Rewriting) -> Variable | None:
    """Replace an update of all elements by a sum, or by the value that is written."""
    x, value = node.inputs[:2]
    entries = [_shortest(e, n) for e, n in zip(entries_of(node), x.type.shape, strict=True)]
    if not all(map(_is_whole, entries)) or value.type.dtype != x.type.dtype:
        return None
    missing = x.type.ndim - value.type.ndim
    value = pt.shape_padleft(value, missing) if missing else value
    if not node.op.set_instead_of_inc:
        return pt.add(x, value)
    lengths = [rw.length(x, axis) for axis in range(x.type.ndim)]
    return alloc(value, *lengths) if lengths else value


@rule(Add, kind=REDUCTION)
def sum_of_updates(node: Apply, rw: Rewriting) -> Variable | None:
    """Arrays of zeros, each updated somewhere, are added up by one array with all the updates.

    An update of zeros is never -0, so that adding zeros to it changes nothing; where two updates
    meet, they are added in turn.
    """
    chains = [updates_of_zeros(v) for v in node.inputs]
    if sum(chain is not None for chain in chains) < 2:
        return None
    out = node.outputs[0]
    others = []
    total: Variable | None = None
    for v, chain in zip(node.inputs, chains, strict=True):
        if chain is None:
            others.append(v)
        elif v.type.dtype != out.type.dtype or not has_axes_of(v, out):
            return None
        elif total is None:
            total = v
        else:
            for step in reversed(chain):
                total = step.op.make_node(total, *step.inputs[1:]).outputs[0]
    return pt.add(*others, total) if others else total


def updates_of_zeros(variable: Variable) -> list[Apply] | None:
    """Return the updates of an array of zeros, the last one first; None for other arrays."""
    found: list[Apply] = []
    while True:
        node = variable.owner
        if node is None:
            return None
        if isinstance(node.op, Alloc):
            zero = number_of(node.inputs[0])
            return found if found and zero == 0 and not np.signbit(zero) else None
        if not isinstance(node.op, (IncSubtensor, AdvancedIncSubtensor)):
            return None
        if node.op.set_instead_of_inc or getattr(node.op, "ignore_duplicates", False):
            return None
        if len(found) > SEARCHED_UPDATES:
            return None
        found.append(node)
        variable = node.inputs[0]
