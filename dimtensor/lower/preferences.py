"""What the operations of a graph ask of the order of axes, and what it costs not to have it.

A preference looks at the order of a few dims and gives the cost of that order. Costs are integers:
tenths of the time that an element of a loop takes, times a number of elements. Only ratios of costs
matter, so lengths enter as ranks: dims of the same length are of one rank, and each rank counts for
eight times as many elements as the one below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dimtensor.dims import Dim, Dims, ProductDim, without
from dimtensor.graph import Node
from dimtensor.graph.derivatives import jacobian_renames
from dimtensor.graph.regions import DERIVATIVES, regions_of, split_inputs

# each measured as what is lost by the wrong order, see docs/design/layout.md
_SHORT_INNERMOST = 6
_SUMMED_INNERMOST = 2
_EXTREME_INNERMOST = 60
_COLUMN_WRITTEN = 15
_ROW_ACROSS = 4
_REDUCED_INSIDE = 2
_REREAD = 1
_RUNNING_INNERMOST = 8
_COPY = 10
_TRANSPOSED_READ = 5

Cost = Callable[[Dims], int]


class Preference(NamedTuple):
    """The cost of the order of some dims."""

    dims: Dims
    cost: Cost


class Graph:
    """What preferences depend on beside a node and its inputs.

    Parameters
    ----------
    nodes : sequence of Node
        In topological order.
    ranks : mapping of Dim to int
        Ranks of the lengths of all dims.
    """

    def __init__(self, nodes: Sequence[Node], ranks: Mapping[Dim, int]):
        self.ranks = ranks
        self._differentiated = {
            leaf
            for node in nodes
            if node.kind in DERIVATIVES
            for region in regions_of(node)
            for leaf in region.bound[: node.attrs.n_wrt]
        }
        if self._differentiated:
            for node in nodes:
                if not self._differentiated.isdisjoint(node.inputs):
                    self._differentiated.add(node)

    def elements(self, dims: Iterable[Dim]) -> int:
        """About how many elements a tensor has."""
        exponent = sum(self.ranks[dim] + 1 for dim in dims)
        return 1 << min(3 * exponent, 400)

    def has_gradient(self, node: Node) -> bool:
        """Whether a derivative is taken that may pass a node."""
        return node in self._differentiated


def preferences(nodes: Sequence[Node], ranks: Mapping[Dim, int]) -> list[Preference]:
    """What all nodes of a graph, in topological order, ask for."""
    graph = Graph(nodes, ranks)
    found: dict[tuple, Preference] = {}
    walked: dict[Dims, None] = {}
    for node in nodes:
        if len(node.dims) > 1:
            walked[node.dims] = None
        rule = _RULES.get(node.kind)
        if rule is not None:
            for key, preference in rule(node, graph):
                # a loop that computes several results walks its operands once
                found.setdefault(key, preference)
    for dims in walked:
        preference = _long_innermost(dims, graph)
        if preference is not None:
            found["long", dims] = preference
    return list(found.values())


Found = Iterable[tuple[tuple, Preference]]


def _long_innermost(dims: Dims, graph: Graph) -> Preference | None:
    ranks = graph.ranks
    longest = max(ranks[dim] for dim in dims)
    size = graph.elements(dims)
    # the shorter, the worse, but not by much
    cost = {d: (_SHORT_INNERMOST + min(longest - ranks[d], 3)) * size for d in dims}
    cost = {dim: c for dim, c in cost.items() if ranks[dim] < longest}
    return Preference(dims, lambda order: cost.get(order[-1], 0)) if cost else None


def _not_innermost(dims: Dims, bad: Iterable[Dim], weight: int, graph: Graph) -> Preference:
    unwanted = frozenset(bad)
    cost = weight * graph.elements(dims)
    return Preference(dims, lambda order: cost if order[-1] in unwanted else 0)


def _before(outer: Dim, inner: Dim, cost: int) -> Preference:
    return Preference((outer, inner), lambda order: cost if order[0] is inner else 0)


def _last(dims: Dims, core: Dims, cost: int) -> Preference:
    """Some dims are the last ones, in this order."""
    n = len(core)
    return Preference(dims, lambda order: 0 if order[len(order) - n :] == core else cost)


def _first(dims: Dims, wanted: Dims, cost: int) -> Preference:
    return Preference(dims, lambda order: 0 if order[0] in wanted else cost)


def _broadcast(whole: Dims, part: Dims, graph: Graph) -> Found:
    """Dims that a smaller operand lacks are inside of its own, so that it is read once.

    Vectors are left out: they stay in the cache.
    """
    if not 2 <= len(part) < len(whole):
        return
    cost = _REREAD * graph.elements(whole)
    for inner in without(whole, part):
        for outer in part:
            yield ("broadcast", part, outer, inner), _before(outer, inner, cost)


def _elemwise(node: Node, graph: Graph) -> Found:
    if len(node.dims) > 2:
        for x in node.inputs:
            yield from _broadcast(node.dims, x.dims, graph)


def _reduce(node: Node, graph: Graph) -> Found:
    name, reduced = node.attrs
    dims = node.inputs[0].dims
    if reduced and len(reduced) < len(dims):
        extreme = name in ("max", "min", "supremum")
        weight = _EXTREME_INNERMOST if extreme else _SUMMED_INNERMOST
        yield ("reduce", dims, reduced, extreme), _not_innermost(dims, reduced, weight, graph)
        if len(dims) > 2:
            cost = _REDUCED_INSIDE * graph.elements(dims)
            yield ("outside", dims, reduced), _first(dims, reduced, cost)


def _cumulate(node: Node, graph: Graph) -> Found:
    dims, along = node.dims, node.attrs.dim
    if len(dims) > 1:
        yield ("run", dims, along), _not_innermost(dims, (along,), _RUNNING_INNERMOST, graph)


def _arg_reduce(node: Node, graph: Graph) -> Found:
    dims = node.inputs[0].dims
    if len(dims) > 1:
        yield ("core", node), _last(dims, (node.attrs.dim,), _COPY * graph.elements(dims))


def _sort(node: Node, graph: Graph) -> Found:
    dim, positions = node.attrs
    return _same_order(node, node.inputs[0].dims, node.dims, {dim: positions}, graph)


def _relabel(node: Node, graph: Graph) -> Found:
    return _same_order(node, node.inputs[0].dims, node.dims, dict(node.attrs.pairs), graph)


def _same_order(
    node: Node, dims: Dims, others: Dims, mapping: Mapping[Dim, Dim], graph: Graph
) -> Found:
    """Two sets of dims, one made of the other, are in the same order."""
    if len(dims) < 2 or not mapping:
        return
    one, two = frozenset(dims), frozenset(others)
    cost = _TRANSPOSED_READ * graph.elements(dims)

    def differs(order: Dims) -> int:
        before = [mapping.get(dim, dim) for dim in order if dim in one]
        return 0 if before == [dim for dim in order if dim in two] else cost

    yield ("same", node), Preference(tuple(dict.fromkeys((*dims, *others))), differs)


def _index(node: Node, graph: Graph) -> Found:
    source, *indexers = node.inputs
    items = node.attrs.items
    if all(item.kind in ("select", "mask") for item in items):
        taken = {item.dim: item.new_dim(indexers) for item in items}
        return _same_order(node, source.dims, node.dims, taken, graph)
    return _rows(source.dims, items, indexers, graph.has_gradient(source), graph)


def _update(node: Node, graph: Graph) -> Found:
    source, _, *indexers = node.inputs
    return _rows(source.dims, node.attrs.items, indexers, True, graph)


def _rows(
    source: Dims, items: Sequence, indexers: Sequence[Node], written: bool, graph: Graph
) -> Found:
    """What is looked up lies in memory in rows, if the innermost loop is over rows; else across.

    Rows that are written, by an update or by the gradient of a look-up, are to be innermost:
    elements at places that data tell cannot be written several at a time.
    """
    looked_up = tuple(item.dim for item in items if item.kind == "tensor")
    own = {d for item in items if item.kind == "tensor" for d in indexers[item.payload].dims}
    rest = frozenset(dim for dim in source if dim not in looked_up and dim not in own)
    if not looked_up or not rest:
        return
    size = graph.elements({*rest, *own})
    dims = tuple(dict.fromkeys((*source, *own)))
    walked, stored = rest | own, frozenset(source)

    def cost(order: Dims) -> int:
        in_rows = [dim for dim in order if dim in walked][-1] in rest
        lie_in_rows = [dim for dim in order if dim in stored][-1] in rest
        across = _COLUMN_WRITTEN * size if written and not in_rows else 0
        return across + (_ROW_ACROSS * size if in_rows != lie_in_rows else 0)

    yield ("rows", dims, looked_up, written), Preference(dims, cost)


def _merge(node: Node, graph: Graph) -> Found:
    return _product(node, node.inputs[0].dims, node.dims, node.attrs, graph)


def _split(node: Node, graph: Graph) -> Found:
    return _product(node, node.dims, node.inputs[0].dims, node.attrs, graph)


def _product(node: Node, apart: Dims, together: Dims, product: ProductDim, graph: Graph) -> Found:
    """Factors are beside each other, in the order of the product, where the product is."""
    factors = frozenset(product.factors)
    cost = _COPY * graph.elements(apart)
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


def _dot(node: Node, graph: Graph) -> Found:
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
            yield ("dot", node), _not_innermost(joint, node.attrs, _SUMMED_INNERMOST, graph)
        return
    operands = {
        "left": (batch, left, summed),
        "right": (batch, summed, right),
        "result": (batch, left, right),
    }
    for role, groups in operands.items():
        if batch or any(len(group) > 1 for group in groups):
            yield ("dot", role, node), _in_blocks(groups, graph)


def _in_blocks(groups: tuple[Dims, Dims, Dims], graph: Graph) -> Preference:
    """The batch first, then the dims of rows beside each other and those of columns."""
    batch, one = frozenset(groups[0]), frozenset(groups[1])
    dims = tuple(dim for group in groups for dim in group)
    cost = _COPY * graph.elements(dims)
    b, n = len(batch), len(one)

    def differs(order: Dims) -> int:
        matrix = order[b:]
        rows = matrix[:n] if matrix[0] in one else matrix[len(matrix) - n :]
        fine = batch.issuperset(order[:b]) and one.issuperset(rows)
        return 0 if fine else cost

    return Preference(dims, differs)


def _apply(node: Node, graph: Graph) -> Found:
    """Core axes are the last ones."""
    attrs = node.attrs
    for number, (x, core) in enumerate(zip(node.inputs, attrs.core_in, strict=True)):
        if core and len(x.dims) > 1:
            cost = _COPY * graph.elements(x.dims)
            yield ("core", attrs.function, x, core, number), _last(x.dims, core, cost)
    if attrs.core_out and len(node.dims) > 1:
        cost = _COPY * graph.elements(node.dims)
        yield ("core", node), _last(node.dims, attrs.core_out, cost)


def _group_position(node: Node, graph: Graph) -> Found:
    _, along, groups = node.attrs
    for x, core in ((node.inputs[0], along), (node.inputs[1], along), (node, groups)):
        if len(x.dims) > 1 and core in x.dims:
            yield ("core", x, core), _last(x.dims, (core,), _COPY * graph.elements(x.dims))


def _loop(node: Node, graph: Graph) -> Found:
    """The dim of a loop is the first of its sequences and traces."""
    over = node.attrs.over
    if over is None:
        return
    for x in (*split_inputs(node.attrs, node.inputs).sequences, node):
        if over in x.dims and len(x.dims) > 1:
            yield ("first", x), _first(x.dims, (over,), _COPY * graph.elements(x.dims))


def _jacobian(node: Node, graph: Graph) -> Found:
    renames = dict(jacobian_renames(node))
    columns = frozenset(renames.get(dim, dim) for dim in node.inputs[0].dims)
    first = frozenset(node.dims) - columns
    if first and columns:
        cost = _TRANSPOSED_READ * graph.elements(node.dims)
        n = len(first)
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
    "loop": _loop,
}
