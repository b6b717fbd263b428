"""Values of inputs by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.dims import Dim
from dimtensor.errors import InputError
from dimtensor.graph import Node
from dimtensor.values.data import title_of
from dimtensor.values.datasets import values_from


def is_dataset(value: Any) -> bool:
    """Return True for a Dataset or a DataTree."""
    return hasattr(type(value), "data_vars")


def titles(sources: Sequence[Node | Dim]) -> str:
    """List the names of inputs for an error message."""
    return ", ".join(title_of(source) for source in sources) or "none"


def named_values(
    sources: Sequence[Node | Dim], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Read the values of inputs from a Dataset, and add those given by name.

    Raises
    ------
    InputError
        If there are more positional arguments than the Dataset.
    """
    if len(args) > 1:
        raise InputError(
            f"a {type(args[0]).__name__} gives the values of inputs by name",
            [("inputs", titles(sources))],
            "give others by name, too: f(post, x=1.0)",
        )
    found = values_from(args[0], [x for x in sources if x.name not in kwargs])
    return {**{str(source.name): value for source, value in found.items()}, **kwargs}
