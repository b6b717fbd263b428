"""Factor graph of a log density: its summands, and the elements of unknowns that each reads.

A factor is a summand in which each occurrence of an unknown is replaced by a dim of its states.
Where the expression moves elements (selects, renames, looks up), the indices move along.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dimtensor.dims import Dim, ProductDim, RenamedDim, ancestors, without
from dimtensor.dims.selection import Slice
from dimtensor.errors import GraphError, listing
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.attrs import IndexAttrs, IndexItem, ReduceAttrs
from dimtensor.graph.node import KINDS
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.rebuilding.parents import plain
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.marginal.counts import by_count, is_renamed
from dimtensor.marginal.unknowns import (
    ElementIndex,
    Factor,
    FactorSlot,
    FixedIndex,
    LookupIndex,
    Origins,
    ShiftedIndex,
    StateDims,
    Unknown,
    dims_of,
    own_slot,
    sum_unread_dims,
)
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.handle import constant, elemwise, wrap
from dimtensor.tensor.ragged.shifts import shift_of

ARITHMETIC = ("add", "subtract", "multiply", "divide", "power")
# at most so many unknowns have their state 0 separated in one factor
MOST_APART = 3


@dataclass(frozen=True)
class _StateExpression:
    node: Node
    slots: dict[Dim, FactorSlot]
    # the unknown, if the expression is its plain elements
    pure: Unknown | None = None
    # state dims whose values enter arithmetic as numbers
    counted: frozenset[Dim] = frozenset()


class FactorReader:
    """Reader of the factors in terms of a log density.

    Attributes
    ----------
    mixed : list of (Unknown, Dim)
        Dims along which an expression mixes elements of an unknown, which is an error here.
    """

    def __init__(self, unknowns: Sequence[Unknown], states: StateDims):
        self.states = states
        self.mixed: list[tuple[Unknown, Dim]] = []
        self._unknowns = {unknown.node: unknown for unknown in unknowns}
        self._read: dict[Node, _StateExpression] = {}
        self._depends: dict[Node, bool] = {}
        self._enumerated: dict[Node, Dim] = {}

    def factors(self, terms: Iterable[tuple[Origins, Node]]) -> list[Factor]:
        """Return the factors of named terms, each of which is summed over its dims.

        Raises
        ------
        GraphError
            If an expression mixes elements of an unknown.
        """
        found = []
        for origins, term in terms:
            for part in self.summands(term):
                if not self.depends(part):
                    found.append(Factor(part, part.dims, (), origins, part))
                    continue
                read = self._reading(part)
                pairs = tuple(sorted(read.slots.items(), key=lambda pair: str(pair[0].name)))
                whole = Factor(read.node, part.dims, pairs, origins, part)
                counted = partial(self._without_zeros, counted=read.counted)
                found.append(by_count(whole, self.states, counted) or counted(whole))
        return found

    def depends(self, node: Node) -> bool:
        """Return whether a node depends on an unknown."""
        known = self._depends
        if node not in known:
            for x in toposort([node]):
                if x not in known:
                    known[x] = x in self._unknowns or any(known[i] for i in x.inputs)
        return known[node]

    # -- sums ------------------------------------------------------------------------------------

    def summands(self, node: Node, factored: bool = False) -> list[Node]:
        """Split a node that is summed over its dims into summands, opening sums nested in it.

        Sums by group are not opened if they are `factored`: their multiples are those of groups.
        """
        if not self._has_sum(node, factored):
            return [node]
        if node.kind == "reduce":
            return self.summands(node.inputs[0])
        if node.kind in ("check", "cast"):
            return self.summands(node.inputs[0], factored)
        if node.kind == "relabel":
            return self.summands(node.inputs[0])
        if node.kind == "update":
            value = node.inputs[1]
            return self.summands(value.inputs[0] if value.kind == "relabel" else value)
        name = node.attrs
        if name in ("add", "subtract"):
            left, right = (expand_node(x, node.dims) for x in node.inputs)
            if name == "subtract":
                right = make("elemwise", (right,), "negative")
            return [*self.summands(left, factored), *self.summands(right, factored)]
        if name == "negative":
            parts = self.summands(node.inputs[0], factored)
            return [make("elemwise", (part,), name) for part in parts]
        (inner,) = [x for x in node.inputs if self._has_sum(x, factored or _is_multiple(node))]
        parts = self.summands(inner, factored or _is_multiple(node))
        dims = tuple(dict.fromkeys(d for x in node.inputs if x is not inner for d in x.dims))
        if any(dim in dims for part in parts for own in part.dims for dim in ancestors(own)):
            return [node]  # values of parents would be looked up for each of their positions
        parts = [expand_node(part, dims) for part in parts]
        return [
            make("elemwise", tuple(part if x is inner else x for x in node.inputs), name)
            for part in parts
        ]

    def _has_sum(self, node: Node, factored: bool) -> bool:
        """Return whether linear operations lead to a sum over elements of unknowns."""
        if not self.depends(node):
            return False
        if node.kind == "reduce":
            return node.attrs.name == "sum"
        if node.kind in ("check", "cast"):
            return self._has_sum(node.inputs[0], factored)
        if node.kind == "relabel":
            return not factored and self._has_sum(node.inputs[0], factored)
        if node.kind == "update":
            known = not any(map(self.depends, node.inputs[2:]))
            return not factored and known and _is_group_sum(node)
        if node.kind != "elemwise":
            return False
        if node.attrs in ("add", "subtract", "negative"):
            return any(self._has_sum(x, factored) for x in node.inputs)
        factored = factored or _is_multiple(node)
        if node.attrs in ("multiply", "divide"):
            one, other = node.inputs
            return (
                (not self.depends(other) and self._has_sum(one, factored))
                or (node.attrs == "multiply" and not self.depends(one)
                    and self._has_sum(other, factored))
            )  # fmt: skip
        if node.attrs == "where" and not self.depends(node.inputs[0]):
            _, yes, no = node.inputs
            pairs = ((yes, no), (no, yes))
            return any(self._has_sum(x, factored) and y.kind == "constant" and not y.attrs.value
                       for x, y in pairs)  # fmt: skip
        return False

    # -- readings --------------------------------------------------------------------------------

    def _reading(self, node: Node) -> _StateExpression:
        for x in toposort([node]):
            if x not in self._read and self.depends(x):
                self._read[x] = self._read_one(x)
        return self._read[node]

    def _read_one(self, node: Node) -> _StateExpression:
        if node in self._unknowns:
            return self._pure(self._unknowns[node], own_slot(self._unknowns[node]))
        inputs = [self._read.get(x) if self.depends(x) else None for x in node.inputs]
        first = inputs[0] if inputs else None
        if node.kind in ("index", "relabel", "concat", "merge", "split") and first is not None:
            return self._moved(node, inputs)
        if node.kind == "concat":
            return self._moved(node, inputs)
        slots: dict[Dim, FactorSlot] = {}
        counted: frozenset[Dim] = frozenset()
        for at, read in enumerate(inputs):
            if read is not None:
                self._check_elementwise(node, at, read)
                slots |= read.slots
                counted |= read.counted
        nodes = self._nodes(node, inputs)
        if node.kind == "index":
            made = self._looked_up(node, nodes)
        elif node.kind in ("elemwise", "cast", "codes", "check"):
            made = make(node.kind, nodes, node.attrs)
        elif node.kind == "expand":
            return _StateExpression(nodes[0], slots, first.pure if first else None, counted)
        elif node.kind == "reduce":
            whole = expand_node(nodes[0], tuple(node.attrs.dims))
            made = make("reduce", (whole,), ReduceAttrs(*node.attrs))
        else:
            full = [expand_node(new, old.dims) for new, old in zip(nodes, node.inputs, strict=True)]
            (made,) = rebuild([node], dict(zip(node.inputs, full, strict=True)))
        if node.kind in ("codes", "cast") and nodes[0] in self._enumerated:
            self._enumerated[made] = self._enumerated[nodes[0]]
        if node.kind == "elemwise" and node.attrs in ARITHMETIC:
            counted |= {self._enumerated[x] for x in nodes if x in self._enumerated}
        return _StateExpression(made, slots, None, counted)

    def _without_zeros(self, factor: Factor, counted: frozenset[Dim]) -> Factor:
        """Separate the state 0, so that nothing is multiplied by it.

        The gradient of the log probability of an impossible state may be infinite, and NaN times
        0. For the state 0 the product is written as the constant 0, which has no gradient.
        """
        for dim in sorted(counted, key=lambda dim: str(dim.name))[:MOST_APART]:
            order = toposort([factor.node])
            if dim.length == 1 or is_renamed(order, dim):
                continue
            values = [x for x in order if self._enumerated.get(x) is dim and x.kind != "codes"]
            absent, present = (
                sum_unread_dims(
                    replace(
                        factor, node=rebuild([factor.node], known, fold_constants, nested=False)[0]
                    )
                )
                for known in ({x: _at_least(x, dim, first) for x in values} for first in (0, 1))
            )
            if dim.length == 2:
                node = make("stack", (absent.node, present.node), dim)
            else:
                is_zero = elemwise("equal", arange(dim), 0)
                node = elemwise("where", is_zero, wrap(absent.node), wrap(present.node)).node
            factor = replace(absent, node=node)
        return factor

    def _nodes(self, node: Node, inputs: Sequence[_StateExpression | None]) -> tuple[Node, ...]:
        pairs = zip(node.inputs, inputs, strict=True)
        return tuple(x if read is None else read.node for x, read in pairs)

    def _pure(self, unknown: Unknown, slot: FactorSlot) -> _StateExpression:
        dim = self.states[slot]
        value = unknown.value(dim).node
        if unknown.counts_from_zero:
            self._enumerated[value] = dim
        return _StateExpression(value, {dim: slot}, unknown)

    def _check_elementwise(self, node: Node, at: int, read: _StateExpression) -> None:
        kind = KINDS[node.kind]
        for slot in read.slots.values():
            mixed = [
                dim
                for dim in slot.dims
                if dim not in node.dims or not kind.keeps_apart(node, at, dim)
            ]
            if mixed:
                raise self.mixing_error(node, slot, mixed)

    def mixing_error(self, node: Node, slot: FactorSlot, dims: Sequence[Dim]) -> GraphError:
        """Return the error for mixed elements, and record their dims."""
        pairs = zip(slot.unknown.dims, slot.indices, strict=True)
        self.mixed += [(slot.unknown, d) for d, w in pairs if set(dims) & {*dims_of([w])}]
        return mixing_error(node, slot, dims)

    def _looked_up(self, node: Node, nodes: tuple[Node, ...]) -> Node:
        """Index a known expression by states; all states in order are a rename."""
        x, *indexers = nodes
        items = list(node.attrs.items)
        for item in node.attrs.items:
            dim = self._enumerated.get(indexers[item.payload]) if item.kind == "tensor" else None
            if dim is None or dim in x.dims or not _same_length(item.dim, dim):
                continue
            x = relabel_node(x, (item.dim, dim))
            items.remove(item)
        return _index(x, items, indexers)

    # -- data movement -----------------------------------------------------------------------------

    def _moved(self, node: Node, inputs: Sequence[_StateExpression | None]) -> _StateExpression:
        """Read a node that moves elements, with the indices of its operands moved along."""
        slots: dict[Dim, FactorSlot] = {}
        renamed: list[dict[Dim, Dim]] = []
        for at, read in enumerate(inputs):
            mapping: dict[Dim, Dim] = {}
            for dim, slot in (read.slots if read is not None else {}).items():
                after = slot if at and node.kind == "index" else slot_after(node, at, slot)
                mapping[dim] = self.states[after]
                slots[mapping[dim]] = after
            renamed.append(mapping)
        pure = inputs[0].pure if inputs[0] is not None and len(node.inputs) == 1 else None
        if inputs[0] is not None and inputs[0].pure and node.kind == "index" and len(slots) == 1:
            pure = inputs[0].pure
        if pure is not None:
            return self._pure(pure, next(iter(slots.values())))
        nodes = [
            relabel_node(new, *mapping.items())
            for new, mapping in zip(self._nodes(node, inputs), renamed, strict=True)
        ]
        if node.kind == "concat":
            whole = [
                expand_node(new, (part,)) for new, part in zip(nodes, node.attrs.parts, strict=True)
            ]
            return _StateExpression(make("concat", tuple(whole), node.attrs), slots)
        counted = {
            mapping.get(dim, dim)
            for mapping, read in zip(renamed, inputs, strict=True)
            for dim in (read.counted if read is not None else ())
        }
        moved = apply_movement(node, nodes[0], nodes[1:])
        return _StateExpression(moved, slots, None, frozenset(counted))


def _is_multiple(node: Node) -> bool:
    """Return whether elements of an operand have factors or conditions of their own."""
    return sum(bool(x.dims) for x in node.inputs) > 1


def _is_group_sum(node: Node) -> bool:
    """Return whether an update adds up elements by group, such as those of each parent."""
    base, value, *indexers = node.inputs
    base = base.inputs[0] if base.kind == "expand" else base
    indexed = [item.dim for item in node.attrs.items if item.kind == "tensor"]
    dims = {*without(node.dims, indexed), *(dim for x in indexers for dim in x.dims)}
    return (
        node.attrs.mode == "inc"
        and len(indexed) == len(node.attrs.items)
        and base.kind == "constant"
        and not base.attrs.value
        and dims == set(value.dims)
    )


def mixing_error(node: Node, slot: FactorSlot, dims: Iterable[Dim]) -> GraphError:
    """Return the error for an expression that mixes elements of an unknown."""
    names = listing([dim._short for dim in dims])
    return GraphError(
        f"marginalize: {slot.unknown.name!r} cannot be summed out position by position along "
        f"{names}: an expression mixes its elements",
        [("expression", formula(node, 80)), ("reads", slot)],
        "a sum of log densities over the dim separates; write other expressions elementwise, "
        "or observe the variable",
    )


def _at_least(value: Node, dim: Dim, first: int) -> Node:
    """Return the values of the states: the constant 0, or all values with 0 raised to 1."""
    if first == 0 or dim.length == 2:
        return constant(first, value.dtype)
    return elemwise("maximum", wrap(value), constant(1, value.dtype)).node


NUMPY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "greater": np.greater,
}  # fmt: skip


def fold_constants(node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """Fold products with 0 and operations on constants; return None for anything else."""
    if node.kind not in ("elemwise", "cast"):
        return None
    numbers = [x.attrs.value if x.kind == "constant" else None for x in inputs]
    if node.attrs == "multiply" and any(number is not None and not number for number in numbers):
        return constant(0, node.dtype)
    if node.attrs == "where" and numbers[0] is not None and inputs[1].dtype == inputs[2].dtype:
        return inputs[1] if numbers[0] else inputs[2]
    if None in numbers:
        return None
    if node.kind == "cast":
        return constant(numbers[0], node.dtype)
    function = NUMPY.get(node.attrs)
    return None if function is None else constant(function(*map(np.asarray, numbers)), node.dtype)


def table_at_state(node: Node, dim: Dim, at: int) -> Node:
    """Select one state of a table."""
    if dim not in node.dims:
        return node
    if node.kind == "stack" and node.attrs is dim:
        return node.inputs[at]
    if not is_renamed(toposort([node]), dim):
        known = {arange(dim).node: constant(at, "int64")}
        (node,) = rebuild([node], known, fold_constants, nested=False)
    return wrap(node).isel({dim: at}).node if dim in node.dims else node


def _same_length(one: Dim, other: Dim) -> bool:
    below = other.parent if isinstance(other, RenamedDim) else other
    return one is below or (one.length is not None and one.length == other.length)


def _index(x: Node, items: Sequence[IndexItem], indexers: Sequence[Node]) -> Node:
    """Index a node by those items whose dims it has."""
    kept: list[IndexItem] = []
    used: list[Node] = []
    for item in items:
        if item.dim not in x.dims:
            continue
        if item.kind in ("tensor", "mask"):
            used.append(indexers[item.payload])
            item = item._replace(payload=len(used) - 1)
        kept.append(item)
    return make("index", (x, *used), IndexAttrs(tuple(kept))) if kept else x


def apply_movement(node: Node, x: Node, indexers: Sequence[Node]) -> Node:
    """Apply a data movement to another operand, which may lack some of the dims."""
    if node.kind == "index":
        return _index(x, node.attrs.items, indexers)
    if node.kind == "relabel":
        return relabel_node(x, *(pair for pair in node.attrs.pairs if pair[0] in x.dims))
    if node.kind == "merge":
        if not any(dim in x.dims for dim in node.attrs.factors):
            return x
        return make("merge", (expand_node(x, node.attrs.factors),), node.attrs)
    return make(node.kind, (x,), node.attrs) if node.attrs in x.dims else x


def slot_after(node: Node, at: int, slot: FactorSlot) -> FactorSlot:
    """Return the slot after a data movement."""
    return slot.moved(lambda where: _where_after(node, at, where, slot))


def _where_after(node: Node, at: int, where: ElementIndex, slot: FactorSlot) -> ElementIndex:
    if isinstance(where, FixedIndex):
        return where
    if isinstance(where, ShiftedIndex):
        if node.kind == "relabel":
            return ShiftedIndex(dict(node.attrs.pairs).get(where.dim, where.dim), where.by)
        if node.kind == "concat":
            return _in_whole(node, at, where, slot)
        if node.kind == "index":
            known = _selected(node, where)
            if known is not None:
                return known
        elif isinstance(node.attrs, ProductDim) and where.dim not in (
            node.attrs.factors if node.kind == "merge" else (node.attrs,)
        ):
            return where
        where = LookupIndex((arange(where.dim) + where.by).node)
    if node.kind == "concat":
        if any(dim in where.positions.dims for dim in node.attrs.parts):
            raise mixing_error(node, slot, where.positions.dims)
        return where
    index = apply_movement(node, where.positions, node.inputs[1:])
    if not index.dims and index.kind == "constant":
        return FixedIndex(int(index.attrs.value))
    return LookupIndex(index)


def _in_whole(node: Node, at: int, where: ShiftedIndex, slot: FactorSlot) -> ShiftedIndex:
    parts, whole = node.attrs
    if where.dim is not parts[at]:
        return where
    before = [part.length for part in parts[:at]]
    if None in before:
        raise mixing_error(node, slot, [where.dim])
    return ShiftedIndex(whole, where.by - sum(n for n in before if n is not None))


def _selected(node: Node, where: ShiftedIndex) -> ElementIndex | None:
    """Return an index after a selection, or None if its position is not a known number."""
    item = next((item for item in node.attrs.items if item.dim is where.dim), None)
    if item is None:
        return where
    if item.kind == "int":
        position = item.payload
        if position < 0 and where.dim.length is not None:
            position += where.dim.length
        return FixedIndex(position + where.by) if position >= 0 or not where.by else None
    if item.kind == "tensor" and not where.by:
        index = node.inputs[1 + item.payload]
        marked = shift_of(index)
        if marked is not None and plain(marked[0]) is where.dim:
            return ShiftedIndex(marked[0], -marked[1])
        return LookupIndex(make("codes", (index,), None) if index.categories is not None else index)
    taken = item.payload
    if item.kind == "select" and isinstance(taken, Slice) and taken.step == 1:
        start = taken.start or 0
        if start < 0 and where.dim.length is not None:
            start += where.dim.length
        if start >= 0:
            return ShiftedIndex(item.new_dim(()), where.by + start)
    return None
