"""Layout plan: the order of axes of all positional variables.

All nodes of a graph share one total order of dims, so elementwise operations never transpose. The
plan is the order with the lowest cost (:mod:`dimtensor.lower.layout.preferences`); of equal ones,
that with the longest expected dim innermost, where memory is contiguous.

The plan is a function of the graph. Names of dims break ties only between interchangeable dims, and
lengths enter by their ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dimtensor.dims import ConcatDim, Dim, Dims
from dimtensor.graph import Node
from dimtensor.graph.beside import Beside
from dimtensor.graph.walk import with_regions
from dimtensor.lower.layout.canonical_order import Roles, in_order
from dimtensor.lower.layout.preferences import Preference, preferences
from dimtensor.tuning import LAYOUT_SWEEPS, LAYOUTS_PER_NODE


class AxisOrder:
    """Total order of dims.

    Parameters
    ----------
    ranks : mapping of Dim to a sortable key
        Other dims come last, in canonical order.
    cost : int
        Cost of the order, in the units of :mod:`dimtensor.lower.layout.preferences`.

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
        """Return the canonical order of dims, which does not depend on the graph."""
        return cls({})

    @classmethod
    def of(cls, dims: Iterable[Dim], cost: int = 0) -> AxisOrder:
        """Make an order from dims, outermost first."""
        return cls({dim: (0, at) for at, dim in enumerate(dims)}, cost)

    def key(self, dim: Dim) -> tuple:
        return self._ranks.get(dim, (1, *dim._sort_key))

    def sort(self, dims: Iterable[Dim]) -> Dims:
        """Sort dims by the order of their axes."""
        given = tuple(dims)
        known = self._sorted.get(given)
        if known is None:
            known = self._sorted[given] = tuple(sorted(given, key=self.key))
        return known

    def __str__(self) -> str:
        return " < ".join(dim._short for dim in self.sort(self._ranks))


# plans by the youngest output, which no dim refers to, and then by all outputs and lengths
_plans: Beside[dict[tuple, AxisOrder]] = Beside()


def plan_axes(outputs: Iterable[Node], lengths: Mapping[Dim, int] | None = None) -> AxisOrder:
    """Compute the layout plan of a graph.

    Parameters
    ----------
    outputs : iterable of Node
    lengths : mapping of Dim to int, optional
        Lengths of dims without one. Unknown lengths, such as those of observations, time or draws,
        are assumed to be the longest.

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
    known = _plans.add(max(roots, key=lambda node: node._serial), {})
    key = (tuple([node._serial for node in roots]), tuple(lengths.items()))
    plan = known.get(key)
    if plan is None:
        if len(known) >= LAYOUTS_PER_NODE:
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


# -- initial order: the longest dim innermost, derived dims next to their parents ------------------


def _root(dim: Dim) -> Dim:
    while len(dim.parents) == 1:
        (dim,) = dim.parents
    return dim


def _families(dims: Dims, nodes: Sequence[Node]) -> dict[Dim, Dim]:
    """Return a representative of each dim's equivalence class under renaming."""
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
    """Rank families by length: that of the longest dim that a member is derived from."""
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
    """Local search: moves dims and families of dims while that reduces the cost."""

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
        for _ in range(LAYOUT_SWEEPS):
            moves = [self._move(unit) for unit in self._units_in_question()]
            if not any(moves):
                break
        return AxisOrder.of(self._order, self._cost(self._preferences, self._order))

    def _cost(self, found: Iterable[Preference], order: Sequence[Dim]) -> int:
        place = {dim: at for at, dim in enumerate(order)}
        return sum(p.cost(tuple(sorted(p.dims, key=place.__getitem__))) for p in found)

    def _units_in_question(self) -> list[list[Dim]]:
        """Return the families, and their members, for which a preference has a cost."""
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
        """Move a unit to the position with the lowest cost, preferring small moves."""
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
