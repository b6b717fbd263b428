"""Checks of observations that are read from streams."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dimtensor.compile.function import function
from dimtensor.dims import Dim, dim_set
from dimtensor.errors import InputError, listing
from dimtensor.graph import Node, toposort
from dimtensor.tensor.inputs import tensor


class PossibleObservations:
    """Check that the observations of a chunk can have been drawn, as far as parameters are known.

    Parameters
    ----------
    node : Node
        The random variable.
    dims : tuple of Dim
        The axes of a chunk.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> check = PossibleObservations(dt.rv("y", dt.dist.Exponential(1.0), dims=obs).node, (obs,))
    >>> check(np.array([1.0, 2.0]))
    >>> check(np.array([-1.0]))
    Traceback (most recent call last):
    dimtensor.errors.InputError: observations of 'y' lie outside of the support of their ...
      y: Exponential(lam=1), of dims {obs}
      values: -1.0
    """

    def __init__(self, node: Node, dims: tuple[Dim, ...]):
        self._node, self._dims = node, dims

    @cached_property
    def _conditions(self) -> tuple[list[str], Any]:
        """The conditions of the variable that depend on nothing else, as text and as a function."""
        node = self._node
        value = tensor(node.name, node.dims, node.dtype)
        found = [
            one
            for one in node.attrs.spec.build(node.inputs)._conditions(value)
            if all(_is_free(x, value.node) for x in toposort([one.holds.node]))
        ]
        every = [one.holds.all() for one in found]
        return [one.otherwise for one in found], function([value], every, "python")

    def __call__(self, values: np.ndarray) -> None:
        """Check the values of a chunk.

        Raises
        ------
        InputError
            If some lie outside of the support of the distribution, or have no finite density.
        """
        texts, holds = self._conditions
        named = (tuple(dim._short for dim in self._dims), values)
        for text, one in zip(texts, holds(named) if texts else (), strict=True):
            if not bool(one):
                d = self._node.attrs.spec.build(self._node.inputs)
                raise InputError(
                    f"observations of {self._node.name!r} {text}",
                    [
                        (str(self._node.name), f"{d!r}, of dims {dim_set(self._node.dims)}"),
                        ("values", listing(np.unique(values))),
                    ],
                )

    def __reduce__(self) -> tuple:
        return PossibleObservations, (self._node, self._dims)


def _is_free(x: Node, value: Node) -> bool:
    """Return whether a node of a condition is neither random nor given with a model."""
    is_constant = x.kind == "data" and not x.dims
    return x is value or is_constant or x.kind not in ("rv", "input", "bound", "data")
