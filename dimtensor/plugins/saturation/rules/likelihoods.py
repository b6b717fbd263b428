"""Sums by group of what likelihoods of counts are made of: logarithms times counts, and choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dimtensor.dims import Dim, Dims, sort_dims, without
from dimtensor.graph.node import Node
from dimtensor.plugins.saturation.egraph import ENode
from dimtensor.plugins.saturation.rules.lookups import FEWER, along, indexed_by, scatter
from dimtensor.plugins.saturation.rules.rule import Matching, rule
from dimtensor.plugins.saturation.rules.sums import sum_of
from dimtensor.plugins.saturation.views import Product, as_dtype, constant, elemwise, over

_LOGARITHMS = frozenset({"xlogy", "xlog1py"})


class _Summed(NamedTuple):
    """A sum over dims of one factor times others, some of which lack all of the dims."""

    dims: Dims
    number: float
    inner: tuple[tuple[int, int], ...]
    outer: tuple[tuple[int, int], ...]


def _apart(m: Matching, dims: Dims, product: Product, at: int) -> _Summed:
    rest = [p for p in product.powers if p != (at, 1)]
    inner = tuple(p for p in rest if m.views.has(p[0], dims))
    return _Summed(dims, product.number, inner, tuple(p for p in rest if p not in inner))


def _is_group(m: Matching, dims: Dims, by: Mapping[Dim, int], result: Dims) -> bool:
    """Return whether a looked-up factor can be summed by group."""
    places = along(m, by)
    if any(dim not in dims for dim in places) or any(dim in result for dim in by):
        return False
    return not by or m.size(by) <= FEWER * m.size(places)


class _Groups:
    """Sums by group, or over everything where nothing is looked up."""

    def __init__(self, m: Matching, found: _Summed, by: Mapping[Dim, int], dtype: str):
        self._m = m
        self._found = found
        self._by = by
        self._dtype = dtype

    def total(self, x: Node) -> Node:
        """Sum a node over all dims, for each group."""
        m = self._m
        x = over(x, self._found.dims)
        places = along(m, self._by)
        left = without(self._found.dims, places)
        x = sum_of(m, Product(1.0, ((m.graph.add(x), 1),)), left, self._dtype) if left else x
        return scatter(m, x, self._by) if places else x

    def weighted(self, x: Node) -> Node:
        """Something times the other factors that have one of the dims."""
        m = self._m
        if not self._found.inner:
            return x
        return m.views.chain(
            "multiply", [x, m.views.made(Product(1.0, self._found.inner), self._dtype)]
        )

    def node(self, each: Node) -> Node:
        """Sum over all groups, times the factors without the dims."""
        m, found = self._m, self._found
        powers = (*found.outer, (m.graph.add(each), 1))
        groups = sort_dims(dim for dim in self._by if dim in each.dims)
        return sum_of(m, Product(found.number, powers), groups, self._dtype)

    def where_some(self, counts: Node, x: Node) -> Node:
        """Zero for groups without elements, be it infinite."""
        some = elemwise("greater", counts, constant(0.0, self._dtype))
        return elemwise("where", some, x, constant(0.0, self._dtype))


@rule(
    "logarithms by group",
    "counts are multiplied by the same logarithm in a group, so that they are summed before",
    "reduce", "dot",
)  # fmt: skip
def logarithms(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    dtype = one.sample.dtype
    for at, power in product.powers:
        member = m.views.member(at, _LOGARITHMS) if power == 1 else None
        if member is None or not m.views.has(at, dims):
            continue
        summed = _apart(m, dims, product, at)
        times, of = (m.graph.find(m.graph.of(x)) for x in member.sample.inputs)
        place = indexed_by(m, of, dims)
        if place is None or not m.graph.is_fixed(times):
            continue
        base, by = place
        beside = [times, *(c for c, _ in summed.inner)]
        if not _is_group(m, dims, by, one.sample.dims) or any(m.views.has(c, by) for c in beside):
            continue
        if m.graph.node(base).dtype != dtype:
            continue
        groups = _Groups(m, summed, by, dtype)
        counts = groups.total(groups.weighted(as_dtype(m.graph.node(times), dtype)))
        each = elemwise(member.sample.attrs, counts, m.graph.node(base))
        if by:
            each = groups.where_some(groups.total(constant(1.0, dtype)), each)
        yield groups.node(each)


@rule(
    "choices by group",
    "what data choose between is the same in a group, so that choices are counted",
    "reduce", "dot",
)  # fmt: skip
def choices(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    dtype = one.sample.dtype
    for at, power in product.powers:
        member = m.views.member(at, frozenset({"where"})) if power == 1 else None
        if member is None or not m.views.has(at, dims) or m.graph.is_fixed(at):
            continue
        condition, *arms = (m.graph.find(m.graph.of(x)) for x in member.sample.inputs)
        if not m.graph.is_fixed(condition) or m.graph.node(condition).dtype != "bool":
            continue
        summed = _apart(m, dims, product, at)
        parts = []
        for arm, chosen in zip(arms, (True, False), strict=True):
            part = _arm(m, one, summed, condition, arm, chosen)
            if part is None:
                break
            parts.append((1.0, part))
        else:
            yield m.views.total(parts, dtype)


def _arm(
    m: Matching, one: ENode, summed: _Summed, condition: int, arm: int, chosen: bool
) -> Node | None:
    """Return the sum of one arm over the elements where it is chosen."""
    dtype = one.sample.dtype
    if m.views.number(arm) == 0.0:
        return constant(0.0, dtype)
    place = indexed_by(m, arm, summed.dims)
    if place is None:
        return None
    base, by = place
    beside = [condition, *(c for c, _ in summed.inner)]
    if not _is_group(m, summed.dims, by, one.sample.dims):
        return None
    if any(m.views.has(c, by) for c in beside) or m.graph.node(base).dtype != dtype:
        return None
    groups = _Groups(m, summed, by, dtype)
    there = m.graph.node(condition)
    there = there if chosen else elemwise("logical_not", there)
    ones, zero = constant(1.0, dtype), constant(0.0, dtype)
    counts = groups.total(as_dtype(there, dtype))
    weights = counts
    if summed.inner:
        weights = groups.total(elemwise("where", there, groups.weighted(ones), zero))
    each = m.views.chain("multiply", [m.graph.node(base), weights])
    return groups.node(groups.where_some(counts, each))
