"""Parallel forward algorithm: transition matrices are multiplied pairwise, in log₂ n rounds.

It computes states³ numbers per position instead of states², and is therefore opt-in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dims import Dim, RenamedDim
from dimtensor.errors import GraphError
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.chains import Chain, Lag, initial_table, lag_dim, loop_tables
from dimtensor.marginal.moves import StateReduction, add_tables
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor


def associative_forward(chain: Chain, merge: StateReduction) -> DimTensor:
    """Return the table after the last position as a product of all transition matrices.

    Raises
    ------
    GraphError
        If the chain looks back more than one position, or its length comes with the data.
    """
    if chain.order > 1 or set(chain.orders.values()) != {1} or chain.loop_dim.length is None:
        raise GraphError(
            f"marginalize: no associative scan along {chain.dim._short!r}",
            [("order", chain.order), ("length", chain.dim.length or "comes with the data")],
            "it supports chains of order one along a dim of known length; without "
            "associative_scan=True the chain is a loop",
        )
    products = _TransitionProducts(chain, merge)
    start, _ = initial_table(chain, merge)
    sequences, same = loop_tables(chain)
    dims = (chain.loop_dim, *products.before, *products.after)
    table = expand_node(add_tables(x.node for x in (*sequences.values(), *same.values())), dims)
    whole = products.over(wrap(table))
    last = start + whole
    for dim in products.before:
        last = wrap(merge(last.node, dim))
    pairs = zip(products.after, products.before, strict=True)
    return wrap(relabel_node(last.node, *pairs))


class _TransitionProducts:
    def __init__(self, chain: Chain, merge: StateReduction):
        self.chain, self.merge = chain, merge
        self.before = [lag_dim(Lag(u, 1)) for u in chain.eliminated]
        self.after = [lag_dim(Lag(u, 0)) for u in chain.eliminated]
        self.between = [RenamedDim(u.states, f"{u.name} between") for u in chain.eliminated]

    def over(self, x: DimTensor) -> DimTensor:
        """Multiply all transition matrices, the first one on the left."""
        dim: Dim = self.chain.loop_dim
        count, rest = dim.length or 0, None
        while count > 1:
            half = count // 2
            if count % 2:  # the odd one is multiplied at the end
                last = x.isel({dim: count - 1})
                rest = last if rest is None else self.product(last, rest)
            pair = Dim(f"pairs of {self.chain.dim._short}", length=half)
            even, odd = (
                self._on(x.isel({dim: slice(first, 2 * half, 2)}), x, dim, pair) for first in (0, 1)
            )
            x, dim, count = self.product(even, odd), pair, half
        first = x.isel({dim: 0})
        return first if rest is None else self.product(first, rest)

    def _on(self, part: DimTensor, whole: DimTensor, old: Dim, new: Dim) -> DimTensor:
        (own,) = [d for d in part.dims if d not in whole.dims] or [old]
        return wrap(relabel_node(part.node, (own, new)))

    def product(self, left: DimTensor, right: DimTensor) -> DimTensor:
        """Multiply two transition matrices: sum out the states between them."""
        pairs = zip(self.after, self.before, self.between, strict=True)
        moved = [((after, between), (before, between)) for after, before, between in pairs]
        one = wrap(relabel_node(left.node, *(pair for pair, _ in moved)))
        other = wrap(relabel_node(right.node, *(pair for _, pair in moved)))
        found = (one + other).node
        for dim in self.between:
            found = self.merge(found, dim)
        return wrap(found)
