"""Sufficient statistics of normal likelihoods: squares of residuals by group, without expanding.

Let the residuals of a group be ``r = y + theta_1 x_1 + ... + theta_k x_k``, where `y` and the
columns `x` are data and the coefficients are the same for the whole group. With columns ``b_j`` of
data that are orthogonal and span what the columns span, the sum of the squares of r is::

    sum(y_rest ** 2) + sum over j of  sum(b_j ** 2) * (projection of r on b_j) ** 2

where `y_rest` is what `y` has beside the b_j. All terms are positive, so nothing cancels that does
not cancel in r itself; ``sum(y**2) - 2 theta sum(x y) + theta**2 sum(x**2)``, which is the same in
exact arithmetic, loses all digits where y is far from zero. Projections are linear, so that of r
follows from those of `y` and of the columns, which are data. The b_j are those of Gram and Schmidt,
orthogonalized twice (Giraud, Langou and Rozloznik 2005). With the column of ones alone these are
means and sums of squares around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims, without
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.node import Node, make
from dimtensor.plugins.saturation.egraph import ENode
from dimtensor.plugins.saturation.rules.lookups import (
    FEWER,
    Lookup,
    along,
    indexed,
    joint,
    lookup_of,
    scatter,
)
from dimtensor.plugins.saturation.rules.rule import Matching, rule
from dimtensor.plugins.saturation.rules.sums import sum_of
from dimtensor.plugins.saturation.views import Product, constant, elemwise, over

_MOST_COLUMNS = 4
# an orthogonalized column below this fraction of its squared norm is zero
_NOTHING = 1e-24


class _Residual(NamedTuple):
    """A residual: data, and columns of data with their coefficients."""

    target: list[Product]
    columns: dict[tuple[tuple[int, int], ...], list[Product]]


class _Found(NamedTuple):
    dims: Dims
    by: dict[Dim, int]
    residual: _Residual
    number: float
    outer: tuple[tuple[int, int], ...]
    by_group: tuple[tuple[int, int], ...]
    weights: tuple[tuple[int, int], ...]


@rule(
    "squares by group",
    "squares of residuals are those of means and of what is left, which follow from data",
    "reduce", "dot",
)  # fmt: skip
def squares(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    for at, power in product.powers:
        if power == 2 and not m.graph.is_fixed(at):
            own = m.graph.node(at).dims
            if all(dim in own for dim in dims):
                matched = _match(m, dims, product, at)
                if matched is not None:
                    yield _Statistics(m, matched, one.sample.dtype).node()


def _match(m: Matching, dims: Dims, product: Product, at: int) -> _Found | None:
    terms = m.views.terms(at)
    rest = Product(product.number, tuple(p for p in product.powers if p[0] != at))
    lookups: dict[int, Lookup] = _looked_up(m, (*terms, rest))
    target: list[Product] = []
    columns: dict[tuple[tuple[int, int], ...], list[Product]] = {}
    for term in terms:
        parts = _split(m, term, dims, lookups)
        if parts is None:
            return None
        data, parameters = parts
        if parameters:
            columns.setdefault(data, []).append(Product(term.number, parameters))
        else:
            target.append(term)
    if not 1 <= len(columns) <= _MOST_COLUMNS:
        return None
    parts = _split(m, rest, dims, lookups)
    if parts is None or any(power % 2 for _, power in parts[0]):
        return None
    by = joint(m, lookups.values())
    if by is None or not all(map(m.graph.is_fixed, by.values())):
        return None
    places = along(m, by)
    if any(dim not in dims for dim in places):
        return None
    if by and m.size(by) > FEWER * m.size(places):
        return None
    outer = tuple(p for p in parts[1] if p[0] not in lookups)
    group = tuple((lookups[c].base, p) for c, p in parts[1] if c in lookups)
    based = {data: [_at_bases(each, lookups) for each in many] for data, many in columns.items()}
    gone = {*by}
    if any(m.views.has(c, gone) for c, _ in outer):
        return None
    return _Found(
        dims, by, _Residual(target, based), product.number, outer, group, parts[0]
    )  # fmt: skip


def _looked_up(m: Matching, products: Iterable[Product]) -> dict[int, Lookup]:
    """Return the factors that are look-ups; data only at the positions of other look-ups."""
    found = {at: lookup_of(m, at) for product in products for at in product.factors}
    lookups = {at: x for at, x in found.items() if x is not None}
    places = {key for at, x in lookups.items() if not m.graph.is_fixed(at) for key in x.by.items()}
    return {at: x for at, x in lookups.items() if places.issuperset(x.by.items())}


def _split(
    m: Matching, product: Product, dims: Dims, lookups: Mapping[int, Lookup]
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] | None:
    """Factors of data along the dims, and the others, which lack them or are looked up."""
    data, others = [], []
    for at, power in product.powers:
        if at in lookups or not m.views.has(at, dims):
            others.append((at, power))
        elif m.graph.is_fixed(at):
            data.append((at, power))
        else:
            return None
    return tuple(data), tuple(others)


def _at_bases(product: Product, lookups: Mapping[int, Lookup]) -> Product:
    powers = tuple((lookups[c].base if c in lookups else c, p) for c, p in product.powers)
    return Product(product.number, powers)


class _Statistics:
    """Makes the nodes."""

    def __init__(self, m: Matching, found: _Found, dtype: str):
        self._m = m
        self._found = found
        self._dtype = dtype
        self._weight = self._made(Product(1.0, found.weights)) if found.weights else None

    def node(self) -> Node:
        m, found = self._m, self._found
        columns = [over(self._made(Product(1.0, data)), found.dims)
                   for data in found.residual.columns]  # fmt: skip
        coefficients = [
            m.views.total([(1.0, self._made(each)) for each in many], self._dtype)
            for many in found.residual.columns.values()
        ]
        basis: list[tuple[Node, Node]] = []
        for column in columns:
            rest, _ = self._rest(column, basis, twice=True)
            size = self._sum(elemwise("square", rest))
            least = elemwise("multiply", self._number(_NOTHING), self._sum(_square(column)))
            some = elemwise("greater", size, least)
            basis.append((rest, elemwise("where", some, size, self._number(0.0))))
        along_basis = [self._rest(column, basis)[1] for column in columns]
        parts: list[tuple[float, Node]] = []
        at_target: Sequence[Node | None] = [None] * len(basis)
        if found.residual.target:
            made = [(1.0, self._made(term)) for term in found.residual.target]
            target = over(m.views.total(made, self._dtype), found.dims)
            rest, at_target = self._rest(target, basis)
            parts.append((1.0, self._sum(_square(rest))))
        for k, (_, size) in enumerate(basis):
            terms = [(1.0, elemwise("multiply", coefficients[j], along_basis[j][k]))
                     for j in range(k, len(columns))]  # fmt: skip
            shift = at_target[k]
            if shift is not None:
                terms.append((1.0, shift))
            square = elemwise("multiply", size, _square(m.views.total(terms, self._dtype)))
            some = elemwise("greater", size, self._number(0.0))
            parts.append((1.0, elemwise("where", some, square, self._number(0.0))))
        each = m.views.total(parts, self._dtype)
        if found.by_group:
            ones = self._sum(over(self._number(1.0), found.dims), weighted=False)
            weighted = elemwise("multiply", self._made(Product(1.0, found.by_group)), each)
            some = elemwise("greater", ones, self._number(0.0))
            each = elemwise("where", some, weighted, self._number(0.0))
        powers = (*found.outer, (m.graph.add(each), 1))
        groups = tuple(dim for dim in found.by if dim in each.dims)
        return sum_of(m, Product(found.number, powers), groups, self._dtype)

    def _rest(
        self, x: Node, basis: Sequence[tuple[Node, Node]], twice: bool = False
    ) -> tuple[Node, list[Node]]:
        """Return the component of a column orthogonal to a basis, and its coefficients."""
        coefficients: list[Node] = []
        for _ in range(1 + twice):
            coefficients = []
            for column, size in basis:
                some = elemwise("greater", size, self._number(0.0))
                total = self._sum(elemwise("multiply", x, column))
                divisor = elemwise("where", some, size, self._number(1.0))
                value = elemwise("where", some, elemwise("divide", total, divisor),
                                 self._number(0.0))  # fmt: skip
                coefficients.append(value)
                x = elemwise("subtract", x, elemwise("multiply", self._back(value), column))
        return x, coefficients

    def _sum(self, x: Node, weighted: bool = True) -> Node:
        """Sum for each group."""
        if self._weight is not None and weighted:
            x = elemwise("multiply", x, self._weight)
        places = along(self._m, self._found.by)
        others = without(self._found.dims, places)
        if others:
            x = make("reduce", (x,), ReduceAttrs("sum", others))
        return scatter(self._m, x, self._found.by) if places else x

    def _back(self, x: Node) -> Node:
        return indexed(self._m, x, self._found.by)

    def _made(self, product: Product) -> Node:
        return self._m.views.made(product, self._dtype)

    def _number(self, value: float) -> Node:
        return constant(value, self._dtype)


def _square(x: Node) -> Node:
    return elemwise("square", x)
