"""Scan and Loop: loops over a frozen graph, on positional variables."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FrozenFunctionGraph
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.tensor.shape import Shape_i
from pytensor.tensor.type import TensorType

from dimtensor.ops.constants import integer_of
from dimtensor.ops.differentiable import WithRules
from dimtensor.ops.interpret import Interpreter
from dimtensor.ops.loop.shapes import lengths_of, scan_shapes
from dimtensor.ops.loop.spec import LoopSpec


class ScanInputs(NamedTuple):
    """Inputs of a `Scan` node by role.

    ``go`` is None unless the loop stops early, and ``window`` is empty unless it has one.
    """

    n_steps: Any
    go: Any
    states: list[Any]
    sequences: list[Any]
    captured: list[Any]
    window: Sequence[Any] = ()


class ScanOutputs(NamedTuple):
    """Outputs of a `Scan` node by role; ``n_done`` is None unless the loop stops early."""

    states: list[Any]
    traces: list[Any]
    n_done: Any


class _LoopOp(WithRules, Op, HasInnerGraph):
    """Base of loops: a frozen body that an interpreter can run."""

    body: FrozenFunctionGraph
    spec: LoopSpec

    # No properties: loops that differ in these only are equal.
    inner_rewritten = False  # the rewrites of its body have run
    body_pattern: list[list[bool]] | None = None  # which outputs depend on which inputs, once known
    poles: list[bool] | None = None  # which outputs may be infinite, once known

    @property
    def n_states(self) -> int:
        return self.spec.n_states

    @property
    def n_sequences(self) -> int:
        return self.spec.n_sequences

    @property
    def n_traces(self) -> int:
        return self.spec.n_traces

    @property
    def n_captured(self) -> int:
        return len(self.body.inputs) - self.n_states - self.n_sequences

    @property
    def stops(self) -> bool:
        return self.spec.stops

    @property
    def reverse(self) -> bool:
        return self.spec.reverse

    @property
    def truncate(self) -> int | None:
        return self.spec.truncate

    @property
    def windowed(self) -> bool:
        return self.spec.windowed

    @property
    def runs_all(self) -> bool:
        return self.spec.runs_all

    @property
    def derivative(self) -> bool:
        return self.spec.derivative

    @property
    def fgraph(self) -> FrozenFunctionGraph:
        return self.body

    @cached_property
    def step(self) -> Interpreter:
        """The body as a Python function."""
        graph = self.body.unfreeze()
        return Interpreter(graph.inputs, graph.outputs)

    def __str__(self) -> str:
        return type(self).__name__

    def __call__(self, *inputs: Any, **kwargs: Any) -> list[Variable]:
        """Return the outputs as a list, also where there is only one."""
        return super().__call__(*inputs, **{**kwargs, "return_list": True})

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("step", "body_pattern", "poles", "element_shapes"):
            state.pop(name, None)
        return state

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        from dimtensor.ops.loop.derivatives.jacobian_pattern import connections

        return connections(self)


class Scan(_LoopOp):
    """A loop whose number of steps is known when it starts; it may stop early.

    Parameters
    ----------
    body : FrozenFunctionGraph
        From ``[*states, *sequence elements, *captured]`` to ``[*next states, *trace elements]``
        and, with `stops`, a bool scalar "go on after this step".
    spec : LoopSpec
    inverse : FrozenFunctionGraph, optional
        From ``[*states after, *sequence elements, *captured]`` to the states before a step. Then
        the gradient computes the states again, backwards, and stores none.

    Notes
    -----
    Inputs of a node are ``[n_steps, *initial states, *sequences, *captured]``; with `stops`
    there is a bool scalar after ``n_steps`` that says whether the first step runs. A sequence has
    one axis more than its element, the first, of length ``n_steps``; step t reads element t.
    A windowed loop takes two int64 scalars after ``n_steps``, between 0 and ``n_steps``: steps from
    the first up to the second run, in either direction. It does not stop early.

    Outputs are ``[*final states, *traces]`` and, with `stops`, the number of steps that ran. A
    trace holds what step t gave at position t; of steps that did not run it is zero.
    Without a step the final states are the initial ones and traces are empty.

    States may be of any type, random generators included. Sequences and traces are tensors.
    `split_inputs` and `split_outputs` sort inputs and outputs by role.
    """

    __props__ = ("body", "spec", "inverse")

    def __init__(
        self,
        body: FrozenFunctionGraph,
        spec: LoopSpec,
        inverse: FrozenFunctionGraph | None = None,
    ):
        n_states, n_traces, stops = spec.n_states, spec.n_traces, spec.stops
        if len(body.outputs) != n_states + n_traces + stops:
            raise ValueError(
                f"the body has {len(body.outputs)} outputs for {n_states} states and "
                f"{n_traces} traces{' and what stops it' if stops else ''}"
            )
        self.body = body
        self.spec = spec
        self.inverse = inverse
        _check_states(body, n_states)
        for element in body.outputs[n_states:]:
            if not isinstance(element.type, TensorType):
                raise TypeError(f"a trace holds tensors, not {element.type}")
        if stops and spec.windowed:
            raise ValueError("a loop with a window does not stop early")
        if stops and (body.outputs[-1].type.dtype, body.outputs[-1].type.ndim) != ("bool", 0):
            raise TypeError(f"what stops a loop is a bool scalar, not {body.outputs[-1].type}")

    def split_inputs(self, inputs: Sequence[Any]) -> ScanInputs:
        """Split inputs of a node, or their values, by role."""
        n_steps, *rest = inputs
        go = rest.pop(0) if self.stops else None
        window = (rest.pop(0), rest.pop(0)) if self.windowed else ()
        n, m = self.n_states, self.n_states + self.n_sequences
        return ScanInputs(n_steps, go, rest[:n], rest[n:m], rest[m:], window)

    def split_outputs(self, outputs: Sequence[Any]) -> ScanOutputs:
        """Split outputs of a node, or their values, by role."""
        n, m = self.n_states, self.n_states + self.n_traces
        return ScanOutputs(
            list(outputs[:n]), list(outputs[n:m]), outputs[m] if self.stops else None
        )

    def split_body_inputs(
        self, inputs: Sequence[Any] | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Split the body's inputs, or their values, into states, elements and captured inputs."""
        inputs = self.body.inputs if inputs is None else inputs
        n, m = self.n_states, self.n_states + self.n_sequences
        return list(inputs[:n]), list(inputs[n:m]), list(inputs[m:])

    def make_node(self, *inputs: Any) -> Apply:
        n_inputs = 1 + self.stops + 2 * self.windowed + len(self.body.inputs)
        if len(inputs) != n_inputs:
            raise ValueError(f"the loop takes {n_inputs} inputs and got {len(inputs)}")
        given = self.split_inputs(inputs)
        states, elements, captured = self.split_body_inputs()
        n_steps = _integer_scalar(given.n_steps)
        converted = [
            n_steps,
            *([_bool_scalar(given.go)] if self.stops else []),
            *map(_integer_scalar, given.window),
            *(v.type.filter_variable(x) for v, x in zip(states, given.states, strict=True)),
            *(
                TensorType(v.type.dtype, (None, *v.type.shape)).filter_variable(x)
                for v, x in zip(elements, given.sequences, strict=True)
            ),
            *(v.type.filter_variable(x) for v, x in zip(captured, given.captured, strict=True)),
        ]
        known = integer_of(n_steps)
        length = None if known is None else max(known, 0)
        for number, x in enumerate(self.split_inputs(converted).sequences):
            if None not in (length, x.type.shape[0]) and x.type.shape[0] != length:
                raise ValueError(
                    f"sequence {number} has {x.type.shape[0]} elements, the loop {length} steps"
                )
        elements = self.body.outputs[self.n_states : self.n_states + self.n_traces]
        outputs = [
            *(v.type() for v in states),
            *(TensorType(v.type.dtype, (length, *v.type.shape))() for v in elements),
            *([pt.lscalar()] if self.stops else []),
        ]
        return Apply(self, converted, outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        given = self.split_inputs(inputs)
        n_steps = max(int(given.n_steps), 0)
        for number, sequence in enumerate(given.sequences):
            if len(sequence) != n_steps:
                raise ValueError(
                    f"sequence {number} has {len(sequence)} elements, the loop {n_steps} steps"
                )
        n, m = self.n_states, self.n_states + self.n_traces
        states, go = given.states, not self.stops or bool(given.go)
        traces: list[np.ndarray] = []
        n_done = 0
        steps = range(*map(int, given.window)) if self.windowed else range(n_steps)
        for t in reversed(steps) if self.reverse else steps:
            if not go:
                break
            results = self.step(*states, *(x[t, ...] for x in given.sequences), *given.captured)
            states = results[:n]
            if not traces:
                traces = [
                    np.zeros((n_steps, *np.shape(x)), dtype=v.type.dtype)
                    for x, v in zip(results[n:m], self.body.outputs[n:m], strict=True)
                ]
            for trace, element in zip(traces, results[n:m], strict=True):
                trace[t] = element
            n_done += 1
            go = not self.stops or bool(results[-1])
        if n_done == 0 and self.n_traces:
            traces = self._untouched_traces(n_steps, given)
        results = [
            *(_own(x, v, inputs) for x, v in zip(states, node.outputs[:n], strict=True)),
            *traces,
            *([np.asarray(n_done, dtype="int64")] if self.stops else []),
        ]
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = result

    def _untouched_traces(self, n_steps: int, given: ScanInputs) -> list[np.ndarray]:
        """Traces of a loop that made no step: their elements' shapes follow from the inputs'."""
        elements = [np.zeros(x.shape[1:], dtype=x.dtype) for x in given.sequences]
        shapes = iter(self.element_shapes(*given.states, *elements, *given.captured))
        return [
            np.zeros((n_steps, *(int(next(shapes)) for _ in range(v.type.ndim))), v.type.dtype)
            for v in self.body.outputs[self.n_states : self.n_states + self.n_traces]
        ]

    @cached_property
    def element_shapes(self) -> Interpreter:
        """Function from the body's inputs to the lengths of all axes of the trace elements."""
        graph = self.body.unfreeze()
        elements = graph.outputs[self.n_states : self.n_states + self.n_traces]
        return Interpreter(graph.inputs, [n for shape in lengths_of(elements) for n in shape])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return scan_shapes(self, node, shapes)

    def length_of_trace(self, node: Apply, output: Variable, axis: int) -> Variable | None:
        """Return the number of steps where it is known not to be negative."""
        n_steps = node.inputs[0].owner
        if axis or output not in self.split_outputs(node.outputs).traces or n_steps is None:
            return None
        return node.inputs[0] if isinstance(n_steps.op, Shape_i) else None


class Loop(_LoopOp):
    """A loop that runs until its body says so.

    Parameters
    ----------
    body : FrozenFunctionGraph
        From ``[*states, *captured]`` to ``[*next states, go on]``, the last a bool scalar.
    n_states : int
    inverse : FrozenFunctionGraph, optional
        From ``[*states after, *captured]`` to the states before a step, which makes the loop
        differentiable. The first state then counts the steps: an int64 scalar that grows by one.

    Notes
    -----
    Inputs of a node are ``[go, *initial states, *captured]``, where the bool scalar ``go`` says
    whether the first step runs. Outputs are the final states, the initial ones without a step.
    States may be of any type, random generators included.
    """

    __props__ = ("body", "spec", "inverse")

    def __init__(
        self,
        body: FrozenFunctionGraph,
        n_states: int,
        inverse: FrozenFunctionGraph | None = None,
    ):
        if len(body.outputs) != n_states + 1:
            raise ValueError(f"the body of a loop of {n_states} states has {n_states + 1} outputs")
        self.body = body
        self.spec = LoopSpec(n_states)
        self.inverse = inverse
        _check_states(body, n_states)
        if (body.outputs[-1].type.dtype, body.outputs[-1].type.ndim) != ("bool", 0):
            raise TypeError(f"what stops a loop is a bool scalar, not {body.outputs[-1].type}")

    def split_inputs(self, inputs: Sequence[Any]) -> ScanInputs:
        """Split inputs of a node, or their values, by role; there are no steps and no sequences."""
        go, *rest = inputs
        return ScanInputs(None, go, rest[: self.n_states], [], rest[self.n_states :])

    def make_node(self, *inputs: Any) -> Apply:
        if len(inputs) != 1 + len(self.body.inputs):
            raise ValueError(
                f"the loop takes {1 + len(self.body.inputs)} inputs and got {len(inputs)}"
            )
        go, *rest = inputs
        converted = [v.type.filter_variable(x) for v, x in zip(self.body.inputs, rest, strict=True)]
        outputs = [v.type() for v in self.body.inputs[: self.n_states]]
        return Apply(self, [_bool_scalar(go), *converted], outputs)

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        go, *rest = inputs
        states, captured = rest[: self.n_states], rest[self.n_states :]
        while go:
            *states, go = self.step(*states, *captured)
        for cell, state, variable in zip(output_storage, states, node.outputs, strict=True):
            cell[0] = _own(state, variable, inputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        return list(shapes[1 : 1 + self.n_states])


def _check_states(body: FrozenFunctionGraph, n_states: int) -> None:
    states = zip(body.inputs[:n_states], body.outputs[:n_states], strict=True)
    for number, (before, after) in enumerate(states):
        if not before.type.is_super(after.type):
            raise TypeError(f"state {number} is {before.type} and becomes {after.type}")


def _integer_scalar(x: Any) -> Variable:
    x = pt.as_tensor_variable(x)
    if x.type.ndim != 0 or np.dtype(x.type.dtype).kind not in "iu":
        raise TypeError(f"the number of steps is an integer scalar, not {x.type}")
    known = integer_of(x)
    if known is not None:
        return pt.constant(known, dtype="int64")
    return x if x.type.dtype == "int64" else pt.cast(x, "int64")


def _bool_scalar(x: Any) -> Variable:
    x = pt.as_tensor_variable(np.bool_(x) if isinstance(x, bool) else x)
    if x.type.ndim != 0 or x.type.dtype != "bool":
        raise TypeError(f"whether a loop starts is a bool scalar, not {x.type}")
    return x


def _own(value: Any, variable: Variable, inputs: Sequence[Any]) -> Any:
    """Copy a value to its own memory, with the variable's dtype."""
    if isinstance(variable.type, TensorType):
        return np.array(value, dtype=variable.type.dtype)
    return copy.deepcopy(value) if any(value is x for x in inputs) else value
