"""Rules of sums of products: what leaves a sum, the order of contractions, terms, squares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

from dimtensor.dims import Dim, Dims, RenamedDim, mask_keys, sort_dims, without
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.node import Node, make
from dimtensor.graph.rebuilding.substitute import relabel_node
from dimtensor.plugins.saturation.egraph import ENode
from dimtensor.plugins.saturation.rules.rule import Matching, rule
from dimtensor.plugins.saturation.views import (
    MOST_TERMS,
    Product,
    as_dtype,
)

# sums over more dims are not taken apart dim by dim
_MOST_DIMS = 5
_MOST_FACTORS = 6


def sum_of(m: Matching, product: Product, dims: Iterable[Dim], dtype: str) -> Node:
    """Sum a product, with the factors that lack all dims multiplied afterwards."""
    views = m.views
    own = views.dims(product)
    dims = tuple(dims)
    inside = tuple(dim for dim in dims if dim in own)
    number = product.number
    outer = tuple((at, p) for at, p in product.powers if not views.has(at, inside))
    inner = tuple((at, p) for at, p in product.powers if views.has(at, inside))
    parts: list[Node] = [length_of(dim, dtype) for dim in dims if dim not in own]
    if inner:
        parts.append(contracted(m, Product(1.0, inner), sort_dims(inside), dtype))
    if outer or number != 1.0 or not parts:
        parts.append(views.made(Product(number, outer), dtype))
    return views.chain("multiply", parts)


def length_of(dim: Dim, dtype: str) -> Node:
    """Return the length of a dim as a float."""
    return as_dtype(make("length", (), dim), dtype)


def contracted(m: Matching, product: Product, dims: Dims, dtype: str) -> Node:
    """Sum a product, as a matrix product where possible."""
    views, graph = m.views, m.graph
    if all(power == 1 for _, power in product.powers) and product.number == 1.0:
        nodes = [as_dtype(graph.node(at), dtype) for at in product.factors]
        groups: dict[frozenset[Dim], list[Node]] = {}
        for x in nodes:
            groups.setdefault(frozenset(x.dims), []).append(x)
        joined = views.ordered(views.chain("multiply", group) for group in groups.values())
        if len(joined) == 2:
            one, other = (set(x.dims) for x in joined)
            shared = one & other & set(dims)
            free = (one - other - set(dims), other - one - set(dims))
            if shared == set(dims) and all(free):
                return make("dot", tuple(joined), dims)
    return make("reduce", (views.made(product, dtype),), ReduceAttrs("sum", dims))


@rule(
    "factors before the sum",
    "a factor that lacks the dim is the same in all terms",
    "reduce", "dot",
)  # fmt: skip
def pull_out(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    own = m.views.dims(product)
    free = [at for at in product.factors if not m.views.has(at, dims)]
    if (free or product.number != 1.0 or any(dim not in own for dim in dims)) and (
        len(free) < len(product.powers)
    ):
        yield sum_of(m, product, dims, one.sample.dtype)


@rule(
    "order of contraction",
    "of the factors of a sum over several dims those with one of them are summed first",
    "reduce", "dot",
)  # fmt: skip
def reorder(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    views = m.views
    dtype = one.sample.dtype
    if not 2 <= len(dims) <= _MOST_DIMS or not 2 <= len(product.powers) <= _MOST_FACTORS:
        return
    for dim in dims:
        have = tuple((at, p) for at, p in product.powers if views.has(at, (dim,)))
        lack = tuple((at, p) for at, p in product.powers if not views.has(at, (dim,)))
        if not have or not lack:
            continue
        alone = tuple(
            d for d in dims if views.has(have[0][0], (d,)) and not any(
                views.has(at, (d,)) for at, _ in lack
            )
        ) if len(have) == 1 else ()  # fmt: skip
        first = sort_dims({dim, *alone})
        inner = m.graph.add(sum_of(m, Product(1.0, have), first, dtype))
        rest = Product(product.number, lack).times(views.product(inner))
        yield sum_of(m, rest, without(dims, first), dtype)


@rule(
    "one sum of sums",
    "a sum of a product with a sum in it is one over the dims of both",
    "reduce", "dot",
)  # fmt: skip
def merge(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    if len(dims) > _MOST_DIMS:
        return
    for at, power in product.powers:
        if power not in (1, 2):
            continue
        inner = _inner_sum(m, at)
        if inner is None:
            continue
        below, parts = inner
        if len(parts.powers) + len(product.powers) > _MOST_FACTORS:
            continue
        rest = Product(product.number, tuple(p for p in product.powers if p[0] != at))
        taken = {d._namespace for d in (*m.views.dims(rest), *dims, *one.sample.dims)}
        together = list(dims)
        for _ in range(power):
            new, pairs = _renamed(below, taken)
            if new is None:
                break
            together += new
            taken |= {d._namespace for d in new}
            rest = rest.times(_relabeled(m, parts, pairs))
        else:
            if len(together) <= _MOST_DIMS:
                yield sum_of(m, rest, together, one.sample.dtype)


def _inner_sum(m: Matching, at: int) -> tuple[Dims, Product] | None:
    for member in m.graph.nodes(at):
        if member.sample.kind in ("reduce", "dot"):
            found = m.summed(member)
            if found is not None and len(found[1].powers) > 1:
                return found
    return None


def _renamed(
    dims: Dims, taken: Set[object]
) -> tuple[list[Dim] | None, tuple[tuple[Dim, Dim], ...]]:
    """Dims under names that are not taken."""
    new: list[Dim] = []
    for dim in dims:
        changed = dim
        while changed._namespace in taken or changed in new:
            if changed.name is None or any(True for _ in mask_keys(dim)):
                return None, ()
            changed = RenamedDim(dim, changed.name + "'")
        new.append(changed)
    pairs = tuple((a, b) for a, b in zip(dims, new, strict=True) if a is not b)
    return new, pairs


def _relabeled(m: Matching, product: Product, pairs: Sequence[tuple[Dim, Dim]]) -> Product:
    if not pairs:
        return product
    found = Product(product.number, ())
    for at, power in product.powers:
        node = m.graph.node(at)
        new = relabel_node(node, *((a, b) for a, b in pairs if a in node.dims))
        found = found.times(Product(1.0, ((m.graph.add(new), power),)))
    return found


def is_linear(m: Matching, product: Product, dims: Dims) -> bool:
    """Return whether a term is a multiple of a single input, so that terms may cancel."""
    inner = [(at, p) for at, p in product.powers if m.views.has(at, dims)]
    if len(inner) != 1 or inner[0][1] != 1:
        return False
    kinds = {"input", "data", "index", "relabel", "shaped", "bound", "cast", "expand"}
    return m.graph.node(inner[0][0]).kind in kinds


def _apart(m: Matching, one: ENode, terms: Sequence[Product], dims: Dims) -> Node:
    dtype = one.sample.dtype
    sums = [(1.0, sum_of(m, term, dims, dtype)) for term in terms]
    return m.views.total(sums, dtype)


def _terms(m: Matching, one: ENode) -> tuple[Dims, list[Product]] | None:
    sample = one.sample
    if sample.kind != "reduce" or m.summed(one) is None:
        return None
    terms = m.views.terms(m.graph.of(sample.inputs[0]))
    return (sample.attrs.dims, terms) if len(terms) > 1 else None


@rule(
    "terms summed apart",
    "a sum of terms that are computed is the sum of their sums",
    "reduce",
)  # fmt: skip
def apart(m: Matching, one: ENode) -> Iterator[Node]:
    found = _terms(m, one)
    if found is None:
        return
    dims, terms = found
    if not any(is_linear(m, term, dims) for term in terms if m.views.dims(term) & set(dims)):
        yield _apart(m, one, terms, dims)


@rule(
    "terms that cancel summed apart",
    "a sum of differences is the difference of sums, which can be much larger than it",
    "reduce",
    exact=False,
)  # fmt: skip
def canceling(m: Matching, one: ENode) -> Iterator[Node]:
    found = _terms(m, one)
    if found is None:
        return
    dims, terms = found
    if any(is_linear(m, term, dims) for term in terms):
        yield _apart(m, one, terms, dims)


@rule(
    "multiplied out",
    "a product with a sum, or its square, is a sum of products; they can cancel",
    "reduce", "dot",
    exact=False,
)  # fmt: skip
def expand(m: Matching, one: ENode) -> Iterator[Node]:
    found = m.summed(one)
    if found is None:
        return
    dims, product = found
    for at, power in product.powers:
        if power not in (1, 2):
            continue
        terms = m.views.terms(at)
        if not 2 <= len(terms) <= (MOST_TERMS if power == 1 else 5):
            continue
        rest = Product(product.number, tuple(p for p in product.powers if p != (at, power)))
        if power == 1 and not rest.powers:
            continue
        products = terms if power == 1 else squared(terms)
        many = [rest.times(term) for term in products]
        yield _apart(m, one, many, dims)


def squared(terms: Sequence[Product]) -> list[Product]:
    """Return the terms of the square of a sum."""
    found = []
    for at, one in enumerate(terms):
        found.append(one.times(one))
        for other in terms[:at]:
            both = one.times(other)
            found.append(both._replace(number=2 * both.number))
    return found


@rule(
    "a common factor",
    "of a sum of products a factor that all have is multiplied once",
    "elemwise",
)  # fmt: skip
def factor(m: Matching, one: ENode) -> Iterator[Node]:
    if one.sample.attrs not in ("add", "subtract"):
        return
    terms = m.views.terms(one.owner)
    if not 2 <= len(terms) <= 8:
        return
    first = dict(terms[0].powers)
    common = [
        (at, p) for at, p in first.items() if p == 1 and all((at, 1) in t.powers for t in terms[1:])
    ]
    if not common or any(not t.powers for t in terms):
        return
    dtype = one.sample.dtype
    rests = [t._replace(powers=tuple(p for p in t.powers if p not in common)) for t in terms]
    inner = m.views.total([(1.0, m.views.made(rest, dtype)) for rest in rests], dtype)
    yield m.views.made(Product(1.0, (*common, (m.graph.add(inner), 1))), dtype)


@rule(
    "small factors first",
    "a product is taken in the order in which it stays small longest",
    "elemwise",
)  # fmt: skip
def small_first(m: Matching, one: ENode) -> Iterator[Node]:
    if one.sample.attrs not in ("multiply", "divide"):
        return
    product = m.views.product(one.owner)
    if len(product.powers) + (product.number != 1.0) < 3:
        return
    if len({m.graph.node(at).dims for at in product.factors}) > 1:
        yield m.views.made(product, one.sample.dtype)
