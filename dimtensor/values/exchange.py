"""Data that functions and models hold, exchanged for other data."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.arrays import array_of
from dimtensor.dims import dim_labels, dim_set
from dimtensor.errors import InputError, build_message, did_you_mean, listing
from dimtensor.graph import Node
from dimtensor.values.data import as_mapping, title_of


def exchanged(
    nodes: Sequence[Node], given: Any, by_name: Mapping[str, Any], owner: str
) -> dict[Node, Any]:
    """New values by data node.

    Parameters
    ----------
    nodes : sequence of Node
        The data that there are.
    given : mapping of DimTensor or name to value, or None
    by_name : dict of str to value
    owner : str
        What holds the data, for messages: a function or a model.

    Returns
    -------
    dict of Node to value
        Values are copies: what holds them does not change where the caller's arrays do.

    Raises
    ------
    InputError
        If there are no such data, or a name stands for several.
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
    except Exception:  # of an object that is not to be copied: its array is
        return np.array(array_of(value, source))


def _named(nodes: Sequence[Node], name: str, owner: str) -> list[Node]:
    """The data of a name.

    Raises
    ------
    InputError
        If there are none, or several, of which some would keep their values.
    """
    chosen = [node for node in nodes if node.name == name]
    if not chosen:
        guess = did_you_mean(name, _names(nodes))
        raise _unknown(f"the {owner} holds no data {name!r}{guess}", nodes)
    if not all(are_same_data(chosen[0], node) for node in chosen[1:]):
        raise InputError(
            build_message(
                f"{len(chosen)} data of the {owner} are named {name!r}",
                [
                    (f"{name} over {dim_set(node.dims)}", listing(node.attrs.values.ravel(), 4))
                    for node in chosen
                ],
                f"name them apart with dt.data(..., name=...), or give new values by tensor: "
                f"with_data({{{name}: ...}})",
            )
        )
    return chosen


def _same(nodes: Sequence[Node], key: Any, owner: str) -> list[Node]:
    """The data that a tensor is, as numbers and as labels.

    Raises
    ------
    InputError
        If it is none of them.
    """
    node = getattr(key, "node", key)
    if not isinstance(node, Node):
        raise InputError(f"data are named by tensors and strings, not by {type(key).__name__}")
    chosen = [each for each in nodes if are_same_data(node, each)]
    if not chosen:
        raise _unknown(f"{title_of(node)} is not among the data of the {owner}", nodes)
    return chosen


def are_same_data(one: Node, other: Node) -> bool:
    """Whether two nodes are one data tensor, that is numbers in one and labels in the other.

    Numbers that select or group by label are labels there, beside which they stay numbers.

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
    """The values of data as they were given: labels where they are labels."""
    labels = None if node.categories is None else dim_labels(node.categories)
    return node.attrs.values if labels is None else labels.values[node.attrs.values]


def _names(nodes: Sequence[Node]) -> list[str]:
    return list(dict.fromkeys(node.name for node in nodes if node.name is not None))


def _unknown(what: str, nodes: Sequence[Node]) -> InputError:
    return InputError(build_message(what, [("data", listing(_names(nodes)))]))
