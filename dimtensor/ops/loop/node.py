"""Mutable parts of a `Scan` node, from which rewrites build a new node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pytensor.graph.basic import Apply, Variable

from dimtensor.ops.constants import integer_of
from dimtensor.ops.graphs import bound, freeze, replaced
from dimtensor.ops.loop.op import Scan, ScanInputs
from dimtensor.ops.loop.spec import LoopSpec


@dataclass
class StateParts:
    """State of a loop: initial value, variable in the body, next value and final outputs.

    ``outputs`` are the outputs of the node that hold the final value.
    """

    init: Variable
    variable: Variable
    following: Variable
    outputs: list[Variable]


@dataclass
class InputParts:
    """An input that is no state: the variable outside, and its variable in the body.

    A residual is a sequence that is a trace of the loop whose reverse pass this is.
    """

    outside: Variable
    variable: Variable
    is_residual: bool = False


@dataclass
class Trace:
    """An element that is traced, and the outputs of the node that hold its trace.

    An open trace is not read at steps that did not run.
    """

    element: Variable
    outputs: list[Variable]
    is_open: bool = False


def has_steps(n_steps: Variable) -> bool:
    """Return whether a number of steps is known and positive."""
    return (integer_of(n_steps) or 0) > 0


class ScanGraph:
    """The parts of a `Scan` node, its body as an ordinary graph.

    Attributes
    ----------
    derivative : bool
        Whether the loop's sums may be reassociated; see `LoopSpec`.
    replaced : dict of variable to variable
        Replacements of outputs by variables that the new node does not compute.
    """

    def __init__(self, node: Apply):
        op = node.op
        given, results = op.split_inputs(node.inputs), op.split_outputs(node.outputs)
        inner = [v.type() for v in op.body.inputs]
        outputs, _ = bound(op.body, inner)
        states, elements, captured = op.split_body_inputs(inner)
        n, m = op.n_states, op.n_states + op.n_traces
        self.n_steps, self.go, self.window = given.n_steps, given.go, given.window
        self.reverse = op.reverse
        self.states = [
            StateParts(init, v, following, [out])
            for init, v, following, out in zip(
                given.states, states, outputs[:n], results.states, strict=True
            )
        ]
        self.elements = [
            InputParts(x, v, k in op.spec.residuals)
            for k, (x, v) in enumerate(zip(given.sequences, elements, strict=True))
        ]
        self.captured = [InputParts(x, v) for x, v in zip(given.captured, captured, strict=True)]
        self.traces = [
            Trace(v, [out], op.spec.is_open(k))
            for k, (v, out) in enumerate(zip(outputs[n:m], results.traces, strict=True))
        ]
        self.go_on = outputs[m] if op.stops else None
        self.n_done = results.n_done
        self.inner_rewritten = op.inner_rewritten
        self.derivative = op.derivative
        self.replaced: dict[Variable, Variable] = {}

    @property
    def runs_all(self) -> bool:
        """Knowledge that every step runs."""
        return self.go_on is None and not self.window

    @property
    def runs(self) -> bool:
        """Knowledge that the loop runs at least one step."""
        return self.runs_all and has_steps(self.n_steps)

    @property
    def inner(self) -> list[Variable]:
        given: list[StateParts | InputParts] = [*self.states, *self.elements, *self.captured]
        return [part.variable for part in given]

    @property
    def outputs(self) -> list[Variable]:
        """Outputs of the body."""
        return [
            *(state.following for state in self.states),
            *(trace.element for trace in self.traces),
            *([] if self.go_on is None else [self.go_on]),
        ]

    def set_outputs(self, outputs: Sequence[Variable]) -> None:
        found = iter(outputs)
        for state in self.states:
            state.following = next(found)
        for trace in self.traces:
            trace.element = next(found)
        if self.go_on is not None:
            self.go_on = next(found)

    def substitute(self, replace: dict[Variable, Variable]) -> None:
        """Replace variables of the body."""
        if replace:
            self.set_outputs(replaced(self.outputs, replace))

    def build(self) -> dict[Variable, Variable]:
        """Build a node from these parts, and map the old outputs to the new ones."""
        op = Scan(
            freeze(self.inner, self.outputs),
            LoopSpec(
                len(self.states),
                len(self.elements),
                len(self.traces),
                stops=self.go_on is not None,
                reverse=self.reverse,
                windowed=bool(self.window),
                derivative=self.derivative,
                open_traces=() if self.runs_all else tuple(x.is_open for x in self.traces),
                residuals=tuple(k for k, x in enumerate(self.elements) if x.is_residual),
            ),
        )
        op.inner_rewritten = self.inner_rewritten
        first = [self.n_steps, *([] if self.go_on is None else [self.go]), *self.window]
        outside = [part.outside for part in (*self.elements, *self.captured)]
        results = op.split_outputs(op(*first, *(state.init for state in self.states), *outside))
        replace = dict(self.replaced)
        parts: list[StateParts | Trace] = [*self.states, *self.traces]
        for part, result in zip(parts, (*results.states, *results.traces), strict=True):
            replace.update((out, result) for out in part.outputs)
        if self.n_done is not None:
            replace[self.n_done] = results.n_done
        return replace


def with_more_traces(op: Scan, given: ScanInputs, elements: Sequence[Variable]) -> list[Variable]:
    """Traces of variables of a frozen body, from a second node."""
    m = op.n_states + op.n_traces
    inputs = [v.type() for v in op.body.inputs]
    outputs, memo = bound(op.body, inputs)
    traced = [memo[v] for v in elements]
    # gradients read them at steps that ran
    is_open = [op.spec.is_open(k) for k in range(op.n_traces)] + [True for _ in traced]
    longer = Scan(
        freeze(inputs, [*outputs[:m], *traced, *outputs[m:]]),
        replace(
            op.spec,
            n_traces=op.n_traces + len(traced),
            open_traces=() if op.runs_all else tuple(is_open),
        ),
        op.inverse,
    )
    first = [given.n_steps, *([given.go] if op.stops else []), *given.window]
    results = longer(*first, *given.states, *given.sequences, *given.captured)
    return results[m : m + len(traced)]
