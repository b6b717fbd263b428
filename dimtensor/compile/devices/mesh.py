"""Meshes of devices: which dim is cut over which axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any, Self

from dimtensor.backends import backend_of
from dimtensor.dims import Dim, Dims, family, sort_dims
from dimtensor.errors import (
    ArgumentError,
    OptionError,
    UnknownDimError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import named_dims

# The dim of draws that samplers on JAX have in common.
CHAIN = "chain"

_current: ContextVar[Placement | None] = ContextVar("placement", default=None)


class Placement:
    """Placement of dims on a mesh of devices, made by :func:`mesh`.

    Attributes
    ----------
    axes : dict of Dim or str to str or tuple of str
        Axes of the mesh by dim, or by its name.
    mesh : jax.sharding.Mesh

    Examples
    --------
    >>> import dimtensor as dt
    >>> placement = dt.mesh({"obs": "data"}, {"data": 1})
    >>> placement
    <Placement of obs over data (1 devices)>
    """

    def __init__(self, axes: Any, mesh: Any = None):
        from dimtensor.backends.jax.devices import mesh_for

        if not isinstance(axes, Mapping) or not axes:
            raise ArgumentError(
                f"mesh takes axes by dim, not {type(axes).__name__}", hint='{obs: "data"}'
            )
        self.axes: dict[Dim | str, tuple[str, ...]] = {}
        for dim, names in axes.items():
            many = (names,) if isinstance(names, str) else names
            if not isinstance(dim, (Dim, str)) or not _are_names(many):
                raise ArgumentError(
                    f"mesh takes names of axes by dim, not {dim!r}: {names!r}",
                    hint='{obs: "data"}',
                )
            self.axes[dim] = tuple(many)
        used = [name for names in self.axes.values() for name in names]
        twice = sorted({name for name in used if used.count(name) > 1})
        if twice:
            raise OptionError(f"mesh: two dims are cut over one axis, {listing(twice)}")
        self._tokens: list[Token[Placement | None]] = []
        self._is_default = mesh is None
        self.mesh = mesh_for(mesh, used)
        names = list(self.mesh.axis_names)
        for name in used:
            if name not in names:
                raise OptionError(
                    f"mesh: there is no axis {name!r}{did_you_mean(name, names)}",
                    [("axes of the mesh", listing(names))],
                )

    @property
    def of_chains(self) -> Placement | None:
        """Placement of the chains of samplers, None if they are not placed."""
        return self._only({CHAIN: self.axes[CHAIN]} if CHAIN in self.axes else {})

    @property
    def of_data(self) -> Placement | None:
        """Placement of all dims but the chains of samplers, None if there are none."""
        return self._only({dim: names for dim, names in self.axes.items() if dim != CHAIN})

    def _only(self, axes: dict[Dim | str, tuple[str, ...]]) -> Placement | None:
        return Placement(axes, self.mesh) if axes else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Placement):
            return NotImplemented
        return self.axes == other.axes and self.mesh == other.mesh

    def __hash__(self) -> int:
        return hash((tuple(self.axes.items()), self.mesh))

    def __enter__(self) -> Self:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._tokens.pop())

    def __reduce__(self) -> tuple:
        # devices belong to a process
        return (Placement, (self.axes, None if self._is_default else dict(self.mesh.shape)))

    @printable
    def __repr__(self) -> str:
        pairs = []
        for dim, names in self.axes.items():
            name = dim if isinstance(dim, str) else dim._short
            count = math.prod(self.mesh.shape[axis] for axis in names)
            pairs.append(f"{name} over {' and '.join(names)} ({count} devices)")
        return f"<Placement of {', '.join(pairs)}>"


def dims_below(outputs: Sequence[Node]) -> Dims:
    """Return the dims of all expressions below outputs, and their parents."""
    dims = {dim for x in toposort(outputs) for own in named_dims(x) for dim in family(own)}
    return sort_dims(dims)


def _are_names(names: Any) -> bool:
    return isinstance(names, tuple) and bool(names) and all(isinstance(x, str) for x in names)


def mesh(axes: Mapping[Dim | str, str | tuple[str, ...]], mesh: Any = None) -> Placement:
    """Place dims on the devices of JAX, each device holding a slice.

    Functions made in the context with ``backend="jax"``, and posteriors sampled in it by samplers
    on JAX, hold data along the dim in slices, one on each device. A device computes the shares of
    its slice, and one all-reduce adds the shares of all outputs.

    Parameters
    ----------
    axes : dict of Dim or str to str
        Axis of the mesh by dim, or by the name of the dim: ``{obs: "data"}``. A dim can be cut over
        several axes: ``{obs: ("rows", "columns")}``. For samplers ``"chain"`` is the dim of their
        chains, each of which runs on one device, or on those that share its data:
        ``{"chain": "chains", obs: "data"}``.
    mesh : jax.sharding.Mesh or dict of str to int, optional
        The devices, or the lengths of the axes. By default the mesh of ``jax.set_mesh``, and
        without one all devices in a row.

    Returns
    -------
    Placement
        A context manager, which ``dt.function(..., shard=...)`` and ``sample(..., shard=...)`` also
        take.

    Raises
    ------
    ArgumentError
        If the axes are no names by dim.
    OptionError
        If the mesh has no such axis, or two dims have the same one.

    Notes
    -----
    A function has no state outside of the context: the mesh is part of the functions made in it.
    Functions whose outputs do not depend on the dim are not changed; where positions along the dim
    are mixed, the error is that of :func:`partition`. Lengths need not be multiples of the number
    of devices.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> x, mu = dt.tensor("x", dims=obs), dt.scalar("mu")
    >>> loss = ((x - mu) ** 2).sum()
    >>> with dt.mesh({obs: "data"}):
    ...     f = dt.function([x, mu], [loss, dt.grad(loss, mu)], backend="jax")
    >>> [float(result) for result in f(np.arange(3.0), 2.0)]
    [5.0, 6.0]
    """
    return Placement(axes, mesh)


def read_placement(shard: Any) -> Placement | None:
    """Read the option `shard`: by default the placement of the innermost context."""
    if shard is None:
        return _current.get()
    return shard if isinstance(shard, Placement) else Placement(shard)


def placement_for(shard: Any, outputs: Sequence[Node], backend: str) -> Placement | None:
    """Return the placement for the function of some outputs.

    Raises
    ------
    OptionError
        If `shard` is given for another backend than JAX.
    UnknownDimError
        If it names no dim of the outputs.
    """
    if not backend_of(backend).on_devices:
        if shard is not None:
            raise OptionError(
                f"shard: the devices are those of JAX, and the backend is {backend!r}",
                hint='backend="jax"',
            )
        return None
    placement = read_placement(shard)
    if placement is not None and shard is not None:
        check_used(placement, outputs)
    return placement


def check_used(placement: Placement, outputs: Sequence[Node]) -> None:
    """Check that outputs have one of the dims.

    Raises
    ------
    UnknownDimError
        If they have none.
    """
    dims = dims_below(outputs)
    if not any(dim in placement.axes or dim.name in placement.axes for dim in dims):
        names = [key if isinstance(key, str) else key._short for key in placement.axes]
        raise UnknownDimError(
            f"shard: the outputs have no dim {listing(names)}",
            [("dims", listing([dim._short for dim in dims]) or "none")],
        )
