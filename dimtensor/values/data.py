"""Data that functions hold beside their code, and the lengths and labels they bind."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import UNNAMED_DATA, Binding, Dim, Dims
from dimtensor.errors import ArgumentError, clipped, listing, plain_repr
from dimtensor.graph import Node
from dimtensor.values.admission import admit
from dimtensor.values.labeled import Labeled, as_labeled


def title_of(source: Node | Dim) -> str:
    """Name an input, data, or a dim given as an input in a message."""
    if isinstance(source, Dim):
        return f"the length of {source._title}"
    if source.name is not None:
        return f"{'data' if source.kind == 'data' else 'input'} {source.name!r}"
    dims = ", ".join(dim._short for dim in source.dims)
    return f"{UNNAMED_DATA if source.kind == 'data' else 'an unnamed input'} of dims {{{dims}}}"


def as_mapping(value: Any, what: str, known: Collection[str] = ()) -> Mapping[Any, Any]:
    """Check that a value is a mapping, which is empty for None; `known` are names for the hint.

    Raises
    ------
    ArgumentError
        If it is not a mapping.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        columns = list(map(str, getattr(value, "columns", ())))
        columns = ([name for name in columns if name in known] or columns)[:2]
        pairs = ", ".join(f"{name!r}: table[{name!r}]" for name in columns)
        shown = "" if hasattr(value, "dtype") or columns else f": {clipped(plain_repr(value))}"
        raise ArgumentError(
            f"{what} are given as a dict, not as {type(value).__name__}{shown}",
            hint=f"values by name: {{{pairs or "'name': values"}}}",
        )
    return value


def admit_value(
    node: Node, dims: Dims, value: Any, labeled: Labeled | None, binding: Binding
) -> np.ndarray:
    """Convert a value for an input or data node to a contiguous array in the order of `dims`."""
    title = title_of(node)
    array = admit(value, labeled, dims, node.dtype, node.categories, binding, title)
    return np.ascontiguousarray(array).reshape(array.shape)


def bind_data(
    nodes: Sequence[Node], axes: Sequence[Dims], replaced: Mapping[Node, Any]
) -> tuple[Binding, list[np.ndarray]]:
    """Return the arrays of data nodes, and the lengths and labels of their dims.

    Parameters
    ----------
    nodes : sequence of Node
        Of kind ``data``.
    axes : sequence of tuple of Dim
        The order of the axes of each array.
    replaced : mapping of Node to value
        Values that replace those of the nodes.

    Returns
    -------
    Binding, list of ndarray
        The arrays are read-only views.
    """
    binding = Binding()
    arrays = []
    titles = [title_of(node) for node in nodes]
    for node, dims, title in zip(nodes, axes, titles, strict=True):
        if node in replaced:
            value = replaced[node]
            labeled = as_labeled(value, node.dims, title)
            array = admit_value(node, dims, value, labeled, binding)
        else:
            if titles.count(title) > 1:  # two anonymous dims differ by nothing else
                title = f"{title} ({listing(node.attrs.values.ravel(), 3)})"
            for dim, length in zip(node.attrs.dims, node.attrs.values.shape, strict=True):
                binding.add_length(dim, length, title)
            for dim, labels in node.attrs.labels:
                binding.add_labels(dim, labels, title)
            order = [node.attrs.dims.index(dim) for dim in dims]
            array = np.ascontiguousarray(node.attrs.values.transpose(order))
            array = array.reshape([node.attrs.values.shape[at] for at in order])
        array = array.view()
        array.flags.writeable = False
        arrays.append(array)
    return binding, arrays
