"""Views, look-ups and updates on JAX, as one writes them by hand.

They take the place of PyTensor's translations in our functions alone: PyTensor's own functions keep
theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from pytensor.graph.basic import Constant
from pytensor.tensor.basic import ScalarFromTensor
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import (
    AdvancedIncSubtensor,
    AdvancedSubtensor,
    IncSubtensor,
    Subtensor,
    indices_from_subtensor,
)

from dimtensor.backends.jax.symbolic import is_symbol
from dimtensor.graph.dtypes import accumulator
from dimtensor.ops.positions import without_empty
from dimtensor.ops.slices import along_axes, selected_positions
from dimtensor.tuning import FLOAT32_TERMS, UPDATED_ELEMENTS, UPDATED_PART
from dimtensor.upstream.pytensor import refuse_broadcast_of_vector_index


def own_translation(node: Any) -> Callable[..., Any] | None:
    """Return the JAX function of a node, None if this module has none."""
    make = _TRANSLATIONS.get(type(node.op))
    return None if make is None else make(node)


def _dimshuffle(node: Any) -> Callable[..., Any]:
    """Axes are dropped and made as such: a reshape would hide from ``vmap`` and shardings."""
    import jax.numpy as jnp

    op = node.op
    dropped, kept = tuple(op.drop), list(op.shuffle)
    order = [at - sum(drop < at for drop in dropped) for at in kept]
    added = tuple(op.augment)

    def dimshuffle(x: Any) -> Any:
        # a constant stays one, so that slices that end there have known lengths
        lib: Any = np if isinstance(x, (np.ndarray, np.generic)) else jnp
        x = lib.asarray(x)
        if dropped:
            x = lib.squeeze(x, dropped)
        if order != sorted(order):
            x = lib.transpose(x, order)
        return lib.expand_dims(x, added) if added else x

    return dimshuffle


def _number(node: Any) -> Callable[..., Any]:
    """Extract the scalar of an array without axes, untraced for constants and lengths."""
    import jax.numpy as jnp

    def number(x: Any) -> Any:
        if isinstance(x, (np.ndarray, np.generic)):
            return x[()]
        return x if isinstance(x, int) else jnp.asarray(x)

    return number


def _gather(node: Any) -> Callable[..., Any] | None:
    op = node.op
    if _has_mask(node.inputs[1:]):
        return None
    hints = _hints(op, node.inputs[1:])

    def gather(x: Any, *arrays: Any) -> Any:
        import jax.numpy as jnp

        x = jnp.asarray(x)
        if 0 in x.shape:
            x = jnp.zeros(without_empty(op.idx_list, x.shape), x.dtype)
        at = x.at[tuple(indices_from_subtensor(arrays, op.idx_list))]
        return at.get(mode="promise_in_bounds", **hints)

    return gather


def _scatter(node: Any) -> Callable[..., Any] | None:
    """Update through arrays of positions.

    Positions are declared in bounds, so that the derivative of the update is a plain look-up:
    positions of data and inputs are checked before the call, and computed ones are clipped.
    """
    op = node.op
    if _has_mask(node.inputs[2:]):
        return None
    hints = _hints(op, node.inputs[2:])

    def scatter(x: Any, y: Any, *arrays: Any) -> Any:
        import jax.numpy as jnp

        x, y = jnp.asarray(x), jnp.asarray(y)
        if 0 in x.shape:
            return x
        indices = tuple(indices_from_subtensor(arrays, op.idx_list))
        alone = indices[0] if len(indices) == 1 else indices
        refuse_broadcast_of_vector_index(op, node, x, y, alone)
        at = x.at[indices]
        if op.set_instead_of_inc:
            return at.set(y, mode="promise_in_bounds", **hints)
        if op.ignore_duplicates:  # added once, however often a position is given
            y = at.get(mode="promise_in_bounds", **hints) + y
            return at.set(y, mode="promise_in_bounds", **hints)
        wide = accumulator(x.dtype.name)
        if wide == x.dtype.name or _are_few(at.get(mode="promise_in_bounds").shape):
            return at.add(y, mode="promise_in_bounds", **hints)
        at = x.astype(wide).at[indices]
        return at.add(y.astype(wide), mode="promise_in_bounds", **hints).astype(x.dtype)

    return scatter


def _are_few(shape: tuple[int, ...]) -> bool:
    """Return True if a sum has so few terms that single precision loses no digits."""
    return not any(map(is_symbol, shape)) and math.prod(shape) <= FLOAT32_TERMS


def _has_mask(indices: list[Any]) -> bool:
    return any(getattr(index.type, "dtype", None) == "bool" for index in indices)


def _hints(op: Any, variables: list[Any]) -> dict[str, bool]:
    """Facts of positions that are one constant vector."""
    indices = indices_from_subtensor(variables, op.idx_list)
    arrays = [index for index in indices if not isinstance(index, slice)]
    if len(arrays) != 1 or not isinstance(arrays[0], Constant):
        return {}
    positions = np.asarray(arrays[0].data)
    if positions.ndim != 1 or positions.size == 0 or positions.min() < 0:
        return {}
    steps = np.diff(positions.astype(np.int64))
    return {
        "indices_are_sorted": bool((steps >= 0).all()),
        "unique_indices": len(np.unique(positions)) == len(positions),
    }


def _put(node: Any) -> Callable[..., Any]:
    """Set a slice, or add to it."""
    op = node.op
    if not op.set_instead_of_inc:
        return _increment(op)

    def put(x: Any, y: Any, *arrays: Any) -> Any:
        import jax.numpy as jnp

        x = jnp.asarray(x)
        if 0 in x.shape:
            return x
        return x.at[tuple(indices_from_subtensor(arrays, op.idx_list))].set(y)

    return put


def _increment(op: Any) -> Callable[..., Any]:
    """Adding to a slice: the addend is padded with zeros, as in JAX's own derivatives."""

    def increment(x: Any, y: Any, *arrays: Any) -> Any:
        import jax.numpy as jnp

        x, y = jnp.asarray(x), jnp.asarray(y)
        if 0 in x.shape:
            return x
        indices = tuple(indices_from_subtensor(arrays, op.idx_list))
        whole = along_axes(indices, x.ndim)
        positions = _static_positions(whole, x.shape)
        if positions is None:
            return x.at[indices].add(y)
        lengths = [len(at) for at in positions]
        size = int(np.prod(lengths))
        if size == 0 or (x.size > UPDATED_ELEMENTS and size * UPDATED_PART < x.size):
            return x.at[indices].add(y)
        shown = [n for n, index in zip(lengths, whole, strict=True) if isinstance(index, slice)]
        return x + _padded(jnp.broadcast_to(y, shown).reshape(lengths), positions, x.shape)

    return increment


def _static_positions(indices: list[Any], shape: tuple[int, ...]) -> list[range] | None:
    """Return the positions that entries select along each axis; None if they are traced."""
    if any(map(is_symbol, shape)):
        return None
    found = [selected_positions(e, n) for e, n in zip(indices, shape, strict=True)]
    return None if None in found else cast("list[range]", found)


def _padded(y: Any, positions: list[range], shape: tuple[int, ...]) -> Any:
    """Return zeros of a shape with an array at some positions of each axis."""
    import jax

    edges = []
    backwards = []
    for axis, (at, n) in enumerate(zip(positions, shape, strict=True)):
        if at.step < 0:
            backwards.append(axis)
            at = at[::-1]
        interior = at.step - 1 if len(at) > 1 else 0
        edges.append((at[0], n - 1 - at[-1], interior))
    if backwards:
        y = jax.lax.rev(y, backwards)
    # the zero that leaves every number as it is, another zero included
    zero = np.array(-0.0 if y.dtype.kind in "fc" else 0, y.dtype)
    return jax.lax.pad(y, zero, edges)


def _slice(node: Any) -> Callable[..., Any]:
    """Slices and positions; a constant that is read at a traced position is one of JAX's arrays."""
    import jax
    import jax.numpy as jnp

    entries = node.op.idx_list

    def subtensor(x: Any, *given: Any) -> Any:
        if isinstance(x, np.ndarray) and any(isinstance(each, jax.Array) for each in given):
            x = jnp.asarray(x)
        if 0 in np.shape(x):
            x = jnp.zeros(without_empty(entries, x.shape), x.dtype)
        indices = indices_from_subtensor(given, entries)
        return x[indices[0] if len(indices) == 1 else indices]

    return subtensor


_TRANSLATIONS: dict[type, Callable[[Any], Callable[..., Any] | None]] = {
    DimShuffle: _dimshuffle,
    ScalarFromTensor: _number,
    AdvancedSubtensor: _gather,
    AdvancedIncSubtensor: _scatter,
    IncSubtensor: _put,
    Subtensor: _slice,
}
