"""Agreement of the processes that share a mesh: all must hold the same data."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Binding, Dims
from dimtensor.errors import ComputationError, InputError, listing
from dimtensor.graph import Node
from dimtensor.tuning import AWAITED_SECONDS
from dimtensor.values.data import title_of

# functions are made in the same order in all processes
_numbers = itertools.count(1)


def check_agreement(
    mesh: Any,
    nodes: Sequence[Node],
    arrays: Sequence[np.ndarray],
    dims: Sequence[Dims],
    binding: Binding,
) -> None:
    """Compare data with those of the other processes of a mesh.

    Parameters
    ----------
    mesh : jax.sharding.Mesh
    nodes : sequence of Node
        Data of a function.
    arrays : sequence of ndarray
    dims : sequence of tuple of Dim
        Axes of the arrays.
    binding : Binding

    Raises
    ------
    InputError
        If another process holds other values, lengths or labels.
    ComputationError
        If another process makes no such function in time.
    """
    if not mesh.is_multi_process:
        return
    own: dict[str, str] = {}
    for number, (node, array, axes) in enumerate(zip(nodes, arrays, dims, strict=True)):
        own[f"{title_of(node)} ({number + 1} of {len(nodes)})"] = _digest(
            str(array.shape), str(array.dtype), np.ascontiguousarray(array).tobytes()
        )
        for dim in axes:
            labels = dim._bound_labels(binding)
            values = () if labels is None else labels.values.tolist()
            own[f"labels of {dim._title}"] = _digest(repr(values))
    _compare(mesh, own)


def _digest(*parts: str | bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part if isinstance(part, bytes) else part.encode())
    return found.hexdigest()


def _compare(mesh: Any, own: Mapping[str, str]) -> None:
    import jax

    from dimtensor.upstream.jax import coordination

    client, me = coordination(), jax.process_index()
    key = f"dimtensor/agreement/{next(_numbers)}"
    client.key_value_set(f"{key}/{me}", json.dumps(own))
    others = sorted({device.process_index for device in mesh.devices.flat} - {me})
    for other in others:
        try:
            text = client.blocking_key_value_get(f"{key}/{other}", 1000 * AWAITED_SECONDS)
        except Exception as error:
            raise ComputationError(
                f"process {other} has not made this function within {AWAITED_SECONDS} seconds: "
                "it has ended, or makes other functions",
                [("this process", str(me))],
            ) from error
        found = json.loads(text)
        titles = [title for title in own | found if own.get(title) != found.get(title)]
        if titles:
            raise InputError(
                f"processes {me} and {other} disagree about the data of a function",
                [("different", listing(titles, len(titles)))],
                "load the same data in all processes: each places the slices of its own devices",
            )
