"""Loops and conditionals: their bodies are blocks inside of ``for``, ``while`` or ``if``.

States without axes are variables, others are arrays that are made once and overwritten. Elements of
sequences are read, and those of traces written, where they lie. What a body computes of a state is
put in its place at the end of a step, because other results of the step may still read the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytensor.compile.ops import DeepCopyOp
from pytensor.conditional import LazyIfElse
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.type import TensorType

from dimtensor.kernels.ir.growth import Grow
from dimtensor.kernels.ir.make import ONE, ZERO, cast, integer, known, number, op
from dimtensor.kernels.ir.nodes import (
    NOTHING,
    Accumulate,
    Allocate,
    Array,
    Assign,
    Bind,
    Break,
    Carry,
    Expression,
    Fill,
    For,
    If,
    Load,
    Part,
    Statement,
    Store,
    Var,
    While,
    Wrapped,
)
from dimtensor.kernels.ir.walk import substituted
from dimtensor.kernels.rules.calls import CallRule, new_scope, set_length
from dimtensor.kernels.rules.elementwise import Kept, Place, Rows, counter
from dimtensor.ops.graphs import on_nodes
from dimtensor.ops.loop.conditional import Conditional, Shortcut
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.optimize.loops.tape import is_of_inner_steps, is_read_by_rows
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.optimize.plan.plan import Plan
from dimtensor.tuning import TAPE_ROWS

if TYPE_CHECKING:
    from dimtensor.kernels.emit.emitter import Emitter


class _Block:
    """Body of a loop, bound to its arguments."""

    def __init__(self, e: Emitter, graph: FunctionGraph, destinations: dict[Variable, Place]):
        self.e = e
        self.graph = graph
        # checks of arguments around the block hold inside of it
        self.inner = type(e)(Plan(graph), e.shared, destinations)
        self.head: list[Statement] = []
        self.tail: list[Statement] = []

    def bind(self, variables: Sequence[Variable], where: Sequence[Expression | Place]) -> None:
        for variable, place in zip(variables, where, strict=True):
            self.inner.bind(variable, _before(place))

    def capture(self, variables: Sequence[Variable], given: Sequence[Variable]) -> None:
        """Bind the variables that are the same in every step."""
        for variable, outside in zip(variables, given, strict=True):
            where = _before(_operand(self.e, outside))
            self.inner.bind(variable, where)
            if isinstance(where, Var):
                self.inner.known_before.add(where.name)
            elif isinstance(where, Place) and _is_shape(variable):
                self.inner.known_before.add(where.array.name)

    def assign(self, pairs: Sequence[tuple[Variable, Var | Place]]) -> None:
        """Put results in the places of states, all at once."""
        states = {target for _, target in pairs if isinstance(target, Var)}
        arrays = {target.array for _, target in pairs if isinstance(target, Place)}
        last: list[Statement] = []
        for variable, target in pairs:
            if isinstance(target, Var):
                value = self.inner.scalar(variable)
                if value == target:
                    continue
                if value in states:  # another state as it was before this step
                    kept = Var(self.e.fresh("s"), value.dtype)
                    self.tail.append(Assign(kept, value))
                    value = kept
                last.append(Carry(target, value))
                continue
            place = self.inner.place(variable)
            if place.whole == target.whole:
                continue
            whole: Array | Part = place.whole
            if place.array in arrays:
                copied = Array(self.e.fresh("v"), whole.dtype, whole.rank)
                self.tail.append(Bind(copied, Wrapped("copy", whole)))
                whole = copied
            last.append(Fill(target.whole, whole))
        self.tail += last

    def write(self) -> None:
        self.inner.write()

    def before(self) -> list[Statement]:
        """Return the statements before the loop.

        Lengths and allocations of known size leave the surrounding loops as well, where possible.
        """
        if self.e.early is self.e.lines:
            return self.inner.early
        kept = []
        for each in self.inner.early:
            if _is_known_memory(each):
                self.e.early.append(each)
            elif isinstance(each, Assign) and self.e.is_early(each.value):
                self.e.name_early(each)
            else:
                kept.append(each)
        return kept

    def inside(self) -> tuple[Statement, ...]:
        return (*self.head, *self.inner.lines, *self.tail)


def _is_shape(variable: Variable) -> bool:
    """Return whether an array is a vector of as many integers, like a shape."""
    return variable.type.dtype == "int64" and None not in variable.type.shape


def _is_known_memory(statement: Statement) -> bool:
    """Return whether a statement allocates an array, independently of the code around it."""
    if not isinstance(statement, Allocate) or statement.start is not None:
        return False
    return all(known(length) is not None for length in statement.shape)


def _start_state(e: Emitter, initial: Variable, final: Variable) -> Var | Place:
    """Declare a state with its initial value; it holds the final value after the loop."""
    if not isinstance(final.type, TensorType):
        raise UnsupportedGraph(f"a state of type {final.type}")
    if final.type.ndim == 0:
        state = Var(e.fresh("s"), final.type.dtype)
        e.lines.append(Assign(state, _typed(e.scalar(initial), initial)))
        e.scalars[final] = state
        return state
    for axis in range(final.type.ndim):
        set_length(e, final, axis, e.length(initial, axis))
    place = e.allocate(final, e.place(initial))
    e.places[final] = place
    return place


def _typed(value: Expression, variable: Variable) -> Expression:
    """Return a number with an explicit dtype, which numba needs for constants."""
    is_truth = isinstance(variable, Constant) and variable.type.dtype == "bool"
    return cast(value, "bool") if is_truth else value


def _before(where: Expression | Place) -> Expression | Place:
    """Mark a variable as defined before the loop, hence invariant in its body."""
    if isinstance(where, Place) and not isinstance(where, (Kept, Rows)):
        return Place(where.array, where.leading)
    return where


def _operand(e: Emitter, variable: Variable) -> Expression | Place:
    if not isinstance(variable.type, TensorType):
        raise UnsupportedGraph(f"a loop that takes {variable.type}")
    return e.scalar(variable) if variable.type.ndim == 0 else e.place(variable)


def _scan(e: Emitter, node: Apply) -> None:
    scan = node.op
    given, made = scan.split_inputs(node.inputs), scan.split_outputs(node.outputs)
    graph = scan.body.unfreeze()
    states, elements, captured = scan.split_body_inputs(graph.inputs)
    n, step = _steps(e, given.n_steps), Var(e.fresh("step"), "int64")
    at = op("-", op("-", n, ONE), step) if scan.reverse else step
    places = [_start_state(e, a, b) for a, b in zip(given.states, made.states, strict=True)]
    traces = [
        (out, element)
        for out, element in zip(made.traces, graph.outputs[scan.n_states :], strict=False)
        if e.graph.clients.get(out)
    ]
    kept, traces = _inner_traces(e, scan, graph, traces)
    rows = {out: e.kept.get(out) for out, _ in traces}
    arrays = {out: e.array(out) if row is None else row.array for out, row in rows.items()}
    # where this step's element goes
    to = {out: at if row is None else row.at((at,)).index[0] for out, row in rows.items()}
    destinations: dict[Variable, Place] = {}
    for out, element in traces:
        if element.type.ndim and element.owner is not None and rows[out] is None:
            # allocated after the statements before the loop, which cannot use its lengths
            destinations.setdefault(element, Place(arrays[out], (to[out],), early=False))
    block = _Block(e, graph, destinations)
    tapes = [_Tape(e, block, n, at, each, outs) for each, outs in kept.items()]
    block.bind(states, places)
    read = _Reader(e, block, step, at)
    for variable, sequence in zip(elements, given.sequences, strict=True):
        e.agree(e.length(sequence, 0), n)
        block.inner.bind(variable, read.element(sequence))
    read.write()
    block.capture(captured, given.captured)
    block.write()
    for out, element in traces:
        _store(block, arrays[out], to[out], element)
    block.assign(list(zip(graph.outputs[: scan.n_states], places, strict=True)))
    for tape in tapes:
        tape.finish_step()
    traces = [(out, element) for out, element in traces if rows[out] is None]
    e.places.update((out, row) for out, row in rows.items() if row is not None)
    if scan.stops:  # the condition may need lengths, too
        _stopping(e, block, given.go, made.n_done, graph.outputs[-1])
    lengths = {out: _known_lengths(block, element) for out, element in traces}
    e.lines += block.before()
    is_open = {out: scan.spec.is_open(number) for number, out in enumerate(made.traces)}
    made_early = {}
    for out, _ in traces:
        zero = not (scan.runs_all or is_open[out])
        made_early[out] = _new_array(e, arrays[out], out, [n, *lengths[out]], zero)
    start, stop = map(e.scalar, given.window) if scan.windowed else (ZERO, n)
    if scan.windowed and scan.reverse:
        start, stop = op("-", n, stop), op("-", n, start)
    e.lines.append(For(step, stop, block.inside(), start, is_scan=True))
    for tape in tapes:
        tape.finish()
    for out, _ in traces:
        e.places[out] = Place(arrays[out], early=made_early[out])
        e.owned.add(out)


_Traces = list[tuple[Variable, Variable]]


def _inner_traces(
    e: Emitter, scan: Scan, graph: FunctionGraph, traces: _Traces
) -> tuple[dict[Apply, _Traces], _Traces]:
    """Traces that loops in the step make, by these loops, if rows of them are all that is read.

    And the other traces.
    """
    found: dict[Apply, _Traces] = {}
    others = []
    for out, element in traces:
        if is_of_inner_steps(scan, element, graph) and is_read_by_rows(out, e.graph, scan):
            found.setdefault(element.owner, []).append((out, element))
        else:
            others.append((out, element))
    return found, others


class _Tape:
    """Storage of the traces of a loop inside of a step, for all steps one after the other.

    Steps that do not run take no memory, and rows are written contiguously.
    """

    def __init__(
        self, e: Emitter, block: _Block, n: Expression, at: Expression, inner: Apply, outs: _Traces
    ):
        self.e, self.block, self.inner = e, block, inner
        self.used = Var(e.fresh("s"), "int64")
        starts = Array(e.fresh("v"), "int64", 1)
        (e.early if e.is_early(n) else e.lines).append(Allocate(starts, (n,)))
        e.lines.append(Assign(self.used, ZERO))
        block.head.append(Store(Load(starts, (at,)), self.used))
        self.arrays: list[tuple[Array, tuple[Expression, ...]]] = []
        for out, element in outs:
            most, *row = map(integer, element.type.shape)
            array = Array(e.fresh("v"), element.type.dtype, element.type.ndim)
            e.early.append(Allocate(array, (op("+", most, integer(TAPE_ROWS)), *row)))
            block.head.append(Grow(array, (op("+", self.used, most), *row)))
            block.inner.kept[element] = Rows(array, self.used)
            e.places[out] = Kept(array, starts)
            self.arrays.append((array, tuple(row)))

    def finish_step(self) -> None:
        n_done = self.inner.op.split_outputs(self.inner.outputs).n_done
        made = self.block.inner.scalar(n_done)
        self.block.tail.append(Carry(self.used, op("+", self.used, made)))

    def finish(self) -> None:
        """After the loop the arrays lie where they have grown to."""
        self.e.lines += [Grow(array, (self.used, *row)) for array, row in self.arrays]


def _steps(e: Emitter, n_steps: Variable) -> Expression:
    """Return the number of steps, which is not negative."""
    value = e.scalar(n_steps)
    if e.is_known_length(value):
        return value
    n = Var(e.fresh("n"), "int64")
    lines = e.lines
    if e.is_early(value):
        lines = e.early
        e.known_before.add(n.name)
    lines.append(Assign(n, op("max", value, ZERO)))
    return n


class _Reader:
    """Reader of a step's elements, which it loads or recomputes."""

    def __init__(self, e: Emitter, block: _Block, step: Var, at: Expression):
        self.e = e
        self.block = block
        self.scope = new_scope(e)
        self.at = at
        # to the sequence the step is a loop, to the block it is not
        self.inside = substituted(at, {step.name: counter(step.name)})

    def element(self, sequence: Variable) -> Expression | Place:
        if sequence.type.ndim == 1:
            read = self.e.element(sequence, (self.inside,), self.scope)
            return read.replace(loops=NOTHING) if isinstance(read, Var) else read
        place = self.e.place(sequence)
        if isinstance(place, Rows):
            return Place(place.array, (op("+", place.first, self.at),))
        if isinstance(place, Kept):
            first = Var(self.e.fresh("s"), "int64")
            self.block.head.append(Assign(first, Load(place.starts, (self.at,))))
            return Rows(place.array, first)
        return Place(place.array, (*place.leading, self.at))

    def write(self) -> None:
        for each in self.scope.temporaries:
            (self.block.head if each.target.loops else self.e.lines).append(each)


def _store(block: _Block, array: Array, at: Expression, element: Variable) -> None:
    """Write an element of a trace, unless it is computed in its place."""
    if element.type.ndim == 0:
        block.tail.append(Store(Load(array, (at,)), block.inner.scalar(element)))
        return
    place = block.inner.place(element)
    if place.array != array:
        block.tail.append(Fill(Part(array, (at,)), place.whole))


def _known_lengths(block: _Block, element: Variable) -> list[Expression]:
    """Lengths of what a block gives, which have to be known before it."""
    lengths = [block.inner.length(element, axis) for axis in range(element.type.ndim)]
    if not all(map(block.inner.is_early, lengths)):
        raise UnsupportedGraph("lengths of a result that its block computes")
    return lengths


def _new_array(
    e: Emitter, array: Array, out: Variable, lengths: Sequence[Expression], zero: bool
) -> bool:
    """Make an array that blocks fill, before the loops around if its lengths are known there."""
    shape = tuple(set_length(e, out, axis, length) for axis, length in enumerate(lengths))
    early = all(map(e.is_early, shape))
    (e.early if early else e.lines).append(Allocate(array, shape))
    if zero:
        e.lines.append(Fill(array, number(0, array.dtype)))
    return early


def _stopping(e: Emitter, block: _Block, go: Variable, n_done: Variable, go_on: Variable) -> None:
    """Write a loop that ends when its body says so, and counts its steps."""
    flag, count = Var(e.fresh("s"), "bool"), Var(e.fresh("s"), "int64")
    e.lines.append(Assign(flag, _typed(e.scalar(go), go)))
    e.lines.append(Assign(count, ZERO))
    e.scalars[n_done] = count
    block.head.insert(0, If(op("not", flag), (Break(),)))
    # before states change, because the condition may be one of them
    block.tail.insert(0, Carry(flag, _typed(block.inner.scalar(go_on), go_on)))
    block.tail.append(Accumulate("+", count, ONE))


def _loop(e: Emitter, node: Apply) -> None:
    loop = node.op
    given = loop.split_inputs(node.inputs)
    graph = loop.body.unfreeze()
    places = [_start_state(e, a, b) for a, b in zip(given.states, node.outputs, strict=True)]
    block = _Block(e, graph, {})
    block.bind(graph.inputs[: loop.n_states], places)
    block.capture(graph.inputs[loop.n_states :], given.captured)
    block.write()
    flag = Var(e.fresh("s"), "bool")
    go_on = graph.outputs[-1]
    block.tail.append(Carry(flag, _typed(block.inner.scalar(go_on), go_on)))
    block.assign(list(zip(graph.outputs[: loop.n_states], places, strict=True)))
    e.lines += block.before()
    e.lines.append(Assign(flag, _typed(e.scalar(given.go), given.go)))
    e.lines.append(While(flag, block.inside()))


def _conditional(e: Emitter, node: Apply) -> None:
    """Only the branch that is taken runs; both put their results in the same places."""
    condition, *given = node.inputs
    graphs = _branches(node.op)
    made: list[Array | Var] = [
        e.array(out) if out.type.ndim else Var(e.fresh("s"), out.type.dtype) for out in node.outputs
    ]
    blocks = [_branch(e, graph, given, made) for graph in graphs]
    shapes = [
        [_known_lengths(block, variable) for variable in graph.outputs]
        for block, graph in zip(blocks, graphs, strict=True)
    ]
    for block in blocks:
        e.lines += block.before()
    for out, result, *both in zip(node.outputs, made, *shapes, strict=True):
        if isinstance(result, Array):
            lengths = [_length_of_taken(e, condition, *pair) for pair in zip(*both, strict=True)]
            early = _new_array(e, result, out, lengths, zero=False)
            e.places[out] = Place(result, early=early)
            e.owned.add(out)
        else:
            e.scalars[out] = result
    then, otherwise = (block.inside() for block in blocks)
    rare = isinstance(node.op, Shortcut)
    e.lines.append(If(e.scalar(condition), then, otherwise, rare))


def _length_of_taken(
    e: Emitter, condition: Variable, one: Expression, other: Expression
) -> Expression:
    """Return the length of a result in the branch that is taken."""
    if _assigned(e, one) == _assigned(e, other):
        return one
    n = Var(e.fresh("n"), "int64")
    e.lines.append(If(e.scalar(condition), (Assign(n, one),), (Assign(n, other),)))
    return n


def _assigned(e: Emitter, length: Expression) -> Expression:
    """Return the expression that a length was assigned from, through all its names."""
    values = {each.target: each.value for each in e.lines if isinstance(each, Assign)}
    while isinstance(length, Var) and length in values:
        length = values[length]
    return length


def _branch(
    e: Emitter, graph: FunctionGraph, given: Sequence[Variable], made: Sequence[Array | Var]
) -> _Block:
    """Write a branch, which stores its results in arrays and variables."""
    destinations = {
        variable: Place(result, early=False)
        for variable, result in zip(graph.outputs, made, strict=True)
        if isinstance(result, Array) and variable.owner is not None
    }
    block = _Block(e, graph, destinations)
    block.capture(graph.inputs, given)
    block.write()
    for variable, result in zip(graph.outputs, made, strict=True):
        if isinstance(result, Var):
            block.tail.append(Assign(result, _typed(block.inner.scalar(variable), variable)))
        elif block.inner.place(variable).array != result:
            block.tail.append(Fill(result, block.inner.place(variable).whole))
    return block


def _branches(op: Any) -> list[FunctionGraph]:
    """Return the graphs of both branches, without copies, as results have their own memory."""
    if isinstance(op, Conditional):
        return [op.then_branch.unfreeze(), op.else_branch.unfreeze()]
    graphs = [branch.fgraph.unfreeze() for branch in (op.true_branch, op.false_branch)]
    for graph in graphs:
        _without_copies(graph)
    return graphs


@on_nodes(DeepCopyOp)
def _without_copies(node: Apply) -> Variable:
    return node.inputs[0]


RULES: list[tuple[Any, CallRule]] = [
    (Scan, _scan),
    (Loop, _loop),
    ((Conditional, LazyIfElse), _conditional),
]
