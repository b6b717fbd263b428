"""Meshes of devices: arrays in slices, and reductions over devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.errors import OptionError, listing
from dimtensor.extras import require
from dimtensor.graph.dtypes import neutral_extreme


def mesh_for(given: Any, axes: Sequence[str]) -> Any:
    """Return a mesh of JAX.

    Parameters
    ----------
    given : jax.sharding.Mesh, dict of str to int, or None
        None is the mesh of ``jax.set_mesh``, or all devices along one axis.
    axes : sequence of str
        The axes that are used.

    Raises
    ------
    OptionError
        If it is something else, or there are not that many devices.
    """
    jax = require("jax", "jax", "dt.mesh")
    if isinstance(given, jax.sharding.Mesh):
        return given
    if given is None:
        current = jax.sharding.get_mesh()
        if not current.empty:
            return current
        if len(axes) > 1:
            raise OptionError(
                f"mesh: the lengths of the axes {listing(list(axes))} are needed",
                hint=f"the second argument has them: {dict.fromkeys(axes, 1)}",
            )
        given = {axes[0]: jax.device_count()}
    if not isinstance(given, Mapping):
        raise OptionError(f"mesh: {given!r} is neither a mesh of JAX nor lengths by axis")
    sizes = tuple(given.values())
    n, there = int(np.prod(sizes)), jax.devices()
    if n > len(there):
        raise OptionError(
            f"mesh: {n} devices are asked for, there are {len(there)}",
            hint="XLA_FLAGS=--xla_force_host_platform_device_count=8 makes 8 of one processor",
        )
    auto = (jax.sharding.AxisType.Auto,) * len(sizes)
    return jax.make_mesh(sizes, tuple(given), axis_types=auto, devices=there[:n])


def place_on(mesh: Any, spec: Any, array: np.ndarray) -> Any:
    """Place an array on the devices of a mesh; each process places the slices of its devices."""
    import jax

    sharding = jax.sharding.NamedSharding(mesh, spec)
    with jax.enable_x64(True):
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def fetch(array: Any) -> np.ndarray:
    """Return an array as NumPy's, gathered from all processes."""
    if array.is_fully_addressable or array.is_fully_replicated:
        return np.asarray(array)
    from jax.experimental.multihost_utils import process_allgather

    return np.asarray(process_allgather(array, tiled=True))


def neutral(operation: str, dtype: Any) -> Any:
    """Return the neutral element of an operation."""
    dtype = np.dtype(dtype)
    if operation in ("logical_and", "logical_or"):
        return operation == "logical_and"
    if operation in ("maximum", "minimum"):
        return neutral_extreme(operation == "maximum", dtype)
    values = {"add": 0, "multiply": 1, "logaddexp": -np.inf}
    return dtype.type(values[operation])


def combine(operation: str, one: Any, other: Any) -> Any:
    """Combine values of two slices."""
    import jax.numpy as jnp

    return getattr(jnp, operation)(one, other)


# their halves are doubles without rounding, and so are sums of 2**20 halves
_INTEGERS = ("int64", "uint64")


def reduce_over(
    axes: tuple[str, ...], operations: Sequence[str], values: Sequence[Any]
) -> list[Any]:
    """Reduce values of devices, those of one operation and dtype together.

    Conditions are counted, so that they are part of the sum of the others. So are integers beside
    doubles, in two halves, whose sums are exact.
    """
    import jax
    import jax.numpy as jnp

    counted: list[Any] = []
    has_doubles = any(
        operation == "add" and value.dtype == jnp.float64
        for operation, value in zip(operations, values, strict=True)
    )
    groups: dict[tuple[str, Any], list[int]] = {}
    for at, (operation, value) in enumerate(zip(operations, values, strict=True)):
        if operation in ("logical_and", "logical_or"):
            value = jnp.asarray(value, bool)
            # the number of false, or of true ones
            value = (~value if operation == "logical_and" else value).astype(_float())
            operation = "add"
        elif operation == "add" and has_doubles and value.dtype in _INTEGERS:
            value = jnp.stack([value >> 32, value & 0xFFFFFFFF]).astype(jnp.float64)
        counted.append(value)
        groups.setdefault((operation, value.dtype), []).append(at)
    results: list[Any] = [None] * len(values)
    for (operation, _), members in groups.items():
        vector = jnp.concatenate([jnp.ravel(counted[at]) for at in members])
        if operation == "add":
            total = jax.lax.psum(vector, axes)
        elif operation == "maximum":
            total = jax.lax.pmax(vector, axes)
        elif operation == "minimum":
            total = jax.lax.pmin(vector, axes)
        else:
            every = jax.lax.all_gather(vector, axes)
            if operation == "multiply":
                total = jnp.prod(every, axis=0)
            else:
                total = jax.scipy.special.logsumexp(every, axis=0)
        stop = 0
        for at in members:
            start, stop = stop, stop + counted[at].size
            results[at] = total[start:stop].reshape(counted[at].shape)
    for at, (operation, value) in enumerate(zip(operations, values, strict=True)):
        if operation == "add" and has_doubles and value.dtype in _INTEGERS:
            high, low = results[at].astype(value.dtype)
            results[at] = (high << 32) + low
        elif operation == "logical_and":
            results[at] = results[at] == 0
        elif operation == "logical_or":
            results[at] = results[at] > 0
    return results


def _float() -> Any:
    import jax

    return jax.dtypes.canonicalize_dtype(np.float64)
