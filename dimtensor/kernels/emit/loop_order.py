"""The order of the loops of a nest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from dimtensor.kernels.ir.nodes import Names
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.tuning import PERMUTED_LOOPS


def best(
    loops: Sequence[str], accesses: Sequence[tuple[Names, ...]], turns: Sequence[Sequence[str]]
) -> list[str]:
    """Order loops such that the innermost one accesses memory contiguously if possible.

    Parameters
    ----------
    loops : sequence of str
    accesses : sequence of tuple of frozenset of str
        For each array that is read or written, the loops that move along each of its axes.
    turns : sequence of sequences of str
        Loops that have to follow each other as given, others between them or not.

    Raises
    ------
    UnsupportedGraph
        If no order has them follow each other so.
    """
    turns = [each for each in turns if len(each) > 1]
    orders = [list(loops)]
    if 2 <= len(loops) <= PERMUTED_LOOPS:
        orders = [list(order) for order in itertools.permutations(loops)]
    elif turns:
        orders = [_rearranged(loops, turns[0])]
    orders = [o for o in orders if all(_rearranged(o, each) == o for each in turns)]
    if not orders:
        raise UnsupportedGraph("values are set in several orders")
    if len(orders) == 1:
        return orders[0]
    return min(orders, key=lambda order: _cost(order, accesses))


def _rearranged(order: Sequence[str], turns: Sequence[str]) -> list[str]:
    """Loops in an order in which some of them follow each other as given."""
    following = iter(turns)
    return [next(following) if name in turns else name for name in order]


def _cost(order: Sequence[str], accesses: Sequence[tuple[Names, ...]]) -> float:
    """Strided steps of the innermost loop, then inversions of axes, weighted by the loops used."""
    innermost = order[-1]
    cost = 0.0
    for access in accesses:
        used = frozenset().union(*access)
        weight = 10.0 ** len(used)
        if innermost in used and innermost not in access[-1]:
            cost += weight
        ranks = [
            max((order.index(loop) for loop in loops), default=-1) for loops in access if loops
        ]
        inversions = sum(a > b for a, b in itertools.combinations(ranks, 2))
        cost += 0.1 * weight * inversions
    return cost
