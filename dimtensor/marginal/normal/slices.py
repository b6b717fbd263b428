"""Log densities along a chain, read at one of its positions.

An expression along the dim of a chain is evaluated at a position that is a number, or at the
current position of a loop. Elements of unknowns become probes, labeled by how many positions before
the current one they are; loops in the expression become steps of these loops, whose states are
probes, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from dimtensor.dims import Dim, Dims, SelDim, without
from dimtensor.dims.selection import Slice
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.functions import BatchedFunction, with_own_columns
from dimtensor.graph.node import KINDS
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild, relabel_node
from dimtensor.graph.regions import dependent, split_inputs, type_of
from dimtensor.marginal.chains import Lag
from dimtensor.marginal.factors import apply_movement
from dimtensor.marginal.unknowns import Unknown, covers, is_sorted
from dimtensor.tensor.constructors import arange
from dimtensor.tensor.elementwise import minimum
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor


class NotAlongChain(Exception):
    """Expression that cannot be read position by position."""


class StartsLater(NotAlongChain):
    """Expression whose first positions differ from the later ones, so a loop starts after them."""


class ChainAlignment(NamedTuple):
    """Alignment of an expression with the chain.

    Attributes
    ----------
    dim : Dim or None
        The dim that runs along the chain; None for an expression of fixed positions.
    head : int
        Chain position of the latest element that its first position reads; for an expression of
        fixed positions, of the latest one, and -1 if it reads no element along the chain.
    """

    dim: Dim | None
    head: int


class LoopState(NamedTuple):
    """State of a loop in the log density."""

    loop: tuple[Any, ...]
    number: int


class Delayed(NamedTuple):
    """Output of a loop in the log density, a number of positions before the current one."""

    node: Node
    by: int


class ChainReader:
    """Reader of expressions along a chain.

    Parameters
    ----------
    time : Dim
        The dim of the chain.
    unknowns : sequence of Unknown
        With the dim, or without it.
    """

    def __init__(self, time: Dim, unknowns: Sequence[Unknown]):
        self.time = time
        self.unknowns = {unknown.node: unknown for unknown in unknowns}
        self._places: dict[Node, ChainAlignment] = {}
        self._depends: dict[Node, bool] = {}
        self._dependent_states: dict[Any, frozenset[int]] = {}

    def depends(self, node: Node) -> bool:
        """Return whether a node depends on an unknown."""
        known = self._depends
        if node not in known:
            for x in toposort([node]):
                known[x] = x in self.unknowns or any(known[i] for i in x.inputs)
        return known[node]

    def place(self, node: Node) -> ChainAlignment:
        """Return how an expression that depends on an unknown runs along the chain.

        Raises
        ------
        NotAlongChain
            If it mixes positions.
        """
        for x in toposort([node]):
            if x not in self._places and self.depends(x):
                self._places[x] = self._place(x)
        return self._places[node]

    def _place(self, node: Node) -> ChainAlignment:
        if node in self.unknowns:
            return (
                ChainAlignment(self.time, 0) if self.time in node.dims else ChainAlignment(None, -1)
            )
        found = {at: self._places[x] for at, x in enumerate(node.inputs) if self.depends(x)}
        if node.kind == "index" and set(found) == {0}:
            return self._indexed(node, found[0])
        if node.kind == "relabel":
            return found[0]._replace(dim=dict(node.attrs.pairs).get(found[0].dim, found[0].dim))
        if node.kind == "concat":
            found = {at: self._joined(node, at, place) for at, place in found.items()}
        if node.kind == "loop":
            return self._looped(node, found)
        dims = {place.dim for place in found.values() if place.dim is not None}
        fixed = [p.head for p in found.values() if p.dim is None]
        if not dims and max(fixed) < 0:  # unknowns without the dim, times values along it
            dims = {dim for dim in node.dims if self.start_of(dim) is not None}
        if len(dims) > 1 or (dims and max(fixed, default=-1) >= 0):
            raise NotAlongChain
        if not dims:
            return ChainAlignment(None, max(fixed))
        (dim,) = dims
        heads = [p.head for p in found.values() if p.dim is not None]
        for at, place in found.items():
            if place.dim is not None and node.kind != "concat" and (
                dim not in node.dims or not KINDS[node.kind].keeps_apart(node, at, dim)
            ):  # fmt: skip
                raise NotAlongChain
        return ChainAlignment(dim, max(heads, default=self.start_of(dim)))

    def _indexed(self, node: Node, place: ChainAlignment) -> ChainAlignment:
        item = next((item for item in node.attrs.items if item.dim is place.dim), None)
        if item is None or place.dim is None:
            return place
        length, taken = place.dim.length, item.payload
        if item.kind == "int":
            at = taken + length if taken < 0 and length is not None else taken
            if at >= 0:
                return ChainAlignment(None, at + place.head)
        if item.kind == "select" and isinstance(taken, Slice) and taken.step == 1:
            start = taken.start or 0
            start += length if start < 0 and length is not None else 0
            if start >= 0:
                return ChainAlignment(item.new_dim(()), place.head + start)
        raise NotAlongChain

    def _joined(self, node: Node, at: int, place: ChainAlignment) -> ChainAlignment:
        parts, whole = node.attrs
        if place.dim is not parts[at]:
            return place
        return ChainAlignment(whole, place.head - _length(parts[:at]))

    def _looped(self, node: Node, found: Mapping[int, ChainAlignment]) -> ChainAlignment:
        attrs = node.attrs
        plain = not (attrs.stops or attrs.counted or attrs.reverse or attrs.over is None)
        if not plain or attrs.output < attrs.n_states:
            raise NotAlongChain
        heads = [self.start_of(attrs.over)]
        for at, place in found.items():
            if attrs.n_states <= at < attrs.n_states + attrs.n_sequences:
                if place.dim is attrs.over:
                    heads.append(place.head)
                    continue
            if place.dim is not None:
                raise NotAlongChain
        if None in heads[:1]:
            heads.pop(0)
        if len(set(heads)) != 1:
            raise NotAlongChain
        fixed = [p.head for at, p in found.items() if at < attrs.n_states]
        if max(fixed, default=-1) >= heads[0]:
            raise NotAlongChain
        return ChainAlignment(attrs.over, heads[0])

    def start_of(self, dim: Dim) -> Any:
        """Return the chain position at which a slice of the chain begins; None for other dims."""
        if dim is self.time or is_sorted(self.time, dim):  # a loop along a ragged dim is sorted
            return 0
        if isinstance(dim, SelDim) and dim.parent is self.time:
            if isinstance(dim.selection, Slice) and dim.selection.step == 1:
                return dim.selection.start or 0
        return None

    def extent(self, place: ChainAlignment) -> tuple[int, int | None]:
        """Return the chain positions that an expression covers: first, and stop or None."""
        dim, head = place
        if dim is None:
            return head, head + 1
        if covers(dim, head, self.time):
            return head, None
        if dim.length is not None:
            return head, head + dim.length
        if isinstance(dim, SelDim) and isinstance(dim.selection, Slice):
            start, stop = dim.selection.start or 0, dim.selection.stop
            if dim.selection.step == 1 and stop is not None and 0 <= start < stop:
                return head, head + stop - start
        raise NotAlongChain

    def dependent_states(self, node: Node) -> frozenset[int]:
        """Return the numbers of those states of a loop that depend on unknowns."""
        key = loop_key(node)
        if key not in self._dependent_states:
            attrs, given = node.attrs, split_inputs(node.attrs, node.inputs)
            inside = toposort(attrs.region.outputs)
            n = attrs.n_states
            bound = attrs.region.bound
            outer = {bound[at] for at, x in enumerate(given.inputs) if self.depends(x)}
            while True:
                found = dependent(outer, inside)
                more = {bound[at] for at in range(n) if attrs.next_states[at] in found} | outer
                if more == outer:
                    break
                outer = more
            states = frozenset(at for at in range(n) if bound[at] in outer)
            self._dependent_states[key] = states
        return self._dependent_states[key]

    def carried(self, node: Node) -> int | None:
        """Return which state of a loop an output of it is after each step, or None."""
        attrs = node.attrs
        value, states = attrs.region.outputs[attrs.output], attrs.next_states[: attrs.n_states]
        return states.index(value) if value in states else None


def loop_key(node: Node) -> tuple[Any, ...]:
    """Return what the outputs of one loop have in common."""
    return (node.inputs, node.attrs._replace(output=0))


def _length(dims: Sequence[Dim]) -> int:
    if any(dim.length is None for dim in dims):
        raise NotAlongChain
    return sum(dim.length or 0 for dim in dims)


class Position:
    """Values of expressions at one position of a chain.

    Parameters
    ----------
    reader : ChainReader
    at : int or None
        The position, None for the current one of a loop.
    order : int
        Chain position at which the loop starts.

    Attributes
    ----------
    probes : dict
        Nodes that stand for elements of unknowns and states of loops, by key.
    sequences : dict of Node to Node
        Placeholders of elements of data, and the data along the dim of the loop.
    plain : dict of LoopState to Node
        Placeholders of states that depend on no unknown.
    loops : dict
        The node of each loop of which a step was taken, by key.
    delays : dict of Node to int
        By how many positions outputs of loops are read late, at most.
    """

    def __init__(self, reader: ChainReader, at: int | None, order: int):
        self.reader, self.at, self.order = reader, at, order
        self.probes: dict[Hashable, Node] = {}
        self.sequences: dict[Node, Node] = {}
        self.plain: dict[LoopState, Node] = {}
        self.loops: dict[Any, Node] = {}
        self.delays: dict[Node, int] = {}
        self._values: dict[tuple[Node, int], Node] = {}
        self._steps: dict[Any, tuple[Node, ...]] = {}
        self._elements: dict[tuple[Node, Dim, int], Node] = {}

    @property
    def loop_dim(self) -> Dim:
        """Dim of the loop: all positions after the initial ones."""
        return SelDim(self.reader.time, positions=slice(self.order, None))

    def probe(self, key: Hashable, node: Node, dims: Dims) -> Node:
        """Return the node that stands for a variable."""
        if key not in self.probes:
            self.probes[key] = tensor(None, dims, node.dtype).node
        return self.probes[key]

    def value(self, node: Node, back: int, dim: Dim | None = None) -> Node:
        """Return an expression at a number of positions before the current one.

        Parameters
        ----------
        node : Node
        back : int
        dim : Dim, optional
            The dim of a known expression that runs along the chain.
        """
        if not self.reader.depends(node):
            return node if dim is None or dim not in node.dims else self.element(node, dim, back)
        key = (node, back)
        if key not in self._values:
            self._values[key] = self._value(node, back)
        return self._values[key]

    def element(self, node: Node, dim: Dim, back: int) -> Node:
        """Return the element of a known expression."""
        if self.at is not None:
            return wrap(node).isel({dim: self.at - back}).node
        key = (node, dim, back)
        if key not in self._elements:
            loop, start = self.loop_dim, self.order - back
            if covers(dim, back, self.reader.time):
                cut = wrap(node).isel({dim: slice(start, None)}) if start else wrap(node)
                (own,) = without(cut.dims, without(node.dims, [dim]))
                whole = relabel_node(cut.node, (own, loop))
            elif dim.length is not None:  # beyond the end the last element, which is masked
                at = minimum(arange(loop) + start, dim.length - 1)
                whole = wrap(node).isel({dim: at}).node
            else:
                raise NotAlongChain
            leaf = tensor(None, without(node.dims, [dim]), node.dtype, node.categories).node
            self._elements[key], self.sequences[leaf] = leaf, whole
        return self._elements[key]

    def _value(self, node: Node, back: int) -> Node:
        reader = self.reader
        place, unknown = reader.place(node), reader.unknowns.get(node)
        if unknown is not None:
            dims = without(node.dims, [reader.time])
            if reader.time not in node.dims:
                return self.probe(unknown, node, dims)
            if back < 0 or (self.at is not None and back > self.at):
                raise NotAlongChain
            return self.probe(Lag(unknown, back), node, dims)
        dim = place.dim
        if node.kind == "loop":
            return self._stepped(node, back)
        if node.kind == "index":
            return self._indexed(node, back)
        if node.kind == "concat":
            return self._joined(node, back)
        if node.kind == "relabel":
            old = {new: old for old, new in node.attrs.pairs}
            x = self.value(node.inputs[0], back, old.get(dim, dim) if dim else None)
            return apply_movement(node, x, ())
        if node.kind == "check":
            return self.value(node.inputs[0], back, dim)
        inputs = tuple(self.value(x, back, dim) for x in node.inputs)
        if node.kind == "expand":
            return expand_node(inputs[0], without(node.dims, [] if dim is None else [dim]))
        if node.kind == "merge":
            return apply_movement(node, inputs[0], ())
        if node.kind in ("reduce", "stack", "split"):
            whole = [expand_node(x, without(old.dims, [] if dim is None else [dim]))
                     for x, old in zip(inputs, node.inputs, strict=True)]  # fmt: skip
            return make(node.kind, tuple(whole), node.attrs)
        attrs = node.attrs
        if node.kind == "apply" and isinstance(attrs.function, BatchedFunction):
            attrs = with_own_columns(attrs, inputs)
        return make(node.kind, inputs, attrs)

    def _indexed(self, node: Node, back: int) -> Node:
        x, *indexers = node.inputs
        before = self.reader.place(x)
        item = next((item for item in node.attrs.items if item.dim is before.dim), None)
        if item is None or before.dim is None:
            dim = before.dim
        elif item.kind == "int":
            fixed = item.payload + (len(before.dim) if item.payload < 0 else 0)
            if self.at is None or fixed > self.at:
                raise NotAlongChain
            back, dim = self.at - fixed, None
        else:
            start = item.payload.start or 0
            back = back - (start + len(before.dim) if start < 0 else start)
            dim = before.dim
        inner = self.value(x, back)
        return apply_movement(node, inner, [self.value(i, back, dim) for i in indexers])

    def _joined(self, node: Node, back: int) -> Node:
        parts, whole = node.attrs
        if self.reader.place(node).dim is not whole:
            dim = self.reader.place(node).dim
            beside = [] if dim is None else [dim]
            inputs = [
                expand_node(self.value(x, back, dim), without(old.dims, beside))
                for x, old in zip(node.inputs, node.inputs, strict=True)
            ]
            return make("concat", tuple(inputs), node.attrs)
        before = 0
        for at, (x, part) in enumerate(zip(node.inputs, parts, strict=True)):
            last = at == len(parts) - 1
            end = None if last else before + _length([part])
            now = self.order - back if self.at is None else self.at - back
            if end is None or now < end:
                if not last and self.at is None:
                    raise StartsLater
                return self.value(x, back + before, part)
            before = end
        raise AssertionError

    def _stepped(self, node: Node, back: int) -> Node:
        """Return an output of the current step of a loop, or of an earlier one."""
        by = back - self.reader.place(node).head
        if by < 0:
            raise NotAlongChain
        if by:
            self.delays[node] = max(by, self.delays.get(node, 0))
            dims, number = without(node.dims, [node.attrs.over]), self.reader.carried(node)
            if by == 1 and number is not None:
                init = split_inputs(node.attrs, node.inputs).init[number]
                before = self.probe(LoopState(loop_key(node), number), init, init.dims)
                return expand_node(before, dims)
            return self.probe(Delayed(node, by), node, dims)
        key = loop_key(node)
        if key not in self._steps:
            attrs, given = node.attrs, split_inputs(node.attrs, node.inputs)
            hidden, values = self.reader.dependent_states(node), list[Node]()
            for at, x in enumerate(given.init):
                state = LoopState(key, at)
                if at in hidden:
                    values.append(self.probe(state, x, x.dims))
                else:
                    if state not in self.plain:
                        self.plain[state] = tensor(None, x.dims, x.dtype, x.categories).node
                    values.append(self.plain[state])
            for x in given.sequences:
                dims = without(x.dims, [attrs.over])
                values.append(expand_node(self.value(x, back, attrs.over), dims))
            for x in given.captured:
                values.append(expand_node(self.value(x, back), x.dims))
            bound = attrs.region.bound
            known = {leaf: x for leaf, x in zip(bound, values, strict=True) if leaf is not x}
            self._steps[key] = tuple(rebuild(attrs.region.outputs, known))
            self.loops[key] = node
        return self._steps[key][node.attrs.output]

    def next_states(self, node: Node) -> tuple[Node, ...]:
        """Return the states of a loop after its current step."""
        given = split_inputs(node.attrs, node.inputs)
        after = self._steps[loop_key(node)][: node.attrs.n_states]
        return tuple(
            expand_node(x, type_of(old).dims) for x, old in zip(after, given.init, strict=True)
        )
