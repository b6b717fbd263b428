"""One loop nest: the order of its loops, and what stands before, inside and after each of them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.basic import Alloc

from dimtensor.kernels.elements import Place, Term
from dimtensor.kernels.scalars import combine, identity, literal

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter, Scope

_MOST_LOOPS_TO_PERMUTE = 5


@dataclass
class _Sink:
    kind: str
    place: Place | str  # an array, or a scalar's name
    index: tuple[Any, ...]
    value: Any
    dtype: str
    operation: str = ""


class Nest:
    """Collects what a nest stores, then writes it."""

    def __init__(self, emitter: Emitter, scope: Scope, loops: dict):
        self.e = emitter
        self.scope = scope
        self.loops = list(loops.values())
        self.sinks: list[_Sink] = []
        self.results: list[tuple[Variable, Place]] = []
        self._partials: dict[tuple[str, str], str] = {}

    # -- what is computed -------------------------------------------------------------------------

    def store(self, target: Variable, index: tuple[Term, ...], value: Term) -> None:
        place = self._array(target, None)
        self.sinks.append(_Sink("store", place, index, value, target.type.dtype))

    def reduce(self, node: Apply, kept: tuple[Term, ...], value: Term) -> None:
        target = node.outputs[0]
        operation = type(node.op.scalar_op).__name__
        dtype = target.type.dtype
        if node.inputs[0].type.dtype != dtype:
            value = Term(f"np.{dtype}({value.text})", value.loops)
        if operation in ("Maximum", "Minimum"):
            self._refuse_empty(node)
        deepest = {loop for term in kept for loop in term.loops}
        if target.type.ndim == 0:
            place: Place | str = self.e.fresh("s")
            self.e.scalars[target] = Term(place)
        else:
            start = None if deepest == set(self.loops) else identity(operation, dtype)
            place = self._array(target, start)
        self.sinks.append(_Sink("reduce", place, kept, value, dtype, operation))

    def _refuse_empty(self, node: Apply) -> None:
        x = node.inputs[0]
        axes = range(x.type.ndim) if node.op.axis is None else node.op.axis
        for axis in axes:
            length = self.e.length(x, axis)
            if not length.isdigit() or length == "0":
                self.e.lines.append(f"if {length} == 0:")
                self.e.lines.append(
                    "    raise ValueError('max and min of no elements have no value')"
                )

    def scatter(self, node: Apply, places: tuple[Term, ...], value: Term) -> None:
        target = node.outputs[0]
        place = self._updated(node)
        self.results.append((target, place))
        operation = "=" if node.op.set_instead_of_inc else "+="
        self.sinks.append(_Sink("scatter", place, places, value, target.type.dtype, operation))

    def _array(self, target: Variable, start: str | None) -> Place:
        """A new array, filled where elements are accumulated in it."""
        place = self.e.allocate(target, start)
        self.results.append((target, place))
        return place

    def _updated(self, node: Apply) -> Place:
        """The array that an update works on: a new one, a copy, or one that nobody else reads."""
        x, target = node.inputs[0], node.outputs[0]
        made = x.owner
        if x not in self.e.places and made is not None and isinstance(made.op, Alloc):
            value = made.inputs[0]
            assert isinstance(value, Constant)
            return self.e.allocate(target, literal(value.data.reshape(()), x.type.dtype))
        source = self.e.place(x)
        alone = len(self.e.graph.clients.get(x, ())) == 1 and x in self.e.owned
        if alone and target not in self.e.destinations:
            self.e.owned.add(target)
            return source
        return self.e.allocate(target, source)

    # -- writing ----------------------------------------------------------------------------------

    def _order(self) -> list[str]:
        """Loops such that the innermost one walks memory in order wherever that can be had."""
        accesses = list(self.scope.accesses)
        accesses += [tuple(t.loops for t in sink.index) for sink in self.sinks if sink.index]
        if len(self.loops) < 2 or len(self.loops) > _MOST_LOOPS_TO_PERMUTE:
            return list(self.loops)
        return list(min(itertools.permutations(self.loops), key=lambda o: _cost(o, accesses)))

    def write(self) -> None:
        order = self._order()
        depth = len(order)
        before: list[list[str]] = [[] for _ in range(depth + 1)]
        after: list[list[str]] = [[] for _ in range(depth + 1)]

        def level(loops: Any) -> int:
            return max((order.index(loop) + 1 for loop in loops), default=0)

        for name, text, loops in self.scope.temporaries:
            before[level(loops)].append(f"{name} = {text}")
        inner: list[str] = []
        for sink in sorted(self.sinks, key=lambda sink: -level(_kept(sink))):
            self._write_sink(sink, order, level, before, inner, after)
        before[depth] += inner
        self._write_levels(order, before, after)
        for target, place in self.results:
            self.e.places[target] = place

    def _write_sink(
        self,
        sink: _Sink,
        order: list[str],
        level: Any,
        before: list[list[str]],
        inner: list[str],
        after: list[list[str]],
    ) -> None:
        place = sink.place if isinstance(sink.place, str) else sink.place.at(sink.index)
        value = sink.value.text
        if sink.kind == "store":
            inner.append(f"{place} = {value}")
            return
        if sink.kind == "scatter":
            inner.append(f"{place} {sink.operation} {value}")
            return
        kept = _kept(sink)
        deepest = level(kept)
        if kept == set(order):
            inner.append(f"{place} = {value}")
            return
        if deepest == len(order):
            inner.append(combine(sink.operation, place, value, sink.dtype))
            return
        total = place if isinstance(sink.place, str) else self.e.fresh("a")
        before[deepest].append(f"{total} = {identity(sink.operation, sink.dtype)}")
        # the innermost loop adds up in a variable of its own, which sums over more loops share
        partial = self._partials.get((value, sink.operation))
        if partial is None:
            partial = total if deepest == len(order) - 1 else self.e.fresh("a")
            self._partials[value, sink.operation] = partial
            if partial != total:
                before[-2].append(f"{partial} = {identity(sink.operation, sink.dtype)}")
            inner.append(combine(sink.operation, partial, value, sink.dtype))
        if partial != total:
            after[-2].append(combine(sink.operation, total, partial, sink.dtype))
        if not isinstance(sink.place, str):
            if kept == set(order[:deepest]):
                after[deepest].append(f"{place} = {total}")
            else:
                after[deepest].append(combine(sink.operation, place, total, sink.dtype))

    def _write_levels(
        self, order: list[str], before: list[list[str]], after: list[list[str]]
    ) -> None:
        lines = self.e.lines
        for at in range(len(order) + 1):
            indent = "    " * at
            lines += [indent + line for line in before[at]]
            if at < len(order):
                lines.append(f"{indent}for {order[at]} in range({self.e.loop_lengths[order[at]]}):")
        for at in range(len(order), -1, -1):
            lines += ["    " * at + line for line in after[at]]


def _kept(sink: _Sink) -> set[str]:
    """Loops that a result is not reduced over."""
    return {loop for term in sink.index for loop in term.loops}


def _cost(order: tuple[str, ...], accesses: list[tuple[frozenset, ...]]) -> float:
    """Strided steps of the innermost loop, then inversions of axes, weighted by the loops used."""
    innermost = order[-1]
    cost = 0.0
    for access in accesses:
        used = frozenset().union(*access)
        weight = 10.0 ** len(used)
        if innermost in used and innermost not in access[-1]:
            cost += weight
        ranks = [
            max((order.index(loop) for loop in loops), default=-1) for loops in access if loops
        ]
        inversions = sum(a > b for a, b in itertools.combinations(ranks, 2))
        cost += 0.1 * weight * inversions
    return cost
