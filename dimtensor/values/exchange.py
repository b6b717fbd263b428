"""Replacement of the data that functions and models hold."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.arrays import array_of
from dimtensor.dims import dim_labels, dim_set
from dimtensor.errors import ArgumentError, InputError, did_you_mean, listing
from dimtensor.graph import Node
from dimtensor.values.data import as_mapping, title_of


def exchanged(
    nodes: Sequence[Node], given: Any, by_name: Mapping[str, Any], owner: str
) -> dict[Node, Any]:
    """Return new values by data node.

    Parameters
    ----------
    nodes : sequence of Node
        The data of the function or model.
    given : mapping of DimTensor or name to value, or None
    by_name : dict of str to value
    owner : str
        "function" or "model", for messages.

    Returns
    -------
    dict of Node to value
        Values are copies, independent of the caller's arrays.

    Raises
    ------
    InputError
        If there are no such data, or several of one name.
    """
    found: dict[Node, Any] = {}
    exact: set[Node] = set()
    for key, value in {**as_mapping(given, "new data"), **by_name}.items():
        chosen = _named(nodes, key, owner) if isinstance(key, str) else _same(nodes, key, owner)
        own = _copied(value, title_of(chosen[0]))
        for node in chosen:
            if node is getattr(key, "node", key):
                exact.add(node)
            elif node in exact:
                continue
            found[node] = own
    return found


def _copied(value: Any, source: str) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # its array is copied, not the object
        return np.array(array_of(value, source))


def _named(nodes: Sequence[Node], name: str, owner: str) -> list[Node]:
    """Return the data with a name.

    Raises
    ------
    InputError
        If there are none, or several different ones.
    """
    chosen = [node for node in nodes if node.name == name]
    if not chosen:
        guess = did_you_mean(name, _names(nodes))
        raise _unknown(f"the {owner} holds no data {name!r}{guess}", nodes)
    if not all(are_same_data(chosen[0], node) for node in chosen[1:]):
        raise InputError(
            f"{len(chosen)} data of the {owner} are named {name!r}",
            [
                (f"{name} over {dim_set(node.dims)}", listing(node.attrs.values.ravel(), 4))
                for node in chosen
            ],
            f"name them apart with dt.data(..., name=...), or give new values by tensor: "
            f"with_data({{{name}: ...}})",
        )
    return chosen


def _same(nodes: Sequence[Node], key: Any, owner: str) -> list[Node]:
    """Return the data nodes of a tensor, as numbers and as labels.

    Raises
    ------
    InputError
        If the tensor is not among the data.
    """
    node = getattr(key, "node", key)
    if not isinstance(node, Node):
        raise ArgumentError(f"data are named by tensors and strings, not by {type(key).__name__}")
    chosen = [each for each in nodes if are_same_data(node, each)]
    if not chosen:
        raise _unknown(f"{title_of(node)} is not among the data of the {owner}", nodes)
    return chosen


def are_same_data(one: Node, other: Node) -> bool:
    """Return True if two nodes are the same data, as numbers and as labels.

    Numbers become labels where they select or group by label.

    Examples
    --------
    >>> import dimtensor as dt
    >>> year = dt.data([2021, 2020], dims=dt.Dim("obs"), name="year")
    >>> labels = dt.data([2021, 2020], year.dims, "year", dt.Dim("y", coords=[2020, 2021]))
    >>> are_same_data(year.node, labels.node)
    True
    """
    if one is other:
        return True
    if not one.kind == other.kind == "data" or one.name != other.name or one.dims != other.dims:
        return False
    return np.array_equal(_values(one), _values(other))


def _values(node: Node) -> np.ndarray:
    """Return the values of data as given: labels if they are labels."""
    labels = None if node.categories is None else dim_labels(node.categories)
    return node.attrs.values if labels is None else labels.values[node.attrs.values]


def _names(nodes: Sequence[Node]) -> list[str]:
    return list(dict.fromkeys(node.name for node in nodes if node.name is not None))


def _unknown(what: str, nodes: Sequence[Node]) -> InputError:
    return InputError(what, [("data", listing(_names(nodes)))])
