"""Other loops from a `Scan` node: a `Loop` that computes the same, or one that tries an inverse."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable

from dimtensor.errors import GraphError
from dimtensor.ops.graphs import replaced
from dimtensor.ops.loop.derivatives.jacobian_pattern import is_continuous
from dimtensor.ops.loop.frontend import ScanResult, build_loop, build_scan
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.shapes import lengths_of
from dimtensor.ops.loop.spec import LoopOptions, StepGraph


def scan_to_loop(node: Apply) -> list[Variable]:
    """The outputs of a `Scan` node, from a `Loop`.

    Its states are the number of the step, the states, and the traces as far as they are written.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from dimtensor.ops.loop import scan
    >>> x = pt.dvector("x")
    >>> result = scan(lambda s, e: ([s[0] * e[0]], [s[0]]), [1.0], [x])
    >>> _, trace = scan_to_loop(result.traces[0].owner)[:2]
    >>> trace.eval({x: np.array([2.0, 3.0, 4.0])}).tolist()
    [1.0, 2.0, 6.0]
    """
    op: Scan = node.op
    given = op.split_inputs(node.inputs)
    inner = [v.type() for v in op.body.inputs]
    states, elements, captured = op.split_body_inputs(inner)
    outputs = op.body.bind(inner)
    n, m = op.n_states, op.n_states + op.n_traces
    n_steps = pt.maximum(given.n_steps, 0)
    done = pt.lscalar("done")
    at = n_steps - 1 - done if op.reverse else done
    read = {v: x[at] for v, x in zip(elements, given.sequences, strict=True)}
    outside = dict(zip(captured, given.captured, strict=True))
    outputs = replaced(outputs, {**read, **outside})
    shapes = op.infer_shape(node, lengths_of(node.inputs))[n:m]
    buffers = [
        pt.zeros([n_steps, *shape[1:]], dtype=v.type.dtype)
        for v, shape in zip(outputs[n:m], shapes, strict=True)
    ]
    traces = [v.type() for v in buffers]
    written = [
        pt.set_subtensor(trace[at], v) for trace, v in zip(traces, outputs[n:m], strict=True)
    ]
    go, go_on = pt.gt(n_steps, 0), pt.lt(done + 1, n_steps)
    if op.stops:
        go, go_on = go & given.go, go_on & outputs[m]
    step = StepGraph([done, *states, *traces], [], [done + 1, *outputs[:n], *written], go_on=go_on)
    init = [pt.constant(0, dtype="int64"), *given.states, *buffers]
    n_done, *results = build_loop(step, init, go)
    return [*results, *([n_done] if op.stops else [])]


def inverse_error(result: ScanResult) -> Variable:
    """How far the inverse of a loop is from taking each of its steps back.

    Parameters
    ----------
    result : ScanResult
        Of a loop with an inverse.

    Returns
    -------
    variable
        The largest difference between a state before a step and what the inverse makes of the
        states after it, relative to the state where that is larger than 1.

    Raises
    ------
    GraphError
        If the loop has no inverse.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> from dimtensor.ops.loop import scan
    >>> x = pt.dvector("x")
    >>> def step(states, elements):
    ...     return [2 * states[0] + elements[0]], []
    >>> right = scan(step, [1.0], [x], inverse=lambda s, e: [(s[0] - e[0]) / 2])
    >>> wrong = scan(step, [1.0], [x], inverse=lambda s, e: [s[0] / 2])
    >>> feed = {x: np.array([2.0, 0.0])}
    >>> inverse_error(right).eval(feed).item(), inverse_error(wrong).eval(feed).item()
    (0.0, 1.0)
    """
    node = result.states[0].owner if result.states else None
    if node is None or not isinstance(node.op, Scan) or node.op.inverse is None:
        raise GraphError("these are not the results of a loop with an inverse")
    op, given = node.op, node.op.split_inputs(node.inputs)
    inner = [v.type() for v in op.body.inputs]
    states, elements, captured = op.split_body_inputs(inner)
    outputs = op.body.bind(inner)
    after = outputs[: op.n_states]
    assert op.inverse is not None
    before = op.inverse.bind([*after, *elements, *captured])
    worst = pt.dscalar("worst")
    following = worst
    for state, found in zip(states, before, strict=True):
        following = pt.maximum(following, _difference(state, found))
    outside = dict(zip(captured, given.captured, strict=True))
    outputs, (following,) = (replaced(v, outside) for v in (outputs, [following]))
    step = StepGraph(
        [*states, worst],
        elements,
        [*outputs[: op.n_states], following],
        go_on=outputs[-1] if op.stops else None,
    )
    found = build_scan(
        given.n_steps,
        step,
        [*given.states, pt.constant(0.0, dtype="float64")],
        given.sequences,
        LoopOptions(op.reverse, histories=False),
        given.go if op.stops else True,
    )
    return found.states[-1]


def _difference(state: Variable, found: Variable) -> Variable:
    """The largest relative difference, 1 where what is no float differs."""
    if is_continuous(state):
        apart = abs(state - found) / pt.maximum(abs(state), 1)
    else:
        apart = pt.neq(state, found)
    return pt.max(pt.concatenate([[0.0], pt.cast(apart, "float64").ravel()]))
