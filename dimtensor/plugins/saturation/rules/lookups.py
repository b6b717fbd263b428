"""Rules of look-ups: what can be computed once per group is not computed per element, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.graph.attrs import DataAttrs, IndexAttrs, IndexItem, UpdateAttrs
from dimtensor.graph.node import Node, make
from dimtensor.plugins.saturation.egraph import ENode
from dimtensor.plugins.saturation.rules.rule import Matching, rule
from dimtensor.plugins.saturation.rules.sums import length_of, sum_of
from dimtensor.plugins.saturation.views import Product, constant, elemwise, over

FEWER = 0.5  # groups are worth it where there are at most so many per element


class Lookup(NamedTuple):
    """A look-up: of what, and by dim the class of the positions."""

    base: int
    by: dict[Dim, int]


def lookup_of(m: Matching, at: int) -> Lookup | None:
    """Return the look-up by tensors of positions in a class, None without one."""
    for member in m.views.members(at):
        if member.sample.kind == "index" and member.children:
            items = member.sample.attrs.items
            if all(item.kind == "tensor" for item in items):
                base, *indexers = member.children
                by = {item.dim: m.graph.find(indexers[item.payload]) for item in items}
                return Lookup(m.graph.find(base), by)
    return None


def along(m: Matching, by: Mapping[Dim, int]) -> Dims:
    """Return the dims of positions."""
    return sort_dims({dim for at in by.values() for dim in m.graph.node(at).dims})


def indexed_by(m: Matching, at: int, dims: Dims) -> tuple[int, dict[Dim, int]] | None:
    """Return the base and the positions of a look-up; a class without the dims is its own base.

    None where it has one of the dims otherwise.
    """
    if not m.views.has(at, dims):
        return at, {}
    found = lookup_of(m, at)
    return None if found is None or m.views.has(found.base, dims) else (found.base, found.by)


def joint(m: Matching, lookups: Iterable[Lookup]) -> dict[Dim, int] | None:
    """Look-ups as one; None where one of them reads a dim otherwise than another."""
    together: dict[Dim, int] = {}
    lookups = list(lookups)
    for one in lookups:
        for dim, at in one.by.items():
            if together.setdefault(dim, at) != at:
                return None
    for one in lookups:
        if any(dim in together and dim not in one.by for dim in m.graph.node(one.base).dims):
            return None
    if len({dim._namespace for dim in together}) < len(together):
        return None
    return together


def indexed(m: Matching, base: Node, by: Mapping[Dim, int]) -> Node:
    """Make a look-up."""
    dims = sorted((dim for dim in by if dim in base.dims), key=lambda dim: dim._sort_key)
    items = tuple(IndexItem(dim, "tensor", at) for at, dim in enumerate(dims))
    indexers = tuple(m.graph.node(by[dim]) for dim in dims)
    return make("index", (base, *indexers), IndexAttrs(items)) if items else base


@rule(
    "once per group",
    "an operation on what is looked up at the same places is looked up itself",
    "elemwise",
)  # fmt: skip
def hoist(m: Matching, one: ENode) -> Iterator[Node]:
    graph = m.graph
    found = [lookup_of(m, at) for at in one.children]
    lookups = [x for x in found if x is not None]
    if not lookups:
        return
    by = joint(m, lookups)
    if by is None or m.size(by) > FEWER * m.size(along(m, by)):
        return
    gone = {*by, *along(m, by)}
    others = [at for at, x in zip(one.children, found, strict=True) if x is None]
    if any(m.views.has(at, gone) for at in others):
        return
    kept = [dim for x in lookups for dim in graph.node(x.base).dims if dim not in by]
    if any(dim in gone for dim in kept):
        return
    children = dict(zip(one.children, found, strict=True))
    inputs = []
    for x in one.sample.inputs:
        at = graph.find(graph.of(x))
        place = children.get(at) or next(
            (f for c, f in children.items() if graph.find(c) == at), None
        )
        inputs.append(x if place is None else graph.node(place.base))
    yield indexed(m, make("elemwise", tuple(inputs), one.sample.attrs), by)


@rule(
    "look-ups together",
    "factors, or terms, that are looked up at the same places are combined before",
    "elemwise",
)  # fmt: skip
def together(m: Matching, one: ENode) -> Iterator[Node]:
    name = one.sample.attrs
    views, graph = m.views, m.graph
    dtype = one.sample.dtype
    if name in ("multiply", "divide"):
        product = views.product(one.owner)
        if len(product.powers) < 3:
            return
        for by, chosen in _groups(m, product.factors):
            own = tuple(p for p in product.powers if p[0] in chosen)
            bases = tuple((chosen[at].base, power) for at, power in own)
            inside = views.made(Product(1.0, bases), dtype)
            new = graph.add(indexed(m, inside, by))
            rest = tuple(p for p in product.powers if p[0] not in chosen)
            yield views.made(Product(product.number, (*rest, (new, 1))), dtype)
    elif name in ("add", "subtract"):
        terms = views.terms(one.owner)
        if len(terms) < 3:
            return
        nodes = {graph.add(views.made(term, dtype)): 1 for term in terms}
        for by, chosen in _groups(m, list(nodes)):
            based = [(1.0, graph.node(chosen[at].base)) for at in chosen]
            looked_up = indexed(m, views.total(based, dtype), by)
            others = [(1.0, graph.node(at)) for at in nodes if at not in chosen]
            if len(nodes) == len(terms):
                yield views.total([*others, (1.0, looked_up)], dtype)


def _groups(
    m: Matching, classes: Sequence[int]
) -> Iterator[tuple[dict[Dim, int], dict[int, Lookup]]]:
    """Look-ups along the same dims whose groups together are few."""
    found = {at: lookup_of(m, at) for at in classes}
    by_dims: dict[Dims, dict[int, Lookup]] = {}
    for at, x in found.items():
        if x is not None:
            by_dims.setdefault(along(m, x.by), {})[at] = x
    for dims, chosen in by_dims.items():
        if len(chosen) >= 2:
            by = joint(m, chosen.values())
            if by is not None and m.size(by) <= FEWER * m.size(dims):
                yield by, chosen


@rule(
    "only what is looked up",
    "of an operation the elements that are read are computed, where there are fewer of them",
    "index",
)  # fmt: skip
def push(m: Matching, one: ENode) -> Iterator[Node]:
    if not one.children:
        return
    graph = m.graph
    items = one.sample.attrs.items
    if any(item.kind == "mask" for item in items):
        return
    base, *indexers = (graph.node(at) for at in one.children)
    for member in list(graph.nodes(one.children[0])):
        sample = member.sample
        if sample.kind == "elemwise" and m.size(one.sample.dims) < m.size(base.dims):
            yield make(
                "elemwise", tuple(_read(x, items, indexers) for x in sample.inputs), sample.attrs
            )
        if sample.kind == "index" and member.children:
            node = _composed(m, member, items, indexers)
            if node is not None:
                yield node


def _read(x: Node, items: Sequence[IndexItem], indexers: Sequence[Node]) -> Node:
    """Part of a selection: along the dims that a node has."""
    own, given = [], []
    for item in items:
        if item.dim in x.dims:
            if item.kind == "tensor":
                given.append(indexers[item.payload])
                item = item._replace(payload=len(given) - 1)
            own.append(item)
    return make("index", (x, *given), IndexAttrs(tuple(own))) if own else x


def _composed(
    m: Matching, inner: ENode, items: Sequence[IndexItem], indexers: Sequence[Node]
) -> Node | None:
    """Merge a look-up in a look-up."""
    graph = m.graph
    before = inner.sample.attrs.items
    if not all(item.kind == "tensor" for item in (*items, *before)):
        return None
    source, *positions = (graph.node(at) for at in inner.children)
    placed = {dim for x in positions for dim in x.dims}
    kept = without(source.dims, [item.dim for item in before])
    if any((item.dim in placed) == (item.dim in kept) for item in items):
        return None
    if any(item.dim in kept for item in items):
        return None
    by = {item.dim: graph.add(_read(positions[item.payload], items, indexers)) for item in before}
    return indexed(m, source, by)


@rule(
    "sums by group",
    "what is looked up is the same for all elements of a group, which are summed before",
    "reduce", "dot",
)  # fmt: skip
def by_group(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    views = m.views
    looked = {at: lookup_of(m, at) for at in product.factors}
    lookups = {at: x for at, x in looked.items() if x is not None}
    keys = dict.fromkeys(along(m, x.by) for x in lookups.values())
    for places in keys:
        if not all(dim in dims for dim in places):
            continue
        chosen = {at: x for at, x in lookups.items() if along(m, x.by) == places}
        by = joint(m, chosen.values())
        if by is None or m.size(by) > FEWER * m.size(places):
            continue
        rest = tuple(p for p in product.powers if p[0] not in chosen)
        if any(views.has(at, by) for at, _ in rest) or any(d in one.sample.dims for d in by):
            continue
        yield _summed_by_group(m, one, (dims, product), chosen, by)


def _summed_by_group(
    m: Matching,
    one: ENode,
    found: tuple[Dims, Product],
    chosen: Mapping[int, Lookup],
    by: Mapping[Dim, int],
) -> Node:
    dims, product = found
    views, graph = m.views, m.graph
    dtype = one.sample.dtype
    places = along(m, by)
    bases = tuple((chosen[at].base, p) for at, p in product.powers if at in chosen)
    rest = [p for p in product.powers if p[0] not in chosen]
    inner = tuple(p for p in rest if views.has(p[0], places))
    outer = tuple(p for p in rest if not views.has(p[0], places))
    left = without(dims, places)
    beside = {d for at, _ in (*bases, *outer) for d in graph.node(at).dims}
    own = views.dims(Product(1.0, inner))
    early = tuple(dim for dim in left if dim in own and dim not in beside)
    later = tuple(dim for dim in left if dim not in early and (dim in own or dim in beside))
    lost = without(left, (*early, *later))
    counts = scatter(m, over(constant(1.0, dtype), places), by)
    if inner:
        value = sum_of(m, Product(1.0, inner), early, dtype)
        total = scatter(m, over(value, places), by)
    else:
        total = counts
    each = views.made(Product(1.0, (*bases, (graph.add(total), 1))), dtype)
    # an element that is never looked up adds nothing, even if it is infinite
    there = elemwise("greater", counts, constant(0.0, dtype))
    each = elemwise("where", there, each, constant(0.0, dtype))
    powers = (*outer, (graph.add(each), 1))
    groups = tuple(dim for dim in by if dim in each.dims)
    node = sum_of(m, Product(product.number, powers), (*groups, *later), dtype)
    return views.chain("multiply", [node, *(length_of(dim, dtype) for dim in lost)])


def scatter(m: Matching, value: Node, by: Mapping[Dim, int]) -> Node:
    """Sum by group."""
    places = along(m, by)
    target = sort_dims((*without(value.dims, places), *by))
    fixed = all(map(m.graph.is_fixed, (m.graph.add(value), *by.values())))
    zeros = _zeros(target, value.dtype, fixed)
    dims = sorted(by, key=lambda dim: dim._sort_key)
    items = tuple(IndexItem(dim, "tensor", at) for at, dim in enumerate(dims))
    indexers = tuple(m.graph.node(by[dim]) for dim in dims)
    return make("update", (zeros, value, *indexers), UpdateAttrs("inc", items))


def _zeros(dims: Dims, dtype: str, fixed: bool) -> Node:
    """Zeros; as data where sums of data are to follow from data alone, lengths included."""
    shape = [dim.length for dim in dims if dim.length is not None]
    if fixed and len(shape) == len(dims):
        return make("data", (), DataAttrs(None, dims, np.zeros(shape, dtype)))
    return over(constant(0.0, dtype), dims)
