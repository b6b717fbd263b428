"""Loops and conditionals: their bodies are blocks inside of ``for``, ``while`` or ``if``.

States without axes are variables, others are arrays that are made once and overwritten. Elements of
sequences are read, and those of traces written, where they lie. What a body computes of a state is
put in its place at the end of a step, because other results of the step may still read the state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytensor.compile.ops import DeepCopyOp
from pytensor.conditional import LazyIfElse
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.type import TensorType

from dimtensor.kernels.calls import CallRule, new_scope, set_length
from dimtensor.kernels.elements import Place, Term
from dimtensor.kernels.native.steps import STEP
from dimtensor.kernels.plan import Plan, UnsupportedGraph
from dimtensor.kernels.scalars import literal
from dimtensor.ops.loop.conditional import Conditional
from dimtensor.ops.loop.op import Loop, Scan

if TYPE_CHECKING:
    from dimtensor.kernels.emit import Emitter

# lines of a block that need nothing of what is around it
_KNOWN_MEMORY = re.compile(r"\w+ = np\.empty\(\((\d+, ?)+\), dtype=np\.\w+\)$")
_INDENT = "    "


class _Block:
    """The body of a loop, bound to what it works on."""

    def __init__(self, e: Emitter, graph: FunctionGraph, destinations: dict[Variable, Place]):
        self.e = e
        self.graph = graph
        # what is checked of arguments around the block is checked in it
        self.inner = type(e)(Plan(graph), e.shared, destinations)
        self.head: list[str] = []
        self.tail: list[str] = []

    def bind(self, variables: Sequence[Variable], where: Sequence[Term | Place]) -> None:
        for variable, place in zip(variables, where, strict=True):
            self.inner.bind(variable, _before(place))

    def capture(self, variables: Sequence[Variable], given: Sequence[Variable]) -> None:
        """Bind what is the same in every step."""
        for variable, outside in zip(variables, given, strict=True):
            where = _before(_operand(self.e, outside))
            self.inner.bind(variable, where)
            if isinstance(where, Term):
                self.inner.known_before.add(where.text)

    def assign(self, pairs: Sequence[tuple[Variable, Term | Place]]) -> None:
        """Put results in the places of states, all at once."""
        states = {term.text for _, term in pairs if isinstance(term, Term)}
        places = {place.name for _, place in pairs if isinstance(place, Place)}
        last: list[str] = []
        for variable, target in pairs:
            if isinstance(target, Term):
                text = self.inner.scalar(variable).text
                if text == target.text:
                    continue
                if text in states:  # another state as it was before this step
                    kept = self.e.fresh("s")
                    self.tail.append(f"{kept} = {text}")
                    text = kept
                last.append(f"{target.text} = {text}")
                continue
            place = self.inner.place(variable)
            if place is target or place.whole == target.whole:
                continue
            whole = place.whole
            if place.name in places:
                whole = self.e.fresh("v")
                self.tail.append(f"{whole} = {place.whole}.copy()")
            last.append(f"{target.everything} = {whole}")
        self.tail += last

    def write(self) -> None:
        self.inner.write()

    def lines_before(self) -> list[str]:
        """What stands before the loop; memory of known size goes out of the loops around it too."""
        kept = []
        for line in self.inner.early:
            if self.e.early is not self.e.lines and _KNOWN_MEMORY.match(line):
                self.e.early.append(line)
            else:
                kept.append(line)
        return kept

    def lines_inside(self) -> list[str]:
        lines = [*self.head, *self.inner.lines, *self.tail]
        return [_INDENT + line for line in lines] or [f"{_INDENT}pass"]


def _start_state(e: Emitter, initial: Variable, final: Variable) -> Term | Place:
    """A state with its initial value; it has the final value when the loop has ended."""
    if not isinstance(final.type, TensorType):
        raise UnsupportedGraph(f"a state of type {final.type}")
    if final.type.ndim == 0:
        name = e.fresh("s")
        e.lines.append(f"{name} = {_typed(e.scalar(initial).text, initial)}")
        e.scalars[final] = Term(name)
        return Term(name)
    for axis in range(final.type.ndim):
        set_length(e, final, axis, e.length(initial, axis))
    place = e.allocate(final, e.place(initial))
    e.places[final] = place
    return place


def _typed(text: str, variable: Variable) -> str:
    """The text of a number; a constant written so that it has its dtype."""
    if isinstance(variable, Constant) and variable.type.dtype == "bool":
        return f"np.bool_({text})"
    return text


def _before(where: Term | Place) -> Term | Place:
    """What is defined where a loop starts is so for the whole of its body."""
    return Place(where.name, where.leading) if isinstance(where, Place) else where


def _operand(e: Emitter, variable: Variable) -> Term | Place:
    if not isinstance(variable.type, TensorType):
        raise UnsupportedGraph(f"a loop that takes {variable.type}")
    return e.scalar(variable) if variable.type.ndim == 0 else e.place(variable)


def _scan(e: Emitter, node: Apply) -> None:
    op = node.op
    given, made = op.split_inputs(node.inputs), op.split_outputs(node.outputs)
    graph = op.body.unfreeze()
    states, elements, captured = op.split_body_inputs(graph.inputs)
    n, step = _steps(e, given.n_steps), e.fresh(STEP)
    at = f"({n} - 1 - {step})" if op.reverse else step
    places = [_start_state(e, a, b) for a, b in zip(given.states, made.states, strict=True)]
    traces = [
        (out, element)
        for out, element in zip(made.traces, graph.outputs[op.n_states :], strict=False)
        if e.graph.clients.get(out)
    ]
    names = {out: e.fresh("v") for out, _ in traces}
    destinations: dict[Variable, Place] = {}
    for out, element in traces:
        if element.type.ndim and element.owner is not None:
            destinations.setdefault(element, Place(names[out], (at,)))
    block = _Block(e, graph, destinations)
    block.bind(states, places)
    read = _Reader(e, block, step, at)
    for variable, sequence in zip(elements, given.sequences, strict=True):
        e.agree(e.length(sequence, 0), n)
        block.inner.bind(variable, read.element(sequence))
    read.write()
    block.capture(captured, given.captured)
    block.write()
    for out, element in traces:
        _store(block, names[out], at, element)
    block.assign(list(zip(graph.outputs[: op.n_states], places, strict=True)))
    lengths = {out: _known_lengths(block, element) for out, element in traces}
    e.lines += block.lines_before()
    for out, _ in traces:
        _new_array(e, names[out], out, [n, *lengths[out]], zero=op.stops)
    if op.stops:
        _stopping(e, block, given.go, made.n_done, graph.outputs[-1])
    e.lines.append(f"for {step} in range({n}):")
    e.lines += block.lines_inside()
    for out, _ in traces:
        e.places[out] = Place(names[out], early=e.early is e.lines)
        e.owned.add(out)


def _steps(e: Emitter, n_steps: Variable) -> str:
    """Name of the number of steps, which is not negative."""
    text = e.scalar(n_steps).text
    if text.isdigit() or e.is_length(text):
        return text
    name = e.fresh("n")
    if e.is_early(text):
        e.early.append(f"{name} = max({text}, 0)")
        e.known_before.add(name)
    else:
        e.lines.append(f"{name} = max({text}, 0)")
    return name


class _Reader:
    """Reads what a step has of sequences, or computes it of what they are computed of."""

    def __init__(self, e: Emitter, block: _Block, step: str, at: str):
        self.e = e
        self.block = block
        self.scope = new_scope(e)
        self.at = Term(at, frozenset({step}))

    def element(self, sequence: Variable) -> Term | Place:
        if sequence.type.ndim == 1:
            # inside of the block the step is no loop of a nest
            return Term(self.e.element(sequence, (self.at,), self.scope).text)
        place = self.e.place(sequence)
        leading = (*place.leading, self.at.text)
        return Place(place.name, leading)

    def write(self) -> None:
        for name, text, loops in self.scope.temporaries:
            (self.block.head if loops else self.e.lines).append(f"{name} = {text}")


def _store(block: _Block, name: str, at: str, element: Variable) -> None:
    """Write an element of a trace, unless it is computed in its place."""
    if element.type.ndim == 0:
        block.tail.append(f"{name}[{at}] = {block.inner.scalar(element).text}")
        return
    place = block.inner.place(element)
    if place.name != name:
        block.tail.append(f"{name}[{at}, ...] = {place.whole}")


def _known_lengths(block: _Block, element: Variable) -> list[str]:
    """Lengths of what a block gives, which have to be known before it."""
    lengths = [block.inner.length(element, axis) for axis in range(element.type.ndim)]
    if not all(map(block.inner.is_early, lengths)):
        raise UnsupportedGraph("lengths of a result that its block computes")
    return lengths


def _new_array(e: Emitter, name: str, out: Variable, lengths: Sequence[str], zero: bool) -> None:
    """Make an array that blocks fill, before the loops around if its lengths are known there."""
    lengths = [set_length(e, out, axis, length) for axis, length in enumerate(lengths)]
    dtype = "np.bool_" if out.type.dtype == "bool" else f"np.{out.type.dtype}"
    lines = e.early if all(map(e.is_early, lengths)) else e.lines
    lines.append(f"{name} = np.empty(({', '.join(lengths)},), dtype={dtype})")
    if zero:
        e.lines.append(f"{name}[...] = {literal(0, out.type.dtype)}")


def _stopping(e: Emitter, block: _Block, go: Variable, n_done: Variable, go_on: Variable) -> None:
    """The loop ends where its body says so; the steps are counted."""
    flag, count = e.fresh("s"), e.fresh("s")
    e.lines.append(f"{flag} = {_typed(e.scalar(go).text, go)}")
    e.lines.append(f"{count} = 0")
    e.scalars[n_done] = Term(count)
    block.head[:0] = [f"if not {flag}:", f"{_INDENT}break"]
    # before states change, because the condition may be one of them
    block.tail.insert(0, f"{flag} = {_typed(block.inner.scalar(go_on).text, go_on)}")
    block.tail.append(f"{count} += 1")


def _loop(e: Emitter, node: Apply) -> None:
    op = node.op
    given = op.split_inputs(node.inputs)
    graph = op.body.unfreeze()
    places = [_start_state(e, a, b) for a, b in zip(given.states, node.outputs, strict=True)]
    block = _Block(e, graph, {})
    block.bind(graph.inputs[: op.n_states], places)
    block.capture(graph.inputs[op.n_states :], given.captured)
    block.write()
    flag = e.fresh("s")
    go_on = graph.outputs[-1]
    block.tail.append(f"{flag} = {_typed(block.inner.scalar(go_on).text, go_on)}")
    block.assign(list(zip(graph.outputs[: op.n_states], places, strict=True)))
    e.lines += block.lines_before()
    e.lines.append(f"{flag} = {_typed(e.scalar(given.go).text, given.go)}")
    e.lines.append(f"while {flag}:")
    e.lines += block.lines_inside()


def _conditional(e: Emitter, node: Apply) -> None:
    """Only the branch that is taken runs; both put their results in the same places."""
    condition, *given = node.inputs
    graphs = _branches(node.op)
    names = [e.fresh("v" if out.type.ndim else "s") for out in node.outputs]
    blocks = []
    for graph in graphs:
        destinations = {
            variable: Place(name)
            for variable, name in zip(graph.outputs, names, strict=True)
            if variable.type.ndim and variable.owner is not None
        }
        block = _Block(e, graph, destinations)
        block.capture(graph.inputs, given)
        block.write()
        for variable, name in zip(graph.outputs, names, strict=True):
            if variable.type.ndim == 0:
                value = _typed(block.inner.scalar(variable).text, variable)
                block.tail.append(f"{name} = {value}")
            elif block.inner.place(variable).name != name:
                block.tail.append(f"{name}[...] = {block.inner.place(variable).whole}")
        blocks.append(block)
    shapes = [_known_lengths(blocks[0], variable) for variable in graphs[0].outputs]
    for block in blocks:
        e.lines += block.lines_before()
    for out, name, lengths in zip(node.outputs, names, shapes, strict=True):
        if out.type.ndim:
            _new_array(e, name, out, lengths, zero=False)
            e.places[out] = Place(name, early=e.early is e.lines)
            e.owned.add(out)
        else:
            e.scalars[out] = Term(name)
    e.lines.append(f"if {e.scalar(condition).text}:")
    e.lines += blocks[0].lines_inside()
    e.lines.append("else:")
    e.lines += blocks[1].lines_inside()


def _branches(op: Any) -> list[FunctionGraph]:
    """The graphs of both branches, without copies: results have memory of their own anyway."""
    if isinstance(op, Conditional):
        return [op.then_branch.unfreeze(), op.else_branch.unfreeze()]
    graphs = [branch.fgraph.unfreeze() for branch in (op.true_branch, op.false_branch)]
    for graph in graphs:
        for node in graph.toposort():
            if isinstance(node.op, DeepCopyOp):
                graph.replace(node.outputs[0], node.inputs[0], reason="results_are_stored")
    return graphs


RULES: list[tuple[Any, CallRule]] = [
    (Scan, _scan),
    (Loop, _loop),
    ((Conditional, LazyIfElse), _conditional),
]
