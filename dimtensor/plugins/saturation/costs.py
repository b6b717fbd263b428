"""Cost of an e-node as a number: the polynomials of :mod:`dimtensor.cost` at some lengths."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from dimtensor.cost import Lengths
from dimtensor.cost.weights import weight
from dimtensor.dims import Dim
from dimtensor.graph.node import Node
from dimtensor.graph.walk import toposort
from dimtensor.plugins.saturation.node_costs import GATHER, node_cost

# assumed length of dims whose length is unknown
ASSUMED = 1000
# small cost of each node, so that the simpler of two equally expensive graphs wins
_EACH = 0.5

_FREE = frozenset(
    {"constant", "length", "positions", "label_position", "input", "data", "shaped", "bound",
     "named", "codes", "gradient", "jacobian", "pushforward"}
)  # fmt: skip


class Costs:
    """Costs of nodes at some lengths.

    Parameters
    ----------
    given : mapping of Dim to int
        Lengths; of other dims it is their own, or that of data, or is assumed.
    outputs : iterable of Node
        What is computed; the data in it tell lengths.
    """

    def __init__(self, given: Mapping[Dim, int] | None, outputs: Iterable[Node]):
        told: dict[Dim, int] = {}
        for node in toposort(outputs):
            if node.kind == "data":
                for dim, length in zip(node.dims, node.attrs.values.shape, strict=True):
                    told[dim] = length
        self.lengths = Lengths({**told, **(given or {})}, assumed=ASSUMED)
        self._sizes: dict[tuple[Dim, ...], float] = {}
        self._nodes: dict[Node, float] = {}

    @property
    def assumptions(self) -> dict[Dim, int]:
        """Dims whose lengths were assumed."""
        found = self.lengths.assumptions
        return {dim: length for dim, length in found.items() if isinstance(dim, Dim)}

    def size(self, dims: Iterable[Dim]) -> float:
        """Count the elements of a tensor with some dims."""
        dims = tuple(dims)
        found = self._sizes.get(dims)
        if found is None:
            found = float(math.prod(map(self.lengths.required, dims)))
            self._sizes[dims] = found
        return found

    def of(self, node: Node) -> float:
        """Return the cost of a node without its inputs."""
        found = self._nodes.get(node)
        if found is None:
            found = self._nodes[node] = self._of(node)
        return found

    def _of(self, node: Node) -> float:
        kind = node.kind
        if kind in _FREE:
            return 0.0
        if kind == "elemwise":
            return self.size(node.dims) * weight(node.attrs) + _EACH
        if kind in ("expand", "relabel"):
            return _EACH
        if kind == "cast":
            return self.size(node.dims) + _EACH
        if kind == "reduce":
            return self.size(node.inputs[0].dims) + _EACH
        if kind == "dot" and len(node.inputs) == 2:
            joint = {*node.inputs[0].dims, *node.inputs[1].dims}
            moved = sum(self.size(x.dims) for x in (*node.inputs, node))
            return self.size(sorted(joint, key=lambda d: d._sort_key)) * 2 + moved + _EACH
        if kind == "index":
            items = [item for item in node.attrs.items if item.kind in ("tensor", "mask")]
            return self.size(node.dims) * GATHER * len(items) + _EACH
        return float(node_cost(node).work.at(self.lengths)) + _EACH
