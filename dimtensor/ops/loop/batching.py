"""Vectorization of loops: batch axes of inputs are propagated through the body.

Where the stopping condition has batch axes, each batch element terminates independently: the loop
runs while any element is active, and finished elements keep their states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.blockwise import vectorize_node_fallback
from pytensor.tensor.type import TensorType

from dimtensor.ops.batching import over_batch
from dimtensor.ops.graphs import bound, freeze, replaced
from dimtensor.ops.loop.conditional import Conditional, Shortcut
from dimtensor.ops.loop.frontend import build_loop, build_scan
from dimtensor.ops.loop.op import Loop, Scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph
from dimtensor.ops.nodes import alloc
from dimtensor.upstream.pytensor import vectorize_node


@vectorize_node.register(Scan)
def vectorize_scan(op: Scan, node: Apply, *inputs: Variable) -> list[Variable]:
    """Return the outputs of a `Scan` some of whose inputs have leading batch axes.

    The number of steps has to be one for the whole batch; it is checked when the loop runs.
    """
    n_steps, *others = inputs
    if n_steps.type.ndim:
        n_steps = _one_number(n_steps, op.split_inputs(node.inputs), op.split_inputs(inputs))
    inputs = (n_steps, *others)
    if all(_same_axes(x, old) for x, old in zip(inputs, node.inputs, strict=True)):
        return op(*inputs)
    batch = _Batch.of(node.inputs, inputs)
    step = _batched_step(op, batch, op.split_inputs(inputs), op.stops)
    n = len(step.states)
    graph = StepGraph(
        step.states, step.elements, step.outputs[:n], step.outputs[n:], step.go_on, step.inverse
    )
    options = LoopOptions(op.reverse, op.truncate, derivative=op.derivative, window=step.window)
    go = step.go if op.stops else True
    result = build_scan(inputs[0], graph, step.init, step.sequences, options, go)
    cores = op.body.outputs[op.n_states :]
    traces = [
        pt.moveaxis(x, 0, batch.ndim) if x.type.ndim > core.type.ndim + 1 else x
        for x, core in zip(result.traces, cores, strict=False)
    ]
    n_done = result.states[-1] if step.masked else result.n_done
    return [*result.states[: op.n_states], *traces, *([n_done] if op.stops else [])]


def _one_number(n_steps: Variable, before: Any, after: Any) -> Variable:
    """Return the number of steps that the elements of a batch share."""
    if after.sequences:  # it is their length
        return after.sequences[0].shape[_added(after.sequences[0], before.sequences[0])]
    numbers = pt.maximum(n_steps.ravel(), 0)
    longest = pt.max(pt.concatenate([[0], numbers]))
    check = CheckAndRaise(ValueError, "the number of steps of a loop is the same for a whole batch")
    return check(longest, pt.all(pt.eq(numbers, longest)))


def _added(after: Variable, before: Variable) -> int:
    """Count the axes that a variable has in addition to those of another."""
    return after.type.ndim - before.type.ndim if _is_tensor(before) else 0


def _same_axes(after: Variable, before: Variable) -> bool:
    return _added(after, before) == 0


@vectorize_node.register(Loop)
def vectorize_loop(op: Loop, node: Apply, *inputs: Variable) -> list[Variable]:
    """Return the outputs of a `Loop` some of whose inputs have leading batch axes."""
    batch = _Batch.of(node.inputs, inputs)
    step = _batched_step(op, batch, op.split_inputs(inputs), True)
    assert step.go_on is not None
    inverse = step.inverse
    if inverse is not None:  # it counts its steps already
        parts = [step.states, step.outputs, step.init, inverse]
        states, following, init, inverse = (part[1:] for part in parts)
        graph = StepGraph(states, [], following, [], step.go_on, inverse)
        results = build_loop(graph, init, step.go)
        return [results[0].owner.outputs[0], *results]
    graph = StepGraph(step.states, [], step.outputs, go_on=step.go_on)
    results = build_loop(graph, step.init, step.go)
    return results[: op.n_states]


@dataclass
class _Batch:
    """The axes that inputs got in addition: how many, how long, and how long as far as known."""

    ndim: int
    shape: list[Variable]
    static: list[int | None]

    @classmethod
    def of(cls, before: Sequence[Variable], after: Sequence[Variable]) -> _Batch:
        counts = [_added(x, old) for x, old in zip(after, before, strict=True)]
        ndim = max(counts)
        shape: list[Variable] = []
        static: list[int | None] = []
        for axis in range(ndim):
            lengths = [
                (x.type.shape[axis - ndim + n], x, axis - ndim + n)
                for x, n in zip(after, counts, strict=True)
                if axis - ndim + n >= 0
            ]
            known = {n for n, *_ in lengths} - {1, None}
            unknown = [x.shape[at] for n, x, at in lengths if n is None]
            static.append(known.pop() if known else None if unknown else 1)
            length = static[-1] if static[-1] is not None else _longest(unknown)
            shape.append(pt.as_tensor_variable(length))
        return cls(ndim, shape, static)

    def full(self, x: Variable, core_ndim: int) -> Variable:
        """Broadcast a variable to all axes of the batch."""
        added = x.type.ndim - core_ndim
        if added == self.ndim and (1 not in x.type.shape[:added] or 1 in self.static):
            return x
        core = [x.shape[axis] for axis in range(added, x.type.ndim)]
        return alloc(x, *self.shape, *core)

    def wider(self, x: Variable) -> Variable:
        """Make a variable of the same type with the axes of the batch."""
        return TensorType(x.type.dtype, (*self.static, *x.type.shape))(x.name)


def _longest(lengths: Sequence[Variable]) -> Variable:
    """Return the length of broadcast axes, some of which may be of length one."""
    longest = lengths[0]
    for length in lengths[1:]:
        longest = pt.switch(pt.eq(longest, 1), length, longest)
    return longest


@dataclass
class _BatchedStep:
    """A batched step, with its captured variables replaced by those outside of the loop."""

    states: list[Variable]
    elements: list[Variable]
    outputs: list[Variable]
    init: list[Variable]
    sequences: list[Variable]
    go: Any
    go_on: Variable | None
    inverse: list[Variable] | None
    masked: bool = False
    window: Sequence[Variable] = ()


def _batched_step(op: Any, batch: _Batch, given: Any, stops: bool) -> _BatchedStep:
    inner = [v.type() for v in op.body.inputs]
    outputs, _ = bound(op.body, inner)
    n, m = op.n_states, len(inner) - len(given.captured)
    outside = [*given.states, *given.sequences, *given.captured]
    axes = [v.type.ndim + (n <= i < m) if _is_tensor(v) else 0 for i, v in enumerate(inner)]
    wide = {i for i, x in enumerate(outside) if _is_tensor(inner[i]) and x.type.ndim > axes[i]}
    in_windows = any(v.type.ndim for v in given.window)
    masked = in_windows or (stops and given.go.type.ndim > 0)
    while True:
        variables = [batch.wider(v) if i in wide else v for i, v in enumerate(inner)]
        wider = {inner[i]: variables[i] for i in wide}
        found = over_batch(outputs, wider) if wider else list(outputs)
        masked = masked or (stops and found[-1].type.ndim > 0)
        more = {
            i
            for i in range(n)
            if _is_tensor(inner[i]) and (masked or found[i].type.ndim > inner[i].type.ndim)
        }
        if more <= wide:
            break
        wide |= more
    found[:n] = [
        batch.full(y, inner[i].type.ndim) if i in wide else y for i, y in enumerate(found[:n])
    ]
    before = None
    if op.inverse is not None and not masked:
        before, _ = bound(op.inverse, inner)
        before = over_batch(before, wider) if wider else before
        before = [
            batch.full(y, v.type.ndim) if i in wide else y
            for i, (y, v) in enumerate(zip(before, inner, strict=False))
        ]
    full = [batch.full(x, axes[i]) if i in wide else x for i, x in enumerate(outside)]
    captured = dict(zip(variables[m:], full[m:], strict=True))
    both = replaced([*found, *(before or ())], captured)
    found, before = both[: len(found)], both[len(found) :] if before is not None else None
    step = _BatchedStep(
        variables[:n],
        variables[n:m],
        found[:-1] if stops else found,
        full[:n],
        [pt.moveaxis(x, batch.ndim, 0) if i + n in wide else x for i, x in enumerate(full[n:m])],
        given.go,
        found[-1] if stops else None,
        before,
        window=given.window,
    )
    traced_ndim = [v.type.ndim for v in op.body.outputs[n : n + op.n_traces]]
    if in_windows:
        return _in_windows(step, batch, traced_ndim, op.reverse)
    return _masked(step, batch, traced_ndim) if masked else step


def _in_windows(
    step: _BatchedStep, batch: _Batch, traced_ndim: Sequence[int], reverse: bool
) -> _BatchedStep:
    """Run the union of the windows of all batch elements, masked by the window of each."""
    at = pt.lscalar("at")
    starts, stops = (batch.full(v, 0) for v in step.window)
    start, stop = pt.min(starts), pt.max(stops)
    outputs = _where(step, batch, traced_ndim, pt.ge(at, starts) & pt.lt(at, stops))
    n = len(step.states)
    return replace(
        step,
        states=[*step.states, at],
        outputs=[*outputs[:n], at - 1 if reverse else at + 1, *outputs[n:]],
        init=[*step.init, stop - 1 if reverse else start],
        window=[start, stop],
    )


def _masked(step: _BatchedStep, batch: _Batch, traced_ndim: Sequence[int]) -> _BatchedStep:
    """Mask a step: finished batch elements keep their state."""
    assert step.go_on is not None
    n = len(step.states)
    on = TensorType("bool", batch.static)("on")
    count = TensorType("int64", batch.static)("count")
    outputs = _where(step, batch, traced_ndim, on)
    after = on & batch.full(step.go_on, 0)
    return replace(
        step,
        states=[*step.states, on, count],
        outputs=[*outputs[:n], after, count + on, *outputs[n:]],
        init=[*step.init, batch.full(step.go, 0), alloc(np.int64(0), *batch.shape)],
        go=pt.any(batch.full(step.go, 0)),
        go_on=pt.any(after),
        inverse=None,
        masked=True,
    )


def _where(
    step: _BatchedStep, batch: _Batch, traced_ndim: Sequence[int], on: Variable
) -> list[Variable]:
    """Mask the results of a step: inactive batch elements keep their states and trace zeros."""
    n = len(step.states)

    def where(new: Variable, old: Variable) -> Variable:
        if not _is_tensor(new):
            return new
        mask = pt.shape_padright(on, max(new.type.ndim, batch.ndim) - batch.ndim)
        return pt.switch(mask, new, old)

    following = [where(y, x) for y, x in zip(step.outputs[:n], step.states, strict=True)]
    traced = [
        where(batch.full(y, core_ndim), pt.zeros((), y.type.dtype))
        for y, core_ndim in zip(step.outputs[n:], traced_ndim, strict=True)
    ]
    return [*following, *traced]


def _is_tensor(variable: Variable) -> bool:
    return isinstance(variable.type, TensorType)


@vectorize_node.register(Conditional)
def vectorize_conditional(op: Conditional, node: Apply, *inputs: Variable) -> Any:
    """Return the outputs of a `Conditional` some of whose operands have leading batch axes.

    A condition without batch axes selects one branch for the whole batch. With batch axes, each
    batch element is computed on its own.
    """
    condition, *given = inputs
    if condition.type.ndim and isinstance(op, Shortcut):
        condition = pt.all(condition)
    if condition.type.ndim:
        return vectorize_node_fallback(op, node, *inputs).outputs
    inner = [x.type() for x in given]
    batch = _Batch.of(node.inputs[1:], inner)
    branches = []
    for graph in (op.then_branch, op.else_branch):
        own = [v.type() for v in graph.inputs]
        outputs, _ = bound(graph, own)
        branches.append(over_batch(outputs, dict(zip(own, inner, strict=True))))
    cores = [v.type.ndim if _is_tensor(v) else 0 for v in node.outputs]
    wide = [
        _is_tensor(out) and any(ys[k].type.ndim > out.type.ndim for ys in branches)
        for k, out in enumerate(node.outputs)
    ]
    graphs = [
        freeze(inner, [batch.full(y, core) if on else y
                       for y, core, on in zip(ys, cores, wide, strict=True)])
        for ys in branches
    ]  # fmt: skip
    return type(op)(*graphs)(condition, *given)
