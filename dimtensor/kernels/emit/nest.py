"""Loop nests: the order of the loops, and the statements before, inside and after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.tensor.basic import Alloc

from dimtensor.graph.dtypes import accumulator
from dimtensor.kernels.emit import loop_order
from dimtensor.kernels.ir.make import (
    ONE,
    ZERO,
    cast,
    integer,
    is_zero,
    known,
    known_product,
    number,
    op,
    product,
    select,
)
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Array,
    Assign,
    Expression,
    For,
    Load,
    Names,
    Statement,
    Store,
    Var,
)
from dimtensor.kernels.passes import (
    totals,
)
from dimtensor.kernels.rules.elementwise import Index, Place, counter, restrict
from dimtensor.kernels.rules.scalars import combine, identity, reduction_of
from dimtensor.ops.positions import GroupExtreme
from dimtensor.optimize.plan.axis_lengths import selection_of
from dimtensor.optimize.plan.plan import Group, Task
from dimtensor.optimize.plan.signatures import core_op
from dimtensor.tuning import FLOAT32_TERMS, SCATTER_COPIES, TRIANGLE_COLUMNS

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter
    from dimtensor.kernels.emit.scopes import Scope

Level = Callable[[Names], int]
Lists = list[list[Statement]]


@dataclass
class Segments:
    """Loop over segments around the loop along each.

    Attributes
    ----------
    within, at : Var
        The counters of both.
    owners : Variable
        The segment of each position.
    ends : Place
        The end of each segment.
    """

    within: Var
    at: Var
    owners: Variable
    ends: Place

    def limits(self, scope: Scope, length: Expression) -> tuple[Expression, Expression]:
        """Return the first position of a segment, and the one after its last, within a length."""
        before = op("max", op("-", self.within, ONE), ZERO)
        reached = select(op("==", self.within, ZERO), ZERO, self.ends.at((before,)))
        found = []
        for each in (reached, self.ends.at((self.within,))):
            inside = op("min", op("max", each, ZERO), length)
            found.append(scope.temporary(inside, self.within.loops))
        return found[0], found[1]


def segments_of(e: Emitter, group: Group, loops: dict[Any, Var]) -> list[Segments]:
    """Make loops along segments depend on loops over them."""
    found: list[Segments] = []
    for axis, node in e.plan.segments.items():
        if group.walks(node, (axis, 0)):
            ends, owners = node.inputs[0], node.outputs[0]
            within, name = counter(f"p{len(found)}"), loops[axis, 0].name
            loops[axis, 0] = at = Var(name, "int64", frozenset((name, within.name)))
            e.loop_lengths[within.name] = e.length(ends, 0)
            found.append(Segments(within, at, owners, e.place(ends)))
    return found


def scattered(e: Emitter, task: Task, index: Index, scope: Scope, nest: Nest) -> None:
    """Add an update to a nest, or the extremes of groups."""
    node = task.node
    assert node is not None
    core = core_op(node)
    if isinstance(core, GroupExtreme):
        x, codes, _ = node.inputs[:3]
        of = e.element(codes, restrict(codes, index[-codes.type.ndim :]), scope)
        nest.extreme(node, core.which, (*index[:-1], of), e.element(x, index, scope))
        return
    value = node.inputs[1]
    own = index[len(index) - value.type.ndim :]
    element = e.element(value, restrict(value, own), scope)
    places = e.source_index(selection_of(node).owner, index, scope)
    nest.scatter(node, index, places, element)


@dataclass
class _Sink:
    kind: str
    target: Variable
    index: Index
    value: Expression
    operation: str = ""
    node: Apply | None = None
    place: Place | Var | None = None  # an array, or the variable of a number
    turns: tuple[str, ...] = ()  # loops in the order in which values of one place are set

    @property
    def dtype(self) -> str:
        return str(self.target.type.dtype)

    @property
    def kept(self) -> Names:
        """Loops over the kept axes, which the result is not reduced over."""
        return NOTHING.union(*(each.loops for each in self.index))

    @property
    def where(self) -> Var | Load:
        assert self.place is not None
        return self.place if isinstance(self.place, Var) else self.place.at(self.index)


class Nest:
    """Collector of the results of a loop nest, which then writes its loops."""

    def __init__(
        self,
        emitter: Emitter,
        scope: Scope,
        loops: Sequence[Var],
        number: int,
        below: tuple[str, ...] = (),
        segments: Sequence[Segments] = (),
    ):
        self.e = emitter
        self.scope = scope
        self.segments = {each.at.name: each for each in segments}
        around = [each.within for each in segments]
        self.counters = {each.name: each for each in (*around, *loops)}
        self.loops = list(self.counters)
        for each in segments:
            scope.owners[each.owners, (each.at,)] = each.within
        self.below = below  # the loops over rows and columns of a triangle, if any
        self.number = number
        self.sinks: list[_Sink] = []
        self._partials: dict[tuple[Expression, str], Var] = {}
        self._afterwards: list[Statement] = []
        self._places: dict[Variable, Place] = {}
        self._reused: set[str] = set()

    # -- what is computed -------------------------------------------------------------------------

    def store(self, target: Variable, index: Index, value: Expression) -> None:
        self.sinks.append(_Sink("store", target, index, value))

    def reduce(self, node: Apply, kept: Index, value: Expression) -> None:
        target = node.outputs[0]
        operation = reduction_of(node.op.scalar_op)
        dtype = target.type.dtype
        if node.inputs[0].type.dtype != dtype:
            value = cast(value, dtype)
        self.sinks.append(_Sink("reduce", target, kept, value, operation, node))

    def scatter(self, node: Apply, index: Index, places: Index, value: Expression) -> None:
        operation = "set" if node.op.set_instead_of_inc else "+"
        sink = _Sink("scatter", node.outputs[0], places, value, operation, node)
        for other in self.sinks:  # they add to one array, which is the result of the last one
            if other.target is node.inputs[0]:
                other.target = sink.target
        if operation == "set":  # of several values for one place the last stays
            walked = NOTHING.union(*(place.loops for place in places if place not in index))
            sink.turns = tuple(name for each in index for name in each.loops if name in walked)
        self.sinks.append(sink)

    def extreme(self, node: Apply, which: str, places: Index, value: Expression) -> None:
        self.sinks.append(_Sink("scatter", node.outputs[0], places, value, which, node))

    # -- where it is stored -----------------------------------------------------------------------

    def _provide(self, sink: _Sink, order: list[str], names: Names) -> None:
        """Provide the memory of a result."""
        if sink.kind == "scatter":
            same = [each.place for each in self.sinks if each.target is sink.target and each.place]
            sink.place = same[0] if same else self._updated(sink, order, names)
        elif sink.target.type.ndim == 0:
            sink.place = Var(self.e.fresh("s"), sink.dtype)
            self.e.scalars[sink.target] = sink.place
        elif sink.kind == "reduce":
            outer = max((order.index(loop) + 1 for loop in sink.kept), default=0)
            if sink.kept == frozenset(order[:outer]):  # stored once
                sink.place = self.e.allocate(sink.target)
            else:
                sink.place = self._sums(sink)
        else:
            sink.place = self._overwritten(sink) or self.e.allocate(sink.target)

    def _overwritten(self, sink: _Sink) -> Place | None:
        """Return an array that is dead after it is read elementwise, to store the result in."""
        own = sink.index
        read: dict[Variable, set[Index]] = {}
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

    def _updated(self, sink: _Sink, order: list[str], names: Names) -> Place:
        """Return the array that an update modifies: a new one, a copy, or a dead one."""
        assert sink.node is not None
        x, target = sink.node.inputs[0], sink.target
        if sink.operation in ("min", "max"):
            return self.e.allocate(target, identity(sink.operation, sink.dtype))
        made = x.owner
        if x not in self.e.places and made is not None and isinstance(made.op, Alloc):
            value = made.inputs[0]
            assert isinstance(value, Constant)
            start = number(value.data.reshape(()), x.type.dtype)
            if sink.operation == "+" and is_zero(start) and sink.dtype in totals.ROUNDED:
                return self._ways(sink, order, names)
            return self.e.allocate(target, start)
        source = self.e.place(x)
        alone = len(self.e.graph.clients.get(x, ())) == 1 and x in self.e.owned
        if alone and target not in self.e.destinations:
            self.e.owned.add(target)
            place = source
        else:
            place = self.e.allocate(target, source)
        return self._wide(sink, ONE, place) if self._adds_many(sink, order, names) else place

    def _adds_many(self, sink: _Sink, order: list[str], names: Names) -> bool:
        """Return True if a single-precision element may get so many terms that it loses digits."""
        if sink.operation != "+" or sink.dtype not in totals.NARROW:
            return False
        steps = known_product([self.e.loop_lengths[loop] for loop in order])
        return self._is_serial(sink, names) and (steps is None or steps > FLOAT32_TERMS)

    def _is_serial(self, sink: _Sink, names: Names) -> bool:
        """Return whether an update may revisit elements, because its positions are data."""
        return bool(self.loops and sink.kind == "scatter") and any(
            not names.isdisjoint(each.uses) for each in sink.index
        )

    def _ways(self, sink: _Sink, order: list[str], names: Names) -> Place:
        """Return several arrays to accumulate in by turns, if they are small."""
        e = self.e
        if not self._is_serial(sink, names):
            return self._sums(sink)
        lengths = [e.length(sink.target, axis) for axis in range(sink.target.type.ndim)]
        rounds, ways = [e.loop_lengths[loop] for loop in order], self._number_of_ways(names)
        if ways == 1:
            return self._sums(sink)
        size, steps = known_product(lengths), known_product(rounds)
        mask: Expression
        count: Expression
        if size is not None and steps is not None:
            if ways * size > steps:
                return self._sums(sink)
            mask, count = integer(ways - 1), integer(ways)
        else:
            mask = Var(e.fresh("m"), "int64")
            are_few = op("<=", op("*", integer(ways), *lengths), product(rounds))
            e.lines.append(Assign(mask, select(are_few, integer(ways - 1), ZERO)))
            count = op("+", mask, ONE)
        place = self._wide(sink, count)
        return Place(place.array, (op("&", counter(order[-1]), mask),), early=False)

    def _number_of_ways(self, names: Names) -> int:
        """Return the number of accumulators of an update by data, which take turns."""
        serial = sum(self._is_serial(sink, names) for sink in self.sinks)
        return max(SCATTER_COPIES >> (serial - 1).bit_length(), 1)

    def _sums(self, sink: _Sink) -> Place:
        """Return an array to reduce in."""
        if sink.operation == "+" and sink.dtype in totals.NARROW:
            return self._wide(sink, ONE)
        return self.e.allocate(sink.target, identity(sink.operation, sink.dtype))

    def _wide(self, sink: _Sink, count: Expression, place: Place | None = None) -> Place:
        """Return accumulators in double precision, added to the result after the loops."""
        e = self.e
        lengths = [e.length(sink.target, axis) for axis in range(sink.target.type.ndim)]
        place = place or e.allocate(sink.target, number(0, sink.dtype))
        dtype = accumulator(sink.dtype)
        wide = Array(e.fresh("w"), dtype, 1 + len(lengths))
        e.lines.append(Allocate(wide, (count, *lengths), number(0, dtype)))
        at = [Var(e.fresh("i"), "int64") for _ in lengths]
        way = Var(e.fresh("k"), "int64")
        adding: Statement = Accumulate("+", place.at(at), Load(wide, (way, *at)))
        for each, length in reversed([(way, count), *zip(at, lengths, strict=True)]):
            adding = For(each, length, (adding,))
        self._afterwards.append(adding)
        self._places[sink.target] = place
        return Place(wide, (ZERO,), early=False)

    # -- writing ----------------------------------------------------------------------------------

    def _order(self) -> list[str]:
        """Order the loops such that the innermost one accesses contiguous memory if possible."""
        accesses = list(self.scope.accesses)
        accesses += [tuple(t.loops for t in sink.index) for sink in self.sinks if sink.index]
        turns = [sink.turns for sink in self.sinks if len(sink.turns) > 1]
        turns += [(each.within.name, at) for at, each in self.segments.items()]
        return loop_order.best(self.loops, accesses, [*turns, self.below])

    def _stop(self, name: str) -> Expression:
        """Return the end of a loop; over the columns of a triangle it is near the diagonal."""
        length = self.e.loop_lengths[name]
        n = known(length)
        if name not in self.below[1:] or (n is not None and n <= TRIANGLE_COLUMNS):
            return length
        last = op("|", counter(self.below[0]), integer(TRIANGLE_COLUMNS - 1))
        return op("min", op("+", last, ONE), length)

    def write(self) -> None:
        order = self._order()
        limits = {
            at: each.limits(self.scope, self.e.loop_lengths[at])
            for at, each in self.segments.items()
        }
        depth = len(order)
        before: Lists = [[] for _ in range(depth + 1)]
        after: Lists = [[] for _ in range(depth + 1)]

        def level(loops: Names) -> int:
            return max((order.index(loop) + 1 for loop in loops), default=0)

        for each in self.scope.temporaries:
            before[level(each.target.loops)].append(each)
        names = frozenset(each.target.name for each in before[depth] if isinstance(each, Assign))
        for sink in self.sinks:
            self._provide(sink, order, names)
        for sink in sorted(self.sinks, key=lambda sink: -level(sink.kept)):
            statement = self._sink_line(sink, order, level, before, after)
            if statement is not None:
                before[depth].append(statement)
        self.e.lines += [*self._levels(order, limits, before, after), *self._afterwards]
        for sink in self.sinks:
            if isinstance(sink.place, Place):
                self.e.places[sink.target] = self._places.get(sink.target, sink.place)

    def _sink_line(
        self, sink: _Sink, order: list[str], level: Level, before: Lists, after: Lists
    ) -> Statement | None:
        """Return the innermost statement of a result; collect those around the loop."""
        where, value = sink.where, sink.value
        kept = sink.kept
        deepest = level(kept)
        if sink.kind == "scatter" and kept != frozenset(order[:deepest]):
            deepest = len(order)  # revisits elements in an order that data decides
        is_set = sink.operation in ("set", "")
        if is_set or (sink.kind == "reduce" and kept == frozenset(order)):
            return _assigned(where, value)
        if deepest == len(order):
            return combine(sink.operation, where, value, sink.dtype)
        start = identity(sink.operation, sink.dtype)
        total = self._total(sink)
        before[deepest].append(Assign(total, start))
        # the innermost loop has its own accumulator, which sums over more loops share
        line = None
        partial = self._partials.get((value, sink.operation))
        if partial is None:
            partial = total if deepest == len(order) - 1 else Var(self.e.fresh("a"), sink.dtype)
            self._partials[value, sink.operation] = partial
            if partial != total:
                before[-2].append(Assign(partial, start))
            line = combine(sink.operation, partial, value, sink.dtype)
        if partial != total:
            after[-2].append(combine(sink.operation, total, partial, sink.dtype))
        self._store_total(sink, total, deepest, order, after)
        return line

    def _total(self, sink: _Sink) -> Var:
        """Return the variable that a result is reduced in."""
        return sink.place if isinstance(sink.place, Var) else Var(self.e.fresh("a"), sink.dtype)

    def _store_total(
        self, sink: _Sink, total: Var, deepest: int, order: list[str], after: Lists
    ) -> None:
        if isinstance(sink.place, Var):
            return
        if sink.kind == "reduce" and sink.kept == frozenset(order[:deepest]):
            after[deepest].append(_assigned(sink.where, total))
        else:
            after[deepest].append(combine(sink.operation, sink.where, total, sink.dtype))

    def _levels(
        self,
        order: list[str],
        limits: dict[str, tuple[Expression, Expression]],
        before: Lists,
        after: Lists,
        at: int = 0,
    ) -> list[Statement]:
        """Write the loops from a level on."""
        lines = list(before[at])
        if at < len(order):
            name = order[at]
            inside = tuple(self._levels(order, limits, before, after, at + 1))
            start, stop = limits.get(name, (ZERO, self._stop(name)))
            lines.append(For(self.counters[name], stop, inside, start, is_parallel=True))
        return lines + after[at]


def _assigned(target: Var | Load, value: Expression) -> Statement:
    return Assign(target, value) if isinstance(target, Var) else Store(target, value)
