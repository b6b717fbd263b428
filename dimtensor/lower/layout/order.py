"""The layout plan: which axis of every positional variable each dim is.

One total order of all dims of a graph serves every node, so that elementwise operations never
transpose; the axes of a node are its dims in this order. Of all orders the plan is the one that
costs least, see :mod:`dimtensor.lower.layout.preferences`, and, where that leaves a choice, the one
with the dim that is expected to be longest innermost, where memory is contiguous.

The plan is a function of the graph. Names of dims decide only between dims that could be exchanged
for each other, and lengths only by their ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dimtensor.dims import ConcatDim, Dim, Dims
from dimtensor.graph import Node
from dimtensor.graph.beside import Beside
from dimtensor.graph.walk import with_regions
from dimtensor.lower.layout.canonical_order import Roles, in_order
from dimtensor.lower.layout.preferences import Preference, preferences

_MOST_SWEEPS = 4


class AxisOrder:
    """A total order of dims.

    Parameters
    ----------
    ranks : mapping of Dim to a sortable key
        Dims that are not in it come last, in canonical order.
    cost : int
        What this order costs, in the units of :mod:`dimtensor.lower.layout.preferences`.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs, k = Dim("obs"), Dim("k", length=2)
    >>> x = dt.tensor("x", dims=[obs, k])
    >>> print(plan_axes([x.node]))
    k < obs
    """

    def __init__(self, ranks: Mapping[Dim, tuple], cost: int = 0):
        self._ranks = dict(ranks)
        self._sorted: dict[Dims, Dims] = {}  # a graph has few different sets of dims
        self.cost = cost

    @classmethod
    def canonical(cls) -> AxisOrder:
        """The canonical order of dims, whatever the graph."""
        return cls({})

    @classmethod
    def of(cls, dims: Iterable[Dim], cost: int = 0) -> AxisOrder:
        """The order in which dims are given, outermost first."""
        return cls({dim: (0, at) for at, dim in enumerate(dims)}, cost)

    def key(self, dim: Dim) -> tuple:
        return self._ranks.get(dim, (1, *dim._sort_key))

    def sort(self, dims: Iterable[Dim]) -> Dims:
        """Dims in the order of their axes."""
        given = tuple(dims)
        known = self._sorted.get(given)
        if known is None:
            known = self._sorted[given] = tuple(sorted(given, key=self.key))
        return known

    def __str__(self) -> str:
        return " < ".join(dim.short for dim in self.sort(self._ranks))


# plans by the youngest output, which no dim refers to, then by all outputs
_plans: Beside[dict[tuple, AxisOrder]] = Beside()
_PLANS_OF_A_NODE = 16  # each for other outputs, or other lengths


def plan_axes(outputs: Iterable[Node], lengths: Mapping[Dim, int] | None = None) -> AxisOrder:
    """The layout plan of the graph below the outputs.

    Parameters
    ----------
    outputs : iterable of Node
    lengths : mapping of Dim to int, optional
        Lengths of dims that do not know their own. A length that nobody knows is expected to be
        longer than all others: observations, time, draws.

    Examples
    --------
    >>> import dimtensor as dt
    >>> user, k, obs = Dim("user", length=500), Dim("k", length=8), Dim("obs", length=9000)
    >>> taste, seen = dt.tensor("taste", dims=[user, k]), dt.tensor("seen", dims=obs, dtype="int64")
    >>> print(plan_axes([(taste * 2).node]))  # the longest innermost
    k < user
    >>> loss = (taste.isel(user=seen).sum("k") ** 2).sum()
    >>> print(plan_axes([dt.grad(loss, taste).node]))  # whole rows are written
    user < obs < k
    """
    roots = tuple(outputs)
    if not roots:
        return AxisOrder({})
    lengths = lengths or {}
    known = _plans.add(max(roots, key=lambda node: node.serial), {})
    key = (tuple([node.serial for node in roots]), tuple(lengths.items()))
    plan = known.get(key)
    if plan is None:
        if len(known) >= _PLANS_OF_A_NODE:
            known.clear()
        plan = known[key] = _plan(roots, lengths)
    return plan


def _plan(roots: Sequence[Node], lengths: Mapping[Dim, int]) -> AxisOrder:
    nodes = with_regions(in_order(roots))
    dims = tuple(dict.fromkeys(dim for node in nodes for dim in node.dims))
    if len(dims) < 2:
        return AxisOrder.of(dims)
    families = _families(dims, nodes)
    ranks = _ranks(dims, families, lengths)
    order = _by_length(dims, families, ranks, Roles(nodes))
    return _Search(order, families, preferences(nodes, ranks)).run()


# -- where the search starts: the longest innermost, dims beside those that they are made of -------


def _root(dim: Dim) -> Dim:
    while len(dim.parents) == 1:
        (dim,) = dim.parents
    return dim


def _families(dims: Dims, nodes: Sequence[Node]) -> dict[Dim, Dim]:
    """Representative of each dim's equivalence class under renaming."""
    leader: dict[Dim, Dim] = {}

    def find(dim: Dim) -> Dim:
        while leader.setdefault(dim, dim) is not dim:
            dim = leader[dim]
        return dim

    for dim in dims:
        root = _root(dim)
        if isinstance(root, ConcatDim):
            for part in root.parts:
                leader[find(_root(part))] = find(root)
    for node in nodes:
        for old, new in node.attrs.pairs if node.kind == "relabel" else ():
            leader[find(_root(old))] = find(_root(new))
    return {dim: find(_root(dim)) for dim in dims}


def _ranks(dims: Dims, families: Mapping[Dim, Dim], lengths: Mapping[Dim, int]) -> dict[Dim, int]:
    """Ranks of the lengths of families, that is of the longest dim that a member is made of."""
    expected: dict[Dim, float] = {}
    for dim in dims:
        length = max(_expected_length(base, lengths) for base in dim._bases)
        family = families[dim]
        expected[family] = max(expected.get(family, 0), length)
    places = {length: rank for rank, length in enumerate(sorted(set(expected.values())))}
    return {dim: places[expected[families[dim]]] for dim in dims}


def _expected_length(dim: Dim, lengths: Mapping[Dim, int]) -> float:
    if dim.length is not None:
        return dim.length
    return lengths.get(dim, float("inf"))


def _by_length(
    dims: Dims, families: Mapping[Dim, Dim], ranks: Mapping[Dim, int], roles: Roles
) -> list[Dim]:
    def own(dim: Dim) -> tuple:
        return (_generation(dim), roles.key(dim), dim._sort_key)

    heads: dict[Dim, tuple] = {}
    for dim in dims:
        family, key = families[dim], own(dim)
        heads[family] = min(heads.get(family, key), key)
    return sorted(dims, key=lambda dim: (ranks[dim], heads[families[dim]], own(dim)))


def _generation(dim: Dim) -> int:
    return 1 + max(map(_generation, dim.parents)) if dim.parents else 0


# -- the search ------------------------------------------------------------------------------------


class _Search:
    """Moves dims and families of dims to other places while that costs less."""

    def __init__(
        self, order: Sequence[Dim], families: Mapping[Dim, Dim], found: Sequence[Preference]
    ):
        self._order = list(order)
        self._families = families
        self._preferences = found
        self._about: dict[Dim, list[Preference]] = {}
        for preference in found:
            for dim in preference.dims:
                self._about.setdefault(dim, []).append(preference)

    def run(self) -> AxisOrder:
        for _ in range(_MOST_SWEEPS):
            moves = [self._move(unit) for unit in self._units_in_question()]
            if not any(moves):
                break
        return AxisOrder.of(self._order, self._cost(self._preferences, self._order))

    def _cost(self, found: Iterable[Preference], order: Sequence[Dim]) -> int:
        place = {dim: at for at, dim in enumerate(order)}
        return sum(p.cost(tuple(sorted(p.dims, key=place.__getitem__))) for p in found)

    def _units_in_question(self) -> list[list[Dim]]:
        """Families, and members of larger ones, that some preference is not content with."""
        concerned = {
            dim
            for preference in self._preferences
            if self._cost([preference], self._order)
            for dim in preference.dims
        }
        families: dict[Dim, list[Dim]] = {}
        for dim in self._order:
            families.setdefault(self._families[dim], []).append(dim)
        units = [unit for unit in families.values() if not concerned.isdisjoint(unit)]
        return units + [[dim] for unit in units if len(unit) > 1 for dim in unit]

    def _move(self, unit: list[Dim]) -> bool:
        """Put a unit where it costs least, as near as possible to where it is."""
        about = list({id(p): p for dim in unit for p in self._about.get(dim, ())}.values())
        moved = set(unit)
        rest = [dim for dim in self._order if dim not in moved]
        before = self._cost(about, self._order)
        here = self._order.index(unit[0])
        places = sorted(range(len(rest) + 1), key=lambda at: abs(at - here))
        candidates = ([*rest[:at], *unit, *rest[at:]] for at in places)
        cost, best = min(
            ((self._cost(about, order), order) for order in candidates), key=lambda pair: pair[0]
        )
        if cost >= before:
            return False
        self._order = best
        return True
