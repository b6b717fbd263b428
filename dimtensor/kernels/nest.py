"""One loop nest: the order of its loops, and what stands before, inside and after each of them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.basic import Alloc

from dimtensor.kernels import selected, strips, totals, unrolled
from dimtensor.kernels.elements import Place, Term, new_array
from dimtensor.kernels.scalars import combine, identity, literal

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter
    from dimtensor.kernels.scopes import Scope

_MOST_LOOPS_TO_PERMUTE = 5


@dataclass
class _Sink:
    kind: str
    target: Variable
    index: tuple[Any, ...]
    value: Any
    operation: str = ""
    node: Apply | None = None
    place: Place | str = ""  # an array, or a scalar's name

    @property
    def dtype(self) -> str:
        return self.target.type.dtype

    @property
    def kept(self) -> set[str]:
        """Loops that the result is not reduced over."""
        return {loop for term in self.index for loop in term.loops}

    @property
    def text(self) -> str:
        return self.place if isinstance(self.place, str) else self.place.at(self.index)


class Nest:
    """Collects what a nest stores, then writes it."""

    def __init__(self, emitter: Emitter, scope: Scope, loops: dict, number: int):
        self.e = emitter
        self.scope = scope
        self.loops = list(loops.values())
        self.number = number
        self.sinks: list[_Sink] = []
        self._partials: dict[tuple[str, str], str] = {}
        self._parts: dict[tuple[str, str], str] = {}
        self._blocks = totals.Blocks()
        self._level = self._rounds = 0  # of the loops outside of blocks
        self._afterwards: list[str] = []
        self._places: dict[Variable, Place] = {}
        self._reused: set[str] = set()

    # -- what is computed -------------------------------------------------------------------------

    def store(self, target: Variable, index: tuple[Term, ...], value: Term) -> None:
        self.sinks.append(_Sink("store", target, index, value))

    def reduce(self, node: Apply, kept: tuple[Term, ...], value: Term) -> None:
        target = node.outputs[0]
        operation = type(node.op.scalar_op).__name__
        dtype = target.type.dtype
        if node.inputs[0].type.dtype != dtype:
            value = Term(f"np.{dtype}({value.text})", value.loops)
        self.sinks.append(_Sink("reduce", target, kept, value, operation, node))

    def scatter(self, node: Apply, places: tuple[Term, ...], value: Term) -> None:
        operation = "=" if node.op.set_instead_of_inc else "+="
        self.sinks.append(_Sink("scatter", node.outputs[0], places, value, operation, node))

    # -- where it is stored -----------------------------------------------------------------------

    def _provide(self, sink: _Sink, order: list[str], names: set[str]) -> None:
        """Memory for a result."""
        if sink.kind == "scatter":
            sink.place = self._updated(sink, order, names)
        elif sink.target.type.ndim == 0:
            sink.place = self.e.fresh("s")
            self.e.scalars[sink.target] = Term(sink.place)
        elif sink.kind == "reduce":
            outer = max((order.index(loop) + 1 for loop in sink.kept), default=0)
            if sink.kept == set(order[:outer]):  # stored once
                sink.place = self.e.allocate(sink.target)
            else:
                sink.place = self._sums(sink)
        else:
            sink.place = self._overwritten(sink) or self.e.allocate(sink.target)

    def _overwritten(self, sink: _Sink) -> Place | None:
        """An array that is read for the last time, element by element where this is stored."""
        own = tuple(term.text for term in sink.index)
        read: dict[Variable, set] = {}
        for variable, index, *computed in self.scope.memo:
            if not computed:
                read.setdefault(variable, set()).add(index)
        for variable, indices in read.items():
            if indices != {own} or not self.e.is_free_after(variable, self.number, sink.target):
                continue
            place = self.e.places[variable]
            if place.name not in self._reused:
                self._reused.add(place.name)
                self.e.owned.add(sink.target)
                return place
        return None

    def _updated(self, sink: _Sink, order: list[str], names: set[str]) -> Place:
        """The array that an update works on: a new one, a copy, or one that nobody else reads."""
        assert sink.node is not None
        x, target = sink.node.inputs[0], sink.target
        made = x.owner
        if x not in self.e.places and made is not None and isinstance(made.op, Alloc):
            value = made.inputs[0]
            assert isinstance(value, Constant)
            number = literal(value.data.reshape(()), x.type.dtype)
            adds = sink.operation == "+=" and value.data == 0
            if adds and (number == "0.0" or sink.dtype in totals.NARROW):
                return self._ways(sink, order, names)
            return self.e.allocate(target, number)
        source = self.e.place(x)
        alone = len(self.e.graph.clients.get(x, ())) == 1 and x in self.e.owned
        if alone and target not in self.e.destinations:
            self.e.owned.add(target)
            return source
        return self.e.allocate(target, source)

    def _is_serial(self, sink: _Sink, names: set[str]) -> bool:
        """Whether an update may meet the same element again: where it is depends on data."""
        return bool(self.loops and sink.kind == "scatter") and any(
            not names.isdisjoint(strips.Line(term.text).uses) for term in sink.index
        )

    def _ways(self, sink: _Sink, order: list[str], names: set[str]) -> Place:
        """Several arrays to add up in by turns, if they are small beside what is added."""
        e = self.e
        if not self._is_serial(sink, names):
            return self._sums(sink)
        lengths = [e.length(sink.target, axis) for axis in range(sink.target.type.ndim)]
        size, steps = " * ".join(lengths), " * ".join(e.loop_lengths[loop] for loop in order)
        ways = strips.WAYS
        if size.replace(" * ", "").isdigit() and steps.replace(" * ", "").isdigit():
            if ways * math.prod(map(int, size.split(" * "))) > math.prod(
                map(int, steps.split(" * "))
            ):
                return self._sums(sink)
            mask = str(ways - 1)
        else:
            mask = e.fresh("m")
            e.lines.append(f"{mask} = {ways - 1} if {ways} * {size} <= {steps} else 0")
        place = self._wide(sink, str(ways) if mask.isdigit() else f"{mask} + 1")
        return Place(place.name, (f"{order[-1]} & {mask}",), early=False)

    def _sums(self, sink: _Sink) -> Place:
        """An array to reduce in."""
        operation = "Add" if sink.operation == "+=" else sink.operation
        if operation == "Add" and sink.dtype in totals.NARROW:
            return self._wide(sink, "1")
        return self.e.allocate(sink.target, identity(operation, sink.dtype))

    def _wide(self, sink: _Sink, count: str) -> Place:
        """Arrays to add up in, of double precision; their sum is stored after the loops."""
        e = self.e
        lengths = [e.length(sink.target, axis) for axis in range(sink.target.type.ndim)]
        place = e.allocate(sink.target, literal(0, sink.dtype))
        name = e.fresh("w")
        shape = f"({', '.join([count, *lengths])},)"
        e.lines.append(f"{name} = {new_array(shape, 'float64', '0.0')}")
        counters = [e.fresh("i") for _ in lengths]
        at = "".join(f", {counter}" for counter in counters)
        way = e.fresh("k")
        lines = [f"for {way} in range({count}):"]
        for depth, (counter, length) in enumerate(zip(counters, lengths, strict=True)):
            lines.append(f"{'    ' * (depth + 1)}for {counter} in range({length}):")
        indent = "    " * (len(lengths) + 1)
        lines.append(f"{indent}{place.at([Term(c) for c in counters])} += {name}[{way}{at}]")
        self._afterwards += lines
        self._places[sink.target] = place
        return Place(name, ("0",), early=False)

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
        lengths = [self.e.loop_lengths[name] for name in order]
        self._level, self._rounds = totals.levels(lengths)
        before: list[list[str]] = [[] for _ in range(depth + 1)]
        after: list[list[str]] = [[] for _ in range(depth + 1)]

        def level(loops: Any) -> int:
            return max((order.index(loop) + 1 for loop in loops), default=0)

        inner = []
        for name, text, loops in self.scope.temporaries:
            if level(loops) == depth:
                dtype = self.scope.dtypes[name]
                call = name in self.scope.calls
                inner.append(strips.Line(f"{name} = {text}", name, dtype, call))
            else:
                before[level(loops)].append(f"{name} = {text}")
        names = {line.name for line in inner if line.name is not None}
        for sink in self.sinks:
            self._provide(sink, order, names)
        inner = selected.on_demand(inner, self._named_by_sinks())
        for line in inner:
            line.is_load = line.text.endswith("]") and line.uses.isdisjoint(names | self._reused)
        for sink in sorted(self.sinks, key=lambda sink: -level(sink.kept)):
            text = self._sink_line(sink, order, level, before, after)
            if text is not None:
                inner.append(strips.Line(text, is_serial=self._is_serial(sink, names)))
        own = self._blocks if self._level == depth else totals.Blocks()
        if depth and strips.pays(inner, lengths[-1]):
            written, made = strips.write(inner, order[-1], lengths[-1], own, self.e.fresh)
            self.e.early += made
            before[depth - 1] += written
            del order[-1]
        else:
            before[depth] += [line.text for line in inner]
            self._unroll(order, level, before, after)
        self.e.lines += self._levels(order, before, after)
        self.e.lines += self._afterwards
        for sink in self.sinks:
            if isinstance(sink.place, Place):
                self.e.places[sink.target] = self._places.get(sink.target, sink.place)

    def _named_by_sinks(self) -> set[str]:
        """Temporaries that results are made of, or positions of them."""
        texts = [sink.value.text for sink in self.sinks]
        texts += [term.text for sink in self.sinks for term in sink.index]
        return {name for text in texts for name in strips.names_in(text)}

    def _unroll(
        self, order: list[str], level: Any, before: list[list[str]], after: list[list[str]]
    ) -> None:
        """Write the two innermost loops several rounds at a time, if those add to the same."""
        kinds = {sink.kind for sink in self.sinks}
        adds = any(
            sink.kind == "reduce" and order[-1] in sink.kept and order[-2] not in sink.kept
            for sink in self.sinks
            if len(order) > 1
        )
        if not adds or "scatter" in kinds:
            return
        lengths = self.e.loop_lengths[order[-2]], self.e.loop_lengths[order[-1]]
        count = unrolled.rounds(len(before[-1]) + len(before[-2]), lengths[0])
        if count == 1 or (self._blocks.head and self._level == len(order) - 1):
            return
        body = before[-2], before[-1], after[-2]
        own = self._blocks if self._level == len(order) else totals.Blocks()
        written = unrolled.write((order[-2], order[-1]), lengths, body, count, own, self.e.fresh)
        del order[-2:], before[-2:], after[-2:]
        before[-1] += written

    def _sink_line(
        self,
        sink: _Sink,
        order: list[str],
        level: Any,
        before: list[list[str]],
        after: list[list[str]],
    ) -> str | None:
        """What a result needs in the innermost loop, if anything; also what is around it."""
        place, value = sink.text, sink.value.text
        if sink.kind == "scatter":
            return f"{place} {sink.operation} {value}"
        kept = sink.kept
        deepest = level(kept)
        if sink.kind == "store" or kept == set(order):
            return f"{place} = {value}"
        if deepest == len(order):
            return combine(sink.operation, place, value, sink.dtype)
        if deepest < self._level and totals.is_blocked(sink.operation, sink.dtype):
            return self._blocked(sink, deepest, order, before, after)
        start = identity(sink.operation, sink.dtype)
        total = place if isinstance(sink.place, str) else self.e.fresh("a")
        before[deepest].append(f"{total} = {start}")
        # the innermost loop adds up in a variable of its own, which sums over more loops share
        line = None
        partial = self._partials.get((value, sink.operation))
        if partial is None:
            partial = total if deepest == len(order) - 1 else self.e.fresh("a")
            self._partials[value, sink.operation] = partial
            if partial != total:
                before[-2].append(f"{partial} = {start}")
            line = combine(sink.operation, partial, value, sink.dtype)
        if partial != total:
            after[-2].append(combine(sink.operation, total, partial, sink.dtype))
        self._store_total(sink, total, deepest, order, after)
        return line

    def _store_total(
        self, sink: _Sink, total: str, deepest: int, order: list[str], after: list[list[str]]
    ) -> None:
        if isinstance(sink.place, str):
            return
        if sink.kept == set(order[:deepest]):
            after[deepest].append(f"{sink.text} = {total}")
        else:
            after[deepest].append(combine(sink.operation, sink.text, total, sink.dtype))

    def _blocked(
        self,
        sink: _Sink,
        deepest: int,
        order: list[str],
        before: list[list[str]],
        after: list[list[str]],
    ) -> str | None:
        """A sum whose loops are run block by block."""
        fresh, key = self.e.fresh, (sink.value.text, sink.operation)
        line = None
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = fresh("a")
            self._blocks.add(part, sink.dtype)
            if self._level == len(order):
                line = f"{part} += {sink.value.text}"
            else:
                if key not in self._partials:
                    self._partials[key] = fresh("a")
                    before[-2].append(f"{self._partials[key]} = {totals.zero(sink.dtype)}")
                    line = f"{self._partials[key]} += {sink.value.text}"
                after[-2].append(f"{part} += {self._partials[key]}")
        total = sink.place if isinstance(sink.place, str) else fresh("a")
        start, end = self._blocks.into(total, part, sink.dtype, fresh)
        before[deepest] += start
        after[deepest].append(end)
        self._store_total(sink, total, deepest, order, after)
        return line

    def _levels(
        self, order: list[str], before: list[list[str]], after: list[list[str]], at: int = 0
    ) -> list[str]:
        """What is inside of the first loops."""
        lines = list(before[at])
        if at < len(order):
            inside = self._levels(order, before, after, at + 1)
            length = self.e.loop_lengths[order[at]]
            own = self._blocks if at == self._level - 1 else None
            lines += totals.loop(order[at], length, inside, own, self.e.fresh, self._rounds)
        return lines + after[at]


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
