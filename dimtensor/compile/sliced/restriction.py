"""Restriction of expressions to a slice: leaves along the dim are leaves of late length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dimtensor.compile.obstacles import refusal
from dimtensor.dims import Dim, sort_dims
from dimtensor.errors import PartitionError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import DataAttrs
from dimtensor.graph.partition.analysis import Combined, Obstacle, Split, is_rearranged
from dimtensor.graph.partition.slices import framed, late_dims, restricted
from dimtensor.graph.rebuilding.substitute import map_dim


class Restriction:
    """Rebuilds expressions of the whole as expressions of a slice of late length.

    Attributes
    ----------
    mapping : dict of Dim to Dim
        Dims of the slice, by those of the whole that are not derived from others of the cut.
    leaves : dict of Node to Node
        Leaves of the slice, or conversions of them, by those of the whole.
    sources : dict of Node to Node
        Leaves of the whole, by those of the slice.
    length, start : Node or None
        Inputs for the length of the whole, and for the position of the slice.
    """

    def __init__(
        self,
        dim: Dim,
        cut: frozenset[Dim],
        outputs: Sequence[Node],
        stored: Mapping[Node, str] | None = None,
    ):
        self._dim = dim
        self._stored = stored or {}
        self._cut = cut
        taken = {each for node in toposort(outputs) for each in node.dims} - cut
        self.mapping = late_dims(cut, taken)
        self.leaves: dict[Node, Node] = {}
        self.sources: dict[Node, Node] = {}
        self.length: Node | None = None
        self.start: Node | None = None

    def input(self, source: Node | Dim) -> Node | Dim:
        """Restrict an input of the function."""
        if isinstance(source, Node):
            return source if self._cut.isdisjoint(source.dims) else self.leaf(source)
        if source in self._cut:
            raise PartitionError(
                f"slices of {source._title} have lengths of their own, and its length is an input"
            )
        return source

    def split(self, y: Node, found: Split) -> tuple[Node | None, Node | None]:
        """Return the share of a slice, restricted to it, and the rest."""
        part, rest = (None, y) if found.role is None else (y, None)
        if isinstance(found.role, Combined):
            part, rest = found.role.part, found.role.rest
        given = [each for each in (part, rest) if each is not None]
        nodes, frame = framed(given, found)
        self.length = self.length or frame.length
        self.start = self.start or frame.start
        changed = dict(zip(given, nodes, strict=True))
        rest = None if rest is None else changed[rest]
        if part is None:
            return None, rest
        share = restricted(changed[part], self._cut, found.known, self.mapping, self.leaf)
        return share, rest

    def leaf(self, x: Node) -> Node:
        """Return the leaf that stands for a leaf, or for a constant, in a slice."""
        new = self.leaves.get(x)
        if new is not None:
            return new
        own = [dim for dim in x.dims if dim in self._cut]
        if any(dim.parents and is_rearranged(dim) for dim in own):
            obstacle = Obstacle(x, f"has values along {own[0]!r}")
            raise refusal(Split(self._dim, None, obstacle, self._cut, ()))
        dims = sort_dims(map_dim(dim, self.mapping) for dim in x.dims)
        if x.kind == "input":
            new = make("input", (), x.attrs._replace(dims=dims))
        else:
            # nobody reads the values: shape and name tell leaves apart
            at = len(self.leaves) + 1
            shape = [at if map_dim(dim, self._back) in self._cut else dim.length or 0
                     for dim in dims]  # fmt: skip
            name = x.name if x.kind == "data" and x.name else f"constant {at} of the data"
            dtype = self._stored.get(x, x.dtype)
            new = make("data", (), DataAttrs(name, dims, np.zeros(shape, dtype), x.categories))
        self.sources[new] = x
        is_narrow = new.dtype != x.dtype and x.categories is None
        self.leaves[x] = make("cast", (new,), x.dtype) if is_narrow else new
        return self.leaves[x]

    @property
    def _back(self) -> dict[Dim, Dim]:
        return {new: old for old, new in self.mapping.items()}

    def untold(self) -> list[Dim]:
        """Return the dims of a slice whose lengths no leaf tells."""
        told = {dim._unrenamed for node in self.leaves.values() for dim in node.dims}
        return [dim for dim in self.mapping.values() if dim not in told]
