"""Layout preferences of operations: costs of orders of axes.

A preference assigns a cost to an order of a few dims. Costs are integers, in tenths of the time per
element of a loop times the number of elements. Only ratios of costs matter, so lengths enter as
ranks: dims of equal length have the same rank, and each rank stands for eight times as many
elements as the next lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims
from dimtensor.graph import Node
from dimtensor.graph.regions import DERIVATIVES, regions_of
from dimtensor.tuning import SHORT_INNERMOST, TRANSPOSED_READ

Cost = Callable[[Dims], int]


class Preference(NamedTuple):
    """Cost function of an order of dims."""

    dims: Dims
    cost: Cost


class Estimates:
    """Estimated sizes and gradients of a graph, as arguments of preference rules.

    Parameters
    ----------
    nodes : sequence of Node
        In topological order.
    ranks : mapping of Dim to int
        Ranks of the lengths of all dims.
    """

    def __init__(self, nodes: Sequence[Node], ranks: Mapping[Dim, int]):
        self.ranks = ranks
        self._differentiated = {
            leaf
            for node in nodes
            if node.kind in DERIVATIVES
            for region in regions_of(node)
            for leaf in region.bound[: node.attrs.n_wrt]
        }
        if self._differentiated:
            for node in nodes:
                if not self._differentiated.isdisjoint(node.inputs):
                    self._differentiated.add(node)

    def elements(self, dims: Iterable[Dim]) -> int:
        """Estimate the number of elements of a tensor."""
        exponent = sum(self.ranks[dim] + 1 for dim in dims)
        return 1 << min(3 * exponent, 400)

    def has_gradient(self, node: Node) -> bool:
        """Return True if a derivative may be taken through a node."""
        return node in self._differentiated


Found = Iterable[tuple[tuple, Preference]]
Rule = Callable[[Node, Estimates], Found]
PREFERENCES: dict[str, Rule] = {}


def prefers(*kinds: str) -> Callable[[Rule], Rule]:
    """Register the preference rule of node kinds, defined next to their lowering.

    A rule yields pairs of a key and a preference; of preferences with equal keys one counts.
    """

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            PREFERENCES[kind] = rule
        return rule

    return register


def preferences(nodes: Sequence[Node], ranks: Mapping[Dim, int]) -> list[Preference]:
    """Collect the preferences of all nodes of a graph, given in topological order."""
    estimates = Estimates(nodes, ranks)
    found: dict[tuple, Preference] = {}
    walked: dict[Dims, None] = {}
    for node in nodes:
        if len(node.dims) > 1:
            walked[node.dims] = None
        rule = PREFERENCES.get(node.kind)
        if rule is not None:
            for key, preference in rule(node, estimates):
                # a fused loop with several results reads its operands once
                found.setdefault(key, preference)
    for dims in walked:
        general = _long_innermost(dims, estimates)
        if general is not None:
            found["long", dims] = general
    return list(found.values())


def _long_innermost(dims: Dims, estimates: Estimates) -> Preference | None:
    ranks = estimates.ranks
    longest = max(ranks[dim] for dim in dims)
    size = estimates.elements(dims)
    # shorter innermost dims cost slightly more
    cost = {d: (SHORT_INNERMOST + min(longest - ranks[d], 3)) * size for d in dims}
    cost = {dim: c for dim, c in cost.items() if ranks[dim] < longest}
    return Preference(dims, lambda order: cost.get(order[-1], 0)) if cost else None


def not_innermost(dims: Dims, bad: Iterable[Dim], weight: int, estimates: Estimates) -> Preference:
    unwanted = frozenset(bad)
    cost = weight * estimates.elements(dims)
    return Preference(dims, lambda order: cost if order[-1] in unwanted else 0)


def before(outer: Dim, inner: Dim, cost: int) -> Preference:
    return Preference((outer, inner), lambda order: cost if order[0] is inner else 0)


def last(dims: Dims, core: Dims, cost: int) -> Preference:
    """Prefer dims as last axes, in this order."""
    n = len(core)
    return Preference(dims, lambda order: 0 if order[len(order) - n :] == core else cost)


def first(dims: Dims, wanted: Dims, cost: int) -> Preference:
    return Preference(dims, lambda order: 0 if order[0] in wanted else cost)


def same_order(
    node: Node, dims: Dims, others: Dims, mapping: Mapping[Dim, Dim], estimates: Estimates
) -> Found:
    """Prefer the same order for dims and the dims they are mapped to."""
    if len(dims) < 2 or not mapping:
        return
    one, two = frozenset(dims), frozenset(others)
    cost = TRANSPOSED_READ * estimates.elements(dims)

    def differs(order: Dims) -> int:
        before = [mapping.get(dim, dim) for dim in order if dim in one]
        return 0 if before == [dim for dim in order if dim in two] else cost

    yield ("same", node), Preference(tuple(dict.fromkeys((*dims, *others))), differs)
