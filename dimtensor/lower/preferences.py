"""What the operations of a graph ask of the order of axes, and what it costs not to have it.

A preference looks at the order of a few dims and gives the cost of that order. Costs are integers:
tenths of the time that an element of a loop takes, times a number of elements. Only ratios of costs
matter, so lengths enter as ranks: dims of the same length are of one rank, and each rank counts for
eight times as many elements as the one below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims, ProductDim, SelDim, without
from dimtensor.graph import Node
from dimtensor.graph.infer import jacobian_dims, mask_dim

# each measured as what is lost by the wrong order, see docs/design/layout.md
_SHORT_INNERMOST = 6
_SUMMED_INNERMOST = 5
_EXTREME_INNERMOST = 60
_ROW_OUTSIDE = 15
_REREAD = 1
_RUNNING_INNERMOST = 8
_COPY = 10
_TRANSPOSED_READ = 5

Cost = Callable[[Dims], int]


class Preference(NamedTuple):
    """The cost of the order of some dims."""

    dims: Dims
    cost: Cost


def preferences(nodes: Sequence[Node], ranks: Mapping[Dim, int]) -> list[Preference]:
    """What all nodes of a graph ask for.

    Parameters
    ----------
    nodes : sequence of Node
        In topological order.
    ranks : mapping of Dim to int
        Ranks of the lengths of all dims.
    """
    found: dict[tuple, Preference] = {}
    walked: dict[Dims, None] = {}
    for node in nodes:
        if len(node.dims) > 1:
            walked[node.dims] = None
        rule = _RULES.get(node.kind)
        if rule is not None:
            for key, preference in rule(node, ranks):
                # a loop that computes several results walks its operands once
                found.setdefault(key, preference)
    for dims in walked:
        preference = _long_innermost(dims, ranks)
        if preference is not None:
            found["long", dims] = preference
    return list(found.values())


def elements(dims: Iterable[Dim], ranks: Mapping[Dim, int]) -> int:
    """About how many elements a tensor has."""
    exponent = sum(ranks[dim] + 1 for dim in dims)
    return 1 << min(3 * exponent, 400)


Found = Iterable[tuple[tuple, Preference]]


def _long_innermost(dims: Dims, ranks: Mapping[Dim, int]) -> Preference | None:
    longest = max(ranks[dim] for dim in dims)
    size = elements(dims, ranks)
    # the shorter, the worse, but not by much
    cost = {d: (_SHORT_INNERMOST + min(longest - ranks[d], 3)) * size for d in dims}
    cost = {dim: c for dim, c in cost.items() if ranks[dim] < longest}
    return Preference(dims, lambda order: cost.get(order[-1], 0)) if cost else None


def _not_innermost(
    dims: Dims, bad: Iterable[Dim], weight: int, ranks: Mapping[Dim, int]
) -> Preference:
    unwanted = frozenset(bad)
    cost = weight * elements(dims, ranks)
    return Preference(dims, lambda order: cost if order[-1] in unwanted else 0)


def _before(outer: Dim, inner: Dim, cost: int) -> Preference:
    return Preference((outer, inner), lambda order: cost if order[0] is inner else 0)


def _last(dims: Dims, core: Dims, cost: int) -> Preference:
    """Some dims are the last ones, in this order."""
    n = len(core)
    return Preference(dims, lambda order: 0 if order[len(order) - n :] == core else cost)


def _broadcast(whole: Dims, part: Dims, ranks: Mapping[Dim, int]) -> Found:
    """Dims that a smaller operand or result lacks are inside of its own, so that it is read once.

    Vectors are left out: they stay in the cache.
    """
    if not 2 <= len(part) < len(whole):
        return
    cost = _REREAD * elements(whole, ranks)
    for inner in without(whole, part):
        for outer in part:
            yield ("broadcast", part, outer, inner), _before(outer, inner, cost)


def _elemwise(node: Node, ranks: Mapping[Dim, int]) -> Found:
    if len(node.dims) > 2:
        for x in node.inputs:
            yield from _broadcast(node.dims, x.dims, ranks)


def _reduce(node: Node, ranks: Mapping[Dim, int]) -> Found:
    name, reduced = node.attrs
    dims = node.inputs[0].dims
    if reduced and len(reduced) < len(dims):
        extreme = name in ("max", "min", "supremum")
        weight = _EXTREME_INNERMOST if extreme else _SUMMED_INNERMOST
        yield ("reduce", dims, reduced, extreme), _not_innermost(dims, reduced, weight, ranks)
        yield from _broadcast(dims, node.dims, ranks)


def _cumulate(node: Node, ranks: Mapping[Dim, int]) -> Found:
    dims, along = node.dims, node.attrs[1]
    if len(dims) > 1:
        yield ("run", dims, along), _not_innermost(dims, (along,), _RUNNING_INNERMOST, ranks)


def _arg_reduce(node: Node, ranks: Mapping[Dim, int]) -> Found:
    dims = node.inputs[0].dims
    if len(dims) > 1:
        yield ("core", node), _last(dims, (node.attrs[1],), _COPY * elements(dims, ranks))


def _sort(node: Node, ranks: Mapping[Dim, int]) -> Found:
    dim, positions = node.attrs
    return _same_order(node, node.inputs[0].dims, node.dims, {dim: positions}, ranks)


def _relabel(node: Node, ranks: Mapping[Dim, int]) -> Found:
    return _same_order(node, node.inputs[0].dims, node.dims, dict(node.attrs), ranks)


def _same_order(
    node: Node, dims: Dims, others: Dims, mapping: Mapping[Dim, Dim], ranks: Mapping[Dim, int]
) -> Found:
    """Two sets of dims, one made of the other, are in the same order."""
    if len(dims) < 2 or not mapping:
        return
    one, two = frozenset(dims), frozenset(others)
    cost = _TRANSPOSED_READ * elements(dims, ranks)

    def differs(order: Dims) -> int:
        before = [mapping.get(dim, dim) for dim in order if dim in one]
        return 0 if before == [dim for dim in order if dim in two] else cost

    yield ("same", node), Preference(tuple(dict.fromkeys((*dims, *others))), differs)


def _index(node: Node, ranks: Mapping[Dim, int]) -> Found:
    source, *indexers = node.inputs
    kinds = {item.kind for item in node.attrs}
    if kinds <= {"select", "mask"}:
        taken = {
            item.dim: SelDim.of(item.dim, item.payload)
            if item.kind == "select"
            else mask_dim(item.dim, indexers[item.payload])
            for item in node.attrs
        }
        return _same_order(node, source.dims, node.dims, taken, ranks)
    return _selection(node, source.dims, node.dims, node.attrs, indexers, ranks)


def _update(node: Node, ranks: Mapping[Dim, int]) -> Found:
    source, value, *indexers = node.inputs
    items = node.attrs[1]
    return _selection(node, source.dims, value.dims, items, indexers, ranks)


def _selection(
    node: Node,
    source: Dims,
    selected: Dims,
    items: Sequence,
    indexers: Sequence[Node],
    ranks: Mapping[Dim, int],
) -> Found:
    """Gathered rows lie in memory one by one: what is not looked up is inside of what is."""
    gathered = tuple(item.dim for item in items if item.kind == "tensor")
    if not gathered:
        return
    own = {dim for item in items if item.kind == "tensor" for dim in indexers[item.payload].dims}
    rest = [dim for dim in source if dim not in gathered and dim not in own]
    cost = _ROW_OUTSIDE * elements({*selected, *rest, *own}, ranks)
    for inner in rest:
        for outer in (*gathered, *own):
            yield ("gather", source, gathered, outer, inner), _before(outer, inner, cost)


def _merge(node: Node, ranks: Mapping[Dim, int]) -> Found:
    return _product(node, node.inputs[0].dims, node.dims, node.attrs, ranks)


def _split(node: Node, ranks: Mapping[Dim, int]) -> Found:
    return _product(node, node.dims, node.inputs[0].dims, node.attrs, ranks)


def _product(
    node: Node, apart: Dims, together: Dims, product: ProductDim, ranks: Mapping[Dim, int]
) -> Found:
    """Factors are beside each other, in the order of the product, where the product is."""
    factors = frozenset(product.factors)
    cost = _COPY * elements(apart, ranks)
    joint = tuple(dict.fromkeys((*apart, *together)))
    one, two = frozenset(apart), frozenset(together)

    def differs(order: Dims) -> int:
        spread: list[Dim] = []
        for dim in order:
            if dim in two:
                spread += product.factors if dim is product else [dim]
        return 0 if spread == [dim for dim in order if dim in one] else cost

    assert factors <= one
    yield ("product", node), Preference(joint, differs)


def _dot(node: Node, ranks: Mapping[Dim, int]) -> Found:
    if len(node.inputs) != 2:
        return
    x, y = (i.dims for i in node.inputs)
    summed = tuple(dim for dim in node.attrs if dim in x and dim in y)
    batch = tuple(dim for dim in x if dim in y and dim not in summed)
    left = tuple(dim for dim in without(x, (*summed, *batch)) if dim not in node.attrs)
    right = tuple(dim for dim in without(y, (*summed, *batch)) if dim not in node.attrs)
    if not (summed and left and right):
        joint = tuple(dict.fromkeys((*x, *y)))
        if node.attrs and len(node.attrs) < len(joint):
            yield ("dot", node), _not_innermost(joint, node.attrs, _SUMMED_INNERMOST, ranks)
        return
    operands = {
        "left": (batch, left, summed),
        "right": (batch, summed, right),
        "result": (batch, left, right),
    }
    for role, groups in operands.items():
        if batch or any(len(group) > 1 for group in groups):
            yield ("dot", role, node), _in_blocks(groups, ranks)


def _in_blocks(groups: tuple[Dims, Dims, Dims], ranks: Mapping[Dim, int]) -> Preference:
    """The batch first, then the dims of rows beside each other and those of columns."""
    batch, one = frozenset(groups[0]), frozenset(groups[1])
    dims = tuple(dim for group in groups for dim in group)
    cost = _COPY * elements(dims, ranks)
    b, n = len(batch), len(one)

    def differs(order: Dims) -> int:
        matrix = order[b:]
        rows = matrix[:n] if matrix[0] in one else matrix[len(matrix) - n :]
        fine = batch.issuperset(order[:b]) and one.issuperset(rows)
        return 0 if fine else cost

    return Preference(dims, differs)


def _apply(node: Node, ranks: Mapping[Dim, int]) -> Found:
    """Core axes are the last ones."""
    attrs = node.attrs
    for number, (x, core) in enumerate(zip(node.inputs, attrs.core_in, strict=True)):
        if core and len(x.dims) > 1:
            cost = _COPY * elements(x.dims, ranks)
            yield ("core", attrs.function, x, core, number), _last(x.dims, core, cost)
    if attrs.core_out and len(node.dims) > 1:
        cost = _COPY * elements(node.dims, ranks)
        yield ("core", node), _last(node.dims, attrs.core_out, cost)


def _group_position(node: Node, ranks: Mapping[Dim, int]) -> Found:
    _, along, groups = node.attrs
    for x, core in ((node.inputs[0], along), (node.inputs[1], along), (node, groups)):
        if len(x.dims) > 1 and core in x.dims:
            yield ("core", x, core), _last(x.dims, (core,), _COPY * elements(x.dims, ranks))


def _jacobian(node: Node, ranks: Mapping[Dim, int]) -> Found:
    y, wrt = node.inputs
    renames = dict(jacobian_dims(y.dims, wrt.dims))
    columns = tuple(renames.get(dim, dim) for dim in wrt.dims)
    if y.dims and columns:
        first = frozenset(y.dims)
        cost = _TRANSPOSED_READ * elements(node.dims, ranks)
        n = len(y.dims)
        yield (
            ("jacobian", node),
            Preference(node.dims, lambda order: 0 if first.issuperset(order[:n]) else cost),
        )


_RULES: dict[str, Callable[[Node, Mapping[Dim, int]], Found]] = {
    "elemwise": _elemwise,
    "reduce": _reduce,
    "cumulate": _cumulate,
    "arg_reduce": _arg_reduce,
    "sort": _sort,
    "argsort": _sort,
    "relabel": _relabel,
    "index": _index,
    "update": _update,
    "merge": _merge,
    "split": _split,
    "dot": _dot,
    "apply": _apply,
    "group_position": _group_position,
    "jacobian": _jacobian,
}
