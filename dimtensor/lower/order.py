"""The layout plan: which axis of every positional variable each dim is.

One total order of all dims of a graph serves every node, so that elementwise operations never
transpose. The order puts the dim that is expected to be longest innermost, where memory is
contiguous, and a derived dim where its parent is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node, toposort

# a dim whose length is not known yet is expected to be the long one: observations, time, draws
_UNKNOWN_LENGTH = 1 << 40


class AxisOrder:
    """A total order of dims.

    Parameters
    ----------
    ranks : mapping of Dim to a sortable key
        Dims that are not in it come last, in canonical order.

    Examples
    --------
    >>> obs, k = Dim("obs"), Dim("k", length=2)
    >>> [dim.name for dim in AxisOrder.planned([obs, k]).sort([obs, k])]
    ['k', 'obs']
    """

    def __init__(self, ranks: Mapping[Dim, tuple]):
        self._ranks = dict(ranks)

    @classmethod
    def canonical(cls) -> AxisOrder:
        """The canonical order of dims, whatever the graph."""
        return cls({})

    @classmethod
    def planned(cls, dims: Iterable[Dim], lengths: Mapping[Dim, int] | None = None) -> AxisOrder:
        """The order for a graph that has these dims."""
        lengths = lengths or {}
        ranks = {}
        for dim in dims:
            size = max(_expected_length(base, lengths) for base in dim.bases)
            base = max(dim.bases, key=lambda b: (_expected_length(b, lengths), b.sort_key))
            ranks[dim] = (0, size, base.sort_key, len(dim.bases), dim.sort_key)
        return cls(ranks)

    def key(self, dim: Dim) -> tuple:
        return self._ranks.get(dim, (1, *dim.sort_key))

    def sort(self, dims: Iterable[Dim]) -> Dims:
        """Dims in the order of their axes."""
        return tuple(sorted(dims, key=self.key))

    def __str__(self) -> str:
        return " < ".join(repr(dim) for dim in self.sort(self._ranks))


def _expected_length(dim: Dim, lengths: Mapping[Dim, int]) -> int:
    if dim.length is not None:
        return dim.length
    return lengths.get(dim, _UNKNOWN_LENGTH)


def plan_axes(outputs: Iterable[Node], lengths: Mapping[Dim, int] | None = None) -> AxisOrder:
    """The layout plan of the graph below the outputs."""
    dims = {dim for node in toposort(outputs) for dim in node.dims}
    return AxisOrder.planned(dims, lengths)
