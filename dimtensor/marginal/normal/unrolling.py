"""Unrolled latents: a vector along a short dim becomes one unknown per position.

Elements of a latent vector may be coupled, for instance by a transition matrix between positions of
another dim. Each element along the short dim becomes an unknown of its own, and each expression
along that dim is repeated for each of its positions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dimtensor.dims import Dim, without
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.rebuilding.substitute import expand_node, relabel_node
from dimtensor.marginal.factors import apply_movement
from dimtensor.marginal.normal.quadratics import ResidualFactor
from dimtensor.marginal.unknowns import Origins, Unknown
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor

# vectors of more elements are not unrolled
MOST_UNROLLED = 12


class NotSeparable(Exception):
    """Expression that cannot be evaluated element by element."""


def unrolled_elements(unknown: Unknown, dim: Dim) -> list[Unknown]:
    """Return one unknown per position along a dim."""
    labels = range(len(dim)) if dim.coords is None else dim.coords
    found = []
    for label in labels:
        name = f"{unknown.name}[{dim._short}={label}]"
        own = unknown.node
        node = tensor(name, without(unknown.dims, [dim]), own.dtype, own.categories).node
        found.append(replace(unknown, node=node, name=name))
    return found


def unroll_terms(
    named: Sequence[tuple[Origins, Node]], unknown: Unknown, dim: Dim, parts: Sequence[Unknown]
) -> list[tuple[Origins, Node]]:
    """Replace an unknown by its elements along a dim in all terms.

    Raises
    ------
    NotSeparable
        If some expression cannot be evaluated at single positions of the dim.
    """
    apart = _Unroller(unknown.node, dim, [part.node for part in parts])
    found = []
    for origins, term in named:
        for at in apart.positions(term):
            found.append((origins, apart.value(term, at)))
    return found


def structurally_unbounded(
    residuals: Sequence[ResidualFactor], unknowns: Sequence[Unknown]
) -> Unknown | None:
    """Return an unknown left over when unknowns are matched to residuals, or None.

    If there is one, the precision matrix is structurally singular and the integral infinite.
    """

    def places(unknown: Unknown) -> Iterator[tuple[int, int]]:
        for number, residual in enumerate(residuals):
            if residual.like.reads(unknown):
                shared = {dim for _, slot in residual.like.slots for dim in slot.dims}
                alone = without(residual.like.dims, shared)
                count = math.prod(len(unknowns) if d.length is None else d.length for d in alone)
                yield from ((number, copy) for copy in range(min(count, len(unknowns))))

    return unmatched({unknown: list(places(unknown)) for unknown in unknowns})


def unmatched[T: Hashable](places: Mapping[Unknown, Sequence[T]]) -> Unknown | None:
    """Return an unknown left over by a maximum bipartite matching, or None."""
    owner: dict[T, Unknown] = {}
    return next((one for one in places if not _settle(one, places, owner, set())), None)


def _settle[T: Hashable](
    unknown: Unknown,
    places: Mapping[Unknown, Sequence[T]],
    owner: dict[T, Unknown],
    tried: set[T],
) -> bool:
    """Match an unknown to a place, moving other unknowns if need be (augmenting path)."""
    for place in places[unknown]:
        if place not in tried:
            tried.add(place)
            if place not in owner or _settle(owner[place], places, owner, tried):
                owner[place] = unknown
                return True
    return False


class _Unroller:
    """Evaluator of expressions at single positions of the unrolled dim."""

    def __init__(self, whole: Node, dim: Dim, parts: Sequence[Node]):
        self.whole, self.dim, self.parts = whole, dim, parts
        self.dims = {dim}  # and its new names
        self._done: dict[Any, Node] = {}
        self._reads: dict[Node, bool] = {}

    def depends(self, node: Node) -> bool:
        """Return whether a node depends on the vector."""
        if node not in self._reads:
            for x in toposort([node]):
                reads = x is self.whole or any(self._reads[i] for i in x.inputs)
                self._reads[x] = reads
                if reads and x.kind == "relabel":
                    self.dims |= {new for old, new in x.attrs.pairs if old in self.dims}
        return self._reads[node]

    def positions(self, node: Node) -> list[dict[Dim, int]]:
        """Return all combinations of positions along the unrolled dims of a node."""
        mine = [d for d in node.dims if self.depends(node) and d in self.dims]
        if any(d.length is None or d.length > MOST_UNROLLED for d in mine):
            raise NotSeparable
        ranges = (range(d.length or 0) for d in mine)
        return [dict(zip(mine, at, strict=True)) for at in itertools.product(*ranges)]

    def value(self, node: Node, at: Mapping[Dim, int]) -> Node:
        """Return a node at positions along some of its dims."""
        at = {dim: k for dim, k in at.items() if dim in node.dims}
        key = (node, frozenset(at.items()))
        if key not in self._done:
            self._done[key] = self._value(node, at)
        return self._done[key]

    def _value(self, node: Node, at: dict[Dim, int]) -> Node:
        if not self.depends(node):
            return wrap(node).isel(at).node if at else node
        if any(dim in self.dims and dim not in at for dim in node.dims):
            raise NotSeparable
        if node is self.whole:
            return self.parts[at[self.dim]]
        if node.kind in ("elemwise", "cast", "check", "codes"):
            return make(node.kind, tuple(self.value(x, at) for x in node.inputs), node.attrs)
        if node.kind == "expand":
            return expand_node(self.value(node.inputs[0], at), without(node.dims, at))
        if node.kind == "relabel":
            old = {new: old for old, new in node.attrs.pairs}
            x = self.value(node.inputs[0], {old.get(dim, dim): k for dim, k in at.items()})
            pairs = [pair for pair in node.attrs.pairs if pair[0] in x.dims]
            return relabel_node(x, *pairs)
        if node.kind == "index":
            return self._selected(node, at)
        if node.kind == "reduce" and node.attrs.name == "sum":
            return self._summed(node.inputs[0], node.attrs.dims, at)
        if node.kind == "reduce":
            return self._reduced(node, at)
        if node.kind == "dot":
            product = node.inputs[0]
            for x in node.inputs[1:]:
                product = make("elemwise", (product, x), "multiply")
            return self._summed(product, without(product.dims, node.dims), at)
        raise NotSeparable

    def _selected(self, node: Node, at: dict[Dim, int]) -> Node:
        x, *indexers = node.inputs
        items = {item.dim: item for item in node.attrs.items}
        inner = dict(at)
        for dim in self.dims & set(items):
            if items[dim].kind != "int":
                raise NotSeparable
            inner[dim] = int(items[dim].payload) % len(dim)
        return apply_movement(node, self.value(x, inner), [self.value(i, at) for i in indexers])

    def _reduced(self, node: Node, at: dict[Dim, int]) -> Node:
        """Apply a reduction other than a sum to the stacked elements."""
        (x,) = node.inputs
        self.depends(x)
        mine = [dim for dim in node.attrs.dims if dim in self.dims]
        if len(mine) != 1 or mine[0].length is None or mine[0].length > MOST_UNROLLED:
            raise NotSeparable
        (dim,) = mine
        parts = [self.value(x, {**at, dim: k}) for k in range(dim.length)]
        dims = tuple(dict.fromkeys(d for part in parts for d in part.dims))
        whole = make("stack", tuple(expand_node(part, dims) for part in parts), dim)
        return make("reduce", (expand_node(whole, tuple(node.attrs.dims)),), node.attrs)

    def _summed(self, x: Node, dims: Sequence[Dim], at: dict[Dim, int]) -> Node:
        self.depends(x)
        mine = [dim for dim in dims if dim in self.dims]
        others = tuple(without(tuple(dims), mine))
        if any(dim.length is None or dim.length > MOST_UNROLLED for dim in mine):
            raise NotSeparable
        total: Any = None
        for more in itertools.product(*(range(dim.length or 0) for dim in mine)):
            one = self.value(x, {**at, **dict(zip(mine, more, strict=True))})
            total = wrap(one) if total is None else total + wrap(one)
        node: Node = total.node
        if others:
            attrs = ReduceAttrs("sum", others)
            node = make("reduce", (expand_node(node, others),), attrs)
        return node
