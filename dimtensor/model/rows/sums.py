"""Sums whose elements depend on what is summed over through data alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dimtensor.dims import Dim, Dims, sort_dims
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import ReduceAttrs
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.kind import placed
from dimtensor.graph.node import keep_place, next_serial
from dimtensor.graph.rebuilding.independence import is_apart
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild
from dimtensor.graph.walk import fixed_nodes

# Their attributes say nothing of dims along which they keep positions apart.
_PLAIN = frozenset(
    {
        "elemwise", "cast", "codes", "named", "index", "reduce", "dot", "expand", "relabel",
        "concat", "stack", "apply", "softmax",
    }
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class RowSum:
    """A sum over rows of data.

    Attributes
    ----------
    node : Node
        The sum, or a product summed.
    operands : tuple of Node
        What is summed; of products the factors.
    dims : tuple of Dim
        Rows are positions along these together.
    rest : tuple of Dim
        What else is summed over.
    columns : tuple of Node
        What rows consist of: data, and what follows from data and puts positions together.
    inner : tuple of Node
        Computed of the columns for each row.
    """

    node: Node
    operands: tuple[Node, ...]
    dims: Dims
    rest: Dims
    columns: tuple[Node, ...]
    inner: tuple[Node, ...]


class RowSums(NamedTuple):
    """Sums over the same rows that have something in common.

    Attributes
    ----------
    sums : list of RowSum
    dims : tuple of Dim
    columns : tuple of Node
    inner : tuple of Node
    kept : set of Node
        Inner nodes that are used elsewhere, too.
    """

    sums: list[RowSum]
    dims: Dims
    columns: tuple[Node, ...]
    inner: tuple[Node, ...]
    kept: frozenset[Node]


class RowNodes(NamedTuple):
    """Nodes of the distinct rows: a dim, and data along it.

    Attributes
    ----------
    row : Dim
    columns : mapping of Node to Node
    counts : Node
    number : Node
        Number of all rows.
    """

    row: Dim
    columns: Mapping[Node, Node]
    counts: Node
    number: Node


def find_row_sums(expression: Node) -> list[RowSums]:
    """Find the outermost sums over rows of data in an expression of parameters and data.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> y, mu = dt.data([1.0, 2.0], dims=obs, name="y"), dt.scalar("mu")
    >>> (found,) = find_row_sums(((y - mu) ** 2).sum().node)
    >>> found.dims, [x.name for x in found.columns]
    ((Dim('obs'),), ['y'])
    """
    nodes = toposort([expression])
    fixed = fixed_nodes(nodes)
    inside: set[Node] = set()
    found: list[RowSum] = []
    for node in reversed(nodes):
        if node in fixed or node in inside:
            continue
        one = _row_sum(node, fixed)
        if one is not None:
            found.append(one)
            inside.update(toposort([node], stop=one.operands))
            inside.update(one.inner)
    return [_together(expression, group, fixed) for group in _groups(found, fixed)]


def _row_sum(node: Node, fixed: Collection[Node]) -> RowSum | None:
    operands, dims = _summed(node)
    apart = list(dims)
    while apart:
        mixed, columns, inner = _below(operands, apart, fixed)
        if not mixed:
            if not columns:
                return None
            rest = tuple(dim for dim in dims if dim not in apart)
            return RowSum(node, operands, tuple(apart), rest, tuple(columns), tuple(inner))
        apart = [dim for dim in apart if dim not in mixed]
    return None


def _summed(node: Node) -> tuple[tuple[Node, ...], Dims]:
    """Return the operands and dims of a sum; no dims for other nodes."""
    if node.kind == "dot":
        return node.inputs, node.attrs
    dims: list[Dim] = []
    x = node
    while x.kind == "reduce" and x.attrs.name == "sum":
        dims += x.attrs.dims
        x = x.inputs[0]
    return (x,), tuple(dims)


def _below(
    operands: Sequence[Node], dims: Sequence[Dim], fixed: Collection[Node]
) -> tuple[set[Dim], list[Node], list[Node]]:
    """Return the dims that are not row-wise, the columns, and the nodes computed from them."""
    mixed: set[Dim] = set()
    columns: dict[Node, None] = {}
    inner: dict[Node, None] = {}
    stack = list(operands)
    while stack:
        node = stack.pop()
        own = {dim for dim in dims if dim in node.dims}
        if not own or node in columns or node in inner:
            continue
        wrong = own & _put_together(node, dims)
        if not wrong:
            inner[node] = None
            stack += node.inputs
        elif node in fixed:
            columns[node] = None
        else:
            mixed |= wrong
            inner[node] = None
            stack += node.inputs
    return mixed, list(columns), list(inner)


def _put_together(node: Node, dims: Sequence[Dim]) -> set[Dim]:
    """Return the dims along which a node mixes positions of its inputs."""
    if node.kind not in _PLAIN or not node.inputs:
        return set(dims)
    if node.kind == "expand":
        return set()
    found = {dim for dim in dims if not any(dim in x.dims for x in node.inputs)}
    found |= {dim for dim, _ in placed(node.attrs, "") if dim in dims}
    for at, x in enumerate(node.inputs):
        found |= {dim for dim in dims if dim in x.dims and not is_apart(node, at, dim)}
    return found


def _groups(found: Sequence[RowSum], fixed: Collection[Node]) -> list[list[RowSum]]:
    """Group sums over the same dims that share computations."""
    groups: list[tuple[set[Node], list[RowSum]]] = []
    for one in found:
        nodes, members = {x for x in one.inner if x not in fixed}, [one]
        for group in [g for g in groups if set(g[1][0].dims) == set(one.dims) and g[0] & nodes]:
            groups.remove(group)
            nodes |= group[0]
            members = [*group[1], *members]
        groups.append((nodes, members))
    return [members for _, members in groups]


def _together(expression: Node, sums: list[RowSum], fixed: Collection[Node]) -> RowSums:
    columns = tuple(dict.fromkeys(x for one in sums for x in one.columns))
    inner = tuple(dict.fromkeys(x for one in sums for x in one.inner if x not in fixed))
    gone = {one.node for one in sums}
    others = set(toposort([expression], stop=gone))
    return RowSums(sums, sort_dims(sums[0].dims), columns, inner, frozenset(others & {*inner}))


# -- the same sums over distinct rows --------------------------------------------------------------


def over_rows(expression: Node, stands: Sequence[tuple[RowSums, RowNodes]]) -> Node:
    """Rewrite sums over rows as weighted sums over distinct rows."""
    new: dict[Node, Node] = {}
    for sums, stand in stands:
        for one in sums.sums:
            since = next_serial()
            new[one.node] = _over_rows(one, stand)
            keep_place(one.node, new[one.node], since)
    return rebuild([expression], new)[0]


def _over_rows(one: RowSum, stand: RowNodes) -> Node:
    done = dict(stand.columns)
    inner = set(one.inner)
    for node in toposort(one.operands, stop=done):
        if node in inner:
            since = next_serial()
            done[node] = _rebuilt(node, tuple(done.get(x, x) for x in node.inputs), one.dims)
            keep_place(node, done[node], since)
    operands = tuple(done.get(x, x) for x in one.operands)
    counts = _as(stand.counts, one.node.dtype)
    if one.node.kind == "dot":
        return make("dot", (*operands, counts), (stand.row, *one.rest))
    (x,) = operands
    if not is_float(x.dtype) or x.dtype != one.node.dtype:
        return _sum(_times(_as(x, one.node.dtype), counts), (stand.row, *one.rest))
    return _WeightedSum(stand.row, one.rest, counts, _as(stand.number, x.dtype)).sum(x)


def _rebuilt(node: Node, inputs: tuple[Node, ...], dims: Collection[Dim]) -> Node:
    if node.kind == "named":
        return inputs[0]
    if node.kind == "expand":
        return expand_node(inputs[0], tuple(dim for dim in node.attrs if dim not in dims))
    return make(node.kind, inputs, node.attrs)


class _WeightedSum:
    """Weighted sum over distinct rows, with their counts as weights.

    Terms that do not depend on the row are multiplied by the number of rows. Terms with such
    factors get sums of their own, so that the kernel factors them out. Sums with data among their
    terms are not split: the sum of ``y - m`` would lose the digits that cancel.
    """

    def __init__(self, row: Dim, rest: Dims, counts: Node, number: Node):
        self._row = row
        self._rest = rest
        self._counts = counts
        self._number = number

    def sum(self, x: Node) -> Node:
        terms = list(_terms(x, False))
        within = [node for node, _ in terms if self._row in node.dims]
        opened = [node for node in within if self._opens(node)]
        if len(terms) > 1 and any(map(self._is_read, within)):
            return self._of_rows(x)
        if len(within) == len(terms) and not opened:
            return self._of_rows(x)
        total: Node | None = None
        together: Node | None = None
        for node, minus in terms:
            if self._row in node.dims and node not in opened:
                together = _added(together, node, minus)
                continue
            part = self._of_rows(node) if node in opened else self._of_number(node)
            total = _added(total, part, minus)
        if together is not None:
            total = _added(total, self._of_rows(together), False)
        assert total is not None
        return total

    def _of_rows(self, x: Node) -> Node:
        weighted = _times(x, self._counts)
        return _sum(expand_node(weighted, self._rest), (self._row, *self._rest))

    def _of_number(self, x: Node) -> Node:
        total = _sum(expand_node(x, self._rest), self._rest) if self._rest else x
        return _times(total, self._number)

    def _opens(self, x: Node) -> bool:
        """Return True for a product with a factor that does not depend on the row."""
        if self._row not in x.dims:
            return True
        products = ("multiply", "divide", "square", "negative")
        return x.kind == "elemwise" and x.attrs in products and any(map(self._opens, x.inputs))

    def _is_read(self, x: Node) -> bool:
        """Return True for a multiple of a value that is not computed for each row."""
        factors = list(self._factors(x))
        return len(factors) == 1 and factors[0].kind != "elemwise"

    def _factors(self, x: Node) -> Iterator[Node]:
        if self._row not in x.dims:
            return
        if x.kind == "cast" or (x.kind == "elemwise" and x.attrs in ("multiply", "negative")):
            for factor in x.inputs:
                yield from self._factors(factor)
        elif x.kind == "elemwise" and x.attrs == "divide" and self._row not in x.inputs[1].dims:
            yield from self._factors(x.inputs[0])
        else:
            yield x


def _terms(x: Node, minus: bool) -> Iterator[tuple[Node, bool]]:
    """Yield the terms of a sum, and whether each is subtracted."""
    if x.kind == "elemwise" and x.attrs in ("add", "subtract", "negative"):
        first, *others = x.inputs
        yield from _terms(first, minus != (x.attrs == "negative"))
        for other in others:
            yield from _terms(other, minus != (x.attrs == "subtract"))
    else:
        yield x, minus


def _added(total: Node | None, x: Node, minus: bool) -> Node:
    if total is None:
        return make("elemwise", (x,), "negative") if minus else x
    return make("elemwise", (total, x), "subtract" if minus else "add")


def _times(x: Node, y: Node) -> Node:
    return make("elemwise", (x, y), "multiply")


def _sum(x: Node, dims: Dims) -> Node:
    return make("reduce", (x,), ReduceAttrs("sum", sort_dims(dims)))


def _as(x: Node, dtype: Any) -> Node:
    return x if x.dtype == dtype else make("cast", (x,), dtype)
