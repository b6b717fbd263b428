"""A loop that tries the inverse of another one."""

from __future__ import annotations

import pytensor.tensor as pt
from pytensor.graph.basic import Variable

from dimtensor.errors import GraphError
from dimtensor.ops.graphs import replaced
from dimtensor.ops.loop.derivatives.jacobian_pattern import is_continuous
from dimtensor.ops.loop.frontend import ScanResult, build_scan
from dimtensor.ops.loop.op import Scan
from dimtensor.ops.loop.spec import LoopOptions, StepGraph


def inverse_error(result: ScanResult) -> Variable:
    """Measure the error of a loop's inverse over all its steps.

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
        LoopOptions(op.reverse, histories=False, window=given.window),
        given.go if op.stops else True,
    )
    return found.states[-1]


def _difference(state: Variable, found: Variable) -> Variable:
    """Return the largest relative difference; for values that are not floats, 1 if any differs."""
    if is_continuous(state):
        apart = abs(state - found) / pt.maximum(abs(state), 1)
    else:
        apart = pt.neq(state, found)
    return pt.max(pt.concatenate([[0.0], pt.cast(apart, "float64").ravel()]))
